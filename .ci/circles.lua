-- circles.lua - fails where files call each other in a circle
-- Usage: lua5.4 .ci/circles.lua OBJECTS, the folder of the compiled src/.
-- C: file a calls file b where object a needs a symbol of object b; the
-- folders of src/ call only those before them. Lua: file a requires file b,
-- at the top or inside a function.
-- SPDX-License-Identifier: MIT

local FOLDERS = {cl = 1, host = 2, edit = 3, shell = 4, mpi = 5}
local objects = assert(arg[1], "usage: circles.lua OBJECTS")
local found = 0

local function lines(command)
  local pipe <close> = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do
    list[#list + 1] = line
  end
  return list
end

local function fail(...)
  found = found + 1
  print(string.format(...))
end

-- {file = {called file = symbol}} of the objects.
local function calls_of_c()
  local owner, needs = {}, {}
  for _, line in ipairs(lines(("find %s -name '*.o' -path '*/*/*' | sort "
      .. "| xargs nm -gA"):format(objects))) do
    local path, kind, name = line:match "^(.-%.o):%x* *(%a) (%S+)$"
    if path then
      local file = path:sub(#objects + 2, -3)
      needs[file] = needs[file] or {}
      if kind == "U" then
        needs[file][name] = true
      else
        owner[name] = file
      end
    end
  end
  local graph = {}
  for from, symbols in pairs(needs) do
    graph[from] = {}
    for symbol in pairs(symbols) do
      local to = owner[symbol]
      if to and to ~= from and FOLDERS[from:match "^%w+"] then
        graph[from][to] = symbol
      end
    end
  end
  return graph
end

-- The same of the Lua files, by module name.
local function calls_of_lua()
  local graph, known = {}, {}
  local files = lines "find lua -name '*.lua' | sort"
  for _, path in ipairs(files) do
    local name = path:match "^lua/(.*)%.lua$":gsub("/init$", "")
      :gsub("/", ".")
    known[name], graph[name] = path, {}
  end
  for name, path in pairs(known) do
    local folder -- of `part "name"`: require(folder .. name)
    for line in io.lines(path) do
      local code = not line:find "^%s*%-%-" and line or ""
      folder = code:match "require%(\"(clshell[%w_.]*%.)\" %.%. name%)"
        or folder
      local part = folder and code:match "part \"(%w+)\""
      if part and known[folder .. part] then
        graph[name][folder .. part] = path
      end
      for _, word in ipairs{"require", "lazy%.module"} do
        for other in code:gmatch(word .. "%s*%(?%s*[\"']([%w_.]+)[\"']") do
          if known[other] and other ~= name then
            graph[name][other] = path
          end
        end
      end
    end
  end
  return graph
end

-- Reports one circle for each file that a walk comes back to.
local function report_circles(graph)
  local state, path = {}, {}
  local function walk(file)
    state[file] = "open"
    path[#path + 1] = file
    for to, why in pairs(graph[file] or {}) do
      if state[to] == "open" then
        local at = #path
        while path[at] ~= to do
          at = at - 1
        end
        fail("circle: %s -> %s (%s)", table.concat(path, " -> ", at), to, why)
      elseif not state[to] then
        walk(to)
      end
    end
    path[#path] = nil
    state[file] = "done"
  end
  local files = {}
  for file in pairs(graph) do
    files[#files + 1] = file
  end
  table.sort(files)
  for _, file in ipairs(files) do
    if not state[file] then
      walk(file)
    end
  end
  return #files
end

local c = calls_of_c()
for from, list in pairs(c) do
  for to, symbol in pairs(list) do
    if (FOLDERS[to:match "^%w+"] or 0) > FOLDERS[from:match "^%w+"] then
      fail("src/%s.c calls %s of a later folder, src/%s.c", from, symbol, to)
    end
  end
end
local counts = {report_circles(c), report_circles(calls_of_lua())}
if counts[1] == 0 or counts[2] == 0 then
  fail("no files found: %d objects, %d Lua files", counts[1], counts[2])
end
print(("%d C files, %d Lua files, %d circles"):format(counts[1], counts[2],
  found))
os.exit(found == 0)

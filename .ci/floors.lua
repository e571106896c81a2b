-- floors.lua - fails where a file calls a file of a room above its own, and
-- where files call each other in a circle
-- Usage: lua5.4 .ci/floors.lua OBJECTS, the folder of the compiled src/.
-- C: file a calls file b where object a needs a symbol of object b. Lua: file
-- a calls file b where it loads b, or looks for b among the loaded modules,
-- at the top or inside a function. Where code computes a part of the name,
-- room a calls the room of each module that the name may be.
-- SPDX-License-Identifier: MIT

local FOLDERS = {cl = 1, host = 2, edit = 3, shell = 4, mpi = 5}
-- The rooms of lua/clshell: each calls only those before it.
local ROOMS = {"base", "cuda", "errors", "data", "ladder", "ladders",
  "arrays", "measure", "results", "calls", "tune", "explain", "parts", "judge",
  "shell"}
-- Files that load modules by names that others hand to them.
local LOADERS = {
  ["lua/clshell/base/lazy.lua"] = "the names of a session, from init.lua",
  ["lua/clshell/calls/parcel.lua"] = "functions of the calling process",
  ["lua/clshell/shell/prompt/edit.lua"] = "a list in the file",
  ["lua/clshell/shell/prompt/files.lua"] = "the user's modules",
  ["lua/clshell/shell/help/reference.lua"] = "a text about require",
  ["lua/clshell/tune/remote_source.lua"] = "functions of the calling process",
}
local objects = assert(arg[1], "usage: floors.lua OBJECTS")
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

-- {module name = path} of the Lua files.
local function modules()
  local known = {}
  for _, path in ipairs(lines "find lua -name '*.lua' | sort") do
    known[path:match "^lua/(.*)%.lua$":gsub("/init$", ""):gsub("/", ".")] =
      path
  end
  return known
end

-- {short name of a public module = its full name}, from the list of them.
local function public_names()
  local names = {}
  for line in io.lines "lua/clshell/public.lua" do
    local short, full = line:match '^  {"(%w+)", "([%w_.]+)"'
    if short then
      names["clshell." .. short] = "clshell." .. full
    end
  end
  return names
end

-- The modules that a line of code loads, or looks for among the loaded ones:
-- {module = "by name"}, "there" for a module looked for, or "computed" for all
-- modules of a folder where the code computes the rest of the name.
local function loaded_by(code, known, public)
  local list = {}
  for _, word in ipairs{"require", "lazy%.module", "loaded"} do
    for name in code:gmatch(word
        .. "%s*[%(%[]?%s*[\"'](clshell[%w_.]*)[\"']") do
      name = public[name] or name
      if known[name] then
        list[name] = word == "loaded" and "there" or "by name"
      elseif name:find "^clshell%..+%.$" then
        for other in pairs(known) do
          list[other] = other:sub(1, #name) == name and "computed" or nil
        end
      end
    end
  end
  return list
end

-- Whether a line of code loads a module that it does not name: a computed
-- name of no folder, or the value of a variable.
local function loads_any(code)
  return code:find "require%s*%(%s*\"clshell%.\"" or code:find "require,%s*%l"
    or code:find "require%s*%(%s*[%l_.%[%]]+%s*%)"
    or code:find "lazy%.module%s*%(%s*[%l_.%[%]]+%s*[%(%)]"
end

-- {module = {module that it loads = path}}; `how` as loaded_by tells it.
local function calls_of_lua(known, public)
  local graph, how = {}, {}
  for name, path in pairs(known) do
    graph[name], how[name] = {}, {}
    local folder -- of `part "name"`: require(folder .. name)
    for line in io.lines(path) do
      local code = not line:find "^%s*%-%-" and line or ""
      local list = loaded_by(code, known, public)
      folder = code:match "require%(\"(clshell[%w_.]*%.)\" %.%. name%)"
        or folder
      local part = folder and code:match "part \"(%w+)\""
      if part and known[folder .. part] then
        list[folder .. part] = "by name"
      end
      for other, manner in pairs(list) do
        if other ~= name then
          how[name][other] = path
          graph[name][other] = manner == "by name" and path
            or graph[name][other]
        end
      end
      if loads_any(code) and name:find "^clshell%." and not LOADERS[path] then
        fail("%s loads a module by a name that no reader sees: %s", path, code)
      end
    end
  end
  return graph, how
end

-- The number of a room among the floors; files beside the rooms stand above
-- them all.
local function floor(name)
  local room = name:match "^clshell%.([^.]+)"
  for i, other in ipairs(ROOMS) do
    if room == other then
      return i, room
    end
  end
  return #ROOMS + 1, room or name
end

-- Fails where a file names a module of a later room.
local function report_floors(graph)
  for name, list in pairs(graph) do
    local from, room = floor(name)
    for other, path in pairs(list) do
      local to, upper = floor(other)
      if to > from then
        fail("%s calls %s: room %s stands below %s", path, other, room, upper)
      end
    end
  end
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
local lua, all = calls_of_lua(modules(), public_names())
report_floors(all)
local counts = {report_circles(c), report_circles(lua)}
if counts[1] == 0 or counts[2] == 0 then
  fail("no files found: %d objects, %d Lua files", counts[1], counts[2])
end
print(("%d C files, %d Lua files, %d faults"):format(counts[1], counts[2],
  found))
os.exit(found == 0)

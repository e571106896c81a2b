-- shell/help/index.lua - the entries of help, read at the first need: /**
-- blocks of the C files, --- blocks of the Lua files, and the examples
-- SPDX-License-Identifier: MIT

local array = require "clshell.arrays.names"
local cl = require "cl"
local families = require "clshell.ladder.list"
local public = require "clshell.public"

local M = {}

-- Besides the public modules, the files that document functions.
local OTHERS = {"clshell", "clshell.arrays.expression",
  "clshell.arrays.evaluate", "clshell.arrays.map", "clshell.arrays.sequences",
  "clshell.arrays.views", "clshell.arrays.totals", "clshell.arrays.hosts",
  "clshell.arrays.hostscans", "clshell.arrays.scans", "clshell.arrays.places",
  "clshell.arrays.variance", "clshell.data.sparse",
  "clshell.data.struct", "clshell.shell.prompt.show", "clshell.shell.prompt.commands",
  "clshell.shell.prompt.tutorial", "clshell.arrays.random", "clshell.parts.ranks.dia",
  "clshell.parts.ranks.gemm", "clshell.parts.ranks.matrix", "clshell.parts.ranks.transpose",
  "clshell.parts.ranks.vector", "clshell.arrays.sorting", "clshell.parts.split",
  "clshell.parts.split.arithmetic", "clshell.parts.split.class", "clshell.parts.split.each",
  "clshell.tune.tune_result"}

-- Modules of the tests and of clshell itself: helped, but in no list.
local INTERNAL = {target = true, timer = true, traffic = true}

--- index.read(path) -> string or nil
function M.read(path)
  local f = io.open(path, "rb")
  if f then
    local content = f:read("a")
    f:close()
    return content
  end
end

-- The first line of a block, with the next while a bracket is open, and the
-- rest.
local function split(block)
  local signature, body = block:match("^([^\n]*)\n?(.*)$")
  while body ~= "" and #signature:gsub("[^%(%[{]", "")
      > #signature:gsub("[^%)%]}]", "") do
    local more, rest = body:match("^%s*([^\n]*)\n?(.*)$")
    signature, body = signature .. " " .. more, rest
  end
  return signature, body
end

local function lines(s)
  return (s .. "\n"):gmatch "(.-)\n"
end

-- A line of the part Options: "  name  default  meaning", or its continuation.
local function add_option(list, line)
  local name, default, meaning =
    line:match("^  (%S.-)%s%s+(%S.-)%s%s+(%S.*)$")
  if name then
    list[#list + 1] = {name = name, default = default ~= "-" and default
      or nil, text = meaning}
  elseif list[#list] then
    list[#list].text = list[#list].text .. " " .. line:match("^%s*(.*)$")
  end
end

-- Takes the part Options out of a text: the rest, and the list.
local function options_of(body)
  local rest, list, inside = {}, {}, false
  for line in lines(body) do
    if line:match("^Options:%s*$") then
      inside = true
    elseif inside and line:find("^  ") then
      add_option(list, line)
    else
      inside = false
      rest[#rest + 1] = line
    end
  end
  return table.concat(rest, "\n"):gsub("%s+$", ""), list
end

-- The lists of the entries and of the examples; each by name as well.
local entries, examples

local function add(block)
  local signature, body = split(block)
  local name = signature:match("^([%a_][%w_%.:]*)[%({]")
    or signature:match("^([%a_][%w_%.:]*)$")
  if not name then
    return
  end
  name = name:gsub("^A:", "Buffer:") -- the methods of a matrix
  local text, options = options_of(body)
  local also = text:match("\nAlso: ([%w_%.:,%s]+)$")
  text = also and text:gsub("\nAlso: [%w_%.:,%s]+$", "") or text
  if not entries[name] then
    local as = "[Oo]ptions%s+as%s+for%s+"
    entries[name] = {name = name, signature = signature, text = text,
      options = options,
      as = text:match(as .. "([%a_][%w_%.:]*%w)"),
      but = text:match(as .. "[%w_%.:]+%s+but%s+([%w_,%s]+)")}
    entries[#entries + 1] = entries[name]
  end
  for other in (also or ""):gmatch("[^,%s]+") do
    add(("%s%s\n%s"):format(other, signature:sub(#name + 1), text))
  end
end

local function scan_c(source)
  for block in source:gmatch("/%*%* ?(.-)%*/") do
    add((block:gsub("\n %* ?", "\n"):gsub("%s+$", "")))
  end
end

local function scan_lua(module)
  local path = cl.home .. "/lua/" .. module:gsub("%.", "/")
  local block = {}
  -- a module of C has no file here: its blocks are in doc/cl.txt
  for line in lines(M.read(path .. ".lua") or M.read(path .. "/init.lua")
      or "") do
    local words = line:match("^%s*%-%-%- ?(.*)$")
    if words then
      block[#block + 1] = words
    elseif block[1] then
      add(table.concat(block, "\n"))
      block = {}
    end
  end
end

-- cl.float, cl.int4 and the like, of which there are as many as types.
local function add_types()
  for _, type in ipairs(cl.types()) do
    local base, width = type:match("^(%a+)(%d*)$")
    local n = tonumber(width) or 1
    local name = "cl." .. type
    add(("%s(%s) -> Value\nA kernel argument of type %s, a %s. "
      .. "Needed only where the kernel's own signature is unknown or names "
      .. "a typedef; out of range is an error. Vectors take a number for "
      .. "each component. See also cl.bytes."):format(name,
      n > 1 and "x1, ..., x" .. n or "x", type,
      n > 1 and ("vector of %d components of %s"):format(n, base)
      or "scalar"))
    entries[name].minor = true -- in lists: cl.bytes speaks for them
  end
end

-- OpenCL's functions as methods, with the names of their operands besides x.
local MATH = {"", "y", "y, z"}

local function each_math(visit)
  for n, list in ipairs(array.math) do
    for _, name in ipairs(list) do
      visit(name, MATH[n], "reals; integers become float",
        "cl.linspace(0.25, 1, 4)")
    end
  end
  for n, list in ipairs(array.integers) do
    for _, name in ipairs(list) do
      visit(name, MATH[n], "integers alone, in their own type",
        "cl.arange(1, 4)")
    end
  end
  for _, name in ipairs(array.tests) do
    visit(name, "", "1 or 0, as int", "cl.linspace(0.25, 1, 4)")
  end
end

local function add_math()
  each_math(function(name, operands, result)
    local full = "Buffer:" .. name
    add(("%s(%s) -> Expression\nOpenCL's %s(x%s) of each element: %s. "
      .. "Buffers, Arrays and Expressions have it; an operand may be a "
      .. "number. See also ?expression."):format(full, operands, name,
      operands == "" and "" or ", " .. operands, result))
    entries[full].minor = true -- in lists: the concept speaks for them
  end)
end

local function hide_internal()
  for _, entry in ipairs(entries) do
    entry.minor = entry.minor or INTERNAL[entry.name:match "^%w+"]
  end
end

local pages = {} -- of families of scripts, by name

-- The calls of the families that scripts made, as they are now.
local function add_families()
  for _, family in ipairs(families.made()) do
    local name, page = family.name, family.spec.page
    if pages[name] ~= page then
      local old = entries[name]
      entries[name], pages[name] = nil, page
      add(page)
      if old then -- its place in the list is the new one's
        local last = table.remove(entries)
        for i, entry in ipairs(entries) do
          entries[i] = entry == old and last or entry
        end
      end
    end
  end
end

--- index.entries() -> list
--- All documented functions: {name, signature, text, options, as, but, minor},
--- in order and by name. Lists and searches leave the minor ones out.
function M.entries()
  if entries then
    add_families()
    return entries
  end
  entries = {}
  -- the Makefile gathers the C files' blocks: installed, or in the tree
  scan_c(M.read(cl.home .. "/doc/cl.txt")
    or M.read(cl.home .. "/build/doc/cl.txt") or "")
  for _, name in ipairs(public.list) do
    scan_lua(public.module(name))
  end
  for _, module in ipairs(OTHERS) do
    scan_lua(module)
  end
  add_types()
  add_math()
  for _, name in ipairs(array.host) do -- the page of a Buffer's is theirs
    local own = "Array:" .. name
    entries[own] = entries[own] or entries["Buffer:" .. name]
  end
  hide_internal()
  add_families()
  return entries
end

-- Each block of an examples file, headed by "--- name", is the example of
-- that function.
local function scan_examples(source)
  local name
  for line in lines(source) do
    local head = line:match("^%-%-%- (%S+)$")
    if head then
      name, examples[head] = head, ""
    elseif name then
      examples[name] = examples[name] .. line .. "\n"
    end
  end
end

--- index.examples() -> table
--- The example of each function, by name.
function M.examples()
  if examples then
    return examples
  end
  examples = {}
  for _, file in ipairs(require "clshell.shell.examples") do
    scan_examples(M.read(("%s/lua/clshell/shell/examples/%s.lua"):format(cl.home,
      file)))
  end
  for name, code in pairs(examples) do
    examples[name] = code:gsub("%s+$", "")
  end
  each_math(function(name, operands, _, x)
    examples["Buffer:" .. name] = ('local x = %s\n'
      .. 'local y = x:%s(%s):eval()'):format(x, name,
      operands:gsub("%a", {y = x:find "arange" and "3" or "0.5", z = "2"}))
  end)
  for _, type in ipairs(cl.types()) do
    local values = {}
    for i = 1, tonumber(type:match("%d*$")) or 1 do
      values[i] = i
    end
    examples["cl." .. type] = ("print(cl.%s(%s))"):format(type,
      table.concat(values, ", "))
  end
  return examples
end

--- index.options(name) -> list
--- The options of a function: {name, default, text}; those of the function
--- that it refers to ("Options as for ...") come after its own.
function M.options(name)
  local entry = M.entries()[name]
  local list, taken = {}, {}
  local function take(names)
    for word in names:gmatch("[%w_]+") do
      taken[word] = true
    end
  end
  take(entry and entry.but or "")
  for _, option in ipairs(entry and entry.options or {}) do
    take(option.name)
    list[#list + 1] = option
  end
  for _, option in ipairs(entry and entry.as and M.options(entry.as) or {}) do
    if not taken[option.name:match("[%w_]+")] then
      list[#list + 1] = option
    end
  end
  return list
end

return M

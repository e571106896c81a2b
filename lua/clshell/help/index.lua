-- help/index.lua - what the code's comments document, read at the first need:
-- /** blocks of the C files, --- blocks of the Lua files, and the examples
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local public = require "clshell.public"

local M = {}

-- Besides the public modules, the files that document functions.
local OTHERS = {"clshell", "clshell.prompt.show", "clshell.prompt.commands",
  "clshell.prompt.tutorial"}
local EXAMPLES = {"device", "memory", "matrix", "sparse", "launch", "event",
  "family", "bench", "stats", "chart", "script", "host", "shell", "store"}

--- Text of a file, or nil.
function M.read(path)
  local f = io.open(path, "rb")
  if f then
    local content = f:read("a")
    f:close()
    return content
  end
end

local function count(s, pattern)
  return select(2, s:gsub(pattern, ""))
end

-- The first line of a block, and the next while a bracket is open.
local function split(block)
  local signature, body = block:match("^([^\n]*)\n?(.*)$")
  while body ~= "" and count(signature, "[%(%[{]")
      > count(signature, "[%)%]}]") do
    local more, rest = body:match("^%s*([^\n]*)\n?(.*)$")
    signature, body = signature .. " " .. more, rest
  end
  return signature, body
end

-- A line of the part Options: "  name  default  what it means", or the
-- continuation of one.
local function option(list, line)
  local name, default, meaning =
    line:match("^  (%S.-)%s%s+(%S.-)%s%s+(%S.*)$")
  if name then
    list[#list + 1] = {name = name, default = default ~= "-" and default
      or nil, text = meaning}
  elseif list[#list] then
    list[#list].text = list[#list].text .. " " .. line:match("^%s*(.*)$")
  end
end

-- Takes the part Options out of a text: what is left, and the list.
local function options_of(body)
  local rest, list, inside = {}, {}, false
  for line in (body .. "\n"):gmatch("(.-)\n") do
    if line:match("^Options:%s*$") then
      inside = true
    elseif inside and line:find("^  ") then
      option(list, line)
    else
      inside = false
      rest[#rest + 1] = line
    end
  end
  return table.concat(rest, "\n"):gsub("%s+$", ""), list
end

local function add(entries, block, file, line)
  local signature, body = split(block)
  local name = signature:match("^([%a_][%w_%.:]*)[%({]")
    or signature:match("^([%a_][%w_%.:]*)$")
  if not name then
    return
  end
  name = name:gsub("^A:", "Buffer:") -- what a matrix can do besides
  local text, options = options_of(body)
  local also
  text = text:gsub("\nAlso: ([%w_%.:,%s]+)$", function(names)
    also = names
    return ""
  end)
  local entry = {name = name, signature = signature, text = text,
    options = options, file = file, line = line,
    as = text:match("[Oo]ptions%s+as%s+for%s+([%a_][%w_%.:]*%w)"),
    but = text:match("[Oo]ptions%s+as%s+for%s+[%w_%.:]+%s+but%s+([%w_,%s]+)")
  }
  if not entries[name] then
    entries[#entries + 1], entries[name] = entry, entry
  end
  for other in (also or ""):gmatch("[^,%s]+") do
    add(entries, ("%s%s\n%s"):format(other, signature:sub(#name + 1), text),
      file, line)
  end
end

local function scan_c(entries, source, file)
  for block in source:gmatch("/%*%* ?(.-)%*/") do
    add(entries, (block:gsub("\n %* ?", "\n"):gsub("%s+$", "")), file)
  end
end

local function scan_lua(entries, source, file)
  local block, number = nil, 0
  for line in (source .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    local words = line:match("^%s*%-%-%- ?(.*)$")
    if words then
      block = block or {}
      block[#block + 1] = words
    elseif block then
      add(entries, table.concat(block, "\n"), file, number - #block)
      block = nil
    end
  end
end

-- The /** blocks of the C files, which the Makefile gathers: installed, or in
-- the tree.
local function c_comments()
  return M.read(cl.home .. "/doc/cl.txt")
    or M.read(cl.home .. "/build/doc/cl.txt") or ""
end

-- The file of a Lua module below the home folder.
local function file_of(module)
  local path = "lua/" .. module:gsub("%.", "/")
  local file = path .. ".lua"
  return M.read(cl.home .. "/" .. file) and file or path .. "/init.lua"
end

-- Each block of an examples file, headed by "--- name", is the example of
-- that function.
local function scan_examples(examples, source)
  local name, lines
  local function finish()
    if name then
      examples[name] = table.concat(lines, "\n"):gsub("%s+$", "")
    end
  end
  for line in (source .. "\n"):gmatch("(.-)\n") do
    local head = line:match("^%-%-%- (%S+)$")
    if head then
      finish()
      name, lines = head, {}
    elseif name then
      lines[#lines + 1] = line
    end
  end
  finish()
end

-- cl.float, cl.int4 and the like, of which there are as many as types.
local function add_types(entries, examples)
  for _, type in ipairs(cl.types()) do
    local base, width = type:match("^(%a+)(%d*)$")
    local n = tonumber(width) or 1
    local values = {}
    for i = 1, n do
      values[i] = tostring(i)
    end
    local name = "cl." .. type
    local arguments = n > 1 and "x1, ..., x" .. n or "x"
    add(entries, ("%s(%s) -> Value\nA kernel argument of type %s, a %s. "
      .. "Needed only where the kernel's own signature is unknown or names "
      .. "a typedef; out of range is an error. Vectors take a number for "
      .. "each component. See also cl.bytes."):format(name, arguments, type,
      n > 1 and ("vector of %d components of %s"):format(n, base)
      or "scalar"), "src/type.c")
    entries[name].minor = true -- in lists: cl.bytes speaks for them
    examples[name] = ("print(%s(%s))"):format(name,
      table.concat(values, ", "))
  end
end

local entries, examples = nil, {}
local complete = false

--- index.entries() -> list
--- All documented functions: {name, signature, text, options, as, file,
--- line}, in order and by name.
function M.entries()
  if entries then
    return entries
  end
  entries = {}
  scan_c(entries, c_comments(), "doc/cl.txt")
  local modules = {}
  for i, name in ipairs(public.list) do
    modules[i] = public.module(name)
  end
  table.move(OTHERS, 1, #OTHERS, #modules + 1, modules)
  for _, module in ipairs(modules) do
    local file = file_of(module)
    scan_lua(entries, M.read(cl.home .. "/" .. file) or "", file)
  end
  add_types(entries, examples)
  return entries
end

--- index.examples() -> table
--- The example of each function, by name.
function M.examples()
  if complete then
    return examples
  end
  M.entries()
  complete = true
  for _, name in ipairs(EXAMPLES) do
    scan_examples(examples, M.read(("%s/lua/clshell/examples/%s.lua"):format(
      cl.home, name)) or "")
  end
  return examples
end

--- index.options(name) -> list
--- The options of a function: {name, default, text}; those of the function
--- that it refers to ("Options as for ...") come after its own.
function M.options(name, seen)
  local entry = M.entries()[name]
  local list, taken = {}, {}
  seen = seen or {}
  if not entry or seen[name] then
    return list
  end
  seen[name] = true
  for word in (entry.but or ""):gmatch("[%w_]+") do
    taken[word] = true
  end
  for _, o in ipairs(entry.options) do
    for word in o.name:gmatch("[%w_]+") do
      taken[word] = true
    end
    list[#list + 1] = o
  end
  for _, o in ipairs(entry.as and M.options(entry.as, seen) or {}) do
    if not taken[o.name:match("[%w_]+")] then
      list[#list + 1] = o
    end
  end
  return list
end

return M

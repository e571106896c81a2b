-- api.lua - makes the table of the API: build/api.lua, from the comments of
-- the public functions in C (/** ... */) and in Lua (---)
-- Usage: clshell src/api.lua FILES >build/api.lua, in the folder of the
-- Makefile. base/api.lua tells what the table holds.
-- SPDX-License-Identifier: MIT

local public, modules = {}, {} -- the short names; full names by short name

for i, m in ipairs(dofile "lua/clshell/public.lua") do
  public[i], modules[m[1]] = m[1], "clshell." .. m[2]
end

-- Modules without a short name that help documents all the same.
local MORE = {"clshell.parts.out_of_core", "clshell.shell.prompt.show",
  "clshell.shell.prompt.tutorial"}

local entries = {}

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

local function lines(s)
  return (s .. "\n"):gmatch "(.-)\n"
end

local function trimmed(s)
  return s:match "^%s*(.-)%s*$"
end

-- The signature of a block (the first line, and the next lines while a bracket
-- is open) and the rest of the block.
local function split(block)
  local signature, body = block:match "^([^\n]*)\n?(.*)$"
  while body ~= "" and #signature:gsub("[^%(%[{]", "")
      > #signature:gsub("[^%)%]}]", "") do
    local more, rest = body:match "^%s*([^\n]*)\n?(.*)$"
    signature, body = signature .. " " .. more, rest
  end
  return signature, body
end

-- The kind of an option's value, by the word with which its text begins.
local KINDS = {
  string = {"a string", "strings", "element type", "the element type",
    "a title", "a name", "names", "a path", "a tag"},
  number = {"columns", "lines", "characters"},
  table = {"a table", "a list of charts"},
  Context = {"the Context"},
}

local function kind_of(option)
  for kind, list in pairs(KINDS) do
    for _, words in ipairs(list) do
      if option.text:find("^" .. words .. "%f[^%w]") then
        return kind
      end
    end
  end
end

-- The words that an option takes: the quoted ones with which its text begins,
-- and its default.
local function values_of(option)
  local list = {}
  local rest = option.text:gsub("^or ", "")
  while rest:find '^"[%w_]+"' do
    local word, more = rest:match '^"([%w_]+)"%s*(.*)$'
    list[#list + 1] = word
    rest = more:gsub("^%b()%s*", ""):gsub("^,%s*", ""):gsub("^or%s+", "")
  end
  local default = option.default and (option.default:match "^([%l_]+)$"
    or option.default:match "^([%l_]+) %(")
  if list[1] and default and list[1] ~= default then
    table.insert(list, 1, default)
  end
  return list[1] and list or nil
end

-- A line of the part Options: "  name  default  meaning", or its continuation.
local function add_option(list, line, form)
  local name, default, text =
    line:match "^  (%S.-)%s%s+(%S.-)%s%s+(%S.*)$"
  if name then
    list[#list + 1] = {name = name, text = text, form = form,
      default = default ~= "-" and default or nil}
  elseif list[#list] then
    list[#list].text = list[#list].text .. " " .. trimmed(line)
  end
end

-- Takes the parts Options and Example out of the text of an entry. The options
-- below "Options of a launch:" have the form "of a launch".
local function take_parts(entry, body)
  local rest, example, inside, form = {}, nil, false, nil
  for line in lines(body) do
    local head, words = line:match "^(Options)(.*):%s*$"
    if example then
      example[#example + 1] = line
    elseif line:find "^Example:" then
      example = {line:match "^Example:%s*(%S.*)$"}
    elseif head then
      inside, form = true, words:match "^ (.+)$"
    elseif inside and line:find "^  " then
      add_option(entry.options, line, form)
    else
      inside = false
      rest[#rest + 1] = line
    end
  end
  for _, option in ipairs(entry.options) do
    option.values = values_of(option)
    option.kind = kind_of(option)
  end
  entry.example = example and table.concat(example, "\n"):gsub("%s+$", "")
    or nil
  return table.concat(rest, "\n"):gsub("%s+$", "")
end

-- The names of the parameters of a signature.
local function parameters(signature)
  local list = {}
  local inner = signature:gsub("%->.*", ""):match "%((.*)%)" or ""
  for name in inner:gsub("%b{}", "table"):gmatch "[%a_][%w_]*" do
    list[#list + 1] = name
  end
  return list
end

-- The class of the first result: the first word behind the arrow, or nil where
-- the word is a description.
local function class_of(signature)
  local class = signature:match "%->%s*(%a%w*)%f[,;%s\0]"
  return class and (class:find "^%u%w" or class == "best") and class or nil
end

-- Adds the entry of a block, and entries of the functions under "Also:".
local function add(block, file)
  local signature, body = split(block)
  local name = signature:match "^([%a_][%w_%.:]*)[%({]"
    or signature:match "^([%a_][%w_%.:]*)$"
  if not name then
    return
  end
  name = name:gsub("^A:", "Buffer:") -- the methods of a matrix
  if entries[name] then
    return
  end
  local entry = {name = name, signature = signature, options = {},
    file = file, parameters = parameters(signature),
    class = class_of(signature)}
  local text = take_parts(entry, body)
  local also = text:match "\nAlso: ([%w_%.:,%s]+)$"
  entry.text = also and text:gsub("\nAlso: [%w_%.:,%s]+$", "") or text
  local as = "[Oo]ptions%s+as%s+for%s+"
  entry.as = text:match(as .. "([%a_][%w_%.:]*%w)")
  entry.but = text:match(as .. "[%w_%.:]+%s+but%s+([%w_,%s]+)")
  entries[name] = entry
  entries[#entries + 1] = entry
  for other in (also or ""):gmatch "[^,%s]+" do
    add(("%s%s\n%s"):format(other, signature:sub(#name + 1), entry.text),
      file)
    entries[other].example = entry.example
  end
end

local function scan_c(path)
  for block in read(path):gmatch "/%*%* ?(.-)%*/" do
    add(block:gsub("\n %* ?", "\n"):gsub("%s+$", ""), path)
  end
end

-- Adds the blocks of a Lua file; with `wanted`, only the blocks whose first
-- line `wanted` accepts.
local function scan_lua(path, wanted)
  local block = {}
  for line in lines(read(path)) do
    local words = line:match "^%s*%-%-%- ?(.*)$"
    if words then
      block[#block + 1] = words
    elseif block[1] then
      if not wanted or wanted(block[1], path) then
        add(table.concat(block, "\n"), path)
      end
      block = {}
    end
  end
end

local function file_of(module)
  local path = "lua/" .. module:gsub("%.", "/")
  for _, name in ipairs{path .. ".lua", path .. "/init.lua"} do
    local f = io.open(name)
    if f then
      f:close()
      return name
    end
  end
end

local function folder_of(path)
  return path:match "^(.*)/"
end

-- Whether the first line of a block in an inner file names a public function:
-- a function of module cl, a function of a public module in the same folder,
-- or a method of a class that the result of a public function has.
local function is_public(head, path)
  local owner, sign = head:match "^([%a_]%w*)([.:])"
  if sign == "." then
    local home = modules[owner] and file_of(modules[owner])
    return owner == "cl" or home and folder_of(home) == folder_of(path)
  end
  for _, entry in ipairs(owner and entries or {}) do
    if entry.class == owner then
      return true
    end
  end
end

local function text_of(value)
  if type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n")
  elseif type(value) ~= "table" then
    return tostring(value)
  end
  local parts = {}
  for i, item in ipairs(value) do
    parts[i] = text_of(item)
  end
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = type(key) == "string" and key or nil
  end
  table.sort(keys, function(a, b) -- the name comes first: base/api.lua
    return a == "name" and b ~= "name" or b ~= "name" and a < b
  end)
  for _, key in ipairs(keys) do
    parts[#parts + 1] = key .. "=" .. text_of(value[key])
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Gathers the entries of all files: of the C files, of the public modules in
-- their order, and of the other Lua files.
local function gather(files)
  local inner, done = {}, {}
  for _, path in ipairs(files) do
    if path:find "%.lua$" then
      inner[#inner + 1] = path
    else
      scan_c(path)
    end
  end
  local names = table.move(MORE, 1, #MORE, #public + 1,
    {table.unpack(public)})
  for _, name in ipairs(names) do
    local path = file_of(modules[name] or name)
    if path then -- else a module of C
      done[path] = true
      scan_lua(path)
    end
  end
  local count
  repeat -- until a pass over the files adds no entry
    count = #entries
    for _, path in ipairs(inner) do
      if not done[path] then
        scan_lua(path, is_public)
      end
    end
  until #entries == count
end

-- The modules that a session has to require, by their short names, in order.
-- The linter's list of globals has the modules that need no require.
local function required_modules()
  local list, config = {"mpi", "host", mpi = "mpi", host = "cl.host"}, {}
  assert(loadfile(".luacheckrc", "t", config))()
  local globals = table.concat(config.read_globals, " ")
  for _, name in ipairs(public) do
    if not globals:find("%f[%w]" .. name .. "%f[%W]") then
      list[#list + 1] = name
      list[name] = "clshell." .. name
    end
  end
  return list
end

-- An example behind the lines that require its modules.
local function with_modules(example, required)
  local code, heads = example:gsub("%-%-[^\n]*", ""), {}
  for _, name in ipairs(required) do
    if code:find("%f[%w_.:]" .. name .. "[.(]")
        and not code:find("local [^=\n]*%f[%w_]" .. name .. "%f[^%w_]") then
      heads[#heads + 1] = ("local %s = require %q\n"):format(name,
        required[name])
    end
  end
  return table.concat(heads) .. example
end

-- Completes the examples: the text "as for store.open" becomes the example of
-- that function.
local function finish_examples()
  local required = required_modules()
  for _, entry in ipairs(entries) do
    local other = entries[(entry.example or ""):match "^as for (%S+)$"]
    entry.example = other and other.example or entry.example
  end
  for _, entry in ipairs(entries) do
    entry.example = entry.example and with_modules(entry.example, required)
  end
end

-- Gives an option "as for bench" the kind and the values of bench's option.
local function finish_options()
  for _, entry in ipairs(entries) do
    for _, option in ipairs(entry.options) do
      local other = entries[option.text:match "^as for ([%w_%.:]+)$"]
      for _, its in ipairs(other and other.options or {}) do
        if (" " .. its.name .. ","):find("%f[%w]" .. option.name
            .. "%f[%W]") then
          option.kind, option.values = its.kind, its.values
        end
      end
    end
  end
end

gather(arg)
finish_examples()
finish_options()
io.write "return {\n"
for _, entry in ipairs(entries) do
  io.write(text_of(entry), ",\n")
end
io.write "}\n"

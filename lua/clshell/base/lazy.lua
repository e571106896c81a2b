-- base/lazy.lua - loads modules at their first use, with globals of their own
-- A session has many modules and needs few of them. Before its first use, a
-- module is an empty table; the first use fills the table.
-- SPDX-License-Identifier: MIT

-- The globals of clshell's own files: Lua's names, and copies of Lua's
-- libraries, as they are now. A session that says `type = "float"` or
-- `table.concat = nil` does not break those files.
local own = setmetatable({_G = _G}, {__index = _G, __newindex = _G})

for _, name in ipairs{"assert", "collectgarbage", "error", "getmetatable",
    "ipairs", "load", "loadfile", "next", "package", "pairs", "pcall", "print",
    "rawequal", "rawget", "rawlen", "rawset", "require", "select",
    "setmetatable", "tonumber", "tostring", "type", "xpcall"} do
  rawset(own, name, _G[name])
end

for _, name in ipairs{"coroutine", "debug", "io", "math", "os", "string",
    "table", "utf8"} do
  local library = {}
  for key, value in next, _G[name] do
    library[key] = value
  end
  rawset(own, name, library)
end

local _ENV = own -- luacheck: ignore 211

local cl = require "cl"

local M = {}

--- lazy.globals
--- The globals of clshell's own files.
M.globals = own

local pending = {} -- by module name: the table to fill
local names = setmetatable({}, {__mode = "k"}) -- by table: the module's name

local fill = {} -- the metatable of a table to fill

local find = require "clshell.base.search".own

--- lazy.session
--- The names that the prompt and scripts have, with their values: the result
--- of require "clshell".
M.session = {}

--- lazy.public
--- The modules with a short name: list (the names in order), session and inner
--- (see lazy.publish), and module(name), the full name "clshell.base.json" of
--- "json" and of "clshell.json", or nil.
local public = {list = {}, session = {}, inner = {}}
M.public = public

local full_names = {} -- by short name

function public.module(name)
  return full_names[name] or full_names[string.match(name, "^clshell%.(%w+)$")]
end

--- lazy.publish(modules)
--- Gives modules their short names: {short name, name below clshell [, kind]},
--- where kind is "session" for a global of the prompt and of scripts, "inner"
--- for a name that Tab does not offer.
function M.publish(modules)
  for i, m in ipairs(modules) do
    local short, name, kind = table.unpack(m)
    public.list[i], full_names[short] = short, "clshell." .. name
    public.inner[short] = kind == "inner"
    if kind == "session" then
      table.insert(public.session, short)
    end
  end
end

table.insert(package.searchers, 2, function(name)
  if not string.find(name, "^clshell%f[.\0]") then
    return
  end
  local full = public.module(name)
  if full and full ~= name then
    return function()
      return require(full)
    end
  end
  local path = find(name)
  if path then
    return assert(loadfile(path, "t", own)), path
  end
end)

-- Runs the file of module `name`, which fills `t`. A file that fails leaves
-- `t` as it was, and the next use tries again.
local function load_into(t, name)
  local done = false
  local _ <close> = setmetatable({}, {__close = function()
    if done then
      return
    end
    for key in next, t do
      t[key] = nil
    end
    pending[name], names[t] = t, name
    setmetatable(t, fill)
  end})
  names[t] = nil
  setmetatable(t, nil)
  local path = find(name)
  assert(loadfile(path, "t", own))(name, path)
  pending[name], done = nil, true
end

--- lazy.load(value) -> value
--- Loads the module whose table this is, and leaves any other value alone.
--- Only raw access (rawget, next) needs the call: any other use of the table
--- loads the module.
function M.load(value)
  local name = names[value]
  if name then
    load_into(value, name)
  end
  return value
end

-- The metamethods of an unfilled table, which use the module's table.
local uses = {
  __index = function(t, key)
    return t[key]
  end,
  __newindex = function(t, key, value)
    t[key] = value
  end,
  __call = function(t, ...)
    return t(...)
  end,
  __len = function(t)
    return #t
  end,
  __pairs = pairs, __tostring = tostring,
}

for event, use in next, uses do
  fill[event] = function(t, ...)
    return use(M.load(t), ...)
  end
end

--- lazy.module(name) -> table
--- The table of a module, which its first use loads. `require(name)` gives
--- the same table.
function M.module(name)
  local t = package.loaded[name]
  if t == nil then
    t = setmetatable({}, fill)
    pending[name], names[t] = t, name
    package.loaded[name] = t
  end
  return t
end

--- lazy.above
--- Functions of rooms above, which measurements call; see init.lua.
M.above = {}

--- lazy.give(target, names, module [, as])
--- Gives a table, or a class of module cl by its name, functions of a module
--- by these names, such as "each split". The first call of one of them loads
--- the module. The functions are those that its file puts into the target, or
--- else fields of the module: `as` is a field's name where it differs, and a
--- module may be the function itself.
function M.give(target, words, module, as)
  local function from()
    return M.load(require(module))
  end
  local list = {}
  for name in string.gmatch(words, "%S+") do
    list[#list + 1] = name
  end
  if type(target) == "string" then
    return cl.extend(target, list, from)
  end
  for _, name in ipairs(list) do
    local function first(...)
      local given = from()
      if target[name] ~= first then
        return target[name](...)
      end
      return (type(given) == "table" and given[as or name] or given)(...)
    end
    target[name] = first
  end
end

--- lazy.table(name) -> table
--- The table that the file of a module fills; for the file itself.
function M.table(name)
  local t = pending[name]
  return t ~= nil and names[t] == nil and package.loaded[name] == t and t
    or {}
end

--- lazy.callable(t, f) -> t
--- The table of a module that is a function, too: f, or the field f of it.
function M.callable(t, f)
  return setmetatable(t, {__call = function(_, ...)
    return (t[f] or f)(...)
  end})
end

return M

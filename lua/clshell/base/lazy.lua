-- base/lazy.lua - modules that are loaded when they are first used
-- A session has many modules and needs few of them. Until it is used, a
-- module is an empty table that fills itself: the table stays the same one.
-- SPDX-License-Identifier: MIT

-- The globals of clshell's own files: Lua's, as they are now. A session that
-- says `type = "float"` or `table = {}` does not break them by that.
local own = setmetatable({}, {__index = _G, __newindex = _G})

for _, name in ipairs{"assert", "collectgarbage", "coroutine", "debug",
    "error", "getmetatable", "io", "ipairs", "load", "loadfile", "math",
    "next", "os", "package", "pairs", "pcall", "rawequal", "rawget", "rawlen",
    "rawset", "require", "select", "setmetatable", "string", "table",
    "tonumber", "tostring", "type", "utf8", "xpcall"} do
  rawset(own, name, _G[name])
end

local _ENV = own -- luacheck: ignore 211

local public = require "clshell.public"

local M = {}

local pending = {} -- by module name: the table to fill
local names = setmetatable({}, {__mode = "k"}) -- the other way round

local fill = {} -- the metatable of such a table

local PATH = package.path -- which a script may change before it needs them

-- Where clshell's own modules are found, whatever package.path says.
local function find(name)
  if name:find("^clshell%f[.\0]") then
    return package.searchpath(name, package.path)
      or package.searchpath(name, PATH)
  end
end

table.insert(package.searchers, 2, function(name)
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

-- Runs the file of module `name`, which fills `t`. What fails leaves `t` as
-- it was, to be tried again.
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
--- Loads what is to be loaded later, and leaves any other value alone. Only
--- raw access (rawget, next) needs it: all else loads a module by itself.
function M.load(value)
  local name = names[value]
  if name then
    load_into(value, name)
  end
  return value
end

local load = M.load

function fill.__index(t, key)
  return load(t)[key]
end

function fill.__newindex(t, key, value)
  load(t)[key] = value
end

function fill.__call(t, ...)
  return load(t)(...)
end

function fill.__pairs(t)
  return pairs(load(t))
end

function fill.__len(t)
  return #load(t)
end

function fill.__tostring(t)
  return tostring(load(t))
end

--- lazy.module(name) -> table
--- The table of a module of Lua, which is loaded when it is first used.
--- `require(name)` gives the same table.
function M.module(name)
  local t = package.loaded[name]
  if t == nil then
    t = setmetatable({}, fill)
    pending[name], names[t] = t, name
    package.loaded[name] = t
  end
  return t
end

--- lazy.table(name) -> table
--- For the module itself: the table to fill, in place of a new one.
function M.table(name)
  local t = pending[name]
  return t ~= nil and names[t] == nil and package.loaded[name] == t and t
    or {}
end

--- lazy.room(name, modules) -> table
--- The table of a folder: room.x is module x in it, loaded at its first use.
function M.room(name, modules)
  local room = {}
  for _, module in ipairs(modules) do
    room[module] = M.module(name .. "." .. module)
  end
  return room
end

return M

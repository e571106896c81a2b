-- help/names.lua - which documented thing a name or a value stands for
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local index = require "clshell.help.index"
local lualib = require "clshell.help.lualib"
local public = require "clshell.public"

local M = {}

local FAMILIES = {gemm = true, spmv = true, transpose = true}
local FORMATS = {dia = "Dia", csr = "Csr"}

--- names.family(name) -> family or nil
function M.family(name)
  return FAMILIES[name] and require("clshell." .. name) or nil
end

--- names.families() -> sorted list of their names
function M.families()
  return {"gemm", "spmv", "transpose"}
end

-- The module that documents functions as `group.name`.
local function home_of(group)
  return (group == "cl" or group == "cl.host") and package.loaded[group]
    or package.loaded[public.module(group) or "clshell." .. group]
end

-- The value that a documented name stands for, or nil.
local function value_of(name)
  local group, member = name:match("^([%w_%.]+)%.([%w_]+)$")
  local home = home_of(group or name)
  if group and type(home) == "table" then
    return rawget(home, member)
  end
  return not group and home or nil
end

-- The class of an object: of module cl, or a sparse matrix.
local function class_of(value)
  if type(value) == "userdata" then
    return cl.members(value) and tostring(value):match("^%a+")
  elseif type(value) == "table" then
    return FORMATS[rawget(value, "format")]
  end
end

local CLASSES = {kernel = "Kernel", event = "Event", queue = "Queue"}

--- names.class(value) -> string or nil
--- The class that help knows an object by: "Buffer", "Kernel", "Dia".
function M.class(value)
  local class = class_of(value)
  return class and (CLASSES[class] or class)
end

local class_name = M.class

-- A member of a family by its value: "gemm.define".
local function of_family(value)
  for name in pairs(FAMILIES) do
    local family = package.loaded["clshell." .. name]
    if family == value then
      return name
    end
    for key, member in next, type(family) == "table" and family or {} do
      if member == value then
        return name .. "." .. key
      end
    end
  end
end

--- names.of(value) -> name or nil
--- The documented name of a function, module or object.
function M.of(value)
  local kind = type(value)
  if kind ~= "function" and kind ~= "table" and kind ~= "userdata" then
    return nil
  end
  local name = of_family(value)
  if name then
    return name
  end
  for _, entry in ipairs(index.entries()) do
    if value_of(entry.name) == value or rawget(_G, entry.name) == value then
      return entry.name
    end
  end
  for _, short in ipairs(public.list) do
    if package.loaded[public.module(short)] == value then
      return short
    end
  end
  return value == cl and "cl" or class_name(value) or lualib.name(value)
end

-- A field without running anybody's metamethods; a module that the shell
-- loads at its first use is loaded now.
local function raw(value, key)
  local later = package.loaded["clshell.base.lazy"]
  if later then
    later.load(value)
  end
  if type(value) == "table" then
    local found = rawget(value, key)
    if found == nil then
      local mt = debug.getmetatable(value)
      local up = mt and rawget(mt, "__index")
      found = type(up) == "table" and rawget(up, key) or nil
    end
    return found
  end
end

--- names.value(path) -> value or nil, name of a method or nil
--- What a name such as "t.x.f" holds in the session, by raw access; of an
--- object's method, "A:read", the documented name, "Buffer:read".
function M.value(path)
  local value = path:find("^[%a_][%w_.:]*$")
    and rawget(_G, path:match("^[%w_]+"))
  local last
  for mark, key in path:gmatch("([.:])([%a_][%w_]*)") do
    if not value then
      return nil
    end
    local class = class_name(value)
    last = type(value) == "string" and "string." .. key
      or class and class .. ":" .. key
    local known = last and (index.entries()[last] or lualib.entries()[last])
    if known then
      return nil, last
    end
    value = (mark == "." or mark == ":") and raw(value, key) or nil
  end
  return value or nil
end

return M

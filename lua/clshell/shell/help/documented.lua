-- shell/help/documented.lua - the documented name of a value, and the value of
-- a name
-- SPDX-License-Identifier: MIT

local resolve = require "clshell.shell.prompt.resolve"
local cl = require "cl"
local families = require "clshell.ladder.families"
local index = require "clshell.shell.help.index"
local public = require("clshell.base.lazy").public
local reference = require "clshell.shell.help.reference"

local M = {}

--- documented.rungs() -> list of {name =, short =, family =, rung =}
--- The rungs of all families, with names such as "gemm.tiled" and "tiled".
function M.rungs()
  local list = {}
  for _, name in ipairs(families.names()) do
    local family = families.get(name)
    for _, item in ipairs(family.kernels()) do
      list[#list + 1] = {name = name .. "." .. item.name, short = item.name,
        family = family, rung = item.rung}
    end
  end
  return list
end

--- documented.entry(name) -> entry or nil
--- The entry of a documented name; gemm.define has the entry of family.define.
function M.entry(name)
  local group, member = name:match "^(%w+)%.([%w_]+)$"
  local family = group and families.get(group)
  return index.entries()[name] or family and family[member]
    and index.entries()["family." .. member] or nil
end

--- documented.commands() -> table
--- The prompt's %commands by name: {usage =, help =}; none without a prompt.
function M.commands()
  local session = package.loaded["clshell.shell.prompt"]
  local list = type(session) == "table" and rawget(session, "commands")
  return type(list) == "table" and list or {}
end

--- documented.class(value) -> string or nil
--- The class that help knows an object by: "Buffer", "Kernel", "Dia".
function M.class(value)
  return resolve.class{value = value}
end

-- The name of a family or of its member by its value: "gemm.define".
local function of_family(value)
  for _, name in ipairs(families.names()) do
    local family = families.peek(name)
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

--- documented.of(value) -> name or nil
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
    if rawequal(resolve.value(entry.name), value)
        or rawequal(rawget(_G, entry.name), value) then
      return entry.name
    end
  end
  for _, short in ipairs(public.list) do
    if package.loaded[public.module(short)] == value then
      return short
    end
  end
  return value == cl and "cl" or M.class(value) or reference.name(value)
end

--- documented.parameters(f) -> list of strings
--- The parameters of a function written in Lua.
function M.parameters(f)
  local info, list = debug.getinfo(f, "u"), {}
  for i = 1, info.nparams do
    list[i] = debug.getlocal(f, i)
  end
  list[#list + 1] = info.isvararg and "..." or nil
  return list
end

--- documented.value(path) -> value, name; or nil
--- The value of a name such as "t.x.f" in the session, by raw access, and its
--- documented name: "Buffer:read" for the method "A:read".
function M.value(path)
  local steps = {}
  for name in (path:match "^[%a_][%w_.:]*$" or ""):gmatch "[%w_]+" do
    steps[#steps + 1] = {key = name, base = not steps[1] and name or nil}
  end
  local thing = resolve.thing(steps, {})
  if thing then
    local class = thing.owner and resolve.class(thing.owner)
    return thing.value, thing.method or thing.named
      or class and class .. ":" .. thing.key or M.of(thing.value)
  end
end

return M

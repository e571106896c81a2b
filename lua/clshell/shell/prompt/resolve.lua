-- shell/prompt/resolve.lua - the value that a chain such as a.b["c"]:d leads
-- to, its members, and the documented name of a value, by raw access alone: no
-- metamethod of the session runs
-- A thing is {value =, owner =, key =}, {class =} for an object of module cl
-- of which only the class is known, or {method = "Class:name"}.
-- SPDX-License-Identifier: MIT

local api = require "clshell.base.api"
local cl = require "cl"
local families = require "clshell.ladder.families"
local index = require "clshell.shell.help.index"
local lazy = require "clshell.base.lazy"
local reference = require "clshell.shell.help.reference"
local safe_call = require "clshell.shell.prompt.safe_call"

local loaded, members, public = package.loaded, cl.members, lazy.public
local registry = debug.getregistry()

local M = {}

local DEPTH = 8   -- of __index chains
local LONG = 1000 -- elements of a list

--- resolve.meta(value, name) -> value or nil
--- A field of a value's metatable, raw.
function M.meta(value, name)
  local mt = safe_call.metatable(value)
  return type(mt) == "table" and rawget(mt, name) or nil
end

local meta = M.meta

-- Calls f(table) for a value and the tables that its __index leads to (or its
-- __members, where __index is a function), until f returns something. Loads
-- the modules of clshell that it meets.
local function walk(value, f)
  for _ = 1, DEPTH do
    if type(value) == "table" then
      pcall(lazy.load, value)
      local found = f(value)
      if found ~= nil then
        return found
      end
    end
    local after = meta(value, "__index")
    value = type(after) == "table" and after or meta(value, "__members")
    if type(value) ~= "table" then
      return nil
    end
  end
end

--- resolve.field(value, key) -> value or nil
--- The raw field of a value, or of the tables that its __index leads to.
function M.field(value, key)
  return walk(value, function(t)
    return rawget(t, key)
  end)
end

local function has(list, name)
  for _, item in ipairs(list) do
    if item == name then
      return true
    end
  end
  return false
end

-- The class of an object of module cl.
local function class_of(thing)
  if thing.class then
    return thing.class
  elseif type(thing.value) == "userdata" and members(thing.value) then
    local name = meta(thing.value, "__name")
    return type(name) == "string" and name or nil
  end
end

--- resolve.class(thing) -> name or nil
--- The class that documents the methods of an object or table: the class of an
--- object of module cl, or the class that a table's metatable names, as in
--- "CSR matrix" and "clshell.results".
function M.class(thing)
  local name, known = meta(thing.value, "__name"), class_of(thing)
  if known or type(name) ~= "string" then
    return known
  end
  name = name:gsub("^clshell%.", ""):match("^%w*"):lower()
  for _, entry in ipairs(api.all()) do
    local class = entry.name:match "^(%w+):"
    if class and class:lower() == name then
      return class
    end
  end
end

--- resolve.family(thing) -> the table of a kernel family, or nil
function M.family(thing)
  local value = thing and thing.value
  for _, name in ipairs(families.own()) do
    if rawequal(value, families.peek(name)) then
      pcall(lazy.load, value) -- other modules stay as they are
    end
  end
  if type(value) == "table" and meta(value, "__name") == "clshell.family"
      and type(rawget(value, "list")) == "table" then
    return value
  end
end

--- resolve.value(name) -> value or nil
--- The value of a documented name such as "bench" or "cl.host.sort"; nil while
--- its module is not loaded.
function M.value(name)
  local owner, key = name:match "^([%w_%.]+)%.([%w_]+)$"
  local session = lazy.session
  if not key and session and rawget(session, name) ~= nil then
    return rawget(session, name)
  end
  owner = owner or name
  local home = families.peek(owner) or loaded[(owner == "mpi"
    or owner:find "^cl%f[.\0]") and owner or public.module(owner)
    or "clshell." .. owner]
  if key then
    return type(home) == "table" and rawget(home, key) or nil
  end
  return home
end

-- The name of a function or of a callable table in the entries of help.
local function public_name(value)
  for _, entry in ipairs(value ~= nil and index.entries() or {}) do
    if rawequal(M.value(entry.name), value) then
      return entry.name
    end
  end
end

-- The name of a family or of its member by its value: "gemm.define".
local function family_name(value)
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

--- resolve.of(value) -> name or nil
--- The documented name of a function, module or object.
function M.of(value)
  local kind = type(value)
  if kind ~= "function" and kind ~= "table" and kind ~= "userdata" then
    return nil
  end
  local name = family_name(value) or public_name(value)
  for _, short in ipairs(name and {} or public.list) do
    if rawequal(loaded[public.module(short)], value) then
      return short
    end
  end
  return name or rawequal(value, cl) and "cl" or M.class{value = value}
    or reference.name(value)
end

--- resolve.name(thing) -> the name a function is declared under, or nil
--- Such as "cl.buffer", "Buffer:read", "family.bench" or "Launch()".
function M.name(thing)
  if thing.method then
    return thing.method
  elseif M.family(thing) then
    return "family"
  elseif thing.owner and M.family(thing.owner) then
    return "family." .. thing.key
  end
  local class = class_of(thing)
  if class then
    return class .. "()" -- a call of the object
  end
  local owner = thing.owner and M.class(thing.owner)
  if owner then
    return owner .. ":" .. thing.key
  end
  return rawequal(thing.value, require) and "require"
    or public_name(thing.value)
end

-- A field of an object of module cl, if its metatable's __index is still the C
-- function of module cl, whose first upvalue is the class.
local function field_of(object, key)
  local f = meta(object, "__index")
  if type(f) == "function" and debug.getinfo(f, "S").what == "C" then
    local _, class = debug.getupvalue(f, 1)
    local _, methods = debug.getupvalue(f, 2)
    if type(class) == "userdata" and type(methods) == "table" then
      local fine, value = pcall(f, object, key)
      return fine and value or nil
    end
  end
end

-- The Kernel object that a thing is or launches, or nil.
local function kernel_of(thing)
  local class, owner = class_of(thing), thing.owner or {}
  if class == "Launch" then
    return thing.kernel or thing.value and field_of(thing.value, "kernel")
  elseif class == "Kernel" then
    return thing.value or owner.value and field_of(owner.value, thing.key)
  end
end

-- A member of an object of module cl. A field with the name of a class, such
-- as Context.queue, holds an object of that class.
local function member(thing, class, key)
  local methods, fields, names = members(thing.class or thing.value)
  if methods and has(methods, key) then
    return {method = class .. ":" .. key, owner = thing}
  elseif class == "Program" and names and has(names, key) then
    return {class = "Kernel", owner = thing, key = key}
  end
  local named = fields and has(fields, key) and key:gsub("^%l", string.upper)
  return named and members(named)
    and {class = named, owner = thing, key = key} or nil
end

-- The class of module cl of a call's result, or nil.
local function result_class(thing)
  local name = M.name(thing) or ""
  if M.family(thing) then
    return "Buffer"
  elseif name == "Launch()" or name == "CommandBuffer()" then
    return "Event"
  end
  local entry = api.entry(name)
  return entry and entry.class and members(entry.class) and entry.class
    or nil
end

local function step(thing, s)
  if s.call then
    local class = result_class(thing)
    return class and {class = class,
      kernel = class == "Launch" and kernel_of(thing.owner) or nil}
  end
  local class = class_of(thing)
  if class then
    return type(s.key) == "string" and member(thing, class, s.key) or nil
  end
  local value = M.field(thing.value, s.key)
  if value ~= nil then
    return {value = value, owner = thing, key = s.key}
  end
end

--- resolve.thing(steps, locals) -> thing or nil
--- The thing that a chain (see place.lua) leads to; nil where only running
--- code could tell. The values of local names are unknown.
function M.thing(steps, locals)
  local base = steps and steps[1]
  if not base or base.base and locals[base.base] then
    return nil
  end
  local value = base.string and "" or nil
  if base.base == "_ENV" then
    value = _G
  elseif base.base then
    value = M.field(_G, base.base)
  end
  local thing = value ~= nil and {value = value} or nil
  for i = 2, thing and #steps or 0 do
    thing = thing and step(thing, steps[i])
  end
  return thing or nil
end

--- resolve.path(path) -> value, name; or nil
--- The value of a name such as "t.x.f" in the session, and its documented
--- name: "Buffer:read" for the method "A:read".
function M.path(path)
  local steps = {}
  for name in (path:match "^[%a_][%w_.:]*$" or ""):gmatch "[%w_]+" do
    steps[#steps + 1] = {key = name, base = not steps[1] and name or nil}
  end
  local thing = M.thing(steps, {})
  if thing then
    local class = thing.owner and M.class(thing.owner)
    return thing.value, thing.method or class and class .. ":" .. thing.key
      or M.of(thing.value)
  end
end

--- resolve.parameters(f) -> list of strings
--- The parameters of a function written in Lua.
function M.parameters(f)
  local info, list = debug.getinfo(f, "u"), {}
  for i = 1, info.nparams do
    list[i] = debug.getlocal(f, i)
  end
  list[#list + 1] = info.isvararg and "..." or nil
  return list
end

-- Adds the string keys of a table that come after key `key` to a list, with
-- `methods` only of callable values; budget.over where strings are left.
local function add_keys(list, t, key, budget, methods)
  local value
  repeat
    key, value = next(t, key)
    if budget.left == 0 then
      budget.over = budget.over or key ~= nil and type(key) ~= "number"
      return
    end
    budget.left = budget.left - 1
    list[#list + 1] = type(key) == "string" and (not methods
      or type(value) == "function" or meta(value, "__call")) and key or nil
  until key == nil
end

--- resolve.members(thing, methods, budget) -> list of names
--- The names of a thing's members; `methods`: only of members that can be
--- called. It looks at no more than budget.left keys; budget.over tells that
--- there were more. A kernel family has only its documented functions.
function M.members(thing, methods, budget)
  local names = {}
  if M.family(thing) then
    for _, entry in ipairs(index.entries()) do
      local key = entry.name:match "^family%.(.*)$"
      names[#names + 1] = key and rawget(thing.value, key) and key or nil
    end
    return names
  end
  local object = thing.class or thing.value
  local devices = rawget(registry, "cl.devices")
  if object == "Device" and thing.class and type(devices) == "table" then
    object = rawget(devices, 1) or object -- any device knows the names
  end
  local all, fields, kernels
  if thing.class or type(object) == "userdata" then
    all, fields, kernels = members(object)
  end
  for _, list in ipairs(all and {all, not methods and fields or {},
      not methods and kernels or {}} or {}) do
    table.move(list, 1, #list, #names + 1, names)
  end
  walk(not all and thing.value or nil, function(t)
    local n = rawlen(t)
    if n > LONG and rawget(t, n) ~= nil then -- keys come after elements
      add_keys(names, t, n, budget, methods)
    end
    add_keys(names, t, nil, budget, methods)
  end)
  return names
end

--- resolve.devices() -> list of names, or nil while no driver is open
function M.devices()
  local list = rawget(registry, "cl.devices")
  if type(list) ~= "table" then
    return nil
  end
  local names = {}
  for i, device in ipairs(list) do
    names[i] = field_of(device, "name")
  end
  return names
end

--- resolve.kernel(thing) -> {name =, args =}, or nil
--- The kernel that a call of the thing, a Kernel or a Launch, runs.
function M.kernel(thing)
  local kernel = kernel_of(thing)
  local args = kernel and field_of(kernel, "args")
  return type(args) == "table" and {args = args,
    name = field_of(kernel, "name") or "kernel"} or nil
end

return M

-- prompt/chain.lua - what a chain such as a.b["c"]:d leads to, and the names
-- it has, by raw access alone: no metamethod of the session's is ever called A
-- thing is {value =, owner =, key =}, or {class =} where only the class of an
-- object of module cl is known, {method = "Class:name"}, or {named =} of a
-- function whose module is not loaded.
-- SPDX-License-Identifier: MIT

local calls = require "clshell.prompt.signatures"
local cl = require "cl"
local options = require "clshell.base.options"
local pristine = require "clshell.prompt.pristine"
local public = require "clshell.public"

-- Held here, as a session may change these.
local match = string.match
local next, rawequal, rawget, rawlen = next, rawequal, rawget, rawlen
local type = type
local getinfo, getupvalue = debug.getinfo, debug.getupvalue
local metatable, registry = debug.getmetatable, debug.getregistry()
local loaded, pcall, require = package.loaded, pcall, require
local members = cl.members

local M = {}

local DEPTH = 8   -- of __index chains
local LONG = 1000 -- elements of a list
local G = _ENV
local FAMILIES = {"clshell.gemm", "clshell.spmv", "clshell.transpose"}

-- A field of a value's metatable, raw.
local function meta(value, name)
  local mt = metatable(value)
  return type(mt) == "table" and rawget(mt, name) or nil
end

--- reach.ready(value) -> value
--- A module of clshell that is loaded at its first use is loaded now, if
--- that runs nothing of the session's.
local function ready(value)
  local later = loaded["clshell.base.lazy"]
  if type(value) == "table" and later and next(value) == nil
      and pristine() then
    pcall(later.load, value)
  end
  return value
end
M.ready = ready

-- Calls fn(table) for a value and the tables its __index leads to, until it
-- gives something.
local function walk(value, fn)
  for _ = 1, DEPTH do
    if type(value) == "table" then
      local found = fn(ready(value))
      if found ~= nil then
        return found
      end
    end
    value = meta(value, "__index")
    if type(value) ~= "table" then
      return nil
    end
  end
end

local function field(value, key)
  return walk(value, function(t)
    return rawget(t, key)
  end)
end

local function lists(object)
  local fine, methods, fields, names = pcall(members, object)
  if fine and methods then
    return methods, fields, names or {}
  end
end

local function has(list, name)
  for i = 1, #list do
    if list[i] == name then
      return true
    end
  end
  return false
end

--- reach.class(thing) -> name or nil
--- The class of an object of module cl.
local function class_of(thing)
  if thing.class then
    return thing.class
  elseif type(thing.value) == "userdata" and lists(thing.value) then
    local name = meta(thing.value, "__name")
    return type(name) == "string" and name or nil
  end
end
M.class = class_of

--- reach.family(thing) -> the table of a kernel family, or nil
function M.family(thing)
  local value = thing and thing.value
  for i = 1, value ~= nil and #FAMILIES or 0 do
    if rawequal(value, loaded[FAMILIES[i]]) then
      ready(value)
    end
  end
  if type(value) == "table" and meta(value, "__name") == "clshell.family"
      and type(rawget(value, "list")) == "table" then
    return value
  end
end

-- What public functions are called: by the function (or callable table).
-- A function of a module that is not loaded yet is nobody's value.
local names_of

local function name_all(list)
  for name in next, list do
    local first, second = match(name, "^([%w_]+)%.([%w_]+)$")
    local owner = first and (loaded[first == "cl" and first
      or public.module(first) or "clshell." .. first])
      or not first and loaded.clshell
    local value = type(owner) == "table"
      and rawget(owner, second or name)
    if value then
      names_of[value] = names_of[value] or name
    end
  end
end

local function public_name(value)
  names_of = {}
  local declared = {}
  for _, name in next, options.functions() do
    declared[name] = true
  end
  name_all(declared)
  name_all(calls.arguments)
  name_all(calls.gives)
  names_of[require] = "require"
  return names_of[value]
end

--- reach.name(thing) -> the name a function is declared under, or nil
--- Such as "cl.buffer", "Buffer:read", "family.bench" or "Launch()".
function M.name(thing)
  if thing.method or thing.named then
    return thing.method or thing.named
  elseif M.family(thing) then
    return "family"
  elseif thing.owner and M.family(thing.owner) then
    return "family." .. thing.key
  end
  local class = class_of(thing)
  if class then
    return class .. "()"
  end
  local tag = thing.owner and calls.objects[meta(thing.owner.value, "__name")]
  if tag then
    return tag .. ":" .. thing.key
  end
  return thing.value ~= nil and public_name(thing.value) or nil
end

-- A member of an object of module cl.
local function member(thing, class, key)
  local given = calls.gives[class .. "." .. key]
  if given then
    return {class = given}
  end
  local methods, _, names = lists(thing.class or thing.value)
  if methods and has(methods, key) then
    return {method = class .. ":" .. key, owner = thing}
  elseif class == "Program" and names and has(names, key) then
    return {class = "Kernel"}
  end
end

-- The name of a member of a module that is not loaded yet, nor need be.
local function unloaded(thing, key)
  local value = thing.value
  if type(value) == "table" and next(value) == nil
      and loaded["clshell.base.lazy"] and not M.family(thing) then
    local name = public_name(value)
    return name and type(key) == "string" and name .. "." .. key
  end
end

local function step(thing, s)
  if s.call then
    local class = calls.gives[M.name(thing) or ""]
    return class and {class = class}
  end
  local class = class_of(thing)
  if class then
    return type(s.key) == "string" and member(thing, class, s.key) or nil
  end
  local name = unloaded(thing, s.key)
  if name then
    return {named = name}
  end
  local value = field(thing.value, s.key)
  if value ~= nil then
    return {value = value, owner = thing, key = s.key}
  end
end

--- reach.thing(chain, locals) -> thing or nil
--- What a chain (see place.lua) leads to; nil where that is not known without
--- running code. Nothing is known of the values of local names.
function M.thing(chain, locals)
  local base = chain and chain[1]
  if not base or base.base and locals[base.base] then
    return nil
  end
  local value = base.base == "_ENV" and G
    or base.base and field(G, base.base)
  if base.string then
    value = ""
  end
  local thing = value ~= nil and {value = value} or nil
  for i = 2, thing and #chain or 0 do
    thing = step(thing, chain[i])
    if not thing then
      return nil
    end
  end
  return thing
end

--- reach.names(thing) -> list of strings
--- What an object knows besides methods and fields: kernels of a program.
function M.names(thing)
  local _, _, names = lists(thing.value)
  return names or {}
end

local function callable(value)
  return type(value) == "function" or meta(value, "__call") ~= nil
end

-- Offers the string keys of a table that come after key `key`; false if
-- the budget ends before them, among strings.
local function keys_after(t, key, budget, offer)
  local value
  while true do
    key, value = next(t, key)
    if key == nil then
      return true
    elseif budget.left == 0 then
      return type(key) == "number"
    end
    budget.left = budget.left - 1
    if type(key) == "string" and offer(key, value) then
      return true
    end
  end
end

-- Offers the keys of a table; those of a long list lie behind its elements.
local function keys(t, budget, offer)
  local n = rawlen(t)
  if n > LONG and rawget(t, n) ~= nil then
    budget.over = not keys_after(t, n, budget, offer) or budget.over
  end
  budget.over = not keys_after(t, nil, budget, offer) or budget.over
end

--- reach.members(thing, methods, budget, offer)
--- Calls offer(name) for the names that a thing has, until it gives
--- true; those that can be called alone if `methods`. At most budget.left keys
--- are looked at; budget.over tells that there were more.
function M.members(thing, methods, budget, offer)
  local object = thing.class or thing.value
  local devices = rawget(registry, "cl.devices")
  if object == "Device" and thing.class and type(devices) == "table" then
    object = rawget(devices, 1) or object -- any knows the names
  end
  local all, fields, names = lists(object)
  if all and (thing.class or type(object) == "userdata") then
    for i = 1, #all do
      offer(all[i])
    end
    for _, list in next, methods and {} or {fields, names} do
      for i = 1, #list do
        offer(list[i])
      end
    end
    return
  end
  walk(thing.value, function(t)
    keys(t, budget, methods and function(key, value)
      return callable(value) and offer(key)
    end or offer)
  end)
end

--- reach.globals() -> the table of global names
function M.globals()
  return {value = G}
end

-- A field of an object of module cl, if its metatable is still its own: that
-- has a C function of which the first upvalue is the class.
local function index(object, key)
  local f = meta(object, "__index")
  if type(f) == "function" and getinfo(f, "S").what == "C" then
    local _, class = getupvalue(f, 1)
    local _, methods = getupvalue(f, 2)
    if type(class) == "userdata" and type(methods) == "table" then
      local fine, value = pcall(f, object, key)
      return fine and value or nil
    end
  end
end

--- reach.devices() -> list of names, or nil while no driver is open
function M.devices()
  local list = rawget(registry, "cl.devices")
  if type(list) ~= "table" then
    return nil
  end
  local names = {}
  for i = 1, #list do
    names[i] = index(list[i], "name")
  end
  return names
end

--- reach.signature(thing) -> list of strings, name; or nil
--- The parameters of a kernel or of a launch, as declared, and its name.
function M.signature(thing)
  local object = thing.value
  local class = type(object) == "userdata" and class_of(thing)
  if class == "Launch" then
    object = index(object, "kernel")
  elseif class ~= "Kernel" then
    return nil
  end
  local args = object and index(object, "args")
  if type(args) ~= "table" then
    return nil
  end
  local parts = {}
  for i = 1, #args do
    local a = args[i]
    local space = a.space and a.space ~= "private" and a.space .. " " or ""
    parts[i] = space .. (a.type or "?") .. " " .. (a.name or "")
  end
  return parts, index(object, "name")
end

return M

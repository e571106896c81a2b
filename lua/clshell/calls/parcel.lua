-- calls/parcel.lua - Lua values as a string, for another process of clshell:
-- tables (shared and cyclic tables stay so), functions with their upvalues and
-- the globals that they name, and objects of module cl with their content.
-- Values of a module are not sent: the other process finds them by name in its
-- own module.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local text = require "clshell.base.text"

local M = {}

-- Calls f(value, module, key, upvalue) for all values of modules: a module, a
-- field of it, and the upvalues of its functions, such as metatables.
local function each_of_module(name, module, f)
  f(module, name)
  local keys = {}
  for key in next, type(module) == "table" and module or {} do
    keys[#keys + 1] = type(key) == "string" and key or nil
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    f(module[key], name, key)
  end
  for _, key in ipairs(keys) do
    local value = module[key]
    local count = type(value) == "function" and debug.getinfo(value, "u").nups
    for i = 1, count or 0 do
      f(select(2, debug.getupvalue(value, i)), name, key, i)
    end
  end
end

local known, known_by = nil, nil -- the places, until another module is loaded

-- {value = {module, key, upvalue}} of all modules. Only C functions count
-- among the globals: other globals may be the user's.
local function places()
  local loaded = 0
  for _, module in next, package.loaded do
    loaded = loaded + (type(module) == "table" and next(module) and 2 or 1)
  end
  if loaded == known_by then
    return known
  end
  local found, names = setmetatable({}, {__mode = "k"}), {}
  known, known_by = found, loaded
  local function note(value, ...)
    local kind = type(value)
    if (kind == "table" or kind == "function" or kind == "userdata")
        and value ~= _G._G and not found[value] then
      found[value] = {...}
    end
  end
  for name in next, package.loaded do
    names[#names + 1] = type(name) == "string" and name ~= "_G" and name or nil
  end
  table.sort(names)
  found[_G._G] = {"_G"}
  for name, value in next, _G._G do
    if type(value) == "function" and debug.getinfo(value, "S").what == "C" then
      note(value, "_G", name)
    end
  end
  for _, name in ipairs(names) do
    each_of_module(name, package.loaded[name], note)
  end
  for name, meta in next, debug.getregistry() do
    if type(meta) == "table" and rawget(meta, "__name") == name then
      note(meta, "", name)
    end
  end
  return found
end

-- The value at a place, in this process.
local function at_place(module, key, upvalue)
  if module == "" then
    return debug.getregistry()[key]
  end
  local value = require(module)
  if key ~= "" then
    value = value[key]
  end
  if upvalue > 0 then
    value = select(2, debug.getupvalue(value, upvalue))
  end
  return value
end

-- Whether a function that was dumped names a global: the name is a constant.
local function is_named(dump, name)
  local size = #name + 1
  return size < 128 and dump:find((#name > 40 and "\x14" or "\x04")
    .. string.char(size | 128) .. name, 1, true) ~= nil
end

local Writer = {}
Writer.__index = Writer

function Writer:add(format, ...)
  self[#self + 1] = format:pack(...)
end

-- Ends the packing at a value that cannot be sent, named by its path.
function Writer:refuse(what)
  local way = self.way
  local name = table.concat(way, "", 2):gsub("^%.", "")
  error({refusal = ("%s is %s, which cannot go to another process"):format(
    name == "" and way[1] or name, what)}, 0)
end

-- Writes a value that is reached by one more step.
function Writer:step(name, value)
  local way = self.way
  way[#way + 1] = name
  self:value(value)
  way[#way] = nil
end

-- Notes an object that later values refer to.
function Writer:note(x)
  self.count = self.count + 1
  self.seen[x] = self.count
end

function Writer:table(x)
  self:add("<z", "{")
  self:note(x)
  for key, value in next, x do
    self:step(" key", key)
    self:step(type(key) == "string" and "." .. key
      or ("[%s]"):format(tostring(key)), value)
  end
  self:value(nil)
  self:step("'s metatable", debug.getmetatable(x))
end

-- Notes the globals that a function names; they follow the values.
function Writer:globals(f)
  local dump = string.dump(f, true)
  for name, value in next, _G._G do
    if type(name) == "string" and not self.global[name]
        and package.loaded[name] ~= value and is_named(dump, name) then
      local place = self.places[value]
      if not (place and place[1] == "_G" and place[2] == name) then
        self.global[name] = true
        self.wanted[#self.wanted + 1] = name
      end
    end
  end
end

Writer["function"] = function(self, f)
  local info = debug.getinfo(f, "Su")
  if info.what == "C" then
    self:refuse "a function in C"
  end
  self:add("<zs8I1", "F", string.dump(f), info.nups)
  self:note(f)
  for i = 1, info.nups do
    local name, value = debug.getupvalue(f, i)
    local id = debug.upvalueid(f, i)
    self:add("<I4", self.upvalues[id] or 0)
    if value == _G._G then
      self:globals(f)
    end
    if not self.upvalues[id] then
      self.joints = self.joints + 1
      self.upvalues[id] = self.joints
      self:step(("'s upvalue %s"):format(name), value)
    end
  end
end

-- A buffer as one row, with the gaps between its rows.
local function flat(b)
  return b:matrix(1, 1, b.bytes // cl.typesize(b.type))
end

-- A view of a buffer, from the beginning of the memory that kernels get.
local function view(root, v)
  if #v.shape > 2 then
    return root:as(v.type)
  end
  local size = cl.typesize(v.type)
  local bytes = flat(root):as "char"
  if #v.shape == 1 then
    return bytes:view(v.offset + 1, v.offset + v.bytes):as(v.type)
  end
  local from = v.offset - v.start * size
  local elements = (root.bytes - from) // size
  return bytes:view(from + 1, from + elements * size):as(v.type):matrix(
    v.start + 1, v.shape[1], v.shape[2], v.ld)
end

-- The objects of module cl, by class: parts(x, refuse) are the values that
-- stand for an object, make(parts) is the object again.
local objects = {
  Device = {parts = function(x) return x.index end,
    make = function(index) return cl.devices()[index] end},
  Context = {parts = function(x) return x.device.index end,
    make = function(index) return cl.context(cl.devices()[index]) end},
  Array = {parts = function(x) return x.type, x.shape, x:tobytes() end,
    make = cl.array},
  Local = {parts = function(x) return x.type, x.count end,
    make = cl.localmem},
  Any = {parts = function(x) return x.base and "base" or "any", x.buffer end,
    make = function(way, b) return cl[way](b) end},
  Value = {parts = function(x) return x.type, x.data end,
    make = function(kind, data)
      if not kind then
        return cl.bytes(data)
      end
      local one <close> = cl.array(kind, 1, data)
      return cl[kind](one[1])
    end},
}

-- A Buffer with its content, or a view as its place in another one.
objects.Buffer = {
  parts = function(x, refuse)
    local root, info = debug.getuservalue(x, 2), x:info()
    while root and debug.getuservalue(root, 2) do
      root = debug.getuservalue(root, 2)
    end
    if root and root.closed then
      refuse "a view of a closed Buffer"
    elseif root then
      return root, {type = info.type, shape = info.shape, ld = info.ld,
        start = info.start, offset = info.offset, bytes = info.bytes}
    end
    local whole <close> = flat(x)
    local content <close> = whole:read()
    return x.context, {type = info.type, shape = info.shape,
      ld = #info.shape == 2 and info.ld or nil}, content:tobytes()
  end,
  make = function(from, of, bytes)
    if not bytes then
      return view(from, of)
    end
    local b = cl.buffer(of.type, of.shape, nil, {context = from, ld = of.ld})
    local whole <close> = flat(b)
    local content <close> = cl.array(of.type, whole.shape, bytes)
    whole:write(content)
    return b
  end,
}

function Writer:userdata(x)
  local class = cl.class(x)
  if not (class and objects[class]) then
    self:refuse(text.article(class or text.class(x) or "userdata"))
  elseif x.closed then
    self:refuse(("a closed %s"):format(class))
  end
  local parts = table.pack(objects[class].parts(x, function(what)
    self:refuse(what)
  end))
  self:add("<zzI1", "O", class, parts.n)
  self:note(x)
  for i = 1, parts.n do
    self:value(parts[i])
  end
end

Writer["nil"] = function(self)
  self:add("<z", "n")
end

function Writer:boolean(x)
  self:add("<z", x and "t" or "f")
end

function Writer:number(x)
  if math.type(x) == "integer" then
    self:add("<zi8", "i", x)
  else
    self:add("<zn", "d", x)
  end
end

function Writer:string(x)
  self:add("<zs8", "s", x)
end

function Writer:thread()
  self:refuse "a coroutine"
end

function Writer:value(x)
  local kind = type(x)
  local place = self.places[x]
  if x ~= nil and self.seen[x] then
    self:add("<zI4", "r", self.seen[x])
  elseif place then
    self:add("<zzzI1", "P", place[1], place[2] or "", place[3] or 0)
  else
    self[kind](self, x)
  end
end

--- parcel.pack(...) -> string, or nil and a reason
--- The values as a string. A value that cannot go to another process is the
--- reason: a coroutine, a function in C or an object of a driver that no
--- module has, a closed object; queues, events, programs and kernels.
function M.pack(...)
  local w = setmetatable({places = places(), seen = {}, count = 0,
    upvalues = {}, joints = 0, global = {}, wanted = {}, way = {}}, Writer)
  local values = table.pack(...)
  local ok, e = interrupt.pcall(function()
    w:add("<I4", values.n)
    for i = 1, values.n do
      w:step(("value %d"):format(i), values[i])
    end
    local i = 0
    while i < #w.wanted do
      i = i + 1
      w:value(w.wanted[i])
      w:step("global " .. w.wanted[i], rawget(_G._G, w.wanted[i]))
    end
    w:value(nil)
  end)
  if ok then
    return table.concat(w)
  end
  return nil, type(e) == "table" and (e.refusal or e.message) or tostring(e)
end

local Reader = {}
Reader.__index = Reader

function Reader:take(format)
  local values = table.pack(format:unpack(self.from, self.at))
  self.at = values[values.n]
  return table.unpack(values, 1, values.n - 1)
end

function Reader:note(x)
  self.seen[#self.seen + 1] = x
  return x
end

local read = {
  n = function() return nil end,
  t = function() return true end,
  f = function() return false end,
  i = function(r) return r:take "<i8" end,
  d = function(r) return r:take "<n" end,
  s = function(r) return r:take "<s8" end,
  r = function(r) return r.seen[r:take "<I4"] end,
  P = function(r) return at_place(r:take "<zzI1") end,
}

function read.O(r)
  local class, count = r:take "<zI1"
  local at = #r.seen + 1
  r.seen[at] = false -- objects among its parts have later numbers
  local parts = {}
  for i = 1, count do
    parts[i] = r:value()
  end
  r.seen[at] = objects[class].make(table.unpack(parts, 1, count))
  return r.seen[at]
end

read["{"] = function(r)
  local t = r:note{}
  local key = r:value()
  while key ~= nil do
    t[key] = r:value()
    key = r:value()
  end
  return debug.setmetatable(t, r:value())
end

function read.F(r)
  local dump, count = r:take "<s8I1"
  local f = r:note(assert(load(dump, nil, "b")))
  for i = 1, count do
    local id = r:take "<I4"
    if id > 0 then
      debug.upvaluejoin(f, i, table.unpack(r.joints[id]))
    else
      r.joints[#r.joints + 1] = {f, i}
      debug.setupvalue(f, i, r:value())
    end
  end
  return f
end

function Reader:value()
  return read[self:take "<z"](self)
end

--- parcel.unpack(string) -> values
--- The values of parcel.pack, in this process. The globals that their
--- functions name become globals here.
function M.unpack(from)
  local r = setmetatable({from = from, at = 1, seen = {}, joints = {}}, Reader)
  local values = {n = r:take "<I4"}
  for i = 1, values.n do
    values[i] = r:value()
  end
  local name = r:value()
  while name ~= nil do
    rawset(_G._G, name, r:value())
    name = r:value()
  end
  return table.unpack(values, 1, values.n)
end

return M

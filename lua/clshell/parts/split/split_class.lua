-- parts/split/split_class.lua - class Split: a Buffer in parts on several
-- devices, and its copies to the devices and back
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local devices = require "clshell.parts.split.devices"
local text = require "clshell.base.text"

local M = {}

local methods = {}
local meta = {__name = "Split", __metatable = false}

meta.__members = methods -- for completion
M.methods, M.meta = methods, meta

-- The shape of a part with `rows` rows; shape: the shape of the whole.
local function with_rows(shape, rows)
  return {rows, table.unpack(shape, 2)}
end

-- The number of elements of a row.
local function row_count(shape)
  local n = 1
  for k = 2, #shape do
    n = n * shape[k]
  end
  return n
end

-- class.new(fields) -> Split
--- Fields: devices, parts (false where a device has no rows), sizes (rows of
--- each part), axis ("rows" or "copies"), type and shape.
function M.new(s)
  local first = 1
  s.first = {}
  for i, rows in ipairs(s.sizes) do
    s.first[i] = s.axis == "copies" and 1 or first
    first = first + rows
  end
  return setmetatable(s, meta)
end

-- class.empty(fields) -> Split
--- A Split of new Buffers. Fields: as for class.new, without parts.
function M.empty(s)
  s.parts = {}
  for i, rows in ipairs(s.sizes) do
    s.parts[i] = rows > 0 and cl.buffer(s.type, with_rows(s.shape, rows), nil,
      {context = cl.context(s.devices[i])})
  end
  return M.new(s)
end

-- class.like(s, parts) -> Split
--- A Split of parts with the rows of Split s, and the parts' type and columns.
function M.like(s, parts)
  local any
  for _, part in ipairs(parts) do
    any = any or part
  end
  return M.new{devices = s.devices, parts = parts, sizes = s.sizes,
    axis = s.axis, type = any.type, shape = with_rows(any.shape, s.shape[1])}
end

-- class.is(x) -> boolean
function M.is(x)
  return type(x) == "table" and debug.getmetatable(x) == meta
end

-- class.whole(s, parts) -> list of {part, first}
--- The parts, out of a list for the devices of s, that together have all rows,
--- and the first row of each: one part alone of a Split in copies.
function M.whole(s, parts)
  local list = {}
  for i, part in ipairs(parts) do
    if part and (s.axis == "rows" or not list[1]) then
      list[#list + 1] = {part = part, first = s.first[i]}
    end
  end
  return list
end

-- class.live(what, s) -> s
--- Raises where a part was closed.
function M.live(what, s)
  for i, part in ipairs(s.parts) do
    if part and text.class(part) == "Buffer" and part.closed then
      cl.error(("%s: part %d of the Split is closed"):format(what, i))
    end
  end
  return s
end

-- class.fits(what, s, other)
--- Raises unless two Splits have the same rows on the same devices; one of
--- them may be in copies.
function M.fits(what, s, other)
  local same = #s.devices == #other.devices
  for i, device in ipairs(s.devices) do
    same = same and device == other.devices[i]
      and (s.axis == "copies" or other.axis == "copies"
        or s.sizes[i] == other.sizes[i])
  end
  if not same then
    cl.error(what .. ": the Splits lie on other devices, or in other shares",
      {hint = "cl.split(x:join(), s.devices, \"rows\", {shares = s.sizes})"})
  end
end

-- class.given(what, A) -> A
--- Converts a value that can be split to a Buffer or an Array.
function M.given(what, A)
  local class = text.class(A)
  if class == "Expression" then
    A = A:eval()
  elseif type(A) == "table" and not class and A[1] ~= nil then
    A = type(A[1]) == "table" and require "clshell.data.matrix".from(A)
      or cl.buffer("float", #A, A)
  elseif class ~= "Buffer" and class ~= "Array" then
    cl.error(("%s: A must be a Buffer, an Array, a sparse matrix or a nested "
      .. "table; got %s"):format(what, text.got(A)), {arg = "A"})
  end
  if A.closed then
    cl.error(what .. ": A is closed", {arg = "A"})
  elseif #A == 0 then
    cl.error(what .. ": A has no elements to share out", {arg = "A"})
  end
  return A
end

-- class.spread(what, A, list, axis, sizes) -> Split
--- Splits a Buffer or an Array over a list of devices.
function M.spread(what, A, list, axis, sizes)
  A = M.given(what, A)
  for i = 1, #list do
    sizes[i] = axis == "copies" and A.shape[1] or sizes[i]
  end
  local s = M.empty{devices = list, sizes = sizes, axis = axis, type = A.type,
    shape = table.move(A.shape, 1, #A.shape, 1, {})}
  for i, part in ipairs(s.parts) do
    local first = s.first[i]
    local at = (first - 1) * row_count(A.shape) + 1
    if part and text.class(A) == "Array" then
      part:write(A, {at = at})
    elseif part and A.rows then
      A:copy(part, {from = {first, 1}, size = {sizes[i], A.cols}})
    elseif part then
      A:copy(part, {first = at, count = #part, to = 1})
    end
  end
  return s
end

--- Split:join([device]) -> Buffer
--- All rows in one Buffer, on the session's device or another one.
--- Example:
--- local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
--- print((2 * s):join():read()[3]) --> 6.0
function methods.join(s, device)
  local context = cl.context(device)
  M.live("join", s)
  local out = cl.buffer(s.type, s.shape, nil, {context = context})
  for _, piece in ipairs(M.whole(s, s.parts)) do
    local b = piece.part
    b = text.class(b) == "Expression" and b:eval() or b
    b:copy(out, {first = 1, count = #b,
      to = (piece.first - 1) * row_count(s.shape) + 1,
      async = b.context == context})
  end
  return out
end

--- Split:read([dst]) -> Array
--- All rows in an Array, in `dst` or a new one.
--- Example:
--- local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
--- print((s + s):sqrt():read()[2]) --> 2.0
function methods.read(s, dst)
  M.live("read", s)
  local h = dst or cl.array(s.type, s.shape)
  argument.check("Split:read", "dst", h, "Array")
  s:eval()
  devices.flush(s.devices)
  for _, piece in ipairs(M.whole(s, s.parts)) do
    piece.part:read(h, {at = (piece.first - 1) * row_count(s.shape) + 1})
  end
  return h
end

--- Split:eval() -> Split
--- Calculates the parts that are Expressions, on all devices at once, and
--- keeps the Buffers.
--- Example:
--- local s = cl.split({1, 4}, {cl.device(), cl.device()})
--- local root = s:sqrt():eval() -- Buffers, not Expressions
--- print(root.parts[2]) --> Buffer float[1]
function methods.eval(s)
  for i, part in ipairs(s.parts) do
    if part and text.class(part) == "Expression" then
      s.parts[i] = part:eval()
      s.parts[i].context.queue:flush()
    end
  end
  return s
end

--- Split:finish() -> Split
--- Waits for the default queues of the Split's devices.
--- Example:
--- local s = cl.split({1, 2}, {cl.device(), cl.device()})
--- s:fill(3):finish()
function methods.finish(s)
  devices.flush(s.devices)
  for _, device in ipairs(s.devices) do
    cl.context(device).queue:finish()
  end
  return s
end

--- Split:close()
--- Closes the parts; closing twice is fine.
--- Example:
--- local s <close> = cl.split({1, 2}, {cl.device(), cl.device()})
--- s:close()
function methods.close(s)
  for _, part in ipairs(s.parts) do
    if part and text.class(part) ~= "Expression" then
      part:close()
    end
  end
end

local fields = {
  rows = function(s)
    return #s.shape == 2 and s.shape[1] or nil
  end,
  cols = function(s)
    return #s.shape == 2 and s.shape[2] or nil
  end,
}

function meta.__index(s, key)
  if methods[key] or fields[key] then
    return methods[key] or fields[key](s)
  elseif math.type(key) then
    cl.error("the elements of a Split are on its devices; read them first: "
      .. "s:read()[1]")
  end
  local near = type(key) == "string" and cl.nearest(key, text.keys(methods))
  cl.error(("a Split has no field or method '%s'%s"):format(tostring(key),
    near and ("; did you mean '%s'?"):format(near) or ""))
end

function meta.__newindex(_, key)
  cl.error(("a Split has no field '%s' to set"):format(tostring(key)))
end

function meta.__len(s)
  return s.shape[1] * row_count(s.shape)
end

function meta.__close(s)
  methods.close(s)
end

function meta.__tostring(s)
  return ("Split %s[%s] in %s"):format(s.type, table.concat(s.shape, "]["),
    s.axis == "copies" and #s.sizes .. " copies"
      or "rows " .. text.values(s.sizes, " + "))
end

return M

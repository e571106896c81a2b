-- ladder/arguments.lua - the operands of a call: host data moved to the
-- device, and the checks that every operand goes through
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local integer = require "clshell.base.integer"
local text = require "clshell.base.text"

local M = {}

-- Whether x is a Buffer, open or closed.
function M.is_buffer(x)
  return type(x) == "userdata" and text.class(x) == "Buffer"
end

-- "a 3x4 matrix of float", "a vector of 12 float", "a 2x3x4 block of float"
function M.describe(b)
  if b.rows then
    return ("a %dx%d matrix of %s"):format(b.rows, b.cols, b.type)
  elseif #b.shape > 1 then
    return ("a %s block of %s"):format(text.shape(b.shape), b.type)
  end
  return ("a vector of %d %s"):format(#b, b.type)
end

-- Nested tables of more dimensions are no operands, but may be in a circle.
local MOST_DIMENSIONS = 8

local function nested_shape(t, depth)
  depth = depth or 1
  if type(t[1]) == "table" and depth < MOST_DIMENSIONS then
    local inner = nested_shape(t[1], depth + 1)
    return type(inner) == "table" and {#t, table.unpack(inner)}
      or {#t, inner}
  end
  return #t
end

-- Operand `x` as a Buffer: a buffer itself, an Expression's, or host data (an
-- Array, a nested table) copied into the context. `like` is the type for a
-- nested table.
function M.buffer(what, name, x, context, like)
  if text.class(x) == "Expression" then
    x = x:eval()
  end
  if M.is_buffer(x) then
    if x.closed then
      cl.error(("%s: %s is closed"):format(what, name), {arg = name})
    end
    return x
  elseif text.class(x) == "Array" then
    return cl.buffer(x.type, x.shape, x, {context = context})
  elseif type(x) == "table" and x[1] ~= nil and getmetatable(x) == nil then
    return cl.buffer(like or "float", nested_shape(x), x,
      {context = context})
  end
  cl.error(("%s: %s must be a Buffer, an Array or a nested table; got %s")
    :format(what, name, text.got(x)),
    {arg = name})
end

-- M.buffer for an operand that has to be a matrix.
function M.matrix(what, name, x, context, like)
  local b = M.buffer(what, name, x, context, like)
  if not b.rows then
    cl.error(("%s: %s must be a matrix; got %s"):format(what, name,
      M.describe(b)), {arg = name})
  end
  return b
end

-- Raises unless an operand can take the result.
function M.check_output(what, name, x)
  if not M.is_buffer(x) then
    cl.error(("%s: %s must be a Buffer: the result is written there"):format(
      what, name), {arg = name})
  end
end

-- The element type of a shape given by hand, float by default, and its size
-- in bytes; raises unless the fields of these names are >= 1.
function M.shape(what, s, ...)
  for _, name in ipairs{...} do
    integer.check(what, "the shape's " .. name, s[name], 1)
  end
  local type = s.type or "float"
  return type, cl.typesize(type)
end

-- The first open buffer or Expression of a list decides the context, else the
-- queue does, else it is the session's.
function M.context(list, queue)
  for i = 1, list.n or #list do
    local x = list[i]
    if M.is_buffer(x) and not x.closed
        or text.class(x) == "Expression" and x.context then
      return x.context
    end
  end
  return queue and queue.context or cl.context()
end

-- Raises unless all buffers of {name = buffer} are in the context.
function M.check_context(what, buffers, context)
  for name, b in pairs(buffers) do
    if b.context ~= context then
      cl.error(("%s: %s is on another device: %s; the others are on %s")
        :format(what, name, b.context.device.name, context.device.name),
        {arg = name})
    end
  end
end

-- Raises unless `type` is one of `types`.
function M.check_type(what, name, b, types)
  for _, type in ipairs(types) do
    if b.type == type then
      return
    end
  end
  cl.error(("%s: the type of %s must be one of %s; got %s"):format(what, name,
    text.values(types), M.describe(b)), {arg = name})
end

-- Raises unless `b` has the type of `a`.
function M.same_type(what, aname, a, bname, b)
  if a.type ~= b.type then
    cl.error(("%s: %s is %s, but %s is %s"):format(what, aname, a.type,
      bname, b.type), {arg = bname})
  end
end

-- Raises if the output shares memory with an input: kernels say `restrict`.
function M.check_alias(what, outname, out, inname, input)
  if out:overlaps(input) then
    cl.error(("%s: %s must not share memory with %s"):format(what, outname,
      inname), {arg = outname})
  end
end

-- A number option as the kernels get it: rounded to the element type.
function M.scalar(what, name, value, type)
  if math.type(value) == nil then
    cl.error(("%s: %s must be a number; got %s"):format(what, name,
      tostring(value)), {arg = name})
  end
  local cell <close> = cl.array(type, 1)
  cell[1] = value
  return cell[1]
end

return M

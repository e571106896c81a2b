-- ladder/operands.lua - the operands of a call: host data moved to the
-- device, Buffers packed once for a rung, and the checks of all of them
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local text = require "clshell.base.text"

local refuse = argument.refuse

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

-- The most dimensions of a nested table: a table may contain itself.
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

-- Operand `x` as a Buffer: x itself, the Buffer of an Expression, or a copy of
-- host data (an Array, a nested table) in the context. `like` is the element
-- type for a nested table.
function M.buffer(what, name, x, context, like)
  if text.class(x) == "Expression" then
    x = x:eval()
  end
  if M.is_buffer(x) then
    return x.closed and refuse(what, name, "is closed") or x
  elseif text.class(x) == "Array" then
    return cl.buffer(x.type, x.shape, x, {context = context})
  elseif type(x) == "table" and x[1] ~= nil and getmetatable(x) == nil then
    return cl.buffer(like or "float", nested_shape(x), x,
      {context = context})
  end
  refuse(what, name, "must be a Buffer, an Array or a nested table; got %s",
    text.got(x))
end

-- M.buffer for an operand that has to be a matrix.
function M.matrix(what, name, x, context, like)
  local b = M.buffer(what, name, x, context, like)
  if not b.rows then
    refuse(what, name, "must be a matrix; got %s", M.describe(b))
  end
  return b
end

-- Raises unless an operand is an open Buffer, which can take the result.
function M.check_output(what, name, x)
  if not M.is_buffer(x) then
    refuse(what, name, "must be a Buffer: the result is written there")
  end
  M.buffer(what, name, x)
end

-- The element type of a shape given by hand, float by default, and its size
-- in bytes; raises unless the fields of these names are >= 1.
function M.shape(what, s, ...)
  for _, name in ipairs{...} do
    argument.integer(what, "the shape's " .. name, s[name], 1)
  end
  local type = s.type or "float"
  return type, cl.typesize(type)
end

-- The value whose memory an operand uses: of a packed operand its source, of a
-- sparse matrix a Buffer, else the operand itself.
local function memory_of(x)
  if type(x) == "table" then
    return rawget(x, "source") or rawget(x, "values") or rawget(x, "patterns")
      or x
  end
  return x
end

-- The context of the first open Buffer or Expression in a list, else of the
-- queue, else of the session.
function M.context(list, queue)
  for i = 1, list.n or #list do
    local x = memory_of(list[i])
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
      refuse(what, name, "is on another device: %s; the others are on %s",
        b.context.device.name, context.device.name)
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
  cl.error(("%s: the type of %s must be %s%s; got %s"):format(what, name,
    types[2] and "one of " or "", text.values(types), M.describe(b)),
    {arg = name})
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
    refuse(what, outname, "must not share memory with %s", inname)
  end
end

-- A number option as the kernels get it: rounded to the element type.
function M.scalar(what, name, value, type)
  if math.type(value) == nil then
    refuse(what, name, "must be a number; got %s", tostring(value))
  end
  local cell <close> = cl.array(type, 1)
  if not pcall(function() cell[1] = value end) then
    refuse(what, name, "must be a whole number in the range of %s; got %s",
      type, tostring(value))
  end
  return cell[1]
end

local methods = {} -- of packed operands
local meta = {__name = "Packed", __metatable = false, __index = methods}

--- operands.is_packed(x) -> boolean
--- Whether x is a packed operand, open or closed.
function M.is_packed(x)
  return debug.getmetatable(x) == meta
end

-- The Buffers of a packed operand: its copy of the source, and the Buffers
-- that its rung made.
local function buffers_of(x)
  local list = {x.source}
  for _, value in pairs(x.ready) do
    list[#list + 1] = text.class(value) == "Buffer" and value or nil
  end
  return list
end

-- operands.packed(fields) -> packed operand
-- The packed operand of {family, name (of the operand), kernel, params, trans,
-- source, ready}: `source` is the operand as a Buffer that nobody else writes,
-- `ready` the result of the rung's `pack`.
function M.packed(fields)
  fields.closed, fields.bytes = false, 0
  for _, b in ipairs(buffers_of(fields)) do
    fields.bytes = fields.bytes + b.bytes
  end
  return setmetatable(fields, meta)
end

-- Releases the memory of a packed operand; calls refuse it from then on.
function methods.close(x)
  for _, b in ipairs(buffers_of(x)) do
    b:close()
  end
  x.closed = true
end

meta.__close = methods.close

function meta.__tostring(x)
  if x.closed then
    return ("packed %s (closed)"):format(x.name)
  end
  local b = x.source
  return ("packed %s: %dx%d %s%s, for %s %s, %s"):format(x.name, b.rows,
    b.cols, b.type, x.trans and ", transposed" or "", x.kernel,
    x.config, text.bytes(x.bytes))
end

-- The reason why options that name a rung or parameters do not suit operand x,
-- which is packed; or nil.
local function against(x, opts)
  local other = opts.kernel ~= nil and opts.kernel ~= x.kernel
    and "names " .. tostring(opts.kernel)
  for key, value in pairs(x.params) do
    if opts[key] ~= nil and opts[key] ~= value then
      other = other or ("has %s=%s"):format(key, opts[key])
    end
  end
  return other and ("%s is packed for %s %s, the call %s: pack it for that, "
    .. "or hand the Buffer to the call"):format(x.name, x.kernel, x.config,
    other)
end

-- operands.packed_for(family, given, opts) -> name, params; nil, nil, reason
-- The rung and the parameters for which operands of a call are packed. Returns
-- a reason where the options name another rung or other parameters, or where
-- two operands are packed for different rungs or parameters; nothing without
-- packed operands.
function M.packed_for(family, given, opts)
  local first
  for _, name in ipairs(family.spec.inputs) do
    local x = given[name]
    if M.is_packed(x) then
      local reason = against(x, opts)
      if first and (first.kernel ~= x.kernel or first.config ~= x.config) then
        reason = ("%s is packed for %s %s, %s for %s %s: pack both for the "
          .. "same"):format(first.name, first.kernel, first.config, x.name,
          x.kernel, x.config)
      end
      if reason then
        return nil, nil, reason
      end
      first = first or x
    end
  end
  if first then
    return first.kernel, first.params
  end
end

-- operands.random(type, sizes, seed) -> Buffer
-- A new Buffer of the numbers of Array:random, of char all. Few of them, as in
-- most searches, need no file of functions for the device.
function M.random(type, sizes, seed)
  local lo, hi, count = nil, nil, 1
  if type == "char" then
    lo, hi = -128, 127
  end
  for _, size in ipairs(sizes) do
    count = count * size
  end
  if count >= 1 << 20 then
    return require "clshell.data.uniform".buffer(type, sizes, seed, lo, hi)
  end
  local h <close> = cl.array(type, sizes)
  return cl.buffer(type, sizes, h:random(seed, lo, hi))
end

--- operands.packed_meta
--- The metatable of packed operands.
M.packed_meta = meta

return M

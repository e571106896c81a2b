-- arrays/layout.lua - where the elements of operands lie: Buffers as operands,
-- shapes that broadcast, and the strides of all operands of a kernel over as
-- few dimensions as they need
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local result = require "clshell.base.result"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local M = {}

-- Shapes by their text: equal shapes are one table.
local shapes = setmetatable({}, {__mode = "v"})

--- layout.shape(sizes) -> shape
--- The one table of a shape, whose `text` is "4x5" and `count` 20.
function M.shape(sizes)
  local name = text.shape(sizes)
  local shape = shapes[name]
  if not shape then
    shape = table.move(sizes, 1, #sizes, 1, {text = name, count = 1})
    for _, n in ipairs(sizes) do
      if n > 0 and shape.count > math.maxinteger // n then
        cl.error(("the shape %s has 2^63 elements or more"):format(name))
      end
      shape.count = shape.count * n
    end
    shapes[name] = shape
  end
  return shape
end

--- layout.ID
--- Bits that tell the number of an operation in an expression.
M.ID = 9

local kinds, count = {}, 0

--- layout.kind(op, type) -> {op, type, key}
--- The one table of an operation with a result of a type; its key shares no
--- bits with the numbers of three operands.
function M.kind(op, type)
  local of = kinds[op]
  if not of then
    of = {}
    kinds[op] = of
  end
  local kind = of[type]
  if not kind then
    count = count + 1
    kind = {op = op, type = type, key = count << 3 * M.ID}
    of[type] = kind
  end
  return kind
end

--- layout.meta
--- The metatable of operands, which are Expressions: expression.lua fills it.
M.meta = {}

--- layout.leaves
--- Buffers as operands: {kind = {op = "leaf", type}, buffer, dims, context,
--- strides, start, flat, whole, by, place}. These fields stay as they are as
--- long as the Buffer lives. Element (i, j), from 0, lies at start + i *
--- strides[1] + j * strides[2] in memory. flat: the elements lie in order,
--- without gaps, from the first one of the memory on; whole: the operand is no
--- view; by: see layout.spread; place: a text that tells the other fields.
M.leaves = setmetatable({}, {__mode = "k"})

--- layout.leaf(b) -> table
--- A Buffer as an operand, or an Array, whose `context` is false until
--- layout.on_device copies it to a device.
function M.leaf(b)
  local leaf = M.leaves[b]
  if leaf then
    return leaf
  end
  if b.closed then
    cl.error(("the %s of an expression is closed"):format(text.class(b)))
  end
  local dims, on_host = b.shape, text.class(b) == "Array"
  local strides, ahead, ld = {}, 1, not on_host and b.ld or dims[#dims]
  for d = #dims, 1, -1 do
    strides[d] = ahead
    ahead = ahead * (d == #dims and ld or dims[d])
  end
  leaf = M.view({kind = M.kind("leaf", b.type), buffer = b,
    context = not on_host and b.context}, {sizes = dims, strides = strides,
    start = on_host and 0 or b.start, by = {}})
  leaf.whole = true
  M.leaves[b] = not on_host and leaf or nil
  return leaf
end

--- layout.spread(leaf, shape) -> {sizes, strides, start, by}
--- Where the elements of an operand lie in the dimensions of a shape: strides
--- are 0 where one row or column of the operand serves all. by[d] is false, or
--- {first, step, size}: index i of dimension d is (first + i * step) modulo
--- size.
function M.spread(leaf, shape)
  local own, ahead = leaf.dims, #shape - #leaf.dims
  local at = {sizes = table.move(shape, 1, #shape, 1, {}), strides = {},
    start = leaf.start, by = {}}
  for d = 1, #shape do
    local k = d - ahead
    at.strides[d] = (own[k] or 1) == 1 and 0 or leaf.strides[k]
    at.by[d] = leaf.by and leaf.by[k] or false
  end
  return at
end

--- layout.view(leaf, at) -> table
--- An operand with other elements of the Buffer of an operand; `at` has the
--- form of layout.spread.
function M.view(leaf, at)
  local dims, words, flat, ahead = M.shape(at.sizes), {}, at.start == 0, 1
  local rotated = false
  for d = #dims, 1, -1 do
    local by = at.by[d]
    flat = flat and not by and (dims[d] == 1 or at.strides[d] == ahead)
    ahead, rotated = ahead * dims[d], rotated or by
    words[d] = by and ("%d@%d,%d,%d"):format(at.strides[d], by.first, by.step,
      by.size) or at.strides[d]
  end
  return setmetatable({kind = leaf.kind, buffer = leaf.buffer, dims = dims,
    context = leaf.context, strides = at.strides, start = at.start,
    flat = flat, whole = false, by = rotated and at.by or false,
    place = ("%s;%d;%s"):format(dims.text, at.start, table.concat(words, ";")),
    a = false, b = false, c = false, mark = false, id = 0}, M.meta)
end

-- The first and the last place of elements in memory, and the greatest number
-- that divides the distances of all.
local function reach(leaf)
  local first, last, step = leaf.start, leaf.start, 0
  for d, n in ipairs(leaf.dims) do
    local stride, by = leaf.strides[d], leaf.by and leaf.by[d]
    local far = ((by and by.size or n) - 1) * stride
    first, last = first + math.min(far, 0), last + math.max(far, 0)
    stride = n > 1 and math.abs(stride) or 0
    while stride > 0 do
      step, stride = stride, step % stride
    end
  end
  return first, last, step
end

--- layout.clash(out, leaf) -> boolean
--- Whether a store to `out` may change an element that `leaf` has at another
--- index.
function M.clash(out, leaf)
  if leaf.dims.count == 0 or out.dims.count == 0 then
    return false
  elseif out.buffer ~= leaf.buffer then
    return out.buffer:overlaps(leaf.buffer)
  elseif out.place == leaf.place then
    return false
  end
  local first, last, step = reach(out)
  local from, to, by = reach(leaf)
  while by > 0 do
    step, by = by, step % by
  end
  return first <= to and from <= last
    and (step < 2 or (first - from) % step == 0)
end

--- layout.check_open(leaf)
--- Raises for an operand whose Buffer was closed.
function M.check_open(leaf)
  if leaf.buffer.closed then
    cl.error(("the %s %s[%s] of the expression is closed"):format(
      text.class(leaf.buffer), leaf.kind.type, leaf.dims.text))
  end
end

--- layout.on_device(leaf, context) -> table
--- The operand of an Array, or of a view of an Array, on a device: its new
--- Buffer has all elements of the Array.
function M.on_device(leaf, context)
  M.check_open(leaf)
  local h = leaf.buffer
  local copy = {}
  for name, value in pairs(leaf) do
    copy[name] = value
  end
  copy.context = context or cl.context()
  copy.buffer = cl.buffer(h.type, h.shape, h, {context = copy.context})
  return setmetatable(copy, M.meta)
end

--- layout.new(type, dims, context) -> Buffer
--- A new Buffer for the result of a calculation, whose first command is on the
--- default queue of the context.
M.new = result.new

--- layout.check_context(what, a, b)
--- Raises where two operands are on different devices.
function M.check_context(what, a, b)
  if a.context ~= b.context then
    cl.error(what .. ": the Buffers are of different contexts (devices)",
      {hint = "b:copy(c) copies to a Buffer c of another context"})
  end
end

--- layout.scalar(what, leaf) -> leaf
--- Raises for vectors, which are no operands, and for elements with which
--- method `what` cannot calculate.
function M.scalar(what, leaf)
  local type = leaf.kind.type
  if not types.known[type] then
    cl.error(('%s: a Buffer of %s is no operand; calculate with its '
      .. 'components, b:as "%s"'):format(what, type, type:match "^%a+"))
  end
  types.check_calculated(what, type)
  return leaf
end

-- For sums along a dimension of a shape: the sizes under which they broadcast
-- to that shape again, as text. nil for an operand of any other shape.
local function fitting(large, sums)
  for d = 1, #large do
    local sizes = table.move(large, 1, #large, 1, {})
    table.remove(sizes, d)
    if text.shape(sizes) == sums.text then
      table.insert(sizes, d, 1)
      return table.concat(sizes, ", ")
    end
  end
  return nil
end

--- layout.dim(what, shape, dim [, hint]) -> dim
--- Raises unless `dim` is the number of a dimension of a shape.
function M.dim(what, shape, dim, hint)
  if math.type(dim) ~= "integer" or dim < 1 or dim > #shape then
    cl.error(("%s: dim must be an integer from 1 to %d; got %s"):format(what,
      #shape, text.got(dim)), {arg = "dim", hint = hint
      or ("dimensions count from 1; the last dimension of the shape %s is %d")
      :format(text.shape(shape), #shape)})
  end
  return dim
end

--- layout.part(shape, dim) -> sizes, {outer, many, inner}
--- The sizes of a shape without dimension `dim`; and the product of the sizes
--- before it, its own size, and the product of the sizes behind. Without `dim`
--- all elements are of one dimension.
function M.part(shape, dim)
  local left, g = {}, {outer = 1, many = dim and shape[dim] or shape.count,
    inner = 1}
  for d = 1, dim and #shape or 0 do
    if d ~= dim then
      left[#left + 1] = shape[d]
      local side = d < dim and "outer" or "inner"
      g[side] = g[side] * shape[d]
    end
  end
  return left[1] and left or {1}, g
end

--- layout.broadcast(what, a, b) -> shape
--- The shape of a result. Sizes are compared from the last dimension on: they
--- are equal, or one of the two is 1 or missing.
function M.broadcast(what, a, b)
  if a == b then
    return a
  end
  local n, sizes = math.max(#a, #b), {}
  for d = 1, n do
    local x, y = a[d - n + #a] or 1, b[d - n + #b] or 1
    if x ~= y and x ~= 1 and y ~= 1 then
      local fits, sums = fitting(a, b), b
      if not fits then
        fits, sums = fitting(b, a), a
      end
      cl.error(("%s: the shapes %s and %s do not broadcast: their sizes, "
        .. "from the last on, must be equal or 1"):format(what, a.text,
        b.text), fits and {hint = ("the operand of shape %s fits as "
        .. "y:reshape{%s}"):format(sums.text, fits)})
    end
    sizes[d] = x == 1 and y or x
  end
  return M.shape(sizes)
end

-- Whether in every operand dimension d goes on where `size` elements of
-- dimension `inner` end.
local function joins(slots, d, inner, size)
  for _, slot in ipairs(slots) do
    local s = slot.at.strides
    if slot.leaf.by or s[d] ~= s[inner] * size then
      return false
    end
  end
  return true
end

--- layout.lay(shape, slots) -> sizes
--- Gives each slot {leaf} its strides, and `by`, over the elements of a shape,
--- see layout.spread. Returns the sizes of the dimensions, the innermost one
--- first; dimensions that are one for all operands are joined.
function M.lay(shape, slots)
  local sizes, kept = {}, {}
  for _, slot in ipairs(slots) do
    slot.at = M.spread(slot.leaf, shape)
  end
  for d = #shape, 1, -1 do
    local n = #kept
    if n > 0 and joins(slots, d, kept[n], sizes[n]) then
      sizes[n] = sizes[n] * shape[d]
    elseif shape[d] > 1 or n == 0 and d == 1 then
      sizes[n + 1], kept[n + 1] = shape[d], d
    end
  end
  for _, slot in ipairs(slots) do
    slot.strides, slot.by = {}, {}
    for i, d in ipairs(kept) do
      slot.strides[i], slot.by[i] = slot.at.strides[d], slot.at.by[d]
    end
  end
  return sizes
end

return M

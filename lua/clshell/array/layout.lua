-- array/layout.lua - where the elements of operands lie: Buffers as operands,
-- shapes that broadcast, and the strides of all operands of a kernel over as
-- few dimensions as they need
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"
local types = require "clshell.array.types"

local M = {}

-- Shapes by their text: equal ones are the same table.
local shapes = setmetatable({}, {__mode = "v"})

--- layout.shape(sizes) -> shape
--- The one table of a shape, whose `text` is "4x5" and `count` 20.
function M.shape(sizes)
  local name = text.shape(sizes)
  local shape = shapes[name]
  if not shape then
    shape = table.move(sizes, 1, #sizes, 1, {text = name, count = 1})
    for _, n in ipairs(sizes) do
      if shape.count > math.maxinteger // n then
        cl.error(("the shape %s has 2^63 elements or more"):format(name))
      end
      shape.count = shape.count * n
    end
    shapes[name] = shape
  end
  return shape
end

local kinds = {}

--- layout.kind(op, type) -> {op, type}
--- The one table of an operation that gives a type.
function M.kind(op, type)
  local of = kinds[op]
  if not of then
    of = {}
    kinds[op] = of
  end
  if not of[type] then
    of[type] = {op = op, type = type}
  end
  return of[type]
end

--- layout.leaves
--- Buffers as operands: {kind = {op = "leaf", type}, buffer, dims, context,
--- ld, start, flat, place}. Nothing of that changes in the life of a Buffer.
--- flat: its elements are those of its memory, in order, from the first on;
--- place: the text of where they are.
M.leaves = setmetatable({}, {__mode = "k"})

--- layout.leaf(b) -> table
--- A Buffer as an operand.
function M.leaf(b)
  local leaf = M.leaves[b]
  if leaf then
    return leaf
  end
  if b.closed then
    cl.error "the Buffer of an expression is closed"
  end
  local dims = M.shape(b.shape)
  leaf = {kind = M.kind("leaf", b.type), buffer = b, dims = dims,
    context = b.context, ld = b.ld, start = b.start}
  leaf.flat = leaf.start == 0 and leaf.ld == dims[#dims]
  leaf.place = ("%s,%d,%d"):format(dims.text, leaf.ld, leaf.start)
  M.leaves[b] = leaf
  return leaf
end

--- layout.check_open(leaf)
--- Raises for an operand whose Buffer was closed.
function M.check_open(leaf)
  if leaf.buffer.closed then
    cl.error(("the Buffer %s[%s] of the expression is closed"):format(
      leaf.kind.type, leaf.dims.text))
  end
end

--- layout.scalar(what, leaf) -> leaf
--- Raises for vectors, which are no operands.
function M.scalar(what, leaf)
  local type = leaf.kind.type
  if not types.known[type] then
    cl.error(('%s: a Buffer of %s is no operand; calculate with its '
      .. 'components, b:as "%s"'):format(what, type, type:match "^%a+"))
  end
  return leaf
end

--- layout.broadcast(what, a, b) -> shape
--- The shape of a result: dimensions are compared from the last on, and are
--- equal, or one of the two is 1 or missing.
function M.broadcast(what, a, b)
  if a == b then
    return a
  end
  local n, sizes = math.max(#a, #b), {}
  for d = 1, n do
    local x, y = a[d - n + #a] or 1, b[d - n + #b] or 1
    if x ~= y and x ~= 1 and y ~= 1 then
      cl.error(("%s: the shapes %s and %s do not broadcast: their sizes, "
        .. "from the last on, must be equal or 1"):format(what, a.text,
        b.text))
    end
    sizes[d] = x == 1 and y or x
  end
  return M.shape(sizes)
end

-- The strides of an operand in the dimensions of a shape, and by how much it
-- is shifted in each; 0 where its one row or column serves all.
local function strides(leaf, shape)
  local list, own, ahead = {}, leaf.dims, 1
  for d = #shape, 1, -1 do
    local k = d - #shape + #own
    local n = own[k] or 1
    list[d] = n == 1 and 0 or ahead
    ahead = ahead * (k == #own and leaf.ld or n)
  end
  return list
end

-- Whether dimension d goes on where `size` elements of dimension `inner` end,
-- for every operand.
local function joins(slots, d, inner, size)
  for _, slot in ipairs(slots) do
    local s = slot.strides
    if slot.leaf.by or s[d] ~= s[inner] * size then
      return false
    end
  end
  return true
end

--- layout.lay(shape, slots) -> sizes
--- Gives each slot {leaf} its strides over the elements of a shape. Returns
--- the sizes of the dimensions, the innermost first; dimensions that are one
--- for all operands are joined.
function M.lay(shape, slots)
  local sizes, kept = {}, {}
  for _, slot in ipairs(slots) do
    slot.strides = strides(slot.leaf, shape)
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
    local all, by = slot.strides, slot.leaf.by
    slot.strides, slot.by = {}, by and {}
    for i, d in ipairs(kept) do
      slot.strides[i] = all[d]
      if by then
        slot.by[i] = by[d - #shape + #by] or 0
      end
    end
  end
  return sizes
end

return M

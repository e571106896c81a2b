-- arrays/views.lua - some elements of Buffers, Arrays and Expressions, or all
-- in another order: slices, shifts, transposes, diagonals. A view copies
-- nothing: a kernel reads the elements where they lie, and `set` stores them
-- there.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local argument = require "clshell.base.argument"
local layout = require "clshell.arrays.layout"
local text = require "clshell.base.text"

local methods, subject = expression.methods, expression.viewed

-- An expression of views: change(at) changes, for each Buffer, the places of
-- its elements in the dimensions of the expression, see layout.spread.
local function through(what, e, change)
  local seen = {}
  local function visit(x)
    if not x or x.kind.op == "constant" then
      return x
    elseif not seen[x] then
      if x.kind.op == "leaf" then
        local at = layout.spread(x, e.dims)
        change(at)
        seen[x] = layout.view(x, at)
      else
        seen[x] = expression.node(what, x.kind.op, x.kind.type, visit(x.a),
          visit(x.b), visit(x.c))
      end
    end
    return seen[x]
  end
  return visit(e)
end

local NOTHING = "{} is all of a dimension: A:slice({}, 3) is column 3"

-- An index of dimension d, counted from 1, or from the end where it is < 0.
-- Ends of a range may lie `before` the first element or `behind` the last.
local function check_index(x, d, value, before, behind)
  local n = x.dims[d]
  local i = argument.integer("slice", "an index", value)
  i = i < 0 and n + 1 + i or i
  if i < (before or 1) or i > n + (behind or 0) then
    cl.error(("slice: the index %d leaves 1..%d of dimension %d"):format(
      value, n, d))
  end
  return i
end

-- The range of dimension d: {first, step, count}, or {first} for an index,
-- which drops the dimension.
local function range(x, d, given)
  if given == nil then
    cl.error(("slice: a range or an index must be given for dimension %d; got "
      .. "nothing"):format(d), {hint = NOTHING})
  elseif type(given) ~= "table" then
    return {first = check_index(x, d, given)}
  elseif #given > 3 then
    cl.error(("slice: a range is {from, to, step}; got %d values"):format(
      #given))
  end
  local step = given[3] == nil and 1
    or argument.integer("slice", "a step", given[3])
  if step == 0 then
    cl.error "slice: a step must not be 0"
  end
  local up = step > 0 and 1 or 0
  local first = check_index(x, d, given[1] or step > 0 and 1 or -1, up, up)
  local last = check_index(x, d, given[2] or step > 0 and -1 or 1, 1 - up,
    1 - up)
  local count = math.max((last - first) // step + 1, 0)
  return {first = count > 0 and first or 1, step = step, count = count}
end

--- Buffer:slice(from [, to [, step]]) -> Expression
--- Elements `from` to `to` of dimension 1, as Lua's `for` counts: `x:slice(2,
--- -2)` is all but the ends, `x:slice(1, -1, 2)` every other one, `x:slice(-1,
--- 1, -1)` all of them backwards, `x:slice(3, 2)` none. Indexes count from 1,
--- or from the end where negative; outside they are errors.
--- `A:slice(rows, cols, ...)` takes a list {from, to, step} for each
--- dimension; {} is all of it, and an index instead of a list drops it:
--- `A:slice({}, 3)` is column 3, a vector.
--- A slice is no copy: it reads the Buffer when its elements are needed, and
--- `x:slice(2, 5):set(0)` sets those elements. A launch gets a copy of it,
--- and only for a pointer to const.
--- Example:
--- local x = cl.arange(1, 10)
--- print((x:slice(2, -1) - x:slice(1, -2)):read()[9]) --> 1
--- x:slice(1, -1, 2):set(0) -- every other element
--- local A = x:reshape{2, 5}
--- print(A:slice({}, 2), A:slice({}, 2):read()[2]) --> Expression int[2] 0
function methods.slice(x, ...)
  x = subject("slice", x)
  local given, listed = table.pack(...), false
  for k = 1, given.n do
    listed = listed or type(given[k]) == "table"
  end
  if not listed then
    if given.n < 1 or given.n > 3 then
      cl.error(("slice: takes from, to and step, or a list of them for each "
        .. "dimension; got %s"):format(text.count(given.n, "argument")))
    elseif given[1] == nil and #x.dims > 1 then
      cl.error("slice: from must be an integer; got nothing",
        {hint = NOTHING})
    end
    given = {n = 1, {given[1], given[2], given[3]}}
  elseif given.n > #x.dims then
    cl.error(("slice: %s for the shape %s"):format(text.count(given.n,
      "range"), x.dims.text))
  end
  local ranges = {}
  for d = 1, #x.dims do
    ranges[d] = range(x, d, d > given.n and {} or given[d])
  end
  return through("slice", x, function(at)
    local sizes, strides, bys = {}, {}, {}
    for d, r in ipairs(ranges) do
      local stride, by, count = at.strides[d], at.by[d], r.count or 1
      local offset = r.first - 1
      if by then
        offset = (by.first + by.step * offset) % by.size
        by = count > 1 and {first = offset, step = by.step * r.step,
          size = by.size}
      end
      at.start = at.start + (by and 0 or offset * stride)
      if r.count then
        sizes[#sizes + 1], bys[#bys + 1] = count, by
        strides[#strides + 1] = by and stride or stride * r.step
      end
    end
    if not sizes[1] then
      sizes, strides, bys = {1}, {1}, {false}
    end
    at.sizes, at.strides, at.by = sizes, strides, bys
  end)
end

--- Buffer:shift(k, ...) -> Expression
--- The elements moved on by k places, from the end to the beginning: element i
--- was element i - k before. There is a distance for each dimension.
--- Example:
--- local x = cl.arange(1, 4)
--- x:set(x:shift(1))
--- print(x:read()[1], x:read()[2]) --> 4 1
function methods.shift(x, ...)
  x = subject("shift", x)
  local given = table.pack(...)
  if given.n ~= #x.dims then
    cl.error(("shift: a shape %s takes %s; got %d"):format(x.dims.text,
      text.count(#x.dims, "distance"), given.n))
  end
  for d = 1, given.n do
    argument.integer("shift", "a distance", given[d])
  end
  return through("shift", x, function(at)
    for d, n in ipairs(at.sizes) do
      local k, by = n > 0 and given[d] % n or 0, at.by[d]
      if by and k > 0 and by.size ~= n then
        cl.error "shift: a part of a shift; evaluate it first, with e:eval()"
      elseif k > 0 and at.strides[d] ~= 0 then
        local first, step = by and by.first or 0, by and by.step or 1
        at.by[d] = {first = (first - k * step) % n, step = step, size = n}
      end
    end
  end)
end

-- The order of dimensions as given: each of them once.
local function check_order(x, ...)
  local order, seen, count = table.pack(...), {}, 0
  for k = 1, order.n do
    local d = argument.integer("transpose", "a dimension", order[k], 1,
      #x.dims)
    count = count + (seen[d] and 0 or 1)
    seen[d] = true
  end
  if count ~= #x.dims or #order ~= count then
    cl.error(("transpose: the order names each of the %d dimensions once; got "
      .. "%s"):format(#x.dims, table.concat(order, ", ")))
  end
  return order
end

--- Buffer:transpose([dim, ...]) -> Expression
--- A matrix with its rows as columns, or the dimensions in another order: with
--- (2, 1, 3) element (j, i, k) is (i, j, k) before. Without an order they are
--- reversed. `B:set(A:transpose())` and `A:transpose():eval()` of a large
--- matrix run the family transpose; inside a calculation loads have strides.
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:transpose():read():at(3, 1)) --> 3
function methods.transpose(x, ...)
  x = subject("transpose", x)
  if #x.dims == 1 then
    cl.error(("transpose: a vector has one dimension; b:reshape{%d, 1} is a "
      .. "column"):format(x.dims[1]))
  end
  local order = {}
  for d = 1, #x.dims do
    order[d] = #x.dims + 1 - d
  end
  order = select("#", ...) > 0 and check_order(x, ...) or order
  return through("transpose", x, function(at)
    local sizes, strides, bys = {}, {}, {}
    for k, d in ipairs(order) do
      sizes[k], strides[k], bys[k] = at.sizes[d], at.strides[d], at.by[d]
    end
    at.sizes, at.strides, at.by = sizes, strides, bys
  end)
end

--- Buffer:diagonal([k]) -> Expression
--- The elements (i, i + k) of a matrix, as a vector; k is 0.
--- `A:diagonal():set(A:diagonal() + 1)` adds the identity.
--- Example:
--- local A = cl.buffer("float", {3, 3}, 0)
--- A:diagonal():set(1)
--- print(A:read():at(2, 2)) --> 1.0
function methods.diagonal(x, k)
  x = subject("diagonal", x)
  local m, n = x.dims[1], x.dims[2]
  if #x.dims ~= 2 then
    cl.error(("diagonal: takes a matrix; got the shape %s"):format(
      x.dims.text))
  end
  k = k == nil and 0 or argument.integer("diagonal", "k", k, 1 - m, n - 1)
  local row, col = math.max(-k, 0), math.max(k, 0)
  return through("diagonal", x, function(at)
    local s = at.strides
    if at.by[1] or at.by[2] then
      cl.error "diagonal: of a shift; evaluate it first, with e:eval()"
    end
    at.sizes, at.by = {math.max(math.min(m - row, n - col), 0)}, {false}
    at.start = at.start + row * s[1] + col * s[2]
    at.strides = {s[1] + s[2]}
  end)
end

--- Buffer:tile(n, ...) -> Buffer
--- A new Buffer that holds the elements n times, one behind the other: a count
--- for each dimension. Operands need no tiles, as their rows and columns of
--- size 1 serve all.
--- Example: print(cl.arange(1, 3):tile(2):read()[4]) --> 1
function methods.tile(x, ...)
  x = expression.subject("tile", x)
  local given, shape = table.pack(...), {}
  if given.n ~= #x.dims then
    cl.error(("tile: a shape %s takes %s; got %d"):format(x.dims.text,
      text.count(#x.dims, "count"), given.n))
  end
  for d, n in ipairs(x.dims) do
    shape[d] = argument.integer("tile", "a count", given[d], 0) * n
  end
  local b = layout.new(x.kind.type, shape, x.context)
  local leaf = layout.leaf(b)
  local sizes, strides = {}, {}
  for d, n in ipairs(x.dims) do
    table.move({given[d], n}, 1, 2, 2 * d - 1, sizes)
    table.move({leaf.strides[d] * n, leaf.strides[d]}, 1, 2, 2 * d - 1,
      strides)
  end
  methods.set(layout.view(leaf, {sizes = sizes, strides = strides,
    start = leaf.start, by = {}}), through("tile", x, function(at)
    local own, by = at.strides, {}
    at.strides = {}
    for d = 1, #x.dims do
      at.strides[2 * d - 1], at.strides[2 * d] = 0, own[d]
      by[2 * d - 1], by[2 * d] = false, at.by[d]
    end
    at.sizes, at.by = sizes, by
  end))
  return b
end

expression.publish "views"

return {}

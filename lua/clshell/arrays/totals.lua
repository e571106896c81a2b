-- arrays/totals.lua - methods that reduce the elements of Buffers and
-- expressions: sums, means, extremes and their places, truths
-- The kernels are the files of family reduce, and #defines say what they
-- reduce: see kernels/reduce/op.cl. A first launch calculates the expression
-- and reduces it in pieces, later launches reduce the results of the pieces.
-- No sum has a chain of more than 64 additions: the sums of work-items meet in
-- a tree.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.method_names"
local operation = require "clshell.arrays.operation"
local options = require "clshell.base.options"
local result = require "clshell.base.result"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"

local ceil = tiling.groups
local methods, operators = expression.methods, expression.operators
local subject = expression.subject

-- So many times smaller, elements have no sum out of range.
local SMALLER = 2.0^-32

-- Sums below these may have lost squares to the smallest numbers of a type.
local TINY = {float = 2.0^-100, double = 2.0^-900}

-- Elements whose greatest is not below the first number, nor above the second,
-- have sums and squares in the range of their type, and so have distances
-- between them. Lesser ones have times the third, greater ones times the last.
local RANGE = {
  float = {2.0^-38, 2.0^40, 2.0^86, 2.0^-80},
  double = {2.0^-450, 2.0^450, 2.0^600, 2.0^-600},
}

local M = {}

local CHAIN = operation.CHAIN
local LANES = 64    -- values that a work-item of a CPU reduces side by side
local STREAMS = 4   -- parts of a block that it walks at a time; 1 for structs
local TURNS = 16    -- turns of CHAIN additions to each lane, in a long row
local SHARES = 8    -- blocks of a core, at least: all cores end together
local PIECES = 1024 -- work-groups that keep a GPU busy
local WIDTH = 8     -- values that a work-item of a GPU loads at once

-- Elements that a work-item of a CPU reduces: many turns of CHAIN for each of
-- its lanes, where that leaves work for all cores.
local function block(g, units)
  local long = CHAIN * LANES * TURNS
  return g.outer * g.inner * g.many >= SHARES * units * long and long
    or CHAIN * LANES
end

local function chains(g)
  return ceil(g.many, CHAIN)
end

-- The ways to reduce, see operation.run; pieces(g, group, units) gives the
-- pieces of a row.
local WAYS = {
  group = {
    file = "reduce/grid_stride.cl", own = {"many", "pieces"},
    pieces = function(g, group)
      local once = group * WIDTH
      return math.min(ceil(g.many, once), math.max(
        ceil(PIECES, g.outer * g.inner), ceil(g.many, CHAIN * once)))
    end,
  },
  lanes = {
    file = "reduce/simd.cl", own = {"many"}, one = true,
    pieces = function(g, _, units)
      return ceil(g.many, block(g, units))
    end,
  },
  item = {file = "reduce/rows.cl", own = {"many", "rows", "inner"},
    item = true, pieces = chains},
  columns = {file = "reduce/columns.cl", own = {"many", "inner"}, one = true,
    lanes = LANES, pieces = chains},
}

local function way_of(g, cpu)
  local way = operation.way(g)
  return way == "long" and (cpu and "lanes" or "group")
    or way == "columns" and cpu and "columns" or "item"
end

-- Whether the last of several work-groups may reduce all their results.
local function in_once(way, g, pieces, group, device)
  return way == WAYS.group and g.outer * g.inner == 1
    and pieces > 1 and pieces <= CHAIN * group and fused.asks(device)
end

-- The words of kernels/reduce/op.cl.
local function words(c, places, element)
  local op = c.op
  local start, at = operation.words(c.g)
  local value = (c.last and op.last or "s_"):gsub("s_", "(s)")
  local function made(x, k)
    return c.expression and ("make_(%s, %s)"):format(x, k) or x
  end
  local lines = places and c.g.inner == 1
  return {
    REAL = "acc_", RESULT = c.last and op.result or "acc_",
    WG = c.group, WIDTH = WIDTH, LANES = LANES, CHAIN = CHAIN,
    ONCE = c.once and 1 or 0,
    BLOCK = c.block, STREAMS = op.declare and 1 or STREAMS,
    ["COMBINE(a, b)"] = "combine_(a, b)", ["NEUTRAL(x)"] = op.identity,
    ["START(row)"] = start, ["ELEMENT(start, i)"] = made(element(at), "(i)"),
    ["LINE(at, n)"] = lines and "((at) + (n) <= ((at) / n1_ + 1) * n1_)"
      or "0",
    ["LINE_ELEMENT(start, at, i, v)"] = lines
      and made(element("((at) % n1_ + (v))", "((at) / n1_)"), "(i) + (v)")
      or "ELEMENT(start, (i) + (v))",
    ["KEEP(y, at, s)"] = c.last and op.result == "half"
      and ("vstore_half(%s, at, y)"):format(value)
      or ("(y)[at] = %s"):format(value),
  }
end

-- Reduces the rows of an expression, of shape g as in operation.lua, or else
-- the Buffer `from` with the results of the launch before, by an operation
-- into a Buffer; returns the Event.
local function reduce(op, e, from, g, out)
  local context, nothing = out.context, op.nothing
  if g.many == 0 and #out > 0 then
    if nothing == nil then
      cl.error(("%s: x has no elements, and so no %s one; test #x > 0 first")
        :format(op.key:match "%a+", op.key:find "min" and "least"
        or "greatest"))
    end
    return math.type(nothing) and out:fill(nothing)
      or cl.map(("y = %s"):format(nothing), {y = out})
  elseif #out == 0 then
    return result.nothing(context)
  end
  local way = WAYS[way_of(g, fused.serial[context.device.type])]
  local units = context.device.compute_units
  local group = way.one and 1 or fused.group(context)
  local pieces = way.pieces(g, group, units)
  local once = in_once(way, g, pieces, group, context.device)
  local last = pieces == 1 or once
  local left = pieces > 1 and fused.scratch(context, op.declare and "long"
    or op.cell, g.outer * pieces * g.inner * (op.declare and 2 or 1))
  left = left and op.declare and cl.any(left) or left
  local c = {name = "reduce", way = way, context = context, words = words,
    expression = e, op = op, g = g, group = group, pieces = pieces,
    last = last, once = once, block = block(g, units)}
  local form = ("%s %d"):format(once and "once" or last and "last" or "",
    c.block)
  if once then
    return operation.run(c, form, from, out, left, fused.counter(context))
  end
  if last then
    return operation.run(c, form, from, out)
  end
  operation.run(c, form, from, left)
  return reduce(op, nil, left, operation.left(g, pieces, way), out)
end

-- Remedies of min and max for two operands.
local PAIRS = {max = "the greater of each two elements is x:fmax(y)",
  min = "the lesser of each two elements is x:fmin(y)"}

-- Reduces along a dimension to a Buffer of the shape without it.
local function along(what, op, x, dim, hint)
  local left, g = layout.part(x.dims, layout.dim(what, x.dims, dim, hint))
  local out = layout.new(op.result, left, x.context)
  reduce(op, x, nil, g, out)
  return out
end

-- Reduces all elements to a number.
local function whole(op, x)
  local out = fused.scratch(x.context, op.result, 1)
  local _, g = layout.part(x.dims)
  reduce(op, x, nil, g, out)
  local h <close> = out:read()
  return h[1]
end

-- Reduces by the operation `name`, for method `what`, whose name may differ.
local function apply(name, x, dim, what)
  x = subject(what or name, x)
  local op = operation.of(name, x.kind.type)
  if dim == nil then
    return whole(op, x)
  end
  return along(what or name, op, x, dim, PAIRS[name])
end

--- Buffer:sum([dim]) -> number or Buffer
--- The sum of all elements; with `dim` (1 is the first dimension) the sums
--- along that dimension, a Buffer of the shape left, for which the host does
--- not wait. Of a vector, x:sum(1) has one element and stays on the device. An
--- expression is calculated in the same launch: (x * y):sum() reads x and y
--- once. A / A:sum(2):reshape{m, 1} divides the m rows of A by their sums.
--- Integers are added in 64 bits and give long or ulong. A sum of n reals is
--- off by at most 12 log2(n) roundings of the sum of absolute values, each
--- 2^-24 for float and half, 2^-53 for double.
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:sum(), A:sum(1):read()[3], (A * A):sum()) --> 21 9 91

--- Buffer:min([dim]) -> number or Buffer
--- The least element of all, or the least ones along dimension `dim`. A NaN
--- among the elements is the result, as in NumPy, and no elements have none.
--- x:fmin(y) is the lesser of each two elements.
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:min(), (A - 4):abs():min(), A:min(2):read()[2]) --> 1 0 4

--- Buffer:max([dim]) -> number or Buffer
--- The greatest element of all, or the greatest ones along dimension `dim`. A
--- NaN among the elements is the result, as in NumPy. x:fmax(y) is the greater
--- of each two elements.
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:max(), A:max(1):read()[2]) --> 6 5

--- Buffer:argmin([dim]) -> integer or Buffer
--- The number of the least element, for argmax of the greatest, from 1 in the
--- order of reading; with `dim` the numbers along that dimension, a Buffer of
--- long. The first of equal elements counts, and a NaN before all numbers.
--- Also: Buffer:argmax
--- Example: print((cl.arange(1, 9) - 4):abs():argmin()) --> 4
for _, name in ipairs{"sum", "min", "max", "argmin", "argmax"} do
  methods[name] = function(x, dim)
    return apply(name, x, dim)
  end
end

--- Buffer:any([dim]) -> boolean or Buffer
--- Whether any element is not 0: `x:lt(0):any()`. With `dim` 1 or 0 for each
--- place left, a Buffer of int. A NaN is not 0.
--- Example: print(cl.arange(1, 4):gt(3):any()) --> true

--- Buffer:all([dim]) -> boolean or Buffer
--- Whether no element is 0: `x:isfinite():all()`. With `dim` 1 or 0 for each
--- place left, a Buffer of int. A NaN is not 0.
--- Example: print(cl.arange(1, 4):gt(3):all()) --> false
for _, name in ipairs{"any", "all"} do
  methods[name] = function(x, dim)
    local found = apply(name, x, dim)
    return dim ~= nil and found or dim == nil and found ~= 0
  end
end

--- totals.along(shape, dim) -> sizes
--- The shape with one element along a dimension.
function M.along(shape, dim)
  local sizes = table.move(shape, 1, #shape, 1, {})
  sizes[dim] = 1
  return sizes
end

--- totals.wide(x) -> operand
--- An operand of reals as doubles where it has floats and the device doubles:
--- no sum of squares leaves their range.
function M.wide(x)
  return x.kind.type == "float" and x.context.device:has "cl_khr_fp64"
    and methods.astype(x, "double") or x
end

--- totals.scaled(x [, dim]) -> operand, scale, Buffer
--- An operand of reals times a power of two, so that its sums and squares stay
--- in range; the power, a number or, along a dimension, a Buffer. The last
--- result is to be closed.
function M.scaled(x, dim)
  local type, by = x.kind.type, RANGE[x.kind.type]
  if not by or x.dims.count == 0 then -- half
    return x, nil, nil
  end
  local most = methods.max(methods.abs(x), dim)
  if not dim then
    local scale = most < by[1] and by[3] or most > by[2] and by[4] or 1.0
    return operators.mul(x, scale), scale, nil
  end
  local _ <close> = result.temporary(most)
  local function select_(test, value, other)
    return expression.node("scale", "where", type, test,
      expression.typed("scale", value, x), other)
  end
  local scale = methods.eval(select_(methods.lt(most, by[1]), by[3],
    select_(methods.gt(most, by[2]), by[4], expression.typed("scale", 1.0,
    x))))
  return operators.mul(x, scale:reshape(M.along(x.dims, dim))), scale, scale
end

--- totals.ranged(x, dim) -> operand, scale or nil, Buffer or nil
--- totals.wide, or else totals.scaled along a dimension.
function M.ranged(x, dim)
  local wide = M.wide(x)
  if wide ~= x then
    return wide, nil, nil
  end
  return M.scaled(x, dim)
end

--- Buffer:mean([dim]) -> number or Buffer
--- The sum divided by the number of elements; along `dim` a Buffer of reals.
--- Integers are added exactly, 64-bit integers by halves. A mean lies in the
--- range of its elements, where their sum may not. Of no elements it is NaN.
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:mean(), A:mean(2):read()[2]) --> 3.5 5.0
function methods.mean(x, dim)
  x = subject("mean", x)
  local n = x.dims.count
  if dim == nil and n == 0 then
    return -(0 / 0) -- NaN with the sign of "nan"
  elseif dim == nil and types.known[x.kind.type].wide then
    local high = methods.sum(operators.shr(x, 32))
    return (high * 2.0^32 + methods.sum(operators.band(x, 0xffffffff))) / n
  elseif dim == nil then
    local mean = apply("sum", x, nil, "mean") / n
    return mean - mean == 0 and mean
      or apply("sum", operators.mul(x, SMALLER)) / n / SMALLER
  end
  layout.dim("mean", x.dims, dim)
  local type = types.calculated(types.real("mean", x.kind.type))
  local scale, spare
  if x.dims[dim] == 0 then
    local means = layout.new(type, layout.part(x.dims, dim), x.context)
    means:fill(-(0 / 0))
    return means
  elseif types.known[x.kind.type].real then
    x, scale, spare = M.ranged(x, dim)
  end
  local _ <close> = result.temporary(spare)
  local total = apply("sum", x, dim, "mean")
  local _ <close> = result.temporary(total)
  local mean = operators.div(methods.astype(total, scale and type
    or types.known[total.type].real and total.type or type), x.dims[dim])
  return (methods.eval(methods.astype(scale and mean / scale or mean, type)))
end

--- Buffer:dot(y [, dim]) -> number or Buffer
--- The sum of the products x y, in one pass, for operands of one shape; with
--- `dim` the sums along that dimension, so x:dot(y, 1) of vectors stays on the
--- device as a Buffer of one element. Integers are multiplied and added in 64
--- bits. Bound of the error: as for Buffer:sum, of the products.
--- Example:
--- local x = cl.arange(1, 4)
--- print(x:dot(x), x:dot(x, 1):read()[1]) --> 30 30
function methods.dot(x, y, dim)
  x, y = expression.subjects("dot", x, y)
  if x.dims ~= y.dims then
    cl.error(("dot: the operands must have one shape; got %s and %s"):format(
      x.dims.text, y.dims.text))
  end
  local type = operation.wide(types.common("dot", x.kind.type, y.kind.type))
  if not types.known[type].real then
    x = methods.astype(x, type) -- a product of two int may need 64 bits
  end
  return apply("sum", operators.mul(x, y), dim, "dot")
end

--- Buffer:nrm2([dim]) -> number or Buffer
--- The square root of the sum of squares, which may leave the range of the
--- type: the elements are scaled, then, or doubles.
--- Example: print(cl.buffer("float", 2, {3, 4}):nrm2()) --> 5.0
function methods.nrm2(x, dim)
  x = subject("nrm2", x)
  local type = types.calculated(types.real("nrm2", x.kind.type))
  x = x.kind.type == type and x or methods.astype(x, type)
  if dim ~= nil then
    layout.dim("nrm2", x.dims, dim)
    local y, scale, spare = M.ranged(x, dim)
    local _ <close> = result.temporary(spare)
    local sums = apply("sum", operators.mul(y, y), dim, "nrm2")
    local _ <close> = result.temporary(sums)
    local root = methods.sqrt(sums)
    return (methods.eval(methods.astype(scale and root / scale or root,
      type)))
  end
  local squares = apply("sum", operators.mul(x, x), dim, "nrm2")
  if squares >= TINY[type] and squares < math.huge
      or squares ~= squares or x.dims.count == 0 then
    return math.sqrt(squares)
  end
  local most = methods.max(methods.abs(x))
  if most == 0 or most == math.huge then
    return most
  end
  local scaled = operators.div(x, most)
  return most * math.sqrt(apply("sum", operators.mul(scaled, scaled)))
end

--- Buffer:reduce(opts) -> number or Buffer
--- Reduces by an operator of one's own: `x:reduce{op = "a * b", identity =
--- 1}`. It must be associative and commutative, as elements meet in any order.
--- Small integers become int, a half is a float.
--- Options:
---   op        -    OpenCL C of a and b
---   identity  -    the neutral value: a number, or OpenCL C ("INFINITY")
---   dim       all  the dimension to reduce
--- Example: print(cl.arange(1, 5):reduce{op = "a * b", identity = 1}) --> 120
function methods.reduce(x, opts)
  local what = "Buffer:reduce"
  x = subject("reduce", x)
  opts = options.check(opts, what)
  local op = operation.own(what, opts, x.kind.type)
  return opts.dim == nil and whole(op, x) or along(what, op, x, opts.dim)
end

-- Raises for more arguments than a reduction takes.
for _, name in ipairs(names.methods.totals) do
  local total = methods[name]
  methods[name] = name ~= "reduce" and function(x, ...)
    if select(name == "dot" and 3 or 2, ...) ~= nil then
      cl.error(("%s takes one dim at a time"):format(name),
        {hint = "such as x:sum(2):sum(1)"})
    end
    return total(x, ...)
  end or total
end

expression.publish "totals"

return M

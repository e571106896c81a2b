-- arrays/variance.lua - variances and standard deviations of Buffers, Arrays
-- and expressions
-- Squares of elements would cancel against the square of their mean: the mean
-- comes first, and then the squares of the distances from it are added.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local argument = require "clshell.base.argument"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local types = require "clshell.arrays.types"

local methods = expression.methods
local temporary = require("clshell.base.result").temporary

-- The values along a dimension in a shape that broadcasts to `dims`; nil where
-- all elements have one value.
local function beside(value, dims, dim)
  if not dim then
    return nil
  end
  local sizes = table.move(dims, 1, #dims, 1, {})
  sizes[dim] = 1
  return value:reshape(sizes)
end

-- finish(sums of squared distances of reals from their mean), called while the
-- Buffers in between are open.
local function of_reals(x, dims, dim, finish)
  local mean = methods.mean(x, dim)
  local _ <close> = temporary(dim and mean)
  local line = beside(mean, dims, dim)
  local _ <close> = temporary(line)
  local far = x - (line or mean)
  local squares = methods.sum(far * far, dim)
  local _ <close> = temporary(dim and squares)
  return finish(squares)
end

-- finish(sums) for integers: distances, in 64 bits, from the integer next to
-- the mean. The distance of this integer from the mean is exact, and makes the
-- sum of squares twice as large at most.
local function of_integers(x, dims, dim, finish, work, n)
  local sums = methods.sum(x, dim)
  local _ <close> = temporary(dim and sums)
  local near, rest
  if dim then
    local long = methods.astype(sums, "long")
    near = methods.eval((long + n // 2) // n)
    rest = methods.astype(long - near * n, work)
  else
    near = (sums + n // 2) // n
    rest = sums - near * n + 0.0
  end
  local _ <close> = temporary(dim and near)
  local line = beside(near, dims, dim)
  local _ <close> = temporary(line)
  local far = methods.astype(methods.astype(x, "long") - (line or near), work)
  local squares = methods.sum(far * far, dim)
  local _ <close> = temporary(dim and squares)
  return finish(squares - rest * rest / n)
end

local function variance(what, x, dim, opts, root)
  if type(dim) == "table" and opts == nil then
    dim, opts = nil, dim
  end
  opts = options.check(opts, "Buffer:" .. what)
  x = expression.subject(what, x)
  local e, n = x, x.dims.count
  if dim ~= nil then
    n = e.dims[layout.dim(what, e.dims, dim)]
  end
  local less = argument.integer(what, "ddof", opts.ddof or 0, 0)
  if less >= n then
    cl.error(("%s: ddof must be less than the %d elements of a variance; got "
      .. "%d"):format(what, n, less), {arg = "ddof"})
  end
  local result = types.calculated(types.real(what, e.kind.type))
  local function finish(squares)
    local found = squares / (n - less)
    if not dim then
      return root and math.sqrt(found) or found
    end
    found = root and methods.sqrt(found) or found
    return (methods.eval(methods.astype(found, result)))
  end
  if types.known[e.kind.type].real then
    return of_reals(e.kind.type == result and x or methods.astype(x, result),
      e.dims, dim, finish)
  end
  return of_integers(x, e.dims, dim, finish, result, n)
end

--- Buffer:var([dim] [, opts]) -> number or Buffer
--- The variance of all elements, or of the elements along dimension `dim`: the
--- sum of the squares of their distances from the mean, divided by their
--- number, as in NumPy; {ddof = 1} divides by one less, for a sample. x is
--- read twice. A variance of reals is off by the relative error of Buffer:sum
--- and 4 roundings, and by the square of the error of the mean; a variance of
--- integers, whose mean is exact, by twice the first error. Integers give
--- reals, `long` and `ulong` as x:astype "double".
--- Options:
---   ddof  0  the number of elements less the divisor
--- Example:
--- local A = cl.arange(1, 6):reshape{2, 3}
--- print(A:reshape(6):var(), A:var(1):read()[1]) --> 2.9166666666667 2.25
function methods.var(x, dim, opts)
  return variance("var", x, dim, opts, false)
end

--- Buffer:std([dim] [, opts]) -> number or Buffer
--- The standard deviation, the square root of Buffer:var.
--- Options:
---   ddof  0  the number of elements less the divisor
--- Example:
--- local x = cl.buffer("float", 4, {1, 1, 3, 3})
--- print(x:std(), (2 * x):std(), x:var{ddof = 1} > 1) --> 1.0 2.0 true
function methods.std(x, dim, opts)
  return variance("std", x, dim, opts, true)
end

expression.publish "variance"

return {}

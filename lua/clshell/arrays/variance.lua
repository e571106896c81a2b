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
local totals = require "clshell.arrays.totals"
local types = require "clshell.arrays.types"

-- Sums of squares below these may have lost some.
local SMALL = {float = 2.0^-76, double = 2.0^-900}

local methods = expression.methods
local temporary = require("clshell.base.result").temporary

-- The centre of the distances, a number or a Buffer along `dim`: of reals
-- their mean; of integers the integer next to the mean, so that distances are
-- exact in 64 bits and the sum of squares is at most twice as large. The
-- second result is n times the centre's distance from the mean, exact; the
-- third is a Buffer to close after the use of both.
local function centre(x, dim, n, work)
  if types.known[x.kind.type].real then
    local sums = dim and methods.sum(x, dim)
    return sums and methods.eval(sums / n) or methods.mean(x), nil, sums
  end
  local sums = methods.sum(x, dim)
  if not dim then
    local near = (sums + n // 2) // n
    return near, sums - near * n + 0.0
  end
  local long = methods.astype(sums, "long")
  local near = methods.eval((long + n // 2) // n)
  return near, methods.astype(long - near * n, work), sums
end

-- finish(the sum of the squares of the distances from the mean).
local function squared(x, dim, n, work, finish)
  local near, rest, sums = centre(x, dim, n, work)
  local _ <close> = temporary(dim and near)
  local _ <close> = temporary(sums)
  local line = dim and near:reshape(totals.along(x.dims, dim))
  local _ <close> = temporary(line)
  local far = methods.astype(x - (line or near), work)
  local squares = methods.sum(far * far, dim)
  local _ <close> = temporary(dim and squares)
  return finish(rest and squares - rest * rest / n or squares)
end

local function same(...)
  return ...
end

local function variance(what, x, dim, opts, root)
  if type(dim) == "table" and opts == nil then
    dim, opts = nil, dim
  end
  opts = options.check(opts, "Buffer:" .. what)
  x = expression.subject(what, x)
  local n = x.dims.count
  if dim ~= nil then
    n = x.dims[layout.dim(what, x.dims, dim)]
  end
  local less = argument.integer(what, "ddof", opts.ddof or 0, 0)
  if n == 0 then
    return methods.mean(x, dim) -- NaN
  end
  if less >= n then
    cl.error(("%s: ddof must be less than the %d elements of a variance; got "
      .. "%d"):format(what, n, less), {arg = "ddof"})
  end
  local real = types.known[x.kind.type].real
  local type = types.calculated(types.real(what, x.kind.type))
  local scale, spare
  x = methods.astype(x, real and type or "long")
  if real and dim then
    x, scale, spare = totals.ranged(x, dim)
  elseif real then
    x = totals.wide(x)
  end
  local _ <close> = temporary(spare)
  local work = real and x.kind.type or type
  local function finish(squares)
    local found = squares / (n - less)
    if root then
      found = dim and methods.sqrt(found) or math.sqrt(found)
    end
    if scale then
      found = root and found / scale or found / scale / scale
    end
    return dim and (methods.eval(methods.astype(found, type))) or found
  end
  if dim then
    return squared(x, dim, n, work, finish)
  end
  local squares = squared(x, nil, n, work, same)
  if real and (squares < SMALL[work] or squares == math.huge) then
    x, scale = totals.scaled(x)
    squares = squared(x, nil, n, work, same)
  end
  return finish(squares)
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

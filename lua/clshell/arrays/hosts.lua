-- arrays/hosts.lua - the reductions of Arrays, by the names and rules of those
-- of Buffers
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local host = require "cl.host"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.names"
local operation = require "clshell.arrays.operation"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods, operators = expression.methods, expression.operators

local M = {}

-- hosts.elements(what, h) -> Array, type
-- An Array of scalars, or the elements of an expression of Arrays, and their
-- type. A half that is calculated stays a float in between.
function M.elements(what, h)
  if expression.is(h) and h.context == layout.HOST then
    local type = h.kind.type
    return (methods.eval(methods.astype(h, types.calculated(type)))), type
  elseif text.class(h) ~= "Array" then
    cl.error(("%s: an operand must be an Array; got %s"):format(what,
      text.got(h)))
  end
  layout.scalar(what, {kind = {type = h.type}})
  return h, h.type
end

-- The total of that name of all elements, or those along a dimension, in a
-- type, or the one that a Buffer gives.
local function total(name, h, dim, type, what)
  what = what or name
  local list, own = M.elements(what, h)
  local shape = layout.shape(list.shape)
  if dim ~= nil then
    layout.dim(what, shape, dim, names.PAIRS[name])
  end
  local left, g = layout.part(shape, dim)
  local out = cl.array(type or operation.of(name, own).result, left)
  host.total(name, list, out, g.many, g.inner)
  return dim and out or out[1]
end

-- The type of the elements of a sum that all digits are wanted of.
local function summed(type)
  return types.known[type].real and "double" or operation.wide(type)
end

-- hosts.wide_mean(sum, x, n) -> number
-- The mean of n integers of 64 bits, whose sum may leave these: from the sums
-- of their halves, which do not.
function M.wide_mean(sum, x, n)
  local high = sum(operators.shr(x, 32))
  return (high * 2.0^32 + sum(operators.band(x, 0xffffffff))) / n
end

-- An Array of doubles as the type that a Buffer gives.
local function narrow(what, e, type)
  return (methods.eval(methods.astype(e, types.calculated(types.real(what,
    type)))))
end

--- Array:sum([dim]) -> number or Array
--- The sum of all elements; with `dim` (1 is the first dimension) the sums
--- along that dimension, an Array of the shape left, in the type that
--- Buffer:sum gives. Integers are added in 64 bits, reals in double and
--- compensated.
--- Example: print(cl.array("int", {2, 2}, {{1, 2}, {3, 4}}):sum()) --> 10
function M.sum(h, dim)
  local list, type = M.elements("sum", h)
  return total("sum", list, dim, dim == nil and summed(type)
    or operation.wide(type))
end

--- Array:mean([dim]) -> number or Array
--- The sum divided by the number of elements; along `dim` an Array of reals.
--- Example: print(cl.array("int", {2, 2}, {{1, 2}, {3, 4}}):mean()) --> 2.5
function M.mean(h, dim)
  local list, type = M.elements("mean", h)
  if dim == nil and types.known[type].wide then
    return M.wide_mean(M.sum, list, #list)
  end
  local sums = total("sum", list, dim, summed(type), "mean")
  if dim == nil then
    return sums / #list
  end
  return narrow("mean", methods.astype(sums, "double") / list.shape[dim], type)
end

--- Array:min([dim]) -> number or Array
--- The least element, of max the greatest; a NaN among the elements is the
--- result.
--- Also: Array:max
--- Example: print(cl.array("float", 3, {2, -1, 4}):min()) --> -1.0
function M.min(h, dim)
  return total("min", h, dim)
end

function M.max(h, dim)
  return total("max", h, dim)
end

--- Array:argmin([dim]) -> integer or Array
--- The number of the least element, of argmax the greatest, from 1 in the
--- order of reading, or along `dim`: the first of equal ones, and a NaN before
--- all others.
--- Also: Array:argmax
--- Example: print(cl.array("float", 3, {2, -1, 4}):argmin()) --> 2
function M.argmin(h, dim)
  return total("argmin", h, dim)
end

function M.argmax(h, dim)
  return total("argmax", h, dim)
end

local function truth(name, h, dim)
  local found = total(name, h, dim)
  if dim == nil then
    return found ~= 0
  end
  return found
end

--- Array:any([dim]) -> boolean or Array
--- Whether any element is not 0; along `dim` 1 or 0, as int. A NaN is not 0.
--- Example: print(cl.array("int", 3, {0, 0, 4}):any()) --> true
function M.any(h, dim)
  return truth("any", h, dim)
end

--- Array:all([dim]) -> boolean or Array
--- Whether no element is 0; along `dim` 1 or 0, as int.
--- Example: print(cl.array("int", 3, {0, 0, 4}):all()) --> false
function M.all(h, dim)
  return truth("all", h, dim)
end

--- Array:dot(y [, dim]) -> number or Array
--- The sum of the products with the elements of another Array of the same
--- shape, or of those along `dim`: of integers in 64 bits, of reals in double
--- and compensated.
--- Example:
--- local h = cl.array("int", 3, {1, 2, 3})
--- print(h:dot(h)) --> 14
function M.dot(h, y, dim)
  local a, a_type = M.elements("dot", h)
  local b, b_type = M.elements("dot", y)
  local one, other = layout.shape(a.shape), layout.shape(b.shape)
  if one ~= other then
    cl.error(("dot: the operands must have one shape; got %s and %s"):format(
      one.text, other.text))
  end
  local type = types.common("dot", a_type, b_type)
  local wide = summed(type)
  return total("sum", methods.astype(a, wide) * methods.astype(b, wide), dim,
    dim == nil and wide or operation.wide(type), "dot")
end

--- Array:nrm2([dim]) -> number or Array
--- The square root of the sum of squares, calculated in double. Squares of all
--- elements do not leave its range; along `dim` those of doubles may.
--- Example: print(cl.array("float", 2, {3, 4}):nrm2()) --> 5.0
function M.nrm2(h, dim)
  local list, type = M.elements("nrm2", h)
  types.real("nrm2", type)
  local x = methods.astype(list, "double")
  if dim ~= nil then
    return narrow("nrm2", methods.sqrt(total("sum", x * x, dim, "double",
      "nrm2")), type)
  end
  local most = total("max", methods.abs(x))
  if most == 0 or most - most ~= 0 then
    return most
  end
  local scaled = x / most
  return most * math.sqrt(total("sum", scaled * scaled))
end

-- hosts.check_dims(name, x, ...)
-- Raises for more arguments than the reduction of that name takes.
function M.check_dims(name, _, ...)
  if select(name == "dot" and 3 or 2, ...) ~= nil then
    cl.error(("%s takes one dim at a time"):format(name),
      {hint = "such as x:sum(2):sum(1)"})
  end
end

local of_arrays = {}

for _, name in ipairs(names.totals) do
  of_arrays[name] = function(...)
    M.check_dims(name, ...)
    return M[name](...)
  end
end
cl.extend("Array", of_arrays, true)

return M

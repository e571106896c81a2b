-- array/hosts.lua - the reductions of Arrays, by the names and rules of those
-- of Buffers
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.array.expression"
local layout = require "clshell.array.layout"
local names = require "clshell.array.names"
local text = require "clshell.base.text"
local types = require "clshell.array.types"

local M = {}

-- The elements of an Array in one row, and what is known of their type.
local function elements(what, h)
  if expression.is(h) and h.context == layout.HOST then
    h = h:eval()
  elseif text.class(h) ~= "Array" then
    cl.error(("%s: an operand must be an Array; got %s"):format(what,
      text.got(h)))
  end
  layout.scalar(what, {kind = {type = h.type}})
  return h:reshape(#h), types.known[h.type], h.type
end

-- A sum of reals carries what each addition lost (Neumaier).
local function add(sum, lost, x)
  local s = sum + x
  if s - s ~= 0 then -- no number any more, or infinite
    return s, 0.0
  end
  return s, lost + (math.abs(sum) >= math.abs(x) and sum - s + x
    or x - s + sum)
end

--- Array:sum() -> number
--- The sum of all elements: of integers in 64 bits, of reals in double and
--- compensated.
function M.sum(h)
  local list, known = elements("sum", h)
  local sum, lost = known.real and 0.0 or 0, known.real and 0.0 or 0
  for _, x in ipairs(list) do
    if known.real then
      sum, lost = add(sum, lost, x)
    else
      sum = sum + x
    end
  end
  return sum + lost
end

--- Array:mean() -> number
--- The sum divided by the number of elements.
function M.mean(h)
  local list, _, type = elements("mean", h)
  local sum = M.sum(list)
  return (sum + (type:find "^u" and sum < 0 and 2.0^64 or 0)) / #list
end

-- The place and the value of the least or greatest element; the first NaN
-- comes before all others.
local function find(what, h, greatest)
  local list, _, type = elements(what, h)
  local unsigned, at, best = type == "ulong", nil, nil
  for i, x in ipairs(list) do
    if x ~= x then
      return i, x
    end
    local a, b = best or x, x
    if greatest then
      a, b = b, a
    end
    if not at or unsigned and math.ult(b, a) or not unsigned and b < a then
      at, best = i, x
    end
  end
  return at, best
end

--- Array:min() -> number
--- The least element, of max the greatest; a NaN among the elements is the
--- result.
--- Also: Array:max
function M.min(h)
  return select(2, find("min", h, false))
end

function M.max(h)
  return select(2, find("max", h, true))
end

--- Array:argmin() -> integer
--- The number of the least element, of argmax the greatest, from 1 in the
--- order of reading: the first of equal ones, and a NaN before all others.
--- Also: Array:argmax
function M.argmin(h)
  return (find("argmin", h, false))
end

function M.argmax(h)
  return (find("argmax", h, true))
end

local function has(what, h, zero)
  for _, x in ipairs((elements(what, h))) do
    if (x == 0) == zero then
      return true
    end
  end
  return false
end

--- Array:any() -> boolean
--- Whether any element is not 0. A NaN is not 0.
function M.any(h)
  return has("any", h, false)
end

--- Array:all() -> boolean
--- Whether no element is 0.
function M.all(h)
  return not has("all", h, true)
end

--- Array:dot(y) -> number
--- The sum of the products with the elements of another Array of the same
--- shape: of integers in 64 bits, of reals in double and compensated.
function M.dot(h, y)
  local a, _, x_type = elements("dot", h)
  local b, _, y_type = elements("dot", y)
  local one, other = layout.shape(h.shape), layout.shape(y.shape)
  if one ~= other then
    cl.error(("dot: the operands must have one shape; got %s and %s"):format(
      one.text, other.text))
  end
  local type = types.common("dot", x_type, y_type)
  local product = cl.array(types.known[type].real and "double" or "long", #h)
  for i, x in ipairs(a) do
    product[i] = x * b[i]
  end
  return M.sum(product)
end

--- Array:nrm2() -> number
--- The square root of the sum of squares, calculated in double.
function M.nrm2(h)
  local most, sum, lost = 0.0, 0.0, 0.0
  local list = elements("nrm2", h)
  for _, x in ipairs(list) do
    most = x ~= x and x or math.max(most, math.abs(x))
  end
  if most == 0 or most - most ~= 0 then
    return most
  end
  for _, x in ipairs(list) do
    sum, lost = add(sum, lost, (x / most)^2)
  end
  return most * math.sqrt(sum + lost)
end

local of_arrays = {}

for _, name in ipairs(names.totals) do
  of_arrays[name] = function(h, ...)
    local dim = select(name == "dot" and 2 or 1, ...)
    if dim ~= nil then
      local whole = math.type(dim) == "integer"
      cl.error(("%s: an Array is reduced as a whole; along a dimension a "
        .. "Buffer is: cl.buffer(h.type, h.shape, h):%s%s)"):format(name,
        name == "dot" and "dot(y, " or name .. "(", whole and dim or 1),
        {hint = not whole and names.PAIRS[name] or nil})
    end
    return M[name](h, ...)
  end
end
cl.extend("Array", of_arrays, true)

return of_arrays

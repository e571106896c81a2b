-- ladders/reduce/init.lua - the reduction family, y = x[1] op x[2] op ... op
-- x[n] Made with family.new alone, as those of scripts are.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"

local EXACT = 2^51 -- sums below it come whole out of a mean in double

-- The sum of x as the kernels' int has it, which wraps.
local function sum_of_integers(x, seen)
  local sum = seen.mean * #x
  if math.abs(sum) < EXACT then
    sum = math.floor(sum + 0.5)
  else
    sum = 0
    for _, value in ipairs(x) do
      sum = sum + value
    end
  end
  return (math.tointeger(sum) + 2^31 | 0) % (1 << 32) - (1 << 31)
end

-- The sum of absolute values.
local function magnitude(x, seen)
  if seen.min >= 0 or seen.max <= 0 then
    return math.abs(seen.mean) * #x
  end
  local sum = 0.0
  for _, value in ipairs(x) do
    sum = sum + math.abs(value)
  end
  return sum
end

--- reduce(x [, opts]) -> y, event
--- The sum, the least or the greatest of all elements of x, a Buffer of
--- float, double or int without gaps (an Array or a table is copied there). y
--- is a Buffer of one element, y:read()[1] the number. A sum of n elements is
--- off by verify.bound(type, n) of the sum of absolute values at most; one of
--- int wraps as int does. NaN among the elements is the result. The methods
--- x:sum(), x:min() and x:max() give numbers, of expressions and along a
--- dimension too.
--- Options:
---   op      sum            "sum", "min" or "max"
---   kernel  the best known  a rung's name, see reduce.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = reduce({3, 1, 2})
--- print(y:read()[1], reduce({3, 1, 2}, {op = "max"}):read()[1]) --> 6.0 3.0
local reduce = family.new({
  name = "reduce",
  arguments = {{"x", "n"}},
  output = {"y", 1},
  options = {{name = "op", values = {"sum", "min", "max"}}},
  types = {"float", "double", "int"},
  rungs = require "clshell.ladders.reduce.rungs",
  cache = "cold",
  memory = "read",
  flop = function(s)
    return s.n - 1
  end,
  terms = function(s)
    return s.op == "sum" and s.n or 1
  end,
  reference = function(h, s)
    local seen = h.x:summary()
    if s.op ~= "sum" then
      return seen[s.op]
    elseif s.type == "int" then
      return sum_of_integers(h.x, seen)
    end
    return seen.mean * #h.x, magnitude(h.x, seen)
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.n * s.esize}
  end,
}, require "clshell.base.lazy".table(...))

return reduce

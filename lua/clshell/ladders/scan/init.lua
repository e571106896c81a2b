-- ladders/scan/init.lua - the scan family, y[i] = x[1] + ... + x[i]
-- Made with family.new alone, as those of scripts are.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.ladder"

--- scan(x [, opts]) -> y, event
--- The sums of all elements of x up to each one, or before each one. x is a
--- Buffer of float, double or int without gaps (an Array or a table is copied
--- there), y a vector of as many elements. An element of y is off by
--- verify.bound(type, n) of the sum of absolute values at most; sums of int
--- wrap as int does. The method x:cumsum() keeps the shape and adds integers
--- in 64 bits.
--- Options:
---   kind    inclusive      "inclusive": x[i] belongs to y[i]; "exclusive": it
---           does not, and y[1] is 0
---   kernel  the best known  a rung's name, see scan.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = scan({1, 2, 3, 4}, {kind = "exclusive"})
--- print(y:read()[4], scan{1, 2, 3, 4}:read()[4]) --> 6.0 10.0
local scan = family.new({
  name = "scan",
  arguments = {{"x", "n"}},
  output = {"y", "n"},
  options = {{name = "kind", values = {"inclusive", "exclusive"}}},
  types = {"float", "double", "int"},
  rungs = require "clshell.ladders.scan.rungs",
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return s.n - 1
  end,
  terms = function(s)
    return s.n
  end,
  reference = function(h, s)
    local y = cl.array(s.type == "int" and "int" or "double", s.n)
    local sum, size = s.type == "int" and 0 or 0.0, 0.0
    local exclusive = s.kind == "exclusive"
    for i, value in ipairs(h.x) do
      local before = sum
      sum, size = sum + value, size + math.abs(value)
      if s.type == "int" then -- which wraps
        sum = (sum + (1 << 31)) % (1 << 32) - (1 << 31)
      end
      y[i] = exclusive and before or sum
    end
    return y, size
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.n * s.esize}
  end,
}, require "clshell.base.lazy".table(...))

return scan

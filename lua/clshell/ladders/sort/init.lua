-- ladders/sort/init.lua - the sort family, the elements of x in order
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local host = require "cl.host"

--- sort(x [, opts]) -> y, event
--- The elements of x in order. x is a Buffer of a scalar type, without gaps
--- and with less than 2^31 elements (an Array or a table is copied there); y
--- is a vector. Equal elements stay in their order. -0.0 comes before 0.0
--- (descending: behind it), and NaN at the end, either way.
--- Buffer:sort and Buffer:argsort are the same as methods.
--- Options:
---   order   ascending      "ascending" or "descending"
---   index   none           a Buffer of uint to write: where the elements of
---           y were in x, from 1
---   kernel  the best known  a rung's name, see sort.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = sort{3, 1, 2}
--- print(y:read()[1], sort({3, 1, 2}, {order = "descending"}):read()[1])
--- --> 1.0 3.0
--- local index = cl.buffer("uint", 3)
--- sort({30, 10, 20}, {index = index})
--- print(index:read()[1]) --> 2
local sort = family.new({
  name = "sort",
  arguments = {{"x", "n"}},
  output = {"y", "n"},
  options = {
    {name = "order", values = {"ascending", "descending"}},
    {name = "index", sizes = {"n"}, type = "uint"},
  },
  types = {"float", "double", "char", "uchar", "short", "ushort", "int",
    "uint", "long", "ulong", "half"},
  rungs = require "clshell.ladders.sort.rungs",
  cache = "cold",
  pieces = function(plan)
    return {plan.output, plan.operands.index}
  end,
  truth = function(o, s)
    local right, index
    return function(results)
      if not right then
        local h <close> = o.x:read()
        right, index = host.sort(h, s.order == "descending")
      end
      local same, at = results[1]:equal(right)
      if same and s.index then
        same, at = results[2]:equal(index)
      end
      return same and 0 or 1, 0, "every bit", at
    end
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.n * s.esize}
  end,
}, require "clshell.base.lazy".table(...))

return sort

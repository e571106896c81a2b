-- ladders/conv2d/init.lua - the family of convolutions of a matrix with a
-- small one Made with family.new alone, as those of scripts are.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local verify = require "clshell.ladder.verify"

--- conv2d(A, F [, opts]) -> B, event
--- The direct convolution of an image with a filter of any size: B[i][j] is
--- the sum of the elements of A around (i, j) times those of F. B has the
--- shape of A; outside A is 0 ("same", padded with zeros). With indices from
--- 1, element (1 + (frows - 1) // 2, 1 + (fcols - 1) // 2) of F belongs to the
--- element itself: the middle of an odd size, the one before it of an even
--- size. F is not turned round, as in libraries for neural networks; give it
--- turned by 180 degrees for the convolution of mathematics. A and F are
--- Buffers of float or double with two dimensions, whose rows may have gaps
--- (Arrays and nested tables are copied to the device). An element of B is off
--- by verify.bound(type, #F) of the sum of absolute values at most.
--- Options:
---   kernel  the best known  a rung's name, see conv2d.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = matrix.ones(5, 6)
--- local B = conv2d(A, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}})
--- print(B:read():at(3, 3), B:read():at(1, 1)) --> 9.0 4.0
local conv2d = family.new({
  name = "conv2d",
  arguments = {{"A", "rows", "cols"}, {"F", "frows", "fcols"}},
  output = {"B", "rows", "cols"},
  rungs = require "clshell.ladders.conv2d.rungs",
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return 2 * s.rows * s.cols * s.frows * s.fcols
  end,
  truth = function(o)
    return verify.window(o.A:read(), o.F:read())
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.rows * s.cols * s.esize, rest = s.lda % 4}
  end,
  awkward = {{1, 1, 1, 1}, {1, 1, 3, 3}, {7, 7, 3, 3}, {16, 16, 3, 5},
    {17, 33, 5, 5}, {33, 17, 4, 2}, {5, 40, 1, 9}, {9, 7, 11, 12}},
}, require "clshell.base.lazy".table(...))

return conv2d

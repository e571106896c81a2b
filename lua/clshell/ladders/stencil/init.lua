-- ladders/stencil/init.lua - the 5-point stencil family, sums of an element
-- and its neighbours with weights
-- Made with family.new alone, as those of scripts are.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.ladder"
local verify = require "clshell.ladder.verify"

--- stencil(A [, opts]) -> B, event
--- The weighted sums of each element of a matrix and of its four neighbours:
--- B[i][j] = centre A[i][j] + left A[i][j-1] + right A[i][j+1] + up A[i-1][j]
--- + down A[i+1][j]. The first and the last row and column have no such
--- neighbours: B has them from A as they are, as with fixed values at the edge
--- of a grid (Dirichlet). A is a Buffer of float or double with two
--- dimensions, whose rows may have gaps (an Array or a nested table is copied
--- to the device). With the weights below B is a step of Jacobi's method for
--- Laplace's equation; for the next one swap A and B.
--- Options:
---   centre  0              weight of the element itself
---   left    0.25           weight of the element before it in its row
---   right   0.25           weight of the element after it
---   up      0.25           weight of the element in the row before
---   down    0.25           weight of the element in the row after
---   kernel  the best known  a rung's name, see stencil.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = cl.buffer("float", {3, 3}, {{0, 1, 0}, {2, 9, 3}, {0, 4, 0}})
--- print(stencil(A):read():at(2, 2)) --> 2.5
--- local laplace = {centre = -4, left = 1, right = 1, up = 1, down = 1}
--- print(stencil(A, laplace):read():at(2, 2)) --> -26.0
local stencil = family.new({
  name = "stencil",
  arguments = {{"A", "rows", "cols"}},
  output = {"B", "rows", "cols"},
  options = {{name = "centre", default = 0}, {name = "left", default = 0.25},
    {name = "right", default = 0.25}, {name = "up", default = 0.25},
    {name = "down", default = 0.25}},
  rungs = require "clshell.ladders.stencil.rungs",
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return 9 * math.max(s.rows - 2, 0) * math.max(s.cols - 2, 0)
  end,
  truth = function(o, s)
    local weights = cl.array("double", {3, 3}, {{0, s.up, 0},
      {s.left, s.centre, s.right}, {0, s.down, 0}})
    return verify.window(o.A:read(), weights, true)
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.rows * s.cols * s.esize}
  end,
}, require "clshell.base.lazy".table(...))

return stencil

-- ladders/transpose/init.lua - the transpose family, B = A^T
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local family = require "clshell.ladder"
local verify = require "clshell.ladder.verify"

--- transpose(A [, opts]) -> B, event
--- The transpose of a matrix on the device, bit for bit. A is a Buffer with
--- two dimensions (an Array or a nested table is copied there), or a Split in
--- rows over several devices, which gives a Split in rows.
--- Options:
---   kernel  the best known  a rung's name, see transpose.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local B, event = transpose(matrix.random(20, 30), {kernel = "tiled"})
--- print(B.rows, B.cols) --> 30 20
local transpose = family.new({
  name = "transpose",
  rungs = require "clshell.ladders.transpose.rungs",
  arguments = {{"A", "rows", "cols"}},
  output = {"B", "cols", "rows"},
  types = {"float", "double", "half"},
  cache = "cold",
  memory = "copy",
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.rows * s.cols * s.esize}
  end,
  truth = function(o)
    return verify.transpose(o.A:read())
  end,
  hosts = {
    {name = "plain_c", gflops = 0.2, run = function(o)
      return host.transpose_loop(o.A:read())
    end},
  },
}, require "clshell.base.lazy".table(...))

return transpose

-- transpose/init.lua - the transpose family, B = A^T
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local host = require "cl.host"
local family = require "clshell.family"
local arguments = require "clshell.family.arguments"
local verify = require "clshell.family.verify"

local TYPES = {"float", "double", "half"}

-- Fills in what a shape given by hand leaves out.
local function shape(s)
  local type, esize = arguments.shape("transpose", s, "rows", "cols")
  return {
    rows = s.rows, cols = s.cols, type = type, esize = esize,
    lda = s.lda or s.cols, ldb = s.ldb or s.rows,
  }
end

local function check_output(A, B)
  arguments.check_output("transpose", "B", B)
  arguments.matrix("transpose", "B", B)
  arguments.same_type("transpose", "A", A, "B", B)
  if B.rows ~= A.cols or B.cols ~= A.rows then
    cl.error(("transpose: B is %dx%d, but A transposed is %dx%d"):format(
      B.rows, B.cols, A.cols, A.rows), {arg = "B"})
  end
  arguments.check_alias("transpose", "B", B, "A", A)
end

local function bind(o, context)
  local A = arguments.matrix("transpose", "A", o.A, context)
  arguments.check_type("transpose", "A", A, TYPES)
  o.A = A
  if o.B == nil then
    o.B = cl.buffer(A.type, {A.cols, A.rows}, nil, {context = context})
  else
    check_output(A, o.B)
  end
  arguments.check_context("transpose", {A = A, B = o.B}, context)
  return shape{rows = A.rows, cols = A.cols, type = A.type, lda = A.ld,
    ldb = o.B.ld}
end

--- transpose(A [, opts]) -> B, event
--- The transpose of a matrix on the device, bit for bit. A is a Buffer with
--- two dimensions (an Array or a nested table is copied there).
--- Options:
---   kernel  the best known  a rung's name, see transpose.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
local transpose = family.new({
  name = "transpose",
  rungs = require "clshell.transpose.rungs",
  inputs = {"A"},
  extras = {"B"},
  dims = {"rows", "cols"},
  output = "B",
  ints = {"rows", "cols", "lda", "ldb"},
  keeps_plans = true,
  context = function(o, queue)
    return arguments.context({n = 2, o.A, o.B}, queue)
  end,
  bind = bind,
  shape = shape,
  args = function(s, _, o)
    return {s.rows, s.cols, o.A, o.A.ld, o.B, o.B.ld}
  end,
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.rows * s.cols * s.esize}
  end,
  truth = function(o)
    return verify.transpose(o.A:read())
  end,
  flop = function()
    return 0
  end,
  bytes = function(s)
    return 2 * s.rows * s.cols * s.esize
  end,
  hosts = {
    {name = "plain_c", gflops = 0.2, run = function(o)
      return host.transpose_loop(o.A:read())
    end},
  },
  title = function(s)
    return ("%dx%d %s"):format(s.rows, s.cols, s.type)
  end,
}, require "clshell.base.lazy".table(...))

return transpose

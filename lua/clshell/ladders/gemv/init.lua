-- ladders/gemv/init.lua - the product of a matrix and a vector, y = alpha A x
-- + beta y Made with family.new alone, as those of scripts are.
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local family = require "clshell.ladder"
local verify = require "clshell.ladder.verify"

-- A size of a vector: the columns of A, or its rows if it is transposed; of
-- the result the other way round.
local function size(plain, transposed)
  return function(s)
    return s.trans and s[transposed] or s[plain]
  end
end

-- The product as one of two matrices: on the left A or x as a row, on the
-- right x as a column or A, what y held, and the sizes.
local function as_matrices(o, s)
  local A, x = o.A:read(), o.x:read()
  local y0 = s.beta ~= 0 and o.y:read() or nil
  local m, n = s.rows, 1
  if s.trans then
    m, n = 1, s.cols
    A, x = x:reshape{1, s.rows}, A
  else
    x = x:reshape{s.cols, 1}
  end
  return A, x, y0 and y0:reshape{m, n}, {m = m, n = n,
    k = s.trans and s.rows or s.cols, type = s.type, alpha = s.alpha,
    beta = s.beta}
end

--- gemv(A, x [, opts]) -> y, event
--- The product y = alpha op(A) x + beta y of a matrix and a vector on the
--- device, in float or double. A is rows x cols, a Buffer with two dimensions,
--- whose rows may have gaps; x has cols elements and y rows, or the other way
--- round if A is transposed (an Array or a table is copied to the device). y
--- shares no memory with A and x. An element of y is off by
--- verify.bound(type, #x) of the sum of absolute values at most.
--- Options:
---   trans   false          true: op(A) is A transposed
---   alpha   1              factor of the product
---   beta    0              factor of y as it was, which has to be given then;
---           with 0, y is not read
---   kernel  the best known  a rung's name, see gemv.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
--- print(gemv(A, {1, 1, 1}):read()[2]) --> 15.0
--- print(#gemv(A, {1, 1}, {trans = true, alpha = 2})) --> 3
local gemv = family.new({
  name = "gemv",
  arguments = {{"A", "rows", "cols"}, {"x", size("cols", "rows")}},
  output = {"y", size("rows", "cols")},
  options = {{name = "trans", values = {false, true}},
    {name = "alpha", default = 1}, {name = "beta", default = 0}},
  rungs = require "clshell.ladders.gemv.rungs",
  cache = "cold",
  memory = "read",
  updates = function(s)
    return s.beta ~= 0
  end,
  flop = function(s)
    return 2 * s.rows * s.cols
  end,
  truth = function(o, s)
    local A, x, y0, product = as_matrices(o, s)
    local truth = verify.gemm(A, x, product, y0)
    return function(y)
      local err, bound, mode, row, col = truth(y:reshape{product.m,
        product.n})
      return err, bound, mode, s.trans and col or row
    end, y0 and y0:reshape(#y0)
  end,
  hosts = {
    {name = "plain_c", gflops = 0.5, run = function(o, s)
      local A, x, y0 = as_matrices(o, s)
      local y, seconds = host.gemm_loop(A, x,
        {alpha = s.alpha, beta = s.beta, C0 = y0})
      return y:reshape(#y), seconds
    end},
  },
  awkward = {{1, 1}, {7, 1}, {1, 17}, {16, 16}, {33, 100}, {100, 33},
    {1, 1, trans = true}, {17, 7, trans = true}, {100, 33, trans = true},
    {33, 100, trans = true}},
  measures = function(s) -- what choices.lua may ask besides
    return {bytes = s.rows * s.cols * s.esize}
  end,
}, require "clshell.base.lazy".table(...))

return gemv

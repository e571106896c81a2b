-- gemm.lua - the matrix product family, C = alpha A B + beta C
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.family"
local operand = require "clshell.operand"
local verify = require "clshell.verify"

local TYPES = {"float", "double", "half"}

-- Fills in what a shape given by hand leaves out.
local function shape(s)
  for _, name in ipairs{"m", "n", "k"} do
    if math.type(s[name]) ~= "integer" or s[name] < 1 then
      cl.error(("gemm: the shape's %s is a whole number of at least 1, not %s")
        :format(name, tostring(s[name])))
    end
  end
  local type = s.type or "float"
  return {
    m = s.m, n = s.n, k = s.k, type = type, esize = cl.typesize(type),
    lda = s.lda or s.k, ldb = s.ldb or s.n, ldc = s.ldc or s.n,
    alpha = s.alpha or 1, beta = s.beta or 0,
  }
end

local function check_shapes(A, B)
  if A.cols ~= B.rows then
    cl.error(("gemm: A is %dx%d and B is %dx%d: the columns of A (%d) are "
      .. "not the rows of B (%d)"):format(A.rows, A.cols, B.rows, B.cols,
        A.cols, B.rows))
  end
end

local function check_output(o)
  local A, B, C = o.A, o.B, o.C
  if not operand.is_buffer(C) then
    cl.error("gemm: C is a Buffer: the result is written there", {arg = "C"})
  end
  operand.matrix("gemm", "C", C)
  operand.same_type("gemm", "A", A, "C", C)
  if C.rows ~= A.rows or C.cols ~= B.cols then
    cl.error(("gemm: C is %dx%d, but A B is %dx%d"):format(C.rows, C.cols,
      A.rows, B.cols), {arg = "C"})
  end
  operand.check_alias("gemm", "C", C, "A", A)
  operand.check_alias("gemm", "C", C, "B", B)
end

local function bind(o, context)
  local type = operand.is_buffer(o.B) and not o.B.closed and o.B.type
  local A = operand.matrix("gemm", "A", o.A, context, type)
  local B = operand.matrix("gemm", "B", o.B, context, A.type)
  o.A, o.B = A, B
  operand.check_type("gemm", "A", A, TYPES)
  operand.same_type("gemm", "A", A, "B", B)
  check_shapes(A, B)
  o.alpha = operand.scalar("gemm", "alpha", o.alpha or 1, A.type)
  o.beta = operand.scalar("gemm", "beta", o.beta or 0, A.type)
  if o.C ~= nil then
    check_output(o)
  elseif o.beta ~= 0 then
    cl.error(("gemm: beta = %s needs C, the matrix to add to"):format(o.beta))
  else
    o.C = cl.buffer(A.type, {A.rows, B.cols}, nil, {context = context})
  end
  operand.check_context("gemm", {A = A, B = B, C = o.C}, context)
  return shape{
    m = A.rows, n = B.cols, k = A.cols, type = A.type, lda = A.ld,
    ldb = B.ld, ldc = o.C.ld, alpha = o.alpha, beta = o.beta,
  }
end

local function args(s, _, o)
  return {s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C,
    o.C.ld}
end

-- The portable ladder, and the vendor's rungs above it.
local function all_rungs()
  local plain = require "clshell.gemm_rungs"
  local nv = require "clshell.gemm_nv_rungs"
  local list = table.move(plain, 1, #plain, 1, {})
  return table.move(nv, 1, #nv, #list + 1, list)
end

local function truth(o, s, input_roundoff)
  local C0 = s.beta ~= 0 and o.C:read() or nil
  return verify.gemm(o.A:read(), o.B:read(), s, C0, input_roundoff), C0
end

-- A host routine on the operands: result, seconds; or nil, reason.
local function on_host(routine)
  return function(o, s)
    local C0 = s.beta ~= 0 and o.C:read() or nil
    return routine(o.A:read(), o.B:read(),
      {alpha = s.alpha, beta = s.beta, C0 = C0})
  end
end

--- gemm(A, B [, opts]) -> C, event
--- The matrix product C = alpha A B + beta C on the device. A is m x k, B is
--- k x n: Buffers with two dimensions, or Arrays and nested tables, which are
--- copied there. Options: kernel (a rung's name; by default the best one
--- known for this device and size), the rung's own parameters, such as tile,
--- C (the Buffer to write), alpha (1), beta (0), queue and after (events to
--- wait for). The event covers everything that ran on the device: where a
--- rung takes several commands, `event.ms` is the time inside them,
--- `event.span_ms` goes from the first START to the last STOP, and
--- `event.events` are the commands. See also gemm.kernels, gemm.define,
--- gemm.bench.
local gemm = family.new{
  name = "gemm",
  rungs = all_rungs(),
  inputs = {"A", "B"},             -- arguments of a call, in order
  extras = {"C", "alpha", "beta"}, -- operands among the options
  output = "C",                    -- the operand that is the result
  ints = {"m", "n", "k", "lda", "ldb", "ldc"}, -- int in the kernels
  context = function(o, queue)
    return operand.context({n = 3, o.A, o.B, o.C}, queue)
  end,
  bind = bind,                     -- checks operands, returns their shape
  shape = shape,                   -- completes a shape given by hand
  args = args,                     -- of the kernel: the ladder's signature
  measures = function(s)           -- what choices.lua may ask besides
    return {work = s.m * s.n * s.k}
  end,
  truth = truth,                   -- what a result is compared with
  flop = function(s)
    return 2 * s.m * s.n * s.k
  end,
  -- what must move if every element is touched once
  bytes = function(s)
    local c = s.beta ~= 0 and 2 or 1
    return (s.m * s.k + s.k * s.n + c * s.m * s.n) * s.esize
  end,
  -- on the CPU without OpenCL; gflops: what to expect, to refuse long runs
  hosts = {
    {name = "openblas", gflops = 100, run = on_host(function(...)
      return cl.host.gemm_blas(...)
    end)},
    {name = "plain_c", gflops = 5, run = on_host(function(...)
      return cl.host.gemm_loop(...)
    end)},
  },
  title = function(s)
    return ("%dx%dx%d %s"):format(s.m, s.n, s.k, s.type)
  end,
}

return gemm

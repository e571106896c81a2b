-- ladders/gemm/init.lua - the matrix product family, C = alpha A B + beta C
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local family = require "clshell.ladder"
local operands = require "clshell.ladders.gemm.gemm_operands"
local random = require "clshell.ladder.operands".random
local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"

-- The portable ladder, and the vendor's rungs above it.
local function all_rungs()
  local list = {}
  for _, rungs in ipairs{require "clshell.ladders.gemm.rungs",
      require "clshell.ladders.gemm.nv_rungs"} do
    table.move(rungs, 1, #rungs, #list + 1, list)
  end
  return list
end

-- The matrices that the result consists of.
local function pieces(plan)
  local list = {}
  for i = 1, plan.shape.batch do
    list[i] = operands.at(plan.operands, plan.shape, "C", i - 1)
  end
  return list
end

-- Host copies of the operands, one product at a time: function(i) -> A, B,
-- C0, i from 1; `stored`: A and B as they are stored, transposed or not. A
-- matrix that all products share is read once.
local function reader(o, s, stored)
  local shared = {}
  local function read(name, i)
    if s["stride_" .. name:lower()] ~= 0 then
      return operands.read(o, s, name, i - 1, stored)
    end
    shared[name] = shared[name] or operands.read(o, s, name, 0, stored)
    return shared[name]
  end
  return function(i)
    local C0 = s.beta ~= 0 and operands.read(o, s, "C", i - 1) or nil
    return read("A", i), read("B", i), C0
  end
end

-- The truth of a list of results, and a list of the contents of C before.
local function truth(o, s, input_roundoff, in_float)
  local verify = require "clshell.ladder.verify"
  local read, checks = reader(o, s), {}
  local before = s.beta ~= 0 and {} or nil
  for i = 1, s.batch do
    local A, B, C0 = read(i)
    checks[i] = verify.gemm(A, B, s, C0, input_roundoff, in_float)
    if before then
      before[i] = C0
    end
  end
  return verify.all(checks), before
end

-- The host routine of that name on the operands: results, seconds; or nil,
-- reason. `trans`: it takes transposed operands as they are stored.
local function on_host(routine, trans)
  return function(o, s)
    local read, results, seconds = reader(o, s, trans), {}, 0
    for i = 1, s.batch do
      local A, B, C0 = read(i)
      local C, time = host[routine](A, B, {alpha = s.alpha, beta = s.beta,
        C0 = C0, trans_a = trans and s.trans_a,
        trans_b = trans and s.trans_b})
      if C == nil then
        return nil, time
      end
      results[i], seconds = C, seconds + time
    end
    return results, seconds
  end
end

-- The sizes that tell one product from another.
local function sizes(s)
  local shape = {m = s.m, n = s.n, k = s.k, lda = s.lda, ldb = s.ldb,
    ldc = s.ldc, trans_a = s.trans_a and 1 or nil,
    trans_b = s.trans_b and 1 or nil}
  for side in pairs(s.ready or {}) do
    shape["packed_" .. side] = 1
  end
  shape["out_" .. s.out] = s.out ~= s.type and 1 or nil
  if s.placed then
    for _, name in ipairs{"batch", "start_a", "start_b", "start_c",
      "stride_a", "stride_b", "stride_c"} do
      shape[name] = s[name]
    end
  end
  return shape
end

-- C = beta C, for k = 0.
local function nothing(s, o)
  local event
  for i = 0, s.batch - 1 do
    local C = o.C:matrix(i * s.stride_c + 1, s.m, s.n, s.ldc)
    local c = s.beta ~= 0 and text.bits(C.type) and C:astype "float" or C
    event = C:set(s.beta ~= 0 and s.beta * c or 0)
  end
  return event
end

local function title(s)
  local words = ("%dx%dx%d %s"):format(s.m, s.n, s.k, s.type)
  words = words .. (s.out ~= s.type and " to " .. s.out or "")
    .. (s.trans_a and " A^T" or "") .. (s.trans_b and " B^T" or "")
  for _, side in ipairs{"a", "b"} do
    if s.ready and s.ready[side] then
      words = ("%s packed %s"):format(words, side:upper())
    end
  end
  return s.batch > 1 and ("%s x %d"):format(words, s.batch) or words
end

--- gemm(A, B [, opts]) -> C, event
--- The matrix product C = alpha op(A) op(B) + beta C on the device; op(A) is
--- m x k, op(B) k x n, in float, double or half, in bfloat16, float8_e4m3 or
--- float8_e5m2 with sums in float, or in char: A and B of char give a C of
--- int, exactly but for sums beyond int, which wrap around; alpha and beta
--- are whole numbers then. A and B: Buffers with two dimensions, views such
--- as M:sub(2, 3, 64, 64), or Arrays and nested tables, which are copied to
--- the device. Matrices are row-major, with the leading dimension of the
--- Buffer. C shares no element with A or B. Large products of double take
--- nv_ozaki on GPUs that have it: while A, B and C live, it keeps 17 bytes on
--- the device for each element of A and B and 15 for each of C, a quarter of
--- the device's memory at most; larger products take nv_dmma. The event covers
--- everything that ran on the device: where a rung takes several commands,
--- `event.ms` is the time inside them, `event.span_ms` goes from the first
--- START to the last STOP, and `event.events` are the commands. Where the
--- caller takes C alone, as in `C = gemm(A, B)`, the driver is asked for no
--- event, which makes small products faster. The first product that would wait
--- for new builds of nv_fp16x3 comes from nv_ffma, which a line tells, and may
--- differ in the last bits from the next one, which waits; gemm.plan and calls
--- that name a kernel always wait. A Split A, in rows over several
--- devices (cl.split), gives a Split C, for a B that is a Buffer or a Split in
--- rows or copies. To run a product many times, gemm.plan is the fast way:
--- plan() only launches; for an operand of many products see gemm.pack. See
--- also gemm.kernels, gemm.define, gemm.bench.
--- Options:
---   kernel    the best known  a rung's name, see gemm.kernels; with it the
---             rung's own parameters. Without it: see gemm.choice
---   C         a new one  the Buffer or view to write, of the type of A and B,
---             of int for char; for bfloat16 also of float, for float8 of
---             float (a new one is) or bfloat16; for halves the rung nv_hgemm
---             takes one of float
---   alpha     1      factor of the product; with 0, A and B are not read:
---             C = beta C, as for k = 0
---   beta      0      factor of C as it was; with 0, C is not read
---   trans_a   false  true or "T": op(A) is A transposed, so A is k x m
---   trans_b   false  true or "T": B is n x k
---   batch     -      so many products of one shape in a call: A, B and C then
---             have three dimensions, {batch, rows, columns}, which also says
---             it; an A or B with two dimensions serves all products
---   stride_a, stride_b, stride_c  -  elements from one matrix of a batch to
---             the next, for A, B, C being the first of them; 0 shares A or B
---   queue     default queue  the Queue to run on
---   after     none  a list of events to wait for
--- Example:
--- local A, B = matrix.random(64, 32), matrix.random(32, 48)
--- local C, event = gemm(A, B)
--- print(C.rows, C.cols) --> 64 48
--- gemm(A, B, {kernel = "tiled", tile = 8, C = C, alpha = 2, beta = 1})
local gemm = family.new({
  name = "gemm",
  rungs = all_rungs(),
  arguments = {{"A", "m", "k"}, {"B", "k", "n"}},
  output = {"C", "m", "n"},
  options = {
    {name = "alpha", default = 1, try = {-0.5, 3},
      help = "factor of the product"},
    {name = "beta", default = 0, try = {1, -0.5},
      help = "factor of C as it was, which is added"},
    {name = "trans_a", values = {false, true}, try = function(rung)
      return rung.trans and rung.trans.a == "any" and {true, false, true}
    end, help = "A is stored transposed"},
    {name = "trans_b", values = {false, true}, try = function(rung)
      return rung.trans and rung.trans.b == "any" and {false, true, true}
    end, help = "B is stored transposed"},
    {name = "batch", default = 1, try = {}},
    {name = "stride_a", default = 0, try = {}},
    {name = "stride_b", default = 0, try = {}},
    {name = "stride_c", default = 0, try = {}},
  },
  types = operands.types,
  dims = {"m", "n", "k"},          -- the order of the sizes in a shape
  make = function(s, seed)         -- operands of a shape
    local function operand(name, more)
      local rows, cols = submatrix.extent(s, name)
      return random(name == "C" and operands.result_type(s.type or "float")
        or s.type or "float", {rows, cols}, seed + more)
    end
    return {
      A = operand("A", 0), B = operand("B", 1),
      C = (s.beta or 0) ~= 0 and operand("C", 2) or nil,
      alpha = s.alpha, beta = s.beta, trans_a = s.trans_a,
      trans_b = s.trans_b,
    }
  end,
  bind = operands.bind,            -- checks operands, returns their shape
  shape = operands.shape,          -- completes a shape given by hand
  sizes = sizes,                   -- of a shape, for the record
  placing = submatrix,             -- sub-matrices and batches, for a rung
  signature = "int m, int n, int k, REAL alpha, global const REAL *A, int "
    .. "lda, global const REAL *B, int ldb, REAL beta, global REAL *C, int "
    .. "ldc",
  measures = function(s)           -- values for choices.lua to ask for
    return {work = 1.0 * s.m * s.n * s.k} -- beyond 2^63 for some shapes
  end,
  pieces = pieces,                 -- the matrices of the result
  truth = truth,                   -- the comparison of a result
  flop = function(s)
    return (s.alpha == 0 and 1 or 2 * s.k) * s.m * s.n * s.batch
  end,
  -- the bytes that must move if every element is touched once
  bytes = function(s)
    local function count(stride)
      return stride == 0 and 1 or s.batch
    end
    local c = (s.beta ~= 0 and 2 or 1) * s.batch * s.m * s.n * s.out_esize
    if s.alpha == 0 then
      return c
    end
    return (s.m * s.k * count(s.stride_a) + s.k * s.n * count(s.stride_b))
      * s.esize + c
  end,
  -- on the CPU without OpenCL; gflops: expected speed, to refuse long runs
  hosts = {
    {name = "openblas", gflops = 100, run = on_host("gemm_blas", true)},
    {name = "plain_c", gflops = 5, run = on_host "gemm_loop"},
  },
  nothing = nothing,
  title = title,
}, require "clshell.base.lazy".table(...))

--- gemm.pack(B [, opts]) -> packed
--- An operand packed once for calls to come, which take it in the place of the
--- Buffer and need not pack it: gemm(A, gemm.pack(B)). It pays where a kernel
--- packs its operands (simd, nv_fp16x3) and one of them stays the same, such
--- as weights. A call gives the same bits as with the Buffer. It runs the
--- kernel and the parameters that the operand was packed for, and refuses
--- others; sizes and element type are checked as for a Buffer, and all
--- products of a batch share the operand. It keeps a copy of the matrix: later
--- writes to the Buffer do not change it. Fields: kernel, params, side, trans,
--- type, bytes (of device memory, the copy included), closed; p:close()
--- releases the memory. bench, verify and plan take it as well.
--- Options:
---   side    b      "a": the operand is the first one, A
---   trans   false  true or "T": the matrix is stored transposed; calls need
---           not repeat it
---   kernel  the kernel of the products to come  a rung's name; with it the
---           rung's own parameters
---   m       columns of B  rows of A in the products to come, by which the
---           kernel is chosen
---   n       rows of A  for side "a": columns of B in the products to come
--- Example:
--- local A, B = matrix.random(64, 512), matrix.random(512, 512)
--- local on_cpu = cl.device().type == "cpu"
--- local P <close> = gemm.pack(B, {kernel = on_cpu and "simd" or "nv_fp16x3"})
--- print(gemm(A, P).cols, P.bytes > B.bytes) --> 512 true
function gemm.pack(B, opts)
  return require "clshell.ladders.gemm.packing".pack(gemm, B, opts)
end

return gemm

-- blas.lua - what a BLAS's xGEMM covers beyond the plain product, by
-- every rung: transposed operands, sub-matrices, leading dimensions, batches
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local ladder = require "ladder"

t.keeps("Program", "Kernel")
local device = t.device()

local NAN = 0 / 0

-- `count` matrices of odd numbers, so that no product is 0 or -0.0, in one
-- buffer: each `gap` rows and columns from the edge of its frame, the frames
-- one below the other, NaN around.
-- {frame, first, stride, list}: the buffer, its first matrix, the elements
-- from one to the next, and all of them as host arrays.
local function framed(type, count, rows, cols, gap, seed)
  local height, ld = rows + 2 * gap, cols + 2 * gap
  local frame = cl.buffer(type, {count * height, ld}, NAN)
  local list = {}
  for i = 1, count do
    local n <close> = cl.array("int", rows * cols):random(seed + i, -4, 3)
    list[i] = cl.array(type, rows * cols, function(k)
      return 2 * n[k] + 1
    end):reshape{rows, cols}
    frame:sub((i - 1) * height + gap + 1, gap + 1, rows, cols):write(list[i])
  end
  return {frame = frame, first = frame:sub(gap + 1, gap + 1, rows, cols),
    stride = height * ld, list = list, count = count}
end

-- Matrix i, from 1, as a Buffer.
local function part(x, i)
  local first = x.first
  return first:matrix((i - 1) * x.stride + 1, first.rows, first.cols,
    first.ld)
end

-- The same as a double array, as it is multiplied.
local function plain(x, i, transposed)
  local h = x.list[x.count > 1 and i or 1]:convert("double")
  return transposed and host.transpose_loop(h) or h
end

local function count_nan(b)
  local h <close> = b:read()
  local count = 0
  for i = 1, #h do
    count = count + (h[i] ~= h[i] and 1 or 0)
  end
  return count
end

-- Operands of a case: m, n, k, gap, batch, trans_a, trans_b, share (the
-- operand that all products of the batch have).
local function operands(type, c)
  local function make(letter, rows, cols, transposed, seed)
    if transposed then
      rows, cols = cols, rows
    end
    return framed(type, c.share == letter and 1 or c.batch, rows, cols, c.gap,
      t.seed + seed)
  end
  local x = {A = make("A", c.m, c.k, c.trans_a, 0),
    B = make("B", c.k, c.n, c.trans_b, 20), C = make("C", c.m, c.n, false, 40)}
  local o = {trans_a = c.trans_a, trans_b = c.trans_b, batch = c.batch}
  for name, operand in pairs(x) do
    o[name] = operand.first
    o["stride_" .. name:lower()] = operand.count > 1 and operand.stride or 0
  end
  if c.batch == 1 then
    o.stride_c = nil
  end
  return x, o
end

-- A product by a rung (nil: the device's) and the exact result, twice: alone,
-- over NaN, and added to what C holds. Returns the reason where the device
-- refuses, which the call has to raise as well.
local function try(name, type, c)
  local what = ("%s %s %dx%dx%d gap=%d batch=%d%s%s share=%s"):format(name,
    type, c.m, c.n, c.k, c.gap, c.batch, c.trans_a and " A^T" or "",
    c.trans_b and " B^T" or "", c.share)
  local x, o = operands(type, c)
  local fine, reason = true, nil
  if name then
    fine, reason = gemm.check(name, nil, o)
  end
  local A, B = o.A, o.B
  o.A, o.B, o.kernel = nil, nil, name
  if not fine then
    t.raises(function() gemm(A, B, o) end, "refused: " .. reason)
    return reason
  end
  local outside = count_nan(x.C.frame)
  for _, scale in ipairs{{1, 0}, {2, -3}} do
    o.alpha, o.beta = scale[1], scale[2]
    for i = 1, o.beta == 0 and c.batch or 0 do
      part(x.C, i):fill(NAN)
    end
    gemm(A, B, o)
    for i = 1, c.batch do
      local exact = host.gemm_loop(plain(x.A, i, c.trans_a),
        plain(x.B, i, c.trans_b),
        {alpha = o.alpha, beta = o.beta, C0 = plain(x.C, i)}):convert(type)
      local got <close> = part(x.C, i):read()
      local same, at = got:equal(exact)
      t.ok(same, not same and ("%s: matrix %d, element %d is %s, not %s")
        :format(what, i, at, got[at], exact[at]))
      part(x.C, i):write(x.C.list[i])
    end
    t.eq(count_nan(x.C.frame), outside, what .. ": wrote beside the matrices")
  end
end

local CASES = {
  {m = 1, n = 1, k = 1, gap = 1, batch = 1},
  {m = 17, n = 33, k = 9, gap = 0, batch = 1, trans_a = true},
  {m = 17, n = 33, k = 9, gap = 0, batch = 1, trans_b = true},
  {m = 70, n = 35, k = 53, gap = 3, batch = 1, trans_a = true,
    trans_b = true},
  {m = 64, n = 64, k = 64, gap = 1, batch = 1},
  {m = 65, n = 127, k = 33, gap = 2, batch = 3},
  {m = 16, n = 16, k = 16, gap = 0, batch = 3, share = "A"},
  {m = 31, n = 30, k = 29, gap = 1, batch = 3, share = "B", trans_b = true},
  {m = 20, n = 9, k = 40, gap = 0, batch = 3, share = "B", trans_a = true},
}

-- A kernel that knows nothing of batches and views, as a user writes it.
gemm.define{
  name = "plain", lesson = "a kernel of one's own",
  range = function(s) return {s.n, s.m} end,
  source = [[
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
kernel void mine(int M, int N, int K, REAL alpha, global const REAL *A,
                 int lda, global const REAL *B, int ldb, REAL beta,
                 global REAL *C, int ldc)
{
  int j = get_global_id(0), i = get_global_id(1);
  REAL sum = 0;
  for (int k = 0; k < K; k++)
    sum += A[i * lda + k] * B[k * ldb + j];
  C[i * ldc + j] = alpha * sum + (beta != 0 ? beta * C[i * ldc + j] : 0);
}
]],
}

-- All cases with floats; each third with the other types, in turn.
for turn, item in ipairs(gemm.kernels()) do
  t.test(item.name .. ": transposed, parts, batches", function()
    local ran, reason = 0, nil
    for _, type in ipairs(ladder.types(device)) do
      for i, c in ipairs(CASES) do
        if type == "float" or (i + turn) % 3 == 0 then
          reason = try(item.name, type, c)
          ran = ran + (reason and 0 or 1)
          collectgarbage()
        end
      end
    end
    t.skip_if(ran == 0, reason)
  end)
end

t.test("parameters under which operands are changed beforehand", function()
  for _, tile in ipairs{8, 32} do
    gemm.choices{{rung = "tiled", params = {tile = tile, edge = "pad"}}}
    for _, c in ipairs(CASES) do
      try(nil, "float", c)
    end
  end
  gemm.choices "default"
end)

for _, item in ipairs(gemm.kernels()) do
  t.test(item.name .. ": random numbers within the bound", function()
    local ran, reason = 0, nil
    for _, type in ipairs(ladder.types(device)) do
      local function random(rows, cols)
        return cl.buffer(type, {3, rows, cols},
          cl.array(type, {3, rows, cols}):random(t.seed + rows, -1, 1))
      end
      local o = {A = random(70, 41), B = random(37, 70), C = random(41, 37),
        trans_a = true, trans_b = "T", alpha = 0.7, beta = -1.3}
      local fine, why = gemm.check(item.name, nil, o)
      reason = why or reason
      if fine then
        ran = ran + 1
        local r = gemm.verify(item.name, nil, o)
        t.ok(r.ok, ("%s: error %g, bound %g"):format(type, r.err, r.bound))
        t.ok(r.err > 0, "random numbers and no rounding at all?")
      end
    end
    t.skip_if(ran == 0, reason)
  end)
end

t.test("the forms that operands may have", function()
  local A = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}
  local B = {{1, 0}, {1, 1}}
  local C = gemm(A, B)
  t.eq(C.shape, {2, 2, 2})
  t.eq(C:read():table(), {{{3, 2}, {7, 4}}, {{11, 6}, {15, 8}}})
  t.eq(gemm(A, B, {trans_b = true}):read():table(),
    {{{1, 3}, {3, 7}}, {{5, 11}, {7, 15}}})
  t.eq(gemm(B, A, {trans_a = "t", trans_b = "N"}):read():table(),
    {{{4, 6}, {3, 4}}, {{12, 14}, {7, 8}}})
  t.eq(gemm(B, B, {batch = 1}).shape, {1, 2, 2})
  t.eq(gemm(B, B, {batch = 2}):read():table(),
    {{{1, 0}, {2, 1}}, {{1, 0}, {2, 1}}})
  t.eq(gemm(B, B, {trans_a = false, trans_b = "n"}).shape, {2, 2})
  t.eq(gemm(B, B, {trans_a = "C"}):read():table(), {{2, 1}, {1, 1}})
  -- overlapping inputs: windows of a band
  local band = cl.buffer("float", 6, {1, 2, 3, 4, 5, 6})
  t.eq(gemm(band:matrix(1, 1, 2), {{1}, {1}}, {batch = 5, stride_a = 1})
    :read():table(), {{{3}}, {{5}}, {{7}}, {{9}}, {{11}}})
end)

t.test("products within one matrix", function()
  local n, h = 9, 4 -- M22 = M22 - M21 M12, as in a factorisation
  local array = ladder.integers("float", {n, n}, t.seed)
  local M = cl.buffer("float", {n, n}, array)
  local M12, M21 = M:sub(1, h + 1, h, n - h), M:sub(h + 1, 1, n - h, h)
  gemm(M21, M12, {C = M:sub(h + 1, h + 1), alpha = -1, beta = 1})
  local got = M:read()
  for i = 1, n do
    for j = 1, n do
      local expected = array:at(i, j)
      for k = 1, i > h and j > h and h or 0 do
        expected = expected - array:at(i, k) * array:at(k, j)
      end
      t.eq(got:at(i, j), expected)
    end
  end
end)

t.test("operands that do not go together", function()
  local A, B = cl.buffer("float", {2, 3}, 1), cl.buffer("float", {3, 4}, 1)
  local A3 = cl.buffer("float", {5, 2, 3}, 1)
  local function refused(a, b, opts, ...)
    local words = {...}
    t.raises(function() gemm(a, b, opts) end, table.unpack(words))
  end
  refused(A, B, {trans_a = true}, "A is 2x3, transposed", "columns of A (2)")
  refused(A, B, {trans_b = "T"}, "B is 3x4, transposed", "rows of B (4)")
  refused(A, B, {trans_a = "X"}, "trans_a must be true, false", "got X")
  refused(A, B, {trans_b = 1}, "trans_b", "got 1")
  refused(A, B, {batch = 0}, "batch must be an integer >= 1; got 0")
  refused(A, B, {batch = 1.5}, "got 1.5")
  refused(A3, B, {batch = 4}, "A has 5 matrices, but batch is 4")
  refused(A3, cl.buffer("float", {3, 3, 4}), nil, "B has 3 matrices",
    "A has 5")
  refused(A3, B, {C = cl.buffer("float", {4, 2, 4})}, "C has 4", "A has 5")
  refused(A3, B, {C = cl.buffer("float", {2, 4})}, "share elements",
    "stride_c")
  refused(A, B, {batch = 2, stride_a = -1},
    "stride_a must be an integer >= 0; got -1")
  refused(A, B, {batch = 2, stride_a = 6}, "A: 2 matrices, 6 elements apart",
    "leave")
  -- 256 << 56 and 4 << 62 are 0 in 64 bits
  local S = cl.buffer("float", {2, 2}, 1)
  local far = {batch = 257, stride_a = 1 << 56, stride_b = 1 << 56,
    stride_c = 1 << 56, C = cl.buffer("float", {2, 2})}
  refused(S, S, far, "A: 257 matrices, 72057594037927936 elements apart",
    "leave its buffer: no address")
  far.stride_a, far.stride_b = 0, 0
  refused(S, S, far, "C: 257 matrices")
  refused(S, S, {batch = 5, stride_a = 1 << 62, stride_b = 0}, "A: 5 matrices")
  refused(S, S, {batch = 2, stride_a = math.maxinteger, stride_b = 0},
    "A: 2 matrices")
  t.eq(gemm.choice{m = 1 << 21, n = 1 << 21, k = 1 << 22}.rung,
    gemm.choice{m = 1 << 14, n = 1 << 14, k = 1 << 14}.rung)
  refused(A, B, {batch = 2, stride_c = 8}, "stride_c needs C")
  refused(A, B, {batch = 2, stride_c = 7, C = cl.buffer("float", {2, 2, 4})},
    "share elements", "7 apart")
  refused(A, B, {batch = 3, stride_c = 8,
    C = cl.buffer("float", 20):matrix(1, 2, 4)}, "C: 3 matrices", "leave")
  refused(cl.buffer("float", {2, 2, 2, 3}), B, nil, "A must be a matrix")
  t.raises(function() gemm.check("naive", nil, {m = 1, n = 1, k = 0}) end,
    "k must be an integer >= 1; got 0")
  refused({}, B, nil, "A must be a Buffer, an Array or a nested table")
  t.raises(function() cl.buffer("float", {-1, 3}) end,
    "must be a whole number >= 0")
  t.raises(function() gemm.choice{m = 1, n = 1, k = 1, batch = 0} end,
    "batch must be an integer >= 1; got 0")
  local M = cl.buffer("float", {8, 8}, 1)
  refused(M:sub(1, 1, 4, 4), M:sub(1, 5, 4, 4), {C = M:sub(4, 4, 4, 4)},
    "C must not share memory with A")
  refused(M:sub(1, 1, 2, 2), M:sub(1, 3, 2, 2), {batch = 2, stride_a = 16,
    stride_b = 0, C = M:sub(1, 3, 2, 2), stride_c = 16},
    "C must not share memory with B")
  gemm(M:sub(1, 1, 2, 2), M:sub(1, 3, 2, 2), {batch = 3, stride_a = 16,
    stride_b = 16, C = M:sub(1, 5, 2, 2), stride_c = 16})
  t.eq(M:sub(5, 5, 2, 2):read():table(), {{2, 2}, {2, 2}})
  t.eq(M:sub(7, 5, 2, 2):read():table(), {{1, 1}, {1, 1}})
end)

t.test("results beside each other in a row", function()
  local A = cl.buffer("float", {3, 2, 2}, function(i, j, k)
    return 100 * i + 10 * j + k
  end)
  local C = cl.buffer("float", {2, 6}, NAN)
  gemm(A, {{1, 0}, {0, 1}}, {C = C:sub(1, 1, 2, 2), stride_c = 2})
  t.eq(C:read():table(), {{111, 112, 211, 212, 311, 312},
    {121, 122, 221, 222, 321, 322}})
end)

t.test("a bench of it, checked, with its own title and sizes", function()
  local A = cl.buffer("float", {4, 40, 30},
    cl.array("float", {4, 40, 30}):random(t.seed))
  local B = cl.buffer("float", {50, 40},
    cl.array("float", {50, 40}):random(t.seed))
  local o = {A = A, B = B, trans_a = true, trans_b = true}
  local names = {"tiled", "plain_c", host.blas() and "openblas"}
  for _, name in ipairs(names) do
    local r = gemm.bench(name, nil, o, {effort = "quick", roof = false})
    t.ok(r.ok and r.gflops > 0, r.note)
    t.eq(r.title, "30x50x40 float A^T B^T x 4")
    t.eq({r.shape.trans_a, r.shape.batch, r.shape.stride_b}, {1, 4, 0})
    t.eq(r.flop, 2 * 30 * 50 * 40 * 4)
  end
  o.beta, o.C = 2, cl.buffer("float", {4, 30, 50}, 1)
  t.ok(gemm.bench("naive", nil, o, {effort = "quick", roof = false}).ok)
  t.eq(gemm.bench("tiled", nil, {A = {{1, 2}}, B = {{1}, {1}}},
    {effort = "quick", roof = false}).shape.batch, nil)
end)

t.done()

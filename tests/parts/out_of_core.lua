-- parts/out_of_core.lua - products by tiles and panels in little device
-- memory, from and to Arrays and files, against gemm
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local host = require "cl.host"
local ladder = require "ladder"
local npy = require "clshell.npy"
local out_of_core = require "clshell.parts.out_of_core"

t.keeps("Program", "Kernel")
local device = t.device()

-- Whole numbers, whose sums are exact.
local function whole(type, rows, cols, seed)
  local h = cl.array("int", {rows, cols}):random(t.seed + seed, -8, 8)
  return h:convert(type)
end

local function file(name, h)
  local path = t.tmp(name)
  npy.save(path, h)
  return path
end

local function equal(got, A, B, opts, message)
  local expected = gemm(A, B, opts):read()
  t.ok(got:equal(expected), message)
end

local SHAPES = {{1, 1, 1}, {1, 200, 3}, {130, 1, 70}, {67, 129, 65},
  {100, 53, 300}}

for _, type in ipairs(ladder.types(device)) do
  t.test(type .. ": the bits of gemm in any memory", function()
    for _, shape in ipairs(SHAPES) do
      local m, n, k = table.unpack(shape)
      local A, B = whole(type, m, k, 1), whole(type, k, n, 2)
      for _, memory in ipairs{12 << 10, 60 << 10, 8 << 20} do
        local C, run = gemm.out_of_core(A, B, {memory = memory})
        equal(C, A, B, {}, ("%dx%dx%d in %d"):format(m, n, k, memory))
        t.ok(run.ok)
        t.ok(run.up_bytes >= A:tobytes():len() + B:tobytes():len())
        t.eq(run.down_bytes, #C * cl.typesize(type))
      end
    end
  end)

  t.test(type .. ": transposed operands, alpha and beta", function()
    for form = 0, 3 do
      local ta, tb = form % 2 == 1, form > 1
      local A = ta and whole(type, 90, 67, 1) or whole(type, 67, 90, 1)
      local B = tb and whole(type, 75, 90, 2) or whole(type, 90, 75, 2)
      local C0 = whole(type, 67, 75, 3)
      local C = gemm.out_of_core(A, B, {C = C0:copy(), trans_a = ta,
        trans_b = tb and "T" or "N", alpha = 2, beta = -3,
        memory = 40 << 10})
      equal(C, A, B, {C = cl.buffer(type, {67, 75}, C0), trans_a = ta,
        trans_b = tb, alpha = 2, beta = -3}, "form " .. form)
    end
  end)

  t.test(type .. ": files in and out, C's and Fortran's order", function()
    local A, B = whole(type, 67, 90, 1), whole(type, 90, 75, 2)
    local a, b = file("a.npy", A), file("b.npy", B)
    local c = t.tmp "c.npy"
    local path, run = gemm.out_of_core(a, b, {C = c, memory = 40 << 10})
    t.eq(path, c)
    t.ok(run.ok)
    equal(npy.load(c), A, B)
    gemm.out_of_core(A, b, {C = c, beta = 1, memory = 40 << 10})
    equal(npy.load(c), A, B, {alpha = 2}, "added to a file")
    t.eq(io.open(c .. ".part"), nil)

    local fortran = t.tmp "f.npy"
    local f <close> = io.open(fortran, "wb")
    local text = ("{'descr': '<f%d', 'fortran_order': True, "
      .. "'shape': (90, 75)}"):format(cl.typesize(type))
    f:write("\x93NUMPY\1\0", string.pack("<s2", text))
    host.transpose_loop(B):writefile(f)
    f:close()
    equal(gemm.out_of_core(A, fortran, {memory = 40 << 10}), A, B)
  end)
end

t.test("a wrong result has no rate", function()
  gemm.define{name = "off_by_one", source = [[
    kernel void mm(int m, int n, int k, REAL alpha, global const REAL *A,
                   int lda, global const REAL *B, int ldb, REAL beta,
                   global REAL *C, int ldc) {
      C[get_global_id(1) * ldc + get_global_id(0)] = 1;
    }]], range = function(s) return {s.n, s.m} end}
  local A = whole("float", 40, 40, 1)
  local _, run = gemm.out_of_core(A, A, {kernel = "off_by_one",
    memory = 16 << 10})
  t.eq(run.ok, false)
  t.eq(run.gflops, nil)
  t.ok(tostring(run):find "WRONG")
end)

t.test("tiles fit the memory and cover the matrix", function()
  local function try(m, n, k, memory)
    local s = {m = m, n = n, k = k, esize = 4}
    local tile = out_of_core.tiles(s, memory, memory // 4)
    local several = tile.rows * tile.cols > 1 and 2 or 1
    t.ok((several * tile.m * tile.n + 2 * (tile.m + tile.n) * tile.k) * 4
      <= memory)
    t.ok(tile.m * tile.rows >= m and tile.m * (tile.rows - 1) < m)
    t.ok(tile.n * tile.cols >= n and tile.n * (tile.cols - 1) < n)
    t.ok(tile.k * tile.steps >= k and tile.k * (tile.steps - 1) < k)
    return tile
  end
  for _, s in ipairs{{65536, 65536, 65536}, {1, 1000000, 5}, {12345, 7, 99999},
      {200000, 200000, 1000}} do
    for _, memory in ipairs{1 << 20, 1 << 28, 16 << 30, 64 << 30} do
      try(s[1], s[2], s[3], memory)
    end
  end
  t.ok(try(65536, 65536, 65536, 64 << 30).m >= 16384)
end)

t.test("what is refused, and what a failure leaves", function()
  local A, B = whole("float", 8, 9, 1), whole("float", 9, 7, 2)
  local c = t.tmp "refused.npy"
  t.raises(function() gemm.out_of_core(A, A) end, "columns of A")
  t.raises(function()
    gemm.out_of_core(cl.array("float", {0, 3}), cl.array("float", {3, 2}))
  end, "a matrix has no elements")
  t.raises(function() gemm.out_of_core(A, cl.array("double", {9, 7})) end,
    "float")
  t.raises(function() gemm.out_of_core(A, {1}) end, "must be an Array")
  t.raises(function() gemm.out_of_core(A, cl.buffer("float", {9, 7})) end,
    "gemm(A, B)")
  t.raises(function() gemm.out_of_core(A, "/no/such.npy") end, "/no/such.npy")
  t.raises(function() gemm.out_of_core(A, B, {beta = 1}) end, "needs C")
  t.raises(function() gemm.out_of_core(A, B, {C = A}) end, "must not be")
  t.raises(function() gemm.out_of_core(A, B, {memory = 100}) end, "memory")
  t.raises(function() gemm.out_of_core(A, B, {tile = 4}) end, "tile")
  t.raises(function()
    gemm.out_of_core(A, B, {C = c, kernel = "no_such_rung"})
  end, "no_such_rung")
  t.eq(io.open(c), nil)
  t.eq(io.open(c .. ".part"), nil)
end)

t.done()

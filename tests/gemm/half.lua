-- gemm/half.lua - products of halves: C of halves or of floats, and the error
-- that sums in float may have
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local ladder = require "ladder"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel") -- those that gemm has built
t.device()

local function random(type, rows, cols, seed)
  return cl.buffer(type, {rows, cols},
    cl.array(type, {rows, cols}):random(seed, -1, 1))
end

-- Skips where no rung takes these operands, with its reason.
local function need(operands)
  local fine, reason = gemm.check("nv_hgemm", nil, operands)
  t.skip_if(not fine, reason)
end

t.test("C of floats: each size, transposed, with beta, in a batch", function()
  for i, size in ipairs{{128, 256, 64}, {1, 1, 1}, {130, 70, 33},
    {257, 259, 500}} do
    local m, n, k = table.unpack(size)
    for trans = 0, 3 do
      local a, b = trans % 2 == 1, trans > 1
      local operands = {A = random("half", a and k or m, a and m or k, i),
        B = random("half", b and n or k, b and k or n, i + 9),
        C = random("float", m, n, 5), beta = -0.5, trans_a = a, trans_b = b}
      need(operands)
      local v = gemm.verify("nv_hgemm", nil, operands)
      t.ok(v.ok, ("%dx%dx%d: error %.1e, bound %.1e"):format(m, n, k, v.err,
        v.bound))
    end
  end
end)

for _, item in ipairs{{"nv_hgemm", "half"}, {"nv_bgemm", "bfloat16"},
    {"nv_fp8", "float8_e4m3"}} do
  local name, type = table.unpack(item)
  t.test(name .. ": each tile and number of splits", function()
    ladder.each_value(gemm, name, {{m = 203, n = 328, k = 4100, type = type,
      out = type ~= "half" and "float" or nil, trans_b = type ~= "half"}})
  end)
end

t.test("alpha 0 scales a C of floats", function()
  local A, C = random("half", 8, 8, 1), cl.buffer("float", {8, 8}, 3)
  need{A = A, B = A, C = C}
  gemm(A, A, {C = C, alpha = 0, beta = 2, kernel = "nv_hgemm"})
  t.eq(C:read():at(8, 8), 6)
end)

t.test("types that do not go together are named", function()
  local A, C = random("float", 8, 8, 1), cl.buffer("double", {8, 8}, 0)
  t.raises(function() gemm(A, A, {C = C}) end, "A is float, but C is double")
  local H, F = random("half", 8, 8, 1), cl.buffer("float", {8, 8}, 0)
  local fine, reason = gemm.check("tiled", nil, {A = H, B = H, C = F})
  t.eq(fine, nil)
  t.ok(reason:find("no half", 1, true)
    or reason:find("operands' type, half; C is of float", 1, true), reason)
end)

t.test("sums in float have a bound that a lost term exceeds", function()
  for _, k in ipairs{1, 16, 1000, 8192} do
    local half = verify.bound_in_float("half", k)
    local float = verify.bound_in_float("float", k)
    t.ok(float < half and half < verify.bound("half", k), k)
    t.ok(half < 2^-11 + 1e-3 and float < 1.5e-4, k)
  end
end)

t.test("a subnormal result is rounded, not wrong", function()
  local host = require "cl.host"
  local A = cl.array("half", {1, 1}):fill(2^-10)
  local C = cl.array("half", {1, 1}):fill(1.25 * 2^-24 * 16)
  local B = cl.array("half", {1, 1}):fill(1.25 * 2^-10)
  local truth = host.gemm_truth(A, B)
  t.eq((truth:error(C)), 0)
  C:fill(2^-10)
  t.ok((truth:error(C)) > 1)
  truth:close()
end)

t.done()

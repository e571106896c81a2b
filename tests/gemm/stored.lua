-- gemm/stored.lua - products of bfloat16 and float8 on every device: types of
-- C, transposed operands, batches, edges, and their bounds
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local host = require "cl.host"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel", "Launch") -- those that are built once
t.device()

local function random(type, rows, cols, seed)
  local h <close> = cl.array(type, {rows, cols}):random(seed, -1, 1)
  return cl.buffer(type, {rows, cols}, h)
end

local PAIRS = {{"bfloat16", "bfloat16"}, {"bfloat16", "float"},
  {"float8_e4m3", "float"}, {"float8_e5m2", "float"},
  {"float8_e4m3", "bfloat16"}}

t.test("each pair of types, transposed, with alpha and beta", function()
  for i, types in ipairs(PAIRS) do
    local from, to = table.unpack(types)
    for _, kernel in ipairs{"naive", "tiled"} do
      for trans = 0, 3 do
        local a, b = trans % 2 == 1, trans > 1
        local m, n, k = 33, 18, 40
        local v = gemm.verify(kernel, nil, {
          A = random(from, a and k or m, a and m or k, i),
          B = random(from, b and n or k, b and k or n, i + 9),
          C = random(to, m, n, 5), alpha = 0.7, beta = -0.3,
          trans_a = a, trans_b = b})
        t.ok(v.ok, ("%s, %s to %s: error %.1e, bound %.1e"):format(kernel,
          from, to, v.err, v.bound))
      end
    end
  end
end)

t.test("a new C has the type of bfloat16, and floats of float8", function()
  local A, H = random("bfloat16", 5, 7, 1), random("bfloat16", 7, 3, 2)
  local C = gemm(A, H)
  t.eq(C.type, "bfloat16")
  local right = host.gemm_loop(A:read(), (H:read()))
  t.eq(right.type, "bfloat16")
  t.ok(C:read():max_diff(right) <= 2^-8 * 7)
  local E = random("float8_e5m2", 7, 7, 1)
  t.eq(gemm(E, E).type, "float")
  t.eq(host.gemm_loop(E:read(), (E:read())).type, "float")
end)

t.test("whole numbers give the exact product", function()
  local A, B = cl.array("float8_e4m3", {20, 30}), cl.array("float8_e4m3",
    {30, 17})
  A:random(t.seed, -4, 4)
  B:random(t.seed + 1, -4, 4)
  for i = 1, #A do
    A[i] = A[i] // 1
  end
  for i = 1, #B do
    B[i] = B[i] // 1
  end
  local C = gemm(A, B):read()
  for i = 1, 20 do
    local sum = 0
    for k = 1, 30 do
      sum = sum + A:at(i, k) * B:at(k, 17)
    end
    t.eq(C:at(i, 17), sum)
  end
end)

t.test("views, batches, alpha 0 and no terms", function()
  local A = random("bfloat16", 20, 20, 3)
  local C = gemm(A:sub(2, 3, 9, 8), A:sub(1, 2, 8, 5))
  local right = gemm(A:sub(2, 3, 9, 8):astype "float":eval(),
    A:sub(1, 2, 8, 5):astype "float":eval()):astype "bfloat16":eval()
  t.ok(C:read():max_diff(right:read()) <= 2^-7)
  local three = cl.buffer("float8_e4m3", {3, 4, 4}, 2)
  t.eq(gemm(three, three):read():at(3, 4, 4), 16.0)
  local S = cl.buffer("bfloat16", {4, 4}, 1.5)
  t.eq(gemm(S, S, {C = cl.buffer("bfloat16", {4, 4}, 1.5), alpha = 0,
    beta = 2}):read():at(4, 4), 3.0)
  for _, type in ipairs{"bfloat16", "float"} do
    t.eq(gemm(cl.buffer("bfloat16", {3, 0}), cl.buffer("bfloat16", {0, 3}),
      {C = cl.buffer(type, {3, 3}, 1.5), beta = 2}):read():at(3, 3), 3.0)
  end
  local v = gemm.verify("tiled", {edge = "pad"}, {A = A, B = A})
  t.ok(v.ok, v.err)
end)

t.test("types that do not go together are named", function()
  local A, H = random("bfloat16", 8, 8, 1), random("half", 8, 8, 1)
  local E, F = random("float8_e4m3", 8, 8, 1), random("float8_e5m2", 8, 8, 1)
  t.raises(function() gemm(A, H) end, "A is bfloat16, but B is half")
  t.raises(function() gemm(E, F) end, "A is float8_e4m3, but B is float8_e5m2")
  t.raises(function() gemm(A, A, {C = H}) end,
    "the type of C must be one of bfloat16, float; got")
  t.raises(function() gemm(E, E, {C = E}) end,
    "the type of C must be one of float, bfloat16; got")
  local fine, reason = gemm.check("register", nil, {A = A, B = A})
  t.eq({fine, reason}, {nil, "has no arithmetic of bfloat16"})
  fine, reason = gemm.check("tiled", {edge = "pad"}, {A = E, B = E})
  t.eq({fine, reason}, {nil, "edge = pad copies a C of the operands' type"})
  fine, reason = gemm.check("nv_fp8", nil, {A = A, B = A})
  t.eq(fine, nil)
  t.ok(reason:find "it takes float8_e4m3, float8_e5m2", reason)
end)

t.test("the bound is the type's own, and a lost term exceeds it", function()
  t.ok(verify.bound_in_float("bfloat16", 64) < 2^-8 + 1e-4)
  t.ok(verify.bound_in_float("float", 64) < 1e-5)
  local A, B = random("bfloat16", 8, 64, 1), random("bfloat16", 64, 8, 2)
  local C = gemm(A, B, {C = cl.buffer("float", {8, 8})}):read()
  local truth = verify.gemm(A:read(), B:read(), {m = 8, n = 8, k = 64,
    type = "bfloat16", out = "float", alpha = 1, beta = 0})
  local err, bound = truth(C)
  t.ok(err <= bound)
  C:set(3, 4, C:at(3, 4) - A:read():at(3, 9) * B:read():at(9, 4))
  err, bound = truth(C)
  t.ok(err > bound)
end)

t.done()

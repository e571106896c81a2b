-- char.lua - products of char with a result of int: every rung that takes
-- them, exactly, over shapes, transposed and placed operands, alpha and beta
-- that wrap around; and the mixes of types that no rung takes
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local gemm = require "clshell.gemm"
local t = require "t"

t.keeps("Program", "Kernel", "Launch")
t.device()

local function random(type, shape, seed)
  local least = type == "char" and -128 or -2^31 | 0
  return cl.buffer(type, shape, cl.array(type, shape):random(seed, least,
    -1 - least))
end

-- Operands of a product: `trans` of A and B, and views into larger matrices.
local function operands(m, n, k, trans_a, trans_b, placed)
  local function operand(type, rows, cols, turned, seed)
    if turned then
      rows, cols = cols, rows
    end
    if not placed then
      return random(type, {rows, cols}, seed)
    end
    return random(type, {rows + 1, cols + 3}, seed):sub(2, 2, rows, cols)
  end
  return {A = operand("char", m, k, trans_a, t.seed), trans_a = trans_a,
    B = operand("char", k, n, trans_b, t.seed + 1), trans_b = trans_b,
    C = operand("int", m, n, false, t.seed + 2), alpha = -70001, beta = 5}
end

local function exact(rung, o, what)
  local fine, reason = gemm.check(rung.name, nil, o)
  t.skip_if(not fine, reason)
  local r = gemm.verify(rung.name, nil, o)
  t.eq({r.ok, r.err, r.bound}, {true, 0.0, 0}, what)
end

for _, item in ipairs(gemm.kernels()) do
  local rung = item.rung
  if rung.whole then
    t.test(rung.name .. " of char is exact", function()
      local cases = {{1, 1, 1}, {17, 33, 5, true}, {20, 7, 130, false, true},
        {64, 64, 64}, {70, 21, 36, true, true, true}, {9, 40, 67, false,
        false, true}}
      for i, c in ipairs(cases) do
        exact(rung, operands(table.unpack(c, 1, 6)), "case " .. i)
      end
      exact(rung, {A = random("char", {3, 5, 12}, 1),
        B = random("char", {12, 6}, 2)}, "a batch that shares B")
    end)
  end
end

t.test("sums wrap around", function()
  local A = cl.buffer("char", {1, 140000}, -128)
  local C = gemm(A, A, {trans_b = true})
  t.eq({C.type, C:read():at(1, 1)}, {"int", 140000 * 16384 - (1 << 32)})
  t.eq(gemm(A, A, {trans_b = true, alpha = 0}):read():at(1, 1), 0)
  t.ok(gemm.verify(gemm.choice{A = A, B = A, trans_b = true}.rung, nil,
    {A = A, B = A, trans_b = true, alpha = 3}).ok)
end)

t.test("a Split of char gives a Split of int", function()
  local A = random("char", {40, 24}, 1)
  local B = random("char", {24, 9}, 2)
  local S = cl.split(A)
  local C = gemm(S, B)
  t.eq(C.type, "int")
  t.eq(C:read():equal((gemm(A, B):read())), true)
  C:close()
  S:close()
end)

t.test("a call takes a rung for char, which bench measures", function()
  local A = {{1, -2}, {3, 127}}
  A = cl.array("char", {2, 2}, A)
  local C = gemm(A, A)
  t.eq({C:read():at(1, 1), C:read():at(2, 2)}, {-5, 127 * 127 - 6})
  local big = gemm.choice{m = 64, n = 64, k = 64, type = "char"}
  t.ok(table.concat(big.definition.types, " "):find "char", big.rung)
  local r = bench("gemm.dot", 32, nil, {type = "char", effort = "quick"})
  t.eq({r.ok, r.type, r.err}, {true, "char", 0.0})
  t.ok(tostring(r):find(" GOPS", 1, true), tostring(r))
  t.ok(not tostring(r):find "FLOP", tostring(r))
end)

t.test("types that do not go together are named", function()
  local A, F = cl.buffer("char", {4, 4}, 1), cl.buffer("float", {4, 4}, 1)
  for message, f in pairs{
    ["A is char, but B is float"] = function() gemm(A, F) end,
    ["A is float, but B is char"] = function() gemm(F, A) end,
    ["the type of C must be int; got a 4x4 matrix of float"] = function()
      gemm(A, A, {C = F})
    end,
    ["A is float, but C is int"] = function()
      gemm(F, F, {C = cl.buffer("int", {4, 4})})
    end,
    ["alpha must be a whole number in the range of int; got 0.5"]
      = function() gemm(A, A, {alpha = 0.5}) end,
    ["beta must be a whole number in the range of int; got 4294967296"]
      = function()
        gemm(A, A, {beta = 1 << 32, C = cl.buffer("int", {4, 4})})
      end,
    ["register refused: has no arithmetic of char"] = function()
      gemm(A, A, {kernel = "register"})
    end,
    ["dot refused: has no arithmetic of float, it takes char"] = function()
      gemm(F, F, {kernel = "dot"})
    end,
    ["types must be a list of element types; got {flot}"] = function()
      gemm.define{name = "x", source = "", types = {"flot"},
        range = function() end}
    end,
    ["packs no operand"] = function() gemm.pack(A) end,
  } do
    t.raises(f, message)
  end
end)

t.done()

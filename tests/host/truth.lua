-- truth.lua - cl.host.gemm_truth: a product computed once, for many results
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local host = require "cl.host"

local function rand(name, m, n, seed)
  return cl.array(name, {m, n}):random(seed, -1, 1)
end

-- The results of a truth are those of the functions that compute it anew.
local function check(truth, C, A, B, o, what)
  t.eq({truth:error(C)}, {host.gemm_error(C, A, B, {alpha = o.alpha,
    beta = o.beta, C0 = o.C0, rows = o.rows})}, what)
  t.eq({truth:freivalds(C)}, {host.gemm_freivalds(C, A, B, {alpha = o.alpha,
    beta = o.beta, C0 = o.C0, seed = o.seed, rounds = o.rounds})}, what)
end

t.test("the figures of gemm_error and gemm_freivalds, bit for bit", function()
  local shapes = {{1, 1, 1}, {5, 7, 3}, {17, 300, 9}, {4, 1, 270},
    {33, 513, 65}}
  for i, s in ipairs(shapes) do
    local m, n, k = table.unpack(s)
    for _, name in ipairs{"half", "float", "double"} do
      local A, B = rand(name, m, k, t.seed + i), rand(name, k, n, t.seed + 9)
      local C0 = rand(name, m, n, t.seed + 20 + i)
      for _, o in ipairs{{rounds = 3}, {alpha = 0.3, rounds = 2},
          {rounds = 1, seed = 7, rows = {m, 1, m}},
          {alpha = -1.7, beta = 0.1, C0 = C0, rounds = 3},
          {alpha = 0, beta = 2, C0 = C0, rounds = 3}} do
        local what = ("%dx%dx%d %s"):format(m, n, k, name)
        local truth <close> = host.gemm_truth(A, B, o)
        local C = host.gemm_loop(A, B, {alpha = o.alpha, beta = o.beta,
          C0 = o.C0})
        check(truth, C, A, B, o, what)
        C:set(m, n, C:at(m, n) + 1)
        check(truth, C, A, B, o, what)
        check(truth, rand(name, m, n, t.seed), A, B, o, what)
        C:set((m + 1) // 2, 1, 0 / 0)
        check(truth, C, A, B, o, what)
      end
    end
  end
end)

t.test("sums of double have twice the digits", function()
  local big, near = 2.0^53, 1 + 2.0^-52
  local A = cl.array("double", {3, 4}, {{big, 1, -big, 2.0^-30},
    {near, -1, -2.0^-51, 0}, {1, math.huge, 1, 1}})
  local B = cl.array("double", {4, 2}, {{1, near}, {1, 1}, {1, 1}, {1, 0}})
  local C = cl.array("double", {3, 2}, {{1 + 2.0^-30, 3},
    {-2.0^-52, 2.0^-104}, {1, 1}})
  local truth <close> = host.gemm_truth(A, B, {rows = {1, 2}})
  t.eq({host.gemm_error(C, A, B, {rows = {1, 2}})}, {0.0, 1, 1})
  t.eq({truth:error(C)}, {0.0, 1, 1})
  C:set(2, 2, 0)
  local err, row, col = truth:error(C)
  t.eq({row, col}, {2, 2})
  t.ok(err > 0 and err < 2^-104)
  t.eq(host.gemm_error(C, A, B, {rows = {3}}), math.huge)
  C = host.gemm_loop(A, B, {alpha = 3})
  t.ok(host.gemm_error(C, A, B, {alpha = 3, rows = {1, 2}}) > 2^-56)
end)

t.test("an element is the sum in float64, in order", function()
  local m, n, k = 6, 9, 31
  local A, B = rand("float", m, k, t.seed), rand("float", k, n, t.seed + 1)
  local C = host.gemm_loop(A, B)
  local worst = -1
  for i = 1, m do
    for j = 1, n do
      local sum, scale = 0.0, 0.0
      for l = 1, k do
        sum = sum + A:at(i, l) * B:at(l, j)
        scale = scale + math.abs(A:at(i, l)) * math.abs(B:at(l, j))
      end
      worst = math.max(worst, math.abs(C:at(i, j) - sum) / scale)
    end
  end
  t.eq(host.gemm_truth(A, B):error(C), worst)
  t.eq(host.gemm_error(C, A, B), worst)
end)

t.test("a truth needs its operands no more, even closed", function()
  local o = {alpha = 2, beta = 0.5, rounds = 3,
    C0 = rand("float", 40, 50, t.seed)}
  local A, B = rand("float", 40, 30, t.seed), rand("float", 30, 50, t.seed)
  local C = host.gemm_loop(A, B, {alpha = 2, beta = 0.5, C0 = o.C0})
  local expected = {host.gemm_error(C, A, B, {alpha = 2, beta = 0.5,
    C0 = o.C0})}
  local truth = host.gemm_truth(A, B, o)
  A:close()
  B:close()
  o.C0:close()
  t.eq({truth:error(C)}, expected)
  t.ok(truth:freivalds(C) < 1e-5)
end)

t.test("the rows beyond those that are kept are computed anew", function()
  local m, n = 2053, 2048 -- 2048 rows of 2048 columns take 64 MiB
  local A, B = rand("float", m, 8, t.seed), rand("float", 8, n, t.seed + 1)
  local C = host.gemm_loop(A, B)
  local truth <close> = host.gemm_truth(A, B, {rounds = 1})
  for _, row in ipairs{m, 2049, 2048, 1} do
    C:set(row, 3, C:at(row, 3) + 4)
    t.eq({truth:error(C)}, {host.gemm_error(C, A, B)})
  end
  collectgarbage() -- the truth holds on to them
  A:close()
  t.raises(function() truth:error(C) end, "Array is closed")
  truth:freivalds(C)
  local one, wide = cl.array("half", {1, 1}, 1), rand("half", 1, 99, t.seed)
  local thin <close> = host.gemm_truth(one, wide) -- short sums are not kept
  t.eq({thin:error(wide)}, {0, 1, 1})
  wide:set(1, 99, 2)
  t.eq({thin:error(wide)}, {0, 1, 1})
  wide:close()
  t.raises(function() thin:error(cl.array("half", {1, 99}, 1)) end, "closed")
end)

t.test("the type of C: that of A, or the option", function()
  local A, B = rand("half", 4, 5, t.seed), rand("half", 5, 6, t.seed + 1)
  local C = host.gemm_loop(A:convert "float", B:convert "float",
    {alpha = 0.1})
  t.raises(function() host.gemm_truth(A, B):error(C) end,
    "C must be of half, the option type; got float")
  t.eq(host.gemm_truth(A, B, {alpha = 0.1, type = "float"}):error(C),
    host.gemm_error(C, A, B, {alpha = 0.1}))
end)

t.test("products of char are exact in int, which wraps around", function()
  local A = cl.array("char", {20, 300}):random(1, -128, 127)
  local B = cl.array("char", {300, 30}):random(2, -128, 127)
  local C0 = cl.array("int", {20, 30}):random(3, -2^31 | 0, 2^31 - 1 | 0)
  local right = cl.array("int", {20, 30})
  for i = 1, 20 do
    for j = 1, 30 do
      local sum = 0
      for k = 1, 300 do
        sum = sum + A:at(i, k) * B:at(k, j)
      end
      sum = -70000 * sum + 3 * C0:at(i, j) + 2^31 & 0xffffffff
      right[(i - 1) * 30 + j] = sum - 0x80000000
    end
  end
  local o = {alpha = -70000, beta = 3, C0 = C0, rounds = 3}
  local truth = host.gemm_truth(A, B, o)
  o.rounds = nil
  t.eq({truth:error(right), truth:freivalds(right),
    host.gemm_error(right, A, B, o)}, {0.0, 0.0, 0.0, 1, 1})
  right[65] = right[65] + 2
  t.eq({truth:error(right)}, {2.0, 3, 5})
  t.eq({truth:freivalds(right)}, {2.0, 3})
  t.raises(function() host.gemm_loop(A, B) end, "got char")
end)

t.test("a truth closes once, and misuse says so", function()
  local A, B = rand("float", 2, 3, 1), rand("float", 3, 4, 2)
  local C = host.gemm_loop(A, B)
  local truth = host.gemm_truth(A, B)
  t.raises(function() truth:freivalds(C) end, "no rounds",
    "give gemm_truth the option rounds")
  t.raises(function() truth:error(A) end, "C is 2 x 3, the product is 2 x 4")
  t.raises(function() truth:error() end, "must be an Array; got nothing")
  C:close()
  t.raises(function() truth:error(C) end, "this Array is closed")
  truth:close()
  truth:close()
  t.ok(truth.closed)
  t.raises(function() truth:error(C) end, "this Truth is closed")
  for message, o in pairs{["option rounds in 0..1000"] = {rounds = 1001},
      ["row 3 of 2"] = {rows = {3}}, ["at least one row"] = {rows = {}},
      ["half, bfloat16, float, double, int"] = {type = "long"},
      ["go with int C"] = {type = "int"},
      ["option seed"] = {seed = 1e17},
      ["so C0 is needed"] = {beta = 1}, ["alphaa"] = {alphaa = 1}} do
    t.raises(function() host.gemm_truth(A, B, o) end, message)
  end
  t.raises(function() host.gemm_truth(A, A) end, "A is 2 x 3")
  t.raises(function() host.gemm_truth(A) end, "must be an Array")
  B:close()
  t.raises(function() host.gemm_truth(A, B) end, "closed")
end)

t.done()

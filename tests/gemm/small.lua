-- gemm/small.lua - batches of small products: each parameter of their rungs
-- on shapes that fit no vector and no group, and when they are chosen
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local ladder = require "ladder"

t.keeps("Program", "Kernel")
local device = t.device()

-- {m, n, k, batch}: vectors and none, last groups with one product
local SHAPES = {{4, 4, 4, 130}, {16, 16, 16, 9}, {8, 16, 4, 17},
  {5, 7, 3, 65}, {17, 17, 17, 6}, {6, 2, 10, 33}, {33, 40, 12, 3},
  {1, 1, 64, 5}, {64, 3, 1, 3}}

-- Operands of whole numbers and their exact products, added to twice C.
local function case(type, shape, trans_a, trans_b, seed)
  local m, n, k, batch = table.unpack(shape)
  local A = ladder.integers(type, trans_a and {batch, k, m} or {batch, m, k},
    seed)
  local B = ladder.integers(type, trans_b and {batch, n, k} or {batch, k, n},
    seed + 1)
  local C = ladder.integers(type, {batch, m, n}, seed + 2)
  local o = {A = cl.buffer(type, A.shape, A), B = cl.buffer(type, B.shape, B),
    C = cl.buffer(type, C.shape, C), trans_a = trans_a, trans_b = trans_b,
    alpha = 3, beta = 2}
  local exact = {}
  for i = 1, batch do
    local function plain(X, transposed)
      local rows, cols = table.unpack(X.shape, 2)
      local h = X:matrix((i - 1) * rows * cols + 1, rows, cols):read()
        :convert "double"
      return transposed and host.transpose_loop(h) or h
    end
    exact[i] = host.gemm_loop(plain(o.A, trans_a), plain(o.B, trans_b),
      {alpha = 3, beta = 2, C0 = plain(o.C)}):convert(type)
  end
  return o, C, exact
end

-- Runs a rung on a case. Returns the reason where the device refuses.
local function try(name, p, o, C0, exact, what)
  local fine, reason = gemm.check(name, p, o)
  if not fine then
    return reason
  end
  o.C:write(C0)
  local plan = gemm.plan_for(name, p, o)
  plan():wait()
  for i, truth in ipairs(exact) do
    local got = o.C:matrix((i - 1) * #truth + 1, table.unpack(truth.shape))
      :read()
    local same, at = got:equal(truth)
    t.ok(same, not same and ("%s: product %d, element %d is %s, not %s")
      :format(what, i, at, got[at], truth[at]))
  end
end

for _, name in ipairs{"small", "small_simd"} do
  local types = ladder.types(device)
  for part, type in ipairs(types) do
    t.test(("%s %s, each parameter"):format(name, type), function()
      local turn = 0
      ladder.try(gemm.rung(name), t.seed, function(p)
        local reason
        for _ = 1, 2 do -- a shape and a form of operands after the other
          turn = turn + 1
          local shape = SHAPES[turn % #SHAPES + 1]
          local o, C, exact = case(type, shape, turn % 2 == 0, turn % 3 == 0,
            t.seed + turn)
          reason = try(name, p, o, C, exact, ("%s of %s"):format(
            table.concat(shape, "x"), type)) or reason
        end
        return reason
      end, part, #types)
    end)
  end
  t.test(name .. " on all shapes and forms", function()
    for i, shape in ipairs(SHAPES) do -- each is a build: a form for each
      local form = (i + t.seed) % 4
      local o, C, exact = case("float", shape, form % 2 == 1, form > 1,
        t.seed + i)
      local reason = try(name, {vector = name == "small_simd" and 32 or nil},
        o, C, exact, ("%s, form %d"):format(table.concat(shape, "x"), form))
      t.skip_if(reason, reason)
    end
  end)
  t.test(name .. " says what is too large", function()
    local fine, reason = gemm.check(name, nil, {65, 8, 8})
    t.eq(fine, nil)
    t.ok(reason:find("at most 64 x 64 x 64; m = 65", 1, true), reason)
  end)
end

t.test("a batch is one launch, whatever its size", function()
  local A = cl.buffer("float", {70000, 2, 2}, 1) -- more than 65535 groups
  local name = device.type == "cpu" and "small_simd" or "small"
  local plan = gemm.plan(A, A)
  t.eq(plan.rung.name, name)
  t.eq(#plan.commands, 1)
  plan():wait()
  local got, wrong = plan.output:read(), 0
  for i = 1, #got do
    wrong = wrong + (got[i] ~= 2 and 1 or 0)
  end
  t.eq(wrong, 0)
end)

t.test("when they are chosen", function()
  local function chosen(s)
    return gemm.choice(s).rung:find "^small" ~= nil
  end
  t.ok(chosen{m = 16, n = 16, k = 16, batch = 10000})
  t.ok(chosen{m = 64, n = 1, k = 33, batch = 64})
  t.ok(not chosen{m = 16, n = 16, k = 16, batch = 63})
  t.ok(not chosen{m = 65, n = 16, k = 16, batch = 10000})
  t.ok(not chosen{m = 16, n = 16, k = 16})
end)

t.done()

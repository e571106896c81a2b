-- gemm/pack.lua - operands packed once: the same bits as without, refusals,
-- lifetime, and the places that take operands
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local help = require "clshell.help"
local ladder = require "ladder"

t.keeps("Program", "Kernel")
local device = t.device()

local function random(type, rows, cols, seed)
  return cl.buffer(type, {rows, cols},
    cl.array(type, {rows, cols}):random(t.seed + seed, -1, 1))
end

-- The rungs that pack and run here, in a type.
local function packers(type)
  local list = {}
  for _, item in ipairs(gemm.kernels()) do
    if item.rung.pack and gemm.check(item.name, nil,
        {m = 100, n = 100, k = 100, type = type}) then
      list[#list + 1] = item.name
    end
  end
  return list
end

local SHAPES = {{1, 1, 1}, {7, 7, 7}, {33, 65, 129}, {100, 17, 300},
  {3, 129, 1}, {128, 128, 128}}

for _, type in ipairs(ladder.types(device)) do
  t.test(type .. ": the same bits as the Buffer gives", function()
    local names = packers(type)
    t.skip_if(#names == 0, "no rung that packs runs on this device")
    for _, name in ipairs(names) do
      for _, shape in ipairs(SHAPES) do
        local m, n, k = table.unpack(shape)
        for form = 0, 3 do
          local trans_a, trans_b = form % 2 == 1, form > 1
          local A = trans_a and random(type, k, m, 1) or random(type, m, k, 1)
          local B = trans_b and random(type, n, k, 2) or random(type, k, n, 2)
          local expected = gemm(A, B, {kernel = name, trans_a = trans_a,
            trans_b = trans_b, alpha = 0.7}):read()
          local a = gemm.pack(A, {side = "a", kernel = name, trans = trans_a})
          local b = gemm.pack(B, {kernel = name, trans = trans_b})
          for i, pair in ipairs{{A, b}, {a, B}, {a, b}} do
            local got = gemm(pair[1], pair[2], {alpha = 0.7,
              trans_a = i == 1 and trans_a or nil,
              trans_b = i == 2 and trans_b or nil}):read()
            t.ok(got:equal(expected), ("%s %s, form %d, pair %d"):format(name,
              table.concat(shape, "x"), form, i))
          end
          a:close()
          b:close()
        end
      end
    end
  end)
end

-- A rung that packs, whatever the device: it doubles B.
gemm.define{
  name = "twice", lesson = "B packed as 2 B",
  range = function(s) return {s.n, s.m} end,
  params = {{name = "by", values = {2, 3}, default = 2, help = "factor"}},
  prepare = function(s, p, o, run)
    local ready = s.ready and s.ready.b
    return {B = (ready or gemm.rung "twice".pack(s, p, "b", o.B, run)).data}
  end,
  pack = function(s, p, _, X, run)
    local Y = cl.buffer(s.type, {s.k, s.n}, nil, {context = s.context})
    run("scale.cl", "scale", {REAL = s.type}, {s.n, s.k}, nil, s.k, s.n, 0, Y,
      s.n)
    run("pad.cl", "unpad", {REAL = s.type}, {s.n, s.k}, nil, s.k, s.n, X,
      X.ld, Y, s.n)
    return {data = Y, by = p.by}, function()
      return X:read()[1] == 13 and "13 is unlucky" or nil
    end
  end,
  source = [[
kernel void mine(int M, int N, int K, REAL alpha, global const REAL *A,
                 int lda, global const REAL *B, int ldb, REAL beta,
                 global REAL *C, int ldc)
{
  int j = get_global_id(0), i = get_global_id(1);
  REAL sum = 0;
  for (int k = 0; k < K; k++)
    sum += A[i * lda + k] * B[k * N + j];
  C[i * ldc + j] = alpha * sum + (beta != 0 ? beta * C[i * ldc + j] : 0);
}
]],
}

local A, B = random("float", 20, 30, 5), random("float", 30, 40, 6)
local P = gemm.pack(B, {kernel = "twice"})

t.test("what it says", function()
  t.eq({P.kernel, P.params.by, P.side, P.trans, P.type, P.closed},
    {"twice", 2, "b", false, "float", false})
  t.eq(P.bytes, 2 * 30 * 40 * 4)
  t.eq(tostring(P), "packed B: 30x40 float, for twice by=2, 9600 bytes")
  t.ok(help.text "gemm.pack":find("keeps a copy of the matrix", 1, true))
  t.ok(help.text "gemm.pack":find("side", 1, true))
end)

t.test("plan, verify, bench and the cache of calls take it", function()
  local expected = gemm(A, B, {kernel = "twice"}):read()
  local first, second = gemm(A, P), gemm(A, P)
  t.ok(first:read():equal(expected) and second:read():equal(expected))
  t.ok(first ~= second)
  local plan = gemm.plan(A, P)
  t.eq({plan.rung.name, #plan.commands}, {"twice", 1})
  plan():wait()
  t.ok(plan.output:read():equal(expected))
  t.ok(gemm.verify("twice", {A = A, B = P}).ok)
  for _, cache in ipairs{"hot", "cold"} do
    local r = gemm.bench("twice", {A = A, B = P}, {seconds = 0.02,
      roof = false, cache = cache})
    t.eq({r.status, r.title, r.shape.packed_b}, {"ok",
      "20x40x30 float packed B", 1})
  end
  local r = gemm.bench("naive", {A = A, B = P}, {seconds = 0.02})
  t.eq(r.status, "refused")
  t.ok(r.error:find("packed for twice", 1, true), r.error)
end)

t.test("batches share it", function()
  local many = cl.buffer("float", {3, 20, 30},
    cl.array("float", {3, 20, 30}):random(t.seed))
  for _, name in ipairs{"twice", packers("float")[1]} do
    local p <close> = gemm.pack(B, {kernel = name})
    t.ok(gemm(many, p):read():equal(gemm(many, B, {kernel = name}):read()))
    t.ok(gemm(A:sub(2, 3, 9, 7), gemm.pack(B:sub(3, 2, 7, 5),
      {kernel = name})):read():equal(gemm(A:sub(2, 3, 9, 7),
        B:sub(3, 2, 7, 5), {kernel = name}):read()))
  end
end)

t.test("it keeps what the Buffer held", function()
  local own = cl.buffer("float", {30, 40}, B:read())
  local p <close> = gemm.pack(own, {kernel = "twice"})
  local before = gemm(A, p):read()
  own:fill(0 / 0)
  t.ok(gemm(A, p):read():equal(before))
  t.ok(gemm.verify("twice", {A = A, B = p}).ok)
end)

t.test("refusals", function()
  local refused = ladder.raises(gemm)
  refused("A was packed as B", P, B)
  refused("naive refused: B is packed for twice by=2", A, P,
    {kernel = "naive"})
  refused("the call has by=3", A, P, {kernel = "twice", by = 3})
  refused("trans_b is true, but B was packed with trans = false", A, P,
    {trans_b = true})
  refused("the columns of A (29) are not the rows of B (30)",
    random("float", 4, 29, 1), P)
  refused("pack both for the same", gemm.pack(A, {side = "a",
    kernel = "twice", by = 3}), P)
  if device:has "cl_khr_fp64" then
    refused("A is double, but B is float", random("double", 4, 30, 1), P)
  end
  local pack = ladder.raises(gemm.pack)
  pack("naive, the kernel of a product of 50x40x30", B, {kernel = "naive",
    m = 50, side = "b", trans = false})
  pack("no kernel 'nix'", B, {kernel = "nix"})
  pack("unknown option 'by'", B, {by = 3})
  pack("by must be one of 2, 3; got 4", B, {kernel = "twice", by = 4})
  pack('side must be "a" or "b"; got 1', B, {side = 1})
  pack("trans must be true, false", B, {trans = "X"})
  pack("m must be an integer >= 1; got 0", B, {m = 0})
  pack("n is a size of B itself; give m", B, {n = 3})
  pack("B must be a Buffer", nil)
  pack("A must be a matrix", cl.buffer("float", {2, 3, 4}), {side = "a"})
  pack("options must be a table; got 3", B, 3)
  pack("twice refused: 13 is unlucky", cl.buffer("float", {2, 2}, 13),
    {kernel = "twice"})
  local fine, reason = gemm.check("naive", {A = A, B = P})
  t.ok(not fine and reason:find("packed for twice", 1, true), reason)
  t.eq(gemm.check("twice", {A = A, B = P}), true)
  t.raises(function() gemm.choice{A = A, B = P} end, "packed for twice")
end)

t.test("its end", function()
  local p = gemm.pack(B, {kernel = "twice"})
  gemm(A, p)
  local plan = gemm.plan(A, p)
  p:close()
  p:close()
  t.eq({p.closed, tostring(p)}, {true, "packed B (closed)"})
  t.raises(function() gemm(A, p) end, "B is closed")
  t.raises(function() plan() end, "closed")
  t.raises(function() gemm.verify("twice", {A = A, B = p}) end, "closed")
end)

P:close()
P, A, B = nil, nil, nil
t.done()

-- gemm.lua - the GEMM ladder: every rung over shapes, parameters and types,
-- bitwise on whole numbers, within the bound on random ones
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local ladder = require "ladder"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local SHAPES = {{1, 1, 1}, {7, 7, 7}, {16, 16, 16}, {17, 17, 17},
  {33, 33, 33}, {64, 64, 64}, {100, 100, 100}, {127, 65, 33}, {1, 50, 3},
  {50, 1, 9}}

-- A product of whole numbers and its exact result; gap > 0: leading
-- dimensions beyond the columns, and alpha and beta in use.
local function case(type, m, n, k, gap)
  local A = ladder.integers(type, {m, k}, t.seed)
  local B = ladder.integers(type, {k, n}, t.seed + 1)
  local C0 = ladder.integers(type, {m, n}, t.seed + 2)
  local opts = gap > 0 and {alpha = 2, beta = -3} or {}
  local exact = host.gemm_loop(A:convert("double"), B:convert("double"), {
    alpha = opts.alpha, beta = opts.beta,
    C0 = gap > 0 and C0:convert("double") or nil,
  })
  return {
    name = ("%s %dx%dx%d%s"):format(type, m, n, k, gap > 0 and " ld" or ""),
    A = ladder.matrix(A, gap), B = ladder.matrix(B, gap > 0 and gap + 1 or 0),
    C = ladder.matrix(C0, gap), C0 = C0, opts = opts,
    exact = exact:convert(type),
  }
end

local cases = {}
for _, type in ipairs(ladder.types(device, {half = true})) do
  cases[type] = {}
  for _, shape in ipairs(SHAPES) do
    table.insert(cases[type], case(type, shape[1], shape[2], shape[3], 0))
  end
  for _, shape in ipairs{{33, 33, 33}, {64, 64, 64}, {127, 65, 33}} do
    table.insert(cases[type], case(type, shape[1], shape[2], shape[3], 4))
  end
end

-- One configuration over all the cases of a type. Returns the reason where
-- the device refuses, which the call has to raise as well.
local function try(rung, p, type)
  for _, c in ipairs(cases[type]) do
    local what = c.name
    for name, value in pairs(p) do
      what = ("%s %s=%s"):format(what, name, value)
    end
    local opts = {kernel = rung.name, C = c.C, alpha = c.opts.alpha,
      beta = c.opts.beta}
    for name, value in pairs(p) do
      opts[name] = value
    end
    local fine, reason = gemm.check(rung.name, p, {A = c.A, B = c.B})
    if not fine then
      t.raises(function() gemm(c.A, c.B, opts) end, "refused: " .. reason)
      return reason
    end
    c.C:fill(0 / 0)
    if c.opts.beta then
      c.C:write(c.C0)
    end
    gemm(c.A, c.B, opts)
    local got <close> = c.C:read()
    local same, at = got:equal(c.exact)
    t.ok(same, not same and ("%s: element %d is %s, not %s"):format(what, at,
      got[at], c.exact[at]))
    t.ok(ladder.gaps_kept(c.C), what .. ": wrote beside the matrix")
  end
end

for _, item in ipairs(gemm.kernels()) do
  local own = item.rung.places == "all" -- those of small.lua
  local types = not own and ladder.types(device, item.rung) or {}
  for i, type in ipairs(types) do
    t.test(("%s %s, whole numbers"):format(item.name, type), function()
      ladder.try(item.rung, t.seed, function(p)
        return try(item.rung, p, type)
      end, i, #types)
    end)
  end
end

for _, item in ipairs(gemm.kernels()) do
  t.test(item.name .. ", random numbers within the bound", function()
    local ran, reason = 0, nil
    for _, type in ipairs(ladder.types(device, item.rung)) do
      for _, n in ipairs(item.rung.ptx and {64, 150, 2500} or {64, 150}) do
        local columns = n > 1000 and 2300 or 77 -- more tiles than work-groups
        local function random(rows, cols, seed)
          return cl.buffer(type, {rows, cols},
            cl.array(type, {rows, cols}):random(seed, -1, 1))
        end
        local depth = math.min(2 * n, 300)
        local o = {A = random(n, depth, t.seed), B = random(depth, columns, 5),
          alpha = 0.7}
        local fine, why = gemm.check(item.name, nil, o)
        reason = why or reason
        if fine then
          ran = ran + 1
          local r = gemm.verify(item.name, nil, o)
          t.ok(r.ok, ("%s %d: error %g, bound %g"):format(type, n, r.err,
            r.bound))
          t.ok(r.err > 0, "random numbers and no rounding at all?")
          o.C = cl.buffer(type, {n, columns},
            cl.array(type, {n, columns}):random(3))
          o.beta = -1.3
          r = gemm.verify(item.name, nil, o)
          t.ok(r.ok, ("%s %d beta: error %g, bound %g"):format(type, n,
            r.err, r.bound))
        end
      end
    end
    t.skip_if(ran == 0, reason)
  end)
end

t.test("operands without elements", function()
  local function matrix_of(...)
    return cl.buffer("float", {...})
  end
  t.eq({gemm(matrix_of(0, 3), matrix_of(3, 4)).shape,
    gemm(matrix_of(2, 3), matrix_of(3, 0)).shape,
    gemm(matrix_of(0, 2, 3), matrix_of(3, 3)).shape,
    gemm(matrix_of(0, 3), matrix_of(0, 4), {trans_a = true}):sum()},
    {{0, 4}, {2, 0}, {0, 2, 3}, 0.0})
  local C = cl.buffer("float", {2, 3}, 4)
  gemm(matrix_of(2, 0), matrix_of(0, 3), {beta = 2, C = C})
  t.eq(C:sum(), 48.0, "k = 0: C = beta C")
  t.eq(gemm(matrix_of(5, 2, 0), matrix_of(5, 0, 3)):sum(), 0.0)
  local A, B, D = matrix_of(0, 3), matrix_of(3, 4), matrix_of(0, 4)
  for _ = 1, 3 do
    t.eq(select(2, gemm(A, B, {C = D})):wait().status, "complete")
  end
  t.raises(function() gemm(matrix_of(0, 3), matrix_of(2, 4)) end, "not the "
    .. "rows of B")
  for _, f in ipairs{gemm.plan, function(...)
      return gemm.choice{A = ..., B = select(2, ...)}
    end} do
    t.raises(function() f(A, B) end, "gemm: A has no elements")
  end
  local gemv, reduce = require "clshell.ladders.gemv",
    require "clshell.ladders.reduce"
  local y = cl.buffer("float", 2, 3)
  t.eq({gemv(matrix_of(2, 0), matrix_of(0), {beta = 2, y = y}):sum(),
    gemv(matrix_of(2, 0), matrix_of(0)):sum(), reduce(matrix_of(0)):read()[1]},
    {12.0, 0.0, 0.0})
  t.raises(function() reduce(matrix_of(0), {op = "min"}) end, "no least one")
end)

t.test("a lost term is found, by every check", function()
  for _, shape in ipairs{{200, 200, 200}, {600, 600, 600}} do
    local m, n, k = table.unpack(shape)
    local verify = require "clshell.ladder.verify"
    local A = cl.array("float", {m, k}):random(1)
    local B = cl.array("float", {k, n}):random(2)
    local s = {m = m, n = n, k = k, type = "float", alpha = 1, beta = 0}
    local truth = verify.gemm(A, B, s)
    local C = host.gemm_loop(A, B, {})
    local r = verify.judge(C, truth)
    t.ok(r.ok, ("%g > %g"):format(r.err, r.bound))
    t.eq(r.mode ~= "all elements", m * n * k > verify.FULL)
    C:set(m, n, C:at(m, n) - A:at(m, k) * B:at(k, n) - 0.1)
    t.ok(not verify.judge(C, truth).ok)
    C:set(m, n, 0 / 0)
    t.eq(verify.judge(C, truth).err, math.huge)
  end
end)

t.test("the bound", function()
  local bound = require("clshell.ladder.verify").bound
  local u = 2^-24
  t.near(bound("float", 1) / u, 4, 1e-6) -- short sums: gamma
  t.ok(bound("float", 10000) < 10000 * u)
  t.ok(bound("double", 100) < 100 * 2.0^-52)
  -- one lost term of uniform numbers is visible up to sizes in use
  t.ok(bound("float", 8192) < 1 / 8192)
end)

t.done()

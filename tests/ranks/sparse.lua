-- ranks/sparse.lua - vectors and matrices in strips on 1 to 4 processes, and a
-- conjugate gradient over them, against one process; the transpose
-- SPDX-License-Identifier: MIT

local t = require "t"
local on = require "ranks.parts".on
local ranks = require "ranks"
local scratch = require "scratch"

t.device()

-- Each of these functions works on all the ranks there are, or on the first
-- of them in a call of ranks.among.
local WORKS = [[
  -- products with matrices by diagonals
  local function by_diagonals(type)
    local function try(name, A, D)
      local x = whole(type, D.rows, 1)
      local y = ranks.spmv(A, A:vector(x))
      local got = y:gather()
      check(not got or got:equal(spmv(D, cl.buffer(type, D.rows, x))
        :read()), name, type)
    end
    for _, s in ipairs{{1, 1}, {2, 1}, {40, 3}, {37, 190}, {5, 2600}} do
      local nx, ny = s[1], s[2]
      try(nx .. "x" .. ny, ranks.poisson2d(nx, ny, {type = type}),
        dia.poisson2d(nx, ny, {type = type}))
    end
    try("3-D", ranks.poisson3d(9, 5, 11, {type = type}),
      dia.poisson3d(9, 5, 11, {type = type}))
    for _, rows in ipairs{3, 50, 9000} do
      local offsets = rows == 3 and {-2, 1} or {-rows // 2, -3, 4, 7}
      local D = dia.banded(rows, offsets, {type = type, seed = 2})
      local A = ranks.dia(D)
      local x = whole(type, rows, 1)
      local got = ranks.spmv(A, A:vector(x)):gather()
      local want = got and spmv(D, cl.buffer(type, rows, x)):read()
      check(not got or got:max_diff(want) < 1e-4, "banded", rows)
    end
  end
  local function vectors(type, n)
    for _, count in ipairs{1, 3, 5000} do
      local a, b = whole(type, count, 1), whole(type, count, 2)
      local x, y = ranks.vector(count, a), ranks.vector(count, b)
      check(x:dot(y) == a:dot(b), "dot", count)
      check(math.abs(x:norm() - a:nrm2()) < 1e-3 * (1 + a:nrm2()), "norm")
      local z = x:clone():axpy(2, y):aypx(-3, x) -- x - 3 (x + 2 y)
      local got = z:gather(n - 1)
      check((got ~= nil) == (rank == n - 1))
      for i = 1, got and count or 0 do
        check(got[i] == -2 * a[i] - 6 * b[i], "axpy", i)
      end
      local f = ranks.vector(count, function(i) return i end,
        {type = type})
      check(f:dot(ranks.vector(count, 1, {type = type}))
        == count * (count + 1) // 2, "function")
    end
  end
  -- the transpose, every bit
  local function transposes(type)
    for _, s in ipairs{{1, 1}, {1, 9}, {3, 2}, {67, 130}} do
      local rows, cols = s[1], s[2]
      local h = cl.array(type, {rows, cols}):random(7)
      local got = ranks.transpose(ranks.matrix(rows, cols, h)):gather()
      check(not got or got:equal(transpose(cl.buffer(type, {rows, cols},
        h)):read()), rows, cols)
    end
  end
]]

for _, name in ipairs{"by_diagonals", "vectors", "transposes"} do
  t.test("1 to 4 ranks: " .. name:gsub("_", " "), function()
    -- the first n of 4 ranks: each process builds its kernels once
    on(4, ([[%s
      each(function(type)
        for n = 1, 4 do
          ranks.among(n, %s, type, n)
        end
      end)]]):format(WORKS, name))
  end)
end

t.test("all 1, 2 or 3 ranks there are", function()
  for n = 1, 3 do
    on(n, WORKS .. [[
      by_diagonals "float"
      vectors("float", size)
      transposes "float"]])
  end
end)

t.test("conjugate gradient finds the solution", function()
  on(3, [[
    local A = ranks.poisson2d(20, 70)
    local ones = A:vector(1)
    local b = ranks.spmv(A, ones)
    local x, r = A:vector(0), b:clone()
    local p, q, rr = r:clone(), A:vector(), r:dot(r)
    local goal, steps = 1e-10 * rr, 0
    while rr > goal and steps < 500 do
      ranks.spmv(A, p, q)
      local alpha = rr / p:dot(q)
      x:axpy(alpha, p)
      r:axpy(-alpha, q)
      local before = rr
      rr = r:dot(r)
      p:aypx(rr / before, r)
      steps = steps + 1
    end
    check(steps > 10 and steps < 500, steps)
    check(x:axpy(-1, ones):norm() < 1e-2, x:norm())]])
end)

t.test("cg_ranks.lua: a small run", function()
  ranks.need()
  local out, err, code = scratch.sh(ranks.command(2, "cg_ranks.lua 24"))
  t.eq(code, 0, err)
  t.ok(out:find "Poisson, 576 unknowns on 2 ranks: %d+ steps", out)
end)

t.test("what does not go together is refused", function()
  on(2, [[
    local A = ranks.poisson2d(30, 30)
    fails("of A:vector()", ranks.spmv, A, ranks.vector(901))
    fails("of A:vector()", ranks.spmv, A, ranks.poisson2d(9, 9):vector())
    fails("must be a RanksVector", ranks.spmv, A, cl.buffer("float", 900))
    local x = A:vector()
    fails("must not be x", ranks.spmv, A, x, x)
    fails("alike", x.dot, x, ranks.vector(3))
    fails("must be square", ranks.dia, dia.banded(5, {0}, {cols = 6}))
    fails("must be a DIA matrix", ranks.dia, {})
    fails("900 elements", A.vector, A, cl.array("float", 3))
    fails("must be a RanksMatrix", ranks.transpose, x)]])
end)

t.done()

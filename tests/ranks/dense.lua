-- ranks/dense.lua - matrices in blocks on 1 to 4 processes: made, gathered and
-- multiplied, against one process; whole numbers, whose sums are exact
-- SPDX-License-Identifier: MIT

local t = require "t"
local npy = require "clshell.npy"
local parts = require "ranks.parts"

t.device()

local on = parts.on

-- products(type, shapes): products of these shapes, in two depths and by each
-- way of an exchange, against one process's.
local PRODUCTS = [[
  local exchange = require "clshell.parts.ranks.exchange"
  local function products(type, shapes)
    for _, s in ipairs(shapes) do
      local m, n, k = table.unpack(s)
      local A, B = whole(type, {m, k}, 1), whole(type, {k, n}, 2)
      local want = rank == 0 and gemm(A, B):read()
      for _, depth in ipairs{7, 2048} do
        exchange.message = depth == 7 and 200 or 1 << 20
        for way = 1, 3 do -- shared memory, in pairs, messages alone
          exchange.group = way == 2 and 2 or math.huge
          local C, run = ranks.gemm(ranks.matrix(m, k, A),
            ranks.matrix(k, n, B), {depth = depth, shared = way < 3})
          local got = C:gather()
          check((got ~= nil) == (rank == 0))
          check(not got or got:equal(want), type, m, n, k)
          check(run.seconds > 0 and run.share <= 1)
        end
      end
    end
  end
]]

t.test("1 to 4 ranks: the bits of one process's product", function()
  -- the first n of 4 ranks: each process builds its kernels once
  on(4, PRODUCTS .. [[
    each(function(type)
      for n = 1, 4 do
        ranks.among(n, products, type, {{1, 1, 1}, {2, 3, 1}, {33, 47, 65},
          {100, 1, 130}, {3, 70, 2}})
      end
    end)]])
  for n = 1, 3 do
    on(n, PRODUCTS .. 'products("float", {{33, 47, 65}})')
  end
end)

t.test("alpha, beta, a result that is there, any grid", function()
  on(4, [[
    local A, B = whole("float", {31, 50}, 1), whole("float", {50, 29}, 2)
    local C0 = whole("float", {31, 29}, 3)
    local want = gemm(A, B, {C = cl.buffer("float", {31, 29}, C0), alpha = 2,
      beta = -3}):read()
    for _, grid in ipairs{{1, 4}, {4, 1}, {2, 2}} do
      local function spread(h)
        return ranks.matrix(h.rows, h.cols, h, {grid = grid})
      end
      local C = spread(C0)
      check(rawequal(ranks.gemm(spread(A), spread(B), {C = C, alpha = 2,
        beta = -3, depth = 9}), C))
      local got = C:gather(3)
      check(rank ~= 3 or got:equal(want), grid[1])
    end]])
end)

t.test("matrices by numbers, functions, files and seeds", function()
  local path = t.tmp "spread.npy"
  local h = cl.array("double", {13, 9}):random(t.seed)
  npy.save(path, h)
  on(3, ([[
    local h = require "clshell.npy".load "%s"
    local function equal(A, want)
      local got = A:gather()
      check(not got or got:equal(want), tostring(A))
    end
    equal(ranks.load "%s", h)
    equal(ranks.matrix(13, 9, h), h)
    equal(ranks.matrix(2, 2), cl.array("float", {2, 2}))
    equal(ranks.matrix(5, 7, 3, {type = "int", grid = {3, 1}}),
      cl.array("int", {5, 7}, 3))
    local function f(i, j) return 10 * i + j end
    equal(ranks.matrix(4, 5, f), cl.array("float", {4, 5}, f))
    local A = ranks.random(40, 50, {seed = 5, lo = -1, hi = 1}):gather()
    local B = ranks.random(40, 50, {seed = 5, lo = -1, hi = 1,
      grid = {3, 1}}):gather()
    if A then
      local s = A:summary()
      check(A:equal(B) and s.min >= -1 and s.max < 1 and s.max - s.min > 1.9)
    end]]):format(path, path))
end)

t.test("some of the ranks work, the others wait", function()
  on(4, [[
    local A, B = whole("float", {9, 20}, 1), whole("float", {20, 8}, 2)
    local want = gemm(A, B):read()
    for n = 1, 4 do
      local sum, grid = ranks.among(n, function(a)
        local C = ranks.gemm(ranks.matrix(9, 20, a), ranks.matrix(20, 8, B))
        local got = C:gather()
        check(not got or got:equal(want), n)
        local x = ranks.vector(7, 1)
        return x:dot(x), C.grid.rows * C.grid.cols
      end, A)
      check(rank >= n or sum == 7.0 and grid == n, n)
      check(rank < n or sum == nil, n)
    end
    check(not pcall(ranks.among, 5, print))]])
end)

t.test("what does not go together is refused, on all ranks", function()
  on(2, [[
    local A = ranks.matrix(4, 5, 1)
    local function refused(message, f, ...)
      local fine, e = pcall(f, ...)
      check(not fine and tostring(e):find(message, 1, true), message,
        tostring(e))
    end
    refused("columns of A", ranks.gemm, A, A)
    refused("must be a RanksMatrix", ranks.gemm, A, matrix.zeros(5))
    refused("A is float", ranks.gemm, A, ranks.matrix(5, 4, 1,
      {type = "double"}))
    refused("grid of 1x2", ranks.gemm, A, ranks.matrix(5, 4, 1,
      {grid = {2, 1}}))
    refused("needs C", ranks.gemm, A, ranks.matrix(5, 4), {beta = 1})
    refused("another matrix of 4x3", ranks.gemm, A, ranks.matrix(5, 3),
      {C = A})
    refused("has 3 ranks", ranks.matrix, 4, 4, 0, {grid = {3, 1}})
    refused("5x4 elements", ranks.matrix, 5, 4, cl.array("float", 19))
    refused("must be a number", ranks.matrix, 5, 4, {})
    refused("no/such.npy", ranks.load, "no/such.npy")]])
end)

t.done()

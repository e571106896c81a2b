-- spmv/rows.lua - matrices by rows of general patterns: the generators, rows
-- packed into chunks of indexes of 16 bits, and transposed products
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local csr = require "clshell.data.csr"
local dia = require "clshell.data.dia"
local host = require "cl.host"
local ladder = require "ladder"
local spmv = require "clshell.spmv"
local tiling = require "clshell.ladder.tiling"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local GROUPS = {{wg = 1, steps = 64}, {wg = 64, steps = 4}}
local PARTS = {{wg = 32, items = 4}, {wg = 128, items = 8}}
local LANES = {{wg = 32, lanes = 2}, {wg = 64, lanes = 8}, {lanes = 32}}
local no_ptx = tiling.lacks(device, 70)
if not no_ptx then -- each with inline PTX as well
  for _, list in ipairs{PARTS, LANES} do
    for _, p in ipairs(table.move(list, 1, #list, 1, {})) do
      list[#list + 1] = {wg = p.wg, items = p.items, lanes = p.lanes, nv = 1}
    end
  end
end

-- A CSR matrix of whole numbers with rows of these lengths; columns of row i
-- are columns(i, k) for k = 1 ..., ascending.
local function build(type, cols, lengths, columns)
  local is, js, vs = {}, {}, {}
  for i, n in ipairs(lengths) do
    for k = 1, n do
      is[#is + 1], js[#js + 1] = i, columns(i, k)
      vs[#vs + 1] = (i * 7 + k * 3) % 5 - 2
    end
  end
  return csr.from_coo(#lengths, cols, is, js, vs, {type = type})
end

-- Compares M, packed and in equal parts, with the host.
local function try(what, M)
  local P <close> = M:pack()
  local h = cl.array(M.type, M.cols, 1)
  h:fill(2, 1, M.cols, 3):fill(-1, math.min(2, M.cols), M.cols, 7)
  local x = cl.buffer(M.type, M.cols, h)
  local exact = host.csr_loop(M.host.row_ptr, M.host.col_ind, M.host.values,
    x:read(), {rows = M.rows, cols = M.cols})
  for _, p in ipairs(GROUPS) do
    local y = cl.buffer(M.type, M.rows, 0 / 0)
    spmv(P, x, {kernel = "csr_packed", wg = p.wg, steps = p.steps, y = y})
    local same, at = y:read():equal(exact)
    t.ok(same, not same and ("%s wg=%d: row %d"):format(what, p.wg, at))
  end
  for kernel, list in pairs{csr_balanced = PARTS, csr_vector = LANES} do
    for _, p in ipairs(list) do
      local y = cl.buffer(M.type, M.rows, 0 / 0)
      spmv(M, x, {kernel = kernel, wg = p.wg, items = p.items,
        lanes = p.lanes, nv = p.nv, y = y})
      local same, at = y:read():equal(exact)
      t.ok(same, not same and ("%s %s wg=%s nv=%s: row %d"):format(what,
        kernel, p.wg, p.nv, at))
    end
  end
  t.ok(P:to_csr().col_ind:read():equal(M.host.col_ind), what)
  return P:info()
end

local function lengths(n, f)
  local list = {}
  for i = 1, n do
    list[i] = f(i)
  end
  return list
end

t.test("packed rows of all lengths", function()
  for _, type in ipairs(ladder.types(device)) do
    if type ~= "half" then
      local function columns(_, k) return k end
      try("one", build(type, 5, {5}, columns))
      try("empty", build(type, 5, {0, 0, 0}, columns))
      try("empty rows", build(type, 9, lengths(3000, function(i)
        return i % 500 == 0 and 9 or 0
      end), columns))
      try("a chunk", build(type, 1024, {1024, 1, 1023, 1, 0, 1024}, columns))
      local i = try("long", build(type, 5000, {0, 5000, 3, 1025, 0, 2048},
        columns))
      t.eq({i.pieces, i.row_max}, {5 + 2 + 2, 5000})
      try("one long among short", build(type, 1000,
        lengths(700, function(k) return k == 300 and 1000 or k % 4 end),
        columns))
    end
  end
end)

t.test("inline PTX, which the other tests try too", function()
  if no_ptx then
    t.raises(function()
      spmv(csr.road(9), cl.buffer("float", 9), {kernel = "csr_vector", nv = 1})
    end, "refused", no_ptx)
    t.skip(no_ptx)
  end
  local M = csr.zipf(3000)
  local x = cl.buffer("float", M.cols, 1)
  t.ok(spmv.verify("csr_balanced", {nv = 1}, {M = M, x = x}).ok)
  t.ok(spmv.verify("csr_vector", {nv = 1}, {M = M, x = x}).ok)
end)

t.test("pages and upper bits", function()
  local near = build("float", 1 << 25, lengths(400, function() return 5 end),
    function(i, k) return (i % 3 * 7919 + k * 1000003) % (1 << 24) + k end)
  local far = build("float", 1 << 25, lengths(300, function() return 5 end),
    function(i, k) return k << 22 | (i * 2654435 & (1 << 22) - 1) end)
  local middle = build("float", 1 << 20, lengths(300, function() return 5 end),
    function(i, k) return k << 17 | (i * 2654435 & (1 << 17) - 1) end)
  local small = build("float", 60000, lengths(300, function() return 5 end),
    function(i, k) return k << 13 | (i * 2654435 & (1 << 13) - 1) end)
  for name, M in pairs{near = near, far = far, middle = middle,
      small = small} do
    try(name, M)
  end
  t.eq(far:pack().far.type, "ushort")
  t.eq(middle:pack().far.type, "uchar")
  t.eq(#far:pack().far, 1024 + far.nnz)
  t.eq(#near:pack().far, 1024)
  t.eq(small:pack().index_bytes < 2 * small.nnz + 4 * 301 + 200, true)
end)

t.test("generators: the same for a seed, whole patterns", function()
  for name, opts in pairs{rmat = {degree = 6}, road = {}, zipf = {},
      fem = {block = 2, degree = 20}} do
    for _, n in ipairs{1, 2, 63, 1000} do
      local o = n == 1 and {seed = 1} or opts
      local M, again = csr[name](n, o), csr[name](n, o)
      local h = M.host
      t.ok(h.col_ind:equal(again.host.col_ind), name)
      t.ok(h.values:equal(again.host.values), name)
      for i = 1, n do
        for k = h.row_ptr[i] + 2, h.row_ptr[i + 1] do
          t.ok(h.col_ind[k] > h.col_ind[k - 1], name)
        end
      end
      t.ok(M.nnz == 0 or h.col_ind[M.nnz] < n)
      if name == "road" or name == "fem" then
        t.ok(M:transposed().host.col_ind:equal(h.col_ind), name)
      end
    end
    local other <close> = csr[name](1000, {seed = 2})
    local one <close> = csr[name](1000)
    t.ok(other.nnz ~= one.nnz or not other.host.col_ind:equal(
      one.host.col_ind), name)
    local whole = csr[name](3000)
    whole.values:write(whole.host.values:fill(3))
    try(name, whole)
  end
  t.ok(csr.zipf(20000):info().row_max > 500)
  t.ok(csr.rmat(4096):info().row_max > 500)
  t.near(csr.road(40000, {degree = 3}).nnz, 120000, 2000)
  t.raises(function() csr.rmat(0) end, "csr.rmat: n must be", "got 0")
  t.raises(function() csr.rmat(0x7fffffff) end, "csr.rmat: 2147483647 rows",
    "at most 2147483647 entries")
  t.raises(function() csr.road(10, {degree = -1}) end, "degree must be")
  t.raises(function() csr.fem(10, {block = 11}) end, "block must be")
  t.raises(function() csr.zipf(10, {seeds = 1}) end, "did you mean 'seed'")
end)

t.test("a packed matrix stands alone", function()
  local M = dia.poisson2d(20, 20):to_csr()
  local x = cl.buffer("float", 400, 1)
  local P = M:pack()
  local y = spmv(P, x):read()
  M.values:fill(7)
  M:close()
  t.ok(spmv(P, x):read():equal(y))
  t.ok(tostring(P):find "^packed CSR matrix 400 x 400 of float, 19")
  t.ok(tostring(csr.road(100):pack()):find("it does not pay here: "
    .. (device.type == "cpu" and "CPUs" or "rows this short"), 1, true))
  t.raises(function() spmv(P, x, {kernel = "csr_scalar"}) end, "refused")
  t.raises(function() spmv(P, x, {trans = true}) end, "trans",
    "pack M:to_csr():transposed()")
  t.raises(function() cl.split(P, {device, device}) end, "cl.split",
    "packed CSR matrix")
  t.raises(function() P:to_csr():pack(1) end, "Csr:pack: takes nothing")
  P:close()
  P:close()
  t.eq(tostring(P), "packed CSR matrix 400 x 400 of float (closed)")
  t.raises(function() spmv(P, x) end, "closed")
end)

t.test("tables that scripts write leave no buffer", function()
  local M = csr.zipf(3000, {degree = 30})
  local x = cl.buffer("float", M.cols, 1)
  for _, p in ipairs(GROUPS) do
    local P = M:pack()
    for _, name in ipairs{"chunks", "near", "pages", "far", "row_ptr",
        "split"} do
      local kept = P[name]:read()
      for _, value in ipairs{-1, 0x7fffffff, 70000, -0x80000000} do
        P[name]:fill(({ushort = value & 0xffff, uchar = value & 0xff})
          [P[name].type] or value)
        spmv(P, x, {kernel = "csr_packed", wg = p.wg, steps = p.steps}):read()
      end
      P[name]:write(kept)
    end
    t.ok(spmv.verify("csr_packed", p, {M = P, x = x}).ok)
    P.near = cl.buffer("ushort", 3)
    t.raises(function() spmv(P, x) end, "spmv: M.near must have")
  end
end)

-- Rows of a CSR matrix whose row_ptr is written; each row alone is right.
t.test("equal parts of a matrix that scripts write", function()
  local M = build("float", 900, lengths(3000, function(i)
    return i % 1000 == 0 and 900 or i % 5
  end), function(_, k) return k end)
  local x = cl.buffer("float", M.cols, ladder.integers("float", M.cols,
    t.seed))
  local kept = M.row_ptr:read()
  local function same(what, run)
    local y = spmv(M, x, {kernel = "csr_scalar"}):read()
    for _, p in ipairs(PARTS) do
      local z = cl.buffer("float", M.rows, 5)
      spmv(M, x, {kernel = "csr_balanced", wg = p.wg, items = p.items,
        nv = p.nv, y = z})
      local equal, at = z:read():equal(y)
      t.ok(equal, not equal and ("%s wg=%d: row %d"):format(what, p.wg, at))
    end
    run():wait()
    t.ok(run.output:read():equal(y), what .. ", a plan from before")
  end
  local run = spmv.plan(M, x, {kernel = "csr_balanced", wg = 32, items = 4})
  run():wait()
  same("as made", run)
  for _, at in ipairs{1, 2, 1000, 1001, 1500, 2999, 3001} do
    for _, value in ipairs{-1, 0, 900, 0x7fffffff, -0x80000000} do
      local h = kept:copy():fill(value, at, at)
      M.row_ptr:write(h)
      same(("row_ptr[%d] = %d"):format(at, value), run)
    end
  end
  for _, value in ipairs{0, M.nnz, -1, 0x7fffffff} do
    M.row_ptr:fill(value)
    same("row_ptr all " .. value, run)
  end
  M.row_ptr:write(cl.array("int", M.rows + 1, function(i)
    return math.max(0, kept[i] - 7)
  end))
  same("moved", run)
  M.row_ptr:write(kept)
  M.col_ind:fill(-1, {first = 1000, count = 1})
  M.col_ind:fill(900, {first = M.nnz, count = 1})
  same("col_ind", run)
end)

t.test("a row over very many parts, and sums with the same bits", function()
  local n = 40000
  local is, js, vs = {1, 3}, {7, 9}, {0.25, 0.75}
  for k = 1, n do
    is[k + 2], js[k + 2], vs[k + 2] = 2, k, math.random()
  end
  local M = csr.from_coo(3, n, is, js, vs)
  t.eq({M.row_max, host.csr_lengths(M.host.row_ptr)}, {n, 1, n})
  t.raises(function() host.csr_lengths(M.host.values) end, "more int",
    "40002 of float")
  local x = cl.buffer("float", n, cl.array("float", n):random(t.seed))
  local p = {wg = 32, items = 4}
  t.ok(spmv.verify("csr_balanced", p, {M = M, x = x}).ok)
  local plan = spmv.plan(M, x, {kernel = "csr_balanced", wg = 32, items = 4})
  plan():wait()
  local first = plan.output:read()
  for _ = 1, 5 do
    plan():wait()
    t.ok(plan.output:read():equal(first))
  end
end)

t.test("transposed products", function()
  local M = build("float", 50, lengths(70, function(i) return i % 9 end),
    function(i, k) return (i % 5) * 9 + k end)
  local x = cl.buffer("float", 70, ladder.integers("float", 70, t.seed))
  local T = M:transposed()
  t.eq(("%d x %d"):format(T.rows, T.cols), "50 x 70")
  for kernel, launches in pairs{csr_scalar = 2, csr_vector = 2,
      csr_balanced = 3} do -- with `move`, in the first run, and `starts`
    local exact = spmv(M:transposed(), x):read()
    local plan = spmv.plan(M, x, {trans = true, kernel = kernel})
    t.eq(#plan().events, launches)
    plan():wait()
    t.ok(plan.output:read():equal(exact))
    M.values:fill(3) -- the next call has the new values
    exact = spmv(M:transposed(), x):read()
    t.ok(spmv(M, x, {trans = true, kernel = kernel}):read():equal(exact))
    M.values:write(M.host.values)
    local r = spmv.verify(kernel, nil, {M = M, x = x, trans = true})
    t.ok(r.ok)
  end
  -- other indexes in the same Buffers, then in others
  local h = M:transposed():transposed().host
  h.col_ind:fill(49, 1, #h.col_ind, 9) -- the first entry of some rows
  M.col_ind:write(h.col_ind)
  local function right(what)
    t.ok(spmv(M, x, {trans = true}):read():equal(spmv(M:transposed(), x)
      :read()), what)
  end
  right "col_ind"
  M.row_ptr:fill(0, {first = 1, count = 2})
  right "row_ptr"
  M.col_ind = cl.buffer("int", M.nnz, h.col_ind:fill(0))
  right "another Buffer"
  M.col_ind:fill(-1)
  t.raises(function() spmv(M, x, {trans = true}) end, "col_ind")
  t.raises(function() spmv(M, cl.buffer("float", 50), {trans = true}) end,
    "x is", "70 rows")
  t.raises(function() spmv(M, x, {trans = 1}) end, "trans")
  t.raises(function() spmv(dia.poisson2d(4, 4), x, {trans = true}) end,
    "takes a matrix in CSR", "M:to_csr()")
end)

t.done()

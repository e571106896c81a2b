-- spmv.lua - the sparse ladder: every rung over shapes, diagonals,
-- parameters and types, bitwise on whole numbers
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local csr = require "clshell.data.csr"
local dia = require "clshell.data.dia"
local ladder = require "ladder"
local sparse = require "clshell.data.sparse"
local spmv = require "clshell.spmv"

t.keeps("Program", "Kernel")
local device = t.device()

local function offsets_between(first, last)
  local list = {}
  for o = first, last do
    list[#list + 1] = o
  end
  return list
end

-- rows, cols, offsets, elements that the pitch exceeds the rows by
local SHAPES = {
  {1, 1, {0}, 0}, {1, 1, {-1, 0, 1}, 31}, {7, 7, {-2, 0, 1}, 0},
  {16, 16, {-16, -1, 0, 1, 15}, 0}, {17, 17, {-5, -1, 0, 1, 5}, 15},
  {33, 33, {0}, 3}, {64, 64, {-8, -1, 0, 1, 8}, 0},
  {100, 100, offsets_between(-99, 99), 28},
  {100, 100, offsets_between(-9, 9), 1},
  {127, 65, {-200, -126, -64, -3, 0, 2, 64, 65, 300}, 1},
  {65, 127, {-64, -1, 0, 1, 61, 62, 126}, 31},
  {2051, 2051, {-2050, -45, -1, 0, 1, 45, 2050}, 13},
}

-- A matrix of whole numbers by diagonals, NaN wherever no element lies; the
-- vector x and the exact product.
local function case(type, rows, cols, offsets, gap)
  local pitch, ndiags = rows + gap, #offsets
  local values = cl.array(type, {ndiags, pitch}):fill(0 / 0)
  local numbers = ladder.integers("double", {ndiags, pitch}, t.seed)
  local x = ladder.integers("double", cols, t.seed + 1)
  local y = cl.array("double", rows)
  local nnz, is, js, vs = 0, {}, {}, {}
  for d, offset in ipairs(offsets) do
    for i = math.max(1, 1 - offset), math.min(rows, cols - offset) do
      local v = numbers:at(d, i)
      values:set(d, i, v)
      y[i] = y[i] + v * x[i + offset]
      nnz = nnz + 1
      is[nnz], js[nnz], vs[nnz] = i, i + offset, v
    end
  end
  local list = cl.array("int", ndiags, offsets)
  local M = sparse.upload_dia{
    rows = rows, cols = cols, ndiags = ndiags, pitch = pitch, nnz = nnz,
    type = type, format = "dia", host = {offsets = list, values = values},
  }
  local C = csr.from_coo(rows, cols, is, js, vs, {type = type})
  return {
    name = ("%s %dx%d, %d diagonals"):format(type, rows, cols, ndiags),
    dia = M, packed = M:pack(), csr = C, packed_csr = C:pack(),
    x = cl.buffer(type, cols, x:convert(type)),
    y = cl.buffer(type, rows),
    exact = y:convert(type),
  }
end

local cases = {}
for _, type in ipairs(ladder.types(device)) do
  cases[type] = {}
  for _, shape in ipairs(SHAPES) do
    table.insert(cases[type], case(type, table.unpack(shape)))
  end
end

-- One configuration on one matrix. Returns the reason where the device
-- refuses, which the call has to raise as well.
local function try(rung, p, c)
  local what = ("%s %s"):format(rung.name, c.name)
  for name, value in pairs(p) do
    what = ("%s %s=%s"):format(what, name, value)
  end
  local M = c[rung.format]
  local opts = {kernel = rung.name, y = c.y}
  for name, value in pairs(p) do
    opts[name] = value
  end
  local fine, reason = spmv.check(rung.name, p, {M = M, x = c.x})
  if not fine then
    t.raises(function() spmv(M, c.x, opts) end, "refused: " .. reason)
    return reason
  end
  c.y:fill(0 / 0)
  spmv(M, c.x, opts)
  local got <close> = c.y:read()
  local same, at = got:equal(c.exact)
  t.ok(same, not same and ("%s: row %d is %s, not %s"):format(what, at,
    got[at], c.exact[at]))
end

-- Offsets that are compiled in make a program for each matrix: fewer of them.
local function shapes_of(rung, list)
  return rung.name == "specialised" and {list[3], list[8], list[10], list[12]}
    or rung.name == "packed" and {list[10], list[12]} or list
end

for _, item in ipairs(spmv.kernels()) do
  local types = ladder.types(device)
  for part, type in ipairs(types) do
    t.test(("%s %s, whole numbers"):format(item.name, type), function()
      ladder.try(item.rung, t.seed, function(p)
        local list, refused, reason = shapes_of(item.rung, cases[type]), 0, nil
        for _, c in ipairs(list) do
          local why = try(item.rung, p, c)
          refused, reason = refused + (why and 1 or 0), why or reason
        end
        return refused == #list and reason or nil
      end, part, #types)
    end)
  end
end

t.test("random numbers within the bound", function()
  for _, type in ipairs(ladder.types(device)) do
    local M = dia.poisson3d(9, 8, 7, {type = type})
    local forms = {dia = M, csr = M:to_csr(), packed = M:pack(),
      packed_csr = M:to_csr():pack()}
    local x = cl.buffer(type, M.cols, cl.array(type, M.cols):random(t.seed))
    for _, item in ipairs(spmv.kernels()) do
      local A = forms[item.rung.format]
      if spmv.check(item.name, nil, {M = A, x = x}) then
        local r = spmv.verify(item.name, nil, {M = A, x = x})
        t.ok(r.ok, ("%s %s: error %g, bound %g"):format(item.name, type,
          r.err, r.bound))
      end
    end
  end
end)

t.test("the kernel chosen for the format", function()
  for _, c in ipairs{cases.float[5], cases.float[8], cases.float[1]} do
    for _, M in ipairs{c.dia, c.csr, c.packed_csr,
        c.dia.ndiags <= 128 and c.packed or nil} do
      local y = spmv(M, c.x)
      t.ok(y:read():equal(c.exact))
    end
  end
end)

t.test("a matrix at another pitch is copied in the first run only", function()
  local c = cases.float[9]
  local plan = spmv.plan(c.dia, c.x, {kernel = "naive"})
  t.eq(#plan().events, 2)
  local again = plan()
  t.eq(#again.events, 1)
  again:wait()
  t.ok(plan.output:read():equal(c.exact))
end)

t.test("misuse is refused in words", function()
  local c, other = cases.float[5], cases.float[7]
  t.raises(function() spmv(c.dia, other.x) end, "x is", "64", "17 columns")
  t.raises(function() spmv(c.dia, c.x, {y = other.y}) end, "y is", "17 rows")
  t.raises(function() spmv({}, c.x) end, "M must be a sparse matrix")
  t.raises(function() spmv(nil, c.x) end, "M must be a sparse matrix")
  t.raises(function() spmv(c.dia) end, "x must be a Buffer", "got nothing")
  t.raises(function() spmv(c.dia, c.x, {kernel = "csr_scalar"}) end,
    "refused", "CSR")
  t.raises(function() spmv(c.dia, c.x, {kernel = "naiv"}) end,
    "did you mean 'naive'")
  t.raises(function() spmv(c.dia, c.x, {y = c.x}) end, "share memory")
  local both = cl.buffer("float", 20, 1)
  t.raises(function()
    spmv(c.dia, both:view(1, 17), {y = both:view(1, 17)})
  end, "y must not share memory with x")
  t.raises(function()
    spmv(c.dia, cl.buffer("int", 17, 0))
  end, "M is float", "x is int")
  local M = dia.banded(10, {0})
  M:close()
  t.raises(function() spmv(M, cl.buffer("float", 10, 1)) end, "closed")
end)

t.test("sizes of M that scripts change are checked at each call", function()
  local x = cl.buffer("float", 16, 1)
  local D, C = dia.poisson2d(4, 4), dia.poisson2d(4, 4):to_csr()
  local function wrong(M, field, value, ...)
    local old = M[field]
    M[field] = value
    t.raises(function() spmv(M, x) end, "spmv: M." .. field, ...)
    M[field] = old
    spmv(M, x)
  end
  for _, M in ipairs{D, C} do
    wrong(M, "rows", 0, "got 0")
    wrong(M, "rows", 1 << 31)
    wrong(M, "rows", nil, "got nothing")
    wrong(M, "cols", "16")
    wrong(M, "values", cl.buffer("float", 3), "must have", "3 float")
    wrong(M, "values", nil, "must be a Buffer; got nothing")
  end
  wrong(D, "pitch", 15, "from 16")
  wrong(D, "ndiags", 0)
  wrong(D, "nnz", "x", "got \"x\"")
  wrong(D, "host", 5, "must be a table; got 5")
  wrong(D, "host", {}, "must be an Array; got nothing")
  wrong(D, "offsets", cl.buffer("int", 4), "must have 5 elements of int")
  wrong(C, "nnz", -1)
  wrong(C, "col_ind", cl.buffer("uint", C.nnz), "of int", "of", "uint")
  wrong(C, "row_ptr", cl.buffer("int", 16), "17 elements")
  D.rows, D.pitch = 1 << 26, 1 << 26
  t.raises(function() spmv(D, x) end, "spmv: M.values must have 335544320")
  D.rows, D.pitch = 16, 32
  D.host.offsets:fill(7, 1, 2)
  t.raises(function() spmv(D, x) end, "M.host.offsets must ascend")
  D.host.offsets = cl.array("int", 6, {1, 2, 3, 4, 5, 6})
  t.raises(function() spmv(D, x) end, "must have 5 elements; got 6")
end)

t.test("indexes that scripts write leave no buffer", function()
  local exact = spmv(dia.poisson2d(4, 4), cl.array("float", 16, 1)):read()
  for _, rung in ipairs{"csr_scalar", "csr_vector"} do
    local M = dia.poisson2d(4, 4):to_csr()
    local x = cl.buffer("float", 16, 1)
    local function count_nan(name, value)
      local kept, nan = M[name]:read(), 0
      M[name]:fill(value)
      for i, y in ipairs(spmv(M, x, {kernel = rung}):read()) do
        nan = nan + (y ~= y and 1 or 0)
        t.ok(y ~= y or y == exact[i] or y == 0, y)
      end
      M[name]:write(kept)
      return nan
    end
    for _, far in ipairs{0x7fffffff, -1, -0x80000000} do
      t.eq(count_nan("col_ind", far), 16)
      t.eq(count_nan("row_ptr", far), 16)
    end
    M.row_ptr:write({-1, 0x7fffffff}, {first = 1, count = 2})
    t.eq(spmv(M, x, {kernel = rung}):read()[16], exact[16])
    local r = spmv.verify(rung, nil, {M = M, x = x})
    t.eq(r.ok, false)
  end
  for _, item in ipairs(spmv.kernels()) do -- any offset is legal
    local M = dia.poisson2d(40, 40)
    M.offsets:fill(-0x80000000)
    if spmv.check(item.name, nil, {M = M, x = cl.buffer("float", 1600, 1)})
    then
      spmv(M, cl.buffer("float", 1600, 1), {kernel = item.name})
    end
  end
end)

t.test("bench says what was timed", function()
  local M = dia.poisson2d(20, 20)
  local x = cl.buffer("float", 400, 1)
  local quick = {warmup = 0, seconds = 0.01, samples = 3}
  local r = spmv.bench("naive", {wg = 64}, {M = M, x = x}, quick)
  t.ok(r.ok and r.ms > 0 and r.gbs > 0)
  t.near(r.gflops, 2 * M.nnz / r.ms / 1e6)
  r = spmv.bench("plain_c", nil, {M = M, x = x}, quick)
  t.ok(r.ok, r.note)
  r = spmv.bench("csr_scalar", nil, {M = M, x = x}, quick)
  t.ok(not r.gflops and r.note:find("refused: .*CSR"), r.note)
end)

t.done()

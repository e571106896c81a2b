-- dia.lua - matrices by diagonals: generators, layout, conversion from and
-- to CSR, files.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local csr = require "clshell.data.csr"
local dia = require "clshell.data.dia"

t.device()

local path -- of a file, removed when the test ends

local function test(name, fn)
  t.test(name, function()
    path = t.tmp("test.mtx")
    fn()
  end)
end

-- Checks the layout of M and that its entries are those of at(i, j), 1-based,
-- nil outside the stored ones; nothing else may be stored.
local function check(M, at)
  local count, previous = 0, -M.rows
  local host = M.host
  t.eq(M.format, "dia")
  t.eq(#host.offsets, M.ndiags)
  t.eq(table.concat(host.values.shape, " "),
    ("%d %d"):format(M.ndiags, M.pitch))
  t.ok(M.pitch >= M.rows)
  local offsets <close> = M.offsets:read()
  local values <close> = M.values:read()
  t.ok(offsets:equal(host.offsets))
  t.ok(values:equal(host.values))
  for d = 1, M.ndiags do
    local o = host.offsets[d]
    t.ok(o > previous)
    previous = o
    for i = 1, M.pitch do
      local j, v = i + o, host.values:at(d, i)
      local want = i <= M.rows and j >= 1 and j <= M.cols and at(i, j) or nil
      if want then
        count = count + 1
      end
      if v ~= (want or 0) then
        t.eq(v, want or 0, ("diagonal %d, row %d"):format(o, i))
      end
    end
  end
  t.eq(M.nnz, count)
end

-- The Laplacian at (i, j) of a grid, straight from the definition.
local function laplacian(nx, ny, nz, middle)
  return function(i, j)
    local function point(r)
      r = r - 1
      return r % nx, r // nx % ny, r // (nx * ny)
    end
    local ax, ay, az = point(i)
    local bx, by, bz = point(j)
    local distance = math.abs(ax - bx) + math.abs(ay - by)
      + math.abs(az - bz)
    assert(ax < nx and ay < ny and az < nz)
    return distance == 0 and middle or distance == 1 and -1 or nil
  end
end

test("2-D Poisson", function()
  for _, n in ipairs{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {5, 1}, {1, 7}, {3, 4},
    {7, 5}, {33, 2}, {2, 40}} do
    local M <close> = dia.poisson2d(n[1], n[2])
    t.eq(M.rows, n[1] * n[2])
    t.eq(M.cols, M.rows)
    t.eq(M.type, "float")
    t.eq(M.pitch, (M.rows + 31) // 32 * 32)
    t.eq(M.ndiags, 1 + (n[1] > 1 and 2 or 0) + (n[2] > 1 and 2 or 0))
    check(M, laplacian(n[1], n[2], 1, 4))
  end
end)

test("3-D Poisson", function()
  for _, n in ipairs{{1, 1, 1}, {2, 2, 2}, {3, 1, 2}, {1, 4, 3}, {3, 4, 5},
    {2, 3, 20}, {7, 1, 1}, {20, 3, 2}} do
    local M <close> = dia.poisson3d(n[1], n[2], n[3], {type = "double"})
    t.eq(M.type, "double")
    check(M, laplacian(n[1], n[2], n[3], 6))
  end
end)

test("banded matrices", function()
  local M <close> = dia.banded(100, {3, -50, 0})
  t.eq(M.ndiags, 3)
  local host = M.host.values
  check(M, function(i, j)
    local v = host:at(j - i == -50 and 1 or j == i and 2 or 3, i)
    t.ok(v >= 0.5 and v < 1.5)
    return v
  end)
  local N <close> = dia.banded(100, {-50, 0, 3}, {seed = 1})
  t.ok(host:equal(N.host.values))
  local O <close> = dia.banded(100, {-50, 0, 3}, {seed = 2})
  t.ok(not host:equal(O.host.values))
  for _, s in ipairs{{5, 9}, {9, 5}, {1, 6}, {6, 1}} do
    local rows, cols = s[1], s[2]
    local R <close> = dia.banded(rows, {1 - rows, cols - 1},
      {cols = cols, type = "double", pitch = rows + 3})
    t.eq(R.pitch, rows + 3)
    t.eq(R.nnz, 2)
    check(R, function(i, j)
      return R.host.values:at(j - i == 1 - rows and 1 or 2, i)
    end)
  end
end)

test("wrong generators", function()
  t.raises(function() dia.banded(10, {0, 10}) end,
    "an offset must be", "from -9 to 9; got 10")
  t.raises(function() dia.banded(10, {1, 0, 1}) end, "offset 1 is given twice")
  t.raises(function() dia.banded(10, {}) end, "offsets must be")
  t.raises(function() dia.banded(10, {0.5}) end, "got 0.5")
  t.raises(function() dia.banded(0, {0}) end, "rows must be", "got 0")
  t.raises(function() dia.banded(4, {0}, {pitch = 3}) end,
    "pitch must be", "from 4")
  t.raises(function() dia.banded(4, {0}, {sead = 3}) end, "seed")
  t.raises(function() dia.poisson2d(0, 3) end, "nx must be", "got 0")
  t.raises(function() dia.poisson2d(3) end, "ny must be", "got nothing")
  t.raises(function() dia.poisson3d(3, 3) end, "nz must be", "got nothing")
  t.raises(function() dia.poisson2d(3, 3, {seed = 3}) end, "seed")
  t.raises(function() dia.poisson2d(100000, 100000) end,
    "grid points", "got 10000000000")
  local many = {}
  for d = 1, 1000 do
    many[d] = d
  end
  t.raises(function() dia.banded(2000000000, many) end,
    "1000 diagonals of 2000000000 elements take", "a buffer on", "at most")
end)

test("to CSR and back", function()
  for _, M in ipairs{dia.poisson2d(6, 5), dia.poisson3d(3, 2, 4),
    dia.poisson2d(1, 1), dia.banded(40, {-39, -7, 0, 1, 30}),
    dia.banded(20, {-3, 4, 25}, {cols = 33, type = "double"}),
    dia.banded(33, {-30, 4}, {cols = 20})} do
    local C <close> = M:to_csr()
    t.eq(C.nnz, M.nnz)
    t.eq(C.type, M.type)
    for i = 1, C.rows do
      for k = C.host.row_ptr[i] + 2, C.host.row_ptr[i + 1] do
        t.ok(C.host.col_ind[k] > C.host.col_ind[k - 1])
      end
    end
    local D <close> = C:to_dia()
    t.ok(D.host.offsets:equal(M.host.offsets))
    t.ok(D.host.values:equal(M.host.values))
    t.eq(D.nnz, M.nnz)
    M:close()
  end
end)

test("zeros are not entries of CSR", function()
  local C <close> = csr.from_coo(3, 3, {1, 2, 3}, {1, 2, 1}, {1, 0, 2})
  t.eq(C.nnz, 3)
  local M <close> = C:to_dia{pitch = 5}
  t.eq(M.ndiags, 2)
  t.eq(M.pitch, 5)
  local D <close> = M:to_csr()
  t.eq(D.nnz, 2)
  t.raises(function() dia.from_csr() end,
    "dia.from_csr: the matrix must be one in CSR", "got nothing")
  t.raises(function() dia.from_csr(C.values) end, "got Buffer")
  t.raises(function() dia.from_csr(dia.banded(3, {0})) end, "got DIA matrix")
  local E <close> = csr.from_coo(3, 4, {}, {}, {})
  local N <close> = E:to_dia()
  t.eq(N.ndiags, 1)
  t.eq(N.nnz, 0)
  local F <close> = N:to_csr()
  t.eq(F.nnz, 0)
  t.eq(F.cols, 4)
end)

test("too many diagonals", function()
  local n, is, js, vs = 200, {}, {}, {}
  for i = 1, n do
    is[i], js[i], vs[i] = i, n + 1 - i, i
  end
  local C <close> = csr.from_coo(n, n, is, js, vs)
  t.raises(function() C:to_dia() end,
    "200 diagonals of 200 rows store 40000 elements for 200 entries")
  local M <close> = C:to_dia{force = true}
  t.eq(M.ndiags, 200)
  t.eq(M.nnz, 200)
  check(M, function(i, j)
    return i + j == n + 1 and i or nil
  end)
end)

test("files", function()
  local M <close> = dia.poisson2d(4, 3)
  M:save(path)
  local N <close> = dia.load(path)
  t.ok(N.host.offsets:equal(M.host.offsets))
  t.ok(N.host.values:equal(M.host.values))
  M:save(path, {symmetric = true})
  local S <close> = dia.load(path, {type = "double", pitch = 20})
  t.eq(S.type, "double")
  t.eq(S.pitch, 20)
  check(S, laplacian(4, 3, 1, 4))
  local none, message = dia.load(t.tmp("none.mtx"))
  t.eq(none, nil)
  t.ok(message:find("none.mtx", 1, true))
  t.raises(function() dia.load(path, {types = "double"}) end, "type")
end)

test("info, text and close", function()
  local M = dia.poisson2d(4, 3)
  t.eq(tostring(M), "DIA matrix 12 x 12 of float, 5 diagonals, 46 entries")
  local info = M:info()
  t.eq(info.lower, -4)
  t.eq(info.upper, 4)
  t.eq(info.bytes, 5 * 4 + 5 * 32 * 4)
  t.near(info.fill, 46 / 160, 1e-12)
  local before = cl.live().Buffer
  M:close()
  M:close()
  t.eq(cl.live().Buffer or 0, before - 2)
  t.raises(function() M:to_csr() end, "closed")
  t.raises(function() M.values:read() end, "closed")
end)

t.test("a value that does not fit the type", function()
  local C <close> = csr.from_coo(2, 2, {1}, {1}, {1e300}, {type = "double"})
  t.raises(function() dia.from_csr(C, {type = "float"}) end,
    "dia.from_csr: entry (1, 1), 1e+300, does not fit float")
  t.raises(function() dia.from_csr(C, {type = "int3"}) end,
    "type must be a type of numbers, such as float; got int3")
end)

t.done()

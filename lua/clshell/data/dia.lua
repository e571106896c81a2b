-- data/dia.lua - sparse matrices stored by diagonals: made by generators, of
-- CSR and of files; sparse.lua has their methods
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local csr = require "clshell.data.csr"
local laplacian = require "clshell.data.laplacian"
local options = require "clshell.base.options"
local sparse = require "clshell.data.sparse"

local M = require "clshell.base.lazy".table(...)

local INT_MAX = 0x7fffffff

-- Checked and sorted copy of a list of offsets.
local function ascending(what, list, rows, cols)
  if type(list) ~= "table" or #list == 0 then
    cl.error(what .. ": offsets must be a table of one or more numbers")
  end
  local offsets = table.move(list, 1, #list, 1, {})
  for _, o in ipairs(offsets) do
    argument.integer(what, "an offset", o, 1 - rows, cols - 1)
  end
  table.sort(offsets)
  for d = 2, #offsets do
    if offsets[d] == offsets[d - 1] then
      cl.error(("%s: offset %d is given twice"):format(what, offsets[d]))
    end
  end
  return offsets
end

--- dia.banded(n, offsets [, opts]) -> Dia
--- A matrix of n rows whose diagonals `offsets` (0 the main one, positive
--- above it; any order) hold random values from [0.5, 1.5), the same for the
--- same seed.
---
--- DIA matrices have rows, cols, ndiags, pitch, nnz, type, format ("dia"), the
--- buffers offsets (int, ndiags, ascending) and values (ndiags x pitch), and
--- host arrays with the content of both in `host`. values(d, i) belongs to row
--- i and column i + offsets[d]; places outside the matrix, and places between
--- rows and pitch, are zero. The pitch is rows rounded up to a multiple of 32
--- unless opts.pitch says otherwise. Options as for dia.from_csr.
--- Options:
---   type     float     element type: float, double or half
---   cols, m  n         columns
---   seed     1         of the values
---   lo, hi   0.5, 1.5  their range
--- Example:
--- local M = dia.banded(1000, {-1, 0, 1}, {seed = 3})
--- print(M.rows, M.ndiags, M.pitch, M.nnz) --> 1000 3 1024 2998
function M.banded(n, offsets, opts)
  local what = "dia.banded"
  opts = options.check(opts, what)
  local cols = opts.cols or opts.m or n
  argument.integer(what, "rows", n, 1, INT_MAX)
  argument.integer(what, "cols", cols, 1, INT_MAX)
  local m = sparse.new_dia(what, n, cols,
    ascending(what, offsets, n, cols), opts)
  local values, host = m.host.values, m.host.offsets
  values:random(opts.seed or 1, opts.lo or 0.5, opts.hi or 1.5)
  for d = 1, m.ndiags do
    local first, last = sparse.extent(m, host[d])
    local start = (d - 1) * m.pitch
    values:fill(0, start + 1, start + first - 1)
    values:fill(0, start + last + 1, start + m.pitch)
    m.nnz = m.nnz + last - first + 1
  end
  return sparse.upload_dia(m, opts.context)
end

-- The Laplacian of a grid: 2 * dims on the diagonal and -1 for each of the
-- two neighbours along every axis.
local function laplacian_of(what, dims, sizes, opts)
  opts = options.check(opts, what)
  local grid = laplacian.new(what, dims, sizes)
  local rows = grid.rows
  local m = sparse.new_dia(what, rows, rows, grid.offsets, opts)
  laplacian.fill(grid, m.host.values, m.pitch, 1, rows)
  m.nnz = rows
  for _, axis in ipairs(grid.axes) do
    m.nnz = m.nnz + 2 * (rows - rows // axis.length)
  end
  return sparse.upload_dia(m, opts.context)
end

--- dia.poisson2d(nx, ny [, opts]) -> Dia
--- The 5-point Laplacian of a grid of nx x ny points: nx*ny rows, 4 on the
--- diagonal, -1 for each neighbour in the grid (none across the end of a
--- grid line); point (x, y), from 0, is row y*nx + x. Options as for
--- dia.from_csr.
--- Options:
---   type  float  element type: float, double or half
--- Example:
--- local M = dia.poisson2d(16, 16)
--- print(M.rows, M.ndiags) --> 256 5
function M.poisson2d(nx, ny, opts)
  return laplacian_of("dia.poisson2d", 2, {nx, ny}, opts)
end

--- dia.poisson3d(nx, ny, nz [, opts]) -> Dia
--- The 7-point Laplacian of a grid of nx x ny x nz points: 6 on the
--- diagonal, -1 for each neighbour; point (x, y, z), from 0, is row
--- (z*ny + y)*nx + x. Options as for dia.poisson2d.
--- Example:
--- local M = dia.poisson3d(4, 4, 4)
--- print(M.rows, M.ndiags) --> 64 7
function M.poisson3d(nx, ny, nz, opts)
  return laplacian_of("dia.poisson3d", 3, {nx, ny, nz}, opts)
end

--- dia.from_csr(M [, opts]) -> Dia
--- A CSR matrix by diagonals; a matrix without entries gets one diagonal of
--- zeros. Refused when more than 20 elements would be stored for each entry
--- (small matrices excepted), and when one buffer of the device cannot hold
--- the elements.
--- Options:
---   type     M's        element type: float, double or half
---   pitch    rows up to a multiple of 32  elements from diagonal to diagonal
---   context  session's  the Context of another device
---   force    false      true: any number of elements for an entry
--- Example:
--- local C = csr.from_coo(3, 3, {1, 2, 3}, {1, 2, 3}, {1, 2, 3})
--- print(dia.from_csr(C).ndiags) --> 1
M.from_csr = sparse.dia_from_csr

--- dia.load(path [, opts]) -> Dia; nil, message if it cannot be opened
--- Reads a Matrix Market file (see mtx.read) by diagonals; refused like
--- dia.from_csr. Options as for dia.from_csr.
--- Options:
---   type  float  element type: float, double or half
--- Example:
--- dia.poisson2d(4, 4):save "p.mtx"
--- print(dia.load("p.mtx").rows) --> 16
function M.load(path, opts)
  argument.check("dia.load", "path", path, "string")
  opts = options.check(opts, "dia.load")
  local c <close>, message = csr.load(path,
    {type = opts.type, context = opts.context})
  if c == nil then
    return nil, message
  end
  return M.from_csr(c, opts)
end

return M

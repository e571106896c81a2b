-- dia.lua - sparse matrices stored by diagonals on the device, with their
-- host copies: generators, conversion from and to CSR, files.
-- SPDX-License-Identifier: MIT
local cl = require "cl"
local csr = require "clshell.data.csr"
local mtx = require "clshell.data.mtx"
local options = require "clshell.base.options"

local M = require "clshell.base.lazy".table(...)

local INT_MAX = 0x7fffffff
local ALIGN = 32    -- elements: the default pitch is a multiple of it
local WASTE = 20    -- stored elements for each entry, at most
local SMALL = 4096  -- stored elements that are never too many

local methods = {}
local meta = {__index = methods, __metatable = false, __name = "DIA matrix"}

local function whole(what, name, n, low, high)
  if math.type(n) ~= "integer" or n < low or n > high then
    cl.error(("%s: %s must be a whole number from %d to %d, got %s"):format(
      what, name, low, high, tostring(n)))
  end
end

local function checked(opts, what)
  opts = opts or {}
  options.check(opts, what)
  return opts
end

-- A matrix still on the host: type, pitch and zeroed values for these
-- offsets (a Lua table, ascending). Raises where the device cannot hold it.
local function allocate(what, rows, cols, offsets, opts)
  local pitch = opts.pitch or (rows + ALIGN - 1) // ALIGN * ALIGN
  whole(what, "pitch", pitch, rows, INT_MAX)
  local kind = opts.type or "float"
  local bytes = #offsets * pitch * cl.typesize(kind)
  local device = (opts.context or cl.context()).device
  if bytes > device.max_mem_alloc_size then
    cl.error(("%s: %d diagonals of %d elements take %d bytes, a buffer on %s "
      .. "has at most %d"):format(what, #offsets, pitch, bytes, device.name,
      device.max_mem_alloc_size))
  end
  return {
    format = "dia", rows = rows, cols = cols, ndiags = #offsets,
    pitch = pitch, type = kind, nnz = 0,
    host = {
      offsets = cl.array("int", #offsets, offsets),
      values = cl.array(kind, {#offsets, pitch}),
    },
  }
end

-- Copies the finished matrix to the device.
local function upload(m, context)
  local host, where = m.host, {context = context}
  m.offsets = cl.buffer("int", m.ndiags, host.offsets, where)
  m.values = cl.buffer(m.type, host.values.shape, host.values, where)
  return setmetatable(m, meta)
end

-- Rows first..last (from 1) of diagonal `offset` lie inside the matrix.
local function extent(m, offset)
  return math.max(1, 1 - offset), math.min(m.rows, m.cols - offset)
end

-- Checked and sorted copy of a list of offsets.
local function ascending(what, list, rows, cols)
  if type(list) ~= "table" or #list == 0 then
    cl.error(what .. ": offsets must be a table of one or more numbers")
  end
  local offsets = table.move(list, 1, #list, 1, {})
  for _, o in ipairs(offsets) do
    whole(what, "an offset", o, 1 - rows, cols - 1)
  end
  table.sort(offsets)
  for d = 2, #offsets do
    if offsets[d] == offsets[d - 1] then
      cl.error(("%s: offset %d is given twice"):format(what, offsets[d]))
    end
  end
  return offsets
end

--- dia.banded(n, offsets [, opts]) -> matrix
--- A matrix of n rows whose diagonals `offsets` (0 the main one, positive
--- above it; any order) hold random values from [0.5, 1.5), the same for the
--- same seed.
---
--- DIA matrices have rows, cols, ndiags, pitch, nnz, type, format ("dia"),
--- the buffers offsets (int, ndiags, ascending) and values (ndiags x pitch),
--- and the same as host arrays in `host`. values(d, i) belongs to row i and
--- column i + offsets[d]; places outside the matrix, and those between rows
--- and pitch, are zero. The pitch is rows rounded up to a multiple of 32
--- unless opts.pitch says otherwise. Options as for dia.from_csr.
--- Options:
---   type     float     element type: float, double or half
---   cols, m  n         columns
---   seed     1         of the values
---   lo, hi   0.5, 1.5  their range
function M.banded(n, offsets, opts)
  local what = "dia.banded"
  opts = checked(opts, what)
  local cols = opts.cols or opts.m or n
  whole(what, "rows", n, 1, INT_MAX)
  whole(what, "cols", cols, 1, INT_MAX)
  local m = allocate(what, n, cols, ascending(what, offsets, n, cols), opts)
  local values, host = m.host.values, m.host.offsets
  values:random(opts.seed or 1, opts.lo or 0.5, opts.hi or 1.5)
  for d = 1, m.ndiags do
    local first, last = extent(m, host[d])
    local start = (d - 1) * m.pitch
    values:fill(0, start + 1, start + first - 1)
    values:fill(0, start + last + 1, start + m.pitch)
    m.nnz = m.nnz + last - first + 1
  end
  return upload(m, opts.context)
end

-- Zeroes the diagonal's entries that would wrap around the end of an axis:
-- of the coordinate (i // stride) % extent, the first (at = 0) or the last.
-- `start` is the place before the diagonal's first element.
local function cut(values, start, rows, stride, length, at)
  local period = stride * length
  local runs = rows // period
  if stride <= runs then -- few long strides rather than many short runs
    for k = 1, stride do
      values:fill(0, start + at * stride + k, start + rows, period)
    end
  else
    for r = 0, runs - 1 do
      local first = start + r * period + at * stride
      values:fill(0, first + 1, first + stride)
    end
  end
end

-- The Laplacian of a grid: 2 * dims on the diagonal and -1 for each of the
-- two neighbours along every axis. Along an axis of length 1 there are none.
local function laplacian(what, dims, sizes, opts)
  local rows, axes = 1, {}
  for k = 1, dims do
    local length = sizes[k]
    whole(what, "n" .. ("xyz"):sub(k, k), length, 1, INT_MAX)
    if length > 1 then
      axes[#axes + 1] = {stride = rows, length = length}
    end
    rows = rows * length
    whole(what, "the number of grid points", rows, 1, INT_MAX)
  end
  local offsets = {}
  for k = #axes, 1, -1 do
    offsets[#offsets + 1] = -axes[k].stride
  end
  offsets[#offsets + 1] = 0
  for k = 1, #axes do
    offsets[#offsets + 1] = axes[k].stride
  end
  local m = allocate(what, rows, rows, offsets, opts)
  local values = m.host.values
  local function fill(d, v)
    local start = (d - 1) * m.pitch
    values:fill(v, start + 1, start + rows)
    return start
  end
  local main = #axes + 1
  fill(main, 2 * dims)
  m.nnz = rows
  for k, axis in ipairs(axes) do
    local stride, length = axis.stride, axis.length
    cut(values, fill(main - k, -1), rows, stride, length, 0)
    cut(values, fill(main + k, -1), rows, stride, length, length - 1)
    m.nnz = m.nnz + 2 * (rows - rows // length)
  end
  return upload(m, opts.context)
end

--- dia.poisson2d(nx, ny [, opts]) -> matrix
--- The 5-point Laplacian of a grid of nx x ny points: nx*ny rows, 4 on the
--- diagonal, -1 for each neighbour in the grid (none across the end of a
--- grid line); point (x, y), from 0, is row y*nx + x. Options as for
--- dia.from_csr.
--- Options:
---   type  float  element type: float, double or half
function M.poisson2d(nx, ny, opts)
  local what = "dia.poisson2d"
  return laplacian(what, 2, {nx, ny}, checked(opts, what))
end

--- dia.poisson3d(nx, ny, nz [, opts]) -> matrix
--- The 7-point Laplacian of a grid of nx x ny x nz points: 6 on the
--- diagonal, -1 for each neighbour; point (x, y, z), from 0, is row
--- (z*ny + y)*nx + x. Options as for dia.poisson2d.
function M.poisson3d(nx, ny, nz, opts)
  local what = "dia.poisson3d"
  return laplacian(what, 3, {nx, ny, nz}, checked(opts, what))
end

-- The offsets that occur, ascending; the main diagonal for an empty matrix.
local function occupied(c)
  local ptr, col = c.host.row_ptr, c.host.col_ind
  local seen, offsets = {}, {}
  local first = 1
  for i = 1, c.rows do
    local last = ptr[i + 1]
    for k = first, last do
      local o = col[k] + 1 - i
      if not seen[o] then
        seen[o] = true
        offsets[#offsets + 1] = o
      end
    end
    first = last + 1
  end
  table.sort(offsets)
  return #offsets > 0 and offsets or {0}
end

--- dia.from_csr(M [, opts]) -> matrix
--- A CSR matrix by diagonals; a matrix without entries gets one diagonal of
--- zeros. Refused when more than 20 elements would be stored for each entry
--- (small matrices excepted), and when the device cannot hold that in one
--- buffer.
--- Options:
---   type     M's        element type: float, double or half
---   pitch    rows up to a multiple of 32  elements from diagonal to diagonal
---   context  session's  the Context of another device
---   force    false      true: any number of elements for an entry
function M.from_csr(c, opts)
  local what = "dia.from_csr"
  opts = checked(opts, what)
  local offsets = occupied(c)
  local stored = #offsets * c.rows
  if stored > SMALL and stored > WASTE * c.nnz and not opts.force then
    cl.error(("%s: %d diagonals of %d rows store %d elements for %d entries, "
      .. "more than %d for each"):format(what, #offsets, c.rows, stored,
      c.nnz, WASTE), {hint = "keep the matrix in CSR, or say {force = true}"})
  end
  local m = allocate(what, c.rows, c.cols, offsets, {
    type = opts.type or c.type, pitch = opts.pitch, context = opts.context,
  })
  local start = {} -- of an offset: the place before its diagonal
  for d, o in ipairs(offsets) do
    start[o] = (d - 1) * m.pitch
  end
  local ptr, col, val = c.host.row_ptr, c.host.col_ind, c.host.values
  local values, first = m.host.values, 1
  for i = 1, c.rows do
    local last = ptr[i + 1]
    for k = first, last do
      values[start[col[k] + 1 - i] + i] = val[k]
    end
    first = last + 1
  end
  m.nnz = c.nnz
  return upload(m, opts.context)
end

--- dia.load(path [, opts]) -> matrix; nil, message if it cannot be opened
--- Reads a Matrix Market file (see mtx.read) by diagonals; refused like
--- dia.from_csr. Options as for dia.from_csr.
--- Options:
---   type  float  element type: float, double or half
function M.load(path, opts)
  opts = checked(opts, "dia.load")
  local m, message = mtx.read(path)
  if m == nil then
    return nil, message
  end
  local c <close> = csr.from_coo(m.rows, m.cols, m.i, m.j, m.v,
    {type = opts.type, context = opts.context})
  return M.from_csr(c, opts)
end

--- Dia:to_csr([opts]) -> CSR matrix
--- The same matrix in compressed sparse row format (see csr.from_coo); stored
--- zeros are dropped.
--- Options:
---   context  that of M  the Context of another device
function methods:to_csr(opts)
  opts = opts or {}
  options.check(opts, "Dia:to_csr")
  local ptr, col, val = require "cl.host".dia_to_csr(self.host.values,
    self.host.offsets,
    {rows = self.rows, cols = self.cols, pitch = self.pitch})
  return csr.wrap(self.rows, self.cols, ptr[self.rows + 1],
    {row_ptr = ptr, col_ind = col, values = val},
    opts.context or self.values.context)
end

--- Dia:save(path [, opts])
--- Writes the entries that are not zero as a Matrix Market file. Options as
--- for Csr:save.
function methods:save(path, opts)
  local c <close> = self:to_csr()
  c:save(path, opts)
end

--- Dia:info() -> table
--- format, type, rows, cols, nnz, ndiags, pitch, bytes (on the device), lower
--- and upper (the outermost offsets) and fill, the part of the stored
--- elements that are entries.
function methods:info()
  return {
    format = self.format, type = self.type, rows = self.rows,
    cols = self.cols, nnz = self.nnz, ndiags = self.ndiags,
    pitch = self.pitch, bytes = self.offsets.bytes + self.values.bytes,
    lower = self.host.offsets[1], upper = self.host.offsets[self.ndiags],
    fill = self.nnz / (self.ndiags * self.pitch),
  }
end

--- Dia:close()
--- Releases the device and host memory now; closing twice is fine.
function methods:close()
  for _, name in ipairs{"offsets", "values"} do
    self[name]:close()
    self.host[name]:close()
  end
end

meta.__close = methods.close

function meta:__tostring()
  return ("DIA matrix %d x %d of %s, %d diagonals, %d entries"):format(
    self.rows, self.cols, self.type, self.ndiags, self.nnz)
end

return M

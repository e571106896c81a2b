-- data/sparse.lua - sparse matrices on the device with their host copies, in
-- compressed sparse row format (CSR) and by diagonals (DIA): the objects,
-- their methods, and the conversions between the formats
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local integer = require "clshell.base.integer"
local mtx = require "clshell.data.mtx"
local options = require "clshell.base.options"
local class_of = require "clshell.base.text".class

local M = {}

local INT_MAX = 0x7fffffff -- the kernels index with int
local ALIGN = 32    -- elements: the default pitch of DIA is a multiple of it
local WASTE = 20    -- stored elements for each entry, at most
local SMALL = 4096  -- stored elements that are never too many

local csr, dia = {}, {} -- the methods
local csr_meta = {__index = csr, __metatable = false, __name = "CSR matrix"}
local dia_meta = {__index = dia, __metatable = false, __name = "DIA matrix"}

-- A matrix of host arrays, which it takes over: row_ptr (rows + 1) and
-- col_ind are int and 0-based, columns ascend inside a row. A matrix without
-- entries keeps one dummy element in col_ind and values, for buffers cannot
-- be empty.
function M.csr(rows, cols, nnz, host, context)
  local where = {context = context}
  local function upload(h)
    return cl.buffer(h.type, #h, h, where)
  end
  return setmetatable({
    format = "csr", rows = rows, cols = cols, nnz = nnz,
    type = host.values.type, host = host,
    row_ptr = upload(host.row_ptr), col_ind = upload(host.col_ind),
    values = upload(host.values),
  }, csr_meta)
end

-- A matrix still on the host: type, pitch and zeroed values for these
-- offsets (a Lua table, ascending). Raises where the device cannot hold it.
function M.new_dia(what, rows, cols, offsets, opts)
  local pitch = opts.pitch or (rows + ALIGN - 1) // ALIGN * ALIGN
  integer.check(what, "pitch", pitch, rows, INT_MAX)
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
function M.upload_dia(m, context)
  local host, where = m.host, {context = context}
  m.offsets = cl.buffer("int", m.ndiags, host.offsets, where)
  m.values = cl.buffer(m.type, host.values.shape, host.values, where)
  return setmetatable(m, dia_meta)
end

-- Rows first .. first + rows - 1 of a DIA matrix and its columns from `col`
-- on, as a matrix in a context: entries of other columns fall away. The host
-- reads the values when it needs them.
function M.dia_rows(m, first, rows, col, cols, context)
  local offsets, from = {}, {}
  for d = 1, m.ndiags do
    local offset = m.host.offsets[d] + first - col
    if offset > -rows and offset < cols then
      offsets[#offsets + 1], from[#from + 1] = offset, d
    end
  end
  offsets[1] = offsets[1] or 0
  local pitch, nnz = (rows + ALIGN - 1) // ALIGN * ALIGN, 0
  local values = cl.buffer(m.type, {#offsets, pitch}, 0, {context = context})
  for k, d in ipairs(from) do
    m.values:copy(values, {from = {d, first}, size = {1, rows}, to = {k, 1}})
    nnz = nnz + math.min(rows, cols - offsets[k])
      - math.max(1, 1 - offsets[k]) + 1
  end
  local host = setmetatable({offsets = cl.array("int", #offsets, offsets)},
    {__index = function(h, key)
      if key == "values" then
        h.values = values:read()
        return h.values
      end
    end})
  return setmetatable({
    format = "dia", rows = rows, cols = cols, ndiags = #offsets,
    pitch = pitch, type = m.type, nnz = nnz, host = host, values = values,
    offsets = cl.buffer("int", #offsets, host.offsets, {context = context}),
  }, dia_meta)
end

-- Rows of a CSR matrix in the same way; its columns are those from `col` on,
-- which hold all entries of the rows. It has no host copy.
function M.csr_rows(m, first, rows, col, cols, context)
  local ptr = m.row_ptr:read{first = first, count = rows + 1}
  local base, nnz = ptr[1], ptr[rows + 1] - ptr[1]
  local function bring(b, at, count, less)
    local part = (b:slice(at, at + count - 1) - less):eval()
    local out = cl.buffer(b.type, count, nil, {context = context})
    part:copy(out)
    return out
  end
  local entries = math.max(1, nnz)
  local at = math.min(base + 1, #m.values - entries + 1)
  return setmetatable({
    format = "csr", rows = rows, cols = cols, nnz = nnz, type = m.type,
    host = {}, row_ptr = bring(m.row_ptr, first, rows + 1, base),
    col_ind = bring(m.col_ind, at, entries, col - 1),
    values = bring(m.values, at, entries, 0),
  }, csr_meta)
end

-- Calls visit(i, j, value) for each entry of a CSR matrix, from (1, 1).
local function each(c, visit)
  local ptr, col, val = c.host.row_ptr, c.host.col_ind, c.host.values
  local first = 1
  for i = 1, c.rows do
    local last = ptr[i + 1]
    for k = first, last do
      visit(i, col[k] + 1, val[k])
    end
    first = last + 1
  end
end

-- The offsets that occur, ascending; the main diagonal for an empty matrix.
local function occupied(c)
  local seen, offsets = {}, {}
  each(c, function(i, j)
    if not seen[j - i] then
      seen[j - i] = true
      offsets[#offsets + 1] = j - i
    end
  end)
  table.sort(offsets)
  return #offsets > 0 and offsets or {0}
end

-- dia.from_csr: a CSR matrix by diagonals.
function M.dia_from_csr(c, opts)
  local what = "dia.from_csr"
  opts = options.check(opts, what)
  if class_of(c) ~= "CSR matrix" then
    cl.error(("%s: the matrix must be one in CSR, such as csr.load 'm.mtx'; "
      .. "got %s"):format(what, c == nil and "nothing" or class_of(c)
      or type(c)))
  end
  local offsets = occupied(c)
  local stored = #offsets * c.rows
  if stored > SMALL and stored > WASTE * c.nnz and not opts.force then
    cl.error(("%s: %d diagonals of %d rows store %d elements for %d entries, "
      .. "more than %d for each"):format(what, #offsets, c.rows, stored,
      c.nnz, WASTE), {hint = "keep the matrix in CSR, or say {force = true}"})
  end
  local m = M.new_dia(what, c.rows, c.cols, offsets, {
    type = opts.type or c.type, pitch = opts.pitch, context = opts.context,
  })
  local start = {} -- of an offset: the place before its diagonal
  for d, o in ipairs(offsets) do
    start[o] = (d - 1) * m.pitch
  end
  local values = m.host.values
  each(c, function(i, j, v)
    values[start[j - i] + i] = v
  end)
  m.nnz = c.nnz
  return M.upload_dia(m, opts.context)
end

-- Closes these arrays of a matrix, on the device and on the host.
local function release(matrix, ...)
  for _, name in ipairs{...} do
    matrix[name]:close()
    local copy = rawget(matrix.host, name)
    if copy then
      copy:close()
    end
  end
end

-- The value at (i, j), nil where nothing is stored.
local function find(c, i, j)
  local ptr, col, val = c.host.row_ptr, c.host.col_ind, c.host.values
  local low, high = ptr[i] + 1, ptr[i + 1]
  while low <= high do
    local middle = (low + high) // 2
    local found = col[middle] + 1
    if found == j then
      return val[middle]
    elseif found < j then
      low = middle + 1
    else
      high = middle - 1
    end
  end
end

-- Number of entries on or below the diagonal; raises unless symmetric.
local function lower(self, path)
  if self.rows ~= self.cols then
    cl.error(("%s: a %d x %d matrix is not symmetric"):format(path, self.rows,
      self.cols))
  end
  local n = 0
  each(self, function(i, j, v)
    local other = find(self, j, i)
    if other ~= v then
      cl.error(("%s: the matrix is not symmetric: (%d, %d) is %s, (%d, %d) "
        .. "is %s"):format(path, i, j, v, j, i, other or "missing"))
    end
    n = j <= i and n + 1 or n
  end)
  return n
end

--- Csr:save(path [, opts])
--- Writes a Matrix Market coordinate file ("x.mtx"). Numbers keep their full
--- precision.
--- Options:
---   symmetric  false  true: just the lower triangle; the matrix has to be
---              symmetric
function csr:save(path, opts)
  opts = options.check(opts, "Csr:save")
  local half = opts.symmetric
  local banner = {
    rows = self.rows, cols = self.cols, type = self.type,
    nnz = half and lower(self, path) or self.nnz,
    symmetry = half and "symmetric" or "general",
  }
  mtx.write(path, banner, function(emit)
    each(self, function(i, j, v)
      if not half or j <= i then
        emit(i, j, v)
      end
    end)
  end)
end

--- Csr:to_dia([opts]) -> DIA matrix
--- The matrix by diagonals, refused like dia.from_csr. Options as for
--- dia.from_csr.
function csr:to_dia(opts)
  return M.dia_from_csr(self, opts)
end

--- Csr:info() -> table
--- format, type, rows, cols, nnz, bytes (on the device) and the entries of a
--- row: row_min, row_max, row_mean.
function csr:info()
  local ptr = self.host.row_ptr
  local least, most = INT_MAX, 0
  for i = 1, self.rows do
    local n = ptr[i + 1] - ptr[i]
    least, most = math.min(least, n), math.max(most, n)
  end
  return {
    format = self.format, type = self.type, rows = self.rows,
    cols = self.cols, nnz = self.nnz, row_min = least, row_max = most,
    row_mean = self.nnz / self.rows,
    bytes = self.row_ptr.bytes + self.col_ind.bytes + self.values.bytes,
  }
end

--- Csr:close()
--- Releases the device and host memory now; closing twice is fine.
function csr:close()
  release(self, "row_ptr", "col_ind", "values")
end

function csr_meta:__tostring()
  return ("CSR matrix %d x %d of %s, %d entries"):format(self.rows,
    self.cols, self.type, self.nnz)
end

--- Dia:to_csr([opts]) -> CSR matrix
--- The matrix in compressed sparse row format (see csr.from_coo); stored zeros
--- are dropped.
--- Options:
---   context  that of M  the Context of another device
function dia:to_csr(opts)
  opts = options.check(opts, "Dia:to_csr")
  local ptr, col, val = require "cl.host".dia_to_csr(self.host.values,
    self.host.offsets,
    {rows = self.rows, cols = self.cols, pitch = self.pitch})
  return M.csr(self.rows, self.cols, ptr[self.rows + 1],
    {row_ptr = ptr, col_ind = col, values = val},
    opts.context or self.values.context)
end

--- Dia:save(path [, opts])
--- Writes the entries that are not zero as a Matrix Market file. Options as
--- for Csr:save.
function dia:save(path, opts)
  local c <close> = self:to_csr()
  c:save(path, opts)
end

--- Dia:info() -> table
--- format, type, rows, cols, nnz, ndiags, pitch, bytes (on the device), lower
--- and upper (the outermost offsets) and fill, the part of the stored
--- elements that are entries.
function dia:info()
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
function dia:close()
  release(self, "offsets", "values")
end

function dia_meta:__tostring()
  return ("DIA matrix %d x %d of %s, %d diagonals, %d entries"):format(
    self.rows, self.cols, self.type, self.ndiags, self.nnz)
end

argument.methods("Csr", csr, csr_meta.__name)
argument.methods("Dia", dia, dia_meta.__name)
csr_meta.__close, dia_meta.__close = csr.close, dia.close

return M

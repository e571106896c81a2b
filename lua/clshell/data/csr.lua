-- csr.lua - sparse matrices in compressed sparse row format on the device,
-- with their host copies.
-- SPDX-License-Identifier: MIT
local cl = require "cl"
local mtx = require "clshell.data.mtx"
local options = require "clshell.base.options"

local M = require "clshell.base.lazy".table(...)

local INT_MAX = 0x7fffffff -- row_ptr and col_ind are int

local methods = {}
local meta = {__index = methods, __metatable = false, __name = "CSR matrix"}

-- A matrix of host arrays, which it takes over: row_ptr (rows + 1) and
-- col_ind are int and 0-based, columns ascend inside a row. A matrix without
-- entries keeps one dummy element in col_ind and values, for buffers cannot
-- be empty.
function M.wrap(rows, cols, nnz, host, context)
  local where = {context = context}
  local function upload(h)
    return cl.buffer(h.type, #h, h, where)
  end
  return setmetatable({
    format = "csr", rows = rows, cols = cols, nnz = nnz,
    type = host.values.type, host = host,
    row_ptr = upload(host.row_ptr), col_ind = upload(host.col_ind),
    values = upload(host.values),
  }, meta)
end

-- Raises unless the triplets make a matrix that int can index.
local function check(rows, cols, is, js, vs)
  for name, n in pairs{rows = rows, cols = cols} do
    if math.type(n) ~= "integer" or n < 1 or n > INT_MAX then
      cl.error(("csr.from_coo: %s must be a whole number from 1 to %d, got "
        .. "%s"):format(name, INT_MAX, n))
    end
  end
  if #is ~= #js or #is ~= #vs then
    cl.error(("csr.from_coo: %d row indices, %d column indices and %d values")
      :format(#is, #js, #vs))
  elseif #is > INT_MAX then
    cl.error(("csr.from_coo: %d entries, at most %d can be indexed")
      :format(#is, INT_MAX))
  end
end

-- The places of the entries sorted by row, as a Lua table, and row_ptr:
-- a counting sort, stable.
local function by_row(rows, cols, is, js)
  local n = #is
  local ptr = cl.array("int", rows + 1)
  for k = 1, n do
    local i, j = is[k], js[k]
    if i < 1 or i > rows or j < 1 or j > cols then
      cl.error(("csr.from_coo: entry %d is at (%s, %s), outside %d x %d")
        :format(k, i, j, rows, cols))
    end
    ptr[i + 1] = ptr[i + 1] + 1
  end
  for i = 2, rows + 1 do
    ptr[i] = ptr[i] + ptr[i - 1]
  end
  local order = {}
  for k = 1, n do
    order[k] = 0
  end
  for k = 1, n do -- ptr[i] moves from the start of row i to its end
    local at = ptr[is[k]] + 1
    order[at], ptr[is[k]] = k, at
  end
  for i = rows, 1, -1 do
    ptr[i + 1] = ptr[i]
  end
  ptr[1] = 0
  return order, ptr
end

-- Sorts order[first..last] by column; entries of one column stay in place.
local function sort_row(order, js, first, last)
  local sorted = true
  for q = first + 1, last do
    if js[order[q]] < js[order[q - 1]] then
      sorted = false
      break
    end
  end
  if sorted then
    return
  end
  local keys = {} -- column and place in one integer: no comparison function
  for q = first, last do
    keys[q - first + 1] = js[order[q]] << 32 | order[q]
  end
  table.sort(keys)
  for q = first, last do
    order[q] = keys[q - first + 1] & 0xffffffff
  end
end

-- The first n elements as an array of their own.
local function head(h, n)
  local short = cl.array(h.type, n)
  for k = 1, n do
    short[k] = h[k]
  end
  h:close()
  return short
end

--- csr.from_coo(rows, cols, i, j, v [, opts]) -> matrix
--- The CSR matrix of the triplets (i[k], j[k], v[k]), Lua tables or host
--- arrays of one length: 1-based indices in any order, entries given twice
--- add up (in double). The matrix has
--- rows, cols, nnz, type, format ("csr"), the buffers row_ptr (int, rows + 1,
--- 0-based), col_ind (int, nnz, 0-based, ascending in a row) and values (nnz),
--- and the same as host arrays in `host`. A matrix without entries is legal;
--- its col_ind and values then hold one unused element.
--- Options:
---   type     float      element type: float, double or half
---   context  session's  the Context of another device
function M.from_coo(rows, cols, is, js, vs, opts)
  opts = opts or {}
  options.check(opts, "csr.from_coo")
  check(rows, cols, is, js, vs)
  local kind = opts.type or "float"
  local order, ptr = by_row(rows, cols, is, js)
  local room = math.max(#order, 1)
  local col, val = cl.array("int", room), cl.array(kind, room)
  local n, first = 0, 1
  for i = 1, rows do
    local last = ptr[i + 1]
    if last > first then
      sort_row(order, js, first, last)
    end
    local q = first
    while q <= last do
      local k = order[q]
      local j, v = js[k], vs[k]
      q = q + 1
      while q <= last and js[order[q]] == j do
        v, q = v + vs[order[q]], q + 1
      end
      n = n + 1
      col[n], val[n] = j - 1, v
    end
    ptr[i + 1], first = n, last + 1
  end
  if n > 0 and n < room then -- some were added up
    col, val = head(col, n), head(val, n)
  end
  return M.wrap(rows, cols, n, {row_ptr = ptr, col_ind = col, values = val},
    opts.context)
end

--- csr.load(path [, opts]) -> matrix; nil, message if it cannot be opened
--- Reads a Matrix Market file (see mtx.read) into a CSR matrix. Entries given
--- twice add up. Options as for csr.from_coo.
function M.load(path, opts)
  local m, message = mtx.read(path)
  if m == nil then
    return nil, message
  end
  return M.from_coo(m.rows, m.cols, m.i, m.j, m.v, opts)
end

-- The value at (i, j), nil where nothing is stored.
local function find(ptr, col, val, i, j)
  local low, high = ptr[i] + 1, ptr[i + 1]
  while low <= high do
    local middle = (low + high) // 2
    local c = col[middle] + 1
    if c == j then
      return val[middle]
    elseif c < j then
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
  local ptr, col, val =
    self.host.row_ptr, self.host.col_ind, self.host.values
  local n = 0
  for i = 1, self.rows do
    for k = ptr[i] + 1, ptr[i + 1] do
      local j = col[k] + 1
      local other = find(ptr, col, val, j, i)
      if other ~= val[k] then
        cl.error(("%s: the matrix is not symmetric: (%d, %d) is %s, (%d, %d) "
          .. "is %s"):format(path, i, j, val[k], j, i, other or "missing"))
      end
      n = j <= i and n + 1 or n
    end
  end
  return n
end

--- Csr:save(path [, opts])
--- Writes a Matrix Market coordinate file ("x.mtx"). Numbers keep their full
--- precision.
--- Options:
---   symmetric  false  true: just the lower triangle; the matrix has to be
---              symmetric
function methods:save(path, opts)
  opts = opts or {}
  options.check(opts, "Csr:save")
  local half = opts.symmetric
  local ptr, col, val =
    self.host.row_ptr, self.host.col_ind, self.host.values
  local banner = {
    rows = self.rows, cols = self.cols, type = self.type,
    nnz = half and lower(self, path) or self.nnz,
    symmetry = half and "symmetric" or "general",
  }
  mtx.write(path, banner, function(emit)
    for i = 1, self.rows do
      for k = ptr[i] + 1, ptr[i + 1] do
        local j = col[k] + 1
        if not half or j <= i then
          emit(i, j, val[k])
        end
      end
    end
  end)
end

--- Csr:to_dia([opts]) -> DIA matrix
--- The same matrix by diagonals, refused like dia.from_csr. Options as for
--- dia.from_csr.
function methods:to_dia(opts)
  return require("clshell.data.dia").from_csr(self, opts)
end

--- Csr:info() -> table
--- format, type, rows, cols, nnz, bytes (on the device) and the entries of a
--- row: row_min, row_max, row_mean.
function methods:info()
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
function methods:close()
  for _, name in ipairs{"row_ptr", "col_ind", "values"} do
    self[name]:close()
    self.host[name]:close()
  end
end

meta.__close = methods.close

function meta:__tostring()
  return ("CSR matrix %d x %d of %s, %d entries"):format(self.rows,
    self.cols, self.type, self.nnz)
end

return M

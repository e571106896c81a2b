-- data/sparse.lua - sparse matrices on the device with their host copies, in
-- compressed sparse row format (CSR), by diagonals (DIA), by diagonals with
-- rows of few patterns, and some mirrored (packed), and by rows with indexes
-- of 16 bits (packed CSR): the objects, their methods, and the conversions
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local host_of = require "cl.host"
local mtx = require "clshell.data.mtx"
local options = require "clshell.base.options"
local text = require "clshell.base.text"
local class_of = text.class

local M = {}

local INT_MAX = 0x7fffffff -- the kernels index with int
local ALIGN = 32    -- elements: the default pitch of DIA is a multiple of it
local WASTE = 20    -- stored elements for each entry, at most
local SMALL = 4096  -- stored elements that are never too many
local MOST, ROWS = 256, 16 -- patterns of a packed matrix; rows for each one
-- By element type: unsigned integers of as many bytes.
M.unsigned = {half = "ushort", float = "uint", double = "ulong"}

local NUMBERS = text.set "char uchar short ushort int uint long ulong"

local csr, dia, packed, packed_csr = {}, {}, {}, {} -- the methods
local csr_meta = {__index = csr, __metatable = false, __name = "CSR matrix"}
local dia_meta = {__index = dia, __metatable = false, __name = "DIA matrix"}
local packed_meta = {__index = packed, __metatable = false,
  __name = "packed matrix"}
local packed_csr_meta = {__index = packed_csr, __metatable = false,
  __name = "packed CSR matrix"}

-- The element type of options, checked. spmv takes the types of reals; other
-- numbers are shown and saved.
function M.real(what, kind)
  kind = kind or "float"
  if not M.unsigned[kind] and not NUMBERS[kind] then
    argument.refuse(what, "type", "must be a type of numbers, such as float; "
      .. "got %s", type(kind) == "string" and kind or text.got(kind))
  end
  return kind
end

-- A matrix of host arrays, which it takes over: row_ptr (rows + 1) and
-- col_ind are int and 0-based, columns ascend inside a row. A matrix without
-- entries keeps one dummy element in col_ind and values. row_max has the
-- entries of the longest row as it is made.
function M.csr(rows, cols, nnz, host, context)
  local where = {context = context}
  local function upload(h)
    return cl.buffer(h.type, #h, h, where)
  end
  local _, longest = host_of.csr_lengths(host.row_ptr)
  return setmetatable({
    format = "csr", rows = rows, cols = cols, nnz = nnz, row_max = longest,
    type = host.values.type, host = host,
    row_ptr = upload(host.row_ptr), col_ind = upload(host.col_ind),
    values = upload(host.values),
  }, csr_meta)
end

-- The first and the last row (from 1) of diagonal `offset` inside the matrix.
function M.extent(m, offset)
  return math.max(1, 1 - offset), math.min(m.rows, m.cols - offset)
end

-- Whether diagonal `offset` is read from its mirror, where diagonals k and -k
-- mirror each other: true for the shorter one, in a square matrix the lower
-- one. Its element in column j is the mirror's element in row j of the matrix.
function M.is_mirrored(m, offset)
  return offset ~= 0 and (offset < 0) == (m.rows <= m.cols)
end

-- A matrix still on the host: type, pitch and zeroed values for a list of
-- offsets, ascending. Raises where the device cannot hold it.
function M.new_dia(what, rows, cols, offsets, opts)
  local pitch = opts.pitch or (rows + ALIGN - 1) // ALIGN * ALIGN
  argument.integer(what, "pitch", pitch, rows, INT_MAX)
  local kind = M.real(what, opts.type)
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

-- Rows of a CSR matrix, likewise; its columns from `col` on hold all entries
-- of the rows. The new matrix has no host copy.
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

-- The offsets of all entries, ascending; for no entries the main diagonal.
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
    local at = start[j - i] + i
    values[at] = v
    mtx.fit(what, values[at], v, i, j, m.type)
  end)
  m.nnz = c.nnz
  return M.upload_dia(m, opts.context)
end

-- Closes all arrays of a matrix, on the device and on the host.
local function close(self)
  for _, list in ipairs{self, self.host} do
    for _, array in next, list do
      if type(array) == "userdata" then
        array:close()
      end
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
--- Example: csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):save("c.mtx")
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

--- Csr:to_dia([opts]) -> Dia
--- The matrix by diagonals, refused like dia.from_csr. Options as for
--- dia.from_csr.
--- Example:
--- local M = csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):to_dia()
--- print(M.ndiags) --> 1
function csr:to_dia(opts)
  return M.dia_from_csr(self, opts)
end

--- Csr:info() -> table
--- format, type, rows, cols, nnz, bytes (on the device) and the entries of a
--- row: row_min, row_max, row_mean.
--- Example:
--- print(csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):info().row_max) --> 1
function csr:info()
  local least, most = host_of.csr_lengths(self.host.row_ptr)
  return {
    format = self.format, type = self.type, rows = self.rows,
    cols = self.cols, nnz = self.nnz, row_min = least, row_max = most,
    row_mean = self.nnz / self.rows,
    bytes = self.row_ptr.bytes + self.col_ind.bytes + self.values.bytes,
  }
end

--- Csr:close()
--- Releases the device and host memory now; closing twice is fine.
--- Example:
--- local M <close> = csr.from_coo(2, 2, {1}, {1}, {5})
--- M:close()
csr.close = close

function csr_meta:__tostring()
  return ("CSR matrix %d x %d of %s, %d entries"):format(self.rows,
    self.cols, self.type, self.nnz)
end

-- The device's present arrays on the host, with the options of cl.host.
local function by_rows(m)
  return {row_ptr = m.row_ptr:read(), col_ind = m.col_ind:read(),
    values = m.values:read()}, {rows = m.rows, cols = m.cols}
end

--- Csr:transposed() -> Csr
--- The transposed matrix of the device's present values, a matrix of its own.
--- spmv with trans = true needs none.
--- Example: print(csr.from_coo(2, 3, {1}, {3}, {5}):transposed().rows) --> 3
function csr:transposed()
  local h, sizes = by_rows(self)
  local ptr, col, val = host_of.csr_transpose(h.row_ptr, h.col_ind, h.values,
    sizes)
  return M.csr(self.cols, self.rows, self.nnz,
    {row_ptr = ptr, col_ind = col, values = val}, self.values.context)
end

local turned = setmetatable({}, {__mode = "k"}) -- by matrix

-- The indexes of a transposed CSR matrix, and the place of each value. They
-- are kept until scripts or kernels have written other indexes, which the
-- device finds by the copies `of`; values are not kept.
function M.transposed_indexes(m)
  local T = turned[m]
  local function same(name)
    local b, kept = m[name], T.of[name]
    return not T[name].closed and b.context == kept.context and #b == #kept
      and not b:ne(kept):any()
  end
  if not T or T.rows ~= m.cols or T.cols ~= m.rows or not same "row_ptr"
      or not same "col_ind" then
    local h, sizes = by_rows(m)
    local ptr, col, _, places = host_of.csr_transpose(h.row_ptr, h.col_ind,
      h.values, sizes)
    local where = {context = m.values.context}
    local function upload(a)
      return cl.buffer("int", #a, a, where)
    end
    T = {rows = m.cols, cols = m.rows, row_ptr = upload(ptr),
      col_ind = upload(col), places = upload(places),
      of = {row_ptr = upload(h.row_ptr), col_ind = upload(h.col_ind)}}
    turned[m] = T
  end
  return T
end

-- The elements of a packed CSR matrix's tables that no chunk has of its own.
local PAGE, CHUNK = 256, 1024 -- as in hostcsr.c

--- Csr:pack() -> PackedCsr
--- The matrix with indexes of 16 bits, without loss, for spmv, whose kernel
--- `csr_packed` then reads 6 bytes for an entry of float, not 8. Rows are cut
--- into chunks of at most 1024 entries: the columns of a chunk lie in pages of
--- 256, and an entry has the number of its page and its place there. A chunk
--- that uses too many pages has the lower 16 bits of its columns and the upper
--- bits apart, 3 bytes an entry up to 2^24 columns. A row of more entries than
--- the others in its chunk begins a chunk of its own, and a longer one is cut.
---
--- A packed matrix stands alone: later writes to M do not change it. Packing
--- reads the device's present values and takes the host 10 to 30 ms for a
--- million entries. It pays on an H100 for rows of about one length in double,
--- at best after 11,000 products (45 entries a row, 4 M in all: after 26,000;
--- 17 M: never). In float, for rows of very different lengths and on CPUs CSR
--- is as fast or faster; spmv never packs unasked. Printed, it tells that, its
--- bytes, and the seconds that packing took. It has rows, cols, nnz, type,
--- format ("packed_csr"), seconds, row_max, index_bytes (the bytes of indexes
--- that a product reads), the Buffers chunks, row_ptr, near, pages, far, split
--- and values, and in `host` row_ptr, col_ind and values. Its fields are for
--- reading.
--- Example:
--- local P = csr.road(10000):pack()
--- local y = spmv(P, cl.buffer("float", P.cols, 1))
--- print(P.format, #y) --> packed_csr 10000
function csr:pack(...)
  if select("#", ...) > 0 then
    cl.error("Csr:pack: takes nothing; got " .. text.got((...)),
      {hint = "M:pack()"})
  end
  local start = cl.now()
  local h, sizes = by_rows(self)
  local chunks, near, pages, far, split, longest = host_of.csr_pack(h.row_ptr,
    h.col_ind, sizes)
  local function upload(a)
    return cl.buffer(a.type, #a, a, {context = self.values.context})
  end
  local P = setmetatable({
    format = "packed_csr", rows = self.rows, cols = self.cols, nnz = self.nnz,
    type = self.type, host = h, chunks = upload(chunks),
    row_ptr = upload(h.row_ptr), near = upload(near), pages = upload(pages),
    far = upload(far), split = upload(split), values = upload(h.values),
    pieces = split[#split], row_max = longest,
    index_bytes = chunks.bytes + h.row_ptr.bytes + 2 * self.nnz
      + 4 * (#pages - PAGE) + cl.typesize(far.type) * (#far - CHUNK),
  }, packed_csr_meta)
  P.seconds = cl.now() - start
  return P
end

--- PackedCsr:to_csr() -> Csr
--- The matrix in compressed sparse row format again.
--- Example: print(csr.road(100):pack():to_csr().format) --> csr
function packed_csr:to_csr()
  local h = {}
  for name, array in pairs(self.host) do
    h[name] = array:copy()
  end
  return M.csr(self.rows, self.cols, self.nnz, h, self.values.context)
end

--- PackedCsr:info() -> table
--- format, type, rows, cols, nnz; chunks, their number, and pieces, of long
--- rows; row_max, the entries of the longest row; seconds, of the packing;
--- bytes, of values and indexes that a product reads, and csr_bytes, of a
--- product in CSR.
--- Example: print(csr.road(100):pack():info().chunks) --> 1
function packed_csr:info()
  local values = self.nnz * cl.typesize(self.type)
  return {
    format = self.format, type = self.type, rows = self.rows,
    cols = self.cols, nnz = self.nnz, chunks = #self.chunks // 4 - 1,
    pieces = self.pieces, row_max = self.row_max, seconds = self.seconds,
    bytes = values + self.index_bytes,
    csr_bytes = values + 4 * (self.nnz + self.rows + 1),
  }
end

--- PackedCsr:close()
--- Releases the device and host memory now; closing twice is fine.
--- Example:
--- local P <close> = csr.road(100):pack()
--- P:close()
packed_csr.close = close

function packed_csr_meta:__tostring()
  local head = ("packed CSR matrix %d x %d of %s"):format(self.rows, self.cols,
    self.type)
  if self.values.closed then
    return head .. " (closed)"
  end
  local i, quantity = self:info(), require "clshell.base.quantity"
  local dev, reason = self.values.context.device, nil
  if dev.type == "cpu" then
    reason = "CPUs are as fast in CSR"
  elseif i.row_max <= 8 and self.nnz <= 4 * self.rows then
    reason = "rows this short are as fast in CSR"
  elseif dev.nv_compute_capability_major and (self.type == "float"
      or i.row_max * self.rows > 8 * self.nnz) then
    reason = "NVIDIA GPUs are as fast in CSR but for even rows of double"
  end
  return ("%s, %d entries: %s instead of %s, packed in %s%s"):format(head,
    self.nnz, text.bytes(i.bytes), text.bytes(i.csr_bytes),
    quantity.format(i.seconds, "s", 2),
    reason and ";\nit does not pay here: " .. reason or "")
end

--- Dia:to_csr([opts]) -> Csr
--- The matrix in compressed sparse row format (see csr.from_coo); stored zeros
--- are dropped.
--- Options:
---   context  the context of M  the Context of another device
--- Example:
--- local C = dia.poisson2d(4, 4):to_csr()
--- print(C.format, C.nnz) --> csr 64
function dia:to_csr(opts)
  opts = options.check(opts, "Dia:to_csr")
  local ptr, col, val = host_of.dia_to_csr(self.host.values,
    self.host.offsets,
    {rows = self.rows, cols = self.cols, pitch = self.pitch})
  return M.csr(self.rows, self.cols, ptr[self.rows + 1],
    {row_ptr = ptr, col_ind = col, values = val},
    opts.context or self.values.context)
end

--- Dia:save(path [, opts])
--- Writes the entries that are not zero as a Matrix Market file. Options as
--- for Csr:save.
--- Example: dia.poisson2d(4, 4):save("p.mtx", {symmetric = true})
function dia:save(path, opts)
  local c <close> = self:to_csr()
  c:save(path, opts)
end

-- Types that can hold values of a type exactly, the smallest first.
local AS = {half = {"half"}, float = {"half", "float"},
  double = {"half", "float", "double"}}

-- The values of diagonal d as they lie on the device; outside the matrix they
-- are 0.
local function line(m, d)
  local h = m.values:read{from = {d, 1}, size = {1, m.rows}}
  local first, last = M.extent(m, m.host.offsets[d])
  return h:fill(0, 1, math.min(first - 1, m.rows))
    :fill(0, math.max(last, 0) + 1, m.rows)
end

-- The smallest type that holds the values of all these diagonals exactly.
local function narrowest(m, list)
  local types, k = AS[m.type], 1
  for _, d in ipairs(list) do
    local h <close> = line(m, d)
    while k < #types do
      local narrow <close> = h:convert(types[k])
      local back <close> = narrow:convert(m.type)
      if back:equal(h) then
        break
      end
      k = k + 1
    end
  end
  return types[k]
end

-- A list of diagonals on the device, in a type, each `stride` elements long.
local function store(m, list, kind, stride)
  local where = {context = m.values.context}
  local b = cl.buffer(kind, {math.max(#list, 1), stride}, 0, where)
  for k, d in ipairs(list) do
    local h <close> = line(m, d)
    local narrow <close> = h:convert(kind)
    b:write(narrow:reshape(m.rows),
      {first = (k - 1) * stride + 1, count = m.rows})
  end
  return b
end

-- The places of the diagonals, for each the number of its stored diagonal,
-- from 0, or -1 if it has joined; and the list of diagonals to be stored. Of
-- two diagonals that mirror each other, and have not joined, one is stored.
local function allot(m, joined, mirrors)
  local places, list = {}, {}
  for d = 1, m.ndiags do
    local other = mirrors[d]
    places[d] = -1
    if joined[d] == 0 and not (other > 0 and joined[other] == 0
        and M.is_mirrored(m, m.host.offsets[d])) then
      places[d], list[#list + 1] = #list, d
    end
  end
  for d = 1, m.ndiags do
    if joined[d] == 0 and places[d] < 0 then
      places[d] = places[mirrors[d]]
    end
  end
  return places, list
end

-- How many of the joined diagonals have one value in all patterns.
local function count_constant(patterns, places)
  local ndiags, count = #places, 0
  local bits = patterns:as(M.unsigned[patterns.type])
  for d = 1, ndiags do
    local same = places[d] < 0
    for k = d + ndiags, #bits, ndiags do
      same = same and bits[k] == bits[d]
    end
    count = count + (same and 1 or 0)
  end
  return count
end

--- Dia:pack() -> Packed
--- The matrix in fewer bytes, for spmv, whose kernel `packed` then computes
--- the same sums, bit for bit, but reads less. Rows that are equal, diagonal
--- by diagonal, are one pattern; a row then takes one byte, or none where all
--- rows are alike. Diagonals join as long as there are no more than 256
--- patterns, and no more than one pattern for 16 rows. Other diagonals are
--- stored as half or float if each of their values is exact there, else as
--- they are; of two such diagonals, k and -k, that mirror each other only one
--- is stored: a symmetric 5-point matrix of any values has 3 diagonals to
--- read, and a 27-point matrix 14. A Poisson matrix has 3 patterns in two
--- dimensions and 9 in three. Values are compared by their bits; places
--- outside the matrix fit any.
---
--- A packed matrix stands alone: later writes to M do not change it. Packing
--- takes the device's present values, and looks at each value on the host, at
--- 10^8 values a second or so. It pays where a matrix is used many times: a
--- 5-point Poisson matrix of 16.8 M rows on an H100 after some 7,000 products.
--- Printed, it tells its patterns and diagonals. It has rows, cols, ndiags,
--- nnz, type, format ("packed"), places (for each diagonal the number of its
--- stored diagonal, from 0, or -1; two that mirror each other have the same
--- place), stored_type, value_bytes (the bytes of the values that a product
--- reads), the Buffers codes (the pattern of each row), patterns (a row of
--- values for each) and stored, and in `host` offsets, values (by diagonals,
--- at `pitch`) and patterns. Its fields are for reading.
--- Example:
--- local M = dia.poisson2d(512, 512)
--- local P = M:pack()
--- print(P:info().bytes, P:info().dia_bytes) --> 262204 5242880
--- local y = spmv(P, cl.buffer("float", P.cols, 1))
--- print(y:read()[1]) --> 2.0
function dia:pack(...)
  if select("#", ...) > 0 then
    cl.error("Dia:pack: takes nothing; got " .. text.got((...)),
      {hint = "M:pack()"})
  end
  local host, where = self.host, {context = self.values.context}
  local values = self.values:read()
  local most = math.max(1, math.min(MOST, self.rows // ROWS))
  local sizes = {rows = self.rows, cols = self.cols, pitch = self.pitch}
  local mirrors <close> = host_of.dia_mirrors(values, host.offsets, sizes)
  sizes.most = most
  local codes <close>, patterns, joined = host_of.dia_patterns(values,
    host.offsets, sizes)
  local places, list = allot(self, joined, mirrors)
  local count = patterns.shape[1]
  local table_bytes = count > 1 and self.rows
    + #patterns * cl.typesize(self.type) or 0
  local stride = (self.rows + ALIGN - 1) // ALIGN * ALIGN
  local kind = narrowest(self, list)
  local code_buffer = cl.buffer("uchar", stride, 0, where)
  code_buffer:write(codes, {first = 1, count = self.rows})
  return setmetatable({
    format = "packed", rows = self.rows, cols = self.cols, nnz = self.nnz,
    ndiags = self.ndiags, pitch = self.pitch, type = self.type,
    host = {offsets = host.offsets:copy(), values = values,
      patterns = patterns},
    codes = code_buffer,
    patterns = cl.buffer(self.type, patterns.shape, patterns, where),
    stored = store(self, list, kind, stride), stored_type = kind,
    places = places, constant = count_constant(patterns, places),
    value_bytes = table_bytes + #list * self.rows * cl.typesize(kind),
  }, packed_meta)
end

--- Packed:to_dia() -> Dia
--- The matrix by diagonals again, with the bits from before it was packed.
--- Example: print(dia.poisson2d(8, 8):pack():to_dia().format) --> dia
function packed:to_dia()
  return M.upload_dia({
    format = "dia", rows = self.rows, cols = self.cols, nnz = self.nnz,
    ndiags = self.ndiags, pitch = self.pitch, type = self.type,
    host = {offsets = self.host.offsets:copy(),
      values = self.host.values:copy()},
  }, self.patterns.context)
end

--- Packed:info() -> table
--- format, type, rows, cols, nnz, ndiags; the numbers of diagonals: constant
--- (of one value), joined (in patterns, constant ones included), stored, and
--- mirrored (read from a stored one); patterns, their number; stored_type;
--- bytes, of the values that a product reads, and dia_bytes, of the values by
--- diagonals.
--- Example: print(dia.poisson3d(16, 16, 16):pack():info().patterns) --> 9
function packed:info()
  local stored, joined = -1, 0
  for _, place in ipairs(self.places) do
    stored, joined = math.max(stored, place), joined + (place < 0 and 1 or 0)
  end
  stored = stored + 1
  return {
    format = self.format, type = self.type, rows = self.rows,
    cols = self.cols, nnz = self.nnz, ndiags = self.ndiags,
    constant = self.constant, joined = joined, stored = stored,
    mirrored = self.ndiags - joined - stored, patterns = self.patterns.rows,
    stored_type = self.stored_type, bytes = self.value_bytes,
    dia_bytes = self.ndiags * self.rows * cl.typesize(self.type),
  }
end

--- Packed:close()
--- Releases the device and host memory now; closing twice is fine.
--- Example:
--- local P <close> = dia.poisson2d(8, 8):pack()
--- P:close()
packed.close = close

function packed_meta:__tostring()
  local head = ("packed matrix %d x %d of %s"):format(self.rows, self.cols,
    self.type)
  if self.patterns.closed then
    return head .. " (closed)"
  end
  local i, words = self:info(), {}
  local function add(count, format, ...)
    words[#words + 1] = count > 0 and format:format(count, ...) or nil
  end
  add(i.constant, "%d constant")
  add(i.joined - i.constant, "%d in %d patterns of rows", i.patterns)
  add(i.stored, "%d as %s", i.stored_type == i.type and "they are"
    or i.stored_type)
  add(i.mirrored, "%d mirrored")
  return ("%s, %d diagonals: %s; %s of values instead of %s"):format(head,
    i.ndiags, table.concat(words, ", "), text.bytes(i.bytes),
    text.bytes(i.dia_bytes))
end

--- Dia:info() -> table
--- format, type, rows, cols, nnz, ndiags, pitch, bytes (on the device), lower
--- and upper (the outermost offsets) and fill, the fraction of the stored
--- elements that are entries.
--- Example:
--- local info = dia.poisson2d(8, 8):info()
--- print(info.lower, info.upper) --> -8 8
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
--- Example:
--- local M <close> = dia.poisson2d(8, 8)
--- M:close()
dia.close = close

function dia_meta:__tostring()
  return ("DIA matrix %d x %d of %s, %d diagonals, %d entries"):format(
    self.rows, self.cols, self.type, self.ndiags, self.nnz)
end

argument.methods("Csr", csr, csr_meta.__name)
argument.methods("Dia", dia, dia_meta.__name)
argument.methods("Packed", packed, packed_meta.__name)
argument.methods("PackedCsr", packed_csr, packed_csr_meta.__name)
csr_meta.__close, dia_meta.__close = csr.close, dia.close
packed_meta.__close, packed_csr_meta.__close = close, close

return M

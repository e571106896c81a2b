-- ladders/spmv/init.lua - the sparse matrix-vector family, y = M x
-- M is stored by diagonals (DIA), by packed diagonals (see Dia:pack), by
-- compressed rows (CSR), or by packed rows (see Csr:pack).
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local host = require "cl.host"
local argument = require "clshell.base.argument"
local dia = require "clshell.data.dia"
local family = require "clshell.ladder"
local arguments = require "clshell.ladder.operands"
local result = require "clshell.base.result"
local sparse = require "clshell.data.sparse"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local TYPES = {"float", "double", "half"}
local INT_MAX = 0x7fffffff -- the kernels index with int

-- Raises unless field `name` of a matrix is a Buffer of n elements or more, of
-- type `kind` if that is given.
local function check_part(A, name, n, kind)
  local what = "M." .. name
  local b = argument.check("spmv", what, A[name], "Buffer")
  arguments.buffer("spmv", what, b)
  if #b < n or b.type ~= (kind or b.type) then
    argument.refuse("spmv", what, "must have %d elements%s; it is %s", n,
      kind and " of " .. kind or "", arguments.describe(b))
  end
end

-- The elements from one stored diagonal of a packed matrix to the next; it has
-- as many codes.
local function stride_of(rows)
  return tiling.roundup(rows, 32)
end

-- Raises unless the parts of a packed matrix are as large as its sizes say.
local function check_packed(A, rows, ndiags)
  local patterns = argument.check("spmv", "M.host.patterns", A.host.patterns,
    "Array")
  argument.list("spmv", "M.places", A.places, "number")
  check_part(A, "codes", stride_of(rows), "uchar")
  check_part(A, "patterns", ndiags)
  if #A.places ~= ndiags or #patterns ~= #A.patterns then
    cl.error(("spmv: M.ndiags is %d, M.places has %d elements, M.patterns %d, "
      .. "M.host.patterns %d"):format(ndiags, #A.places, #A.patterns,
      #patterns), {arg = "M"})
  end
  local stored = math.max(-1, table.unpack(A.places)) + 1
  check_part(A, "stored", stored * stride_of(rows), A.stored_type)
end

-- Raises unless the parts of a packed CSR matrix have their sizes.
local function check_packed_rows(A, rows, nnz)
  for _, name in ipairs{"row_ptr", "col_ind", "values"} do
    argument.check("spmv", "M.host." .. name, A.host[name], "Array")
  end
  check_part(A, "chunks", 8, "int")
  check_part(A, "row_ptr", rows + 1, "int")
  check_part(A, "near", nnz, "ushort")
  check_part(A, "pages", 256, "int")
  check_part(A, "far", 1024, A.cols <= 1 << 24 and "uchar" or "ushort")
  check_part(A, "split", 2, "int")
  check_part(A, "values", nnz)
  argument.integer("spmv", "M.pieces", A.pieces, 0, INT_MAX)
end

-- Raises unless the parts of M are as large as its sizes say: scripts can
-- change both.
local function check_matrix(A)
  if type(A) ~= "table" or not (A.offsets or A.row_ptr or A.codes) then
    argument.refuse("spmv", "M", "must be a sparse matrix such as "
      .. "dia.poisson2d(64, 64) or csr.load 'm.mtx'")
  end
  local function size(name, low, high)
    return argument.integer("spmv", "M." .. name, A[name], low,
      high or INT_MAX)
  end
  local rows, nnz = size("rows", 1), size("nnz", 0)
  size("cols", 1)
  if A.codes or A.offsets or A.near then
    argument.check("spmv", "M.host", A.host, "table")
  end
  if A.codes or A.offsets then
    argument.check("spmv", "M.host.offsets", A.host.offsets, "Array")
  end
  if A.codes then
    size("value_bytes", 0, math.maxinteger)
    check_packed(A, rows, size("ndiags", 1))
  elseif A.offsets then
    local ndiags, pitch = size("ndiags", 1), size("pitch", rows)
    check_part(A, "offsets", ndiags, "int")
    check_part(A, "values", ndiags * pitch)
  elseif A.near then
    size("index_bytes", 0, math.maxinteger)
    check_packed_rows(A, rows, nnz)
  else
    check_part(A, "row_ptr", rows + 1, "int")
    check_part(A, "col_ind", nnz, "int")
    check_part(A, "values", nnz)
  end
end

-- The offsets of a matrix as they are compiled in: as many as its diagonals,
-- ascending.
local function offsets_of(A)
  local offsets = A.host.offsets:table()
  for d = 2, #offsets do
    if offsets[d] <= offsets[d - 1] then
      argument.refuse("spmv", "M.host.offsets", "must ascend")
    end
  end
  if #offsets ~= A.ndiags then
    argument.refuse("spmv", "M.host.offsets", "must have %d elements; got %d",
      A.ndiags, #offsets)
  end
  return offsets
end

-- The facts for which the kernel of a packed matrix is built: the number of
-- patterns; of each diagonal the bits of the first pattern, its place and
-- whether it is read from its mirror, which has the same place; the type of
-- stored diagonals; the bytes of the values that a product reads, and the
-- bytes of the mirrors that it reads again. The diagonals of a shape given by
-- hand (A is nil) are constants, zeros.
local function packing_of(A, offsets, type, ndiags)
  local main, mirrored, places, count = {}, {}, A and A.places or {}, 0
  local bits = A and A.host.patterns:as(sparse.unsigned[type])
  local place = {}
  for d = 1, ndiags do
    main[d], places[d] = ("0x%x"):format(A and bits[d] or 0), places[d] or -1
    place[offsets[d] or d] = places[d]
  end
  for d = 1, ndiags do
    local offset = offsets[d]
    mirrored[d] = A and places[d] >= 0 and place[-offset] == places[d]
      and sparse.is_mirrored(A, offset) and 1 or 0
    count = count + mirrored[d]
  end
  return {patterns = A and #A.patterns // A.ndiags or 1, main = main,
    places = places, mirrored = mirrored, narrow = A and A.stored_type or type,
    bytes = A and A.value_bytes or 0,
    again = A and count * A.rows * cl.typesize(A.stored.type) or 0}
end

-- Fills in what a shape given by hand leaves out.
local function shape(s)
  local type, esize = arguments.shape("spmv", s, "rows", "cols")
  local offsets = s.offsets or {}
  local ndiags = s.ndiags or #offsets
  local nnz = s.nnz or ndiags * s.rows
  return {
    rows = s.rows, cols = s.cols, type = type, esize = esize,
    format = s.format or "dia", ndiags = ndiags, offsets = offsets,
    pitch = s.pitch or s.rows, nnz = nnz, trans = s.trans,
    row_max = s.row_max,
    chunks = s.chunks or nnz // 1024 + 1, pieces = s.pieces or 0,
    split = s.split or 0, far = s.far or "uchar",
    index_bytes = s.index_bytes or 2 * nnz + 4 * (s.rows + 1),
    packing = s.packing or s.format == "packed"
      and packing_of(nil, offsets, type, ndiags) or nil,
  }
end

local function check_vector(name, b, n, why)
  if #b ~= n then
    argument.refuse("spmv", name, "is %s, but M has %d %s",
      arguments.describe(b), n, why)
  end
end

-- A Buffer of a matrix that has its element type.
local function values_of(A)
  return type(A) == "table" and (A.values or A.patterns) or nil
end

-- Raises unless M can be taken transposed.
local function check_trans(A, trans)
  argument.check("spmv", "trans", trans, "boolean")
  if trans and (not A.row_ptr or A.near) then
    argument.refuse("spmv", "trans", "takes a matrix in CSR, such as %s",
      A.near and "M:to_csr(), or pack M:to_csr():transposed()"
      or "M:to_csr()")
  end
end

local function bind(o, context, queue)
  local A = o.M
  check_matrix(A)
  check_trans(A, o.trans or false)
  local rows, cols = A.rows, A.cols
  if o.trans then
    rows, cols = cols, rows
  end
  local values = values_of(A)
  local x = arguments.buffer("spmv", "x", o.x, context, values.type)
  o.x = x
  arguments.check_type("spmv", "M", values, TYPES)
  arguments.same_type("spmv", "M", values, "x", x)
  check_vector("x", x, cols, o.trans and "rows" or "columns")
  if o.y == nil then
    o.y = result.new(x.type, {rows}, context, queue)
  else
    arguments.check_output("spmv", "y", o.y)
    arguments.same_type("spmv", "M", values, "y", o.y)
    check_vector("y", o.y, rows, o.trans and "columns" or "rows")
    arguments.check_alias("spmv", "y", o.y, "x", x)
    arguments.check_alias("spmv", "y", o.y, "M", values)
  end
  arguments.check_context("spmv", {M = values, x = x, y = o.y}, context)
  local offsets = not A.row_ptr and offsets_of(A) or nil
  return shape{
    rows = rows, cols = cols, type = x.type, nnz = A.nnz, trans = o.trans,
    format = A.codes and "packed" or A.offsets and "dia"
      or A.near and "packed_csr" or "csr",
    row_max = not o.trans and math.tointeger(A.row_max) or nil,
    chunks = A.near and #A.chunks // 4 - 1, index_bytes = A.index_bytes,
    far = A.near and A.far.type, pieces = A.near and A.pieces,
    split = A.near and #A.split // 2 - 1,
    ndiags = A.ndiags, pitch = A.pitch, offsets = offsets,
    packing = A.codes and packing_of(A, offsets, x.type, A.ndiags),
  }
end

local function args(s, _, o)
  local A = o.M
  if s.format == "csr" then
    return {s.rows, A.row_ptr, A.col_ind, A.values, o.x, o.y}
  elseif s.format == "packed" then
    return {s.rows, s.cols, stride_of(s.rows), A.codes, A.patterns,
      A.stored, o.x, o.y}
  end
  return {s.rows, s.cols, s.ndiags, A.pitch, A.offsets, A.values, o.x, o.y}
end

local function vector(M, type, seed)
  local h <close> = cl.array(type, M.cols)
  return cl.buffer(type, M.cols, h:random(seed, 0.5, 1.5))
end

-- The operands of a grid such as {512, 512} or {nx = 64, ny = 64, nz = 64},
-- with 5 or 7 diagonals; of rows and offsets; or of a matrix, which stays the
-- same. A packed grid has its Poisson matrix.
local function make(s, seed, type)
  if s.values or s.codes then -- a matrix
    return {M = s, x = vector(s, values_of(s).type, seed)}, true
  end
  local offsets, n = s.offsets, s.rows or s[1]
  local nx, ny, nz
  if not offsets then
    nx = argument.integer("spmv", "nx of the shape", s.nx or s[1], 1)
    ny = argument.integer("spmv", "ny of the shape", s.ny or s[2] or nx, 1)
    nz = s.nz or s[3] or 1
    n, offsets = nx * ny * nz, {-nx, -1, 0, 1, nx}
    if nz > 1 then
      table.insert(offsets, 1, -nx * ny)
      table.insert(offsets, nx * ny)
    end
  end
  local M
  if s.format == "packed" and not s.offsets then
    M = dia.poisson3d(nx, ny, nz, {type = type})
  else
    M = dia.banded(n, offsets, {type = type, seed = seed})
  end
  M = s.format == "csr" and M:to_csr() or s.format == "packed" and M:pack()
    or s.format == "packed_csr" and M:to_csr():pack() or M
  return {M = M, x = vector(M, type, seed + 1)}
end

-- Bytes that move if every element is touched once: the values with their
-- indices, or the packed values, x and y.
local function bytes(s)
  if s.format == "packed" then
    return (s.cols + s.rows) * s.esize + s.packing.bytes
  elseif s.format == "packed_csr" then
    return (s.nnz + s.cols + s.rows) * s.esize + s.index_bytes
  end
  local index = s.format == "csr" and 4 * (s.nnz + s.rows + 1)
    or 4 * s.ndiags
  return (s.nnz + s.cols + s.rows) * s.esize + index
end

local function by_rows(s)
  return s.format == "csr" or s.format == "packed_csr"
end

-- The matrix and x as the host's routines for its format take them.
local function host_args(M, x, s)
  local h = s.trans and M:transposed().host or M.host
  if by_rows(s) then
    return h.row_ptr, h.col_ind, h.values, x, {rows = s.rows, cols = s.cols}
  end
  return h.values, h.offsets, x,
    {rows = s.rows, cols = s.cols, pitch = s.pitch}
end

local function on_host(o, s)
  local product = by_rows(s) and host.csr_loop or host.dia_loop
  return product(host_args(o.M, o.x:read(), s))
end

-- The truth of a product. The bound follows from the most products in one
-- sum.
local function truth(o, s)
  local list = table.pack(host_args(o.M, o.x:read(), s))
  local error_of = by_rows(s) and host.csr_error or host.dia_error
  return function(y)
    local err, row, longest = error_of(y, table.unpack(list))
    return err, verify.bound(s.type, longest or math.min(s.ndiags, s.cols)),
      "all rows", row
  end
end

--- spmv(M, x [, opts]) -> y, event
--- The sparse matrix-vector product y = M x on the device. M is a matrix of
--- module dia or csr, x a Buffer of M.cols elements (an Array or a table is
--- copied there). A rung that wants the diagonals at another pitch makes that
--- copy in the first run, which the event then covers too. A row of a CSR
--- matrix with an index outside M is NaN. An M that cl.split has spread over
--- devices gives a Split y; x is a Split too, or is copied to the devices.
--- spmv(M:pack(), x) reads fewer bytes where that loses nothing. It is never
--- done unasked: Dia:pack and Csr:pack tell for which matrices, and after how
--- many products, it pays. With trans, for a matrix in CSR, y = M^T x: the
--- first call transposes the indexes and keeps them with M. Each later call,
--- or a new plan, compares them with M's, and transposes anew where a script
--- has written others; it moves the present values.
--- Options:
---   kernel  the best known  a rung's name, see spmv.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   trans   false          true: M is taken transposed
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local M = dia.poisson2d(32, 32)
--- local x = cl.buffer("float", M.cols, 1)
--- local y, event = spmv(M, x)
--- print(y:read()[1]) --> 2.0
local spmv = family.new({
  name = "spmv",
  rungs = require "clshell.ladders.spmv.rungs",
  arguments = {{"M", "rows", "cols"}, {"x", "cols"}},
  output = {"y", "rows"},
  options = {{name = "trans", values = {false, true},
    help = "M is taken transposed"}},
  types = TYPES,
  dims = false, -- a shape is a grid, or rows and offsets
  keeps_plans = false, -- M is a table, whose Buffers may be others
  cache = "cold",
  make = make,
  awkward = {{rows = 1, offsets = {0}}, {rows = 7, offsets = {-6, 0, 6}},
    {rows = 16, offsets = {-1, 0, 1}}, {rows = 17, offsets = {-16, -3, 2, 5}},
    {rows = 33, offsets = {1, 2, 3, 4, 5, 6, 7, 8, 32}},
    {rows = 100, offsets = {-10, -1, 0, 1, 10}},
    {rows = 257, offsets = {-100, -16, 0, 17, 256}}},
  bind = bind,
  shape = shape,
  args = args,
  signature = "int rows, int cols, int ndiags, int pitch, global const int "
    .. "*offsets, global const REAL *values, global const REAL *x, global "
    .. "REAL *y\nint rows, global const int *row_ptr, global const int "
    .. "*col_ind, global const REAL *values, global const REAL *x, global "
    .. "REAL *y\nint rows, int cols, int pitch, global const uchar *codes, "
    .. "global const REAL *patterns, global const NARROW *stored, global "
    .. "const REAL *x, global REAL *y", -- of CSR, and packed
  measures = function(s) -- values for choices.lua to ask for
    return {row = s.nnz / s.rows, bytes = s.nnz * s.esize,
      pieces = s.pieces, uneven = s.row_max and s.nnz > 0
        and s.row_max * s.rows / s.nnz or nil}
  end,
  truth = truth,
  flop = function(s)
    return 2 * s.nnz
  end,
  bytes = bytes,
  hosts = {{name = "plain_c", gflops = 0.2, run = on_host}},
  title = function(s)
    return ("%s %dx%d, %d non-zeros, %s"):format(s.format:upper():gsub("_",
      " "), s.rows, s.cols, s.nnz, s.type)
  end,
}, require "clshell.base.lazy".table(...))

return spmv

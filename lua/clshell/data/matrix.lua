-- data/matrix.lua - dense matrices: two-dimensional buffers, row-major, with a
-- leading dimension; constructors, files, and methods added to Buffer.
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local file = require "clshell.base.file"
local host = require "cl.host"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local SEED = 1 -- of random matrices, unless another is given

-- Checks size and options of a constructor whose last two arguments may be
-- missing: rows, columns, options.
local function arguments(what, n, m, opts)
  if type(m) == "table" then
    m, opts = nil, m
  end
  argument.integer(what, "rows", n, 0)
  argument.integer(what, "columns", m or n, 0)
  return n, m or n, options.check(opts, what)
end

-- A host array on the device, as rows x columns.
local function upload(h, rows, cols, opts)
  return cl.buffer(h.type, {rows, cols}, h,
    {ld = opts.ld, context = opts.context})
end

local function constant(what, value, n, m, opts)
  n, m, opts = arguments(what, n, m, opts)
  return cl.buffer(opts.type or "float", {n, m}, value,
    {ld = opts.ld, context = opts.context})
end

--- matrix.zeros(n [, m] [, opts]) -> Buffer
--- An n x m matrix of zeros (n x n without m).
--- Options:
---   type     float      element type, by its OpenCL C name
---   ld       m          elements from row to row, at least m
---   context  session's  the Context of another device
--- Example:
--- local A = matrix.zeros(2, 3, {type = "double", ld = 16})
--- print(A.rows, A.cols, A.ld, A.type) --> 2 3 16 double
function M.zeros(n, m, opts)
  return constant("matrix.zeros", 0, n, m, opts)
end

--- matrix.ones(n [, m] [, opts]) -> Buffer
--- An n x m matrix of ones. Options as for matrix.zeros.
--- Example: print(matrix.ones(2):read():at(2, 2)) --> 1.0
function M.ones(n, m, opts)
  return constant("matrix.ones", 1, n, m, opts)
end

--- matrix.identity(n [, m] [, opts]) -> Buffer
--- Ones on the main diagonal, zeros elsewhere. Options as for matrix.zeros.
--- Example:
--- local I = matrix.identity(3)
--- print(I:read():at(2, 2), I:read():at(2, 3)) --> 1.0 0.0
function M.identity(n, m, opts)
  n, m, opts = arguments("matrix.identity", n, m, opts)
  local h <close> = cl.array(opts.type or "float", {n, m})
  local short = math.min(n, m)
  if short > 0 then
    h:fill(1, 1, (short - 1) * m + short, m + 1)
  end
  return upload(h, n, m, opts)
end

--- matrix.random(n [, m] [, opts]) -> Buffer
--- An n x m matrix of random numbers, the same ones for the same seed on
--- every machine. Options as for matrix.zeros.
--- Options:
---   seed    1                 of the numbers
---   lo, hi  0, 1 (ints: 99)   reals are uniform in [lo, hi), integers are
---                             whole numbers from lo to hi, both possible
--- Example:
--- local A = matrix.random(64, 32, {seed = 7, lo = -1, hi = 1})
--- print(A.rows, A.cols) --> 64 32
function M.random(n, m, opts)
  n, m, opts = arguments("matrix.random", n, m, opts)
  return require "clshell.data.uniform".buffer(opts.type or "float", {n, m},
    opts.seed or SEED, opts.lo, opts.hi,
    {ld = opts.ld, context = opts.context})
end

--- matrix.from(t [, opts]) -> Buffer
--- The matrix of a table of rows, {{1, 2}, {3, 4}}, all of one length, or of
--- a two-dimensional host array. Options as for matrix.zeros.
--- Options:
---   type  float  element type; of an array: its own
--- Example:
--- local A = matrix.from{{1, 2}, {3, 4}}
--- print(A:read():at(2, 1)) --> 3.0
function M.from(t, opts)
  opts = options.check(opts, "matrix.from")
  local where = {ld = opts.ld, context = opts.context}
  if type(t) == "userdata" then
    if not t.rows then
      cl.error("matrix.from: an Array must have two dimensions")
    end
    if opts.type and opts.type ~= t.type then
      t = t:convert(opts.type)
    end
    return cl.buffer(t.type, t.shape, t, where)
  end
  if type(t) ~= "table" or type(t[1]) ~= "table" or #t[1] == 0 then
    cl.error(("matrix.from: the rows must be a table such as "
      .. "{{1, 2}, {3, 4}}; got %s"):format(type(t) == "table"
      and "a table without rows" or type(t)))
  end
  for i, row in ipairs(t) do
    if type(row) ~= "table" or #row ~= #t[1] then
      cl.error(("matrix.from: row %d has %s elements, row 1 has %d"):format(
        i, type(row) == "table" and #row or "no", #t[1]))
    end
  end
  return cl.buffer(opts.type or "float", {#t, #t[1]}, t, where)
end

local function ending(path)
  return (tostring(path):match("%.([^./\\]+)$") or "?"):lower()
end

-- The ending of a path, which names the format.
local function extension(what, path)
  local name = ending(path)
  if not ("npy mtx pgm ppm "):find(name .. " ", 1, true) then
    local image = (" png jpg jpeg gif bmp tif tiff webp "):find(
      " " .. name .. " ", 1, true)
    local from, to = "x." .. name, "x.pgm"
    if what == "save" then
      from, to = to, from
    end
    cl.error(("%s: the name must end in .npy, .mtx, .pgm or .ppm; got %s%s")
      :format(what, tostring(path), image and ("; ImageMagick converts images:"
      .. " convert %s %s, in colour x.ppm"):format(from, to) or ""))
  end
  return name
end

local function load_npy(path, opts, opened)
  local h, message = require("clshell.data.npy").load(path, opened)
  if h == nil then
    return nil, message
  end
  local shape = h.shape
  if #shape > 2 then
    cl.error(("%s: an array of shape %s; a matrix has two dimensions")
      :format(path, table.concat(shape, "x")),
      {hint = 'require("clshell.npy").load reads it as a host array'})
  end
  if opts.type and opts.type ~= h.type then
    local new = h:convert(opts.type)
    if (opts.type == "float" or opts.type == "half")
        and new:summary().inf > h:summary().inf then
      cl.error(("%s: a value of %s does not fit %s"):format(path, h.type,
        opts.type))
    end
    h = new
  end
  return h, shape[1], shape[2] or 1
end

local function load_mtx(path, opts, opened)
  local m, message = require("clshell.data.mtx").read(path, opened)
  if m == nil then
    return nil, message
  end
  local kind = opts.type or "float"
  local limit = (opts.context or cl.context()).device.max_mem_alloc_size
    // cl.typesize(kind)
  if m.rows * m.cols > limit then
    cl.error(("%s: a dense %d x %d matrix has %d elements, a buffer of %s at "
      .. "most %d"):format(path, m.rows, m.cols, m.rows * m.cols, kind, limit),
      {hint = "csr.load or dia.load reads it as a sparse matrix"})
  end
  return require("clshell.data.mtx").dense(m, kind), m.rows, m.cols
end

local function load_pnm(path, opts, opened)
  local h, message = require("clshell.data.pnm").load(path, opened)
  if h == nil then
    return nil, message
  end
  local rows, cols = h.rows, h.cols
  if opts.type and opts.type ~= h.type then
    h = h:convert(opts.type)
  end
  return h, rows, cols
end

local READERS = {npy = load_npy, mtx = load_mtx, pgm = load_pnm,
  ppm = load_pnm}

-- The form of a file whose name does not tell it, by its first bytes.
local function form(f)
  local first = (f:read(17) or ""):gsub("^\xef\xbb\xbf", "")
  f:seek("set")
  return first:find "^\x93NUMPY" and "npy" or first:find "^P[1-6]%s" and "pgm"
    or first:lower():find "^%%%%matrixmarket" and "mtx"
end

--- matrix.load(path [, opts]) -> Buffer; nil, message if it cannot be opened
--- Reads a matrix from a .npy or .mtx file (sparse matrices become dense), or
--- an image: .pgm as uchar, .ppm as uchar4 (ushort, ushort4 where the largest
--- value is above 255). A name with another ending, such as /dev/stdin, is of
--- the form that its first bytes tell. A .npy vector of n elements becomes
--- n x 1. Other forms, more dimensions, values that do not fit the type and
--- any fault of the file are errors. Options as for matrix.zeros.
--- Options:
---   type  the file's  element type; "float" for .mtx
--- Example:
--- matrix.from({{1, 2}, {3, 4}}):save "a.npy"
--- print(matrix.load("a.npy"):read():at(1, 2)) --> 2.0
function M.load(path, opts)
  opts = options.check(opts, "matrix.load")
  local opened <close> = not READERS[ending(path)]
    and file.open(tostring(path)) or nil
  local read = READERS[opened and form(opened)
    or extension("matrix.load", path)]
  local h <close>, rows, cols = read(path, opts, opened)
  if h == nil then
    return nil, rows -- the message
  end
  return upload(h, rows, cols, opts)
end

local methods = {}

-- Raises unless A is a two-dimensional Buffer.
local function check_matrix(what, A)
  if text.class(A) ~= "Buffer" or not A.rows then
    cl.error(("%s: must be a two-dimensional Buffer; got %s"):format(what,
      tostring(A)))
  end
end

--- A:save(path)
--- Writes the elements as a .npy file (vectors as numbers with one more
--- dimension), a matrix as a dense Matrix Market file (.mtx), one of uchar or
--- ushort as a grey image (.pgm), one of vectors of 3 or 4 of them as an image
--- in colour (.ppm); the ending of the name decides.
--- Example:
--- local A = matrix.random(8, 4)
--- A:save "a.npy"
--- A:save "a.mtx"
--- print(A:max_diff(matrix.load "a.mtx")) --> 0.0 1 1
function methods:save(path)
  local kind = extension("save", path)
  if kind ~= "mtx" then
    local h <close> = self:read()
    require("clshell.data." .. (kind == "npy" and "npy" or "pnm")).save(path,
      h)
  else
    check_matrix("save as .mtx", self)
    if #self == 0 then
      cl.error(("save: a .mtx file has 1 row and 1 column at least; got %s")
        :format(tostring(self)), {hint = "a .npy file may be empty"})
    elseif self.type:find "%d$" then
      cl.error("save: a .mtx file has numbers, no vectors; got "
        .. tostring(self), {hint = "a .npy file takes vectors"})
    end
    local h <close> = self:read()
    require("clshell.data.mtx").write_dense(path, h)
  end
end

--- A:pad(multiple) -> Buffer
--- A new matrix with the rows and columns rounded up to a multiple of
--- `multiple`, a number or {rows, columns}: A at the top left, zeros beyond.
--- Example:
--- local A = matrix.ones(3, 5):pad(4)
--- print(A.rows, A.cols, A:read():at(3, 6)) --> 4 8 0.0
function methods:pad(multiple)
  check_matrix("pad", self)
  local mr, mc = multiple, multiple
  if type(multiple) == "table" then
    mr, mc = multiple[1], multiple[2]
  end
  argument.integer("pad", "a multiple", mr, 1)
  argument.integer("pad", "a multiple", mc, 1)
  local rows = (self.rows + mr - 1) // mr * mr
  local cols = (self.cols + mc - 1) // mc * mc
  local B = cl.buffer(self.type, {rows, cols}, 0, {context = self.context})
  self:copy(B)
  return B
end

--- A:sub(row, col [, rows, cols]) -> Buffer
--- The sub-matrix of `rows` rows and `cols` columns whose first element is
--- A(row, col), from 1; without `rows` and `cols` it ends where A ends. It
--- shares memory with A and has its leading dimension. gemm takes and writes
--- it as any matrix; see Buffer:matrix for other functions that do.
--- Example:
--- local A = matrix.random(8)
--- local B = A:sub(3, 3, 4, 4)
--- print(B.rows, B.ld) --> 4 8
function methods:sub(row, col, rows, cols)
  check_matrix("sub", self)
  local what = ("sub of a %dx%d matrix"):format(self.rows, self.cols)
  argument.integer(what, "row", row, 1, self.rows)
  argument.integer(what, "col", col, 1, self.cols)
  rows, cols = rows or self.rows - row + 1, cols or self.cols - col + 1
  argument.integer(what, "rows", rows, 1, self.rows - row + 1)
  argument.integer(what, "cols", cols, 1, self.cols - col + 1)
  return self:matrix((row - 1) * self.ld + col, rows, cols, self.ld)
end

--- A:transposed() -> Buffer
--- A new matrix, cols x rows, with B(j, i) = A(i, j); any element type. It
--- goes through host memory; `transpose` does it on the device.
--- Example:
--- local B = matrix.from({{1, 2}, {3, 4}}):transposed()
--- print(B:read():at(1, 2)) --> 3.0
function methods:transposed()
  check_matrix("transposed", self)
  local h <close> = self:read()
  local t <close> = #h > 0 and host.transpose_loop(h) or h
  return cl.buffer(self.type, {self.cols, self.rows}, t,
    {context = self.context})
end

--- A:summary() -> {count, min, max, mean, nan, inf, whole}
--- The number, the extremes and the mean of a Buffer's elements, found by a
--- reduction on its device, of which 56 bytes are read back: see summary.of.
--- Example:
--- local s = matrix.from({{1, 2}, {3, 0 / 0}}):summary()
--- print(s.min, s.mean, s.max, s.nan) --> 1.0 2.0 3.0 1
function methods:summary()
  return require("clshell.data.summary").of(self)
end

--- A:max_diff(B) -> difference, row, col
--- The largest |A(i, j) - B(i, j)| and its place, from 1; infinity where one
--- of the two is not a number. Shapes must agree.
--- Example:
--- local A, B = matrix.ones(2), matrix.from{{1, 1}, {1, 1.5}}
--- print(A:max_diff(B)) --> 0.5 2 2
function methods:max_diff(B)
  check_matrix("max_diff", self)
  check_matrix("max_diff", B)
  if self.rows ~= B.rows or self.cols ~= B.cols then
    cl.error(("max_diff: shapes differ, %d x %d and %d x %d"):format(
      self.rows, self.cols, B.rows, B.cols))
  end
  local a <close> = self:read()
  local b <close> = B:read()
  local difference, at = a:max_diff(b)
  if not at then -- no elements
    return difference
  end
  return difference, (at - 1) // self.cols + 1, (at - 1) % self.cols + 1
end

cl.extend("Buffer", argument.methods("Buffer", methods, "Buffer"), true)

return M

-- data/npy.lua - NumPy's .npy files (versions 1.0, 2.0, 3.0) to and from host
-- arrays of up to four dimensions, whole; matrices also by parts
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local host = require "cl.host"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local text_of = require "clshell.base.text"

local class_of, text_got = text_of.class, text_of.got

local M = {}

local MAGIC = "\x93NUMPY"
local LITTLE = string.pack("=I2", 1) == "\1\0" -- this machine's byte order
local TYPES = { -- without the byte order
  f2 = "half", f4 = "float", f8 = "double", b1 = "uchar",
  i1 = "char", i2 = "short", i4 = "int", i8 = "long",
  u1 = "uchar", u2 = "ushort", u4 = "uint", u8 = "ulong",
}
local CODES = {
  half = "f2", float = "f4", double = "f8",
  char = "i1", short = "i2", int = "i4", long = "i8",
  uchar = "u1", ushort = "u2", uint = "u4", ulong = "u8",
}
-- NumPy leaves room for a longer first dimension; so do we, to the byte.
local GROWTH = 21

local function fail(path, found, needed)
  cl.error(("%s: %s; %s"):format(path, found, needed))
end

local BOOLEANS = {True = true, False = false}

-- One literal of the header at position p: a string or a boolean as its value,
-- a tuple or list as {text}; nil for other words. Returns the literal and the
-- position after it.
local function literal(s, p)
  local text, q = s:match("^'([^']*)'()", p)
  if text == nil then
    text, q = s:match('^"([^"]*)"()', p)
  end
  if text ~= nil then
    return text, q
  end
  text, q = s:match("^([%w.+-]+)()", p)
  if text ~= nil then
    return BOOLEANS[text], q
  end
  text, q = s:match("^(%b())()", p)
  if text == nil then
    text, q = s:match("^(%b[])()", p)
  end
  return text and {text}, q
end

-- The header's dictionary as a Lua table; nil for any other text.
local function dictionary(s)
  local p = s:match("^%s*{%s*()")
  local dict = {}
  while p and not s:find("^}%s*$", p) do
    local key, q = s:match("^['\"]([%w_]+)['\"]%s*:%s*()", p)
    if key == nil then
      return nil
    end
    dict[key], q = literal(s, q)
    p = q and s:match("^%s*,?%s*()", q)
  end
  return p and dict
end

-- Element type and whether the bytes must be swapped.
local function element(path, descr)
  local found = type(descr) == "table" and descr[1]
    or descr and tostring(descr) or "missing"
  local order, code = found:match("^([<>=|]?)(%l%d)$")
  local name = type(descr) == "string" and TYPES[code]
  if not name then
    fail(path, ("the element type is %s"):format(found),
      "readable are f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8 and b1, "
      .. "little or big endian")
  end
  local swap = order == ">" and LITTLE or order == "<" and not LITTLE
  return name, swap and cl.typesize(name) > 1
end

-- The dimensions as a table and their product.
local function extents(path, shape)
  local inner = type(shape) == "table" and shape[1]:match("^%((.*)%)$")
  if not inner then
    fail(path, "the header has no shape", "needed is a tuple such as (3, 4)")
  end
  local dims, count = {}, 1
  for item in inner:gmatch("[^,%s][^,]*") do
    local digits = item:match("^(%d+)L?%s*$")
    local n = digits and math.tointeger(tonumber(digits))
    if not n or n > 0 and count > math.maxinteger // 64 // n then
      fail(path, ("the shape is %s"):format(shape[1]),
        "needed are whole numbers whose product can be addressed")
    end
    dims[#dims + 1], count = n, count * n
  end
  if #dims > 4 then
    fail(path, ("the shape %s has %d dimensions"):format(shape[1], #dims),
      "at most 4 are possible")
  end
  return dims, count
end

-- Reads and checks everything before the data.
local function header(f, path, size)
  local start = f:read(8)
  if start == nil or #start < 8 or start:sub(1, 6) ~= MAGIC then
    fail(path, "not a .npy file",
      [[one begins with the 6 bytes "\x93NUMPY" and its version]])
  end
  local major, minor = start:byte(7, 8)
  if major < 1 or major > 3 or minor ~= 0 then
    fail(path, ("the format version is %d.%d"):format(major, minor),
      "readable are 1.0, 2.0 and 3.0")
  end
  local width = major == 1 and 2 or 4
  local field = f:read(width)
  local length = field and #field == width
    and string.unpack(major == 1 and "<I2" or "<I4", field)
  if not length or length > size - 8 - width then
    fail(path, ("the file ends inside its header, after %d bytes")
      :format(size), length and ("the header takes %d bytes")
      :format(8 + width + length) or "the length of the header is missing")
  end
  local text = f:read(length)
  local dict = text and dictionary(text)
  if not dict then
    fail(path, "the header is not a Python dictionary",
      "needed are the keys descr, fortran_order and shape")
  elseif type(dict.fortran_order) ~= "boolean" then
    fail(path, "the header says no fortran_order", "needed is True or False")
  end
  return dict, 8 + width + length
end

-- Host array with the dimensions in reverse order, b(j, i) = a(i, j); takes
-- `a` over.
local function reversed(a)
  local shape = a.shape
  local n = #shape
  if n == 1 then
    return a
  elseif n == 2 then
    local b = host.transpose_loop(a)
    a:close()
    return b
  end
  local dims, stride, step = {}, {}, 1
  for d = 1, n do -- the result's dimension d is the source's n + 1 - d
    dims[d], stride[d] = shape[n + 1 - d], step
    step = step * dims[d]
  end
  local b = cl.array(a.type, dims)
  for k = 1, #a do
    local at, rest = 1, k - 1
    for d = n, 1, -1 do
      at = at + rest % dims[d] * stride[d]
      rest = rest // dims[d]
    end
    b[k] = a[at]
  end
  a:close()
  return b
end

-- The header of a file, checked against the file's size: {type, swap, fortran,
-- dims, skip}.
local function described(f, path)
  local size = f:seek("end")
  f:seek("set")
  local dict, skip = header(f, path, size)
  local kind, swap = element(path, dict.descr)
  local dims, count = extents(path, dict.shape)
  local bytes = count * cl.typesize(kind)
  if size - skip ~= bytes then
    fail(path, ("%d bytes of data follow the header"):format(size - skip),
      ("shape %s of %s takes %d"):format(dict.shape[1], kind, bytes))
  end
  return {type = kind, swap = swap, dims = dims, skip = skip,
    fortran = count > 0 and dict.fortran_order}
end

--- npy.load(path) -> host array; nil, message if the file cannot be opened
--- Reads a .npy file: real, integer and boolean elements (booleans become
--- uchar), either byte order, C or Fortran order, up to four dimensions. A
--- scalar becomes an array of one element. Any other file is an error, and so
--- is a file whose size disagrees with its header. npy.open reads parts.
--- Example:
--- npy.save("v.npy", cl.array("double", 3, 2))
--- local h = npy.load "v.npy"
--- print(h.type, #h) --> double 3
--- print(npy.load "missing.npy" == nil) --> true
function M.load(path, opened)
  argument.check("npy.load", "path", path, "string")
  local f <close>, message = file.open(path, opened)
  if f == nil then
    return nil, message
  end
  local d = described(f, path)
  local dims = d.dims
  if #dims == 0 then
    dims[1] = 1
  elseif d.fortran then
    for i = 1, #dims // 2 do
      dims[i], dims[#dims + 1 - i] = dims[#dims + 1 - i], dims[i]
    end
  end
  local h = cl.array(d.type, dims)
  h:readfile(f)
  if d.swap then
    h:swap()
  end
  return d.fortran and reversed(h) or h
end

-- The header of a file with elements of a type.
local function header_text(path, kind, shape)
  local code = CODES[kind]
  if code == nil then
    local bits = text_of.bits(kind)
    cl.error(("%s: .npy has no element type like %s"):format(path, kind),
      {hint = bits and ('h:convert "float" keeps the '
        .. 'numbers, h:as "%s" the bits'):format(bits)
        or "name its component type, and one more dimension"})
  end
  local order = cl.typesize(kind) == 1 and "|" or LITTLE and "<" or ">"
  local dims = table.concat(shape, ", ") .. (#shape == 1 and "," or "")
  local text = ("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }")
    :format(order, code, dims)
    .. (" "):rep(GROWTH - #tostring(shape[1]))
  text = text .. (" "):rep(64 - (#MAGIC + 4 + #text + 1) % 64) .. "\n"
  return MAGIC .. "\1\0" .. string.pack("<s2", text)
end

-- An array of vectors as numbers, with the components as last dimension.
local function components(h)
  local kind, lanes = text_of.lanes(h.type)
  if lanes == 1 then
    return h
  end
  local shape, n = table.move(h.shape, 1, #h.shape, 1, {}), #h
  shape[#shape + 1] = lanes
  local room = cl.typesize(h.type) // cl.typesize(kind) -- of 3, 4
  if n == 0 then
    return cl.array(kind, shape), shape
  end
  local all = cl.array(kind, {n, room}, h:tobytes())
  return host.copy_box(cl.array(kind, {n, shape[#shape]}), all, {rows = n,
    cols = shape[#shape], from_ld = room}), shape
end

--- npy.save(path, h)
--- Writes host array h as .npy version 1.0 in C order, byte for byte as NumPy
--- does. Vectors are written as numbers: n elements of float4 are an array of
--- n x 4. Errors: a file that cannot be written.
--- Example: npy.save("m.npy", cl.array("float", {2, 3}, 1))
function M.save(path, h)
  if class_of(h) ~= "Array" then
    cl.error(("npy.save: the second argument must be an Array; got %s"):format(
      class_of(h) or type(h)))
  end
  local numbers, shape = components(h)
  local text = header_text(path, numbers.type, shape or h.shape)
  file.create(path, function(f, check)
    check(f:write(text))
    local ok, problem = pcall(numbers.writefile, numbers, f)
    check(ok, type(problem) == "table" and problem.message or problem)
  end)
end

local File = {}

-- Raises unless the file is open. Returns the box of a call, in elements as
-- the file stores them: first, rows, cols.
local function box(self, what, opts)
  if self.closed then
    cl.error(("%s: this file, %s, is closed"):format(what, self.path))
  end
  opts = options.check(opts, what)
  local from, size = opts.from or {1, 1}, opts.size or {}
  argument.check(what, "from", from, "table")
  argument.check(what, "size", size, "table")
  local row, col = from[1], from[2] or 1
  argument.integer(what, "from: the row", row, 1, self.rows)
  argument.integer(what, "from: the column", col, 1, self.cols)
  local rows = size[1] or self.rows - row + 1
  local cols = size[2] or self.cols - col + 1
  argument.integer(what, "size: the rows", rows, 1, self.rows - row + 1)
  argument.integer(what, "size: the columns", cols, 1, self.cols - col + 1)
  if self.fortran then
    row, col, rows, cols = col, row, cols, rows
  end
  return (row - 1) * self.ld + col, rows, cols
end

--- NpyFile:read([dst] [, opts]) -> Array
--- Reads a part of an open .npy file as a matrix: into the Array `dst`, whose
--- size it takes, or into a new Array.
--- Options:
---   from  {1, 1}  row and column of its first element
---   size  to the end  rows and columns
--- Example: as for npy.open
function File:read(dst, opts)
  if type(dst) == "table" then
    dst, opts = nil, dst
  end
  local first, rows, cols = box(self, "NpyFile:read", opts)
  local h = not self.fortran and dst or cl.array(self.type, {rows, cols})
  if dst and (class_of(dst) ~= "Array" or #dst ~= rows * cols) then
    cl.error(("NpyFile:read: the first argument must be an Array of %d "
      .. "elements; got %s"):format(rows * cols, text_got(dst)))
  end
  host.copy_box(h, self.file, {rows = rows, cols = cols, from_first = first,
    from_ld = self.ld, from_skip = self.skip})
  if self.swap then
    h:swap()
  end
  if self.fortran then
    local turned = reversed(h)
    return dst and dst:set(turned:reshape(dst.shape)) or turned
  end
  return h
end

--- NpyFile:write(h [, opts]) -> NpyFile
--- Writes the Array h to a part of a .npy file made by npy.create. Options as
--- for NpyFile:read, which have to name as many elements as h has.
--- Example:
--- local f <close> = npy.create("y.npy", "double", {4, 4})
--- f:write(cl.array("double", {1, 2}, 7), {from = {4, 3}})
--- print(f:read{from = {4, 1}}[4]) --> 7.0
function File:write(h, opts)
  local first, rows, cols = box(self, "NpyFile:write", opts)
  if not self.writable then
    cl.error(("NpyFile:write: %s is open for reading; npy.create makes one to "
      .. "write"):format(self.path))
  elseif class_of(h) ~= "Array" or #h ~= rows * cols then
    cl.error(("NpyFile:write: the first argument must be an Array of %d "
      .. "elements; got %s"):format(rows * cols, text_got(h)))
  end
  host.copy_box(self.file, h, {rows = rows, cols = cols, to_first = first,
    to_ld = self.ld, to_skip = self.skip})
  return self
end

--- NpyFile:close()
--- Closes the file; closing twice is fine.
--- Example:
--- local f = npy.create("z.npy", "float", {2, 2})
--- f:close()
--- print(f.closed) --> true
function File:close()
  if not self.closed then
    self.closed = true
    self.file:close()
  end
end

local file_meta = {__name = "NpyFile", __index = argument.methods(
  "NpyFile", File, "NpyFile"), __metatable = false}

function file_meta:__close()
  File.close(self)
end

function file_meta:__tostring()
  return ("NpyFile %s %dx%d %s%s"):format(self.path, self.rows, self.cols,
    self.type, self.closed and " (closed)" or "")
end

local function matrix_file(f, path, d, writable)
  local rows, cols = d.dims[1] or 1, d.dims[2] or 1
  return setmetatable({path = path, file = f, type = d.type, rows = rows,
    cols = cols, ld = d.fortran and rows or cols, fortran = d.fortran,
    swap = d.swap, skip = d.skip, writable = writable, closed = false},
    file_meta)
end

--- npy.open(path) -> NpyFile; nil, message if the file cannot be opened
--- Opens a .npy file of a matrix or a vector, which is a column, to read parts
--- of it: file:read{from = {row, col}, size = {rows, cols}}. The file may be
--- larger than the memory. Fields: path, type, rows, cols, fortran (whether
--- each column lies in one piece), swap (whether its bytes have the other
--- order).
--- Example:
--- npy.save("w.npy", cl.array("float", {9, 9}, 12))
--- local f <close> = npy.open "w.npy"
--- print(f.rows, f:read{from = {3, 4}, size = {2, 2}}[1]) --> 9 12.0
function M.open(path)
  argument.check("npy.open", "path", path, "string")
  local f, message = file.open(path)
  if f == nil then
    return nil, message
  end
  local d = described(f, path)
  if #d.dims > 2 then
    fail(path, ("the shape has %d dimensions"):format(#d.dims),
      "a matrix has 2")
  end
  return matrix_file(f, path, d, false)
end

--- npy.create(path, type, {rows, cols}) -> NpyFile
--- Makes a .npy file of a matrix, to be written by parts: file:write(h, {from
--- = {row, col}, size = {rows, cols}}). Elements that are not written are 0. A
--- file of this name is replaced. Errors: a file that cannot be written.
--- Example: as for NpyFile:write
function M.create(path, kind, shape)
  argument.check("npy.create", "path", path, "string")
  argument.check("npy.create", "the type", kind, "string")
  argument.check("npy.create", "the shape", shape, "table")
  for i = 1, 2 do
    argument.integer("npy.create", "a size", shape[i], 1)
  end
  local text = header_text(path, kind, shape)
  local f, message = io.open(path, "w+b")
  if f == nil then
    cl.error("cannot write " .. message)
  end
  local function check(ok, reason)
    if not ok then
      f:close()
      cl.error(("cannot write %s: %s"):format(path, reason))
    end
  end
  check(f:write(text))
  check(f:seek("set", #text + shape[1] * shape[2] * cl.typesize(kind) - 1))
  check(f:write "\0")
  check(f:flush())
  return matrix_file(f, path, {type = kind, dims = shape, skip = #text}, true)
end

return M

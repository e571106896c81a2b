-- data/npy.lua - NumPy's .npy files (versions 1.0, 2.0, 3.0) to and from host
-- arrays of up to four dimensions.
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local class_of = require "clshell.base.text".class
local host = require "cl.host"
local new_file = require "clshell.data.new_file"

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

-- One literal of the header at position p: a string or a boolean as itself,
-- a tuple or list as {text}; other words are nil. Returns it and the position
-- after it.
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

-- The header's dictionary as a Lua table, nil where it is none.
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
  elseif count == 0 then
    fail(path, ("the shape %s has no elements"):format(shape[1]),
      "arrays and buffers have at least one")
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

--- npy.load(path) -> host array; nil, message if the file cannot be opened
--- Reads a .npy file: real, integer and boolean elements (booleans become
--- uchar), either byte order, C or Fortran order, up to four dimensions. A
--- scalar becomes an array of one element. Anything else, and a file whose
--- size is not what its header says, is an error.
function M.load(path)
  argument.check("npy.load", "path", path, "string")
  local f <close>, message = io.open(path, "rb")
  if f == nil then
    return nil, message
  end
  local size = f:seek("end")
  f:seek("set")
  local dict, offset = header(f, path, size)
  local kind, swap = element(path, dict.descr)
  local dims, count = extents(path, dict.shape)
  local bytes = count * cl.typesize(kind)
  if size - offset ~= bytes then
    fail(path, ("%d bytes of data follow the header"):format(size - offset),
      ("shape %s of %s takes %d"):format(dict.shape[1], kind, bytes))
  end
  local fortran = dict.fortran_order
  if #dims == 0 then
    dims[1] = 1
  elseif fortran then
    for d = 1, #dims // 2 do
      dims[d], dims[#dims + 1 - d] = dims[#dims + 1 - d], dims[d]
    end
  end
  local h = cl.array(kind, dims)
  h:readfile(f)
  if swap then
    h:swap()
  end
  return fortran and reversed(h) or h
end

--- npy.save(path, h)
--- Writes host array h as .npy version 1.0 in C order, byte for byte as NumPy
--- does. Errors: an element type that .npy has not (vectors), a file that
--- cannot be written.
function M.save(path, h)
  if class_of(h) ~= "Array" then
    cl.error(("npy.save: the second argument must be an Array; got %s"):format(
      class_of(h) or type(h)))
  end
  local code = CODES[h.type]
  if code == nil then
    cl.error(("%s: .npy has no element type like %s"):format(path, h.type),
      {hint = "reshape to an array of its component type"})
  end
  local order = cl.typesize(h.type) == 1 and "|" or LITTLE and "<" or ">"
  local shape = h.shape
  local dims = table.concat(shape, ", ") .. (#shape == 1 and "," or "")
  local text = ("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }")
    :format(order, code, dims)
    .. (" "):rep(GROWTH - #tostring(shape[1]))
  text = text .. (" "):rep(64 - (#MAGIC + 4 + #text + 1) % 64) .. "\n"
  new_file(path, function(f, check)
    check(f:write(MAGIC, "\1\0", string.pack("<s2", text)))
    local ok, problem = pcall(h.writefile, h, f)
    check(ok, type(problem) == "table" and problem.message or problem)
  end)
end

return M

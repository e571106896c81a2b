-- npy.lua - NumPy files: every element type and order, what NumPy wrote byte
-- for byte, and files that lie.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local npy = require "clshell.data.npy"

local path -- of a file, removed when the test ends

local function test(name, fn)
  t.test(name, function()
    path = t.tmp("test.npy")
    fn()
  end)
end

local function create(bytes)
  t.write(path, bytes)
end

local function content()
  return t.read(path)
end

-- A file with this header text and data.
local function file(header, data, major)
  major = major or 1
  return "\x93NUMPY" .. string.char(major, 0)
    .. string.pack(major == 1 and "<s2" or "<s4", header .. "\n") .. data
end

local function describe(descr, fortran, shape)
  return ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"):format(
    descr, fortran and "True" or "False", shape)
end

local function load(descr, fortran, shape, data, major)
  create(file(describe(descr, fortran, shape), data, major))
  return npy.load(path)
end

local function list(h)
  local words = {}
  for k = 1, #h do
    words[k] = ("%g"):format(h[k])
  end
  return table.concat(words, " ")
end

-- numpy.save of numpy.arange(6, dtype="<f4").reshape(2, 3), NumPy 1.24
local SAVED = "\147NUMPY\1\0v\0"
  .. "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
  .. (" "):rep(58) .. "\n\0\0\0\0\0\0\128?\0\0\0@\0\0@@\0\0\128@\0\0\160@"

test("no elements, both ways", function()
  for kind, shape in pairs{float = {0}, int = {0, 3}, uchar = {2, 0, 4}} do
    npy.save(path, cl.array(kind, shape))
    local h <close> = npy.load(path)
    t.eq({h.type, h.shape}, {kind, shape})
  end
  t.eq(load("<f4", true, "(0, 3)", "").shape, {0, 3})
  npy.save(path, cl.array("float3", 0))
  t.eq(npy.load(path).shape, {0, 3})
end)

test("a file of NumPy, both ways", function()
  t.eq(#SAVED, 152)
  create(SAVED)
  local h <close> = npy.load(path)
  t.eq(h.type, "float")
  t.eq(h.rows, 2)
  t.eq(h.cols, 3)
  t.eq(list(h), "0 1 2 3 4 5")
  os.remove(path)
  npy.save(path, h)
  t.ok(content() == SAVED)
end)

test("element types and byte orders", function()
  local codes = {
    f4 = {"float", "f"}, f8 = {"double", "d"}, i1 = {"char", "i1"},
    u1 = {"uchar", "I1"}, i2 = {"short", "i2"}, u2 = {"ushort", "I2"},
    i4 = {"int", "i4"}, u4 = {"uint", "I4"}, i8 = {"long", "i8"},
    u8 = {"ulong", "I8"},
  }
  for code, c in pairs(codes) do
    local third = code:find("u") and 3 or -3
    for _, order in ipairs(code:find("1") and {"|", "<"} or {"<", ">"}) do
      local data = string.pack((order == ">" and ">" or "<")
        .. c[2]:rep(6), 0, 1, 2, third, 40, 100)
      local h <close> = load(order .. code, false, "(2, 3)", data)
      t.eq(h.type, c[1])
      t.eq(list(h), ("0 1 2 %d 40 100"):format(third))
    end
  end
  for order, data in pairs{
    ["<"] = "\0\0\0<\0@\0\194\0Q@V", [">"] = "\0\0<\0@\0\194\0Q\0V@",
  } do
    local h <close> = load(order .. "f2", false, "(2, 3)", data)
    t.eq(h.type, "half")
    t.eq(list(h), "0 1 2 -3 40 100")
  end
  local b <close> = load("|b1", false, "(3,)", "\1\0\1")
  t.eq(b.type, "uchar")
  t.eq(list(b), "1 0 1")
end)

test("versions and shapes", function()
  for major = 1, 3 do
    local h <close> = load("|u1", false, "(2,)", "\5\6", major)
    t.eq(#h.shape, 1)
    t.eq(list(h), "5 6")
  end
  for shape, dims in pairs{
    ["()"] = {1}, ["(1,)"] = {1}, ["(6,)"] = {6}, ["(6L,)"] = {6},
    ["(3, 2)"] = {3, 2}, ["(1, 2, 3)"] = {1, 2, 3},
    ["(1, 3, 1, 2)"] = {1, 3, 1, 2},
  } do
    local n = 1
    for _, d in ipairs(dims) do
      n = n * d
    end
    local h <close> = load("|u1", false, shape, ("\7"):rep(n))
    t.eq(table.concat(h.shape, " "), table.concat(dims, " "))
    t.eq(#h, n)
  end
  -- the dictionary's order and quotes are free
  create(file([[{"shape":(2,),"descr":"|u1","fortran_order":False}]], "\1\2"))
  local h <close> = npy.load(path)
  t.eq(list(h), "1 2")
end)

test("the order of a file is True or False", function()
  for _, word in ipairs{"Maybe", "true", "1", "None", "'True'", "(True)"} do
    create(file(("{'descr': '|u1', 'fortran_order': %s, 'shape': (2,)}")
      :format(word), "\1\2"))
    t.raises(function() npy.load(path) end, path,
      "no fortran_order; needed is True or False")
  end
  t.raises(function() npy.save(path, {1}) end,
    "npy.save: the second argument must be an Array; got table")
end)

test("Fortran order", function()
  local m <close> = load("|u1", true, "(2, 3)", "\1\2\3\4\5\6")
  t.eq(table.concat(m.shape, " "), "2 3")
  t.eq(list(m), "1 3 5 2 4 6")
  local v <close> = load("|u1", true, "(3,)", "\1\2\3")
  t.eq(list(v), "1 2 3")
  local s <close> = load("|u1", true, "()", "\9")
  t.eq(list(s), "9")
  for _, dims in ipairs{{2, 3, 4}, {1, 5, 2}, {2, 3, 4, 5}, {3, 1, 1, 2}} do
    local a, b, c, d = dims[1], dims[2], dims[3], dims[4] or 1
    local bytes = {}
    for k = 1, a * b * c * d do
      bytes[k] = string.char(k)
    end
    local shape = ("(%s)"):format(table.concat(dims, ", "))
    local h <close> = load("|u1", true, shape, table.concat(bytes))
    t.eq(table.concat(h.shape, " "), table.concat(dims, " "))
    local k = 0
    for i = 1, a do
      for j = 1, b do
        for l = 1, c do
          for n = 1, d do
            k = k + 1
            t.eq(h[k], i + a * (j - 1 + b * (l - 1 + c * (n - 1))))
          end
        end
      end
    end
  end
end)

test("round trips", function()
  for _, kind in ipairs{"half", "float", "double", "char", "uchar", "short",
    "ushort", "int", "uint", "long", "ulong"} do
    for _, shape in ipairs{{1}, {129}, {7, 3}, {2, 3, 4}, {2, 1, 3, 2}} do
      local a <close> = cl.array(kind, shape)
      a:random(3)
      npy.save(path, a)
      t.eq((#content() - a.bytes) % 64, 0)
      local b <close> = npy.load(path)
      t.eq(b.type, kind)
      t.eq(table.concat(b.shape, " "), table.concat(shape, " "))
      t.ok(a:equal(b))
    end
  end
end)

test("vectors are numbers with one more dimension", function()
  local a <close> = cl.array("float4", 2, {{1, 2, 3, 4}, {5, 6, 7, 8}})
  npy.save(path, a)
  local h <close> = npy.load(path)
  t.eq({h.type, h.shape, list(h)}, {"float", {2, 4}, "1 2 3 4 5 6 7 8"})
  npy.save(path, cl.array("uchar3", {2, 1}, {{{1, 2, 3}}, {{4, 5, 255}}}))
  local u <close> = npy.load(path)
  t.eq({u.type, u.shape, list(u)}, {"uchar", {2, 1, 3}, "1 2 3 4 5 255"})
end)

local function refused(pattern, bytes)
  create(bytes)
  t.raises_match(function() npy.load(path) end, "test%.npy: .*" .. pattern)
end

test("not a .npy file", function()
  refused("not a %.npy file", "")
  refused("not a %.npy file", "hello, world")
  refused("not a %.npy file", "\x93NUMPY")
  refused("version is 4%.0; readable are 1%.0, 2%.0 and 3%.0",
    "\x93NUMPY\4\0" .. ("\0"):rep(100))
  local h, message = npy.load(t.tmp("none.npy"))
  t.eq(h, nil)
  t.ok(message:find("none.npy", 1, true))
end)

test("truncated files", function()
  refused("ends inside its header, after 9 bytes", SAVED:sub(1, 9))
  refused("ends inside its header, after 100 bytes; .*128",
    SAVED:sub(1, 100))
  refused("ends inside its header",
    "\x93NUMPY\2\0\xff\xff\xff\xff{}")
  refused("0 bytes of data .*takes 24", SAVED:sub(1, 128))
  refused("23 bytes of data .*takes 24", SAVED:sub(1, 151))
  refused("25 bytes of data .*takes 24", SAVED .. "\0")
end)

test("headers that lie", function()
  local four = "\0\0\0\0"
  local function header(descr, shape)
    return file(describe(descr, false, shape), four)
  end
  refused("not a Python dictionary", file("descr", four))
  refused("not a Python dictionary", file("{'descr' '<f4'}", four))
  refused("fortran_order", file("{'descr': '<f4', 'shape': (1,)}", four))
  refused("element type is missing",
    file("{'fortran_order': False, 'shape': (1,)}", four))
  refused("no shape", file("{'descr': '<f4', 'fortran_order': False}", four))
  refused("no shape", header("<f4", "1"))
  refused("no shape", header("<f4", "[1]"))
  refused("shape is %(%-1,%)", header("<f4", "(-1,)"))
  refused("shape is %(1%.5,%)", header("<f4", "(1.5,)"))
  refused("whole numbers", header("<f4", "(99999999999999999999,)"))
  refused("whole numbers", header("<f4", "(4294967296, 4294967296)"))
  refused("whole numbers", header("<f4", "(4294967296, 4294967296, 0)"))
  refused("takes 4000000000000", header("<f4", "(1000000, 1000000)"))
  refused("5 dimensions; at most 4", header("<f4", "(1, 1, 1, 1, 1)"))
  refused("element type is <c8; readable are", header("<c8", "(1,)"))
  refused("element type is |O", header("|O", "(1,)"))
  refused("element type is <U4", header("<U4", "(1,)"))
  refused("element type is <f16", header("<f16", "(1,)"))
  refused("element type is <M8%[ns%]", header("<M8[ns]", "(1,)"))
  refused("element type is %[%('x', '<f4'%)%]",
    file("{'descr': [('x', '<f4')], 'fortran_order': False, "
      .. "'shape': (1,), }", four))
end)

test("files that cannot be written", function()
  local a <close> = cl.array("float", 100000)
  t.raises(function() npy.save("/no/such/folder/a.npy", a) end,
    "/no/such/folder")
  if io.open("/dev/full", "wb") then
    t.raises(function() npy.save("/dev/full", a) end, "/dev/full")
  end
end)

test("parts of a file, in either order of elements and bytes", function()
  local function first(h)
    return table.concat(h.shape, "x") .. ":" .. list(h)
  end
  local data = "\1\2\3\4\5\6\7\8\9\10\11\12"
  create(file(describe("|u1", false, "(3, 4)"), data))
  local f = npy.open(path)
  t.eq(f.rows, 3)
  t.eq(f.cols, 4)
  t.eq(first(f:read()), "3x4:1 2 3 4 5 6 7 8 9 10 11 12")
  t.eq(first(f:read{from = {2, 3}}), "2x2:7 8 11 12")
  t.eq(first(f:read{from = {2, 2}, size = {1, 2}}), "1x2:6 7")
  local h <close> = cl.array("uchar", 2)
  t.ok(rawequal(f:read(h, {from = {3, 1}, size = {1, 2}}), h))
  t.eq(list(h), "9 10")
  t.raises(function() f:read{from = {4, 1}} end, "the row", "from 1 to 3")
  t.raises(function() f:read{size = {4, 1}} end, "the rows")
  t.raises(function() f:read(h) end, "12 elements")
  t.raises(function() f:write(h) end, "npy.create")
  t.ok(tostring(f):find "3x4 uchar")
  f:close()
  f:close()
  t.raises(function() f:read() end, "is closed")

  create(file(describe("|u1", true, "(3, 4)"), data))
  local g <close> = npy.open(path)
  t.eq(first(g:read{from = {2, 3}}), "2x2:8 11 9 12")
  g:close()
  create(file(describe(">i2", false, "(2, 2)"), "\0\1\0\2\0\3\0\4"))
  local swapped <close> = npy.open(path)
  t.ok(swapped.swap)
  t.eq(first(swapped:read{from = {2, 1}}), "1x2:3 4")
  t.eq((npy.open "/no/such/file.npy"), nil)
  create(file(describe("|u1", false, "(1, 1, 1)"), "\1"))
  t.raises(function() npy.open(path) end, "3 dimensions")
end)

test("a file written by parts", function()
  do
    local f <close> = npy.create(path, "int", {3, 3})
    f:write(cl.array("int", {2, 2}, {{1, 2}, {3, 4}}), {from = {2, 2}})
    t.raises(function() f:write(cl.array("int", 3)) end, "9 elements")
  end
  local h <close> = npy.load(path)
  t.eq(h.type, "int")
  t.eq(list(h), "0 0 0 0 1 2 0 3 4")
  t.raises(function() npy.create("/no/such/a.npy", "int", {1, 1}) end,
    "/no/such")
  t.raises(function() npy.create(path, "float4", {1, 1}) end, "float4")
  t.raises(function() npy.create(path, "int", {1, 0}) end, "size")
end)

t.done()

-- mtx.lua - Matrix Market files: every kind that is read, what is written,
-- and each fault with its file and line.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local csr = require "clshell.data.csr"
local mtx = require "clshell.data.mtx"

t.device()

local path -- of a file, removed when the test ends

local function test(name, fn)
  t.test(name, function()
    path = t.tmp("test.mtx")
    fn()
  end)
end

local function create(...)
  t.write(path, table.concat({...}, "\n"), "\n")
end

local function content()
  return t.read(path)
end

-- A file with this kind of header, read as a dense matrix in one line of
-- text.
local function dense(kind, ...)
  create("%%MatrixMarket matrix " .. kind, ...)
  local h <close> = mtx.dense(assert(mtx.read(path)), "double")
  local words = {}
  for k = 1, #h do
    words[k] = ("%g"):format(h[k])
  end
  return table.concat(words, " ")
end

test("coordinate files", function()
  t.eq(dense("coordinate real general", "2 3 3", "1 1 1.5", "2 3 -2e1",
    "1 2 3"), "1.5 3 0 0 0 -20")
  t.eq(dense("coordinate integer general", "2 2 2", "1 2 7", "2 1 -8"),
    "0 7 -8 0")
  t.eq(dense("coordinate pattern general", "2 2 2", "1 2", "2 2"), "0 1 0 1")
  t.eq(dense("coordinate real symmetric", "3 3 4", "1 1 1", "2 1 2", "3 2 3",
    "3 3 4"), "1 2 0 2 0 3 0 3 4")
  t.eq(dense("coordinate real skew-symmetric", "3 3 2", "2 1 2", "3 2 3"),
    "0 -2 0 2 0 -3 0 3 0")
  t.eq(dense("coordinate pattern symmetric", "2 2 1", "2 1"), "0 1 1 0")
  t.eq(dense("coordinate real general", "2 2 0"), "0 0 0 0")
end)

test("array files", function()
  t.eq(dense("array real general", "2 3", "1", "2", "3", "4", "5", "6"),
    "1 3 5 2 4 6")
  t.eq(dense("array integer general", "1 1", "-7"), "-7")
  t.eq(dense("array real symmetric", "2 2", "1", "2", "3"), "1 2 2 3")
  t.eq(dense("array real skew-symmetric", "2 2", "5"), "0 -5 5 0")
end)

test("what may vary", function()
  t.eq(dense("Coordinate Real GENERAL", "% a comment", "%", "", "  2 2 2",
    "", "\t1  1\t+1.0E+0  ", "2 2 .5\r", "", ""), "1 0 0 0.5")
  local f <close> = assert(io.open(path, "wb"))
  f:write("%%MatrixMarket matrix coordinate real general\r\n1 1 1\r\n1 1 3")
  f:close() -- no newline at the end
  t.eq(mtx.read(path).v[1], 3)
  t.eq(dense("coordinate real general", "1 2 3", "1 2 1", "1 1 5", "1 2 2"),
    "5 3") -- entries given twice add up
end)

test("header words", function()
  create("%%MatrixMarket matrix coordinate integer symmetric", "2 2 1",
    "2 1 3")
  local m = mtx.read(path)
  t.eq(m.format, "coordinate")
  t.eq(m.field, "integer")
  t.eq(m.symmetry, "symmetric")
  t.eq(m.rows, 2)
  t.eq(m.cols, 2)
  t.eq(#m.i, 2)
end)

test("values keep their last bit and their sign", function()
  for _, case in ipairs{
    {"ulong", {-1, math.mininteger, 0, 5}}, {"uint", {4294967295, 0, 1, 7}},
    {"long", {math.maxinteger, math.mininteger, 0, -1}},
    {"double", {-0.0, 0.0, 1e300, -5e-324}}, {"float", {-0.0, 1, 0, 3.5}},
    {"half", {-0.0, 1, 0, 65504}},
  } do
    local h <close> = cl.array(case[1], 4, case[2]):reshape{2, 2}
    mtx.write_dense(path, h)
    t.eq(mtx.dense(mtx.read(path), case[1]):tobytes(), h:tobytes(), case[1])
  end
  local function value(type, kind, ...)
    create("%%MatrixMarket matrix coordinate " .. kind, ...)
    return mtx.dense(mtx.read(path), type)[1]
  end
  local unsigned = "unsigned-integer symmetric"
  t.eq(value("uint", unsigned, "2 2 1", "1 1 4294967295"), 4294967295)
  create("%%MatrixMarket matrix coordinate " .. unsigned, "2 2 2",
    "1 1 -0", "2 1 18446744073709551615")
  t.eq(mtx.dense(mtx.read(path), "ulong")[2], -1)
  t.eq(csr.load(path, {type = "ulong"}).host.values[2], -1)
  t.eq(mtx.dense(mtx.read(path), "double")[3], 2.0 ^ 64)
  t.eq(1 / value("double", "real general", "1 1 1", "1 1 -0"), -1 / 0)
  t.eq(1 / csr.load(path).host.values[1], -1 / 0)
  -- Entries given twice are added first, and become floats then.
  t.eq(value("float", "real general", "1 1 3", "1 1 16777216", "1 1 1",
    "1 1 1"), 16777218)
  t.eq(value("int", "integer general", "1 1 3", "1 1 2147483647", "1 1 1",
    "1 1 -1"), 2147483647)
  t.eq(value("float", "real general", "1 1 2", "1 1 3e38", "1 1 -3e38"), 0)
  t.eq(csr.from_coo(1, 1, {1, 1, 1}, {1, 1, 1}, {math.maxinteger, 1, 1})
    .host.values[1], 2.0 ^ 63)
  t.eq(csr.from_coo(1, 1, {1, 1}, {1, 1}, {1 << 53, 1}, {type = "long"})
    .host.values[1], (1 << 53) + 1)
  for _, case in ipairs{
    {"float", "real", "1e300"}, {"float", "real", "-3.5e38"},
    {"half", "integer", "70000"}, {"ulong", "integer", "-1"},
    {"ulong", "integer", "18446744073709551616"}, {"int", "integer", "3e9"},
    {"long", "integer", "9223372036854775808"}} do
    t.raises(function()
      value(case[1], case[2] .. " general", "1 1 1", "1 1 " .. case[3])
    end, "does not fit " .. case[1])
  end
  for _, kind in ipairs{"long", "ulong"} do
    t.raises(function()
      value(kind, "integer general", "1 1 3", "1 1 9223372036854775807",
        "1 1 9223372036854775807", "1 1 2")
    end, "does not fit " .. kind)
  end
  create("%%MatrixMarket matrix coordinate real general", "1 1 1", "1 1 1e300")
  t.raises(function() csr.load(path) end, path .. ": entry (1, 1), 1e+300")
  t.eq(csr.load(path, {type = "double"}).host.values[1], 1e300)
  t.raises(function() mtx.dense(mtx.read(path), "float4") end, "float4")
end)

local function refused(pattern, ...)
  create(...)
  t.raises_match(function() mtx.read(path) end, "test%.mtx:" .. pattern)
end

test("bad headers", function()
  refused("1: no Matrix Market header", "")
  refused("1: no Matrix Market header", "2 2 1", "1 1 1")
  refused("1: no Matrix Market header", "%%MatrixMarket matrix coordinate")
  local start = "%%MatrixMarket matrix "
  refused("1: complex values", start .. "coordinate complex general", "1 1 0")
  refused("1: complex values", start .. "coordinate complex hermitian",
    "1 1 0")
  refused("1: .*readable are", start .. "coordinate real diagonal", "1 1 0")
  refused("1: .*readable are", start .. "list real general", "1 1 0")
  refused("1: a pattern", start .. "array pattern general", "1 1")
  refused("1: a pattern", start .. "coordinate pattern skew-symmetric",
    "1 1 0")
  local general = start .. "coordinate real general"
  refused("2: the file ends here; .*rows columns entries", general)
  refused('3: "2 2"; .*rows columns entries', general, "% size", "2 2")
  refused('2: "2 2 1 1"', general, "2 2 1 1")
  refused('2: "2 x 1"', general, "2 x 1")
  refused('2: "2 2 %-1"', general, "2 2 -1")
  refused('2: "2 2.5 1"', general, "2 2.5 1")
  refused("2: a 0 x 2 matrix", general, "0 2 0")
  refused("2: a 3000000000 x 2 matrix", general, "3000000000 2 0")
  refused("2: .*99999999999999999999", general, "1 1 99999999999999999999")
  refused("2: a symmetric matrix of 2 x 3; it must be square",
    start .. "coordinate real symmetric", "2 3 0")
  refused("3: the file ends after 1 of 1000000000000 entries",
    general, "2 2 1000000000000", "1 1 1")
  refused('3: "1 1"; needed is "row column value"', general, "2 2 2", "1 1",
    "2 1")
  refused('2: "1 1 .*needed is the size line', general, ("1 "):rep(1000000))
  refused("1: .*each character in a byte",
    "\xff\xfe%\0%\0M\0a\0t\0r\0i\0x\0")
  refused("3: value %-1 in a file of unsigned integers", start
    .. "coordinate unsigned-integer general", "1 1 1", "1 1 -1")
  create("\xef\xbb\xbf" .. general, "1 1 1", "1 1 3")
  t.eq(mtx.read(path).v[1], 3)
  t.eq({mtx.read "/"}, {nil, "/: Is a directory"})
  refused("4: the file ends after 2 of 4000000000000000000 entries",
    start .. "array real general", "2000000000 2000000000", "1", "2")
end)

test("bad entries", function()
  local general = "%%MatrixMarket matrix coordinate real general"
  refused("4: row 3 is outside 1 to 2", general, "2 2 2", "1 1 1", "3 1 1")
  refused("3: column 0 is outside 1 to 2", general, "2 2 1", "1 0 1")
  refused("3: row 1.0 is outside", general, "2 2 1", "1.0 1 1")
  refused("3: row %-1 is outside", general, "2 2 1", "-1 1 1")
  refused('5: value "x" is not a finite number', general, "2 2 2", "1 1 1",
    "", "1 2 x")
  refused('3: value "nan"', general, "2 2 1", "1 1 nan")
  refused('3: value "1e999"', general, "2 2 1", "1 1 1e999")
  refused('3: "1 1"; needed is "row column value"', general, "2 2 2", "1 1",
    "2 1 2 2")
  refused('4: "1 1 1 1"; needed', general, "2 2 2", "1 2 3", "1 1 1 1")
  refused('3: "%% late"; needed', general, "2 2 1", "% late", "1 1 1")
  refused("4: the file ends after 2 of 3 entries", general, "2 2 3",
    "1 1 1.0000", "1 2 1.000000")
  refused("5: entry 3, but the header announces 2", general, "2 2 2",
    "1 1 1", "1 2 1", "2 2 1")
  refused("3: value 1.5 in a file of integers",
    "%%MatrixMarket matrix coordinate integer general", "1 1 1", "1 1 1.5")
  refused('3: "1 1 1"; needed is "row column"',
    "%%MatrixMarket matrix coordinate pattern general", "1 1 1", "1 1 1")
  refused("3: entry %(1, 2%); a symmetric file holds the entries below the "
    .. "diagonal and on it only",
    "%%MatrixMarket matrix coordinate real symmetric", "2 2 1", "1 2 1")
  refused("3: entry %(1, 1%); a skew%-symmetric",
    "%%MatrixMarket matrix coordinate real skew-symmetric", "2 2 1", "1 1 1")
  local array = "%%MatrixMarket matrix array real general"
  refused("4: the file ends after 2 of 3 entries", array, "1 3", "1.00",
    "2.000")
  refused("5: entry 3, but", array, "1 2", "1", "2", "3")
  refused('3: "1 2"; needed is "value"', array, "1 2", "1 2")
  refused('4: value "b"', array, "1 2", "1", "b")
  local m, message = mtx.read(t.tmp("none.mtx"))
  t.eq(m, nil)
  t.ok(message:find("none.mtx", 1, true))
end)

test("misuse names the function and the argument", function()
  t.raises(function() mtx.read() end, "mtx.read: the path must be a string",
    "got nothing")
  t.raises(function() mtx.dense() end, "mtx.dense: the triplets", "nothing")
  t.raises(function() mtx.dense{} end, "mtx.dense: m.i", "got nothing")
  local function entry(i, j, v, rows)
    return function()
      mtx.dense{rows = rows or 2, cols = 3, i = {i}, j = {j}, v = {v}}
    end
  end
  t.raises(entry(1, 1, 1, -1), "m.rows must be", "got -1")
  t.raises(entry(1, 4, 1), "mtx.dense: entry 1, (1, 4, 1)", "from 1 to 3")
  t.raises(entry("x", 1, 1), "entry 1, (x, 1, 1)")
  t.raises(entry(1, 1, "x"), "entry 1, (1, 1, x)")
  local m = {rows = 1, cols = 1, nnz = 0}
  t.raises(function() mtx.write() end, "mtx.write: the path")
  t.raises(function() mtx.write(path) end, "mtx.write: the matrix", "nothing")
  t.raises(function() mtx.write(path, {}) end, "m.rows", "got nothing")
  t.raises(function() mtx.write(path, m) end, "third argument", "function")
  t.raises(function() mtx.write_dense(path) end, "mtx.write_dense", "Array")
  t.raises(function() mtx.write_dense(path, cl.array("int", 2)) end,
    "two dimensions; got Array int[2]")
end)

test("written files", function()
  local h <close> = cl.array("double", {2, 2}, {{0.1, 2}, {-1e300, 4}})
  mtx.write_dense(path, h)
  t.eq(content(), "%%MatrixMarket matrix array real general\n2 2\n"
    .. "0.10000000000000001\n-1.0000000000000001e+300\n2\n4\n")
  local b <close> = mtx.dense(mtx.read(path), "double")
  t.ok(h:equal(b))
  local f <close> = cl.array("float", {300, 7})
  f:random(5)
  mtx.write_dense(path, f)
  local g <close> = mtx.dense(mtx.read(path))
  t.ok(f:equal(g))
  local i <close> = cl.array("int", {1, 2}, {{-5, 7}})
  mtx.write_dense(path, cl.array("ulong", {1, 2}, -1))
  t.ok(content(path):find("\n18446744073709551615\n", 1, true))
  mtx.write_dense(path, i)
  t.eq(content(), "%%MatrixMarket matrix array integer general\n1 2\n-5\n7\n")
  local n <close> = cl.array("float", {1, 2}, {{1, 0 / 0}})
  t.raises(function() mtx.write_dense(path, n) end, "entry (1, 2)")
  t.raises(function() mtx.write_dense("/no/such/folder/a.mtx", h) end,
    "/no/such/folder")
  if io.open("/dev/full", "wb") then
    t.raises(function() mtx.write_dense("/dev/full", h) end, "/dev/full")
  end
end)

-- The entries of a CSR matrix, "row,column=value", from 1.
local function entries(M)
  local words = {}
  local host = M.host
  for i = 1, M.rows do
    for k = host.row_ptr[i] + 1, host.row_ptr[i + 1] do
      words[#words + 1] = ("%d,%d=%g"):format(i, host.col_ind[k] + 1,
        host.values[k])
    end
  end
  return table.concat(words, " ")
end

test("CSR from triplets", function()
  local M <close> = csr.from_coo(3, 4, {3, 1, 1, 3, 3}, {4, 2, 1, 1, 4},
    {1, 2, 3, 4, 5})
  t.eq(M.format, "csr")
  t.eq(M.type, "float")
  t.eq(M.nnz, 4)
  t.eq(entries(M), "1,1=3 1,2=2 3,1=4 3,4=6")
  t.eq(#M.row_ptr, 4)
  t.eq(#M.values, 4)
  local ptr <close> = M.row_ptr:read()
  local col <close> = M.col_ind:read()
  local val <close> = M.values:read()
  t.ok(ptr:equal(M.host.row_ptr))
  t.ok(col:equal(M.host.col_ind))
  t.ok(val:equal(M.host.values))
  t.eq(tostring(M), "CSR matrix 3 x 4 of float, 4 entries")
  local info = M:info()
  t.eq(info.row_min, 0)
  t.eq(info.row_max, 2)
  t.near(info.row_mean, 4 / 3, 1e-12)
  t.eq(info.bytes, 4 * 4 + 4 * 4 + 4 * 4)
end)

test("an empty CSR matrix", function()
  local M <close> = csr.from_coo(2, 2, {}, {}, {}, {type = "double"})
  t.eq(M.nnz, 0)
  t.eq(entries(M), "")
  t.eq(#M.col_ind, 1)
  t.eq(#M.values, 1)
  M:save(path)
  local N <close> = csr.load(path)
  t.eq(N.nnz, 0)
  t.eq(N.rows, 2)
end)

test("wrong triplets", function()
  local function from(...)
    local args = {...}
    return function() csr.from_coo(table.unpack(args)) end
  end
  t.raises(from(0, 1, {}, {}, {}), "rows must be", "got 0")
  t.raises(from(1, 1 << 31, {}, {}, {}), "cols must be", "got 2147483648")
  t.raises(from(1, 1, {1}, {}, {1}),
    "1 row indices, 0 column indices and 1 values")
  t.raises(from(2, 2, {1, 3}, {1, 1}, {1, 1}),
    "entry 2 is at (3, 1), outside 2 x 2")
  t.raises(from(2, 2, {1}, {0}, {1}), "entry 1 is at (1, 0)")
  t.raises(from(4, 4, {"x"}, {1}, {1}),
    "csr.from_coo: the indexes of entry 1 must be integers; got (x, 1)")
  t.raises(from(4, 4, {1}, {1.5}, {1}), "got (1, 1.5)")
  t.raises(from(4, 4, {"1"}, {1}, {1}), "must be integers")
  t.raises(from(4, 4, {1}, {1}, {"x"}), "value of entry 1 must be a number")
  t.raises(from(4, 4), "csr.from_coo: i must be a table or an Array",
    "got nothing")
  t.raises(from(2, 2, {1}, {1}, {1}, {types = "float"}), "type")
  local most = cl.device().max_mem_alloc_size // 4
  if most < 0x7fffffff then
    t.raises(from(most, 1, {}, {}, {}), ("row_ptr of %d rows takes %d bytes")
      :format(most, 4 * most + 4))
    create("%%MatrixMarket matrix coordinate real general\n"
      .. most .. " 1 0\n")
    t.raises(function() csr.load(path) end, "row_ptr of " .. most)
  end
  for _, kind in ipairs{"int3", "float4", "nothing"} do
    t.raises(from(2, 2, {1}, {1}, {1}, {type = kind}),
      "csr.from_coo: type must be a type of numbers, such as float; got "
        .. kind)
  end
end)

test("CSR files", function()
  for _, kind in ipairs{"float", "double"} do
    local is, js, vs = {}, {}, {}
    for k = 1, 2000 do -- spread over 50 x 70, each place at most once
      is[k], js[k] = k * 37 % 50 + 1, k % 70 + 1
      vs[k] = math.sin(k) * 10 ^ (k % 20 - 10)
    end
    local M <close> = csr.from_coo(50, 70, is, js, vs, {type = kind})
    M:save(path)
    local N <close> = csr.load(path, {type = kind})
    t.eq(N.rows, 50)
    t.eq(N.cols, 70)
    t.eq(N.nnz, M.nnz)
    t.ok(N.host.row_ptr:equal(M.host.row_ptr))
    t.ok(N.host.col_ind:equal(M.host.col_ind))
    t.ok(N.host.values:equal(M.host.values))
  end
  local S <close> = csr.from_coo(2, 2, {1, 1, 2}, {1, 2, 1}, {1, 2, 2})
  S:save(path, {symmetric = true})
  t.eq(content(), "%%MatrixMarket matrix coordinate real symmetric\n"
    .. "2 2 2\n1 1 1\n2 1 2\n")
  local T <close> = csr.load(path)
  t.eq(entries(T), entries(S))
  local A <close> = csr.from_coo(2, 2, {1}, {2}, {3})
  t.raises(function() A:save(path, {symmetric = true}) end,
    "not symmetric: (1, 2) is 3", ", (2, 1) is missing")
  local W <close> = csr.from_coo(2, 3, {1}, {1}, {3})
  t.raises(function() W:save(path, {symmetric = true}) end,
    "2 x 3 matrix is not symmetric")
  local none, message = csr.load(t.tmp("none.mtx"))
  t.eq(none, nil)
  t.ok(message:find("none.mtx", 1, true))
end)

test("a closed CSR matrix", function()
  local M = csr.from_coo(1, 1, {1}, {1}, {1})
  M:close()
  M:close()
  t.eq(tostring(M), "CSR matrix 1 x 1 of float, 1 entries")
  t.raises(function() M:save(path) end, "closed")
  t.raises(function() M.values:read() end, "closed")
end)

t.done()

-- matrix.lua - dense matrices: constructors, methods of Buffer, files.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local matrix = require "clshell.data.matrix"
local mtx = require "clshell.data.mtx"

t.keeps("Program", "Kernel")
local device = t.device()

-- The elements of a matrix, row by row, as one line of text.
local function text(A)
  local h <close> = A:read()
  local words = {}
  for k = 1, #h do
    words[k] = ("%g"):format(h[k])
  end
  return table.concat(words, " ")
end

local function size(A)
  return ("%d x %d"):format(A.rows, A.cols)
end

t.test("no elements", function()
  local path = t.tmp("none")
  local A = cl.buffer("uchar", {0, 4})
  A:save(path .. ".npy")
  t.eq({matrix.load(path .. ".npy").shape, A:transposed().shape,
    A:max_diff(A)}, {{0, 4}, {4, 0}, 0.0})
  t.raises(function() A:save(path .. ".mtx") end, "1 row and 1 column")
  t.raises(function() A:save(path .. ".pgm") end, "1 at least")
end)

t.test("zeros, ones and identity", function()
  local Z <close> = matrix.zeros(2, 3)
  t.eq(Z.type, "float")
  t.eq(size(Z), "2 x 3")
  t.eq(text(Z), "0 0 0 0 0 0")
  local O <close> = matrix.ones(2, {type = "double"})
  t.eq(O.type, "double")
  t.eq(text(O), "1 1 1 1")
  local I <close> = matrix.identity(3)
  t.eq(text(I), "1 0 0 0 1 0 0 0 1")
  local wide <close> = matrix.identity(2, 4, {type = "int"})
  t.eq(text(wide), "1 0 0 0 0 1 0 0")
  local tall <close> = matrix.identity(3, 2)
  t.eq(text(tall), "1 0 0 1 0 0")
  local one <close> = matrix.identity(1)
  t.eq(text(one), "1")
end)

t.test("the device makes the random numbers of the host", function()
  local uniform = require "clshell.data.uniform"
  local least = math.mininteger
  for _, c in ipairs{
    {"float"}, {"float", -3.7, 1e30}, {"float", 1e-40, 3e-39},
    {"float", 1, 1.0000001}, {"double"}, {"double", -1e300, 5}, {"half"},
    {"int"}, {"int", -2^31 | 0, 2^31 - 1 | 0}, {"int", 7, 7}, {"uint"},
    {"char", -128, 127}, {"uchar"}, {"short"}, {"ushort"}, {"long"},
    {"long", least, math.maxinteger}, {"long", -5, 1 << 40},
    {"ulong", 0, -1}, {"ulong", 5, -9},
  } do
    local type, lo, hi = table.unpack(c)
    for i, n in ipairs{1, 70001, 255} do
      local b = cl.buffer(type, n)
      if uniform.fits(b, lo, hi) then
        local seed = ({7, -7, least})[i]
        uniform.fill(b, seed, lo, hi):wait()
        local same, at = b:read():equal(cl.array(type, n):random(seed, lo, hi))
        t.ok(same, ("%s %s %s, seed %d, at %s"):format(type, lo, hi, seed, at))
      else
        t.ok(not device:has "cl_khr_fp64", type)
      end
    end
  end
  t.ok(not uniform.fits(cl.buffer("half", 8), 0, 3)) -- would be rounded twice
  t.ok(not uniform.fits(cl.buffer("float", {2, 2}, 0, {ld = 5})))
  t.ok(not uniform.fits(cl.buffer("float4", 2)))
  local big = matrix.random(1024, 1025, {seed = 3.0, lo = -1})
  t.ok(big:read():equal(cl.array("float", {1024, 1025}):random(3, -1)))
end)

t.test("random matrices are seeded", function()
  local A <close> = matrix.random(7, 5)
  local B <close> = matrix.random(7, 5, {seed = 1})
  local C <close> = matrix.random(7, 5, {seed = 2})
  t.eq(A:max_diff(B), 0)
  t.ok(A:max_diff(C) > 0)
  local h <close> = A:read()
  for k = 1, #h do
    t.ok(h[k] >= 0 and h[k] < 1)
  end
  local D <close> = matrix.random(20, {type = "int", lo = -3, hi = 3})
  local d <close> = D:read()
  local seen = {}
  for k = 1, #d do
    t.ok(d[k] >= -3 and d[k] <= 3)
    seen[d[k]] = true
  end
  for v = -3, 3 do
    t.ok(seen[v], "value " .. v)
  end
end)

t.test("leading dimension", function()
  local A <close> = matrix.random(5, 3, {ld = 8})
  local B <close> = matrix.random(5, 3)
  t.eq(A.ld, 8)
  t.eq(B.ld, 3)
  t.eq(A:max_diff(B), 0)
  local I <close> = matrix.identity(3, {ld = 4})
  t.eq(text(I), "1 0 0 0 1 0 0 0 1")
  t.raises(function() matrix.zeros(2, 4, {ld = 3}) end, "ld")
end)

t.test("from a table and from an array", function()
  local A <close> = matrix.from{{1, 2, 3}, {4, 5, 6}}
  t.eq(text(A), "1 2 3 4 5 6")
  local B <close> = matrix.from({{1, 2}}, {type = "uchar", ld = 5})
  t.eq(B.type, "uchar")
  t.eq(text(B), "1 2")
  local h <close> = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
  local C <close> = matrix.from(h)
  t.eq(C.type, "int")
  local D <close> = matrix.from(h, {type = "float"})
  t.eq(text(D), "1 2 3 4")
  t.raises(function() matrix.from{{1, 2}, {3}} end,
    "row 2 has 1 elements, row 1 has 2")
  t.raises(function() matrix.from{1, 2} end,
    "the rows must be a table such as {{1, 2}")
  t.raises(function() matrix.from{} end, "a table without rows")
  t.raises(function() matrix.from(cl.array("int", 4)) end,
    "must have two dimensions")
  t.raises(function() matrix.from({{300}}, {type = "uchar"}) end, "300")
end)

t.test("wrong sizes and options", function()
  t.raises(function() matrix.zeros(-1) end, "matrix.zeros:", ">= 0; got -1")
  t.eq({matrix.zeros(0).shape, matrix.identity(0, 3).shape,
    matrix.random(3, 0).shape}, {{0, 0}, {0, 3}, {3, 0}})
  t.raises(function() matrix.ones(2, -1) end, "columns", "got -1")
  t.raises(function() matrix.random(2.5, 3) end, "rows", "got 2.5")
  t.raises(function() matrix.identity() end, "got nothing")
  t.raises(function() matrix.zeros("3") end, "got \"3\"")
  t.raises(function() matrix.random(2, {sed = 3}) end, "seed")
  t.raises(function() matrix.zeros(2, {type = "floats"}) end, "float")
end)

t.test("pad", function()
  local A <close> = matrix.from{{1, 2, 3}, {4, 5, 6}}
  local B <close> = A:pad(4)
  t.eq(size(B), "4 x 4")
  t.eq(text(B), "1 2 3 0 4 5 6 0 0 0 0 0 0 0 0 0")
  local C <close> = A:pad{1, 2}
  t.eq(text(C), "1 2 3 0 4 5 6 0")
  local D <close> = A:pad(1)
  t.eq(text(D), "1 2 3 4 5 6")
  local E <close> = matrix.from({{1, 2, 3}, {4, 5, 6}}, {ld = 7})
  local F <close> = E:pad{3, 3}
  t.eq(text(F), "1 2 3 4 5 6 0 0 0")
  t.raises(function() A:pad(0) end, "multiple")
  t.raises(function() A:pad{2} end, "multiple")
  t.raises(function() cl.buffer("float", 4):pad(2) end, "two-dimensional")
end)

t.test("transposed", function()
  local A <close> = matrix.from({{1, 2, 3}, {4, 5, 6}}, {ld = 5})
  local B <close> = A:transposed()
  t.eq(size(B), "3 x 2")
  t.eq(text(B), "1 4 2 5 3 6")
  for _, kind in ipairs{"char", "ushort", "int", "ulong", "half", "double"} do
    local C <close> = matrix.random(17, 5, {type = kind})
    local D <close> = C:transposed()
    local E <close> = D:transposed()
    t.eq(D.type, kind)
    t.eq(C:max_diff(E), 0)
  end
end)

t.test("max_diff", function()
  local A <close> = matrix.from{{1, 2, 3}, {4, 5, 6}}
  local B <close> = matrix.from({{1, 2, 3}, {4.5, 5, 4}}, {ld = 4})
  local difference, row, col = A:max_diff(B)
  t.eq(difference, 2)
  t.eq(row, 2)
  t.eq(col, 3)
  local C <close> = matrix.from{{1, 2}, {3, 4}, {5, 6}}
  t.raises(function() A:max_diff(C) end, "2 x 3 and 3 x 2")
  local N <close> = matrix.from{{1, 2, 0 / 0}, {4, 5, 6}}
  difference, row, col = A:max_diff(N)
  t.eq(difference, math.huge)
  t.eq(row, 1)
  t.eq(col, 3)
  t.raises(function() A:max_diff(3) end, "Buffer")
  local D <close> = matrix.zeros(2)
  D:close()
  t.raises(function() D:max_diff(A) end, "closed")
end)

t.test("save and load", function()
  for _, ending in ipairs{"npy", "mtx", "NPY"} do
    local path = t.tmp("matrix." .. ending)
    for _, kind in ipairs{"float", "double"} do
      local A <close> = matrix.random(5, 3, {type = kind, ld = 6})
      A:save(path)
      local B <close> = assert(matrix.load(path, {type = kind, ld = 4}))
      t.eq(B.ld, 4)
      t.eq(size(B), "5 x 3")
      t.eq(B.type, kind)
      t.eq(A:max_diff(B), 0)
    end
  end
  local path = t.tmp("int.npy")
  local A <close> = matrix.random(3, {type = "int"})
  A:save(path)
  local B <close> = matrix.load(path)
  t.eq(B.type, "int")
  local C <close> = matrix.load(path, {type = "float"})
  t.eq(text(A), text(C))
  local v <close> = cl.buffer("float", 3, {1, 2, 3})
  v:save(path)
  local V <close> = matrix.load(path)
  t.eq(size(V), "3 x 1")
  t.raises(function() v:save(t.tmp("v.mtx")) end, "two-dimensional")
end)

local function create(name, ...)
  local path = t.tmp(name)
  return t.write(path, ...)
end

t.test("images", function()
  local A <close> = cl.buffer("uchar", {2, 3}, {{1, 2, 3}, {4, 5, 255}})
  local path = t.tmp("a.pgm")
  A:save(path)
  t.eq(matrix.load(path):read():tobytes(), A:read():tobytes())
  t.eq(matrix.load(path, {type = "float"}):read()[6], 255.0)
  local P <close> = cl.buffer("uchar3", {1, 2}, {{{1, 2, 3}, {4, 5, 6}}})
  t.raises(function() P:save(path) end, "pixels of a .ppm file")
  path = t.tmp("a.ppm")
  P:save(path)
  local Q <close> = matrix.load(path)
  t.eq({Q.type, Q:read():table()}, {"uchar4", {{{1, 2, 3, 255},
    {4, 5, 6, 255}}}})
  Q:save(path)
  t.eq(assert(io.open(path, "rb")):read "a", "P6\n2 1\n255\n\1\2\3\4\5\6")
  t.raises(function() A:save(path) end, "pixels of a .pgm file")
  t.raises(function() matrix.ones(2):save(t.tmp "b.pgm") end, "convert")
  local G <close> = matrix.load(create("t.pgm", "P2 # grey\n# wide\n 3 2\n",
    "4095\n1 2 3 # row\n4 5 4095"))
  t.eq({G.type, G:read()[6]}, {"ushort", 4095})
  path = t.tmp("w.pgm")
  G:save(path)
  t.eq(matrix.load(path):read()[6], 4095)
  t.eq(matrix.load(create("t.ppm", "P3 1 1 9 7 8 9")):read():table(),
    {{{7, 8, 9, 9}}})
  for _, case in ipairs{
    {"P2 2 2 9 1 2 3", "4 numbers; the file has at most 3"},
    {"P2 2 2 9 1 2 3 10", 'number 4, "10"'}, {"P2 1 1 9 1 2", 'number 2, "2"'},
    {"P4 2 2", "got P4"}, {"", "other bytes"}, {"P5 2 2 0 1", "largest value"},
    {"P5 2 2 255 abc", "take 4 numbers; the file has 3"},
    {"P6 1000000000 1000000000 255 a", "the file has 1"}} do
    local bad = create("bad.pgm", case[1])
    t.raises(function() matrix.load(bad) end, "bad.pgm: ", case[2])
  end
end)

t.test("values that do not fit, and pipes", function()
  local path = create("d.npy")
  cl.buffer("double", {1, 2}, {{1e300, 1 / 0}}):save(path)
  t.raises(function() matrix.load(path, {type = "float"}) end, "d.npy",
    "a value of double does not fit float")
  t.eq(matrix.load(path):read()[1], 1e300)
  t.raises(function() mtx.dense({rows = 1, cols = 1, i = {1}, j = {1},
    v = {70000}}, "half") end, "entry (1, 1), 70000.0, does not fit half")
  for _, ending in ipairs{"npy", "mtx"} do
    local pipe = t.tmp("pipe." .. ending)
    os.execute("mkfifo '" .. pipe .. "'")
    local full = t.tmp("full." .. ending)
    matrix.from{{1, 2}, {3, 4.5}}:save(full)
    os.execute(("cat '%s' > '%s' &"):format(full, pipe))
    t.eq(matrix.load(pipe):read()[4], 4.5)
    local unnamed = t.tmp "pipe"
    os.rename(pipe, unnamed)
    os.execute(("cat '%s' > '%s' &"):format(full, unnamed))
    t.eq(matrix.load(unnamed):read()[4], 4.5)
  end
end)

t.test("files that do not work", function()
  local A <close> = matrix.zeros(2)
  t.raises(function() A:save("a.txt") end, "a.txt", ".npy, .mtx, .pgm or .ppm")
  t.raises(function() cl.buffer("float4", {2, 2}, 1):save "a.mtx" end,
    "numbers, no vectors; got Buffer float4[2][2]")
  t.raises(function() A:save("a.PNG") end, "convert x.pgm x.png, in colour "
    .. "x.ppm")
  t.raises(function() matrix.load("a.jpg") end, "convert x.jpg x.pgm")
  t.raises(function() A:save("npy") end, ".npy, .mtx, .pgm or .ppm")
  t.raises(function() A:save("/no/such/folder/a.npy") end, "/no/such/folder")
  t.raises(function() A:save("/no/such/folder/a.mtx") end, "/no/such/folder")
  t.raises(function() matrix.load("a.bin") end, "a.bin",
    ".npy, .mtx, .pgm or .ppm")
  local B, message = matrix.load(t.tmp("none.npy"))
  t.eq(B, nil)
  t.ok(message:find("none.npy", 1, true))
  B, message = matrix.load(t.tmp("none.mtx"))
  t.eq(B, nil)
  t.ok(message:find("none.mtx", 1, true))
  local path = t.tmp("cube.npy")
  local c <close> = cl.buffer("float", {2, 2, 2}, 1)
  c:save(path)
  t.raises(function() matrix.load(path) end, "2x2x2")
  path = t.tmp("huge.mtx")
  t.write(path, "%%MatrixMarket matrix coordinate real general\n",
    "2000000000 2000000000 1\n1 1 1\n")
  t.raises(function() matrix.load(path) end, "csr.load")
end)

t.done()

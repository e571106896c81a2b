-- view.lua - matrices in the memory of a buffer, at any element: what moves
-- their elements, what kernels get, which of them meet
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local matrix = require "clshell.data.matrix"

local device = t.device()

local function rows(b)
  return b:read():table()
end

t.test("a sub-matrix shares memory, and its gaps are not its own", function()
  local A = matrix.from{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}
  local S = A:sub(2, 2, 2, 2)
  t.eq({S.rows, S.cols, S.ld, S.start, S.offset, #S}, {2, 2, 4, 5, 20, 4})
  t.eq({S.bytes, S:info().view, S:info().start}, {24, true, 5})
  t.eq(rows(S), {{6, 7}, {10, 11}})
  S:fill(0):wait()
  t.eq(rows(A), {{1, 2, 3, 4}, {5, 0, 0, 8}, {9, 0, 0, 12}})
  S:write{{1, 2}, {3, 4}}
  t.eq(rows(A), {{1, 2, 3, 4}, {5, 1, 2, 8}, {9, 3, 4, 12}})
  t.eq(rows(S), {{1, 2}, {3, 4}})
  t.eq(S:read{from = {2, 1}, size = {1, 2}}:table(), {{3, 4}})
  t.eq(S:read{first = 2, count = 3}:table(), {2, 8, 9})
  local B = matrix.zeros(2, 2)
  S:copy(B)
  t.eq(rows(B), {{1, 2}, {3, 4}})
  B:fill(7)
  B:copy(S)
  t.eq(rows(A), {{1, 2, 3, 4}, {5, 7, 7, 8}, {9, 7, 7, 12}})
  local map = S:map "read"
  t.eq(map:table(), {7, 7, 8, 9, 7, 7})
  S:unmap(map)
  t.eq(rows(A:sub(3, 3)), {{7, 12}})
  t.eq(rows(S:sub(2, 2)), {{7}})
end)

t.test("fills of views on an out-of-order queue", function()
  local queue <close> = cl.queue{out_of_order = true}
  local A = matrix.zeros(5, 6)
  local event = A:sub(2, 3, 3, 2):fill(4, {queue = queue, async = true})
  event:wait()
  t.eq(rows(A), {{0, 0, 0, 0, 0, 0}, {0, 0, 4, 4, 0, 0}, {0, 0, 4, 4, 0, 0},
    {0, 0, 4, 4, 0, 0}, {0, 0, 0, 0, 0, 0}})
end)

t.test("a matrix in any buffer", function()
  local b = cl.buffer("int", {2, 3, 4}, function(i, j, k)
    return 100 * i + 10 * j + k
  end)
  t.eq(rows(b:matrix(13, 3, 4)), {{211, 212, 213, 214}, {221, 222, 223, 224},
    {231, 232, 233, 234}})
  t.eq(rows(b:matrix(2, 3, 2, 5)), {{112, 113}, {123, 124}, {134, 211}})
  -- a matrix of a matrix may reach to the end of the buffer
  local first = b:matrix(1, 3, 4)
  t.eq(rows(first:matrix(13, 3, 4)), rows(b:matrix(13, 3, 4)))
  t.eq(#first:matrix(24, 1, 1), 1)
  t.raises(function() first:matrix(24, 1, 2) end, "1 rows of 2", "1..24")
  b:close()
  t.eq(first:read():at(1, 1), 111)
end)

t.test("what leaves the matrix or the buffer is refused", function()
  local A = matrix.zeros(3, 4)
  t.raises(function() A:sub(4, 1) end,
    "row must be an integer from 1 to 3; got 4")
  t.raises(function() A:sub(1, 0) end, "col", "got 0")
  t.raises(function() A:sub(2, 2, 3) end, "rows", "1 to 2")
  t.raises(function() A:sub(2, 2, 1, 4) end, "cols", "1 to 3")
  t.raises(function() A:sub(1.5, 2) end, "1.5")
  t.raises(function() cl.buffer("float", 5):sub(1, 1) end, "two-dimensional")
  t.raises(function() A:matrix(2, 3, 4) end, "leave the buffer's 1..12")
  t.raises(function() A:matrix(1, 1, 13) end, "leave the buffer's 1..12")
  t.raises(function() A:matrix(13, 1, 1) end, "leave the buffer's 1..12")
  t.raises(function() A:matrix(1, 1 << 62, 4, 1 << 62) end, "leave")
  t.raises(function() A:matrix(1, 2, 3, 2) end, "ld = 2 is less than the 3")
  t.raises(function() A:matrix(0, 2, 3) end, "first")
end)

t.test("kernels take a view where it begins as the device wants", function()
  local k = cl.kernel[[kernel void set(global float *x, int at) {
    x[at + get_global_id(0)] = -1;
  }]]
  local A = matrix.zeros(64, 64)
  local S = A:sub(2, 2, 3, 3)
  t.raises(function() k:range(2)(S, 0) end, "argument 1",
    "begins 65 elements into its memory", "cl.base(b)")
  k:range(2)(cl.base(S), S.start):wait()
  t.eq(rows(A:sub(2, 1, 1, 4)), {{0, -1, -1, 0}})
  local step = device.mem_base_addr_align // 8 // 4
  local V = A:matrix(1 + step, 2, 3, 64)
  k:range(2)(V, 1):wait()
  t.eq(rows(A:matrix(1 + step, 1, 4)), {{0, -1, -1, 0}})
  k:range(1)(cl.base(V), V.start):wait()
  t.eq(V:read():at(1, 1), -1)
  t.raises(function()
    k:range(1)(cl.base(cl.buffer("int", 4)), 0)
  end, "got a Buffer of int")
  V:close()
  t.raises(function() cl.base(V) end, "closed")
  t.raises(function() k:range(1)(V, 0) end, "closed")
end)

t.test("views meet where they have elements in common", function()
  local LD, HEIGHT = 7, 6
  local b = cl.buffer("char", LD * HEIGHT, 0)
  local function cells(v)
    local set = {}
    for i = 0, v.rows - 1 do
      for j = 0, v.cols - 1 do
        set[v.offset + i * v.ld + j] = true
      end
    end
    return set
  end
  math.randomseed(t.seed)
  local met = 0
  for _ = 1, 400 do
    local pair = {}
    for i = 1, 2 do
      local height, width = math.random(2, 3), math.random(LD - 1)
      local most = LD * HEIGHT - (height - 1) * LD - width + 1
      pair[i] = b:matrix(math.random(most), height, width, LD)
    end
    local v, w, common = pair[1], pair[2], false
    local set = cells(w)
    for at in pairs(cells(v)) do
      common = common or set[at] ~= nil
    end
    met = met + (common and 1 or 0)
    t.eq(v:overlaps(w), common, ("%d %dx%d and %d %dx%d"):format(v.offset,
      v.rows, v.cols, w.offset, w.rows, w.cols))
    t.eq(w:overlaps(v), common)
  end
  t.ok(met > 50 and met < 350)
  t.eq(b:overlaps(b), true)
  t.eq(b:overlaps(b:matrix(5, 1, 2)), true)
  t.eq(b:overlaps(cl.buffer("char", 4)), false)
end)

t.test("the same memory as elements of another type", function()
  local b <close> = cl.buffer("float", {3, 8},
    function(i, j) return 10 * i + j end, {ld = 12})
  local v = b:as "float4"
  t.eq({v.type, v.shape[1], v.shape[2], v.ld, #v, v.bytes},
    {"float4", 3, 2, 3, 6, b.bytes})
  t.eq(v:read():table()[2][1], {21, 22, 23, 24})
  v:fill(1):wait()
  t.eq(b:read():at(3, 8), 1)
  t.eq(v:as("float").shape, b.shape)
  t.eq(b:as("uint"):read()[1], 0x3f800000)
  t.ok(b:overlaps(v))
  cl.kernel("kernel void f(global float4 *x) { x[0] = (float4)(7); }")
    :range(1)(v)
  t.eq(b:read()[1], 7)
  local m = b:matrix(6, 2, 4, 12)
  t.eq(m:as("int").start, 5)
  t.raises(function() m:as "float4" end, "begins between elements of float4")
  local odd <close> = cl.buffer("float", 6)
  t.raises(function() odd:as "float4" end,
    "6 elements of float are no whole number of float4")
  t.raises(function() odd:as "flat" end, "no element type 'flat'")
  b:close()
  t.eq(v:read()[1][1], 7, "a view keeps the memory")
  local h = cl.array("double", {2, 2}, 1)
  local u = h:as "uint"
  t.eq({u.shape, u[2]}, {{2, 4}, 0x3ff00000})
  u[2] = 0
  t.eq(h[1], 0)
  h:close()
  t.eq(u[4], 0x3ff00000)
  t.raises(function() cl.array("char", 7):as "int" end, "no whole number")
end)

t.test("the same memory under another shape", function()
  local b <close> = cl.buffer("int", {2, 6}, function(i, j)
    return 10 * i + j
  end)
  local v = b:reshape{3, 2, 2}
  t.eq({v.shape, #v, v:read():at(3, 1, 2)}, {{3, 2, 2}, 12, 24})
  v:fill(7)
  t.eq(b:read():at(2, 6), 7)
  t.eq(b:matrix(4, 1, 6):reshape(6).start, 3)
  t.raises(function() b:reshape{5, 2} end, "12 elements, [5][2] has 10")
  t.raises(function() b:matrix(1, 2, 3, 6):reshape(6) end,
    "the rows have gaps (ld = 6)", "b:clone()")
  t.raises(function() b:reshape "x" end, "must be a shape")
  t.raises(function() b:reshape(3, 4) end,
    "the sizes must be in one table: {3, 4}")
  b:close()
  t.eq(v:read()[1], 7, "a view keeps the memory")
  t.raises(function() b:reshape(12) end, "closed")
end)

t.done()

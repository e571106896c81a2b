-- arrays.lua - Arrays in calculations: their elements go to the device as they
-- are, and come back where an Array is set
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local list = t.list

t.test("an Array is an operand beside Buffers, and the result a Buffer",
  function()
    local h = cl.array("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
    local row = cl.array("int", 3, {10, 20, 30})
    local b <close> = cl.buffer("float", 3, 100)
    local e = 2 * h + row
    t.eq({tostring(e), list(e)}, {"Expression float[2][3]",
      {12.0, 24.0, 36.0, 18.0, 30.0, 42.0}})
    t.eq(cl.class((e:eval())), "Buffer")
    t.eq(cl.class(e:read()), "Array")
    t.eq({list(h + b), list(b - row), list(b:where(h, row))},
      {{101.0, 102.0, 103.0, 104.0, 105.0, 106.0}, {90.0, 80.0, 70.0},
      list(h)})
    t.eq({row:gt(10):where(1, 0):eval().type, list(-row), list(row % 7)},
      {"int", {-10, -20, -30}, {3, 6, 2}})
    t.eq(list(cl.array("float", 3, {-1.9, 300, 0 / 0}):astype "uchar"),
      {0, 255, 0})
    t.eq({list(row:tile(2)), list(cl.stack{row, b:astype "int"}),
      list(cl.concatenate{row, row})}, {{10, 20, 30, 10, 20, 30},
      {10, 20, 30, 100, 100, 100}, {10, 20, 30, 10, 20, 30}})
    t.eq(list((gemm(2 * cl.array("float", {2, 2}, {{1, 2}, {3, 4}}),
      matrix.identity(2)))), {2.0, 4.0, 6.0, 8.0})
  end)

t.test("reductions, scans, sorts and places of Arrays", function()
  local h = cl.array("float", {2, 3}, {{3, 1, 2}, {6, 5, 4}})
  local n = cl.array("long", 3, {1, -1 << 40, math.maxinteger})
  t.eq({h:sum(), h:max(), h:argmin(), h:any(), h:all(), h:mean(), h:dot(h)},
    {21.0, 6.0, 2, true, true, 3.5, 91.0})
  t.eq({n:sum(), n:min(), n:argmax()}, {math.mininteger - (1 << 40),
    -1 << 40, 3})
  t.near(n:mean(), math.maxinteger / 3, 1e-6)
  t.near(h:nrm2(), 91 ^ 0.5, 1e-6)
  t.near(h:std(), (35 / 12) ^ 0.5, 1e-6)
  t.eq({cl.class(h:sum(2)), list(h:sum(2)), list(h:var(1))}, {"Buffer",
    {6.0, 15.0}, {2.25, 4.0, 1.0}})
  t.eq({list(h:cumsum(2)), list(h:scan{op = "max(a, b)", identity = 0}),
    h:reduce{op = "a * b", identity = 1}}, {{3.0, 4.0, 6.0, 6.0, 11.0, 15.0},
    {3.0, 3.0, 3.0, 6.0, 6.0, 6.0}, 720.0})
  t.eq({list((h:sort())), list((h:argsort())), list((h // 4):gather{4, 1}),
    list(h:gather(cl.array("int", 2, {6, 2})))}, {{1.0, 2.0, 3.0, 4.0, 5.0,
    6.0}, {2, 3, 1, 6, 5, 4}, {1.0, 0.0}, {4.0, 1.0}})
  t.eq(list((h:histogram{from = 0, to = 8, bins = 2})), {3, 3})
  local _, moved = h:sort{values = h}
  local taken, count = h:compact(h:gt(3))
  t.eq({list(moved), list(taken), count, list((h:unique()))},
    {{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {6.0, 5.0, 4.0}, 3,
    {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}})
  t.eq(#h:compact(h:gt(100)), 0)
end)

t.test("an expression has the elements that an Array had when it was written",
  function()
    local h = cl.array("int", 4, {1, 2, 3, 4})
    local twice, part = 2 * h, h:slice(2, 3)
    local gone = cl.array("int", 4, 1)
    local sum = gone + h
    h:set(2, 20)
    gone:close()
    t.eq({list(twice), list(sum)}, {{2, 4, 6, 8}, {2, 3, 4, 5}})
    t.eq({list(part), list(part + 1), part:sum()}, {{20, 3}, {21, 4}, 23},
      "a slice is a view")
    h:close()
    t.raises(function() part:eval() end, "the Array int[2] of the expression "
      .. "is closed")
    t.raises(function() return h + 1 end, "the Array of an expression is")
  end)

t.test("what sets an Array sets its own elements", function()
  local a = cl.array("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  local b <close> = cl.buffer("float", {2, 3}, 1)
  t.eq({a:set(a:shift(1, 1)), list(a)}, {a, {6.0, 4.0, 5.0, 3.0, 1.0, 2.0}})
  local column = a:slice({}, 2)
  a:set(1, 1, 7)
  column:set(0):wait()
  t.eq(list(a), {7.0, 0.0, 5.0, 3.0, 0.0, 2.0})
  column:set(a:slice({}, 1) + b:slice({}, 1))
  t.eq({list(column), list(a)}, {{8.0, 4.0}, {7.0, 8.0, 5.0, 3.0, 4.0, 2.0}})
  local flat = a:reshape(6) -- the same memory
  flat:set(flat:slice(-1, 1, -1))
  t.eq(list(a), {2.0, 4.0, 3.0, 5.0, 8.0, 7.0})
  t.eq({a:axpy(2, a), list(a)}, {a, {6.0, 12.0, 9.0, 15.0, 24.0, 21.0}})
  t.eq({list(a:set(b)), b:set(a * 2) and list(b)}, {{1.0, 1.0, 1.0, 1.0, 1.0,
    1.0}, {2.0, 2.0, 2.0, 2.0, 2.0, 2.0}})
  local copy = a:clone()
  t.eq({cl.class(copy), list(copy:set(5)), list(a)[1]}, {"Array", {5.0, 5.0,
    5.0, 5.0, 5.0, 5.0}, 1.0})
  t.eq({a:scatter({6, 1}, cl.array("float", 2, {8, 9})), list(a)},
    {a, {9.0, 1.0, 1.0, 1.0, 1.0, 8.0}})
  t.eq(list(a:scatter(cl.array("int", 2, {1, 2}), a:slice({}, 3):eval())),
    {1.0, 8.0, 1.0, 1.0, 1.0, 8.0})
  t.eq(list(flat:scatter({2}, 0)), list(a))
end)

t.test("cl.map takes Arrays, and reads back those that the text sets",
  function()
    local x, y = cl.array("float", 3, {1, 2, 3}), cl.array("float", 3, 10)
    local b <close> = cl.buffer("float", 3, 100)
    local z, same = cl.map("float z = a * x; if (i > 0) y += x + b",
      {a = 2, x = x, y = y, b = b})
    t.eq({cl.class(z), list(z), list(y)}, {"Buffer", {2.0, 4.0, 6.0},
      {10.0, 112.0, 113.0}})
    t.eq(same, y)
    local part = x:slice(2, 3)
    t.eq({(cl.map("p = i", {p = part})), list(x)}, {part, {1.0, 0.0, 1.0}})
    cl.map("x = 2 * y", {x = x, y = x})
    t.eq(list(x), {2.0, 0.0, 2.0})
    local w = cl.array("float4", 2, 1)
    cl.map("w.x = w.y + 2; w.w *= i", {w = w})
    t.eq(w:table(), {{3, 1, 1, 0}, {3, 1, 1, 1}})
    t.raises(function() cl.map("x = x + q", {x = x}) end, "undeclared")
    t.eq(list(x), {2.0, 0.0, 2.0}, "an error changes nothing")
  end)

t.test("types: halves, doubles and 64 bits", function()
  local half = cl.array("half", 2, {60000, 0.5})
  t.eq({(half * 2):sum(), list((half * 2):cumsum())[1], half:max()},
    {120001.0, 120000.0, 60000.0})
  t.eq(list(cl.array("half", 2, 1):scatter({2}, 0.5)), {1.0, 0.5})
  local wide = cl.array("ulong", {2, 2}, {{-1, 1}, {2, math.mininteger}})
  t.eq({list(wide:max(2)), list(wide:argmin(1)), list(wide:sum(2)),
    list(wide >> 63)}, {{-1, math.mininteger}, {2, 1},
    {0, math.mininteger + 2}, {1, 0, 0, 1}})
  t.raises(function() return wide * 0.5 end, 'such as x:astype "double"')
  local big = cl.array("double", 3, {1e300, 1, -1e300})
  if cl.device():has "cl_khr_fp64" then
    t.eq({list(big / 1e300), big:max()}, {{1.0, 1e-300, -1.0}, 1e300})
  else
    t.raises(function() (big / 2):read() end, "cl_khr_fp64")
  end
end)

t.test("what Arrays cannot be", function()
  local a = cl.array("int", 3, 1)
  t.raises(function() a:set(0.5) end, "int take whole numbers; got 0.5")
  t.raises(function() a:set(a / 2) end, 'say e:astype "int"')
  t.raises(function() a:set {} end, "a Buffer, an Array, an Expression or")
  t.raises(function() a:set() end, "takes 1 indexes; got 0")
  t.raises(function() (a + 1):set(1) end, "a calculation has no elements")
  t.raises(function() return a + cl.array("float4", 3) end, 'b:as "float"')
  t.raises(function() return a < a end, "x:lt(y)")
  t.raises(function() return a.T end, "'T'; here it is x:transpose()")
  t.raises(function() return a.get end, "'get'; here it is x[i], as")
  t.raises(function() return a.summ end, "did you mean 'sum'?")
  t.raises(function() a:sum(1, 1) end, "sum takes one dim at a time")
  t.raises(function() a:gather{4} end, "index 1 of the list must be from 1 to "
    .. "3; got 4")
  t.raises(function() a:scatter({1}, 1.5) end,
    "scatter: float elements into a Buffer of int")
  t.raises(function() a.scatter(nil, {1}, 1) end, "Array:scatter: self")
  t.raises(function() cl.record(function() return (a + 1):eval() end) end,
    "a recording holds launches of kernels alone")
  local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
  t.raises(function() k:range(1)(a:slice(1, 2)) end,
    "writes to the copy of a slice would be lost")
end)

t.test("a calculation without a device says what is missing", function()
  t.nodevices()
  local out = t.capture(("OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES= %s "
    .. "-e '%s' 2>&1"):format(t.exe, [[
    local h = cl.array("int", 3, 1)
    print(h:set(2):table()[3], h:clone()[1])
    print(2 * h)]]))
  t.ok(out:find("^2\t2\n"), out)
  t.ok(out:find("no OpenCL device", 1, true), out)
end)

t.done()

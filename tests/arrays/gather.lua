-- gather.lua - gather, scatter and compact, against loops in Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float"}

local list = t.list

t.test("gather and scatter of random places", function()
  local n, m = 500, 300
  local type = TYPES[math.random(#TYPES)]
  local values, order = {}, {}
  for i = 1, n do
    values[i] = math.random(0, 100)
    order[i] = i
  end
  for i = n, 2, -1 do
    local k = math.random(i)
    order[i], order[k] = order[k], order[i]
  end
  local what = ("%s, seed %d"):format(type, t.seed)
  local x <close> = cl.buffer(type, n, values)
  local index <close> = cl.buffer("ushort", m, table.move(order, 1, m, 1, {}))
  local y <close> = x:gather(index)
  local got, whole = list(y), list(x)
  for k = 1, m do
    t.eq(got[k], whole[order[k]], what)
  end
  local z <close> = cl.buffer(type, n, 0)
  z:scatter(index, y)
  local set = list(z)
  for k = 1, m do
    t.eq(set[order[k]], got[k], what)
  end
  t.eq(z:sum(), y:sum(), "nothing else is set: " .. what)
end)

t.test("shapes, gaps, views and expressions", function()
  local A <close> = cl.buffer("int", {3, 4}, function(i, j)
    return 10 * i + j
  end, {ld = 7})
  local index <close> = cl.buffer("int", {2, 2}, {{1, 5}, {12, 2}})
  local y = A:gather(index)
  t.eq({y.shape, list(y)}, {{2, 2}, {11, 21, 34, 12}})
  t.eq(list((A * 2):gather(index - 0)), {22, 42, 68, 24})
  t.eq(list(A:shift(0, 1):gather(index)), {14, 24, 33, 11})
  A:scatter(index, index * 100)
  t.eq(list(A), {100, 200, 13, 14, 500, 22, 23, 24, 31, 32, 33, 1200})
  local x <close> = cl.arange(1, 9)
  local part = x:matrix(4, 2, 2, 2) -- from element 4 on
  t.eq(list(part:gather(index:fmin(4))), {4, 7, 7, 5})
  part:scatter(cl.buffer("int", 1, 4), -1)
  t.eq(list(x), {1, 2, 3, 4, 5, 6, -1, 8, 9})
  x:scatter(cl.arange(1, 9), x:shift(1)) -- reads what it sets
  t.eq(list(x), {9, 1, 2, 3, 4, 5, 6, -1, 8})
  local n = 2000
  local z <close> = cl.arange(1, n)
  z:scatter(cl.arange(n, 1, -1), z)
  t.eq(list(z - cl.arange(n, 1, -1)), list(z * 0), "backwards")
  t.eq(list(x:gather(x:abs():fmin(2))), {1, 9, 1, 1, 1, 1, 1, 9, 1})
end)

t.test("an index that is not there is refused", function()
  local x <close> = cl.buffer("float", 4, {1, 2, 3, 4})
  local index <close> = cl.buffer("int", 3, {2, 5, -1})
  t.raises(function() x:gather(index) end,
    "gather: index 2 of the list must be from 1 to 4; got 5")
  t.raises(function() x:scatter(index, 0) end, "scatter: index 2", "got 5")
  t.eq(list(x), {1.0, 2.0, 3.0, 4.0}, "nothing is set")
  t.eq(list(x:gather(index, {check = false})), {2.0, 0.0, 0.0})
  x:scatter(index, 9, {check = false})
  t.eq(list(x), {1.0, 9.0, 3.0, 4.0})
  local far <close> = cl.buffer("ulong", 1, -1)
  t.raises(function() x:gather(far) end, "from 1 to 4")
  t.raises(function() x:gather(x) end, "gather: an index", "takes integers")
  t.raises(function() x:gather(2) end, "gather")
  t.raises(function() x:scatter(index) end, "scatter")
  for _, make in ipairs{cl.buffer, cl.array} do -- a list of values
    local z = make("int", 4, {1, 2, 3, 4})
    z:scatter({4, 1}, {9, 8})
    t.eq(list(z + 0), {8, 2, 3, 9})
    t.raises(function() z:scatter({1, 2}, {1, 2, 3}) end, "got 3")
    t.raises(function() z:scatter({1, 2}, {1, 2.5}) end, "whole number")
    t.raises(function() z:scatter({1, 2}, {}) end, "got a table")
  end
  t.raises(function() x:scatter(cl.arange(1, 2), cl.arange(1, 3)) end,
    "the shape 2 of the indices, or be one; got 3")
  t.raises(function() cl.arange(1, 3):scatter(cl.arange(1, 3),
    cl.buffer("float", 3, 1)) end, "scatter: float elements into a Buffer of")
  t.raises(function() x:gather(index, {chek = false}) end, "chek")
  t.raises(function() x.scatter(nil, index, 1) end, "Buffer:scatter: self")
end)

t.test("compact keeps the order, and counts", function()
  for _, n in ipairs{1, 300, 5000} do
    local values, want = {}, {}
    for i = 1, n do
      values[i] = math.random(-9, 9)
      want[#want + 1] = values[i] > 3 and values[i] or nil
    end
    local x <close> = cl.buffer("int", n, values)
    local y, count = x:compact(x:gt(3))
    t.eq({y and list(y) or {}, count}, {want, #want}, t.seed)
  end
  local x <close> = cl.buffer("half", {2, 2}, {{1, 2}, {3, 4}})
  t.eq({#x:compact(x:gt(4)), select(2, x:compact(x:gt(4)))}, {0, 0})
  t.eq(list((x:compact(x:ne(2)))), {1.0, 3.0, 4.0})
  t.eq(list(((x * x):compact(x - 1))), {4.0, 9.0, 16.0})
  t.raises(function() x:compact(cl.arange(1, 4)) end,
    "compact: the mask must have the shape 2x2; got 4")
  t.raises(function() x:compact() end, "compact")
end)

t.done()

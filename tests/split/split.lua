-- split.lua - Splits: shares, the way there and back, arithmetic and sums
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue", "Device", "Event", "Program", "Kernel", "Launch")

local fine, parts = pcall(device.partition, device, {equally = 1})
local one, two = device, device
if fine and #parts > 1 then
  one, two = parts[1], parts[2]
end
local list = {one, two, one} -- a device may have two shares

-- Random numbers, the same for each call of a seed.
local function random(shape, seed, type)
  return cl.array(type or "float", shape):random(t.seed + seed, -1, 1)
end

t.test("shares: equal, or in a ratio, down to none", function()
  local h <close> = random({10, 3}, 1)
  for _, case in ipairs{
    {nil, {3, 4, 3}, {1, 4, 8}},
    {{1, 2, 1}, {3, 5, 2}, {1, 4, 9}},
    {{1, 0, 1}, {5, 0, 5}, {1, 6, 6}},
    {{0, 0, 0.1}, {0, 0, 10}, {1, 1, 1}},
  } do
    local s <close> = cl.split(h, list, "rows", {shares = case[1]})
    t.eq({s.sizes, s.first, s.shape, s.rows, s.cols, #s, s.type, s.axis},
      {case[2], case[3], {10, 3}, 10, 3, 30, "float", "rows"})
    for i, part in ipairs(s.parts) do
      t.eq(part and part.rows or 0, case[2][i])
    end
    t.ok(s:read():equal(h))
    local all <close> = s:join()
    t.ok(all:read():equal(h))
  end
  local few <close> = cl.split(random(2, 2), list)
  t.eq(few.sizes, {1, 0, 1})
  t.eq({few:sum() == few:join():sum(), few.parts[2]}, {true, false})
  t.eq(tostring(few), "Split float[2] in rows 1 + 0 + 1")
end)

t.test("shares follow the measured speed where devices differ", function()
  local devices = require "clshell.parts.split.devices"
  local cachefile = require "clshell.base.cachefile"
  local speeds = {first = 30e9, second = 10e9}
  local _ <close> = t.swap(cachefile, "identity", function(d) return d end)
  local _ <close> = t.swap(cachefile, "load", function(d)
    return speeds[d] and {["peak.copy"] = speeds[d]}
  end)
  t.eq(devices.sizes("x", 100, {"first", "second"}), {75, 25})
  t.eq(devices.sizes("x", 100, {"first", "third"}), {50, 50})
  t.eq(devices.sizes("x", 101, {"second", "second"}), {51, 50})
end)

t.test("whatever can be split", function()
  local h <close> = random({7, 2, 3}, 3)
  local b <close> = cl.buffer("float", {7, 2, 3}, h)
  local s <close> = cl.split(b, list)
  t.ok(s:read():equal(h))
  local m <close> = cl.buffer("int", {9, 4}, function(i, j)
    return 10 * i + j
  end, {ld = 6})
  local g <close> = cl.split(m, list)
  t.ok(g:join(two):read():equal(m:read()))
  local e <close> = cl.split(m * 2, list)
  t.eq(e:read():at(9, 4), 188)
  local n <close> = cl.split({{1, 2}, {3, 4}, {5, 6}}, list)
  t.eq(n:read():table(), {{1, 2}, {3, 4}, {5, 6}})
  local v <close> = cl.split({1, 2, 3, 4}, list)
  t.eq(v:read():table(), {1, 2, 3, 4})
  local c <close> = cl.split(h, list, "copies")
  t.eq({c.sizes, #c, tostring(c)}, {{7, 7, 7}, 42,
    "Split float[7][2][3] in 3 copies"})
  t.ok(c:read():equal(h) and c:join():read():equal(h))
  local into <close> = cl.array("float", {7, 2, 3})
  t.eq(s:read(into), into)
  t.ok(into:equal(h))
end)

t.test("arithmetic is lazy, part by part", function()
  local a, b = random({11, 4}, 4), random({11, 4}, 5)
  local x, y = cl.buffer("float", {11, 4}, a), cl.buffer("float", {11, 4}, b)
  local row, col = cl.buffer("float", 4, {1, 2, 3, 4}),
    cl.buffer("float", {11, 1}, function(i) return i end)
  local s, r = cl.split(x, list), cl.split(y, list)
  local z = 2 * s + r * s - 1
  t.eq(cl.class(z.parts[1]), nil) -- an Expression
  t.ok(z:read():equal((2 * x + y * x - 1):read()))
  t.ok((s - y):read():equal((x - y):read()), "a Buffer of the whole")
  t.ok((s * row):read():equal((x * row):read()), "a row for each")
  t.ok((s * col):read():equal((x * col):read()), "a column in rows")
  t.ok((-s):abs():fmax(r):read():equal((-x):abs():fmax(y):read()))
  t.ok(s:lt(0):where(-s, s):sqrt():read():equal(
    x:lt(0):where(-x, x):sqrt():read()))
  t.eq(s:astype("int").type, "int")
  s:set(s + r)
  t.ok(s:read():equal((x + y):read()))
  s:axpy(-1, r)
  t.near(s:read():max_diff(a), 0, 1e-6)
  t.eq(s:fill(3):sum(), 3.0 * 44)
  local p, q = cl.map("float p = u * v + k; float q = u - v",
    {u = r, v = y, k = 2})
  t.near(p:read():max_diff((y * y + 2):read()), 0, 1e-6)
  t.eq(q:nrm2(), 0.0)
  for _, object in ipairs{a, b, x, y, row, col, s, r, p, q} do
    object:close()
  end
end)

t.test("sums, extremes, truths and products over all parts", function()
  local n = 3001
  local h <close> = random(n, 6, "double")
  local x <close> = cl.buffer("double", n, h)
  for _, shares in ipairs{{1, 1, 1}, {0, 1, 0}, {5, 0, 1}} do
    local s <close> = cl.split(x, list, "rows", {shares = shares})
    for name, want in pairs{sum = x:sum(), mean = x:mean(), nrm2 = x:nrm2()} do
      t.near(s[name](s), want, 1e-12, name)
    end
    t.eq({s:min(), s:max(), s:any(), s:lt(2):all(), s:lt(-2):any()},
      {x:min(), x:max(), true, true, false})
    t.near(s:dot(s), x:dot(x), 1e-12)
    t.near(s:dot(x), x:dot(x), 1e-12)
    t.near((s * 2 - x):sum(), x:sum(), 1e-12)
  end
  for at = 1, 6 do -- one zero, one element that is none: in each part
    local zero, single = cl.array("int", 6):fill(1), cl.array("int", 6):fill(0)
    zero[at], single[at] = 0, 1
    t.eq({cl.split(zero, list):all(), cl.split(single, list):any()},
      {false, true})
  end
  local k <close> = cl.split(cl.buffer("int", 100, 1 << 30), list)
  t.eq(k:sum(), 100 << 30)
  local bad <close> = cl.split({1, 0 / 0, 3}, list)
  t.ok(bad:min() ~= bad:min() and bad:nrm2() ~= bad:nrm2())
  local c <close> = cl.split({1, 2}, list, "copies")
  t.eq({c:sum(), c:dot(c), c:max(), c:nrm2() ^ 2 - 5 < 1e-9},
    {3.0, 5.0, 2.0, true})
end)

t.test("along a dimension: rows as they are, or a Buffer", function()
  local h <close> = random({7, 4, 3}, 8)
  local some <close> = cl.split(h, list)
  local copies <close> = cl.split(h, list, "copies")
  local b <close> = cl.buffer("float", h.shape, h)
  for _, name in ipairs{"sum", "min", "max", "any", "all", "mean", "nrm2"} do
    for dim = 1, 3 do
      local want <close> = b[name](b, dim)
      local got <close> = some[name](some, dim)
      local same <close> = copies[name](copies, dim)
      t.eq({got.shape, got.type}, {want.shape, want.type})
      t.eq(tostring(got):find "^Split" ~= nil, dim > 1)
      t.ok(got:read():max_diff(want:read()) < 1e-5, name)
      t.ok(same:read():equal(want:read()), name)
    end
  end
  local want <close> = b:dot(b, 1)
  local got <close> = some:dot(b, 1)
  t.ok(got:read():max_diff(want:read()) < 1e-5)
end)

t.test("what Splits refuse", function()
  local h <close> = random(10, 7)
  local s <close> = cl.split(h, list)
  for piece, f in pairs{
    ['the axis must be "rows" or "copies"; got "columns"'] = function()
      cl.split(h, list, "columns")
    end,
    ["A must be a Buffer, an Array"] = function() cl.split("x", list) end,
    ["A is a Split already"] = function() cl.split(s, list) end,
    ["shares must be 3 numbers"] = function()
      cl.split(h, list, "rows", {shares = {1, 2}})
    end,
    ["a share must be a number >= 0; got -1"] = function()
      cl.split(h, list, "rows", {shares = {1, -1, 2}})
    end,
    ["not all of them 0"] = function()
      cl.split(h, list, "rows", {shares = {0, 0, 0}})
    end,
    ["unknown option 'share'; did you mean 'shares'?"] = function()
      cl.split(h, list, "rows", {share = {1, 1, 1}})
    end,
    ["other shares"] = function()
      return s + cl.split(h, list, "rows", {shares = {1, 2, 3}})
    end,
    ["on other devices"] = function() return s + cl.split(h, {one}) end,
    ["dim must be an integer from 1 to 1; got 2"] = function()
      return s:sum(2)
    end,
    ["the last dimension of the shape 10 is 1"] = function()
      return s:sum(0)
    end,
    ["did you mean 'join'?"] = function() return s.jion end,
    ["read them first: s:read()[1]"] = function() return s[1] end,
    ["no field 'parts' to set"] = function() s.size = 2 end,
    ["i and n count the elements of one part"] = function()
      cl.map("float z = x + i", {x = s})
    end,
    ["reduce: takes no Split"] = function() reduce(s) end,
  } do
    if piece:find "parts" then
      piece = "no field 'size' to set"
    end
    t.raises(f, piece)
  end
  s.parts[2]:close()
  t.raises(function() s:read() end, "part 2 of the Split is closed")
  t.raises(function() return s + 1 end, "part 2 of the Split is closed")
  local b <close> = cl.buffer("float", 10, h)
  b:close()
  t.raises(function() cl.split(b, list) end, "A is closed")
end)

t.done()

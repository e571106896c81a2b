-- array.lua - class Array: shapes, access, initial values, methods, life.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.test("create, fields, length", function()
  local a = cl.array("float", {4, 5})
  t.eq(#a, 20)
  t.eq(a.type, "float")
  t.eq(a.shape, {4, 5})
  t.eq(a.bytes, 80)
  t.eq(a.rows, 4)
  t.eq(a.cols, 5)
  t.eq(a.closed, false)
  t.eq(tostring(a), "Array float[4][5]")
  t.eq(a[1], 0.0)
  t.raises(function() return a.nothing end, "no field or method 'nothing'")
  t.raises(function() return a.__gc end, "no field or method '__gc'")
  t.raises(function() return a.shapee end, "did you mean 'shape'?")
  t.raises(function() a:rehsape(20) end, "did you mean 'reshape'?")
  t.eq(getmetatable(a), false)
  local shape = a.shape
  shape[1] = 100 -- a fresh table: the array is not touched
  t.eq(a.shape, {4, 5})
  local b = cl.array("int", 7)
  t.eq(b.shape, {7})
  t.eq(b.rows, nil)
  t.eq(tostring(cl.array("char", {1, 2, 3, 4})), "Array char[1][2][3][4]")
end)

t.test("arrays without elements", function()
  local h = cl.array("int", 0)
  t.eq({#h, h.bytes, tostring(h), h:table(), h:tobytes(), h:max_diff(h)},
    {0, 0, "Array int[0]", {}, "", 0})
  t.eq({cl.array("int", {0, 3}, {}).shape, cl.array("int", {2, 0}, {{}, {}})
    .shape, h:reshape{3, 0}.shape, h:reshape{-1, 4}.shape, h:as "int4".shape},
    {{0, 3}, {2, 0}, {3, 0}, {0, 4}, {0}})
  cl.array("int", 0, function() error "no element" end)
  h:fill(1):random(1):swap()
  t.eq({h:equal(h:copy()), h:summary().count, h[1]}, {true, 0})
  t.raises(function() h[1] = 2 end, "index 1 of an Array int[0]")
  t.raises(function() h:reshape(2) end, "int[0] has 0 elements, [2] has 2")
  t.raises(function() h:reshape{0, -1} end, "-1 stands for no size")
  t.raises(function() cl.array("int", {0, 1 << 62}) end, "too large")
end)

t.test("shapes that are none", function()
  local function shape(s)
    return function() cl.array("float", s) end
  end
  t.raises(shape(-1), "got -1")
  t.raises(shape(1.5), "got 1.5")
  t.raises(shape {2, "3"}, "dimension 2", "got string")
  t.raises(shape {}, "1 to 4 dimensions", "got 0")
  t.raises(shape {1, 1, 1, 1, 1}, "got 5")
  t.raises(shape "3", "must be a shape", "got string")
  t.raises(shape(nil), "must be a shape")
  t.raises(shape(setmetatable({}, {__len = function() return 1 << 33 end})),
           "got 0")
  t.raises(shape(1 << 62), "shape too large")
  t.raises(shape(math.maxinteger), "shape too large")
  t.raises(shape {1 << 32, 1 << 32}, "shape too large")
  t.raises(shape {1 << 31, 1 << 31, 1 << 31}, "shape too large")
  t.raises(shape(1 << 50), "4503599627370496 bytes", "memory")
  t.eq(cl.array("float", 3.0).shape, {3})
end)

t.test("elements by flat index", function()
  local a = cl.array("int", {2, 3})
  for i = 1, #a do
    a[i] = 10 * i
  end
  t.eq(a[1], 10)
  t.eq(a[6], 60)
  t.eq(a[2.0], 20)
  for _, i in ipairs {0, -1, 8, math.maxinteger, math.mininteger} do
    t.raises(function() return a[i] end, "index " .. i, "int[2][3]", "1..6")
    t.raises(function() a[i] = 1 end, "outside 1..6")
  end
  t.eq(a[7], nil)
  t.raises(function() a[7] = 1 end, "outside 1..6")
  t.raises(function() return a[1.5] end, "index 1.5", "no whole number")
  t.raises(function() return a[{}] end, "index table")
  t.raises(function() a.foo = 1 end, "no field 'foo'")
  t.raises(function() a[1] = 3.5 end,
    "int[2][3]", "must be a whole number; got 3.5")
end)

t.test("ipairs and pairs go through the elements in order", function()
  local v = cl.array("float2", {2, 2}, {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})
  for _, through in ipairs{ipairs, pairs} do
    local indexes, first = {}, {}
    for i, x in through(v) do
      indexes[#indexes + 1], first[#first + 1] = i, x[1]
    end
    t.eq(indexes, {1, 2, 3, 4})
    t.eq(first, {1, 3, 5, 7})
  end
  local a = cl.array("int", 3, {7, 8, 9})
  local step, state = pairs(a)
  t.eq({step(state, 2)}, {3, 9})
  t.eq({step(state, 3)}, {})
  t.eq({step(state, -1)}, {})
  t.eq({step(state, math.maxinteger)}, {})
  t.raises(function()
    for _ in pairs(a) do
      a:close()
    end
  end, "this Array is closed")
  t.raises(function() pairs(a) end, "this Array is closed")
end)

t.test("at and set", function()
  local a = cl.array("float", {2, 3})
  t.ok(a:set(2, 3, 7) == a)
  t.eq(a:at(2, 3), 7)
  t.eq(a[6], 7)
  t.raises(function() a:at(3, 1) end, "index 3", "outside 1..2")
  t.raises(function() a:at(1, 0) end, "index 0", "outside 1..3")
  t.raises(function() a:at(1) end, "takes 2 indexes; got 1")
  t.raises(function() a:at(1, 2, 3) end, "got 3")
  t.raises(function() a:at() end, "got 0")
  t.raises(function() a:set(1, 2) end, "got 1")
  t.raises(function() a:set() end, "got 0")
  t.raises(function() a:set(1, 1, "x") end, "must be a number")
  local b = cl.array("int", {2, 2, 2, 2}, function(i, j, k, l)
    return 1000 * i + 100 * j + 10 * k + l
  end)
  t.eq(b:at(2, 1, 2, 1), 2121)
  t.eq(b[16], 2222)
end)

t.test("init: number, string, function", function()
  t.eq(cl.array("int", 3, 7):table(), {7, 7, 7})
  t.eq(cl.array("int", 3, "abcdefghijkl"):tostring(), "abcdefghijkl")
  t.raises(function() cl.array("int", 3, "abc") end,
           "must be a string of 12 bytes for int[3]; got 3")
  t.eq(cl.array("float", {2, 3}, function(i, j) return 10 * i + j end)
         :table(), {{11, 12, 13}, {21, 22, 23}})
  t.raises(function() cl.array("int", 3, 3.5) end,
    "must be a whole number; got 3.5")
  t.raises(function() cl.array("int", 3, true) end, "got boolean")
  t.raises(function() cl.array("int", 3, io.stdout) end, "got userdata")
  local calls = 0
  local err = t.raises(function()
    cl.array("float", {2, 3}, function()
      calls = calls + 1
      if calls == 4 then
        error("stop here", 0)
      end
      return 0
    end)
  end, "stop here")
  t.eq(err, "stop here")
  t.raises(function()
    cl.array("float", {2, 3}, function(i, j)
      return i * j < 6 and 0 or nil
    end)
  end, "element [2][3]: must be a number; got nil")
end)

t.test("init: nested tables", function()
  t.eq(cl.array("int", 3, {1, 2, 3}):table(), {1, 2, 3})
  local cube = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9, 10}, {11, 12}}}
  local a = cl.array("int", {3, 2, 2}, cube)
  t.eq(a:table(), cube)
  t.eq(a:at(3, 1, 2), 10)
  local function init(shape, value)
    return function() cl.array("int", shape, value) end
  end
  t.raises(init(3, {1, 2}), "the table must have 3 elements; got 2")
  t.raises(init({2, 2}, {{1, 2}}), "the table must have 2 rows; got 1")
  t.raises(init({2, 2}, {1, 2, 3, 4}), "the table must have 2 rows; got 4; "
    .. "for a list of all: the shape 4, then x:reshape(shape)")
  t.raises(init({3, 4}, {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}}),
           "row 3 must have 4 elements; got 5")
  t.raises(init({2, 2}, {{1, 2}, {3}}), "row 2 must have 2 elements; got 1")
  t.raises(init({2, 2}, {1, 2}),
           "row 1 must be a table of 2 elements; got number")
  t.raises(init({2, 2, 2}, {{{1, 2}, {3, 4}}, {{5, 6}, {7}}}),
           "row [2][2] must have 2 elements; got 1")
  t.raises(init({2, 2}, {{1, 2}, {3, 4.5}}),
           "element [2][2]: must be a whole number; got 4.5")
  t.raises(init({2, 2}, {{1, 2}, {3, {4}}}),
           "element [2][2]: must be a number; got table")
end)

t.test("init: hostile tables", function()
  local cycle = {}
  cycle[1] = cycle
  t.raises(function() cl.array("int", {1, 1, 1, 1}, cycle) end,
           "element [1][1][1][1]: must be a number; got table")
  local liar = setmetatable({}, {
    __len = function() return 3 end,
    __index = function() return 1 end,
  })
  t.raises(function() cl.array("int", 3, liar) end,
    "must have 3 elements; got 0")
end)

t.test("init: another array", function()
  local a = cl.array("int", 3, {1, 2, 3})
  local b = cl.array("double", 3, a)
  t.eq(b:table(), {1, 2, 3})
  t.eq(cl.array("uchar", {3, 1}, b):table(), {{1}, {2}, {3}})
  t.raises(function() cl.array("int", 4, a) end,
           "int[4] takes 4 elements", "int[3] has 3")
  b[2] = 2.5
  t.raises(function() cl.array("int", 3, b) end, "element 2",
           "must be a whole number; got 2.5")
  a:close()
  t.raises(function() cl.array("int", 3, a) end, "an open Array")
end)

t.test("fill", function()
  local a = cl.array("short", {3, 5})
  t.ok(a:fill(-7) == a)
  for i = 1, #a do
    t.eq(a[i], -7)
  end
  t.raises(function() a:fill(40000) end, "40000 does not fit short")
  t.raises(function() a:fill() end, "must be a number")
  t.eq(a[15], -7)
  for n = 1, 33 do
    local b = cl.array("uchar", n):fill(n)
    t.eq(b:tostring(), string.char(n):rep(n))
  end
  local c = cl.array("int", {3, 3}):fill(1, 1, 9, 4)
  t.eq(c:table(), {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
  t.eq(c:fill(7, 8):table(), {{1, 0, 0}, {0, 1, 0}, {0, 7, 7}})
  t.eq(c:fill(5, 2, 3):table(), {{1, 5, 5}, {0, 1, 0}, {0, 7, 7}})
  t.eq(c:fill(9, 10):fill(9, 1, 0):fill(9, 4, 3):table(),
       {{1, 5, 5}, {0, 1, 0}, {0, 7, 7}})
  t.eq(c:fill(2, 3, 9, math.maxinteger):at(1, 3), 2)
  t.raises(function() c:fill(0, 0) end, "first must be", "1..10; got 0")
  t.raises(function() c:fill(0, 1, 10) end, "last must be", "0..9; got 10")
  t.raises(function() c:fill(0, 1, 9, 0) end, "step must be", "got 0")
  t.raises(function() c:fill(0, 1.5) end, "got 1.5")
  t.raises(function() c:fill(0, "1") end, "got 1")
  local v = cl.array("float2", 3):fill {1, 2}
  t.eq(v:table(), {{1, 2}, {1, 2}, {1, 2}})
end)

t.test("random: splitmix64 as published", function()
  -- the first outputs for state 1234567
  local expected = {
    6457827717110365317, 3203168211198807973, 9817491932198370423,
    4593380528125082431, 16408922859458223821,
  }
  local a = cl.array("long", 5)
  a:random(1234567, math.mininteger, math.maxinteger)
  for i, x in ipairs(expected) do
    local bits = math.type(x) == "integer" and x or
                 (math.tointeger(x - 0x1p64) or 0)
    if math.type(x) == "integer" then
      t.eq(a[i] ~ math.mininteger, bits)
    else
      t.near((a[i] ~ math.mininteger) * 1.0, x - 0x1p64, 1e-15)
    end
  end
end)

t.test("random: ranges and repeatability", function()
  for _, name in ipairs {"half", "float", "double"} do
    local a = cl.array(name, 10000):random(t.seed)
    local lo, hi, sum = math.huge, -math.huge, 0
    for i = 1, #a do
      lo, hi, sum = math.min(lo, a[i]), math.max(hi, a[i]), sum + a[i]
    end
    t.ok(lo >= 0 and hi < 1, name)
    t.near(sum / #a, 0.5, 0.02, name)
    t.ok(a:equal(cl.array(name, 10000):random(t.seed)))
    t.ok(not a:equal(cl.array(name, 10000):random(t.seed + 1)))
    -- element i does not depend on how many there are
    t.eq(cl.array(name, 3):random(t.seed)[3], a[3])
    a:random(t.seed, -3, -2)
    for i = 1, #a do
      t.ok(a[i] >= -3 and a[i] < -2, name)
    end
  end
  for _, name in ipairs {"char", "uchar", "int", "ulong"} do
    local a = cl.array(name, 5000):random(t.seed)
    local seen = {}
    for i = 1, #a do
      seen[a[i]] = true
      t.ok(a[i] >= 0 and a[i] <= 99)
    end
    t.ok(seen[0] and seen[99])
  end
  local a = cl.array("int", 100):random(1, -1, 1)
  for i = 1, 100 do
    t.ok(a[i] >= -1 and a[i] <= 1)
  end
  t.eq(cl.array("int", 2):random(1, 5, 5):table(), {5, 5})
  local v = cl.array("float3", 5):random(t.seed)
  local s = cl.array("float", 15):random(t.seed)
  t.eq(v[2], {s[4], s[5], s[6]})
end)

-- The sum of deviates and of their squares, the number of those within 1 and
-- of those beyond 3.
local function moments(list)
  local sum, squares, inside, far = 0.0, 0.0, 0, 0
  for _, x in ipairs(list) do
    local z = (x - 3) / 2
    sum, squares = sum + z, squares + z * z
    inside = inside + (math.abs(z) < 1 and 1 or 0)
    far = far + (math.abs(z) > 3 and 1 or 0)
  end
  return sum, squares, inside, far
end

t.test("normal: mean, deviation and tails", function()
  local n = 100000
  for _, type in ipairs{"half", "float", "double"} do
    local h <close> = cl.array(type, n):normal(t.seed, 3, 2)
    local sum, squares, inside, far = t.calm(moments, h:table())
    local what = ("%s, seed %d"):format(type, t.seed)
    t.near(sum / n, 0, 0.02, what) -- six deviations of each
    t.near(squares / n, 1, 0.027, what)
    t.near(inside / n, 0.6827, 0.01, what)
    t.near(far / n, 0.0027, 0.001, what)
  end
  local a, b = cl.array("float", 9):normal(7), cl.array("float", 9)
  t.eq(b:normal{seed = 7, deviation = 1}:table(), a:table())
  t.eq(cl.array("double", 2):normal(1, 5, 0):table(), {5.0, 5.0})
  t.ok(a[1] ~= cl.array("float", 9):normal(8)[1])
end)

t.test("random: misuse", function()
  local a, b = cl.array("float", 3), cl.array("uchar", 3)
  t.raises(function() a:random() end, "seed")
  t.raises(function() a:random "float" end, "got string; such as (7, 0, 1)")
  t.raises(function() a:random{seed = 1, to = 9} end, "unknown option 'to'")
  t.raises(function() a:random{lo = 1} end, "the seed must be")
  t.raises(function() b:normal(1) end,
    "normal: the type must be half, float or double; got uchar")
  t.raises(function() a:normal(1, 0, -1) end, "deviation >= 0; got 0.0 and -1")
  t.raises(function() a:normal(1, 0 / 0) end, "must be finite")
  t.raises(function() a:normal{seed = 1, lo = 0} end, "unknown option 'lo'")
  t.eq(cl.array("int", 99):random{seed = 3, lo = 5, hi = 7}:table(),
    cl.array("int", 99):random(3, 5, 7):table())
  t.raises(function() a:random(1.5) end,
    "seed must be a whole number; got 1.5")
  t.raises(function() a:random("1") end, "seed")
  t.raises(function() a:random(1, 2) end, "above the lower bound")
  t.raises(function() a:random(1, 2, 1) end, "above the lower bound")
  t.raises(function() a:random(1, 0, math.huge) end, "finite")
  t.raises(function() a:random(1, 0, 1e300) end, "finite")
  t.raises(function() a:random(1, 0, 0 / 0) end, "finite")
  t.raises(function() b:random(1, 0, 256) end, "256 does not fit uchar")
  t.raises(function() b:random(1, 9, 3) end, "below")
  t.raises(function() b:random(1, 0.5, 3) end,
    "must be a whole number; got 0.5")
end)

t.test("reshape shares the memory", function()
  local a = cl.array("int", 6, {1, 2, 3, 4, 5, 6})
  local b = a:reshape {2, 3}
  t.eq(b:table(), {{1, 2, 3}, {4, 5, 6}})
  b:set(1, 1, 99)
  t.eq(a[1], 99)
  a:close()
  t.eq(b[1], 99)
  t.raises(function() b:reshape(5) end, "6 elements", "[5] has 5")
  t.eq({b:reshape{-1, 2}.shape, b:reshape{3, -1, 1}.shape,
    b:reshape(-1).shape}, {{3, 2}, {3, 2, 1}, {6}})
  t.raises(function() b:reshape{-1, -1} end, "only one size may be -1")
  for _, shape in ipairs{{-1, 4}, {-1, 7}, {-1, math.maxinteger, 4}} do
    t.raises(function() b:reshape(shape) end, "do not divide the 6 elements")
  end
  t.raises(function() b:reshape{-1, 0} end, "do not divide the 6 elements")
  t.raises(function() b:reshape {} end, "dimensions")
  t.raises(function() b:reshape(6, 1) end, "in one table: {6, 1}")
end)

t.test("copy and convert", function()
  local a = cl.array("float", {2, 2}, {{1, 2}, {3, 4}})
  local b = a:copy()
  b[1] = 9
  t.eq(a[1], 1)
  t.eq(b.shape, {2, 2})
  local c = a:convert "uchar"
  t.eq(c.type, "uchar")
  t.eq(c:table(), {{1, 2}, {3, 4}})
  t.raises(function() a:convert "float2" end, "vectors of another width")
  t.raises(function() a:convert "flat" end, "did you mean 'float'?")
  a[3] = 300
  t.raises(function() a:convert "uchar" end, "element 3",
           "300.0 does not fit uchar")
  a[3] = 0 / 0
  t.raises(function() a:convert "long" end, "must be a whole number; got")
  t.raises(function() cl.array("int2", 2, {{1, 2}, {3, -4}}):convert "uint2"
           end, "element 2", "component 2", "-4 does not fit uint")
  local big = cl.array("ulong", 1, 0x1p63)
  t.raises(function() big:convert "long" end, "does not fit long")
  t.eq(big:convert("double")[1], 0x1p63)
  t.eq(big:convert("double"):convert("ulong")[1], math.mininteger)
end)

t.test("convert between all scalar types", function()
  local names = {"char", "uchar", "short", "ushort", "int", "uint", "long",
                 "ulong", "half", "float", "double"}
  local n = 600 -- more than one run
  for _, from in ipairs(names) do
    local a = cl.array(from, n):random(t.seed)
    if from == "half" or from == "float" or from == "double" then
      a = cl.array(from, n, cl.array("int", n):random(t.seed))
    end
    for _, to in ipairs(names) do
      local b = a:convert(to)
      for i = 1, n, 37 do
        t.eq(b[i], a[i], from .. " to " .. to)
      end
      t.ok(b:convert(from):equal(a))
    end
  end
  local v = cl.array("float3", 300):random(t.seed)
  t.ok(v:convert("double3"):convert("float3"):equal(v))
end)

t.test("equal", function()
  local a = cl.array("float", 1000):random(1)
  local b = a:copy()
  t.eq({a:equal(b)}, {true})
  b[777] = 2
  t.eq({a:equal(b)}, {false, 777})
  b[3] = 2
  t.eq({a:equal(b)}, {false, 3})
  local x, y = cl.array("float", 1, 0 / 0), cl.array("float", 1, 0 / 0)
  t.ok(x:equal(y))
  t.ok(not cl.array("float", 1, 0.0):equal(cl.array("float", 1, -0.0)))
  t.raises(function() a:equal(cl.array("float", 3)) end, "cannot be compared")
  t.raises(function() x:equal(cl.array("int", 1)) end, "Array of float")
  t.raises(function() a:equal {} end, "must be an Array")
  -- the gap after a vector of 3 is not compared
  local p = cl.array("int3", 1, string.pack("i4i4i4i4", 1, 2, 3, 4))
  local q = cl.array("int3", 1, string.pack("i4i4i4i4", 1, 2, 3, 5))
  t.ok(p:equal(q))
end)

t.test("max_diff", function()
  local a = cl.array("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  local b = a:copy()
  t.eq({a:max_diff(b)}, {0, 1})
  b[5] = 5.5
  b[2] = 1.75
  t.eq({a:max_diff(b)}, {0.5, 5})
  t.eq({a:max_diff(b:convert "double")}, {0.5, 5})
  b[3] = 0 / 0
  t.eq({a:max_diff(b)}, {math.huge, 3})
  t.eq({b:max_diff(b)}, {math.huge, 3})
  local c, d = cl.array("float", 1, math.huge), cl.array("float", 1, 1)
  t.eq({c:max_diff(c)}, {0, 1})
  t.eq({c:max_diff(d)}, {math.huge, 1})
  local x = cl.array("long", 2, {math.mininteger, 1 << 60})
  local y = cl.array("long", 2, {math.mininteger, (1 << 60) + 1})
  t.eq({x:max_diff(y)}, {1, 2})
  t.raises(function() a:max_diff(c) end, "cannot be compared")
end)

t.test("table, tostring, swap", function()
  local a = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
  t.eq(a:table(), {{1, 2}, {3, 4}})
  t.eq(a:tostring(), string.pack("i4i4i4i4", 1, 2, 3, 4))
  t.ok(a:swap() == a)
  t.eq(a:tostring(),
       string.pack(">i4i4i4i4", 1, 2, 3, 4):gsub("^", ""))
  t.eq(a:swap():table(), {{1, 2}, {3, 4}})
  t.eq(cl.array("uchar", 2, "ab"):swap():tostring(), "ab")
  t.eq(cl.array("double", 1, "12345678"):swap():tostring(), "87654321")
end)

t.test("readfile and writefile", function()
  local path = t.tmp "raw"
  local a = cl.array("float", {3, 4}):random(t.seed)
  local f <close> = assert(io.open(path, "w+b"))
  f:write "head"
  t.ok(a:writefile(f) == a)
  f:seek("set", 4)
  local b = cl.array("float", 12)
  t.ok(b:readfile(f) == b)
  t.ok(a:equal(b))
  f:seek("set", 4)
  local c = cl.array("float", 12):readfile(f, 3)
  t.eq(c[3], a[3])
  t.eq(c[4], 0)
  f:seek("set", 0)
  t.raises(function() cl.array("float", 100):readfile(f) end,
           "the file ends after 52 of 400 bytes")
  t.raises(function() c:readfile(f, 13) end, "13 elements", "float[12]")
  t.raises(function() c:readfile(f, -1) end, "whole number >= 0; got -1")
  t.raises(function() c:readfile(path) end, "must be a file; got string")
  t.raises(function() c:readfile(c) end, "must be a file; got")
  f:close()
  t.raises(function() c:readfile(f) end, "this file is closed")
  local r <close> = assert(io.open(path, "rb"))
  t.raises(function() c:writefile(r) end, "Bad file descriptor")
  local full = io.open("/dev/full", "wb")
  if full then
    local big = cl.array("int", 1 << 20)
    t.raises(function() big:writefile(full) end, "No space left on device")
    full:close()
  end
end)

t.test("closing", function()
  local a = cl.array("float", {2, 2})
  a:close()
  a:close()
  t.eq(a.closed, true)
  t.eq(tostring(a), "Array float[2][2] (closed)")
  t.raises(function() return #a end, "this Array is closed")
  t.raises(function() return a[1] end, "this Array is closed")
  t.raises(function() a[1] = 1 end, "this Array is closed")
  t.raises(function() return a.shape end, "this Array is closed")
  local calls = {
    at = {1, 1}, set = {1, 1, 0}, fill = {0}, random = {1}, reshape = {4},
    copy = {}, convert = {"int"}, table = {}, tostring = {}, swap = {},
    max_diff = {a}, equal = {a}, readfile = {io.stdin},
    writefile = {io.stdout},
  }
  for name, arguments in pairs(calls) do
    t.raises(function() a[name](a, table.unpack(arguments)) end,
             "this Array is closed")
  end
  local b
  do
    local c <close> = cl.array("int", 3)
    b = c
  end
  t.eq(b.closed, true)
end)

t.test("methods on other things", function()
  local a = cl.array("float", 4)
  for _, other in ipairs {1, "x", {}, io.stdout, print} do
    t.raises(function() a.fill(other, 1) end, "must be an Array; got ")
  end
  t.raises(function() a.fill() end, "must be an Array; got")
  t.raises(function() a:max_diff(io.stdout) end, "must be an Array; got userd")
end)

t.test("another userdata with the metatable of Array", function()
  local mt = debug.getmetatable(cl.array("float", 1))
  local f = assert(io.tmpfile())
  local real = debug.getmetatable(f)
  debug.setmetatable(f, mt)
  t.raises(function() return #f end, "must be an Array")
  t.raises(function() return f[1] end, "must be an Array")
  t.raises(function() mt.__gc(f) end, "must be an Array")
  debug.setmetatable(f, real)
  f:close()
  local a = cl.array("float", 1)
  mt.__gc(a)
  mt.__gc(a)
  t.raises(function() return a[1] end, "closed")
end)

t.test("collection frees; a finalizer cannot pull the memory away", function()
  for _ = 1, 2000 do
    cl.array("float", {64, 64})
  end
  collectgarbage()
  local open = cl.live().Array
  t.ok(open == nil or open < 3)
  -- closed by its own init function
  t.raises(function()
    cl.array("int", 10, function(i)
      local _, a = debug.getlocal(2, 4)
      if i == 5 and type(a) == "userdata" then
        a:close()
      end
      return i == 7 and "x" or i
    end)
  end)
  -- closed by a finalizer in the middle of table()
  local a = cl.array("float4", 5000, 1)
  for _ = 1, 100 do
    setmetatable({}, {__gc = function() a:close() end})
  end
  pcall(a.table, a)
  a:close()
end)

t.test("debug.setmetatable, coroutines, extend", function()
  local a = coroutine.wrap(function()
    local b = cl.array("int", 4, function(i)
      return i
    end)
    coroutine.yield(b)
  end)()
  t.eq(a:table(), {1, 2, 3, 4})
  t.raises(function()
    coroutine.wrap(function()
      cl.array("int", 4, function(i) coroutine.yield(i) end)
    end)()
  end, "yield")
end)

t.done()

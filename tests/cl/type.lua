-- type.lua - element types: names, sizes, ranges, conversion.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

local scalars = {
  char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, long = 8,
  ulong = 8, half = 2, float = 4, double = 8,
}

t.test("sizes of all types", function()
  for name, size in pairs(scalars) do
    t.eq(cl.typesize(name), size, name)
    for _, width in ipairs {2, 3, 4, 8, 16} do
      local room = width == 3 and 4 or width
      t.eq(cl.typesize(name .. width), size * room, name .. width)
    end
  end
end)

t.test("names that are no type", function()
  t.raises(function() cl.typesize "floatt" end, "typesize: bad argument #1",
           "no element type 'floatt'", "did you mean 'float'?")
  t.raises(function() cl.typesize "float5" end, "no element type")
  t.raises(function() cl.typesize "float32" end, "did you mean 'float'?")
  t.raises(function() cl.typesize "size_t" end, "no element type")
  t.raises(function() cl.typesize "" end, "no element type")
  t.raises(function() cl.typesize "float\0" end, "no element type")
  t.raises(function() cl.typesize(4) end, "got number")
  t.raises(function() cl.typesize() end, "got no value")
end)

local ranges = {
  {"char", -128, 127}, {"uchar", 0, 255}, {"short", -32768, 32767},
  {"ushort", 0, 65535}, {"int", -2147483648, 2147483647},
  {"uint", 0, 4294967295}, {"long", math.mininteger, math.maxinteger},
}

t.test("integers: the ends of the range", function()
  for _, r in ipairs(ranges) do
    local name, lo, hi = table.unpack(r)
    local a = cl.array(name, 2)
    a[1], a[2] = lo, hi
    t.eq(a[1], lo, name)
    t.eq(a[2], hi, name)
    t.eq(math.type(a[1]), "integer")
    if name ~= "long" then
      local text = "does not fit " .. name .. " (" .. lo .. ".." .. hi .. ")"
      t.raises(function() a[1] = lo - 1 end, (lo - 1) .. " " .. text)
      t.raises(function() a[1] = hi + 1 end, (hi + 1) .. " " .. text)
      t.raises(function() a[1] = hi + 1.0 end, text)
      t.raises(function() a[1] = math.mininteger end, text)
      t.raises(function() a[1] = math.maxinteger end, text)
    end
    t.eq(a[1], lo, name .. " unchanged")
  end
end)

t.test("integers: floats with a whole value", function()
  local a = cl.array("int", 1)
  a[1] = 3.0
  t.eq(a[1], 3)
  a[1] = -0.0
  t.eq(a[1], 0)
  t.raises(function() a[1] = 3.5 end, "must be a whole number; got 3.5")
  t.raises(function() a[1] = 0 / 0 end, "must be a whole number; got", "nan")
  t.raises(function() a[1] = math.huge end, "must be a whole number; got inf")
  t.raises(function() a[1] = 1e30 end, "1e+30 does not fit int")
  t.raises(function() a[1] = "3" end, "must be a number; got string")
  t.raises(function() a[1] = nil end, "must be a number; got nil")
  t.raises(function() a[1] = true end, "must be a number; got boolean")
  t.raises(function() a[1] = {1} end, "must be a number; got table")
end)

t.test("long and ulong at their ends", function()
  local a, b = cl.array("long", 1), cl.array("ulong", 1)
  a[1] = -0x1p63
  t.eq(a[1], math.mininteger)
  t.raises(function() a[1] = 0x1p63 end, "does not fit long (-2^63..2^63-1)")
  b[1] = math.maxinteger
  t.eq(b[1], math.maxinteger)
  b[1] = 0x1p63
  t.eq(b[1], math.mininteger)
  t.eq(math.type(b[1]), "integer")
  b[1] = 0x1.fffffffffffffp63
  t.eq(b[1], -2048)
  t.raises(function() b[1] = 0x1p64 end,
    "does not fit ulong (0..2^64-1)")
  t.raises(function() b[1] = -1.0 end, "does not fit ulong")
end)

t.test("no bit of a ulong is lost", function()
  local bits = {0, 1, math.maxinteger, math.mininteger, -1, -2,
    math.mininteger | 1, 0x123456789abcdef1, 0xfedcba9876543211}
  local a = cl.array("ulong", #bits, bits)
  t.eq(a:table(), bits)
  t.eq(a:tostring(), string.pack(("j"):rep(#bits), table.unpack(bits)))
  t.eq(a:fill(-1)[3], -1)
  a:random(t.seed, 0, -1)
  local least, most = a[1], a[1]
  for i = 1, #a do
    least = math.ult(a[i], least) and a[i] or least
    most = math.ult(most, a[i]) and a[i] or most
  end
  local s = a:summary()
  t.eq({s.min, s.max}, {least, most})
  t.raises(function() a:random(1, -1, 0) end, "below the lower one")
  t.eq(tostring(cl.ulong(-1)), "ulong 18446744073709551615")
  t.eq(cl.array("ulong2", 1, {{-1, 5}})[1], {-1, 5})
  local far = cl.array("ulong", 2, {math.mininteger, 0})
  t.eq({far:max_diff(cl.array("ulong", 2, {math.maxinteger, 0}))}, {1, 1})
end)

t.test("a conversion to or from ulong keeps the value", function()
  local big = cl.array("ulong", 2, {1, -1})
  for _, name in ipairs{"long", "int", "uchar"} do
    t.raises(function() big:convert(name) end, "element 2 of an Array "
      .. "ulong[2]: 18446744073709551615 does not fit " .. name)
  end
  t.eq(big:convert("double"):table(), {1, 0x1p64})
  for _, name in ipairs{"long", "int", "char"} do
    local below = cl.array(name, 2, {1, -1})
    t.raises(function() below:convert "ulong" end,
      "element 2", "-1 does not fit ulong (0..2^64-1)")
  end
  t.raises(function() cl.array("ulong2", 1, {{1, -1}}):convert "long2" end,
    "component 2: 18446744073709551615 does not fit long")
end)

t.test("reals round", function()
  local a = cl.array("float", 1)
  a[1] = 0.1
  t.eq(a[1], string.unpack("f", string.pack("f", 0.1)))
  a[1] = 1 << 24 | 1
  t.eq(a[1], 16777216.0)
  a[1] = 1e300
  t.eq(a[1], math.huge)
  a[1] = 0 / 0
  t.ok(a[1] ~= a[1])
  a = cl.array("double", 1)
  a[1] = 0.1
  t.eq(a[1], 0.1)
end)

local function half(x)
  local a = cl.array("half", 1, x)
  return string.unpack("H", a:tostring()), a[1]
end

t.test("half: known values", function()
  local known = {
    {0.0, 0}, {-0.0, 0x8000}, {1.0, 0x3c00}, {-2.0, 0xc000}, {1 / 3, 0x3555},
    {65504, 0x7bff}, {65519.99, 0x7bff}, {65520, 0x7c00}, {1e9, 0x7c00},
    {-math.huge, 0xfc00}, {0x1p-14, 0x0400}, {0x1p-24, 1}, {0x1p-25, 0},
    {0x1.8p-25, 1}, {0x1.0000001p-25, 1}, {0x1.8p-24, 2}, {0x1p-26, 0},
    {0x1.ff8p-15, 0x3ff}, {0x1.ffcp-15, 0x400}, {1 + 0x1p-11, 0x3c00},
    {1 + 0x3p-11, 0x3c02}, {1 + 0x1p-11 + 0x1p-40, 0x3c01}, {1e-320, 0},
    {2048, 0x6800}, {2049, 0x6800}, {2051, 0x6802},
    -- rounded to float first, this would be a tie and go to even
    {1 + 0x1p-11 + 0x1p-30, 0x3c01},
  }
  for _, k in ipairs(known) do
    t.eq(half(k[1]), k[2], tostring(k[1]))
  end
  local bits, value = half(0 / 0)
  t.eq(bits & 0x7c00, 0x7c00)
  t.ok(value ~= value)
end)

t.test("half: every value there and back", function()
  for bits = 0, 0xffff do
    local a = cl.array("half", 1, string.pack("H", bits))
    local x = a[1]
    if x == x then
      a[1] = x
      if string.unpack("H", a:tostring()) ~= bits then
        t.eq(string.unpack("H", a:tostring()), bits, tostring(x))
      end
    else
      t.ok(bits & 0x7c00 == 0x7c00 and bits & 0x3ff ~= 0)
    end
    a:close()
  end
end)

t.test("half: nearest, ties to even", function()
  local a = cl.array("half", 2)
  for bits = 0, 0x7bfe, 7 do
    local pair = cl.array("half", 2, string.pack("HH", bits, bits + 1))
    local lo, hi = pair[1], pair[2]
    local mid = (lo + hi) / 2 -- exact in double
    a[1], a[2] = mid, -mid
    local got, minus = string.unpack("HH", a:tostring())
    t.eq(got, bits + (bits & 1), "tie")
    t.eq(minus, got | 0x8000)
    a[1], a[2] = mid - (hi - lo) / 1e6, mid + (hi - lo) / 1e6
    local below, above = string.unpack("HH", a:tostring())
    t.eq(below, bits)
    t.eq(above, bits + 1)
    pair:close()
  end
end)

t.test("vectors", function()
  local a = cl.array("float4", 2)
  t.eq(a.bytes, 32)
  a[1] = {1, 2, 3, 4}
  a[2] = 5
  t.eq(a[1], {1, 2, 3, 4})
  t.eq(a[2], {5, 5, 5, 5})
  t.eq(a:table(), {{1, 2, 3, 4}, {5, 5, 5, 5}})
  t.raises(function() a[1] = {1, 2, 3} end, "float4 takes 4 numbers; got 3")
  t.raises(function() a[1] = {1, 2, 3, 4, 5} end, "got 5")
  t.raises(function() a[1] = {1, 2, "x", 4} end, "component 3",
           "must be a number; got string")
  t.raises(function() a[1] = "x" end, "float4 takes a number or a table of 4")
  t.eq(a[1], {1, 2, 3, 4})
  local b = cl.array("uchar16", 1)
  t.raises(function() b[1] = 256 end, "256 does not fit uchar (0..255)")
  local c = cl.array("int3", 2, {{1, 2, 3}, {4, 5, 6}})
  t.eq(c.bytes, 32)
  t.eq(c[2], {4, 5, 6})
  t.eq(c:tostring(), string.pack("i4i4i4i4i4i4i4i4", 1, 2, 3, 0, 4, 5, 6, 0))
end)

t.test("no metamethod is asked", function()
  local liar = setmetatable({}, {
    __len = function() return 4 end,
    __index = function() return 1 end,
  })
  local a = cl.array("float4", 1)
  t.raises(function() a[1] = liar end, "got 0")
end)

t.done()

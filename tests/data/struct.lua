-- struct.lua - C structs: layouts, values for kernels, and Buffers of them
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue", "Buffer", "Event")

local PARTICLE = "struct particle { float4 pos; float m; int id[3]; };"

-- "name offset size" of each field.
local function places(s)
  local list = {}
  for i, f in ipairs(s.fields) do
    list[i] = ("%s %d %d"):format(f.name, f.offset, f.size)
  end
  return table.concat(list, ", ")
end

t.test("the layout is OpenCL's, and the device's", function()
  for _, case in ipairs{
    {PARTICLE, 32, 16, "pos 0 16, m 16 4, id 20 12"},
    {"struct a { char c; int i; char d; };", 12, 4, "c 0 1, i 4 4, d 8 1"},
    {"struct a { char c; float3 v; uchar2 u[3], w; };", 48, 16,
      "c 0 1, v 16 16, u 32 6, w 38 2"},
    {"struct __attribute__((packed)) a { char c; int i; long l[2]; };", 21, 1,
      "c 0 1, i 1 4, l 5 16"},
    {"typedef struct { char c; float x[2][3]; } __attribute__((packed)) a;",
      25, 1, "c 0 1, x 1 24"},
    {"struct a { char c; int x __attribute__((aligned(32))); };", 64, 32,
      "c 0 1, x 32 4"},
    {[[struct in { char c; short s; }; // one
       typedef struct { int n; /* two */ struct in at[2];
         struct { char x; ulong y; } z; } out;]], 32, 8,
      "n 0 4, at 4 8, z 16 16"},
    {"struct n { char c; global struct n *next, *last[2]; float x; };", 40, 8,
      "c 0 1, next 8 8, last 16 16, x 32 4"},
    {"struct a { unsigned char c; unsigned n; const signed short s; };", 12, 4,
      "c 0 1, n 4 4, s 8 2"},
  } do
    local s = cl.struct(case[1])
    t.eq({s.size, s.align, places(s)}, {case[2], case[3], case[4]}, case[1])
    t.ok(rawequal(s:check(), s))
  end
  t.eq(tostring(cl.struct(PARTICLE)), "struct particle: 32 bytes, aligned "
    .. "to 16\n     0  float4 pos\n    16  float m\n    20  int id[3]")
end)

t.test("kernels take structs by value and in Buffers", function()
  local s = cl.struct(PARTICLE)
  local p <close> = cl.build(s.source .. [[
    kernel void move(global struct particle *p, struct particle by, int n) {
      size_t i = get_global_id(0);
      p[i].pos += by.pos;
      p[i].m *= by.m;
      p[i].id[2] = p[i].id[0] + by.id[n];
    }]])
  local b <close> = s:buffer{{pos = {1, 2, 3, 4}, m = 2, id = {5, 6, 7}},
    {m = 3}}
  p.move:range(2)(b, s{pos = {0.5, 0, 0, -1}, m = 10, id = {0, 42, 0}}, 1)
  t.eq(s:read(b), {
    {pos = {1.5, 2, 3, 3}, m = 20, id = {5, 6, 47}},
    {pos = {0.5, 0, 0, -1}, m = 30, id = {0, 0, 42}}})
  s:write(b, {{m = 7}}, 2)
  t.eq(s:read(b, 2), {{pos = {0, 0, 0, 0}, m = 7, id = {0, 0, 0}}})
  t.eq(s:read(b, 1, 1)[1].m, 20)
  local zeroes <close> = s:buffer(1000)
  t.eq(s:read(zeroes, 1000)[1].id, {0, 0, 0})
  local odd <close> = cl.buffer("uchar", 33, 0)
  t.raises(function() p.move:range(1)(odd, s{}, 0) end, "cl.any(b)")
end)

t.test("structs in structs, and halves, come back as they went", function()
  local s = cl.struct [[
    struct in { char c; short2 s; };
    struct out { struct in a[2][2]; struct in b; half h[2]; ulong u; };]]
  local value = {a = {{{c = 1, s = {2, 3}}, {c = 4, s = {5, 6}}},
    {{c = -7, s = {8, 9}}, {c = 10, s = {11, -12}}}},
    b = {c = 13, s = {14, 15}}, h = {0.5, -2}, u = math.maxinteger}
  local b <close> = s:buffer{value, value}
  t.eq(s:read(b), {value, value})
end)

t.test("wrong declarations and values name their fault", function()
  for text, pieces in pairs{
    [""] = "'struct' expected",
    ["struct"] = "the name of a struct expected; got the end",
    ["struct a {};"] = "must have fields",
    ["struct a { int x; }"] = "';' expected; got the end",
    ["struct a { int x; int x; };"] = "'x' is declared twice",
    ["struct a { float **x; };"] = "the name of a field expected; got '*'",
    ["struct a { int x : 3; };"] = "a bit-field",
    ["struct a { int x[0]; };"] = "must have elements",
    ["struct a { bool x; };"] = "'bool' is no type of the text",
    ["struct a { union { int x; } u; };"] = "'union' is no type",
    ["struct a { struct b x; };"] = "'struct b' is no type",
    ["struct { int x; };"] = "must have a name",
    ["#define N 3\nstruct a { int x[N]; };"] = "no line of the preprocessor",
    ["struct a { int x[N]; };"] = "a number expected; got 'N'",
    ["struct a { int x; } __attribute__((weak));"] = "got 'weak'",
    ["int x;"] = "'struct' expected",
  } do
    t.raises(function() cl.struct(text) end, pieces)
  end
  t.raises(function() cl.struct() end, "text must be a string; got nothing")
  local s = cl.struct(PARTICLE)
  t.raises(function() return s{mass = 1} end, "no field 'mass'", "There are: ")
  t.raises(function() return s{po = {}} end, "did you mean 'pos'?")
  t.raises(function() return s{id = {1, 2}} end, "id: ", "3 elements")
  t.raises(function() return s{id = {1, 2.5, 3}} end, "id: ", "whole number")
  t.raises(function() return s(1) end, "must be a table; got")
  t.raises(function() s:buffer{} end, "at least one struct")
  t.raises(function() s:buffer("x") end, "values must be a table")
  t.raises(function() s:buffer({{}, {m = "x"}}) end, "[2].m: ")
  local b <close> = s:buffer(3)
  t.raises(function() s:read(b, 3, 2) end, "among 1 to 3; got 2 from 3 on")
  t.raises(function() s:read(b, 4) end, "among 1 to 3")
  t.raises(function() s:write(b, {}) end, "among 1 to 3")
  t.raises(function() s:read(3) end, "buffer must be a Buffer; got 3")
  local floats <close> = cl.buffer("float", 8, 0)
  t.raises(function() s:read(floats) end, "must be of uchar")
  t.raises(function() s.read(b) end, "self must be a Struct")
end)

t.done()

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

t.test("a text is compiled once", function()
  local s = cl.struct(PARTICLE)
  t.ok(rawequal(cl.struct(PARTICLE), s))
  local c <close> = cl.context(cl.devices()[1])
  t.ok(rawequal(s:check{context = c}, s))
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

t.test("short lists are filled with zeros, at every depth", function()
  local s = cl.struct [[struct p { int v[2]; float3 w; };
    struct a { int x[4]; struct p at[2][2]; float4 f[2]; short2 h; };]]
  local b <close> = s:buffer{{x = {1, 2}, at = {{{v = {3}}}, {{}, {w = {4}}}},
    f = {{5}}, h = {6}}, {}}
  local zero = {v = {0, 0}, w = {0, 0, 0}}
  t.eq(s:read(b, 1, 1)[1], {x = {1, 2, 0, 0}, at = {
    {{v = {3, 0}, w = {0, 0, 0}}, zero},
    {zero, {v = {0, 0}, w = {4, 0, 0}}}},
    f = {{5, 0, 0, 0}, {0, 0, 0, 0}}, h = {6, 0}})
  t.raises(function() s{at = {{}, {}, {}}} end, "at: the list must have at "
    .. "most 2 elements")
  t.raises(function() cl.buffer("int", 4, {1, 2}) end, "4 elements")
end)

t.test("the compiler is asked for the layout of other texts", function()
  for _, case in ipairs{
    {"#define N 4\nstruct a { int x[N]; };", 16, 4, "x 0 16"},
    {"typedef float fp; typedef fp v3[3]; struct a { fp x; v3 y[2]; fp *p; };",
      40, 8, "x 0 4, y 4 24, p 32 8"},
    {"enum color {R, G = 5}; struct a { char d; enum color c; };", 8, 4,
      "d 0 1, c 4 4"},
    {"struct a { union { int x; float y; }; uchar z[2]; bool b; size_t s; };",
      16, 8, "x 0 4, y 0 4, z 4 2, b 6 1, s 8 8"},
    {"typedef unsigned int u32; typedef struct s { u32 n[3]; ulong k; } s_t;",
      24, 8, "n 0 12, k 16 8"},
    {"struct s { u8 c[3]; uint16_t n; i64 k; };", 16, 8,
      "c 0 3, n 4 2, k 8 8"},
    {"typedef struct { half h; char3 c; long d[2]; } t;", 24, 8,
      "h 0 2, c 4 4, d 8 16"},
  } do
    local s = cl.struct(case[1])
    t.eq({s.size, s.align, places(s)}, {case[2], case[3], case[4]}, case[1])
  end
  local u = cl.struct [[union u { float f; uint n; struct { ushort lo, hi; } p;
    char b[8]; };]]
  local b <close> = u:buffer{{f = 1}, {b = {1, 2}}}
  local list = u:read(b)
  t.eq({list[1].n, list[1].p.hi, list[2].n}, {0x3f800000, 0x3f80, 0x201})
end)

t.test("structs of a program", function()
  local p <close> = cl.build([[
    #ifdef WIDE
    typedef ulong real;
    #else
    typedef float real;
    #endif
    typedef struct __attribute__((aligned(16))) { float x, y; } P;
    typedef struct box {
      real m;
    #if N > 2
      P at[N]; // } ; a comment
    #else
      int none;
    #endif
      char name[8] __attribute__((aligned(8)));
    } box_str, *box_ptr;
    typedef box_str other;
    inline float twice(const box_str *b) { struct { int z; } q; return 2; }
    kernel void k(global box_str *b, const struct box c, global P *p) {
      b[1].m = c.m * 2;
      b[1].at[N - 1].y = sizeof(box_str) + c.at[0].x;
    }]], {defines = {N = 3, WIDE = 1}})
  local s = p:struct "box_str"
  t.eq({s.size, s.align, places(s)}, {80, 16, "m 0 8, at 16 48, name 64 8"})
  t.eq(p:struct("other").size, s.size)
  t.eq(p:struct("struct box").name, s.name)
  t.eq(places(p:struct "P"), "x 0 4, y 4 4")
  local b <close> = s:buffer(2)
  local q <close> = p:struct("P"):buffer(1)
  p.k:range(1)(b, s{m = 3, at = {{x = 4}}}, q)
  t.eq({s:read(b)[2].m, s:read(b)[2].at[3].y}, {6, 84})
  t.raises(function() p:struct "box_st" end, "no struct 'box_st'",
    "did you mean 'box_str'?")
  s:fill(b, {m = 9}, 2, 1)
  t.eq({s:read(b)[1].m, s:read(b)[2]}, {0, {m = 9, at = {{x = 0, y = 0},
    {x = 0, y = 0}, {x = 0, y = 0}}, name = {0, 0, 0, 0, 0, 0, 0, 0}}})
  local g <close> = s:gather(b, {2, 3, 1, 2})
  local masses = {}
  for i, one in ipairs(s:read(g)) do
    masses[i] = one.m
  end
  t.eq(masses, {9, 0, 0, 9})
  t.raises(function() s:gather(b, 3) end, "a list of numbers")
  t.eq(#s:read(s:gather(b, cl.array("int", 2, {1, 3}))), 2)
  t.raises(function() b:fill{m = 1} end, "a Struct fills by field")
  t.raises(function() s:fill(b, {}, 2, 2) end, "among 1 to 2")
end)

t.test("wrong declarations and values name their fault", function()
  for text, pieces in pairs{
    [""] = "must have a struct with a name",
    ["struct a {};"] = "struct a must have fields",
    ["struct a { int x; }"] = "expected ';' after struct",
    ["struct a { int x; int x; };"] = "duplicate member 'x'",
    ["struct a { int x : 3; };"] = "a bit-field",
    ["struct a { int n; int x[]; };"] = "x: an array must have a size",
    ["struct a { struct b x; };"] = "incomplete type 'struct b'",
    ["struct a { int x; b y; };"] = "unknown type name 'b'",
    ["struct { int x; };"] = "must have a struct with a name",
    ["#define N 3\nstruct a { int x[M]; };"] = "undeclared",
    ["union a { int x; 4 };"] = "a field of union a has no name",
    ["typedef int a;"] = "must have a struct with a name",
  } do
    t.raises(function() cl.struct(text) end, pieces)
  end
  -- clshell's words, or those of a compiler that refuses it first
  local empty = tostring(t.raises(function()
    cl.struct "struct a { int n; int x[0]; };"
  end))
  t.ok(empty:find("x: an array must have elements", 1, true)
    or empty:find("zero-length", 1, true), empty)
  t.raises(function() cl.struct() end, "text must be a string; got nothing")
  local s = cl.struct(PARTICLE)
  t.raises(function() return s{mass = 1} end, "no field 'mass'", "There are: ")
  t.raises(function() return s{po = {}} end, "did you mean 'pos'?")
  t.raises(function() return s{id = {1, 2, 3, 4}} end, "id: ",
    "at most 3 elements; got element 4")
  t.raises(function() return s{pos = {1, 2, 3, 4, 5}} end, "pos: ",
    "at most 4")
  t.raises(function() return s{id = {x = 2}} end, "got element x")
  t.raises(function() return s{id = {1, 2.5, 3}} end, "id: ", "whole number")
  t.raises(function() return s(1) end, "must be a table; got")
  local none = s:buffer{}
  t.eq({none.shape, #s:read(none), #s:read(s:buffer(0)), #s:read(s:gather(
    none, {})), s:write(none, {}).status, s:fill(none, {}):wait().status},
    {{0, s.size}, 0, 0, 0, "complete", "complete"})
  t.raises(function() s:buffer("x") end, "values must be a table")
  t.raises(function() s:buffer({{}, {m = "x"}}) end, "[2].m: ")
  local b <close> = s:buffer(3)
  t.raises(function() s:read(b, 3, 2) end, "among 1 to 3; got 2 from 3 on")
  t.raises(function() s:read(b, 5) end, "among 1 to 3")
  t.raises(function() s:write(b, {}, 5) end, "among 1 to 3")
  t.raises(function() s:read(3) end, "buffer must be a Buffer; got 3")
  local floats <close> = cl.buffer("float", 8, 0)
  t.raises(function() s:read(floats) end, "must be of uchar")
  t.raises(function() s.read(b) end, "self must be a Struct")
end)

t.done()

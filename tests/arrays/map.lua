-- map.lua - cl.map: statements of OpenCL C for every element
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local list = t.list

t.test("Buffers that are set, old and new, in the order of the text",
  function()
    local x <close> = cl.buffer("float", 4, {1, 2, 3, 4})
    local y <close> = cl.buffer("float", 4, 10)
    local z, event = cl.map("float y = a * x + y", {a = 2, x = x, y = y})
    t.ok(rawequal(z, y))
    t.ok(event:wait().ms >= 0)
    t.eq(list(y), {12.0, 14.0, 16.0, 18.0})
    local later, square = cl.map([[
      private float t = x; // not float w = 1
      for (int k = 0; k < 2; k++) { float s = 1; t += s; }
      float later = t;
      int square = (int)(x * x) + n * i]], {x = x})
    t.eq({later.type, square.type}, {"float", "int"})
    t.eq(list(later), {3.0, 4.0, 5.0, 6.0})
    t.eq(list(square), {1, 8, 17, 28})
    cl.map("y = 0; if (x > 2) y += x; y++;", {x = x, y = y})
    t.eq(list(y), {1.0, 1.0, 4.0, 5.0})
    t.eq(list((cl.map("y = x == 2 ? 1 : -1", {x = x, y = y}))),
      {-1.0, 1.0, -1.0, -1.0})
  end)

t.test("types: half, vectors, doubles, numbers of a definite type", function()
  local h <close> = cl.buffer("half", 2, {1.5, 2})
  cl.map("h = h * 2 + 1", {h = h})
  t.eq(list(h), {4.0, 5.0})
  t.eq(list((cl.map("half g = h + i", {h = h}))), {4.0, 6.0})
  local v <close> = cl.buffer("float4", 2, 1)
  cl.map("v.x = v.y + 1", {v = v})
  t.eq(v:read()[2], {2.0, 1.0, 1.0, 1.0})
  t.eq(list((cl.map("long z = x + a", {x = cl.buffer("int", 1, 1),
    a = 1 << 40}))), {(1 << 40) + 1})
  t.eq(list((cl.map("uint z = a - 2", {a = cl.uint(1)}, {shape = 1}))),
    {(1 << 32) - 1})
  if cl.device():has "cl_khr_fp64" then
    t.eq(list((cl.map("double z = x * a", {x = cl.buffer("double", 1, 1),
      a = 0.1}))), {0.1})
  end
end)

t.test("shapes, views and expressions", function()
  local A <close> = cl.buffer("int", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  local row <close> = cl.buffer("int", 3, {10, 20, 30})
  local B = cl.map("int B = a + r", {a = A, r = row * 2})
  t.eq({B.shape, list(B)}, {{2, 3}, {21, 42, 63, 24, 45, 66}})
  cl.map("s = -s", {s = A:matrix(2, 2, 2, 3)})
  t.eq(list(A), {1, -2, -3, 4, -5, -6})
  t.eq(list((cl.map("int z = i", {}, {shape = {2, 2}}))), {0, 1, 2, 3})
  t.raises(function() cl.map("int z = i") end, "shape = 16")
  t.raises(function() cl.map("int z = i", {}, {shape = 0}) end,
    "a size must be an integer >= 1; got 0")
  t.raises(function() cl.map("r = a", {r = row, a = A}) end,
    "r has the shape 3, the result 2x3")
end)

t.test("slices are read and set where they lie", function()
  local x <close> = cl.arange(1, 6)
  local odd, even = x:slice(1, -1, 2), x:slice(2, -1, 2)
  local set = cl.map("y = x * a", {y = odd, x = even, a = 10})
  t.eq({tostring(set), list(x)}, {"Expression int[3]",
    {20, 2, 40, 4, 60, 6}})
  t.eq(list((cl.map("int z = x + i", {x = x:shift(1):slice(1, 2)}))), {6, 21})
  t.raises(function() cl.map("y = x", {y = x:slice(2, 3), x = x:slice(1, 2)})
  end, "map: y is written and has memory of x")
  t.raises(function() cl.map("y = x", {y = odd, x = odd}) end,
    "map: y is written and has memory of x")
  t.raises(function() cl.map("y = 1", {y = x + 1, x = x}) end, "not use x")
end)

t.test("one program for one text", function()
  local x <close> = cl.buffer("int", 3, 1)
  local function run(a, b)
    local z <close> = cl.map("int z = a * x", {x = b, a = a})
    return list(z)
  end
  t.eq(run(3, x), {3, 3, 3})
  local before = cl.live().Program
  t.eq(run(4, x), {4, 4, 4})
  local longer <close> = cl.buffer("int", 5, 2)
  t.eq(run(4, longer), {8, 8, 8, 8, 8})
  t.eq(cl.live().Program, before)
end)

t.test("a wrong text points into the text", function()
  local x <close> = cl.buffer("float", 3, 1)
  local e = t.raises(function()
    cl.map("float z = q * x + 1", {x = x})
  end, "undeclared identifier 'q'", "map.lua:")
  t.ok(tostring(e):find 'float z = q %* x %+ 1[^\n]*\n[ |]*%^', tostring(e))
  local line = debug.getinfo(1, "l").currentline - 3
  t.ok(tostring(e):find(("map.lua:%d:23: error"):format(line), 1, true), e)
  e = t.raises(function() cl.map("float z = x +", {x = x}) end, "error")
  t.ok(tostring(e):find 'float z = x %+[^\n]*\n[ |]*%^', tostring(e))
  t.eq(list((cl.map("float z = x // one", {x = x}))), {1.0, 1.0, 1.0})
  t.raises(function() cl.map("float z = sqrt(x + 1", {x = x}) end,
    "map: the '(' has no ')': float z = sqrt(x + 1")
  t.raises(function() cl.map("float z = 1;\nz += x)", {x = x}) end,
    "map: the ')' has no '(': z += x)")
  t.raises(function() cl.map("if (x > 1) {x = 0)", {x = x}) end,
    "map: the '{' has no '}'")
  t.eq(list((cl.map("float z = x /* ( */", {x = x}))), {1.0, 1.0, 1.0})
  t.raises(function() cl.map("float z = x; w = z;", {x = x}) end, "'w'")
end)

t.test("functions, macros, options and names beside operators", function()
  local x <close> = cl.buffer("float", 4, {1, 2, 3, 4})
  local function map(code, values, opts)
    values.x = x
    return (cl.map(code, values, opts)):read():table()
  end
  local y <close> = cl.buffer("float", 4, 2)
  t.eq({map("int z = x > y", {y = y}), map("int z = x>(y)", {y = y})},
    {{0, 0, 1, 1}, {0, 0, 1, 1}})
  t.eq(map("float z = x > 1.e1f || x > e1 ? E2 : 2e1f", {e1 = 2, E2 = 7}),
    {20.0, 20.0, 7.0, 7.0})
  t.eq(map([[
    #define SQUARE(a) \
      ((a) * (a))
    float z = SQUARE(x) // of x
    ]], {}), {1.0, 4.0, 9.0, 16.0})
  t.eq(map([[
    #define K 2
    static float twice(float x) { if (x > 1) { return K * x; } return 0; }
    int next(int a) { return a + 1; }
    #define L (J + 1)
    float z = twice(x) + next(i) * L]], {}, {defines = {J = 9}}),
    {10.0, 24.0, 36.0, 48.0})
  t.eq({map("float z = K * x", {}, {defines = {K = 3}})[1],
    map("float z = K * x", {}, {defines = {K = 4}})[1],
    map("float z = K * x", {}, {options = "-D K=5"})[1]}, {3.0, 4.0, 5.0})
  t.eq(map("if (x > 3) { x = 0; } else if (x < 2) { x = 5; } float z = x",
    {}), {5.0, 2.0, 3.0, 0.0})
end)

t.test("values and texts that cannot be", function()
  local x <close> = cl.buffer("float", 256, 1)
  t.raises(function() cl.map(1) end, "text must be a string")
  t.raises(function() cl.map("x + 1", {x = x}) end, "sets no Buffer")
  t.raises(function() cl.map("floa z = x", {x = x}) end,
    "floa is no element type; did you mean float?: floa z = x")
  t.raises(function() cl.map("private int k = 1;\nz = x ** k", {x = x}) end,
    'z is none of the values; give it a type for a new Buffer, "float z')
  t.raises(function() cl.map("float z = x", {x = {1, 2}}) end, "got a table",
    'for a list: cl.buffer("float", 2, list)')
  t.raises(function() cl.map("float z = x", {x = x, y = 1}) end,
    "does not use y")
  t.raises(function() cl.map("float z = x", {x = {}}) end,
    "x must be a Buffer", "got a table")
  t.raises(function() cl.map("float z = i", {i = 1}) end, '"i" cannot be')
  t.raises(function() cl.map("float a = 1", {a = 1}, {shape = 1}) end,
    "a is a number")
  t.raises(function() cl.map("int x = 1", {x = x}) end,
    "x is declared int, but is a Buffer of float")
  t.raises(function() cl.map("y = x + 1", {x = x:view(1, 256), y = x}) end,
    "y is written and has memory of x", "b:clone()")
  t.raises(function() cl.map("float z = x", {x = x}, {shap = 1}) end, "shape")
  t.raises(function() cl.map("float z = h.x", {h = cl.buffer("half4", 1)})
    end, 'b:as "half"')
  local closed = cl.buffer("float", 1)
  closed:close()
  t.raises(function() cl.map("x = 1", {x = closed}) end, "closed")
end)

t.done()

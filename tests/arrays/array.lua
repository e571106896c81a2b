-- array.lua - operators and methods of Buffers, against C and Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local double = cl.device():has "cl_khr_fp64"
local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float", double and "double" or nil}
local REAL = {half = true, float = true, double = true}
local WIDE = {long = true, ulong = true}

local list = t.list

-- Whether elements of the types may meet, without losing digits.
local function may_meet(a, b)
  return not (WIDE[a] and REAL[b] or WIDE[b] and REAL[a])
end

t.test("the types of results are those of the device's compiler", function()
  local lines, pairs_of = {}, {}
  for _, a in ipairs(TYPES) do
    for _, b in ipairs(TYPES) do
      if a ~= "half" and b ~= "half" and may_meet(a, b) then
        pairs_of[#pairs_of + 1] = {a, b}
        local sum = ("((%s)1 + (%s)0)"):format(a, b)
        lines[#lines + 1] = ("*r++ = sizeof%s; *r++ = %s / 2 != 0; "
          .. "*r++ = %s - 2 < 0;"):format(sum, sum, sum)
      end
    end
  end
  local r <close> = cl.buffer("int", 3 * #pairs_of)
  cl.kernel(("%skernel void f(global int *r) {\n%s\n}"):format(double
    and "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" or "",
    table.concat(lines, "\n"))):range(1)(r)
  local got = list(r)
  for k, pair in ipairs(pairs_of) do
    local a <close> = cl.buffer(pair[1], 1)
    local b <close> = cl.buffer(pair[2], 1)
    local type = (a + b).type
    t.eq({cl.typesize(type), REAL[type] and 1 or 0,
      (REAL[type] or type:find "^[^u]") and 1 or 0},
      {got[3 * k - 2], got[3 * k - 1], got[3 * k]},
      pair[1] .. " + " .. pair[2])
  end
end)

-- A number as an integer type holds it.
local BITS = {int = 32, uint = 32, long = 64, ulong = 64}

local function wrap(x, type)
  local bits = BITS[type]
  if REAL[type] or bits == 64 then
    return x
  end
  x = x & (1 << bits) - 1
  return type == "int" and x >= 1 << 31 and x - (1 << 32) or x
end

local function flag(x)
  return x and 1 or 0
end

-- By operation: what calculates it on Buffers, and on Lua's numbers.
local OPERATIONS = {
  {"+", function(x, y) return x + y end},
  {"-", function(x, y) return x - y end},
  {"*", function(x, y) return x * y end},
  {"//", function(x, y) return x // y end,
    function(x, y) return y == 0 and math.type(y) == "integer" and 0
      or x // y end},
  {"%", function(x, y) return x % y end,
    function(x, y) return y == 0 and math.type(y) == "integer" and 0
      or x % y end},
  {"/", function(x, y) return x / y end},
  {"^", function(x, y) return x ^ y end},
  {"&", function(x, y) return x & y end, bits = true},
  {"|", function(x, y) return x | y end, bits = true},
  {"~", function(x, y) return x ~ y end, bits = true},
  {"lt", function(x, y) return x:lt(y) end, function(x, y)
    return flag(x < y) end},
  {"le", function(x, y) return x:le(y) end, function(x, y)
    return flag(x <= y) end},
  {"gt", function(x, y) return x:gt(y) end, function(x, y)
    return flag(x > y) end},
  {"ge", function(x, y) return x:ge(y) end, function(x, y)
    return flag(x >= y) end},
  {"eq", function(x, y) return x:eq(y) end, function(x, y)
    return flag(x == y) end},
  {"ne", function(x, y) return x:ne(y) end, function(x, y)
    return flag(x ~= y) end},
  {"fmin", function(x, y) return x:fmin(y) end, math.min},
  {"fmax", function(x, y) return x:fmax(y) end, math.max},
}

-- Random small numbers of a type, so that no sum or product overflows.
local function random(type, signed, n)
  local values = {}
  for i = 1, n do
    local x = math.random(signed and type:find "^[^u]" and -5 or 0, 5)
    values[i] = REAL[type] and x + math.random(0, 1) / 2 or x
  end
  return values
end

local N = 40

local function try(operation, a, b)
  local name, f, truth = operation[1], operation[2],
    operation[3] or operation[2]
  local what = ("%s %s %s, seed %d"):format(a, name, b, t.seed)
  local zero_a <close> = cl.buffer(a, 1)
  local zero_b <close> = cl.buffer(b, 1)
  local common = (zero_a + zero_b).type
  local signed = not common:find "^u"
  local u, v = random(a, signed, N), random(b, signed, N)
  if name == "/" or name == "^" then
    for i = 1, N do -- no power of a negative number, no division by 0
      u[i], v[i] = math.abs(u[i]) + 1, math.abs(v[i]) + 1
    end
  end
  local x <close> = cl.buffer(a, N, u)
  local y <close> = cl.buffer(b, N, v)
  local e = f(x, y)
  local got = list(e)
  for i = 1, N do
    local p, q = u[i], v[i]
    if REAL[common] then
      p, q = p + 0.0, q + 0.0
    end
    local want = truth(p, q)
    if math.type(want) == "integer" then
      want = wrap(want, e.type)
    end
    if want == want and math.abs(want) < 60000 then
      t.near(got[i], want, e.type == "half" and 1e-3 or 1e-5, ("%s: %s, %s")
        :format(what, p, q))
    elseif want ~= want then
      t.ok(got[i] ~= got[i], what)
    end
  end
end

-- Each operation on a random pair of types.
for _, operation in ipairs(OPERATIONS) do
  t.test("values of " .. operation[1], function()
    local tried = false
    while not tried do
      local a, b = TYPES[math.random(#TYPES)], TYPES[math.random(#TYPES)]
      local real = REAL[a] or REAL[b]
      local wide = WIDE[a] or WIDE[b]
      local makes_real = operation[1] == "/" or operation[1] == "^"
      if may_meet(a, b) and not (operation.bits and real)
          and not (makes_real and wide) then
        tried = true
        try(operation, a, b)
      end
    end
  end)
end

t.test("unary operators, shifts of bits, powers", function()
  local x <close> = cl.buffer("int", 4, {-3, 0, 5, 7})
  t.eq(list(-x), {3, 0, -5, -7})
  t.eq(list(~x), {2, -1, -6, -8})
  t.eq(list(x << 2), {-12, 0, 20, 28})
  t.eq(list(x >> 1), {-2, 0, 2, 3})
  t.eq(list(x ^ 2), {9.0, 0.0, 25.0, 49.0})
  t.eq((x ^ 2).type, "float")
  for i, y in ipairs(list(x ^ 3)) do -- OpenCL's pow is exact to 16 ulp
    t.near(y, ({-27, 0, 125, 343})[i])
  end
  t.eq(list(x:abs()), {3, 0, 5, 7})
  t.eq(list(x:clamp(-1, 6)), {-1, 0, 5, 6})
  t.eq(list(x:lt(1):where(10, x)), {10, 10, 5, 7})
  t.eq(list(x:gt(0):where(1, 0.5)), {0.5, 0.5, 1.0, 1.0})
  t.eq(list(x:astype "int" + 1), {-2, 1, 6, 8}, "to its own type")
  t.eq(list(x:astype "int"), {-3, 0, 5, 7})
  local small <close> = cl.buffer("uchar", 2, {200, 255})
  t.eq(list(small + 1), {201, 256}, "as int")
  t.eq(list(small + small), {400, 510})
  small:set(small + 1)
  t.eq(list(small), {201, 0}, "stored as C does")
end)

t.test("a division of whole numbers never ends the process", function()
  local least <close> = cl.buffer("int", 2, {math.mininteger >> 32 | -1 << 31,
    7})
  local by <close> = cl.buffer("int", 2, {-1, 0})
  t.eq(list(least // by), {-(1 << 31), 0})
  t.eq(list(least % by), {0, 0})
  local long <close> = cl.buffer("long", 1, math.mininteger)
  t.eq(list(long // -1), {math.mininteger})
end)

t.test("integers wrap, in every shape and in every kind of kernel", function()
  local int, long = (1 << 31) - 1, math.mininteger
  -- Elements of a type under several shapes, and views of them.
  local function shapes(type, value)
    local x = cl.buffer(type, 64, value)
    local A = cl.buffer(type, {4, 64}, value)
    return {x, x:reshape{4, 16}, x:slice(-1, 1, -1), A, A:slice({}, 3),
      A:transpose(), cl.buffer(type, {4, 1}, value)}
  end
  for _, case in ipairs{
    {"int", int, function(x) return (x + 1):gt(x) end, 0},
    {"int", int, function(x) return x + 1 end, -int - 1},
    {"int", -int - 1, function(x) return x - 1 end, int},
    {"int", -int - 1, function(x) return (-x):lt(0) end, 1},
    {"int", -int - 1, function(x) return x:abs() // 2 end, -(1 << 30)},
    {"int", -int - 1, function(x) return x // -1 end, -int - 1},
    {"int", 65536, function(x)
      return cl.buffer("ulong", 1, 0) - x * (x + 1)
    end, -65536},
    {"int", int, function(x) return (x << 1):lt(0) end, 1},
    {"int", int, function(x) return x << 33 end, -2},
    {"ushort", 65535, function(x) return x * x // 20080 end, -7},
    {"short", -32768, function(x) return x * x * x end, 0},
    {"char", -128, function(x) return x:abs() * x * x * x * x end, 0},
    {"uint", 0, function(x) return (x - 1) // 2 end, int},
    {"uint", 1, function(x) return (-x):gt(x) end, 1},
    {"long", long, function(x) return x:abs() % 31 end, 23},
    {"long", long, function(x) return (x - 1):gt(x) end, 1},
    {"ulong", -1, function(x) return (x * x + x):eq(0) end, 1},
  } do
    local type, value, f, right = table.unpack(case)
    for k, x in ipairs(shapes(type, value)) do
      local h = f(x):read()
      h = h:reshape(#h)
      t.eq({k, h[1], h[#h]}, {k, right, right})
    end
  end
  local A = cl.buffer("int", {4, 64}, int)
  t.eq((A + cl.buffer("ushort", {1, 64}, 1)):sum(1):read()[64],
    4 * (-int - 1))
  t.eq(cl.buffer("long", 2, math.maxinteger):sum(), -2)
end)

t.test("a power beyond the whole numbers of float keeps its sign", function()
  local x = cl.buffer("float", 2, {-1, 1 + 2.0^-23})
  for _, k in ipairs{16777217, -16777217, 100000001, (1 << 31) + 1,
      (1 << 40) + 1, math.maxinteger, 16777217.0} do
    t.near((x ^ k):read()[1], -1, 1e-6, k)
  end
  t.near((x ^ 16777217):read()[2], (1 + 2.0^-23)^16777217, 1e-5)
  t.near((x ^ 16777218):read()[1], 1)
  t.near((x ^ (1 << 40)):read()[1], 1)
  for _, type in ipairs{"int", "uint"} do
    t.eq((x ^ cl.buffer(type, 2, 16777217)):read()[1], -1.0)
  end
end)

t.test("64 bits keep their digits, or it is an error", function()
  local u <close> = cl.buffer("ulong", 1, (1 << 53) + 1)
  t.eq(list(u + 1), {(1 << 53) + 2})
  t.eq(list(u * 3), {((1 << 53) + 1) * 3})
  for _, f in ipairs{function() return u * 0.5 end,
      function() return u / 2 end, function() return u:sqrt() end,
      function() return u + cl.buffer("float", 1) end} do
    t.raises(f, "ulong", 'x:astype "double"')
  end
  local y <close> = cl.buffer("int", 1)
  t.raises(function() y:set(u) end, 'e:astype "int"')
  y:set(u:astype "int")
  t.eq(list(y), {1})
  local x <close> = cl.buffer("float", 1, 2.75)
  t.raises(function() y:set(x) end,
    "set: float elements into a Buffer of int would lose digits")
  y:set(x:astype "int")
  t.eq(list(y), {2})
  for _, z in ipairs{y, cl.array("int", 1), (cl.array("int", 2):slice(1, 1))}
  do -- numbers
    t.raises(function() z:set(2.75) end,
      "set: elements of int take whole numbers; got 2.75")
    t.raises(function() z:set(1e10) end, "set: 10000000000 does not fit int")
    z:set(3.0)
    t.eq(z:sum(), 3)
  end
end)

t.test("a number takes the highest type that it meets", function()
  local i <close> = cl.buffer("int", 3, {-1, 0, 4})
  local u <close> = cl.buffer("ulong", 3, {1, 2, 3})
  t.eq(list(u:gt(1):where(1 << 40, u)), {1, 1 << 40, 1 << 40})
  t.raises(function() return u:gt(1):where(0.5, u) end, "ulong and float")
  local small <close> = cl.buffer("uchar", 3, {1, 2, 3})
  t.eq(list(small:clamp(-2, i)), {-1, 0, 3})
  t.skip_if(not double, "no doubles")
  local d <close> = cl.buffer("double", 3, {1, -1, 2})
  t.eq(list(d:gt(0):where(0.1, d)), {0.1, -1.0, 0.1})
  t.eq(list(d:gt(0):where(d, 0.1)), {1.0, 0.1, 2.0})
  t.eq(list(i:clamp(0.1, d)), {0.1, -1.0, 2.0})
  t.eq(list(i:fma(0.1, d)), {0.9, -1.0, 2.4})
end)

t.test("astype cuts and saturates reals, and wraps integers", function()
  local x <close> = cl.buffer("float", 5, {-1.9, 300, 0 / 0, 1e30, 3.5})
  t.eq(list(x:astype "uchar"), {0, 255, 0, 255, 3})
  t.eq(list(x:astype "int"), {-1, 300, 0, (1 << 31) - 1, 3})
  local i <close> = cl.buffer("int", 2, {-1, 257})
  t.eq(list(i:astype "uchar"), {255, 1})
  t.raises(function() return x:astype "flot" end, "astype", '"flot"')
  t.raises(function() return x:astype "float4" end, "no scalar type")
  t.raises(function() return x:astype "uint8" end, 'did you mean "uchar"?')
end)

t.test("NaN and infinities become 0 and the ends of all integers", function()
  for _, from in ipairs{"half", "float", double and "double" or nil} do
    local x <close> = cl.buffer(from, {4, 2}, {{0 / 0, -1 / 0}, {1 / 0, -1.5},
      {0 / 0, 2.5}, {-0.0, 7}})
    for bytes, name in pairs{"char", "short", [4] = "int", [8] = "long"} do
      local top = 1 << 8 * bytes - 1 -- 2^63 is negative
      t.eq(list(x:transpose():astype(name)),
        {0, top - 1, 0, 0, bytes < 8 and -top or top, -1, 2, 7}, from .. name)
      t.eq(list(x:astype("u" .. name)),
        {0, 0, bytes < 8 and 2 * top - 1 or -1, 0, 0, 2, 0, 7}, from .. name)
    end
  end
end)

t.test("half calculates as float, and is rounded once", function()
  local h <close> = cl.buffer("half", 2, {2048, 3})
  t.eq((h + h).type, "half")
  t.eq(list(h + 1 - h), {1.0, 1.0}, "2049 is no half")
  t.eq(list(h:sqrt()), {45.25, 1.732421875})
  local x <close> = cl.buffer("float", 2, {2049, 1e6})
  t.eq(list(x:astype "half":astype "float"), {2048.0, math.huge}, "asked for")
  t.eq(list(x:astype "half" - x), {-1.0, math.huge})
  if double then
    local d <close> = cl.buffer("double", 1, 2049 + 2^-30)
    t.eq(list(d:astype "half"), {2050.0}, "rounded once")
    local y <close> = cl.buffer("half", 1)
    y:set(d)
    t.eq(list(y), {2050.0}, "rounded once")
  end
end)

-- The reference: operations that are exact in doubles, rounded once.
t.test("one operation has the bits of half arithmetic", function()
  local n = 2000
  local function halves() -- finite ones, and subnormals among them
    local b = cl.buffer("ushort", n, function()
      return math.random(0, 0x7bff) | math.random(0, 1) << 15
    end)
    return b:as "half"
  end
  local x, y = halves(), halves()
  local hx, hy = x:read(), y:read()
  local function exact(f)
    return cl.array("half", n, function(i) return f(hx[i], hy[i]) end)
  end
  for name, f in pairs{
      add = function(a, b) return a + b end,
      sub = function(a, b) return a - b end,
      mul = function(a, b) return a * b end} do
    local want = exact(f)
    local got = f(x, y):read()
    for i = 1, n do
      if got[i] ~= want[i] then
        t.eq(got[i], want[i], ("%s %a %a, seed %d"):format(name, hx[i], hy[i],
          t.seed))
      end
    end
  end
end)

t.test("an operation is the same when its types were met before", function()
  local function outcome(f, x, y)
    local fine, e = pcall(f, x, y)
    return fine and e.type .. " " .. table.concat(e.shape, "x") or e.message
  end
  local operations = {
    function(x, y) return x + y end, function(x, y) return y / x end,
    function(x, y) return x:lt(y) end, function(x, y) return x:fmax(y) end,
    function(x, y) return x:atan2(y) end, function(x) return -x end,
    function(x) return x:sqrt() end, function(x) return x:sqrt(1) end,
    function(x) return x:fmin() end, function(x, y) return x:fmax(y, 1) end}
  for k, f in ipairs(operations) do
    for _, type in ipairs(TYPES) do
      local x <close> = cl.buffer(type, 4, 3)
      local row <close> = cl.buffer(type, {2, 1}, 1)
      local f2 <close> = cl.buffer("float2", 4, 3)
      for _, y in ipairs{2, 2.5, 1 << 40, x, row, f2, "y", x + x} do
        local first = outcome(f, x, y)
        t.eq(outcome(f, x, x), outcome(f, x, x), k)
        t.eq(outcome(f, x, y), first, k .. type)
      end
    end
  end
  local x <close> = cl.buffer("float", 2, {4, 9})
  for _ = 1, 2 do
    t.eq({list(2 - x), list(x - 2), list(x:sqrt()), list(x:lt(5)), list(-x)},
      {{-2, -7}, {2, 7}, {2, 3}, {1, 0}, {-4, -9}})
  end
end)

t.test("NaN", function()
  local x <close> = cl.buffer("float", 3, {0 / 0, 1, -1})
  t.eq(list(x:fmin(0)), {0.0, 0.0, -1.0})
  t.eq(list(x:fmax(0)), {0.0, 1.0, 0.0})
  t.eq(list(x:clamp(-0.5, 0.5)), {-0.5, 0.5, -0.5})
  t.eq(list(x:eq(x)), {0, 1, 1})
  t.eq(list(x:isnan()), {1, 0, 0})
  t.eq(list(x:where(1, 0)), {1, 1, 1}, "NaN is not 0")
end)

t.test("OpenCL's functions of one, two and three operands", function()
  local x <close> = cl.buffer("float", 3, {0.25, 0.5, 1})
  for name, f in pairs{exp = math.exp, sin = math.sin, sqrt = math.sqrt,
      log = math.log, floor = math.floor} do
    for i, value in ipairs(list(x[name](x))) do
      t.near(value, f(({0.25, 0.5, 1})[i]), 1e-5, name)
    end
  end
  t.eq(list(x:hypot(0)), {0.25, 0.5, 1.0})
  t.eq(list(x:fmin(0.5)), {0.25, 0.5, 0.5})
  t.eq(list(x:fma(2, 1)), {1.5, 2.0, 3.0})
  t.raises(function() return x:fma(2) end, "fma takes 2 operands besides x",
    "x:fma(y, z)")
  t.raises(function() return x:exp(1) end, "takes 0 operands")
end)

t.test("OpenCL's functions of integers keep their type", function()
  local x <close> = cl.buffer("uchar", 3, {1, 200, 255})
  t.eq({x:add_sat(100).type, list(x:add_sat(100))}, {"uchar",
    {101, 255, 255}})
  t.eq(list(x:popcount()), {1, 3, 8})
  t.eq(list(x:clz()), {7, 0, 0})
  t.eq(list(x:rotate(1)), {2, 145, 255})
  local y <close> = cl.buffer("ulong", 1, -1)
  t.eq(list(y:mul_hi(y)), {-2})
  t.eq(list(y:hadd(y)), {-1})
  t.raises(function() return x:add_sat(0.5) end, "takes integers; got float")
  t.raises(function() return x:popcount(1) end, "takes 0 operands")
end)

t.test("shapes broadcast, with gaps, views and up to four dimensions",
  function()
    local function at(b, i)
      return list(b)[i]
    end
    local A <close> = cl.buffer("int", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
    local row <close> = cl.buffer("int", 3, {10, 20, 30})
    local col <close> = cl.buffer("int", {2, 1}, {{100}, {200}})
    t.eq(list(A + row), {11, 22, 33, 14, 25, 36})
    t.eq(list(A + col), {101, 102, 103, 204, 205, 206})
    t.eq(list(row + col), {110, 120, 130, 210, 220, 230})
    t.eq((row + col).shape, {2, 3})
    local wide <close> = cl.buffer("int", {2, 3}, 0, {ld = 7})
    wide:set(A * 2)
    t.eq(list(wide), {2, 4, 6, 8, 10, 12})
    t.eq(list(wide + A), {3, 6, 9, 12, 15, 18})
    local sub = A:matrix(2, 2, 2, 3) -- begins between alignments
    t.eq(list(sub * 10), {20, 30, 50, 60})
    sub:set(sub + 100)
    t.eq(list(A), {1, 102, 103, 4, 105, 106})
    local dims = {2, 3, 2, 4}
    local function number(...)
      local n = 0
      for d, i in ipairs{...} do
        n = n * 10 + (dims[d] > 0 and i or 0)
      end
      return n
    end
    local x <close> = cl.buffer("int", dims, number)
    local y <close> = cl.buffer("int", {3, 1, 4}, function(j, _, l)
      return 10000 * j + 100000 * l
    end)
    local got = list(x + y)
    local k = 0
    for i = 1, 2 do
      for j = 1, 3 do
        for m = 1, 2 do
          for l = 1, 4 do
            k = k + 1
            t.eq(got[k], number(i, j, m, l) + 10000 * j + 100000 * l)
          end
        end
      end
    end
    t.eq(at(x, 1), 1111)
    t.raises(function() return A + cl.buffer("int", 2) end, "2x3", " 2 ",
      "do not broadcast", "shape 2 fits as y:reshape{2, 1}")
    t.raises(function()
      return cl.buffer("int", {2, 4}) - cl.buffer("int", {2, 3, 4})
    end, "shape 2x4 fits as y:reshape{2, 1, 4}")
    local err = t.raises(function() return row + cl.buffer("int", 2) end,
      "do not broadcast")
    t.ok(not tostring(err):find("fits", 1, true))
    t.raises(function() return row + {1, 2, 3} end,
      'for a list: cl.buffer("int", 3, list)')
    t.raises(function() return row + {0.5} end, 'cl.buffer("float", 1, list)')
    local vast = cl.buffer("char", {65536, 1, 1, 1})
      + cl.buffer("char", {65536, 1, 1}) + cl.buffer("char", {65536, 1})
    t.eq(#vast, 1 << 48)
    t.raises(function() return vast + cl.buffer("char", 65536) end,
      "2^63 elements or more")
    t.raises(function() row:set(A) end, "2x3", "the target has shape 3")
    local tall <close> = cl.buffer("uchar", {100000, 2}, 1)
    local pair <close> = cl.buffer("uchar", 2, {1, 2})
    tall:set(tall + pair)
    local rows <close> = tall:read()
    t.eq({rows:at(1, 1), rows:at(100000, 2)}, {2, 3}, "rows in steps")
  end)

t.test("a target that is read elsewhere is right", function()
  local x <close> = cl.buffer("int", 5, {1, 2, 3, 4, 5})
  x:set(x:shift(1))
  t.eq(list(x), {5, 1, 2, 3, 4})
  x:set(x:shift(-1) + x)
  t.eq(list(x), {6, 3, 5, 7, 9})
  t.eq(list((x + 1):shift(2)), {8, 10, 7, 4, 6})
  t.eq(list(x:shift(5)), list(x))
  local A <close> = cl.buffer("int", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  t.eq(list(A:shift(1, 1)), {6, 4, 5, 3, 1, 2})
  A:matrix(1, 2, 2, 3):set(A:matrix(2, 2, 2, 3)) -- they overlap
  t.eq(list(A), {2, 3, 3, 5, 6, 6})
  t.raises(function() return A:shift(1) end, "2 distances", "got 1")
  t.raises(function() return x:shift(0.5) end, "a distance must be an integer")
  t.raises(function() return x:shift(nil) end,
    "a distance must be an integer; got nothing")
  t.raises(function() return x:shift "1" end, 'an integer; got "1"')
end)

local function events()
  collectgarbage()
  collectgarbage()
  return cl.live().Event or 0
end

t.test("an expression is one launch, and its kernel is kept", function()
  local n = 1000
  local x <close> = cl.buffer("float", n, 1)
  local y <close> = cl.buffer("float", n)
  y:set((2 * x + x):sqrt() * 3 - x)
  local before, programs = events(), cl.live().Program
  collectgarbage "stop"
  local _ = y:set((5 * x + x):sqrt() * 4 - x) -- other constants, same form
  local after, kept = cl.live().Event, cl.live().Program
  collectgarbage "restart"
  t.eq({after - before, kept}, {1, programs})
  t.near(y:read()[n], 4 * math.sqrt(6) - 1, 1e-6)
  local small <close> = cl.buffer("float", 7, 1)
  t.near(((9 * small + small):sqrt() * 1 - small):read()[7],
    math.sqrt(10) - 1, 1e-6)
  t.eq(cl.live().Program, programs, "of another size")
  y:set((5 * x + y):sqrt() * 4 - x)
  t.eq(cl.live().Program, programs + 1, "an operand twice is another form")
end)

t.test("an expression that is interrupted anywhere spoils no later one",
  function()
    local list_of = {}
    for _, n in ipairs{5000, 7} do
      list_of[#list_of + 1] = {x = cl.buffer("float", n, 1),
        y = cl.buffer("float", n)}
    end
    local function stop()
      debug.sethook()
      error "stop"
    end
    local steps, ended = 0, false
    while not ended do
      steps = steps + 1
      local a, b = list_of[steps % 2 + 1], list_of[2 - steps % 2]
      b.y:set(2 * b.x + 1)
      ended = pcall(function()
        debug.sethook(stop, "", steps)
        a.y:set(2 * a.x + 1)
        debug.sethook()
      end)
      b.y:fill(0)
      b.y:set(2 * b.x + 1)
      local h <close> = b.y:read()
      t.eq(h:summary().min, 3.0, ("after %d steps"):format(steps))
    end
    t.ok(steps > 100, steps)
  end)

t.test("an expression reads its Buffers when it is needed", function()
  local x <close> = cl.buffer("float", 3, 1)
  local e = x + 1
  x:fill(5)
  t.eq(list(e), {6.0, 6.0, 6.0})
  t.eq({tostring(e), #e, e.type, e.rows}, {"Expression float[3]", 3, "float"})
  t.raises(function() return e[1] end, "e:read()[1]")
  t.raises(function() return e.tipe end, "no field or method 'tipe'")
  t.raises(function() e.type = "int" end, "no field 'type' to set")
  local p = e:read(cl.array("float", 3))
  t.eq(p[3], 6.0)
end)

t.test("a launch takes an expression, on any queue", function()
  local x <close> = cl.buffer("int", 4, 1)
  local y <close> = cl.buffer("int", 4)
  local l = cl.kernel([[kernel void f(global const int *x, global int *y) {
    y[get_global_id(0)] = x[get_global_id(0)]; }]]):range(4)
  l(x + 1, y)
  t.eq(list(y), {2, 2, 2, 2})
  local q <close> = cl.queue()
  l:on(q)(2 * x + 5, y):wait()
  t.eq(list(y), {7, 7, 7, 7})
  t.raises(function() l(0.5 * x, y) end, "must hold int", "got a Buffer of")
end)

t.test("a family takes expressions, and their elements of each call",
  function()
    local A <close> = cl.buffer("float", {2, 2}, {{1, 2}, {3, 4}})
    local e, unit = A + A, matrix.identity(2)
    t.eq(list((gemm(e, unit))), {2.0, 4.0, 6.0, 8.0})
    A:fill(5)
    t.eq(list((gemm(e, unit))), {10.0, 10.0, 10.0, 10.0})
    t.eq(list((transpose(2 * cl.arange(1, 4, {type = "float"})
      :reshape{2, 2}))), {2.0, 6.0, 4.0, 8.0})
  end)

t.test("kernels are kept no longer than their context", function()
  local seen = setmetatable({}, {__mode = "k"})
  do
    local context = cl.context()
    seen[context] = true
    t.eq(list(cl.arange(1, 3) + 1), {2, 3, 4})
    context:close()
  end
  t.eq(list(cl.arange(1, 3) + 1), {2, 3, 4}, "in another context")
  collectgarbage()
  collectgarbage()
  t.eq(next(seen), nil)
end)

t.test("operands that cannot be", function()
  local x <close> = cl.buffer("uchar", 3, 1)
  t.raises(function() return x + 300 end,
    "x + y: 300 does not fit uchar (0..255)")
  t.raises(function() return x - -1 end, "-1 does not fit uchar")
  t.raises(function() return x + {} end, "got a table")
  t.raises(function() return x + {1} end, 'cl.buffer("int", 1, list)')
  t.raises(function() return (x + 1):transpos() end,
    "did you mean 'transpose'?")
  t.raises(function() return x + nil end, "x + y", "got nothing")
  t.raises(function() return nil // x end, "x // y", "got nothing")
  t.raises(function() return x .. x end, "concatenate")
  t.raises(function() return x:fmax() end, "fmax takes 1 operand besides x")
  t.raises(function() return x & 1.5 end, "takes integers; got float")
  t.raises(function() return x < x end, "x:lt(y)")
  t.raises(function() return (x + 1) <= x end, "x:le(y)")
  t.raises(function() return cl.buffer("float4", 2) + 1 end,
    'b:as "float"')
  t.eq(list(cl.buffer("float4", 1, 2):as "float" * 2), {4.0, 4.0, 4.0, 4.0})
  t.raises(function() x:set("x") end, 'got "x"')
  t.raises(function() x:set(2, 5) end, "set takes 1 operand besides x",
    "x:slice(i, j):set(y)")
  t.eq(list(x), {1, 1, 1}, "one element for another is not all")
  t.raises(function() x.set(nil, 1) end, "Buffer:set: self")
  local e = x + 1
  x:close()
  t.raises(function() e:read() end,
    "the Buffer uchar[3] of the expression is closed")
  t.raises(function() list(x + 1) end, "the Buffer uchar[3] of the expr")
  t.raises(function() x:set(e) end, "the Buffer uchar[3] of the expression")
  t.raises(function() x:shift(1):read() end, "the Buffer uchar[3] of the")
  local unseen = cl.buffer("float", 1)
  unseen:close()
  t.raises(function() return unseen + 1 end,
    "the Buffer of an expression is closed")
  local long = cl.buffer("float", 1, 1)
  t.raises(function()
    for _ = 1, 1000 do
      long = long + 1
    end
    return long:eval()
  end, "e:eval()")
  t.eq(cl.buffer("float", 1, 1):read()[1], 1.0, "the session goes on")
end)

t.test("sequences", function()
  t.eq(list(cl.arange(1, 5)), {1, 2, 3, 4, 5})
  t.eq(list(cl.arange(10, 1, -3)), {10, 7, 4, 1})
  t.eq(list(cl.arange(0, 1, 0.25)), {0.0, 0.25, 0.5, 0.75, 1.0})
  t.eq(cl.arange(250, 255, {type = "uchar"}).type, "uchar")
  t.eq(list(cl.arange((1 << 53) + 1, (1 << 53) + 2, {type = "ulong"})),
    {(1 << 53) + 1, (1 << 53) + 2})
  t.raises(function() cl.arange(250, 256, {type = "uchar"}) end,
    "256 does not fit uchar")
  t.raises(function() cl.arange(0, 1 << 40) end, "does not fit int",
    '{type = "long"}')
  t.raises(function() cl.arange(0, 1, 0.25, {type = "int"}) end,
    "the type int takes integers")
  t.raises(function() cl.arange(0, math.maxinteger) end, "2^53 numbers")
  t.raises(function() cl.arange(0, 1e300) end, "2^53 numbers")
  t.eq({#cl.arange(1, 0), #cl.arange(0, 3, -1), #cl.linspace(0, 1, 0)},
    {0, 0, 0})
  t.raises(function() cl.arange(1, 2, 0) end, "no sequence")
  t.raises(function() cl.arange(1) end, "last must be a number")
  t.eq(list(cl.linspace(0, 1, 3)), {0.0, 0.5, 1.0})
  t.eq(cl.linspace(0, 0.3, 7):read()[7], cl.array("float", 1, 0.3)[1])
  t.eq(list(cl.linspace(5, 9, 1)), {9.0})
  t.eq(list(cl.linspace(0, 1 << 40, 2)), {0.0, 2.0^40})
  t.raises(function() cl.linspace(0, 1, -1) end, "n must be an integer >= 0")
  t.raises(function() cl.linspace(0, 1, 3, {type = "int"}) end,
    "type must be half, float or double; got int")
  t.raises(function() cl.linspace(0, 1 / 0, 3) end, "is no sequence")
  t.raises(function() cl.linspace(-3e38, 3e38, 3) end, "6e+38 does not fit")
  t.raises(function() cl.arange(0, 70000, 35000, {type = "half"}) end,
    "70000 does not fit half")
  local half = {type = "half"}
  local many = cl.linspace(0, 1, 100001, half) -- beyond half's range
  t.eq({many:max(), many:read{first = 50001, count = 1}[1]}, {1.0, 0.5})
  many = cl.arange(0, 1, 2.0^-17, half)
  t.eq({#many, many:max(), many:argmax() > 1 << 16}, {(1 << 17) + 1, 1.0,
    true})
  if double then
    t.eq(list(cl.linspace(0, 0.3, 2, {type = "double"})), {0.0, 0.3})
  end
end)

t.test("clone, axpy and concatenate", function()
  local x <close> = cl.buffer("float", {2, 2}, {{1, 2}, {3, 4}}, {ld = 5})
  local y <close> = x:clone()
  t.eq({list(y), y.ld}, {{1.0, 2.0, 3.0, 4.0}, 2})
  y:axpy(2, x)
  t.raises(function() y:axpy(2, 3) end, "axpy: an operand must be a Buffer")
  t.raises(function() y:axpy(2) end, "axpy: ", "got nothing")
  t.eq(list(y), {3.0, 6.0, 9.0, 12.0})
  t.eq(list(cl.concatenate{x, y}), {1.0, 2.0, 3.0, 4.0, 3.0, 6.0, 9.0, 12.0})
  t.eq(list(cl.concatenate({x, y}, 2)),
    {1.0, 2.0, 3.0, 6.0, 3.0, 4.0, 9.0, 12.0})
  t.raises(function() cl.concatenate{} end, "the list is empty")
  t.raises(function() cl.concatenate{x, cl.arange(1, 2)} end,
    "element 2 is int 2, the first float 2x2")
end)

t.test("several elements of a work-item, as on GPUs", function()
  local fused = require "clshell.arrays.fused"
  local device = cl.device()
  local ctx <close> = cl.context(device)
  local _ <close> = t.swap(fused.each, device.type,
    fused.each[device.type] == 4 and 3 or 4)
  for _, n in ipairs{1, 2, 255, 256, 257, 1023, 1025, 5000} do
    local x = cl.buffer("float", n, nil, {context = ctx})
    local y = cl.buffer("float", n, 2, {context = ctx})
    local h = cl.buffer("half", n, nil, {context = ctx})
    cl.map("float x = i + 1", {x = x})
    y:set(2 * x + y)
    h:set(x)
    h:set(h % 7 + 1)
    local odd = (x:slice(1, n, 2) * 2):read()
    local all, halves = y:read(), h:read()
    for i = 1, n do
      t.eq(all[i], 2.0 * i + 2)
    end
    for i = 1, math.min(n, 2048) do -- halves are exact so far
      t.eq(halves[i], i % 7 + 1.0)
    end
    for i = 1, #odd do
      t.eq(odd[i], 4.0 * i - 2)
    end
  end
end)

t.test("results past the caches of a CPU are the same", function()
  local fused = require "clshell.arrays.fused"
  if cl.device().type ~= "cpu" then
    return t.skip "other devices write past no cache"
  end
  local n = 3 * fused.STREAM + 17
  local types = {} -- one of each size, drawn: four builds for each
  for i, of_size in ipairs{{"char", "uchar"}, {"short", "ushort", "half"},
      {"int", "uint", "float"},
      {"long", "ulong", double and "double" or "long"}} do
    types[i] = of_size[math.random(#of_size)]
  end
  local function results(least)
    local ctx <close> = cl.context(cl.device())
    local _ <close> = t.swap(fused, "STREAMED", least)
    local lists = {}
    local function keep(e)
      local h <close> = e:read()
      lists[#lists + 1] = h:table()
    end
    for _, type in ipairs(types) do
      local x = cl.random(n, {type = type == "half" and "float" or type,
        seed = 7, context = ctx}):astype(type):eval()
      keep((x % 100 + 1):eval())
      keep((x:gt(0)):eval())
    end
    local x = cl.random(n, {type = "float", seed = 8, context = ctx})
    local y, z = cl.buffer("float", n, 0, {context = ctx}),
      cl.buffer("uchar", n, 0, {context = ctx})
    cl.map("float y = x * x; uchar z = x > 0.5f", {x = x, y = y, z = z})
    keep(y)
    keep(z)
    y:slice(2, n):set(3 * x:slice(1, n - 1)) -- begins beside a line
    keep(y)
    y:set(y + x)
    y:set(x:shift(1))
    keep(y)
    return lists
  end
  local plain, passed = results(math.huge), results(1)
  for k, expected in ipairs(plain) do
    t.eq(passed[k], expected, ("result %d, seed %d"):format(k, t.seed))
  end
end)

t.done()

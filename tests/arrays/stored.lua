-- arrays/stored.lua - bfloat16 and float8: every code, rounding against plain
-- arithmetic, the same on host and device, and calculations that are refused
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local host = require "cl.host"

t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

-- e and f: bits of exponent and fraction; finite: the largest exponent has
-- numbers, and no infinity.
local types = {
  {name = "bfloat16", bits = "ushort", e = 8, f = 7},
  {name = "float8_e4m3", bits = "uchar", e = 4, f = 3, finite = true},
  {name = "float8_e5m2", bits = "uchar", e = 5, f = 2},
}

local NAN = 0 / 0

-- The number of a code, by arithmetic alone.
local function number(type, code)
  local bias, top = 2 ^ (type.e - 1) - 1, 2 ^ type.e - 1
  local sign = code >> (type.e + type.f) == 1 and -1.0 or 1.0
  local e = code >> type.f & (1 << type.e) - 1
  local part = (code & (1 << type.f) - 1) / 2.0 ^ type.f
  if e == top and (not type.finite or part == 1 - 2.0 ^ -type.f) then
    return (type.finite or part > 0) and NAN or sign / 0
  elseif e == 0 then
    return sign * part * 2.0 ^ (1 - bias)
  end
  return sign * (1 + part) * 2.0 ^ (e - bias)
end

for _, type in ipairs(types) do
  local half = 1 << (type.e + type.f) -- codes of one sign
  local numbers, largest = {}, half - 1
  for code = 0, 2 * half - 1 do
    numbers[code] = number(type, code)
  end
  while numbers[largest] ~= numbers[largest] or numbers[largest] == 1 / 0 do
    largest = largest - 1
  end
  type.codes, type.numbers, type.largest = 2 * half, numbers, largest
  type.all = cl.array(type.bits, type.codes)
  for code = 0, type.codes - 1 do
    type.all[code + 1] = code
  end
end

-- The code nearest to |x|, by a search: of two at one distance the even one.
local function nearest(type, x)
  local low, high = 0, type.largest + 1
  x = math.abs(x)
  while high - low > 1 do
    local mid = (low + high) // 2
    if type.numbers[mid] <= x then
      low = mid
    else
      high = mid
    end
  end
  local a = type.numbers[low]
  local b = type.numbers[high]
  if high > type.largest then -- one step on, as if there were more numbers
    b = a + (a - type.numbers[low - 1])
  end
  if x - a > b - x or x - a == b - x and low % 2 == 1 then
    low = high
  end
  return low > type.largest and type.finite and type.largest or low
end

-- Numbers at random over the range and beyond, the middles between neighbours,
-- and the numbers beside these.
local function samples(type)
  local list, state = {}, t.seed
  local function random()
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 11) / 2.0 ^ 53
  end
  local low = math.log(type.numbers[1], 2) - 3
  local high = math.log(type.numbers[type.largest], 2) + 2
  for _ = 1, 2000 do
    list[#list + 1] = (random() < 0.5 and -1 or 1) * (1 + random())
      * 2.0 ^ (low + random() * (high - low) // 1)
  end
  local step = math.max(1, type.largest // 500)
  for code = 0, type.largest, step do
    local a, b = type.numbers[code], type.numbers[code + 1]
    local middle = (a + (b == b and b < 1 / 0 and b
      or 2 * a - type.numbers[code - 1])) / 2
    for _, x in ipairs{middle, -middle, middle * (1 + 2.0 ^ -40),
      middle * (1 - 2.0 ^ -40)} do
      list[#list + 1] = x
    end
  end
  for _, x in ipairs{0.0, -0.0, 1e308, -1e308, 5e-324, 1 / 0, -1 / 0} do
    list[#list + 1] = x
  end
  return list
end

t.test("every code is the number of arithmetic, and comes back", function()
  for _, type in ipairs(types) do
    local h = type.all:as(type.name)
    local back = cl.array(type.name, type.codes)
    for code = 0, type.codes - 1 do
      local x, right = h[code + 1], type.numbers[code]
      if right == right and (x ~= right or 1 / x ~= 1 / right)
          or right ~= right and x == x then
        t.eq(x, right, ("%s %x"):format(type.name, code))
      end
      back[code + 1] = x
    end
    local bits, nans = back:as(type.bits), 0
    for code = 0, type.codes - 1 do
      local right = type.numbers[code]
      if right == right and bits[code + 1] ~= code then
        t.eq(bits[code + 1], code, type.name)
      elseif right ~= right then
        nans = nans + 1
        t.ok(back[code + 1] ~= back[code + 1])
        -- NaN keeps its payload; its first bit says that it is quiet
        t.eq(bits[code + 1], type.finite and code
          or code & (1 << (type.e + type.f)) - 1 | 1 << (type.f - 1)
          | code & 1 << (type.e + type.f), type.name)
      end
    end
    t.eq(nans, type.finite and 2 or 2 * (2 ^ type.f - 1) // 1, type.name)
  end
end)

t.test("numbers are rounded to the nearest, ties to even", function()
  for _, type in ipairs(types) do
    local list = samples(type)
    local h = cl.array(type.name, #list, list)
    local bits = h:as(type.bits)
    for i, x in ipairs(list) do
      local sign = (x < 0 or 1 / x < 0) and type.codes // 2 or 0
      local right = nearest(type, x) | sign
      if bits[i] ~= right then
        t.eq(bits[i], right, ("%s %a"):format(type.name, x))
      end
    end
    for _, from in ipairs{"float", "double"} do -- from Arrays
      local a = cl.array(from, #list, list)
      local own = cl.array(type.name, #list, a:table())
      t.ok(a:convert(type.name):as(type.bits):equal(own:as(type.bits)), from)
    end
  end
end)

t.test("the largest numbers, and numbers beyond", function()
  local function of(type, x)
    return cl.array(type, 1, x)[1]
  end
  t.eq({of("float8_e4m3", 464), of("float8_e4m3", 1e9),
    of("float8_e4m3", -math.huge)}, {448.0, 448.0, -448.0})
  t.eq({of("float8_e5m2", 61439), of("float8_e5m2", 61440),
    of("float8_e5m2", -math.huge)}, {57344.0, math.huge, -math.huge})
  t.eq(of("bfloat16", 3.4e38), math.huge)
  t.eq(of("bfloat16", 0x1.fefp127), 0x1.fep127)
  -- a float between would round these twice
  t.eq(of("bfloat16", 1 + 2.0 ^ -8 + 2.0 ^ -40), 1 + 2.0 ^ -7)
  t.eq(of("float8_e4m3", 1 + 2.0 ^ -4 + 2.0 ^ -40), 1.125)
end)

local double = cl.device():has "cl_khr_fp64"

t.test("the device converts as the host does", function()
  for _, type in ipairs(types) do
    local b <close> = cl.buffer(type.bits, type.codes, type.all)
    local f <close> = b:as(type.name):astype "float":eval()
    local right <close> = type.all:as(type.name):convert "float"
    local there <close> = f:read()
    for i = 1, type.codes do
      local x, y = there[i], right[i]
      if x ~= y and (x == x or y == y) then
        t.eq(x, y, ("%s %x"):format(type.name, i - 1))
      end
    end
    local back <close> = f:astype(type.name):eval()
    t.ok(back:as(type.bits):read():equal(right:convert(type.name)
      :as(type.bits)), type.name)
    local list = samples(type)
    for _, from in ipairs{"float", double and "double" or nil} do
      local h <close> = cl.array(from, #list, list)
      local x <close> = cl.buffer(from, #list, h)
      local y <close> = cl.buffer(type.name, #list)
      y:set(x)
      t.ok(y:as(type.bits):read():equal(h:convert(type.name):as(type.bits)),
        type.name .. " of " .. from)
    end
  end
  local whole <close> = cl.buffer("int", 3, {16777217, 257, -3})
  t.eq(whole:astype "bfloat16":read():table(), {2.0 ^ 24, 256.0, -3.0})
end)

t.test("Buffers: filled, sliced, copied, in kernels as bits", function()
  for _, type in ipairs(types) do
    local b <close> = cl.buffer(type.name, {2, 3}, {{1, 2, 3}, {4, 5, 6}})
    t.eq(b.bytes, 6 * cl.typesize(type.bits))
    t.eq(b:transpose():read():table(), {{1.0, 4.0}, {2.0, 5.0}, {3.0, 6.0}})
    t.eq(b:slice({}, 2):read():table(), {2.0, 5.0})
    t.eq(b:clone():read():table(), b:read():table())
    b:fill(0.3)
    t.eq(b:read()[6], cl.array(type.name, 1, 0.3)[1])
    local s = require "clshell.data.summary".of(b)
    t.eq({s.count, s.nan, s.min}, {6, 0, b:read()[1]})
    local p <close> = cl.build(("kernel void k(global %s *x) { x[0] = 0; }")
      :format(type.bits))
    local k <close> = p:kernel "k"
    k:range(1)(b):wait()
    t.eq(b:read()[1], 0.0)
  end
end)

t.test("what OpenCL C lacks is refused, with the remedy", function()
  local x <close> = cl.buffer("bfloat16", 4, {1, 2, 3, 4})
  local lacks = "OpenCL C has no type bfloat16"
  for what, f in pairs{
    ["x + y"] = function() return x + 1 end,
    ["x * y"] = function() return 2 * x:read() end,
    ["-x"] = function() return -x end,
    sum = function() return x:sum() end,
    mean = function() return x:slice(1, 2):mean() end,
    cumsum = function() return x:cumsum() end,
    sort = function() return x:sort() end,
    lt = function() return x:lt(1) end,
    gather = function() return x:gather{1} end,
    scatter = function() return x:scatter({1}, 2) end,
    map = function() return cl.map("y = x", {x = x}) end,
    axpy = function() return x:axpy(2, x) end,
    ["Buffer:random"] = function() return x:random(1) end,
    ["cl.random"] = function() return cl.random(4, {type = "bfloat16"}) end,
  } do
    t.raises(f, what .. ": " .. lacks, 'x:astype "float"')
  end
  t.raises(function() return x:astype "bfloat16" + 1 end, lacks)
  t.eq((x:astype "float" * 2):astype "bfloat16":read()[4], 8.0)
  t.eq(x:astype "float":sum(), 10.0)
  for type, text in pairs{half = "must hold half; got a Buffer of bfloat16",
    short = "must hold short; got a Buffer of bfloat16"} do
    local p <close> = cl.build(("kernel void k(global %s *x) {}"):format(type))
    local k <close> = p:kernel "k"
    t.raises(function() k:range(1)(x) end, text)
  end
  t.raises(function() cl.buffer("bf16", 1) end, "did you mean 'bfloat16'?")
  t.raises(function() cl.buffer("float8_e4m3fn", 1) end,
    "did you mean 'float8_e4m3'?")
  t.raises(function() cl.buffer("bfloat162", 1) end, "no element type")
  t.eq(cl.bfloat16, nil)
  t.raises(function()
    require "clshell.data.npy".save(t.tmp "x.npy", x:read())
  end, ".npy has no element type like bfloat16", 'h:as "ushort"')
  t.raises(function() cl.linspace(0, 500, 3, {type = "float8_e4m3"}) end,
    "500 does not fit float8_e4m3")
end)

t.test("the host sorts and compares them", function()
  local h = cl.array("float8_e4m3", 6, {3, -1, NAN, -0.0, 448, 0})
  local y = host.sort(h)
  t.eq({y[1], y[4], y[5], y[6] ~= y[6]}, {-1.0, 3.0, 448.0, true})
  t.eq({h:summary().min, h:summary().nan}, {-1.0, 1})
end)
t.done()

-- scans.lua - scans of Buffers and expressions, against loops in Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local list = t.list

-- Compares a scan with that of a list of numbers by a function.
local function compare(got, values, start, combine, exclusive, what)
  local s = start
  t.eq(#got, #values, what)
  for i, x in ipairs(values) do
    local before = s
    s = combine(s, x)
    local want = exclusive and before or s
    if got[i] ~= want then
      t.eq(got[i], want, ("%s: element %d, seed %d"):format(what, i, t.seed))
    end
  end
end

local function add(a, b)
  return a + b
end

t.test("sums of any length, inclusive and exclusive", function()
  for _, n in ipairs{1, 2, 7, 255, 256, 257, 1023, 1025, 5000,
      math.random(100000, 400000)} do
    local values = {}
    for i = 1, n do
      values[i] = math.random(-9, 9)
    end
    local x <close> = cl.buffer("int", n, values)
    local y <close> = x:cumsum()
    compare(list(y), values, 0, add, false, "cumsum of " .. n)
    local z <close> = x:scan{op = "a + b", identity = 0, exclusive = true}
    compare(list(z), values, 0, add, true, "exclusive scan of " .. n)
  end
end)

t.test("types and shapes", function()
  local x <close> = cl.buffer("uchar", {3, 100}, 255)
  local y = x:cumsum()
  t.eq({y.type, y.shape, list(y)[300]}, {"ulong", {3, 100}, 76500})
  local h <close> = cl.buffer("half", 3, {60000, 60000, 0.5})
  t.eq({h:cumsum().type, list(h:cumsum())},
    {"float", {60000.0, 120000.0, 120000.5}})
  local c <close> = cl.buffer("char", 2, {100, 100})
  t.eq(list(c:scan{op = "a + b", identity = 0}), {100, 200}, "as int")
  t.eq(list(x:matrix(2, 2, 2, 100):cumsum()), {255, 510, 765, 1020})
end)

-- Compares scans along each dimension of a matrix of ints with sums in Lua.
local function along_each(shape, context)
  local n = 1
  for _, size in ipairs(shape) do
    n = n * size
  end
  local values = {}
  for i = 1, n do
    values[i] = math.random(-9, 9)
  end
  local flat <close> = cl.buffer("int", n, values, {context = context})
  local x, behind = flat:reshape(shape), n
  for dim, size in ipairs(shape) do
    behind = behind // size
    local y <close> = x:cumsum(dim)
    local z <close> = (x + 1):scan{op = "b != 0 ? b : a", identity = 0,
      exclusive = true, dim = dim}
    t.eq({y.shape, z.shape}, {shape, shape})
    local sums, lasts, got, last = {}, {}, list(y), list(z)
    for i, value in ipairs(values) do
      local before = (i - 1) // behind % size > 0 and i - behind
      sums[i] = value + (before and sums[before] or 0)
      lasts[i] = before and (values[before] ~= -1 and values[before] + 1
        or lasts[before]) or 0
      if got[i] ~= sums[i] or last[i] ~= lasts[i] then
        t.eq({got[i], last[i]}, {sums[i], lasts[i]},
          ("%s along %d: element %d, seed %d"):format(
          table.concat(shape, "x"), dim, i, t.seed))
      end
    end
  end
end

local SHAPES = {{1, 1}, {3, 5}, {70, 3}, {3, 70}, {130, 20}, {2, 3000, 17},
  {3, 5000}, {5000, 3}, {4, 1, 3}}

t.test("along a dimension", function()
  for _, shape in ipairs(SHAPES) do
    along_each(shape)
  end
  local f <close> = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  t.eq({list(f:cumsum(1)), list(f:cumsum(2))},
    {{1.0, 2.0, 3.0, 5.0, 7.0, 9.0}, {1.0, 3.0, 6.0, 4.0, 9.0, 15.0}})
end)

t.test("an expression is scanned as it is calculated", function()
  local n = 3000
  local x <close> = cl.arange(1, n)
  t.eq(list((2 * x - 1):cumsum())[n], n * n)
  t.eq(list(x:shift(1):cumsum())[1], n)
  local row <close> = cl.buffer("int", {1, 60}, 2)
  t.eq(list((x:reshape{50, 60} * row):cumsum())[n], n * (n + 1))
  local programs = cl.live().Program
  t.eq(list((3 * x - 2):cumsum())[2], 5)
  t.eq(cl.live().Program, programs, "the kernels are kept")
end)

t.test("an operator that does not commute keeps the order", function()
  local n, values = 20000, {}
  for i = 1, n do
    values[i] = math.random(5) == 1 and math.random(1000) or 0
  end
  local x <close> = cl.buffer("int", n, values)
  local function last(a, b)
    return b ~= 0 and b or a
  end
  for _, exclusive in ipairs{false, true} do
    local y <close> = x:scan{op = "b != 0 ? b : a", identity = 0,
      exclusive = exclusive}
    compare(list(y), values, 0, last, exclusive, "the last one")
  end
  local f <close> = cl.buffer("float", 3, {1, 0 / 0, -1})
  t.eq(list(f:scan{op = "fmax(a, b)", identity = "-INFINITY"}),
    {1.0, 1.0, 1.0})
end)

-- Scans of ints by work-groups, as GPUs have them.
local function on_groups(asks)
  local fused = require "clshell.arrays.fused"
  local device = cl.device()
  local ctx <close> = cl.context(device)
  local _ <close> = t.swap(fused.serial, device.type, false)
  local _ <close> = t.swap(fused, "asks", function() return asks end)
  for _, n in ipairs{1, 2, 255, 2047, 2048, 2049, 70001, 1 << 18} do
    local values = {}
    for i = 1, n do
      values[i] = math.random(-9, 9)
    end
    local x <close> = cl.buffer("int", n, values, {context = ctx})
    compare(list(x:cumsum()), values, 0, add, false, n)
    compare(list(x:scan{op = "a + b", identity = 0, exclusive = true}), values,
      0, add, true, n)
    compare(list((x * 1):scan{op = "max(a, b)", identity = -10}), values, -10,
      math.max, false, n)
    local last <close> = x:scan{op = "b != 0 ? b : a", identity = 0}
    compare(list(last), values, 0, function(a, b)
      return b ~= 0 and b or a -- does not commute
    end, false, n)
  end
  for i, shape in ipairs(SHAPES) do -- one half with `asks`, one without
    if (i + t.seed + (asks and 1 or 0)) % 2 == 0 then
      along_each(shape, ctx)
    end
  end
end

t.test("work-groups scan after their totals, as on GPUs", function()
  on_groups(false)
end)

t.test("work-groups ask those before them, as on NVIDIA's GPUs", function()
  t.skip_if(not cl.device():has "cl_khr_int64_base_atomics",
    "the device lacks cl_khr_int64_base_atomics")
  on_groups(true)
end)

t.test("sums of a vector, of whole Buffers and parts, as on GPUs", function()
  local fused = require "clshell.arrays.fused"
  local n = 5000
  local x <close> = cl.buffer("float", n, function(i) return i % 7 end)
  local function check(part, first, step)
    local sum, y = 0, list(part:cumsum())
    t.eq(y, list(part:cumsum(1)))
    for i = 1, #y do
      sum = sum + (first + (i - 1) * step) % 7
      t.eq(y[i], sum, i)
    end
    return #y
  end
  local function check_all()
    t.eq(check(x, 1, 1), n)
    t.eq(check(x:slice(1, 100), 1, 1), 100)
    t.eq(check(x:slice(2, -1), 2, 1), n - 1)
    t.eq(check(x:slice{1, -1, 2}, 1, 2), n // 2)
    t.eq(check(x:view(1, 640), 1, 1), 640)
    t.eq(check(x:reshape{10, 500}:reshape(n), 1, 1), n)
  end
  check_all()
  local _ <close> = t.swap(fused.serial, cl.device().type, false)
  check_all()
  t.eq(x:reshape{10, 500}:cumsum().shape, {10, 500})
  local closed = cl.buffer("float", 3, 1)
  closed:close()
  t.raises(function() closed:cumsum() end, "closed")
end)

t.test("the error of a sum keeps its bound", function()
  local n = 200000
  local h <close> = cl.array("float", n):random(t.seed, 0, 1)
  local x <close> = cl.buffer("float", n, h)
  local got, truth = list(x:cumsum()), 0.0
  for i = 1, n do
    truth = truth + h[i]
    if math.abs(got[i] - truth) > 6144 * 2.0^-24 * truth then
      t.near(got[i], truth, 0, ("element %d, seed %d"):format(i, t.seed))
    end
  end
end)

t.test("what cannot be scanned", function()
  local x <close> = cl.arange(1, 5)
  t.raises(function() x:cumsum(2) end,
    "cumsum: dim must be an integer from 1 to 1; got 2")
  t.raises(function() x:cumsum(1, 2) end, "cumsum takes one dim at a time")
  t.raises(function() x:scan{op = "a + b", identity = 0, dim = 0} end,
    "Buffer:scan: dim must be an integer from 1 to 1; got 0")
  t.raises(function() x:scan() end, "op must be a string")
  t.raises(function() x:scan{op = "a + b"} end,
    "identity must be a number or OpenCL C; got nothing")
  t.raises(function() x:scan{op = "max", identity = 0} end,
    'op must combine a and b; got "max"')
  t.raises(function() x:scan{op = "a + c", identity = 0} end, "a + c")
  t.raises(function() x:scan{op = "a + b", identity = 0, exclusiv = true} end,
    "exclusiv")
  local e = x + 1
  x:close()
  t.raises(function() e:cumsum() end, "closed")
  t.eq(list(cl.arange(1, 3):cumsum()), {1, 3, 6}, "the session goes on")
end)

t.test("the sums of -0.0 are -0.0, and what stands before them 0", function()
  for _, type in ipairs{"float", "half"} do
    local x <close> = cl.buffer(type, 2000, -0.0)
    for _, y in ipairs{x:cumsum(), x:reshape{2, 1000}:cumsum(2),
        x:reshape{1000, 2}:cumsum(1), (x * 1):cumsum()} do
      local h = y:read()
      t.eq(1 / h:reshape(2000)[1], -math.huge)
      t.eq(1 / h:reshape(2000)[2000], -math.huge)
    end
    t.eq(1 / x:sum(), -math.huge)
  end
  local x <close> = cl.buffer("float", 3, {-0.0, 2, 3})
  t.eq(1 / scan(x, {kind = "exclusive"}):read()[1], math.huge)
end)

t.done()

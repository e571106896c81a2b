-- totals.lua - reductions of Buffers and expressions, against loops in Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local fused = require "clshell.arrays.fused"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local double = cl.device():has "cl_khr_fp64"
local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float", double and "double" or nil}
local REAL = {half = true, float = true, double = true}
local NAN = 0 / 0

local list = t.list

-- By name: the result of a list of numbers.
local TRUTH = {
  sum = function(v)
    local s = 0
    for _, x in ipairs(v) do s = s + x end
    return s
  end,
  min = function(v) return math.min(table.unpack(v)) end,
  max = function(v) return math.max(table.unpack(v)) end,
  any = function(v)
    for _, x in ipairs(v) do
      if x ~= 0 then return 1 end
    end
    return 0
  end,
  all = function(v)
    for _, x in ipairs(v) do
      if x == 0 then return 0 end
    end
    return 1
  end,
}
function TRUTH.mean(v) return TRUTH.sum(v) / #v end

local function place(least)
  return function(v)
    local at = 1
    for i, x in ipairs(v) do
      if least and x < v[at] or not least and x > v[at] then
        at = i
      end
    end
    return at
  end
end
TRUTH.argmin, TRUTH.argmax = place(true), place(false)

-- Small numbers, whose sums are exact in every type.
local function random(type, n)
  local values, low = {}, type:find "^u" and 0 or -9
  for i = 1, n do
    local x = math.random(low, 9)
    values[i] = REAL[type] and x / 2 or x
  end
  return values
end

-- The lists of the elements along dimension d, in the order of the rest.
local function along(values, shape, d)
  local inner, lists = 1, {}
  for k = d + 1, #shape do
    inner = inner * shape[k]
  end
  local span = shape[d] * inner
  for i, x in ipairs(values) do
    local r = (i - 1) // span * inner + (i - 1) % inner + 1
    lists[r] = lists[r] or {}
    table.insert(lists[r], x)
  end
  return lists
end

local function compare(name, got, want, what)
  t.near(math.type(got) and got or got and 1 or 0, want,
    name == "mean" and 1e-6 or 0, what)
end

local NAMES = {}
for name in pairs(TRUTH) do
  NAMES[#NAMES + 1] = name
end
table.sort(NAMES)

-- Three types, drawn: small integers, large ones, reals.
local function some_types()
  return {TYPES[math.random(5)], TYPES[math.random(6, 8)],
    TYPES[math.random(9, #TYPES)]}
end

local SHAPES = {{1}, {7}, {5000}, {3, 5}, {70, 3}, {3, 70}, {130, 20},
  {2, 100, 17}, {2, 3, 100}, {4, 1, 3}}

t.test("whole and along each dimension, of every type", function()
  for number, type in ipairs(some_types()) do
    local shape = SHAPES[math.random(#SHAPES)]
    local n = 1
    for _, size in ipairs(shape) do
      n = n * size
    end
    local values = random(type, n)
    local x <close> = cl.buffer(type, n, values):reshape(shape)
    for turn, name in ipairs(NAMES) do
      local truth = TRUTH[name]
      local what = ("%s of %s %s, seed %d"):format(name, type,
        table.concat(shape, "x"), t.seed)
      local reals = (type == "long" or type == "ulong") and name == "mean"
      -- each kernel is a build: as a whole or along a dimension
      local d = not reals and (turn + number) % (#shape + 1) or 0
      if d == 0 then
        compare(name, x[name](x), n > 200 and name:find "^m[ai][nx]"
          and values[TRUTH["arg" .. name](values)] or truth(values), what)
      else
        local y <close> = x[name](x, d)
        local got = list(y)
        local lists = along(values, shape, d)
        t.eq(#got, #lists, what)
        for i, elements in ipairs(lists) do
          compare(name, got[i], name:find "^m[ai][nx]"
            and elements[TRUTH["arg" .. name](elements)] or truth(elements),
            what .. " along " .. d)
        end
      end
    end
  end
end)

t.test("shapes, types and the place of a result", function()
  local A <close> = cl.buffer("uchar", {3, 4}, 200)
  t.eq({A:sum(1).type, A:sum(1).shape, A:sum(2).shape}, {"ulong", {4}, {3}})
  t.eq({A:mean(1).type, A:max(1).type, A:argmax(2).type, A:any(1).type},
    {"float", "uchar", "long", "int"})
  t.eq({A:sum(), math.type(A:max()), A:any()}, {2400, "integer", true})
  local x <close> = cl.buffer("half", 3, {60000, 60000, 1})
  t.eq({x:sum(), x:sum(1).type, x:max(1).type}, {120001.0, "float", "half"})
  t.eq({x:sum(1).shape, list(x:max(1))}, {{1}, {60000.0}})
end)

t.test("an expression is reduced as it is calculated", function()
  local n = 3000
  local x <close> = cl.arange(1, n, {type = "float"})
  local row <close> = cl.buffer("int", 20, function(j) return j end)
  local A <close> = cl.buffer("int", {150, 20}, function(i) return i end)
  t.eq((x - x):any(), false)
  t.eq((x - 1000):abs():argmin(), 1000)
  t.eq({(A - row):sum(), (A * row):max(), (A + row):argmax()},
    {150 * 151 // 2 * 20 - 150 * 210, 3000, 3000})
  t.eq(list((A * row):sum(1))[20], 20 * 150 * 151 // 2)
  t.eq(list((A - row):max(2))[150], 149)
  t.eq((x:shift(1) - x):argmax(), 1)
  local wide <close> = cl.buffer("int", {150, 20}, 1, {ld = 32})
  t.eq({wide:sum(), (A * wide):sum()}, {3000, 20 * 150 * 151 // 2})
  t.eq(A:matrix(2, 3, 3, 20):sum(), 3 * (1 + 2 + 3))
  local programs = cl.live().Program
  t.eq({(A - row):sum(), (x - 7):abs():argmin()},
    {150 * 151 // 2 * 20 - 150 * 210, 7})
  t.eq(cl.live().Program, programs, "the kernels are kept")
end)

t.test("sums of integers have 64 bits", function()
  local x <close> = cl.buffer("int", 5000, (1 << 31) - 1)
  t.eq({x:sum(), x:mean()}, {5000 * ((1 << 31) - 1), 2.0^31 - 1})
  t.eq(x:dot(x), 5000 * ((1 << 31) - 1) * ((1 << 31) - 1))
  local u <close> = cl.buffer("ulong", 3, -1) -- 2^64 - 1
  t.eq({u:max(), u:sum(), u:mean()}, {-1, -3, 2.0^64})
  for _, make in ipairs{cl.buffer, cl.array} do -- sums beyond 64 bits
    local v = make("long", 3, {math.mininteger, math.mininteger, -3})
    t.eq({v:mean(), (v + 1):mean(), (~v):mean()},
      {-2.0^64 / 3, -2.0^64 / 3, 2.0^64 / 3})
    v = make("ulong", 2, {-1, 1})
    t.eq({v:mean(), (v - 1):mean()}, {2.0^63, 2.0^63})
    t.raises(function() v:nrm2() end, "nrm2: ulong and float")
  end
  t.raises(function() return u:mean(1) end, "mean: ulong and float")
end)

t.test("the error of a sum keeps its bound", function()
  local n = 300000
  local h <close> = cl.array("float", n):random(t.seed, 0, 1)
  local x <close> = cl.buffer("float", n, h)
  local truth = 0.0
  for i = 1, n do
    truth = truth + h[i]
  end
  local bound = 12 * math.log(n, 2) * 2.0^-24 * truth
  t.ok(math.abs(x:sum() - truth) <= bound, t.seed)
  t.ok(math.abs(x:reshape{n // 100, 100}:sum(1):sum() - truth) <= bound,
    t.seed)
end)

t.test("a NaN is the least, the greatest, and found", function()
  local n = 5000
  for _, at in ipairs{1, 700, n} do
    local x <close> = cl.buffer("float", n, function(i)
      return i == at and NAN or i
    end)
    t.ok(x:max() ~= x:max() and x:min() ~= x:min() and x:sum() ~= x:sum())
    t.ok(x:mean() ~= x:mean() and x:nrm2() ~= x:nrm2())
    t.eq({x:argmin(), x:argmax(), x:all()}, {at, at, true})
  end
  local x <close> = cl.buffer("float", 4, {1, NAN, NAN, -1})
  t.eq({x:argmin(), x:argmax()}, {2, 2}, "the first of several")
  local inf <close> = cl.buffer("float", 3, -math.huge)
  t.eq({inf:max(), inf:min(), inf:argmax()}, {-math.huge, -math.huge, 1})
  local least <close> = cl.buffer("char", 3, -128)
  t.eq({least:max(), least:argmax(), least:argmin()}, {-128, 1, 1})
end)

t.test("dot and nrm2", function()
  local x <close> = cl.buffer("float", 4, {1, 2, 3, 4})
  local y <close> = cl.buffer("int", 4, {5, 6, 7, 8})
  t.eq({x:dot(y), (2 * x):dot(y + 1), list(x:dot(y, 1))},
    {70.0, 160.0, {70.0}})
  t.eq(x:reshape{2, 2}:dot(x:reshape{2, 2}, 2):read()[2], 25.0)
  t.raises(function() return x:dot(cl.buffer("float", 3)) end,
    "dot: the operands must have one shape; got 4 and 3")
  t.raises(function() return x:dot(2) end, "dot: an operand must be a Buffer")
  t.raises(function() return x:dot() end, "dot: an operand must be")
  local v <close> = cl.buffer("float", 2, {3, 4})
  t.eq({v:nrm2(), list(v:nrm2(1)), (2 * v):nrm2()}, {5.0, {5.0}, 10.0})
  for _, scale in ipairs{1e30, 1e-30} do
    t.near((v * scale):nrm2() / scale, 5, 1e-6, "beyond the squares' range")
  end
  t.eq({(0 * v):nrm2(), cl.buffer("int", 2, {3, 4}):nrm2()}, {0.0, 5.0})
  t.eq(cl.buffer("float", 2, math.huge):nrm2(), math.huge)
end)

t.test("an operator of one's own", function()
  local x <close> = cl.arange(1, 5)
  t.eq(x:reduce{op = "a * b", identity = 1}, 120)
  t.eq(list(x:reshape{5, 1}:reduce{op = "a | b", identity = 0, dim = 2}),
    {1, 2, 3, 4, 5})
  t.eq((x * 0.5):reduce{op = "fmax(a, b)", identity = "-INFINITY"}, 2.5)
  t.eq((x * 0.5):reduce{op = "fmax(a, b)", identity = -1}, 2.5)
  t.raises(function() x:reduce{op = "a * b", identity = 0.5} end,
    "Buffer:reduce: the identity 0.5 does not fit int")
  t.raises(function() x:reduce{identity = 1} end, "op must be a string")
  t.raises(function() x:reduce{op = "a * b"} end, "identity must be")
  t.raises(function() x:reduce{op = "a * c", identity = 1} end, "a * c")
  t.raises(function() x:reduce{op = "a", identity = 1, axis = 1} end, "axis")
  t.raises(function() x:reduce "a * b" end, "Buffer:reduce")
end)

t.test("no elements have a sum, but no least one", function()
  local x, A = cl.buffer("float", 0), cl.buffer("float", {0, 2})
  t.eq({x:sum(), cl.buffer("int", 0):sum(), x:any(), x:all(), x:nrm2(),
    x:dot(x), x:reduce{op = "a * b", identity = 1}}, {0.0, 0, false, true,
    0.0, 0.0, 1.0})
  for _, name in ipairs{"mean", "var", "std"} do
    local value = x[name](x)
    t.ok(value ~= value, name)
    t.ok(A[name](A, 1):isnan():all(), name)
  end
  t.eq({list(A:sum(1)), list(A:all(1)), #A:sum(2), #A:max(2),
    list(A:reduce{op = "max(a, b)", identity = "-INFINITY", dim = 1})},
    {{0, 0}, {1, 1}, 0, 0, {-math.huge, -math.huge}})
  for _, name in ipairs{"min", "max", "argmin", "argmax"} do
    t.raises(function() return x[name](x) end, name .. ": x has no elements")
    t.raises(function() return A[name](A, 1) end, "test #x > 0 first")
  end
  t.eq({#x:cumsum(), #x:sort(), #x:argsort(), #x:unique(), #(x + 1):read(),
    (A + cl.buffer("float", 2, 1)):eval().shape, #A:transpose():read(),
    #x:shift(1):read(), #x:gather{}, #x:compact(x), #x:tile(3),
    #cl.concatenate{x, x}, #cl.map("float y = x", {x = x}), #cl.random(0),
    x:histogram{from = 0, to = 1, bins = 1}:read()[1]},
    {0, 0, 0, 0, 0, {0, 2}, 0, 0, 0, 0, 0, 0, 0, 0, 0})
  t.raises(function() return x + cl.buffer("float", 2, 1) end, "broadcast")
  local y = cl.arange(1, 4)
  y:slice(3, 2):set(0)
  y:scatter({}, {})
  t.eq({list(y), #y:slice(1, 0):read(), #y:slice(5, 4):read(),
    #y:slice(4, 1):read()}, {{1, 2, 3, 4}, 0, 0, 0})
  local r = cl.record(function()
    x:set(x + 1)
    y:set(y + 1)
  end)
  r():wait()
  t.eq(list(y), {2, 3, 4, 5}, "nothing to record beside something")
end)

t.test("what cannot be reduced", function()
  local x <close> = cl.buffer("float", {2, 3}, 1)
  t.raises(function() x:sum(3) end,
    "sum: dim must be an integer from 1 to 2; got 3",
    "dimensions count from 1; the last dimension of the shape 2x3 is 2")
  t.raises(function() return x:mean(3) end, "mean: dim must be")
  t.raises(function() return x:nrm2 "1" end, "nrm2: dim must be")
  t.raises(function() return x:dot(x, 0) end, "dot: dim must be")
  t.raises(function() x:sum(1.5) end, "got 1.5")
  t.raises(function() x:sum(1, 2) end, "sum takes one dim at a time")
  t.raises(function() x:dot(x, 1, 2) end, "dot takes one dim at a time")
  t.raises(function() x:max(0) end, "got 0", "x:fmax(y)")
  t.raises(function() x:min(x) end, "got a Buffer", "x:fmin(y)")
  local other <close> = cl.contexts{cl.device()}[1]
  local y = cl.buffer("float", {2, 3}, 1, {context = other})
  t.raises(function() x:dot(y) end, "dot: the Buffers are of different")
  t.raises(function() x:sort{values = y} end,
    "sort: the Buffers are of different contexts")
  t.raises(function() x.sum(nil) end, "sum: an operand must be a Buffer")
  t.raises(function() x.sum(3) end, "got 3")
  t.raises(function() cl.buffer("float4", 2):sum() end, 'b:as "float"')
  local e = x + 1
  x:close()
  t.raises(function() return e:sum() end, "the Buffer float[2x3] of the")
  t.raises(function() return x:sum() end, "closed")
  t.eq(cl.arange(1, 3):sum(), 6, "the session goes on")
end)

local function in_ints(serial)
  local device = cl.device()
  local ctx <close> = cl.context(device)
  local _ <close> = t.swap(fused.serial, device.type, serial)
  for _, n in ipairs{1, 65, 255, 2047, 2048, 2049, 70001, 1 << 18} do
    local x <close> = cl.buffer("int", n, nil, {context = ctx})
    cl.map("int x = (int)(i % 1000) - 7", {x = x})
    local h <close> = x:read()
    local sum, least, most = 0, math.huge, -math.huge
    for i = 1, n do
      sum, least = sum + h[i], math.min(least, h[i])
      most = math.max(most, h[i])
    end
    t.eq({x:sum(), x:min(), x:max(), (x + 1):sum(), x:argmin()},
      {sum, least, most, sum + n, 1}, n)
    t.near((x * 0.5):sum(), sum / 2, 1e-6, n)
    t.eq(x:argmax(), most + 8)
  end
  local m <close> = cl.buffer("float", {3, 5000}, 2, {context = ctx})
  t.eq({list(m:sum(2)), list(m:sum(1))[5000]},
    {{10000.0, 10000.0, 10000.0}, 6.0})
end

t.test("work-groups reduce, as on GPUs", function()
  local _ <close> = t.swap(fused, "asks", function() return false end)
  in_ints(not fused.serial[cl.device().type])
end)

-- With a fence that a device has in the place of NVIDIA's.
t.test("the last work-group reduces what all have left, as on NVIDIA's GPUs",
  function()
    local once, build = 0, cl.build
    local fence = cl.device().nv_warp_size and ""
      or "#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)\n"
    local _ <close> = t.swap(fused, "asks", function() return true end)
    local _ <close> = t.swap(cl, "build", function(source, ...)
      once = once + (source:find "#define ONCE 1\n" and 1 or 0)
      return build(fence .. source, ...)
    end)
    in_ints(false)
    t.ok(once > 4, once)
  end)

t.test("a reduction that is interrupted anywhere spoils no later one",
  function()
    local n = 20000
    local x <close> = cl.buffer("int", n, 1)
    local small <close> = cl.buffer("int", 7, 2)
    t.eq({x:sum(), small:sum()}, {n, 14})
    local function stop()
      debug.sethook()
      error "stop"
    end
    local steps, ended = 0, false
    while not ended do
      steps = steps + 3
      ended = pcall(function()
        debug.sethook(stop, "", steps)
        x:sum()
        debug.sethook()
      end)
      t.eq({small:sum(), x:sum()}, {14, n}, ("after %d steps"):format(steps))
    end
  end)

t.test("a device without doubles sums floats", function()
  local layer = ("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=hints:1:0 ")
    :format(t.build)
  local x = [[-p 'cl.buffer("%s", 10, 2):sum()' 2>&1]]
  local out = t.capture(layer .. t.exe .. " " .. x:format "double")
  t.skip_if(not out:find "cl_khr_fp64",
    "the OpenCL loader takes no layers (OPENCL_LAYERS)")
  out = t.capture(layer .. t.exe .. " " .. x:format "float")
  t.eq(out:match "^[^\n]*", "20.0", out)
end)

t.done()

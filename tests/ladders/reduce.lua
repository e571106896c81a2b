-- reduce.lua - every rung of the reductions, on sizes that fit no work-group,
-- in every type and operation; the call that names no kernel
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local family = require "clshell.family"
local ladder = require "ladder"
local reduce = require "clshell.reduce"
local tiling = require "clshell.ladder.tiling"
local tune = require "clshell.tune"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local TYPES = {"float", "int",
  device:has "cl_khr_fp64" and "double" or nil}
local SIZES = {1, 7, 1000, 2^20 + 1 | 0}

-- Whether a rung runs here with these parameters.
local function runs(name, params, shape)
  return reduce.check(name, params, shape)
end

for number, rung in ipairs(reduce.list) do
  t.test(rung.name .. ": every type, operation and size", function()
    for i, type in ipairs(TYPES) do
      for j, op in ipairs{"sum", "min", "max"} do -- pairs over the ladder
        for _, n in ipairs((i + j + number) % 3 == 0 and SIZES or {}) do
          local r = ladder.verified(reduce, rung.name, nil, {n = n,
            type = type, op = op})
          t.eq(r.bound, type == "int" and 0 or verify.bound(type,
            op == "sum" and n or 1))
        end
      end
    end
  end)

  t.test(rung.name .. ": every value of every parameter", function()
    ladder.each_value(reduce, rung.name, {{n = 2}, {n = 333}, {n = 70001}})
  end)
end

t.test("a call takes what it is given and returns one element", function()
  local y, event = reduce{3, 1, 2}
  t.eq({#y, y.type, y:read()[1]}, {1, "float", 6.0})
  event:wait()
  t.eq(reduce(cl.array("int", 4, {5, -3, 8, 1}), {op = "min"}):read()[1], -3)
  local m = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  t.eq(reduce(m):read()[1], 21.0)
  local out = cl.buffer("float", 1)
  local long = cl.buffer("float", 5000)
  long:fill(1)
  t.eq(reduce(long, {y = out}), out)
  t.eq(out:read()[1], 5000.0)
  long:fill(2)
  t.eq(reduce(long):read()[1], 10000.0) -- a plan that is kept
  t.eq(out:read()[1], 5000.0)
  t.eq(reduce(long, {kernel = "modulo", wg = 32}):read()[1], 10000.0)
end)

t.test("an expression, of its type", function()
  local i <close> = cl.buffer("int", 3, {1, 2, 3})
  local y <close> = reduce(i * i)
  t.eq({y.type, y:read()[1]}, {"int", 14})
  t.raises(function() reduce(i:astype "long") end, "must be one of", "long")
  if cl.device():has "cl_khr_fp64" then
    local x <close> = cl.buffer("double", 3, {0.1, 0, 0})
    t.eq(reduce(x * 2):read()[1], 0.2)
  end
end)

t.test("signs that differ, and int beyond its range", function()
  local list = {}
  for i = 1, 2000 do
    list[i] = (i % 2 == 0 and 1 or -1) * i / 7
  end
  for _, k in ipairs(reduce.kernels()) do
    if runs(k.name, nil, {n = 2000}) then
      local r = reduce.verify(k.name, nil, {x = list})
      t.ok(r.ok, k.name .. ": " .. r.err)
    end
  end
  local big = cl.buffer("int", 3, {2^31 - 1 | 0, 2^31 - 1 | 0, 5})
  t.eq(reduce(big):read()[1], 3)
  t.ok(reduce.verify(reduce.choice{x = big}.rung, nil, {x = big}).ok)
end)

t.test("NaN is the result, wherever it stands", function()
  local h = cl.array("float", 5000)
  for _, at in ipairs{1, 2, 777, 5000} do
    h:fill(1)
    h[at] = 0 / 0
    local x = cl.buffer("float", 5000, h)
    for _, op in ipairs{"sum", "min", "max"} do
      for _, k in ipairs(reduce.kernels()) do
        if runs(k.name, nil, {n = 5000}) then
          local y = reduce(x, {op = op, kernel = k.name}):read()[1]
          t.ok(y ~= y, ("%s, %s with NaN at %d is %s"):format(k.name, op, at,
            y))
        end
      end
    end
  end
end)

t.test("the last work-group reduces what all have told", function()
  local why = tiling.mute(device)
  t.skip_if(why, why)
  local _ <close> = t.swap(tiling, "lacks", function() end)
  for _, type in ipairs(TYPES) do
    for _, op in ipairs{"sum", "min", "max"} do
      for _, n in ipairs(SIZES) do
        ladder.verified(reduce, "nv_one_launch", {wg = 32, fill = 16},
          {n = n, type = type, op = op})
      end
    end
  end
  local x, y = cl.buffer("int", 5000, 3), cl.buffer("int", 1)
  local opts = {kernel = "nv_one_launch", wg = 32, y = y}
  local steps <close> = cl.record(function() reduce(x, opts) end)
  t.eq(steps:info().kernels, {"clear", "reduce"})
  for value = 1, 3 do -- each launch has another mark
    x:fill(value)
    steps()
    t.eq(y:read()[1], 5000 * value)
    x:fill(-value)
    reduce(x, opts)
    t.eq(y:read()[1], -5000 * value)
  end
end)

t.test("wrong operands are told in words", function()
  local raises = ladder.raises(reduce)
  raises("reduce: x must be a Buffer, an Array or a nested table; got nothing")
  raises('reduce: op must be one of sum, min, max; got "mean"', {1, 2},
    {op = "mean"})
  raises("reduce: the type must be one of float, double, int",
    cl.array("uchar", 3))
  local m = cl.buffer("float", {4, 4})
  raises("reduce: x must be a vector, or elements without gaps; got a 2x2 "
    .. "matrix of float", m:sub(1, 1, 2, 2))
  raises("wg must be one of 32, 64", {1}, {kernel = "last_steps", wg = 16})
  raises("reduce: y must not share memory with x", m, {y = m:view(1, 1)})
end)

t.test("bench, tune and lesson without and with the name of a kernel",
  function()
    local r = bench("reduce", {1 << 12}, nil, {seconds = 0.02})
    t.eq({r.family, r.title, r.ok, r.mode}, {"reduce", "4096 float", true,
      "cold"})
    t.eq({r.kernel, r.bytes, r.flop},
      {reduce.choice{1 << 12}.rung, 4 * 4097, 4095})
    local best = tune("reduce.last_steps", {1 << 12}, {evaluations = 3})
    t.eq(best.title, "4096 float")
    ladder.lessons(reduce, {"modulo", "strided", "sequential"}, {wg = 32},
      {4096}, "strided over modulo", "sequential over strided")
  end)

t.test("the traffic model sees the bank conflicts of `strided` alone",
  function()
    local traffic = require "clshell.explain.traffic"
    local warps = {nv_warp_size = 32}
    local ways = {}
    for _, name in ipairs{"modulo", "strided", "sequential", "first_add"} do
      local rung = reduce.rung(name)
      local s = reduce.spec.shape{n = 4096}
      s.context = {device = warps}
      local m = traffic.of({defines = {}}, rung, warps, s, {wg = 256})
      ways[name] = m.ways
      t.ok(m.global == 4096 * 4, name .. ": " .. m.global)
    end
    t.eq(ways, {modulo = 1, strided = 8, sequential = 1, first_add = 1})
  end)

t.test("help and the words of its page", function()
  ladder.pages(reduce, "grid_stride", "reduce(x [, opts]) -> y, event",
    '"sum", "min" or "max"')
  t.eq(require "clshell.ladder.families".get "reduce", reduce)
  t.raises(function()
    family.new{name = "reduce", arguments = {{"x", "n"}}, output = {"y", 1},
      rungs = {{}}}
  end, "the name 'reduce' is clshell's own")
end)

t.done()

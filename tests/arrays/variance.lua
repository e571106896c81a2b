-- variance.lua - variances and standard deviations, against loops in Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local double = cl.device():has "cl_khr_fp64"
local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "half",
  "float", double and "double" or nil}

local list = t.list

-- The variance of a list of numbers.
local function truth(v, ddof)
  local mean, sum = 0.0, 0.0
  for _, x in ipairs(v) do
    mean = mean + x / #v
  end
  for _, x in ipairs(v) do
    sum = sum + (x - mean)^2
  end
  return sum / (#v - (ddof or 0))
end

-- f(x) of a Buffer with the elements of an Array.
local function on_device(h, f)
  local x <close> = cl.buffer(h.type, h.shape, h)
  f(x)
end

t.test("whole and along each dimension, of every type", function()
  for _, type in ipairs{TYPES[math.random(6)],
      TYPES[math.random(7, #TYPES)]} do
    local h <close> = cl.array(type, {7, 90}):random(t.seed, 0, 100)
    local all, rows, columns = list(h), {}, {}
    for i = 1, 7 do
      rows[i] = table.move(all, 90 * i - 89, 90 * i, 1, {})
    end
    for j = 1, 90 do
      columns[j] = {}
      for i = 1, 7 do
        columns[j][i] = h:at(i, j)
      end
    end
    on_device(h, function(x)
      local what = ("%s, seed %d"):format(type, t.seed)
      t.near(x:var(), truth(all), 1e-5, what)
      t.near(x:std{ddof = 1}, truth(all, 1)^0.5, 1e-5, what)
      local lines, cols = x:var(2), x:std(1, {ddof = 1})
      t.eq({cl.class(lines), lines.type, lines.shape, cols.shape},
        {"Buffer", type == "double" and "double" or "float", {7}, {90}})
      for i, v in ipairs(list(lines)) do
        t.near(v, truth(rows[i]), 1e-5, what)
      end
      for j, v in ipairs(list(cols)) do
        t.near(v, truth(columns[j], 1)^0.5, 1e-5, what)
      end
      t.near((x * 1):var(), truth(all), 1e-5, "an expression: " .. what)
    end)
  end
end)

t.test("a large mean does not cancel", function()
  local n = 20000
  local reals <close> = cl.array("float", n, function(i)
    return 8192 + i % 3 - 1 -- the squares have more digits than a float
  end)
  local ints <close> = cl.array("int", n, function(i)
    return (1 << 30) + i % 3
  end)
  local words <close> = cl.array("uint", n, function(i)
    return (1 << 32) - 1 - i % 3
  end)
  for _, h in ipairs{reals, ints, words} do
    local far = {} -- from the first element
    for i = 1, n do
      far[i] = h[i] - h[1]
    end
    local want = truth(far)
    on_device(h, function(x)
      t.near(x:var(), want, 1e-5, h.type)
      t.near(list(x:var(1))[1], want, 1e-5, h.type)
    end)
  end
  local flat <close> = cl.array("int", {3, 1001}, (1 << 31) - 1)
  on_device(flat, function(x)
    t.eq({x:var(), list(x:std(2)), x:std{ddof = 3002}},
      {0.0, {0.0, 0.0, 0.0}, 0.0})
  end)
  local one <close> = cl.array("uint", 1000, 0)
  one[1] = 1
  on_device(one, function(x)
    t.near(x:var(), 0.001 * 0.999, 1e-9)
    t.near(list(x:var(1))[1], 0.001 * 0.999, 1e-9)
  end)
end)

t.test("the error keeps its bound", function()
  local n = 100000
  local step = 2.0^-24 * 12 * math.log(n, 2) -- of Buffer:sum
  for _, shift in ipairs{0, 100} do
    local h <close> = cl.array("float", n):normal(t.seed, shift, 0.5)
    local want, size = truth(list(h)), (h:abs()):mean()
    local x <close> = cl.buffer("float", n, h)
    for _, got in ipairs{x:var(), list(x:var(1))[1]} do
      local limit = want * (step + 4 * 2.0^-24)
        + ((step + 2.0^-23) * size)^2
      t.ok(math.abs(got - want) <= limit, ("%g off by %g, seed %d"):format(
        want, got - want, t.seed))
    end
  end
end)

t.test("what has no variance", function()
  local h = cl.array("float", {2, 3}, 1)
  on_device(h, function(x)
    t.raises(function() x:var(3) end,
      "var: dim must be an integer from 1 to 2; got 3", "2x3 is 2")
    t.raises(function() x:std(1, {ddof = 2}) end,
      "std: ddof must be less than the 2 elements of a variance; got 2")
    t.raises(function() x:var{ddof = -1} end, "ddof must be an integer >= 0")
    t.raises(function() x:var{dof = 1} end, "dof")
    for _, y in ipairs{x * 1, x:astype "int"} do
      local first <close> = y:std(1)
      local live = cl.live().Buffer or 0
      local second <close> = y:std(1)
      t.eq({list(first), (cl.live().Buffer or 0) - live},
        {list(second), 1}, "Buffers in between are closed")
    end
    t.raises(function() (x:astype "long"):var() end, 'x:astype "double"')
    t.ok((x * (0 / 0)):std() ~= 0)
  end)
  t.eq(cl.array("float", 1, 5):var(), 0.0)
end)

-- {type, elements, mean, standard deviation} near the limits of a type.
local FAR = {
  {"float", {3e38, 3e38, 3e38}, 3e38, 0},
  {"float", {1e20, 2e20}, 1.5e20, 5e19},
  {"float", {1e-30, 3e-30}, 2e-30, 1e-30}, {"float", {3e38, -3e38}, 0, 3e38},
  {"half", {65504, 65504, 65504}, 65504, 0}, {"float", {3e38}, 3e38, 0},
  {"float", {math.huge, -3e38, -3e38}, math.huge, 0 / 0},
}
if double then
  for _, row in ipairs{
    {"double", {1.7e308, 1.7e308, 1.4e308}, 1.6e308, math.sqrt(2) * 1e307},
    {"double", {1e200, 3e200}, 2e200, 1e200}, {"double", {1e300}, 1e300, 0},
    {"double", {1e-310, 3e-310}, 2e-310, 1e-310}, {"double", {7, 7}, 7, 0},
    {"double", {1e-200, 3e-200}, 2e-200, 1e-200},
    {"double", {1.7e308, -1.7e308}, 0, 1.7e308},
  } do
    table.insert(FAR, row)
  end
end

t.test("near the limits of a type, whole and along a dimension", function()
  for _, row in ipairs(FAR) do
    local type, v, mean, std = table.unpack(row)
    local x <close> = cl.buffer(type, #v, v)
    for _, found in ipairs{{x:mean(), x:std()}, {x:mean(1):read()[1],
        x:std(1):read()[1]}, {x:reshape{#v, 1}:mean(1):read()[1],
        x:reshape{#v, 1}:std(1):read()[1]}} do
      if mean < math.huge then
        t.near(found[1], mean, 1e-6 * math.abs(v[1]))
      else
        t.eq(found[1], mean)
      end
      t.eq(found[2] == found[2], std == std)
      if std == std then
        t.near(found[2], std, 1e-6 * math.abs(v[1]))
      end
    end
  end
  local x <close> = cl.buffer("float", 2, {3e30, 4e30})
  t.near(x:nrm2(1):read()[1], 5e30, 1e25)
  t.near(x:reshape{1, 2}:nrm2(2):read()[1], 5e30, 1e25)
end)

t.done()

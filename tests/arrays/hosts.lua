-- hosts.lua - reductions of Arrays, sums up to each element, elements by their
-- places, and histograms: against Buffers, and loops in Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local double = cl.device():has "cl_khr_fp64"
local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float", double and "double" or nil}
local REAL = {half = true, float = true, double = true}
local TOTALS = {"sum", "min", "max", "argmin", "argmax", "any", "all", "mean",
  "nrm2"}
local NAN = 0 / 0

local function list(x)
  local h = cl.class(x) == "Array" and x or x:read()
  return h:reshape(#h):table()
end

-- An Array of small numbers, whose sums are exact in every type.
local function random(type, shape)
  local whole <close> = cl.array("int", shape):random(t.seed,
    type:find "^u" and 0 or -4, 5)
  local h = (REAL[type] and whole / 2 or whole):astype(type):eval()
  return h
end

-- Some types: kernels are built for each.
local function some()
  return ipairs{TYPES[math.random(6)], TYPES[math.random(7, 8)],
    TYPES[math.random(9, #TYPES)]}
end

-- More than one run of elements, in each place of a shape.
local SHAPES = {{1}, {600}, {1, 1}, {300, 3}, {3, 300}, {2, 270, 5},
  {4, 1, 300}, {2, 3, 4, 5}}

local function near(got, want, what)
  t.eq({got.type, got.shape}, {want.type, want.shape}, what)
  local a, b = list(got), list(want)
  for i = 1, #b do
    t.near(a[i], b[i], 1e-6, what)
  end
end

t.test("reductions along a dimension give what those of Buffers do",
  function()
    for _, type in some() do
      local shape = SHAPES[math.random(#SHAPES)]
      local h <close> = random(type, shape)
      local x <close> = cl.buffer(type, shape, h)
      local dim = math.random(#shape)
      for _, name in ipairs(TOTALS) do
        local what = ("%s of %s %s along %d, seed %d"):format(name, type,
          table.concat(shape, "x"), dim, t.seed)
        if not type:find "long" or name ~= "mean" and name ~= "nrm2" then
          near(h[name](h, dim), x[name](x, dim), what)
        end
      end
      near(h:dot(h + 1, dim), x:dot(x + 1, dim), "dot of " .. type)
    end
  end)

t.test("sums up to each element, of all and along a dimension", function()
  for _, type in ipairs(TYPES) do
    local h <close> = random(type, {3, 130, 5})
    local along = h:cumsum(2)
    for i = 1, 3 do
      for k = 1, 5 do
        local sum = 0
        for j = 1, 130 do
          sum = sum + h:at(i, j, k)
          if along:at(i, j, k) ~= sum then
            t.eq(along:at(i, j, k), sum, ("%s, seed %d"):format(type, t.seed))
          end
        end
      end
    end
  end
  for _, type in some() do
    local h <close> = random(type, {3, 130, 5})
    local x <close> = cl.buffer(type, h.shape, h)
    near(h:cumsum(), x:cumsum(), type)
  end
  local big <close> = cl.array("double", 4, {1, 1e100, 1, -1e100})
  t.eq(list(big:cumsum()), {1.0, 1e100, 1e100, 2.0}, "compensated")
  t.eq(list((cl.array("int", {2, 2}, {{1, 2}, {3, 4}}) * 2):cumsum(1)),
    {2, 4, 8, 12})
  t.eq(list(cl.array("float", 3, {1, NAN, 1}):cumsum():isnan()), {0, 1, 1})
  t.eq(cl.array("float", 2, {math.huge, 1}):cumsum()[2], math.huge)
  t.raises(function() big:cumsum(2) end, "cumsum: dim must be an integer")
end)

t.test("a half is a float in between", function()
  local h = cl.array("half", 2, {60000, 0.5})
  local x <close> = cl.buffer("half", 2, h)
  for _, y in ipairs{h, x} do
    t.eq({(y * 2):sum(), (y * 4):dot(y * 0 + 0.5), (y * 2^-30):all(),
      list((y * 2):cumsum())[1], (y * 2):max(), (y * 4 - y * 4):any()},
      {120001.0, 120001.0, true, 120000.0, math.huge, false})
  end
end)

t.test("NaN comes first along a dimension, too", function()
  local h = cl.array("float", {3, 3}, {{1, NAN, 3}, {-1, 0, NAN}, {4, 5, 6}})
  t.eq({list(h:argmin(2)), list(h:argmax(1)), list(h:min(2):isnan()),
    h:max(2)[3], list(h:any(1)), list(h:all(2))},
    {{2, 3, 1}, {3, 1, 2}, {1, 1, 0}, 6.0, {1, 1, 1}, {1, 0, 1}})
  local wide = cl.array("ulong", {2, 2}, {{-1, 1}, {2, math.mininteger}})
  t.eq({list(wide:max(2)), list(wide:argmin(1)), list(wide:sum(2))},
    {{-1, math.mininteger}, {2, 1}, {0, math.mininteger + 2}})
end)

t.test("gather, scatter and compact do what they do on the device",
  function()
    local n, m = 700, 300
    for _, type in some() do
      local h <close> = random(type, n)
      local x <close> = cl.buffer(type, n, h)
      local order = cl.array("int", n, function(i)
        return i * 3 % n + 1 -- each once
      end)
      local at = order:slice(1, m):eval():reshape{3, 100}
      local there <close> = cl.buffer("int", at.shape, at)
      local y = h:gather(at)
      near(y, x:gather(there), type)
      local z <close> = cl.array(type, n, 0)
      local w <close> = cl.buffer(type, n, 0)
      t.eq(z:scatter(at, y * 1), z, "the Array is the result")
      w:scatter(there, x:gather(there))
      near(z, w, type)
      local taken, count = h:compact(h:gt(2))
      local others, number = x:compact(x:gt(2))
      t.eq(count, number, type)
      near(taken, others, type)
    end
  end)

t.test("lists, views, and values that are elements of the Array", function()
  local h = cl.array("int", 6, {1, 2, 3, 4, 5, 6})
  local x <close> = cl.buffer("int", 6, h)
  t.eq({list(h:gather{6, 1}), list(x:gather{6, 1})}, {{6, 1}, {6, 1}})
  t.eq(list((h * 2):gather(h - 0)), {2, 4, 6, 8, 10, 12})
  t.eq(list(h:slice(-1, 1, -1):gather{1}), {6})
  t.eq(list(h:clone():scatter({2, 3}, h:slice(1, 2))), {1, 1, 2, 4, 5, 6})
  t.eq(list(h:clone():scatter(h, h:slice(-1, 1, -1))), {6, 5, 4, 3, 2, 1})
  h:scatter(h:slice(-1, 1, -1), h)
  t.eq(list(h), {6, 5, 4, 3, 2, 1}, "reads what it sets")
  t.eq(list(h:scatter({1, 1}, cl.array("int", 2, {7, 8}))),
    {8, 5, 4, 3, 2, 1}, "the last one stays")
  t.eq(list(h:reshape{2, 3}:scatter({4}, 0)), {8, 5, 4, 0, 2, 1})
  t.eq(list(cl.array("half", 2, 1):scatter({2}, 0.5)), {1.0, 0.5})
  t.eq({h:compact(h:gt(100))}, {nil, 0})
  t.eq(list((h:reshape{2, 3}:compact(h:reshape{2, 3} // 4))), {8, 5, 4})
  x:scatter({6}, 60)
  t.eq(list(x), {1, 2, 3, 4, 5, 60})
end)

t.test("an index that is not there is refused", function()
  local h = cl.array("float", 4, {1, 2, 3, 4})
  local x <close> = cl.buffer("float", 4, h)
  for _, y in ipairs{h, x} do
    t.raises(function() y:gather{9} end,
      "gather: index 1 of the list must be from 1 to 4; got 9",
      "indices count from 1; {check = false} gives 0 for those outside")
    t.raises(function() y:scatter({1, 0}, 5) end, "index 2 of the list",
      "{check = false} leaves out those outside")
    t.raises(function() y:gather(9) end, "the indices must be a list",
      "for one element: {9}")
    t.raises(function() y:gather() end, "the indices must be a list")
    t.raises(function() y:gather{} end, "the list of indices is empty")
    t.raises(function() y:gather{1, 1.5} end, "index 2 of the list must be "
      .. "an integer; got 1.5")
    t.raises(function() y:gather(y) end, "takes integers; got float")
    t.eq(list(y:gather({2, 5, -1}, {check = false})), {2.0, 0.0, 0.0})
    y:scatter({2, 5, math.mininteger}, 9, {check = false})
    t.eq(list(y), {1.0, 9.0, 3.0, 4.0})
    t.raises(function() y:scatter({1, 2}, cl.array("float", 3, 0)) end,
      "the shape 2 of the indices, or be one; got 3")
  end
  t.raises(function() h:clone():astype "uchar":eval():scatter({1}, 300) end,
    "scatter: 300 does not fit uchar (0..255)")
  t.raises(function() cl.array("int", 3):scatter({1}, 1.5) end,
    "scatter: float elements into a Buffer of int")
  t.raises(function() h:sum(1, 1) end, "sum takes one dim at a time")
  t.raises(function() h:dot(h, 1, 1) end, "dot takes one dim at a time")
  t.raises(function() cl.concatenate{h, x} end, "cl.concatenate: got an Array")
  t.raises(function() x:gather(cl.array("int", 1, 1)) end,
    "an Array beside a Buffer")
  t.raises(function() h:compact(x:gt(0)) end, "an Array beside a Buffer")
  t.raises(function() h:compact(cl.array("int", 3, 1)) end,
    "the mask must have the shape 4; got 3")
  t.raises(function() cl.array("int", 2):scatter({1}, h:slice(1, 1)) end,
    "scatter: float elements into a Buffer of int")
  t.raises(function() h.scatter(nil, {1}, 1) end, "Array:scatter: self")
end)

t.test("unique and histogram do what they do on the device", function()
  for _, type in some() do
    local h <close> = random(type, 5000)
    local x <close> = cl.buffer(type, 5000, h)
    local bins = REAL[type] and {from = -3, to = 4, bins = 9}
      or {from = 1, to = 4, bins = 2}
    near(h:histogram(bins), (x:histogram(bins)), type)
    if type ~= "half" then
      local values, counts = h:unique()
      local others, numbers = x:unique()
      near(values, others, type)
      near(counts, numbers, type)
    end
  end
  local h <close> = cl.array("float", 70001):random(t.seed, -1, 2)
  local x <close> = cl.buffer("float", #h, h)
  local bins = {from = 0, to = 1, bins = 77}
  t.eq(list(h:histogram(bins)), list((x:histogram(bins))), "as a device cuts")
  local values, counts = cl.array("half", 6, {NAN, 0.0, 1, -0.0, -NAN, 1})
    :unique()
  t.eq({#values, values[1], values[2], list(counts)}, {3, 0.0, 1.0,
    {2, 2, 2}})
  t.eq(list((cl.array("int", {2, 2}, {{1, 2}, {3, 4}}) // 2):unique()),
    {0, 1, 2})
  local wide = cl.array("long", 3, {math.mininteger, -1, 5})
  t.eq(list(wide:histogram{from = math.mininteger, to = -1 ~ 0xf, bins = 1}),
    {1})
  t.eq(list(cl.array("uchar", 3, {0, 255, 255}):histogram())[256], 2)
  t.raises(function() wide:histogram{from = 1, to = 0} end, "no values")
  t.raises(function() h:histogram{bins = 3} end, "from must be a number")
end)

t.done()

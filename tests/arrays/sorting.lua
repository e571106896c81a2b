-- sorting.lua - sort, argsort, unique and histogram of Buffers, Expressions
-- and Arrays, against Lua
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.keeps("Program", "Kernel", "Launch")
local double = t.device():has "cl_khr_fp64"

local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float", double and "double" or nil}

local list = t.list

t.test("sort and argsort, of Buffers, Expressions and Arrays", function()
  local h <close> = cl.array("int", 3001):random(11, -50, 50)
  local x <close> = cl.buffer("int", 3001, h)
  for _, order in ipairs{"ascending", "descending"} do
    local expected, places = {}, {}
    for i = 1, #h do
      expected[i], places[i] = h[i], i
    end
    local sign = order == "ascending" and 1 or -1
    table.sort(expected, function(a, b)
      return sign * a < sign * b
    end)
    table.sort(places, function(i, j)
      if h[i] ~= h[j] then
        return sign * h[i] < sign * h[j]
      end
      return i < j
    end)
    t.eq(list(x:sort{order = order}), expected)
    t.eq(list(x:argsort{order = order}), places)
    t.eq(list(h:sort{order = order}), expected)
    t.eq(list(h:argsort{order = order}), places)
    t.eq(list((x * -sign):argsort{order = order}), list((x * -sign)
      :argsort{order = order}))
  end
  t.eq(list((7 - cl.arange(1, 3)):sort()), {4, 5, 6})
  t.eq(list(cl.arange(1, 6):slice(-1, 1, -2):sort()), {2, 4, 6})
  t.raises(function() h:sort{order = 1} end, "sort: order must be one of")
  t.eq(x:argsort().type, "uint")
  local y, event = x:sort()
  t.eq({y.type, y.shape, event:wait() ~= nil}, {"int", {3001}, true})
end)

t.test("values move with their elements", function()
  local x <close> = cl.buffer("short", 4, {3, 1, 3, 2})
  local v <close> = cl.buffer("float2", 4, {{1, 1}, {2, 2}, {3, 3}, {4, 4}})
  local y, w = x:sort{values = v, order = "descending"}
  t.eq(list(y), {3, 3, 2, 1})
  t.eq({w.type, list(w:as "float")}, {"float2", {1, 1, 3, 3, 4, 4, 2, 2}})
  local _, index = x:sort{values = cl.arange(1, 4)}
  t.eq(list(index), list(x:argsort()))
  for _, type in ipairs{"half", "half2"} do -- whatever the device has
    local halves <close> = cl.buffer(type, 4, function(i) return i end)
    local _, moved = x:sort{values = halves}
    t.eq({moved.type, list(moved:as "half")[1]}, {type, 2})
  end
  local h = cl.array("short", {2, 2}, {{3, 1}, {3, 2}})
  local u = cl.array("double", 4, {1, 2, 3, 4})
  y, w = h:sort{values = u, order = "descending"}
  t.eq({y.type, list(y)}, {"short", {3, 3, 2, 1}}, "of Arrays")
  t.eq({w.type, list(w)}, {"double", {1, 3, 4, 2}})
  w = select(2, x:sort{values = h:reshape(4)})
  t.eq(list(w), {1, 2, 3, 3})
  t.raises(function() h:sort{values = cl.array("int", 3)} end,
    "sort: values must have 4 elements; got 3")
  t.raises(function() x:sort{values = cl.arange(1, 3)} end,
    "sort: values must have 4 elements; got 3")
  t.raises(function() x:sort{values = 1} end, "values must be a Buffer")
  t.raises(function() x:sort{value = v} end, "value")
  t.raises(function() x:sort{order = "up"} end, "order must be one of")
  t.raises(function() x:sort(1) end, "options")
end)

t.test("rows with gaps, views and closed Buffers", function()
  local m <close> = cl.buffer("int", {2, 3}, {{6, 5, 4}, {3, 2, 1}},
    {ld = 32})
  t.eq(list(m:sort()), {1, 2, 3, 4, 5, 6})
  t.eq(list(m:argsort()), {6, 5, 4, 3, 2, 1})
  local x <close> = cl.buffer("int", 1064, function(i) return -i end)
  t.eq(list(x:view(1025, 1027):sort()), {-1027, -1026, -1025})
  local gone = cl.buffer("int", 4)
  gone:close()
  t.raises(function() gone:sort() end, "closed")
  t.raises(function() cl.buffer("int2", 4):sort() end, "no operand")
end)

t.test("sort and argsort along each dimension", function()
  for _, type in ipairs{"float", "int", "half"} do
    local h = cl.array(type, {3, 5, 4}):random(t.seed, -9, 9)
    local x <close> = cl.buffer(type, h.shape, h)
    for dim, size in ipairs(h.shape) do
      for _, order in ipairs{"ascending", "descending"} do
        local y <close> = x:sort{dim = dim, order = order}
        local places <close> = x:argsort{dim = dim, order = order}
        t.eq({y.shape, places.shape, places.type}, {h.shape, h.shape, "uint"})
        local found, at = y:read(), places:read()
        for row = 1, #h // size do
          -- Indices of the k-th element of a row along the dimension.
          local function index(k)
            local i, rest = {}, row - 1
            for d, n in ipairs(h.shape) do
              i[d] = d == dim and k or rest % n + 1
              rest = d == dim and rest or rest // n
            end
            return table.unpack(i)
          end
          local v = {}
          for k = 1, size do
            v[k] = {h:at(index(k)), k}
          end
          table.sort(v, function(a, b)
            if a[1] == b[1] then return a[2] < b[2] end
            return (a[1] < b[1]) == (order == "ascending")
          end)
          for k = 1, size do
            t.eq({found:at(index(k)), at:at(index(k))}, v[k])
          end
        end
      end
    end
  end
  local x <close> = cl.buffer("int", 3, {3, 1, 2})
  t.eq({list(x:sort{dim = 1}), list(x:argsort{dim = 1})}, {{1, 2, 3},
    {2, 3, 1}})
  t.raises(function() x:sort{dim = 2} end, "from 1 to 1")
  t.raises(function() x:sort{dim = 1, values = x} end, "argsort{dim = 1}")
end)

t.test("unique: the different elements and their numbers", function()
  for _, type in ipairs(TYPES) do
    for _, n in ipairs{1, 2, 500, 7001} do
      local h <close> = cl.array(type, n)
      for i = 1, n do
        h[i] = i * i % 37
      end
      local count, expected, numbers = {}, {}, {}
      for i = 1, n do
        count[h[i]] = (count[h[i]] or 0) + 1
      end
      for value in pairs(count) do
        expected[#expected + 1] = value
      end
      table.sort(expected)
      for i, value in ipairs(expected) do
        numbers[i] = count[value]
      end
      local x <close> = cl.buffer(type, n, h)
      local values, counts = x:unique()
      t.eq({list(values), list(counts)}, {expected, numbers}, type)
    end
  end
  local values, counts = cl.buffer("float", 6, {0 / 0, 0.0, 1, -0.0,
    -(0 / 0), 1}):unique()
  t.eq(list(counts), {2, 2, 2})
  t.eq({values:read()[1], values:read()[2]}, {0.0, 1.0})
  t.eq(list((cl.arange(0, 99) // 50):unique()), {0, 1})
end)

t.test("histogram: bins of integers", function()
  for _, type in ipairs(TYPES) do
    local h <close> = cl.array(type, 20001):random(3, 0, 99)
    if math.type(h[1]) == "integer" then
      local x <close> = cl.buffer(type, #h, h)
      local each, tens = {}, {}
      for i = 1, 80 do
        each[i], tens[(i - 1) // 10 + 1] = 0, 0
      end
      for _, value in ipairs(h:table()) do
        if value >= 10 and value < 90 then
          each[value - 9] = each[value - 9] + 1
          tens[value // 10] = tens[value // 10] + 1
        end
      end
      t.eq(list(x:histogram{from = 10, to = 89}), each, type)
      t.eq(list(x:histogram{from = 10, to = 89, bins = 8}), tens, type)
    end
  end
  local x <close> = cl.buffer("char", 3, {-128, 127, 127})
  local counts = list(x:histogram{})
  t.eq({#counts, counts[1], counts[128], counts[256]}, {256, 1, 0, 2})
  local many = cl.arange(0, 99999):histogram{from = 0, to = 99999}
  t.eq(list(many:unique()), {1})
  local wide <close> = cl.buffer("long", 3, {math.mininteger, -1, 5})
  t.eq(list(wide:histogram{from = math.mininteger, to = -1 ~ 0xf, bins = 1}),
    {1})
end)

t.test("histogram: bins of reals", function()
  for _, type in ipairs{"half", "float", double and "double" or nil} do
    local x <close> = cl.buffer(type, 9, {0, 0.25, 0.5, 0.75, 1, 1.25, -0.25,
      0 / 0, 1 / 0})
    t.eq(list(x:histogram{from = 0, to = 1, bins = 4}), {1, 1, 1, 2}, type)
    t.eq(list(x:histogram{from = -1, to = 3, bins = 2}), {5, 2}, type)
  end
  t.eq(list((2 * cl.linspace(0, 1, 5)):histogram{from = 0, to = 2, bins = 2}),
    {2, 3})
end)

t.test("NaN of every kind keep their order", function()
  local bits = {0x7fc00001, 0xffc00000, 0x3f800000, 0x7fc00000, 0xffffffff,
    0xff800000, 0x7f800001, 0x7fffffff, 0x7f800000, 0xff800001}
  local b <close> = cl.buffer("uint", #bits, bits)
  local x = b:as "float"
  t.eq(x:argsort():read():table(), {6, 3, 9, 1, 2, 4, 5, 7, 8, 10})
  t.eq(x:argsort{order = "descending"}:read():table(),
    {9, 3, 6, 1, 2, 4, 5, 7, 8, 10})
  local y <close> = cl.buffer("uint", #bits)
  for _, kernel in ipairs{"bitonic", "bitonic_local", "radix",
      cl.device().type == "cpu" and "blocks" or nil} do
    for _, order in ipairs{"ascending", "descending"} do
      sort(x, {kernel = kernel, index = y, order = order})
      local first = order == "ascending" and {6, 3, 9} or {9, 3, 6}
      t.eq({kernel, y:read():table()}, {kernel, {first[1], first[2], first[3],
        1, 2, 4, 5, 7, 8, 10}})
    end
  end
end)

t.test("histogram: a range beyond the type", function()
  local function bins(type, v, opts)
    return cl.buffer(type, #v, v):histogram(opts):read():table()
  end
  t.eq(bins("float", {-3e38, -1, 1, 2e38, 3e38}, {from = -3e38, to = 3e38,
    bins = 3}), {1, 2, 2})
  t.eq(bins("float", {2e-44, 1e-43, 5}, {from = 0, to = 1e-43, bins = 2}),
    {1, 1})
  if cl.device():has "cl_khr_fp64" then
    t.eq(bins("float", {-3e38, 3e38}, {from = -1e300, to = 1, bins = 2}),
      {0, 1})
    t.eq(bins("double", {-1.7e308, 1e300, 1.7e308, math.huge},
      {from = -1.7e308, to = 1.7e308, bins = 3}), {1, 1, 1})
    t.eq(bins("double", {1e-310, 2.5e-310, 5}, {from = 0, to = 3e-310,
      bins = 3}), {0, 1, 1})
  end
end)

t.test("histogram: what it refuses", function()
  local x <close> = cl.buffer("int", 4, 1)
  local y <close> = cl.buffer("float", 4, 1)
  for text, f in pairs{
    ["from must be a number; got nothing"] = function() x:histogram{} end,
    ["x:histogram{from = 0, to = 1, bins = 10}"] = function()
      x:histogram() end,
    ["bins must divide the 10 values from 0 to 9; got 3"] = function()
      x:histogram{from = 0, to = 9, bins = 3}
    end,
    ["from must be one of int's values; got 0.5"] = function()
      x:histogram{from = 0.5, to = 9}
    end,
    ["from 9 to 0 are no values"] = function() x:histogram{from = 9, to = 0}
    end,
    ["bins must be an integer from 1 to 2147483647; got nothing"] = function()
      y:histogram{from = 0, to = 1}
    end,
    ["bins must be an integer from 1 to 2147483647; got 0"] = function()
      y:histogram{from = 0, to = 1, bins = 0}
    end,
    ["from must be below to; got 1.0 and 1.0"] = function()
      y:histogram{from = 1, to = 1, bins = 2}
    end,
    ["to must be finite; got inf"] = function()
      y:histogram{from = 0, to = 1 / 0, bins = 2}
    end,
    ["from -9223372036854775808 to 9223372036854775807 are no values"] =
      function()
        x:astype "long":histogram{from = math.mininteger,
          to = math.maxinteger}
      end,
  } do
    t.raises(f, text)
  end
end)

t.done()

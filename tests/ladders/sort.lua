-- sort.lua - every rung of the sorts, on sizes that fit no work-group, in all
-- types and orders, with the places of the elements; the call that names no
-- kernel
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local help = require "clshell.help"
local ladder = require "ladder"
local sort = require "clshell.sort"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local TYPES = {"float", "int", "uint", "char", "uchar", "short", "ushort",
  "long", "ulong", "half",
  device:has "cl_khr_fp64" and "double" or nil}
local ORDERS = {"ascending", "descending"}

for i, rung in ipairs(sort.list) do
  t.test(rung.name .. ": types and sizes", function()
    for j, type in ipairs(TYPES) do
      if (i + j) % 2 == 0 or type == "float" then
        for _, n in ipairs{1, 7, 1000, 5001} do
          ladder.verified(sort, rung.name, nil, {n = n, type = type,
            order = ORDERS[(i + j) // 2 % 2 + 1], index = j // 4 % 2 == 0})
        end
      end
    end
  end)

  t.test(rung.name .. ": every value of every parameter", function()
    ladder.each_value(sort, rung.name, {{n = 9001, type = "uchar",
      index = true}})
  end)
end

t.test("zeros, infinities and NaN have their places in every rung", function()
  local list = {3, -1, 0 / 0, 0.0, -0.0, 1 / 0, -1 / 0, -(0 / 0), 2, -1}
  local index <close> = cl.buffer("uint", #list)
  for _, type in ipairs{"float", "half", TYPES[11]} do
    local x <close> = cl.buffer(type, #list, list)
    for _, rung in ipairs(sort.list) do
      if sort.check(rung.name, nil, {n = #list, type = type}) then
        local o = {kernel = rung.name, index = index}
        sort(x, o)
        t.eq({table.unpack(index:read():table(), 1, 8)},
          {7, 2, 10, 5, 4, 9, 1, 6}, rung.name)
        o.order = "descending"
        sort(x, o)
        t.eq({table.unpack(index:read():table(), 1, 8)},
          {6, 1, 9, 4, 5, 2, 10, 7}, rung.name)
      end
    end
  end
end)

t.test("a call takes what it is given", function()
  t.eq(sort{3, 1, 2}:read():table(), {1, 2, 3})
  t.eq(sort(cl.array("int", 3, {5, -9, 2}), {order = "descending"}):read()
    :table(), {5, 2, -9})
  t.eq(sort{{4, 3}, {2, 1}}:read():table(), {1, 2, 3, 4})
  t.eq(sort{7}:read():table(), {7})
  local x <close> = cl.buffer("int", 5000, 3)
  local y <close> = cl.buffer("int", 5000)
  local index <close> = cl.buffer("uint", 5000)
  for _ = 1, 2 do -- the second time by the plan that is kept
    index:fill(0)
    t.eq(sort(x, {y = y, index = index}), y)
    t.eq({index:read()[1], index:read()[5000]}, {1, 5000})
  end
  t.eq(sort((2 - cl.arange(1, 3))):read():table(), {-1, 0, 1})
end)

t.test("what a call refuses", function()
  local x <close> = cl.buffer("int", 4, 1)
  local index <close> = cl.buffer("uint", 3)
  t.raises(function() sort(x, {order = "up"}) end,
    'sort: order must be one of ascending, descending; got "up"')
  t.raises(function() sort(x, {index = index}) end,
    "sort: index must have 4 elements; got 3")
  t.raises(function() sort(x, {index = x}) end,
    "sort: the type of index must be uint; got a vector of 4 int")
  t.raises(function() sort(x, {index = 1}) end, "sort: index must be a Buffer")
  t.raises(function() sort(x, {y = x}) end,
    "sort: y must not share memory with x")
  local all <close> = cl.buffer("uint", 8, 1)
  t.raises(function()
    local y <close> = cl.buffer("uint", 8)
    sort(all, {y = y, index = y})
  end, "sort: index must not share memory with y")
  t.raises(function() sort(cl.buffer("int2", 4)) end, "the type must be one")
  t.eq(sort(x):read():table(), {1, 1, 1, 1})
end)

t.test("bench, tune and help", function()
  local r = bench("sort", {n = 4096, type = "uint", index = true}, nil,
    {seconds = 0.02})
  t.eq({r.family, r.title, r.ok, r.bytes}, {"sort", "4096 uint index", true,
    2 * 4 * 4096})
  t.eq(tune("sort.radix", {4096}, {evaluations = 2}).title, "4096 float")
  t.ok(help.text "sort":find("bitonic_local", 1, true))
  t.ok(help.text "sort.wide":find("NDRange", 1, true))
end)

t.done()

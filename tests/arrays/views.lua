-- views.lua - slices, shifts, transposes and diagonals of Buffers and Arrays,
-- against lists of indexes
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local list = t.list

-- A view in Lua: {shape, at}: at(indexes) is the place, from 1, in a list.
local function whole(shape)
  return {shape = shape, at = function(i)
    local k = 0
    for d, n in ipairs(shape) do
      k = k * n + i[d] - 1
    end
    return k + 1
  end}
end

local function places(v)
  local all = {{}}
  for _, n in ipairs(v.shape) do
    local more = {}
    for _, i in ipairs(all) do
      for k = 1, n do
        more[#more + 1] = {table.unpack(i)}
        table.insert(more[#more], k)
      end
    end
    all = more
  end
  for k, i in ipairs(all) do
    all[k] = v.at(i)
  end
  return all
end

-- Random views: the Expression of x, and the same in Lua.
local VIEWS = {}

function VIEWS.slice(x, v)
  local given, shape, kept = {}, {}, {}
  for d, n in ipairs(v.shape) do
    local from, to = math.random(n), math.random(n)
    local step = (from > to and -1 or 1) * math.random(2)
    if math.random(4) == 1 and #v.shape > 1 then
      given[d] = math.random(2) == 1 and from or from - n - 1
      kept[d] = {first = from}
    else
      given[d] = {math.random(2) == 1 and from or from - n - 1, to, step}
      shape[#shape + 1] = (to - from) // step + 1
      kept[d] = {first = from, step = step, k = #shape}
    end
  end
  if not shape[1] then
    return x, v
  end
  return x:slice(table.unpack(given)), {shape = shape, at = function(i)
    local j = {}
    for d, r in ipairs(kept) do
      j[d] = r.first + (r.k and (i[r.k] - 1) * r.step or 0)
    end
    return v.at(j)
  end}
end

function VIEWS.shift(x, v)
  local by = {}
  for d, n in ipairs(v.shape) do
    by[d] = math.random(-2 * n, 2 * n)
  end
  return x:shift(table.unpack(by)), {shape = v.shape, at = function(i)
    local j = {}
    for d, n in ipairs(v.shape) do
      j[d] = (i[d] - 1 - by[d]) % n + 1
    end
    return v.at(j)
  end}
end

function VIEWS.transpose(x, v)
  local order, shape = {}, {}
  for d = 1, #v.shape do
    table.insert(order, math.random(#order + 1), d)
  end
  if #order == 1 then
    return x, v
  end
  for k, d in ipairs(order) do
    shape[k] = v.shape[d]
  end
  return x:transpose(table.unpack(order)), {shape = shape, at = function(i)
    local j = {}
    for k, d in ipairs(order) do
      j[d] = i[k]
    end
    return v.at(j)
  end}
end

function VIEWS.diagonal(x, v)
  local m, n = table.unpack(v.shape)
  if #v.shape ~= 2 then
    return x, v
  end
  local k = math.random(1 - m, n - 1)
  local row, col = math.max(-k, 0), math.max(k, 0)
  return x:diagonal(k), {shape = {math.min(m - row, n - col)},
    at = function(i)
      return v.at{i[1] + row, i[1] + col}
    end}
end

local NAMES = {"slice", "shift", "transpose", "diagonal"}

-- Up to three views, one of another; a part of a shift has no more of some.
local function random_view(x, shape)
  local v, steps = whole(shape), {}
  for _ = 1, math.random(3) do
    local name = NAMES[math.random(#NAMES)]
    local fine, e, w = pcall(VIEWS[name], x, v)
    if fine then
      x, v, steps[#steps + 1] = e, w, name
    else
      t.ok(tostring(e):find "evaluate it first", e)
    end
  end
  return x, v, table.concat(steps, " ")
end

t.test("random views read, and set, the elements where they are", function()
  for round = 1, 50 do
    local shape, count = {}, 1
    for d = 1, math.random(3) do
      shape[d] = math.random(6)
      count = count * shape[d]
    end
    local numbers = {}
    for k = 1, count do
      numbers[k] = k
    end
    local b <close> = round % 2 == 0 and cl.arange(1, count)
      or cl.array("int", count, numbers)
    local x = b:reshape(shape)
    local e, v, name = random_view(x, shape)
    local what = ("%s of %s, seed %d"):format(name, table.concat(shape, "x"),
      t.seed)
    local at = places(v)
    t.eq(list(e), at, what)
    local f, w = random_view(x + x, shape)
    local double = places(w)
    for k, place in ipairs(double) do
      double[k] = 2 * place
    end
    t.eq(list(f), double, "of a calculation, seed " .. t.seed)
    if name ~= "" then
      e:set(-e)
      for _, place in ipairs(at) do
        numbers[place] = -numbers[place]
      end
      t.eq(list(x), numbers, "set " .. what)
      if #v.shape == 1 then
        e:set(e:slice(-1, 1, -1))
        local old = {table.unpack(numbers)}
        for k, place in ipairs(at) do
          numbers[place] = old[at[#at + 1 - k]]
        end
        t.eq(list(x), numbers, "set to others of itself " .. what)
      end
    end
  end
end)

t.test("a slice counts as string.sub and for do", function()
  local x <close> = cl.arange(1, 10)
  t.eq(list(x:slice(3)), {3, 4, 5, 6, 7, 8, 9, 10})
  t.eq(list(x:slice(2, -8)), {2, 3})
  t.eq(list(x:slice(1, -1, 4)), {1, 5, 9})
  t.eq(list(x:slice(-1, 1, -4)), {10, 6, 2})
  t.eq(list(x:slice(nil, nil, -5)), {10, 5})
  t.eq(list(x:slice(4, 4)), {4})
  local A = x:reshape{2, 5}
  t.eq(list(A:slice(2)), {6, 7, 8, 9, 10})
  t.eq(list(A:slice({}, {1, -1, 3})), {1, 4, 6, 9})
  t.eq({A:slice({}, -1).shape, list(A:slice({}, -1))}, {{2}, {5, 10}})
  t.eq({A:slice(2, {}).shape, list(A:slice(2, {}))}, {{5}, {6, 7, 8, 9, 10}})
  t.eq(tostring(A:slice({2}, {2, 3})), "Expression int[1][2]")
  local refused = {
    {"index 0 leaves 1..10 of dimension 1", 0},
    {"index 11 leaves 1..10 of dimension 1", 1, 11},
    {"a step must not be 0", 1, 2, 0},
    {'an index must be an integer; got "a"', "a"},
    {"a range is {from, to, step}; got 4 values", {1, 2, 3, 4}},
    {"2 ranges for the shape 10", {1}, {2}},
  }
  t.raises(function() x:slice() end, "takes from, to and step")
  for k = 1, #refused do
    t.raises(function() x:slice(table.unpack(refused[k], 2)) end,
      refused[k][1])
  end
end)

t.test("nothing in place of a range is an error with its remedy", function()
  local A <close> = cl.buffer("int", {3, 4}, 0)
  for _, args in ipairs{{nil, 2, nil}, {nil, 2}, {{}, nil}} do
    local n = args[1] and 2 or 3
    t.raises(function() A:slice(table.unpack(args, 1, n)) end,
      "{} is all of a dimension")
  end
end)

t.test("a slice is a target", function()
  local x <close> = cl.arange(1, 6)
  x:slice(2, 3):set(0)
  t.eq(list(x), {1, 0, 0, 4, 5, 6})
  x:slice(2, -1):set(x:slice(1, -2))
  t.eq(list(x), {1, 1, 0, 0, 4, 5}, "they overlap")
  x:slice(1, -1, 2):set(x:slice(2, -1, 2))
  t.eq(list(x), {1, 1, 0, 0, 5, 5}, "they lie between each other")
  x:set(x:slice(-1, 1, -1))
  t.eq(list(x), {5, 5, 0, 0, 1, 1}, "backwards")
  x:slice(1, 2):axpy(2, x:slice(5, 6))
  t.eq(list(x), {7, 7, 0, 0, 1, 1})
  local A <close> = cl.buffer("half", {3, 3}, 0, {ld = 5})
  A:diagonal():set(A:diagonal() + 1)
  A:slice({}, 3):set(cl.arange(1, 3, {type = "half"}))
  A:set(A:transpose())
  t.eq(list(A), {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0})
  local part = A:matrix(6, 2, 2, 5) -- it begins inside the memory
  part:slice(1, {}):set(7)
  t.eq(list(A:slice(2, {})), {7.0, 7.0, 0.0})
  t.raises(function() x:slice(1, 2):set(0.5) end,
    "set: elements of int take whole numbers; got 0.5")
  local k <close> = cl.kernel [[
    kernel void double_of(global float *y, global const float *x) {
      y[get_global_id(0)] = 2 * x[get_global_id(0)];
    }]]
  local y <close> = cl.buffer("float", 2, 0)
  k:range(2)(y, cl.arange(1, 4, 1, {type = "float"}):slice(3, 4))
  t.eq(list(y), {6.0, 8.0})
  t.raises(function() k:range(1)(y:slice(2, 2), y) end,
    "double_of: argument 1 'y' is no pointer to const", "b:view(")
  k:range(1)(y:slice(2, 2):eval(), y)
  t.eq(list(y), {6.0, 8.0})
  t.raises(function() x:slice(1, 3):set(x:slice(1, 2)) end,
    "do not broadcast")
  t.raises(function() x:slice(1, 1):set(x) end, "the target has shape 1")
  t.raises(function() (x + 1):set(2) end, "a calculation has no elements")
  local s = x:slice(1, 2)
  t.raises(function() s:fill(1) end, "e:set(x) sets its elements")
  x:close()
  t.raises(function() s:set(1) end, "the Buffer int[2] of the expression is")
end)

t.test("a large matrix transposed by itself", function()
  for _, shape in ipairs{{300, 257}, {257, 257}} do
    local m, n = table.unpack(shape)
    local A <close> = cl.buffer("float", shape, function(i, j)
      return i * 1000 + j
    end)
    local B = A:transpose():eval()
    local gaps <close> = cl.buffer("float", {n, m}, 0, {ld = m + 3})
    gaps:set(A:transpose())
    if m == n then
      A:set(A:transpose())
    end
    for _, C in ipairs{B, gaps, m == n and A or nil} do
      local h <close> = C:read()
      for _ = 1, 100 do
        local i, j = math.random(n), math.random(m)
        t.eq(h:at(i, j), j * 1000.0 + i)
      end
    end
    t.eq(list(A:transpose():slice(2, 2)), list(A:slice({}, 2)))
  end
end)

t.test("many places need no more memory than a few", function()
  local x <close> = cl.buffer("uchar", 6000, 1)
  local function round()
    for k = 1, 4500 do
      x:slice(k, k + 1000):set(k % 7)
    end
    x:read():close()
    collectgarbage()
    collectgarbage()
    return collectgarbage "count"
  end
  local before, programs = round(), cl.live().Program
  t.ok(round() - before < 2000, "KiB")
  t.eq(cl.live().Program, programs)
end)

t.test("slices behind element 2^31", function()
  local n = (1 << 31) + 9
  local fine, x = pcall(cl.buffer, "uchar", n)
  if not fine then
    t.skip(tostring(x):match "[^\n]*")
  end
  x:slice(n - 9, n):set(cl.arange(1, 10))
  t.eq(list(x:slice(-1, -10, -3) + 0), {10, 7, 4, 1})
  x:slice(1, -1, 1 << 31):set(77)
  t.eq(list(x:slice(1, -1, 1 << 31)), {77, 77})
  t.eq(list(x:slice(-10, -8)), {1, 77, 3})
  t.eq(x:shift(-(1 << 31)):slice(1, 1):read()[1], 77)
  x:close()
end)

t.test("joined, stacked, tiled and transposed", function()
  local x <close> = cl.arange(1, 4)
  local A = x:reshape{2, 2}
  t.eq({list(cl.stack{x, 2 * x}), cl.stack{x, x}.shape},
    {{1, 2, 3, 4, 2, 4, 6, 8}, {2, 4}})
  t.eq(list(cl.concatenate{A, A:slice({1, 1}, {})}), {1, 2, 3, 4, 1, 2})
  t.eq(list(cl.concatenate({A, A:slice({}, {1, 1})}, 2)), {1, 2, 1, 3, 4, 3})
  local C = x:reshape{1, 2, 2}
  t.eq(list(cl.concatenate({C, C}, 3)), {1, 2, 1, 2, 3, 4, 3, 4})
  t.eq(list(x:tile(2)), {1, 2, 3, 4, 1, 2, 3, 4})
  t.eq(list(A:transpose():tile(2, 2)),
    {1, 3, 1, 3, 2, 4, 2, 4, 1, 3, 1, 3, 2, 4, 2, 4})
  t.eq((x:slice(1, 2) + x:reshape{4, 1}).shape, {4, 2})
  t.eq({(2 * x):reshape{2, 2}.shape, (2 * x):clone():read()[4]}, {{2, 2}, 8})
  t.raises(function() cl.stack({x, x}, 2) end, "a list alone", "transpose()")
  t.raises(function() cl.stack{} end, "cl.stack: the list is empty")
  t.raises(function() cl.stack(x) end, "list must be a table; got a Buffer",
    "cl.stack{x, y}")
  t.raises(function() cl.stack{x, A} end, "element 2 is int 2x2, the first")
  t.raises(function() cl.stack{x, x:slice(2)} end, "element 2 has the shape 3")
  t.raises(function() cl.concatenate({A, A}, 3) end, "dim must be")
  t.raises(function() cl.concatenate{A, x:reshape{1, 4}} end,
    "element 2 has the shape 1x4, the first 2x2; only dimension 1 may differ")
  t.raises(function() x:transpose() end, "b:reshape{4, 1} is a column")
  t.raises(function() A:transpose(1, 1) end, "each of the 2 dimensions once")
  t.raises(function() A:transpose(nil, 1) end,
    "transpose: a dimension must be an integer from 1 to 2; got nothing")
  t.raises(function() x:tile() end, "takes 1 count; got 0")
  t.raises(function() A:diagonal(2) end, "k must be an integer from -1 to 1")
  t.raises(function() x:diagonal() end, "takes a matrix; got the shape 4")
  t.raises(function() A:shift(1, 1):diagonal() end, "evaluate it first")
end)

t.done()

-- effects.lua - the effects of parameters: on spaces whose effects are known,
-- and on parts of them
-- SPDX-License-Identifier: MIT

local t = require "t"
local effects = require "clshell.tune.effects"
local spaces = require "clshell.tune.space"

-- The rows of all points, or of `some`, with the value that f gives (nil:
-- failed).
local function rows_of(space, f, some)
  local rows = {}
  for i = 1, #space do
    local p = space:point(i)
    if not some or some(p, i) then
      local value = f(p)
      rows[#rows + 1] = {point = p, value = value, ms = value,
        status = value and "ok" or "failed"}
    end
  end
  return rows
end

local function by_name(list)
  local map = {}
  for _, x in ipairs(list) do
    map[x.name or x.value] = x
  end
  return map
end

local TILE = {[4] = 8, [8] = 2, [16] = 1, [32] = 4}

t.test("a space without interactions: the factors it is made of", function()
  local space = spaces.new{tile = {4, 8, 16, 32}, pad = {0, 1},
    unroll = {1, 2}, type = {"float"}}
  local e = effects.new(space, rows_of(space, function(p)
    return TILE[p.tile] * (p.pad == 1 and 1 or 1.5) * 3
  end))
  t.eq({e.n, e.tried, e.points, e.complete, e.best.value},
    {16, 16, 16, true, 3})
  t.eq(#e.params, 3, "a parameter of one value is left out")
  local tile, pad, unroll = table.unpack(e.params)
  t.eq({tile.name, pad.name, unroll.name}, {"tile", "pad", "unroll"})
  t.eq({tile.worth, pad.worth, unroll.worth}, {8, 1.5, 1})
  t.eq({tile.flat, pad.flat, unroll.flat}, {false, false, true})
  for _, v in ipairs(tile.values) do
    t.eq({v.ratio, v.median, v.n, v.failed}, {TILE[v.value],
      TILE[v.value] * 3.75, 4, 0})
  end
  t.eq(e.pairs, {})
  t.eq({tile.edge, pad.edge}, {}, "the best is inside, or one of two")
  t.eq(tostring(e), [[
16 of 16 points have a time
parameter  worth  best row of each value, over the best of all
tile       8.00x  4 8.00x, 8 2.00x, 16 1.00x, 32 4.00x
pad        1.50x  0 1.50x, 1 1.00x
unroll     1.00x  1 1.00x, 2 1.00x
no effect: unroll (each value reaches the best within the noise)]])
end)

t.test("a pair that goes together, told in the order that costs more",
  function()
    local space = spaces.new{a = {1, 2}, b = {1, 2}, c = {1, 2}}
    local e = effects.new(space, rows_of(space, function(p)
      return (p.a == p.b and 1 or 4) * (p.b == 2 and 2 or 1) * p.c
    end))
    t.eq(#e.pairs, 1)
    local pair = e.pairs[1]
    t.eq({pair[1], pair[2], pair.at, pair.value, pair.better, pair.worth},
      {"a", "b", 2, 1, 2, 4})
    t.ok(tostring(e):find("a goes with b: with b=2, a=2 is 4.00x faster than "
      .. "1", 1, true))
  end)

t.test("a list that ends too early", function()
  local function edge(values, f)
    local space = spaces.new{x = values, y = {1, 2}}
    local e = effects.new(space, rows_of(space, f or function(p)
      return 64 / p.x + p.y
    end))
    return by_name(e.params).x.edge, e
  end
  local found, e = edge{1, 2, 4, 8}
  t.eq(found, {side = "largest", value = 8, next = 4, ratio = 17 / 9})
  t.ok(tostring(e):find("x=8 is the largest tried and 1.89x faster than 4: "
    .. "try more", 1, true))
  t.eq(edge({8, 2, 4}).value, 8, "the order of the list does not count")
  t.eq(edge{4, 8}, nil, "two values have no trend")
  t.eq(edge({"a", "b", "c"}, function(p) return p.x:byte() end), nil)
  t.eq(edge({2, 4, 8}, function(p) return p.x end).side, "smallest")
  t.eq(edge({1, 4, 8}, function(p) return p.x end), nil, "nothing below 1")
  t.eq(edge({1, 2, 4}, function(p) return p.x == 2 and 9 or 5 - p.x end), nil,
    "no trend")
  t.eq(edge({1, 2, 4}, function(p) return p.x < 4 and 9 - p.x or nil end), nil,
    "the largest fails")
  t.eq(edge({1, 2, 4}, function(p) return 10 - p.x / 1000 end), nil, "noise")
end)

t.test("noise: a difference within the intervals is none", function()
  local space = spaces.new{x = {1, 2}, y = {1, 2}}
  local function worth(rel)
    local rows = rows_of(space, function(p) return 100 + 5 * p.x end)
    for _, row in ipairs(rows) do
      row.rel = rel
    end
    return effects.new(space, rows).params[1].flat
  end
  t.eq({worth(nil), worth(0.01), worth(0.1)}, {false, false, true})
end)

t.test("values that fail, values not tried", function()
  local space = spaces.new{x = {1, 2, 3}, y = {1, 2}}
  local e = effects.new(space, rows_of(space, function(p)
    return p.x < 3 and p.x or nil
  end, function(p) return p.y == 1 end))
  t.eq({e.n, e.tried, e.complete}, {2, 3, false})
  local params = by_name(e.params)
  t.eq({params.x.flat, params.y.flat}, {false, false})
  t.eq({params.x.values[3].n, params.x.values[3].failed}, {0, 1})
  local text = tostring(e)
  t.ok(text:find("3 fails", 1, true) and text:find("2 untried", 1, true), text)
  t.ok(text:find("the search left points out", 1, true), text)
end)

t.test("few rows of a search claim nothing, all rows do", function()
  local space = spaces.new{tile = {4, 8, 16, 32}, pad = "0..7",
    noise = "0..15"}
  local random = spaces.random(t.seed)
  local scatter = {}
  for i = 1, #space do
    scatter[i] = 1 + random()
  end
  local function f(p)
    return (p.tile == 4 and 8 or 1) * scatter[space:number(p)]
  end
  local e = effects.new(space, rows_of(space, f, function(_, i)
    return i % 64 == 1
  end))
  t.eq(e.n, 8)
  for _, p in ipairs(e.params) do
    t.eq({p.worth, p.edge}, {1}, p.name)
  end
  t.eq(e.pairs, {})
  t.ok(tostring(e):find("?", 1, true))
  -- tile = 4 is late in half of the rows for sure; the rest is chance
  local half = rows_of(space, f, function(_, i) return i % 2 == 1 end)
  e = effects.new(space, half)
  t.eq(e.params[1].name, "tile")
  t.ok(e.params[1].worth > 4)
  t.eq(effects.new(space, half, true).complete, true)
end)

t.test("other objectives: negative rates, mixed signs, none", function()
  local space = spaces.new{x = {1, 2, 4}}
  local rows = rows_of(space, function(p) return -100 * p.x end)
  for _, row in ipairs(rows) do
    row.ms = nil
  end
  local e = effects.new(space, rows)
  t.eq({e.best.value, e.params[1].worth}, {-400, 4})
  t.ok(tostring(e):find("2.00x better than 2: try more", 1, true))
  rows[1].value = 5
  t.raises(function() effects.new(space, rows) end, "must have one sign")
  e = effects.new(space, {})
  t.ok(tostring(e):find("no effect can be told", 1, true))
  e = effects.new(spaces.new{x = {1}}, {{point = {x = 1}, value = 1}})
  t.ok(tostring(e):find("no parameter has two values", 1, true))
end)

t.test("the result of a search over several rungs", function()
  local naive, tiled = spaces.new{map = {"row", "column"}},
    spaces.new{tile = {4, 8, 16, 32}}
  local rows = {}
  for rung, space in pairs{naive = naive, tiled = tiled} do
    for _, row in ipairs(rows_of(space, function(p)
      return p.tile and TILE[p.tile] or p.map == "row" and 8 or 16
    end)) do
      row.rung = rung
      rows[#rows + 1] = row
    end
  end
  local best = {rung = "tiled", spaces = {naive = naive, tiled = tiled},
    rows = rows, ended = "space", name = "gemm"}
  local e = effects.of(best)
  t.eq({e.params[1].name, e.params[1].worth}, {"rung", 8})
  t.eq(e.inside.params[1].worth, 8)
  t.eq(effects.of(best, "naive").params[1].worth, 2)
  t.ok(tostring(e):find("gemm: 6 of 6 points", 1, true), tostring(e))
  t.ok(tostring(e):find("\ntiled: 4 of 4 points", 1, true), tostring(e))
  t.raises(function() effects.of(best, "tild") end, "did you mean 'tiled'")
  best.spaces.tiled = nil -- a rung without parameters has no space
  t.eq(effects.of(best).inside, nil)
  t.raises(function()
    effects.of({space = naive, rows = {}, ended = "time"}, "tiled")
  end, "leave the rung out")
end)

t.done()

-- strategy.lua - the strategies of a search on spaces with known optima
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local space = require "clshell.tune.space"
local stats = require "clshell.measure.stats"
local strategy = require "clshell.tune.strategy"
local tune = require "clshell.tune"

-- A space with one valley: every parameter has a best value; a quarter of the
-- points fail.
local function valley()
  local s = space.new({{"bx", {8, 16, 32, 64}}, {"by", {1, 2, 4, 8}},
    {"tx", "1..8"}, {"pad", {0, 1}}}, "bx * by <= 256")
  local function value(id)
    local p = s:point(id)
    if (p.bx * 7 + p.by * 3 + p.tx) % 4 == 3 then
      return nil
    end
    return 1 + math.abs(math.log(p.bx / 32, 2)) + math.abs(math.log(
      p.by / 4, 2)) + (p.tx - 5)^2 / 8 + (p.pad == 0 and 0.3 or 0)
  end
  local least = math.huge
  for id = 1, #s do
    least = math.min(least, value(id) or math.huge)
  end
  return s, value, least
end

-- The best value and the points of a search of so many measurements.
local function search(name, s, value, count, seed)
  local ask, tell = strategy.new(name, s, space.random(seed))
  local known, order, best, n, idle = {}, {}, math.huge, 0, 0
  while n < count and idle < 10000 do
    local id = ask()
    if not id then
      break
    end
    t.ok(math.type(id) == "integer" and id >= 1 and id <= #s)
    idle = known[id] == nil and 0 or idle + 1
    if known[id] == nil then
      known[id] = value(id) or false
      n, order[n + 1] = n + 1, id
    end
    best = math.min(best, known[id] or math.huge)
    tell(id, known[id] or nil)
  end
  return best, order
end

for _, name in ipairs(strategy.names) do
  t.test(name .. " finds the optimum of a valley, and its seed repeats it",
    function()
      local s, value, least = valley()
      local best, order = search(name, s, value, #s, t.seed)
      t.near(best, least)
      local _, again = search(name, s, value, #s, t.seed)
      t.eq(order, again)
    end)
end

-- As search, with up to k points asked for ahead of their measurement, and
-- `more`. Returns the best value, the points and how many of them were known
-- ahead.
local function search_ahead(name, s, value, count, seed, k, more)
  local ask, tell, ahead = strategy.new(name, s, space.random(seed))
  local known, order, best, idle, built, hits = {}, {}, math.huge, 0, {}, 0
  while #order < count and idle < 10000 do
    local id = ask()
    if not id then
      break
    end
    idle = known[id] == nil and 0 or idle + 1
    if known[id] == nil then
      if built[id] then
        hits = hits + 1
      else
        for _, other in ipairs(ahead(k - 1, more)) do
          t.ok(math.type(other) == "integer" and other >= 1 and other <= #s)
          built[other] = true
        end
      end
      known[id] = value(id) or false
      order[#order + 1] = id
    end
    best = math.min(best, known[id] or math.huge)
    tell(id, known[id] or nil)
  end
  return best, order, hits
end

for _, name in ipairs(strategy.names) do
  t.test(name .. " tells the points that it will ask for", function()
    local s, value = valley()
    local _, plain = search(name, s, value, 60, t.seed)
    local _, one = search_ahead(name, s, value, 60, t.seed, 1)
    t.eq(one, plain) -- one at a time is the search without it
    local _, same, more = search_ahead(name, s, value, 60, t.seed, 1, 7)
    t.eq(same, plain) -- and more are told only where nothing is chosen for it
    t.eq(more > 0, name ~= "surrogate")
    local order, hits = select(2, search_ahead(name, s, value, 60, t.seed, 8))
    if name ~= "surrogate" then
      t.eq(order, plain) -- looking ahead changes nothing
    end
    local seen = {}
    for _, id in ipairs(order) do
      t.ok(not seen[id])
      seen[id] = true
    end
    t.eq(#order, 60)
    t.ok(hits > 0)
  end)
end

t.test("a strategy of one's own need not look ahead", function()
  local s = valley()
  local ask, tell, ahead = strategy.new(function()
    return function() return 3 end
  end, s, space.random(1))
  t.eq({ask(), tell(3, 1), ahead(5)}, {3, nil, {}})
end)

t.test("strategies that learn find it in a part of the space", function()
  local s, value, least = valley()
  for _, name in ipairs{"local", "surrogate"} do
    local found = 0
    for seed = 1, 9 do
      local best = search(name, s, value, #s // 2, seed)
      found = found + (best <= least * 1.1 and 1 or 0)
    end
    t.ok(found >= 5, ("%s: %d of 9"):format(name, found))
  end
end)

t.test("all strategies stand a space of one point, and one of failures",
  function()
    local one = space.new{x = {3}}
    local several = space.new{x = "1..4", y = {"a", "b"}}
    for _, name in ipairs(strategy.names) do
      t.eq(search(name, one, function() return 2 end, 5, 1), 2, name)
      t.eq(search(name, several, function() end, 8, 1), math.huge, name)
    end
  end)

t.test("a measurement told before the first question is no question later",
  function()
    local s, value = valley()
    local ask, tell = strategy.new("surrogate", s, space.random(t.seed))
    for id = 1, 30 do
      tell(id, value(id))
    end
    for _ = 1, 40 do
      local id = ask()
      t.ok(id > 30)
      tell(id, value(id))
    end
  end)

t.test("the order of a list changes no choice of the model", function()
  local up = space.new{{"x", "16..256:16"}, {"y", {1, 3}}}
  local values = {table.unpack(up.params[1].values)}
  table.sort(values, function(a, b) return a > b end)
  local down = space.new{{"x", values}, {"y", {1, 3}}}
  local function choice(s)
    local ask, tell = strategy.new("surrogate", s, space.random(1))
    for id = 1, 15 do -- the model speaks after these
      local p = up:point(2 * id)
      tell(s:number(p), (p.x % 64 == 0 and 1 or 2) + p.x / 1000)
    end
    return s:point(ask())
  end
  t.eq(choice(down), choice(up))
end)

for name, count in pairs{gemm_register = 20, convolution_h200 = 25} do
  t.test(("the default strategy is near the best of %s in %d evaluations")
    :format(name, count), function()
    local path = ("%s/tests/tune/spaces/%s.csv"):format(cl.home, name)
    local all = tune{replay = path, strategy = "exhaustive"}
    local reached = {}
    for seed = 1, 25 do
      local best = tune{replay = path, evaluations = count, seed = seed}
      reached[seed] = all.ms / best.ms
    end
    t.ok(stats.median(reached) >= 0.95, stats.median(reached))
  end)
end

t.test("the choice looks at the space and the budget", function()
  local small, large = space.new{x = "1..20"}, space.new{x = "1..100",
    y = "1..100"}
  t.eq(strategy.choose(small), "exhaustive")
  t.eq(strategy.choose(small, 20), "exhaustive")
  t.eq(strategy.choose(small, 5), "surrogate")
  t.eq(strategy.choose(large, 100), "surrogate")
  t.eq(strategy.choose(large, 5000), "local")
end)

t.test("a strategy of one's own, and names that there are not", function()
  local s = space.new{x = "1..5"}
  local ask = strategy.new(function(given)
    local id = #given + 1
    return function()
      id = id - 1
      return id > 0 and id or nil
    end
  end, s, space.random(1))
  t.eq({ask(), ask()}, {5, 4})
  t.raises(function() strategy.new("locl", s) end, "no strategy 'locl'",
    "did you mean 'local'")
  t.raises(function() strategy.new(function() end, s) end,
    "a strategy must return ask", "got nil")
end)

t.done()

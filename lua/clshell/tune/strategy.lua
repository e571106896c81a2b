-- tune/strategy.lua - the order in which a search measures the points of a
-- space. A strategy is three functions: ask() returns the number of a point,
-- or nil at the end; tell(number, value) takes its value, nil for a failure,
-- the lower the better; ahead(k, more), between the two, lists up to k points
-- that ask() will return next, as far as the strategy knows them, so that they
-- can be built together, and up to `more` points behind them. Most strategies
-- only look ahead; genetic and surrogate choose k points before they are told
-- of the points before them, and no point for the sake of `more`.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local START = 12    -- random points before a search by neighbours begins
local STRIKES = 50  -- moves that did not help, before a fresh start
local POPULATION = 20
local COOLING = 0.95
local MODEL = 300    -- evaluations that a model is worth

-- A strategy from body(measure, together), which calls measure(number, list,
-- at) -> value: the points behind `at` in the list come next, unless the value
-- changes that. together() is the number of points that are built together.
local function sequential(body)
  local together = 1
  local walk = coroutine.wrap(function()
    body(coroutine.yield, function()
      return together
    end)
  end)
  local value, list, at
  return function()
    local id
    id, list, at = walk(value)
    value = nil
    return id
  end, function(_, v)
    value = v
  end, function(k, more)
    together = k + 1
    return list and table.move(list, at + 1, math.min(at + k + (more or 0),
      #list), 1, {}) or {}
  end
end

-- A value that can be compared: failures are the worst.
local function cost(value)
  return value or math.huge
end

local function shuffle(list, random)
  for i = #list, 2, -1 do
    local k = random(i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

-- The best of `count` random points: number, cost.
local function best_of(space, random, measure, count)
  local best, least
  local list = {}
  for i = 1, math.min(count, #space) do
    list[i] = random(#space)
  end
  for i, id in ipairs(list) do
    local c = cost(measure(id, list, i))
    if not least or c < least then
      best, least = id, c
    end
  end
  return best, least
end

-- A strategy that takes nothing but the points that draw() gives.
local function drawn_by(draw)
  local drawn = {}
  return function()
    return table.remove(drawn, 1) or draw()
  end, function() end, function(k, more)
    k = k + (more or 0)
    for i = #drawn + 1, k do
      drawn[i] = draw()
    end
    return table.move(drawn, 1, k, 1, {})
  end
end

function M.exhaustive(space)
  local id = 0
  return drawn_by(function()
    id = id + 1
    return id <= #space and id or nil
  end)
end

-- Every point once, in random order: a Fisher-Yates shuffle that stores only
-- the places it has touched.
function M.random(space, random)
  local moved, left = {}, #space
  return drawn_by(function()
    if left == 0 then
      return nil
    end
    local k = random(left)
    local id = moved[k] or k
    moved[k] = moved[left] or left
    moved[left] = nil
    left = left - 1
    return id
  end)
end

-- Varies one parameter at a time over all of its values and keeps the best
-- value, until no parameter helps; then it begins elsewhere.
function M.one_factor(space, random)
  return sequential(function(measure)
    while true do
      local at, least = best_of(space, random, measure, START)
      local better
      repeat
        better = false
        local order = shuffle({table.unpack(space.params)}, random)
        for _, param in ipairs(order) do
          local p, list = space:point(at), {}
          for _, v in ipairs(param.values) do
            p[param.name] = v
            list[#list + 1] = space:number(p)
          end
          for i, id in ipairs(list) do
            local c = cost(measure(id, list, i))
            if c < least then
              at, least, better = id, c, true
            end
          end
        end
      until not better
    end
  end)
end

-- A point some moves away from another.
local function moved(space, random, at, moves)
  for _ = 1, moves do
    local near = space:neighbours(at)
    at = #near > 0 and near[random(#near)] or at
  end
  return at
end

-- Iterated local search: it goes to the first better neighbour, until there is
-- none; then two steps away from the best, and elsewhere after a while.
-- Lourenco, Martin and Stutzle, Iterated Local Search (2003).
M["local"] = function(space, random)
  return sequential(function(measure)
    while true do
      local best, least = best_of(space, random, measure, START)
      local at, c, strikes = best, least, 0
      while strikes < STRIKES do
        local better
        repeat
          better = false
          local near = shuffle(space:neighbours(at), random)
          for i, id in ipairs(near) do
            local other = cost(measure(id, near, i))
            if other < c then
              at, c, better = id, other, true
              break
            end
            strikes = strikes + 1
          end
        until not better
        if c < least then
          best, least, strikes = at, c, 0
        end
        at = moved(space, random, best, 2)
        c = cost(measure(at))
      end
    end
  end)
end

-- Simulated annealing on the logarithm of the value (Kirkpatrick, Gelatt and
-- Vecchi 1983), cooled anew from the best point.
function M.anneal(space, random)
  return sequential(function(measure)
    local best, least = best_of(space, random, measure, START)
    while true do
      local at, c, heat = best, least, 0.5
      while heat > 0.005 do
        local id = moved(space, random, at, 1)
        local other = cost(measure(id))
        if other < c or other > 0 and c > 0 and random()
            < math.exp((math.log(c) - math.log(other)) / heat) then
          at, c = id, other
        end
        if c < least then
          best, least = at, c
        end
        heat = heat * COOLING
      end
      if least == math.huge then
        best, least = best_of(space, random, measure, START)
      end
    end
  end)
end

-- Measures the points of a list and adds the new points to a crowd, a list of
-- {id, cost}. Known points are measured too: that may end the search.
local function add_all(crowd, measure, list)
  for i, id in ipairs(list) do
    local c, known = cost(measure(id, list, i)), false
    for _, one in ipairs(crowd) do
      known = known or one.id == id
    end
    crowd[#crowd + 1] = not known and {id = id, cost = c} or nil
  end
end

-- A parent by tournament: the better of two points of a crowd.
local function parent(space, random, crowd)
  local a, b = crowd[random(#crowd)], crowd[random(#crowd)]
  return space:point((a.cost <= b.cost and a or b).id)
end

-- A child: each parameter comes from one of two parents, now and then changed;
-- a random point where a constraint excludes the child.
local function child(space, random, crowd)
  local a, b = parent(space, random, crowd), parent(space, random, crowd)
  for _, param in ipairs(space.params) do
    if random(2) == 1 then
      a[param.name] = b[param.name]
    end
    if random() < 0.1 then
      a[param.name] = param.values[random(#param.values)]
    end
  end
  return space:number(a) or random(#space)
end

-- Leaves only the best points of a crowd.
local function select_best(crowd)
  table.sort(crowd, function(a, b)
    return a.cost < b.cost or a.cost == b.cost and a.id < b.id
  end)
  for i = #crowd, POPULATION + 1, -1 do
    crowd[i] = nil
  end
end

-- A list of `count` points of a function.
local function some(count, new, ...)
  local list = {}
  for i = 1, count do
    list[i] = new(...)
  end
  return list
end

-- A genetic search: it makes as many children as the crowd has points, and the
-- better half lives on.
function M.genetic(space, random)
  return sequential(function(measure, together)
    local crowd = {}
    add_all(crowd, measure, some(POPULATION, random, #space))
    while true do
      local left = POPULATION
      while left > 0 do
        local children = some(math.min(left, together()), child, space, random,
          crowd)
        add_all(crowd, measure, children)
        left = left - #children
      end
      select_best(crowd)
    end
  end)
end

function M.surrogate(space, random)
  return require "clshell.tune.surrogate".new(space, random, MODEL)
end

M.names = {"exhaustive", "random", "one_factor", "local", "anneal", "genetic",
  "surrogate"}

--- strategy.choose(space, budget) -> name, reason
--- The strategy of a search that names none. `budget` is the number of
--- evaluations, nil where only time limits them.
function M.choose(space, budget)
  if #space <= (budget or 64) then
    return "exhaustive", ("the space has %s"):format(text.count(#space,
      "point"))
  elseif (budget or 0) <= MODEL then
    return "surrogate", "a model of the points measured picks the next: the "
      .. "most for few evaluations"
  end
  return "local", ("%d evaluations are more than a model is worth"):format(
    budget)
end

--- strategy.check(name)
--- Raises unless a name is the name of a strategy.
function M.check(name)
  for _, known in ipairs(M.names) do
    if name == known then
      return
    end
  end
  cl.error("tune: " .. text.unknown("strategy", tostring(name), M.names))
end

--- strategy.new(name, space, random) -> ask, tell, ahead
--- The functions of a strategy, by name or a function of the user's with the
--- same arguments and results, of which all but ask may be missing.
function M.new(name, space, random)
  local make = name
  if type(name) ~= "function" then
    M.check(name)
    make = M[name]
  end
  local ask, tell, ahead = make(space, random)
  if type(ask) ~= "function" then
    cl.error("tune: a strategy must return ask, and tell where it learns; "
      .. "got " .. type(ask), {hint = "strategy = function(space, random) "
      .. "return function() return random(#space) end end"})
  end
  return ask, tell or function() end, ahead or function()
    return {}
  end
end

return M

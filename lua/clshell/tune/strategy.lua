-- tune/strategy.lua - the order in which a search measures the points of a
-- space. A strategy is three functions: ask() returns the number of a point,
-- or nil at the end; tell(number, value) takes its value, nil for a failure,
-- the lower the better; ahead(k, more), between the two, lists up to k points
-- that ask() will return next, as far as the strategy knows them, so that they
-- can be built together, and up to `more` points behind them. Most strategies
-- only look ahead; surrogate chooses k points before it is told of the points
-- before them, and no point for the sake of `more`.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local START = 12    -- random points before a search by neighbours begins
local STRIKES = 50  -- moves that did not help, before a fresh start
local MODEL = 300    -- evaluations that a model is worth

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
local function climb(space, random, measure)
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

M["local"] = function(space, random)
  local walk = coroutine.wrap(function()
    while true do -- measure(id, list, at): the list behind `at` comes next
      climb(space, random, coroutine.yield)
    end
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
    return list and table.move(list, at + 1, math.min(at + k + (more or 0),
      #list), 1, {}) or {}
  end
end

function M.surrogate(space, random)
  return require "clshell.tune.surrogate".new(space, random, MODEL)
end

M.names = {"exhaustive", "random", "local", "surrogate"}

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
  if not text.set(table.concat(M.names, " "))[name] then
    cl.error("tune: " .. text.unknown("strategy", tostring(name), M.names))
  end
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

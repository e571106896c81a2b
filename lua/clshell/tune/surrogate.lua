-- tune/surrogate.lua - the search by a model: a Gaussian process learns the
-- logarithm of the time from the points measured and picks the next one
-- SPDX-License-Identifier: MIT
--
-- Bayesian optimisation (Jones, Schonlau and Welch 1998), with the choices
-- that recorded spaces of GPU kernels asked for: numbers enter by their
-- logarithm and, unless the list is powers of 2, also by the power of 2 that
-- divides them (alignment matters to memory); times beyond the third quartile
-- count as the quartile, so that the model spends itself on good points; the
-- confidence bound is daring and careful in turns. Every second point is the
-- best of a part of the space: of a variant, which the parameters of two
-- values choose, or of a random value of a random parameter. For the good
-- points of one memory layout say little of another layout's.

local host = require "cl.host"

local M = {}

local FIRST = 10    -- random points at first
local POOL = 3000   -- random candidates
local TOP = 3       -- best points whose neighbours are candidates
local LEARN = 1.3   -- times more observations: fits the length scales anew
local KAPPA = {0.5, 1, 1.5, 2.5}
local DARING = 2    -- kappa of the candidates of a part
local TRIES = 8     -- tries to find a part: constraints may leave it empty
local POWERS = 7    -- 2^7 aligns anything

-- The number of times that 2 divides a whole number.
local function powers(v)
  local n = 0
  v = math.tointeger(v)
  while v and v ~= 0 and v % 2 == 0 and n < POWERS do
    v, n = v // 2, n + 1
  end
  return n
end

local function numbers(values)
  local positive = true
  for _, v in ipairs(values) do
    if math.type(v) == nil then
      return false
    end
    positive = positive and v > 0
  end
  return true, positive
end

-- A feature from 0 to 1 for each value of a list; nil where all are the same.
local function scaled(values, f)
  local lo, hi, list = math.huge, -math.huge, {}
  for i, v in ipairs(values) do
    list[i] = f(v, i)
    lo, hi = math.min(lo, list[i]), math.max(hi, list[i])
  end
  if hi == lo then
    return nil
  end
  for i, x in ipairs(list) do
    list[i] = (x - lo) / (hi - lo)
  end
  return list
end

-- Whether the alignment of the values says more than their size.
local function aligned(values)
  local list = table.move(values, 1, #values, 1, {})
  table.sort(list)
  for i = 2, #list do
    if powers(list[i]) <= powers(list[i - 1]) then
      return true
    end
  end
  return false
end

-- The features of the space: {name, list by the place of the value}.
local function features(space)
  local list = {}
  local function add(param, f)
    local column = scaled(param.values, f)
    if column and #list < 64 then
      list[#list + 1] = {param = param, column = column}
    end
  end
  for _, param in ipairs(space.params) do
    local values = param.values
    local number, positive = numbers(values)
    if #values == 2 or number and not positive then
      add(param, function(v, i) return number and v or i end)
    elseif number then
      add(param, function(v) return math.log(v) end)
      if #values > 5 and aligned(values) then
        add(param, powers)
      end
    else
      for k = 1, math.min(#values, 8) do -- one feature for each word
        add(param, function(_, i) return i == k and 1 or 0 end)
      end
    end
  end
  return list
end

-- The targets of values (nil: failed): logarithms where all are positive,
-- failures as the worst, cut at the third quartile, mean 0, deviation 1; and
-- a function from a target back to a value.
local function targets(values, n)
  local known, positive = {}, true
  for i = 1, n do
    if values[i] then
      known[#known + 1] = values[i]
      positive = positive and values[i] > 0
    end
  end
  table.sort(known)
  local function scale(v)
    return positive and math.log(v) or v
  end
  local cut = #known > 0 and scale(known[math.max(1, #known * 3 // 4)]) or 0
  local list, mean, square = {}, 0, 0
  for i = 1, n do
    list[i] = values[i] and math.min(scale(values[i]), cut) or cut
    mean = mean + list[i] / n
  end
  for i = 1, n do
    list[i] = list[i] - mean
    square = square + list[i]^2 / n
  end
  local deviation = square > 0 and math.sqrt(square) or 1
  for i = 1, n do
    list[i] = list[i] / deviation
  end
  return list, function(target)
    local v = target * deviation + mean
    return positive and math.exp(v) or v
  end
end

local Search = {}
Search.__index = Search

-- The row of a point in the model.
local function row_of(self, id)
  local rows, x = self.rows, self.x
  if not rows[id] then
    local p = self.space:point(id)
    for i, c in ipairs(self.columns) do
      x[i] = c.column[c.param.index[p[c.param.name]]]
    end
    rows[id] = self.model:point(x)
    self.ids[rows[id]] = id
  end
  return rows[id]
end

-- A random point that ask() has not returned; nil where none is left.
local function fresh(self)
  for _ = 1, 1000 do
    local id = self.random(#self.space)
    if not self.asked[id] then
      return id
    end
  end
  for id = 1, #self.space do
    if not self.asked[id] then
      return id
    end
  end
end

-- The features of parameters with two values, which choose between variants.
local function switches_of(columns)
  local list = {}
  for f, c in ipairs(columns) do
    list[#list + 1] = #c.param.values == 2 and f or nil
  end
  return list
end

-- A part of the space, as features and values for model:lowest: one variant
-- after the other, or a random value of a random feature.
local function part(self, variant)
  local args, columns, random = {}, self.columns, self.random
  if variant and #self.switches > 0 then
    self.turn = self.turn + 1
    for i, f in ipairs(self.switches) do
      args[2 * i - 1], args[2 * i] = f, self.turn >> i - 1 & 1
    end
  else
    local f = random(#columns)
    args[1], args[2] = f, columns[f].column[random(#columns[f].column)]
  end
  return table.unpack(args)
end

-- Gives the model its candidates: random points, once, and the neighbours of
-- the best points.
local function add_candidates(self)
  local count = #self.space
  for i = 1, self.pooled and 0 or math.min(count, POOL) do
    row_of(self, count <= POOL and i or self.random(count))
  end
  self.pooled = true
  for i = 1, math.min(TOP, #self.order) do
    local one = self.order[i]
    if not one.near then
      one.near = true
      for _, id in ipairs(self.space:neighbours(one.id)) do
        row_of(self, id)
      end
    end
  end
end

-- A random point near the best.
local function near_best(self)
  local best = self.order[1]
  local near = self.space:neighbours(best and best.id or 1)
  local id = near[self.random(math.max(1, #near))]
  return id and not self.asked[id] and id or fresh(self)
end

-- Fits the model to the known values, and its length scales from time to time.
local function fit(self)
  local learn = self.n >= LEARN * self.learned
  self.learned = learn and self.n or self.learned
  local list
  list, self.scale = targets(self.values, self.n)
  self.model:fit(list, learn)
end

-- The next point, or nil.
local function choose(self)
  local n, model, best = self.n, self.model, nil
  if not model or n < FIRST then
    return fresh(self)
  elseif n >= self.most then
    return near_best(self)
  end
  add_candidates(self)
  fit(self)
  for _ = 1, n % 2 == 0 and TRIES or 0 do
    best = best or model:lowest(DARING, part(self, n % 4 == 0))
  end
  best = best or model:lowest(KAPPA[n // 2 % #KAPPA + 1])
  return best and self.ids[best] or fresh(self)
end

-- Gives the model the value of a point; nil: the point failed.
local function observe(self, id, value)
  local n = self.n + 1
  self.n, self.asked[id], self.values[n] = n, true, value or false
  if self.model and n <= self.most then
    self.model:observe(row_of(self, id))
  end
end

-- Observes a point that is not measured yet at the value that the model
-- predicts: a "kriging believer" (Ginsbourger, Le Riche and Carraro 2010).
local function believe(self, id)
  local scale = self.scale
  observe(self, id, scale and scale((self.model:predict(row_of(self, id)))))
  self.believed[id], self.waiting = self.n, self.waiting + 1
end

function Search:ask()
  local id = table.remove(self.queue, 1) or choose(self)
  if id then
    self.asked[id] = true
  end
  self.last = id
  return id
end

function Search:tell(id, value)
  local at = self.believed[id]
  self.last = nil
  if at then
    self.values[at] = value or false
    self.believed[id], self.waiting = nil, self.waiting - 1
  else
    observe(self, id, value)
  end
  local order, place = self.order, #self.order + 1
  while value and place > 1 and order[place - 1].value > value do
    place = place - 1
  end
  if value then
    table.insert(order, place, {id = id, value = value})
  end
end

function Search:ahead(k)
  local queue = self.queue
  if self.last and not self.believed[self.last] then
    believe(self, self.last)
  end
  -- the first model waits for the points by chance
  while #queue < k and not (self.n >= FIRST
      and self.n - self.waiting < FIRST) do
    local id = choose(self)
    if not id then
      break
    end
    believe(self, id)
    queue[#queue + 1] = id
  end
  return table.move(queue, 1, k, 1, {})
end

--- surrogate.new(space, random, most) -> ask, tell, ahead
--- The search by a Gaussian process, for up to `most` observations, as the
--- model costs their number squared; after that random points near the best.
--- See strategy.lua.
function M.new(space, random, most)
  local columns = features(space)
  -- rows of the model by number and back; values by observation, and the
  -- observations of points that are believed; `order` has the points told,
  -- best first
  local self = setmetatable({space = space, random = random, most = most,
    columns = columns, switches = switches_of(columns), turn = 0,
    model = #columns > 0 and host.gaussian(#columns, most), rows = {},
    ids = {}, x = {}, values = {}, n = 0, learned = 0, asked = {},
    order = {}, believed = {}, waiting = 0, queue = {}}, Search)
  return function()
    return self:ask()
  end, function(id, value)
    self:tell(id, value)
  end, function(k)
    return self:ahead(k)
  end
end

return M

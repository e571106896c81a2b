-- tune/surrogate.lua - the search by a model: a Gaussian process learns the
-- logarithm of the time from the points measured and picks the next one
-- SPDX-License-Identifier: MIT
--
-- Bayesian optimisation (Jones, Schonlau and Welch 1998), with the choices
-- that recorded spaces of GPU kernels asked for: numbers enter by their
-- logarithm and, where the lists are not powers of 2 anyway, also by the power
-- of 2 that divides them (alignment matters to memory); times beyond the third
-- quartile count as that, so that the model spends itself on good points; the
-- confidence bound is daring and careful in turns; and every second point is
-- the best of a part of the space, a variant that the parameters of two values
-- choose or a value by chance of a parameter by chance, as the good points of
-- one memory layout say little of those of another.

local host = require "cl.host"

local M = {}

M.MOST = 300        -- observations: the model costs their number squared
local FIRST = 10    -- points by chance
local POOL = 3000   -- candidates by chance
local TOP = 3       -- best points whose neighbours are candidates
local LEARN = 1.3   -- times more observations: fits the length scales anew
local KAPPA = {0.5, 1, 1.5, 2.5}
local DARING = 2    -- kappa of the candidates of a part
local TRIES = 8     -- parts, as constraints may leave one empty
local POWERS = 7    -- 2^7 aligns anything

-- How often 2 divides a whole number.
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

-- A feature from 0 to 1 of each value of a list; nil where all are the same.
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

--- surrogate.new(space, random) -> ask, tell, ahead, again
--- The search by a Gaussian process, for up to surrogate.MOST observations;
--- after that points by chance near the best. again(f) replaces the value of
--- each point told by f(number).
function M.new(space, random)
  local columns = features(space)
  local model = #columns > 0 and host.gaussian(#columns, M.MOST)
  local rows, ids, x = {}, {}, {} -- of the model, by number and back
  local values, told, order, n, learned = {}, {}, {}, 0, 0
  local asked, pooled = {}, false
  local scale            -- from a target of the last fit to a value
  local believed, waiting, queue = {}, 0, {}
  local function row(id)
    if not rows[id] then
      local p = space:point(id)
      for i, c in ipairs(columns) do
        x[i] = c.column[c.param.index[p[c.param.name]]]
      end
      rows[id] = model:point(x)
      ids[rows[id]] = id
    end
    return rows[id]
  end
  local function fresh()
    for _ = 1, 1000 do
      local id = random(#space)
      if not asked[id] then
        return id
      end
    end
    for id = 1, #space do
      if not asked[id] then
        return id
      end
    end
  end
  -- Switches: the parameters of two values, as they choose between variants.
  local switches, turn = {}, 0
  for f, c in ipairs(columns) do
    if #c.param.values == 2 then
      switches[#switches + 1] = f
    end
  end
  -- A variant, in turns, or a value by chance of a feature by chance: features
  -- and values for model:lowest.
  local function part(variant)
    local args = {}
    if variant and #switches > 0 then
      turn = turn + 1
      for i, f in ipairs(switches) do
        args[2 * i - 1], args[2 * i] = f, turn >> i - 1 & 1
      end
    else
      local f = random(#columns)
      args[1], args[2] = f, columns[f].column[random(#columns[f].column)]
    end
    return table.unpack(args)
  end
  local function candidates()
    if not pooled then
      pooled = true
      if #space <= POOL then
        for id = 1, #space do
          row(id)
        end
      else
        for _ = 1, POOL do
          row(random(#space))
        end
      end
    end
    for i = 1, math.min(TOP, #order) do
      local one = order[i]
      if not one.near then
        one.near = true
        for _, id in ipairs(space:neighbours(one.id)) do
          row(id)
        end
      end
    end
  end
  local function choose()
    if not model or n < FIRST then
      return fresh()
    elseif n >= M.MOST then
      local near = space:neighbours(order[1] and order[1].id or 1)
      local id = near[random(math.max(1, #near))]
      return id and not asked[id] and id or fresh()
    end
    candidates()
    local learn = n >= LEARN * learned
    learned = learn and n or learned
    local list
    list, scale = targets(values, n)
    model:fit(list, learn)
    local best
    for _ = 1, n % 2 == 0 and TRIES or 0 do
      best = best or model:lowest(DARING, part(n % 4 == 0))
    end
    best = best or model:lowest(KAPPA[n // 2 % #KAPPA + 1])
    return best and ids[best] or fresh()
  end
  local last -- asked and not told
  local function ask()
    local id = table.remove(queue, 1) or choose()
    if id then
      asked[id] = true
    end
    last = id
    return id
  end
  local function observe(id, value)
    n, asked[id] = n + 1, true
    values[n], told[n] = value or false, id
    if model and n <= M.MOST then
      model:observe(row(id))
    end
  end
  local function tell(id, value)
    last = nil
    if believed[id] then
      values[believed[id]] = value or false
      believed[id], waiting = nil, waiting - 1
    else
      observe(id, value)
    end
    if value then
      local at = #order + 1
      while at > 1 and order[at - 1].value > value do
        at = at - 1
      end
      table.insert(order, at, {id = id, value = value})
    end
  end
  local function again(f)
    for i, id in ipairs(told) do
      if not believed[id] then
        values[i] = f(id) or false
      end
    end
    for _, one in ipairs(order) do
      one.value = f(one.id)
    end
    table.sort(order, function(a, b)
      return a.value < b.value or a.value == b.value and a.id < b.id
    end)
  end
  -- Observes a point that is not measured yet at the value that the model
  -- predicts: a "kriging believer" (Ginsbourger, Le Riche and Carraro 2010).
  local function believe(id)
    observe(id, scale and scale((model:predict(row(id)))))
    believed[id], waiting = n, waiting + 1
  end
  return ask, tell, function(k)
    if last and not believed[last] then
      believe(last)
    end
    -- the first model waits for the points by chance
    while #queue < k and not (n >= FIRST and n - waiting < FIRST) do
      local id = choose()
      if not id then
        break
      end
      believe(id)
      queue[#queue + 1] = id
    end
    return table.move(queue, 1, k, 1, {})
  end, again
end

return M

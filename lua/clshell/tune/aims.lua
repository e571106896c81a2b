-- tune/aims.lua - a search with several aims: their values, the rows that no
-- other row beats (the Pareto set), and the mix of the aims that a strategy
-- follows
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local power = require "clshell.measure.power"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}
local Aims = {}
Aims.__index = Aims

local RHO = 0.05 -- of all aims, beside the one that is furthest behind

-- By name: the value of a row, the reason that there may be none, and how a
-- table prints it. `resource`: of evaluate.resource.
local NAMED = {
  ms = {of = function(row) return row.ms end,
    show = function(x) return quantity.format(x / 1e3, "s") end},
  err = {of = function(row) return row.record and row.record.err end,
    hint = "a rung has it, and a kernel with a reference or a function as "
      .. "check that returns ok, message, err",
    show = function(x) return x == 0 and "0" or ("%.1e"):format(x) end},
  energy = {meter = true,
    show = function(x) return quantity.format(x, "J") end},
  bytes = {resource = true, hint = "the driver keeps no binary"},
  local_bytes = {resource = true},
  private_bytes = {resource = true},
}

--- aims.check(list)
--- Raises unless the option objectives is a list of names of aims, functions
--- by a name of their own, or both.
function M.check(list)
  argument.check("tune", "objectives", list, "table",
    "such as {\"ms\", \"err\"}")
  local count = 0
  for key, value in pairs(list) do
    count = count + 1
    if type(key) == "string" then
      argument.check("tune", "objectives." .. key, value, "function")
    elseif math.type(key) ~= "integer" or not NAMED[value] then
      cl.error("tune: objectives: " .. text.unknown("aim", tostring(value),
        text.keys(NAMED)), {hint = "objectives = {\"ms\", size = function(r) "
        .. "return r.params.size end}"})
    end
  end
  if count < 2 then
    cl.error(("tune: objectives must have two aims or more; got %d"):format(
      count), {hint = "objective = function(r) ... end takes one"})
  end
end

-- A function of a row and its point for an aim that has a name.
local function named(name, source)
  local aim = NAMED[name]
  if (aim.meter or aim.resource) and not source.resource then
    cl.error(("tune: the aim %s needs a device; %s has none"):format(name,
      source.name))
  elseif aim.meter then
    local meter, reason = power.meter(source.context.device)
    if not meter then
      cl.error(("tune: the aim %s: %s"):format(name, reason))
    end
    return function(_, p)
      return meter:joule(source.subject(p))
    end
  elseif aim.resource then
    return function(_, p)
      return source.resource(p, name)
    end
  end
  return aim.of
end

--- aims.new(list, source) -> aims
--- The aims of the option objectives, for the rows of a source: names first,
--- in their order, then functions by the order of their names. Names are
--- fields of it, as a list.
function M.new(list, source)
  local aims, keys = setmetatable({lo = {}, hi = {}}, Aims), {}
  local values = {}
  for i, name in ipairs(list) do
    aims[i], values[i] = name, named(name, source)
  end
  for key in pairs(list) do
    keys[#keys + 1] = type(key) == "string" and key or nil
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    aims[#aims + 1] = key
    values[#aims] = function(row)
      return list[key](row.record or row)
    end
  end
  aims.values, aims.own = values, #list
  return aims
end

--- aims:measure(row, point) -> list of numbers
--- The value of each aim; one that is none raises.
function Aims:measure(row, p)
  local list = {}
  for i, name in ipairs(self) do
    local x = self.values[i](row, p)
    if math.type(x) == nil or x ~= x or math.abs(x) == math.huge then
      cl.error(("tune: the aim %s must be a finite number; got %s"):format(
        name, text.got(x)), {hint = i <= self.own and NAMED[name].hint
        or "lower is better"})
    end
    list[i] = x
    self.lo[i] = math.min(self.lo[i] or x, x)
    self.hi[i] = math.max(self.hi[i] or x, x)
  end
  return list
end

--- aims:text(i, x) -> string
--- A value of aim i as tables show it.
function Aims:text(i, x)
  local aim = i <= self.own and NAMED[self[i]]
  return aim and aim.show and aim.show(x) or math.type(x) == "integer"
    and tostring(x) or quantity.number(x)
end

-- Whether a row comes before another: by the first aim that differs.
local function before(a, b)
  for i, x in ipairs(a.aims) do
    if x ~= b.aims[i] then
      return x < b.aims[i]
    end
  end
  return a.id < b.id
end

-- Whether row a is as good as b in all aims, and better in one.
local function beats(a, b)
  local better = false
  for i, x in ipairs(a.aims) do
    if x > b.aims[i] then
      return false
    end
    better = better or x < b.aims[i]
  end
  return better
end

--- aims.front(rows) -> list of rows
--- The right rows that no other row beats, by the first aim. A row can only be
--- beaten by one before it in that order.
function M.front(rows)
  local list, front = {}, {}
  for _, row in ipairs(rows) do
    list[#list + 1] = row.status == "ok" and row.aims and row or nil
  end
  table.sort(list, before)
  for _, row in ipairs(list) do
    local beaten = false
    for _, other in ipairs(front) do
      if beats(other, row) then
        beaten = true
        break
      end
    end
    front[#front + 1] = not beaten and row or nil
  end
  return front
end

--- aims:mix(random) -> weights
--- Weights by chance that add up to 1, each mix as probable as any other;
--- equal ones without `random`.
function Aims:mix(random)
  local weights, sum = {}, 0
  for i = 1, #self do
    weights[i] = random and -math.log(1 - random()) or 1
    sum = sum + weights[i]
  end
  for i = 1, #self do
    weights[i] = sum > 0 and weights[i] / sum or 1 / #self
  end
  return weights
end

-- A value of aim i from 0 for the least measured to 1 for the greatest, by the
-- logarithm where all are positive.
local function scaled(aims, i, x)
  local lo, hi = aims.lo[i], aims.hi[i]
  if hi == lo then
    return 0
  elseif lo > 0 then
    return math.log(x / lo) / math.log(hi / lo)
  end
  return (x - lo) / (hi - lo)
end

--- aims:cost(row, weights) -> number or nil
--- One number for the aims of a row among those measured: the augmented
--- Chebyshev function of ParEGO (Knowles, 2006), whose least point lies on the
--- front for any weights. Strategies compare logarithms, hence the
--- exponential.
function Aims:cost(row, weights)
  if not row.aims then
    return nil
  end
  local most, sum = 0, 0
  for i, x in ipairs(row.aims) do
    local part = weights[i] * scaled(self, i, x)
    most, sum = math.max(most, part), sum + part
  end
  return math.exp(most + RHO * sum)
end

return M

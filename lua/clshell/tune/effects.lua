-- tune/effects.lua - the effects of each parameter on the rows of a search:
-- the cost of each value, pairs that go together, lists that end too early,
-- parameters without an effect
-- SPDX-License-Identifier: MIT
--
-- A value is judged by the best row that has it, as a tuner asks for the best
-- and not for the mean. Its cost is a factor: that row over the best of all.
-- Where a search left points out, the best row of a value may be late by
-- chance alone: a cost counts where so many rows of the value would else have
-- been among those that are better.

local cl = require "cl"
local quantity = require "clshell.base.quantity"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"

local M = {}
local Effects = {}
Effects.__index = Effects

local NOISE = 0.01  -- the least difference that counts, as a fraction
local CHANCE = 0.05 -- the most probability of a claim by chance
local PAIRS = 3     -- pairs in the text
local VALUES = 6    -- values of a parameter in the text

M.title = "best row of each value, over the best of all"

-- A function from values, where lower is better, to positive costs of which
-- ratios say how much better; nil where values of both signs are there.
local function cost_of(rows)
  local positive, negative = true, true
  for _, row in ipairs(rows) do
    positive = positive and row.value > 0
    negative = negative and row.value < 0
  end
  if positive then
    return function(v) return v end
  end
  return negative and function(v) return -1 / v end or nil
end

-- The rows at one value, or at one pair of values.
local function cell(list, key)
  list[key] = list[key] or {n = 0, failed = 0, costs = {}, values = {}}
  return list[key]
end

local function count(c, row, cost)
  if not row.value then
    c.failed = c.failed + 1
    return
  end
  c.n = c.n + 1
  local x = cost(row.value)
  c.costs[c.n], c.values[c.n] = x, row.value
  if not c.cost or x < c.cost then
    c.cost, c.row = x, row
  end
end

-- Whether two best rows differ by more than their noise.
local function differ(a, b)
  return a.cost / b.cost > 1 + math.max(NOISE, a.row.rel or 0,
    b.row.rel or 0)
end

-- The probability that rows drawn by chance from `costs` are all as bad as
-- those of a cell: none among the better ones.
local function chance(c, costs)
  local better, p = 0, 1.0
  for _, x in ipairs(costs) do
    better = better + (x < c.cost and 1 or 0)
  end
  for i = 0, c.n - 1 do
    p = p * (#costs - better - i) / (#costs - i)
  end
  return p
end

local function median(list)
  table.sort(list)
  local half = #list // 2
  return #list % 2 == 1 and list[half + 1]
    or (list[half] + list[half + 1]) / 2
end

-- The numbers of a parameter in ascending order, or nil.
local function ascending(values)
  local list = {}
  for i, v in ipairs(values) do
    if math.type(v) == nil then
      return nil
    end
    list[i] = v
  end
  table.sort(list)
  return list
end

-- The end of an ordered list where the best lies and to which the costs fall;
-- nil where every smaller value is none, as below 1 for whole numbers.
local function edge(param, cells, winners, worse)
  local list = ascending(param.values)
  local function outward(i, step, side)
    local at = {cells[list[i]], cells[list[i + step]],
      cells[list[i + 2 * step]]}
    for k = 1, 3 do
      if not (at[k] and at[k].cost) then
        return nil
      end
    end
    for _, row in ipairs(winners) do
      if row.point[param.name] ~= list[i] then
        return nil
      end
    end
    if differ(at[2], at[1]) and worse(at[2]) and at[3].cost >= at[2].cost
        and worse(at[3]) then
      return {side = side, value = list[i], next = list[i + step],
        ratio = at[2].cost / at[1].cost}
    end
  end
  if not list or #list < 3 then
    return nil
  end
  local whole = math.type(list[1]) == "integer" and list[1] <= 1
  return outward(#list, -1, "largest")
    or not whole and outward(1, 1, "smallest") or nil
end

-- The effect of one parameter.
local function effect(param, cells, all, winners, worse)
  local e = {name = param.name, values = {}, worth = 1, flat = true}
  local measured = 0
  for i, v in ipairs(param.values) do
    local c = cells[v] or {n = 0, failed = 0}
    local entry = {value = v, n = c.n, failed = c.failed}
    e.values[i] = entry
    if c.n > 0 then
      measured = measured + 1
      entry.best, entry.ratio = c.row.value, c.cost / all.cost
      entry.median = median(c.values)
      if differ(c, all) then
        e.flat, entry.unsure = false, not worse(c) or nil
        e.worth = entry.unsure and e.worth or math.max(e.worth, entry.ratio)
      end
    else
      e.flat = e.flat and c.failed == 0
    end
  end
  e.flat = e.flat and measured > 1
  e.measured = measured
  e.edge = edge(param, cells, winners, worse)
  return e
end

-- The greatest cost of keeping parameter `a` at its best value where `b` has
-- another value than the best.
local function kept(a, b, cells, best, worse)
  local x, most = best.point[a.name], nil
  for _, y in ipairs(b.values) do
    local row = cells[y] or {}
    local mine, least, better, costs = row[x], nil, nil, {}
    for _, v in ipairs(a.values) do
      local c = row[v]
      if c and c.cost then
        table.move(c.costs, 1, c.n, #costs + 1, costs)
        if not least or c.cost < least.cost then
          least, better = c, v
        end
      end
    end
    if mine and mine.cost and differ(mine, least) and worse(mine, costs)
        and (not most or mine.cost / least.cost > most.worth) then
      most = {a.name, b.name, worth = mine.cost / least.cost, value = x,
        at = y, better = better}
    end
  end
  return most
end

-- The rows by the values of two parameters: [value of b][value of a], and the
-- same cells the other way round.
local function tables_of(a, b, rows, cost)
  local by_b, by_a = {}, {}
  for _, row in ipairs(rows) do
    local x, y = row.point[a.name], row.point[b.name]
    by_a[x], by_b[y] = by_a[x] or {}, by_b[y] or {}
    by_a[x][y] = cell(by_b[y], x)
    count(by_a[x][y], row, cost)
  end
  return by_b, by_a
end

-- The pairs of parameters where the best value of one depends on the other,
-- each in the order that costs more.
local function pairs_of(params, rows, cost, best, worse)
  local list = {}
  for i, a in ipairs(params) do
    for j = i + 1, #params do
      local b = params[j]
      local by_b, by_a = tables_of(a, b, rows, cost)
      local one = kept(a, b, by_b, best, worse)
      local other = kept(b, a, by_a, best, worse)
      list[#list + 1] = one and (not other or one.worth >= other.worth)
        and one or other
    end
  end
  table.sort(list, function(x, y)
    if x.worth ~= y.worth then
      return x.worth > y.worth
    end
    return x[1] .. " " .. x[2] < y[1] .. " " .. y[2]
  end)
  return list
end

-- effects.new(space, rows [, complete]) -> effects
-- The effects of the parameters of a space on its rows. `complete`: rows has
-- all points that the device takes; else so where it has as many as the space.
--   n, tried, points  rows with a value, all rows, points of the space
--   best              the best row
--   params            by falling worth: {name, worth, flat, edge, values}
--     worth           the cost of the worst value, 1 where none is worse
--     flat            every value reaches the best within the noise
--     edge            {side, value, next, ratio} where the list ends too early
--     values          {value, n, failed, best, median, ratio, unsure}: ratio
--                     of the best over that of all; unsure: maybe by chance
--   pairs             {a, b, worth, value, at, better}: with b = at, keeping
--                     a = value costs the factor worth; `better` is a's best
function M.new(space, rows, complete)
  local valued = {}
  for _, row in ipairs(rows) do
    valued[#valued + 1] = row.value and row or nil
  end
  local e = setmetatable({n = #valued, tried = #rows, points = #space,
    params = {}, pairs = {}, complete = complete or #rows >= #space}, Effects)
  if #valued == 0 then
    return e
  end
  local cost = cost_of(valued)
  if not cost then
    cl.error("effects: the objective must have one sign: factors between "
      .. "positive and negative values, or 0, say nothing", {hint =
      "objective = function(r) return -r.gflops end"})
  end
  local free, values, cells = {}, 0, 0
  for _, param in ipairs(space.params) do
    if #param.values > 1 then
      free[#free + 1] = param
      cells, values = cells + values * #param.values, values + #param.values
    end
  end
  local all, winners = cell({}, 1), {}
  for _, row in ipairs(valued) do
    count(all, row, cost)
  end
  e.best = all.row
  for _, row in ipairs(valued) do
    if not differ({cost = cost(row.value), row = row}, all) then
      winners[#winners + 1] = row
    end
  end
  local function worse(c, costs) -- the more questions, the stricter
    return e.complete or chance(c, costs or all.costs)
      < CHANCE / (costs and 2 * cells or values)
  end
  for i, param in ipairs(free) do
    local by_value = {}
    for _, row in ipairs(rows) do
      count(cell(by_value, row.point[param.name]), row, cost)
    end
    e.params[i] = effect(param, by_value, all, winners, worse)
  end
  e.pairs = pairs_of(free, rows, cost, e.best, worse)
  local place = space.by_name
  table.sort(e.params, function(a, b)
    return a.worth > b.worth
      or a.worth == b.worth and place[a.name].place < place[b.name].place
  end)
  return e
end

-- The rows of one rung.
local function rows_of(best, rung)
  local list = {}
  for _, row in ipairs(best.rows) do
    list[#list + 1] = row.rung == rung and row or nil
  end
  return list
end

-- effects.rungs(best) -> list of strings
-- The rungs of a search over several, those without a parameter too.
function M.rungs(best)
  local joined = best.space and best.space.by_name.rung
  return joined and joined.values or text.keys(best.spaces)
end

-- The effect of the choice among several rungs.
local function of_rungs(best, complete)
  local rows = {}
  for i, row in ipairs(best.rows) do
    rows[i] = {point = {rung = row.rung}, value = row.value, ms = row.ms,
      rel = row.rel}
  end
  local points = best.space and #best.space or #rows
  local param = {name = "rung", values = M.rungs(best), place = 1}
  return M.new(setmetatable({params = {param}, by_name = {rung = param}},
    {__len = function() return points end}), rows, complete)
end

-- effects.of(best [, rung]) -> effects
-- The effects of a result of tune. Of several rungs: the effect of the rung,
-- with those of the best one as `inside`; or those of the rung named.
function M.of(best, rung)
  local complete = best.ended == "space"
  if not best.spaces then
    if rung ~= nil and rung ~= best.rung then
      cl.error("effects: the search had one kernel; leave the rung out")
    end
    local e = M.new(best.space, best.rows, complete)
    e.name = best.name
    return e
  elseif rung ~= nil then
    if not best.spaces[rung] then
      cl.error("effects: " .. text.unknown("rung with parameters",
        tostring(rung), text.keys(best.spaces)))
    end
    local e = M.new(best.spaces[rung], rows_of(best, rung), complete)
    e.name = rung
    return e
  end
  local e = of_rungs(best, complete)
  e.name = best.name
  e.inside = best.spaces[best.rung] and M.of(best, best.rung)
  return e
end

-- "1.40x", "31.2x"
local function factor(x)
  return quantity.number(x, 3) .. "x"
end

local function entry_text(v)
  local name = tostring(v.value)
  if v.n == 0 then
    return name .. (v.failed > 0 and " fails" or " untried")
  end
  return ("%s %s%s"):format(name, factor(v.ratio), v.unsure and "?" or "")
end

-- "8 3.10x, 16 1.00x, 32 1.40x"; of many values the best and the worst.
local function values_text(e)
  local shown, words = e.values, {}
  if #shown > VALUES then
    local ranked = {}
    for i, v in ipairs(e.values) do
      ranked[i] = {v = v, i = i, r = v.ratio or math.huge}
    end
    table.sort(ranked, function(a, b)
      return a.r < b.r or a.r == b.r and a.i < b.i
    end)
    shown = {}
    for i = 1, VALUES - 2 do
      shown[i] = ranked[i].v
    end
    for i = #ranked, 1, -1 do
      if ranked[i].v.ratio then
        shown[#shown + 1] = i >= VALUES - 1 and ranked[i].v or nil
        break
      end
    end
  end
  for i, v in ipairs(shown) do
    words[i] = entry_text(v)
  end
  if #shown < #e.values then
    table.insert(words, #words, "...")
  end
  return (table.concat(words, ", "):gsub("%.%.%.,", "..."))
end

local function unsure(param)
  for _, v in ipairs(param.values) do
    if v.unsure then
      return true
    end
  end
  return false
end

-- effects:lines() -> list of {name, worth, values}
-- The table of the parameters, as texts.
function Effects:lines()
  local list = {}
  for i, p in ipairs(self.params) do
    list[i] = {name = p.name, worth = p.worth == 1 and unsure(p) and "?"
      or factor(p.worth), values = values_text(p)}
  end
  return list
end

-- effects:remarks() -> list of sentences
function Effects:remarks()
  local e = self
  local list, flat, doubt = {}, {}, false
  local better = e.best.value == e.best.ms and "faster" or "better"
  for _, p in ipairs(e.params) do
    flat[#flat + 1] = p.flat and p.name or nil
    doubt = doubt or unsure(p)
  end
  if #flat > 0 then
    list[1] = ("no effect: %s (each value reaches the best within the noise)")
      :format(table.concat(flat, ", "))
  end
  for _, p in ipairs(e.params) do
    if p.edge then
      list[#list + 1] = ("%s=%s is the %s tried and %s %s than %s: try %s")
        :format(p.name, tostring(p.edge.value), p.edge.side,
        factor(p.edge.ratio), better, tostring(p.edge.next),
        p.edge.side == "largest" and "more" or "less")
    end
  end
  for i = 1, math.min(PAIRS, #e.pairs) do
    local p = e.pairs[i]
    list[#list + 1] = ("%s goes with %s: with %s=%s, %s=%s is %s %s than %s")
      :format(p[1], p[2], p[2], tostring(p.at), p[1], tostring(p.better),
      factor(p.worth), better, tostring(p.value))
  end
  if doubt then
    list[#list + 1] = "? may be chance: too few rows to count"
  end
  if not e.complete then
    list[#list + 1] = "the search left points out: with more rows of a value "
      .. "its factor may fall"
  end
  return list
end

-- The effects as a table for people, in the width of the window.
function Effects.__tostring(e)
  local width = report.width()
  local lines = {text.cut(("%s%d of %d points have a time"):format(
    e.name and e.name .. ": " or "", e.n, e.points), width)}
  if e.n == 0 then
    return lines[1] .. "; no effect can be told"
  elseif #e.params == 0 then
    return lines[1] .. "; no parameter has two values"
  end
  lines[2] = report.format(e:lines(), {
    {key = "name", title = "parameter"},
    {key = "worth", title = "worth", align = "right"},
    {key = "values", title = M.title, wrap = true},
  }, {width = width})
  for _, remark in ipairs(e:remarks()) do
    lines[#lines + 1] = text.fold(remark, width)
  end
  lines[#lines + 1] = e.inside and tostring(e.inside)
  return table.concat(lines, "\n")
end

return M

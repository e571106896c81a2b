-- tune/settings.lua - the table of settings of a search over several shapes:
-- one for all, or two, three, four for the shapes that they serve best
-- SPDX-License-Identifier: MIT
--
-- The mean is the weighted geometric one. It is the only mean of times over
-- the best times that orders points alike whatever the best times are: the
-- value of a point stays as it is when a shape finds a faster one, and a large
-- shape does not outvote a small one.

local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local quantity = require "clshell.base.quantity"
local race = require "clshell.tune.race"
local text = require "clshell.base.text"
local workload = require "clshell.ladder.workload"

local M = {}

local TIE = 0.01 -- settings that are apart by less serve alike
local WORTH = 0.02 -- of the mean: what a setting more has to save
local MOST = 4   -- settings of a table

--- settings.label(shape) -> string
--- A shape of the user's in words: "512x64", "n=100".
function M.label(shape)
  if type(shape) ~= "table" then
    return tostring(shape)
  end
  local words, named = {}, {}
  for key, value in pairs(shape) do
    if math.type(key) == "integer" then
      words[key] = tostring(value)
    else
      named[#named + 1] = ("%s=%s"):format(tostring(key), tostring(value))
    end
  end
  table.sort(named)
  table.insert(named, 1, words[1] and text.shape(words))
  return table.concat(named, " ")
end

--- settings.mean(parts, f) -> number, or nil
--- The weighted geometric mean over parts, each with its weight, of f(part,
--- i), which returns nil for parts that do not count; nil where none does.
function M.mean(parts, f)
  local sum, weight = 0, 0
  for i, part in ipairs(parts) do
    local x = f(part, i)
    if x then
      sum, weight = sum + part.weight * math.log(x), weight + part.weight
    end
  end
  return weight > 0 and math.exp(sum / weight) or nil
end

-- The times of rows at each shape, by the search.
local function times_of(parts, rows)
  local times = {}
  for i in ipairs(parts) do
    times[i] = {}
    for _, row in ipairs(rows) do
      local here = row.at and row.status ~= "wrong"
        and row.proved ~= false and row.at[i]
      times[i][row] = evaluate.timed(here) and here.ms or nil
    end
  end
  return times
end

-- The row of least time at a shape, and the time.
local function least(rows, times)
  local best
  for _, row in ipairs(rows) do
    if times[row] and (not best or times[row] < times[best]) then
      best = row
    end
  end
  return best, best and times[best]
end

-- The weight of the shapes without a time, and the mean of the others; time(i)
-- is that of shape i.
local function cost(parts, time)
  local missing = 0
  local ms = M.mean(parts, function(part, i)
    local t = time(i)
    missing = missing + (t and 0 or part.weight)
    return t
  end)
  return missing, ms
end

-- The cost where each shape takes its fastest setting.
local function cost_of(parts, times, settings)
  return cost(parts, function(i)
    return select(2, least(settings, times[i]))
  end)
end

-- The row that serves best at place k among settings, put there; true where
-- that is worth it.
local function improve(parts, times, rows, settings, k)
  local missing, ms = cost_of(parts, times, settings)
  local others, fastest, best = {table.unpack(settings)}, {}, nil
  table.remove(others, k)
  for i in ipairs(parts) do
    fastest[i] = select(2, least(others, times[i]))
  end
  for _, row in ipairs(rows) do
    local m, t = cost(parts, function(i)
      local own, other = times[i][row], fastest[i]
      return own and other and math.min(own, other) or own or other
    end)
    if t and (m < missing or m == missing and t < (best and ms
        or ms / (1 + WORTH))) then
      best, missing, ms = row, m, t
    end
  end
  settings[k] = best or settings[k]
  return best ~= nil
end

-- Lists of one setting, two, three: the winner, where there is one, and then
-- to the list before the row that helps most, until another row in the place
-- of one is of no use.
local function plans(parts, times, rows, winner)
  local lists, settings = {{winner}}, {winner}
  local from = winner and 2 or 1
  for n = from, math.min(MOST, #parts) do
    if not improve(parts, times, rows, settings, n) then
      break
    end
    local again = n > 1
    while again do
      again = false
      for k = 1, n do
        again = improve(parts, times, rows, settings, k) or again
      end
    end
    lists[n] = {table.unpack(settings)}
  end
  return lists
end

-- What settings give: the loss of each shape against its best, and of all. A
-- shape takes the first setting that is as good as any.
local function level(parts, times, best, settings)
  local l = {settings = settings, shapes = {}}
  local total = M.mean(parts, function(part, i)
    local _, fastest = least(settings, times[i])
    local entry = {title = part.title}
    l.shapes[i] = entry
    for _, row in ipairs(settings) do
      local t = times[i][row]
      if t and t <= fastest * (1 + TIE) then
        entry.row, entry.ms, entry.loss = row, t, t / best[i] - 1
        return t / best[i]
      end
    end
  end)
  l.loss = total and total - 1
  return l
end

-- The table: a level for each list of settings, as long as one more gains.
local function levels(parts, times, best, lists)
  local list, missing = {}, nil
  for k, settings in ipairs(lists) do
    if #settings > 0 then
      local l = level(parts, times, best, settings)
      local left = cost_of(parts, times, settings)
      if k > 1 and left == missing
          and (1 + list[k - 1].loss) / (1 + l.loss) < 1 + WORTH then
        break
      end
      list[k], missing = l, left
    end
  end
  return list
end

-- The times of rows at shape i in turns, in ms; nil where there are none.
local function contest(parts, i, rows, seconds)
  local src, points = parts[i].source, {}
  for k, row in ipairs(rows) do
    points[k] = src.space:point(row.id)
  end
  local lists = #rows > 1 and src.subject
    and evaluate.turns(src, points, seconds / 2 / #parts)
  if not lists then
    return nil
  end
  local times = {}
  for k, verdict in ipairs(race.judge(lists)) do
    times[rows[k]] = verdict.median * 1e3
  end
  return times
end

--- settings.decide(parts, rows, winner, seconds, proves) -> list
--- The table of rows on parts, {source, shape, weight, title}: lists of one
--- setting, the winner where there is one, of two and more, with their loss.
--- proves(row) tells whether a row is right on awkward shapes, turns take so
--- many seconds; without seconds neither is done.
function M.decide(parts, rows, winner, seconds, proves)
  local times, lists, contenders
  repeat
    times, contenders = times_of(parts, rows), {}
    lists = plans(parts, times, rows, winner)
    local all_right = true
    for i in ipairs(parts) do
      local there = {}
      local function add(row)
        if row and times[i][row] and not there[row] then
          there[row] = true
          table.insert(contenders[i], row)
          all_right = (not seconds or proves(row)) and all_right
        end
      end
      contenders[i] = {}
      for _, settings in ipairs(lists) do
        for _, row in ipairs(settings) do
          add(row)
        end
      end
      add(least(rows, times[i]))
    end
  until all_right
  local best_ms = {}
  for i in ipairs(parts) do
    times[i] = seconds and contest(parts, i, contenders[i], seconds)
      or times[i]
    best_ms[i] = select(2, least(contenders[i], times[i]))
  end
  return levels(parts, times, best_ms, lists)
end

-- The sizes that tell how far shapes are apart; of a word the word.
local function sizes_of(shape, family)
  local sizes = {}
  if math.type(shape) then
    shape = {shape}
  elseif type(shape) ~= "table" then
    return {[shape] = 1}
  end
  local spec = family and family.spec
  if spec and shape[spec.inputs[1]] ~= nil then
    local _, s = family.bind(shape)
    shape = family.spec.sizes(s)
  elseif spec and spec.dims then
    shape = workload.shape(shape, spec.dims, "best:choose")
  end
  for name, x in pairs(shape) do
    local counts = not (spec and spec.dims)
    for _, dim in ipairs(spec and spec.dims or {}) do
      counts = counts or dim == name
    end
    sizes[name] = counts and math.type(x) and x > 0 and x or nil
  end
  return sizes
end

-- The sum of the logarithms of the ratios of sizes; nil where their names
-- differ.
local function distance(a, b)
  local sum = 0
  for name, x in pairs(a) do
    if not b[name] then
      return nil
    end
    sum = sum + math.abs(math.log(x / b[name]))
  end
  for name in pairs(b) do
    if not a[name] then
      return nil
    end
  end
  return sum
end

-- "3.2 %"
local function percent(loss)
  return quantity.number(100 * loss, 2) .. " %"
end

--- settings.lines(result) -> rows, columns, sentence
--- The shapes with the loss of the single setting and, where several settings
--- serve them better, the one of each, as texts; the columns that have any;
--- and the loss of one setting, of two.
function M.lines(result)
  local list, rows, losses = result.table or {}, {}, {}
  local one, last = list[1], list[#list]
  local weights = false
  for i, shape in ipairs(one and result.shapes or {}) do
    local e, own = one.shapes[i], last.shapes[i].row
    weights = weights or shape.weight ~= result.shapes[1].weight
    rows[i] = {title = shape.title, weight = tostring(shape.weight),
      time = e.ms and quantity.format(e.ms / 1e3, "s") or "",
      loss = e.loss and percent(e.loss) or "",
      setting = not own and "no configuration runs" or #list > 1
        and (own.rung and own.rung .. " " or "") .. own.config or ""}
  end
  local columns = {
    {key = "title", title = "shape", wrap = true},
    {key = "time", title = "time", align = "right"},
    {key = "loss", title = "loss", align = "right"},
    {key = "setting", title = #list > 1 and ("in a table of %d"):format(
      #list) or "", wrap = true},
  }
  if weights then
    table.insert(columns, 2, {key = "weight", title = "weight",
      align = "right", drop = 1})
  end
  for k, l in ipairs(list) do
    losses[k] = ("%s with %s"):format(percent(l.loss), text.count(k,
      "setting"))
  end
  return rows, columns, "loss against the best known of each shape: "
    .. table.concat(losses, ", ")
end

--- settings.choose(result, shape) -> params, rung
--- The setting of the table for the tuned shape that is nearest.
function M.choose(result, shape)
  local best = result.table and result.table[#result.table]
  if not best then
    cl.error(result.shapes and "best:choose: no configuration ran"
      or "best:choose: the search had one shape", {hint = not result.shapes
      and "tune(\"gemm\", {shapes = {{512}, {1024}}})" or nil})
  end
  local wanted, nearest, row = sizes_of(shape, result.family), nil, nil
  for i, part in ipairs(result.shapes) do
    local far = distance(wanted, sizes_of(part.shape, result.family))
    if far and best.shapes[i].row and (not nearest or far < nearest) then
      nearest, row = far, best.shapes[i].row
    end
  end
  if not row then
    cl.error(("best:choose: the shape must have the sizes of those tuned, "
      .. "such as %s; got %s"):format(M.label(result.shapes[1].shape),
      M.label(shape)))
  end
  return row.point, row.rung
end

return M

-- tune/shapes.lua - a search over several shapes: the sources of the shapes
-- as one, whose time is their mean, and the table of settings at its end
-- SPDX-License-Identifier: MIT
--
-- The mean is the weighted geometric one. It is the only mean of times over
-- the best times that orders points alike whatever the best times are: the
-- value of a point stays as it is when a shape finds a faster one, and a large
-- shape does not outvote a small one.

local argument = require "clshell.base.argument"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local kernel = require "clshell.tune.kernel"
local ladder = require "clshell.tune.ladder"
local quantity = require "clshell.base.quantity"
local race = require "clshell.tune.race"
local record = require "clshell.measure.record"
local text = require "clshell.base.text"
local workload = require "clshell.measure.workload"

local M = {}

local FAR = 2    -- times the best mean: the shapes that are left do not run
local TIE = 0.01 -- settings that are apart by less serve alike
local WORTH = 0.02 -- of the mean: what a setting more has to save
local MOST = 4   -- settings of a table

-- The options of a kernel that are functions of a point and a shape.
local OF_SHAPE = {"range", "args", "check", "flop", "bytes", "defines",
  "options", "local_bytes"}
-- Those of a shape alone.
local ALONE = {"reset", "output"}

-- The shapes of the user's list: {shape, weight}.
local function weighted(list)
  argument.check("tune", "shapes", list, "table",
    "such as {{512}, {shape = {1024}, weight = 3}}")
  if #list == 0 then
    cl.error("tune: shapes must hold a shape; got an empty list")
  end
  local parts = {}
  for i, entry in ipairs(list) do
    local part = {shape = entry, weight = 1}
    if type(entry) == "table" and entry.shape ~= nil then
      cl.options(entry, {"shape", "weight"}, "tune")
      part = {shape = entry.shape, weight = entry.weight or 1}
    end
    local w = part.weight
    if math.type(w) == nil or not (w > 0 and w < math.huge) then
      cl.error(("tune: the weight of shape %d must be a number > 0; got %s")
        :format(i, text.got(w)))
    end
    parts[i] = part
  end
  return parts
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
    shape = record.sizes(family, s)
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

-- A shape of the user's in words: "512x64", "n=100".
local function label(shape)
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

local function timed(here)
  return here and evaluate.timed(here)
end

-- The weighted geometric mean over parts of f(part, i), which returns nil for
-- parts that do not count; nil where none does.
local function mean(parts, f)
  local sum, weight = 0, 0
  for i, part in ipairs(parts) do
    local x = f(part, i)
    if x then
      sum, weight = sum + part.weight * math.log(x), weight + part.weight
    end
  end
  return weight > 0 and math.exp(sum / weight) or nil
end

-- The mean of a point's times over the best ones, if it were the best at the
-- shapes to come.
local function lag(parts, at)
  return mean(parts, function(part, i)
    return timed(at[i]) and at[i].ms / part.best or not at[i] and 1 or nil
  end)
end

local function best_mean(parts)
  return mean(parts, function(part) return part.best end)
end

-- Measures a point at one shape: a row of its own.
local function measure(part, p, look)
  local src = part.source
  local here = evaluate.row(src, p)
  local reason = src.refusal(p)
  if reason then
    evaluate.fill(here, {status = "refused", reason = reason})
  else
    look(src, p, here, part.race)
  end
  if timed(here) then
    part.best = math.min(part.best or math.huge, here.ms)
  end
  return here
end

-- The row of a point from its rows at the shapes.
local function joined(parts, at)
  local found = {at = at, stored = true, n = 0}
  local square, weight, all = 0, 0, true
  for i, part in ipairs(parts) do
    local here = at[i]
    if here and not timed(here) and not found.status then
      found.status = here.status
      found.reason = ("at %s: %s"):format(part.title,
        here.reason or "no reason given")
    elseif timed(here) then
      found.n = found.n + (here.n or 0)
      square = square + (part.weight * (here.rel or 0))^2
    end
    all = all and here ~= nil
    found.stored = found.stored and (not here or here.stored)
    weight = weight + part.weight
  end
  if not found.status and all then
    found.status, found.rel = "ok", math.sqrt(square) / weight
    found.ms = mean(parts, function(_, i) return at[i].ms end)
  elseif not found.status then -- as far behind at the other shapes, it is said
    found.status = "slow"
    found.ms = mean(parts, function(part, i)
      return at[i] and at[i].ms / part.best
    end) * best_mean(parts)
  end
  return found
end

-- The times of rows at each shape, by the search.
local function times_of(parts, rows)
  local times = {}
  for i in ipairs(parts) do
    times[i] = {}
    for _, row in ipairs(rows) do
      local here = row.at and row.status ~= "wrong"
        and row.proved ~= false and row.at[i]
      times[i][row] = timed(here) and here.ms or nil
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
  local ms = mean(parts, function(part, i)
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
  local total = mean(parts, function(part, i)
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

-- One source of those of parts, {source, shape, weight, title}.
function M.join(parts)
  local first = parts[1].source
  local src = {space = first.space, spaces = first.spaces, out = first.out,
    name = first.name, family = first.family, context = first.context,
    mode = first.mode, recorded = first.recorded, split = first.split,
    note = first.note, process = first.process, awkward = first.awkward,
    subject = first.subject, resource = first.resource,
    title = text.count(#parts, "shape") .. ", geometric mean",
    number = first.number, opening = first.opening,
    keep_binaries = first.keep_binaries, first = {}, shapes = {}, parts = {}}
  for i, part in ipairs(parts) do
    src.parts[i] = part.source
    src.shapes[i] = {shape = part.shape, weight = part.weight,
      title = part.title}
    table.move(part.source.first, 1, #part.source.first, #src.first + 1,
      src.first)
    part.race = race.new()
  end
  local best -- mean

  function src.refusal(p)
    local words
    for _, part in ipairs(parts) do
      local reason = part.source.refusal(p)
      if not reason then
        return nil
      end
      words = words or ("at %s: %s"):format(part.title, reason)
    end
    return words
  end

  src.programs = first.programs and function(p)
    local list = {}
    for _, one in ipairs(src.parts) do
      table.move(one.refusal(p) and {} or one.programs(p), 1, 1, #list + 1,
        list)
    end
    return list
  end

  function src.measure(p, look)
    local at = {}
    for i, part in ipairs(parts) do
      at[i] = measure(part, p, look)
      if at[i].status == "wrong" or at[i].status == "build"
          or best and timed(at[i])
          and lag(parts, at) > FAR * best / best_mean(parts) then
        break
      end
    end
    local found = joined(parts, at)
    if found.status == "ok" then
      best = math.min(best or math.huge, found.ms)
    end
    return found
  end

  -- The rounds of all shapes as rounds of the mean.
  function src.turns(points, seconds)
    local lists, rounds = {}, math.huge
    for i, part in ipairs(parts) do
      lists[i] = evaluate.turns(part.source, points, seconds / 2 / #parts)
      if not lists[i] then
        return nil
      end
      rounds = math.min(rounds, #lists[i][1])
    end
    local means = {}
    for k in ipairs(points) do
      means[k] = {}
      for n = 1, rounds do
        means[k][n] = mean(parts, function(_, i) return lists[i][k][n] end)
      end
    end
    return means
  end

  -- The times of rows at shape i in turns, in ms; nil where there are none.
  local function contest(i, rows, seconds)
    local points = {}
    for k, row in ipairs(rows) do
      points[k] = src.space:point(row.id)
    end
    local lists = #rows > 1 and parts[i].source.subject
      and evaluate.turns(parts[i].source, points, seconds / 2 / #parts)
    if not lists then
      return nil
    end
    local times = {}
    for k, verdict in ipairs(race.judge(lists)) do
      times[rows[k]] = verdict.median * 1e3
    end
    return times
  end

  -- The table at the end: proves(row) tells whether a row is right on awkward
  -- shapes, turns take so many seconds; without seconds neither is done.
  function src.decide(rows, winner, seconds, proves)
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
      times[i] = seconds and contest(i, contenders[i], seconds) or times[i]
      best_ms[i] = select(2, least(contenders[i], times[i]))
    end
    return levels(parts, times, best_ms, lists)
  end

  return src
end

--- shapes.ladder(what, list, opts, link) -> source, or nil
--- The source of a rung or a family on a list of shapes; nil where `what` is
--- neither. The points run behind a link, see remote.lua.
function M.ladder(what, list, opts, link)
  local parts, bound_shapes = weighted(list), {}
  for i, part in ipairs(parts) do
    part.job = workload.ladder("tune", what, part.shape, opts and opts.type)
    if not part.job then
      return nil
    end
    bound_shapes[i] = select(2, part.job.family.bind(part.job.operands))
  end
  for _, part in ipairs(parts) do
    part.source = link:wrap(ladder.source(part.job, opts or {}, bound_shapes))
    part.title = part.source.title
  end
  return M.join(parts)
end

--- shapes.kernel(t, link) -> source
--- The source of a kernel of the user's, the table of tune, on t.shapes.
function M.kernel(t, link)
  local parts = weighted(t.shapes)
  for _, part in ipairs(parts) do
    local own, shape = {}, part.shape
    for name, value in pairs(t) do
      own[name] = value
    end
    for _, name in ipairs(OF_SHAPE) do
      local f = t[name]
      own[name] = type(f) == "function" and function(p)
        return f(p, shape)
      end or f
    end
    for _, name in ipairs(ALONE) do
      local f = t[name]
      own[name] = type(f) == "function" and function()
        return f(shape)
      end or f
    end
    own.output = type(own.output) == "function" and own.output() or own.output
    part.source, part.title = link:wrap(kernel.source(own)), label(shape)
  end
  return M.join(parts)
end

-- "3.2 %"
local function percent(loss)
  return quantity.number(100 * loss, 2) .. " %"
end

--- shapes.lines(result) -> rows, columns, sentence
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

--- shapes.choose(result, shape) -> params, rung
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
      .. "such as %s; got %s"):format(label(result.shapes[1].shape),
      label(shape)))
  end
  return row.point, row.rung
end

return M

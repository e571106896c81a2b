-- tune/shapes.lua - a search over several shapes: the sources of the shapes
-- as one, whose time is their mean; settings.lua has the table at its end
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local kernel = require "clshell.tune.kernel"
local ladder = require "clshell.tune.ladder"
local race = require "clshell.tune.race"
local settings = require "clshell.tune.settings"
local text = require "clshell.base.text"
local workload = require "clshell.ladder.workload"

local M = {}

local FAR = 2    -- times the best mean: the shapes that are left do not run

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

-- The mean of a point's times over the best ones, if it were the best at the
-- shapes to come.
local function lag(parts, at)
  return settings.mean(parts, function(part, i)
    return not at[i] and 1 or evaluate.timed(at[i]) and at[i].ms / part.best
      or nil
  end)
end

local function best_mean(parts)
  return settings.mean(parts, function(part) return part.best end)
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
  if evaluate.timed(here) then
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
    if here and not evaluate.timed(here) and not found.status then
      found.status = here.status
      found.reason = ("at %s: %s"):format(part.title,
        here.reason or "no reason given")
    elseif evaluate.timed(here) then
      found.n = found.n + (here.n or 0)
      square = square + (part.weight * (here.rel or 0))^2
    end
    all = all and here ~= nil
    found.stored = found.stored and (not here or here.stored)
    weight = weight + part.weight
  end
  if not found.status and all then
    found.status, found.rel = "ok", math.sqrt(square) / weight
    found.ms = settings.mean(parts, function(_, i) return at[i].ms end)
  elseif not found.status then -- as far behind at the other shapes, it is said
    found.status = "slow"
    found.ms = settings.mean(parts, function(part, i)
      return at[i] and at[i].ms / part.best
    end) * best_mean(parts)
  end
  return found
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
    number = first.number, opening = first.opening, worker = first.worker,
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
      for _, program in ipairs(one.refusal(p) and {} or one.programs(p)) do
        list[#list + 1] = program
      end
    end
    return list
  end

  function src.measure(p, look)
    local at = {}
    for i, part in ipairs(parts) do
      at[i] = measure(part, p, look)
      if at[i].status == "wrong" or at[i].status == "build"
          or best and evaluate.timed(at[i])
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
        means[k][n] = settings.mean(parts, function(_, i)
          return lists[i][k][n]
        end)
      end
    end
    return means
  end

  function src.decide(...)
    return settings.decide(parts, ...)
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
    part.source = link:wrap(kernel.source(own))
    part.title = settings.label(shape)
  end
  return M.join(parts)
end

return M

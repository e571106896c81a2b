-- tune/search.lua - one search: points in the order of a strategy until the
-- budget ends, then the finals
-- SPDX-License-Identifier: MIT

local aims = require "clshell.tune.aims"
local builders = require "clshell.tune.builders"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local finals = require "clshell.tune.finals"
local interrupt = require "clshell.base.interrupt"
local race = require "clshell.tune.race"
local results = require "clshell.tune.result"
local spaces = require "clshell.tune.space"
local strategy = require "clshell.tune.strategy"
local view = require "clshell.tune.view"

local M = {}

local SEARCH = 0.8   -- part of the seconds; the rest is for turns
-- What a device that is lost gives.
local FAILURES = {failed = true, build = true, refused = true}
local IDLE = 10000   -- proposals in a row that are known: the strategy is done

local Search = {}
Search.__index = Search

-- The number that the search makes small.
local function objective(search, row)
  if not evaluate.timed(row) then
    return nil
  elseif not search.opts.objective then
    return row.ms
  end
  local value = search.opts.objective(row.record or row)
  if math.type(value) == nil or value ~= value then
    cl.error("tune: objective must return a number; got "
      .. tostring(value), {hint = "lower is better: objective = function(r) "
      .. "return -r.gflops end"})
  end
  return value
end

-- The points that the search may still measure, and whether one that comes
-- later is to be measured.
local function to_come(search)
  local src = search.source
  return math.min(#src.space - search.count,
    (search.limits.evaluations or math.huge) - search.evaluations),
    function(id)
      local p = src.space:point(id)
      return not search.seen[id] and not src.refusal(p)
        and not (search.recall and search.recall:knows(src, p))
    end
end

-- Builds the program of the point visited, and those of the points that come
-- next by the function of the visit, where that pays. Returns why the point
-- has ended the process that measures, or nil.
function Search:build_ahead()
  local left, wanted = to_come(self)
  return self.builders:prepare(self.visited, self.ahead, wanted, left,
    SEARCH * self.limits.seconds - (cl.now() - self.begin))
end

-- The measurement of the point visited, while other ranks measure those that
-- come next.
function Search:with_crew(best)
  local left, wanted = to_come(self)
  return self.crew:measure(self.visited, best, self.ahead, wanted, left - 1)
end

-- Fills the row of a point of a source from the run store, or by a measurement
-- in a race.
function Search:look(src, p, row, race_of)
  local recall, kept, change = self.recall, nil, nil
  if recall then
    kept, change = recall:find(src, row, src.setting(p))
  end
  if kept then
    evaluate.fill(row, {status = kept.status, reason = kept.error,
      record = kept, stored = true})
    race_of:finished(kept)
    return
  end
  self.view:say(change)
  local begin = cl.now()
  local fault = self.builders and self:build_ahead()
  local ready = cl.now()
  local best = self.raced and race_of.best or nil
  local found = fault and {status = "failed", reason = fault}
    or self.crew and self:with_crew(best) or src.measure(p, best)
  evaluate.fill(row, found)
  race_of:finished(row.record or {})
  self.sampled = self.sampled + (found.sampled or 0)
  self.spent = self.spent + cl.now() - begin
  if self.builders then
    local launch = found.record and found.record.median or 0 -- checked
    self.builders:measured(cl.now() - ready, launch + (found.sampled or 0),
      found.building or 0)
  end
  if recall then
    self.lost = FAILURES[row.status] and evaluate.lost(src.context) or nil
    if not self.lost then
      recall:keep(src, row)
    end
  end
end

-- The row of a point, measured unless that was done before. ahead(k) lists
-- points that come next.
function Search:visit(id, ahead)
  local known = self.seen[id]
  if known then
    return known
  end
  self.visited, self.ahead = id, ahead
  local src = self.source
  local p = src.space:point(id)
  local row = evaluate.row(src, p)
  row.id = id
  self.view:step(results.named(row))
  local reason = src.refusal(p)
  if reason then
    row.status, row.reason = "refused", reason
  else
    if src.shapes then
      evaluate.fill(row, src.measure(p, function(...)
        self:look(...)
      end))
    else
      self:look(src, p, row, self.race)
    end
    self.stored = self.stored + (row.stored and 1 or 0)
    if row.status ~= "refused" or row.at then
      self.evaluations = self.evaluations + 1
    end
  end
  if self.aims then
    row.aims = evaluate.timed(row) and self.aims:measure(row, p) or nil
    row.value = row.aims and row.aims[1]
  else
    row.value = objective(self, row)
  end
  self.seen[id], self.count = row, self.count + 1
  self.rows[#self.rows + 1] = row
  if row.value and row.status == "ok"
      and (not self.best or row.value < self.best.value) then
    self.best = row
  end
  self.view:add(row)
  return row
end

-- Why the search ends now, or nil.
function Search:over()
  local o = self.limits
  return self.lost and "device"
    or self.count >= #self.source.space and "space"
    or o.evaluations and self.evaluations >= o.evaluations and "budget"
    or cl.now() - self.begin >= SEARCH * o.seconds and "time" or nil
end

-- The evaluations that the budget leaves, by the time of those measured.
local function affordable(search)
  local o = search.limits
  local passed = cl.now() - search.begin
  if o.seconds == math.huge then
    return o.evaluations
  end
  local measured = search.evaluations - search.stored
  local more = measured > 0 and search.spent > 0 and math.floor(
    (SEARCH * o.seconds - passed) / search.spent * measured)
    or o.evaluations or 100
  return math.max(1, math.min(o.evaluations or math.huge,
    math.tointeger(search.evaluations + more) or 1000000))
end

-- Measures points until the budget ends. Returns why it ended.
function Search:run()
  local src = self.source
  local told, first = {}, {}
  for _, p in ipairs(src.first) do
    first[#first + 1] = src.space:number(p)
  end
  for i, id in ipairs(first) do
    if not self.seen[id] and not self:over() then
      told[#told + 1] = self:visit(id, function(k, more)
        return table.move(first, i + 1, math.min(i + k + more, #first), 1, {})
      end)
    end
  end
  self.default = told[1]
  local chosen = self.opts.strategy
  if chosen == nil then
    chosen, self.why = strategy.choose(src.space, affordable(self),
      self.aims ~= nil)
  end
  local random = spaces.random(self.limits.seed)
  local ask, tell, ahead, again = strategy.new(chosen, src.space, random)
  self.strategy = type(chosen) == "function" and "of your own" or chosen
  local weights = self.aims and self.aims:mix()
  local function worth(row) -- one number, of several aims too
    return weights and self.aims:cost(row, weights) or row.value
  end
  for _, row in ipairs(told) do
    tell(row.id, worth(row))
  end
  local idle = 0
  while not self:over() do
    if self.aims and again then
      weights = self.aims:mix(random)
      again(function(known) return worth(self.seen[known]) end)
    end
    local id = ask()
    if id == nil then
      return "space"
    elseif math.type(id) ~= "integer" or id < 1 or id > #src.space then
      cl.error(("tune: a strategy must ask for the number of a point, 1 to "
        .. "%d; got %s"):format(#src.space, tostring(id)))
    end
    idle = self.seen[id] and idle + 1 or 0
    if idle > IDLE then
      return "space"
    end
    tell(id, worth(self:visit(id, ahead)))
  end
  return self:over()
end

-- The winners, from the run store where all rows are from it. It knows no
-- aims; a front is found at once.
function Search:finals()
  local seconds = math.max(2, math.min(20,
    (1 - SEARCH) * self.limits.seconds))
  local function find()
    return finals.find(self, seconds)
  end
  local winners
  if self.recall and not self.aims then
    winners, self.gain, self.table = self.recall:finals(self.rows,
      self.stored == self.evaluations, find)
  else
    winners, self.gain, self.table = find()
  end
  return winners
end

-- A line where all results are wrong in the same way.
local function doubt(rows)
  local count, reason = 0, nil
  for _, row in ipairs(rows) do
    if evaluate.timed(row) or row.status == "wrong" and count > 0
        and row.reason ~= reason then
      return nil
    elseif row.status == "wrong" then
      count, reason = count + 1, row.reason
    end
  end
  return count > 1 and ("all %d results are wrong in the same way: the "
    .. "reference may be wrong"):format(count) or nil
end

-- The lines below a result.
local function notes_of(search)
  local src = search.source
  local notes = {src.note and src.note() or nil}
  notes[#notes + 1] = doubt(search.rows)
  notes[#notes + 1] = src.process and src.process() or nil
  notes[#notes + 1] = search.builders and search.builders:note() or nil
  notes[#notes + 1] = search.crew and search.crew:note() or nil
  for _, note in ipairs(search.recall and search.recall:notes() or {}) do
    notes[#notes + 1] = note
  end
  notes[#notes + 1] = search.lost
  return notes
end

-- The result of a search that ended for a reason.
local function result_of(search, ended, winners)
  local src, best, default = search.source, winners[1], search.default
  if best and default and default ~= best and evaluate.timed(default) then
    search.gain = search.gain or {ratio = default.ms / best.ms}
  end
  return results.new{
    ms = best and (best.turns and best.turns * 1e3 or best.ms),
    value = best and best.value, params = best and best.point,
    rung = best and best.rung, winners = winners, rows = search.rows,
    default = default, objective = search.opts.objective,
    evaluations = search.evaluations, stored = search.stored,
    space = src.space, spaces = src.spaces, out = src.out, name = src.name,
    title = src.title, family = src.family, shape = src.shape,
    context = src.context, strategy = search.strategy or "none",
    why = search.why or "as asked", seed = search.limits.seed,
    seconds = cl.now() - search.begin, sampled = search.sampled,
    ended = ended, gain = search.gain, notes = notes_of(search),
    shapes = src.shapes, aims = search.aims,
    pareto = search.aims and winners,
    table = search.table or src.decide and src.decide(search.rows, best),
  }
end

--- search.run(source, opts, limits [, crew]) -> result
--- Searches a source, see evaluate.lua, by the options of tune; limits has
--- their seconds, evaluations and seed. Ctrl-C is raised with the result so
--- far as `record`. With a crew, see crew.lua, other ranks measure as well.
function M.run(source, opts, limits, crew)
  local src_space = source.space
  if #src_space == 0 then
    cl.error("tune: no point meets the constraints",
      {hint = tostring(src_space)})
  end
  local search = setmetatable({source = source, opts = opts, limits = limits,
    rows = {}, seen = {}, count = 0, evaluations = 0, stored = 0,
    race = race.new(), spent = 0, sampled = 0, begin = cl.now(),
    crew = crew}, Search)
  search.aims = opts.objectives and aims.new(opts.objectives, source)
  -- The time alone says too little of other aims: no race.
  search.raced = opts.race ~= false and not (opts.objective or search.aims)
  if opts.strategy ~= nil and type(opts.strategy) ~= "function" then
    -- an unknown name raises before the search
    strategy.new(opts.strategy, src_space, spaces.random(limits.seed))
  end
  if not source.recorded then
    search.recall = require "clshell.tune.recall".new(source, opts)
  end
  local shown <close> = view.new{quiet = opts.quiet or source.recorded,
    seconds = limits.seconds < math.huge and SEARCH * limits.seconds or nil,
    total = math.min(#src_space, limits.evaluations or #src_space)}
  search.view = shown
  local running <close> = not crew and builders.new(source, limits.builders)
    or nil
  search.builders = running
  local function with_stack(e)
    if interrupt.is(e) then
      return e
    end
    local found, failure = pcall(require, "clshell.failure")
    return found and failure.keep(e) or e
  end
  local ok, answer = xpcall(function()
    local ended, winners = search:run(), nil
    if not search.lost then
      local fine
      fine, winners = xpcall(search.finals, with_stack, search)
      search.lost = not fine and not interrupt.is(winners)
        and not source.recorded and evaluate.lost(source.context) or nil
      if not fine and not search.lost then
        error(winners, 0)
      end
    end
    return search.lost and result_of(search, "device", finals.so_far(search))
      or result_of(search, ended, winners)
  end, with_stack)
  if ok then
    return answer
  elseif interrupt.is(answer) and type(answer) == "table" then
    cl.undisturbed(function()
      answer.record = result_of(search, "interrupted", finals.so_far(search))
      answer.hint = tostring(answer.record)
    end)
  end
  error(answer, 0)
end

return M

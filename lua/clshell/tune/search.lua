-- tune/search.lua - one search: points in the order of a strategy until the
-- budget ends, then the finalists in turns
-- SPDX-License-Identifier: MIT

local aims = require "clshell.tune.aims"
local builders = require "clshell.tune.builders"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local interrupt = require "clshell.base.interrupt"
local race = require "clshell.tune.race"
local results = require "clshell.tune.result"
local spaces = require "clshell.tune.space"
local stats = require "clshell.measure.stats"
local strategy = require "clshell.tune.strategy"
local view = require "clshell.tune.view"

local M = {}

local SEARCH = 0.8   -- part of the seconds; the rest is for turns
local TIE = 0.01     -- of the best: winners, where turns tell nothing
local FINALISTS = 8
local FAR = 10       -- times the best: a default that is not run in turns
-- What a device that is lost gives.
local FAILURES = {failed = true, build = true, refused = true}
local IDLE = 10000   -- proposals in a row that are known: the strategy is done

-- Whether a row has a time.
local function timed(row)
  return row.ms ~= nil and (row.status == "ok" or row.status == "slow")
end

local Search = {}
Search.__index = Search

-- The number that the search makes small.
local function objective(search, row)
  if not timed(row) then
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

-- Builds the program of the point visited, and those of the points that come
-- next by the function of the visit, where that pays.
function Search:build_ahead()
  local src, o = self.source, self.limits
  local left = math.min(#src.space - self.count,
    (o.evaluations or math.huge) - self.evaluations)
  self.builders:prepare(self.visited, self.ahead, function(id)
    local p = src.space:point(id)
    return not self.seen[id] and not src.refusal(p)
      and not (self.recall and self.recall:knows(src, p))
  end, left, SEARCH * o.seconds - (cl.now() - self.begin))
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
  if self.builders then
    self:build_ahead()
  end
  local ready = cl.now()
  local found = src.measure(p, self.raced and race_of.best or nil)
  evaluate.fill(row, found)
  race_of:finished(row.record or {})
  self.sampled = self.sampled + (found.sampled or 0)
  self.spent = self.spent + cl.now() - begin
  if self.builders then
    self.builders:measured(p, cl.now() - ready, found.sampled or 0,
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
    row.aims = timed(row) and self.aims:measure(row, p) or nil
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
      told[#told + 1] = self:visit(id, function(k)
        return table.move(first, i + 1, math.min(i + k, #first), 1, {})
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

-- The rows near the best, best first.
local function finalists(rows)
  local list, best = {}, nil
  for _, row in ipairs(rows) do
    if row.status == "ok" and row.value
        and (not best or row.value < best.value) then
      best = row
    end
  end
  for _, row in ipairs(rows) do
    if row.status == "ok" and row.value then
      local near = math.max(race.near, row.rel or 0, best.rel or 0)
      if row == best or row.value <= best.value + near
          * math.abs(best.value) then
        list[#list + 1] = row
      end
    end
  end
  table.sort(list, function(a, b)
    return a.value < b.value or a.value == b.value and a.id < b.id
  end)
  for i = #list, FINALISTS + 1, -1 do
    list[i] = nil
  end
  return list
end

-- How far a configuration is from the simplest: parameters that are not the
-- default; another rung than the default's is further away than all of them.
local function plainness(search, row)
  local count, default = 0, search.default
  if not default or default.rung ~= row.rung then
    return default and 100 or 0
  end
  for name, v in pairs(row.point) do
    count = count + (default.point[name] ~= v and 1 or 0)
  end
  return count
end

-- Measures rows in turns: their verdicts against the best and their rounds,
-- or nil. After nil, true: a row has failed, and does not take part again.
function Search:turns(rows, seconds)
  local src, points = self.source, {}
  for i, row in ipairs(rows) do
    points[i] = src.space:point(row.id)
  end
  local lists, at, reason = evaluate.turns(src, points, seconds)
  if lists then
    return race.judge(lists), lists
  elseif at then
    rows[at].status, rows[at].reason, rows[at].value = "failed", reason, nil
  end
  return nil, at ~= nil
end

-- Whether a row is right on shapes that fit no tile; it is "wrong" otherwise,
-- or "failed".
function Search:proves(row)
  local src = self.source
  if src.awkward and row.proved == nil then
    self.view:step("shapes that fit no tile: " .. results.named(row))
    local reason, status = src.awkward(src.space:point(row.id))
    row.proved = not reason
    if reason then
      row.status, row.reason, row.value = status or "wrong", reason, nil
    end
  end
  return row.proved ~= false
end

-- The winners of several aims: the rows of the front that are right on all
-- shapes.
function Search:finish_front()
  local front
  repeat
    front = aims.front(self.rows)
    local all_right = true
    for _, row in ipairs(front) do
      all_right = self:proves(row) and all_right
    end
  until all_right
  return front
end

-- The ratio of the times of rows in the same rounds, with its interval.
local function ratio(above, below)
  local list = {}
  for i, t in ipairs(above) do
    list[i] = t / below[i]
  end
  local lo, hi = stats.interval(list)
  return {ratio = stats.median(list), lo = lo, hi = hi}
end

-- Finds the winners among the rows near the best: right on all shapes, and
-- not told apart from the best in turns. The simplest comes first, of equally
-- simple ones the one with the least local memory.
function Search:finish()
  if self.aims then
    return self:finish_front()
  end
  local src, list = self.source
  repeat
    list = finalists(self.rows)
    local all_right = true
    for _, row in ipairs(list) do
      all_right = self:proves(row) and all_right
    end
  until all_right
  local default = self.default
  local winners, best, ran = {}, list[1], {table.unpack(list)}
  local seconds = math.max(2, math.min(20,
    (1 - SEARCH) * self.limits.seconds))
  local verdicts, lists
  if src.subject and best and not self.opts.objective then
    if default and timed(default) and default.ms < FAR * best.ms then
      local there = false
      for _, row in ipairs(list) do
        there = there or row == default
      end
      ran[#ran + 1] = not there and self:proves(default) and default or nil
    end
    if #ran > 1 then
      self.view:step "the best in turns"
      verdicts, lists = self:turns(ran, seconds)
      if not verdicts and lists then
        return self:finish()
      end
    end
    for i, row in ipairs(verdicts and ran or {}) do
      row.turns, row.verdict = verdicts[i].median, verdicts[i].verdict
      row.rounds = lists[i]
    end
  end
  for _, row in ipairs(verdicts and ran or list) do
    local tied = row.verdict and row.verdict ~= "SLOWER"
      or not verdicts and row.value <= best.value + TIE * math.abs(best.value)
    winners[#winners + 1] = tied and row or nil
  end
  local ranks = {}
  for _, row in ipairs(winners) do
    ranks[row] = {plainness(self, row), #winners > 1 and src.resource
      and src.resource(src.space:point(row.id), "local_bytes") or 0,
      row.turns or row.value, row.id}
  end
  table.sort(winners, function(a, b)
    local x, y = ranks[a], ranks[b]
    for i, rank in ipairs(x) do
      if rank ~= y[i] then
        return rank < y[i]
      end
    end
    return false
  end)
  local first = winners[1]
  if first and default and default ~= first and default.rounds
      and first.rounds then
    self.gain = ratio(default.rounds, first.rounds)
  end
  if src.decide then
    self.view:step "the table of settings"
    self.table = src.decide(self.rows, first, seconds, function(row)
      return self:proves(row)
    end)
  end
  for _, row in ipairs(self.rows) do
    row.rounds, row.proved = nil, nil
  end
  return winners
end

-- The winners, from the run store where all rows are from it. It knows no
-- aims; a front is found at once.
function Search:finals()
  if not self.recall or self.aims then
    return self:finish()
  end
  local winners
  winners, self.gain, self.table = self.recall:finals(self.rows,
    self.stored == self.evaluations, function()
      local found = self:finish()
      return found, self.gain, self.table
    end)
  return winners
end

-- A line where all results are wrong in the same way.
local function doubt(rows)
  local count, reason = 0, nil
  for _, row in ipairs(rows) do
    if timed(row) or row.status == "wrong" and count > 0
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
  for _, note in ipairs(search.recall and search.recall:notes() or {}) do
    notes[#notes + 1] = note
  end
  notes[#notes + 1] = search.lost
  return notes
end

-- The result of a search that ended for a reason.
local function result_of(search, ended, winners)
  local src, best, default = search.source, winners[1], search.default
  if best and default and default ~= best and timed(default) then
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

-- The best row so far, for a search that was interrupted.
local function so_far(search)
  if search.aims then
    return aims.front(search.rows)
  end
  local list = finalists(search.rows)
  return {list[1]}
end

--- search.run(source, opts, limits) -> result
--- Searches a source, see evaluate.lua, by the options of tune; limits has
--- their seconds, evaluations and seed. Ctrl-C is raised with the result so
--- far as `record`.
function M.run(source, opts, limits)
  local src_space = source.space
  if #src_space == 0 then
    cl.error("tune: no point meets the constraints",
      {hint = tostring(src_space)})
  end
  local search = setmetatable({source = source, opts = opts, limits = limits,
    rows = {}, seen = {}, count = 0, evaluations = 0, stored = 0,
    race = race.new(), spent = 0, sampled = 0, begin = cl.now()}, Search)
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
  local running <close> = builders.new(source, limits.builders)
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
    return search.lost and result_of(search, "device", so_far(search))
      or result_of(search, ended, winners)
  end, with_stack)
  if ok then
    return answer
  elseif interrupt.is(answer) and type(answer) == "table" then
    cl.undisturbed(function()
      answer.record = result_of(search, "interrupted", so_far(search))
      answer.hint = tostring(answer.record)
    end)
  end
  error(answer, 0)
end

return M

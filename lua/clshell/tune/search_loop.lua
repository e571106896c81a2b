-- tune/search_loop.lua - one search: it measures points in the order of a
-- strategy until the budget ends; then the rows near the best are checked on
-- shapes that fit no tile and run in turns, which tells the winners
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local interrupt = require "clshell.base.interrupt"
local results = require "clshell.tune.tune_result"
local spaces = require "clshell.tune.space"
local stats = require "clshell.measure.stats"
local strategy = require "clshell.tune.strategy"

local M = {}

local SEARCH = 0.8 -- the part of the seconds before the final round
-- The statuses of a point on a lost device.
local FAILURES = {failed = true, build = true, refused = true}
local IDLE = 10000 -- known points in a row that end a strategy
local BUILDS = 5   -- the least seconds to come that may need builders
local TIE = 0.01   -- the part of the best that ties, without turns
local FINALISTS = 8
local FAR = 10     -- times the best: a default too slow for turns

local Search = {}
Search.__index = Search

function Search:__close()
  if self.builders then
    self.builders:close()
  end
end

-- The seconds that are left for measuring points.
local function seconds_left(search)
  return SEARCH * search.limits.seconds - (cl.now() - search.begin)
end

-- The number of points that the search may still measure.
local function points_left(search)
  return math.min(#search.source.space - search.count,
    (search.limits.evaluations or math.huge) - search.evaluations)
end

-- Measures a point in this process. Where measurements like it take long, or
-- the user asks for builders, they build from the next point on.
local function measure_here(search, p, best)
  local src, asked, begin = search.source, search.limits.builders, cl.now()
  local found = src:measure(p, best)
  local took = cl.now() - begin
  local building = points_left(search) * (took - (found.sampled or 0))
  if src.programs and (asked or building > BUILDS and 2 or 0) > 1 then
    search.builders = require "clshell.tune.builders".new(src, asked)
  end
  if search.builders then
    search.builders:took(took, found)
  end
  return found
end

-- The measurement of a point, here or on another rank; meanwhile programs of
-- the next points are built, or those points measured.
local function measurement(search, id, p, ahead)
  local src, known = search.source, search.known
  local best = search.raced and search.least or nil
  local helpers = search.ranks or search.builders
  if not helpers then
    return measure_here(search, p, best)
  end
  return helpers:measure(id, best, ahead, function(other)
    local q = src.space:point(other)
    return not search.seen[other] and not src:refusal(q)
      and not (known and known:knows(q))
  end, points_left(search), seconds_left(search))
end

-- Notes the median of a record for the points that follow.
local function finished(search, r)
  if r and r.median and r.median > 0 then
    search.least = math.min(search.least, r.median)
  end
end

-- Fills the row of a point from the run store, or by a measurement.
local function look(search, row, p, ahead)
  local known, kept, change = search.known, nil, nil
  if known then
    kept, change = known:find(row, search.source:setting(p))
  end
  if kept then
    evaluation.fill(row, {status = kept.status, reason = kept.error,
      record = kept, stored = true})
    return finished(search, kept)
  end
  search.progress:say(change)
  local begin = cl.now()
  local found = measurement(search, row.id, p, ahead)
  evaluation.fill(row, found)
  finished(search, row.record)
  search.sampled = search.sampled + (found.sampled or 0)
  search.spent = search.spent + cl.now() - begin
  if known then
    search.lost = FAILURES[row.status]
      and evaluation.lost(search.source.context) or nil
    if not search.lost then
      known:keep(row)
    end
  end
end

-- Adds a complete row to the search.
local function add(search, row)
  row.value, row.cost = evaluation.value(row, search.opts)
  search.seen[row.id], search.count = row, search.count + 1
  search.rows[#search.rows + 1] = row
  if row.cost and row.status == "ok"
      and (not search.best or row.cost < search.best.cost) then
    search.best = row
  end
  search.progress:add(row)
end

-- The row of a point, measured unless the search has it already. ahead(k)
-- lists the next points.
function Search:visit(id, ahead)
  if self.seen[id] then
    return self.seen[id]
  end
  local src = self.source
  local p = src.space:point(id)
  local row = evaluation.row(src, p)
  row.id = id
  self.progress:step(results.named(row))
  local reason = src:refusal(p)
  if reason then
    row.status, row.reason = "refused", reason
  else
    look(self, row, p, ahead)
    self.stored = self.stored + (row.stored and 1 or 0)
    self.evaluations = self.evaluations + (row.status ~= "refused" and 1 or 0)
  end
  add(self, row)
  return row
end

-- The reason why the search ends now, or nil.
function Search:over()
  local o = self.limits
  return self.lost and "device"
    or self.count >= #self.source.space and "space"
    or o.evaluations and self.evaluations >= o.evaluations and "budget"
    or seconds_left(self) <= 0 and "time" or nil
end

-- The number of evaluations that the budget allows in all, by the time of the
-- points so far.
local function affordable(search)
  local o = search.limits
  if o.seconds == math.huge then
    return o.evaluations
  end
  local measured = search.evaluations - search.stored
  local more = measured > 0 and search.spent > 0 and math.floor(
    seconds_left(search) / search.spent * measured) or o.evaluations or 100
  return math.max(1, math.min(o.evaluations or math.huge,
    math.tointeger(search.evaluations + more) or 1000000))
end

-- Measures the points that a source begins with. Returns their rows.
local function visit_first(search)
  local src, first, rows = search.source, {}, {}
  for i, p in ipairs(src.first) do
    first[i] = src.space:number(p)
  end
  for i, id in ipairs(first) do
    if not search.seen[id] and not search:over() then
      rows[#rows + 1] = search:visit(id, function(k, more)
        return table.move(first, i + 1, math.min(i + k + more, #first), 1, {})
      end)
    end
  end
  return rows
end

-- The functions of the strategy, by the options or by the space.
local function strategy_of(search)
  local chosen = search.opts.strategy
  if chosen == nil then
    chosen, search.why = strategy.choose(search.source.space,
      affordable(search))
  end
  search.strategy = type(chosen) == "function" and "of your own" or chosen
  return strategy.new(chosen, search.source.space,
    spaces.random(search.limits.seed))
end

-- Measures points until the budget ends. Returns the reason of the end.
function Search:run()
  local told = visit_first(self)
  self.default = told[1]
  local ask, tell, ahead = strategy_of(self)
  for _, row in ipairs(told) do
    tell(row.id, row.cost)
  end
  local idle, count = 0, #self.source.space
  while not self:over() do
    local id = ask()
    if id == nil then
      return "space"
    elseif math.type(id) ~= "integer" or id < 1 or id > count then
      cl.error(("tune: a strategy must ask for the number of a point, 1 to "
        .. "%d; got %s"):format(count, tostring(id)))
    end
    idle = self.seen[id] and idle + 1 or 0
    if idle > IDLE then
      return "space"
    end
    tell(id, self:visit(id, ahead).cost)
  end
  return self:over()
end

-- The rows that may be among the winners, best first.
local function finalists(rows)
  local list, good = {}, evaluation.sorted(rows, "ok")
  local best = good[1]
  for _, row in ipairs(good) do
    local near = math.max(evaluation.near, row.rel or 0, best.rel or 0)
    list[#list + 1] = #list < FINALISTS and row.cost <= best.cost
      + near * math.abs(best.cost) and row or nil
  end
  return list
end

-- The distance of a configuration from the default: the number of parameters
-- that differ; another rung is farther than any parameters.
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

-- Measures rows in turns, and notes in each row its median, its verdict
-- against the best and the times of its rounds. Returns whether that was done;
-- and, if not, whether a row has failed, which leaves the turns.
local function in_turns(search, rows, seconds)
  local src, points = search.source, {}
  search.progress:step "the best in turns"
  for i, row in ipairs(rows) do
    points[i] = src.space:point(row.id)
  end
  local lists, at, reason = evaluation.turns(src, points, seconds)
  if not lists then
    if at then
      evaluation.reject(rows[at], "failed", reason)
    end
    return false, at ~= nil
  end
  for i, v in ipairs(evaluation.judge(lists)) do
    rows[i].turns, rows[i].verdict, rows[i].rounds = v.median, v.verdict,
      lists[i]
  end
  return true
end

-- Whether a row is right on shapes that fit no tile; else it becomes "wrong"
-- or "failed".
local function proves(search, row)
  local src = search.source
  if src.awkward and row.proved == nil then
    search.progress:step("shapes that fit no tile: " .. results.named(row))
    local reason, status = src:awkward(src.space:point(row.id))
    row.proved = not reason
    if reason then
      evaluation.reject(row, status or "wrong", reason)
    end
  end
  return row.proved ~= false
end

-- The finalists that are right on all shapes.
local function proved(search)
  local list, all_right
  repeat
    list, all_right = finalists(search.rows), true
    for _, row in ipairs(list) do
      all_right = proves(search, row) and all_right
    end
  until all_right
  return list
end

-- Adds the default to the finalists if it is right and not much slower.
local function with_default(search, list)
  local all, default = {table.unpack(list)}, search.default
  local near = default and evaluation.timed(default)
    and default.ms < FAR * list[1].ms
  for _, row in ipairs(list) do
    near = near and row ~= default
  end
  all[#all + 1] = near and proves(search, default) and default or nil
  return all
end

-- The ratio of two rows' times in the same rounds, with its interval.
local function ratio(above, below)
  local list = {}
  for i, t in ipairs(above) do
    list[i] = t / below[i]
  end
  local lo, hi = stats.interval(list)
  return {ratio = stats.median(list), lo = lo, hi = hi}
end

-- Sorts winners: the simplest first, then by local memory, by time.
local function rank(search, winners)
  local src, ranks = search.source, {}
  for _, row in ipairs(winners) do
    ranks[row] = {plainness(search, row), #winners > 1 and src.local_bytes
      and src:local_bytes(src.space:point(row.id)) or 0,
      row.turns or row.cost, row.id}
  end
  table.sort(winners, function(a, b)
    local x, y = ranks[a], ranks[b]
    for i, r in ipairs(x) do
      if r ~= y[i] then
        return r < y[i]
      end
    end
    return false
  end)
end

-- The winners, found in turns of so many seconds: rows near the best that are
-- right on all shapes and not told apart from the best. The simplest row comes
-- first, of equally simple rows the row with the least local memory. Also the
-- gain over the default, if both were in turns.
local function winners_of(search, seconds)
  local list, default = proved(search), search.default
  local best, turned, failed = list[1], false, false
  if search.source.subject and best and not search.opts.objective then
    local all = with_default(search, list)
    if #all > 1 then
      turned, failed = in_turns(search, all, seconds)
    end
    if failed then
      return winners_of(search, seconds)
    end
    list = turned and all or list
  end
  local winners, gain = {}, nil
  for _, row in ipairs(list) do
    local tied = turned and row.verdict ~= "SLOWER" or not turned
      and row.cost <= best.cost + TIE * math.abs(best.cost)
    winners[#winners + 1] = tied and row or nil
  end
  rank(search, winners)
  local first = winners[1]
  if first and default and default ~= first and default.rounds
      and first.rounds then
    gain = ratio(default.rounds, first.rounds)
  end
  for _, row in ipairs(search.rows) do
    row.rounds, row.proved = nil, nil
  end
  return winners, gain
end

-- The winners: the last search's if all rows come from the run store.
function Search:finals()
  local seconds = math.max(2, math.min(20,
    (1 - SEARCH) * self.limits.seconds))
  local winners
  if self.known then
    winners, self.gain = self.known:finals(self.rows,
      self.stored == self.evaluations, winners_of, self, seconds)
  else
    winners, self.gain = winners_of(self, seconds)
  end
  return winners
end

-- A line where all results are wrong in the same way.
local function doubt(rows)
  local count, reason = 0, nil
  for _, row in ipairs(rows) do
    if evaluation.timed(row) or row.status == "wrong" and count > 0
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
  local notes = {}
  local function ask(object, method)
    local tell = object and object[method]
    notes[#notes + 1] = tell and tell(object)
  end
  ask(search.source, "note")
  notes[#notes + 1] = doubt(search.rows)
  ask(search.source, "process")
  ask(search.builders, "note")
  ask(search.ranks, "note")
  for _, note in ipairs(search.known and search.known:notes() or {}) do
    notes[#notes + 1] = note
  end
  notes[#notes + 1] = search.lost
  return notes
end

-- The result of a search that ended for a reason.
local function result_of(search, ended, winners)
  local src, best, default = search.source, winners[1], search.default
  if best and default and default ~= best and evaluation.timed(default) then
    search.gain = search.gain or {ratio = default.ms / best.ms}
  end
  return results.new{
    ms = best and (best.turns and best.turns * 1e3 or best.ms),
    value = best and best.value, params = best and best.point,
    rung = best and best.rung, winners = winners, rows = search.rows,
    default = default, objective = search.opts.objective,
    evaluations = search.evaluations, stored = search.stored,
    space = src.space, out = src.out, name = src.name, title = src.title,
    family = src.family, shape = src.shape, context = src.context,
    strategy = search.strategy or "none",
    why = search.why or "as asked", seed = search.limits.seed,
    seconds = cl.now() - search.begin, sampled = search.sampled,
    ended = ended, gain = search.gain, notes = notes_of(search)}
end

-- An error with the stack where it was raised; Ctrl-C as it is.
local function with_stack(e)
  if interrupt.is(e) then
    return e
  end
  local found, failure = pcall(require, "clshell.failure")
  return found and failure.keep(e) or e
end

-- The result of a search that is ready to run. A lost device ends it with the
-- rows so far.
local function searched(search)
  local ended, winners = search:run(), nil
  if not search.lost then
    local fine
    fine, winners = xpcall(search.finals, with_stack, search)
    search.lost = not fine and not interrupt.is(winners)
      and search.known and evaluation.lost(search.source.context) or nil
    if not fine and not search.lost then
      error(winners, 0)
    end
  end
  if search.lost then
    return result_of(search, "device", {finalists(search.rows)[1]})
  end
  return result_of(search, ended, winners)
end

--- search_loop.run(source, opts, limits [, ranks]) -> result
--- Searches a source, see evaluation.lua, by the options of tune; limits has
--- their seconds, evaluations and seed. Ctrl-C is raised with the result so
--- far as `record`. With `ranks`, see rank_search.lua, other ranks measure
--- too.
function M.run(source, opts, limits, ranks)
  if #source.space == 0 then
    cl.error("tune: no point meets the constraints",
      {hint = tostring(source.space)})
  end
  local search <close> = setmetatable({source = source, opts = opts,
    limits = limits, rows = {}, seen = {}, count = 0, evaluations = 0,
    stored = 0, spent = 0, sampled = 0, least = math.huge, begin = cl.now(),
    ranks = ranks,
    -- the time says too little of another objective to end a measurement
    raced = opts.race ~= false and not opts.objective}, Search)
  if opts.strategy ~= nil and type(opts.strategy) ~= "function" then
    strategy.check(opts.strategy)
  end
  if not source.recorded then
    search.known = require "clshell.tune.known_runs".new(source, opts)
  end
  local shown <close> = results.progress{quiet = opts.quiet
    or source.recorded, seconds = limits.seconds < math.huge
    and SEARCH * limits.seconds or nil, total = math.min(#source.space,
    limits.evaluations or #source.space)}
  search.progress = shown
  local ok, answer = xpcall(searched, with_stack, search)
  if ok then
    return answer
  elseif interrupt.is(answer) and type(answer) == "table" then
    cl.undisturbed(function()
      answer.record = result_of(search, "interrupted",
        {finalists(search.rows)[1]})
      answer.hint = tostring(answer.record)
    end)
  end
  error(answer, 0)
end

return M

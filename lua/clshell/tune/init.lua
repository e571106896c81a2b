-- tune/init.lua - tune: the search for the best setting of a kernel. space.lua
-- has the points, strategy.lua and surrogate.lua their order, evaluate.lua
-- builds, checks and measures one, race.lua says how often, replay.lua answers
-- from a file and recall.lua from the run store. effects.lua judges the
-- parameters, view.lua and page.lua show a search.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local effects = require "clshell.tune.effects"
local evaluate = require "clshell.tune.evaluate"
local integer = require "clshell.base.integer"
local interrupt = require "clshell.base.interrupt"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local race = require "clshell.tune.race"
local replay = require "clshell.tune.replay"
local spaces = require "clshell.tune.space"
local stats = require "clshell.measure.stats"
local strategy = require "clshell.tune.strategy"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local view = require "clshell.tune.view"
local workload = require "clshell.measure.workload"

local M = require "clshell.base.lazy".table(...)

local SECONDS = 60
local SEARCH = 0.8   -- part of the seconds; the rest is for turns
local NEAR = 0.03    -- of the best: finalists
local TIE = 0.01     -- of the best: winners, where turns tell nothing
local FINALISTS = 8
local FAR = 10       -- times the best: a default that is not run in turns
local IDLE = 10000   -- proposals in a row that are known: the strategy is done
local WIDTH = 79

local Result = {}
Result.__index = Result

-- "12.3 ms, 45.6 GFLOPS"
local function speed(row, number)
  local r = row.record
  local words = {row.turns and number(row.turns * 1e3) .. " ms"
    or number(row.ms) .. " ms"}
  local scale = row.turns and row.ms / (row.turns * 1e3) or 1
  if r and r.gflops then
    words[#words + 1] = number(r.gflops * scale) .. " GFLOPS"
  end
  if r and r.gbs then
    words[#words + 1] = number(r.gbs * scale) .. " GB/s"
  end
  return table.concat(words, ", ")
end

local function named(row)
  return (row.rung and row.rung .. " " or "") .. row.config
end

local ENDED = {
  budget = "the evaluations were used up", time = "the time was over",
  space = "no point was left", interrupted = "Ctrl-C",
}

-- The first reason of each status that is a failure, with its count.
local function failures(result, lines)
  for _, status in ipairs{"refused", "build", "failed", "wrong"} do
    local count, example = 0, nil
    for _, row in ipairs(result.rows) do
      if row.status == status then
        count, example = count + 1, example or row
      end
    end
    if count > 0 then
      lines[#lines + 1] = ("  %s: %s: %s"):format(status == "build"
        and text.count(count, "failed build") or ("%d %s"):format(count,
        status), named(example), example.reason or "no reason given")
    end
  end
end

-- How the default configuration relates to the winner.
local function improvement(result)
  local gain, default = result.gain, result.default
  if default and default == result.winners[1] then
    return "the default configuration is the best"
  elseif not gain then
    return nil
  end
  local digits = gain.lo and quantity.digits((gain.hi - gain.lo) / 2
    / gain.ratio) or 3
  local function number(x)
    return quantity.number(x, digits)
  end
  return ("%s%s times as fast as the default, %s"):format(
    number(gain.ratio), gain.lo and (" [%s, %s]"):format(number(gain.lo),
    number(gain.hi)) or "", named(default))
end

-- "40 evaluations: 31 ok, 5 slow, 4 wrong"
local function counts(result)
  local by, words = {}, {}
  for _, row in ipairs(result.rows) do
    by[row.status] = (by[row.status] or 0) + 1
  end
  for _, status in ipairs{"ok", "slow", "failed", "wrong", "build"} do
    if by[status] then
      words[#words + 1] = ("%d %s"):format(by[status], status)
    end
  end
  return ("%s of %d points: %s%s"):format(text.count(result.evaluations,
    "evaluation"), #result.space, #words > 0 and table.concat(words, ", ")
    or "none", result.stored > 0 and ("; %d from the run store"):format(
    result.stored) or "")
end

function Result.__tostring(result)
  local best = result.winners[1]
  local function number(x)
    return quantity.number(x, best.rel and quantity.digits(best.rel) or 4)
  end
  local lines = {("%s %s"):format(result.name, result.title or "")
    :gsub(" $", "")}
  if best then
    lines[1] = lines[1] .. ": " .. speed(best, number)
    lines[2] = "  " .. named(best)
    local others = {}
    for i = 2, #result.winners do
      others[#others + 1] = named(result.winners[i])
    end
    if #others > 0 then
      lines[#lines + 1] = "  not told apart from it: "
        .. table.concat(others, "; ")
    end
    if result.objective then
      lines[#lines + 1] = ("  objective %s"):format(quantity.number(
        best.value))
    end
    local more = improvement(result)
    lines[#lines + 1] = more and "  " .. more
  else
    lines[1] = lines[1] .. ": no configuration ran"
  end
  lines[#lines + 1] = "  " .. counts(result)
  failures(result, lines)
  for _, out in ipairs(result.out) do
    lines[#lines + 1] = ("  not %s: %s"):format(out.rung, out.reason)
  end
  lines[#lines + 1] = ("  strategy %s: %s; seed %d, %.0f s; %s"):format(
    result.strategy, result.why, result.seed, result.seconds,
    ENDED[result.ended])
  for _, note in ipairs(result.notes) do
    lines[#lines + 1] = "  " .. note
  end
  return text.fold(table.concat(lines, "\n"), WIDTH)
end

--- best:save(path)
--- Writes the evaluations of a search to a file that tune{replay = path}
--- reads: CSV; a name that ends in .cache.json: a cache file of Kernel Tuner;
--- another .json: T4, its results file. A name that ends in .html: a page for
--- the browser with the effects, a chart of each parameter and all rows, of
--- which a click on values leaves those that have them.
function Result:save(path)
  if type(path) == "string" and path:find "%.html?$" then
    require("clshell.tune.page").write(self, path)
  else
    replay.save(self, path)
  end
end

--- best:effects([rung]) -> effects
--- The worth of each parameter: the best row of each of its values over the
--- best of all; pairs whose best values depend on one another; lists that end
--- too early; parameters without an effect. Of several rungs the effect of the
--- rung, and those of the parameters of the best one, or of the one named. It
--- prints as text; `params` and `pairs` have the figures. Where the search
--- left points out, a value counts only if its rows are not late by chance.
function Result:effects(rung)
  return effects.of(self, rung)
end

--- best:plot([parameter [, opts]]) -> chart
--- The best time over the evaluations, or, for each value of a parameter, its
--- best and its median row. Options as for plot.line: title, file, width,
--- height, log_x, log_y, zero, x_label, y_label.
function Result:plot(parameter, opts)
  return view.plot(self, parameter, opts)
end

--- best:keep() -> row
--- Keeps the best configuration of a rung or a family for calls that name no
--- kernel, in later sessions too: see gemm.keep, gemm.kept, gemm.forget. The
--- best of one rung may be slower than another rung: tune("gemm", ...) tries
--- all.
function Result:keep()
  local best, gain = self.winners[1], self.gain
  if not self.family then
    cl.error("best:keep: only configurations of a family can be kept",
      {hint = "write those of your own kernel into its script"})
  elseif not best then
    cl.error("best:keep: no configuration ran")
  end
  return self.family.keep(best.record, gain and ("%sx the default"):format(
    quantity.number(gain.ratio, 3)))
end

-- Raises unless the common options are right. Returns them with defaults.
local function checked(opts)
  local o = {}
  for _, name in ipairs{"seconds", "tolerance"} do
    local x = opts[name]
    if x ~= nil and (math.type(x) == nil or x <= 0 or x ~= x) then
      cl.error(("tune: %s must be a number > 0; got %s"):format(name,
        tostring(x)))
    end
  end
  for _, name in ipairs{"objective", "reset"} do
    if opts[name] ~= nil and type(opts[name]) ~= "function" then
      cl.error(("tune: %s must be a function; got a %s"):format(name,
        type(opts[name])))
    end
  end
  o.evaluations = opts.evaluations
    and integer.check("tune", "evaluations", opts.evaluations, 1)
  o.seconds = opts.seconds or not o.evaluations and SECONDS or math.huge
  o.seed = opts.seed and integer.check("tune", "seed",
    opts.seed, math.mininteger) or 1
  return o
end

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

-- Fills a row by the record of a measurement.
local function fill(row, found)
  local r = found.record
  row.status, row.reason, row.record = found.status, found.reason, r
  row.ms, row.n = found.ms or r and r.ms, found.n or r and r.n
  row.rel = r and r.lo and r.median > 0 and (r.hi - r.lo) / 2 / r.median
    or nil
end

-- The row of a point, measured unless that was done before.
function Search:visit(id)
  local known = self.seen[id]
  if known then
    return known
  end
  local src = self.source
  local p = src.space:point(id)
  local own, rung = src.split(p)
  local row = {point = own, rung = rung, id = id}
  row.config = (rung and src.spaces[rung] or src.space):tostring(own)
  if rung and not src.spaces[rung] then
    row.config = ""
  end
  self.view:step(named(row))
  local reason = src.refusal(p)
  if reason then
    row.status, row.reason = "refused", reason
  else
    local kept = self.recall and self.recall(row.config, src.setting(p))
    if kept then
      fill(row, {status = kept.status, record = kept})
      row.stored, self.stored = true, self.stored + 1
      self.race:finished(kept)
    else
      fill(row, src.measure(p, self.take))
    end
    if row.status ~= "refused" then
      self.evaluations = self.evaluations + 1
    end
  end
  row.value = objective(self, row)
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
  return self.count >= #self.source.space and "space"
    or o.evaluations and self.evaluations >= o.evaluations and "budget"
    or cl.now() - self.begin >= SEARCH * o.seconds and "time" or nil
end

-- The evaluations that the budget leaves, by the time of those done.
local function affordable(search)
  local o = search.limits
  local passed = cl.now() - search.begin
  if o.seconds == math.huge then
    return o.evaluations
  end
  local more = passed > 0 and search.evaluations > 0 and math.floor(
    (SEARCH * o.seconds - passed) / passed * search.evaluations)
    or o.evaluations or 100
  return math.max(1, math.min(o.evaluations or math.huge,
    math.tointeger(search.evaluations + more) or 1000000))
end

-- Measures points until the budget ends. Returns why it ended.
function Search:run()
  local src = self.source
  local told = {}
  for _, p in ipairs(src.first) do
    local id = src.space:number(p)
    if id and not self.seen[id] and not self:over() then
      told[#told + 1] = self:visit(id)
    end
  end
  self.default = told[1]
  local chosen = self.opts.strategy
  if chosen == nil then
    chosen, self.why = strategy.choose(src.space, affordable(self))
  end
  local ask, tell = strategy.new(chosen, src.space,
    spaces.random(self.limits.seed))
  self.strategy = type(chosen) == "function" and "of your own" or chosen
  for _, row in ipairs(told) do
    tell(row.id, row.value)
  end
  local idle = 0
  while not self:over() do
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
    tell(id, self:visit(id).value)
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
      local near = math.max(NEAR, row.rel or 0, best.rel or 0)
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

-- Measures rows in turns: their verdicts against the best, or nil.
function Search:turns(rows, seconds)
  local src, subjects = self.source, {}
  local spare
  for i, row in ipairs(rows) do
    local subject = src.subject(src.space:point(row.id))
    if not subject then
      return nil
    end
    if src.mode == "cold" then
      if not spare then
        local _, bytes = timer.plan_cold(src.context.device)
        spare = timer.flush(subject, bytes)
      else
        subject.before, subject.single = subjects[1].before, true
      end
    end
    subjects[i] = subject
  end
  local lists = race.turns(subjects, seconds)
  if spare then
    spare:close()
  end
  if lists then
    return race.judge(lists), lists
  end
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
-- not told apart from the best in turns.
function Search:finish()
  local src, list = self.source
  repeat
    list = finalists(self.rows)
    local all_right = true
    for _, row in ipairs(src.awkward and list or {}) do
      if not row.proved then
        self.view:step("shapes that fit no tile: " .. named(row))
        local reason = src.awkward(src.space:point(row.id))
        row.proved = true
        if reason then
          row.status, row.reason, row.value, all_right = "wrong", reason, nil,
            false
        end
      end
    end
  until all_right
  local default = self.default
  local winners, best, ran = {}, list[1], {table.unpack(list)}
  local verdicts, lists
  if src.subject and best and not self.opts.objective then
    if default and timed(default) and default.ms < FAR * best.ms then
      local there = false
      for _, row in ipairs(list) do
        there = there or row == default
      end
      ran[#ran + 1] = not there
        and not src.awkward(src.space:point(default.id)) and default or nil
    end
    if #ran > 1 then
      self.view:step "the best in turns"
      verdicts, lists = self:turns(ran, math.max(2, math.min(20,
        (1 - SEARCH) * self.limits.seconds)))
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
  local plain = {}
  for _, row in ipairs(winners) do
    plain[row] = plainness(self, row)
  end
  table.sort(winners, function(a, b)
    local x, y = plain[a], plain[b]
    return x < y or x == y and (a.turns or a.value) < (b.turns or b.value)
  end)
  local first = winners[1]
  if first and default and default ~= first and default.rounds
      and first.rounds then
    self.gain = ratio(default.rounds, first.rounds)
  end
  for _, row in ipairs(self.rows) do
    row.rounds, row.proved = nil, nil
  end
  return winners
end

-- The result of a search that ended for a reason.
local function result_of(search, ended, winners)
  local src, best, default = search.source, winners[1], search.default
  if best and default and default ~= best and timed(default) then
    search.gain = search.gain or {ratio = default.ms / best.ms}
  end
  return setmetatable({
    ms = best and (best.turns and best.turns * 1e3 or best.ms),
    value = best and best.value, params = best and best.point,
    rung = best and best.rung, winners = winners, rows = search.rows,
    default = default, objective = search.opts.objective,
    evaluations = search.evaluations, stored = search.stored,
    space = src.space, spaces = src.spaces, out = src.out, name = src.name,
    title = src.title, family = src.family, shape = src.shape,
    context = src.context, strategy = search.strategy or "none",
    why = search.why or "as asked", seed = search.limits.seed,
    seconds = cl.now() - search.begin, ended = ended, gain = search.gain,
    notes = {src.note and src.note() or nil},
  }, Result)
end

-- The best row so far, for a search that was interrupted.
local function so_far(search)
  local list = finalists(search.rows)
  return {list[1]}
end

-- Searches a source.
local function run(source, opts)
  local limits = checked(opts)
  local src_space = source.space
  if #src_space == 0 then
    cl.error("tune: no point meets the constraints",
      {hint = tostring(src_space)})
  end
  local r = race.new()
  local search = setmetatable({source = source, opts = opts, limits = limits,
    rows = {}, seen = {}, count = 0, evaluations = 0, stored = 0, race = r,
    begin = cl.now()}, Search)
  function search.take(subject, record, bounds)
    r:measure(subject, record, bounds)
  end
  if opts.objective then -- the time says nothing about the objective
    search.take = nil
  end
  if opts.strategy ~= nil and type(opts.strategy) ~= "function" then
    -- an unknown name raises before the search
    strategy.new(opts.strategy, src_space, spaces.random(limits.seed))
  end
  if not source.recorded and not opts.fresh then
    search.recall = require "clshell.tune.recall".new(source.family
      and source.family.name or source.name, source.context.device.name)
  end
  local shown <close> = view.new{quiet = opts.quiet or source.recorded,
    seconds = limits.seconds < math.huge and SEARCH * limits.seconds or nil,
    total = math.min(#src_space, limits.evaluations or #src_space)}
  search.view = shown
  local ok, answer = xpcall(function()
    local ended = search:run()
    return result_of(search, ended, search:finish())
  end, function(e)
    if interrupt.is(e) then
      return e
    end
    local found, failure = pcall(require, "clshell.failure")
    return found and failure.keep(e) or e
  end)
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

--- tune(what [, shape [, opts]]) -> result
--- Searches the fastest setting of a kernel. `what` is a rung, as in
--- tune("gemm.tiled_padded", {512}), or a whole family, tune("gemm", {A = A, B
--- = B}), on a shape or operands as bench takes them: every rung that the
--- device and the shape accept, and all of their parameters.
---
--- A kernel of your own is a table of the options below: the path of a .cl
--- file or its text, and the values of its parameters, which are macros in
--- upper case there. tune{kernel = "conv.cl", params = {bx = {8, 16, 32}, tx =
--- "1..8"}, where = "tx * bx <= 128", range = function(p) return {n, m},
--- {p.bx, 4} end, args = {A, B, n}, check = reference}.
---
--- Every configuration is checked before it is timed, the finalists of a rung
--- also on shapes that fit no tile. A configuration that is far from the best
--- gets two or three samples; those within 3 % are measured in turns, and the
--- winners are the ones not told apart by 1 %, the simplest first. A
--- configuration that fails to build, to run or to be right is a row with its
--- reason; one that the device refuses costs no evaluation. The default
--- configuration comes first.
--- Options:
---   kernel   -      of a table: the path of a .cl file, or its text
---   params   -      {name = list or "1..8", ...}; "8..64:8" in steps of 8,
---            "1..64*2" powers of 2
---   range    -      the global size, or function(p) -> global, local
---   args     none   the arguments, or function(p) -> list
---   check    the first configuration's result  a reference (Array, Buffer),
---            or function(p) -> ok, message
---   output   the only Buffer argument that is not const  the result, filled
---            with NaN before each check
---   tolerance  float 1e-4, double 1e-10, half 1e-2  of the largest value
---   reset    -      reset() before each launch that is checked or timed
---   flop, bytes  -  of a run: numbers, or functions of p
---   defines, options, local_bytes  -  values, or functions of p
---   entry    the only one  the kernel's name in the file
---   start    the first values  the default configuration
---   name, title, context  -  of the results; the Context of the launches
---   replay   -      a table with only it searches in times measured before: a
---            file of best:save, CSV with a column "ms", a cache file of
---            Kernel Tuner
---   seconds  60     in all, a fifth of them for the finals; no limit where
---            evaluations are given
---   evaluations  all  configurations to measure at most
---   strategy  by the space and the budget  exhaustive, random, one_factor,
---            local, anneal, genetic, surrogate, or function(space, random) ->
---            ask, tell: ask() gives the number of a point, tell(number,
---            value) takes the result, nil for a failure
---   seed     1      of the strategy
---   where    none   a constraint or a list: "bx * by <= 256", or a function
---            of the parameters
---   objective  time  function(record of bench) -> number; lower is better
---   samples, cache, type, tag  -  as for bench
---   fresh    false  true: measures anew what the run store has from the same
---            source, driver, device, shape and options
---   quiet    false  true: shows no progress
---
--- The result prints as text and has ms, params and rung of the best, winners,
--- rows (all configurations in order: point, rung, config, status, reason, ms,
--- n, rel, value, record), evaluations, stored, gain (over the default: ratio,
--- lo, hi), space, strategy, why, seed, seconds and ended ("budget", "space",
--- "time"). Ctrl-C is raised with the result so far as `record`.
function M.tune(what, shape, opts)
  if type(what) == "table" and (what.kernel ~= nil or what.replay ~= nil
      or what.params ~= nil) and not what.lesson then
    options.check(what, "tune")
    if shape ~= nil then
      cl.error("tune: a table takes no second argument")
    end
    local source = what.replay ~= nil and replay.source(what.replay)
      or evaluate.kernel(what)
    return run(source, what)
  end
  local job = (type(what) == "string" or type(what) == "table")
    and workload.ladder("tune", what, shape, opts and opts.type)
  if not job then
    cl.error(("tune: the first argument must be a rung, a family or a table; "
      .. "got %s"):format(what == nil and "nothing" or "a " .. type(what)),
      {hint = "tune(\"gemm.tiled_padded\", {512}), or tune{kernel = "
      .. "\"my.cl\", params = {bx = {8, 16}}, range = ..., args = ...}"})
  end
  opts = options.check(opts, "tune.rung", "tune")
  return run(evaluate.ladder(job, opts), opts)
end

return setmetatable(M, {__call = function(_, ...)
  return M.tune(...)
end})

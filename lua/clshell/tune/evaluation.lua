-- tune/evaluation.lua - the evaluation of configurations: few samples where a
-- configuration is far from the best, turns where it is near. They come from a
-- source: rung_source.lua for the rungs of a family, kernel_source.lua for a
-- kernel of the user's, recorded_space.lua for a file. A source tells the
-- reason against a configuration, builds, checks and measures it; this file
-- has the parts that several sources need. A source is a table with these
-- fields and methods; all methods but split, refusal and measure may be
-- missing:
--   space             the points
--   name, title       of the results
--   first             points to begin with, the default configuration first
--   split(p)          the parameters of a point, its rung or nil, and the
--                     parameters as text, nil where they are all of the space
--   refusal(p)        the reason of the device, before anything is built
--   measure(p, best)  {status, reason, record}, with the status as in tune,
--                     the `log` of a failed build, the seconds `sampled` in
--                     samples and `building` in builds; or {ms, n} in place
--                     of the record. best: the least seconds so far; a time
--                     far above is not refined
--   programs(p)       the arguments of program.get for its programs, plain
--                     values: a list of {from, defines, options}
--   launch(p)         builds it and runs it once, unchecked; returns programs
--                     to forget, or nothing
--   opening()         the call that makes the source in another process; see
--                     remote_source.lua
--   worker()          the worker process that measures, for calls; nil where
--                     this process measures
--   setting(p)        a text that tells equal measurements, nil if none are
--                     equal; and the hash of its source
--   describe(r, p)    gives the record of a point its setting
--   subject(p)        of the protocol, for turns; after refusal and measure
--   local_bytes(p)    the local memory of a work-group; after measure
--   awkward(p)        a reason against it on shapes that fit no tile
--   note()            a line about the source, or nil
--   turns(points, seconds)  in place of subject: see evaluation.turns
--   again()           the arguments that make the source in another process,
--                     see remote_source.lua; nil: it works here alone
--   learned           a value that measure has found and that the source made
--                     again is to know
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local progress = require "clshell.base.progress"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local sensors = require "clshell.measure.sensors"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"

local M = {}

local FAR = 1.5   -- times the best: the lesser of two samples is slow
local BEHIND = 1.2 -- times the best: the median of three is slow
local ROUNDS, LEAST_ROUNDS = 11, 8
local SAMPLES = 3 -- samples of each subject in a round
local NEAR = 0.03 -- the part of the best within which rows run in turns
-- The limits of a measurement are short, as turns at the end decide among the
-- nearest: seconds of warm-up, of a busy device and of samples, or the seconds
-- of so many launches of the best.
local WARMUP, BUSY, SECONDS, LAUNCHES = 0.05, 0.03, 0.1, 15

--- evaluation.near
--- The part of the best time within which rows are run in turns at the end.
M.near = NEAR

-- The limits of protocol.measure for a configuration: it ends once the
-- interval lies above all times near the best, or is narrow enough to compare.
local function short(limits, best)
  return {samples = limits.samples,
    warmup = math.min(WARMUP, limits.warmup),
    busy = math.min(BUSY, limits.busy),
    seconds = math.min(math.max(SECONDS, LAUNCHES * best), limits.seconds),
    width = NEAR / 2, above = (1 + NEAR) * best}
end

--- evaluation.sample(best, subject, r, limits)
--- Measures a subject into the result r, as protocol.measure does, unless a
--- first look says that it is slow: r.status is "slow" then. Two samples say
--- so above 1.5 times the best, three above 1.2 times. Without `best`, the
--- least seconds so far, no subject is slow, and each is measured at length.
--- Returns the seconds of the measurement.
function M.sample(best, subject, r, limits)
  local begin = subject.now()
  if best and best < math.huge then
    local slow
    protocol.look(subject, r, function(samples)
      local n = #samples
      if n == 2 then
        slow = math.min(samples[1], samples[2]) > FAR * best
      elseif n == 3 then
        slow = stats.median(samples) > BEHIND * best
      end
      return slow or n == 3
    end)
    if slow then
      r.status = "slow"
      protocol.summarise(subject, r)
      return subject.now() - begin
    end
  end
  protocol.measure(subject, r, best and short(limits, best) or limits)
  return subject.now() - begin
end

-- One round: the median of each subject's samples; nil where the timer fails.
local function round(subjects, batches, timer, number)
  local scores = {}
  for k = 1, #subjects do
    local i = number % 2 == 0 and k or #subjects + 1 - k
    local times = {}
    progress.phase("ran in turns", false, i)
    for n = 1, SAMPLES do
      local t = protocol.take(subjects[i], batches[i])[timer]
      if not t or t <= 0 then
        return nil
      end
      times[n] = t / batches[i]
    end
    scores[i] = stats.median(times)
  end
  return scores
end

--- evaluation.take_turns(subjects, seconds) -> list of lists, or nil
--- Seconds of a launch of each subject in each round: the subjects run one
--- after the other, in the next round in reverse order. There are 11 rounds,
--- fewer where the seconds are over; nil where they suffice for less than 8.
function M.take_turns(subjects, seconds)
  local c = subjects[1].calibration
  local timer, batches, each = c.event and c.batch and "event" or "wall", {}, 0
  for i, subject in ipairs(subjects) do
    progress.phase("ran in turns", false, i)
    local s = protocol.take(subject, 1)
    batches[i] = protocol.batch(subject, timer, s[timer] or s.wall)
    each = each + SAMPLES * batches[i] * s.wall
  end
  if each * LEAST_ROUNDS > seconds then
    return nil
  end
  local now = subjects[1].now
  local lists, begin, number = {}, now(), 0
  while number < ROUNDS and (number < LEAST_ROUNDS
      or now() - begin < seconds) do
    number = number + 1
    local scores = round(subjects, batches, timer, number)
    if not scores then -- an event timer that fails: the clock, from the start
      if timer == "wall" then
        return nil
      end
      timer, lists, number = "wall", {}, 0
    else
      for i, score in ipairs(scores) do
        lists[i] = lists[i] or {}
        lists[i][number] = score
      end
    end
  end
  return lists
end

--- evaluation.judge(lists) -> list of {median, verdict, ratio, lo, hi}, best
--- The verdicts of evaluation.take_turns on each subject against the best
--- subject, as compare gives them: "SLOWER" if it is slower by 1 % beyond
--- doubt. The ratio is its time over the time of the best, with the 95 %
--- interval.
function M.judge(lists)
  local verdicts, best = {}, 1
  for i, list in ipairs(lists) do
    verdicts[i] = {median = stats.median(list)}
    if verdicts[i].median < verdicts[best].median then
      best = i
    end
  end
  for i, list in ipairs(lists) do
    local ratios, v = {}, verdicts[i]
    for k, t in ipairs(list) do
      ratios[k] = t / lists[best][k]
    end
    v.verdict, v.ratio, v.lo, v.hi = stats.verdict(ratios)
  end
  return verdicts, best
end

--- evaluation.reason(e) -> string
--- The first line of an error of the device or the compiler. A mistake in the
--- caller's Lua, and Ctrl-C, are raised again.
function M.reason(e)
  if interrupt.is(e) or type(e) ~= "table" or e.message == nil then
    error(e, 0)
  end
  local why = e.diagnostics and e.diagnostics[1]
  return e.message:match "^[^\n]*" .. (why and ": " .. why.text or "")
end

--- evaluation.lost(context) -> reason, or nil
--- The failure of the simplest work on a device, where it fails.
function M.lost(context)
  local ok, e = interrupt.pcall(function()
    local b <close> = cl.buffer("int", 1, 0, {context = context})
    b:read():close()
  end)
  return not ok and M.reason(e) or nil
end

--- evaluation.unbuilt(e) -> {status, reason, log}
--- A failed build as the answer of a source.
function M.unbuilt(e)
  return {status = "build", reason = M.reason(e), log = tostring(e)}
end

-- The sizes of a global or local range as text: a number, or a list.
local function sizes(x)
  return type(x) == "table" and text.shape(x) or tostring(x)
end

local noted = 0 -- seconds of builds that answers have told

--- evaluation.Source
--- The class of sources that launch kernels: they have the methods
--- described(p), the arguments of program.get, the global and the local size
--- and the hash of the source; identity(p), all else that a measurement
--- depends on; and prepared(p), {call, kernel, local_bytes, programs}, or nil.
local Source = {options = {}}
Source.__index = Source
M.Source = Source

function Source:programs(p)
  return {(self:described(p))}
end

function Source:setting(p)
  local built, global, size, hash = self:described(p)
  return M.setting(self.context, hash, built.defines, built.options,
    sizes(global), sizes(size), self:identity(p)), hash
end

--- evaluation.bench(job, opts, best) -> {status, reason, record, sampled,
--- building}
--- The answer of a source to measure(p, best), for a job of bench.
function M.bench(job, opts, best)
  local sampled
  local r = bench.job(job, opts, function(subject, ...)
    subject.least = opts.busy and opts.busy / 500
    sampled = M.sample(best, subject, ...)
  end, "tune")
  local building = program.seconds - noted
  noted = program.seconds
  return {status = r.status, reason = r.error, record = r, sampled = sampled,
    building = building}
end

-- Notes in a record what tells equal measurements of a point.
function Source:describe(r, p)
  r.setting, r.source_hash = self:setting(p)
end

function Source:subject(p)
  local run = self:prepared(p)
  if run then
    local timer = require "clshell.measure.timer"
    local subject = timer.new(self.context, {run.call})
    subject.before = self.options.reset
    return subject
  end
end

-- Makes the output ready for a launch.
function Source:poison() end -- luacheck: ignore 212

function Source:launch(p)
  local run = self:prepared(p)
  if run then
    self:poison()
    progress.phase "ran"
    run.call():wait()
    return run.programs
  end
end

function Source:local_bytes(p)
  local run = self:prepared(p)
  return run and math.max(run.kernel.local_mem_size, run.local_bytes or 0) or 0
end

--- evaluation.row(source, p) -> {point, rung, config}
--- The row of a point, to be filled.
function M.row(src, p)
  local own, rung, config = src:split(p)
  return {point = own, rung = rung, config = config or src.space:tostring(own)}
end

--- evaluation.parameter(row, name) -> value
--- The value of a parameter, or of the rung, in a row.
function M.parameter(row, name)
  return name == "rung" and row.rung or row.point[name]
end

--- evaluation.fill(row, found)
--- The answer of a source as the fields of a row.
function M.fill(row, found)
  local r = found.record
  row.status, row.reason, row.record = found.status, found.reason, r
  row.ms, row.n = found.ms or r and r.ms, found.n or r and r.n
  row.rel = r and r.lo and r.median > 0
    and (r.hi - r.lo) / 2 / r.median or nil
  row.stored, row.log = found.stored, found.log or r and r.log
end

--- evaluation.reject(row, status, reason)
--- Takes a row that had a time out of the rows that may win.
function M.reject(row, status, reason)
  row.status, row.reason, row.value, row.cost = status, reason, nil, nil
end

--- evaluation.sorted(rows [, status]) -> list
--- The rows that have a cost, and this status, the best first.
function M.sorted(rows, status)
  local list = {}
  for _, row in ipairs(rows) do
    list[#list + 1] = row.cost and row.status == (status or row.status)
      and row or nil
  end
  table.sort(list, function(a, b)
    return a.cost < b.cost or a.cost == b.cost and a.id < b.id
  end)
  return list
end

--- evaluation.timed(row) -> boolean
--- Whether a row has a time; nil has none.
function M.timed(row)
  return row and row.ms ~= nil and (row.status == "ok" or row.status == "slow")
end

-- Whether the objective is best where it is greatest: as the options say, else
-- for a rate.
local function maximised(opts)
  local fields = require "clshell.results.fields"
  local key = type(opts.objective) == "string" and opts.objective or nil
  if opts.maximise ~= nil then
    return opts.maximise
  end
  return key and fields.about(key).unit and not fields.falls(key) or false
end

--- evaluation.value(row, opts) -> value, cost
--- The value of the objective for a row, by the options of tune, and the
--- number that the search makes small; nothing for a row without a time.
function M.value(row, opts)
  local objective, r = opts.objective, row.record or row
  if not M.timed(row) then
    return
  elseif not objective then
    return row.ms, row.ms
  end
  local value = r[objective]
  if objective == "joule" and not value then
    return M.reject(row, "failed", "its watts are not known: the device "
      .. "paused between launches, or told none")
  end
  if type(objective) == "function" then
    value = objective(r)
  end
  if math.type(value) == nil or value ~= value then
    cl.error(("tune: objective %s a number; got %s"):format(
      type(objective) == "function" and "must return" or "must name a field "
      .. "with", tostring(value)), {hint = "objective = \"gflops\", or "
      .. "objective = function(r) return r.ms * r.params.tile end"})
  end
  return value, maximised(opts) and -value or value
end

--- evaluation.turns(source, points, seconds) -> list of lists, or nil
--- The seconds of points of a source in turns, see evaluation.take_turns.
--- After nil the number of the point that ended the process of the turns, and
--- the reason.
function M.turns(src, points, seconds)
  if src.turns then
    return src:turns(points, seconds)
  end
  local subjects, spare = {}, nil
  for i, p in ipairs(points) do
    progress.phase("ran in turns", false, i)
    local subject = src:subject(p)
    if not subject then
      return nil
    end
    if src.mode == "cold" then
      if not spare then
        local timer = require "clshell.measure.timer"
        local _, bytes = timer.plan_cold(src.context.device)
        spare = timer.flush(subject, bytes)
      else
        subject.before, subject.single = subjects[1].before, true
      end
    end
    subjects[i] = subject
  end
  local lists = M.take_turns(subjects, seconds)
  if spare then
    spare:close()
  end
  return lists
end

--- evaluation.setting(context, ...) -> string
--- A hash of all that a measurement depends on: the device, its driver, and
--- the strings, numbers and flat tables that follow.
function M.setting(context, ...)
  local words = {protocol.version, cl.version,
    cachefile.identity(context.device)}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" then
      local list = {}
      for _, key in ipairs(text.keys(x)) do
        list[#list + 1] = ("%s=%s"):format(key, tostring(x[key]))
      end
      x = table.concat(list, "\1")
    end
    words[#words + 1] = tostring(x)
  end
  return cachefile.hash(table.concat(words, "\0"))
end

-- Adds the words of a value for evaluation.identity, and of the values that a
-- function uses, to a depth.
local function identify(x, depth, words)
  local class = text.class(x)
  if (class == "Array" or class == "Buffer") and not x.closed then
    words[#words + 1] = x.type .. text.shape(x.shape)
    local sum = class == "Array" and x:summary() or {}
    for _, name in ipairs(text.keys(sum)) do
      words[#words + 1] = ("%s=%s"):format(name, tostring(sum[name]))
    end
  elseif type(x) == "function" then
    local dumped, code = pcall(string.dump, x, true)
    words[#words + 1] = dumped and cachefile.hash(code) or "C function"
    for i = 1, dumped and depth > 0 and math.huge or 0 do
      local name, held = debug.getupvalue(x, i)
      if not name then
        break
      end
      identify(held, depth - 1, words)
    end
  elseif type(x) == "table" or class and class ~= "Value"
      and class ~= "Local" then
    words[#words + 1] = class or "table"
  else
    words[#words + 1] = tostring(x)
  end
end

--- evaluation.identity(...) -> string
--- A text that differs where values differ, as far as a short look tells: at
--- the type, the shape and the summary of an Array, the type and the shape of
--- a Buffer, the code of a function and the values outside that it uses.
function M.identity(...)
  local words = {}
  for i = 1, select("#", ...) do
    identify((select(i, ...)), 2, words)
    words[#words + 1] = ";"
  end
  return table.concat(words, " ")
end

--- evaluation.options(opts) -> table
--- The options of bench that a search passes on.
function M.options(opts)
  local long = opts.objective == "joule" and sensors.LONG or {}
  return {busy = long.busy, seconds = long.seconds,
    roof = false, tag = opts.tag, samples = opts.samples,
    cache = opts.cache, type = opts.type}
end

return M

-- compare.lua - which of two is faster, measured in turns: what the device
-- does meanwhile, it does to both
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local options = require "clshell.base.options"
local protocol = require "clshell.measure.protocol"
local runs = require "clshell.store.runs"
local stats = require "clshell.measure.stats"
local target = require "clshell.measure.workload"
local timer = require "clshell.measure.timer"
local verify = require "clshell.family.verify"

local M = require "clshell.base.lazy".table(...)

local LEAST_ROUNDS, LEAST_SAMPLES = 8, 3
M.MARGIN = 0.01 -- differences below it are none

-- Rounds after which to look for a verdict, unless opts.rounds says after how
-- many. Three looks have three chances to be wrong, so each wants more for a
-- difference: of two equal launches fewer than 1.2 % are told apart.
local LOOKS = {11, 22, 44}
local STRICT = 0.996 -- coverage; of a single look it is stats.COVERAGE

local defaults = {
  rounds = LOOKS[#LOOKS], samples = LEAST_SAMPLES,
  seconds = 20, -- in all; fewer samples a round where that is not enough
  least = 0.01, -- seconds of a sample: time slices of the host average out
}

--- compare.verdict(ratios [, coverage]) -> text, median, lo, hi
--- What ratios of times b / a, one of each round, say of b: "FASTER" or
--- "SLOWER" if the order-statistic interval of their median (coverage 0.95)
--- excludes 1 and the median is 1 % or more away; "SAME" if the 95 % interval
--- lies within 1 % of 1; else "UNCLEAR". lo and hi are the 95 % interval.
function M.verdict(ratios, coverage)
  local median = stats.median(ratios)
  local lo, hi = stats.interval(ratios)
  local low, high = stats.interval(ratios, coverage)
  if lo == nil then
    return "UNCLEAR", median
  elseif low and (low > 1 or high < 1)
      and math.abs(median - 1) >= M.MARGIN then
    return median < 1 and "FASTER" or "SLOWER", median, lo, hi
  elseif lo >= 1 - M.MARGIN and hi <= 1 + M.MARGIN then
    return "SAME", median, lo, hi
  end
  return "UNCLEAR", median, lo, hi
end

-- The turns of a round, 1 for a and 2 for b: A B B A A B ..., or the same
-- from B, so that a steady drift hits both alike.
local function turns(round, samples)
  local list = {}
  for i = 1, samples do
    local first = (round + i) % 2 == 0 and 1 or 2
    list[#list + 1] = first
    list[#list + 1] = 3 - first
  end
  return list
end

-- One round. Returns the median seconds of a launch of both, by a timer, or
-- nil where that has failed.
local function take_round(subjects, state, round)
  local times = {{}, {}}
  for _, i in ipairs(turns(round, state.samples)) do
    local s = protocol.take(subjects[i], state.batches[i])
    local t = s[state.timer]
    if not t then
      return nil
    end
    table.insert(times[i], t / state.batches[i])
  end
  return stats.median(times[1]), stats.median(times[2])
end

-- Makes the launches per sample of two that are about as fast the same, as
-- what passes between launches is part of the time.
local function even(batches)
  local low, high = math.min(batches[1], batches[2]),
    math.max(batches[1], batches[2])
  if low > 1 and high <= 2 * low then
    batches[1], batches[2] = high, high
  end
end

-- Rounds into the result r until a look finds a verdict; nil where the timer
-- has failed.
local function rounds(subjects, state, r, opts)
  local coverage = #opts.looks > 1 and STRICT or stats.COVERAGE
  local begin = subjects[1].now()
  for _, look in ipairs(opts.looks) do
    local passed = subjects[1].now() - begin
    if #r.ratios > 0 and passed * look / #r.ratios > opts.seconds then
      break
    end
    for i = #r.ratios + 1, look do
      local ta, tb = take_round(subjects, state, i)
      if not ta or ta <= 0 or tb <= 0 then
        return nil
      end
      r.a[i], r.b[i], r.ratios[i] = ta, tb, tb / ta
    end
    r.verdict, r.ratio, r.lo, r.hi = M.verdict(r.ratios, coverage)
    if r.verdict ~= "UNCLEAR" then
      break
    end
  end
  r.rounds = #r.ratios
  return r
end

--- compare.measure(a, b, opts) -> table
--- The comparison of two subjects of the protocol: ramp of both, then rounds.
--- Options:
---   looks    needed  numbers of rounds after which to look for a verdict
---   timer    needed  "event" or "wall"
---   samples  needed  of each in a round
---   seconds  needed  in all
---   least    needed  seconds of a sample: short launches are batched
function M.measure(a, b, opts)
  local subjects, state = {a, b}, {timer = opts.timer, batches = {},
    samples = opts.samples}
  local round_time = 0
  for i, subject in ipairs(subjects) do
    subject.least = opts.least
    local s = protocol.take(subject, 1)
    local t = s[opts.timer] and s[opts.timer] > 0 and s[opts.timer] or s.wall
    if t < opts.least then
      t = protocol.ramp(subject, {warmup = 0.1}, s.wall)
    end
    state.batches[i] = protocol.batch(subject, opts.timer, t)
    round_time = round_time + state.batches[i] * t
  end
  even(state.batches)
  local first = opts.looks[1]
  local most = opts.seconds / first / round_time
  state.samples = math.max(1, math.min(opts.samples, math.floor(most)))
  local r = {ratios = {}, a = {}, b = {}, timer = opts.timer,
    samples = state.samples, batch_a = state.batches[1],
    batch_b = state.batches[2]}
  take_round(subjects, state, 0)
  return rounds(subjects, state, r, opts)
end

local printing = {
  __tostring = function(r)
    local range = r.lo and (" [%.4f, %.4f]"):format(r.lo, r.hi) or ""
    local how = ("%d rounds of %d, %s, %s timer"):format(r.rounds, r.samples,
      r.mode, r.timer)
    if r.batch_a > 1 or r.batch_b > 1 then
      how = ("%s, batches of %d and %d"):format(how, r.batch_a, r.batch_b)
    end
    return ("%s is %s%s: %.4f of the time%s\n  %s  %.4g ms\n  %s  %.4g ms\n"
      .. "  %s%s"):format(r.name_b, r.verdict, r.verdict == "SAME" and " as "
      .. r.name_a or r.verdict == "UNCLEAR" and "" or " than " .. r.name_a,
      r.ratio, range, r.name_a, stats.median(r.a) * 1e3, r.name_b,
      stats.median(r.b) * 1e3, how, r.note and "; " .. r.note or "")
  end,
}

local function is_list(x)
  return type(x) == "table" and getmetatable(x) == nil and x[1] ~= nil
    and x.range == nil
end

-- A side of the comparison: what to call, and the operands of a rung.
local function side(x, args)
  if is_list(x) then
    return (target.of("compare", table.unpack(x)))
  end
  return (target.of("compare", x, {args = args}))
end

-- Verifies the rung of a side; `first` is the plan of the other, whose
-- operands are used again where they fit, as where they lie matters too.
local function prepare(t, name, other)
  if not t.family then
    t.name = t.name == "compare" and name or t.name
    return
  end
  local operands = t.operands
  if other and other.plan and t.family == other.family and t.seed
      and other.seed then
    local mine, theirs = t.family.spec, other.operands
    local A, B = operands[mine.inputs[1]], theirs[mine.inputs[1]]
    if type(A) == "userdata" and A.bytes == B.bytes and A.rows == B.rows
        and A.type == B.type then
      operands = {}
      for key, value in pairs(theirs) do
        operands[key] = value
      end
      operands[mine.output] = other.plan.output
    end
  end
  local plan, reason = t.family.plan_for(t.rung, t.params, operands)
  if not plan then
    cl.error(("compare: %s.%s refused: %s"):format(t.family.name, t.rung,
      reason))
  end
  local truth, before = t.family.truth(plan)
  local verdict = verify.run(plan, plan.output, truth, before)
  if not verdict.ok then
    cl.error(("compare: %s.%s is wrong: err=%.1e, bound %.1e"):format(
      t.family.name, t.rung, verdict.err, verdict.bound))
  end
  t.plan, t.call = plan, plan
  t.name = ("%s.%s"):format(t.family.name, t.rung)
end

-- Whether a side of the comparison has been measured before: a result, the
-- number of a run kept, "last", or a tag.
local function is_kept(x)
  return math.type(x) ~= nil or type(x) == "string"
    or type(x) == "table" and x.name ~= nil and x.status ~= nil
end

-- A side as a result, measured now where there is none.
local function result_of(x, opts)
  if is_kept(x) then
    return x
  elseif is_list(x) then
    return bench.run(table.unpack(x))
  end
  return bench.run(x, {args = opts.args, cache = opts.cache})
end

local function compare_kept(a, b, opts)
  options.check(opts, "compare.runs", "compare")
  opts = opts or {}
  a, b = result_of(a, opts), result_of(b, opts)
  return runs.compare(a, b, {threshold = opts.threshold})
end

local function limits(opts)
  options.check(opts, "compare")
  local full = {}
  for name, default in pairs(defaults) do
    local value = opts and opts[name] or default
    if math.type(value) == nil or not (value > 0 and value < math.huge) then
      cl.error(("compare: %s is a number above 0, not %s"):format(name,
        tostring(value)))
    end
    full[name] = value
  end
  if full.rounds < LEAST_ROUNDS or full.rounds % 1 ~= 0 then
    cl.error(("compare: at least %d rounds, not %s"):format(LEAST_ROUNDS,
      full.rounds))
  elseif full.samples < LEAST_SAMPLES or full.samples % 1 ~= 0 then
    cl.error(("compare: at least %d samples a round, not %s"):format(
      LEAST_SAMPLES, full.samples))
  end
  full.looks = opts and opts.rounds and {full.rounds} or LOOKS
  return full
end

--- compare(a, b [, opts]) -> result
--- Whether b is faster than a. Each is what bench takes: a function that
--- returns its events, a plan, or a list of bench's arguments, such as
--- {"gemm.tiled", {512, 512, 512}, {tile = 8}}; rungs are verified first, and
--- those of one shape run on the same operands. After a ramp they are run in
--- turns, A B B A A B in one round and the other way round in the next, so
--- that drift hits both; each round gives one ratio of medians, b's time over
--- a's. The result prints as text and has verdict ("FASTER", "SLOWER", "SAME"
--- or "UNCLEAR", of b; see compare.verdict), ratio, lo and hi (its 95 %
--- order-statistic interval over the rounds), ratios, a and b (the medians of
--- the rounds), timer and the launches per sample.
---
--- A side may also be a result of bench, the number of a run kept, "last", or
--- a tag: then nothing can be run in turns. The other side is measured if need
--- be, and runs.compare judges, by options.threshold (0.03).
--- Options:
---   rounds   11, 22, 44  at least 8; more where fewer leave it unclear
---   samples  3     of each in a round
---   seconds  20    in all: long kernels get fewer samples a round, and the
---            result says so
---   least    0.01  seconds of a sample: short launches are batched
---   cache    hot   or "cold", see bench
---   args     -     the arguments of a Launch, as a list
function M.compare(a, b, opts)
  if is_kept(a) or is_kept(b) then
    return compare_kept(a, b, opts)
  end
  local full = limits(opts)
  opts = opts or {}
  local ta, tb = side(a, opts.args), side(b, opts.args)
  prepare(ta, "A")
  prepare(tb, "B", ta)
  local context = ta.plan and ta.plan.shape and ta.plan.shape.context
    or cl.context()
  local one, other = timer.new(context, {ta.call}), timer.new(context,
    {tb.call})
  local mode, scratch = "hot", {}
  if opts.cache == "cold" then
    local _, _, words = timer.plan_cold(context.device)
    local bytes = select(2, timer.plan_cold(context.device))
    scratch = {timer.flush(one, bytes), timer.flush(other, bytes)}
    mode = ("cold (%s)"):format(words)
  elseif opts.cache ~= nil and opts.cache ~= "hot" then
    cl.error(("compare: cache is \"hot\" or \"cold\", not %s"):format(
      tostring(opts.cache)))
  end
  local c = one.calibration
  full.timer = c.event and c.batch and "event" or "wall"
  local r = M.measure(one, other, full)
  if not r then
    full.timer = "wall"
    r = M.measure(one, other, full)
  end
  for _, buffer in ipairs(scratch) do
    buffer:close()
  end
  r.name_a, r.name_b, r.mode = ta.name, tb.name, mode
  if r.samples < full.samples then
    r.note = ("only %d of each in a round, as they are long"):format(
      r.samples)
  end
  return setmetatable(r, printing)
end

return setmetatable(M, {__call = function(_, ...)
  return M.compare(...)
end})

-- measure/compare.lua - compare: the faster of two workloads, measured in
-- turns, so that drift of the device hits both
-- SPDX-License-Identifier: MIT

local asm = require "clshell.ladder.asm"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local lazy = require "clshell.base.lazy"
local options = require "clshell.base.options"
local protocol = require "clshell.measure.protocol"
local quantity = require "clshell.base.quantity"
local rungs = require "clshell.ladder.rung"
local sensors = require "clshell.measure.sensors"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local verify = require "clshell.ladder.verify"
local workload = require "clshell.ladder.workload"

local M = lazy.table(...)

local LEAST = {rounds = 8, samples = 3}

-- Rounds after which to look for a verdict, unless opts.rounds is given. Four
-- looks have four chances to be wrong, so each look is stricter: of pairs of
-- equal launches fewer than 1.2 % are told to differ.
local LOOKS = {11, 22, 44, 88}
local STRICT = 0.997 -- coverage of several looks; of one look: stats.COVERAGE

-- On a CPU device other programs take the processor away in slices of some
-- milliseconds, and can only make a sample longer: the lower quartile of many
-- samples that are shorter than a slice sees little of these programs. See
-- compare.
local defaults = {
  cpu = {rounds = LOOKS[#LOOKS], samples = 12, least = 0.001, quantile = 0.25,
    seconds = 20},
  other = {rounds = LOOKS[#LOOKS], samples = LEAST.samples, least = 0.01,
    quantile = 0.5, seconds = 20},
}

--- compare.verdict(ratios [, coverage]) -> text, median, lo, hi
--- The verdict on b by the ratios of times b / a of the rounds: "FASTER" or
--- "SLOWER" if the order-statistic interval of their median (coverage 0.95)
--- excludes 1 and the median is 1 % or more away; "SAME" if the 95 % interval
--- lies within 1 % of 1; else "UNCLEAR". lo and hi are the 95 % interval.
--- Example:
--- local ratios = {0.5, 0.51, 0.5, 0.49, 0.5, 0.5, 0.51, 0.5}
--- print(compare.verdict(ratios)) --> FASTER 0.5 0.49 0.51
M.verdict = stats.verdict

-- The turns of a round, 1 for a and 2 for b: A B B A A B ..., or B A A B B A
-- ..., so that a steady drift hits both alike.
local function turns(round, samples)
  local list = {}
  for i = 1, samples do
    local first = (round + i) % 2 == 0 and 1 or 2
    list[#list + 1] = first
    list[#list + 1] = 3 - first
  end
  return list
end

-- One round. Returns the seconds of a launch of both, the median or another
-- quantile of the samples; nil where the timer has failed.
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
  return stats.quantile(times[1], state.quantile),
    stats.quantile(times[2], state.quantile)
end

-- Adds rounds to the result r until a look finds a verdict; returns nil where
-- the timer has failed.
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

-- The seconds of a launch, after a first launch, for which a driver may still
-- compile, and a ramp; for a short launch the least of several.
local function estimate(subject, opts)
  local s = protocol.take(subject, 1)
  if s.wall >= 1 then
    return s[opts.timer] or s.wall
  end
  local t = protocol.ramp(subject, {warmup = 0.1}, s.wall)
  for _ = 1, 5 do
    s = protocol.take(subject, 1)
    local own = s[opts.timer]
    t = math.min(t, own and own > 0 and own or s.wall)
    if t > opts.least then
      break
    end
  end
  return t
end

--- compare.measure(a, b, opts) -> table
--- The comparison of two subjects of the protocol: ramp of both, then rounds.
--- Options:
---   looks    needed  numbers of rounds after which to look for a verdict
---   timer    needed  "event" or "wall"
---   samples  needed  of each in a round
---   seconds  needed  in all
---   least    needed  seconds of a sample: short launches are batched
---   quantile 0.5     the score of the samples of a round: their median
--- Example:
--- local timer = require "clshell.timer"
--- local x = cl.buffer("float", 10000)
--- local function fill(value)
---   return timer.new(cl.context(), {function() return x:fill(value) end})
--- end
--- local c = compare.measure(fill(1), fill(2), {looks = {8}, samples = 3,
---   seconds = 0.2, least = 0.001, timer = "wall"})
--- print(#c.ratios) --> 8
function M.measure(a, b, opts)
  local subjects, state = {a, b}, {timer = opts.timer, batches = {},
    samples = opts.samples, quantile = opts.quantile or 0.5}
  local batches, round_time = state.batches, 0
  for i, subject in ipairs(subjects) do
    subject.least = opts.least
    local t = estimate(subject, opts)
    batches[i] = protocol.batch(subject, opts.timer, t)
    round_time = round_time + batches[i] * t
  end
  -- The gaps between launches are part of the time: both sides have the same
  -- number of launches per sample if the numbers are of the same order.
  local most = math.max(batches[1], batches[2])
  if most <= 8 * math.min(batches[1], batches[2]) then
    batches[1], batches[2] = most, most
  end
  state.samples = math.max(1, math.min(opts.samples, math.floor(opts.seconds
    / opts.looks[1] / round_time)))
  local r = {ratios = {}, a = {}, b = {}, timer = opts.timer,
    samples = state.samples, batch_a = batches[1], batch_b = batches[2],
    quantile = state.quantile}
  take_round(subjects, state, 0)
  local watch <close> = sensors.watch(a, b, 0.01)
  local whole = rounds(subjects, state, r, opts)
  if watch and whole then
    watch:sides(whole)
  end
  return whole
end

local WIDTH = 79

-- The first words: a factor with the digits that its interval leaves sure.
local function sentence(r, noise)
  local factor, lo, hi, fast, slow = r.ratio, r.lo, r.hi, r.name_a, r.name_b
  if r.verdict == "FASTER" then
    fast, slow, factor, lo, hi = slow, fast, 1 / factor, 1 / hi, 1 / lo
  end
  local function number(x)
    return quantity.number(x, quantity.digits(noise))
  end
  local value = number(factor) .. (lo and (" [%s, %s]"):format(number(lo),
    number(hi)) or "")
  local head, tail = "UNCLEAR: %s takes", "%s times as long as %s"
  if r.verdict == "SAME" then
    head, tail = "%s takes the SAME time,", "%s times that of %s"
  elseif r.verdict ~= "UNCLEAR" then
    head, tail, slow, fast = "%s is", "%s times as fast as %s", fast, slow
  end
  head, tail = head:format(slow), tail:format(value, fast)
  return head .. (#head + #tail < WIDTH and " " or "\n  ") .. tail
end

-- By which rules the results of both sides were right, or which had none.
local function checked_words(r)
  local a, b = r.verify_a, r.verify_b
  if a == b then
    return a == "unchecked" and "unchecked: the results of both"
      or "results of both right: " .. a
  end
  return ("%s: %s; %s: %s"):format(r.name_a, a, r.name_b, b)
end

-- "12 launches": the samples that a round has of each side.
local function launches_of(r)
  local a, b = r.batch_a, r.batch_b
  if a == b then
    return a == 1 and ("%d launch%s"):format(r.samples,
      r.samples > 1 and "es" or "")
      or ("%d batches of %d launches"):format(r.samples, a)
  end
  return ("%d batches, of %d launches of a and %d of b,"):format(r.samples, a,
    b)
end

local printing = {
  __tostring = function(r)
    local width = math.max(#r.name_a, #r.name_b)
    local noise = r.lo and (r.hi - r.lo) / 2 / r.ratio
    local lines = {sentence(r, noise)}
    for i, side in ipairs{"a", "b"} do
      lines[i + 1] = ("  %s: %s%s  %s ms"):format(side, r["name_" .. side],
        (" "):rep(width - #r["name_" .. side]), quantity.number(
        stats.median(r[side]) * 1e3, quantity.digits(noise)))
    end
    lines[4] = text.hang("  b: ", ("%s after %d rounds of %s of each, %s%s "
      .. "cache, %s timer"):format(r.verdict, r.rounds, launches_of(r),
      r.quantile < 0.5 and "by lower quartiles, " or "", r.mode, r.timer),
      WIDTH)
    lines[#lines + 1] = r.clocks and "  " .. sensors.side_words(r)
    lines[#lines + 1] = r.verify_b and "  " .. checked_words(r)
    lines[#lines + 1] = r.note and "  " .. r.note
    return table.concat(lines, "\n")
  end,
}

local function is_list(x)
  return type(x) == "table" and getmetatable(x) == nil and x[1] ~= nil
    and x.range == nil
end

-- A side of the comparison as a workload.
local function side(x, args)
  if is_list(x) then
    return (workload.of("compare", table.unpack(x)))
  end
  return (workload.of("compare", x, {args = args}))
end

-- The operands of a rung: the operands of the other side where they fit, as
-- the place of operands in memory matters too.
local function operands_of(job, other)
  if not (other and other.plan and job.family == other.family and job.seed
      and other.seed) then
    return job.operands
  end
  local input, output = job.family.spec.inputs[1], job.family.spec.output
  local mine, theirs = job.operands[input], other.operands[input]
  if type(mine) ~= "userdata" or mine.bytes ~= theirs.bytes
      or mine.rows ~= theirs.rows or mine.type ~= theirs.type then
    return job.operands
  end
  return options.with(other.operands, {[output] = other.plan.output})
end

-- Runs a side whose results are expected, and raises where they are wrong.
local function demand(job, subject)
  if not job.expected then
    return
  end
  job.expected:poison()
  subject.sample(1)
  local v = job.expected:verdict()
  if not v.ok then
    cl.error(("compare: %s is wrong: %s"):format(job.name, v.message))
  end
  job.rule = v.mode
end

-- Verifies a side if it is a rung, and makes its plan; calculates the results
-- that a launch or a function must have.
local function prepare(job, other, opts)
  local family = job.family
  if not family then
    if opts.expect ~= nil then
      job.expected = require "clshell.measure.expect".new("compare",
        job.launch, job.args, opts)
    end
    return
  end
  job.name = ("%s.%s"):format(family.name, job.rung)
  local plan, reason = family.plan_for(job.rung, job.params,
    operands_of(job, other))
  if not plan then
    cl.error(("compare: %s refused: %s"):format(job.name, reason))
  end
  local truth, before = family.truth(plan)
  local verdict = verify.run(plan, plan.output, truth, before)
  if not verdict.ok then
    cl.error(("compare: %s is wrong: err=%.1e, bound %.1e"):format(job.name,
      verdict.err, verdict.bound))
  end
  job.plan, job.call, job.verify = plan, plan, verdict.mode
end

-- The words on a side besides its name: parameters, shape, local size.
local function words_of(job)
  local plan = job.plan
  if plan and plan.rung then
    local spec = job.family and job.family.spec
    return rungs.tostring(plan.rung, plan.params) .. " "
      .. (spec and spec.title(plan.shape) or "")
  end
  return job.size and "local=" .. workload.local_text(job.size) or ""
end

-- The words of the text x that y lacks, after a blank each.
local function lacking(x, y)
  local has, list = {}, {}
  for word in y:gmatch "%S+" do
    has[word] = true
  end
  for word in x:gmatch "%S+" do
    list[#list + 1] = not has[word] and " " .. word or nil
  end
  return table.concat(list)
end

-- The names of two sides; sides of the same name get the words that differ.
local function names_of(ta, tb)
  local a, b = ta.name, tb.name
  if a == b and a == "compare" then
    return "A", "B"
  elseif a == b then
    local wa, wb = words_of(ta), words_of(tb)
    a, b = a .. lacking(wa, wb), b .. lacking(wb, wa)
    if a == b then
      return a .. " (a)", b .. " (b)"
    end
  end
  return a, b
end

-- Whether a side was measured before: a result, the number of a kept run,
-- "last", or a tag.
local function is_kept(x)
  return math.type(x) ~= nil or type(x) == "string"
    or type(x) == "table" and x.name ~= nil and x.status ~= nil
end

local function compare_kept(a, b, opts)
  opts = options.check(opts, "compare.runs", "compare")
  local sides = {a, b}
  for i, x in ipairs(sides) do
    if not is_kept(x) then
      sides[i] = bench.run(table.unpack(is_list(x) and x
        or {x, {args = opts.args, cache = opts.cache}}))
    end
  end
  return lazy.above.compare_runs(sides[1], sides[2],
    {threshold = opts.threshold})
end

local function limits(opts, dev)
  if opts.cache ~= nil and opts.cache ~= "hot" and opts.cache ~= "cold" then
    cl.error(("compare: cache must be \"hot\" or \"cold\"; got %s"):format(
      tostring(opts.cache)))
  end
  local full = {looks = opts.rounds and {opts.rounds} or LOOKS}
  for name, default in pairs(defaults[dev.type] or defaults.other) do
    local value, least = opts[name] or default, LEAST[name]
    if math.type(value) == nil or not (value > 0 and value < math.huge)
        or least and (value < least or value % 1 ~= 0) then
      cl.error(("compare: %s must be a %s; got %s"):format(name, least
        and "whole number >= " .. least or "number > 0", tostring(value)))
    end
    full[name] = value
  end
  return full
end

--- compare(a, b [, opts]) -> result
--- Tells whether b is faster than a. Each is a workload of bench: a function
--- that returns its events, a plan, or a list of bench's arguments, such as
--- {"gemm.tiled", {512, 512, 512}, {tile = 8}}; rungs are verified first, and
--- rungs of the same shape run on the same operands. After a ramp both run in
--- turns, A B B A A B in one round and the other way round in the next, so
--- that drift hits both; each round gives a ratio of medians, b's time over
--- a's. On a CPU device, where other programs only ever lengthen a sample, the
--- samples are short and the lower quartile stands for the median (Chen and
--- Revels, Robust benchmarking in noisy environments, arXiv 1608.04295, take
--- the minimum for that reason). The result prints as text and has verdict
--- ("FASTER", "SLOWER", "SAME" or "UNCLEAR", of b: see compare.verdict), its
--- ratio, lo and hi (its 95 % order-statistic interval over the rounds),
--- ratios, a and b (the times of the rounds), name_a and name_b (of two of the
--- same name with the words that differ), timer, quantile and the launches per
--- sample. Where the device tells its clock: mhz_a, mhz_b, mhz_max, throttle,
--- and clocks, the verdict on the clocks of neighbouring samples ("FASTER" and
--- "SLOWER" where they differ); the text names both clocks then.
---
--- A side may also be a result of bench, the number of a kept run, "last", or
--- a tag: then nothing can run in turns. The other side is measured if need
--- be, and runs.compare judges.
---
--- With asm = true nothing is measured: the result is the difference of the
--- machine's codes of a and b, each a kernel or what else asm takes: `counts`,
--- a list of {name, a, b}, and `lines`, a list of {line_a, line_b, words,
--- text}.
--- Options:
---   cache    hot   or "cold", see bench
---   args     -     the arguments of a Launch, as a list
--- Options of machine codes:
---   asm      false  whether to compare the machine's codes
--- Options of kept runs:
---   threshold  0.03  a smaller change is no change
--- Options of workloads:
---   expect, tolerance, inout  -  the right results of a launch or a function,
---            as bench takes them: a side that is wrong raises
---   rounds   11, 22, 44, 88  at least 8; more where fewer are unclear
---   samples  3 (CPU: 12)  of each in a round
---   seconds  20    in all: long kernels get fewer samples a round, and the
---            result says so
---   least    0.01 (CPU: 0.001)  seconds of a sample: short launches are
---            batched
--- Example:
--- local shape = {64, 64, 64}
--- local c = compare({"gemm.naive", shape}, {"gemm.tiled", shape, {tile = 8}},
---   {rounds = 8, seconds = 0.2, least = 0.001})
--- print(c.verdict, c.ratio) -- of the second; time over time
--- print(pcall(compare, "gemm.naive", "gemm.tiled", {asm = true}))
function M.compare(a, b, opts)
  if a == nil or b == nil then
    cl.error(("compare: %s must be a workload or a kept run; got nothing")
      :format(a == nil and "a" or "b"),
      {hint = 'compare({"gemm.tiled", {512}}, {"gemm.register", {512}})'})
  end
  if type(opts) == "table" and opts.asm then
    options.check(opts, "compare.codes", "compare")
    return asm.compare(a, b)
  elseif is_kept(a) or is_kept(b) then
    return compare_kept(a, b, opts)
  end
  opts = options.check(opts, "compare.workloads", "compare")
  local ta, tb = side(a, opts.args), side(b, opts.args)
  local context = ta.plan and ta.plan.shape and ta.plan.shape.context
    or cl.context()
  local full = limits(opts, context.device)
  prepare(ta, nil, opts)
  prepare(tb, ta, opts)
  local one, other = timer.new(context, {ta.call}), timer.new(context,
    {tb.call})
  one.before = ta.expected and ta.expected:restore()
  other.before = tb.expected and tb.expected:restore()
  one.single, other.single = one.before ~= nil, other.before ~= nil
  demand(ta, one)
  demand(tb, other)
  local _, bytes, words = timer.plan_cold(context.device)
  local cold = opts.cache == "cold"
  local scratch <close> = cold and timer.flush(one, bytes) or nil
  if cold then
    timer.flush(other, scratch)
  end
  local c = one.calibration
  full.timer = c.event and c.batch and "event" or "wall"
  local r = M.measure(one, other, full)
  if not r then
    full.timer = "wall"
    r = M.measure(one, other, full)
  end
  demand(ta, one) -- the last launch is right as well
  demand(tb, other)
  for name, job in pairs{verify_a = ta, verify_b = tb} do
    r[name] = job.rule or job.family and job.verify or "unchecked"
  end
  r.name_a, r.name_b = names_of(ta, tb)
  r.mode = cold and ("cold (%s)"):format(words) or "hot"
  if r.samples < full.samples then
    r.note = ("only %d samples of each in a round, as they are long"):format(
      r.samples)
  end
  return setmetatable(r, printing)
end

return require "clshell.base.lazy".callable(M, "compare")

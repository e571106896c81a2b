-- measure/bench.lua - bench: a measurement, from its arguments to its record.
-- protocol.lua takes the samples; a rung is verified first.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local operands = require "clshell.ladder.operands"
local options = require "clshell.base.options"
local progress = require "clshell.base.progress"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local rungs = require "clshell.ladder.rung"
local sensors = require "clshell.measure.sensors"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local verify = require "clshell.ladder.verify"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)

local PATIENCE = 20 -- seconds that a routine of the host may take

-- Raises unless the options of these names are amounts, or left out.
local function check_amounts(opts, who, ...)
  for _, name in ipairs{...} do
    local x = opts[name]
    if x ~= nil and (math.type(x) == nil or not (x >= 0
        and x < math.huge)) then
      cl.error(("%s: %s must be a number >= 0; got %s"):format(who, name,
        tostring(x)))
    end
  end
end

-- Checks the options of a measurement. Returns the limits of the protocol, and
-- among them whether the result is placed on the roofline.
local function check(opts, effort, who)
  options.check(opts, "bench", who)
  check_amounts(opts, who, "flop", "bytes", "samples", "seconds", "warmup",
    "busy")
  if opts.check ~= nil then
    argument.check(who, "check", opts.check, "function")
  end
  if opts.check ~= nil and opts.expect ~= nil then
    cl.error(who .. ": takes check or expect, not both")
  end
  if opts.cache ~= nil and opts.cache ~= "hot" and opts.cache ~= "cold" then
    cl.error(("%s: cache must be \"hot\" or \"cold\"; got %s"):format(who,
      tostring(opts.cache)))
  end
  local base = protocol.efforts[opts.effort or effort]
  if not base then
    cl.error(("%s: effort must be \"quick\" or \"final\"; got %s"):format(who,
      tostring(opts.effort)))
  end
  local limits = {roof = opts.roof ~= false}
  for name, value in pairs(base) do
    limits[name] = opts[name] or value
  end
  return limits
end

--- bench.interrupted(e) -> boolean
--- Whether an error is Ctrl-C. A script that measures in a loop prints its
--- results so far and raises the error again; `e.record` is the result that
--- was under way.
--- Example:
--- local ok, err = pcall(bench, "gemm.tiled", {64, 64, 64},
---   {effort = "quick"})
--- if not ok and bench.interrupted(err) then
---   print("stopped", err.record) -- the result so far
--- end
M.interrupted = interrupt.is

-- Ends a result early, with the statistics of the samples so far.
local function settle(r, subject, status, message)
  record.fail(r, status, message)
  if r.samples and not r.median then
    protocol.summarise(subject, r)
  end
end

-- Keeps the result so far when Ctrl-C comes; the error carries it.
local function keep_part(r, subject, e)
  local verified = r.ok
  settle(r, subject, "interrupted", "by Ctrl-C")
  r.ok = verified
  if r.median then
    record.rate(r)
    record.keep(r)
  end
  if type(e) == "table" then
    e.record, e.hint = r, r.median and tostring(r) or e.hint
  end
end

-- Keeps the stack of a mistake in the caller's Lua, for the shell's report.
local function kept(e)
  local found, failure = pcall(require, "clshell.failure")
  return found and failure.keep(e) or e
end

-- Calls f(r, set) and keeps the result in any case; set(subject) names the
-- subject of the samples. A failure of the device becomes the status of the
-- result. Ctrl-C, and a mistake in the caller's Lua, are raised again.
local function guarded(r, f)
  local subject = {calibration = {}}
  local ok, e = xpcall(f, kept, r, function(s)
    subject = s
    return s
  end)
  if not ok and M.interrupted(e) then
    cl.undisturbed(keep_part, r, subject, e)
    error(e, 0)
  elseif not ok and (type(e) ~= "table" or e.message == nil) then
    error(e, 0)
  elseif not ok then
    local why = e.diagnostics and e.diagnostics[1]
    settle(r, subject, "failed", e.message:match("^[^\n]*")
      .. (why and ": " .. why.text or ""))
  end
  record.keep(r)
  return r
end

-- Measures a subject, by limits.measure if given, else by the protocol, works
-- out the rates and the note of the result, and places it on the roofline:
-- `verified` results raise it.
local function measure(r, subject, limits, verified)
  progress.phase "measured"
  local take = limits.measure or protocol.measure
  do
    local watch <close> = not limits.unwatched and sensors.watch(subject)
      or nil
    take(subject, r, limits)
    if watch and r.median then
      watch:describe(r)
    end
  end
  record.rate(r)
  record.explain(r)
  if limits.roof and r.median and subject.context then
    require "clshell.measure.roofline".place(r, subject.context, verified)
  elseif limits.roof and r.family then
    require "clshell.measure.roofline".host(r)
  end
end

-- Makes a subject find its caches cold. `copies(k)` adds k - 1 calls on copies
-- of the operands; nil: operands cannot be copied. Returns a Buffer to close,
-- or nil.
local function chill(r, subject, footprint, copies)
  local way, amount, words = timer.plan_cold(subject.context.device,
    copies and footprint)
  r.mode, r.cache = "cold", words
  if way == "rotation" then
    copies(amount)
  elseif way == "flush" then
    return timer.flush(subject, amount)
  end
end

-- Whether the result of a function passes its check, or is as expected (an
-- object of expect.lua). Without both the record says so: its rates are
-- measured as they are.
local function passes(r, opts, expected)
  local ok, message = true, nil
  r.verify = opts.check and "check()" or "unchecked"
  if expected then
    local v = expected:verdict()
    r.err, r.err_bound, r.verify = v.err, v.bound, v.mode
    r.worst = not v.ok and v.worst or nil
    ok, message = v.ok, v.message
    if not ok and v.unwritten == v.wrong and opts.inout == nil then
      message = message .. "; a kernel that reads its output needs inout"
    end
  elseif opts.check then
    ok, message = opts.check()
  end
  if not ok then
    message = message or "check() returned false"
    record.fail(r, "wrong", message, "WRONG " .. message)
  end
  return ok
end

-- The launch is checked before it is timed and, where opts.expect tells its
-- results, once more behind the last sample.
local function bench_call(r, job, opts, limits, set)
  local context, expected = job.context or cl.context(), job.expected
  local subject = set(timer.new(context, {job.call}))
  subject.before = job.before or expected and expected:restore()
  subject.single = not job.before and subject.before ~= nil
  local function right()
    progress.phase "checked"
    if expected then
      expected:poison()
    end
    subject.sample(1) -- not timed
    return passes(r, opts, expected)
  end
  if not right() then
    return
  end
  r.mode = opts.cache or "hot"
  local _ <close> = r.mode == "cold" and chill(r, subject) or nil
  r.flop, r.bytes = opts.flop, opts.bytes
  measure(r, subject, limits)
  if expected then
    right()
  end
end

-- The index of the rung's kernel among the events of a run, nil for a single
-- event. Commands of the first run only (once) have no event then.
local function main_of(plan)
  local main, count = nil, 0
  for i, command in ipairs(plan.commands) do
    if not command.once then
      count = count + 1
      main = i == plan.main and count or main
    end
  end
  return count > 1 and main or nil
end

-- Adds plans of the same configuration on copies of the operands, run once.
local function rotation(family, name, params, given, calls)
  return function(k)
    for i = 2, k do
      local other = family.plan_for(name, params,
        workload.copy(given, family.spec.output))
      calls[i] = other
      other():wait()
    end
  end
end

local function bench_rung(r, job, opts, limits, set)
  local family, rung = job.family, job.family.rung(job.rung)
  local plan, reason = family.plan_for(job.rung, job.params, job.operands)
  if not plan then
    return record.fail(r, "refused", reason)
  end
  local s, calls = plan.shape, {plan}
  record.describe_rung(r, family, rung, plan.params)
  record.describe_shape(r, family, s)
  record.describe_plan(r, plan)
  local truth, before = (job.truth or family.truth)(plan)
  if not record.judge(r, verify.run(plan, plan.output, truth, before)) then
    return
  end
  r.flop, r.bytes = family.flop(rung, s), family.bytes(rung, s, plan.params)
  local subject = set(timer.new(s.context, calls, main_of(plan)))
  if before then -- the plan reads its output
    function subject.before()
      verify.restore(plan, plan.output, before)
    end
  end
  r.mode = opts.cache or family.spec.cache
  local _ <close> = r.mode == "cold" and chill(r, subject,
    workload.footprint(plan.operands), not before and rotation(family,
      job.rung, job.params, job.operands, calls)) or nil
  measure(r, subject, limits, rung.builtin)
end

-- Times a function that enqueues nothing, by the host's clock.
local function bench_function(r, job, opts, limits, set)
  local call = job.call
  if job.expected then
    job.expected:poison()
    call()
  end
  if not passes(r, opts, job.expected) then
    return
  end
  r.mode, r.flop, r.bytes = "hot", opts.flop, opts.bytes
  measure(r, set(timer.host(function(n)
    local begin = cl.now()
    for _ = 1, n do
      call()
    end
    return cl.now() - begin
  end)), limits)
end

-- Times a routine of the host by its own clock; verified like a rung.
local function bench_host(r, job, host, limits, set)
  local family = job.family
  local o, s = family.bind(job.operands)
  local flop = family.flop(nil, s)
  record.describe_shape(r, family, s)
  r.family, r.kernel, r.mode, r.device = family.name, host.name, "hot", nil
  local expected = flop / host.gflops / 1e9
  local result, reason
  if expected > PATIENCE then
    reason = ("would take about %.0f s"):format(expected)
  else
    result, reason = host.run(o, s)
  end
  if result == nil then
    reason = tostring(reason)
    return record.fail(r, "refused", reason, "not run: " .. reason)
  elseif record.judge(r, verify.judge(result, family.spec.truth(o, s))) then
    r.flop, r.bytes = flop, family.bytes(nil, s)
    measure(r, set(timer.host(function(n)
      local seconds = 0
      for _ = 1, n do
        seconds = seconds + select(2, host.run(o, s))
      end
      return seconds
    end)), limits)
  end
end

-- Measures a rung or a host routine of a family.
local function run_family(job, opts, limits)
  local family = job.family
  if opts.expect ~= nil then
    cl.error(("bench: expect is for launches and functions; %s.%s is compared "
      .. "with the reference of %s"):format(family.name, job.rung,
      family.name))
  end
  local host = family.host(job.rung)
  local r = record.new(opts.name or ("%s.%s"):format(family.name, job.rung),
    not host and cl.context(), opts)
  r.params, r.seed, r.setting = job.params or {}, job.seed, job.setting
  if not host then
    local rung = family.rung(job.rung)
    rungs.check_options(family, r.params, rung)
    local _, fixed = operands.packed_for(family, job.operands, r.params)
    record.describe_rung(r, family, rung, fixed
      or rungs.parameters(rung, r.params, family.name))
  end
  return guarded(r, function(_, set)
    if host then
      bench_host(r, job, host, limits, set)
    else
      bench_rung(r, job, opts, limits, set)
    end
  end)
end

-- Measures a workload.
local function run_job(job, opts, limits)
  if job.family then
    return run_family(job, opts, limits)
  end
  if opts.expect ~= nil then -- tune gives job.expected
    job.expected = require "clshell.measure.expect".new("bench", job.launch,
      job.args, opts)
  end
  local r = record.new(opts.name or job.name, nil, opts)
  r.type = opts.type
  if job.plan and job.plan.rung then
    r.kernel, r.params = job.plan.rung.name, job.plan.params
    r.config = rungs.tostring(job.plan.rung, job.plan.params)
    record.describe_unit(r, job.plan,
      job.plan.commands[job.plan.main].launch.kernel)
  elseif job.kernel then
    r.kernel, r["local"] = job.kernel.name, workload.local_text(job.size)
    r.options = job.kernel.program.options
    record.describe_unit(r, nil, job.kernel)
  end
  if job.describe then
    job.describe(r)
  end
  return guarded(r, function(_, set)
    if not (job.plan or job.kernel) and not timer.enqueues(job.call) then
      return bench_function(r, job, opts, limits, set)
    end
    r.device = record.device(job.context or cl.context())
    bench_call(r, job, opts, limits, set)
  end)
end

--- bench(what [, shape [, params]] [, opts]) -> result
--- Measures `what`: a function that enqueues commands and returns its event
--- or events (as gemm does, second), a Launch with opts.args, a plan, or a
--- rung with a shape: bench("gemm.tiled", {512, 512, 512}, {tile = 16}), or
--- bench(gemm.rung "tiled", {A = A, B = B}). A rung is verified first.
---
--- The protocol: timers are calibrated once for each device (see calibrate),
--- the kernel runs until the clock is up, two samples are dropped, and samples
--- are taken until the 95 % interval of their median is within 0.5 %. A launch
--- that is short against the timer runs several times in a sample ("batch").
--- The time of several commands is the span from the first START to the last
--- END; `sum` is the time inside them. Without trusted event timers, or for a
--- function that returns no event, the host's clock serves: from the call
--- until all enqueued commands have ended. A function that enqueues nothing is
--- timed as code of the host, many calls in a sample if need be.
--- Options:
---   effort   final  "quick": half a second, as for a row of a table
---   seconds  5 (quick: 0.5)   of sampling at most
---   samples  10               so many at least, unless the seconds are over
---            or a launch takes more than 1 s: the note says so
---   busy     0.5 (quick: 0.1)  seconds of timed work at least
---   warmup   0.3 (quick: 0.1)  seconds of ramp at most
---   cache    hot (families that memory limits: cold)  "cold": the caches hold
---            other data before each launch
---   flop, bytes  -  of one run, for the rates and the roofline
---   type     float  element type, for the roofline
---   args     -      the arguments of a Launch, as a list
---   check    -      check() -> ok, message, after the first run of a function
---   expect   -      the right results, compared element by element: a Buffer,
---            an Array, an Expression, a list, a number, the Launch of a plain
---            kernel, or a function of the arguments by name, such as
---            function(x) return gemm(x.A, x.B) end; {C = ...} names outputs.
---            They hold NaN, or random integers, before the launch
---   tolerance  half 1e-2, float 1e-4, double 1e-10  of an element, or of the
---            lower quartile of all, see expect.compare
---   inout    -      outputs that the kernel reads as well: a name, a list, or
---            true. They get their first content before each launch
---   name, tag  -    strings: of the result, in the run store
---   roof     true   false: does not place the result on the roofline
---
--- The result, which prints as text, has all samples, in seconds per launch:
--- median, lo and hi (95 % interval; nil for fewer than 6), min, max, q1, q3,
--- n, discarded, outliers (kept), wall and gap (wall / median - 1), timer,
--- tick_ns, batch, floor (an empty kernel), mode and cache, sum, span, main;
--- ms and wall_ms; gflops, gbs, ai, roof (part of the measured roofline),
--- bound, roof_clock (the same part at the clock of this run); mhz, mhz_max,
--- mem_mhz, watts, watts_limit, celsius, throttle ("power limit"), joule (of a
--- run), others (other processes on the device), counters, as far as the
--- device tells them (see Device:sensors); err, err_bound, verify, ok; flags:
--- "unconverged", "overhead-bound" (less than five empty kernels), "clock!"
--- (the clock fell), "IMPOSSIBLE?" (above 105 % of the roofline), "no event
--- timer"; status: "ok", "refused", "wrong", "failed" or "interrupted", with
--- error and note. Ctrl-C is raised with the result so far as `record`.
--- Example:
--- local r = bench("gemm.tiled", {64, 64, 64}, {tile = 8}, {effort = "quick"})
--- print(r.status, r.gflops, r.n) -- GFLOPS, samples
--- local x = cl.buffer("float", 10000, 1)
--- print(bench(function() return x:fill(2) end, {effort = "quick",
---   bytes = x.bytes}))
function M.run(what, ...)
  local job, opts = workload.of("bench", what, ...)
  return run_job(job, opts, check(opts, "final", "bench"))
end

-- bench.job(job, opts, take, who) -> result
-- A quick measurement of a workload for `who`; take(subject, r, limits) takes
-- the samples in place of protocol.measure. Fields of the workload besides the
-- fields of target.of: setting, a text that equal workloads share in the
-- store; for a rung also truth(plan), in place of family.truth; for a launch
-- also context, before(), and describe(r) for its result. The sensors are read
-- where the options ask for a time of their own: a start takes them 10 ms.
function M.job(job, opts, take, who)
  local limits = check(opts, "quick", who)
  limits.measure, limits.unwatched = take, opts.busy == nil
  return run_job(job, opts, limits)
end

--- family.bench(name, params, operands [, opts]) -> result
--- Verifies and times a rung, or one of the host's routines (openblas,
--- plain_c), on operands such as {A = A, B = B}, or random operands of a size,
--- 512 or {512, 512, 512}. `params` are the rung's (nil, or left out:
--- defaults). Besides the fields of bench, the result has name ("gemm.tiled"),
--- family and kernel ("gemm", "tiled"; of the host's routines as well),
--- params, config (the same as text), type, shape, title (the shape as text),
--- local (the local size as text), defines, options, source_hash; err, the
--- largest error, and err_bound, its limit, as fractions of |A||B|, verify
--- (the kind of comparison) and ok; main, the seconds of the rung's own kernel
--- where helpers ran as well. A wrong result, a refused configuration and a
--- failing launch have status "wrong", "refused" or "failed", the reason as
--- `error` and in `note`, and no rate. Options as for bench.
--- Options:
---   effort  quick  "final" measures for longer
--- Example:
--- local r = gemm.bench("tiled", {tile = 8},
---   {A = matrix.random(64), B = matrix.random(64)}, {seconds = 0.05})
function M.bench_of(family, name, params, target, opts)
  local who = family.name .. ".bench"
  if not family.host(name) then
    family.rung(name, who)
  end
  params, target, opts = workload.behind_name(family, who, params, target,
    opts)
  opts = opts or {}
  local limits = check(opts, "quick", who)
  local given, made = workload.operands(family, target, opts.type, who, name)
  return run_family({family = family, rung = name, params = params,
    operands = given, seed = made and workload.SEED or nil}, opts, limits)
end

--- family.keep(result [, note]) -> row
--- Keeps the configuration of a result of bench, such as bench("gemm.tiled",
--- {512}, {tile = 8}), for calls that name no kernel. From now on and in later
--- sessions they take it on this device, for this element type, the same words
--- of options (the op of reduce) and shapes whose sizes are each within a
--- factor of 2, before the rows of family.choices, until family.forget. The
--- driver and the kernel file must not have changed since the measurement; see
--- family.choice. `note` is for people. The rows are in
--- ~/.config/clshell/choices.
--- Example:
--- local r = bench("transpose.tiled", {64}, {tile = 8}, {effort = "quick"})
--- local row = transpose.keep(r, "an example")
--- print(transpose.choice{rows = 64, cols = 64}.rung) --> tiled
function M.keep_of(family, r, note)
  local who = family.name .. ".keep"
  if type(r) ~= "table" or r.family ~= family.name or not r.kernel then
    cl.error(("%s: the result must be a bench of a kernel of %s; got %s")
      :format(who, family.name, type(r) == "table" and (r.name
      and "one of " .. tostring(r.name) or "a table") or type(r)),
      {hint = ("%s(bench(\"%s.NAME\", shape))"):format(who, family.name)})
  end
  local rung = family.rung(r.kernel)
  local device, driver = record.device_of(r)
  if record.fails(r) or not r.median then
    cl.error(("%s: only a result that is right can be kept; this is %s%s")
      :format(who, r.status or "none", r.error and ": " .. r.error or ""))
  elseif rung.input_roundoff then
    cl.error(("%s: %s cuts its operands: calls take it by its name alone")
      :format(who, rung.name))
  end
  family.forget_plans()
  return require "clshell.ladder.user_choices".keep(family, {rung = rung.name,
    params = r.params, config = r.config, device = device, driver = driver,
    type = r.type, shape = r.shape, title = r.title, ms = r.median * 1e3,
    source_hash = r.source_hash, note = note})
end

--- bench.of(name, samples [, opts]) -> result
--- The result of samples from elsewhere, in seconds by the host's clock: it is
--- summed up and kept like any other result.
--- Options:
---   flop, bytes  -  of one run, for the rates
---   type  float  element type, for the roofline
---   tag   -      a string: of the result, in the run store
--- Example:
--- local r = bench.of("mine", {0.011, 0.010, 0.012}, {flop = 1e9})
--- print(r.median, r.gflops) --> 0.011 90.909090909091
function M.of(name, samples, opts)
  opts = options.check(opts, "bench.of")
  check_amounts(opts, "bench.of", "flop", "bytes")
  argument.check("bench.of", "name", name, "string")
  argument.check("bench.of", "samples", samples, "table")
  for i = 1, math.max(#samples, 1) do
    local x = samples[i]
    if math.type(x) == nil or not (x >= 0 and x < math.huge) then
      cl.error(("bench.of: sample %d must be a number of seconds >= 0; got %s")
        :format(i, text.got(x)))
    end
  end
  local r = record.new(name, cl.context(), opts)
  r.timer, r.batch, r.mode, r.type = "wall", 1, "hot", opts.type
  r.samples, r.walls, r.discarded = samples, samples, 0
  r.sums, r.spans, r.mains = {}, {}, {}
  r.flop, r.bytes = opts.flop, opts.bytes
  protocol.summarise({calibration = {}}, r)
  record.rate(r)
  record.keep(r)
  return r
end

--- bench.calibration([context]) -> table
--- The calibration of a device's timers; see calibrate.
--- Example: print(bench.calibration().tick) -- seconds
function M.calibration(context)
  if context ~= nil then
    argument.check("bench.calibration", "context", context, "Context")
  end
  return calibrate.device{context = context}
end

return require "clshell.base.lazy".callable(M, "run")

-- bench.lua - one measurement, from what is to be measured to its record
-- protocol.lua takes the samples; a rung has been verified before.
-- SPDX-License-Identifier: MIT

local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local options = require "clshell.base.options"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local roofline = require "clshell.measure.roofline"
local rungs = require "clshell.family.rung"
local stats = require "clshell.measure.stats"
local target = require "clshell.measure.workload"
local timer = require "clshell.measure.timer"
local verify = require "clshell.family.verify"

local M = require "clshell.base.lazy".table(...)

local COLD = {spmv = true, transpose = true} -- families that default to it
local PATIENCE = 20 -- seconds that a routine of the host may be expected

M.median = stats.median

-- Limits of the protocol from the options and the effort.
local function limits_of(opts, effort, what)
  effort = opts.effort or effort
  local base = protocol.efforts[effort]
  if not base then
    cl.error(("%s: effort is \"quick\" or \"final\", not %s"):format(what,
      tostring(effort)))
  end
  local limits = {}
  for name, value in pairs(base) do
    local own = opts[name]
    if own ~= nil and (math.type(own) == nil or not (own >= 0
        and own < math.huge)) then
      cl.error(("%s: %s is a number of at least 0, not %s"):format(what, name,
        tostring(own)))
    end
    limits[name] = own or value
  end
  return limits
end

local function check(opts, effort, what)
  options.check(opts, "bench", what)
  for _, name in ipairs{"flop", "bytes"} do
    local x = opts[name]
    if x ~= nil and (math.type(x) == nil or not (x >= 0
        and x < math.huge)) then
      cl.error(("%s: %s is a number of at least 0, not %s"):format(what, name,
        tostring(x)))
    end
  end
  if opts.cache ~= nil and opts.cache ~= "hot" and opts.cache ~= "cold" then
    cl.error(("%s: cache is \"hot\" or \"cold\", not %s"):format(what,
      tostring(opts.cache)))
  end
  return limits_of(opts, effort, what)
end

--- bench.interrupted(e) -> boolean
--- Whether an error is Ctrl-C. A script that measures in a loop prints what
--- it has and raises it again; `e.record` is the result that was under way.
function M.interrupted(e)
  return type(e) == "table"
    and (e.name == "INTERRUPTED"
      or tostring(e):find("interrupted!", 1, true) ~= nil)
    or type(e) == "string" and e:find("interrupted!", 1, true) ~= nil
end

-- Keeps a result: in the session and, where the user wants it, in the run
-- store.
local function keep(r)
  roofline.add(r)
  require("clshell.store").keep(r)
end

-- What there is of a result when Ctrl-C comes; the error carries it.
local function interrupt(r, subject, e)
  local verified = r.ok
  record.fail(r, "interrupted", "by Ctrl-C")
  r.ok = verified
  if r.samples and not r.median then
    protocol.summarise(subject, r)
  end
  if r.median then
    record.rate(r)
    keep(r)
  end
  if type(e) == "table" then
    e.record, e.hint = r, r.median and tostring(r) or e.hint
  end
end

-- Keeps the stack of a mistake in the caller's Lua, for the shell to tell.
local function kept(e)
  local found, failure = pcall(require, "clshell.failure")
  return found and failure.keep(e) or e
end

-- Calls f(r) and keeps the result, whatever happens: a failure of the device
-- becomes its status, Ctrl-C too, but is raised again; so is a mistake in the
-- caller's Lua.
local function guarded(r, f)
  local subject = {calibration = {}}
  local ok, e = xpcall(f, kept, r, function(s)
    subject = s
    return s
  end)
  if ok then
    keep(r)
    return r
  end
  if M.interrupted(e) then
    cl.undisturbed(interrupt, r, subject, e)
    error(e, 0)
  elseif type(e) ~= "table" or e.message == nil then
    error(e, 0)
  end
  local why = e.diagnostics and e.diagnostics[1]
  record.fail(r, "failed", e.message:match("^[^\n]*")
    .. (why and ": " .. why.text or ""))
  if r.samples and not r.median then
    protocol.summarise(subject, r)
  end
  keep(r)
  return r
end

local function place(r, opts, context)
  if opts.roof ~= false and r.median then
    roofline.place(r, context)
  end
end

-- Makes a subject find its caches cold. `copies(k)` gives k - 1 more calls on
-- operands of their own; nil where that cannot be. Returns the Buffer to
-- close.
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

-- The untimed first launch of a call, and the caller's own check after it.
local function first_launch(subject, opts)
  local s = subject.sample(1)
  if opts.check then
    local ok, message = opts.check()
    if not ok then
      return nil, message or "check() says no"
    end
  end
  return s
end

local function bench_call(r, t, opts, limits, set)
  local context = cl.context()
  local subject = set(timer.new(context, {t.call}, opts.main))
  local s, message = first_launch(subject, opts)
  if not s then
    r.status, r.ok, r.error = "wrong", false, message
    return record.note(r, "WRONG " .. message)
  end
  local scratch
  r.mode = opts.cache or "hot"
  if r.mode == "cold" then
    scratch = chill(r, subject)
  end
  r.flop, r.bytes = opts.flop, opts.bytes
  protocol.measure(subject, r, limits)
  if scratch then
    scratch:close()
  end
  record.rate(r)
  record.explain(r)
  place(r, opts, context)
end

-- The place of the rung's kernel among the events of a run, or nil where it
-- is the only one: commands of the first run only are gone by then.
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

-- Plans of the same configuration on copies of the operands, each run once.
local function rotation(family, name, params, operands, calls)
  return function(k)
    for i = 2, k do
      local other = family.plan_for(name, params,
        target.copy(operands, family.spec.output))
      calls[i] = other
      other():wait()
    end
  end
end

local function cold_wanted(family, opts)
  local default = family.spec.cache or COLD[family.name] and "cold" or "hot"
  return (opts.cache or default) == "cold"
end

-- Times a plan that has been verified; `before` is what its output has to
-- hold before a run, where that is read.
local function time_plan(r, family, job, plan, before, opts, limits, set)
  local calls = {plan}
  local subject = set(timer.new(plan.shape.context, calls, main_of(plan)))
  if before then
    function subject.before()
      verify.restore(plan, plan.output, before)
    end
  end
  r.mode = "hot"
  local scratch
  if cold_wanted(family, opts) then
    scratch = chill(r, subject, target.footprint(plan.operands),
      not before and rotation(family, job.rung, job.params, job.operands,
        calls))
  end
  protocol.measure(subject, r, limits)
  if scratch then
    scratch:close()
  end
end

local function bench_rung(r, t, opts, limits, set)
  local family, rung = t.family, t.family.rung(t.rung)
  local plan, reason = family.plan_for(t.rung, t.params, t.operands)
  if not plan then
    r.status, r.ok, r.error = "refused", false, reason
    return record.note(r, "refused: " .. reason)
  end
  local s, p = plan.shape, plan.params
  record.describe_shape(r, family, s)
  record.describe_plan(r, plan)
  local truth, before = family.truth(plan)
  if not record.judge(r, verify.run(plan, plan.output, truth, before)) then
    return
  end
  r.flop, r.bytes = family.flop(rung, s), family.bytes(rung, s, p)
  time_plan(r, family, t, plan, before, opts, limits, set)
  record.rate(r)
  record.explain(r)
  place(r, opts, s.context)
end

local function not_run(r, reason)
  r.status, r.ok, r.error = "refused", false, reason
  record.note(r, "not run: " .. reason)
end

-- Times a routine of the host by its own clock; verified like a rung.
local function bench_host(r, t, host, opts, limits, set)
  local family = t.family
  local o, s = family.bind(t.operands)
  local flop = family.flop(nil, s)
  record.describe_shape(r, family, s)
  r.family, r.kernel, r.mode, r.device = family.name, host.name, "hot", nil
  local expected = flop / host.gflops / 1e9
  if expected > PATIENCE then
    return not_run(r, ("would take about %.0f s"):format(expected))
  end
  local result, reason = host.run(o, s)
  if result == nil then
    return not_run(r, tostring(reason))
  end
  if not record.judge(r, verify.judge(result, family.spec.truth(o, s))) then
    return
  end
  r.flop, r.bytes = flop, family.bytes(nil, s)
  protocol.measure(set(timer.host(function()
    return select(2, host.run(o, s))
  end)), r, limits)
  record.rate(r)
  record.explain(r)
  r.roof, opts.roof = nil, false -- the roof is the device's
end

-- A rung or a host routine of a family.
local function run_family(t, opts, limits)
  local host = t.family.host(t.rung)
  local name = ("%s.%s"):format(t.family.name, t.rung)
  local r = record.new(opts.name or name, not host and cl.context(), opts)
  r.params, r.seed = t.params or {}, t.seed
  local rung = not host and t.family.rung(t.rung)
  if rung then
    record.describe_rung(r, t.family, rung,
      rungs.parameters(rung, t.params or {}, t.family.name))
  end
  return guarded(r, function(_, set)
    if host then
      bench_host(r, t, host, opts, limits, set)
    else
      bench_rung(r, t, opts, limits, set)
    end
  end)
end

--- bench(what [, shape [, params]] [, opts]) -> result
--- Measures `what`: a function that enqueues something and returns its event
--- or events (as gemm does, second), a Launch with opts.args, a plan, or a
--- rung with a shape: bench("gemm.tiled", {512, 512, 512}, {tile = 16}), or
--- bench(gemm.rung "tiled", {A = A, B = B}). A rung is verified first.
---
--- The protocol: timers are calibrated once for each device (see calibrate),
--- the kernel runs until the clock is up, two samples are dropped, and samples
--- are taken until the 95 % interval of their median is within 0.5 %. What is
--- short against the timer is launched several times in a sample ("batch").
--- The time of several commands is the span from the first START to the last
--- END; `sum` is the time inside them. Without trusted event timers, or a
--- function that returns no event, the host's clock serves: from the call
--- until all that was enqueued has ended.
--- Options:
---   effort   final  "quick": half a second, what a row of a table has
---   seconds  5 (quick: 0.5)   of sampling at most
---   samples  10               so many at least
---   busy     0.5 (quick: 0.1)  seconds of timed work at least
---   warmup   0.3 (quick: 0.1)  seconds of ramp at most
---   cache    hot (spmv, transpose: cold)  "cold": the caches are made to hold
---            something else before each launch
---   flop, bytes, type  -  of one run, for the rates and the roofline
---   args     -      the arguments of a Launch, as a list
---   check    -      check() -> ok, message, after the first run of a function
---   name, tag  -    of the result, in the run store
---   roof     true   false: do not place it on the roofline
---
--- The result, which prints as text, has all samples, in seconds per launch:
--- median, lo and hi (95 % interval; nil for fewer than 6), min, max, q1, q3,
--- n, discarded, outliers (kept), wall and gap (wall / median - 1), timer,
--- tick_ns, batch, floor (an empty kernel), mode and cache, sum, span, main;
--- ms and wall_ms; gflops, gbs, ai, roof (part of the measured roofline),
--- bound; err, err_bound, verify, ok; flags: "unconverged", "overhead-bound"
--- (less than five empty kernels), "clock!" (the clock fell), "IMPOSSIBLE?"
--- (above 105 % of the roofline), "no event timer"; status: "ok", "refused",
--- "wrong", "failed" or "interrupted", with error and note. Ctrl-C is raised
--- with the result so far as `record`.
function M.run(what, ...)
  local t, opts = target.of("bench", what, ...)
  local limits = check(opts, "final", "bench")
  if t.family then
    return run_family(t, opts, limits)
  end
  local r = record.new(opts.name or t.name, nil, opts)
  r.type = opts.type
  if t.plan and t.plan.rung then
    r.kernel, r.params = t.plan.rung.name, t.plan.params
    r.config = rungs.tostring(t.plan.rung, t.plan.params)
  elseif t.kernel then
    r.kernel, r["local"] = t.kernel.name, target.local_text(t.size)
    r.options = t.kernel.program.options
  end
  return guarded(r, function(_, set)
    r.device = record.new("", cl.context(), opts).device
    bench_call(r, t, opts, limits, set)
  end)
end

-- family.bench, see family/init.lua: a result for a rung or a host routine.
function M.rung(family, name, params, operands, opts)
  local own = {}
  for key, value in pairs(opts or {}) do
    own[key] = value
  end
  local limits = check(own, "quick", family.name .. ".bench")
  return run_family({family = family, rung = name, params = params,
    operands = operands}, own, limits)
end

--- bench.of(name, samples [, opts]) -> result
--- The result of samples that were taken elsewhere, in seconds by the host's
--- clock: summed up and kept like any other.
--- Options:
---   flop, bytes, type  -  of one run, for the rates
---   tag                -  of the result, in the run store
function M.of(name, samples, opts)
  opts = opts or {}
  options.check(opts, "bench.of")
  local r = record.new(name, cl.context(), opts)
  r.timer, r.batch, r.mode, r.type = "wall", 1, "hot", opts.type
  r.samples, r.walls, r.discarded = samples, samples, 0
  r.sums, r.spans, r.mains = {}, {}, {}
  r.flop, r.bytes = opts.flop, opts.bytes
  protocol.summarise({calibration = {}}, r)
  record.rate(r)
  keep(r)
  return r
end

--- bench.calibration([context]) -> table
--- What the timers of a device are worth; see calibrate.
function M.calibration(context)
  return calibrate.device{context = context}
end

return setmetatable(M, {__call = function(_, ...)
  return M.run(...)
end})

-- bench.lua - timing by event timers, of a rung or of anything that returns
-- an event; what is timed as a rung has been verified before
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local rungs = require "clshell.rung"
local text = require "clshell.text"
local verify = require "clshell.verify"

local M = {}

local OPTIONS = {"name", "flop", "bytes", "samples", "seconds", "warmup"}

local LEAST = 0.1 -- seconds that the samples take at least

local defaults = {
  samples = 10,  -- at least so many, unless `seconds` are over first
  seconds = 0.5, -- of timed runs, begun
  warmup = 0.1,  -- seconds of untimed runs
}

-- The event among the results of a call such as gemm(A, B) -> C, event.
local function event_of(...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" and x.events or type(x) == "userdata" and x.wait then
      return x
    end
  end
end

-- Runs once and waits. Returns device and wall time in ms, and the event;
-- the device time is nil without an event, or where its stamps cannot be:
-- not positive, or longer than the host waited for them.
local function run_once(run)
  local begin = cl.now()
  local event = event_of(run())
  if event then
    event:wait()
  end
  local wall = (cl.now() - begin) * 1e3
  local ms = event and event.ms
  if ms and (ms <= 0 or ms > 1.02 * wall + 0.01) then
    ms = nil
  end
  return ms, wall, event
end

-- The value at fraction q of a sorted list, between neighbours if need be.
local function quantile(sorted, q)
  local at = 1 + (#sorted - 1) * q
  local low = math.floor(at)
  local high = math.min(low + 1, #sorted)
  return sorted[low] + (at - low) * (sorted[high] - sorted[low])
end

--- bench.median(list) -> number
--- The median of a list of numbers, which keeps its order.
function M.median(list)
  local sorted = {table.unpack(list)}
  table.sort(sorted)
  return quantile(sorted, 0.5)
end

-- Puts the statistics of the samples into a result.
local function summarise(r, samples, walls)
  local sorted = {table.unpack(samples)}
  table.sort(sorted)
  r.samples, r.n = samples, #samples
  r.ms, r.min, r.max = quantile(sorted, 0.5), sorted[1], sorted[#sorted]
  r.q1, r.q3 = quantile(sorted, 0.25), quantile(sorted, 0.75)
  r.wall_ms = M.median(walls)
end

-- Times `run` into result r: warm-up, then samples. Where event timers fail
-- a sample the host's clock stands in, for all of them.
local function measure(r, run, opts)
  local begin = cl.now()
  repeat
    run_once(run)
  until cl.now() - begin >= opts.warmup
  local samples, walls, mains, timed = {}, {}, {}, true
  begin = cl.now()
  repeat
    local ms, wall, event = run_once(run)
    timed = timed and ms ~= nil
    samples[#samples + 1], walls[#walls + 1] = ms or wall, wall
    if ms and event.events then
      mains[#mains + 1] = event.events[opts.main or 1].ms
    end
    local spent = cl.now() - begin
  until spent >= opts.seconds or #samples >= opts.samples and spent >= LEAST
  summarise(r, timed and samples or walls, walls)
  r.timer = timed and "event" or "host"
  r.kernel_ms = timed and #mains > 0 and M.median(mains) or nil
end

-- Puts the rates into a result that has a time.
local function rate(r, flop, bytes)
  if r.ms > 0 then
    r.flop, r.bytes = flop, bytes
    r.gflops = flop and flop > 0 and flop / r.ms / 1e6 or nil
    r.gbs = bytes and bytes > 0 and bytes / r.ms / 1e6 or nil
  end
end

local function add_note(r, note)
  r.note = r.note and r.note .. "; " .. note or note
end

local result_meta = {
  __tostring = function(r)
    local words = {("%s %s"):format(r.name, r.config or "")
      :gsub(" +$", "") .. ":"}
    if r.ms then
      words[#words + 1] = ("median %.4g ms (min %.4g, max %.4g, n=%d)")
        :format(r.ms, r.min, r.max, r.n)
    end
    if r.gflops then
      words[#words + 1] = (" %.4g GFLOPS"):format(r.gflops)
    end
    if r.gbs then
      words[#words + 1] = (" %.4g GB/s"):format(r.gbs)
    end
    if r.err then
      words[#words + 1] = (" error %.1e"):format(r.err)
    end
    if r.note then
      words[#words + 1] = " " .. r.note
    end
    return table.concat(words, " ")
  end,
}

-- Whether an error is Ctrl-C, which ends a bench, or no error of the device
-- at all but a mistake in the caller's Lua.
local function must_pass(e)
  return type(e) ~= "table" or e.message == nil
    or tostring(e):find("interrupted!", 1, true) ~= nil
end

-- Calls f(r): a failure of the device becomes a note of the result, which
-- then has no rate.
local function guarded(r, f)
  local ok, e = pcall(f, r)
  if not ok then
    if must_pass(e) then
      error(e, 0)
    end
    r.ok, r.gflops, r.gbs = false, nil, nil
    add_note(r, "failed: " .. (e.message:match("^[^\n]*")))
  end
  return r
end

local function complete(opts, what)
  cl.options(opts, OPTIONS, what)
  local full = {}
  for key, value in pairs(opts or {}) do
    full[key] = value
  end
  for key, value in pairs(defaults) do
    full[key] = full[key] or value
    if type(full[key]) ~= "number" or full[key] < 0 then
      cl.error(("%s: %s is a number of at least 0, not %s"):format(what, key,
        tostring(full[key])))
    end
  end
  return full
end

--- bench(what [, opts]) -> result
--- Times `what`, a function that returns an event (bench also takes the event
--- from functions like gemm that return it second) or a plan: untimed runs
--- for `warmup` seconds (0.1), then at least `samples` (10) timed ones, ended
--- by `seconds` (0.5) all the same. Options besides: name, flop and bytes (of
--- one run). The result has ms (the median), min, max, q1, q3, n, samples,
--- wall_ms (median on the host's clock), gflops, gbs, timer ("event", or
--- "host" where there is no event or its stamps are impossible) and note.
--- Nothing is verified: for that, see gemm.bench. A failing launch becomes
--- the note of a result without times.
function M.run(what, opts)
  local kind = type(what)
  local call = kind == "table" and getmetatable(what)
  if kind ~= "function" and not (call and call.__call) then
    cl.error("bench: a function that returns an event expected, got a "
      .. kind)
  end
  opts = complete(opts, "bench")
  local r = setmetatable({name = opts.name or "bench"}, result_meta)
  return guarded(r, function()
    run_once(what)
    measure(r, what, opts)
    rate(r, opts.flop, opts.bytes)
    if r.timer == "host" then
      add_note(r, "timed by the host's clock")
    end
  end)
end

-- Judges a result; where it is wrong, its error takes the place of a rate.
local function judged(r, verdict)
  r.err, r.bound, r.ok, r.mode = verdict.err, verdict.bound, verdict.ok,
    verdict.mode
  if not r.ok then
    local place = r.mode == "every bit" and ("%d elements"):format(r.err)
      or ("err=%.1e, bound %.1e"):format(r.err, r.bound)
    local at = verdict.row
      and (" at row %d%s"):format(verdict.row,
        verdict.col and (", column %d"):format(verdict.col) or "") or ""
    add_note(r, ("WRONG %s%s"):format(place, at))
  end
  return r.ok
end

-- Times a routine of the host by its own clock; verified like a rung.
local function bench_host(r, family, host, operands, opts)
  local o, s = family.bind(operands)
  local flop = family.flop(nil, s)
  r.shape, r.type = s, s.type
  local expected = flop / host.gflops / 1e9
  if expected > 20 then
    return add_note(r, ("not run: would take about %.0f s"):format(expected))
  end
  local truth = family.spec.truth(o, s)
  local samples, begin = {}, cl.now()
  repeat
    local result, seconds = host.run(o, s)
    if result == nil then
      return add_note(r, "not run: " .. tostring(seconds))
    end
    if #samples == 0 and not judged(r, verify.judge(result, truth)) then
      return
    end
    samples[#samples + 1] = seconds * 1e3
    local spent = cl.now() - begin
  until spent >= opts.seconds or #samples >= opts.samples and spent >= LEAST
  summarise(r, samples, samples)
  r.timer = "host"
  rate(r, flop, family.bytes(nil, s))
end

local function bench_rung(r, family, rung, params, operands, opts)
  local plan, reason = family.plan_for(rung.name, params, operands)
  if not plan then
    return add_note(r, "refused: " .. reason)
  end
  local s, p = plan.shape, plan.params
  local _, size = rung.range(s, p)
  r.params, r.config, r.shape, r.type = p, rungs.tostring(rung, p), s, s.type
  r["local"] = size and text.shape(size) or "driver's"
  local truth, before = family.truth(plan)
  if not judged(r, verify.run(plan, plan.output, truth, before)) then
    return
  end
  measure(r, plan, {
    warmup = opts.warmup, seconds = opts.seconds, samples = opts.samples,
    main = plan.main,
  })
  rate(r, family.flop(rung, s), family.bytes(rung, s, p))
  if r.kernel_ms then
    add_note(r, ("the kernel alone %.4g ms"):format(r.kernel_ms))
  end
  if r.timer == "host" then
    add_note(r, "timed by the host's clock")
  end
end

-- family.bench, see family.lua: a result for a rung or a host routine.
function M.rung(family, name, params, operands, opts)
  opts = complete(opts, family.name .. ".bench")
  local r = setmetatable({name = name, params = params or {}}, result_meta)
  local host = family.host(name)
  local rung = not host and family.rung(name)
  if rung then
    cl.options(params, rungs.names(rung), family.name .. ", kernel " .. name)
    local p = rungs.parameters(rung, params or {}, family.name)
    r.params, r.config = p, rungs.tostring(rung, p)
  end
  return guarded(r, function()
    if host then
      bench_host(r, family, host, operands, opts)
    else
      bench_rung(r, family, rung, params, operands, opts)
    end
  end)
end

return setmetatable(M, {__call = function(_, ...)
  return M.run(...)
end})

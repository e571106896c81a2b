-- protocol.lua - the protocol and comparisons on a simulated device, whose
-- true times are known and whose timer ticks, lies and fails at will
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local calibrate = require "clshell.measure.calibrate"
local compare = require "clshell.measure.compare"
local protocol = require "clshell.measure.protocol"
local timer = require "clshell.measure.timer"

local LIMITS = protocol.efforts.final
local QUICK = protocol.efforts.quick

local function normal()
  return math.sqrt(-2 * math.log(1 - math.random()))
    * math.cos(2 * math.pi * math.random())
end

-- A device with a clock of its own. Fields of `is`: time (seconds of a
-- launch), noise, tick, ramp (how much slower at first), drift (per second),
-- outlier (chance), event(seconds, launch number) -> seconds or nil, reason.
local function simulated(is)
  local clock, count = 0, 0
  local subject = {calibration = {event = true, batch = true,
    tick = is.tick or 1e-9, wall_tick = 5e-4, floor = 5e-6,
    floor_wall = 1e-5, canary = 0.005}}
  for key, value in pairs(is.calibration or {}) do
    subject.calibration[key] = value
  end
  local function speed()
    return (1 + (is.ramp or 0) * math.exp(-clock / 0.02))
      * (1 + (is.drift or 0) * clock)
      * (is.throttled and is.throttled(clock) and 1.3 or 1)
  end
  function subject.now()
    return clock
  end
  function subject.sleep(s)
    clock = clock + s
  end
  function subject.canary()
    clock = clock + 0.005 * speed()
    return 0.005 * speed()
  end
  function subject.sample(n)
    count = count + 1
    if is.fails and is.fails(count) then
      cl.error("the command failed on the device")
    end
    local took = 0
    for _ = 1, n do
      took = took + is.time * speed() * (1 + (is.noise or 0) * normal())
    end
    if math.random() < (is.outlier or 0) then
      took = took * 5
    end
    clock = clock + took + 1e-5
    local s = {wall = took + 1e-5}
    local event, reason = took, nil
    if is.tick then
      event = math.floor(event / is.tick + math.random()) * is.tick
    end
    if is.event then
      event, reason = is.event(event, count)
    end
    s.event, s.bad = event, reason
    return s
  end
  function subject.count()
    return count
  end
  return subject
end

local function run(is, limits)
  local r = {}
  local subject = simulated(is)
  protocol.measure(subject, r, limits or LIMITS)
  return r, subject
end

t.test("a quiet device takes few samples and gives its time", function()
  local r, s = run{time = 0.01, noise = 0.001}
  t.near(r.median, 0.01, 1e-4)
  t.ok(r.n >= 10 and r.n <= 80 and r.lo <= r.median and r.median <= r.hi)
  t.eq({r.timer, r.batch, r.discarded, #r.flags}, {"event", 1, 2, 0})
  t.eq(#r.samples, r.n)
  t.ok(s.now() < 2, "it took " .. s.now())
  t.near(r.gap, 1e-3, 1e-3)
  t.eq({r.walls, r.bad, r.half}, {})
end)

t.test("quick is quick, and says what it could not do", function()
  local r, s = run({time = 0.02, noise = 0.2}, QUICK)
  t.ok(protocol.flagged(r, "unconverged") and r.n >= 6)
  t.ok(s.now() < 1.2, "it took " .. s.now())
  r, s = run({time = 0.4, noise = 0.01}, QUICK)
  t.ok(r.n >= 1 and s.now() < 3)
  t.eq(r.lo, nil)
  t.ok(protocol.flagged(r, "unconverged"))
  t.eq(r.few, ("n=%d, as the 0.5 s were over"):format(r.n))
  t.eq(run{time = 0.01, noise = 0.001}.few, nil)
end)

t.test("a coarse timer is overcome by batches", function()
  local r = run{time = 2e-5, noise = 0.01, tick = 1.024e-6}
  t.ok(r.batch >= 5)
  t.near(r.median, 2e-5, 2e-3 / 100)
  t.near(r.tick_ns, 1024)
  t.ok(protocol.flagged(r, "overhead-bound"))
  r = run{time = 2e-4, noise = 0.01, tick = 1.024e-6}
  t.eq(r.batch, 1)
  t.ok(not protocol.flagged(r, "overhead-bound"))
  r = run{time = 2e-5, noise = 0.01, calibration = {batch = false}}
  t.eq({r.timer, protocol.flagged(r, "no event timer")}, {"wall", true})
  t.ok(r.batch * 2e-5 >= 0.05 * 0.9)
end)

t.test("the ramp of the clock is not in the samples", function()
  local r = run{time = 1e-3, noise = 1e-3, ramp = 2}
  t.near(r.median, 1e-3, 1e-5)
  t.ok(r.max < 1.1e-3, r.max)
end)

t.test("outliers are counted, kept, and do not move the median", function()
  local r = run{time = 1e-3, noise = 0.003, outlier = 0.05}
  t.ok(r.outliers >= 1 and r.max > 4e-3)
  t.near(r.median, 1e-3, 1e-5)
end)

t.test("a slower clock is seen", function()
  local r, s = run{time = 1e-3, noise = 0.001, throttled = function(now)
    return now < 0.35
  end}
  t.ok(not protocol.flagged(r, "clock!"))
  t.near(r.median, 1e-3, 1e-5)
  t.ok(s.now() > 0.35)
  r, s = run{time = 1e-3, noise = 0.001, throttled = function()
    return true
  end}
  t.ok(protocol.flagged(r, "clock!") and r.n >= 10)
  t.ok(s.now() < LIMITS.seconds + 1)
  r = run{time = 1e-3, noise = 0.001, throttled = function(now)
    return now > 0.3 and now < 0.75
  end}
  t.near(r.median, 1e-3, 1e-4)
end)

t.test("a set taken again never replaces a longer one", function()
  -- the clock falls in the first set and again after each later sample
  local falls = 0
  local r = {}
  local subject = simulated{time = 0.2, throttled = function(now)
    falls = now > 6 and falls + 1 or 0
    return falls % 3 > 0
  end}
  protocol.measure(subject, r, {warmup = 0.1, samples = 900, busy = 600,
    seconds = 600})
  t.ok(r.n > 20 and r.n == #r.samples, r.n)
  t.ok(protocol.flagged(r, "clock!"))
  t.eq(r.few, ("n=%d, as the 600 s were over"):format(r.n))
  t.near(r.median, 0.2, 0.01)
  -- nor the samples of a timer that then fails those of the host's clock
  local slow
  r = {}
  subject = simulated{time = 0.02, throttled = function(now)
    slow = slow or now > 6
    return slow
  end, event = function(x) return not r.aside and 2 * x or nil, "gone" end}
  protocol.measure(subject, r, {warmup = 0.1, samples = 900, busy = 600,
    seconds = 60})
  t.eq(r.timer, "wall")
  t.near(r.median, 1.3 * 0.02, 1e-4)
end)

t.test("timers that lie or fail give way to the clock", function()
  local lies = {
    zero = function() return nil, "no time between START and END" end,
    backwards = function() return nil, "START 5, END 3" end,
    ["some bad"] = function(x, n)
      if n % 5 == 0 then
        return nil, "START 0, END 0"
      end
      return x
    end,
  }
  for name, event in pairs(lies) do
    local r = run{time = 1e-3, noise = 0.001, event = event}
    t.eq(r.timer, "wall", name)
    t.ok(protocol.flagged(r, "no event timer") and r.reason, name)
    t.near(r.median, 1e-3, 2e-5, name)
    t.eq(r.tick_ns, nil)
  end
  local r = run{time = 1e-3, noise = 0.001, event = function(x, n)
    return n ~= 40 and x or nil, "a single bad one"
  end}
  t.eq(r.timer, "event")
  r = run{time = 1e-3, calibration = {event = false}}
  t.eq({r.timer, r.median > 0}, {"wall", true})
end)

t.test("long kernels are run three times", function()
  local r, s = run{time = 1.5, noise = 0.01}
  t.eq({r.n, r.lo, r.few, s.count()}, {3, nil, "n=3, no interval", 3})
  r = run{time = 1.5, event = function() return nil, "no stamps" end}
  t.eq({r.n, r.timer}, {3, "wall"})
  r = run{time = 20}
  t.eq(r.n, 1)
end)

t.test("a launch that fails keeps what was measured", function()
  local r = {}
  local subject = simulated{time = 0.02, noise = 0.1, fails = function(n)
    return n == 30
  end}
  t.raises(function() protocol.measure(subject, r, LIMITS) end, "failed on")
  t.ok(#r.samples >= 5)
  protocol.summarise(subject, r)
  t.eq(r.n, #r.samples)
  t.near(r.median, 0.02, 0.01)
  -- the clock falls, and the device fails before the next set has a sample
  r = {}
  local slow
  subject = simulated{time = 0.02, throttled = function(now)
    slow = slow or now > 1.5
    return slow
  end, fails = function() return slow and r.aside end}
  t.raises(function()
    protocol.measure(subject, r, {warmup = 0.1, samples = 10, busy = 60,
      seconds = 60})
  end, "failed on")
  t.eq(#r.samples, 0)
  protocol.summarise(subject, r)
  t.ok(r.n >= 10 and r.n == #r.samples and protocol.flagged(r, "clock!"))
  t.eq({r.aside, r.discarded}, {nil, 2})
  r = {}
  subject = simulated{time = 1, fails = function() return true end}
  t.raises(function() protocol.measure(subject, r, LIMITS) end,
    "failed on the device")
  protocol.summarise(subject, r)
  t.eq({r.samples, r.median}, {})
end)

t.test("noise that stays ends the samples", function()
  local r, s = run({time = 1e-3, noise = 0.3},
    {warmup = 0.1, samples = 10, busy = 0.1, seconds = 30})
  t.ok(r.n >= 64 and r.n <= 1000 and s.now() < 3)
end)

t.test("what is to be done before a sample is done", function()
  local before, r = 0, {}
  local subject = simulated{time = 1e-5, noise = 0.01}
  subject.single = true
  function subject.before()
    before = before + 1
    subject.sleep(0.01)
  end
  protocol.measure(subject, r, QUICK)
  t.eq(r.batch, 1)
  t.ok(before >= r.n)
  t.near(r.median, 1e-5, 1e-6)
end)

t.test("the step of a timer is found", function()
  local function step(tick, n)
    local list = {}
    for i = 1, n or 1000 do
      local x = 5000 + 300 * math.abs(normal())
      list[i] = math.floor(math.floor(x / tick) * tick + 0.5)
    end
    return calibrate.tick(list)
  end
  t.near(step(32), 32e-9, 1e-12)
  t.near(step(1024, 1000), 1024e-9, 1e-12)
  t.near(step(1), 1e-9, 1e-12)
  t.ok(step(1000 / 19.2) >= 51e-9 and step(1000 / 19.2) <= 54e-9)
  t.eq(calibrate.tick{}, nil)
  t.near(calibrate.tick{7, 7, 7}, 7e-9, 1e-15)
end)

local OPTS = {looks = {11, 22, 44, 88}, samples = 3, seconds = 20,
  least = 0.01, timer = "event"}

-- The verdict on two launches that differ by a factor on one device, whose
-- clock wanders.
local function verdict(factor, noise, wander, opts)
  local clock, level = 0, 0
  local function side(time)
    local s = simulated{time = time}
    function s.sample(n)
      level = 0.995 * level + (wander or 0) * normal()
      local took = n * time * math.max(0.3, 1 + level)
        * (1 + noise * math.abs(normal()))
      clock = clock + took
      return {event = took, wall = took}
    end
    function s.now()
      return clock
    end
    return s
  end
  return compare.measure(side(0.01), side(0.01 * factor), opts or OPTS)
end

t.test("comparisons see what is there", function()
  t.eq(verdict(0.8, 0.02).verdict, "FASTER")
  t.eq(verdict(1.25, 0.02).verdict, "SLOWER")
  t.eq(verdict(1, 0.002).verdict, "SAME")
  t.eq(verdict(1.004, 0.001).verdict, "SAME")
  local r = verdict(1.5, 0.02, 0.02)
  t.eq({r.verdict, r.timer}, {"SLOWER", "event"})
  t.eq(#r.ratios, r.rounds)
end)

t.test("the interval of a comparison holds what is there", function()
  local held = 0
  for _ = 1, 400 do
    local r = verdict(1.5, 0.02, 0.02)
    held = held + (r.lo <= 1.5 and 1.5 <= r.hi * 1.02 and 1 or 0)
  end
  t.ok(held >= 380, held) -- 95 % of 400, as it says
end)

-- 5 of 200 as a rate, with trials enough that chance does not decide.
t.test("of 1000 comparisons of the same at most 25 see a difference",
    function()
  for _, kind in ipairs{{0.003, 0}, {0.05, 0}, {0.02, 0.02}, {0.3, 0.05},
      {0.3, 0.05, 0.25}} do
    for _, looks in ipairs{OPTS.looks, {8}} do
      local wrong = 0
      for _ = 1, 1000 do
        local v = verdict(1, kind[1], kind[2], {looks = looks, samples = 3,
          seconds = 1e3, least = 0.01, timer = "event",
          quantile = kind[3]}).verdict
        wrong = wrong + ((v == "FASTER" or v == "SLOWER") and 1 or 0)
      end
      t.ok(wrong <= 25, ("noise %g, drift %g, %d looks: %d"):format(kind[1],
        kind[2], #looks, wrong))
    end
  end
end)

t.test("the lower quartile sees through other programs", function()
  local function busy(quantile)
    local clock = 0
    local function side()
      local s = simulated{time = 0.01}
      function s.sample(n)
        local took = n * 0.01 * (1 + 0.003 * math.abs(normal()))
        if math.random() < 0.6 then -- a slice of another program
          took = took * (1 + math.random())
        end
        clock = clock + took
        return {event = took, wall = took}
      end
      function s.now()
        return clock
      end
      return s
    end
    local same = 0
    for _ = 1, 100 do
      local r = compare.measure(side(), side(), {looks = OPTS.looks,
        samples = 12, seconds = 1e3, least = 0.01, timer = "event",
        quantile = quantile})
      same = same + (r.verdict == "SAME" and 1 or 0)
    end
    return same
  end
  local quartile, median = busy(0.25), busy(0.5)
  t.ok(quartile >= 90 and median <= 10, quartile .. ", " .. median)
end)

t.test("verdicts follow the rule", function()
  local function list(n, lo, hi)
    local ratios = {}
    for i = 1, n do
      ratios[i] = lo + (hi - lo) * (i - 1) / (n - 1)
    end
    return ratios
  end
  t.eq((compare.verdict(list(11, 1.02, 1.06))), "SLOWER")
  t.eq((compare.verdict(list(11, 0.9, 0.95))), "FASTER")
  t.eq((compare.verdict(list(11, 1.002, 1.008))), "SAME")
  t.eq((compare.verdict(list(11, 0.9, 1.1))), "UNCLEAR")
  t.eq((compare.verdict(list(11, 0.992, 1.02))), "UNCLEAR")
  t.eq((compare.verdict{1, 2}), "UNCLEAR")
end)

t.test("a pause leaves the processor to a CPU device", function()
  local subject = timer.host(function() end)
  local begin, used = cl.now(), os.clock()
  subject.sleep(0.3)
  used = os.clock() - used -- seconds of the processor, whatever the load
  local passed = cl.now() - begin
  t.ok(passed >= 0.3, passed)
  t.ok(used < passed / 10, ("%.3f s of %.3f s"):format(used, passed))
end)

t.done()

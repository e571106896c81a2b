-- measure/protocol.lua - the protocol of samples whose median can be trusted:
-- ramp, sample length, stop rule, watch over the clock. It knows no OpenCL: it
-- drives an abstract subject, which the tests simulate.
--
-- A subject is a table:
--   sample(n) -> s    runs n launches on end and waits; s.wall is the host's
--                     time of all launches and s.event the device's, in
--                     seconds; without s.event, s.bad is the reason. s.sum,
--                     s.span, s.main: see bench
--   before()          optional: runs before each sample, not timed (eviction
--                     of caches, restoring of operands)
--   canary() -> s     optional: seconds of a fixed kernel
--   now(), sleep(s)   the clock, in seconds
--   calibration       {event, batch: whether event timers can be trusted for
--                     a launch and for several on end; tick, wall_tick: the
--                     steps of the two timers; floor, floor_wall: an empty
--                     launch by each; canary: its undisturbed seconds; slow:
--                     the factor of canary time that shows a lower clock
--                     (1.05)}
--   single            optional: one launch a sample, as the caches are cold
-- SPDX-License-Identifier: MIT

local stats = require "clshell.measure.stats"

local M = {}

-- The length of a measurement. `quick` is for a row of a table, where verdicts
-- do not depend on the last per cent; `final` is for a figure that stands
-- alone. warmup: seconds of ramp at most; samples: at least, unless the
-- seconds are over; busy: seconds of timed work at least; seconds: of sampling
-- at most. A caller may add limits that end the sampling: width, half the
-- interval of the median as a part of the median, and above, in seconds:
-- sampling ends when the whole interval is longer.
M.efforts = {
  quick = {warmup = 0.1, samples = 10, busy = 0.1, seconds = 0.5},
  final = {warmup = 0.3, samples = 10, busy = 0.5, seconds = 5},
}

M.version = 1 -- of the protocol, in every record

local MOST = 1000      -- samples
local LONGEST = 4096   -- launches in a sample
local HALF_WIDTH = 0.005 -- of the interval of the median, to stop
local LONG = 1         -- seconds; longer kernels run 3 times
local DISCARD = 2      -- samples at the beginning
local TICKS = 100      -- of the timer, at least, in a sample
local SHORTEST = 50e-6 -- seconds of a sample
local FLOORS = 10      -- empty launches in a sample
local OVERHEAD = 5     -- empty launches; shorter launches are flagged
local SLOW = 1.05      -- canary against its calibrated time
local EVERY = 1        -- seconds between looks at the canary
local REDO = 3         -- times that a set of samples is taken again
local PAUSE = 0.05     -- seconds, doubled up to 4 times
local BAD = 0.02       -- the part of samples that an event timer may spoil

-- Launches per sample for a launch of `t` seconds; subject.least (optional)
-- are the least seconds of a sample, where the timer needs fewer.
function M.batch(subject, timer, t)
  if subject.single then
    return 1
  end
  local c = subject.calibration
  local wall = timer == "wall"
  local tick = wall and c.wall_tick or c.tick
  local floor = wall and c.floor_wall or c.floor
  local least = math.max(TICKS * (tick or 0), SHORTEST,
    FLOORS * (floor or 0), subject.least or 0)
  if t >= least then
    return 1
  end
  return math.min(LONGEST, math.ceil(least / math.max(t, 1e-9)))
end

-- One sample, after subject.before().
function M.take(subject, batch)
  if subject.before then
    subject.before()
  end
  return subject.sample(batch)
end

-- Runs the subject until the clock is up and times agree: three means of about
-- 10 ms within 1 %. A launch takes `wall` seconds of the host, which may be
-- more than the time of its commands. Returns the seconds of a launch.
function M.ramp(subject, limits, wall)
  local begin, means, t = subject.now(), {}
  repeat
    local batch = math.max(1, math.min(LONGEST, 0.01 / math.max(wall, 1e-6)))
    batch = math.floor(batch)
    local s = subject.sample(batch)
    wall = s.wall / batch
    t = (s.event and s.event > 0 and s.event or s.wall) / batch
    table.insert(means, t)
    local n = #means
    local low = math.min(t, means[n - 1] or 0, means[n - 2] or 0)
    local high = math.max(t, means[n - 1] or 0, means[n - 2] or 0)
  until high - low <= 0.01 * low or subject.now() - begin >= limits.warmup
  return t
end

-- Whether the clock is lower than at calibration.
local function slow(subject)
  local usual = subject.calibration.canary
  local limit = (subject.calibration.slow or SLOW) * (usual or 0)
  return usual and subject.canary and subject.canary() > limit
end

-- Waits for the clock to recover, up to 1.5 s and not beyond `deadline`.
-- Returns whether it has.
local function recover(subject, deadline)
  for k = 0, 4 do
    if not slow(subject) then
      return true
    end
    local pause = PAUSE * 2^k
    if subject.now() + pause > deadline then
      return false
    end
    subject.sleep(pause)
  end
  return not slow(subject)
end

local OWN = {"sum", "span", "main"} -- times of the commands in a sample
local LISTS = {"samples", "walls", "sums", "spans", "mains"}

-- Begins a set of samples, in the result `r`, where an error leaves it.
local function new_set(r, timer, batch)
  r.timer, r.batch, r.bad, r.half = timer, batch, 0, nil
  for _, key in ipairs(LISTS) do
    r[key] = {}
  end
end

-- Adds a sample to the set. Returns false if the timer cannot be trusted.
local function add(r, s)
  local n = #r.samples + 1
  local t = s[r.timer]
  if not t then
    r.bad, r.reason = r.bad + 1, s.bad
    r.discarded = r.discarded + 1
    return r.bad < 2 or r.bad <= BAD * (n + r.bad)
  end
  r.samples[n], r.walls[n] = t / r.batch, s.wall / r.batch
  for _, key in ipairs(OWN) do
    local list = r[key .. "s"]
    list[#list + 1] = s[key] and s[key] / r.batch
  end
  return true
end

-- Whether the samples suffice. Not all calls look: sorting takes time as well.
local function enough(r, limits, busy, checks)
  local n = #r.samples
  if n >= MOST then
    return true
  elseif n < limits.samples or n < 6 or n < (checks.next or 0) then
    return false
  end
  checks.next = n + math.max(1, n // 10)
  r.half = stats.half_width(r.samples)
  checks[#checks + 1] = {n, r.half}
  if busy < limits.busy then
    return false
  elseif r.half and (r.half <= (limits.width or HALF_WIDTH) or limits.above
      and (1 - r.half) * stats.median(r.samples) > limits.above) then
    return true
  end
  for i = #checks - 1, 1, -1 do -- whether more samples reduce the noise
    local before, half = table.unpack(checks[i])
    if n - before >= 16 then
      return n >= 64 and half ~= nil and math.abs(r.half / half - 1) < 0.05
    end
  end
  return false
end

-- Takes a set of samples. Returns the reason of its end: "enough", "time",
-- "clock" (the device became slower) or "timer" (it cannot be trusted).
local function collect(subject, r, limits, deadline)
  local busy, looked, checks = 0, subject.now(), {}
  for _ = 1, DISCARD do
    M.take(subject, r.batch)
    r.discarded = r.discarded + 1
  end
  while true do
    local s = M.take(subject, r.batch)
    busy = busy + s.wall
    if not add(r, s) then
      return "timer"
    end
    local now = subject.now()
    if #r.samples > 0 and now >= deadline then
      return "time"
    elseif #r.samples == 0 and now >= deadline + limits.seconds then
      return "timer"
    elseif enough(r, limits, busy, checks) then
      return "enough"
    elseif now - looked >= EVERY then
      if slow(subject) then
        return "clock"
      end
      looked = subject.now()
    end
  end
end

-- A kernel longer than a second: three samples, too few for an interval.
local function collect_long(subject, r, first)
  add(r, first)
  while #r.samples < 3 and r.bad < 2 and (first.wall < 10 * LONG
      or #r.samples < 1) do
    add(r, M.take(subject, 1))
  end
  return #r.samples > 0 and "long" or "timer"
end

-- Whether a result has a flag.
function M.flagged(r, name)
  for _, flag in ipairs(r.flags or {}) do
    if flag == name then
      return true
    end
  end
  return false
end

-- Flags a result, once.
function M.flag(r, name)
  if not M.flagged(r, name) then
    table.insert(r.flags, name)
  end
end

-- Copies the lists of a set.
local function move_set(from, to)
  for _, key in ipairs(LISTS) do
    to[key] = from[key]
  end
end

-- Lays the set of samples aside, for an error before the next set has one, and
-- for a next set that is shorter. The longest set stays.
local function lay_aside(r)
  r.discarded = r.discarded + #r.samples
  if not (r.aside and #r.aside.samples > #r.samples) then
    r.aside = {}
    move_set(r, r.aside)
  end
end

-- Takes sets of samples until the clock was steady during a set.
local function collect_steady(subject, r, timer, batch, limits)
  local deadline, ended = subject.now() + limits.seconds, nil
  local steady = recover(subject, deadline - limits.seconds / 2)
  for try = 0, REDO do
    if try > 0 then
      lay_aside(r)
    end
    new_set(r, timer, batch)
    ended = collect(subject, r, limits, deadline)
    if ended == "timer" then
      r.aside = nil -- by this timer
      return ended
    end
    local fell = ended == "clock" or steady and slow(subject)
    if not fell then
      break
    elseif try == REDO or subject.now() + limits.seconds / 2 > deadline then
      steady = false
      break
    end
    steady = recover(subject, deadline - limits.seconds / 2)
  end
  if r.aside and ended ~= "enough" and #r.aside.samples > #r.samples then
    r.discarded = r.discarded + #r.samples - #r.aside.samples
    move_set(r.aside, r)
    ended, steady = "time", false
  end
  if not steady then
    M.flag(r, "clock!")
  end
  return ended
end

-- Measures by one timer. Returns the reason of the end.
local function measure_by(subject, r, timer, limits, t)
  local batch = M.batch(subject, timer, t)
  if batch > 1 and timer == "event" and not subject.calibration.batch then
    return "timer"
  end
  return collect_steady(subject, r, timer, batch, limits)
end

--- protocol.look(subject, r, stop)
--- A first look at a subject: samples into the result r, one after the other
--- and without a ramp, until stop(r.samples).
function M.look(subject, r, stop)
  r.flags, r.discarded = r.flags or {}, 0
  local c, first = subject.calibration, M.take(subject, 1)
  local timer = c.event and first.event and first.event > 0 and "event"
    or "wall"
  local batch = M.batch(subject, timer, first[timer])
  if batch > 1 and timer == "event" and not c.batch then
    timer, batch = "wall", M.batch(subject, "wall", first.wall)
  end
  new_set(r, timer, batch)
  if batch == 1 then
    add(r, first)
  end
  while not stop(r.samples) do
    if not add(r, M.take(subject, batch)) then
      new_set(r, "wall", batch)
    end
  end
end

--- protocol.measure(subject, r, limits)
--- Takes samples of a subject into the result r: timer, batch, samples,
--- discarded, flags and the fields of protocol.summarise. The steps: a ramp
--- until the clock is up; samples long enough for the timer, of several
--- launches if need be; two samples discarded; then samples until the 95 %
--- interval of the median is within 0.5 % of it, or no longer shrinks, or the
--- limits are reached ("unconverged"); a canary kernel watches the clock
--- ("clock!"). Kernels longer than 1 s run 3 times. The host's clock replaces
--- an event timer that fails or is not trusted ("no event timer"). On an error
--- r keeps the samples so far.
function M.measure(subject, r, limits)
  r.flags, r.discarded = r.flags or {}, 0
  local timer = subject.calibration.event and "event" or "wall"
  new_set(r, timer, 1)
  local first, ended = M.take(subject, 1), nil
  local t = first.event and first.event > 0 and first.event or first.wall
  local long = t > LONG
  t = long and t or M.ramp(subject, limits, first.wall)
  for _, by in ipairs{timer, "wall"} do
    if long then
      new_set(r, by, 1)
      ended = collect_long(subject, r, first)
    else
      ended = measure_by(subject, r, by, limits, t)
    end
    if ended ~= "timer" then
      break
    end
  end
  if r.timer == "wall" and not subject.host then
    M.flag(r, "no event timer")
  end
  if ended == "time" then
    if #r.samples < limits.samples then
      r.few = ("n=%d, as the %g s were over"):format(#r.samples,
        limits.seconds)
    end
    r.half = stats.half_width(r.samples)
    if not (#r.samples >= 6 and r.half and r.half <= HALF_WIDTH) then
      M.flag(r, "unconverged")
    end
  elseif ended == "long" then
    r.few = ("n=%d, no interval"):format(#r.samples)
  end
  M.summarise(subject, r)
end

--- protocol.summarise(subject, r)
--- Puts the statistics of the samples into a result, in seconds for one
--- launch. Outliers (stats.mad_outliers) are counted and stay. Without a
--- sample r gets no statistics.
function M.summarise(subject, r)
  if r.aside and #r.samples == 0 then
    for key, list in pairs(r.aside) do
      r[key] = list
    end
    r.discarded = r.discarded - #r.samples
    M.flag(r, "clock!")
  end
  r.aside = nil
  if not r.samples or #r.samples == 0 then
    r.samples, r.batch, r.timer = nil, nil, nil
  else
    for key, value in pairs(stats.summary(r.samples)) do
      r[key] = value
    end
    r.outliers = stats.mad_outliers(r.samples)
    r.wall = stats.median(r.walls)
    r.gap = r.median > 0 and r.wall / r.median - 1 or nil
    for _, key in ipairs(OWN) do
      r[key] = r[key .. "s"][1] and stats.median(r[key .. "s"])
    end
    r.ms, r.wall_ms = r.median * 1e3, r.wall * 1e3
    local c = subject.calibration
    r.floor = r.timer == "event" and c.floor or c.floor_wall
    r.tick_ns = r.timer == "event" and c.tick and c.tick * 1e9 or nil
    if r.floor and r.median < OVERHEAD * r.floor then
      M.flag(r, "overhead-bound")
    end
  end
  r.walls, r.sums, r.spans, r.mains = nil, nil, nil, nil
  r.bad, r.half = nil, nil
end

return M

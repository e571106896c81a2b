-- measure/sensors.lua - what the device told of itself during a measurement:
-- its clock, power and temperature, what held the clock down, and counters.
-- src/cl/sensor.c reads them. A value that is not surely the measurement's own
-- stays away.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local options = require "clshell.base.options"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"

local M = {}

local PERIOD = 0.05 -- seconds; with readings every 0.01 a kernel of 14 us took
                    -- 1.04 times as long on an H100
local LEAST = 3     -- readings behind a number
local METERED = 2   -- seconds, as a meter of energy moves in steps of 0.1 s
local OFTEN = 0.25  -- the part of the readings that a reason must be in

-- sensors.busy
-- The part of the time that launches must take for their watts to be known;
-- tests on a busy machine lower it.
M.busy = 0.9

-- sensors.LONG
-- The options of bench that make a measurement long enough for its watts.
M.LONG = {busy = 1.6, seconds = 4}

-- Parts of the time, and what counts up during a launch.
local PARTS = {"active", "occupancy", "tensor", "fp64", "fp32", "fp16", "dram"}
local COUNTS = {"cycles", "instructions", "llc_misses"}

local Watch = {}
Watch.__index = Watch

function Watch:__close()
  for _, undo in ipairs(self.undo) do
    undo()
  end
  self.sampler:close()
end

-- sensors.watch(subject [, other [, period]]) -> watch, or nil
-- Reads the sensors of the device of a subject of timer.new, or of two, every
-- `period` seconds (0.05), and notes their samples, until watch:describe(r) or
-- the end of its scope. nil: the device has no sensors.
function M.watch(subject, other, period)
  local context = subject.context
  local sampler = context and context.device:sampler(period or PERIOD)
  if not sampler then
    return nil
  end
  local self = setmetatable({sampler = sampler, log = {}, undo = {}}, Watch)
  for side, s in ipairs{subject, other} do
    local sample, log = s.sample, self.log
    self.undo[side] = function()
      s.sample = sample
    end
    function s.sample(n)
      local begin = cl.now()
      local took = sample(n)
      log[#log + 1] = {side = side, begin = begin * 1e9, stop = cl.now() * 1e9,
        busy = took.event or took.wall, wall = took.wall}
      return took
    end
  end
  return self
end

-- The values of a name in the readings, from one time to another, and the
-- readings with the first and the last of them.
local function values(readings, name, from, to)
  local list, first, final = {}, nil, nil
  for _, r in ipairs(readings) do
    if r[name] and r.ns >= (from or 0) and r.ns <= (to or math.huge) then
      first, final = first or r, r
      list[#list + 1] = r[name]
    end
  end
  return list, first, final
end

local function last(readings, name)
  local list = values(readings, name)
  return list[#list]
end

local function median(list)
  return #list >= LEAST and stats.median(list) or nil
end

-- What held the clock down, in words, in `part` of the readings.
local function reasons(readings, from, to, part)
  local n, count = #values(readings, "ns", from, to), {}
  for _, list in ipairs(values(readings, "throttle", from, to)) do
    for _, word in ipairs(list) do
      count[word] = (count[word] or 0) + 1
    end
  end
  local words = {}
  for _, word in ipairs(text.keys(count)) do
    words[#words + 1] = count[word] >= part * n and word or nil
  end
  return words[1] and table.concat(words, ", ") or nil
end

-- The part of a time in which launches ran, by a time of the samples.
local function load_of(log, key, from, to)
  local sum = 0
  for _, s in ipairs(log) do
    sum = sum + (s.begin >= from and s.stop <= to and s[key] or 0)
  end
  return sum * 1e9 / (to - from)
end

-- The growth of a meter a second, between its first and its last reading, and
-- their times.
local function rate(readings, name)
  local _, first, final = values(readings, name)
  if first and final.ns > first.ns and final[name] >= first[name] then
    return (final[name] - first[name]) / (final.ns - first.ns) * 1e9,
      first.ns, final.ns
  end
end

-- The mean power of the launches, by a meter or by readings that are means of
-- this measurement alone; nil where the device paused too much.
local function watts(readings, log, from, to)
  local metered, begin, stop = rate(readings, "joules")
  if metered and metered > 0 and stop - begin >= METERED * 1e9
      and load_of(log, "busy", begin, stop) >= M.busy then
    return metered
  end
  local over, sum = last(readings, "watts_over"), 0
  local list = over and load_of(log, "busy", from, to) >= M.busy
    and values(readings, "watts", from + over * 1e9, to) or {}
  for _, x in ipairs(list) do
    sum = sum + x
  end
  return #list >= LEAST and sum / #list or nil
end

-- Counters of a run: parts of the time, and counts of the process.
local function counters(readings, log, from, to, r)
  local list = {}
  for _, name in ipairs(PARTS) do
    local own = values(readings, name, from + 0.25e9, to)
    list[name] = own[1] and stats.median(own)
  end
  for _, name in ipairs(COUNTS) do
    local grown, begin, stop = rate(readings, name)
    list[name] = grown and load_of(log, "wall", begin, stop) >= M.busy
      and grown * r.wall or nil
  end
  return next(list) and list or nil
end

-- watch:describe(r)
-- Ends the readings, and puts what is known into a result: mhz, mhz_max,
-- mem_mhz, watts, watts_limit, celsius, throttle, joule (of a run), others,
-- counters. The samples behind its statistics count, not the ramp.
function Watch:describe(r)
  local readings, log = self.sampler:stop(), self.log
  local n = math.min(#log, r.n or 0)
  if n == 0 or #readings == 0 then
    return
  end
  local from, to = log[#log - n + 1].begin, log[#log].stop
  r.mhz = median(values(readings, "mhz", from, to))
  r.mem_mhz = median(values(readings, "mem_mhz", from, to))
  r.celsius = median(values(readings, "celsius", from, to))
  r.mhz_max = r.mhz and last(readings, "mhz_max")
  r.throttle = r.mhz and reasons(readings, from, to, OFTEN)
  r.watts = watts(readings, log, from, to)
  r.watts_limit = r.watts and last(readings, "watts_limit")
  r.joule = r.watts and r.watts * r.median
  r.counters = counters(readings, log, from, to, r)
  local others = values(readings, "others")
  r.others = others[1] and math.tointeger(math.max(table.unpack(others)))
end

-- watch:sides(r)
-- Ends the readings of two subjects in turns. Puts their clocks into the
-- result r, mhz_a and mhz_b, with mhz_max and throttle, and clocks, the
-- verdict of stats.verdict on pairs of neighbouring samples: SAME, or FASTER
-- where the second side's clock is lower, as a verdict on times.
function Watch:sides(r)
  local readings, log = self.sampler:stop(), self.log
  local list, ratios, before = {{}, {}}, {}, nil
  for _, s in ipairs(log) do
    local own = values(readings, "mhz", s.begin, s.stop)
    s.mhz = own[1] and stats.median(own)
    table.insert(list[s.side], s.mhz)
    if before and before.side ~= s.side and before.mhz and s.mhz then
      ratios[#ratios + 1] = s.side == 2 and s.mhz / before.mhz
        or before.mhz / s.mhz
      before = nil
    else
      before = s
    end
  end
  if #ratios < 8 then
    return
  end
  r.mhz_a, r.mhz_b = stats.median(list[1]), stats.median(list[2])
  r.mhz_max = last(readings, "mhz_max")
  r.throttle = reasons(readings, log[1].begin, log[#log].stop, OFTEN)
  r.clocks = stats.verdict(ratios)
end

-- sensors.clock_words(mhz, r) -> string
-- "1290 MHz of 1980, power limit", by the mhz_max and throttle of a result.
function M.clock_words(mhz, r)
  return ("%.0f MHz%s%s"):format(mhz, r.mhz_max and (" of %.0f"):format(
    r.mhz_max) or "", r.throttle and ", " .. r.throttle or "")
end

-- sensors.side_words(r) -> string or nil
-- The clocks of a comparison in words.
function M.side_words(r)
  if not r.clocks then
    return nil
  elseif r.clocks == "FASTER" or r.clocks == "SLOWER" then
    return ("different clocks: a at %.0f MHz, b at %s"):format(r.mhz_a,
      M.clock_words(r.mhz_b, r))
  end
  return "both at " .. M.clock_words((r.mhz_a + r.mhz_b) / 2, r)
end

-- sensors.powerless(dev) -> reason or nil
-- Why no power is known of a device's launches.
function M.powerless(dev)
  local now = dev:sensors()
  if not now then
    return dev.name .. " has no sensors that can be read here"
  elseif not now.watts and not now.joules then
    now.ns = nil
    return ("%s tells %s, and no watts"):format(dev.name,
      table.concat(text.keys(now), ", "))
  end
end

--- Device:sensors() -> table, or nil
--- What the device tells of itself now, as Sampler:readings has it (throttle
--- as a text): its clocks, watts, temperature, what holds the clock down.
--- nil: it has no sensors that can be read here. A result of bench has the
--- same names, of the time of its samples; joule, the energy of a run, where
--- the device was busy and its watts are known; and counters: parts of the
--- time by NVML's GPM, or the counts of a run.
--- Example:
--- local now = cl.device():sensors()
--- print(now and now.mhz, now and now.watts or "no watts here")
local function sensors(dev)
  local sampler <close> = dev:sampler()
  if not sampler then
    return nil
  end
  cl.sleep(0.03)
  local list, now = sampler:stop(1), {}
  for _, reading in ipairs(list) do
    now = options.with(now, reading)
  end
  now.throttle = #list > 0 and reasons({list[#list]}, 0, math.huge, 0) or nil
  return #list > 0 and now or nil
end

cl.extend("Device", argument.methods("Device", {sensors = sensors}, "Device"),
  true)

return M

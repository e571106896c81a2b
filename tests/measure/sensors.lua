-- sensors.lua - clocks and watts of measurements: what is known of a run, the
-- clocks of a comparison, and the results that carry them
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local fields = require "clshell.results.fields"
local file = require "clshell.base.file"
local json = require "clshell.base.json"
local sensors = require "clshell.measure.sensors"

t.keeps("Context", "Program", "Kernel", "Queue")
t.device()

local time = 0 -- seconds of a clock that the tests set

-- A subject whose launches take `busy` of the time, on a device that reads
-- `at(seconds)` every 10 ms; and a variable to be closed.
local function world(busy, at)
  time = 100
  local list = {}
  local sampler = {readings = function() return list end,
    close = function() end}
  sampler.stop = sampler.readings
  local device = {sampler = function() return sampler end}
  local function pass(seconds)
    for _ = 1, math.floor(seconds * 100 + 0.5) do
      local r = at(time - 100)
      if r then
        r.ns = math.floor(time * 1e9)
        list[#list + 1] = r
      end
      time = time + 0.01
    end
  end
  local subject = {context = {device = device}, sample = function(n)
    pass(n)
    return {event = busy * n, wall = n}
  end}
  return subject, pass, t.swap(cl, "now", function() return time end)
end

-- The result of a ramp of 0.3 s and samples of 0.1 s, each a run.
local function measured(n, busy, at)
  local subject, _, undo = world(busy, at)
  local _ <close> = undo
  local r = {n = n, median = 0.1 * busy, wall = 0.1}
  local watch <close> = sensors.watch(subject)
  subject.sample(0.3)
  for _ = 1, n do
    subject.sample(0.1)
  end
  watch:describe(r)
  return r
end

t.test("the samples count, not the ramp", function()
  local r = measured(10, 1, function(s)
    local ramp = s < 0.295
    return {mhz = ramp and 1980 or 1290, mhz_max = 1980, celsius = 60,
      throttle = not ramp and {"power limit"} or {"temperature"}}
  end)
  t.eq({r.mhz, r.mhz_max, r.throttle, r.celsius, r.watts, r.joule},
    {1290, 1980, "power limit", 60})
  t.eq(sensors.clock_words(r.mhz, r), "1290 MHz of 1980, power limit")
end)

t.test("watts are known where their mean is of the run alone", function()
  local function at(over)
    return function(s)
      return {watts = s < 0.3 and 100 or 650, watts_over = over,
        watts_limit = 700}
    end
  end
  t.eq(measured(10, 1, at(0.1)).watts, 650)
  local r = measured(20, 1, at(1))
  t.eq({r.watts, r.watts_limit, r.joule}, {650, 700, 65})
  r = measured(10, 1, at(1)) -- no reading is of these samples alone
  t.eq({r.watts, r.watts_limit, r.joule}, {})
  t.eq(measured(10, 0.5, at(0.1)).watts, nil, "the device paused")
  t.eq(measured(2, 1, at(0.3)).watts, nil)
end)

t.test("a meter of energy tells watts after two seconds", function()
  local function at(s)
    return {joules = 1e6 + 500 * s, watts = 300, watts_over = 0.1}
  end
  t.near(measured(20, 1, at).watts, 500, 1e-6)
  t.near(measured(10, 1, at).watts, 300, 1e-6) -- the meter's steps are coarse
  t.eq(measured(20, 0.8, at).watts, nil)
  t.eq(measured(20, 1, function(s)
    return {joules = 1e6 - s}
  end).watts, nil, "a meter that goes backwards")
end)

t.test("counters of a run", function()
  local r = measured(10, 1, function(s)
    return {cycles = 1e9 * s + 1, instructions = 2e9 * s + 1,
      fp64 = s >= 0.6 and 0.9 or 0.1, others = s < 0.5 and 1 or 0}
  end)
  t.near(r.counters.cycles, 1e8, 1)
  t.near(r.counters.instructions, 2e8, 1)
  t.eq({r.counters.fp64, r.counters.llc_misses, r.others}, {0.9, nil, 1})
end)

t.test("too few readings, and none, are no value", function()
  t.eq(measured(10, 1, function(s)
    return (s < 0.01 or s > 1.285) and {mhz = 1000, throttle = {"x"}} or nil
  end), {n = 10, median = 0.1, wall = 0.1})
  t.eq(measured(10, 1, function() end), {n = 10, median = 0.1, wall = 0.1})
  t.eq(sensors.watch{}, nil)
end)

-- A comparison whose sides run at these clocks; `noise` of a reading.
local function turns(mhz_a, mhz_b, noise)
  local side
  local one, _, undo = world(1, function()
    return {mhz = (side == 1 and mhz_a or mhz_b) * (1 + noise
      * (math.random() - 0.5)), mhz_max = 1980, throttle = {"power limit"}}
  end)
  local _ <close> = undo
  local sample, other, r = one.sample, {}, {}
  for i, subject in ipairs{one, other} do
    function subject.sample(n)
      side = i
      return sample(n)
    end
  end
  local kept = one.sample
  do
    local watch <close> = sensors.watch(one, other)
    for i = 1, 40 do
      local subjects = i % 2 == 0 and {one, other} or {other, one}
      subjects[1].sample(0.03)
      subjects[2].sample(0.03)
    end
    watch:sides(r)
  end
  t.eq(one.sample, kept, "the subject is as before")
  return r
end

t.test("a comparison tells of different clocks", function()
  local r = turns(1290, 1400, 0.02)
  t.eq(r.clocks, "SLOWER")
  t.ok(sensors.side_words(r):find("^different clocks: a at 12%d%d MHz, b at "
    .. "1%d%d%d MHz of 1980, power limit$"), sensors.side_words(r))
  r = turns(1400, 1290, 0.02)
  t.eq(r.clocks, "FASTER")
  r = turns(1500, 1500, 0.002)
  t.eq(r.clocks, "SAME")
  t.ok(sensors.side_words(r):find("^both at 1%d%d%d MHz of 1980, power"))
  t.eq(sensors.side_words{}, nil)
end)

-- Runs Lua in another process whose device has NVML's sensors.
local function run(says, code)
  local path = t.tmp "sensors.lua"
  file.write(path, code)
  return t.capture(("env CLSHELL_PCI=0000:01:00.0 CLSHELL_SYSFS=/nowhere "
    .. "CLSHELL_NVML=%s/tests/sensorlayer.so NVML_SAYS='%s' "
    .. "CLSHELL_STORE=%s XDG_CACHE_HOME=%s XDG_DATA_HOME=%s %s --no-init %s "
    .. "2>&1 </dev/null"):format(t.build, says, t.tmp "runs.db", t.tmp "cache",
    t.tmp "data", t.exe, path))
end

-- Code that makes a launch of some ms, where pauses of the host do not matter.
local LAUNCH = [[
local sensors = require "clshell.measure.sensors"
sensors.busy = 0
local x = cl.buffer("float", 64, 1)
local k = cl.kernel "kernel void f(global float *x, int n) {
  float s = x[get_global_id(0)];
  for (int i = 0; i < n; i++) s = s * 0.999f + 0.5f;
  x[get_global_id(0)] = s; }"
local function launch() return k:range(64)(x, 20000) end
]]
LAUNCH = LAUNCH:gsub('cl.kernel "(.-)"\n', "cl.kernel [[%1]]\n")

t.test("a result says its clock, and exports and the store have it",
  function()
    local out = run("energy=!3 metric=!3", LAUNCH .. [[
local r = bench(launch, {effort = "quick", seconds = 10, busy = 0.5,
  roof = false, tag = "clocks"})
print(r)
print(r.mhz, r.watts, math.abs(r.joule / r.median - 697) < 1e-6)
print((require "clshell.export".text({r}, "csv")))
local store = require("clshell.store").open(os.getenv "CLSHELL_STORE")
local kept = store and store:get(1) or r -- no library for a store
print(kept.mhz, kept.throttle, kept.watts_limit, kept.others)
print(require "clshell.json".encode(r))]])
    t.ok(out:find("1290 MHz of 1980, power limit  697 W of 700  ", 1, true),
      out)
    t.ok(out:find("1 other process on the device", 1, true), out)
    t.ok(out:find("1290.0\t697.0\ttrue\n", 1, true), out)
    t.ok(out:find("1290.0\tpower limit\t700.0\t1\n", 1, true), out)
    local csv = {}
    local names, values = out:match "\n(name,[^\n]*)\n([^\n]*)\n"
    for name in names:gmatch "[^,]+" do
      csv[name], values = values:match "^([^,]*),?(.*)$"
    end
    t.eq({csv.clock_Hz, csv.clock_max_Hz, csv.power_W, csv.throttle,
      tonumber(csv.temperature_C)}, {"1290000000", "1980000000", "697",
      "power limit", 61})
    local r = json.decode(out:match "\n({[^\n]*})\n$")
    t.eq(fields.fault(r), nil)
    local base = {mhz = 1.29e9, watts = 697, joule = r.joule}
    for key, value in pairs(base) do
      t.eq(fields.base(r, key), value)
    end
  end)

t.test("the part of the roof at the clock of the run", function()
  local clock = t.tmp "clock"
  file.write(clock, "1980")
  local out = run("clock=@" .. clock, ([[
require("clshell.measure.peaks").limits.cpu.seconds = 0.1
local roofline = require "clshell.roofline"
local peaks = require "clshell.measure.peaks"
local peak = peaks.get "fma_float"
local f <close> = io.open("%s", "w")
f:write "990"
local r = {median = 1, flop = peak / 4, type = "float", mode = "hot",
  flags = {}, mhz = 990}
roofline.place(r)
print(r.roof, r.roof_clock)
peaks.raise("fma_float", peak * 1.01, cl.context(), nil)
roofline.place(r)
print(r.roof_clock)
peaks.forget(cl.context())
roofline.place(r)
print(r.roof_clock)
]]):format(clock))
  t.ok(out:find("0.25\t0.5\nnil\nnil\n", 1, true), out)
end)

t.test("tune by the energy of a run", function()
  local TUNE = [[
local best = tune{kernel = "kernel void f(global float *x) { float s = 1;
  for (int i = 0; i < N; i++) s = s * 0.999f + 0.5f; x[0] = s; }",
  params = {n = {800000, 50000}}, range = {1}, args = {x}, quiet = true,
  worker = false, objective = "joule", evaluations = 2,
  check = function() return true end}
for _, row in ipairs(best.rows) do
  print(row.point.n, row.status, row.value == (row.record or row).joule,
    row.reason)
end
print(best.params and best.params.n)
]]
  TUNE = TUNE:gsub('kernel = "(.-)",', "kernel = [[%1]],")
  local out = run("energy=!3 gpm=0", LAUNCH .. TUNE)
  t.ok(out:find("800000\tok\ttrue\tnil\n", 1, true), out)
  t.ok(out:find("\n50000\n$"), out)
  out = run("energy=!3 instant=!3 power=!3 gpm=0", LAUNCH .. TUNE)
  t.ok(out:find("objective \"joule\" needs the watts of the device", 1, true)
    and out:find("and no watts", 1, true), out)
end)

t.done()

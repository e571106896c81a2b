-- measure/calibrate.lua - calibrate: the worth of a device's timers: their
-- step, the cost of an empty launch, and their agreement with the host's clock
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local progress = require "clshell.base.progress"
local stats = require "clshell.measure.stats"

local M = require "clshell.base.lazy".table(...)

local LAUNCHES = 1000    -- launches of the empty kernel
local LONG = 0.02        -- seconds of the kernel that both clocks time
local CANARY = 0.002     -- seconds of the canary
local HIGH, LOW = 1.02, 0.8 -- event time / wall time that can be trusted
-- On a CPU other programs slow the canary as much as a lower clock does.
local SLOW_CPU = 1.25
-- The step of a wall time: Event:wait polls at intervals of 1 ms at most.
local WALL_TICK = 5e-4

local known = setmetatable({}, {__mode = "k"}) -- context -> calibration

--- calibrate.tick(durations) -> seconds or nil
--- The step of a timer, from durations in nanoseconds: the least difference
--- between two unequal durations. Where the driver rounds steps of broken
--- nanoseconds, differences of 1 or 2 ns are rounding, unless 3 to 8 ns occur
--- as well.
--- Example: print(calibrate.tick{100, 300, 500, 900}) --> 2e-07
function M.tick(durations)
  local sorted = {table.unpack(durations)}
  table.sort(sorted)
  local least, beyond
  for i = 2, #sorted do
    local gap = sorted[i] - sorted[i - 1]
    least = gap > 0 and math.min(least or gap, gap) or least
    beyond = gap > 2 and math.min(beyond or gap, gap) or beyond
  end
  if least and least <= 2 and beyond and beyond > 8 then
    least = beyond
  end
  if not least and sorted[1] and sorted[1] > 0 then
    least = sorted[1] -- all durations are equal: an upper bound of the step
  end
  return least and least * 1e-9
end

-- The notice of measurements that later sessions keep, or, with `again`, of
-- kept measurements that are tried again.
function M.notice(dev, again)
  if again then
    return progress.notice(("measuring peaks of %s again: the better figures "
      .. "are kept"):format(dev.name), "measuring again: ")
  end
  return progress.notice(("measuring %s, once: the figures are kept")
    :format(dev.name), "measuring once, for all sessions: ")
end

-- START and END of an event in ns, or nil and a reason.
function M.stamps(event)
  local ok, start, stop = interrupt.pcall(function()
    return event.start, event.stop
  end)
  if not ok then
    return nil, "events without time stamps"
  elseif start <= 0 or stop < start then
    return nil, ("START %d, END %d"):format(start, stop)
  end
  return start, stop
end

-- A kernel of kernels/peak.
function M.kernel(context, file, defines, name)
  local path = ("%s/kernels/peak/%s"):format(cl.home, file)
  return program.kernel(program.get(context, {path = path}, defines), name)
end

-- The steps of the timer and the cost of an empty launch.
local function measure_empty(context, c, notice)
  local launch = M.kernel(context, "empty.cl", {}):range({1}, {1})
  for _ = 1, 20 do
    launch(0):wait()
  end
  local durations, walls, bad = {}, {}, 0
  for i = 1, LAUNCHES do
    local begin = cl.now()
    local event = launch(0):wait()
    walls[i] = cl.now() - begin
    local start, stop = M.stamps(event)
    if start then
      durations[#durations + 1] = stop - start
    else
      bad = bad + 1
    end
    if i % 50 == 0 then
      notice:step "the cost of a launch"
    end
  end
  c.floor_wall = stats.median(walls)
  c.bad = bad / LAUNCHES
  if #durations > 0 then
    c.tick = M.tick(durations)
    c.floor = stats.median(durations) * 1e-9
  end
end

-- A function that launches so many multiply-adds in registers, with
-- work-groups for every compute unit; and its Buffer.
local function burner(context)
  local dev = context.device
  local cpu = dev.type == "cpu"
  local size = cpu and 1 or math.min(256, dev.max_work_group_size)
  local items = dev.compute_units * (cpu and 1 or 8) * size
  local width = cpu and 8 or 1
  local out = cl.buffer("float", items * width, nil, {context = context})
  local launch = M.kernel(context, "fma.cl", {REAL = "float",
    WIDTH = width}):range({items}, {size})
  return function(iterations)
    return launch(iterations, 0.5, 1.0, out)
  end, out
end

-- The least wall seconds of several calls f().
local function least(times, f)
  local t = math.huge
  for _ = 1, times do
    local begin = cl.now()
    f()
    t = math.min(t, cl.now() - begin)
  end
  return t
end

-- The iterations with which `run` takes `seconds`. The least time of several
-- launches counts, as a busy host may delay one.
local function iterations_for(run, seconds)
  local n = 16
  local function once()
    run(n):wait()
  end
  while n < 2^26 do
    if least(2, once) > seconds / 4 then
      local t = least(6, once)
      if t > seconds / 4 then
        return math.max(1, math.floor(n * seconds / t))
      end
    end
    n = n * 2
  end
  return n
end

-- The ratio of event time to wall time of f(), which returns its events in
-- order; nil without time stamps.
local function ratio(f)
  local begin = cl.now()
  local events = f()
  events[#events]:wait()
  local wall = cl.now() - begin
  local first = M.stamps(events[1])
  local last
  for _, event in ipairs(events) do
    local start, stop = M.stamps(event)
    if not start or last and start < last then
      return nil
    end
    last = stop
  end
  return (last - first) * 1e-9 / wall
end

-- The largest ratio of several calls f(times as long): only the wall time is
-- ever too long, and the share of a busy host shrinks as launches grow.
local function best_ratio(f)
  local best = 0
  for _, times in ipairs{1, 1, 1, 5, 10, 10} do
    if times > 1 and best >= LOW then
      break
    end
    local x = ratio(function()
      return f(times)
    end)
    if not x then
      return nil
    end
    best = math.max(best, x)
  end
  return best
end

-- Compares event timers with the host's clock: a launch, and several on end.
local function measure_ratios(context, c, notice)
  local run, out = burner(context)
  local long = iterations_for(function(n)
    notice:step "its timers against the clock"
    return run(n)
  end, LONG)
  c.iterations = math.max(1, math.floor(long * CANARY / LONG))
  c.ratio = best_ratio(function(times)
    notice:step "its timers against the clock"
    return {run(long * times)}
  end)
  c.ratio_batch = best_ratio(function(times)
    local events = {}
    notice:step "its timers across several launches"
    for i = 1, 8 do
      events[i] = run(math.max(1, long * times // 8))
    end
    return events
  end)
  c.canary = least(15, function()
    run(c.iterations):wait()
  end)
  out:close()
end

local function plausible(x)
  return x ~= nil and x >= LOW and x <= HIGH
end

-- Draws the conclusions from the numbers. Returns whether event timers are
-- trusted.
local function judge(c, dev)
  c.slow = dev.type == "cpu" and SLOW_CPU or nil
  c.event = plausible(c.ratio) and c.bad < 0.02 and c.floor ~= nil
  c.batch = c.event and plausible(c.ratio_batch)
  c.wall_tick = WALL_TICK
  return c.batch
end

local NAMES = {"floor", "floor_wall", "tick", "bad", "ratio", "ratio_batch",
  "canary", "iterations"}

local function from_cache(dev)
  local values, reason = cachefile.load(dev)
  local c = {}
  for _, name in ipairs(NAMES) do
    c[name] = values and values[name]
  end
  c.bad, c.iterations = c.bad or 1, math.tointeger(c.iterations)
  return c.floor_wall and c.canary and c.iterations and c or nil, reason
end

local printing = {
  __tostring = function(c)
    local words = {}
    if c.floor then
      words[1] = ("timer step %.4g ns, empty kernel %.4g us"):format(
        (c.tick or 0) * 1e9, c.floor * 1e6)
    end
    words[#words + 1] = ("launch to end %.4g us"):format(c.floor_wall * 1e6)
    words[#words + 1] = c.event and ("event time / wall time %.3f"):format(
      c.ratio) or "event timer not trusted: times are wall times"
    words[#words + 1] = c.event and not c.batch
      and "not trusted across launches" or nil
    words[#words + 1] = c.note
    return table.concat(words, "; ")
  end,
}

--- calibrate([opts]) -> table
--- The worth of the timers of the session's device: tick (the measured step of
--- event times in seconds, not the advertised step), floor and floor_wall (an
--- empty kernel from START to END, and from launch to the end on the host's
--- clock), ratio (event time / wall time of a kernel of 20 ms), event and
--- batch (whether event timers are trusted for one launch and from the first
--- START to the last END of several), and canary (seconds of a small fixed
--- kernel, which shows a lower clock later). It takes about a second, once for
--- each device and driver: the numbers of trusted timers are kept in
--- $XDG_CACHE_HOME/clshell.
--- Options:
---   again    false      true: measures anew
---   context  session's  the Context of another device
--- Example:
--- local c = calibrate()
--- print(c.tick, c.floor) -- seconds: the timer's step, an empty kernel
function M.device(opts)
  options.check(opts, "calibrate")
  local context = opts and opts.context or cl.context()
  local again = opts and opts.again
  if known[context] and not again then
    return known[context]
  end
  local dev, c, note = context.device, nil, nil
  if not again then
    c, note = from_cache(dev)
  end
  if not (c and judge(c, dev)) then
    c = {}
    local notice <close> = M.notice(dev)
    measure_empty(context, c, notice)
    measure_ratios(context, c, notice)
    if judge(c, dev) then -- doubts may come from a busy host
      local values = {}
      for _, name in ipairs(NAMES) do
        values[name] = c[name]
      end
      local ok, reason = cachefile.save(dev, values)
      note = note or not ok and reason or nil
    end
  end
  c.note = note
  known[context] = setmetatable(c, printing)
  return c
end

--- calibrate.take(c)
--- Takes the calibration of the session's device that another process made.
--- Example: calibrate.take(calibrate())
function M.take(c)
  known[cl.context()] = setmetatable(c, printing)
end

-- The canary of a device: a function that returns its seconds, the least of
-- four launches, as a busy host can only delay a launch.
function M.canary(context, c)
  local run
  return function()
    if not run then
      run = burner(context)
      run(c.iterations):wait()
    end
    return least(4, function()
      run(c.iterations):wait()
    end)
  end
end

return setmetatable(M, {__call = function(_, ...)
  return M.device(...)
end})

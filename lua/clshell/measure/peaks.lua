-- measure/peaks.lua - peaks: the measured peaks of a device, which its kernels
-- can reach, unlike the figures of a data sheet
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local options = require "clshell.base.options"
local peak_kernels = require "clshell.measure.peak_kernels"
local protocol = require "clshell.measure.protocol"
local quantity = require "clshell.base.quantity"
local sensors = require "clshell.measure.sensors"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = require "clshell.base.lazy".table(...)

-- The length of the measurement of a way, see protocol.efforts: samples of a
-- GPU differ less.
M.limits = {
  cpu = {warmup = 0.03, samples = 10, busy = 0.05, seconds = 0.25},
  gpu = {warmup = 0.03, samples = 10, busy = 0.03, seconds = 0.15},
}

local SCREEN = 3  -- launches of each way, before the best are measured
local FINAL = 3   -- ways that are measured, unless they are
local BEHIND = {cpu = 0, gpu = 0.97} -- slower than the best by this factor
local TRIES = 6   -- sessions that try a peak again
local PAUSE = 600 -- seconds between two tries

-- How far a result of another kernel may raise a peak above the fastest launch
-- of the peak's own kernels: a unit does one multiply-add at a time, whatever
-- kernel feeds it. Other programs slow a CPU device meanwhile.
local ABOVE, ABOVE_CPU = 1.25, 2

-- In the order of measurements: what builds for long comes late, as the builds
-- go on meanwhile.
M.names = {"fma_float", "fma_double", "fma_half", "fma_char", "tensor_double",
  "copy", "read", "write", "cache", "local", "tensor_half", "tensor_char",
  "tensor_tf32", "upload", "download"}

-- What is kept of a peak: the rate of the best way (0 where the device lacks
-- the type), the rate of the fastest launch, that of its own kernels, the
-- lowest rate, the time of the last try, the number of tries, and the index of
-- the best way. mhz, where it is known: the clock at that rate.
local KEPT = {"peak", "best", "own", "low", "time", "tries", "way"}
local NONE = {peak = 0, best = 0, own = 0, low = math.huge, tries = 0}

local known = setmetatable({}, {__mode = "k"}) -- context -> peaks

local printing

-- Takes the figures of a peak into the table of a context.
local function take(p, name, found)
  p[name] = found.peak > 0 and found.peak or nil
  p.best[name], p.tries[name] = found.best, found
end

-- The known peaks of a context: of this session, or from the file of the
-- device.
local function table_of(context)
  local p = known[context]
  if not p then
    p = setmetatable({device = context.device.name, best = {}, tries = {}},
      printing)
    local kept, note = cachefile.load(context.device)
    p.note, known[context] = note, p
    for _, name in ipairs(kept and M.names or {}) do
      local found, whole = {}, true
      for _, key in ipairs(KEPT) do
        found[key] = kept[key .. "." .. name]
        whole = whole and found[key]
      end
      found.mhz = kept["mhz." .. name] ~= 0 and kept["mhz." .. name] or nil
      if whole then
        take(p, name, found)
      end
    end
  end
  return p
end

-- Objects that are closed at the end of a block.
local own_meta = {__close = function(objects)
  for _, object in ipairs(objects) do
    object:close()
  end
end}

-- The Buffer whose overwriting leaves nothing of the operands in any cache, as
-- bench has it for families that memory limits; nil where the operands exceed
-- the caches by themselves.
local function scratch_for(context, footprint)
  local dev = context.device
  if not footprint or timer.plan_cold(dev, footprint) == "none" then
    return nil
  end
  local _, bytes = timer.plan_cold(dev)
  return cl.buffer("uint", bytes // 4, nil, {context = context})
end

-- A launch as a subject of the protocol.
local function subject_of(context, launch, scratch)
  local subject = timer.new(context, {launch})
  if scratch then
    timer.flush(subject, scratch)
  end
  return subject
end

-- The rough seconds of a launch: the least time of several launches.
local function screen(subject)
  local least = math.huge
  for i = 0, SCREEN do
    local s = protocol.take(subject, 1)
    least = i == 0 and least or math.min(least, s.event or s.wall)
  end
  return least
end

-- The score of samples: their median; on a CPU device, which other programs
-- share, their lower quartile.
local function score(context, r)
  return context.device.type == "cpu" and r.q1 or r.median
end

-- Tries the ways to a peak, or the way of one index. Returns the best rate by
-- the score of its samples, the rate of the fastest launch, the index of the
-- way, 0 where there is no way, and the clock meanwhile, nil: not known.
local function find_best(context, name, only, step)
  local own <close> = setmetatable({}, own_meta)
  local list, make, footprint = peak_kernels.ways[name](context, own)
  local scratch <close> = scratch_for(context, footprint)
  local ranks, worth = {}, peak_kernels.worth(context, name, #list)
  only = list[only] and only or #worth == 1 and worth[1] or nil
  for i, index in ipairs(only and {} or worth) do
    step(("way %d of %d"):format(i, #worth))
    local launch, amount = make(list[index])
    ranks[i] = {index = index, rate = amount / screen(subject_of(context,
      launch, scratch))}
  end
  table.sort(ranks, function(a, b)
    return a.rate > b.rate
  end)
  ranks[1] = ranks[1] or only and {index = only, rate = 0}
  local rate, most, way, mhz = 0, ranks[1] and ranks[1].rate or 0, 0, nil
  local kind = context.device.type == "cpu" and "cpu" or "gpu"
  for i = 1, math.min(FINAL, #ranks) do
    if ranks[i].rate < BEHIND[kind] * ranks[1].rate then
      break
    end
    step("the best ways")
    local launch, amount = make(list[ranks[i].index])
    local r, subject = {}, subject_of(context, launch, scratch)
    local watch <close> = sensors.watch(subject, nil, 0.003)
    protocol.measure(subject, r, M.limits[kind])
    if watch then
      watch:describe(r)
    end
    most = math.max(most, amount / r.min)
    if amount / score(context, r) > rate then
      rate, way, mhz = amount / score(context, r), ranks[i].index, r.mhz
    end
  end
  return rate, most, way, mhz
end

-- Keeps the figures of a peak, in the session and in the file.
local function keep(name, context, found)
  local p, values = table_of(context), {["mhz." .. name] = 0}
  take(p, name, found)
  for key, value in pairs(found) do
    values[key .. "." .. name] = value
  end
  local ok, reason = cachefile.save(context.device, values)
  p.note = not ok and reason or p.note
end

-- Measures one peak, by a single way if `only` is given. The better figures
-- stay: a busy host only ever lowers a rate.
local function measure(name, context, only)
  local old = table_of(context).tries[name]
  local notice <close> = calibrate.notice(context.device, old)
  old = old or NONE
  local rate, best, way, mhz = find_best(context, name, only, function(words)
    notice:step(("peak of %s, %s"):format(name, words))
  end)
  keep(name, context, {peak = math.max(rate, old.peak),
    best = math.max(best, old.best), own = math.max(best, old.own),
    low = math.min(rate, old.low), time = os.time(), tries = old.tries + 1,
    way = old.peak > rate and old.way or way,
    mhz = old.peak > rate and old.mhz or old.peak <= rate and mhz or nil})
end

-- Whether it is time to try a peak of an earlier session again.
local function due(found)
  return found.way > 0 and found.tries < TRIES
    and math.abs(os.time() - found.time) >= PAUSE
end

--- peaks.get(name [, context [, again]]) -> rate, best
--- One peak of a device, measured if it is unknown (again: in any case): the
--- rate of the best way, which is the roof, and the rate of the fastest
--- launch, the limit of possible rates. nil where the device lacks the type.
--- Names: see peaks.
--- Example: print(peaks.get "copy" / 1e9) -- GB/s
function M.get(name, context, again)
  context = context or cl.context()
  if not peak_kernels.ways[name] then
    cl.error("peaks: " .. text.unknown("peak", name, M.names))
  end
  local p = table_of(context)
  if again then
    p[name], p.best[name], p.tries[name] = nil, nil, nil
  end
  local found = p.tries[name]
  if not found or due(found) then
    measure(name, context, found and found.way)
  end
  return p[name], p[name] and p.best[name]
end

M.better = measure -- once more: the better figures stay

-- The highest rate that a result may give a peak, nil where it is unknown.
function M.ceiling(name, context)
  local found = table_of(context).tries[name]
  if found and found.peak > 0 then
    return found.own * (context.device.type == "cpu" and ABOVE_CPU or ABOVE)
  end
end

-- Raises a peak to the rate of a verified result, at that clock: the kernels
-- of the ladders are ways to a peak, too. A rate above the ceiling changes
-- nothing. Returns whether the rate is within the ceiling.
function M.raise(name, rate, context, mhz)
  local old, most = table_of(context).tries[name], M.ceiling(name, context)
  if most and rate > old.peak and rate <= most then
    keep(name, context, {peak = rate, best = math.max(rate, old.best),
      own = old.own, low = old.low, time = os.time(), tries = old.tries + 1,
      way = old.way, mhz = mhz})
  end
  return not most or rate <= most
end

-- Makes a context read its kept peaks again, as a later session does.
function M.forget(context)
  known[context] = nil
end

-- The tries of all peaks of a context, by peaks' names; see peaks().tries.
function M.tries(context)
  return table_of(context).tries
end

local AGES = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}

-- Words on the tries of a peak: "3 h ago, 4 tries, 12 % apart"; nil for
-- unknown tries.
function M.words(tries, rate)
  if not (tries and rate) then
    return nil
  end
  local age, i = math.max(0, os.time() - tries.time), 1
  while age < AGES[i][1] and AGES[i + 1] do
    i = i + 1
  end
  return ("%d %s ago, %s"):format(age // AGES[i][1], AGES[i][2],
    tries.tries == 1 and "1 try" or ("%d tries, %.0f %% apart"):format(
      tries.tries, 100 * (1 - tries.low / rate)))
end

local LINES = {
  {"fma_float", "float"}, {"fma_double", "double"}, {"fma_half", "half"},
  {"fma_char", "char"}, {"tensor_half", "tensor, half"},
  {"tensor_tf32", "tensor, tf32"}, {"tensor_double", "tensor, double"},
  {"tensor_char", "tensor, char"},
  {"copy", "copy"}, {"read", "read"}, {"write", "write"},
  {"cache", "cached read"}, {"local", "local read"},
  {"upload", "to the device"}, {"download", "from the device"},
  {"latency", "launch to end"},
}

printing = {
  __tostring = function(p)
    local lines = {p.device}
    for _, line in ipairs(LINES) do
      local name, title = table.unpack(line)
      local scale, unit = 1e9, name:find "_char$" and "GOPS"
        or (name:find "^fma" or name:find "^tensor") and "GFLOPS" or "GB/s"
      if name == "latency" then
        scale, unit = 1e-6, "us"
      end
      if p[name] then
        lines[#lines + 1] = ("  %-16s %s %-6s  %s"):format(title, text.fill(
          quantity.number(p[name] / scale), 6, true), unit,
          M.words(p.tries[name], p[name]) or ""):gsub(" +$", "")
      end
    end
    lines[#lines + 1] = p.note
    return table.concat(lines, "\n")
  end,
}

--- peaks([opts]) -> table
--- The measured peaks of the session's device, in FLOPS, B/s and seconds:
--- fma_float, fma_double, fma_half (multiply-adds in registers count 2),
--- fma_char (dot products of four char with sums in int, whose operations
--- count alike), tensor_half, tensor_tf32, tensor_double, tensor_char (the
--- tensor cores of NVIDIA GPUs, by the type of the operands, with mma.sync, on
--- Hopper but for double also with wgmma, whichever is faster), copy (read
--- plus written),
--- read and write in global memory, cache (reads of data that stay in a
--- cache: the ceiling of runs on hot operands), local (reads of local
--- memory), upload and download (between host and device), latency (an empty
--- kernel from launch to end). nil: the device lacks the type. Each peak is
--- measured under the protocol of bench, with random data and vectors of
--- several widths, the peaks of global memory with cold caches, as bench has
--- them for families that memory limits. The best way counts, by the median
--- (on a CPU device, whose rates other programs lower, by their lower
--- quartile). That takes some seconds, once for each device and driver: the
--- numbers are kept in $XDG_CACHE_HOME/clshell. Five later sessions try each
--- peak again; so does a result of bench above a peak. The better figures
--- stay. A verified result raises the peak of the unit it computes with, up
--- to 1.25 times the rate of the peak's own kernels (2 times on a CPU
--- device). `best` has the rates of the fastest launches,
--- `tries` the number of tries of each peak, the lowest rate, and the time of
--- the last try (seconds since 1970). Prints as text.
--- Options:
---   again    false      true: forgets the kept peaks and measures anew
---   context  session's  the Context of another device
--- Example:
--- local p = peaks()
--- print(p.fma_float / 1e9, p.copy / 1e9) -- GFLOPS and GB/s
function M.peaks(opts)
  options.check(opts, "peaks")
  local context = opts and opts.context or cl.context()
  local again = opts and opts.again
  local p, cpu = table_of(context), context.device.type == "cpu"
  for _, name in ipairs(M.names) do
    if not cpu and (again or not p.tries[name]) then
      peak_kernels.begin(context, name) -- a CPU would measure its builds
    end
  end
  for _, name in ipairs(M.names) do
    M.get(name, context, again)
  end
  p.latency = calibrate.device{context = context, again = again}.floor_wall
  return p
end

return require "clshell.base.lazy".callable(M, "peaks")

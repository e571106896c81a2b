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
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = require "clshell.base.lazy".table(...)

local LIMITS = {warmup = 0.03, samples = 10, busy = 0.05, seconds = 0.25}
local SCREEN = 3  -- launches of each way, before the best are measured
local FINAL = 3   -- ways that are measured
local TRIES = 6   -- sessions that try a peak again
local PAUSE = 600 -- seconds between two tries

M.names = {"fma_float", "fma_double", "fma_half", "copy", "read", "write",
  "cache", "local", "upload", "download"}

local KEPT = {"low", "time", "tries", "way"} -- of `tries`, besides rates

local known = setmetatable({}, {__mode = "k"}) -- context -> peaks

local printing

-- The known peaks of a context: of this session, or from the file of the
-- device.
local function table_of(context)
  local p = known[context]
  if not p then
    p = setmetatable({device = context.device.name, best = {}, tries = {}},
      printing)
    local kept, note = cachefile.load(context.device)
    p.note = note
    for _, name in ipairs(M.names) do
      local value = kept and kept["peak." .. name]
      local best = kept and kept["best." .. name]
      if value and best then
        local tries = {}
        for _, key in ipairs(KEPT) do
          tries[key] = kept[key .. "." .. name]
        end
        p[name], p.best[name] = value > 0 and value or nil, best
        p.tries[name] = tries.time and tries.tries and tries.low and tries
      end
    end
    known[context] = p
  end
  return p
end

local function close(objects)
  for _, object in ipairs(objects or {}) do
    object:close()
  end
end

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
  for i = 1, SCREEN + 1 do
    if subject.before then
      subject.before()
    end
    local s = subject.sample(1)
    if i > 1 then
      least = math.min(least, s.event or s.wall)
    end
  end
  return least
end

-- Ways by their rough rates, the best first.
local function ranked(context, list, make, scratch, step)
  local ranks = {}
  for i, way in ipairs(list) do
    step(("way %d of %d"):format(i, #list))
    local launch, amount, own = make(way)
    ranks[i] = {index = i, rate = amount / screen(subject_of(context, launch,
      scratch))}
    close(own)
  end
  table.sort(ranks, function(a, b)
    return a.rate > b.rate
  end)
  return ranks
end

-- The score of samples: their median; on a CPU device, which other programs
-- share, their lower quartile.
local function score(context, r)
  return context.device.type == "cpu" and r.q1 or r.median
end

-- Tries the ways to a peak, or the way of one index. Returns the best rate by
-- the score of its samples, the rate of the fastest launch, and the index of
-- the way; 0 where there is no way.
local function find_best(context, name, only, step)
  local list, make, shared, footprint = peak_kernels.ways[name](context)
  local scratch <close> = scratch_for(context, footprint)
  local ranks = list[only] and {{index = only, rate = 0}}
    or ranked(context, list, make, scratch, step)
  local rate, most, way = 0, ranks[1] and ranks[1].rate or 0, 0
  for i = 1, math.min(FINAL, #ranks) do
    step("the best ways")
    local launch, amount, own = make(list[ranks[i].index])
    local r = {}
    protocol.measure(subject_of(context, launch, scratch), r, LIMITS)
    close(own)
    most = math.max(most, amount / r.min)
    if amount / score(context, r) > rate then
      rate, way = amount / score(context, r), ranks[i].index
    end
  end
  close(shared)
  return rate, most, way
end

-- Keeps a peak, in the session and in the file.
local function keep(context, p, name, rate, best, tries)
  p[name], p.best[name] = rate > 0 and rate or nil, best
  p.tries[name] = tries
  local values = {["peak." .. name] = rate, ["best." .. name] = best}
  for key, value in pairs(tries) do
    values[key .. "." .. name] = value
  end
  local ok, reason = cachefile.save(context.device, values)
  p.note = not ok and reason or p.note
end

-- Measures one peak, by a single way if `only` is given. The better figures
-- stay: a busy host only ever lowers a rate.
local function measure(context, p, name, only)
  local notice <close> = calibrate.notice(context.device, p.best[name])
  local rate, best, way = find_best(context, name, only, function(words)
    notice:step(("peak of %s, %s"):format(name, words))
  end)
  local before, old = p[name], p.tries[name] or {}
  if before and before > rate then
    way = old.way or way
  end
  keep(context, p, name, math.max(rate, before or 0), math.max(best,
    p.best[name] or 0), {low = math.min(rate, old.low or rate),
    time = os.time(), tries = (old.tries or 0) + 1, way = way})
end

-- Whether it is time to try a peak of an earlier session again.
local function due(tries)
  return tries and tries.way and tries.way > 0 and tries.tries < TRIES
    and math.abs(os.time() - tries.time) >= PAUSE
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
  if p.best[name] == nil then
    measure(context, p, name)
  elseif p[name] and due(p.tries[name]) then
    measure(context, p, name, p.tries[name].way)
  end
  return p[name], p[name] and p.best[name]
end

-- Measures a peak once more. The better figures stay.
function M.better(name, context)
  measure(context, table_of(context), name)
end

-- Raises a peak to the rate of a verified result: the kernels of the ladders
-- are ways to a peak, too.
function M.raise(name, rate, context)
  local p = table_of(context)
  if p[name] and rate > p[name] then
    local tries = p.tries[name] or {}
    keep(context, p, name, rate, math.max(rate, p.best[name]), {
      low = tries.low or p[name], time = os.time(),
      tries = (tries.tries or 0) + 1, way = tries.way})
  end
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
  local age = math.max(0, os.time() - tries.time)
  local unit = AGES[#AGES]
  for i = #AGES, 1, -1 do
    unit = age >= AGES[i][1] and AGES[i] or unit
  end
  return ("%d %s ago, %s"):format(age // unit[1], unit[2],
    tries.tries == 1 and "1 try" or ("%d tries, %.0f %% apart"):format(
      tries.tries, 100 * (1 - tries.low / rate)))
end

local LINES = {
  {"fma_float", "float", 1e9, "GFLOPS"},
  {"fma_double", "double", 1e9, "GFLOPS"},
  {"fma_half", "half", 1e9, "GFLOPS"}, {"copy", "copy", 1e9, "GB/s"},
  {"read", "read", 1e9, "GB/s"}, {"write", "write", 1e9, "GB/s"},
  {"cache", "cached read", 1e9, "GB/s"},
  {"local", "local read", 1e9, "GB/s"},
  {"upload", "to the device", 1e9, "GB/s"},
  {"download", "from the device", 1e9, "GB/s"},
  {"latency", "launch to end", 1e-6, "us"},
}

printing = {
  __tostring = function(p)
    local lines = {p.device}
    for _, line in ipairs(LINES) do
      local name, title, scale, unit = table.unpack(line)
      local words = M.words(p.tries[name], p[name])
      if p[name] then
        lines[#lines + 1] = ("  %-16s %s %-6s  %s"):format(title, text.fill(
          quantity.number(p[name] / scale), 6, true), unit, words or "")
          :gsub(" +$", "")
      end
    end
    lines[#lines + 1] = p.note
    return table.concat(lines, "\n")
  end,
}

--- peaks([opts]) -> table
--- The measured peaks of the session's device, in FLOP/s, B/s and seconds:
--- fma_float, fma_double, fma_half (multiply-adds in registers count 2), copy
--- (read plus written), read and write in global memory, cache (reads of data
--- that stay in a cache: the ceiling of runs on hot operands), local (reads of
--- local memory), upload and download (between host and device), latency (an
--- empty kernel from launch to end). nil: the device lacks the type. Each peak
--- is measured under the protocol of bench, with random data and vectors of 1
--- to 16 elements, those of global memory with cold caches, as bench has them
--- for families that memory limits. The best way counts, by the median (on
--- a CPU device, whose rates other programs lower, by their lower quartile).
--- That takes some seconds, once for each device and driver: the numbers are
--- kept in $XDG_CACHE_HOME/clshell. Five later sessions try each peak again;
--- so does a result of bench above a peak, and a verified one raises it: the
--- better figures stay. `best` has the rates of the fastest launches, `tries`
--- the number of tries of each peak, the lowest rate, and the time (seconds
--- since 1970) of the last. Prints as text.
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
  local p = table_of(context)
  for _, name in ipairs(M.names) do
    M.get(name, context, again)
  end
  p.latency = calibrate.device{context = context, again = again}.floor_wall
  return p
end

return setmetatable(M, {__call = function(_, ...)
  return M.peaks(...)
end})

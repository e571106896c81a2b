-- measure/roofline.lua - roofline: the share of a result in the device's reach
-- at its arithmetic intensity, and the detection of impossible results
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local families = require "clshell.ladder.families"
local peaks = require "clshell.measure.peaks"
local protocol = require "clshell.measure.protocol"
local quantity = require "clshell.base.quantity"
local record = require "clshell.measure.record"
local text = require "clshell.base.text"
local units = require "clshell.ladder.unit"

local M = require "clshell.base.lazy".table(...)

local IMPOSSIBLE = 1.05 -- times the fastest measured launch
local MEMORY = {"copy", "read", "write"}

local again = {}   -- peaks that doubt() measured again, and when
local AGAIN = 60   -- seconds between two doubts of a peak

-- All results of the session.
function M.recent()
  return record.recent
end

-- The highest of several peaks: the median's rate, and the fastest launch's.
local function highest(names, context)
  local median, best = 0, 0
  for _, name in ipairs(names) do
    local rate, top = peaks.get(name, context)
    median, best = math.max(median, rate or 0), math.max(best, top or 0)
  end
  return median, best
end

-- Whether a result's operands surely came from memory, and not from a cache
-- that a flush could not fill.
local function sure(r)
  return r.mode == "cold" and not (r.cache or ""):find(" of ", 1, true)
end

-- The names of the memory peaks of which the highest bounds a result: the peak
-- of its family, if the family names it, or all.
local function memory_of(r)
  local family = r.family and families.get(r.family)
  local name = family and family.spec and family.spec.memory
  return name and {name} or MEMORY
end

-- The names of the peaks of which the highest bounds the memory traffic of a
-- result; top(names) is the rate. The cache bounds operands that may lie in
-- it: hot operands, and cold operands that moved faster than memory moves.
function M.memory(r, top)
  local names = memory_of(r)
  if sure(r) or r.mode == "cold" and r.bytes / r.median
      <= IMPOSSIBLE * top(names) then
    return names
  end
  return {"cache", table.unpack(names)}
end

-- The names of the peaks that bound a result: the compute peaks (nil:
-- unknown), and the memory peaks; and the FLOP of its unit.
local function peaks_of(r, context)
  local memory
  local name, flop = units.peak(r)
  local compute = name and {name}
  if r.bytes and r.bytes > 0 then
    memory = M.memory(r, function(names)
      return (highest(names, context))
    end)
  end
  return compute, memory, flop
end

-- The least seconds for the work by both roofs; the name of the lower roof;
-- and the least seconds by the fastest launches.
local function least_times(r, context)
  local function least(names, amount)
    local rate, best = highest(names or {}, context)
    if rate > 0 then
      return amount / rate, amount / best
    end
    return 0, 0
  end
  local compute, memory, flop = peaks_of(r, context)
  local by_compute, limit = least(compute, flop)
  local by_memory, other = least(memory, r.bytes)
  return math.max(by_compute, by_memory),
    by_memory > by_compute and "memory" or "compute", math.max(limit, other)
end

-- Measures the known peaks below 1/1.05 of this rate once more: the device may
-- have been busy before. The better figures stay.
local function check(names, rate, context)
  local top = highest(names, context)
  for _, name in ipairs(top > 0 and rate > IMPOSSIBLE * top and names or {}) do
    if cl.now() >= (again[name] or -math.huge) + AGAIN then
      peaks.better(name, context)
      again[name] = cl.now()
    end
  end
end

-- Doubts the peaks that a result exceeds. The peaks of memory come first: they
-- tell whether the operands of a cold result came from a cache.
local function doubt(r, context)
  if r.mode == "cold" and r.bytes then
    check(memory_of(r), r.bytes / r.median, context)
  end
  local compute, memory, flop = peaks_of(r, context)
  check(compute or {}, compute and flop / r.median, context)
  check(memory or {}, memory and r.bytes / r.median, context)
end

-- Raises the peaks below a verified result of a kernel of clshell's own, whose
-- counts of FLOP and bytes are right. Returns the name of a peak that cannot
-- be so high.
local function raise(r, context)
  local compute, memory, flop = peaks_of(r, context)
  local over
  local function up(name, rate)
    over = not peaks.raise(name, rate, context, r.mhz) and name or over
  end
  if compute then
    up(compute[1], flop / r.median)
  end
  if memory and r.bytes / r.median > highest(memory, context) then
    up(memory[2] and memory[1] ~= "cache" and "read" or memory[1],
      r.bytes / r.median)
  end
  return over
end

-- Whether the peak of a result's unit is known.
local function peaks_known(r, context)
  local name = units.peak(r)
  return not r.flop or name ~= nil and peaks.get(name, context) ~= nil
end

--- roofline.place(r [, context [, verified]]) -> fraction, bound
--- Places a result, a table with median (seconds), flop and bytes, type and
--- mode, on the measured roofline: r.ai, r.roof (the share of the device's
--- reach: the time that its arithmetic or its memory would need, whichever is
--- longer, over the median) and r.bound, "memory" or "compute", the longer of
--- the two. The memory of a result on hot operands is the cache. A result
--- above 105 % of a peak has the peak measured again; a result that is
--- `verified` (with counts of FLOP and bytes that are right) and still above
--- the peak raises it, as far as its unit allows (see peaks); other results
--- above 105 % of the fastest known launches get the flag "IMPOSSIBLE?": dead
--- code, a wrong count of FLOP, or a timer that stopped too early. nil without
--- flop and bytes, and where no kernel measures the peak of the result's unit.
--- (Williams, Waterman and Patterson, Communications of the ACM 52, 2009.)
--- Example:
--- local fraction, bound = roofline.place{median = 1e-3, flop = 1e4,
---   bytes = 1e6, type = "float", mode = "cold", flags = {}}
--- print(bound) --> memory
function M.place(r, context, verified)
  argument.check("roofline.place", "r", r, "table")
  if context ~= nil then
    argument.check("roofline.place", "context", context, "Context")
  end
  local t = r.median
  if not t or t <= 0 or not (r.flop or r.bytes) then
    return nil
  end
  context = context or cl.context()
  if r.flop and r.bytes and r.flop > 0 and r.bytes > 0 then
    r.ai = r.flop / r.bytes
  end
  doubt(r, context)
  local least, bound, limit = least_times(r, context)
  local over
  if least > t and verified then
    over = raise(r, context)
    least, bound, limit = least_times(r, context)
  end
  if least <= 0 or r.unit and not peaks_known(r, context) then
    return nil -- no kernel measures the peak of this unit here
  end
  r.roof, r.bound = least / t, bound
  local mhz = bound == "compute" and peaks.tries(context)[units.peak(r)].mhz
  r.roof_clock = mhz and r.mhz and r.roof * mhz / r.mhz or nil
  if limit > IMPOSSIBLE * t then
    r.flags = r.flags or {}
    protocol.flag(r, "IMPOSSIBLE?")
    record.note(r, ("IMPOSSIBLE? %.0f %% of the best that this device has "
      .. "shown (%s)%s"):format(100 * limit / t, bound, over and (", more "
      .. "than %s can do: not taken as its peak"):format(over) or ""))
  end
  return r.roof, r.bound
end

-- Doubts the compute peak below the result of a host routine, which runs on
-- the processor of a CPU device, and says so where the peak stays.
function M.host(r)
  local context = r.median and r.flop and cl.context()
  local name = units.peak(r)
  if not context or context.device.type ~= "cpu" or not name then
    return
  end
  local rate = r.flop / r.median
  local function above()
    local top = peaks.get(name, context)
    return top and rate > IMPOSSIBLE * top and rate / top
  end
  if above() then
    doubt({median = r.median, flop = r.flop, type = r.type}, context)
  end
  local share = above()
  if share then
    record.note(r, ("%.0f %% of the FMA peak that kernels of %s reach")
      :format(100 * share, context.device.name))
  end
end

-- The name of a result with its shape.
local function label(r)
  return r.title and r.name .. " " .. r.title or r.name or "the result"
end

-- Why a result has no place on the roofline, and the remedy.
local function reason(r)
  return not (r.median and r.median > 0)
    and "it has no time; pass a result of bench"
    or not (r.flop or r.bytes) and "neither its FLOP nor its bytes are known; "
    .. "give one run's, as in bench(f, {flop = 2e9, bytes = 8e6})"
    or ("no peak of %s is known here; peaks() lists the known ones"):format(
    r.unit or r.type or "this work")
end

-- The place of a result in a sentence.
local function sentence(r)
  local work = quantity.work(r.type)
  local rate = r.bound == "compute" and r.gflops
    and ("%.4g G%sS"):format(r.gflops, work)
    or r.gbs and ("%.4g GB/s"):format(r.gbs)
  return ("%s reaches %.3g %% of what this device can %s%s%s."):format(
    label(r), 100 * r.roof, r.bound == "compute" and "compute"
    or r.mode == "cold" and "move from and to memory"
    or "move through its caches", rate and ": " .. rate or "",
    r.ai and (" at %.3g %s/B"):format(r.ai, work) or "")
end

local function number(x)
  return quantity.number(x)
end

local COLUMNS = {{key = "name", cut = 20},
  {key = "title", title = "shape", cut = 20, once = "%s"},
  {key = "gflops", title = "GFLOPS", format = number},
  {key = "gbs", title = "GB/s", format = number, drop = 1},
  {key = "ai", title = "FLOP/B", format = number, drop = 2},
  {key = function(r) return 100 * r.roof end, title = "% roof",
    format = "%.1f"},
  {key = "bound", title = "roof"},
  {key = function(r)
    return r.note and r.note:match "IMPOSSIBLE%?[^;]*"
  end, title = "note", wrap = true}}

local listing = {
  __tostring = function(list)
    return #list > 0 and require "clshell.base.text_table".format(list,
      COLUMNS) or "no result with flop or bytes in this session"
  end,
}

--- roofline([r]) -> fraction, bound
--- The place of a result on the measured roofline (see roofline.place), which
--- the prompt shows as a sentence; nil and the reason for a result without
--- time, flop and bytes; without an argument, a list of all placed
--- results of the session, which prints as a table. plot.roofline draws them.
--- Example:
--- local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
--- print(roofline(r)) -- part of what the device can do, and what bounds it
function M.roofline(r)
  if r ~= nil then
    argument.check("roofline", "r", r, "table")
    local roof, bound = r.roof, r.bound
    if not roof then
      roof, bound = M.place(r)
    end
    if roof == nil then
      local why = ("%s has no place on the roofline: %s."):format(label(r),
        reason(r))
      return text.say(why, nil, why)
    end
    return text.say(sentence(r), roof, bound)
  end
  local list = {}
  for _, result in ipairs(record.recent) do
    if result.roof then
      list[#list + 1] = result
    end
  end
  return setmetatable(list, listing)
end

return require "clshell.base.lazy".callable(M, "roofline")

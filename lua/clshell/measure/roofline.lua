-- measure/roofline.lua - roofline: the share of a result in the device's reach
-- at its arithmetic intensity, and the detection of impossible results
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local peaks = require "clshell.measure.peaks"
local protocol = require "clshell.measure.protocol"

local M = require "clshell.base.lazy".table(...)

local IMPOSSIBLE = 1.05 -- of the fastest launches that were measured
local COMPUTE = {float = true, double = true, half = true}
local MEMORY = {"copy", "read", "write"}

local results = {} -- of the session
local again = {}   -- peaks that doubt() measured again

-- Keeps a result for roofline().
function M.add(r)
  results[#results + 1] = r
end

-- All results of the session.
function M.recent()
  return results
end

-- The highest of several peaks: by the median, by the fastest launch.
local function highest(names, context)
  local median, best = 0, 0
  for _, name in ipairs(names) do
    local rate, top = peaks.get(name, context)
    median, best = math.max(median, rate or 0), math.max(best, top or 0)
  end
  return median, best
end

-- The names of the peaks that bound a result: of compute (nil: unknown), of
-- memory for its share, and of memory for possible times. The cache bounds
-- operands that may lie in it.
local function peaks_of(r)
  local compute, memory, ceiling
  if r.flop and r.flop > 0 and COMPUTE[r.type or "float"]
      and (r.unit or "fma") == "fma" then
    compute = {"fma_" .. (r.type or "float")}
  end
  if r.bytes and r.bytes > 0 then
    local cold = r.mode == "cold"
    local sure = cold and not (r.cache or ""):find(" of ", 1, true)
    ceiling = sure and MEMORY or {"cache", table.unpack(MEMORY)}
    memory = cold and MEMORY or ceiling
  end
  return compute, memory, ceiling
end

-- The least seconds for the work by both roofs; the name of the lower roof;
-- and the least seconds by the fastest launches.
local function least_times(r, context)
  local compute, memory, ceiling = peaks_of(r)
  local by_compute, by_memory, limit = 0, 0, 0
  if compute then
    local rate, best = highest(compute, context)
    if rate > 0 then
      by_compute, limit = r.flop / rate, r.flop / best
    end
  end
  if memory then
    local rate = highest(memory, context)
    local _, best = highest(ceiling, context)
    if rate > 0 then
      by_memory, limit = r.bytes / rate, math.max(limit, r.bytes / best)
    end
  end
  local bound = by_memory > by_compute and "memory" or "compute"
  return math.max(by_compute, by_memory), bound, limit
end

-- Measures the peaks of an impossible result once more: the device may have
-- been busy before. The better figures stay.
local function doubt(r, context)
  local compute, _, ceiling = peaks_of(r)
  for _, names in ipairs{compute or {}, ceiling or {}} do
    for _, name in ipairs(names) do
      if not again[name] then
        again[name] = true
        peaks.better(name, context)
      end
    end
  end
end

--- roofline.place(r [, context]) -> fraction, bound
--- Places a result, a table with median (seconds), flop and bytes, type and
--- mode, on the measured roofline: r.ai, r.roof (the share of the device's
--- reach: the time that its arithmetic or its memory would need, whichever is
--- longer, over the median) and r.bound, "memory" or "compute", the longer of
--- the two. The memory of a result on hot operands is the cache. A result
--- above 105 % of the fastest known launches gets the flag "IMPOSSIBLE?": dead
--- code, a wrong count of FLOP, or a timer that stopped too early. nil without
--- flop and bytes. (Williams, Waterman and Patterson, Communications of the
--- ACM 52, 2009.)
function M.place(r, context)
  local t = r.median
  if not t or t <= 0 or not (r.flop or r.bytes) then
    return nil
  end
  context = context or cl.context()
  if r.flop and r.bytes and r.flop > 0 and r.bytes > 0 then
    r.ai = r.flop / r.bytes
  end
  local least, bound, limit = least_times(r, context)
  if least > IMPOSSIBLE * t then -- the least by medians: at least `limit`
    doubt(r, context)
    least, bound, limit = least_times(r, context)
  end
  if least <= 0 then
    return nil
  end
  r.roof, r.bound = least / t, bound
  if limit > IMPOSSIBLE * t then
    r.flags = r.flags or {}
    protocol.flag(r, "IMPOSSIBLE?")
    local words = ("IMPOSSIBLE? %.0f %% of the best that this device has "
      .. "shown (%s)"):format(100 * limit / t, bound)
    r.note = r.note and r.note .. "; " .. words or words
  end
  return r.roof, r.bound
end

local function line(r)
  local rate = r.gflops and ("%.4g GFLOPS"):format(r.gflops)
    or r.gbs and ("%.4g GB/s"):format(r.gbs) or ""
  local ai = r.ai and ("AI %.3g"):format(r.ai) or ""
  local doubtful = r.note and r.note:match("IMPOSSIBLE%?[^;]*") or ""
  return (("%-32s %16s  %10s  %5.1f %% of the %s roof  %s"):format(
    ("%s %s"):format(r.name or "?", r.title or ""), rate, ai, 100 * r.roof,
    r.bound, doubtful):gsub(" +$", ""))
end

local listing = {
  __tostring = function(list)
    local lines = {}
    for i, r in ipairs(list) do
      lines[i] = line(r)
    end
    return #lines > 0 and table.concat(lines, "\n")
      or "no result with flop or bytes in this session"
  end,
}

--- roofline([r]) -> fraction, bound
--- The place of a result on the measured roofline (see roofline.place);
--- without an argument, a list of all placed results of the session, which
--- prints as a table. plot.roofline draws them.
function M.roofline(r)
  if r ~= nil then
    if type(r) ~= "table" then
      cl.error("roofline: r must be a result of bench; got a " .. type(r))
    end
    if r.roof then
      return r.roof, r.bound
    end
    return M.place(r)
  end
  local list = {}
  for _, result in ipairs(results) do
    if result.roof then
      list[#list + 1] = result
    end
  end
  return setmetatable(list, listing)
end

return setmetatable(M, {__call = function(_, ...)
  return M.roofline(...)
end})

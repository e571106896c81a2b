-- parts/copy_route.lua - the fastest way to copy data from one device to
-- another, measured once for each pair of devices and kept: the driver's copy
-- within a common context, or the host's copy by pinned memory of one device
-- or of both devices
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"

local M = {}

local LARGE = 4 << 20 -- bytes of the smallest copy that is worth measuring
local SIZE = 16 << 20 -- bytes of the copies that are measured
local TIMES = 3       -- copies by each way; the first copy does not count

local WAYS = {"driver", "piece", "pieces"}

local known = {} -- name of a pair -> number of its way

-- The name of a pair in the first device's file. It contains the numbers of
-- the devices, since devices of one kind may sit at different places of a bus.
local function name_of(from, to, shared)
  return ("way.%s.%d.%d.%s"):format(shared and "shared" or "apart",
    from.index or 0, to.index or 0, cachefile.hash(cachefile.identity(to)))
end

-- The least seconds of several copies.
local function seconds(a, b, way)
  local least = math.huge
  for i = 1, TIMES do
    local begin = cl.now()
    a:copy(b, {way = way}):wait()
    least = i > 1 and math.min(least, cl.now() - begin) or least
  end
  return least
end

-- Measures the ways between two contexts and returns the number of the fastest
-- way, or nil where there is no memory for the copies.
local function measure(from, to, first)
  local notice <close> = calibrate.notice(from.device)
  local fine, best = pcall(function()
    local a <close> = cl.buffer("float", SIZE // 4, 1, {context = from})
    local b <close> = cl.buffer("float", SIZE // 4, 0, {context = to})
    local least, best = math.huge, nil
    for i = first, #WAYS do
      notice:step("the ways to " .. to.device.name)
      local time = seconds(a, b, WAYS[i])
      if time < least then
        least, best = time, i
      end
    end
    return best
  end)
  if fine then
    return best
  elseif best.name == "INTERRUPTED" then
    error(best, 0)
  end
end

--- copy_route.between(from, to, bytes, shared) -> "driver", "piece", "pieces"
--- The fastest way to copy `bytes` bytes from a Buffer of one Context to a
--- Buffer of another Context. shared: the two Contexts have memory in common.
--- A copy of few bytes takes the first way without a measurement.
function M.between(from, to, bytes, shared)
  local first = shared and 1 or 2
  if bytes < LARGE then
    return WAYS[first]
  end
  local name = name_of(from.device, to.device, shared)
  if not known[name] then
    local kept = (cachefile.load(from.device) or {})[name]
    local way = WAYS[kept] and kept or measure(from, to, first)
    if not way then
      return WAYS[first]
    end
    known[name] = way
    if way ~= kept then
      cachefile.save(from.device, {[name] = way})
    end
  end
  return WAYS[known[name]]
end

return M

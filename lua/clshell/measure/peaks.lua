-- measure/peaks.lua - peaks: the measured peaks of a device, which its kernels
-- can reach, unlike the figures of a data sheet
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.measure.cachefile"
local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local options = require "clshell.base.options"
local peak_kernels = require "clshell.measure.peak_kernels"
local protocol = require "clshell.measure.protocol"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = require "clshell.base.lazy".table(...)

local LIMITS = {warmup = 0.03, samples = 10, busy = 0.05, seconds = 0.25}
local SCREEN = 3 -- launches of each way, before the best is measured

M.names = {"fma_float", "fma_double", "fma_half", "copy", "read", "write",
  "cache", "local", "upload", "download"}

local known = setmetatable({}, {__mode = "k"}) -- context -> peaks

local printing

-- The known peaks of a context: of this session, or from the file of the
-- device.
local function table_of(context)
  local p = known[context]
  if not p then
    p = setmetatable({device = context.device.name, best = {}}, printing)
    local kept, note = cachefile.load(context.device)
    p.note = note
    for _, name in ipairs(M.names) do
      local value = kept and kept["peak." .. name]
      local best = kept and kept["best." .. name]
      if value and best then
        p[name], p.best[name] = value > 0 and value or nil, best
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

-- The rough seconds of a launch: the least of several.
local function screen(subject)
  local least = math.huge
  for i = 1, SCREEN + 1 do
    local s = subject.sample(1)
    if i > 1 then
      least = math.min(least, s.event or s.wall)
    end
  end
  return least
end

-- Tries all ways to a peak. Returns the rate of the best way by the median of
-- its samples, and the rate of the fastest launch; 0 where there is no way.
local function find_best(context, name)
  local list, make, shared = peak_kernels.ways[name](context)
  local chosen, most = nil, 0
  for _, way in ipairs(list) do
    local launch, amount, own = make(way)
    local rate = amount / screen(timer.new(context, {launch}))
    close(own)
    if rate > most then
      chosen, most = way, rate
    end
  end
  local median = 0
  if chosen ~= nil then
    local launch, amount, own = make(chosen)
    local r = {}
    protocol.measure(timer.new(context, {launch}), r, LIMITS)
    close(own)
    median, most = amount / r.median, math.max(most, amount / r.min)
  end
  close(shared)
  return median, most
end

-- Measures one peak and keeps it.
local function measure(context, p, name)
  local median, best = find_best(context, name)
  p[name], p.best[name] = median > 0 and median or nil, best
  local ok, reason = cachefile.save(context.device,
    {["peak." .. name] = median, ["best." .. name] = best})
  p.note = not ok and reason or p.note
end

--- peaks.get(name [, context [, again]]) -> rate, best
--- One peak of a device, measured if it is unknown (again: in any case): the
--- median rate of the best way, which is the roof, and the rate of the fastest
--- launch, the limit of possible rates. nil where the device lacks the type.
--- Names: see peaks.
function M.get(name, context, again)
  context = context or cl.context()
  if not peak_kernels.ways[name] then
    cl.error("peaks: " .. text.unknown("peak", name, M.names))
  end
  local p = table_of(context)
  if again or p.best[name] == nil then
    measure(context, p, name)
  end
  return p[name], p[name] and p.best[name]
end

-- Measures a peak once more. The better figures stay.
function M.better(name, context)
  local p = table_of(context)
  local median, best = p[name], p.best[name]
  measure(context, p, name)
  if best and p.best[name] < best then
    local most = math.max(p[name] or 0, median or 0)
    p[name], p.best[name] = most > 0 and most or nil, best
    cachefile.save(context.device, {["peak." .. name] = most,
      ["best." .. name] = best})
  end
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
    local words = {}
    for _, line in ipairs(LINES) do
      local name, title, scale, unit = table.unpack(line)
      if p[name] then
        words[#words + 1] = ("%s %.4g %s"):format(title, p[name] / scale,
          unit)
      end
    end
    return ("%s: %s%s"):format(p.device, table.concat(words, ", "),
      p.note and "; " .. p.note or "")
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
--- to 16 elements, and the best way counts. That takes some seconds, once for
--- each device and driver: the numbers are kept in $XDG_CACHE_HOME/clshell.
--- `best` has the rates of the fastest launches. Prints as text.
--- Options:
---   again    false      true: measures anew
---   context  session's  the Context of another device
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

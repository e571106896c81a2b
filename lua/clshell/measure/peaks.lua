-- measure/peaks.lua - the measured peaks of a device: what its kernels can
-- reach, where a data sheet says what its transistors could
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.measure.cachefile"
local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local options = require "clshell.base.options"
local protocol = require "clshell.measure.protocol"
local timer = require "clshell.measure.timer"
local ways = require "clshell.measure.peak_kernels"

local M = require "clshell.base.lazy".table(...)

local LIMITS = {warmup = 0.03, samples = 10, busy = 0.05, seconds = 0.25}
local SCREEN = 3 -- launches of each way, before the best is measured

M.names = {"fma_float", "fma_double", "fma_half", "copy", "read", "write",
  "cache", "local", "upload", "download"}

local known = setmetatable({}, {__mode = "k"}) -- context -> peaks

local printing

-- The peaks of a context as far as they are known: from this session or from
-- the file of the device.
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

-- The seconds of a launch of one way, roughly: the least of some.
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

-- Tries all ways to a peak. Returns the rate of the best by the median of
-- its samples, and by the fastest of all; 0 where there is no way.
local function reach(context, name)
  local list, make, shared = ways[name](context)
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
  local median, best = reach(context, name)
  p[name], p.best[name] = median > 0 and median or nil, best
  local ok, reason = cachefile.save(context.device,
    {["peak." .. name] = median, ["best." .. name] = best})
  p.note = not ok and reason or p.note
end

--- peaks.get(name [, context [, again]]) -> rate, best
--- One peak of a device, measured if it is not known yet (again: anyway): the
--- median rate of the best way, which is what roofs are drawn at, and that of
--- its fastest launch, above which nothing can be. nil where the device
--- lacks the type. Names: see peaks.
function M.get(name, context, again)
  context = context or cl.context()
  if not ways[name] then
    cl.error(("peaks: no peak '%s'"):format(tostring(name)),
      {hint = "there are: " .. table.concat(M.names, ", ")})
  end
  local p = table_of(context)
  if again or p.best[name] == nil then
    measure(context, p, name)
  end
  return p[name], p[name] and p.best[name]
end

-- Measures a peak once more; the better figure stands.
function M.better(name, context)
  local p = table_of(context)
  local median, best = p[name], p.best[name]
  measure(context, p, name)
  if best and p.best[name] < best then
    p[name], p.best[name] = math.max(p[name] or 0, median or 0), best
    if p[name] == 0 then
      p[name] = nil
    end
    cachefile.save(context.device, {["peak." .. name] = p[name] or 0,
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
    local text = p.device .. ": " .. table.concat(words, ", ")
    return p.note and text .. "; " .. p.note or text
  end,
}

--- peaks([opts]) -> table
--- What the session's device can reach, in FLOP/s, B/s and seconds: fma_float,
--- fma_double, fma_half (multiply-adds in registers count 2), copy (read plus
--- written), read and write in global memory, cache (reads of data that stay
--- in a cache: the ceiling of runs on hot operands), local (reads of local
--- memory), upload and download (between host and device), latency (an empty
--- kernel from launch to end). nil: the device lacks the type. Each is
--- measured under the protocol of bench, with random data and vectors of 1 to
--- 16 elements, and the best way counts. That takes some seconds, once for
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

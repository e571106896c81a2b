-- peak.lua - the measured peaks of a device: what its kernels can reach,
-- where a data sheet says what its transistors could
-- SPDX-License-Identifier: MIT

local bench = require "clshell.bench"
local cl = require "cl"
local program = require "clshell.program"

local M = {}

local LIMITS = {warmup = 0.02, samples = 5, seconds = 0.15}
local FMA_SECONDS = 0.004 -- one timed launch
local UNROLL = 16

-- Ways to write the multiply-adds; the best one counts. A device without
-- fused ones in hardware is fast with mad only.
local FMA_WAYS = {
  cpu = {{"fma", 16, 8}, {"mad", 16, 16}},
  other = {{"fma", 1, 8}, {"mad", 1, 8}, {"fma", 2, 8}},
}

local known = setmetatable({}, {__mode = "k"}) -- context -> peaks

local function kernel(context, file, defines, name)
  local path = ("%s/kernels/peak/%s"):format(cl.home, file)
  return program.kernel(program.get(context, {path = path}, defines), name)
end

-- Work-groups that fill the device, and their size.
local function filling(dev)
  if dev.type == "cpu" then
    return 4 * dev.compute_units, 1
  end
  return 32 * dev.compute_units, math.min(256, dev.max_work_group_size)
end

-- The best rate of some ways: `try(way)` gives a rate or nil.
local function best(ways, try)
  local rate = 0
  for _, way in ipairs(ways) do
    rate = math.max(rate, try(way) or 0)
  end
  return rate > 0 and rate or nil
end

-- FLOPS of multiply-adds in registers. The iterations are found by doubling
-- until a launch takes long enough for any timer.
local function fma(context, type, way)
  local dev = context.device
  local op, width, chains = table.unpack(way)
  local groups, size = filling(dev)
  local items = groups * size
  local out <close> = cl.buffer(type, items * width, nil,
    {context = context})
  local run = kernel(context, "fma.cl", {
    REAL = type, WIDTH = width, CHAINS = chains, UNROLL = UNROLL,
    MULTIPLY_ADD = op,
  }):range({items}, {size})
  local iterations = 16
  local function launch()
    return run(iterations, 0.5, 1.0, out)
  end
  launch():wait()
  while launch():wait().ms < FMA_SECONDS * 1e3 and iterations < 2^24 do
    iterations = iterations * 2
  end
  local r = bench(launch, LIMITS)
  return r.ms and 2.0 * width * chains * UNROLL * iterations * items
    / (r.min * 1e-3)
end

-- Bytes per second, read and written, of a copy too large for any cache.
local function copy(context, width)
  local dev = context.device
  local groups, size = filling(dev)
  local bytes = math.max(4 * dev.global_mem_cache_size,
    dev.type == "cpu" and 2^26 or 2^28)
  bytes = math.min(bytes, dev.max_mem_alloc_size, dev.global_mem_size // 8,
    2^28) // 64 * 64
  local n = math.tointeger(bytes // (4 * width))
  local from <close> = cl.buffer("float", n * width, nil,
    {context = context})
  local to <close> = cl.buffer("float", n * width, nil, {context = context})
  from:fill(1.5)
  to:fill(0)
  local run = kernel(context, "copy.cl", {REAL = "float", WIDTH = width})
    :range({groups * size}, {size})
  local r = bench(function()
    return run(n, cl.any(from), cl.any(to))
  end, LIMITS)
  return r.ms and 2.0 * n * width * 4 / (r.min * 1e-3)
end

--- peaks([opts]) -> table
--- The peaks of the session's device, measured once per session:
--- fma_float and fma_double (FLOPS: multiply-adds in registers count 2) and
--- copy (bytes per second, read plus written, in global memory); a type that
--- the device lacks is nil. `again = true` measures anew. Prints as text.
function M.peaks(opts)
  cl.options(opts, {"again", "context"}, "peaks")
  local context = opts and opts.context or cl.context()
  if known[context] and not (opts and opts.again) then
    return known[context]
  end
  local dev = context.device
  local cpu = dev.type == "cpu"
  local peaks = {device = dev.name}
  for _, type in ipairs{"float", "double"} do
    if type == "float" or dev:has("cl_khr_fp64") then
      peaks["fma_" .. type] = best(FMA_WAYS[cpu and "cpu" or "other"],
        function(way)
          return fma(context, type, way)
        end)
    end
  end
  peaks.copy = best(cpu and {4, 16} or {1, 4}, function(width)
    return copy(context, width)
  end)
  known[context] = setmetatable(peaks, {__tostring = function(p)
    local words = {p.device}
    for _, type in ipairs{"float", "double"} do
      local rate = p["fma_" .. type]
      if rate then
        words[#words + 1] = ("%s %.4g GFLOPS"):format(type, rate / 1e9)
      end
    end
    if p.copy then
      words[#words + 1] = ("copy %.4g GB/s"):format(p.copy / 1e9)
    end
    return table.concat(words, ", ")
  end})
  return peaks
end

return setmetatable(M, {__call = function(_, ...)
  return M.peaks(...)
end})

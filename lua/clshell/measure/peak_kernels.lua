-- measure/peak_kernels.lua - the kernels that measure a device's peaks:
-- several ways to reach each peak, of which the best counts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local program = require "clshell.ladder.program"

local M = {}

local MIB = 2^20
local UNROLL = 16
local SECONDS = 0.004 -- seconds of a launch of free length

-- A kernel of kernels/peak.
function M.kernel(context, file, defines, name)
  local path = ("%s/kernels/peak/%s"):format(cl.home, file)
  return program.kernel(program.get(context, {path = path}, defines), name)
end

local function is_cpu(dev)
  return dev.type == "cpu"
end

-- Work-groups that fill the device, and their size.
local function filling(dev)
  if is_cpu(dev) then
    return 4 * dev.compute_units, 1
  end
  return 32 * dev.compute_units, math.min(256, dev.max_work_group_size)
end

-- A float buffer of random bits.
local function random(context, n, seed)
  local b = cl.buffer("float", n, nil, {context = context})
  local groups, size = filling(context.device)
  M.kernel(context, "random.cl", {}):range({groups * size}, {size})(n, seed, b)
  return b
end

-- A launch of run(iterations) that is long enough for any timer, and its
-- iterations, a power of two.
local function long_enough(run)
  local n = 16
  run(n):wait()
  while run(n):wait().ms < SECONDS * 1e3 and n < 2^24 do
    n = n * 2
  end
  return function()
    return run(n)
  end, n
end

-- Multiply-adds in registers. A device without fused multiply-adds in hardware
-- is fast with mad only. On a CPU device vectors of a work-item fill the
-- pipeline, on a GPU other work-items do.
local function fma(type)
  return function(context)
    local dev = context.device
    local ops = is_cpu(dev) and {"fma", "mad"} or {"fma"}
    if type == "double" and not dev:has("cl_khr_fp64")
        or type == "half" and not dev:has("cl_khr_fp16") then
      return {}
    end
    local ways = {}
    for _, op in ipairs(ops) do
      for width = 0, 4 do
        ways[#ways + 1] = {op, 1 << width, is_cpu(dev) and 16 or 8}
      end
    end
    return ways, function(way)
      local width, chains = way[2], way[3]
      local groups, size = filling(dev)
      local items = groups * size
      local out = cl.buffer(type, items * width, nil, {context = context})
      local launch = M.kernel(context, "fma.cl", {REAL = type, WIDTH = width,
        CHAINS = chains, UNROLL = UNROLL, MULTIPLY_ADD = way[1]})
        :range({items}, {size})
      local function run(iterations)
        return launch(iterations, 0.5, 1.0, out)
      end
      local call, n = long_enough(run)
      return call, 2.0 * width * chains * UNROLL * n * items, {out}
    end
  end
end

-- The bytes of a buffer so large that the begin and the end of a kernel take
-- little time beside it. A CPU device may report the cache of a whole host,
-- which no buffer exceeds: there the caches are flushed before each launch.
local function large(dev)
  local most = is_cpu(dev) and 96 * MIB or 512 * MIB
  local bytes = math.max(4 * dev.global_mem_cache_size, 512 * MIB)
  bytes = math.min(bytes, most, dev.max_mem_alloc_size,
    dev.global_mem_size // 8)
  return math.tointeger(bytes // 1024 * 1024)
end

local WIDTHS = {1, 2, 4, 8, 16}
local ITEMS = {0, 4, 16} -- vectors per work-item; 0: groups fill the device
-- Width, streams and whether stores go past the cache, on a CPU device, see
-- read.cl and copy.cl: the prefetchers of a core follow several streams.
local ON_CPU = {{1, 1, 0}, {4, 1, 0}, {8, 1, 0}, {16, 1, 0}, {4, 4, 0},
  {8, 4, 0}, {16, 2, 0}, {16, 4, 0}, {16, 8, 0}, {8, 1, 1}, {16, 1, 1},
  {16, 2, 1}, {16, 4, 1}}

-- Streams through global memory. `moved`: bytes moved over the bytes of a
-- buffer; args(n, from, to): the arguments of the kernel.
local function stream(file, moved, args)
  return function(context)
    local dev = context.device
    local groups, size = filling(dev)
    local bytes = large(dev)
    local from = random(context, bytes // 4, 1)
    local to = random(context, bytes // 4, 2)
    local list = {}
    for _, way in ipairs(is_cpu(dev) and ON_CPU or {}) do
      list[#list + 1] = {way[1], 0, way[2], way[3]}
    end
    for _, items in ipairs(is_cpu(dev) and {} or ITEMS) do
      for _, width in ipairs(WIDTHS) do
        list[#list + 1] = {width, items}
      end
    end
    return list, function(way)
      local width, items, streams, past = table.unpack(way)
      local n = bytes // (4 * width)
      local count = items > 0 and (n + items * size - 1) // (items * size)
        or groups
      local launch = M.kernel(context, file, {REAL = "float", WIDTH = width,
        ITEMS = items, STREAMS = streams, PAST = past})
        :range({count * size}, {size})
      return function()
        return launch(args(n, cl.any(from), cl.any(to)))
      end, moved * bytes, {}
    end, {from, to}, moved * bytes
  end
end

-- clEnqueueCopyBuffer, beside the kernels that copy.
local function copies(context)
  local list, make, shared, footprint = stream("copy.cl", 2, function(n, from,
      to)
    return n, from, to
  end)(context)
  list[#list + 1] = "buffer"
  return list, function(way)
    if way ~= "buffer" then
      return make(way)
    end
    local from, to = shared[1], shared[2]
    return function()
      return from:copy(to)
    end, 2 * from.bytes, {}
  end, shared, footprint
end

-- Repeated reads of data that fit into a cache.
local function cached(context)
  local dev = context.device
  local groups, size = filling(dev)
  local bytes = is_cpu(dev) and 16384
    or math.max(MIB, math.min(16 * MIB, dev.global_mem_cache_size // 4))
  bytes = math.tointeger(bytes)
  local unit = 8 * size * 64
  bytes = math.max(1, bytes // unit) * unit
  local from = random(context, bytes // 4, 1)
  local to = cl.buffer("float", groups * size, nil, {context = context})
  return WIDTHS, function(width)
    local launch = M.kernel(context, "cache.cl", {REAL = "float",
      WIDTH = width}):range({groups * size}, {size})
    local function run(turns)
      return launch(bytes // (4 * width), turns, cl.any(from), to)
    end
    local call, n = long_enough(run)
    return call, 4.0 * 8 * width * n * groups * size, {}
  end, {from, to}
end

-- Reads of local memory, without bank conflicts.
local function local_memory(context)
  local dev = context.device
  local groups = is_cpu(dev) and 4 * dev.compute_units
    or 16 * dev.compute_units
  local size = math.min(is_cpu(dev) and 64 or 256, dev.max_work_group_size)
  local ways = {}
  for _, width in ipairs(WIDTHS) do
    if (1024 + 8) * width * 4 <= dev.local_mem_size then
      ways[#ways + 1] = width
    end
  end
  return ways, function(width)
    local out = cl.buffer("float", groups * size * width, nil,
      {context = context})
    local launch = M.kernel(context, "local.cl", {REAL = "float",
      WIDTH = width, WG = size, CELLS = 1024, UNROLL = 8})
      :range({groups * size}, {size})
    local function run(iterations)
      return launch(iterations, 1, out)
    end
    local call, n = long_enough(run)
    return call, 4.0 * 8 * width * n * groups * size, {out}
  end
end

-- Copies between host and device.
local function transfer(direction)
  return function(context)
    local dev = context.device
    local bytes = math.tointeger(math.min(64 * MIB, large(dev)))
    local b = random(context, bytes // 4, 3)
    local h = b:read()
    return {1}, function()
      return function()
        if direction == "upload" then
          return b:write(h)
        end
        return select(2, b:read(h))
      end, bytes, {}
    end, {b, h}
  end
end

--- The ways to each peak: function(context) -> ways, make(way) -> launch,
--- amount, own; shared, footprint. `amount` is the FLOP or bytes of a launch;
--- `own` and `shared` are lists of objects to close; a peak of memory has the
--- bytes that a launch touches, which no cache may hold when it begins.
M.ways = {
  fma_float = fma("float"), fma_double = fma("double"),
  fma_half = fma("half"),
  copy = copies,
  read = stream("read.cl", 1, function(n, from, to)
    return n, from, to
  end),
  write = stream("write.cl", 1, function(n, _, to)
    return n, 1.5, to
  end),
  cache = cached, ["local"] = local_memory,
  upload = transfer("upload"), download = transfer("download"),
}

return M

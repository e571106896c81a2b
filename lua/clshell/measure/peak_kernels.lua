-- measure/peak_kernels.lua - the kernels that measure a device's peaks:
-- several ways to reach each peak, of which the best counts
-- SPDX-License-Identifier: MIT

local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local program = require "clshell.ladder.program"
local tiling = require "clshell.ladder.tiling"

local M = {}

local FOLDER = cl.home .. "/kernels/peak/"
local MIB = 2^20
local UNROLL = 16
local TURN = 4 -- products in a turn of nv_wgmma.cl, which builds for long

-- The most bytes of a Buffer for the peaks of memory.
M.most = {cpu = 96 * MIB, gpu = 512 * MIB}

local SECONDS = 0.004 -- seconds of a launch of free length

local ahead = false -- builds begin: see M.begin

-- A kernel of a file. While builds begin, the coroutine that asks goes no
-- further.
local function kernel(context, file, defines)
  if ahead then
    program.get(context, {path = FOLDER .. file}, defines, nil, true)
    coroutine.yield()
  end
  return calibrate.kernel(context, file, defines)
end

local function is_h100(dev)
  return dev.type == "gpu" and dev.name:find("H100", 1, true) ~= nil
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

-- A Buffer that joins `own`, the objects to close after a measurement; nil
-- while builds begin.
local function buffer(context, own, type, n)
  if ahead then
    return nil
  end
  local b = cl.buffer(type, n, nil, {context = context})
  own[#own + 1] = b
  return b
end

-- A float Buffer of random bits.
local function random(context, own, n, seed)
  local b = buffer(context, own, "float", n)
  local groups, size = filling(context.device)
  if b then
    kernel(context, "random.cl", {}):range({groups * size}, {size})(n, seed, b)
  end
  return b
end

-- A launch of run(iterations) that is long enough for any timer, and its FLOP
-- or bytes, of which one iteration has `each`.
local function long_enough(run, each)
  local n = 16
  run(n):wait()
  while run(n):wait().ms < SECONDS * 1e3 and n < 2^24 do
    n = n * 2
  end
  return function()
    return run(n)
  end, each * n
end

-- Multiply-adds in registers. A device without fused multiply-adds in hardware
-- is fast with mad only. On a CPU device vectors of a work-item fill the
-- pipeline, on a GPU other work-items do: there wide vectors only take a
-- second to build.
local function fma(type, extension)
  return function(context, own)
    local dev = context.device
    local chains, ways = is_cpu(dev) and 16 or 8, {}
    if extension and not dev:has(extension) then
      return ways
    end
    for _, op in ipairs(is_cpu(dev) and {"fma", "mad"} or {"fma"}) do
      for width = 0, is_cpu(dev) and 4 or 2 do
        ways[#ways + 1] = {op, 1 << width}
      end
    end
    return ways, function(way)
      local op, width = table.unpack(way)
      local groups, size = filling(dev)
      local items = groups * size
      local out = buffer(context, own, type, items * width)
      local launch = kernel(context, "fma.cl", {REAL = type, WIDTH = width,
        CHAINS = chains, UNROLL = UNROLL, MULTIPLY_ADD = op})
        :range({items}, {size})
      return long_enough(function(iterations)
        return launch(iterations, 0.5, 1.0, out)
      end, 2.0 * width * chains * UNROLL * items)
    end
  end
end

-- Dot products of four char in registers. Work-items side by side fill the
-- vectors of a CPU device.
local function dots(context, own)
  return is_cpu(context.device) and {4, 8, 16} or {8}, function(chains)
    local groups, size = filling(context.device)
    size = math.max(size, math.min(64, context.device.max_work_group_size))
    local items = groups * size
    local out = buffer(context, own, "int", items)
    local launch = kernel(context, "dot.cl", {CHAINS = chains,
      UNROLL = UNROLL}):range({items}, {size})
    return long_enough(function(iterations)
      return launch(iterations, 0x03fe01ff, out)
    end, 8.0 * chains * UNROLL * items)
  end
end

-- The programs of nv_wgmma.cl that the driver builds: for Hopper alone.
local function warp_groups(context, type, widths)
  local list, dev = {}, context.device
  for _, width in ipairs(tiling.lacks(dev, 90, true) and {}
      or is_h100(dev) and widths or {128, 256}) do
    local ok, prog = interrupt.pcall(program.get, context,
      {path = FOLDER .. "nv_wgmma.cl", ptx = true},
      {BN = width, UNROLL = TURN, TF32 = type == "tf32" and 1 or 0,
        WHOLE = type == "char" and 1 or 0}, nil, ahead)
    list[#list + 1] = ok and (prog or ahead) and {width, prog} or nil
  end
  return list
end

-- Products of small matrices by the tensor cores of NVIDIA GPUs, of `each`
-- FLOP for an instruction of 32 work-items. Few groups with many chains and
-- many groups are both fast on some device. `wide`: wgmma has the type, too,
-- and is faster by half where it is; the columns that are best on an H100.
local function tensor(type, each, least, wide)
  return function(context, own)
    local dev = context.device
    local ways = {}
    if tiling.lacks(dev, least) then
      return ways
    end
    ways = wide and warp_groups(context, type, wide) or ways
    if ahead and ways[1] then
      return {}
    end
    for chains = 1, ways[1] and 0 or 3 do
      ways[chains] = {2 << chains}
    end
    return ways, function(way)
      local chains, prog = table.unpack(way)
      local groups, size = filling(dev)
      if prog then -- two products of 64 rows and `chains` columns
        groups, size = 4 * dev.compute_units, 256
        local bits = random(context, own, (64 + chains) * 32, 1)
        local out = buffer(context, own, "float", groups * size)
        local launch = program.kernel(prog):range({groups * size}, {size})
        return long_enough(function(iterations)
          return launch(iterations, cl.any(bits), out)
        end, 0.5 * each * chains * 2 * TURN * groups)
      end
      local items = groups * size
      local out = buffer(context, own, "float", items)
      local launch = kernel(context, "tensor.cl", {CHAINS = chains,
        UNROLL = UNROLL, [type:upper()] = 1}):range({items}, {size})
      return long_enough(function(iterations)
        return launch(iterations, 1, out)
      end, 1.0 * each * chains * UNROLL * items // 32)
    end
  end
end

-- The bytes of a buffer so large that the begin and the end of a kernel take
-- little time beside it. A CPU device may report the cache of a whole host,
-- which no buffer exceeds: there the caches are flushed before each launch.
local function large(dev)
  local most = is_cpu(dev) and M.most.cpu or M.most.gpu
  local bytes = math.max(4 * dev.global_mem_cache_size, 512 * MIB)
  bytes = math.min(bytes, most, dev.max_mem_alloc_size,
    dev.global_mem_size // 8)
  return math.tointeger(bytes // 1024 * 1024)
end

local WIDTHS = {1, 2, 4, 8, 16}
-- Width, vectors per work-item (0: groups fill the device), streams, and
-- whether stores go past the cache, see read.cl and copy.cl: the prefetchers
-- of a core of a CPU follow several streams.
local ON_CPU = {{1, 0, 1, 0}, {4, 0, 1, 0}, {8, 0, 1, 0}, {16, 0, 1, 0},
  {4, 0, 4, 0}, {8, 0, 4, 0}, {16, 0, 2, 0}, {16, 0, 4, 0}, {16, 0, 8, 0},
  {8, 0, 1, 1}, {16, 0, 1, 1}, {16, 0, 2, 1}, {16, 0, 4, 1}}
-- On a GPU wide vectors are slow to write, narrow vectors slow to read.
local ON_GPU = {
  read = {{4, 4}, {4, 16}, {8, 16}, {16, 16}},
  write = {{1, 4}, {2, 4}, {4, 4}, {2, 16}, {4, 16}},
}

-- Streams through global memory. `moved`: bytes moved over the bytes of a
-- Buffer; `constant`: what a kernel without an input writes.
local function stream(file, moved, constant)
  return function(context, own)
    local dev = context.device
    local groups, size = filling(dev)
    local bytes = large(dev)
    local from = random(context, own, bytes // 4, 1)
    local to = random(context, own, bytes // 4, 2)
    local ways = {table.unpack(is_cpu(dev) and ON_CPU
      or file == "read.cl" and ON_GPU.read or ON_GPU.write)}
    return ways, function(way)
      local width, items, streams, past = table.unpack(way)
      local n = bytes // (4 * width)
      local count = items > 0 and (n + items * size - 1) // (items * size)
        or groups
      local launch = kernel(context, file, {REAL = "float", WIDTH = width,
        ITEMS = items, STREAMS = streams, PAST = past})
        :range({count * size}, {size})
      return function()
        return launch(n, constant or cl.any(from), cl.any(to))
      end, moved * bytes
    end, moved * bytes
  end
end

-- clEnqueueCopyBuffer, beside the kernels that copy.
local function copies(context, own)
  local ways, make, footprint = stream("copy.cl", 2)(context, own)
  ways[#ways + 1] = "buffer"
  return ways, function(way)
    if way ~= "buffer" then
      return make(way)
    end
    return function()
      return own[1]:copy(own[2])
    end, footprint
  end, footprint
end

-- Repeated reads of data that fit into a cache.
local function cached(context, own)
  local dev = context.device
  local groups, size = filling(dev)
  local bytes = is_cpu(dev) and 16384
    or math.max(MIB, math.min(16 * MIB, dev.global_mem_cache_size // 4))
  local unit = 8 * size * 64
  bytes = math.tointeger(math.max(1, bytes // unit) * unit)
  local from = random(context, own, bytes // 4, 1)
  local to = buffer(context, own, "float", groups * size)
  return is_cpu(dev) and WIDTHS or {2, 4}, function(width)
    local launch = kernel(context, "cache.cl", {REAL = "float",
      WIDTH = width}):range({groups * size}, {size})
    return long_enough(function(turns)
      return launch(bytes // (4 * width), turns, cl.any(from), to)
    end, 4.0 * 8 * width * groups * size)
  end
end

-- Reads of local memory, without bank conflicts.
local function local_memory(context, own)
  local dev = context.device
  local groups = (is_cpu(dev) and 4 or 16) * dev.compute_units
  local size = math.min(is_cpu(dev) and 64 or 256, dev.max_work_group_size)
  local ways = {}
  for _, width in ipairs(is_cpu(dev) and WIDTHS or {1, 2, 4}) do
    local fits = (1024 + 8) * width * 4 <= dev.local_mem_size
    ways[#ways + 1] = fits and width or nil
  end
  return ways, function(width)
    local out = buffer(context, own, "float", groups * size * width)
    local launch = kernel(context, "local.cl", {REAL = "float",
      WIDTH = width, WG = size, CELLS = 1024, UNROLL = 8})
      :range({groups * size}, {size})
    return long_enough(function(iterations)
      return launch(iterations, 1, out)
    end, 4.0 * 8 * width * groups * size)
  end
end

-- Copies between host and device.
local function transfer(direction)
  return function(context, own)
    local bytes = math.tointeger(math.min(64 * MIB, large(context.device)))
    local b = random(context, own, bytes // 4, 3)
    local h = b and b:read()
    if h then
      own[#own + 1] = h
    end
    return {1}, function()
      return function()
        if direction == "upload" then
          return b:write(h)
        end
        return select(2, b:read(h))
      end, bytes
    end
  end
end

--- The ways to each peak: function(context, own) -> ways, make(way) -> launch,
--- amount; footprint. `amount` is the FLOP or bytes of a launch; `own` is a
--- list that gets the objects to close; a peak of memory has the bytes that a
--- launch touches, which no cache may hold when it begins.
M.ways = {
  fma_float = fma "float",
  fma_double = fma("double", "cl_khr_fp64"),
  fma_half = fma("half", "cl_khr_fp16"),
  fma_char = dots, tensor_char = tensor("char", 8192, 80, {128}),
  tensor_half = tensor("half", 4096, 80, {128}),
  tensor_tf32 = tensor("tf32", 2048, 80, {256}),
  tensor_double = tensor("double", 1024, 90),
  copy = copies, read = stream("read.cl", 1),
  write = stream("write.cl", 1, 1.5),
  cache = cached, ["local"] = local_memory,
  upload = transfer "upload", download = transfer "download",
}

-- The ways that are fastest on an H100, or within 1 % of it: the others take
-- seconds to build. On other devices any way may be the fastest.
local H100 = {fma_float = {3}, fma_double = {1}, tensor_double = {1},
  copy = {1, 6}, read = {4}, write = {3}, cache = {2}, ["local"] = {2}}

--- The indexes of the ways that are worth a try on a device, of n ways.
function M.worth(context, name, n)
  local list = {}
  for i = 1, n do
    list[i] = i
  end
  return is_h100(context.device) and H100[name] or list
end

--- Begins to build what the measurement of a peak builds, on a thread.
function M.begin(context, name)
  ahead = true
  local _ <close> = setmetatable({}, {__close = function()
    ahead = false
  end})
  local ways, make = M.ways[name](context)
  for _, i in ipairs(M.worth(context, name, #ways)) do
    coroutine.wrap(make)(ways[i])
  end
end

return M

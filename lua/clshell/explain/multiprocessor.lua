-- explain/multiprocessor.lua - what a compute unit of a GPU holds: the limits
-- of known GPUs, and the work-groups that share a unit
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- multiprocessor.largest
--- The most work-items of a work-group, on all of these GPUs.
M.largest = 1024

-- The limits of a multiprocessor by compute capability: work-items,
-- work-groups, KiB of local memory, KiB of it for one work-group. All have
-- 65536 registers. CUDA C++ Programming Guide, "Technical Specifications per
-- Compute Capability".
local NVIDIA = {
  ["5.0"] = {2048, 32, 64, 48}, ["5.2"] = {2048, 32, 96, 48},
  ["5.3"] = {2048, 32, 64, 48}, ["6.0"] = {2048, 32, 64, 48},
  ["6.1"] = {2048, 32, 96, 48}, ["6.2"] = {2048, 32, 64, 48},
  ["7.0"] = {2048, 32, 96, 96}, ["7.2"] = {2048, 32, 96, 96},
  ["7.5"] = {1024, 16, 64, 64}, ["8.0"] = {2048, 32, 164, 163},
  ["8.6"] = {1536, 16, 100, 99}, ["8.7"] = {1536, 16, 164, 163},
  ["8.9"] = {1536, 24, 100, 99}, ["9.0"] = {2048, 32, 228, 227},
  ["10.0"] = {2048, 32, 228, 227}, ["12.0"] = {1536, 24, 100, 99},
}
local PARTITIONS = 4   -- of a multiprocessor: a warp's registers lie in one
local REGISTER_UNIT = 256 -- registers are given to a warp in such pieces
local SYSTEM = 1024    -- bytes that the driver adds to a group, from 8.0 on
local OPENCL = 48      -- KiB that NVIDIA's OpenCL gives a work-group

-- A compute unit of CDNA 2 and 3: four SIMDs, each with 8 wavefronts of 64 and
-- 512 vector registers a lane. LLVM, "User Guide for AMDGPU Backend" (units of
-- registers and LDS; a group of several wavefronts takes one of 16 barriers).
local CDNA = {
  items = 2048, groups = 32, barriers = 16, registers = 131072,
  register_unit = 512, most_registers = 512, partitions = 4,
  local_bytes = 65536, most_local = 65536, warp = 64, unit = 512, reserve = 0,
  source = "LLVM, User Guide for AMDGPU Backend",
}

-- GPUs by name, in the order of messages.
local GPUS = {
  {"GTX 1080", "6.1"}, {"P100", "6.0"}, {"V100", "7.0"}, {"T4", "7.5"},
  {"RTX 2080", "7.5"}, {"A100", "8.0"}, {"RTX 3090", "8.6"},
  {"RTX 4090", "8.9"}, {"L4", "8.9"}, {"H100", "9.0"}, {"H200", "9.0"},
  {"B200", "10.0"}, {"RTX 5090", "12.0"}, {"MI200", CDNA}, {"MI300", CDNA},
}

local function roundup(n, unit)
  return (n + unit - 1) // unit * unit
end

-- The limits of a compute capability such as "9.0"; nil if it is not known.
local function nvidia(capability)
  local row = NVIDIA[capability]
  local major = tonumber(capability:match "^%d+")
  return row and {
    items = row[1], groups = row[2], registers = 65536,
    register_unit = REGISTER_UNIT, most_registers = 255,
    partitions = capability == "6.0" and 2 or PARTITIONS,
    local_bytes = row[3] * 1024, most_local = row[4] * 1024,
    opencl_local = OPENCL * 1024, warp = 32, unit = major >= 8 and 128 or 256,
    reserve = major >= 8 and SYSTEM or 0,
    source = "CUDA C++ Programming Guide, compute capability " .. capability,
  }
end

--- multiprocessor.limits(dev) -> table; nil, reason
--- See occupancy.limits.
function M.limits(dev)
  local major = dev.nv_compute_capability_major
  if not major then
    return nil, "this driver tells no registers"
  end
  local name = ("%d.%d"):format(major, dev.nv_compute_capability_minor or 0)
  local limits = nvidia(name)
  if not limits then
    return nil, ("the limits of compute capability %s are unknown"):format(
      name)
  end
  limits.warp = dev.nv_warp_size or limits.warp
  limits.most_local = dev.local_mem_size or limits.most_local
  return limits
end

local function plain(name)
  return (tostring(name):upper():gsub("[%s_-]", ""))
end

--- multiprocessor.named(gpu) -> name, limits
--- The limits of a GPU by its name ("RTX 4090", "rtx4090") or by its compute
--- capability ("8.9"); raises for unknown names.
function M.named(gpu)
  local names = {}
  for i, known in ipairs(GPUS) do
    names[i] = known[1]
    if plain(known[1]) == plain(gpu) then
      return known[1], type(known[2]) == "table" and known[2]
        or nvidia(known[2])
    end
  end
  local limits = type(gpu) == "string" and nvidia(gpu)
  if limits then
    return "compute capability " .. gpu, limits
  end
  cl.error("occupancy: " .. text.unknown("GPU", gpu, names),
    {hint = 'or give its compute capability: {gpu = "8.6"}', arg = "gpu"})
end

-- The registers that a warp takes, and the warps for which a unit has them.
local function register_share(registers, limits)
  local per_warp = roundup(registers * limits.warp,
    limits.register_unit or REGISTER_UNIT)
  local partitions = limits.partitions or PARTITIONS
  return limits.registers // partitions // per_warp * partitions
end

-- The bytes of local memory that a work-group takes.
local function local_share(bytes, limits)
  return roundup(bytes + limits.reserve, limits.unit)
end

local function warps_of(items, limits)
  return (items + limits.warp - 1) // limits.warp
end

--- multiprocessor.of(use, limits) -> table
--- See occupancy.of.
function M.of(use, limits)
  local warps = warps_of(use.items, limits)
  local bytes = local_share(use.local_bytes, limits)
  local ends = {
    {"work-groups", warps > 1 and limits.barriers or limits.groups},
    {"work-items", limits.items // (warps * limits.warp)},
    {"registers", register_share(use.registers, limits) // warps},
    {"local memory", bytes > 0 and limits.local_bytes // bytes
      or math.huge},
  }
  local least
  for _, pair in ipairs(ends) do
    if not least or pair[2] < least[2] then
      least = pair
    end
  end
  local groups = math.tointeger(least[2])
  return {groups = groups, items = groups * use.items, by = least[1],
    warps = groups * warps,
    share = groups * warps * limits.warp / limits.items}
end

--- multiprocessor.misfit(use, limits) -> reason, or nil
--- Why no work-group of this use fits, if none does.
function M.misfit(use, limits)
  if use.items > M.largest then
    return ("a work-group has at most %d work-items"):format(M.largest)
  elseif use.registers > limits.most_registers then
    return ("a work-item has at most %d registers"):format(
      limits.most_registers)
  elseif use.local_bytes > limits.most_local then
    return ("a work-group has at most %s of local memory"):format(
      text.bytes(limits.most_local))
  elseif register_share(use.registers, limits)
      < warps_of(use.items, limits) then
    return ("a work-group has %s, a unit registers for %d"):format(
      text.count(warps_of(use.items, limits), "warp"),
      register_share(use.registers, limits))
  end
end

--- multiprocessor.room(use, limits, groups) -> registers, bytes; or nil
--- The most registers of a work-item and bytes of local memory of a
--- work-group, none above those of `use`, with which a unit holds so many
--- groups; nil where it holds fewer whatever they are.
function M.room(use, limits, groups)
  if use.items > M.largest then
    return nil
  end
  local warps = warps_of(use.items, limits)
  local registers = math.min(use.registers, limits.most_registers)
  while registers > 0
      and register_share(registers, limits) // warps < groups do
    registers = registers - 1
  end
  local bytes = math.min(use.local_bytes, limits.most_local,
    limits.local_bytes // groups // limits.unit * limits.unit
    - limits.reserve)
  local o = registers > 0 and bytes >= 0 and M.of({items = use.items,
    registers = registers, local_bytes = bytes}, limits)
  if o and o.groups >= groups then
    return registers, bytes
  end
end

return M

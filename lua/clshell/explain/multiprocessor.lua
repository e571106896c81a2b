-- explain/multiprocessor.lua - the work-groups that share a compute unit of a
-- GPU, by its limits
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local gpus = require "clshell.base.gpus"
local text = require "clshell.base.text"

local M = {}

--- multiprocessor.largest
--- The most work-items of a work-group, on all of these GPUs.
M.largest = 1024

local REGISTER_UNIT, PARTITIONS = 256, 4 -- where the limits lack them

local function roundup(n, unit)
  return (n + unit - 1) // unit * unit
end

--- multiprocessor.limits(dev) -> table; nil, reason
--- See occupancy.limits.
function M.limits(dev)
  local major = dev.nv_compute_capability_major
  if not major then
    return nil, "this driver tells no registers"
  end
  local name = ("%d.%d"):format(major, dev.nv_compute_capability_minor or 0)
  local limits = gpus.nvidia(name)
  if not limits then
    return nil, ("the limits of compute capability %s are unknown"):format(
      name)
  end
  limits.warp = dev.nv_warp_size or limits.warp
  return limits
end

--- multiprocessor.named(gpu) -> name, limits
--- The limits of a GPU by its name or compute capability, see gpus.named.
function M.named(gpu)
  local name, known = gpus.named(gpu, "occupancy")
  if not known.unit then
    cl.error(("occupancy: %s: its registers and work-groups of a unit are not "
      .. "known"):format(name), {arg = "gpu"})
  end
  return name, known.unit
end

-- The registers that a warp takes, and the warps for which a unit has them.
local function register_share(registers, limits)
  local per_warp = roundup(registers * limits.warp,
    limits.register_unit or REGISTER_UNIT)
  local partitions = limits.partitions or PARTITIONS
  return limits.registers // partitions // per_warp * partitions
end

local function warps_of(items, limits)
  return (items + limits.warp - 1) // limits.warp
end

--- multiprocessor.of(use, limits) -> table
--- See occupancy.of.
function M.of(use, limits)
  local warps = warps_of(use.items, limits)
  local bytes = roundup(use.local_bytes + limits.reserve, limits.unit)
  local groups, by
  for _, pair in ipairs{
      {"work-groups", warps > 1 and limits.barriers or limits.groups},
      {"work-items", limits.items // (warps * limits.warp)},
      {"registers", register_share(use.registers, limits) // warps},
      {"local memory", limits.local_bytes // math.max(1, bytes)}} do
    if not groups or pair[2] < groups then
      by, groups = pair[1], math.tointeger(pair[2])
    end
  end
  return {groups = groups, items = groups * use.items, by = by,
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
--- work-group, at most those of `use`, with which a unit holds `groups`
--- groups; nil where a unit holds fewer in any case.
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

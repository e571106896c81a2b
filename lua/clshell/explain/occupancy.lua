-- explain/occupancy.lua - occupancy: the work-items of a kernel that share a
-- compute unit, from the registers and local memory that the driver tells
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local program = require "clshell.family.program"
local record = require "clshell.measure.record"
local text = require "clshell.base.text"

local M = {}

-- The limits of a multiprocessor by compute capability: work-items,
-- work-groups, KiB of local memory. All have 65536 registers. CUDA C++
-- Programming Guide, "Technical Specifications per Compute Capability".
local NVIDIA = {
  ["5.0"] = {2048, 32, 64}, ["5.2"] = {2048, 32, 96},
  ["5.3"] = {2048, 32, 64}, ["6.0"] = {2048, 32, 64},
  ["6.1"] = {2048, 32, 96}, ["6.2"] = {2048, 32, 64},
  ["7.0"] = {2048, 32, 96}, ["7.2"] = {2048, 32, 96},
  ["7.5"] = {1024, 16, 64}, ["8.0"] = {2048, 32, 164},
  ["8.6"] = {1536, 16, 100}, ["8.7"] = {1536, 16, 164},
  ["8.9"] = {1536, 24, 100}, ["9.0"] = {2048, 32, 228},
  ["10.0"] = {2048, 32, 228},
}
local REGISTERS = 65536
local PARTITIONS = 4   -- of a multiprocessor: a warp's registers lie in one
local REGISTER_UNIT = 256 -- registers are given to a warp in such pieces
local SYSTEM = 1024    -- bytes that the driver adds to a group, from 8.0 on

local function roundup(n, unit)
  return (n + unit - 1) // unit * unit
end

--- occupancy.limits(dev) -> table; nil, reason
--- The limits of a compute unit of the device: {items, groups, registers,
--- local_bytes, warp, unit (local memory comes in pieces of so many bytes),
--- reserve (bytes that each group takes besides), source}. Known for NVIDIA's
--- GPUs, by their compute capability.
function M.limits(dev)
  local major = dev.nv_compute_capability_major
  if not major then
    return nil, "this driver tells no registers"
  end
  local name = ("%d.%d"):format(major, dev.nv_compute_capability_minor or 0)
  local row = NVIDIA[name]
  if not row then
    return nil, ("the limits of compute capability %s are unknown"):format(
      name)
  end
  return {
    items = row[1], groups = row[2], registers = REGISTERS,
    local_bytes = row[3] * 1024, warp = dev.nv_warp_size or 32,
    unit = major >= 8 and 128 or 256, reserve = major >= 8 and SYSTEM or 0,
    source = ("CUDA C++ Programming Guide, compute capability %s"):format(
      name),
  }
end

--- occupancy.of(use, limits) -> table
--- The occupancy of a kernel with use.items in a work-group, use.registers of
--- a work-item and use.local_bytes of a group. The result: groups and items
--- that a unit holds at a time; share (items over the unit's limit of items);
--- by (the limit reached first: "registers", "local memory", "work-items" or
--- "work-groups"). The arithmetic is that of NVIDIA's occupancy calculator:
--- registers go to a warp in pieces of 256 from a quarter of the file, local
--- memory to a group in pieces of `unit`.
function M.of(use, limits)
  local warps = (use.items + limits.warp - 1) // limits.warp
  local per_warp = roundup(roundup(use.registers, 8) * limits.warp,
    REGISTER_UNIT)
  local fit = limits.registers // PARTITIONS // per_warp * PARTITIONS
  local bytes = use.local_bytes > 0 and roundup(use.local_bytes
    + limits.reserve, limits.unit) or limits.reserve
  local ends = {
    {"work-groups", limits.groups},
    {"work-items", limits.items // (warps * limits.warp)},
    {"registers", fit // warps},
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
    share = groups * warps * limits.warp / limits.items}
end

--- occupancy.registers(log, kernel) -> registers, spilled, local; nil
--- The figures of NVIDIA's assembler for a kernel in a build log made with
--- -cl-nv-verbose: registers of a work-item, bytes that it spills, bytes of
--- local memory of a work-group; nil where the log lacks the kernel.
function M.registers(log, kernel)
  local from = select(2, log:find("entry function '" .. kernel .. "'", 1,
    true))
  if not from then
    return nil
  end
  local part = log:sub(from):gsub("entry function '.*", "")
  local stores, loads = part:match(
    "(%d+) bytes spill stores, (%d+) bytes spill loads")
  local n = part:match("[Uu]sed (%d+) registers")
  return math.tointeger(tonumber(n)),
    (tonumber(stores) or 0) + (tonumber(loads) or 0),
    math.tointeger(tonumber(part:match("(%d+) bytes smem"))) or 0
end

local told = setmetatable({}, {__mode = "k"}) -- context -> key -> answer
local count = 0

-- A kernel that no build had before: a driver with a cache of programs writes
-- no log for a program that it knows.
local function unknown_kernel()
  count = count + 1
  return ("\nkernel void clshell_probe(global int *p) { *p = %d; }\n"):format(
    (os.time() * 1000 + count) % 0x7fffffff)
end

-- Builds the program of a launch anew for its log.
local function verbose_log(rung, defines, options, context)
  local source = assert(record.source(rung))
  local built <close> = cl.build(source .. unknown_kernel(), {
    context = context, defines = defines, name = rung.path or rung.name,
    options = (options and options .. " " or "") .. "-cl-nv-verbose",
    include = rung.path and program.folder(rung.path) or nil,
  })
  return built.log
end

--- occupancy.kernel(rung, kernel, defines, options, context) -> table; nil,
--- reason
--- The use of a rung's built kernel, a Kernel: {registers, spilled (bytes),
--- local_bytes, source}. NVIDIA's driver writes registers into the build log
--- of one more build. Other drivers tell none.
function M.kernel(rung, kernel, defines, options, context)
  if not context.device.nv_compute_capability_major then
    return nil, "this driver tells no registers"
  end
  local words = {rung.path or rung.source, kernel.name, options}
  for name, value in pairs(defines) do
    words[#words + 1] = ("%s=%s"):format(name, value)
  end
  table.sort(words)
  local key = table.concat(words, "\0")
  told[context] = told[context] or {}
  if told[context][key] == nil then
    local ok, log = pcall(verbose_log, rung, defines, options, context)
    local registers, spilled, bytes
    if ok then
      registers, spilled, bytes = M.registers(log, kernel.name)
    end
    told[context][key] = registers and {
      registers = registers, spilled = spilled,
      local_bytes = bytes,
      source = "the assembler's figures in the build log",
    } or false
  end
  if not told[context][key] then
    return nil, "the build log names no registers"
  end
  return told[context][key]
end

--- occupancy.words(use, o, limits) -> string
--- An occupancy in words, with its grounds.
function M.words(use, o, limits)
  return ("%d registers a work-item and %s of local memory a work-group let "
    .. "%d groups, %d of %d work-items (%.0f %%), share a unit, by %s"):format(
      use.registers, text.bytes(use.local_bytes), o.groups, o.items,
      limits.items, 100 * o.share, o.by)
end

return M

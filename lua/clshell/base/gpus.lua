-- base/gpus.lua - the GPUs that users name: their memory as a warp sees it
-- (for access), and the limits of a compute unit (for occupancy)
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

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
local CONSTANT = 65536 -- bytes of constant memory, of NVIDIA's and Apple's

-- A compute unit of CDNA 2 and 3: four SIMDs, each with 8 wavefronts of 64 and
-- 512 vector registers a lane. LLVM, "User Guide for AMDGPU Backend" (units of
-- registers and LDS; a group of several wavefronts takes one of 16 barriers).
local CDNA = {
  items = 2048, groups = 32, barriers = 16, registers = 131072,
  register_unit = 512, most_registers = 512, partitions = 4,
  local_bytes = 65536, most_local = 65536, warp = 64, unit = 512, reserve = 0,
  opencl_group = 256, -- as ROCm tells
  source = "LLVM, User Guide for AMDGPU Backend",
}

-- Memory. Of NVIDIA: CUDA C++ Programming Guide, "Compute Capabilities"
-- (banks); Nsight Compute, Kernel Profiling Guide (sectors, lines). Of AMD:
-- "AMD Instinct MI300 Instruction Set Architecture" (LDS), "AMD CDNA 2" and
-- "CDNA 3 white paper" (lines). Apple tells SIMD groups and cache lines, and
-- no banks. aligned: an access must lie at a multiple of its size (PTX ISA,
-- "Addresses as Operands"), so that a vload4 becomes four.
local WARP32 = {warp = 32, sector = 32, line = 128, banks = 32, bank_bytes = 4,
  aligned = true}
local CDNA2 = {warp = 64, sector = 64, line = 128, banks = 32, bank_bytes = 4}
local CDNA3 = {warp = 64, sector = 128, line = 128, banks = 32,
  bank_bytes = 4}
local APPLE = {warp = 32, sector = 128, line = 128, banks = 32, bank_bytes = 4,
  note = "Apple tells no banks; 32 of 4 bytes are assumed"}

-- A core of Apple's M1. The figures give Mesa's table of work-items against
-- registers of 16 bits.
local M1 = {
  items = 1024, groups = 32, registers = 53248, register_unit = 128,
  most_registers = 128, partitions = 2, local_bytes = 61440,
  most_local = 32768, warp = 32, unit = 128, reserve = 0, opencl_group = 256,
  opencl_constant = CONSTANT,
  source = "Mesa, agx_performance.c; local memory: Turner, Metal Benchmarks",
}

-- GPUs by name, in the order of messages: a compute capability, or the memory
-- and the limits of a unit.
local GPUS = {
  {"GTX 1080", "6.1"}, {"P100", "6.0"}, {"V100", "7.0"}, {"T4", "7.5"},
  {"RTX 2080", "7.5"}, {"A100", "8.0"}, {"RTX 3090", "8.6"},
  {"RTX 4090", "8.9"}, {"L4", "8.9"}, {"H100", "9.0"}, {"H200", "9.0"},
  {"B200", "10.0"}, {"RTX 5090", "12.0"}, {"MI200", CDNA2, CDNA},
  {"MI300", CDNA3, CDNA}, {"M1", APPLE, M1},
}

--- gpus.nvidia(capability) -> limits
--- The limits of a multiprocessor of a compute capability such as "9.0"; nil
--- for an unknown one.
function M.nvidia(capability)
  local row = NVIDIA[capability]
  local major = tonumber(capability:match "^%d+")
  return row and {
    items = row[1], groups = row[2], registers = 65536,
    register_unit = REGISTER_UNIT, most_registers = 255,
    partitions = capability == "6.0" and 2 or PARTITIONS,
    local_bytes = row[3] * 1024, most_local = row[4] * 1024,
    opencl_local = OPENCL * 1024, opencl_group = 1024,
    opencl_constant = CONSTANT, warp = 32, unit = major >= 8 and 128 or 256,
    reserve = major >= 8 and SYSTEM or 0,
    source = "CUDA C++ Programming Guide, compute capability " .. capability,
  }
end

local function plain(name)
  return (tostring(name):upper():gsub("[%s_-]", ""))
end

--- gpus.names() -> list
function M.names()
  local names = {}
  for i, known in ipairs(GPUS) do
    names[i] = known[1]
  end
  return names
end

--- gpus.named(gpu, who) -> name, {memory, unit}
--- A GPU by its name ("RTX 4090", "rtx4090") or by NVIDIA's compute capability
--- ("8.9"): memory {warp, sector, line, banks, bank_bytes, aligned, note},
--- and the limits of a unit, nil where they are not known. Other names raise.
function M.named(gpu, who)
  for _, known in ipairs(GPUS) do
    local name, memory, unit = table.unpack(known)
    if plain(name) == plain(gpu) then
      if type(memory) == "string" then
        memory, unit = WARP32, M.nvidia(memory)
      end
      return name, {memory = memory, unit = unit}
    end
  end
  local limits = type(gpu) == "string" and M.nvidia(gpu)
  if limits then
    return "compute capability " .. gpu, {memory = WARP32, unit = limits}
  end
  cl.error(("%s: %s"):format(who, text.unknown("GPU", gpu, M.names())),
    {hint = 'or give a compute capability of NVIDIA, such as "8.6"'})
end

--- gpus.pretend(gpu)
--- Has the devices of this process keep the limits that a GPU's driver tells
--- (clshell --as).
function M.pretend(gpu)
  local name, known = M.named(gpu, "--as")
  local unit = known.unit
  cl.pretend(name, {group = unit.opencl_group,
    local_mem = unit.opencl_local or unit.most_local,
    constant_mem = unit.opencl_constant})
end

return M

-- base/gpu_memory.lua - a GPU's memory as a warp sees it: sectors and lines
-- of global memory, banks of local memory; and the cost of one request of a
-- warp to each
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local gpus = require "clshell.base.gpus"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

local USUAL = "H100" -- where no GPU is named
local SIZES = {"warp", "sector", "line", "banks", "bank_bytes"}
local MOST = {warp = 64, sector = 1024, line = 1024, banks = 1024,
  bank_bytes = 16}

--- gpu_memory.of([opts [, dev]]) -> table
--- The machine that the options of `access` describe: {name, warp, sector,
--- line, banks, bank_bytes, aligned, note}. Without `as` it is an H100, with
--- the warp of the device `dev` where its driver tells one, or the GPU that
--- `dev` pretends to be.
function M.of(opts, dev)
  opts = opts or {}
  local as = opts.as
  if as == nil then
    as = dev and dev.pretends or USUAL
  end
  local name, gpu = gpus.named(as, "access")
  local m = options.with({name = name}, gpu.memory)
  if opts.as == nil and dev then
    m.warp = dev.nv_warp_size or dev.amd_wavefront_width or m.warp
  end
  for _, key in ipairs(SIZES) do
    local value = opts[key]
    if value ~= nil then
      if math.type(value) ~= "integer" or value < 1 or value > MOST[key]
          or value & (value - 1) ~= 0 then
        cl.error(("access: %s must be a power of two from 1 to %d; got %s")
          :format(key, MOST[key], text.got(value)), {arg = key})
      end
      m[key], m.name = value, nil
    end
  end
  if m.line < m.sector then
    cl.error(("access: line must be at least sector, %d; got %d"):format(
      m.sector, m.line), {arg = "line"})
  end
  return m
end

-- The number of different pieces of `unit` bytes in the accesses.
local function pieces(at, size, unit)
  local seen, n = {}, 0
  for i = 1, #at do
    for piece = at[i] // unit, (at[i] + size - 1) // unit do
      if not seen[piece] then
        seen[piece], n = true, n + 1
      end
    end
  end
  return n
end

-- The accesses of a list, equal accesses only once.
local function different(at)
  local seen, list = {}, {}
  for i = 1, #at do
    if not seen[at[i]] then
      seen[at[i]] = true
      list[#list + 1] = at[i]
    end
  end
  return list
end

--- gpu_memory.global(m, at, size) -> table
--- The cost of a request to global memory: each lane that takes part accesses
--- `size` bytes at its address in the list `at`. The result: sectors and
--- lines that the request touches, and ideal, the sectors that its bytes
--- would fill side by side.
function M.global(m, at, size)
  return {sectors = pieces(at, size, m.sector), lines = pieces(at, size,
    m.line), ideal = (#different(at) * size + m.sector - 1) // m.sector}
end

-- Whether the lanes of two neighbouring parts are served together: each lane
-- has the address of its neighbour, of lane i ~ 1 or of lane i ~ 2.
local function together(by_lane, part, share)
  for neighbour = 1, 2 do
    local same = true
    for i = part * share, (part + 2) * share - 1 do
      local own, other = by_lane[i], by_lane[i ~ neighbour]
      same = same and (not own or not other or own == other)
    end
    if same then
      return true
    end
  end
  return false
end

-- Adds the cost of lanes first to last, served together, to r.
local function serve(m, by_lane, first, last, size, r)
  local seen, hits, words, most = {}, {}, 0, 0
  for i = first, last do
    local at = by_lane[i]
    for word = at and at // m.bank_bytes or 0,
        at and (at + size - 1) // m.bank_bytes or -1 do
      if not seen[word] then
        local bank = word % m.banks
        seen[word], words = true, words + 1
        hits[bank] = (hits[bank] or 0) + 1
        most = math.max(most, hits[bank])
      end
    end
  end
  r.passes, r.ways = r.passes + most, math.max(r.ways, most)
  r.ideal = r.ideal + (words + m.banks - 1) // m.banks
end

--- gpu_memory.locals(m, at, size [, lanes]) -> table
--- The cost of a request to local memory. `lanes`: the number, from 0, of the
--- lane of each address; 0, 1, 2 ... without it. A bank serves one of its
--- words at a time, to any number of lanes. Accesses wider than a bank are
--- served in parts, of as many lanes as fill the banks once; two parts are
--- served together where lanes share addresses with their neighbours, as on
--- NVIDIA's GPUs. The result: passes (of all parts), ideal (the passes without
--- conflicts) and ways (the most words of one bank that a part asks for).
function M.locals(m, at, size, lanes)
  local by_lane, last = {}, 0
  for i = 1, #at do
    local lane = lanes and lanes[i] or i - 1
    by_lane[lane], last = at[i], math.max(last, lane)
  end
  local share = math.max(1, m.banks * m.bank_bytes // size)
  local r = {passes = 0, ideal = 0, ways = 0}
  local part, parts = 0, last // share
  while part <= parts do
    local n = part % 2 == 0 and part < parts and share > 1
      and together(by_lane, part, share) and 2 or 1
    serve(m, by_lane, part * share, (part + n) * share - 1, size, r)
    part = part + n
  end
  return r
end

--- gpu_memory.constant(m, at) -> table
--- The cost of a request to constant memory: passes, one for each different
--- address, and ideal, 1.
function M.constant(_, at)
  return {passes = #different(at), ideal = 1, ways = #different(at)}
end

return M

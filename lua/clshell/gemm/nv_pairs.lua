-- gemm/nv_pairs.lua - operands of float as pairs of halves, for the rungs
-- nv_fp16x3 and nv_fp16x3_mma
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local tiles = require "clshell.gemm.nv_tiles"
local tiling = require "clshell.family.tiling"

local groups, roundup = tiling.groups, tiling.roundup

local M = {}

--- pairs.PANEL
--- The number of lines of an operand is rounded up to a multiple of it.
M.PANEL = 128

local PACK = "nv_fp16x3_pack.cl"
local HELD = 4    -- pieces of a line that a work-item keeps in registers
local DEPTH = 256 -- rows of B whose largest elements a group finds

-- Memory for an operand with so many lines, rows of A or columns of B, in
-- blocks of that depth.
local function packed(s, lines, block)
  local context = {context = s.context}
  local height = roundup(lines, M.PANEL)
  local pieces = groups(s.k, block) * (block // 8)
  return {
    height = height, pieces = pieces, block = block,
    data = cl.buffer("uint", height * pieces * 8, nil, context),
    top = cl.buffer("uint", height, nil, context),
  }
end

-- Packs operand "a" or "b", whose lines are the stored rows.
local function pack_rows(s, run, to, X, name, lines, refused)
  local lx = 32
  while lx < 256 and lx * HELD * 8 < s.k do
    lx = 2 * lx
  end
  local ly, v = 256 // lx, tiles.vector(4, s.k, s, name)
  run(PACK, "pack_rows", {LX = lx, LY = ly, VX = v, DEPTH_OF = to.block,
      HELD = math.min(HELD, groups(to.pieces, lx))},
    {lx, to.height}, {lx, ly},
    lines, s.k, X, X.ld, to.top, to.data, refused)
end

-- Packs an operand whose lines are the stored columns.
local function pack_columns(s, run, to, X, name, lines, refused)
  local v = tiles.vector(4, lines, s, name)
  run(PACK, "top_columns", {LX = 32, LY = 8, DEPTH = DEPTH, VX = v},
    {roundup(groups(lines, v), 32), groups(s.k, DEPTH) * 8}, {32, 8},
    s.k, lines, X, X.ld, to.top)
  run(PACK, "pack_columns", {DEPTH_OF = to.block},
    {to.height, roundup(to.pieces, 8)},
    {32, 8}, s.k, lines, X, X.ld, to.top, to.data, refused)
end

--- pairs.operands(s, o, run, block) -> {packed_a, packed_b, refused}
--- Packs A and B in blocks of 16 or 32 elements of a line: {data, top, height}
--- of each, and the Buffer of the flag that the kernels set where an operand
--- does not go into pairs. The products of a batch use the same memory, one
--- after another.
function M.operands(s, o, run, block)
  s.packed = s.packed or {
    packed_a = packed(s, s.m, block), packed_b = packed(s, s.n, block),
    refused = cl.buffer("int", 1, nil, {context = s.context}),
  }
  local a, b, refused = s.packed.packed_a, s.packed.packed_b, s.packed.refused
  for _, to in ipairs{s.trans_a and a or b, s.trans_a and not s.trans_b and b
    or nil} do
    run(PACK, "clear", {}, {roundup(to.height, 256)}, {256}, to.height,
      to.top, refused)
  end
  local pack_a = s.trans_a and pack_columns or pack_rows
  local pack_b = s.trans_b and pack_rows or pack_columns
  pack_a(s, run, a, o.A, "a", s.m, refused)
  pack_b(s, run, b, o.B, "b", s.n, refused)
  return s.packed
end

return M

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
local PARTS = 8   -- of columns, whose largest elements different groups find
local DEPTH = 256 -- elements of a part, at least

-- Memory for an operand with so many lines, rows of A or columns of B, in
-- blocks of that depth.
local function packed(s, lines, block)
  local context = {context = s.context}
  local height = roundup(lines, M.PANEL)
  local pieces = groups(s.k, block) * (block // 8)
  return {
    lines = lines, height = height, pieces = pieces, block = block,
    data = cl.buffer("uint", height * pieces * 8, nil, context),
    top = cl.buffer("uint", height, nil, context),
  }
end

-- Packs operand "a" or "b", whose lines are the stored rows.
local function pack_rows(s, run, to, X, side, refused)
  local lx = 32
  while lx < 256 and lx * HELD * 8 < s.k do
    lx = 2 * lx
  end
  local ly, v = 256 // lx, tiles.vector(4, s.k, s, side)
  run(PACK, "pack_rows", {LX = lx, LY = ly, VX = v, DEPTH_OF = to.block,
      HELD = math.min(HELD, groups(to.pieces, lx))},
    {lx, to.height}, {lx, ly},
    to.lines, s.k, X, X.ld, to.top, to.data, refused)
end

-- Finds the largest elements of the lines of an operand, which are the stored
-- columns, in parts; sets `refused` to 0.
local function top_columns(s, run, to, X, side, refused)
  local depth = math.max(DEPTH, groups(s.k, PARTS))
  local v = tiles.vector(4, to.lines, s, side)
  to.count = groups(s.k, depth)
  to.parts = to.parts or cl.buffer("uint", to.count * to.height, nil,
    {context = s.context})
  run(PACK, "top_columns", {LX = 32, LY = 8, DEPTH = depth, VX = v},
    {roundup(groups(to.lines, v), 32), to.count * 8}, {32, 8},
    s.k, to.lines, X, X.ld, to.parts, to.height, refused)
end

-- Packs that operand.
local function pack_columns(s, run, to, X, _, refused)
  run(PACK, "pack_columns", {DEPTH_OF = to.block},
    {to.height, roundup(to.pieces, 8)}, {32, 8},
    s.k, to.lines, X, X.ld, to.parts, to.count, to.top, to.data, refused)
end

-- Whether the lines of operand "a" or "b" are the stored rows.
local function by_rows(s, side)
  return (side == "a") ~= (s["trans_" .. side] or false)
end

-- Packs the operands of `list`, {side, to, X} each.
local function pack(s, run, list, refused)
  local cleared = false
  for _, x in ipairs(list) do
    if not by_rows(s, x.side) then
      top_columns(s, run, x.to, x.X, x.side, refused)
      cleared = true
    end
  end
  if not cleared then
    run(PACK, "clear", {}, {1}, {1}, refused)
  end
  for _, x in ipairs(list) do
    local by = by_rows(s, x.side) and pack_rows or pack_columns
    by(s, run, x.to, x.X, x.side, refused)
  end
end

local function lines_of(s, side)
  return side == "a" and s.m or s.n
end

--- pairs.operands(s, o, run, block) -> {packed_a, packed_b, refused}
--- Packs A and B in blocks of 16 or 32 elements of a line: {data, top, height,
--- pieces} of each, and the Buffer of the flag that the kernels set where an
--- operand does not go into pairs. Operands that gemm.pack has packed stay as
--- they are. The products of a batch use the same memory, one after another.
function M.operands(s, o, run, block)
  local ready, list = s.ready or {}, {}
  s.packed = s.packed or {
    packed_a = ready.a or packed(s, s.m, block),
    packed_b = ready.b or packed(s, s.n, block),
    refused = cl.buffer("int", 1, nil, {context = s.context}),
  }
  for _, side in ipairs{"a", "b"} do
    if not ready[side] then
      list[#list + 1] = {side = side, to = s.packed["packed_" .. side],
        X = o[side:upper()]}
    end
  end
  pack(s, run, list, s.packed.refused)
  return s.packed
end

--- pairs.once(block) -> function(s, p, side, X, run) -> packed, check
--- The field `pack` of a rung, for blocks of that depth. The check returns why
--- the operand does not go into pairs, or nil.
function M.once(block)
  return function(s, _, side, X, run)
    local to = packed(s, lines_of(s, side), block)
    local refused = cl.buffer("int", 1, nil, {context = s.context})
    pack(s, run, {{side = side, to = to, X = X}}, refused)
    return to, function()
      local found <close> = refused:read()
      refused:close()
      return found[1] ~= 0 and "it has infinities, NaN or 8 neighbours below "
        .. "2^-19 of the largest in their line, which nv_ffma computes" or nil
    end
  end
end

return M

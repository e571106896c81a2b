-- ladders/gemm/nv_pairs.lua - operands of float as pairs of halves, for the
-- rungs nv_fp16x3 and nv_fp16x3_mma
-- SPDX-License-Identifier: MIT

local submatrix = require "clshell.ladders.gemm.submatrix"
local tiles = require "clshell.ladders.gemm.nv_tiles"
local tiling = require "clshell.ladder.tiling"

local groups, roundup = tiling.groups, tiling.roundup

local M = {}

local PACK = "nv_fp16x3_pack.cl"
local HELD = 4    -- pieces of a line that a work-item keeps in registers
local DEPTH = 64  -- elements of a part of columns, at least
-- Parts of columns, each searched by a work-group for its largest elements:
-- PARTS, or as many as it takes for ABREAST work-groups.
local PARTS, ABREAST = 8, 264
-- Elements of the largest operands whose columns one launch searches and
-- packs, if it loads four at once, and the work-groups that search the same
-- columns there.
local WHOLE, SHARES = 2^20, 8

-- Memory for an operand with so many lines, rows of A or columns of B, in
-- blocks of `block` elements.
local function packed(s, lines, block)
  local height = roundup(lines, tiles.PANEL)
  local pieces = groups(s.k, block) * (block // 8)
  return {
    lines = lines, height = height, pieces = pieces, block = block,
    data = tiling.scratch(s, height * pieces * 8, "uint"),
    top = tiling.scratch(s, height, "uint"),
  }
end

-- Whether the lines of operand "a" or "b" are the stored rows.
local function by_rows(s, side)
  return (side == "a") ~= (s["trans_" .. side] or false)
end

-- Work-items for a line that is a stored row.
local function abreast(s)
  local lx = 32
  while lx < 256 and lx * HELD * 8 < s.k do
    lx = 2 * lx
  end
  return lx
end

-- Whether one launch may pack an operand.
local function at_once(s, x)
  return s.k * x.to.lines <= WHOLE and (by_rows(s, x.side)
    or submatrix.vector(4, x.to.lines, s, x.side) == 4)
end

-- Prepares the first launch for an operand, {side, to, X}: it packs the
-- operand, if its lines are the stored rows or it is `whole`, or else finds
-- the largest elements of its columns, in parts. Returns the operand's
-- arguments in the kernel, its work-groups, and the elements in a load.
local function first_pass(s, x, whole)
  local to, X = x.to, x.X
  if by_rows(s, x.side) then
    return {to.lines, s.k, X, X.ld, 0, to.top, 0, to.data},
      to.height * abreast(s) // 256, submatrix.vector(4, s.k, s, x.side)
  end
  local v = submatrix.vector(4, to.lines, s, x.side)
  if whole then
    return {s.k, to.lines, X, X.ld, SHARES, to.top, to.height, to.data},
      to.height // 32 * SHARES, v
  end
  local across = groups(to.lines, 32 * v)
  local parts = math.max(PARTS, groups(ABREAST, across))
  local depth = math.max(DEPTH, groups(s.k, parts))
  to.count = groups(s.k, depth)
  to.parts = to.parts or tiling.scratch(s, to.count * to.height, "uint")
  return {s.k, to.lines, X, X.ld, depth, to.parts, to.height, to.data},
    to.count * across, v
end

-- Packs the operands of `list`, {side, to, X} each, one or two.
local function pack(s, run, list, refused)
  local x, y = list[1], list[2] or list[1]
  if not x then
    return
  end
  local whole = at_once(s, x) and at_once(s, y)
  local args, count, v = first_pass(s, x, whole)
  local others, more, w = first_pass(s, y, whole)
  args[9] = count
  table.move(others, 1, 8, 10, args)
  args[18] = refused
  run(PACK, "pack_first", {ROWS_X = by_rows(s, x.side) and 1 or 0,
      ROWS_Y = by_rows(s, y.side) and 1 or 0, LX = abreast(s), VX = v, VY = w,
      DEPTH_OF = x.to.block, WHOLE = whole and 1 or 0,
      HELD = math.min(HELD, groups(x.to.pieces, abreast(s)))},
    {(count + (y ~= x and more or 0)) * 256}, {256},
    table.unpack(args, 1, 18))
  for _, other in ipairs(list) do
    local to, X = other.to, other.X
    if not whole and not by_rows(s, other.side) then
      run(PACK, "pack_columns", {DEPTH_OF = to.block},
        {to.height, roundup(to.pieces, 8)}, {32, 8},
        s.k, to.lines, X, X.ld, to.parts, to.count, to.top, to.data, refused)
    end
  end
end

local function lines_of(s, side)
  return side == "a" and s.m or s.n
end

--- nv_pairs.operands(s, o, run, block) -> {packed_a, packed_b, refused}
--- Packs A and B in blocks of 16 or 32 elements of a line: {data, top, height,
--- pieces} of each, and the Buffer of the flag that the kernels set where an
--- operand does not go into pairs, and of a counter for the kernel that stands
--- by and clears both. Operands that gemm.pack has packed stay as they are.
--- The products of a batch use the same memory, one after another.
function M.operands(s, o, run, block)
  local ready, list = s.ready or {}, {}
  s.packed = s.packed or {
    packed_a = ready.a or packed(s, s.m, block),
    packed_b = ready.b or packed(s, s.n, block),
    refused = tiling.counters(s, 2, run),
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

--- nv_pairs.pack(s, side, X, run, block) -> packed, check
--- Packs an operand once, in blocks of `block` elements. The check returns the
--- reason why the operand does not go into pairs, or nil.
function M.pack(s, side, X, run, block)
  local to = packed(s, lines_of(s, side), block)
  local refused = tiling.counters(s, 2, run)
  pack(s, run, {{side = side, to = to, X = X}}, refused)
  return to, function()
    local found <close> = refused:read()
    refused:close()
    return found[1] ~= 0 and "it has infinities, NaN or 8 neighbours below "
      .. "2^-19 of the largest in their line, which nv_ffma computes" or nil
  end
end

return M

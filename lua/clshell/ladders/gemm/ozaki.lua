-- ladders/gemm/ozaki.lua - double products by residues, for rung ozaki: the
-- moduli, and the launches before and after the int8 products
-- SPDX-License-Identifier: MIT

local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local roundup = tiling.roundup

local M = {}

local WIDTH = 8     -- doubles of a modulus in the table of constants
local LINE = 128    -- bytes that the length of a line of residues divides by
local WIDE = 16     -- the same for a row of sums
local BLOCK = 2     -- rows and columns of a work-item, as in ozaki.cl
local SIDE = 8      -- of a work-group
local TILE = 16     -- of the kernel that stands by
local SAMPLES = 16  -- rows and columns of C that are sampled
local SHARE = 4     -- residues take no more than 1 / SHARE of the memory

--- ozaki.count(s, p) -> number
--- The most moduli: the parameter, or by the length of the sums. 15 hold what
--- a double product keeps of long sums; in short sums a single small element
--- counts for more.
function M.count(s, p)
  return p.moduli > 0 and p.moduli or s.k >= 256 and 15 or s.k >= 32 and 16
    or 18
end

--- ozaki.LARGE
--- The elements of C from which on the last of 15 moduli may be left out:
--- there nv_dmma and cuBLAS have one chain for each, below it several.
M.LARGE = 2^22

--- ozaki.defines(s, p) -> {FEWER}
--- 1: the device leaves the last modulus out where the operands allow it.
function M.defines(s, p)
  return {FEWER = p.moduli == 0 and M.count(s, p) == 15
    and 1.0 * s.m * s.n >= M.LARGE and 1 or 0}
end

-- The bytes of the lines of residues of an operand, the sizes behind them, and
-- a quarter of the sizes.
local function bytes_of(count, lines, pitch)
  return lines * ((count + 1.0) * pitch + roundup(pitch // 4, LINE))
end

-- The lines of residues of an operand: rows of A, columns of B.
local function lines_of(s, count, lines, pitch)
  return {
    lines = lines, notes = tiling.scratch(s, lines, "int8"),
    planes = tiling.scratch(s, math.tointeger(bytes_of(count, lines,
      pitch)), "char"),
  }
end

-- Memory of a plan, and the launch that fills the table of the moduli; the
-- products of a batch use it one after another.
local function memory(s, p, run)
  local count = M.count(s, p)
  local pitch, lds = roundup(s.k, LINE), roundup(s.n, WIDE)
  local own = {
    count = count, pitch = pitch, lds = lds,
    pitch4 = roundup(pitch // 4, LINE),
    constants = tiling.scratch(s, {2 * (count + 1), WIDTH}),
    a = lines_of(s, count, s.m, pitch), b = lines_of(s, count, s.n, pitch),
    sums = tiling.scratch(s, count * s.m * lds, "uchar"),
    moduli = tiling.scratch(s, count, "int"),
    refused = tiling.scratch(s, 4, "int"), -- the state: it begins with that
  }
  run({file = "ozaki_pack.cl", once = true}, "table", {}, {count + 1, 2},
    {1, 1}, count, own.constants, own.moduli)
  return own
end

--- ozaki.refusal(dev, s, p) -> reason or nil
--- The reason why the residues of a shape have no room on the device: a plan
--- keeps them, so they may take a quarter of its memory.
function M.refusal(dev, s, p)
  local count, pitch = M.count(s, p), roundup(s.k, LINE)
  local a, b = bytes_of(count, s.m, pitch), bytes_of(count, s.n, pitch)
  local c = 1.0 * count * s.m * roundup(s.n, WIDE)
  local limit, all = dev.max_mem_alloc_size, dev.global_mem_size
  local most = math.max(a, b, c)
  if limit and most > limit then
    return ("the residues take %s in a Buffer, device allows %s"):format(
      text.bytes(most), text.bytes(limit))
  elseif all and a + b + c > all / SHARE then
    return ("the residues take %s, more than a quarter of the device's "
      .. "memory"):format(text.bytes(a + b + c))
  end
end

function M.range(s, p)
  local global, size = tiling.range(s.n, s.m, BLOCK * SIDE, BLOCK * SIDE,
    SIDE, SIDE)
  return {global[1], global[2], M.count(s, p)}, {size[1], size[2], 1}
end

-- The arguments of the int8 products, of ozaki.cl.
function M.args(s, _, o)
  local own = o.own
  return {s.m, s.n, own.pitch, own.count, own.a.planes, own.b.planes,
    own.constants, own.sums, own.lds, own.refused}
end

--- ozaki.TOLERANCE
--- The mean loss allowed in an element of C, as a fraction of |A||B|; with one
--- modulus fewer it is twice that.
M.TOLERANCE = 0.3 * 2^-53

-- The launches that find the scales of an operand's lines, and that store
-- their residues; `across`: it is stored with the lines side by side.
local function operand(s, p, own, side, X, across, run)
  local to, most = own[side], tiling.group_size(s, 512)
  local wide = across and 32 or 1
  local deep = across and math.max(1, most // 32) or math.min(128, most)
  local ly = math.max(1, math.min(8, most // 32))
  local defines = M.defines(s, p)
  defines.COUNT, defines.ACROSS, defines.LY = own.count, across and 1 or 0, ly
  defines.WIDE, defines.DEEP = wide, deep
  defines.VX = not across and submatrix.vector(2, s.k, s, side) or nil
  local function measure()
    run("ozaki_pack.cl", "measure", defines, {roundup(to.lines, wide), deep},
      {wide, deep}, to.lines, s.k, X, X.ld, own.constants, to.notes,
      own.refused)
  end
  return measure, function()
    run("ozaki_pack.cl", "pack", defines,
      {own.pitch // 4, tiling.groups(to.lines, across and 32 or ly) * ly},
      {32, ly}, to.lines, s.k, X, X.ld, own.pitch, to.notes, to.planes,
      own.pitch4, own.refused)
  end
end

-- Refuses operands that lose too much in some of SAMPLES x SAMPLES elements of
-- C, before they are packed.
local function sample(s, own, A, B, run)
  local size = tiling.group_size(s, 64)
  local function steps(X, across)
    return across and 1 or X.ld, across and X.ld or 1
  end
  local a_line, a_step = steps(A, s.trans_a)
  local b_line, b_step = steps(B, not s.trans_b)
  run("ozaki_pack.cl", "sample", {COUNT = own.count, SAMPLE = size},
    {size * math.min(SAMPLES, s.n), math.min(SAMPLES, s.m)}, {size, 1}, s.m,
    s.n, s.k, A, a_line, a_step, B, b_line, b_step, own.a.notes, own.b.notes,
    M.TOLERANCE, own.refused)
end

--- ozaki.pack(s, p, o, run) -> own
--- Packs A and B.
function M.pack(s, p, o, run)
  s.ozaki = s.ozaki or memory(s, p, run)
  local own = s.ozaki
  run("../reduce/counters.cl", "clear", {}, {4}, nil, own.refused)
  local measure_a, pack_a = operand(s, p, own, "a", o.A, s.trans_a, run)
  local measure_b, pack_b = operand(s, p, own, "b", o.B, not s.trans_b, run)
  measure_a()
  measure_b()
  sample(s, own, o.A, o.B, run)
  pack_a()
  pack_b()
  return own
end

--- ozaki.prepare(s, p, o, run) -> {own}
--- Packs the operands and finds out whether the product is as exact as a
--- double one: if not, own.refused is 1.
function M.prepare(s, p, o, run)
  local own = M.pack(s, p, o, run)
  local global, group = M.range(s, p)
  run("ozaki.cl", "check", M.defines(s, p), {global[1], global[2]},
    {group[1], group[2]}, s.m, s.n, own.pitch, own.count, own.a.planes,
    own.b.planes, own.a.notes, own.b.notes, M.TOLERANCE, own.refused)
  return {own = own}
end

--- ozaki.combine(s, p, o, run)
--- Makes C of the sums modulo each modulus.
function M.combine(s, p, o, run)
  local own, C, defines = o.own, o.C, M.defines(s, p)
  local lx = math.min(64, tiling.group_size(s, 64))
  defines.COUNT, defines.LX = own.count, lx
  run("ozaki_pack.cl", "combine", defines,
    {roundup(tiling.groups(s.n, 4), lx), s.m}, {lx, 1}, s.n, own.sums,
    own.lds, own.constants, own.a.notes, own.b.notes, s.alpha, s.beta, C,
    C.ld, own.refused)
end

--- ozaki.finish(s, p, o, run)
--- Makes C; where the operands were refused, in double.
function M.finish(s, p, o, run)
  M.combine(s, p, o, run)
  local own, C = o.own, o.C
  local dev = s.context.device
  local tile = dev.max_work_group_size < TILE^2 and TILE // 2 or TILE
  local global, group = tiling.range(s.n, s.m, tile, tile)
  run({file = "tiled_transposed_b.cl", unless = own.refused}, "gemm",
    {REAL = s.type, TILE = tile, STANDBY = 1}, global, group, s.m, s.n, s.k,
    s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, C, C.ld, own.refused)
end

return M

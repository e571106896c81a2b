-- gemm/nv_rungs.lua - rungs of the GEMM ladder for NVIDIA GPUs, in inline PTX
-- An array of rung tables like gemm/rungs.lua. Each rung asks the device for
-- its compute capability and refuses where that does not suffice.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local tiles = require "clshell.gemm.nv_tiles"
local tiling = require "clshell.family.tiling"

local tiled = tiles.tiled
local groups, roundup = tiling.groups, tiling.roundup

-- Tilings by columns and a row for each. A work-group computes bm x bn
-- elements of C, each of its warps wm x wn; `resident` work-groups share a
-- multiprocessor; `rate` is the measured speed on a large product, in TFLOPS
-- of one H100: only the proportions matter, for the choice among them.
local function tilings(columns, rows)
  for _, t in ipairs(rows) do
    local i = 0
    for column in columns:gmatch "%S+" do
      i = i + 1
      t[column] = t[i]
    end
    t.name = ("%dx%d"):format(t.bm, t.bn)
  end
  return rows
end

local FFMA = {
  float = tilings("bm bn bk wm wn lm stages spread resident rate", {
    {128, 256, 8, 64, 64, 4, 3, 1, 1, 52.3},
    {128, 128, 8, 64, 64, 4, 3, 3, 2, 51.8},
    {64, 128, 16, 32, 64, 4, 2, 1, 3, 48.5},
    {128, 64, 16, 64, 32, 8, 2, 1, 3, 46.5},
    {64, 64, 16, 32, 32, 4, 3, 1, 5, 42.0},
    {32, 32, 16, 16, 32, 4, 3, 1, 12, 33.0},
  }),
  double = tilings("bm bn bk wm wn lm stages spread resident rate", {
    {128, 128, 8, 64, 32, 8, 2, 1, 1, 26.1},
    {128, 64, 8, 64, 32, 8, 3, 1, 2, 25.2},
    {64, 64, 16, 32, 32, 8, 2, 1, 3, 23.4},
  }),
}
local DMMA = {
  double = tilings("bm bn bk wm wn stages resident rate", {
    {128, 64, 8, 64, 32, 3, 2, 56.4, raster = 16},
    {64, 128, 8, 32, 64, 3, 2, 55.0},
    {64, 64, 8, 32, 32, 3, 4, 52.4},
  }),
}
local TF32 = {
  float = tilings("bm bn bk wm wn stages resident rate", {
    {128, 128, 16, 64, 64, 3, 2, 192},
    {96, 128, 16, 48, 64, 3, 2, 178},
  }),
}
-- A warp takes 16 columns of a work-group's tile, and all its rows.
local WGMMA = {
  float = tilings("bm bn bk wm wn stages sets direct resident rate", {
    {192, 192, 16, 192, 16, 4, 4, true, 1, 258},
    {128, 128, 16, 128, 16, 6, 3, true, 2, 214},
  }),
}

local PACK = "nv_fp16x3_pack.cl"
local BLOCK = 16 -- depth of a packed block
local PIECES = 2 -- in a row of a block, of 8 elements each
local PANEL = 128 -- rows of a block, side of the tiles of C
local DEPTH = 256 -- rows of B whose largest elements a group finds

-- The packed form of an operand with so many lines (rows of A, columns of
-- B), each of so many elements: the buffers that nv_fp16x3.cl reads.
local function packed(s, lines, depth)
  local context = {context = s.context}
  local height = roundup(lines, PANEL)
  local pieces = groups(depth, BLOCK) * PIECES
  return {
    height = height, pieces = pieces,
    data = cl.buffer("uint", height * pieces * 8, nil, context),
    top = cl.buffer("uint", height, nil, context),
  }
end

-- Packs operand "a" or "b", whose lines are the stored rows.
local function pack_rows(s, run, to, X, name, lines, refused)
  local lx = s.k <= 1024 and 32 or 256
  local ly, v = 256 // lx, tiles.vector(4, s.k, s, name)
  run(PACK, "pack_rows", {LX = lx, LY = ly, VX = v},
    {lx, to.height}, {lx, ly},
    lines, s.k, X, X.ld, to.top, to.data, refused)
end

-- Packs an operand whose lines are the stored columns.
local function pack_columns(s, run, to, X, _, lines, refused)
  run(PACK, "top_columns", {LX = 32, LY = 8, DEPTH = DEPTH},
    {roundup(lines, 32), groups(s.k, DEPTH) * 8}, {32, 8},
    s.k, lines, X, X.ld, to.top)
  run(PACK, "pack_columns", {}, {to.height, roundup(to.pieces, 8)},
    {32, 8}, s.k, lines, X, X.ld, to.top, to.data, refused)
end

-- The products of a batch use the same memory, one after another.
local function pack_operands(s, _, o, run)
  s.packed = s.packed or {
    packed_a = packed(s, s.m, s.k), packed_b = packed(s, s.n, s.k),
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

-- Adds whether A and B are handed over transposed.
local function with_trans(defines, s)
  defines.TRANS_A = s.trans_a and 1 or 0
  defines.TRANS_B = s.trans_b and 1 or 0
  return defines
end

-- Operands that nv_ffma.cl turns are copied element by element.
local function ffma_defines(t, splits, s)
  local v = 16 // s.esize
  local defines = tiles.defines(t, splits, s,
    "bm bn bk wm wn lm stages spread",
    {s.trans_a and v or 1, s.trans_b and 1 or v, v})
  defines.V = v
  return with_trans(defines, s)
end

-- nv_ffma after nv_fp16x3, for operands that the latter has refused.
local function stand_by(s, _, o, run)
  local t = tiles.choose(FFMA[s.type], s, {tile = "auto", split = 1})
  local size = 32 * tiles.warps(t)
  local defines = ffma_defines(t, 1, s)
  defines.REAL, defines.STANDBY = s.type, 1
  run("nv_ffma.cl", "gemm", defines,
    {groups(s.m, t.bm) * groups(s.n, t.bn) * size, 1}, {size, 1},
    s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C, o.C.ld,
    s.k, o.refused)
end

-- Arguments of a kernel of unknown signature: see ptx.lua.
local function typed(args)
  local list = {}
  for i, x in ipairs(args) do
    local number = (i == 4 or i == 9) and cl.float or cl.int
    list[i] = type(x) == "number" and number(x) or x
  end
  return list
end

local nv_wgmma = tiled({
  name = "nv_wgmma", file = "nv_wgmma.cl", ptx = true,
  lesson = "the same by warp groups: the tensor cores at their own pace",
  input_roundoff = 2^-10,
  defines = function(t, splits, s)
    return tiles.defines(t, splits, s, "bm bn bk stages sets", {4, 2, 2})
  end,
}, WGMMA, 90, true)
local untyped = nv_wgmma.args
function nv_wgmma.args(s, p, o)
  return typed(untyped(s, p, o))
end

return {
  tiled({
    name = "nv_ffma", file = "nv_ffma.cl",
    lesson = "copies beside the arithmetic, warp tiles: near the FMA peak",
    trans = {a = "any", b = "any"}, defines = ffma_defines,
  }, FFMA, 80),
  tiled({
    name = "nv_dmma", file = "nv_dmma.cl",
    lesson = "double on the tensor cores: twice the rate, the same rounding",
    trans = {a = "any", b = "any"},
    defines = function(t, splits, s)
      return with_trans(tiles.defines(t, splits, s, "bm bn wm wn stages",
        {2, 2, 2}), s)
    end,
  }, DMMA, 90),
  {
    name = "nv_fp16x3", file = "nv_fp16x3.cl", places = "one",
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "float as two halves each: three products on the tensor cores",
    defines = function()
      return {STAGES = 2, RASTER = tiles.RASTER}
    end,
    accepts = function(dev, s)
      return tiles.other_type({float = true}, s) or tiles.lacks(dev, 80)
    end,
    range = function(s)
      return {groups(s.m, PANEL) * groups(s.n, PANEL) * 128}, {128}
    end,
    local_bytes = function()
      return 2 * 2 * PANEL * 4 * BLOCK
    end,
    prepare = pack_operands,
    args = function(s, _, o)
      local a, b = o.packed_a, o.packed_b
      return {s.m, s.n, groups(s.k, BLOCK), s.alpha, a.data, b.data, a.top,
        b.top, s.beta, o.C, o.C.ld, o.refused}
    end,
    finish = stand_by,
  },
  tiled({
    name = "nv_tf32", file = "nv_tf32.cl",
    lesson = "elements cut to 11 bits: fast, three digits, not for float",
    input_roundoff = 2^-10,
    defines = function(t, splits, s)
      return tiles.defines(t, splits, s, "bm bn wm wn stages", {4, 4, 2})
    end,
  }, TF32, 80),
  nv_wgmma,
}

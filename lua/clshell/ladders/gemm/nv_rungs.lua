-- ladders/gemm/nv_rungs.lua - rungs of the GEMM ladder for NVIDIA GPUs, in
-- inline PTX: an array of rung tables like ladders/gemm/rungs.lua. Each rung
-- asks the device for its compute capability and refuses a lower one.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local hopper = require "clshell.ladders.gemm.nv_hopper"
local pairs_of = require "clshell.ladders.gemm.nv_pairs"
local tiles = require "clshell.ladders.gemm.nv_tiles"
local tiling = require "clshell.ladder.tiling"

local tiled, tilings = tiles.tiled, tiles.tilings
local groups = tiling.groups

local FFMA = {
  float = tilings("bm bn bk wm wn lm stages spread resident rate", {
    {128, 256, 8, 64, 64, 4, 3, 1, 1, 52.3},
    {128, 128, 8, 64, 64, 4, 3, 3, 2, 51.3},
    {64, 128, 16, 32, 64, 4, 3, 4, 3, 50.5},
    {128, 64, 16, 64, 32, 8, 3, 4, 3, 47.5},
    {64, 64, 16, 32, 32, 4, 4, 4, 5, 43.5},
    {32, 64, 16, 16, 32, 4, 4, 4, 7, 37.5},
    {32, 32, 16, 16, 32, 4, 3, 1, 12, 33.0},
  }),
  double = tilings("bm bn bk wm wn lm stages spread resident rate", {
    {128, 128, 8, 64, 32, 8, 2, 1, 1, 26.1},
    {128, 64, 8, 64, 32, 8, 3, 1, 2, 25.2},
    {64, 64, 16, 32, 32, 8, 2, 1, 3, 23.4},
  }),
}
local DMMA = {
  double = tilings("bm bn bk wm wn stages resident rate large", {
    {128, 64, 16, 64, 32, 3, 2, 57.5, true, raster = 16},
    {64, 128, 16, 32, 64, 3, 2, 56.3, true},
    {64, 64, 16, 32, 32, 3, 4, 54.7, true},
  }),
}
local TF32 = {
  float = tilings("bm bn bk wm wn stages resident rate", {
    {128, 128, 16, 64, 64, 3, 2, 192},
    {96, 128, 16, 48, 64, 3, 2, 178},
  }),
}
local BLOCK = 16 -- depth of the packed blocks of nv_fp16x3_mma.cl

-- Operands that nv_ffma.cl turns are copied element by element.
local function ffma_defines(t, splits, s)
  local v = 16 // s.esize
  local defines = tiles.defines(t, splits, s,
    "bm bn bk wm wn lm stages spread",
    {s.trans_a and v or 1, s.trans_b and 1 or v, v})
  defines.V = v
  return tiling.with_trans(defines, s)
end

-- Runs nv_ffma after a rung that has refused its operands.
local function stand_by(s, _, o, run)
  local t = tiles.choose(FFMA[s.type], s, {tile = "auto", split = 1})
  local size = 32 * tiles.warps(t)
  local defines = ffma_defines(t, 1, s)
  defines.REAL, defines.STANDBY = s.type, 1
  run("nv_ffma.cl", "gemm", defines,
    {tiles.count(t, s) * size, 1}, {size, 1},
    s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C, o.C.ld,
    s.k, o.refused)
end

-- The arguments of a kernel of unknown signature: see ladder/ptx.lua.
local function typed(args, real)
  local list = {}
  for i, x in ipairs(args) do
    local number = (i == 4 or i == 9) and real or cl.int
    list[i] = type(x) == "number" and number(x) or x
  end
  return list
end

local nv_dmma = tiled({
  name = "nv_dmma", file = "nv_dmma.cl", ptx = true,
  lesson = "double on the tensor cores: twice the rate, the same rounding",
  trans = {a = "any", b = "any"},
  defines = function(t, splits, s)
    return tiling.with_trans(tiles.defines(t, splits, s,
      "bm bn wm wn stages", {2, 2, 2}), s)
  end,
}, DMMA, 90, true)
local untyped = nv_dmma.args
function nv_dmma.args(s, p, o)
  return typed(untyped(s, p, o), cl.double)
end

local rungs = {
  tiled({
    name = "nv_ffma", file = "nv_ffma.cl",
    lesson = "copies beside the arithmetic, warp tiles: near the FMA peak",
    trans = {a = "any", b = "any"}, defines = ffma_defines,
  }, FFMA, 80),
  nv_dmma,
  {
    name = "nv_fp16x3_mma", file = "nv_fp16x3_mma.cl", places = "one",
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "float as two halves each: three products on the tensor cores",
    defines = function()
      return {STAGES = 2, RASTER = tiles.RASTER}
    end,
    accepts = function(dev, s)
      return tiles.other_type({float = true}, s) or tiling.lacks(dev, 80)
    end,
    range = function(s)
      return {groups(s.m, pairs_of.PANEL) * groups(s.n, pairs_of.PANEL)
        * 128}, {128}
    end,
    local_bytes = function()
      return 2 * 2 * pairs_of.PANEL * 4 * BLOCK
    end,
    prepare = function(s, _, o, run)
      return pairs_of.operands(s, o, run, BLOCK)
    end,
    pack = pairs_of.once(BLOCK),
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
}
return table.move(hopper(stand_by), 1, 3, #rungs + 1, rungs)

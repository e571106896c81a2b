-- gemm_nv_rungs.lua - rungs of the GEMM ladder for NVIDIA GPUs, in inline PTX
-- An array of rung tables like gemm_rungs.lua. Each rung asks the device for
-- its compute capability and refuses where that does not suffice.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local place = require "clshell.gemm_place"

local function groups(n, size)
  return (n + size - 1) // size
end

-- Why the device lacks what a rung is written for, nil if it does not:
-- `least` is the compute capability, 9.0 as 90.
local function lacks(dev, least)
  local major = dev.nv_compute_capability_major
  if not major then
    return ("needs an NVIDIA GPU of compute capability %d.%d, the device "
      .. "names none"):format(least // 10, least % 10)
  end
  local minor = dev.nv_compute_capability_minor
  if 10 * major + minor < least then
    return ("needs compute capability %d.%d, the device has %d.%d"):format(
      least // 10, least % 10, major, minor)
  end
end

-- Tilings. A work-group computes bm x bn elements of C, each of its warps
-- wm x wn; `resident` work-groups share a multiprocessor; `rate` is the
-- measured speed on a large product, in TFLOPS of one H100: only the
-- proportions matter, for the choice among them.
local FFMA = {
  float = {
    {name = "128x256", bm = 128, bn = 256, bk = 8, wm = 64, wn = 64, lm = 4,
      stages = 3, spread = 1, resident = 1, rate = 52.3},
    {name = "128x128", bm = 128, bn = 128, bk = 8, wm = 64, wn = 64, lm = 4,
      stages = 3, spread = 3, resident = 2, rate = 51.8},
    {name = "64x128", bm = 64, bn = 128, bk = 16, wm = 32, wn = 64, lm = 4,
      stages = 2, spread = 1, resident = 3, rate = 48.5},
    {name = "128x64", bm = 128, bn = 64, bk = 16, wm = 64, wn = 32, lm = 8,
      stages = 2, spread = 1, resident = 3, rate = 46.5},
    {name = "64x64", bm = 64, bn = 64, bk = 16, wm = 32, wn = 32, lm = 4,
      stages = 3, spread = 1, resident = 5, rate = 42.0},
    {name = "32x32", bm = 32, bn = 32, bk = 16, wm = 16, wn = 32, lm = 4,
      stages = 3, spread = 1, resident = 12, rate = 33.0},
  },
  double = {
    {name = "128x128", bm = 128, bn = 128, bk = 8, wm = 64, wn = 32, lm = 8,
      stages = 2, spread = 1, resident = 1, rate = 26.1},
    {name = "128x64", bm = 128, bn = 64, bk = 8, wm = 64, wn = 32, lm = 8,
      stages = 3, spread = 1, resident = 2, rate = 25.2},
    {name = "64x64", bm = 64, bn = 64, bk = 16, wm = 32, wn = 32, lm = 8,
      stages = 2, spread = 1, resident = 3, rate = 23.4},
  },
}
local DMMA = {
  double = {
    {name = "128x64", bm = 128, bn = 64, bk = 8, wm = 64, wn = 32,
      stages = 3, resident = 2, raster = 16, rate = 56.4},
    {name = "64x128", bm = 64, bn = 128, bk = 8, wm = 32, wn = 64,
      stages = 3, resident = 2, rate = 55.0},
    {name = "64x64", bm = 64, bn = 64, bk = 8, wm = 32, wn = 32,
      stages = 3, resident = 4, rate = 52.4},
  },
}
local TF32 = {
  float = {
    {name = "128x128", bm = 128, bn = 128, bk = 16, wm = 64, wn = 64,
      stages = 3, resident = 2, rate = 192},
    {name = "96x128", bm = 96, bn = 128, bk = 16, wm = 48, wn = 64,
      stages = 3, resident = 2, rate = 178},
  },
}
local SPLITS = {1, 2, 4, 8}
local RASTER = 8 -- rows of tiles worked off together, unless t.raster

-- Length of the sums in one of several splits: whole tiles, whatever their
-- depth, so that every split begins at a multiple of 16 bytes.
local function depth_of(k, splits)
  return groups(groups(k, splits), 16) * 16
end

local function warps(t)
  return t.bm // t.wm * (t.bn // t.wn)
end

-- Local memory of a tiling, in bytes: nv_ffma.cl lengthens lines of operands
-- that it turns, A and a transposed B.
local function footprint(t, s)
  local turned = (s.trans_a and 0 or 1) + (s.trans_b and 1 or 0)
  local padding = t.lm and turned * 16 // s.esize or 0
  return t.stages * t.bk * (t.bm + padding + t.bn) * s.esize
end

-- Whether the device has that much.
local function fits(t, s)
  local limit = s.context and s.context.device.local_mem_size or 49152
  return footprint(t, s) <= limit
end

-- What a product costs with a tiling and a number of splits, in seconds on
-- the scale of `rate`. The multiprocessor with the most tiles decides; it
-- works on `resident` of them at a time, the last ones on their own, and
-- fewer warps hide less of the latency. Further splits cost the writing and
-- reading of the parts.
local function cost(t, splits, s, units)
  local tiles = groups(s.m, t.bm) * groups(s.n, t.bn) * splits * s.batch
  local most = groups(tiles, units)
  local depth = depth_of(s.k, splits)
  local one = 2 * t.bm * t.bn * depth / (t.rate / 132 * 1e12)
  local function share(count) -- of the rate that so many tiles at once reach
    return 1 / (1 + 1.2 / (count * warps(t)))
  end
  local rest = most % t.resident
  -- C goes out, and other tiles compute meanwhile only where there are some
  one = one + t.bm * t.bn * s.esize / (2.5e12 / 132) / t.resident
  local time = 5e-6 + (most - rest) * one
  if rest > 0 then
    time = time + rest * one * share(t.resident) / share(rest)
  end
  if splits > 1 then
    time = time + 6e-6 + 2 * splits * s.batch * s.m * s.n * s.esize / 1.5e12
  end
  return time
end

-- The tiling and the number of splits of a product: what the parameters
-- say, the cheapest of what they leave open. nil where the named tiling is
-- none of the type's.
local function choose(list, s, p)
  local units = s.context and s.context.device.compute_units or 132
  local best, tiling, splits
  for _, t in ipairs(list) do
    if p.tile == t.name or p.tile == "auto" and fits(t, s) then
      for _, n in ipairs(p.split == 0 and SPLITS or {p.split}) do
        local c = cost(t, n, s, units)
        if (n == 1 or n * 4 * t.bk <= s.k) and not (best and best <= c) then
          best, tiling, splits = c, t, n
        end
      end
    end
  end
  return tiling, splits
end

-- Parameters of a rung with these tilings, by type.
local function params(tilings)
  local names, seen = {"auto"}, {}
  for _, type in ipairs{"float", "double"} do
    for _, t in ipairs(tilings[type] or {}) do
      if not seen[t.name] then
        seen[t.name] = true
        names[#names + 1] = t.name
      end
    end
  end
  return {
    {
      name = "tile", values = names, default = "auto",
      help = "rows x columns of C per work-group; auto: by the shape",
    },
    {
      name = "split", values = {0, table.unpack(SPLITS)}, default = 0,
      help = "parts of each sum, computed side by side; 0: by the shape",
    },
  }
end

-- Why a rung with entries for some types only does not take this one.
local function other_type(entries, s)
  if not entries[s.type] then
    local types = {}
    for type in pairs(entries) do
      types[#types + 1] = type
    end
    table.sort(types)
    return ("computes in %s, the matrices are %s"):format(
      table.concat(types, " and "), s.type)
  end
end

local function refusal(tilings, least)
  return function(dev, s, p)
    local reason = other_type(tilings, s) or lacks(dev, least)
    if reason then
      return reason
    end
    if not choose(tilings[s.type], s, p) then
      return ("tile = %s and split = %d do not go with %s and k = %d"):format(
        p.tile, p.split, s.type, s.k)
    end
  end
end

-- The fields that nv_ffma and nv_dmma have in common. Sums in parts go to a
-- scratch matrix, which nv_split.cl adds up.
local function tiled(rung, tilings, least)
  local function choice(s, p)
    return choose(tilings[s.type], s, p)
  end
  rung.params, rung.places = params(tilings), "batch"
  rung.accepts = refusal(tilings, least)
  function rung.range(s, p)
    local t, splits = choice(s, p)
    local size = 32 * warps(t)
    return {groups(s.m, t.bm) * groups(s.n, t.bn) * size, splits}, {size, 1}
  end
  function rung.local_bytes(s, p)
    return footprint(choice(s, p), s)
  end
  function rung.prepare(s, p, o)
    local _, splits = choice(s, p)
    if splits > 1 then
      return {C = place.scratch(s, splits * s.m, s.n, o.C)}
    end
  end
  function rung.args(s, p, o)
    local _, splits = choice(s, p)
    local whole = splits == 1
    return {s.m, s.n, s.k, whole and s.alpha or 1, o.A, o.A.ld, o.B, o.B.ld,
      whole and s.beta or 0, o.C, o.C.ld, depth_of(s.k, splits)}
  end
  function rung.finish(s, p, o, run, original)
    local _, splits = choice(s, p)
    if splits > 1 then
      run("nv_split.cl", "add_parts", {REAL = s.type},
        {groups(s.n, 32) * 32, groups(s.m, 8) * 8}, {32, 8},
        s.m, s.n, splits, s.alpha, o.C, s.beta, original.C, original.C.ld)
    end
  end
  return rung
end

-- Elements that a copy or store of operand "a", "b" or "c" may move at once:
-- `wide` where rows of that length, their distance and where the matrices
-- begin keep to 16 bytes, else 1. Buffers begin at multiples of more.
local function vector(wide, length, s, name)
  local sum = length % wide + s["ld" .. name] % wide
    + s["start_" .. name] % wide + s["stride_" .. name] % wide
  return sum == 0 and wide or 1
end

-- The same for A and B, stored as they are.
local function vector_a(wide, s)
  return vector(wide, s.trans_a and s.m or s.k, s, "a")
end

local function vector_b(wide, s)
  return vector(wide, s.trans_b and s.k or s.n, s, "b")
end

-- The same for C, or for what several splits have in its place.
local function vector_c(wide, s, splits)
  if splits > 1 then
    return s.n % wide == 0 and wide or 1
  end
  return vector(wide, s.n, s, "c")
end

local PACK = "nv_fp16x3_pack.cl"
local BLOCK = 16 -- depth of a packed block
local PIECES = 2 -- in a row of a block, of 8 elements each
local PANEL = 128 -- rows of a block, side of the tiles of C
local DEPTH = 256 -- rows of B whose largest elements a group finds

-- The packed form of an operand with so many lines (rows of A, columns of
-- B), each of so many elements: the buffers that nv_fp16x3.cl reads.
local function packed(s, lines, depth)
  local context = {context = s.context}
  local height = groups(lines, PANEL) * PANEL
  local pieces = groups(depth, BLOCK) * PIECES
  return {
    height = height, pieces = pieces,
    data = cl.buffer("uint", height * pieces * 8, nil, context),
    top = cl.buffer("uint", height, nil, context),
  }
end

-- Packs operand "a" or "b", whose lines are the rows of what is stored.
local function pack_rows(s, run, to, X, name, lines, refused)
  local lx = s.k <= 1024 and 32 or 256
  local ly = 256 // lx
  run(PACK, "pack_rows", {LX = lx, LY = ly, VX = vector(4, s.k, s, name)},
    {lx, to.height}, {lx, ly},
    lines, s.k, X, X.ld, to.top, to.data, refused)
end

-- Packs an operand whose lines are the columns of what is stored.
local function pack_columns(s, run, to, X, lines, refused)
  run(PACK, "top_columns", {LX = 32, LY = 8, DEPTH = DEPTH},
    {groups(lines, 32) * 32, groups(s.k, DEPTH) * 8}, {32, 8},
    s.k, lines, X, X.ld, to.top)
  run(PACK, "pack_columns", {}, {to.height, groups(to.pieces, 8) * 8},
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
    run(PACK, "clear", {}, {groups(to.height, 256) * 256}, {256}, to.height,
      to.top, refused)
  end
  if s.trans_a then
    pack_columns(s, run, a, o.A, s.m, refused)
  else
    pack_rows(s, run, a, o.A, "a", s.m, refused)
  end
  if s.trans_b then
    pack_rows(s, run, b, o.B, "b", s.n, refused)
  else
    pack_columns(s, run, b, o.B, s.n, refused)
  end
  return s.packed
end

local function ffma_defines(p, s)
  local t, splits = choose(FFMA[s.type], s, p)
  local v = 16 // s.esize
  return {
    V = v, BM = t.bm, BN = t.bn, BK = t.bk, WM = t.wm, WN = t.wn,
    LM = t.lm, STAGES = t.stages, SPREAD = t.spread,
    RASTER = t.raster or RASTER,
    TRANS_A = s.trans_a and 1 or 0, TRANS_B = s.trans_b and 1 or 0,
    VA = s.trans_a and vector_a(v, s) or 1,
    VB = s.trans_b and 1 or vector_b(v, s), VC = vector_c(v, s, splits),
  }
end

-- nv_ffma after nv_fp16x3, for operands that the latter has refused.
local function stand_by(s, _, o, run)
  local p = {tile = "auto", split = 1}
  local t = choose(FFMA[s.type], s, p)
  local size = 32 * warps(t)
  local defines = ffma_defines(p, s)
  defines.REAL, defines.STANDBY = s.type, 1
  run("nv_ffma.cl", "gemm", defines,
    {groups(s.m, t.bm) * groups(s.n, t.bn) * size, 1}, {size, 1},
    s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C, o.C.ld,
    s.k, o.refused)
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
    defines = function(p, s)
      local t, splits = choose(DMMA[s.type], s, p)
      return {
        BM = t.bm, BN = t.bn, WM = t.wm, WN = t.wn, STAGES = t.stages,
        RASTER = t.raster or RASTER, VA = vector_a(2, s),
        VB = vector_b(2, s), VC = vector_c(2, s, splits),
        TRANS_A = s.trans_a and 1 or 0, TRANS_B = s.trans_b and 1 or 0,
      }
    end,
  }, DMMA, 90),
  {
    name = "nv_fp16x3", file = "nv_fp16x3.cl", places = "one",
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "float as two halves each: three products on the tensor cores",
    defines = function()
      return {STAGES = 2, RASTER = RASTER}
    end,
    accepts = function(dev, s)
      return other_type({float = true}, s) or lacks(dev, 80)
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
    defines = function(p, s)
      local t, splits = choose(TF32[s.type], s, p)
      return {
        BM = t.bm, BN = t.bn, WM = t.wm, WN = t.wn, STAGES = t.stages,
        RASTER = t.raster or RASTER, VA = vector_a(4, s),
        VB = vector_b(4, s), VC = vector_c(2, s, splits),
      }
    end,
  }, TF32, 80),
}

-- ladders/gemm/nv_rungs.lua - rungs of the GEMM ladder for NVIDIA GPUs, in
-- inline PTX: an array of rung tables like ladders/gemm/rungs.lua. Each rung
-- asks the device for its compute capability and refuses a lower one.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"
local tiles = require "clshell.ladders.gemm.nv_tiles"
local tiling = require "clshell.ladder.tiling"

local tiled, tilings = tiles.tiled, tiles.tilings
local groups, roundup = tiling.groups, tiling.roundup

local FFMA = {
  float = tilings("bm bn bk wm wn lm stages spread resident rate", {
    {128, 256, 8, 64, 64, 4, 3, 1, 1, 52.3},
    {128, 128, 8, 64, 64, 4, 3, 3, 2, 51.3},
    {64, 128, 16, 32, 64, 4, 3, 4, 3, 50.5},
    {128, 64, 16, 64, 32, 8, 3, 4, 3, 47.5},
    {64, 64, 16, 32, 32, 4, 4, 4, 5, 43.5},
    {32, 64, 16, 16, 32, 4, 4, 4, 7, 37.5},
    {32, 32, 16, 16, 32, 4, 3, 1, 12, 33.0},
    {64, 128, 16, 32, 64, 4, 3, 4, 1, 45.4, slices = 2, single = 38},
    {64, 64, 16, 32, 64, 4, 4, 2, 1, 44.8, slices = 4},
    {32, 64, 32, 32, 32, 4, 3, 4, 2, 37.6, slices = 4},
    {32, 32, 16, 16, 32, 4, 4, 4, 4, 27.5, slices = 2},
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
  }),
}
local BLOCK = 16 -- depth of the packed blocks of nv_fp16x3_mma.cl

-- The module that packs operands as pairs of halves.
local function pairs_of()
  return require "clshell.ladders.gemm.nv_pairs"
end

-- The field `pack` of a rung that takes pairs in blocks of `block` elements.
local function in_pairs(block)
  return function(s, _, side, X, run)
    return pairs_of().pack(s, side, X, run, block)
  end
end

-- The work-groups that run at one time, one on each multiprocessor.
local function units(s)
  return tiling.units(s, 132)
end

-- The tiling of a product by nv_ffma, the work-groups that share its tiles,
-- and whether a tile has several.
local function shared(s, p)
  local t, shares = tiles.choose(FFMA[s.type], s, p)
  return t, shares, shares ~= tiles.count(t, s)
end

-- Operands that nv_ffma.cl turns are copied element by element.
local function ffma_defines(p, s)
  local v, t, _, several = 16 // s.esize, shared(s, p)
  local defines = tiles.defines(t, 1, s,
    "bm bn bk wm wn lm stages spread slices",
    {s.trans_a and v or 1, s.trans_b and 1 or v, v})
  defines.V, defines.STREAM = v, several and 1 or 0
  return tiling.with_trans(defines, s)
end

-- The memory for the parts of sums; nil where each tile has one work-group.
local function ffma_prepare(s, p, _, run)
  local t, shares, several = shared(s, p)
  if several then
    return tiles.parts(t, s, 1, (shares + tiles.count(t, s)) * s.batch, run)
  end
end

local function ffma_range(s, p)
  local t, shares = shared(s, p)
  local size = 32 * tiles.warps(t)
  return {shares * size, 1}, {size, 1}
end

local function ffma_args(s, _, o)
  return {s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C,
    o.C.ld, o.parts, o.counters}
end

-- Runs nv_ffma, with the tiling and the splits of its own choice, after a rung
-- that has refused its operands. The products of a batch share the parts.
local function stand_by(s, _, o, run)
  local p = {tile = "auto", split = 0, stream = 0}
  local defines = ffma_defines(p, s)
  defines.REAL, defines.STANDBY = s.type, 1
  s.standby = s.standby or ffma_prepare(s, p, o, run) or {}
  local args = ffma_args(s, p, {A = o.A, B = o.B, C = o.C,
    parts = s.standby.parts, counters = s.standby.counters})
  args[#args + 1] = o.refused
  local global, size = ffma_range(s, p)
  run("nv_ffma.cl", "gemm", defines, global, size, table.unpack(args))
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
  unit = "tensor_double",
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

local nv_ffma = tiled({
  name = "nv_ffma", file = "nv_ffma.cl",
  lesson = "copies beside the arithmetic, warp tiles: near the FMA peak",
  trans = {a = "any", b = "any"}, defines = ffma_defines,
}, FFMA, 80)
nv_ffma.params[3] = tiling.param("stream", {0, table.unpack(tiles.STREAMS)},
  0, "work-groups of a compute unit, which share all tiles evenly; 0: by the "
  .. "shape, none with split")
nv_ffma.defines, nv_ffma.prepare = ffma_defines, ffma_prepare
nv_ffma.range, nv_ffma.args = ffma_range, ffma_args

local rungs = {
  nv_ffma,
  nv_dmma,
  {
    name = "nv_fp16x3_mma", file = "nv_fp16x3_mma.cl", places = "one",
    unit = "tensor_half", products = 3,
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "float as two halves each: three products on the tensor cores",
    defines = function()
      return {STAGES = 2, RASTER = tiles.RASTER}
    end,
    accepts = function(dev, s)
      return tiles.other_type({float = true}, s) or tiling.lacks(dev, 80)
    end,
    range = function(s)
      return {groups(s.m, tiles.PANEL) * groups(s.n, tiles.PANEL)
        * 128}, {128}
    end,
    local_bytes = function()
      return 2 * 2 * tiles.PANEL * 4 * BLOCK
    end,
    prepare = function(s, _, o, run)
      return pairs_of().operands(s, o, run, BLOCK)
    end,
    pack = in_pairs(BLOCK),
    args = function(s, _, o)
      local a, b = o.packed_a, o.packed_b
      return {s.m, s.n, groups(s.k, BLOCK), s.alpha, a.data, b.data, a.top,
        b.top, s.beta, o.C, o.C.ld, o.refused}
    end,
    finish = stand_by,
  },
  tiled({
    name = "nv_tf32", file = "nv_tf32.cl",
    unit = "tensor_tf32",
    lesson = "elements cut to 11 bits: fast, three digits, not for float",
    input_roundoff = 2^-10,
    defines = function(t, splits, s)
      return tiles.defines(t, splits, s, "bm bn wm wn stages", {4, 4, 2})
    end,
  }, TF32, 80),
}

-- The rungs for Hopper: operands fetched by tensor maps, more local memory
-- than OpenCL gives, warp groups.

local LINE = 128      -- bytes of a line of a stage
local MAP_BYTES = 128 -- bytes of a tensor map, and its alignment
-- Element types of tensor maps: bytes, half (its 16 bits are only copied, so
-- bfloat16 goes too), and TF32
local BYTE, HALF, CUT = 0, 6, 11
local BYTES = {[BYTE] = 1, [HALF] = 2, [CUT] = 4} -- of an element
local PAIR_DEPTH = 32    -- elements of a line of pairs
local LEAST = 4          -- stages of a part that is worth its addition

local function staged(rows)
  return tiles.tilings("bm bn stages rate", rows)
end

local HALVES = staged{{128, 256, 4, 740}, {128, 128, 6, 586}}
local FLOATS = staged{{128, 256, 4, 420}, {128, 128, 6, 330}}
-- C^T is computed, 64 columns of C by each warp group
local TURNED = staged{{256, 128, 4, 420}, {128, 128, 6, 330}}
local PAIRS = staged{{128, 128, 6, 220}}
local CHARS = staged{{128, 256, 4, 1450}, {128, 128, 6, 1300}}
local EIGHTS = staged{{128, 128, 6, 1200}} -- float8

-- Whether all parts of the sums, `splits` for each sum, have work-groups at
-- one time, and each part has a stage.
local function splits_fit(t, s, splits)
  return tiles.count(t, s) * splits <= units(s)
    and groups(s.k, PAIR_DEPTH) >= splits
end

-- The number of parts of each sum: the parameter, or as many parts of LEAST
-- stages or more as there are multiprocessors for.
local function splits_of(t, s, p)
  local splits = p.split or 1
  if splits == 0 then
    splits = 1
    for _, n in ipairs(tiles.SPLITS) do
      splits = splits_fit(t, s, n)
        and groups(s.k, PAIR_DEPTH) >= LEAST * n and n or splits
    end
  end
  return splits
end

-- The tile that the parameters name, or the tile with the least time on the
-- multiprocessor with the most tiles; nil if there is none. lists(s) are the
-- tiles of a shape.
local function choose(lists, s, p)
  local best, chosen
  for _, t in ipairs(lists(s)) do
    local time = groups(tiles.count(t, s) * s.batch, units(s)) * t.bm * t.bn
      / t.rate
    if p.tile == t.name or (p.tile or "auto") == "auto"
        and not (best and best <= time) then
      best, chosen = time, t
    end
  end
  return chosen
end

-- The tiles of nv_wgmma, by the way in which B lies.
local function floats(s)
  return s.trans_b and FLOATS or TURNED
end

local function always(x)
  return function()
    return x
  end
end

-- Work-items: eight warps compute, and in some rungs one asks for operands.
local EIGHT, NINE = 256, 288

-- The field `accepts`: it refuses a device, a type that is none of the words,
-- or a tile of other shapes.
local function accepts(type, lists)
  return function(dev, s, p)
    local reason = tiles.other_type(text.set(type), s)
      or tiling.lacks(dev, 90, true)
    if not reason and not choose(lists, s, p) then
      reason = ("tile = %s does not go with a B that is%s transposed"):format(
        p.tile, s.trans_b and "" or " not")
    end
    return reason
  end
end

local function accepts_pairs(dev, s, p)
  local split = p.split or 0
  return accepts("float", always(PAIRS))(dev, s, p)
    or split > 1 and not splits_fit(PAIRS[1], s, split)
    and ("split = %d takes %d work-groups at one time, the device has %d "
      .. "multiprocessors; and %d elements of each sum at least"):format(split,
      tiles.count(PAIRS[1], s) * split, units(s), split * PAIR_DEPTH) or nil
end

-- The fields that these rungs have in common; lists(s): their tiles;
-- size(s): work-items of a work-group.
local function rung(r, lists, size)
  r.ptx = true
  function r.range(s, p)
    local t, items = choose(lists, s, p), size(s)
    local parts = tiles.count(t, s) * splits_of(t, s, p)
    return {math.min(parts, units(s)) * items}, {items}
  end
  function r.local_bytes(s, p)
    local t = choose(lists, s, p)
    return t.stages * (t.bm + t.bn) * LINE
  end
  function r.traffic(s, p)
    local t = choose(lists, s, p)
    return {fetch = tiling.product(s, t.bm, t.bn)}
  end
  local more = r.defines
  function r.defines(p, s)
    local t = choose(lists, s, p)
    local defines = more(s, p)
    defines.BM, defines.BN, defines.STAGES = t.bm, t.bn, t.stages
    defines.WIDE_C = s.out == "float" and s.type ~= "float" and 1 or nil
    defines.RASTER = tiles.RASTER
    defines.VC = submatrix.vector(16 // s.out_esize, s.n, s, "c")
    return defines
  end
  return r
end

-- Whether k runs along the stored rows of A and B, for nv_hopper.cl.
local function along(s)
  return {ALONG_A = s.trans_a and 0 or 1, ALONG_B = s.trans_b and 1 or 0}
end

-- The defines of nv_fp16x3. Sums of CHUNK stages stay in the tensor cores:
-- only with few stages is a short sum as exact as a sum of floats.
local function pair_defines(s, p)
  return {CHUNK = s.k >= 2048 and 2 or 1, SPLITS = splits_of(PAIRS[1], s, p)}
end

-- Sets map number m.place of m.maps to m.X, m.count matrices of m.rows x
-- m.cols, in boxes of m.lines lines of 128 bytes. Once is enough: the Buffers
-- of a plan stay.
local function set_map(run, m)
  run({file = "nv_map.cl", ptx = true, once = true}, "tensor_map",
    {TYPE = m.type, LINE = LINE // BYTES[m.type]}, {1}, {1},
    m.maps, cl.int(m.place), cl.int(m.rows), cl.int(m.cols), cl.int(m.count),
    cl.int(m.lines), m.X, cl.int(m.ld))
end

local function new_maps(s)
  return tiling.scratch(s, 2 * MAP_BYTES // 8, "ulong")
end

-- Operand "A" or "B" where the copy engine can fetch it: itself, or a copy
-- whose rows begin at multiples of 16 bytes.
local function fetchable(s, name, X, run)
  local wide = 16 // s.esize
  if submatrix.vector(wide, 0, s, name:lower()) == wide then
    return X
  end
  local rows, cols = submatrix.extent(s, name)
  return submatrix.pad(s, run, X, rows, cols, rows, roundup(cols, wide),
    {32, 8})
end

-- The operands as they are stored, and their maps. A box has all lines of a
-- tile where k runs along the rows of the matrix, else the lines of a stage.
local function map_operands(lists, type)
  return function(s, p, o, run)
    local t, own = choose(lists, s, p), {maps = new_maps(s)}
    local depth = LINE // s.esize
    local lines = {A = s.trans_a and depth or t.bm,
      B = s.trans_b and t.bn or depth}
    for place, name in ipairs{"A", "B"} do
      local X = fetchable(s, name, o[name], run)
      local rows, cols = submatrix.extent(s, name)
      set_map(run, {maps = own.maps, place = place - 1, X = X, ld = X.ld,
        type = type, rows = rows, cols = cols,
        count = s.placed and X.count or 1, lines = lines[name]})
      own[name] = X
    end
    return own
  end
end

-- The arguments of nv_hopper.cl, each of its type, for stages of `depth`;
-- factor: the type of alpha and beta.
local function args(depth, factor)
  factor = factor or cl.float
  return function(s, _, o)
    return {cl.int(s.m), cl.int(s.n), cl.int(groups(s.k, depth)),
      factor(s.alpha), o.maps, o.A, o.B, factor(s.beta), o.C,
      cl.int(o.C.ld)}
  end
end

-- The module of rung `ozaki`.
local function ozaki()
  return require "clshell.ladders.gemm.ozaki"
end

local LONGEST = 131071 -- terms of a sum of residues that is an int: 2^14 each

local function ozaki_accepts(dev, s, p)
  local reason = tiles.other_type({double = true}, s)
    or tiling.lacks(dev, 90, true)
  if not reason and s.k > LONGEST then
    reason = ("k = %d, sums of residues fit int up to k = %d; kernel ozaki "
      .. "takes longer ones"):format(s.k, LONGEST)
  end
  return reason or ozaki().refusal(dev, s, p)
end

-- The tile of `count` products of a shape, and the maps of their planes, from
-- plane number `first` on.
local function planes_tile(s, count)
  return choose(always(CHARS), {m = s.m, n = s.n, batch = count,
    context = s.context}, {})
end

local function planes_maps(s, own, first, count, run)
  local t, maps = planes_tile(s, count), new_maps(s)
  for place, x in ipairs{own.a, own.b} do
    local plane = x.lines * own.pitch
    run({file = "nv_map.cl", ptx = true, once = true}, "tensor_map",
      {TYPE = BYTE, LINE = LINE, PLACED = 1}, {1}, {1}, maps,
      cl.int(place - 1), cl.int(x.lines), cl.int(own.pitch), cl.int(count),
      cl.int(place == 1 and t.bm or t.bn), x.planes, cl.int(own.pitch),
      cl.long2(first * plane, plane))
  end
  return maps
end

local function planes_defines(s, count)
  local t = planes_tile(s, count)
  return {BM = t.bm, BN = t.bn, STAGES = t.stages, RASTER = tiles.RASTER,
    VC = 4, ALONG_A = 1, ALONG_B = 1}
end

local function planes_range(s, count)
  local t = planes_tile(s, count)
  return {math.min(tiles.count(t, s), units(s)) * NINE, 1, count},
    {NINE, 1, 1}
end

-- The arguments of nv_igemm.cl, up to the length of a row of results.
local function planes_args(s, own, maps, C)
  return {cl.int(s.m), cl.int(s.n), cl.int(own.pitch // LINE), cl.int(1),
    maps, own.a.planes, own.b.planes, cl.int(0), C, cl.int(own.lds)}
end

local function ozaki_prepare(s, p, o, run)
  local own = ozaki().pack(s, p, o, run)
  if not own.maps then
    own.maps = planes_maps(s, own, 0, own.count, run)
    own.sizes_maps = planes_maps(s, own, own.count, 1, run)
    own.sizes = tiling.scratch(s, s.m * own.lds, "int")
  end
  local global, size = planes_range(s, 1)
  run({file = "nv_igemm.cl", ptx = true}, "gemm", planes_defines(s, 1),
    global, size, table.unpack(planes_args(s, own, own.sizes_maps,
    own.sizes)))
  run("ozaki.cl", "compare", {}, {roundup(s.n, 32), roundup(s.m, 8)}, {32, 8},
    s.m, s.n, own.sizes, own.lds, own.a.notes, own.b.notes,
    ozaki().tolerance(s), own.refused)
  return {own = own}
end

local function ozaki_args(s, _, o)
  local own = o.own
  local list = planes_args(s, own, own.maps, own.sums)
  for _, x in ipairs{own.moduli, cl.long2(0, s.m * own.pitch),
    cl.long2(0, s.n * own.pitch), cl.long2(0, s.m * own.lds)} do
    list[#list + 1] = x
  end
  return list
end

-- Makes C of the residues; nv_dmma computes C where the operands were refused.
-- The products of a batch share the parts.
local function ozaki_finish(s, _, o, run)
  ozaki().combine(s, o, run)
  local p = {tile = "auto", split = 0}
  s.standby = s.standby or nv_dmma.prepare(s, p, o, run) or {}
  local list = untyped(s, p, {A = o.A, B = o.B, C = o.C,
    parts = s.standby.parts, counters = s.standby.counters})
  list[#list + 1] = o.own.refused
  local defines = nv_dmma.defines(p, s)
  defines.STANDBY = 1
  local global, size = nv_dmma.range(s, p)
  run({file = nv_dmma.file, ptx = true}, "gemm", defines, global, size,
    table.unpack(typed(list, cl.double)))
end

local function pack_operands(s, p, o, run)
  local own = pairs_of().operands(s, o, run, PAIR_DEPTH)
  local t = PAIRS[1]
  local splits, count = splits_of(t, s, p), tiles.count(t, s)
  if splits > 1 and not own.parts then
    local more = tiles.parts(t, s, splits, count, run)
    own.parts, own.counters = more.parts, more.counters
  end
  own.maps = new_maps(s)
  for place, x in ipairs{own.packed_a, own.packed_b} do
    local cols = x.pieces * 16 -- upper and lower halves
    set_map(run, {maps = own.maps, place = place - 1, X = x.data, ld = cols,
      type = HALF, rows = x.height, cols = cols, count = 1,
      lines = tiles.PANEL})
  end
  return own
end

local plain_args = args(PAIR_DEPTH)
local function pair_args(s, p, o)
  local a, b = o.packed_a, o.packed_b
  local list = plain_args(s, p, {maps = o.maps, A = a.data, B = b.data,
    C = o.C})
  return table.move({a.top, b.top, o.refused, o.parts, o.counters}, 1, 5,
    #list + 1, list)
end

local function fp8_accepts(dev, s, p)
  return accepts("float8_e4m3 float8_e5m2", always(EIGHTS))(dev, s, p)
    or s.out ~= "float" and "its C is of float" or nil
end

local pairs_only, halves = always(PAIRS), always(HALVES)
local eights, chars = always(EIGHTS), always(CHARS)
local hopper_rungs = {
  rung({
    name = "nv_fp16x3", file = "nv_fp16x3.cl", places = "one",
    unit = "tensor_half", products = 3,
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "the same by warp groups, fed by the copy engine",
    params = {tiles.split},
    accepts = accepts_pairs, prepare = pack_operands,
    pack = in_pairs(PAIR_DEPTH), finish = stand_by,
    args = pair_args, defines = pair_defines,
  }, pairs_only, always(NINE)),
  rung({
    name = "nv_wgmma", file = "nv_wgmma.cl", places = "batch",
    unit = "tensor_tf32",
    params = {tiles.tile_param(FLOATS, TURNED)}, trans = {b = "any"},
    input_roundoff = 2^-11,
    lesson = "elements rounded to 11 bits: fast, three digits, by warp "
      .. "groups",
    accepts = accepts("float", floats), prepare = map_operands(floats, CUT),
    args = args(32), defines = along,
  }, floats, function(s)
    return s.trans_b and NINE or EIGHT
  end),
  rung({
    name = "nv_hgemm", file = "nv_hgemm.cl", places = "batch",
    unit = "tensor_half",
    params = {tiles.tile_param(HALVES)}, trans = {a = "any", b = "any"},
    half = true, wide = true,
    lesson = "halves at the tensor cores' own rate, sums in float",
    accepts = accepts("half", halves), prepare = map_operands(halves, HALF),
    args = args(64), defines = along,
  }, halves, always(NINE)),
  rung({
    name = "nv_igemm", file = "nv_igemm.cl", places = "batch",
    unit = "tensor_char", whole = true,
    params = {tiles.tile_param(CHARS)}, trans = {b = true},
    lesson = "char on the tensor cores, exact sums in int",
    accepts = accepts("char", chars), prepare = map_operands(chars, BYTE),
    args = args(128, cl.int), defines = along,
  }, chars, always(NINE)),
  {
    name = "nv_ozaki", file = "nv_igemm.cl", kernel = "gemm", places = "one",
    unit = "tensor_char", products = 15, trans = {b = true}, guarded = true,
    ptx = true,
    lesson = "ozaki on the tensor cores: double at the rate of char",
    params = {tiling.moduli}, accepts = ozaki_accepts,
    defines = function(p, s)
      local defines = planes_defines(s, ozaki().count(s, p))
      defines.RESIDUE = 1
      return defines
    end,
    range = function(s, p)
      return planes_range(s, ozaki().count(s, p))
    end,
    local_bytes = function(s, p)
      local t = planes_tile(s, ozaki().count(s, p))
      return t.stages * (t.bm + t.bn) * LINE
    end,
    traffic = function(s, p) -- of chars
      local count = ozaki().count(s, p)
      local t = planes_tile(s, count)
      return {fetch = count / s.esize * tiling.product(s, t.bm, t.bn)}
    end,
    prepare = ozaki_prepare, args = ozaki_args, finish = ozaki_finish,
  },
  rung({
    name = "nv_bgemm", file = "nv_hgemm.cl", places = "batch",
    unit = "tensor_half",
    params = {tiles.tile_param(HALVES)}, trans = {a = "any", b = "any"},
    stored = true, wide = true,
    lesson = "the same for bfloat16: the range of float, 8 bits",
    accepts = accepts("bfloat16", halves),
    prepare = map_operands(halves, HALF), args = args(64),
    defines = function(s)
      local defines = along(s)
      defines.BFLOAT16 = 1
      return defines
    end,
  }, halves, always(NINE)),
  rung({
    name = "nv_fp8", file = "nv_fp8.cl", places = "batch", unit = "tensor",
    params = {tiles.tile_param(EIGHTS)}, trans = {b = true},
    stored = true, wide = true, input_roundoff = 2^-10,
    lesson = "float8 at twice the rate of halves; sums of 14 bits, in parts",
    accepts = fp8_accepts, prepare = map_operands(eights, BYTE),
    args = args(LINE), defines = function(s)
      return {E5M2 = s.type == "float8_e5m2" and 1 or 0}
    end,
  }, eights, always(NINE)),
}

return table.move(hopper_rungs, 1, #hopper_rungs, #rungs + 1, rungs)

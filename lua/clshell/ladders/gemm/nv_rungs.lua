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
    {96, 64, 16, 48, 64, 4, 3, 2, 1, 51.5, slices = 4, single = 46,
      most = 3},
    {48, 64, 16, 48, 64, 4, 4, 2, 1, 47.5, slices = 4, single = 42,
      most = 2},
    {32, 64, 32, 32, 64, 4, 3, 4, 3, 47.0, slices = 4, single = 43,
      most = 3},
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
    {64, 64, 16, 64, 16, 5, 2, 60.0, true, most = 2, mark = "deep"},
    {80, 64, 16, 80, 16, 3, 2, 56.5, true, most = 2},
    {96, 64, 16, 48, 32, 3, 2, 58.0, true, most = 3},
    {112, 64, 16, 112, 16, 3, 2, 55.0, true, most = 2},
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
  run({file = "nv_ffma.cl", unless = o.refused}, "gemm", defines, global,
    size, table.unpack(args))
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

-- The tiles of a rung whose stages have `depth` elements of k. `asking`: see
-- nv_hopper.cl; a warp computes 16 rows of C, where C^T is computed columns.
local function staged(depth, rows, turned)
  for _, t in ipairs(tiles.tilings("bm bn stages asking resident rate", rows))
  do
    t.bk, t.large, t.turned = depth, true, turned
    t.wm, t.wn = turned and t.bm or 16, turned and 16 or t.bn
  end
  return rows
end

local HALVES = staged(64, {
  {128, 256, 4, 4, 1, 830}, {128, 192, 5, 1, 1, 810}, {128, 128, 6, 4, 1, 780},
  {64, 128, 8, 1, 1, 640}, {64, 64, 6, 1, 2, 540},
})
local FLOATS = staged(32, {
  {128, 256, 4, 4, 1, 450}, {128, 192, 5, 1, 1, 440}, {128, 128, 6, 1, 1, 375},
  {64, 128, 4, 1, 2, 300},
})
-- C^T is computed, 64 columns of C by each warp group
local TURNED = staged(32, {
  {256, 128, 4, 4, 1, 430, raster = 3}, {192, 192, 4, 0, 1, 425},
  {192, 128, 5, 0, 1, 395}, {128, 128, 6, 0, 1, 360},
  {64, 128, 4, 0, 2, 300}, {64, 64, 6, 0, 2, 260},
}, true)
local PAIRS = staged(PAIR_DEPTH, {
  {128, 256, 4, 4, 1, 232}, {128, 128, 6, 1, 1, 222},
})
local CHARS = staged(128, {
  {128, 256, 4, 4, 1, 1750}, {128, 192, 5, 1, 1, 1700},
  {128, 128, 6, 1, 1, 1560}, {128, 64, 4, 1, 2, 1250}, {64, 64, 6, 1, 2, 1000},
})
local EIGHTS = staged(128, { -- float8
  {128, 256, 4, 4, 1, 1500}, {128, 192, 5, 4, 1, 1590},
  {128, 128, 6, 1, 1, 1350}, {128, 64, 4, 1, 2, 1150}, {64, 64, 6, 1, 2, 900},
})

-- The tile and the number of splits that the parameters name, or the cheapest
-- ones; nil if there is none. lists(s) are the tiles of a shape.
local function choose(lists, s, p)
  return tiles.with_splits(lists(s), s, {tile = p.tile or "auto",
    split = p.split or 0})
end

local function tile_defines(defines, t)
  defines.BM, defines.BN, defines.STAGES = t.bm, t.bn, t.stages
  defines.ASKING, defines.RASTER = t.asking, t.raster or tiles.RASTER
end

local function items(t)
  return 32 * (tiles.warps(t) + t.asking)
end

-- The work-groups: one for each part of a tile, or as many as run at one time.
local function groups_of(t, splits, s)
  local count = tiles.count(t, s) * splits
  return splits > 1 and count or math.min(count, units(s) * t.resident)
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

-- The field `accepts`: it refuses a device, a type that is none of the words,
-- or parameters that do not go with the shape.
local function accepts(type, lists)
  return function(dev, s, p)
    local reason = tiles.other_type(text.set(type), s)
      or tiling.lacks(dev, 90, true)
    if reason or choose(lists, s, p) then
      return reason
    elseif choose(lists, s, {tile = p.tile, split = 1}) then
      return ("split = %d wants sums of %d terms or more; k = %d"):format(
        p.split, p.split * 4 * lists(s)[1].bk, s.k)
    end
    return ("tile = %s does not go with a B that is%s transposed"):format(
      p.tile, s.trans_b and "" or " not")
  end
end

-- The fields that these rungs have in common; lists(s): their tiles, of the
-- lists `first` and perhaps `second`.
local function rung(r, lists, first, second)
  r.ptx = true
  r.params = {tiles.tile_param(first, second), tiles.split}
  function r.range(s, p)
    local t, splits = choose(lists, s, p)
    return {groups_of(t, splits, s) * items(t)}, {items(t)}
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
    local t, splits = choose(lists, s, p)
    local defines = more(s, p)
    tile_defines(defines, t)
    defines.SPLITS = splits > 1 and splits or nil
    defines.WIDE_C = s.out == "float" and s.type ~= "float" and 1 or nil
    defines.VC = submatrix.vector(16 // s.out_esize, s.n, s, "c")
    return defines
  end
  return r
end

local pairs_only, halves = always(PAIRS), always(HALVES)
local eights, chars = always(EIGHTS), always(CHARS)

-- Whether k runs along the stored rows of A and B, for nv_hopper.cl.
local function along(s)
  return {ALONG_A = s.trans_a and 0 or 1, ALONG_B = s.trans_b and 1 or 0}
end

-- The defines of nv_fp16x3. Sums of CHUNK stages stay in the tensor cores:
-- only with few stages is a short sum as exact as a sum of floats.
local function pair_defines(s)
  return {CHUNK = s.k >= 2048 and 2 or 1}
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

-- Adds the memory for the parts of sums, of a type, to what a rung owns.
local function add_parts(own, t, splits, s, run, type)
  if splits > 1 and not own.parts then
    local more = tiles.parts(t, s, splits, tiles.count(t, s) * s.batch, run,
      type)
    own.parts, own.counters = more.parts, more.counters
  end
  return own
end

-- The operands as they are stored, and their maps. A box has all lines of a
-- tile where k runs along the rows of the matrix, else the lines of a stage.
local function map_operands(lists, type)
  return function(s, p, o, run)
    local t, splits = choose(lists, s, p)
    local own = add_parts({maps = new_maps(s)}, t, splits, s, run,
      s.type == "char" and "uint" or "float")
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
      cl.int(o.C.ld), o.parts, o.counters}
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
-- plane number `first` on; `quarter`: of the quarter of the sizes.
local function planes_tile(s, count)
  return (choose(chars, {m = s.m, n = s.n, k = s.k, batch = count, esize = 1,
    context = s.context}, {split = 1}))
end

local function planes_maps(s, own, first, count, run, quarter)
  local t, maps = planes_tile(s, count), new_maps(s)
  local pitch = quarter and own.pitch4 or own.pitch
  for place, x in ipairs{own.a, own.b} do
    local plane = x.lines * own.pitch
    run({file = "nv_map.cl", ptx = true, once = true}, "tensor_map",
      {TYPE = BYTE, LINE = LINE, PLACED = 1}, {1}, {1}, maps,
      cl.int(place - 1), cl.int(x.lines),
      cl.int(quarter and own.pitch // 4 or pitch), cl.int(count),
      cl.int(place == 1 and t.bm or t.bn), x.planes, cl.int(pitch),
      cl.long2(first * plane, plane))
  end
  return maps
end

local function planes_defines(s, p, count)
  local defines = ozaki().defines(s, p)
  defines.VC, defines.ALONG_A, defines.ALONG_B = 4, 1, 1
  tile_defines(defines, planes_tile(s, count))
  return defines
end

local function planes_range(s, count)
  local t = planes_tile(s, count)
  return {groups_of(t, 1, s) * items(t), 1, count}, {items(t), 1, 1}
end

-- The arguments of nv_igemm.cl, up to the length of a row of results.
local function planes_args(s, own, pitch, maps, C)
  return {cl.int(s.m), cl.int(s.n), cl.int(pitch // LINE), cl.int(1),
    maps, own.a.planes, own.b.planes, cl.int(0), C, cl.int(own.lds)}
end

local function ozaki_prepare(s, p, o, run)
  local own = ozaki().pack(s, p, o, run)
  if not own.maps then
    own.maps = planes_maps(s, own, 0, own.count, run)
    own.check_maps = {planes_maps(s, own, own.count + 1, 1, run, true),
      planes_maps(s, own, own.count, 1, run)}
  end
  local global, size = planes_range(s, 1)
  for check, pitch in ipairs{own.pitch4, own.pitch} do
    local defines = planes_defines(s, p, 1)
    defines.CHECK = check
    local list = planes_args(s, own, pitch, own.check_maps[check], own.refused)
    table.move({own.a.notes, own.b.notes, cl.double(ozaki().TOLERANCE)}, 1, 3,
      #list + 1, list)
    run({file = "nv_igemm.cl", ptx = true}, "gemm", defines, global, size,
      table.unpack(list))
  end
  return {own = own}
end

local function ozaki_args(s, _, o)
  local own = o.own
  local list = planes_args(s, own, own.pitch, own.maps, own.sums)
  for _, x in ipairs{own.moduli, own.refused, cl.long2(0, s.m * own.pitch),
    cl.long2(0, s.n * own.pitch), cl.long2(0, s.m * own.lds)} do
    list[#list + 1] = x
  end
  return list
end

-- Makes C of the residues; nv_dmma computes C where the operands were refused.
-- The products of a batch share the parts.
local function ozaki_finish(s, p, o, run)
  ozaki().combine(s, p, o, run)
  p = {tile = "auto", split = 0}
  s.standby = s.standby or nv_dmma.prepare(s, p, o, run) or {}
  local list = untyped(s, p, {A = o.A, B = o.B, C = o.C,
    parts = s.standby.parts, counters = s.standby.counters})
  list[#list + 1] = o.own.refused
  local defines = nv_dmma.defines(p, s)
  defines.STANDBY = 1
  local global, size = nv_dmma.range(s, p)
  run({file = nv_dmma.file, ptx = true, unless = o.own.refused}, "gemm",
    defines, global, size,
    table.unpack(typed(list, cl.double)))
end

local function pack_operands(s, p, o, run)
  local t, splits = choose(pairs_only, s, p)
  local own = add_parts(pairs_of().operands(s, o, run, PAIR_DEPTH), t, splits,
    s, run)
  own.maps = new_maps(s)
  for place, x in ipairs{own.packed_a, own.packed_b} do
    local cols = x.pieces * 16 -- upper and lower halves
    set_map(run, {maps = own.maps, place = place - 1, X = x.data, ld = cols,
      type = HALF, rows = x.height, cols = cols, count = 1,
      lines = place == 1 and t.bm or t.bn})
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
  return accepts("float8_e4m3 float8_e5m2", eights)(dev, s, p)
    or s.out ~= "float" and "its C is of float" or nil
end

local hopper_rungs = {
  rung({
    name = "nv_fp16x3", file = "nv_fp16x3.cl", places = "one",
    unit = "tensor_half", products = 3,
    trans = {a = "any", b = "any"}, guarded = true,
    lesson = "the same by warp groups, fed by the copy engine",
    accepts = accepts("float", pairs_only), prepare = pack_operands,
    pack = in_pairs(PAIR_DEPTH), finish = stand_by,
    args = pair_args, defines = pair_defines,
  }, pairs_only, PAIRS),
  rung({
    name = "nv_wgmma", file = "nv_wgmma.cl", places = "batch",
    unit = "tensor_tf32",
    trans = {b = "any"},
    input_roundoff = 2^-11,
    lesson = "elements rounded to 11 bits: fast, three digits, by warp "
      .. "groups",
    accepts = accepts("float", floats), prepare = map_operands(floats, CUT),
    args = args(32), defines = along,
  }, floats, FLOATS, TURNED),
  rung({
    name = "nv_hgemm", file = "nv_hgemm.cl", places = "batch",
    unit = "tensor_half",
    trans = {a = "any", b = "any"},
    half = true, wide = true,
    lesson = "halves at the tensor cores' own rate, sums in float",
    accepts = accepts("half", halves), prepare = map_operands(halves, HALF),
    args = args(64), defines = along,
  }, halves, HALVES),
  rung({
    name = "nv_igemm", file = "nv_igemm.cl", places = "batch",
    unit = "tensor_char", types = {"char"}, trans = {b = true},
    lesson = "char on the tensor cores, exact sums in int",
    accepts = accepts("char", chars), prepare = map_operands(chars, BYTE),
    args = args(128, cl.int), defines = along,
  }, chars, CHARS),
  {
    name = "nv_ozaki", file = "nv_igemm.cl", kernel = "gemm", places = "one",
    unit = "tensor_char", trans = {a = "any", b = "any"}, guarded = true,
    ptx = true, products = function(s, p)
      return ozaki().count(s, p)
    end,
    lesson = "ozaki on the tensor cores: double at the rate of char",
    params = {tiling.moduli}, accepts = ozaki_accepts,
    defines = function(p, s)
      local defines = planes_defines(s, p, ozaki().count(s, p))
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
    trans = {a = "any", b = "any"}, types = {"bfloat16"}, wide = true,
    lesson = "the same for bfloat16: the range of float, 8 bits",
    accepts = accepts("bfloat16", halves),
    prepare = map_operands(halves, HALF), args = args(64),
    defines = function(s)
      local defines = along(s)
      defines.BFLOAT16 = 1
      return defines
    end,
  }, halves, HALVES),
  rung({
    name = "nv_fp8", file = "nv_fp8.cl", places = "batch", unit = "tensor",
    trans = {b = true}, types = {"float8_e4m3", "float8_e5m2"},
    wide = true, input_roundoff = 2^-10,
    lesson = "float8 at twice the rate of halves; sums of 14 bits, in parts",
    accepts = fp8_accepts, prepare = map_operands(eights, BYTE),
    args = args(LINE), defines = function(s)
      return {E5M2 = s.type == "float8_e5m2" and 1 or 0}
    end,
  }, eights, EIGHTS),
}

return table.move(hopper_rungs, 1, #hopper_rungs, #rungs + 1, rungs)

-- ladders/gemm/rungs.lua - the rungs of the GEMM ladder, C = alpha A B +
-- beta C: an array of rung tables, from the plain kernel to the fastest ones
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local operands = require "clshell.ladders.gemm.gemm_operands"
local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local access, access_at = tiling.access, tiling.access_at
local groups, param, product = tiling.groups, tiling.param, tiling.product
local roundup = tiling.roundup

local INT_MAX = 0x7fffffff
local COPY = 10 -- cost of a copy of a vector, in multiply-adds of vectors
local WIDEST = 16 -- bytes of the widest access that a compiler may form

-- Operand "A", or the transposed "B", with rows that begin at multiples of 4
-- bytes and are whole words, of zeros beyond the last element.
local function in_words(s, name, X, run)
  if submatrix.vector(4, s.k, s, name:lower()) == 4 then
    return X
  end
  local rows = name == "A" and s.m or s.n
  return submatrix.pad(s, run, X, rows, s.k, rows, roundup(s.k, 4), {16, 4})
end

-- Local sizes of the kernels that put no demand on them.
local SIDES = {1, 2, 4, 8, 16, 32, 64, 128, 256}
local lx = param("lx", SIDES, 32, "local size, dimension 0")
local ly = param("ly", SIDES, 8, "local size, dimension 1")
local tile = param("tile", {4, 8, 16, 32}, 16,
  "side of the square tile, = local size in both dimensions")

-- A rung without local memory: a work-item for each element of C.
local function plain(rung)
  rung.params, rung.places = {lx, ly}, "batch"
  rung.defines = tiling.no_defines
  rung.range = tiling.grid("n", "m", "lx", "ly")
  return rung
end

-- A rung of square tiles, with p.pad more elements in each row of a tile; its
-- own parameters come after `tile`.
local function tiled(rung)
  rung.params = {tile, rung.params}
  rung.range = rung.range or tiling.grid("n", "m", "tile", "tile")
  rung.local_bytes = rung.local_bytes or function(s, p)
    return 2 * p.tile * (p.tile + (p.pad or 0))
      * (text.bits(s.type) and 4 or s.esize)
  end
  return rung
end

-- 1 where all rows of an operand begin at multiples of 4 elements, else 0.
local function on_fours(s, name)
  return submatrix.vector(4, 0, s, name) // 4
end

-- X with both sides rounded up to `multiple`, the new cells zero; X itself
-- where nothing is to be added. With `keep` false the content is not copied.
local function padded(s, run, X, rows, cols, multiple, keep)
  local prows, pcols = roundup(rows, multiple), roundup(cols, multiple)
  if prows == rows and pcols == cols then
    return X
  end
  return submatrix.pad(s, run, X, rows, cols, prows, pcols, keep and {16, 4})
end

local function pad_operands(s, p, o, run)
  if p.edge ~= "pad" then
    return {}
  end
  return {
    A = padded(s, run, o.A, s.m, s.k, p.tile, true),
    B = padded(s, run, o.B, s.k, s.n, p.tile, true),
    C = padded(s, run, o.C, s.m, s.n, p.tile, o.beta ~= 0),
  }
end

local function unpad_result(s, _, o, run, original)
  if o.C ~= original.C then
    submatrix.copy(s, run, s.m, s.n, o.C, original.C)
  end
end

local function fits_constant(dev, s)
  if dev.max_constant_args < 2 then
    return ("needs 2 constant arguments, device allows %d"):format(
      dev.max_constant_args)
  end
  local limit = dev.max_constant_buffer_size
  for i, elements in ipairs{s.m * s.lda, s.k * s.ldb} do
    if elements * s.esize > limit then
      return ("%s is %d bytes, the device's constant buffer %d bytes"):format(
        i == 1 and "A" or "B", elements * s.esize, limit)
    end
  end
end

local function register_accepts(_, _, p)
  for _, side in ipairs{"m", "n"} do
    local block, own = "b" .. side, "r" .. side
    if p[block] % p[own] ~= 0 then
      return ("%s = %d is no multiple of %s = %d"):format(block, p[block],
        own, p[own])
    end
  end
end

-- Elements of one run of rows, as register.cl derives VM from RM.
local function register_run(rm)
  return rm % 4 == 0 and 4 or rm % 2 == 0 and 2 or 1
end

local function simd_accepts(dev, s, p)
  local reason = tiling.cpu_vectors(dev, s, p, 2)
  local panel = s.k * math.max(p.mr, p.nv * tiling.vector_width(s, p))
  if not reason and panel > INT_MAX then
    reason = ("a panel of %d elements, kernels count to %d"):format(panel,
      INT_MAX)
  end
  return reason
end

-- Tiles of C across and down, one for a work-item: the split that predicts
-- the least time, with COPY times as long for the copy of a vector as for its
-- multiply-add. Work-items are multiples of the compute units where that pays.
local function simd_range(s, p)
  local width = tiling.vector_width(s, p)
  local down, across = groups(s.m, p.mr), groups(s.n, p.nv * width)
  local units = tiling.units(s, 1)
  local slabs = p.pack_a == 0 and 1 or 0 -- copied
  local best, tiles = math.huge, nil
  local least = groups(across, p.nt)
  for x = least, math.min(across, least + units) do
    for round = 1, 4 do
      local y = math.min(down, groups(round * units, x * s.batch))
      local rows, panels = groups(down, y), groups(across, x)
      local time = groups(x * y * s.batch, units) * (rows * panels * p.mr
        * p.nv + COPY * (panels * p.nv + slabs * rows * p.mr / width))
      if time < best then
        best, tiles = time, {x, y}
      end
    end
  end
  return tiles, {1, 1}
end

-- Steps along a panel that one work-item of pack.cl takes.
local PACK_STEPS = 256

-- Packs operand "a" or "b" in panels of rows of A, or columns of B: pack_a
-- takes stored rows, pack_b stored columns.
local function pack_panels(s, p, side, X, run)
  local lines, height, by_rows = s.m, p.mr, not s.trans_a
  if side == "b" then
    lines, height = s.n, p.nv * tiling.vector_width(s, p)
    by_rows = s.trans_b
  end
  local panels = groups(lines, height)
  local P = submatrix.scratch(s, panels, s.k * height, X)
  run("pack.cl", by_rows and "pack_a" or "pack_b",
      {REAL = s.type, MR = height, NR = height, KB = PACK_STEPS},
      {groups(s.k, PACK_STEPS), panels}, {1, 1},
      by_rows and lines or s.k, by_rows and s.k or lines, X, X.ld, P, P.ld)
  return P
end

-- Puts panels in the place of operands: of operands packed beforehand, and of
-- A, which is packed once, as all tiles across would copy it again.
local function simd_prepare(s, p, o, run)
  local function panels(side, X, now)
    local ready = s.ready and s.ready[side]
    return ready and submatrix.ready(ready.panels, X)
      or now and pack_panels(s, p, side, X, run) or nil
  end
  return {A = panels("a", o.A, p.pack_a == 1), B = panels("b", o.B)}
end

local function simd_defines(p, s)
  local ready = s.ready or {}
  return tiling.with_trans({VW = tiling.vector_width(s, p), MR = p.mr,
    NV = p.nv, NT = p.nt, KC = p.kc, AHEAD = p.ahead,
    PACKED_A = (ready.a or p.pack_a == 1) and 1 or 0,
    PACKED_B = ready.b and 1 or 0}, s)
end

-- Reads along a row of local memory, `row` bytes long: n elements, which the
-- compiler may take 16 bytes at a time where the rows begin at such places.
local function along(n, e, row, dx, dy)
  local bytes = row % WIDEST == 0 and n * e % WIDEST == 0 and WIDEST or e
  return access(n * e / bytes, bytes, dx, dy)
end

-- The traffic without local memory. `bt`: B lies transposed; `sums`: C is
-- read and written at each step.
local function traffic_of_plain(bt, sums)
  return function(s, p)
    local e = s.esize
    -- The bytes from one column of C to the next are `across`, from row to row
    -- `down`.
    local function walk(n, across, down)
      if p.map == "row" then
        across, down = down, across
      end
      return access(n, e, across, down)
    end
    return {
      global = {walk(s.k, 0, s.k * e), walk(s.k, bt and s.k * e or e, 0),
        walk(sums and 2 * s.k or 1, e, s.n * e)},
      fetch = product(s, p.lx, p.ly),
    }
  end
end

-- The traffic of square tiles. `turned`: B lies transposed in local memory,
-- and with `bt` in global memory; without `bt` work-items read along the local
-- rows of a turned B.
local function traffic_of_tiles(turned, bt)
  return function(s, p)
    local e, t = s.esize, p.tile
    local row, depth = (t + (p.pad or 0)) * e, roundup(s.k, t)
    local steps = depth / t
    local to_b = turned and access(steps, e, row, e)
      or access(steps, e, e, row)
    local of_b = access(depth, e, e)
    if p.swizzle then
      to_b = access_at(steps, e, function(x, y)
        return x * row + (x ~ y) * e
      end)
      of_b = access(depth, e, row + e)
    elseif turned and not bt then
      of_b = along(depth, e, row, row)
    end
    return {
      global = {access(steps, e, e, s.k * e),
        access(steps, e, e, (bt and s.k or s.n) * e),
        access(1, e, e, s.n * e)},
      locals = {access(steps, e, e, row), to_b,
        along(depth, e, row, 0, row), of_b},
      fetch = product(s, t, t),
    }
  end
end

local function traffic_of_float4(s, p)
  local e, t = s.esize, p.tile
  local steps, quads = roundup(s.k, t) / t, t // 4
  local function a(ld)
    return access_at(steps / 4, 4 * e, function(x, y)
      local id = y * t + x
      return (id // quads * ld + id % quads * 4) * e
    end)
  end
  return {
    global = {a(s.k), access(steps, 4 * e, 4 * e, s.n * e),
      access(1, 4 * e, 4 * e, s.n * e)},
    locals = {a(t), access(steps, 4 * e, 4 * e, 4 * t * e),
      access(steps * quads, 4 * e, 0, t * e), access(steps * t, 4 * e, 4 * e)},
    fetch = product(s, t, 4 * t),
  }
end

local function traffic_of_register(s, p)
  local e, width = s.esize, p.bn // p.rn
  local size = width * (p.bm // p.rm)
  local vm, vn = register_run(p.rm), register_run(p.rn)
  local steps = roundup(s.k, p.bk) / p.bk
  -- Copies of a tile of `lines` x `length`, by the elements from line to line
  -- and along a line.
  local function copy(lines, length, line, step)
    return access_at(steps * lines * length / size, e, function(x, y)
      local i = y * width + x
      return (i // length * line + i % length * step) * e
    end)
  end
  local function read(run, bytes, dx, dy)
    return access(steps * p.bk * run, bytes, dx, dy)
  end
  return {
    global = {copy(p.bm, p.bk, s.k, 1), copy(p.bk, p.bn, s.n, 1),
      access(p.rm * p.rn / vn, vn * e, vn * e, vm * s.n * e)},
    locals = {copy(p.bm, p.bk, 1, p.bm + vm), copy(p.bk, p.bn, p.bn, 1),
      read(p.rm / vm, vm * e, 0, vm * e), read(p.rn / vn, vn * e, vn * e)},
    fetch = product(s, p.bm, p.bn),
  }
end

-- The module of rung `ozaki`.
local function ozaki()
  return require "clshell.ladders.gemm.ozaki"
end

local naive = plain{
  name = "naive", file = "naive.cl", types = operands.types,
  lesson = "the sum in a private variable; the mapping decides coalescing",
  traffic = traffic_of_plain(),
}
naive.params = {param("map", {"col", "row"}, "col",
  "what work-item dimension 0 walks: a row of C, column by column (col: "
  .. "coalesced), or a column, row by row (row: not)"), lx, ly}
function naive.defines(p)
  return {MAP_ROW = p.map == "row" and 1 or 0}
end
function naive.range(s, p)
  local across, down = s.n, s.m
  if p.map == "row" then
    across, down = down, across
  end
  return tiling.range(across, down, p.lx, p.ly)
end

local rungs = {
  plain{
    name = "naive_global", file = "naive_global.cl",
    lesson = "one work-item per output, the sum kept in global memory",
    traffic = traffic_of_plain(false, true),
  },
  naive,
  plain{
    name = "transposed_b", file = "transposed_b.cl", trans = {b = true},
    lesson = "B transposed: both operands along rows, good for a CPU only",
    traffic = traffic_of_plain(true),
  },
  tiled{
    name = "tiled", file = "tiled.cl", places = "batch",
    types = operands.types, accepts = function(_, s, p)
      return p.edge == "pad" and s.out ~= s.type and s.type ~= "char"
        and "edge = pad copies a C of the operands' type" or nil
    end,
    lesson = "tiles in local memory: each element fetched once per group",
    params = param("edge", {"guard", "pad"}, "guard",
      "at the edges: test each load and read zero, or pad the matrices with "
      .. "zeros to multiples of the tile beforehand"),
    defines = function(p)
      return {TILE = p.tile, EDGE_PAD = p.edge == "pad" and 1 or 0}
    end,
    prepare = pad_operands,
    finish = unpad_result,
    traffic = traffic_of_tiles(),
  },
  tiled{
    name = "tiled_transposed_b", file = "tiled_transposed_b.cl",
    lesson = "transposed B through tiles: coalesced again on a GPU",
    places = "batch", trans = {b = true},
    traffic = traffic_of_tiles(true, true),
  },
  tiled{
    name = "tiled_constant", file = "tiled_constant.cl",
    lesson = "operands in constant memory: small, and made for broadcasts",
    accepts = fits_constant,
    traffic = traffic_of_tiles(),
  },
  tiled{
    name = "tiled_padded", file = "tiled_padded.cl", places = "batch",
    lesson = "local rows one element longer: no bank conflicts",
    params = param("pad", {0, 1, 2, 3, 4}, 1,
      "elements added to each local row; 0 shows the conflicts"),
    traffic = traffic_of_tiles(true),
  },
  tiled{
    name = "tiled_swizzled", file = "tiled_swizzled.cl", places = "batch",
    lesson = "columns permuted in each local row: no conflicts, no padding",
    params = param("swizzle", {"xor", "rotate"}, "xor",
      "where element k of local row j lies: k ^ j or (k + j) % tile"),
    defines = function(p)
      return {TILE = p.tile, ROTATE = p.swizzle == "rotate" and 1 or 0}
    end,
    traffic = traffic_of_tiles(true),
  },
  tiled{
    name = "tiled_float4", file = "tiled_float4.cl", places = "batch",
    lesson = "float4 loads and stores, four outputs per work-item",
    defines = function(p, s)
      return {TILE = p.tile, ALIGNED_A = on_fours(s, "a"),
        ALIGNED_B = on_fours(s, "b"), ALIGNED_C = on_fours(s, "c")}
    end,
    range = tiling.grid("n", "m", "4 tile", "tile", "tile"),
    local_bytes = tiling.elements "5 tile tile",
    traffic = traffic_of_float4,
  },
  {
    name = "register", file = "register.cl", places = "batch",
    lesson = "an rm x rn block per work-item: few local reads per operation",
    params = {
      param("bm", {16, 32, 64, 128, 256}, 64, "rows of C per work-group"),
      param("bn", {16, 32, 64, 128, 256}, 64, "columns of C per work-group"),
      param("bk", {4, 8, 16, 32}, 16, "depth of the tiles"),
      param("rm", {1, 2, 4, 8, 16}, 4, "rows of C per work-item; divides bm"),
      param("rn", {1, 2, 4, 8, 16}, 4,
        "columns of C per work-item; divides bn"),
    },
    range = function(s, p)
      return tiling.range(s.n, s.m, p.bn, p.bm, p.bn // p.rn, p.bm // p.rm)
    end,
    local_bytes = function(s, p)
      return p.bk * (p.bm + register_run(p.rm) + p.bn) * s.esize
    end,
    accepts = register_accepts,
    traffic = traffic_of_register,
  },
  {
    name = "dot", file = "dot.cl", places = "batch", types = {"char"},
    lesson = "char: a dot product of four for each instruction",
    trans = {b = true},
    params = {
      param("bm", {16, 32, 64, 128}, 64, "rows of C per work-group"),
      param("bn", {16, 32, 64, 128}, 64, "columns of C per work-group"),
      param("bk", {4, 8, 16}, 8, "words of four elements along k in a tile"),
      param("rm", {1, 2, 4, 8}, 4, "rows of C per work-item; divides bm"),
      param("rn", {1, 2, 4, 8}, 4, "columns of C per work-item; divides bn"),
    },
    range = function(s, p)
      return tiling.range(s.n, s.m, p.bn, p.bm, p.bn // p.rn, p.bm // p.rm)
    end,
    local_bytes = function(_, p)
      return 4 * p.bk * (p.bm + p.bn + 2)
    end,
    accepts = register_accepts,
    prepare = function(s, _, o, run)
      return {A = in_words(s, "A", o.A, run), B = in_words(s, "B", o.B, run)}
    end,
    args = function(s, _, o)
      return {s.m, s.n, groups(s.k, 4), s.alpha, o.A, o.A.ld, o.B, o.B.ld,
        s.beta, o.C, o.C.ld}
    end,
    traffic = function(s, p)
      local bytes = product(s, p.bm, p.bn)
      return {moved = bytes, fetch = bytes}
    end,
  },
  {
    name = "simd", file = "simd.cl", places = "batch",
    lesson = "packed panels and explicit vectors, no barriers: for CPUs",
    params = {
      tiling.vector,
      param("mr", {4, 6, 8, 12, 14}, 14, "rows of C in a block of sums"),
      param("nv", {1, 2, 3, 4}, 2, "vectors in a row of that block"),
      param("nt", {2, 4, 8, 16, 32}, 16,
        "panels of B that a work-item holds in local memory"),
      param("kc", {128, 256, 512, 1024}, 512, "steps of k in a pass, at most"),
      param("pack_a", {0, 1}, 0, "1: A is packed by a launch before"),
      param("ahead", {0, 16, 32}, 32,
        "steps of k between a request and the use"),
    },
    defines = simd_defines,
    range = simd_range,
    accepts = simd_accepts,
    local_bytes = function(s, p) -- panels, and rows of a slab with a gap
      local panels = p.nt * p.kc * p.nv * p.vector
      return panels + (p.pack_a == 0 and p.mr * (p.kc * s.esize + 64) or 0)
    end,
    prepare = simd_prepare,
    pack = function(s, p, side, X, run)
      return {panels = pack_panels(s, p, side, X, run)}
    end,
    trans = {a = "any", b = "any"},
    traffic = function(s, p) -- elements: the blocks of sums are in registers
      local nr = p.nv * tiling.vector_width(s, p)
      return {moved = product(s, p.mr, nr)}
    end,
  },
  {
    name = "ozaki", file = "ozaki.cl", kernel = "gemm", places = "one",
    trans = {b = true}, guarded = true,
    lesson = "double as int8 products, one for each of 15 coprime numbers",
    params = {tiling.moduli},
    defines = function(p, s)
      return ozaki().defines(s, p)
    end,
    accepts = function(dev, s, p)
      return s.type ~= "double" and "computes in double, the matrices are "
        .. s.type or ozaki().refusal(dev, s, p)
    end,
    range = function(s, p)
      return ozaki().range(s, p)
    end,
    prepare = function(...)
      return ozaki().prepare(...)
    end,
    args = function(...)
      return ozaki().args(...)
    end,
    finish = function(...)
      return ozaki().finish(...)
    end,
    traffic = function(s, p) -- of chars: a work-item has a block of 2 x 2
      local planes = ozaki().count(s, p) / s.esize
      return {moved = planes * product(s, 2, 2),
        fetch = planes * product(s, 16, 16)}
    end,
  },
}

-- The rungs for batches of small products, all of them in one launch: small
-- for GPUs, small_simd for CPUs.

local MOST = 64   -- rows, columns and terms of a product
local WARP = 32   -- work-groups are multiples of it

-- The largest power of two, at most `most`, that divides all the numbers.
local function common(most, ...)
  local v = most
  for _, n in ipairs{...} do
    while n % v ~= 0 do
      v = v // 2
    end
  end
  return v
end

-- n as an odd number of vectors of v elements, as in small.cl.
local function odd(n, v)
  return n // v % 2 == 1 and n or n + v
end

-- Whether the matrices of an operand follow each other without gaps.
local function is_flat(s, name)
  local rows, cols = submatrix.extent(s, name:upper())
  return s["ld" .. name] == cols
    and (s.batch == 1 or s["stride_" .. name] == rows * cols)
end

-- Elements that a load of operand "a" or "b" may move at once, so that none
-- leaves a row or, of a flat operand, a matrix.
local function load_width(s, name)
  local rows, cols = submatrix.extent(s, name:upper())
  local most = WIDEST // s.esize
  if is_flat(s, name) then
    return common(most, rows * cols, s["start_" .. name])
  end
  return common(most, cols, s["ld" .. name], s["start_" .. name],
    s["stride_" .. name])
end

-- Rows of C of a work-item where the parameter leaves it open: fewer for
-- small matrices, which several work-items share all the same.
local function own_rows(s)
  local size = s.m * s.n
  return size >= 256 and 4 or size >= 64 and 2 or 1
end

-- The defines that tell how `small` divides a shape.
local function layout(s, p)
  local most = WIDEST // s.esize
  local vn, vk = common(most, s.n), common(most, s.k)
  local rm = math.min(p.rm == 0 and own_rows(s) or p.rm, s.m)
  local chunks = s.n // vn
  local cn = math.min(math.max(1, p.rn // vn), chunks)
  local tm, tn = groups(s.m, rm), groups(chunks, cn)
  local many = math.min(math.max(1, p.items // (tm * tn)), s.batch)
  local sa = odd(s.m * odd(s.k, vk), vk)
  local sb = odd(s.k * s.n, vn)
  local limit = s.context and s.context.device.local_mem_size or 49152
  many = math.max(1, math.min(many, limit // 2 // ((sa + sb) * s.esize)))
  return {
    M = s.m, N = s.n, K = s.k, MANY = many, RM = rm, TM = tm, CN = cn,
    TN = tn, VN = vn, VK = vk, UNROLL = math.max(1, p.steps // vk),
    WG = roundup(many * tm * tn, WARP),
  }, many * (sa + sb) * s.esize
end

-- The kernel's arguments. An operand of submatrix.lua gives its buffer,
-- leading dimension, start and stride.
local function args(s, _, o)
  local list = {s.batch, s.alpha}
  local function add(x)
    local placed = type(x) == "table"
    list[#list + 1] = placed and x.buffer or x
    list[#list + 1] = x.ld
    list[#list + 1] = placed and cl.long2(x.start, x.stride) or cl.long2(0, 0)
  end
  add(o.A)
  add(o.B)
  list[#list + 1] = s.beta
  add(o.C)
  return list
end

local function too_large(_, s)
  for _, name in ipairs{"m", "n", "k"} do
    if s[name] > MOST then
      return ("for products of at most %d x %d x %d; %s = %d"):format(MOST,
        MOST, MOST, name, s[name])
    end
  end
end

-- Bytes of a product, each matrix once.
local function traffic(s)
  local c = (s.beta ~= 0 and 2 or 1) * s.m * s.n
  local bytes = (s.m * s.k + s.k * s.n + c) * s.esize
  return {moved = bytes, fetch = bytes}
end

-- How `small_simd` divides a shape.
local function blocks(s, p)
  local width = 2
  while width < s.n and width < tiling.vector_width(s, p) do
    width = 2 * width
  end
  local vectors = groups(s.n, width)
  local nv = math.min(p.nv, vectors)
  while vectors % nv ~= 0 do
    nv = nv - 1
  end
  local rows = p.mr * (p.nv // nv) -- as many sums with fewer vectors
  return {
    M = s.m, N = s.n, K = s.k, VW = width, NV = nv, EACH = p.each,
    MR = groups(s.m, groups(s.m, rows)), -- even blocks
  }
end

local small_rungs = {
  {
    name = "small", file = "small.cl", places = "all",
    lesson = "a work-group takes several small products of a batch",
    trans = {a = "any", b = "any"},
    params = {
      param("items", {32, 64, 128, 256}, 128,
        "work-items that a group has room for; one large product may take "
        .. "more"),
      param("rm", {0, 1, 2, 4, 8}, 0,
        "rows of C per work-item; 0: by the size of C"),
      param("rn", {1, 2, 4, 8}, 4, "columns of C per work-item"),
      param("steps", {1, 4, 8, 16}, 4,
        "terms of a sum between two tests for its end"),
    },
    defines = function(p, s)
      local defines = layout(s, p)
      defines.VA, defines.VB = load_width(s, "a"), load_width(s, "b")
      defines.VC = common(defines.VN, s.ldc, s.start_c, s.stride_c)
      defines.VC = defines.VC == defines.VN and defines.VC or 1
      defines.FLAT_A = is_flat(s, "a") and 1 or 0
      defines.FLAT_B = is_flat(s, "b") and 1 or 0
      return tiling.with_trans(defines, s)
    end,
    accepts = too_large,
    range = function(s, p)
      local l = layout(s, p)
      return {groups(s.batch, l.MANY) * l.WG}, {l.WG}
    end,
    local_bytes = function(s, p)
      return select(2, layout(s, p))
    end,
    args = args,
    traffic = traffic,
  },
  {
    name = "small_simd", file = "small_simd.cl", places = "all",
    lesson = "small products as they lie, nothing packed: for CPUs",
    trans = {a = "any", b = "any"},
    params = {
      tiling.vector,
      param("mr", {2, 4, 6, 8, 12, 16}, 12,
        "rows of C in a block of sums; more where rows have fewer vectors"),
      param("nv", {1, 2, 4}, 2, "vectors in a row of that block, at most"),
      param("each", {1, 4, 16, 64}, 16, "products per work-item"),
    },
    defines = function(p, s)
      return tiling.with_trans(blocks(s, p), s)
    end,
    accepts = function(dev, s, p)
      return too_large(dev, s) or tiling.cpu_vectors(dev, s, p, 2)
    end,
    range = function(s, p)
      return {groups(s.batch, p.each)}, {1}
    end,
    args = args,
    traffic = traffic,
  },
}

-- The product as a matrix M times a vector x, which family gemv computes: M,
-- its size and x; `across` where x runs over the rows of M. nil where neither
-- A nor B is a vector.
local function as_gemv(s, o)
  if s.n == 1 then
    return {M = o.A, x = o.B, rows = s.trans_a and s.k or s.m,
      cols = s.trans_a and s.m or s.k, across = s.trans_a or false,
      gap = not s.trans_b and s.ldb ~= 1 or s.ldc ~= 1}
  elseif s.m == 1 then
    return {M = o.B, x = o.A, rows = s.trans_b and s.n or s.k,
      cols = s.trans_b and s.k or s.n, across = not s.trans_b,
      gap = s.trans_a and s.lda ~= 1}
  end
end

-- A rung with a kernel of family gemv: for x over the rows of M if `across`,
-- else over its columns.
local function gemv_rung(across, def)
  def.trans = {a = "any", b = "any"}
  function def.accepts(_, s)
    local v = as_gemv(s, {})
    if not v or v.across ~= across then
      return ("for m = 1 with B %s, or n = 1 with A %s"):format(
        across and "as it stands" or "transposed",
        across and "transposed" or "as it stands")
    elseif s.placed or v.gap or s.out ~= s.type or s.type == "half" then
      return "for one product in float or double, of whole Buffers"
    end
  end
  local range = def.range
  function def.range(s, p)
    return range(as_gemv(s, {}), p)
  end
  function def.traffic(s)
    return {moved = (s.m * s.k + s.k * s.n) * s.esize}
  end
  function def.args(s, _, o)
    local v = as_gemv(s, o)
    return {v.rows, v.cols, v.M, v.M.ld, v.x, o.C, s.alpha, s.beta}
  end
  return def
end

local vector_rungs = {
  gemv_rung(false, {
    name = "gemv_rows", file = "../gemv/vector.cl", kernel = "gemv",
    lesson = "one row or column of C: memory limits, each row is read once",
    params = {param("wg", {32, 64, 128, 256}, 256, "work-items of a row")},
    defines = function(p)
      return {WG = p.wg, WIDTH = 4, HEIGHT = 1}
    end,
    range = tiling.line("rows", 1, "wg"),
    local_bytes = tiling.elements "wg",
  }),
  gemv_rung(true, {
    name = "gemv_strips", file = "../gemv/strips.cl", kernel = "gemv",
    lesson = "the same, down the columns: a strip of them for each work-group",
    params = {param("lx", {8, 16, 32}, 16, "work-items side by side"),
      param("ly", {16, 32, 64}, 64, "rows side by side")},
    defines = function(p)
      return {LX = p.lx, LY = p.ly, WIDTH = 4, HEIGHT = 8}
    end,
    range = function(s, p)
      return tiling.range(s.cols, p.ly, p.lx * 4, p.ly, p.lx, p.ly)
    end,
    local_bytes = tiling.elements(function(p)
      return 4 * p.lx * p.ly
    end),
  }),
}
table.move(vector_rungs, 1, #vector_rungs, #rungs + 1, rungs)

return table.move(small_rungs, 1, #small_rungs, #rungs + 1, rungs)

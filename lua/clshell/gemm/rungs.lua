-- gemm/rungs.lua - the rungs of the GEMM ladder, C = alpha A B + beta C
-- An array of rung tables, from the plain kernel to the fastest ones.
-- SPDX-License-Identifier: MIT

local place = require "clshell.gemm.submatrix"

local INT_MAX = 0x7fffffff

local function roundup(n, m)
  return (n + m - 1) // m * m
end

local function groups(n, size)
  return (n + size - 1) // size
end

-- Local sizes of the kernels that put no demand on them.
local lx = {
  name = "lx", values = {1, 2, 4, 8, 16, 32, 64, 128, 256}, default = 32,
  help = "local size, dimension 0",
}
local ly = {
  name = "ly", values = {1, 2, 4, 8, 16, 32, 64, 128, 256}, default = 8,
  help = "local size, dimension 1",
}
local tile = {
  name = "tile", values = {4, 8, 16, 32}, default = 16,
  help = "side of the square tile, = local size in both dimensions",
}

-- The local sizes are not known to the kernels: nothing to define.
local function no_defines()
  return {}
end

local function range_columns_first(s, p)
  return {roundup(s.n, p.lx), roundup(s.m, p.ly)}, {p.lx, p.ly}
end

local function range_tiles(s, p)
  return {roundup(s.n, p.tile), roundup(s.m, p.tile)}, {p.tile, p.tile}
end

local function two_tiles(s, p)
  return 2 * p.tile * p.tile * s.esize
end

-- 1 where all rows of an operand begin at multiples of 4 elements, else 0.
-- Buffers begin at multiples of more.
local function on_fours(s, name)
  local start, stride = s["start_" .. name], s["stride_" .. name]
  return (s["ld" .. name] % 4 + start % 4 + stride % 4) == 0 and 1 or 0
end

-- X with both sides rounded up to `multiple`, the new cells zero; X itself
-- where nothing is to be added. With `keep` false the content is not copied.
local function padded(s, run, X, rows, cols, multiple, keep)
  local prows, pcols = roundup(rows, multiple), roundup(cols, multiple)
  if prows == rows and pcols == cols then
    return X
  end
  local Y = place.scratch(s, prows, pcols, X)
  if keep then
    run("pad.cl", "pad", {REAL = s.type},
        {roundup(pcols, 16), roundup(prows, 4)}, {16, 4},
        rows, cols, X, X.ld, prows, pcols, Y, Y.ld)
  end
  return Y
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
    run("pad.cl", "unpad", {REAL = s.type},
        {roundup(s.n, 16), roundup(s.m, 4)}, {16, 4},
        s.m, s.n, o.C, o.C.ld, original.C, original.C.ld)
  end
end

local function fits_constant(dev, s)
  local limit = dev.max_constant_buffer_size
  local operands = {
    {"A", s.m, s.lda}, {"B", s.k, s.ldb},
  }
  if dev.max_constant_args < #operands then
    return string.format("needs %d constant arguments, device allows %d",
                         #operands, dev.max_constant_args)
  end
  for _, operand in ipairs(operands) do
    local name, rows, ld = table.unpack(operand)
    local bytes = rows * ld * s.esize
    if bytes > limit then
      return string.format(
        "%s is %d bytes, the device's constant buffer %d bytes",
        name, bytes, limit)
    end
  end
end

local function register_accepts(_, _, p)
  for _, pair in ipairs{{"bm", "rm"}, {"bn", "rn"}} do
    local block, own = p[pair[1]], p[pair[2]]
    if block % own ~= 0 then
      return string.format("%s = %d is no multiple of %s = %d",
                           pair[1], block, pair[2], own)
    end
  end
end

-- Elements of one run of rows, as register.cl derives VM from RM.
local function register_run(rm)
  return rm % 4 == 0 and 4 or rm % 2 == 0 and 2 or 1
end

-- Elements in a vector of simd.cl.
local function vector_width(s, p)
  return p.vector // s.esize
end

local function simd_accepts(dev, s, p)
  if dev.type == "gpu" then
    return "for CPU devices: it uses 1 work-item per work-group"
  end
  local width = vector_width(s, p)
  if width < 2 or width > 16 then
    return string.format("vector = %d bytes is %d elements of %s, "
                         .. "OpenCL C has vectors of 2 to 16",
                         p.vector, width, s.type)
  end
  local panel = s.k * math.max(p.mr, p.nv * width)
  if panel > INT_MAX then
    return string.format("a panel of %d elements, kernels count to %d",
                         panel, INT_MAX)
  end
end

-- Steps along a panel that one work-item of pack.cl takes.
local PACK_STEPS = 256

-- Panels of `side` rows of A, or columns of B: of which pack_a takes the
-- rows of what is stored, pack_b the columns.
local function pack_operands(s, p, o, run)
  local nr = p.nv * vector_width(s, p)
  local function pack(X, lines, side, by_rows)
    local panels = groups(lines, side)
    local P = place.scratch(s, panels, s.k * side, X)
    run("pack.cl", by_rows and "pack_a" or "pack_b",
        {REAL = s.type, MR = side, NR = side, KB = PACK_STEPS},
        {groups(s.k, PACK_STEPS), panels}, {1, 1},
        by_rows and lines or s.k, by_rows and s.k or lines, X, X.ld, P, P.ld)
    return P
  end
  return {
    A = pack(o.A, s.m, p.mr, not s.trans_a),
    B = pack(o.B, s.n, nr, s.trans_b),
  }
end

return {
  {
    name = "naive_global", file = "naive_global.cl", places = "batch",
    lesson = "one work-item per output, the sum kept in global memory",
    params = {lx, ly},
    defines = no_defines,
    range = range_columns_first,
  },
  {
    name = "naive", file = "naive.cl", places = "batch",
    lesson = "the sum in a private variable; the mapping decides coalescing",
    params = {
      {
        name = "map", values = {"col", "row"}, default = "col",
        help = "what work-item dimension 0 walks: a row of C, column by "
          .. "column (col: coalesced), or a column, row by row (row: not)",
      },
      lx, ly,
    },
    defines = function(p)
      return {MAP_ROW = p.map == "row" and 1 or 0}
    end,
    range = function(s, p)
      if p.map == "row" then
        return {roundup(s.m, p.lx), roundup(s.n, p.ly)}, {p.lx, p.ly}
      end
      return range_columns_first(s, p)
    end,
  },
  {
    name = "transposed_b", file = "transposed_b.cl", places = "batch",
    lesson = "B transposed: both operands along rows, good for a CPU only",
    params = {lx, ly},
    defines = no_defines,
    range = range_columns_first,
    trans = {b = true},
  },
  {
    name = "tiled", file = "tiled.cl", places = "batch",
    lesson = "tiles in local memory: each element fetched once per group",
    params = {
      tile,
      {
        name = "edge", values = {"guard", "pad"}, default = "guard",
        help = "at the edges: test each load and read zero, or pad the "
          .. "matrices with zeros to multiples of the tile beforehand",
      },
    },
    defines = function(p)
      return {TILE = p.tile, EDGE_PAD = p.edge == "pad" and 1 or 0}
    end,
    range = range_tiles,
    local_bytes = two_tiles,
    prepare = pad_operands,
    finish = unpad_result,
  },
  {
    name = "tiled_transposed_b", file = "tiled_transposed_b.cl",
    places = "batch",
    lesson = "transposed B through tiles: coalesced again on a GPU",
    params = {tile},
    range = range_tiles,
    local_bytes = two_tiles,
    trans = {b = true},
  },
  {
    name = "tiled_constant", file = "tiled_constant.cl",
    lesson = "operands in constant memory: small, and made for broadcasts",
    params = {tile},
    range = range_tiles,
    local_bytes = two_tiles,
    accepts = fits_constant,
  },
  {
    name = "tiled_padded", file = "tiled_padded.cl", places = "batch",
    lesson = "local rows one element longer: no bank conflicts",
    params = {
      tile,
      {
        name = "pad", values = {0, 1, 2, 3, 4}, default = 1,
        help = "elements added to each local row; 0 shows the conflicts",
      },
    },
    range = range_tiles,
    local_bytes = function(s, p)
      return 2 * p.tile * (p.tile + p.pad) * s.esize
    end,
  },
  {
    name = "tiled_swizzled", file = "tiled_swizzled.cl", places = "batch",
    lesson = "columns permuted in each local row: no conflicts, no padding",
    params = {
      tile,
      {
        name = "swizzle", values = {"xor", "rotate"}, default = "xor",
        help = "where element k of local row j lies: k ^ j or (k + j) % tile",
      },
    },
    defines = function(p)
      return {TILE = p.tile, ROTATE = p.swizzle == "rotate" and 1 or 0}
    end,
    range = range_tiles,
    local_bytes = two_tiles,
  },
  {
    name = "tiled_float4", file = "tiled_float4.cl", places = "batch",
    lesson = "float4 loads and stores, four outputs per work-item",
    params = {tile},
    defines = function(p, s)
      return {TILE = p.tile, ALIGNED_A = on_fours(s, "a"),
        ALIGNED_B = on_fours(s, "b"), ALIGNED_C = on_fours(s, "c")}
    end,
    range = function(s, p)
      return {roundup(groups(s.n, 4), p.tile), roundup(s.m, p.tile)},
        {p.tile, p.tile}
    end,
    local_bytes = function(s, p)
      return 5 * p.tile * p.tile * s.esize
    end,
  },
  {
    name = "register", file = "register.cl", places = "batch",
    lesson = "an rm x rn block per work-item: few local reads per operation",
    params = {
      {
        name = "bm", values = {16, 32, 64, 128, 256}, default = 64,
        help = "rows of C per work-group",
      },
      {
        name = "bn", values = {16, 32, 64, 128, 256}, default = 64,
        help = "columns of C per work-group",
      },
      {
        name = "bk", values = {4, 8, 16, 32}, default = 16,
        help = "depth of the tiles",
      },
      {
        name = "rm", values = {1, 2, 4, 8, 16}, default = 4,
        help = "rows of C per work-item; divides bm",
      },
      {
        name = "rn", values = {1, 2, 4, 8, 16}, default = 4,
        help = "columns of C per work-item; divides bn",
      },
    },
    range = function(s, p)
      local x, y = p.bn // p.rn, p.bm // p.rm
      return {groups(s.n, p.bn) * x, groups(s.m, p.bm) * y}, {x, y}
    end,
    local_bytes = function(s, p)
      return p.bk * (p.bm + register_run(p.rm) + p.bn) * s.esize
    end,
    accepts = register_accepts,
  },
  {
    name = "simd", file = "simd.cl", places = "batch",
    lesson = "packed panels and explicit vectors, no barriers: for CPUs",
    params = {
      {
        name = "vector", values = {16, 32, 64}, default = 64,
        help = "bytes in a vector: 16 for SSE or NEON, 32 for AVX2, "
          .. "64 for AVX-512",
      },
      {
        name = "mr", values = {4, 6, 8, 12, 14}, default = 14,
        help = "rows of C in a block of sums",
      },
      {
        name = "nv", values = {1, 2, 3, 4}, default = 2,
        help = "vectors in a row of that block",
      },
      {
        name = "mt", values = {1, 2, 4, 6, 8}, default = 8,
        help = "blocks per work-item, downwards",
      },
      {
        name = "nt", values = {1, 2, 4, 8, 12}, default = 4,
        help = "blocks per work-item, across",
      },
      {
        name = "ahead", values = {0, 16, 32}, default = 32,
        help = "steps of k from use to what is asked for",
      },
    },
    defines = function(p, s)
      return {
        VW = vector_width(s, p), MR = p.mr, NV = p.nv, MT = p.mt, NT = p.nt,
        AHEAD = p.ahead,
      }
    end,
    range = function(s, p)
      local nr = p.nv * vector_width(s, p)
      return {groups(s.n, nr * p.nt), groups(s.m, p.mr * p.mt)}, {1, 1}
    end,
    accepts = simd_accepts,
    prepare = pack_operands,
    trans = {a = "any", b = "any"},
  },
}

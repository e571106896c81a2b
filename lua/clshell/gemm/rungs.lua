-- gemm/rungs.lua - the rungs of the GEMM ladder, C = alpha A B + beta C
-- An array of rung tables, from the plain kernel to the fastest ones.
-- SPDX-License-Identifier: MIT

local submatrix = require "clshell.gemm.submatrix"
local tiling = require "clshell.family.tiling"

local access, product = tiling.access, tiling.product
local groups, roundup = tiling.groups, tiling.roundup

local INT_MAX = 0x7fffffff
local WIDEST = 16 -- bytes of the widest access that a compiler may form

-- Local sizes of the kernels that put no demand on them.
local lx = {name = "lx", values = {1, 2, 4, 8, 16, 32, 64, 128, 256},
  default = 32, help = "local size, dimension 0"}
local ly = {name = "ly", values = {1, 2, 4, 8, 16, 32, 64, 128, 256},
  default = 8, help = "local size, dimension 1"}
local tile = {
  name = "tile", values = {4, 8, 16, 32}, default = 16,
  help = "side of the square tile, = local size in both dimensions",
}

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
  local Y = submatrix.scratch(s, prows, pcols, X)
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

local function simd_accepts(dev, s, p)
  local reason = tiling.cpu_only(dev)
  if reason then
    return reason
  end
  local width = tiling.vector_width(s, p)
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

-- Packs operands in panels of rows of A, or columns of B: pack_a takes stored
-- rows, pack_b stored columns.
local function pack_operands(s, p, o, run)
  local nr = p.nv * tiling.vector_width(s, p)
  local function pack(X, lines, side, by_rows)
    local panels = groups(lines, side)
    local P = submatrix.scratch(s, panels, s.k * side, X)
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

-- Reads along a row of local memory: n elements, which the compiler may take
-- 16 bytes at a time where the rows begin at such places.
local function along(n, e, row, at)
  local bytes = row * e % WIDEST == 0 and n * e % WIDEST == 0 and WIDEST or e
  return access(n * e / bytes, bytes, at)
end

-- The traffic without local memory: A and B as seen by work-item (x, y);
-- `sums`: C is read and written at each step.
local function traffic_of_plain(a, b, sums)
  return function(s, p)
    local e = s.esize
    local function c(x, y)
      return p.map == "row" and (x * s.n + y) * e or (y * s.n + x) * e
    end
    return {
      global = {access(s.k, e, a(s, p)), access(s.k, e, b(s, p)),
        access(sums and 2 * s.k or 1, e, c)},
      fetch = product(s, p.lx, p.ly),
    }
  end
end

local function row_of_a(s, p)
  return function(x, y)
    return (p.map == "row" and x or y) * s.k * s.esize
  end
end

local function row_of_b(s, p)
  return function(x, y)
    return (p.map == "row" and y or x) * s.esize
  end
end

-- The traffic of a rung with square tiles. `turned`: B lies transposed in
-- local memory, `bt`: in global memory, `along`: its rows are read along;
-- `swizzle`: the place of a column.
local function traffic_of_tiles(how)
  return function(s, p)
    local e, t = s.esize, p.tile
    local row = t + (p.pad or 0)
    local depth = roundup(s.k, t)
    local column = how.swizzle or function(_, k) return k end
    local function at(i, j)
      return (i * row + column(i, j)) * e
    end
    local locals = {
      access(depth / t, e, function(x, y) return (y * row + x) * e end),
      access(depth / t, e, function(x, y)
        return how.turned and at(x, y) or at(y, x)
      end),
      along(depth, e, row, function(_, y) return y * row * e end),
    }
    if how.along then
      locals[4] = along(depth, e, how.swizzle and 1 or row, function(x)
        return at(x, 0)
      end)
    else
      locals[4] = access(depth, e, function(x) return x * e end)
    end
    return {
      global = {
        access(depth / t, e, function(x, y) return (y * s.k + x) * e end),
        access(depth / t, e, function(x, y)
          return (y * (how.bt and s.k or s.n) + x) * e
        end),
        access(1, e, function(x, y) return (y * s.n + x) * e end),
      },
      locals = locals,
      fetch = product(s, t, t),
    }
  end
end

local function traffic_of_float4(s, p)
  local e, t = s.esize, p.tile
  local steps = roundup(s.k, t) / t
  local quads = t // 4
  local function a(ld)
    return function(x, y)
      local id = y * t + x
      return (id // quads * ld + id % quads * 4) * e
    end
  end
  return {
    global = {
      access(steps / 4, 4 * e, a(s.k)),
      access(steps, 4 * e, function(x, y) return (y * s.n + 4 * x) * e end),
      access(1, 4 * e, function(x, y) return (y * s.n + 4 * x) * e end),
    },
    locals = {
      access(steps / 4, 4 * e, a(t)),
      access(steps, 4 * e, function(x, y) return 4 * (y * t + x) * e end),
      access(steps * quads, 4 * e, function(_, y) return y * t * e end),
      access(steps * t, 4 * e, function(x) return 4 * x * e end),
    },
    fetch = product(s, t, 4 * t),
  }
end

local function traffic_of_register(s, p)
  local e, width = s.esize, p.bn // p.rn
  local size = width * (p.bm // p.rm)
  local vm, vn = register_run(p.rm), register_run(p.rn)
  local steps = roundup(s.k, p.bk) / p.bk
  local na, nb = steps * p.bm * p.bk / size, steps * p.bk * p.bn / size
  local function id(x, y) return y * width + x end
  local function a(rows, columns)
    return function(x, y)
      local i = id(x, y)
      return (i // p.bk * rows + i % p.bk * columns) * e
    end
  end
  return {
    global = {
      access(na, e, a(s.k, 1)),
      access(nb, e, function(x, y)
        return (id(x, y) // p.bn * s.n + id(x, y) % p.bn) * e
      end),
      access(p.rm * p.rn / vn, vn * e, function(x, y)
        return (y * vm * s.n + x * vn) * e
      end),
    },
    locals = {
      access(na, e, a(1, p.bm + vm)),
      access(nb, e, function(x, y) return id(x, y) * e end),
      access(steps * p.bk * p.rm / vm, vm * e, function(_, y)
        return y * vm * e
      end),
      access(steps * p.bk * p.rn / vn, vn * e, function(x)
        return x * vn * e
      end),
    },
    fetch = product(s, p.bm, p.bn),
  }
end

return {
  {
    name = "naive_global", file = "naive_global.cl", places = "batch",
    lesson = "one work-item per output, the sum kept in global memory",
    params = {lx, ly},
    defines = tiling.no_defines,
    range = range_columns_first,
    traffic = traffic_of_plain(row_of_a, row_of_b, true),
  },
  {
    name = "naive", file = "naive.cl", places = "batch",
    lesson = "the sum in a private variable; the mapping decides coalescing",
    params = {
      {name = "map", values = {"col", "row"}, default = "col",
        help = "what work-item dimension 0 walks: a row of C, column by "
          .. "column (col: coalesced), or a column, row by row (row: not)"},
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
    traffic = traffic_of_plain(row_of_a, row_of_b),
  },
  {
    name = "transposed_b", file = "transposed_b.cl", places = "batch",
    lesson = "B transposed: both operands along rows, good for a CPU only",
    params = {lx, ly},
    defines = tiling.no_defines,
    range = range_columns_first,
    trans = {b = true},
    traffic = traffic_of_plain(row_of_a, function(s)
      return function(x)
        return x * s.k * s.esize
      end
    end),
  },
  {
    name = "tiled", file = "tiled.cl", places = "batch",
    lesson = "tiles in local memory: each element fetched once per group",
    params = {
      tile,
      {name = "edge", values = {"guard", "pad"}, default = "guard",
        help = "at the edges: test each load and read zero, or pad the "
          .. "matrices with zeros to multiples of the tile beforehand"},
    },
    defines = function(p)
      return {TILE = p.tile, EDGE_PAD = p.edge == "pad" and 1 or 0}
    end,
    range = range_tiles,
    local_bytes = two_tiles,
    prepare = pad_operands,
    finish = unpad_result,
    traffic = traffic_of_tiles{},
  },
  {
    name = "tiled_transposed_b", file = "tiled_transposed_b.cl",
    places = "batch",
    lesson = "transposed B through tiles: coalesced again on a GPU",
    params = {tile},
    range = range_tiles,
    local_bytes = two_tiles,
    trans = {b = true},
    traffic = traffic_of_tiles{turned = true, bt = true},
  },
  {
    name = "tiled_constant", file = "tiled_constant.cl",
    lesson = "operands in constant memory: small, and made for broadcasts",
    params = {tile},
    range = range_tiles,
    local_bytes = two_tiles,
    accepts = fits_constant,
    traffic = traffic_of_tiles{},
  },
  {
    name = "tiled_padded", file = "tiled_padded.cl", places = "batch",
    lesson = "local rows one element longer: no bank conflicts",
    params = {
      tile,
      {name = "pad", values = {0, 1, 2, 3, 4}, default = 1,
        help = "elements added to each local row; 0 shows the conflicts"},
    },
    range = range_tiles,
    local_bytes = function(s, p)
      return 2 * p.tile * (p.tile + p.pad) * s.esize
    end,
    traffic = traffic_of_tiles{turned = true, along = true},
  },
  {
    name = "tiled_swizzled", file = "tiled_swizzled.cl", places = "batch",
    lesson = "columns permuted in each local row: no conflicts, no padding",
    params = {
      tile,
      {name = "swizzle", values = {"xor", "rotate"}, default = "xor",
        help = "where element k of local row j lies: k ^ j or (k + j) % tile"},
    },
    defines = function(p)
      return {TILE = p.tile, ROTATE = p.swizzle == "rotate" and 1 or 0}
    end,
    range = range_tiles,
    local_bytes = two_tiles,
    traffic = traffic_of_tiles{turned = true, along = true,
      swizzle = function(i, k) return i ~ k end},
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
    traffic = traffic_of_float4,
  },
  {
    name = "register", file = "register.cl", places = "batch",
    lesson = "an rm x rn block per work-item: few local reads per operation",
    params = {
      {name = "bm", values = {16, 32, 64, 128, 256}, default = 64,
        help = "rows of C per work-group"},
      {name = "bn", values = {16, 32, 64, 128, 256}, default = 64,
        help = "columns of C per work-group"},
      {name = "bk", values = {4, 8, 16, 32}, default = 16,
        help = "depth of the tiles"},
      {name = "rm", values = {1, 2, 4, 8, 16}, default = 4,
        help = "rows of C per work-item; divides bm"},
      {name = "rn", values = {1, 2, 4, 8, 16}, default = 4,
        help = "columns of C per work-item; divides bn"},
    },
    range = function(s, p)
      local x, y = p.bn // p.rn, p.bm // p.rm
      return {groups(s.n, p.bn) * x, groups(s.m, p.bm) * y}, {x, y}
    end,
    local_bytes = function(s, p)
      return p.bk * (p.bm + register_run(p.rm) + p.bn) * s.esize
    end,
    accepts = register_accepts,
    traffic = traffic_of_register,
  },
  {
    name = "simd", file = "simd.cl", places = "batch",
    lesson = "packed panels and explicit vectors, no barriers: for CPUs",
    params = {
      {name = "vector", values = {16, 32, 64}, default = 64,
        help = "bytes in a vector: 16 for SSE or NEON, 32 for AVX2, "
          .. "64 for AVX-512"},
      {name = "mr", values = {4, 6, 8, 12, 14}, default = 14,
        help = "rows of C in a block of sums"},
      {name = "nv", values = {1, 2, 3, 4}, default = 2,
        help = "vectors in a row of that block"},
      {name = "mt", values = {1, 2, 4, 6, 8}, default = 8,
        help = "blocks per work-item, downwards"},
      {name = "nt", values = {1, 2, 4, 8, 12}, default = 4,
        help = "blocks per work-item, across"},
      {name = "ahead", values = {0, 16, 32}, default = 32,
        help = "steps of k from use to what is asked for"},
    },
    defines = function(p, s)
      return {VW = tiling.vector_width(s, p), MR = p.mr, NV = p.nv,
        MT = p.mt, NT = p.nt, AHEAD = p.ahead}
    end,
    range = function(s, p)
      local nr = p.nv * tiling.vector_width(s, p)
      return {groups(s.n, nr * p.nt), groups(s.m, p.mr * p.mt)}, {1, 1}
    end,
    accepts = simd_accepts,
    prepare = pack_operands,
    trans = {a = "any", b = "any"},
    traffic = function(s, p) -- elements: the blocks of sums are in registers
      local nr = p.nv * tiling.vector_width(s, p)
      return {moved = product(s, p.mr, nr)}
    end,
  },
}

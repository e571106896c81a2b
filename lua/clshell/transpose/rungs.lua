-- transpose/rungs.lua - the ladder of transpose kernels, as data
-- Each rung names its file in kernels/transpose/, its one-line lesson, its
-- parameters and its NDRange. The shape s has rows and cols of A.
-- SPDX-License-Identifier: MIT

local tiling = require "clshell.family.tiling"

local access, groups, roundup = tiling.access, tiling.groups, tiling.roundup

local lx = {name = "lx", values = {4, 8, 16, 32, 64}, default = 32,
  help = "local size along dimension 0, which walks contiguous memory on "
    .. "the coalesced side"}
local ly = {name = "ly", values = {1, 2, 4, 8, 16}, default = 8,
  help = "local size along dimension 1"}

local tile = {name = "tile", values = {8, 16, 32, 64}, default = 32,
  help = "side of the square tile in local memory"}
local rows_per_item = {name = "rows_per_item", values = {1, 2, 4, 8},
  default = 4,
  help = "tile rows that each work-item moves; "
    .. "the local size is {tile, tile / rows_per_item}"}
local pad = {name = "pad", values = {0, 1, 2, 4}, default = 1,
  help = "elements added to each row of the tile"}

local function tiled_range(s, p)
  local height = p.tile // p.rows_per_item
  return {roundup(s.cols, p.tile), groups(s.rows, p.tile) * height},
    {p.tile, height}
end

local function square_tile_bytes(s, p)
  return p.tile * p.tile * s.esize
end

local LINE = 64 -- bytes that simd.cl leaves free after each row of its tile

local function simd_accepts(dev, s, p)
  local width = tiling.vector_width(s, p)
  local reason = tiling.cpu_only(dev)
  if reason then
    return reason
  elseif width < 4 or width > 16 then
    return ("vector = %d bytes is %d elements of %s, the kernel takes 4 to 16")
      :format(p.vector, width, s.type)
  end
end

-- Traffic: `reads` and `writes` give the address of work-item (x, y), each
-- `times` (a parameter; nil: once).
local function traffic_of(reads, writes, times)
  return function(s, p)
    local e, n = s.esize, times and p[times] or 1
    local row = p.tile and p.tile + (p.pad or 0)
    return {
      global = {access(n, e, reads(e, s.cols)), access(n, e,
        writes(e, s.rows))},
      locals = row and {
        access(n, e, function(x, y) return (y * row + x) * e end),
        access(n, e, function(x, y) return (x * row + y) * e end),
      },
      fetch = 2 * s.rows * s.cols * e,
    }
  end
end

local function along_rows(e, ld)
  return function(x, y) return (y * ld + x) * e end
end

local function along_columns(e, ld)
  return function(x, y) return (x * ld + y) * e end
end

local traffic_of_tiles = traffic_of(along_rows, along_rows, "rows_per_item")

local function traffic_of_swizzled(s, p)
  local model = traffic_of_tiles(s, p)
  model.locals[2].at = function(x, y)
    return (x * p.tile + (x ~ y)) * s.esize
  end
  return model
end

local function traffic_of_float4(s)
  local e = s.esize
  local function vectors(ld)
    return function(x, y) return (4 * y * ld + 4 * x) * e end
  end
  return {
    global = {access(4, 4 * e, vectors(s.cols)),
      access(4, 4 * e, vectors(s.rows))},
    fetch = 2 * s.rows * s.cols * e,
  }
end

return {
  {
    name = "naive_read", file = "naive_read.cl",
    lesson = "reads along rows are coalesced, writes stride by ldb",
    params = {lx, ly},
    defines = tiling.no_defines,
    range = function(s, p)
      return {roundup(s.cols, p.lx), roundup(s.rows, p.ly)}, {p.lx, p.ly}
    end,
    traffic = traffic_of(along_rows, along_columns),
  },
  {
    name = "naive_write", file = "naive_write.cl",
    lesson = "writes along rows are coalesced, reads stride by lda",
    params = {lx, ly},
    defines = tiling.no_defines,
    range = function(s, p)
      return {roundup(s.rows, p.lx), roundup(s.cols, p.ly)}, {p.lx, p.ly}
    end,
    traffic = traffic_of(along_columns, along_rows),
  },
  {
    name = "tiled", file = "tiled.cl",
    lesson = "a tile in local memory: both sides coalesced, but its columns "
      .. "lie in one bank",
    params = {tile, rows_per_item},
    range = tiled_range,
    local_bytes = square_tile_bytes,
    traffic = traffic_of_tiles,
  },
  {
    name = "tiled_padded", file = "tiled_padded.cl",
    lesson = "tile rows one element longer: no bank conflicts",
    params = {tile, rows_per_item, pad},
    range = tiled_range,
    local_bytes = function(s, p)
      return p.tile * (p.tile + p.pad) * s.esize
    end,
    traffic = traffic_of_tiles,
  },
  {
    name = "tiled_swizzled", file = "tiled_swizzled.cl",
    lesson = "columns permuted inside tile rows: no conflicts, no padding",
    params = {tile, rows_per_item},
    range = tiled_range,
    local_bytes = square_tile_bytes,
    traffic = traffic_of_swizzled,
  },
  {
    name = "float4", file = "float4.cl",
    lesson = "float4 loads and stores, 4x4 blocks transposed in registers",
    params = {
      {name = "tile", values = {8, 16, 32, 64}, default = 64,
        help = "side of the square tile; the local size is "
          .. "{tile / 4, tile / 4}"},
    },
    range = function(s, p)
      local side = p.tile // 4
      return {groups(s.cols, p.tile) * side, groups(s.rows, p.tile) * side},
        {side, side}
    end,
    local_bytes = square_tile_bytes,
    traffic = traffic_of_float4,
  },
  {
    name = "simd", file = "simd.cl",
    lesson = "for CPU devices: turned in vector registers, whole cache lines "
      .. "written past the cache",
    params = {
      {name = "vector", values = {16, 32, 64}, default = 64,
        help = "bytes in a vector: 16 for SSE or NEON, 32 for AVX2, 64 for "
          .. "AVX-512"},
      {name = "tile_rows", values = {32, 64, 128, 256}, default = 128,
        help = "rows of A per work-item"},
      {name = "tile_cols", values = {64, 256, 512, 1024}, default = 1024,
        help = "columns of A per work-item: how far it reads on"},
      {name = "stream", values = {0, 1}, default = 1,
        help = "1: B is written past the cache, 0: it may stay there"},
    },
    defines = function(p, s)
      return {WIDTH = tiling.vector_width(s, p), TILE_ROWS = p.tile_rows,
        TILE_COLS = p.tile_cols, STREAM = p.stream}
    end,
    range = function(s, p)
      return {groups(s.cols, p.tile_cols), groups(s.rows, p.tile_rows)},
        {1, 1}
    end,
    local_bytes = function(s, p)
      return p.tile_cols * (p.tile_rows * s.esize + LINE)
    end,
    accepts = simd_accepts,
    traffic = function(s) -- work-items move vectors, each element once
      return {moved = 2 * s.rows * s.cols * s.esize}
    end,
  },
}

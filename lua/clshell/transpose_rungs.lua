-- transpose_rungs.lua - the ladder of transpose kernels, as data
-- Each rung names its file in kernels/transpose/, its one-line lesson, its
-- parameters and its NDRange. The shape s has rows and cols of A.
-- SPDX-License-Identifier: MIT

local function ceildiv(n, m)
  return (n + m - 1) // m
end

local function roundup(n, m)
  return ceildiv(n, m) * m
end

local function no_defines()
  return {}
end

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
  return {roundup(s.cols, p.tile), ceildiv(s.rows, p.tile) * height},
    {p.tile, height}
end

local function square_tile_bytes(s, p)
  return p.tile * p.tile * s.esize
end

return {
  {
    name = "naive_read", file = "naive_read.cl",
    lesson = "reads along rows are coalesced, writes stride by ldb",
    params = {lx, ly},
    defines = no_defines,
    range = function(s, p)
      return {roundup(s.cols, p.lx), roundup(s.rows, p.ly)}, {p.lx, p.ly}
    end,
  },
  {
    name = "naive_write", file = "naive_write.cl",
    lesson = "writes along rows are coalesced, reads stride by lda",
    params = {lx, ly},
    defines = no_defines,
    range = function(s, p)
      return {roundup(s.rows, p.lx), roundup(s.cols, p.ly)}, {p.lx, p.ly}
    end,
  },
  {
    name = "tiled", file = "tiled.cl",
    lesson = "a tile in local memory: both sides coalesced, but its columns "
      .. "lie in one bank",
    params = {tile, rows_per_item},
    range = tiled_range,
    local_bytes = square_tile_bytes,
  },
  {
    name = "tiled_padded", file = "tiled_padded.cl",
    lesson = "tile rows one element longer: no bank conflicts",
    params = {tile, rows_per_item, pad},
    range = tiled_range,
    local_bytes = function(s, p)
      return p.tile * (p.tile + p.pad) * s.esize
    end,
  },
  {
    name = "tiled_swizzled", file = "tiled_swizzled.cl",
    lesson = "columns permuted inside tile rows: no conflicts, no padding",
    params = {tile, rows_per_item},
    range = tiled_range,
    local_bytes = square_tile_bytes,
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
      return {ceildiv(s.cols, p.tile) * side, ceildiv(s.rows, p.tile) * side},
        {side, side}
    end,
    local_bytes = square_tile_bytes,
  },
}

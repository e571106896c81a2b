-- ladders/transpose.lua - the transpose family, B = A^T
-- Each rung names its file in kernels/transpose/, its one-line lesson, its
-- parameters and its NDRange. The shape s has rows and cols of A.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local host = require "cl.host"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local access, param = tiling.access, tiling.param

local lx = param("lx", {4, 8, 16, 32, 64}, 32, "local size along dimension "
  .. "0, which walks contiguous memory on the coalesced side")
local ly = param("ly", {1, 2, 4, 8, 16}, 8, "local size along dimension 1")

local tile = param("tile", {8, 16, 32, 64}, 32,
  "side of the square tile in local memory")
local rows_per_item = param("rows_per_item", {1, 2, 4, 8}, 4,
  "tile rows that each work-item moves; the local size is {tile, tile / "
  .. "rows_per_item}")

local function tile_bytes(s, p)
  return p.tile * (p.tile + (p.pad or 0)) * s.esize
end

-- A rung of square tiles; its own parameter comes after the common ones.
-- `swizzled`: the columns of a row of the tile are permuted.
local function tiled(rung, swizzled)
  rung.params = {tile, rows_per_item, rung.params}
  function rung.range(s, p)
    return tiling.range(s.cols, s.rows, p.tile, p.tile, p.tile,
      p.tile // p.rows_per_item)
  end
  rung.local_bytes = tile_bytes
  function rung.traffic(s, p)
    local e, n = s.esize, p.rows_per_item
    local row = (p.tile + (p.pad or 0)) * e
    local columns = swizzled and tiling.access_at(n, e, function(x, y)
      return x * row + (x ~ y) * e
    end) or access(n, e, row, e)
    return {
      global = {access(n, e, e, s.cols * e), access(n, e, e, s.rows * e)},
      locals = {access(n, e, e, row), columns},
      fetch = 2 * s.rows * s.cols * e,
    }
  end
  return rung
end

-- A rung without local memory, whose work-items walk the rows of A, or with
-- `columns` its columns, side by side.
local function plain(rung, columns)
  rung.params, rung.defines = {lx, ly}, tiling.no_defines
  rung.range = columns and tiling.grid("rows", "cols", "lx", "ly")
    or tiling.grid("cols", "rows", "lx", "ly")
  function rung.traffic(s)
    local e = s.esize
    local a, b = columns and {s.cols * e, e} or {e, s.cols * e},
      columns and {e, s.rows * e} or {s.rows * e, e}
    return {
      global = {access(1, e, a[1], a[2]), access(1, e, b[1], b[2])},
      fetch = 2 * s.rows * s.cols * e,
    }
  end
  return rung
end

local LINE = 64 -- bytes that simd.cl leaves free after each row of its tile

local rungs = {
  plain{
    name = "naive_read", file = "naive_read.cl",
    lesson = "reads along rows are coalesced, writes stride by ldb",
  },
  plain({
    name = "naive_write", file = "naive_write.cl",
    lesson = "writes along rows are coalesced, reads stride by lda",
  }, true),
  tiled{
    name = "tiled", file = "tiled.cl",
    lesson = "a tile in local memory: both sides coalesced, but its columns "
      .. "lie in one bank",
  },
  tiled{
    name = "tiled_padded", file = "tiled_padded.cl",
    lesson = "tile rows one element longer: no bank conflicts",
    params = param("pad", {0, 1, 2, 4}, 1,
      "elements added to each row of the tile"),
  },
  tiled({
    name = "tiled_swizzled", file = "tiled_swizzled.cl",
    lesson = "columns permuted inside tile rows: no conflicts, no padding",
  }, true),
  {
    name = "float4", file = "float4.cl",
    lesson = "float4 loads and stores, 4x4 blocks transposed in registers",
    params = {param("tile", {8, 16, 32, 64}, 64,
      "side of the square tile; the local size is {tile / 4, tile / 4}")},
    range = function(s, p)
      local side = p.tile // 4
      return tiling.range(s.cols, s.rows, p.tile, p.tile, side, side)
    end,
    local_bytes = tile_bytes,
    traffic = function(s)
      local e = s.esize
      return {
        global = {access(4, 4 * e, 4 * e, 4 * s.cols * e),
          access(4, 4 * e, 4 * e, 4 * s.rows * e)},
        fetch = 2 * s.rows * s.cols * e,
      }
    end,
  },
  {
    name = "simd", file = "simd.cl",
    lesson = "for CPU devices: turned in vector registers, whole cache lines "
      .. "written past the cache",
    params = {
      tiling.vector,
      param("tile_rows", {32, 64, 128, 256}, 128, "rows of A per work-item"),
      param("tile_cols", {64, 256, 512, 1024}, 1024,
        "columns of A per work-item: how far it reads on"),
      tiling.stream "B",
    },
    defines = function(p, s)
      return {WIDTH = tiling.vector_width(s, p), TILE_ROWS = p.tile_rows,
        TILE_COLS = p.tile_cols, STREAM = p.stream}
    end,
    range = tiling.grid("cols", "rows", "tile_cols", "tile_rows", 1, 1),
    local_bytes = function(s, p)
      return p.tile_cols * (p.tile_rows * s.esize + LINE)
    end,
    accepts = function(dev, s, p)
      return tiling.cpu_vectors(dev, s, p, 4)
    end,
    traffic = function(s) -- work-items move vectors, each element once
      return {moved = 2 * s.rows * s.cols * s.esize}
    end,
  },
}

--- transpose(A [, opts]) -> B, event
--- The transpose of a matrix on the device, bit for bit. A is a Buffer with
--- two dimensions (an Array or a nested table is copied there), or a Split in
--- rows over several devices, which gives a Split in rows.
--- Options:
---   kernel  the best known  a rung's name, see transpose.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local B, event = transpose(matrix.random(20, 30), {kernel = "tiled"})
--- print(B.rows, B.cols) --> 30 20
local transpose = family.new({
  name = "transpose",
  rungs = rungs,
  arguments = {{"A", "rows", "cols"}},
  output = {"B", "cols", "rows"},
  types = {"float", "double", "half"},
  cache = "cold",
  memory = "copy",
  truth = function(o)
    return verify.transpose(o.A:read())
  end,
  hosts = {
    {name = "plain_c", gflops = 0.2, run = function(o)
      return host.transpose_loop(o.A:read())
    end},
  },
}, require "clshell.base.lazy".table(...))

return transpose

-- ladders/conv2d.lua - the family of convolutions of a matrix with a filter
-- Each rung names its file in kernels/conv2d/, its one-line lesson, its
-- parameters and its NDRange. Where the tile lies in local memory, the size of
-- the filter is compiled in.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local access, groups, param = tiling.access, tiling.groups, tiling.param

local LARGE = 128 -- elements of a filter that are too many to write out
local HELD = 64   -- elements of a filter that registers hold
local LONG = 4096 -- multiply-adds of a work-item that are worth writing out

local function lx(default)
  return param("lx", {8, 16, 32, 64}, default, "local size along rows")
end

local function ly(default)
  return param("ly", {2, 4, 8, 16}, default, "local size along columns")
end

local function width(values)
  return param("width", values, 4, "columns of a work-item")
end

local function height(help, default)
  return param("height", {1, 2, 4, 8}, default or 4, help)
end

-- The reason why constant memory cannot hold the filter, or nil.
local function constant(dev, s)
  local bytes = ((s.frows - 1) * s.ldf + s.fcols) * s.esize
  local most = dev.max_constant_buffer_size
  return most and bytes > most and ("F is %s, the device's constant buffer %s")
    :format(text.bytes(bytes), text.bytes(most)) or nil
end

-- Why `taker` refuses a filter of more than `most` elements; else nil.
local function at_most(most, s, taker)
  local n = s.frows * s.fcols
  return n > most and ("%s takes filters of at most %d elements; got %d")
    :format(taker, most, n) or nil
end

-- The reason why the rows of a work-item cannot be written out, or false.
local function written(s, p)
  local n = p.height * p.width * s.frows * s.fcols
  return n > LONG and ("unroll = 1 writes out %d multiply-adds at most; "
    .. "height %d and width %d with this filter are %d"):format(LONG,
    p.height, p.width, n)
end

-- The parameters and the size of the filter as defines.
local function sized(p, s)
  return tiling.add_defines({FROWS = s.frows, FCOLS = s.fcols}, p)
end

-- A rung of one work-item for each element that loads from A for each product.
local function plain(rung)
  rung.params = {lx(32), ly(8)}
  rung.range = tiling.grid("cols", "rows", "lx", "ly")
  function rung.traffic(s)
    local e, n = s.esize, s.frows * s.fcols
    return {global = {access(n, e, e, s.lda * e), access(n, e),
      access(1, e, e, s.ldb * e)}}
  end
  return rung
end

-- A rung of tiles in local memory. A work-item computes wide(p) x tall(p)
-- elements, and takes locals(s, p) from the tile, in accesses of `width`.
local function tiled(rung, wide, tall, locals)
  -- columns and rows of the tile with its halo
  local function extent(s, p)
    local w = wide(p)
    return tiling.roundup(p.lx * w + s.fcols - 1, w),
      p.ly * tall(p) + s.frows - 1
  end
  local accepts, fixed = rung.accepts, rung.unroll
  rung.unroll = nil
  function rung.accepts(dev, s, p)
    return constant(dev, s) or accepts and accepts(s, p)
  end
  function rung.defines(p, s)
    local list = sized(p, s)
    list.UNROLL = list.UNROLL or fixed
    return list
  end
  function rung.range(s, p)
    return tiling.range(s.cols, s.rows, p.lx * wide(p), p.ly * tall(p), p.lx,
      p.ly)
  end
  function rung.local_bytes(s, p)
    local w, h = extent(s, p)
    return w * h * s.esize
  end
  function rung.traffic(s, p)
    local e, v = s.esize, wide(p) * s.esize
    local w, h = extent(s, p)
    local loads = w * h / (p.lx * p.ly)
    return {
      global = {access(loads, e, e, s.lda * e),
        access(tall(p), v, v, s.ldb * e)},
      locals = {access(loads, e, e, w * e),
        access(locals(s, p), v, v, tall(p) * w * e)},
      fetch = (groups(s.cols, p.lx * wide(p)) * groups(s.rows,
        p.ly * tall(p)) * w * h + s.rows * s.cols) * e,
    }
  end
  return rung
end

local function one()
  return 1
end

local function height_of(p)
  return p.height
end

-- A rung of several elements below each other.
local function below(rung)
  rung.file = "register.cl"
  rung.params = {lx(32), ly(8), height "elements of a work-item"}
  return tiled(rung, one, height_of, function(s, p)
    return (p.height + s.frows - 1) * s.fcols
  end)
end

local rungs = {
  plain{
    name = "naive", file = "naive.cl",
    lesson = "one work-item for each element: two loads and the test of an "
      .. "edge for each product",
  },
  plain{
    name = "constant", file = "constant.cl",
    lesson = "the filter in constant memory, which gives one element to all",
    accepts = constant,
  },
  tiled({
    name = "tiled", file = "tiled.cl", params = {lx(32), ly(8)},
    lesson = "a tile and its halo in local memory: edges are tested once for "
      .. "each element",
  }, one, one, function(s)
    return s.frows * s.fcols
  end),
  below{
    name = "register", unroll = 0,
    lesson = "several elements for each work-item: a load of the tile serves "
      .. "all of them",
  },
  below{
    name = "unrolled", unroll = 1,
    lesson = "the filter's size compiled in: no counters, no moves between "
      .. "registers",
  },
  tiled({
    name = "vector", file = "vector.cl",
    params = {lx(16), ly(8), width{4, 8}, height "rows of a work-item",
      param("unroll", {0, 1}, 1, "1: the rows of the filter are written out")},
    lesson = "blocks of elements for each work-item: a row of the tile, "
      .. "loaded in vectors, serves all of them",
    accepts = function(s, p)
      return p.unroll == 1 and at_most(LARGE, s, "unroll = 1") or nil
    end,
  }, function(p)
    return p.width
  end, height_of, function(s, p)
    return (p.height + s.frows - 1) * groups(p.width + s.fcols - 1, p.width)
  end),
  {
    name = "slide", file = "slide.cl", defines = sized,
    lesson = "no local memory: rows go through registers, the caches serve "
      .. "neighbours",
    params = {
      param("lx", {16, 32, 64, 128, 256}, 64, "local size along rows"),
      param("ly", {1, 2, 4, 8}, 4, "local size along columns"),
      width{2, 4, 8},
      param("height", {2, 4, 8, 16, 32, 64}, 8, "rows of a work-item"),
      param("ahead", {1, 2, 3, 4}, 2, "rows loaded before their turn"),
      param("unroll", {0, 1}, 1, "1: the rows of a work-item are written out"),
    },
    range = tiling.grid("cols", "rows", "lx width", "ly height", "lx", "ly"),
    accepts = function(dev, s, p)
      return constant(dev, s) or at_most(HELD, s, "slide")
        or p.unroll == 1 and written(s, p)
    end,
    traffic = function(s, p)
      local w, h, e = p.width, p.height, s.esize
      local v, left = w * e, groups((s.fcols - 1) // 2, w)
      local parts = left + 1 + groups(s.fcols // 2, w)
      local tall = h + s.frows - 1
      return {
        global = {access(tall * parts, v, v, h * s.lda * e),
          access(h, v, v, h * s.ldb * e)},
        fetch = (groups(s.cols, p.lx * w) * groups(s.rows, p.ly * h)
          * (p.lx + parts - 1) * w * (p.ly * h + s.frows - 1)
          + s.rows * s.cols) * e,
      }
    end,
  },
  {
    name = "simd", file = "simd.cl", defines = sized,
    lesson = "for CPU devices: blocks of long vectors, copied where they meet "
      .. "edges",
    params = {
      param("span", {128, 256, 1024, 4096, 8192}, 1024,
        "columns of a work-item"),
      param("tall", {8, 16, 24, 64, 128}, 64, "rows of a work-item"),
      param("height", {1, 2, 4, 6, 8}, 4, "rows side by side"),
      param("vectors", {1, 2, 4}, 2, "vectors side by side"),
      param("width", {4, 8, 16}, 16, "elements per vector"),
      tiling.stream "B",
    },
    range = tiling.grid("cols", "rows", "span", "tall", 1, 1),
    accepts = tiling.cpu_only,
    local_bytes = function(s, p)
      return ((p.vectors * p.width + s.fcols - 1) * (p.height + s.frows - 1)
        + s.frows * s.fcols) * s.esize
    end,
    traffic = function(s, p)
      local loads = (p.height + s.frows - 1) * s.fcols / p.height
      return {moved = s.rows * s.cols * (loads + 3) * s.esize}
    end,
  },
}

--- conv2d(A, F [, opts]) -> B, event
--- The direct convolution of an image with a filter of any size: B[i][j] is
--- the sum of the elements of A around (i, j) times the elements of F. B has
--- the shape of A; outside A is 0 ("same", padded with zeros). With indices
--- from 1, element (1 + (frows - 1) // 2, 1 + (fcols - 1) // 2) of F belongs
--- to the element itself: the middle of an odd size, the element before the
--- middle of an even size. F is not turned round, as in libraries for neural
--- networks; give it turned by 180 degrees for the convolution of mathematics.
--- A and F are Buffers of float or double with two dimensions, whose rows may
--- have gaps (Arrays and nested tables are copied to the device). An element
--- of B is off by verify.bound(type, #F) of the sum of absolute values at
--- most.
--- Options:
---   kernel  the best known  a rung's name, see conv2d.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = matrix.ones(5, 6)
--- local B = conv2d(A, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}})
--- print(B:read():at(3, 3), B:read():at(1, 1)) --> 9.0 4.0
local conv2d = family.new({
  name = "conv2d",
  arguments = {{"A", "rows", "cols"}, {"F", "frows", "fcols"}},
  output = {"B", "rows", "cols"},
  rungs = rungs,
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return 2 * s.rows * s.cols * s.frows * s.fcols
  end,
  truth = function(o)
    return verify.window(o.A:read(), o.F:read())
  end,
  measures = function(s) -- values that rows of choices.lua may ask for
    return {bytes = s.rows * s.cols * s.esize, rest = s.lda % 4}
  end,
  awkward = {{1, 1, 1, 1}, {1, 1, 3, 3}, {7, 7, 3, 3}, {16, 16, 3, 5},
    {17, 33, 5, 5}, {33, 17, 4, 2}, {5, 40, 1, 9}, {9, 7, 11, 12}},
}, require "clshell.base.lazy".table(...))

return conv2d

-- ladders/stencil.lua - the 5-point stencil family, sums of an element and its
-- neighbours with weights
-- Each rung names its file in kernels/stencil/, its one-line lesson, its
-- parameters and its NDRange.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.ladder"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local access, param = tiling.access, tiling.param

local function lx(values, default)
  return param("lx", values, default, "local size along rows")
end

local ly = param("ly", {1, 2, 4, 8, 16}, 8, "rows of a work-group")

local function height(values, default)
  return param("height", values, default, "rows of a work-item")
end

-- Bytes that work-groups fetch: tiles of w x h and the halo at their sides,
-- each once, and B.
local function fetch(s, w, h)
  return s.rows * s.cols * (2 + 2 / w + 2 / h) * s.esize
end

-- The accesses of a work-item to `n` elements of A around its own, and to one
-- element of B.
local function around(s, n)
  local e = s.esize
  return access(n, e, e, s.lda * e), access(1, e, e, s.ldb * e)
end

-- A rung of one work-item for each element.
local function plain(rung)
  rung.params = {lx({8, 16, 32, 64, 128}, 32), ly}
  rung.range = tiling.grid("cols", "rows", "lx", "ly")
  return rung
end

local rungs = {
  plain{
    name = "naive", file = "naive.cl",
    lesson = "one work-item for each element: five loads, four of which a "
      .. "cache has",
    traffic = function(s, p)
      return {global = {around(s, 5)}, fetch = fetch(s, p.lx, p.ly)}
    end,
  },
  plain{
    name = "tiled", file = "tiled.cl",
    lesson = "a tile and its halo in local memory: each element is loaded "
      .. "once by its work-group",
    local_bytes = function(s, p)
      return (p.lx + 2) * (p.ly + 2) * s.esize
    end,
    traffic = function(s, p)
      local e = s.esize
      return {
        global = {around(s, (p.lx + 2) * (p.ly + 2) / (p.lx * p.ly))},
        locals = {access(6, e, e, (p.lx + 2) * e)},
        fetch = fetch(s, p.lx, p.ly),
      }
    end,
  },
  {
    name = "rows", file = "rows.cl",
    lesson = "a work-item goes down: the elements above and here are in "
      .. "registers, three loads",
    params = {lx({32, 64, 128, 256}, 64), height({4, 8, 16, 32, 64}, 16)},
    range = tiling.grid("cols", "rows", "lx", "height", "lx", 1),
    traffic = function(s, p)
      local h, e = p.height, s.esize
      return {global = {access(3 * h + 2, e, e), access(h, e, e)},
        fetch = fetch(s, p.lx, h)}
    end,
  },
  {
    name = "vector", file = "vector.cl",
    lesson = "vectors going down: neighbours along the row are in the same "
      .. "register",
    params = {lx({16, 32, 64, 128}, 32), height({2, 4, 8, 16, 32}, 8),
      param("width", {2, 4, 8}, 4, "elements per load and store")},
    range = tiling.grid("cols", "rows", "lx width", "height", "lx", 1),
    traffic = function(s, p)
      local h, e, v = p.height, s.esize, p.width * s.esize
      return {
        global = {access(h + 2, v, v), access(2 * h, e, v), access(h, v, v)},
        fetch = fetch(s, p.lx * p.width, h),
      }
    end,
  },
  {
    name = "simd", file = "simd.cl",
    lesson = "for CPU devices: long vectors along the rows, stores past the "
      .. "cache",
    params = {
      param("span", {1024, 4096, 16384}, 16384, "columns of a work-item"),
      height({16, 64, 128, 256}, 128),
      param("streams", {1, 2, 4}, 2, "rows side by side"),
      param("width", {4, 8, 16}, 16, "elements per vector"),
      tiling.stream "B",
    },
    range = tiling.grid("cols", "rows", "span", "height", 1, 1),
    accepts = tiling.cpu_only,
    traffic = function(s, p)
      return {moved = 6 * s.rows * s.cols * s.esize,
        fetch = fetch(s, p.span, p.height)}
    end,
  },
}

--- stencil(A [, opts]) -> B, event
--- The weighted sums of each element of a matrix and of its four neighbours:
--- B[i][j] = centre A[i][j] + left A[i][j-1] + right A[i][j+1] + up A[i-1][j]
--- + down A[i+1][j]. The first and the last row and column have no such
--- neighbours: B takes them from A unchanged, as with fixed values at the edge
--- of a grid (Dirichlet). A is a Buffer of float or double with two
--- dimensions, whose rows may have gaps (an Array or a nested table is copied
--- to the device). With the weights below B is a step of Jacobi's method for
--- Laplace's equation; for the next step swap A and B.
--- Options:
---   centre  0              weight of the element itself
---   left    0.25           weight of the element before it in its row
---   right   0.25           weight of the element after it
---   up      0.25           weight of the element in the row before
---   down    0.25           weight of the element in the row after
---   kernel  the best known  a rung's name, see stencil.kernels; with it the
---           rung's own parameters
---   B       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = cl.buffer("float", {3, 3}, {{0, 1, 0}, {2, 9, 3}, {0, 4, 0}})
--- print(stencil(A):read():at(2, 2)) --> 2.5
--- local laplace = {centre = -4, left = 1, right = 1, up = 1, down = 1}
--- print(stencil(A, laplace):read():at(2, 2)) --> -26.0
local stencil = family.new({
  name = "stencil",
  arguments = {{"A", "rows", "cols"}},
  output = {"B", "rows", "cols"},
  options = {{name = "centre", default = 0}, {name = "left", default = 0.25},
    {name = "right", default = 0.25}, {name = "up", default = 0.25},
    {name = "down", default = 0.25}},
  rungs = rungs,
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return 9 * math.max(s.rows - 2, 0) * math.max(s.cols - 2, 0)
  end,
  truth = function(o, s)
    local weights = cl.array("double", {3, 3}, {{0, s.up, 0},
      {s.left, s.centre, s.right}, {0, s.down, 0}})
    return verify.window(o.A:read(), weights, true)
  end,
}, require "clshell.base.lazy".table(...))

return stencil

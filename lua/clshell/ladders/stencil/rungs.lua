-- ladders/stencil/rungs.lua - the ladder of 5-point stencils, as data
-- Each rung names its file in kernels/stencil/, its one-line lesson, its
-- parameters and its NDRange.
-- SPDX-License-Identifier: MIT

local tiling = require "clshell.ladder.tiling"

local access, groups, param = tiling.access, tiling.groups, tiling.param

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

-- The accesses of a work-item to `n` elements of A around its own, and to
-- one of B.
local function around(s, n)
  local e = s.esize
  return access(n, e, e, s.lda * e), access(1, e, e, s.ldb * e)
end

-- A rung of one work-item for each element.
local function plain(rung)
  rung.params = {lx({8, 16, 32, 64, 128}, 32), ly}
  function rung.range(s, p)
    return tiling.range(s.cols, s.rows, p.lx, p.ly)
  end
  return rung
end

return {
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
    range = function(s, p)
      return {tiling.roundup(s.cols, p.lx), groups(s.rows, p.height)},
        {p.lx, 1}
    end,
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
    range = function(s, p)
      return {tiling.roundup(groups(s.cols, p.width), p.lx),
        groups(s.rows, p.height)}, {p.lx, 1}
    end,
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
      param("stream", {0, 1}, 1,
        "1: B is written past the cache, 0: it may stay there"),
    },
    range = function(s, p)
      return {groups(s.cols, p.span), groups(s.rows, p.height)}, {1, 1}
    end,
    accepts = tiling.cpu_only,
    traffic = function(s, p)
      return {moved = 6 * s.rows * s.cols * s.esize,
        fetch = fetch(s, p.span, p.height)}
    end,
  },
}

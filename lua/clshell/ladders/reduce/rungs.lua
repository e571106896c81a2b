-- ladders/reduce/rungs.lua - the ladder of reductions, as data
-- Each rung names its file in kernels/reduce/, its one-line lesson, its
-- parameters and its NDRange. A first launch leaves one element for each
-- work-group; where those are several, a second launch reduces them to one.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local tiling = require "clshell.ladder.tiling"

local access, access_at = tiling.access, tiling.access_at
local groups, param = tiling.groups, tiling.param

local SECOND = 256 -- work-items of the second launch, if the device allows

local wg = param("wg", {32, 64, 128, 256, 512, 1024}, 256,
  "work-items in a work-group")
local last = param("last", {2, 4, 8, 16, 32}, 8,
  "cells that one work-item adds by itself, without barriers")

-- Work-items of a device that run in step; 1 where there are no warps.
local function lanes_of(s)
  local dev = s.context and s.context.device
  return dev and (dev.nv_warp_size or dev.amd_wavefront_width) or 1
end

-- The accesses to local memory of steps in which `wg` work-items add wg cells
-- to one, down to `least` cells. place(id, stride, wg) is the cell of a
-- work-item that adds, nil of an idle one; stride goes up, or with `down`
-- down. Per step two cells are read and one is written, by the warps that have
-- work.
local function steps(s, wg_size, least, down, place)
  local list, lanes, e = {access(1, s.esize, s.esize)}, lanes_of(s), s.esize
  local stride = down and wg_size // 2 or 1
  while stride >= least and stride < wg_size do
    local busy, step = 0, stride
    for warp = 0, wg_size - 1, lanes do
      local works = false
      for id = warp, math.min(warp + lanes, wg_size) - 1 do
        works = works or place(id, step, wg_size) ~= nil
      end
      busy = busy + (works and 1 or 0)
    end
    list[#list + 1] = access_at(3 * busy * lanes / wg_size, e, function(id)
      return (place(id, step, wg_size) or place(0, step, wg_size)) * e
    end)
    stride = down and stride // 2 or stride * 2
  end
  return list
end

local function modulo(id, stride)
  return id % (2 * stride) == 0 and id or nil
end

local function strided(id, stride, wg_size)
  local cell = 2 * stride * id
  return cell < wg_size and cell or nil
end

local function lower(id, stride)
  return id < stride and id or nil
end

local function defines(p, s)
  local list = {OP = s.op:upper()}
  for name, value in pairs(p) do
    list[name:upper()] = value
  end
  return list
end

-- A rung with what all have in common: the results of several work-groups go
-- to a buffer of their own, which a second launch reduces.
local function rung(def)
  def.defines = defines
  local function count(s, p)
    local global, size = def.range(s, p)
    return global[1] // size[1]
  end
  function def.prepare(s, p)
    local n = count(s, p)
    return n > 1 and {y = cl.buffer(s.type, n, nil, {context = s.context})}
      or nil
  end
  function def.finish(s, p, own, run, o)
    if own.y ~= o.y then
      local size = tiling.power_of_two(math.min(SECOND,
        s.context.device.max_work_group_size))
      run("grid_stride.cl", "reduce", {REAL = s.type, OP = s.op:upper(),
        WG = size, WIDTH = 1}, {size}, {size}, own.y, count(s, p), 1, o.y)
    end
  end
  return def
end

-- A rung whose work-groups take `each` elements per work-item, in local
-- memory.
local function in_groups(each, def)
  def.params = {wg, def.params}
  function def.range(s, p)
    return {groups(s.n, each * p.wg) * p.wg}, {p.wg}
  end
  function def.local_bytes(s, p)
    return p.wg * s.esize
  end
  local stepping, down = def.place, def.down
  def.place, def.down = nil, nil
  function def.traffic(s, p)
    return {global = {access(each, s.esize, s.esize)},
      locals = steps(s, p.wg, p.last or 1, down, stepping)}
  end
  return rung(def)
end

-- The work-groups of grid_stride.
local function stride_groups(s, p)
  return math.min(p.groups, groups(s.n, p.wg * p.width))
end

-- A rung of grid_stride.cl; args(s, p, o) are the kernel's.
local function grid(def)
  def.file = "grid_stride.cl"
  def.params = {
    wg,
    param("groups", {64, 128, 256, 512, 1024, 2048, 4096}, 1024,
      "work-groups at most"),
    param("width", {1, 2, 4, 8}, 8, "loads under way"),
  }
  function def.range(s, p)
    return {stride_groups(s, p) * p.wg}, {p.wg}
  end
  function def.local_bytes(s, p)
    return p.wg * s.esize
  end
  function def.traffic(s)
    return {moved = s.n * s.esize}
  end
  return def
end

return {
  in_groups(1, {
    name = "modulo", file = "modulo.cl",
    lesson = "pairs meet in local memory; work-items that add are spread over "
      .. "all warps",
    place = modulo,
  }),
  in_groups(1, {
    name = "strided", file = "strided.cl",
    lesson = "neighbours add, so whole warps end early; their cells share "
      .. "banks",
    place = strided,
  }),
  in_groups(1, {
    name = "sequential", file = "sequential.cl",
    lesson = "neighbours add neighbouring cells: no bank conflicts",
    place = lower, down = true,
  }),
  in_groups(2, {
    name = "first_add", file = "first_add.cl",
    lesson = "two elements are added as they are loaded: nobody is idle from "
      .. "the start",
    place = lower, down = true,
  }),
  in_groups(2, {
    name = "last_steps", file = "last_steps.cl",
    lesson = "one work-item adds the last cells: fewer barriers",
    params = last,
    place = lower, down = true,
  }),
  in_groups(2, {
    name = "unrolled", file = "unrolled.cl",
    lesson = "the work-group size is compiled in, all steps are written out",
    params = last,
    place = lower, down = true,
  }),
  rung(grid{
    name = "grid_stride",
    lesson = "as many work-groups as keep the device busy; each work-item "
      .. "adds many elements in registers",
    args = function(s, p, o)
      return {o.x, s.n, stride_groups(s, p), o.y}
    end,
  }),
  grid{
    name = "nv_one_launch",
    lesson = "the last work-group to end adds what all have left: no second "
      .. "launch",
    accepts = function(dev)
      return tiling.lacks(dev, 30)
    end,
    defines = function(p, s)
      local list = defines(p, s)
      list.ONCE = 1
      return list
    end,
    prepare = function(s, p, _, run)
      return {count = tiling.counters(s, 1, run),
        left = cl.buffer(s.type, stride_groups(s, p), nil,
          {context = s.context})}
    end,
    args = function(s, p, o)
      return {o.x, s.n, stride_groups(s, p), o.y, o.left, o.count}
    end,
  },
  rung{
    name = "simd", file = "simd.cl",
    lesson = "for CPU devices: a block per work-item, many sums side by side "
      .. "in registers",
    params = {
      param("lanes", {16, 32, 64, 128}, 64, "sums side by side"),
      param("streams", {1, 2, 4, 8}, 4, "parts of a block, side by side"),
      param("block", {1024, 4096, 16384, 65536, 262144}, 65536,
        "elements per work-item"),
    },
    range = function(s, p)
      return {groups(s.n, p.block)}, {1}
    end,
    args = function(s, _, o)
      return {o.x, s.n, o.y}
    end,
    accepts = tiling.cpu_only,
    traffic = function(s)
      return {moved = s.n * s.esize}
    end,
  },
}

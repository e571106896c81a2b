-- ladders/reduce.lua - the reduction family, y = x[1] op x[2] op ... op x[n]
-- Each rung names its file in kernels/reduce/, its one-line lesson, its
-- parameters and its NDRange. A first launch leaves one element for each
-- work-group; a second launch reduces the elements of several groups to one.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.ladder"
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

-- The accesses to local memory of steps in which `wg` work-items add wg cells
-- to one, down to `least` cells. place(id, stride, wg) is the cell of a
-- work-item that adds, nil of an idle one; stride goes up, or with `lower`
-- down. Per step two cells are read and one is written, by the warps that have
-- work.
local function steps(s, wg_size, least, place)
  local list, lanes, e = {access(1, s.esize, s.esize)}, lanes_of(s), s.esize
  local down = place == lower
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

local function defines(p, s)
  return tiling.add_defines({OP = s.op:upper()}, p)
end

-- Adds the fields that all rungs have in common: the results of several
-- work-groups go to a buffer of their own, which a second launch reduces.
local function rung(def)
  def.defines = defines
  local function count(s, p)
    local global, size = def.range(s, p)
    return global[1] // size[1]
  end
  function def.prepare(s, p)
    local n = count(s, p)
    return n > 1 and {y = tiling.scratch(s, n)} or nil
  end
  function def.finish(s, p, own, run, o)
    if own.y ~= o.y then
      local size = tiling.group_size(s, SECOND)
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
  def.range = tiling.line("n", each .. " wg", "wg")
  def.local_bytes = tiling.elements "wg"
  local place = def.place
  def.place = nil
  function def.traffic(s, p)
    return {global = {access(each, s.esize, s.esize)},
      locals = steps(s, p.wg, p.last or 1, place)}
  end
  return rung(def)
end

-- The traffic of rungs that load each element once, into registers.
local function once(s)
  return {moved = s.n * s.esize}
end

-- The work-groups of grid_stride.
local function stride_groups(s, p)
  return math.min(p.groups, groups(s.n, p.wg * p.width))
end

local rungs = {
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
    place = lower,
  }),
  in_groups(2, {
    name = "first_add", file = "first_add.cl",
    lesson = "two elements are added as they are loaded: nobody is idle from "
      .. "the start",
    place = lower,
  }),
  in_groups(2, {
    name = "last_steps", file = "last_steps.cl",
    lesson = "one work-item adds the last cells: fewer barriers",
    params = last,
    place = lower,
  }),
  in_groups(2, {
    name = "unrolled", file = "unrolled.cl",
    lesson = "the work-group size is compiled in, all steps are written out",
    params = last,
    place = lower,
  }),
  rung{
    name = "grid_stride", file = "grid_stride.cl",
    params = {
      wg,
      param("groups", {64, 128, 256, 512, 1024, 2048, 4096}, 1024,
        "work-groups at most"),
      param("width", {1, 2, 4, 8}, 8, "loads under way"),
    },
    lesson = "as many work-groups as keep the device busy; each work-item "
      .. "adds many elements in registers",
    args = function(s, p, o)
      return {o.x, s.n, stride_groups(s, p), o.y}
    end,
    range = function(s, p)
      return {stride_groups(s, p) * p.wg}, {p.wg}
    end,
    local_bytes = tiling.elements "wg", traffic = once,
  },
  {
    name = "nv_one_launch", file = "nv_one_launch.cl",
    lesson = "the last work-group adds up what all others tell it: no second "
      .. "launch",
    params = {
      wg, param("width", {1, 2, 4, 8}, 4, "loads of 16 bytes under way"),
      param("fill", {1, 2, 4, 8, 16}, 4, "work-groups of a compute unit"),
    },
    accepts = function(dev)
      return tiling.lacks(dev, 70) or tiling.mute(dev)
    end,
    defines = function(p, s)
      return {OP = s.op:upper(), WG = p.wg, WIDTH = p.width}
    end,
    range = function(s, p)
      return {math.min(groups(s.n * s.esize, 16 * p.wg),
        p.fill * tiling.units(s, 132)) * p.wg}, {p.wg}
    end,
    local_bytes = tiling.elements "wg", traffic = once,
    prepare = function(s, p, _, run)
      local most = p.fill * tiling.units(s, 132)
      return {state = tiling.told(s, most * s.esize // 4, run)}
    end,
    args = function(s, _, o)
      return {o.x, s.n, o.y, o.state}
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
    range = tiling.line("n", "block", 1),
    args = function(s, _, o)
      return {o.x, s.n, o.y}
    end,
    accepts = tiling.cpu_only, traffic = once,
  },
}

local EXACT = 2^51 -- sums below it come whole out of a mean in double

-- The sum of x as the kernels' int has it, which wraps.
local function sum_of_integers(x, seen)
  local sum = seen.mean * #x
  if math.abs(sum) < EXACT then
    sum = math.floor(sum + 0.5)
  else
    sum = 0
    for _, value in ipairs(x) do
      sum = sum + value
    end
  end
  return (math.tointeger(sum) + 2^31 | 0) % (1 << 32) - (1 << 31)
end

-- The sum of absolute values.
local function magnitude(x, seen)
  if seen.min >= 0 or seen.max <= 0 then
    return math.abs(seen.mean) * #x
  end
  local sum = 0.0
  for _, value in ipairs(x) do
    sum = sum + math.abs(value)
  end
  return sum
end

--- reduce(x [, opts]) -> y, event
--- The sum, the least or the greatest of all elements of x, a Buffer of float,
--- double or int without gaps (an Array or a table is copied to the device). y
--- is a Buffer of one element, y:read()[1] the number. A sum of n elements is
--- off by verify.bound(type, n) of the sum of absolute values at most; a sum
--- of int wraps as int does. NaN among the elements is the result. The methods
--- x:sum(), x:min() and x:max() give numbers, of expressions and along a
--- dimension too.
--- Options:
---   op      sum            "sum", "min" or "max"
---   kernel  the best known  a rung's name, see reduce.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = reduce({3, 1, 2})
--- print(y:read()[1], reduce({3, 1, 2}, {op = "max"}):read()[1]) --> 6.0 3.0
local reduce = family.new({
  name = "reduce",
  arguments = {{"x", "n"}},
  output = {"y", 1},
  options = {{name = "op", values = {"sum", "min", "max"}}},
  types = {"float", "double", "int"},
  rungs = rungs,
  cache = "cold",
  memory = "read",
  flop = function(s)
    return s.n - 1
  end,
  nothing = function(s, o)
    return s.op == "sum" and o.y:fill(0) or cl.error(("reduce: x has no "
      .. "elements, and so no %s one; test #x > 0 first"):format(s.op == "min"
      and "least" or "greatest"))
  end,
  terms = function(s)
    return s.op == "sum" and s.n or 1
  end,
  reference = function(h, s)
    local seen = h.x:summary()
    if s.op ~= "sum" then
      return seen[s.op]
    elseif s.type == "int" then
      return sum_of_integers(h.x, seen)
    end
    return seen.mean * #h.x, magnitude(h.x, seen)
  end,
}, require "clshell.base.lazy".table(...))

return reduce

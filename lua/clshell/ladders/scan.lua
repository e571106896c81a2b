-- ladders/scan.lua - the scan family, y[i] = x[1] + ... + x[i]
-- Each rung names its file in kernels/scan/, its one-line lesson, its
-- parameters and its NDRange. The first rungs scan within work-groups, scan
-- the groups' sums, and add these; later rungs find sums first, or ask groups
-- for them.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local family = require "clshell.ladder"
local host = require "cl.host"
local tiling = require "clshell.ladder.tiling"

local groups, mute, param = tiling.groups, tiling.mute, tiling.param

local SECOND = 256 -- work-items of a work-group of the later launches
local HOPPER = 233472 -- bytes of local memory of a multiprocessor
local KEPT = 2048     -- bytes of a work-group besides its tiles

local wg = param("wg", {32, 64, 128, 256, 512}, 256,
  "work-items in a work-group")

-- The parameters and the kind of a scan as defines, and defines `fixed`.
local function defines(p, s, fixed)
  return tiling.add_defines({INCLUSIVE = s.kind == "inclusive" and 1 or 0},
    p, fixed)
end

-- A rung whose work-groups of p.wg work-items scan each(p) elements.
local function rung(def, each)
  local fixed = {pad = def.pad}
  def.pad = nil
  function def.defines(p, s)
    return defines(p, s, fixed)
  end
  def.range = tiling.line("n", each, "wg")
  function def.args(s, _, o)
    return {s.n, o.x, o.y, o.sums}
  end
  function def.prepare(s, p)
    return {sums = tiling.scratch(s, groups(s.n, each(p)))}
  end
  function def.finish(s, p, own, run)
    local n = groups(s.n, each(p))
    if n > 1 then
      local most = tiling.group_size(s, SECOND)
      local values = {REAL = s.type, WG = most}
      run("offsets.cl", "offsets", values, {most}, {most}, n, own.sums)
      run("offsets.cl", "add", values, {each(p), n - 1},
        {math.min(most, each(p)), 1}, s.n, each(p), own.y, own.sums)
    end
  end
  return def
end

local function wg_of(p)
  return p.wg
end

local function twice(p)
  return 2 * p.wg
end

local function items(p)
  return p.wg * p.each
end

-- The local memory of work-groups that scan in registers.
local padded = tiling.elements(function(p)
  return p.wg * p.each * 33 // 32 + 2 * p.wg
end)

-- A rung of one launch, whose work-groups tell one another the sums of
-- count(s, p) tiles, and with p.wave the sum before each wave of them.
-- `anew`: the state is cleared before each launch, not only before the first.
local function one_launch(def, count, anew)
  def.defines = defines
  def.args = def.args or function(s, _, o)
    return {o.x, s.n, o.y, o.state}
  end
  function def.prepare(s, p, _, run)
    local tiles = count(s, p)
    local waves = p.wave and groups(tiles, p.wave) + 1 or 0
    return {state = tiling.told(s, (tiles + waves) * s.esize // 4, run, anew)}
  end
  return def
end

local function wave(values, default)
  return param("wave", values, default, "tiles that ask for sums among them")
end

local lookback = one_launch({
  name = "lookback", file = "lookback.cl",
  params = {wg, param("each", {4, 8, 16, 32}, 16, "elements per work-item"),
    wave({32, 64, 128, 256, 512}, 256)},
  lesson = "work-groups ask earlier groups for sums: each element is read and "
    .. "written once",
  accepts = mute,
  range = tiling.line("n", items, "wg"),
  local_bytes = function(s, p)
    return padded(s, p) + 8
  end,
}, function(s, p)
  return groups(s.n, items(p))
end)

-- The next rungs have tiles of so many bytes.
local function tile_bytes(p)
  return p.wg * p.units * 16
end

local function tiles_of(s, p)
  return groups(s.n * s.esize, tile_bytes(p))
end

local nv_registers = one_launch({
  name = "nv_registers", file = "nv_registers.cl",
  params = {
    param("wg", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"),
    param("units", {1, 2, 4, 8}, 4, "16 bytes of a work-item"),
    wave({32, 64, 128, 256, 512, 1024}, 256),
  },
  lesson = "lanes of a warp pass sums on, tiles stay in registers: no local "
    .. "memory, few barriers",
  accepts = function(dev)
    return tiling.lacks(dev, 70) or mute(dev)
  end,
  range = function(s, p)
    return {tiles_of(s, p) * p.wg}, {p.wg}
  end,
}, tiles_of)

-- The next rung has the copy engine move tiles.
local nv_stream = one_launch({
  name = "nv_stream", file = "nv_stream.cl", ptx = true,
  params = {
    param("wg", {256, 384, 512, 768, 1024}, 512,
      "work-items in a work-group"),
    param("units", {3, 5, 7, 9, 13}, 7, "16 bytes of a work-item"),
    param("stages", {4, 5, 6, 8}, 4, "tiles in local memory"),
    wave({32, 64, 128, 256}, 64),
  },
  lesson = "for Hopper: sums are told early, the copy engine loads and stores "
    .. "all the time",
  accepts = tiling.needs(90, true),
  local_bytes = function(_, p)
    return p.stages * tile_bytes(p)
  end,
  range = function(s, p)
    local abreast = math.max(1, HOPPER // (p.stages * tile_bytes(p) + KEPT))
    local most = tiling.units(s, 132) * abreast
    return {math.min(tiles_of(s, p), most) * p.wg}, {p.wg}
  end,
  args = function(s, _, o)
    return {o.x, cl.ulong(s.n), o.y, o.state}
  end,
}, tiles_of)

local function block_of(p)
  return p.block
end

local simd = one_launch({
  name = "simd", file = "simd.cl",
  params = {
    param("block", {16384, 65536, 262144}, 65536, "elements of a block"),
    param("streams", {1, 2, 4, 8}, 8, "parts of a block, side by side"),
    param("ahead", {0, 64, 128, 256, 512}, 128,
      "elements between a request and the use"),
    param("width", {4, 8, 16}, 16, "elements per vector"),
  },
  lesson = "for CPU devices: a core adds up its next block while it scans "
    .. "this one: each element is read and written once",
  accepts = function(dev)
    return tiling.cpu_only(dev) or mute(dev)
  end,
  range = function(s, p)
    return {math.min(tiling.units(s, 1), groups(s.n, p.block))}, {1}
  end,
}, function(s, p)
  return groups(s.n, p.block)
end, true)

-- A rung that finds the totals of pieces first: a scan of the totals by the
-- same kernel gives what lies before each piece. A work-group of `size`
-- work-items takes a piece of each(p) elements; args(x, n, groups, y, before)
-- are the arguments of the kernel.
local function totals_first(def, size, each, args)
  def.range = tiling.line("n", each, size)
  local function add(run, s, p, work, n, x, y, before)
    local global, group = def.range({n = n}, p)
    run(def.file, "scan", tiling.add_defines({REAL = s.type}, p, work), global,
      group, args(x, n, groups(n, each(p)), y, before))
  end
  local function prepare(run, s, p, n, x)
    local count = groups(n, each(p))
    if count == 1 then
      return nil
    end
    local sums = tiling.scratch(s, count)
    add(run, s, p, {totals = 1}, n, x, sums, sums)
    local before = prepare(run, s, p, count, sums)
    add(run, s, p, {inclusive = 0, alone = before and 0 or 1}, count, sums,
      sums, before or sums)
    return sums
  end
  function def.prepare(s, p, o, run)
    return {before = prepare(run, s, p, s.n, o.x) or o.y}
  end
  function def.defines(p, s)
    return defines(p, s, {alone = s.n <= each(p) and 1 or 0})
  end
  function def.args(s, p, o)
    return {args(o.x, s.n, groups(s.n, each(p)), o.y, o.before)}
  end
  return def
end

local rungs = {
  rung({
    name = "doubling", file = "doubling.cl", params = {wg},
    lesson = "each step adds the element twice as far away: few steps, many "
      .. "additions",
    local_bytes = tiling.elements "2 wg",
  }, wg_of),
  rung({
    name = "tree", file = "tree.cl", params = {wg}, pad = 0,
    lesson = "sums go up a tree, sums on the left come down: fewer "
      .. "additions, bank conflicts",
    local_bytes = tiling.elements "2 wg",
  }, twice),
  rung({
    name = "tree_padded", file = "tree.cl", params = {wg}, pad = 1,
    lesson = "a cell is left out after each 32: the columns of the tree part",
    local_bytes = tiling.elements(function(p) return twice(p) * 33 // 32 end),
  }, twice),
  rung({
    name = "registers", file = "registers.cl",
    params = {wg, param("each", {2, 4, 8, 16}, 8, "elements per work-item")},
    lesson = "each work-item scans neighbours in registers; only their sums "
      .. "meet in local memory",
    local_bytes = padded,
  }, items),
  totals_first({
    name = "totals", file = "totals.cl",
    params = {wg, param("each", {4, 8, 16, 32}, 16, "elements per work-item")},
    lesson = "work-groups add up first: elements are read twice, but written "
      .. "once",
    local_bytes = padded,
  }, "wg", items, function(...)
    return ...
  end),
  lookback,
  nv_registers,
  nv_stream,
  totals_first({
    name = "blocks", file = "blocks.cl",
    params = {param("block", {256, 1024, 4096, 16384, 65536}, 4096,
      "elements per work-item")},
    lesson = "for CPU devices: a loop over a block per work-item",
    accepts = tiling.cpu_only,
  }, 1, block_of, function(x, n, _, y, before)
    return x, n, y, before
  end),
  simd,
}

-- The truth of a scan: the element that is worst beside the error that it may
-- have, which elements of one octave of places share.
local function truth(o, s)
  local verify = require "clshell.ladder.verify"
  local x = o.x:read()
  return function(y)
    local errors, places = host.scan_errors(y, x, s.kind == "exclusive")
    local worst
    for k, err in ipairs(errors) do
      local bound = s.type == "int" and 0 or verify.bound(s.type, 2^k)
      local off = err > 0 and err / bound or 0
      if not worst or off > worst.off then
        worst = {off = off, err = err, bound = bound, at = places[k]}
      end
    end
    return worst.err, worst.bound, "all elements", worst.at
  end
end

--- scan(x [, opts]) -> y, event
--- The sums of all elements of x up to each one, or before each one. x is a
--- Buffer of float, double or int without gaps (an Array or a table is copied
--- to the device), y a vector of as many elements. Element i of y is off by
--- verify.bound(type, 2 * i) of the sum of absolute values up to x[i] at most;
--- sums of int wrap as int does. The method x:cumsum() keeps the shape and
--- adds integers in 64 bits.
--- Options:
---   kind    inclusive      "inclusive": x[i] belongs to y[i]; "exclusive": it
---           does not, and y[1] is 0
---   kernel  the best known  a rung's name, see scan.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = scan({1, 2, 3, 4}, {kind = "exclusive"})
--- print(y:read()[4], scan{1, 2, 3, 4}:read()[4]) --> 6.0 10.0
local scan = family.new({
  name = "scan",
  arguments = {{"x", "n"}},
  output = {"y", "n"},
  options = {{name = "kind", values = {"inclusive", "exclusive"}}},
  types = {"float", "double", "int"},
  rungs = rungs,
  cache = "cold",
  memory = "copy",
  flop = function(s)
    return s.n - 1
  end,
  truth = truth,
}, require "clshell.base.lazy".table(...))

return scan

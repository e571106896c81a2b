-- ladders/sort.lua - the sort family, the elements of x in order
-- Each rung names its file in kernels/sort/, its one-line lesson, its
-- parameters and its NDRange, and adds the launches before and after its own.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local host = require "cl.host"
local scan = require "clshell.ladders.scan"
local tiling = require "clshell.ladder.tiling"

local groups, param = tiling.groups, tiling.param

local PLAIN = 256 -- work-items of the work-groups of `bitonic`, at most

local wg = param("wg", {32, 64, 128, 256, 512}, 256,
  "work-items in a work-group")

-- How key.cl sees the types: the unsigned type of the size, signs, and the
-- bits of a real's fraction.
local KEYS = {
  char = {KEY = "uchar", SIGNED = 1}, uchar = {KEY = "uchar"},
  short = {KEY = "ushort", SIGNED = 1}, ushort = {KEY = "ushort"},
  int = {KEY = "uint", SIGNED = 1}, uint = {KEY = "uint"},
  long = {KEY = "ulong", SIGNED = 1}, ulong = {KEY = "ulong"},
  half = {KEY = "ushort", FRACTION = 10},
  float = {KEY = "uint", FRACTION = 23},
  double = {KEY = "ulong", FRACTION = 52},
}

-- The defines of a configuration; `fixed` are the rung's own.
local function defines(p, s, fixed)
  local list = {REAL = s.type, INDEX = s.index and 1 or 0,
    DESCENDING = s.order == "descending" and 1 or 0}
  return tiling.add_defines(tiling.add_defines(list, KEYS[s.type], fixed), p)
end

-- The least k for which 2^k is at least n.
local function log2(n)
  local k = 0
  while 1 << k < n do
    k = k + 1
  end
  return k
end

-- The NDRange of n work-items for kernels without a barrier.
local function plain(s, n)
  local size = tiling.group_size(s, PLAIN)
  return {groups(n, size) * size}, {size}
end

-- Adds the steps of pieces of 2^size elements, from a stride down to another.
local function add_steps(s, o, run, size, from, to)
  for stride = from, to, -1 do
    local global, most = plain(s, 1 << (log2(s.n) - 1))
    run("bitonic.cl", "exchange", defines({}, s), global, most,
      table.unpack{s.n, size, stride, o.y, o.index})
  end
end

local bitonic = {
  name = "bitonic", file = "bitonic.cl", kernel = "exchange",
  lesson = "pairs trade places, far ones and then near ones: the same steps "
    .. "whatever the elements, all in global memory",
  defines = defines,
  range = function(s)
    return plain(s, 1 << (math.max(log2(s.n), 1) - 1))
  end,
  prepare = function(s, _, o, run)
    local global, size = plain(s, s.n)
    run("bitonic.cl", "start", defines({}, s), global, size,
      table.unpack{s.n, o.x, o.y, o.index})
    local last = math.max(log2(s.n), 1)
    for k = 1, last do
      add_steps(s, o, run, k, k - 1, k == last and 1 or 0)
    end
  end,
  args = function(s, _, o)
    return {s.n, math.max(log2(s.n), 1), 0, o.y, o.index}
  end,
}

local bitonic_local
bitonic_local = {
  name = "bitonic_local", file = "bitonic_local.cl", kernel = "sort",
  lesson = "a work-group does the steps of short distance in local memory, "
    .. "and loads and stores once for all of them",
  params = {wg},
  defines = defines,
  range = tiling.line("n", "2 wg", "wg"),
  local_bytes = function(s, p)
    return 2 * p.wg * (s.esize + (s.index and 4 or 0))
  end,
  args = function(s, _, o)
    return {s.n, o.x, o.y, o.index}
  end,
  finish = function(s, p, o, run)
    local done = log2(2 * p.wg)
    for k = done + 1, log2(s.n) do
      add_steps(s, o, run, k, k - 1, done)
      local global, size = bitonic_local.range(s, p)
      run("bitonic_local.cl", "merge", defines(p, s), global, size,
        table.unpack{s.n, o.y, o.index})
    end
  end,
}

-- The Buffers of `count` passes, {x, y, from, to} each: two take turns, and
-- the last pass writes the Buffers of the call.
local function turns(s, o, count)
  local y = count > 1 and tiling.scratch(s, s.n) or nil
  local index = count > 1 and s.index and tiling.scratch(s, s.n, "uint") or nil
  local list = {}
  for i = 1, count do
    local before, own = list[i - 1], (count - i) % 2 == 0
    list[i] = {x = before and before.y or o.x, y = own and o.y or y,
      from = before and before.to or index or o.index,
      to = own and o.index or index}
  end
  return list
end

-- A rung of passes, each over a digit of `bits` bits: groups of `size`
-- work-items take each(p) elements.
local function passes(def, bits, fixed, size, each)
  local file = def.file
  fixed.BITS = bits
  def.kernel = "scatter"
  function def.defines(p, s)
    return defines(p, s, fixed)
  end
  def.range = tiling.line("n", each, size)
  function def.prepare(s, p, o, run)
    local count, shift = groups(s.n, each(p)), 0
    local counts = tiling.scratch(s, count << bits, "int")
    local offsets = tiling.scratch(s, count << bits, "int")
    local sums = scan.plan(counts, {kind = "exclusive", y = offsets})
    local list = turns(s, o, 8 * s.esize // bits)
    local global, most = def.range(s, p)
    local values = def.defines(p, s)
    for i, pass in ipairs(list) do
      run(file, "count", values, global, most, s.n, shift, count, pass.x,
        counts)
      run(sums)
      if i < #list then
        run(file, "scatter", values, global, most, table.unpack{s.n, shift,
          count, i == 1 and 1 or 0, pass.x, pass.y, offsets, pass.from,
          pass.to})
        shift = shift + bits
      end
    end
    local own = list[#list]
    own.count, own.offsets, own.shift = count, offsets, shift
    return own
  end
  function def.args(s, _, o)
    return {s.n, o.shift, o.count, o.shift == 0 and 1 or 0, o.x, o.y,
      o.offsets, o.from, o.to}
  end
  return def
end

-- A rung whose work-groups sort in local memory by `bits` bits at once.
local function in_groups(def, bits, step)
  def.file = "radix.cl"
  def.params = {wg, param("each", {4, 8, 16}, 8, "elements per work-item")}
  function def.local_bytes(s, p)
    local block, counters = p.wg * p.each, (p.wg << step) // 2
    return (block * (s.esize + (s.index and 4 or 0)) + 4 * counters) * 33 // 32
      + 8 * p.wg + (4 << bits)
  end
  return passes(def, bits, {STEP = step}, "wg", function(p)
    return p.wg * p.each
  end)
end

-- The rung for NVIDIA's GPUs: `count` counts the digits of all passes before.
local nv_onesweep
nv_onesweep = {
  name = "nv_onesweep", file = "nv_onesweep.cl", kernel = "sweep",
  lesson = "a digit of 8 bits in one pass over the keys: tiles tell one "
    .. "another their counts while they move elements",
  params = {
    param("wg", {256, 384, 512}, 512, "work-items in a work-group"),
    param("each", {4, 6, 8, 9, 10, 11, 12, 14, 16, 18, 20, 22}, 20,
      "elements per work-item"),
  },
  defines = defines,
  accepts = function(dev, s)
    if s and s.n and s.n >= 1 << 30 then
      return "it takes less than 2^30 elements"
    end
    return tiling.lacks(dev, 70)
  end,
  local_bytes = function(s, p)
    local wide = math.max(s.esize, s.index and 4 or 0)
    return math.max(p.wg * p.each * wide, p.wg // 32 * 1024) + 1280
  end,
  range = tiling.line("n", "wg each", "wg"),
  prepare = function(s, p, o, run)
    local tiles, digits = groups(s.n, p.wg * p.each), s.esize
    local words = digits * 257
    local tables = math.min(digits, 2)
    local state = tiling.scratch(s, words + tables * tiles * 256, "uint")
    local values = defines(p, s)
    run("nv_onesweep.cl", "clear", values, {words}, nil, words, state)
    local most = math.min(8 * tiling.units(s, 132), groups(s.n, 2048))
    run("nv_onesweep.cl", "count", values, {256 * most}, {256}, s.n, tiles,
      o.x, state)
    local list = turns(s, o, digits)
    local global, size = nv_onesweep.range(s, p)
    for i = 1, digits - 1 do
      local pass = list[i]
      run("nv_onesweep.cl", "sweep", values, global, size, table.unpack{s.n,
        tiles, 8 * (i - 1), pass.x, pass.y, state, pass.from, pass.to})
    end
    local own = list[digits]
    own.tiles, own.state, own.shift = tiles, state, 8 * (digits - 1)
    return own
  end,
  args = function(s, _, o)
    return {s.n, o.tiles, o.shift, o.x, o.y, o.state, o.from, o.to}
  end,
}

local rungs = {
  bitonic,
  bitonic_local,
  in_groups({
    name = "split",
    lesson = "by one bit after the other: as many passes as a key has bits, "
      .. "whatever n",
  }, 1, 1),
  in_groups({
    name = "radix",
    lesson = "by digits of 4 bits, sorted in local memory first: a quarter of "
      .. "the passes",
  }, 4, 4),
  in_groups({
    name = "wide",
    lesson = "by digits of 8 bits, in two steps in local memory: half of the "
      .. "traffic",
  }, 8, 4),
  nv_onesweep,
  passes({
    name = "blocks", file = "blocks.cl",
    params = {param("block", {4096, 16384, 65536, 262144}, 65536,
      "elements per work-item")},
    lesson = "for CPU devices: a loop over a block per work-item",
    accepts = tiling.cpu_only,
  }, 8, {}, 1, function(p)
    return p.block
  end),
}

for _, rung in ipairs(rungs) do
  rung.half = true -- keys are integers
end

--- sort(x [, opts]) -> y, event
--- The elements of x in order. x is a Buffer of a scalar type, without gaps
--- and with less than 2^31 elements (an Array or a table is copied to the
--- device); y is a vector. Equal elements stay in their order. -0.0 comes
--- before 0.0 (descending: behind it), and NaN at the end, either way.
--- Buffer:sort and Buffer:argsort are the same as methods.
--- Options:
---   order   ascending      "ascending" or "descending"
---   index   none           a Buffer of uint to write: where the elements of
---           y were in x, from 1
---   kernel  the best known  a rung's name, see sort.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local y = sort{3, 1, 2}
--- print(y:read()[1], sort({3, 1, 2}, {order = "descending"}):read()[1])
--- --> 1.0 3.0
--- local index = cl.buffer("uint", 3)
--- sort({30, 10, 20}, {index = index})
--- print(index:read()[1]) --> 2
local sort = family.new({
  name = "sort",
  arguments = {{"x", "n"}},
  output = {"y", "n"},
  options = {
    {name = "order", values = {"ascending", "descending"}},
    {name = "index", sizes = {"n"}, type = "uint"},
  },
  types = {"float", "double", "char", "uchar", "short", "ushort", "int",
    "uint", "long", "ulong", "half"},
  rungs = rungs,
  cache = "cold",
  truth = function(o, s)
    local right, index
    return function(results)
      if not right then
        local h <close> = o.x:read()
        right, index = host.sort(h, s.order == "descending")
      end
      local same, at = results[1]:equal(right)
      if same and s.index then
        same, at = results[2]:equal(index)
      end
      return same and 0 or 1, 0, "every bit", at
    end
  end,
}, require "clshell.base.lazy".table(...))

return sort

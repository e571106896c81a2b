-- arrays/random.lua - random numbers made on the device, by counters:
-- cl.random, and the methods random and normal of Buffers
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"

local GROUP = 256 -- work-items of a work-group, at most
local MOST = 1 << 62 -- number of an element in a sequence

local GENERATORS = {philox = 0, threefry = 1}

-- Launches the kernel that fills a Buffer without gaps.
local function run(what, b, kind, seed, low, high, opts)
  local type = b.type
  local real = types.known[type].real
  local wide = cl.typesize(type) == 8
  local per = wide and 2 or 4
  local n, offset = #b, opts.offset or 0
  local threefry = GENERATORS[opts.generator or "philox"]
  if not threefry then
    cl.error(("%s: generator must be one of %s; got %s"):format(what,
      text.values(text.keys(GENERATORS)), text.got(opts.generator)))
  end
  argument.integer(what, "seed", seed)
  argument.integer(what, "offset", offset, 0, MOST)
  if type == "double" and not b.context.device:has "cl_khr_fp64" then
    cl.error(("%s: double needs the extension cl_khr_fp64, which %s lacks")
      :format(what, b.context.device.name))
  end
  local path = cl.home .. "/kernels/random/fill.cl"
  local stored = type == "half" and "ushort" or type
  local prog = program.get(b.context, {path = path}, {TYPE = type,
    STORED = stored, VECTOR = stored .. per,
    REAL = type == "double" and "double" or "float",
    KIND = real and kind or "INTEGER", WIDE = wide and 1 or 0,
    HALF = type == "half" and 1 or 0, THREEFRY = threefry})
  local blocks = (offset + n - 1) // per - offset // per + 1
  local kernel = program.kernel(prog)
  local size = tiling.power_of_two(math.min(GROUP, kernel.work_group_size))
  return kernel:range(tiling.roundup(blocks, size), size)(n, offset, seed, low,
    high, b)
end

-- Fills any Buffer; a Buffer with gaps between rows gets a copy of a filled
-- Buffer without gaps.
local function fill(what, b, ...)
  if b.rows and b.ld ~= b.cols then
    local whole <close> = cl.buffer(b.type, b.shape, nil,
      {context = b.context})
    run(what, whole, ...)
    return whole:copy(b, {async = true})
  end
  return run(what, b, ...)
end

-- The two arguments of the kernel for uniform numbers of a type: the lower
-- end, and the upper end of reals, or the count of integers.
local function ends(what, type, low, high)
  local known = types.known[type]
  low = argument.check(what, "lo", low == nil and 0 or low, "number")
  high = argument.check(what, "hi", high == nil and (known.real and 1 or 99)
    or high, "number")
  if known.real then
    local cell <close> = cl.array(type, 2, {low, high})
    low, high = cell[1], cell[2]
    if not (low < high and text.finite(high - low)) then
      cl.error(("%s: hi must be above lo and finite; got %s and %s"):format(
        what, low, high))
    end
    return low, high
  end
  for name, value in pairs{lo = low, hi = high} do
    if not types.fits(value, type) then
      cl.error(("%s: %s must be one of %s's values; got %s"):format(what,
        name, type, value))
    end
  end
  if type == "ulong" and math.ult(high, low) or type ~= "ulong"
      and high < low then
    cl.error(("%s: hi must be >= lo; got %d and %d"):format(what, low, high))
  end
  local word = cl.typesize(type) == 8 and "ulong" or "uint"
  local mask = word == "uint" and 0xffffffff or -1
  return cl[word](low & mask), cl[word](high - low + 1 & mask)
end

-- Mean and standard deviation, as the type has them.
local function moments(what, type, mean, deviation)
  if not types.known[type].real then
    cl.error(("%s: the type must be half, float or double; got %s"):format(
      what, type))
  end
  mean = argument.check(what, "mean", mean == nil and 0 or mean, "number")
  deviation = argument.check(what, "deviation", deviation == nil and 1
    or deviation, "number")
  if not (text.finite(mean + 0.0) and text.finite(deviation + 0.0)
      and deviation >= 0) then
    cl.error(("%s: mean and deviation must be finite, deviation >= 0; got %s "
      .. "and %s"):format(what, mean, deviation))
  end
  return mean + 0.0, deviation + 0.0
end

local methods = {}

-- The three numbers of a call, in the order of `names`, and the options, a
-- table behind them. The table may hold the numbers that the call does not
-- list.
local function arguments(what, names, ...)
  local given, opts = table.pack(...), {}
  local n = given.n
  while n > 0 and given[n] == nil do
    n = n - 1
  end
  if n > 0 and (type(given[n]) == "table" or options.is_event(given[n])) then
    opts, n = options.check(given[n], what), n - 1
  end
  if n > #names then
    cl.error(("%s: takes %s and a table of options; got %d arguments"):format(
      what, table.concat(names, ", "), given.n))
  end
  local values = {}
  for k, name in ipairs(names) do
    if k <= n and given[k] ~= nil and opts[name] ~= nil then
      cl.error(("%s: %s is given twice: %s, and %s as an option"):format(what,
        name, text.got(given[k]), text.got(opts[name])))
    end
    values[k] = opts[name]
    if k <= n and given[k] ~= nil then
      values[k] = given[k]
    end
  end
  local seed = values[1]
  if math.type(seed) ~= "integer" then
    cl.error(("%s: seed must be an integer; got %s"):format(what,
      text.got(seed)), {arg = "seed", hint = ("x:%s(7), x:%s(7, %s, %s) or "
      .. "x:%s{seed = 7, %s = %s}"):format(what:match "%w+$",
      what:match "%w+$", 0, 1, what:match "%w+$", names[2], 0)})
  end
  return seed, values[2], values[3], opts
end

-- A method that fills a Buffer: `kind` is a word of the kernel, range(what,
-- type, a, b) gives the two arguments of the kernel for the numbers of a call.
local function filler(name, names, kind, range)
  local what = "Buffer:" .. name
  return function(b, ...)
    argument.check(what, "self", b, "Buffer")
    local seed, first, second, opts = arguments(what, names, ...)
    layout.scalar(what, layout.leaf(b))
    local low, high = range(what, b.type, first, second)
    return fill(what, b, kind, seed, low, high, opts)
  end
end

--- Buffer:random(seed [, lo, hi] [, opts]) -> Event
--- Fills with uniform random numbers: reals lo <= x < hi (0 and 1 by default),
--- for integer types whole numbers lo..hi, both included (0 and 99), all of
--- them equally often. The same seed gives the same numbers on every device.
--- They are made by counters, without a state: `offset` gives a part of a
--- longer sequence. A number that is not an argument is an option:
--- `b:random{seed = 7, hi = 2}`. Array:random makes other numbers.
--- Options:
---   seed       -       an integer
---   lo, hi     0, 1    the ends; of integers 0 and 99
---   offset     0       the number of the first element in its sequence
---   generator  philox  "philox" (Philox 4x32-10) or "threefry" (Threefry
---              4x32-20), of Salmon and others (2011)
--- Example:
--- local x = cl.buffer("float", 1000)
--- x:random(7, -1, 1)
--- local h = x:read()
--- print(h[1] >= -1 and h[1] < 1) --> true
methods.random = filler("random", {"seed", "lo", "hi"}, "UNIFORM", ends)

--- Buffer:normal(seed [, mean, deviation] [, opts]) -> Event
--- Fills with normal random numbers (0 and 1 by default), by the method of Box
--- and Muller. The same seed gives the same numbers on every device but for
--- the errors of its log, sqrt, sinpi and cospi. No number is further from the
--- mean than 6.8 deviations (double: 8.6). A number that is not an argument is
--- an option.
--- Options:
---   seed       -       an integer
---   mean       0       of the numbers
---   deviation  1       the standard deviation
---   offset     0       the number of the first element in its sequence
---   generator  philox  "philox" or "threefry", see Buffer:random
--- Example:
--- local x = cl.buffer("float", 100000)
--- x:normal(7, 10, 2)
--- print(math.abs(x:read():summary().mean - 10) < 0.1) --> true
methods.normal = filler("normal", {"seed", "mean", "deviation"}, "NORMAL",
  moments)

--- cl.random(shape [, opts]) -> Buffer
--- A new Buffer of random numbers, filled as by Buffer:random, or with a
--- deviation as by Buffer:normal. A kernel of your own draws its numbers where
--- it needs them: with {include = cl.home .. "/kernels/random"} it says
--- `#include "philox.cl"` and calls philox((uint4)(i, 0, 0, 0), (uint2)(seed,
--- 0)) for four words; "threefry.cl" likewise, with an uint4 as key.
--- Options:
---   type       float      the element type
---   seed       1          of the numbers, an integer
---   lo, hi     0 and 1    the ends; of integers 0 and 99, both included
---   deviation  none       of normal numbers
---   mean       0          of normal numbers
---   offset     0          the number of the first element in its sequence
---   generator  philox     "philox" or "threefry"
---   context    session's  the Context of a device
--- Example:
--- local dice = cl.random(1000, {type = "int", lo = 1, hi = 6, seed = 7})
--- print(#dice:unique()) --> 6
function cl.random(shape, opts)
  local what = "cl.random"
  if math.type(shape) == nil then
    argument.check(what, "shape", shape, "table",
      'cl.random({2, 3}, {type = "float"})')
  end
  opts = options.check(opts, what)
  local kind, normal = opts.type or "float", opts.deviation ~= nil
  types.check_calculated(what, types.check(what, kind))
  if normal and (opts.lo or opts.hi) or not normal and opts.mean then
    cl.error(("%s: lo and hi belong to uniform numbers, mean and deviation to "
      .. "normal numbers"):format(what))
  end
  local low, high
  if normal then
    low, high = moments(what, kind, opts.mean, opts.deviation)
  else
    low, high = ends(what, kind, opts.lo, opts.hi)
  end
  local b = cl.buffer(kind, shape, nil, {context = opts.context})
  fill(what, b, normal and "NORMAL" or "UNIFORM", opts.seed or 1, low, high,
    opts)
  return b
end

cl.extend("Buffer", methods, true)

return {}

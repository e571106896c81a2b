-- arrays/sorting.lua - methods made of family sort: elements in order and
-- their places, different elements; and histograms
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local result = require "clshell.base.result"
local scan = require "clshell.ladders.scan"
local sort = require "clshell.ladders.sort"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"

local GROUP = 256   -- work-items of a work-group
local EACH = 16     -- elements of a work-item of a histogram, at least
local BUSY = 8      -- work-groups of a histogram for each compute unit
local COUNTERS = 4096 -- of a histogram in local memory, at most

local EXAMPLE = "x:histogram{from = 0, to = 1, bins = 10}"

local methods = expression.methods

-- A Buffer, an Array or an Expression as a Buffer without gaps.
local function elements(what, x)
  local e = expression.subject(what, x)
  if e.kind.op ~= "leaf" or not e.whole then
    return (methods.eval(e))
  end
  local b = e.buffer
  return b.ld ~= e.dims[#e.dims] and b:clone() or b
end

-- Launches a kernel of kernels/sort/ on n work-items.
local function run(context, file, name, defines, n, ...)
  local path = ("%s/kernels/sort/%s"):format(cl.home, file)
  local prog = program.get(context, {path = path}, defines)
  return program.kernel(prog, name):range(n)(...)
end

-- The option `values` of a sort as a Buffer; raises unless it fits the
-- elements.
local function values_of(x, values)
  if text.class(values) == "Array" then
    values = cl.buffer(values.type, values.shape, values,
      {context = x.context})
  end
  argument.check("sort", "values", values, "Buffer")
  if #values ~= #x then
    cl.error(("sort: values must have %d elements; got %d"):format(#x,
      #values))
  elseif values.rows and values.ld ~= values.cols then
    cl.error "sort: values must have no gaps between rows; pass b:clone()"
  end
  layout.check_context("sort", x, values)
  return values
end

-- The order of dimensions of a shape with one of them moved to the end, and
-- the order that moves it back.
local function orders(shape, dim)
  local there, back = {}, {}
  for d = 1, #shape do
    there[#there + 1] = d ~= dim and d or nil
  end
  there[#shape] = dim
  for k, d in ipairs(there) do
    back[d] = k
  end
  return there, back
end

-- The elements of x in order along a dimension, or with `places` their places
-- there; and the Event. The second of two stable sorts brings the rows apart
-- again.
local function along(what, x, dim, order, places)
  local e = expression.subject(what, x)
  local n = e.dims[layout.dim(what, e.dims, dim)]
  local sizes, back = table.move(e.dims, 1, #e.dims, 1, {}), nil
  if dim < #sizes then
    local there, home = orders(sizes, dim)
    table.insert(sizes, table.remove(sizes, dim))
    back = home
    e = methods.transpose(e, table.unpack(there))
  end
  local temporary = result.temporary
  local flat = methods.eval(e)
  local _ <close> = temporary(flat)
  local index = cl.buffer("uint", #flat, nil, {context = flat.context})
  local _ <close> = temporary(index)
  local y = sort(flat, {order = order, index = index})
  local _ <close> = temporary(y)
  local rows = methods.eval((index - 1) // n)
  local _ <close> = temporary(rows)
  local moves = methods.argsort(rows)
  local _ <close> = temporary(moves)
  local found = methods.gather(places and index or y, moves)
  local _ <close> = temporary(found)
  local made = found:reshape(sizes)
  made = places and (made - 1) % n + 1 or made
  return methods.eval(back and methods.transpose(made, table.unpack(back))
    or made)
end

--- Buffer:sort([opts]) -> Buffer [, Buffer], Event
--- The elements in order, as a vector: see sort for NaN and zeros. With
--- `values` also the values in a new Buffer, each moved with its element; with
--- `dim` in order along that dimension, in the shape of x.
--- Options:
---   order   ascending  "ascending" or "descending"
---   values  none       a Buffer of as many elements, of any type
---   dim     all        the dimension to sort; 1 is the first
--- Example:
--- local x, y = cl.buffer("int", 3, {30, 10, 20}), cl.arange(1, 3)
--- print(x:sort():read()[1]) --> 10
--- local keys, values = x:sort{order = "descending", values = y}
--- print(keys:read()[1], values:read()[3]) --> 30 2
function methods.sort(x, opts)
  opts = options.check(opts, "Buffer:sort")
  if opts.dim ~= nil and opts.values ~= nil then
    cl.error("sort: values move in a sort of all elements, without dim",
      {hint = "x:argsort{dim = 1} gives the places along a dimension"})
  elseif opts.dim ~= nil then
    return along("sort", x, opts.dim, opts.order)
  end
  x = elements("sort", x)
  if opts.values == nil then
    return sort(x, {order = opts.order})
  end
  local values = values_of(x, opts.values)
  local in_context = {context = x.context}
  local index = cl.buffer("uint", #x, nil, in_context)
  local _ <close> = result.temporary(index)
  local y = sort(x, {order = opts.order, index = index})
  local moved = cl.buffer(values.type, #x, nil, in_context)
  local bits = types.bits(values.type) -- moved without arithmetic
    or values.type:gsub("half", "ushort")
  return y, moved, run(x.context, "move.cl", "move", {REAL = bits}, #x,
    values:as(bits), index, moved:as(bits))
end

--- Buffer:argsort([opts]) -> Buffer, Event
--- The places of the elements in order, as uint from 1: the first is the
--- place of the least element. Equal elements stay in their order. With `dim`
--- the places along that dimension, in the shape of x.
--- Options:
---   order  ascending  "ascending" or "descending"
---   dim    all        the dimension to sort; 1 is the first
--- Example: print(cl.buffer("int", 3, {30, 10, 20}):argsort():read()[1]) --> 2
function methods.argsort(x, opts)
  opts = options.check(opts, "Buffer:argsort")
  if opts.dim ~= nil then
    return along("argsort", x, opts.dim, opts.order, true)
  end
  x = elements("argsort", x)
  local index = cl.buffer("uint", #x, nil, {context = x.context})
  return index, select(2, sort(x, {order = opts.order, index = index}))
end

--- Buffer:unique() -> Buffer, Buffer
--- The different elements in order, and how often there is each, as uint. All
--- NaN are one element, and so are -0.0 and 0.0. It waits for the device.
--- Example:
--- local values, counts = cl.buffer("int", 4, {7, 5, 7, 7}):unique()
--- print(#values, values:read()[2], counts:read()[2]) --> 2 7 3
function methods.unique(x)
  x = elements("unique", x)
  if x.type == "half" then
    local wide <close> = methods.astype(x, "float"):eval()
    local values <close>, counts = methods.unique(wide)
    return methods.astype(values, "half"):eval(), counts
  end
  local context, n, defines = x.context, #x, {REAL = x.type}
  local in_context = {context = context}
  if n == 0 then
    return cl.buffer(x.type, 0, nil, in_context), cl.buffer("uint", 0, nil,
      in_context)
  end
  local y <close> = sort(x)
  local flags <close> = cl.buffer("int", n, nil, in_context)
  run(context, "runs.cl", "heads", defines, n, y, flags)
  local number <close> = scan(flags)
  local last <close> = number:read{first = n, count = 1}
  local runs = last[1]
  local values = cl.buffer(x.type, runs, nil, in_context)
  local counts = cl.buffer("uint", runs, nil, in_context)
  local starts <close> = cl.buffer("uint", runs, nil, in_context)
  run(context, "runs.cl", "take", defines, n, y, number, values, starts)
  run(context, "runs.cl", "lengths", defines, runs, n, starts, counts)
  return values, counts
end

-- The two ends of a histogram: the options, or the ends of a type of 8 bits.
local function ends(what, type, opts)
  local known, pair = types.known[type], {}
  for i, name in ipairs{"from", "to"} do
    local own = known.high and known.high < 256
    local value = opts[name]
    if value == nil and own then
      value = i == 1 and known.low or known.high
    end
    argument.check(what, name, value, "number", EXAMPLE)
    if known.real then
      value = value + 0.0
      if not text.finite(value) then
        cl.error(("%s: %s must be finite; got %s"):format(what, name, value))
      end
    elseif not types.fits(value, type) then
      cl.error(("%s: %s must be one of %s's values; got %s"):format(what,
        name, type, value))
    end
    pair[i] = value
  end
  return pair[1], pair[2]
end

-- The factor of reals, or the divisor of integers, that gives the bin of an
-- element; and the number of bins.
local function widths(what, type, from, to, bins)
  if types.known[type].real then
    if from >= to then
      cl.error(("%s: from must be below to; got %s and %s"):format(what, from,
        to))
    end
    argument.integer(what, "bins", bins, 1, (1 << 31) - 1)
    return bins / (to - from), bins
  end
  local values = to - from + 1
  if type == "ulong" and math.ult(to, from) or type ~= "ulong" and to < from
      or values < 1 then
    cl.error(("%s: from %d to %d are no values, or 2^63 and more"):format(
      what, from, to))
  end
  bins = argument.integer(what, "bins", bins or values, 1, (1 << 31) - 1)
  if values % bins ~= 0 then
    cl.error(("%s: bins must divide the %d values from %d to %d; got %d")
      :format(what, values, from, to, bins))
  end
  return values // bins, bins
end

-- The least normal and the greatest number of a type.
local LIMITS = {float = {2.0^-126, 0x1.fffffep127},
  double = {2.0^-1022, 0x1.fffffffffffffp1023}}

-- Whether the ends, their distance and the factor for bins are normal numbers.
local function in_range(type, from, to, bins)
  local least, most = table.unpack(LIMITS[type])
  local by = bins / (to - from)
  return math.max(-from, to, to - from, by) <= most and by >= least
end

-- An end as the float that a kernel of floats has, or itself if none is near.
local function rounded(value)
  local near = string.unpack("f", string.pack("f", value))
  return text.finite(near) and near or value
end

-- The elements, as doubles or times a power of two, and the ends, so that bins
-- of reals can be calculated.
local function ranged(x, from, to, bins)
  local type = x.type
  if math.type(bins) ~= "integer" or bins < 1 or from >= to
      or in_range(type, from, to, bins) then
    return x, from, to
  elseif type == "float" and x.context.device:has "cl_khr_fp64" then
    local wide = methods.astype(x, "double"):eval()
    local y, low, high = ranged(wide, rounded(from), rounded(to), bins)
    local _ <close> = y ~= wide and result.temporary(wide)
    return y, low, high
  end
  local far = math.max(math.abs(from), math.abs(to))
  local scale = math.min(math.max(2.0^-math.floor(math.log(far, 2)),
    LIMITS[type][1]), 1 / LIMITS[type][1])
  return (x * scale):eval(), from * scale, to * scale
end

--- Buffer:histogram(opts) -> Buffer, Event
--- How many elements lie in each of several bins of one width, as uint.
--- Elements outside, and NaN, are left out. Bin b + 1 has the reals for which
--- floor((x - from) * (bins / (to - from))), in their type, is b, and the last
--- bin has x = to; where the range leaves the type, in double. Of integers,
--- bins have to divide the values from..to.
--- Options:
---   from, to  the range of 8 bits  the ends, both of which belong to it
---   bins      one for each integer  how many; of reals to be given
--- Example:
--- local x = cl.linspace(0, 1, 5)
--- print(x:histogram{bins = 4, from = 0, to = 1}:read()[4]) --> 2
function methods.histogram(x, opts)
  local what = "histogram"
  opts = options.check(opts, "Buffer:histogram")
  if expression.subject(what, x).kind.type == "half" then
    x = methods.astype(x, "float")
  end
  x = elements(what, x)
  local real = types.known[x.type].real
  local from, to = ends(what, x.type, opts)
  local spare
  if real then
    spare, from, to = ranged(x, from, to, opts.bins)
    x, spare = spare, spare ~= x and spare
  end
  local _ <close> = result.temporary(spare)
  local by, bins = widths(what, x.type, from, to, opts.bins)
  by = real and by or cl.ulong(by)
  local context, device = x.context, x.context.device
  local counts = cl.buffer("uint", bins, 0, {context = context})
  local counters = math.min(COUNTERS, tiling.power_of_two(
    device.local_mem_size // 8))
  local size = tiling.power_of_two(math.min(GROUP,
    device.max_work_group_size))
  local groups = math.min(tiling.groups(#x, size * EACH),
    BUSY * device.max_compute_units)
  local path = cl.home .. "/kernels/sort/histogram.cl"
  local prog = program.get(context, {path = path}, {REAL = x.type,
    WHOLE = real and 0 or 1, LOCAL = bins <= counters and counters or 0})
  return counts, program.kernel(prog):range(groups * size, size)(#x, x, from,
    to, by, bins, counts)
end

expression.publish "sorting"

return {}

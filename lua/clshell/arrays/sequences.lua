-- arrays/sequences.lua - Buffers of numbers in sequence, and Buffers joined
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local MOST = 2^53 -- numbers of a sequence

local function buffer(e)
  local b = e:eval()
  return b
end

-- The greatest numbers of types; a double holds every number of Lua.
local LARGEST = {half = 65504.0, float = (2 - 2.0^-23) * 2.0^127,
  bfloat16 = (2 - 2.0^-7) * 2.0^127, float8_e4m3 = 448.0,
  float8_e5m2 = 57344.0}

-- Raises for an end of a sequence of reals that would be infinite.
local function check_ends(what, kind, ...)
  for _, value in ipairs{...} do
    if math.abs(value + 0.0) > (LARGEST[kind] or math.huge) then
      cl.error(("%s: %s does not fit %s; choose a type, such as {type = "
        .. '"double"}'):format(what, value, kind))
    end
  end
end

--- cl.arange(first, last [, step [, opts]]) -> Buffer
--- The numbers from first to last as Lua's `for` counts them: by steps of 1,
--- or of `step`, with the last one where it is hit; they may be none.
--- Options:
---   type     int      element type; float where a number is no integer
---   context  session's  the Context of a device
--- Example: print(cl.arange(10, 1, -3):read()[4]) --> 1
function cl.arange(first, last, step, opts)
  if type(step) == "table" then
    step, opts = nil, step
  end
  local what = "cl.arange"
  opts, step = options.check(opts, what), step or 1
  for name, value in pairs{first = first or false, last = last or false,
      step = step} do
    argument.check(what, name, value or nil, "number", "cl.arange(1, 5)")
  end
  local whole = math.type(first) == "integer"
    and math.type(step) == "integer"
  local ratio = (last + 0.0 - first) / step
  if step == 0 or not text.finite(ratio) then
    cl.error(("%s: from %s to %s by %s is no sequence"):format(what, first,
      last, step))
  elseif ratio >= MOST then
    cl.error(("%s: from %s to %s by %s are more than 2^53 numbers"):format(
      what, first, last, step))
  end
  local count = math.max(math.type(last) == "integer" and whole
    and (last - first) // step + 1 or math.floor(ratio) + 1, 0)
  local kind = types.check(what, opts.type or whole and "int" or "float")
  local context = opts.context or cl.context()
  if whole and not types.known[kind].real then
    for _, value in ipairs{first, first + (count - 1) * step} do
      if not types.fits(value, kind) then
        cl.error(('%s: %d does not fit %s; choose a type, such as {type = '
          .. '"long"}'):format(what, value, kind))
      end
    end
    return buffer((expression.index("long", count, context) * step + first)
      :astype(kind))
  end
  if not types.known[kind].real then
    cl.error(("%s: the type %s takes integers; from %s by %s gives reals")
      :format(what, kind, first, step))
  end
  check_ends(what, kind, first, step, first + (count - 1) * step)
  local i = expression.index(types.calculated(kind), count, context)
  return buffer((i * step + first):astype(kind))
end

--- cl.linspace(first, last, n [, opts]) -> Buffer
--- n numbers at equal distances, first and last among them.
--- Options:
---   type     float      element type, of reals
---   context  session's  the Context of a device
--- Example: print(cl.linspace(0, 1, 5):read()[2]) --> 0.25
function cl.linspace(first, last, n, opts)
  local what = "cl.linspace"
  opts = options.check(opts, what)
  argument.check(what, "first", first, "number", "cl.linspace(0, 1, 5)")
  argument.check(what, "last", last, "number", "cl.linspace(0, 1, 5)")
  argument.integer(what, "n", n, 0)
  local kind = types.check(what, opts.type or "float")
  if not types.known[kind].real then
    cl.error(("%s: type must be half, float or double; got %s"):format(what,
      kind))
  elseif not text.finite(last - first + 0.0) then
    cl.error(("%s: from %s to %s is no sequence"):format(what, first, last))
  end
  check_ends(what, kind, first, last, last - first)
  first, last = first + 0.0, last + 0.0
  local i = expression.index(types.calculated(kind), n, opts.context
    or cl.context()) -- half ends at 65504
  local x = i * ((last - first) / math.max(n - 1, 1)) + first
  return buffer(i:eq(n - 1):where(last, x):astype(kind))
end

-- The first operand of a list, of one type and one number of dimensions, and
-- the context for all, to which Arrays are copied.
local function joined(what, list)
  argument.check(what, "list", list, "table", what .. "{x, y}")
  local first, device = list[1], nil
  if first == nil then
    cl.error(what .. ": the list is empty")
  end
  for k, x in ipairs(list) do
    x = expression.viewed(what, x)
    device = device or x.context and x or nil
    if k == 1 then
      first = x
    elseif x.kind.type ~= first.kind.type or #x.dims ~= #first.dims then
      cl.error(("%s: element %d is %s %s, the first %s %s"):format(what, k,
        x.kind.type, x.dims.text, first.kind.type, first.dims.text))
    end
    if x.context then
      layout.check_context(what, x, device)
    end
  end
  return first, device and device.context or cl.context()
end

--- cl.concatenate(list [, dim]) -> Buffer
--- The Buffers and Expressions of a list, of one type, one behind the other in
--- dimension 1, or `dim`; the other dimensions are equal.
--- Example:
--- local x = cl.concatenate{cl.arange(1, 3), cl.arange(7, 9)}
--- print(x, x:read()[4]) --> Buffer int[6] 7
function cl.concatenate(list, dim)
  local what = "cl.concatenate"
  local first, context = joined(what, list)
  dim = dim == nil and 1 or layout.dim(what, first.dims, dim)
  local ranges, last = {}, 0
  local shape = table.move(first.dims, 1, #first.dims, 1, {})
  shape[dim] = 0
  for k, x in ipairs(list) do
    local own = x.shape
    for d, n in ipairs(own) do
      ranges[d] = {}
      if d ~= dim and n ~= shape[d] then
        cl.error(("%s: element %d has the shape %s, the first %s; only "
          .. "dimension %d may differ"):format(what, k, text.shape(own),
          first.dims.text, dim))
      end
    end
    shape[dim] = shape[dim] + own[dim]
  end
  local all = layout.new(first.kind.type, shape, context)
  for _, x in ipairs(list) do
    ranges[dim] = {last + 1, last + x.shape[dim]}
    last = ranges[dim][2]
    all:slice(table.unpack(ranges)):set(x)
  end
  return all
end

--- cl.stack(list) -> Buffer
--- The Buffers and Expressions of a list, of one type and shape, as the rows
--- of a matrix: a new dimension 1 counts them.
--- Example:
--- local A = cl.stack{cl.arange(1, 3), cl.arange(4, 6)}
--- print(A, A:read():at(2, 1)) --> Buffer int[2][3] 4
function cl.stack(list, dim)
  local what = "cl.stack"
  if dim ~= nil then
    cl.error(what .. " takes a list alone",
      {hint = "cl.stack{x, y}:transpose() has x and y as columns"})
  end
  local first, context = joined(what, list)
  for k, x in ipairs(list) do
    if text.shape(x.shape) ~= first.dims.text then
      cl.error(("%s: element %d has the shape %s, the first %s"):format(what,
        k, text.shape(x.shape), first.dims.text))
    end
  end
  local all = layout.new(first.kind.type, {#list, table.unpack(first.dims)},
    context)
  for k, x in ipairs(list) do
    all:slice(k, {}):set(x)
  end
  return all
end

return {}

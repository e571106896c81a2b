-- arrays/types.lua - the element types of expressions: OpenCL C's usual
-- arithmetic conversions, but none of 64-bit integers to reals, which would
-- lose digits silently
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

-- By name: rank (a result has the type of the higher rank; types below int are
-- promoted to it), real, wide (64-bit integers), and the range of integers.
local TYPES = {
  char = {rank = 0, low = -128, high = 127},
  uchar = {rank = 0, low = 0, high = 255},
  short = {rank = 0, low = -32768, high = 32767},
  ushort = {rank = 0, low = 0, high = 65535},
  int = {rank = 1, low = -(1 << 31), high = (1 << 31) - 1},
  uint = {rank = 2, low = 0, high = (1 << 32) - 1},
  long = {rank = 3, wide = true, low = math.mininteger,
    high = math.maxinteger},
  ulong = {rank = 4, wide = true, low = math.mininteger,
    high = math.maxinteger}, -- by its 64 bits, as everywhere
  half = {rank = 5, real = true},
  float = {rank = 6, real = true},
  double = {rank = 7, real = true},
  bfloat16 = {rank = 5, real = true},
  float8_e4m3 = {rank = 5, real = true},
  float8_e5m2 = {rank = 5, real = true},
}

--- types.known(name) -> table or nil
--- The properties of a scalar type: rank, real, wide, low, high.
M.known = TYPES

-- NumPy's names of types, and OpenCL C's, where int8 is a vector of 8.
local NUMPY = {bool = "uchar", int8 = "char", uint8 = "uchar",
  int16 = "short", uint16 = "ushort", int32 = "int", uint32 = "uint",
  int64 = "long", uint64 = "ulong", float16 = "half", float32 = "float",
  float64 = "double"}

--- types.check(what, name) -> name
--- Raises unless `name` is the name of a scalar type.
function M.check(what, name)
  if not TYPES[name] then
    local near = NUMPY[name] or type(name) == "string"
      and cl.nearest(name, text.keys(TYPES))
    cl.error(("%s: no scalar type %s; there are: %s"):format(what,
      text.got(name), text.values(text.keys(TYPES))),
      {hint = near and ('did you mean "%s"?'):format(near) or nil})
  end
  return name
end

--- types.calculated(name) -> name
--- The type of the variables of a kernel: float for half, since a device only
--- has to load and store halves, and for types that kernels lack.
function M.calculated(name)
  return (name == "half" or M.bits(name)) and "float" or name
end

M.bits = text.bits

-- The methods that move or convert elements of types that kernels lack.
local MOVES = text.set("astype eval read set clone slice shift transpose "
  .. "diagonal tile")

--- types.check_calculated(what, name)
--- Raises where method `what` calculates with elements of a type, and OpenCL C
--- has no such type.
function M.check_calculated(what, name)
  if M.bits(name) and not MOVES[what] then
    cl.error(("%s: OpenCL C has no type %s and does not calculate with it")
      :format(what, name), {hint = 'x:astype "float" calculates; '
      .. ('e:astype "%s" converts the result'):format(name)})
  end
end

--- types.promoted(name) -> name
function M.promoted(name)
  return TYPES[name].rank == 0 and "int" or name
end

--- types.common(what, a, b) -> name
--- The type in which an operator calculates operands of types a and b.
function M.common(what, a, b)
  local x, y = TYPES[a], TYPES[b]
  if x.wide and y.real or y.wide and x.real then
    cl.error(("%s: %s and %s: a real would not hold all digits of 64 bits; "
      .. 'choose a type, such as x:astype "double"'):format(what, a, b))
  end
  return M.promoted(x.rank > y.rank and a or b)
end

--- types.real(what, name) -> name
--- The type of a function of reals for an operand.
function M.real(what, name)
  return TYPES[name].real and name or M.common(what, name, "float")
end

--- types.fits(value, name) -> boolean
--- Whether an integer type holds a Lua number.
function M.fits(value, name)
  local known = TYPES[name]
  return math.type(value) == "integer" and value >= known.low
    and value <= known.high
end

--- types.constant(what, value, name) -> name
--- The type of a Lua number beside an operand of a type: that type, which has
--- to hold an integer; float for a Lua float beside integers.
function M.constant(what, value, name)
  local known = TYPES[name]
  if known.real then
    return name
  elseif math.type(value) == "float" then
    return M.common(what, name, "float")
  elseif not M.fits(value, name) then
    cl.error(('%s: %d does not fit %s (%d..%d); widen the elements first, '
      .. 'such as x:astype "long"'):format(what, value, name, known.low,
      known.high))
  end
  return name
end

--- types.integer(what, name) -> name
function M.integer(what, name)
  if TYPES[name].real then
    cl.error(('%s: takes integers; got %s; convert it with x:astype "int"')
      :format(what, name))
  end
  return name
end

--- types.check_store(what, from, to)
--- Raises where storing elements of a type in a Buffer of another would lose
--- digits that the arithmetic has kept.
function M.check_store(what, from, to)
  local x, y = TYPES[from], TYPES[to]
  if x.real and not y.real or x.wide and not y.wide then
    cl.error(('%s: %s elements into a Buffer of %s would lose digits; say '
      .. 'e:astype "%s"'):format(what, from, to, to))
  end
end

return M

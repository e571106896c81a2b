-- arrays/expression.lua - calculations written as in Lua: the operators and
-- methods of Buffers and Arrays make expressions, which evaluate.lua
-- calculates when their elements are needed
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.method_names"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local getmetatable, setmetatable = debug.getmetatable, setmetatable

local M = {}

-- An expression: kind ({op, type}), dims (its shape), context, operands a, b
-- and c or false, and from the last calculation that it was in, mark and id.
-- op is "leaf" (a Buffer, see layout.lua), "constant" (with value), "index"
-- (the number of an element, from 0), "to" (a conversion), or the name of an
-- operation in evaluate.lua: "pair" calculates a as well, and is b. `context`
-- is false for an Array, and a view of one, until an operation copies it.
local meta = layout.meta
meta.__name, meta.__metatable = "Expression", false

-- The operations: methods, and metamethods by their names without "__".
local methods, operators = names.expression, {}
meta.__members = methods -- for completion

local kind_of = layout.kind

local CLASSES = {Array = true, Buffer = true}
local ARGUMENTS = {"", "y", "y, z"} -- by the number of operands
local NEEDS = "%s: an operand must be a Buffer or an Expression; got %s"

local function is_expression(value)
  return type(value) == "table" and getmetatable(value) == meta
end

local leaves = layout.leaves

-- A value as an operand, where it lies: an Array stays on the host. A number
-- stays a number.
local function in_place(what, value)
  local class = type(value)
  if class == "number" then
    return value
  elseif class == "table" and getmetatable(value) == meta then
    types.check_calculated(what, value.kind.type)
    return value
  elseif value ~= nil and leaves[value] or CLASSES[text.class(value)] then
    return layout.scalar(what, layout.leaf(value))
  end
  local first = class == "table" and math.type(value[1])
  cl.error(("%s: an operand must be a Buffer, an Array, an Expression or a "
    .. "number; got %s"):format(what, text.got(value)), first
    and {hint = ('for a list: cl.buffer("%s", %d, list)'):format(
    first == "integer" and "int" or first, #value)} or nil)
end

-- An operand on a device: an Array's elements are copied as they are now.
local function on_device(e, context)
  if type(e) == "table" and e.context == false then
    return layout.on_device(e, context)
  end
  return e
end

-- A value as an operand on a device: an Array is copied to `context`, or to
-- the session's device.
local function operand(what, value, context)
  return on_device(in_place(what, value), context)
end

local function no_number(what, x)
  if type(x) == "number" then
    cl.error(NEEDS:format(what, text.got(x)))
  end
  return x
end

-- expression.viewed(what, x) -> operand
-- The Buffer, Array or Expression of a method that views its elements.
local function viewed(what, x)
  return no_number(what, in_place(what, x))
end

-- expression.subject(what, x [, context]) -> operand
-- The Buffer, Array or Expression of a method that calculates.
local function subject(what, x, context)
  return no_number(what, operand(what, x, context))
end

local function context_of(x)
  return type(x) == "table" and x.context
end

-- Operands on one device: Arrays are copied to the device of the others.
local function together(a, b, c)
  local context = context_of(a) or context_of(b) or context_of(c)
  return on_device(a, context), on_device(b, context), on_device(c, context)
end

-- expression.subjects(what, x, y) -> operand, operand
-- Two Buffers, Arrays or Expressions on one device.
local function subjects(what, x, y)
  x, y = together(viewed(what, x), viewed(what, y))
  layout.check_context(what, x, y)
  return x, y
end

local function constant(type, value)
  return {kind = kind_of("constant", type), value = value, mark = false,
    id = 0}
end

-- A number as an operand, of the type that stands beside it.
local function typed(what, value, beside)
  local type = beside and types.constant(what, value, beside.kind.type)
    or math.type(value) == "float" and "float"
    or types.fits(value, "int") and "int" or "long"
  return constant(type, value)
end

-- The operand of two that has the higher type; a number has the lowest.
local function higher(a, b)
  if not a or type(a) == "number" then
    return b and type(b) ~= "number" and b or nil
  elseif not b or type(b) == "number" then
    return a
  end
  return types.known[a.kind.type].rank < types.known[b.kind.type].rank and b
    or a
end

-- The n operands of an operation. A number takes the highest type of the other
-- operands, the condition of `where` left aside.
local function operands(what, n, a, b, c)
  a, b, c = together(in_place(what, a), n > 1 and in_place(what, b) or nil,
    n > 2 and in_place(what, c) or nil)
  local na, nb, nc = type(a) == "number", type(b) == "number",
    type(c) == "number"
  if na or nb or nc then
    local beside = higher(b, c)
    beside = (not beside or what ~= "where") and higher(a, beside) or beside
    a = na and typed(what, a, beside) or a
    b = nb and typed(what, b, beside) or b
    c = nc and typed(what, c, beside) or c
  end
  return a, b, c
end

-- The shape and the context that operands have in common; numbers fit all.
local function meet(what, a, b)
  if not a.dims or not b.dims then
    return a.dims and a or b
  elseif a.dims ~= b.dims or a.context ~= b.context then
    local dims = layout.broadcast(what, a.dims, b.dims)
    layout.check_context(what, a, b)
    return {dims = dims, context = a.context}
  end
  return a
end

-- The expression of an operation, whose result is of a kind.
local function apply(what, kind, a, b, c)
  local like = b and meet(what, a, b) or a
  like = c and meet(what, like, c) or like
  if not like.dims then
    cl.error(NEEDS:format(what, "numbers alone"))
  end
  return setmetatable({kind = kind, dims = like.dims, context = like.context,
    a = a, b = b or false, c = c or false, mark = false, id = 0}, meta)
end

local function node(what, op, type, a, b, c)
  return apply(what, kind_of(op, type), a, b, c)
end

local function convert(what, e, type)
  return e.kind.type == type and e or node(what, "to", type, e)
end

-- The operand of a value that was an operand before and lies on a device; nil
-- or false for any other value.
local function known(value)
  return leaves[value] or getmetatable(value) == meta and value.context
    and value
end

-- The expression that apply makes, in less time: for operands of one shape, or
-- a number beside reals, whose types met before; nil for all others.
local function quick(kinds, n, a, b)
  local x, y = known(a), n > 1 and known(b)
  if n > 1 then
    local like = x or y
    if not like or not (x and y) and not types.known[like.kind.type].real then
      return nil
    end
    x = x or type(a) == "number" and constant(like.kind.type, a)
    y = y or type(b) == "number" and constant(like.kind.type, b)
    if not x or not y or x.dims and y.dims
        and (x.dims ~= y.dims or x.context ~= y.context) then
      return nil
    end
  end
  local found = x and kinds[x.kind.type]
  local kind = found and found[y and y.kind.type or ""]
  local like = x and x.dims and x or y
  return kind and setmetatable({kind = kind, dims = like.dims,
    context = like.context, a = x, b = y, c = false, mark = false, id = 0},
    meta)
end

-- Defines an operation of n operands, whose result has the type rule(what, a,
-- b, c) for the types of its operands.
local function define(list, name, n, rule, what)
  local kinds = {} -- of results, by the types of two operands
  what = what or name
  list[name] = function(a, b, c, more)
    local made = n < 3 and (list == operators or c == nil and more == nil
      and (n > 1 or b == nil)) and quick(kinds, n, a, b)
    if made then
      return made
    end
    if list == methods and (n < 2 and b ~= nil or n < 3 and c ~= nil
        or n > 1 and b == nil or n > 2 and c == nil or more ~= nil) then
      cl.error(("%s takes %s besides x: x:%s(%s)"):format(name,
        text.count(n - 1, "operand"), name, ARGUMENTS[n]))
    end
    a, b, c = operands(what, n, a, b, c)
    local x, y = a.kind.type, b and b.kind.type
    local found = kinds[x]
    local kind = found and not c and found[y or ""]
    if not kind then
      kind = kind_of(name, rule(what, x, y, c and c.kind.type))
      kinds[x] = found or {}
      kinds[x][y or ""] = kind
    end
    return apply(what, kind, a, b, c)
  end
end

local function common(what, a, b, c)
  local type = b and types.common(what, a, b) or types.promoted(a)
  return c and types.common(what, type, c) or type
end

local function real(what, a, b, c)
  return types.real(what, b and common(what, a, b, c) or a)
end

local function truth(what, a, b)
  common(what, a, b)
  return "int"
end

local function bits(what, a, b)
  types.integer(what, a)
  return common(what, a, b and types.integer(what, b))
end

local function whole(what, a, b)
  types.integer(what, a)
  return (b or a) == a and a or types.common(what, a, types.integer(what, b))
end

local function test(what, a)
  real(what, a)
  return "int"
end

local function shifted(what, a, b)
  bits(what, a, b)
  return types.promoted(a)
end

for rule, signs in pairs{
  [common] = {add = "x + y", sub = "x - y", mul = "x * y", idiv = "x // y",
    mod = "x % y", unm = "-x"},
  [real] = {div = "x / y", pow = "x ^ y"},
  [bits] = {band = "x & y", bor = "x | y", bxor = "x ~ y", bnot = "~x"},
  [shifted] = {shl = "x << y", shr = "x >> y"},
} do
  for name, what in pairs(signs) do
    define(operators, name, what:find "y" and 2 or 1, rule, what)
  end
end
for _, name in ipairs{"lt", "le"} do
  operators[name] = function()
    cl.error("x < y is one boolean in Lua; for elements write x:lt(y), "
      .. "x:le(y), x:gt(y) or x:ge(y)")
  end
end
--- Buffer:lt(y) -> Expression
--- 1 where the comparison holds, 0 elsewhere, as int: eq, ne, lt, le, gt and
--- ge are C's ==, !=, <, <=, > and >=. Lua's own signs give one boolean and
--- cannot serve. A NaN is unequal to all, itself too, and neither less nor
--- greater.
--- Also: Buffer:eq, Buffer:ne, Buffer:le, Buffer:gt, Buffer:ge
--- Example: print(cl.arange(1, 4):lt(3):read()[2]) --> 1
for rule, lists in pairs{
  [truth] = {{}, text.keys(names.compare)},
  [real] = names.math,
  [whole] = names.integers,
  [test] = {names.tests},
} do
  for n, list in ipairs(lists) do
    for _, name in ipairs(list) do
      define(methods, name, n, rule)
    end
  end
end
--- Buffer:abs() -> Expression
--- The elements without their sign.
--- Example: print((cl.arange(-2, 2)):abs():read()[1]) --> 2
define(methods, "abs", 1, common)
--- Buffer:fmin(y) -> Expression
--- The lesser of each two elements, integers too; of a NaN and a number the
--- number. x:min() is the least element of all.
--- Example: print(cl.arange(1, 4):fmin(2):read()[4]) --> 2
define(methods, "fmin", 2, common)
--- Buffer:fmax(y) -> Expression
--- The greater of each two elements, integers too; of a NaN and a number the
--- number. x:max() is the greatest element of all.
--- Example: print(cl.arange(1, 4):fmax(2):read()[1]) --> 2
define(methods, "fmax", 2, common)
--- Buffer:clamp(lo, hi) -> Expression
--- The elements, but not below lo nor above hi (NumPy's clip); lo for a NaN.
--- Example:
--- local x = cl.arange(1, 9):clamp(3, 5)
--- print(x:read()[1], x:read()[9]) --> 3 5
define(methods, "clamp", 3, common)
--- Buffer:where(a, b) -> Expression
--- a where the element is not 0, b elsewhere: `x:lt(0):where(-x, x)`. Both are
--- calculated. A NaN is not 0.
--- Example:
--- local x = cl.arange(-2, 2)
--- print(x:lt(0):where(-x, x):read()[1]) --> 2
define(methods, "where", 3, function(what, _, b, c)
  return common(what, b, c)
end)

-- Whole numbers up to these are reals of a type, exactly.
local WHOLE = {half = 1 << 24, float = 1 << 24, double = 1 << 53}

-- A whole power is exact for whole numbers, and a square is a product. A power
-- that is no real of the type is taken in parts.
local power = operators.pow
function operators.pow(x, k)
  local n = type(k) == "number" and math.tointeger(k)
  if not n or math.type(k) == "float" and math.abs(k) <= 1 << 24 then
    return power(x, k)
  end
  local what = "x ^ y"
  x = operand(what, x)
  local type = types.real(what, x.kind.type)
  x = convert(what, x, type)
  if n == 2 then
    return node(what, "mul", type, x, x)
  end
  local low = math.fmod(n, WHOLE[type])
  if low ~= n and low ~= 0 then
    return node(what, "mul", type, operators.pow(x, n - low),
      operators.pow(x, low))
  elseif not types.fits(n, "int") then
    return node(what, "pow", type, x, constant(type, n + 0.0))
  end
  return node(what, "pown", type, x, constant("int", n))
end

--- Buffer:astype(type) -> Expression
--- The elements in another scalar type. Reals become integers by cutting
--- towards zero; beyond the type's range they become its nearest end, and NaN
--- becomes 0. Integers wrap, as in C. Elements of bfloat16 and float8, see
--- cl.types, are calculated with in another type, such as float.
--- Example:
--- local x = cl.linspace(0, 1, 3)
--- print((x * 7):astype "int":read()[2]) --> 3
function methods.astype(x, type)
  local e = subject("astype", x)
  types.check("astype", type)
  return is_expression(x) and e.kind.type == type and x
    or node("astype", "to", type, e)
end

-- The numbers 0 .. n - 1, in a type.
function M.index(type, n, context)
  return convert("index", setmetatable({kind = kind_of("index", "long"),
    dims = layout.shape{n}, context = context, a = false, b = false,
    c = false, mark = false, id = 0}, meta), type)
end

-- expression.publish(file [, own])
-- Adds the methods of a file, see method_names.lua, to Buffers and Arrays:
-- functions of own.Buffer and own.Array, or else the methods of Expressions.
function M.publish(file, own)
  for _, class in ipairs{"Array", "Buffer"} do
    local added, others = {}, own and own[class] or {}
    for _, name in ipairs(names.of(class, file)) do
      added[name] = others[name] or methods[name]
        or operators[name:match "^__(.*)$"]
    end
    cl.extend(class, added, true)
  end
end

M.is, M.meta, M.node = is_expression, meta, node
M.methods, M.operators, M.operand = methods, operators, operand
M.subject, M.subjects, M.typed, M.viewed = subject, subjects, typed, viewed

return M

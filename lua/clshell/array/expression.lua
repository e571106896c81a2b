-- array/expression.lua - calculations on Buffers, written as in Lua: their
-- operators and methods make expressions, which one kernel evaluates when
-- their elements are needed
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local fused = require "clshell.array.fused"
local integer = require "clshell.base.integer"
local layout = require "clshell.array.layout"
local names = require "clshell.array.names"
local text = require "clshell.base.text"
local types = require "clshell.array.types"

local M = {}

local MOST = 256 -- operations of one kernel

-- An expression: kind ({op, type}), dims (its shape), context, operands a, b
-- and c or false, and from the last calculation that it was in, mark and id.
-- op is "leaf" (a Buffer, see layout.lua), "constant" (with value), "index"
-- (the number of an element, from 0), "to" (a conversion), or a key of TEXT.
local meta = {__name = "Expression", __metatable = false}

-- The operations: methods, and metamethods by their names without "__".
local methods, operators = {}, {}
meta.__members = methods -- for completion

-- By operation, OpenCL C for operands a, b and c and a result r of type T.
-- Whole numbers are divided as in Lua; a division by zero gives 0, as it could
-- end the process.
local TEXT = {
  index = "i", pown = "pown((T)a, b)", where = "a != 0 ? (T)b : (T)c",
  add = "a + b", sub = "a - b", mul = "a * b", div = "(T)a / (T)b",
  pow = "pow((T)a, (T)b)", unm = "-a", bnot = "~a", band = "a & b",
  bor = "a | b", bxor = "a ^ b", shl = "a << b", shr = "a >> b",
}
local REAL = {
  abs = "fabs(a)", min = "fmin((T)a, (T)b)", max = "fmax((T)a, (T)b)",
  clamp = "fmin(fmax((T)a, (T)b), (T)c)", idiv = "floor((T)a / (T)b)",
  mod = "fmod((T)a, (T)b); if (r != 0 && (r < 0) != (b < 0)) r += b",
}
local INTEGER = {
  abs = "a < 0 ? -a : a", min = "min((T)a, (T)b)", max = "max((T)a, (T)b)",
  clamp = "min(max((T)a, (T)b), (T)c)",
  idiv = "0; T x = a, y = b; if (y == (T)-1 && y < 0) r = 0 - x; "
    .. "else if (y != 0) r = x / y - (x % y != 0 && (x < 0) != (y < 0))",
  mod = "0; T x = a, y = b; if (y != 0 && (y != (T)-1 || y > 0)) r = x % y; "
    .. "if (r != 0 && (r < 0) != (y < 0)) r += y",
}

for name, sign in pairs(names.compare) do
  TEXT[name] = ("a %s b"):format(sign)
end
for n, list in ipairs(names.math) do
  for _, name in ipairs(list) do
    TEXT[name] = ("%s((T)a%s%s)"):format(name, n > 1 and ", (T)b" or "",
      n > 2 and ", (T)c" or "")
  end
end
local TESTS = {}
for _, name in ipairs(names.tests) do
  TESTS[name] = true
  TEXT[name] = ("%s((T)a) != 0"):format(name)
end

local kind_of = layout.kind

local ARGUMENTS = {"", "y", "y, z"} -- by the number of operands
local NEEDS = "%s: an operand must be a Buffer or an Expression; got %s"

local function is_expression(value)
  return type(value) == "table" and debug.getmetatable(value) == meta
end

local leaves = layout.leaves

-- A value as an operand; a number stays one.
local function operand(what, value)
  if type(value) == "number" or is_expression(value) then
    return value
  elseif value ~= nil and leaves[value]
      or text.class(value) == "Buffer" then
    return layout.scalar(what, layout.leaf(value))
  end
  cl.error(("%s: an operand must be a Buffer, an Expression or a number; "
    .. "got %s"):format(what, text.got(value)), text.class(value) == "Array"
    and {hint = "make a Buffer of the Array: cl.buffer(h.type, h.shape, h)"}
    or nil)
end

-- The Buffer or Expression of a method.
local function subject(what, x)
  x = operand(what, x)
  if type(x) == "number" then
    cl.error(NEEDS:format(what, text.got(x)))
  end
  return x
end

local function constant(type, value)
  return {kind = kind_of("constant", type), value = value}
end

-- A number as an operand, of the type that stands beside it.
local function typed(what, value, beside)
  local type = beside and types.constant(what, value, beside.kind.type)
    or math.type(value) == "float" and "float"
    or types.fits(value, "int") and "int" or "long"
  return constant(type, value)
end

-- Operands of an operation; numbers take the type of the first other one.
local function operands(what, a, b, c)
  a, b = operand(what, a), b ~= nil and operand(what, b) or nil
  c = c ~= nil and operand(what, c) or nil
  local na, nb, nc = type(a) == "number", type(b) == "number",
    type(c) == "number"
  if na or nb or nc then
    local beside = not na and a or b and not nb and b or c and not nc and c
    a = na and typed(what, a, beside) or a
    b = nb and typed(what, b, beside) or b
    c = nc and typed(what, c, beside) or c
  end
  return a, b, c
end

local function node(what, op, type, a, b, c)
  local dims, context = a.dims, a.context
  for k = 1, c and 2 or b and 1 or 0 do
    local x = k == 1 and b or c
    if not dims then
      dims, context = x.dims, x.context
    elseif x.dims then
      dims = layout.broadcast(what, dims, x.dims)
      if x.context ~= context then
        cl.error(what .. ": the Buffers are of different contexts (devices)")
      end
    end
  end
  if not dims then
    cl.error(NEEDS:format(what, "numbers alone"))
  end
  return setmetatable({kind = kind_of(op, type), dims = dims,
    context = context, a = a, b = b or false, c = c or false, mark = false,
    id = 0}, meta)
end

local function convert(what, e, type)
  return e.kind.type == type and e or node(what, "to", type, e)
end

-- Defines an operation of n operands, whose result has the type rule(what, a,
-- b, c) for the types of its operands.
local function define(list, name, n, rule, what)
  what = what or name
  list[name] = function(a, b, c, more)
    if list == methods and (n < 2 and b ~= nil or n < 3 and c ~= nil
        or n > 1 and b == nil or n > 2 and c == nil or more ~= nil) then
      cl.error(("%s takes %s besides x: x:%s(%s)"):format(name,
        text.count(n - 1, "operand"), name, ARGUMENTS[n]))
    end
    a, b, c = operands(what, a, n > 1 and b or nil, n > 2 and c or nil)
    local type = rule(what, a.kind.type, b and b.kind.type,
      c and c.kind.type)
    return node(what, name, type, a, b, c)
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

for name, sign in pairs{add = "+", sub = "-", mul = "*", idiv = "//",
    mod = "%"} do
  define(operators, name, 2, common, ("x %s y"):format(sign))
end
define(operators, "div", 2, real, "x / y")
define(operators, "pow", 2, real, "x ^ y")
define(operators, "unm", 1, common, "-x")
for name, sign in pairs{band = "&", bor = "|", bxor = "~"} do
  define(operators, name, 2, bits, ("x %s y"):format(sign))
end
define(operators, "bnot", 1, bits, "~x")
for name, sign in pairs{shl = "<<", shr = ">>"} do
  define(operators, name, 2, function(what, a, b)
    bits(what, a, b)
    return types.promoted(a)
  end, ("x %s y"):format(sign))
end
for _, name in ipairs{"lt", "le"} do
  operators[name] = function()
    cl.error("x < y is one boolean in Lua; for elements write x:lt(y), "
      .. "x:le(y), x:gt(y) or x:ge(y)")
  end
end
--- Buffer:lt(y) -> Expression
--- 1 where x < y, 0 elsewhere, as int; eq, ne, lt, le, gt and ge are C's ==,
--- !=, <, <=, > and >=. Lua's own signs give one boolean and cannot serve. A
--- NaN is unequal to all, itself too, and neither less nor greater.
--- Also: Buffer:eq, Buffer:ne, Buffer:le, Buffer:gt, Buffer:ge
for name in pairs(names.compare) do
  define(methods, name, 2, truth)
end
for n, list in ipairs(names.math) do
  for _, name in ipairs(list) do
    define(methods, name, n, real)
  end
end
for _, name in ipairs(names.tests) do
  define(methods, name, 1, function(what, a)
    real(what, a)
    return "int"
  end)
end
--- Buffer:abs() -> Expression
--- The elements without their sign.
define(methods, "abs", 1, common)
--- Buffer:min(y) -> Expression
--- The lesser one of each two elements; of a NaN and a number the number.
define(methods, "min", 2, common)
--- Buffer:max(y) -> Expression
--- The greater one of each two elements; of a NaN and a number the number.
define(methods, "max", 2, common)
--- Buffer:clamp(lo, hi) -> Expression
--- The elements, but not below lo nor above hi; lo for a NaN.
define(methods, "clamp", 3, common)
--- Buffer:where(a, b) -> Expression
--- a where the element is not 0, b elsewhere: `x:lt(0):where(-x, x)`. Both are
--- calculated. A NaN is not 0.
define(methods, "where", 3, function(what, _, b, c)
  return common(what, b, c)
end)

-- A whole power is exact for whole numbers, and a square a product.
local power = operators.pow
function operators.pow(x, k)
  if math.type(k) ~= "integer" or not types.fits(k, "int") then
    return power(x, k)
  end
  local what = "x ^ y"
  x = operand(what, x)
  local type = types.real(what, x.kind.type)
  x = convert(what, x, type)
  if k == 2 then
    return node(what, "mul", type, x, x)
  end
  return node(what, "pown", type, x, constant("int", k))
end

--- Buffer:astype(type) -> Expression
--- The elements in another scalar type. Reals become integers by cutting
--- towards zero; beyond the type's range they become its nearest end, and NaN
--- becomes 0. Integers wrap, as in C.
function methods.astype(x, type)
  x = subject("astype", x)
  if not types.known[type] then
    cl.error(("astype: no scalar type %s; there are: %s"):format(
      text.got(type), text.values(text.keys(types.known))))
  end
  return convert("astype", x, type)
end

-- The statement of a kernel that calculates an expression.
local function statement(e)
  local op, type = e.kind.op, e.kind.type
  local is_real, T = types.known[type].real, types.calculated(type)
  local code, inner = TEXT[op] or (is_real and REAL or INTEGER)[op], T
  if op == "to" then
    code = types.known[e.a.kind.type].real and not is_real
      and ("convert_%s_sat(a)"):format(T) or "(T)a"
  elseif TESTS[op] then
    inner = types.calculated(types.real(op, e.a.kind.type))
  end
  local words = {T = inner}
  for name in ("abc"):gmatch "." do
    words[name] = e[name] and "t" .. e[name].id
  end
  code = code:gsub("%f[%w_]%a%f[^%w_]", words)
  local form = code:find ";" and "  T tN; { T r = C; tN = r; }"
    or "  T tN = C;"
  return (form:gsub("%u", {T = T, N = ("%d"):format(e.id), C = code}))
end

-- Calculations that begin alike, by what follows: kinds, numbers of operands,
-- and places of elements that are not one by one those of the result. The last
-- table is that of all calculations with one kernel.
local alike = {}

local function next_of(at, key)
  local found = at[key]
  if not found then
    found = {}
    at[key] = found
  end
  return found
end

-- Adds a Buffer to the arguments of a calculation.
local function add_leaf(c, leaf, at)
  local b = leaf.buffer
  if leaf.dims ~= c.dims or not leaf.flat or leaf.by then
    c.flat = false
    at = next_of(at, leaf.place)
    b = leaf.start > 0 and cl.base(b) or b
  end
  c.n = c.n + 1
  c.args[c.n] = b
  return at
end

-- Adds an expression to a calculation, its operands first; returns the table
-- of those that agree so far. An operand of several is calculated once.
local function visit(c, e, at)
  c.left = c.left - 1
  if c.left < 0 then
    cl.error(("an expression of more than %d operations and operands; "
      .. "evaluate a part first, with e:eval()"):format(MOST))
  end
  local x, y, z, mark = e.a, e.b, e.c, c.mark
  at = x and x.mark ~= mark and visit(c, x, at) or at
  at = y and y.mark ~= mark and visit(c, y, at) or at
  at = z and z.mark ~= mark and visit(c, z, at) or at
  local kind = e.kind
  at = next_of(at, kind)
  at = x and next_of(at, x.id) or at
  at = y and next_of(at, y.id) or at
  at = z and next_of(at, z.id) or at
  c.id = c.id + 1
  e.mark, e.id = mark, c.id
  if kind.op == "leaf" then
    c.aliased = c.aliased or e ~= c.out and c.out.buffer:overlaps(e.buffer)
    return add_leaf(c, e, at)
  elseif kind.op == "constant" then
    c.n = c.n + 1
    c.args[c.n] = e.value
  end
  return at
end

-- The nodes of an expression, each behind its operands.
local function nodes(e, list, seen)
  if not seen[e] then
    seen[e] = true
    for name in ("abc"):gmatch "." do
      if e[name] then
        nodes(e[name], list, seen)
      end
    end
    list[#list + 1] = e
  end
  return list
end

-- The parts of a calculation's kernel, see fused.lua.
local function parts(c)
  local list = {{leaf = c.out, name = "out", store = true}}
  for _, e in ipairs(nodes(c.expression, {}, {})) do
    if e.kind.op == "leaf" then
      list[#list + 1] = {leaf = e, name = "t" .. e.id, load = true}
    elseif e.kind.op == "constant" then
      list[#list + 1] = {type = e.kind.type, name = "t" .. e.id}
    end
  end
  return list
end

local function body(c)
  local lines = {}
  for _, e in ipairs(nodes(c.expression, {}, {})) do
    local op = e.kind.op
    lines[#lines + 1] = op ~= "leaf" and op ~= "constant" and statement(e)
      or nil
  end
  lines[#lines + 1] = ("  out = t%d;"):format(c.expression.id)
  return table.concat(lines, "\n")
end

local marks = 0

-- The calculation of an expression into the Buffer of a leaf.
local function calculation(e, out)
  marks = marks + 1
  local c = {name = "expression", context = out.context, dims = out.dims,
    flat = true, args = {out.dims.count, nil, nil, nil}, n = 1, parts = parts,
    body = body, out = out, expression = e, left = MOST, mark = marks,
    id = 0}
  local at = add_leaf(c, out, next_of(alike, out.kind))
  at = visit(c, e, at)
  c.known = c.flat and at or next_of(at, out.place)
  return c
end

--- Expression:eval() -> Buffer, Event
--- A new Buffer with the elements, which one launch calculates, and the event
--- of the launch. It does not wait.
function methods.eval(x)
  x = subject("eval", x)
  local b = cl.buffer(x.kind.type, x.dims, nil, {context = x.context})
  return b, fused.run(calculation(x, layout.leaf(b)))
end

--- Expression:read([dst] [, opts]) -> Array
--- The elements on the host. Options as for Buffer:read.
function methods.read(x, ...)
  local b <close> = methods.eval(x)
  return b:read(...)
end

--- Buffer:shift(k, ...) -> Expression
--- The elements moved on by k places, those at the end to the beginning:
--- element i is that of i - k before. One distance for each dimension.
function methods.shift(x, ...)
  x = subject("shift", x)
  local given, by = table.pack(...), {}
  if given.n ~= #x.dims then
    cl.error(("shift: a shape %s takes %s; got %d"):format(x.dims.text,
      text.count(#x.dims, "distance"), given.n))
  end
  for d, k in ipairs(given) do
    integer.check("shift", "a distance", k, math.mininteger)
    by[d] = k % x.dims[d]
  end
  if x.kind.op ~= "leaf" or x.by then
    x = layout.leaf((methods.eval(x)))
  end
  return setmetatable({kind = x.kind, buffer = x.buffer, dims = x.dims,
    context = x.context, ld = x.ld, start = x.start, flat = x.flat,
    place = x.place .. "," .. text.shape(by), by = by, a = false, b = false,
    c = false, mark = false, id = 0}, meta)
end

-- The methods that Buffers alone have.
local of_buffer = {}

--- Buffer:set(value) -> Event
--- Sets the elements to those of an expression or a Buffer, which broadcasts
--- to the shape, or to a number. One launch, which is not waited for; a target
--- that the expression also reads at other places gets a copy of the result.
--- The conversion is C's assignment, but a real into integers and 64 bits into
--- fewer are errors: say astype.
function of_buffer.set(b, value)
  local out = layout.scalar("set", layout.leaf(b))
  if type(value) == "number" then
    return b:fill(value)
  end
  local e = operand("set", value)
  types.check_store("set", e.kind.type, out.kind.type)
  if layout.broadcast("set", e.dims, out.dims) ~= out.dims then
    cl.error(("set: the shape %s of the expression is not that of the "
      .. "Buffer, %s"):format(e.dims.text, out.dims.text))
  elseif e.context ~= out.context then
    cl.error "set: the Buffers are of different contexts (devices)"
  end
  local c = calculation(e, out)
  if not c.aliased then
    return fused.run(c)
  end
  local copy <close> = cl.buffer(b.type, b.shape, nil, {context = b.context})
  fused.run(calculation(e, layout.leaf(copy)))
  return copy:copy(b, {async = true})
end

--- Buffer:axpy(a, x) -> Event
--- y = a * x + y in one launch, for a number or an operand a.
function of_buffer.axpy(y, a, x)
  return of_buffer.set(y, operators.add(operators.mul(a, x), y))
end

--- Buffer:clone() -> Buffer
--- A new Buffer of the same type and shape with the same elements.
function of_buffer.clone(b)
  local copy = cl.buffer(b.type, b.shape, nil, {context = b.context})
  b:copy(copy)
  return copy
end

-- Fields of an expression besides its own.
local fields = {
  type = function(e)
    return e.kind.type
  end,
  shape = function(e)
    return table.move(e.dims, 1, #e.dims, 1, {})
  end,
  rows = function(e)
    return e.dims[2] and not e.dims[3] and e.dims[1] or nil
  end,
  cols = function(e)
    return not e.dims[3] and e.dims[2] or nil
  end,
}

function meta.__index(e, key)
  if methods[key] or fields[key] then
    return methods[key] or fields[key](e)
  elseif math.type(key) then
    cl.error("the elements of an Expression are not calculated yet; read them "
      .. "first: e:read()[1]")
  end
  cl.error(("an Expression has no field or method '%s'"):format(
    tostring(key)), {hint = "e:eval() gives a Buffer"})
end

function meta.__newindex(_, key)
  cl.error(("an Expression has no field '%s' to set"):format(tostring(key)))
end

function meta.__len(e)
  return e.dims.count
end

function meta.__tostring(e)
  return ("Expression %s[%s]"):format(e.kind.type,
    table.concat(e.dims, "]["))
end

-- What a launch takes for the expression: a Buffer, which is ready where the
-- launch is on another queue.
function meta.__buffer(e, wait)
  local b, event = methods.eval(e)
  if wait then
    event:wait()
  end
  return b
end

local of_arrays = {}

for name, operator in pairs(operators) do
  meta["__" .. name] = operator
  of_arrays["__" .. name] = operator
  of_buffer["__" .. name] = operator
end
for name, method in pairs(methods) do
  if name ~= "eval" and name ~= "read" then
    of_buffer[name] = method
  end
end
for _, name in ipairs{"axpy", "clone", "set"} do
  local method = of_buffer[name]
  of_buffer[name] = function(b, ...)
    if b == nil or not leaves[b] then
      argument.check("Buffer:" .. name, "self", b, "Buffer")
    end
    return method(b, ...)
  end
end
cl.extend("Buffer", of_buffer, true)
cl.extend("Array", of_arrays, true)

-- The numbers 0 .. n - 1, in a type.
function M.index(type, n, context)
  return convert("index", setmetatable({kind = kind_of("index", "long"),
    dims = layout.shape{n}, context = context, a = false, b = false,
    c = false, mark = false, id = 0}, meta), type)
end

M.is, M.methods = is_expression, methods

return M

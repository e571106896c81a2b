-- arrays/evaluate.lua - the elements of expressions: one kernel for each form,
-- into a new Buffer or a given one. Loading the file gives Buffers and Arrays
-- their operators and the methods that calculate element by element.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.method_names"
local results = require "clshell.base.result"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local M = {}

local MOST = 256 -- operations of one kernel
local ID = layout.ID

local leaves, meta = layout.leaves, expression.meta
local methods, operators = expression.methods, expression.operators
local operand, subject = expression.operand, expression.subject
local typed = expression.typed

-- A tree of the calculations so far. Each operation, with the numbers of its
-- operands, leads from a table to the next table; a Buffer leads one step
-- further where its elements do not match the result's elements one by one.
-- Calculations that end at one table differ in Buffers, numbers and places
-- alone, and share it.
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
  if leaf.dims ~= c.dims or not leaf.flat then
    at = next_of(at, "apart")
    c.places = c.places or {}
    c.places[#c.places + 1] = leaf.place
    b = leaf.start > 0 and cl.base(b) or b
  end
  local n = c.n + 1
  c.n, c.args[n] = n, b
  return at
end

-- Adds an expression to a calculation, its operands first. Returns the table
-- of the tree `alike` to which the expression leads. An operand of several
-- operations is calculated once.
local function visit(c, e, at)
  local x, y, z, mark, kind = e.a, e.b, e.c, c.mark, e.kind
  local key = kind.key
  if x then
    at = x.mark ~= mark and visit(c, x, at) or at
    key = key | x.id
    if y then
      at = y.mark ~= mark and visit(c, y, at) or at
      key = key | y.id << ID
      if z then
        at = z.mark ~= mark and visit(c, z, at) or at
        key = key | z.id << 2 * ID
      end
    end
  end
  local id = c.id + 1
  if id > MOST then
    cl.error(("an expression of more than %d operations and operands; "
      .. "evaluate a part first, with e:eval()"):format(MOST))
  end
  c.id, e.mark, e.id = id, mark, id
  local found = at[key]
  if not found then
    found = {}
    at[key] = found
  end
  if kind.op == "leaf" then
    layout.check_open(e)
    c.aliased = c.aliased or c.out and e ~= c.out and layout.clash(c.out, e)
    return add_leaf(c, e, found)
  elseif kind.op == "constant" then
    local n = c.n + 1
    c.n, c.args[n] = n, e.value
  end
  return found
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

-- evaluate.add_parts(c, list) -> list
-- Adds the Buffers and numbers of the expression of a calculation to the parts
-- of its kernel, see fused.lua.
function M.add_parts(c, list)
  for _, e in ipairs(nodes(c.expression, {}, {})) do
    if e.kind.op == "leaf" then
      list[#list + 1] = {leaf = e, name = "t" .. e.id, load = true}
    elseif e.kind.op == "constant" then
      list[#list + 1] = {type = e.kind.type, name = "t" .. e.id}
    end
  end
  return list
end

-- By operation, OpenCL C for operands a, b and c and a result r of type T; U
-- is the unsigned type of T's size. Whole numbers are divided as in Lua; a
-- division by zero gives 0, as it could end the process. They wrap: C leaves
-- an overflow of signed numbers open, and a compiler may take it for
-- impossible, hence U.
local TEXT = {
  index = "i", pown = "pown((T)a, b)", where = "a != 0 ? (T)b : (T)c",
  div = "(T)a / (T)b", pow = "pow((T)a, (T)b)", pair = "b", bnot = "~a",
  band = "a & b", bor = "a | b", bxor = "a ^ b",
  shl = "(T)((U)a << (b & (8 * sizeof(T) - 1)))",
  shr = "(T)a >> (b & (8 * sizeof(T) - 1))",
}
local REAL = {
  add = "a + b", sub = "a - b", mul = "a * b", unm = "-a",
  abs = "fabs(a)", fmin = "fmin((T)a, (T)b)", fmax = "fmax((T)a, (T)b)",
  clamp = "fmin(fmax((T)a, (T)b), (T)c)", idiv = "floor((T)a / (T)b)",
  mod = "fmod((T)a, (T)b); if (r != 0 && (r < 0) != (b < 0)) r += b",
}
local INTEGER = {
  add = "(T)((U)a + (U)b)", sub = "(T)((U)a - (U)b)",
  mul = "(T)((U)a * (U)b)", unm = "(T)(0 - (U)a)",
  abs = "a < 0 ? (T)(0 - (U)a) : (T)a",
  fmin = "min((T)a, (T)b)", fmax = "max((T)a, (T)b)",
  clamp = "min(max((T)a, (T)b), (T)c)",
  idiv = "0; T x = a, y = b; if (y == (T)-1 && y < 0) r = (T)(0 - (U)x); "
    .. "else if (y != 0) r = x / y - (x % y != 0 && (x < 0) != (y < 0))",
  mod = "0; T x = a, y = b; if (y != 0 && (y != (T)-1 || y > 0)) r = x % y; "
    .. "if (r != 0 && (r < 0) != (y < 0)) r += y",
}

for name, sign in pairs(names.compare) do
  TEXT[name] = ("a %s b"):format(sign)
end
for _, lists in ipairs{names.math, names.integers} do
  for n, list in ipairs(lists) do
    for _, name in ipairs(list) do
      TEXT[name] = ("%s((T)a%s%s)"):format(name, n > 1 and ", (T)b" or "",
        n > 2 and ", (T)c" or "")
    end
  end
end
-- Floats carry the values of halves; a conversion to half rounds such a float,
-- or a double, once.
local HALF = "0; ushort h; vstore_half(%sa, 0, (half *)&h); "
  .. "r = vload_half(0, (half *)&h)"
-- The same for elements that kernels lack: a float between, whose last bit
-- stands for digits cut off.
local BITS = "0; float f = convert_float_rtz(a); if ((A)f != a) "
  .. "f = as_float(as_uint(f) | 1); r = load_%s(store_%s(f))"
local UNSIGNED = {int = "uint", uint = "uint", long = "ulong",
  ulong = "ulong"}
local TESTS = {}
for _, name in ipairs(names.tests) do
  TESTS[name] = true
  TEXT[name] = ("%s((T)a) != 0"):format(name)
end

-- The statement that calculates an expression from its operands. Each of them
-- has a variable, whose name is the letter t and the `id`. A NaN becomes
-- 0 by a test: NVIDIA's convert_T_sat gives the highest bit of T where 64 bits
-- take part.
local function statement(e)
  local op, type = e.kind.op, e.kind.type
  local is_real, T = types.known[type].real, types.calculated(type)
  local code, inner = TEXT[op] or (is_real and REAL or INTEGER)[op], T
  if op == "to" then
    code = types.known[e.a.kind.type].real and not is_real
      and ("a != a ? (T)0 : convert_%s_sat(a)"):format(T) or type == "half"
      and HALF:format(e.a.kind.type == "double" and "" or "(T)")
      or types.bits(type) and BITS:format(type, type) or "(T)a"
  elseif TESTS[op] then
    inner = types.calculated(types.real(op, e.a.kind.type))
  elseif op == "pow" and (types.known[e.b.kind.type].high or 0) > 1 << 24 then
    code = code .. "; if (b & 1) r = copysign(r, (T)a)" -- T may round b
  end
  local words = {T = inner, U = UNSIGNED[inner],
    A = op == "to" and types.calculated(e.a.kind.type)}
  for name in ("abc"):gmatch "." do
    words[name] = e[name] and "t" .. e[name].id
  end
  code = code:gsub("%f[%w_]%a%f[^%w_]", words)
  local form = code:find ";" and "  T tN; { T r = C; tN = r; }"
    or "  T tN = C;"
  return (form:gsub("%u", {T = T, N = ("%d"):format(e.id), C = code}))
end

-- evaluate.body(c, result) -> OpenCL C
-- The statements that calculate the expression, and a last statement,
-- `result`, in which "%s" stands for the value.
function M.body(c, result)
  local lines = {}
  for _, e in ipairs(nodes(c.expression, {}, {})) do
    local op = e.kind.op
    lines[#lines + 1] = op ~= "leaf" and op ~= "constant" and statement(e)
      or nil
  end
  lines[#lines + 1] = result:format("t" .. c.expression.id)
  return table.concat(lines, "\n")
end

local marks = 0

-- evaluate.collect(c, known) -> table
-- Adds the Buffers and numbers of the expression of a calculation to its
-- arguments. Returns the table to which they lead from the table `known`, in a
-- tree such as `alike`.
function M.collect(c, known)
  marks = marks + 1
  c.mark, c.id = marks, 0
  return visit(c, c.expression, known)
end

local function parts(c)
  return M.add_parts(c, {{leaf = c.out, name = "out", store = true}})
end

local function body(c)
  return M.body(c, "  out = %s;")
end

-- The calculation of an expression into the Buffer of a leaf.
local function calculation(e, out)
  layout.check_open(out)
  local c = {name = "expression", known = false, context = out.context,
    dims = out.dims, places = false, args = {out.dims.count, nil, nil, nil},
    n = 1, parts = parts, body = body, out = out, expression = e, mark = 0,
    id = 0, aliased = false}
  c.known = M.collect(c, add_leaf(c, out, next_of(alike, out.kind)))
  return c
end

local MOVED = {float = true, double = true, half = true}
local TILES = 1 << 16 -- elements from which on tiles pay

-- Whether a calculation only transposes a whole Buffer of rows and columns.
local function is_transpose(c)
  local e, out = c.expression, c.out
  local from = e.kind.op == "leaf" and #e.dims == 2 and leaves[e.buffer]
  return from and MOVED[e.kind.type] and e.dims.count >= TILES
    and e.kind == out.kind and leaves[out.buffer] == out and not e.by
    and #from.dims == 2 and from.start == 0 and e.start == 0
    and out.start == 0 and e.dims[1] == from.dims[2]
    and e.dims[2] == from.dims[1] and e.strides[1] == 1
    and e.strides[2] == from.strides[1]
end

-- Runs a calculation; returns the event. A transpose goes to the tiles of
-- family transpose: loads with strides would take many times as long.
local function run(c)
  if not is_transpose(c) then
    return fused.run(c)
  end
  local transpose, from = require "clshell.ladders.transpose", c.expression
  if results.taken(1) then
    return select(2, transpose(from.buffer, {B = c.out.buffer}))
  end
  transpose(from.buffer, {B = c.out.buffer})
end

--- Expression:eval() -> Buffer, Event
--- A new Buffer with the elements, which one launch calculates, and the event
--- of the launch. It does not wait.
--- Example:
--- local x = cl.arange(1, 4)
--- local y = (2 * x + 1):eval()
--- print(y, y:read()[4]) --> Buffer int[4] 9
function methods.eval(x)
  x = subject("eval", x)
  local b = layout.new(x.kind.type, x.dims, x.context)
  return b, results.call(results.taken(2), run,
    calculation(x, layout.leaf(b)))
end

--- Expression:read([dst] [, opts]) -> Array
--- The elements on the host. Options as for Buffer:read.
--- Example:
--- local x = cl.arange(1, 4)
--- print((x * x):read()[3]) --> 9
function methods.read(x, ...)
  local b <close> = methods.eval(x)
  return b:read(...)
end

-- The operand of a Buffer or an Array, or of a view, to set its elements.
local function target(what, x)
  local leaf = leaves[x]
  if leaf and types.known[leaf.kind.type] then
    return leaf
  end
  x = layout.scalar(what, expression.viewed(what, x))
  if x.kind.op ~= "leaf" then
    cl.error(("%s: a calculation has no elements to set; got %s; a Buffer and "
      .. "its slices have"):format(what, tostring(x)))
  end
  return x
end

-- Sets the elements of a target on the device; returns the event.
local function store(e, out)
  local c = calculation(e, out)
  if not c.aliased then
    return run(c)
  end
  local copy = layout.new(out.kind.type, out.dims, out.context)
  local _ <close> = results.temporary(copy)
  run(calculation(e, layout.leaf(copy)))
  return run(calculation(layout.leaf(copy), out))
end

-- evaluate.in_array(out, context, set) -> result
-- Copies the Array of an operand to the device, runs set(operand there), and
-- copies the elements back to the Array.
function M.in_array(out, context, set)
  local there = layout.on_device(out, context)
  local b <close> = there.buffer
  local result = set(there)
  b:read(out.buffer)
  return result
end

--- Buffer:set(value) -> Event
--- Sets the elements to a number, or to the elements of an Expression, a
--- Buffer or an Array, whose shape broadcasts; slices have it too. One launch
--- does it, and the call does not wait; a target that the expression also
--- reads at other places gets a copy of the result. The conversion is C's
--- assignment, but a real into integers and 64 bits into fewer are errors: say
--- astype. For an Array, or a slice of an Array, a copy on the device is set
--- and read back, and the call waits for that; Array:set returns the Array.
--- Example:
--- local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
function methods.set(x, value, more)
  local out = target("set", x)
  if more ~= nil then -- Array:set(i, x) sets one element
    cl.error("set takes 1 operand besides x, for all elements: x:set(y)",
      {hint = "a part is x:slice(i, j):set(y)"})
  end
  local own, number = out.kind.type, type(value) == "number"
  if number and not types.known[own].real then
    value = math.tointeger(value) or cl.error(("set: elements of %s take "
      .. "whole numbers; got %s"):format(own, value))
  end
  local e = number and typed("set", value, out)
    or operand("set", value, out.context or nil)
  types.check_store("set", e.kind.type, own)
  if number and not expression.is(x) then
    return x:fill(value)
  end
  if e.kind.type == "double" and own == "half"
      or types.bits(own) and e.kind.type ~= own then
    e = methods.astype(value, own) -- a float between would round it twice
  end
  if e.dims and layout.broadcast("set", e.dims, out.dims) ~= out.dims then
    cl.error(("set: the expression has shape %s, the target has "
      .. "shape %s"):format(e.dims.text, out.dims.text))
  elseif not out.context then
    return M.in_array(out, e.context, function(there)
      return store(e, there)
    end)
  elseif e.dims then
    layout.check_context("set", e, out)
  end
  return store(e, out)
end

--- Buffer:axpy(a, x) -> Event
--- y = a * x + y in one launch, for a number or an operand a. An Array has the
--- method too, and is the result.
--- Example:
--- local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
function methods.axpy(y, a, x)
  target("axpy", y)
  if type(a) == "number" then
    expression.viewed("axpy", x)
  end
  return methods.set(y, operators.add(operators.mul(a, x), y))
end

--- Expression:reshape(shape) -> Buffer
--- A new Buffer with the elements under another shape; Buffer:reshape copies
--- nothing.
--- Example:
--- local x = cl.arange(1, 6)
--- print((2 * x):reshape{2, 3}:read():at(2, 1)) --> 8
function methods.reshape(x, ...)
  local b = methods.eval(x)
  return b:reshape(...)
end

--- Buffer:clone() -> Buffer
--- A new Buffer of the same type and shape with the same elements. An
--- Expression has the method too; for an Array it is Array:copy.
--- Example:
--- local x = cl.arange(1, 4)
--- local y = x:clone()
function methods.clone(x)
  local b = methods.eval(x)
  return b
end

local function clone(b)
  local copy = layout.new(b.type, b.shape, b.context)
  b:copy(copy)
  return copy
end

-- The fields that an expression calculates.
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
  local word = names.of_numpy("Expression", key)
  local near = not word and type(key) == "string"
    and cl.nearest(key, text.keys(methods))
  cl.error(("an Expression has no field or method '%s'%s"):format(
    tostring(key), word and "; here it is " .. word
    or near and ("; did you mean '%s'?"):format(near) or ""),
    {hint = e.kind.op == "leaf"
      and "e:set(x) sets its elements; e:eval() gives a Buffer, a copy"
      or "e:eval() gives a Buffer"})
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

-- The Buffer that a launch takes for the expression; `wait` waits for its
-- elements, for a launch on another queue. `written` names a parameter that
-- the kernel may write to: the copy of a slice does not serve there.
function meta.__buffer(e, wait, written)
  if written and e.kind.op == "leaf" then
    cl.error(written .. " is no pointer to const: what the kernel writes to "
      .. "the copy of a slice would be lost", {hint = "e:eval() is a copy to "
      .. "read, b:view(first, last) memory to write"})
  end
  if not wait then
    return (methods.eval(e))
  end
  local b, event = methods.eval(e)
  event:wait()
  return b
end

for name, operator in pairs(operators) do
  meta["__" .. name] = operator
end

-- Methods of Buffers that differ from an Expression's: they check the Buffer.
local of_buffer = {}
for name, method in pairs{axpy = methods.axpy, clone = clone,
    set = methods.set} do
  of_buffer[name] = function(b, ...)
    if b == nil or not leaves[b] then
      argument.check("Buffer:" .. name, "self", b, "Buffer")
    end
    return method(b, ...)
  end
end

expression.publish("evaluate", {Buffer = of_buffer, Array = {
  axpy = function(h, ...)
    methods.axpy(h, ...)
    return h
  end,
  clone = function(h)
    return h:copy()
  end,
}})
M.set = methods.set

return M

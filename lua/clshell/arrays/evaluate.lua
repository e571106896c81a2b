-- arrays/evaluate.lua - the elements of expressions: one kernel for each form,
-- into a new Buffer or a given one. Gives Buffers and Arrays their operators
-- and methods.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local onhost = require "clshell.arrays.onhost"
local recording = require "clshell.base.recording"
local statement = require "clshell.arrays.statement"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"
local words = require "clshell.arrays.words"
require "clshell.arrays.views"

local M = {}

local MOST = 256 -- operations of one kernel
local ID = layout.ID

local leaves, meta = layout.leaves, expression.meta
local methods, operators = expression.methods, expression.operators
local operand, subject = expression.operand, expression.subject
local typed = expression.typed

-- Calculations that begin alike, by what follows: operations with the numbers
-- of their operands, and for Buffers whether their elements are, one by one,
-- those of the result. The last table is that of all calculations alike.
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
    b = leaf.start > 0 and c.context ~= layout.HOST and cl.base(b) or b
  end
  local n = c.n + 1
  c.n, c.args[n] = n, b
  return at
end

-- Adds an expression to a calculation, its operands first; returns the table
-- of those that agree so far. An operand of several is calculated once.
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
-- Adds what the expression of a calculation reads to the parts of its kernel,
-- see fused.lua.
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

-- evaluate.body(c, result) -> OpenCL C
-- The statements that calculate the expression, and a last one, `result`, in
-- which "%s" stands for its value.
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
-- arguments. Returns the table of all that agree, of those under `known`.
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

-- Whether a calculation is a whole Buffer of rows and columns transposed.
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

-- Calculates; returns the event, of Arrays none. Loads with strides would take
-- many times as long as the tiles of family transpose.
local function run(c)
  if c.context == layout.HOST then
    return onhost(c.expression, c.out, nodes(c.expression, {}, {}))
  elseif is_transpose(c) then
    local _, event = require "clshell.ladders.transpose"(c.expression.buffer,
      {B = c.out.buffer})
    return event
  end
  return fused.run(c)
end

--- Expression:eval() -> Buffer, Event
--- A new Buffer with the elements, which one launch calculates, and the event
--- of the launch. It does not wait. Of Arrays: a new Array.
--- Example:
--- local x = cl.arange(1, 4)
--- local y = (2 * x + 1):eval()
--- print(y, y:read()[4]) --> Buffer int[4] 9
function methods.eval(x)
  x = subject("eval", x)
  local b = layout.new(x.kind.type, x.dims, x.context)
  return b, run(calculation(x, layout.leaf(b)))
end

--- Expression:read([dst] [, opts]) -> Array
--- The elements on the host. Options as for Buffer:read.
--- Example:
--- local x = cl.arange(1, 4)
--- print((x * x):read()[3]) --> 9
function methods.read(x, ...)
  if subject("read", x).context == layout.HOST then
    local h = ... or layout.new(x.kind.type, x.dims, x.context)
    methods.set(h, x)
    return h
  end
  local b <close> = methods.eval(x)
  return b:read(...)
end

-- What can be set: a Buffer, or a view of one.
local function target(what, x)
  local leaf = leaves[x]
  if leaf and types.known[leaf.kind.type] then
    return leaf
  end
  x = layout.scalar(what, subject(what, x))
  if x.kind.op ~= "leaf" then
    cl.error(("%s: a calculation has no elements to set; got %s; a Buffer and "
      .. "its slices have"):format(what, tostring(x)))
  end
  return x
end

--- Buffer:set(value) -> Event
--- Sets the elements to those of an expression or a Buffer, which broadcasts
--- to the shape, or to a number; slices have it too. One launch, which is not
--- waited for; a target that the expression also reads at other places gets a
--- copy of the result. The conversion is C's assignment, but a real into
--- integers and 64 bits into fewer are errors: say astype.
--- Example:
--- local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
--- y:set(2 * x + y)
--- print(y:read()[1]) --> 12
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
  local e = number and typed("set", value, out) or operand("set", value)
  types.check_store("set", e.kind.type, own)
  if number and text.class(x) == "Buffer" then
    return x:fill(value)
  end
  if e.kind.type == "double" and out.kind.type == "half" then
    e = methods.astype(value, "half") -- a float between would round it twice
  end
  if e.dims and layout.broadcast("set", e.dims, out.dims) ~= out.dims then
    cl.error(("set: the shape %s of the expression is not that of the "
      .. "target, %s"):format(e.dims.text, out.dims.text))
  elseif e.dims then
    layout.check_context("set", e, out, out.context == layout.HOST
      and "b:read(h) copies a Buffer to an Array"
      or "b:write(h) copies an Array to a Buffer")
  end
  local c = calculation(e, out)
  if not c.aliased then
    return run(c)
  end
  local copy = layout.new(out.kind.type, out.dims, out.context)
  local _ <close> = recording.temporary(copy)
  run(calculation(e, layout.leaf(copy)))
  return run(calculation(layout.leaf(copy), out))
end

--- Buffer:axpy(a, x) -> Event
--- y = a * x + y in one launch, for a number or an operand a.
--- Example:
--- local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
--- y:axpy(2, x)
--- print(y:read()[4]) --> 18
function methods.axpy(y, a, x)
  target("axpy", y)
  if type(a) == "number" then
    expression.subject("axpy", x)
  end
  return methods.set(y, operators.add(operators.mul(a, x), y))
end

-- The methods that Buffers have besides, and those that they have not.
local of_buffer = {}
local OWN = {clone = true, eval = true, read = true, reshape = true}

--- Expression:reshape(shape) -> Buffer
--- A new Buffer with the elements under another shape; that of a Buffer, which
--- is no copy, is Buffer:reshape.
--- Example:
--- local x = cl.arange(1, 6)
--- print((2 * x):reshape{2, 3}:read():at(2, 1)) --> 8
function methods.reshape(x, ...)
  local b = methods.eval(x)
  return b:reshape(...)
end

--- Buffer:clone() -> Buffer
--- A new Buffer of the same type and shape with the same elements; an
--- Expression has it too.
--- Example:
--- local x = cl.arange(1, 4)
--- local y = x:clone()
--- x:fill(0)
--- print(y:read()[4]) --> 4
function of_buffer.clone(b)
  local copy = layout.new(b.type, b.shape, b.context)
  b:copy(copy)
  return copy
end

function methods.clone(x)
  local b = methods.eval(x)
  return b
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
  local word = words("Expression", key)
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

-- What a launch takes for the expression: a Buffer, which is ready where the
-- launch is on another queue. `written`: words for a parameter that the
-- kernel may write to, for which the copy of a slice does not serve.
function meta.__buffer(e, wait, written)
  if e.context == layout.HOST then
    cl.error(("a launch takes Buffers; got an %s of Arrays"):format(
      tostring(e)), {hint = "cl.buffer(e.type, e.shape, e:eval())"})
  elseif written and e.kind.op == "leaf" then
    cl.error(written .. " is no pointer to const: what the kernel writes to "
      .. "the copy of a slice would be lost", {hint = "e:eval() is a copy to "
      .. "read, b:view(first, last) memory to write"})
  end
  local b, event = methods.eval(e)
  if wait then
    event:wait()
  end
  return b
end

-- Arrays have a `set` of their own, which calls this one for all elements.
local of_array = {clone = methods.clone}

for name, operator in pairs(operators) do
  meta["__" .. name] = operator
  of_array["__" .. name] = operator
  of_buffer["__" .. name] = operator
end
for name, method in pairs(methods) do
  if not OWN[name] then
    of_buffer[name] = method
    of_array[name] = name ~= "set" and method or nil
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
cl.extend("Array", of_array, true)

return M

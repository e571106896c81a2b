-- array/evaluate.lua - the elements of expressions: one kernel for each form,
-- into a new Buffer or a given one. Gives Buffers and Arrays their operators
-- and methods.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local expression = require "clshell.array.expression"
local fused = require "clshell.array.fused"
local integer = require "clshell.base.integer"
local layout = require "clshell.array.layout"
local statement = require "clshell.array.statement"
local text = require "clshell.base.text"
local types = require "clshell.array.types"

local MOST = 256 -- operations of one kernel

local leaves, meta = layout.leaves, expression.meta
local methods, operators = expression.methods, expression.operators
local operand, subject = expression.operand, expression.subject

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
    layout.check_open(e)
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
  layout.check_open(out)
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
  for d, size in ipairs(x.dims) do
    by[d] = integer.check("shift", "a distance", given[d]) % size
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
  if e.kind.type == "double" and out.kind.type == "half" then
    e = methods.astype(value, "half") -- a float between would round it twice
  end
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

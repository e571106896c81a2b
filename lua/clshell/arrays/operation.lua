-- arrays/operation.lua - the operations of reductions and scans, as OpenCL C,
-- and the launch of their kernels along the rows of an expression
-- An operation has
--   key       text that no other operation has
--   result    type of the result
--   cell      scalar type of a value in between, acc_ in the kernels
--   declare   OpenCL C that declares acc_ where it is a struct, of 16 bytes
--   make      acc_ of element `x`, the k-th, from 0
--   combine   acc_ of two acc_, `a` and `b`
--   identity  acc_ that changes no other acc_
--   nothing   the result of no elements, a number or OpenCL C; nil: none
--   last      the result of acc_ `s_`
-- Reductions and scans go along rows: all elements are one row, or the
-- elements along a dimension are. A shape g is {outer, many, inner}, see
-- layout.part. Element i of row r is number (r // inner * many + i) * inner +
-- r % inner.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local evaluate = require "clshell.arrays.evaluate"
local fused = require "clshell.arrays.fused"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"

local M = {}

--- operation.wide(type) -> type
--- The type of a sum: integers have 64 bits.
function M.wide(type)
  local known = types.known[type]
  return known.real and types.calculated(type)
    or known.low < 0 and type ~= "ulong" and "long" or "ulong"
end

-- The names of a type's least and greatest numbers in OpenCL C.
local BOUNDS = {char = "SCHAR_", uchar = "UCHAR_", short = "SHRT_",
  ushort = "USHRT_", int = "INT_", uint = "UINT_", long = "LONG_",
  ulong = "ULONG_"}

-- The greatest number of a type, or the least, as OpenCL C.
local function bound(type, least)
  local name = BOUNDS[type]
  return not name and (least and "-INFINITY" or "INFINITY")
    or least and type:find "^u" and "0" or name .. (least and "MIN" or "MAX")
end

-- The sum of elements of a type: integers wrap, and -0.0 changes no real.
local function sum(type)
  local cell = M.wide(type)
  local real = types.known[cell].real
  return {result = cell, cell = cell, make = "(acc_)(x)",
    combine = real and "a + b" or "(acc_)((ulong)a + (ulong)b)",
    identity = real and "-0.0f" or "0", nothing = 0, last = "s_"}
end

-- The lesser or the greater of two elements; a NaN wins over any number.
local function extreme(sign)
  return function(type)
    return {result = type, cell = types.calculated(type), make = "x",
      combine = ("b %s a || b != b ? b : a"):format(sign),
      identity = bound(type, sign == ">"), last = "s_"}
  end
end

-- The place of the least or the greatest element, from 1; the first of equal
-- elements wins.
local function place(sign)
  return function(type)
    local cell = types.calculated(type)
    return {result = "long", cell = cell,
      declare = ("typedef struct {\n  %s x;\n  long k;\n} acc_;"):format(cell),
      make = "(acc_){x, k}",
      combine = ("(b.x != b.x) != (a.x != a.x)\n    ? (b.x != b.x ? b : a)\n"
        .. "    : b.x %s a.x || (!(a.x %s b.x) && b.k < a.k) ? b : a"):format(
        sign, sign),
      identity = ("(acc_){%s, LONG_MAX}"):format(bound(type, sign == ">")),
      last = "s_.k + 1"}
  end
end

local function truth(sign, identity)
  return function()
    return {result = "int", cell = "int", make = "(x) != 0",
      combine = ("a %s b"):format(sign), identity = identity,
      nothing = tonumber(identity), last = "s_"}
  end
end

local OPERATIONS = {sum = sum, min = extreme "<", max = extreme ">",
  argmin = place "<", argmax = place ">", any = truth("|", "0"),
  all = truth("&", "1")}

local made = {} -- operations by key

--- operation.of(name, type) -> operation
--- The operation sum, min, max, argmin, argmax, any or all.
function M.of(name, type)
  local key = name .. " " .. type
  local op = made[key]
  if not op then
    op = OPERATIONS[name](type)
    op.key = key
    made[key] = op
  end
  return op
end

-- The identity of a call as OpenCL C, for values of type `cell`.
local function literal(what, value, cell)
  if type(value) ~= "number" then
    if type(value) ~= "string" then
      cl.error(("%s: identity must be a number or OpenCL C; got %s"):format(
        what, text.got(value)), {arg = "identity", hint = "what changes "
        .. 'nothing: 0 for "a + b", 1 for "a * b", "-INFINITY" for "fmax(a, '
        .. 'b)"'})
    end
    return value
  elseif not types.known[cell].real and not types.fits(value, cell) then
    cl.error(("%s: the identity %s does not fit %s"):format(what, value, cell))
  elseif math.type(value) == "integer" then
    return value == math.mininteger and "LONG_MIN"
      or ("(acc_)(%dL)"):format(value)
  end
  return value ~= value and "NAN" or value == math.huge and "INFINITY"
    or value == -math.huge and "-INFINITY" or ("(acc_)%.17g"):format(value)
end

--- operation.own(what, opts, type) -> operation
--- The operation of the options `op` and `identity` of a call, for elements of
--- a type.
function M.own(what, opts, type)
  local code = argument.check(what, "op", opts.op, "string",
    '{op = "a * b", identity = 1}')
  local name = code:match "^%a[%w_]+$"
  if name then
    cl.error(('%s: op must combine a and b; got "%s"'):format(what, name),
      {arg = "op", hint = ('{op = "%s(a, b)", identity = ...}'):format(name)})
  end
  local cell = types.calculated(types.promoted(type))
  local identity = literal(what, opts.identity, cell)
  local key = ("%s\0%s\0%s"):format(cell, code, identity)
  local op = made[key]
  if not op then
    op = {key = key, result = cell, cell = cell, make = "(acc_)(x)",
      combine = code, identity = identity, nothing = opts.identity,
      last = "s_"}
    made[key] = op
  end
  return op
end

-- The text of acc_, make_ and combine_.
local function declare(c)
  local op = c.op
  return ([[
%s
#define make_(x, k) (%s)
static acc_ combine_(acc_ a, acc_ b)
{
  return %s;
}]]):format(op.declare or ("typedef %s acc_;"):format(op.cell), op.make,
    op.combine)
end

--- operation.CHAIN
--- Elements that a work-item of a GPU takes one after another, at most.
M.CHAIN = 64

local NARROW = 16 -- columns: of fewer columns, each has a work-group

--- operation.way(g) -> "columns", "short" or "long"
--- The way along rows: "columns" where neighbours are in other rows, else
--- "short" where a row is short enough for a work-item.
function M.way(g)
  return g.inner >= NARROW and "columns" or g.many <= M.CHAIN and "short"
    or "long"
end

--- operation.left(g, pieces, way) -> g
--- The shape of the results of pieces, one for each piece of a row: columns
--- where neighbours are pieces of different rows, else rows of their own.
function M.left(g, pieces, way)
  local columns = way.item or way.lanes
  return {outer = columns and g.outer or g.outer * g.inner, many = pieces,
    inner = columns and g.inner or 1}
end

--- operation.words(g) -> start, at
--- As OpenCL C, for kernels with an argument n and a number inner_: where row
--- `row` starts, and the number of element `i` of the row from `start` on.
function M.words(g)
  if g.inner == 1 then
    return "((row) * n)", "((start) + (i))"
  end
  return "((row) / inner_ * n * inner_ + (row) % inner_)",
    "((start) + (i) * inner_)"
end

-- The parts of a calculation: SOURCE is the expression, or the Buffer with the
-- results of the launch before, and inner_.
local OWN = {own = true}

local function parts(c)
  local list = c.expression and evaluate.add_parts(c, {})
    or {{type = "global const acc_ *", name = "from_"}}
  list[#list + 1] = {type = "ulong", name = "inner_"}
  for _ = 1, c.own do
    list[#list + 1] = OWN
  end
  return list
end

local function body(c)
  return c.expression and evaluate.body(c, "  return %s;")
    or "  return from_[i1_];"
end

local function range(c)
  return c.groups * c.group, c.group
end

-- By operation, file and form: the tree of evaluate.collect, and the `known`
-- of launches that combine results.
local alike = {}

--- operation.run(c, form, from, ...) -> Event
--- Launches a kernel along the rows, of shape c.g, of c.expression, or else of
--- the Buffer `from` with results of a launch before. A calculation of
--- fused.lua, with name, words, context; `op`, its operation; `group`, the
--- work-items of a work-group; `pieces`, the parts of a row; and `way`:
---   file   the kernel's
---   own    the names of its arguments behind SOURCE; the other ones follow
---   one    a work-group is one work-item
---   item   a work-item has a piece, its neighbour a piece of the next row
---   lanes  so many neighbours, in a work-item of their own
--- form: a text for whatever else the kernel depends on.
function M.run(c, form, from, ...)
  local e, g, way = c.expression, c.g, c.way
  local rows = g.outer * g.inner
  local count = e and e.dims.count or rows * g.many
  c.type = e and types.calculated(e.kind.type) or "acc_"
  c.dims, c.places = e and e.dims or {count = count}, false
  c.file, c.parts, c.body, c.declare = way.file, parts, body, declare
  c.range, c.groups = range, way.item and tiling.groups(rows * c.pieces,
    c.group) or g.outer * c.pieces * tiling.groups(g.inner, way.lanes or 1)
  c.args, c.n = {count}, 1
  local key = ("%s %s %s %s"):format(c.op.key, way.file, g.inner == 1
    and "" or "inner", form)
  alike[key] = alike[key] or {{}, {}}
  if e then
    c.known = evaluate.collect(c, alike[key][1])
  else
    c.known, c.n, c.args[2] = alike[key][2], 2, from
  end
  local numbers = {many = g.many, inner = g.inner, rows = rows,
    pieces = c.pieces}
  local own = {g.inner}
  for k, name in ipairs(way.own) do
    own[k + 1] = numbers[name]
  end
  table.move({...}, 1, select("#", ...), #own + 1, own)
  table.move(own, 1, #own, c.n + 1, c.args)
  c.own, c.n = #own - 1, c.n + #own
  return fused.run(c)
end

return M

-- arrays/gather.lua - gather, scatter and compact: methods that move elements
-- from or to the places that an index or a mask tells
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local evaluate = require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local result = require "clshell.base.result"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods, subject = expression.methods, expression.subject
local subjects = expression.subjects

local alike = {gather = {}, scatter = {}} -- by type, as in evaluate.lua

-- Launches a calculation of an expression with the memory of a leaf, whose
-- elements lie without gaps: `memory_`, from begin_ on, limit_ elements.
local function run(c, leaf, e)
  local b, list, type = leaf.buffer, alike[c.name], leaf.kind.type
  layout.check_context(c.name, e, leaf)
  list[type] = list[type] or {}
  c.expression, c.dims, c.context, c.places = e, e.dims, leaf.context, false
  c.args = {e.dims.count, leaf.start > 0 and cl.base(b) or b, leaf.start,
    leaf.dims.count}
  c.n = 4
  if c.to then
    c.n, c.args[5] = 5, c.to.buffer
  end
  function c.parts()
    return evaluate.add_parts(c, {
      {type = ("global %s *"):format(type), name = "memory_"},
      {type = "ulong", name = "begin_"}, {type = "ulong", name = "limit_"},
      c.to and {leaf = c.to, name = "out", store = true}})
  end
  c.known = evaluate.collect(c, list[type])
  if c.aliased then
    return false
  end
  return fused.run(c)
end

-- What happens at an index that is outside and not checked.
local OUTSIDE = {gather = "gives 0 for", scatter = "leaves out"}

-- The indices of a call: a list becomes a Buffer.
local function listed(what, index, context)
  if type(index) == "number" or index == nil then
    cl.error(("%s: the indices must be a list, a Buffer or an Array of "
      .. "integers; got %s"):format(what, text.got(index)),
      {hint = index and ("for one element: {%s}"):format(index) or nil})
  elseif type(index) ~= "table" or expression.is(index) then
    return index
  elseif #index == 0 and next(index) ~= nil then
    cl.error(("%s: the indices must be a list; got a table with names"):format(
      what))
  end
  for k, i in ipairs(index) do
    argument.integer(what, ("index %d of the list"):format(k), i)
  end
  return cl.buffer("long", #index, index, {context = context or cl.context()})
end

-- Raises where an index is below 1 or above n.
local function check_indices(what, index, n)
  local wrong = index:lt(1) | index:gt(n)
  if wrong:any() then
    local k, h = wrong:argmax(), index:read()
    cl.error(("%s: index %d of the list must be from 1 to %d; got %d"):format(
      what, k, n, h:reshape(#h)[k]), {hint = ("indices count from 1; {check = "
      .. "false} %s indices outside"):format(OUTSIDE[what])})
  end
end

-- The two operands of a call on one device: x, and the indices, of type long.
local function indexed(what, x, index, opts)
  opts = options.check(opts, "Buffer:" .. what)
  x = expression.viewed(what, x)
  x, index = subjects(what, x, listed(what, index, x.context))
  types.integer(what .. ": an index", index.kind.type)
  index = methods.astype(index, "long")
  if opts.check ~= false then
    check_indices(what, index, x.dims.count)
  end
  return x, index
end

local function without_gaps(leaf)
  local ahead = 1
  for d = #leaf.dims, 1, -1 do
    if leaf.by or leaf.dims[d] > 1 and leaf.strides[d] ~= ahead then
      return false
    end
    ahead = ahead * leaf.dims[d]
  end
  return true
end

--- Buffer:gather(index [, opts]) -> Buffer
--- The elements whose numbers `index` has, from 1 in the order of reading, as
--- a Buffer of its shape: `x:gather(order)`, or a list, `x:gather{3, 1}`. An
--- index that x does not have is an error, for which the host waits.
--- Options:
---   check  true  false: waits for nothing; 0 for an index x does not have
--- Example:
--- local x = cl.arange(10, 40, 10)
--- print(x:gather{4, 1}:read()[1], x:gather(x // 10):read()[2]) --> 40 20
function methods.gather(x, index, opts)
  local e
  e, index = indexed("gather", x, index, opts)
  if e.kind.op ~= "leaf" or not without_gaps(e) then
    local copy = methods.eval(e)
    local _ <close> = result.temporary(copy)
    return methods.gather(copy, index, {check = false})
  end
  local type = e.kind.type
  local out = layout.new(type, index.shape, e.context)
  run({name = "gather", to = layout.leaf(out), body = function(c)
    return evaluate.body(c, ("  ulong at_ = %%s - 1;\n"
      .. "  out = at_ < limit_ ? %s : 0;"):format(type == "half"
      and "vload_half(begin_ + at_, memory_)" or "memory_[begin_ + at_]"))
  end}, e, index)
  return out
end

-- Sets the elements with the numbers in `index`, and leaves out numbers that
-- the Buffer does not have. False where the operands read elements of the same
-- Buffer: a work-item may find them set by another one already.
local function put(b, index, values)
  local type, leaf = b.type, layout.leaf(b)
  local anywhere = setmetatable({place = ""}, {__index = leaf})
  local e = expression.node("scatter", "pair", values.kind.type, index, values)
  return run({name = "scatter", out = anywhere, body = function(c)
    local pair = c.expression
    return evaluate.body(c, ("  ulong at_ = t%d - 1;\n"
      .. "  if (at_ < limit_) %s;"):format(pair.a.id, type == "half"
      and "vstore_half(%s, begin_ + at_, memory_)"
      or "memory_[begin_ + at_] = %s"))
  end}, leaf, e)
end

-- The values of a call as an operand; raises where the shape is not the shape
-- of the indices.
local function valued(b, index, values)
  if type(values) == "number" then
    values = not types.known[b.type].real and math.tointeger(values) or values
    types.check_store("scatter", types.constant("scatter", values, b.type),
      b.type)
    local one = layout.new(b.type, {1}, b.context)
    one:fill(values)
    values = one
  elseif type(values) == "table" and not expression.is(values)
      and (math.type(values[1]) or index.dims.count + #values == 0) then
    values = cl.buffer(b.type, #values, values, {context = b.context})
  end
  local e, dims = subject("scatter", values, b.context), index.dims
  types.check_store("scatter", e.kind.type, b.type)
  if e.dims.count ~= 1 and e.dims ~= dims then
    cl.error(("scatter: the values must have the shape %s of the indices, or "
      .. "be one; got %s"):format(dims.text, e.dims.text))
  end
  layout.check_context("scatter", layout.leaf(b), e)
  return e
end

-- Sets elements of a Buffer; `index` and `values` are operands.
local function scatter(b, index, values)
  if not without_gaps(layout.leaf(b)) then
    local copy <close> = b:clone()
    scatter(copy, index, values)
    return b:set(copy)
  end
  return put(b, index, values)
    or put(b, layout.leaf((methods.eval(index))),
      layout.leaf((methods.eval(values))))
end

local function scatter_into(b, index, values, opts)
  local _
  _, index = indexed("scatter", b, index, opts)
  return scatter(b, index, valued(b, index, values))
end

--- Buffer:scatter(index, values [, opts]) -> Event
--- Sets the elements whose numbers `index` has, from 1 in the order of
--- reading, to the values, which have its shape or are one number;
--- `x:scatter({4, 1}, {9, 8})` takes lists: the reverse of gather. Of an index
--- that comes several times any value stays. An index that the Buffer does not
--- have is an error, for which the host waits. An Array has the method too,
--- and is the result: a copy on the device is set and read back.
--- Options:
---   check  true  false: waits for nothing, and leaves such indices out
--- Example:
--- local x = cl.arange(10, 40, 10)
local function in_buffer(b, ...)
  argument.check("Buffer:scatter", "self", b, "Buffer")
  return scatter_into(b, ...)
end

local function in_array(h, index, ...)
  argument.check("Array:scatter", "self", h, "Array")
  local rest = table.pack(...)
  local class = text.class(index)
  evaluate.in_array(layout.scalar("scatter", layout.leaf(h)),
    (class == "Buffer" or class == "Expression") and index.context or nil,
    function(there)
      scatter_into(there.buffer, index, table.unpack(rest, 1, rest.n))
    end)
  return h
end

--- Buffer:compact(mask) -> Buffer, count
--- The elements where the mask is not 0, one behind the other in the order of
--- reading, and their number: `x:compact(x:gt(0))`. The host waits for the
--- number.
--- Example:
--- local x = cl.arange(-2, 5)
--- local y, n = x:compact(x:gt(2))
--- print(n, y:read()[1]) --> 3 3
function methods.compact(x, mask)
  x, mask = subjects("compact", x, mask)
  if x.dims ~= mask.dims then
    cl.error(("compact: the mask must have the shape %s; got %s"):format(
      x.dims.text, mask.dims.text))
  end
  local taken, n = methods.ne(mask, 0), x.dims.count
  if n == 0 then
    return layout.new(x.kind.type, 0, x.context), 0
  end
  local places <close> = methods.scan(n < 1 << 31 and taken
    or methods.astype(taken, "long"), {op = "a + b", identity = 0})
  local last <close> = places:read{first = n, count = 1}
  local out = layout.new(x.kind.type, last[1], x.context)
  if #out > 0 then
    put(out, taken:where(places, 0), x)
  end
  return out, last[1]
end

expression.publish("gather", {Array = {scatter = in_array},
  Buffer = {scatter = in_buffer}})

return {}

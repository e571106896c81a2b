-- arrays/places.lua - methods that move elements to or from places which other
-- elements tell: gather, scatter and compact
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local evaluate = require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local host = require "cl.host"
local integer = require "clshell.base.integer"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local recording = require "clshell.base.recording"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods, subject = expression.methods, expression.subject

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
  return not c.aliased and fused.run(c)
end

-- The elements of an Array, or of an expression of Arrays.
local function array_of(x)
  return expression.is(x) and methods.eval(x) or x
end

-- What becomes of an index outside that is not checked.
local OUTSIDE = {gather = "gives 0 for", scatter = "leaves out"}

-- The indices of a call as an operand: a list is one, too.
local function listed(what, index, context)
  if type(index) == "number" or index == nil then
    cl.error(("%s: the indices must be a list, a Buffer or an Array of "
      .. "integers; got %s"):format(what, text.got(index)),
      {hint = index and ("for one element: {%s}"):format(index) or nil})
  elseif type(index) ~= "table" or expression.is(index) then
    return index
  elseif #index == 0 then
    cl.error(("%s: the list of indices is empty"):format(what))
  end
  for k, i in ipairs(index) do
    integer.check(what, ("index %d of the list"):format(k), i)
  end
  if context == layout.HOST then
    return cl.array("long", #index, index)
  end
  return cl.buffer("long", #index, index, {context = context})
end

-- Indices as an operand of long, each one of x's unless they go unchecked.
local function indices(what, index, x, opts)
  opts = options.check(opts, "Buffer:" .. what)
  index = listed(what, index, x.context)
  local e, n = subject(what, index), x.dims.count
  types.integer(what .. ": an index", e.kind.type)
  layout.check_context(what, x, e)
  index = methods.astype(index, "long")
  if opts.check ~= false then
    local h, k
    if x.context == layout.HOST then
      index = methods.eval(index)
      h, k = index, host.outside(index, n)
    else
      local wrong = index:lt(1) | index:gt(n)
      if wrong:any() then
        k, h = wrong:argmax(), index:read()
      end
    end
    if k then
      cl.error(("%s: index %d of the list must be from 1 to %d; got %d")
        :format(what, k, n, h:reshape(#h)[k]), {hint = ("indices count from "
        .. "1; {check = false} %s those outside"):format(OUTSIDE[what])})
    end
  end
  return index
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
--- The elements of these numbers, from 1 in the order of reading, as a Buffer
--- of the shape of `index`: `x:gather(order)`, or a list, `x:gather{3, 1}`.
--- An index that x does not have is an error, for which the host waits. An
--- Array, which has it too, gives an Array.
--- Options:
---   check  true  false: waits for nothing; 0 for an index x does not have
--- Example:
--- local x = cl.arange(10, 40, 10)
--- print(x:gather{4, 1}:read()[1], x:gather(x // 10):read()[2]) --> 40 20
function methods.gather(x, index, opts)
  local e = subject("gather", x)
  index = indices("gather", index, e, opts)
  if e.context == layout.HOST then
    local out = cl.array(e.kind.type, index.shape)
    host.gather(array_of(x), methods.eval(index), out)
    return out
  elseif e.kind.op ~= "leaf" or not without_gaps(e) then
    local copy = methods.eval(x)
    local _ <close> = recording.temporary(copy)
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

-- Sets the elements of these numbers; others than there are go nowhere. False
-- where the expressions read elements of b, which at any time are others.
local function put(b, index, values)
  local type, leaf = b.type, layout.leaf(b)
  local anywhere = setmetatable({place = ""}, {__index = leaf})
  local e = expression.node("scatter", "pair", subject("scatter",
    values).kind.type, subject("scatter", index), subject("scatter", values))
  return run({name = "scatter", out = anywhere, body = function(c)
    local pair = c.expression
    return evaluate.body(c, ("  ulong at_ = t%d - 1;\n"
      .. "  if (at_ < limit_) %s;"):format(pair.a.id, type == "half"
      and "vstore_half(%s, begin_ + at_, memory_)"
      or "memory_[begin_ + at_] = %s"))
  end}, leaf, e)
end

-- The values of a call as an operand that the indices take.
local function valued(b, index, values)
  if type(values) == "number" then
    values = not types.known[b.type].real and math.tointeger(values) or values
    types.check_store("scatter", types.constant("scatter", values, b.type),
      b.type)
    local one = layout.new(b.type, {1}, layout.leaf(b).context)
    one:fill(values)
    values = one
  elseif type(values) == "table" and not expression.is(values)
      and math.type(values[1]) then -- a list
    local context = layout.leaf(b).context
    values = context == layout.HOST and cl.array(b.type, #values, values)
      or cl.buffer(b.type, #values, values, {context = context})
  end
  local e, dims = subject("scatter", values), layout.shape(index.shape)
  types.check_store("scatter", e.kind.type, b.type)
  if e.dims.count ~= 1 and e.dims ~= dims then
    cl.error(("scatter: the values must have the shape %s of the indices, or "
      .. "be one; got %s"):format(dims.text, e.dims.text))
  end
  layout.check_context("scatter", layout.leaf(b), e)
  return values
end

local function scatter(b, index, values, opts)
  local leaf = layout.scalar("scatter", layout.leaf(b))
  index = indices("scatter", index, leaf, opts)
  values = valued(b, index, values)
  if leaf.context == layout.HOST then -- the values may be elements of b
    host.scatter(b, methods.eval(index), (methods.eval(methods.astype(values,
      b.type))))
    return b
  elseif not without_gaps(leaf) then
    local copy <close> = b:clone()
    scatter(copy, index, values, {check = false})
    return b:set(copy)
  end
  return put(b, index, values)
    or put(b, methods.eval(index), (methods.eval(values)))
end

--- Buffer:scatter(index, values [, opts]) -> Event
--- Sets the elements of these numbers, from 1 in the order of reading, to the
--- values, which have the shape of `index` or are one; `x:scatter({4, 1}, {9,
--- 8})` takes lists: the reverse of gather. Of an index that comes several
--- times any value stays. An index that the Buffer does not have is an error,
--- for which the host waits. An Array, which has it too, keeps the last value,
--- and is the result.
--- Options:
---   check  true  false: waits for nothing, and leaves such indices out
--- Example:
--- local x = cl.arange(10, 40, 10)
--- x:scatter({4, 1}, 0)
--- print(x:sum()) --> 50
local of_buffer = {scatter = function(b, ...)
  argument.check("Buffer:scatter", "self", b, "Buffer")
  return scatter(b, ...)
end}
local of_array = {scatter = function(h, ...)
  argument.check("Array:scatter", "self", h, "Array")
  return scatter(h, ...)
end}

--- Buffer:compact(mask) -> Buffer, count
--- The elements where the mask is not 0, one behind the other in the order of
--- reading, and their number: `x:compact(x:gt(0))`. nil and 0 where there are
--- none. The host waits for the number. An Array, which has it too, gives an
--- Array.
--- Example:
--- local x = cl.arange(-2, 5)
--- local y, n = x:compact(x:gt(2))
--- print(n, y:read()[1]) --> 3 3
function methods.compact(x, mask)
  local e = subject("compact", x)
  local m = subject("compact", mask)
  layout.check_context("compact", e, m)
  if e.dims ~= m.dims then
    cl.error(("compact: the mask must have the shape %s; got %s"):format(
      e.dims.text, m.dims.text))
  end
  local taken, n = methods.ne(mask, 0), e.dims.count
  if e.context == layout.HOST then
    taken = methods.eval(taken)
    local count = methods.sum(taken)
    local out = count > 0 and cl.array(e.kind.type, count) or nil
    if out then
      host.compact(array_of(x), taken, out)
    end
    return out, count
  end
  local places <close> = methods.scan(n < 1 << 31 and taken
    or methods.astype(taken, "long"), {op = "a + b", identity = 0})
  local last <close> = places:read{first = n, count = 1}
  if last[1] == 0 then
    return nil, 0
  end
  local out = layout.new(e.kind.type, last[1], e.context)
  put(out, taken:where(places, 0), x)
  return out, last[1]
end

for _, name in ipairs{"compact", "gather"} do
  of_buffer[name] = methods[name]
  of_array[name] = methods[name]
end
cl.extend("Buffer", of_buffer, true)
cl.extend("Array", of_array, true)

return {}

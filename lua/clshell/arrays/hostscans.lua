-- arrays/hostscans.lua - scans of Arrays: each element becomes the sum of all
-- up to it, or another combination; and reductions by a combination of one's
-- own
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local formula = require "clshell.arrays.formula"
local host = require "cl.host"
local hosts = require "clshell.arrays.hosts"
local layout = require "clshell.arrays.layout"
local operation = require "clshell.arrays.operation"
local options = require "clshell.base.options"
require "clshell.arrays.scans"
require "clshell.arrays.totals"

local methods = expression.methods

local M = {}

--- Array:cumsum([dim]) -> Array
--- The sums of all elements up to each one, in the order of reading, or along
--- dimension `dim`, in the shape of x and the type that Buffer:cumsum gives.
--- Integers are added in 64 bits, reals in double and compensated.
--- Example:
--- local h = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
--- print(h:cumsum()[4], h:cumsum(1):at(2, 2)) --> 10 6
function M.cumsum(h, dim)
  local list, type = hosts.elements("cumsum", h)
  local shape = layout.shape(list.shape)
  local _, g = layout.part(shape, dim ~= nil
    and layout.dim("cumsum", shape, dim) or nil)
  local out = cl.array(operation.wide(type), list.shape)
  host.cumsum(list, out, g.many, g.inner)
  return out
end

local OPERANDS = {a = true, b = true}

-- The combination of two operands by the option `op` of a call, as elements of
-- the operation's type, and the identity as a number.
local function combination(what, op, opts)
  local combine = formula(what, opts.op, OPERANDS)
  local identity = opts.identity
  if type(identity) == "string" then
    identity = formula(what, identity, {}){}
    if type(identity) ~= "number" then
      identity = methods.eval(methods.astype(identity, op.cell))[1]
    end
  end
  return function(a, b)
    return methods.astype(combine{a = a, b = b}, op.cell)
  end, identity
end

--- Array:scan(opts) -> Array
--- Combines all elements up to each one by an associative operator, as
--- Buffer:scan does: `h:scan{op = "max(a, b)", identity = "INT_MIN"}`. The
--- text may have C's operators and the functions that Arrays have as methods.
--- Options:
---   op         -      OpenCL C of a and b
---   identity   -      what changes nothing: a number, or OpenCL C: "INFINITY"
---   exclusive  false  true: without the element itself; the first is identity
---   dim        all    the dimension along which to scan; 1 is the first
--- Example:
--- local h = cl.array("int", 4, {2, 5, 3, 7})
--- print(h:scan{op = "max(a, b)", identity = "INT_MIN"}[3]) --> 5
function M.scan(h, opts)
  local what = "Array:scan"
  opts = options.check(opts, what)
  local list, type = hosts.elements("scan", h)
  local op, shape = operation.own(what, opts, type), layout.shape(list.shape)
  local combine, identity = combination(what, op, opts)
  local dim = opts.dim
  local _, g = layout.part(shape, dim ~= nil
    and layout.dim(what, shape, dim) or nil)
  local n, at = g.many, {g.outer, g.many, g.inner}
  local now = methods.eval(methods.astype(list:reshape(at), op.cell))
  local next = cl.array(op.cell, at)
  local function part(a, from, to)
    return methods.slice(a, {}, {from, to})
  end
  local w = 1 -- elements that each is a combination of
  while w < n do
    methods.set(part(next, 1, w), part(now, 1, w))
    methods.set(part(next, w + 1, n), combine(part(now, 1, n - w),
      part(now, w + 1, n)))
    now, next, w = next, now, 2 * w
  end
  if opts.exclusive then
    next:fill(identity)
    if n > 1 then
      methods.set(part(next, 2, n), part(now, 1, n - 1))
    end
    now = next
  end
  return now:reshape(list.shape)
end

--- Array:reduce(opts) -> number or Array
--- Reduces by an operator of one's own, as Buffer:reduce does. The text may
--- have what that of Array:scan has.
--- Options:
---   op        -    OpenCL C of a and b
---   identity  -    what changes nothing: a number, or OpenCL C ("INFINITY")
---   dim       all  the dimension to reduce
--- Example:
--- local h = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
--- print(h:reduce{op = "a * b", identity = 1}) --> 24
--- print(h:reduce{op = "a * b", identity = 1, dim = 1}[2]) --> 8
function M.reduce(h, opts)
  local what = "Array:reduce"
  opts = options.check(opts, what)
  local list, type = hosts.elements("reduce", h)
  local op, shape = operation.own(what, opts, type), layout.shape(list.shape)
  local combine = combination(what, op, opts)
  local dim = opts.dim
  local left, g = layout.part(shape, dim ~= nil
    and layout.dim(what, shape, dim) or nil)
  local now = methods.eval(methods.astype(list:reshape{g.outer, g.many,
    g.inner}, op.cell))
  local many = g.many
  while many > 1 do -- the first half meets the second one
    local half = many // 2
    local first = methods.slice(now, {}, {1, half})
    methods.set(first, combine(first, methods.slice(now, {}, {many - half + 1,
      many})))
    many = many - half
  end
  local result = methods.eval(methods.slice(now, {}, 1))
  return dim == nil and result[1] or result:reshape(left)
end

for name, on_host in pairs(M) do
  local on_device = methods[name]
  methods[name] = function(x, ...)
    if expression.subject(name, x).context == layout.HOST then
      return on_host(x, ...)
    end
    return on_device(x, ...)
  end
end
cl.extend("Array", M, true)

return {}

-- parts/split/arithmetic.lua - calculations on Splits: elementwise operators
-- and methods, sums and cl.map, each part on its own device
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local class = require "clshell.parts.split.split_class"
local cl = require "cl"
local devices = require "clshell.parts.split.devices"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.method_names"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods, meta = class.methods, class.meta
local of_parts = expression.methods

-- The Split among values whose rows the result has: a Split in rows before
-- Splits in copies.
local function leader(values)
  local found
  for i = 1, values.n do
    local x = values[i]
    if class.is(x) and (not found or found.axis == "copies") then
      found = x
    end
  end
  return found
end

local SPREAD = {Buffer = true, Array = true, Expression = true}

-- A value of a calculation as a Split on the devices of `s`: a value with the
-- same number of rows is split into the same shares, another shape is copied
-- to each device. A Split or a number is returned as it is.
local function align(what, s, x)
  if class.is(x) then
    class.fits(what, s, x)
    return class.live(what, x)
  elseif not SPREAD[text.class(x)] then
    return x
  end
  local axis = s.axis == "rows" and #x.shape == #s.shape
    and x.shape[1] == s.shape[1] and "rows" or "copies"
  return class.spread(what, x, s.devices, axis, table.move(s.sizes, 1,
    #s.sizes, 1, {}))
end

-- Calls f(own, i) for each device with rows, own: the values' parts there.
-- Returns the list of its results, false for devices without rows, and the
-- Split whose rows the result has.
local function for_parts(what, values, f)
  local s, list, results = leader(values), {n = values.n}, {}
  for k = 1, values.n do
    list[k] = align(what, s, values[k])
  end
  for i, rows in ipairs(s.sizes) do
    local own = {}
    for k = 1, list.n do
      own[k] = list[k]
      if class.is(list[k]) then
        own[k] = list[k].parts[i]
      end
    end
    results[i] = rows > 0 and f(own, i)
  end
  return results, s
end

-- A function that returns a Split of the results of f for the parts.
local function lift(what, f)
  return function(...)
    local values = table.pack(...)
    local parts, s = for_parts(what, values, function(own)
      return f(table.unpack(own, 1, values.n))
    end)
    return class.like(s, parts)
  end
end

for _, name in ipairs(names.methods.evaluate) do
  local sign = name:match "^__(.*)$"
  if sign then
    meta[name] = lift("x " .. sign .. " y", expression.operators[sign])
  elseif name ~= "clone" then
    methods[name] = lift(name, of_parts[name])
  end
end

-- A method that changes the parts of a Split by their method.
local function in_place(name)
  return function(...)
    local values = table.pack(...)
    values[1]:eval()
    for_parts(name, values, function(own)
      own[1][name](table.unpack(own, 1, values.n))
    end)
    return values[1]
  end
end

--- Split:set(x) -> Split
--- Sets the elements to the elements of a Split, a Buffer or an Expression, or
--- to a number, part by part: s:set(2 * s + r).
--- Example:
--- local s = cl.split({1, 2}, {cl.device(), cl.device()})
--- print(s:set(3 * s + 1):read()[2]) --> 7.0
methods.set = in_place "set"

--- Split:fill(x) -> Split
--- Sets all elements to a number.
--- Example:
--- local s = cl.split({1, 2}, {cl.device(), cl.device()})
--- print(s:fill(5):sum()) --> 10.0
function methods.fill(s, x)
  class.live("fill", s):eval()
  for _, part in ipairs(s.parts) do
    if part then
      part:fill(x, {async = true})
    end
  end
  return s
end

-- Reduces values along a dimension by method `what` of their parts. Along
-- dimension 1 of a Split in rows, the results of the devices become rows of a
-- Buffer on the first device, and reduction `name` reduces them to one Buffer.
-- Along another dimension the result is a Split in the same rows. The result
-- of a Split in copies is a Buffer.
local function along(what, values, dim, name)
  layout.dim(what, leader(values).shape, dim)
  local some, s = for_parts(what, values, function(own)
    own[values.n + 1] = dim
    return of_parts[what](table.unpack(own, 1, values.n + 1))
  end)
  if dim ~= 1 and s.axis == "rows" then
    return class.like(s, some)
  end
  local list = class.whole(s, some)
  if #list == 1 then
    return list[1].part
  end
  devices.flush(s.devices)
  local first = list[1].part
  local count, context = #first, first.context
  local rows <close> = cl.buffer(first.type, {#list,
    table.unpack(first.shape)}, nil, {context = context})
  for i, piece in ipairs(list) do
    piece.part:copy(rows, {to = (i - 1) * count + 1,
      async = piece.part.context == context})
    piece.part:close()
  end
  return of_parts[name](rows, 1)
end

-- Defines method `what` of n values, which reduces them; reduction `name`
-- joins the results of the devices.
local function reduction(what, n, name)
  methods[what] = function(...)
    local values = table.pack(...)
    local dim = values[n + 1]
    values.n = n
    if dim ~= nil then
      return along(what, values, dim, name)
    end
    local left <close> = along(what, values, 1, name)
    return of_parts[name](left)
  end
end

--- Split:sum([dim]) -> number, Buffer or Split
--- The sum of all elements, calculated on all devices at once; min, max, any
--- and all are the reductions of the same name of a Buffer. Along dimension 1
--- the result is a Buffer on the first device, along another dimension a Split
--- in the same rows.
--- Also: Split:min, Split:max, Split:any, Split:all
--- Example:
--- local s = cl.split({1, 2, 4}, {cl.device(), cl.device()})
--- print(s:sum(), s:max()) --> 7.0 4.0
for _, name in ipairs{"sum", "min", "max", "any", "all"} do
  reduction(name, 1, name)
end

-- The type in which means and norms of elements are calculated.
local function real(what, s)
  return types.calculated(types.real(what, s.type))
end

-- A Split of floats as doubles where all its devices have them, as Buffers
-- calculate means and norms.
local function wide(what, s)
  for _, piece in ipairs(class.whole(class.live(what, s), s.parts)) do
    if s.type ~= "float"
        or not piece.part.context.device:has "cl_khr_fp64" then
      return s
    end
  end
  return s:astype "double"
end

--- Split:mean([dim]) -> number, Buffer or Split
--- The sum divided by the number of elements; `dim` as for Split:sum.
--- Example:
--- local s = cl.split({1, 2, 6}, {cl.device(), cl.device()})
--- print(s:mean()) --> 3.0
function methods.mean(s, dim)
  local sums = wide("mean", s):sum(dim)
  if dim == nil then
    return sums / #s
  end
  local type = real("mean", s)
  local total = types.known[sums.type].real and sums or sums:astype(type)
  local mean = (total / s.shape[dim]):astype(type):eval()
  sums:close()
  return mean
end

--- Split:dot(t [, dim]) -> number, Buffer or Split
--- The sum of the products of the elements of two Splits, or of a Split and a
--- Buffer; `dim` as for Split:sum.
--- Example:
--- local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
--- print(s:dot(s)) --> 14.0
reduction("dot", 2, "sum")

--- Split:nrm2([dim]) -> number, Buffer or Split
--- The square root of the sum of squares; `dim` as for Split:sum.
--- Example:
--- local s = cl.split({3, 4}, {cl.device(), cl.device()})
--- print(s:nrm2()) --> 5.0
function methods.nrm2(s, dim)
  if dim ~= nil then
    local type = real("nrm2", s)
    local x = wide("nrm2", s.type == type and s or s:astype(type))
    local squares = x:dot(x, dim)
    local root = squares:sqrt():astype(type):eval()
    squares:close()
    return root
  end
  local list = {}
  for i, piece in ipairs(class.whole(class.live("nrm2", s), s.parts)) do
    list[i] = of_parts.nrm2(piece.part)
  end
  return cl.array(real("nrm2", s), #list, list):nrm2()
end

--- Split:axpy(a, x) -> Split
--- Adds a x, part by part: s = s + a x.
--- Example:
--- local s = cl.split({1, 2}, {cl.device(), cl.device()})
--- print(s:axpy(2, s):read()[2]) --> 6.0
methods.axpy = in_place "axpy"

argument.methods("Split", methods, meta.__name)

-- cl.map for values with Splits among them: each device maps its own parts.
function meta.__map(map, source, values, opts)
  local keys, list = text.keys(values), {}
  for k, key in ipairs(keys) do
    list[k] = values[key]
  end
  list.n = #keys
  if source:find "%f[%w_][in]%f[^%w_]" then
    cl.error("map: i and n count the elements of one part; take a Split of "
      .. "numbers in their place, cl.split(cl.arange(0, n - 1))")
  end
  local results, n = {}, 0
  local rows, s = for_parts("map", list, function(own)
    local part = {}
    for k, key in ipairs(keys) do
      part[key] = own[k]
    end
    local row = table.pack(map(source, part, opts))
    n = row.n - 1 -- the last one is the Event
    return row
  end)
  for k = 1, n do
    local parts = {}
    for i, row in ipairs(rows) do
      parts[i] = row and row[k]
    end
    results[k] = class.like(s, parts)
  end
  return table.unpack(results, 1, n)
end

return {}

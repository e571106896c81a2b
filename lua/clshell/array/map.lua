-- array/map.lua - cl.map: a calculation on elements in OpenCL C
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local expression = require "clshell.array.expression"
local fused = require "clshell.array.fused"
local layout = require "clshell.array.layout"
local options = require "clshell.base.options"
local text = require "clshell.base.text"
local types = require "clshell.array.types"

local known_types = {}
for _, name in ipairs(cl.types()) do
  known_types[name] = true
end

-- A text with its comments as spaces, so that places in it stay.
local function uncommented(code)
  local function blank(s)
    return (s:gsub("[^\n]", " "))
  end
  return (code:gsub("/%*.-%*/", blank):gsub("//[^\n]*", blank))
end

-- Where the statements begin that are in no block and no parentheses.
local function beginnings(code)
  local list, depth = {1}, 0
  for at, sign in code:gmatch "()([;{}()])" do
    depth = depth + (sign:find "[{(]" and 1 or sign:find "[})]" and -1 or 0)
    if depth == 0 and sign:find "[;}]" then
      list[#list + 1] = at + 1
    end
  end
  return list
end

-- The places of a name in a text: how many, and of the first that changes it.
local function uses(code, name)
  local count, changed = 0, nil
  for at, stop in code:gmatch("%f[%w_]()" .. name .. "()%f[^%w_]") do
    if not code:sub(1, at - 1):find "[.>]%s*$" then
      local after = code:sub(stop, stop + 80):gsub("^[%.%[][%w%]]*", "")
      local before = code:sub(math.max(1, at - 8), at - 1)
      count = count + 1
      if after:find "^%s*[%+%-%*/%%&|^]?=[^=]" or after:find "^%s*<<="
          or after:find "^%s*>>=" or after:find "^%s*%+%+"
          or after:find "^%s*%-%-" or before:find "%+%+%s*$"
          or before:find "%-%-%s*$" then
        changed = changed or at
      end
    end
  end
  return count, changed
end

-- The statements of a text that declare a variable, or set one: by its name
-- {type, first, last}, the bytes of the type; type is nil without one.
local function declarations(code)
  local found = {}
  for _, at in ipairs(beginnings(code)) do
    local first, type, last, name = code:match(
      "^%s*()(%a%w*)()%s+([%a_][%w_]*)%s*=[^=]", at)
    if not known_types[type or ""] then
      type, name = nil, code:match("^%s*([%a_][%w_]*)%s*=[^=]", at)
    end
    if name and not found[name] then
      found[name] = {type = type, first = first, last = last}
    end
  end
  return found
end

-- A value as {leaf}, or {type, value}.
local function part_of(name, value, double)
  local class = text.class(value)
  if expression.is(value) then
    value = value:eval()
    class = "Buffer"
  end
  if class == "Buffer" then
    return {name = name, leaf = layout.leaf(value)}
  elseif class == "Value" and value.type then
    return {name = name, type = value.type, value = value}
  elseif math.type(value) == "integer" then
    return {name = name, value = value,
      type = types.fits(value, "int") and "int" or "long"}
  elseif type(value) == "number" then
    return {name = name, value = value, type = double and "double" or "float"}
  end
  cl.error(("map: %s must be a Buffer, an Expression or a number; got %s")
    :format(name, text.got(value)))
end

-- The names that values give, sorted. Raises for names that cannot be.
local function checked_names(code, values)
  local names = {}
  for name in pairs(values) do
    if type(name) ~= "string" or not name:find "^[%a_][%w_]*$"
        or name == "i" or name == "n" then
      cl.error(("map: %s cannot be the name of a value; i is the number of "
        .. "the element, from 0, and n their count"):format(text.got(name)))
    elseif uses(code, name) == 0 then
      cl.error(("map: the text does not use %s"):format(name))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- Raises for a Buffer that is written while another one has its memory.
local function check_overlaps(parts)
  for _, out in ipairs(parts) do
    for _, part in ipairs(out.store and parts or {}) do
      if part ~= out and part.leaf
          and out.leaf.buffer:overlaps(part.leaf.buffer) then
        cl.error(("map: %s is written and has memory of %s; pass a copy, "
          .. "b:clone()"):format(out.name, part.name))
      end
    end
  end
end

-- Decides what is written, and takes the type off the declaration of a
-- variable that the kernel has to declare: one that is also read, or a half.
-- Returns the text, and the outputs in the order of their statements.
local function outputs(source, code, parts, declared)
  local by_name, list = {}, {}
  for _, part in ipairs(parts) do
    by_name[part.name] = part
  end
  for name, d in pairs(declared) do
    if d.type and not by_name[name] then
      by_name[name] = {name = name, new = d.type}
      parts[#parts + 1] = by_name[name]
    end
  end
  for _, part in ipairs(parts) do
    local count, changed = uses(code, part.name)
    local d = declared[part.name] or {}
    local own = part.new or part.leaf and part.leaf.kind.type
    if d.type and not own then
      cl.error(("map: %s is a number, and the text declares it"):format(
        part.name))
    elseif d.type and types.calculated(own) ~= types.calculated(d.type) then
      cl.error(("map: %s is declared %s, but is a Buffer of %s"):format(
        part.name, d.type, own))
    elseif changed and own then
      part.store, part.at = true, changed
      list[#list + 1] = part
    end
    part.load = part.leaf and not (part.store and count == 1
      and declared[part.name])
    part.declared = d.type and not part.load and d.type ~= "half"
    if d.type and not part.declared then
      source = source:sub(1, d.first - 1) .. (" "):rep(#d.type)
        .. source:sub(d.last)
    end
  end
  if #list == 0 then
    cl.error 'map: the text sets no Buffer; write "float y = ..." or "y = ..."'
  end
  table.sort(list, function(a, b)
    return a.at < b.at
  end)
  return source, list
end

-- The shape of all Buffers, and their context.
local function extent(parts, opts)
  local dims = opts.shape and layout.shape(opts.shape)
  local context = opts.context
  for _, part in ipairs(parts) do
    local leaf = part.leaf
    if leaf then
      dims = dims and layout.broadcast("map", dims, leaf.dims) or leaf.dims
      context = context or leaf.context
      if leaf.context ~= context then
        cl.error "map: the Buffers are of different contexts (devices)"
      end
    end
  end
  if not dims then
    cl.error("map: without a Buffer the shape must be given: "
      .. "cl.map(text, values, {shape = 16})")
  end
  return dims, context or cl.context()
end

local function shape_of(shape)
  if math.type(shape) == "integer" then
    shape = {shape}
  end
  if shape ~= nil and type(shape) ~= "table" then
    cl.error(("map: shape must be a number or a list; got %s"):format(
      text.got(shape)))
  end
  for _, n in ipairs(shape or {}) do
    if math.type(n) ~= "integer" or n < 1 then
      cl.error(("map: a size must be an integer >= 1; got %s"):format(
        text.got(n)))
    end
  end
  return shape
end

local maps = {} -- text and types -> calculations alike, see fused.lua

local function known(source, parts, dims)
  local words, plain = {source}, true
  for _, part in ipairs(parts) do
    local leaf = part.leaf
    words[#words + 1] = part.name
    words[#words + 1] = leaf and leaf.kind.type or part.type
    if leaf and (leaf.dims ~= dims or not leaf.flat) then
      plain = false
    end
  end
  for _, part in ipairs(plain and {} or parts) do
    words[#words + 1] = part.leaf and part.leaf.place or nil
  end
  words[#words + 1] = not plain and dims.text or nil
  local key = table.concat(words, "\0")
  maps[key] = maps[key] or {}
  return maps[key], plain
end

--- cl.map(text, values [, opts]) -> Buffer, ..., Event
--- Runs statements of OpenCL C for every element, in one launch: `values` are
--- the Buffers, Expressions and numbers that the text names. A Buffer that the
--- text sets is written in place. `float z = ...` with a name that is not in
--- `values` makes a new Buffer; `private float t = ...` is a variable of the
--- kernel alone. `i` is the number of the element, from 0, and `n` the count.
--- Returns the Buffers that are set, in the order of the text.
--- Whole numbers are int or long, others float, or double beside doubles. A
--- half is a float in between.
--- Options:
---   shape    that of the Buffers  of new Buffers
---   context  that of the Buffers  the Context of a device
return function(source, values, opts)
  argument.check("cl.map", "text", source, "string",
    'cl.map("float z = a * x", {a = 2, x = x})')
  argument.check("cl.map", "values", values or {}, "table")
  opts = options.check(opts, "cl.map")
  local code, parts = uncommented(source), {}
  local double = code:find "%f[%w]double"
  values = values or {}
  for _, value in pairs(values) do
    double = double or text.class(value) == "Buffer"
      and value.type:find "^double"
  end
  for k, name in ipairs(checked_names(code, values)) do
    parts[k] = part_of(name, values[name], double)
  end
  local lines, outs = outputs(source, code, parts, declarations(code))
  local dims, context = extent(parts, {shape = shape_of(opts.shape),
    context = opts.context})
  local args, results = {dims.count}, {}
  for k, part in ipairs(parts) do
    if part.new then
      part.leaf = layout.leaf(cl.buffer(part.new, dims, nil,
        {context = context}))
    end
    local leaf = part.leaf
    if leaf and leaf.kind.type:find "^half%d" then
      cl.error(('map: %s has elements of %s; pass b:as "half"'):format(
        part.name, leaf.kind.type))
    elseif part.store and leaf.dims ~= dims then
      cl.error(("map: %s has the shape %s, the result %s"):format(part.name,
        leaf.dims.text, dims.text))
    end
    args[k + 1] = not leaf and part.value
      or leaf.start > 0 and cl.base(leaf.buffer) or leaf.buffer
  end
  check_overlaps(parts)
  local alike, flat = known(lines, parts, dims)
  local event = fused.run{name = "map", known = alike, context = context,
    dims = dims, flat = flat, args = args, n = #args,
    parts = function()
      return parts
    end,
    body = function()
      return lines .. "\n  ;"
    end}
  for k, out in ipairs(outs) do
    results[k] = out.leaf.buffer
  end
  results[#results + 1] = event
  return table.unpack(results)
end

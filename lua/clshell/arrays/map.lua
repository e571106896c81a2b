-- arrays/map.lua - cl.map: a calculation on elements in OpenCL C
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
require "clshell.arrays.evaluate"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local options = require "clshell.base.options"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

-- The function that maps an object in parts, such as a Split; nil for others.
local function in_parts(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__map")
end

local known_types = {}
for _, name in ipairs(cl.types()) do
  known_types[name] = cl[name] ~= nil
end

-- A text with its comments made spaces, so that all else stays at its place.
local function uncommented(code)
  local function blank(s)
    return (s:gsub("[^\n]", " "))
  end
  return (code:gsub("/%*.-%*/", blank):gsub("//[^\n]*", blank))
end

-- A text with spaces in place of its directives, such as #define.
local function undirected(code)
  local joined = "\n" .. code:gsub("\\\n", "  ")
  return joined:gsub("\n[ \t]*#[^\n]*", function(line)
    return "\n" .. (" "):rep(#line - 1)
  end):sub(2)
end

local STATEMENTS = {["for"] = true, ["if"] = true, switch = true,
  ["while"] = true}

-- Where the functions of a text end that stand before its statements, with the
-- directives before and between them; 0 where there is no function.
local function functions_end(code)
  local plain, stop, at = undirected(code), 0, 1
  while true do
    local words, name, after = plain:match(
      "^%s*([%a_][%w_%s%*]-)([%a_][%w_]*)%s*%b()%s*%b{}()", at)
    if not name or not words:find "[%s%*]$" or STATEMENTS[name] then
      return stop
    end
    stop, at = after - 1, after
  end
end

-- The places where statements begin, outside of blocks and parentheses.
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

-- Raises for parentheses, brackets and braces that do not close each other: a
-- compiler would name a place behind the text.
local function check_pairs(source, code)
  local open, closes = {}, {["("] = ")", ["["] = "]", ["{"] = "}"}
  local function wrong(at, sign, lacks)
    local before = ("\n" .. source:sub(1, at - 1)):match "^.*\n(.*)$"
    cl.error(("map: the '%s' has no '%s': %s"):format(sign, lacks,
      before .. source:sub(at):match "[^\n]*"))
  end
  for at, sign in code:gmatch "()([%(%)%[%]{}])" do
    if closes[sign] then
      open[#open + 1] = {at, sign, closes[sign]}
    else
      local last = table.remove(open)
      if not last then
        wrong(at, sign, ({[")"] = "(", ["]"] = "[", ["}"] = "{"})[sign])
      elseif last[3] ~= sign then
        wrong(table.unpack(last))
      end
    end
  end
  if open[1] then
    wrong(table.unpack(open[#open]))
  end
end

-- How often a text uses a name, and the first place where it changes the
-- value.
local function uses(code, name)
  local count, changed = 0, nil
  for at, stop in code:gmatch("%f[%w_]()" .. name .. "()%f[^%w_]") do
    local ahead = code:sub(1, at - 1)
    if not ahead:find "%.%s*$" and not ahead:find "%->%s*$" then
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

-- The variables that statements of a text declare or set, by name: {type,
-- first, last}, the type and its bytes in a declaration.
local function declarations(code)
  local found = {}
  code = undirected(code)
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

-- The names of values, sorted. Raises for names that no value can have.
local function names_of(source, code, values)
  local names = {}
  for name in pairs(values) do
    if type(name) ~= "string" or not name:find "^[%a_][%w_]*$"
        or name == "i" or name == "n" then
      cl.error(("map: %s cannot be the name of a value; i is the number of "
        .. "the element, from 0, and n their count"):format(text.got(name)))
    elseif uses(code, name) == 0 then
      cl.error(("map: the text does not use %s: %s"):format(name, source))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- Raises for a text that sets no Buffer, and tells what it seems to set.
local function check_sets(source, code, outs)
  code = undirected(code)
  for _, at in ipairs(#outs == 0 and beginnings(code) or {}) do
    local word = code:match("^%s*(%a[%w_]*)%s+[%a_][%w_]*%s*=[^=]", at)
    if word and word ~= "private" then
      local near = cl.nearest(word, text.keys(known_types))
      cl.error(("map: %s is no element type%s: %s"):format(word, near
        and ("; did you mean %s?"):format(near) or "", source))
    end
    local name = code:match("^%s*([%a_][%w_]*)%s*[%+%-%*/%%&|^]?=[^=]", at)
    if name then
      cl.error(("map: %s is none of the values; give it a type for a new "
        .. 'Buffer, "float %s = ...", or pass a Buffer: %s'):format(name, name,
        source))
    end
  end
  if #outs == 0 then
    cl.error(('map: the text sets no Buffer; write "float y = ..." or '
      .. '"y = ...": %s'):format(source))
  end
end

-- The form of a text for values of these types: `parts`, {name, type, leaf (it
-- is a Buffer), new, load, store, declared}; `outs`, the numbers of the parts
-- that the text sets, in the order of its statements; and `lines`. A
-- declaration in `lines` has lost its type where the kernel declares the
-- variable: the text reads it as well, or it is a half.
local function analyse(source, code, names, given)
  local parts, outs, bound = {}, {}, {}
  for k, name in ipairs(names) do
    parts[k] = {name = name, type = given[k].type,
      leaf = given[k].leaf and true}
    bound[name] = true
  end
  local declared = declarations(code)
  for _, name in ipairs(text.keys(declared)) do
    local type = declared[name].type
    if type and not bound[name] then
      parts[#parts + 1] = {name = name, type = type, leaf = true, new = true}
    end
  end
  for k, part in ipairs(parts) do
    local count, changed = uses(code, part.name)
    local d = declared[part.name] or {}
    types.check_calculated("map", part.type)
    local type = types.calculated(part.type)
    if d.type and not part.leaf then
      cl.error(("map: %s is a number, and the text declares it"):format(
        part.name))
    elseif d.type and type ~= types.calculated(d.type) then
      cl.error(("map: %s is declared %s, but is a Buffer of %s"):format(
        part.name, d.type, part.type))
    elseif part.leaf and part.type:find "^half%d" then
      cl.error(('map: %s has elements of %s; pass b:as "half"'):format(
        part.name, part.type))
    end
    part.store = part.leaf and changed
    part.load = part.leaf and not part.new
      and not (part.store and count == 1 and declared[part.name])
    part.declared = d.type and not part.load and d.type ~= "half"
    outs[#outs + 1] = part.store and k or nil
    if d.type and not part.declared then
      source = source:sub(1, d.first - 1) .. (" "):rep(#d.type)
        .. source:sub(d.last)
    end
  end
  check_sets(source, code, outs)
  table.sort(outs, function(a, b)
    return parts[a].store < parts[b].store
  end)
  return {parts = parts, outs = outs, lines = source}
end

-- A value as {type, value} of a number, or {type, leaf} of a Buffer, a slice
-- or another Expression.
local function given_as(name, value, double)
  local class = text.class(value)
  if expression.is(value) then
    value = value.kind.op == "leaf" and value or layout.leaf((value:eval()))
    return {type = value.kind.type, leaf = value}
  elseif class == "Buffer" or class == "Array" then
    return {type = value.type, leaf = layout.leaf(value)}
  elseif class == "Value" and value.type then
    return {type = value.type, value = value}
  elseif type(value) == "number" then
    return {value = value, type = math.type(value) == "integer"
      and (types.fits(value, "int") and "int" or "long")
      or double and "double" or "float"}
  end
  cl.error(("map: %s must be a Buffer, an Array, an Expression or a number; "
    .. "got %s"):format(name, text.got(value)), {hint = type(value) == "table"
      and value[1] ~= nil
      and ('for a list: cl.buffer("float", %d, list)'):format(#value) or nil})
end

-- By text: {code, head (its functions), body, names, known (a set of them),
-- forms}. In `code` and `body` the functions are spaces.
local texts = {}

-- The entry of `texts` for a text with values of these names.
local function text_of(source, values)
  local found, same, count = texts[source], true, 0
  for name in pairs(values) do
    same, count = same and found and found.known[name], count + 1
  end
  if not (found and same and count == #found.names) then
    local code = uncommented(source)
    check_pairs(source, code)
    local stop = functions_end(code)
    local blank = code:sub(1, stop):gsub("[^\n]", " ")
    code = blank .. code:sub(stop + 1)
    found = {code = code, head = source:sub(1, stop), body = blank
      .. source:sub(stop + 1), names = names_of(source, code, values),
      known = {}, forms = {}, double = source:find "%f[%w]double"}
    for _, name in ipairs(found.names) do
      found.known[name] = true
    end
    texts[source] = found
  end
  return found
end

-- The options for the compiler as text.
local function key_of(opts)
  local list = {argument.check("cl.map", "options", opts.options or "",
    "string")}
  for name, value in pairs(argument.check("cl.map", "defines",
      opts.defines or {}, "table", "{K = 3}")) do
    list[#list + 1] = ("%s=%s"):format(name, value)
  end
  table.sort(list)
  return table.concat(list, "\0")
end

-- The form of a text, and its values in the order of its names.
local function form_of(source, values, opts)
  local found, given = text_of(source, values), {}
  local key = key_of(opts)
  local double = found.double
  for _, value in pairs(values) do
    local class = text.class(value)
    double = double or (class == "Buffer" or class == "Array")
      and value.type:find "^double"
  end
  for k, name in ipairs(found.names) do
    given[k] = given_as(name, values[name], double)
    key = ("%s%s%s "):format(key, given[k].type, given[k].leaf and "*" or "")
  end
  local form = found.forms[key]
  if not form then
    form = analyse(found.body, found.code, found.names, given)
    form.head, form.build = found.head, {key = key, defines = opts.defines,
      options = opts.options}
    found.forms[key] = form
  end
  return form, given
end

-- The shape and the context of all Buffers.
local function extent(given, opts)
  local shape, context = opts.shape, opts.context
  if math.type(shape) == "integer" then
    shape = {shape}
  end
  for _, size in ipairs(argument.check("map", "shape", shape or {},
      "table")) do
    argument.integer("map", "a size", size, 1)
  end
  local dims = shape and layout.shape(shape)
  for _, value in ipairs(given) do
    local leaf = value.leaf
    if leaf then
      dims = dims and layout.broadcast("map", dims, leaf.dims) or leaf.dims
      if leaf.context then
        context = context or leaf.context
        layout.check_context("map", {context = context}, leaf)
      end
    end
  end
  if not dims or not dims[1] then
    cl.error("map: without a Buffer the shape must be given: "
      .. "cl.map(text, values, {shape = 16})")
  end
  return dims, context or cl.context()
end

-- Raises where a Buffer that is set has another shape than the result, or
-- shares memory.
local function check_out(form, leaves, k, dims)
  local out, name = leaves[k], form.parts[k].name
  if out.dims ~= dims then
    cl.error(("map: %s has the shape %s, the result %s"):format(name,
      out.dims.text, dims.text))
  end
  for other, leaf in pairs(leaves) do
    if other ~= k and (layout.clash(out, leaf)
        or out.buffer == leaf.buffer and out.place == leaf.place) then
      cl.error(("map: %s is written and has memory of %s; pass a copy, "
        .. "b:clone()"):format(name, form.parts[other].name))
    end
  end
end

-- Launches the kernel of a form; returns the Event.
local function launch(form, leaves, given, dims, context)
  local args, places, flat = {dims.count}, {}, true
  for k in ipairs(form.parts) do
    local leaf = leaves[k]
    if leaf then
      places[#places + 1] = leaf.place
      flat = flat and leaf.flat and leaf.dims == dims
      args[k + 1] = leaf.start > 0 and cl.base(leaf.buffer) or leaf.buffer
    else
      args[k + 1] = given[k].value
    end
  end
  return fused.run{name = "map", known = form, context = context, dims = dims,
    places = not flat and places, args = args, n = #args,
    build = form.build, declare = function()
      return form.head
    end, parts = function()
      local list = {}
      for k, part in ipairs(form.parts) do
        list[k] = setmetatable({leaf = leaves[k] or false}, {__index = part})
      end
      return list
    end,
    body = function()
      local lines = form.lines -- an error at their end shall point there
      return lines .. ((lines:find "//[^\n]*$" or lines:find "#[^\n]*$")
        and "\n  ;" or " ;")
    end}
end

-- Copies the Arrays among the leaves to the device of a calculation. Returns
-- the operands of these Arrays, by the numbers of their parts.
local function to_device(leaves, context)
  local arrays = {}
  for k, leaf in pairs(leaves) do
    if not leaf.context then
      arrays[k], leaves[k] = leaf, layout.on_device(leaf, context)
    end
  end
  return arrays
end

-- The value that cl.map returns for an operand that is set.
local function result_of(leaf)
  return leaf.whole and leaf.buffer or leaf
end

--- cl.map(text, values [, opts]) -> Buffer, ..., Event
--- Runs statements of OpenCL C for every element, in one launch: `values` are
--- the Buffers, Expressions and numbers that the text names. A Buffer or a
--- slice that the text sets is written in place. `float z = ...` with a name
--- that is not in `values` makes a new Buffer; `private float t = ...` is a
--- variable of the kernel alone. `i` is the number of the element, from 0, and
--- `n` the count. Returns the operands that the text sets, in its order, and
--- the Event.
--- Whole numbers are int or long, other numbers float, or double beside
--- doubles. A half is a float in between. Functions and macros of the text
--- stand before its statements: "float f(float a) { return a * a; } float z =
--- f(x)".
--- Arrays are copied to the device. An Array that the text sets is read back,
--- for which the host waits.
--- Options:
---   shape    the shape of the Buffers  of new Buffers
---   context  the context of the Buffers  the Context of a device
---   defines  none                  macros, as for cl.build: {K = 3}
---   options  none                  for the compiler, as for cl.build
--- Example:
--- local x, y = cl.arange(1, 4), cl.buffer("float", 4, 10)
--- cl.map("float y = a * x + y", {a = 2, x = x, y = y}) -- in place
--- local z, square = cl.map([[
---   private float half_x = 0.5f * x;
---   float z = half_x + i;
---   int square = x * x]], {x = x}) -- two new Buffers
--- print(y:read()[4], z:read()[2], square:read()[4]) --> 18.0 2.0 16
local function map(source, values, opts)
  argument.check("cl.map", "text", source, "string",
    'cl.map("float z = a * x", {a = 2, x = x})')
  values = argument.check("cl.map", "values", values or {}, "table")
  for _, value in pairs(values) do
    local over = type(value) == "table" and in_parts(value)
    if over then
      return over(map, source, values, opts)
    end
  end
  opts = options.check(opts, "cl.map")
  local form, given = form_of(source, values, opts)
  local dims, context = extent(given, opts)
  local leaves, results = {}, {}
  for k, part in ipairs(form.parts) do
    if part.leaf then
      leaves[k] = not part.new and given[k].leaf
        or layout.leaf(layout.new(part.type, dims, context))
      layout.check_open(leaves[k])
    end
  end
  local arrays = to_device(leaves, context)
  for i, k in ipairs(form.outs) do
    check_out(form, leaves, k, dims)
    results[i] = result_of(arrays[k] or leaves[k])
  end
  results[#results + 1] = launch(form, leaves, given, dims, context)
  for _, k in ipairs(form.outs) do
    if arrays[k] then
      leaves[k].buffer:read(arrays[k].buffer)
    end
  end
  return table.unpack(results)
end

cl.map = map

return {}

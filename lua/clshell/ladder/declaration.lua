-- ladder/declaration.lua - the specification of a family from its declaration:
-- fields that follow from the sizes of operands are filled in, others checked
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local families = require "clshell.ladder.families"
local lazy = require "clshell.base.lazy"
local operands = require "clshell.ladder.operands"
local options = require "clshell.base.options"
local result = require "clshell.base.result"
local result_checks = require "clshell.ladder.result_checks"
local text = require "clshell.base.text"
local verify = require "clshell.ladder.verify"

local M = {}

local WHAT = "family.new"

-- The types of the fields that are no functions.
local TYPES = {
  name = "string", help = "string", signature = "string",
  arguments = "table", options = "table", rungs = "table", types = "table",
  hosts = "table", awkward = "table", placing = "table", cache = "string",
  memory = "string", keeps_plans = "boolean",
}

local ANY = {output = true, dims = true} -- fields that are checked later
local MEMORY = {copy = true, read = true, write = true}

local function fail(what, format, ...)
  cl.error(("%s: %s"):format(what, format:format(...)),
    {hint = 'help "family.new" has an example'})
end

local function is_name(x)
  return type(x) == "string" and x:find "^[%a_][%w_]*$" ~= nil
end

-- Raises for an unknown field, a field of a wrong type or a missing field.
local function check_fields(given)
  if type(given) ~= "table" then
    fail(WHAT, "the declaration must be a table; got %s", text.got(given))
  end
  cl.options(given, options.names(WHAT), WHAT)
  for _, name in ipairs{"name", "arguments", "output", "rungs"} do
    if given[name] == nil then
      fail(WHAT, "field '%s' is missing", name)
    end
  end
  for name, value in pairs(given) do
    local kind = TYPES[name] or not ANY[name] and "function" or type(value)
    if type(value) ~= kind then
      fail(WHAT, "%s must be %s; got %s", name, text.article(kind),
        text.got(value))
    end
  end
  if not is_name(given.name) or given.name:find "_" then
    fail(WHAT, "name must be of letters and digits; got '%s'", given.name)
  elseif given.cache and given.cache ~= "hot" and given.cache ~= "cold" then
    fail(WHAT, "cache must be 'hot' or 'cold'; got '%s'", given.cache)
  elseif given.memory and not MEMORY[given.memory] then
    fail(WHAT, "memory must be 'copy', 'read' or 'write'; got '%s'",
      given.memory)
  end
  return ("%s: %s"):format(WHAT, given.name)
end

-- Raises where a script's family takes a name of clshell's own.
local function check_name(name)
  if families.is_own(name) or name == "cl" or lazy.public.module(name) then
    fail(WHAT, "the name '%s' is clshell's own; take another", name)
  end
end

-- An operand {"A", "rows", "cols"} as {name =, sizes =}.
local function operand(what, field, given)
  if type(given) ~= "table" or not is_name(given[1]) then
    fail(what, '%s must be a list of a name and its sizes, such as {"A", '
      .. '"rows", "cols"}; got %s', field, text.got(given))
  end
  local sizes = {table.unpack(given, 2)}
  if #sizes < 1 or #sizes > 3 then
    fail(what, "%s must have 1 to 3 sizes; %s has %d", field, given[1], #sizes)
  end
  for _, size in ipairs(sizes) do
    local number = math.type(size) == "integer" and size >= 1
    if not (is_name(size) or number or type(size) == "function") then
      fail(what, "a size of %s must be a name, a number >= 1 or a function; "
        .. "got %s", given[1], text.got(size))
    end
  end
  return {name = given[1], sizes = sizes}
end

-- An option {name =, default =, values =, help =}, or, with sizes and a type,
-- a Buffer that a call may name for more results.
local function option(what, given)
  if type(given) ~= "table" or not is_name(given.name) then
    fail(what, 'an option must be a table with a name, such as {name = '
      .. '"alpha", default = 1}; got %s', text.got(given))
  end
  cl.options(given, {"name", "values", "default", "help", "sizes", "type"},
    ("%s: option %s"):format(what, given.name))
  local values, default = given.values, given.default
  if given.sizes ~= nil then
    local one = operand(what, "option " .. given.name, {given.name,
      table.unpack(argument.check(what, "sizes", given.sizes, "table"))})
    if given.type ~= nil and not pcall(cl.typesize, given.type) then
      fail(what, "option %s: no type %s", given.name, text.got(given.type))
    end
    one.type, one.help = given.type, given.help or ""
    return one
  end
  if values ~= nil and (type(values) ~= "table" or #values == 0) then
    fail(what, "option %s: values must be a list of legal values; got %s",
      given.name, text.got(values))
  elseif values == nil and math.type(default) == nil then
    fail(what, "option %s needs values, or a number as default; got %s",
      given.name, text.got(default))
  end
  if default == nil then
    default = values[1]
  end
  return {name = given.name, values = values, help = given.help or "",
    default = default}
end

-- The name of the leading dimension of a matrix: "lda"; nil of a vector.
local function ld_of(one)
  return #one.sizes == 2 and "ld" .. one.name:lower() or nil
end

-- The operands and options of a declaration: {inputs, output, options, dims,
-- all (inputs and output)}.
local function parts_of(what, given)
  local parts = {inputs = {}, options = {}, dims = {}, all = {}}
  local taken = {}
  local function take(name)
    if taken[name] then
      fail(what, "the name '%s' is there twice", name)
    end
    taken[name] = true
  end
  for _, name in ipairs{"kernel", "queue", "after", "type"} do
    taken[name] = true
  end
  for i, one in ipairs(given.arguments) do
    parts.inputs[i] = operand(what, "argument " .. i, one)
    take(parts.inputs[i].name)
  end
  parts.output = operand(what, "output", given.output)
  take(parts.output.name)
  parts.all = table.move(parts.inputs, 1, #parts.inputs, 1, {})
  parts.all[#parts.all + 1] = parts.output
  for i, one in ipairs(given.options or {}) do
    parts.options[i] = option(what, one)
    take(parts.options[i].name)
  end
  local known = {}
  for _, one in ipairs(parts.inputs) do
    for _, size in ipairs(one.sizes) do
      if type(size) == "string" and not known[size] then
        take(size)
        known[size], parts.dims[#parts.dims + 1] = true, size
      end
    end
  end
  if #parts.dims == 0 then
    fail(what, "one size of the arguments at least must be a name")
  end
  for _, one in ipairs{parts.output, table.unpack(parts.options)} do
    for _, size in ipairs(one.sizes or {}) do
      if type(size) == "string" and not known[size] then
        fail(what, "no argument has the size '%s' of %s", size, one.name)
      end
    end
  end
  return parts
end

-- The sizes of an operand by a shape.
local function sizes_in(what, one, s)
  local sizes = {}
  for i, size in ipairs(one.sizes) do
    if type(size) == "function" then
      sizes[i] = argument.integer(what, ("size %d of %s, by its function,")
        :format(i, one.name), math.tointeger(size(s)) or size(s), 1)
    else
      sizes[i] = type(size) == "string" and s[size] or size
    end
  end
  return sizes
end

local function same(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return false
    end
  end
  return true
end

-- Takes the sizes of an argument into `s`; `from` has the argument that gave
-- each size. Sizes that are numbers or functions are compared.
local function take_sizes(what, one, b, s, from)
  local shape, n = b.shape, #one.sizes
  if n == 1 and #shape > 1 and not (b.rows and b.ld ~= b.cols) then
    shape = {#b} -- elements without gaps are a vector
  end
  if #shape ~= n then
    cl.error(("%s: %s must be %s; got %s"):format(what, one.name,
      n == 1 and "a vector, or elements without gaps"
      or n == 2 and "a matrix" or "a block of three dimensions",
      operands.describe(b)), {arg = one.name})
  end
  for i, name in ipairs(one.sizes) do
    if type(name) == "string" then
      if s[name] and s[name] ~= shape[i] then
        cl.error(("%s: %s is %s, but %s of %s is %d"):format(what, one.name,
          operands.describe(b), name, from[name], s[name]), {arg = one.name})
      end
      s[name], from[name] = shape[i], from[name] or one.name
    end
  end
  for i, size in ipairs(sizes_in(what, one, s)) do
    if size ~= shape[i] then
      cl.error(("%s: %s is %s, but %s must be %d"):format(what, one.name,
        operands.describe(b), n == 1 and "its size" or "size " .. i, size),
        {arg = one.name})
    end
  end
  local ld = ld_of(one)
  if ld then
    s[ld] = b.ld
  end
end

-- The value of an option, checked and rounded to the element type.
local function option_value(what, one, value, type)
  if value == nil then
    value = one.default
  end
  if not one.values then
    return operands.scalar(what, one.name, value, type)
  end
  for _, legal in ipairs(one.values) do
    if legal == value then
      return legal
    end
  end
  cl.error(("%s: %s must be one of %s; got %s"):format(what, one.name,
    text.values(one.values), text.got(value)), {arg = one.name})
end

-- The type of the first operand that has one; nil where all are tables.
local function type_of(parts, o)
  for _, one in ipairs(parts.inputs) do
    local x = o[one.name]
    local class = text.class(x)
    if class == "Array" or class == "Expression"
        or operands.is_buffer(x) and not x.closed then
      return x.type
    end
  end
end

local function check_type(what, types, type)
  for _, legal in ipairs(types) do
    if legal == type then
      return type
    end
  end
  cl.error(("%s: the type must be one of %s; got %s"):format(what,
    text.values(types), text.got(type)))
end

-- Makes the output, or checks a given one; `updated`: the kernel reads it too.
local function bind_output(what, parts, o, s, context, queue, updated)
  local one = parts.output
  local name, sizes = one.name, sizes_in(what, one, s)
  local b = o[name]
  if b == nil then
    if updated then
      cl.error(("%s: %s is missing: the result depends on its content")
        :format(what, name), {arg = name, hint = ("give it as option %s")
        :format(name)})
    end
    b = result.new(s.type, sizes, context, queue)
    o[name] = b
  else
    operands.check_output(what, name, b)
    operands.same_type(what, parts.inputs[1].name, o[parts.inputs[1].name],
      name, b)
    if not same(b.shape, sizes) then
      cl.error(("%s: %s is %s%s, but the result is %s"):format(what, name,
        text.shape(b.shape), b.shape[2] and "" or " elements",
        text.shape(sizes)), {arg = name})
    end
    for _, input in ipairs(parts.inputs) do
      operands.check_alias(what, name, b, input.name, o[input.name])
    end
  end
  local ld = ld_of(one)
  if ld then
    s[ld] = b.ld
  end
end

-- Checks a Buffer for more results; it shares no memory with `bound` Buffers.
local function bind_more(what, one, o, s, bound)
  local name, b = one.name, o[one.name]
  local sizes = sizes_in(what, one, s)
  operands.check_output(what, name, b)
  operands.check_type(what, name, b, {one.type or s.type})
  if not same(b.shape, sizes) then
    cl.error(("%s: %s must have %s elements; got %s"):format(what, name,
      text.shape(sizes), text.shape(b.shape)), {arg = name})
  end
  for other, given in pairs(bound) do
    operands.check_alias(what, name, b, other, given)
  end
  bound[name] = b
end

-- The functions of a specification that follow from the declared sizes. Each
-- takes the declaration `d` first, {name, given, types, parts, parameters
-- (functions(s, o) -> arguments), updates(s), terms(s)}.
local derived = {}

function derived.context(d, o, queue)
  local list = {n = #d.parts.all}
  for i, one in ipairs(d.parts.all) do
    list[i] = o[one.name]
  end
  return operands.context(list, queue)
end

-- A new shape with a type and options, but no sizes yet.
local function started(d, type, o)
  local s = {type = check_type(d.name, d.types, type or d.types[1])}
  s.esize = cl.typesize(s.type)
  for _, one in ipairs(d.parts.options) do
    if one.sizes then -- whether the call names the Buffer
      s[one.name] = o[one.name] and true or false
    else
      s[one.name] = option_value(d.name, one, o[one.name], s.type)
    end
  end
  return s
end

function derived.bind(d, o, context, queue)
  local name, parts = d.name, d.parts
  local s, from, bound = started(d, type_of(parts, o), o), {}, {}
  for _, one in ipairs(parts.inputs) do
    local b = operands.buffer(name, one.name, o[one.name], context, s.type)
    o[one.name], bound[one.name] = b, b
    take_sizes(name, one, b, s, from)
    local first = parts.inputs[1].name
    operands.same_type(name, first, o[first], one.name, b)
  end
  bind_output(name, parts, o, s, context, queue, d.updates(s))
  bound[parts.output.name] = o[parts.output.name]
  for _, one in ipairs(parts.options) do
    if one.sizes and s[one.name] then
      bind_more(name, one, o, s, bound)
    elseif one.sizes then
      o[one.name] = nil -- the shape has `false` for it
    end
  end
  operands.check_context(name, bound, context)
  return s
end

function derived.shape(d, given)
  local s = started(d, given.type, given)
  for _, dim in ipairs(d.parts.dims) do
    s[dim] = argument.integer(d.name, "the shape's " .. dim, given[dim], 1)
  end
  for _, one in ipairs(d.parts.all) do
    local ld = ld_of(one)
    if ld then
      s[ld] = given[ld] or sizes_in(d.name, one, s)[2]
    end
  end
  return s
end

-- The arguments of a kernel, by the names of its parameters.
function derived.args(d, s, _, o)
  local args = {n = #d.parameters}
  for i, take in ipairs(d.parameters) do
    args[i] = take(s, o)
  end
  return args
end

function derived.make(d, s, seed)
  local o, name = {}, d.name
  s = derived.shape(d, s)
  local random = d.updates(s) and d.parts.all or d.parts.inputs
  for i, one in ipairs(random) do
    local sizes = sizes_in(name, one, s)
    local h <close> = cl.array(s.type, sizes)
    o[one.name] = cl.buffer(s.type, sizes, h:random(seed + i - 1))
  end
  for _, one in ipairs(d.parts.options) do
    o[one.name] = s[one.name]
    if one.sizes then
      o[one.name] = s[one.name] and cl.buffer(one.type or s.type,
        sizes_in(name, one, s)) or nil
    end
  end
  return o
end

function derived.bytes(d, s)
  local elements = 0
  for _, one in ipairs(d.parts.all) do
    local count = one == d.parts.output and d.updates(s) and 2 or 1
    for _, size in ipairs(sizes_in(d.name, one, s)) do
      count = count * size
    end
    elements = elements + count
  end
  return elements * s.esize
end

-- The value that rows of choices.lua may ask for: bytes of the first operand.
function derived.measures(d, s)
  local bytes = s.esize
  for _, size in ipairs(sizes_in(d.name, d.parts.inputs[1], s)) do
    bytes = bytes * size
  end
  return {bytes = bytes}
end

function derived.title(d, s)
  local sizes, words = {}, {}
  for i, dim in ipairs(d.parts.dims) do
    sizes[i] = s[dim]
  end
  for _, one in ipairs(d.parts.options) do
    words[#words + 1] = one.values and s[one.name] ~= one.default
      and ("%s=%s"):format(one.name, s[one.name])
      or one.sizes and s[one.name] and one.name or nil
  end
  return table.concat({table.concat(sizes, "x") .. " " .. s.type,
    table.unpack(words)}, " ")
end

-- The sizes and words that tell one shape from another: whole numbers, the
-- words of options, such as op = "max", and 1 for an option that is true.
function derived.sizes(_, s)
  local shape = {}
  for name, value in pairs(s) do
    if math.type(value) == "integer" and name ~= "esize"
        or type(value) == "string" and name ~= "type" then
      shape[name] = value
    elseif value == true then
      shape[name] = 1
    end
  end
  return shape
end

function derived.truth(d, o, s)
  local h = {}
  for _, one in ipairs(d.updates(s) and d.parts.all or d.parts.inputs) do
    h[one.name] = o[one.name]:read()
  end
  return verify.reference(d.name, s, d.terms and d.terms(s) or 1,
    d.given.reference(h, s)), h[d.parts.output.name]
end

-- The Buffers of the result: the output, and Buffers that are options.
local function pieces_of(parts)
  local more = {}
  for _, one in ipairs(parts.options) do
    more[#more + 1] = one.sizes and one.name or nil
  end
  return #more > 0 and function(plan)
    local list = {plan.output}
    for _, name in ipairs(more) do
      list[#list + 1] = plan.operands[name]
    end
    return list
  end or nil
end

local function check_types(what, types)
  for _, type in ipairs(types) do
    if not pcall(cl.typesize, type) then
      fail(what, "types must be a list of element types; got %s",
        text.got(type))
    end
  end
  return types[1] and types or fail(what, "types must not be empty")
end

-- The names of leading dimensions and of sizes, which are ints in kernels.
local function ints_of(parts)
  local ints = {table.unpack(parts.dims)}
  for _, one in ipairs(parts.all) do
    ints[#ints + 1] = ld_of(one)
  end
  return ints
end

local function names_of(parts)
  local names = {}
  for i, one in ipairs(parts) do
    names[i] = one.name
  end
  return names
end

-- The parameters of a kernel of declared sizes.
local function signature(parts)
  local words = {}
  for i, dim in ipairs(parts.dims) do
    words[i] = "int " .. dim
  end
  for _, one in ipairs(parts.all) do
    words[#words + 1] = ("global %sREAL *%s"):format(one ~= parts.output
      and "const " or "", one.name)
    words[#words + 1] = ld_of(one) and "int " .. ld_of(one) or nil
  end
  for _, one in ipairs(parts.options) do
    words[#words + 1] = not one.values and not one.sizes and "REAL "
      .. one.name or nil
  end
  return table.concat(words, ", ")
end

-- By the name of a parameter: the function(s, o) that gives its argument.
local function arguments_of(parts)
  local by_name = {}
  local function take(name, f)
    by_name[name] = f
  end
  local function of_shape(name)
    take(name, function(s) return s[name] end)
  end
  for _, dim in ipairs(parts.dims) do
    of_shape(dim)
  end
  for _, list in ipairs{parts.all, parts.options} do
    for _, one in ipairs(list) do
      local name = one.name
      if not one.sizes then
        of_shape(name)
      else
        take(name, function(_, o) return o[name] end)
        take(ld_of(one) or name .. ".ld", function(_, o) return o[name].ld end)
      end
    end
  end
  return by_name
end

-- The arguments for a list of parameters, such as "int n, global REAL *x", as
-- functions(s, o).
local function parameters_of(what, text_of, parts)
  local by_name, list = arguments_of(parts), {}
  for one in text_of:gmatch "[^,]+" do
    local name = one:match "([%a_][%w_]*)%s*$"
    list[#list + 1] = by_name[name] or fail(what, "signature: no size, "
      .. "operand or number is called '%s'", tostring(name))
  end
  return list
end

-- The entry of help for a family's call, in the form of base/api.lua.
local function page(spec, given, parts)
  local rows = {}
  local function row(name, default, words)
    rows[#rows + 1] = {name = name, default = default, text = words}
  end
  row("kernel", "the best known", ("a rung's name, see %s.kernels; with it "
    .. "the rung's own parameters"):format(spec.name))
  row(spec.output, "a new one", "the Buffer to write")
  for _, one in ipairs(parts.options) do
    local default = one.sizes and "none" or tostring(one.default)
    row(one.name, default, one.values and ("one of %s%s"):format(
      text.values(one.values), one.help ~= "" and ": " .. one.help or "")
      or one.help)
  end
  row("queue", "default queue", "the Queue to run on")
  row("after", "none", "a list of events to wait for")
  return {name = spec.name, text = given.help or "", options = rows,
    signature = ("%s(%s [, opts]) -> %s, event"):format(spec.name,
    table.concat(spec.inputs, ", "), spec.output)}
end

-- The host routines of a declaration, checked.
local function hosts_of(what, hosts)
  for i, host in ipairs(hosts) do
    if type(host) ~= "table" or type(host.name) ~= "string"
        or type(host.run) ~= "function" then
      fail(what, "host %d must be a table with a name and a function run; got "
        .. "%s", i, text.got(host))
    end
  end
  return hosts
end

--- declaration.spec(given, foreign) -> specification
--- The specification by which the engine runs a family, from the table that
--- family.new takes; `foreign`: a script's family takes no name of clshell's.
function M.spec(given, foreign)
  local what = check_fields(given)
  if foreign then
    check_name(given.name)
  end
  if #given.arguments == 0 then
    fail(what, 'arguments must be a list such as {{"A", "rows", "cols"}}')
  elseif #given.rungs == 0 then
    fail(what, "rungs must be a list of one rung at least")
  elseif not (given.reference or given.truth) then
    fail(what, "field 'reference' is missing: no rate is told of a result "
      .. "that was not checked")
  end
  local parts = parts_of(what, given)
  local parameters = given.signature or signature(parts)
  local d = {name = given.name, given = given, parts = parts,
    parameters = not given.args and parameters_of(what, parameters, parts),
    terms = given.terms
      and result_checks.checked(given.name, "terms", given.terms),
    types = check_types(what, given.types or {"float", "double"}),
    updates = given.updates or function() return false end}
  local spec = {signature = parameters, dims = parts.dims, keeps_plans = true,
    flop = function() return 0 end,
    pieces = given.truth and pieces_of(parts)}
  for name, f in pairs(derived) do
    spec[name] = function(...)
      return f(d, ...)
    end
  end
  for key, value in pairs(given) do
    spec[key] = value
  end
  spec.inputs, spec.output = names_of(parts.inputs), parts.output.name
  spec.extras = {spec.output, table.unpack(names_of(parts.options))}
  spec.ints = ints_of(parts)
  spec.hosts = hosts_of(what, given.hosts or {})
  for _, name in ipairs{"flop", "bytes", "make", "measures"} do
    spec[name] = spec[name]
      and result_checks.checked(given.name, name, spec[name])
  end
  spec.page = page(spec, given, parts)
  return spec
end

return M

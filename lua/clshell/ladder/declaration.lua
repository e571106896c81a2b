-- ladder/declaration.lua - the specification of a family from its declaration:
-- fields that follow from the sizes of operands are filled in, others checked
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local families = require "clshell.ladder.families"
local lazy = require "clshell.base.lazy"
local operands = require "clshell.ladder.operands"
local result = require "clshell.base.result"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local M = {}

local WHAT = "family.new"

local function fail(what, format, ...)
  cl.error(("%s: %s"):format(what, format:format(...)),
    {hint = 'help "family.new" has an example'})
end

local function is_name(x)
  return type(x) == "string" and x:find "^[%a_][%w_]*$" ~= nil
end

local function is_list(x)
  return #x > 0
end

-- Whether a value is one of the words of a text, as a function.
local function one_of(words)
  local set = text.set(words)
  return function(x)
    return set[x] ~= nil
  end
end

local TABLE, STRING = {"table"}, {"string"}

-- The fields that are no functions, see rung.fields.
local FIELDS = {
  name = {"string", "of letters and digits", function(x)
    return is_name(x) and not x:find "_"
  end},
  arguments = {"table", 'a list such as {{"A", "rows", "cols"}}', is_list},
  rungs = {"table", "a list of one rung at least", is_list},
  cache = {"string", "'hot' or 'cold'", one_of "hot cold"},
  memory = {"string", "'copy', 'read' or 'write'", one_of "copy read write"},
  help = STRING, signature = STRING, options = TABLE, types = TABLE,
  hosts = TABLE, awkward = TABLE, placing = TABLE, keeps_plans = {"boolean"},
  output = {}, dims = {},
}

local function check_fields(given)
  if type(given) ~= "table" then
    fail(WHAT, "the declaration must be a table; got %s", text.got(given))
  end
  rungs.fields(WHAT, WHAT, given, FIELDS, "name arguments output rungs")
end

-- Raises where a script's family takes a name of clshell's own.
local function check_name(name)
  if families.is_own(name) or name == "cl" or lazy.public.module(name) then
    fail(WHAT, "the name '%s' is clshell's own; take another", name)
  end
end

-- An operand {"A", "rows", "cols"} as {name =, sizes =, ld =}: `ld` is the
-- name of the leading dimension of a matrix, "lda".
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
  return {name = given[1], sizes = sizes,
    ld = #sizes == 2 and "ld" .. given[1]:lower() or nil}
end

local function check_types(what, types, format)
  for _, type in ipairs(types) do
    if not pcall(cl.typesize, type) then
      fail(what, format, text.got(type))
    end
  end
  return types
end

-- An option {name =, default =, values =, help =}, or, with sizes and a type,
-- a Buffer that a call may name for more results.
local function option(what, given)
  if type(given) ~= "table" or not is_name(given.name) then
    fail(what, 'an option must be a table with a name, such as {name = '
      .. '"alpha", default = 1}; got %s', text.got(given))
  end
  cl.options(given, {"name", "values", "default", "help", "sizes", "type",
    "try"}, ("%s: option %s"):format(what, given.name))
  local one = {name = given.name, help = given.help or "", try = given.try}
  local where = "option " .. given.name
  if given.sizes ~= nil then
    local sized = operand(what, where, {given.name,
      table.unpack(argument.check(what, "sizes", given.sizes, "table"))})
    one.sizes, one.ld = sized.sizes, sized.ld
    one.type = check_types(what, {given.type}, where .. ": no type %s")[1]
    return one
  end
  one.values, one.default = given.values, given.default
  if one.values ~= nil and (type(one.values) ~= "table"
      or #one.values == 0) then
    fail(what, "%s: values must be a list of legal values; got %s", where,
      text.got(one.values))
  elseif one.values == nil and math.type(one.default) == nil then
    fail(what, "%s needs values, or a number as default; got %s", where,
      text.got(one.default))
  elseif one.default == nil then
    one.default = one.values[1]
  end
  return one
end

-- The names of the parts in one or two lists.
local function names_of(first, second)
  local names = {}
  for _, list in ipairs{first, second} do
    for _, one in ipairs(list) do
      names[#names + 1] = one.name
    end
  end
  return names
end

-- The operands and options of a declaration: {inputs, output, all (inputs and
-- output), options, dims}, and of the options `settings` (values) and `more`
-- (Buffers).
local function parts_of(what, given)
  local parts = {inputs = {}, options = {}, dims = {}, all = {},
    settings = {}, more = {}}
  local taken = text.set "kernel queue after type"
  local function take(name)
    if taken[name] then
      fail(what, "the name '%s' is there twice", name)
    end
    taken[name] = true
  end
  for i, one in ipairs(given.arguments) do
    parts.inputs[i] = operand(what, "argument " .. i, one)
    parts.all[i] = parts.inputs[i]
  end
  parts.output = operand(what, "output", given.output)
  parts.all[#parts.all + 1] = parts.output
  for i, one in ipairs(given.options or {}) do
    one = option(what, one)
    parts.options[i] = one
    table.insert(one.sizes and parts.more or parts.settings, one)
  end
  for _, name in ipairs(names_of(parts.all, parts.options)) do
    take(name)
  end
  local known = {}
  for _, list in ipairs{parts.inputs, {parts.output}, parts.more} do
    for _, one in ipairs(list) do
      for _, size in ipairs(one.sizes) do
        if type(size) == "string" and not known[size] then
          if list ~= parts.inputs then
            fail(what, "no argument has the size '%s' of %s", size, one.name)
          end
          take(size)
          known[size], parts.dims[#parts.dims + 1] = true, size
        end
      end
    end
    if #parts.dims == 0 then
      fail(what, "one size of the arguments at least must be a name")
    end
  end
  return parts
end

-- The sizes of an operand by a shape, and their product.
local function sizes_in(what, one, s)
  local sizes, product = {}, 1
  for i, size in ipairs(one.sizes) do
    if type(size) == "function" then
      sizes[i] = argument.integer(what, ("size %d of %s, by its function,")
        :format(i, one.name), math.tointeger(size(s)) or size(s), 0)
    else
      sizes[i] = type(size) == "string" and s[size] or size
    end
    product = product * sizes[i]
  end
  return sizes, product
end

-- Takes the sizes of an argument into `s`; `from` has the argument that gave
-- each size. Sizes that are numbers or functions are compared.
local function take_sizes(what, one, b, s, from)
  local shape, n = b.shape, #one.sizes
  if n == 1 and #shape > 1 and not (b.rows and b.ld ~= b.cols) then
    shape = {#b} -- elements without gaps are a vector
  end
  if #shape ~= n then
    argument.refuse(what, one.name, "must be %s; got %s",
      n == 1 and "a vector, or elements without gaps"
      or n == 2 and "a matrix" or "a block of three dimensions",
      operands.describe(b))
  end
  for i, name in ipairs(one.sizes) do
    if type(name) == "string" then
      if s[name] and s[name] ~= shape[i] then
        argument.refuse(what, one.name, "is %s, but %s of %s is %d",
          operands.describe(b), name, from[name], s[name])
      end
      s[name], from[name] = shape[i], from[name] or one.name
    end
  end
  if one.ld then
    s[one.ld] = b.ld
  end
  for i, size in ipairs((sizes_in(what, one, s))) do
    if size ~= shape[i] then
      argument.refuse(what, one.name, "is %s, but %s must be %d",
        operands.describe(b), n == 1 and "its size" or "size " .. i, size)
    end
  end
end

-- Raises unless a value is one of a list.
local function check_listed(what, name, value, list)
  if not rungs.index_of(list, value) then
    argument.refuse(what, name, "must be one of %s; got %s", text.values(list),
      text.got(value))
  end
  return value
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

-- Raises where a Buffer for results has other sizes than `sizes`, which
-- `format` tells, or shares memory with the Buffers of `bound`.
local function check_result(what, name, b, sizes, bound, format)
  local own, wanted = text.shape(b.shape), text.shape(sizes)
  if own ~= wanted then
    argument.refuse(what, name, format:gsub("OWN", own):gsub("WANTED", wanted))
  end
  for other, given in pairs(bound) do
    operands.check_alias(what, name, b, other, given)
  end
end

-- Makes the output, or checks a given one.
local function bind_output(d, o, s, context, queue, bound)
  local name, first = d.parts.output.name, d.parts.inputs[1].name
  local sizes = sizes_in(d.name, d.parts.output, s)
  local b = o[name]
  if b ~= nil then
    operands.check_output(d.name, name, b)
    operands.same_type(d.name, first, o[first], name, b)
    check_result(d.name, name, b, sizes, bound, "is OWN"
      .. (b.shape[2] and "" or " elements") .. ", but the result is WANTED")
  elseif d.updates(s) then
    cl.error(("%s: %s is missing: the result depends on its content")
      :format(d.name, name), {arg = name, hint = ("give it as option %s")
      :format(name)})
  else
    o[name] = result.new(s.type, sizes, context, queue)
  end
  bound[name] = o[name]
  if d.parts.output.ld then
    s[d.parts.output.ld] = o[name].ld
  end
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
  local s = {type = check_listed(d.name, "the type", type or d.types[1],
    d.types)}
  s.esize = cl.typesize(s.type)
  for _, one in ipairs(d.parts.more) do -- whether the call names the Buffer
    s[one.name] = o[one.name] and true or false
  end
  for _, one in ipairs(d.parts.settings) do
    local name, value = one.name, o[one.name]
    if value == nil then
      value = one.default
    end
    if one.values then
      s[name] = check_listed(d.name, name, value, one.values)
    else -- rounded to the element type
      s[name] = operands.scalar(d.name, name, value, s.type)
    end
  end
  return s
end

function derived.bind(d, o, context, queue)
  local name, parts = d.name, d.parts
  local s, from, bound = started(d, type_of(parts, o), o), {}, {}
  local first = parts.inputs[1].name
  for _, one in ipairs(parts.inputs) do
    local b = operands.buffer(name, one.name, o[one.name], context, s.type)
    o[one.name], bound[one.name] = b, b
    take_sizes(name, one, b, s, from)
    operands.same_type(name, first, o[first], one.name, b)
  end
  bind_output(d, o, s, context, queue, bound)
  for _, one in ipairs(parts.more) do
    local b = o[one.name]
    if s[one.name] then
      operands.check_output(name, one.name, b)
      operands.check_type(name, one.name, b, {one.type or s.type})
      check_result(name, one.name, b, sizes_in(name, one, s), bound,
        "must have WANTED elements; got OWN")
      bound[one.name] = b
    else
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
    if one.ld then
      s[one.ld] = given[one.ld] or sizes_in(d.name, one, s)[2]
    end
  end
  return s
end

-- The arguments of a kernel, by the names of its parameters.
function derived.args(d, s, _, o)
  local args = {n = #d.parameters}
  for i, parameter in ipairs(d.parameters) do
    args[i] = parameter(s, o)
  end
  return args
end

function derived.make(d, s, seed)
  local o, name = {}, d.name
  s = derived.shape(d, s)
  local random = d.updates(s) and d.parts.all or d.parts.inputs
  for i, one in ipairs(random) do
    local sizes = sizes_in(name, one, s)
    o[one.name] = operands.random(s.type, sizes, seed + i - 1)
  end
  for _, one in ipairs(d.parts.settings) do
    o[one.name] = s[one.name]
  end
  for _, one in ipairs(d.parts.more) do
    o[one.name] = s[one.name] and cl.buffer(one.type or s.type,
      (sizes_in(name, one, s))) or nil
  end
  return o
end

function derived.bytes(d, s)
  local elements = 0
  for _, one in ipairs(d.parts.all) do
    local _, count = sizes_in(d.name, one, s)
    local twice = one == d.parts.output and d.updates(s)
    elements = elements + (twice and 2 or 1) * count
  end
  return elements * s.esize
end

-- A list of {name, sizes, bytes} of the operands of a complete shape.
function derived.extents(d, s)
  local list = {}
  for i, one in ipairs(d.parts.all) do
    local sizes, bytes = sizes_in(d.name, one, s), 1.0 * s.esize
    for _, size in ipairs(sizes) do
      bytes = bytes * size -- a real number: integers wrap
    end
    list[i] = {name = one.name, sizes = sizes, bytes = bytes}
  end
  return list
end

-- The value that rows of choices.lua may ask for: bytes of the first operand.
function derived.measures(d, s)
  local _, count = sizes_in(d.name, d.parts.inputs[1], s)
  return {bytes = count * s.esize}
end

function derived.title(d, s)
  local words = {text.values(d.parts.dims, "x", function(dim)
    return s[dim]
  end) .. " " .. s.type}
  for _, one in ipairs(d.parts.options) do
    words[#words + 1] = one.values and s[one.name] ~= one.default
      and ("%s=%s"):format(one.name, s[one.name])
      or one.sizes and s[one.name] and one.name or nil
  end
  return table.concat(words, " ")
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

-- What a rung promises beyond the sizes, for check: a list of {name, says},
-- with values to `try`, the operand with a `gap` behind each of its rows, or
-- `inner`, for matrices inside of larger ones.
function derived.promises(d, rung)
  local list = {}
  for i, one in ipairs(rung.plain and {} or d.parts.settings) do
    local try = one.try or not one.values and {2 + i, 5 + i} or nil
    if type(try) == "function" then
      try = try(rung)
    end
    list[#list + 1] = try and try[1] ~= nil and {name = one.name, try = try,
      says = "option "
      .. one.name .. (one.help ~= "" and ": " .. one.help or " counts")} or nil
  end
  for _, one in ipairs(rung.plain and {} or d.parts.all) do
    list[#list + 1] = one.ld and {name = one.ld, gap = one.name, says =
      ("%s: row i + 1 of %s begins %s elements behind row i"):format(one.ld,
      one.name, one.ld)}
  end
  list[#list + 1] = rung.places and {name = "inner", inner = true,
    says = "sub-matrices: operands begin inside of larger matrices"}
  return list
end

-- The reason why a plain rung cannot serve a shape, or nil.
function derived.plain(d, s)
  for _, one in ipairs(d.parts.settings) do
    if s[one.name] ~= one.default and not one.name:find "^stride_" then
      return ("is plain: %s must be %s; got %s"):format(one.name, one.default,
        s[one.name])
    end
  end
  for _, one in ipairs(d.parts.all) do
    local cols = one.ld and sizes_in(d.name, one, s)[2]
    if cols and s[one.ld] and s[one.ld] ~= cols then
      return ("is plain: %s, the distance of rows of %s, must be %d; got %d")
        :format(one.ld, one.name, cols, s[one.ld])
    end
  end
end

-- The arguments of a plain kernel, by the names and the order of its
-- parameters: Buffers for the operands, whole numbers for the sizes; nil and
-- the reason where they cannot be told. A single size stands for all.
function derived.plain_args(d, s, o, kernel)
  local args, known, sizes, pointers = {n = #kernel.args}, {}, {}, 0
  local dims = d.given.dims or d.parts.dims
  for _, one in ipairs(d.parts.all) do
    known[one.name:lower()] = o[one.name]
  end
  for _, dim in ipairs(dims) do
    known[dim:lower()] = s[dim]
  end
  for i, param in ipairs(kernel.args) do
    args[i] = known[param.name:lower()]
    if param.type:find "%*" then
      pointers = pointers + 1
      args[i] = args[i] or o[(d.parts.all[pointers] or {}).name]
    else
      sizes[#sizes + 1] = i
    end
  end
  for _, dim in ipairs(#sizes == 1 and dims or {}) do
    args[sizes[1]] = s[dim]
    if s[dim] ~= s[dims[1]] then
      return nil, ("takes one size, %s: %s must be equal"):format(
        kernel.args[sizes[1]].name, table.concat(dims, ", "))
    end
  end
  for i, param in ipairs(kernel.args) do
    if args[i] == nil then
      return nil, ("its parameter %s is no operand and no size; give the "
        .. "rung `args`"):format(param.name)
    end
  end
  return args
end

function derived.truth(d, o, s)
  local h = {}
  for _, one in ipairs(d.updates(s) and d.parts.all or d.parts.inputs) do
    h[one.name] = o[one.name]:read()
  end
  local verify = require "clshell.ladder.verify"
  return verify.reference(d.name, s, d.terms and d.terms(s) or 1,
    d.given.reference(h, s)), h[d.parts.output.name]
end

-- The Buffers of the result: the output, and Buffers that are options.
local function pieces_of(parts)
  return #parts.more > 0 and function(plan)
    local list = {plan.output}
    for _, one in ipairs(parts.more) do
      list[#list + 1] = plan.operands[one.name]
    end
    return list
  end or nil
end

-- The functions(s, o) that give the arguments of a kernel, in the order of its
-- signature, such as "int n, global REAL *x"; and the signature: by default
-- all sizes, operands and numbers.
local function parameters_of(what, given, parts)
  local by_name, words, list = {}, {}, {}
  local function add(name, word, take)
    by_name[name] = take or function(s) return s[name] end
    words[#words + 1] = word
  end
  for _, dim in ipairs(parts.dims) do
    add(dim, "int " .. dim)
  end
  for _, operands_of in ipairs{parts.all, parts.more} do
    for _, one in ipairs(operands_of) do
      local name, shown = one.name, operands_of == parts.all
      add(name, shown and ("global %sREAL *%s"):format(
        one ~= parts.output and "const " or "", name) or nil,
        function(_, o) return o[name] end)
      if one.ld then
        add(one.ld, shown and "int " .. one.ld or nil,
          function(_, o) return o[name].ld end)
      end
    end
  end
  for _, one in ipairs(parts.settings) do
    add(one.name, not one.values and "REAL " .. one.name or nil)
  end
  local signature = given.signature or table.concat(words, ", ")
  for one in (given.args and "" or signature):gmatch "[^,]+" do
    local name = one:match "([%a_][%w_]*)%s*$"
    list[#list + 1] = by_name[name] or fail(what, "signature: no size, "
      .. "operand or number is called '%s'", tostring(name))
  end
  return list, signature
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

-- The field `placing` of families whose kernels take the operands as they are.
local AS_THEY_ARE = {
  adapt = function(_, s)
    return s
  end,
  pass = function(args)
    return args
  end,
  stage = function(_, s, _, o, _, launch)
    return launch(s, o)
  end,
}

--- declaration.spec(given, foreign) -> specification
--- The specification by which the engine runs a family, from the table that
--- family.new takes; `foreign`: a script's family takes no name of clshell's.
function M.spec(given, foreign)
  check_fields(given)
  if foreign then
    check_name(given.name)
  end
  local what = ("%s: %s"):format(WHAT, given.name)
  if not (given.reference or given.truth) then
    fail(what, "field 'reference' is missing: no rate is told of a result "
      .. "that was not checked")
  end
  local parts = parts_of(what, given)
  local d = {name = given.name, given = given, parts = parts,
    terms = given.terms
      and rungs.checked(given.name, "terms", given.terms),
    types = check_types(what, given.types or {"float", "double"},
      "types must be a list of element types; got %s"),
    updates = given.updates or function() return false end}
  if #d.types == 0 then
    fail(what, "types must not be empty")
  end
  local spec = {dims = parts.dims, keeps_plans = true, placing = AS_THEY_ARE,
    cache = "hot",
    flop = function() return 0 end,
    pieces = given.truth and pieces_of(parts)}
  d.parameters, spec.signature = parameters_of(what, given, parts)
  for name, f in pairs(derived) do
    spec[name] = function(...)
      return f(d, ...)
    end
  end
  for key, value in pairs(given) do
    spec[key] = value
  end
  spec.inputs, spec.output = names_of(parts.inputs), parts.output.name
  spec.extras = names_of({parts.output}, parts.options)
  spec.ints = {table.unpack(parts.dims)} -- ints of kernels
  for _, one in ipairs(parts.all) do
    spec.ints[#spec.ints + 1] = one.ld
  end
  spec.hosts = hosts_of(what, given.hosts or {})
  for _, name in ipairs{"flop", "bytes", "make", "measures"} do
    spec[name] = spec[name]
      and rungs.checked(given.name, name, spec[name])
  end
  spec.page = page(spec, given, parts)
  return spec
end

return M

-- ladder/rung.lua - one rung of a ladder: the checks on its definition, on the
-- results of its functions and on the parameters of a run, and the reasons of
-- a device against a launch, each with both numbers
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local operands = require "clshell.ladder.operands"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

--- rung.UNITS
--- The arithmetic units of kernels, in words: "fma" of a result's own type;
--- tensor cores by the type of their operands; "tensor" for other
--- instructions, which have no roof. See unit.lua.
M.UNITS = "fma tensor_char tensor_half tensor_tf32 tensor_double tensor"

local INT_MAX = 2^31 - 1
local RESERVE = 1024 -- bytes, see NVRESERVE in context.c
local TRIES = 10000 -- the configurations that a call looks at, at most

--- rung.fields(what, api, given, kinds, needed)
--- Raises unless the fields of a definition are among the options of function
--- `api`, the fields in `needed` are there, and their values are of their
--- `kinds`, by name: {type (nil: any), rule, test}, with the rule and its test
--- where the type does not tell all. Fields that are not in `kinds` are
--- functions.
function M.fields(what, api, given, kinds, needed)
  local hint = {hint = ('help "%s" has an example'):format(what)}
  cl.options(given, options.names(api), what)
  for name in needed:gmatch "%S+" do
    if given[name] == nil then
      cl.error(("%s: field '%s' is missing"):format(what, name), hint)
    end
  end
  for name, value in pairs(given) do
    local kind, rule, legal = "function", nil, nil
    if kinds[name] then
      kind, rule, legal = table.unpack(kinds[name])
    end
    if kind and type(value) ~= kind then
      cl.error(("%s: %s must be %s; got %s"):format(what, name,
        text.article(kind), text.got(value)), hint)
    elseif legal and not legal(value) then
      cl.error(("%s: %s must be %s; got %s"):format(what, name, rule,
        kind == "string" and "'" .. value .. "'"
        or kind == "table" and "{" .. text.values(value) .. "}"
        or tostring(value)), hint)
    end
  end
end

-- The place of a value in a list; nil for a value that is not there.
function M.index_of(list, value)
  for i, other in ipairs(list) do
    if other == value then
      return i
    end
  end
end

local function is_table(x)
  return type(x) == "table"
end

local function is_amount(x)
  return math.type(x) ~= nil and x >= 0 and x < math.huge
end

local function is_words(x)
  return type(x) == "string"
end

-- The sizes of an NDRange as a list; nil for any other value.
local function sizes(x)
  local list = type(x) == "table" and x or {x}
  for i = 1, #list do
    local n = math.type(list[i]) and math.tointeger(list[i])
    if not n or n < 1 then
      return nil
    end
  end
  return #list >= 1 and #list <= 3 and list or nil
end

-- By function: the rule, the test of a result, and whether it may be nil.
local RULES = {
  accepts = {"nil, or the reason as a string", is_words, true},
  args = {"the list of the kernel's arguments", is_table},
  bytes = {"a number >= 0", is_amount},
  defines = {"a table of names and values", is_table},
  flop = {"a number >= 0", is_amount},
  local_bytes = {"a number of bytes >= 0", is_amount, true},
  make = {"a table of operands", is_table},
  measures = {"a table", is_table},
  options = {"a string", is_words, true},
  prepare = {"a table of operands, or nothing", is_table, true},
  terms = {"a number >= 0", is_amount},
  traffic = {"a table, or nothing", is_table, true},
}

local function refuse(what, name, rule, value, hint)
  cl.error(("%s: %s must return %s; got %s"):format(what, name, rule,
    text.got(value)), {arg = name, hint = hint})
end

local function checked_range(what, range)
  return function(s, p)
    local global, size = range(s, p)
    local all, group = sizes(global), sizes(size)
    if not all or size ~= nil and not group then
      refuse(what, "range", "the global size, then the local size or nil: "
        .. "numbers >= 1, or lists of 1 to 3", all and size or global,
        "the shape s has " .. table.concat(text.keys(s), ", "))
    end
    return all, group
  end
end

--- rung.checked(what, name, f) -> function
--- Function `name` of the family or rung `what`, such as "gemm.tiled", with a
--- check of its result. Numbers of a range become lists.
function M.checked(what, name, f)
  if name == "range" then
    return checked_range(what, f)
  elseif not RULES[name] then
    return f
  end
  local rule, legal, optional = table.unpack(RULES[name])
  return function(...)
    local result = f(...)
    if not legal(result) and not (optional and not result) then
      refuse(what, name, rule, result)
    end
    return result
  end
end

local STRING, BOOLEAN, TABLE = {"string"}, {"boolean"}, {"table"}

-- The fields that are no functions, see rung.fields.
local FIELDS = {
  name = {"string", "of letters, digits and _", function(x)
    return x:find "^[%a_][%w_]*$" ~= nil
  end},
  file = STRING, source = STRING, lesson = STRING, format = STRING,
  kernel = STRING, places = STRING, params = TABLE, trans = TABLE,
  input_roundoff = {"number"}, guarded = BOOLEAN, ptx = BOOLEAN,
  half = BOOLEAN, wide = BOOLEAN, plain = BOOLEAN,
  types = {"table", "a list of element types", function(types)
    for _, type in ipairs(types) do
      if not pcall(cl.typesize, type) then
        return false
      end
    end
    return #types > 0
  end},
  unit = {"string", "one of " .. M.UNITS:gsub(" ", ", "), function(x)
    return text.set(M.UNITS)[x] ~= nil
  end},
  products = {false, "a whole number >= 1, or f(s, p) -> one", function(x)
    return type(x) == "function" or math.type(x) == "integer" and x >= 1
  end},
}

local function check_param(param, taken, what)
  if type(param) ~= "table" or type(param.name) ~= "string" then
    cl.error(what .. ": a parameter must be a table with a name")
  end
  cl.options(param, {"name", "values", "default", "help"},
    what .. ": parameter " .. param.name)
  if taken[param.name] then
    cl.error(("%s: parameter name '%s' is taken; take another"):format(what,
      param.name))
  end
  if type(param.values) ~= "table" or #param.values == 0 then
    cl.error(("%s: parameter '%s' has no list of legal values"):format(
      what, param.name))
  end
  local default = param.default
  if default == nil then
    default = param.values[1]
  elseif not M.index_of(param.values, default) then
    cl.error(("%s: the default of parameter '%s' must be one of %s; got %s")
      :format(what, param.name, text.values(param.values), default))
  end
  return {name = param.name, values = param.values, default = default,
    help = param.help or ""}
end

-- A rung from its M. `reserved` are option names of the family,
-- which no parameter may have.
function M.new(family, def, reserved)
  local what = family .. ".define"
  argument.check(what, "the rung", def, "table",
    ('help "%s" has an example'):format(what))
  M.fields(what, "family.define", def, FIELDS, "name range")
  if (def.file == nil) == (def.source == nil) then
    cl.error(what .. ": give either 'file', the path of a .cl file, or "
      .. "'source', its text",
      {hint = ('help "%s" has an example'):format(what)})
  end
  what = ("%s.define: %s"):format(family, def.name)
  local rung, taken = {}, {}
  for key, value in pairs(def) do
    rung[key] = type(value) == "function" and M.checked(
      ("%s.%s"):format(family, def.name), key, value) or value
  end
  for _, name in ipairs(reserved) do
    taken[name] = true
  end
  rung.lesson = def.lesson or ""
  rung.params = {}
  local params = def.params or {}
  if #params == 0 and next(params) ~= nil then
    cl.error(what .. ": params must be a list; got a table with names",
      {hint = 'such as {{name = "tile", values = {8, 16}}}'})
  end
  for i, param in ipairs(params) do
    rung.params[i] = check_param(param, taken, what)
    taken[param.name] = true
  end
  return rung
end

-- The rung's parameters with `given` values, the defaults filled in.
function M.parameters(rung, given, what)
  local p = {}
  for _, param in ipairs(rung.params) do
    local value = given[param.name]
    if value == nil then
      p[param.name] = param.default
    else
      local i = M.index_of(param.values, value)
      if i == nil then
        cl.error(("%s: %s: %s must be one of %s; got %s"):format(
          what, rung.name, param.name, text.values(param.values), value))
      end
      p[param.name] = param.values[i]
    end
  end
  return p
end

-- M.parameters, but a name that no parameter has raises.
function M.configured(rung, given, what)
  cl.options(given, M.names(rung), ("%s, kernel %s"):format(what, rung.name))
  return M.parameters(rung, given, what)
end

-- The parameters without a given value, each {name, values, at}, `at` the
-- place of its default; and the largest number of steps from these defaults.
local function left_out(rung, given)
  local free, most = {}, 0
  for _, param in ipairs(rung.params) do
    if given[param.name] == nil then
      local at = M.index_of(param.values, param.default)
      free[#free + 1] = {name = param.name, values = param.values, at = at}
      most = most + math.max(at - 1, #param.values - at)
    end
  end
  return free, most
end

-- The rung's parameters: the `given` values, and for the others the values
-- nearest to their defaults for which try(p) is true; nil for no such values.
-- A step is one place in a list of values.
function M.nearest(rung, given, what, try)
  local p = M.parameters(rung, given, what)
  if try(p) then
    return p
  end
  local free, most = left_out(rung, given)
  local left = TRIES
  local function walk(i, steps)
    local one = free[i]
    if not one then
      left = left - 1
      return try(p)
    end
    for step = i == #free and steps or 0, steps do
      for _, place in ipairs{one.at - step, step > 0 and one.at + step} do
        p[one.name] = one.values[place]
        if p[one.name] ~= nil and left > 0 and walk(i + 1, steps - step) then
          return true
        end
      end
    end
    p[one.name] = one.values[one.at]
  end
  for steps = 1, most do
    if walk(1, steps) then
      return p
    end
  end
end

-- The names of the rungs of a family, in the order of their definitions.
function M.list(family)
  local names = {}
  for i, rung in ipairs(family.list) do
    names[i] = rung.name
  end
  return names
end

-- The rung of that name, for function `who` of the family.
function M.find(family, name, who)
  argument.check(who, "the kernel", name, "string",
    ('the name of a rung, such as "%s"'):format(family.list[1].name))
  for _, rung in ipairs(family.list) do
    if rung.name == name then
      return rung
    end
  end
  cl.error(("%s: %s"):format(who, text.unknown("kernel", name,
    M.list(family))))
end

-- The names of the rung's parameters, in order.
function M.names(rung)
  local names = {}
  for i, param in ipairs(rung.params) do
    names[i] = param.name
  end
  return names
end

-- Raises where `opts` has a name that neither a call of the family takes, nor
-- the rung if one is given.
function M.check_options(family, opts, rung)
  local names = {table.unpack(family.reserved)}
  for _, name in ipairs(rung and M.names(rung) or {}) do
    names[#names + 1] = name
  end
  cl.options(opts, names, family.name
    .. (rung and ", kernel " .. rung.name or ""))
end

-- "tile=16 pad=1"
function M.tostring(rung, p)
  return text.values(rung.params, " ", function(param)
    return ("%s=%s"):format(param.name, p[param.name])
  end)
end

-- The defines for a type of operands and of the result, of which kernels may
-- have no type: see gemm/stored.cl.
function M.element(from, to)
  local defines, bits, out = {REAL = from}, text.bits(from), text.bits(to)
  if bits then
    defines.REAL, defines.ELEMENT = "float", bits
    defines.WIDEN = "load_" .. from
  end
  if out then
    defines.C_ELEMENT, defines.WIDEN_C, defines.NARROW = out, "load_" .. to,
      "store_" .. to
  end
  return defines
end

-- The defines of a configuration: the rung's own, else each parameter under
-- its upper-case name; REAL is the element type, RESULT the result's of a
-- product of char.
function M.defines(rung, p, s)
  local defines = M.element(s.type, s.out or s.type)
  for name, value in pairs(rung.defines and rung.defines(p, s) or p) do
    defines[rung.defines and name or name:upper()] = value
  end
  defines.PLACED = s.placed and 1 or nil
  defines.RESULT = s.type == "char" and s.out or nil
  return defines
end

-- Whether a number is above a limit; false where the device tells no limit.
local function above(n, limit)
  return math.type(limit) ~= nil and n > limit
end

-- The local memory that a work-group of a rung may have.
local function local_limit(rung, dev)
  return rung.ptx and require "clshell.ladder.ptx".local_limit(dev)
    or dev.local_mem_size
end

-- The work-items of a group of `size` (nil: the driver chooses).
local function items(size)
  local group = 1
  for _, n in ipairs(size or {}) do
    group = group * n
  end
  return group
end

-- The reason why the device cannot run the rung with parameters p on shape s;
-- nil where it can. Builds nothing.
function M.refusal(ints, rung, p, s, dev)
  if s.type == "double" and not dev:has("cl_khr_fp64") then
    return "the device has no double (cl_khr_fp64)"
  elseif s.type == "half" and not rung.half
      and not dev:has("cl_khr_fp16") then
    return "the device has no half (cl_khr_fp16)"
  elseif rung.types and not M.index_of(rung.types, s.type)
      or not rung.types and (text.bits(s.type) or s.type == "char" and s.out)
      then
    return ("has no arithmetic of %s%s"):format(s.type, rung.types
      and ", it takes " .. table.concat(rung.types, ", ") or "")
  elseif s.out and s.out ~= s.type and not (rung.wide or s.type == "char"
      or text.bits(s.type)) then
    return ("its result is of its operands' type, %s; C is of %s"):format(
      s.type, s.out)
  elseif rung.format and rung.format ~= s.format then
    return ("takes a %s matrix, this one is %s"):format(rung.format:upper(),
      tostring(s.format):upper())
  end
  for _, name in ipairs(ints) do
    if s[name] and s[name] > INT_MAX then
      return ("%s = %.0f, kernels count to %d"):format(name, s[name], INT_MAX)
    end
  end
  local reason = rung.accepts and rung.accepts(dev, s, p)
  if reason then
    return reason
  end
  local bytes = rung.local_bytes and rung.local_bytes(s, p) or 0
  local room = local_limit(rung, dev)
  if above(bytes, room) then
    return ("local memory: needs %s, device has %s"):format(
      text.bytes(bytes), text.bytes(room))
  end
  local _, size = rung.range(s, p)
  local most = dev.max_work_item_sizes
  for i, n in ipairs(size or {}) do
    local limit = most and most[1] and (most[i] or 1) -- no such dimension: 1
    if above(n, limit) then
      return ("local %s: dimension %d allows %d on this device"):format(
        text.shape(size), i, limit)
    end
  end
  if above(items(size), dev.max_work_group_size) then
    return ("local %s = %.0f work-items, device allows %d"):format(
      text.shape(size), items(size), dev.max_work_group_size)
  end
end

-- The reason why a limit of a rung's built kernel refuses a launch, or nil.
function M.kernel_refusal(rung, kernel, size, dev)
  if above(items(size), kernel.work_group_size) then
    return ("local %s = %.0f work-items, this kernel allows %d on the device")
      :format(text.shape(size), items(size), kernel.work_group_size)
  end
  local reserve = dev.nv_compute_capability_major and RESERVE or 0
  local room = local_limit(rung, dev)
  if above(kernel.local_mem_size - reserve, room) then
    return ("local memory: the kernel takes %s, device has %s"):format(
      text.bytes(kernel.local_mem_size), text.bytes(room))
  end
end

-- The reason why a Buffer is too large for constant memory, or nil.
function M.constants_refusal(kernel, args, dev)
  for i, param in ipairs(kernel.args) do
    local b = args[i]
    if param.space == "constant" and operands.is_buffer(b)
        and above(b.bytes, dev.max_constant_buffer_size) then
      return ("%s is %s, the device's constant buffer %s"):format(param.name,
        text.bytes(b.bytes), text.bytes(dev.max_constant_buffer_size))
    end
  end
end

return M

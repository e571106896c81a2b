-- ladder/rung.lua - one rung of a ladder: the checks on its definition and on
-- the parameters of a run
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local definition = require "clshell.ladder.definition"
local text = require "clshell.base.text"

local index_of = definition.index_of

local M = {}

local TRIES = 10000 -- the configurations that a call looks at, at most

local STRING, BOOLEAN, TABLE = {"string"}, {"boolean"}, {"table"}

-- The fields that are no functions, see definition.fields.
local FIELDS = {
  name = {"string", "of letters, digits and _", function(x)
    return x:find "^[%a_][%w_]*$" ~= nil
  end},
  file = STRING, source = STRING, lesson = STRING, format = STRING,
  kernel = STRING, places = STRING, params = TABLE, trans = TABLE,
  input_roundoff = {"number"}, guarded = BOOLEAN, ptx = BOOLEAN,
  half = BOOLEAN, wide = BOOLEAN,
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
  elseif not index_of(param.values, default) then
    cl.error(("%s: the default of parameter '%s' must be one of %s; got %s")
      :format(what, param.name, text.values(param.values), default))
  end
  return {name = param.name, values = param.values, default = default,
    help = param.help or ""}
end

-- A rung from its definition. `reserved` are option names of the family,
-- which no parameter may have.
function M.new(family, def, reserved)
  local what = family .. ".define"
  argument.check(what, "the rung", def, "table",
    ('help "%s" has an example'):format(what))
  definition.fields(what, "family.define", def, FIELDS, "name range")
  if (def.file == nil) == (def.source == nil) then
    cl.error(what .. ": give either 'file', the path of a .cl file, or "
      .. "'source', its text",
      {hint = ('help "%s" has an example'):format(what)})
  end
  what = ("%s.define: %s"):format(family, def.name)
  local rung, taken = {}, {}
  for key, value in pairs(def) do
    rung[key] = type(value) == "function" and definition.checked(
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
      local i = index_of(param.values, value)
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
      local at = index_of(param.values, param.default)
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
  local words = {}
  for i, param in ipairs(rung.params) do
    words[i] = ("%s=%s"):format(param.name, p[param.name])
  end
  return table.concat(words, " ")
end

-- The defines of a configuration: the rung's own, else each parameter under
-- its upper-case name; REAL is the element type.
function M.defines(rung, p, s)
  local defines = {REAL = s.type}
  for name, value in pairs(rung.defines and rung.defines(p, s) or p) do
    defines[rung.defines and name or name:upper()] = value
  end
  defines.PLACED = s.placed and 1 or nil
  return defines
end

return M

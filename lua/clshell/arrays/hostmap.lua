-- arrays/hostmap.lua - the statements of cl.map on Arrays
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local formula = require "clshell.arrays.formula"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods = expression.methods

local SIGNS = {}
for sign in ("+ - * / % & | ^ << >>"):gmatch "%S+" do
  SIGNS[sign] = true
end

-- A statement: its type or nil, its name, the operator of an assignment such
-- as +=, and what is assigned.
local function statement(code)
  local word, name, value = code:match(
    "^%s*(%a[%w_]*)%s+([%a_][%w_]*)%s*=([^=].*)$")
  if types.known[word] then
    return word, name, "", value
  end
  local sign
  name, sign, value = code:match(
    "^%s*([%a_][%w_]*)%s*([%+%-%*/%%&|^<>]*)=([^=].*)$")
  if not name or sign ~= "" and not SIGNS[sign] then
    cl.error(("map: the host takes statements such as y = a * x alone; got: "
      .. "%s"):format(code:match "^%s*(.-)%s*$"),
      {hint = "a device takes all of OpenCL C; cl.device() says why there is "
        .. "none"})
  end
  return nil, name, sign, value
end

-- A value as a variable of a type.
local function converted(value, type)
  if math.type(value) then
    value = cl.array(math.type(value) == "float" and "double" or "long", 1,
      value)
  end
  return methods.astype(value, types.calculated(type))
end

-- A leaf as an operand: an Array, or a view of one.
local function operand(leaf)
  return expression.is(leaf) and leaf or leaf.buffer
end

-- What the text finds: the values by name, and the types of variables.
local function beginning(form, leaves, given, dims)
  local values, type_of = {n = dims.count}, {}
  for k, part in ipairs(form.parts) do
    local name = part.name
    if part.load then
      values[name] = converted(operand(leaves[k]), part.type)
    elseif not part.leaf then
      values[name] = given[k].value
      if text.class(values[name]) == "Value" then
        cl.error(("map: %s must be a number beside Arrays; got a Value")
          :format(name))
      end
    end
    type_of[name] = part.leaf and part.type or nil
  end
  if form.code:find "%f[%w_]i%f[^%w_]" then
    values.i = methods.cumsum(cl.array("long", dims, 1)) - 1
  end
  return values, type_of
end

-- Runs a statement: `values` gets what it sets.
local function run(code, values, type_of)
  local type, name, sign, source = statement(code)
  if sign ~= "" then
    source = ("%s %s (%s)"):format(name, sign, source:match "^%s*(.*)$")
  end
  type_of[name] = type or type_of[name]
  if not type_of[name] then
    cl.error(('map: %s is none of the values; declare it, "float %s = ...": '
      .. "%s"):format(name, name, code))
  end
  local value = formula("map", source, values)(values)
  values[name] = converted(value, type_of[name])
end

-- The values by name behind the statements, not yet calculated.
local function calculation(form, leaves, given, dims)
  local values, type_of = beginning(form, leaves, given, dims)
  for code in form.code:gsub("%f[%w_]private%f[^%w_]", ""):gmatch "[^;]+" do
    if code:find "%S" then
      run(code, values, type_of)
    end
  end
  return values
end

--- hostmap(form, leaves, given, dims) -> nil or an error
--- Runs the statements of a form, see map.lua, for the elements of Arrays; or
--- returns why the host does not take them, and changes nothing.
return function(form, leaves, given, dims)
  local fine, values = pcall(calculation, form, leaves, given, dims)
  if not fine then
    return values
  end
  local set = {}
  for _, k in ipairs(form.outs) do -- later ones may read earlier ones
    set[k] = methods.eval(values[form.parts[k].name])
  end
  for _, k in ipairs(form.outs) do
    methods.set(operand(leaves[k]), methods.astype(set[k],
      leaves[k].kind.type))
  end
  return nil
end

-- ladder/definition.lua - the checks of the definition of a family or a rung:
-- of its fields, of its options or parameters, and of the results of its
-- functions
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

--- definition.fields(what, api, given, kinds, needed)
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
        kind == "string" and "'" .. value .. "'" or "{}"), hint)
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

--- definition.checked(what, name, f) -> function
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

return M

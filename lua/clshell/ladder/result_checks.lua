-- ladder/result_checks.lua - the checks of the results of a family's functions
-- and of its rungs' functions: a mistake is told with the function's name
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

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

--- result_checks.checked(what, name, f) -> function
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

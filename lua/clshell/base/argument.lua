-- base/argument.lua - the checks of an argument that has to be of one kind,
-- and the error for any other fault of an argument
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- argument.refuse(what, name, format, ...)
--- Raises "what: name ..." for the argument `name` of `what`; the words behind
--- the name are format:format(...).
function M.refuse(what, name, format, ...)
  cl.error(("%s: %s %s"):format(what, name, format:format(...)), {arg = name})
end

--- argument.check(what, name, value, kind [, hint]) -> value
--- Raises unless `value`, the argument `name` of `what`, is of `kind`: a type
--- of Lua, or a class such as "Context". The hint tells a working call.
function M.check(what, name, value, kind, hint)
  if type(value) ~= kind and text.class(value) ~= kind then
    cl.error(("%s: %s must be %s; got %s"):format(what, name,
      kind == "boolean" and "true or false" or text.article(kind),
      text.got(value)), {arg = name, hint = hint})
  end
  return value
end

--- argument.integer(what, name, value [, low [, high]]) -> value
--- Raises unless `value`, the argument `name` of `what`, is an integer from
--- `low` to `high` (nil: without a limit).
function M.integer(what, name, value, low, high)
  if math.type(value) ~= "integer" or low and value < low
      or high and value > high then
    local legal = high and (" from %d to %d"):format(low, high)
      or low and (" >= %d"):format(low) or ""
    cl.error(("%s: %s must be an integer%s; got %s"):format(what, name,
      legal, text.got(value)), {arg = name})
  end
  return value
end

--- argument.range(s, what, most) -> list of integers
--- The integers of the text "first..last", "first..last:step" or
--- "first..last*factor". Raises, with `what` in front, for other text, and for
--- a range of more than `most` integers.
function M.range(s, what, most)
  local first, last, kind, step =
    s:match "^%s*(%-?%d+)%s*%.%.%s*(%-?%d+)%s*([:*]?)%s*(%d*)%s*$"
  first, last = math.tointeger(first), math.tointeger(last)
  step = math.tointeger(step ~= "" and step or 1)
  if not (first and last and step) or step < 1
      or (kind == "") ~= (step == 1 and not s:find "[:*]")
      or kind == "*" and (step < 2 or first < 1) then
    cl.error(("%s: a range must be \"first..last\", \"first..last:step\" "
      .. "or \"first..last*factor\"; got \"%s\""):format(what, s))
  end
  local list, x = {}, first
  while x <= last do
    list[#list + 1] = x
    if #list > most then
      cl.error(("%s: a parameter has at most %d values; got \"%s\""):format(
        what, most, s))
    end
    x = kind == "*" and x * step or x + step
  end
  return list
end

--- argument.positive(what, name, value) -> value
--- Raises unless `value`, the argument `name` of `what`, is a number > 0.
function M.positive(what, name, value)
  if math.type(value) == nil or value <= 0 or value ~= value then
    M.refuse(what, name, "must be a number > 0; got %s", text.got(value))
  end
  return value
end

--- argument.list(what, name, value, kind) -> value
--- Raises unless `value` is a list, empty or of elements of `kind`.
function M.list(what, name, value, kind)
  M.check(what, name, value, "table")
  for i = 1, #value do
    M.check(what, ("element %d of %s"):format(i, name), value[i], kind)
  end
  return value
end

--- argument.methods(class, methods, kind) -> methods
--- The table `methods` of a class, by its name in help, each with a check of
--- its self: an object of `kind`.
function M.methods(class, methods, kind)
  for name, method in pairs(methods) do
    if type(method) == "function" and not name:find("^__") then
      methods[name] = function(self, ...)
        M.check(class .. ":" .. name, "self", self, kind,
          ("call it as x:%s(...)"):format(name))
        return method(self, ...)
      end
    end
  end
  return methods
end

return M

-- base/argument.lua - the check of an argument that has to be of one kind, and
-- the error for any other fault of an argument
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
      text.article(kind), text.got(value)), {arg = name, hint = hint})
  end
  return value
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

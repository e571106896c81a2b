-- base/interrupt.lua - tells Ctrl-C from the other errors that pcall catches
-- SPDX-License-Identifier: MIT

local M = {}

-- interrupt.is(e) -> boolean
-- Whether an error is Ctrl-C's: an error of module cl, or Lua's as a string.
function M.is(e)
  if type(e) == "table" then
    return rawget(e, "name") == "INTERRUPTED"
      or rawget(e, "message") == "interrupted!"
  end
  return type(e) == "string" and e:find("interrupted!", 1, true) ~= nil
end

local function passed(ok, ...)
  if not ok and M.is((...)) then
    error((...), 0)
  end
  return ok, ...
end

-- interrupt.pcall(f, ...) -> ok, results or error
-- Calls f as pcall does, but raises Ctrl-C again.
function M.pcall(f, ...)
  return passed(pcall(f, ...))
end

return M

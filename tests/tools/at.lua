-- at.lua - asks for completions, with "|" for the cursor. A helper, not a
-- test file.
-- SPDX-License-Identifier: MIT
local complete = require "clshell.shell.prompt.complete"

local M = {}

--- at.all(text [, globals [, find]]) -> first, list, hint, common, shown
--- Completes where "|" is in the text; the globals are there meanwhile.
function M.all(text, globals, find)
  local cursor = text:find("|", 1, true) - 1
  local full = text:sub(1, cursor) .. text:sub(cursor + 2)
  for name, value in pairs(globals or {}) do
    rawset(_G, name, value)
  end
  local result = table.pack((find or complete.at)(full, cursor))
  for name in pairs(globals or {}) do
    rawset(_G, name, nil)
  end
  return table.unpack(result, 1, 5)
end

--- at.words(text [, globals]) -> string
--- The candidates, separated by spaces; "" where there are none.
function M.words(text, globals)
  return table.concat(select(2, M.all(text, globals)) or {}, " ")
end

--- at.has(text, word [, globals]) -> whether it is a candidate
function M.has(text, word, globals)
  for _, candidate in ipairs(select(2, M.all(text, globals)) or {}) do
    if candidate == word then
      return true
    end
  end
  return false
end

return M

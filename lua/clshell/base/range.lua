-- base/range.lua - ranges of integers as text: "1..8", "8..64:8", "1..1024*2"
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

--- range.list(s, what, most) -> list of integers
--- The integers of "first..last", "first..last:step" or "first..last*factor".
--- Raises, with `what` in front, for other text, and for a range of more than
--- `most` integers.
function M.list(s, what, most)
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

return M

-- base/integer.lua - the check of an argument that has to be an integer
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- integer.check(what, name, value [, low [, high]]) -> value
--- Raises unless `value`, the argument `name` of `what`, is an integer from
--- `low` to `high` (nil: without a limit).
function M.check(what, name, value, low, high)
  if math.type(value) ~= "integer" or low and value < low
      or high and value > high then
    local legal = high and (" from %d to %d"):format(low, high)
      or low and (" >= %d"):format(low) or ""
    cl.error(("%s: %s must be an integer%s; got %s"):format(what, name,
      legal, text.got(value)), {arg = name})
  end
  return value
end

return M

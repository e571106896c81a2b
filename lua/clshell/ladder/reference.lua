-- ladder/reference.lua - the truth of a result by the `reference` that a
-- family declares
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local text = require "clshell.base.text"
local verify = require "clshell.ladder.verify"

local M = {}

local REAL = {half = true, float = true, double = true}

-- The result of a reference as an Array: of the element type where that is an
-- integer, which is exact, else of double.
local function as_array(who, result, type, y)
  if text.class(result) ~= "Array" then
    result = math.type(result) and {result} or result
    argument.check(who .. ": reference", "its result", result, "table",
      "a number, a list of numbers or an Array")
    if #result ~= #y then
      cl.error(("%s: reference must return %d elements; got %d"):format(who,
        #y, #result))
    end
    result = cl.array(REAL[type] and "double" or type, #y, result)
  end
  return result
end

--- reference.truth(who, s, terms, result [, scale]) -> function(y)
--- What verify.run compares the output y with, where the reference gave
--- `result`. Errors are fractions of `scale`, by default the largest absolute
--- value; the bound is that of sums of so many terms, for integers 0.
function M.truth(who, s, terms, result, scale)
  local real = REAL[s.type]
  local bound = real and verify.bound(s.type, terms) or 0
  local right
  if scale and (not math.type(scale) or scale < 0) then
    cl.error(("%s: the scale of reference must be a number >= 0; got %s")
      :format(who, text.got(scale)))
  end
  return function(y)
    if not right then
      right = as_array(who, result, s.type, y)
      local seen = right:summary()
      scale = scale or math.max(math.abs(seen.min or 0),
        math.abs(seen.max or 0))
    end
    local err, at = y:max_diff(right)
    if real and err > 0 and scale < math.huge then
      err = err / scale
    end
    local rows, cols = y.shape[1], y.shape[2]
    if not cols or y.shape[3] then
      return err, bound, "all elements", rows > 1 and at or nil
    end
    return err, bound, "all elements", (at - 1) // cols + 1,
      (at - 1) % cols + 1
  end
end

return M

-- explain/lanes.lua - requests of a warp, for tests of what they cost
-- SPDX-License-Identifier: MIT

local M = {}

--- lanes.at(n, f) -> list
-- The addresses of `n` lanes, by a function of the lane, from 0.
function M.at(n, f)
  local at = {}
  for i = 0, n - 1 do
    at[i + 1] = f(i)
  end
  return at
end

--- lanes.gcd(a, b) -> the greatest common divisor
function M.gcd(a, b)
  return b == 0 and a or M.gcd(b, a % b)
end

return M

-- base/quantity.lua - numbers for people: digits by the noise, prefixes, units
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

local SMALL = {{1e-9, "n"}, {1e-6, "µ"}, {1e-3, "m"}, {1, ""}}
local LARGE = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"},
  {1e15, "P"}}
local BINARY = {{1, ""}, {2^10, "Ki"}, {2^20, "Mi"}, {2^30, "Gi"},
  {2^40, "Ti"}}

-- A number rounded to `digits` significant digits: 999.96 becomes 1000.
local function rounded(x, digits)
  return tonumber(("%." .. digits - 1 .. "e"):format(x)) or x -- inf
end

--- quantity.number(x [, digits]) -> string
--- A number in plain decimals, with `digits` significant digits (4).
--- Example:
--- print(quantity.number(1234.5678), quantity.number(0.5, 3)) --> 1235 0.500
function M.number(x, digits)
  digits = digits or 4
  if not text.finite(x) then
    return tostring(x)
  elseif x == 0 then
    return "0"
  end
  local exponent = math.floor(
    math.log(math.abs(rounded(x, digits)), 10) + 1e-9)
  return ("%." .. math.max(0, digits - 1 - exponent) .. "f"):format(x)
end

--- quantity.digits(noise) -> integer
--- The significant digits that a value deserves: 4, 3 where the noise (a
--- fraction) is above 1 %, 2 where it is above 10 %.
--- Example: print(quantity.digits(0.05)) --> 3
function M.digits(noise)
  noise = noise or 0
  return noise > 0.1 and 2 or noise > 0.01 and 3 or 4
end

--- quantity.prefix(x, unit [, digits]) -> factor, name
--- The prefix that suits a value, with its unit: 1e-6, "µs" for 2.5e-6 s.
--- Units: "s" and "J", "B" (sizes: KiB, MiB), all others with decimal prefixes
--- from 1 up ("FLOPS", "B/s"). The value is rounded first: 999.96 ns are 1 µs.
--- Example: print(quantity.prefix(5.53e10, "FLOPS")) --> 1000000000.0 GFLOPS
function M.prefix(x, unit, digits)
  local list = (unit == "s" or unit == "J") and SMALL
    or unit == "B" and BINARY or LARGE
  local size = text.finite(x) and math.abs(x) or 0
  local chosen = size == 0 and unit == "s" and SMALL[4] or list[1]
  for _, entry in ipairs(list) do
    if rounded(size / entry[1], digits or 4) >= 1 then
      chosen = entry
    end
  end
  local name = chosen[2] .. unit
  return chosen[1], style.utf8() and name or (name:gsub("µ", "u"))
end

local WHOLE = text.set "char uchar short ushort int uint long ulong"

--- quantity.work(type) -> "OP" or "FLOP"
--- The name of an operation on elements of a type: on whole numbers it is
--- not of floating point.
--- Example: print(quantity.work "char", quantity.work "float4") --> OP FLOP
function M.work(type)
  return WHOLE[tostring(type):match "^%a*"] and "OP" or "FLOP"
end

--- quantity.format(x, unit [, digits]) -> string
--- A value in base units with its unit: "1.234 ms", "55.30 GFLOPS",
--- "64 KiB". Sizes lose trailing zeros.
--- Example:
--- print(quantity.format(65536, "B"), quantity.format(1.234e-3, "s"))
--- --> 64 KiB 1.234 ms
function M.format(x, unit, digits)
  local factor, name = M.prefix(x, unit, digits)
  local number = M.number(x / factor, digits)
  if unit == "B" and number:find(".", 1, true) then
    number = number:gsub("0+$", ""):gsub("%.$", "")
  end
  return number .. " " .. name
end

return M

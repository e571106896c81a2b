-- argument.lua - ranges of integers as text
-- SPDX-License-Identifier: MIT

local t = require "t"
local argument = require "clshell.base.argument"

t.test("steps, factors, bad text", function()
  t.eq(argument.range("1..4", "x", 9), {1, 2, 3, 4})
  t.eq(argument.range(" 8 .. 30 : 8 ", "x", 9), {8, 16, 24})
  t.eq(argument.range("1..1000*10", "x", 9), {1, 10, 100, 1000})
  t.eq(argument.range("3..1", "x", 9), {})
  for _, bad in ipairs{"", "1-8", "1..8*1", "0..8*2", "1..8:0",
      "1..99999999999999999999"} do
    t.raises(function() argument.range(bad, "f: x", 9) end,
      "f: x: a range must be")
  end
  t.raises(function() argument.range("1..10", "f: x", 9) end,
    "f: x: a parameter has at most 9 values")
end)

t.done()

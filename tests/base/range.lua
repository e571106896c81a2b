-- range.lua - ranges of integers as text
-- SPDX-License-Identifier: MIT

local t = require "t"
local range = require "clshell.base.range"

t.test("steps, factors, bad text", function()
  t.eq(range.list("1..4", "x", 9), {1, 2, 3, 4})
  t.eq(range.list(" 8 .. 30 : 8 ", "x", 9), {8, 16, 24})
  t.eq(range.list("1..1000*10", "x", 9), {1, 10, 100, 1000})
  t.eq(range.list("3..1", "x", 9), {})
  for _, bad in ipairs{"", "1-8", "1..8*1", "0..8*2", "1..8:0",
      "1..99999999999999999999"} do
    t.raises(function() range.list(bad, "f: x", 9) end,
      "f: x: a range must be")
  end
  t.raises(function() range.list("1..10", "f: x", 9) end,
    "f: x: a parameter has at most 9 values")
end)

t.done()

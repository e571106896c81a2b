-- course.lua - lessons of course texts by number, and exercises whose answers
-- are computed
-- SPDX-License-Identifier: MIT

local t = require "t"
local claims_list = require "clshell.explain.claims_list"
local course = require "clshell.course"

t.keeps("Program", "Kernel")
t.device()

t.test("each claim is a lesson, once, in 80 columns", function()
  local text = course.lessons()
  t.narrow(text)
  for _, claim in ipairs(claims_list) do
    local _, count = text:gsub(('course "%s" '):format(claim.id), "")
    t.eq(count, 1, claim.id)
  end
  t.ok(text:find "host's%s+%[GPU%]" and text:find "free %[simulator%]", text)
end)

t.test("the answers of the exercises", function()
  local answers = {"5x4", 2, 1, 32, 1, 1, 1, 4, 5, 4, 32, 12, 16, 1024, 75.0,
    25.0, 4} -- by hand
  for i = 1, 2 do -- as many exercises, and none more
    t.eq(course.exercise():find(("\n%3d  "):format(#answers - 1 + i), 1, true)
      ~= nil, i == 1)
  end
  for i, answer in ipairs(answers) do
    for _, given in ipairs{answer, (" %s "):format(answer):upper(),
        i == 1 and "5 x 4" or ("%g %%"):format(answer),
        i == 1 and "5X4" or ("%g passes"):format(answer)} do
      t.eq(course.exercise(i, given):match "^%a+", "right", i)
    end
    local wrong = course.exercise(i, "4x4")
    t.ok(wrong:find("not 4x4. ", 1, true) == 1, wrong)
    t.narrow(wrong)
    t.narrow(course.exercise(i))
    t.ok(course.exercise(i):find "%?", i)
  end
  t.narrow(course.exercise())
  local _, count = ("\n" .. course.exercise()):gsub("\n *%d+  ", "")
  t.eq(count, #answers)
end)

t.test("an exercise that is none, and answers of no kind", function()
  for _, n in ipairs{0, 18, -1, 1.5, "x", {}} do
    t.raises(function() course.exercise(n) end,
      "n must be a number from 1 to 17; got")
  end
  t.eq(course.exercise(2, false):match "^[^.]*", "not false")
  t.eq(course.exercise(2, ("x"):rep(1000)):match "^%a+", "not")
  t.eq(course.exercise(2, 2.0):match "^%a+", "right")
  for _, given in ipairs{"2x", "x2", "2 2", "-2", "0x", "", "%", "passes"} do
    t.eq(course.exercise(3, given):match "^%a+", "not", given)
  end
end)

t.test("lessons and exercises need no device", function()
  t.nodevices()
  local out = t.capture(("OCL_ICD_VENDORS=/nonexistent %s -e 'print(help.text "
    .. "\"course\")\nprint(course.exercise(1, \"5X4\"))' 2>&1"):format(t.exe))
  t.ok(out:find('course "E5"', 1, true) and out:find "right: rows", out)
end)

t.test("a lesson is tried by its number", function()
  t.raises(function() course "Z1" end, 'the lessons are A1 to E6; got "Z1"')
  t.raises(function() course() end, "id")
  local text = course "c4"
  t.ok(text:find "^C4 " and text:find "HOLD", text)
end)

t.done()

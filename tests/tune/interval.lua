-- interval.lua - tests of constraints by bounds, against every point of a box
-- SPDX-License-Identifier: MIT
local t = require "t"
local interval = require "clshell.tune.interval"
local space = require "clshell.tune.space"

local NAMES = {"a", "b", "c"}
local random = space.random(t.seed)

-- A number and a condition by chance, as Lua.
local function number(depth)
  if depth == 0 or random(4) == 1 then
    return random(3) == 1 and tostring(random(5) - 1) or NAMES[random(3)]
  elseif random(9) == 1 then
    return "- " .. number(depth - 1)
  end
  return ("(%s %s %s)"):format(number(depth - 1), ({"+", "-", "*", "*", "/",
    "//", "%", "^"})[random(8)], number(depth - 1))
end

local function condition(depth)
  if depth > 0 and random(2) == 1 then
    return random(4) == 1 and ("not (%s)"):format(condition(depth - 1))
      or ("(%s %s %s)"):format(condition(depth - 1), random(2) == 1 and "and"
        or "or", condition(depth - 1))
  end
  return ("%s %s %s"):format(number(2), ({"<", "<=", ">", ">=", "==",
    "~="})[random(6)], number(2))
end

t.test("what the bounds tell holds for every point between them", function()
  local told, tried = 0, 0
  while told <= 500 do -- some 550 of 3000, as chance has it
    tried = tried + 1
    t.ok(tried <= 6000, told)
    local where, lo, hi = condition(2), {}, {}
    for _, name in ipairs(NAMES) do
      local x, y = random(7) - 3, random(7) - 3
      lo[name], hi[name] = math.min(x, y), math.max(x, y)
    end
    local test = t.ok(interval.test(where, NAMES), where)
    local verdict = test(lo, hi)
    told = told + (verdict ~= nil and 1 or 0)
    local truth = load("local a, b, c = ...\nreturn " .. where)
    for a = lo.a, verdict ~= nil and hi.a or lo.a - 1 do
      for b = lo.b, hi.b do
        for c = lo.c, hi.c do
          local ok, is = pcall(truth, a, b, c)
          if ok then -- a division of whole numbers by 0 has no truth
            t.eq(is, verdict, ("%s at %d %d %d"):format(where, a, b, c))
          end
        end
      end
    end
  end
end)

t.test("a point is told like a value, and other texts have no test", function()
  local test = interval.test("a * b <= 256 and b % 3 ~= 1", {"a", "b"})
  t.eq({test({a = 64, b = 1}, {a = 64, b = 9}),
    test({a = 64, b = 5}, {a = 64, b = 9}),
    test({a = 2, b = 4}, {a = 2, b = 4}),
    test({a = 2, b = 3}, {a = 2, b = 3})}, {nil, false, false, true})
  for _, where in ipairs{"math.max(a, b) < 3", "a == 'x'", "a", "a < b < 3",
      "a .. b == 3", "#a > 1", "a & 1 == 0", "a <", "(a < b", "",
      "a < 3 -- b"} do
    t.eq(interval.test(where, NAMES), nil, where)
  end
end)

t.done()

-- gaussian.lua - the Gaussian process: what it guesses of known functions
-- SPDX-License-Identifier: MIT

local t = require "t"
local gaussian = require "cl.host".gaussian

-- A process on 0, 0.05 ... 1, of which every fourth point is observed.
local function fitted(f, learn)
  local g, targets, xs = gaussian(1, 21), {}, {}
  for i = 0, 20 do
    xs[i + 1] = i / 20
    t.eq(g:point{i / 20}, i + 1)
  end
  for i = 1, 21, 4 do
    g:observe(i)
    targets[#targets + 1] = f(xs[i])
  end
  g:fit(targets, learn)
  return g, xs
end

t.test("it goes through what it observed and is sure there", function()
  local g, xs = fitted(function(x) return math.sin(5 * x) end, true)
  for i = 1, 21 do
    local mean, deviation = g:predict(i)
    t.near(mean, math.sin(5 * xs[i]), 0.1, "at " .. xs[i])
    t.ok(deviation >= 0 and deviation < 1)
  end
  local _, known = g:predict(1)
  local _, unknown = g:predict(3)
  t.ok(known < unknown)
end)

t.test("the lowest bound: the guess, the unknown, and a part", function()
  local g = fitted(function(x) return (x - 0.45)^2 end, true)
  local least = g:lowest(0)
  t.ok(least >= 9 and least <= 12, "point " .. least)
  t.eq(g:lowest(0, 1, 0.85), 18, "of the points with that feature")
  t.eq(g:lowest(0, 1, 0.123), nil)
end)

t.test("no candidate is left", function()
  local g = gaussian(2, 2)
  g:observe(g:point{0, 0})
  g:observe(g:point{1, 1})
  g:fit{1, -1}
  t.eq(g:lowest(1), nil)
end)

t.test("equal targets, and one observation", function()
  local g = gaussian(1, 4)
  g:observe(g:point{0})
  g:point{1}
  g:fit({0}, true)
  t.eq(g:lowest(1), 2)
  local mean, deviation = g:predict(2)
  t.ok(mean == mean and deviation == deviation)
end)

t.test("misuse says the rule and the value", function()
  t.raises(function() gaussian(0, 5) end, "must be from 1 to 64; got 0")
  t.raises(function() gaussian(3, 5000) end, "from 1 to 1024; got 5000")
  t.raises(function() gaussian(3) end, "number expected")
  local g = gaussian(2, 1)
  t.raises(function() g:point{1} end, "feature 2 must be a finite number")
  t.raises(function() g:point{1, 0 / 0} end, "feature 2 must be a finite")
  t.raises(function() g:fit{} end, "needs a target for each of 0")
  t.raises(function() g:observe(1) end, "got 1")
  g:point{0, 0}
  g:point{0, 1}
  g:observe(1)
  t.raises(function() g:observe(1) end, "point 1 was observed before")
  t.raises(function() g:observe(2) end, "holds 1 observations at most")
  t.raises(function() g:fit{1, 2} end, "a target for each of 1", "got 2")
  t.raises(function() g:fit{0 / 0} end, "target 1 must be a finite number")
  t.raises(function() g:predict(3) end, "from 1 to 2; got 3")
  g:fit{1}
  t.raises(function() g:lowest(0, 3, 1) end, "from 1 to 2; got 3")
  t.raises(function() g:lowest() end, "number expected")
end)

t.done()

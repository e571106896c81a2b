-- space.lua - the points of a space: values, ranges, constraints, numbers
-- SPDX-License-Identifier: MIT

local t = require "t"
local space = require "clshell.tune.space"

-- The instructions of Lua, in thousands, that f takes.
local function steps(f)
  local count = 0
  debug.sethook(function() count = count + 1 end, "", 1000)
  f()
  debug.sethook()
  return count
end

-- The points that plain loops over all combinations find.
local function brute(params, holds)
  local count = 0
  local function walk(i, p)
    if i > #params then
      count = count + (holds(p) and 1 or 0)
      return
    end
    for _, v in ipairs(params[i][2]) do
      p[params[i][1]] = v
      walk(i + 1, p)
    end
  end
  walk(1, {})
  return count
end

t.test("values are lists, or ranges with a step or a factor", function()
  local s = space.new{a = "1..8", b = "8..64:8", c = "1..16*2", d = {true,
    "x", 2.5}, e = "-2..1"}
  local sizes = {}
  for i, param in ipairs(s.params) do
    sizes[i] = #param.values
  end
  t.eq(sizes, {8, 8, 5, 3, 4})
  t.eq(s.by_name.c.values, {1, 2, 4, 8, 16})
  t.eq(s.by_name.e.values, {-2, -1, 0, 1})
  t.eq(#s, 8 * 8 * 5 * 3 * 4)
  t.eq(s:tostring(s:point(1)), "a=1 b=8 c=1 d=true e=-2")
end)

t.test("each point has a number, and its number is the point's", function()
  local params = {{"x", {1, 2, 3, 4, 6}}, {"y", {1, 2, 4, 8}},
    {"mode", {"row", "column"}}, {"pad", {false, true}}}
  local s = space.new(params, {"x * y <= 12", "y % x == 0 or pad",
    function(p) return p.mode == "row" or p.x > 1 end})
  local function holds(p)
    return p.x * p.y <= 12 and (p.y % p.x == 0 or p.pad)
      and (p.mode == "row" or p.x > 1)
  end
  t.eq(#s, brute(params, holds))
  local seen = {}
  for id = 1, #s do
    local p = s:point(id)
    t.ok(holds(p), s:tostring(p))
    t.eq(s:number(p), id)
    t.eq(seen[s:tostring(p)], nil)
    seen[s:tostring(p)] = true
  end
  t.eq(s:number{x = 6, y = 8, mode = "row", pad = true}, nil)
  t.eq(s:why{x = 6, y = 8, mode = "row", pad = true},
    "where 'x * y <= 12' is false")
  t.eq(s:why{x = 5, y = 8, mode = "row", pad = true},
    "x = 5 is not in its list")
end)

t.test("neighbours differ in one parameter", function()
  local s = space.new({x = "1..8", y = "1..8"}, "x + y <= 9")
  for _, id in ipairs{1, #s // 2, #s} do
    local p = s:point(id)
    for _, other in ipairs(s:neighbours(id)) do
      local q = s:point(other)
      t.eq((p.x == q.x and 1 or 0) + (p.y == q.y and 1 or 0), 1)
    end
  end
end)

t.test("10^9 combinations cost what their parts cost", function()
  local params = {}
  for i = 1, 9 do
    params["p" .. i] = "1..10"
  end
  local s
  t.ok(steps(function() s = space.new(params, "p1 * p2 <= 20") end) < 300)
  t.eq(s.product, 1e9)
  t.eq(#s, brute({{"a", s.params[1].values}, {"b", s.params[2].values}},
    function(p) return p.a * p.b <= 20 end) * 10^7 // 1)
  local p = s:point(#s)
  t.eq(s:number(p), #s)
end)

t.test("10^5 points out of 10^8 combinations, without trying each", function()
  local s
  local count = steps(function()
    s = space.new({{"a", "1..100"}, {"b", "1..100"}, {"c", "1..100"},
      {"d", "1..100"}}, {"a * b <= 100", "c == a", "d <= 2 * b"})
  end)
  t.ok(count < 20000, count .. " thousand instructions")
  local expected = 0
  for a = 1, 100 do
    for b = 1, 100 // a do
      expected = expected + math.min(100, 2 * b)
    end
  end
  t.eq(#s, expected)
end)

t.test("joined lists have the points that plain loops find", function()
  local lists = {{"a", "-20..20"}, {"b", "1..40*2"}, {"c", "-30..30:3"},
    {"d", "1..20"}}
  for _, where in ipairs{"a * b + c * d <= 40", "(a - c) * d >= 7 * b",
    "a % 3 == 0 and b * d < 60 or c == 0", "d / b < a", "a * c ~= d"} do
    local s = space.new(lists, where)
    local points = {}
    for i, param in ipairs(s.params) do
      points[i] = {param.name, param.values}
    end
    t.eq(#s, brute(points, load("local p = ... return " .. where:gsub(
      "%f[%w]%a%f[%W]", "p.%0"))), where)
  end
end)

t.test("a function that reads a name at some points only joins it", function()
  local s = space.new({a = "1..50", b = "1..50", c = "1..50"}, function(p)
    return p.a < 50 or p.b < 25 or p.c > 10
  end)
  t.eq(#s, 50^3 - 26 * 10)
end)

t.test("a listed space has the points of its list", function()
  local points = {{x = 4, y = "b"}, {x = 1, y = "a"}, {x = 4, y = "a"},
    {x = 1, y = "a"}}
  local s = space.of({{"x", {1, 2, 4}}, {"y", {"a", "b"}}}, points)
  t.eq(#s, 3)
  for id = 1, #s do
    t.eq(s:number(s:point(id)), id)
  end
  t.eq(s:number{x = 2, y = "a"}, nil)
  t.eq(s:why{x = 2, y = "a"}, "it is not among the points listed")
  t.eq(s:why{x = 4, y = "b"}, nil)
end)

t.test("an empty space says which constraint refuses", function()
  local s = space.new({x = {1, 2}, y = {1, 2}}, "x + y > 9")
  t.eq(#s, 0)
  t.ok(tostring(s):find("x + y > 9 refuses 100 %", 1, true), tostring(s))
end)

t.test("misuse names the parameter or the constraint", function()
  local function bad(params, where, ...)
    return t.raises(function() space.new(params, where) end, ...)
  end
  bad(nil, nil, "params must be a table", "got nothing")
  bad({}, nil, "params must be a table", "none")
  bad({x = {}}, nil, "params.x has no value")
  bad({x = 3}, nil, "params.x must be a list", "got number")
  bad({x = "1-8"}, nil, "params.x: a range must be", 'got "1-8"')
  bad({x = "1..9999999"}, nil, "at most 1000000 values")
  bad({x = {1, 1}}, nil, "value 1 stands there twice")
  bad({x = {0 / 0}}, nil, "NaN")
  bad({x = {{}}}, nil, "value 1 is a table")
  bad({["a-b"] = {1}}, nil, "letters, digits and _", "a-b")
  bad({x = {1}}, "y > 1", "no parameter 'y'")
  bad({x = {1}}, "x >", "no Lua expression")
  bad({x = {1}}, 7, "where must be an expression", "got a number")
  bad({x = {1, 2}}, "x + nil > 1", "raises", "nil")
  bad({x = {1, 2}}, function() error "mine" end, "raises", "mine")
  bad({x = {1, 2}}, function(p) return p.z end, "raises", "no parameter 'z'")
end)

t.test("random numbers are those of the seed", function()
  local a, b, c = space.random(7), space.random(7), space.random(8)
  local differs = false
  for _ = 1, 50 do
    local x = a(1000)
    t.eq(x, b(1000))
    t.ok(x >= 1 and x <= 1000)
    differs = differs or x ~= c(1000)
  end
  t.ok(differs)
end)

t.done()

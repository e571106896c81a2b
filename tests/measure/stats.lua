-- stats.lua - the statistics, against known distributions and tables
-- SPDX-License-Identifier: MIT

local t = require "t"
local stats = require "clshell.measure.stats"

local function normal()
  return math.sqrt(-2 * math.log(1 - math.random()))
    * math.cos(2 * math.pi * math.random())
end

local function uniform()
  return math.random()
end

local function draw(n, f)
  local list = {}
  for i = 1, n do
    list[i] = f(i)
  end
  return list
end

t.test("quantiles and the median", function()
  t.eq(stats.median{3, 1, 2}, 2)
  t.eq(stats.median{4, 1, 2, 3}, 2.5)
  t.eq(stats.median{7}, 7)
  t.near(stats.quantile({1, 2, 3, 4, 5}, 0.25), 2)
  t.near(stats.quantile({1, 2, 3, 4}, 0.25), 1.75)
  t.eq({stats.quantile({2, 1}, 0), stats.quantile({2, 1}, 1)}, {1, 2})
  local list = {3, 1, 2}
  stats.median(list)
  t.eq(list, {3, 1, 2})
  local s = stats.summary{5, 1, 2, 3, 4}
  t.eq({s.n, s.median, s.min, s.max, s.q1, s.q3, s.lo}, {5, 3, 1, 5, 2, 4})
end)

t.test("what is no number is refused", function()
  for _, list in ipairs{{}, {1, 0 / 0}, {"1"}, {1, {}}} do
    for _, name in ipairs{"median", "interval", "summary", "mad"} do
      t.raises(function() stats[name](list) end, "stats.")
    end
  end
  t.raises(function() stats.quantile({1}, 1.5) end, "from 0 to 1")
  t.raises(function() stats.quantile({1}, 0 / 0) end, "from 0 to 1")
end)

t.test("the ranks of the interval are those of the tables", function()
  for n, ranks in pairs{[6] = {1, 6}, [8] = {1, 8}, [10] = {2, 9},
      [16] = {4, 13}, [20] = {6, 15}, [30] = {10, 21}, [64] = {24, 41}} do
    t.eq({stats.ranks(n)}, ranks, "n = " .. n)
  end
  for n = 1, 5 do
    t.eq(stats.ranks(n), nil)
    t.eq(stats.interval(draw(n, uniform)), nil)
  end
  local low, high = stats.ranks(10000)
  t.ok(math.abs(low - (10000 - 196) / 2) <= 2 and low + high == 10001)
  t.eq(stats.ranks(7, 0.99), nil)
  t.eq({stats.ranks(8, 0.99)}, {1, 8})
end)

t.test("the interval covers the median of any distribution", function()
  local kinds = {
    normal = {normal, 0}, uniform = {uniform, 0.5},
    exponential = {function() return -math.log(1 - math.random()) end,
      math.log(2)},
    ["times on a busy host"] = {function()
      return math.random() < 0.1 and 2 + math.random() or 1 + math.random()
    end, 1 + 0.5 / 0.9},
  }
  for name, kind in pairs(kinds) do
    for _, n in ipairs{6, 10, 30} do
      local covered, trials = 0, 2000
      for _ = 1, trials do
        local low, high = stats.interval(draw(n, kind[1]))
        covered = covered + (low <= kind[2] and kind[2] <= high and 1 or 0)
      end
      -- 0.95 less four standard deviations of the count
      t.ok(covered >= trials * (0.95 - 4 * math.sqrt(0.05 * 0.95 / trials)),
        ("%s, n=%d: %d of %d"):format(name, n, covered, trials))
    end
  end
end)

t.test("outliers are counted, and none are made of a coarse timer",
    function()
  local list = draw(50, function(i) return 10 + i % 5 end)
  list[7], list[20] = 100, 0
  local n, places = stats.mad_outliers(list)
  t.eq({n, places}, {2, {7, 20}})
  t.eq(stats.mad_outliers{1, 1, 1, 1, 9}, 0)
  t.near(stats.mad(draw(20000, normal)), 1, 0.05)
  t.ok(stats.mad_outliers(draw(1000, normal)) <= 2)
  t.near(stats.half_width(draw(10, function(i) return 100 + i end)),
    3.5 / 105.5)
end)

t.test("Mann-Whitney agrees with the tables", function()
  t.near((stats.mann_whitney({1, 2, 3}, {4, 5, 6})), 0.1)
  t.eq({stats.mann_whitney({1, 1, 1}, {1, 1, 1})}, {1, 0.5})
  -- U = 23 of 10 and 10: the critical value for p = 0.05 (two-sided)
  local a, b = {}, {}
  for i = 1, 10 do
    a[i], b[i] = i, i + 4.5
  end
  local p, shift = stats.mann_whitney(a, b)
  t.ok(p < 0.05 and p > 0.001 and shift > 0.75)
  local q, back = stats.mann_whitney(b, a)
  t.near(q, p)
  t.near(back, 1 - shift)
  -- exact and normal agree where they meet
  a, b = draw(20, normal), draw(20, function() return normal() + 0.5 end)
  p = stats.mann_whitney(a, b)
  a[21] = stats.median(b)
  t.ok(math.abs(stats.mann_whitney(a, b) - p) < 0.08)
  local same = draw(60, function() return 5 end)
  t.eq((stats.mann_whitney(same, same)), 1)
end)

t.test("Mann-Whitney is wrong as often as it says", function()
  for _, n in ipairs{7, 30} do
    local rejected, trials = 0, n < 20 and 300 or 600
    for _ = 1, trials do
      local p = stats.mann_whitney(draw(n, uniform),
        draw(n, uniform))
      rejected = rejected + (p < 0.05 and 1 or 0)
    end
    t.ok(rejected <= trials * (0.05 + 4 * math.sqrt(0.0475 / trials)),
      ("n=%d: %d of %d"):format(n, rejected, trials))
  end
  local found = 0
  for _ = 1, 50 do
    local p = stats.mann_whitney(draw(30, normal),
      draw(30, function() return normal() + 1.5 end))
    found = found + (p < 0.01 and 1 or 0)
  end
  t.ok(found >= 45)
end)

t.test("what is no list of samples says so", function()
  local verdict = require "clshell.compare".verdict
  t.raises(verdict, "must be a list of numbers; got nothing")
  for _, case in ipairs{{1, nil, "got a number"}, {{"x"}, nil, "sample 1"},
    {{}, nil, "got none"}, {{1, 1, 1, 1, 1, 1, 1}, {}, "coverage"},
    {{1, 1, 1, 1, 1, 1, 1}, 2, "coverage must be a number between 0 and 1"}} do
    t.raises(function() verdict(case[1], case[2]) end, case[3])
  end
end)

t.done()

-- measure/stats.lua - the statistics of samples: quantiles, the interval of
-- the median, outliers, and the difference of two sets of samples. Nothing
-- here supposes a normal distribution, which times do not have.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

M.COVERAGE = 0.95 -- of intervals, at least

local EXACT = 40 -- the most samples in all that mann_whitney enumerates
local MARGIN = 0.01 -- smaller differences do not count in a verdict
local CHANCE = 0.01 -- the share of lists without a step that give one
local SIDE = 3 -- the fewest values on a side of a step
local CLIP = 3 -- times stats.mad, the farthest that a value counts
local NEAR = 0.9 -- of the variance that an index explains, if not `likely`

-- A sorted copy. A NaN raises: it has no place in an order.
local function sorted(list, what)
  if type(list) ~= "table" then
    cl.error(("%s: the samples must be a list of numbers; got %s"):format(
      what, list == nil and "nothing" or "a " .. type(list)))
  end
  local copy = {}
  for i, x in ipairs(list) do
    if math.type(x) == nil or x ~= x then
      cl.error(("%s: sample %d must be a number; got %s"):format(what, i,
        tostring(x)))
    end
    copy[i] = x
  end
  if #copy == 0 then
    cl.error(what .. ": the list must have samples; got none")
  end
  table.sort(copy)
  return copy
end

-- Quantile of a sorted list.
local function at(copy, q)
  local place = 1 + (#copy - 1) * q
  local low = math.floor(place)
  local high = math.min(low + 1, #copy)
  if copy[low] == copy[high] then
    return copy[low]
  end
  return copy[low] + (place - low) * (copy[high] - copy[low])
end

--- stats.quantile(list, q) -> number
--- The value below which the fraction q of the samples lies, interpolated
--- between neighbours (type 7 of Hyndman and Fan, The American Statistician
--- 50, 1996: what R and NumPy do). The list keeps its order.
--- Example: print(stats.quantile({1, 2, 3, 4, 5}, 0.25)) --> 2.0
function M.quantile(list, q)
  if math.type(q) == nil or not (q >= 0 and q <= 1) then
    cl.error(("stats.quantile: q must be a number from 0 to 1; got %s")
      :format(tostring(q)))
  end
  return at(sorted(list, "stats.quantile"), q)
end

--- stats.median(list) -> number
--- The median of a list of numbers, which keeps its order.
--- Example: print(stats.median{5, 1, 3}) --> 3.0
function M.median(list)
  return at(sorted(list, "stats.median"), 0.5)
end

-- The largest r with P(X < r) <= (1 - coverage) / 2, for X heads of n coins.
local function rank(n, coverage)
  local term = -n * math.log(2) -- logarithm of P(X = k)
  local tail, r = 0, 0
  for k = 0, n // 2 do
    tail = tail + math.exp(term)
    if 2 * tail > 1 - coverage then
      break
    end
    r = k + 1
    term = term + math.log((n - k) / (k + 1))
  end
  return r
end

--- stats.ranks(n [, coverage]) -> low, high
--- The ranks, among n independent samples in order, between which the median
--- of their distribution lies with a probability of at least `coverage`
--- (0.95); nil where even the smallest and the largest do not suffice, which
--- is below 6 samples. A sample is below the median with probability 1/2, so
--- the ranks follow from the binomial distribution alone (David and Nagaraja,
--- Order Statistics, 3rd edition, 7.1).
--- Example: print(stats.ranks(10)) --> 2 9
function M.ranks(n, coverage)
  if coverage ~= nil and (math.type(coverage) == nil
      or not (coverage > 0 and coverage < 1)) then
    cl.error(("stats.ranks: coverage must be a number between 0 and 1; got %s")
      :format(tostring(coverage)))
  end
  local r = rank(n, coverage or M.COVERAGE)
  if r > 0 then
    return r, n + 1 - r
  end
end

--- stats.interval(list [, coverage]) -> low, high
--- The interval of the median: the two samples at stats.ranks; nil for fewer
--- than 6. It tells the uncertainty of the median of these samples, and
--- nothing about a device that is slower in a minute.
--- Example: print(stats.interval{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) --> 2 9
function M.interval(list, coverage)
  local copy = sorted(list, "stats.interval")
  local low, high = M.ranks(#copy, coverage)
  return low and copy[low], low and copy[high]
end

--- stats.summary(list) -> table
--- n, median, min, max, q1, q3, and lo, hi, the interval of the median (nil
--- for fewer than 6 samples).
--- Example:
--- local s = stats.summary{1, 2, 3, 4, 5, 6}
--- print(s.n, s.median, s.lo, s.hi) --> 6 3.5 1 6
function M.summary(list)
  local copy = sorted(list, "stats.summary")
  local n = #copy
  local low, high = M.ranks(n)
  return {
    n = n, median = at(copy, 0.5), min = copy[1], max = copy[n],
    q1 = at(copy, 0.25), q3 = at(copy, 0.75),
    lo = low and copy[low], hi = high and copy[high],
  }
end

--- stats.half_width(list) -> number
--- Half the interval of the median as a fraction of the median, the
--- uncertainty of the median within its own run; nil for fewer than 6 samples
--- or a median of 0.
--- Example: print(stats.half_width{9, 10, 10, 10, 10, 11} < 0.2) --> true
function M.half_width(list)
  local s = M.summary(list)
  return s.lo and s.median ~= 0 and (s.hi - s.lo) / 2 / math.abs(s.median)
    or nil
end

--- stats.mad(list) -> number
--- The median absolute deviation from the median, times 1.4826: for normally
--- distributed samples their standard deviation, and blind to outliers.
--- Example: print(stats.mad{1, 2, 3, 4, 5}) --> 1.4826
function M.mad(list)
  local median, away = M.median(list), {}
  for i, x in ipairs(list) do
    away[i] = math.abs(x - median)
  end
  return 1.4826 * M.median(away)
end

--- stats.mad_outliers(list [, limit]) -> count, list of indexes
--- Samples farther from the median than `limit` (5) times stats.mad (Iglewicz
--- and Hoaglin, How to Detect and Handle Outliers, 1993, take 3.5; times have
--- a longer tail). Count them, do not drop them. None where more
--- than half of the samples are equal, as a coarse timer makes them.
--- Example: print((stats.mad_outliers{1, 2, 3, 4, 5, 100})) --> 1
function M.mad_outliers(list, limit)
  local median, mad = M.median(list), M.mad(list)
  local found = {}
  if mad > 0 then
    for i, x in ipairs(list) do
      if math.abs(x - median) > (limit or 5) * mad then
        found[#found + 1] = i
      end
    end
  end
  return #found, found
end

-- stats.verdict(ratios [, coverage]) -> text, median, lo, hi
-- See compare.verdict.
function M.verdict(ratios, coverage)
  local median = M.median(ratios)
  local lo, hi = M.interval(ratios)
  local low, high = M.interval(ratios, coverage)
  if lo == nil then
    return "UNCLEAR", median
  elseif low and (low > 1 or high < 1)
      and math.abs(median - 1) >= MARGIN then
    return median < 1 and "FASTER" or "SLOWER", median, lo, hi
  elseif lo >= 1 - MARGIN and hi <= 1 + MARGIN then
    return "SAME", median, lo, hi
  end
  return "UNCLEAR", median, lo, hi
end

-- Both samples in one order: twice the rank of each value (ties share their
-- mean, which may end in a half), twice the rank sum of the first sample, and
-- the sum of t^3 - t over groups of t ties.
local function double_ranks(a, b)
  local all = {}
  for i, list in ipairs{a, b} do
    for _, x in ipairs(sorted(list, "stats.mann_whitney")) do
      all[#all + 1] = {x, i == 1}
    end
  end
  table.sort(all, function(x, y)
    return x[1] < y[1]
  end)
  local doubled, sum, ties, i = {}, 0, 0, 1
  while i <= #all do
    local j = i
    while j < #all and all[j + 1][1] == all[i][1] do
      j = j + 1
    end
    for k = i, j do
      doubled[k] = i + j
      sum = sum + (all[k][2] and i + j or 0)
    end
    ties = ties + (j - i + 1)^3 - (j - i + 1)
    i = j + 1
  end
  return doubled, sum, ties
end

-- The fraction of all choices of `size` ranks whose sum is at least as far
-- from the mean as `sum`: ways[k][s] counts k ranks of sum s.
local function exact(doubled, size, sum)
  local ways = {[0] = {[0] = 1}}
  for k = 1, size do
    ways[k] = {}
  end
  for _, rank2 in ipairs(doubled) do
    for k = size, 1, -1 do
      local row = ways[k]
      for s, count in pairs(ways[k - 1]) do
        row[s + rank2] = (row[s + rank2] or 0) + count
      end
    end
  end
  local mean = size * (#doubled + 1)
  local far, all = 0, 0
  for s, count in pairs(ways[size]) do
    all = all + count
    if math.abs(s - mean) >= math.abs(sum - mean) then
      far = far + count
    end
  end
  return far / all
end

-- 2 P(Z > z) of the normal distribution, z >= 0: Abramowitz and Stegun
-- 7.1.26, off by 1.5e-7 at most.
local function two_sided(z)
  local x = z / math.sqrt(2)
  local t = 1 / (1 + 0.3275911 * x)
  local poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741
    + t * (-1.453152027 + t * 1.061405429))))
  return math.min(1, poly * math.exp(-x * x))
end

-- At most 100 of the sorted samples, evenly spaced.
local function thinned(list)
  local copy = {table.unpack(list)}
  table.sort(copy)
  local n, few = #copy, {}
  for i = 1, math.min(n, 100) do
    few[i] = n <= 100 and copy[i] or copy[1 + (i - 1) * (n - 1) // 99]
  end
  return few
end

--- stats.ratio(a, b) -> low, high
--- The 95 % interval of the factor from the samples a to the samples b, which
--- are above 0: between the ratios b / a of pairs at which the test of
--- stats.mann_whitney has p = 0.05 (Moses; by the normal distribution), with
--- the ratio of the medians, should that lie outside. Of more than 100 samples
--- evenly spaced quantiles stand for all; nil where even lists that lie apart
--- have p > 0.05, as 3 and 4 samples. What is said there of drift holds here.
--- Example:
--- local a, b = {5, 5, 5, 5, 5, 5}, {10, 10, 10, 10, 10, 10}
--- print(stats.ratio(a, b)) --> 2.0 2.0
function M.ratio(a, b)
  local n, m, ratios = #a, #b, {}
  local orders = 1 -- of which two keep lists apart
  for i = 1, math.min(n, m, 20) do
    orders = orders * (n + m + 1 - i) / i
  end
  if 2 / orders > 1 - M.COVERAGE then
    return nil
  end
  local all = thinned(b)
  for _, x in ipairs(thinned(a)) do
    for _, y in ipairs(all) do
      ratios[#ratios + 1] = y / x
    end
  end
  table.sort(ratios)
  local place = 0.5 - 1.96 * math.sqrt((n + m + 1) / (12 * n * m))
  local low = math.max(1, math.floor(place * #ratios))
  local ratio = M.median(b) / M.median(a)
  return math.min(ratio, ratios[low]),
    math.max(ratio, ratios[#ratios + 1 - low])
end

-- The values of a list between two indexes, less their mean. Values farther
-- from the median than CLIP times stats.mad are moved there: one slow run is
-- no step.
local function centred(list, first, last)
  local x, sum = table.move(list, first, last, 1, {}), 0
  local median, limit = M.median(x), CLIP * M.mad(x)
  for i = 1, #x do
    if limit > 0 then
      x[i] = math.max(median - limit, math.min(median + limit, x[i]))
    end
    sum = sum + x[i]
  end
  for i = 1, #x do
    x[i] = x[i] - sum / #x
  end
  return x
end

-- The part of the variance of a centred list that its best division into two
-- explains, and the parts of all divisions, by the length of the first half.
local function explained(x, parts)
  local n, sum, most = #x, 0, 0
  for k = 1, n - SIDE do
    sum = sum + x[k]
    if k >= SIDE then
      local part = sum * sum / (k * (n - k))
      most = part > most and part or most
      if parts then
        parts[k] = part
      end
    end
  end
  return most
end

-- Whether at most CHANCE of the orders of a centred list explain as much as
-- its own. The orders are random, and the same in each call.
local function ordered(x, most)
  local n = #x
  local tries = math.max(999, 200000 // n)
  local allowed, state = CHANCE * (tries + 1) - 1, 0
  for _ = 1, tries do
    for i = n, 2, -1 do -- splitmix64
      state = state + 0x9e3779b97f4a7c15
      local z = (state ~ state >> 30) * 0xbf58476d1ce4e5b9
      z = (z ~ z >> 27) * 0x94d049bb133111eb
      local j = 1 + ((z ~ z >> 31) >> 1) % i
      x[i], x[j] = x[j], x[i]
    end
    if explained(x) >= most * (1 - 1e-9) then
      allowed = allowed - 1
      if allowed < 0 then
        return false
      end
    end
  end
  return true
end

-- Appends the steps of list[first .. last] to `found`.
local function divide(list, likely, first, last, found)
  if last - first + 1 < 2 * SIDE then
    return
  end
  local x, parts, place = centred(list, first, last), {}, nil
  local most = explained(x, parts)
  if most == 0 or not ordered(x, most) then
    return
  end
  for k, part in pairs(parts) do
    local weight = likely[first + k] and part or NEAR * part
    if not place or weight > place[1] or weight == place[1]
        and k < place[2] then
      place = {weight, k}
    end
  end
  local cut = first + place[2]
  divide(list, likely, first, cut - 1, found)
  found[#found + 1] = cut
  divide(list, likely, cut, last, found)
end

--- stats.steps(list [, likely]) -> list of indexes
--- The values, by their indexes, from which on a list lies higher or lower
--- than before: it is divided where that explains most of its variance, if at
--- most 1 % of the orders of its values explain as much in any of their
--- divisions; then each part in the same way (binary segmentation; a
--- permutation test, so values without steps give one with a probability of
--- 1 %, whatever their distribution, if they are independent). A step has 3
--- values on either side, and is found among 10 or more. `likely` has indexes
--- as keys that are preferred to neighbours that explain hardly more. For
--- times, give their logarithms.
--- Example:
--- local found = stats.steps{5, 6, 5, 6, 5, 6, 9, 8, 9, 8, 9, 8}
--- print(table.concat(found, ", ")) --> 7
function M.steps(list, likely)
  sorted(#list > 0 and list or {0}, "stats.steps")
  local found = {}
  divide(list, likely or {}, 1, #list, found)
  return found
end

--- stats.mann_whitney(a, b) -> p, shift
--- The probability that two lists of samples of the same distribution differ
--- in their ranks at least as much as a and b (two-sided; Mann and Whitney,
--- Annals of Mathematical Statistics 18, 1947). Up to 40 samples in all it is
--- exact, ties included; above, it comes from the normal distribution with
--- corrections for ties and continuity. `shift` is the fraction of pairs in
--- which b is the larger: 0.5 means no shift. Successive samples on a drifting
--- device are not independent, and p is then too small.
--- Example:
--- local p, shift = stats.mann_whitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10})
--- print(p < 0.01, shift) --> true 1.0
function M.mann_whitney(a, b)
  local doubled, sum, ties = double_ranks(a, b)
  local na, nb = #a, #b
  local n = na + nb
  local u = sum / 2 - na * (na + 1) / 2 -- pairs in which a is the larger
  local shift = 1 - u / (na * nb)
  if n <= EXACT then
    if na <= nb then
      return exact(doubled, na, sum), shift
    end
    return exact(doubled, nb, n * (n + 1) - sum), shift
  end
  local variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)))
  local away = math.max(0, math.abs(u - na * nb / 2) - 0.5)
  return variance > 0 and two_sided(away / math.sqrt(variance)) or 1, shift
end

return M

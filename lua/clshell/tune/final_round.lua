-- tune/final_round.lua - the end of a search: the rows near the best are
-- checked on shapes that fit no tile and run in turns, which tells the winners
-- SPDX-License-Identifier: MIT

local evaluation = require "clshell.tune.evaluation"
local results = require "clshell.tune.tune_result"
local sampling = require "clshell.tune.sampling"
local stats = require "clshell.measure.stats"

local M = {}

local TIE = 0.01     -- the part of the best that ties, without turns
local FINALISTS = 8
local FAR = 10       -- times the best: a default too slow for turns

-- The rows that may be among the winners, best first.
local function finalists(rows)
  local list, good = {}, {}
  for _, row in ipairs(rows) do
    good[#good + 1] = row.status == "ok" and row.cost and row or nil
  end
  table.sort(good, function(a, b)
    return a.cost < b.cost or a.cost == b.cost and a.id < b.id
  end)
  local best = good[1]
  for _, row in ipairs(good) do
    local near = math.max(sampling.near, row.rel or 0, best.rel or 0)
    list[#list + 1] = #list < FINALISTS and row.cost <= best.cost
      + near * math.abs(best.cost) and row or nil
  end
  return list
end

-- The distance of a configuration from the default: the number of parameters
-- that differ; another rung is farther than any parameters.
local function plainness(search, row)
  local count, default = 0, search.default
  if not default or default.rung ~= row.rung then
    return default and 100 or 0
  end
  for name, v in pairs(row.point) do
    count = count + (default.point[name] ~= v and 1 or 0)
  end
  return count
end

-- Measures rows in turns, and notes in each row its median, its verdict
-- against the best and the times of its rounds. Returns whether that was done;
-- and, if not, whether a row has failed, which leaves the turns.
local function in_turns(search, rows, seconds)
  local src, points = search.source, {}
  search.progress:step "the best in turns"
  for i, row in ipairs(rows) do
    points[i] = src.space:point(row.id)
  end
  local lists, at, reason = evaluation.turns(src, points, seconds)
  if not lists then
    if at then
      evaluation.reject(rows[at], "failed", reason)
    end
    return false, at ~= nil
  end
  for i, v in ipairs(sampling.judge(lists)) do
    rows[i].turns, rows[i].verdict, rows[i].rounds = v.median, v.verdict,
      lists[i]
  end
  return true
end

-- Whether a row is right on shapes that fit no tile; else it becomes "wrong"
-- or "failed".
local function proves(search, row)
  local src = search.source
  if src.awkward and row.proved == nil then
    search.progress:step("shapes that fit no tile: " .. results.named(row))
    local reason, status = src:awkward(src.space:point(row.id))
    row.proved = not reason
    if reason then
      evaluation.reject(row, status or "wrong", reason)
    end
  end
  return row.proved ~= false
end

-- The finalists that are right on all shapes.
local function proved(search)
  local list, all_right
  repeat
    list, all_right = finalists(search.rows), true
    for _, row in ipairs(list) do
      all_right = proves(search, row) and all_right
    end
  until all_right
  return list
end

-- Adds the default to the finalists if it is right and not much slower.
local function with_default(search, list)
  local all, default = {table.unpack(list)}, search.default
  local near = default and evaluation.timed(default)
    and default.ms < FAR * list[1].ms
  for _, row in ipairs(list) do
    near = near and row ~= default
  end
  all[#all + 1] = near and proves(search, default) and default or nil
  return all
end

-- The ratio of two rows' times in the same rounds, with its interval.
local function ratio(above, below)
  local list = {}
  for i, t in ipairs(above) do
    list[i] = t / below[i]
  end
  local lo, hi = stats.interval(list)
  return {ratio = stats.median(list), lo = lo, hi = hi}
end

-- Sorts winners: the simplest first, then by local memory, by time.
local function rank(search, winners)
  local src, ranks = search.source, {}
  for _, row in ipairs(winners) do
    ranks[row] = {plainness(search, row), #winners > 1 and src.local_bytes
      and src:local_bytes(src.space:point(row.id)) or 0,
      row.turns or row.cost, row.id}
  end
  table.sort(winners, function(a, b)
    local x, y = ranks[a], ranks[b]
    for i, r in ipairs(x) do
      if r ~= y[i] then
        return r < y[i]
      end
    end
    return false
  end)
end

--- final_round.find(search, seconds) -> list of rows, gain
--- The winners of a search, found in turns of so many seconds: rows near the
--- best that are right on all shapes and not told apart from the best. The
--- simplest row comes first, of equally simple rows the row with the least
--- local memory. The gain is over the default, if both were in turns.
function M.find(search, seconds)
  local list, default = proved(search), search.default
  local best, turned, failed = list[1], false, false
  if search.source.subject and best and not search.opts.objective then
    local all = with_default(search, list)
    if #all > 1 then
      turned, failed = in_turns(search, all, seconds)
    end
    if failed then
      return M.find(search, seconds)
    end
    list = turned and all or list
  end
  local winners, gain = {}, nil
  for _, row in ipairs(list) do
    local tied = turned and row.verdict ~= "SLOWER" or not turned
      and row.cost <= best.cost + TIE * math.abs(best.cost)
    winners[#winners + 1] = tied and row or nil
  end
  rank(search, winners)
  local first = winners[1]
  if first and default and default ~= first and default.rounds
      and first.rounds then
    gain = ratio(default.rounds, first.rounds)
  end
  for _, row in ipairs(search.rows) do
    row.rounds, row.proved = nil, nil
  end
  return winners, gain
end

--- final_round.so_far(search) -> list of rows
--- The best row of a search that has not come to its end.
function M.so_far(search)
  return {finalists(search.rows)[1]}
end

return M

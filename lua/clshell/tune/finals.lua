-- tune/finals.lua - the end of a search: the rows near the best are checked on
-- shapes that fit no tile and run in turns, which tells the winners
-- SPDX-License-Identifier: MIT

local aims = require "clshell.tune.aims"
local evaluate = require "clshell.tune.evaluate"
local race = require "clshell.tune.race"
local results = require "clshell.tune.result"
local stats = require "clshell.measure.stats"

local M = {}

local TIE = 0.01     -- of the best: winners, where turns tell nothing
local FINALISTS = 8
local FAR = 10       -- times the best: a default that is not run in turns

-- The rows near the best, best first.
local function finalists(rows)
  local list, best = {}, nil
  for _, row in ipairs(rows) do
    if row.status == "ok" and row.value
        and (not best or row.value < best.value) then
      best = row
    end
  end
  for _, row in ipairs(rows) do
    if row.status == "ok" and row.value then
      local near = math.max(race.near, row.rel or 0, best.rel or 0)
      if row == best or row.value <= best.value + near
          * math.abs(best.value) then
        list[#list + 1] = row
      end
    end
  end
  table.sort(list, function(a, b)
    return a.value < b.value or a.value == b.value and a.id < b.id
  end)
  for i = #list, FINALISTS + 1, -1 do
    list[i] = nil
  end
  return list
end

-- How far a configuration is from the simplest: parameters that are not the
-- default; another rung than the default's is further away than all of them.
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

-- Measures rows in turns: their verdicts against the best and their rounds,
-- or nil. After nil, true: a row has failed, and does not take part again.
local function in_turns(search, rows, seconds)
  local src, points = search.source, {}
  for i, row in ipairs(rows) do
    points[i] = src.space:point(row.id)
  end
  local lists, at, reason = evaluate.turns(src, points, seconds)
  if lists then
    return race.judge(lists), lists
  elseif at then
    rows[at].status, rows[at].reason, rows[at].value = "failed", reason, nil
  end
  return nil, at ~= nil
end

-- Whether a row is right on shapes that fit no tile; it is "wrong" otherwise,
-- or "failed".
local function proves(search, row)
  local src = search.source
  if src.awkward and row.proved == nil then
    search.view:step("shapes that fit no tile: " .. results.named(row))
    local reason, status = src.awkward(src.space:point(row.id))
    row.proved = not reason
    if reason then
      row.status, row.reason, row.value = status or "wrong", reason, nil
    end
  end
  return row.proved ~= false
end

-- The winners of several aims: the rows of the front that are right on all
-- shapes.
local function front_of(search)
  local front
  repeat
    front = aims.front(search.rows)
    local all_right = true
    for _, row in ipairs(front) do
      all_right = proves(search, row) and all_right
    end
  until all_right
  return front
end

-- The ratio of the times of rows in the same rounds, with its interval.
local function ratio(above, below)
  local list = {}
  for i, t in ipairs(above) do
    list[i] = t / below[i]
  end
  local lo, hi = stats.interval(list)
  return {ratio = stats.median(list), lo = lo, hi = hi}
end

--- finals.find(search, seconds) -> list of rows, gain, table
--- The winners of a search, found in turns of so many seconds: rows near the
--- best that are right on all shapes and not told apart from the best. The
--- simplest comes first, of equally simple ones the one with the least local
--- memory. The gain over the default where both were in turns; the table of a
--- source of several shapes.
function M.find(search, seconds)
  if search.aims then
    return front_of(search)
  end
  local src, list = search.source
  repeat
    list = finalists(search.rows)
    local all_right = true
    for _, row in ipairs(list) do
      all_right = proves(search, row) and all_right
    end
  until all_right
  local default = search.default
  local winners, best, ran = {}, list[1], {table.unpack(list)}
  local verdicts, lists
  if src.subject and best and not search.opts.objective then
    if default and evaluate.timed(default) and default.ms < FAR * best.ms then
      local there = false
      for _, row in ipairs(list) do
        there = there or row == default
      end
      ran[#ran + 1] = not there and proves(search, default) and default or nil
    end
    if #ran > 1 then
      search.view:step "the best in turns"
      verdicts, lists = in_turns(search, ran, seconds)
      if not verdicts and lists then
        return M.find(search, seconds)
      end
    end
    for i, row in ipairs(verdicts and ran or {}) do
      row.turns, row.verdict = verdicts[i].median, verdicts[i].verdict
      row.rounds = lists[i]
    end
  end
  for _, row in ipairs(verdicts and ran or list) do
    local tied = row.verdict and row.verdict ~= "SLOWER"
      or not verdicts and row.value <= best.value + TIE * math.abs(best.value)
    winners[#winners + 1] = tied and row or nil
  end
  local ranks = {}
  for _, row in ipairs(winners) do
    ranks[row] = {plainness(search, row), #winners > 1 and src.resource
      and src.resource(src.space:point(row.id), "local_bytes") or 0,
      row.turns or row.value, row.id}
  end
  table.sort(winners, function(a, b)
    local x, y = ranks[a], ranks[b]
    for i, rank in ipairs(x) do
      if rank ~= y[i] then
        return rank < y[i]
      end
    end
    return false
  end)
  local first, gain, settings = winners[1], nil, nil
  if first and default and default ~= first and default.rounds
      and first.rounds then
    gain = ratio(default.rounds, first.rounds)
  end
  if src.decide then
    search.view:step "the table of settings"
    settings = src.decide(search.rows, first, seconds, function(row)
      return proves(search, row)
    end)
  end
  for _, row in ipairs(search.rows) do
    row.rounds, row.proved = nil, nil
  end
  return winners, gain, settings
end

--- finals.so_far(search) -> list of rows
--- The best row so far, or the front of several aims: of a search that was
--- interrupted.
function M.so_far(search)
  if search.aims then
    return aims.front(search.rows)
  end
  local list = finalists(search.rows)
  return {list[1]}
end

return M

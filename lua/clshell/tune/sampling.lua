-- tune/sampling.lua - how many samples a configuration gets: few where it is
-- far from the best, and turns with the others where it is near
-- SPDX-License-Identifier: MIT

local compare = require "clshell.measure.compare"
local phase = require "clshell.base.phase"
local protocol = require "clshell.measure.protocol"
local stats = require "clshell.measure.stats"

local M = {}

local FAR = 1.5   -- times the best: the lesser of two samples is slow
local BEHIND = 1.2 -- times the best: the median of three is slow
local ROUNDS, LEAST_ROUNDS = 11, 8
local SAMPLES = 3 -- samples of each subject in a round
local NEAR = 0.03 -- the part of the best within which rows run in turns
-- The limits of a measurement are short, as turns at the end decide among the
-- nearest: seconds of warm-up, of a busy device and of samples, or the seconds
-- of so many launches of the best.
local WARMUP, BUSY, SECONDS, LAUNCHES = 0.05, 0.03, 0.1, 15

--- sampling.near
--- The part of the best time within which rows are run in turns at the end.
M.near = NEAR

-- The limits of protocol.measure for a configuration: it ends once the
-- interval lies above all times near the best, or is narrow enough to compare.
local function short(limits, best)
  return {samples = limits.samples,
    warmup = math.min(WARMUP, limits.warmup),
    busy = math.min(BUSY, limits.busy),
    seconds = math.min(math.max(SECONDS, LAUNCHES * best), limits.seconds),
    width = NEAR / 2, above = (1 + NEAR) * best}
end

--- sampling.measure(best, subject, r, limits)
--- Measures a subject into the result r, as protocol.measure does, unless a
--- first look says that it is slow: r.status is "slow" then. Two samples say
--- so above 1.5 times the best, three above 1.2 times. Without `best`, the
--- least seconds so far, no subject is slow, and each is measured at length.
--- Returns the seconds of the measurement.
function M.measure(best, subject, r, limits)
  local begin = subject.now()
  if best and best < math.huge then
    local slow
    protocol.look(subject, r, function(samples)
      local n = #samples
      if n == 2 then
        slow = math.min(samples[1], samples[2]) > FAR * best
      elseif n == 3 then
        slow = stats.median(samples) > BEHIND * best
      end
      return slow or n == 3
    end)
    if slow then
      r.status = "slow"
      protocol.summarise(subject, r)
      return subject.now() - begin
    end
  end
  protocol.measure(subject, r, best and short(limits, best) or limits)
  return subject.now() - begin
end

-- One round: the median of each subject's samples; nil where the timer fails.
local function round(subjects, batches, timer, number)
  local scores = {}
  for k = 1, #subjects do
    local i = number % 2 == 0 and k or #subjects + 1 - k
    local times = {}
    phase.begin("ran in turns", false, i)
    for n = 1, SAMPLES do
      local t = protocol.take(subjects[i], batches[i])[timer]
      if not t or t <= 0 then
        return nil
      end
      times[n] = t / batches[i]
    end
    scores[i] = stats.median(times)
  end
  return scores
end

--- sampling.turns(subjects, seconds) -> list of lists, or nil
--- Seconds of a launch of each subject in each round: the subjects run one
--- after the other, in the next round in reverse order. There are 11 rounds,
--- fewer where the seconds are over; nil where they suffice for less than 8.
function M.turns(subjects, seconds)
  local c = subjects[1].calibration
  local timer, batches, each = c.event and c.batch and "event" or "wall", {}, 0
  for i, subject in ipairs(subjects) do
    phase.begin("ran in turns", false, i)
    local s = protocol.take(subject, 1)
    batches[i] = protocol.batch(subject, timer, s[timer] or s.wall)
    each = each + SAMPLES * batches[i] * s.wall
  end
  if each * LEAST_ROUNDS > seconds then
    return nil
  end
  local now = subjects[1].now
  local lists, begin, number = {}, now(), 0
  while number < ROUNDS and (number < LEAST_ROUNDS
      or now() - begin < seconds) do
    number = number + 1
    local scores = round(subjects, batches, timer, number)
    if not scores then -- an event timer that fails: the clock, from the start
      if timer == "wall" then
        return nil
      end
      timer, lists, number = "wall", {}, 0
    else
      for i, score in ipairs(scores) do
        lists[i] = lists[i] or {}
        lists[i][number] = score
      end
    end
  end
  return lists
end

--- sampling.judge(lists) -> list of {median, verdict, ratio, lo, hi}, best
--- The verdicts of sampling.turns on each subject against the best subject, as
--- compare gives them: "SLOWER" if it is slower by 1 % beyond doubt. The ratio
--- is its time over the time of the best, with the 95 % interval.
function M.judge(lists)
  local verdicts, best = {}, 1
  for i, list in ipairs(lists) do
    verdicts[i] = {median = stats.median(list)}
    if verdicts[i].median < verdicts[best].median then
      best = i
    end
  end
  for i, list in ipairs(lists) do
    local ratios, v = {}, verdicts[i]
    for k, t in ipairs(list) do
      ratios[k] = t / lists[best][k]
    end
    v.verdict, v.ratio, v.lo, v.hi = compare.verdict(ratios)
  end
  return verdicts, best
end

return M

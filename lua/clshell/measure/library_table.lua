-- measure/library_table.lua - our kernels against peers: the races and their
-- table
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local compare = require "clshell.measure.compare"
local json = require "clshell.base.json"
local protocol = require "clshell.measure.protocol"
local report = require "clshell.report.table"
local stats = require "clshell.measure.stats"
local target = require "clshell.measure.workload"
local timer = require "clshell.measure.timer"
local ways = require "clshell.measure.peak_kernels"

local M = {}

local WARMUP = 10 -- launches of each side before the first round

M.columns = {
  {key = "work", title = "work"}, {key = "rung", title = "ours"},
  {key = "rate", title = "rate", format = "%.4g"},
  {key = "peer", title = "peer"},
  {key = "peer_rate", title = "its rate", format = "%.4g"},
  {key = "unit", title = "unit", drop = 2},
  {key = "ratio", title = "ratio", format = "%.2f"},
  {key = "range", title = "95 %", drop = 1},
  {key = "goal", title = "goal", format = "%.2f"},
  {key = "error", title = "error", format = "%.0e", drop = 3},
  {key = "note", title = "note", wrap = true}}

--- race.inside(subject) -> subject
--- The same subject timed by what is inside its commands: for kernels so short
--- that enqueueing, not the device, sets the pace of a batch.
function M.inside(subject)
  local sample = subject.sample
  function subject.sample(n)
    local s = sample(n)
    s.event = s.sum or s.event
    return s
  end
  return subject
end

--- race.measure(ours, other, opts) -> {ratio, lo, hi, ours, other, rounds}
--- How many times as fast as another subject ours is: the median, with its
--- 95 % interval, of the ratios of rounds A B B A (see compare.measure), and
--- the median seconds of both; nil where a timer fails. opts: timer ("event",
--- "wall"), rounds (10), samples (2 of each in a round), seconds (30, in all).
function M.measure(ours, other, opts)
  for _, subject in ipairs{ours, other} do
    protocol.take(subject, WARMUP)
  end
  local r = compare.measure(ours, other, {timer = opts.timer,
    looks = {opts.rounds or 10}, samples = opts.samples or 2,
    seconds = opts.seconds or 30, least = opts.least or 0.005})
  if not r or not r.ratio then
    return nil
  end
  return {ratio = r.ratio, lo = r.lo, hi = r.hi, ours = stats.median(r.a),
    other = stats.median(r.b), rounds = r.rounds, samples = r.samples}
end

local Race = {}
Race.__index = Race

local function save(self)
  local f, reason = io.open(self.file, "wb")
  if not f then
    cl.error("cannot write the table: " .. reason)
  end
  local device = cl.device()
  f:write(json.encode({device = device.name, driver = device.driver_version,
    rows = self.rows}, {indent = true}), "\n")
  f:close()
end

--- race.new{rounds=, file=, progress=} -> races
--- A table of races on the current device, to be shown when it is closed:
--- local races <close> = race.new{...}. rounds: A B B A, of each race; file:
--- where the table is written as JSON after each race, so that what was
--- measured stays; progress: of script.progress.
function M.new(opts)
  local self = setmetatable({rounds = opts.rounds, file = opts.file,
    progress = opts.progress, rows = {}}, Race)
  if self.file then
    save(self) -- what cannot be written is said before anything is measured
  end
  return self
end

--- races:row(what) -> what
--- Takes a row: work, rung, peer, goal; rate, peer_rate, unit, ratio; note.
function Race:row(what)
  self.rows[#self.rows + 1] = what
  if self.file then
    save(self)
  end
  return what
end

--- races:run(what, ours, other, timing)
--- Runs two subjects in turns (see race.measure), by "event" or "wall" timers,
--- and takes a row. what: work, rung, peer, goal, unit; amount and
--- peer_amount: what a launch of each does in that unit.
function Race:run(what, ours, other, timing)
  self.progress:step(("%s beside %s"):format(what.work, what.peer))
  local ok, r = pcall(M.measure, ours, other, {timer = timing,
    rounds = self.rounds})
  if not ok and bench.interrupted(r) then
    error(r, 0)
  elseif ok and r then
    local scale = what.amount / what.peer_amount
    what.ratio = r.ratio * scale
    what.lo, what.hi = r.lo and r.lo * scale, r.hi and r.hi * scale
    what.range = r.lo and ("%.2f-%.2f"):format(what.lo, what.hi)
    what.rate = what.amount / r.ours / 1e9
    what.peer_rate = what.peer_amount / r.other / 1e9
    what.ms, what.peer_ms = r.ours * 1e3, r.other * 1e3
    what.timer, what.rounds, what.samples = timing, r.rounds, r.samples
  else
    what.note = ok and "no time" or tostring(r):match("[^\n]*")
  end
  return self:row(what)
end

function Race:__close()
  cl.undisturbed(function()
    self.progress:done()
    if #self.rows > 0 then
      report(self.rows, M.columns)
    end
  end)
end

--- race.plan(family, name, operands [, params]) -> plan, error; or nil, why
--- The plan of a rung whose result was compared with float64.
function M.plan(family, name, operands, params)
  local plan, reason = family.plan_for(name, params, operands)
  if not plan then
    return nil, "refused: " .. reason
  end
  local v = family.verify(name, params, operands)
  if not v.ok then
    return nil, ("WRONG: error %.1e, bound %.1e"):format(v.err, v.bound)
  end
  return plan, v.err
end

--- race.rotated(family, name, operands [, params]) -> subject
--- Runs a rung on copies of its operands in turn, so that no cache holds what
--- the next launch reads.
function M.rotated(family, name, operands, params)
  local calls = {family.plan_for(name, params, operands)}
  local copies = math.ceil(4 * cl.device().global_mem_cache_size
    / target.footprint(operands))
  for i = 2, math.max(2, math.min(4, copies)) do
    calls[i] = family.plan_for(name, params, target.copy(operands,
      family.spec.output))
  end
  return timer.new(cl.context(), calls)
end

local fastest = {} -- copies, by their contexts

--- race.copier() -> subject, bytes
--- The device's fastest copy, of those that peaks() tries, and the bytes that
--- it reads and writes.
function M.copier()
  local context = cl.context()
  local f = fastest[context]
  if not f then
    local list, make = ways.copy(context)
    f = {least = math.huge}
    for _, way in ipairs(list) do
      local call, moved = make(way)
      call():wait()
      for _ = 1, 5 do
        local t = call():wait().ms / moved
        if t < f.least then
          f.call, f.least, f.moved = call, t, moved
        end
      end
    end
    fastest[context] = f
  end
  return timer.new(context, {f.call}), f.moved
end

return M

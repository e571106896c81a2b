-- tune/builders.lua - processes that build the programs of the next points
-- together, while nothing is measured. The worker process, which measures, is
-- one of them: it builds the point that it measures next. The points of the
-- other builders it builds again, in no time: drivers keep builds as files. A
-- build that fails in a builder fails again in the worker process, and counts
-- there. As drivers of CPUs compile at the first launch, builders have the
-- arguments on a CPU, and run each point once.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local parcel = require "clshell.calls.parcel"
local system = require "clshell.system"
local text = require "clshell.base.text"
local workers = require "clshell.calls"

local M = {}

local WORTH = 5     -- the least seconds of builds to come that need builders
local FIRST = 2     -- points to measure before builders start
local PATIENCE = 60 -- seconds for a build
local DEPTH = 3     -- points ahead for each builder, where one would wait
local LOOK = 0.005  -- seconds between looks at builders
local MEMORY = 1 << 30 -- bytes of the device for a builder and its context
local PART = 0.25   -- the part of that memory for all arguments
local REMOTE = "clshell.tune.remote_source"

local Builders = {}
Builders.__index = Builders

--- builders.new(source, count [, sharing]) -> builders, or nil
--- The builders for a source, see evaluation.lua; nil where its points need no
--- build, or where there would be one builder, which saves nothing. Without a
--- count there are as many builders as cores, over the number of searches that
--- are `sharing` the cores, once the first points have shown that builds take
--- most of the time; on a CPU only for sources that another process can run.
function M.new(source, count, sharing)
  if not source.programs or not cl.commandline then
    return nil
  end
  local device = source.context.device
  local launches = device.type == "cpu" and source.opening ~= nil
  local most = math.min(#source.space, count or math.min(
    system.cores() // (sharing or 1), device.global_mem_size // MEMORY))
  if most < 2 or not count and device.type == "cpu" and not launches then
    return nil
  end
  return setmetatable({source = source, asked = count ~= nil,
    launches = launches, most = most, children = {}, number = 0,
    ready = {}, stamps = {}, points = 0, seconds = 0, building = 0,
    built = 0}, Builders)
end

-- Closes the children that have ended or took too long. No other process takes
-- their place. `waiting`: waits for the answer of each child first.
function Builders:bury(waiting)
  for i = #self.children, 1, -1 do
    local w = self.children[i]
    if waiting then
      w.lost = not interrupt.pcall(w.answer, w) or w.lost
    end
    if w.lost then
      table.remove(self.children, i):close()
    end
  end
end

-- Makes a process begin to build the programs of a point. `own`: the process
-- measures the point later.
function Builders:begin(w, id, own)
  local src, p = self.source, self.source.space:point(id)
  assert(w:send(parcel.pack(REMOTE, "build", self.launches,
    self.launches and p or src:programs(p), own)))
  self.ready[id] = true
end

-- Takes the answer of a process on a point. Returns true; or nil, and the
-- reason if the process is lost.
function Builders:finish(w, own)
  local sent, alive, answer = interrupt.pcall(w.answer, w)
  if not sent then -- an error, which the process that measures meets again
    w.lost = w.lost or not own
    return nil
  elseif not alive then
    return nil, answer
  end
  self.stamps[#self.stamps + 1] = answer
  self.built = self.built + (answer.ok and 1 or 0)
  return true
end

-- Lets processes build the first `needed` points of a list together; the
-- process that measures builds the first point, if it is another process than
-- this one. An idle process takes the next point of the list while a needed
-- point is under way. Returns the reason if the first point has ended the
-- process that measures.
function Builders:hand_out(ids, needed, patience)
  local own = self.source.worker and self.source:worker()
  local team, at = {own}, {} -- the index of the point under way
  table.move(self.children, 1, #self.children, #team + 1, team)
  local stop, given, open, fault = cl.now() + patience, 0, 0, nil
  local function give(w)
    local left = stop - cl.now()
    if given < needed or given < #ids and open > 0 and left > 0 then
      given = given + 1
      at[w], open = given, open + (given <= needed and 1 or 0)
      if w ~= own then
        w.opts.limit = math.max(0, left)
      end
      self:begin(w, ids[given], w == own)
    end
  end
  for _, w in ipairs(team) do
    give(w)
  end
  while next(at) do
    local wait = LOOK
    for _, w in ipairs(team) do
      local i = at[w]
      local over = i and w:ready(wait)
      wait = i and 0 or wait
      if over then
        local ok, reason = self:finish(w, w == own)
        at[w], open = nil, open - (i <= needed and 1 or 0)
        if ok then
          give(w)
        elseif i == 1 and w == own then
          fault = reason
        end
      end
    end
  end
  self:bury()
  return fault
end

-- Starts the processes, with the source where they launch.
function Builders:start(patience)
  local opening, most = nil, self.most - (self.source.worker and 1 or 0)
  if self.launches then
    local memory = self.source.context.device.global_mem_size
    opening = parcel.pack(self.source:opening())
    most = opening and math.min(most, PART * memory // #opening) or 0
  end
  local silent <close> = io.open("/dev/null", "w")
  for _ = 1, most do
    self.children[#self.children + 1] = workers.start{output = silent,
      limit = patience, device = self.source.context.device.index,
      wait = false}
  end
  self:bury(true)
  for _, w in ipairs(opening and self.children or {}) do
    assert(w:send(opening))
  end
  self:bury(opening)
  self.number = #self.children + (self.source.worker and 1 or 0)
end

-- Whether builders are worth their start, for so many points and seconds. The
-- first build also loads the compiler: it tells little of the next builds.
function Builders:worth(left, seconds)
  if self.asked then
    return self.points >= 1
  end
  return self.points >= FIRST and math.min(left * self.building
    / (self.points - 1), seconds * self.building / self.seconds) > WORTH
end

--- builders:prepare(id, ahead, wanted, left, seconds) -> reason, or nil
--- Builds the programs of a point, which is measured next, and of the points
--- that ahead(k, more) of the strategy lists where wanted(id) holds. Does
--- nothing where the point is built already. `left` and `seconds`: the points
--- that the search may still measure, and its time. The reason tells how the
--- point has ended the process that measures.
function Builders:prepare(id, ahead, wanted, left, seconds)
  if self.ready[id] or not (self.started or self:worth(left, seconds)) then
    return
  end
  local patience = math.max(0, math.min(PATIENCE, seconds))
  if not self.started then
    self.started = true
    self:start(patience)
  end
  local ids, listed = {id}, {[id] = true}
  local most = #self.children + (self.source.worker and 1 or 0)
  if most > 1 then
    local all, needed = math.min(DEPTH * most, left), math.min(most, left)
    for _, other in ipairs(ahead(needed - 1, all - needed)) do
      if not (self.ready[other] or listed[other]) and wanted(other) then
        ids[#ids + 1], listed[other] = other, true
      end
    end
  end
  return #ids > 1 and self:hand_out(ids, math.min(most, #ids), patience)
    or nil
end

--- builders:measured(seconds, running, building)
--- Notes the seconds of a point in all, in launches and in builds. Where the
--- first launch builds, all seconds outside launches count as builds.
function Builders:measured(seconds, running, building)
  self.points = self.points + 1
  if self.points > 1 then
    self.seconds = self.seconds + seconds
    self.building = self.building + (self.launches
      and math.max(0, seconds - running) or building)
  end
end

--- builders:took(seconds, found)
--- Notes the measurement of a point and its seconds in all.
function Builders:took(seconds, found)
  local launch = found.record and found.record.median or 0 -- checked
  self:measured(seconds, launch + (found.sampled or 0), found.building or 0)
end

--- builders:measure(id, best, ahead, wanted, left, seconds) -> found
--- The measurement of a point, after the builds of its programs and of
--- programs of the next points; see builders:prepare.
function Builders:measure(id, best, ...)
  local src, fault = self.source, self:prepare(id, ...)
  local ready = cl.now()
  local found = fault and {status = "failed", reason = fault}
    or src:measure(src.space:point(id), best)
  self:took(cl.now() - ready, found)
  return found
end

--- builders:note() -> string, or nil
--- A line about the builders of a search.
function Builders:note()
  return self.built > 0 and ("%s compiled %s in advance")
    :format(text.count(self.number, "helper"), text.count(self.built,
    "configuration")) or nil
end

function Builders:close()
  for _, w in ipairs(self.children) do
    w:close()
  end
end

Builders.__close = Builders.close

return M

-- tune/builders.lua - processes that build the programs of the next points
-- together, while nothing is measured. The worker process, which measures, is
-- one of them: it builds the point that it measures next. It builds those of
-- the others again, in no time: drivers keep builds as files. Where the driver
-- does not, the binary cache does. A build that fails here fails there too,
-- and only there it counts. As drivers of CPUs compile at the first launch,
-- builders there have the arguments as well, and run each point once.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local parcel = require "clshell.worker.parcel"
local program = require "clshell.family.program"
local system = require "clshell.system"
local text = require "clshell.base.text"
local workers = require "clshell.worker"

local M = {}

local FIRST = 2     -- points measured before builders start by themselves
local WORTH = 5     -- seconds of builds to come that builders are for
local PATIENCE = 60 -- seconds for a build
local SLOW = 0.1    -- seconds of a build that nobody has kept
local MEMORY = 1 << 30 -- bytes of the device for a builder and its context
local PART = 0.25   -- of that memory, for the arguments of all builders
local REMOTE = "clshell.tune.remote"

local Builders = {}
Builders.__index = Builders

--- builders.new(source, count) -> builders, or nil
--- The builders for a source, see evaluate.lua. None where the points need no
--- build. Without a count there are as many as cores, once the first points
--- have shown that building takes most of the time; on a CPU only for sources
--- that another process can run. One alone saves nothing: none then.
function M.new(source, count)
  if not source.programs or not cl.commandline then
    return nil
  end
  local device = source.context.device
  local launches = device.type == "cpu" and source.number ~= nil
  local most = math.min(#source.space, count or math.min(system.cores(),
    device.global_mem_size // MEMORY))
  if most < 2 or not count and device.type == "cpu" and not launches then
    return nil
  end
  return setmetatable({source = source, asked = count ~= nil,
    launches = launches, most = most, children = {}, number = 0,
    keep = false, ready = {}, stamps = {}, points = 0, seconds = 0,
    building = 0, took = {}, rebuilding = 0, built = 0,
    set_cache = source.keep_binaries or program.keep_binaries}, Builders)
end

-- Notes what a builder did for a point.
function Builders:note_build(id, done)
  self.stamps[#self.stamps + 1] = done
  self.built = self.built + (done.ok and 1 or 0)
  self.took[id] = done.ok and done.seconds or nil
end

-- Waits for the answers of children, on points of these numbers where they
-- build. One that ends or takes too long is not replaced.
function Builders:gather(children, patience, ids)
  local stop = cl.now() + patience
  for i, w in ipairs(children) do
    w.opts.limit = math.max(0, stop - cl.now())
    local ran, done, built = interrupt.pcall(w.answer, w)
    w.lost = w.lost or not ran
    if ids and ran and done then
      self:note_build(ids[i], built)
    end
  end
  for i = #self.children, 1, -1 do
    if self.children[i].lost then
      table.remove(self.children, i):close()
    end
  end
end

-- Has points built together: the first one where it is measured, if that is
-- another process, each other one by a child. Returns why the process that
-- measures was lost by it, or nil.
function Builders:hand_out(ids, patience)
  local src, children, theirs, lost = self.source, {}, {}, nil
  local function task(id)
    local p = src.space:point(id)
    return self.keep, self.launches and src.number,
      self.launches and p or src.programs(p)
  end
  for i = src.build and 2 or 1, #ids do
    local n = #children + 1
    children[n], theirs[n] = self.children[n], ids[i]
    assert(children[n]:send(parcel.pack(REMOTE, "build", task(ids[i]))))
  end
  if src.build then
    local done, built = src.build(task(ids[1]))
    if done then
      self:note_build(ids[1], built)
      self.took[ids[1]] = nil
    elseif done == nil then
      lost = built
    end
  end
  self:gather(children, patience, theirs)
  return lost
end

-- Starts the processes, with the source where they launch.
function Builders:start(patience)
  local opening, most = nil, self.most - (self.source.build and 1 or 0)
  if self.launches then
    local memory = self.source.context.device.global_mem_size
    opening = parcel.pack(self.source.opening())
    most = opening and math.min(most, PART * memory // #opening) or 0
  end
  local silent <close> = io.open("/dev/null", "w")
  for _ = 1, most do
    self.children[#self.children + 1] = workers.start{output = silent,
      limit = patience, device = self.source.context.device.index,
      wait = false}
  end
  self:gather({table.unpack(self.children)}, patience)
  if opening then
    for _, w in ipairs(self.children) do
      assert(w:send(opening))
    end
    self:gather({table.unpack(self.children)}, patience)
  end
  self.number = #self.children + (self.source.build and 1 or 0)
end

-- Whether the driver keeps builds, so that another process has them at once:
-- by the seconds that a builder took for a program, and the process that
-- measures then. A quick build says nothing: it may have been kept already.
function Builders.driver_keeps(took, again)
  if took > SLOW then
    return again < took / 2
  end
end

-- Another point is visited. The last one may have told whether the driver
-- keeps builds; where it does not, the binary cache is to hand them over.
function Builders:visit(id)
  local took = self.took[self.visited]
  if took and self.keeps == nil then
    self.keeps = self.driver_keeps(took, self.rebuilding)
    if self.keeps == false then
      self.keep = true
      self.set_cache(true)
    end
  end
  self.visited, self.rebuilding = id, 0
end

-- Whether builders are worth their start, for so many points and seconds. The
-- first build also loads the compiler: it says little of the others.
function Builders:worth(left, seconds)
  if self.asked then
    return self.points >= 1
  end
  return self.points >= FIRST and math.min(left * self.building
    / (self.points - 1), seconds * self.building / self.seconds) > WORTH
end

--- builders:prepare(id, ahead, wanted, left, seconds) -> reason, or nil
--- Builds the programs of a point, which is measured next, and of those that
--- ahead(k) lists where wanted(id) holds. Does nothing where the point is
--- built already. `left`: the points that the search may still measure, and
--- the seconds for that. The reason is that of a process that the point has
--- ended, the one that measures.
function Builders:prepare(id, ahead, wanted, left, seconds)
  if id ~= self.visited then
    self:visit(id)
  end
  if self.ready[id] or not (self.started or self:worth(left, seconds)) then
    return
  end
  local patience = math.max(0, math.min(PATIENCE, seconds))
  if not self.started then
    self.started = true
    self:start(patience)
  end
  local ids = {id}
  local most = #self.children + (self.source.build and 1 or 0)
  if most > 1 then
    for _, other in ipairs(ahead(math.min(most, left) - 1)) do
      if not self.ready[other] and wanted(other) then
        ids[#ids + 1] = other
      end
    end
  end
  if #ids > 1 then
    for _, other in ipairs(ids) do
      self.ready[other] = true
    end
    return self:hand_out(ids, patience)
  end
end

--- builders:measured(seconds, running, building)
--- Notes what a point took in all, in launches and in builds. Where the first
--- launch builds, all but the launches counts.
function Builders:measured(seconds, running, building)
  self.points, self.rebuilding = self.points + 1, self.rebuilding + building
  if self.points > 1 then
    self.seconds = self.seconds + seconds
    self.building = self.building + (self.launches
      and math.max(0, seconds - running) or building)
  end
end

--- builders:note() -> string, or nil
--- A line about the builders of a search.
function Builders:note()
  return self.built > 0 and ("%s built %s ahead, handed over by %s"):format(
    text.count(self.number, "builder"), text.count(self.built,
    "configuration"), self.keep and "the binary cache" or "the driver") or nil
end

function Builders:__close()
  for _, w in ipairs(self.children) do
    w:close()
  end
  if self.keep then
    self.set_cache(false)
  end
end

return M

-- tune/builders.lua - processes that build the programs of the next points
-- together, while nothing is measured. The process that measures builds them
-- again, in no time: drivers keep builds as files. Where the driver does not,
-- the binary cache does. A build that fails here fails there too, and only
-- there it counts. As drivers of CPUs compile at the first launch, builders
-- there have the arguments as well, and run each point once.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local parcel = require "clshell.worker.parcel"
local program = require "clshell.family.program"
local remote = require "clshell.tune.remote"
local system = require "clshell.system"
local text = require "clshell.base.text"
local workers = require "clshell.worker"

local M = {}

local FIRST = 3     -- points measured before builders start by themselves
local WORTH = 5     -- seconds of builds to come that builders are for
local PATIENCE = 60 -- seconds for a build
local SLOW = 0.1    -- seconds of a build that nobody has kept
local MEMORY = 1 << 30 -- bytes of the device for a builder and its context
local PART = 0.25   -- of that memory, for the arguments of all builders
local NAME = ...

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
    building = 0, slowest = {seconds = 0}, built = 0,
    set_cache = source.keep_binaries or program.keep_binaries}, Builders)
end

-- Waits for the answers of children. One that ends or takes too long is not
-- replaced. Returns the answers {ok, begin, stop}, in seconds of cl.now.
function Builders:gather(children, patience)
  local stop, answers = cl.now() + patience, {}
  for _, w in ipairs(children) do
    w.opts.limit = math.max(0, stop - cl.now())
    local ran, done, begin, ended, ok = interrupt.pcall(w.answer, w)
    w.lost = w.lost or not ran
    answers[#answers + 1] = ran and done and {ok = ok, begin = begin,
      stop = ended} or nil
  end
  for i = #self.children, 1, -1 do
    if self.children[i].lost then
      table.remove(self.children, i):close()
    end
  end
  return answers
end

-- Has a child for each of some points build their programs.
function Builders:hand_out(points, patience)
  local src, children = self.source, {}
  for i, p in ipairs(points) do
    children[i] = self.children[i]
    assert(children[i]:send(parcel.pack(NAME, "build", self.keep,
      self.launches and src.number, self.launches and p or src.programs(p))))
  end
  local answers = self:gather(children, patience)
  table.move(answers, 1, #answers, #self.stamps + 1, self.stamps)
  return answers
end

-- Starts the processes, with the source where they launch.
function Builders:start(patience)
  local opening, most = nil, self.most
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
  self.number = #self.children
end

-- Whether the driver keeps builds, so that another process has them at once:
-- one builds the program that took longest here, alone. A quick one says
-- nothing: it may have been kept already.
function Builders:driver_keeps(patience)
  local p = self.slowest.seconds > SLOW and self.slowest.point
  local answer = p and self.children[1] and self:hand_out({p}, patience)[1]
  return not answer
    or answer.stop - answer.begin < self.slowest.seconds / 2
end

-- Whether builders are worth their start, for so many points and seconds.
function Builders:worth(left, seconds)
  if self.asked then
    return self.points >= 1
  end
  return self.points >= FIRST and math.min(left * self.building / self.points,
    seconds * self.building / self.seconds) > WORTH
end

--- builders:prepare(id, ahead, wanted, left, seconds)
--- Builds the programs of a point, and of those that ahead(k) lists where
--- wanted(id) holds. Does nothing where the point is built already. `left`:
--- the points that the search may still measure, and the seconds for that.
function Builders:prepare(id, ahead, wanted, left, seconds)
  if self.ready[id] or not (self.started or self:worth(left, seconds)) then
    return
  end
  local patience = math.max(0, math.min(PATIENCE, seconds))
  if not self.started then
    self.started = true
    self:start(patience)
    self.keep = not self:driver_keeps(patience)
    self.set_cache(self.keep)
  end
  local points, space = {}, self.source.space
  local function add(other)
    self.ready[other] = true
    points[#points + 1] = space:point(other)
  end
  if #self.children > 1 then
    add(id)
    for _, other in ipairs(ahead(math.min(#self.children, left) - 1)) do
      if not self.ready[other] and wanted(other) then
        add(other)
      end
    end
  end
  if #points > 1 then
    for _, answer in ipairs(self:hand_out(points, patience)) do
      self.built = self.built + (answer.ok and 1 or 0)
    end
  end
end

--- builders:measured(p, seconds, running, building)
--- Notes what a point took in all, in launches and in builds. Where the first
--- launch builds, all but the launches counts.
function Builders:measured(p, seconds, running, building)
  building = self.launches and math.max(0, seconds - running) or building
  self.points, self.seconds = self.points + 1, self.seconds + seconds
  self.building = self.building + building
  if building > self.slowest.seconds then
    self.slowest = {point = p, seconds = building}
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

--- builders.build(keep, number, x) -> begin, stop, ok
--- In a builder: builds programs x, of what program.get takes; or launches the
--- point x of the source of that number.
function M.build(keep, number, x)
  local begin = cl.now()
  program.keep_binaries(keep)
  local ok = interrupt.pcall(function()
    if number then
      return remote.launch(number, x)
    end
    for _, one in ipairs(x) do
      program.forget{program.get(cl.context(), one.from, one.defines,
        one.options)}
    end
  end)
  collectgarbage()
  return begin, cl.now(), ok
end

return M

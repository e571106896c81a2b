-- tune/builders.lua - processes that build the programs of the next points
-- together, while nothing is measured. The process that measures builds them
-- again, in no time: drivers keep builds as files. Where the driver does not,
-- the binary cache does. A build that fails here fails there too, and only
-- there it counts.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local program = require "clshell.family.program"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local FIRST = 3     -- points measured before builders start by themselves
local WORTH = 5     -- seconds of builds to come that builders are for
local PATIENCE = 60 -- seconds for a build
local SLOW = 0.1    -- seconds of a build that nobody has kept
local MEMORY = 1 << 30 -- bytes of the device for a builder and its context
local SERVE = "require('clshell.tune.builders').serve()"

local Builders = {}
Builders.__index = Builders

--- builders.new(source, count) -> builders, or nil
--- The builders for a source, see evaluate.lua. None where the points need no
--- build. Without a count there are as many as cores, on devices that are no
--- CPU, once the first points have shown that building takes most of the time.
function M.new(source, count)
  if not source.programs or count == 0 or not cl.commandline then
    return nil
  end
  local device = source.context.device
  if not count and device.type == "cpu" then
    return nil
  end
  return setmetatable({source = source, asked = count ~= nil,
    most = math.min(#source.space, count or math.min(system.cores(),
      device.global_mem_size // MEMORY)),
    children = {}, number = 0, keep = false, ready = {}, stamps = {},
    points = 0, seconds = 0, building = 0, slowest = {seconds = 0}, built = 0,
    set_cache = source.keep_binaries or program.keep_binaries}, Builders)
end

-- Sends each child a job, and waits for all. A child that ends or takes too
-- long is not replaced. Returns the answers {ok, begin, stop}, in seconds of
-- cl.now.
function Builders:exchange(jobs, patience)
  local stop, answers, left = cl.now() + patience, {}, {}
  for i, job in ipairs(jobs) do
    self.children[i]:send(json.encode(job))
  end
  for i, c in ipairs(self.children) do
    local message = jobs[i] and c:receive(math.max(0, stop - cl.now())) or nil
    if message then
      answers[#answers + 1] = json.decode(message)
    elseif jobs[i] then
      c:kill()
    end
    if message or not jobs[i] then
      left[#left + 1] = c
    end
  end
  self.children = left
  return answers
end

-- Has a child for each of some points build their programs.
function Builders:hand_out(points, patience)
  local jobs = {}
  for i, p in ipairs(points) do
    jobs[i] = {keep = self.keep, programs = self.source.programs(p)}
  end
  local answers = self:exchange(jobs, patience)
  table.move(answers, 1, #answers, #self.stamps + 1, self.stamps)
  return answers
end

-- Starts the processes.
function Builders:start(patience)
  local child = require "clshell.child"
  local silent <close> = io.open("/dev/null", "w")
  local jobs = {}
  for _ = 1, self.most do
    local c = child.start(cl.commandline.program, {"-q", "-n", "--store",
      "none", "-e", SERVE}, {output = silent})
    self.children[#self.children + 1] = c
    jobs[#self.children] = {device = self.source.context.device.index}
  end
  self:exchange(jobs, patience)
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
  local patience = math.min(PATIENCE, seconds)
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

--- builders:measured(p, seconds, building)
--- Notes what a point took in all, and its builds.
function Builders:measured(p, seconds, building)
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
  for _, c in ipairs(self.children) do
    c:kill()
  end
  if self.keep then
    self.set_cache(false)
  end
end

--- builders.serve()
--- The loop of a builder.
function M.serve()
  local parent = require "clshell.child".parent()
  local context
  while true do
    local message = parent:receive()
    if not message then
      return
    end
    local job, begin = json.decode(message), cl.now()
    local ok, e = pcall(function()
      context = job.device and cl.context(cl.devices()[job.device]) or context
      program.keep_binaries(job.keep)
      for _, one in ipairs(job.programs or {}) do
        program.forget{program.get(context, one.from, one.defines,
          one.options)}
      end
    end)
    if interrupt.is(e) then
      return
    end
    parent:send(json.encode{ok = ok, begin = begin, stop = cl.now()})
    collectgarbage()
  end
end

return M

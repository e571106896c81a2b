-- measure/library.lua - other programs beside our own kernels: as subjects of
-- the protocol, which measure/library_table.lua runs in turns with a rung, or
-- by what they print
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = {}

local Program = {}
Program.__index = Program

-- The next answer; what drivers and compilers print between is left out. Where
-- the program ends instead, the last line says why: so a traceback ends.
local function answer_of(self)
  local last = "it ended"
  for line in self.from:lines() do
    if line:find("^ok") or line:find("^error") or tonumber(line) then
      return line
    end
    last = line
  end
  return "error " .. last
end

-- A new named pipe, for the user alone.
local function make_fifo()
  local pipe <close> = assert(io.popen("d=$(mktemp -d) && mkfifo "
    .. "-m 600 \"$d/to\" && echo \"$d\"", "r"))
  return pipe:read("l")
end

--- peer.program(file [, command]) -> program, or nil and a reason
--- Starts a program, `file` or the command to run it with, that answers a line
--- with a line: "ok WHAT" or "error REASON", the first of them unasked
--- (tests/peers/cuda.c is one). It ends when closed.
function M.program(file, command)
  local f = io.open(file)
  if not f then
    return nil, "there is no " .. file
  end
  f:close()
  local folder = make_fifo()
  if not folder then
    return nil, "mkfifo fails"
  end
  local fifo = folder .. "/to"
  local self = setmetatable({}, Program)
  self.from = assert(io.popen(("%s %s <%s 2>&1"):format(command or "",
    text.quote(file), text.quote(fifo))))
  self.to = assert(io.open(fifo, "r+")) -- opens at once, reader or not
  self.to:setvbuf("line")
  local answer = answer_of(self)
  os.remove(fifo) -- by now the program has it open
  os.remove(folder)
  self.version = answer:match("^ok ?(.*)")
  if not self.version then
    self:close()
    return nil, (answer:gsub("^error ", ""))
  end
  return self
end

--- program:ask(line) -> answer, or nil and a reason
function Program:ask(line)
  self.to:write(line, "\n")
  local answer = answer_of(self)
  local reason = answer:match("^error (.*)")
  return not reason and (answer:match("^ok ?(.*)") or answer) or nil, reason
end

--- program:subject(line) -> subject, what; or nil and a reason
--- Prepares what a line asks for as a subject of protocol.measure, which then
--- asks "run N" and is told the seconds of N launches on end.
function Program:subject(line)
  local what, reason = self:ask(line)
  if not what then
    return nil, reason
  end
  local subject = timer.host(function() end)
  subject.calibration = {event = true, batch = true, tick = 1e-6,
    wall_tick = 1e-6, floor = 2e-6, floor_wall = 1e-5}
  function subject.sample(n)
    local begin = cl.now()
    local seconds, why = self:ask("run " .. n)
    if not tonumber(seconds) or tonumber(seconds) <= 0 then
      cl.error(("%s: %s"):format(line, why or "it fails"))
    end
    return {event = tonumber(seconds), wall = cl.now() - begin}
  end
  return subject, what
end

--- program:close()
function Program:close()
  if self.to then
    self.to:close()
    self.from:close()
    self.to = nil
  end
end

Program.__close, Program.__gc = Program.close, Program.close

-- The place of a device among the platforms and devices, from 0, as clpeak
-- counts them.
local function place(device)
  local at, count = 0, 0
  for i, platform in ipairs(cl.platforms()) do
    at = platform.name == device.platform and i - 1 or at
  end
  for _, dev in ipairs(cl.devices()) do
    if dev == device then
      break
    end
    count = count + (dev.platform == device.platform and 1 or 0)
  end
  return at, count
end

-- The sections of clpeak's report that are wanted.
local CLPEAK = {
  ["Global memory bandwidth"] = "read",
  ["Single-precision compute"] = "fma_float",
  ["Double-precision compute"] = "fma_double",
}

--- peer.clpeak(device) -> {read, fma_float, fma_double}, or nil and a reason
--- What clpeak measures by event timers, in bytes and FLOP per second: the
--- best of its vector widths.
function M.clpeak(device)
  local i, k = place(device)
  local pipe = assert(io.popen(("clpeak -p %d -d %d --use-event-timer "
    .. "--global-bandwidth --compute-sp --compute-dp 2>&1"):format(i, k)))
  local found, name, right = {}, nil, false
  for line in pipe:lines() do
    right = right or line:match("^%s+Device: (.*)$") == device.name
    local title = line:match("^%s+(%S.-) %(G")
    local value = line:match("^%s+%l+%d* *: ([%d.]+)$")
    if title then
      name = CLPEAK[title]
    elseif value and name then
      found[name] = math.max(found[name] or 0, tonumber(value) * 1e9)
    end
  end
  pipe:close()
  if not right or next(found) == nil then
    return nil, "clpeak is not installed, or does not know this device"
  end
  return found
end

return M

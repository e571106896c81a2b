-- lib/races.lua - races of rungs against other programs and libraries, for
-- bench_peers.lua, bench_array.lua and cg.lua: the programs as subjects of the
-- protocol, figures that they print, and the table of the races
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local compare = require "clshell.measure.compare"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local peak_kernels = require "clshell.measure.peak_kernels"
local protocol = require "clshell.measure.protocol"
local report = require "clshell.report"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local workload = require "clshell.ladder.workload"

local M = {}

local WARMUP = 10 -- launches of each side before the first round

local Program = {}
Program.__index = Program

-- The next answer; lines of drivers and compilers in between are skipped. If
-- the program ends, its last line is the reason: so a traceback ends.
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

--- peers.program(path [, command]) -> program, or nil and a reason
--- Starts a program, a file or the command that runs it, that answers each
--- line with a line, "ok WHAT" or "error REASON", and gives a first answer
--- unasked (tests/peers/cuda.c is an example). It ends when closed.
function M.program(path, command)
  local f = io.open(path)
  if not f then
    return nil, "there is no " .. path
  end
  f:close()
  local folder = make_fifo()
  if not folder then
    return nil, "mkfifo fails"
  end
  local fifo = folder .. "/to"
  local self = setmetatable({}, Program)
  self.from = assert(io.popen(("%s %s <%s 2>&1"):format(command or "",
    text.quote(path), text.quote(fifo))))
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

--- program:subject(line) -> subject, answer; or nil and a reason
--- Prepares the work of a line as a subject of protocol.measure: "run N" then
--- answers the seconds of N launches on end.
function Program:subject(line)
  local answer, reason = self:ask(line)
  if not answer then
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
  return subject, answer
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

-- The numbers of a device's platform and of the device in it, from 0, as
-- clpeak counts.
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

-- The sections of clpeak's report to read.
local CLPEAK = {
  ["Global memory bandwidth"] = "read",
  ["Single-precision compute"] = "fma_float",
  ["Double-precision compute"] = "fma_double",
}

--- peers.clpeak(device) -> {read, fma_float, fma_double}, or nil and a reason
--- The figures of clpeak by event timers, in bytes and FLOP per second: the
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

M.columns = {
  {key = "work", title = "work"}, {key = "rung", title = "ours"},
  {key = "rate", title = "rate", format = "%.4g"},
  {key = "peer", title = "peer"},
  {key = "peer_rate", title = "its rate", format = "%.4g"},
  {key = "unit", title = "unit", drop = 2},
  {key = "ratio", title = "ratio", format = "%.2f"},
  {key = "range", title = "95 %", drop = 1},
  {key = "goal", title = "goal", format = "%.2f", drop = 4},
  {key = "error", title = "error", format = "%.0e", drop = 3},
  {key = "note", title = "note", wrap = true}}

--- peers.inside(subject) -> string
--- The time inside the commands of a launch of a subject, such as "3.1 us":
--- less than a launch back to back takes, where enqueueing, not the device,
--- sets the pace.
function M.inside(subject)
  protocol.take(subject, WARMUP)
  local s = subject.sample(100)
  local seconds = s.sum or s.event
  return seconds and ("%.3g us"):format(seconds / 100 * 1e6) or "unknown"
end

--- peers.back_to_back(call) -> subject
--- A function's calls one behind another, from the START of the first to the
--- END of the last: call() -> result, event. Nobody takes the Events of the
--- calls in between, so that the driver is asked for none, as other libraries
--- ask for none.
function M.back_to_back(call)
  local subject = timer.new(cl.context(), {call})
  function subject.sample(n)
    local begin, last = cl.now(), nil
    local _, first = call()
    for _ = 3, n do
      call()
    end
    if n > 1 then
      _, last = call()
    end
    last = (last or first):wait()
    first:wait()
    return {event = (last.stop - first.start) * 1e-9, wall = cl.now() - begin}
  end
  return subject
end

--- peers.measure(ours, other, opts) -> comparison, or nil
--- The result of compare.measure, with ours and other, the median seconds of
--- both; nil where a timer fails. Its ratio says how many times as fast as the
--- other subject ours is. opts: timer ("event", "wall"), rounds (10), samples
--- (2 of each in a round), seconds (30, in all).
function M.measure(ours, other, opts)
  protocol.take(ours, WARMUP)
  protocol.take(other, WARMUP)
  local r = compare.measure(ours, other, {timer = opts.timer,
    looks = {opts.rounds or 10}, samples = opts.samples or 2,
    seconds = opts.seconds or 30, least = 0.005})
  if r and r.ratio then
    r.ours, r.other = stats.median(r.a), stats.median(r.b)
    return r
  end
end

local Races = {}
Races.__index = Races

local function save(self)
  local device = cl.device()
  file.write(self.file, json.encode({device = device.name, driver =
    device.driver_version, rows = self.rows}, {indent = true}) .. "\n",
    "the table")
end

--- peers.races{rounds=, file=, progress=} -> races
--- A table of races on the current device, shown when it is closed:
--- local races <close> = peers.races{...}. rounds: A B B A, of each race;
--- file: the JSON file of the table, written after each race, so that no
--- result is lost; progress: of script.progress.
function M.races(opts)
  local self = setmetatable({rounds = opts.rounds, file = opts.file,
    progress = opts.progress, rows = {}}, Races)
  if self.file then
    save(self) -- an unwritable file raises before anything is measured
  end
  return self
end

--- races:row(row) -> row
--- Adds a row: work, rung, peer, goal; rate, peer_rate, unit, ratio; note.
function Races:row(row)
  self.rows[#self.rows + 1] = row
  if self.file then
    save(self)
  end
  return row
end

--- races:run(row, ours, other, timing) -> row, comparison
--- Runs two subjects in turns (see peers.measure), by "event" or "wall"
--- timers, and adds the row; no comparison where it fails. row: work, rung,
--- peer, goal, unit; amount and peer_amount: the work of a launch of each in
--- that unit.
function Races:run(row, ours, other, timing)
  self.progress:step(("%s beside %s"):format(row.work, row.peer))
  local ok, r = interrupt.pcall(M.measure, ours, other, {timer = timing,
    rounds = self.rounds})
  if ok and r then
    local scale = row.amount / row.peer_amount
    row.ratio = r.ratio * scale
    row.lo, row.hi = r.lo and r.lo * scale, r.hi and r.hi * scale
    row.range = r.lo and ("%.2f-%.2f"):format(row.lo, row.hi)
    row.rate = row.amount / r.ours / 1e9
    row.peer_rate = row.peer_amount / r.other / 1e9
    row.ms, row.peer_ms = r.ours * 1e3, r.other * 1e3
    row.timer, row.rounds, row.samples = timing, r.rounds, r.samples
  else
    row.note = ok and "no time" or tostring(r):match("[^\n]*")
  end
  return self:row(row), ok and r or nil
end

function Races:__close()
  cl.undisturbed(function()
    self.progress:done()
    if #self.rows > 0 then
      report(self.rows, M.columns)
    end
  end)
end

--- peers.plan(family, name, operands [, params]) -> plan, error; nil, reason
--- The plan of a rung whose result agrees with float64.
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

--- peers.rotated(family, name, operands [, params]) -> subject
--- Runs a rung on copies of its operands in turn, so that no cache holds the
--- operands of the next launch.
function M.rotated(family, name, operands, params)
  local calls = {family.plan_for(name, params, operands)}
  local copies = math.ceil(4 * cl.device().global_mem_cache_size
    / workload.footprint(operands))
  for i = 2, math.max(2, math.min(4, copies)) do
    calls[i] = family.plan_for(name, params, workload.copy(operands,
      family.spec.output))
  end
  return timer.new(cl.context(), calls)
end

local fastest = {} -- copies, by their contexts

--- peers.copier() -> subject, bytes
--- The fastest copy of the device, of those that peaks() tries, and the bytes
--- that it reads and writes.
function M.copier()
  local context = cl.context()
  local f = fastest[context]
  if not f then
    local list, make = peak_kernels.ways.copy(context, {})
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

-- base/progress.lua - the progress of a long run on standard error: one line
-- that is drawn again on a terminal, else a plain line now and then
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local style = require "clshell.base.style"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

-- progress.tell(name, unlimited, about): set in a worker process.
M.tell = nil

-- progress.phase(name [, unlimited [, about]])
-- A phase of a call begins, for the process that waits for the call: a verb
-- of the past, as in "while it measured", and the value that the phase is
-- about. The time limit starts anew; unlimited = true: this phase has none.
function M.phase(name, unlimited, about)
  if M.tell then
    M.tell(name, unlimited, about)
  end
end

local Progress, Notice = {}, {}
Progress.__index, Notice.__index = Progress, Notice

local BAR = 20     -- characters
local DELAY = 0.5  -- seconds before anything is drawn
local JOINED = 2   -- seconds between parts of one work, such as a calibration
local REDRAW = 0.1 -- seconds between two drawings
local PLAIN = 10   -- seconds, and per cent, between two plain lines
local RECENT = 16  -- steps that predict the time to go

-- The fields that progress and notices share; tests give some of them.
local function base(opts)
  local function given(name, default)
    if opts[name] ~= nil then
      return opts[name]
    end
    return default
  end
  local now = opts.now or cl.now
  return {
    now = now, begin = now(), shown = false, tty = given("tty", cl.isatty(2)),
    width = opts.width or system.winsize(2) or 80,
    quiet = given("quiet", cl.commandline and cl.commandline.quiet),
    write = opts.write or function(s)
      io.stderr:write(s)
    end,
  }
end

--- progress.new{total =, ...} -> progress
--- Progress of `total` steps. Nothing is shown in the first half second and
--- with -q; on a terminal at most ten times a second, elsewhere a line for
--- each tenth, at most every ten seconds. Closes itself: local p <close> =
--- progress.new{...}. For tests: now, write, tty, glyphs, width, quiet.
--- Example:
--- local p <close> = progress.new{total = 3}
--- for i = 1, 3 do
---   p:step("part " .. i)
--- end
function M.new(opts)
  cl.options(opts, {"total", "now", "write", "tty", "glyphs", "width",
    "quiet"}, "progress.new")
  local p = base(opts)
  p.total, p.count, p.tenth, p.times = math.max(1, opts.total or 1), 0, 0, {}
  p.drawn, p.said = -math.huge, p.begin
  p.glyphs = opts.glyphs
  if p.glyphs == nil then
    p.glyphs = style.glyphs()
  end
  return setmetatable(p, Progress)
end

local function bar(p)
  local full = math.min(1, (p.count - 1) / p.total) * BAR
  local whole = math.floor(full)
  if not p.glyphs then
    return ("[%s%s]"):format(("#"):rep(whole), ("-"):rep(BAR - whole))
  end
  local half = full - whole >= 0.5 and 1 or 0
  return ("━"):rep(whole) .. ("╸"):rep(half) .. ("─"):rep(BAR - whole - half)
end

-- "  eta 1:05" by the median of the last steps; empty before the third step.
local function eta(p)
  if #p.times < 2 then
    return ""
  end
  local sorted = table.move(p.times, 1, #p.times, 1, {})
  table.sort(sorted)
  local left = sorted[(#sorted + 1) // 2] * (p.total - p.count + 1)
  local seconds = math.tointeger(math.floor(left + 0.5))
  if seconds >= 3600 then
    return ("  eta %d:%02d:%02d"):format(seconds // 3600, seconds // 60 % 60,
      seconds % 60)
  end
  return ("  eta %d:%02d"):format(seconds // 60, seconds % 60)
end

-- Draws a line of a terminal anew.
local function draw_line(p, line)
  p.write("\r\27[K" .. text.cut(line, p.width - 1))
  p.shown = true
end

local function draw(p, label)
  local head = ("%s %d/%d"):format(bar(p), p.count, p.total)
  local tail = (p.best and "  " .. p.best or "") .. eta(p)
  local room = p.width - 1 - text.width(head) - text.width(tail)
  if room < 6 then
    tail, room = eta(p), p.width - 1 - text.width(head) - #eta(p)
  end
  draw_line(p, head .. text.cut("  " .. label, room) .. tail)
end

-- A line for a log: no escapes, no carriage return.
local function say(p, label)
  local done = p.count - 1
  local tenth = 10 * done // p.total
  if tenth == p.tenth or p.now() - p.said < PLAIN then
    return
  end
  p.tenth, p.said = tenth, p.now()
  p.write(("%3d %%  %d/%d  %s%s%s\n"):format(100 * done // p.total, done,
    p.total, label, p.best and "  " .. p.best or "", eta(p)))
end

--- progress:step(label)
--- Announces the next step.
--- Example:
--- local p <close> = progress.new{total = 1}
--- p:step "tiled tile=16"
function Progress:step(label)
  local now = self.now()
  if self.count > 0 then
    self.times[(self.count - 1) % RECENT + 1] = now - self.last
  end
  self.count, self.last = self.count + 1, now
  label = text.visible(((label or ""):gsub("%c", " ")))
  if self.quiet or self.count < 2 then
    return
  elseif not self.tty then
    say(self, label)
  elseif now - self.begin >= DELAY and now - self.drawn >= REDRAW then
    draw(self, label)
    self.drawn = now
  end
end

--- progress:expect(total)
--- Sets the number of steps, where it was not known before.
--- Example:
--- local p <close> = progress.new{}
--- p:expect(3) -- steps, known only now
function Progress:expect(total)
  self.total = math.max(1, total, self.count)
end

--- progress:note(text)
--- Sets the text beside the progress, such as "best 61.2 GFLOPS".
--- Example:
--- local p <close> = progress.new{total = 1}
--- p:note "best 61.2 GFLOPS"
function Progress:note(note)
  self.best = note
end

--- progress:done()
--- Erases the line.
--- Example:
--- local p = progress.new{total = 1}
--- p:step "the only one"
--- p:done()
function Progress:done()
  if self.shown then
    self.write("\r\27[K")
    self.shown = false
  end
end

Progress.__close = Progress.done

local notices = {} -- by their titles

--- progress.notice(title, short) -> notice
--- A line for work that is done once and takes seconds, such as the
--- calibration of a device. The title tells the work and its reason: one plain
--- line, once a session. A terminal shows `short` with the label of the
--- present step. Nothing is shown in the first half second and with -q. Parts
--- of the work that follow each other within two seconds share a notice.
--- Closes itself, as progress does. A third argument is for tests, see
--- progress.new.
--- Example:
--- local notice <close> = progress.notice("building, once",
---   "building: ")
--- notice:step "the first program"
function M.notice(title, short, opts)
  local n = notices[title]
  if not n then
    n = setmetatable(base(opts or {}), Notice)
    n.title, n.short, n.open, n.ended = title, short, 0, n.begin
    notices[title] = n
  end
  if n.open == 0 and n.now() - n.ended > JOINED then
    n.begin = n.now()
  end
  n.open = n.open + 1
  return n
end

-- notice:step(label): names the present step.
function Notice:step(label)
  if self.quiet or self.now() - self.begin < DELAY then
    return
  elseif self.tty then
    draw_line(self, self.short .. label)
  elseif not self.said then
    self.said = true
    self.write(self.title .. "\n")
  end
end

--- progress.building(name, fd)
--- A line on the terminal with file descriptor `fd` names the program that
--- builds; nil: the build has ended. See hook `building`: the compiler has the
--- standard error meanwhile.
--- Example:
--- progress.building("gemm.cl", 2)
--- progress.building(nil, 2)
function M.building(name, fd)
  local quiet = cl.commandline and cl.commandline.quiet
  local f <close> = not quiet and cl.isatty(fd)
    and io.open("/dev/fd/" .. fd, "w") or nil
  if f then
    f:write("\r\27[K", name and text.cut(("building %s ..."):format(
      name:match "([^/]+%.%w+)$" or "a program"),
      (system.winsize(fd) or 80) - 1) or "")
  end
end

function Notice:__close()
  self.open, self.ended = self.open - 1, self.now()
  if self.open == 0 then
    Progress.done(self)
  end
end

return M

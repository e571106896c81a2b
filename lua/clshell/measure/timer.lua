-- measure/timer.lua - subjects of the protocol on an OpenCL device: a function
-- that enqueues commands, the stamps of its events, and cold caches
-- SPDX-License-Identifier: MIT

local calibrate = require "clshell.measure.calibrate"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local count = debug.getregistry()["cl.hooks"].launches
local MIB = 2^20
local FLUSH_LEAST = 64 * MIB
-- A flush needs twice the cache; a CPU device may report the cache of a whole
-- host and have only a slice of it.
local FLUSH_MOST = {cpu = 128 * MIB, other = 1024 * MIB}
local COPIES = 16 -- copies of the operands for rotation, at most

-- Adds the Events among some values to a list: Events, spans, and lists of
-- both.
local function gather(events, n, ...)
  for i = 1, n do
    local x = select(i, ...)
    if text.class(x) == "Event" then
      events[#events + 1] = x
    elseif type(x) == "table" then
      local meta = getmetatable(x)
      if x.events then
        gather(events, #x.events, table.unpack(x.events))
      elseif rawget(x, "stop") then
        events[#events + 1] = x
      elseif meta == nil and #x > 0 and #x < 250 then
        gather(events, #x, table.unpack(x))
      end
    end
  end
end

-- Puts the times of some launches (lists of ended events) into the sample s,
-- whose s.wall is set: the span from the first START to the last STOP, the sum
-- of all commands, and the time of command number `main` of each launch.
local function evaluate(s, launches, main, tick)
  local first, last, sum, own = math.huge, 0, 0, nil
  for _, events in ipairs(launches) do
    s.bad = #events == 0 and "no event" or s.bad
    for i, event in ipairs(events) do
      local start, stop = calibrate.stamps(event)
      if not start then
        s.bad = stop
        return s
      end
      first, last = math.min(first, start), math.max(last, stop)
      sum = sum + (stop - start)
      own = i == main and (own or 0) + (stop - start) or own
    end
  end
  local event = (last - first) * 1e-9
  if s.bad then
    return s
  elseif event <= 0 then
    s.bad = "no time between START and END"
  elseif event > 1.02 * s.wall + 1e-5 + 2 * tick then
    s.bad = ("%.4g s by the events, %.4g s by the clock"):format(event,
      s.wall)
  else
    s.event, s.main = event, own and own * 1e-9
    if #launches > 1 or #launches[1] > 1 then
      s.sum, s.span = sum * 1e-9, event
    end
  end
  return s
end

-- Makes one launch. Returns the events of the commands that `call` enqueued,
-- or of each command of a plan (see ladder/plan.lua).
local function launch(call)
  local is_plan = type(call) == "table" and call.commands and call.run
  local events = {}
  local results = is_plan and {n = 1, call:run()} or table.pack(call())
  gather(events, results.n, table.unpack(results, 1, results.n))
  return events
end

local function sample(subject, calls, turn, n)
  local launches = {}
  local begin = cl.now()
  for i = 1, n do
    launches[i] = launch(calls[(turn + i) % #calls + 1])
  end
  for i = 1, n do
    for _, event in ipairs(launches[i]) do
      event:wait()
    end
    if #launches[i] == 0 then
      subject.context.queue:finish()
    end
  end
  return evaluate({wall = cl.now() - begin}, launches, subject.main,
    subject.calibration.tick or 0)
end

--- timer.new(context, calls [, main]) -> subject
--- The subject of protocol.measure for functions that do the same work, each
--- on operands of its own; they run in turn. `main` is the index of the
--- command whose own time is wanted.
--- Example:
--- local protocol = require "clshell.measure.protocol"
--- local x = cl.buffer("float", 10000)
--- local subject = timer.new(cl.context(), {function() return x:fill(1) end})
--- print(protocol.take(subject, 1).wall > 0) --> true
function M.new(context, calls, main)
  local c = calibrate.device{context = context}
  local turn = 0
  local subject = {context = context, calibration = c, main = main,
    now = cl.now, sleep = cl.sleep, canary = calibrate.canary(context, c)}
  function subject.sample(n)
    local s = sample(subject, calls, turn, n)
    turn = (turn + n) % #calls
    return s
  end
  return subject
end

-- Calls a function. Returns whether it enqueued commands: whether it returned
-- or made Events, or left commands in its queues.
function M.enqueues(call)
  collectgarbage()
  local before, started, events = cl.live().Event or 0, count(), {}
  local results = table.pack(call())
  gather(events, results.n, table.unpack(results, 1, results.n))
  return #events > 0 or (cl.live().Event or 0) > before
    or count() > started or #cl.unfinished() > 0
end

-- The subject of a routine of the host: run(n) -> seconds of n runs.
function M.host(run)
  return {
    host = true, now = cl.now, sleep = cl.sleep,
    calibration = {event = false, wall_tick = 1e-6},
    sample = function(n)
      return {wall = run(n)}
    end,
  }
end

-- The bytes of memory for copies or a flush.
local function spare(dev)
  return math.min(dev.global_mem_size // 8,
    FLUSH_MOST[dev.type == "cpu" and "cpu" or "other"])
end

--- timer.plan_cold(dev, footprint) -> way, count or bytes, words
--- The way to cold caches before each launch: "none" where the operands
--- (footprint bytes, nil: unknown) exceed four times the cache by themselves,
--- "rotation" over so many copies of the operands where the copies do, and
--- "flush" of so many bytes: twice the cache, at least 64 MiB, at most an
--- eighth of the memory and 1 GiB (a CPU device: 128 MiB). The words go into
--- the result; they name the cache where the flush is smaller than the cache.
--- Example: print(timer.plan_cold(cl.device(), 2 ^ 20))
function M.plan_cold(dev, footprint)
  local cache = dev.global_mem_cache_size
  if footprint and footprint > 4 * cache then
    return "none", 1, "footprint exceeds cache"
  end
  local copies = footprint and footprint > 0
    and math.ceil(4 * cache / footprint) + 1
  if copies and copies <= COPIES and copies * footprint <= spare(dev) then
    return "rotation", copies, ("rotation x%d"):format(copies)
  end
  local wanted = math.max(FLUSH_LEAST, 2 * cache)
  local bytes = math.tointeger(math.max(MIB, math.min(wanted, spare(dev),
    dev.max_mem_alloc_size) // MIB * MIB))
  return "flush", bytes, "flush " .. text.bytes(bytes) .. (bytes < wanted
    and (" of %s cache"):format(text.bytes(cache)) or "")
end

--- timer.flush(subject, bytes) -> Buffer
--- Makes the subject overwrite a buffer of `bytes` bytes before each sample
--- (or a Buffer, in place of bytes); a sample is then a single launch.
--- Example:
--- local x = cl.buffer("float", 1000)
--- local subject = timer.new(cl.context(), {function() return x:fill(1) end})
--- local other <close> = timer.flush(subject, 2 ^ 20)
--- print(other.bytes >= 2 ^ 20) --> true
function M.flush(subject, bytes)
  local scratch = type(bytes) == "number" and cl.buffer("uint", bytes // 4,
    nil, {context = subject.context}) or bytes
  local value, before = 0, subject.before
  subject.single = true
  function subject.before()
    if before then
      before()
    end
    value = (value * 1664525 + 1013904223) & 0xffffffff
    scratch:fill(value)
  end
  return scratch
end

return M

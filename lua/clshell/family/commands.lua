-- family/commands.lua - commands that run as one: the launch of a rung with
-- the helper kernels before and after it, and the event that spans them
-- SPDX-License-Identifier: MIT

local M = {}

local SPAN = {} -- fields of a spanning event, computed at each access

function SPAN.span_ms(span)
  return (span.stop - span.start) / 1e6
end

-- A driver may compile a kernel at its first launch, between two commands
-- (PoCL does): the span would count that, the sum does not.
function SPAN.ms(span)
  local sum = 0
  for _, event in ipairs(span.events) do
    sum = sum + event.ms
  end
  return sum
end

function SPAN.start(span)
  return span.events[1].start
end

function SPAN.stop(span)
  return span.events[#span.events].stop
end

function SPAN.queued(span)
  return span.events[1].queued
end

function SPAN.submit(span)
  return span.events[1].submit
end

function SPAN.status(span)
  return span.events[#span.events].status
end

-- What the commands did together; nil where none of them knows.
local function sum_of(span, name)
  local sum
  for _, event in ipairs(span.events) do
    sum = event[name] and (sum or 0) + event[name] or sum
  end
  return sum
end

function SPAN.flop(span)
  return sum_of(span, "flop")
end

function SPAN.bytes(span)
  return sum_of(span, "bytes")
end

function SPAN.command(span)
  return ("%d commands"):format(#span.events)
end

local METHODS = {}

function METHODS.wait(span)
  for _, event in ipairs(span.events) do
    event:wait()
  end
  return span
end

function METHODS.gflops(span, flop)
  return (flop or span.flop) / span.ms / 1e6
end

function METHODS.gbs(span, bytes)
  return (bytes or span.bytes) / span.ms / 1e6
end

local meta = {
  __metatable = false, __name = "Event span",
  __index = function(span, key)
    local field = SPAN[key]
    if field then
      return field(span)
    end
    return METHODS[key]
  end,
  __tostring = function(span)
    return ("Event: %d commands"):format(#span.events)
  end,
}

-- One event for commands that ran one after another: the only event itself,
-- or an object with the fields and methods of an Event, where `ms` is the
-- time inside the commands, `span_ms` goes from the first START to the last
-- STOP, and `events` lists them.
function M.span(events)
  if #events == 1 then
    return events[1]
  end
  return setmetatable({events = events}, meta)
end

-- The Events of an `after` list, spans taken apart.
function M.flatten(after)
  if after == nil then
    return nil
  end
  local list = {}
  for _, event in ipairs(after) do
    local parts = type(event) == "table" and event.events or {event}
    table.move(parts, 1, #parts, #list + 1, list)
  end
  return list
end

local Operation = {}
Operation.__index = Operation

-- An operation without commands; `queue` nil is the context's default queue.
function M.new(queue, after)
  return setmetatable({
    queue = queue, after = M.flatten(after), commands = {}, ran = false,
  }, Operation)
end

-- Adds a launch with its arguments. A command marked `once` runs only the
-- first time: it makes something that later runs can use again.
function Operation:add(launch, once, ...)
  self.commands[#self.commands + 1] = {
    launch = launch, once = once, n = select("#", ...), ...,
  }
end

-- Says what all of it does; its main command carries that.
function Operation:work(flop, bytes)
  local main = self.commands[self.main]
  main.launch = main.launch:work{flop = flop, bytes = bytes}
end

-- Enqueues the commands, each after the one before, and returns the event
-- that spans them.
function Operation:run()
  local events, after = {}, self.after
  for _, command in ipairs(self.commands) do
    if not (command.once and self.ran) then
      local launch = command.launch
      if self.queue or after then
        launch = launch:on(self.queue, {after = after})
      end
      local event = launch(table.unpack(command, 1, command.n))
      events[#events + 1] = event
      after = self.queue and {event} or nil
    end
  end
  self.ran = true
  return M.span(events)
end

-- An operation is called like the function that it stands for.
Operation.__call = Operation.run

return M

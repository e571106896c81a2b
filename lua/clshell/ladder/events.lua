-- ladder/events.lua - one event for commands that ran one after another: the
-- launch of a rung with the helper kernels before and after it
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

-- Fields of a span that are those of its first event, of its last one, or
-- the sum over all. A driver may compile a kernel at its first launch,
-- between two commands (PoCL does): span_ms counts that, ms does not.
local FIRST = {queued = true, submit = true, start = true}
local LAST = {stop = true, status = true}
local SUMS = {ms = true, flop = true, bytes = true}

-- The sum of a field; nil where no event has it.
local function sum_of(span, name)
  local sum
  for _, event in ipairs(span.events) do
    sum = event[name] and (sum or 0) + event[name] or sum
  end
  return sum
end

local METHODS = {}

function METHODS.wait(span)
  for _, event in ipairs(span.events) do
    event:wait()
  end
  return span
end

function METHODS.close(span)
  for _, event in ipairs(span.events) do
    event:close()
  end
end

function METHODS.gflops(span, flop)
  return (flop or span.flop) / span.ms / 1e6
end

function METHODS.gbs(span, bytes)
  return (bytes or span.bytes) / span.ms / 1e6
end

local NAMES = {"bytes", "close", "command", "events", "flop", "gbs", "gflops",
  "ms", "queued", "span_ms", "start", "status", "stop", "submit", "wait"}

local function index(span, key)
  if FIRST[key] then
    return span.events[1][key]
  elseif LAST[key] then
    return span.events[#span.events][key]
  elseif SUMS[key] then
    return sum_of(span, key)
  elseif key == "span_ms" then
    return (span.stop - span.start) / 1e6
  elseif key == "command" then
    return ("%d commands"):format(#span.events)
  end
  local method = METHODS[key]
  if not method then
    cl.error("an Event span: " .. text.unknown("field or method",
      tostring(key), NAMES))
  end
  return method
end

local meta = {
  __metatable = false, __name = "Event span", __index = index,
  __tostring = function(span)
    return "Event: " .. span.command
  end,
}

-- The only event of a list itself, or an object with the fields and methods
-- of an Event, where `ms` is the time inside the commands, `span_ms` goes
-- from the first START to the last STOP, and `events` lists them.
function M.join(events)
  if #events == 1 then
    return events[1]
  end
  return setmetatable({events = events}, meta)
end

-- The Events of `after`, an event or a list of them, spans taken apart.
function M.flatten(what, after)
  local list = {}
  after = options.is_event(after) and {after} or after
  argument.check(what, "after", after, "table", "such as {event}")
  for _, event in ipairs(after) do
    local parts = text.class(event) == "Event span" and event.events or {event}
    table.move(parts, 1, #parts, #list + 1, list)
  end
  return list
end

return M

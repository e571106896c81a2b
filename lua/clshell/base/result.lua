-- base/result.lua - Buffers for the results of calculations, and the recording
-- of cl.record that is under way
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local hooks = debug.getregistry()["cl.hooks"]
-- Makes a Buffer of the memory that closed Buffers left, see Context:trim.
local held = hooks.result

--- result.new(type, dims, context [, queue]) -> Buffer
--- A new Buffer for the result of a calculation, whose first command is on
--- `queue`; false: the queue is not known yet. On the default queue of the
--- context (nil) it may have the memory of a closed Buffer.
function M.new(type, dims, context, queue)
  if queue == nil then
    return held(type, dims, context)
  end
  return cl.buffer(type, dims, nil, {context = context})
end

--- result.taken(i) -> boolean
--- Whether the caller of the function that asks takes its result number i.
M.taken = hooks.taken

--- result.call(wanted, launch, ...) -> Event, or nothing
--- Calls a launch, as a statement where its Event is not wanted: the driver is
--- asked for none then.
function M.call(wanted, launch, ...)
  if wanted then
    return launch(...)
  end
  launch(...)
end

--- result.recording() -> CommandBuffer or nil
--- The present recording. Its runs may be on any queue, beside commands of the
--- default queue: its commands share no scratch memory with other calls.
function M.recording()
  local thread = hooks.recorder
  return thread and coroutine.status(thread) ~= "dead"
    and hooks.recording or nil
end

--- result.nothing(context [, queue, after]) -> Event or nil
--- The Event of a calculation without elements, whose only command is a
--- marker; nil in a recording, which has no markers.
function M.nothing(context, queue, after)
  if not M.recording() then
    return (queue or context.queue):marker{after = after}
  end
end

--- result.temporary(object) -> object or nil
--- For `local _ <close> =`: closes an intermediate object of a calculation. In
--- a recording, whose runs need the object, the CommandBuffer keeps it.
function M.temporary(object)
  return not M.recording() and object or nil
end

return M

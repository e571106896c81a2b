-- base/recording.lua - the recording of cl.record that is under way
-- SPDX-License-Identifier: MIT

require "cl" -- which makes the table

local M = {}

local hooks = debug.getregistry()["cl.hooks"]

--- recording.current() -> CommandBuffer or nil
--- The present recording. Its runs may be on any queue, beside commands of the
--- default queue: its commands share no scratch memory with other calls.
function M.current()
  local thread = hooks.recorder
  return thread and coroutine.status(thread) ~= "dead"
    and hooks.recording or nil
end

--- recording.temporary(object) -> object or nil
--- For `local _ <close> =`: closes an intermediate object of a calculation. In
--- a recording, whose runs need the object, the CommandBuffer keeps it.
function M.temporary(object)
  return not M.current() and object or nil
end

return M

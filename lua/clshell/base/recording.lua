-- base/recording.lua - the recording of cl.record that is under way
-- SPDX-License-Identifier: MIT

local M = {}

local registry = debug.getregistry()

--- recording.current() -> CommandBuffer or nil
--- Its runs may be on any queue, beside commands of the default queue. So what
--- is recorded shares no scratch memory with other calls.
function M.current()
  local thread = registry["cl.recorder"]
  return thread and coroutine.status(thread) ~= "dead"
    and registry["cl.recording"] or nil
end

return M

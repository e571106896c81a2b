-- calls/serve.lua - the loop of a worker process: it takes calls and answers
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local parcel = require "clshell.calls.parcel"
local phase = require "clshell.base.phase"

local M = {}

--- serve.prepare(setup)
--- The first call: finds modules as the parent does, and takes its device.
function M.prepare(setup)
  package.path, package.cpath = setup.path, setup.cpath
  if setup.device then
    cl.use(setup.device)
  end
end

-- The answer to a call: the results, or the error.
local function answer(message)
  local results = table.pack(pcall(function()
    local call = table.pack(parcel.unpack(message))
    return require(call[1])[call[2]](table.unpack(call, 3, call.n))
  end))
  local packed, reason = parcel.pack(table.unpack(results, 2, results.n))
  if results[1] and packed then
    return "R" .. packed
  elseif results[1] then
    packed = parcel.pack(reason)
  end
  return "E" .. (packed or parcel.pack(tostring(results[2])))
end

--- serve.run() -> exit code
--- Runs the calls of the parent until the parent ends.
function M.run()
  local parent = require "clshell.child".parent()
  function phase.tell(...)
    parent:send("P" .. parcel.pack(...))
  end
  local message = parent:receive()
  while message do
    parent:send(answer(message))
    message = parent:receive()
  end
  return 0
end

return M

-- parts/split/each.lua - cl.each: a function for each of several devices
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local devices = require "clshell.parts.split.devices"
local text = require "clshell.base.text"

-- A value to close, which gives the session its device again.
local function restored()
  local before = cl.device()
  return setmetatable({}, {__close = function()
    cl.use(before)
  end})
end

-- Raises an error of a device's turn again, with the device in its message.
local function raise(err, i, device)
  local where = ("device %d, %s: "):format(i, device.name)
  if type(err) == "string" then
    err = where .. err
  elseif text.class(err) == "Error" and err.name ~= "INTERRUPTED" then
    err.message = where .. err.message
  end
  error(err, 0)
end

--- cl.each(f [, devices]) -> list
--- Calls f(device, i) for each device in turn, with that device as the
--- session's device: new Buffers and programs are made there. The launches of
--- f run on all devices at once, as a launch does not wait: the default queues
--- are flushed after each call and waited for at the end. Returns a list of
--- the first results of f; `n` is its length. An error names the device. The
--- session has its own device again in any case. Without a list, f is called
--- for all devices with the platform and kind of the session's device, such as
--- its GPUs.
--- Example:
--- local sums = cl.each(function(device, i)
---   return cl.buffer("float", 1000, i):sum()
--- end)
--- print(sums[1]) --> 1000.0
return function(f, given)
  argument.check("cl.each", "f", f, "function",
    "cl.each(function(device, i) ... end)")
  local list = devices.list("cl.each", given)
  local results, _ <close> = {n = #list}, restored()
  for i, device in ipairs(list) do
    cl.use(device)
    local fine, result = pcall(f, device, i)
    if not fine then
      raise(result, i, device)
    end
    results[i] = result
    cl.context(device).queue:flush()
  end
  for i, device in ipairs(list) do
    local fine, err = pcall(function()
      cl.context(device).queue:finish()
    end)
    if not fine then
      raise(err, i, device)
    end
  end
  return results
end

-- parts/split/devices.lua - the devices that work together, their shares, and
-- queues for transfers beside the default ones, so that devices compute while
-- data comes from others
-- Events that nobody uses are closed at once: the collection of some hundred
-- Events takes a driver milliseconds.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

-- The devices with the kind and platform of the session's device, which is
-- among them.
local function alike()
  local mine, list, found = cl.device(), {}, false
  for _, device in ipairs(cl.devices()) do
    if device.type == mine.type and device.platform == mine.platform then
      list[#list + 1] = device
      found = found or device == mine
    end
  end
  return found and list or {mine} -- a part of a device is in no list
end

--- devices.list(what, given) -> list of Devices
--- The given devices of a call; if `given` is nil, all devices with the kind
--- and platform of the session's device.
function M.list(what, given)
  if given == nil then
    return alike()
  end
  argument.list(what, "devices", given, "Device")
  if #given == 0 then
    cl.error(what .. ": the list of devices is empty", {arg = "devices"})
  end
  return given
end

--- devices.flush(list)
--- Hands the commands of all default queues to their devices.
function M.flush(list)
  for _, device in ipairs(list) do
    cl.context(device).queue:flush()
  end
end

-- Raises unless the given shares are a number for each device.
local function check_shares(what, given, n)
  argument.list(what, "shares", given, "number")
  local sum = 0
  for _, share in ipairs(given) do
    if not (share >= 0 and share < math.huge) then
      cl.error(("%s: a share must be a number >= 0; got %s"):format(what,
        text.got(share)), {arg = "shares"})
    end
    sum = sum + share
  end
  if #given ~= n or sum == 0 then
    cl.error(("%s: shares must be %d numbers >= 0, one for each device, not "
      .. "all of them 0"):format(what, n), {arg = "shares"})
  end
  return given
end

-- A weight for each device: the rate of copies in its memory, which peaks()
-- has measured, or 1 where the devices are alike or a rate is unknown.
local function measured(list)
  local rates, differ, known = {}, false, true
  for i, device in ipairs(list) do
    rates[i] = (cachefile.load(device) or {})["peak.copy"] or 0
    known = known and rates[i] > 0
    differ = differ
      or cachefile.identity(device) ~= cachefile.identity(list[1])
  end
  for i = 1, differ and known and 0 or #list do
    rates[i] = 1
  end
  return rates
end

--- devices.sizes(what, n, list, shares) -> list of integers
--- The number of the n rows that each device gets: by the shares, else by the
--- measured speed of the devices. The running sums of the sizes are the
--- rounded running sums of the shares.
function M.sizes(what, n, list, shares)
  local weights = shares and check_shares(what, shares, #list)
    or measured(list)
  local sum, before, part, sizes = 0, 0, 0, {}
  for _, weight in ipairs(weights) do
    sum = sum + weight
  end
  for i, weight in ipairs(weights) do
    part = part + weight
    local last = i == #weights and n
      or math.floor(n * (part / sum) + 0.5)
    sizes[i], before = last - before, last
  end
  return sizes
end

local queues = setmetatable({}, {__mode = "k"}) -- context -> Queue

-- The queue for transfers of a context.
local function of(context)
  if not queues[context] or queues[context].closed then
    queues[context] = cl.queue{context = context}
  end
  return queues[context]
end

--- devices.ready(list) -> table
--- An Event for each context, by context: it ends with the commands that the
--- default queue holds now.
function M.ready(list)
  local ready = {}
  for _, device in ipairs(list) do
    local context = cl.context(device)
    ready[context] = context.queue:marker()
    context.queue:flush()
  end
  return ready
end

--- devices.close(ready)
--- Closes the Events of devices.ready.
function M.close(ready)
  for _, event in pairs(ready) do
    event:close()
  end
end

--- devices.fetch(from, to, opts, ready)
--- Copies a Buffer to another one, with the options of Buffer:copy. On the
--- same device the copy runs in the default queue; from another device it runs
--- in a queue for transfers, once the Event in `ready` has ended.
function M.fetch(from, to, opts, ready)
  if from.context == to.context then
    opts.async = true
  else
    opts.queue, opts.to_queue = of(from.context), of(to.context)
    opts.after = ready[from.context]
  end
  from:copy(to, opts):close()
end

return M

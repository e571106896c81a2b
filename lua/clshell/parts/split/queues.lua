-- parts/split/queues.lua - queues for transfers beside the default ones, so
-- that devices compute while data comes from others
-- Events that nobody uses are closed at once: the collection of some hundred
-- Events takes a driver milliseconds.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local queues = setmetatable({}, {__mode = "k"}) -- context -> Queue

-- The queue for transfers of a context.
local function of(context)
  if not queues[context] or queues[context].closed then
    queues[context] = cl.queue{context = context}
  end
  return queues[context]
end

--- queues.ready(list) -> table
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

--- queues.close(ready)
--- Closes the Events of queues.ready.
function M.close(ready)
  for _, event in pairs(ready) do
    event:close()
  end
end

--- queues.fetch(from, to, opts, ready)
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

-- parts/split/queues.lua - queues for transfers beside the default ones, so
-- that devices compute while data comes from others
-- Events that nobody asks for are closed at once: a collection of some hundred
-- takes a driver milliseconds.
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
--- By context, an Event that ends with what the default queues hold now.
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
--- Copies from a Buffer to another one, with the options of Buffer:copy: on
--- the same device in the order of its default queue, from another device
--- beside it and once `ready` has ended.
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

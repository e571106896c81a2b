-- base/result.lua - Buffers for the results of calculations
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- Makes a Buffer of the memory that closed Buffers left, see Context:trim.
local held = debug.getregistry()["cl.hooks"].result

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

return M

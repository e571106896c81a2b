-- base/result.lua - Buffers for the results of calculations
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- Makes a Buffer of memory that closed ones have left, see Context:trim.
local held = debug.getregistry()["cl.hooks"].result

--- result.new(type, dims, context [, queue]) -> Buffer
--- For the result of a calculation, whose first command is on `queue`, false:
--- nobody knows yet. On the default queue of the context (nil) its memory may
--- be that of a closed one.
function M.new(type, dims, context, queue)
  if queue == nil then
    return held(type, dims, context)
  end
  return cl.buffer(type, dims, nil, {context = context})
end

return M

-- parts/ranks/rank_gather.lua - gathers the parts of a matrix or a vector from
-- all processes on one process
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"

local TAG = 17 -- of parts on the way to one rank

-- gather(part, type, shape, root, place) -> Array, or nil
-- All elements as an Array of `shape` on rank `root`, 0 by default; the other
-- ranks get nil. part: the Buffer of this rank, or nil. place(rank) gives the
-- first and last row and the first and last column of a rank's part.
return function(part, type, shape, root, place)
  local world = grids.world()
  root = root or 0
  if world:rank() ~= root then
    if part then
      world:send(part:read(), root, TAG)
    end
    return nil
  end
  local whole, width = cl.array(type, shape), shape[#shape]
  for rank = 0, world:size() - 1 do
    local top, bottom, left, right = place(rank)
    local rows, cols = bottom - top + 1, right - left + 1
    if rows > 0 and cols > 0 then
      local h = rank == root and part:read()
        or world:recv(cl.array(type, {rows, cols}), rank, TAG)
      host.copy_box(whole, h, {rows = rows, cols = cols,
        to_first = (top - 1) * width + left, to_ld = width})
    end
  end
  return whole
end

-- parts/ranks/rank_gather.lua - the parts of a matrix or a vector, from all
-- processes to one
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"

local TAG = 17 -- of parts on the way to one rank

-- gather(part, type, shape, root, place) -> Array, or nil
-- All elements on rank `root`, nil: 0, in an Array of that shape. `part`: the
-- Buffer of this rank, or nil; place(rank): the rows and columns of a rank's
-- part: first, last, first, last.
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

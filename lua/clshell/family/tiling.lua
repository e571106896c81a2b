-- family/tiling.lua - the arithmetic of ranges, of tiles and of their traffic
-- SPDX-License-Identifier: MIT

local M = {}

-- The number of groups of `size` that cover n.
function M.groups(n, size)
  return (n + size - 1) // size
end

-- The least multiple of `size` that covers n.
function M.roundup(n, size)
  return M.groups(n, size) * size
end

-- An access: how often a work-item makes it, its bytes, and the address of
-- work-item (x, y) of a work-group.
function M.access(n, bytes, at)
  return {n = n, bytes = bytes, at = at}
end

-- Bytes that a matrix product fetches in tiles of bm x bn, C included.
function M.product(s, bm, bn)
  local output = s.m * s.n * ((s.beta or 0) ~= 0 and 2 or 1)
  return (s.m * s.n * s.k * (1 / bm + 1 / bn) + output) * s.esize
end

return M

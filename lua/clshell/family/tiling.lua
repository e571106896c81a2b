-- family/tiling.lua - common parts of rungs: the arithmetic of ranges and
-- tiles and of their traffic, defines and refusals
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

-- For rungs whose parameters their kernels need not know.
function M.no_defines()
  return {}
end

-- Why a device cannot run a rung for CPUs, nil if it can.
function M.cpu_only(dev)
  return dev.type == "gpu"
    and "for CPU devices: it uses 1 work-item per work-group" or nil
end

-- Elements in a vector of p.vector bytes.
function M.vector_width(s, p)
  return p.vector // s.esize
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

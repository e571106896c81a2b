-- data/laplacian.lua - the diagonals of the Laplacian of a grid, for all rows
-- or for some rows
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"

local M = {}

local INT_MAX = 0x7fffffff

--- laplacian.new(what, dims, sizes) -> grid
--- {rows, offsets (ascending), axes, main (the number of the main diagonal),
--- dims} of a grid of sizes[k] points along axis k. Along an axis of length 1
--- there are no neighbours.
function M.new(what, dims, sizes)
  local rows, axes = 1, {}
  for k = 1, dims do
    local length = sizes[k]
    argument.integer(what, "n" .. ("xyz"):sub(k, k), length, 1, INT_MAX)
    if length > 1 then
      axes[#axes + 1] = {stride = rows, length = length}
    end
    rows = rows * length
    argument.integer(what, "the number of grid points", rows, 1, INT_MAX)
  end
  local offsets = {}
  for k = #axes, 1, -1 do
    offsets[#offsets + 1] = -axes[k].stride
  end
  offsets[#offsets + 1] = 0
  for k = 1, #axes do
    offsets[#offsets + 1] = axes[k].stride
  end
  return {rows = rows, offsets = offsets, axes = axes, main = #axes + 1,
    dims = dims}
end

-- Zeroes the entries of a diagonal that would wrap around the end of an axis:
-- the entries whose coordinate (i // stride) % length is `at`. The diagonal's
-- first element lies behind place `start` and is the element of row `skip`,
-- from 0.
local function cut(values, start, rows, skip, axis, at)
  local stride, period = axis.stride, axis.stride * axis.length
  if stride <= rows // period then -- rather long strides than many short runs
    for k = 0, stride - 1 do
      local first = (at * stride + k - skip) % period
      values:fill(0, start + first + 1, start + rows, period)
    end
    return
  end
  local run = (skip - at * stride) // period * period + at * stride
  for first = run, skip + rows - 1, period do
    local from = math.max(first - skip, 0)
    local to = math.min(first + stride - skip, rows)
    if from < to then -- the first run may end before these rows
      values:fill(0, start + from + 1, start + to)
    end
  end
end

--- laplacian.fill(grid, values, pitch, first, last)
--- Fills the diagonals, `pitch` elements apart, of rows `first` to `last`:
--- 2 * dims on the main diagonal and -1 for each neighbour.
function M.fill(grid, values, pitch, first, last)
  local rows, skip = last - first + 1, first - 1
  local function fill(d, v)
    local start = (d - 1) * pitch
    values:fill(v, start + 1, start + rows)
    return start
  end
  fill(grid.main, 2 * grid.dims)
  for k, axis in ipairs(grid.axes) do
    cut(values, fill(grid.main - k, -1), rows, skip, axis, 0)
    cut(values, fill(grid.main + k, -1), rows, skip, axis, axis.length - 1)
  end
end

return M

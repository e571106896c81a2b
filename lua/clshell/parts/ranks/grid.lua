-- parts/ranks/grid.lua - processes as a grid, the blocks of their matrices,
-- and the way of all blocks to one process
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local argument = require "clshell.base.argument"
local host = require "cl.host"

local M = {}

local TAG = 17 -- of parts on the way to one rank

-- The grids by Comm and sizes; a Comm stays until the program ends.
local grids = {}

local among -- the Comm of a running ranks.among, or nil

--- grid.world() -> Comm
--- The ranks that call functions of `ranks`: all ranks, or the ranks of a
--- running ranks.among.
function M.world()
  return among or require "mpi".world
end

local first_ranks = {} -- the Comms of ranks.among, by number of ranks

--- grid.among: ranks.among, see parts/ranks/rank_matrix.lua.
function M.among(n, f, ...)
  local all = M.world()
  argument.integer("ranks.among", "n", n, 1, all:size())
  first_ranks[n] = first_ranks[n] or all:split(all:rank() < n and 0 or 1)
  local inside = all:rank() < n
  local results = {n = 0}
  if inside then
    local before = among
    local _ <close> = setmetatable({}, {__close = function()
      among = before
    end})
    among = first_ranks[n]
    results = table.pack(f(...))
  end
  all:barrier()
  return table.unpack(results, 1, results.n)
end

--- grid.block(extent, parts, i) -> first, last
--- Part i, counted from 0, of the numbers 1 to `extent` in `parts` parts whose
--- sizes differ by one at most; last < first where the part is empty.
function M.block(extent, parts, i)
  return i * extent // parts + 1, (i + 1) * extent // parts
end

--- grid.owner(extent, parts, k) -> i, last
--- The part that has number k, and its last number.
function M.owner(extent, parts, k)
  local i = (k * parts - 1) // extent
  local _, last = M.block(extent, parts, i)
  return i, last
end

--- grid.squarest(n) -> rows, cols
--- The grid of n ranks that is nearest to a square.
function M.squarest(n)
  local rows = math.floor(math.sqrt(n))
  while n % rows ~= 0 do
    rows = rows - 1
  end
  return rows, n // rows
end

--- grid.new([sizes]) -> grid
--- The ranks in rows and columns, row by row: `sizes` {rows, cols}, or as near
--- to a square as their number allows. Fields: rows, cols, row, col (of this
--- rank, from 0), row_comm (the ranks of its row), col_comm (the ranks of its
--- column). All ranks call it.
function M.new(sizes)
  local world = M.world()
  local n = world:size()
  local rows = sizes and sizes[1] or M.squarest(n)
  local cols = sizes and sizes[2] or n // rows
  argument.integer("ranks", "grid: the rows", rows, 1)
  argument.integer("ranks", "grid: the columns", cols, 1)
  if rows * cols ~= n then
    cl.error(("ranks: a grid of %dx%d has %d ranks; there are %d"):format(rows,
      cols, rows * cols, n))
  end
  local name = rows .. "x" .. cols
  local known = grids[world] or {}
  grids[world] = known
  if not known[name] then
    local row, col = world:rank() // cols, world:rank() % cols
    known[name] = {rows = rows, cols = cols, row = row, col = col,
      row_comm = world:split(row, col), col_comm = world:split(col, row)}
  end
  return known[name]
end

--- grid.gather(part, type, shape, root, place) -> Array, or nil
--- All elements as an Array of `shape` on rank `root`, 0 by default; the other
--- ranks get nil. part: the Buffer of this rank, or nil. place(rank) gives the
--- first and last row and the first and last column of a rank's part.
function M.gather(part, type, shape, root, place)
  local world = M.world()
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

return M

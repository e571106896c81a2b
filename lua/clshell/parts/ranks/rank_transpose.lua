-- parts/ranks/rank_transpose.lua - the transpose of a matrix in blocks: each
-- rank transposes its block and sends each other rank its part
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"
local matrix = require "clshell.parts.ranks.rank_matrix"
local transpose = require "clshell.ladders.transpose"

local M = {}

local WHO = "ranks.transpose"
local TAG = 20

-- The rows and columns of a matrix that a rank has: r1, r2, c1, c2.
local function block_of(rows, cols, g, rank)
  local r1, r2 = grids.block(rows, g.rows, rank // g.cols)
  return r1, r2, grids.block(cols, g.cols, rank % g.cols)
end

-- The box of elements that two blocks have in common, or nil.
local function common(r1, r2, c1, c2, s1, s2, d1, d2)
  r1, r2 = math.max(r1, s1), math.min(r2, s2)
  c1, c2 = math.max(c1, d1), math.min(c2, d2)
  if r1 <= r2 and c1 <= c2 then
    return {row = r1, col = c1, rows = r2 - r1 + 1, cols = c2 - c1 + 1}
  end
end

-- cut() copies a box of a block, which begins at row, col, into a new Array;
-- paste() copies an Array into the box.
local function cut(block, box, row, col)
  return host.copy_box(cl.array(block.type, {box.rows, box.cols}), block,
    {rows = box.rows, cols = box.cols, from_ld = block.cols,
      from_first = (box.row - row) * block.cols + box.col - col + 1})
end

local function paste(block, box, row, col, h)
  host.copy_box(block, h, {rows = box.rows, cols = box.cols,
    to_ld = block.cols,
    to_first = (box.row - row) * block.cols + box.col - col + 1})
end

--- ranks.transpose(A) -> RanksMatrix
--- The transpose of a matrix in blocks, on the same grid of ranks.
--- Example:
--- local B = ranks.transpose(ranks.random(30, 20))
--- print(B.rows, B.cols) --> 20 30
function M.transpose(A)
  local world = grids.world()
  matrix.check(WHO, "A", A)
  local g, me = A.grid, world:rank()
  local B = matrix.like(WHO, A.cols, A.rows, A.type, g)
  local mine = A.block and transpose(A.block):read()
  local result = B.block and cl.array(B.type, {B.height, B.width})
  local coming, requests = {}, {}
  for rank = 0, world:size() - 1 do
    -- the box of B that comes from the other rank's transposed block of A
    local c1, c2, r1, r2 = block_of(A.rows, A.cols, g, rank)
    local box = result and common(B.first_row, B.last_row, B.first_col,
      B.last_col, r1, r2, c1, c2)
    if box and rank ~= me then
      local h = cl.array(B.type, {box.rows, box.cols})
      coming[#coming + 1] = {box = box, request = world:irecv(h, rank, TAG)}
    end
  end
  for rank = 0, world:size() - 1 do
    local r1, r2, c1, c2 = block_of(B.rows, B.cols, g, rank)
    local box = mine and common(A.first_col, A.last_col, A.first_row,
      A.last_row, r1, r2, c1, c2)
    if box and rank == me then
      paste(result, box, B.first_row, B.first_col,
        cut(mine, box, A.first_col, A.first_row))
    elseif box then
      requests[#requests + 1] = world:isend(cut(mine, box, A.first_col,
        A.first_row), rank, TAG)
    end
  end
  for _, part in ipairs(coming) do
    paste(result, part.box, B.first_row, B.first_col, part.request:wait())
  end
  require "mpi".wait_all(requests)
  if result then
    B.block:write(result)
  end
  return B
end

return M

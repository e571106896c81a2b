-- parts/ranks/grid.lua - processes as a grid, and the blocks of their matrices
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local integer = require "clshell.base.integer"
local staging = require "clshell.parts.staging"

local M = {}

-- By Comm, by sizes: a Comm stays to the end of the program.
local grids = {}

local among -- the Comm of ranks.among, where that runs

--- grid.world() -> Comm
--- The ranks that functions of `ranks` are for: all, or those of ranks.among.
function M.world()
  return among or require "mpi".world
end

local first_ranks = {} -- the Comms of ranks.among, by number

--- grid.among: ranks.among, see parts/ranks/rank_matrix.lua.
function M.among(n, f, ...)
  local all = M.world()
  integer.check("ranks.among", "n", n, 1, all:size())
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
--- Part i, from 0, of the numbers from 1 to `extent` in so many parts that
--- differ by one at most; last < first where there is none.
function M.block(extent, parts, i)
  return i * extent // parts + 1, (i + 1) * extent // parts
end

--- grid.owner(extent, parts, k) -> i, last
--- The part that has number k, and its last number.
function M.owner(extent, parts, k)
  local i = math.min(parts - 1, k * parts // extent)
  while true do
    local first, last = M.block(extent, parts, i)
    if k < first then
      i = i - 1
    elseif k > last then
      i = i + 1
    else
      return i, last
    end
  end
end

-- The divisor of n next to its root, from below.
local function divisor(n)
  local d = math.floor(math.sqrt(n))
  while n % d ~= 0 do
    d = d - 1
  end
  return d
end

--- grid.squarest(n) -> rows, cols
--- The grid of n ranks that is nearest to a square.
function M.squarest(n)
  local rows = divisor(n)
  return rows, n // rows
end

--- grid.new([sizes]) -> grid
--- The ranks in rows and columns, row by row: {rows, cols}, or as near to a
--- square as their number allows. Fields: rows, cols, row, col (of this rank,
--- from 0), row_comm, col_comm (the ranks of its row, by columns, and those of
--- its column). All ranks call it.
function M.new(sizes)
  local world = M.world()
  local n = world:size()
  local rows = sizes and sizes[1] or divisor(n)
  local cols = sizes and sizes[2] or n // rows
  integer.check("ranks", "grid: the rows", rows, 1)
  integer.check("ranks", "grid: the columns", cols, 1)
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

--- grid.pieces(context, type, elements) -> staging
--- Pinned pieces for parts of so many elements, or of 64 MiB.
function M.pieces(context, type, elements)
  return staging.new(context, type,
    math.min(elements, (64 << 20) // cl.typesize(type)))
end

return M

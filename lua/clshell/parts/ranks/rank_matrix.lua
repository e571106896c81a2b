-- parts/ranks/rank_matrix.lua - dense matrices in blocks, one for each process
-- of a grid, and their transpose
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"
local npy = require "clshell.data.npy"
local options = require "clshell.base.options"
local text = require "clshell.base.text"
local transpose = require "clshell.ladders.transpose"

local M = {}

local TAG = 20 -- of parts of a transpose

local methods = {}
local meta = {__name = "RanksMatrix", __metatable = false, __index = methods}

-- The first and last row, the first and last column that a rank has.
local function block_of(rows, cols, g, rank)
  local top, bottom = grids.block(rows, g.rows, rank // g.cols)
  return {top, bottom, grids.block(cols, g.cols, rank % g.cols)}
end

-- A new matrix: block is nil where this rank has no element, else its elements
-- are fill(A), a number or an Array, or not set.
local function new(what, rows, cols, opts, fill)
  argument.integer(what, "rows", rows, 1)
  argument.integer(what, "columns", cols, 1)
  local g = grids.new(opts.grid)
  local first_row, last_row, first_col, last_col = table.unpack(
    block_of(rows, cols, g, g.row * g.cols + g.col))
  local A = {type = opts.type or "float", rows = rows, cols = cols, grid = g,
    first_row = first_row, last_row = last_row, first_col = first_col,
    last_col = last_col, height = last_row - first_row + 1,
    width = last_col - first_col + 1}
  if A.height > 0 and A.width > 0 then
    A.block = cl.buffer(A.type, {A.height, A.width}, fill and fill(A))
  end
  return setmetatable(A, meta)
end

-- This rank's block of the Array h, which has the whole matrix on each rank.
local function part(A, h)
  local block = cl.array(h.type, {A.height, A.width})
  return host.copy_box(block, h, {rows = A.height, cols = A.width,
    from_first = (A.first_row - 1) * A.cols + A.first_col, from_ld = A.cols})
end

--- ranks.matrix(rows, cols [, init [, opts]]) -> RanksMatrix
--- A matrix in blocks, one block on the device of each process that mpirun has
--- started; the processes form a grid. `init`: a number for all elements (0 by
--- default), a function(i, j), or an Array with all elements, the same on each
--- rank. All ranks call it, like all functions of `ranks`. Fields: type, rows,
--- cols, grid {rows, cols, row, col}, first_row, last_row, first_col, last_col
--- of this rank's block, and block, its Buffer: nil where the matrix has fewer
--- rows or columns than the grid.
--- Options:
---   type  float    element type; an Array's own type
---   grid  squarest  {rows, cols} of processes, whose product is their number
--- Example:
--- local A = ranks.matrix(100, 80, function(i, j) return i + j end)
--- print(A.first_row, A.last_row, A)
function M.matrix(rows, cols, init, opts)
  local what = "ranks.matrix"
  opts = options.check(opts, what)
  init = init or 0
  local is_array = text.class(init) == "Array"
  if is_array and #init ~= rows * cols then
    cl.error(("%s: %dx%d elements are needed; the Array has %d"):format(what,
      rows, cols, #init))
  elseif not is_array and type(init) ~= "function" then
    argument.check(what, "init", init, "number")
  end
  return new(what, rows, cols, {type = is_array and init.type or opts.type,
    grid = opts.grid}, function(A)
    if is_array then
      return part(A, init)
    end
    return type(init) == "number" and init
      or cl.array(A.type, {A.height, A.width}, function(i, j)
        return init(A.first_row + i - 1, A.first_col + j - 1)
      end)
  end)
end

--- ranks.among(n, f, ...) -> what f returns
--- Calls f(...) on the first n ranks: the matrices and vectors that f makes
--- have n parts. The other ranks wait until f has returned there, and return
--- nothing. All ranks call it.
--- Example:
--- local length = ranks.among(1, function()
---   return ranks.vector(5, 1):norm()
--- end)
--- if length then -- rank 0
---   print(length^2)
--- end
M.among = grids.among

local random = {} -- kernels by element type

--- ranks.random(rows, cols [, opts]) -> RanksMatrix
--- A matrix of random numbers, the same for any number of ranks. Options as
--- for ranks.matrix.
--- Options:
---   seed    1     seed of the numbers
---   lo, hi  0, 1  range of the numbers
--- Example:
--- local A = ranks.random(100, 80, {type = "double", seed = 7})
--- print(A.rows, A.type) --> 100 double
function M.random(rows, cols, opts)
  opts = options.check(opts, "ranks.random")
  local A = new("ranks.random", rows, cols, opts)
  if not A.block then
    return A
  end
  random[A.type] = random[A.type] or cl.kernel([[
    #include "philox.cl"
    kernel void fill(global REAL *x, int width, ulong first, ulong cols,
                     uint seed, REAL lo, REAL hi) {
      int i = get_global_id(1), j = get_global_id(0);
      if (j >= width)
        return;
      ulong n = first + i * cols + j;
      uint4 r = philox((uint4)((uint)n, (uint)(n >> 32), 0, 0),
                       (uint2)(seed, 0));
      x[(size_t)i * width + j] = lo + (hi - lo) * ((r.x >> 8) * 0x1p-24f);
    }]], {include = cl.home .. "/kernels/random", defines = {REAL = A.type}})
  random[A.type]:range({(A.width + 63) // 64 * 64, A.height}, {64, 1})(A.block,
    A.width, (A.first_row - 1) * A.cols + A.first_col - 1, A.cols,
    opts.seed or 1, opts.lo or 0, opts.hi or 1)
  return A
end

--- ranks.load(path [, opts]) -> RanksMatrix
--- The matrix of a .npy file, of which each rank reads its block. Options as
--- for ranks.matrix but type.
--- Options:
---   grid  squarest  {rows, cols} of processes
--- Example:
--- npy.save("r.npy", cl.array("float", {30, 20}, 1))
--- print(ranks.load("r.npy").rows) --> 30
function M.load(path, opts)
  opts = options.check(opts, "ranks.load")
  local f <close>, message = npy.open(path)
  if not f then
    cl.error("ranks.load: " .. message)
  end
  return new("ranks.load", f.rows, f.cols, {type = f.type,
    grid = opts.grid}, function(A)
    return f:read{from = {A.first_row, A.first_col},
      size = {A.height, A.width}}
  end)
end

--- RanksMatrix:gather([root]) -> Array, or nil
--- All elements as an Array on rank `root`, 0 by default; the others get nil.
--- Example:
--- local h = ranks.matrix(4, 3, 5):gather()
--- if h then -- rank 0
---   print(h.rows, h[12])
--- end
function methods.gather(A, root)
  return grids.gather(A.block, A.type, {A.rows, A.cols}, root, function(rank)
    return table.unpack(block_of(A.rows, A.cols, A.grid, rank))
  end)
end

function meta:__tostring()
  return ("%dx%d matrix of %s in %dx%d blocks"):format(self.rows, self.cols,
    self.type, self.grid.rows, self.grid.cols)
end

-- An uninitialised matrix, for results.
function M.like(what, rows, cols, type, grid)
  return new(what, rows, cols, {type = type, grid = {grid.rows, grid.cols}})
end

-- Raises unless A is a matrix of `ranks`.
function M.check(what, name, A)
  return argument.check(what, name, A, "RanksMatrix",
    "ranks.matrix(rows, cols, init) makes one")
end

-- The box that two blocks have in common, with the place of its first element
-- in the first block, whose rows have `ld` elements; nil where it is empty.
local function common(block, other)
  local row, col = math.max(block[1], other[1]), math.max(block[3], other[3])
  local box = {rows = math.min(block[2], other[2]) - row + 1,
    cols = math.min(block[4], other[4]) - col + 1,
    ld = block[4] - block[3] + 1}
  box.first = (row - block[1]) * box.ld + col - block[3] + 1
  return box.rows > 0 and box.cols > 0 and box or nil
end

--- ranks.transpose(A) -> RanksMatrix
--- The transpose of a matrix in blocks, on the same grid of ranks.
--- Example:
--- local B = ranks.transpose(ranks.random(30, 20))
--- print(B.rows, B.cols) --> 20 30
function M.transpose(A)
  local what, world = "ranks.transpose", grids.world()
  M.check(what, "A", A)
  local g, me = A.grid, world:rank()
  local B = M.like(what, A.cols, A.rows, A.type, g)
  local mine = A.block and transpose(A.block):read()
  local result = B.block and cl.array(B.type, {B.height, B.width})
  local own = {A.first_col, A.last_col, A.first_row, A.last_row} -- of mine
  local coming, requests = {}, {}
  for rank = 0, world:size() - 1 do
    local r1, r2, c1, c2 = table.unpack(block_of(A.rows, A.cols, g, rank))
    local box = result and common(block_of(B.rows, B.cols, g, me),
      {c1, c2, r1, r2})
    coming[#coming + 1] = box and {box = box, request = world:irecv(
      cl.array(B.type, {box.rows, box.cols}), rank, TAG)}
  end
  for rank = 0, world:size() - 1 do
    local box = mine and common(own, block_of(B.rows, B.cols, g, rank))
    requests[#requests + 1] = box and world:isend(host.copy_box(
      cl.array(A.type, {box.rows, box.cols}), mine, {rows = box.rows,
        cols = box.cols, from_first = box.first, from_ld = box.ld}), rank, TAG)
  end
  for _, piece in ipairs(coming) do
    local box = piece.box
    host.copy_box(result, piece.request:wait(), {rows = box.rows,
      cols = box.cols, to_first = box.first, to_ld = box.ld})
  end
  require "mpi".wait_all(requests)
  if result then
    B.block:write(result)
  end
  return B
end

argument.methods("RanksMatrix", methods, "RanksMatrix")

return M

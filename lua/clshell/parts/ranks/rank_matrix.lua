-- parts/ranks/rank_matrix.lua - dense matrices in blocks, one for each process
-- of a grid
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local gather = require "clshell.parts.ranks.rank_gather"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"
local npy = require "clshell.data.npy"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

local methods = {}
local meta = {__name = "RanksMatrix", __metatable = false}
meta.__index = argument.methods("RanksMatrix", methods, "RanksMatrix")

-- A matrix without content: block is nil where this rank has no element.
local function new(what, rows, cols, opts)
  argument.integer(what, "rows", rows, 1)
  argument.integer(what, "columns", cols, 1)
  local g = grids.new(opts.grid)
  local first_row, last_row = grids.block(rows, g.rows, g.row)
  local first_col, last_col = grids.block(cols, g.cols, g.col)
  local A = {type = opts.type or "float", rows = rows, cols = cols, grid = g,
    first_row = first_row, last_row = last_row, first_col = first_col,
    last_col = last_col, height = last_row - first_row + 1,
    width = last_col - first_col + 1}
  if A.height > 0 and A.width > 0 then
    A.block = cl.buffer(A.type, {A.height, A.width})
  end
  return setmetatable(A, meta)
end

-- A new matrix, filled by fill(block, A) where this rank has a block.
local function filled(what, rows, cols, opts, fill)
  local A = new(what, rows, cols, opts)
  if A.block then
    fill(A.block, A)
  end
  return A
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
  if text.class(init) == "Array" then
    if #init ~= rows * cols then
      cl.error(("%s: %dx%d elements are needed; the Array has %d"):format(what,
        rows, cols, #init))
    end
    return filled(what, rows, cols, {type = init.type, grid = opts.grid},
      function(block, A)
        block:write(part(A, init))
      end)
  end
  if type(init) ~= "function" then
    init = init or 0
    argument.check(what, "init", init, "number")
  end
  return filled(what, rows, cols, opts, function(block, A)
    if type(init) == "number" then
      block:fill(init)
    else
      block:write(cl.array(A.type, {A.height, A.width}, function(i, j)
        return init(A.first_row + i - 1, A.first_col + j - 1)
      end))
    end
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

local random -- kernels by element type

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
  return filled("ranks.random", rows, cols, opts, function(block, A)
    random = random or {}
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
      }]], {include = cl.home .. "/kernels/random",
        defines = {REAL = A.type}})
    random[A.type]:range({(A.width + 63) // 64 * 64, A.height}, {64, 1})(block,
      A.width, (A.first_row - 1) * A.cols + A.first_col - 1, A.cols,
      opts.seed or 1, opts.lo or 0, opts.hi or 1)
  end)
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
  return filled("ranks.load", f.rows, f.cols, {type = f.type,
    grid = opts.grid}, function(block, A)
    block:write(f:read{from = {A.first_row, A.first_col},
      size = {A.height, A.width}})
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
  local g = A.grid
  return gather(A.block, A.type, {A.rows, A.cols}, root, function(rank)
    local first, last = grids.block(A.rows, g.rows, rank // g.cols)
    return first, last, grids.block(A.cols, g.cols, rank % g.cols)
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

return M

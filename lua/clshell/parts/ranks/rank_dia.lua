-- parts/ranks/rank_dia.lua - sparse matrices by diagonals in strips of rows,
-- and their product with a vector, whose halo moves during the product of the
-- rows that need none
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"
local laplacian = require "clshell.data.laplacian"
local options = require "clshell.base.options"
local plans = require "clshell.ladder.plan"
local sparse = require "clshell.data.sparse"
local spmv = require "clshell.ladders.spmv"
local vectors = require "clshell.parts.ranks.vector"

local M = {}

local methods = {}
local meta = {__name = "RanksDia", __metatable = false}
meta.__index = argument.methods("RanksDia", methods, "RanksDia")

local TAG = 19 -- of messages with halos

-- Rows a to b of A as a matrix of their own, whose columns are the elements of
-- a vector's Buffer: its first column is column `origin` of A. Returns nil
-- where there are no rows. `values` begin at row A.first.
local function strip(A, values, a, b, origin, cols)
  if b < a then
    return nil
  end
  local rows, kept, offsets = b - a + 1, {}, {}
  for d, o in ipairs(A.offsets) do -- diagonals with elements in these rows
    local first, last = math.max(a, 1 - o), math.min(b, A.n - o)
    if first <= last then
      kept[#kept + 1], offsets[#offsets + 1] = d, o + a - origin
    end
  end
  if #kept == 0 then
    kept[1], offsets[1] = 1, 0
  end
  local m = sparse.new_dia("ranks.dia", rows, cols, offsets, {type = A.type})
  for i, d in ipairs(kept) do
    host.copy_box(m.host.values, values, {rows = 1, cols = rows,
      to_first = (i - 1) * m.pitch + 1,
      from_first = (d - 1) * A.count + a - A.first + 1})
  end
  m.nnz = rows * #kept
  return {matrix = sparse.upload_dia(m), first = a - A.first + 1,
    last = b - A.first + 1}
end

-- The parts of [low, high] that other ranks have: {rank, first, last} each.
local function owners(n, low, high, size, me)
  local list = {}
  for rank = 0, size - 1 do
    local first, last = grids.block(n, size, rank)
    first, last = math.max(first, low), math.min(last, high)
    if rank ~= me and first <= last then
      list[#list + 1] = {rank = rank, first = first, last = last}
    end
  end
  return list
end

-- Sets A.coming and A.going: the elements of x that a product needs from other
-- ranks, and the elements that other ranks need from this rank.
local function halo(A)
  local world = grids.world()
  local size, me = world:size(), world:rank()
  local function reach(first, last)
    return math.max(1, first - A.below), math.min(A.n, last + A.above)
  end
  local low, high = reach(A.first, A.last)
  A.coming = owners(A.n, low, high, size, me)
  A.going = {}
  for rank = 0, size - 1 do
    local first, last = grids.block(A.n, size, rank)
    if rank ~= me and first <= last then
      low, high = reach(first, last)
      low, high = math.max(low, A.first), math.min(high, A.last)
      if low <= high then
        A.going[#A.going + 1] = {rank = rank, first = low, last = high}
      end
    end
  end
end

-- Divides the rows into A.inner, whose product needs no halo, and A.edges.
local function split(A, values)
  local room = vectors.room(A.left)
  local origin, cols = A.first - room, room + A.count + A.right
  local top = A.first + room - 1 -- the last row that needs a halo above
  local bottom = A.first + (A.last - A.right - A.first + 1)
    // vectors.room(1) * vectors.room(1)
  if A.right == 0 then
    bottom = A.last + 1
  end
  local function part(a, b)
    return strip(A, values, a, b, origin, cols)
  end
  if bottom <= top + 1 then
    A.edges = {part(A.first, A.last)}
    return
  end
  A.inner = part(top + 1, bottom - 1)
  A.edges = {}
  A.edges[1] = part(A.first, top)
  A.edges[#A.edges + 1] = part(bottom, A.last)
end

-- A matrix of n rows with the diagonals `offsets`. fill(values, pitch, first,
-- last) writes the elements of rows `first` to `last`.
local function new(n, offsets, type, fill)
  local world = grids.world()
  local first, last = grids.block(n, world:size(), world:rank())
  local A = {n = n, rows = n, cols = n, type = type, offsets = offsets,
    first = first, last = last, count = last - first + 1,
    below = math.max(0, -offsets[1]), above = math.max(0, offsets[#offsets])}
  A.left = math.min(A.below, first - 1)
  A.right = math.min(A.above, n - last)
  A.plans = setmetatable({}, {__mode = "k"})
  if A.count > 0 then
    local values <close> = cl.array(type, {#offsets, A.count})
    fill(values, A.count, first, last)
    halo(A)
    split(A, values)
  else
    A.coming, A.going, A.edges = {}, {}, {}
  end
  A.queue = cl.queue{profiling = false}
  return setmetatable(A, meta)
end

--- ranks.dia(D) -> RanksDia
--- A square matrix by diagonals in strips of rows, one strip on the device of
--- each process. Each rank has the whole matrix D, such as dia.load "m.mtx".
--- Fields: rows, cols, type, offsets, first, last (of this rank's rows). All
--- ranks call it.
--- Example:
--- local A = ranks.dia(dia.banded(5000, {-40, 0, 1}))
--- print(ranks.spmv(A, A:vector(1)).n) --> 5000
function M.dia(D)
  argument.check("ranks.dia", "D", D, "DIA matrix",
    'dia.load "m.mtx" gives one')
  if D.rows ~= D.cols then
    cl.error(("ranks.dia: the matrix must be square; got %dx%d"):format(D.rows,
      D.cols), {arg = "D"})
  end
  return new(D.rows, D.host.offsets:table(), D.type,
    function(values, pitch, first, last)
      host.copy_box(values, D.host.values, {rows = D.ndiags,
        cols = last - first + 1, to_ld = pitch, from_first = first,
        from_ld = D.pitch})
    end)
end

local function poisson(what, dims, sizes, opts)
  opts = options.check(opts, what)
  local grid = laplacian.new(what, dims, sizes)
  return new(grid.rows, grid.offsets, opts.type or "float",
    function(values, pitch, first, last)
      laplacian.fill(grid, values, pitch, first, last)
    end)
end

--- ranks.poisson2d(nx, ny [, opts]) -> RanksDia
--- The matrix of dia.poisson2d in strips of rows: each rank makes its own.
--- Options:
---   type  float  element type
--- Example: print(ranks.poisson2d(100, 90).rows) --> 9000
function M.poisson2d(nx, ny, opts)
  return poisson("ranks.poisson2d", 2, {nx, ny}, opts)
end

--- ranks.poisson3d(nx, ny, nz [, opts]) -> RanksDia
--- The matrix of dia.poisson3d in strips of rows: each rank makes its own.
--- Options:
---   type  float  element type
--- Example:
--- print(ranks.poisson3d(10, 11, 12, {type = "double"}).rows) --> 1320
function M.poisson3d(nx, ny, nz, opts)
  return poisson("ranks.poisson3d", 3, {nx, ny, nz}, opts)
end

--- RanksDia:vector([init]) -> RanksVector
--- A vector that A can multiply, with room for the halo of each strip. `init`
--- as for ranks.vector.
--- Example:
--- local x = ranks.poisson2d(64, 64):vector(function(i) return i end)
--- print(x.n) --> 4096
function methods.vector(A, init)
  return vectors.new(A.n, init, A.type, A.left, A.right)
end

-- The launches of the product y = A x, planned once for each x and y.
local function plan(A, x, y)
  local of_x = A.plans[x] or setmetatable({}, {__mode = "k"})
  A.plans[x] = of_x
  if not of_x[y] then
    local function launch(part)
      return spmv.plan(part.matrix, x.whole,
        {y = y.part:view(part.first, part.last)})
    end
    of_x[y] = {inner = A.inner and launch(A.inner), edges = {}}
    for i, edge in ipairs(A.edges) do
      of_x[y].edges[i] = launch(edge)
    end
  end
  return of_x[y]
end

-- Begins to receive the halo and, after the commands so far, to read the
-- elements that other ranks need.
local function read_halo(A, x)
  local world = grids.world()
  local list, after = {}, {cl.context().queue:marker()}
  for i, piece in ipairs(A.coming) do
    local h = cl.array(x.type, piece.last - piece.first + 1)
    list[i] = {array = h, piece = piece,
      request = world:irecv(h, piece.rank, TAG)}
  end
  local going = {}
  for i, piece in ipairs(A.going) do
    local h, event = x.part:read({first = piece.first - A.first + 1,
      count = piece.last - piece.first + 1, queue = A.queue, async = true,
      after = after})
    going[i] = {array = h, event = event, rank = piece.rank}
  end
  return list, going
end

-- Sends and receives halos. Returns the event after which the halo is in
-- place, or nil.
local function move_halo(A, x, coming, going)
  local world = grids.world()
  local requests, event = {}, nil
  for i, part in ipairs(going) do
    part.event:wait()
    requests[i] = world:isend(part.array, part.rank, TAG)
  end
  for _, part in ipairs(coming) do
    part.request:wait()
    event = x.whole:write(part.array, {
      first = part.piece.first - A.first + x.room + 1, count = #part.array,
      queue = A.queue, async = true})
  end
  require "mpi".wait_all(requests)
  return event
end

--- ranks.spmv(A, x [, y]) -> y, event
--- The product of a matrix in strips with a vector of A:vector(): rows that
--- need no elements of other ranks are multiplied while the halo of the other
--- rows is on the way. Without `y` the result is a new vector. All ranks call
--- it. The call does not wait for the device. The event covers this rank's
--- launches; it is nil where the rank has no rows.
--- Example:
--- local A = ranks.poisson2d(64, 64)
--- local x = A:vector(1)
--- local y = ranks.spmv(A, x)
--- print(x:dot(y)) --> 256.0
function M.spmv(A, x, y)
  local what = "ranks.spmv"
  argument.check(what, "A", A, "RanksDia",
    "ranks.dia, ranks.poisson2d make one")
  y = y or A:vector()
  for name, v in pairs{x = x, y = y} do
    argument.check(what, name, v, "RanksVector", "A:vector(init) makes one")
    if v.n ~= A.n or v.type ~= A.type or v.room < vectors.room(A.left)
        or v.right ~= A.right then
      cl.error(("%s: %s must be a vector of A:vector(); it is a %s"):format(
        what, name, tostring(v)), {arg = name})
    end
  end
  if rawequal(x, y) then
    cl.error(what .. ": y must not be x", {arg = "y"})
  elseif A.count == 0 then
    return y
  end
  local launches = plan(A, x, y)
  local queue = cl.context().queue
  local coming, going = read_halo(A, x)
  local ran = {launches.inner and launches.inner()}
  queue:flush()
  local there = move_halo(A, x, coming, going)
  if there then
    queue:barrier{after = {there}}
  end
  for _, launch in ipairs(launches.edges) do
    ran[#ran + 1] = launch()
  end
  return y, plans.event(plans.events_of(what, ran))
end

function meta:__tostring()
  return ("%dx%d matrix by %d diagonals of %s in %d strips"):format(self.n,
    self.n, #self.offsets, self.type, grids.world():size())
end

return M

-- parts/ranks/strips.lua - vectors and sparse matrices by diagonals in strips,
-- one strip on the device of each process, and their product, whose halo moves
-- during the product of the strip's own elements, see halo.lua
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local halo = require "clshell.parts.halo"
local host = require "cl.host"
local argument = require "clshell.base.argument"
local laplacian = require "clshell.data.laplacian"
local options = require "clshell.base.options"
local plans = require "clshell.ladder.plan"
local spmv = require "clshell.ladders.spmv"
local text = require "clshell.base.text"

local M = {}

local TAG = 19 -- of messages with halos

local methods, of_dia = {}, {}
local meta = {__name = "RanksVector", __metatable = false, __index = methods}
local dia_meta = {__name = "RanksDia", __metatable = false, __index = of_dia}

-- An object with the fields of this rank's strip of n elements or rows.
local function strip(n, type, made)
  local world = grids.world()
  made.n, made.type = n, type
  made.first, made.last = grids.block(n, world:size(), world:rank())
  made.count = made.last - made.first + 1
  return made
end

-- This rank's strip of `init`, which is an Array, a function or a number, as
-- content of a Buffer.
local function content(x, init)
  if text.class(init) == "Array" then
    if #init ~= x.n then
      cl.error(("ranks.vector: %d elements are needed; the Array has %d")
        :format(x.n, #init))
    end
    return host.copy_box(cl.array(init.type, x.count), init,
      {rows = 1, cols = x.count, from_first = x.first})
  elseif type(init) == "function" then
    return cl.array(x.type, x.count, function(i)
      return init(x.first + i - 1)
    end)
  end
  return argument.check("ranks.vector", "init", init, "number")
end

--- ranks.vector(n [, init [, opts]]) -> RanksVector
--- A vector in strips, one strip on the device of each process. `init`: a
--- number for all elements (0 by default), a function(i), or an Array with all
--- elements, the same on each rank. A:vector(init) makes a vector with the
--- size and type of matrix A. All ranks call it. Fields: n, type, first,
--- last (of this rank's strip) and part, its Buffer: nil where there are fewer
--- elements than ranks.
--- Options:
---   type  float  element type; an Array's own type
--- Example:
--- local x = ranks.vector(1000, function(i) return i end)
--- print(x.n, x.first <= x.last) --> 1000 true
function M.vector(n, init, opts)
  opts = options.check(opts, "ranks.vector")
  argument.integer("ranks.vector", "n", n, 1)
  local x = setmetatable(strip(n, text.class(init) == "Array" and init.type
    or opts.type or "float", {}), meta)
  if x.count > 0 then
    x.part = cl.buffer(x.type, x.count, content(x, init or 0))
  end
  return x
end

-- Raises unless y has the size and the type of x.
local function check(what, x, y)
  argument.check(what, "y", y, "RanksVector")
  if y.n ~= x.n or y.type ~= x.type then
    cl.error(("%s: the vectors must be alike; got %d %s and %d %s"):format(
      what, x.n, x.type, y.n, y.type))
  end
end

--- RanksVector:dot(y) -> number
--- The inner product, on all ranks.
--- Example: print(ranks.vector(1000, 2):dot(ranks.vector(1000, 3))) --> 6000.0
function methods.dot(x, y)
  check("RanksVector:dot", x, y)
  return grids.world():allreduce(x.part and x.part:dot(y.part) or 0.0)
end

--- RanksVector:norm() -> number
--- The root of the sum of the squares, on all ranks.
--- Example: print(ranks.vector(100, 1):norm()) --> 10.0
function methods.norm(x)
  return math.sqrt(x:dot(x))
end

--- RanksVector:axpy(a, x) -> RanksVector
--- y = y + a x.
--- Example:
--- local y = ranks.vector(100, 1):axpy(2, ranks.vector(100, 3))
--- print(y:dot(ranks.vector(100, 1))) --> 700.0
function methods.axpy(y, a, x)
  check("RanksVector:axpy", y, x)
  if y.part then
    y.part:axpy(a, x.part)
  end
  return y
end

--- RanksVector:aypx(a, x) -> RanksVector
--- y = x + a y.
--- Example:
--- local p = ranks.vector(100, 1):aypx(2, ranks.vector(100, 3)) -- p = r + 2 p
--- print(p:dot(ranks.vector(100, 1))) --> 500.0
function methods.aypx(y, a, x)
  check("RanksVector:aypx", y, x)
  if y.part then
    y.part:set(x.part + a * y.part)
  end
  return y
end

--- RanksVector:clone() -> RanksVector
--- A new vector with the same elements and layout.
--- Example:
--- local x = ranks.vector(100, 1)
--- local y = x:clone():axpy(1, x)
--- print(x:dot(y)) --> 200.0
function methods.clone(x)
  return setmetatable(strip(x.n, x.type, {part = x.part and x.part:clone()}),
    meta)
end

--- RanksVector:gather([root]) -> Array, or nil
--- All elements as an Array on rank `root`, 0 by default; the others get nil.
--- Example:
--- local h = ranks.vector(10, 4):gather()
--- if h then -- rank 0
---   print(#h, h[10])
--- end
function methods.gather(x, root)
  local size = grids.world():size()
  return grids.gather(x.part, x.type, {x.n}, root, function(rank)
    return 1, 1, grids.block(x.n, size, rank)
  end)
end

function meta:__tostring()
  return ("vector of %d %s in %d strips"):format(self.n, self.type,
    grids.world():size())
end

-- The numbers that two ranges have in common: first, last; last < first where
-- there are none.
local function common(first, last, low, high)
  return math.max(first, low), math.min(last, high)
end

-- Sets A.coming and A.going: the elements of x that a product needs from other
-- ranks, and the elements that other ranks need: {rank, first, last} each.
local function find_halo(A)
  local world = grids.world()
  local function reach(first, last)
    return math.max(1, first - A.below), math.min(A.n, last + A.above)
  end
  local function add(list, rank, first, last)
    list[#list + 1] = first <= last and {rank = rank, first = first,
      last = last} or nil
  end
  for rank = 0, world:size() - 1 do
    local first, last = grids.block(A.n, world:size(), rank)
    if rank ~= world:rank() and first <= last then
      add(A.coming, rank, common(first, last, reach(A.first, A.last)))
      add(A.going, rank, common(A.first, A.last, reach(first, last)))
    end
  end
end

-- A matrix of n rows with the diagonals `offsets`. fill(values, pitch, first,
-- last) writes the elements of rows `first` to `last`.
local function new_dia(n, offsets, type, fill)
  local A = strip(n, type, {rows = n, cols = n, offsets = offsets,
    below = math.max(0, -offsets[1]), above = math.max(0, offsets[#offsets]),
    coming = {}, going = {}})
  if A.count > 0 then
    local h <close> = cl.array(type, {#offsets, A.count})
    fill(h, A.count, A.first, A.last)
    local values <close> = cl.buffer(type, h.shape, h)
    local from = {} -- offsets from row 1 of the strip
    for d, offset in ipairs(offsets) do
      from[d] = offset + A.first - 1
    end
    A.part = halo.part({rows = A.count, cols = n, type = type, values = values,
      ndiags = #offsets, host = {offsets = from}}, 1, A.count, A.first)
    for _, e in ipairs(A.part.edges) do
      e.open = true
    end
    find_halo(A)
  end
  A.queue = cl.queue{profiling = false}
  return setmetatable(A, dia_meta)
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
  return new_dia(D.rows, D.host.offsets:table(), D.type,
    function(values, pitch, first, last)
      host.copy_box(values, D.host.values, {rows = D.ndiags,
        cols = last - first + 1, to_ld = pitch, from_first = first,
        from_ld = D.pitch})
    end)
end

local function poisson(what, dims, sizes, opts)
  opts = options.check(opts, what)
  local grid = laplacian.new(what, dims, sizes)
  return new_dia(grid.rows, grid.offsets, opts.type or "float",
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
--- A vector that A can multiply. `init` as for ranks.vector.
--- Example:
--- local x = ranks.poisson2d(64, 64):vector(function(i) return i end)
--- print(x.n) --> 4096
function of_dia.vector(A, init)
  return M.vector(A.n, init, {type = A.type})
end

-- Begins to receive the halo and, after the commands so far, to read the
-- elements that other ranks need.
local function read_halo(A, x)
  local world = grids.world()
  local coming, going, after = {}, {}, {cl.context().queue:marker()}
  for i, piece in ipairs(A.coming) do
    local h = cl.array(x.type, piece.last - piece.first + 1)
    coming[i] = {array = h, first = piece.first, last = piece.last,
      request = world:irecv(h, piece.rank, TAG)}
  end
  for i, piece in ipairs(A.going) do
    local h, event = x.part:read({first = piece.first - A.first + 1,
      count = piece.last - piece.first + 1, queue = A.queue, async = true,
      after = after})
    going[i] = {array = h, event = event, rank = piece.rank}
  end
  return coming, going
end

-- Sends and receives halos.
local function move_halo(coming, going)
  local world, requests = grids.world(), {}
  for i, part in ipairs(going) do
    part.event:wait()
    requests[i] = world:isend(part.array, part.rank, TAG)
  end
  for _, part in ipairs(coming) do
    part.request:wait()
  end
  require "mpi".wait_all(requests)
end

-- Copies the elements of x for an edge into a Buffer.
local function gather(A, e, x, coming, to)
  local there
  local first, last = common(A.first, A.last, e.col, e.col + e.cols - 1)
  if first <= last then
    x.part:copy(to, {first = first - A.first + 1, count = last - first + 1,
      to = first - e.col + 1, async = true})
  end
  for _, piece in ipairs(coming) do
    first, last = common(piece.first, piece.last, e.col, e.col + e.cols - 1)
    if first <= last then
      there = to:write(piece.array, {at = first - piece.first + 1,
        count = last - first + 1, first = first - e.col + 1, queue = A.queue,
        async = true})
    end
  end
  if there then
    to.context.queue:barrier{after = {there}}
  end
end

--- ranks.spmv(A, x [, y]) -> y, event
--- The product of a matrix in strips with a vector in strips, such as
--- A:vector(): each rank multiplies by its own elements while the halo,
--- elements of other ranks, is on the way. Without `y` the result is a new vector. All ranks call
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
    if v.n ~= A.n or v.type ~= A.type then
      cl.error(("%s: %s must be a vector of A:vector(); it is a %s"):format(
        what, name, tostring(v)), {arg = name})
    end
  end
  if rawequal(x, y) then
    cl.error(what .. ": y must not be x", {arg = "y"})
  elseif A.count == 0 then
    return y
  end
  local part = A.part
  if not part.inner and #part.edges == 0 then -- no diagonal reaches the strip
    return y, y.part:fill(0, {async = true})
  end
  local coming, going = read_halo(A, x)
  local ran = {part.inner
    and halo.launch(spmv, part.inner, x.part, y.part, {}, part.kept)}
  move_halo(coming, going)
  for _, e in ipairs(part.edges) do
    ran[#ran + 1] = halo.calculate(spmv, e, y.part, {}, function(to)
      gather(A, e, x, coming, to)
    end)
  end
  return y, plans.event(plans.events_of(what, ran))
end

function dia_meta:__tostring()
  return ("%dx%d matrix by %d diagonals of %s in %d strips"):format(self.n,
    self.n, #self.offsets, self.type, grids.world():size())
end

argument.methods("RanksVector", methods, "RanksVector")
argument.methods("RanksDia", of_dia, "RanksDia")

return M

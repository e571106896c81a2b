-- parts/ranks/vector.lua - vectors in strips, one for each process, with room
-- for the neighbours' elements that a sparse matrix multiplies
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local gather = require "clshell.parts.ranks.rank_gather"
local grids = require "clshell.parts.ranks.grid"
local host = require "cl.host"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local M = {}

local methods = {}
local meta = {__name = "RanksVector", __metatable = false}
meta.__index = argument.methods("RanksVector", methods, "RanksVector")

local ROOM = 1024 -- elements: views begin at multiples of it

-- n elements rounded up to a place where a view may begin on any device.
function M.room(n)
  return (n + ROOM - 1) // ROOM * ROOM
end

-- A vector of zeros with `left` and `right` elements beside the strip.
local function new(n, type, left, right)
  local world = grids.world()
  local first, last = grids.block(n, world:size(), world:rank())
  local x = {n = n, type = type, first = first, last = last,
    count = last - first + 1, room = M.room(left), right = right}
  if x.count > 0 then
    x.whole = cl.buffer(type, x.room + x.count + right, 0)
    x.part = x.whole:view(x.room + 1, x.room + x.count)
  end
  return setmetatable(x, meta)
end

-- This rank's strip of `init`, an Array or a function, as an Array.
local function content(x, init)
  if text.class(init) == "Array" then
    if #init ~= x.n then
      cl.error(("ranks.vector: %d elements are needed; the Array has %d")
        :format(x.n, #init))
    end
    return host.copy_box(cl.array(init.type, x.count), init,
      {rows = 1, cols = x.count, from_first = x.first})
  end
  return cl.array(x.type, x.count, function(i)
    return init(x.first + i - 1)
  end)
end

-- vector.new(n, init, type, left, right): ranks.vector with room at the sides.
function M.new(n, init, type, left, right)
  argument.integer("ranks.vector", "n", n, 1)
  local x = new(n, text.class(init) == "Array" and init.type or type, left,
    right)
  if not x.part or init == nil then
    return x
  elseif math.type(init) then
    x.part:fill(init)
  elseif text.class(init) == "Array" or _G.type(init) == "function" then
    x.part:write(content(x, init))
  else
    argument.check("ranks.vector", "init", init, "number")
  end
  return x
end

--- ranks.vector(n [, init [, opts]]) -> RanksVector
--- A vector in strips, one strip on the device of each process. `init`: a
--- number for all elements (0 by default), a function(i), or an Array with all
--- elements, the same on each rank. A:vector(init) makes a vector with the
--- size and layout of matrix A. All ranks call it. Fields: n, type, first,
--- last (of this rank's strip) and part, its Buffer: nil where there are fewer
--- elements than ranks.
--- Options:
---   type  float  element type; an Array's own type
--- Example:
--- local x = ranks.vector(1000, function(i) return i end)
--- print(x.n, x.first <= x.last) --> 1000 true
function M.vector(n, init, opts)
  opts = options.check(opts, "ranks.vector")
  return M.new(n, init, opts.type or "float", 0, 0)
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
  local y = new(x.n, x.type, x.room, x.right)
  if y.part then
    x.part:copy(y.part)
  end
  return y
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
  return gather(x.part, x.type, {x.n}, root, function(rank)
    return 1, 1, grids.block(x.n, size, rank)
  end)
end

function meta:__tostring()
  return ("vector of %d %s in %d strips"):format(self.n, self.type,
    grids.world():size())
end

return M

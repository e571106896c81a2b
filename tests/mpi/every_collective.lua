-- every_collective.lua - what each rank runs for collectives.lua: all
-- functions on all types, compared with what one process calculates from all
-- ranks' values
-- SPDX-License-Identifier: MIT
local mpi = require "mpi"
local seed = math.tointeger(tonumber(arg[1]))
local rank, size = mpi.rank(), mpi.size()

-- The value of rank r: whole numbers, small enough that no order of a sum
-- rounds, nor a product overflows.
local function value(type, shape, r)
  local h = cl.array(type, shape)
  local plain = h:as(type:gsub("%d+$", ""))
  return h, plain:random(seed + r, 1, 3)
end

local function array(type, shape, r)
  local h, plain = value(type, shape, r)
  if type:find "^float" or type:find "^double" or type:find "^half" then
    for i = 1, #plain do
      plain[i] = plain[i] // 1
    end
  end
  return h
end

local function same(got, expected, what)
  if got.type ~= expected.type or #got ~= #expected
      or got:tobytes() ~= expected:tobytes() then
    error(("%s: rank %d of %d: %s differs from one process"):format(what, rank,
      size, tostring(got)))
  end
end

local OPS = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  min = math.min, max = math.max,
}

-- All ranks' values combined, in one process.
local function reduced(type, shape, op)
  local h = array(type, shape, 0)
  local base = type:gsub("%d+$", "")
  local plain = h:as(base)
  for r = 1, size - 1 do
    local other = array(type, shape, r):as(base)
    for i = 1, #plain do
      plain[i] = OPS[op](plain[i], other[i])
    end
  end
  return h
end

-- All ranks' values one behind the other.
local function joined(type, shape)
  local parts = {}
  for r = 0, size - 1 do
    parts[r + 1] = array(type, shape, r):tobytes()
  end
  local all = {table.unpack(shape)}
  all[1] = all[1] * size
  return cl.array(type, all, table.concat(parts))
end

-- Share number i, from 0, of an array.
local function share(h, i)
  local s = {table.unpack(h.shape)}
  local bytes = h.bytes // size
  s[1] = s[1] // size
  return cl.array(h.type, s, h:tobytes():sub(i * bytes + 1, (i + 1) * bytes))
end

local function collectives(type, shape)
  local root = (#type + shape[1]) % size
  local own = array(type, shape, rank)
  local what = ("%s {%s}"):format(type, table.concat(shape, ","))

  local b = array(type, shape, rank)
  assert(rawequal(mpi.bcast(b, root), b))
  same(b, array(type, shape, root), "bcast " .. what)
  same(mpi.bcast(rank == root and own or nil, root), b, "bcast nil " .. what)

  same(mpi.allgather(own), joined(type, shape), "allgather " .. what)
  local g = mpi.gather(own, root)
  assert((g ~= nil) == (rank == root))
  if g then
    same(g, joined(type, shape), "gather " .. what)
  end
  local all = joined(type, shape)
  same(mpi.scatter(rank == root and all or nil, root),
    array(type, shape, rank), "scatter " .. what)

  -- Share r of a value of rank q is (q, r): the others' are (r, q) after it.
  local wide = {shape[1] * size, table.unpack(shape, 2)}
  local mine, parts = array(type, wide, rank), {}
  for r = 0, size - 1 do
    parts[r + 1] = share(array(type, wide, r), rank):tobytes()
  end
  same(mpi.alltoall(mine), cl.array(type, wide, table.concat(parts)),
    "alltoall " .. what)

  for _, op in ipairs{"sum", "prod", "min", "max"} do -- pairs differs by rank
    if not type:find "^half" then
      local expected = reduced(type, shape, op)
      same(mpi.allreduce(own, op), expected, "allreduce " .. op .. what)
      local r = mpi.reduce(own, op, root)
      assert((r ~= nil) == (rank == root))
      if r then
        same(r, expected, "reduce " .. op .. what)
      end
    end
  end
  same(own, array(type, shape, rank), "the operand stays " .. what)
end

for _, type in ipairs{"char", "uchar", "short", "ushort", "int", "uint",
    "long", "ulong", "half", "float", "double", "float4", "int3"} do
  collectives(type, {7})
end
collectives("float", {1})
collectives("double", {3, 5})
collectives("int", {2, 3, 2, 2})

-- Buffers go through host memory, rows with gaps as well.
local b = cl.buffer("float", {3, 5}, array("float", {3, 5}, rank), {ld = 8})
local sum = mpi.allreduce(b)
same(sum:read(), reduced("float", {3, 5}, "sum"), "allreduce of a Buffer")
same(mpi.allgather(b):read(), joined("float", {3, 5}), "allgather of a Buffer")
local to = cl.buffer("float", {3, 5}, 0)
assert(mpi.allreduce(b, "sum", {into = to}) == to)
same(to:read(), sum:read(), "into a Buffer")
local parts = cl.contexts{cl.device()}
local far = cl.buffer("float", {3, 5}, 0, {context = parts[1]})
mpi.allreduce(b, "sum", {into = far}) -- a Buffer of another context
same(far:read(), sum:read(), "into a Buffer of another context")
assert(mpi.allreduce(far).context == far.context)
local place = cl.array("float", {3, 5})
assert(rawequal(mpi.allreduce(b, "sum", {into = place}), place))
same(place, sum:read(), "into an Array")
mpi.bcast(b, size - 1)
same(b:read(), array("float", {3, 5}, size - 1), "bcast of a Buffer")

-- Numbers: integers stay that, unless one is a float.
assert(mpi.allreduce(rank + 1) == size * (size + 1) // 2)
assert(math.type(mpi.allreduce(rank)) == "integer")
assert(mpi.allreduce(rank == 0 and 0.5 or rank, "max") == math.max(0.5,
  size - 1))
local list = mpi.allgather(rank)
for r = 0, size - 1 do
  assert(list[r + 1] == r)
end
assert(mpi.bcast(rank == 0 and "a\0b" or nil) == "a\0b")
assert(mpi.bcast(rank == 0 and "" or nil) == "")
assert(mpi.bcast(rank, size - 1) == size - 1)

-- Ranks with an odd number among themselves, in the other order.
local part = mpi.split(rank % 2, size - rank)
local last = rank % 2 == (size - 1) % 2 and size - 1 or size - 2
assert(part:rank() == (last - rank) // 2 and part:size() == last // 2 + 1)
assert(part:allreduce(1) == part:size())
assert(part:bcast(rank) == last)
assert(mpi.split(nil) == nil)
mpi.barrier()
if rank == 0 then
  print(("%d ranks agree"):format(mpi.allreduce(1)))
else
  mpi.allreduce(1)
end

-- shared.lua - memory that the ranks of a host share: what one writes others
-- read, and where there is none
-- SPDX-License-Identifier: MIT
local ranks = require "ranks"
local scratch = require "scratch"
local t = require "t"

t.test("what one rank writes all read", function()
  t.eq(ranks.fine(4, [[
for _, type in ipairs{"float", "double", "uchar", "float4"} do
  for _, n in ipairs{1, 7, 5000} do
    local list = mpi.shared(type, n)
    for i = 0, size - 1 do
      assert(list[i].type == type and #list[i] == n, tostring(list[i]))
      assert(list[i]:as "uchar":summary().max == 0)
    end
    assert(list[size] == nil and list[-1] == nil)
    mpi.barrier()
    list[rank]:as "uchar":fill(rank + 1)
    mpi.barrier()
    for i = 0, size - 1 do
      local s = list[i]:as "uchar":summary()
      assert(s.min == i + 1 and s.max == i + 1)
    end
  end
end
-- a message tells of it, and the memory is any Array's
local list = mpi.shared("int", 1000)
if rank == 0 then
  list[0]:fill(5)
  for to = 1, size - 1 do mpi.send(1000, to) end
  mpi.isend(list[0], 1):wait()
else
  assert(list[0][mpi.recv(0, 0)] == 5)
  if rank == 1 then mpi.irecv(list[1], 0):wait() end
end
mpi.barrier()
assert(list[1][1000] == 5)
list[0]:close()
list[0]:close()
assert(not pcall(list[0].at, list[0], 1))
-- those of a Comm, at the numbers that they have there
local half = mpi.split(rank % 2)
local parts = half:shared("int", 3)
parts[half:rank()]:fill(rank)
half:barrier()
assert(parts[0][3] == rank % 2 and parts[1][1] == rank % 2 + 2)
assert(parts[2] == nil)
if rank == 0 then print "fine" end]]), "fine\n")
end)

t.test("what ranks must agree on", function()
  t.eq(ranks.fine(2, [[
fails("the ranks differ", mpi.shared, "int", rank + 1)
fails("the ranks differ", mpi.shared, rank == 0 and "int" or "float", 5)
local rule = "n must be a whole number of elements >= 1; got "
fails(rule .. "0", mpi.shared, "int", 0)
fails(rule .. "2.5", mpi.shared, "int", 2.5)
fails("complex", mpi.shared, "complex", 5)
assert(mpi.shared("int", 1))
if rank == 0 then print "fine" end]]), "fine\n")
end)

t.test("nil where there is no memory to share", function()
  local code = [[
local n = math.tointeger(tonumber(%q))
assert(mpi.shared("double", n) == nil)
local fits = mpi.shared("double", 5)
assert(fits == nil or fits[rank][5] == 0)
-- a product goes by messages
local ranks = require "clshell.ranks"
local C = ranks.gemm(ranks.matrix(20, 30, 1), ranks.matrix(30, 20, 1)):gather()
assert(not C or C[400] == 30)
if rank == 0 then print "fine" end]]
  t.eq(ranks.fine(2, code:format(1 << 50)), "fine\n")
  -- Open MPI without its component for windows in shared memory
  t.eq(ranks.fine(2, "assert(mpi.shared('int', 5) == nil or not "
    .. "mpi.version():find 'Open MPI')\n" .. code:format(1 << 50), nil,
    "OMPI_MCA_osc=^sm"), "fine\n")
end)

scratch.done()

-- collectives.lua - all collective functions of module mpi in 1 to 4 ranks,
-- and what the ranks do not agree on
-- SPDX-License-Identifier: MIT
local ranks = require "ranks"
local scratch = require "scratch"
local t = require "t"

for n = 1, 4 do
  t.test(("%d ranks: all functions on all types"):format(n), function()
    ranks.need()
    local out, err, status = scratch.sh(ranks.command(n,
      ("%s/tests/mpi/every_collective.lua %d"):format(t.here, t.seed)))
    t.eq(status, 0, out .. err)
    t.eq(out, ("%d ranks agree\n"):format(n))
  end)
end

t.test("ranks that do not agree all raise, and go on in step", function()
  local out = ranks.fine(2, [[
local F, I = cl.array("float", 3), cl.array("int", 3)
fails(rank == 0 and "rank 1 calls barrier" or "rank 0 calls bcast",
  rank == 0 and mpi.bcast or mpi.barrier, 1)
fails("3 x float", mpi.allreduce, rank == 0 and F or I)
fails("3 x int", mpi.bcast, rank == 0 and F or I)
fails("4 x float", mpi.allgather, rank == 0 and F or cl.array("float", 4))
fails("with root 1", mpi.bcast, 1, rank)
fails('"max"', mpi.allreduce, 1, rank == 0 and "sum" or "max")
fails("a number", mpi.allreduce, rank == 0 and F or 1)
fails("a string", mpi.bcast, rank == 0 and "text" or 1)
fails("pad them to 4", mpi.scatter, cl.array("int", {3, 2}))
fails("pad them to 4", mpi.alltoall, cl.array("int", 3))
assert(mpi.allreduce(rank) == 1, "in step")
if rank == 0 then print "fine" end]])
  t.eq(out, "fine\n")
end)

t.test("what no rank can do raises before any is asked", function()
  local out = ranks.fine(1, [[
local closed = cl.buffer("float", 3, 0)
closed:close()
fails("this Buffer is closed", mpi.bcast, closed)
fails("reduce h:convert \"float\"", mpi.allreduce, cl.array("half", 2))
fails("root must be a rank, 0 to 0; got 1", mpi.bcast, 1, 1)
fails("op: must be one of sum, min, max, prod; got 'mean'", mpi.allreduce, 1,
  "mean")
fails("got a string", mpi.allreduce, "text")
fails("got a string", mpi.gather, "text")
fails("must be an Array or a Buffer; got a number", mpi.scatter, 1)
fails("got table", mpi.bcast, {1, 2})
fails("got nil", mpi.bcast, nil)
fails("into: must hold 3 x float; got 3 x int", mpi.allreduce,
  cl.array("float", 3), "sum", {into = cl.array("int", 3)})
local h = cl.array("float", 3)
fails("into: must be other memory than x", mpi.allreduce, h, "sum",
  {into = h:reshape{3, 1}})
fails("unknown option 'inot'; did you mean 'into'", mpi.allgather, h,
  {inot = h})
fails("color must be a whole number >= 0 or nil; got -1", mpi.split, -1)
fails("must be a Comm; got number", mpi.world.bcast, 3)
assert(mpi.world:allreduce(2) == 2 and tostring(mpi.world)
  == "Comm: rank 0 of 1")
assert(mpi.device_aware() == false and #mpi.version() > 0)
assert(mpi.local_rank() == 0 and mpi.local_size() == 1)
assert(require "mpi" == mpi and require "clshell.parts.mpi" == mpi)
print "fine"]])
  t.eq(out, "fine\n")
end)

t.test("more elements than a piece holds", function()
  local out = ranks.fine(2, [[
local PIECE = 1 << 26
local n = PIECE + 3
local x = cl.array("uchar", n)
x[1], x[PIECE], x[PIECE + 1], x[n] = 1 + rank, 2 + rank, 3 + rank, 4 + rank
local s = mpi.reduce(x, "sum")
if s then
  assert(s[1] == 3 and s[PIECE] == 5 and s[PIECE + 1] == 7 and s[n] == 9)
  s:close()
  mpi.recv(x, 1)
  assert(x[1] == 2 and x[PIECE] == 3 and x[PIECE + 1] == 4 and x[n] == 5)
else
  mpi.send(x, 0)
end
mpi.bcast(x)
assert(x[2] == 0 and x[n] == 5)
if rank == 0 then print "fine" end]])
  t.eq(out, "fine\n")
end)

scratch.done()

-- shell/examples/mpi.lua - examples that help shows: module mpi. They run in
-- any number of ranks: mpirun -n 4 clshell script.lua.
-- SPDX-License-Identifier: MIT

--- mpi.rank
local mpi = require "mpi"
print(mpi.rank() < mpi.size()) --> true

--- mpi.size
local mpi = require "mpi"
print(mpi.allreduce(1) == mpi.size()) --> true

--- mpi.local_rank
local mpi = require "mpi"
print(mpi.local_rank() < mpi.local_size()) --> true

--- mpi.local_size
local mpi = require "mpi"
local hosts = mpi.allreduce(mpi.local_rank() == 0 and 1 or 0)
print(hosts >= 1 and mpi.local_size() <= mpi.size()) --> true

--- mpi.version
local mpi = require "mpi"
print(#mpi.version() > 0) --> true

--- mpi.device_aware
local mpi = require "mpi"
print(mpi.device_aware()) --> false

--- mpi.abort
local mpi = require "mpi"
local left = 1e-6 -- an error that all ranks know
if left ~= left then
  mpi.abort(3)
end

--- mpi.incomplete
local mpi = require "mpi"
local silent = false -- a rank has sent nothing for an hour, say
if silent then
  mpi.incomplete()
end

--- mpi.send
local mpi = require "mpi"
if mpi.rank() == 0 and mpi.size() > 1 then
  mpi.send(cl.array("float", 100):fill(1), 1)
elseif mpi.rank() == 1 then
  local x, from = mpi.recv(cl.array("float", 100), 0)
  print(x[100], from)
end

--- mpi.recv
local mpi = require "mpi"
local to = (mpi.rank() + 1) % mpi.size()
local sent = mpi.isend("hello", to) -- recv takes it: send might wait for that
print((mpi.recv "string")) --> hello
sent:wait()

--- mpi.sendrecv
local mpi = require "mpi"
local rank, size = mpi.rank(), mpi.size()
local x = cl.array("int", 4):fill(rank)
local y = mpi.sendrecv(x, (rank + 1) % size, cl.array("int", 4),
  (rank - 1) % size)
print(y[4] == (rank - 1) % size) --> true

--- mpi.probe
local mpi = require "mpi"
local sent = mpi.isend(cl.array("int", 25), mpi.rank(), 7)
local from, tag, bytes = mpi.probe()
print(tag, bytes) --> 7 100
mpi.recv(cl.array("int", bytes // 4), from, tag)
sent:wait()

--- mpi.isend
local mpi = require "mpi"
local sent = mpi.isend(3.5, mpi.rank())
print((mpi.recv(0))) --> 3.5
sent:wait()

--- mpi.irecv
local mpi = require "mpi"
local coming = mpi.irecv(cl.array("double", 8), mpi.rank())
mpi.send(cl.array("double", 8):fill(2), mpi.rank())
print(coming:wait()[8]) --> 2.0

--- mpi.wait_all
local mpi = require "mpi"
local coming = {mpi.irecv(0, mpi.rank(), 1), mpi.irecv(0, mpi.rank(), 2)}
mpi.send(20, mpi.rank(), 2)
mpi.send(10, mpi.rank(), 1)
local values = mpi.wait_all(coming)
print(values[1], values[2]) --> 10 20

--- Request:wait
local mpi = require "mpi"
local coming = mpi.irecv("string", mpi.rank())
mpi.send("through", mpi.rank())
print(coming:wait()) --> through

--- Request:test
local mpi = require "mpi"
local coming = mpi.irecv(0, mpi.rank())
print(coming:test()) --> false
mpi.send(1, mpi.rank())
print(coming:wait(), coming:test()) --> 1 true

--- mpi.barrier
local mpi = require "mpi"
mpi.barrier()

--- mpi.split
local mpi = require "mpi"
local half = mpi.split(mpi.rank() % 2) -- the even ranks, and the odd ones
print(half:allreduce(1) == half:size()) --> true

--- mpi.bcast
local mpi = require "mpi"
local x = cl.array("float", 3):fill(mpi.rank())
print(mpi.bcast(x)[1], mpi.bcast(mpi.rank() == 0 and "all" or nil)) --> 0.0 all

--- mpi.reduce
local mpi = require "mpi"
local y = mpi.reduce(cl.array("int", 3):fill(2))
print(mpi.rank() > 0 or y[1] == 2 * mpi.size()) --> true

--- mpi.allreduce
local mpi = require "mpi"
print(mpi.allreduce(mpi.rank(), "max") == mpi.size() - 1) --> true

--- mpi.gather
local mpi = require "mpi"
local y = mpi.gather(mpi.rank())
print(mpi.rank() > 0 or y[mpi.size()] == mpi.size() - 1) --> true

--- mpi.allgather
local mpi = require "mpi"
local y = mpi.allgather(cl.array("float", {2, 3}))
print(y.rows == 2 * mpi.size(), y.cols) --> true 3

--- mpi.scatter
local mpi = require "mpi"
local all = mpi.rank() == 0 and cl.array("int", {mpi.size(), 4}):fill(5) or nil
local mine = mpi.scatter(all)
print(mine.rows, mine[4]) --> 1 5

--- mpi.alltoall
local mpi = require "mpi"
local x = cl.array("int", mpi.size()):fill(mpi.rank())
print(mpi.alltoall(x)[mpi.size()] == mpi.size() - 1) --> true

--- mpi.shared
local mpi = require "mpi"
local list = mpi.shared("float", 100)
if list then
  list[mpi.rank()]:fill(mpi.rank())
  mpi.barrier()
  print(list[0][100]) --> 0.0
end

-- examples/event.lua - examples that help shows: events and their timers
-- SPDX-License-Identifier: MIT

--- Event:wait
local b = cl.buffer("float", 1000)
local event = b:fill(1, {async = true}):wait()
print(event.status) --> complete

--- Event:gflops
local n = 256
local A, B = matrix.random(n), matrix.random(n)
local C, event = gemm(A, B)
print(event:gflops(2 * n ^ 3)) -- GFLOPS

--- Event:gbs
local b = cl.buffer("float", 2 ^ 20)
local event = b:fill(0)
print(event:gbs(b.bytes)) -- GB/s

--- Event:info
local event = cl.buffer("float", 1000):fill(0)
local info = event:wait():info()
print(info.command, info.stop - info.start) -- nanoseconds

--- Event:close
local event <close> = cl.buffer("int", 1):fill(0)
event:close()

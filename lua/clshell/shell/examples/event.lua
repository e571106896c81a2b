-- shell/examples/event.lua - examples that help shows: events and their timers
-- SPDX-License-Identifier: MIT

--- Event:wait
local b = cl.buffer("float", 1000)
local event = b:fill(1, {async = true}):wait()
print(event.status) --> complete

--- cl.user_event
local b, go = cl.buffer("int", 4, 0), cl.user_event()
local event = b:fill(7, {async = true, after = go})
print(event.status) -- queued
go:complete()
event:wait()
print(b:read()[1]) --> 7

--- Event:complete
local go = cl.user_event()
print(go:complete().status) --> complete

--- Event:fail
local b, go = cl.buffer("int", 4, 0), cl.user_event()
local event = b:fill(7, {async = true, after = go})
go:fail()
print(pcall(event.wait, event)) -- false, and the error

--- Event:on_complete
local event = cl.buffer("int", 4):fill(7, {async = true})
event:on_complete(function(e, status) print(e.command, status) end)
event:wait() -- calls it

--- cl.poll
cl.buffer("int", 4):fill(7, {async = true}):on_complete(print)
print(cl.poll()) -- 1 if the fill has ended by now

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

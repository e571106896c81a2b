-- shell/examples/device.lua - examples that help shows: devices, contexts,
-- queues
-- SPDX-License-Identifier: MIT

--- cl.devices
for i, device in ipairs(cl.devices()) do
  print(i, device.type, device.name)
end

--- cl.platforms
for _, platform in ipairs(cl.platforms()) do
  print(platform.name, platform.version, platform.devices)
end

--- cl.use
cl.use(cl.device().index) -- or cl.use "gpu", cl.use "nvidia"
print(cl.device().name)

--- cl.device
local device = cl.device()
print(device.name, device.compute_units, device.local_mem_size // 1024)

--- Device:info
local info = cl.device():info()
print(info.max_work_group_size, info.max_clock_frequency)

--- cl.contexts
local fine, parts = pcall(cl.device().partition, cl.device(), {equally = 1})
local list = cl.contexts(fine and parts or {cl.device()})
local b = cl.buffer("int", 1000, 7, {context = list[1]})
print(b:read{queue = list[#list].queue}[1]) --> 7

--- Device:partition
local fine, parts = pcall(cl.device().partition, cl.device(), {equally = 1})
for i, part in ipairs(fine and parts or {}) do -- drivers for GPUs have none
  local b = cl.buffer("int", 1000, i, {context = cl.context(part)})
  print(part.compute_units, b:read()[1]) -- 1 and i
end

--- Device:has
if cl.device():has "cl_khr_fp64" then
  print "double works here"
end

--- Device:close
local device <close> = cl.devices()[1]
device:close()
print(device.closed) --> false

--- cl.context
local context = cl.context()
print(context.device.name, context.used)

--- Context:info
local info = cl.context():info()
print(info.used_bytes <= info.max_bytes) --> true

--- Context:trim
local x <close> = cl.buffer("float", 1000, 1);
(x + 1):eval():close()
print(cl.context().held) -- 4000; 0 on a simulator
cl.context():trim()
print(cl.context().held) --> 0

--- Context:close
local context <close> = cl.context() -- closed at the end of the block
print(context.closed) --> false

--- cl.queue
local q <close> = cl.queue{out_of_order = true}
print(q:info().profiling) --> true

--- Queue:marker
local q = cl.context().queue
local b = cl.buffer("float", 1000)
local first = b:fill(1, {async = true})
q:marker{after = {first}}:wait()
print(first.status) --> complete

--- Queue:barrier
local q <close> = cl.queue{out_of_order = true}
local b = cl.buffer("float", 1000)
b:fill(1, {queue = q, async = true})
q:barrier() -- what follows waits for the fill
b:fill(2, {queue = q, async = true, first = 1, count = 10})
q:finish()
print(b:read()[1], b:read()[11]) --> 2.0 1.0

--- Queue:flush
local q = cl.context().queue
cl.buffer("int", 10):fill(0, {async = true})
q:flush():finish()

--- Queue:finish
local b = cl.buffer("int", 10)
b:fill(7, {async = true})
cl.context().queue:finish()
print(b:read()[10]) --> 7

--- Queue:info
print(cl.context().queue:info().out_of_order) --> false

--- Queue:close
local q <close> = cl.queue()
q:close()
print(q.closed) --> true

--- cl.now
local before = cl.now()
local sum = 0
for i = 1, 1000 do sum = sum + i end
print(sum, cl.now() >= before) --> 500500 true

--- cl.isatty
print(cl.isatty(1) and "a terminal" or "a pipe or a file")

--- system.winsize
local system = require "clshell.system"
local columns, rows = system.winsize(1)
print(columns or "no terminal", rows)

--- cl.onchoice
cl.onchoice(function(device, rule)
  print(device.name, rule == "first" and "by itself" or rule)
end)

--- system.cores
local system = require "clshell.system"
print(system.cores() >= 1) --> true

--- system.drivers
local system = require "clshell.system"
print(system.drivers() == 0 and "no driver is installed" or "there may be one")

--- system.file
local system = require "clshell.system"
local file <close> = io.tmpfile()
print(select(2, system.file(file))) --> reading and writing

--- system.cwd
local system = require "clshell.system"
print(system.cwd() ~= nil) --> true

--- system.chdir
local system = require "clshell.system"
print(system.chdir ".") --> true

--- cl.members
local methods, fields = cl.members(cl.array("int", 3))
print(#methods > 5, #fields > 2) --> true true

--- system.folder
local system = require "clshell.system"
local names, partial = system.folder(cl.home .. "/kernels", "ge")
print(names[1], partial) --> gemm/ false

--- system.kind
local system = require "clshell.system"
print(system.kind(cl.home), system.kind "/dev/null") --> folder device

--- system.private
local system = require "clshell.system"
local path = os.tmpname()
print(system.private(path)) --> true
os.remove(path)

--- system.same
local system = require "clshell.system"
print(system.same(cl.home, cl.home .. "/lua/.."), system.same(cl.home, "/"))
  --> true false

--- system.temporary
local system = require "clshell.system"
local path = system.temporary ".lua"
print(path:match "%.%w+$") --> .lua
os.remove(path)

--- cl.live
local b <close> = cl.buffer("int", 3)
print(cl.live().Buffer >= 1) --> true

--- cl.extend
cl.extend("Array", {total = function(a)
  local sum = 0
  for i = 1, #a do sum = sum + a[i] end
  return sum
end})
print(cl.array("int", {2, 2}, 3):total()) --> 12

--- cl.options
local ok, err = pcall(cl.options, {tyle = 16}, {"tile", "pad"}, "mine")
print(err) -- unknown option 'tyle'; did you mean 'tile'?

--- cl.nearest
print(cl.nearest("tlie", {"pad", "tile"})) --> tile

--- cl.option_names
print(table.concat(cl.option_names "cl.queue", " "))

--- cl.error
local ok, err = pcall(cl.error, "no such rung", {hint = "gemm.kernels()"})
print(ok, err.hint) --> false gemm.kernels()

--- cl.undisturbed
local function keep(list) -- runs to its end even just after Ctrl-C
  return #list
end
print(cl.undisturbed(keep, {1, 2, 3})) --> 3

--- cl.typesize
print(cl.typesize "float4", cl.typesize "double") --> 16 8

#!/usr/bin/env clshell
-- bench_launch.lua - what a launch costs the host: a kernel with three
-- arguments, enqueued from Lua and, where the C program build/tests/
-- launch_cost was built (make test builds it), by the bare OpenCL calls.
-- SPDX-License-Identifier: MIT

local bench = require "clshell.bench"
local script = require "clshell.script"

local parser = script.parser("bench_launch.lua",
  "Microseconds per launch: setting three arguments and enqueueing.",
  "Rounds from Lua and from C take turns, so that both see the same machine.")
parser:option("-n --launches", "per round", "2000"):convert(script.size)
parser:option("-r --rounds", "rounds", "9"):convert(script.size)
local args = script.parse(parser)

local device = cl.device()
local kernel = cl.kernel [[
  kernel void touch(float a, global float *x, global float *y) {
    if (a < 0) y[0] = x[0];
  }]]
local x, y = cl.buffer("float", 1024), cl.buffer("float", 1024)
local launch, queue = kernel:range(1, 1), cl.context().queue

local function from_lua()
  queue:finish()
  local begin = cl.now()
  for _ = 1, args.launches do
    launch(1, x, y)
  end
  local spent = cl.now() - begin
  queue:finish()
  return spent / args.launches * 1e6
end

-- One round of the C program; nil where it is not there or fails.
local program = cl.home .. "/build/tests/launch_cost"
local function from_c()
  local pipe <close> = io.popen(("%s 1 %d %s 2>/dev/null"):format(program,
    args.launches, device.type))
  return pipe and tonumber(pipe:read("a"))
end

from_lua()
local lua, c = {}, {}
for i = 1, args.rounds do
  c[i] = from_c()
  lua[i] = from_lua()
end
script.heading "Launches with three arguments"
print(("  from Lua   %7.3f us (median of %d rounds of %d)"):format(
  bench.median(lua), #lua, args.launches))
if #c == args.rounds then
  print(("  from C     %7.3f us"):format(bench.median(c)))
  print(("  difference %7.3f us"):format(bench.median(lua) - bench.median(c)))
else
  print("  from C     not measured: no " .. program)
end

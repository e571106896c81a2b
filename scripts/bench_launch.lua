#!/usr/bin/env clshell
-- bench_launch.lua - what a launch costs the host: a kernel with three
-- arguments, enqueued from Lua and, where the C program build/tests/
-- launch_cost was built (make test builds it), by the bare OpenCL calls.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_launch.lua",
  "The time of a launch: setting three arguments and enqueueing.",
  "Rounds from Lua and from C take turns, so that both see the same machine.")
parser:option("-n --launches", "per round", "2000"):convert(script.size)
parser:option("-r --rounds", "rounds", "9"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local out <close> = output.open(parser, args)

local device = cl.device()
local kernel = cl.kernel [[
  kernel void touch(float a, global float *x, global float *y) {
    if (a < 0) y[0] = x[0];
  }]]
local x, y = cl.buffer("float", 1024), cl.buffer("float", 1024)
local launch, queue = kernel:range(1, 1), cl.context().queue

-- Seconds of a launch in a round.
local function from_lua()
  queue:finish()
  local begin = cl.now()
  for _ = 1, args.launches do
    launch(1, x, y)
  end
  local spent = cl.now() - begin
  queue:finish()
  return spent / args.launches
end

-- The same of the C program; nil where it is not there or fails.
local program = cl.home .. "/build/tests/launch_cost"
local function from_c()
  local pipe <close> = io.popen(("%s 1 %d %s 2>/dev/null"):format(program,
    args.launches, device.type))
  local us = pipe and tonumber(pipe:read("a"))
  return us and us * 1e-6
end

out:heading "Launches with three arguments"
local part <close> = out:part{steps = args.rounds, columns = {
  {key = "name", title = "launch"}, "time", "spread", "n", "note"}}
from_lua()
local lua, c, more = {}, {}, {}
for i = 1, args.rounds do
  part:step(("round %d"):format(i))
  c[i], lua[i] = from_c(), from_lua()
  more[i] = c[i] and lua[i] - c[i]
end
part:add(bench.of("from Lua", lua))
if #c == args.rounds then
  part:add(bench.of("from C", c))
  part.rows[1].note = ("%.3f us more than from C"):format(
    bench.median(more) * 1e6)
else
  part.rows[1].note = "from C: not measured, there is no " .. program
end

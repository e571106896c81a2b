#!/usr/bin/env clshell
-- bench_array.lua - arithmetic on Buffers: a chain of five operations as one
-- kernel, beside the device's copy, a kernel by hand, one kernel for each
-- step, and pyopencl.array where python3 (or $PYTHON) has it; sums beside the
-- device's reading; what new memory for each result costs; and the time that
-- an expression takes on the host, beside a launch.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local peers = require "lib.races"
local script = require "clshell.script"
local stats = require "clshell.stats"

local ROUNDS, LAUNCHES = 9, 20

local parser = script.parser("bench_array.lua",
  "z = |sqrt(2 x + y) - x| on n floats: fused, by hand, by steps.")
parser:argument("n", "elements; 2^22 on a CPU, 2^26 on a GPU if left out")
  :args("?"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local device = cl.device()
local n = args.n or 1 << (device.type == "cpu" and 22 or 26)
script.fits(parser, ("four Buffers of %d floats"):format(n), 16.0 * n)
local out <close> = output.open(parser, args)

local x, y = cl.buffer("float", n, 0.5), cl.buffer("float", n, 0.25)
local z, w = cl.buffer("float", n), cl.buffer("float", n)
local hand = cl.kernel([[kernel void chain(global const float *x,
    global const float *y, global float *z, float a) {
  size_t i = get_global_id(0);
  z[i] = fabs(sqrt(a * x[i] + y[i]) - x[i]);
}]]):range(n)

local function fused()
  return z:set(((2 * x + y):sqrt() - x):abs())
end

local function steps()
  return {z:set(2 * x), z:set(z + y), z:set(z:sqrt()), z:set(z - x),
    z:set(z:abs())}
end

fused()
hand(x, y, w, 2)
if (z - w):abs():read():summary().max > 1e-6 then
  cl.error "the expression and the kernel by hand differ"
end

out:heading(("z = |sqrt(2 x + y) - x|, %d floats"):format(n))
do
  local copy = bench(function() return x:copy(z, {async = true}) end,
    {name = "copy", bytes = 8 * n})
  local part <close> = out:part{steps = 4, by = "gbs",
    base = "step by step",
    peak = copy.gbs and copy.gbs * 1e9,
    columns = {"name", "ms", "gbs", {key = "percent", title = "% copy",
      format = "%.1f"}, "speedup"}}
  part:add(copy)
  part:add(bench(steps, {name = "step by step", bytes = 12 * n}))
  part:add(bench(fused, {name = "expression", bytes = 12 * n}))
  part:add(bench(function() return hand(x, y, z, 2) end,
    {name = "kernel by hand", bytes = 12 * n}))
end

do -- numbers that the host has, so that its clock tells
  out:say "\nReductions, beside the bandwidth of reading:"
  local part <close> = out:part{by = "gbs", peak = peaks().read,
    columns = {"name", "ms", "gbs", {key = "percent", title = "% read",
      format = "%.1f"}}}
  part:add(bench(function() x:sum() end, {name = "x:sum()", bytes = 4 * n}))
  part:add(bench(function() x:dot(y) end, {name = "x:dot(y)", bytes = 8 * n}))
  part:add(bench(function() (x - y):abs():max() end,
    {name = "(x - y):abs():max()", bytes = 8 * n}))
end

-- The median time of a call, in microseconds, without the device's work.
local function host_us(f)
  local times = {}
  for i = 1, 500 do
    local begin = cl.now()
    local event = f()
    times[i] = (cl.now() - begin) * 1e6
    event:wait()
  end
  return stats.median(times)
end

local small = cl.buffer("float", 64, 1)
local launch = cl.kernel([[kernel void f(global float *x, float a) {
  x[get_global_id(0)] *= a; }]]):range(64)
local more = {}
for i = 1, ROUNDS do
  more[i] = host_us(function() return small:set(2 * small + small) end)
    - host_us(function() return launch(small, 1) end)
end
out:say(("\nOn the host an expression seen before takes %.3g us more than a "
  .. "launch."):format(stats.median(more)))

do -- the host's clock: allocating and freeing are in it
  local context = cl.context()
  local function result(again)
    local sum <close>, event = (x + y):eval()
    event:wait()
    sum:close()
    return again and context:trim()
  end
  out:say "\nz = x + y, on the host's clock:"
  local part <close> = out:part{by = "gbs", base = "first",
    columns = {"name", "ms", "gbs", "speedup"}}
  part:add(bench(function() result(true) end,
    {name = "new Buffer, new memory",
    bytes = 12 * n}))
  part:add(bench(function() result() end, {name = "new Buffer, held memory",
    bytes = 12 * n}))
  part:add(bench(function() z:set(x + y):wait() end,
    {name = "z:set(x + y)",
    bytes = 12 * n}))
end

-- Seconds of a chain, as the host sees them.
local function seconds()
  local begin, event = cl.now(), nil
  for _ = 1, LAUNCHES do
    event = fused()
  end
  event:wait()
  return (cl.now() - begin) / LAUNCHES
end

local program <close>, reason = peers.program(cl.home
  .. "/tests/peers/pyopencl_peer.py", os.getenv "PYTHON" or "python3")
local ready = program
if program then
  ready, reason = program:ask(("chain %d %s"):format(n, device.name))
end
if not ready then
  out:say("pyopencl.array: " .. reason)
else
  local ratios = {}
  for i = 1, ROUNDS do
    ratios[i] = tonumber(program:ask("run " .. LAUNCHES)) / LAUNCHES
      / seconds()
  end
  out:say(("pyopencl.array takes %.3g times as long."):format(
    stats.median(ratios)))
end

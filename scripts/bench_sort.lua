#!/usr/bin/env clshell
-- bench_sort.lua - the ladder of sorts, in keys per second, beside the copy
-- bandwidth; and methods made of sorts, and random numbers, beside a copy.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_sort.lua",
  "n keys in order, by every rung of the ladder; histograms, random numbers.")
parser:argument("n", "keys; 2^20 on a CPU, 2^26 on a GPU if left out")
  :args("?"):convert(script.size)
parser:option("-t --type", "type of the keys", "uint")
  :choices{"uint", "int", "float", "ulong", "long", "double", "uchar"}
output.options(parser)
local args = script.parse(parser)
local device = cl.device()
local n = args.n or 1 << (device.type == "cpu" and 20 or 26)
local size = cl.typesize(args.type)
script.fits(parser, ("four Buffers of %d keys"):format(n), 4.0 * n * size)
if args.type == "double" and not device:has "cl_khr_fp64" then
  parser:error(device.name .. " has no double (cl_khr_fp64)")
end
local out <close> = output.open(parser, args)
local real = args.type == "float" or args.type == "double"

-- Random keys with all their bits but, of 64, the first two.
local low, high = 0, real and 1 or (1 << math.min(8 * size, 62)) - 1
if args.type == "int" then
  low, high = -(1 << 31), (1 << 31) - 1
end
local x = cl.random(n, {type = args.type, lo = low, hi = high})
local y = cl.buffer(args.type, n)
local columns = {"name", "ms",
  {key = "gkeys", title = "Gkeys/s", format = "%.4g"}, "gbs",
  {key = "percent", title = "% copy", format = "%.1f"}, "speedup", "note"}

-- Adds a result with its keys per second.
local function add(part, r)
  r.gkeys = r.median and n / r.median / 1e9
  return part:add(r)
end

local copy = bench(function() return x:copy(y, {async = true}) end,
  {name = "copy", bytes = 2 * n * size}).gbs
out:heading(("%d keys of %s; a copy of them %.4g GB/s"):format(n, args.type,
  copy))
do
  local list = sort.kernels()
  local part <close> = out:part{steps = #list + 2, by = "gbs",
    peak = copy * 1e9, columns = columns, base = "first",
    title = "\nsort: the bytes of x and of y count"}
  for _, k in ipairs(list) do
    part:step(k.name)
    add(part, sort.bench(k.name, nil, {x = x}))
  end
  for _, o in ipairs{{}, {index = cl.buffer("uint", n)}} do
    o.x = x
    local chosen = sort.choice(o)
    part:step(chosen.rung)
    local r = sort.bench(chosen.rung, chosen.params, o)
    r.name = o.index and "with places" or "as called"
    add(part, r)
  end
end

do
  local part <close> = out:part{steps = 4, by = "gbs", peak = copy * 1e9,
    columns = columns,
    title = "\nRandom numbers, histogram"}
  local z = cl.buffer("float", n)
  for _, generator in ipairs{"philox", "threefry"} do
    part:step(generator)
    local opts = {generator = generator}
    add(part, bench(function() return z:random(1, 0, 1, opts) end,
      {name = generator, bytes = 4 * n}))
  end
  part:step "normal"
  add(part, bench(function() return z:normal(1) end,
    {name = "normal", bytes = 4 * n}))
  z:random(1)
  part:step "histogram"
  local bins = {from = 0, to = 1, bins = 256}
  add(part, bench(function()
    return select(2, z:histogram(bins))
  end, {name = "histogram, 256 bins", bytes = 4 * n}))
end

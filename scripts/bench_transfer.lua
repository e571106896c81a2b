#!/usr/bin/env clshell
-- bench_transfer.lua - the way to the device and back: the cost that can
-- swallow a speed-up. Copies from ordinary memory, into memory that the
-- driver allocated for it (host = true), mapping in place of a copy, and the
-- way to the next device of the kind.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local report = require "clshell.report"
local script = require "clshell.script"

local parser = script.parser("bench_transfer.lua",
  "Bandwidth of transfers between host and device, by the host's clock.")
parser:argument("MiB", "sizes; 1, 16 and 64 if left out"):args("*")
  :convert(script.size)
output.options(parser)
local args = script.parse(parser)
for _, mib in ipairs(args.MiB) do
  script.fits(parser, ("two buffers of %d MiB"):format(mib), 2.0 * mib * 2^20)
end
local out <close> = output.open(parser, args)
local sizes = #args.MiB > 0 and args.MiB or {1, 16, 64}

local device = cl.device()

local function number(x)
  return report.number(x)
end

-- Another device of the kind, or nil.
local function next_device()
  for _, other in ipairs(cl.devices()) do
    if other ~= device and other.type == device.type
        and other.platform == device.platform then
      return other
    end
  end
end

local neighbour = next_device()

-- Rows of one size; bytes per second up and down by the host's clock.
local function measure(part, mib)
  local n, bytes = mib << 18, mib << 20
  local host <close> = cl.array("float", n):random(1)
  local back <close> = cl.array("float", n)
  local plain <close> = cl.buffer("float", n, 0)
  local pinned <close> = cl.buffer("float", n, 0, {host = true})
  local function row(name, f, note)
    part:step(name)
    local r = bench(f, {name = name, bytes = bytes, roof = false,
      effort = "quick"})
    r.title = mib .. " MiB"
    local rate = r.ok and r.wall and bytes / r.wall
    r.rate = rate and rate / 1e9
    if rate and note then -- before the row counts for the best
      r.rate, r.gbs = nil, nil
      r.note = r.note and r.note .. "; " .. note or note
    end
    part:add(r)
    return rate
  end
  local up = row("write", function() return plain:write(host) end)
  local down = row("read", function() plain:read(back) end)
  row("write, pinned = false", function()
    return plain:write(host, {pinned = false})
  end)
  row("read, pinned = false", function()
    return select(2, plain:read(back, {pinned = false}))
  end)
  row("read, a new Array", function()
    plain:read():close()
  end)
  if neighbour then
    local there <close> = cl.buffer("float", n, 0,
      {context = cl.context(neighbour)})
    plain:copy(there) -- finds the way
    row("copy to the next device", function() return plain:copy(there) end)
    for _, way in ipairs{"piece", "pieces"} do
      row(("copy, way = %q"):format(way), function()
        return plain:copy(there, {way = way})
      end)
    end
    assert(there:read():equal(host), "the copy differs from its source")
  end
  row("write, host = true", function() return pinned:write(host) end)
  row("read, host = true", function()
    return select(2, pinned:read(back))
  end)
  row("map, unmap", function()
    return pinned:unmap(pinned:map("read"))
  end, device.host_unified_memory and "nothing is copied" or nil)
  if up and down then
    assert(back:equal(host), "the data came back changed")
  end
  return up, down
end

out:heading "Transfers"
local up, down
do
  local part <close> = out:part{steps = (neighbour and 11 or 8) * #sizes,
    by = "gbs", columns = {
    {key = "name", title = "transfer"},
    {key = "title", title = "size", align = "right"},
    {key = "wall_ms", title = "ms", format = number},
    {key = "ms", title = "event ms", format = number},
    {key = "rate", title = "GB/s", format = number}, "note"}}
  for _, mib in ipairs(sizes) do
    up, down = measure(part, mib)
  end
end

-- 2 n^3 / rate seconds for a product, 8 n^2 / up + 4 n^2 / down to move it.
local n = device.type == "cpu" and 512 or 4096
local A, B = matrix.random(n), matrix.random(n, n, {seed = 2})
local r = gemm.bench(gemm.plan(A, B).rung.name, nil, {A = A, B = B})
if r.gflops and up and down then
  out:say(([[

A float product of N = %d takes %.4g ms (%s, %.4g GFLOPS),
sending A and B and fetching C %.4g ms. From N = %d on the product
takes longer than its transfers; below that, keep the matrices
there.]]):format(n, r.ms, r.name, r.gflops, n^2 * (8 / up + 4 / down) * 1e3,
    math.ceil(r.gflops * 1e9 * (8 / up + 4 / down) / 2)))
end

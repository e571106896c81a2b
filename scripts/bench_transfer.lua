#!/usr/bin/env clshell
-- bench_transfer.lua - the way to the device and back: the cost that can
-- swallow a speed-up. Copies from ordinary memory, into memory that the
-- driver allocated for it (host = true), and mapping in place of a copy.
-- SPDX-License-Identifier: MIT

local bench = require "clshell.bench"
local report = require "clshell.report"
local script = require "clshell.script"

local parser = script.parser("bench_transfer.lua",
  "Bandwidth of transfers between host and device, by the host's clock.")
parser:argument("MiB", "sizes; 1, 16 and 64 if left out"):args("*")
  :convert(script.size)
local args = script.parse(parser)
local sizes = #args.MiB > 0 and args.MiB or {1, 16, 64}

local function number(x)
  return report.number(x)
end

-- Seconds by the host's clock, and the event's share; median of many.
local function time(f)
  local walls, events, begin = {}, {}, cl.now()
  f()
  repeat
    local t = cl.now()
    local event = f()
    walls[#walls + 1] = cl.now() - t
    events[#events + 1] = event.ms
  until #walls >= 5 and cl.now() - begin > 0.3
  return bench.median(walls), bench.median(events) / 1e3
end

local rows = {}
local function row(name, mib, f)
  local wall, event = time(f)
  rows[#rows + 1] = {name = name, mib = mib, wall = wall * 1e3,
    event = event * 1e3, gbs = mib * 2^20 / wall / 1e9}
  return wall
end

local device = cl.device()

local function measure(mib)
  local n = mib << 18
  local host <close> = cl.array("float", n):random(1)
  local back <close> = cl.array("float", n)
  local plain <close> = cl.buffer("float", n, 0)
  local pinned <close> = cl.buffer("float", n, 0, {host = true})
  local to = row("write", mib, function() return plain:write(host) end)
  local from = row("read", mib, function()
    return select(2, plain:read(back))
  end)
  row("write, host = true", mib, function() return pinned:write(host) end)
  row("read, host = true", mib, function()
    return select(2, pinned:read(back))
  end)
  row("map, unmap", mib, function()
    return pinned:unmap(pinned:map("read"))
  end)
  if device.host_unified_memory then
    rows[#rows].gbs, rows[#rows].note = nil, "nothing is copied"
  end
  assert(back:equal(host), "what came back is not what went")
  return mib * 2^20 / to, mib * 2^20 / from
end

script.heading "Transfers"
local up, down
for _, mib in ipairs(sizes) do
  up, down = measure(mib)
end
report(rows, {
  {key = "name", title = "transfer"}, {key = "mib", title = "MiB",
    align = "right"}, {key = "wall", title = "ms", format = number},
  {key = "event", title = "event ms", format = number},
  {key = "gbs", title = "GB/s", format = number}, "note",
})

-- 2 n^3 / rate seconds for a product, 8 n^2 / up + 4 n^2 / down to move it.
local n = device.type == "cpu" and 512 or 4096
local A, B = matrix.random(n), matrix.random(n, n, {seed = 2})
local r = gemm.bench(gemm.plan(A, B).rung.name, nil, {A = A, B = B})
if r.gflops then
  print(([[

A float product of N = %d takes %.4g ms (%s, %.4g GFLOPS),
sending A and B and fetching C %.4g ms. From N = %d on the product
takes longer than its transfers; below that, keep the matrices
there.]]):format(n, r.ms, r.name, r.gflops, n^2 * (8 / up + 4 / down) * 1e3,
    math.ceil(r.gflops * 1e9 * (8 / up + 4 / down) / 2)))
end

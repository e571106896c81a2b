#!/usr/bin/env clshell
-- tasks.lua - everyday tasks by clshell, PyOpenCL and Kernel Tuner, side by
-- side: the experiments behind ?compared. Run it in this folder on a quiet
-- machine; PYTHON names a Python that has both (pip install pyopencl
-- kernel_tuner). It prints what each program says, and the times. Arguments
-- choose tasks: lines wrong typo crash local uneven same launch tune.
-- SPDX-License-Identifier: MIT

package.path = cl.home .. "/scripts/?.lua;" .. package.path
local peers = require "lib.races"
local stats = require "clshell.stats"
local text = require "clshell.base.text"

local python = os.getenv "PYTHON" or "python3"
local device = cl.device()
local n = 256

-- Whether a task is wanted; then its heading is printed.
local function wanted(name, words)
  local found = #arg == 0
  for _, word in ipairs(arg) do
    found = found or word == name
  end
  if found then
    print(("\n== %s%s"):format(name, words or ""))
  end
  return found
end

-- Runs a command; prints its exit code, its number of lines and the last ones.
local function show(who, command, most)
  local begin = cl.now()
  local p <close> = assert(io.popen(command .. " 2>&1; echo $?"))
  local lines = text.lines((p:read "a"):gsub("\n$", ""))
  local code = table.remove(lines)
  print(("-- %s: exit code %s, %d lines, %.1f s"):format(who, code, #lines,
    cl.now() - begin))
  for i = math.max(1, #lines - (most or 4) + 1), #lines do
    print("   " .. lines[i]:sub(1, 150))
  end
end

local function source()
  local f <close> = assert(io.open "mm.cl")
  return f:read "a"
end

-- What the tasks do to the kernel, and the lines of clshell's side.
local RUN = [[
local n, source = %d, %q
local A, B, C = matrix.random(n), matrix.random(n), matrix.zeros(n)
local launch = cl.kernel(source):range({n, n}, {%s})
%s]]
local BENCH = "print(bench(launch, {args = {n, A, B, C}, expect = gemm(A, B),"
  .. " effort = 'quick'}))"

local function task(name, change, size, action)
  if not wanted(name) then
    return
  end
  show("clshell", ("%s -e %s"):format(text.quote(arg[-1] or "clshell"),
    text.quote(RUN:format(n, change(source()), size or "16, 16",
    action or BENCH))), 7)
  for _, who in ipairs{"pyopencl", "tuner"} do
    show(who, ("%s tasks.py %s %s"):format(python, who, name))
  end
end

local function same(s)
  return s
end

if wanted("lines", " of a checked, timed GEMM") then
  os.execute "grep -cv '^ *$' gemm.lua gemm_*.py"
  for _, command in ipairs{(arg[-1] or "clshell") .. " gemm.lua",
      python .. " gemm_pyopencl.py", python .. " gemm_kernel_tuner.py"} do
    show(command, command)
  end
end

task("wrong", function(s)
  return (s:gsub("k < n", "k < n - 1"))
end)
task("typo", function(s)
  return (s:gsub("B%[", "b["))
end)
task("crash", function(s)
  return (s:gsub("C%[i %* n", "C[(long)i * n * 100000000"))
end, nil, "launch(n, A, B, C):wait()")
task("local", same, "64, 128", "launch(n, A, B, C):wait()")
task("uneven", same, "24, 24", "launch(n, A, B, C):wait()")

local A, B, C = matrix.random(n), matrix.random(n), matrix.zeros(n)

if wanted("same", ": a kernel beside itself") then
  local launch = cl.build("mm.cl").mm:range({n, n}, {16, 16})
  for _ = 1, 3 do
    print(compare(launch, launch, {args = {n, A, B, C}}))
  end
  show("tuner", python .. " tasks.py tuner same", 9)
end

-- The host's seconds of a launch with three arguments.
local function launches(peer)
  local touch = cl.kernel [[
    kernel void touch(float a, global float *x, global float *y) {
      if (a < 0) y[0] = x[0];
    }]]:range(1, 1)
  local x, y, queue = cl.buffer("float", 1024), cl.buffer("float", 1024),
    cl.context().queue
  local count, ours, theirs, ratios = 2000, {}, {}, {}
  for i = 1, 21 do
    queue:finish()
    local begin = cl.now()
    for _ = 1, count do
      touch(1, x, y)
    end
    ours[i] = (cl.now() - begin) / count
    queue:finish()
    theirs[i] = tonumber((peer:ask("run " .. count))) / count
    ratios[i] = theirs[i] / ours[i]
  end
  print(("clshell %.2f us, %s %.2f us, ratio %.2f (medians of 21)"):format(
    stats.median(ours) * 1e6, peer.version, stats.median(theirs) * 1e6,
    stats.median(ratios)))
end

if wanted("launch", ": the host's time, in turns") then
  local peer, reason = peers.program("../pyopencl_peer.py", python)
  if peer and peer:ask("launch " .. device.name) then
    launches(peer)
    peer:close()
  else
    print("not measured: " .. tostring(reason))
  end
end

if wanted("tune", ": 16 work-group sizes, in turns") then
  local right = gemm(A, B)
  for i = 1, 3 do
    local begin = cl.now()
    local best = tune{kernel = "mm.cl", name = "mm", args = {n, A, B, C},
      params = {x = {4, 8, 16, 32}, y = {1, 2, 4, 8}}, expect = right,
      range = function(p) return {n, n}, {p.x, p.y} end, fresh = true,
      strategy = "exhaustive", quiet = true}
    print(("clshell, run %d: %.1f s\n%s"):format(i, cl.now() - begin, best))
    show("tuner", python .. " tasks.py tuner tune", 3)
  end
end

-- tune.lua - searches that several processes of mpirun share
-- SPDX-License-Identifier: MIT
local ranks = require "ranks"
local scratch = require "scratch"
local t = require "t"

-- Devices for as many ranks, alike; skips the test where PoCL has not these.
local function devices(n)
  ranks.need()
  local words = ("export CLSHELL_DEVICE= POCL_DEVICES='%s'\n")
    :format(("basic "):rep(n))
  local out = scratch.sh(words .. "$clshell -p '#cl.devices(), "
    .. "cl.devices()[1].platform'")
  t.skip_if(not out:find(("^%d%%s+Portable"):format(n)),
    "PoCL is not the only platform")
  return words
end

local SOURCE = [==[
local source = [[kernel void twice(global const float *a, global float *b) {
  int i = get_global_id(0);
#if WAY == 3
  *(global int *)8 = i;
#elif WAY == 4
  no such statement
#endif
  b[i] = 2 * a[i] + (WAY == 5);
}]]
local a, b = cl.buffer("float", 256, 3), cl.buffer("float", 256, 100)
local best = tune{kernel = source, params = {way = {0, 1, 2, 3, 4, 5, 6, 7}},
  args = {a, b}, range = 256, check = cl.array("float", 256, 6),
  quiet = true, strategy = "exhaustive", ranks = true, limit = 30}
]==]

t.test("ranks share the points, one that ends a worker costs itself",
  function()
    local words = devices(2)
    local path = scratch.create("shared.lua", t.briefly
      .. "\nlocal mpi = require 'mpi'\n" .. SOURCE .. [[
local status = {}
for _, row in ipairs(best.rows) do
  status[row.point.way + 1] = row.status
end
assert(#status == 8 and status[4] == "failed" and status[5] == "build"
  and status[6] == "wrong", table.concat(status, " "))
for _, i in ipairs{1, 2, 3, 7, 8} do
  assert(status[i] == "ok" or status[i] == "slow", status[i])
end
assert(mpi.allreduce(best.ms) == 2 * best.ms, "each has the same result")
if mpi.rank() == 0 then
  print(#best.rows, tostring(best):match "1 rank measured %d+ config")
  print((#require("clshell.store").default():list()))
end]])
    local out, err, status = scratch.sh(words
      .. "export CLSHELL_STORE=$PWD/runs.db\n" .. ranks.command(2, path))
    t.eq(status, 0, out .. err)
    local rows, measured, runs = out:match
      "^(%d+)%s+1 rank measured (%d+) config\n(%d+)\n$"
    t.eq(tonumber(rows), 8, out)
    t.ok(tonumber(measured) >= 2, out)
    t.ok(tonumber(runs) >= 5, "all ranks' results are in the store: " .. out)
  end)

t.test("a rank on the device of another has no part", function()
  devices(1)
  local out = ranks.fine(2, t.briefly .. "\n" .. SOURCE .. [[
if rank == 0 then print(best) else assert(#best.rows == 8) end]], "-d 1")
  scratch.has((out:gsub("%s+", " ")), "0 ranks measured 0 configurations "
    .. "for rank 0; 1 rank with a device that another rank measures on had "
    .. "no part")
end)

t.test("mpirun clshell tune", function()
  local out, err, status = scratch.sh(devices(2)
    .. "export XDG_CONFIG_HOME=$PWD\n" .. ranks.command(2, t.brief
    .. " tune transpose --sizes 32 --evaluations 3 --no-keep"))
  t.eq(status, 0, err)
  t.eq(select(2, out:gsub("The fastest kernels", "")), 1, out)
  scratch.has(out, "3 of ", "as --no-keep asks")
end)

-- The same, where mpirun lets the other ranks go on.
local function surviving(n)
  local words = devices(n)
  t.skip_if(not t.capture "mpirun --version":find "Open MPI%) 4",
    "only Open MPI 4 is known to go on where a rank is killed")
  return words
end

t.test("a rank that is killed costs its point", function()
  local words = surviving(3)
  local path = scratch.create("killed.lua", t.briefly .. [[

local mpi = require "mpi"
local rank_search = require "clshell.tune.rank_search"
local run = rank_search.run
function rank_search.run(source, ...)
  if mpi.rank() == 1 then -- at its first point
    function source.measure()
      os.execute "kill -9 $PPID"
    end
  end
  return run(source, ...)
end
]] .. SOURCE .. [[
if mpi.rank() == 0 then
  local failed = 0
  for _, row in ipairs(best.rows) do
    failed = failed + (row.reason == "rank 1 ended" and 1 or 0)
  end
  print(#best.rows, failed, tostring(best):match "rank 1 ended")
else
  mpi.send(best.ms, 0) -- so that rank 2 has the result, too
end
if mpi.rank() == 0 then
  print(mpi.recv(0.0, 2) == best.ms)
end]])
  local out, err = scratch.sh(words .. ranks.command(3, path)
    :gsub("mpirun", "%0 --enable-recovery"))
  t.eq(out, "8\t1\trank 1 ended\ntrue\n", err)
end)

t.test("where rank 0 is killed the others end", function()
  local words = surviving(2)
  local path = scratch.create("killed.lua", t.briefly .. [[

if require "mpi".rank() == 0 then
  require "clshell.tune.search_loop".run = function()
    os.execute "kill -9 $PPID"
  end
end
]] .. SOURCE)
  local _, err = scratch.sh(words .. ranks.command(2, path)
    :gsub("mpirun", "%0 --enable-recovery"))
  scratch.has(err, "rank 0, which searches, has ended")
end)

scratch.done()

#!/usr/bin/env clshell
-- bench_scale.lua - the gain of more processes: products of dense matrices and
-- of matrices by diagonals over the ranks of mpirun, of one size (strong
-- scaling) and growing with the ranks (weak), and a model's times for further
-- ranks.
-- SPDX-License-Identifier: MIT

local grids = require "clshell.parts.ranks.grid"
local model = require "lib.scaling"
local plot = require "clshell.plot"
local quantity = require "clshell.quantity"
local ranks = require "clshell.ranks"
local script = require "clshell.script"

local parser = script.parser("bench_scale.lua",
  "Strong and weak scaling over the ranks of mpirun: mpirun -n 4 clshell "
  .. "bench_scale.lua.",
  "bench_split.lua is for several devices in one process. Efficiency is the "
  .. "rate of p ranks by p times the rate of one; communication is the time "
  .. "in which a device has no product to work at.")
parser:option("-n --gemm", "rows of the matrices; 512 on a CPU, 16384 on a "
  .. "GPU"):convert(script.size)
parser:option("-g --grid", "side of the grid whose Laplacian is the sparse "
  .. "matrix; 512 on a CPU, 8192 on a GPU"):convert(script.size)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:option("-p --up-to", "ranks to predict for", "4096")
  :convert(script.size)
parser:option("--plot", "writes the charts to FILE_gemm.svg, FILE_spmv.svg")
local args = script.parse(parser)
local mpi = require "mpi"

local device, here = cl.device(), mpi.size()
local cpu = device.type == "cpu"
local n, side = args.gemm or cpu and 512 or 16384,
  args.grid or cpu and 512 or 8192
local esize = cl.typesize(args.type)
local opts = {type = args.type, lo = -1, hi = 1}
-- Ranks of a host that share a device share its rate.
local devices = 0
for _, d in ipairs(cl.devices()) do
  devices = devices + (d.type == device.type and 1 or 0)
end

local function say(...)
  if mpi.rank() == 0 then
    print(string.format(...))
  end
end

-- C v against A (B v), for a vector of random numbers.
local function check_product(A, B, C)
  local v = ranks.random(C.cols, 1, opts)
  local left = ranks.gemm(C, v):gather()
  local right = ranks.gemm(A, (ranks.gemm(B, v))):gather()
  if left then
    local scale = left:nrm2() / math.sqrt(#left)
    local off = left:max_diff(right) / scale
    if off ~= off or off > (esize == 4 and 1e-3 or 1e-10) then
      cl.error(("the product is off by %g"):format(off))
    end
  end
end

-- One product of matrices with side x side elements: seconds, share.
local function gemm_case(rows)
  local A = ranks.random(rows, rows, opts)
  local B = ranks.random(rows, rows, {type = args.type, lo = -1, hi = 1,
    seed = 2})
  local C, best = ranks.gemm(A, B), nil
  check_product(A, B, C)
  for _ = 1, 3 do
    local _, run = ranks.gemm(A, B, {C = C})
    best = best and best.seconds < run.seconds and best or run
  end
  return {seconds = best.seconds, share = best.share, busy = best.busy,
    flop = 2.0 * rows^3}
end

-- Products with the Laplacian of a grid of nx x ny points.
local function spmv_case(nx, ny, world)
  local A = ranks.poisson2d(nx, ny, {type = args.type})
  local x, y = A:vector(1), A:vector()
  local queue = cl.context().queue
  local function run(times)
    local events = {}
    world:barrier()
    local begin = cl.now()
    for i = 1, times do
      events[i] = select(2, ranks.spmv(A, x, y))
    end
    queue:finish()
    local ms = 0
    for i = 1, times do
      ms = ms + (events[i] and events[i].ms or 0)
    end
    return world:allreduce(cl.now() - begin, "max") / times, ms / times
  end
  local first = run(3)
  local ones = ranks.vector(A.n, 1, {type = args.type})
  local right, got = 2 * (nx + ny), y:dot(ones)
  if math.abs(got - right) > 1e-3 * right then
    cl.error(("the product by diagonals is off: %g, not %g"):format(got,
      right))
  end
  local seconds, ms = run(math.max(5, math.min(200,
    math.ceil(0.3 / world:bcast(first)))))
  local busy = world:allreduce(ms / 1e3) / world:size()
  return {seconds = seconds, share = math.max(0, 1 - busy / seconds),
    flop = 2.0 * 5 * nx * ny}
end

-- The numbers of ranks: powers of 2, and all.
local counts, p = {}, 1
while p < here do
  counts[#counts + 1], p = p, 2 * p
end
counts[#counts + 1] = here

local function sharing(count)
  return math.ceil(math.min(count, mpi.local_size()) / devices)
end

local HEAD = "%6s %11s %11s %9s %10s %13s %11s"
local function row(r)
  say("%6d %11s %11s %9.2f %9.0f%% %12.0f%% %11s", r.ranks,
    r.ranks > here and "-" or quantity.format(r.seconds, "s"),
    quantity.number(r.gflops), r.gain, r.efficiency * 100, r.share * 100,
    quantity.format(r.predicted, "s"))
end

local results = {}

-- A table: run(count) for each number of ranks, and predict(count, base,
-- sharing) -> seconds, share, flop for these numbers and larger ones.
local function ladder(title, key, run, predict)
  say("\n" .. title)
  say(HEAD, "ranks", "time", "GFLOPS", "gain", "efficiency", "communication",
    "predicted")
  local base
  local function record(kind, r)
    r.kind, r.ok = kind, true
    table.insert(results, r)
    r.key = key
  end
  for _, count in ipairs(counts) do
    local r = ranks.among(count, run, count)
    r = mpi.bcast(r and mpi.rank() == 0 and ("%.17g %.17g %.17g %.17g"):format(
      r.seconds, r.share, r.busy or r.seconds, r.flop) or nil)
    local seconds, share, busy, flop = r:match "(%S+) (%S+) (%S+) (%S+)"
    r = {ranks = count, seconds = tonumber(seconds), share = tonumber(share),
      busy = tonumber(busy), flop = tonumber(flop)}
    base = base or r
    r.gflops = r.flop / r.seconds / 1e9
    r.gain = r.gflops / (base.flop / base.seconds / 1e9)
    r.efficiency = r.gain / count
    r.predicted = predict(count, base, sharing(count))
    row(r)
    record(title, r)
  end
  local last = results[#results]
  local count = 2 * here
  while here > 1 and count <= args.up_to do
    local seconds, share, flop = predict(count, base, 1)
    local r = {ranks = count, seconds = seconds, share = share, flop = flop,
      predicted = seconds, gflops = flop / seconds / 1e9}
    r.gain = r.gflops / (base.flop / base.seconds / 1e9)
    r.efficiency = r.gain / count
    row(r)
    record(title .. ", predicted", r)
    count = count < args.up_to and math.min(4 * count, args.up_to) or count + 1
  end
  local off = last.predicted / last.seconds - 1
  if here > 1 then
    say("%d ranks: %s predicted, %s measured, %+.0f %%%s", here,
      quantity.format(last.predicted, "s"), quantity.format(last.seconds,
      "s"), off * 100, math.abs(off) > 0.1
        and "; more ranks are predicted no better" or "")
  end
end

say("%d ranks, %d on this host, on %d x %s, %s", here, mpi.local_size(),
  devices, device.name, args.type)
local constants = model.measure(side, args.type)
if here > 1 then
  say("panels: %s each way at once, by %s",
    quantity.format(constants.exchange, "B/s", 3), constants.shares
      and "memory that the ranks of a host share" or "messages")
  say("halos: %s", quantity.format(constants.halo, "s", 3))
  say("messages: latency %s, %s; device: %s up, %s down, %s for a small one",
    quantity.format(constants.latency, "s", 3),
    quantity.format(constants.bandwidth, "B/s", 3),
    quantity.format(constants.up, "B/s", 3),
    quantity.format(constants.down, "B/s", 3),
    quantity.format(constants.touch, "s", 3))
end

local function predict_gemm(size)
  return function(count, base, shared)
    local rows = size(count)
    local function rate(...)
      return count == 1 and base.flop / base.busy
        or model.rate(args.type, ...) * sharing(here) / shared
    end
    local seconds, share = model.gemm(constants, {m = rows, n = rows, k = rows,
      esize = esize, rate = rate}, count)
    return seconds, share, 2.0 * rows^3
  end
end

local function predict_spmv(nx, ny)
  return function(count, base, shared)
    local seconds, share = model.spmv(constants, {rows = nx * ny(count),
      rate = side^2 / base.seconds / shared}, count)
    return seconds, share, 2.0 * 5 * nx * ny(count)
  end
end

local function fixed() return n end
local function growing(count)
  return math.floor(n * math.sqrt(count))
end
local function points(count) return side * count end
local function same() return side end

local function run_gemm(size)
  return function(count)
    return gemm_case(size(count))
  end
end

local function run_spmv(ny)
  return function(count)
    return spmv_case(side, ny(count), grids.world())
  end
end

ladder(("strong, C = A B, N = %d"):format(n), "gemm", run_gemm(fixed),
  predict_gemm(fixed))
ladder(("weak, C = A B, N = %d sqrt(ranks)"):format(n), "gemm",
  run_gemm(growing), predict_gemm(growing))
ladder(("strong, y = M x, grid of %d x %d"):format(side, side), "spmv",
  run_spmv(same), predict_spmv(side, same))
ladder(("weak, y = M x, grid of %d x %d times the ranks"):format(side, side),
  "spmv", run_spmv(points), predict_spmv(side, points))

if mpi.rank() == 0 and here > 1 then
  for _, key in ipairs{"gemm", "spmv"} do
    local list = {}
    for _, r in ipairs(results) do
      list[#list + 1] = r.key == key and r or nil
    end
    print("\n" .. tostring(plot.line(list, {x = "ranks", y = "efficiency",
      by = "kind", log_x = true, title = "efficiency of " .. key,
      file = args.plot and ("%s_%s.svg"):format(args.plot, key)})))
  end
end

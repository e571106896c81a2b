-- explain/claims_list.lua - the claims of five course texts on GPU kernels (A
-- to E) as data: the words, the gain that they claim, and the trial
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local gemm = require "clshell.gemm"
local peaks = require "clshell.measure.peaks"
local reading = require "clshell.explain.reading"
local record = require "clshell.measure.record"
local roofline = require "clshell.measure.roofline"
local trials = require "clshell.explain.trials"

-- The text of a kernel file, with its includes in place.
local function kernel_text(file)
  local f <close> = assert(io.open(cl.home .. "/kernels/gemm/" .. file))
  return (f:read("a"):gsub('#include "([^"\n]+)"', kernel_text))
end

local defined

-- Rungs for the claims: `naive` in the driver's own local size, and `tiled`
-- with its loop left rolled or unrolled by 4 turns.
local function define_rungs(list)
  if defined then
    return
  end
  defined = true
  gemm.define{name = "claim_driver_local", source = kernel_text("naive.cl"),
    range = function(s) return {s.n, s.m} end}
  local text = kernel_text("tiled.cl")
  for name, turns in pairs{claim_rolled = 1, claim_unrolled = 4} do
    local source, count = text:gsub("#pragma unroll\n", ("#pragma unroll %d\n")
      :format(turns))
    if count == 0 then
      list:cannot("the kernel unrolls no loop by a pragma")
    end
    gemm.define{name = name, source = source,
      params = {{name = "tile", values = {4, 8, 16, 32}, default = 16}},
      range = function(s, p)
        local function up(n) return (n + p.tile - 1) // p.tile * p.tile end
        return {up(s.n), up(s.m)}, {p.tile, p.tile}
      end}
  end
end

-- The shape of a square product.
local function square(n)
  return {m = n, n = n, k = n}
end

-- The largest tile that the device runs.
local function widest(list, rung)
  for _, tile in ipairs{32, 16, 8} do
    if gemm.check(rung, {tile = tile}, square(list.n)) then
      return tile
    end
  end
  list:cannot("no tile of 8 or more runs here")
end

local function naive_share(list)
  local r = gemm.bench("naive", nil, list:square("float"))
  local top = peaks.get("fma_float")
  local share = r.flop / r.median / top
  local limits = reading.read(r)
  return {holds = share <= 0.1 and limits.limit == "memory", b = r,
    factor = 1 / share, reason = list:limit(limits),
    detail = "peak over gemm.naive"}
end

local function odd(list, a, pa, b, pb)
  local shape = square(list.n + 1)
  return list:pair({"gemm." .. a, params = pa, shape = shape},
    {"gemm." .. b, params = pb, shape = shape})
end

local function events_not_host(list)
  local A = require("clshell.data.matrix").random(64, 64)
  local r = gemm.bench("tiled", {tile = 8}, {A = A, B = A},
    {samples = 20, busy = 0.01})
  if r.timer ~= "event" then
    list:cannot("the device's event timers are missing or not trusted")
  end
  local c = bench.calibration()
  local factor = c.floor_wall / c.floor
  return {holds = factor >= 1.5, factor = factor, b = r, detail = "host time "
    .. "over device time of an empty kernel", reason = ("launching takes "
    .. "%.3g us of the host, the kernel %.3g us"):format(c.floor_wall * 1e6,
    c.floor * 1e6)}
end

-- Double against float, with the rung of that name.
local function double(rung, lo, hi)
  return function(list)
    if not cl.device():has("cl_khr_fp64") then
      list:cannot("the device has no double (cl_khr_fp64)")
    end
    local name = rung or cl.device().type == "cpu" and "simd" or "register"
    local shape = square(list.n)
    local o = list:pair({"gemm." .. name, shape = shape, type = "double"},
      {"gemm." .. name, shape = shape})
    o.holds = o.factor >= lo and o.factor <= hi
    o.reason = ("claimed: x%.3g to x%.3g"):format(lo, hi)
    return o
  end
end

local SQUARE = {{bm = 32, bn = 32, rm = 4, rn = 4},
  {bm = 64, bn = 64, rm = 4, rn = 4}, {bm = 128, bn = 128, rm = 8, rn = 8}}
local OBLONG = {{bm = 128, bn = 64, rm = 8, rn = 4},
  {bm = 64, bn = 128, rm = 4, rn = 8}, {bm = 32, bn = 128, rm = 4, rn = 4},
  {bm = 32, bn = 64, rm = 2, rn = 8}}

local function fastest(list, configurations)
  local best, chosen
  for _, p in ipairs(configurations) do
    local r = gemm.bench("register", p, list:square("float"),
      {seconds = 0.2, busy = 0.02, warmup = 0.02, roof = false})
    if r.ok and (not best or r.median < best) then
      best, chosen = r.median, p
    end
  end
  if not chosen then
    list:cannot("no such block runs on the device")
  end
  return chosen
end

local function not_square(list)
  return list:gemm("register", fastest(list, SQUARE), "register",
    fastest(list, OBLONG))
end

-- The rung that a call takes, and its parameters.
local function chosen(list)
  local c = gemm.choice(list:square("float"))
  return c.rung, c.params
end

local function host_baseline(list)
  local o = list:square("float")
  local host = gemm.bench("plain_c", nil, o)
  local name, params = chosen(list)
  local r = gemm.bench(name, params, o)
  if not host.median or not r.median then
    list:cannot(host.note or r.note)
  end
  return {holds = host.ok and r.ok and r.median < host.median, b = r,
    factor = host.median / r.median, reason = "both agree with float64",
    detail = "gemm." .. name .. " against plain C on one core"}
end

local function transfers(list)
  local o = list:square("float")
  local name, params = chosen(list)
  local r = gemm.bench(name, params, o)
  local ha, hb <const> = o.A:read(), o.B:read()
  local moved = bench(function()
    return {o.A:write(ha), o.B:write(hb), (select(2, o.A:read(ha)))}
  end, {name = "A, B there and C back", effort = "quick", roof = false})
  local factor = moved.median / r.median
  return {holds = factor > 1, factor = factor, b = r,
    detail = ("transfers of A, B and C over gemm.%s, N = %d"):format(name,
      list.n), reason = factor <= 1 and "smaller matrices show it: transfers "
      .. "grow as N^2, the product as N^3" or nil}
end

local function tile_32(list)
  local fits, reason = gemm.check("tiled", {tile = 32}, square(list.n))
  return {holds = not fits, reason = reason or ("this device allows %d "
    .. "work-items in a work-group"):format(cl.device().max_work_group_size)}
end

-- The mistake behind C's figures, made on purpose: the host's clock stops
-- when the launch is enqueued, not when it has ended. The roofline has to
-- notice.
local function planted()
  local n = cl.device().type == "cpu" and 1024 or 4096
  local matrix = require "clshell.data.matrix"
  local plan = gemm.plan(matrix.random(n, n), matrix.random(n, n, {seed = 2}))
  plan():wait()
  local seconds = {}
  for i = 1, 7 do
    local begin = cl.now()
    local event = plan()
    seconds[i] = cl.now() - begin -- too early: nothing has waited
    event:wait()
  end
  local least = math.min(table.unpack(seconds))
  local r = record.new("asynchronous timer", cl.context(), {})
  r.median, r.ms, r.samples, r.n = least, least * 1e3, {least}, 1
  r.flop, r.bytes, r.type, r.mode = 2.0 * n^3, 12.0 * n^2, "float", "hot"
  record.rate(r)
  roofline.place(r)
  local caught = false
  for _, flag in ipairs(r.flags) do
    caught = caught or flag == "IMPOSSIBLE?"
  end
  return {holds = caught, b = r, factor = r.gflops * 1e9
    / peaks.get("fma_float"), reason = caught and r.note:match(
      "IMPOSSIBLE%?[^;]*") or "the roofline did not notice",
    detail = ("N = %d, a clock stopped at the enqueue shows %.4g GFLOPS; "
      .. "lesson: %s"):format(n, r.gflops, reading.read(r).text)}
end

local function constant(list)
  local side = math.floor((cl.device().max_constant_buffer_size / 4)^0.5)
  local shape = square(math.min(list.n, side // 8 * 8))
  return list:pair({"gemm.tiled", params = {tile = 8}, shape = shape},
    {"gemm.tiled_constant", params = {tile = 8}, shape = shape})
end

local function transpose(list)
  local shape = {rows = 4 * list.n, cols = 4 * list.n}
  return list:pair({"transpose.naive_read", shape = shape},
    {"transpose.tiled_padded", shape = shape}, {cache = "cold"})
end

-- Two rungs on the five-point matrix of a grid whose size is no multiple of
-- a cache line.
local function spmv(a, b)
  return function(list)
    local side = cl.device().type == "cpu" and 501 or 2001
    if not list.matrix then
      local dia = require "clshell.data.dia"
      local n = side * side
      local M = dia.banded(n, {-side, -1, 0, 1, side}, {seed = 1})
      local x = cl.array("float", n):random(2, 0.5, 1.5)
      list.matrix = {M = M, x = cl.buffer("float", n, x)}
    end
    local shape = {rows = side * side, cols = side * side, ndiags = 5}
    return list:pair({"spmv." .. a, shape = shape},
      {"spmv." .. b, shape = shape}, {operands = list.matrix,
        cache = "cold"})
  end
end

local function rungs(a, pa, b, pb)
  return function(list)
    define_rungs(list)
    return list:gemm(a, pa, b, pb)
  end
end

local function cannot(reason)
  return function(list)
    list:cannot(reason)
  end
end

-- The factor of an outcome in words.
local function factor(o)
  return o.lo and o.lo < o.hi and ("x%.2f (%.2f to %.2f)"):format(o.factor,
    o.lo, o.hi) or ("x%.2f"):format(o.factor)
end

-- Unrolling of the inner loop, whole and, where that does not pay, by 4.
local function unrolling(list)
  define_rungs(list)
  local p = {tile = 16}
  local whole = list:gemm("claim_rolled", p, "tiled", p)
  if whole.said == "FASTER" then
    return whole
  end
  local part = list:gemm("claim_rolled", p, "claim_unrolled", p)
  part.reason = ("all 16 turns unrolled: %s of the rolled loop, 4 turns: %s")
    :format(factor(whole), factor(part))
  return part
end

-- Tiles of a side against `naive` with these parameters; where they do not
-- pay, the whole unrolling of their loop is tried as the cause.
local function tiles(naive, tile)
  return function(list)
    define_rungs(list)
    local p = {tile = tile}
    local o = list:gemm("naive", naive, "tiled", p)
    o.why = function()
      local part = list:gemm("tiled", p, "claim_unrolled", p)
      local other = list:gemm("naive", naive, "claim_unrolled", p)
      return ("with 4 turns of the loop unrolled, not all %d: %s of these "
        .. "tiles, %s of the simple kernel"):format(tile, factor(part),
        factor(other))
    end
    return o
  end
end

local EIGHT = {lx = 8, ly = 8}

--- Each: id, says, gain (the factor claimed; true: any; 1: no gain; nil: the
--- trial decides), try(list) -> outcome, see claims.lua; otherwise, the reason
--- where the model knows none; needs: without which the trial shows nothing.
return {
  {id = "A1", says = "a naive product reaches about 1/20 of the arithmetic, "
    .. "as memory limits it", try = naive_share},
  {id = "A2", gain = true, says = "tiles of 8x8 in local memory are faster",
    try = tiles(EIGHT, 8)},
  {id = "A3", needs = "machine code",
    says = "in work-groups of one warp the compiler drops barriers",
    try = cannot("OpenCL gives no machine code of a GPU in which to see it, "
      .. "and a CPU has no warps")},
  {id = "A4", gain = 1, says = "sizes beside the tile: guarded loads or "
    .. "padded matrices, both right (x: guarded over padded)",
    try = function(list)
      return odd(list, "tiled", {edge = "guard"}, "tiled", {edge = "pad"})
    end},
  {id = "A5", gain = true, says = "reading in larger pieces is faster",
    try = rungs("tiled", {tile = 16}, "tiled_float4", {tile = 16})},
  {id = "A6", needs = "GPU", gain = 2,
    says = "local memory has banks: reads 32 cells "
    .. "apart meet in one and wait", try = trials.local_reads(32, 1),
    otherwise = "local memory is ordinary memory where there are no banks"},
  {id = "A7", needs = "GPU", gain = 1,
    says = "several reads of one local cell count once "
    .. "(x: a broadcast over neighbouring cells)",
    try = trials.local_reads(1, 0)},
  {id = "A8", needs = "simulator",
    says = "a barrier left out of a sum over a work-group is a "
    .. "race", try = trials.race},
  {id = "A9", says = "the first sum over a work-group, in neighbouring pairs, "
    .. "is right", try = trials.pairs},
  {id = "B1", says = "time the device by events: the host's clock counts the "
    .. "launch", try = events_not_host},
  {id = "B2", says = "double is 2 to 3 times slower on large GPUs and CPUs, "
    .. "up to 64 times on small ones", try = double(nil, 1.5, 64)},
  {id = "B3", needs = "GPU", gain = true,
    says = "local memory limits how many work-groups "
    .. "share a unit (occupancy)", try = trials.occupancy, otherwise = "a "
    .. "work-group cannot ask for all of a unit, or local memory is no limit"},
  {id = "B4", gain = true, says = "neighbouring work-items should touch "
    .. "neighbouring cells",
    try = rungs("naive", {map = "row"}, "naive", {map = "col"})},
  {id = "B5", needs = "GPU", gain = true,
    says = "one more column in the tile mends bank "
    .. "conflicts", try = function(list)
      local tile = widest(list, "tiled_padded")
      return list:gemm("tiled_padded", {tile = tile, pad = 0},
        "tiled_padded", {tile = tile, pad = 1})
    end},
  {id = "B6", needs = "GPU", gain = true,
    says = "so does permuting the elements in a row",
    try = function(list)
      local tile = widest(list, "tiled_swizzled")
      return list:gemm("tiled_padded", {tile = tile, pad = 0},
        "tiled_swizzled", {tile = tile})
    end},
  {id = "B7", gain = true, says = "several outputs per work-item pay",
    try = rungs("tiled", {tile = 16}, "register", {})},
  {id = "B8", gain = true, says = "the best tile is not square",
    try = not_square, otherwise = "a square fetches least for its outputs"},
  {id = "B9", gain = true, says = "unrolling the inner loop pays",
    try = unrolling},
  {id = "B10", gain = true, says = "4-wide loads pay (a transpose)",
    try = function(list)
      local shape = {rows = 4 * list.n, cols = 4 * list.n}
      return list:pair({"transpose.tiled_padded", shape = shape},
        {"transpose.float4", shape = shape}, {cache = "cold"})
    end},
  {id = "B11", says = "a product on the CPU is the baseline and the check",
    try = host_baseline},
  {id = "B12", says = "transfers can cost more than the computation",
    try = transfers},
  {id = "B13", needs = "simulator",
    says = "a branch that parts the lanes of a warp leaves half of "
    .. "them idle; one between warps none", try = trials.divergence},
  {id = "B14", gain = true, says = "work-items in flight hide latency: 16 "
    .. "times as many do as many loads in less time", try = trials.latency,
    otherwise = "a core of a CPU runs one work-item at a time"},
  {id = "B15", gain = true, says = "a work-group for each compute unit, not "
    .. "one for all", try = trials.units, otherwise = "the units share what "
    .. "limits the kernel, or others use them"},
  {id = "B16", needs = "simulator",
    says = "work-groups of no multiple of the warp leave lanes "
    .. "idle", try = trials.odd_groups},
  {id = "B17", needs = "simulator",
    says = "wider loads move as many bytes by fewer requests",
    try = trials.width},
  {id = "B18", needs = "simulator",
    says = "the order of the lanes within a segment is free",
    try = trials.order},
  {id = "B19", gain = true, says = "values beyond the registers spill to "
    .. "memory and cost", try = trials.spills, otherwise = "the nearest "
    .. "cache takes the spills"},
  {id = "B20", needs = "GPU", gain = true,
    says = "a kernel should read the device's memory, "
    .. "not the host's", try = trials.host_memory},
  {id = "C1", says = "double costs 1.3 to 5.2 times as much in a simple "
    .. "kernel", try = double("naive", 1.15, 5.5)},
  {id = "C2", gain = 36.345 / 23.590, says = "tiles of 8x8: x1.54 over the "
    .. "simple kernel", try = tiles({}, 8)},
  {id = "C3", gain = 36.345 / 13.234, says = "tiles of 16x16: x2.75 over the "
    .. "simple kernel", try = tiles({}, 16)},
  {id = "C4", says = "tiles of 32x32 are beyond the device", try = tile_32},
  {id = "C5", says = "83 TFLOPS on a small GPU: a clock stopped too early, "
    .. "which the roofline notices (planted here)", try = planted},
  {id = "D1", gain = 2 / 0.95, says = "a private sum, not global memory: "
    .. "x2.1", try = rungs("naive_global", {}, "naive", {})},
  {id = "D2", gain = 1, says = "B transposed: no gain",
    try = rungs("naive", {}, "transposed_b", {})},
  {id = "D3", gain = 0.95 / 0.25, says = "a local size of 8x8 in place of the "
    .. "driver's: x3.8", try = rungs("claim_driver_local", {}, "naive",
      EIGHT), otherwise = "the driver chooses as well"},
  {id = "D4", gain = 0.25 / 0.06, says = "local tiles of 8x8: x4.2 over that",
    try = tiles(EIGHT, 8)},
  {id = "D5", needs = "GPU", gain = true,
    says = "operands in constant memory: a little more",
    try = constant, otherwise = "these operands lie in a cache either way"},
  {id = "D6", gain = 1, says = "tile rows padded by one: no visible gain",
    try = rungs("tiled_padded", {tile = 8, pad = 0}, "tiled_padded",
      {tile = 8, pad = 1})},
  {id = "E1", gain = 10, says = "a transpose through local memory: x10 over "
    .. "the direct one", try = transpose},
  {id = "E2", gain = 1.1, says = "DIA SpMV with aligned rows: +10 %",
    try = spmv("naive", "pitch")},
  {id = "E3", gain = 1.5, says = "offsets copied to local memory: +50 %",
    try = spmv("pitch", "local_offsets")},
  {id = "E4", gain = 1.15, says = "vectors of 4: +15 % more",
    try = spmv("local_offsets", "float4")},
  {id = "E5", says = "the text's last versions are right as printed (their "
    .. "mistakes, made again)", try = trials.printed},
}

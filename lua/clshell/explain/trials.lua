-- explain/trials.lua - the trials of the claims in claims_list.lua, by their
-- names: experiments on rungs, on kernels of kernels/course, on the simulator.
-- A trial takes the list of claims (claims.lua) and gives an outcome.
-- SPDX-License-Identifier: MIT

local access = require "clshell.base.lazy".module "clshell.explain.access"
local bench = require "clshell.measure.bench"
local check = require "clshell.base.lazy".module "clshell.explain.check"
local cl = require "cl"
local dia = require "clshell.data.dia"
local gemm = require "clshell.ladders.gemm"
local jobs = require "clshell.base.lazy".module "clshell.explain.job"
local matrix = require "clshell.data.matrix"
local occupancy = require "clshell.base.lazy".module "clshell.occupancy"
local oclgrind = require "clshell.explain.oclgrind"
local peaks = require "clshell.measure.peaks"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local quantity = require "clshell.base.quantity"
local reading = require "clshell.explain.reading"
local record = require "clshell.measure.record"
local roofline = require "clshell.measure.roofline"
local text = require "clshell.base.text"
local trace = require "clshell.explain.trace"

local M = require "clshell.base.lazy".table(...)

-- Trials on rungs of ladders ------------------------------------------------

-- The text of a kernel file, with its includes in place.
local function kernel_text(file)
  local f <close> = assert(io.open(cl.home .. "/kernels/gemm/" .. file))
  return (f:read("a"):gsub('#include "([^"\n]+)"', kernel_text))
end

-- Defines a rung of gemm under a new name: a copy of `rung` with changes.
local function like(rung, name, changes)
  local copy = {name = name, source = changes.source}
  for _, field in ipairs{"params", "defines", "accepts", "trans",
      "local_bytes", "range", "prepare", "finish"} do
    copy[field] = changes[field] or rung[field]
  end
  gemm.define(copy)
end

-- Defines a rung with its text as courses print it: work-item dimension 0
-- walks the rows of C.
local function by_rows(name, source, new_name)
  local rung = gemm.rung(name)
  like(rung, new_name or name .. "_by_rows", {
    source = source:gsub("(get_%a+_id%()([01])%)", function(call, dim)
      return call .. (dim == "0" and "1)" or "0)")
    end),
    range = function(s, p)
      return rung.range(setmetatable({m = s.n, n = s.m}, {__index = s}), p)
    end})
end

-- The text of tiles with `turns` turns of their loop unrolled.
local function unrolled(list, turns)
  local source, count = kernel_text("tiled.cl"):gsub("#pragma unroll\n",
    ("#pragma unroll %d\n"):format(turns))
  if count == 0 then
    list:cannot("the kernel unrolls no loop by a pragma")
  end
  return source
end

local defined

-- Defines the rungs of the claims: kernels by rows, as texts print them;
-- `naive` in the driver's local size; `tiled` with its loop left rolled, and
-- unrolled by 4 turns.
local function define_rungs(list)
  if defined then
    return
  end
  defined = true
  for _, name in ipairs{"naive_global", "transposed_b", "tiled",
      "tiled_constant", "tiled_padded"} do
    by_rows(name, kernel_text(name .. ".cl"))
  end
  by_rows("tiled", unrolled(list, 4), "tiled_by_rows_unroll_4")
  for turns, name in pairs{[1] = "tiled_rolled", [4] = "tiled_unroll_4"} do
    like(gemm.rung "tiled", name, {source = unrolled(list, turns)})
  end
  like(gemm.rung "naive", "naive_driver_local", {
    source = kernel_text("naive.cl"), range = function(s, p)
      return (gemm.rung "naive".range(s, p))
    end})
end

-- The shape of a square product.
local function square(n)
  return {m = n, n = n, k = n}
end

-- Sizes beside the tile: padded matrices against guarded loads.
function M.edges(list)
  local shape = square(list.n + 1)
  return list:pair({"gemm.tiled", params = {edge = "guard"}, shape = shape},
    {"gemm.tiled", params = {edge = "pad"}, shape = shape})
end

-- Padded tiles without a pad against another rung, which mends bank conflicts,
-- with the largest tile that the device runs.
function M.mended(list, rung, pad)
  for _, tile in ipairs{32, 16, 8} do
    if gemm.check(rung, {tile = tile}, square(list.n)) then
      return list:gemm("tiled_padded", {tile = tile, pad = 0}, rung,
        {tile = tile, pad = pad})
    end
  end
  list:cannot("no tile of 8 or more runs here")
end

local BY_ROWS = {map = "row"} -- the simple kernel as texts print it

function M.naive_share(list)
  local r = gemm.bench("naive", BY_ROWS, list:square("float"))
  local top = peaks.get("fma_float")
  local share = r.flop / r.median / top
  local limits = reading.read(r)
  return {holds = share <= 0.1 and limits.limit == "memory", b = r,
    factor = 1 / share, reason = list:limit(limits),
    detail = ("peak over gemm.naive map=row, N = %d"):format(list.n)}
end

function M.events_not_host(list)
  local A = matrix.random(64, 64)
  local r = gemm.bench("tiled", {tile = 8}, {A = A, B = A},
    {samples = 20, busy = 0.01})
  if r.timer ~= "event" then
    list:cannot("the device's event timers are missing or not trusted")
  end
  local c = bench.calibration()
  local factor = c.floor_wall / c.floor
  return {holds = factor >= 1.5, factor = factor, b = r, detail = "host time "
    .. "over device time of an empty kernel of 1 work-item",
    reason = ("launching takes %.3g us of the host, the kernel %.3g us")
      :format(c.floor_wall * 1e6, c.floor * 1e6)}
end

-- Double against float, with the named rung, or else (false) with the rungs
-- that a call takes. `most` on a CPU, and `hi` elsewhere, still count.
function M.double(list, rung, lo, hi, most)
  local dev = cl.device()
  if not dev:has("cl_khr_fp64") then
    list:cannot("the device has no double (cl_khr_fp64)")
  end
  hi = dev.type == "cpu" and most or hi
  local function side(type)
    local c = rung and {rung = rung, params = BY_ROWS}
      or gemm.choice(list:square(type))
    return {"gemm." .. c.rung, params = c.params, shape = square(list.n),
      type = type}
  end
  local o = list:pair(side "double", side "float")
  o.holds = o.factor >= lo and o.factor <= hi
  o.reason = ("x%.3g to x%.3g counts as that on a %s"):format(lo, hi,
    dev.type:upper())
  return o
end

-- The parameters that a call takes of a rung, or none where it takes another.
local function chosen(list, rung)
  local c = gemm.choice(list:square "float")
  return c.rung == rung and c.params or {}
end

-- A rung against blocks of outputs for each work-item, as a call takes them.
function M.blocks(list, rung, params)
  return list:gemm(rung, params, "register", chosen(list, "register"))
end

local SQUARE = {{bm = 32, bn = 32, rm = 4, rn = 4},
  {bm = 64, bn = 64, rm = 4, rn = 4}, {bm = 128, bn = 128, rm = 8, rn = 8}}
local OBLONG = {{bm = 128, bn = 64, rm = 8, rn = 4},
  {bm = 64, bn = 128, rm = 4, rn = 8}, {bm = 32, bn = 128, rm = 4, rn = 4},
  {bm = 32, bn = 64, rm = 2, rn = 8}}

local function fastest(list, configurations)
  local best, found
  for _, p in ipairs(configurations) do
    local r = gemm.bench("register", p, list:square("float"),
      {seconds = 0.2, busy = 0.02, warmup = 0.02, roof = false})
    if r.ok and (not best or r.median < best) then
      best, found = r.median, p
    end
  end
  if not found then
    list:cannot("no such block runs on the device")
  end
  return found
end

-- Square blocks against oblong ones, the block of a call among them.
function M.not_square(list)
  local squares, oblongs = {table.unpack(SQUARE)}, {table.unpack(OBLONG)}
  local p = chosen(list, "register")
  table.insert(p.bm and p.bm ~= p.bn and oblongs or squares, p)
  local o = list:gemm("register", fastest(list, squares), "register",
    fastest(list, oblongs))
  o.reason = ("the best of %d oblong blocks, the best of %d square ones")
    :format(#oblongs, #squares)
  return o
end

function M.host_baseline(list)
  local o = list:square("float")
  local host = gemm.bench("plain_c", nil, o)
  local c = gemm.choice(o) -- what a call takes
  local r = gemm.bench(c.rung, c.params, o)
  if not host.median or not r.median then
    list:cannot(host.note or r.note)
  end
  return {holds = host.ok and r.ok and r.median < host.median, b = r,
    factor = host.median / r.median, reason = host.ok and r.ok
      and "both agree with float64" or "a result differs from float64",
    detail = ("gemm.%s against plain C on one core, N = %d"):format(c.rung,
      list.n)}
end

-- The time of the transfers of A, B and C over the time of the product, and
-- the product's result.
local function transfer_share(n)
  local o = {A = matrix.random(n, n), B = matrix.random(n, n, {seed = 2})}
  local c = gemm.choice(o)
  local r = gemm.bench(c.rung, c.params, o)
  local ha, hb <const> = o.A:read(), o.B:read()
  local moved = bench(function()
    return {o.A:write(ha), o.B:write(hb), (select(2, o.A:read(ha)))}
  end, {name = "A, B there and C back", effort = "quick", roof = false})
  return moved.median / r.median, r
end

-- Compares transfers with the product; where they cost less, at smaller sizes.
function M.transfers(list)
  local n, seen = list.n, {}
  local share, r = transfer_share(n)
  while share <= 1 and n > 32 do
    seen[#seen + 1] = ("N = %d x%.2g"):format(n, share)
    n = n // 2
    share, r = transfer_share(n)
  end
  return {holds = share > 1, factor = share, b = r,
    reason = seen[1] and "larger: " .. table.concat(seen, ", ") or nil,
    detail = ("transfers of A, B and C over gemm.%s, N = %d"):format(r.kernel,
      n)}
end

function M.tile_32(list)
  local fits, reason = gemm.check("tiled", {tile = 32}, square(list.n))
  return {holds = not fits, reason = reason or ("this device allows %d "
    .. "work-items in a work-group"):format(cl.device().max_work_group_size),
    detail = ("gemm.tiled tile=32, N = %d"):format(list.n)}
end

-- The mistake behind C's figures, made on purpose: the host's clock stops
-- when the launch is enqueued, not when it has ended. The roofline has to
-- notice.
function M.planted()
  local n = cl.device().type == "cpu" and 1024 or 4096
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
  local caught = protocol.flagged(r, "IMPOSSIBLE?")
  return {holds = caught, b = r, factor = r.gflops * 1e9
    / peaks.get("fma_float"), reason = caught and r.note:match(
      "IMPOSSIBLE%?[^;]*") or "the roofline did not notice",
    detail = ("N = %d, a clock stopped at the enqueue shows %.4g GFLOPS; "
      .. "lesson: %s"):format(n, r.gflops, reading.read(r).text)}
end

function M.constant(list)
  define_rungs(list)
  local dev = cl.device()
  local side = math.floor((dev.max_constant_buffer_size / 4)^0.5)
  local shape = square(math.min(list.n, side // 8 * 8))
  local o = list:pair({"gemm.tiled_by_rows", params = {tile = 8},
    shape = shape}, {"gemm.tiled_constant_by_rows", params = {tile = 8},
    shape = shape})
  o.reason = ("A and B have %s, the device's cache %s"):format(
    quantity.format(8.0 * shape.n^2, "B"), quantity.format(
    dev.global_mem_cache_size, "B"))
  return o
end

-- Two rungs of transpose.
function M.transpose(list, a, b)
  local shape = {rows = 4 * list.n, cols = 4 * list.n}
  return list:pair({"transpose." .. a, shape = shape},
    {"transpose." .. b, shape = shape}, {cache = "cold"})
end

-- Two rungs on the five-point matrix of a grid whose size is no multiple of
-- a cache line.
function M.spmv(list, a, b)
  local side = cl.device().type == "cpu" and 501 or 2001
  if not list.matrix then
    local n = side * side
    local D = dia.banded(n, {-side, -1, 0, 1, side}, {seed = 1})
    local x = cl.array("float", n):random(2, 0.5, 1.5)
    list.matrix = {M = D, x = cl.buffer("float", n, x)}
  end
  local shape = {rows = side * side, cols = side * side, ndiags = 5}
  return list:pair({"spmv." .. a, shape = shape},
    {"spmv." .. b, shape = shape}, {operands = list.matrix,
      cache = "cold"})
end

function M.rungs(list, a, pa, b, pb)
  define_rungs(list)
  return list:gemm(a, pa, b, pb)
end

-- The factor of an outcome in words.
local function factor(o)
  return o.lo and o.lo < o.hi and ("x%.2f (%.2f to %.2f)"):format(o.factor,
    o.lo, o.hi) or ("x%.2f"):format(o.factor)
end

-- Unrolls the inner loop, wholly, and by 4 turns where that does not pay.
function M.unrolling(list)
  define_rungs(list)
  local p = {tile = 16}
  local whole = list:gemm("tiled_rolled", p, "tiled", p)
  if whole.said == "FASTER" then
    return whole
  end
  local part = list:gemm("tiled_rolled", p, "tiled_unroll_4", p)
  part.reason = ("all 16 turns unrolled: %s of the rolled loop, 4 turns: %s")
    :format(factor(whole), factor(part))
  return part
end

-- Tiles of a side against `naive` with these parameters, by rows as texts
-- print both, and by columns. Where tiles do not pay, it tries the whole
-- unrolling of their loop as the cause.
function M.tiles(list, naive, tile)
  define_rungs(list)
  local p = {tile = tile}
  local o = list:gemm("naive", naive, "tiled_by_rows", p)
  o.reason = "both by columns: " .. factor(list:gemm("naive",
    {lx = naive.lx, ly = naive.ly}, "tiled", p))
  o.why = function()
    local part = list:gemm("tiled_by_rows", p, "tiled_by_rows_unroll_4", p)
    local other = list:gemm("naive", naive, "tiled_by_rows_unroll_4", p)
    return ("with 4 turns of the loop unrolled, not all %d: %s of these "
      .. "tiles, %s of the simple kernel"):format(tile, factor(part),
      factor(other))
  end
  return o
end

-- Compares a transposed B with B, by rows as texts print it, and by columns.
function M.transposed_b(list)
  define_rungs(list)
  local o = list:gemm("naive", BY_ROWS, "transposed_b_by_rows", {})
  o.reason = "both by columns: " .. factor(list:gemm("naive", {},
    "transposed_b", {}))
  return o
end

-- The local size that the driver takes for the simple kernel, which stores it
-- here in place of sums.
local function driver_choice(n)
  local source, count = kernel_text("naive.cl"):gsub("NARROW%(value%)",
    "get_local_size(col %% 2)")
  assert(count == 1, "naive.cl stores its sums otherwise")
  local C = cl.buffer("float", n * n)
  cl.kernel(source, {defines = {MAP_ROW = 1}}):range{n, n}(n, n, 1, 1, C, n, C,
    n, 0, C, n):wait()
  local h = C:read()
  return ("%.0fx%.0f"):format(h[1], h[2] or 1)
end

-- Compares a local size of 8x8 with the driver's choice.
function M.local_size(list)
  define_rungs(list)
  local o = list:gemm("naive_driver_local", BY_ROWS, "naive",
    {map = "row", lx = 8, ly = 8})
  o.reason = "the driver takes " .. driver_choice(list.n)
  return o
end

-- Trials on kernels of kernels/course, which are rungs of no ladder: the
-- simulator counts the work of a warp, exactly; times are measured on the
-- device ---------------------------------------------------------------------

local function kernel(file, defines)
  return program.kernel(program.get(cl.context(), {path = ("%s/kernels/%s.cl")
    :format(cl.home, file)}, defines or {}))
end

local function floats(n)
  local h <close> = cl.array("float", n):fill(1)
  return cl.buffer("float", n, h)
end

-- The result of access for a launch; a missing simulator ends the trial.
local function counted(list, launch, ...)
  local plugin, missing = trace.plugin()
  if not plugin then
    list:cannot(missing)
  end
  return access(launch, ...)
end

-- Runs launch(turns) with twice the turns until it takes a millisecond.
local function turns_of(launch)
  local turns = 64
  while turns < 2^20 and launch(turns):wait().ms < 1 do
    turns = turns * 2
  end
  return turns
end

-- Reads of local memory: neighbours `one` cells apart against `other`.
function M.local_reads(list, one, other)
  local size = math.min(256, cl.device().max_work_group_size)
  local k = kernel("peak/local", {WG = size, CELLS = 1024, UNROLL = 8})
  local items = 8 * cl.device().compute_units * size
  local out = cl.buffer("float", items)
  local launch = k:range({items}, {size})
  local turns = turns_of(function(n) return launch(n, one, out) end)
  local o = list:launches(("local reads %d cells apart against %d, %d work-"
    .. "items"):format(other, one, items), {launch, turns, one, out},
    {launch, turns, other, out})
  o.reason = cl.device().local_mem_type == "global" and "the driver tells "
    .. "that local memory is ordinary memory" or nil
  return o
end

-- The most work-groups that were under way at the same time, of `groups` with
-- 64 work-items and `bytes` bytes of local memory.
local function at_once(groups, bytes)
  local zeros <close> = cl.array("int", 2, 0)
  local state, out = cl.buffer("int", 2, zeros), cl.buffer("int", 64 * groups)
  kernel("course/resident", {ROOM = bytes // 4}):range({64 * groups}, {64})(
    20000, state, out):wait()
  return state:read()[2]
end

-- Work-groups of one warp (list.warp, or the device's), with barriers and
-- without.
function M.barriers(list)
  local dev = cl.device()
  local size = list.warp or dev.nv_warp_size or dev.amd_wavefront_width
  if not size then
    list:cannot "the driver tells no size of a warp; it needs a GPU's"
  end
  local items = 8 * size * dev.compute_units
  local x = floats(items)
  local function launch(barrier)
    return kernel("course/barrier", {WG = size, BARRIER = barrier}):range(
      {items}, {size})
  end
  local with = launch(1)
  local turns = turns_of(function(n) return with(n, x) end)
  return list:launches(("%d work-items in groups of %d, without barriers "
    .. "against with"):format(items, size), {with, turns, x},
    {launch(0), turns, x})
end

-- Indices that lead through 16 MiB of memory.
local function chain()
  local n = 2^22 | 0
  local h <close> = cl.array("int", n)
  for i = 1, n do
    h[i] = (i * 40503 + 7) % n
  end
  return cl.buffer("int", n, h)
end

-- Work-groups under way at the same time, with little local memory against as
-- much as the device has.
function M.occupancy()
  local dev = cl.device()
  local groups, bytes = 64 * dev.compute_units, dev.local_mem_size - 1024
  local few, many = at_once(groups, bytes), at_once(groups, 256)
  return {holds = many > few, factor = many / few,
    reason = ("%d work-groups at once with %d bytes of local memory, %d with "
      .. "256"):format(few, bytes, many), detail = ("%d work-groups of 64 on "
      .. "%s"):format(groups, text.count(dev.compute_units, "unit"))}
end

-- As many loads, in chains where each tells the next, by 16x the work-items.
function M.latency(list)
  local following, k = chain(), kernel "course/chain"
  local units = cl.device().compute_units
  local few = 64 * units
  local out = cl.buffer("int", 16 * few)
  local o = list:launches(("%d work-items of 128 loads against %d of 2048")
    :format(16 * few, few), {k:range({few}, {64}), 2048, following, out},
    {k:range({16 * few}, {64}), 128, following, out})
  o.why = function()
    return ("of %d work-groups %d run at once, of %d %d"):format(16 * units,
      at_once(16 * units, 256), units, at_once(units, 256))
  end
  return o
end

-- The work of one work-group, spread over a work-group for each unit.
function M.units(list)
  local units = cl.device().compute_units
  if units == 1 then
    list:cannot("the device has one compute unit")
  end
  local x, k = floats(64 * units), kernel "course/branch"
  local all, one = k:range({64 * units}, {64}), k:range({64}, {64})
  local turns = turns_of(function(n) return all(n, 64, x) end)
  local o = list:launches(("%d work-groups of 64 against one with %d times "
    .. "the turns"):format(units, units), {one, turns * units, 64, x},
    {all, turns, 64, x})
  o.why = function()
    return ("of %d work-groups %d run at once"):format(units,
      at_once(units, 256))
  end
  return o
end

-- As many updates, of 512 private values of a work-item and of 128.
function M.spills(list)
  local few = kernel("course/private", {CELLS = 128})
  local many = kernel("course/private", {CELLS = 512})
  if many.private_mem_size <= few.private_mem_size then
    list:cannot(("the driver tells %d bytes of private memory for 128 values "
      .. "of a work-item, %d for 512: it needs one that tells spills"):format(
        few.private_mem_size, many.private_mem_size))
  end
  local items = 64 * 8 * cl.device().compute_units
  local x, launch = floats(items), many:range({items}, {64})
  local turns = turns_of(function(n) return launch(n, x) end)
  -- the driver tells it, whatever GPU the occupancy is asked for
  local spilled = occupancy(launch, {gpu = "H100"}).spilled
  return list:launches(("%d work-items; 128 values of each against 512, for "
    .. "which the driver tells %d and %d bytes of private memory%s"):format(
      items, few.private_mem_size, many.private_mem_size,
      spilled and (", the assembler %d of spill stores and loads"):format(
        spilled) or ""),
    {launch, turns, x}, {few:range({items}, {64}), 4 * turns, x})
end

-- A kernel that reads a Buffer in the host's memory, and one on the device.
function M.host_memory(list)
  if cl.device().host_unified_memory then
    list:cannot("the device's memory is the host's; it needs a GPU with its "
      .. "own")
  end
  local n = 2^22 | 0
  local h <close> = cl.array("float", n):fill(1)
  local there = cl.buffer("float", n, h)
  local here = cl.buffer("float", n, h, {host = true})
  local y = cl.buffer("float", n)
  local launch = kernel "course/copy":range({n}, {64})
  local o = list:launches("16 MiB in the device's memory against memory of "
    .. "{host = true}", {launch, 0, 0, here, y}, {launch, 0, 0, there, y})
  o.why = function()
    return "the driver may keep memory of {host = true} on the device"
  end
  return o
end

-- Lanes of a warp that take two sides of a branch against whole warps.
function M.divergence(list)
  local x, launch = floats(256), kernel "course/branch":range({256}, {64})
  local function share(width)
    local least = 1
    for _, b in ipairs(counted(list, launch, 4, width, x).branches) do
      least = math.min(least, b.active)
    end
    return least
  end
  local parted, whole = share(1), share(64)
  return {holds = parted == 0.5 and whole == 1, factor = whole / parted,
    reason = ("%.0f %% of the lanes active, against %.0f %%"):format(
      100 * parted, 100 * whole),
    detail = "256 work-items in groups of 64, sides in turns of 1 against 64; "
      .. "the simulator, as an H100"}
end

-- Warps of work-groups of 48 work-items against warps of groups of 64.
function M.odd_groups(list)
  local k, x = kernel "course/branch", floats(768)
  local function warps(size)
    return counted(list, k:range({768}, {size}), 4, 1024, x).warps
  end
  local odd, even = warps(48), warps(64)
  return {holds = odd > even, factor = odd / even,
    reason = ("%d warps in place of %d, for as many work-items"):format(odd,
      even), detail = "768 work-items in groups of 48 against 64; the "
      .. "simulator, as an H100"}
end

-- The requests and sectors of the loads of a copy of 1024 floats.
local function copied(list, width, flip, shift)
  local n, kind = 1024 // width, width == 1 and "float" or "float" .. width
  local a = counted(list, kernel("course/copy", {WIDTH = width}):range({n},
    {64}), flip, shift, cl.buffer(kind, n + 64), cl.buffer(kind, n))
  for _, row in ipairs(a.rows) do
    if row.kind == "load" then
      return row
    end
  end
end

-- Loads of 16 bytes against loads of 4.
function M.width(list)
  local narrow, wide = copied(list, 1, 0, 0), copied(list, 4, 0, 0)
  return {holds = wide.requests * 4 == narrow.requests
      and wide.sectors == narrow.sectors,
    factor = narrow.requests / wide.requests,
    reason = ("%d requests in place of %d, for %d and %d sectors"):format(
      wide.requests, narrow.requests, wide.sectors, narrow.sectors),
    detail = "a copy of 1024 floats by float4 against float; the simulator, "
      .. "as an H100"}
end

-- Lanes in any order within their 128 bytes, and one element further.
function M.order(list)
  local straight, turned = copied(list, 1, 0, 0), copied(list, 1, 21, 0)
  local further = copied(list, 1, 0, 1)
  return {holds = turned.sectors == straight.sectors,
    factor = turned.sectors / straight.sectors,
    reason = ("%d sectors either way; one element further, %d"):format(
      turned.sectors, further.sectors),
    detail = "a copy of 1024 floats, lane i reads element i ^ 21 against i; "
      .. "the simulator, as an H100"}
end

-- The first sum of 64 ones in each of 4 work-groups, on the device.
local function sum_of(defines)
  local x, out = floats(256), floats(4)
  kernel("course/reduce", defines):range({256}, {64})(x, out):wait()
  return out:read()[1]
end

-- A launch on the simulator: its findings; its Buffers get its results.
local function simulated(launch, ...)
  local job = jobs.new "course"
  job.back = true
  jobs.add(job, launch, table.pack(...))
  local results, reason = oclgrind.run(job, 30)
  oclgrind.demand(job, results and results[1] or {error = reason})
  return check(launch, ...).findings
end

-- A sum over a work-group without the barrier between its steps, and with.
function M.race(list)
  if not oclgrind.driver() then
    list:cannot("the simulator Oclgrind is not installed")
  end
  local x, out = floats(256), floats(4)
  local function findings(barrier)
    return check(kernel("course/reduce", {BARRIER = barrier}):range(
      {256}, {64}), x, out).findings
  end
  local without, with = findings(0), findings(1)
  local f = without[1]
  return {holds = f ~= nil and f.kind == "race" and #with == 0,
    reason = ("%s; with the barrier %s; this device's sum of 64 ones is %g "
      .. "without, %g with the barrier"):format(f and f.text
      or "the simulator finds none", with[1] and with[1].text or "none",
      sum_of{BARRIER = 0}, sum_of{BARRIER = 1}),
    detail = "256 work-items in groups of 64, the barrier left out; the "
      .. "simulator"}
end

-- The sum that texts begin with. The text is judged by the simulator, or else
-- by the same sum with the work-group's size as a constant; a device whose
-- sum differs has a compiler that fails.
function M.pairs(list)
  local there, constant = sum_of{PAIRS = 1}, sum_of{PAIRS = 1, SIZE = 64}
  local words, right = "", constant == 64 or there == 64
  if oclgrind.driver() then
    local x, out = floats(256), floats(4)
    local found = simulated(kernel("course/reduce", {PAIRS = 1}):range({256},
      {64}), x, out)[1]
    local sum = out:read()[1]
    right = sum == 64 and not found
    words = ("the simulator's sum is %g, and it finds %s; "):format(sum,
      found and found.text or "no race")
  elseif not right then
    list:cannot("this device and the simulator give no sum")
  end
  return {holds = right, reason = words .. (there == 64
      and "the device's sum is 64" or right and ("the compiler of this "
      .. "device fails: its sum is %g, with the constant 64 in place of "
      .. "get_local_size(0) %g"):format(there, constant)
      or ("the device's sum is %g"):format(there)),
    detail = "64 ones in each of 4 work-groups"}
end

-- The mistakes of kernels/course/dia.cl, and the diagonals to try each with.
local MISTAKES = {
  {says = "an undeclared local array", 1, 3},
  {says = "a name declared twice", 2, 3},
  {says = "a store at the wrong base", 3, 3},
  {says = "257 diagonals in room for 256", 0, 257},
}

-- A launch of dia.cl over n rows of ones, its arguments, and y.
local function product(mistake, n, pitch, diagonals)
  local offsets <close> = cl.array("int", diagonals)
  for i = 1, diagonals do
    offsets[i] = (i - 2) % 3 - 1
  end
  local y = floats(pitch)
  return kernel("course/dia", {MISTAKE = mistake}):range({(n + 3) // 4}, {8}),
    {n, pitch, diagonals, cl.buffer("int", diagonals, offsets),
      floats(diagonals * pitch), floats(n), y}, y
end

-- The word on a version: "right", the compiler's first error or the defect.
local function judged(mistake, diagonals)
  local n = 64
  local built, launch, args, y = pcall(product, mistake, n, n, diagonals)
  if not built then
    return "does not compile: " .. (tostring(launch)
      :match "error: ([^\n]+)\n *%d" or tostring(launch):match "[^\n]*")
  end
  if diagonals > 256 then
    local r = oclgrind.driver() and check(launch, table.unpack(args))
    return not r and "not tried: the simulator Oclgrind is not installed"
      or r.findings[1] and r.findings[1].text or "right"
  end
  launch(table.unpack(args)):wait()
  local h = y:read()
  for i = 1, n do
    local sum = (i == 1 or i == n) and 2 or 3
    if h[i] ~= sum then
      return ("y[%d] is %g, not %d"):format(i - 1, h[i], sum)
    end
  end
  return "right"
end

-- The mistakes of a text's last versions, each built, run and judged.
function M.printed(list)
  local words, wrong = {}, 0
  for i, version in ipairs(MISTAKES) do
    local word = judged(table.unpack(version))
    wrong = wrong + (word ~= "right" and 1 or 0)
    words[i] = version.says .. ": " .. word
  end
  if judged(0, 3) ~= "right" then
    list:cannot("the version without mistakes is wrong here")
  end
  return {holds = wrong == 0, reason = table.concat(words, "; "),
    detail = ("%s of 64 rows by one work-item for four; the version without "
      .. "mistakes is right"):format(text.count(#MISTAKES, "version"))}
end

-- The words of check's findings on a launch; a missing simulator ends the
-- trial.
local function findings(list, launch, ...)
  if not oclgrind.driver() then
    list:cannot("the simulator Oclgrind is not installed")
  end
  local words = text.values(check(launch, ...).findings, ", ", "text")
  return words, words == ""
end

-- Rows that are no multiple of 4, in vectors of 4, with rows padded and not.
function M.rows_of_4(list)
  local launch, args = product(0, 62, 62, 3)
  local beyond, fine = findings(list, launch, table.unpack(args))
  launch, args = product(0, 62, 64, 3)
  local _, padded = findings(list, launch, table.unpack(args))
  return {holds = not fine and padded,
    reason = ("62 rows: %s; padded to 64: %s"):format(beyond,
      padded and "no finding" or "findings too"),
    detail = "kernels/course/dia.cl, 3 diagonals; the simulator"}
end

-- 100 elements in groups of 64: with a test of one kind, and as it should be.
function M.edge(list, test, kind)
  local function found(which)
    return findings(list, kernel("course/edge", {TEST = which}):range({128},
      {64}), 100, floats(100), floats(100))
  end
  local wrong, right = found(test), select(2, found(2))
  return {holds = wrong:find(kind, 1, true) ~= nil and right,
    reason = ("%s; with tests around the load and the store %s"):format(wrong,
      right and "no finding" or "findings too"),
    detail = "kernels/course/edge.cl, 100 elements in groups of 64; the "
      .. "simulator"}
end

-- A global size that the local size does not divide, and rounded up.
function M.non_uniform(list)
  local k = kernel("course/edge", {TEST = 2})
  local runs, message = pcall(k.range, k, {100}, {64})
  local _, right = findings(list, k:range({128}, {64}), 100, floats(100),
    floats(100))
  return {holds = right and not runs, reason = (runs
      and "this device takes a smaller last group" or tostring(message)
      :match "global size [^\n]*") .. (right and "; rounded up, no finding"
      or "; rounded up, findings too"),
    detail = "kernels/course/edge.cl, global size 100 and 128, groups of 64"}
end

-- The accesses of a rung of gemm for an element of C, N = 32, by access: of a
-- space, and of a kind or all.
local function accesses(list, name, params, space, kind)
  local n, bytes = 32, 0
  local a = counted(list, gemm.rung(name), {A = matrix.random(n, n),
    B = matrix.random(n, n)}, params)
  for _, row in ipairs(a.rows) do
    bytes = bytes + (row.space == space and (not kind or row.kind == kind)
      and row.bytes or 0)
  end
  return bytes * a.groups / a.looked / 4 / n^2
end

-- Whether rung b makes 1 / gain of the accesses of rung a.
function M.fewer(list, space, kind, gain, a, pa, b, pb)
  local before = accesses(list, a, pa, space, kind)
  local after = accesses(list, b, pb, space, kind)
  return {factor = before / after,
    holds = math.abs(before / after / gain - 1) < 0.05,
    reason = ("%g %s of %s memory for an element of C in place of %g"):format(
      after, kind and kind .. "s" or "loads and stores", space, before),
    detail = ("gemm.%s against gemm.%s, N = 32; the simulator"):format(b, a)}
end

-- The warps of a group of 8x8, and the lines that a load of a tile touches.
function M.warps_of_tile(list)
  local function looked(tile, warp)
    local a = counted(list, gemm.rung "tiled", {A = matrix.random(64, 64),
      B = matrix.random(64, 64)}, {tile = tile}, {warp = warp})
    local all = a.total.global
    return a.warps / a.looked, all.lines / all.requests
  end
  local warps, lines = looked(8, 32)
  local whole, wide = looked(8, 64), select(2, looked(32, 32))
  return {holds = warps == 2 and whole == 1 and lines > wide, factor = warps,
    reason = ("%g warps of 32 lanes, %g of 64; a load of a warp touches %g "
      .. "lines of 128 bytes, with tiles of 32x32 %g"):format(warps, whole,
      lines, wide), detail = "gemm.tiled tile=8, N = 64; the simulator"}
end

-- The passes of local memory for a column of rows of 32 floats and a pad.
function M.pads(list)
  local k, passes = kernel("peak/local", {WG = 32, CELLS = 2048, UNROLL = 1}),
    {}
  for pad = 0, 2 do
    local a = counted(list, k:range({32}, {32}), 1, 32 + pad, floats(32))
    for _, row in ipairs(a.rows) do
      passes[pad] = row.kind == "load" and row.passes / row.requests
        or passes[pad]
    end
  end
  return {holds = passes[0] == 32 and passes[1] == 1 and passes[2] == 2,
    factor = passes[0] / passes[1],
    reason = ("%g passes without a pad, %g with 1, %g with 2"):format(
      passes[0], passes[1], passes[2]), detail = "32 lanes read a column of "
      .. "rows of 32 floats; the simulator, as an H100"}
end

return M

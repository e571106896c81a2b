-- explain/trials.lua - the trials of claims on kernels that are rungs of no
-- ladder: those of kernels/course. What a warp does is counted on the
-- simulator, exactly; what takes time is measured on the device. A trial is a
-- function of a list of claims that gives an outcome, see claims.lua.
-- SPDX-License-Identifier: MIT

local access = require "clshell.base.lazy".module "clshell.explain.access"
local check = require "clshell.base.lazy".module "clshell.explain.check"
local cl = require "cl"
local occupancy = require "clshell.base.lazy".module "clshell.occupancy"
local oclgrind = require "clshell.explain.oclgrind"
local program = require "clshell.ladder.program"
local text = require "clshell.base.text"
local trace = require "clshell.explain.trace"

local M = {}

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

-- A work-group's size that the device takes, a multiple of 64 if possible.
local function group(most)
  return math.min(most, cl.device().max_work_group_size)
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
function M.local_reads(one, other)
  return function(list)
    local size = group(256)
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

-- Work-groups of one warp (nil: the device's), with barriers and without.
function M.barriers(warp)
  return function(list)
    local dev = cl.device()
    local size = warp or dev.nv_warp_size or dev.amd_wavefront_width
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
end

-- Indices that lead through 16 MiB of memory.
local function chain_of(n)
  local h <close> = cl.array("int", n)
  for i = 1, n do
    h[i] = (i * 40503 + 7) % n
  end
  return cl.buffer("int", n, h)
end

local CHAIN = 2^22 | 0

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
  local following = chain_of(CHAIN)
  local k = kernel "course/chain"
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
  local there, here = cl.buffer("float", n, h), cl.buffer("float", n,
    {host = true})
  here:write(h)
  local y = cl.buffer("float", n)
  local launch = kernel "course/copy":range({n}, {64})
  return list:launches("16 MiB in the device's memory against the host's",
    {launch, 0, 0, here, y}, {launch, 0, 0, there, y})
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
  local sum = sum_of{BARRIER = 0}
  return {holds = f ~= nil and f.kind == "race" and #with == 0,
    reason = ("%s; this device's sum of 64 ones was %g"):format(f and f.text
      or "the simulator finds none", sum),
    detail = "256 work-items in groups of 64, the barrier left out; the "
      .. "simulator"}
end

-- The sum that texts begin with, run on the device; where it is wrong, also
-- with the work-group's size as a constant.
function M.pairs()
  local sum = sum_of{PAIRS = 1}
  return {holds = sum == 64, reason = sum ~= 64 and ("the sum is %g, not 64; "
    .. "with the constant 64 in place of get_local_size(0) it is %g"):format(
      sum, sum_of{PAIRS = 1, SIZE = 64}) or nil,
    detail = "64 ones in each of 4 work-groups, on the device"}
end

-- A text's last version of a product of diagonals: offsets in local memory,
-- four rows for each work-item. The text's mistakes replace parts of it.
local PRINTED = [[
#define X(i) ((i) >= 0 && (i) < n ? x[i] : 0.0f)
kernel void spmv(int n, int diagonals, global const int *offsets,
                 global const float *values, global const float *x,
                 global float *y)
{
  DECLARE
  int row = get_global_id(0) * 4;
  for (int d = get_local_id(0); d < diagonals; d += get_local_size(0))
    near[d] = offsets[d];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 sum = 0.0f;
  for (int d = 0; d < diagonals; d++) {
    int i = row + near[d];
    sum += vload4(0, values + d * n + row)
      * (float4)(X(i), X(i + 1), X(i + 2), X(i + 3));
  }
  vstore4(sum, 0, y + BASE);
}
]]

local RIGHT = {declare = "local int near[256];", base = "row", diagonals = 3}

local MISTAKES = {
  {says = "an undeclared local array", declare = "", base = "row",
    diagonals = 3},
  {says = "a name declared twice", base = "row", diagonals = 3,
    declare = "local int near[256]; local float near[256];"},
  {says = "a store at the wrong base", declare = RIGHT.declare,
    base = "get_global_id(0)", diagonals = 3},
  {says = "257 diagonals in room for 256", declare = RIGHT.declare,
    base = "row", diagonals = 257},
}

-- The word on a version: "right", "does not compile" or the defect.
local function judged(version)
  local n, d = 64, version.diagonals
  local source = PRINTED:gsub("DECLARE", version.declare):gsub("BASE",
    version.base)
  local built, k = pcall(cl.kernel, source)
  if not built then
    return "does not compile"
  end
  local offsets <close> = cl.array("int", d)
  for i = 1, d do
    offsets[i] = (i - 2) % 3 - 1
  end
  local buffers = {cl.buffer("int", d, offsets), floats(d * n), floats(n),
    floats(n)}
  local launch = k:range({n // 4}, {8})
  if d > 256 then
    local r = oclgrind.driver() and check(launch, n, d,
      table.unpack(buffers))
    return not r and "not tried: the simulator Oclgrind is not installed"
      or r.findings[1] and r.findings[1].text or "right"
  end
  launch(n, d, table.unpack(buffers)):wait()
  local y = buffers[4]:read()
  for i = 1, n do
    if y[i] ~= ((i == 1 or i == n) and 2 or 3) then
      return "wrong result"
    end
  end
  return "right"
end

-- The mistakes of a text's last versions, each built, run and judged.
function M.printed(list)
  local words, wrong = {}, 0
  for i, version in ipairs(MISTAKES) do
    local word = judged(version)
    wrong = wrong + (word ~= "right" and 1 or 0)
    words[i] = version.says .. ": " .. word
  end
  if judged(RIGHT) ~= "right" then
    list:cannot("the version without mistakes is wrong here")
  end
  return {holds = wrong == 0, reason = table.concat(words, "; "),
    detail = ("%s of 64 rows by one work-item for four; the version without "
      .. "mistakes is right"):format(text.count(#MISTAKES, "version"))}
end

return M

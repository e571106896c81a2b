-- explain/reading.lua - the reading of one result: what limits it, by the
-- measured roofs, the traffic model, the launch, and the occupancy if known
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local asm = require "clshell.ladder.asm"
local cl = require "cl"
local families = require "clshell.ladder.families"
local interrupt = require "clshell.base.interrupt"
local occupancy = require "clshell.explain.occupancy"
local options = require "clshell.base.options"
local peaks = require "clshell.measure.peaks"
local quantity = require "clshell.base.quantity"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local roofline = require "clshell.measure.roofline"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"
local traffic = require "clshell.explain.traffic"
local arithmetic = require "clshell.ladder.unit"
local workload = require "clshell.ladder.workload"

local M = {}

local SURE = 0.6    -- the share of a roof that makes it the limit
local LAUNCH = 0.2  -- the share of the time that makes the launch the limit
local LOW = 0.25    -- occupancy that may leave latency open
local SMALL = 64    -- the sizes of a launch for the form of its code
M.ABOVE = 1.05      -- of a roof: the measured peak is too low, or the traffic
                    -- model counts more than was moved

-- The peaks of a context, each measured at its first use.
local function peaks_of(context)
  return setmetatable({tries = peaks.tries(context)}, {__index = function(_,
      name)
    return (peaks.get(name, context))
  end})
end

-- The rung of a result and its family; nil for results of no rung.
function M.rung(r)
  local family = r.family and families.get(r.family)
  if family then
    local ok, rung = pcall(family.rung, r.kernel)
    return ok and rung or nil, family
  end
end

-- The grounds of a reading: the result, device, peaks, and of a rung its
-- shape, work-groups and traffic.
local function facts_of(r, opts)
  local f = {result = r, device = opts.device, peaks = opts.peaks,
    use = opts.use, roofs = {}}
  if not (f.device and f.peaks) then
    f.context = opts.context or cl.context()
    f.device = f.device or f.context.device
    f.peaks = f.peaks or peaks_of(f.context)
  end
  local rung, family = M.rung(r)
  if not rung or type(r.shape) ~= "table" then -- a row of s:list has text
    return f
  end
  local known, p = pcall(rungs.parameters, rung, r.params or {}, "lesson")
  if not known then
    return f
  end
  local full = {type = r.type}
  for name, value in pairs(r.shape) do
    full[name] = name:find("^trans_") and value == 1 or value
  end
  f.rung, f.family, f.params = rung, family, p
  f.shape = family.spec.shape(full)
  f.shape.context = f.context or {device = f.device}
  local all, size = rung.range(f.shape, p)
  f.items, f.groups = 1, size and 1
  for i, n in ipairs(size and all or {}) do
    f.items, f.groups = f.items * (size[i] or 1), f.groups * (n // (size[i]
      or 1))
  end
  f.traffic = traffic.of(r, rung, f.device, f.shape, p)
  return f
end

local function rate(x, unit)
  return quantity.format(x, unit, 3)
end

local function percent(x)
  return (x < 0.01 and "%.1g %%" or "%.0f %%"):format(100 * x)
end

-- Adds a roof: the least seconds for `amount` at the rate of the peak `name`.
-- `words` is a format of the rate reached, the share and the peak.
local function add(f, limit, amount, name, words, model)
  local top = name and f.peaks[name]
  if amount and amount > 0 and top and top > 0 then
    local t, unit = f.result.median, limit == "compute"
      and quantity.work(f.result.type) .. "S" or "B/s"
    table.insert(f.roofs, {limit = limit, share = amount / top / t,
      model = model, least = amount / top, words = words:format(
        rate(amount / t, unit), percent(amount / top / t), rate(top, unit)),
      tried = peaks.words((f.peaks.tries or {})[name], top)})
  end
end

-- The highest of some peaks, and its name.
local function highest(known, names)
  local most, best = 0, nil
  for _, name in ipairs(names) do
    if known[name] and known[name] > most then
      most, best = known[name], name
    end
  end
  return most, best
end

-- Whether the first cache and local memory share one path, so that they share
-- one measured rate: NVIDIA's GPUs from compute capability 7.0 on (Volta
-- tuning guide, "Unified Shared Memory/L1").
local function one_path(dev)
  return (dev.nv_compute_capability_major or 0) >= 7
end

local function traffic_roofs(f)
  local moves = f.traffic
  if moves.warps then
    add(f, "memory", moves.fetch, "cache", "its work-groups fetch %s from the "
      .. "last cache, %s of the %s read there", true)
  end
  local name = not moves.warps and "cache" or one_path(f.device) and "local"
    or nil
  add(f, "memory", moves.global, name, "its work-items move %s through the "
    .. "caches, %s of the %s measured"
    .. (moves.warps and " on that path" or " there"), true)
  add(f, "local memory", moves.locals, "local", "local memory moves %s, %s of "
    .. "the %s measured" .. (moves.ways >= 1.5 and (", bank conflicts of %.0f "
      .. "ways counted"):format(moves.ways) or ""), true)
end

-- All roofs above a result, the nearest first, and a roof of the traffic model
-- below the result, left out of the list: the model counted too much.
local function roofs_of(r, f)
  local peak, flop = arithmetic.peak(r)
  if peak then
    add(f, "compute", flop, peak, "%s is %s of the %s that "
      .. arithmetic.words(peak) .. " reach")
  end
  if r.bytes then
    local _, name = highest(f.peaks, roofline.memory(r, function(names)
      return (highest(f.peaks, names))
    end))
    add(f, "memory", r.bytes, name, "%s, each element moved once, is %s of "
      .. "the %s of " .. (name == "cache" and "the caches" or "memory"))
  end
  if f.traffic then
    traffic_roofs(f)
  end
  if r.floor and r.floor > 0 then
    table.insert(f.roofs, {limit = "launch overhead", least = r.floor,
      share = r.floor / r.median, words = ("an empty kernel takes %s of its "
        .. "%s"):format(rate(r.floor, "s"), rate(r.median, "s"))})
  end
  local good, over = {}, nil
  for _, roof in ipairs(f.roofs) do
    if roof.model and roof.share > M.ABOVE then
      over = roof
    else
      good[#good + 1] = roof
    end
  end
  table.sort(good, function(a, b)
    return a.share > b.share
  end)
  return good, over
end

-- The kernel of a result; or nil and the reason.
local function kernel_of(f)
  if not (f.rung and f.context) then
    return nil, "the result is not of a rung"
  end
  local plan = require "clshell.ladder.plan"
  local ok, kernel = pcall(plan.kernel, f.family, f.rung,
    f.params, f.shape)
  return ok and kernel or nil, "the kernel cannot be built now"
end

-- The registers and local memory of the kernel of a result, as the driver
-- tells them; or nil and the reason.
local function use_of(f)
  if f.use then
    return f.use
  end
  local kernel, reason = kernel_of(f)
  if not kernel then
    return nil, reason
  end
  return occupancy.kernel(f.rung, kernel,
    rungs.defines(f.rung, f.params, f.shape),
    f.rung.options and f.rung.options(f.params, f.shape), f.context)
end

-- The occupancy of a result: {share, by, words, source}; or nil and a reason.
local function occupancy_of(f)
  local limits, reason = occupancy.limits(f.device)
  local use
  if limits then
    use, reason = use_of(f)
  end
  if not use then
    return nil, reason
  end
  local o = occupancy.of({items = f.items or use.items,
    registers = use.registers, local_bytes = use.local_bytes}, limits)
  o.words = occupancy.words(use, o, limits)
  o.source = ("registers: %s; limits: %s"):format(use.source or "given",
    limits.source)
  o.registers, o.local_bytes, o.spilled = use.registers, use.local_bytes,
    use.spilled
  return o
end

-- A note on fewer work-groups than compute units; nil where there are enough.
local function few_groups(f)
  local units = f.device.compute_units
  if f.groups and units and f.groups < units then
    return ("%s for %d compute units (source: the NDRange, "
      .. "CL_DEVICE_MAX_COMPUTE_UNITS)"):format(text.count(f.groups,
      "work-group"), units)
  end
end

-- On a CPU: the lanes of its vectors, and whether one lane could reach this
-- rate.
local function lanes_of(r, f)
  local type = r.type or "float"
  local lanes = f.device["native_vector_width_" .. type]
  local top = not r.unit and f.peaks["fma_" .. type]
  if f.device.type == "cpu" and lanes and lanes > 1 and top and r.flop
      and r.flop > 0 then
    return lanes, r.flop / r.median * lanes < top
  end
end

local function unknown(reading, roof)
  local words = roof and ("the nearest roof is %s (%s)"):format(roof.limit,
    roof.words) or "its FLOP and bytes are unknown"
  local rest = reading.occupancy and ("occupancy is high enough (%s; %s)")
    :format(reading.occupancy.words, reading.occupancy.source)
    or "its occupancy is unknown: " .. reading.reason
  local slow = reading.one_lane and ("; and its rate is below 1/%d of the "
    .. "peak, as if it used no vectors"):format(reading.one_lane) or ""
  local over = reading.over and ("; the traffic model counts too many "
    .. "bytes: with them %s"):format(reading.over.words) or ""
  return ("The limit is unknown: %s; %s%s%s."):format(words, rest, slow, over)
end

-- The limit, the sentence on it, and the share of the limit's roof.
local function judge(r, f, reading)
  local roof = reading.roofs[1]
  local launch = r.floor and r.floor / r.median or 0
  local tried = roof and roof.tried and (" (measured %s)"):format(roof.tried)
    or ""
  if roof and roof.share > M.ABOVE and not roof.model
      and roof.limit ~= "launch overhead" then
    return "unknown", ("The limit is unknown: %s%s, so the measured peak is "
      .. "too low, or the result is wrong; peaks{again = true} measures anew.")
      :format(roof.words, tried)
  elseif roof and roof.share >= SURE then
    return roof.limit, ("Limited by %s: %s%s."):format(roof.limit, roof.words,
      tried), roof.share
  elseif launch >= LAUNCH then
    return "launch overhead", ("Limited by launch overhead: an empty kernel "
      .. "takes %s of its %s."):format(rate(r.floor, "s"), rate(r.median,
      "s")), launch
  end
  local near = roof and ("; the nearest roof is %s (%s)"):format(roof.limit,
    percent(roof.share)) or ""
  local few = few_groups(f)
  reading.occupancy, reading.reason = occupancy_of(f)
  local o = reading.occupancy
  if few then
    return "occupancy", ("Limited by occupancy: there are only %s%s."):format(
      few, near)
  elseif o and o.share < LOW then
    return "occupancy", ("Probably limited by occupancy: %s (%s)%s."):format(
      o.words, o.source, near), o.share
  end
  return "unknown", unknown(reading, roof)
end

local meta = {
  __tostring = function(reading)
    return reading.text
  end,
}

-- The text for a result without a time that can be read; nil for others.
local function unread(r, device)
  if not r.median or r.median <= 0 or r.ok == false then
    return ("Nothing to read: %s."):format(r.note or r.error
      or r.status ~= "ok" and r.status or "there is no time")
  elseif protocol.flagged(r, "IMPOSSIBLE?") then
    return ("This time is not credible: %s."):format(r.note and
      r.note:match("IMPOSSIBLE%?[^;]*") or "it is above the roofline")
  elseif not r.device and (r.family or r.timer == "wall") then
    return "It ran on the host, whose roofs are not measured."
  end
  local name = record.device_of(r)
  if name and device and name ~= device.name then
    return ("The limit is unknown: this was measured on %s, whose peaks are "
      .. "unknown here."):format(name)
  end
end

-- The source line of a result's kernel with the most loads of 4 bytes or
-- fewer, by the machine's code that runs (see machine_code.narrow, and
-- `file`); nil where none is told.
function M.narrow(r)
  local f = facts_of(r, {context = cl.context()})
  local kernel = kernel_of(f)
  local subject = kernel
  if kernel and f.device.type == "cpu" then -- of a launch's local size
    subject = {("%s.%s"):format(f.family.name, f.rung.name),
      workload.sizes(f.family, SMALL), f.params, {type = f.shape.type}}
  end
  local known, code = interrupt.pcall(asm, subject)
  local found = kernel and known and code.program == kernel.program
    and asm.narrow(code)
  if found then
    found.file = (found.file or f.rung.path or f.rung.name):match "[^/]*$"
    return found
  end
end

-- See lesson.read.
function M.read(r, opts)
  argument.check("lesson", "r", r, "table",
    'a result, such as bench("gemm.tiled", {512})')
  for _, name in ipairs{"median", "flop", "bytes", "sum", "main"} do
    if r[name] ~= nil then
      argument.check("lesson", "r." .. name, r[name], "number")
    end
  end
  opts = options.check(opts, "lesson")
  for name, x in pairs(opts.peaks or {}) do
    if type(x) ~= "table" then
      argument.check("lesson", "peaks." .. tostring(name), x, "number")
    end
  end
  if type(opts.device or {}) ~= "table" then
    argument.check("lesson", "device", opts.device, "Device")
  end
  local reading = setmetatable({roofs = {}}, meta)
  local context = not opts.device and (opts.context or cl.context()) or nil
  reading.text = unread(r, context and context.device)
  if reading.text then
    reading.limit = r.median and r.ok ~= false and "unknown" or nil
    return reading
  end
  local f = facts_of(r, {device = opts.device, peaks = opts.peaks,
    use = opts.use, context = context})
  reading.traffic = f.traffic
  reading.roofs, reading.over = roofs_of(r, f)
  local top = reading.roofs[1]
  local lanes, one = lanes_of(r, f)
  reading.one_lane = one and top and top.share < LOW and lanes or nil
  reading.vectors = not one and lanes or nil
  reading.limit, reading.text, reading.share = judge(r, f, reading)
  return reading
end

return M

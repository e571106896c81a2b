-- lesson.lua - what limits a result here, in one sentence: from the measured
-- roofs, the traffic model, the launch, and the occupancy where it is known
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local occupancy = require "clshell.explain.occupancy"
local options = require "clshell.base.options"
local peak = require "clshell.measure.peaks"
local quantity = require "clshell.base.quantity"
local rungs = require "clshell.family.rung"
local traffic = require "clshell.explain.traffic"

local M = require "clshell.base.lazy".table(...)

local SURE = 0.6    -- of a roof, from which on it is what limits
local LAUNCH = 0.2  -- of the time, from which on the launch does
local LOW = 0.25    -- occupancy that may leave latency open
local OVER = 1.1    -- of a roof: the model counts more than was moved
local FAMILIES = {gemm = true, spmv = true, transpose = true}
local MEMORY = {"read", "write", "copy"}

-- The peaks of a context, each measured when it is asked for.
local function peaks_of(context)
  return setmetatable({}, {__index = function(_, name)
    return (peak.get(name, context))
  end})
end

local function find_rung(r)
  if FAMILIES[r.family] then
    local family = require("clshell." .. r.family)
    local ok, rung = pcall(family.rung, r.kernel)
    return ok and rung or nil, family
  end
end

-- What a reading rests on besides the result: device, peaks, and of a rung
-- its shape, work-groups and traffic.
local function facts_of(r, opts)
  local f = {device = opts.device, peaks = opts.peaks, use = opts.use}
  if not (f.device and f.peaks) then
    f.context = opts.context or cl.context()
    f.device = f.device or f.context.device
    f.peaks = f.peaks or peaks_of(f.context)
  end
  local rung, family = find_rung(r)
  if not rung or type(r.shape) ~= "table" then -- a row of history has words
    return f
  end
  local full = {type = r.type}
  for name, value in pairs(r.shape) do
    full[name] = name:find("^trans_") and value == 1 or value
  end
  local known, p = pcall(rungs.parameters, rung, r.params or {}, "lesson")
  if not known then
    return f
  end
  f.rung, f.family, f.params = rung, family, p
  f.shape = family.spec.shape(full)
  f.shape.context = f.context or {device = f.device}
  local all, size = rung.range(f.shape, p)
  f.items, f.groups = 1, 1
  for i, n in ipairs(all) do
    f.items = f.items * (size and size[i] or 1)
    f.groups = f.groups * (n // (size and size[i] or 1))
  end
  f.groups = size and f.groups
  f.traffic = traffic.of(r, rung, f.device, f.shape, p)
  return f
end

local function rate(x, unit)
  return quantity.format(x, unit, 3)
end

local function percent(x)
  return ("%.0f %%"):format(100 * x)
end

-- Adds a roof: the least seconds for `amount` at a peak's rate. `words` has
-- a place for the rate reached, the share and the peak.
local function add(roofs, t, limit, amount, top, unit, words, model)
  if amount and amount > 0 and top and top > 0 then
    local share = amount / top / t
    roofs[#roofs + 1] = {limit = limit, share = share, model = model,
      least = amount / top, words = words:format(rate(amount / t, unit),
        percent(math.min(share, 1)), rate(top, unit))}
  end
end

local function best_of(peaks, names)
  local most, best = 0, nil
  for _, name in ipairs(names) do
    local value = peaks[name]
    if value and value > most then
      most, best = value, name
    end
  end
  return most, best
end

-- Whether the first cache and local memory are one memory with one path, so
-- that the measured rate of the one holds for the other: NVIDIA's GPUs from
-- compute capability 7.0 on (Volta tuning guide, "Unified Shared Memory/L1").
local function one_path(dev)
  return (dev.nv_compute_capability_major or 0) >= 7
end

local function traffic_roofs(roofs, t, f)
  local moves, dev, peaks = f.traffic, f.device, f.peaks
  if not moves then
    return
  end
  if moves.warps then
    add(roofs, t, "memory", moves.fetch, peaks.cache, "B/s", "its "
      .. "work-groups fetch %s from the last cache, %s of the %s read there",
      true)
  end
  local top = not moves.warps and peaks.cache
    or one_path(dev) and peaks["local"] or nil
  add(roofs, t, "memory", moves.global, top, "B/s", "its work-items move %s "
    .. "through the caches, %s of the %s measured"
    .. (moves.warps and " on that path" or " there"), true)
  if moves.locals then
    local conflict = moves.ways >= 1.5 and (", bank conflicts of %.0f ways "
      .. "counted"):format(moves.ways) or ""
    add(roofs, t, "local memory", moves.locals, peaks["local"], "B/s",
      "local memory moves %s, %s of the %s measured" .. conflict, true)
  end
end

-- All roofs above a result, the nearest first; those that the traffic model
-- puts below it are not used.
local function roofs_of(r, f)
  local roofs, t, peaks = {}, r.median, f.peaks
  local type = r.type or "float"
  if r.unit ~= "matrix" then
    add(roofs, t, "compute", r.flop, peaks["fma_" .. type], "FLOP/s",
      "%s is %s of the %s that multiply-adds in " .. type .. " reach")
  end
  local hot = r.mode ~= "cold"
  local names = hot and {"cache", table.unpack(MEMORY)} or MEMORY
  local top, name = best_of(peaks, names)
  add(roofs, t, "memory", r.bytes, top, "B/s", "%s, each element moved "
    .. "once, is %s of the %s of "
    .. (name == "cache" and "the caches" or "memory"))
  traffic_roofs(roofs, t, f)
  if r.floor and r.floor > 0 then
    roofs[#roofs + 1] = {limit = "launch overhead", share = r.floor / t,
      least = r.floor, words = ("an empty kernel takes %s of its %s"):format(
        rate(r.floor, "s"), rate(t, "s"))}
  end
  local good = {}
  for _, roof in ipairs(roofs) do
    if not (roof.model and roof.share > OVER) then
      good[#good + 1] = roof
    end
  end
  table.sort(good, function(a, b)
    return a.share > b.share
  end)
  return good
end

-- What the driver tells of the kernel of a result, or nil and the reason.
local function use_of(f)
  if f.use then
    return f.use
  elseif not (f.rung and f.context) then
    return nil, "it is no rung whose kernel could be asked"
  end
  local prepared = require "clshell.family.prepared_call"
  local ok, kernel = pcall(prepared.kernel, f.family, f.rung,
    f.params, f.shape)
  if not (ok and kernel) then
    return nil, "its kernel cannot be built now"
  end
  return occupancy.kernel(f.rung, kernel,
    rungs.defines(f.rung, f.params, f.shape),
    f.rung.options and f.rung.options(f.params, f.shape), f.context)
end

-- The occupancy of a result: {share, by, words, source}, or nil and why it
-- is not known.
local function occupancy_of(f)
  local limits, reason = occupancy.limits(f.device)
  if not limits then
    return nil, reason
  end
  local use
  use, reason = use_of(f)
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

-- Fewer work-groups than units: that needs no register to be seen.
local function few_groups(f)
  local units = f.device.compute_units
  if f.groups and units and f.groups < units then
    return ("%d work-group%s for %d compute units (source: the NDRange, "
      .. "CL_DEVICE_MAX_COMPUTE_UNITS)"):format(f.groups,
      f.groups == 1 and "" or "s", units)
  end
end

-- On a CPU: the lanes of its vectors, where one of them would do for this.
local function one_lane(r, f)
  local type = r.type or "float"
  local lanes = f.device["native_vector_width_" .. type]
  local top = f.peaks["fma_" .. type]
  return f.device.type == "cpu" and lanes and lanes > 1 and top and r.flop
    and r.flop > 0 and r.flop / r.median * lanes < top and lanes or nil
end

local function unknown(reading, roof)
  local words = roof and ("no roof is nearer than %s (%s)"):format(
    roof.limit, roof.words) or "nothing is known of its FLOP or bytes"
  local rest = reading.occupancy and ("occupancy is no lack (%s; %s)"):format(
    reading.occupancy.words, reading.occupancy.source)
    or "its occupancy is not known: " .. reading.reason
  local slow = reading.one_lane and (", and it is no faster than one lane of "
    .. "the device's vectors of %d"):format(reading.one_lane) or ""
  reading.limit = "unknown"
  reading.text = ("Not known what limits it: %s; %s%s."):format(words, rest,
    slow)
end

local function judge(r, f, reading)
  local roof = reading.roofs[1]
  local launch = r.floor and r.floor / r.median or 0
  if roof and roof.share >= SURE then
    reading.limit, reading.share = roof.limit, roof.share
    reading.text = ("Limited by %s: %s."):format(roof.limit, roof.words)
    return
  elseif launch >= LAUNCH then
    reading.limit, reading.share = "launch overhead", launch
    reading.text = ("Limited by launch overhead: an empty kernel takes %s of "
      .. "its %s."):format(rate(r.floor, "s"), rate(r.median, "s"))
    return
  end
  local near = roof and (", and no roof is nearer than %s (%s)"):format(
    roof.limit, percent(roof.share)) or ""
  local few = few_groups(f)
  reading.occupancy, reading.reason = occupancy_of(f)
  local o = reading.occupancy
  if few then
    reading.limit = "occupancy"
    reading.text = ("Limited by occupancy: there are only %s%s."):format(few,
      near)
  elseif o and o.share < LOW then
    reading.limit, reading.share = "occupancy", o.share
    reading.text = ("Probably limited by occupancy: %s (%s)%s."):format(
      o.words, o.source, near)
  else
    unknown(reading, roof)
  end
end

local meta = {
  __tostring = function(reading)
    return reading.text
  end,
}

local function flagged(r, name)
  for _, flag in ipairs(r.flags or {}) do
    if flag == name then
      return true
    end
  end
end

-- A reading of what has no time that could be read.
local function unread(r, device)
  if not r.median or r.median <= 0 or r.ok == false then
    return ("Nothing to read: %s."):format(r.note or r.error
      or r.status ~= "ok" and r.status or "there is no time")
  elseif flagged(r, "IMPOSSIBLE?") then
    return ("Not to be believed: %s."):format(r.note and
      r.note:match("IMPOSSIBLE%?[^;]*") or "it is above the roofline")
  elseif r.family and not r.device then
    return "It ran on the host, whose roofs are not measured."
  end
  local name = type(r.device) == "table" and r.device.name or r.device
  if name and device and name ~= device.name then
    return ("Not known what limits it: it was measured on %s, whose peaks "
      .. "are not known here."):format(name)
  end
end

--- lesson.read(r [, opts]) -> table
--- What limits a result of bench here, with all that it rests on: limit
--- ("memory", "compute", "local memory", "launch overhead", "occupancy",
--- "unknown", or nil where there is nothing to read), share (of that roof),
--- text (the sentence of lesson, which printing shows), roofs (a list of
--- {limit, share, least (seconds), words}, the nearest first), traffic (see
--- traffic.of), occupancy ({share, groups, items, by, registers, words,
--- source}) or reason (why it is not known), one_lane (on a CPU that ran no
--- faster than one lane of its vectors would: their length). Options as for
--- lesson.
function M.read(r, opts)
  if type(r) ~= "table" then
    cl.error("lesson: a result of bench expected, got a " .. type(r))
  end
  options.check(opts, "lesson")
  opts = opts or {}
  local reading = setmetatable({roofs = {}}, meta)
  local simulated = opts.device ~= nil
  local context = not simulated and (opts.context or cl.context()) or nil
  reading.text = unread(r, context and context.device)
  if reading.text then
    reading.limit = r.median and r.ok ~= false and "unknown" or nil
    return reading
  end
  local f = facts_of(r, {device = opts.device, peaks = opts.peaks,
    use = opts.use, context = context})
  reading.traffic = f.traffic
  reading.roofs = roofs_of(r, f)
  local top = reading.roofs[1]
  reading.one_lane = top and top.share < LOW and one_lane(r, f) or nil
  judge(r, f, reading)
  return reading
end

--- lesson(r [, opts]) -> string
--- One sentence on what limits a result of bench on this device: memory,
--- compute, local memory, launch overhead or occupancy, with the numbers that
--- it rests on. A roof limits from 60 % of it on; roofs are the measured
--- peaks (see peaks) over the result's FLOP and bytes and over what the rung
--- moves through the caches and local memory (see traffic.of). A launch
--- limits that takes 20 % of the time. Where no roof is near, occupancy is
--- what remains: work-groups fewer than units, or, on NVIDIA, work-items on a
--- multiprocessor by registers and local memory. Where that is not known, or
--- no lack, it says so. lesson.read has the parts, lesson.ladder reads a
--- whole ladder.
--- Options:
---   device   session's   the Device it ran on
---   peaks    peaks()     a table of measured peaks
---   use      the driver's  {registers, local_bytes, source} of the kernel
---   context  session's   the Context of another device
function M.lesson(r, opts)
  return M.read(r, opts).text
end

--- lesson.ladder(rows [, opts]) -> string
--- A reading of a ladder's results, in lines as wide as the window: which
--- step paid (its factor over the rung it builds on), which did not on this
--- device, and why, as far as the traffic model and the readings tell; then
--- what limits the best. Of several rows of a rung (its tile sizes, say) the
--- fastest counts, beside the other rung's with the same tile. Options as for
--- lesson.
--- Options:
---   width  window  columns
function M.ladder(rows, opts)
  return require("clshell.explain.ladder").text(rows, opts)
end

return setmetatable(M, {__call = function(_, ...)
  return M.lesson(...)
end})

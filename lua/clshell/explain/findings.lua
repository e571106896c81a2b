-- explain/findings.lua - the reports of the simulator as findings: each
-- defect once, in words
-- SPDX-License-Identifier: MIT

local jobs = require "clshell.explain.job"
local reports = require "clshell.explain.reports"
local text = require "clshell.base.text"

local M = {}

local OFFSET = 48       -- bits of an address below the number of its memory
local NEAR = 1 << 47    -- the reach of an argument's address space, in bytes

-- The argument that holds an address, or else the nearest argument; and the
-- address as bytes from the argument's beginning.
local function argument_at(launch, address)
  local best, least, distance
  for i, a in ipairs(launch.args) do
    local from = launch.addresses[i]
    local d = from and address - from
    if d and d > -NEAR and d < NEAR then
      local off = d < 0 and -d or math.max(0, d - a.bytes + 1)
      if not least or off < least then
        best, least, distance = a, off, d
      end
    end
  end
  return best, distance
end

-- "(3, 1)" or "3", as the launch has dimensions.
local function index(launch, ids)
  local n = #launch.global
  return n == 1 and tostring(ids[1])
    or ("(%s)"):format(table.concat(ids, ", ", 1, n))
end

local function item(launch, place)
  if place.item then
    return "work-item " .. index(launch, place.item)
  end
  return place.group and (place.line and "work-group "
    or "an asynchronous copy of work-group ") .. index(launch, place.group)
    or "a work-item"
end

-- What an access does, by the intermediate code.
local function does(place, store, load)
  local code = place.code or ""
  if code:find "^%s*store" then
    return store
  elseif code:find "^%s*%%?[%w._]*%s*=?%s*load" then
    return load
  end
  return code:find "atomic" and "changes" or store
end

-- "x[8]", by the offset in bytes.
local function element(a, offset)
  if offset % a.size == 0 then
    return ("%s[%d]"):format(a.name, offset // a.size)
  end
  return ("%s[%d] + %d bytes"):format(a.name, offset // a.size,
    offset % a.size)
end

local function span(f)
  local a = f.argument
  local first, last = element(a, f.first), element(a, f.last)
  return first == last and first or ("%s to %s"):format(first, last)
end

local function holds(a)
  return ("it has %s"):format(text.count(a.count, "element"))
end

-- The name of the memory of a finding without an argument.
local function memory(f)
  return f.space == "local" and "local memory"
    or f.space == "private" and "private memory" or "global memory"
end

local words = {}

function words.outside(f)
  local a = f.argument
  local act = f.access
  if a and (f.first < 0 or f.last >= a.bytes) then
    return ("%s outside '%s': %s; %s"):format(act, a.name, span(f), holds(a))
  elseif f.space == "global" and f.address >> OFFSET == 0 then
    return ("%s through a pointer to no Buffer: address 0x%x"):format(act,
      f.address)
  end
  return ("%s outside an array in %s"):format(act, memory(f))
end

function words.index(f)
  return ("index %s outside an array of %s"):format(f.low == f.high
    and tostring(f.low) or ("%d to %d"):format(f.low, f.high),
    text.count(f.count, "element"))
end

-- What the n-th access of a race does. A copy has no code: it reads if the
-- other access must be the write.
local function races(f, n)
  local other = f.places[3 - n]
  if f.places[n].code or f.access:find "^Write"
      or does(other, "writes", "reads") == "reads" then
    return does(f.places[n], "writes", "reads")
  end
  return "reads"
end

function words.race(f, launch)
  return ("race on %s: %s %s, and %s %s"):format(f.argument and span(f)
    or memory(f), item(launch, f.places[1]), races(f, 1),
    item(launch, f.places[2]), races(f, 2))
end

function words.divergence(f, launch)
  local group = f.places[1] and f.places[1].group
  local whose = group and " of work-group " .. index(launch, group) or ""
  local call = f.access == "barrier" and "a barrier" or "an " .. f.access
  if f.some then
    return ("%s in divergent code: %d of the %d work-items%s reach it")
      :format(call, f.some, f.all, whose)
  end
  return ("%s in divergent code: the work-items%s reach different ones")
    :format(call, whose)
end

function words.unwritten(f)
  return ("a value that was never written goes to %s"):format(f.argument
    and span(f) or memory(f))
end

words["unwritten address"] = function()
  return "the address depends on a value that was never written"
end

words["unwritten branch"] = function()
  return "the branch depends on a value that was never written"
end

function words.misaligned(f)
  local align = (f.places[1] and f.places[1].code or ""):match "align (%d+)"
  return ("misaligned %s: the address must be a multiple of %s"):format(
    f.access == "store" and "write" or "read", align
    and text.count(tonumber(align), "byte") or "the type's size")
end

function words.constant()
  return "write to constant memory"
end

words["write-only"] = function()
  return "read of a Buffer that kernels may only write"
end

function words.wait()
  return "a wait for an event that no copy has given"
end

function words.events()
  return "an asynchronous copy that nobody waits for"
end

function words.other(f)
  return f.title
end

-- The key that all repetitions of a defect share.
local function key_of(r)
  local parts = {r.kind, r.argument and r.argument.name or r.space or "",
    r.kind == "other" and r.title or "", r.count or 0}
  local places = {}
  for i, p in ipairs(r.places) do
    places[i] = ("%s:%s:%s"):format(p.file, p.line, p.column)
  end
  table.sort(places)
  return table.concat(parts, "|") .. table.concat(places, "|")
end

-- Adds a repetition to a finding.
local function join(f, r)
  f.times = f.times + 1
  if r.access and not f.access:find(r.access, 1, true) then
    f.access = f.kind == "outside" and "read and write" or f.access
  end
  if r.first then
    f.first, f.last = math.min(f.first, r.first), math.max(f.last, r.last)
  end
  if r.index then
    f.low, f.high = math.min(f.low, r.index), math.max(f.high, r.index)
  end
end

-- Places a report's address in an argument of the launch.
local function locate(r, launch)
  if r.space == "global" and r.address then
    local a, offset = argument_at(launch, r.address)
    r.argument, r.first, r.last = a, offset, offset
  end
  r.low, r.high = r.index, r.index
  local p, q = r.places[1], r.places[2]
  if q and q.line and not p.line then -- the place in the source comes first
    r.places = {q, p}
  end
end

-- Kinds whose accesses give values that then count as never written.
local CAUSES = {outside = true, index = true, misaligned = true, race = true,
  wait = true}

-- Whether a finding only repeats or follows from another: an index outside an
-- array is an access outside as well; a value that was read outside,
-- misaligned or too early counts as never written.
local function follows(f, list)
  for _, other in ipairs(list) do
    if f.kind == "outside" and not f.argument and other.kind == "index"
        and other.line == f.line and other.file == f.file
        or f.kind:find "^unwritten" and CAUSES[other.kind] then
      return true
    end
  end
  return false
end

--- findings.band(argument, first, last) -> finding
--- A write to the bytes `first` to `last`, from the beginning of an argument.
function M.band(argument, first, last)
  local f = {kind = "outside", access = "write", space = "global", places = {},
    times = 1, first = first, last = last - last % argument.size,
    argument = argument}
  f.first = f.first - f.first % argument.size
  f.text = words.outside(f)
  return f
end

--- findings.fold(list, launch) -> list
--- The reports of a launch as findings, each once: kind, text, times (how
--- often), line, column, file, item (the first work-item) and, of a race,
--- `other` (line, column, item of the second access). `launch`: global (its
--- size), args ({name, count, size, bytes}) and their addresses; unsure (see
--- job.unsure).
function M.fold(reported, launch)
  local list, known = {}, {}
  for _, r in ipairs(reported) do
    locate(r, launch)
    local key = key_of(r)
    if known[key] then
      join(known[key], r)
    else
      known[key], list[#list + 1], r.times = r, r, 1
      local p, q = r.places[1] or {}, r.places[2]
      r.line, r.column, r.file, r.item = p.line, p.column, p.file, p.item
      r.other = q and {line = q.line, column = q.column, file = q.file,
        item = q.item, text = ("%s %s here"):format(item(launch, q),
        races(r, 2))}
    end
  end
  local out = {}
  for _, f in ipairs(list) do
    local unsure = launch.unsure and f.kind:find "^unwritten"
    if not (unsure or follows(f, list)) then
      f.text = words[f.kind](f, launch)
      f.who = f.kind ~= "race" and f.kind ~= "divergence" and f.places[1]
        and f.places[1].item and item(launch, f.places[1]) or nil
      out[#out + 1] = f
    end
  end
  table.sort(out, function(a, b)
    if (a.line or 0) ~= (b.line or 0) then
      return (a.line or 0) < (b.line or 0)
    end
    return a.text < b.text
  end)
  return out
end

-- The findings of guard bands.
local function of_bands(launch, bands)
  local list = {}
  for _, band in ipairs(bands) do
    for _, a in ipairs(launch.args) do
      if a.memory and jobs.settled(a.memory).index == band.memory then
        list[#list + 1] = M.band(a, band.first, band.last)
        break
      end
    end
  end
  return list
end

--- findings.merge(list, fresh, at)
--- Adds the findings of another launch of the same kernels to the list; `at`,
--- a list, tells where each was found.
function M.merge(list, fresh, at)
  for _, f in ipairs(fresh) do
    local key, known = key_of(f), nil
    for _, other in ipairs(list) do
      known = known or key_of(other) == key and other
    end
    if not known then
      f.at = {}
      list[#list + 1], known = f, f
    else
      known.times = known.times + f.times
    end
    if known.at[#known.at] ~= at then
      known.at[#known.at + 1] = at
    end
  end
end

--- findings.of(launch, result) -> list
--- The findings of a launch of a job, by its result (see replay.run).
function M.of(launch, result)
  if result.bands then
    return of_bands(launch, result.bands)
  end
  launch.addresses = result.addresses
  return M.fold(reports.parse(result.log), launch)
end

return M

-- history.lua - what the run store knows of the past: medians over time, the
-- best run of each problem, and what to forget
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.measure.record_fields"
local options = require "clshell.base.options"
local report = require "clshell.report.table"
local style = require "clshell.base.style"

local M = {}

local BLOCKS = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
local ASCII = {"_", ".", "-", "=", "+", "*", "#"}
local FLAT = 0.01   -- medians this near one another are drawn level
local LONGEST = 24  -- medians in a sparkline


--- history.sparkline(numbers) -> string
--- Numbers as a row of bars, the newest 24 of them, from the least to the
--- greatest; level where they differ by less than 1 %.
function M.sparkline(numbers)
  local bars = style.glyphs() and BLOCKS or ASCII
  local first = math.max(1, #numbers - LONGEST + 1)
  local shown = table.move(numbers, first, #numbers, 1, {})
  local low, high = math.huge, -math.huge
  for _, x in ipairs(shown) do
    low, high = math.min(low, x), math.max(high, x)
  end
  for i, x in ipairs(shown) do
    local place = 0
    if high - low > FLAT * math.abs(low) and high - low < math.huge then
      place = (x - low) / (high - low)
    end
    shown[i] = bars[1 + math.floor(place * (#bars - 1) + 0.5)]
  end
  return table.concat(shown)
end

--- history.key(row) -> string
--- What two runs must have in common to be comparable: name, parameters,
--- shape, element type, cache mode, device. row: a record or a row of s:list.
function M.key(r, without_config)
  local json = require "clshell.base.json"
  local shape = type(r.shape) == "table" and json.encode(r.shape) or r.shape
  local device = type(r.device) == "table" and r.device.name or r.device
  return table.concat({r.name or "", without_config and "" or r.config or "",
    shape or "", r.type or "", r.mode or "", device or ""}, "\0")
end

--- history.groups(rows [, without_config]) -> list of lists
--- Rows of s:list with the same key together, each list oldest first, the one
--- with the newest row first.
function M.groups(rows, without_config)
  local list, known = {}, {}
  for i = #rows, 1, -1 do
    local key = M.key(rows[i], without_config)
    if not known[key] then
      known[key] = {}
      list[#list + 1] = known[key]
    end
    table.insert(known[key], 1, rows[i])
  end
  return list
end

local function listed(list, columns, empty)
  return setmetatable(list, {__tostring = function(self)
    if #self == 0 then
      return empty
    end
    return report.format(self, columns)
  end})
end

local HISTORY = {
  {key = "name", title = "name"},
  {key = "config", title = "parameters", drop = 2},
  {key = "title", title = "problem"},
  {key = "mode", title = "cache", drop = 5},
  {key = "device", title = "device", drop = 4},
  {key = "count", title = "runs", align = "right"},
  {key = "median", title = "newest", unit = "s"},
  {key = "change", title = "change %", format = "%+.1f", drop = 6},
  {key = "trend", title = "medians"},
  {key = "tag", title = "tag", drop = 7},
  {key = "id", title = "run", align = "right", drop = 3},
  {key = "time", title = "time", drop = 8},
}

-- A row of the table from runs of one key: newest first wherever there is
-- one value, as the past is in the sparkline.
local function summary(runs)
  local newest, medians = runs[#runs], {}
  for _, run in ipairs(runs) do
    medians[#medians + 1] = run.median
  end
  local row = {runs = runs, count = #runs, trend = M.sparkline(medians)}
  for key, value in pairs(newest) do
    row[key] = value
  end
  if newest.median and #medians > 1 then
    local before = medians[#medians - 1]
    row.change = before > 0 and 100 * (newest.median / before - 1) or nil
  end
  return row
end

--- s:history{name=, device=, tag=, since=, limit=} -> list
--- The runs kept, those of the same name, parameters, shape, cache mode and
--- device in one row: how many, the newest median and its change since the
--- one before, and all medians as a sparkline, oldest first. name is that of
--- a bench ("gemm.tiled"), a kernel or a family; device a part of its name;
--- since a time (see store.moment); limit so many of the newest runs. Prints
--- as a table; each row has the fields of its newest run, and `runs`, all of
--- them.
function M.history(s, opts)
  options.check(opts, "history")
  local list = {}
  for _, runs in ipairs(M.groups(s:list(opts))) do
    list[#list + 1] = summary(runs)
  end
  return listed(list, HISTORY, "no runs kept that fit")
end

-- The hash of a kernel's source as it is now; nil where that is not known.
local function present_source(r)
  if not (r.family and r.kernel) then
    return nil
  end
  local found, family = pcall(require, "clshell." .. r.family)
  local ok, rung = pcall(function()
    return family.rung(r.kernel)
  end)
  if not (found and ok and rung) then
    return nil
  end
  local source = rung.source
  local file = not source and rung.path and io.open(rung.path, "rb")
  if file then
    source = file:read("a")
    file:close()
  end
  return source and require("clshell.measure.cachefile").hash(source)
end

-- The driver versions of the devices here of that name, as a set; nil where
-- there is none.
local function present_drivers(name)
  local ok, devices = pcall(cl.devices)
  local set
  for _, dev in ipairs(ok and devices or {}) do
    if dev.name == name then
      set = set or {}
      set[dev.driver_version] = true
    end
  end
  return set
end

-- Adds to `stale` what has changed since run r: compared with what is here
-- now, else with the newest run `last` of its group.
local function staleness(r, last)
  local stale = {}
  local source = present_source(r) or last.source_hash
  if r.source_hash and source and source ~= r.source_hash then
    stale[1] = "source changed since"
  end
  local device = type(r.device) == "table" and r.device or {}
  local drivers = device.name and present_drivers(device.name)
    or last.driver and {[last.driver] = true}
  if device.driver and drivers and not drivers[device.driver] then
    stale[#stale + 1] = "driver changed since"
  end
  return #stale > 0 and table.concat(stale, "; ") or nil
end

-- The fastest run of a group that was right and possible.
local function fastest(s, runs)
  local order = {}
  for _, run in ipairs(runs) do
    if run.median and (run.status or "ok") == "ok" then
      order[#order + 1] = run
    end
  end
  table.sort(order, function(a, b)
    return a.median < b.median or a.median == b.median and a.id > b.id
  end)
  for _, run in ipairs(order) do
    local r = s:get(run.id)
    if r and not fields.fails(r) then
      return r
    end
  end
end

local BEST = {
  {key = "name", title = "name"},
  {key = "config", title = "parameters"},
  {key = "title", title = "problem"},
  {key = "mode", title = "cache", drop = 3},
  {key = function(r)
    return type(r.device) == "table" and r.device.name or r.device
  end, title = "device", drop = 2},
  {key = "median", title = "time", unit = "s"},
  "gflops", "gbs",
  {key = "id", title = "run", align = "right"},
  {key = "tag", title = "tag", drop = 5},
  {key = "time", title = "time", drop = 6},
  {key = "stale", title = "note", wrap = true},
}

--- s:best{name=, device=, tag=, since=} -> list
--- The fastest run that was right, over all parameters, of each name, shape,
--- element type, cache mode and device. Each is a record; its field `stale`
--- says "source changed since" or "driver changed since" when the kernel's
--- source or the device's driver is another one now (where they are not here:
--- in the newest run). Prints as a table.
function M.best(s, opts)
  options.check(opts, "best")
  local list = {}
  for _, runs in ipairs(M.groups(s:list(opts), true)) do
    local r = fastest(s, runs)
    if r then
      local same = {}
      for _, run in ipairs(runs) do
        same[#same + 1] = run.config == r.config and run or nil
      end
      r.stale = staleness(r, same[#same])
      list[#list + 1] = r
    end
  end
  return listed(list, BEST, "no runs kept that fit")
end

--- s:prune{older_than=, keep=, tag=, name=, device=} -> count
--- Forgets runs: those older than a time (see store.moment), of a tag, a name
--- or a device, and all of that at once where several are given; but never
--- the newest `keep` of the same name, parameters, shape, cache mode and
--- device. keep alone forgets the rest of all.
function M.prune(s, opts)
  options.check(opts, "prune")
  if opts == nil or next(opts) == nil then
    cl.error("prune: say what to forget: older_than, keep, tag, name or "
      .. "device")
  end
  local keep = opts.keep or 0
  if math.type(keep) ~= "integer" or keep < 0 then
    cl.error(("prune: keep is a whole number of at least 0, not %s"):format(
      tostring(keep)))
  end
  local filter = {tag = opts.tag, name = opts.name, device = opts.device}
  local all, doomed = s:list(filter), {}
  filter.before = opts.older_than
  for _, run in ipairs(opts.older_than and s:list(filter) or all) do
    doomed[run.id] = true
  end
  for _, runs in ipairs(M.groups(all)) do
    for i = math.max(1, #runs - keep + 1), #runs do
      doomed[runs[i].id] = nil
    end
  end
  return s:remove(doomed)
end

return M

-- results/history.lua - the past in the run store: medians over time, the best
-- run of each problem, and the pruning of old runs
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local argument = require "clshell.base.argument"
local options = require "clshell.base.options"
local families = require "clshell.ladder.families"
local fields = require "clshell.results.fields"
local report = require "clshell.results.tables"
local style = require "clshell.base.style"

local M = {}

local BLOCKS = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
local ASCII = {"_", ".", "-", "=", "+", "*", "#"}
local FLAT = 0.01   -- the part of a median that counts as level
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

--- history.key(row [, without_config]) -> string
--- Comparable runs have the same key: name, parameters, shape, element type,
--- cache mode and device. row: a record or a row of s:list.
function M.key(r, without_config)
  local json = require "clshell.base.json"
  local shape = type(r.shape) == "table" and json.encode(r.shape) or r.shape
  return table.concat({r.name or "", without_config and "" or r.config or "",
    shape or "", r.type or "", r.mode or "", fields.device(r) or ""},
    "\0")
end

--- history.groups(rows [, without_config]) -> list of lists
--- Groups rows of s:list by their keys: each group oldest first, the group of
--- the newest row first.
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

-- A list of runs that prints as a table.
local function listed(list, columns)
  return setmetatable(list, {__tostring = function(self)
    return #self == 0 and "no runs kept that fit"
      or report.format(self, columns)
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

-- The row of a group: the fields of its newest run, and all medians.
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

--- s:history([opts]) -> list
--- The list of history(opts), from this store.
function M.history(s, opts)
  options.check(opts, "history")
  local list = {}
  for _, runs in ipairs(M.groups(s:list(opts))) do
    list[#list + 1] = summary(runs)
  end
  return listed(list, HISTORY)
end

-- The hash of a kernel's present source; nil where the source is unknown.
local function present_source(r)
  local family = families.get(r.family)
  local ok, rung = pcall(family and family.rung, r.kernel)
  if ok then
    return (select(2, require("clshell.ladder.program").source(rung)))
  end
end

-- The changes since run r: against the present source and driver, or else
-- against the newest run `last` of its group.
local function staleness(r, last)
  local source, drivers = present_source(r) or last.source_hash, {}
  local name, driver = fields.device(r)
  local known, devices = pcall(cl.devices)
  for _, dev in ipairs(known and devices or {}) do
    if dev.name == name then
      drivers[dev.driver_version] = true
    end
  end
  if last.driver and next(drivers) == nil then
    drivers[last.driver] = true
  end
  local stale = {}
  if r.source_hash and source and source ~= r.source_hash then
    stale[1] = "source changed since"
  end
  if driver and next(drivers) and not drivers[driver] then
    stale[#stale + 1] = "driver changed since"
  end
  return #stale > 0 and table.concat(stale, "; ") or nil
end

-- The fastest run of a group whose result was right and possible.
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
    local r = s:usable(run.id)
    if r and not fields.fails(r) then
      return r
    end
  end
end

local BEST = {
  {key = "name", title = "name"},
  {key = "config", title = "parameters", wrap = true},
  {key = "title", title = "problem"},
  {key = "mode", title = "cache", drop = 3},
  {key = function(r)
    return (fields.device(r))
  end, title = "device", drop = 2},
  {key = "median", title = "time", unit = "s"},
  "gflops", "gbs",
  {key = "id", title = "run", align = "right"},
  {key = "tag", title = "tag", drop = 5},
  {key = "time", title = "time", drop = 6},
  {key = "stale", title = "note", wrap = true},
}

--- s:best([opts]) -> list
--- The list of best(opts), from this store.
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
  return listed(list, BEST)
end

--- s:prune(opts) -> count
--- Forgets runs as prune(opts) does, in this store.
function M.prune(s, opts)
  options.check(opts, "prune")
  if opts == nil or next(opts) == nil then
    cl.error("prune: opts must name the runs to forget: older_than, keep, "
      .. "tag, name or device")
  end
  local keep = argument.integer("prune", "keep", opts.keep or 0, 0)
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

-- results/history.lua - the past in the run store: medians over time, the best
-- run of each problem, the pruning of old runs, and the comparison of kept
-- runs: faster, slower, the same, or unclear
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local argument = require "clshell.base.argument"
local json = require "clshell.base.json"
local options = require "clshell.base.options"
local families = require "clshell.ladder.families"
local fields = require "clshell.results.fields"
local record = require "clshell.measure.record"
local report = require "clshell.results.tables"
local stats = require "clshell.measure.stats"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

M.THRESHOLD = 0.03 -- smaller differences do not count
local CHANCE = 0.01 -- the largest p that does not count as chance

local BLOCKS = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
local ASCII = {"_", ".", "-", "=", "+", "*", "#"}
local FLAT = 0.01   -- the part of a median that counts as level
local LONGEST = 24  -- medians in a sparkline
local WIDEST = 72   -- medians above the steps of a subject
local MOST = 500    -- runs that a list reads to name the steps

--- history.sparkline(numbers [, most]) -> string
--- Numbers as a row of bars, the newest `most` (24) of them, from the least to
--- the greatest; level where they differ by less than 1 %.
function M.sparkline(numbers, most)
  local bars = style.glyphs() and BLOCKS or ASCII
  local first = math.max(1, #numbers - (most or LONGEST) + 1)
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

-- Comparable runs have the same key: name, parameters, shape, element type,
-- cache mode and device. r: a record or a row of s:list.
local function key_of(r, without_config)
  local shape = type(r.shape) == "table" and json.encode(r.shape) or r.shape
  return table.concat({r.name or "", without_config and "" or r.config or "",
    shape or "", r.type or "", r.mode or "", record.device_of(r) or ""}, "\0")
end

-- Groups rows of s:list by their keys: each group oldest first, the group of
-- the newest row first.
local function groups(rows, without_config)
  local list, known = {}, {}
  for i = #rows, 1, -1 do
    local key = key_of(rows[i], without_config)
    if not known[key] then
      known[key] = {}
      list[#list + 1] = known[key]
    end
    table.insert(known[key], 1, rows[i])
  end
  return list
end

-- A list of runs that prints as a table; list:table{width = 60} returns it.
local function listed(list, columns)
  local function format(self, opts)
    return #self == 0 and "no runs kept that fit"
      or report.format(self, columns, opts) .. (list.words
        and list.words(opts and opts.width or report.width()) or "")
  end
  return setmetatable(list, {__tostring = format,
    __index = {table = format}})
end

local NAME = {key = "name", title = "name", cut = 16}
local CONFIG = {key = "config", title = "parameters", wrap = 28}
local PROBLEM = {key = "title", title = "problem", cut = 20, once = "%s"}
local CACHE = {key = "mode", title = "cache", drop = 5, once = "%s cache"}
local DEVICE = {key = function(r)
  return (record.device_of(r))
end, title = "device", wrap = true, cut = 16, once = "on %s"}
local TAG = {key = "tag", title = "tag", drop = 7}
local DATE = {key = function(r)
  return r.time and r.time:sub(1, 16):gsub("T", " ")
end, title = "date (UTC)", drop = 8}

local HISTORY = {NAME, CONFIG, PROBLEM, CACHE, DEVICE,
  {key = "count", title = "runs", align = "right"},
  {key = "median", title = "newest", unit = "s"},
  {key = "change", title = "change %", format = "%+.1f", drop = 6},
  {key = "trend", title = "medians"},
  TAG, {key = "id", title = "run", align = "right", drop = 3}, DATE,
}

-- The row of a group: the fields of its newest run, and all medians.
local function summary(runs)
  local newest, medians = runs[#runs], {}
  for _, run in ipairs(runs) do
    medians[#medians + 1] = run.median
  end
  local row = options.with({runs = runs, count = #runs,
    trend = M.sparkline(medians)}, newest)
  if newest.median and #medians > 1 then
    local before = medians[#medians - 1]
    row.change = before > 0 and 100 * (newest.median / before - 1) or nil
  end
  return row
end

-- The steps of a subject {row, trend} under a line of its medians that marks
-- them by number, in lines of `width` columns.
local function told(subject, width)
  local row, trend = table.unpack(subject)
  local medians, marks, lines = {}, {}, {}
  local most = math.max(LONGEST, math.min(width - 2, WIDEST))
  local first = math.max(0, #trend.runs - most)
  for i, r in ipairs(trend.runs) do
    medians[i], marks[math.max(1, i - first)] = r.median, " "
  end
  for i, words in ipairs(require "clshell.results.trend".words(trend)) do
    lines[i] = "\n" .. text.hang(("  %d "):format(i), words, width)
    local at = trend.steps[i].at - first
    if at > 0 then
      marks[at] = tostring(i % 10)
    end
  end
  return ("\n%s\n  %s\n  %s%s"):format(text.hang("", table.concat({row.name
    or "", row.config ~= "" and row.config or nil, row.title}, " ") .. ", "
    .. text.count(#trend.runs, "run"), width), M.sparkline(medians, most),
    table.concat(marks):gsub(" +$", ""), table.concat(lines))
end

-- The subjects of a history, {row, trend} each, and a function of a width that
-- returns their steps in words.
local function trends(s, list)
  local trend, subjects = require "clshell.results.trend", {}
  for i, row in ipairs(list) do
    local records = {}
    for _, run in ipairs(row.runs) do
      records[#records + 1] = s:usable(run.id)
    end
    subjects[i] = {row, trend.of(records)}
  end
  return subjects, function(width)
    local lines, level = {}, 0
    for _, subject in ipairs(subjects) do
      local found = #subject[2].steps > 0
      level = level + (found and 0 or 1)
      lines[#lines + 1] = found and told(subject, width) or nil
    end
    local rest = level > 0 and ("No step in %s. "):format(text.count(level,
      "subject")) or ""
    return table.concat(lines) .. "\n" .. text.hang("", rest .. trend.RULE,
      width)
  end
end

--- s:history([opts]) -> list
--- The list of history(opts), from this store.
function M.history(s, opts)
  options.check(opts, "history")
  local list, filter = {}, options.with({}, opts or {})
  local path = filter.file
  filter.file = nil
  local rows = s:list(filter)
  for _, runs in ipairs(groups(rows)) do
    list[#list + 1] = summary(runs)
  end
  if path and #list == 0 then
    cl.error(("history: no kept run fits%s, so there is no page; history "
      .. "alone lists the names"):format(filter.name and " the name '"
      .. filter.name .. "'" or ""))
  elseif path or filter.name and #rows <= MOST then
    local subjects
    subjects, list.words = trends(s, list)
    if path then
      require("clshell.results.trend").write(subjects, path, filter)
    end
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
  local name, driver = record.device_of(r)
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
    order[#order + 1] = run.median and (run.status or "ok") == "ok" and run
      or nil
  end
  table.sort(order, function(a, b)
    return a.median < b.median or a.median == b.median and a.id > b.id
  end)
  for _, run in ipairs(order) do
    local r = s:usable(run.id)
    if r and not record.fails(r) then
      return r
    end
  end
end

local BEST = {NAME, CONFIG, PROBLEM, CACHE, DEVICE,
  {key = "median", title = "time", unit = "s"},
  "gflops", "gbs",
  {key = "id", title = "run", align = "right", drop = 1},
  TAG, DATE, {key = "stale", title = "note", wrap = true},
}

--- s:best([opts]) -> list
--- The list of best(opts), from this store.
function M.best(s, opts)
  options.check(opts, "best")
  local list = {}
  for _, runs in ipairs(groups(s:list(opts), true)) do
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
  for _, runs in ipairs(groups(all)) do
    for i = math.max(1, #runs - keep + 1), #runs do
      doomed[runs[i].id] = nil
    end
  end
  return s:remove(doomed)
end

local CONDITIONS = {"name", "parameters", "problem", "cache mode", "device",
  "driver", "timer", "source", "build options", "protocol"}

-- The values of CONDITIONS for a run.
local function conditions(r)
  local device, driver = record.device_of(r)
  return {r.name, r.config, r.title, r.mode, device, driver, r.timer,
    r.source_hash, r.options, r.protocol}
end

-- A note on the conditions that differ between two runs, or nil.
local function differences(a, b)
  local names, x, y = {}, conditions(a), conditions(b)
  for i, name in ipairs(CONDITIONS) do
    names[#names + 1] = x[i] ~= nil and y[i] ~= nil and x[i] ~= y[i] and name
      or nil
  end
  return #names > 0 and "not the same: " .. table.concat(names, ", ") or nil
end

-- The usable samples, their median, and their interquartile range as a part of
-- the median; nil without samples.
local function times(r)
  local list = {}
  for _, x in ipairs(r.samples or {}) do
    list[#list + 1] = type(x) == "number" and x > 0 and x < math.huge and x
      or nil
  end
  if #list == 0 then
    return nil
  end
  local of = stats.summary(list)
  return list, of.median, (of.q3 - of.q1) / of.median
end

--- history.judge(a, b [, threshold]) -> result
--- Compares record b with record a, measured at different times: "FASTER" or
--- "SLOWER" where the medians differ by more than `threshold` (0.03) and by
--- more than the interquartile range of either, and a Mann-Whitney test of the
--- samples has p < 0.01; "SAME" where they differ by no more than the
--- threshold; else "UNCLEAR". Fields: verdict, ratio (b's time over a's),
--- change (in %), p, threshold (the larger of all three), broken (a was right
--- and b failed), lo and hi (the 95 % interval of ratio), note, a, b and name,
--- config, title of b.
function M.judge(a, b, threshold)
  local least = threshold or M.THRESHOLD
  local row = {a = a, b = b, name = b.name, config = b.config,
    title = b.title, verdict = "UNCLEAR"}
  local reason, different = nil, differences(a, b)
  local samples_a, median_a, spread_a = times(a)
  local samples_b, median_b, spread_b = times(b)
  if record.fails(a) or record.fails(b) then
    row.broken = not record.fails(a)
    local failed = row.broken and b or a
    reason = ("%s failed: %s"):format(row.broken and "B" or "A",
      failed.error or failed.note or "no reason kept")
  elseif not (samples_a and samples_b) then
    reason = "no samples kept"
  else
    row.before, row.median = median_a, median_b
    row.ratio = median_b / median_a
    row.change = 100 * (row.ratio - 1)
    row.p = stats.mann_whitney(samples_a, samples_b)
    row.lo, row.hi = stats.ratio(samples_a, samples_b)
    row.threshold = math.max(least, spread_a, spread_b)
    local away = math.abs(row.ratio - 1)
    if away > row.threshold and row.p < CHANCE then
      row.verdict = row.ratio < 1 and "FASTER" or "SLOWER"
    elseif away <= least then
      row.verdict = "SAME"
    elseif away <= row.threshold then
      reason = ("samples scatter by %.1f %%"):format(100 * row.threshold)
    else
      reason = ("could be chance: p = %.2g, %d and %d samples"):format(row.p,
        #samples_a, #samples_b)
    end
  end
  row.note = reason and different and reason .. "; " .. different or reason
    or different
  return row
end

-- The newest run of each key of a tag, in the order of their measurement.
local function tagged(s, tag)
  local list = {}
  for _, runs in ipairs(groups(s:list{tag = tag})) do
    for i = #runs, 1, -1 do
      local r = s:usable(runs[i].id)
      if r then
        table.insert(list, 1, r)
        break
      end
    end
  end
  if #list == 0 then
    local tags = {}
    for i, row in ipairs(s:query("SELECT DISTINCT tag FROM run "
        .. "WHERE tag IS NOT NULL ORDER BY tag")) do
      tags[i] = row.tag
    end
    cl.error(#tags > 0 and text.unknown("tag", tag, tags)
      or ("no tag '%s': no kept run has a tag"):format(tag),
      {hint = tag:find "^%a[%w_]*%.[%a_][%w_]*$"
        and ('a rung has a shape: {"%s", {512}}'):format(tag) or nil})
  end
  return list
end

-- The runs of a record, a list of records, the number of a run, "last" (the
-- newest run; "last~2": two runs before it), or a tag, which stands for its
-- newest run of each name, parameters, shape, cache mode and device; and
-- whether it is a single run.
local function selected(s, what)
  if type(what) == "table" then
    local single = what.name ~= nil or what.samples ~= nil
    return fields.list_of(single and {what} or what, "compare"), single
  end
  what = tostring(what)
  local back = what == "last" and 0
    or math.tointeger(tonumber(what:match("^last~(%d+)$")))
  local id = math.tointeger(tonumber(what:match("^%d+$")))
  if back then
    local rows = s:list{limit = back + 1}
    id = rows[1] and #rows == back + 1 and rows[1].id
    if not id then
      cl.error(("no run '%s': only %d are kept"):format(what, #rows))
    end
  elseif not id then
    return tagged(s, what), false
  end
  return {s:get(id) or cl.error(("no run %d is kept"):format(id))}, true
end

local COMPARED = {NAME, CONFIG, PROBLEM,
  {key = "before", title = "A", unit = "s", like = "median"},
  {key = "median", title = "B", unit = "s"},
  {key = "change", title = "change %", format = "%+.1f"},
  {key = function(r)
    return r.lo and ("%+.1f to %+.1f"):format(100 * (r.lo - 1),
      100 * (r.hi - 1))
  end, title = "95 %", align = "right", drop = 3},
  {key = function(r)
    return r.p and ("%.1g"):format(r.p)
  end, title = "p", align = "right", drop = 2},
  {key = "verdict", title = "B is"},
  {key = "note", title = "note", wrap = true},
}

local function counts(list)
  local known, words = {["only in A"] = list.only_a,
    ["only in B"] = list.only_b}, {}
  for _, row in ipairs(list) do
    known[row.verdict] = (known[row.verdict] or 0) + 1
  end
  for _, word in ipairs{"FASTER", "SLOWER", "SAME", "UNCLEAR", "only in A",
      "only in B"} do
    local n = known[word] or 0
    words[#words + 1] = n > 0 and ("%d %s"):format(n, word) or nil
  end
  return table.concat(words, ", ")
end

local Result = {}
Result.__index = Result

function Result:__tostring()
  return report.format(self, COMPARED) .. "\n" .. counts(self)
end

--- result:regressions([limit]) -> list
--- The rows of a comparison that became SLOWER by more than `limit` (0.03),
--- and the rows that were right once and fail now.
function Result:regressions(limit)
  local list = {}
  for _, row in ipairs(self) do
    if row.broken or row.verdict == "SLOWER"
        and row.ratio - 1 > (limit or M.THRESHOLD) then
      list[#list + 1] = row
    end
  end
  return list
end

--- s:compare(a, b [, opts]) -> list
--- The list of runs.compare(a, b, opts), from this store. A row has the fields
--- of history.judge.
function M.compare(s, a, b, opts)
  options.check(opts, "runs.compare", "compare")
  local threshold = opts and opts.threshold
  local runs_a, single_a = selected(s, a)
  local runs_b, single_b = selected(s, b)
  local list = setmetatable({only_a = 0, only_b = 0}, Result)
  if single_a and single_b then
    list[1] = M.judge(runs_a[1], runs_b[1], threshold)
    return list
  end
  local known = {}
  for _, r in ipairs(runs_a) do
    known[key_of(r)] = r
  end
  for _, r in ipairs(runs_b) do
    local key = key_of(r)
    list[#list + 1] = known[key] and M.judge(known[key], r, threshold)
    list.only_b = list.only_b + (known[key] and 0 or 1)
    known[key] = nil
  end
  for _ in pairs(known) do
    list.only_a = list.only_a + 1
  end
  if #list == 0 then
    local function label(what)
      return tostring(type(what) == "table" and what.name or what)
    end
    cl.error(("no run of '%s' has the name, parameters, shape, cache mode "
      .. "and device of one of '%s'"):format(label(b), label(a)))
  end
  return list
end

return M

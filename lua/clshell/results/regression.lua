-- results/regression.lua - kept runs against other kept runs: faster, slower,
-- the same, or unclear
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local history = require "clshell.results.history"
local options = require "clshell.base.options"
local fields = require "clshell.results.fields"
local report = require "clshell.results.tables"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"

local M = {}

M.THRESHOLD = 0.03 -- smaller differences do not count
local CHANCE = 0.01 -- the largest p that does not count as chance

local CONDITIONS = {"name", "parameters", "problem", "cache mode", "device",
  "driver", "timer", "source", "build options", "protocol"}

-- The values of CONDITIONS for a run.
local function conditions(r)
  local device, driver = fields.device(r)
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
  local summary = stats.summary(list)
  return list, summary.median, (summary.q3 - summary.q1) / summary.median
end

--- regression.judge(a, b [, threshold]) -> result
--- Compares record b with record a, measured at different times: "FASTER" or
--- "SLOWER" where the medians differ by more than `threshold` (0.03) and by
--- more than the interquartile range of either, and a Mann-Whitney test of the
--- samples has p < 0.01; "SAME" where they differ by no more than the
--- threshold; else "UNCLEAR". Fields: verdict, ratio (b's time over a's),
--- change (in %), p, threshold (the larger of all three), broken (a was right
--- and b failed), note, a, b and name, config, title of b.
function M.judge(a, b, threshold)
  local least = threshold or M.THRESHOLD
  local row = {a = a, b = b, name = b.name, config = b.config,
    title = b.title, verdict = "UNCLEAR"}
  local reason, different = nil, differences(a, b)
  local samples_a, median_a, spread_a = times(a)
  local samples_b, median_b, spread_b = times(b)
  if fields.fails(a) or fields.fails(b) then
    row.broken = not fields.fails(a)
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
  for _, runs in ipairs(history.groups(s:list{tag = tag})) do
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

--- regression.select(s, what) -> list of records, whether it is a single run
--- The runs of a record, a list of records, the number of a run, "last" (the
--- newest run; "last~2": two runs before it), or a tag, which stands for its
--- newest run of each name, parameters, shape, cache mode and device.
function M.select(s, what)
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

local COLUMNS = {
  {key = "name", title = "name"},
  {key = "config", title = "parameters", drop = 1},
  {key = "title", title = "problem"},
  {key = "before", title = "A", unit = "s"},
  {key = "median", title = "B", unit = "s"},
  {key = "change", title = "change %", format = "%+.1f"},
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
  return report.format(self, COLUMNS) .. "\n" .. counts(self)
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
--- of regression.judge.
function M.compare(s, a, b, opts)
  options.check(opts, "runs.compare", "compare")
  local threshold = opts and opts.threshold
  local runs_a, single_a = M.select(s, a)
  local runs_b, single_b = M.select(s, b)
  local list = setmetatable({only_a = 0, only_b = 0}, Result)
  if single_a and single_b then
    list[1] = M.judge(runs_a[1], runs_b[1], threshold)
    return list
  end
  local known = {}
  for _, r in ipairs(runs_a) do
    known[history.key(r)] = r
  end
  for _, r in ipairs(runs_b) do
    local key = history.key(r)
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

-- regression.lua - runs kept in the store against other runs: what became
-- faster, what slower, and what cannot be told
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.measure.record_fields"
local history = require "clshell.store.history"
local options = require "clshell.base.options"
local report = require "clshell.report.table"
local stats = require "clshell.measure.stats"
local text = require "clshell.base.text"

local M = {}

M.THRESHOLD = 0.03 -- differences below it are none
M.CHANCE = 0.01    -- p below it: not by chance

local function device_name(r)
  return type(r.device) == "table" and r.device.name or r.device
end

local function driver(r)
  return type(r.device) == "table" and r.device.driver or nil
end

-- What differs between two runs beside their times.
local function differences(a, b)
  local words = {}
  local function differ(x, y, what)
    if x ~= y and x ~= nil and y ~= nil then
      words[#words + 1] = what
    end
  end
  differ(a.name, b.name, "name")
  differ(a.config, b.config, "parameters")
  differ(a.title, b.title, "problem")
  differ(a.mode, b.mode, "cache mode")
  differ(device_name(a), device_name(b), "device")
  differ(driver(a), driver(b), "driver")
  differ(a.timer, b.timer, "timer")
  differ(a.source_hash, b.source_hash, "source")
  differ(a.options, b.options, "build options")
  differ(a.protocol, b.protocol, "protocol")
  return #words > 0 and {"not the same: " .. table.concat(words, ", ")} or {}
end

-- The samples that are times, and their summary; nil where there is none.
local function times(r)
  local list = {}
  for _, x in ipairs(r.samples or {}) do
    if type(x) == "number" and x > 0 and x < math.huge then
      list[#list + 1] = x
    end
  end
  if #list == 0 then
    return nil
  end
  return list, stats.summary(list)
end

local function spread(summary)
  return (summary.q3 - summary.q1) / summary.median
end

--- regression.judge(a, b [, threshold]) -> result
--- What record b is beside record a, which were measured at different times:
--- "FASTER" or "SLOWER" where the medians differ by more than `threshold`
--- (0.03) and by more than the interquartile range of either, and a
--- Mann-Whitney test of the samples has p < 0.01; "SAME" where they differ by
--- no more than the threshold; else "UNCLEAR". Fields: verdict, ratio (b's
--- time over a's), change (in %), p, threshold (the one that counted), broken
--- (a was right and b failed), note, a, b and name, config, title of b.
function M.judge(a, b, threshold)
  local least = threshold or M.THRESHOLD
  local row = {a = a, b = b, name = b.name, config = b.config,
    title = b.title, verdict = "UNCLEAR"}
  local words = differences(a, b)
  local sa, ma = times(a)
  local sb, mb = times(b)
  if fields.fails(a) or fields.fails(b) then
    row.broken = not fields.fails(a)
    table.insert(words, 1, ("%s failed: %s"):format(row.broken and "B" or "A",
      (row.broken and b or a).error or (row.broken and b or a).note
      or "no reason kept"))
  elseif not (sa and sb) then
    table.insert(words, 1, "no samples kept")
  else
    row.ratio = mb.median / ma.median
    row.change = 100 * (row.ratio - 1)
    row.before, row.median = ma.median, mb.median
    row.p = stats.mann_whitney(sa, sb)
    row.threshold = math.max(least, spread(ma), spread(mb))
    local away = math.abs(row.ratio - 1)
    if away > row.threshold and row.p < M.CHANCE then
      row.verdict = row.ratio < 1 and "FASTER" or "SLOWER"
    elseif away <= least then
      row.verdict = "SAME"
    elseif away <= row.threshold then
      table.insert(words, 1, ("samples scatter by %.1f %%"):format(
        100 * row.threshold))
    else
      table.insert(words, 1, ("could be chance: p = %.2g, %d and %d samples")
        :format(row.p, #sa, #sb))
    end
  end
  row.note = #words > 0 and table.concat(words, "; ") or nil
  return row
end

-- The newest run of each key of a tag, in the order they were measured in.
local function tagged(s, tag)
  local list = {}
  for _, runs in ipairs(history.groups(s:list{tag = tag})) do
    table.insert(list, 1, s:get(runs[#runs].id))
  end
  if #list == 0 then
    local tags, known = {}, {}
    for _, row in ipairs(s:list()) do
      if row.tag and not known[row.tag] then
        known[row.tag] = true
        tags[#tags + 1] = row.tag
      end
    end
    cl.error(#tags > 0 and text.unknown("tag", tag, tags)
      or ("no tag '%s': no run kept has one"):format(tag))
  end
  return list
end

--- regression.select(s, what) -> list of records, whether it names one run
--- The runs that `what` means: a record, a list of them, the number of a run,
--- "last" (the newest run; "last~2" two before it), or a tag, whose newest run
--- of each name, parameters, shape, cache mode and device count.
function M.select(s, what)
  if type(what) == "table" then
    local one = what.name ~= nil or what.samples ~= nil
    return one and {what} or what, one
  end
  what = tostring(what)
  local back = what == "last" and 0
    or math.tointeger(tonumber(what:match("^last~(%d+)$")))
  local id = math.tointeger(tonumber(what:match("^%d+$")))
  if back then
    local rows = s:list{limit = back + 1}
    id = rows[1] and #rows == back + 1 and rows[1].id
    if not id then
      cl.error(("no run '%s': %d are kept"):format(what, #rows))
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
  local words = {}
  for _, verdict in ipairs{"FASTER", "SLOWER", "SAME", "UNCLEAR"} do
    local n = 0
    for _, row in ipairs(list) do
      n = n + (row.verdict == verdict and 1 or 0)
    end
    if n > 0 then
      words[#words + 1] = ("%d %s"):format(n, verdict)
    end
  end
  for _, side in ipairs{"A", "B"} do
    local n = list["only_" .. side:lower()]
    if n > 0 then
      words[#words + 1] = ("%d only in %s"):format(n, side)
    end
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
--- and those that were right once and fail now.
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

-- What select() was given, in a message.
local function label(what)
  return tostring(type(what) == "table" and what.name or what)
end

--- s:compare(a, b [, {threshold = 0.03}]) -> list
--- Compares runs: each of a and b is a record, the number of a run, "last",
--- or a tag, see regression.select. Two single runs are compared as they are,
--- and what else differs between them is noted; otherwise those of the same
--- name, parameters, shape, cache mode and device are. A row has what
--- regression.judge says of b. Prints as a table; list:regressions().
function M.compare(s, a, b, opts)
  options.check(opts, "runs.compare", "compare")
  local threshold = opts and opts.threshold
  local runs_a, one_a = M.select(s, a)
  local runs_b, one_b = M.select(s, b)
  local list = setmetatable({only_a = 0, only_b = 0}, Result)
  if one_a and one_b then
    list[1] = M.judge(runs_a[1], runs_b[1], threshold)
    return list
  end
  local known = {}
  for _, r in ipairs(runs_a) do
    known[history.key(r)] = r
  end
  for _, r in ipairs(runs_b) do
    local key = history.key(r)
    if known[key] then
      list[#list + 1] = M.judge(known[key], r, threshold)
      known[key] = nil
    else
      list.only_b = list.only_b + 1
    end
  end
  for _ in pairs(known) do
    list.only_a = list.only_a + 1
  end
  if #list == 0 then
    cl.error(("no run of '%s' has the name, parameters, shape, cache mode "
      .. "and device of one of '%s'"):format(label(b), label(a)))
  end
  return list
end

return M

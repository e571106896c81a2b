-- results/trend.lua - a subject over the runs of the store: its versions by
-- source and driver, each compared with the version before, as history.judge
-- compares two runs; in words, and as a page with a curve
-- SPDX-License-Identifier: MIT

local charts = require "clshell.results.charts"
local file = require "clshell.base.file"
local frame = require "clshell.results.page"
local quantity = require "clshell.base.quantity"
local record = require "clshell.measure.record"
local stats = require "clshell.measure.stats"
local svg = require "clshell.results.svg"

local M = {}

local escape = svg.escape

-- The samples of several records as one record, to be judged.
local function pooled(runs)
  local all = {}
  for _, r in ipairs(runs) do
    table.move(r.samples or {}, 1, #(r.samples or {}), #all + 1, all)
  end
  return setmetatable({samples = all}, {__index = runs[#runs]})
end

-- The distance of the medians of runs, as a part of the least.
local function scatter(runs)
  local least, most = math.huge, 0
  for _, r in ipairs(runs) do
    least, most = math.min(least, r.median), math.max(most, r.median)
  end
  return #runs > 1 and most / least - 1 or 0
end

--- trend.of(runs, judge, least) -> trend
--- The versions of records of one subject, oldest first: runs, at (the number
--- of the first run), hash, driver, median; and, but for the first version,
--- ratio, lo, hi, change, p and verdict against the version before, as of
--- judge (history.judge). A change counts above `least`, a part of the time,
--- and above the distance of the medians of one version (`scatter`; nil where
--- no version has two runs).
--- `failed`: the runs that were wrong or have no time.
function M.of(runs, judge, least)
  local trend, last = {versions = {}, runs = {}, failed = 0, least = least}
  for _, r in ipairs(runs) do
    if record.fails(r) or not r.median or r.median <= 0 then
      trend.failed = trend.failed + 1
    else
      local _, driver = record.device_of(r)
      if not last or last.hash ~= r.source_hash or last.driver ~= driver then
        last = {runs = {}, hash = r.source_hash, driver = driver,
          at = #trend.runs + 1}
        table.insert(trend.versions, last)
      end
      table.insert(last.runs, r)
      table.insert(trend.runs, r)
    end
  end
  for _, v in ipairs(trend.versions) do
    if #v.runs > 1 then
      trend.scatter = math.max(trend.scatter or 0, scatter(v.runs))
    end
  end
  for i, v in ipairs(trend.versions) do
    local own = pooled(v.runs)
    local before = trend.versions[i - 1]
    v.median = #own.samples > 0 and stats.median(own.samples)
      or own.median
    if before then
      local row = judge(pooled(before.runs), own,
        math.max(least, trend.scatter or 0))
      for _, key in ipairs{"ratio", "lo", "hi", "change", "p", "verdict"} do
        v[key] = row[key]
      end
    end
  end
  return trend
end

local function short(hash)
  return hash and tostring(hash):sub(1, 8) or "unknown"
end

-- The change of a version with its interval: "+20.1 % (+18.0 to +22.3 %)".
local function change_of(v)
  local words = v.ratio and ("%+.1f %%"):format(v.change) or ""
  return v.lo and ("%s (%+.1f to %+.1f %%)"):format(words, 100 * (v.lo - 1),
    100 * (v.hi - 1)) or words
end

-- What is new in version i: its source, its driver, or both.
local function news_of(trend, i)
  local v, before = trend.versions[i], trend.versions[i - 1] or {}
  local words = {v.hash ~= before.hash and "source " .. short(v.hash) or nil}
  words[#words + 1] = v.driver ~= before.driver and "driver "
    .. tostring(v.driver) or nil
  return table.concat(words, ", ")
end

-- The first run of a version, with its day.
local function since(v)
  return ("run %s, %s"):format(v.runs[1].id or v.at,
    tostring(v.runs[1].time):sub(1, 10))
end

-- The sentence on the scatter of runs of one version.
local function rule_of(trend)
  local counts = ("A change counts above %.1f %%"):format(100
    * math.max(trend.least, trend.scatter or 0))
  return counts .. (not trend.scatter and "; no version has two runs, so how "
    .. "far runs lie apart is unknown." or trend.scatter > trend.least
    and ": the medians of one version lie so far apart."
    or ": the medians of one version lie closer.")
end

--- trend.words(trend) -> list of lines
--- The versions that are faster or slower than the version before.
function M.words(trend)
  local lines = {}
  for i, v in ipairs(trend.versions) do
    if v.verdict == "SLOWER" or v.verdict == "FASTER" then
      lines[#lines + 1] = ("%s, time %s, since %s: %s"):format(v.verdict,
        change_of(v), since(v), news_of(trend, i))
    end
  end
  return lines
end

-- The chart of a trend: the median of each run with its interval, and a line
-- at each version.
local function chart_of(trend)
  local number = {}
  for i, r in ipairs(trend.runs) do
    number[r] = i
  end
  local chart = charts.line(trend.runs, {x = function(r)
    return number[r]
  end, y = "median", log_x = false, title = "", zero = false,
    x_label = "run, oldest first"})
  chart.rules = {}
  for i, v in ipairs(trend.versions) do
    chart.rules[#chart.rules + 1] = i > 1 and {x = v.at - 0.5,
      alarm = v.verdict == "SLOWER", label = (v.verdict == "SLOWER"
      or v.verdict == "FASTER") and ("%s %+.0f %%"):format(v.verdict, v.change)
      or v.hash ~= trend.versions[i - 1].hash and short(v.hash) or "driver"}
      or nil
  end
  return chart
end

local HEAD = {"source", "verdict", "time against the version before (95 %)",
  "p", "median", "runs", "since", "driver"}

local function section(row, trend)
  local rows = {}
  for i, v in ipairs(trend.versions) do
    local cells = {short(v.hash), v.verdict or "first", change_of(v),
      v.p and ("%.1g"):format(v.p) or "", quantity.format(v.median, "s", 4),
      #v.runs, since(v), v.driver or ""}
    for j, cell in ipairs(cells) do
      cells[j] = ('<td class="name">%s</td>'):format(escape(cell))
    end
    rows[i] = ('<tr%s>%s</tr>\n'):format(v.verdict == "SLOWER"
      and ' class="alarm"' or "", table.concat(cells))
  end
  local device = record.device_of(row)
  return ("<h2>%s</h2>\n<p class=\"lead\">%s</p>\n%s"
    .. '<div class="scroll"><table><thead><tr><th>%s</th></tr></thead>'
    .. "<tbody>\n%s</tbody></table></div>\n<p class=\"soft\">%s</p>"):format(
    escape(table.concat({row.name or "?", row.config ~= "" and row.config
      or nil}, " ")), escape(("%s, %s cache, %s"):format(row.title or "?",
      row.mode or "?", device or "?")),
    #trend.runs > 0 and "<figure>\n" .. chart_of(trend):svg{style = false}
    .. "</figure>" or "<p>No run has a time.</p>", table.concat(HEAD,
    "</th><th>"), table.concat(rows), escape(rule_of(trend)
    .. (trend.failed > 0 and (" %d runs failed and are left out.")
    :format(trend.failed) or "")))
end

--- trend.page(list, opts) -> string
--- The page of subjects, each {row of s:history, trend}; `opts` is the filter.
function M.page(list, opts)
  local slower, out = 0, {}
  for _, subject in ipairs(list) do
    for _, v in ipairs(subject[2].versions) do
      slower = slower + (v.verdict == "SLOWER" and 1 or 0)
    end
    out[#out + 1] = section(subject[1], subject[2])
  end
  local title = ("Trend of %s"):format(opts and opts.name or "all benches")
  table.insert(out, 1, ("<header><h1>%s</h1>\n<p class=\"lead\">%d subjects; "
    .. "%s</p></header>\n<main>"):format(escape(title), #list, slower == 0
    and "no version is slower than the version before"
    or slower == 1 and "1 version is slower than the version before"
    or slower .. " versions are slower than the versions before"))
  out[#out + 1] = '<p class="soft">Times are medians, with 95 % intervals. '
    .. "A version is judged by the samples of all its runs (Mann-Whitney, p "
    .. "&lt; 0.01); the interval is of the ratio of times.</p></main>"
  return frame.text(title, table.concat(out, "\n"))
end

--- trend.write(list, path, opts) -> path
--- Writes trend.page to a file.
function M.write(list, path, opts)
  file.write(path, M.page(list, opts), "the trend")
  return path
end

return M

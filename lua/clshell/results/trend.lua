-- results/trend.lua - a subject over the runs of the store: its steps, where
-- it becomes faster or slower for good, with the version of the source there;
-- in words, and as a page with a curve
-- SPDX-License-Identifier: MIT

local charts = require "clshell.results.charts"
local file = require "clshell.base.file"
local frame = require "clshell.results.page"
local quantity = require "clshell.base.quantity"
local record = require "clshell.measure.record"
local stats = require "clshell.measure.stats"
local svg = require "clshell.results.svg"

local M = {}

M.LEAST = 0.02 -- smaller steps do not count

M.RULE = ("A step parts runs whose ratio of medians has a 95 %% interval "
  .. "without 1, where p < 0.01 for all places together. It takes %g %% and "
  .. "10 runs."):format(100 * M.LEAST)

local escape = svg.escape

local function short(hash)
  return hash and tostring(hash):sub(1, 8) or "unknown"
end

-- What run i of a trend has that the run before had not; the first one has
-- all that is kept.
local function news_of(runs, i)
  local r, before, words = runs[i], runs[i - 1] or {}, {}
  local _, driver = record.device_of(r)
  local _, old = record.device_of(before)
  words[1] = r.source_hash ~= before.source_hash
    and "source " .. short(r.source_hash) or nil
  words[#words + 1] = driver ~= old and "driver " .. tostring(driver) or nil
  words[#words + 1] = r.tag and r.tag ~= before.tag and "tag " .. r.tag or nil
  return table.concat(words, ", ")
end

-- The medians of the runs first to last.
local function medians(runs, first, last)
  local list = {}
  for i = first, last do
    list[#list + 1] = runs[i].median
  end
  return list
end

-- The step at the k-th of a list of places, from the place before to the next.
local function step_at(runs, places, k)
  local at = places[k]
  local a = medians(runs, places[k - 1] or 1, at - 1)
  local b = medians(runs, at, (places[k + 1] or #runs + 1) - 1)
  local step = {at = at, before = stats.median(a), median = stats.median(b)}
  step.ratio = step.median / step.before
  step.lo, step.hi = stats.ratio(a, b)
  step.verdict = step.ratio > 1 and "SLOWER" or "FASTER"
  step.sure = step.lo and (step.lo > 1 or step.hi < 1)
    and math.abs(step.ratio - 1) >= M.LEAST
  step.news = news_of(runs, at)
  return step
end

-- The steps of runs at some places. Of places that are no sure step the least
-- one goes first: the runs on either side then stand together.
local function steps_at(runs, places)
  while true do
    local steps, least = {}, nil
    for k = 1, #places do
      steps[k] = step_at(runs, places, k)
      local size = math.abs(math.log(steps[k].ratio))
      if not steps[k].sure and (not least or size < least[1]) then
        least = {size, k}
      end
    end
    if not least then
      return steps
    end
    table.remove(places, least[2])
  end
end

--- trend.of(runs) -> trend
--- The trend of records of one subject, oldest first. `runs`: the right ones.
--- `steps`: at (the number of the first run), before, median (s, up to the
--- next step), ratio, lo, hi (its 95 % interval), verdict ("SLOWER" or
--- "FASTER") and news (words for the source, the driver and the tag that are
--- new there; "" for none). `parts`: the runs between two steps or versions of
--- source and driver: at, runs, hash, driver, median, and the `step` there.
--- `failed`: the number of runs that were wrong or have no time.
function M.of(records)
  local trend = {runs = {}, parts = {}, failed = 0}
  local runs, logarithms, new, step_of = trend.runs, {}, {}, {}
  for _, r in ipairs(records) do
    if record.fails(r) or not r.median or r.median <= 0 then
      trend.failed = trend.failed + 1
    else
      runs[#runs + 1] = r
      logarithms[#runs] = math.log(r.median)
      new[#runs] = news_of(runs, #runs):find "^[sd]" and true or nil
    end
  end
  trend.steps = steps_at(runs, stats.steps(logarithms, new))
  for _, step in ipairs(trend.steps) do
    step_of[step.at] = step
  end
  for i, r in ipairs(runs) do
    if new[i] or step_of[i] or i == 1 then
      local _, driver = record.device_of(r)
      table.insert(trend.parts, {at = i, runs = {}, hash = r.source_hash,
        driver = driver, step = step_of[i]})
    end
    table.insert(trend.parts[#trend.parts].runs, r)
  end
  for _, part in ipairs(trend.parts) do
    part.median = stats.median(medians(part.runs, 1, #part.runs))
  end
  return trend
end

-- "0.851, 0.832 to 0.871": the ratio of a step with its interval.
local function ratio_of(step)
  local form = step.hi < 10 and "%.3f, %.3f to %.3f" or "%.4g, %.4g to %.4g"
  return form:format(step.ratio, step.lo, step.hi)
end

-- The first run of a part, with its day.
local function since(r, i)
  return ("run %s, %s"):format(r.id or i, tostring(r.time):sub(1, 10))
end

--- trend.words(trend) -> list of sentences
--- A sentence for each step.
function M.words(trend)
  local lines = {}
  for i, step in ipairs(trend.steps) do
    local scale, unit = quantity.prefix(math.max(step.before, step.median),
      "s", 3)
    lines[i] = ("%s: from %s to %s %s (%s) with %s, since %s"):format(
      step.verdict, quantity.number(step.before / scale, 3),
      quantity.number(step.median / scale, 3), unit, ratio_of(step),
      step.news ~= "" and step.news or trend.runs[step.at].source_hash
      and "the same source and driver" or "a source that is not known",
      since(trend.runs[step.at], step.at))
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
  for i, part in ipairs(trend.parts) do
    local step, before = part.step, trend.parts[i - 1]
    chart.rules[#chart.rules + 1] = before and {x = part.at - 0.5,
      alarm = step and step.verdict == "SLOWER",
      label = step and ("%s %+.0f %%"):format(step.verdict,
        100 * (step.ratio - 1)) or part.hash ~= before.hash
        and short(part.hash) or "driver"} or nil
  end
  return chart
end

local HEAD = {"source", "step", "ratio of medians (95 %)", "median", "runs",
  "since", "driver"}

local function section(row, trend)
  local rows = {}
  for i, part in ipairs(trend.parts) do
    local step = part.step
    local cells = {short(part.hash), step and step.verdict
      or i == 1 and "first" or "", step and ratio_of(step) or "",
      quantity.format(part.median, "s", 4), #part.runs,
      since(part.runs[1], part.at), part.driver or ""}
    for j, cell in ipairs(cells) do
      cells[j] = ('<td class="name">%s</td>'):format(escape(cell))
    end
    rows[i] = ('<tr%s>%s</tr>\n'):format(step and step.verdict == "SLOWER"
      and ' class="alarm"' or "", table.concat(cells))
  end
  local device = record.device_of(row)
  return ("<h2>%s</h2>\n<p class=\"lead\">%s</p>\n%s"
    .. '<div class="scroll"><table><thead><tr><th>%s</th></tr></thead>'
    .. "<tbody>\n%s</tbody></table></div>%s"):format(
    escape(table.concat({row.name or "?", row.config ~= "" and row.config
      or nil}, " ")), escape(("%s, %s cache, %s"):format(row.title or "?",
      row.mode or "?", device or "?")),
    #trend.runs > 0 and "<figure>\n" .. chart_of(trend):svg{style = false}
    .. "</figure>" or "<p>No run has a time.</p>", table.concat(HEAD,
    "</th><th>"), table.concat(rows), trend.failed > 0
    and ('\n<p class="soft">%d runs failed and are left out.</p>')
    :format(trend.failed) or "")
end

--- trend.page(list, opts) -> string
--- The page of subjects, each {row of s:history, trend}; `opts` is the filter.
function M.page(list, opts)
  local slower, out = 0, {}
  for _, subject in ipairs(list) do
    for _, step in ipairs(subject[2].steps) do
      slower = slower + (step.verdict == "SLOWER" and 1 or 0)
    end
    out[#out + 1] = section(subject[1], subject[2])
  end
  local title = ("Trend of %s"):format(opts and opts.name or "all benches")
  table.insert(out, 1, ("<header><h1>%s</h1>\n<p class=\"lead\">%d subjects; "
    .. "%s</p></header>\n<main>"):format(escape(title), #list, slower == 0
    and "no step to a slower time" or slower == 1
    and "1 step to a slower time" or slower .. " steps to slower times"))
  out[#out + 1] = ('<p class="soft">Times are medians, with 95 %% intervals. '
    .. "%s</p></main>"):format(escape(M.RULE))
  return frame.text(title, table.concat(out, "\n"))
end

--- trend.write(list, path, opts) -> path
--- Writes trend.page to a file.
function M.write(list, path, opts)
  file.write(path, M.page(list, opts), "the trend")
  return path
end

return M

-- results/html.lua - the report of a run as one HTML file, which fetches
-- nothing: for each problem the best kernel, a chart and a table; then the
-- roofline, all samples, the device, and the results as JSON
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local export = require "clshell.results.export"
local fields = require "clshell.results.fields"
local record = require "clshell.measure.record"
local file = require "clshell.base.file"
local frame = require "clshell.results.page"
local options = require "clshell.base.options"
local peaks = require "clshell.measure.peaks"
local plot = require "clshell.results.charts"
local svg = require "clshell.results.svg"
local quantity = require "clshell.base.quantity"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"
local units = require "clshell.ladder.unit"

local M = {}

local escape = svg.escape

local function remarks_of(r)
  local note, flags = r.note or r.error, r.flags or {}
  local said = not r.status or r.status == "ok"
    or note and note:find(r.status, 1, true) == 1
  local remarks = {not said and r.status or nil}
  remarks[#remarks + 1] = fields.unchecked(r) and "unchecked" or nil
  table.move(flags, 1, #flags, #remarks + 1, remarks)
  remarks[#remarks + 1] = note
  return table.concat(remarks, "; ")
end

local function rate(key)
  return {key = function(r)
    return fields.base(r, key)
  end, title = "", unit = fields.about(key).unit, class = "num"}
end

-- A column of the table of fields with a class, and with further keys.
local function column(name, class, more)
  more = more or {}
  more.class = class
  return setmetatable(more, {__index = fields.columns[name]})
end

-- The column of the factors over the first result, with as many digits as the
-- noise of both leaves; nil for a single result and for several problems.
local function factors(results, key)
  local first, sign = results[1], fields.falls(key) and -1 or 1
  local base = #results > 1 and fields.base(first, key)
  for _, r in ipairs(results) do
    base = r.title == first.title and r.mode == first.mode and base
  end
  return base and base > 0 and {key = function(r)
    local x = fields.base(r, key)
    return x and x > 0 and (x / base) ^ sign or nil
  end, title = "× " .. fields.labels(results)[1]:match "%S*", class = "num",
    format = function(x, r)
      return quantity.number(x, math.min(3, fields.digits(first),
        fields.digits(r)))
    end} or nil
end

-- The table's columns; the rate by which results are compared is the second
-- column, and the factors over the first result the third. Columns of the
-- class "once" tell the problem: they stand above the table where all cells
-- agree, and are left out where a heading tells it.
local function columns_of(key, results)
  local list = {
    column("name", "name", {key = "name"}), column("title", "once"),
    column("mode", "once"), column("time", "num"),
    column("spread", "num", {title = "± %", format = function(x)
      return quantity.number(x, 2)
    end}),
    column("roof", "num"), column("err", "num", {format = function(x)
      return x == 0 and "0" or ("%.1e"):format(x)
    end}),
    column("config", "words"),
    {key = remarks_of, title = "remarks", class = "words"},
  }
  local other = key == "gbs" and "gflops" or "gbs"
  table.insert(list, 6, rate(other))
  if key ~= "median" then
    table.insert(list, 2, rate(key))
  end
  table.insert(list, key == "median" and 5 or 3, factors(results, key))
  return list
end

-- Whether all cells are the same.
local function constant(cells)
  for i = 2, #cells do
    if cells[i] ~= cells[1] then
      return false
    end
  end
  return #cells > 1
end

-- A list of {name =, value =} as terms.
local function terms(list)
  local out = {"<dl>"}
  for _, entry in ipairs(list) do
    out[#out + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(
      escape((entry.name:gsub("_", " "))), escape(entry.value))
  end
  out[#out + 1] = "</dl>"
  return table.concat(out, "\n")
end

-- The table of results that did not fail: the columns that are not empty, and
-- the terms above the table.
local function table_of(results, key, best, alone)
  local shown, once, head, out = {}, {}, {}, {}
  for _, wanted in ipairs(columns_of(key, results)) do
    local c = report.filled(wanted, results)
    if c.class == "once" and not c.empty and constant(c.cells) then
      once[#once + 1] = {name = c.title, value = c.cells[1]}
    elseif not c.empty and (alone or c.class ~= "once") then
      shown[#shown + 1] = c
      head[#head + 1] = ('<th scope="col" class="%s">%s</th>\n'):format(
        c.class, escape(c.title))
    end
  end
  for i in ipairs(results) do
    local marked, cells = i == best and #results > 1, {}
    for j, c in ipairs(shown) do
      cells[j] = ('<td class="%s">%s%s</td>'):format(c.class,
        escape(c.cells[i]), marked and j == 1 and " ★" or "")
    end
    out[i] = (marked and '<tr class="best">' or "<tr>")
      .. table.concat(cells) .. "</tr>\n"
  end
  return (alone and once[1] and terms(once) or "")
    .. '\n<div class="scroll"><table><thead><tr>\n' .. table.concat(head)
    .. "</tr></thead><tbody>\n" .. table.concat(out)
    .. "</tbody></table></div>"
end

-- The results that failed, folded, with their reasons.
local function failures(results)
  local list, count, words = {}, {}, {}
  for i, r in ipairs(results) do
    local state = r.status ~= "ok" and r.status or "wrong"
    words[#words + 1] = not count[state] and state or nil
    count[state] = (count[state] or 0) + 1
    list[i] = {name = r.name or "?", value = remarks_of(r)}
  end
  for i, state in ipairs(words) do
    words[i] = ("%d %s"):format(count[state], state)
  end
  return #results == 0 and "" or ("<details><summary>%s, and why</summary>\n"
    .. "%s\n</details>"):format(escape(table.concat(words, ", ")), terms(list))
end

local function figure(chart)
  return "<figure>\n" .. chart:svg{style = false} .. "</figure>"
end

-- All samples of a result over their order, to see drift and outliers.
local function samples_chart(r)
  local rows = {}
  for i, x in ipairs(r.samples) do
    rows[i] = {sample = i, median = x}
  end
  return plot.line(rows, {
    x = "sample", y = "median", log_x = false, zero = false, title = "",
    x_label = "sample", y_label = "time of a launch",
  })
end

local function detail(r, label)
  local list = {}
  local function add(name, value, format, ...)
    if value and value ~= "" then
      list[#list + 1] = {name = name,
        value = tostring(format and format:format(value, ...) or value)}
    end
  end
  local function seconds(key)
    return r[key] and quantity.format(r[key], "s", fields.digits(r))
  end
  local function add_pair(name, between, a, b)
    add(name, r[b] and seconds(a), "%s%s%s", between, seconds(b))
  end
  add("median", seconds "median")
  add_pair("95 % interval", " to ", "lo", "hi")
  add_pair("quartiles", ", ", "q1", "q3")
  add_pair("least, greatest", ", ", "min", "max")
  add("samples", r.n, "%d%s%s", r.batch and r.batch > 1
    and (" of %d launches"):format(r.batch) or "", r.outliers
    and (", %d outliers"):format(r.outliers) or "")
  add("timer", r.timer)
  add("cache", r.mode, "%s%s", r.cache and ", " .. r.cache or "")
  add("local size", r["local"])
  add("bound", r.bound)
  add("verified", r.verify)
  add("build options", r.options)
  add("source hash", r.source_hash)
  add("remarks", remarks_of(r))
  return ("<details><summary>%s</summary>\n%s\n%s</details>"):format(
    escape(label), terms(list), r.samples and #r.samples > 2
    and figure(samples_chart(r)) or "")
end

-- The results of each problem as a list with a title; all results as one list
-- where most problems have a single result. A refused result, which has no
-- title, belongs to the problem of its neighbour.
local function problems(results)
  local list, by_title, count, last = {}, {}, {}, nil
  for _, r in ipairs(results) do
    last = last or r.title and r
  end
  for _, r in ipairs(results) do
    last = r.title and r or last or r
    local title, mode = last.title, last.mode
    local name, key = ("%s, %s"):format(title, mode), tostring(title)
    if not by_title[name] then
      by_title[name] = {title = title, mode = mode}
      list[#list + 1] = by_title[name]
      count[key] = (count[key] or 0) + 1
    end
    table.insert(by_title[name], r)
  end
  for _, problem in ipairs(list) do -- of one title, by the cache
    problem.cache = problem.mode and count[tostring(problem.title)] > 1
      and (", %s cache"):format(problem.mode) or nil
  end
  return 2 * #list > #results and {results} or list
end

-- Results under the names of their kernels, if these names differ, and whether
-- they differ.
local function by_kernel(results)
  local list, seen = {}, {}
  for i, r in ipairs(results) do
    if seen[r.name or i] then
      return results, false
    end
    seen[r.name or i] = true
    list[i] = setmetatable({config = ""}, {__index = r})
  end
  return list, true
end

-- The best result in words, in comparison with the first.
local function winner(results, key, best)
  local r = best and results[best]
  if not r then
    return #results > 1 and '<p class="winner"><span class="soft">No result '
      .. "is called the best: the fastest has fewer than 6 samples.</span></p>"
      or ""
  end
  local digits, words = quantity.digits(fields.noise(r)), {}
  local unit, value = fields.about(key).unit or "", fields.base(r, key)
  local first = fields.base(results[1], key)
  if key ~= "median" and r.median then
    words[1] = quantity.format(r.median, "s", digits)
  end
  words[#words + 1] = r.roof
    and ("%.0f %% of the measured roofline"):format(100 * r.roof)
  if best > 1 and first and first > 0 and value > 0 then
    words[#words + 1] = ("%s times as fast as %s"):format(quantity.number(
      unit == "s" and first / value or value / first, 3),
      results[1].name or "the first")
  end
  return ('<p class="winner"><b>%s</b> %s<span class="soft">%s</span></p>')
    :format(escape(quantity.format(value, unit, digits)),
    escape(r.name or ""), escape(table.concat(words, "; ")))
end

-- A problem: its best result, a chart of its results, the table, and the
-- failed results.
local function problem_of(problem, alone, charts)
  local good, bad = {}, {}
  for _, r in ipairs(problem) do
    table.insert(record.fails(r) and bad or good, r)
  end
  local key = fields.rate(problem)
  local best = fields.best(good, key)
  local title = alone and "Results" or (problem.title or "Other results")
    .. (problem.cache or "")
  local out = {"<h2>" .. escape(title) .. "</h2>",
    winner(good, key, best)}
  if #good > 1 and not charts then
    local bars, steps = by_kernel(good)
    local chart = plot[steps and "ladder" or "bar"](bars, {title = ""})
    local first = chart.bars[1].value
    for i, bar in ipairs(chart.bars) do -- over the first, as in the table
      bar.step = i > 1 and bar.step and first and (chart.falling
        and first / bar.value or bar.value / first) or nil
    end
    out[#out + 1] = figure(chart)
  end
  for _, chart in ipairs(charts or {}) do
    out[#out + 1] = figure(chart)
  end
  out[#out + 1] = #good > 0 and table_of(good, key, best, alone) or ""
  out[#out + 1] = failures(bad)
  return table.concat(out, "\n")
end

-- The known peaks that results of the session's device were compared with:
-- nothing is measured here. nil for other results.
local function known_peaks(results)
  local known
  for _, r in ipairs(results) do
    local found, device = pcall(r.roof and cl.device or error)
    if found and device.name == record.device_of(r) then
      known = known or {}
      local cache = r.mode ~= "cold" and "cache" or "copy"
      for _, name in ipairs{"copy", "read", "write", cache,
          units.roof(r)} do
        known[name] = known[name] or peaks.get(name)
      end
    end
  end
  return known
end

-- The results on the roofline; of several problems, each one's best result.
local function roofline_of(list, roofs)
  local placed = {}
  for _, problem in ipairs(roofs and list or {}) do
    local found = {}
    for _, r in ipairs(problem) do
      found[#found + 1] = r.gflops and r.ai and not record.fails(r)
        and r or nil
    end
    local best = #list > 1 and found[fields.best(found, "gflops")]
    table.move(best and {best} or found, 1, best and 1 or #found,
      #placed + 1, placed)
  end
  return placed[1] and "<h2>Roofline</h2>\n" .. figure(plot.roofline(
    #list == 1 and (by_kernel(placed)) or placed, {peaks = roofs,
    title = ""})) or ""
end

--- html.page(title, data, body) -> string
--- A page, which fetches nothing and runs no script: its title, JSON that it
--- keeps in the element "results", and the HTML of its body.
--- Example:
--- local page = html.page("A run", "{}", "<p>It ended.")
--- print(page:find "<title>A run" ~= nil) --> true
function M.page(title, data, body)
  argument.check("html.page", "title", title, "string")
  argument.check("html.page", "data", data, "string")
  argument.check("html.page", "body", body, "string")
  -- without "<", no text can end the script element
  return frame.text(title, body, {head = [[
<script type="application/json" id="results">
]] .. data:gsub("<", "\\u003c") .. "</script>\n"})
end

local NOTE = '<p class="soft">★ best, of the kernels that do not round their '
  .. 'operands as TF32 does. %s Times are medians; ± is half of '
  .. "their 95 %% interval, or with fewer than 6 samples half of the distance "
  .. "of the quartiles. Factors are over the first bar, or row.</p>"

-- What was checked: a rung always; a launch or function where it had a check.
local function promise(results, labels)
  local open = {}
  for i, r in ipairs(results) do
    if fields.unchecked(r) then
      open[#open + 1] = labels[i]
    end
  end
  return #open == 0 and "Every rate is of a result that was checked."
    or ("Not checked, but measured as it is: %s. Other rates are of results "
      .. "that were checked."):format(escape(table.concat(open, ", ")))
end

-- The facts of a report that stand below its title, and the words before each.
local LEAD = {{"device", ""}, {"driver", "driver "}, {"os", ""},
  {"host", "host "}, {"cpu", ""}, {"cores", ""}, {"date", ""}}

-- A line with the device, the driver, the machine and the date, without the
-- parts that stand in the title; and the command line.
local function lead(meta, title)
  local named, words = {}, {}
  for _, entry in ipairs(meta) do
    local value = entry.value
    named[entry.name] = value and value ~= "several"
      and not title:find(value, 1, true) and value or nil
  end
  for _, part in ipairs(LEAD) do
    words[#words + 1] = named[part[1]] and part[2] .. named[part[1]]
      .. (part[1] == "cores" and " cores" or "")
  end
  return '<p class="lead">' .. escape(table.concat(words, " · ")) .. "</p>"
    .. (named.command and '\n<p class="lead"><code>' .. escape(named.command)
    .. "</code></p>" or "")
end

-- The command line of this process; nil for a session without a script.
local function command_line()
  local words, first = {}, 0
  while arg and arg[first - 1] do
    first = first - 1
  end
  for i = first, arg and #arg or -1 do
    words[#words + 1] = arg[i]:find "^[%w_./:=,+@-]+$" and arg[i]
      or text.quote(arg[i])
  end
  return #words > 1 and table.concat(words, " ") or nil
end

-- The title of a report: the families, the words that all results share, and
-- the device.
local function title_of(results, labels, common)
  local families, words = {}, {}
  for _, r in ipairs(results) do
    families[#families + 1] = not text.set(table.concat(families, " "))[
      r.family] and r.family or nil
  end
  common = common ~= "" and common or #results == 1 and labels[1] or ""
  words[1] = #families > 0 and not (#families == 1
    and common:find(families[1], 1, true)) and table.concat(families, ", ")
    or nil
  words[#words + 1] = common ~= "" and common
    or #families == 0 and ("%d results"):format(#results) or nil
  local device = record.device_of(results[1])
  for _, r in ipairs(results) do
    device = record.device_of(r) == (device or r) and device or nil
  end
  return table.concat(words, " ") .. (device and " on " .. device or "")
end

-- The timeline of a run under --trace: its chart, and its words.
local function timeline_of()
  local t = require "clshell.results.timeline".so_far()
  if not t or #t.commands == 0 then
    return ""
  end
  local words = t:words()
  for i, line in ipairs(words) do
    words[i] = "<li>" .. escape(line) .. "</li>"
  end
  return ("<h2>Timeline</h2>\n%s\n<ul>\n%s\n</ul>"):format(
    figure(t:chart()), table.concat(words, "\n"))
end

--- html.text(results [, opts]) -> string
--- The report of results as a page that needs no other file: for each problem
--- the best kernel, a chart and a table; the roofline, the timeline of
--- clshell --trace, every sample, the device, and the results as JSON in a
--- script element. Options as for html.
--- Example:
--- local page = html.text({bench.of("a", {0.01})}, {title = "A run"})
--- print(page:find("A run", 1, true) ~= nil) --> true
function M.text(results, opts)
  options.check(opts, "html")
  opts = opts or {}
  results = fields.list_of(results, "html")
  if #results == 0 then
    cl.error("html: a report needs at least one result")
  end
  local labels, common = fields.labels(results)
  local list = problems(results)
  local title = opts.title or title_of(results, labels, common)
  local meta = export.meta(results)
  local command = opts.command or command_line()
  meta[#meta + 1] = command and {name = "command", value = command} or nil
  if opts.charts then
    argument.list("html", "charts", opts.charts, "chart")
  end
  local out = {"<header>\n<h1>" .. escape(title) .. "</h1>", lead(meta, title)
    .. "\n</header>\n<main>"}
  for i, problem in ipairs(list) do
    out[#out + 1] = problem_of(problem, #list == 1,
      i == 1 and opts.charts or nil)
  end
  out[#out + 1] = NOTE:format(promise(results, labels))
  out[#out + 1] = not opts.charts and roofline_of(list,
    opts.peaks or known_peaks(results)) or ""
  local reading = type(opts.reading) == "table" and opts.reading
    or {opts.reading}
  for i, paragraph in ipairs(reading) do
    out[#out + 1] = (i == 1 and "<h2>What they say</h2>\n" or "")
      .. "<p>" .. escape(paragraph) .. "</p>"
  end
  out[#out + 1] = timeline_of()
  out[#out + 1] = "<h2>Every result</h2>"
  for i, r in ipairs(results) do
    out[#out + 1] = detail(r, labels[i])
  end
  out[#out + 1] = "<h2>Device and versions</h2>\n" .. terms(meta)
    .. "\n</main>"
  return M.page(title, export.text(results, "json"), table.concat(out, "\n"))
end

--- html.write(results, file [, opts]) -> file
--- Writes html.text(results, opts) to a file. Options as for html.
--- Example:
--- html.write({bench.of("a", {0.01})}, "a.html", {reading = "It took 10 ms."})
function M.write(results, path, opts)
  file.write(path, M.text(results, opts), "the report")
  return path
end

return setmetatable(M, {
  --- html(results, file [, opts]) -> file
  --- Writes a report, as html.write does.
  --- Options:
  ---   title    family, shared words, device  a title of the page
  ---   command  the command line of this process  a string
  ---   reading  -     a text, or paragraphs, that explains the numbers
  ---   peaks    -     a table as of peaks(), for the roofline
  ---   charts   ladder and roofline  a list of charts of plot, instead
  --- Example: print(html({bench.of("a", {0.01})}, "a.html")) --> a.html
  __call = function(_, ...)
    return M.write(...)
  end,
})

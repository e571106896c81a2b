-- report/html.lua - the report of a run as one HTML file, which fetches
-- nothing: device, tables, charts, all samples, and the results as JSON
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local columns = require "clshell.report.columns"
local export = require "clshell.report.export"
local export_fields = require "clshell.report.export_fields"
local record_fields = require "clshell.measure.record_fields"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local plot = require "clshell.plot"
local svg = require "clshell.plot.svg"
local quantity = require "clshell.base.quantity"

local M = {}

local escape = svg.escape

local CSS = [[
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e;
  --face: #ffffff; --line: #d1d9e0; --band: #f6f8fa; --mark: #0969b5;
  --alarm: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3;
  --soft: #9da7b3; --face: #0d1117; --line: #30363d; --band: #161b22;
  --mark: #58a6ff; --alarm: #ff8a80 } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1.25rem;
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--face) }
h1 { font-size: 1.6rem; margin: 0 0 .25rem }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
.lead, .soft, caption, figcaption { color: var(--soft) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
thead th { border-bottom-width: 2px; font-weight: 600; white-space: nowrap }
td.num, th.num { text-align: right; white-space: pre;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .9em }
td.name { white-space: nowrap }
td.above { border-bottom: 0 }
td.remark { padding-top: 0; color: var(--soft); font-weight: 400 }
tr.best td.remark { box-shadow: inset 3px 0 var(--mark) }
tr.best td { font-weight: 700; background: var(--band) }
tr.best td:first-child { box-shadow: inset 3px 0 var(--mark) }
tr.bad td { color: var(--alarm) }
dl { display: grid; grid-template-columns: max-content 1fr;
  gap: .15rem 1.2rem; margin: .5rem 0 }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
figure { margin: 1rem 0 1.5rem }
.plot { width: 100%; max-width: 720px; height: auto; display: block }
details { border-top: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer }
@page { margin: 15mm }
@media print { :root { --ink: #000; --soft: #444; --face: #fff;
  --line: #bbb; --band: #eee; --mark: #0969b5; --alarm: #a00;
  color-scheme: light } body { margin: 0; max-width: none; font-size: 10pt }
  figure, tr { break-inside: avoid } h2 { break-after: avoid } }
]]

local function remarks_of(r)
  local remarks, note = {}, r.note or r.error
  local said = r.status and note and note:find(r.status, 1, true) == 1
  if r.status and r.status ~= "ok" and not said then
    remarks[1] = r.status
  end
  for _, flag in ipairs(r.flags or {}) do
    remarks[#remarks + 1] = flag
  end
  remarks[#remarks + 1] = note
  return table.concat(remarks, "; ")
end

local function rate(key)
  return {key = function(r)
    return record_fields.base(r, key)
  end, title = "", unit = record_fields.about(key).unit, class = "num"}
end

-- Columns of the class "once" stand above the table where all cells agree.
local COLUMNS = {
  {key = "name", title = "kernel", class = "name"},
  {key = "config", title = "parameters", class = "name"},
  {key = "title", title = "shape", class = "once"},
  {key = "mode", title = "cache", class = "once"},
  {key = "median", title = "time", unit = "s", class = "num"},
  {key = columns.named.spread.key, title = "± %", class = "num",
    format = function(x)
      return quantity.number(x, 2)
    end},
  {key = "n", title = "n", format = "%d", class = "num"},
  rate "gflops", rate "gbs",
  {key = "roof", title = "% roof", class = "num",
    format = columns.named.roof.format},
  {key = "err", title = "error", class = "num", format = "%.1e"},
}

-- Whether all of several cells are the same.
local function constant(cells)
  for i = 2, #cells do
    if cells[i] ~= cells[1] then
      return false
    end
  end
  return #cells > 1
end

-- The columns that are not empty, and the terms above the table.
local function filled(results)
  local kept, once = {}, {}
  for _, column in ipairs(COLUMNS) do
    local c = columns.filled(column, results)
    if c.class == "once" and not c.empty and constant(c.cells) then
      once[#once + 1] = {name = c.title, value = c.cells[1]}
    elseif not c.empty then
      kept[#kept + 1] = c
    end
  end
  return kept, once
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

-- A row of the table, and its remarks under it.
local function row_of(shown, i, r, class, star)
  local out, remarks = {}, remarks_of(r)
  out[1] = ("<tr%s>"):format(class)
  for j, c in ipairs(shown) do
    out[#out + 1] = ('<td class="%s%s">%s%s</td>'):format(c.class,
      remarks ~= "" and " above" or "", escape(c.cells[i]),
      star and j == 1 and " ★" or "")
  end
  out[#out + 1] = "</tr>"
  if remarks ~= "" then
    out[#out + 1] = ('<tr%s><td class="remark" colspan="%d">%s</td></tr>')
      :format(class, #shown, escape(remarks))
  end
  return table.concat(out)
end

local function table_of(results)
  local shown, once = filled(results)
  local key = record_fields.rate(results)
  local best = #results > 1 and record_fields.best(results, key)
  local out = {once[1] and terms(once) or "",
    '<div class="scroll"><table><thead><tr>'}
  for _, c in ipairs(shown) do
    out[#out + 1] = ('<th scope="col" class="%s">%s</th>'):format(c.class,
      escape(c.title))
  end
  out[#out + 1] = "</tr></thead><tbody>"
  for i, r in ipairs(results) do
    out[#out + 1] = row_of(shown, i, r, i == best and ' class="best"'
      or record_fields.fails(r) and ' class="bad"' or "", i == best)
  end
  out[#out + 1] = "</tbody></table></div>"
  out[#out + 1] = ('<p class="soft">%sTimes are medians; ± is half of their '
    .. "95 %% interval, or with fewer than 6 samples half of the distance of "
    .. "the quartiles.</p>"):format(best and ("★ best %s. "):format(
    record_fields.about(key).title) or "")
  return table.concat(out, "\n")
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
  local function add(name, value)
    if value and value ~= "" then
      list[#list + 1] = {name = name, value = tostring(value)}
    end
  end
  local digits = record_fields.digits(r)
  local function seconds(x)
    return quantity.format(x, "s", digits)
  end
  local function add_pair(name, between, a, b)
    add(name, a and b and seconds(a) .. between .. seconds(b))
  end
  add("median", r.median and seconds(r.median))
  add_pair("95 % interval", " to ", r.lo, r.hi)
  add_pair("quartiles", ", ", r.q1, r.q3)
  add_pair("least, greatest", ", ", r.min, r.max)
  add("samples", r.n and ("%d%s%s"):format(r.n, r.batch and r.batch > 1
    and (" of %d launches"):format(r.batch) or "", r.outliers
    and (", %d outliers"):format(r.outliers) or ""))
  add("timer", r.timer)
  add("cache", r.mode and r.mode .. (r.cache and ", " .. r.cache or ""))
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

-- The charts that suit the results: a ladder, and the roofline.
local function own_charts(results, peaks)
  local charts, rates, placed = {}, 0, false
  local key = record_fields.rate(results)
  for _, r in ipairs(results) do
    rates = rates + (record_fields.base(r, key) and 1 or 0)
    placed = placed or r.gflops and r.ai
  end
  charts[1] = rates > 1 and plot.ladder(results, {}) or nil
  charts[#charts + 1] = peaks and placed
    and plot.roofline(results, {peaks = peaks}) or nil
  return charts
end

local function head(title, results)
  -- without "<", no text can end the script element
  local data = export.text(results, "json"):gsub("<", "\\u003c")
  return ([[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="clshell %s">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ]]
.. [[style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
%s%s</style>
<script type="application/json" id="results">
%s</script>
</head>
]]):format(escape(cl.version), escape(title), CSS, svg.css(), data)
end

--- html.text(results [, opts]) -> string
--- The report of results as a page that needs no other file: the device, the
--- table, charts, every sample, and the results as JSON in a script element.
--- Options as for html.
function M.text(results, opts)
  options.check(opts, "html")
  opts = opts or {}
  results = record_fields.list(results, "html")
  if #results == 0 then
    cl.error("html: a report needs at least one result")
  end
  local labels, common = record_fields.labels(results)
  local title = opts.title or common ~= "" and common
    or #results == 1 and labels[1] or ("%d results"):format(#results)
  local meta = export_fields.meta(results)
  if opts.command then
    meta[#meta + 1] = {name = "command", value = opts.command}
  end
  local out = {head(title, results), "<body>", "<header>",
    "<h1>" .. escape(title) .. "</h1>", terms(meta) .. "\n</header>\n<main>",
    "<h2>Results</h2>\n" .. table_of(results)}
  local function section(heading, list, element)
    for i, x in ipairs(list) do
      out[#out + 1] = (i == 1 and "<h2>" .. heading .. "</h2>\n" or "")
        .. element(x)
    end
  end
  section("What they say", type(opts.reading) == "table" and opts.reading
    or {opts.reading}, function(paragraph)
      return "<p>" .. escape(paragraph) .. "</p>"
    end)
  section("Charts", opts.charts or own_charts(results, opts.peaks), figure)
  out[#out + 1] = "<h2>Every result</h2>"
  for i, r in ipairs(results) do
    out[#out + 1] = detail(r, labels[i])
  end
  out[#out + 1] = "</main>\n</body>\n</html>\n"
  return table.concat(out, "\n")
end

--- html.write(results, file [, opts]) -> file
--- Writes html.text(results, opts) to a file. Options as for html.
function M.write(results, path, opts)
  file.write(path, M.text(results, opts), "the report")
  return path
end

return setmetatable(M, {
  --- html(results, file [, opts]) -> file
  --- The same as html.write.
  --- Options:
  ---   title    the words that all results share  of the page
  ---   command  -     the command line of the run
  ---   reading  -     a text, or paragraphs, that explains the numbers
  ---   peaks    -     of peaks(), for the roofline
  ---   charts   ladder and roofline  a list of charts of plot
  __call = function(_, ...)
    return M.write(...)
  end,
})

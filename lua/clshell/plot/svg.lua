-- plot/svg.lua - charts as SVG, without gnuplot; their colours are classes,
-- so that one style sheet serves a light and a dark page
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.base.quantity"
local shapes = require "clshell.plot.shapes"

local M = {}

local WIDTH, ROW, TOP = 720, 26, 30
local CHAR = 7.8 -- width of a character of 12 px, on the safe side
local LABEL_MAX = 40
local MOST_MARKS = 120 -- on a line; one with more points goes without

-- Light first; the second is for dark pages.
local SERIES = {
  {"#0969b5", "#58a6ff"}, {"#c4500c", "#f0883e"}, {"#12805c", "#3fb68b"},
  {"#9a3fa0", "#d58fdc"}, {"#8a6a00", "#d4a72c"}, {"#b3261e", "#ff8a80"},
}
local INKS = {
  {".plot text", "fill", "#1f2328", "#e6edf3"},
  {".plot .soft", "fill", "#59636e", "#9da7b3"},
  {".plot .grid", "stroke", "#e1e4e8", "#30363d"},
  {".plot .axis", "stroke", "#8c959f", "#6e7681"},
  {".plot .roof", "stroke", "#59636e", "#9da7b3"},
  {".plot .face", "fill", "#ffffff", "#0d1117"},
  {".plot .halo", "stroke", "#ffffff", "#0d1117"},
  {".plot .other", "fill", "#b6c8dc", "#3d5570"},
}

local function rules(column)
  local lines = {}
  for _, ink in ipairs(INKS) do
    lines[#lines + 1] = ("%s { %s: %s }"):format(ink[1], ink[2],
      ink[2 + column])
  end
  for i, pair in ipairs(SERIES) do
    lines[#lines + 1] = (".plot .l%d { stroke: %s } .plot .s%d "
      .. "{ fill: %s }"):format(i, pair[column], i, pair[column])
  end
  return table.concat(lines, "\n")
end

--- plot_svg.css() -> string
--- The style sheet of the charts, for a page that holds several.
function M.css()
  return [[
.plot text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
.plot .title { font-weight: 600; font-size: 14px }
.plot .bold { font-weight: 600 }
.plot .line { fill: none; stroke-width: 2; stroke-linejoin: round }
.plot .grid, .plot .axis { stroke-width: 1; shape-rendering: crispEdges }
.plot .roof { fill: none; stroke-width: 2 }
.plot .limit { stroke-dasharray: 5 4 }
.plot .whisker { fill: none; stroke-width: 1.5 }
.plot .halo { paint-order: stroke; stroke-width: 3px }
]] .. rules(1) .. "\n@media (prefers-color-scheme: dark) {\n" .. rules(2)
    .. "\n}\n@media print {\n" .. rules(1) .. "\n}\n"
end

local escape = shapes.escape

local function cut(s)
  if (utf8.len(s) or #s) <= LABEL_MAX then
    return s
  end
  return s:sub(1, (utf8.offset(s, LABEL_MAX) or LABEL_MAX) - 1) .. "…"
end

local function length(s)
  return utf8.len(s) or #s
end

local function series_class(i)
  return (i - 1) % #SERIES + 1
end

-- The drawing with its frame: title, background, style sheet.
local function wrap(out, chart, height, opts)
  local head = {('<svg class="plot" xmlns="http://www.w3.org/2000/svg" '
    .. 'viewBox="0 0 %d %d" role="img" aria-label="%s"'):format(WIDTH,
    math.ceil(height), escape(M.describe(chart)))}
  if opts.style == false then
    head[#head + 1] = ">"
  else
    head[#head + 1] = (' width="%d" height="%d">'):format(WIDTH,
      math.ceil(height))
    head[#head + 1] = "<style>\n" .. M.css() .. "</style>"
    head[#head + 1] = '<rect class="face" width="100%" height="100%"/>'
  end
  if chart.title and chart.title ~= "" then
    head[#head + 1] = ('<text class="title" x="8" y="18">%s</text>'):format(
      escape(chart.title))
  end
  return table.concat(head, "\n") .. "\n" .. table.concat(out, "\n")
    .. "\n</svg>\n"
end

--- plot_svg.describe(chart) -> string
--- A chart in words, for those who cannot see it.
function M.describe(chart)
  local kind = {line = "Lines", bar = "Bars", ladder = "The rungs as bars",
    roofline = "Results on the roofline"}
  local what = chart.bars and chart.x.label
    or ("%s over %s"):format(chart.y.label, chart.x.label)
  return ("%s: %s%s"):format(kind[chart.kind], what,
    chart.title and chart.title ~= "" and "; " .. chart.title or "")
end

local function notes(out, chart, y)
  for _, note in ipairs(chart.notes) do
    out[#out + 1] = shapes.text(8, y, note, "soft")
    y = y + 18
  end
  return y
end

-- A bar with its label before it and its value behind it.
local function bar_row(out, chart, bar, y, box)
  local class = bar.best and "bold" or nil
  out[#out + 1] = shapes.text(box.left - 8, y + 16, cut(bar.label), class,
    "end", bar.label)
  if not bar.value then
    out[#out + 1] = shapes.text(box.left + 4, y + 16, cut(bar.note), "soft",
      nil, bar.note)
    return
  end
  local width = chart.x:at(bar.value) * box.width
  out[#out + 1] = ('<rect class="%s" x="%.1f" y="%d" width="%.1f" '
    .. 'height="18" rx="2"><title>%s</title></rect>'):format(
    bar.best and "s1" or "other", box.left, y + 3, math.max(1, width),
    escape(("%s: %s"):format(bar.label, quantity.format(bar.value,
    chart.x.unit or "", bar.digits))))
  local past = box.left + width
  if bar.lo and bar.hi then
    local lo = box.left + chart.x:at(bar.lo) * box.width
    past = box.left + chart.x:at(bar.hi) * box.width
    out[#out + 1] = ('<path class="whisker axis" d="M%.1f %dV%dM%.1f '
      .. '%dH%.1fM%.1f %dV%d"/>'):format(lo, y + 8, y + 16, lo, y + 12,
      past, past, y + 8, y + 16)
  end
  local number = quantity.number(bar.value / chart.x.factor, bar.digits)
  local step = bar.step and ("  ×%.2f"):format(bar.step) or ""
  out[#out + 1] = ('<text class="%s halo" x="%.1f" y="%d">%s<tspan '
    .. 'class="soft" dx="6">%s</tspan></text>'):format(
    bar.best and "bold" or "plain", past + 6, y + 16, number, step)
end

local function bar_chart(chart, opts)
  local out, label = {}, 0
  for _, bar in ipairs(chart.bars) do
    label = math.max(label, math.min(length(bar.label), LABEL_MAX))
  end
  local left = math.max(60, label * CHAR + 16)
  local box = {left = left, width = WIDTH - left - 140}
  local top = chart.title and chart.title ~= "" and TOP + 22 or 24
  local bottom = top + #chart.bars * ROW + 4
  out[1] = shapes.text(left, top - 8, chart.x:title(), "soft")
  for _, tick in ipairs(chart.x:ticks(5)) do
    local x = left + tick.at * box.width
    out[#out + 1] = shapes.segment(tick.value == 0 and "axis" or "grid", x,
      top, x, bottom)
    out[#out + 1] = shapes.text(x, bottom + 16, tick.text, "soft", "middle")
  end
  if chart.limit then
    local x = left + chart.x:at(chart.limit.value) * box.width
    out[#out + 1] = shapes.segment("roof limit", x, top, x, bottom)
    out[#out + 1] = shapes.text(x, top - 8, chart.limit.label, "soft", "end")
  end
  for i, bar in ipairs(chart.bars) do
    bar_row(out, chart, bar, top + (i - 1) * ROW + 2, box)
  end
  return wrap(out, chart, notes(out, chart, bottom + 36) - 8, opts)
end

local function grid(out, chart, box)
  for _, tick in ipairs(chart.y:ticks(6)) do
    local y = box.y(tick.value)
    out[#out + 1] = shapes.segment("grid", box.left, y, box.right, y)
    out[#out + 1] = shapes.text(box.left - 8, y + 4, tick.text, "soft",
      "end")
  end
  for _, tick in ipairs(chart.x:ticks(9)) do
    local x = box.x(tick.value)
    out[#out + 1] = shapes.segment("grid", x, box.top, x, box.bottom)
    out[#out + 1] = shapes.text(x, box.bottom + 17, tick.text, "soft",
      "middle")
  end
  out[#out + 1] = shapes.segment("axis", box.left, box.bottom, box.right,
    box.bottom)
  out[#out + 1] = shapes.text(box.left, box.top - 9, chart.y:title(), "soft")
  out[#out + 1] = shapes.text((box.left + box.right) / 2, box.bottom + 36,
    chart.x:title(), "soft", "middle")
end

local function lines(out, chart, box)
  for i, s in ipairs(chart.series) do
    local class = series_class(i)
    out[#out + 1] = shapes.polyline("line l" .. class, s.points, box)
    for _, p in ipairs(#s.points <= MOST_MARKS and s.points or {}) do
      local x, y = box.x(p.x), box.y(p.y)
      if p.lo and p.hi and chart.y:shows(p.lo) then
        out[#out + 1] = shapes.segment("whisker l" .. class, x, box.y(p.lo),
          x, box.y(p.hi))
      end
      out[#out + 1] = shapes.mark(i, class, x, y, ("%s%s: %s"):format(
        s.name ~= "" and s.name .. ", " or "", chart.x:words(p.x),
        chart.y:words(p.y)))
    end
  end
end

local function roofline(out, chart, box)
  for _, roof in ipairs(chart.roofs) do
    out[#out + 1] = shapes.polyline("roof", roof.points, box)
    local a, b = roof.points[1], roof.points[2]
    local x0, y0, x1, y1 = box.x(a.x), box.y(a.y), box.x(b.x), box.y(b.y)
    local angle = math.deg(math.atan(y1 - y0, x1 - x0))
    out[#out + 1] = ('<text class="soft halo" text-anchor="%s" transform="'
      .. 'translate(%.1f %.1f) rotate(%.1f)" x="%d" y="-7">%s</text>')
      :format(roof.slope and "start" or "end", roof.slope and x0 or x1,
      roof.slope and y0 or y1, angle, roof.slope and 10 or -4,
      escape(roof.name))
  end
  local place = shapes.placer()
  for i, s in ipairs(chart.series) do
    local p, class = s.points[1], series_class(i)
    local x, y = box.x(p.x), box.y(p.y)
    local tag = tostring(i)
    local lx, anchor = place(x, y, tag)
    out[#out + 1] = shapes.mark(i, class, x, y, ("%s: %s"):format(s.name,
      chart.y:words(p.y)))
    out[#out + 1] = shapes.text(lx, y + 4, tag, "bold halo", anchor)
  end
end

-- The names of the series, in as many columns as fit.
local function legend(out, chart, y)
  local widest = 0
  for _, s in ipairs(chart.series) do
    widest = math.max(widest, length(s.name))
  end
  if widest == 0 then
    return y
  end
  local numbered = chart.kind == "roofline"
  local each = widest * CHAR + (numbered and 130 or 40)
  local columns = math.max(1, (WIDTH - 16) // each)
  for i, s in ipairs(chart.series) do
    local x = 16 + (i - 1) % columns * each
    local line = y + (i - 1) // columns * 20
    out[#out + 1] = shapes.mark(i, series_class(i), x, line - 4)
    local words = numbered and ("%d  %s"):format(i, s.name) or s.name
    if s.roof_share then
      words = words .. (", %.0f %% of roof"):format(100 * s.roof_share)
    end
    out[#out + 1] = shapes.text(x + 12, line, words)
  end
  return y + ((#chart.series - 1) // columns + 1) * 20
end

local function xy_chart(chart, opts)
  local out, widest = {}, 0
  if chart.kind == "line" then
    chart.y:round(5)
  end
  for _, tick in ipairs(chart.y:ticks(6)) do
    widest = math.max(widest, length(tick.text))
  end
  local top = chart.title and chart.title ~= "" and TOP + 22 or 26
  local box = {left = widest * CHAR + 20, right = WIDTH - 24, top = top,
    bottom = top + (chart.kind == "roofline" and 320 or 260)}
  -- the first and last points stand clear of the edges
  local inset = chart.kind == "line" and 14 or 0
  function box.x(v)
    return box.left + inset
      + chart.x:at(v) * (box.right - box.left - 2 * inset)
  end
  function box.y(v)
    return box.bottom - chart.y:at(v) * (box.bottom - box.top)
  end
  grid(out, chart, box)
  if chart.kind == "roofline" then
    roofline(out, chart, box)
  else
    lines(out, chart, box)
  end
  local y = legend(out, chart, box.bottom + 64)
  return wrap(out, chart, notes(out, chart, y + 4) - 8, opts)
end

--- plot_svg.render(chart, opts) -> string
--- What chart:svg gives.
function M.render(chart, opts)
  return chart.bars and bar_chart(chart, opts) or xy_chart(chart, opts)
end

return M

-- results/svg.lua - charts as SVG; their colours are classes, so that one
-- style sheet serves a light and a dark page
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}

local WIDTH, ROW, TOP = 720, 26, 30
local CHAR = 7.8 -- width of a character of 12 px, on the safe side
local LABEL_MAX = 40
local MOST_MARKS = 120 -- a line with more points has no marks

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
  {".plot .hatch", "stroke", "#ffffff", "#0d1117"},
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

-- svg.css() -> string
-- The style sheet of the charts, for a page that holds several.
function M.css()
  return [[
.plot text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
.plot .title { font-weight: 600; font-size: 14px }
.plot .bold { font-weight: 600 }
.plot .line { fill: none; stroke-width: 2; stroke-linejoin: round }
.plot .grid, .plot .axis { stroke-width: 1; shape-rendering: crispEdges }
.plot .roof { fill: none; stroke-width: 2 }
.plot .limit { stroke-dasharray: 5 4 }
.plot .hatch { fill: none; stroke-width: 2.5 }
.plot .whisker { fill: none; stroke-width: 1.5 }
.plot .halo { paint-order: stroke; stroke-width: 3px }
]] .. rules(1) .. "\n@media (prefers-color-scheme: dark) {\n" .. rules(2)
    .. "\n}\n@media print {\n" .. rules(1) .. "\n}\n"
end

local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
  ['"'] = "&quot;", ["'"] = "&#39;"}

-- svg.escape(text) -> string
-- Text for HTML and SVG, in elements and in quoted attributes; bytes that are
-- not UTF-8 and control characters, which XML forbids, are replaced.
function M.escape(s)
  return (text.utf8(tostring(s)):gsub("[&<>\"']", ENTITIES)
    :gsub("[%z\1-\8\11\12\14-\31]", "\u{FFFD}"))
end

local escape, length = M.escape, text.width

-- A drawing is the list of its elements.
local Drawing = {}
Drawing.__index = Drawing

function Drawing:add(form, ...)
  self[#self + 1] = form:format(...)
end

-- The element of a text that appears under the pointer.
local function pointed(words)
  return words and "<title>" .. escape(words) .. "</title>" or ""
end

-- A text; the title appears under the pointer.
function Drawing:text(x, y, words, class, anchor, title)
  self:add('<text%s x="%.1f" y="%.1f"%s>%s%s</text>',
    class and (' class="%s"'):format(class) or "", x, y,
    anchor and (' text-anchor="%s"'):format(anchor) or "", escape(words),
    pointed(title ~= words and title))
end

-- A text of a bar, cut to LABEL_MAX characters.
function Drawing:label(x, y, words, class, anchor)
  self:text(x, y, text.cut(words, LABEL_MAX, "…"), class, anchor, words)
end

function Drawing:segment(class, x1, y1, x2, y2)
  self:add('<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>', class, x1, y1, x2,
    y2)
end

function Drawing:polyline(class, points, box)
  self:add('<polyline class="%s" points="%s"/>', class,
    text.values(points, " ", function(p)
      return ("%.1f,%.1f"):format(box.x(p.x), box.y(p.y))
    end))
end

-- Outlines around 0, 0: the shape tells series apart without their colour.
local OUTLINES = {
  {"circle", 'r="4.5"'}, {"rect", 'x="-4" y="-4" width="8" height="8"'},
  {"path", 'd="M0-5.5L5 4H-5Z"'}, {"path", 'd="M0-6L5.5 0L0 6L-5.5 0Z"'},
  {"path", 'd="M-5-4H5L0 5.5Z"'},
  {"path", 'd="M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z"'},
}

local function series_class(i)
  return (i - 1) % #SERIES + 1
end

-- The mark of series i, with a text under the pointer.
function Drawing:mark(i, x, y, title)
  local outline = OUTLINES[(i - 1) % #OUTLINES + 1]
  self:add('<g transform="translate(%.1f %.1f)"><%s class="s%d" %s>%s</%s>'
    .. "</g>", x, y, outline[1], series_class(i), outline[2],
    pointed(title), outline[1])
end

-- A function that finds a place for the label of each mark: on its right, on
-- its left, or further out, where no earlier label or mark is.
local function placer()
  local taken = {}
  local function free(x, y, width)
    for _, box in ipairs(taken) do
      if math.abs(box.y - y) < 12 and x < box.x + box.width
          and box.x < x + width then
        return false
      end
    end
    taken[#taken + 1] = {x = x, y = y, width = width}
    return true
  end
  return function(x, y, label)
    local width = 8 * #label
    for distance = 9, 109, 20 do
      if free(x + distance, y, width) then
        return x + distance, "start"
      elseif free(x - distance - width, y, width) then
        return x - distance, "end"
      end
    end
    return x + 9, "start"
  end
end

local KINDS = {line = "Lines", bar = "Bars", ladder = "The rungs as bars",
  roofline = "Results on the roofline"}

-- A chart in words, for readers who cannot see it.
local function describe(chart)
  if chart.grid then
    return "A matrix as a picture: " .. chart.title
  elseif chart.rows then
    return ("Rows over %s: %s"):format(quantity.format((chart.to - chart.from)
      * 1e-9, "s", 3), text.values(chart.rows, ", ", function(row)
      return row.label
    end))
  end
  local axes = chart.bars and chart.x.label
    or ("%s over %s"):format(chart.y.label, chart.x.label)
  return ("%s: %s%s"):format(KINDS[chart.kind], axes,
    chart.title ~= "" and "; " .. chart.title or "")
end

-- The finished drawing: notes from y down, title, background, style sheet.
local function finish(drawing, chart, y, opts)
  for _, note in ipairs(chart.notes) do
    drawing:text(8, y, note, "soft")
    y = y + 18
  end
  local height, sheet, size = math.ceil(y - 8), "", "\n"
  if opts.style ~= false then
    size = (' width="%d" height="%d"'):format(WIDTH, height)
    sheet = "<style>\n" .. M.css() .. "</style>\n"
      .. '<rect class="face" width="100%" height="100%"/>\n'
  end
  local title = chart.title ~= "" and ('<text class="title" x="8" y="18">%s'
    .. "</text>\n"):format(escape(chart.title)) or ""
  return ('<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 '
    .. '0 %d %d" role="img" aria-label="%s"%s>\n%s%s%s\n</svg>\n'):format(
    WIDTH, height, escape(describe(chart)), size, sheet, title,
    table.concat(drawing, "\n"))
end

-- Slanted lines over a bar, without a pattern: a page has no identifiers and
-- no links, and a converter to PNG draws them.
local function hatch(drawing, x, y, width, height)
  local lines = {}
  for from = 4 - height, width, 7 do
    local a, b = math.max(from, 0), math.min(from + height, width)
    lines[#lines + 1] = a < b and ("M%.1f %.1fL%.1f %.1f"):format(x + a,
      y + height - a + from, x + b, y + height - b + from) or nil
  end
  drawing:add('<path class="hatch" d="%s"/>', table.concat(lines))
end

-- A bar with its label before it and its value behind it.
local function bar_row(drawing, chart, bar, y, box)
  local class = bar.best and "bold" or nil
  drawing:label(box.left - 8, y + 16, bar.label, class, "end")
  if not bar.value then
    return drawing:label(box.left + 4, y + 16, bar.note, "soft")
  end
  local width = chart.x:at(bar.value) * box.width
  drawing:add('<rect class="%s" x="%.1f" y="%d" width="%.1f" height="18" '
    .. 'rx="2">%s</rect>', bar.best and "s1" or "other",
    box.left, y + 3, math.max(1, width), pointed(("%s: %s%s"):format(bar.label,
    quantity.format(bar.value, chart.x.unit or "", bar.digits), bar.unsure
    and ", uncertain: " .. bar.unsure or "")))
  if bar.unsure then
    hatch(drawing, box.left, y + 3, math.max(1, width), 18)
  end
  local past = box.left + width
  if bar.lo and bar.hi then
    local lo = box.left + chart.x:at(bar.lo) * box.width
    past = box.left + chart.x:at(bar.hi) * box.width
    drawing:add('<path class="whisker axis" d="M%.1f %dV%dM%.1f %dH%.1fM%.1f '
      .. '%dV%d"/>', lo, y + 8, y + 16, lo, y + 12, past, past, y + 8,
      y + 16)
  end
  drawing:add('<text class="%s halo" x="%.1f" y="%d">%s<tspan class="soft" '
    .. 'dx="6">%s</tspan></text>', class or "plain", past + 6, y + 16,
    quantity.number(bar.value / chart.x.factor, bar.digits),
    (bar.step and "  ×" .. quantity.number(bar.step, 3) or "")
    .. (bar.unchecked and "  unchecked" or ""))
end

local function bar_chart(chart, opts)
  local drawing, label = setmetatable({}, Drawing), 0
  for _, bar in ipairs(chart.bars) do
    label = math.max(label, math.min(length(bar.label), LABEL_MAX))
  end
  local left = math.max(60, label * CHAR + 16)
  local box = {left = left, width = WIDTH - left - 140}
  local top = chart.title ~= "" and TOP + 22 or 24
  local bottom = top + #chart.bars * ROW + 4
  drawing:text(left, top - 8, chart.x:title(), "soft")
  for _, tick in ipairs(chart.x:ticks(5)) do
    local x = left + tick.at * box.width
    drawing:segment(tick.value == 0 and "axis" or "grid", x, top, x, bottom)
    drawing:text(x, bottom + 16, tick.text, "soft", "middle")
  end
  if chart.limit then
    local x = left + chart.x:at(chart.limit.value) * box.width
    drawing:segment("roof limit", x, top, x, bottom)
    drawing:text(x, top - 8, chart.limit.label, "soft", "end")
  end
  for i, bar in ipairs(chart.bars) do
    bar_row(drawing, chart, bar, top + (i - 1) * ROW + 2, box)
  end
  return finish(drawing, chart, bottom + 36, opts)
end

local MOST_SPANS = 2000 -- of a row; shorter ones join the one before

-- A Gantt chart: a row for each kind of work, a rectangle for each span.
local function gantt_chart(chart, opts)
  local drawing, label = setmetatable({}, Drawing), 0
  for _, row in ipairs(chart.rows) do
    label = math.max(label, math.min(length(row.label), LABEL_MAX))
  end
  local left, whole = math.max(60, label * CHAR + 16), chart.to - chart.from
  local top, width = chart.title ~= "" and TOP + 4 or 8, WIDTH - left - 70
  local bottom = top + #chart.rows * ROW + 4
  for _, tick in ipairs(chart.x:ticks(6)) do
    local x = left + tick.at * width
    drawing:segment(tick.value == 0 and "axis" or "grid", x, top, x, bottom)
    drawing:text(x, bottom + 16, tick.text, "soft", "middle")
  end
  for i, row in ipairs(chart.rows) do
    local y, path, last = top + (i - 1) * ROW + 5, {}, -1
    drawing:label(left - 8, y + 14, row.label, nil, "end")
    local least = #row.spans > MOST_SPANS and width / MOST_SPANS or 0
    for _, span in ipairs(row.spans) do
      local x = (span[1] - chart.from) / whole * width
      local w = math.max(0.5, (span[2] - span[1]) / whole * width)
      if x + w > last + least then
        path[#path + 1] = ("M%.2f %dh%.2fv18h%.2fz"):format(left + x, y, w, -w)
        last = x + w
      end
    end
    local share = ("%.0f %%"):format(100 * row.length / whole)
    drawing:add('<path class="s%d" d="%s">%s</path>', row.label:find "kernels"
      and 1 or row.label:find "copies" and 2 or row.label:find "^host" and 5
      or 3, table.concat(path), pointed(row.label .. ": " .. share))
    drawing:text(left + width + 8, y + 14, share, "soft")
  end
  drawing:text(left + width / 2, bottom + 34, chart.x:title(), "soft",
    "middle")
  return finish(drawing, chart, bottom + 54, opts)
end

local function grid(drawing, chart, box)
  for _, tick in ipairs(chart.y:ticks(6)) do
    local y = box.y(tick.value)
    drawing:segment("grid", box.left, y, box.right, y)
    drawing:text(box.left - 8, y + 4, tick.text, "soft", "end")
  end
  for _, tick in ipairs(chart.x:ticks(9)) do
    local x = box.x(tick.value)
    drawing:segment("grid", x, box.top, x, box.bottom)
    drawing:text(x, box.bottom + 17, tick.text, "soft", "middle")
  end
  drawing:segment("axis", box.left, box.bottom, box.right, box.bottom)
  drawing:text(box.left, box.top - 9, chart.y:title(), "soft")
  drawing:text((box.left + box.right) / 2, box.bottom + 36, chart.x:title(),
    "soft", "middle")
end

-- The lines across a chart, such as at a new version, with their labels.
local function draw_rules(drawing, chart, box)
  for k, rule in ipairs(chart.rules or {}) do
    local x = box.x(rule.x)
    local left = x > (box.left + box.right) / 2
    drawing:segment("limit " .. (rule.alarm and "line l6" or "roof"), x,
      box.top, x, box.bottom)
    drawing:text(left and x - 4 or x + 4, box.top + 12 + 15 * ((k - 1) % 3),
      rule.label, (rule.alarm and "s6 bold" or "soft") .. " halo",
      left and "end" or "start")
  end
end

local function lines(drawing, chart, box)
  for i, s in ipairs(chart.series) do
    local class = series_class(i)
    if not chart.scatter then
      local run
      for j, p in ipairs(s.points) do
        run = not p.gap and run or {}
        run[#run + 1] = p
        if #run > 1 and (not s.points[j + 1] or s.points[j + 1].gap) then
          drawing:polyline("line l" .. class, run, box)
        end
      end
    end
    local all = chart.scatter or not chart.given and #s.points <= MOST_MARKS
    for _, p in ipairs(s.points) do
      local x, y = box.x(p.x), box.y(p.y)
      if p.lo and p.hi and chart.y:shows(p.lo) then
        drawing:segment("whisker l" .. class, x, box.y(p.lo), x,
          box.y(p.hi))
      end
      if all or p.mark then
        drawing:mark(i, x, y, ("%s%s: %s"):format(
          s.name ~= "" and s.name .. ", " or "", chart.x:words(p.x),
          chart.y:words(p.y)))
      end
    end
  end
end

local function roofline(drawing, chart, box)
  for _, roof in ipairs(chart.roofs) do
    drawing:polyline("roof", roof.points, box)
    local a, b = roof.points[1], roof.points[2]
    local x0, y0, x1, y1 = box.x(a.x), box.y(a.y), box.x(b.x), box.y(b.y)
    local angle = math.deg(math.atan(y1 - y0, x1 - x0))
    drawing:add('<text class="soft halo" text-anchor="%s" transform="'
      .. 'translate(%.1f %.1f) rotate(%.1f)" x="%d" y="-7">%s</text>',
      roof.slope and "start" or "end", roof.slope and x0 or x1,
      roof.slope and y0 or y1, angle, roof.slope and 10 or -4,
      escape(roof.name))
  end
  local place = placer()
  for i, s in ipairs(chart.series) do
    local p = s.points[1]
    local x, y = box.x(p.x), box.y(p.y)
    local label_x, anchor = place(x, y, tostring(i))
    drawing:mark(i, x, y, ("%s: %s"):format(s.name, chart.y:words(p.y)))
    drawing:text(label_x, y + 4, i, "bold halo", anchor)
  end
end

-- Draws the series' names in as many columns as fit. Returns the place below.
local function legend(drawing, chart, y)
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
    drawing:mark(i, x, line - 4)
    drawing:text(x + 12, line, (numbered and i .. "  " or "") .. s.name
      .. (s.roof_share and (", %.0f %% of roof"):format(100 * s.roof_share)
      or ""))
  end
  return y + ((#chart.series - 1) // columns + 1) * 20
end

local function xy_chart(chart, opts)
  local drawing, widest = setmetatable({}, Drawing), 0
  for _, tick in ipairs(chart.y:ticks(6)) do
    widest = math.max(widest, length(tick.text))
  end
  local top = chart.title ~= "" and TOP + 22 or 26
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
  grid(drawing, chart, box)
  local draw = chart.kind == "roofline" and roofline or lines
  draw(drawing, chart, box)
  draw_rules(drawing, chart, box)
  return finish(drawing, chart, legend(drawing, chart, box.bottom + 64) + 4,
    opts)
end

-- Viridis (S. van der Walt, N. Smith, 2015, CC0), dark to light.
local SHADES = {"#440154", "#482878", "#3e4989", "#31688e", "#26828e",
  "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"}

-- The colour of a place from 0 to 1, in 64 steps.
local function shade(place)
  local at = math.floor(place * 63 + 0.5) / 63 * (#SHADES - 1) + 1
  local i = math.min(math.floor(at), #SHADES - 1)
  local parts = {}
  for k = 2, 6, 2 do
    local a = tonumber(SHADES[i]:sub(k, k + 1), 16)
    local b = tonumber(SHADES[i + 1]:sub(k, k + 1), 16)
    parts[#parts + 1] = ("%02x"):format(math.floor(a + (b - a) * (at - i)
      + 0.5))
  end
  return "#" .. table.concat(parts)
end

-- A picture of a grid: cells of one colour in a row are one rectangle of the
-- path of their colour.
local function field_chart(chart, opts)
  local drawing, field, paths = setmetatable({}, Drawing), chart.grid, {}
  local left, top, form = 60, TOP, field.cols / field.rows
  local wide = math.min(WIDTH - 120, math.max(4, 480 * form))
  local high = math.max(4, wide / form)
  local dx, dy = wide / #field.cells[1], high / #field.cells
  local function color_of(x)
    return not x and "odd" or shade(field.hi > field.lo
      and (x - field.lo) / (field.hi - field.lo) or 0.5)
  end
  for i, row in ipairs(field.cells) do
    local from, color = 1, color_of(row[1])
    for j = 2, #row + 1 do
      local other = j <= #row and color_of(row[j])
      if other ~= color then
        paths[color] = (paths[color] or "") .. ("M%.2f %.2fh%.2fv%.2fh%.2fz")
          :format(left + (from - 1) * dx, top + (i - 1) * dy,
          (j - from) * dx, dy, (from - j) * dx)
        from, color = j, other
      end
    end
  end
  for _, color in ipairs(text.keys(paths)) do
    drawing:add('<path %s="%s" shape-rendering="crispEdges" d="%s"/>',
      color == "odd" and "class" or "fill", color == "odd" and "s6" or color,
      paths[color])
  end
  drawing:text(left - 8, top + 11, "1", "soft", "end")
  if high > 24 then
    drawing:text(left - 8, top + high, field.rows, "soft", "end")
  end
  drawing:text(left, top + high + 16, "1", "soft")
  drawing:text(left + wide, top + high + 16, field.cols, "soft", "end")
  local y = top + high + 40
  if field.lo then
    drawing:text(left + 72, y, ("%.4g"):format(field.lo), "soft", "end")
    for i = 0, 63 do
      drawing:add('<rect fill="%s" x="%d" y="%.1f" width="3" height="12"/>',
        shade(i / 63), left + 80 + 3 * i, y - 10)
    end
    drawing:text(left + 280, y, ("%.4g"):format(field.hi), "soft")
  end
  return finish(drawing, chart, y + 24, opts)
end

-- svg.render(chart, opts) -> string
-- The text that chart:svg returns.
function M.render(chart, opts)
  return chart.bars and bar_chart(chart, opts)
    or chart.rows and gantt_chart(chart, opts)
    or chart.grid and field_chart(chart, opts) or xy_chart(chart, opts)
end

return M

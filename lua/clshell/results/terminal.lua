-- results/terminal.lua - charts in the terminal: lines in braille, bars in
-- eighths of a block, or both in ASCII
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.base.quantity"
local report = require "clshell.results.tables"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

local COLORS = {"blue", "yellow", "green", "magenta", "cyan", "red"}
local MARKS = {"●", "■", "▲", "◆", "○", "□", "△", "◇"}
local ASCII_MARKS = {"o", "x", "+", "*", "#", "@", "%", "&"}
local EIGHTHS = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"}
local LETTERS = "abcdefghijklmnopqrstuvwxyz"
  .. "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
local HEIGHT = 16
local WIDEST = 10000 -- columns of a chart
local WIDEST_LABEL = 34

-- The bits of a braille character by the dot's column and row.
local BITS = {[0] = {[0] = 0x01, 0x02, 0x04, 0x40},
  {[0] = 0x08, 0x10, 0x20, 0x80}}

local length = text.width

local function shorten(s, width)
  return text.cut(s, width, "~")
end

-- The width of the widest of some texts, and at least so many columns.
local function widest(texts, least)
  for _, s in pairs(texts) do
    least = math.max(least, length(s))
  end
  return least
end

-- Text in exactly so many columns: cut, or filled on one side.
local function fill(s, width, right)
  return text.fill(shorten(s, width), width, right)
end

-- A grid of characters to draw on: each has 2 x 4 braille dots, or one ASCII
-- dot, and may have a mark over them. Dots count from 0 at the upper left.
local Canvas = {}
Canvas.__index = Canvas

local function canvas(width, height, ascii)
  return setmetatable({
    width = width, ascii = ascii,
    dots_x = ascii and width or 2 * width,
    dots_y = ascii and height or 4 * height,
    dots = {}, marks = {}, colors = {},
  }, Canvas)
end

-- The index of the character with a dot; nil beyond the edge.
function Canvas:cell(x, y)
  if x >= 0 and x < self.dots_x and y >= 0 and y < self.dots_y then
    return self.ascii and y * self.width + x or y // 4 * self.width + x // 2
  end
end

-- A straight line of dots.
function Canvas:line(x0, y0, x1, y1, color)
  local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0), 1)
  for i = 0, steps do
    local x = math.floor(x0 + (x1 - x0) * i / steps + 0.5)
    local y = math.floor(y0 + (y1 - y0) * i / steps + 0.5)
    local cell = self:cell(x, y)
    if cell then
      self.dots[cell] = (self.dots[cell] or 0) | BITS[x % 2][y % 4]
      self.colors[cell] = color
    end
  end
end

-- Puts a character in place of a dot. With `aside`, a mark that would cover
-- another goes to the next free place on the right.
function Canvas:mark(x, y, char, color, aside)
  local cell = self:cell(x, y)
  while cell and aside and self.marks[cell] and (cell + 1) % self.width > 0 do
    cell = cell + 1
  end
  if cell then
    self.marks[cell], self.colors[cell] = char, color
  end
end

-- The characters of a row, counted from 1, coloured if `color` is true.
function Canvas:row(i, color)
  local parts = {}
  for cell = (i - 1) * self.width, i * self.width - 1 do
    local char = self.marks[cell] or self.dots[cell]
      and (self.ascii and "." or utf8.char(0x2800 + self.dots[cell]))
    parts[#parts + 1] = char
      and style.paint(char, self.colors[cell], color) or " "
  end
  return table.concat(parts)
end

-- The character for the points of a series: a roofline has a letter for each
-- series, as each has one point.
local function mark(chart, i, how)
  if chart.kind == "roofline" then
    i = (i - 1) % #LETTERS + 1
    return LETTERS:sub(i, i)
  end
  local marks = how.ascii and ASCII_MARKS or MARKS
  return marks[(i - 1) % #marks + 1]
end

local function color(i)
  return COLORS[(i - 1) % #COLORS + 1]
end

-- The text of the lines, with the title before them and the notes below.
local function finish(lines, chart, how)
  if chart.title ~= "" then
    table.insert(lines, 1, style.paint(shorten(chart.title, how.width),
      "bold", how.color))
  end
  for _, note in ipairs(chart.notes) do
    lines[#lines + 1] = shorten("(" .. note .. ")", how.width)
  end
  for i, line in ipairs(lines) do
    lines[i] = line:gsub(" +$", "")
  end
  return table.concat(lines, "\n")
end

local function draw_series(area, chart, how)
  local function place(p)
    local x = chart.x:at(p.x) * (area.dots_x - 1)
    local y = (1 - chart.y:at(p.y)) * (area.dots_y - 1)
    return math.floor(x + 0.5), math.floor(y + 0.5)
  end
  local function polyline(points, name)
    for i = 2, #points do
      local x0, y0 = place(points[i - 1])
      local x, y = place(points[i])
      area:line(x0, y0, x, y, name)
    end
  end
  local lines = chart.kind == "line" and not chart.scatter
  for _, roof in ipairs(chart.roofs or {}) do
    polyline(roof.points, "dim")
  end
  for i, s in ipairs(lines and chart.series or {}) do
    polyline(s.points, color(i))
  end
  for i, s in ipairs(chart.series) do
    -- marks would hide a line of more points than columns
    local marked = chart.scatter or #s.points <= area.width
    for _, p in ipairs(marked and s.points or {}) do
      local x, y = place(p)
      area:mark(x, y, mark(chart, i, how), color(i),
        chart.kind == "roofline")
    end
  end
end

-- The texts of the y axis' ticks, by their lines.
local function y_texts(axis, height)
  local texts = {}
  for _, tick in ipairs(axis:ticks(math.max(2, height // 3))) do
    texts[math.floor((1 - tick.at) * (height - 1) + 0.5) + 1] = tick.text
  end
  return texts
end

-- The line of tick marks under the chart, and their texts; a text that would
-- touch the previous text is left out.
local function x_lines(axis, width, margin, glyphs)
  local rule, texts, free = {}, "", margin
  for i = 1, width do
    rule[i] = glyphs.flat
  end
  for _, tick in ipairs(axis:ticks(math.max(2, width // 9))) do
    local at = math.floor(tick.at * (width - 1) + 0.5) + 1
    local size = length(tick.text)
    local begin = math.max(0, margin + at - 1 - size // 2)
    begin = math.min(begin, margin + width - size)
    if begin >= free then
      texts = fill(texts, begin) .. tick.text
      free = begin + size + 1
      rule[at] = glyphs.down
    end
  end
  return (" "):rep(margin - 1) .. glyphs.corner .. table.concat(rule), texts
end

-- Adds the names of series and roofs, several in a line.
local function add_legend(lines, chart, how)
  local used = math.huge
  local function put(sign, name, paint)
    name = shorten(name, how.width - 3)
    local size = length(sign) + 1 + length(name)
    local gap = used + 3 + size > how.width and " " or "   "
    if gap == " " then
      lines[#lines + 1], used = "", 0
    end
    lines[#lines] = lines[#lines] .. gap
      .. style.paint(sign, paint, how.color and paint) .. " " .. name
    used = used + #gap + size
  end
  for i, s in ipairs(chart.series) do
    local name = s.name
      .. (s.roof_share and (" %.0f %% of roof"):format(100 * s.roof_share)
      .. (s.bound and ", " .. s.bound or "") or "")
      .. (s.suspect and " IMPOSSIBLE?" or "")
    if name ~= "" then
      put(mark(chart, i, how), name, color(i))
    end
  end
  for _, roof in ipairs(chart.roofs or {}) do
    put(roof.slope and "/" or "-", roof.name)
  end
end

local function xy_chart(chart, how)
  local height = math.max(4, how.height or chart.height or HEIGHT)
  local glyphs = how.ascii
    and {tick = "+", side = "|", corner = "+", flat = "-", down = "+"}
    or {tick = "┤", side = "│", corner = "└", flat = "─", down = "┬"}
  local texts = y_texts(chart.y, height)
  local label = widest(texts, 0)
  local margin = label + 2
  local width = math.max(10, how.width - margin - 1)
  local area = canvas(width, height, how.ascii)
  draw_series(area, chart, how)
  local lines = {chart.y:title()}
  for row = 1, height do
    lines[#lines + 1] = fill(texts[row] or "", label, true) .. " "
      .. (texts[row] and glyphs.tick or glyphs.side)
      .. area:row(row, how.color)
  end
  local rule, ticks = x_lines(chart.x, width, margin, glyphs)
  lines[#lines + 1], lines[#lines + 2] = rule, ticks
  local title = chart.x:title()
  lines[#lines + 1] = fill("", margin + math.max(0,
    (width - length(title)) // 2)) .. title
  add_legend(lines, chart, how)
  return finish(lines, chart, how)
end

-- A bar of `size` columns, fractions of a column included.
local function bar_of(size, ascii, hatched)
  local least = size > 0 and 1 or 0
  if ascii or hatched then
    return (hatched and (ascii and "/" or "▒") or "#"):rep(math.max(least,
      math.floor(size + 0.5)))
  end
  local eighths = math.max(least, math.floor(size * 8 + 0.5))
  return ("█"):rep(eighths // 8) .. (EIGHTHS[eighths % 8] or "")
end

-- The bar of a row, with the mark of a limit beyond the bar.
local function bar_cell(chart, bar, width, how)
  local filled = bar_of(chart.x:at(bar.value) * width, how.ascii, bar.unsure)
  local at = chart.limit
    and math.floor(chart.x:at(chart.limit.value) * (width - 1) + 0.5)
  local rest = (" "):rep(width - length(filled))
  if at and at >= length(filled) then
    rest = (" "):rep(at - length(filled)) .. (how.ascii and "|" or "┊")
  end
  return style.paint(filled, bar.best and "green" or "blue", how.color)
    .. rest
end

local function bar_chart(chart, how)
  local numbers, steps, labels = {}, {}, {}
  for i, bar in ipairs(chart.bars) do
    numbers[i] = bar.value and quantity.number(bar.value / chart.x.factor,
      bar.digits) or ""
    steps[i] = bar.step and ("x%.2f"):format(bar.step) or ""
    labels[i] = bar.label
  end
  text.align(numbers)
  local value = widest(numbers, length(chart.x.unit_text or ""))
  local step = widest(steps, 0)
  local gap = (" "):rep(step > 0 and 2 or 0)
  local label = math.min(widest(labels, 0), WIDEST_LABEL,
    math.max(8, how.width - value - step - 20))
  local width = math.max(6, how.width - label - value - step - #gap - 6)
  local function cells(number, factor)
    return "  " .. fill(number, value, true) .. gap
      .. fill(factor, step, true) .. "  "
  end
  local lines = {fill(fill("", label + 2) .. cells(chart.x.unit_text or "",
    step > 0 and "step" or "") .. chart.x.label, how.width)}
  for i, bar in ipairs(chart.bars) do
    local name = fill(bar.label, label)
    local line = (bar.best and "* " or "  ")
      .. style.paint(name, "bold", how.color and bar.best)
    lines[#lines + 1] = line .. (bar.value
      and cells(numbers[i], steps[i])
        .. bar_cell(chart, bar, width, how)
      or "  " .. shorten(bar.note, how.width - label - 4))
  end
  if chart.limit then
    local digits = quantity.format(chart.limit.value, chart.x.unit)
    lines[#lines + 1] = shorten(("%s %s: %s"):format(how.ascii and "|"
      or "┊", chart.limit.label, digits), how.width)
  end
  return finish(lines, chart, how)
end

-- terminal.render(chart, opts) -> string
-- The text that chart:text returns.
function M.render(chart, opts)
  local how = {
    width = math.max(30, math.min(opts.width or chart.width
      or math.min(report.width(), 100), WIDEST)),
    height = opts.height, ascii = opts.ascii, color = opts.color,
  }
  if how.ascii == nil then
    how.ascii = not style.glyphs()
  end
  if how.color == nil then
    how.color = style.color(1)
  end
  return chart.bars and bar_chart(chart, how) or xy_chart(chart, how)
end

return M

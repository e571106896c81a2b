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
local WIDEST = 10000 -- columns of a chart; a tenth of it, its lines
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
  return (table.concat(lines, "\n"):gsub(" +%f[\n\0]", ""))
end

local function draw_series(area, chart, how)
  local function place(p)
    local x = chart.x:at(p.x) * (area.dots_x - 1)
    local y = (1 - chart.y:at(p.y)) * (area.dots_y - 1)
    return math.floor(x + 0.5), math.floor(y + 0.5)
  end
  local function polyline(points, name)
    for i = 2, #points do
      local x0, y0 = place(points[points[i].gap and i or i - 1])
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
    local all = chart.scatter or not chart.given and #s.points <= area.width
    for _, p in ipairs(s.points) do
      if all or p.mark then
        local x, y = place(p)
        area:mark(x, y, mark(chart, i, how), color(i),
          chart.kind == "roofline")
      end
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
  local height = math.max(4, how.height)
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

-- Parts of a character's time that are busy, in eighths or fewer steps.
local HEIGHTS, LETTERS_BUSY = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
  {".", ":", "=", "#"}

-- The cells of a row of a Gantt chart: each shows its busy part.
local function gantt_cells(chart, row, width, how)
  local steps = how.ascii and LETTERS_BUSY or HEIGHTS
  local each, busy, cells = (chart.to - chart.from) / width, {}, {}
  for _, span in ipairs(row.spans) do
    local a, b = span[1] - chart.from, span[2] - chart.from
    for c = math.floor(a / each), math.min(width - 1, math.floor(b / each)) do
      local part = math.min(b, (c + 1) * each) - math.max(a, c * each)
      busy[c] = part > 0 and (busy[c] or 0) + part or busy[c]
    end
  end
  for c = 0, width - 1 do
    cells[c + 1] = busy[c] and steps[math.max(1, math.min(#steps,
      math.ceil(busy[c] / each * #steps - 1e-6)))] or " "
  end
  return table.concat(cells)
end

local function gantt_chart(chart, how)
  local labels, shares, lines = {}, {}, {}
  local whole = math.max(1, chart.to - chart.from)
  for i, row in ipairs(chart.rows) do
    labels[i] = row.label
    shares[i] = ("%.0f %%"):format(100 * row.length / whole)
  end
  local label = math.min(widest(labels, 0), WIDEST_LABEL, how.width // 3)
  local width = math.max(6, how.width - label - 9)
  local side = how.ascii and "|" or "│"
  for i, row in ipairs(chart.rows) do
    lines[i] = fill(row.label, label) .. " " .. side .. style.paint(
      gantt_cells(chart, row, width, how), COLORS[row.label:find "kernels"
      and 1 or row.label:find "copies" and 2 or row.label:find "^host" and 5
      or 3], how.color) .. side .. fill(shares[i], 5, true)
  end
  local last = quantity.format(whole * 1e-9, "s", 3)
  lines[#lines + 1] = fill("", label + 2) .. "0" .. fill(last, width - 1, true)
  return finish(lines, chart, how)
end

-- Dark to light, for a terminal of 256 colours and for one without colours.
local SHADES = {53, 54, 60, 24, 30, 36, 72, 77, 149, 190, 226}
local GREYS, DOTS = {" ", "░", "▒", "▓", "█"},
  {" ", ".", ":", "-", "=", "+", "*", "#", "@"}

-- The step of a number between lo and hi among so many steps, from 1.
local function step_of(x, grid, steps)
  local place = grid.hi > grid.lo and (x - grid.lo) / (grid.hi - grid.lo)
    or 0.5
  return 1 + math.floor(place * (steps - 1) + 0.5)
end

-- A picture of a grid: a character is two cells on top of each other in
-- colour, else a shade.
local function field_chart(chart, how)
  local grid = chart.grid
  local last = tostring(grid.rows)
  local room = how.width - #last - 3
  local most = 2 * math.max(1, how.height)
  -- a small matrix has several characters for a column
  local times = math.max(1, math.min(8, math.min(room, 48) // grid.cols))
  local width = math.max(1, math.min(room, grid.cols * times))
  local height = width * grid.rows / grid.cols
  if height > most then
    width = math.max(1, math.floor(width * most / height + 0.5))
  end
  height = math.max(2, math.min(most, 2 * math.floor(height / 2 + 0.5)))
  local steps = how.ascii and DOTS or GREYS
  local per = how.color and 1 or 2
  local function at(i, j)
    return grid.cells[i][j] or 0 / 0
  end
  local cells = require "clshell.results.curves".resampled(at, #grid.cells,
    #grid.cells[1], height // per, width)
  local function cell(row, c)
    if not how.color then
      local x = cells[row][c]
      return "", x and steps[step_of(x, grid, #steps)] or "?"
    end
    local a, b = cells[2 * row - 1][c], cells[2 * row][c]
    return a and b and ("\27[38;5;%d;48;5;%dm"):format(
      SHADES[step_of(a, grid, #SHADES)], SHADES[step_of(b, grid, #SHADES)])
      or "\27[0m", a and b and (how.ascii and " " or "▀") or "?"
  end
  local lines, off = {}, how.color and "\27[0m" or ""
  local side = how.ascii and "|" or "│"
  for row = 1, height // 2 do
    local parts, before = {fill(row == 1 and "1" or row == height // 2
      and grid.rows > 1 and last or "", #last, true), side}, nil
    for c = 1, width do
      local paint, char = cell(row, c)
      parts[#parts + 1] = (paint ~= before and paint or "") .. char
      before = paint
    end
    lines[row] = table.concat(parts) .. off .. side
  end
  local right = tostring(grid.cols)
  lines[#lines + 1] = (" "):rep(#last + 1) .. "1"
    .. fill(right, math.max(#right + 1, width - 1), true)
  local ramp = table.concat(steps)
  if how.color then
    ramp = text.values(SHADES, "", function(shade)
      return ("\27[48;5;%dm "):format(shade)
    end) .. off
  end
  lines[#lines + 1] = (" "):rep(#last + 1) .. (not grid.lo and ""
    or grid.lo == grid.hi and ("all %.4g"):format(grid.lo)
    or ("%.4g %s %.4g"):format(grid.lo, ramp, grid.hi))
  return finish(lines, chart, how)
end

-- terminal.render(chart, opts) -> string
-- The text that chart:text returns.
function M.render(chart, opts)
  local how = {
    width = math.max(30, math.min(opts.width or chart.width
      or math.min(report.width(), 100), WIDEST)),
    height = math.min(opts.height or chart.height or HEIGHT, WIDEST // 10),
    ascii = opts.ascii, color = opts.color,
  }
  if how.ascii == nil then
    how.ascii = not style.glyphs()
  end
  if how.color == nil then
    how.color = style.color(1)
  end
  return chart.bars and bar_chart(chart, how)
    or chart.rows and gantt_chart(chart, how)
    or chart.grid and field_chart(chart, how) or xy_chart(chart, how)
end

return M

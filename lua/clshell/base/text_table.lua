-- base/text_table.lua - tables of text that keep to a width: numbers aligned
-- on the point; cells that all rows share said once, above; a narrow window
-- cuts names in the middle, puts columns under their rows, and leaves columns
-- out and names them
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local GAPS = {"  ", " "} -- between columns; the second where it is narrow
local NARROWEST = 16 -- of a wrapped column; below that it goes under its row
local CUT = style.utf8() and "…" or ".." -- in the middle of a name

local width_of, pad = text.width, text.fill

local function cell(column, row)
  local value = row[column.key]
  if type(column.key) == "function" then
    value = column.key(row)
  end
  local format = column.format
  if value == nil then
    return ""
  elseif type(value) ~= "number" or not format then
    return text.visible((tostring(value):gsub("%s+", " ")))
  end
  return type(format) == "function" and format(value, row)
    or format:format(value)
end

-- text_table.filled(column, rows) -> column
-- A column in the form for text_table.format, with the texts of its cells, its
-- title, and whether it is empty and aligned right.
function M.filled(column, rows)
  local cells, numeric, empty = {}, column.format ~= nil, true
  for i, row in ipairs(rows) do
    cells[i] = cell(column, row)
    empty = empty and cells[i] == ""
  end
  if numeric and column.align ~= "right" then
    text.align(cells)
  end
  return setmetatable({cells = cells,
    title = column.title or type(column.key) ~= "function"
      and tostring(column.key) or "",
    empty = empty, right = numeric or column.align == "right"},
    {__index = column})
end

-- A column ready to be set, with its width.
local function laid(column, rows)
  local c = M.filled(column, rows)
  c.width = width_of(c.title)
  for _, s in ipairs(c.cells) do
    c.width = math.max(c.width, width_of(s))
  end
  c.wrap = c.wrap or c.below
  c.least = math.min(c.width, c.cut and math.max(c.cut, width_of(c.title))
    or c.wrap and (math.tointeger(c.wrap) or NARROWEST) or c.width)
  return c
end

-- The text that all cells of a column share that are not empty, or nil.
local function shared(c)
  local common
  for _, s in ipairs(c.cells) do
    common = common or s ~= "" and s or nil
    if s ~= "" and s ~= common then
      return nil
    end
  end
  return common
end

-- Width of the columns side by side, as narrow as can be.
local function total(list, gap)
  local sum = -#gap
  for _, c in ipairs(list) do
    sum = sum + #gap + c.least
  end
  return sum
end

-- Makes the columns fit: names are cut in the middle, wrapped columns go
-- under their rows, the widest first, then the gaps shrink, then the columns
-- with the highest `drop` are left out. Returns the columns beside one
-- another, the columns below, the gap, the titles of the columns left out and
-- the width that they need.
local function fit(list, width)
  local beside, below, out, under = {}, {}, {}, {}
  for _, c in ipairs(list) do
    under[c] = c.below
    beside[#beside + 1] = not c.below and c or nil
  end
  while total(beside, GAPS[1]) > width do
    local widest
    for i, c in ipairs(beside) do
      widest = c.wrap and c.width > (widest and beside[widest].width or 0)
        and i or widest
    end
    if not widest then
      break
    end
    under[table.remove(beside, widest)] = true
  end
  for _, c in ipairs(list) do
    below[#below + 1] = under[c] and c or nil
  end
  local gap = total(beside, GAPS[1]) > width and GAPS[2] or GAPS[1]
  local enough = total(beside, gap)
  while total(beside, gap) > width do
    local worst
    for i, c in ipairs(beside) do
      if c.drop and (not worst or c.drop > beside[worst].drop) then
        worst = i
      end
    end
    if not worst then
      break
    end
    out[#out + 1] = table.remove(beside, worst).title
  end
  if #out > 0 and total(beside, GAPS[1]) <= width then
    gap = GAPS[1]
  end
  local spare = width - total(beside, gap)
  for _, c in ipairs(beside) do
    local more = math.max(0, math.min(c.width - c.least, spare))
    c.width, spare = c.least + more, spare - more
  end
  return beside, below, gap, out, enough
end

-- A text broken into lines, a word that is longer than a line as well.
local function broken(s, width)
  local lines = {}
  width = math.max(2, width) -- a character
  for _, line in ipairs(text.wrap(s, width)) do
    repeat
      lines[#lines + 1] = text.cut(line, width)
      line = line:sub(#lines[#lines] + 1)
    until line == ""
  end
  return lines
end

-- The lines of one row of the table.
local function row_lines(beside, below, i, width, gap)
  local parts, height = {}, 1
  for j, c in ipairs(beside) do
    parts[j] = c.wrap and not c.cut and broken(c.cells[i], c.width)
      or {c.cut and text.middle(c.cells[i], c.width, CUT) or c.cells[i]}
    height = math.max(height, #parts[j])
  end
  local lines = {}
  for k = 1, height do
    local cells = {}
    for j, c in ipairs(beside) do
      cells[j] = pad(parts[j][k] or "", c.width, c.right)
    end
    lines[k] = table.concat(cells, gap):gsub(" +$", "")
  end
  local words = {}
  for _, c in ipairs(below) do
    words[#words + 1] = c.cells[i] ~= "" and (c.once or "%s"):format(c.cut
      and text.middle(c.cells[i], 2 * c.cut, CUT) or c.cells[i]) or nil
  end
  for _, line in ipairs(words[1] and broken(table.concat(words, "; "),
      width - 4) or {}) do
    lines[#lines + 1] = "    " .. line
  end
  return lines
end

-- Puts a star before the best row, in the first column.
local function mark(column, best)
  for i, s in ipairs(column.cells) do
    column.cells[i] = (i == best and "* " or "  ") .. s
  end
  column.title, column.width = "  " .. column.title, column.width + 2
  column.least = column.least + 2
end

-- The width that a table keeps to; without a window, as behind a pipe, none.
local function window()
  return math.tointeger(tonumber(os.getenv("COLUMNS"))) or system.winsize(1)
end

-- The cell of a row to come: a number has room for two more digits on both
-- sides of the point than in the first row. A number that needs more keeps its
-- digits and leaves the line of points, or has fewer digits.
local function live_cell(c, row)
  local s = cell(c, row)
  local whole, part = s:match("^(%-?%d+)(%.?%d*)$")
  if whole and c.format and c.align ~= "right" then
    c.digits = c.digits or {("0"):rep(math.max(3, #whole + 2)) .. "."
      .. (type(c.format) == "string" and part:sub(2)
      or ("0"):rep(math.max(3, #part + 1)))}
    local both = {s, c.digits[1]}
    text.align(both)
    s = (#both[1] <= #both[2] or not c.width) and both[1] or s
    if c.width and #s > c.width then
      s = ("%.0e"):format(s)
    end
  end
  return s
end

-- The head of columns side by side.
local function head_of(beside, gap)
  return (text.values(beside, gap, function(c)
    return pad(c.title, c.width, c.right)
  end):gsub(" +$", ""))
end

-- text_table.live(columns [, width]) -> lines(row)
-- A table whose rows come one by one: lines(row) returns the lines of a row,
-- the first time below the head; lines(nil) the words for columns left out, or
-- nil. The first row sets the widths, `room` their least. Columns that wrap,
-- and longer words behind the first column, are below their rows.
function M.live(columns, width)
  width = width or window() and M.width() or math.huge
  local list, beside, below, gap, out, enough = {}
  return function(row)
    if row == nil then
      return list[1] and M.left_out(out, width, enough)
    end
    local lines = {}
    for i, column in ipairs(columns) do
      list[i] = list[i] or setmetatable({title = column.title or column.key,
        right = column.format ~= nil or column.align == "right",
        below = column.wrap or column.below}, {__index = column})
      list[i].cells = {live_cell(list[i], row)}
    end
    if not beside then
      for _, c in ipairs(list) do
        c.width = math.max(width_of(c.title), width_of(c.cells[1]),
          c.room or 0)
        c.least = c.width
      end
      beside, below, gap, out, enough = fit(list, width)
      lines[1] = head_of(beside, gap)
    end
    local under = {}
    for i, c in ipairs(beside) do
      if i > 1 and not c.format and width_of(c.cells[1]) > c.width then
        under[#under + 1] = {cells = c.cells}
        c.cells = {""}
      end
    end
    table.move(below, 1, #below, #under + 1, under)
    for _, line in ipairs(row_lines(beside, under, 1, width, gap)) do
      lines[#lines + 1] = line
    end
    return table.concat(lines, "\n")
  end
end

-- text_table.width() -> columns
-- The width of the window: COLUMNS from the environment, else the width of the
-- terminal, else 80.
function M.width()
  return math.max(20, window() or 80)
end

-- The words for columns left out; nil for none.
function M.left_out(out, width, enough)
  return #out > 0 and table.concat(text.wrap(("(left out at %.0f columns: %s; "
    .. "COLUMNS=%d makes room)"):format(width, table.concat(out, ", "),
    enough), width), "\n") or nil
end

-- text_table.format(rows, columns [, opts]) -> string
-- Rows as a table: see report.format, but a column is always a table, without
-- a unit. opts: width (columns of the window), best (the index of a row that
-- is marked), color (true: that row is bold).
function M.format(rows, columns, opts)
  opts = opts or {}
  local width = opts.width or window() and M.width() or math.huge
  local shown, common = {}, {}
  for _, column in ipairs(columns) do
    local c = laid(column, rows)
    local once = c.once and shown[1] and shared(c)
    common[#common + 1] = once and c.once:format(once) or nil
    shown[#shown + 1] = not (c.empty or once) and c or nil
  end
  if opts.best and shown[1] then
    mark(shown[1], opts.best)
  end
  local beside, below, gap, out, enough = fit(shown, width)
  local lines = common[1] and text.wrap(table.concat(common, ", "), width)
    or {}
  local head = head_of(beside, gap)
  lines[#lines + 1] = head ~= "" and head or nil
  for i in ipairs(rows) do
    for _, line in ipairs(row_lines(beside, below, i, width, gap)) do
      lines[#lines + 1] = style.paint(line, "bold",
        opts.color and i == opts.best)
    end
  end
  lines[#lines + 1] = M.left_out(out, width, enough)
  return table.concat(lines, "\n")
end

return M

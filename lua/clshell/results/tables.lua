-- results/tables.lua - tables for people: numbers aligned on the point; a
-- narrow window leaves columns out and names them. Tables of results take
-- their columns from fields.lua.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.results.fields"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local GAPS = {"  ", " "} -- between columns; the second where it is narrow
local NARROWEST = 16 -- of a wrapped column; below that it goes under its row

local width_of, pad = text.width, text.fill

--- report.number(x [, digits]) -> string
--- A number in plain decimals, with so many significant digits (4).
M.number = quantity.number

-- report.columns: the columns of bench results by their names.
M.columns = fields.columns

--- report.align(cells)
--- Pads the texts of numbers so that their points stand in one line.
M.align = text.align

--- report.relate(rows, opts)
--- Compares bench results: sets `percent` of the peak and `speedup` over the
--- result `base`. Results without a rate get neither.
--- Options:
---   peak  -       FLOP/s, or B/s where `by` is "gbs"; or a function that
---                 returns it, as a result may raise the measured peak
---   by    gflops  the field that is compared with the peak
---   base  -       a result
function M.relate(rows, opts)
  local by, peak = opts.by or "gflops", opts.peak
  if type(peak) == "function" then
    peak = peak()
  end
  for _, r in ipairs(rows) do
    if r[by] and peak and r.unit ~= "matrix" then -- see record.describe_rung
      r.percent = 100 * r[by] * 1e9 / peak
    end
    if (r.gflops or r.gbs) and opts.base and opts.base.ms then
      r.speedup = opts.base.ms / r.ms
    end
  end
end

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

-- A column with the prefix that suits its middle value.
local function with_prefix(column, rows)
  local values = {}
  for _, row in ipairs(rows) do
    local x = fields.value(row, column.key)
    values[#values + 1] = type(x) == "number" and text.finite(x) and x or nil
  end
  table.sort(values)
  local factor, unit = quantity.prefix(values[(#values + 1) // 2] or 1,
    column.unit)
  return setmetatable({
    title = ("%s %s"):format(column.title, unit):gsub("^ ", ""),
    format = function(x, row)
      return fields.number(x / factor, row)
    end,
  }, {__index = column})
end

-- report.filled(column, rows) -> column
-- A column by its name, or as report.format takes it, with the texts of its
-- cells, its title, and whether it is empty and stands right.
function M.filled(column, rows)
  if type(column) ~= "table" or column.key == nil then
    column = fields.columns[column] or cl.error(("report.format: a column "
      .. "must be a name or a table with a key; got %s"):format(
      tostring(column)), {hint = "report.columns has the names"})
  end
  column = column.unit and with_prefix(column, rows) or column
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
  return c
end

-- Width of the columns side by side, wrapped ones as narrow as can be.
local function total(list, gap)
  local sum = -#gap
  for _, c in ipairs(list) do
    sum = sum + #gap + (c.wrap and math.min(c.width, NARROWEST) or c.width)
  end
  return sum
end

-- Makes the columns fit: wrapped columns go under their rows, then the gaps
-- shrink, then the columns with the highest `drop` are left out. Returns the
-- columns beside one another, the columns below, the gap, the titles of the
-- columns left out and the width that they need.
local function fit(list, width)
  local beside, below, out = {table.unpack(list)}, {}, {}
  for i = #beside, 1, -1 do
    local c = beside[i]
    if c.below or c.wrap and total(beside, GAPS[1]) > width then
      table.insert(below, 1, table.remove(beside, i))
    end
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
    if c.wrap then
      local least = math.min(c.width, NARROWEST)
      local more = math.min(c.width - least, spare)
      c.width, spare = least + more, spare - more
    end
  end
  return beside, below, gap, out, enough
end

--- report.wrap(s, width) -> list of lines
--- A text broken at spaces; a word longer than a line stays whole.
M.wrap = text.wrap

-- The lines of one row of the table.
local function row_lines(beside, below, i, width, gap)
  local parts, height = {}, 1
  for j, c in ipairs(beside) do
    parts[j] = c.wrap and M.wrap(c.cells[i], c.width) or {c.cells[i]}
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
  for _, c in ipairs(below) do
    if c.cells[i] ~= "" then
      for _, line in ipairs(M.wrap(c.cells[i], width - 4)) do
        lines[#lines + 1] = "    " .. line
      end
    end
  end
  return lines
end

--- report.width() -> columns
--- The width that tables keep to: COLUMNS from the environment, else the width
--- of the terminal, else 80.
function M.width()
  local width = math.tointeger(tonumber(os.getenv("COLUMNS")))
    or system.winsize(1) or 80
  return math.max(20, width)
end

-- Puts a star before the row that is best, in the first column.
local function mark(column, best)
  for i, s in ipairs(column.cells) do
    column.cells[i] = (i == best and "* " or "  ") .. s
  end
  column.title, column.width = "  " .. column.title, column.width + 2
end

-- Raises unless there are a list of tables and a list of columns.
local function check_rows(rows, wanted)
  for name, list in pairs{rows = rows or false, columns = wanted or false} do
    if type(list) ~= "table" then
      cl.error(("report.format: %s must be a list; got %s"):format(name,
        list and "a " .. type(list) or "nothing"))
    end
  end
  for i, row in ipairs(rows) do
    if type(row) ~= "table" then
      cl.error(("report.format: row %d must be a table; got a %s"):format(i,
        type(row)))
    end
  end
end

--- report.format(rows, columns [, opts]) -> string
--- A table of rows (tables) as text. A column is a name from report.columns
--- or {key = field or function(row), title =, format = "%.2f" or a function,
--- align = "right", drop = n, wrap = true}: numbers with a format are aligned
--- on the point; columns with the highest `drop` are left out first where the
--- window is narrow, and named below the table; a `wrap` column is broken
--- into lines, or put under its row, where `below = true` always puts it.
--- {key =, title =, unit = "s"} is in base units: the header names the prefix
--- that suits. Columns that are empty are not shown.
--- Options:
---   width  window  columns
---   best   -       a field such as "gflops": its best row is marked
---   color  false   true: the best row is bold
function M.format(rows, wanted, opts)
  options.check(opts, "report.format")
  opts = opts or {}
  check_rows(rows, wanted)
  local width = opts.width or M.width()
  local best = opts.best and fields.best(rows, opts.best)
  local shown = {}
  for _, column in ipairs(wanted) do
    local c = laid(column, rows)
    shown[#shown + 1] = not c.empty and c or nil
  end
  if best and shown[1] then
    mark(shown[1], best)
  end
  local beside, below, gap, out, enough = fit(shown, width)
  local titles, lines = {}, {}
  for j, c in ipairs(beside) do
    titles[j] = pad(c.title, c.width, c.right)
  end
  lines[1] = table.concat(titles, gap):gsub(" +$", "")
  for i in ipairs(rows) do
    for _, line in ipairs(row_lines(beside, below, i, width, gap)) do
      lines[#lines + 1] = style.paint(line, "bold", opts.color and i == best)
    end
  end
  if #out > 0 then
    local note = ("(left out at %d columns: %s; COLUMNS=%d makes room)")
      :format(width, table.concat(out, ", "), enough)
    for _, line in ipairs(M.wrap(note, width)) do
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n")
end

return setmetatable(M, {
  --- report(rows, columns [, opts])
  --- Prints report.format(rows, columns, opts), on a terminal in colour.
  --- Options as for report.format.
  __call = function(_, rows, wanted, opts)
    local all = {color = style.color(1)}
    for name, value in pairs(opts or {}) do
      all[name] = value
    end
    io.write(M.format(rows, wanted, all), "\n")
  end,
})

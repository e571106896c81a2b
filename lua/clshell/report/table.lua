-- report.lua - tables for people: aligned on the decimal point, cut to the
-- width of the window without losing a word about what was cut
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.measure.record_fields"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local system = require "clshell.system"

local M = {}

local GAPS = {"  ", " "} -- between columns; the second where it is narrow
local NARROWEST = 16 -- of a wrapped column; below that it goes under its row

local function width_of(s)
  return utf8.len(s) or #s
end

local function pad(s, width, right)
  local fill = (" "):rep(width - width_of(s))
  return right and fill .. s or s .. fill
end

--- report.number(x [, digits]) -> string
--- A number in plain decimals, with so many significant digits (4).
M.number = quantity.number

-- A measured number has as many digits as its result's noise leaves sure.
local function measured(x, row)
  return quantity.number(x, quantity.digits(fields.noise(row)))
end

local function percent(x, row)
  return measured(100 * x, row)
end

local function spread(row)
  local noise = fields.noise(row)
  return noise and 100 * noise
end

local function flags(row)
  return row.flags and row.flags[1] and table.concat(row.flags, ", ") or nil
end

-- The columns of bench results by their keys.
M.columns = {
  kernel = {key = function(r)
    return r.label or r.kernel or r.name
  end, title = "kernel"},
  name = {key = function(r)
    return r.label or r.name
  end, title = "kernel"},
  config = {key = "config", title = "parameters", drop = 5},
  tile = {key = function(r) return r.params and r.params.tile end,
    title = "tile", align = "right"},
  type = {key = "type", title = "type", drop = 4},
  ["local"] = {key = "local", title = "local", align = "right", drop = 6},
  title = {key = "title", title = "shape", drop = 5},
  time = {key = "median", title = "time", unit = "s"},
  ms = {key = "ms", title = "ms", format = measured},
  wall = {key = "wall_ms", title = "host ms", format = measured, drop = 8},
  spread = {key = spread, title = style.utf8() and "±%" or "+-%",
    format = "%.1f", drop = 7},
  n = {key = "n", title = "n", align = "right", drop = 9},
  mode = {key = "mode", title = "cache", drop = 7},
  timer = {key = "timer", title = "timer", drop = 9},
  gflops = {key = "gflops", title = "GFLOPS", format = measured},
  gbs = {key = "gbs", title = "GB/s", format = measured, drop = 3},
  ai = {key = "ai", title = "FLOP/B", format = quantity.number, drop = 8},
  roof = {key = "roof", title = "% roof", format = percent, drop = 2},
  bound = {key = "bound", title = "bound", drop = 6},
  flags = {key = flags, title = "flags", wrap = true},
  peak = {key = "percent", title = "% peak", format = "%.1f", drop = 2},
  speedup = {key = "speedup", title = "speed-up", format = "%.2f", drop = 1},
  err = {key = "err", title = "error", format = "%.0e", align = "right"},
  note = {key = "note", title = "note", wrap = true},
}

--- report.relate(rows, opts)
--- Gives bench results what they mean beside others: `percent` of the peak
--- and `speedup` over the result `base`. Results without a rate get neither.
--- Options:
---   peak  -       FLOP/s, or B/s where `by` is "gbs"
---   by    gflops  the field that is compared with the peak
---   base  -       a result
function M.relate(rows, opts)
  local by = opts.by or "gflops"
  for _, r in ipairs(rows) do
    if r[by] and opts.peak then
      r.percent = 100 * r[by] * 1e9 / opts.peak
    end
    if r.gflops or r.gbs then
      if opts.base and opts.base.ms then
        r.speedup = opts.base.ms / r.ms
      end
    end
  end
end

-- The text of a cell.
local function cell(column, row)
  local value = column.key
  if type(value) == "function" then
    value = value(row)
  else
    value = row[value]
  end
  if value == nil then
    return ""
  elseif type(value) == "number" and column.format then
    local format = column.format
    return type(format) == "function" and format(value, row)
      or format:format(value)
  end
  return (tostring(value):gsub("%s+", " "))
end

--- report.align(cells)
--- Pads the texts of numbers so that their points stand in one line.
function M.align(cells)
  local before, after = 0, 0
  for _, s in ipairs(cells) do
    local whole, part = s:match("^(%-?%d+)(%.?%d*)$")
    if whole then
      before = math.max(before, #whole)
      after = math.max(after, #part)
    end
  end
  for i, s in ipairs(cells) do
    local whole, part = s:match("^(%-?%d+)(%.?%d*)$")
    if whole then
      cells[i] = (" "):rep(before - #whole) .. whole .. part
        .. (" "):rep(after - #part)
    end
  end
end

-- A column in base units with the prefix that suits its middle value.
local function with_prefix(column, rows)
  local values = {}
  for _, row in ipairs(rows) do
    local x = fields.value(row, column.key)
    if type(x) == "number" and x == x and math.abs(x) < math.huge then
      values[#values + 1] = x
    end
  end
  table.sort(values)
  local factor, unit = quantity.prefix(values[(#values + 1) // 2] or 1,
    column.unit)
  return {
    key = column.key, title = ("%s %s"):format(column.title, unit),
    drop = column.drop,
    format = function(x, row)
      return measured(x / factor, row)
    end,
  }
end

-- A column by its name, or as it was given.
local function column_of(column, rows)
  if type(column) == "string" then
    column = M.columns[column] or cl.error("no column '" .. column .. "'",
      {hint = "report.columns has them"})
  end
  return column.unit and with_prefix(column, rows) or column
end

-- A column ready to be set: cells, title, width.
local function layout(column, rows)
  column = column_of(column, rows)
  local cells, numeric, empty = {}, column.format ~= nil, true
  for i, row in ipairs(rows) do
    cells[i] = cell(column, row)
    empty = empty and cells[i] == ""
  end
  if numeric and column.align ~= "right" then
    M.align(cells)
  end
  local title = column.title or column.key
  local width = width_of(title)
  for _, s in ipairs(cells) do
    width = math.max(width, width_of(s))
  end
  return {
    cells = cells, title = title, width = width, drop = column.drop,
    wrap = column.wrap or column.below, below = column.below, empty = empty,
    right = numeric or column.align == "right",
  }
end

-- Width of the columns side by side, wrapped ones as narrow as can be.
local function total(columns, gap)
  local sum = -#gap
  for _, c in ipairs(columns) do
    sum = sum + #gap + (c.wrap and math.min(c.width, NARROWEST) or c.width)
  end
  return sum
end

-- Makes the columns fit: wrapped ones go under their rows, then the gaps
-- shrink, then those with the highest `drop` are left out. Returns what stays
-- beside, what goes below, the gap, the titles of what is left out and the
-- width that would do.
local function fit(columns, width)
  local beside, below, out = {table.unpack(columns)}, {}, {}
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
function M.wrap(s, width)
  local lines, line = {}, ""
  for word in s:gmatch("%S+") do
    if line == "" then
      line = word
    elseif width_of(line) + 1 + width_of(word) <= width then
      line = line .. " " .. word
    else
      lines[#lines + 1], line = line, word
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- The lines of one row of the table.
local function row_lines(beside, below, i, width, gap)
  local parts, height = {}, 1
  for j, c in ipairs(beside) do
    parts[j] = c.wrap and M.wrap(c.cells[i], c.width) or {c.cells[i]}
    height = math.max(height, #parts[j])
  end
  local lines = {}
  for k = 1, height do
    local words = {}
    for j, c in ipairs(beside) do
      words[j] = pad(parts[j][k] or "", c.width, c.right)
    end
    lines[k] = table.concat(words, gap):gsub(" +$", "")
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
--- The width that tables keep to: COLUMNS from the environment, else that of
--- the terminal, else 80.
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
function M.format(rows, columns, opts)
  options.check(opts, "report.format")
  opts = opts or {}
  local width = opts.width or M.width()
  local best = opts.best and fields.best(rows, opts.best)
  local laid = {}
  for _, column in ipairs(columns) do
    local c = layout(column, rows)
    if not c.empty then
      laid[#laid + 1] = c
    end
  end
  if best and laid[1] then
    mark(laid[1], best)
  end
  local beside, below, gap, out, enough = fit(laid, width)
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
    lines[#lines + 1] = ("(left out at %d columns: %s; COLUMNS=%d makes "
      .. "room)"):format(width, table.concat(out, ", "), enough)
  end
  return table.concat(lines, "\n")
end

return setmetatable(M, {
  --- report(rows, columns [, opts])
  --- Prints report.format(rows, columns, opts), on a terminal in colour.
  --- Options as for report.format.
  __call = function(_, rows, columns, opts)
    local all = {color = style.color(1)}
    for name, value in pairs(opts or {}) do
      all[name] = value
    end
    io.write(M.format(rows, columns, all), "\n")
  end,
})

-- results/tables.lua - tables of results for people: base/text_table.lua with
-- the columns of fields.lua, prefixes of units, and digits by the noise
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.results.fields"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local text = require "clshell.base.text"
local text_table = require "clshell.base.text_table"

local M = {}

-- The least widths of columns of a table whose rows are still to come.
local ROOM = {name = 24, kernel = 20, config = 12, tile = 4, ["local"] = 7,
  err = 5}

--- report.number(x [, digits]) -> string
--- A number in plain decimals, with so many significant digits (4).
--- Example: print(report.number(1234.5678)) --> 1235
M.number = quantity.number

-- report.columns: the columns of bench results by their names.
M.columns = fields.columns

--- report.align(cells)
--- Pads the texts of numbers so that their points stand in one line.
--- Example:
--- local cells = {"1.5", "12.25"}
--- report.align(cells)
--- print("|" .. cells[1] .. "|") --> | 1.5 |
M.align = text.align

--- report.relate(rows, opts)
--- Compares bench results: sets `percent` of the peak and `speedup` over the
--- result `base`. Results without a rate get neither.
--- Options:
---   peak  -       FLOPS, or B/s where `by` is "gbs"; or a function that
---                 returns it, as a result may raise the measured peak
---   by    gflops  the field that is compared with the peak
---   base  -       a result
--- Example:
--- local slow = {gflops = 10, ms = 4}
--- local fast = {gflops = 40, ms = 1}
--- report.relate({slow, fast}, {peak = 80e9, base = slow})
--- print(fast.percent, fast.speedup) --> 50.0 4.0
function M.relate(rows, opts)
  local by, peak = opts.by or "gflops", opts.peak
  if type(peak) == "function" then
    peak = peak()
  end
  for _, r in ipairs(rows) do
    if r[by] and peak and not r.unit then -- other units have other peaks
      r.percent = 100 * r[by] * 1e9 / peak
    end
    if (r.gflops or r.gbs) and opts.base and opts.base.ms then
      r.speedup = opts.base.ms / r.ms
    end
  end
end

-- A column with the prefix that suits its middle value (of results: ms), or
-- the middle value of the field that it is `like`.
local function with_prefix(column, rows)
  local values = {}
  for _, row in ipairs(rows) do
    local x = fields.value(row, column.like or column.key)
    values[#values + 1] = type(x) == "number" and text.finite(x) and x or nil
  end
  table.sort(values)
  local factor, unit = quantity.prefix(values[(#values + 1) // 2] or 1,
    column.unit)
  if (column.like or column.key) == "median" and (values[#values] or 1) >= 1e-6
  then
    factor, unit = 1e-3, "ms" -- as the text of a result has it
  end
  return setmetatable({
    title = ("%s %s"):format(column.title, unit):gsub("^ ", ""),
    format = function(x, row)
      return fields.number(x / factor, row)
    end,
  }, {__index = column})
end

-- A column by its name, or as report.format takes it, ready for text_table.
local function resolved(column, rows)
  if type(column) ~= "table" or column.key == nil then
    column = fields.columns[column] or cl.error(("report.format: a column "
      .. "must be a name or a table with a key; got %s"):format(
      tostring(column)), {hint = "report.columns has the names"})
  end
  local real = rows[1] == nil
  for _, row in ipairs(rows) do
    real = real or quantity.work(rawget(row, "type")) == "FLOP"
  end
  if not real and type(column.title) == "string" then -- of whole numbers
    column = setmetatable({title = column.title:gsub("FLOP", "OP")},
      {__index = column})
  end
  return column.unit and with_prefix(column, rows) or column
end

-- report.filled(column, rows) -> column
-- A column with the texts of its cells: see text_table.filled.
function M.filled(column, rows)
  return text_table.filled(resolved(column, rows), rows)
end

--- report.wrap(s, width) -> list of lines
--- A text broken at spaces into lines; a word longer than a line stays whole.
--- Example: print(#report.wrap("a few words in lines", 10)) --> 3
M.wrap = text.wrap

--- report.width() -> columns
--- The width that tables keep to: COLUMNS from the environment, else the width
--- of the terminal, else 80.
--- Example: print(report.width() > 0) --> true
M.width = text_table.width

-- Raises unless the arguments are a list of tables and a list of columns.
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

local FEW = "n=(%d+), as the ([%d.]+) s were over"

-- One footnote for such notes of at least `enough` rows, or nil.
local function footnote(rows, width, enough)
  local least, most, seconds, count = math.huge, 0, nil, 0
  for _, row in ipairs(rows) do
    local n, s = (type(row.note) == "string" and row.note or ""):match(FEW)
    if n then
      least, most = math.min(least, n + 0), math.max(most, n + 0)
      seconds, count = s, count + 1
    end
  end
  return count >= enough and table.concat(text.wrap(("n=%s%s: no more "
    .. "samples, as the %s s were over"):format(least, most > least
    and " to n=" .. most or "", seconds), width), "\n") or nil
end

-- The column of notes with such notes shortened for the footnote.
local function shortened(column)
  return setmetatable({key = function(row)
    return row.note and (tostring(row.note):gsub(FEW, "n=%1"))
  end}, {__index = column})
end

--- report.format(rows, columns [, opts]) -> string
--- A table of rows (tables) as text. A column is a name from report.columns
--- or {key = field or function(row), title =, format = "%.2f" or a function,
--- align = "right", drop = n, wrap = true, cut = n, once = "on %s"}: numbers
--- with a format are aligned on the point; a column with `once` whose cells
--- are all alike, or empty, is said once, above the table. Where the window is
--- narrow, the cells of a `cut` column are cut in the middle, down to n
--- columns; a `wrap` column is broken into lines, of 16 columns or wrap = n at
--- least, or put under its row, where `below = true` always puts it; columns
--- with the highest `drop` are left out first, and named below the table.
--- Behind a pipe nothing is cut, unless COLUMNS is set.
--- {key =, title =, unit = "s"} is in base units: the header names the prefix
--- that suits. Columns that are empty are not shown.
--- Options:
---   width  window  columns
---   best   -       a field such as "gflops": its best row is marked
---   color  false   true: the best row is bold
--- Example:
--- local rows = {{n = 64, t = 1e-3}, {n = 128, t = 8e-3}}
--- print(report.format(rows, {"n", {key = "t", title = "time", unit = "s"}},
---   {width = 40}))
function M.format(rows, wanted, opts)
  options.check(opts, "report.format")
  opts = opts or {}
  check_rows(rows, wanted)
  local columns, few = {}, footnote(rows, opts.width or M.width(), 2)
  local below = ""
  for i, column in ipairs(wanted) do
    columns[i] = resolved(column, rows)
    if few and columns[i].key == "note" then
      columns[i], below = shortened(columns[i]), "\n" .. few
    end
  end
  return text_table.format(rows, columns, {color = opts.color,
    width = opts.width,
    best = opts.best and fields.best(rows, opts.best)}) .. below
end

-- report.live(columns) -> lines(row)
-- A table whose rows come one after the other, see text_table.live. The first
-- row also sets the prefixes of units.
function M.live(wanted)
  local lines, rows = nil, {}
  return function(row)
    local columns = {}
    for i, column in ipairs(not lines and wanted or {}) do
      local c = resolved(column, {row})
      c = column == "note" and shortened(c) or c
      columns[i] = setmetatable({room = ROOM[column] or i == 1 and ROOM.name},
        {__index = c})
    end
    lines, rows[#rows + 1] = lines or text_table.live(columns), row
    local words = {lines(row)}
    words[#words + 1] = row == nil and footnote(rows, M.width(), 1) or nil
    return words[1] and table.concat(words, "\n")
  end
end

return setmetatable(M, {
  --- report(rows, columns [, opts])
  --- Prints report.format(rows, columns, opts), on a terminal in colour.
  --- Options as for report.format.
  --- Example:
  --- local rows = {{name = "a", ms = 1.5}, {name = "b", ms = 12.25}}
  --- report(rows, {"name", {key = "ms", title = "ms", format = "%.2f"}})
  __call = function(_, rows, wanted, opts)
    io.write(M.format(rows, wanted, options.with({color = style.color(1)},
      opts or {})), "\n")
  end,
})

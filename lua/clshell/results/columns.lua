-- results/columns.lua - the columns of tables of results: their titles and the
-- texts of their cells
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local record_fields = require "clshell.measure.record_fields"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

-- A measured number has as many digits as its result's noise leaves sure.
local measured = record_fields.number

local function percent(x, row)
  return measured(100 * x, row)
end

-- Half the width of the interval of the median, in per cent.
local function spread(row)
  return row.lo and 100 * record_fields.noise(row) or nil
end

local function flags(row)
  return row.flags and row.flags[1] and table.concat(row.flags, ", ") or nil
end

-- columns.named: the columns of bench results by their names.
M.named = {
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

-- columns.align(cells)
-- Pads the texts of numbers so that their points stand in one line.
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

-- The column with the prefix that suits its middle value.
local function with_prefix(column, rows)
  local values = {}
  for _, row in ipairs(rows) do
    local x = record_fields.value(row, column.key)
    values[#values + 1] = type(x) == "number" and text.finite(x) and x or nil
  end
  table.sort(values)
  local factor, unit = quantity.prefix(values[(#values + 1) // 2] or 1,
    column.unit)
  return setmetatable({
    title = ("%s %s"):format(column.title, unit):gsub("^ ", ""),
    format = function(x, row)
      return measured(x / factor, row)
    end,
  }, {__index = column})
end

-- columns.filled(column, rows) -> column
-- A column by its name, or as report.format takes it, with the texts of its
-- cells, its title, and whether it is empty and stands right.
function M.filled(column, rows)
  if type(column) ~= "table" or column.key == nil then
    column = M.named[column] or cl.error(("report.format: a column must be "
      .. "a name or a table with a key; got %s"):format(tostring(column)),
      {hint = "report.columns has the names"})
  end
  column = column.unit and with_prefix(column, rows) or column
  local cells, numeric, empty = {}, column.format ~= nil, true
  for i, row in ipairs(rows) do
    cells[i] = cell(column, row)
    empty = empty and cells[i] == ""
  end
  if numeric and column.align ~= "right" then
    M.align(cells)
  end
  return setmetatable({cells = cells,
    title = column.title or type(column.key) ~= "function"
      and tostring(column.key) or "",
    empty = empty, right = numeric or column.align == "right"},
    {__index = column})
end

return M

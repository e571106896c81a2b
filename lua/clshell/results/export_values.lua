-- results/export_values.lua - any values as JSON, CSV or Markdown: the output
-- of `clshell --format json -p EXPR`
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local csv = require "clshell.results.csv"
local export = require "clshell.results.export"
local json = require "clshell.base.json"
local markdown = require "clshell.results.markdown"
local text = require "clshell.base.text"

local M = {}

local DEEPEST = 16 -- levels of tables

-- Whether a value is a result of bench or a list of such results.
local function is_results(v)
  if type(v) ~= "table" then
    return false
  end
  for _, r in ipairs(#v > 0 and v or {v}) do
    if type(r) ~= "table" or type(r.median) ~= "number"
        or type(r.name) ~= "string" then
      return false
    end
  end
  return true
end

-- The elements of memory: a list, in which each is a list for a further
-- dimension of the shape. A ulong beyond Lua's integers comes as the text of
-- its digits.
local function elements(v, class)
  local host, at = class == "Buffer" and v:read() or v, 0
  local shape, unsigned = v.shape, v.type == "ulong"
  local function part(dimension)
    local list = {}
    for i = 1, shape[dimension] do
      if dimension < #shape then
        list[i] = part(dimension + 1)
      else
        at = at + 1
        local x = host[at]
        list[i] = unsigned and x < 0 and text.unsigned(x) or x
      end
    end
    return list
  end
  return part(1)
end

-- An object of module cl as a value: the info of a device, the elements of
-- memory, the text of anything else.
local function opened(v)
  local class = tostring(v):match("^%w+")
  local ok, value
  if class == "Device" then
    ok, value = true, v:info()
  elseif class == "Buffer" or class == "Array" then
    ok, value = pcall(elements, v, class)
  end
  return ok and value or tostring(v)
end

-- A value in types that JSON has; numbers that are not finite are null. `open`
-- has the tables around it: a table inside itself is its name.
local function plain(v, depth, open)
  local kind = type(v)
  if kind == "number" then
    return text.finite(v) and v or json.null
  elseif kind == "string" or kind == "boolean" or v == nil
      or v == json.null then
    return v
  elseif kind == "userdata" then
    return plain(opened(v), depth + 1, open)
  elseif kind ~= "table" or depth > DEEPEST or open[v] then
    return tostring(v)
  end
  local copy = {}
  open[v] = true
  for key, value in next, v do
    copy[key] = plain(value, depth + 1, open)
  end
  open[v] = nil
  return copy
end

-- The keys of all rows as columns: the list `order`, then the others sorted.
local function columns_of(rows, order)
  local seen, columns, rest = {}, {}, {}
  for i, key in ipairs(order or {}) do
    columns[i], seen[key] = {tostring(key), key}, true
  end
  for _, row in ipairs(rows) do
    for key in pairs(row) do
      if not seen[key] then
        rest[#rest + 1], seen[key] = key, true
      end
    end
  end
  table.sort(rest, function(a, b)
    if type(a) == type(b) then
      return a < b
    end
    return type(a) == "number"
  end)
  for _, key in ipairs(rest) do
    columns[#columns + 1] = {tostring(key), key}
  end
  return columns
end

local WRITE = {}

function WRITE.csv(rows, order)
  return csv.text(columns_of(rows, order), rows)
end

function WRITE.md(rows, order)
  local columns = columns_of(rows, order)
  for _, column in ipairs(columns) do
    column[1] = markdown.escape(column[1])
  end
  return markdown.text(columns, rows)
end

function WRITE.json(rows)
  return json.encode(json.list(rows)) .. "\n"
end

function WRITE.ndjson(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = json.encode(row) .. "\n"
  end
  return table.concat(lines)
end

-- export_values.rows(rows, format [, order]) -> string
-- A list of tables as "csv", "json", "ndjson" or "md"; columns in the order
-- of a list of keys, the others by name.
function M.rows(rows, format, order)
  local clean = {}
  for i, row in ipairs(rows) do
    clean[i] = plain(row, 0, {})
  end
  local write = WRITE[format] or cl.error(format == "t4"
    and "t4 is a format of bench results only"
    or text.unknown("format", format, {"csv", "json", "ndjson", "md"}))
  return write(clean, order)
end

-- A value as a list of rows: the elements of a list, else the value itself.
local function rows_of(v)
  local rows = {}
  for i, row in ipairs(type(v) == "table" and #v > 0 and v or {v}) do
    rows[i] = type(row) == "table" and row ~= json.null and row
      or {value = row}
  end
  return rows
end

-- export_values.text(values, format) -> string
-- Values (with their number `n`) for another program: results of bench by
-- export.text; other values as "json", several as a list; as "csv", "md" and
-- "ndjson" a row for each value, or for each element of a single list.
function M.text(values, format)
  if values.n == 1 and is_results(values[1]) then
    return export.text(values[1], format)
  elseif values.n == 0 then
    return ""
  end
  local clean = json.list{}
  for i = 1, values.n do
    clean[i] = plain(values[i], 0, {})
    if clean[i] == nil and format == "json" then
      clean[i] = json.null
    end
  end
  local value = clean
  if values.n == 1 and clean[1] ~= nil then
    value = clean[1]
  end
  if format == "json" then
    return json.encode(value) .. "\n"
  end
  return M.rows(rows_of(value), format)
end

return M

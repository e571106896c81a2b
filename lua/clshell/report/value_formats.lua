-- values.lua - any values for another program, as JSON, CSV or Markdown:
-- what `clshell --format json -p EXPR` prints
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local export = require "clshell.report.export"
local fields = require "clshell.report.export_fields"
local json = require "clshell.base.json"
local words = require "clshell.base.text"

local M = {}

local DEEPEST = 16 -- levels of tables

local function is_result(v)
  return type(v) == "table" and type(v.median) == "number"
    and type(v.name) == "string"
end

-- Whether a value is a list of benches' results, or one.
local function is_results(v)
  if is_result(v) then
    return true
  elseif type(v) ~= "table" or #v == 0 then
    return false
  end
  for _, r in ipairs(v) do
    if not is_result(r) then
      return false
    end
  end
  return true
end

-- An object of module cl: a device by what it tells, memory by its elements,
-- anything else as it prints.
local function opened(v)
  local class = tostring(v):match("^%w+")
  if class == "Device" then
    return v:info()
  elseif class == "Buffer" or class == "Array" then
    local ok, list = pcall(function()
      local host, elements = class == "Buffer" and v:read() or v, {}
      for i = 1, #host do
        elements[i] = host[i]
      end
      return elements
    end)
    return ok and list or tostring(v)
  end
  return tostring(v)
end

-- A value with only what JSON has words for; what is not finite is null.
local function plain(v, depth)
  local kind = type(v)
  if kind == "number" then
    return fields.finite(v) and v or json.null
  elseif kind == "string" or kind == "boolean" or v == nil
      or v == json.null then
    return v
  elseif kind == "userdata" then
    return plain(opened(v), depth + 1)
  elseif kind ~= "table" or depth > DEEPEST then
    return tostring(v)
  end
  local copy = {}
  for key, value in next, v do
    copy[key] = plain(value, depth + 1)
  end
  return copy
end

local function cell(value)
  if value == nil or value == json.null then
    return ""
  elseif type(value) == "table" then
    return json.encode(value)
  end
  return type(value) == "number" and fields.number(value) or tostring(value)
end

local function csv_cell(value)
  local s = cell(value)
  if s:find('[",\r\n]') or s:find("^%s") or s:find("%s$") then
    s = '"' .. s:gsub('"', '""') .. '"'
  end
  return s
end

local function md_cell(value)
  return (cell(value):gsub("[|\\`*_<]", "\\%0"):gsub("%s+", " "))
end

-- The keys of all rows: those of `order` first, then the others by name.
local function keys_of(rows, order)
  local seen, keys, rest = {}, {}, {}
  for _, key in ipairs(order or {}) do
    keys[#keys + 1], seen[key] = key, true
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
  return table.move(rest, 1, #rest, #keys + 1, keys)
end

-- Rows as lines of cells under their keys.
local function lines_of(rows, order, write, open, between, close)
  local keys, lines = keys_of(rows, order), {}
  local function add(get)
    local cells = {}
    for i, key in ipairs(keys) do
      cells[i] = write(get(key))
    end
    lines[#lines + 1] = open .. table.concat(cells, between) .. close
  end
  add(function(key) return tostring(key) end)
  for _, row in ipairs(rows) do
    add(function(key) return row[key] end)
  end
  return lines, #keys
end

local WRITE = {}

function WRITE.csv(rows, order)
  local lines = lines_of(rows, order, csv_cell, "", ",", "\r\n")
  return table.concat(lines)
end

function WRITE.md(rows, order)
  local lines, n = lines_of(rows, order, md_cell, "| ", " | ", " |\n")
  table.insert(lines, 2, "|" .. (" --- |"):rep(n) .. "\n")
  return table.concat(lines)
end

function WRITE.ndjson(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = json.encode(row) .. "\n"
  end
  return table.concat(lines)
end

--- values.rows(rows, format [, order]) -> string
--- A list of tables as "csv", "json", "ndjson" or "md"; columns in the order
--- of a list of keys, the others by name.
function M.rows(rows, format, order)
  local clean = {}
  for i, row in ipairs(rows) do
    clean[i] = plain(row, 0)
  end
  if format == "json" then
    return (#clean == 0 and "[]" or json.encode(clean)) .. "\n"
  end
  local write = WRITE[format] or cl.error(format == "t4"
    and "t4 is a format of benches' results only"
    or words.unknown("format", format, {"csv", "json", "ndjson", "md"}))
  return write(clean, order)
end

-- A value as a list of rows: of a list its elements, else the value itself.
local function rows_of(v)
  local rows = {}
  for i, row in ipairs(type(v) == "table" and #v > 0 and v or {v}) do
    rows[i] = type(row) == "table" and row ~= json.null and row
      or {value = row}
  end
  return rows
end

--- values.text(values, format) -> string
--- Values (with their number `n`) for another program: results of benches
--- as export.text has them; as "json" a value, or a list of several; as "csv",
--- "md" and "ndjson" a row each, of a list a row for each element.
function M.text(values, format)
  if values.n == 1 and is_results(values[1]) then
    return export.text(values[1], format)
  elseif values.n == 0 then
    return ""
  end
  local clean = {}
  for i = 1, values.n do
    clean[i] = plain(values[i], 0)
  end
  if format ~= "json" then
    return M.rows(rows_of(values.n == 1 and clean[1] or clean), format)
  elseif values.n == 1 then
    return json.encode(clean[1]) .. "\n"
  end
  local parts = {}
  for i = 1, values.n do
    parts[i] = json.encode(clean[i])
  end
  return "[" .. table.concat(parts, ",") .. "]\n"
end

return M

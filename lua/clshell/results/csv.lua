-- results/csv.lua - records as CSV (RFC 4180)
-- SPDX-License-Identifier: MIT

local json = require "clshell.base.json"
local text = require "clshell.base.text"

local M = {}

-- csv.plain(value) -> string
-- Any value as the text of a cell: numbers with all their digits, tables as
-- JSON; empty for nil, null and numbers that are not finite.
function M.plain(value)
  if value == nil or value == json.null then
    return ""
  elseif type(value) == "table" then
    return json.encode(value)
  elseif type(value) ~= "number" then
    return tostring(value)
  end
  return text.finite(value) and text.exact(value) or ""
end

-- csv.value(record, from) -> value
-- The value of a record in a column: `from` is a key, or a function of the
-- record.
function M.value(record, from)
  if type(from) == "function" then
    return from(record)
  end
  return record[from]
end

local function quoted(s)
  if s:find('[",\r\n]') or s:find("^%s") or s:find("%s$") then
    return '"' .. s:gsub('"', '""') .. '"'
  end
  return s
end

-- The text of a cell. A spreadsheet takes text that begins with = + - @ for a
-- formula: an apostrophe before the text prevents it. Numbers need none.
local function cell(value)
  local s = M.plain(value)
  if type(value) == "string" and s:find("^[=+%-@\t\r]")
      and not tonumber(s) then
    s = "'" .. s
  end
  return quoted(s)
end

-- csv.text(columns, records) -> string
-- A head line and a line for each record. columns: a list of {title, from}.
function M.text(columns, records)
  local lines, cells = {}, {}
  for i, column in ipairs(columns) do
    cells[i] = cell(column[1])
  end
  lines[1] = table.concat(cells, ",")
  for _, record in ipairs(records) do
    for i, column in ipairs(columns) do
      cells[i] = cell(M.value(record, column[2]))
    end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

return M

-- results/export.lua - results, and any values, for other programs: CSV, JSON
-- and Markdown. Results are in base units, with device, versions and date.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.results.fields"
local file = require "clshell.base.file"
local json = require "clshell.base.json"
local text = require "clshell.base.text"

local M = {}

local DEEPEST = 16 -- levels of tables
local LEFT, RIGHT = ":---", "---:"

-- Text that Markdown shows as it stands, in one line.
local function escape(s)
  s = s:gsub("[|\\`*_<%[%]~&]", "\\%0"):gsub("%s+", " ")
  -- a bare address would become a link
  return (s:gsub("(%a)://", "%1\\://"):gsub("(%f[%w]www)%.", "%1\\."))
end

-- Any value as the text of a cell: numbers with all their digits, tables as
-- JSON; empty for nil, null and numbers that are not finite.
local function cell_text(value)
  if value == nil or value == json.null then
    return ""
  elseif type(value) == "table" then
    return json.encode(value)
  elseif type(value) ~= "number" then
    return tostring(value)
  end
  return text.finite(value) and text.exact(value) or ""
end

-- The cells of each record, written by cell(value, record): a list of lists.
-- columns: a list of {title, from}, where `from` is a key, or a function of
-- the record.
local function cells_of(columns, records, cell)
  local rows = {}
  for i, record in ipairs(records) do
    rows[i] = {}
    for j, column in ipairs(columns) do
      local value = record[column[2]]
      if type(column[2]) == "function" then
        value = column[2](record)
      end
      rows[i][j] = cell(value, record)
    end
  end
  return rows
end

-- A cell of CSV (RFC 4180). A spreadsheet takes text that begins with = + - @
-- for a formula: an apostrophe before the text prevents it. Numbers need none.
local function csv_cell(value)
  local s = cell_text(value)
  if type(value) == "string" and s:find("^[=+%-@\t\r]")
      and not tonumber(s) then
    s = "'" .. s
  end
  if s:find('[",\r\n]') or s:find("^%s") or s:find("%s$") then
    s = '"' .. s:gsub('"', '""') .. '"'
  end
  return s
end

-- export.csv(columns, records) -> string
-- A head line and a line for each record. columns: a list of {title, from}.
function M.csv(columns, records)
  local lines, head = cells_of(columns, records, csv_cell), {}
  for i, column in ipairs(columns) do
    head[i] = csv_cell(column[1])
  end
  table.insert(lines, 1, head)
  for i, cells in ipairs(lines) do
    lines[i] = table.concat(cells, ",")
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

-- Records as a table of Markdown. columns: a list of {title, from, rule}; the
-- title stands as it is, the rule ("---:") aligns.
local function markdown(columns, records)
  local head, rule = {}, {}
  for i, column in ipairs(columns) do
    head[i], rule[i] = column[1], column[3] or "---"
  end
  local lines = cells_of(columns, records, function(value)
    return escape(cell_text(value))
  end)
  table.move({head, rule}, 1, 2, 1, table.move(lines, 1, #lines, 3))
  for i, cells in ipairs(lines) do
    lines[i] = "| " .. table.concat(cells, " | ") .. " |\n"
  end
  return table.concat(lines)
end

-- The sorted keys of several tables whose values are numbers, strings or
-- booleans: a shape may also hold tables.
local function names_of(parts)
  local keys, seen = {}, {}
  for _, part in ipairs(parts) do
    for key, value in pairs(part) do
      local kind = type(value)
      if not seen[key] and (kind == "number" or kind == "string"
          or kind == "boolean") then
        keys[#keys + 1], seen[key] = tostring(key), true
      end
    end
  end
  table.sort(keys)
  return keys
end

-- A result whose flags also name its numbers that are not finite, which an
-- export writes as null: "error=inf".
local function flagged(r)
  local more = {}
  for _, field in ipairs(fields.list) do
    local x = field.export and fields.exported(field, r)
    if type(x) == "number" and not text.finite(x) then
      more[#more + 1] = field.export .. "="
        .. (x ~= x and "nan" or tostring(x))
    end
  end
  if #more == 0 then
    return r
  end
  local all = {table.unpack(r.flags or {})}
  table.move(more, 1, #more, #all + 1, all)
  return setmetatable({flags = all}, {__index = r})
end

-- The columns {title, from} of results by the lines of fields.list with
-- `export`: none for an empty one, and several for a table of parts.
local function columns_of(results)
  local columns = {}
  for _, field in ipairs(fields.list) do
    local key, values = field[1], {}
    local function from(r)
      return fields.exported(field, r)
    end
    for _, r in ipairs(field.export and results or {}) do
      values[#values + 1] = from(r)
    end
    for _, part in ipairs(field.prefix and names_of(values) or {}) do
      columns[#columns + 1] = {field.prefix .. part, function(r)
        return r[key] and r[key][part]
      end}
    end
    columns[#columns + 1] = #values > 0 and not field.prefix
      and {field.export, from} or nil
  end
  return columns
end

-- The device, the versions and the date of the results, a list of {name =,
-- value =}: the common value, "several" where values differ, and the earliest
-- date.
function M.meta(results)
  local list = {}
  for _, field in ipairs(fields.list) do
    local common, several
    for _, r in ipairs(field.meta and results or {}) do
      local value = fields.exported(field, r)
      value = value ~= nil and tostring(value) or common
      if field[1] == "time" then
        common = common and value > common and common or value
      else
        several = several or common ~= nil and common ~= value
        common = value
      end
    end
    if common ~= nil then
      list[#list + 1] = {name = field.export,
        value = several and "several" or common}
    end
  end
  return list
end

-- A value of a result in JSON: floats keep all their digits, numbers that are
-- not finite are null.
local function exact(value)
  if type(value) == "number" then
    return text.finite(value) and json.raw(text.exact(value)) or json.null
  elseif value == nil or type(value) == "boolean" then
    return value
  end
  return text.utf8(tostring(value))
end

-- Numbers in one line of JSON.
local function number_list(list)
  return json.raw("[" .. text.values(list, ", ", function(x)
    return exact(x)[1]
  end) .. "]")
end

local function plain_part(part)
  local members = {}
  for i, key in ipairs(names_of{part}) do
    members[i] = {key, exact(part[key])}
  end
  return json.object(members)
end

-- A result as an object of JSON with its samples; flags are a list, and
-- unknown fields are left out.
local function result_object(r)
  local members = {}
  for _, field in ipairs(fields.list) do
    local value
    if field[1] == "flags" then
      value = json.list{table.unpack(r.flags or {})}
    elseif field.prefix then
      value = r[field[1]] and plain_part(r[field[1]])
    elseif field.export then
      value = exact(fields.exported(field, r))
    end
    members[#members + 1] = field.export and {field.export, value}
  end
  members[#members + 1] = {"samples_s", r.samples and number_list(r.samples)}
  return json.object(members)
end

-- The columns of Markdown are those of the tables for people, rounded alike.
local function shown_of(results)
  local columns, at = {}, {}
  for i, r in ipairs(results) do
    at[r] = i
  end
  for _, field in ipairs(fields.list) do
    local c = field.md and require "clshell.results.tables".filled(
      field.column or field[1], results)
    columns[#columns + 1] = c and not c.empty and {c.title, function(r)
      local s = c.cells[at[r]]:match "^%s*(.-)%s*$"
      return (not c.right or s:find "%d") and s or nil -- a flag tells of NaN
    end, c.right and RIGHT or LEFT} or nil
  end
  return columns
end

local WRITE = {}

function WRITE.csv(results)
  return M.csv(columns_of(results), results)
end

function WRITE.json(results)
  local meta, list = {}, json.list{}
  for i, entry in ipairs(M.meta(results)) do
    meta[i] = {entry.name, text.utf8(entry.value)}
  end
  for i, r in ipairs(results) do
    list[i] = result_object(r)
  end
  return json.encode(json.object{
    {"format", "clshell results"}, {"format_version", 1},
    {"meta", json.object(meta)}, {"results", list},
  }, true) .. "\n"
end

function WRITE.md(results)
  local lines = {markdown(shown_of(results), results)}
  for _, entry in ipairs(M.meta(results)) do
    lines[#lines + 1] = ("- %s: %s"):format(entry.name, escape(entry.value))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- export.formats
--- The names of the formats.
--- Example: print(table.concat(export.formats, " "))
M.formats = {"csv", "json", "md"}

--- export.text(results, format) -> string
--- Results (or a single result) as "csv", "json" or "md" (Markdown). Numbers
--- are in base units, which the names say (time_s, bandwidth_B_per_s), with
--- all their digits; Markdown has the columns of the tables for people, with
--- the same units and digits. Device, driver, build options, source
--- hash, date and version are columns of CSV, `meta` in JSON, a list below the
--- table in Markdown. JSON has all samples. Numbers that are not finite are
--- null, or empty, and named in the flags. A text of CSV that begins with
--- = + - @ has an apostrophe in front, as a spreadsheet would compute it.
--- Example: print(export.text(bench.of("a", {0.01}, {flop = 1e9}), "csv"))
function M.text(results, format)
  local write = WRITE[format]
  if not write then
    cl.error(text.unknown("format", format, M.formats))
  end
  local list = {}
  for i, r in ipairs(fields.list_of(results, "export")) do
    list[i] = flagged(r)
  end
  return write(list)
end

--- export.write(results, format [, file])
--- Writes export.text(results, format) to a file by its name, or to an open
--- file, or to standard output.
--- Example: export.write({bench.of("a", {0.01})}, "json", "a.json")
function M.write(results, format, out)
  file.write(out or io.stdout, M.text(results, format), "the results")
end

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

-- Numbers below 0 in nested lists as unsigned numbers: a ulong beyond Lua's
-- integers comes as the text of its digits.
local function unsigned(list)
  for i, x in ipairs(list) do
    list[i] = type(x) == "table" and unsigned(x) or x
    list[i] = type(x) == "number" and x < 0 and text.unsigned(x) or list[i]
  end
  return list
end

-- The elements of memory, in nested lists by its shape.
local function elements(v, class)
  local list = (class == "Buffer" and v:read() or v):table()
  return v.type == "ulong" and unsigned(list) or list
end

-- An object of module cl as a value: the info of a device, the elements of
-- memory, the text of any other object.
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
local function keys_of(rows, order)
  local seen, columns, rest = {}, {}, {}
  for i, key in ipairs(order or {}) do
    columns[i], seen[key] = {tostring(key), key}, true
  end
  for _, row in ipairs(rows) do
    for key in pairs(row) do
      rest[#rest + 1], seen[key] = not seen[key] and key or nil, true
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

-- export.rows(rows, format [, order]) -> string
-- A list of tables as "csv", "json" or "md"; the columns stand in the order of
-- a list of keys, other columns by name.
function M.rows(rows, format, order)
  local clean = json.list{}
  for i, row in ipairs(rows) do
    clean[i] = plain(row, 0, {})
  end
  if format == "json" then
    return json.encode(clean) .. "\n"
  end
  local columns = keys_of(clean, order)
  if format == "csv" then
    return M.csv(columns, clean)
  elseif format ~= "md" then
    cl.error(text.unknown("format", format, M.formats))
  end
  for _, column in ipairs(columns) do
    column[1] = escape(column[1])
  end
  return markdown(columns, clean)
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

-- export.values(values, format) -> string
-- Values (with their number `n`) for another program, as `clshell --format
-- json -p EXPR` prints them: results of bench by export.text; other values as
-- "json", several as a list; as "csv" and "md" a row for each value, or for
-- each element of a single list.
function M.values(values, format)
  if values.n == 1 and is_results(values[1]) then
    return M.text(values[1], format)
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
  if values.n == 1 and clean[1] ~= nil then
    clean = clean[1]
  end
  if format == "json" then
    return json.encode(clean) .. "\n"
  end
  return M.rows(rows_of(clean), format)
end

return M

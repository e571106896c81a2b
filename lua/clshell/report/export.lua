-- export.lua - results for other programs: CSV, JSON, NDJSON, Markdown and
-- Kernel Tuner's T4, in base units and with what was measured on what
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local f = require "clshell.report.export_fields"
local fields = require "clshell.measure.record_fields"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}

-- A value of CSV: RFC 4180.
local function csv_cell(value)
  if value == nil or type(value) == "number" and not f.finite(value) then
    return ""
  elseif type(value) == "number" then
    return f.number(value)
  end
  local s = tostring(value)
  if s:find('[",\r\n]') or s:find("^%s") or s:find("%s$") then
    s = '"' .. s:gsub('"', '""') .. '"'
  end
  return s
end

local function csv(results)
  local columns, lines, cells = f.columns(results), {}, {}
  for i, column in ipairs(columns) do
    cells[i] = csv_cell(column[1])
  end
  lines[1] = table.concat(cells, ",")
  for _, r in ipairs(results) do
    for i, column in ipairs(columns) do
      cells[i] = csv_cell(f.read(r, column[2]))
    end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

local function md_cell(value, r)
  if value == nil or type(value) == "number" and not f.finite(value) then
    return ""
  elseif math.type(value) == "float" then
    local digits = quantity.digits(fields.noise(r))
    return (("%." .. digits .. "g"):format(value):gsub(",", "."))
  end
  return (tostring(value):gsub("[|\\`*_<]", "\\%0"):gsub("%s+", " "))
end

-- The columns of Markdown: those that people compare.
local MARKDOWN = {"name", "config", "type", "cache_mode", "time_s",
  "time_lo_s", "time_hi_s", "n", "throughput_FLOP_per_s",
  "bandwidth_B_per_s", "roof_fraction", "error", "flags", "note"}

local function markdown(results)
  local wanted, columns = {}, {}
  for i, name in ipairs(MARKDOWN) do
    wanted[name] = i
  end
  for _, column in ipairs(f.columns(results)) do
    local at = wanted[column[1]]
    local numeric = at and column[1]:find("_s$") or column[1] == "n"
      or column[1] == "error" or column[1] == "roof_fraction"
    if at then
      columns[#columns + 1] = {column[1], column[2], numeric, at}
    end
  end
  table.sort(columns, function(a, b)
    return a[4] < b[4]
  end)
  local head, rule, lines = {}, {}, {}
  for i, column in ipairs(columns) do
    head[i], rule[i] = column[1], column[3] and "---:" or ":---"
  end
  lines[1] = "| " .. table.concat(head, " | ") .. " |"
  lines[2] = "| " .. table.concat(rule, " | ") .. " |"
  for _, r in ipairs(results) do
    local cells = {}
    for i, column in ipairs(columns) do
      cells[i] = md_cell(f.read(r, column[2]), r)
    end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  lines[#lines + 1] = ""
  for _, entry in ipairs(f.meta(results)) do
    lines[#lines + 1] = ("- %s: %s"):format(entry.name,
      md_cell(entry.value))
  end
  return table.concat(lines, "\n") .. "\n"
end

local FORMATS = {csv = csv, md = markdown,
  json = function(results)
    return require("clshell.report.export_json").json(results)
  end,
  ndjson = function(results)
    return require("clshell.report.export_json").ndjson(results)
  end,
  t4 = function(results)
    return require("clshell.report.export_json").t4(results)
  end,
}

--- export.formats
--- The names of the formats.
M.formats = {"csv", "json", "ndjson", "md", "t4"}

-- One result is as good as a list of it.
local function list_of(results)
  if type(results) ~= "table" then
    cl.error("export: a list of results expected, got a " .. type(results))
  end
  return (results.name ~= nil or results.median ~= nil) and {results}
    or results
end

--- export.text(results, format) -> string
--- Results (or one) as "csv", "json", "ndjson", "md" (Markdown) or "t4"
--- (Kernel Tuner's results file). Numbers are in base units, which the names
--- say (time_s, bandwidth_B_per_s), with all their digits, except in
--- Markdown. Device, driver, build options, source hash, date and version are
--- columns of CSV and of each NDJSON line, `meta` in JSON, a list below the
--- table in Markdown. JSON has all samples. Numbers that are not finite are
--- null, or empty, and named in the flags.
function M.text(results, format)
  local make = FORMATS[format]
  if not make then
    cl.error(text.unknown("format", format, M.formats))
  end
  local list = {}
  for i, r in ipairs(list_of(results)) do
    list[i] = f.flagged(r)
  end
  return make(list)
end

--- export.write(results, format [, file])
--- Writes export.text(results, format) to a file by its name, or to an open
--- file, or to standard output.
function M.write(results, format, file)
  local words = M.text(results, format)
  local out = file or io.stdout
  if type(file) == "string" then
    local message
    out, message = io.open(file, "wb")
    if not out then
      cl.error("cannot write the results: " .. message)
    end
  end
  local ok, why = out:write(words)
  if type(file) == "string" then
    local closed, late = out:close()
    ok, why = ok and closed, why or late
  else
    out:flush()
  end
  if not ok then
    cl.error(("cannot write the results%s: %s"):format(
      type(file) == "string" and " to " .. file or "", why))
  end
end

return M

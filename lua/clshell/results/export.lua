-- results/export.lua - results for other programs: CSV, JSON, NDJSON, Markdown
-- and Kernel Tuner's T4, in base units, with device, versions and date
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local csv = require "clshell.results.csv"
local export_fields = require "clshell.results.export_fields"
local file = require "clshell.base.file"
local json = require "clshell.results.export_json"
local markdown = require "clshell.results.markdown"
local record_fields = require "clshell.measure.record_fields"
local text = require "clshell.base.text"

local M = {}

-- Floats in Markdown have the digits that the noise of their result leaves.
local function rounded(value, r)
  if math.type(value) == "float" and text.finite(value) then
    local digits = record_fields.digits(r)
    return (("%." .. digits .. "g"):format(value):gsub(",", "."))
  end
end

-- The columns of Markdown: those that people compare.
local MARKDOWN = {"name", "config", "size", "type", "cache_mode", "time_s",
  "time_lo_s", "time_hi_s", "n", "throughput_FLOP_per_s",
  "bandwidth_B_per_s", "roof_fraction", "error", "flags", "note"}
local LEFT, RIGHT = ":---", "---:"
local TEXTS = {name = true, config = true, size = true, type = true,
  cache_mode = true, flags = true, note = true}

-- The size of the problem as people write it: "512x512x512".
local function size(r)
  return r.title or type(r.shape) == "string" and r.shape or nil
end

local function write_markdown(results)
  local from, columns = {}, {}
  for _, r in ipairs(results) do
    from.size = from.size or size(r) and size
  end
  for _, column in ipairs(export_fields.columns(results)) do
    from[column[1]] = column[2]
  end
  for _, name in ipairs(MARKDOWN) do
    columns[#columns + 1] = from[name]
      and {name, from[name], TEXTS[name] and LEFT or RIGHT}
  end
  local lines = {markdown.text(columns, results, rounded)}
  for _, entry in ipairs(export_fields.meta(results)) do
    lines[#lines + 1] = ("- %s: %s"):format(entry.name,
      markdown.escape(entry.value))
  end
  return table.concat(lines, "\n") .. "\n"
end

local FORMATS = {json = json.json, ndjson = json.ndjson, t4 = json.t4,
  md = write_markdown,
  csv = function(results)
    return csv.text(export_fields.columns(results), results)
  end,
}

--- export.formats
--- The names of the formats.
--- Example: print(table.concat(export.formats, " "))
M.formats = {"csv", "json", "ndjson", "md", "t4"}

--- export.text(results, format) -> string
--- Results (or a single result) as "csv", "json", "ndjson", "md" (Markdown)
--- or "t4" (Kernel Tuner's results file). Numbers are in base units, which
--- the names say (time_s, bandwidth_B_per_s), with all their digits, except in
--- Markdown. Device, driver, build options, source hash, date and version are
--- columns of CSV and of each NDJSON line, `meta` in JSON, a list below the
--- table in Markdown. JSON has all samples. Numbers that are not finite are
--- null, or empty, and named in the flags. A text of CSV that begins with
--- = + - @ has an apostrophe in front, as a spreadsheet would compute it.
--- Example: print(export.text(bench.of("a", {0.01}, {flop = 1e9}), "csv"))
function M.text(results, format)
  local write = FORMATS[format]
  if not write then
    cl.error(text.unknown("format", format, M.formats))
  end
  local list = {}
  for i, r in ipairs(record_fields.list(results, "export")) do
    list[i] = export_fields.flagged(r)
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

return M

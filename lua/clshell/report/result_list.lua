-- results.lua - a list of results that can show, draw and export itself
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local export = require "clshell.report.export"
local fields = require "clshell.measure.record_fields"
local html = require "clshell.report.html"
local plot = require "clshell.plot"
local report = require "clshell.report.table"

local M = {}
local Results = {}
Results.__index = Results

local COLUMNS = {"name", "config", "title", "mode", "time", "spread",
  "gflops", "gbs", "roof", "err", "flags", "note"}

--- results(list) -> results
--- Gives a list of results of bench methods: csv, json, ndjson, md and t4
--- return the text, or write it to the file they are given; table() is the
--- table as text, which printing shows too; plot{x =, y =, by =}, bar(),
--- ladder() and roofline{peaks =} are charts; html(file) writes the report.
function M.new(list)
  if type(list) ~= "table" then
    cl.error("results: a list of results expected, got a " .. type(list))
  end
  return setmetatable(list, Results)
end

for _, format in ipairs(export.formats) do
  Results[format] = function(self, file)
    if file == nil then
      return export.text(self, format)
    end
    export.write(self, format, file)
  end
end

-- The columns, without those that say the same of all results, and what
-- those say.
local function columns_of(list)
  local columns, common = {}, {}
  for _, name in ipairs(COLUMNS) do
    local key = name == "title" and "title" or name == "mode" and "mode"
    local value, same = list[1] and list[1][key], key and #list > 1
    for _, r in ipairs(list) do
      same = same and r[key] == value
    end
    if not same then
      columns[#columns + 1] = name
    elseif value ~= nil then
      common[#common + 1] = name == "mode" and value .. " cache" or value
    end
  end
  return columns, table.concat(common, ", ")
end

--- results:table([opts]) -> string
--- The results as a table with the best one marked, below what all of them
--- have in common. Options as for report.format.
function Results:table(opts)
  local all = {best = fields.rate(self)}
  for name, value in pairs(opts or {}) do
    all[name] = value
  end
  local columns, common = columns_of(self)
  return (common ~= "" and common .. "\n" or "")
    .. report.format(self, columns, all)
end

--- results:plot(opts) -> chart
--- plot.line of the results. Options as for plot.line.
function Results:plot(opts)
  return plot.line(self, opts)
end

--- results:bar([opts]) -> chart
--- plot.bar of the results. Options as for plot.bar.
function Results:bar(opts)
  return plot.bar(self, opts)
end

--- results:ladder([opts]) -> chart
--- plot.ladder of the results. Options as for plot.bar.
function Results:ladder(opts)
  return plot.ladder(self, opts)
end

--- results:roofline(opts) -> chart
--- plot.roofline of the results. Options as for plot.roofline.
function Results:roofline(opts)
  return plot.roofline(self, opts)
end

--- results:html(file [, opts]) -> file
--- html.write of the results. Options as for html.
function Results:html(file, opts)
  return html.write(self, file, opts)
end

function Results:__tostring()
  return self:table()
end

return setmetatable(M, {__call = function(_, list)
  return M.new(list)
end})

-- results/result_list.lua - a list of results that shows, draws and exports
-- itself
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local export = require "clshell.results.export"
local fields = require "clshell.results.fields"
local html = require "clshell.results.html"
local options = require "clshell.base.options"
local plot = require "clshell.results.charts"
local report = require "clshell.results.tables"

local M = {}
local Results = {__name = "clshell.results"}
Results.__index = Results

local COLUMNS = {"name", "config", "title", "mode", "time", "spread",
  "gflops", "gbs", "roof", "err", "flags", "note"}

--- results(list) -> results
--- Gives methods to a list of results of bench: csv, json and md return a
--- text, or write it to a file of a given name; table() is the table as text,
--- as print shows it; plot{x =, y =, by =}, bar(), ladder() and
--- roofline{peaks =} are charts; html(file) writes the report.
--- Example:
--- local list = results{bench.of("a", {0.01}, {flop = 1e9}),
---   bench.of("b", {0.02}, {flop = 1e9})}
--- print(list)
--- print(#list:csv() > 100) --> true
function M.new(list)
  list = fields.list_of(list, "results")
  local meta = getmetatable(list)
  if meta ~= nil and meta ~= Results then -- a list with a metatable keeps it
    list = table.move(list, 1, #list, 1, {})
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

--- results:table([opts]) -> string
--- The results as a table with the best result marked, below a line of the
--- cells that all results share. Options as for report.format.
--- Example:
--- local list = results{bench.of("a", {0.01}), bench.of("b", {0.02})}
--- print(list:table{width = 60})
function Results:table(opts)
  fields.list_of(self, "results")
  local all = options.with({best = fields.rate(self)},
    options.check(opts, "report.format"))
  return report.format(self, COLUMNS, all)
end

--- results:plot(opts) -> chart
--- plot.line of the results. Options as for plot.line.
--- Example:
--- local list = {}
--- for i, n in ipairs{64, 128, 256} do
---   list[i] = bench.of("a", {1e-3 * i}, {flop = 2 * n ^ 3})
---   list[i].shape = {n = n}
--- end
--- print(results(list):plot{x = "n", y = "gflops", log_y = true})
Results.plot = plot.line

--- results:bar([opts]) -> chart
--- plot.bar of the results. Options as for plot.bar.
--- Example: print(results{bench.of("a", {0.01}), bench.of("b", {0.02})}:bar())
Results.bar = plot.bar

--- results:ladder([opts]) -> chart
--- plot.ladder of the results. Options as for plot.bar.
--- Example:
--- local list = results{
---   bench("gemm.naive", {64, 64, 64}, nil, {effort = "quick"}),
---   bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"}),
--- }
--- print(list:ladder())
Results.ladder = plot.ladder

--- results:roofline(opts) -> chart
--- plot.roofline of the results. Options as for plot.roofline.
--- Example:
--- local list = results{bench.of("a", {0.01}, {flop = 1e9, bytes = 1e8})}
--- print(list:roofline{peaks = {compute = {{name = "FMA", value = 1e12}},
---   memory = {{name = "copy", value = 1e11}}}})
Results.roofline = plot.roofline

--- results:html(file [, opts]) -> file
--- html.write of the results. Options as for html.
--- Example: results{bench.of("a", {0.01}, {flop = 1e9})}:html "report.html"
Results.html = html.write

Results.__tostring = Results.table
argument.methods("results", Results, Results.__name)

return require "clshell.base.lazy".callable(M, "new")

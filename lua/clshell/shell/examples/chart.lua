-- shell/examples/chart.lua - examples that help shows: results, charts,
-- exports
-- SPDX-License-Identifier: MIT

--- results
local list = results{bench.of("a", {0.01}, {flop = 1e9}),
  bench.of("b", {0.02}, {flop = 1e9})}
print(list)
print(#list:csv() > 100) --> true

--- results:table
local list = results{bench.of("a", {0.01}), bench.of("b", {0.02})}
print(list:table{width = 60})

--- results:plot
local list = {}
for i, n in ipairs{64, 128, 256} do
  list[i] = bench.of("a", {1e-3 * i}, {flop = 2 * n ^ 3})
  list[i].shape = {n = n}
end
print(results(list):plot{x = "n", y = "gflops", log_y = true})

--- results:bar
print(results{bench.of("a", {0.01}), bench.of("b", {0.02})}:bar())

--- results:ladder
local list = results{
  bench("gemm.naive", {64, 64, 64}, nil, {effort = "quick"}),
  bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"}),
}
print(list:ladder())

--- results:roofline
local list = results{bench.of("a", {0.01}, {flop = 1e9, bytes = 1e8})}
print(list:roofline{peaks = {compute = {{name = "FMA", value = 1e12}},
  memory = {{name = "copy", value = 1e11}}}})

--- results:html
results{bench.of("a", {0.01}, {flop = 1e9})}:html "report.html"

--- plot.line
local plot = require "clshell.plot"
local list = {}
for i, tile in ipairs{4, 8, 16} do
  list[i] = bench.of("tiled", {1e-3 / i}, {flop = 1e6})
  list[i].params = {tile = tile}
end
print(plot.line(list, {x = "tile", y = "gflops"}))

--- plot.bar
local plot = require "clshell.plot"
print(plot.bar({bench.of("a", {0.01}), bench.of("b", {0.02})},
  {y = "median", title = "seconds"}))

--- plot.ladder
local plot = require "clshell.plot"
local chart = plot.ladder{bench.of("a", {0.02}), bench.of("b", {0.01})}
print(chart.bars[2].step) --> 2.0

--- plot.roofline
local plot = require "clshell.plot"
local r = bench.of("a", {0.01}, {flop = 1e9, bytes = 1e8})
print(plot.roofline({r}, {peaks = {
  compute = {{name = "FMA", value = 1e12}},
  memory = {{name = "copy", value = 1e11}}}}))

--- chart:text
local chart = results{bench.of("a", {0.01}), bench.of("b", {0.02})}:bar()
print(chart:text{width = 60, ascii = true, color = false})

--- chart:svg
local chart = results{bench.of("a", {0.01})}:bar()
print(chart:svg():find "<svg" ~= nil) --> true

--- chart:save
results{bench.of("a", {0.01})}:bar():save "bars.txt"

--- export.formats
local export = require "clshell.export"
print(table.concat(export.formats, " "))

--- export.text
local export = require "clshell.export"
print(export.text(bench.of("a", {0.01}, {flop = 1e9}), "csv"))

--- export.write
local export = require "clshell.export"
export.write({bench.of("a", {0.01})}, "json", "a.json")

--- html
local html = require "clshell.html"
print(html({bench.of("a", {0.01})}, "a.html")) --> a.html

--- html.text
local html = require "clshell.html"
local page = html.text({bench.of("a", {0.01})}, {title = "A run"})
print(page:find("A run", 1, true) ~= nil) --> true

--- html.write
local html = require "clshell.html"
html.write({bench.of("a", {0.01})}, "a.html", {reading = "It took 10 ms."})

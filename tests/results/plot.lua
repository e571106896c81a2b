-- plot.lua - axes, quantities, colours; charts in the terminal against golden
-- texts, as SVG and as PNG
-- SPDX-License-Identifier: MIT

local t = require "t"
local axis = require "clshell.results.axis"
local fields = require "clshell.results.fields"
local plot = require "clshell.plot"
local quantity = require "clshell.base.quantity"
local records = require "records"

local BRAILLE = {width = 50, height = 8, color = false, ascii = false}
local ASCII = {width = 50, height = 8, color = false, ascii = true}
local PEAKS = {fma_float = 137e9, copy = 20e9}

local function line()
  return plot.line(records.tiles(), {x = "tile", by = "pad"})
end

local function ladder()
  return plot.ladder(records.ladder(), {limit = 137e9,
    limit_label = "FMA float"})
end

local function roofline()
  return plot.roofline(records.ladder(), {peaks = PEAKS})
end

local GOLDEN = {
  line = {[[
gemm.tiled_padded 1024x1024x1024 float
throughput, GFLOPS
20 ┤
   │                                       ⢀⣀⠤⠔⠒●
   │                                 ⣀⡠⠤⠒⠊⠉⠁ ⢀⣀⡠■
   │                          ⢀⣀⡠⠤⠒⠊⢉⣀⣀⠤⠤⠒⠒⠊⠉⠁
10 ┤                 ⣀⣀⣀⣀⠤●⠔⣒⣉⠥⠤⠔⠒⠊⠉⠁
   │  ⣀⣀⣀⣀⠤⠤⠤⢔⣒⣒⣒⡪⠭⠭⠭⠒⠒⠒⠒⠉■⠉
   │■⠭⠒⠒⠒⠒⠉⠉⠉⠁
 0 ┤
   └┬─────────────────────┬─────────────────────┬
    4                     8                    16
                        tile
 ● pad=0   ■ pad=1]], [[
gemm.tiled_padded 1024x1024x1024 float
throughput, GFLOPS
20 +
   |                                         ...o
   |                                  ..........x
   |                          ...............
10 +            ..........o...........
   |o.....................x...
   |x...........
 0 +
   ++---------------------+---------------------+
    4                     8                    16
                        tile
 o pad=0   x pad=1]]},
  ladder = {[[
1024x1024x1024 float
                       GFLOPS   step  throughput
  naive map=row         4.295         ▍          ┊
  tiled tile=16 edge~  17.18   x4.00  █▌         ┊
  tiled_constant       refused: A has 4194304 byt~
* register bm=64       68.72   x4.00  ▒▒▒▒▒▒     ┊
┊ FMA float: 137.0 GFLOPS
(hatched: uncertain, of few samples or flagged)]], [[
1024x1024x1024 float
                       GFLOPS   step  throughput
  naive map=row         4.295         #          |
  tiled tile=16 edge~  17.18   x4.00  ##         |
  tiled_constant       refused: A has 4194304 byt~
* register bm=64       68.72   x4.00  //////     |
| FMA float: 137.0 GFLOPS
(hatched: uncertain, of few samples or flagged)]]},
  roofline = {[[
1024x1024x1024 float
throughput, FLOPS
     │         ⢀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀
100G ┤     ⢀⡠⠔⠊⠁
     │ ⣀⠤⠒⠉⠁                          c
     │⠉
     │                                b
 10G ┤
     │                                a
     │
     └────────────┬────────────────┬─────────────
                 10               100
             arithmetic intensity, FLOP/B
 a naive map=row
 b tiled tile=16 edge=guard 25 % of roof, compute
 c register bm=64   / memory, copy 20.0 GB/s
 - FMA float 137 GFLOPS
(1 result without a place here)]], [[
1024x1024x1024 float
throughput, FLOPS
     |
100G +        ...................................
     |   .....                        c
     |...
     |                                b
 10G +
     |                                a
     |
     +------------+----------------+-------------
                 10               100
             arithmetic intensity, FLOP/B
 a naive map=row
 b tiled tile=16 edge=guard 25 % of roof, compute
 c register bm=64   / memory, copy 20.0 GB/s
 - FMA float 137 GFLOPS
(1 result without a place here)]]},
}

-- The output of another interpreter under some variables.
local function under(variables, code)
  local script = t.tmp("under.lua")
  t.write(script, ("package.path = %q\n"):format(package.path), code)
  local pipe = assert(io.popen(("%s '%s' '%s' 2>&1"):format(variables, t.exe,
    script)))
  local words = pipe:read("a")
  pipe:close()
  return words
end

-- Fails unless each element of an XML text is closed.
local function well_formed(xml)
  local open = {}
  local bare = xml:gsub("<style>.-</style>", "")
  for slash, name, empty in bare:gmatch("<(/?)([%a]+)[^<>]-(/?)>") do
    if slash == "/" then
      t.eq(table.remove(open), name)
    elseif empty == "" then
      open[#open + 1] = name
    end
  end
  t.eq(open, {})
  t.ok(not bare:gsub("<[^<>]*>", ""):find("[<>]"))
  t.ok(not bare:find("nan") and not bare:find("inf[^o]"), bare)
end

t.test("quantities are rounded before their prefix is chosen", function()
  for _, case in ipairs{{999.96e-9, "s", "1.000 .+s"},
      {0.99999, "s", "1.000 s"}, {2.5e-6, "s", "2.500 .+s"},
      {0, "s", "0 s"}, {3, "s", "3.000 s"}, {3e-11, "s", "0.03000 ns"},
      {1e12 - 1, "FLOPS", "1.000 TFLOPS"}, {5, "B/s", "5.000 B/s"},
      {65536, "B", "64 KiB"}, {1.5 * 2^30, "B", "1.5 GiB"},
      {2^20 - 1, "B", "1 MiB"}, {1000, "B", "1000 B"}} do
    t.ok(quantity.format(case[1], case[2]):find("^" .. case[3] .. "$"),
      quantity.format(case[1], case[2]))
  end
  t.eq(quantity.format(12.345e-3, "s", 2), "12 ms")
  t.ok(quantity.format(1e300, "s"):find("^1%d+ s$"), "1e300 / 1e-9 is inf")
  t.eq({quantity.digits(nil), quantity.digits(0.005), quantity.digits(0.02),
    quantity.digits(0.2)}, {4, 4, 3, 2})
end)

t.test("the noise is half the interval, else half the range", function()
  t.eq(fields.noise{median = 1, lo = 0.75, hi = 1.25, q1 = 0, q3 = 9}, 0.25)
  t.eq(fields.noise{median = 2, min = 1.5, max = 2.5, n = 3}, 0.25)
  t.eq(fields.noise{median = 2, min = 2, max = 2, n = 1}, nil)
  t.eq(fields.noise{ms = 5}, nil)
end)

t.test("few samples deserve few digits", function()
  local one = {n = 1, median = 11716.4, min = 11716.4, max = 11716.4}
  t.eq({fields.digits(one), fields.number(one.median, one)}, {2, "12000"})
  local three = {n = 3, median = 2, min = 2, max = 2}
  t.eq({fields.digits(three), fields.digits{ms = 5}}, {3, 4})
  t.eq(fields.digits{n = 9, median = 1, lo = 0.999, hi = 1.001}, 4)
end)

t.test("the best result is one to believe", function()
  local list = records.ladder()
  t.eq({fields.best(list, "gflops"), fields.best(list, "median")}, {4, 4})
  list[4].input_roundoff = 2^-11 -- as rungs of TF32 have it
  t.eq(fields.best(list, "gflops"), 2)
  list[4].input_roundoff, list[4].flags = nil, {"IMPOSSIBLE?"}
  t.eq(fields.best(list, "gflops"), 2)
  list[2].ok = false
  t.eq(fields.best(list, "gflops"), 1)
  list[1].status = "failed"
  t.eq(fields.best(list, "gflops"), nil)
  list = records.ladder()
  list[4].n, list[4].lo, list[4].hi = 1, nil, nil
  t.eq(fields.best(list, "gflops"), nil, "no interval, no star; nor is a "
    .. "slower one the best")
end)

t.test("n is the size of the problem, not the count of samples", function()
  local list = {}
  for i, n in ipairs{256, 512, 1024} do
    list[i] = records.result("tiled", 0.5 * i, {shape = {m = 64, n = n,
      k = 64}, n = 17})
  end
  list[3].shape = '{"k":64,"m":64,"n":1024}' -- a row of the run store
  t.eq({fields.value(list[1], "n"), fields.value(list[3], "n")}, {256, 1024})
  local xs = {}
  for i, p in ipairs(plot.line(list, {x = "n"}).series[1].points) do
    xs[i] = p.x
  end
  t.eq(xs, {256, 512, 1024})
  t.eq({fields.value({shape = {rows = 5}, n = 17}, "n"),
    fields.value({n = 17}, "n")}, {nil, 17})
end)

t.test("labels say what differs", function()
  local labels, common = fields.labels(records.tiles())
  t.eq({labels[1], common}, {"tile=4 pad=0",
    "gemm.tiled_padded 1024x1024x1024 float"})
  labels = fields.labels{records.result("tiled", 1)}
  t.eq(labels[1], "gemm.tiled 1024x1024x1024 float")
end)

local function ticks(values, opts, most)
  local texts = {}
  for i, tick in ipairs(axis.new(values, opts):ticks(most or 6)) do
    t.ok(tick.at >= -1e-9 and tick.at <= 1 + 1e-9, tick.at)
    texts[i] = tick.text
  end
  return table.concat(texts, " ")
end

t.test("ticks are round", function()
  t.eq(ticks({0, 97}, {}), "0 20 40 60 80")
  t.eq(ticks({-0.3, 0.3}, {}), "-0.3 -0.2 -0.1 0 0.1 0.2 0.3")
  t.eq(ticks({4, 8, 16, 32}, {}), "4 8 16 32")
  t.eq(ticks({512, 1024, 2048}, {}), "512 1024 2048")
  t.eq(ticks({1, 1000}, {log = true}, 8), "1 3 10 30 100 300 1000")
  t.eq(ticks({3, -5, 40}, {log = true}), "5 10 20")
  t.eq(ticks({1e9, 2e12}, {unit = "FLOPS", log = true}),
    "1G 10G 100G 1T")
  t.eq(ticks({0, 3e9}, {unit = "B/s"}), "0 0.5 1 1.5 2 2.5 3")
  t.eq(ticks({1, 2}, {names = {"a", "b"}}), "a b")
  t.eq(ticks({7}, {}), "4 6 8 10")
  t.eq(ticks({}, {}), "0 0.2 0.4 0.6 0.8 1")
end)

t.test("charts in braille and in ASCII", function()
  for name, chart in pairs{line = line, ladder = ladder,
      roofline = roofline} do
    t.eq(chart():text(BRAILLE), GOLDEN[name][1], name)
    t.eq(chart():text(ASCII), GOLDEN[name][2], name)
  end
end)

t.test("no line is wider than was asked for", function()
  for _, chart in ipairs{line, ladder, roofline} do
    for width = 40, 120, 7 do
      for row in chart():text{width = width, color = false,
          ascii = true}:gmatch("[^\n]+") do
        t.ok(#row <= width, width .. ": " .. row)
      end
    end
  end
end)

t.test("the environment decides on braille and colour", function()
  local code = [[
local records = require "records"
io.write(require("clshell.plot").bar(records.tiles()):text(), "\n")
io.write(tostring(require("clshell.base.style").color(1)))]]
  local text = under("LC_ALL=C.UTF-8 TERM=xterm COLUMNS=60", code)
  t.ok(text:find("█", 1, true) and text:find("\nfalse$"))
  text = under("LC_ALL=C TERM=xterm", code)
  t.ok(text:find("###") and not text:find("[\128-\255]"), text)
  t.ok(under("LC_ALL=C.UTF-8 TERM=dumb", code):find("###"))
  text = under("FORCE_COLOR=1", code)
  t.ok(text:find("\27%[32m") and text:find("\ntrue$"))
  t.ok(under("NO_COLOR=1 FORCE_COLOR=1", code):find("\nfalse$"))
  local flag = "require('clshell.base.style').use('always')\n"
  t.ok(under("NO_COLOR=1", flag .. code):find("\ntrue$"))
  t.raises(function() require("clshell.base.style").use("ever") end, "always")
end)

t.test("points that have no place are counted", function()
  local rows = records.tiles()
  rows[1].gflops, rows[2].gflops = 0 / 0, math.huge
  rows[3].ok = false
  local chart = plot.line(rows, {x = "tile"})
  t.eq(chart.notes, {"3 results without a place here"})
  rows[4].gflops = -1
  chart = plot.line(rows, {x = "tile", log_y = true})
  t.eq(chart.notes, {"4 results without a place here"})
  well_formed(chart:svg())
  chart = plot.line({{x = 1}}, {x = "x", y = "x"})
  t.ok(chart:text(ASCII):find("o"))
end)

t.test("a chart is the same each time it is shown", function()
  local chart = plot.line(records.tiles(), {x = "tile", log_y = true})
  local first, svg = chart:text(ASCII), chart:svg()
  t.eq({chart:text(ASCII), chart:svg()}, {first, svg})
end)

t.test("names along x have their places in order", function()
  local rows = {}
  for i, name in ipairs{"row", "column", "row", "none"} do
    rows[i] = {map = name, v = i}
  end
  local chart = plot.line(rows, {x = "map", y = "v"})
  t.eq(chart.x.names, {"row", "column", "none"})
  t.ok(chart:text(ASCII):find("row +column +none"))
  well_formed(chart:svg())
end)

t.test("mistakes are told", function()
  t.raises(function() plot.line({}, {x = "tile"}) end, "empty")
  t.raises(function() plot.line(5, {x = "tile"}) end,
    "plot.line: the first argument must be a list of results; got a number")
  t.raises(function() plot.bar{1, 2} end, "plot.bar: result 1")
  t.raises(function() line().text() end, "self must be a chart; got nothing",
    "call it as x:text(...)")
  t.raises(function() plot.line(records.tiles(), {}) end,
    "must name the field")
  t.raises(function() plot.bar(records.tiles(), {limt = 1}) end,
    "did you mean 'limit'")
  t.raises(function() plot.roofline(records.tiles(), {}) end, "peaks")
  t.raises(function() line():save("x.gif") end, "x.gif", ".svg")
  t.raises(function() line():save("/nonexistent/x.svg") end,
    "cannot write", "/nonexistent/x.svg")
end)

t.test("a roof for local memory, where its peak is known", function()
  local chart = plot.roofline(records.ladder(), {peaks = {fma_float = 137e9,
    copy = 20e9, cache = 90e9, ["local"] = 60e9}})
  t.ok(chart:text{width = 80}:find("local memory 60.0 GB/s", 1, true))
  t.ok(chart:svg():find("local memory 60.0 GB/s", 1, true))
end)

t.test("SVG is well formed and takes any text", function()
  for _, chart in ipairs{line(), ladder(), roofline()} do
    well_formed(chart:svg())
    well_formed(chart:svg{style = false})
    t.ok(not chart:svg{style = false}:find("<style>"))
  end
  local rows = records.ladder()
  rows[1].name, rows[3].note = "gemm.<b>&\"'\255\0", "</svg><script>"
  local svg = plot.ladder(rows):svg()
  well_formed(svg)
  t.ok(svg:find("&lt;b&gt;&amp;&quot;&#39;\u{FFFD}\u{FFFD}", 1, true))
  t.ok(not svg:find("<script"))
  t.ok(svg:find("prefers-color-scheme: dark", 1, true))
end)

local contents = t.read

t.test("every chart is written as SVG, as text and as PNG", function()
  for i, make in ipairs{line, ladder, roofline} do
    local svg, txt = t.tmp(i .. "it's `id`.SVG"), t.tmp(i .. ".txt")
    t.eq(make():save(svg), svg)
    t.eq(contents(svg), make():svg())
    make():save(txt)
    t.eq(contents(txt), make():text{color = false} .. "\n")
  end
  t.skip_if(not os.execute("rsvg-convert --version >/dev/null 2>&1"),
    "rsvg-convert is not installed")
  local rows = records.ladder()
  rows[1].name = "gemm.'`id`\" \\ $x {a}_b <b>\255"
  for i, chart in ipairs{line(), plot.ladder(rows), roofline()} do
    local png = t.tmp(i .. "it's `id`.png")
    chart:save(png)
    t.eq(contents(png):sub(1, 8), "\137PNG\r\n\26\n")
    local width, height = (">I4I4"):unpack(contents(png), 17)
    local drawn = chart:svg():match(' height="(%d+)"')
    t.eq({width, height}, {1440, 2 * math.tointeger(drawn)})
  end
end)

t.test("a missing rsvg-convert is named, and no file is touched", function()
  local png = t.tmp("plot.png")
  local said = under("PATH=/nonexistent", ([[
local records = require "records"
local chart = require("clshell.plot").line(records.tiles(), {x = "tile"})
print(select(2, pcall(chart.save, chart, "%s")))
]]):format(png))
  t.ok(said:find("rsvg-convert, which is missing", 1, true), said)
  t.ok(said:find("apt-get install librsvg2-bin", 1, true), said)
  t.eq(io.open(png), nil)
end)

t.test("a loop on the host is no step of a ladder", function()
  local list = records.ladder()
  table.insert(list, records.result("plain_c", 2, {timer = "wall"}))
  table.insert(list, records.result("last", 2^-6))
  local steps = {}
  for i, bar in ipairs(plot.ladder(list, {}).bars) do
    steps[i] = bar.step or false
  end
  t.eq(steps, {false, 4.0, false, 4.0, false, 2.0})
end)

t.test("plot draws numbers, and calls the axes as the call does", function()
  local seconds, power = {1, 2, 3, 4}, {1, 4, 9, 16}
  local chart = plot(seconds, power)
  t.eq(chart:text(ASCII), [[
power
20 +
   |                                          ..o
   |                                     .....
   |                                .....
10 +                          ...o..
   |                   .......
   |        .......o...
 0 +o.......
   ++--------------+-------------+--------------+
    1              2             3              4
                       seconds]])
  chart = plot(power)
  t.eq({chart.x.label, chart.y.label}, {"index", "power"})
  t.eq(plot({1, 2}, {3, 4}).y.label, "y")
  t.eq(plot(
    cl.array("float", {2}), {sin = math.sin, other = power[1] and {1, 2}}
  ).x.label, 'cl.array("float", {2})')
  chart = plot(seconds, {power, math.sqrt, more = {0, 0, 0, 0}})
  local names = {}
  for i, s in ipairs(chart.series) do
    names[i] = s.name
  end
  t.eq(names, {"power", "math.sqrt", "more"})
  local twice = plot(power) and plot(seconds) -- two calls in a line
  t.eq(twice.y.label, "y")
  t.eq(under("TERM=xterm", [[x = {1, 2}
    print(plot(x, x).x.label)]]):match "%S+", "x")
end)

t.test("plot takes lists, Arrays, Buffers, expressions; gaps are counted",
  function()
    t.keeps("Context", "Device", "Kernel", "Launch", "Program", "Queue")
    local list = {1.5, 2.5, 0/0, 4.5, 1/0}
    local h = cl.array("double", 5)
    for i, x in ipairs(list) do
      h[i] = x
    end
    local b = cl.buffer("double", 5, h)
    for _, y in ipairs{list, h, b, b + 0} do
      local chart = plot(y)
      t.eq(#chart.series[1].points, 3)
      t.eq(chart.notes[1], "2 of 5 points left out: not finite")
      t.eq({chart.series[1].points[2].gap, chart.series[1].points[3].gap},
        {false, true})
    end
    t.eq(select(2, plot(list):svg():gsub("<polyline", "")), 1)
    local chart = plot({0, 1, 2}, {0, 10, 1000}, {log_y = true, log_x = true})
    t.ok(chart.y.log and chart.x.log)
    t.ok(chart.notes[1]:find("1 of 3 points left out: .*logarithmic"))
    t.ok(plot{7, 7}:text(ASCII):find("o", 1, true)) -- a constant
    local long = {}
    for i = 1, 50000 do
      long[i] = i == 33333 and 5 or 0
    end
    chart = plot(long)
    t.ok(#chart.series[1].points <= 5000)
    t.eq(chart.y.hi, 5) -- a peak of one point stays
  end)

t.test("plot.field shows a matrix, and where it is not finite", function()
  local A = matrix.from{{0, 1, 2, 3}, {4, 5, 6, 7}}
  local text = plot.field(A):text{ascii = true, color = false, height = 2,
    width = 30}
  t.eq(text, [[
A, float, 2x4
1|  ..::--|
2|++**##@@|
  1      4
  0  .:-=+*#@ 7]])
  local B = {{1, 0/0}, {-1/0, 2}}
  text = plot.field(B):text(BRAILLE)
  t.ok(text:find("█") and text:find("?", 1, true), text)
  t.ok(text:find("2 of 4 numbers are NaN or infinite", 1, true))
  local svg = plot.field(B):svg()
  t.ok(svg:find('class="s6"', 1, true) and svg:find("#fde725", 1, true))
  t.ok(plot.field{3, 3}:text(ASCII):find("all 3", 1, true))
  t.ok(plot.field(cl.array("int", 7)):text(ASCII):find("1x7", 1, true))
  for width = 30, 120, 9 do
    for _, color in ipairs{true, false} do
      local big = plot.field(matrix.random(40, 300, {lo = -1}), {title = "t"})
      for row in big:text{width = width, color = color, height = 5}
          :gmatch "[^\n]+" do
        t.ok(utf8.len((row:gsub("\27%[[%d;]*m", ""))) <= width, row)
      end
    end
  end
  t.ok(not plot.field(A):text{color = false}:find "\27")
  local path = t.tmp("field.svg")
  plot.field(A, {file = path})
  t.ok(io.open(path):read "a":find("<svg", 1, true))
end)

t.test("wrong numbers are named", function()
  for message, call in pairs{
      ["y must be a list, an Array or a Buffer; got nothing"] = plot,
      ["y must hold at least one number; got none"] = function() plot{} end,
      ["x and y must be equally long; got 2 and 1"] = function()
        plot({1, 2}, {1})
      end,
      ["a must be a list, an Array or a Buffer; got a string"] = function()
        plot({1, 2}, {a = "no", b = {1, 2}})
      end,
      ["y[2] must be a number; got a string"] = function()
        plot{1, "2"}
      end,
      ["got 2 that are not finite"] = function() plot{0/0, 1/0} end,
      ["a function needs an x"] = function() plot(math.sin) end,
      ["y must have one dimension; got 4x4"] = function()
        plot(matrix.random(4))
      end,
      ["got a vector of float4"] = function()
        plot(cl.array("float4", 2))
      end,
      ["y[1] must be a number; got a table"] = function()
        plot{records.result("naive", 1)}
      end,
      ["did you mean 'title'"] = function() plot({1}, {1}, {titel = 1}) end,
      ["A must have one or two dimensions; got 2x2x2"] = function()
        plot.field(cl.array("float", {2, 2, 2}))
      end,
      ["A[2][2] must be a number; got nothing"] = function()
        plot.field{{1, 2}, {3}}
      end} do
    t.raises(call, message)
  end
end)

t.test("the roofs begin inside their chart", function()
  local chart = plot.roofline({records.ladder()[4]}, {peaks = {
    fma_float = 137e9, copy = 20e9, cache = 90e9}})
  for _, roof in ipairs(chart.roofs) do
    local p = roof.points[1]
    t.ok(chart.x:at(p.x) >= 0 and chart.y:at(p.y) >= 0, roof.name)
  end
end)

t.done()

-- results/charts.lua - charts of results: lines, bars, the ladder of a family,
-- the roofline; of any numbers: curves and fields; as text for the terminal,
-- as SVG, as PNG. A chart is data: axes (axis.lua) with series of points, or
-- bars, or a grid. terminal.lua and svg.lua are its two renderers.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local axis = require "clshell.results.axis"
local cl = require "cl"
local fields = require "clshell.results.fields"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"
local svg = require "clshell.results.svg"
local terminal = require "clshell.results.terminal"
local units = require "clshell.ladder.unit"

local M = require "clshell.base.lazy".table(...)
local Chart = {__name = "chart"}
Chart.__index = Chart

-- Checks the arguments of plot.line, plot.bar ... Returns an empty chart, the
-- options, and a short name for each result.
local function begin(kind, results, opts)
  local name = "plot." .. kind
  fields.list_of(results, name)
  if #results == 0 then
    cl.error(("%s: the list of results must hold one; got an empty list")
      :format(name))
  end
  opts = options.check(opts, name)
  local labels, common = fields.labels(results)
  return setmetatable({kind = kind, notes = {}, title = opts.title or common,
    width = opts.width, height = opts.height}, Chart), opts, labels
end

-- A finished chart, with a note of the results without a point, written to the
-- option `file`.
local function finished(chart, opts, lost)
  if lost and lost > 0 then
    table.insert(chart.notes, ("%d result%s without a place here"):format(
      lost, lost == 1 and "" or "s"))
  end
  if opts.file then
    chart:save(opts.file)
  end
  return chart
end

-- The places of results along x, false for none: their numbers, or 1, 2, 3 ...
-- with a list of names.
local function places(rows, key)
  local numbers, list, names, seen = true, {}, {}, {}
  for i, r in ipairs(rows) do
    local x = fields.value(r, key)
    local name = x ~= nil and tostring(x)
    numbers = numbers and (not name or type(x) == "number")
    if name and not seen[name] then
      names[#names + 1] = name
      seen[name] = #names
    end
    list[i] = seen[name] or false
  end
  for i, r in ipairs(numbers and rows or {}) do
    list[i] = fields.base(r, key) or false
  end
  return list, not numbers and names or nil
end

-- The points of a series that the axes of a chart can show, in their order
-- along x; and the number of the other points.
local function shown(chart, points)
  local list = {}
  for _, p in ipairs(points) do
    list[#list + 1] = chart.x:shows(p.x) and chart.y:shows(p.y) and p or nil
  end
  table.sort(list, function(a, b)
    return a.x < b.x
  end)
  return list, #points - #list
end

--- plot.line(results, opts) -> chart
--- Lines over a field of the results. Points that are not numbers are counted
--- below.
--- Options:
---   x       needed  a field, a parameter ("tile"), a size of the shape ("n"),
---           or a function of a result
---   y       gflops, gbs or median  the same, for the height
---   by      -       a field: a line for each of its values
---   log_x   auto    true or false: a logarithmic axis
---   log_y   false   true: a logarithmic axis
---   zero    true    false: y need not begin at 0
---   scatter  false  true: points without lines
---   x_label, y_label  the fields  names of the axes
---   title   the words that all results share  a title of the chart
---   file    -       a path: writes the chart there too, see chart:save
---   width, height  window, 16  characters, of the text
--- Example:
--- local list = {}
--- for i, tile in ipairs{4, 8, 16} do
---   list[i] = bench.of("tiled", {1e-3 / i}, {flop = 1e6})
---   list[i].params = {tile = tile}
--- end
--- print(plot.line(list, {x = "tile", y = "gflops"}))
function M.line(rows, opts)
  local chart
  chart, opts = begin("line", rows, opts)
  if opts.x == nil then
    cl.error("plot.line: the option x must name the field along the axis",
      {hint = 'plot.line(results, {x = "tile"})'})
  end
  chart.series, chart.scatter = {}, opts.scatter
  local y, place, names = opts.y or fields.rate(rows), places(rows, opts.x)
  local series, xs, ys, lost = {}, {}, {}, 0
  for i, r in ipairs(rows) do
    local px, py = place[i], fields.base(r, y)
    if px and py and not record.fails(r) then
      local by = opts.by and fields.value(r, opts.by)
      local name = opts.by and (type(opts.by) == "string"
        and ("%s=%s"):format(opts.by, by) or tostring(by)) or ""
      if not series[name] then
        series[name] = {name = name, points = {}}
        table.insert(chart.series, series[name])
      end
      local lo, hi = fields.interval(r, y)
      table.insert(series[name].points, {x = px, y = py, lo = lo, hi = hi})
      xs[#xs + 1], ys[#ys + 1] = px, py
      ys[#ys + 1], ys[#ys + 2] = lo, hi -- the intervals have a place, too
    else
      lost = lost + 1
    end
  end
  local about_x, about_y = fields.about(opts.x), fields.about(y)
  chart.x = axis.new(xs, {label = opts.x_label or about_x.title,
    unit = about_x.unit, log = opts.log_x, names = names})
  chart.y = axis.new(ys, {label = opts.y_label or about_y.title,
    unit = about_y.unit, log = opts.log_y or false,
    zero = opts.zero ~= false})
  for _, s in ipairs(chart.series) do
    local more
    s.points, more = shown(chart, s.points)
    lost = lost + more
  end
  chart.y:round(5)
  return finished(chart, opts, lost)
end

-- A bar for each result, in their order; a failed result's bar has no length.
local function bar_chart(kind, rows, opts)
  local chart, labels
  chart, opts, labels = begin(kind, rows, opts)
  local y = opts.y or fields.rate(rows)
  local best, about, values = fields.best(rows, y), fields.about(y), {0}
  local unsure
  chart.bars, chart.falling = {}, fields.falls(y)
  for i, r in ipairs(rows) do
    local value = not record.fails(r) and fields.base(r, y) or nil
    local lo, hi = fields.interval(r, y)
    chart.bars[i] = {
      label = labels[i], value = value, lo = lo, hi = hi, best = i == best,
      unsure = value and fields.unsure(r), unchecked = fields.unchecked(r),
      digits = fields.digits(r),
      note = not value and (r.note or r.error or r.status or "no result"):
        gsub("%s+", " ") or nil,
    }
    values[#values + 1] = value
    unsure = unsure or chart.bars[i].unsure
  end
  chart.notes[1] = unsure and "hatched: uncertain, of few samples or flagged"
    or nil
  local limit, words = opts.limit, opts.limit_label or "limit"
  if limit ~= nil then
    argument.check("plot." .. kind, "limit", limit, "number")
  end
  if limit and limit <= 4 * math.max(table.unpack(values)) then
    values[#values + 1] = limit
    chart.limit = {value = limit, label = words}
  elseif limit then
    table.insert(chart.notes, 1, ("%s: %s, beyond this scale"):format(words,
      quantity.format(limit, about.unit)))
  end
  chart.x = axis.new(values, {label = opts.y_label or about.title,
    unit = about.unit, log = false, zero = true})
  return chart, opts
end

--- plot.bar(results [, opts]) -> chart
--- A bar for each result.
--- Options:
---   y        gflops, gbs or median  the field, or a function of a result
---   y_label  the field  a name of the axis
---   limit    -  a line at so many base units, such as the roofline
---   limit_label  -  a name of that line
---   title    the words that all results share  a title of the chart
---   file     -  a path: writes the chart there too, see chart:save
---   width, height  window  characters, of the text
--- Example:
--- print(plot.bar({bench.of("a", {0.01}), bench.of("b", {0.02})},
---   {y = "median", title = "seconds"}))
function M.bar(results, opts)
  return finished(bar_chart("bar", results, opts))
end

--- plot.ladder(results [, opts]) -> chart
--- The rungs of a family in their order: a bar for each, and beside it the
--- factor that its step brought over the last rung that has a result. Results
--- of another timer than the first, such as loops on the host, are no steps.
--- Options as for plot.bar.
--- Example:
--- local chart = plot.ladder{bench.of("a", {0.02}), bench.of("b", {0.01})}
--- print(chart.bars[2].step) --> 2.0
function M.ladder(results, opts)
  local chart
  chart, opts = bar_chart("ladder", results, opts)
  local before, timer
  for i, bar in ipairs(chart.bars) do
    timer = timer or bar.value and results[i].timer
    if bar.value and bar.value > 0 and results[i].timer == timer then
      bar.step = before and (chart.falling and before / bar.value
        or bar.value / before)
      before = bar.value
    end
  end
  return finished(chart, opts)
end

-- The compute and memory roofs of a table of peaks: a compute roof for each
-- unit in use, the fastest way to memory, the cache, which holds hot operands,
-- and local memory.
local function roofs_of(peaks, rows)
  local used, compute, memory = {}, {}, {}
  for _, r in ipairs(rows) do
    local name, parts = units.roof(r) or "", r.products or 1
    local words = name:gsub("^fma", "FMA"):gsub("_", " ")
      .. (parts > 1 and (" / %d"):format(parts) or "")
    local value = not used[words] and peaks[name]
    compute[#compute + 1] = value and {name = words, value = value / parts}
      or nil
    used[words] = true
  end
  for _, way in ipairs{"copy", "read", "write"} do
    local value = peaks[way]
    if value and (not memory[1] or value > memory[1].value) then
      memory[1] = {name = "memory, " .. way, value = value}
    end
  end
  for _, way in ipairs(memory[1] and {"cache", "local"} or {}) do
    memory[#memory + 1] = peaks[way] and {value = peaks[way],
      name = way == "local" and "local memory" or way} or nil
  end
  return compute, memory
end

-- A copy of a list of roofs, the highest first.
local function descending(roofs)
  local list = {table.unpack(roofs or {})}
  table.sort(list, function(a, b)
    return a.value > b.value
  end)
  return list
end

-- The lines of the roofs: each memory roof rises from the left or the bottom
-- of the chart to the highest compute roof, each compute roof begins at the
-- fastest memory.
local function roof_lines(compute, memory, lo, hi, bottom)
  local lines, top, wide = {}, compute[1].value, memory[1].value
  local function add(roof, unit, slope, x0, x1)
    local function height(x)
      return slope and x * roof.value or roof.value
    end
    lines[#lines + 1] = {slope = slope,
      name = ("%s %s"):format(roof.name, quantity.format(roof.value, unit, 3)),
      points = {{x = x0, y = height(x0)}, {x = x1, y = height(x1)}}}
  end
  for _, m in ipairs(memory) do
    add(m, "B/s", true, math.max(lo, bottom / m.value), top / m.value)
  end
  for _, c in ipairs(compute) do
    add(c, "FLOPS", false, c.value / wide, hi)
  end
  return lines
end

--- plot.roofline(results, opts) -> chart
--- Results on the measured roof of the device: throughput over arithmetic
--- intensity, both logarithmic.
--- Options:
---   peaks  needed  a table as of peaks(), or {compute = {{name =, value =
---          FLOPS}}, memory = {{name =, value = B/s}}}
---   title  the words that all results share  a title of the chart
---   file   -       a path: writes the chart there too, see chart:save
---   width, height  window, 16  characters, of the text
--- Example:
--- local r = bench.of("a", {0.01}, {flop = 1e9, bytes = 1e8})
--- print(plot.roofline({r}, {peaks = {
---   compute = {{name = "FMA", value = 1e12}},
---   memory = {{name = "copy", value = 1e11}}}}))
function M.roofline(rows, opts)
  local chart, labels
  chart, opts, labels = begin("roofline", rows, opts)
  local peaks = opts.peaks or {}
  local compute, memory = peaks.compute, peaks.memory
  if not compute then
    compute, memory = roofs_of(peaks, rows)
  end
  compute, memory = descending(compute), descending(memory)
  if not (compute[1] and memory[1]) then
    cl.error("plot.roofline: peaks must have a compute and a memory roof",
      {hint = "plot.roofline(results, {peaks = peaks()})"})
  end
  chart.series = {}
  local xs, least, most = {}, math.huge, 0
  for i, r in ipairs(rows) do
    local x, y = fields.base(r, "ai"), fields.base(r, "gflops")
    if x and y and x > 0 and y > 0 and r.ok ~= false then
      table.insert(chart.series, {name = labels[i], roof_share = r.roof,
        bound = r.bound, points = {{x = x, y = y}},
        suspect = protocol.flagged(r, "IMPOSSIBLE?") or nil})
      xs[#xs + 1], least, most = x, math.min(least, y), math.max(most, y)
    end
  end
  local top, slow = compute[1].value, memory[#memory].value
  for _, m in ipairs(memory) do
    xs[#xs + 1] = top / m.value
  end
  local lo, hi = math.min(table.unpack(xs)) / 4, math.max(table.unpack(xs)) * 4
  local bottom = math.min(least / 2, lo * slow * 2, top / 4)
  chart.x = axis.new({lo, hi}, {label = "arithmetic intensity, FLOP/B",
    log = true, base = 10})
  chart.y = axis.new({bottom, math.max(top, most) * 1.6},
    {label = "throughput", unit = "FLOPS", log = true})
  chart.roofs = roof_lines(compute, memory, lo, hi, bottom)
  return finished(chart, opts, #rows - #chart.series)
end

--- plot.field(A [, opts]) -> chart
--- A matrix as a picture, row 1 at the top: of a Buffer, an Array, a table of
--- rows, or a list, which is one row. A cell of the picture is the mean of its
--- part of a large matrix. NaN and infinities show as "?", in red in SVG.
--- Options:
---   title  the matrix as the call has it, type and size  a title
---   file   -       a path: writes the chart there too, see chart:save
---   width, height  window  characters, of the text
--- Example:
--- local A = matrix.random(16, 48)
--- plot.field(A) -- at the prompt; a script prints it:
--- print(plot.field(A, {width = 60}))
function M.field(A, opts)
  local curves = require "clshell.results.curves"
  opts = options.check(opts, "plot.field")
  local grid = curves.grid(curves.spoken(2, "plot.field"), A)
  local chart = setmetatable({kind = "field", grid = grid, notes = {},
    width = opts.width, height = opts.height, title = opts.title
    or ("%s%s, %dx%d"):format(grid.label, grid.type and ", " .. grid.type
    or "", grid.rows, grid.cols)}, Chart)
  chart.notes[1] = grid.odd > 0 and ("%d of %d numbers are NaN or infinite")
    :format(grid.odd, grid.rows * grid.cols) or nil
  return finished(chart, opts)
end

--- plot.gantt(t [, opts]) -> chart
--- A timeline as rows over its time: for each queue the kernels, copies and
--- fills, for the host its waits and builds, and functions of the script. In
--- text the height of a character is the part of its time that was busy; the
--- share of the whole stands behind a row.
--- Options:
---   title  none  a title
---   file   -     a path: writes the chart there too, see chart:save
---   width, height  window  characters, of the text
--- Example:
--- local x = cl.buffer("float", 1e6, 1)
--- local t = timeline(function() return x:fill(2):wait() end)
--- print(plot.gantt(t, {width = 80}))
function M.gantt(t, opts)
  argument.check("plot.gantt", "t", t, "timeline")
  opts = options.check(opts, "plot.gantt")
  local chart = setmetatable({kind = "gantt", notes = {}, from = t.from,
    to = t.to, rows = t:rows(),
    title = opts.title or "", width = opts.width, height = opts.height}, Chart)
  chart.x = axis.new({0, (t.to - t.from) * 1e-9}, {label = "time", unit = "s",
    log = false, zero = true})
  return finished(chart, opts)
end

--- chart:text([opts]) -> string
--- The chart for a terminal.
--- Options:
---   width   window  columns
---   height  16      lines of a line chart
---   ascii   auto    true: no braille
---   color   auto    true or false
--- Example:
--- local chart = results{bench.of("a", {0.01}), bench.of("b", {0.02})}:bar()
--- print(chart:text{width = 60, ascii = true, color = false})
function Chart:text(opts)
  return terminal.render(self, options.check(opts, "chart:text"))
end

--- chart:svg([opts]) -> string
--- The chart as SVG; its colours follow the reader's light or dark theme.
--- Options:
---   style  true  false: without the style sheet
--- Example:
--- local chart = results{bench.of("a", {0.01})}:bar()
--- print(chart:svg():find "<svg" ~= nil) --> true
function Chart:svg(opts)
  return svg.render(self, options.check(opts, "chart:svg"))
end

-- An SVG text as PNG.
local function png(svg_text)
  local input, _ <close> = file.temporary()
  local output, _ <close> = file.temporary()
  file.write(input, svg_text, "the chart")
  local pipe = assert(io.popen(("{ rsvg-convert --zoom 2 -o %s %s; } 2>&1")
    :format(text.quote(output), text.quote(input))))
  local complaints = pipe:read("a")
  local ok, _, code = pipe:close()
  if code == 127 then
    cl.error("charts are written as PNG with rsvg-convert, which is missing",
      {hint = "Debian, Ubuntu: apt-get install librsvg2-bin; Fedora: dnf "
        .. "install librsvg2-tools; or write the chart as .svg"})
  elseif not ok then
    cl.error("rsvg-convert failed: " .. complaints)
  end
  return assert(file.read(output))
end

local WRITE = {
  svg = Chart.svg,
  txt = function(chart)
    return chart:text{color = false} .. "\n"
  end,
  png = function(chart)
    return png(chart:svg())
  end,
}

--- chart:save(file) -> file
--- Writes the chart as the name of the file ends: .svg, .txt, or .png, which
--- needs rsvg-convert.
--- Example: results{bench.of("a", {0.01})}:bar():save "bars.txt"
function Chart:save(path)
  local format = type(path) == "string" and path:match("%.(%w+)$")
  local write = WRITE[format and format:lower()]
  if not write then
    cl.error(("cannot save a chart as '%s'"):format(tostring(path)),
      {hint = "the name must end with .svg, .png or .txt"})
  end
  file.write(path, write(self), "the chart")
  return path
end

Chart.__tostring = Chart.text
argument.methods("chart", Chart, Chart.__name)

return setmetatable(M, {
  --- plot(x, y [, opts]) -> chart
  --- Curves of numbers: lists, Arrays, Buffers, expressions; y may also be a
  --- function of x, or a table of curves, {a, b} or {sin = a, cos = b}.
  --- plot(y) shows y over 1, 2, 3 ... The axes are called as the call calls
  --- its arguments. Numbers that are not finite leave gaps, which are counted
  --- below.
  --- Options:
  ---   log_x, log_y  false  true: a logarithmic axis
  ---   zero     false  true: y begins at 0
  ---   scatter  false  true: points without lines
  ---   x_label, y_label  the arguments  names of the axes
  ---   title    -      a title of the chart
  ---   file     -      a path: writes the chart there too, see chart:save
  ---   width, height  window, 16  characters, of the text
  --- Example:
  --- local x, y = {}, {}
  --- for i = 1, 200 do
  ---   x[i] = i / 20
  ---   y[i] = math.exp(-x[i] / 4) * math.sin(x[i])
  --- end
  --- plot(x, y) -- at the prompt; a script prints it:
  --- print(plot(x, {sin = math.sin, damped = y}, {width = 70, height = 10}))
  __call = function(_, x, y, opts)
    local curves = require "clshell.results.curves"
    local list, labels
    list, labels, opts = curves.given(curves.spoken(2, "plot"), x, y, opts)
    opts = options.check(opts, "plot")
    local chart = setmetatable({kind = "line", notes = {}, series = {},
      title = opts.title or "", width = opts.width, height = opts.height,
      given = true, scatter = opts.scatter}, Chart)
    local xs, ys, lost, all = {}, {}, 0, 0
    local function shows(px, py)
      return text.finite(px) and text.finite(py)
        and not (opts.log_x and px <= 0 or opts.log_y and py <= 0)
    end
    for i, curve in ipairs(list) do
      local points, others = curves.points(curve, shows, #list > 1)
      chart.series[i] = {name = curve.name, points = points}
      lost, all = lost + others, all + curve.n
      for _, p in ipairs(points) do
        xs[#xs + 1], ys[#ys + 1] = p.x, p.y
      end
    end
    local why = (opts.log_x or opts.log_y)
      and "not finite, or not above 0 on a logarithmic axis" or "not finite"
    if #xs == 0 then
      cl.error(("plot: at least one point must have a place; got %d that are "
        .. "%s"):format(lost, why))
    end
    chart.notes[1] = lost > 0 and ("%d of %d points left out: %s"):format(
      lost, all, why) or nil
    chart.x = axis.new(xs, {label = opts.x_label or labels[1],
      log = opts.log_x or false})
    chart.y = axis.new(ys, {label = opts.y_label or labels[2],
      log = opts.log_y or false, zero = opts.zero})
    chart.y:round(5)
    return finished(chart, opts)
  end,
})

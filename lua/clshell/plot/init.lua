-- plot/init.lua - charts of results: lines, bars, the ladder of a family, the
-- roofline; as text for the terminal, as SVG, as PNG. A chart is data: axes
-- (axis.lua) with series of points, or bars. text.lua, on canvas.lua, and
-- svg.lua are its two renderers.
-- SPDX-License-Identifier: MIT

local axis = require "clshell.plot.axis"
local cl = require "cl"
local fields = require "clshell.measure.record_fields"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local svg = require "clshell.plot.svg"
local text = require "clshell.plot.text"

local M = {}
local Chart = {}
Chart.__index = Chart

-- Checks the arguments of the function `name`; returns the options.
local function checked(results, opts, name)
  if type(results) ~= "table" or #results == 0 then
    cl.error(("%s: the first argument must be a list of results; got %s")
      :format(name, type(results) == "table" and "an empty list"
        or "a " .. type(results)))
  end
  options.check(opts, name)
  return opts or {}
end

-- A finished chart, written to the option `file`.
local function finished(chart, opts)
  chart.title = opts.title or chart.title
  chart.width, chart.height = opts.width, opts.height
  chart = setmetatable(chart, Chart)
  if opts.file then
    chart:save(opts.file)
  end
  return chart
end

-- The places of results along x: their numbers, or 1, 2, 3 ... with a list of
-- names.
local function places(rows, key)
  local numbers, list, names, seen = true, {}, {}, {}
  for i, r in ipairs(rows) do
    local x = fields.value(r, key)
    numbers = numbers and (x == nil or type(x) == "number")
    local name = tostring(x)
    if x ~= nil and not seen[name] then
      names[#names + 1] = name
      seen[name] = #names
    end
    list[i] = x ~= nil and seen[name]
  end
  if not numbers then
    return list, names
  end
  for i, r in ipairs(rows) do
    list[i] = fields.base(r, key) or false
  end
  return list
end

-- Sorts the points of a line chart, leaves out those that its axes cannot
-- show and notes how many points, with the `lost` ones, are missing.
local function settle(chart, lost)
  for _, s in ipairs(chart.series) do
    local shown = {}
    for _, p in ipairs(s.points) do
      if chart.x:shows(p.x) and chart.y:shows(p.y) then
        shown[#shown + 1] = p
      else
        lost = lost + 1
      end
    end
    table.sort(shown, function(a, b)
      return a.x < b.x
    end)
    s.points = shown
  end
  if lost > 0 then
    table.insert(chart.notes, ("%d result%s without a place here"):format(
      lost, lost == 1 and "" or "s"))
  end
end

--- plot.line(results, opts) -> chart
--- Lines over a field of the results. Points that are not numbers are counted
--- below.
--- Options:
---   x       needed  a field, a parameter ("tile"), a size of the shape ("n"),
---           or a function of a result
---   y       gflops, gbs or median  the same, for the height
---   by      -       a field: one line for each of its values
---   log_x   auto    true or false: a logarithmic axis
---   log_y   false   true: a logarithmic axis
---   zero    true    false: y need not begin at 0
---   x_label, y_label  the fields  names of the axes
---   title   what they share  of the chart
---   file    -       writes it there as well, see chart:save
---   width, height  window, 16  of the text, in characters
function M.line(rows, opts)
  opts = checked(rows, opts, "plot.line")
  if opts.x == nil then
    cl.error("plot.line: the option x must name the field along the axis",
      {hint = 'plot.line(results, {x = "tile"})'})
  end
  local y = opts.y or fields.rate(rows)
  local place, names = places(rows, opts.x)
  local _, common = fields.labels(rows)
  local chart = {kind = "line", series = {}, notes = {}, title = common}
  local series, xs, ys, lost = {}, {}, {}, 0
  for i, r in ipairs(rows) do
    local px, py = place[i], fields.base(r, y)
    if px and py and not fields.fails(r) then
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
  settle(chart, lost)
  return finished(chart, opts)
end

-- The bars of results, in their order; failed results have no length.
local function bars(rows, y)
  local labels, common = fields.labels(rows)
  local best = fields.best(rows, y)
  local list = {}
  for i, r in ipairs(rows) do
    local value = not fields.fails(r) and fields.base(r, y) or nil
    local lo, hi = fields.interval(r, y)
    list[i] = {
      label = labels[i], value = value, lo = lo, hi = hi, best = i == best,
      digits = quantity.digits(fields.noise(r)),
      note = not value and (r.note or r.error or r.status or "no result"):
        gsub("%s+", " ") or nil,
    }
  end
  return list, common
end

local function bar_chart(kind, rows, opts)
  opts = checked(rows, opts, "plot." .. kind)
  local y = opts.y or fields.rate(rows)
  local list, common = bars(rows, y)
  local values = {0}
  for _, bar in ipairs(list) do
    values[#values + 1] = bar.value
  end
  local about = fields.about(y)
  local chart = {kind = kind, bars = list, title = common, notes = {},
    falling = about.unit == "s"}
  local most = math.max(table.unpack(values))
  if opts.limit and opts.limit <= 4 * most then
    values[#values + 1] = opts.limit
    chart.limit = {value = opts.limit, label = opts.limit_label or "limit"}
  elseif opts.limit then
    chart.notes[1] = ("%s: %s, beyond this scale"):format(
      opts.limit_label or "limit", quantity.format(opts.limit, about.unit))
  end
  chart.x = axis.new(values, {label = opts.y_label or about.title,
    unit = about.unit, log = false, zero = true})
  return chart, opts
end

--- plot.bar(results [, opts]) -> chart
--- A bar for each result.
--- Options:
---   y        gflops, gbs or median  the field, or a function of a result
---   y_label  the field  name of the axis
---   limit    -  a line at so many base units, such as the roofline
---   limit_label  -  its name
---   title    what they share  of the chart
---   file     -  writes it there as well, see chart:save
---   width, height  window  of the text, in characters
function M.bar(results, opts)
  return finished(bar_chart("bar", results, opts))
end

--- plot.ladder(results [, opts]) -> chart
--- The rungs of a family in their order: a bar for each, and beside it the
--- factor that its step brought over the last rung that has a result.
--- Options as for plot.bar.
function M.ladder(results, opts)
  local chart
  chart, opts = bar_chart("ladder", results, opts)
  local before
  for _, bar in ipairs(chart.bars) do
    if bar.value and bar.value > 0 then
      bar.step = before and (chart.falling and before / bar.value
        or bar.value / before)
      before = bar.value
    end
  end
  return finished(chart, opts)
end

local TYPES = {"float", "double", "half"}

-- The roofs of a table of peaks: its compute roofs for the types in use, the
-- fastest way to memory, the cache, which hot operands are read from, and
-- local memory.
local function roofs_of(peaks, rows)
  local used = {}
  for _, r in ipairs(rows) do
    used[r.type or "float"] = true
  end
  local roofs = {compute = {}, memory = {}}
  for _, type in ipairs(TYPES) do
    if used[type] and peaks["fma_" .. type] then
      table.insert(roofs.compute, {name = "FMA " .. type,
        value = peaks["fma_" .. type]})
    end
  end
  local best
  for _, way in ipairs{"copy", "read", "write"} do
    if peaks[way] and (not best or peaks[way] > best.value) then
      best = {name = "memory, " .. way, value = peaks[way]}
    end
  end
  roofs.memory[1] = best
  for name, value in pairs(best and {cache = peaks.cache,
      ["local memory"] = peaks["local"]} or {}) do
    table.insert(roofs.memory, {name = name, value = value})
  end
  return roofs
end

local function by_value(a, b)
  return a.value > b.value
end

-- The lines of the roofs: each memory roof rises to the highest compute roof,
-- each compute roof begins at the fastest memory.
local function roof_lines(roofs, lo, hi)
  table.sort(roofs.compute, by_value)
  table.sort(roofs.memory, by_value)
  local lines = {}
  local top, wide = roofs.compute[1].value, roofs.memory[1].value
  for _, m in ipairs(roofs.memory) do
    lines[#lines + 1] = {roof = true, slope = true,
      name = ("%s %s"):format(m.name, quantity.format(m.value, "B/s", 3)),
      points = {{x = lo, y = lo * m.value},
        {x = top / m.value, y = top}}}
  end
  for _, c in ipairs(roofs.compute) do
    lines[#lines + 1] = {roof = true,
      name = ("%s %s"):format(c.name, quantity.format(c.value, "FLOP/s", 3)),
      points = {{x = c.value / wide, y = c.value}, {x = hi, y = c.value}}}
  end
  return lines
end

--- plot.roofline(results, opts) -> chart
--- Results on the measured roof of the device: throughput over arithmetic
--- intensity, both logarithmic.
--- Options:
---   peaks  needed  the table of peaks(), or {compute = {{name =, value =
---          FLOP/s}}, memory = {{name =, value = B/s}}}
---   title  what they share  of the chart
---   file   -       writes it there as well, see chart:save
---   width, height  window, 16  of the text, in characters
function M.roofline(rows, opts)
  opts = checked(rows, opts, "plot.roofline")
  local roofs = opts.peaks and (opts.peaks.compute and {
    compute = {table.unpack(opts.peaks.compute)},
    memory = {table.unpack(opts.peaks.memory or {})},
  } or roofs_of(opts.peaks, rows))
  if not (roofs and roofs.compute[1] and roofs.memory[1]) then
    cl.error("plot.roofline: peaks must have a compute and a memory roof",
      {hint = "plot.roofline(results, {peaks = peaks()})"})
  end
  local labels, common = fields.labels(rows)
  local chart = {kind = "roofline", series = {}, notes = {}, title = common}
  local xs, least, lost = {}, math.huge, 0
  for i, r in ipairs(rows) do
    local x, y = fields.base(r, "ai"), fields.base(r, "gflops")
    if x and y and x > 0 and y > 0 and (r.ok ~= false) then
      table.insert(chart.series, {name = labels[i], roof_share = r.roof,
        bound = r.bound, points = {{x = x, y = y}},
        suspect = fields.flagged(r, "IMPOSSIBLE?") or nil})
      xs[#xs + 1], least = x, math.min(least, y)
    else
      lost = lost + 1
    end
  end
  local top, slow = 0, math.huge
  for _, c in ipairs(roofs.compute) do
    top = math.max(top, c.value)
  end
  for _, m in ipairs(roofs.memory) do
    slow = math.min(slow, m.value)
    xs[#xs + 1] = top / m.value
  end
  local lo, hi = math.min(table.unpack(xs)) / 4, math.max(table.unpack(xs)) * 4
  local bottom = math.min(least / 2, lo * slow * 2, top / 4)
  for _, s in ipairs(chart.series) do
    top = math.max(top, s.points[1].y)
  end
  chart.x = axis.new({lo, hi}, {label = "arithmetic intensity, FLOP/B",
    log = true, lo = lo, hi = hi})
  chart.x.base = 10
  chart.y = axis.new({bottom, top}, {label = "throughput", unit = "FLOP/s",
    log = true, lo = bottom, hi = top * 1.6})
  chart.roofs = roof_lines(roofs, lo, hi)
  settle(chart, lost)
  return finished(chart, opts)
end

--- chart:text([opts]) -> string
--- The chart for a terminal.
--- Options:
---   width   window  columns
---   height  16      lines of a line chart
---   ascii   auto    true: no braille
---   color   auto    true or false
function Chart:text(opts)
  return text.render(self, opts or {})
end

--- chart:svg([opts]) -> string
--- The chart as SVG; its colours follow the reader's light or dark theme.
--- Options:
---   style  true  false: without the style sheet
function Chart:svg(opts)
  return svg.render(self, opts or {})
end

-- An SVG text as PNG. The names of temporary files need no quotes.
local function png(svg_text)
  local input, log = os.tmpname(), os.tmpname()
  local _ <close> = setmetatable({}, {__close = function()
    os.remove(input)
    os.remove(log)
  end})
  file.write(input, svg_text, "the chart")
  local command = ("{ rsvg-convert --zoom 2 %s; } 2>%s"):format(input, log)
  local pipe = assert(io.popen(command))
  local image = pipe:read("a")
  local ok, _, code = pipe:close()
  if ok then
    return image
  elseif code == 127 then
    cl.error("charts are written as PNG with rsvg-convert, which is missing",
      {hint = "Debian, Ubuntu: apt-get install librsvg2-bin; Fedora: dnf "
        .. "install librsvg2-tools; or write the chart as .svg"})
  end
  local complaints <close> = assert(io.open(log))
  cl.error("rsvg-convert failed: " .. complaints:read("a"))
end

local WRITE = {svg = Chart.svg}

function WRITE.txt(chart)
  return chart:text{color = false} .. "\n"
end

function WRITE.png(chart)
  return png(chart:svg())
end

--- chart:save(file) -> file
--- Writes the chart as the name of the file ends: .svg, .txt, or .png, which
--- needs rsvg-convert.
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

return M

-- plot/gnuplot.lua - charts through gnuplot: its program for a chart, and SVG
-- and PNG files made with it
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local quantity = require "clshell.base.quantity"

local M = {}

local COLORS = {"#0969b5", "#c4500c", "#12805c", "#9a3fa0", "#8a6a00",
  "#b3261e"}
local POINTS = {7, 5, 9, 13, 11, 2}
local TERMINALS = {
  svg = "svg size %d,%d noenhanced font 'DejaVu Sans,12' "
    .. "background rgb 'white'",
  png = "pngcairo size %d,%d noenhanced font 'DejaVu Sans,11'",
}

-- A text for gnuplot: in single quotes it substitutes nothing.
local function quote(s)
  return "'" .. tostring(s):gsub("%c", " "):gsub("'", "\u{2019}") .. "'"
end

-- A file name for gnuplot, which takes a doubled quote at the beginning of a
-- string for an empty one.
local function quote_path(s)
  return "'" .. s:gsub("^'", "./'"):gsub("'", "''") .. "'"
end

-- A string as a field of the data: there double quotes hold it together, and
-- nothing but those is special.
local function field(s)
  return '"' .. tostring(s):gsub("[%c]", " "):gsub('"', "'")
    :gsub("\\", "\\\\") .. '"'
end

local function number(x)
  return (("%.17g"):format(x):gsub(",", "."))
end

local function tics(axis, most)
  local list = {}
  for i, tick in ipairs(axis:ticks(most)) do
    list[i] = ("%s %s"):format(quote(tick.text), number(tick.value))
  end
  return "(" .. table.concat(list, ", ") .. ")"
end

local function frame(add, chart)
  add("set encoding utf8")
  if chart.title and chart.title ~= "" then
    add(("set title %s offset 0,0.5"):format(quote(chart.title)))
  end
  add(("set grid %s back linetype 1 linewidth 1 linecolor rgb '#e1e4e8'")
    :format(chart.bars and "xtics" or ""))
  add("set border 3 linecolor rgb '#8c959f'")
  add("set tics nomirror textcolor rgb '#1f2328'")
end

local function along(add, name, axis, most, margin)
  if axis.log then
    add(("set logscale %s %d"):format(name, axis.base))
  end
  local lo, hi = axis.lo, axis.hi
  if margin then -- the first and last points stand clear of the edges
    local more = axis.log and (hi / lo) ^ 0.02 or (hi - lo) * 0.02
    lo, hi = axis.log and lo / more or lo - more,
      axis.log and hi * more or hi + more
  end
  add(("set %srange [%s:%s]"):format(name, number(lo), number(hi)))
  add(("set %stics %s"):format(name, tics(axis, most)))
  add(("set %slabel %s"):format(name, quote(axis:title())))
end

local function style(i)
  return ("linecolor rgb %s pointtype %d"):format(
    quote(COLORS[(i - 1) % #COLORS + 1]), POINTS[(i - 1) % #POINTS + 1])
end

local function title(name)
  return name == "" and "notitle" or "title " .. quote(name)
end

-- Lines and the roofline: a block of data for each series.
local function xy_program(add, chart, data)
  if chart.kind == "line" then
    chart.y:round(5)
  end
  along(add, "x", chart.x, 9, chart.kind == "line")
  along(add, "y", chart.y, 6)
  add("set key outside right reverse Left")
  local plots = {}
  local function block(points, form)
    local lines = {}
    for i, p in ipairs(points) do
      lines[i] = ("%s %s %s %s"):format(number(p.x), number(p.y),
        number(p.lo or p.y), number(p.hi or p.y))
    end
    plots[#plots + 1] = form:gsub("%%", "%%%%")
      :gsub("DATA", data(lines))
  end
  for _, roof in ipairs(chart.roofs or {}) do
    block(roof.points, "DATA using 1:2 with lines linewidth 2 "
      .. "linecolor rgb '#59636e' " .. title(roof.name))
  end
  for i, s in ipairs(chart.series) do
    local form = chart.kind == "line"
      and "with yerrorlines linewidth 2" or "with points pointsize 1.2"
    local using = chart.kind == "line" and "1:2:3:4" or "1:2"
    local name = s.name
    if chart.kind == "roofline" then
      name = ("%d  %s"):format(i, name)
      add(("set label '%d' at %s,%s left offset %s,0"):format(i,
        number(s.points[1].x), number(s.points[1].y),
        i % 2 == 1 and "1" or "-2"))
    end
    block(s.points, ("DATA using %s %s %s "):format(using, form, style(i))
      .. title(name))
  end
  add("plot " .. table.concat(plots, ", \\\n  "))
end

-- Bars lie: gnuplot's boxxyerror draws them from 0 to their value.
local function bar_program(add, chart, data)
  local lines, labels = {}, {}
  for i, bar in ipairs(chart.bars) do
    local text = bar.value and quantity.number(bar.value / chart.x.factor,
      bar.digits) or bar.note
    if bar.step then
      text = ("%s   ×%.2f"):format(text, bar.step)
    end
    lines[i] = ("%d %s %s %s %s %d"):format(i, number(bar.value or 0),
      number(bar.lo or bar.value or 0), number(bar.hi or bar.value or 0),
      field(text), tonumber((bar.best and COLORS[1] or "#b6c8dc"):sub(2), 16))
    labels[i] = ("%s %d"):format(quote(bar.label), i)
  end
  chart.x:round(5)
  along(add, "x", chart.x, 6)
  add(("set xrange [0:%s]"):format(number(chart.x.hi * 1.25)))
  add(("set yrange [%s:0.5]"):format(number(#chart.bars + 0.5)))
  add("set ytics (" .. table.concat(labels, ", ") .. ")")
  add("unset key")
  if chart.limit then
    local x = number(chart.limit.value)
    add(("set arrow from %s,0.5 to %s,%s nohead dashtype 2 "
      .. "linecolor rgb '#59636e'"):format(x, x, number(#lines + 0.5)))
    add(("set label %s at first %s, graph 1 right offset 0,0.5"):format(
      quote(chart.limit.label), x))
  end
  local name = data(lines)
  add(("plot %s using 2:1:(0):2:($1-0.35):($1+0.35):6 with boxxyerror "
    .. "fillstyle solid noborder linecolor rgb variable, \\\n"
    .. "  %s using 2:1:3:4 with xerrorbars pointtype 0 "
    .. "linecolor rgb '#59636e', \\\n"
    .. "  %s using 4:1:5 with labels left offset 1,0"):format(name, name,
    name))
end

local function size_of(chart)
  if chart.bars then
    return 800, 120 + 30 * #chart.bars
  end
  return chart.kind == "roofline" and 1000 or 800, 480
end

--- gnuplot.program(chart, format, output, data) -> string
--- What gnuplot has to read to draw the chart as "svg" or "png" to the file
--- `output`. data(lines) stores lines of data and returns how the program
--- names them.
function M.program(chart, format, output, data)
  local lines = {}
  local function add(line)
    lines[#lines + 1] = line
  end
  add("# gnuplot 5.4 or later")
  local head = #lines + 1
  lines[head] = ""
  add("set output " .. quote_path(output))
  frame(add, chart)
  local draw = chart.bars and bar_program or xy_program
  draw(add, chart, data)
  add("set output")
  lines[head] = "set terminal " .. TERMINALS[format]:format(size_of(chart))
  return table.concat(lines, "\n") .. "\n"
end

local function write(path, text)
  local file, message = io.open(path, "wb")
  if not file then
    cl.error("cannot write the chart: " .. message)
  end
  local ok, why = file:write(text)
  local closed, late = file:close()
  if not (ok and closed) then
    cl.error(("cannot write the chart: %s: %s"):format(path, why or late))
  end
end

-- The program with its data inside.
local function inline(chart, format, output)
  local blocks = {}
  local program = M.program(chart, format, output, function(lines)
    local name = "$data" .. #blocks + 1
    blocks[#blocks + 1] = ("%s << EOD\n%s\nEOD\n"):format(name,
      table.concat(lines, "\n"))
    return name
  end)
  return table.concat(blocks) .. program
end

-- The program and its data as two files beside the one that gnuplot would
-- have made.
local function leave(chart, format, output)
  local base = output:gsub("%.%w+$", "")
  local sets = {}
  local program = M.program(chart, format, output, function(lines)
    sets[#sets + 1] = table.concat(lines, "\n")
    return ("%s index %d"):format(quote_path(base .. ".dat"), #sets - 1)
  end)
  write(base .. ".gp", program)
  write(base .. ".dat", table.concat(sets, "\n\n\n") .. "\n")
  return base
end

-- Runs gnuplot on a program. Returns whether there is a gnuplot, and what it
-- complained of. The names of temporary files need no quotes.
local function run(program)
  local script, log = os.tmpname(), os.tmpname()
  write(script, program)
  local ok, how, code = os.execute(("{ gnuplot -d %s; } 2>%s"):format(script,
    log))
  local file = io.open(log)
  local words = file and file:read("a") or ""
  if file then
    file:close()
  end
  os.remove(script)
  os.remove(log)
  if how == "exit" and code == 127 then
    return false
  end
  return true, not ok and (words:gsub("%s+$", "")) or nil
end

--- gnuplot.save(chart, file) -> file
--- What chart:save does.
function M.save(chart, file)
  local format = type(file) == "string" and file:match("%.(%w+)$")
  format = format and format:lower()
  if format == "txt" then
    write(file, chart:text{color = false} .. "\n")
    return file
  elseif not TERMINALS[format] then
    cl.error(("cannot save a chart as '%s'"):format(tostring(file)),
      {hint = "the name ends with .svg, .png or .txt"})
  elseif file:find("%c") then
    cl.error("cannot save a chart: its file name has a control character")
  end
  write(file, "") -- a folder that cannot be written is found here
  local there, complaint = run(inline(chart, format, file))
  if there and not complaint then
    return file
  elseif there then
    cl.error("gnuplot failed: " .. complaint)
  elseif format == "svg" then
    write(file, chart:svg())
    return file
  end
  os.remove(file)
  local base = leave(chart, format, file)
  cl.error(("gnuplot is not installed: wrote %s.gp and %s.dat instead of %s")
    :format(base, base, file), {hint = "Debian, Ubuntu: apt-get install "
    .. "gnuplot-nox; then: gnuplot " .. base .. ".gp"})
end

return M

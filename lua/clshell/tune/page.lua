-- tune/page.lua - a search as one HTML page, which fetches nothing: the best,
-- the effects, every value against time, parallel coordinates, and the rows.
-- A click on values leaves the rows that have them: the style sheet alone
-- does it, as no script may run in the page.
-- SPDX-License-Identifier: MIT

local axis = require "clshell.results.axis"
local cl = require "cl"
local effects = require "clshell.tune.effects"
local file = require "clshell.base.file"
local html = require "clshell.results.html"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local quantity = require "clshell.base.quantity"
local settings = require "clshell.tune.settings"
local svg = require "clshell.results.svg"
local text = require "clshell.base.text"
local view = require "clshell.tune.view"

local M = {}

local escape = svg.escape

local MOST = 600    -- rows drawn: half of them the best, the rest spread
local TOP = 20      -- the best rows, in colour: at most a fifth
local BUTTONS = 32  -- values of a parameter that can be clicked
local STEEP = 8     -- the range of values from which the axis is logarithmic
local SMALL = {width = 340, height = 220, left = 52, right = 328, top = 26,
  bottom = 178}
local TALL, GAP = 300, 96 -- parallel coordinates: height, between the axes

local CSS = [[
body { max-width: 80rem }
tr.bad td { color: var(--alarm) }
.small { display: grid; gap: .5rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)) }
.small .plot { min-width: 0; max-width: 26rem }
.small figure, .values figure { margin: 0 }
.parallel .plot { max-width: none }
.point { opacity: .75 }
.top { opacity: 1 }
.point:hover { stroke: var(--ink); stroke-width: 2 }
.way { fill: none; stroke-width: 1.2; opacity: .5; stroke: var(--soft) }
.way.top { stroke: var(--mark); stroke-width: 1.8; opacity: .9 }
.way:hover { stroke: var(--alarm); stroke-width: 3; opacity: 1 }
fieldset { border: 0; margin: 0; padding: .2rem 0; display: flex;
  flex-wrap: wrap; gap: .35rem; align-items: baseline; min-width: 0 }
legend { float: left; min-width: 6rem; color: var(--soft); padding: 0 }
.value input { position: absolute; opacity: 0 }
.value span, button { border: 1px solid var(--line); border-radius: .4rem;
  padding: .05rem .55rem; cursor: pointer; background: var(--band);
  color: var(--ink); font: inherit }
.value :checked + span { background: var(--mark); color: var(--face);
  border-color: var(--mark) }
.value :focus-visible + span { outline: 2px solid var(--ink) }
.rows { counter-reset: shown }
.rows tbody tr { counter-increment: shown }
.shown::before { content: counter(shown) }
.rows { max-height: 40rem; overflow: auto }
.rows thead th { position: sticky; top: 0; background: var(--face) }
@media print { form { display: none } .rows { max-height: none } }
]]

-- The parameters of a search; of several rungs the rung, and all parameters
-- of any.
local function columns_of(best)
  if not best.spaces then
    return best.space.params
  end
  local rungs = effects.rungs(best)
  local list, by_name = {{name = "rung", values = rungs}}, {}
  for _, rung in ipairs(rungs) do
    local space = best.spaces[rung] or {params = {}}
    for _, param in ipairs(space.params) do
      local mine = by_name[param.name]
      if not mine then
        mine = {name = param.name, values = {}, index = {}}
        by_name[param.name], list[#list + 1] = mine, mine
      end
      for _, v in ipairs(param.values) do
        if not mine.index[v] then
          mine.values[#mine.values + 1] = v
          mine.index[v] = #mine.values
        end
      end
    end
  end
  return list
end

-- Columns with the place of each value, numbers in ascending order.
local function columns(best)
  local list = {}
  for i, param in ipairs(columns_of(best)) do
    local c = {name = param.name, number = i, index = {}, names = {},
      values = {table.unpack(param.values)}}
    local numbers = true
    for _, v in ipairs(c.values) do
      numbers = numbers and math.type(v)
    end
    if numbers then
      table.sort(c.values)
    end
    for k, v in ipairs(c.values) do
      c.index[v], c.names[k] = k, tostring(v)
    end
    c.axis = axis.new({}, {label = c.name, names = c.names})
    list[i] = c
  end
  return list
end

local function value_of(row, column)
  if column.name == "rung" and row.rung then
    return row.rung
  end
  return row.point[column.name]
end

-- The rows in the order of their values, failures last, and at most MOST of
-- them: the first half, and of the rest every so many.
local function ranked(rows)
  local all = {table.unpack(rows)}
  local place = {}
  for i, row in ipairs(all) do
    place[row] = i
  end
  table.sort(all, function(a, b)
    local x, y = a.value or math.huge, b.value or math.huge
    return x < y or x == y and place[a] < place[b]
  end)
  if #all <= MOST then
    return all
  end
  local list = table.move(all, 1, MOST // 2, 1, {})
  local rest = #all - MOST // 2
  for i = 1, MOST - MOST // 2 do
    list[#list + 1] = all[MOST // 2 + i * rest // (MOST - MOST // 2)]
  end
  return list
end

local function coloured(rows)
  return math.max(1, math.min(TOP, rows // 5))
end

-- Makes of each row drawn: its classes, by which clicks find it, and the words
-- under the pointer.
local function prepared(rows, params, key)
  local list, top = {}, coloured(#rows)
  for i, row in ipairs(rows) do
    local classes = {}
    for k, c in ipairs(params) do
      classes[k] = ("v%d_%d"):format(k, c.index[value_of(row, c)] or 0)
    end
    local value = row.value and (key == "ms"
      and quantity.format(row.ms / 1e3, "s") or quantity.number(row.value))
    list[i] = {row = row, class = table.concat(classes, " "), value = value,
      top = row.value and i <= top and " top" or "",
      words = escape(("%s: %s"):format(value or row.status, row.config or ""))}
  end
  return list
end

local function base(row, key)
  return row.value and (key == "ms" and row.ms / 1e3 or row.value)
end

-- The axis of the values.
local function value_axis(rows, key)
  local list, lo, hi = {}, math.huge, -math.huge
  for _, row in ipairs(rows) do
    if row.value then
      list[#list + 1] = base(row, key)
      lo, hi = math.min(lo, list[#list]), math.max(hi, list[#list])
    end
  end
  local a = axis.new(list, {label = key == "ms" and "time" or "objective",
    unit = key == "ms" and "s" or nil, log = lo > 0 and hi / lo >= STEEP})
  a:round(5)
  return a
end

-- A place from -0.5 to 0.5 beside a value, so that equal points lie apart.
local function beside(i)
  return i * 0.618034 % 1 - 0.5
end

-- An element of a drawing; numbers with one digit.
local function add(out, form, ...)
  out[#out + 1] = form:format(...)
end

local function open_svg(out, width, height, label)
  add(out, '<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
    .. '%d %d" role="img" aria-label="%s">', width, height, escape(label))
end

-- The values of one parameter against time.
local function scatter(points, column, y, key)
  local out, b = {}, SMALL
  open_svg(out, b.width, b.height, ("%s over %s"):format(y.label, column.name))
  for _, tick in ipairs(y:ticks(5)) do
    local at = b.bottom - tick.at * (b.bottom - b.top)
    add(out, '<path class="grid" d="M%d %.1fH%d"/><text class="soft" x="%d" '
      .. 'y="%.1f" text-anchor="end">%s</text>', b.left, at, b.right,
      b.left - 6, at + 4, escape(tick.text))
  end
  local widest = 1
  for _, name in ipairs(column.names) do
    widest = math.max(widest, math.min(8, text.width(name)))
  end
  for _, tick in ipairs(column.axis:ticks((b.right - b.left)
      // (8 * widest + 8))) do
    add(out, '<text class="soft" x="%.1f" y="%d" text-anchor="middle">%s'
      .. "</text>", b.left + tick.at * (b.right - b.left), b.bottom + 17,
      escape(text.cut(tick.text, 8, "…")))
  end
  add(out, '<path class="axis" d="M%d %dH%d"/><text class="soft" x="8" '
    .. 'y="14">%s</text><text class="bold" x="%d" y="%d" '
    .. 'text-anchor="middle">%s</text>', b.left, b.bottom, b.right,
    escape(y:title()), (b.left + b.right) // 2, b.bottom + 36,
    escape(column.name))
  local room = (b.right - b.left) / #column.values * 0.6
  for i = #points, 1, -1 do -- the best last, above the others
    local p = points[i]
    local k, v = column.index[value_of(p.row, column)], base(p.row, key)
    if k and v and y:shows(v) then
      add(out, '<circle class="point %s%s %s" cx="%.1f" cy="%.1f" r="%s">'
        .. "<title>%s</title></circle>", p.top ~= "" and "s1" or "other",
        p.top, p.class, b.left + column.axis:at(k) * (b.right - b.left)
        + beside(i) * room, b.bottom - y:at(v) * (b.bottom - b.top),
        i == 1 and "5" or "3", p.words)
    end
  end
  out[#out + 1] = "</svg>"
  return "<figure>" .. table.concat(out, "\n") .. "</figure>"
end

-- An upright axis of the parallel coordinates.
local function upright(out, x, ticks, name, height)
  add(out, '<path class="axis" d="M%d 34V%d"/><text class="bold" x="%d" '
    .. 'y="16" text-anchor="middle">%s<title>%s</title></text>', x,
    34 + height, x, escape(text.cut(name, 12, "…")), escape(name))
  for _, tick in ipairs(ticks) do
    add(out, '<text class="soft halo" x="%d" y="%.1f">%s</text>', x + 5,
      34 + (1 - tick.at) * height + 4, escape(text.cut(tick.text, 9, "…")))
  end
end

-- A line for each row over all parameters and the time.
local function parallel(points, params, y, key)
  local out, width = {}, math.max(4, #params) * GAP + 130
  local step = (width - 130) / #params
  open_svg(out, width, TALL + 50, "Parallel coordinates: each row as a line "
    .. "over its values")
  local function x_of(i)
    return math.floor(50 + (i - 1) * step)
  end
  for i = #points, 1, -1 do
    local p, path, pen = points[i], {}, "M"
    local v = base(p.row, key)
    for k, c in ipairs(params) do
      local at = c.index[value_of(p.row, c)]
      if at then
        path[#path + 1] = ("%s%d %.1f"):format(pen, x_of(k), 34
          + (1 - c.axis:at(at)) * TALL
          + beside(i) * math.min(16, TALL / #c.values * 0.5))
        pen = "L"
      end
    end
    if v and y:shows(v) then
      path[#path + 1] = ("%s%d %.1f"):format(pen, x_of(#params + 1), 34
        + (1 - y:at(v)) * TALL)
      add(out, '<path class="way%s %s" d="%s"><title>%s</title></path>', p.top,
        p.class, table.concat(path), p.words)
    end
  end
  for i, c in ipairs(params) do
    upright(out, x_of(i), c.axis:ticks(12), c.name, TALL)
  end
  upright(out, x_of(#params + 1), y:ticks(8), y:title(), TALL)
  out[#out + 1] = "</svg>"
  return ('<div class="scroll parallel"><div style="min-width:%dpx;'
    .. 'max-width:%dpx">%s</div></div>'):format(width * 3 // 4, width * 5 // 4,
    table.concat(out, "\n"))
end

-- The values to click, and the rules that hide the rows without them.
local function buttons(params)
  local out, css = {'<form class="values">'}, {}
  for i, c in ipairs(params) do
    if #c.values > 1 and #c.values <= BUTTONS then
      add(out, '<fieldset id="f%d"><legend>%s</legend>', i, escape(c.name))
      for k, name in ipairs(c.names) do
        add(out, '<label class="value"><input type="checkbox" id="c%d_%d">'
          .. "<span>%s</span></label>", i, k, escape(name))
        add(css, "main:has(#f%d :checked):has(#c%d_%d:not(:checked)) "
          .. ".v%d_%d { display: none }", i, i, k, i, k)
      end
      add(css, "main:has(#f%d :checked) .v%d_0 { display: none }", i, i)
      out[#out + 1] = "</fieldset>"
    end
  end
  out[#out + 1] = '<p><button type="reset">all rows</button></p></form>'
  return table.concat(out, "\n"), table.concat(css, "\n") .. "\n"
end

-- A table from a list of titles and rows of cells; the cells are HTML.
local function table_of(titles, rows, classes)
  local out = {"<table><thead><tr>"}
  for i, title in ipairs(titles) do
    add(out, '<th scope="col" class="%s">%s</th>', classes[i], escape(title))
  end
  out[#out + 1] = "</tr></thead><tbody>"
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = ('<td class="%s">%s</td>'):format(classes[i], escape(cell))
    end
    add(out, '<tr class="%s">%s</tr>', row.class or "", table.concat(cells))
  end
  out[#out + 1] = "</tbody></table>"
  return table.concat(out, "\n")
end

local function rows_table(points, params, key)
  local titles, classes, rows = {}, {}, {}
  for i, c in ipairs(params) do
    titles[i], classes[i] = c.name, "num"
  end
  for i, title in ipairs{key == "ms" and "time" or "objective", "± %", "n",
      "status"} do
    titles[#titles + 1], classes[#classes + 1] = title,
      i < 4 and "num" or "name"
  end
  for i, p in ipairs(points) do
    local cells = {class = p.class .. (i == 1 and p.value and " best"
      or not p.value and " bad" or "")}
    for k, c in ipairs(params) do
      local v = value_of(p.row, c)
      cells[k] = v == nil and "" or tostring(v)
    end
    for _, cell in ipairs{p.value or "", p.row.rel
        and quantity.number(100 * p.row.rel, 2) or "", p.row.n or "",
        p.row.reason and ("%s: %s"):format(p.row.status, p.row.reason)
        or p.row.status or ""} do
      cells[#cells + 1] = cell
    end
    rows[i] = cells
  end
  return '<div class="scroll rows">' .. table_of(titles, rows, classes)
    .. '<p class="soft"><span class="shown"></span> rows shown</p></div>'
end

-- The search in a few terms.
local function terms(best)
  local list = {}
  local function term(name, value)
    list[#list + 1] = value and {name = name, value = tostring(value)} or nil
  end
  local r = best.winners and best.winners[1] or {}
  local device = r.record and r.record.device
  term("device", type(device) == "table" and device.name or device)
  term("problem", best.title)
  term("best", r.config and ("%s: %s%s"):format(r.value == r.ms
    and quantity.format(r.ms / 1e3, "s") or quantity.number(r.value),
    best.spaces and r.rung and r.rung .. " " or "", r.config))
  term("evaluations", best.evaluations or #best.rows)
  term("strategy", best.strategy and tostring(best.strategy)
    .. (best.why and ", as " .. best.why or ""))
  term("seed", best.seed)
  return html.terms(list)
end

-- The rows as JSON.
local function data_of(best)
  local rows = {}
  for i, row in ipairs(best.rows) do
    rows[i] = {params = row.point, rung = row.rung, status = row.status,
      reason = row.reason, ms = row.ms, value = row.value, n = row.n,
      rel = row.rel}
  end
  return json.encode{name = best.name, clshell = cl.version,
    rows = json.list(rows)}
end

-- The effects, a table and its remarks; of several rungs both levels.
local function effects_section(e)
  if not e or not e.params[1] then
    return ""
  end
  local rows = {}
  for i, line in ipairs(e:lines()) do
    rows[i] = {line.name, line.worth, line.values}
  end
  local out = {('<h2>Effects%s</h2>'):format(e.name and " in "
    .. escape(e.name) or ""), '<div class="scroll">',
    table_of({"parameter", "worth", effects.title}, rows,
    {"name", "num", ""}), "</div>", "<ul>"}
  for _, remark in ipairs(e:remarks()) do
    add(out, "<li>%s</li>", escape(remark))
  end
  out[#out + 1] = "</ul>" .. effects_section(e.inside)
  return table.concat(out, "\n")
end

-- The loss of each of several shapes.
local function shapes_section(best)
  local rows, shown, total = settings.lines(best)
  if #rows == 0 then
    return ""
  end
  local titles, classes, list = {}, {}, {}
  for i, column in ipairs(shown) do
    titles[i] = column.title
    classes[i] = column.align == "right" and "num" or "name"
  end
  for k, row in ipairs(rows) do
    list[k] = {}
    for i, column in ipairs(shown) do
      list[k][i] = row[column.key]
    end
  end
  return ('<h2>Shapes</h2><div class="scroll">%s</div><p>%s</p>'):format(
    table_of(titles, list, classes), escape(total))
end

-- The rows that no other beats in several aims, and all rows beside them.
local function front_section(best)
  local aims = best.aims
  if not aims or #best.pareto == 0 then
    return ""
  end
  local titles, classes, rows = {}, {}, {}
  for i, name in ipairs(aims) do
    titles[i], classes[i] = name, "num"
  end
  titles[#titles + 1], classes[#classes + 1] = "configuration", "name"
  for k, row in ipairs(best.pareto) do
    local cells = {}
    for i, x in ipairs(row.aims) do
      cells[i] = aims:text(i, x)
    end
    cells[#cells + 1] = (row.rung and row.rung .. " " or "") .. row.config
    rows[k] = cells
  end
  return ("<h2>Rows that no other beats in %s</h2>\n<figure>%s</figure>\n"
    .. '<div class="scroll">%s</div>'):format(escape(table.concat(aims, ", ")),
    view.front(best):svg{style = false}, table_of(titles, rows, classes))
end

-- The sentences above the buttons.
local function guide(drawn, all)
  local words = ("A click on values leaves the rows that have them, below and "
    .. "in the charts; the pointer shows a row. Blue: the best %d."):format(
    coloured(drawn))
  if drawn < all then
    words = words .. (" Drawn are the best %d of %d rows, and %d spread over "
      .. "the others."):format(MOST // 2, all, drawn - MOST // 2)
  end
  return words
end

-- page.text(best) -> string
-- The result of tune as a page.
function M.text(best)
  if #best.rows == 0 then
    cl.error("tune: a page needs at least one evaluation")
  end
  local params, key = columns(best), view.measured(best.rows)
  local points = prepared(ranked(best.rows), params, key)
  local y = value_axis(best.rows, key)
  local title = ("tune %s"):format(best.name or "a space")
  local form, css = buttons(params)
  -- an objective of both signs has no effects
  local ok, e = interrupt.pcall(effects.of, best)
  local out = {"<header>", "<h1>" .. escape(title) .. "</h1>", terms(best),
    "</header>\n<main>", shapes_section(best), front_section(best),
    effects_section(ok and e or nil),
    "<h2>Rows by value</h2>",
    '<p class="soft">' .. guide(#points, #best.rows) .. "</p>", form}
  if points[1].value then
    out[#out + 1] = '<div class="small">'
    for _, c in ipairs(params) do
      out[#out + 1] = #c.values > 1 and scatter(points, c, y, key) or nil
    end
    out[#out + 1] = "</div>\n<h2>Each row over its values</h2>"
    out[#out + 1] = parallel(points, params, y, key)
  end
  out[#out + 1] = "<h2>Rows</h2>"
  out[#out + 1] = rows_table(points, params, key)
  if points[1].value then
    out[#out + 1] = "<h2>The search</h2>\n<figure>"
      .. view.frontier(best.rows):svg{style = false} .. "</figure>"
  end
  out[#out + 1] = "</main>"
  return html.frame(title, data_of(best), table.concat(out, "\n"), CSS .. css)
end

-- page.write(best, file) -> file
-- Writes page.text(best) to a file.
function M.write(best, path)
  file.write(path, M.text(best), "the page")
  return path
end

return M

-- tune/view.lua - a search for the eyes: its progress while it runs, the best
-- value over its evaluations, and the values of a parameter, as charts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local effects = require "clshell.tune.effects"
local plot = require "clshell.results.charts"
local progress = require "clshell.base.progress"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}
local View = {}
View.__index = View

local ENOUGH = 10  -- evaluations that are worth a chart at the end
local HEIGHT = 6   -- lines of that chart
local NARROW = 40  -- columns below which there is none

-- "1.234 ms", or the objective as a number.
local function value_text(row)
  if row.value == row.ms then
    return quantity.format(row.ms / 1e3, "s")
  end
  return quantity.number(row.value)
end

-- view.measured(rows) -> "ms" or "value"
-- The field of rows that charts show.
function M.measured(rows)
  for _, row in ipairs(rows) do
    if row.value and row.value ~= row.ms then
      return "value"
    end
  end
  return "ms"
end

-- "2.10x" of the first row with a value over the best.
local function gain(first, best)
  local a, b = first.value, best.value
  if a * b > 0 and a ~= b then
    return (", %.2fx"):format(a > 0 and a / b or b / a)
  end
  return ""
end

-- view.new{total =, seconds =, ...} -> view
-- The progress of a search on standard error, with the best so far and its
-- gain over the first evaluation. `total` is the most evaluations, `seconds`
-- (or nil) the time that ends the search before. On a terminal a chart of the
-- best over the evaluations follows at the end, where it fell. Closes itself.
-- Other options as for progress.new, for tests.
function M.new(opts)
  local line = {}
  for key, value in pairs(opts) do
    line[key] = value
  end
  line.seconds = nil
  local v = {rows = {}, failed = 0, most = opts.total, seconds = opts.seconds,
    progress = progress.new(line)}
  return setmetatable(v, View)
end

-- view:step(words)
-- Announces an evaluation, or other work at the end. Where time ends the
-- search, the number of evaluations is what the time left allows at the
-- present pace.
function View:step(words)
  local p, n = self.progress, self.most
  local passed = p.now() - p.begin
  if self.seconds and #self.rows > 0 and passed > 0 then
    n = math.min(n, math.ceil(#self.rows * math.max(1,
      self.seconds / passed)))
  end
  p:expect(math.max(n, p.count + 1))
  p:step(words)
end

-- view:say(words)
-- Writes a line above the progress; nil: none.
function View:say(words)
  local p = self.progress
  if words and not p.quiet then
    p:done()
    p.write(words .. "\n")
  end
end

-- view:add(row)
-- Takes the row of the evaluation announced.
function View:add(row)
  self.rows[#self.rows + 1] = row
  if not row.value then
    self.failed = row.status == "slow" and self.failed or self.failed + 1
  else
    self.first = self.first or row
    if not self.best or row.value < self.best.value then
      self.best = row
    end
  end
  local best = self.best and ("best %s%s"):format(value_text(self.best),
    gain(self.first, self.best)) or "no result yet"
  self.progress:note(self.failed > 0 and ("%s, %d failed"):format(best,
    self.failed) or best)
end

-- view:done()
-- Erases the line and draws the chart.
function View:done()
  local p, shown = self.progress, self.progress.shown
  p:done()
  if shown and p.width >= NARROW and #self.rows >= ENOUGH
      and self.best ~= self.first then
    p.write(M.frontier(self.rows):text{width = math.min(p.width, 80),
      height = HEIGHT, color = false, ascii = not p.glyphs} .. "\n")
  end
end

View.__close = View.done

-- The options of a chart with others of the user's.
local function merged(own, opts)
  for key, value in pairs(opts or {}) do
    own[key] = value
  end
  return own
end

-- view.frontier(rows [, opts]) -> chart
-- The best value so far over the number of evaluations: a corner for each row
-- that was better than all before. Options as for best:plot.
function M.frontier(rows, opts)
  local key, list, best = M.measured(rows), {}, nil
  local function corner(i, value)
    if not list[1] or list[#list].evaluations < i then
      list[#list + 1] = {evaluations = i, [key] = value}
    end
  end
  for i, row in ipairs(rows) do
    if row.value and (not best or row.value < best) then
      if best then
        corner(i - 1, best)
      end
      best = row.value
      corner(i, best)
    end
  end
  if not best then
    cl.error("plot: no evaluation has a value")
  end
  corner(#rows, best)
  return plot.line(list, merged({x = "evaluations", y = key, title = "",
    log_x = false, y_label = key == "ms" and "best time" or "best objective"},
    opts))
end

-- The values of a parameter: two points for each, its best row and its median.
local function parameter_chart(best, name, opts)
  local e, entry, names = effects.of(best), nil, {}
  for _, level in ipairs{e, e.inside} do
    for _, p in ipairs(level.params) do
      names[#names + 1] = p.name
      entry = p.name == name and p or entry
    end
  end
  if not entry then
    cl.error("plot: " .. text.unknown("parameter", tostring(name), names))
  end
  local key, list = M.measured(e.best and {e.best} or {}), {}
  for _, v in ipairs(entry.values) do
    if v.n > 0 then
      list[#list + 1] = {[name] = v.value, [key] = v.best, line = "best"}
      list[#list + 1] = {[name] = v.value, [key] = v.median,
        line = "median"}
    end
  end
  return plot.line(list, merged({x = name, y = key, title = e.name,
    by = function(r) return r.line end,
    y_label = key == "ms" and "time" or "objective"}, opts))
end

-- view.front(best [, opts]) -> chart
-- The rows in the plane of their first two aims, the front in a colour of its
-- own. Options as for best:plot.
function M.front(best, opts)
  local aims, list, beaten = best.aims, {}, {}
  for _, row in ipairs(best.pareto) do
    list[#list + 1] = {row.aims[1], row.aims[2], "not beaten"}
    beaten[row] = false
  end
  for _, row in ipairs(best.rows) do
    if row.aims and row.status == "ok" and beaten[row] == nil then
      table.insert(list, 1, {row.aims[1], row.aims[2], "beaten"})
    end
  end
  if #list == 0 then
    cl.error("plot: no evaluation has a value")
  end
  return plot.line(list, merged({x = function(r) return r[1] end,
    y = function(r) return r[2] end, by = function(r) return r[3] end,
    title = best.name, scatter = true, zero = false, x_label = aims[1],
    y_label = aims[2]}, opts))
end

-- view.plot(best [, parameter [, opts]]) -> chart
-- The chart that best:plot returns.
function M.plot(best, name, opts)
  if type(name) == "table" then
    name, opts = nil, name
  end
  if name ~= nil then
    return parameter_chart(best, name, opts)
  elseif best.aims then
    return M.front(best, opts)
  end
  return M.frontier(best.rows, merged({title = best.name}, opts))
end

return M

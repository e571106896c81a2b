-- tune/search_progress.lua - the progress of a search while it runs, and the
-- charts of its rows
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local progress = require "clshell.base.progress"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}
local Progress = {}
Progress.__index = Progress

local ENOUGH = 10  -- the least evaluations for a chart at the end
local HEIGHT = 6   -- lines of that chart
local NARROW = 40  -- the least columns for a chart

-- "1.234 ms", or the objective as a number.
local function value_text(row)
  if row.value == row.ms then
    return quantity.format(row.ms / 1e3, "s")
  end
  return quantity.number(row.value)
end

-- "ms", or "value" where the rows have an objective.
local function measured(rows)
  for _, row in ipairs(rows) do
    if row.value and row.value ~= row.ms then
      return "value"
    end
  end
  return "ms"
end

-- ", 2.10x": the gain of the best row over the first one.
local function gain(first, best)
  local a, b = first.cost, best.cost
  if a * b > 0 and a ~= b then
    return (", %.2fx"):format(a > 0 and a / b or b / a)
  end
  return ""
end

--- search_progress.new{total =, seconds =, ...} -> progress
--- The progress of a search on standard error, with the best so far and its
--- gain over the first evaluation. `total` is the most evaluations, `seconds`
--- (or nil) the time that may end the search earlier. On a terminal a chart of
--- the best over the evaluations follows at the end, where the best got
--- better. It has a __close. Other options as for progress.new, for tests.
function M.new(opts)
  local line = {}
  for key, value in pairs(opts) do
    line[key] = value
  end
  line.seconds = nil
  local v = {rows = {}, failed = 0, most = opts.total, seconds = opts.seconds,
    progress = progress.new(line)}
  return setmetatable(v, Progress)
end

--- progress:step(words)
--- Announces an evaluation, or other work at the end. Where time ends the
--- search, the total is the number of evaluations that the time left allows at
--- the present pace.
function Progress:step(words)
  local p, n = self.progress, self.most
  local passed = p.now() - p.begin
  if self.seconds and #self.rows > 0 and passed > 0 then
    n = math.min(n, math.ceil(#self.rows * math.max(1,
      self.seconds / passed)))
  end
  p:expect(math.max(n, p.count + 1))
  p:step(words)
end

--- progress:say(words)
--- Writes a line above the progress; no words write nothing.
function Progress:say(words)
  local p = self.progress
  if words and not p.quiet then
    p:done()
    p.write(words .. "\n")
  end
end

--- progress:add(row)
--- Takes the row of the announced evaluation.
function Progress:add(row)
  self.rows[#self.rows + 1] = row
  if not row.cost then
    self.failed = row.status == "slow" and self.failed or self.failed + 1
  else
    self.first = self.first or row
    if not self.best or row.cost < self.best.cost then
      self.best = row
    end
  end
  local best = self.best and ("best %s%s"):format(value_text(self.best),
    gain(self.first, self.best)) or "no result yet"
  self.progress:note(self.failed > 0 and ("%s, %d failed"):format(best,
    self.failed) or best)
end

--- progress:done()
--- Erases the line and draws the chart.
function Progress:done()
  local p, shown = self.progress, self.progress.shown
  p:done()
  if shown and p.width >= NARROW and #self.rows >= ENOUGH
      and self.best ~= self.first then
    p.write(M.frontier(self.rows):text{width = math.min(p.width, 80),
      height = HEIGHT, color = false, ascii = not p.glyphs} .. "\n")
  end
end

Progress.__close = Progress.done

-- The options of a chart, with the user's options in their place.
local function merged(own, opts)
  for key, value in pairs(opts or {}) do
    own[key] = value
  end
  return own
end

--- search_progress.frontier(rows [, opts]) -> chart
--- The best value so far over the number of evaluations: a corner for each row
--- that was better than all earlier rows. Options as for best:plot.
function M.frontier(rows, opts)
  local key, list, best = measured(rows), {}, nil
  local function corner(i)
    if best and (not list[1] or list[#list].evaluations < i) then
      list[#list + 1] = {evaluations = i, [key] = best[key]}
    end
  end
  for i, row in ipairs(rows) do
    if row.cost and (not best or row.cost < best.cost) then
      corner(i - 1)
      best = row
      corner(i)
    end
  end
  if not best then
    cl.error("plot: no evaluation has a value")
  end
  corner(#rows)
  return require "clshell.results.charts".line(list, merged({
    x = "evaluations", y = key, title = "", log_x = false,
    y_label = key == "ms" and "best time" or "best objective"}, opts))
end

-- All rows over the values of a parameter.
local function parameter_chart(best, name, opts)
  if not best.space.by_name[name] then
    cl.error("plot: " .. text.unknown("parameter", tostring(name),
      text.keys(best.space.by_name)))
  end
  local key, list = measured(best.rows), {}
  for _, row in ipairs(best.rows) do
    list[#list + 1] = row.cost and {[name] = evaluation.parameter(row, name),
      [key] = row[key]} or nil
  end
  return require "clshell.results.charts".line(list, merged({x = name, y = key,
    title = best.name, scatter = true,
    y_label = key == "ms" and "time" or "objective"}, opts))
end

--- search_progress.plot(best [, parameter [, opts]]) -> chart
--- The chart that best:plot returns.
function M.plot(best, name, opts)
  if type(name) == "table" then
    name, opts = nil, name
  end
  if name ~= nil then
    return parameter_chart(best, name, opts)
  end
  return M.frontier(best.rows, merged({title = best.name}, opts))
end

return M

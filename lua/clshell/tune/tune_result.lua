-- tune/tune_result.lua - a search as people see it: its progress while it
-- runs, and its result: the winners, the gain and the counts as text, charts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local options = require "clshell.base.options"
local progress = require "clshell.base.progress"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}

local WIDTH = 79
local LOG = 12 -- lines of the first failed build, where nothing ran
local PAGE = 100 -- results on a page: the best

local Result = {}
Result.__index = Result

-- "12.3 ms, 45.6 GFLOPS"
local function speed(row, number)
  local r = row.record
  local words = {row.turns and number(row.turns * 1e3) .. " ms"
    or number(row.ms) .. " ms"}
  local scale = row.turns and row.ms / (row.turns * 1e3) or 1
  if r and r.gflops then
    words[#words + 1] = ("%s G%sS"):format(number(r.gflops * scale),
      quantity.work(r.type))
  end
  if r and r.gbs then
    words[#words + 1] = number(r.gbs * scale) .. " GB/s"
  end
  return table.concat(words, ", ")
end

-- tune_result.named(row) -> string
-- A configuration in words: its rung, where several run, and parameters.
function M.named(row)
  return (row.rung and row.rung .. " " or "") .. row.config
end

local ENDED = {
  budget = "the evaluations were used up", time = "the time was over",
  space = "no point was left", interrupted = "Ctrl-C",
  device = "the device failed",
}

-- Adds lines: each failure's status with its count and its first reason.
local function failures(result, lines)
  for _, status in ipairs{"refused", "build", "failed", "wrong"} do
    local count, example = 0, nil
    for _, row in ipairs(result.rows) do
      if row.status == status then
        count, example = count + 1, example or row
      end
    end
    if count > 0 then
      lines[#lines + 1] = ("  %s: %s: %s"):format(status == "build"
        and text.count(count, "failed build") or ("%d %s"):format(count,
        status), M.named(example), example.reason or "no reason given")
      local room = #result.winners == 0 and LOG or 0
      for line in (example.log or ""):gmatch "\n([^\n]+)" do
        lines[#lines + 1] = room > 0 and "    " .. line or nil
        room = room - 1
      end
    end
  end
end

-- The words on the winner's gain over the default configuration.
local function improvement(result)
  local gain, default = result.gain, result.default
  if default and default == result.winners[1] then
    return "the default configuration is the best"
  elseif not gain then
    return nil
  end
  local digits = gain.lo and quantity.digits((gain.hi - gain.lo) / 2
    / gain.ratio) or 3
  local function number(x)
    return quantity.number(x, digits)
  end
  return ("%s%s times as fast as the default, %s"):format(
    number(gain.ratio), gain.lo and (" [%s, %s]"):format(number(gain.lo),
    number(gain.hi)) or "", M.named(default))
end

-- "40 evaluations: 31 ok, 5 slow, 4 wrong"
local function counts(result)
  local by, words = {}, {}
  for _, row in ipairs(result.rows) do
    by[row.status] = (by[row.status] or 0) + 1
  end
  for _, status in ipairs{"ok", "slow", "failed", "wrong", "build"} do
    if by[status] then
      words[#words + 1] = ("%d %s"):format(by[status], status)
    end
  end
  return ("%s of %d points: %s%s"):format(text.count(result.evaluations,
    "evaluation"), #result.space, #words > 0 and table.concat(words, ", ")
    or "none", result.stored > 0 and ("; %d from the run store"):format(
    result.stored) or "")
end

-- Adds the best row, the winners beside it, its objective and its gain.
local function winners(result, lines)
  local best, others = result.winners[1], {}
  local function number(x)
    return quantity.number(x, best.rel and quantity.digits(best.rel) or 4)
  end
  lines[1] = ("%s: %s"):format(lines[1], speed(best, number))
  lines[2] = "  " .. M.named(best)
  for i = 2, #result.winners do
    others[i - 1] = M.named(result.winners[i])
  end
  lines[#lines + 1] = #others > 0 and "  not told apart from it: "
    .. table.concat(others, "; ") or nil
  if result.objective then
    lines[#lines + 1] = ("  objective%s %s"):format(
      type(result.objective) == "string" and " " .. result.objective or "",
      quantity.number(best.value))
  end
  local more = improvement(result)
  lines[#lines + 1] = more and "  " .. more
end

function Result.__tostring(result)
  local lines = {(("%s %s"):format(result.name, result.title or "")
    :gsub(" $", ""))}
  if result.winners[1] then
    winners(result, lines)
  else
    lines[1] = lines[1] .. ": no configuration ran"
  end
  lines[#lines + 1] = "  " .. counts(result)
  failures(result, lines)
  for _, out in ipairs(result.out) do
    lines[#lines + 1] = ("  not %s: %s"):format(out.rung, out.reason)
  end
  lines[#lines + 1] = ("  strategy %s: %s; seed %d, %.0f s; %s"):format(
    result.strategy, result.why, result.seed, result.seconds,
    ENDED[result.ended])
  for _, note in ipairs(result.notes) do
    lines[#lines + 1] = "  " .. note
  end
  return text.fold(table.concat(lines, "\n"), WIDTH)
end

--- best:records() -> list of results
--- The results of bench of all rows, in the order of the search, for html,
--- export, plot and results. Rows of a file have their time alone.
--- Example:
--- local best = tune("gemm.tiled_padded", {64}, {evaluations = 2})
--- html(best:records(), "search.html")
function Result:records()
  local list = {}
  for _, row in ipairs(self.rows) do
    list[#list + 1] = row.record or row.ms and {name = self.name,
      title = self.title, config = row.config, params = row.point,
      status = row.status, error = row.reason, ms = row.ms,
      median = row.ms / 1e3}
  end
  return list
end

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
local function gained(first, best)
  local a, b = first.cost, best.cost
  if a * b > 0 and a ~= b then
    return (", %.2fx"):format(a > 0 and a / b or b / a)
  end
  return ""
end

--- tune_result.progress{total =, seconds =, ...} -> progress
--- The progress of a search on standard error, with the best so far and its
--- gain over the first evaluation. `total` is the most evaluations, `seconds`
--- (or nil) the time that may end the search earlier. On a terminal a chart of
--- the best over the evaluations follows at the end, where the best got
--- better. It has a __close. Other options as for progress.new, for tests.
function M.progress(opts)
  local line = options.with({}, opts)
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
    gained(self.first, self.best)) or "no result yet"
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

--- tune_result.frontier(rows [, opts]) -> chart
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
  return require "clshell.results.charts".line(list, options.with({
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
  return require "clshell.results.charts".line(list, options.with({x = name,
    y = key, title = best.name, scatter = true,
    y_label = key == "ms" and "time" or "objective"}, opts))
end

-- The chart that best:plot returns.
local function plot(best, name, opts)
  if type(name) == "table" then
    name, opts = nil, name
  end
  if name ~= nil then
    return parameter_chart(best, name, opts)
  end
  return M.frontier(best.rows, options.with({title = best.name}, opts))
end

-- The page of a report on the best results of a search.
local function write_page(result, path)
  local rows = evaluation.sorted(result.rows)
  local list = M.new{rows = table.move(rows, 1, PAGE, 1, {}),
    name = result.name, title = result.title}:records()
  if #list == 0 then
    cl.error("best:save: no configuration ran")
  end
  require "clshell.results.html".write(list, path, {title = ("%s %s"):format(
    result.name, result.title or ""), charts = {result:plot()},
    reading = tostring(result)})
end

--- best:save(path)
--- Writes the evaluations of a search to a file that tune{replay = path}
--- reads: CSV, or a cache file of Kernel Tuner to a name that ends in .json. A
--- name that ends in .html gets the page of html, of the best results.
--- Example:
--- local best = tune("gemm.tiled_padded", {64}, {evaluations = 2})
--- best:save "space.csv"
--- print(tune{replay = "space.csv"}.evaluations) --> 2
function Result:save(path)
  if type(path) ~= "string" then
    cl.error(("best:save: the path of a file must be a string; got a %s")
      :format(type(path)))
  elseif path:find "%.html?$" then
    write_page(self, path)
  else
    require "clshell.tune.recorded_space".save(self, path)
  end
end

--- best:plot([parameter [, opts]]) -> chart
--- The best time, or value of the objective, over the evaluations; with a
--- parameter all rows over its values. Options as for plot.line: title, file,
--- width, height, log_x, log_y, zero, x_label, y_label.
--- Example:
--- local best = tune("gemm.tiled_padded", {64}, {evaluations = 2})
--- print(best:plot()) -- the best time over the evaluations
--- best:plot("tile", {file = "tile.svg"})
function Result:plot(parameter, opts)
  return plot(self, parameter, opts)
end

--- best:keep() -> row
--- Keeps the best configuration of a rung or a family for calls that name no
--- kernel, in later sessions too: see gemm.keep, gemm.kept, gemm.forget. The
--- best of one rung may be slower than another rung: tune("gemm", ...) tries
--- all.
--- Example:
--- local best = tune("transpose.tiled", {64}, {evaluations = 2, seconds = 20})
--- best:keep()
--- print(transpose.choice{rows = 64, cols = 64}.kept) --> true
--- transpose.forget()
function Result:keep()
  local best, gain = self.winners[1], self.gain
  if not self.family then
    cl.error("best:keep: only configurations of a family can be kept",
      {hint = "write the settings of your own kernel into its script"})
  elseif not best then
    cl.error("best:keep: no configuration ran")
  end
  return self.family.keep(best.record, gain and ("%sx the default"):format(
    quantity.number(gain.ratio, 3)))
end

-- tune_result.new(fields) -> result
-- Makes a result from a table of the fields that tune documents.
function M.new(fields)
  return setmetatable(fields, Result)
end

return M

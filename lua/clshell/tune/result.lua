-- tune/result.lua - the end of a search: the winners, the gain and the counts
-- as text, and the methods of the result
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local effects = require "clshell.tune.effects"
local quantity = require "clshell.base.quantity"
local replay = require "clshell.tune.replay"
local report = require "clshell.results.tables"
local settings = require "clshell.tune.settings"
local text = require "clshell.base.text"
local view = require "clshell.tune.view"

local M = {}

local WIDTH = 79
local LOG = 12 -- lines of the first failed build, where nothing ran
local FRONT = 20 -- rows of the Pareto set in the text

local Result = {}
Result.__index = Result

-- "12.3 ms, 45.6 GFLOPS"
local function speed(row, number)
  local r = row.record
  local words = {row.turns and number(row.turns * 1e3) .. " ms"
    or number(row.ms) .. " ms"}
  local scale = row.turns and row.ms / (row.turns * 1e3) or 1
  if r and r.gflops then
    words[#words + 1] = number(r.gflops * scale) .. " GFLOPS"
  end
  if r and r.gbs then
    words[#words + 1] = number(r.gbs * scale) .. " GB/s"
  end
  return table.concat(words, ", ")
end

-- result.named(row) -> string
-- A configuration in words: its rung, where several run, and parameters.
function M.named(row)
  return (row.rung and row.rung .. " " or "") .. row.config
end

local ENDED = {
  budget = "the evaluations were used up", time = "the time was over",
  space = "no point was left", interrupted = "Ctrl-C",
  device = "the device failed",
}

-- The first reason of each status that is a failure, with its count.
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

-- How the default configuration relates to the winner.
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

-- Rows of a table as lines below the title.
local function indented(lines, rows, columns)
  for line in report.format(rows, columns, {width = WIDTH - 2})
      :gmatch "[^\n]+" do
    lines[#lines + 1] = "  " .. line
  end
end

-- The loss of each of several shapes.
local function decisions(result, lines)
  local rows, columns, total = settings.lines(result)
  if #rows > 0 then
    indented(lines, rows, columns)
    lines[#lines + 1] = "  " .. total
  end
end

local shown = setmetatable({}, {__mode = "k"})

-- result.shown(result) -> boolean
-- Whether the text of a result was asked for.
function M.shown(result)
  return shown[result] or false
end

-- The table of the front, its first and last rows where it is long.
local function front(result, lines)
  local aims, all, rows, columns = result.aims, result.pareto, {}, {}
  for i, name in ipairs(aims) do
    columns[i] = {key = i, title = name, align = "right"}
  end
  columns[#columns + 1] = {key = "config", title = "configuration",
    wrap = true}
  for i, row in ipairs(all) do
    if i <= FRONT // 2 or i > #all - FRONT // 2 then
      local cells = {config = M.named(row)}
      for k, x in ipairs(row.aims) do
        cells[k] = aims:text(k, x)
      end
      rows[#rows + 1] = cells
    end
  end
  lines[#lines + 1] = ("  %s that no other beats in %s%s:"):format(text.count(
    #all, "configuration"), table.concat(aims, ", "), #rows < #all
    and ("; the ends, %d are between them"):format(#all - #rows) or "")
  indented(lines, rows, columns)
end

function Result.__tostring(result)
  shown[result] = true
  local best = result.winners[1]
  local function number(x)
    return quantity.number(x, best.rel and quantity.digits(best.rel) or 4)
  end
  local lines = {(("%s %s"):format(result.name, result.title or "")
    :gsub(" $", ""))}
  if best then
    lines[1] = lines[1] .. ": " .. speed(best, number)
    lines[2] = "  " .. M.named(best)
    local others = {}
    for i = 2, result.aims and 0 or #result.winners do
      others[#others + 1] = M.named(result.winners[i])
    end
    if #others > 0 then
      lines[#lines + 1] = "  not told apart from it: "
        .. table.concat(others, "; ")
    end
    if result.objective then
      lines[#lines + 1] = ("  objective %s"):format(quantity.number(
        best.value))
    end
    if result.aims then
      front(result, lines)
    else
      local more = improvement(result)
      lines[#lines + 1] = more and "  " .. more
    end
  else
    lines[1] = lines[1] .. (result.table and #result.table > 0
      and ": no configuration runs on all shapes" or ": no configuration ran")
  end
  decisions(result, lines)
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

--- best:save(path)
--- Writes the evaluations of a search to a file that tune{replay = path}
--- reads: CSV; a name that ends in .cache.json: a cache file of Kernel Tuner;
--- another .json: T4, its results file. A name that ends in .html: a page for
--- the browser with the effects, a chart of each parameter and all rows, of
--- which a click on values leaves those that have them.
function Result:save(path)
  if type(path) == "string" and path:find "%.html?$" then
    require("clshell.tune.page").write(self, path)
  else
    replay.save(self, path)
  end
end

--- best:effects([rung]) -> effects
--- The worth of each parameter: the best row of each of its values over the
--- best of all; pairs whose best values depend on one another; lists that end
--- too early; parameters without an effect. Of several rungs the effect of the
--- rung, and those of the parameters of the best one, or of the one named. It
--- prints as text; `params` and `pairs` have the figures. Where the search
--- left points out, a value counts only if its rows are not late by chance.
function Result:effects(rung)
  return effects.of(self, rung)
end

--- best:plot([parameter [, opts]]) -> chart
--- The best time over the evaluations, or, for each value of a parameter, its
--- best and its median row. Of several aims the rows by the first two.
--- Options as for plot.line: title, file, width, height, log_x, log_y, zero,
--- x_label, y_label.
function Result:plot(parameter, opts)
  return view.plot(self, parameter, opts)
end

--- best:choose(shape) -> params, rung
--- The setting for a shape, of a search over several: that of the table
--- (best.table) for the tuned shape whose sizes are nearest, by the sum of the
--- logarithms of their ratios. rung is nil where the search had one.
function Result:choose(shape)
  return settings.choose(self, shape)
end

--- best:keep() -> row
--- Keeps the best configuration of a rung or a family for calls that name no
--- kernel, in later sessions too: see gemm.keep, gemm.kept, gemm.forget. The
--- best of one rung may be slower than another rung: tune("gemm", ...) tries
--- all. Of several shapes a list of rows: the table's setting for each, except
--- where the race found it far behind another.
function Result:keep()
  local best, gain = self.winners[1], self.gain
  local levels = self.table or {}
  if not self.family then
    cl.error("best:keep: only configurations of a family can be kept",
      {hint = "write those of your own kernel into its script"})
  elseif not best and #levels == 0 then
    cl.error("best:keep: no configuration ran")
  elseif #levels == 0 then
    return self.family.keep(best.record, gain and ("%sx the default"):format(
      quantity.number(gain.ratio, 3)))
  end
  local rows = {}
  for i, entry in ipairs(levels[#levels].shapes) do
    local here = entry.row and entry.row.at[i]
    rows[#rows + 1] = here and here.status == "ok"
      and self.family.keep(here.record) or nil
  end
  return rows
end

-- result.new(fields) -> result
-- Makes a table of fields, those that tune documents, a result.
function M.new(fields)
  return setmetatable(fields, Result)
end

return M

-- tune/tune_result.lua - the result of a search: the winners, the gain and the
-- counts as text, and its methods
-- SPDX-License-Identifier: MIT

local cl = require "cl"
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
    words[#words + 1] = number(r.gflops * scale) .. " GFLOPS"
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

-- The page of a report on the best results of a search.
local function write_page(result, path)
  local rows = require "clshell.tune.evaluation".sorted(result.rows)
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
  return require "clshell.tune.search_progress".plot(self, parameter, opts)
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

-- judge/board.lua - the board of a task: verdicts as a table, JSON, CSV,
-- Markdown and a page
-- SPDX-License-Identifier: MIT

local export = require "clshell.results.export"
local html = require "clshell.results.html"
local quantity = require "clshell.base.quantity"
local report = require "clshell.results.tables"
local stats = require "clshell.measure.stats"
local svg = require "clshell.results.svg"
local system = require "clshell.system"
local tasks = require "clshell.judge.task"
local text = require "clshell.base.text"

local M = {}

local Board = {__name = "board"}
Board.__index = Board

local ORDER = {RIGHT = 1, UNCLEAR = 2, SLOW = 3, WRONG = 4, INVALID = 5}

-- board.new(task, seed) -> board
function M.new(task, seed)
  return setmetatable({task = task.name, seed = seed, hints = task.hints,
    points = task.points ~= nil, ok = true}, Board)
end

local ASKED = {FASTER = "FASTER than asked", SLOWER = "SLOWER than asked",
  SAME = "the SAME as asked", UNCLEAR = "UNCLEAR whether as fast as asked"}

-- board.speed(task, times) -> string
-- The speed at a size in words, and how it stands to the speed asked.
function M.speed(task, t)
  local digits, speed = 3, task.speed
  local function number(x)
    return quantity.number(x, digits)
  end
  local words = quantity.format(stats.median(t.samples), "s", digits) .. " at "
    .. tasks.title(t.size)
  if speed.roof then
    return ("%s, %.3g %% of the %s roof: %s (%.3g %%)"):format(words,
      100 * t.roof, t.bound, ASKED[t.decision], 100 * speed.roof)
  end
  local interval = t.lo and (" [%s, %s]"):format(number(1 / t.hi),
    number(1 / t.lo)) or ""
  return ("%s, %s%s times as fast as %s: %s (%.3g)"):format(words,
    number(1 / t.ratio), interval, type(speed.against) == "string"
    and speed.against or "the reference", ASKED[t.decision],
    speed.at_least or 1)
end

function Board:add(r)
  self.ok = self.ok and r.verdict == "RIGHT"
  r.before = r.before or {}
  table.insert(self, r)
end

-- The time by which equal points and verdicts are ranked.
local function time_of(r)
  return r.times and r.times[1] and stats.median(r.times[1].samples)
    or math.huge
end

function Board:finish()
  table.sort(self, function(a, b)
    if (a.points or 0) ~= (b.points or 0) then
      return (a.points or 0) > (b.points or 0)
    elseif a.verdict ~= b.verdict then
      return ORDER[a.verdict] < ORDER[b.verdict]
    elseif time_of(a) ~= time_of(b) then
      return time_of(a) < time_of(b)
    end
    return a.name < b.name
  end)
  return self
end

-- The verdicts of earlier runs, oldest first, and this one: "WRONG, RIGHT".
local function history(r)
  return text.values(r.before, ", ", function(old)
    return tostring(old.verdict)
  end)
end

-- The hint for a verdict.
local function hint(board, r)
  local hints = board.hints
  if type(hints) == "table" and r.verdict ~= "RIGHT" then
    return hints[r.verdict] or hints[1] and table.concat(hints, " ") or nil
  end
end

-- The lines below the name and verdict of a submission.
local function details(board, r)
  local lines = {}
  if r.reason and r.verdict ~= "SLOW" and r.verdict ~= "UNCLEAR" then
    lines[1] = r.size and ("at %s (seed %d): %s"):format(r.size, r.seed,
      r.reason) or r.reason
  end
  for _, part in ipairs(r.parts or {}) do
    lines[#lines + 1] = ("%-6s %g of %g: %s"):format(part.part, part.points,
      part.of, part.reason)
  end
  if not r.parts and r.speed then
    lines[#lines + 1] = r.speed
  end
  if not r.parts and r.not_simulated then
    lines[#lines + 1] = "not simulated: " .. r.not_simulated
  end
  if not r.parts and r.finding then
    lines[#lines + 1] = "the simulator: " .. r.finding
  end
  if r.times and (r.slow or (r.load or 0) > system.cores()) then
    lines[#lines + 1] = ("%sload %.3g on %s while it was timed"):format(
      r.slow and "clock! The clock was lower; " or "", r.load or 0,
      text.count(system.cores(), "core"))
  end
  lines[#lines + 1] = r.repro and "repeat: " .. r.repro
  local words = hint(board, r)
  lines[#lines + 1] = words and "hint: " .. words
  return lines
end

local function points(r)
  return r.of and ("%g of %g"):format(r.points, r.of) or nil
end

function Board:__tostring()
  local lines, width = {}, report.width()
  for _, r in ipairs(self) do
    r.total, r.past = points(r), history(r)
    r.ms = time_of(r) < math.huge and time_of(r) * 1e3 or nil
  end
  if #self > 1 then
    lines[1] = report.format(self, {{key = "name", title = "name"},
      {key = "verdict", title = "verdict"}, {key = "total", title = "points",
      align = "right"}, {key = "ms", title = "ms", format = "%.4g"},
      {key = "past", title = "before", drop = 1},
      {key = "reason", title = "reason", wrap = true}}, {width = width})
      .. "\n"
  end
  for _, r in ipairs(self) do
    local more = details(self, r)
    lines[#lines + 1] = (#self == 1 or #more > 0) and ("%s: %s%s"):format(
      r.name, r.verdict, r.total and ", " .. r.total .. " points" or "") or nil
    for _, line in ipairs(more) do
      lines[#lines + 1] = text.fold("  " .. line, width)
    end
  end
  lines[#lines + 1] = ("seed %d of the inputs: --seed repeats all runs")
    :format(self.seed)
  return table.concat(lines, "\n")
end

local COLUMNS = {"rank", "task", "name", "verdict", "points", "of", "reason",
  "size", "seed", "median_s", "ratio", "ratio_lo", "ratio_hi", "speed",
  "clean", "load", "before", "repro"}

-- The rows of a board for programs.
local function rows_of(board)
  local rows = {}
  for i, r in ipairs(board) do
    local t = r.times and r.times[1] or {}
    rows[i] = {rank = i, task = board.task, name = r.name,
      verdict = r.verdict, points = r.points, of = r.of, reason = r.reason,
      size = r.size, seed = r.seed, median_s = t.median,
      ratio = t.ratio, ratio_lo = t.lo, ratio_hi = t.hi, speed = r.speed,
      clean = r.clean, load = r.load, before = history(r), repro = r.repro}
  end
  return rows
end

--- board:text(format) -> string
--- The board as "table", "json", "csv", "md" or "html".
--- Example:
--- local scripts = cl.home .. "/scripts/course"
--- local board = judge(scripts .. "/product.lua",
---   scripts .. "/product_start.cl", {repro = "16:1", keep = false})
--- print(board:text "csv")
function Board:text(format)
  if format == nil or format == "table" then
    return tostring(self) .. "\n"
  elseif format == "html" then
    return M.page(self)
  end
  local rows = rows_of(self)
  if format == "json" then
    for i, row in ipairs(rows) do
      row.parts = self[i].parts
    end
  end
  return export.rows(rows, format, COLUMNS)
end

-- The board as a page.
function M.page(board)
  local escape, out = svg.escape, {}
  local function row(tag, cells)
    for i, cell in ipairs(cells) do
      cells[i] = ("<%s>%s</%s>"):format(tag, escape(tostring(cell)), tag)
    end
    out[#out + 1] = "<tr>" .. table.concat(cells) .. "</tr>"
  end
  out[1] = ('<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n</header>\n<main>'
    .. '\n<div class="scroll"><table>'):format(escape(board.task),
    os.date "!%Y-%m-%d %H:%M UTC")
  row("th", {"", "name", "verdict", "points", "time", "before", "reason"})
  for i, r in ipairs(board) do
    local t = time_of(r)
    row("td", {i, r.name, r.verdict, points(r) or "", t < math.huge
      and quantity.format(t, "s", 3) or "", history(r), r.reason or ""})
  end
  out[#out + 1] = "</table></div>\n<h2>Each submission</h2>"
  for _, r in ipairs(board) do
    out[#out + 1] = ("<details><summary>%s: %s</summary>\n<p>%s</p></details>")
      :format(escape(r.name), r.verdict, text.values(details(board, r),
      "<br>\n", escape))
  end
  return html.page(board.task, board:text "json", table.concat(out, "\n")
    .. "\n</main>")
end

return M

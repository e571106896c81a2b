-- shell/prompt/exercise.lua - %exercise: questions on GPU kernels, kernels to
-- write for the judge, and the score of both, kept for the next session
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local course = require "clshell.explain.course"
local files = require "clshell.base.file"
local judge = require "clshell.base.lazy".module "clshell.judge"
local report = require "clshell.results.tables"
local session = require "clshell.shell.prompt.session"
local tasks = require "clshell.judge.task"
local text = require "clshell.base.text"

local M = {}

-- The tasks of scripts/course, in the order of learning.
local NAMES = {"edge", "transpose", "product", "stencil", "sum", "diagonals"}
local KNOWN = text.set(table.concat(NAMES, " "))

local function path_of(name)
  return ("%s/scripts/course/%s.lua"):format(cl.home, name)
end

-- Appends a line to the file with the score, where it can be written.
local function keep(name, verdict, points, of)
  local made, why = files.make_folder "DATA"
  local file <close>, message = io.open((files.folder "DATA" or "")
    .. "/exercises", made and "a" or "r")
  if not made or not file then
    return session.note("the score is not kept: " .. (why or message))
  end
  file:write(("%s %s %g %g %d\n"):format(name, verdict, points, of, os.time()))
end

-- The best result of each exercise by its name: {verdict, points, of, date,
-- tries}; of equal ones, the first.
local function kept()
  local best, folder = {}, files.folder "DATA"
  for line in (folder and files.read(folder .. "/exercises") or ""):gmatch
      "[^\n]+" do
    local name, verdict, points, of, time =
      line:match "^(%w+) (%u+) ([%d.]+) ([%d.]+) (%d+)$"
    local old = best[name]
    if name then
      local one = {verdict = verdict, points = tonumber(points),
        of = tonumber(of), tries = 0,
        date = os.date("%Y-%m-%d", math.tointeger(tonumber(time)))}
      local tries = (old or one).tries + 1
      best[name] = old and old.points >= one.points and old or one
      best[name].tries = tries
    end
  end
  return best
end

-- exercise.score() -> string
-- The best result of each exercise as a table, and the sum of the points.
function M.score()
  local best, rows, sum, of = kept(), {}, 0, 0
  local function row(name)
    local one = best[name]
    local most = one and one.of or KNOWN[name] and 10 or 1
    sum, of = sum + (one and one.points or 0), of + most
    rows[#rows + 1] = {name = name, verdict = one and one.verdict or "-",
      points = ("%.3g of %g"):format(one and one.points or 0, most),
      tries = one and one.tries, date = one and one.date or ""}
  end
  for i = 1, course.questions() do
    row(tostring(i))
  end
  for _, name in ipairs(NAMES) do
    row(name)
  end
  return ("%s\n%.4g of %g points"):format(report.format(rows,
    {{key = "name", title = "exercise"}, {key = "verdict", title = "verdict"},
    {key = "points", title = "points", align = "right"},
    {key = "tries", title = "tries", format = "%d", drop = 1},
    {key = "date", title = "date", drop = 2}}, {width = report.width()}), sum,
    of)
end

-- All exercises.
local function list()
  local lines = {course.exercise(), "\nKernels to write:"}
  for _, name in ipairs(NAMES) do
    lines[#lines + 1] = text.hang(("  %-11s"):format(name),
      tasks.load(path_of(name)).text:match "^.-%.%f[%s]", 77)
  end
  lines[#lines + 1] = "Type: %exercise edge, %exercise submit mine.cl, "
    .. "%exercise score"
  return table.concat(lines, "\n")
end

-- A task and the text to begin with.
local function show(name)
  local task = tasks.load(path_of(name))
  return ("%s\n\nBegin with a copy of %s:\n%s\n%s"):format(
    text.fold(tostring(task), report.width()),
    task:file(task.skeleton):gsub("[^/]+/%.%./", ""),
    task:skeleton_text(), "Type: %exercise submit FILE, or the text of the "
    .. "kernel in place of FILE")
end

-- The exercise whose kernel a source has.
local function named(source)
  local known = {}
  for i, name in ipairs(NAMES) do
    local kernel = tasks.load(path_of(name)).kernel_name
    if source:find("%f[%w_]void%s+" .. kernel .. "%s*%(") then
      return name
    end
    known[i] = ("%s (%s)"):format(kernel, name)
  end
  cl.error("%exercise submit: the kernel must have the name of a task's "
    .. "kernel: " .. table.concat(known, ", "))
end

-- Judges a file, or the text of a kernel, for an exercise or for the one whose
-- kernel it is.
local function submit(rest, name)
  local written = rest:find("{", 1, true)
  local path, removed
  if written then
    path, removed = files.temporary ".cl"
    files.write(path, rest .. "\n", "the kernel")
  else
    path = select(2, rest:match "^([\"']?)(.-)%1$")
  end
  local _ <close> = removed
  if path == "" then
    cl.error "%exercise submit needs a file, or the text of a kernel"
  end
  local content, message = files.read(path)
  name = name or named(content or cl.error("cannot open " .. message))
  local board = judge.judge(path_of(name), path, {keep = false})
  local r = board[1]
  r.name, r.repro = name, not written and r.repro or nil
  keep(name, r.verdict, r.points, r.of)
  session.page(tostring(board))
end

-- %exercise.
function M.command(rest)
  local word, more = rest:match "^(%S*)%s*(.-)%s*$"
  local n = math.tointeger(tonumber(word))
  if word == "" then
    session.page(list())
  elseif word == "score" then
    session.page(M.score())
  elseif word == "submit" then
    submit(more)
  elseif KNOWN[word] then
    if more == "" then
      return session.page(show(word))
    end
    submit(more, word)
  elseif n then
    local words = course.exercise(n, more ~= "" and more or nil)
    print(words)
    if more ~= "" then
      local right = words:find "^right: " ~= nil
      keep(word, right and "RIGHT" or "WRONG", right and 1 or 0, 1)
    end
  else
    cl.error(("%%exercise: no exercise %q; they are 1 to %d, %s; `submit` and "
      .. "`score` are words too"):format(word, course.questions(),
      table.concat(NAMES, ", ")))
  end
end

return M

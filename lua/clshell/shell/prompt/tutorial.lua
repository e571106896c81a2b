-- shell/prompt/tutorial.lua - ?tutorial: lessons in steps, from the list of
-- devices to a tiled kernel of the user's own and beyond, each typed and run
-- by the user. A step is done when its effect is seen, after any input; its
-- result stays on the screen until Enter goes on.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local files = require "clshell.base.file"
local resolve = require "clshell.shell.prompt.resolve"
local layout = require "clshell.shell.help.page_layout"
local report = require "clshell.results.tables"
local roofline = require "clshell.measure.roofline"
local session = require "clshell.shell.prompt.session"
local style = require "clshell.base.style"
local lessons = require "clshell.shell.prompt.tutorial_lessons"
local system = require "clshell.system"

local M = {}

local lesson = 1 -- the lesson's number
local at -- the step, from 1; nil: the tutorial is not running
local waits -- for Enter, after the step is done
local hinted -- the newest hint

-- The globals that come with the shell.
local own = {}
for name in next, _G do
  own[name] = true
end

-- Opens the file with the user's step; nil where there is no such file.
local function open(mode)
  local folder = files.folder "STATE"
  return folder and io.open(folder .. "/tutorial", mode) or nil
end

-- Keeps the place for the next session, where the folder can be written.
local function save(l, n)
  files.make_folder "STATE"
  local file <close> = open "w"
  if file then
    file:write(("%d %d\n"):format(l, n))
  end
end

-- The lesson and the step of the last session, else 1 and 1.
local function saved()
  local file <close> = open "r"
  local l, n = (file and file:read "a" or ""):match "^(%d+) (%d+)\n"
  l, n = math.tointeger(tonumber(l)), math.tointeger(tonumber(n))
  if lessons[l] and lessons[l][n] then
    return l, n
  end
  return 1, 1
end

local function class_of(value)
  return resolve.class{value = value}
end

-- The objects of a class among some results and the user's globals.
local function objects(class, results)
  local list, seen = {}, {}
  local function take(value)
    local ok, found = pcall(class_of, value)
    if ok and found == class and not seen[value] and not value.closed then
      seen[value], list[#list + 1] = true, value
    end
  end
  for i = 1, results.n or #results do
    take(results[i])
  end
  for name, value in next, _G do
    take(not own[name] and type(value) == "userdata" and value or nil)
  end
  return list
end

-- The session as an object that the steps read.
local function view(input, results)
  return {
    input = input, results = results, class = class_of,
    of = function(class)
      return objects(class, results)
    end,
    measured = roofline.recent,
  }
end

local function look()
  return layout.view{width = report.width(), color = style.color(1)}
end

local function say(words, ...)
  print(layout.prose(words:format(...), look(), "  "))
end

-- Prints a step: its subject, the input to type, and its number. Empty lines
-- are left out where they would not fit the window.
local function show()
  local step, how = lessons[lesson][at], look()
  local about = type(step.text) == "function" and step.text() or step.text
  local lines = {layout.heading(("Step %d of %d: %s"):format(at,
    #lessons[lesson], step.title), how), "", layout.prose(about, how, "  "),
    ""}
  local function add(line)
    lines[#lines + 1] = line
  end
  if step.again and step.need(view("", {})) then
    add "  In a new session, first:"
    add("    " .. step.again:gsub("\n", "\n    "))
    add ""
  end
  add "  Type:"
  for line in step.code:gmatch "[^\n]+" do
    add("    " .. style.paint(line, "cyan", how.color))
  end
  add ""
  add(style.paint("  (%tutorial again repeats this step; next, back and stop "
    .. "work too)", "dim", how.color))
  local page = table.concat(lines, "\n")
  local _, rows = system.winsize(1)
  local _, breaks = page:gsub("\n", "")
  print(rows and breaks + 2 >= rows and page:gsub("\n\n", "\n") or page)
end

local go_on -- to the next step

local function go(l, n)
  lesson, at, hinted, waits = l, n, nil, false
  save(l, n)
  session.after, session.blank = M.watch, go_on
  show()
end

local function stop(...)
  at, waits, session.after, session.blank = nil, false, nil, nil
  say(...)
end

-- Goes to the next step, or ends the lesson.
local function advance()
  if lessons[lesson][at + 1] then
    return go(lesson, at + 1)
  end
  local more = lesson % #lessons + 1
  save(more, 1)
  stop("That was the last step of lesson %d. %%tutorial %d is on %s; "
    .. "%%tutorial lists all lessons, %%save file.lua keeps what you typed.",
    lesson, more, lessons[more].title)
end

function go_on()
  if waits then
    advance()
  end
end

-- Whether there is a device; prints a note without one.
local function ready()
  local ok, err = pcall(cl.device)
  if not ok then
    say("The tutorial needs an OpenCL device. %s", err)
  end
  return ok
end

--- tutorial.start()
--- Begins the tutorial, or goes on where the last session stopped.
--- Example:
--- require("clshell.shell.prompt.tutorial").start() -- ?tutorial at the prompt
function M.start()
  if not ready() then
    return
  end
  local l, n = saved()
  if l == 1 and n == 1 then
    say("Lesson 1 of %d: %s. Type the lines that a step shows; you may try "
      .. "anything else between two steps.", #lessons, lessons[1].title)
  else
    say("Going on at step %d of lesson %d; %%tutorial lists the lessons.", n,
      l)
  end
  go(l, n)
end

-- Takes the session's report on each input: its text, whether it ran, and its
-- values.
function M.watch(input, ok, results)
  if at == nil or waits or not ok or not input or input:find("^%s*[%%?!]") then
    return
  end
  local step, seen = lessons[lesson][at], view(input, results)
  local fine, done = pcall(step.done, seen)
  if fine and done == true then
    waits = true
    local told, after = pcall(step.after or tostring, seen)
    if step.after and told and after then
      say("%s", after)
    end
    print(style.paint(("  Step %d is done. Enter goes on."):format(at),
      "green", style.color(1)))
  elseif fine and done and done ~= hinted then
    hinted = done
    say("%s", done)
  end
end

local words_of = {} -- the words that %tutorial takes

-- Lists the lessons, and marks the one under way.
words_of[""] = function()
  for i, each in ipairs(lessons) do
    print(("%s %d  %s"):format(i == lesson and at and "*" or " ", i,
      each.title))
  end
  session.say(("%%tutorial 1 to %d begins a lesson, %%tutorial alone lists "
    .. "them, ?tutorial goes on%s."):format(#lessons, at
    and (" (step %d)"):format(at) or ""))
end

function words_of.stop()
  stop "The tutorial has stopped; ?tutorial goes on with this step."
end

function words_of.again()
  go(lesson, at)
end

function words_of.back()
  go(lesson, math.max(1, at - 1))
end

words_of.next = advance

-- A number of a list, as text; another number raises.
local function number_of(text, list, what)
  local n = math.tointeger(tonumber(text))
  if n and not list[n] then
    cl.error(("%%tutorial: the %s must be 1 to %d; got %d"):format(what, #list,
      n))
  end
  return n
end

-- %tutorial: lists the lessons; a number begins one; "again", "next", "back"
-- and "step N" move in it, "stop" ends the tutorial.
function M.command(words)
  words = (words or ""):match("^%s*(.-)%s*$")
  local n = number_of(words:match "^step%s+(%d+)$", lessons[lesson], "step")
  local l = number_of(words, lessons, "lesson")
  if l or n then
    if ready() then
      go(l or lesson, n or 1)
    end
  elseif not words_of[words] then
    cl.error(("%%tutorial: the word must be next, back, again, stop, step N "
      .. "or the number of a lesson; got '%s'"):format(words))
  elseif at == nil and words ~= "" and words ~= "stop" then
    M.start()
  else
    words_of[words]()
  end
end

return M

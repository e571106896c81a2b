-- prompt/tutorial.lua - ?tutorial: ten steps from the list of devices to a
-- tiled kernel of the user's own, each typed and run by the user. A step is
-- done when its effect is seen, whatever was typed.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local base_folder = require "clshell.base.folder"
local lexer = require "clshell.prompt.lexer"
local names = require "clshell.help.names"
local layout = require "clshell.help.layout"
local report = require "clshell.report"
local roofline = require "clshell.measure.roofline"
local session = require "clshell.prompt.session"
local style = require "clshell.base.style"
local steps = require "clshell.prompt.tutorial_steps"

local M = {}

local at -- the step, from 1; nil: the tutorial is not running
local hinted -- the hint that was given last

-- The globals that come with the shell are not the user's.
local own = {}
for name in next, _G do
  own[name] = true
end

-- Opens the file that the step is kept in; nil where there is none.
local function open(mode)
  local folder = base_folder.of "STATE"
  if mode == "w" then
    base_folder.make "STATE"
  end
  return folder and io.open(folder .. "/tutorial", mode) or nil
end

-- Keeps the step for the next session, where the folder can be written.
local function save(n)
  local file <close> = open "w"
  if file then
    file:write(("%d\n"):format(n))
  end
end

-- The step of the last session, else 1.
local function saved()
  local file <close> = open "r"
  local n = file and math.tointeger(tonumber(file:read("l") or ""))
  return n and steps[n] and n or 1
end

-- The objects of a class among some results and the user's globals.
local function objects(class, results)
  local list, seen = {}, {}
  local function take(value)
    local ok, found = pcall(names.class, value)
    if ok and found == class and not seen[value] and not value.closed then
      seen[value], list[#list + 1] = true, value
    end
  end
  for i = 1, results.n or #results do
    take(results[i])
  end
  for name, value in next, _G do
    if not own[name] and type(value) == "userdata" then
      take(value)
    end
  end
  return list
end

-- Whether an input names a variable that holds an object of a class.
local function mentions(input, class)
  for _, token in ipairs(lexer.tokens(input)) do
    local value = token.kind == "name"
      and rawget(_G, input:sub(token.first, token.last))
    if value and type(value) == "userdata" and names.class(value) == class
    then
      return true
    end
  end
  return false
end

-- The session as the steps see it.
local function view(input, results)
  return {
    input = input, results = results, class = names.class,
    of = function(class)
      return objects(class, results)
    end,
    mentions = function(class)
      return mentions(input, class)
    end,
    measured = roofline.recent,
  }
end

local function look()
  return layout.view{width = report.width(), color = style.color(1)}
end

local function say(words)
  print(layout.prose(words, look(), "  "))
end

-- Prints a step: its subject, the input to type, and its number.
local function show()
  local step, how = steps[at], look()
  local lines = {"", layout.heading(("Step %d of %d: %s"):format(at, #steps,
    step.title), how), "", layout.prose(step.text, how, "  "), ""}
  if step.again and step.need(view("", {})) then
    lines[#lines + 1] = "  In a new session, first:"
    lines[#lines + 1] = "    " .. step.again:gsub("\n", "\n    ")
    lines[#lines + 1] = ""
  end
  lines[#lines + 1] = "  Type:"
  for line in (step.code .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = "    " .. style.paint(line, "cyan", how.color)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = style.paint("  (%tutorial shows this again, %tutorial "
    .. "next or back moves, stop ends)", "dim", how.color)
  print(table.concat(lines, "\n"))
end

local function go(n)
  at, hinted = n, nil
  save(n)
  session.after = M.watch
  show()
end

local function stop(words)
  at = nil
  session.after = nil
  say(words)
end

-- Goes to the next step, or ends.
local function advance()
  if at < #steps then
    go(at + 1)
    return
  end
  save(1)
  stop("That was the last step: a tiled kernel of your own, checked and "
    .. "measured. What next: other tile sizes and registers "
    .. "(?gemm.register), compare(a, b) for two kernels, %save file.lua to "
    .. "keep what you typed.")
end

--- tutorial.start()
--- Begins the tutorial, or goes on where the last session stopped.
function M.start()
  local ok, err = pcall(cl.device)
  if not ok then
    say("The tutorial needs an OpenCL device. " .. tostring(err))
    return
  end
  local n = saved()
  say(n == 1 and ("Ten steps from the list of devices to a tiled kernel of "
    .. "your own. You type, the tutorial watches; anything else that you "
    .. "want to try is welcome in between.")
    or ("Going on at step %d; %%tutorial 1 begins anew."):format(n))
  go(n)
end

-- The session's report after each input: its text, whether it ran, and its
-- values.
function M.watch(input, ok, results)
  if at == nil or not ok or input:find("^%s*[%%?!]") then
    return
  end
  local fine, done, hint = pcall(steps[at].done, view(input, results))
  if fine and done then
    print(style.paint(("  Step %d is done."):format(at), "green",
      style.color(1)))
    advance()
  elseif fine and hint and hint ~= hinted then
    hinted = hint
    say(hint)
  end
end

-- %tutorial: repeats the step; "next", "back" or a number goes to another,
-- "stop" ends the tutorial.
function M.command(words)
  words = (words or ""):match("^%s*(.-)%s*$")
  local n = math.tointeger(tonumber(words))
  if n then
    if not steps[n] then
      cl.error(("%%tutorial: the step must be 1 to %d; got %d"):format(#steps,
        n))
    end
    go(n)
  elseif words == "stop" then
    stop "The tutorial has stopped; ?tutorial goes on with this step."
  elseif words ~= "" and words ~= "next" and words ~= "back" then
    cl.error(("%%tutorial: the word must be next, back, stop or the number of "
      .. "a step; got '%s'"):format(words))
  elseif at == nil then
    M.start()
  elseif words == "next" then
    advance()
  elseif words == "back" then
    go(math.max(1, at - 1))
  else
    show()
  end
end

return M

-- shell/prompt/restore.lua - brings back a session that ended without its
-- exit: the question after a crash, %restart and %restore. src/shell/restart.c
-- begins the program anew, shell/prompt/journal.lua has the inputs.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local count = require "clshell.base.text".count
local interrupt = require "clshell.base.interrupt"
local journal = require "clshell.shell.prompt.journal"
local restart = require "clshell.restart"
local session = require "clshell.shell.prompt.session"

local M = {}

local wanted -- the path of the journal to run before the first prompt

-- The first line of an input, for a list.
local function shown(text)
  local line, more = text:match "^([^\n]*)(\n?)"
  return require "clshell.shell.prompt.printable".clean(line)
    .. (more ~= "" and " ..." or "")
end

-- Runs the inputs of a journal, until a Ctrl-C.
local function run(path)
  local done, printed, lost = 0, 0, {}
  for _, input in ipairs(journal.inputs(path)) do
    local fine, err = nil, input.why
    if input.code then
      restart.input(input.number)
      fine, err = session.again(input.code)
      if not fine and interrupt.is(err) then
        error(err, 0)
      end
      err = fine or "failed now: " .. tostring(err):match "^[^\n]*"
        :gsub("^input:[%d:]+ ", "")
    end
    done = done + (fine and 1 or 0)
    printed = printed + (input.why == journal.PRINTED and 1 or 0)
    if not fine and err ~= journal.PRINTED and err ~= journal.FAILED then
      lost[#lost + 1] = ("  input %d: %s\n    %s"):format(input.number,
        shown(input.text), err)
    end
  end
  restart.input(0)
  session.say(("restored %s%s"):format(count(done, "input"), printed == 0
    and "" or ("; left out %s that only measured or printed"):format(printed)))
  if lost[1] then
    session.say("not restored:\n" .. table.concat(lost, "\n"))
  end
end

-- Whether the user answers yes, or Enter.
local function agreed(question)
  local terminal <close> = io.open "/dev/tty" -- its end ends no later input
  while terminal do
    io.stderr:write(question, " [Y/n] ")
    restart.await(terminal)
    local line = terminal:read "l"
    if not line then
      io.stderr:write "\n" -- Ctrl-D
    end
    local answer = (line or "n"):lower():match "^%s*(.-)%s*$"
    if answer == "" or ("yes"):find(answer, 1, true) == 1 then
      return true
    elseif ("no"):find(answer, 1, true) == 1 then
      return false
    end
  end
end

-- Leaves out the input that crashed a restore, from now on, and says so.
local function crashed(path, number)
  local text = journal.leave_out(path, number)
  session.say(text and ("input %d crashed again, so this session is empty: %s"
    .. "\n%%restore runs the other inputs"):format(number, shown(text))
    or "the program crashed again before the first input; this session is "
    .. "empty, %restore runs the inputs")
end

--- restore.ask(has_code) -> boolean
--- After a restart, before anything runs: whether the user wants the session
--- back, with the code of the command line, if it `has_code`. The question
--- comes after a crash, not after %restart.
function M.ask(has_code)
  local how, path, number = restart.began()
  journal.offered(path)
  if how == "restore" then
    crashed(path, number)
    return false
  end
  if not has_code and not journal.runs(path) then
    session.say "no input is there to restore: the session is empty"
    return false
  elseif how == "prompt" and not agreed "restore the session?" then
    session.say "the session is empty; %restore runs the inputs of before"
    return false
  end
  wanted = path
  return true
end

--- restore.resume()
--- Runs the inputs that the user wants back, before the first prompt.
function M.resume()
  if wanted and journal.runs(wanted) then
    run(wanted)
  end
  wanted = nil
end

-- Documented as commands.restore.
function M.restore()
  local path = journal.newest()
  if not path then
    cl.error "no session to restore: the earlier ones ended by exit or Ctrl-D"
  end
  session.say("running " .. path)
  run(path)
end

-- Documented as commands.restart.
function M.restart()
  journal.update(true)
  local _, message = restart.run()
  cl.error("%restart: " .. message)
end

return M

-- shell/prompt/inputs.lua - %history and %paste: the inputs of the session so
-- far, and an input of many lines
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local session = require "clshell.shell.prompt.session"

local M = {}

-- Documented as commands.history.
function M.history(n, words)
  local lines = {}
  for i = #session.inputs, 1, -1 do
    local input = session.inputs[i]
    if input ~= session.input and (not words
        or input.text:find(words, 1, true)) then
      table.insert(lines, 1, ("%4d  %s"):format(i,
        require "clshell.shell.prompt.printable".clean(input.text)
        :gsub("\n", "\n      ")))
      if #lines == n then
        break
      end
    end
  end
  if #lines == 0 then
    session.say(words and ("no input has '%s'"):format(words)
      or "no inputs so far")
    return
  end
  session.page(table.concat(lines, "\n"))
end

-- Documented as commands.paste.
function M.paste()
  if cl.isatty(0) and not session.quiet then
    session.say "Paste or type lines; -- on a line of its own, or Ctrl-D, \z
      ends them."
  end
  -- the end of a terminal's input must not end later inputs
  local terminal <close> = cl.isatty(0) and io.open "/dev/tty" or nil
  local lines = {}
  for line in (terminal or io.stdin):lines() do
    if line:find "^%s*%-%-%s*$" then
      break
    end
    lines[#lines + 1] = line
  end
  local command = session.input
  local paste = require "clshell.shell.prompt.paste"
  local texts = paste.split(paste.clean(table.concat(lines, "\n")),
    session.complete)
  local run = session.prepare(texts[1])
  if command then
    command.ok = true -- the text is an input of its own
  end
  for i = 2, #texts do -- a transcript has several
    if run then
      session.shown(run())
    end
    run = session.prepare(texts[i])
  end
  if run then
    return run()
  end
end

return M

-- shell/prompt/pager.lua - prints texts that may be longer than the window
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local quote = require "clshell.base.text".quote
local session = require "clshell.shell.prompt.session"
local system = require "clshell.system"

local M = {}

-- Sends text through the user's pager; returns false without a pager. The
-- pager reads a file: a pipe left half read would end the shell.
local function page(text, pager)
  local fine, path, temporary = interrupt.pcall(file.temporary)
  if not fine then
    return false
  end
  local _ <close> = temporary
  file.write(path, text .. "\n", "the text")
  io.stdout:flush()
  return (os.execute(("LESS=${LESS-FRSX} %s <%s"):format(pager,
    quote(path))))
end

--- pager.print(text)
--- Prints a text and a newline. On a terminal, a text longer than the window
--- goes through the pager: `%set pager`, else $PAGER, else less.
function M.print(text)
  local pager = session.settings.pager or "auto"
  if pager == "auto" then
    pager = os.getenv "PAGER" or ""
    pager = pager ~= "" and pager or "less"
  end
  local columns, rows = system.winsize(1)
  if columns and pager ~= "off" and cl.isatty(0) and cl.isatty(1) then
    local _, breaks = text:gsub("\n", "")
    local term = os.getenv "TERM"
    if breaks + 2 > rows and term and term ~= "dumb"
        and page(text, pager) then
      return
    end
  end
  io.write(text, "\n")
end

return M

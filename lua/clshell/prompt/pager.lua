-- prompt/pager.lua - prints texts that may be longer than the window
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local system = require "clshell.system"

local M = {}

-- Sends text through the user's pager; false where there is none. The pager
-- reads a file: a pipe left half read would end the shell.
local function page(text)
  local pager = os.getenv "PAGER"
  pager = pager and pager ~= "" and pager or "less"
  local path = os.tmpname()
  local _ <close> = setmetatable({}, {__close = function()
    os.remove(path)
  end})
  local f = io.open(path, "w")
  if not f then
    return false
  end
  f:write(text, "\n")
  f:close()
  io.stdout:flush()
  return (os.execute(("LESS=${LESS-FRSX} %s <%s"):format(pager, path)))
end

--- pager.print(text)
--- Prints a text and a newline. On a terminal, a text longer than the window
--- goes through the pager ($PAGER, or less).
function M.print(text)
  local columns, rows = system.winsize(1)
  if columns and cl.isatty(0) and cl.isatty(1) then
    local _, breaks = text:gsub("\n", "")
    local term = os.getenv "TERM"
    if breaks + 2 > rows and term and term ~= "dumb" and page(text) then
      return
    end
  end
  io.write(text, "\n")
end

return M

-- style.lua - what a terminal may be sent: colour, and characters beyond
-- ASCII
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- Foreground colours and weights only: no background suits every theme.
local CODES = {
  bold = 1, dim = 2, red = 31, green = 32, yellow = 33, blue = 34,
  magenta = 35, cyan = 36,
}

local mode = cl.commandline and cl.commandline.color or "auto"

local function given(name)
  local value = os.getenv(name)
  return value ~= nil and value ~= ""
end

local function forced(name)
  return given(name) and os.getenv(name) ~= "0"
end

--- style.use(when)
--- What --color said: "always", "never", or "auto", which asks the
--- environment (NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE) and the terminal.
function M.use(when)
  if when ~= "always" and when ~= "never" and when ~= "auto" then
    cl.error(("--color is always, never or auto, not '%s'"):format(
      tostring(when)))
  end
  mode = when
end

--- style.color([fd]) -> boolean
--- Whether what goes to a file descriptor (1, standard output) is coloured.
function M.color(fd)
  if mode ~= "auto" then
    return mode == "always"
  elseif given("NO_COLOR") then
    return false
  elseif forced("FORCE_COLOR") or forced("CLICOLOR_FORCE") then
    return true
  end
  return cl.isatty(fd or 1) and given("TERM") and os.getenv("TERM") ~= "dumb"
end

--- style.utf8() -> boolean
--- Whether the locale's characters are UTF-8.
function M.utf8()
  for _, name in ipairs{"LC_ALL", "LC_CTYPE", "LANG"} do
    if given(name) then
      return os.getenv(name):lower():find("utf%-?8") ~= nil
    end
  end
  return false
end

--- style.glyphs() -> boolean
--- Whether braille and block characters can be shown: a UTF-8 locale and no
--- terminal that is known to lack them.
function M.glyphs()
  local term = os.getenv("TERM")
  return M.utf8() and term ~= "dumb" and term ~= "linux"
end

--- style.paint(text, name, on) -> string
--- Text in a colour or weight ("bold", "dim", "red" ...) where `on` is true.
function M.paint(text, name, on)
  if not on or text == "" then
    return text
  end
  return ("\27[%dm%s\27[0m"):format(CODES[name], text)
end

return M

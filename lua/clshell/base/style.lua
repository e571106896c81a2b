-- base/style.lua - the colours and characters that a terminal can show
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- Foreground colours and weights only: no background suits every theme.
local CODES = {
  bold = 1, dim = 2, red = 31, green = 32, yellow = 33, blue = 34,
  magenta = 35, cyan = 36,
}

local mode = cl.commandline and cl.commandline.color or "auto"

-- A variable of the environment; nil where it is empty.
local function variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

local function forced(name)
  return (variable(name) or "0") ~= "0"
end

--- style.use(when)
--- Sets the value of --color: "always", "never", or "auto", which asks the
--- environment (NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE) and the terminal.
--- Example:
--- style.use "never" -- like --color never
--- style.use "auto"
function M.use(when)
  if when ~= "always" and when ~= "never" and when ~= "auto" then
    cl.error(("--color must be always, never or auto; got '%s'"):format(
      tostring(when)))
  end
  mode = when
end

--- style.color([fd]) -> boolean
--- Whether the output to a file descriptor (1, standard output) is coloured.
--- Example: print(style.color(1) and "coloured" or "plain")
function M.color(fd)
  if mode ~= "auto" then
    return mode == "always"
  elseif variable "NO_COLOR" then
    return false
  elseif forced("FORCE_COLOR") or forced("CLICOLOR_FORCE") then
    return true
  end
  return cl.isatty(fd or 1) and (variable "TERM" or "dumb") ~= "dumb"
end

--- style.utf8() -> boolean
--- Whether the locale's characters are UTF-8.
--- Example: print(style.utf8())
function M.utf8()
  local locale = variable "LC_ALL" or variable "LC_CTYPE"
    or variable "LANG" or "C"
  return locale:lower():find("utf%-?8") ~= nil
end

--- style.glyphs() -> boolean
--- Whether the terminal shows braille and block characters: the locale is
--- UTF-8, and the terminal is not known to lack them.
--- Example: print(style.glyphs())
function M.glyphs()
  local term = os.getenv("TERM")
  return M.utf8() and term ~= "dumb" and term ~= "linux"
end

--- style.paint(text, name, on) -> string
--- Text in a colour or weight ("bold", "dim", "red" ...) where `on` is true.
--- Example: print(style.paint("fastest", "bold", style.color(1)))
function M.paint(text, name, on)
  if not on or text == "" then
    return text
  end
  return ("\27[%dm%s\27[0m"):format(CODES[name], text)
end

return M

-- edit.lua - what the editor of the prompt (src/lineedit.h) asks. It asks
-- while a line is typed: nothing here runs what the user wrote.
-- SPDX-License-Identifier: MIT

local require, pcall, ipairs = require, pcall, ipairs

local M = {}

--- edit.history
--- false: none is read or written (option -n).
M.history = not (require "cl".commandline or {}).noinit

-- Loaded when the first prompt is shown and no key has come yet, the first
-- that are needed first: neither the prompt nor a key waits for them.
local MODULES = {
  "clshell.base.style", "clshell.prompt.highlight", "clshell.prompt.complete",
  "clshell.prompt.paste", "clshell.help",
}

function M.idle()
  for _, name in ipairs(MODULES) do
    pcall(require, name)
  end
end

function M.complete(text)
  return require "clshell.prompt".complete(text)
end

function M.candidates(text, cursor)
  return require "clshell.prompt.complete".at(text, cursor)
end

function M.mask(text)
  if require "clshell.base.style".color(1) then
    return require "clshell.prompt.highlight".mask(text)
  end
end

function M.help(text, cursor)
  return require "clshell.help".at(text, cursor)
end

function M.clean(text)
  return require "clshell.prompt.paste".clean(text)
end

return M

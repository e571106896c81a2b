-- prompt/edit.lua - the answers to the editor of the prompt (src/edit/edit.h)
-- The editor asks while a line is typed: guard.lua keeps the session's code
-- from running meanwhile.
-- SPDX-License-Identifier: MIT

local guard = require "clshell.prompt.guard"

local M = {}

--- edit.history
--- false: the editor neither reads nor writes the history (option -n).
M.history = not (require "cl".commandline or {}).noinit

-- "emacs" or "vi", where the user has set the keys of the editor.
function M.keymap()
  local name = require "clshell.prompt.session".settings.keymap
  return name ~= "inputrc" and name or nil
end

-- Loaded after the first prompt is shown and before a key comes, in the order
-- of their need: neither the prompt nor a key waits for them.
local MODULES = {
  "clshell.base.style", "clshell.prompt.highlight", "clshell.prompt.complete",
  "clshell.prompt.paste", "clshell.help",
}

function M.idle()
  for _, name in ipairs(MODULES) do
    pcall(require, name)
  end
end

-- Answers with a function of a module.
local function answer(module, name)
  return function(...)
    return guard.run(require("clshell." .. module)[name], ...)
  end
end

M.complete = answer("prompt", "complete")
M.candidates = answer("prompt.complete", "at")
M.help = answer("help", "at")
M.clean = answer("prompt.paste", "clean")

local mask = answer("prompt.highlight", "mask")

function M.mask(text)
  return require "clshell.base.style".color(1) and mask(text) or nil
end

return M

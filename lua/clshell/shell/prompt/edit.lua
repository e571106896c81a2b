-- shell/prompt/edit.lua - the answers to the editor of the prompt
-- (src/edit/edit.h) The editor asks while a line is typed: safe_call.lua keeps
-- the session's code from running meanwhile.
-- SPDX-License-Identifier: MIT

local safe_call = require "clshell.shell.prompt.safe_call"

local M = {}

local PROMPT = "\ncl> " -- before each input but the first

-- "emacs" or "vi", as the user has set the keys of the editor; else nil.
function M.keymap()
  local name = require "clshell.shell.prompt.session".settings.keymap
  return name ~= "inputrc" and name or nil
end

-- The modules to load between the first prompt and a key, in the order of
-- their need: neither the prompt nor a key waits for them.
local MODULES = {
  "clshell.base.style", "clshell.shell.prompt.highlight",
  "clshell.shell.prompt.complete",
  "clshell.shell.prompt.paste", "clshell.help",
}

function M.idle()
  for _, name in ipairs(MODULES) do
    pcall(require, name)
  end
  pcall(M.entries)
end

-- Answers with a function of a module.
local function answer(module, name)
  return function(...)
    return safe_call.run(require("clshell.shell." .. module)[name], ...)
  end
end

local complete = answer("prompt", "complete")
local candidates = answer("prompt.complete", "at")
local help = answer("help", "at")
local mask = answer("prompt.highlight", "mask")

local indent = answer("prompt.indent", "at")

M.entries = answer("prompt.line_history", "entries")
M.remember = answer("prompt.line_history", "add")
M.clean = answer("prompt.paste", "clean")
M.argument = answer("prompt.place", "last_argument")

-- The inputs of a text: several where a transcript was pasted.
local function split(text)
  if not string.find(text, PROMPT, 1, true) then
    return {text}
  end
  return safe_call.run(require "clshell.shell.prompt.paste".split, text,
    complete)
end

-- The input around the cursor, and the bytes before it; nil in a prompt.
local function around(text, cursor)
  local at = 0
  for _, input in ipairs(split(text)) do
    if cursor <= at + #input then
      return cursor >= at and input or nil, at
    end
    at = at + #input + #PROMPT
  end
end

--- edit.complete(text) -> whether Enter submits it, and the bytes of its first
--- input, if it has several
function M.complete(text)
  local inputs = split(text)
  return complete(inputs[#inputs]), inputs[2] and #inputs[1]
end

function M.candidates(text, cursor)
  local input, at = around(text, cursor)
  if not input then
    return nil
  end
  local found = table.pack(candidates(input, cursor - at))
  found[1] = found[1] and found[1] + at
  return table.unpack(found, 1, 5)
end

function M.help(text, cursor)
  local input, at = around(text, cursor)
  return help(input or "", input and cursor - at or 0)
end

function M.indent(text, cursor)
  local input, at = around(text, cursor)
  if input then
    return indent(input, cursor - at)
  end
end

--- edit.suggests() -> whether the editor suggests entries of the history: they
--- are grey, so not without colours
function M.suggests()
  return require "clshell.shell.prompt".settings.suggest == "on"
    and require "clshell.base.style".color(1)
end

function M.mask(text)
  if not require "clshell.base.style".color(1) then
    return nil
  end
  return require "clshell.base.text".values(split(text), " >>>>", mask)
end

return M

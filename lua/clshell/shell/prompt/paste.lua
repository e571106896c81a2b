-- shell/prompt/paste.lua - the inputs of a pasted transcript, without prompts
-- and output; and %paste
-- SPDX-License-Identifier: MIT

local M = {}

local PROMPT = "\ncl> " -- before each input but the first

-- The rest of a line after its prompt, the prompt, "cl" or "..", and the
-- blanks before the prompt.
local function prompted(line)
  local indent, prompt, rest = line:match "^(%s*)([%l.][%l.])> ?(.*)$"
  if prompt == "cl" or prompt == ".." then
    return rest, prompt, indent
  end
end

-- The lines of a session of Lua's own. Its prompts do not tell input from
-- output: every line must have a prompt.
local function lua_session(list)
  local kept, seen = {}, false
  for i, line in ipairs(list) do
    local rest = line:match "^>>? (.*)$" or line:match "^>>?$" and ""
    if not rest and line:find "%S" then
      return nil
    end
    seen = seen or rest
    kept[i] = rest or ""
  end
  return seen and kept
end

-- The input in front of the first prompt, or nil: a selection may have begun
-- after its own prompt. `first` is the first line, `last` the line before the
-- prompt; other lines are output.
local function in_front(first, last, prompt)
  local head = prompt == ".." and last or first
  return head and (prompt == ".." or load(head, "=input", "t"))
    and head:match "^%s*(.*)$" or nil
end

-- The inputs of a transcript, whose prompts are in one column; nil for a text
-- without prompts.
local function inputs(list)
  local found, margin, first, last = {}, nil, nil, nil
  for _, line in ipairs(list) do
    local rest, prompt, indent = prompted(line)
    local is_input = prompt and indent == (margin or indent)
    if is_input and not margin then
      margin = indent
      found[1] = in_front(first, last, prompt)
    end
    if is_input and (prompt == "cl" or #found == 0) then
      found[#found + 1] = rest
    elseif is_input then
      found[#found] = found[#found] .. "\n" .. rest
    elseif not margin and line:find "%S" then
      first, last = first or line, line
    end
  end
  return margin and found
end

--- paste.clean(text) -> string
--- A pasted text as it was typed: of a transcript of this prompt ("cl> " and
--- "..> ", indented or not) the inputs, without output, the later inputs after
--- a prompt; of a transcript of Lua's own prompt (every line begins with "> "
--- or ">> ") the lines; any other text as it is.
function M.clean(text)
  local list = require "clshell.base.text".lines(text)
  local found = (prompted(text) or not load(text, "=input", "t"))
    and inputs(list)
  if not found then
    local plain = lua_session(list)
    return plain and table.concat(plain, "\n") or text
  end
  local kept = {}
  for _, input in ipairs(found) do
    if input:find "%S" then
      kept[#kept + 1] = input
    end
  end
  return table.concat(kept, PROMPT)
end

--- paste.split(text, complete) -> list of strings
--- The inputs of a text in which the later inputs have prompts. An input for
--- which not complete(input) takes all text that follows: its string or block
--- may hold the prompt.
function M.split(text, complete)
  local list, at = {}, 1
  while true do
    local first, last = text:find(PROMPT, at, true)
    local input = first and text:sub(at, first - 1)
    if not input or not complete(input .. "\n") then
      list[#list + 1] = text:sub(at)
      return list
    end
    list[#list + 1] = input
    at = last + 1
  end
end

-- Documented as commands.paste.
function M.paste()
  local cl = require "cl"
  local session = require "clshell.shell.prompt.session"
  if cl.isatty(0) and not session.quiet then
    session.say "Paste or type lines; -- on a line of its own, or Ctrl-D, \z
      ends them."
  end
  -- the end of a terminal's input must not end later inputs
  local terminal <close> = cl.isatty(0) and io.open "/dev/tty" or nil
  local typed = {}
  for line in (terminal or io.stdin):lines() do
    if line:find "^%s*%-%-%s*$" then
      break
    end
    typed[#typed + 1] = line
  end
  local command = session.input
  local run
  for i, text in ipairs(M.split(M.clean(table.concat(typed, "\n")),
      session.complete)) do -- a transcript has several
    if run then
      session.shown(run())
    end
    run = session.prepare(text)
    if command and i == 1 then
      command.ok = true -- the text is an input of its own
    end
  end
  if run then
    return run()
  end
end

return M

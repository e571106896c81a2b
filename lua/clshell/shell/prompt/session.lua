-- shell/prompt/session.lua - the state of a session: its inputs, settings and
-- commands; how a text becomes a chunk; notes to the user, and the pager
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local system = require "clshell.system"

-- Functions, not methods of strings, which a session may change.
local find, gsub, match, sub = string.find, string.gsub, string.match,
  string.sub

local M = {}

--- session.inputs
--- The submitted inputs: a list of {text=, ok=, kind=, code=}. kind is
--- "expression", "statement", "kernels" or "command", ok whether it ran to its
--- end.
M.inputs = {}

--- session.settings
--- The settings, by name; %set changes them.
M.settings = {}

M.settinglist = {} -- the definitions, by name; see shell/prompt/settings.lua

--- session.commands
--- The %commands by name, once shell/prompt/commands.lua is loaded: {usage=,
--- help=}.
M.commands = {}

--- session.after(text, ok, results)
--- An optional function, called when an input's output is complete: its text,
--- whether it ran to its end, and its values or error, as from table.pack.
M.after = nil

--- session.blank()
--- An optional function that Enter alone calls.
M.blank = nil

-- The text without a `;` at its end, and whether there was one.
local function silenced(text)
  if not find(text, ";", 1, true) then
    return text, false
  end
  local tokens = require "clshell.base.lexer".tokens(text)
  local i = #tokens
  while i > 0 and tokens[i].kind == "comment" do
    i = i - 1
  end
  local last = tokens[i]
  if not last or last.text ~= ";" then
    return text, false
  end
  return sub(text, 1, last.first - 1) .. " " .. sub(text, last.last + 1), true
end

-- Makes an expression a chunk. The variable to be closed prevents a tail call,
-- so that the input is the caller in an error.
local RETURN = "local _tail_ <close> = nil return "

-- For statements with an expression at their end, as in `x = 1; x`: the code
-- that returns its values, and the expression; false: it needs further lines;
-- nil for other texts. A line that could continue the statement above it is no
-- such expression.
local function returning(text)
  local lexer = require "clshell.base.lexer"
  local list, depth = lexer.code(text), 0
  for i = #list, 2, -1 do
    local token, before = list[i], list[i - 1]
    depth = depth - lexer.step(token)
    local begins = before.text == ";" or (token.kind == "name"
      or token.kind == "number" or token.kind == "keyword"
      or token.text == "#")
      and find(sub(text, before.last + 1, token.first - 1), "\n", 1, true)
    if depth == 0 and begins then
      local head, tail = sub(text, 1, token.first - 1), sub(text, token.first)
      local run, message = load("return " .. tail)
      if (run or find(message, "<eof>$")) and load(head) then
        return run ~= nil and head .. "return " .. tail, tail
      end
    end
  end
end

--- session.parse(text, chunk) -> input, or nil, message, more
--- Compiles an input, as an expression if possible, without running it:
--- {kind=, code=, silent=, run=, tail=}. `tail`: the expression at the end of
--- statements. `more`: further lines could mend the text.
function M.parse(text, chunk)
  text = gsub(text, "^%s*#![^\n]*", "") -- of a pasted script
  local body, silent = silenced(text)
  local equals = match(body, "^%s*=()[^=]")
  body = equals and sub(body, equals) or body
  local run, message = load(RETURN .. body, chunk, "t")
  if run then
    return {kind = "expression", code = body, silent = silent, run = run}
  end
  local more = find(message, "<eof>$") ~= nil
  if not equals then
    run, message = load(text, chunk, "t")
    local code, tail
    local block = find(run and body or message, run and "%f[%w]end%s*$"
      or "'[%a})%]]+' expected .*near <eof>")
    if not block and find(body, "[;\n]") then
      code, tail = returning(body)
    end
    if code then
      return {kind = "statement", code = code, silent = silent, tail = tail,
        run = load(code, chunk, "t")}
    elseif run then
      return {kind = "statement", code = text, run = run}
    end
    more = more or code == false or find(message, "<eof>$") ~= nil
    more = more and not find(message, "^[^\n]*function arguments expected")
      and not (find(message, "<name> expected", 1, true)
      and find(text, "[%w_)%]]%s*:%s*$")) -- as Python's blocks begin
  end
  return nil, message, more
end

--- session.remark(text)
--- Writes words to standard error, as wide as the window.
function M.remark(text)
  local base_text = require "clshell.base.text"
  io.stdout:flush()
  io.stderr:write(table.concat(base_text.wrap(base_text.message(text),
    (system.winsize(2) or 80) - 1), "\n"), "\n")
end

--- session.say(text)
--- Prints lines to standard output; lines wider than the window are broken at
--- spaces.
function M.say(text)
  local width = system.winsize(1)
  print(width and require "clshell.base.text".fold(text, width) or text)
end

-- Sends text through the user's pager; returns false without a pager. The
-- pager reads a file: a pipe left half read would end the shell.
local function through(pager, text)
  local file = require "clshell.base.file"
  local fine, path, temporary =
    require "clshell.base.interrupt".pcall(file.temporary)
  if not fine then
    return false
  end
  local _ <close> = temporary
  file.write(path, text .. "\n", "the text")
  io.stdout:flush()
  return (os.execute(("LESS=${LESS-'FRSXPs-- Space goes on, q leaves --$'} "
    .. "%s <%s"):format(pager,
    require "clshell.base.text".quote(path))))
end

--- session.page(text)
--- Prints a text and a newline. On a terminal, a text longer than the window
--- goes through the pager: `%set pager`, else $PAGER, else less.
function M.page(text)
  local pager, term = M.settings.pager or "auto", os.getenv "TERM" or "dumb"
  if pager == "auto" then
    pager = os.getenv "PAGER" or ""
    pager = pager ~= "" and pager or "less"
  end
  local columns, rows = system.winsize(1)
  local _, breaks = gsub(text, "\n", "")
  if not (columns and breaks + 2 > rows and pager ~= "off" and term ~= "dumb"
      and cl.isatty(0) and cl.isatty(1) and through(pager, text)) then
    io.write(text, "\n")
  end
end

function M.note(text)
  M.remark("note: " .. text)
end

--- session.compile(text) -> function
--- For commands: Lua code that belongs to the input under way, compiled as
--- an expression if it can be one. A mistake in it raises.
function M.compile(text)
  local compiled, message = M.parse(text, "=input:" .. #M.inputs)
  if not compiled then
    error(message, 0)
  end
  if M.input and compiled.silent then
    M.input.silent = true
  end
  return compiled.run
end

return M

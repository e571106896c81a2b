-- init.lua - the session behind the prompt: what an input means, what is
-- printed for it, and what is kept of it. src/repl.c reads and runs.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local excerpt = require "clshell.diagnose.excerpt"

-- Held here: a session may change all of these.
local concat, pack = table.concat, table.pack
local find, gsub = string.find, string.gsub
local match, sub = string.match, string.sub
local load, pcall, rawget, require = load, pcall, rawget, require
local select, type = select, type
local stderr, stdout = io.stderr, io.stdout

local M = {}

--- session.inputs
--- What has been submitted: a list of {text=, ok=, kind=, code=}. kind is
--- "expression", "statement" or "command", ok whether it ran to its end.
M.inputs = {}

--- session.settings
--- What %set changes, by name.
M.settings = {}

M.settinglist = {} -- what settings there are; see prompt/settings.lua

--- session.commands
--- The %commands by name, once prompt/commands.lua is loaded: {usage=, help=}.
M.commands = {}

--- session.after(text, ok, results)
--- Called, where it is set, when all has been printed for an input: whether
--- it ran to its end, and its values or the error, as by table.pack.
M.after = nil

local asked = false -- what to do about a kernel that runs on
local noted = false -- that locals are kept

-- The text without a `;` at its end, and whether there was one.
local function silenced(text)
  if not find(text, ";", 1, true) then
    return text, false
  end
  local tokens = require "clshell.prompt.lexer".tokens(text)
  local i = #tokens
  while i > 0 and tokens[i].kind == "comment" do
    i = i - 1
  end
  local last = tokens[i]
  if not last or last.kind ~= "op" or sub(text, last.first, last.last) ~= ";"
  then
    return text, false
  end
  return sub(text, 1, last.first - 1) .. " " .. sub(text, last.last + 1), true
end

-- What makes an expression a chunk. A variable to be closed keeps a call from
-- being a tail call, so that an error in it has the input as its caller.
local RETURN = "local _tail_ <close> = nil return "

-- Compiles an input, as an expression if it can be one, without running it:
-- {kind=, code=, silent=, run=}; or nil, a message, and whether more lines
-- could mend it.
local function compile(text, chunk)
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
    if run then
      return {kind = "statement", code = text, run = run}
    end
    more = more or find(message, "<eof>$") ~= nil
  end
  return nil, message, more
end

local function is_blank(text)
  return not find(text, "%S")
end

local function commands()
  return require "clshell.prompt.commands"
end

--- session.complete(text) -> boolean
--- Whether Enter submits a text: a chunk that is complete, or wrong in a way
--- that more lines cannot mend; a command, a question, or nothing.
function M.complete(text)
  local first = match(text, "^%s*([%%?!]?)")
  if first == "%" then
    local name, rest = require "clshell.prompt.dispatch".command(text)
    local command = commands().find(name)
    if not (command and command.code) or rest == "" then
      return true
    end
    text = rest
  elseif first ~= "" or is_blank(text) then
    return true
  end
  local input, _, more = compile(text, "=input")
  return input ~= nil or not more
end

-- Writes lines of text to standard output.
local function say(text)
  stdout:write(text, "\n")
end

-- Writes words to standard error, as wide as the window.
local function remark(text)
  local report = require "clshell.report.table"
  stdout:flush()
  stderr:write(concat(report.wrap(text, (cl.winsize(2) or 80) - 1), "\n"),
    "\n")
end

local function note(text)
  remark("note: " .. text)
end

M.note = note

-- Makes top-level locals globals. Says so the first time.
local function keep_locals(input, chunk)
  if input.kind ~= "statement" or M.settings.locals ~= "keep"
      or not find(input.code, "local", 1, true) then
    return
  end
  local code, names, kept =
    require "clshell.prompt.locals".rewrite(input.code)
  local run = load(code, chunk, "t")
  if not run then
    return
  end
  input.code, input.run, input.kept = code, run, kept ~= nil
  for _, name in ipairs(names) do
    input.spare = input.spare or name == "_"
  end
  if #names > 0 and not noted and not M.quiet then
    noted = true
    note "in the shell, top-level `local` is kept until you quit (%set \z
      locals=lua for plain Lua)"
  end
  if kept and not M.quiet then
    note(concat(kept, ", ") .. ": local to this input, and gone after it")
  end
end

local function refresh()
  if cl.stale and cl.stale() then
    require "clshell.prompt.watch".refresh()
  end
end

local function results()
  return require "clshell.prompt.last_results"
end

-- The input as it enters the list, and its chunk's name.
local function enter(text)
  local input = {text = text, ok = false, kind = "command"}
  M.inputs[#M.inputs + 1] = input
  M.input = input
  local chunk = "=input:" .. #M.inputs
  excerpt.remember(chunk, text)
  return input, chunk
end

-- Gives an input the results that it names.
local function enter_results(text)
  if find(text, "_", 1, true) then
    for _, line in ipairs(results().enter(text)) do
      note(line)
    end
  end
end

-- A command, or a word that works on its own.
local function prepare_command(text, run)
  enter(text)
  enter_results(text)
  return run
end

-- Whether a text may be more than Lua; prompt/dispatch.lua knows.
local function may_command(text)
  return find(text, "^%s*[%%?!]") or find(text, "%?%s*$")
    or find(text, "^%s*%a+[%s%(%);]*$")
end

--- session.prepare(text) -> function, or nil or false
--- What to call for a text; nil: there is nothing to do, false: the session
--- ends. A mistake in the syntax raises. Nothing of the text runs here.
function M.prepare(text)
  M.draft = nil
  if asked then
    asked = false
    local answer = require "clshell.prompt.after_interrupt".answer(text)
    if answer then
      return prepare_command(text, answer)
    end
  end
  if is_blank(text) then
    return nil
  end
  refresh()
  local run
  if may_command(text) then
    run = require "clshell.prompt.dispatch".find(text)
    if run ~= nil then
      return run and prepare_command(text, run)
    end
  end
  local input, chunk = enter(text)
  local compiled, message = compile(text, chunk)
  if not compiled then
    error(message, 0)
  end
  for key, value in pairs(compiled) do
    input[key] = value
  end
  keep_locals(input, chunk)
  enter_results(text)
  run, input.run = input.run, nil
  return run
end

-- The end of an input.
local function finish(ok)
  local input = M.input or {}
  M.input = nil
  input.ok = ok
  if package.loaded["clshell.prompt.last_results"] then
    results().leave(input.spare)
  end
  return input
end

-- Tells the tutorial, where it runs.
local function tell(input, ok, ...)
  if M.after then
    pcall(M.after, input.text, ok, pack(...))
  end
end

local function print_values(...)
  local show = require "clshell.prompt.show"
  local n, parts, long = select("#", ...), {}, false
  local opts = {color = require "clshell.base.style".color(1)}
  for i = 1, n do
    parts[i] = show.text((select(i, ...)), opts)
    long = long or find(parts[i], "\n", 1, true) ~= nil
  end
  say(concat(parts, long and "\n" or "\t"))
end

--- session.shown(...)
--- The end of an input that ran: prints its values, unless it ends with `;`,
--- and keeps the first as _.
function M.shown(...)
  M.leaving = nil
  local input = finish(true)
  input.values = select("#", ...)
  if input.values > 0 then
    results().keep((...))
    if not input.silent then
      print_values(...)
    end
  end
  tell(input, true, ...)
end

--- session.failed(err)
--- The end of an input that failed: prints the error, which %tb tells more
--- of.
function M.failed(err)
  local left = M.leaving -- a script of %run called os.exit
  M.leaving = nil
  local input = finish(left == "")
  stdout:flush()
  if left then
    if left ~= "" then
      note(left)
    end
    return
  end
  stderr:write(require "clshell.prompt.errors".report(err), "\n")
  if type(err) == "table" and rawget(err, "name") == "INTERRUPTED" then
    asked = require "clshell.prompt.after_interrupt".note()
  end
  tell(input, false, err)
end

--- session.compile(text) -> function
--- For commands: Lua code that belongs to the input under way, compiled as
--- an expression if it can be one. A mistake in it raises.
function M.compile(text)
  local compiled, message = compile(text, "=input:" .. #M.inputs)
  if not compiled then
    error(message, 0)
  end
  if M.input and compiled.silent then
    M.input.silent = true
  end
  return compiled.run
end

--- session.command(name, run, help [, opts])
--- Adds `%name`; see prompt/commands.lua.
function M.command(...)
  commands().define(...)
end

--- session.setting(name, opts)
--- Adds a setting for %set; see prompt/settings.lua.
function M.setting(name, opts)
  require "clshell.prompt.settings".define(M, name, opts)
end

-- Which device was taken, and by which rule; see src/select.c.
local function chosen(...)
  if not M.quiet then
    remark(require "clshell.prompt.devices".choice(...))
  end
end

-- The start-up file, if there is one.
local function init_file()
  local config, home = os.getenv "XDG_CONFIG_HOME", os.getenv "HOME"
  local dir = config and find(config, "^/") and config
    or home and home ~= "" and home .. "/.config"
  local path = dir and dir .. "/clshell/init.lua"
  local file = path and io.open(path)
  if file then
    file:close()
    return path
  end
end

-- What is said below the banner where there is no driver at all.
local NODRIVER = [[
! No OpenCL driver is installed. Lua works; kernels need a driver.
  CPU driver: sudo apt install pocl-opencl-icd      details: clshell --doctor
]]

--- session.start(terminal) -> function or nil
--- What comes before the first prompt: notes below the banner, `err` of a
--- script that failed, and the start-up file as a function to call.
function M.start(terminal)
  local line = cl.commandline or {}
  M.quiet = line.quiet or not terminal
  M.settings.color, M.settings.locals = line.color or "auto", "keep"
  cl.onchoice(chosen)
  local errors = package.loaded["clshell.prompt.errors"]
  if errors and errors.last then
    _G.err = errors.last.value
  end
  if not M.quiet and cl.drivers() == 0 then
    stderr:write(NODRIVER)
  end
  local path = not line.noinit and init_file()
  return path and assert(loadfile(path)) or nil
end

return M

-- shell/prompt/init.lua - the session behind the prompt: it gives each input a
-- meaning, prints its values, and keeps both. src/shell/repl.c reads and runs
-- the inputs. session.lua holds the state, commands.lua the %commands;
-- show.lua prints values, complete.lua serves Tab, errors.lua tells failures.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local excerpt = require "clshell.errors.excerpt"
local system = require "clshell.system"

-- Functions, not methods of strings, which a session may change.
local find, match = string.find, string.match
local concat, stderr, stdout = table.concat, io.stderr, io.stdout

local M = require "clshell.shell.prompt.session"

local note, parse = M.note, M.parse

local asked = false -- the user, about a kernel that still runs
local journal_wanted = false -- the inputs go to a journal
local journalled = false -- the journal has begun
local noted = false -- the user knows that locals are kept

local function part(name)
  return require("clshell.shell.prompt." .. name)
end

local function is_blank(text)
  return not find(text, "%S")
end

-- Whether a text may be kernels; shell/prompt/dispatch.lua decides.
local function may_kernels(text)
  return (find(text, "__global__", 1, true) or find(text, "kernel", 1, true))
    and not find(text, "pyopencl", 1, true)
end

--- session.complete(text) -> boolean
--- Whether Enter submits a text: a complete chunk, an error that further lines
--- cannot mend, a command, a question, or an empty text.
function M.complete(text)
  local first = match(text, "^%s*([%%?!]?)")
  if first == "%" then
    local name, rest = part "dispatch".command(text)
    part "commands" -- defines them
    local command = M.commands[name]
    if not command or rest == "" or not (command.code or command.kernels) then
      return true
    elseif command.kernels then
      rest = match(rest, "^%a+%s+(.*)$") or ""
      local begun = find(rest, "^#") or find(rest, "^/[/*]")
      local done
      if begun or may_kernels(rest) then
        done = part "dispatch".kernels_end(rest)
      end
      return done or not begun and done ~= false
    end
    text = rest
  elseif first ~= "" or is_blank(text) then
    return true
  end
  local input, _, more = parse(text, "=input")
  if input then
    return true
  end
  if may_kernels(text) then
    local done = part "dispatch".kernels_end(text)
    return done == nil and not more or done
  end
  return not more or find(text, "^%s*%a+%s+[.~/%-]") ~= nil
    and part "dispatch".command_word(text) ~= nil -- cd ..
end

-- Whether a text may be a listing of a host in C, CUDA or Python.
local function may_host(text)
  return find(text, "%f[%w]c[lu]%w*[%u_]") or find(text, "%f[%w]hip%u")
    or find(text, "pyopencl", 1, true) or find(text, "%f[%w]cl%.%a")
end

-- Compiles an input; an input that is no Lua may be the text of kernels, or of
-- a host.
local function compile(text, chunk)
  local compiled, message = parse(text, chunk)
  local code = not compiled and may_kernels(text)
    and part "dispatch".kernels_code(text)
  if code then
    compiled = {kind = "kernels", code = code,
      run = load(code .. " return prog", chunk, "t")}
    if not M.quiet then
      note "no Lua, but kernels: prog = cl.build of this text"
    end
  elseif not compiled then
    local tell = may_host(text) and part "dispatch".host(text)
      or part "dispatch".command_word(text)
    compiled = {kind = "command", code = "", run = tell or error(message, 0)}
  end
  return compiled
end

-- Makes top-level locals globals, with a note the first time.
local function keep_locals(input, chunk)
  if input.kind ~= "statement" or M.settings.locals ~= "keep"
      or not find(input.code, "local", 1, true) then
    return
  end
  local code, names, kept =
    part "locals".rewrite(input.code)
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

-- Puts the inputs into the journal, if there is one; an error here fails no
-- input, and no code of the session runs.
local function keep_inputs()
  if journalled then
    pcall(part "safe_call".run, part "journal".update)
  end
end

-- A new entry of the list of inputs, and its chunk's name.
local function enter(text)
  local input = {text = text, ok = false, kind = "command"}
  M.inputs[#M.inputs + 1] = input
  M.input = input
  local chunk = "=input:" .. #M.inputs
  excerpt.remember(chunk, text)
  keep_inputs()
  return input, chunk
end

-- Sets the results that an input names.
local function enter_results(text)
  if find(text, "_", 1, true) then
    for _, line in ipairs(part "last_results".enter(text)) do
      note(line)
    end
  end
end

-- The function for a text other than Lua: an answer to the question of a
-- Ctrl-C, a command, or a word that works on its own. false: the session ends;
-- nil: the text is Lua.
local function prepare_command(text, answers)
  local run = answers
    and part "device_list".answers[match(text, "^%s*(%a)%s*$")] or nil
  if not run and (find(text, "^%s*[%%?!]") or find(text, "%?%s*$")
      or find(text, "^%s*%a+[%s%(%);]*$")
      or find(text, "^%s*%a+%s+[/%-]%S")) then
    run = part "dispatch".find(text)
  end
  if run then
    enter(text)
    enter_results(text)
  end
  return run
end

--- session.prepare(text) -> function, or nil or false
--- The function to call for a text; nil: there is nothing to do; false: the
--- session ends. A syntax error raises. The text does not run here.
function M.prepare(text)
  local answers = asked
  M.draft, asked = nil, false
  if is_blank(text) then
    return M.blank
  elseif cl.stale and cl.stale() then
    part "watch".refresh()
  end
  local run = prepare_command(text, answers)
  if run ~= nil then
    return run
  end
  local input, chunk = enter(text)
  for key, value in pairs(compile(text, chunk)) do
    input[key] = value
  end
  keep_locals(input, chunk)
  enter_results(text)
  run, input.run = input.run, nil
  return run
end

-- Ends an input: sets the state of its list entry.
local function finish(ok)
  local input = M.input or {}
  M.input = nil
  input.ok = ok
  local results = package.loaded["clshell.shell.prompt.last_results"]
  if results then
    results.leave(input.spare)
  end
  return input
end

-- Tells the tutorial of an input, while the tutorial runs.
local function tell(input, ok, ...)
  if M.after then
    pcall(M.after, input.text, ok, table.pack(...))
  end
end

--- session.shown(...)
--- The end of an input that ran: prints its values, unless it ends with `;`,
--- and keeps the first value as _.
function M.shown(...)
  M.leaving = nil
  local input = finish(true)
  input.values = select("#", ...)
  if input.values > 0 then
    part "last_results".keep((...))
    if not input.silent then
      stdout:write(part "show".values(table.pack(...),
        {color = require "clshell.base.style".color(1)}), "\n")
      local words = input.values == 1 and (...) == nil and not M.quiet
        and input.code and part "errors".absent(input.tail or input.code)
      if words then
        note(words)
      end
    end
  end
  keep_inputs()
  tell(input, true, ...)
end

--- session.again(code) -> boolean, error
--- Runs an input of an earlier session anew, without its values; returns
--- whether the input succeeds, or else its error.
function M.again(code)
  local outer = M.input -- %restore, or none
  local _, chunk = enter(code)
  local input, run = M.parse(code, chunk), load(code, chunk, "t")
  for key, value in pairs(input or {}) do
    M.input[key] = key ~= "run" and value or nil
  end
  M.input.values = 0
  local fine, err = pcall(run or error)
  finish(fine)
  M.input = outer
  return fine, err
end

--- session.resume()
--- Before the first prompt, after start and the start-up file: brings back the
--- session of the program before, where the user has asked for that. The
--- journal begins afterwards, so that the old journal stays the newest if this
--- crashes.
function M.resume()
  local restore = package.loaded["clshell.shell.prompt.restore"]
  local _ <close> = setmetatable({}, {__close = function()
    journalled = journal_wanted
  end})
  if restore then
    restore.resume()
  end
end

--- session.poll()
--- Calls the functions of Event:on_complete, between two inputs.
M.poll = cl.poll

--- session.failed(err) -> whether the later inputs of a paste are dropped
--- The end of an input that failed: prints the error; %tb tells more.
function M.failed(err)
  local left = M.leaving -- a script of %run called os.exit
  M.leaving = nil
  local input = finish(left == "")
  stdout:flush()
  keep_inputs()
  if left then
    if left ~= "" then
      note(left)
    end
    return
  end
  stderr:write(part "errors".report(err), "\n")
  local stopped = type(err) == "table"
    and require "clshell.base.interrupt".is(err)
  if stopped then
    asked = part "device_list".ask()
  end
  tell(input, false, err)
  return stopped or M.settings.paste == "stop"
end

-- The note below the banner where no driver is installed.
local NODRIVER = [[
! No OpenCL driver is installed. Lua works; kernels need a driver.
  CPU driver: sudo apt install pocl-opencl-icd      details: clshell --doctor
]]

--- session.start(terminal) -> function or nil
--- Before the first prompt: prints notes below the banner, sets `err` after a
--- script that failed, and returns the start-up file as a function.
function M.start(terminal)
  local line = cl.commandline or {}
  M.quiet = line.quiet or not terminal
  M.settings.color, M.settings.locals = line.color or "auto", "keep"
  cl.onchoice(function(...)
    if not M.quiet then
      M.remark(part "device_list".choice(...))
    end
  end)
  local errors = package.loaded["clshell.shell.prompt.errors"]
  if errors and errors.last then
    _G.err = errors.last.value
  end
  if not M.quiet and system.drivers() == 0 then
    stderr:write(NODRIVER)
  end
  if line.as and not M.quiet then
    note(("the device pretends to be %s: its limits, the real device's times")
      :format(line.as))
  end
  journal_wanted = terminal and not line.noinit
  local left = journal_wanted
    and part "journal".start()
  if left and not M.quiet then
    note(left)
  end
  local folder = not line.noinit
    and require "clshell.base.file".folder "CONFIG"
  local path = folder and folder .. "/init.lua"
  local file <close> = path and io.open(path) or nil
  return file and assert(loadfile(path)) or nil
end

return M

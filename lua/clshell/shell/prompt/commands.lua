-- shell/prompt/commands.lua - the %commands of the prompt; each is also a
-- plain function of this module, for scripts and key bindings of the user
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local check = require "clshell.base.lazy".module "clshell.explain.check"
local session = require "clshell.shell.prompt.session"
local text = require "clshell.base.text"
local system = require "clshell.system"

local M = {}

local list = session.commands -- {name=, run=, usage=, help=, code=, script=}

local function part(name)
  return require("clshell.shell.prompt." .. name)
end

--- commands.define(name, run, help [, opts])
--- Makes `%name rest` call run(rest); the result is printed like the values of
--- an expression. `help`: the arguments on its first line, then what the
--- command does.
--- Options:
---   code    false  whether the rest is Lua: then Enter waits for all of it
---   kernels false  whether the rest may be kernels: then it waits as well
---   script  -      script(rest) -> text, what %save writes; else a comment
---   state   -      state(rest) -> text that builds anew what the command has
---                  built; else a restart leaves it out
--- Example:
--- commands.define("hello", function(rest)
---   return "hello " .. rest
--- end, "name\ngreets somebody") -- at the prompt: %hello world
function M.define(name, run, help, opts)
  opts = opts or {}
  local usage, about = help:match("^([^\n]*)\n?(.*)$")
  list[name] = {name = name, run = run, code = opts.code, help = about,
    kernels = opts.kernels, script = opts.script, state = opts.state,
    usage = ("%%%s %s"):format(name, usage):gsub(" +$", "")}
end

-- The command of a name; an unknown name raises.
local function find(name)
  name = name == "hist" and "history" or name -- as IPython has it
  local near = not list[name] and text.nearest(name, text.keys(list))
  return list[name] or cl.error(("no command %%%s; %s%%commands lists them")
    :format(name, near and ("did you mean %%%s? "):format(near) or ""))
end

-- Runs `%name rest` of the prompt; `%` alone is %commands.
function M.call(name, rest)
  local command = find(name == "" and "commands" or name)
  local input = session.input
  if input then
    input.script = command.script and command.script(rest)
    input.state = command.state and command.state(rest)
  end
  return command.run(rest)
end

--- commands.help([name])
--- Prints what a command does, or the list of commands.
--- Example:
--- commands.help "time" -- at the prompt: ?%time
function M.help(name)
  name = name and name:match("^%%?([%w_]+)")
  if name then
    local command = find(name)
    session.say(command.usage .. "\n  " .. command.help:gsub("\n", "\n  "))
    return
  end
  local rows = {}
  for i, known in ipairs(text.keys(list)) do
    rows[i] = {list[known].usage, list[known].help:match("^[^\n]*")}
  end
  local layout = require "clshell.shell.help.page_layout"
  local view = layout.view{width = require "clshell.results.tables".width()}
  session.say(layout.rows(rows, view, view.width < 60 and 12 or 34))
  session.say "?name or name? explains a function, ??word searches, ?%name a \z
    command; !command runs a command of the system."
end

-- The functions of other files, documented below.
for name, file in pairs{time = "measure", run = "files", reload = "files",
    edit = "files", cd = "files", shell = "files", set = "settings",
    restore = "restore", restart = "restore",
    device = "device_list", history = "variables", paste = "paste"} do
  M[name] = function(...)
    return part(file)[name](...)
  end
end

--- time(f, ...) -> what f returns
--- Calls f(...) once and prints how long that took: wall time until all work
--- that it enqueued has ended, processor time of all threads, and, where it
--- returns events, the time between START and END on the device.
--- Example: print(time(function(a, b) return a * b end, 6, 7))

--- commands.run(file, ...) -> results of the file
--- Runs a Lua file, or an installed script, with arguments: its globals stay
--- in the session, and os.exit ends the file alone.
--- Example:
--- local path = os.tmpname()
--- local file <close> = io.open(path, "w")
--- file:write("print(...) return select('#', ...)")
--- file:close()
--- print(commands.run(path, "a", "b")) --> 2
--- os.remove(path)

--- commands.reload(module) -> module
--- Runs the file of a module again. A module that is a table stays the same
--- table, with the new content: whoever has it sees the change. If that
--- fails, the module stays as it was.
--- Example:
--- local text = require "clshell.base.text"
--- print(commands.reload "clshell.base.text" == text) --> true

--- commands.edit([what])
--- Opens the editor ($VISUAL, $EDITOR, else vi) on a file, on the file that
--- defines a function, or on an input: the newest, or the one that defined the
--- function. An edited input comes back as the next one to type.
--- Example: -- at the prompt: %edit, %edit name_of_a_function, %edit kernel.cl

--- commands.cd([folder]) -> string
--- Changes the working folder, to the home folder without an argument, with
--- "-" to the folder before; returns the new path.
--- Example:
--- print(commands.cd "." == system.cwd()) --> true

--- commands.shell(command)
--- Runs a command of the system's shell; says how it ended if it failed.
--- Example:
--- commands.shell "uname -m" -- or: !uname -m

--- commands.save(file [, replace])
--- Writes the session's inputs as a script that runs; inputs that failed are
--- comments. An existing file is replaced only if `replace` is true.
--- Example: -- at the prompt: %save session.lua, and then: clshell session.lua
function M.save(path, replace)
  local inputs = {table.unpack(session.inputs)}
  if inputs[#inputs] == session.input then
    inputs[#inputs] = nil -- the input that saves
  end
  local script, count, failed = part "save".text(inputs)
  local old <close> = not replace and io.open(path) or nil
  if old then
    cl.error(("%s is there already"):format(path),
      {hint = ("%%save -f %s replaces it"):format(path)})
  end
  local file <close>, message = io.open(path, "w")
  local ok = file and file:write(script)
  if not ok then
    cl.error("%save: " .. (message or "cannot write " .. path))
  end
  session.say(("wrote %s to %s%s"):format(text.count(count - failed, "input"),
    path, failed == 0 and "" or (" (%d that failed left as comments)"):format(
    failed)))
end

--- commands.restore()
--- Runs the inputs of the newest session that was cut off: by a kernel, a
--- signal or a closed terminal. Its globals come back. Inputs that only
--- measured or printed are left out; the inputs that were under way then, and
--- the inputs that fail now, are listed.
--- Example: -- at the prompt of a new session, after a crash: %restore

--- commands.restart()
--- Begins the program anew in this terminal, with the same options, and
--- restores the session as commands.restore does. The work on devices ends,
--- and a GPU that was lost answers again.
--- Example: -- at the prompt: %restart

--- commands.who()
--- Prints the session's own variables: name, type and value.
--- Example:
--- _G.x = 5
--- commands.who() -- at the prompt: %who
--- _G.x = nil
function M.who()
  session.say(part "variables".text())
end

--- commands.history([n [, words]])
--- Prints the session's inputs, each with its number, as errors name it
--- ("input:3"): the newest n inputs that contain `words`.
--- Example:
--- commands.history(5) -- at the prompt: %history 5

--- commands.paste() -> what the text returns
--- Reads lines up to `--` on a line of its own, or to the end of the input
--- (Ctrl-D), and runs them as one input. Prompts of a transcript are dropped.
--- Example:
--- -- at the prompt: %paste, the lines, and then -- on a line of its own

--- commands.set([name, value])
--- Changes a setting of the prompt; without a value it prints the setting,
--- without a name all settings.
--- Example:
--- -- at the prompt: %set color=off, or %set for the list
--- commands.set()

--- commands.tb()
--- Prints all that is known of the newest error.
--- Example: commands.tb() -- at the prompt: %tb
function M.tb()
  local errors = part "errors"
  if not errors.last then
    session.say "nothing has failed so far"
    return
  end
  print(errors.text(errors.last, {width = system.winsize(1), all = true,
    color = require "clshell.base.style".color(1)}))
end

--- commands.device([sel])
--- Prints the devices and marks the session's device; with `sel` (see cl.use)
--- it takes another one.
--- Example:
--- commands.device() -- at the prompt: %device

-- The one argument of a command: quoted, or all of the line.
local function word(rest)
  return rest:match("^([\"'])(.*)%1$") and rest:sub(2, -2)
    or rest ~= "" and rest or nil
end

-- The argument of `%name rest`; without one it raises with the usage.
local function required(name, rest, what)
  return word(rest) or cl.error(("which %s?"):format(what),
    {hint = list[name].usage})
end

-- The line that %save writes for a command: a call of this module.
local function plain(name)
  return function(rest)
    local words = name == "run" and part "files".arguments(rest)
      or {word(rest)}
    for i, value in ipairs(words) do
      words[i] = ("%q"):format(value)
    end
    return ("require(\"clshell.commands\").%s(%s)"):format(name,
      table.concat(words, ", "))
  end
end

local define = M.define

define("time", function(rest)
  required("time", rest, "expression")
  return M.time(session.compile(rest))
end, "expr\nruns it once and says how long it took", {code = true,
  script = function(rest)
    return ("time(function() %s%s\nend)"):format(
      load("return " .. rest) and "return " or "", rest)
  end, state = function(rest)
    return load(rest) and rest or ("do local _ = %s\nend"):format(rest)
  end})

-- The options of a command as the text of a table; nil: there are none.
local function option_table(options)
  return options[1] and "{" .. text.values(options, ", ", function(option)
    return option[1] .. " = " .. option[2]
  end) .. "}" or nil
end

local function bench_script(rest)
  local expression, options = part "measure".split(rest)
  local subject = ("function() return %s end"):format(expression)
  for i, option in ipairs(options) do
    local launch, values = part "measure".launch(expression)
    if option[1] == "expect" and launch then -- as measure.bench takes it
      subject = launch
      table.insert(options, i, {"args", ("{%s}"):format(values:sub(3))})
      break
    end
  end
  return ("bench(%s, %s)"):format(subject, option_table(options) or "{}")
end

-- Raises where the expression of a command is a single unknown name: the
-- nearest family may be meant. `otherwise`: the other texts that it takes.
local function check_name(command, rest, otherwise)
  local name = part "measure".split(rest):match "^([%a_][%w_]*)$"
  local families = require "clshell.ladder.families"
  if name and rawget(_G, name) == nil and not families.get(name) then
    local near = cl.nearest(name, families.names())
    cl.error(("%s: '%s' is no launch and no family"):format(command, name),
      {hint = near and ("did you mean %%%s %s?"):format(command, near)
        or ("%%%s k:range(n)(x, y), or %s"):format(command, otherwise)})
  end
end

define("bench", function(rest)
  check_name("bench", rest, "a function")
  session.last_bench = part "measure".bench(rest)
  return session.last_bench()
end, "expr [flop=, bytes=, name= ...]\nmeasures it many times, as bench does"
  .. "\nflop=2*n^3 and bytes= of one run give rates; see ?bench for more.",
  {code = true, script = bench_script})

-- The file and the statement of `%trace t.json gemm(A, B)`.
local function traced(rest)
  local path, code = rest:match "^(%S+%.json)%s+(.+)$"
  return path, code or required("trace", rest, "statement")
end

define("trace", function(rest)
  local path, code = traced(rest)
  local t = require "clshell.results.timeline"(session.compile(code))
  if path then
    session.say("wrote " .. t:save(path))
  end
  return t
end, "[file.json] statement\nwhat ran when: commands, builds, waits, on one "
  .. "clock\nRuns it once, as timeline does; ui.perfetto.dev opens the file.",
  {code = true, script = function(rest)
    local path, code = traced(rest)
    return ("print(timeline(function() %s%s\nend)%s)"):format(load("return "
      .. code) and "return " or "", code, path and (":save(%q)"):format(path)
      or "")
  end})

define("timeit", function(rest)
  check_name("timeit", rest, "a function")
  return part "measure".bench(rest, "quick")()
end, "expr\ntimes it within a second, as %bench does: for code of the host\n"
  .. "The time is of one call; many run on end. Options as for %bench.",
  {code = true, script = bench_script})

-- The parts of `gemm mine 64 tile=8 limit=60`, as texts: the name, quoted, the
-- sizes, the table of the rung's parameters (nil: none), and the options, as a
-- list. nil for a text without a family, or with a call: gemm(A, B).
local function of_ladder(expression, options)
  local name, more = expression:match "^([%a_][%w_]*)%s*(.*)$"
  local family = name and require "clshell.ladder.families".get(name)
  local rung, sizes = (more or ""):match "^%.?%s*([%a_][%w_]*)%s*(.*)$"
  sizes = rung and sizes or more
  if not family or sizes:find "^%(" then
    return nil
  end
  local own, params, others = {}, {}, {}
  for _, known in ipairs(family.list) do
    for _, param in ipairs(known.name == rung and known.params or {}) do
      own[param.name] = true
    end
  end
  for _, option in ipairs(options) do
    table.insert(own[option[1]] and params or others, option)
  end
  return ("%q"):format(rung and name .. "." .. rung or name),
    sizes ~= "" and sizes or nil, option_table(params), others
end

-- `%check gemm mine limit=60` as a call of check; nil without a family.
local function check_call(rest)
  local name, sizes, params, others = of_ladder(part "measure".split(rest))
  if name then
    others[#others + 1] = sizes and {"shapes", "{" .. sizes .. "}"}
    others[#others + 1] = params and {"params", params}
    return ("check(%s, %s)"):format(name, option_table(others) or "{}")
  end
end

-- The launch of `%check l(x) limit=100`, which may be left out, and the table
-- of the options, as texts.
local function launch_options(rest)
  local expression, options = part "measure".split("launch " .. rest)
  return expression:match "^launch%s*(.*)$", option_table(options)
end

define("check", function(rest)
  local call = check_call(rest)
  if call then
    return session.compile(call)()
  end
  check_name("check", rest, "a rung: %check gemm tiled")
  local expression, options = launch_options(rest)
  local values = table.pack(part "measure".launched("check", expression))
  values[values.n + 1] = options and session.compile(options)()
  return check(table.unpack(values, 1, values.n + (options and 1 or 0)))
end, "[launch(args) | family [rung [size]]] [limit= ...]\nfinds the defects "
  .. "of a launch, or of a rung over sizes, as check does\nWithout a launch: "
  .. "the newest one of the inputs. The arguments stay as they are. `%check "
  .. "l(x) limit=100 shrink=true` has options, see ?check.\n`%check "
  .. "gemm mine` runs a rung at sizes that fit no tile, `%check gemm mine "
  .. "{64, 7, 33} tile=8` at one, with a parameter, `%check gemm` all of your "
  .. "own.", {code = true, script = function(rest)
    local call = check_call(rest)
    local expression, options = launch_options(rest)
    local launch, args = part "measure".launch(expression)
    return call and "print(" .. call .. ")"
      or launch and ("print(check(%s%s%s))"):format(launch, args,
        options and ", " .. options or "")
  end})

-- `%access l(x) as="M1"` as a call of access; nil without a launch or a rung.
local function access_call(rest)
  local expression, options = part "measure".split(rest)
  local name, sizes, params, others = of_ladder(expression, options)
  if name then
    return ("access(%s, %s, %s, %s)"):format(name, sizes or "nil",
      params or "nil", option_table(others) or "{}")
  end
  local launch, args = part "measure".launch(expression)
  if launch and require "clshell.ladder.families".get(launch) then
    launch, args = launch .. ".plan(" .. args:sub(3) .. ")", "" -- gemm(A, B)
  elseif not launch or launch:find ":[%a_][%w_]*$" -- k:range(n)
      or launch:find "%.plan$" then
    launch, args = expression, ""
  end
  return expression ~= "" and ("access(%s%s, %s)"):format(launch, args,
    option_table(options) or "{}") or nil
end

define("access", function(rest)
  local call = access_call(rest)
  if call then
    check_name("access", rest, "a rung: %access gemm tiled")
    return session.compile(call)()
  end
  return require "clshell.explain.access"(part "measure".launched("access",
    ""))
end, "[launch(args) | family [rung [size]] [as= ...]]\nwhat a kernel asks of "
  .. "memory, by source line\nBanks, sectors and lanes of each load and "
  .. "store, as access tells them.\nWithout a launch: the newest one of the "
  .. "inputs. `%access gemm tiled` runs a rung at a small size, `%access gemm "
  .. "tiled 128 tile=8` at one, with a parameter; `%access gemm(A, B)` what "
  .. "that call takes.",
  {code = true, script = function(rest)
    local call = access_call(rest)
    return call and "print(" .. call .. ")"
  end})

-- `%asm k 12`, `%asm gemm tiled tile=8 line=5` as a call of asm, and the line.
local function asm_call(rest)
  local expression, options = part "measure".split(rest)
  local line
  for i = #options, 1, -1 do
    if options[i][1] == "line" then
      line = table.remove(options, i)[2]
    end
  end
  local name, sizes, params, others = of_ladder(expression, options)
  if name then
    return ("asm{%s, %s, %s, %s}"):format(name, sizes or "nil",
      params or "nil", option_table(others) or "nil"), line
  end
  local subject, n = expression:match "^(.-%S)%s+(%d+)$"
  return ("asm(%s)"):format(subject or expression), line or n
end

define("asm", function(rest)
  required("asm", rest, "kernel")
  check_name("asm", rest, "a rung: %asm gemm tiled")
  local call, line = asm_call(rest)
  local code = session.compile(call)()
  session.page(line and code:line(math.tointeger(tonumber(line)) or line)
    or ("%s\n\n%s"):format(code, code:listing()))
end, "kernel [line] | family [rung [size]] [line= ...]\nthe machine's code: "
  .. "its counts, its loops, all instructions\nWith the number of a line of "
  .. "the source: the instructions made of it. `%asm k 12`, `%asm gemm tiled "
  .. "line=56`. See ?asm.", {code = true, script = function(rest)
    local call, line = asm_call(rest)
    return ("print(%s%s)"):format(call, line and (":line(%s)"):format(line)
      or "")
  end})

define("run", function(rest)
  local words = part "files".arguments(rest)
  if #words == 0 then
    cl.error("which file? %run file.lua [arguments]")
  end
  return M.run(table.unpack(words))
end, "script [args]\nruns a script; its globals stay", {
  script = plain "run", state = plain "run"})

define("reload", function(rest)
  M.reload(required("reload", rest, "module"))
end, "module\nloads a module again, in place", {script = plain "reload"})

define("edit", function(rest)
  M.edit(word(rest))
end, "[file|function]\nopens $VISUAL or $EDITOR: on a file, a function's file"
  .. ", or the newest input\nAn edited input is the next one to type.")

define("save", function(rest)
  local replace = rest:match("^%-f%s+")
  M.save(required("save", rest:sub(#(replace or "") + 1), "file"), replace)
end, "[-f] file\nwrites the inputs as a script; -f replaces a file")

define("restore", M.restore,
  "\nruns the inputs of a session that crashed or was killed")

define("restart", M.restart, "\nbegins the program anew and restores the "
  .. "session\nFor a GPU that is lost, and to end what runs on a device.")

define("who", M.who, "\nthe session's own variables")

define("history", function(rest)
  local n, words = rest:match "^(%d*)%s*(.-)$"
  M.history(tonumber(n), words ~= "" and words or nil)
end, "[n] [words]\nthe inputs of this session: the newest n, those with words")

define("paste", M.paste, "\nruns the lines that follow, up to `--`, as one "
  .. "input")

define("set", function(rest)
  M.set(rest:match("^([%w_]*)%s*=?%s*(.-)$"))
end, "[name=value]\nthe settings of the prompt: colours, locals ...",
  {state = function(rest)
    local name, value = rest:match "^([%w_]+)%s*=?%s*(.+)$"
    return name and ("require(\"clshell.commands\").set(%q, %q)")
      :format(name, value)
  end})

define("ls", function(rest)
  M.shell("ls " .. rest)
end, "[options] [folder]\nlists a folder")

define("pwd", system.cwd, "\nthe working folder")

define("tb", M.tb, "\nall that is known of the newest error")

define("cd", function(rest)
  return M.cd(word(rest))
end, "[folder]\nchanges the working folder; - is the folder before", {
  script = plain "cd", state = plain "cd"})

local function use(rest)
  return rest ~= "" and ("cl.use(%q)"):format(rest) or nil
end

define("device", function(rest)
  M.device(word(rest))
end, "[name|gpu|cpu|index]\nlists the devices, or takes another one",
  {script = use, state = use})

define("commands", function()
  M.help()
end, "\nthis list")

define("help", M.help, "[command]\nthis list, or more on one command")

define("watch", function(rest)
  part "watch".watch(word(rest), session.last_bench)
end, "[kernel.cl]\nrebuilds a kernel when its file is saved, and benches again"
  .. "\nRuns the last %bench after each save, until Ctrl-C.")

define("exercise", function(rest)
  part "exercise".command(rest)
end, "[n [answer]|name|submit file|score]\nquestions on GPU kernels, and "
  .. "kernels to write, with a score\nWithout a word it lists them. n asks a "
  .. "question, n and an answer answers it.\nA name shows a task and a text "
  .. "to begin with; `submit` and a file, or the\ntext of a kernel, has the "
  .. "judge (?judge) decide. `score` tells the best of\neach exercise.",
  {kernels = true})

define("tutorial", function(rest)
  return part "tutorial".command(rest)
end, "[N|next|back|again|stop]\nlessons, from a device list to kernels of "
  .. "your own\nWithout a word it lists the lessons; N begins one, `step N` "
  .. "goes to one of its\nsteps. The step is remembered for the next session.")

return M

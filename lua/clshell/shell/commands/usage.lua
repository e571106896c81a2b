-- shell/commands/usage.lua - --help, --help-all and the manual page, from the
-- table of options, the options that commands and scripts declare, and facts:
-- lists of {name, text}
-- SPDX-License-Identifier: MIT

local report = require "clshell.results.tables"
local subcommands = require "clshell.shell.commands.subcommands"

local M = {}

local OK = 0 -- exit code

M.PURPOSE = "write, run and tune OpenCL kernels from Lua"

local USES = {
  {"clshell", "interactive shell"},
  {"clshell script.lua [args]", "run a script (args in `arg` and `...`)"},
  {"clshell -e 'code'   -p 'expr'", "run code / print values"},
  {"clshell -", "run standard input"},
  {"mpirun -n 4 clshell script.lua", "several processes, by MPI (?mpi)"},
  {"clshell tune gemm [options]", "search this device's fastest kernels"},
  {"clshell judge task.lua a.cl", "a verdict on kernels for a task (?task)"},
  {"clshell history [options]", "runs kept of earlier benches; as well: best,"
    .. "\ncompare, export, import, prune"},
}

M.ENVIRONMENT = {
  {"CLSHELL_DEVICE", "the device, as for --device"},
  {"CLSHELL_HOME", "the folder with lua/, kernels/, scripts/, api.lua"},
  {"CLSHELL_STORE", "the file in which benches are kept, or none"},
  {"CLSHELL_OCLGRIND", "the driver of the simulator for check, or none"},
  {"NO_COLOR", "no colour, where not empty"},
  {"FORCE_COLOR", "colour without a terminal; also CLICOLOR_FORCE"},
  {"COLUMNS", "the width of tables, otherwise the window's"},
  {"TERM", "dumb: no colour, no line editing"},
  {"LUA_PATH_5_4", "more folders in which require searches"},
  {"XDG_CONFIG_HOME", "holds clshell/init.lua and choices (~/.config)"},
  {"XDG_STATE_HOME", "holds clshell/history (~/.local/state)"},
  {"XDG_DATA_HOME", "holds clshell/runs.db (~/.local/share)"},
  {"XDG_CACHE_HOME", "holds figures measured once (~/.cache)"},
  {"OCL_ICD_VENDORS", "where the OpenCL loader looks for drivers"},
  {"POCL_AFFINITY", "0: PoCL's threads may move between processors"},
}

M.FILES = {
  {"~/.config/clshell/init.lua", "run before the first prompt"},
  {"~/.config/clshell/choices/", "kernels kept for your devices"},
  {"~/.local/state/clshell/history", "lines typed at the prompt"},
  {"~/.local/share/clshell/runs.db", "benches, with their samples"},
  {"/etc/OpenCL/vendors/*.icd", "the drivers that the loader offers"},
}

M.EXITS = {
  {"0", "ok"},
  {"1", "script error"},
  {"2", "bad usage"},
  {"3", "no matching device"},
  {"4", "regression found"},
  {"124", "--timeout is over"},
  {"130", "interrupted"},
}

M.EXAMPLES = {
  {"clshell -d gpu bench_tiles.lua 2048", "on the first GPU"},
  {"clshell -f csv bench_tiles.lua > tiles.csv", "for a spreadsheet"},
  {"clshell -p 'cl.device().name'", "the device taken"},
}

-- Rows of two columns beside a title, which is a column before them; the
-- second column begins at `column`.
local function rows(title, list, column)
  local lines = {}
  for i, row in ipairs(list) do
    local head = ("%-12s%s"):format(i == 1 and title or "", row[1])
    lines[i] = head .. (" "):rep(column - #head)
      .. row[2]:gsub("\n", "\n" .. (" "):rep(column))
  end
  return table.concat(lines, "\n") .. "\n"
end

-- "-d, --device SEL".
local function names(o)
  return table.concat(o.names, ", ") .. (o.arg and " " .. o.arg or "")
end

--- usage.groups() -> list of {title =, options}
--- The options of clshell by their groups, in order; last the options for
--- programs.
function M.groups()
  local list = {}
  for _, o in ipairs(subcommands.own(true)) do
    local title = o.group or "For programs"
    local last = list[#list]
    if not last or last.title ~= title then
      last = {title = title, plain = o.group ~= nil}
      list[#list + 1] = last
    end
    last[#last + 1] = o
  end
  return list
end

local function purpose()
  local lines = {}
  for i, use in ipairs(USES) do
    lines[i] = ("  %-33s%s\n"):format(use[1],
      (use[2]:gsub("\n", "\n" .. (" "):rep(35))))
  end
  return ("clshell - %s\n\n%s\n"):format(M.PURPOSE, table.concat(lines))
end

--- usage.short() -> exit code
--- --help: a screen of the most needed options.
function M.short()
  local parts, exits, examples = {purpose()}, {}, {}
  for _, group in ipairs(M.groups()) do
    local list = {}
    for i, o in ipairs(group) do -- without a letter the name keeps its place
      list[i] = {(#o.names[1] > 2 and "    " or "") .. names(o), o.help}
    end
    parts[#parts + 1] = group.plain and rows(group.title, list, 35) or nil
  end
  for i, example in ipairs(M.EXAMPLES) do
    examples[i] = {example[1], ""}
  end
  for i, exit in ipairs(M.EXITS) do
    exits[i] = table.concat(exit, "\xA0") -- on one line
  end
  local text = table.concat(report.wrap(table.concat(exits, ", "), 67),
    "\n" .. (" "):rep(12)):gsub("\xA0", " ")
  io.write(table.concat(parts), "\n", (rows("Examples", examples, 12)
    :gsub(" +\n", "\n")), "Exit        ", text,
    "\nStart here  ?tutorial in the shell, or man clshell\n")
  return OK
end

--- usage.long() -> exit code
--- --help-all: all options and facts, in sentences.
function M.long()
  io.write(purpose(), "A script is looked up by its path, then among the \z
    installed scripts. Without a\nterminal, clshell runs standard input.\n")
  for _, group in ipairs(M.groups()) do
    io.write("\n", group.title, "\n")
    for _, o in ipairs(group) do
      io.write("  ", names(o), "\n      ", table.concat(report.wrap(o.more,
        73), "\n      "), "\n")
    end
  end
  for _, list in ipairs{{"Environment", M.ENVIRONMENT, 30},
      {"Files", M.FILES, 44}, {"Exit", M.EXITS, 18},
      {"Examples", M.EXAMPLES, 57}} do
    io.write("\n", rows(table.unpack(list)))
  end
  return OK
end

-- the manual page ------------------------------------------------------------

-- Characters that mdoc takes for its own.
local OWN = {["\\"] = "\\e", ["`"] = "\\(ga", ["~"] = "\\(ti", ["^"] = "\\(ha"}

-- A text in mdoc: each sentence on lines of its own, and no word taken for a
-- macro.
local function prose(s)
  s = s:gsub("[\\`~^]", OWN):gsub("%s+", " ")
  local lines = {}
  for sentence in s:gsub("([.?!]) (%u)", "%1\n%2"):gmatch("[^\n]+") do
    for _, line in ipairs(report.wrap(sentence, 76)) do
      lines[#lines + 1] = line:gsub("^[.']", "\\&%0")
    end
  end
  return table.concat(lines, "\n")
end

-- Words as one argument of a macro.
local function quoted(s)
  return '"' .. s:gsub("[\\`~^]", OWN):gsub('"', '""') .. '"'
end

local function say(lines, ...)
  for _, line in ipairs{...} do
    lines[#lines + 1] = line
  end
end

-- A list of options: the names of each, with its value, and its text.
local function items(lines, list, text_of)
  say(lines, ".Bl -tag -width Ds")
  for _, o in ipairs(list) do
    local parts = {}
    for i, name in ipairs(o.names) do
      parts[i] = "Fl " .. name:gsub("^%-", "")
        .. (o.arg and " Ar " .. o.arg or "")
    end
    say(lines, ".It " .. table.concat(parts, " , "), prose(text_of(o)))
  end
  say(lines, ".El")
end

local function facts(lines, title, macro, list)
  say(lines, ".Sh " .. title)
  if title == "EXIT STATUS" then
    say(lines, "The exit code is one of:")
  end
  say(lines, ".Bl -tag -width Ds")
  for _, fact in ipairs(list) do
    say(lines, (".It %s %s"):format(macro, (fact[1]:gsub("~", "\\(ti"))),
      prose(fact[2]))
  end
  say(lines, ".El")
end

local function synopsis(lines)
  say(lines, ".Sh SYNOPSIS", ".Nm", ".Op Ar options",
    ".Op Ar script Op Ar argument ...")
  for _, command in ipairs(subcommands.list()) do
    say(lines, ".Nm", ".Op Ar options", ".Cm " .. command.name,
      ".Op Ar command options")
  end
end

local function described(o)
  local text = o.description:gsub("^%l", string.upper)
  if o.values and not text:find(o.values[1], 1, true) then
    text = text .. ": " .. table.concat(o.values, ", ")
  end
  return text .. "."
end

local function commands(lines)
  say(lines, ".Ss Commands", "Benches are kept with their samples.",
    "All commands but", ".Cm tune", "read what is kept; each has",
    ".Fl -help .")
  for _, c in ipairs(subcommands.list()) do
    say(lines, ".Bl -tag -width Ds", (".It Cm %s Oo Ar options Oc%s%s")
      :format(c.name, #c.arguments > 0 and " Ar " or "",
      table.concat(c.arguments, " ")), prose(c.description))
    items(lines, c.options, described)
    say(lines, ".El")
  end
  say(lines, ".Ss Scripts that measure",
    "Scripts take options of their own, after their name; their",
    ".Fl -help", "lists them.", "Scripts that measure share these:")
  items(lines, subcommands.shared(), described)
end

local function date()
  local at = math.tointeger(tonumber(os.getenv "SOURCE_DATE_EPOCH" or ""))
    or os.time()
  return (os.date("!%B %d, %Y", at):gsub(" 0", " "))
end

--- usage.manual() -> string
--- The manual page of clshell, in mdoc.
function M.manual()
  local lines = {'.\\" Made by clshell --manual man from its table of '
    .. "options.", ".Dd " .. date(), ".Dt CLSHELL 1", ".Os", ".Sh NAME",
    ".Nm clshell", ".N" .. "d " .. M.PURPOSE}
  synopsis(lines)
  say(lines, ".Sh DESCRIPTION", ".Nm",
    "runs Lua scripts, or a prompt for Lua, that measure OpenCL kernels.",
    "A script is looked up by its path, then among the installed scripts;",
    "what follows its name is its own, in", ".Va arg", "and in", ".Li ... .",
    "Without a script it opens the interactive shell, or, without a terminal,",
    "runs standard input, as it does for the script", ".Sq - .",
    "In the shell", ".Ic ?tutorial", "is the place to start, and",
    ".Ic ?name", "tells of any function.")
  for _, group in ipairs(M.groups()) do
    say(lines, ".Ss " .. group.title)
    items(lines, group, function(o)
      return o.more
    end)
  end
  commands(lines)
  facts(lines, "ENVIRONMENT", "Ev", M.ENVIRONMENT)
  facts(lines, "FILES", "Pa", M.FILES)
  facts(lines, "EXIT STATUS", "Li", M.EXITS)
  say(lines, ".Sh EXAMPLES")
  for _, fact in ipairs(M.EXAMPLES) do
    say(lines, prose(fact[2]:gsub("^%l", string.upper) .. ":"),
      ".Dl " .. quoted(fact[1]))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M

-- shell/commands/actions.lua - the actions of the command line beside scripts
-- and code: each function here takes texts and returns the exit code
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

local OK, USAGE = 0, 2

-- The value of an option of clshell itself, such as --format.
local function said(name)
  return cl.commandline and cl.commandline[name]
end

local function human(format)
  return format == nil or format == "table"
end

-- The file of the output: standard output, or the file of -o (rank 0 alone).
local function opened()
  local path = said "output"
  if path and said "rank" > 0 then
    path = "/dev/null"
  end
  if not path then
    return io.stdout
  end
  local file, message = io.open(path, "wb")
  if not file then
    io.stderr:write(text.message(("clshell: cannot write the results: %s\n")
      :format(message)))
    os.exit(USAGE, true)
  end
  return file
end

-- The columns of a device for people; no title, as each cell says its noun.
local COLUMNS = {{key = 1, title = "", align = "right"},
  {key = 2, title = "", cut = 20}, {key = 3, title = ""},
  {key = 4, title = "", cut = 12}, {key = 5, title = "", align = "right"},
  {key = 6, title = "", align = "right"}}

-- The row of a device for programs: columns, and fields where the names
-- differ.
local DEVICE = {"index", "name", "type", "platform", "vendor", "version",
  "driver", "compute_units", "clock_Hz", "global_mem_B", "local_mem_B",
  "max_work_group_size", "double"}
local FIELDS = {driver = "driver_version", compute_units = "max_compute_units",
  clock_Hz = "max_clock_frequency", global_mem_B = "global_mem_size",
  local_mem_B = "local_mem_size"}

local function row_of(d)
  local row = {}
  for i = 1, #DEVICE - 1 do
    row[DEVICE[i]] = d[FIELDS[DEVICE[i]] or DEVICE[i]]
  end
  row.clock_Hz = row.clock_Hz and row.clock_Hz * 1000000
  row.double = d:has "cl_khr_fp64"
  return row
end

--- actions.devices() -> exit code
--- --devices: a line for each device, or the format of --format. Without
--- devices it raises, with advice.
function M.devices()
  local devices, format = cl.devices(), said "format"
  if #devices == 0 then
    cl.device()
  end
  local out = opened()
  if human(format) then
    local rows = {}
    for i, d in ipairs(devices) do
      rows[i] = {i, d.name, d.type, d.platform, text.count(d.max_compute_units,
        "unit"), ("%.1f GiB"):format(d.global_mem_size / 2^30)}
    end
    out:write(require "clshell.base.text_table".format(rows, COLUMNS,
      {width = out ~= io.stdout and math.huge or nil}), "\n")
    local version = require "clshell.parts.mpi.library".version()
    out:write(version and ("MPI for several processes: %s\n"):format(version)
      or "")
  else
    local rows = {}
    for i, d in ipairs(devices) do
      rows[i] = row_of(d)
    end
    out:write(require("clshell.results.export").rows(rows, format, DEVICE))
  end
  out:flush()
  return OK
end

local printed -- the file of -o, to which further -p go

--- actions.print(...)
--- -p: the values of an expression, in the format of --format; without a
--- format as the prompt shows them, uncut where they do not go to a terminal.
function M.print(...)
  local format, values = said "format", table.pack(...)
  printed = printed or opened()
  if not human(format) then
    printed:write(require("clshell.results.export").values(values, format))
  elseif values.n > 0 then
    local terminal = printed == io.stdout and cl.isatty(1)
    printed:write(require("clshell.shell.prompt.show").values(values, {
      color = terminal and style.color(1), all = not terminal,
      raw = not terminal}), "\n")
  end
  printed:flush()
end

-- The message for a name that is neither a script nor a command.
local function missing(name)
  local words = require "clshell.shell.commands.completion".words
  local names, bare = words.script(), name:match("[^/]*$")
  local first = #names + 1 -- the first of the commands
  table.move(words.command, 1, #words.command, first, names)
  local near = text.nearest(bare, names) or text.nearest(bare .. ".lua", names)
  local kind = ""
  for i, known in ipairs(names) do
    near = known == bare .. ".lua" and known or near
    kind = i >= first and known == near and "the command " or kind
  end
  return text.message(("cannot open %s: not there, nor in %s/scripts%s")
    :format(name, cl.home, near and ("; did you mean %s%s?"):format(kind, near)
      or ""))
end

--- actions.command(name, args) -> exit code or message
--- Runs a command such as history; a message if there is no such command.
function M.command(name, args)
  if name:find("/", 1, true) then
    return missing(name)
  end
  return require("clshell.shell.commands.subcommands").run(name, args)
    or missing(name)
end

-- The actions that other files do; `calls` serves the process that started
-- this process.

function M.calls()
  return require "clshell.calls".serve()
end

function M.check(...)
  return require "clshell.shell.commands.check_files".run(...)
end

function M.cuda(file)
  return require "clshell.shell.commands.check_files".cuda(file)
end

function M.doctor()
  return require "clshell.shell.commands.doctor".run()
end

function M.help()
  return require "clshell.shell.commands.usage".short()
end

function M.help_all()
  return require "clshell.shell.commands.usage".long()
end

function M.memcheck()
  return require "clshell.explain.memcheck".run(_G.arg)
end

-- Writes the text or the list of a kind, or the result of its function.
-- Returns the exit code.
local function write_kind(noun, kind, texts)
  if not texts[kind] then
    io.stderr:write("clshell: ", text.message(text.unknown(noun, kind,
      text.keys(texts))), "\n")
    return USAGE
  end
  local out = texts[kind]
  out = type(out) == "function" and out(table.move(arg, 0, #arg, 1, {})) or out
  io.write(type(out) == "table" and table.concat(out, "\n") .. "\n" or out)
  return OK
end

--- actions.manual(kind) -> exit code
--- --manual: prints a file that make install installs, "man" or the
--- completion for "bash", "zsh" or "fish"; "html" opens the page of the word
--- behind it.
function M.manual(kind)
  return write_kind("manual", kind,
    require "clshell.shell.commands.completion".files)
end

--- actions.complete(kind) -> exit code
--- --complete: prints the words of a kind, one a line, for the completions of
--- shells; for "line" the words that may stand last behind `--`.
function M.complete(kind)
  return write_kind("words", kind,
    require "clshell.shell.commands.completion".words)
end

return M

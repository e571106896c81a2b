-- cli/store_commands.lua - the commands `clshell history`, best, compare,
-- export, import and prune: the run store from the command line
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local script = require "clshell.base.script"
local store = require "clshell.store"
local text = require "clshell.base.text"

local M = {}

local OK, FAILED, REGRESSION = 0, 1, 4 -- exit codes
local MOST = 1000 -- per cent that a limit may say

local EPILOG = "The run store is clshell/runs.db in $XDG_DATA_HOME "
  .. "(~/.local/share); CLSHELL_STORE and --store name another file."

-- Converters of argparse: the value, or nil and a message.

local function count(s)
  local n = math.tointeger(tonumber(s:match("^%d+$")))
  return n, not n and ("a count must be a whole number; got '%s'"):format(s)
    or nil
end

local function percent(s)
  local x = tonumber(s:match("^(%d*%.?%d+)%%?$"))
  if not x or x <= 0 or x > MOST then
    return nil, ("a limit must be a percentage > 0, such as 3%%; got '%s'")
      :format(s)
  end
  return x / 100
end

local function moment(s)
  local at, message = store.moment(s)
  return at and s, message
end

-- The options of a command: name, description, and if there are any, the name
-- of the value and a converter.
local STORE = {"--store", "file of the run store", "FILE"}
local FILTERS = {
  {"--name", "of this bench, kernel or family only"},
  {"--device", "of devices with this in their name only"},
  {"--tag", "with this tag only"},
  {"--since", "not older than 12h, 7d, 4w or a date", "TIME", moment},
  {"--limit", "so many of the newest runs", "N", count},
}

-- The value of an option of clshell itself, such as --format.
local function said(name)
  return cl.commandline and cl.commandline[name]
end

-- Declares options, or arguments: `method` of the parser.
local function declare(parser, method, list)
  for _, row in ipairs(list or {}) do
    local entry = parser[method](parser, row[1], row[2])
    if row[3] then
      entry:argname(row[3])
    end
    if row[4] then
      entry:convert(row[4])
    end
  end
end

-- --format, whose value is that of clshell itself if it is among the choices.
local function declare_format(parser, default)
  local choices = {default ~= "table" and "runs" or "table",
    table.unpack(require("clshell.report.export").formats)}
  for _, format in ipairs(choices) do
    default = said "format" == format and format or default
  end
  parser:option("-f --format", "how to print", default):choices(choices)
end

local function filter_of(o)
  return {name = o.name, device = o.device, tag = o.tag, since = o.since,
    limit = o.limit}
end

-- The store that the options name, which has to be there already unless
-- `create` is true.
local function open(o, create)
  if o.store then
    store.use(o.store)
  end
  local path, reason = store.location()
  local s
  if path then
    s, reason = store.open(path, {create = create or false})
  end
  return s or cl.error(reason)
end

local function records(s, filter)
  local list = {}
  for r in s:runs(filter) do
    list[#list + 1] = r
  end
  return list
end

-- Prints the outcome of a command, unless -q was given.
local function note(format, ...)
  if not said "quiet" then
    io.stderr:write(format:format(...))
  end
end

local function opened(path, mode)
  local f, message = io.open(path, mode)
  return f or cl.error("cannot open " .. message)
end

-- Prints a list as a table, or its records in another format, to the file of
-- a path or of clshell's own -o if there is one.
local function show(list, format, runs, path)
  local out = path or said "output" or io.stdout
  if format == "table" then
    file.write(out, tostring(list) .. "\n", "the results")
  else
    require("clshell.report.export").write(runs, format, out)
  end
  return OK
end

--- store_commands.names
--- The names of the commands.
M.names = {"history", "best", "compare", "export", "import", "prune"}

-- By name: a description, the default format, the options and arguments, and
-- the function `run`.
local COMMANDS = {
  history = {"What became of each bench: its runs, the newest median, and all "
    .. "medians as a line of bars, oldest first.", format = "table",
    options = FILTERS},
  best = {"The fastest run of each bench, problem and device that was right, "
    .. "and whether source or driver changed since.", format = "table",
    options = FILTERS},
  compare = {"What became of runs A in runs B: "
    .. "FASTER, SLOWER, SAME or UNCLEAR. A and B are the number of a run, "
    .. "'last' ('last~1' is the one before), or a tag: then runs of the same "
    .. "bench, problem and device are compared.",
    arguments = {{"a", "runs to compare with", "A"},
      {"b", "runs to judge", "B"}},
    options = {{"--fail-on-regression", "exit with 4 where B is slower by "
      .. "more than this, such as 3%, or fails where A did not", "PERCENT",
      percent}}},
  export = {"Writes runs with their samples. The format runs, one JSON object "
    .. "a line, has all that the store knows, for clshell import; the others "
    .. "are for other programs.", format = "runs", options = FILTERS,
    last = {{"-o --output", "file to write; otherwise standard output",
      "FILE"}}},
  import = {"Takes runs into the store that clshell export has written, all "
    .. "or none; those it has already stay single.",
    arguments = {{"file", "what to read; - is standard input"}}},
  prune = {"Forgets runs: those that all of the "
    .. "options given fit, but never the newest --keep of a bench, problem "
    .. "and device. --keep alone forgets all others.",
    options = {{"--name", "of this bench, kernel or family"},
      {"--device", "of devices with this in their name"},
      {"--tag", "with this tag"},
      {"--older-than", "older than 12h, 7d, 4w or a date", "TIME", moment},
      {"--keep", "so many to keep of each", "N", count}}},
}

function COMMANDS.history.run(o)
  local s <close> = open(o)
  return show(s:history(filter_of(o)), o.format, o.format ~= "table"
    and records(s, filter_of(o)))
end

function COMMANDS.best.run(o)
  local s <close> = open(o)
  local list = s:best(filter_of(o))
  return show(list, o.format, list)
end

function COMMANDS.compare.run(o)
  local s <close> = open(o)
  local limit = o.fail_on_regression
  local threshold = require("clshell.store.regression").THRESHOLD
  local list = s:compare(o.a, o.b, {
    threshold = limit and math.min(limit, threshold)})
  io.write(tostring(list), "\n")
  local worse = limit and #list:regressions(limit) or 0
  if worse > 0 then
    io.stderr:write(("clshell compare: %d of %d regressed\n"):format(worse,
      #list))
    return REGRESSION
  end
  return OK
end

function COMMANDS.export.run(o)
  o.output = o.output or said "output"
  local s <close> = open(o)
  if o.format ~= "runs" then
    return show(nil, o.format, records(s, filter_of(o)), o.output)
  end
  local out = o.output and opened(o.output, "wb") or io.stdout
  s:export(out, filter_of(o))
  local ok, message = out:flush()
  return ok and OK or cl.error("cannot write the runs: " .. message)
end

function COMMANDS.import.run(o)
  local f = o.file == "-" and io.stdin or opened(o.file, "rb")
  local s <close> = open(o, true)
  note("%d runs added, %d were there already\n", s:import(f))
  return OK
end

function COMMANDS.prune.run(o, parser)
  local filter = {name = o.name, device = o.device, tag = o.tag,
    older_than = o.older_than, keep = o.keep}
  if next(filter) == nil then
    parser:error("say which runs to forget")
  end
  local s <close> = open(o)
  note("%d runs forgotten\n", s:prune(filter))
  return OK
end

--- store_commands.declared(name, make) -> parser
--- The options of a command, declared to the result of make(name,
--- description, epilog), a parser of argparse or another with its methods.
function M.declared(name, make)
  local command = COMMANDS[name]
  local parser = make("clshell " .. name, command[1], EPILOG)
  declare(parser, "option", {STORE})
  declare(parser, "argument", command.arguments)
  declare(parser, "option", command.options)
  if command.format then
    declare_format(parser, command.format)
  end
  declare(parser, "option", command.last)
  return parser
end

--- store_commands.run(name, args) -> exit code, or nil
--- Runs a command with its arguments; nil for other names.
--- A mistake in the arguments prints the usage and exits with 2.
function M.run(name, args)
  if not COMMANDS[name] then
    return nil
  end
  local parser = M.declared(name, script.parser)
  local o = parser:parse{[0] = name, table.unpack(args)}
  local ok, result = xpcall(COMMANDS[name].run,
    require "clshell.failure".keep, o, parser)
  if ok then
    return result
  elseif type(result) == "table" and result.message and not result.code
      and not require "clshell.base.interrupt".is(result) then
    io.stderr:write(text.message(("clshell %s: %s\n"):format(name,
      result.message)))
    return FAILED
  end
  error(result, 0)
end

return M

-- cli/store_commands.lua - the commands `clshell history`, best, compare,
-- export, import and prune: the run store from the command line
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local script = require "clshell.base.script"
local store = require "clshell.store"

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

local make = script.parser -- makes a parser, or a recorder for M.declared

local function parser_of(name, description)
  local parser = make("clshell " .. name, description, EPILOG)
  parser:option("--store", "file of the run store"):argname("FILE")
  return parser
end

local function filters(parser)
  parser:option("--name", "of this bench, kernel or family only")
  parser:option("--device", "of devices with this in their name only")
  parser:option("--tag", "with this tag only")
  parser:option("--since", "not older than 12h, 7d, 4w or a date")
    :argname("TIME"):convert(moment)
  return parser
end

local function limited(parser)
  parser:option("--limit", "so many of the newest runs"):argname("N")
    :convert(count)
  return parser
end

-- The value of clshell's own --format, if it is among the choices.
local function said(choices)
  for _, format in ipairs(choices) do
    if cl.commandline and cl.commandline.format == format then
      return format
    end
  end
end

local function formatted(parser, default)
  local choices = {default ~= "table" and "runs" or "table",
    table.unpack(require("clshell.report.export").formats)}
  parser:option("--format", "how to print", said(choices) or default)
    :choices(choices)
  return parser
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
  if not (cl.commandline and cl.commandline.quiet) then
    io.stderr:write(format:format(...))
  end
end

local function opened(path, mode)
  local file, message = io.open(path, mode)
  return file or cl.error("cannot open " .. message)
end

-- Prints a list as a table, or its records in another format, to
-- the file of clshell's own -o if there is one.
local function show(list, format, runs)
  local path = cl.commandline and cl.commandline.output
  local out <close> = path and opened(path, "wb")
  if format == "table" then
    (out or io.stdout):write(tostring(list), "\n")
  else
    require("clshell.report.export").write(runs(), format, out or io.stdout)
  end
  return OK
end

local commands, declare = {}, {} -- by name: its work; its options

--- store_commands.names
--- The names of the commands.
M.names = {"history", "best", "compare", "export", "import", "prune"}

function declare.history()
  return formatted(limited(filters(parser_of("history",
    "What became of each bench: its runs, the newest median, and all medians "
    .. "as a line of bars, oldest first."))), "table")
end

function commands.history(o)
  local s <close> = open(o)
  return show(s:history(filter_of(o)), o.format, function()
    return records(s, filter_of(o))
  end)
end

function declare.best()
  return formatted(limited(filters(parser_of("best",
    "The fastest run of each bench, problem and device that was right, and "
    .. "whether source or driver changed since."))), "table")
end

function commands.best(o)
  local s <close> = open(o)
  local list = s:best(filter_of(o))
  return show(list, o.format, function()
    return list
  end)
end

function declare.compare()
  local parser = parser_of("compare", "What became of runs A in runs B: "
    .. "FASTER, SLOWER, SAME or UNCLEAR. A and B are the number of a run, "
    .. "'last' ('last~1' is the one before), or a tag: then runs of the same "
    .. "bench, problem and device are compared.")
  parser:argument("a", "runs to compare with"):argname("A")
  parser:argument("b", "runs to judge"):argname("B")
  parser:option("--fail-on-regression", "exit with 4 where B is slower by "
    .. "more than this, such as 3%, or fails where A did not")
    :argname("PERCENT"):convert(percent)
  return parser
end

function commands.compare(o)
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

declare["export"] = function()
  local parser = formatted(limited(filters(parser_of("export",
    "Writes runs with their samples. The format runs, one JSON object a line, "
    .. "has all that the store knows, for clshell import; the others are for "
    .. "other programs."))), "runs")
  parser:option("-o --output", "file to write; otherwise standard output")
    :argname("FILE")
  return parser
end

commands["export"] = function(o)
  o.output = o.output or cl.commandline and cl.commandline.output
  local s <close> = open(o)
  if o.format ~= "runs" then
    require("clshell.report.export").write(records(s, filter_of(o)), o.format,
      o.output)
    return OK
  end
  local out = o.output and opened(o.output, "wb") or io.stdout
  s:export(out, filter_of(o))
  local ok, message = out:flush()
  return ok and OK or cl.error("cannot write the runs: " .. message)
end

declare["import"] = function()
  local parser = parser_of("import", "Takes runs into the store that clshell "
    .. "export has written, all or none; those it has already stay single.")
  parser:argument("file", "what to read; - is standard input")
  return parser
end

commands["import"] = function(o)
  local file = o.file == "-" and io.stdin or opened(o.file, "rb")
  local s <close> = open(o, true)
  local added, known = s:import(file)
  note("%d runs added, %d were there already\n", added, known)
  return OK
end

function declare.prune()
  local parser = parser_of("prune", "Forgets runs: those that all of the "
    .. "options given fit, but never the newest --keep of a bench, problem "
    .. "and device. --keep alone forgets all others.")
  parser:option("--name", "of this bench, kernel or family")
  parser:option("--device", "of devices with this in their name")
  parser:option("--tag", "with this tag")
  parser:option("--older-than", "older than 12h, 7d, 4w or a date")
    :argname("TIME"):convert(moment)
  parser:option("--keep", "so many to keep of each"):argname("N")
    :convert(count)
  return parser
end

function commands.prune(o, parser)
  local what = {name = o.name, device = o.device, tag = o.tag,
    older_than = o.older_than, keep = o.keep}
  if next(what) == nil then
    parser:error("say which runs to forget")
  end
  local s <close> = open(o)
  note("%d runs forgotten\n", s:prune(what))
  return OK
end

--- store_commands.declared(name, maker) -> parser
--- The options of a command, declared to the result of maker(name,
--- description) in place of a parser of argparse.
function M.declared(name, maker)
  make = maker
  local ok, parser = pcall(declare[name])
  make = script.parser
  return ok and parser or error(parser, 0)
end

--- store_commands.run(name, args) -> exit code, or nil
--- Runs a command with its arguments; nil for other names.
--- A mistake in the arguments prints the usage and exits with 2.
function M.run(name, args)
  local command = commands[name]
  if not command then
    return nil
  end
  local parser = declare[name]()
  local o = parser:parse{[0] = name, table.unpack(args)}
  local ok, result = xpcall(command, require "clshell.failure".keep, o,
    parser)
  if ok then
    return result
  elseif type(result) == "table" and result.message and not result.code
      and not require "clshell.base.interrupt".is(result) then
    io.stderr:write(("clshell %s: %s\n"):format(name, result.message))
    return FAILED
  end
  error(result, 0)
end

return M

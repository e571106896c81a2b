-- shell/commands/store_commands.lua - the commands `clshell history`, best,
-- compare, export, import and prune, as subcommands.lua takes them: the run
-- store from the command line
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local store = require "clshell.results.store"

local OK, REGRESSION = 0, 4 -- exit codes
local MOST = 1000 -- the largest limit in per cent

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

-- The options of a command: name, description, and, for an option with a
-- value, the name of the value and a converter.
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

-- The row of --format; its default is clshell's own --format, if that is among
-- the choices.
local function format_option(default)
  return function()
    local choices = {default ~= "table" and "runs" or "table",
      table.unpack(require("clshell.results.export").formats)}
    for _, format in ipairs(choices) do
      default = said "format" == format and format or default
    end
    return {"-f --format", "how to print", default = default,
      choices = choices}
  end
end

-- The options --store, the filters of runs, and further options.
local function options(filters, ...)
  return {STORE, table.unpack(table.move({...}, 1, select("#", ...),
    #filters + 1, {table.unpack(filters)}))}
end

local function filter_of(o)
  return {name = o.name, device = o.device, tag = o.tag, since = o.since,
    limit = o.limit}
end

-- The store that the options name; it must exist unless `create` is true.
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
  local open_file = mode == "rb" and file.open or io.open
  local f, message = open_file(path, mode ~= "rb" and mode or nil)
  return f or cl.error("cannot open " .. message)
end

-- Prints a list as a table, or its records in another format, to the file of a
-- path or of clshell's own -o, if given.
local function show(list, format, runs, path)
  local out = path or said "output" or io.stdout
  if format == "table" then
    local width = out ~= io.stdout and math.huge or nil -- uncut in a file
    file.write(out, list:table{width = width} .. "\n", "the results")
  else
    require("clshell.results.export").write(runs, format, out)
  end
  return OK
end

local COMMANDS = {
  history = {"Each bench over time: its runs, the newest median, and all "
    .. "medians as a line of bars, oldest first; of a NAME, also the steps to "
    .. "faster or slower times, with the version of the source.",
    arguments = {{"subject", "a bench, kernel or family, as --name",
      "NAME", args = "?"}},
    options = options(FILTERS, format_option "table", {"-o --output",
      "file to write; .html: a page with a curve over the runs", "FILE"})},
  best = {"The fastest run of each bench, problem and device that was right, "
    .. "and whether source or driver changed since.",
    options = options(FILTERS, format_option "table")},
  compare = {"Compares runs B with runs A: "
    .. "FASTER, SLOWER, SAME or UNCLEAR. A and B are the number of a run, "
    .. "'last' ('last~1' is the one before), or a tag: then runs of the same "
    .. "bench, problem and device are compared.",
    arguments = {{"a", "runs to compare with", "A"},
      {"b", "runs to judge", "B"}},
    options = {STORE, {"--fail-on-regression", "exit with 4 where B is slower "
      .. "by more than this, such as 3%, or fails where A did not", "PERCENT",
      percent}, format_option "table"}},
  export = {"Writes runs with their samples. The format runs, one JSON object "
    .. "a line, has all that the store knows, for clshell import; the others "
    .. "are for other programs.",
    options = options(FILTERS, format_option "runs", {"-o --output",
      "file to write; otherwise standard output", "FILE"})},
  import = {"Takes runs that clshell export has written into the store, all "
    .. "or none, and each run once.", options = {STORE},
    arguments = {{"file", "file to read; - is standard input",
      files = true}}},
  prune = {"Forgets the runs that fit all options "
    .. "given, but never the newest --keep of a bench, problem "
    .. "and device. --keep alone forgets all other runs.",
    options = {STORE, {"--name", "of this bench, kernel or family"},
      {"--device", "of devices with this in their name"},
      {"--tag", "with this tag"},
      {"--older-than", "older than 12h, 7d, 4w or a date", "TIME", moment},
      {"--keep", "so many to keep of each", "N", count}}},
}

function COMMANDS.history.run(o, parser)
  local path = o.output or said "output"
  if o.subject and o.name and o.subject ~= o.name then
    parser:error(("one name must be given; got '%s' and --name %s"):format(
      o.subject, o.name))
  end
  o.name = o.subject or o.name
  local s <close> = open(o)
  local filter = filter_of(o)
  if path and path:lower():find "%.html$" then
    filter.file = path
    note("%d subjects in %s\n", #s:history(filter), path)
    return OK
  end
  local suffix = path and path:lower():match "%.(%w+)$"
  if o.format == "table" and (suffix == "csv" or suffix == "json"
      or suffix == "md") then
    o.format = suffix
  end
  return show(s:history(filter), o.format, o.format ~= "table"
    and records(s, filter), path)
end

function COMMANDS.best.run(o)
  local s <close> = open(o)
  local list = s:best(filter_of(o))
  return show(list, o.format, list)
end

local COMPARED = {"name", "parameters", "problem", "A ms", "B ms", "change %",
  "from %", "to %", "p", "B is", "note"}

-- A comparison for other programs; in Markdown, for people, it is rounded.
local function exported(list, format)
  local rows, columns = {}, {}
  for i, r in ipairs(list) do
    local function number(x, form)
      return x and (format == "md" and form:format(x) or x)
    end
    rows[i] = {name = r.name, parameters = r.config, problem = r.title,
      ["A ms"] = number(r.before and 1e3 * r.before, "%.4g"),
      ["B ms"] = number(r.median and 1e3 * r.median, "%.4g"),
      ["change %"] = number(r.change, "%+.1f"),
      ["from %"] = number(r.lo and 100 * (r.lo - 1), "%+.1f"),
      ["to %"] = number(r.hi and 100 * (r.hi - 1), "%+.1f"),
      p = number(r.p, "%.1g"),
      ["B is"] = r.verdict, note = r.note}
  end
  for _, key in ipairs(COMPARED) do
    for _, row in ipairs(rows) do
      columns[#columns + 1] = row[key] and columns[#columns] ~= key and key
        or nil
    end
  end
  return require("clshell.results.export").rows(rows, format, columns)
end

function COMMANDS.compare.run(o)
  local s <close> = open(o)
  local limit = o.fail_on_regression
  local threshold = require("clshell.results.history").THRESHOLD
  local list = s:compare(o.a, o.b, {
    threshold = limit and math.min(limit, threshold)})
  file.write(said "output" or io.stdout, o.format == "table"
    and tostring(list) .. "\n" or exported(list, o.format), "the results")
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

for _, command in pairs(COMMANDS) do
  command.epilog = EPILOG
end

return COMMANDS

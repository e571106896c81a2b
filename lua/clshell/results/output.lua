-- results/output.lua - the output of a script that measures: tables for people
-- as they come; all results for a program at the end or at Ctrl-C
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local export = require "clshell.results.export"
local fields = require "clshell.results.fields"
local quantity = require "clshell.base.quantity"
local options = require "clshell.base.options"
local record = require "clshell.measure.record"
local report = require "clshell.results.tables"
local script = require "clshell.base.script"
local store = require "clshell.results.store"
local style = require "clshell.base.style"
local system = require "clshell.system"
local text = require "clshell.base.text"

local KEEP = 1 -- seconds between two writes of the results so far

local M = {}
local Output, Part = {}, {}
Output.__index, Part.__index = Output, Part

-- output.rows
-- The rows of output.options, for script.declare and for the manual page.
M.rows = {
  {"--format", "print the results as csv, json or md in place of tables",
    "FORMAT", choices = export.formats},
  {"-o --output", "write the results to a file as well: .csv, .json, .md, "
    .. ".html, or as --format says", "FILE"},
  {"--store", "the run store to keep them in, or none", "FILE"},
  {"--tag", "of the runs in the store", "NAME"},
  {"--color", "always, never or auto (the default)",
    choices = {"always", "never", "auto"}},
}

--- output.options(parser)
--- Adds the options of all scripts that measure: --format, --output, --store,
--- --tag, --color.
--- Example: as for output.open
function M.options(parser)
  script.declare(parser, M.rows)
end

local SUFFIXES = text.set("html " .. table.concat(export.formats, " "))

-- Raises, before any measurement, if the file cannot be written. Returns its
-- format, and its size, nil for a new file.
local function check_file(parser, args)
  local suffix = args.output:lower():match("%.(%w+)$")
  local format = args.format or SUFFIXES[suffix] and suffix
  if not format then
    parser:error(("the name of an output file must end with .csv, .json, .md "
      .. "or .html unless --format is given; got '%s'"):format(args.output))
  end
  local earlier = system.kind(args.output)
  local file <close>, message = io.open(args.output, "ab")
  if not file then
    parser:error("cannot write the results: " .. message)
  end
  return format, earlier and (file:seek("end") or 0)
end

--- output.said(args)
--- Completes arguments without a format or an output by the options of clshell
--- itself.
--- Example:
--- local parser = script.parser("mine", "a script with a format of its own")
--- parser:option("--format", "how to print"):choices{"csv", "json"}
--- local args = parser:parse{"--format", "csv"}
--- output.said(args) -- what `clshell --format` and -o said, where it is nil
--- print(args.format) --> csv
function M.said(args)
  local options_of_clshell = cl.commandline or {}
  args.output = args.output or options_of_clshell.output
  options_of_clshell.taken = true
  if options_of_clshell.format ~= "table" then
    args.format = args.format or options_of_clshell.format
  end
end

--- output.open(parser, args) -> out
--- The output of a script whose parser has output.options, for its arguments:
--- local out <close> = output.open(parser, args). An output file or a store
--- that cannot be written ends the script with 2 before any measurement. When
--- the output is closed, the file has the results of this run, also after
--- Ctrl-C and errors. A run without results moves an older file to FILE.old,
--- and says so. Of several processes that mpirun starts, rank 0 alone writes
--- the file.
--- Example:
--- local parser = script.parser("mine", "measures something of mine")
--- output.options(parser) -- --format, --output, --store, --tag, --color
--- local out <close> = output.open(parser, parser:parse{})
--- out:mute(cl.commandline.rank > 0) -- one of several processes prints
--- out:heading "Matrices of 64x64"
--- out:say "only for people: not with --format csv"
--- do
---   local part <close> = out:part{columns = {"name", "time"}, steps = 2}
---   part:step "the first of two"
---   part:add(bench.of("a", {0.01}))
--- end
--- out:add(bench.of("b", {0.02})) -- in no table; in the file of -o
function M.open(parser, args)
  if args.color then
    style.use(args.color)
  end
  M.said(args)
  if cl.commandline and cl.commandline.rank > 0 then
    args.output = nil -- rank 0 alone writes it
  end
  record.tag = args.tag
  if args.store then
    store.use(args.store)
    local opened, reason = store.default()
    if not opened and args.store ~= "none" then
      parser:error(("--store %s: %s"):format(args.store, reason))
    end
  end
  local format, size = args.format, nil
  if args.output then
    format, size = check_file(parser, args)
  end
  return setmetatable({results = {}, format = format, file = args.output,
    size = size, people = not format or args.output ~= nil}, Output)
end

--- out:mute(yes)
--- Prints nothing from now on, and writes no file: for every process of mpirun
--- but rank 0, where ranks work together.
--- Example: as for output.open
function Output:mute(yes)
  if yes then
    self.people, self.format, self.file = false, nil, nil
  end
end

--- out:say(words)
--- Prints words for people: nothing where standard output is for a program. A
--- function in place of the words returns them; a program's run skips it.
--- Example: as for output.open
function Output:say(words)
  if self.people then
    words = type(words) == "function" and words() or words
    if self.headed then -- one blank line is enough
      words = words:gsub("^\n", "")
    end
    self.headed = false
    print(words)
    io.stdout:flush()
  end
end

--- out:heading(title)
--- Prints a title, and the device on a line of its own.
--- Example: as for output.open
function Output:heading(title)
  self:say(("%s\non %s\n"):format(title, cl.device().name))
  self.headed = true
end

--- out:part(opts) -> part
--- A table to come: part:step(label) announces a step on stderr,
--- part:add(result) takes a row, and prints it. Its close says which columns
--- had no room, and the best row, also after Ctrl-C and errors: local part
--- <close> = out:part{...}. `peak`, `base`, `title` may be set before a row.
--- Options:
---   title    none    a title above the table
---   columns  needed  as for report.format
---   steps    -       the number of steps
---   by       gflops  the field that is compared with the peak
---   best     by      the field whose best row is marked
---   peak     -       see report.relate
---   base     -       see report.relate; or the row by its kernel; "first"
---   whole    false   true: the table comes as a whole, at the close
--- Example: as for output.open
function Output:part(opts)
  options.check(opts, "out:part")
  return setmetatable({out = self, rows = {}, title = opts.title,
    columns = opts.columns, by = opts.by or "gflops", peak = opts.peak,
    best = opts.best or opts.by or "gflops", whole = opts.whole,
    base = opts.base, progress = script.progress(opts.steps or 1)}, Part)
end

--- part:step(label)
--- Announces the next step on stderr.
--- Example: as for output.open
function Part:step(label)
  self.progress:step(label)
end

-- Writes the results so far to the file, now and then: a process that is
-- killed leaves them.
local function keep(out)
  local plain = out.file and out.format ~= "html"
    and not out.file:find("^/dev/")
  if plain and cl.now() >= (out.kept or -math.huge) + KEEP then
    pcall(export.write, out.results, out.format, out.file)
    out.kept = cl.now()
  end
end

--- out:add(result)
--- Takes the result of a bench that no table shows.
--- Example: as for output.open
function Output:add(r)
  self.results[#self.results + 1] = r
  keep(self)
end

-- Prints a row, the first one below the title and the head of the table, which
-- has columns for the share of a peak and for speed-ups if they are known.
local function print_row(part, r)
  report.relate({r}, {by = part.by, peak = part.peak,
    base = type(part.base) == "table" and part.base})
  local columns = {}
  for _, column in ipairs(part.columns) do
    local key = fields.columns[column] and fields.columns[column].key
      or column.key
    columns[#columns + 1] = (key ~= "percent" or r.percent or not r.ms)
      and (key ~= "speedup" or part.base) and column or nil
  end
  local first = not part.lines and part.title and part.title .. "\n" or ""
  part.lines = part.lines or report.live(columns)
  part.progress:done()
  part.out:say(first .. part.lines(r))
end

--- part:add(result) -> result
--- Takes the result of a bench as the next row.
--- Example: as for output.open
function Part:add(r)
  self.rows[#self.rows + 1] = r
  self.out:add(r)
  if self.base == "first" or self.base == (r.kernel or r.name) then
    self.base = r
  end
  if not self.whole and self.out.people then
    print_row(self, r)
  end
  local best = fields.best(self.rows, self.best)
  local x = best and fields.base(self.rows[best], self.best)
  if x then
    self.progress:note("best " .. quantity.format(x,
      fields.about(self.best).unit, 3))
  end
  return r
end

-- Calls f at a close, which an error e may cause: e goes on, and an error of f
-- is printed beside it.
local function finish(e, f, ...)
  if e == nil then
    return cl.undisturbed(f, ...)
  end
  local ok, message = cl.undisturbed(pcall, f, ...)
  if not ok then
    io.stderr:write("clshell: ", text.message(tostring(message)), "\n")
  end
end

local function show(part, e)
  part.progress:done()
  if bench.interrupted(e) and type(e) == "table" and e.record
      and e.record.median then
    part:add(e.record)
    e.record, e.hint = nil, nil
  end
  if #part.rows == 0 then
    return
  end
  report.relate(part.rows, {by = part.by, peak = part.peak,
    base = type(part.base) == "table" and part.base})
  if part.whole then
    return part.out:say((part.title and part.title .. "\n" or "")
      .. report.format(part.rows, part.columns, {best = part.best,
        color = style.color(1)}))
  end
  local words = {part.lines and part.lines()}
  local best = part.rows[2] and part.rows[fields.best(part.rows, part.best)]
  if best then
    words[#words + 1] = style.paint(table.concat(text.wrap(("best: %s%s%s")
      :format(best.label or best.kernel or best.name, best.config
      and best.config ~= "" and " " .. best.config or "", best.speedup
      and best ~= part.base and (", %.3g times as fast as %s"):format(
      best.speedup, part.base.kernel or part.base.name) or ""),
      report.width()), "\n"), "bold", style.color(1))
  end
  if words[1] then
    part.out:say(table.concat(words, "\n"))
  end
end

function Part:__close(e)
  finish(e, show, self, e)
end

-- Says that there are no results, and removes a file that looks like results:
-- an empty file of this run, or the results of an earlier run.
local function write_none(out)
  local file, state = out.file, " is empty"
  if out.size == nil then
    os.remove(file)
    state = " is not written"
  elseif out.size > 0 and not file:find("^/dev/") then
    local moved, reason = os.rename(file, file .. ".old")
    state = moved and (" of an earlier run is %s.old now"):format(file)
      or " is of an earlier run: " .. reason
  end
  io.stderr:write(text.message(("clshell: no results; %s%s\n"):format(file,
    state)))
end

-- The results for a program: to the file, else to standard output.
local function write(out)
  if #out.results == 0 then
    return out.file and write_none(out)
  elseif not out.format then
    return
  elseif out.format == "html" then
    require("clshell.results.html").write(out.results, out.file)
  else
    export.write(out.results, out.format, out.file)
  end
  if out.file then
    out:say(("\n%d results in %s"):format(#out.results, out.file))
  end
end

function Output:__close(e)
  finish(e, write, self)
end

return M

-- output.lua - where the results of a script go: tables for people as they
-- come; all results, for another program, at the end or when Ctrl-C comes
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local export = require "clshell.report.export"
local fields = require "clshell.measure.record_fields"
local quantity = require "clshell.base.quantity"
local options = require "clshell.base.options"
local record = require "clshell.measure.record"
local report = require "clshell.report"
local script = require "clshell.base.script"
local store = require "clshell.store"
local style = require "clshell.base.style"

local KEEP = 1 -- seconds between two writes of the results so far

local M = {}
local Output, Part = {}, {}
Output.__index, Part.__index = Output, Part

--- output.options(parser)
--- Adds the options that all scripts share which measure: --format, --output,
--- --store, --tag, --color.
function M.options(parser)
  parser:option("--format", "print the results as csv, json, ndjson, md or "
    .. "t4 in place of tables"):argname("FORMAT")
    :choices(export.formats)
  parser:option("-o --output", "write the results to a file as well: .csv, "
    .. ".json, .ndjson, .md, .html, or as --format says"):argname("FILE")
  parser:option("--store", "the run store to keep them in, or none")
    :argname("FILE")
  parser:option("--tag", "of the runs in the store"):argname("NAME")
  parser:option("--color", "always, never or auto (the default)")
    :choices{"always", "never", "auto"}
end

-- The format of a file by its name, nil where that does not tell.
local function format_of(path)
  local suffix = path:lower():match("%.(%w+)$")
  for _, name in ipairs{"html", table.unpack(export.formats)} do
    if suffix == name then
      return name
    end
  end
end

-- Sees that the file can be written before anything is measured. Returns
-- its format, and the bytes that it has already; nil: there was none.
local function check_file(parser, args)
  local format = args.format or format_of(args.output)
  if not format then
    parser:error(("'%s': its format is told by --format, or by .csv, .json, "
      .. ".ndjson, .md, .t4 or .html"):format(args.output))
  end
  local earlier = io.open(args.output, "r+b")
  local size = earlier and (earlier:seek("end") or 0)
  if earlier then
    earlier:close()
  end
  local file, message = io.open(args.output, "ab")
  if not file then
    parser:error("cannot write the results: " .. message)
  end
  file:close()
  return format, size
end

--- output.said(args)
--- Takes format and output from the options of clshell itself into arguments
--- that have none.
function M.said(args)
  local said = cl.commandline or {}
  args.output = args.output or said.output
  said.taken = true
  if said.format ~= "table" then
    args.format = args.format or said.format
  end
end

--- output.open(parser, args) -> out
--- What takes the results of a script whose parser has output.options, and
--- arguments args: local out <close> = output.open(parser, args). An output
--- file or a store that cannot be written ends the script with 2 before
--- anything is measured. When it is closed, the file has the results of this
--- run, after Ctrl-C and errors too. A run without any moves what an earlier
--- one left there to FILE.old, and says so.
function M.open(parser, args)
  if args.color then
    style.use(args.color)
  end
  M.said(args)
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

--- out:say(text)
--- Prints a text for people: nothing where standard output is for a program.
function Output:say(words)
  if self.people then
    print(words)
  end
end

--- out:heading(text)
--- Prints what is measured and on which device; long device names stand on a
--- line of their own.
function Output:heading(words)
  self:say(("%s\non %s\n"):format(words, cl.device().name))
end

--- out:lesson(rows)
--- Prints lesson.ladder of the rows of a part that is closed, for people.
function Output:lesson(rows)
  if self.people and #rows > 1 then
    print("\n" .. require("clshell.explain.lesson").ladder(rows))
  end
end

--- out:part(opts) -> part
--- A table to come: part:step(label) announces a step of so many on stderr,
--- part:add(result) takes a row. It is printed when the part is closed, by
--- local part <close> = out:part{...}, after Ctrl-C and errors too. `peak` and
--- `base` may be set as fields later.
--- Options:
---   title    none    a line above the table
---   columns  needed  as for report.format
---   steps    -       how many there will be
---   by       gflops  the field that is related to the peak
---   best     by      the field whose best row is marked
---   peak, base  -    see report.relate
function Output:part(opts)
  options.check(opts, "out:part")
  return setmetatable({out = self, rows = {}, title = opts.title,
    columns = opts.columns, by = opts.by or "gflops", peak = opts.peak,
    best = opts.best or opts.by or "gflops",
    base = opts.base, progress = script.progress(opts.steps or 1)}, Part)
end

--- part:step(label)
--- Says on stderr, where that is a terminal, what is under way.
function Part:step(label)
  self.progress:step(label)
end

-- Writes the results so far to the file, now and then: what ends the process
-- does not take them.
local function keep(out)
  local plain = out.file and out.format ~= "html"
    and not out.file:find("^/dev/")
  if plain and cl.now() >= (out.kept or -math.huge) + KEEP then
    pcall(export.write, out.results, out.format, out.file)
    out.kept = cl.now()
  end
end

--- part:add(result) -> result
--- Takes the result of a bench as the next row.
function Part:add(r)
  self.rows[#self.rows + 1] = r
  self.out.results[#self.out.results + 1] = r
  keep(self.out)
  local best = fields.best(self.rows, self.best)
  local x = best and fields.base(self.rows[best], self.best)
  if x then
    self.progress:note("best " .. quantity.format(x,
      fields.about(self.best).unit, 3))
  end
  return r
end

-- Calls f when something is closed, by error e or none: e stands, and what
-- fails in f is said beside it.
local function finish(e, f, ...)
  if e == nil then
    return cl.undisturbed(f, ...)
  end
  local ok, message = cl.undisturbed(pcall, f, ...)
  if not ok then
    io.stderr:write("clshell: ", tostring(message), "\n")
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
    base = part.base})
  if part.title then
    part.out:say(part.title)
  end
  part.out:say(report.format(part.rows, part.columns, {best = part.best,
    color = style.color(1)}))
end

function Part:__close(e)
  finish(e, show, self, e)
end

-- Says that there are no results, and takes away what could pass for them: an
-- empty file that was made here, or the results of an earlier run.
local function write_none(out)
  local file, words = out.file, out.file .. " is empty"
  if out.size == nil then
    os.remove(file)
    words = file .. " is not written"
  elseif out.size > 0 and not file:find("^/dev/") then
    local moved, reason = os.rename(file, file .. ".old")
    words = moved and ("what an earlier run left in %s is in %s.old now")
      :format(file, file)
      or ("%s is of an earlier run: %s"):format(file, reason)
  end
  io.stderr:write(("clshell: no results; %s\n"):format(words))
end

-- The results for a program: to the file, else to standard output.
local function write(out)
  if #out.results == 0 then
    return out.file and write_none(out)
  elseif not out.format then
    return
  elseif out.format == "html" then
    require("clshell.report.html").write(out.results, out.file)
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

-- simulate/check.lua - check: what is wrong with a launch, found on the
-- simulator Oclgrind; without it, what guard bands around Buffers tell
-- SPDX-License-Identifier: MIT

local build_error = require "clshell.diagnose.build_error"
local cl = require "cl"
local excerpt = require "clshell.diagnose.excerpt"
local findings = require "clshell.simulate.findings"
local job_of = require "clshell.simulate.job"
local oclgrind = require "clshell.simulate.oclgrind"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local reports = require "clshell.simulate.reports"
local system = require "clshell.system"
local text = require "clshell.base.text"
local user_source = require "clshell.diagnose.user_source"

local M = require "clshell.base.lazy".table(...)

local LIMIT = 30     -- seconds for a launch
local SMALL = 1 << 12 -- work-items that need no estimate of the time

local BLIND = "without the simulator only writes next to Buffers are seen; "
  .. "reads outside, races, barriers and values that were never written are "
  .. "not"

-- What the simulator lacks, by words of a source that it cannot build.
local LACKS = {
  {"%f[%w_]half%d*%f[^%w_]", "half precision (cl_khr_fp16)"},
  {"sub_group", "sub-groups"},
  {"%f[%w_]_*asm_*%s", "inline assembly"}, {"%f[%w_]_*asm_*%(",
    "inline assembly"},
}

local Check = {__name = "check"}
Check.__index = Check

-- The source of a program as build_error wants it.
local function build_of(program)
  local path = program.file
  local source = path and excerpt.read(path) or program.source
  return {source = source, program = program:info().name, log = "",
    is_text = not path, literal = not path and user_source.literal(source)
    or nil}
end

-- A finding as lines: its message and the source, as of a failed build.
local function lines_of(f, build)
  local d = {kind = "error", text = f.text, line = f.line, column = f.column,
    file = f.file, notes = {}, also = {}}
  local o = f.other
  if o and o.line and (o.line ~= f.line or o.column ~= f.column) then
    d.notes[1] = {kind = "note", text = o.text, line = o.line,
      column = o.column, file = o.file, notes = {}, also = {}}
  end
  local lines = f.line and build_error.lines(build, {d})
    or {"error: " .. f.text}
  if f.times and f.times > 1 then
    lines[#lines + 1] = ("  %s%d times%s"):format(f.times >= oclgrind.ERRORS
      and "at least " or "", f.times, f.who and ", first by " .. f.who or "")
  elseif f.who then
    lines[#lines + 1] = "  by " .. f.who
  end
  return lines
end

function Check:__tostring()
  local n = #self.findings
  local head = ("check: %s in %s over %s, local %s"):format(n == 0
    and "no finding" or text.count(n, "finding"), self.kernel,
    text.shape(self.global), self.localsize and text.shape(self.localsize)
    or "left to the driver")
  local lines = {}
  table.move(text.wrap(head .. self.looked, system.winsize(1) or 80), 1, 9, 1,
    lines)
  self.build.width = system.winsize(1)
  for _, f in ipairs(self.findings) do
    table.move(lines_of(f, self.build), 1, 99, #lines + 1, lines)
  end
  if self.blind then
    table.move(text.wrap("note: " .. BLIND .. "; it is a package: "
      .. oclgrind.PACKAGES, system.winsize(1) or 80), 1, 9, #lines + 1, lines)
  end
  return table.concat(lines, "\n")
end

local function simulator_error(job, launch, message)
  local source = job.programs[launch.program].source
  for _, entry in ipairs(message:find("build error", 1, true) and LACKS
      or {}) do
    if source:find(entry[1]) then
      cl.error(("%s: the simulator has no %s, which %s needs"):format(
        job.what, entry[2], launch.kernel), {hint = "{guard = true} looks at "
        .. "the memory around Buffers, on the session's device"})
    end
  end
  cl.error(("%s: %s: %s"):format(job.what, launch.kernel, message))
end

-- Raises: the simulator would take, or has taken, too long.
local function too_long(job, limit, seconds)
  cl.error(("%s: %s over %s %s on the simulator; the limit is %g s"):format(
    job.what, job.launches[1].kernel, text.shape(job.launches[1].global),
    seconds and "takes about " .. quantity.format(seconds, "s", 2)
    or "takes longer", limit), {hint = "take fewer work-items with {size = "
    .. "n}, two work-groups with {shrink = true}, or wait with "
    .. "{limit = seconds}"})
end

local function groups_of(launch)
  local items, groups = 1, 1
  for i, n in ipairs(launch.global) do
    items = items * n
    groups = groups * ((n + launch.localsize[i] - 1) // launch.localsize[i])
  end
  return groups, items
end

local QUICK = {environment = {OCLGRIND_QUICK = "1"}}

-- Runs the job of one launch; a long one only after a look at its first and
-- last work-group. Returns the results and the words for a part of it.
local function simulate(job, opts)
  local limit = opts.limit or LIMIT
  local groups, items = groups_of(job.launches[1])
  local part = groups > 2 and (opts.shrink or items > SMALL)
  if part then
    local list, reason = oclgrind.run(job, limit, QUICK)
    local seconds = list and list[1].seconds * groups / 2
    if opts.shrink and list then
      return list, (", the first and the last of %d work-groups"):format(
        groups)
    elseif not list and reason == "time" or list and not list[1].error
        and seconds > limit then
      too_long(job, limit, seconds)
    end
  end
  local list, reason = oclgrind.run(job, limit)
  if reason == "time" then
    too_long(job, limit)
  end
  return list or {{error = reason}}, ""
end

-- The findings of guard bands, by the results of a child.
local function band_findings(launch, result)
  local list = {}
  for _, band in ipairs(result.bands) do
    for _, a in ipairs(launch.args) do
      local m = a.memory and job_of.settled(a.memory)
      if m and m.index == band.memory then
        list[#list + 1] = findings.band(a, band.first, band.last)
        break
      end
    end
  end
  return list
end

-- Runs the job's launch on its own device, with guard bands.
local function guard(job, device, limit)
  job.guarded = true
  local list, reason = oclgrind.run(job, limit, {device = device})
  if not list then
    return {{kind = "crash", text = reason == "time"
      and ("the launch did not end in %g s"):format(limit)
      or "the launch crashed its process: " .. reason}}
  elseif list[1].error then
    cl.error(("%s: %s"):format(job.what, list[1].error))
  end
  return band_findings(job.launches[1], list[1])
end

-- The findings `list` of a launch, which prints with them; `added` is the
-- launch as the job has it, `looked` ends the first line.
function M.result(launch, added, list, looked)
  return setmetatable({kernel = added.kernel, global = added.global,
    localsize = added.localsize, looked = looked, findings = list,
    ok = #list == 0, build = build_of(launch.kernel.program)}, Check)
end

-- Checks one launch.
local function check_launch(launch, args, opts)
  local job = job_of.new "check"
  local added = job_of.add(job, launch, args)
  if opts.size then
    added.global = type(opts.size) == "table" and opts.size or {opts.size}
    added.localsize = job_of.local_size(launch, added.global)
  end
  if opts.guard or not oclgrind.driver() then
    local r = M.result(launch, added, guard(job,
      launch.kernel.program.context.device, opts.limit or LIMIT), "")
    r.blind = true
    return r
  end
  local list, part = simulate(job, opts)
  local result = list[1]
  if result.error then
    simulator_error(job, added, result.error)
  end
  added.addresses = result.addresses
  return M.result(launch, added, findings.fold(reports.parse(result.log),
    added), part)
end

--- check(launch, args... [, opts]) -> check
--- What is wrong with a launch: `check(k:range(1000), 2.0, x, y)` runs it in
--- a child process, on the simulator Oclgrind and on copies of the arguments.
--- It finds, with the source lines, reads and writes outside Buffers and
--- arrays, races, barriers in divergent code, values that were never
--- written, misaligned vectors, writes to constant memory. The arguments and
--- the session stay as they are. `r.findings` is a list of {kind, text, line,
--- column, times, item}; `r.ok`: it is empty. The simulator executes some
--- million instructions a second; a launch that takes longer than the limit is
--- refused with the time that it needs. Without Oclgrind (see clshell
--- --doctor) guard bands around the Buffers tell of writes next to them.
--- Not found: the content of a Buffer that nothing has written, and races of
--- writes of one value. The simulator has no half precision, sub-groups or
--- inline assembly.
--- Options:
---   size    the launch's  global size, in place of the launch's
---   shrink  false         true: only the first and the last work-group
---   limit   30            seconds
---   guard   false         true: guard bands on the session's device
function M.run(launch, ...)
  local args, opts = table.pack(...), {}
  local count = text.class(launch) == "Launch" and #launch.kernel.args
  if count and args.n == count + 1 and type(args[args.n]) == "table" then
    opts, args.n = args[args.n], count
    args[count + 1] = nil
  end
  options.check(opts, "check")
  return check_launch(launch, args, opts)
end

return setmetatable(M, {__call = function(_, ...)
  return M.run(...)
end})

-- explain/check.lua - check: what is wrong with a launch, found on the
-- simulator Oclgrind; without it, what guard bands around Buffers tell
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local findings = require "clshell.explain.findings"
local job_of = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"
local sizes = require "clshell.explain.sizes"
local text = require "clshell.base.text"
local verdict = require "clshell.explain.verdict"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)

local LIMIT = 30     -- seconds for a launch
local SMALL = 1 << 12 -- work-items that need no estimate of the time

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

-- Runs the job of one launch; a long job only after a run of its first and
-- last work-group. Returns the results, and words for a run of a part.
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
  return findings.of(job.launches[1], list[1])
end

-- Checks one launch.
local function check_launch(launch, args, opts)
  local job = job_of.new "check"
  local added = job_of.add(job, launch, args)
  if opts.size then
    added.global = launch.kernel:range(opts.size, launch.localsize,
      launch.offset).global
    added.localsize = job_of.local_size(launch, added.global)
  end
  if opts.guard or not oclgrind.driver() then
    local r = verdict.of(launch, added, guard(job,
      launch.kernel.program.context.device, opts.limit or LIMIT), "")
    r.blind = true
    return r
  end
  local list, part = simulate(job, opts)
  if list[1].error then
    local reason, hint = oclgrind.reason(job, added, list[1])
    cl.error(("check: %s: %s"):format(added.kernel, reason), {hint = hint})
  end
  return verdict.of(launch, added, findings.of(added, list[1]), part)
end

-- The family and the name of the rung (nil: none) that `what` tells.
local function of_ladder(what)
  if type(what) == "string" or type(what) == "table" then
    return workload.find(what, "check")
  end
end

local Ladder = {__name = "checks"}

function Ladder:__tostring()
  local parts = {}
  for i, r in ipairs(self) do
    parts[i] = tostring(r)
  end
  return table.concat(parts, "\n\n")
end

-- Checks a rung of a family, or all rungs of the user's own.
local function check_ladder(family, name, ...)
  local opts, count = ..., select("#", ...)
  if not name and type(opts) == "string" then
    name, opts, count = opts, select(2, ...), count - 1
  end
  if count > 1 then
    cl.error "check: takes a family, the name of a rung, and options"
  end
  opts = options.check(opts, "check.rung", "check")
  if name then
    return sizes.check(family, name, opts)
  end
  local list = setmetatable({ok = true}, Ladder)
  for _, rung in ipairs(family.list) do
    if not rung.builtin then
      list[#list + 1] = sizes.check(family, rung.name, opts)
      list.ok = list.ok and list[#list].ok
    end
  end
  if #list == 0 then
    cl.error(("check: %s has no rung of your own"):format(family.name),
      {hint = ("name one of the ladder: check(%s, %q)"):format(family.name,
        family.list[1].name)})
  end
  return list
end

--- check(launch, args... [, opts]) -> check
--- What is wrong with a launch: `check(k:range(1000), 2.0, x, y)` runs it in
--- a child process, on the simulator Oclgrind and on copies of the arguments.
--- It finds, with the source lines, reads and writes outside Buffers and
--- arrays, races, barriers in divergent code, values that were never
--- written, misaligned vectors, writes to constant memory. The arguments and
--- the session stay as they are. `r.findings` is a list of {kind, text, line,
--- column, times, item}; `r.ok`: the list is empty. The simulator executes
--- some million instructions a second; a launch that takes longer than the
--- limit is refused with the time that it needs. Without Oclgrind (see clshell
--- --doctor) guard bands around the Buffers tell of writes next to them.
--- Not found: the content of a Buffer that nothing has written, races of
--- writes of one value, and values that were never written in programs with
--- strided asynchronous copies or images. The simulator has no half precision,
--- sub-groups or inline assembly, and leaves clang's prefetches out.
---
--- `check(gemm, "mine")` or `check "gemm.mine"` runs a rung at sizes that fit
--- no tile, such as 1, 7, 17 and 33, and with rows that are longer in memory
--- than their columns, and compares each result with the host's; `check(gemm)`
--- or `check "gemm"` gives a list with a check of each rung of your own.
--- `r.sizes` is a list of {title, status, reason, err, bound}, the status
--- "right", "wrong", "refused", "crashed" or "late"; a finding has `at`, the
--- sizes at which it was found. `r.ok`: there are no findings, and each
--- computed result is right.
--- Options:
---   limit     30        seconds for a launch; for all sizes of a rung 60
---   guard     false     true: guard bands on the session's device
--- Options of a launch:
---   size      the launch's  global size, in place of the launch's
---   shrink    false     true: only the first and the last work-group
--- Options of a rung:
---   params    defaults  such as {tile = 8}
---   shapes    -         a list of shapes as bench takes them, such as {16,
---             {33, 1, 7}}
---   operands  -         {A = A, B = B}, or a list of such tables
---   type      float     element type
--- Example:
--- local k = cl.kernel [[
--- kernel void shift(global const float *x, global float *y) {
---   int i = get_global_id(0);
---   y[i] = x[i + 1];
--- }]]
--- local x, y = cl.buffer("float", 65, 1), cl.buffer("float", 64)
--- print(check(k:range(64), x, y).ok) --> true
--- print(check(k:range(64), x:view(1, 64), y)) -- "read outside 'x': x[64]"
--- print(check("gemm.tiled", {shapes = {{5, 17, 3}}}).ok) --> true
function M.run(what, ...)
  local family, name = of_ladder(what)
  if family then
    return check_ladder(family, name, ...)
  end
  local launch, args, opts = what, table.pack(...), {}
  local count = text.class(launch) == "Launch" and #launch.kernel.args
  if count and args.n == count + 1 and type(args[args.n]) == "table" then
    opts, args.n = args[args.n], count
    args[count + 1] = nil
  end
  options.check(opts, "check.launch", "check")
  argument.positive("check", "limit", opts.limit or LIMIT)
  return check_launch(launch, args, opts)
end

return setmetatable(M, {__call = function(_, ...)
  return M.run(...)
end})

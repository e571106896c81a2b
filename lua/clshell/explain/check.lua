-- explain/check.lua - check: finds the defects of a launch on the simulator
-- Oclgrind, or without Oclgrind by guard bands around Buffers; and the defects
-- of the rungs of a ladder, at sizes that fit no tile
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local findings = require "clshell.explain.findings"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local options = require "clshell.base.options"
local progress = require "clshell.base.progress"
local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"
local verify = require "clshell.ladder.verify"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)

-- A launch -------------------------------------------------------------------

local LIMIT = 30     -- seconds for a launch
local SMALL = 1 << 12 -- work-items that need no estimate of the time
local CRASHED = "the launch crashed its process: "

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
-- last work-group. Returns the result, and words for a run of a part.
local function simulate(job, opts)
  local limit = opts.limit or LIMIT
  local groups, items = groups_of(job.launches[1])
  if groups > 2 and (opts.shrink or items > SMALL) then
    local list, reason = oclgrind.run(job, limit, QUICK)
    local seconds = list and list[1].seconds * groups / 2
    if opts.shrink and list then
      return list[1], (", the first and the last of %d work-groups"):format(
        groups)
    elseif not list and reason == "time" or list and not list[1].error
        and seconds > limit then
      too_long(job, limit, seconds)
    end
  end
  job.back = opts.expect ~= nil
  local list, reason = oclgrind.run(job, limit)
  job.back = nil
  if reason == "time" then
    too_long(job, limit)
  end
  return list and list[1] or {error = reason}, ""
end

-- The launch with its work-groups the other way round.
local MIRRORED = {environment = {CLSHELL_RACES = "mirrored",
  OCLGRIND_BUILD_OPTIONS = oclgrind.build_options() .. " -Dget_group_id(d)="
    .. "(get_num_groups(d)-1-get_group_id(d)) -Dget_global_id(d)="
    .. "(get_global_offset(d)+get_group_id(d)*get_local_size(d)"
    .. "+get_local_id(d))"}}
local PATIENCE = 10 -- times the seconds of the first run, and seconds more

-- Adds races that show in another order of the work-groups, where atomics
-- order accesses: of "the last group adds up" the last one is another then.
local function mirror(job, result, list)
  local added = job.launches[1]
  for i, n in ipairs(added.global) do
    if n % added.localsize[i] ~= 0 then
      return
    end
  end
  local again = result.log:find "Accesses are ordered by atomics"
    and oclgrind.run(job, PATIENCE * (1 + result.seconds), MIRRORED)
  for _, f in ipairs(again and not again[1].error
      and findings.of(added, again[1]) or {}) do
    list[#list + 1] = f.kind == "race" and f or nil
  end
end

-- Runs the job's launch on its own device, with guard bands.
local function guard(job, device, limit)
  job.guarded = true
  local list, reason = oclgrind.run(job, limit, {device = device})
  if not list then
    return {{kind = "crash", text = reason == "time"
      and ("the launch did not end in %g s"):format(limit)
      or CRASHED .. reason}}
  elseif list[1].error then
    cl.error(("%s: %s"):format(job.what, list[1].error))
  end
  return findings.of(job.launches[1], list[1])
end

-- What the simulator's own search for races, without the plugin, cannot see.
local function unseen()
  local plugin, reason, remedy = oclgrind.plugin()
  return not plugin and ("%s: races between work-groups of a range with "
    .. "several dimensions are not seen, and correct loops with "
    .. "atomic_cmpxchg may be reported; %s"):format(reason, remedy) or nil
end

-- The arguments of a launch with copies of the Buffers that it may write, and
-- the results that these must have, see measure/expect.lua.
local function expected_of(launch, args, opts)
  if opts.size or opts.shrink then
    cl.error "check: expect is of the whole launch: leave out size and shrink"
  end
  local given, copies = table.move(args, 1, args.n, 1, {n = args.n}), {}
  for i, param in ipairs(launch.kernel.args) do
    local any = text.class(args[i]) == "Any"
    local b = any and args[i].buffer or args[i]
    if param.space == "global" and not param.const
        and text.class(b) == "Buffer" then
      copies[b] = copies[b] or workload.copy{b}[1]
      given[i] = any and cl.any(copies[b]) or copies[b]
    end
  end
  local expected = require "clshell.measure.expect".new("check", launch, given,
    opts)
  expected:poison()
  return expected, given
end

-- Adds wrong results to the findings of a launch.
local function compare(expected, list)
  local v = expected and expected:verdict()
  if v and not v.ok then
    list[#list + 1] = {kind = "wrong", places = {}, times = 1,
      text = "wrong: " .. v.message}
  end
  return v and {"compared: " .. v.mode} or {}
end

-- Checks one launch.
local function check_launch(launch, args, opts)
  local job = jobs.new "check"
  local expected
  if opts.expect ~= nil then
    expected, args = expected_of(launch, args, opts)
  end
  local added = jobs.add(job, launch, args)
  if opts.size then
    added.global = launch.kernel:range(opts.size, launch.localsize,
      launch.offset).global
    added.localsize = jobs.local_size(launch, added.global)
  end
  if opts.guard or not oclgrind.driver() then
    job.back = expected ~= nil
    local list = guard(job, launch.kernel.program.context.device,
      opts.limit or LIMIT)
    local r = findings.check_of(launch, added, list, "", compare(expected,
      list))
    r.blind, r.ok = true, #list == 0
    return r
  end
  local result, part = simulate(job, opts)
  oclgrind.demand(job, result)
  local list = findings.of(added, result)
  local said = compare(expected, list)
  local whole = part == "" and not opts.size
    and not (launch.kernel.program.source or ""):find "%f[%w_]printf%f[^%w_]"
  local notes = whole and findings.unwritten(added, list) or {} -- not printf
  notes[#notes + 1] = unseen()
  table.move(said, 1, #said, #notes + 1, notes)
  if not list[1] and part == "" then
    mirror(job, result, list)
  end
  return findings.check_of(launch, added, list, part, notes)
end

-- A rung ---------------------------------------------------------------------

local ALL = 60 -- seconds for all sizes of a rung

local GAPS = {3, 5, 7, 11} -- elements behind the rows of each operand

-- Operands of a size for promises of the rung, a list of {promise, value}:
-- {operands, promises, parents (larger matrices by operand), words}; nil where
-- they change nothing.
local function case_of(make, family, size, promises)
  local gaps, inner, words, opted = {}, false, {}, false
  local shape = options.with({}, type(size) == "table" and size or {size})
  for i, one in ipairs(promises) do
    local promise, value = one[1], one[2]
    if promise.gap then
      gaps[promise.gap] = GAPS[(i - 1) % #GAPS + 1]
    elseif not promise.inner then
      shape[promise.name], opted = value, true
    end
    inner = inner or promise.inner
  end
  local o, parents, s = make(shape), nil, nil
  if promises[1] then
    o = family.bind(o)
    local longer
    longer, parents = workload.longer(o, not inner and gaps or nil, inner)
    if not (longer or opted) then
      return nil
    end
    o, s = family.bind(longer or o)
  end
  for i, one in ipairs(promises) do
    local value = s[one[1].name] -- titles have the words of options
    words[i] = math.type(value) and (", %s %g"):format(one[1].name, value)
      or one[1].inner and ", inside of larger matrices" or ""
  end
  return {operands = o, parents = parents, promises = promises,
    words = table.concat(words)}
end

-- The cases of a rung: each size, then what it promises beyond the sizes, all
-- of it together, in turn with each value to try.
local function cases(family, name, opts)
  local given = opts.operands
  local sizes = given and (given[1] and given or {given}) or opts.shapes
    or workload.awkward(family)
  local function make(size)
    return given and workload.copy(size)
      or (workload.operands(family, size, opts.type, "check", name))
  end
  local list, rounds = {}, 1
  local promises = family.spec.promises(family.rung(name))
  for i, size in ipairs(sizes) do
    list[i] = case_of(make, family, size, {})
  end
  for _, promise in ipairs(promises) do
    rounds = math.max(rounds, promise.try and not given and #promise.try or 1)
  end
  for round = 1, rounds do
    local some, at = {}, math.max(1, #sizes // 2 - round + 1)
    for _, promise in ipairs(promises) do
      local try = not given and promise.try
      local value = try and try[(round - 1) % #try + 1]
      value = math.type(value) and not verify.ROUNDOFF[opts.type or "float"]
        and math.floor(value) or value
      if value or promise.gap
          or promise.inner and round == rounds // 2 + 1 then
        some[#some + 1] = {promise, value}
      end
    end
    local function again(these)
      return case_of(make, family, sizes[at], these)
    end
    local case = some[1] and again(some)
    if case then
      case.again, case.at = again, at
      list[#list + 1] = case
    end
  end
  return list
end

-- Runs the launches of a plan in the child process, which changes the plan's
-- Buffers, and adds the findings to the list. Returns the status of a failed
-- size and the reason, else nothing.
local function replay(plan, run, list)
  local job = jobs.new "check"
  job.guarded, job.back, job.parents = run.guarded, true, run.parents
  for _, command in ipairs(plan.commands) do
    jobs.add(job, command.launch, command)
  end
  local results, reason = run.child:run(job, math.max(0.1,
    run.ends - cl.now()))
  if not results then
    return reason == "time" and "late" or "crashed", reason
  end
  for i, result in ipairs(results) do
    local added = job.launches[i]
    if result.error then
      return "refused", (oclgrind.reason(job, added, result))
    end
    local build = findings.build(plan.commands[i].launch.kernel.program)
    for _, f in ipairs(findings.of(added, result)) do
      f.build = build
      list[#list + 1] = f
    end
  end
  if list[1] then
    run.child:stop() -- so the next child has room for all its findings
  end
end

-- Why a result has NaN, by a second run with an output of zeros; or nil.
local function why_nan(plan, truth, simulated, first)
  local out = plan.output
  local zeros <close> = cl.array(out.type, out.shape, 0)
  if verify.run(simulated, out, truth, zeros).ok then
    return ("%s as it was changes the result, though %s"):format(
      plan.family.spec.output, plan.shape.beta and "beta is 0"
      or "the call does not use it")
  end
  local second, count = out:read(), 0
  for i = 1, #first do
    count = count + (first[i] ~= first[i] and second[i] == 0 and 1 or 0)
  end
  return count > 0 and ("%d of the %s of %s %s never written"):format(count,
    text.count(#first, "element"), plan.family.spec.output,
    count == 1 and "was" or "were") or nil
end

-- Whether a run has left what lies around an output as it was.
local function kept_gaps(parent, view)
  local was <close> = cl.buffer(parent.type, parent.shape)
  verify.poison(was)
  local at = {view.start // view.ld + 1, view.start % view.ld + 1}
  was:copy(parent, {from = at, to = at, size = {view.rows, view.cols}})
  return parent:read():equal(was:read())
end

-- Tries a rung on operands and fills in r: status ("right", "wrong",
-- "refused", "crashed" or "late"), reason, findings, err, bound, row, col.
local function try(r, family, name, case, params, run)
  local plan, reason = family.plan_for(name, params, case.operands)
  if not plan then
    r.status, r.reason = "refused", reason
    return
  end
  r.status = nil
  local simulated = setmetatable({run = function()
    local status, failed = replay(plan, run, r.findings)
    r.status, r.reason = r.status or status, r.reason or failed
    return {wait = function() end}
  end}, {__index = plan})
  local own, views = {}, {}
  for operand, parent in pairs(case.parents or {}) do
    views[plan.operands[operand]] = parent
  end
  for _, input in ipairs(family.spec.inputs) do
    local b = plan.operands[input]
    own[input] = text.class(b) == "Buffer" and b:read() or nil
  end
  run.parents = views
  local truth, before = family.truth(plan)
  local result = verify.run(simulated, plan.output, truth, before)
  local changed
  for input, content in pairs(own) do
    changed = not plan.operands[input]:read():equal(content) and input
      or changed
  end
  local nan = not before and result.err ~= result.err
  if not r.status and not result.ok and (nan or result.err == math.huge) then
    r.why = why_nan(plan, truth, simulated, plan.output:read())
  end
  local parent = views[plan.output]
  r.err, r.bound, r.row, r.col = result.err, result.bound, result.row,
    result.col
  if changed then
    r.why, r.row = ("input %s was changed"):format(changed), nil
  elseif result.ok and parent and not r.status
      and not kept_gaps(parent, plan.output) then
    r.why, r.row = ("elements around %s were changed"):format(
      family.spec.output), nil
  end
  r.status = r.status or (result.ok and not r.why and "right" or "wrong")
  if r.status == "crashed" then
    r.findings = {{kind = "crash", places = {}, times = 1,
      text = CRASHED .. r.reason}}
  end
end

-- The sizes by their status: the titles, and the first size.
local function by_status(sizes)
  local found = {}
  for _, r in ipairs(sizes) do
    local same = found[r.status] or {first = r}
    found[r.status] = same
    same[#same + 1] = r.title
  end
  return found
end

-- " (row 3, column 2: err=1.0e+00, bound 1.2e-06)"
local function error_of(r)
  local place = r.row and ("row %d%s: "):format(r.row, r.col
    and ", column " .. r.col or "") or ""
  return r.why and (" (%s%s)"):format(place, r.why)
    or (" (%serr=%.1e, bound %.1e)"):format(place, r.err, r.bound)
end

-- The results of a rung at all sizes, as lines.
local function lines_of(what, sizes, list, limit)
  local by, count = by_status(sizes), text.count(#sizes, "size")
  if by.refused and #by.refused == #sizes then
    return {("check: %s refused at %s: %s"):format(what, count,
      by.refused.first.reason)}
  end
  local lines = {("check: %s in %s over %s%s"):format(findings.count(list),
    what, count, by.wrong and ", and wrong results" or "")}
  local function add(status, before, after)
    local same = by[status]
    lines[#lines + 1] = same and ("  %s %s%s"):format(before,
      table.concat(same, "; "), after and after(same.first) or "")
  end
  add("right", "right at")
  add("wrong", "wrong at", function(r)
    return "; the first" .. error_of(r)
  end)
  add("refused", "refused at", function(r)
    return ": " .. r.reason
  end)
  add("late", ("not tried within %g s:"):format(limit))
  return lines
end

-- Raises for options that are no lists, or empty ones; returns the limit.
local function check_options(opts)
  for _, name in ipairs{"params", "shapes", "operands"} do
    local value = opts[name]
    if value ~= nil then
      argument.check("check", name, value, "table")
      if name ~= "params" and next(value) == nil then
        argument.refuse("check", name, "must have an element; got none")
      end
    end
  end
  return argument.positive("check", "limit", opts.limit or ALL)
end

-- Tries single promises of a case that is wrong, of the result `whole`, and
-- adds the results of broken ones to a list, with the promise's name and says.
local function blame(broken, case, whole, attempt)
  local found
  for _, one in ipairs(case.promises) do
    local r = broken[one[1].name] or attempt(case.again{one})
    found = found or r.status == "wrong"
    if r.status == "wrong" and not r.name then
      r.name, r.says = one[1].name, one[1].says
      broken[#broken + 1], broken[r.name] = r, r
    end
  end
  if not found and #broken == 0 then
    whole.says = "several promises at once; each alone is kept"
    broken[1] = whole
  end
end

-- Checks a rung over sizes, and over what it promises beyond them.
local function check_rung(family, name, opts)
  local limit = check_options(opts)
  family.rung(name) -- raises for an unknown one
  local guarded = opts.guard or not oclgrind.driver()
  local child <close> = oclgrind.start(guarded and {device = cl.device()}
    or nil)
  local run = {child = child, guarded = guarded, ends = cl.now() + limit}
  local sizes, list, broken, ok = {}, {}, {}, false
  local made = cases(family, name, opts)
  local p <close> = progress.new{total = #made}
  local function attempt(case)
    local _, s = family.bind(case.operands)
    local r = {findings = {}, status = "late", title =
      family.spec.title(s):gsub(",? " .. s.type .. "%f[%W]", "", 1)
        .. case.words}
    if cl.now() < run.ends then
      try(r, family, name, case, opts.params, run)
    end
    return r
  end
  for i, case in ipairs(made) do
    local r = attempt(case)
    sizes[i] = r
    p:step(("%s.%s at %s"):format(family.name, name, r.title))
    if r.status == "wrong" and case.at
        and sizes[case.at].status == "right" then
      blame(broken, case, r, attempt)
    end
    findings.merge(list, r.findings, r.title)
    ok = ok or r.status == "right"
  end
  local head = lines_of(family.name .. "." .. name, sizes, list, limit)
  for _, r in ipairs(broken) do
    head[#head + 1] = ("  broken: %s: wrong at %s%s"):format(r.says, r.title,
      error_of(r))
  end
  return findings.check{findings = list, sizes = sizes, blind = guarded,
    notes = {not guarded and unseen() or nil}, broken = broken, head = head,
    ok = ok and not list[1] and not by_status(sizes).wrong}
end

local Ladder = {__name = "checks"}

function Ladder:__tostring()
  return text.values(self, "\n\n")
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
    return check_rung(family, name, opts)
  end
  local list = setmetatable({ok = true}, Ladder)
  for _, rung in ipairs(family.list) do
    if not rung.builtin then
      list[#list + 1] = check_rung(family, rung.name, opts)
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
--- written, misaligned vectors, writes to constant memory, read_only Buffers
--- and pointers to const, outputs that were never written. Work-groups are
--- ordered by atomics and fences: "the last group adds up" is no race where
--- the others fence before they count. The arguments and the session stay as
--- they are. `r.findings` is a list of {kind, text, line,
--- column, times, item}; `r.ok`: the list is empty; `r.notes` has lines such
--- as "3 of the 8 elements of 'y' were not written". The simulator executes
--- some million instructions a second; a launch that takes longer than the
--- limit is refused with the time that it needs. Without Oclgrind (see clshell
--- --doctor) guard bands around the Buffers tell of writes next to them.
--- Not found: the content of a Buffer that nothing has written, races of
--- writes of one value, and values that were never written in programs with
--- strided asynchronous copies or images. The simulator has no half precision,
--- sub-groups or inline assembly, and leaves clang's prefetches out.
---
--- `check(gemm, "mine")` or `check "gemm.mine"` runs a rung at sizes that fit
--- no tile, such as 1, 7, 17 and 33, and compares each result with the host's;
--- then with all that it promises besides: other values of alpha, beta and the
--- options of its family, rows that are longer in memory than their columns,
--- and, where it takes them, transposes and sub-matrices. Where that is wrong,
--- each is tried alone and told as "broken"; of a kernel that takes no options
--- see `plain` of gemm.define. `check(gemm)` or `check "gemm"` gives a list
--- with a check of each rung of your own. `r.sizes` is a list of {title,
--- status, reason, err, bound}, the status "right", "wrong", "refused",
--- "crashed" or "late"; a finding has `at`, the sizes at which it was found;
--- `r.broken` is a list of broken promises, {name, says, title, err}. `r.ok`:
--- there are no findings, and each computed result is right.
--- Options:
---   limit     30        seconds for a launch; for all sizes of a rung 60
---   guard     false     true: guard bands on the session's device
--- Options of a launch:
---   expect, tolerance, inout  -  the right results, as bench takes them
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
  if type(what) == "string" or type(what) == "table" then
    local family, name = workload.find(what, "check")
    if family then
      return check_ladder(family, name, ...)
    end
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

return require "clshell.base.lazy".callable(M, "run")

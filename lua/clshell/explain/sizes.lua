-- explain/sizes.lua - check of the rungs of a ladder: at sizes that fit no
-- tile each launch on the simulator, and the result against the host's
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local findings = require "clshell.explain.findings"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local progress = require "clshell.base.progress"
local text = require "clshell.base.text"
local verdict = require "clshell.explain.verdict"
local verify = require "clshell.ladder.verify"
local workload = require "clshell.ladder.workload"

local M = {}

local LIMIT = 60 -- seconds for all sizes of a rung

-- For each size a function that makes its operands, and words on their rows.
local function cases(family, name, opts)
  local list, given = {}, opts.operands
  for i, o in ipairs(given and (given[1] and given or {given}) or {}) do
    list[i] = function()
      return workload.copy(o), ""
    end
  end
  for i, shape in ipairs(not given and (opts.shapes
      or workload.awkward(family)) or {}) do
    list[i] = function()
      return workload.operands(family, shape, opts.type, "check", name), ""
    end
  end
  local middle = list[math.max(1, #list // 2)]
  list[#list + 1] = function()
    return workload.longer((middle())),
      (", rows %d longer"):format(workload.MARGIN)
  end
  return list
end

-- Runs the launches of a plan in the child process, which changes the plan's
-- Buffers, and adds the findings to the list. Returns the status of a failed
-- size and the reason, else nothing.
local function replay(plan, run, list)
  local job = jobs.new "check"
  job.guarded, job.back = run.guarded, true
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
    local build = verdict.build(plan.commands[i].launch.kernel.program)
    for _, f in ipairs(findings.of(added, result)) do
      f.build = build
      list[#list + 1] = f
    end
  end
  if list[1] then
    run.child:stop() -- so the next child has room for all its findings
  end
end

-- Tries a rung on operands and fills in r: status ("right", "wrong",
-- "refused", "crashed" or "late"), reason, findings, err, bound, row, col.
local function try(r, family, name, operands, params, run)
  local plan, reason = family.plan_for(name, params, operands)
  if not plan then
    r.status, r.reason = "refused", reason
    return
  end
  local simulated = setmetatable({run = function()
    r.status, r.reason = replay(plan, run, r.findings)
    return {wait = function() end}
  end}, {__index = plan})
  local result = verify.run(simulated, plan.output, family.truth(plan))
  r.status = r.status or (result.ok and "right" or "wrong")
  r.err, r.bound, r.row, r.col = result.err, result.bound, result.row,
    result.col
end

-- The first size with a status, the titles of all, and their number.
local function with(sizes, status)
  local titles, first = {}, nil
  for _, r in ipairs(sizes) do
    if r.status == status then
      titles[#titles + 1], first = r.title, first or r
    end
  end
  return first, table.concat(titles, "; "), #titles
end

-- The findings of all sizes, each once.
local function findings_of(sizes)
  local list = {}
  for _, r in ipairs(sizes) do
    if r.status == "crashed" then
      r.findings = {{kind = "crash", places = {}, times = 1,
        text = "the launch crashed its process: " .. r.reason}}
    end
    findings.merge(list, r.findings, r.title)
  end
  return list
end

-- " (row 3, column 2: err=1.0e+00, bound 1.2e-06)"
local function error_of(r)
  local place = r.row and ("row %d%s: "):format(r.row, r.col
    and ", column " .. r.col or "") or ""
  return (" (%serr=%.1e, bound %.1e)"):format(place, r.err, r.bound)
end

-- The results of a rung at all sizes, as lines.
local function lines_of(what, sizes, list, limit)
  local wrong, titles = with(sizes, "wrong")
  local count = text.count(#sizes, "size")
  local lines = {("check: %s in %s over %s%s"):format(verdict.count(list),
    what, count, wrong and ", and wrong results" or "")}
  local function add(...)
    lines[#lines + 1] = ("  " .. ...):format(select(2, ...))
  end
  local right, all_right = with(sizes, "right")
  if right then
    add("right at %s", all_right)
  end
  if wrong then
    add("wrong at %s; the first%s", titles, error_of(wrong))
  end
  local refused, all_refused, n = with(sizes, "refused")
  if n == #sizes then
    return {("check: %s refused at %s: %s"):format(what, count,
      refused.reason)}
  elseif refused then
    add("refused at %s: %s", all_refused, refused.reason)
  end
  local late, all_late = with(sizes, "late")
  if late then
    add("not tried within %g s: %s", limit, all_late)
  end
  return lines
end

-- Raises for options that are no lists, or empty ones; returns the limit.
local function check_options(opts)
  for _, name in ipairs{"params", "shapes", "operands"} do
    local value = opts[name]
    if value ~= nil then
      argument.check("check", name, value, "table")
      if name ~= "params" and next(value) == nil then
        cl.error(("check: %s must have an element; got none"):format(name),
          {arg = name})
      end
    end
  end
  return argument.positive("check", "limit", opts.limit or LIMIT)
end

--- sizes.check(family, name, opts) -> check
--- Checks a rung over sizes, see check. Further fields of the result: sizes,
--- a list of {title, status, reason, err, bound, row, col}.
function M.check(family, name, opts)
  local limit = check_options(opts)
  family.rung(name) -- raises for an unknown one
  local guarded = opts.guard or not oclgrind.driver()
  local child <close> = oclgrind.start(guarded and {device = cl.device()}
    or nil)
  local run = {child = child, guarded = guarded, ends = cl.now() + limit}
  local sizes, makers = {}, cases(family, name, opts)
  local p <close> = progress.new{total = #makers}
  for _, make in ipairs(makers) do
    local operands, rows = make()
    if operands then
      local _, s = family.bind(operands)
      local r = {findings = {}, status = "late", title =
        family.spec.title(s):gsub(",? " .. s.type .. "$", "") .. rows}
      sizes[#sizes + 1] = r
      p:step(("%s.%s at %s"):format(family.name, name, r.title))
      if cl.now() < run.ends then
        try(r, family, name, operands, opts.params, run)
      end
    end
  end
  local list = findings_of(sizes)
  return verdict.new{findings = list, sizes = sizes, blind = guarded,
    head = lines_of(family.name .. "." .. name, sizes, list, limit),
    ok = not list[1] and not with(sizes, "wrong")
      and with(sizes, "right") ~= nil}
end

return M

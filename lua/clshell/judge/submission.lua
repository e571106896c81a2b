-- judge/submission.lua - a submission in the process of its own: its build,
-- its runs on fresh inputs between guard bands, the simulator, the timed runs
-- SPDX-License-Identifier: MIT

local calibrate = require "clshell.measure.calibrate"
local check = require "clshell.explain.check"
local cl = require "cl"
local expect = require "clshell.measure.expect"
local job = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local progress = require "clshell.base.progress"
local protocol = require "clshell.measure.protocol"
local rules = require "clshell.judge.rules"
local stats = require "clshell.measure.stats"
local system = require "clshell.system"
local tasks = require "clshell.judge.task"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local verify = require "clshell.ladder.verify"

local M = {}

local BAND = job.BAND   -- bytes of a guard band
local FILE = 1 << 28    -- bytes of a file, also of PoCL's built kernels
local SMALL = 1024      -- work-items for the simulator, at most
local LOOKS = {11, 22, 44, 88} -- rounds after which a verdict may stand
local STRICT = 0.997    -- coverage of several looks, as in compare
local SAMPLES = 3       -- of each in a round
local SLOW = 1.05       -- the canary's time at a lower clock, see protocol

local own -- what this process judges: task, kernel, params

-- The kernel of a submission; nil and the first error of the build. A compiler
-- that takes no line of forbidden words builds the source without it.
local function build(source, name, task)
  local words = {name = name, options = task.options}
  local ok, built = pcall(cl.build, rules.poisoned(source, rules.words(task),
    name), words)
  for _, d in ipairs(not ok and built.diagnostics or {}) do
    if d.text:find("poisoned identifier", 1, true) then
      return nil, ("line %d: has a forbidden word, after preprocessing")
        :format(d.line)
    end
  end
  if not ok then
    ok, built = pcall(cl.build, source .. "\n", words)
  end
  local first = not ok and built.diagnostics and built.diagnostics[1]
  if not ok then
    return nil, first and ("does not build: %s%s"):format(first.line
      and ("line %d: "):format(first.line) or "", first.text)
      or tostring(built):match "^[^\n]*"
  end
  local names = built:kernels()
  for _, known in ipairs(names) do
    if known == task.kernel_name then
      return built:kernel(known)
    end
  end
  return nil, ("has no kernel '%s'%s"):format(task.kernel_name, names[1]
    and ", but " .. table.concat(names, ", ") or "")
end

-- The fault of a kernel's parameters beside the prototype's.
local function misfit(kernel, params)
  local args = kernel.args
  if #args ~= #params then
    return ("takes %s, the task's %d"):format(text.count(#args, "parameter"),
      #params)
  end
  for i, param in ipairs(params) do
    local given = args[i]
    local known = pcall(cl.typesize, (given.type:gsub("[%s*]", "")))
    if known and given.type ~= param.type or given.space ~= param.space then
      return ("parameter %d must be %s %s; got %s %s"):format(i, param.space,
        param.type, given.space, given.type)
    end
  end
end

-- submission.open(task, source, name) -> fault, or nil
-- Takes a task's file and the source of a submission into this process.
function M.open(path, source, name)
  local task = tasks.load(path)
  if cl.device().type == "cpu" then
    system.limit("memory", math.floor(task.memory))
  end
  system.limit("file", FILE)
  progress.phase "built"
  local stub = cl.build(task.stub):kernel(task.kernel_name)
  local kernel, reason = build(source, name, task)
  if not kernel then
    return reason
  end
  own = {task = task, kernel = kernel, stub = stub, params = stub.args}
  return misfit(kernel, own.params)
end

-- The fault of attributes that change the work-group of a launch.
local function regrouped(size)
  local wanted = own.kernel.required_work_group_size
  local given = own.task:launch(own.stub, size).localsize
  for i = 1, wanted and 3 or 0 do
    if not given or (given[i] or 1) ~= (wanted[i] or 1) then
      return ("reqd_work_group_size asks for groups of %s, the task's have %s")
        :format(text.shape(wanted), given and text.shape(given)
        or "no such size")
    end
  end
end

-- A Buffer for an argument inside a larger one, with a band of random numbers
-- before and behind it: {all, buffer, and the content of the bytes that a run
-- must leave as they are: the bands, and an input}.
local function between_bands(array, seed, empty, param, none)
  local size = cl.typesize(array.type)
  local lead = BAND // size
  local total = #array + 2 * lead
  total = total + -total % 4 -- whole words of noise
  local all = cl.buffer(array.type, total)
  local bytes = all:as "char"
  bytes:write(cl.array("uint", total * size // 4):random(seed, 0, 0xffffffff)
    :as "char")
  local shape = array.shape
  local m = {all = all, size = size, count = none and 0 or #array,
    first = lead * size,
    buffer = #shape == 2 and all:matrix(lead + 1, shape[1], shape[2])
      or all:view(lead + 1, lead + #array), parts = {}}
  if not empty then
    m.buffer:write(array)
    m.content = array
  end
  local last = m.first + #array * size
  for i, range in ipairs((param.const or none) and {{1, #bytes}}
      or {{1, m.first}, {last + 1, #bytes}}) do
    local view = bytes:matrix(range[1], 1, range[2] - range[1] + 1)
    m.parts[i] = {from = range[1], view = view, before = view:read()}
  end
  return m
end

-- The fault of a memory after a run: status and message.
local function changed(m, param)
  for _, part in ipairs(m.parts) do
    local now <close> = part.view:read()
    local same, i = now:equal(part.before)
    if not same then
      local element = (part.from + i - 2 - m.first) // m.size
      if element >= 0 and element < m.count then
        return "INVALID", ("changed an input: %s[%d]"):format(param.name,
          element)
      end
      return "WRONG", ("wrote outside %s: %s[%d]; it has %s"):format(
        param.name, param.name, element, text.count(m.count, "element"))
    end
  end
end

-- The Array of an argument, and whether it has no content yet.
local function array_of(value)
  if text.class(value) == "Array" then
    return value
  elseif type(value) == "table" then
    return value.empty, value.empty ~= nil
  end
end

-- The arguments of a run: list, and memories by their number.
local function arguments(size, seed)
  local list = own.task:values(size, seed, own.params)
  local memories = {}
  for i = 1, list.n do
    local array, empty = array_of(list[i])
    if array then
      memories[i] = between_bands(array, seed + i, empty, own.params[i],
        empty and list[i].none)
      list[i] = memories[i].buffer
    end
  end
  return list, memories
end

-- What the outputs must be, of the arguments as they are now.
local function expected(args, launch)
  local task = own.task
  local what = task.expect
  if type(what) == "string" then
    own.plain = own.plain or cl.build(task:file(what)):kernel(
      task.kernel_name)
    what = task:launch(own.plain, own.size)
  end
  return expect.new("task " .. task.name, launch, args, {expect = what,
    tolerance = task.tolerance, inout = task.inout})
end

-- Whether a kernel may write a parameter, by the prototype.
local function is_output(param)
  return param.space == "global" and not param.const
end

-- Prepares a run on fresh inputs: {args, verdict(), close()}. The truth is
-- calculated after the run: before it, no memory holds what a kernel could
-- copy.
local function prepare(size, seed)
  own.size = size
  local stub = own.task:launch(own.stub, size)
  local args, memories = arguments(size, seed)
  local function fill()
    for i, m in pairs(memories) do
      if m.content then
        m.buffer:write(m.content)
      elseif is_output(own.params[i]) and m.count > 0 then
        verify.poison(m.buffer, own.nan)
      end
    end
  end
  local run = {args = args}
  fill()
  -- status and message: nil where all is right
  function run.verdict()
    local got, none = {}, true
    for i, m in pairs(memories) do
      local status, message = changed(m, own.params[i])
      if status then
        return status, message
      end
      got[m] = is_output(own.params[i]) and m.buffer:read() or nil
      none = none and not (got[m] and m.count > 0)
    end
    if none then
      return nil
    end
    fill()
    local e = expected(args, stub)
    for _, output in ipairs(e.list) do -- each size has a second run
      own.nan = own.nan or output.nan
    end
    for m, content in pairs(got) do
      m.buffer:write(content)
    end
    local v = e:verdict()
    if not v.ok then
      return "WRONG", v.message or ("err=%.1e, bound %.1e"):format(v.err,
        v.bound)
    end
  end
  function run.close()
    for _, m in pairs(memories) do
      m.all:close()
    end
  end
  return run
end

-- submission.run(size, seed) -> {status, message}
-- One run on fresh inputs; without a status it is right.
function M.run(size, seed)
  local fault = regrouped(size)
  if fault then
    return {status = "INVALID", message = fault}
  end
  local run = prepare(size, seed)
  progress.phase "ran"
  local ok, e = pcall(function()
    own.task:launch(own.kernel, size)(table.unpack(run.args, 1, run.args.n))
      :wait()
  end)
  if not ok then
    return {status = "INVALID", message = tostring(e):match "^[^\n]*"}
  end
  local status, message = run.verdict()
  run.close()
  return {status = status, message = message}
end

-- The work-items of a launch.
local function items(launch)
  local n = 1
  for _, m in ipairs(launch.global) do
    n = n * m
  end
  return n
end

-- The size for the simulator: the largest of few work-items, or else the
-- smallest.
local function small_size()
  local task, best, most = own.task, nil, nil
  if task.check ~= nil then
    return task.check
  end
  for _, size in ipairs(task.sizes) do
    local n = items(task:launch(own.stub, size))
    if not best or n <= SMALL and (n > most or most > SMALL)
        or n > SMALL and n < most then
      best, most = size, n
    end
  end
  return best
end

-- submission.simulate(seed [, size]) -> {status, message, size}, or {why}
-- Races, and accesses outside of memory, on the simulator.
function M.simulate(seed, size)
  size = size or small_size()
  if not size or not oclgrind.driver() then
    return {why = not size and "the task asks for no simulator"
      or "the simulator is not here: " .. oclgrind.PACKAGES}
  end
  progress.phase("simulated", true)
  local launch, limit = own.task:launch(own.kernel, size), own.task.limit
  if items(launch) > 4 * SMALL or items(launch) == 0 then
    return {why = ("%d work-items are not for the simulator"):format(
      items(launch))}
  end
  local args = own.task:values(size, seed, own.params)
  for i = 1, args.n do
    local array, empty = array_of(args[i])
    args[i] = array and cl.buffer(array.type, array.shape, array) or args[i]
    if empty then
      verify.poison(args[i])
    end
  end
  args[args.n + 1] = {limit = limit}
  local ok, r = pcall(check.run, launch, table.unpack(args, 1, args.n + 1))
  if not ok then
    local message = tostring(r):match "^[^\n]*"
    local slow = message:find "on the simulator; the limit is"
    return slow and {size = size, status = "INVALID", message = ("did not end "
      .. "in %g s on the simulator, where one work-group runs after the other")
      :format(limit)} or {why = message}
  elseif r.ok then
    return {size = size}
  end
  local f = r.findings[1]
  return {size = size, status = "WRONG", message = ("%s%s"):format(f.text,
    f.line and (" (line %d)"):format(f.line) or "")}
end

-- The reference of the timed runs: a function of the arguments, and of them by
-- name, that returns a function that launches; nil for a task without one.
local function reference(r)
  local task = own.task
  local speed = task.speed
  local against = speed.against
  local family, name = task:rung()
  if against == nil then
    return nil
  elseif type(against) == "function" then
    return function(_, inputs)
      return function()
        return against(inputs)
      end
    end
  elseif not family then
    local kernel = cl.build(task:file(against), {options = task.options})
      :kernel(task.kernel_name)
    return function(args)
      local launch = task:launch(kernel, own.size)
      return function()
        return launch(table.unpack(args, 1, args.n))
      end
    end
  end
  return function(_, inputs)
    local given = {}
    for _, input in ipairs(family.spec.inputs) do
      given[input] = inputs[input]
    end
    local plan, reason = family.plan_for(name, speed.params or {},
      speed.operands and speed.operands(inputs) or given)
    if not plan then
      cl.error(("task %s: %s: %s"):format(task.name, against, reason))
    end
    r.flop = r.flop or family.flop(nil, plan.shape)
    r.bytes = r.bytes or family.bytes(nil, plan.shape)
    return function()
      return plan:run()
    end
  end
end

-- One timed run on fresh inputs. Returns the seconds; nil, status, message.
local function timed(subject, size, seed, make)
  local run <const> = prepare(size, seed)
  local inputs = {}
  for i, param in ipairs(own.params) do
    inputs[param.name] = run.args[i]
  end
  local launch = own.task:launch(own.kernel, size)
  subject.call = make and make(run.args, inputs) or function()
    return launch(table.unpack(run.args, 1, run.args.n))
  end
  local ok, s = pcall(protocol.take, subject, 1)
  local status, message
  if not make then
    status, message = "INVALID", not ok and tostring(s):match "^[^\n]*"
    if ok then
      status, message = run.verdict()
    end
  elseif not ok then
    error(s, 0)
  end
  run.close()
  if status then
    return nil, status, message
  end
  local c = subject.calibration
  return c.event and s.event or s.wall
end

-- A round: several runs of both in turns, each on inputs of its own. Returns
-- the lower quartiles or medians, or nil and a fault.
local function round(subject, size, seeds, make, list)
  local times, quantile = {{}, {}}, cl.device().type == "cpu" and 0.25 or 0.5
  for i = 1, SAMPLES do
    local first = seeds() % 2
    for turn = 0, make and 1 or 0 do
      local which = (first + turn) % 2 == 0 and 1 or 2
      which = make and which or 1
      local seed = seeds()
      local t, status, message = timed(subject, size, seed,
        which == 2 and make or nil)
      if not t then
        return nil, {status = status, message = message, seed = seed,
          size = size}
      end
      times[which][i] = t
      list[which][#list[which] + 1] = t
    end
  end
  return stats.quantile(times[1], quantile),
    make and stats.quantile(times[2], quantile)
end

-- submission.time(size, seed, calibration) -> table
-- Times the submission in turns with the reference, on fresh inputs for each
-- run, each verified, with the judge's calibration of the timers: {status,
-- message, seed} of a fault; else verdict, ratio, lo, hi (of the time over the
-- reference's), decision (of the time times at_least), samples, rounds, flop,
-- bytes, slow (a lower clock).
function M.time(size, seed, calibration)
  calibrate.take(calibration)
  local task = own.task
  local speed, at_least = task.speed, task.speed.at_least or 1
  local r = {size = size, flop = task.flop and task.flop(size),
    bytes = task.bytes and task.bytes(size)}
  local make, subject = reference(r), nil
  subject = timer.new(cl.context(), {function()
    return subject.call()
  end})
  local rng = tasks.rng(seed)
  local function seeds()
    return rng:integer(0, 0x7ffffffe)
  end
  local warm, fault = round(subject, size, seeds, make, {{}, {}})
  if not warm then
    return fault
  end
  local begin, budget = cl.now(), speed.seconds or 10
  local ratios, scaled, lists = {}, {}, {{}, {}}
  for _, look in ipairs(LOOKS) do
    if #ratios > 0 and (cl.now() - begin) * look / #ratios > budget then
      break
    end
    for i = #ratios + 1, look do
      progress.phase "timed"
      local a, b = round(subject, size, seeds, make, lists)
      if not a then
        return b
      end
      ratios[i] = make and a / b or a
      scaled[i] = make and a * at_least / b or a
      if i % 4 == 0 then
        collectgarbage()
      end
    end
    r.verdict, r.ratio, r.lo, r.hi = stats.verdict(ratios, STRICT)
    r.decision = stats.verdict(scaled, STRICT)
    if not make or r.decision ~= "UNCLEAR" then
      break
    end
  end
  r.rounds, r.samples, r.against = #ratios, lists[1], lists[2]
  local c = subject.calibration
  r.timer = c.event and "event" or "wall"
  r.slow = subject.canary() > (c.slow or SLOW) * c.canary
  return r
end

return M

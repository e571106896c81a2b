-- judge/init.lua - judge: a verdict on each submission for a task, from the
-- answers of the processes that ran it
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local boards = require "clshell.judge.board"
local calibrate = require "clshell.measure.calibrate"
local calls = require "clshell.calls"
local cl = require "cl"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local progress = require "clshell.base.progress"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local roofline = require "clshell.measure.roofline"
local rules = require "clshell.judge.rules"
local stats = require "clshell.measure.stats"
local system = require "clshell.system"
local tasks = require "clshell.judge.task"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local TIMES = 2        -- runs of a size, each on inputs of its own
local STRICT = 0.997   -- coverage of an interval that decides
local SAID = 200       -- bytes of what a lost process said

-- A seed that no kernel can know.
local function fresh_seed()
  local f <close> = io.open("/dev/urandom", "rb")
  local seed = f and (string.unpack("<I4", f:read(4)))
    or os.time() * 1000003 + math.floor(cl.now() * 1e6)
  return seed & 0x7fffffff
end

-- A process of its own for a submission.
local Process = {}
Process.__index = Process

local function start(task, source, name)
  local path, removed = file.temporary ".said"
  local output <close> = assert(io.open(path, "wb"))
  local index = cl.device().index
  local worker = assert(calls.start{limit = task.limit, output = output,
    env = {CLSHELL_STORE = "none"}, device = index ~= 0 and index or nil})
  return setmetatable({worker = worker, task = task, said = path,
    removed = removed, source = source, name = name}, Process)
end

function Process:__close()
  self.worker:close()
  os.remove(self.said)
end

-- Calls a function of submission.lua: its result; nil and why the process is
-- lost, or that it printed too much.
function Process:call(name, ...)
  local ok, result = self.worker:call("clshell.judge.submission", name, ...)
  local _, bytes = system.kind(self.said)
  if (bytes or 0) > self.task.output then
    return nil, ("printed %s; the limit is %s"):format(text.bytes(bytes),
      text.bytes(self.task.output))
  elseif ok then
    return result or {}
  end
  local f <close> = io.open(self.said, "rb")
  local said = (f and f:read(SAID) or ""):match "^%s*([^\n]*)"
  return nil, result .. (said ~= "" and "; it said: " .. said or "")
end

-- Opens the submission there: nothing, or the fault.
function Process:open()
  local fault, why = self:call("open", self.task.path, self.source, self.name)
  return why or type(fault) == "string" and fault or nil
end

-- A list in random order.
local function shuffled(list, rng)
  for i = #list, 2, -1 do
    local j = rng:integer(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- The runs of the checked sizes, in random order.
local function runs_of(task, rng)
  local list, seen = {}, {}
  local function add(kind, sizes)
    for _, size in ipairs(sizes or {}) do
      local title = tasks.title(size)
      for _ = 1, seen[title] and 0 or TIMES do
        list[#list + 1] = {kind = kind, size = size, title = title}
      end
      seen[title] = true
    end
  end
  add("public", task.sizes)
  add("hidden", task.hidden)
  add("speed", task.speed and task:timed_sizes())
  for _, run in ipairs(shuffled(list, rng)) do
    run.seed = rng:integer(0, 0x7fffffff)
  end
  return list
end

-- Adds a fault to the result of a submission: INVALID stands before WRONG,
-- and the first of a kind stays.
local function add_fault(r, status, message, run)
  if r.verdict == "INVALID" or r.verdict == "WRONG" and status == "WRONG" then
    return
  end
  r.verdict, r.reason = status, message
  r.size, r.seed = run and tasks.title(run.size), run and run.seed
end

-- The checked runs of a submission.
local function check_runs(process, r, runs)
  local right = {public = {}, hidden = {}, speed = {}}
  for _, run in ipairs(runs) do
    local result, why = process:call("run", run.size, run.seed)
    local status = why and "INVALID" or result.status
    if status then
      add_fault(r, status, why or result.message, run)
      right[run.kind][run.title] = false
    elseif right[run.kind][run.title] == nil then
      right[run.kind][run.title] = true
    end
    if status == "INVALID" then
      break
    end
  end
  for kind, list in pairs(right) do
    local n = {right = 0, all = 0}
    for _, fine in pairs(list) do
      n.all, n.right = n.all + 1, n.right + (fine and 1 or 0)
    end
    r.sizes[kind] = n
  end
end

local function simulate(process, r, seed, size)
  local result, why = process:call("simulate", seed, size)
  if why or result.status then
    local message = why or result.message
    r.finding = r.verdict == "WRONG" and message or nil
    add_fault(r, why and "INVALID" or result.status, message,
      not why and {size = result.size, seed = seed} or nil)
  else
    r.clean = result.size ~= nil and tasks.title(result.size) or nil
    r.not_simulated = result.why
  end
end

-- Judges the times of a size: the reference, the roof, and what no device can.
local function judge_times(task, r, t)
  local speed = task.speed
  t.median, t.type, t.mode, t.flags = stats.median(t.samples), "float", "hot",
    {}
  if t.flop or t.bytes then
    roofline.place(t)
  end
  if protocol.flagged(t, "IMPOSSIBLE?") then
    return add_fault(r, "INVALID", ("%s at %s cannot be: %s"):format(
      require "clshell.base.quantity".format(t.median, "s", 3),
      tasks.title(t.size), t.note:match "IMPOSSIBLE%?%s*(.*)$" or t.note))
  elseif speed.roof then
    local scaled = {}
    for i, x in ipairs(t.samples) do
      scaled[i] = t.roof and x * speed.roof / (t.roof * t.median) or 1
    end
    t.decision, t.ratio, t.lo, t.hi = stats.verdict(scaled, STRICT)
    if not t.roof then
      cl.error(("task %s: this device has no measured peak"):format(
        task.name))
    end
  end
  if t.decision == "SLOWER" and r.verdict ~= "INVALID" then
    r.verdict = "SLOW"
  elseif t.decision == "UNCLEAR" and r.verdict == "RIGHT" then
    r.verdict = "UNCLEAR"
  end
end

-- The timed runs, in a process that has not seen the checked ones.
local function time(task, r, rng, source)
  local process <close> = start(task, source, r.name)
  local fault = process:open()
  if fault then
    return add_fault(r, "INVALID", fault)
  end
  r.times = {}
  for _, size in ipairs(shuffled(task:timed_sizes(), rng)) do
    local t, why = process:call("time", size, rng:integer(0, 0x7fffffff),
      options.with(calibrate.device(), {}))
    if why or t.status then
      return add_fault(r, why and "INVALID" or t.status, why or t.message,
        t and t.seed and t or nil)
    end
    judge_times(task, r, t)
    table.insert(r.times, t)
    r.slow = r.slow or t.slow
  end
end

-- The load of the machine: programs that wanted a processor, on average.
local function load_of()
  return tonumber((file.read "/proc/loadavg" or ""):match "^%S+")
end

-- Points with one digit after the point.
local function tenths(points)
  points = math.floor(points * 10 + 0.5) / 10
  return math.tointeger(points) or points
end

-- The points of a submission with their reasons: {part, points, of, reason}.
local function points_of(task, r)
  local list, sum, of = {}, 0, 0
  local function add(part, points, reason)
    local most = task.points[part]
    points = tenths(points)
    list[#list + 1] = {part = part, points = points, of = most,
      reason = reason}
    sum, of = sum + points, of + most
  end
  local invalid = r.verdict == "INVALID"
  for _, part in ipairs(tasks.PARTS) do
    local most, n = (task.points or {})[part], r.sizes[part]
    if most and invalid then
      add(part, 0, "INVALID")
    elseif most and (part == "public" or part == "hidden") then
      add(part, n.all > 0 and most * n.right / n.all or most, n.all > 0
        and ("%d of %s right"):format(n.right, text.count(n.all, "size"))
        or "no sizes")
    elseif most and part == "clean" then
      add(part, r.clean and most or 0, r.clean and "no race, and no access "
        .. "outside of memory, at " .. r.clean or r.not_simulated or r.finding
        or r.reason)
    elseif most then
      add(part, r.verdict == "RIGHT" and most or 0, r.speed
        or r.times and "not asked" or "not timed")
    end
  end
  return list, tenths(sum), of
end

-- The words on the speed.
local function speed_words(task, r)
  local words = {}
  for _, t in ipairs(r.times or {}) do
    words[#words + 1] = boards.speed(task, t)
  end
  r.speed = words[1] and table.concat(words, "; ") or nil
  if r.verdict == "SLOW" or r.verdict == "UNCLEAR" then
    r.reason = r.speed
  end
end

-- A path as a word of the shell.
local function word(path)
  return path:find "^[%w_./-]+$" and path or text.quote(path)
end

-- The source of a submission.
local function source_of(path)
  local f <close>, message = file.open(path)
  return (f and f:read "a" or cl.error("cannot open " .. message))
    :gsub("^\xEF\xBB\xBF", "")
end

-- The run that "SIZE:SEED" names.
local function repeated(repro)
  local title, seed = tostring(repro):match "^(.*):(%d+)$"
  local size = title and tasks.size(title)
  return {kind = "public", title = title,
    seed = math.tointeger(tonumber(seed)), size = size or argument.refuse(
      "judge", "repro", "must be SIZE:SEED, as a failure prints it, such as "
      .. "33:123; got %q", tostring(repro))}
end

-- Judges one submission: its result. again: a run of `repeated` alone.
local function judge_one(task, path, seed, again)
  local name = path:match "([^/]*)$":gsub("%.cl$", "")
  local r = {name = name, file = path, verdict = "RIGHT", sizes = {}}
  local begin, rng, source = cl.now(), tasks.rng(seed), source_of(path)
  for _, part in ipairs(tasks.PARTS) do
    r.sizes[part] = {right = 0, all = 0}
  end
  local fault = rules.faults(source, task)[1]
  if fault then
    add_fault(r, "INVALID", ("line %d: has %s"):format(fault.line,
      fault.text))
    return r
  end
  do
    local process <close> = start(task, source, name)
    local why = process:open()
    if why then
      add_fault(r, "INVALID", why)
      return r
    end
    check_runs(process, r, again and {again} or runs_of(task, rng))
    if r.verdict ~= "INVALID" and task.check ~= false then
      simulate(process, r, again and again.seed or rng:integer(0, 0x7fffffff),
        again and again.size)
    end
  end
  if r.verdict == "RIGHT" and task.speed and not again then
    time(task, r, rng, source)
  end
  r.judged, r.load = cl.now() - begin, load_of()
  return r
end

-- The record of a result for the run store, and the verdicts before.
local function keep(task, r)
  local store = require "clshell.results.store"
  local name = ("%s/%s"):format(task.name, r.name)
  local kept, before = store.default(), {}
  if kept then
    for old in kept:runs{name = name, limit = 5} do
      before[#before + 1] = {verdict = old.verdict, points = old.points,
        median = old.median, time = old.time}
    end
  end
  r.before = before
  local one = record.new(name, cl.context(), {tag = task.name})
  local t = r.times and r.times[1]
  one.verdict, one.points, one.of = r.verdict, r.points, r.of
  one.verify = "each run compared, on inputs of its own"
  one.ok = r.verdict ~= "WRONG" and r.verdict ~= "INVALID"
  one.samples, one.median = t and t.samples, one.ok and t and t.median or nil
  one.title, one.note = t and tasks.title(t.size), r.reason
  one.status = one.ok and "ok" or r.verdict == "WRONG" and "wrong" or "failed"
  one.error = not one.ok and r.reason or nil
  store.keep(one)
end

-- The files of submissions: those of a folder are its *.cl.
local function files_of(paths)
  local list = {}
  for _, path in ipairs(paths) do
    local kind, message = system.kind(path)
    if kind == "folder" then
      local names = assert(system.folder(path))
      table.sort(names)
      for _, name in ipairs(names) do
        list[#list + 1] = name:find "%.cl$"
          and path:gsub("/*$", "/") .. name or nil
      end
    elseif not kind then
      cl.error("cannot open " .. message)
    else
      list[#list + 1] = path
    end
  end
  if #list == 0 then
    cl.error("no submission: " .. table.concat(paths, ", ")
      .. " has no *.cl")
  end
  return list
end

--- judge(task, submissions [, opts]) -> board
--- A verdict on kernels for a task (see task): `task` is the path of its file,
--- `submissions` a file of OpenCL C, a folder, or a list of these. Each
--- submission runs in processes of its own, which a crash, an endless loop or
--- an endless build costs that submission alone. By its source it is INVALID
--- for machine code, clocks, #include, #pragma (but EXTENSION, FP_CONTRACT
--- and unroll), variables of the program, functions that it does not define,
--- and words that the task forbids; the compiler refuses these words after
--- preprocessing as well. By measurement it is INVALID where it changes an
--- input or the work-group, prints much, takes too long or too much memory,
--- crashes, or is faster than the measured roofline allows. It is WRONG where
--- an output differs or was not written, where it writes outside of its
--- Buffers, and for what the simulator finds (see check). Each run, also a
--- timed one, has new inputs, filled outputs and guard bands, and is compared.
--- Speed is measured in turns with the reference; SLOW needs an interval that
--- says so, and UNCLEAR is told where the time of the task does not suffice.
---
--- The board prints as text; it is a list of results {name, verdict ("RIGHT",
--- "WRONG", "INVALID", "SLOW" or "UNCLEAR"), reason, points, of, parts (the
--- points with reasons), size and seed (of a failure), repro (the command that
--- repeats it), clean, speed, before (verdicts of earlier runs in the run
--- store)}, the best first; board.ok: all are RIGHT. A kernel for a CPU device
--- is code of this user: judge strangers' kernels as a user of their own. GPU
--- drivers keep their own count of memory, so the limit is for CPU devices.
--- Options:
---   repro  -       a string: "SIZE:SEED", one run again
---   seed   random  an integer: of all inputs and orders
---   keep   true    false: the run store keeps no results
--- Example:
--- local scripts = cl.home .. "/scripts/course"
--- local board = judge(scripts .. "/product.lua",
---   scripts .. "/product_start.cl", {repro = "16:1", keep = false})
--- print(board[1].verdict) --> WRONG
function M.judge(path, submissions, opts)
  opts = options.check(opts, "judge")
  argument.check("judge", "task", path, "string", "the path of a task's file")
  local task = tasks.load(path)
  local list = files_of(type(submissions) == "table" and submissions
    or {argument.check("judge", "submissions", submissions, "string")})
  local seed = opts.seed or fresh_seed()
  local again = opts.repro and repeated(opts.repro)
  local board = boards.new(task, seed)
  local p <close> = progress.new{total = #list}
  for _, one in ipairs(list) do
    p:step(one)
    local r = judge_one(task, one, seed, again)
    speed_words(task, r)
    if r.seed then
      r.repro = ("clshell judge %s %s --repro %s:%d"):format(word(path),
        word(one), r.size, r.seed)
    end
    if task.points and not again then
      r.parts, r.points, r.of = points_of(task, r)
    end
    if not again and opts.keep ~= false then
      keep(task, r)
    end
    board:add(r)
  end
  return board:finish()
end

return require "clshell.base.lazy".callable(M, "judge")

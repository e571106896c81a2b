-- ladder/plan.lua - a call with everything checked, built and allocated: its
-- kernel, its commands (the launch of the rung with the helper launches before
-- and after it), its runs, and the Event of a run; and the plans of earlier
-- calls, so that the same call again costs little more than its launch
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local operands = require "clshell.ladder.operands"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local result = require "clshell.base.result"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local M = {}

local unpack = table.unpack
local hooks = debug.getregistry()["cl.hooks"]
local taken = result.taken
local RECORDED = 3 -- the run of a plan from which on its commands are recorded

-- The fields of an Event of several commands come from the first command, from
-- the last command, or are the sum over all commands. A driver may compile a
-- kernel at its first launch, between two commands (PoCL does): span_ms counts
-- that time, ms does not.
local FIELDS = {queued = "first", submit = "first", start = "first",
  stop = "last", status = "last", ms = "sum", flop = "sum", bytes = "sum"}

local METHODS = {}

for _, name in ipairs{"wait", "close"} do
  METHODS[name] = function(span)
    for _, event in ipairs(span.events) do
      event[name](event)
    end
    return span
  end
end

for name, field in pairs{gflops = "flop", gbs = "bytes"} do
  METHODS[name] = function(span, amount)
    return (amount or span[field]) / span.ms / 1e6
  end
end

local function unknown(key)
  local names = {"command", "events", "span_ms"}
  for _, list in ipairs{FIELDS, METHODS} do
    for name in pairs(list) do
      names[#names + 1] = name
    end
  end
  table.sort(names)
  cl.error("an Event span: " .. text.unknown("field or method", tostring(key),
    names))
end

local function index(span, key)
  local from, list = FIELDS[key], span.events
  if from == "sum" then
    local sum -- nil where no event has the field
    for _, event in ipairs(list) do
      sum = event[key] and (sum or 0) + event[key] or sum
    end
    return sum
  elseif from then
    return list[from == "first" and 1 or #list][key]
  elseif key == "span_ms" then
    return (span.stop - span.start) / 1e6
  elseif key == "command" then
    return ("%d commands"):format(#list)
  end
  return METHODS[key] or unknown(key)
end

local meta = {
  __metatable = false, __name = "Event span", __index = index,
  __tostring = function(span)
    return "Event: " .. span.command
  end,
}

-- The event of a list of one event, or an object with the fields and methods
-- of an Event, where `ms` is the time inside the commands, `span_ms` goes from
-- the first START to the last STOP, and `events` lists the events.
function M.event(events)
  if #events == 1 then
    return events[1]
  end
  return setmetatable({events = events}, meta)
end

-- The Events of `after`, an event or a list of them, spans taken apart.
function M.events_of(what, after)
  local list = {}
  after = options.is_event(after) and {after} or after
  argument.check(what, "after", after, "table", "such as {event}")
  for _, event in ipairs(after) do
    local parts = text.class(event) == "Event span" and event.events
      or {event}
    table.move(parts, 1, #parts, #list + 1, list)
  end
  return list
end

local Plan = {}
Plan.__index = Plan

-- Adds a launch with its arguments to a plan. A command that is marked `once`
-- runs only the first time: its result serves later runs as well. Returns the
-- command.
function Plan:add(launch, once, ...)
  local command = {launch = launch, once = once, n = select("#", ...), ...}
  self.commands[#self.commands + 1] = command
  return command
end

-- Sets the useful work of a run, at the command of the rung.
function Plan:work(flop, bytes)
  local main = self.commands[self.main]
  main.launch = main.launch:work{flop = flop, bytes = bytes}
end

-- Whether a command that stands by is needed, behind the commands before it,
-- while its program builds on another thread: the first run has it only if its
-- flag is set. So the first result does not wait for the build. `may`: the
-- host may wait for the flag.
local function is_needed(plan, command, may, after)
  if may then
    local flag <close> = command.unless:read{first = 1, count = 1,
      queue = plan.queue, after = after}
    if flag[1] == 0 then
      return false
    end
  end
  command.launch, command.make = command.make(), nil
  if plan.programs then
    plan.programs[command.launch.kernel.program] = true
  end
  return true
end

-- Enqueues the commands, each after the one before. `wanted`: returns the
-- event that spans them; else the driver is asked for none: a launch as a
-- statement has no Event.
local function enqueue(plan, wanted)
  local queue, after, list = plan.queue, plan.after, wanted and {}
  local chained = queue and queue.out_of_order
  local may = plan.stands_by and not (plan.ran or after or result.recording())
    and #cl.unfinished() == 0 -- a user event may hold an earlier command up
  for _, command in ipairs(plan.commands) do
    if not (command.once and plan.ran)
        and (command.launch or is_needed(plan, command, may, after)) then
      local launch = command.launch
      if queue or after then
        launch = launch:on(queue, {after = after})
      end
      local event = result.call(wanted or chained, launch,
        unpack(command, 1, command.n))
      if wanted then
        list[#list + 1] = event
      end
      after = chained and {event} or nil
    end
  end
  plan.ran = plan.ran or not result.recording()
  return wanted and M.event(list)
end

-- plan:run() enqueues the commands and returns the event that spans them, if
-- the caller takes it.
function Plan:run()
  return enqueue(self, taken(1))
end

-- Runs a plan whose calls name no output, into `y` or a new Buffer. The Buffer
-- belongs to the caller alone: the plan lets go of it.
local function run_into(self, y, wanted)
  local like = self.output_like
  y = y or result.new(like.type, like.shape, like.context, self.queue)
  local places = self.output_places -- among the arguments, {command, index}
  for i = 1, #places do
    places[i][1][places[i][2]] = y
  end
  local event = enqueue(self, wanted)
  for i = 1, #places do
    places[i][1][places[i][2]] = false
  end
  return y, event
end

-- Makes the plan ready for later calls; `named`: these calls name the output.
-- Returns false where the plan cannot serve later calls.
function Plan:keep(named)
  self.programs, self.operands = {}, nil -- the operands include the output
  for _, command in ipairs(self.commands) do
    if command.launch then
      self.programs[command.launch.kernel.program] = true
    end
  end
  if named then
    return true
  end
  local y, places = self.output, {}
  for _, command in ipairs(self.commands) do
    for i = 1, command.n do
      places[#places + 1] = rawequal(command[i], y) and {command, i} or nil
    end
  end
  self.output_places, self.output = places, nil
  self.output_like = {type = y.type, shape = y.shape, context = y.context}
  return #places > 0
end

-- Whether all programs are built from the present text of their files.
function Plan:is_current()
  local now = hooks.edits()
  for prog in pairs(self.programs) do
    if prog.closed or self.edits ~= now and not program.current(prog) then
      return false
    end
  end
  self.edits = now
  return true
end

-- Enqueues the commands as a recording and returns one event, if it is
-- wanted. It costs the host less, as a plan that runs often needs no times of
-- each command: an Event takes 7 us of NVIDIA's driver, and a launch from here
-- 5 us.
local function again(self, wanted)
  if #self.commands == 1 or self.queue or self.after or not self.ran
      or result.recording() then
    return enqueue(self, wanted)
  end
  self.runs = (self.runs or 1) + 1
  if self.runs < RECORDED then
    return enqueue(self, wanted)
  end
  self.steps = self.steps or cl.record(function()
    enqueue(self)
  end)
  return result.call(wanted, self.steps)
end

function Plan:__call()
  return again(self, taken(1))
end

-- The shape for a rung, with operands in the form that the rung takes.
function M.shape(family, rung, s)
  return family.spec.placing.adapt(rung, s)
end

-- The reason why the device cannot run a configuration on a bound shape, found
-- before anything is built; or nil.
function M.refusal(family, rung, p, s)
  s = M.shape(family, rung, s)
  return rung.plain and family.spec.plain(s)
    or rungs.refusal(family.spec.ints, rung, p, s, s.context.device)
end

-- The parameters of a call of a rung. Where it gives none, the parameters of
-- the row of family.choices for this device and shape; else the `given`
-- values, and for the others the defaults, or the nearest values that the
-- device allows. Where it allows none, the defaults stay and the call tells
-- the reason.
function M.parameters(family, rung, given, s)
  local function allowed(p)
    return not M.refusal(family, rung, p, s)
  end
  local free = #rung.params > 0
  for _, param in ipairs(rung.params) do
    free = free and given[param.name] == nil
  end
  return free and require "clshell.ladder.choice".params(family, rung, s,
    allowed) or rungs.nearest(rung, given, family.name, allowed)
    or rungs.parameters(rung, given, family.name)
end

-- The program of a configuration, see program.get.
local function program_of(rung, p, s, later)
  return program.get(s.context, rung, rungs.defines(rung, p, s),
    rung.options and rung.options(p, s), later)
end

-- The kernel of a configuration, or nil and why the device cannot run it.
function M.kernel(family, rung, p, s)
  local prog
  local reason = M.refusal(family, rung, p, s)
  if reason then
    return nil, reason
  end
  s = M.shape(family, rung, s)
  prog, reason = program_of(rung, p, s)
  if not prog then
    return nil, reason
  end
  local kernel, _, size = program.kernel(prog, rung.kernel), rung.range(s, p)
  reason = rungs.kernel_refusal(rung, kernel, size, s.context.device)
  return not reason and kernel or nil, reason
end

-- The NDRange of a launch of `count` matrices, in dimension 2; nil: without a
-- batch.
local function batched(count, global, size)
  if (count or 1) == 1 then
    return global, size
  end
  return {global[1], global[2] or 1, count},
    size and {size[1], size[2] or 1, 1}
end

-- The function by which `prepare` and `finish` add helper launches to a plan:
-- run(file, kernel, defines, global, local, ...), or run(other), the commands
-- of another family's plan. The file may be a table {file =, ptx =, once =,
-- unless =}: ptx as in a rung; once: only the first run of the plan needs the
-- launch; unless: a Buffer of int, whose first element is 0 where the launch
-- would do nothing. A call does not wait for the program of such a launch.
local function helper(plan, s)
  local family = plan.family
  return function(file, name, defines, global, size, ...)
    local from = type(file) == "table" and file or {file = file}
    if from.commands then
      for _, command in ipairs(file.commands) do
        plan:add(command.launch:work{}, false,
          table.unpack(command, 1, command.n))
      end
      return
    end
    local args, count = family.spec.placing.pass(table.pack(...))
    local path = program.locate(from.file, {family.folder}, family.name)
    local function make(later)
      local prog, reason = program.get(s.context, {path = path,
        ptx = from.ptx}, options.with(defines, {PLACED = count and 1}), nil,
        later)
      assert(prog or later, reason)
      return prog and program.kernel(prog, name):range(batched(count, global,
        size))
    end
    if plan.late and from.unless then
      return
    end
    local launched = make(plan.late or from.unless and plan.now)
    local command = plan:add(launched, from.once, table.unpack(args, 1,
      args.n))
    command.make, command.unless = make, from.unless
    plan.stands_by = plan.stands_by or not launched
  end
end

-- Adds one launch of a plan's rung, with its helper launches before and after,
-- on operands `o` of shape `s`. Returns the reason of a refusal, or nil.
local function launch(plan, run, s, o)
  local rung, p, spec = plan.rung, plan.params, plan.family.spec
  local own = options.with(o, rung.prepare and rung.prepare(s, p, o, run))
  local args, count, reason
  if plan.late then
    program_of(rung, p, s, plan.late)
    return rung.finish and rung.finish(s, p, own, run, o)
  end
  if rung.plain and not rung.args then
    args, reason = spec.plain_args(s, own, plan.kernel)
    if not args then
      return reason
    end
  else
    args = (rung.args or spec.args)(s, p, own)
  end
  args, count = spec.placing.pass(args)
  reason = rungs.constants_refusal(plan.kernel, args, s.context.device)
  if reason then
    return reason
  end
  plan.main = plan.main or #plan.commands + 1
  plan:add(plan.kernel:range(batched(count, rung.range(s, p))), false,
    table.unpack(args, 1, args.n))
  if rung.finish then
    rung.finish(s, p, own, run, o)
  end
end

-- Enqueues the helper launches that f(run) adds, as a rung's `prepare` does.
-- Returns the results of f as a list, and the event of the launches.
function M.helpers(family, s, f)
  local plan = setmetatable({family = family, commands = {}, ran = false},
    Plan)
  local results = table.pack(f(helper(plan, s)))
  return results, enqueue(plan, true)
end

-- Fills in the commands of a plan. Returns the reason of a refusal, or nil.
local function fill(plan)
  local run = helper(plan, plan.shape)
  local reason = plan.family.spec.placing.stage(plan.rung, plan.shape,
    plan.own_shape, plan.operands, run, function(s, o)
      return launch(plan, run, s, o)
    end)
  plan.main = plan.main or 1
  return reason
end

-- The programs of a configuration that are left to build, as a list of
-- functions that begin to; nil where a call is to wait for its rung: for the
-- programs that the driver knows, and those that another call began to build.
local function late_programs(family, rung, p, s, o)
  local late = {}
  if M.refusal(family, rung, p, s)
      or program_of(rung, p, M.shape(family, rung, s), {slow = true}) then
    return nil
  end
  s = options.with(s, {}) -- with scratch memory of its own
  fill(setmetatable({family = family, rung = rung, params = p, shape = s,
    own_shape = M.shape(family, rung, s), operands = o, commands = {},
    late = late}, Plan))
  return late[1] and late
end

-- The name of an operand without elements, or nil.
local function empty_operand(family, o)
  for _, name in ipairs(family.operands) do
    local x = o[name]
    if operands.is_buffer(x) and #x == 0 or type(x) == "table"
        and (x.rows == 0 or x.cols == 0) then
      return name
    end
  end
end

--- plan.bind(family, given, queue, now) -> operands, shape
--- Binds the operands of a call: returns a new table with all operands on the
--- device, and the shape, with the context. now: the call's commands come
--- next; else the caller may use the output on another queue first.
function M.bind(family, given, queue, now)
  local o, first = {}, queue
  if not (queue or now) then
    first = false
  end
  for _, name in ipairs(family.operands) do
    o[name] = given[name]
  end
  local context = family.spec.context(o, queue)
  local s = family.spec.bind(o, context, first)
  s.context = context
  local empty = not now and empty_operand(family, o)
  if empty then -- a call has a result: see nothing_to_run
    cl.error(("%s: %s has no elements"):format(family.name, empty),
      {arg = empty})
  end
  return o, s
end

--- plan.configure(family, s [, rung, params [, o]]) -> choice; or nil, reason
--- The configuration for a bound shape, {definition (of the rung), params,
--- kernel}: the named rung with its parameters, else the rung of
--- family.choice. nil and the reason where the device cannot run it. For bound
--- operands `o` it may be the rung that a row of the choices has meanwhile,
--- with the programs to build of the row's rung as `late`.
function M.configure(family, s, rung, params, o)
  if rung then
    local kernel, reason = M.kernel(family, rung, params, s)
    return kernel and {definition = rung, params = params, kernel = kernel},
      reason
  end
  local choice, late = require "clshell.ladder.choice", nil
  local chosen, kernel = choice.pick(family, s, s.context.device,
    function(other, p, row)
      late = o and row.meanwhile and late_programs(family, other, p, s, o)
      if late then
        return late
      end
      return M.kernel(family, other, p, s)
    end)
  if late then
    local row = chosen.row.meanwhile
    rung = rungs.find(family, row.rung, family.name)
    local other = M.configure(family, s, rung, M.parameters(family, rung,
      row.params or {}, s))
    if other then
      other.late, late.rung = late, chosen.rung
    end
    return other or M.configure(family, s)
  end
  chosen.kernel = kernel
  return chosen
end

-- What a call with an empty operand gives, {output, run}: a result without
-- elements needs no command but a marker, a result of nothing is set by
-- spec.nothing(s, o), if the family has one.
local function nothing_to_run(family, o, s, opts)
  local spec, y = family.spec, o[family.spec.output]
  if #y > 0 and not spec.nothing then
    return nil, empty_operand(family, o) .. " has no elements"
  end
  return {output = y, run = function()
    local event = result.nothing(s.context, opts.queue, opts.after)
    if #y == 0 then
      return event
    elseif event then
      event:wait()
    end
    return spec.nothing(s, o):wait()
  end}
end

--- plan.try(family, given, opts, now) -> plan; or nil, reason
--- The plan of a call, or nil and why the device cannot run it. now: it runs
--- at once.
function M.try(family, given, opts, now)
  local name, fixed, conflict = operands.packed_for(family, given, opts)
  name = opts.kernel or name
  local rung = name and rungs.find(family, name, family.name)
  rungs.check_options(family, opts, rung)
  if conflict then
    return nil, conflict
  end
  local o, s = M.bind(family, given, opts.queue, now)
  if empty_operand(family, o) then
    return nothing_to_run(family, o, s, opts)
  end
  local chosen, reason = M.configure(family, s, rung, rung
    and (fixed or M.parameters(family, rung, opts, s)), now
    and not (M.watch or result.recording()) and o)
  if not chosen then
    return nil, reason
  end
  local plan = setmetatable({family = family, rung = chosen.definition,
    params = chosen.params, kernel = chosen.kernel, shape = s,
    own_shape = M.shape(family, chosen.definition, s),
    choice = not (rung or chosen.late) and chosen or nil, operands = o,
    begin = chosen.late,
    output = o[family.spec.output], pieces = family.spec.pieces,
    queue = opts.queue, commands = {}, ran = false, now = now,
    after = opts.after and M.events_of(family.name, opts.after)}, Plan)
  reason = fill(plan)
  if reason then
    return nil, reason
  end
  plan:work(family.flop(plan.rung, s), family.bytes(plan.rung, s,
    plan.params))
  return plan
end

--- plan.new(family, given, opts, now) -> plan
--- The plan of a call, or an error with the reason.
function M.new(family, given, opts, now)
  local plan, reason = M.try(family, given, opts, now)
  if not plan then
    local name = opts.kernel or operands.packed_for(family, given, {})
    cl.error(("%s: %s%s"):format(family.name, name and name .. " refused: "
      or "", reason))
  end
  return plan
end

-- A call finds its plan by the addresses of its operands and its options, in a
-- table whose values are weak. What keeps a plan there:
--
--   * A family holds the MOST plans used last, each in a chain of ephemerons,
--     {[A] = {[B] = {[C] = plan}}}. So a plan lives as long as all operands
--     that the user gave are in use elsewhere: it keeps none of them, and goes
--     with its scratch memory in the collection that takes the first of them.
--   * A result that the call did not name belongs to the caller alone: after
--     its launch the plan lets go of it.
--   * A call that is recorded has a plan of its own, see base/result.lua.
--   * A closed operand has given its memory back; what is left of its plan
--     goes when any family plans the next call.
--   * Where memory is short, the module cl calls give_up: all plans go, and it
--     collects and tries again. So their scratch memory, which may be
--     gigabytes, is never in the way of other memory.

local MOST = 16 -- plans of a family: two for each of eight devices
local CHAIN = {__mode = "k"}

local held = setmetatable({}, {__mode = "k"}) -- plans -> chains, oldest first

--- plan.none_kept(old) -> plans
--- An empty table of plans, which replaces the table `old`, or nil.
function M.none_kept(old)
  if old then
    held[old] = nil
  end
  local plans = setmetatable({}, {__mode = "v"})
  held[plans] = {}
  return plans
end

--- plan.give_up()
--- Lets go of the plans of all families; the next collection takes them.
function M.give_up()
  for plans in pairs(held) do
    held[plans] = {}
  end
end

-- Whether all operands of a chain exist and are open.
local function is_whole(chain)
  while getmetatable(chain) == CHAIN do
    local operand, rest = next(chain)
    if operand == nil or operand.closed then
      return false
    end
    chain = rest
  end
  return true
end

-- Drops the chains that no call can need again, of all families.
local function drop_broken()
  for _, chains in pairs(held) do
    for i = #chains, 1, -1 do
      if not is_whole(chains[i]) then
        table.remove(chains, i)
      end
    end
  end
end

-- Makes the plan of a chain the one used last.
local function hold(chains, chain)
  for i = #chains, 1, -1 do
    if chains[i] == chain then
      table.move(chains, i + 1, #chains + 1, i)
      break
    end
  end
  chains[#chains + 1] = chain
  if #chains > MOST then
    table.remove(chains, 1)
  end
end

-- The operands in the key of a call, and the plan, as a chain.
local function chain_of(names, given, opts, made)
  local chain = made
  for _, value in pairs(opts) do
    if operands.is_buffer(value) or operands.is_packed(value) then
      chain = setmetatable({[value] = chain}, CHAIN)
    end
  end
  for _, name in ipairs(names) do
    chain = setmetatable({[given[name]] = chain}, CHAIN)
  end
  return chain
end

--- plan.watch
--- Where set, plan.watch(family, given, opts, output) is told of each call.
M.watch = nil

-- Begins the builds that a call left to later calls, and says so.
local function begin_builds(plan)
  for _, begin in ipairs(plan.begin) do
    begin()
  end
  if not (cl.commandline and cl.commandline.quiet) then
    io.stderr:write(("%s: %s served this call; %s is being built for the "
      .. "next\n"):format(plan.family.name, plan.rung.name, plan.begin.rung))
  end
end

local call_key = debug.getregistry()["cl.hooks"].call_key

--- plan.run(family, gather, ...) -> output, event
--- Runs the plan of a call with the operands and the options `...`: a kept
--- plan, or a new one, for which gather(family, ...) checks them and returns
--- given, opts. A call that names no output gets a new Buffer. Host data, a
--- queue, a list of events or a closed operand have the call planned anew.
function M.run(family, gather, ...)
  local spec, plans = family.spec, family.kept_plans
  local key = spec.keeps_plans and not result.recording()
    and call_key(operands.packed_meta, #spec.inputs, ...)
  local kept = key and plans[key]
  local output, event, given, opts
  local wanted = taken(2)
  if not kept or M.watch or not kept:is_current() then
    given, opts = gather(family, ...)
    if not kept or not kept:is_current() then
      drop_broken()
      kept = M.new(family, given, opts, true)
      output = kept.output
      if key and kept.keep and not kept.begin
          and kept:keep(opts[spec.output] ~= nil) then
        kept.chain = chain_of(spec.inputs, given, opts, kept)
        plans[key] = kept
      end
    end
  end
  local chains = held[plans]
  if chains and kept.chain and chains[#chains] ~= kept.chain then
    hold(chains, kept.chain) -- chains: nil after a definition
  end
  if kept.output_places then
    output, event = run_into(kept, output, wanted)
  elseif kept.chain then
    output, event = kept.output, again(kept, wanted)
  elseif kept.commands then
    event = enqueue(kept, wanted)
  else
    event = kept.run()
  end
  if kept.begin then
    begin_builds(kept)
  end
  if M.watch then
    M.watch(family, given, opts, output)
  end
  return output, event
end

return M

-- ladder/prepared_call.lua - a call with everything checked, built and
-- allocated, which users get as a plan: its kernel, and its commands, the
-- launch of the rung with the helper launches before and after it
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local device_limits = require "clshell.ladder.device_limits"
local program = require "clshell.ladder.program"
local recording = require "clshell.base.recording"
local rungs = require "clshell.ladder.rung"
local span = require "clshell.ladder.span"

local M = {}

local RECORDED = 3 -- the run of a plan from which on its commands are recorded

local Plan = {}
Plan.__index = Plan

-- Adds a launch with its arguments. A command marked `once` runs only the
-- first time: its result serves later runs as well.
function Plan:add(launch, once, ...)
  self.commands[#self.commands + 1] = {
    launch = launch, once = once, n = select("#", ...), ...,
  }
end

-- Notes the useful work of a run; the rung's own command carries it.
function Plan:work(flop, bytes)
  local main = self.commands[self.main]
  main.launch = main.launch:work{flop = flop, bytes = bytes}
end

-- Enqueues the commands, each after the one before, and returns the event
-- that spans them.
function Plan:run()
  local events, after = {}, self.after
  for _, command in ipairs(self.commands) do
    if not (command.once and self.ran) then
      local launch = command.launch
      if self.queue or after then
        launch = launch:on(self.queue, {after = after})
      end
      local event = launch(table.unpack(command, 1, command.n))
      events[#events + 1] = event
      after = self.queue and {event} or nil
    end
  end
  self.ran = self.ran or events[1].status ~= "recorded"
  return span.new(events)
end

-- Enqueues the commands at less cost to the host, as a recording: a plan that
-- runs again and again does not need the times of each of them. An Event costs
-- 7 us of NVIDIA's driver, and a launch from here 5 us. Returns one event.
function Plan:again()
  if #self.commands == 1 or self.queue or self.after or not self.ran
      or recording.current() then
    return self:run()
  end
  self.runs = (self.runs or 1) + 1
  if self.runs < RECORDED then
    return self:run()
  end
  self.steps = self.steps or cl.record(function()
    self:run()
  end)
  return self.steps()
end

Plan.__call = Plan.again

-- A new kernel object of a rung's configuration, or nil and why there is none.
local function build(rung, p, s, context)
  local prog, reason = program.get(context, rung, rungs.defines(rung, p, s),
    rung.options and rung.options(p, s))
  if prog == nil then
    return nil, reason
  end
  return program.kernel(prog, rung.kernel)
end

-- The shape that a rung gets to see: operands as it takes them.
function M.shape(family, rung, s)
  return family.spec.adapt and family.spec.adapt(rung, s) or s
end

-- The parameters of a call of a rung: the `given` values, and for the others
-- the defaults, or the values nearest to them that the device allows. The
-- defaults where it allows none: the call tells the reason.
function M.parameters(family, rung, given, s)
  local own, dev = M.shape(family, rung, s), s.context.device
  return rungs.nearest(rung, given, family.name, function(p)
    return not device_limits.device(family.spec.ints, rung, p, own, dev)
  end) or rungs.parameters(rung, given, family.name)
end

-- The kernel of a configuration, or nil and why the device cannot run it.
function M.kernel(family, rung, p, s)
  local dev = s.context.device
  s = M.shape(family, rung, s)
  local kernel
  local reason = device_limits.device(family.spec.ints, rung, p, s, dev)
  if not reason then
    kernel, reason = build(rung, p, s, s.context)
  end
  if kernel then
    local _, size = rung.range(s, p)
    reason = device_limits.kernel(rung, kernel, size, dev)
  end
  return not reason and kernel or nil, reason
end

-- The fields of two tables (nil: none) in one; `changes` win.
function M.merged(o, changes)
  local result = {}
  for key, value in pairs(o or {}) do
    result[key] = value
  end
  for key, value in pairs(changes or {}) do
    result[key] = value
  end
  return result
end

-- Arguments as a kernel takes them, and how many matrices of a batch they
-- are for, in dimension 2 of the NDRange (nil: that does not apply).
local function pass(family, args)
  if family.spec.pass then
    return family.spec.pass(args)
  end
  return args
end

local function batched(count, global, size)
  if (count or 1) == 1 then
    return global, size
  end
  return {global[1], global[2] or 1, count},
    size and {size[1], size[2] or 1, 1}
end

-- The function by which `prepare` and `finish` add helper launches to a plan:
-- run(file, kernel, defines, global, local, ...), or run(other), the commands
-- of another family's plan. In place of the file's name {file =, ptx =, once
-- =} tells that its comments mark instructions, as a rung's ptx does, and that
-- only the first run of the plan needs it.
local function helper(family, plan, s, once)
  return function(file, name, defines, global, size, ...)
    local from = type(file) == "table" and file or {file = file}
    if from.commands then
      for _, command in ipairs(file.commands) do
        plan:add(command.launch:work{}, once,
          table.unpack(command, 1, command.n))
      end
      return
    end
    local args, count = pass(family, table.pack(...))
    local path = program.locate(from.file, {family.folder}, family.name)
    local prog = assert(program.get(s.context, {path = path, ptx = from.ptx},
      M.merged(defines, {PLACED = count and 1})))
    local kernel = program.kernel(prog, name)
    plan:add(kernel:range(batched(count, global, size)), from.once or once,
      table.unpack(args, 1, args.n))
  end
end

-- Adds the commands of one launch of a rung, its helpers' around it. Returns
-- why the device cannot run it, or nil.
local function launch(family, plan, rung, p, kernel, run, s, o)
  local own = M.merged(o, rung.prepare and rung.prepare(s, p, o, run))
  local args, count = pass(family, (rung.args or family.spec.args)(s, p, own))
  local reason = device_limits.constants(kernel, args, s.context.device)
  if reason then
    return reason
  end
  plan.main = plan.main or #plan.commands + 1
  plan:add(kernel:range(batched(count, rung.range(s, p))), false,
    table.unpack(args, 1, args.n))
  if rung.finish then
    rung.finish(s, p, own, helper(family, plan, s, false), o)
  end
end

-- Enqueues the helper launches that f(run) adds, as a rung's `prepare` does.
-- Returns the results of f as a list, and the event of the launches.
function M.helpers(family, s, f)
  local plan = setmetatable({commands = {}, ran = false}, Plan)
  local results = table.pack(f(helper(family, plan, s, false)))
  return results, plan:run()
end

-- The plan of a configuration on bound operands, or nil and why the device
-- cannot run it. Without opts.queue it runs on the context's default queue.
function M.new(family, rung, p, o, s, kernel, opts)
  local spec = family.spec
  local plan = setmetatable({queue = opts.queue, commands = {}, ran = false,
    after = opts.after and span.flatten(family.name, opts.after)}, Plan)
  local run = helper(family, plan, s, spec.prepare_once)
  local function add(own_shape, own)
    return launch(family, plan, rung, p, kernel, run, own_shape, own)
  end
  local reason
  if spec.stage then
    reason = spec.stage(rung, s, M.shape(family, rung, s), o, run, add)
  else
    reason = add(s, o)
  end
  plan.main = plan.main or 1
  return not reason and plan or nil, reason
end

return M

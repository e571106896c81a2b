-- ladder/plan_cache.lua - the plans of earlier calls of a family, so that the
-- same call again costs little more than its launch
--
-- A call finds its plan by the addresses of its operands and its options, in a
-- table whose values are weak. What keeps a plan there:
--
--   * A family holds the MOST plans used last, each in a chain of ephemerons,
--     {[A] = {[B] = {[C] = plan}}}. So a plan lives as long as all operands
--     that the user gave are in use elsewhere: it keeps none of them, and goes
--     with its scratch memory in the collection that takes the first of them.
--   * A result that the call did not name belongs to the caller alone: after
--     its launch the plan lets go of it.
--   * A call that is recorded has a plan of its own, see recording.lua.
--   * A closed operand has given its memory back; what is left of its plan
--     goes when any family plans the next call.
--   * Where memory is short, the module cl calls give_up: all plans go, and it
--     collects and tries again. So their scratch memory, which may be
--     gigabytes, is never in the way of other memory.
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.ladder.arguments"
local packed = require "clshell.ladder.packed"
local program = require "clshell.ladder.program"
local recording = require "clshell.base.recording"
local result = require "clshell.base.result"

local M = {}

local MOST = 16 -- plans of a family: two for each of eight devices
local CHAIN = {__mode = "k"}

local held = setmetatable({}, {__mode = "k"}) -- plans -> chains, oldest first

--- plan_cache.new(old) -> plans
--- An empty table of plans, in the place of an old one or nil.
function M.new(old)
  if old then
    held[old] = nil
  end
  local plans = setmetatable({}, {__mode = "v"})
  held[plans] = {}
  return plans
end

--- plan_cache.give_up()
--- Holds no plan of any family any longer: a collection takes them.
function M.give_up()
  for plans in pairs(held) do
    held[plans] = {}
  end
end

-- Whether each operand of a chain is there, and open.
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

-- Makes a plan the one used last.
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

-- Whether a value is an operand that lies on the device.
local function is_operand(value)
  return arguments.is_buffer(value) or packed.is(value)
end

-- A value as a part of a key; nil for host data, queues, lists of events and
-- what is closed: calls with such are planned anew.
local function part(value)
  if is_operand(value) then
    return not value.closed and ("%p"):format(value) or nil
  elseif math.type(value) or type(value) == "string"
      or type(value) == "boolean" then
    return ("%q"):format(value)
  end
end

-- The key of a call: equal for equal operands and options; nil: not to keep.
local function key_of(names, operands, opts)
  local key = {}
  for i, name in ipairs(names) do
    key[i] = is_operand(operands[name]) and part(operands[name])
    if not key[i] then
      return nil
    end
  end
  for name, value in pairs(opts) do
    local text = part(value)
    if not text then
      return nil
    end
    key[#key + 1] = name
    key[#key + 1] = text
  end
  return table.concat(key, " ")
end

-- The programs of a plan's commands, by themselves.
local function programs_of(plan)
  local programs = {}
  for _, command in ipairs(plan.commands) do
    programs[command.launch.kernel.program] = true
  end
  return programs
end

-- Where the output stands among the arguments: {command, index} pairs.
local function places_of_output(plan)
  local list = {}
  for _, command in ipairs(plan.commands) do
    for i = 1, command.n do
      if rawequal(command[i], plan.output) then
        list[#list + 1] = {command, i}
      end
    end
  end
  return list
end

-- Sets the output of a plan whose calls name none.
local function set_output(plan, output)
  plan.output = output
  for _, place in ipairs(plan.output_places) do
    place[1][place[2]] = output
  end
end

-- Whether all programs are made of what their files hold now.
local function all_current(programs)
  for prog in pairs(programs) do
    if not program.current(prog) then
      return false
    end
  end
  return true
end

-- The operands in the key of a call, and the plan, as a chain.
local function chain_of(names, operands, opts, plan)
  local chain = plan
  for _, value in pairs(opts) do
    chain = is_operand(value) and setmetatable({[value] = chain}, CHAIN)
      or chain
  end
  for _, name in ipairs(names) do
    chain = setmetatable({[operands[name]] = chain}, CHAIN)
  end
  return chain
end

-- Makes a plan ready for later calls. Returns false where it cannot be.
local function keep(plan, spec, operands, opts)
  plan.programs = programs_of(plan)
  if opts[spec.output] == nil then
    local y = plan.output
    plan.output_places = places_of_output(plan)
    plan.output_like = {type = y.type, shape = y.shape, context = y.context}
  end
  plan.operands = nil -- they include the output
  plan.chain = chain_of(spec.inputs, operands, opts, plan)
  return not plan.output_places or #plan.output_places > 0
end

--- plan_cache.run(plans, spec, operands, opts, new) -> output, event
--- Runs the plan of a call with these operands and options: one of `plans`,
--- with a new output unless the call names one, or that of new().
function M.run(plans, spec, operands, opts, new)
  local key = spec.keeps_plans and not recording.current()
    and key_of(spec.inputs, operands, opts)
  local plan = key and plans[key]
  if plan and all_current(plan.programs) then
    local like = plan.output_places and plan.output_like
    if like then
      set_output(plan, result.new(like.type, like.shape, like.context,
        plan.queue))
    end
  else
    drop_broken()
    plan = new()
    if not (key and keep(plan, spec, operands, opts)) then
      return plan.output, plan:run()
    end
    plans[key] = plan
  end
  if held[plans] then -- no rung was defined meanwhile
    hold(held[plans], plan.chain)
  end
  if plan.output_places then
    local output, event = plan.output, plan:run()
    set_output(plan, false)
    return output, event
  end
  return plan.output, plan()
end

return M

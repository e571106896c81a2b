-- family/plan_cache.lua - the plans of earlier calls of a family, so that the
-- same call again costs little more than its launch
-- The table is weak: a collection drops the plans, and no Buffer lives longer
-- because of them. A plan holds its operands, so that their addresses are
-- those of no other object while it is there.
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.family.arguments"
local cl = require "cl"
local packed = require "clshell.family.packed"
local program = require "clshell.family.program"

local M = {}

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

-- Gives a kept plan a new output, as a call that names none has to have; the
-- old one may be closed.
local function renew_output(plan)
  local like = plan.output_like
  plan.output = cl.buffer(like.type, like.shape, nil, {context = like.context})
  for _, place in ipairs(plan.output_places) do
    place[1][place[2]] = plan.output
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

--- plan_cache.get(plans, spec, operands, opts, new) -> plan
--- The plan of a call with these operands and options: out of the weak table
--- `plans`, with a new output unless the call names one, or from new().
function M.get(plans, spec, operands, opts, new)
  local key = spec.keeps_plans and key_of(spec.inputs, operands, opts)
  local plan = key and plans[key]
  if plan and all_current(plan.programs) then
    if plan.output_places then
      renew_output(plan)
    end
    return plan
  end
  plan = new()
  if key then
    plan.programs = programs_of(plan)
    plan.output_places = opts[spec.output] == nil and places_of_output(plan)
      or nil
    local y = plan.output
    plan.output_like = y and {type = y.type, shape = y.shape,
      context = y.context}
    local replaceable = not plan.output_places or #plan.output_places > 0
    plans[key] = replaceable and plan or nil
  end
  return plan
end

return M

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
--   * A call that is recorded has a plan of its own, see base/recording.lua.
--   * A closed operand has given its memory back; what is left of its plan
--     goes when any family plans the next call.
--   * Where memory is short, the module cl calls give_up: all plans go, and it
--     collects and tries again. So their scratch memory, which may be
--     gigabytes, is never in the way of other memory.
-- SPDX-License-Identifier: MIT

local operands = require "clshell.ladder.operands"
local plan = require "clshell.ladder.plan"
local result = require "clshell.base.result"

local M = {}

local MOST = 16 -- plans of a family: two for each of eight devices
local CHAIN = {__mode = "k"}

local held = setmetatable({}, {__mode = "k"}) -- plans -> chains, oldest first

--- plan_cache.new(old) -> plans
--- An empty table of plans, which replaces the table `old`, or nil.
function M.new(old)
  if old then
    held[old] = nil
  end
  local plans = setmetatable({}, {__mode = "v"})
  held[plans] = {}
  return plans
end

--- plan_cache.give_up()
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

-- The key of a call: equal for equal operands and options; nil where host
-- data, a queue, a list of events or a closed operand is among them: such a
-- call is planned anew.
local function key_of(names, given, opts)
  local key = {}
  for i, name in ipairs(names) do
    key[i] = operands.key(given[name])
    if not key[i] then
      return nil
    end
  end
  for name, value in pairs(opts) do
    local text = operands.key(value)
    if text == nil and (math.type(value) or type(value) == "string"
        or type(value) == "boolean") then
      text = ("%q"):format(value)
    end
    if not text then
      return nil
    end
    key[#key + 1] = name
    key[#key + 1] = text
  end
  return table.concat(key, " ")
end

-- The operands in the key of a call, and the plan, as a chain.
local function chain_of(names, given, opts, made)
  local chain = made
  for _, value in pairs(opts) do
    chain = operands.key(value) and setmetatable({[value] = chain}, CHAIN)
      or chain
  end
  for _, name in ipairs(names) do
    chain = setmetatable({[given[name]] = chain}, CHAIN)
  end
  return chain
end

--- plan_cache.run(family, given, opts) -> output, event
--- Runs the plan of a call with these operands and options, a kept plan or a
--- new one. A call that names no output gets a new Buffer.
function M.run(family, given, opts)
  local spec, plans = family.spec, family.kept_plans
  local key = spec.keeps_plans and not result.recording()
    and key_of(spec.inputs, given, opts)
  local kept, output = key and plans[key], nil
  if not kept or not kept:is_current() then
    drop_broken()
    kept = plan.new(family, given, opts, true)
    output = kept.output
    if not (key and kept:keep(opts[spec.output] ~= nil)) then
      return output, kept:run()
    end
    kept.chain = chain_of(spec.inputs, given, opts, kept)
    plans[key] = kept
  end
  local chains = held[plans]
  if chains and chains[#chains] ~= kept.chain then -- nil after a definition
    hold(chains, kept.chain)
  end
  if kept.output_places then
    return kept:run_into(output)
  end
  return kept.output, kept()
end

return M

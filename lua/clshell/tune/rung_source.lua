-- tune/rung_source.lua - the configurations of a rung, or of all rungs of a
-- family, as a source; see evaluation.lua
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local options = require "clshell.base.options"
local progress = require "clshell.base.progress"
local plans = require "clshell.ladder.plan"
local program = require "clshell.ladder.program"
local rungs = require "clshell.ladder.rung"
local space = require "clshell.tune.space"
local workload = require "clshell.ladder.workload"

local M = {}
local Rungs = setmetatable({}, evaluation.Source)
Rungs.__index = Rungs

local MODULE = ...

-- The parameters of several rungs as lists for a space, first the rung; and
-- the legal values of each parameter, by rung and name.
local function joined_lists(family, names)
  local params, by_name, legal = {{"rung", names}}, {}, {}
  for _, rung_name in ipairs(names) do
    legal[rung_name] = {}
    for _, param in ipairs(family.rung(rung_name).params) do
      local entry = by_name[param.name]
      if not entry then
        entry = {list = {}, seen = {}}
        by_name[param.name] = entry
        params[#params + 1] = {param.name, entry.list}
      end
      local mine = {}
      legal[rung_name][param.name] = mine
      for _, v in ipairs(param.values) do
        mine[v] = true
        if not entry.seen[v] then
          entry.seen[v] = true
          table.insert(entry.list, v)
        end
      end
    end
  end
  return params, legal
end

-- The space of several rungs: a parameter `rung`, and the parameters of all; a
-- parameter that the rung lacks has its first value.
local function joined(family, names, where)
  local params, legal = joined_lists(family, names)
  local constraints = {}
  for i = 2, #params do
    local name, values = params[i][1], params[i][2]
    constraints[i - 1] = function(p)
      local set, v = legal[p.rung][name], p[name]
      return set and set[v] or not set and v == values[1]
    end
  end
  for _, w in ipairs(type(where) == "table" and where or {where}) do
    constraints[#constraints + 1] = w
  end
  return space.new(params, constraints)
end

-- The reason against a rung on a shape, with the parameters of a call that
-- gives none; nil where the device accepts them.
local function refusal_of(family, rung, s)
  return family.refusal(rung.name, plans.parameters(family, rung, {}, s), s)
end

-- The rungs of a family that the device can run on a shape, and the reasons
-- against the other rungs. A rung that cuts its operands is not taken unless
-- it is named.
local function usable(family, s)
  local names, out = {}, {}
  for _, entry in ipairs(family.kernels()) do
    local rung = entry.rung
    local reason = rung.input_roundoff
      and "cuts its operands; name it to tune it"
      or refusal_of(family, rung, s)
    if reason then
      out[#out + 1] = {rung = rung.name, reason = reason}
    else
      names[#names + 1] = rung.name
    end
  end
  return names, out
end

-- A point of the space of several rungs: the parameters of one rung, and the
-- first values of the other parameters.
local function joined_point(params, name, own)
  local p = {rung = name}
  for _, param in ipairs(params) do
    local v = own[param.name]
    p[param.name] = p[param.name] or v == nil and param.values[1] or v
  end
  return p
end

-- Gives a source the points of one rung.
local function take_rung(self, rung, where)
  if #rung.params == 0 then
    cl.error(("tune: %s has no parameter to tune"):format(self.name),
      {hint = ("bench(\"%s\", ...) measures it"):format(self.name)})
  end
  self.space = space.new(rung.params, where)
  self.first = {plans.parameters(self.family, rung, {}, self.shape)}
end

-- Gives a source the points of all rungs that the device accepts; it begins
-- with the choice of calls that name no rung, and the default of each rung.
local function take_family(self, where)
  local family = self.family
  local names, out = usable(family, self.shape)
  self.out = out
  if #names == 0 then
    cl.error(("tune: the device accepts no rung of %s on %s"):format(
      family.name, self.title), {hint = self.out[1].reason})
  end
  self.space = joined(family, names, where)
  local choice, params = family.choice(self.job.operands), self.space.params
  self.first = {joined_point(params, choice.rung, choice.params)}
  for _, name in ipairs(names) do
    local rung = family.rung(name)
    table.insert(self.first, joined_point(params, name,
      plans.parameters(family, rung, {}, self.shape)))
  end
end

-- Computes f(plan), the truth for a plan's operands and the content of its
-- output before the run, once for all plans that round these operands alike.
local function once(f)
  local known = {}
  return function(plan)
    local key = ("%s %s"):format(plan.rung.input_roundoff, plan.rung.half)
    known[key] = known[key] or table.pack(f(plan))
    return table.unpack(known[key], 1, known[key].n)
  end
end

-- The sizes of a shape, without its operands.
local function plain_sizes(family, s)
  local plain = {}
  for key, v in pairs(family.spec.sizes(s)) do
    plain[key] = type(v) ~= "table" and type(v) ~= "userdata" and v or nil
  end
  return plain
end

--- rung_source.source(job, opts [, known]) -> source
--- The configurations of a rung, or of all rungs of a family that the device
--- accepts, on operands: job is the result of target.ladder. In another
--- process `known` has the user's own rungs, and no space is made.
function M.source(job, opts, known)
  local family = job.family
  for _, rung in ipairs(known or {}) do
    if not pcall(family.rung, rung.name) then
      table.insert(family.list, rung)
    end
  end
  local _, s = family.bind(job.operands)
  local self = setmetatable({job = job, options = opts, family = family,
    name = job.rung and ("%s.%s"):format(family.name, job.rung)
      or family.name, title = family.spec.title(s), shape = s, first = {},
    context = s.context, out = {}, mode = opts.cache or family.spec.cache,
    sizes = plain_sizes(family, s), truth = once(family.truth),
    module = MODULE}, Rungs)
  if not known and job.rung then
    take_rung(self, family.rung(job.rung), opts.where)
  elseif not known then
    take_family(self, opts.where)
  end
  return self
end

function Rungs:split(p)
  local own, rung = {}, self.family.rung(self.job.rung or p.rung)
  for _, param in ipairs(rung.params) do
    own[param.name] = p[param.name]
  end
  return own, not self.job.rung and rung.name or nil,
    rungs.tostring(rung, own)
end

-- The name of the rung of a point, and its parameters.
local function rung_of(self, p)
  return self.job.rung or p.rung, (self:split(p))
end

function Rungs:refusal(p)
  local name, own = rung_of(self, p)
  return self.family.refusal(name, own, self.shape)
end

function Rungs:described(p)
  local name, own = rung_of(self, p)
  local rung = self.family.rung(name)
  local seen = plans.shape(self.family, rung, self.shape)
  local from = {path = rung.path, source = rung.source, name = rung.name,
    ptx = rung.ptx}
  local global, size = rung.range(seen, own)
  return {from = from, defines = rungs.defines(rung, own, seen),
    options = rung.options and rung.options(own, seen)}, global, size,
    select(2, program.source(rung))
end

function Rungs:identity()
  return self.sizes, self.shape.type, self.mode, self.job.seed
end

function Rungs:measure(p, best)
  local job, family = self.job, self.family
  local name, own = rung_of(self, p)
  progress.phase "built"
  local ok, usable_kernel, reason = pcall(family.check, name, own,
    job.operands)
  if not ok then
    return evaluation.unbuilt(usable_kernel)
  elseif not usable_kernel then
    return {status = "refused", reason = reason}
  end
  return evaluation.bench({family = family, rung = name, params = own,
    operands = job.operands, seed = job.seed, setting = self:setting(p),
    truth = self.truth}, evaluation.options(self.options), best)
end

function Rungs:prepared(p)
  local name, own = rung_of(self, p)
  progress.phase "built"
  local plan = self.family.plan_for(name, own, self.job.operands)
  local declared = plan and plan.rung.local_bytes
  return plan and {call = plan,
    kernel = plan.commands[plan.main].launch.kernel,
    local_bytes = declared and declared(plan.shape, own)}
end

-- Operands of shapes that fit no tile, with the words of the tuned shape; none
-- for a family whose operands come from the user alone.
local function awkward_operands(self)
  local family, s, cases = self.family, self.shape, {}
  for i, fits_none in ipairs(workload.awkward(family, true)) do
    local here = {}
    for _, name in ipairs{"format", table.unpack(family.spec.extras)} do
      here[name] = type(s[name]) == "string" and s[name] or nil
    end
    local made, o = pcall(workload.ladder, "tune", family,
      options.with(here, fits_none), s.type)
    if not made then
      evaluation.reason(o)
      return cases
    end
    cases[i] = {operands = workload.longer(o.operands) or o.operands,
      truth = once(family.truth)}
  end
  return cases
end

-- The reason against a plan whose result is compared with the truth, or nil.
local function fault_of(family, plan, truth)
  local verify = require "clshell.ladder.verify"
  local good, result = pcall(function()
    return verify.run(plan, plan.output, truth(plan))
  end)
  local at = "at " .. family.spec.title(plan.shape)
  if not good then
    return ("%s: %s"):format(at, evaluation.reason(result))
  elseif not result.ok then
    return ("%s, rows %d longer: err=%.1e, bound %.1e"):format(at,
      workload.MARGIN, result.err, result.bound)
  end
end

function Rungs:awkward(p)
  local name, own = rung_of(self, p)
  progress.phase "built"
  self.cases = self.cases or awkward_operands(self)
  for _, case in ipairs(self.cases) do
    local ok, plan = pcall(self.family.plan_for, name, own, case.operands)
    local fault
    if ok and plan then
      fault = fault_of(self.family, plan, case.truth)
    elseif not ok then
      evaluation.reason(plan)
    end
    if fault then
      return fault
    end
  end
end

function Rungs:again()
  local own, job = {}, self.job
  for _, rung in ipairs(self.family.list) do
    own[#own + 1] = not rung.builtin and rung or nil
  end
  local opts = evaluation.options(self.options)
  opts.objective = opts.busy and self.options.objective
  return {family = self.family, rung = job.rung, operands = job.operands,
    seed = job.seed}, opts, own
end

return M

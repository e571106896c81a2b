-- tune/ladder.lua - the configurations of a rung, or of all rungs of a family,
-- as a source; see evaluate.lua
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local phase = require "clshell.base.phase"
local prepared_call = require "clshell.ladder.prepared_call"
local race = require "clshell.tune.race"
local record = require "clshell.measure.record"
local rungs = require "clshell.ladder.rung"
local space = require "clshell.tune.space"
local timer = require "clshell.measure.timer"
local verify = require "clshell.ladder.verify"
local workload = require "clshell.measure.workload"

local M = {}

local MODULE = ...

-- The parameters of a rung as lists for a space.
local function lists(rung)
  local params = {}
  for i, param in ipairs(rung.params) do
    params[i] = {param.name, param.values}
  end
  return params
end

-- The space of several rungs: a parameter `rung`, and the parameters of all;
-- a parameter that is not the rung's has its first value.
local function joined(family, names, where)
  local params, by_name, legal, seen = {{"rung", names}}, {}, {}, {}
  for _, name in ipairs(names) do
    legal[name] = {}
    for _, param in ipairs(family.rung(name).params) do
      local list = by_name[param.name]
      if not list then
        list = {}
        by_name[param.name], seen[list] = list, {}
        params[#params + 1] = {param.name, list}
      end
      legal[name][param.name] = {}
      for _, v in ipairs(param.values) do
        legal[name][param.name][v] = true
        if not seen[list][v] then
          seen[list][v] = true
          list[#list + 1] = v
        end
      end
    end
  end
  local constraints = {}
  for i = 2, #params do
    local name = params[i][1]
    constraints[i - 1] = function(p)
      local set, v = legal[p.rung][name], p[name]
      return set and set[v] or not set and v == params[i][2][1]
    end
  end
  for _, w in ipairs(type(where) == "table" and where or {where}) do
    constraints[#constraints + 1] = w
  end
  return space.new(params, constraints)
end

-- The reason against a rung on all of the shapes, or nil.
local function refusal(family, rung, shapes)
  local reason
  for _, s in ipairs(shapes) do
    local p = prepared_call.parameters(family, rung, {}, s)
    reason = family.refusal(rung.name, p, s)
    if not reason then
      return nil
    end
  end
  return reason
end

-- The rungs of a family that the device may run at all on one of the shapes,
-- and the reasons against the others. A rung that cuts its operands is not
-- taken unless it is named.
local function usable(family, shapes)
  local names, out = {}, {}
  for _, entry in ipairs(family.kernels()) do
    local rung = entry.rung
    local reason = rung.input_roundoff
      and "cuts its operands; name it to tune it"
    reason = reason or refusal(family, rung, shapes)
    if reason then
      out[#out + 1] = {rung = rung.name, reason = reason}
    else
      names[#names + 1] = rung.name
    end
  end
  return names, out
end

local function compare(plan, truth)
  return verify.run(plan, plan.output, truth(plan))
end

--- ladder.source(job, opts [, shapes]) -> source
--- The configurations of a rung, or of all rungs of a family, on operands:
--- job is that of target.ladder. Of a family the space has the rungs that the
--- device accepts on one of the shapes, by default that of the job. In
--- another process `known` has the rungs of the user's own; no space is made.
function M.source(job, opts, all, known)
  local family = job.family
  for _, rung in ipairs(known or {}) do
    if not pcall(family.rung, rung.name) then
      table.insert(family.list, rung)
    end
  end
  local _, s = family.bind(job.operands)
  local src = {name = job.rung and ("%s.%s"):format(family.name, job.rung)
    or family.name, title = family.spec.title(s), family = family, shape = s,
    context = s.context, out = {}, mode = opts.cache or bench.mode(family),
    module = MODULE}
  if known then
    src.first = {}
  elseif job.rung then
    local rung = family.rung(job.rung)
    if #rung.params == 0 then
      cl.error(("tune: %s has no parameter to tune"):format(src.name),
        {hint = ("bench(\"%s\", ...) measures it"):format(src.name)})
    end
    src.space = space.new(lists(rung), opts.where)
    src.first = {prepared_call.parameters(family, rung, {}, s)}
  else
    local names
    names, src.out = usable(family, all or {s})
    if #names == 0 then
      cl.error(("tune: the device accepts no rung of %s on %s"):format(
        family.name, src.title), {hint = src.out[1].reason})
    end
    src.space, src.spaces, src.first = joined(family, names, opts.where), {},
      {}
    local choice = family.choice(job.operands)
    local function start(name, params)
      local p = {rung = name}
      for _, param in ipairs(src.space.params) do
        local v = params[param.name]
        p[param.name] = p[param.name] or v == nil and param.values[1] or v
      end
      src.first[#src.first + 1] = p
    end
    start(choice.rung, choice.params)
    for _, name in ipairs(names) do
      local rung = family.rung(name)
      src.spaces[name] = #rung.params > 0 and space.new(lists(rung)) or nil
      start(name, prepared_call.parameters(family, rung, {}, s))
    end
  end

  function src.split(p)
    local own, name = {}, job.rung or p.rung
    for _, param in ipairs(family.rung(name).params) do
      own[param.name] = p[param.name]
    end
    return own, not job.rung and name or nil
  end

  local function of(p)
    local own = src.split(p)
    return job.rung or p.rung, own
  end

  function src.refusal(p)
    local name, own = of(p)
    return family.refusal(name, own, s)
  end

  local sizes = family.spec.sizes and family.spec.sizes(s) or s
  local shape = {}
  for key, value in pairs(sizes) do
    shape[key] = type(value) ~= "table" and type(value) ~= "userdata"
      and value or nil
  end

  -- The rung of a point, what program.get takes for it, and its ranges.
  local function described(p)
    local name, own = of(p)
    local rung = family.rung(name)
    local seen = family.spec.adapt and family.spec.adapt(rung, s) or s
    local from = {path = rung.path, source = rung.source, name = rung.name,
      ptx = rung.ptx}
    return rung, {from = from, defines = rungs.defines(rung, own, seen),
      options = rung.options and rung.options(own, seen)},
      rung.range(seen, own)
  end

  function src.programs(p)
    return {(select(2, described(p)))}
  end

  function src.setting(p)
    local rung, built, global, size = described(p)
    local hash = select(2, record.source(rung))
    return evaluate.setting(s.context, hash, built.defines, built.options,
      evaluate.sizes(global), evaluate.sizes(size), shape, s.type, src.mode,
      job.seed), hash
  end

  local truth = verify.once(family.truth)

  function src.measure(p, best)
    local name, own = of(p)
    phase.begin "built"
    local ok, usable_kernel, reason = pcall(family.check, name, own,
      job.operands)
    if not ok then
      return evaluate.unbuilt(usable_kernel)
    elseif not usable_kernel then
      return {status = "refused", reason = reason}
    end
    local sampled
    local r = bench.job({family = family, rung = name,
      params = own, operands = job.operands, seed = job.seed,
      setting = src.setting(p), truth = truth},
      evaluate.options(opts), function(...)
        sampled = race.measure(best, ...)
      end, "tune")
    return evaluate.ended(r, sampled)
  end

  function src.subject(p)
    local name, own = of(p)
    phase.begin "built"
    local plan = family.plan_for(name, own, job.operands)
    return plan and timer.new(plan.shape.context, {plan})
  end

  function src.launch(p)
    local name, own = of(p)
    phase.begin "built"
    local plan = family.plan_for(name, own, job.operands)
    if plan then
      phase.begin "ran"
      plan():wait()
    end
  end

  function src.resource(p, resource)
    local name, own = of(p)
    local plan = family.plan_for(name, own, job.operands)
    if not plan then
      return nil
    end
    local declared = plan.rung.local_bytes
    return evaluate.resource(resource,
      plan.commands[plan.main].launch.kernel, declared
      and declared(plan.shape, own))
  end

  local shapes
  local function awkward_operands()
    shapes = {}
    for i, fits_none in ipairs(workload.awkward(family, true)) do
      local here = {}
      for _, name in ipairs{"format", table.unpack(family.spec.extras)} do
        here[name] = type(s[name]) == "string" and s[name] or nil
      end
      for key, value in pairs(fits_none) do
        here[key] = value
      end
      local made, o = pcall(workload.ladder, "tune", family, here, s.type)
      if not made then -- operands of this family come from the user alone
        evaluate.reason(o)
        return
      end
      shapes[i] = {operands = workload.longer(o.operands) or o.operands,
        truth = verify.once(family.truth)}
    end
  end

  function src.awkward(p)
    local name, own = of(p)
    phase.begin "built"
    if not shapes then
      awkward_operands()
    end
    for _, case in ipairs(shapes) do
      local ok, plan = pcall(family.plan_for, name, own, case.operands)
      if ok and plan then
        local good, result = pcall(compare, plan, case.truth)
        local at = "at " .. family.spec.title(plan.shape)
        if not good then
          return ("%s: %s"):format(at, evaluate.reason(result))
        elseif not result.ok then
          return ("%s, rows %d longer: err=%.1e, bound %.1e"):format(at,
            workload.MARGIN, result.err, result.bound)
        end
      elseif not ok then
        evaluate.reason(plan)
      end
    end
  end

  function src.again()
    local own = {}
    for _, rung in ipairs(family.list) do
      own[#own + 1] = not rung.builtin and rung or nil
    end
    return {family = family, rung = job.rung, operands = job.operands,
      seed = job.seed}, evaluate.options(opts), nil, own
  end

  return src
end

return M

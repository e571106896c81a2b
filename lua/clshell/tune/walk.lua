-- tune/walk.lua - the points that meet constraints, found by a walk over the
-- values. Parameters that no constraint joins are independent: the space is
-- the product of its parts, so that 10^12 points cost no more than the parts.
-- Within a part a depth-first walk tests each constraint as soon as its
-- parameters are set. A point of a part is kept as one integer, its digits the
-- indices of the values; the walk finds these codes in ascending order.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local constraint = require "clshell.tune.constraint"

local M = {}

local MOST = 20000000   -- points of a part: 8 bytes each
local LARGE = 100000    -- combinations of a part that are worth early tests
local WIDE = 4          -- values that are worth a test of all of them
local PATIENCE = 256    -- such tests, before they have to pay

local function bounds(param)
  local lo, hi = math.huge, -math.huge
  for _, v in ipairs(param.values) do
    lo, hi = math.min(lo, v), math.max(hi, v)
  end
  return lo, hi
end

local function ascending(param)
  for i = 2, #param.values do
    if param.values[i] < param.values[i - 1] then
      return false
    end
  end
  return true
end

--- walk.parts(params, constraints) -> list of {params, constraints}
--- The parts of a space: parameters that constraints join.
function M.parts(params, list)
  local root = {}
  local function find(name)
    while root[name] do
      name = root[name]
    end
    return name
  end
  for _, c in ipairs(list) do
    for i = 2, #c.names do
      local a, b = find(c.names[1]), find(c.names[i])
      if a ~= b then
        root[b] = a
      end
    end
  end
  local groups, order = {}, {}
  for _, p in ipairs(params) do
    local r = find(p.name)
    if not groups[r] then
      groups[r] = {params = {}, constraints = {}}
      order[#order + 1] = groups[r]
    end
    table.insert(groups[r].params, p)
  end
  for _, c in ipairs(list) do
    local group = c.names[1] and groups[find(c.names[1])]
    if group then
      table.insert(group.constraints, c)
    end
  end
  return order
end

-- Puts the parameters of a part in the order of the walk, the parameter that
-- completes most constraints first, each constraint at the depth where its
-- last parameter is set, and early tests of it before.
local function arrange(part)
  local placed, rest = {}, {table.unpack(part.params)}
  local at, early = {}, {}
  local order = {}
  local left = {table.unpack(part.constraints)}
  local function missing(c, name)
    local n = 0
    for _, other in ipairs(c.names) do
      if not placed[other] and other ~= name then
        n = n + 1
      end
    end
    return n
  end
  while #rest > 0 do
    local best, score
    for i, p in ipairs(rest) do
      local s = -#p.values * 1e-7
      for _, c in ipairs(left) do
        for k, name in ipairs(c.names) do
          if name == p.name then
            s = s + 4.0 ^ -missing(c, p.name) + 1e-3 / k
          end
        end
      end
      if not score or s > score then
        best, score = i, s
      end
    end
    local p = table.remove(rest, best)
    placed[p.name] = true
    order[#order + 1] = p
    at[#order], early[#order] = {}, {}
    for i = #left, 1, -1 do
      if missing(left[i]) == 0 then
        table.insert(at[#order], 1, table.remove(left, i))
      end
    end
    for _, c in ipairs(left) do
      for _, name in ipairs(c.names) do
        if name == p.name and (c.early or c.code) then
          table.insert(early[#order], c)
        end
      end
    end
  end
  part.params, part.at, part.early = order, at, early
  local unit = 1
  for i = #order, 1, -1 do
    order[i].unit = unit
    if unit > math.maxinteger // #order[i].values then
      cl.error("tune: the product of the values is too large")
    end
    unit = unit * #order[i].values
  end
  part.product = unit
end

-- The innermost loop of a walk as code of its own: last(set, code, codes) adds
-- the codes of the values that meet all constraints. False, with no code
-- added: one of them is more than a plain test; nil: one is no expression.
local function innermost(param, list)
  local body = {}
  for i, c in ipairs(list) do
    if c.code then
      return nil
    end
    body[i] = ("_v = %s\nif _v ~= true then\n  if _v then return end\n"
      .. "  _no[%d] = _no[%d] + 1\n  goto next\nend\n"):format(c.text, i, i)
  end
  local names, seen = {}, {[param.name] = true}
  for _, c in ipairs(list) do
    for _, name in ipairs(c.names) do
      names[#names + 1] = not seen[name] and ("local %s = _p.%s\n"):format(
        name, name) or nil
      seen[name] = true
    end
  end
  local chunk = load(("local math, _values, _unit = ...\nreturn function(_p, "
    .. "_code, _codes, _no)\n%slocal _n, _v = #_codes\nfor _k = 1, #_values "
    .. "do\nlocal %s = _values[_k]\n%s_n = _n + 1\n_codes[_n] = _code + "
    .. "(_k - 1) * _unit\n::next::\nend\nreturn true\nend"):format(
    table.concat(names), param.name, table.concat(body)), "=where", "t", {})
  local loop = chunk and chunk(math, param.values, param.unit)
  return loop and function(set, code, codes)
    local before, no = #codes, {}
    for i in ipairs(list) do
      no[i] = 0
    end
    local ok, plain = pcall(loop, set, code, codes, no)
    if not (ok and plain) or #codes > MOST then
      for i = #codes, before + 1, -1 do
        codes[i] = nil
      end
      return false
    end
    local left = #param.values
    for i, c in ipairs(list) do
      c.tested, c.refused = c.tested + left, c.refused + no[i]
      left = left - no[i]
    end
    return true
  end
end

--- walk.points(part, by_name) -> true, or nil and a name
--- Finds the points of a part: part.count, part.product of all combinations,
--- params with the unit of their digit, and codes, nil where all combinations
--- are points. nil: a constraint reads a parameter, by that name, which it did
--- not read before.
function M.points(part, by_name)
  arrange(part)
  if #part.constraints == 0 then
    part.count = part.product
    return true
  end
  local params, codes, depth = part.params, {}, #part.params
  local large = part.product > LARGE
  local set, lo, hi, strange, known = {}, {}, {}, nil, {}
  local spans, credit = {}, {} -- of each parameter: tests of many values
  for i, p in ipairs(params) do
    known[p.name] = true
    if large and constraint.numeric(p) then
      lo[p.name], hi[p.name] = bounds(p)
    end
    spans[i], credit[i] = {}, PATIENCE
    for _, c in ipairs(i < depth and lo[p.name] and ascending(p)
        and part.early[i] or {}) do
      table.insert(spans[i], c.early and c or nil)
    end
  end
  local last = large and innermost(params[depth], part.at[depth])
  local env = constraint.environment(set, by_name, function(name)
    strange = strange or not known[name] and name
  end)
  for _, c in ipairs(part.constraints) do
    c.refused, c.tested = 0, 0
  end
  local function passes(c, early)
    local answer
    if early and c.early then
      answer = c.early(lo, hi)
    else
      answer = constraint.holds(c, c.code and env or set)
    end
    if early and answer == nil then
      return true
    end
    c.tested = c.tested + 1
    c.refused = c.refused + (answer and 0 or 1)
    return answer
  end
  local function all_pass(i)
    for _, c in ipairs(part.at[i]) do
      if not passes(c) then
        return false
      end
    end
    for _, c in ipairs(large and part.early[i] or {}) do
      if not passes(c, true) then
        return false
      end
    end
    return true
  end
  local go
  local function try(i, code, k)
    local p = params[i]
    local v = p.values[k]
    set[p.name] = v
    if lo[p.name] then
      lo[p.name], hi[p.name] = v, v
    end
    if all_pass(i) and not strange then
      local here = code + (k - 1) * p.unit
      if i < depth then
        go(i + 1, here)
      elseif #codes < MOST then
        codes[#codes + 1] = here
      else
        cl.error(("tune: more than %d points are joined by constraints")
          :format(MOST))
      end
    end
  end
  -- Tries the values from first to stop, by halves: an early test of all of
  -- them may exclude them at once. It is given up where it does not pay.
  local function some(i, code, first, stop)
    local p, tests, n = params[i], spans[i], stop - first + 1
    if #tests == 0 or n < WIDE or credit[i] < 0 then
      for k = first, stop do
        try(i, code, k)
        if strange then
          return
        end
      end
      return
    end
    lo[p.name], hi[p.name] = p.values[first], p.values[stop]
    for _, c in ipairs(tests) do
      if not passes(c, true) then
        credit[i] = credit[i] + n // 2
        return
      end
    end
    credit[i] = credit[i] - #tests
    local middle = (first + stop) // 2
    some(i, code, first, middle)
    some(i, code, middle + 1, stop)
  end
  function go(i, code)
    local p = params[i]
    local least, most = lo[p.name], hi[p.name]
    if i < depth or not last or not last(set, code, codes) then
      some(i, code, 1, #p.values)
    end
    set[p.name], lo[p.name], hi[p.name] = nil, least, most
  end
  go(1, 0)
  if strange then
    return nil, strange
  end
  part.codes, part.count = codes, #codes
  return true
end

return M

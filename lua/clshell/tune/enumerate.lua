-- tune/enumerate.lua - finds the points that meet the constraints of a space.
-- Parameters that no constraint joins are independent: the space is the
-- product of its parts, so that 10^12 points cost no more than the parts.
-- Within a part nested loops set one parameter after the other, and test each
-- constraint as soon as all of its parameters are set; each loop is Lua code
-- made for it. A point of a part is kept as one integer, its code: the digits
-- are the indices of the values. The codes are found in ascending order.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local constraint = require "clshell.tune.constraint"

local M = {}

local MOST = 20000000 -- points of a part: 8 bytes each

--- enumerate.parts(params, constraints) -> list of {params, constraints}
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

-- The number of a constraint's unplaced parameters, `name` left out.
local function missing(c, placed, name)
  local n = 0
  for _, other in ipairs(c.names) do
    if placed[other] == nil and other ~= name then
      n = n + 1
    end
  end
  return n
end

-- The place in `rest` of the parameter that completes most constraints left.
local function next_place(rest, left, placed)
  local best, most
  for i, p in ipairs(rest) do
    local score = -#p.values * 1e-7
    for _, c in ipairs(left) do
      for k, name in ipairs(c.names) do
        if name == p.name then
          score = score + 4.0 ^ -missing(c, placed, p.name) + 1e-3 / k
        end
      end
    end
    if not most or score > most then
      best, most = i, score
    end
  end
  return best
end

--- enumerate.number(part)
--- Gives each parameter of a part, in the order of its list, the unit of its
--- digit in a code; part.product is the number of all combinations.
function M.number(part)
  local unit = 1
  for i = #part.params, 1, -1 do
    local p = part.params[i]
    p.unit = unit
    if unit > math.maxinteger // #p.values then
      cl.error("tune: the product of the values is too large")
    end
    unit = unit * #p.values
  end
  part.product = unit
end

-- Puts the parameters of a part in the order of the loops; part.tests[i] is
-- the list of the constraints that the i-th loop tests.
local function arrange(part)
  local placed, rest = {}, {table.unpack(part.params)}
  local left, order = {table.unpack(part.constraints)}, {}
  part.tests = {}
  while #rest > 0 do
    local p = table.remove(rest, next_place(rest, left, placed))
    placed[p.name] = true
    order[#order + 1] = p
    local tests = {}
    for i = #left, 1, -1 do
      if missing(left[i], placed) == 0 then
        table.insert(tests, 1, table.remove(left, i))
      end
    end
    part.tests[#order] = tests
  end
  part.params = order
  M.number(part)
end

-- The test of one constraint in the code of a loop.
local TEST = [[
    _answer = %s
    if not _answer then
      _no%d = _no%d + 1
      goto next
    elseif _answer ~= true then
      error()
    end
]]

-- A loop over the values of a parameter. It gets the point, whose earlier
-- parameters are set, and the point's code; it calls the next loop for each
-- value that meets the constraints.
local LOOP = [[
local math, _name, _values, _unit, _holds, _refused, _inner = ...
return function(_p, _code)
  local _answer
%s
  for _k = 1, #_values do
    local _value = _values[_k]
%s
    _p[_name] = _value
    _inner(_p, _code + (_k - 1) * _unit)
    ::next::
  end
  _p[_name] = nil
  _refused[0] = _refused[0] + #_values
%s
end]]

-- The lines of a loop over a parameter: before it, in it and after it. Names
-- that expressions read are locals, and so are the counts of refusals.
local function lines_of(param, list)
  local before, inside, after, seen = {}, {}, {}, {}
  for _, c in ipairs(list) do
    for _, name in ipairs(c.code and {} or c.names) do
      if not seen[name] and name == param.name then
        table.insert(inside, ("    local %s = _value"):format(name))
      elseif not seen[name] then
        table.insert(before, ("  local %s = _p.%s"):format(name, name))
      end
      seen[name] = true
    end
  end
  for i, c in ipairs(list) do
    before[#before + 1] = ("  local _no%d = 0"):format(i)
    inside[#inside + 1] = c.code and "    _p[_name] = _value" or nil
    inside[#inside + 1] = TEST:format(c.code and ("_holds[%d]()"):format(i)
      or ("(%s\n)"):format(c.text), i, i)
    after[i] = ("  _refused[%d] = _refused[%d] + _no%d"):format(i, i, i)
  end
  return table.concat(before, "\n"), table.concat(inside, "\n"),
    table.concat(after, "\n")
end

-- The loop over the values of a parameter as a function, and the counts of
-- its tests: [0] of the values, [i] of the values that constraint i refuses.
local function loop_of(param, list, inner, env)
  local holds, refused = {}, {[0] = 0}
  for i, c in ipairs(list) do
    refused[i], holds[i] = 0, c.code and function()
      return constraint.holds(c, env[c])
    end
  end
  local loop = assert(load(LOOP:format(lines_of(param, list)), "=where", "t",
    {}))
  return loop(math, param.name, param.values, param.unit, holds, refused,
    inner), refused
end

-- Notes the points that each constraint of a loop tested and refused.
local function count(list, refused)
  local left = refused[0]
  for i, c in ipairs(list) do
    c.tested, c.refused = left, refused[i]
    left = left - refused[i]
  end
end

-- Raises the error that a loop ended with. An expression that fails, or is no
-- plain test, ends its loop without a message: its own test gives the reason.
local function explain(part, point, e)
  for _, p in ipairs(type(e) ~= "table" and part.params or {}) do
    for _, v in ipairs(point[p.name] == nil and p.values or {}) do
      point[p.name] = v
      for _, c in ipairs(part.constraints) do
        if not c.code and missing(c, point) == 0 then
          constraint.holds(c, point)
        end
      end
    end
  end
  error(e, 0)
end

--- enumerate.points(part, by_name) -> true, or nil
--- Finds the points of a part: part.count, part.product of all combinations,
--- params with the unit of their digit, and codes, nil where all combinations
--- are points. nil: a function among the constraints reads a parameter for the
--- first time; its `names` have it now, and may join other parts.
function M.points(part, by_name)
  arrange(part)
  if #part.constraints == 0 then
    part.count = part.product
    return true
  end
  local codes, point, env, counts, new = {}, {}, {}, {}, nil
  for _, c in ipairs(part.constraints) do
    env[c] = c.code and constraint.environment(point, by_name, function(name)
      if point[name] == nil then
        table.insert(c.names, name)
        new = true
        error("a new name", 0)
      end
    end) or nil
  end
  local n = 0
  local function inner(_, code)
    n = n + 1
    codes[n] = code
    if n > MOST then
      cl.error(("tune: more than %d points are joined by constraints"):format(
        MOST))
    end
  end
  for i = #part.params, 1, -1 do
    inner, counts[i] = loop_of(part.params[i], part.tests[i], inner, env)
  end
  local ok, e = pcall(inner, point, 0)
  if new then
    return nil
  elseif not ok then
    explain(part, point, e)
  end
  for i, list in ipairs(part.tests) do
    count(list, counts[i])
  end
  part.codes, part.count = codes, n
  return true
end

return M

-- tune/enumerate.lua - the constraints of a space, Lua expressions over the
-- parameters or functions of a point, and the points that meet them.
-- Parameters that no constraint joins are independent: the space is the
-- product of its parts, so that 10^12 points cost no more than the parts.
-- Within a part nested loops set one parameter after the other, and test each
-- constraint as soon as all of its parameters are set. A point of a part is
-- kept as one integer, its code: the digits are the indices of the values. The
-- codes are found in ascending order.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local MOST = 20000000 -- points of a part: 8 bytes each
local WORDS = text.set "and or not true false nil math"

local function fail(message, ...)
  cl.error("tune: " .. message:format(...))
end

-- The hint for an expression with operators of other languages: the same in
-- Lua, where that is an expression.
local function in_lua(where)
  local lua = where:gsub("!==?", "~="):gsub("%s*&&%s*", " and ")
    :gsub("%s*||%s*", " or "):gsub("!%s*", "not "):gsub("===", "==")
    :gsub("=>", ">="):gsub("=<", "<=")
    :gsub("([^<>~=])=%f[^=]", "%1==")
  return load("return " .. lua, "", "t")
    and ("in Lua: where = \"%s\""):format(lua) or nil
end

-- The names that a Lua expression reads, and its function of a point.
local function expression(where, by_name)
  local names, seen = {}, {}
  local bare = where:gsub("(['\"]).-%1", "''"):gsub("%.%s*[%a_][%w_]*", "")
  for name in bare:gmatch "[%a_][%w_]*" do
    if by_name[name] and not seen[name] then
      seen[name], names[#names + 1] = true, name
    elseif not by_name[name] and not WORDS[name] then
      fail("where '%s': %s", where, text.unknown("parameter", name,
        text.keys(by_name)))
    end
  end
  local chunk, message = load(("local math = ...\nreturn function(_p)\n"
    .. "local %s = %s\nreturn %s\nend"):format(
    #names > 0 and table.concat(names, ", ") or "_",
    #names > 0 and "_p." .. table.concat(names, ", _p.") or "nil", where),
    "=where", "t", {})
  if not chunk then
    message = message:gsub("^where:%d+: ", "")
    cl.error(("tune: where '%s' is no Lua expression: %s"):format(where,
      message), {hint = in_lua(where)})
  end
  return names, chunk(math)
end

-- The names that a function has read, which become more while it is called,
-- and its function of a point. A parameter that it reads for the first time
-- where it has no value raises, as does an unknown name.
local function traced(where, by_name)
  local names, seen, point = {}, {}, nil
  local view = setmetatable({}, {__index = function(_, name)
    if not by_name[name] then
      error(text.unknown("parameter", tostring(name), text.keys(by_name)), 0)
    elseif not seen[name] then
      seen[name], names[#names + 1] = true, name
    end
    return point[name] == nil and error("a new name", 0) or point[name]
  end})
  return names, function(p)
    point = p
    return where(view)
  end
end

-- A constraint from a Lua expression or a function of the point: see
-- enumerate.constraints.
local function constraint(where, number, by_name)
  local c = {text = where, code = type(where) == "function"}
  if type(where) == "string" then
    c.names, c.holds = expression(where, by_name)
  elseif c.code then
    local info, first = debug.getinfo(where, "S"), {}
    c.text = ("constraint %d (%s:%d)"):format(number, info.short_src,
      info.linedefined)
    c.names, c.holds = traced(where, by_name)
    for name, param in pairs(by_name) do
      first[name] = param.values[1]
    end
    M.holds(c, first) -- finds names
  else
    fail("where must be an expression, a function of the parameters, or a "
      .. "list of them; got a %s", type(where))
  end
  return c
end

--- enumerate.constraints(where, by_name) -> list
--- The constraints of the option `where` of tune over parameters by name, each
--- a table {text, holds(point), names, code}: names lists the parameters that
--- it reads, as far as known, code is true for a function.
function M.constraints(where, by_name)
  local list = {}
  for i, w in ipairs(type(where) == "table" and where or {where}) do
    list[i] = constraint(w, i, by_name)
  end
  return list
end

--- enumerate.holds(c, point) -> boolean, or nil
--- Whether a constraint holds at a point; an answer of nil is false. Its
--- errors and other answers raise.
function M.holds(c, p)
  local ok, answer = pcall(c.holds, p)
  if ok and (answer == nil or type(answer) == "boolean") then
    return answer
  end
  local name = c.code and c.text or ("where '%s'"):format(c.text)
  if ok then
    fail("%s must be true or false; got %s", name, text.got(answer))
  end
  fail("%s raises: %s", name, (tostring(answer):gsub("^where:%d+: ", "")))
end

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

-- Puts the parameters of a part in the order of the loops; part.tests[i] is
-- the list of the constraints that the i-th loop tests.
local function arrange(part, number)
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
  number(part)
end

-- Visits the values of the i-th parameter of a part. The earlier parameters of
-- the point are set, `code` is their code. Where the constraints hold the
-- values of the next parameter follow. `refused` counts the points that each
-- constraint refuses, `visits` the calls for each parameter.
local function visit(part, i, point, code, refused, visits)
  local param, tests, codes = part.params[i], part.tests[i], part.codes
  local values, name, last = param.values, param.name, i == #part.params
  for k = 1, #values do
    local fits, here = true, code + (k - 1) * param.unit
    point[name] = values[k]
    for n = 1, #tests do
      local c = tests[n]
      fits = c.holds(point)
      if fits ~= true then
        fits = fits and M.holds(c, point) -- which raises
        refused[c] = refused[c] + 1
        break
      end
    end
    if fits and last then
      codes[#codes + 1] = here
    elseif fits then
      visit(part, i + 1, point, here, refused, visits)
    end
  end
  point[name], visits[i] = nil, (visits[i] or 0) + 1
  if #codes > MOST then
    fail("more than %d points are joined by constraints", MOST)
  end
end

-- Notes the points that each constraint of a part tested and refused.
local function count(part, refused, visits)
  for i, tests in ipairs(part.tests) do
    local left = (visits[i] or 0) * #part.params[i].values
    for _, c in ipairs(tests) do
      c.tested, c.refused = left, refused[c]
      left = left - refused[c]
    end
  end
end

--- enumerate.points(part, number) -> true, or nil
--- Finds the points of a part: part.count, part.product of all combinations,
--- params with the unit of their digit, and codes, nil where all combinations
--- are points. nil: a function among the constraints reads a parameter for the
--- first time; its `names` have it now, and may join other parts. `number` is
--- the function of space.lua that gives the parameters their units.
function M.points(part, number)
  arrange(part, number)
  if #part.constraints == 0 then
    part.count = part.product
    return true
  end
  local point, refused, visits, known = {}, {}, {}, 0
  for _, c in ipairs(part.constraints) do
    known, refused[c] = known + #c.names, 0
  end
  part.codes = {}
  local ok, e = pcall(visit, part, 1, point, 0, refused, visits)
  for _, c in ipairs(part.constraints) do
    known = known - #c.names
  end
  if known < 0 then
    return nil
  end
  for _, c in ipairs(not ok and part.constraints or {}) do
    if missing(c, point) == 0 then
      M.holds(c, point) -- words its error
    end
  end
  if not ok then
    error(e, 0)
  end
  count(part, refused, visits)
  part.count = #part.codes
  return true
end

return M

-- tune/space.lua - the configurations of a kernel: lists of values,
-- constraints, and the points that meet them, each with a number
-- SPDX-License-Identifier: MIT
--
-- Parameters that no constraint joins are independent: the points of the
-- space are the product of the points of each part, so that 10^12 points cost
-- no more than their parts. Within a part a depth-first walk tests each
-- constraint as soon as its parameters are set. A point of a part is kept as
-- one integer, its digits the indices of the values; as the walk finds these
-- codes in order, a binary search tells whether a code is a point.

local cl = require "cl"
local interval = require "clshell.tune.interval"
local range = require "clshell.base.range"
local text = require "clshell.base.text"

local M = {}
local Space = {}
Space.__index = Space

local LONGEST = 1000000 -- values of a parameter
local MOST = 20000000   -- points of a part: 8 bytes each
local LARGE = 100000    -- combinations of a part that are worth early tests
local WIDE = 4          -- values that are worth a test of all of them
local PATIENCE = 256    -- such tests, before they have to pay
local WORDS = {["and"] = true, ["or"] = true, ["not"] = true,
  ["true"] = true, ["false"] = true, ["nil"] = true, math = true}

local ESCAPES = {["\n"] = "\\n", ["\t"] = "\\t", ['"'] = '\\"',
  ["\\"] = "\\\\"} -- in the text of a point

local function fail(message, ...)
  cl.error("tune: " .. message:format(...))
end

-- The values of a parameter, checked.
local function values_of(values, name)
  if type(values) == "string" then
    values = range.list(values, "tune: params." .. name, LONGEST)
  end
  if type(values) ~= "table" then
    fail("params.%s must be a list of values or a range such as \"1..8\"; "
      .. "got %s", name, type(values))
  elseif #values == 0 then
    fail("params.%s has no value", name)
  elseif #values > LONGEST then
    fail("params.%s: a parameter has at most %d values; got %d", name,
      LONGEST, #values)
  end
  local index = {}
  for i, v in ipairs(values) do
    local kind = type(v)
    if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
      fail("params.%s: a value must be a number, a string or a boolean; "
        .. "value %d is a %s", name, i, kind)
    elseif v ~= v then
      fail("params.%s: value %d is no number (NaN)", name, i)
    elseif index[v] then
      fail("params.%s: value %s stands there twice", name, tostring(v))
    end
    index[v] = i
  end
  return {name = name, values = values, index = index}
end

-- The parameters, in the order of their list, else by name.
local function parameters(params)
  if type(params) ~= "table" or next(params) == nil then
    fail("params must be a table such as {tile = {8, 16, 32}}; got %s",
      params == nil and "nothing" or type(params) == "table" and "none"
      or type(params))
  end
  local list = {}
  for i, entry in ipairs(params) do
    if type(entry) ~= "table" or type(entry.name or entry[1]) ~= "string" then
      fail("params: entry %d must be {name, values}", i)
    end
    list[i] = values_of(entry.values or entry[2], entry.name or entry[1])
  end
  for _, name in ipairs(text.keys(params)) do
    if type(name) == "string" then
      list[#list + 1] = values_of(params[name], name)
    end
  end
  for i, p in ipairs(list) do
    if not p.name:find "^[%a_][%w_]*$" then
      fail("params: a name has letters, digits and _; got '%s'", p.name)
    end
    for k = 1, i - 1 do
      if list[k].name == p.name then
        fail("params: two parameters are called '%s'", p.name)
      end
    end
  end
  return list
end

-- What a read of a parameter without a value raises, inside a constraint.
local UNSET = setmetatable({}, {__tostring = function()
  return "a parameter that is not set yet"
end})

-- The point that functions get: the parameters set so far. `read` is called
-- with each name; an unknown name raises.
local function environment(set, by_name, read)
  return setmetatable({}, {__index = function(_, name)
    if not by_name[name] then
      error(text.unknown("parameter", tostring(name), text.keys(by_name)), 0)
    end
    read(name)
    local v = set[name]
    if v == nil then
      error(UNSET, 0)
    end
    return v
  end})
end

local function numeric(param)
  for _, v in ipairs(param.values) do
    if math.type(v) == nil then
      return false
    end
  end
  return true
end

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

-- A test of an expression by the bounds of its parameters, where these are
-- numbers; nil where there is none.
local function early_test(where, names, by_name)
  for _, name in ipairs(names) do
    if not numeric(by_name[name]) then
      return nil
    end
  end
  return interval.test(where, names)
end

-- A constraint from a Lua expression or a function of the point: {text,
-- names, holds(point)}.
local function constraint(where, number, by_name)
  local c = {text = where, code = type(where) == "function"}
  if type(where) == "string" then
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
      fail("where '%s' is no Lua expression: %s", where,
        message:gsub("^where:%d+: ", ""))
    end
    c.names, c.holds = names, chunk(math)
    c.early = #names > 1 and early_test(where, names, by_name) or nil
  elseif type(where) == "function" then
    local info = debug.getinfo(where, "S")
    c.text = ("constraint %d (%s:%d)"):format(number, info.short_src,
      info.linedefined)
    c.holds = where
  else
    fail("where must be an expression, a function of the parameters, or a "
      .. "list of them; got a %s", type(where))
  end
  return c
end

-- The constraints of `where`.
local function constraints(where, by_name)
  local list = {}
  if type(where) ~= "table" then
    where = {where}
  end
  for i, w in ipairs(where) do
    list[i] = constraint(w, i, by_name)
  end
  return list
end

-- Whether a constraint holds. An error in it ends the enumeration.
local function holds(c, p)
  local ok, answer = pcall(c.holds, p)
  if ok and (answer == nil or type(answer) == "boolean") then
    return answer
  elseif not ok and answer == UNSET then
    return nil
  end
  local name = c.code and c.text or ("where '%s'"):format(c.text)
  if ok then
    fail("%s must be true or false; got %s", name, text.got(answer))
  end
  fail("%s raises: %s", name, tostring(answer))
end

-- The names that a function reads, at points by chance.
local function trace(c, params, by_name, random)
  local seen, set = {}, {}
  c.names = {}
  local env = environment(set, by_name, function(name)
    if not seen[name] then
      seen[name], c.names[#c.names + 1] = true, name
    end
  end)
  for _ = 1, 64 do
    for _, p in ipairs(params) do
      set[p.name] = p.values[random(#p.values)]
    end
    holds(c, env)
  end
end

-- Parts of parameters that constraints join, as lists in the order of the
-- walk: the parameter that completes most constraints first.
local function parts(params, list)
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

-- Puts the parameters of a part in the order of the walk, each constraint at
-- the depth where its last parameter is set, and early tests of it before.
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
      fail("the product of the values is too large")
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

-- All points of a part as ascending codes. nil and a name: a constraint reads
-- a parameter that it did not read before.
local function walk(part, by_name)
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
    if large and numeric(p) then
      lo[p.name], hi[p.name] = bounds(p)
    end
    spans[i], credit[i] = {}, PATIENCE
    for _, c in ipairs(i < depth and lo[p.name] and ascending(p)
        and part.early[i] or {}) do
      table.insert(spans[i], c.early and c or nil)
    end
  end
  local last = large and innermost(params[depth], part.at[depth])
  local env = environment(set, by_name, function(name)
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
      answer = holds(c, c.code and env or set)
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
        fail("more than %d points are joined by constraints", MOST)
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

--- space.new(params [, where]) -> space
--- The configurations of a kernel. `params` is a list of {name, values}, or a
--- table name = values; values are a list of numbers, strings and booleans, or
--- a range: "1..8", "8..64:8" (step 8), "1..1024*2" (powers of 2). `where` is
--- a constraint, or a list of them: an expression such as "bx * by <= 256",
--- or a function of the point that tells whether it is legal. #space is the
--- number of points, which have numbers from 1.
function M.new(params, where)
  local list = parameters(params)
  local by_name = {}
  for i, p in ipairs(list) do
    by_name[p.name], p.place = p, i
  end
  local random = M.random(1)
  local wheres = constraints(where, by_name)
  for _, c in ipairs(wheres) do
    if not c.names then
      trace(c, list, by_name, random)
    end
  end
  local space = setmetatable({params = list, by_name = by_name,
    constraints = wheres}, Space)
  repeat
    space.parts = parts(list, wheres)
    local again = false
    for _, part in ipairs(space.parts) do
      arrange(part)
      local ok, name = walk(part, by_name)
      if not ok then -- join the constraint's parts by the name, and anew
        for _, c in ipairs(part.constraints) do
          table.insert(c.names, name)
        end
        again = true
        break
      end
    end
  until not again
  space.count, space.product = 1, 1
  for _, part in ipairs(space.parts) do
    if part.count > 0 and space.count > math.maxinteger // part.count then
      fail("the space has more than 2^63 points")
    end
    space.count = space.count * part.count
    space.product = space.product * 1.0 * part.product
  end
  for _, c in ipairs(wheres) do -- without parameters: true or false at all
    if #c.names == 0 and not holds(c, {}) then
      space.count, c.refused, c.tested = 0, 1, 1
    end
  end
  return space
end

function Space.__len(space)
  return space.count
end

--- space:point(number) -> table
--- The parameters of a point, by name.
function Space:point(id)
  local p, rest = {}, id - 1
  for i = #self.parts, 1, -1 do
    local part = self.parts[i]
    local at = rest % part.count
    rest = rest // part.count
    local code = part.codes and part.codes[at + 1] or at
    for _, param in ipairs(part.params) do
      p[param.name] = param.values[code // param.unit % #param.values + 1]
    end
  end
  return p
end

-- The place of a code in an ascending list, or nil.
local function search(codes, code)
  local lo, hi = 1, #codes
  while lo <= hi do
    local mid = (lo + hi) // 2
    local c = codes[mid]
    if c == code then
      return mid
    elseif c < code then
      lo = mid + 1
    else
      hi = mid - 1
    end
  end
end

--- space:number(point) -> number, or nil
--- The number of a point; nil where a constraint or a list excludes it.
function Space:number(p)
  local id = 0
  for _, part in ipairs(self.parts) do
    local code = 0
    for _, param in ipairs(part.params) do
      local k = param.index[p[param.name]]
      if not k then
        return nil
      end
      code = code + (k - 1) * param.unit
    end
    if part.codes then
      code = search(part.codes, code)
      if not code then
        return nil
      end
      code = code - 1
    end
    id = id * part.count + code
  end
  return self.count > 0 and id + 1 or nil
end

--- space:why(point) -> text, or nil
--- Why a point is out: the parameter or the constraint that excludes it.
function Space:why(p)
  for _, param in ipairs(self.params) do
    local v = p[param.name]
    if v == nil then
      return ("%s has no value"):format(param.name)
    elseif not param.index[v] then
      return ("%s = %s is not in its list"):format(param.name, tostring(v))
    end
  end
  for name in pairs(p) do
    if not self.by_name[name] then
      return text.unknown("parameter", name, text.keys(self.by_name))
    end
  end
  for _, c in ipairs(self.constraints) do
    if not holds(c, p) then
      return c.code and c.text .. " is false"
        or ("where '%s' is false"):format(c.text)
    end
  end
end

--- space:neighbours(number) -> list
--- The numbers of the points that differ in one parameter, of long lists the
--- 64 values nearest in the list.
function Space:neighbours(id)
  local list, p = {}, self:point(id)
  for _, param in ipairs(self.params) do
    local mine = p[param.name]
    local at, n = param.index[mine], #param.values
    for k = math.max(1, at - 32), math.min(n, at + 32) do
      if k ~= at then
        p[param.name] = param.values[k]
        list[#list + 1] = self:number(p)
      end
    end
    p[param.name] = mine
  end
  return list
end

--- space:tostring(point) -> text
--- "bx=16 by=4", in the order of the parameters; a text of several words is
--- quoted.
function Space:tostring(p)
  local words = {}
  for i, param in ipairs(self.params) do
    local v = p[param.name]
    if type(v) == "string" and (v == "" or v:find '[%s%c"]') then
      v = text.visible(('"%s"'):format(v:gsub('[%c"\\]', ESCAPES)))
    end
    words[i] = ("%s=%s"):format(param.name, tostring(v))
  end
  return table.concat(words, " ")
end

-- "11,088 of 1,152,000 combinations of 7 parameters; ..." and the constraint
-- that refuses most.
function Space.__tostring(space)
  local lines = {("%s, of %.0f combinations of %s"):format(text.count(
    space.count, "point"), space.product, text.count(#space.params,
    "parameter"))}
  for _, c in ipairs(space.constraints) do
    if c.tested and c.tested > 0 then
      lines[#lines + 1] = ("  %s refuses %.0f %% of those it sees"):format(
        c.text, 100 * c.refused / c.tested)
    end
  end
  return table.concat(lines, "\n")
end

local function mixed(z)
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  return z ~ z >> 31
end

--- space.random(seed) -> function(n)
--- A generator of whole numbers from 1 to n, or of fractions without n; the
--- same seed gives the same numbers. Steele, Lea and Flood, Fast splittable
--- pseudorandom number generators (2014). The seed is mixed as well: else the
--- numbers of two seeds in a row were the same but for the first.
function M.random(seed)
  local state = mixed(seed)
  return function(n)
    state = state + 0x9e3779b97f4a7c15
    local x = mixed(state) >> 11
    return n and x % n + 1 or x * 2.0^-53
  end
end

return M

-- tune/space.lua - the configurations of a kernel: lists of values, and the
-- points that meet constraints, each with a number. enumerate.lua has the
-- constraints, and finds the points of each part of a space as ascending
-- codes: a binary search tells whether a code is a point.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local argument = require "clshell.base.argument"
local text = require "clshell.base.text"

local M = {}
local Space = {}
Space.__index = Space
-- Another process finds it by this name, see calls/parcel.lua.
M.Space = Space

local LONGEST = 1000000 -- the most values of a parameter
local ESCAPES = {["\n"] = "\\n", ["\t"] = "\\t", ['"'] = '\\"',
  ["\\"] = "\\\\"} -- in the text of a point

local function fail(message, ...)
  cl.error("tune: " .. message:format(...))
end

-- The values of a parameter, checked.
local function values_of(values, name)
  if type(values) == "string" then
    values = argument.range(values, "tune: params." .. name, LONGEST)
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
  for _, p in ipairs(list) do
    if not p.name:find "^[%a_][%w_]*$" then
      fail("params: a name has letters, digits and _; got '%s'", p.name)
    end
  end
  return list
end

-- A space of parameters, still without its parts.
local function empty(params)
  local space = setmetatable({params = parameters(params), by_name = {},
    constraints = {}, parts = {}, count = 1, product = 1}, Space)
  for _, p in ipairs(space.params) do
    if space.by_name[p.name] then
      fail("params: two parameters are called '%s'", p.name)
    end
    space.by_name[p.name] = p
  end
  return space
end

-- Gives each parameter of a part, in the order of its list, the unit of its
-- digit in a code; part.product is the number of all combinations.
local function number(part)
  local unit = 1
  for i = #part.params, 1, -1 do
    local p = part.params[i]
    p.unit = unit
    if unit > math.maxinteger // #p.values then
      fail "the product of the values is too large"
    end
    unit = unit * #p.values
  end
  part.product = unit
end

-- Finds the points of a space in parts, which its constraints join; without
-- constraints each parameter is a part. A function may read a parameter only
-- at some points; when the search for the points meets such a parameter, the
-- parts are made anew.
local function find_points(space, where)
  local again
  if where == nil then
    for i, param in ipairs(space.params) do
      local count = #param.values
      param.unit = 1
      space.parts[i] = {params = {param}, count = count, product = count}
    end
    return
  end
  local enumerate = require "clshell.tune.enumerate"
  space.constraints = enumerate.constraints(where, space.by_name)
  repeat
    space.parts, again = enumerate.parts(space.params, space.constraints),
      false
    for _, part in ipairs(space.parts) do
      again = again or not enumerate.points(part, number)
    end
  until not again
end

-- Multiplies the numbers of points and of combinations by a part's numbers.
local function multiply(space, part)
  if part.count > 0 and space.count > math.maxinteger // part.count then
    fail("the space has more than 2^63 points")
  end
  space.count = space.count * part.count
  space.product = space.product * 1.0 * part.product
end

--- space.new(params [, where]) -> space
--- The configurations of a kernel. `params` is a list of {name, values}, or a
--- table name = values; values are a list of numbers, strings and booleans, or
--- a range: "1..8", "8..64:8" (step 8), "1..1024*2" (powers of 2). `where` is
--- a constraint, or a list of them: an expression such as "bx * by <= 256",
--- or a function of the point that tells whether it is legal. #space is the
--- number of points, which have numbers from 1.
function M.new(params, where)
  local space = empty(params)
  find_points(space, where)
  for _, part in ipairs(space.parts) do
    multiply(space, part)
  end
  for _, c in ipairs(space.constraints) do -- without parameters
    if #c.names == 0 and not require "clshell.tune.enumerate".holds(c, {}) then
      space.count, c.refused, c.tested = 0, 1, 1
    end
  end
  return space
end

--- space.of(params, points) -> space
--- The space of known points: a list of tables by name.
function M.of(params, points)
  local space, codes, seen = empty(params), {}, {}
  local part = {params = {table.unpack(space.params)}, constraints = {}}
  number(part)
  for _, point in ipairs(points) do
    local code = 0
    for _, param in ipairs(part.params) do
      code = code + (param.index[point[param.name]] - 1) * param.unit
    end
    codes[#codes + 1] = not seen[code] and code or nil
    seen[code] = true
  end
  table.sort(codes)
  space.parts, part.codes, part.count = {part}, codes, #codes
  multiply(space, part)
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
    if not require "clshell.tune.enumerate".holds(c, p) then
      return c.code and c.text .. " is false"
        or ("where '%s' is false"):format(c.text)
    end
  end
  return not self:number(p) and "it is not among the points listed" or nil
end

--- space:neighbours(number) -> list
--- The numbers of the points that differ in one parameter; of a long list only
--- the 64 nearest values.
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

-- "11088 points, of 1152000 combinations of 7 parameters", and a line for each
-- constraint.
function Space.__tostring(space)
  local lines = {("%s, of %.0f combinations of %s"):format(text.count(
    space.count, "point"), space.product, text.count(#space.params,
    "parameter"))}
  for _, c in ipairs(space.constraints) do
    if c.tested and c.tested > 0 then
      lines[#lines + 1] = ("  %s refuses %.0f %% of the tested points"):format(
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

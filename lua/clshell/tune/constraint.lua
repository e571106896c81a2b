-- tune/constraint.lua - the constraints of a space: Lua expressions over the
-- parameters, or functions of a point
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local interval = require "clshell.tune.interval"
local text = require "clshell.base.text"

local M = {}

local WORDS = {["and"] = true, ["or"] = true, ["not"] = true,
  ["true"] = true, ["false"] = true, ["nil"] = true, math = true}

local function fail(message, ...)
  cl.error("tune: " .. message:format(...))
end

-- What a read of a parameter without a value raises, inside a constraint.
local UNSET = setmetatable({}, {__tostring = function()
  return "a parameter that is not set yet"
end})

--- constraint.environment(set, by_name, read) -> point
--- The point that functions get: the parameters set so far. `read` is called
--- with each name; an unknown name raises.
function M.environment(set, by_name, read)
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

--- constraint.numeric(param) -> boolean
--- Whether all values of a parameter are numbers.
function M.numeric(param)
  for _, v in ipairs(param.values) do
    if math.type(v) == nil then
      return false
    end
  end
  return true
end

-- A test of an expression by the bounds of its parameters, where these are
-- numbers; nil where there is none.
local function early_test(where, names, by_name)
  for _, name in ipairs(names) do
    if not M.numeric(by_name[name]) then
      return nil
    end
  end
  return interval.test(where, names)
end

-- A constraint from a Lua expression or a function of the point: see
-- constraint.list.
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

--- constraint.list(where, by_name) -> list
--- The constraints of `where` of tune over parameters by name: {text, holds(
--- point), names of the parameters that an expression reads, code: true of a
--- function, early(lo, hi): whether it holds between bounds}.
function M.list(where, by_name)
  local list = {}
  if type(where) ~= "table" then
    where = {where}
  end
  for i, w in ipairs(where) do
    list[i] = constraint(w, i, by_name)
  end
  return list
end

--- constraint.holds(c, point) -> boolean, or nil
--- Whether a constraint holds; nil where it reads a parameter that is not set.
--- An error in it is raised.
function M.holds(c, p)
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
  fail("%s raises: %s", name, (tostring(answer):gsub("^where:%d+: ", "")))
end

--- constraint.trace(c, params, by_name, random)
--- Finds the names that a function reads, at points by chance.
function M.trace(c, params, by_name, random)
  local seen, set = {}, {}
  c.names = {}
  local env = M.environment(set, by_name, function(name)
    if not seen[name] then
      seen[name], c.names[#c.names + 1] = true, name
    end
  end)
  for _ = 1, 64 do
    for _, p in ipairs(params) do
      set[p.name] = p.values[random(#p.values)]
    end
    M.holds(c, env)
  end
end

return M

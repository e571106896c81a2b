-- tune/constraint.lua - the constraints of a space: Lua expressions over the
-- parameters, or functions of a point
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local WORDS = {["and"] = true, ["or"] = true, ["not"] = true,
  ["true"] = true, ["false"] = true, ["nil"] = true, math = true}

local function fail(message, ...)
  cl.error("tune: " .. message:format(...))
end

--- constraint.environment(set, by_name, read) -> point
--- The point that functions get: the parameters of `set`. read(name) is called
--- for each name that a function reads; an unknown name raises.
function M.environment(set, by_name, read)
  return setmetatable({}, {__index = function(_, name)
    if not by_name[name] then
      error(text.unknown("parameter", tostring(name), text.keys(by_name)), 0)
    end
    read(name)
    return set[name]
  end})
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
--- The constraints of the option `where` of tune over parameters by name, each
--- a table {text, holds(point), names, code}: names lists the parameters that
--- an expression reads, code is true for a function.
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

--- constraint.trace(c, params, by_name, random)
--- Finds the names that a function reads, at random points.
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

-- pristine.lua - whether Lua's library is as it was when this was loaded: if
-- not, calling any other module may call what the session put into it
-- SPDX-License-Identifier: MIT

local metatable, next, rawget = debug.getmetatable, next, rawget
local _G, type = _G, type

local LIBRARIES = {coroutine, debug, io, math, os, package, string, table,
  utf8}
local kept = {} -- for each library, its functions by name

for i = 1, #LIBRARIES do
  kept[i] = {}
  for name, value in next, LIBRARIES[i] do
    if type(value) == "function" then
      kept[i][name] = value
    end
  end
end

LIBRARIES[#LIBRARIES + 1] = _G
kept[#LIBRARIES] = {assert = assert, collectgarbage = collectgarbage,
  error = error, getmetatable = getmetatable, ipairs = ipairs, load = load,
  loadfile = loadfile, next = next, pairs = pairs, pcall = pcall,
  rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset,
  require = require, select = select, setmetatable = setmetatable,
  tonumber = tonumber, tostring = tostring, type = type, xpcall = xpcall}

-- Kinds of values that all share one metatable, with what it was.
local VALUES = {"", 0, true, print}
local METATABLES = {}
for i = 1, #VALUES do
  METATABLES[i] = metatable(VALUES[i]) or false
end
local STRING = rawget(METATABLES[1], "__index")

--- pristine() -> boolean
return function()
  for i = 1, #LIBRARIES do
    for name, value in next, kept[i] do
      if rawget(LIBRARIES[i], name) ~= value then
        return false
      end
    end
  end
  for i = 1, #VALUES do
    if (metatable(VALUES[i]) or false) ~= METATABLES[i] then
      return false
    end
  end
  return metatable(nil) == nil and rawget(METATABLES[1], "__index") == STRING
    and metatable(_G) == nil
end

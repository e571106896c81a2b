-- shell/prompt/last_results.lua - _ and _1 to _9: the newest results of the
-- prompt. A weak reference keeps a result that holds device memory: it is a
-- global only while an input that names it runs, so the prompt holds no device
-- memory. All other results are plain globals.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local find, getupvalue = string.find, debug.getupvalue

local M = {}

local LAST = 9
local MOST = 50000 -- values to look at
local LIGHT = {Array = true, Device = true} -- classes without device memory

local slots = {} -- from 0, the newest: {value=} or {weak=, what=}
local put = {}   -- from 0: the value put into the global of that slot

local function name(i)
  return i == 0 and "_" or "_" .. i
end

-- Whether a value leads to device memory; true where it leads to too many
-- values. `seen` has the tables and functions that were looked into, and the
-- number of values still to look at.
local function holds(value, seen)
  local kind = type(value)
  seen.left = seen.left - 1
  if kind == "userdata" then
    local class = cl.class(value)
    return class ~= nil and not LIGHT[class]
  elseif kind == "thread" or seen.left < 0 then
    return true
  elseif kind ~= "table" and kind ~= "function" or seen[value] then
    return false
  end
  seen[value] = true
  if kind == "function" then
    for i = 1, debug.getinfo(value, "u").nups do
      local _, inner = getupvalue(value, i)
      if holds(inner, seen) then
        return true
      end
    end
    return false
  end
  for key, inner in next, value do
    if holds(inner, seen) or holds(key, seen) then
      return true
    end
  end
  return holds(debug.getmetatable(value), seen)
end

-- Loaded modules stay loaded, so the search leaves them out.
local function slot(value)
  local seen = {[_G] = true, [package.loaded] = true, left = MOST}
  for _, module in next, package.loaded do
    seen[module] = true
  end
  if holds(value, seen) then
    return {weak = setmetatable({value}, {__mode = "v"}),
      what = cl.class(value) or type(value)}
  end
  return {value = value}
end

-- Whether the user has set global i.
local function owned(i)
  local value = rawget(_G, name(i))
  return value ~= nil and not rawequal(value, put[i])
end

local function set(i, value)
  if not owned(i) then
    rawset(_G, name(i), value)
    put[i] = value
  end
end

--- last_results.enter(text) -> list of notes
--- Before an input runs: sets the results that the input names. The notes
--- name the results that are gone.
function M.enter(text)
  local notes = {}
  for i = 0, LAST do
    local s = slots[i]
    if s and s.weak and not owned(i)
        and find(text, "%f[%w_]" .. name(i) .. "%f[^%w_]") then
      set(i, s.weak[1])
      if s.weak[1] == nil then
        notes[#notes + 1] = ("%s is gone: it was %s; a result that holds "
          .. "device memory, or is too large for a search, lasts only as "
          .. "long as a variable holds it"):format(name(i),
          base_text.article(s.what))
      end
    end
  end
  return notes
end

--- last_results.leave([spare])
--- After an input: removes the globals that enter set. With `spare`, the
--- user's own _ goes as well: `local _, x = f()` throws a value away.
function M.leave(spare)
  if spare then
    rawset(_G, "_", put[0])
  end
  for i, s in pairs(slots) do
    if s.weak then
      set(i, nil)
    end
  end
end

--- last_results.keep(value)
--- Makes a value the newest result, _; the earlier results become _1 to _9. A
--- global of these names that the user has set stays as it is.
function M.keep(value)
  if value == nil then
    return
  end
  for i = LAST, 1, -1 do
    local s = slots[i - 1]
    slots[i] = s and s.value ~= nil and slot(s.value) or s
  end
  slots[0] = slot(value)
  for i = 0, LAST do
    set(i, slots[i] and slots[i].value)
  end
end

return M

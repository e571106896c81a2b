-- shell/prompt/last_results.lua - _ and _1 to _9: the newest results of the
-- prompt. A weak reference keeps a result that holds device memory: it is a
-- global only while an input that names it runs, so the prompt holds no device
-- memory. All other results are plain globals.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local find = string.find
local getmetatable, getupvalue = debug.getmetatable, debug.getupvalue

local M = {}

local LAST = 9
local MOST = 50000 -- entries of tables to look at
local LIGHT = {Array = true, Device = true} -- classes without device memory

local slots = {} -- from 0, the newest: {value=} or {weak=, what=}
local put = {}   -- from 0: the value put into the global of that slot

local function name(i)
  return i == 0 and "_" or "_" .. i
end

local Search = {} -- for objects that hold device memory
Search.__index = Search

function Search:table(t)
  for key, value in next, t do
    self.left = self.left - 1
    if self.left < 0 or self:holds(value) or self:holds(key) then
      return true
    end
  end
  return self:holds(getmetatable(t))
end

function Search:closure(f)
  for i = 1, 255 do
    local known, value = getupvalue(f, i)
    if not known then
      return false
    elseif value ~= _G and self:holds(value) then
      return true
    end
  end
end

-- Whether a value leads to device memory; true where a value is too large for
-- the search.
function Search:holds(value)
  local kind = type(value)
  if kind == "userdata" then
    local class = cl.class(value)
    return class ~= nil and not LIGHT[class]
  elseif kind == "thread" then
    return true
  elseif kind ~= "table" and kind ~= "function" or self.seen[value] then
    return false
  end
  self.seen[value] = true
  if kind == "table" then
    return self:table(value)
  end
  return self:closure(value)
end

-- Loaded modules stay loaded, so the search leaves them out.
local function search()
  local seen = {[_G] = true, [package.loaded] = true}
  for _, module in next, package.loaded do
    seen[module] = true
  end
  return setmetatable({seen = seen, left = MOST}, Search)
end

local function slot(value)
  if search():holds(value) then
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
  rawset(_G, name(i), value)
  put[i] = value
end

local function mentions(text, i)
  return find(text, "%f[%w_]" .. name(i) .. "%f[^%w_]") ~= nil
end

--- last_results.enter(text) -> list of notes
--- Before an input runs: sets the results that the input names. The notes
--- name the results that are gone.
function M.enter(text)
  local notes = {}
  for i = 0, LAST do
    local s = slots[i]
    if s and s.weak and not owned(i) and mentions(text, i) then
      local value = s.weak[1]
      set(i, value)
      if value == nil then
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
  if spare and owned(0) then
    local s = slots[0]
    set(0, s and s.value)
  end
  for i = 0, LAST do
    if slots[i] and slots[i].weak and not owned(i) then
      set(i, nil)
    end
  end
end

--- last_results.keep(value)
--- Makes a value the newest result, _; the earlier ones become _1 to _9. A
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
    if not owned(i) then
      set(i, slots[i] and slots[i].value)
    end
  end
end

return M

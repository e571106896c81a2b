-- shell/prompt/safe_call.lua - runs clshell's code while the user edits a
-- line, and keeps the session's code from running: clshell's files have
-- globals of their own (base/lazy.lua), and this file holds back the session's
-- metatables of strings and numbers, its debug hook and its finalizers
-- SPDX-License-Identifier: MIT

local M = {}

local STRINGS = {__index = string}
local VALUES = {"", 0, true, print, nil} -- a metatable for each of their types

local held -- by type, the metatable that the session has set, or false

--- safe_call.metatable(value) -> metatable or nil
--- The metatable that a value has in the session.
function M.metatable(value)
  local meta = held and held[type(value)]
  if meta ~= nil then
    return meta or nil
  end
  return debug.getmetatable(value)
end

local function hold()
  local state = {running = collectgarbage "isrunning"}
  state.hook, state.mask, state.count = debug.gethook()
  collectgarbage "stop"
  if type(state.hook) == "function" then -- else it is the shell's, for Ctrl-C
    debug.sethook()
  end
  held = {}
  for i = 1, 5 do
    held[type(VALUES[i])] = debug.getmetatable(VALUES[i]) or false
    debug.setmetatable(VALUES[i], i == 1 and STRINGS or nil)
  end
  return state
end

local function release(state, fine, ...)
  for i = 1, 5 do
    debug.setmetatable(VALUES[i], held[type(VALUES[i])] or nil)
  end
  held = nil
  if type(state.hook) == "function" then
    debug.sethook(state.hook, state.mask, state.count)
  end
  if state.running then
    collectgarbage "restart"
  end
  if not fine then
    error((...), 0)
  end
  return ...
end

--- safe_call.run(f, ...) -> the results of f(...), whose errors it raises
function M.run(f, ...)
  if held then
    return f(...)
  end
  return release(hold(), pcall(f, ...))
end

return M

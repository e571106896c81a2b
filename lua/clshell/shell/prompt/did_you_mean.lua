-- shell/prompt/did_you_mean.lua - the nearest name to an unknown name or to a
-- misspelt keyword
-- Raw access only: no metamethod runs.
-- SPDX-License-Identifier: MIT

local array = require "clshell.arrays.method_names"
local caret = require "clshell.shell.prompt.caret"
local cl = require "cl"
local lexer = require "clshell.base.lexer"
local resolve = require "clshell.shell.prompt.resolve"
local text = require "clshell.base.text"

local M = {}

local MOST = 5000 -- names to compare with

local function nearest(word, names)
  table.sort(names)
  local near = text.nearest(word, names, text.misspellings(word))
  return near ~= word and near or nil
end

-- The names of the members of a value.
local function members(value)
  return resolve.members({value = value}, false, {left = MOST})
end

-- The value of a variable of a frame, or of a global variable.
local function variable(frame, name)
  if frame and frame.vars and frame.vars[name] then
    return frame.values[name]
  end
  return rawget(_G, name)
end

-- The value in front of the last name of a chain such as cl.buffer.bytes.
local function holder(frame, names)
  local value = variable(frame, names[1])
  for i = 2, #names - 1 do
    value = resolve.field(value, names[i])
  end
  return value
end

local function variables(frame)
  local names = members(_G)
  for _, name in ipairs(frame and frame.vars or {}) do
    if frame.vars[name] ~= "nil" then
      names[#names + 1] = name
    end
  end
  return names
end

-- The keyword nearest to a name: a misspelt keyword puts the token behind it
-- in the wrong place.
local function keyword(token)
  if not token or token.kind ~= "name" then
    return nil
  end
  return nearest(token.text, text.keys(lexer.KEYWORDS))
end

--- did_you_mean.name(message, frame, tokens, i) -> string or nil
--- The name nearest to the unknown name of an error message. `frame` is the
--- user's frame, `i` the place of the name in the list of tokens; either may
--- be missing.
function M.name(message, frame, tokens, i)
  if message:find("^syntax error near") or message:find("^'=' expected") then
    return i and keyword(tokens[i - 1])
  end
  local kind, name = message:match("a nil value %((%a+) '([%a_][%w_]*)'%)$")
  if message:find("no kernel '[%w_]+'; the program has: ") then
    kind, name = "method", message:match("no kernel '([%w_]+)'")
  end
  if kind == "global" then
    return nearest(name, variables(frame))
  elseif (kind == "field" or kind == "method") and i then
    local value = holder(frame, caret.chain(tokens, i))
    return rawequal(value, cl) and array.of_numpy("cl", name)
      or nearest(name, members(value))
  end
end

return M

-- highlight.lua - which part of an input is what, for colours as it is typed
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.prompt.lexer"

local find, rep, sub = string.find, string.rep, string.sub
local concat = table.concat
local ipairs = ipairs

local M = {}

local CLASSES = {
  keyword = "k", string = "s", comment = "c", number = "n", bad = "e",
}

-- A string or comment that does not end is coloured as one, its opening
-- bracket as an error: that is where to look.
local function unfinished(text, token)
  local _, last = find(text, "^%-*%[=*%[", token.first)
  if token.what == "string" then
    last = token.first
  end
  local class = token.what == "long comment" and "c" or "s"
  return rep("e", last - token.first + 1) .. rep(class, token.last - last)
end

-- What a command takes after its name: Lua, or words.
local LUA = {["%time"] = true, ["%bench"] = true}

-- Bytes of a command's name at the beginning; whether Lua follows it.
local function command(text)
  local _, last = find(text, "^%s*%?+")
  if last then
    return last, true
  end
  _, last = find(text, "^%s*!")
  if last then
    return last, false
  end
  local first
  _, first = find(text, "^%s*%%")
  if not first then
    return 0, true
  end
  _, last = find(text, "^%w*", first + 1)
  return last, LUA[sub(text, first, last)]
end

--- highlight.mask(text) -> string
--- As long as the text, a letter for each byte: k keyword, s string, c
--- comment, n number, e what Lua cannot read or what does not end, p the name
--- of a %command, blank what is none of these. Never raises.
function M.mask(text)
  local done, lua = command(text)
  local parts, n = {rep("p", done)}, 1
  if not lua then
    return parts[1] .. rep(" ", #text - done)
  end
  local question = done == 0 and find(text, "^%s*[%w_.:]+%?+%s*$")
    and find(text, "?", 1, true)
  for _, token in ipairs(lexer.tokens(text)) do
    local first, last, kind = token.first, token.last, token.kind
    if question and first >= question then
      break
    end
    local class = CLASSES[kind]
    local piece = class and rep(class, last - first + 1)
      or kind == "unfinished" and unfinished(text, token)
    if piece and first > done then
      n = n + 1
      parts[n] = rep(" ", first - 1 - done)
      n = n + 1
      parts[n] = piece
      done = last
    end
  end
  if question then
    parts[n + 1] = rep(" ", question - 1 - done)
    parts[n + 2] = rep("p", #text - question + 1)
    return concat(parts)
  end
  parts[n + 1] = rep(" ", #text - done)
  return concat(parts)
end

return M

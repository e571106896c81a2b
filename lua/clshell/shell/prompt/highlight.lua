-- shell/prompt/highlight.lua - the colours of an input while the user types it
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"

local M = {}

local CLASSES = {
  keyword = "k", string = "s", comment = "c", number = "n", bad = "e",
}

-- Gives a string or comment without an end its own colour, and its opening
-- bracket the colour of an error: the place to look at.
local function unfinished(token)
  local open = token.what == "string" and 1
    or #token.text:match "^%-*%[=*%["
  local class = token.what == "long comment" and "c" or "s"
  return ("e"):rep(open) .. class:rep(#token.text - open)
end

-- The %commands that take Lua.
local LUA = {time = true, bench = true}

-- The last byte of a command's name at the beginning, the last byte before
-- question marks at the end, and whether Lua is between them.
local function limits(text)
  local question = text:match "^%s*[%w_.:]+()%?+%s*$"
  if question then
    return 0, question - 1, true
  end
  local name = text:match "^%s*%?+"
  if name then
    return #name, #text, true
  end
  name = text:match "^%s*%%%w*" or text:match "^%s*!" or ""
  return #name, #text, name == "" or LUA[name:match "%w+"]
end

--- highlight.mask(text) -> string
--- A text of the same length, a letter for each byte: k keyword, s string, c
--- comment, n number, e for bytes that Lua cannot read and for the opening of
--- a string or comment without an end, p the name of a %command, blank for
--- other bytes. Never raises.
function M.mask(text)
  local done, stop, lua = limits(text)
  local parts = {("p"):rep(done)}
  for _, token in ipairs(lua and lexer.tokens(text) or {}) do
    local class = CLASSES[token.kind]
    local piece = class and class:rep(#token.text)
      or token.kind == "unfinished" and unfinished(token)
    if piece and token.first > done and token.first <= stop then
      parts[#parts + 1] = (" "):rep(token.first - 1 - done) .. piece
      done = token.last
    end
  end
  parts[#parts + 1] = (" "):rep(stop - done) .. ("p"):rep(#text - stop)
  return table.concat(parts)
end

return M

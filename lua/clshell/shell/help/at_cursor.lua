-- shell/help/at_cursor.lua - F1: the call or the name at the cursor
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"

local M = {}

-- The name that ends at token i: "a.b:c".
local function path(tokens, i)
  local words = {}
  while tokens[i] and tokens[i].kind == "name" do
    table.insert(words, 1, tokens[i].text)
    local sign = tokens[i - 1] and tokens[i - 1].text
    if sign ~= "." and sign ~= ":" then
      break
    end
    table.insert(words, 1, sign)
    i = i - 2
  end
  return #words > 0 and table.concat(words) or false
end

-- The name at the cursor, the calls around it, the innermost last, and the
-- text of the string around it.
local function around(tokens, cursor)
  local name, stack, inside
  stack = {}
  for i, token in ipairs(tokens) do
    if token.first > cursor + 1 then
      break
    end
    local ended = token.last <= cursor
    local depth = token.kind == "op" and ended and lexer.BRACKETS[token.text]
    if token.kind == "name" and token.last >= cursor then
      name = name or path(tokens, i)
    elseif (token.kind == "string" or token.kind == "unfinished")
        and token.first <= cursor and token.last >= cursor then
      inside = token.text:gsub("^[\"']", ""):gsub("[\"']$", "")
      depth = 1
    end
    if depth == 1 then
      stack[#stack + 1] = path(tokens, i - 1)
    elseif depth == -1 then
      stack[#stack] = nil
    end
  end
  return name, stack, inside
end

--- at_cursor.topics(text, cursor) -> list of topics, the most likely first
--- `cursor` counts the bytes before it.
function M.topics(text, cursor)
  local topics = {}
  local name, stack, inside = around(lexer.tokens(text), cursor)
  if inside then
    for i = #stack, 1, -1 do
      local family = stack[i] and stack[i]:match "^%w+"
      topics[#topics + 1] = family and family .. "." .. inside or nil
    end
    topics[#topics + 1] = inside
    topics[#topics + 1] = text:sub(1, cursor):match "[%w_]*$"
      .. text:sub(cursor + 1):match "^[%w_]*"
  else
    topics[1] = name or nil
  end
  for i = #stack, 1, -1 do
    topics[#topics + 1] = stack[i] or nil
  end
  return topics
end

return M

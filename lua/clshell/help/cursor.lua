-- help/cursor.lua - F1: the call or the name that the cursor is in
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.prompt.lexer"

local M = {}

local OPEN = {["("] = ")", ["{"] = "}", ["["] = "]"}
local CLOSE = {[")"] = true, ["}"] = true, ["]"] = true}

-- The name that ends at token i: "a.b:c", and the token it begins at.
local function path(tokens, text, i)
  local words = {}
  while tokens[i] and tokens[i].kind == "name" do
    table.insert(words, 1, text:sub(tokens[i].first, tokens[i].last))
    local mark = tokens[i - 1]
    local sign = mark and mark.kind == "op"
      and text:sub(mark.first, mark.last)
    if sign ~= "." and sign ~= ":" then
      break
    end
    table.insert(words, 1, sign)
    i = i - 2
  end
  return #words > 0 and table.concat(words) or nil
end

-- The name through the token at the cursor, up to where the name ends.
local function name_at(tokens, text, cursor)
  for i, token in ipairs(tokens) do
    if token.kind == "name" and token.first <= cursor + 1
        and token.last >= cursor then
      return path(tokens, text, i)
    end
  end
end

-- Calls that are open at the cursor, the innermost first, and the string
-- that it is in.
local function calls(tokens, text, cursor)
  local stack, inside = {}, nil
  for i, token in ipairs(tokens) do
    if token.first > cursor then
      break
    end
    local s = text:sub(token.first, token.last)
    local is_text = token.kind == "string" or token.kind == "unfinished"
    if is_text and cursor <= token.last then
      inside = s:gsub("^[\"']", ""):gsub("[\"']$", "")
    end
    if token.kind == "op" and OPEN[s] and token.last <= cursor then
      stack[#stack + 1] = path(tokens, text, i - 1) or false
    elseif token.kind == "op" and CLOSE[s] and token.last <= cursor then
      stack[#stack] = nil
    elseif is_text and cursor <= token.last then
      stack[#stack + 1] = path(tokens, text, i - 1) or false
    end
  end
  return stack, inside
end

--- cursor.topics(text, cursor) -> list of topics, the most likely first
--- `cursor` counts the bytes before it.
function M.topics(text, cursor)
  local tokens, topics = lexer.tokens(text), {}
  local stack, inside = calls(tokens, text, cursor)
  if inside then
    for i = #stack, 1, -1 do
      local family = stack[i] and stack[i]:match("^(%w+)")
      if family then
        topics[#topics + 1] = family .. "." .. inside
      end
    end
    topics[#topics + 1] = inside
    topics[#topics + 1] = text:sub(1, cursor):match("[%w_]*$")
      .. text:sub(cursor + 1):match("^[%w_]*")
  else
    topics[1] = name_at(tokens, text, cursor)
  end
  for i = #stack, 1, -1 do
    topics[#topics + 1] = stack[i] or nil
  end
  return topics
end

return M

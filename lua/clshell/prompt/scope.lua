-- scope.lua - the local names that can be seen at the end of a piece of Lua
-- SPDX-License-Identifier: MIT

local next, sub = next, string.sub

local M = {}

-- Adds the names of a list that begins at token `i`: a, b <const>, c; returns
-- the token after it.
local function names(text, tokens, i, into)
  while tokens[i] and tokens[i].kind == "name" do
    into[sub(text, tokens[i].first, tokens[i].last)] = true
    i = i + 1
    if tokens[i] and sub(text, tokens[i].first, tokens[i].last) == "<" then
      i = i + 3
    end
    if not (tokens[i]
        and sub(text, tokens[i].first, tokens[i].last) == ",") then
      break
    end
    i = i + 1
  end
  return i
end

local function push(blocks)
  blocks[#blocks + 1] = {}
  return blocks[#blocks]
end

local function pop(blocks)
  if #blocks > 1 then
    blocks[#blocks] = nil
  end
end

local READERS = {}

READERS["local"] = function(text, tokens, i, blocks)
  local token = tokens[i]
  if token and sub(text, token.first, token.last) == "function" then
    names(text, tokens, i + 1, blocks[#blocks])
    return i
  end
  return names(text, tokens, i, blocks[#blocks])
end

-- The parameters of a function: the next list in parentheses.
READERS["function"] = function(text, tokens, i, blocks)
  local block = push(blocks)
  while tokens[i] and (tokens[i].kind == "name" or tokens[i].kind == "op") do
    local word = sub(text, tokens[i].first, tokens[i].last)
    if word == "(" then
      return names(text, tokens, i + 1, block)
    elseif word == ":" then
      block.self = true
    end
    i = i + 1
  end
  return i
end

-- The names of a loop, which its `do` brings into view.
READERS["for"] = function(text, tokens, i, blocks)
  blocks.loop = {}
  return names(text, tokens, i, blocks.loop)
end

READERS["do"] = function(_, _, i, blocks)
  push(blocks)
  blocks[#blocks] = blocks.loop or blocks[#blocks]
  blocks.loop = nil
  return i
end

READERS["then"] = function(_, _, i, blocks)
  push(blocks)
  return i
end

READERS["repeat"] = READERS["then"]

READERS["end"] = function(_, _, i, blocks)
  pop(blocks)
  return i
end

READERS["until"] = READERS["end"]
READERS["elseif"] = READERS["end"]

READERS["else"] = function(_, _, i, blocks)
  pop(blocks)
  push(blocks)
  return i
end

--- scope.names(text, tokens, n) -> set of names
--- The local names in view after the first `n` tokens of a text.
function M.names(text, tokens, n)
  local blocks = {{}}
  local i = 1
  while i <= n do
    local token = tokens[i]
    local reader = token.kind == "keyword"
      and READERS[sub(text, token.first, token.last)]
    i = reader and reader(text, tokens, i + 1, blocks) or i + 1
  end
  local all = {}
  for b = 1, #blocks do
    for name in next, blocks[b] do
      all[name] = true
    end
  end
  return all
end

return M

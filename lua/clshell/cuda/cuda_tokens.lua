-- cuda/cuda_tokens.lua - the tokens of C and CUDA text
-- SPDX-License-Identifier: MIT

local M = {}

local OPERATORS = {"<<<", ">>>", "<<=", ">>=", "...", "->", "==", "!=", "<=",
  ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||", "::",
  "++", "--", "<<", ">>"}

-- The last byte of a directive that begins at byte `at`: lines that end in a
-- backslash go on.
local function directive_end(text, at)
  local stop
  repeat
    stop = text:find("\n", at, true) or #text + 1
    at = stop + 1
  until at > #text or not text:sub(stop - 2, stop - 1):find "\\\r?$"
  return stop - 1
end

-- The last byte of a string or character that begins at byte `at`.
local function string_end(text, at)
  local quote, i = text:sub(at, at), at + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == quote or c == "\n" then
      return i
    end
    i = i + (c == "\\" and 2 or 1)
  end
  return #text
end

-- The first byte behind a comment at byte `at`; nil without a comment.
local function comment_end(text, at)
  if text:find("^//", at) then
    return text:find("\n", at, true) or #text + 1
  elseif text:find("^/%*", at) then
    local _, stop = text:find("*/", at + 2, true)
    return (stop or #text) + 1
  end
end

-- The kind and the last byte of the token at byte `at`.
local function token(text, at, fresh)
  if fresh and text:find("^#", at) then
    return "directive", directive_end(text, at)
  elseif text:find("^[%a_]", at) then
    return "name", select(2, text:find("^[%w_]+", at))
  elseif text:find("^%.?%d", at) then
    local _, stop = text:find("^%.?[%w_.]+", at)
    while text:find("^[eEpP][+-]%d", stop) do
      stop = select(2, text:find("^[%w_.]*", stop + 2))
    end
    return "number", stop
  elseif text:find("^[\"']", at) then
    return "string", string_end(text, at)
  end
  for _, op in ipairs(OPERATORS) do
    if text:sub(at, at + #op - 1) == op then
      return "op", at + #op - 1
    end
  end
  return "op", at
end

local CLOSING = {["("] = ")", ["["] = "]", ["{"] = "}"}

-- Sets `other` of each bracket: the place of its partner in the list.
local function pair(tokens)
  local open = {}
  for i, one in ipairs(tokens) do
    local at = open[#open]
    if CLOSING[one.text] then
      open[#open + 1] = i
    elseif at and CLOSING[tokens[at].text] == one.text then
      tokens[at].other, one.other = i, at
      open[#open] = nil
    end
  end
end

--- cuda_tokens.tokens(text [, first [, last]]) -> list of tokens
--- The tokens between two bytes, without comments: {kind, text, first, last}.
--- kind: "name", "number", "string", "op", and "directive" for a whole line of
--- the preprocessor. A bracket has the place of its partner as `other`. Before
--- and behind the list are empty tokens without end: loops count to #list.
function M.tokens(text, first, last)
  local list, at, fresh = {}, first or 1, first == nil
  last = last or #text
  while at <= last do
    local blank = text:match("^%s+()", at)
    local behind = blank or comment_end(text, at)
    if behind then
      fresh = fresh or text:sub(at, behind - 1):find("\n", 1, true) ~= nil
      at = behind
    else
      local kind, stop = token(text, at, fresh)
      list[#list + 1] = {kind = kind, text = text:sub(at, stop), first = at,
        last = stop}
      at, fresh = stop + 1, false
    end
  end
  pair(list)
  local none = {kind = "none", text = "", first = last + 1, last = last}
  return setmetatable(list, {__index = function()
    return none
  end})
end

--- cuda_tokens.behind(tokens, i) -> place
--- The place behind token i, or behind the partner of an opening bracket i.
function M.behind(tokens, i)
  local other = tokens[i].other
  return (other and other > i and other or i) + 1
end

--- cuda_tokens.split(tokens, first, last) -> list of {first, last}
--- The ranges between the commas of tokens first to last, outside of brackets.
function M.split(tokens, first, last)
  local list, from, i = {}, first, first
  while i <= last do
    if tokens[i].text == "," then
      list[#list + 1] = {from, i - 1}
      from = i + 1
    end
    i = M.behind(tokens, i)
  end
  if from <= last then
    list[#list + 1] = {from, last}
  end
  return list
end

return M

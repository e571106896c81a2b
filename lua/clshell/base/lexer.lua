-- base/lexer.lua - the tokens of a piece of Lua, finished or not, and the
-- brackets and blocks that they open
-- SPDX-License-Identifier: MIT

local find, sub = string.find, string.sub

local M = {}

--- lexer.KEYWORDS
--- The reserved words of Lua 5.4, as a set.
M.KEYWORDS = {}

for _, word in ipairs{"and", "break", "do", "else", "elseif", "end", "false",
    "for", "function", "goto", "if", "in", "local", "nil", "not", "or",
    "repeat", "return", "then", "true", "until", "while"} do
  M.KEYWORDS[word] = true
end

local KEYWORDS = M.KEYWORDS

--- lexer.BRACKETS
--- The change of the depth by each bracket.
M.BRACKETS = {["("] = 1, ["{"] = 1, ["["] = 1, [")"] = -1, ["}"] = -1,
  ["]"] = -1}

local BLOCKS = {["function"] = 1, ["do"] = 1, ["repeat"] = 1, ["if"] = 1,
  ["end"] = -1, ["until"] = -1}

--- lexer.step(token) -> integer
--- The change of the depth of brackets and blocks by a token.
function M.step(token)
  return token.kind == "op" and M.BRACKETS[token.text]
    or token.kind == "keyword" and BLOCKS[token.text] or 0
end

-- Readers, by the first byte of a token: its kind, its last byte, and for an
-- unfinished token the kind that does not end.

local function name(text, first)
  local _, last = find(text, "^[%a_][%w_]*", first)
  return KEYWORDS[sub(text, first, last)] and "keyword" or "name", last
end

-- A number takes all characters that could belong to it, as in Lua.
local function number(text, first)
  local hex = find(text, "^0[xX]", first)
  local exponent = hex and "^[pP][+-]?" or "^[eE][+-]?"
  local at = hex and first + 2 or first
  while true do
    local _, last = find(text, exponent, at)
    last = last or select(2, find(text, "^[%w_.]", at))
    if not last then
      local word = sub(text, first, at - 1)
      return tonumber(word) and "number" or "bad", at - 1
    end
    at = last + 1
  end
end

-- A line break ends a string, unless after a backslash or \z.
local function quote(text, first)
  local mark, at = sub(text, first, first), first + 1
  while true do
    local stop = find(text, "[\"'\\\n\r]", at)
    local c = stop and sub(text, stop, stop)
    if not stop then
      return "unfinished", #text, "string"
    elseif c == mark then
      return "string", stop
    elseif c == "\n" or c == "\r" then
      return "unfinished", stop - 1, "string"
    end
    if c == "\\" then
      local _, skip = find(text, "^z%s*", stop + 1)
      stop = skip or select(2, find(text, "^\r\n", stop + 1)) or stop + 1
    end
    at = stop + 1
  end
end

-- A string or comment whose long bracket opens at `at`.
local function long(text, at, kind)
  local _, open, level = find(text, "^%[(=*)%[", at)
  local _, last = find(text, "]" .. level .. "]", open + 1, true)
  if last then
    return kind, last
  end
  return "unfinished", #text, "long " .. kind
end

-- A reader of the operators that a pattern matches.
local function operator(pattern)
  return function(text, first)
    local _, last = find(text, pattern, first)
    return "op", last
  end
end

local single = operator "^."
local dots = operator "^%.%.?%.?"

local function bracket(text, first)
  if find(text, "^%[=*%[", first) then
    return long(text, first, "string")
  end
  return "op", first
end

local function minus(text, first)
  if sub(text, first + 1, first + 1) ~= "-" then
    return "op", first
  elseif find(text, "^%[=*%[", first + 2) then
    return long(text, first + 2, "comment")
  end
  local stop = find(text, "[\n\r]", first)
  return "comment", stop and stop - 1 or #text
end

local function dot(text, first)
  return (find(text, "^%.%d", first) and number or dots)(text, first)
end

-- A character that Lua does not know, with the bytes that continue it.
local function bad(text, first)
  local _, last = find(text, "^[\x80-\xBF]*", first + 1)
  return "bad", last
end

local READERS = {
  ['"'] = quote, ["'"] = quote, ["["] = bracket, ["-"] = minus, ["."] = dot,
  ["~"] = operator "^~=?", ["="] = operator "^==?", ["/"] = operator "^//?",
  [":"] = operator "^::?", ["<"] = operator "^<[<=]?",
  [">"] = operator "^>[>=]?",
}

for c in ("+*%^#&|(){}];,"):gmatch(".") do
  READERS[c] = single
end

local function reader(text, at)
  local c = sub(text, at, at)
  return READERS[c] or find(c, "[%a_]") and name
    or find(c, "%d") and number or bad
end

--- lexer.tokens(text) -> list of tokens
--- The tokens of any text, each {kind =, text =, first =, last =}: first and
--- last are byte positions, white space lies between. Kinds: name, keyword,
--- number, string, comment, op; unfinished, with what = "string", "long
--- string" or "long comment", for a token that does not end (a "string" ends
--- with its line); and bad, for characters that Lua does not know. Never
--- raises.
function M.tokens(text)
  local list, n = {}, 0
  local at = 1
  while true do
    at = find(text, "[^ \t\n\r\v\f]", at)
    if not at then
      return list
    end
    local kind, last, what = reader(text, at)(text, at)
    n = n + 1
    list[n] = {kind = kind, text = sub(text, at, last), first = at,
      last = last, what = what}
    at = last + 1
  end
end

--- lexer.code(text) -> list of tokens, last
--- The tokens of a text without comments, and the last token of all.
function M.code(text)
  local list, last = {}, nil
  for _, token in ipairs(M.tokens(text)) do
    last = token
    list[#list + 1] = token.kind ~= "comment" and token or nil
  end
  return list, last
end

--- lexer.parts(tokens, open) -> list of {first, last}, closing; or nil
--- The parts between the bracket at token `open` and the bracket that closes
--- it, by the commas or semicolons on their level, and the place of the
--- closing bracket; nil if the bracket stays open.
function M.parts(tokens, open)
  local list, depth, from = {}, 1, open + 1
  for i = open + 1, #tokens do
    local word = tokens[i].text
    depth = depth + M.step(tokens[i])
    if depth == 0 or depth == 1 and (word == "," or word == ";") then
      list[#list + 1] = from < i and {from, i - 1} or nil
      from = i + 1
    end
    if depth == 0 then
      return list, i
    end
  end
end

return M

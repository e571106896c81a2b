-- shell/prompt/caret.lua - the place in a source line that an error message
-- names. Lua gives the line of an error. The place in the line follows from
-- the message: the name that was nil, the operator, the token near a syntax
-- error.
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.errors.excerpt"
local lexer = require "clshell.base.lexer"
local set = require("clshell.base.text").set

local M = {}

local CALL, INDEX = set "( {", set ". [ :"
local ARITHMETIC = set "+ - * / // % ^ & | ~ << >>"

-- Line n of a chunk: its text, where it begins, the tokens of the chunk, and
-- the places `low` to `high` of the line's own tokens. A first line of "#!"
-- has no tokens. nil where the chunk has no such line.
local function read(chunk, n)
  local text, first = excerpt.line(chunk, n)
  if not text then
    return nil
  end
  local code = chunk:gsub("^#[^\n]*", function(s)
    return (" "):rep(#s)
  end)
  local line = {text = text, first = first, code = code, low = 1, high = 0,
    tokens = lexer.tokens(code)}
  for i, token in ipairs(line.tokens) do
    line.low = token.first < first and i + 1 or line.low
    line.high = token.first < first + #text and i or line.high
  end
  return line
end

-- The text of token i; "" where there is no such token.
local function at(tokens, i)
  return tokens[i] and tokens[i].text or ""
end

-- The only token of a line for which test(i) holds.
local function find(line, test)
  local found
  for i = line.low, line.high do
    if test(i) then
      if found then
        return nil
      end
      found = i
    end
  end
  return found
end

-- The only operator or name of a line with a text of a set.
local function among(line, texts)
  return find(line, function(i)
    return line.tokens[i].kind ~= "string" and texts[at(line.tokens, i)]
  end)
end

-- The content of a short string without escapes.
local function content(token)
  return token.kind == "string" and token.text:match("^[\"'](.*)[\"']$")
end

-- Whether token i is a name (a string key) that can be what Lua calls a
-- field, a method, or a plain variable.
local function named(tokens, i, kind, name)
  local before = at(tokens, i - 1)
  if kind == "field" and before == "[" then
    return content(tokens[i]) == name
  elseif tokens[i].kind ~= "name" or tokens[i].text ~= name then
    return false
  elseif kind == "field" or kind == "method" then
    return before == (kind == "field" and "." or ":")
  end
  return before ~= "." and before ~= ":"
end

-- The first token of the chain a.b.c that ends with token i.
local function chain(tokens, i)
  while (at(tokens, i - 1) == "." or at(tokens, i - 1) == ":")
      and tokens[i - 2] and tokens[i - 2].kind == "name" do
    i = i - 2
  end
  return i
end

-- The tokens behind and before an expression that is used in the way of the
-- message "attempt to ...".
local USES = {
  call = {behind = CALL}, index = {behind = INDEX},
  perform = {behind = ARITHMETIC, before = ARITHMETIC},
  concatenate = {behind = set "..", before = set ".."},
  get = {before = set "#"}, -- the length
}

-- Whether the expression that ends with token i is used in such a way.
local function used(tokens, i, use)
  local behind = tokens[i + 1]
  return behind and use.behind and (use.behind[behind.text]
      or use == USES.call and behind.kind == "string")
    or use.before and use.before[at(tokens, chain(tokens, i) - 1)]
end

-- "attempt to index a nil value (field 'x')"
local function variable(line, message)
  local kind, name = message:match "%((%a+) '(.-)'%)$"
  local tokens, use = line.tokens, USES[message:match "^attempt to (%a+)"]
  return kind and use and find(line, function(i)
    if name == "?" or name == "integer index" then
      return at(tokens, i) == "]" and used(tokens, i, use)
    end
    return named(tokens, i, kind, name)
      and used(tokens, at(tokens, i - 1) == "[" and i + 1 or i, use)
  end) or kind and find(line, function(i)
    return named(tokens, i, kind, name)
  end)
end

-- Messages about operators, and the texts of these.
local OPERATORS = {
  {"^attempt to add a '", "+"}, {"^attempt to sub a '", "-"},
  {"^attempt to mul a '", "*"}, {"^attempt to div a '", "/"},
  {"^attempt to mod a '", "%"}, {"^attempt to pow a '", "^"},
  {"^attempt to unm a '", "-"}, {"^attempt to idiv a '", "//"},
  {"^attempt to compare", "< <= > >="}, {"divide by zero", "//"},
  {"'n//", "//"}, {"'n%%", "%"}, {"^attempt to concatenate", ".."},
  {"^attempt to get length", "#"}, {"'for", "for"},
  {"^attempt to perform", "+ - * / // % ^ & | ~ << >>"},
  {"^number.* has no integer", "+ - * / // % ^ & | ~ << >>"},
}

-- "attempt to compare number with nil": the only such operator of the line
local function operator(line, message)
  for _, rule in ipairs(OPERATORS) do
    if message:find(rule[1]) then
      return among(line, set(rule[2]))
    end
  end
end

-- The call of a function by the last part of its name.
local function call(line, name)
  name = name and name:match "[%w_]+$"
  return name and find(line, function(i)
    return at(line.tokens, i) == name and used(line.tokens, i, USES.call)
  end)
end

local DEPTH = {["function"] = 1, ["if"] = 1, ["do"] = 1, ["end"] = -1}

-- The first token of argument n of the call whose name is token i.
local function argument(tokens, i, n)
  if at(tokens, i + 1) ~= "(" then
    return n == 1 and tokens[i + 1] and i + 1 or i
  end
  local depth, count = 0, 1
  for j = i + 2, #tokens do
    local text = tokens[j].kind ~= "string" and tokens[j].text or ""
    if depth == 0 and text == ")" then
      return i
    elseif depth == 0 and count == n then
      return j
    elseif depth == 0 and text == "," then
      count = count + 1
    end
    depth = depth + (lexer.BRACKETS[text] or DEPTH[text] or 0)
  end
  return i
end

-- "bad argument #2 to 'insert' (...)" and "buffer: bad argument #1: ..."
local function bad_argument(line, message)
  local n, name = message:match "^bad argument #(%d+) to '([%w_.:]+)'"
  if not n then
    name, n = message:match "^([%w_.:]+): bad argument #(%d+)"
  end
  name = name or message:match "^calling '([%w_.:]+)' on bad self"
  if message == "attempt to index a nil value" then -- raised by ipairs(nil)
    name, n = "ipairs", "1"
  end
  local i = call(line, name)
  return i and n and argument(line.tokens, i, tonumber(n)) or i
end

-- "attempt to index a nil value", without a name: the result of a call
local function unnamed(line, message)
  local use = message:match "^attempt to (%a+) a %a+ value$"
  local after = use == "index" and INDEX or use == "call" and CALL
  return after and find(line, function(i)
    local before = at(line.tokens, i - 1)
    return line.tokens[i].kind ~= "string" and after[at(line.tokens, i)]
      and (before == ")" or use == "call" and before == "]")
  end)
end

-- The word that a message of clshell's quotes, or the call that the message
-- begins with: "gemm: no option 'tilde'".
local function quoted(line, message)
  for word in message:gmatch "'([^'\n]+)'" do
    local i = find(line, function(j)
      local token = line.tokens[j]
      return token.kind == "name" and token.text == word
        or content(token) == word
    end)
    if i then
      return i
    end
  end
  return call(line, message:match "^([%a_][%w_.:]*): ")
end

local function unfinished(line)
  return find(line, function(i)
    return line.tokens[i].kind == "unfinished"
  end)
end

-- The token of a syntax error, among the tokens with its text: the chunk up to
-- the token's end fails with the same message.
local function stopped(line, message)
  if message:find "^unfinished" then
    return unfinished(line)
  end
  local word = message:match " near '(.*)'$"
  for i = line.low, word and line.high or 0 do
    local token = line.tokens[i]
    if token.text == word or token.kind == "unfinished"
        and token.text:sub(1, #word) == word then
      for _, head in ipairs{"", "return "} do
        local _, err = load(head .. line.code:sub(1, token.last), "=x", "t",
          {})
        if err and err:match "^x:%d+: (.*)$" == message then
          return i
        end
      end
    end
  end
end

-- The first and last byte of token i in a line; nil for a token behind it.
local function span(line, i)
  local token = i and line.tokens[i]
  if token and token.first < line.first + #line.text then
    return token.first - line.first + 1,
      math.min(token.last - line.first + 1, #line.text)
  end
end

--- caret.word(chunk, n, word) -> column, last
--- The bytes of line n of a chunk where a word stands as a token, or, without
--- a word, the token that has no end; nil where no token or several fit.
function M.word(chunk, n, word)
  local line = read(chunk, n)
  if line then
    return span(line, word and among(line, {[word] = true})
      or not word and unfinished(line) or nil)
  end
end

--- caret.find(chunk, n, message [, own [, called]])
---   -> column, last, token, tokens
--- The bytes of line n of a chunk that an error message, without its position,
--- points to; nil where it names no place. `own`: the message is clshell's.
--- `called`: the C function that raised it. token and tokens: the token's
--- place in the list of all tokens of the chunk.
function M.find(chunk, n, message, own, called)
  local line = read(chunk, n)
  if not line then
    return nil
  end
  local i = stopped(line, message) or variable(line, message)
    or bad_argument(line, message) or operator(line, message)
    or unnamed(line, message) or own and quoted(line, message)
    or call(line, called)
  if not i and message:find " near <eof>$" then
    return #line.text:match "^(.-)%s*$" + 1
  end
  local column, last = span(line, i)
  return column, last, column and i, column and line.tokens
end

--- caret.chain(tokens, i) -> list of strings
--- The names of the chain a.b.c or a.b:c that ends with token i.
function M.chain(tokens, i)
  local names = {}
  for j = chain(tokens, i), i, 2 do
    names[#names + 1] = tokens[j].text
  end
  return names
end

return M

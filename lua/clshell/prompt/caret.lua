-- caret.lua - the place in a source line that an error's own words name
-- Lua tells the line of an error; where in it follows from what it says:
-- the name that was nil, the operator, the token that it stopped at.
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.diagnose.excerpt"
local lexer = require "clshell.prompt.lexer"

local M = {}

local function set(words)
  local s = {}
  for word in words:gmatch("%S+") do
    s[word] = true
  end
  return s
end

local ARITHMETIC = set "+ - * / // % ^ & | ~ << >>"
local COMPARISON = set "< <= > >="
local CALL, INDEX = set "( {", set ". [ :"

-- The tokens of a text and their texts; a first line of "#!" is none.
local function read(text)
  local code = text:gsub("^#[^\n]*", function(s)
    return (" "):rep(#s)
  end)
  local tokens = lexer.tokens(code)
  for _, token in ipairs(tokens) do
    token.text = code:sub(token.first, token.last)
  end
  return tokens, code
end

-- What stands at place i: the text of a token; "" where there is none.
local function at(tokens, i)
  return tokens[i] and tokens[i].text or ""
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
  elseif kind == "field" then
    return before == "."
  elseif kind == "method" then
    return before == ":"
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

-- Whether what ends with token i is used in the way that failed.
local USES = {
  call = function(tokens, i)
    local after = tokens[i + 1]
    return after and (CALL[after.text] or after.kind == "string")
  end,
  index = function(tokens, i)
    return INDEX[at(tokens, i + 1)]
  end,
  arithmetic = function(tokens, i)
    return ARITHMETIC[at(tokens, i + 1)]
      or ARITHMETIC[at(tokens, chain(tokens, i) - 1)]
  end,
  concatenate = function(tokens, i)
    return at(tokens, i + 1) == ".."
      or at(tokens, chain(tokens, i) - 1) == ".."
  end,
  length = function(tokens, i)
    return at(tokens, chain(tokens, i) - 1) == "#"
  end,
}

-- The use that failed, by a word of the message.
local function use_of(message)
  if message:find("^attempt to perform") then
    return "arithmetic"
  elseif message:find("^attempt to get length") then
    return "length"
  end
  return message:match("^attempt to (%a+)")
end

-- The only element of a list.
local function only(list)
  return #list == 1 and list[1] or nil
end

-- The token of the line, from place `low` to `high`, for which test(i).
local function find(low, high, test)
  local list = {}
  for i = low, high do
    if test(i) then
      list[#list + 1] = i
    end
  end
  return only(list)
end

-- "attempt to index a nil value (field 'x')"
local function variable(tokens, low, high, message)
  local kind, name = message:match("%((%a+) '(.-)'%)$")
  if not kind then
    return nil
  end
  local use = USES[use_of(message)]
  local function test(i)
    if name == "?" or name == "integer index" then
      return at(tokens, i) == "]" and use and use(tokens, i)
    end
    local last = at(tokens, i - 1) == "[" and i + 1 or i
    return named(tokens, i, kind, name) and use and use(tokens, last)
  end
  return find(low, high, test) or find(low, high, function(i)
    return named(tokens, i, kind, name)
  end)
end

local NAMED = {
  add = "+", sub = "-", mul = "*", div = "/", mod = "%", pow = "^",
  unm = "-", idiv = "//",
}

-- "attempt to compare number with nil": the only such operator of the line
local function operator(tokens, low, high, message)
  local name = NAMED[message:match("^attempt to (%a+) a '")]
  local ops = name and set(name)
    or message:find("^attempt to compare") and COMPARISON
    or (message:find("divide by zero", 1, true)
      or message:find("'n//", 1, true)) and set "//"
    or message:find("'n%", 1, true) and set "%"
    or message:find("^attempt to concatenate") and set ".."
    or message:find("^attempt to get length") and set "#"
    or message:find("'for", 1, true) and set "for"
    or (message:find("^attempt to perform")
      or message:find("^number.* has no integer")) and ARITHMETIC
  return ops and find(low, high, function(i)
    return tokens[i].kind ~= "string" and ops[at(tokens, i)]
  end)
end

local OPENING = set "( { [ function if do"
local CLOSING = set ") } ] end"

-- The first token of argument n of the call whose name is token i.
local function argument(tokens, i, n)
  if at(tokens, i + 1) ~= "(" then
    return n == 1 and tokens[i + 1] and i + 1 or i
  end
  local depth, count = 0, 1
  for j = i + 2, #tokens do
    local text = tokens[j].kind == "string" and "" or tokens[j].text
    if depth == 0 and count == n and text ~= ")" then
      return j
    elseif OPENING[text] then
      depth = depth + 1
    elseif text == ")" and depth == 0 then
      return i
    elseif CLOSING[text] then
      depth = depth - 1
    elseif text == "," and depth == 0 then
      count = count + 1
    end
  end
  return i
end

-- "bad argument #2 to 'insert' (...)" and "buffer: bad argument #1: ..."
local function bad_argument(tokens, low, high, message)
  local n, name = message:match("^bad argument #(%d+) to '([%w_.:]+)'")
  if not n then
    name, n = message:match("^([%w_.:]+): bad argument #(%d+)")
  end
  name = name or message:match("^calling '([%w_.:]+)' on bad self")
  if message == "attempt to index a nil value" then -- told at the first step
    name, n = "ipairs", "1"
  end
  name = name and name:match("[%w_]+$")
  local i = name and find(low, high, function(j)
    return at(tokens, j) == name and USES.call(tokens, j)
  end)
  return i and n and argument(tokens, i, tonumber(n)) or i
end

-- "attempt to index a nil value", without a name: what a call gave
local function unnamed(tokens, low, high, message)
  local use = message:match("^attempt to (%a+) a %a+ value$")
  local after = use == "index" and INDEX or use == "call" and CALL
  return after and find(low, high, function(i)
    local before = at(tokens, i - 1)
    return tokens[i].kind ~= "string" and after[at(tokens, i)]
      and (before == ")" or use == "call" and before == "]")
  end)
end

-- The call of a function by its name.
local function call(tokens, low, high, name)
  return find(low, high, function(i)
    return at(tokens, i) == name and USES.call(tokens, i)
  end)
end

-- The call that a message of clshell's begins with, or the word that it
-- quotes: "gemm: no option 'tilde'".
local function own_words(tokens, low, high, message)
  for word in message:gmatch("'([^'\n]+)'") do
    local i = find(low, high, function(j)
      return at(tokens, j) == word and tokens[j].kind == "name"
        or content(tokens[j]) == word
    end)
    if i then
      return i
    end
  end
  local name = message:match("^([%a_][%w_.:]*): ")
  name = name and name:match("[%w_]+$")
  return name and call(tokens, low, high, name)
end

-- Which of the tokens that a syntax error can mean it is: what comes before
-- it is a beginning of a chunk, what ends with it is wrong in the same way.
local function stopped(tokens, low, high, code, message)
  if message:find("^unfinished") then
    return find(low, high, function(i)
      return tokens[i].kind == "unfinished"
    end)
  end
  local word = message:match(" near '(.*)'$")
  for i = low, word and high or 0 do
    local token = tokens[i]
    if token.text == word or token.kind == "unfinished"
        and token.text:sub(1, #word) == word then
      for _, head in ipairs{"", "return "} do
        local _, err = load(head .. code:sub(1, token.last), "=x", "t", {})
        if err and err:match("^x:%d+: (.*)$") == message then
          return i
        end
      end
    end
  end
end

-- The tokens of line n of a text, from place `low` to `high`, in the list of
-- all; where the line begins; it.
local function line_tokens(text, n)
  local line, first = excerpt.line(text, n)
  if not line then
    return nil
  end
  local tokens, code = read(text)
  local low, high = 1, 0
  for i, token in ipairs(tokens) do
    low = token.first < first and i + 1 or low
    high = token.first < first + #line and i or high
  end
  return line, first, low, high, tokens, code
end

--- caret.word(text, n, word) -> column, last
--- The bytes of line n of a chunk where a word stands as a token, or, without
--- a word, what has no end; nil where it does not, or more than once.
function M.word(text, n, word)
  local line, first, low, high, tokens = line_tokens(text, n)
  local i = line and find(low, high, function(j)
    return word and at(tokens, j) == word
      or not word and tokens[j].kind == "unfinished"
  end)
  if i then
    local last = math.min(tokens[i].last, first + #line - 1)
    return tokens[i].first - first + 1, last - first + 1
  end
end

--- caret.find(text, n, message [, own [, called]])
---   -> column, last, token, tokens
--- The bytes of line n of a chunk that an error message, without its
--- position, points to; nil where it does not say. `own` tells that the
--- words are clshell's, `called` which C function raised it. The last two are
--- the token's place in the list of all tokens of the chunk.
function M.find(text, n, message, own, called)
  local line, first, low, high, tokens, code = line_tokens(text, n)
  if not line then
    return nil
  end
  local i = stopped(tokens, low, high, code, message)
    or variable(tokens, low, high, message)
    or bad_argument(tokens, low, high, message)
    or operator(tokens, low, high, message)
    or unnamed(tokens, low, high, message)
    or own and own_words(tokens, low, high, message)
    or called and call(tokens, low, high, called)
  local token = i and tokens[i]
  if not token and message:find(" near <eof>$") then
    return #line:match("^(.-)%s*$") + 1
  elseif not token or token.first >= first + #line then
    return nil
  end
  local last = math.min(token.last, first + #line - 1)
  return token.first - first + 1, last - first + 1, i, tokens
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

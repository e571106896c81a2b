-- shell/prompt/caret.lua - the place in a source line that an error message
-- names, and the name that was meant there. Lua gives the line of an error.
-- The place in the line follows from the message: the name that was nil, the
-- operator, the token near a syntax error.
-- SPDX-License-Identifier: MIT

local array = require "clshell.arrays.method_names"
local base_text = require "clshell.base.text"
local cl = require "cl"
local excerpt = require "clshell.errors.excerpt"
local lexer = require "clshell.base.lexer"
local resolve = require "clshell.shell.prompt.resolve"

local M = {}

local MOST = 5000 -- names to compare with

local set = base_text.set

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
  {"^attempt to add a '", set "+"}, {"^attempt to sub a '", set "-"},
  {"^attempt to mul a '", set "*"}, {"^attempt to div a '", set "/"},
  {"^attempt to mod a '", set "%"}, {"^attempt to pow a '", set "^"},
  {"^attempt to unm a '", set "-"}, {"^attempt to idiv a '", set "//"},
  {"^attempt to compare", set "< <= > >="}, {"divide by zero", set "//"},
  {"'n//", set "//"}, {"'n%%", set "%"},
  {"^attempt to concatenate", set ".."}, {"^attempt to get length", set "#"},
  {"'for", set "for"}, {"^attempt to perform", ARITHMETIC},
  {"^number.* has no integer", ARITHMETIC},
}

-- "attempt to compare number with nil": the only such operator of the line
local function operator(line, message)
  for _, rule in ipairs(OPERATORS) do
    if message:find(rule[1]) then
      return among(line, rule[2])
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

-- The first token of argument n of the call whose name is token i.
local function argument(tokens, i, n)
  if at(tokens, i + 1) ~= "(" then
    return n == 1 and tokens[i + 1] and i + 1 or i
  end
  local part = (lexer.parts(tokens, i + 1) or {})[n]
  return part and part[1] or i
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

local function nearest(word, names)
  table.sort(names)
  local near = base_text.nearest(word, names, base_text.misspellings(word))
  return near ~= word and near or nil
end

-- The names of the members of a value.
local function members(value)
  return resolve.members({value = value}, false, {left = MOST})
end

-- The value in front of the last name of a chain such as cl.buffer.bytes that
-- ends with token i.
local function holder(frame, tokens, i)
  local first = chain(tokens, i)
  local name = tokens[first].text
  local value = rawget(_G, name)
  if frame and frame.vars[name] then
    value = frame.values[name]
  end
  for j = first + 2, i - 2, 2 do
    value = resolve.field(value, tokens[j].text)
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

-- The name nearest to the unknown name of a message, whose place is token i
-- (nil: unknown). A misspelt keyword puts the token behind it in the wrong
-- place.
local function meant(message, frame, tokens, i)
  if message:find "^syntax error near" or message:find "^'=' expected" then
    local word = i and tokens[i - 1]
    return word and word.kind == "name"
      and nearest(word.text, base_text.keys(lexer.KEYWORDS)) or nil
  end
  local kind, name = message:match "a nil value %((%a+) '([%a_][%w_]*)'%)$"
  if message:find "no kernel '[%w_]+'; the program has: " then
    kind, name = "method", message:match "no kernel '([%w_]+)'"
  end
  if kind == "global" then
    return nearest(name, variables(frame))
  elseif (kind == "field" or kind == "method") and i then
    local value = holder(frame, tokens, i)
    return rawequal(value, cl) and array.of_numpy("cl", name)
      or nearest(name, members(value))
  end
end

-- The place of a message in a line of a chunk: a token. `own`: the message is
-- clshell's. `called`: the C function that raised it.
local function pointed(line, message, own, called)
  return stopped(line, message) or variable(line, message)
    or bad_argument(line, message) or operator(line, message)
    or unnamed(line, message) or own and quoted(line, message)
    or call(line, called)
end

--- caret.find(chunk, n, message [, about]) -> column, last, near
--- The bytes of line n of a chunk that an error message, without its position,
--- points to, and the name nearest to the name that the message does not know;
--- nil for each that is unknown. No metamethod runs. Without a chunk only the
--- name is looked for. about: `own`, whether the message is clshell's;
--- `called`, the C function that raised it; `frame`, the user's frame with its
--- variables.
function M.find(chunk, n, message, about)
  local line = chunk and read(chunk, n)
  local i = line and pointed(line, message, about.own, about.called)
  local column, last = span(line, i)
  if line and not i and message:find " near <eof>$" then
    column = #line.text:match "^(.-)%s*$" + 1
  end
  return column, last, meant(message, about.frame, line and line.tokens,
    column and i)
end

return M

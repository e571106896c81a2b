-- shell/prompt/place.lua - the place of the cursor in a statement: a name and
-- its owner, a string, the call and the table around it, the local names in
-- view; the topics of help there, and the last argument of an input
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"

local M = {}

local LONGEST = 16384 -- bytes looked at before the cursor
local BRACKETS = lexer.BRACKETS
local BETWEEN = {["{"] = true, [","] = true, [";"] = true}
local OPENS = {["do"] = true, ["then"] = true, ["repeat"] = true,
  ["else"] = true, ["function"] = true}
local CLOSES = {["end"] = true, ["until"] = true, ["elseif"] = true,
  ["else"] = true}

-- Whether token `i` is that operator.
local function is(tokens, i, op)
  local token = tokens[i]
  return token ~= nil and token.kind == "op" and token.text == op
end

local function kind(tokens, i)
  return tokens[i] and tokens[i].kind
end

-- The text inside the quotes of a string token without escapes, or nil.
local function literal(tokens, i)
  if kind(tokens, i) == "string" then
    return tokens[i].text:match("^[\"']([^\\]*)[\"']$")
  end
end

-- Whether a name follows a "." or ":" at token `i`.
local function is_sign(tokens, i)
  return is(tokens, i, ".") or is(tokens, i, ":")
end

-- Adds the names of a list that begins at token `i`: a, b <const>, c.
local function add_names(set, tokens, i)
  while kind(tokens, i) == "name" do
    set[tokens[i].text] = true
    i = is(tokens, i + 1, "<") and i + 4 or i + 1
    if not is(tokens, i, ",") then
      return
    end
    i = i + 1
  end
end

-- Adds the parameters of the function whose name or list is token `i`.
local function add_parameters(set, tokens, i)
  while kind(tokens, i) == "name" or is_sign(tokens, i) do
    set.self = set.self or is(tokens, i, ":") or nil
    i = i + 1
  end
  add_names(set, tokens, i + 1)
end

-- A reader of tokens without comments. stack: the open brackets and blocks,
-- each {op, at (its token), callee (the chain before a bracket), argument (its
-- number), from (the token where it begins), names (local names)}. chain: the
-- expression such as a.b["c"] that ends here, a list of steps {base}, {key,
-- colon}, {call} or {string}, and the token where it begins as `first`; a
-- computed key or a base in parentheses is an empty step.
local Reader = {}
Reader.__index = Reader

function Reader:push(op, at, callee, names)
  self.stack[#self.stack + 1] = {op = op, at = at, callee = callee,
    argument = 1, from = at + 1, names = names or {}}
end

-- Closes the innermost bracket or block, and the blocks open inside it.
function Reader:pop(bracket)
  for i = #self.stack, 2, -1 do
    local frame = self.stack[i]
    if (BRACKETS[frame.op] ~= nil) == bracket then
      for j = #self.stack, i, -1 do
        self.stack[j] = nil
      end
      return frame
    end
  end
end

-- Reads the bracket that closes at token `i`.
function Reader:close(i)
  local tokens, frame = self.tokens, self:pop(true)
  tokens[i].frame = frame
  if not frame then
    return nil
  end
  local chain, alone = frame.callee, frame.at == i - 2
  if chain and tokens[i].text == "]" then
    chain[#chain + 1] = {key = alone and (literal(tokens, i - 1)
      or kind(tokens, i - 1) == "number" and tonumber(tokens[i - 1].text))
      or nil}
  elseif chain then
    chain[#chain + 1] = {call = true}
  elseif tokens[i].text == ")" then
    chain = {{string = alone and kind(tokens, i - 1) == "string"},
      first = frame.at}
  end
  return chain
end

function Reader:keyword(i, word)
  if CLOSES[word] then
    self:pop(false)
  end
  if OPENS[word] then
    self:push(word, i, nil, word == "do" and self.loop)
    self.loop = word ~= "do" and self.loop or nil
  end
  local tokens, names = self.tokens, self.stack[#self.stack].names
  if word == "local" then
    local f = tokens[i + 1] and tokens[i + 1].text == "function"
    add_names(names, tokens, f and i + 2 or i + 1)
  elseif word == "for" then
    self.loop = {} -- the names that the next `do` shows
    add_names(self.loop, tokens, i + 1)
  elseif word == "function" then
    add_parameters(names, tokens, i + 1)
  end
end

-- Reads token `i`. Returns the chain that ends there.
function Reader:token(i)
  local token, chain = self.tokens[i], self.chain
  local word, change = token.text, BRACKETS[token.text]
  if token.kind == "name" and is_sign(self.tokens, i - 1) then
    if chain then
      chain[#chain + 1] = {key = word, colon = is(self.tokens, i - 1, ":")}
    end
    return chain
  elseif token.kind == "name" then
    return {{base = word}, first = i}
  elseif token.kind == "string" and chain then
    chain[#chain + 1] = {call = true}
    return chain
  elseif token.kind == "keyword" then
    self:keyword(i, word)
  elseif token.kind == "op" and change == 1 then
    self:push(word, i, chain)
  elseif token.kind == "op" and change then
    return self:close(i)
  elseif token.kind == "op" and BETWEEN[word] then
    local top = self.stack[#self.stack]
    top.from = i + 1
    top.argument = top.argument + (word == "," and 1 or 0)
  end
  return is_sign(self.tokens, i) and chain or nil
end

-- A reader that has read the first n tokens.
local function read(tokens, n)
  local self = setmetatable({tokens = tokens, stack = {}}, Reader)
  self:push("", 0)
  for i = 1, n do
    self.chain = self:token(i)
  end
  return self
end

-- Adds the fields of a table constructor by name, from token `i` to its end:
-- the text of a string, or true.
local function add_fields(list, tokens, i)
  local depth = 0
  while tokens[i] and depth >= 0 do
    local token = tokens[i]
    if token.kind == "op" then
      depth = depth + (BRACKETS[token.text] or 0)
    elseif depth == 0 and token.kind == "name" and is(tokens, i + 1, "=") then
      list[token.text] = literal(tokens, i + 2) or true
    end
    i = i + 1
  end
end

-- The call of a parenthesis, up to its token n.
local function call_of(frame, tokens, n)
  local first = frame.at + 1
  return frame.op == "(" and frame.callee and {callee = frame.callee,
    argument = frame.argument, first = literal(tokens, first),
    owner = kind(tokens, first) == "name" and is(tokens, first + 1, ",")
      and {{base = tokens[first].text}} or nil,
    whole = is(tokens, n, "(") or is(tokens, n, ",")} or nil
end

-- The call whose argument, or whose table's field, begins after token n;
-- `rest` is the text after the cursor.
local function call_around(reader, n, rest)
  local tokens, stack = reader.tokens, reader.stack
  local top, call = stack[#stack], nil
  if top.op ~= "{" then
    return call_of(top, tokens, n)
  elseif top.callee then
    call = {callee = top.callee, argument = 1}
  elseif is(tokens, top.at - 1, "(") or is(tokens, top.at - 1, ",") then
    call = call_of(stack[#stack - 1], tokens, top.at - 1)
  end
  if call then
    call.table, call.fields = true, {}
    add_fields(call.fields, tokens, top.at + 1)
    local after = lexer.code(rest:gsub("^[%w_]*[\"']?", ""):sub(1, LONGEST))
    -- the name at the cursor is no field yet: its value is skipped
    add_fields(call.fields, after, is(after, 1, "=") and 2 or 1)
    call.iskey = tokens[n].kind == "op" and BETWEEN[tokens[n].text]
    if is(tokens, n, "=") and kind(tokens, n - 1) == "name"
        and n - 1 == top.from then
      call.key = tokens[n - 1].text
    end
  end
  return call
end

--- place.find(text, cursor, skip) -> place or nil
--- The place of the cursor, with so many bytes before it, in a text whose Lua
--- begins after `skip` bytes. A place has kind ("name" or "string"), word
--- (the part before the cursor), first (its first byte), locals (a set of
--- names), and where they apply owner (a chain of steps), method (after a
--- colon), index (in a["), quote, and call: {callee = chain, argument =
--- number, first, whole, table, fields, iskey, key}.
function M.find(text, cursor, skip)
  local from = skip + 1
  if cursor - skip > LONGEST then
    from = text:find("\n", cursor - LONGEST, true) or cursor
  end
  local before, rest = text:sub(from, cursor), text:sub(cursor + 1)
  local tokens, last = lexer.code(before)
  local place = {kind = "name", word = "", first = cursor + 1, locals = {}}
  local touched = last and last.last == #before and last.kind
  if touched == "unfinished" and last.what ~= "long comment" then
    local quote = last.text:match("^%[=*%[") or last.text:sub(1, 1)
    place.kind, place.quote = "string", quote
    place.first = from - 1 + last.first + #quote
    place.word = last.text:sub(#quote + 1)
    tokens[#tokens] = nil
  elseif touched == "name" or touched == "keyword" then
    place.word, place.first = last.text, from - 1 + last.first
    tokens[#tokens] = nil -- it names nothing yet
  elseif touched and touched ~= "op" and touched ~= "string"
      or touched and last.text == "..." then
    return nil -- a number, a comment
  end
  local n = #tokens
  local reader = read(tokens, n)
  local chain, top = reader.chain, reader.stack[#reader.stack]
  if place.quote and is(tokens, n, "[") and top.callee then
    place.owner, place.index = top.callee, true
  elseif place.quote and chain then
    place.call = {callee = chain, argument = 1, whole = true}
  elseif not place.quote and is_sign(tokens, n) then
    place.method, place.owner = is(tokens, n, ":"), chain
  elseif is(tokens, n, "::") or n > 0 and tokens[n].text == "goto" then
    return nil
  else
    place.call = call_around(reader, n, rest)
  end
  for _, frame in ipairs(reader.stack) do
    for name in pairs(frame.names) do
      place.locals[name] = true
    end
  end
  return (not is_sign(tokens, n) or place.owner) and place or nil
end

--- place.last_argument(text) -> string or nil
--- The last argument of an input, for Alt-.: of the call at its end, or the
--- operand there; of a command, its last word.
function M.last_argument(text)
  local command = text:match "^%s*[%%?!]+(.*)$"
  if command then
    return command:match "(%S+)%s*$"
  end
  local tokens = lexer.code(text)
  local last = #tokens
  while is(tokens, last, ";") or kind(tokens, last) == "keyword"
      and tokens[last].text == "end" do
    last = last - 1
  end
  local chain = not is_sign(tokens, last) and read(tokens, last).chain
  local frame = tokens[last] and tokens[last].frame
  local first
  if is(tokens, last, ")") and frame and frame.callee
      and frame.from < last then
    first, last = frame.from, last - 1
  elseif kind(tokens, last) == "number" or kind(tokens, last) == "string" then
    first = last
  else
    first = is(tokens, last, "}") and frame and frame.at
      or chain and chain.first or nil
  end
  return first and text:sub(tokens[first].first, tokens[last].last) or nil
end

-- The names at the end of a chain: "a.b:c"; ":c" behind a call.
local function path(chain)
  local words = ""
  for i = #(chain or {}), 1, -1 do
    local step = chain[i]
    words = (step.base or step.colon ~= nil and (step.colon and ":" or ".")
      .. step.key or "") .. words
    if step.colon == nil then
      break
    end
  end
  return words ~= "" and words or nil
end

--- place.topics(text, cursor) -> list of strings
--- For F1: the topics of help at the cursor, the most likely topic first: the
--- name or the words of a string there, and the calls around them. `cursor`
--- counts the bytes before it.
function M.topics(text, cursor)
  local tokens, topics, calls, n = lexer.code(text), {}, {}, 0
  local name, inside
  for i, token in ipairs(tokens) do
    local here = token.last >= cursor and token.first <= cursor + 1
    if here and token.kind == "name" then
      name = name or path(read(tokens, i).chain)
    elseif here and token.first <= cursor
        and (token.kind == "string" or token.kind == "unfinished") then
      inside, n = token.text:gsub("^[\"']", ""):gsub("[\"']$", ""), i - 1
    end
    n = token.last <= cursor and not (here and inside) and i or n
  end
  local reader = read(tokens, n)
  calls[1] = inside and path(reader.chain)
  for i = #reader.stack, 1, -1 do
    calls[#calls + 1] = path(reader.stack[i].callee)
  end
  for _, call in ipairs(inside and calls or {}) do
    local family = call:match "^%w+"
    topics[#topics + 1] = family and family .. "." .. inside or nil
  end
  topics[#topics + 1] = inside or name
  topics[#topics + 1] = inside and text:sub(1, cursor):match "[%w_]*$"
    .. text:sub(cursor + 1):match "^[%w_]*"
  return table.move(calls, 1, #calls, #topics + 1, topics)
end

return M

-- shell/prompt/place.lua - the place of the cursor in a statement: a name and
-- its owner, a string, the call and the table around it, the local names in
-- view; and the topics of help there
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"
local top_level = require "clshell.shell.prompt.locals"

local M = {}

local LONGEST = 16384 -- bytes looked at before the cursor
local BRACKETS = lexer.BRACKETS
local BETWEEN = {["{"] = true, [","] = true, [";"] = true}

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

-- The innermost open bracket after token `i`, and the commas behind it.
local function open_before(tokens, i)
  local depth, commas = 0, 0
  for j = i, 1, -1 do
    local change = tokens[j].kind == "op" and BRACKETS[tokens[j].text] or 0
    if change == 1 and depth == 0 then
      return j, commas
    end
    depth = depth - change
    commas = commas + (depth == 0 and is(tokens, j, ",") and 1 or 0)
  end
end

-- Whether an expression that can be called or indexed may end at token `i`.
local function prefix_end(tokens, i)
  return kind(tokens, i) == "name" or is(tokens, i, "]") or is(tokens, i, ")")
end

-- One step of a chain, backwards from token `i`: the step, the last token of
-- the rest, and the first token where there is no rest.
local function step(tokens, i)
  local token = tokens[i]
  if not token then
    return nil
  elseif token.kind == "name" then
    if is(tokens, i - 1, ".") or is(tokens, i - 1, ":") then
      return {key = token.text, colon = is(tokens, i - 1, ":")}, i - 2
    end
    return {base = token.text}, nil, i
  elseif token.kind == "string" and prefix_end(tokens, i - 1) then
    return {call = true}, i - 1
  end
  local open = token.kind == "op" and BRACKETS[token.text] == -1
    and open_before(tokens, i - 1)
  if not open then
    return nil
  elseif token.text == "]" then
    return {key = open == i - 2 and (literal(tokens, i - 1)
      or kind(tokens, i - 1) == "number" and tonumber(tokens[i - 1].text))
      or nil}, open - 1
  elseif prefix_end(tokens, open - 1) then
    return {call = true}, open - 1
  elseif token.text == ")" then
    return {string = open == i - 2 and kind(tokens, i - 1) == "string"}, nil,
      open
  end
end

-- The chain that ends at token `i`, such as a.b["c"], and its first token: a
-- list of steps, the first of which has `base` or `string`; a step of a
-- computed key has neither `key` nor `call`. Nil where no chain ends there.
local function chain(tokens, i)
  local steps, first = {}, nil
  while i do
    local s
    s, i, first = step(tokens, i)
    if not s then
      return nil
    end
    table.insert(steps, 1, s)
  end
  return steps, first
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

-- The call whose parenthesis is open after token `i`.
local function call_at(tokens, i)
  local open, commas = open_before(tokens, i)
  if open and is(tokens, open, "(") and prefix_end(tokens, open - 1) then
    return {callee = chain(tokens, open - 1), argument = commas + 1,
      first = literal(tokens, open + 1),
      owner = is(tokens, open + 2, ",") and chain(tokens, open + 1) or nil,
      whole = is(tokens, i, "(") or is(tokens, i, ",")}
  end
end

-- The call whose argument, or whose table's field, begins after token `i`;
-- `rest` is the text after the cursor.
local function call_around(tokens, i, rest)
  local open = open_before(tokens, i)
  if not open or not is(tokens, open, "{") then
    return call_at(tokens, i)
  end
  local call
  if prefix_end(tokens, open - 1) then
    call = {callee = chain(tokens, open - 1), argument = 1}
  elseif is(tokens, open - 1, "(") or is(tokens, open - 1, ",") then
    call = call_at(tokens, open - 1)
  end
  if call then
    call.fields = {}
    add_fields(call.fields, tokens, open + 1)
    local after = lexer.tokens(rest:gsub("^[%w_]*[\"']?", ""):sub(1, LONGEST))
    -- the name at the cursor is no field yet: its value is skipped
    add_fields(call.fields, after, is(after, 1, "=") and 2 or 1)
    call.table = true
    call.iskey = tokens[i].kind == "op" and BETWEEN[tokens[i].text]
    if is(tokens, i, "=") and kind(tokens, i - 1) == "name"
        and BETWEEN[tokens[i - 2].text] then
      call.key = tokens[i - 1].text
    end
  end
  return call
end

-- The place of a cursor in a string; `i` is the string's token.
local function in_string(tokens, i, rest)
  local token = tokens[i]
  local quote = token.text:match("^%[=*%[") or token.text:sub(1, 1)
  local place = {kind = "string", first = token.first + #quote,
    word = token.text:sub(#quote + 1), quote = quote}
  if is(tokens, i - 1, "[") and prefix_end(tokens, i - 2) then
    place.owner = chain(tokens, i - 2)
    place.index = true
  elseif prefix_end(tokens, i - 1) then
    place.call = {callee = chain(tokens, i - 1), argument = 1, whole = true}
  else
    place.call = call_around(tokens, i - 1, rest)
  end
  return place
end

-- The place of a name, begun or not, up to byte `last`; `i` is the last token.
local function in_code(tokens, i, rest, last)
  local token = tokens[i]
  local touches = token and token.last == last
  local place = {kind = "name", word = "", first = last + 1}
  if touches and (token.kind == "name" or token.kind == "keyword") then
    place.word, place.first = token.text, token.first
    tokens[i] = nil -- it names nothing yet
    i = i - 1
  elseif touches and (token.kind ~= "op" and token.kind ~= "string"
      or token.text == "...") then
    return nil -- a number, a comment
  end
  if is(tokens, i, ".") or is(tokens, i, ":") then
    place.method = is(tokens, i, ":")
    place.owner = chain(tokens, i - 1)
    return place.owner and place
  elseif is(tokens, i, "::") or i > 0 and tokens[i].text == "goto" then
    return nil
  end
  place.call = call_around(tokens, i, rest)
  return place
end

-- Adds the names of a list that begins at token `i`: a, b <const>, c.
local function add_names(block, tokens, i)
  while kind(tokens, i) == "name" do
    block[tokens[i].text] = true
    i = is(tokens, i + 1, "<") and i + 4 or i + 1
    if not is(tokens, i, ",") then
      return
    end
    i = i + 1
  end
end

-- Adds the parameters of the function whose name or list is token `i`.
local function add_parameters(block, tokens, i)
  while kind(tokens, i) == "name" or is(tokens, i, ".")
      or is(tokens, i, ":") do
    block.self = block.self or is(tokens, i, ":") or nil
    i = i + 1
  end
  add_names(block, tokens, i + 1)
end

local OPENS = {["do"] = true, ["then"] = true, ["repeat"] = true,
  ["else"] = true, ["function"] = true}
local CLOSES = {["end"] = true, ["until"] = true, ["elseif"] = true,
  ["else"] = true}

-- The set of local names in view behind the tokens.
local function locals(tokens)
  local blocks, loop = {{}}, nil -- loop: the names that the next `do` shows
  for i, token in ipairs(tokens) do
    local word = token.kind == "keyword" and token.text
    if CLOSES[word] and #blocks > 1 then
      blocks[#blocks] = nil
    end
    if OPENS[word] then
      blocks[#blocks + 1] = word == "do" and loop or {}
      loop = word ~= "do" and loop or nil
    end
    local block = blocks[#blocks]
    if word == "local" then
      local f = tokens[i + 1] and tokens[i + 1].text == "function"
      add_names(block, tokens, f and i + 2 or i + 1)
    elseif word == "for" then
      loop = {}
      add_names(loop, tokens, i + 1)
    elseif word == "function" then
      add_parameters(block, tokens, i + 1)
    end
  end
  local all = {}
  for _, block in ipairs(blocks) do
    for name in pairs(block) do
      all[name] = true
    end
  end
  return all
end

-- The last argument of the call that ends with token `i`: its first token.
local function argument(tokens, i)
  local open = is(tokens, i, ")") and open_before(tokens, i - 1)
  if not open or open == i - 1 or not prefix_end(tokens, open - 1) then
    return nil
  end
  local first, depth = open + 1, 0
  for j = open + 1, i - 1 do
    depth = depth + top_level.step(tokens[j])
      + (tokens[j].kind == "op" and BRACKETS[tokens[j].text] or 0)
    first = depth == 0 and is(tokens, j, ",") and j + 1 or first
  end
  return first
end

-- The first token of the operand that ends with token `i`: a.b["c"], f(x), or
-- the string or table that is the only argument of a call.
local function operand(tokens, i)
  if kind(tokens, i) == "number" or kind(tokens, i) == "string" then
    return i
  elseif is(tokens, i, "}") then
    return (open_before(tokens, i - 1))
  end
  return select(2, chain(tokens, i))
end

--- place.last_argument(text) -> string or nil
--- The last argument of an input, for Alt-.: of the call at its end, or the
--- operand there; of a command, its last word.
function M.last_argument(text)
  local command = text:match "^%s*[%%?!]+(.*)$"
  if command then
    return command:match "(%S+)%s*$"
  end
  local tokens = top_level.code(text)
  local i = #tokens - 1
  while is(tokens, i, ";") or kind(tokens, i) == "keyword"
      and tokens[i].text == "end" do
    i = i - 1
  end
  local first = argument(tokens, i)
  local last = first and i - 1 or i
  first = first or operand(tokens, i)
  return first and text:sub(tokens[first].first, tokens[last].last) or nil
end

-- The name that ends at token i: "a.b:c"; ":c" behind a call.
local function path(tokens, i)
  local words = {}
  while kind(tokens, i) == "name" do
    table.insert(words, 1, tokens[i].text)
    if not is(tokens, i - 1, ".") and not is(tokens, i - 1, ":") then
      break
    end
    table.insert(words, 1, tokens[i - 1].text)
    i = i - 2
  end
  return words[1] and table.concat(words)
end

--- place.topics(text, cursor) -> list of strings
--- For F1: the topics of help at the cursor, the most likely topic first: the
--- name or the words of a string there, and the calls around them. `cursor`
--- counts the bytes before it.
function M.topics(text, cursor)
  local tokens, topics, last = lexer.tokens(text), {}, 0
  local name, inside, calls = nil, nil, {}
  for i, token in ipairs(tokens) do
    local here = token.last >= cursor and token.first <= cursor + 1
    if token.kind == "name" and here then
      name = name or path(tokens, i)
    elseif (token.kind == "string" or token.kind == "unfinished") and here
        and token.first <= cursor then
      inside = token.text:gsub("^[\"']", ""):gsub("[\"']$", "")
      calls[1] = path(tokens, i - 1)
    end
    last = token.last <= cursor and not (inside and here) and i or last
  end
  local open = open_before(tokens, last)
  while open do
    calls[#calls + 1] = path(tokens, open - 1)
    open = open_before(tokens, open - 1)
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

--- find_place(text, cursor, skip) -> place or nil
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
  local tokens = lexer.tokens(before)
  local last = tokens[#tokens]
  local inside = last and last.kind == "unfinished" and last.last == #before
  if inside and last.what == "long comment" then
    return nil
  end
  local place = inside and in_string(tokens, #tokens, rest)
    or not inside and in_code(tokens, #tokens, rest, #before)
  if place then
    place.first = place.first + from - 1
    place.locals = locals(tokens)
  end
  return place or nil
end

return M

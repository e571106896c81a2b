-- place.lua - what stands at the cursor of an unfinished statement: a name
-- and what it belongs to, a string, the call and the table around it
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.prompt.lexer"

-- Held here, as a session may change these modules.
local find, match, sub = string.find, string.match, string.sub
local tonumber = tonumber

local M = {}

local LONGEST = 16384 -- bytes looked at before the cursor
local OPENING = {["("] = ")", ["{"] = "}", ["["] = "]"}
local CLOSING = {[")"] = "(", ["}"] = "{", ["]"] = "["}
local BETWEEN = {["{"] = true, [","] = true, [";"] = true}

-- The text of a token.
local function word(p, i)
  local token = p.tokens[i]
  return token and sub(p.text, token.first, token.last)
end

local function kind(p, i)
  local token = p.tokens[i]
  return token and token.kind
end

local function is_op(p, i, op)
  return kind(p, i) == "op" and word(p, i) == op
end

-- What a string token stands for; nil where it has escapes or is long.
local function literal(p, i)
  if kind(p, i) == "string" then
    return match(word(p, i), "^[\"']([^\\]*)[\"']$")
  end
end

-- The bracket that the one at `i` closes.
local function opening(p, i)
  local depth = 0
  for j = i, 1, -1 do
    if kind(p, j) == "op" then
      local op = word(p, j)
      depth = depth + (CLOSING[op] and 1 or OPENING[op] and -1 or 0)
      if depth == 0 then
        return j
      end
    end
  end
end

-- The bracket that is still open after token `i`, and the commas since.
local function open_before(p, i)
  local depth, commas = 0, 0
  for j = i, 1, -1 do
    if kind(p, j) == "op" then
      local op = word(p, j)
      if CLOSING[op] then
        depth = depth + 1
      elseif OPENING[op] and depth == 0 then
        return j, commas
      elseif OPENING[op] then
        depth = depth - 1
      elseif op == "," and depth == 0 then
        commas = commas + 1
      end
    end
  end
end

-- Whether an expression that can be called or indexed may end at token `i`.
local function prefix_end(p, i)
  return kind(p, i) == "name" or is_op(p, i, "]") or is_op(p, i, ")")
end

-- One step of a chain, backwards from token `i`: the step and where the rest
-- ends.
local function step(p, i)
  if kind(p, i) == "name" then
    if is_op(p, i - 1, ".") or is_op(p, i - 1, ":") then
      return {key = word(p, i)}, i - 2
    end
    return {base = word(p, i)}
  elseif is_op(p, i, "]") then
    local open = opening(p, i)
    local key = open == i - 2 and (literal(p, i - 1)
      or kind(p, i - 1) == "number" and tonumber(word(p, i - 1)))
    return key and {key = key}, open and open - 1
  elseif is_op(p, i, ")") then
    local open = opening(p, i)
    if open and prefix_end(p, open - 1) then
      return {call = true}, open - 1
    elseif open == i - 2 and kind(p, i - 1) == "string" then
      return {string = true}
    end
  elseif kind(p, i) == "string" and prefix_end(p, i - 1) then
    return {call = true}, i - 1
  elseif is_op(p, i, "}") then
    local open = opening(p, i)
    if open and prefix_end(p, open - 1) then
      return {call = true}, open - 1
    end
  end
end

-- The chain that ends at token `i`, such as a.b["c"]: a list of steps, the
-- first of which has `base` or `string`; nil for anything else.
local function chain(p, i)
  local steps, n = {}, 0
  while i do
    local s
    s, i = step(p, i)
    if not s then
      return nil
    end
    n = n + 1
    steps[n] = s
  end
  for j = 1, n // 2 do
    steps[j], steps[n + 1 - j] = steps[n + 1 - j], steps[j]
  end
  return steps
end

-- The fields that a table constructor has, by name: the text of the string
-- or number, or true; from token `i` on, up to its end.
local function fields(p, i, into)
  local depth = 0
  while p.tokens[i] and depth >= 0 do
    if kind(p, i) == "op" then
      local op = word(p, i)
      depth = depth + (OPENING[op] and 1 or CLOSING[op] and -1 or 0)
    elseif depth == 0 and kind(p, i) == "name" and is_op(p, i + 1, "=") then
      into[word(p, i)] = literal(p, i + 2) or true
    end
    i = i + 1
  end
  return into
end

-- The fields of the table around the cursor, those after it as well.
local function all_fields(p, open, cursor)
  local list = fields(p, open + 1, {})
  local _, skip = find(p.whole, "^[%w_]*[\"']?", cursor + 1)
  local rest = {text = sub(p.whole, skip + 1, skip + LONGEST)}
  rest.tokens = lexer.tokens(rest.text)
  local at = is_op(rest, 1, "=") and 2 or 1 -- of the name at the cursor
  return fields(rest, at, list)
end

-- The call around a table whose brace is token `open`: what is called, and
-- which argument the table is.
local function call_of_table(p, open)
  if prefix_end(p, open - 1) then
    return {callee = chain(p, open - 1), argument = 1}
  elseif is_op(p, open - 1, "(") or is_op(p, open - 1, ",") then
    local outer, commas = open_before(p, open - 1)
    if outer and is_op(p, outer, "(") and prefix_end(p, outer - 1) then
      return {callee = chain(p, outer - 1), argument = commas + 1,
        first = literal(p, outer + 1)}
    end
  end
end

-- The call whose argument, or whose table's field, begins after token `i`.
local function call_around(p, i, cursor)
  local open, commas = open_before(p, i)
  if not open then
    return nil
  elseif is_op(p, open, "(") then
    return prefix_end(p, open - 1)
      and {callee = chain(p, open - 1), argument = commas + 1,
        whole = is_op(p, i, "(") or is_op(p, i, ",")} or nil
  elseif is_op(p, open, "{") then
    local call = call_of_table(p, open)
    if call then
      call.table = true
      call.fields = all_fields(p, open, cursor)
      call.iskey = BETWEEN[word(p, i)] and kind(p, i) == "op"
      if is_op(p, i, "=") and kind(p, i - 1) == "name"
          and BETWEEN[word(p, i - 2)] then
        call.key = word(p, i - 1)
      end
    end
    return call
  end
end

-- A string that the cursor is in; `i` is its token.
local function in_string(p, i, cursor)
  local token = p.tokens[i]
  local _, quote = find(p.text, "^%[=*%[", token.first)
  quote = quote or token.first
  local place = {kind = "string", first = quote + 1,
    word = sub(p.text, quote + 1), quote = sub(p.text, token.first, quote)}
  if is_op(p, i - 1, "[") and prefix_end(p, i - 2) then
    place.owner = chain(p, i - 2)
    place.index = true
  elseif prefix_end(p, i - 1) then
    place.call = {callee = chain(p, i - 1), argument = 1, whole = true}
  else
    place.call = call_around(p, i - 1, cursor)
  end
  return place
end

local function in_code(p, i, cursor)
  local token = p.tokens[i]
  local touches = token and token.last == #p.text
  local place = {kind = "name", word = "", first = #p.text + 1}
  if touches and (token.kind == "name" or token.kind == "keyword") then
    place.word, place.first = word(p, i), token.first
    p.tokens[i] = nil -- it names nothing yet
    i = i - 1
  elseif touches and (token.kind ~= "op" and token.kind ~= "string"
      or is_op(p, i, "...")) then
    return nil -- a number, a comment
  end
  place.before = i
  if is_op(p, i, ".") or is_op(p, i, ":") then
    place.method = is_op(p, i, ":")
    place.owner = chain(p, i - 1)
    return place.owner and place or nil
  elseif is_op(p, i, "::") or kind(p, i) == "keyword"
      and word(p, i) == "goto" then
    return nil
  end
  place.call = call_around(p, i, cursor)
  return place
end

--- place.find(text, cursor, skip) -> place or nil
--- Where the cursor, with so many bytes before it, stands in a text, whose
--- Lua begins after `skip` bytes. A place has kind ("name" or "string"),
--- word (what is there of it), first (its first byte), tokens (those before),
--- text, and where they apply owner (a chain of steps), method (after a
--- colon), index (in a["), quote, and call: {callee = chain, argument =
--- number, table, fields, iskey, key}.
function M.find(text, cursor, skip)
  local from = skip + 1
  if cursor - skip > LONGEST then
    from = find(text, "\n", cursor - LONGEST, true) or cursor
  end
  local p = {whole = text, text = sub(text, from, cursor)}
  p.tokens = lexer.tokens(p.text)
  p.whole = sub(text, from)
  local n = #p.tokens
  local last = p.tokens[n]
  local place
  if last and last.kind == "unfinished" and last.last == #p.text then
    place = last.what ~= "long comment" and in_string(p, n, #p.text) or nil
  else
    place = in_code(p, n, #p.text)
  end
  if place then
    place.first = place.first + from - 1
    place.p = p
  end
  return place
end

return M

-- cli/constant_calls.lua - calls in a Lua text whose arguments are written out
-- in it, found without running anything
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.prompt.lexer"

local M = {}

local CLOSES = {["{"] = "}", ["("] = ")", ["["] = "]"}
local OPENS_BLOCK = {["function"] = true, ["if"] = true, ["do"] = true,
  ["repeat"] = true}
local CLOSES_BLOCK = {["end"] = true, ["until"] = true}
local UNARY = {["-"] = true, ["not"] = true, ["#"] = true, ["~"] = true}
local BINARY, VALUES = {}, {["nil"] = true, ["true"] = true, ["false"] = true}
for word in ([[.. + - * / // % ^ & | ~ << >> == ~= < > <= >= and or]])
  :gmatch("%S+") do
  BINARY[word] = true
end

-- The tokens of a text without comments, each with its own text as `s` and
-- its line.
local function tokens_of(text)
  local list, line, at = {}, 1, 1
  for _, token in ipairs(lexer.tokens(text)) do
    for _ in text:sub(at, token.first - 1):gmatch("\n") do
      line = line + 1
    end
    at = token.first
    if token.kind ~= "comment" then
      token.s, token.line = text:sub(token.first, token.last), line
      list[#list + 1] = token
    end
  end
  return list
end

-- The index of the bracket that closes the bracket at i, or nil.
local function closing(tokens, i)
  local depth = 0
  for j = i, #tokens do
    local t = tokens[j]
    if t.kind == "op" and CLOSES[t.s] then
      depth = depth + 1
    elseif t.kind == "op" and (t.s == "}" or t.s == ")" or t.s == "]") then
      depth = depth - 1
      if depth == 0 then
        return j
      end
    end
  end
end

-- Splits tokens first..last at the commas (in tables semicolons too) that are
-- in no bracket and in no block. Returns a list of {first, last}.
local function split(tokens, first, last)
  local parts, depth, from = {}, 0, first
  for i = first, last do
    local t = tokens[i]
    if t.kind == "op" and CLOSES[t.s] or OPENS_BLOCK[t.s]
        and t.kind == "keyword" then
      depth = depth + 1
    elseif t.kind == "op" and (t.s == "}" or t.s == ")" or t.s == "]")
        or t.kind == "keyword" and CLOSES_BLOCK[t.s] then
      depth = depth - 1
    elseif depth == 0 and t.kind == "op" and (t.s == "," or t.s == ";") then
      parts[#parts + 1] = {from, i - 1}
      from = i + 1
    end
  end
  if from <= last then
    parts[#parts + 1] = {from, last}
  end
  return parts
end

-- Whether token i is the name of a field: after a dot, or before = in a table.
local function is_field(tokens, i)
  local before, after = tokens[i - 1], tokens[i + 1]
  return before ~= nil and (before.s == "." or before.s == "{"
    or before.s == "," or before.s == ";") and (before.s == "."
    or after ~= nil and after.s == "=")
end

-- The value of tokens first..last: true and the value where they hold only
-- literals, known names and operators on them.
local function evaluate(text, tokens, first, last, known)
  if first > last then
    return false
  end
  for i = first, last do
    local t = tokens[i]
    local fine = t.kind == "string" or t.kind == "number"
      or t.kind == "op" and t.s ~= ":" and t.s ~= "..." and t.s ~= "::"
      or t.kind == "keyword" and (VALUES[t.s] or UNARY[t.s] or BINARY[t.s])
      or t.kind == "name" and (is_field(tokens, i) or known[t.s] ~= nil)
    if not fine then
      return false
    end
  end
  local code = text:sub(tokens[first].first, tokens[last].last)
  local chunk = load("return " .. code, "=(literal)", "t",
    setmetatable({}, {__index = known}))
  if not chunk then
    return false
  end
  return pcall(chunk)
end

-- The last token of the expression that begins at i, if it has no call and no
-- index in it; else nil.
local function expression_end(tokens, i)
  while true do
    while tokens[i] and UNARY[tokens[i].s] and tokens[i].kind ~= "string" do
      i = i + 1
    end
    local t = tokens[i]
    if not t then
      return nil
    elseif t.kind == "op" and (t.s == "{" or t.s == "(") then
      i = closing(tokens, i)
    elseif not (t.kind == "string" or t.kind == "number" or t.kind == "name"
        or VALUES[t.s]) then
      return nil
    end
    local after = i and tokens[i + 1]
    if not after then
      return i
    elseif after.kind == "string" or after.kind == "op" and (after.s == "."
        or after.s == ":" or CLOSES[after.s]) then
      return nil
    elseif not BINARY[after.s] then
      return i
    end
    i = i + 2
  end
end

-- How often each name is bound: by local, =, for, or as a parameter. Names in
-- lists count twice, as their values are not matched.
local function bindings(tokens)
  local count, stack = {}, {}
  local function add(name, n)
    count[name] = (count[name] or 0) + n
  end
  for i, t in ipairs(tokens) do
    local before, after = tokens[i - 1], tokens[i + 1]
    local top = stack[#stack]
    if t.kind == "op" and CLOSES[t.s] then
      local j = i - 1
      while j > 1 and tokens[j].s ~= "function" and (tokens[j].kind == "name"
          or tokens[j].s == "." or tokens[j].s == ":") do
        j = j - 1
      end
      local params = t.s == "(" and j > 0 and tokens[j].s == "function"
      stack[#stack + 1] = params and "params" or t.s
    elseif t.kind == "op" and (t.s == "}" or t.s == ")" or t.s == "]") then
      stack[#stack] = nil
    elseif t.kind == "keyword" and OPENS_BLOCK[t.s] then
      stack[#stack + 1] = t.s
    elseif t.kind == "keyword" and CLOSES_BLOCK[t.s] then
      stack[#stack] = nil
    elseif t.kind == "name" and not (before and (before.s == "."
        or before.s == ":")) then
      local inside = top == "{" or top == "(" or top == "["
      local list = after and after.s == "," or before and before.s == ","
      if top == "params" or before and (before.s == "for"
          or before.s == "function") then
        add(t.s, 2)
      elseif not inside and list then
        add(t.s, 2)
      elseif not inside and after and (after.s == "=" or before
          and before.s == "local") then
        add(t.s, 1)
      end
    end
  end
  return count
end

-- The values of locals that are bound once, to an expression of constants.
local function constants(text, tokens)
  local count, known = bindings(tokens), {}
  for i, t in ipairs(tokens) do
    local name = tokens[i + 1]
    if t.kind == "keyword" and t.s == "local" and name
        and name.kind == "name" and count[name.s] == 1 then
      local j = i + 2
      if tokens[j] and tokens[j].s == "<" then
        j = j + 3 -- <const>
      end
      local last = tokens[j] and tokens[j].s == "="
        and expression_end(tokens, j + 1)
      if last then
        local ok, value = evaluate(text, tokens, j + 1, last, known)
        if ok then
          known[name.s] = value
        end
      end
    end
  end
  return known
end

local describe

-- The fields of a table constructor, each as describe has it.
local function fields_of(text, tokens, first, last, known)
  local fields, n = {}, 0
  for _, part in ipairs(split(tokens, first + 1, last - 1)) do
    local a, b = part[1], part[2]
    if tokens[a].kind == "name" and tokens[a + 1]
        and tokens[a + 1].s == "=" then
      fields[tokens[a].s] = describe(text, tokens, a + 2, b, known)
    elseif tokens[a].s ~= "[" then
      n = n + 1
      fields[n] = describe(text, tokens, a, b, known)
    else
      fields["?"] = {line = tokens[a].line}
    end
  end
  return fields
end

-- An argument: {line, known = true, value} or {line}; of a table constructor
-- also `fields`, each told the same way.
function describe(text, tokens, first, last, known)
  local ok, value = evaluate(text, tokens, first, last, known)
  local about = {line = tokens[first] and tokens[first].line,
    known = ok or nil, value = ok and value or nil}
  if tokens[first] and tokens[first].s == "{"
      and closing(tokens, first) == last then
    about.fields = fields_of(text, tokens, first, last, known)
  end
  return about
end

-- The arguments of the call whose first token after the name is i.
local function arguments(text, tokens, i, known)
  local t = tokens[i]
  if not t then
    return nil
  elseif t.kind == "string" then
    return {describe(text, tokens, i, i, known)}
  end
  local last = t.kind == "op" and (t.s == "(" or t.s == "{")
    and closing(tokens, i)
  if not last then
    return nil
  elseif t.s == "{" then
    return {describe(text, tokens, i, last, known)}
  end
  local list = {}
  for k, part in ipairs(split(tokens, i + 1, last - 1)) do
    list[k] = describe(text, tokens, part[1], part[2], known)
  end
  return list
end

--- constant_calls.find(text, names) -> list of {name, line, args}
--- The calls in a Lua text of functions by their names, such as {"cl.build",
--- "require"}. An argument is {line =, known = true, value =} where it is
--- written out, or made of locals that are; a table constructor has `fields`
--- as well, each told in the same way ("?" for one with a computed name).
--- args is nil where a function is not called but handed on.
function M.find(text, names)
  local tokens = tokens_of(text)
  local known, wanted, list = constants(text, tokens), {}, {}
  for _, name in ipairs(names) do
    wanted[name] = true
  end
  for i, t in ipairs(tokens) do
    local before = tokens[i - 1]
    if t.kind == "name" and not (before and (before.s == "."
        or before.s == ":" or before.s == "function")) then
      local dot, field = tokens[i + 1], tokens[i + 2]
      local name, at = t.s, i + 1
      if dot and dot.s == "." and field then
        name, at = t.s .. "." .. field.s, i + 3
      end
      if wanted[name] then
        list[#list + 1] = {name = name, line = t.line,
          args = arguments(text, tokens, at, known)}
      end
    end
  end
  return list
end

return M

-- shell/prompt/locals.lua - makes globals of the prompt's top-level locals:
-- they outlive their input
-- `local x = 1` becomes `x = 1`, at block depth 0 and in the prompt only:
-- scripts are plain Lua. Lines and columns stay where they are.
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"

local M = {}

local VALUES = {["end"] = true, ["nil"] = true, ["true"] = true,
  ["false"] = true} -- keywords that end an expression

-- The tokens of a text without comments, and an end.
function M.code(text)
  local list = lexer.code(text)
  list[#list + 1] = {kind = "end", text = "", first = #text + 1,
    last = #text}
  return list
end

-- Reads `x <const>, y` from token i on: {names =, set =, marks =, stays =,
-- last =} or nil, and the token after it. stays: the names remain local, as
-- they have <close>, come twice, or are in the set `kept`.
local function name_list(tokens, i, kept)
  local list = {names = {}, set = {}, marks = {}}
  while tokens[i].kind == "name" do
    local name = tokens[i].text
    list.stays = list.stays or kept[name] or name == "_ENV"
      or list.set[name] and name ~= "_"
    list.names[#list.names + 1], list.set[name] = name, true
    list.last = tokens[i].last
    if tokens[i + 1].text == "<" then
      list.stays = list.stays or tokens[i + 2].text ~= "const"
        or tokens[i + 3].text ~= ">"
      list.marks[#list.marks + 1] = {tokens[i + 1].first, tokens[i + 3].last}
      list.last = tokens[i + 3].last
      i = i + 3
    end
    if tokens[i + 1].text ~= "," then
      return list, i + 1
    end
    i = i + 2
  end
end

-- Whether an expression goes on at token i; if not, token i - 1 was its end.
local function goes_on(tokens, i)
  local before, token = tokens[i - 1], tokens[i]
  local whole = before.kind == "name" or before.kind == "number"
    or before.kind == "string" or before.text == ")" or before.text == "}"
    or before.text == "]" or before.text == "..."
    or before.kind == "keyword" and VALUES[before.text]
  if not whole then
    return true
  elseif token.kind == "op" then
    return token.text ~= ";" and token.text ~= "::"
  end
  return token.kind == "string" or token.text == "and" or token.text == "or"
end

--- locals.expressions(tokens, i, names) -> integer, boolean
--- Reads the expressions from token i on. Returns the token after them, and
--- whether a function among them uses one of `names`.
function M.expressions(tokens, i, names)
  local depth, blocks, uses = 0, 0, false
  local start = i
  while tokens[i].kind ~= "end" do
    local token = tokens[i]
    if depth == 0 and i > start and not goes_on(tokens, i) then
      break
    end
    local step, owner = lexer.step(token), tokens[i - 1].text
    depth = depth + step
    blocks = blocks + (token.kind == "keyword" and step or 0)
    if blocks > 0 and token.kind == "name" and names[token.text]
        and owner ~= "." and owner ~= ":" then
      uses = true
    end
    i = i + 1
  end
  return i, uses
end

local function blank(edits, first, last)
  edits[#edits + 1] = {first, last, (" "):rep(last - first + 1)}
end

local function insert(edits, after, words)
  edits[#edits + 1] = {after + 1, after, words}
end

local function apply(text, edits)
  local parts, at = {}, 1
  for _, edit in ipairs(edits) do
    parts[#parts + 1] = text:sub(at, edit[1] - 1) .. edit[3]
    at = edit[2] + 1
  end
  return table.concat(parts) .. text:sub(at)
end

-- A function among the values sees the earlier value of the name, as in Lua:
-- do local f = f; _ENV.f = function() return f() end end
local function keep_old(text, edits, keyword, list, stop)
  local names = table.concat(list.names, ", ")
  local globals = names:gsub("[%a_][%w_]*", "_ENV.%0")
  local lines = text:sub(keyword.first, list.last):gsub("[^\n]", "")
  edits[#edits + 1] = {keyword.first, list.last, ("do local %s = %s %s%s")
    :format(names, names, globals, lines)}
  insert(edits, stop, " end")
end

-- Rewrites the statement whose `local` is token i, or puts its names into
-- state.kept where it has to stay.
local function statement(state, i)
  local tokens, edits = state.tokens, state.edits
  local keyword = tokens[i]
  if tokens[i + 1].text == "function" then
    local name = tokens[i + 2].text
    if not state.kept[name] then
      blank(edits, keyword.first, keyword.last)
      table.insert(state.names, name)
    end
    return
  end
  local list, after = name_list(tokens, i + 1, state.kept)
  if not list then
    return
  end
  if list.stays then
    for name in pairs(list.set) do
      state.kept[name] = true
    end
    state.over = list.set._ENV
    return
  end
  local stop, uses = after, false
  if tokens[after].text == "=" then
    stop, uses = M.expressions(tokens, after + 1, list.set)
  end
  table.move(list.names, 1, #list.names, #state.names + 1, state.names)
  if uses then
    keep_old(state.text, edits, keyword, list, tokens[stop - 1].last)
    return
  end
  blank(edits, keyword.first, keyword.last)
  for _, mark in ipairs(list.marks) do
    blank(edits, mark[1], mark[2])
  end
  if tokens[after].text ~= "=" then
    insert(edits, list.last, " = nil")
  end
end

--- locals.rewrite(text) -> text, names, kept
--- A chunk that compiles, its top-level locals made globals: `local x`, `local
--- x <const> = 1`, `local function f`. The list `names` has the names of the
--- globals, `kept` (or nil) the names that stay local: variables with <close>,
--- _ENV, and names declared twice in a statement.
function M.rewrite(text)
  local state = {text = text, tokens = M.code(text), edits = {}, names = {},
    kept = {}}
  local depth = 0
  for i, token in ipairs(state.tokens) do
    if token.kind == "keyword" and token.text == "local" and depth == 0
        and not state.over then
      statement(state, i)
    end
    depth = depth + (token.kind == "keyword" and lexer.step(token) or 0)
  end
  local kept = {}
  for name in pairs(state.kept) do
    kept[#kept + 1] = name
  end
  table.sort(kept)
  return apply(text, state.edits), state.names, kept[1] and kept or nil
end

return M

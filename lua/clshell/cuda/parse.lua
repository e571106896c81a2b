-- cuda/parse.lua - the declarations at file scope of a CUDA text, as ranges of
-- its tokens
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.cuda.cuda_tokens"
local set = require("clshell.base.text").set

local M = {}

local behind, split = lexer.behind, lexer.split

local RECORDS = set "struct union class enum"
local ATTRIBUTES = set "__launch_bounds__ __align__ __attribute__ alignas"

-- The place behind `template <...>`; i where there is none.
local function behind_template(tokens, i)
  if tokens[i].text ~= "template" or tokens[i + 1].text ~= "<" then
    return i
  end
  local depth = 0
  for j = i + 1, #tokens do
    local text = tokens[j].text
    depth = depth + (text == "<" and 1 or text == ">" and -1
      or text == ">>" and -2 or 0)
    if depth <= 0 then
      return j + 1
    end
  end
  return #tokens + 1
end

-- The parts of a declaration that begins at token i: {first, last, list, body,
-- init}, `list` being the place of the bracket of its parameters.
local function outline(tokens, i)
  local item = {first = i, template = behind_template(tokens, i) > i}
  local j = behind_template(tokens, i)
  item.head = j
  while j <= #tokens do
    local token = tokens[j]
    if token.text == ";" then
      item.last = j
      return item
    elseif token.text == "=" then
      item.init = item.init or j
    elseif token.text == "(" and not item.init
        and tokens[j - 1].kind == "name"
        and not ATTRIBUTES[tokens[j - 1].text] then
      item.list = item.list or j
    elseif token.text == "{" and not item.init then
      item.body = j
      if item.list or tokens[item.head].text == "namespace" then
        item.last = token.other or #tokens
        return item
      end
    end
    j = behind(tokens, j)
  end
  item.last = #tokens
  return item
end

-- The parameters between two brackets: {first, last, name, pointer, type}.
local function parameters(tokens, open)
  local list = {}
  for _, range in ipairs(split(tokens, open + 1, (tokens[open].other
      or #tokens) - 1)) do
    local p = {first = range[1], last = range[2], words = {}}
    local i = p.first
    while i <= p.last do
      local token = tokens[i]
      if token.text == "*" or token.text == "[" then
        p.pointer = true
      elseif token.text == "&" then
        p.reference = i
      elseif token.kind == "name" then
        p.words[#p.words + 1], p.name = token.text, token.text
      end
      i = behind(tokens, i)
    end
    list[#list + 1] = #p.words > 0 and p or nil
  end
  return #list == 1 and list[1].name == "void" and not list[1].pointer and {}
    or list
end

local function kind_of(tokens, item)
  local first = tokens[item.head].text
  if first == "using" or first == "namespace" then
    return first
  elseif first == "typedef" or item.body and RECORDS[first]
      and not item.list then
    return first == "typedef" and first or "record"
  elseif item.list and not item.init then
    return "function"
  end
  return "variable"
end

--- parse.items(tokens) -> list
--- The declarations: {kind, first, last, head, words (set of the names in its
--- head), name, at (its place), list (place of the bracket), params, body,
--- init, template}, the places of tokens. kind: "function", "variable",
--- "record", "typedef", "using", "namespace", and "linkage" for the parts of
--- extern "C".
function M.items(tokens)
  local items, i = {}, 1
  while i <= #tokens do
    local token, more = tokens[i], tokens[i + 1]
    if token.kind == "directive" or token.text == ";" then
      i = i + 1
    elseif token.text == "}" then
      items[#items + 1] = {kind = "linkage", first = i, last = i}
      i = i + 1
    elseif token.text == "extern" and more.kind == "string" then
      local brace = tokens[i + 2].text == "{"
      items[#items + 1] = {kind = "linkage", first = i,
        last = brace and i + 2 or i + 1}
      i = items[#items].last + 1
    else
      local item = outline(tokens, i)
      item.kind, item.words = kind_of(tokens, item), {}
      local stop = item.list or item.body or item.init or item.last
      local j = item.head
      while j < stop and not (item.body and tokens[j].text == ":") do
        item.words[tokens[j].text] = true
        if tokens[j].kind == "name" and not ATTRIBUTES[tokens[j].text] then
          item.name, item.at = tokens[j].text, j
        end
        j = behind(tokens, j)
      end
      item.params = item.kind == "function" and parameters(tokens, item.list)
        or nil
      items[#items + 1] = item
      i = item.last + 1
    end
  end
  return items
end

return M

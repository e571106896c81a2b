-- paste.lua - pasted transcripts: what was typed, without prompts and output
-- SPDX-License-Identifier: MIT

local find, gmatch, gsub = string.find, string.gmatch, string.gsub
local match = string.match
local concat, ipairs, load = table.concat, ipairs, load

local M = {}

local function lines(text)
  local list = {}
  for line in gmatch(text .. "\n", "([^\n]*)\n") do
    list[#list + 1] = line
  end
  return list
end

-- A line after the prompt it begins with, and which that is: "cl" or "..".
local function prompted(line)
  local prompt, rest = match(line, "^(%l%l)> ?(.*)$")
  if prompt == "cl" then
    return rest, prompt
  end
  prompt, rest = match(line, "^(%.%.)> ?(.*)$")
  return rest, prompt
end

-- Lua's own prompts do not tell what is output: every line has to have one.
local function lua_session(list)
  local kept, seen = {}, false
  for i, line in ipairs(list) do
    local rest = match(line, "^>>? (.*)$") or match(line, "^>>?$") and ""
    if not rest and find(line, "%S") then
      return nil
    end
    seen = seen or rest
    kept[i] = rest or ""
  end
  return seen and kept
end

-- Several inputs become one: an expression, which the prompt would print,
-- is no statement, and a command is none either.
local function statement(input)
  if find(input, "^%s*[%%?!]") or find(input, "^%s*[%w_.:]+%?+%s*$") then
    return "-- " .. gsub(input, "\n", "\n-- ")
  elseif load(input, "=input", "t") then
    return input
  end
  local expression, silent = gsub(input, ";%s*$", "")
  expression = gsub(expression, "^%s*=", "")
  if load("return " .. expression, "=input", "t") then
    return (silent > 0 and "local _ = " or "print(")
      .. expression .. (silent > 0 and "" or ")")
  end
  return input
end

-- The inputs of a transcript; nil, if it is none: one of the first two lines
-- has a prompt. A selection may have begun after the first prompt: a line in
-- front that goes on, or is a statement, is an input as well.
local function inputs(list)
  local found, head = {}, nil
  for _, line in ipairs(list) do
    local rest, prompt = prompted(line)
    if prompt and #found == 0 and head
        and (prompt == ".." or load(head, "=input", "t")) then
      found[1] = head
    end
    if prompt == "cl" or prompt and #found == 0 then
      found[#found + 1] = rest
    elseif prompt then
      found[#found] = found[#found] .. "\n" .. rest
    elseif #found == 0 and find(line, "%S") then
      if head then
        return nil
      end
      head = line
    end
  end
  return #found > 0 and found or nil
end

--- paste.clean(text) -> string
--- A pasted text as it was typed: of a transcript of this prompt ("cl> " and
--- "..> ") the inputs, without the prompts and what was printed; of one of
--- Lua's own prompt (every line begins with "> " or ">> ") the lines; any
--- other text as it is. Several inputs become one text that runs: what is an
--- expression is printed, commands become comments.
function M.clean(text)
  local list = lines(text)
  local found = inputs(list)
  if not found then
    local plain = lua_session(list)
    return plain and concat(plain, "\n") or text
  end
  local kept = {}
  for _, input in ipairs(found) do
    if find(input, "%S") then
      kept[#kept + 1] = input
    end
  end
  for i = 1, #kept > 1 and #kept or 0 do
    kept[i] = statement(kept[i])
  end
  return concat(kept, "\n")
end

return M

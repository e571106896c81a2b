-- prompt/paste.lua - the inputs of a pasted transcript, without prompts and
-- output
-- SPDX-License-Identifier: MIT

local M = {}

local function lines(text)
  local list = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    list[#list + 1] = line
  end
  return list
end

-- The rest of a line after its prompt, and the prompt: "cl" or "..".
local function prompted(line)
  local prompt, rest = line:match "^(%l%l)> ?(.*)$"
  if prompt == "cl" then
    return rest, prompt
  end
  prompt, rest = line:match "^(%.%.)> ?(.*)$"
  return rest, prompt
end

-- The lines of a session of Lua's own. Its prompts do not tell input from
-- output: every line must have a prompt.
local function lua_session(list)
  local kept, seen = {}, false
  for i, line in ipairs(list) do
    local rest = line:match "^>>? (.*)$" or line:match "^>>?$" and ""
    if not rest and line:find "%S" then
      return nil
    end
    seen = seen or rest
    kept[i] = rest or ""
  end
  return seen and kept
end

-- An input as a statement, for several in one text: the prompt would print an
-- expression, and a command is a comment there.
local function statement(input)
  if input:find "^%s*[%%?!]" or input:find "^%s*[%w_.:]+%?+%s*$" then
    return "-- " .. input:gsub("\n", "\n-- ")
  elseif load(input, "=input", "t") then
    return input
  end
  local expression, silent = input:gsub(";%s*$", "")
  expression = expression:gsub("^%s*=", "")
  if load("return " .. expression, "=input", "t") then
    return (silent > 0 and "local _ = " or "print(")
      .. expression .. (silent > 0 and "" or ")")
  end
  return input
end

-- The inputs of a transcript, where one of the first two lines has a prompt;
-- nil for any other text. A selection may have begun after the first prompt: a
-- line in front that goes on, or is a statement, is an input as well.
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
    elseif #found == 0 and line:find "%S" then
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
--- "..> ") the inputs, without prompts and output; of a transcript of Lua's
--- own prompt (every line begins with "> " or ">> ") the lines; any other text
--- as it is. Several inputs become one text that runs: it prints expressions,
--- and commands become comments.
function M.clean(text)
  local list = lines(text)
  local found = inputs(list)
  if not found then
    local plain = lua_session(list)
    return plain and table.concat(plain, "\n") or text
  end
  local kept = {}
  for _, input in ipairs(found) do
    if input:find "%S" then
      kept[#kept + 1] = input
    end
  end
  for i = 1, #kept > 1 and #kept or 0 do
    kept[i] = statement(kept[i])
  end
  return table.concat(kept, "\n")
end

return M

-- shell/prompt/launched.lua - the launch and its arguments in the text of a
-- call, for %commands that do not let it run
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local lexer = require "clshell.base.lexer"
local session = require "clshell.shell.prompt.session"

local M = {}

-- "k:range(n)" and ", x, y" of `k:range(n)(x, y)`: the last call of a text.
local function call(text)
  local tokens, depth = lexer.tokens(text), 0
  local last = tokens[#tokens]
  if not last or text:sub(last.first, last.last) ~= ")" then
    return nil
  end
  for i = #tokens, 2, -1 do
    local token = tokens[i]
    depth = depth + (token.kind == "op"
      and lexer.BRACKETS[text:sub(token.first, token.last)] or 0)
    if depth == 0 then
      local args = text:sub(token.last + 1, last.first - 1)
      return text:sub(1, token.first - 1):match "^%s*(.-)%s*$",
        args:find "%S" and ", " .. args or ""
    end
  end
end

--- launched.split(text) -> launch, arguments; nil
--- "k:range(n)" and ", x, y" of `k:range(n)(x, y)`, or of the arguments of
--- check, `k:range(n), x, y`.
function M.split(text)
  local depth = 0
  for _, token in ipairs(lexer.tokens(text)) do
    local op = token.kind == "op" and text:sub(token.first, token.last)
    depth = depth + (lexer.BRACKETS[op] or 0)
    if op == "," and depth == 0 then
      return text:sub(1, token.first - 1):match "^%s*(.-)%s*$",
        text:sub(token.first)
    end
  end
  return call(text)
end

-- The launch and the arguments of a text, as from table.pack; nil for another
-- text. In an old input only the name of a Launch, and calls of range, on and
-- work, are evaluated: nothing runs twice.
local function evaluate(text, compile, old)
  local launch, args = (old and call or M.split)(text)
  if not launch or old and not (launch:find "^[%a_][%w_%.]*$"
      or launch:find "^[%a_][%w_%.]*:range%b()$"
      or launch:find "^[%a_][%w_%.]*:range%b():%a+%b()$") then
    return nil
  end
  local values = table.pack(compile(launch .. args)())
  return base_text.class(values[1]) == "Launch" and values or nil
end

-- The launch and the arguments of the newest input that launched a kernel.
local function newest(compile)
  for i = #session.inputs, 1, -1 do
    local input = session.inputs[i]
    local text = input.kind ~= "command" and (input.code or input.text):gsub(
      "^%s*local%s+", ""):gsub("^%s*[%w_, ]+=%s*", ""):gsub("[%s;]+$", "")
      :gsub(":wait%(%)$", "")
    local ok, values = pcall(evaluate, text or "", compile, true)
    if ok and values then
      return values
    end
  end
end

--- launched.call(command, text, compile) -> launch, arguments
--- The launch of the text of a call, `l(x, y)`, and its arguments, for a
--- %command of that name; an empty text stands for the newest input with a
--- launch. `compile` makes a function of the text of an expression.
function M.call(command, text, compile)
  local values
  if text:find "%S" then
    values = evaluate(text, compile)
  else
    values = newest(compile)
  end
  if not values then
    cl.error(text:find "%S"
      and "the text must be a launch with its arguments; got " .. text
      or "no input has launched a kernel",
      {hint = ("%%%s k:range(n)(x, y), or a rung: %%%s gemm tiled"):format(
        command, command)})
  end
  return table.unpack(values, 1, values.n)
end

return M

-- shell/prompt/kernel_text.lua - an input that is the text of kernels, in CUDA
-- or OpenCL C, and no Lua: it is built, as the variable prog
-- SPDX-License-Identifier: MIT

local keywords = require "clshell.base.lexer".KEYWORDS
local lexer = require "clshell.cuda.cuda_tokens"

local M = {}

local KERNEL = {__global__ = "cuda", kernel = "opencl", __kernel = "opencl"}
local BEHIND = {["<"] = true, ["{"] = true, ["*"] = true}

-- Whether the first words of a text are a declaration in C: no statement of
-- Lua begins with two names.
local function declares(tokens)
  for i = 1, #tokens do
    local first, second = tokens[i], tokens[i + 1]
    if first.kind ~= "directive" then
      return first.kind == "name" and not keywords[first.text]
        and (second.kind == "name" or second.kind == "string"
          or second.kind == "none" or BEHIND[second.text] ~= nil)
    end
  end
end

-- The tokens of a text of kernels and its language, or nil. The word for a
-- kernel stands in no bracket, as it does in Lua's [[strings]].
local function read(text)
  local tokens = lexer.tokens(text)
  local i, last = 1, declares(tokens) and #tokens or 0
  while i <= last do
    local token, before = tokens[i], tokens[i - 1].text
    local language = token.kind == "name" and KERNEL[token.text]
    if language and tokens[i + 1].kind == "name" and before ~= "."
        and before ~= ":" then
      return tokens, language
    elseif token.text == "(" or token.text == "[" then
      i = token.other or last
    end
    i = i + 1
  end
end

--- kernel_text.complete(text) -> boolean, or nil
--- Whether a text of kernels ends with a function or a declaration that is
--- complete; nil for other texts. The text is no Lua.
function M.complete(text)
  local tokens = read(text)
  if not tokens then
    return nil
  end
  for i = 1, #tokens do
    local token = tokens[i]
    if not token.other and token.text:find "^[%({%[]$" then
      return false
    end
  end
  local last = tokens[#tokens].text
  return last == "}" or last == ";"
end

--- kernel_text.code(text) -> string or nil
--- Lua code that sets prog to the Program of a text of kernels; nil for other
--- texts.
function M.code(text)
  local tokens, language = read(text)
  if not tokens then
    return nil
  end
  local level = ""
  while text:find("]" .. level .. "]", 1, true) or text:find("]" .. level
      .. "$") do
    level = level .. "="
  end
  return ("prog = cl.build([%s[\n%s]%s]%s)"):format(level, text, level,
    language == "cuda" and ", {cuda = true}" or "")
end

return M

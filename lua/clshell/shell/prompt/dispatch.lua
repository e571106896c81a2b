-- shell/prompt/dispatch.lua - inputs other than Lua: %command, !command,
-- ?name, name? and ??word, the words exit, quit and help, a command without
-- its %, and the text of kernels in CUDA or OpenCL C, which is built as the
-- variable prog. None of them can begin Lua code that compiles and has values.
-- SPDX-License-Identifier: MIT

local KEYWORDS = require "clshell.base.lexer".KEYWORDS

local M = {}

local function commands()
  return require "clshell.shell.prompt.commands"
end

local function words(text)
  return text:match("^%s*(.-)%s*$")
end

--- dispatch.command(text) -> name, rest
--- The parts of `%name rest`; nil for another text.
function M.command(text)
  return text:match("^%s*%%%s*([%w_]*)%s*(.-)%s*$")
end

-- The function that answers ?name, name? or ??word, or nil.
local function question(text)
  local topic = text:match("^%s*([%a_][%w_.:]*)%s*%?%??%s*$")
  if not topic and not text:find("^%s*%?") then
    return nil
  end
  local search = text:match("^%s*%?%?(.*)$")
  topic = words(topic or search or text:match("^%s*%?(.*)$"))
  commands() -- have help, too
  local help = require "clshell.shell.help"
  local say = require "clshell.shell.prompt.session".page
  return function()
    if topic:find("^%%") then
      commands().help(topic:sub(2))
    elseif topic == "" then
      say(help.page())
    elseif search then
      say(help.search(topic))
    elseif topic == "tutorial" then
      require "clshell.shell.prompt.tutorial".start()
    else
      say(help.page(topic))
    end
  end
end

-- The function for exit, quit or help alone, unless the user has defined it.
local function bare(text)
  local word = text:match("^%s*(%a+)%s*;?%s*$")
    or text:match("^%s*(%a+)%s*%(%s*%)%s*;?%s*$")
  if (word == "exit" or word == "quit") and rawget(_G, word) == nil then
    return false
  elseif word == "help"
      and rawget(_G, word) == require "clshell.shell.help" then
    return question "?"
  end
end

--- dispatch.find(text) -> function, or false or nil
--- The function to call for an input other than Lua; false: the session ends;
--- nil: the input is Lua.
function M.find(text)
  local first = text:match("^%s*([%%!]?)")
  if first == "%" then
    local name, rest = M.command(text)
    return function()
      return commands().call(name, rest)
    end
  elseif first == "!" then
    return function()
      return commands().shell(words(text:match("!(.*)$")))
    end
  end
  local answer = question(text)
  if answer then
    return answer
  end
  local run = bare(text)
  return run == nil and M.command_word(text) or run
end

--- dispatch.command_word(text) -> function or nil
--- For a line such as `ls`, `cd ..` or `run a.lua`, whose first word is no
--- variable: the function that calls the %command of that word.
function M.command_word(text)
  local name, rest = text:match "^%s*(%a+)%f[%s\0]%s*([^\n]-)%s*$"
  if not name or rest:find "^[=,]" or rawget(_G, name) ~= nil
      or KEYWORDS[name] then
    return nil
  end
  commands() -- defines them
  if require "clshell.shell.prompt.session".commands[name] then
    return function()
      return commands().call(name, rest)
    end
  end
end

local KERNEL = {__global__ = "cuda", kernel = "opencl", __kernel = "opencl"}
local BEHIND = {["<"] = true, ["{"] = true, ["*"] = true}

-- Whether the first words of a text are a declaration in C: no statement of
-- Lua begins with two names.
local function declares(tokens)
  for i = 1, #tokens do
    local first, second = tokens[i], tokens[i + 1]
    if first.kind ~= "directive" then
      return first.kind == "name" and not KEYWORDS[first.text]
        and (second.kind == "name" or second.kind == "string"
          or second.kind == "none" or BEHIND[second.text] ~= nil)
    end
  end
end

-- The tokens of a text of kernels and its language, or nil. The word for a
-- kernel stands in no bracket, as it does in Lua's [[strings]].
local function read(text)
  local tokens = require "clshell.cuda.cuda_tokens".tokens(text)
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

--- dispatch.kernels_end(text) -> boolean, or nil
--- Whether a text of kernels ends with a function or a declaration that is
--- complete; nil for other texts. The text is no Lua.
function M.kernels_end(text)
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

--- dispatch.kernels_code(text) -> string or nil
--- Lua code that sets prog to the Program of a text of kernels; nil for other
--- texts.
function M.kernels_code(text)
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

--- dispatch.host(text) -> function or nil
--- The function that tells the Lua for a listing of a host in C, CUDA or
--- Python; nil for other texts. The text is no Lua.
function M.host(text)
  local page = require "clshell.cuda.host".page(text,
    require "clshell.results.tables".width())
  return page and function()
    require "clshell.shell.prompt.session".page(
      "no Lua, but host code; in Lua, line by line:\n" .. page)
  end
end

return M

-- shell/prompt/dispatch.lua - inputs other than Lua: %command, !command,
-- ?name, name? and ??word, and the words exit, quit and help. None of them can
-- begin Lua code that compiles.
-- SPDX-License-Identifier: MIT

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
  return bare(text)
end

return M

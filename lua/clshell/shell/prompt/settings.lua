-- shell/prompt/settings.lua - %set: the settings of the prompt
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local printable = require "clshell.shell.prompt.printable"
local session = require "clshell.shell.prompt.session"
local text = require "clshell.base.text"

local M = {}

local function digits_of(value)
  local n = math.tointeger(tonumber(value))
  return n and n >= 1 and n <= 17 and n or nil
end

-- values: the legal words; also: synonyms; other(value): whether a further
-- value is legal; apply(value): called after a change.
local list = session.settinglist
list.color = {values = {"auto", "always", "never"},
  also = {on = "always", off = "never"}, default = "auto",
  help = "16 colours for results and messages",
  apply = require "clshell.base.style".use}
list.locals = {values = {"keep", "lua"}, default = "keep",
  help = "top-level locals: kept until you quit, or as in Lua"}
list.precision = {values = {"auto", "1 to 17"}, default = "auto",
  help = "digits of printed floats", other = digits_of,
  apply = function(value)
    printable.digits = digits_of(value)
  end}
list.pager = {values = {"auto", "off", "a command"}, default = "auto",
  help = "for texts longer than the window; auto: $PAGER, or less",
  other = function(value)
    return value ~= "a command"
  end}
list.keymap = {values = {"inputrc", "emacs", "vi"}, default = "inputrc",
  help = "keys of the editor"}
list.paste = {values = {"run", "stop"}, default = "run",
  help = "after an error in a pasted transcript: the later inputs"}
list.suggest = {values = {"on", "off"}, default = "off",
  help = "an entry of the history in grey; Right or End takes it"}
for name, opts in pairs(list) do
  session.settings[name] = session.settings[name] or opts.default
end

local function line(name)
  local opts = list[name]
  return ("%s=%s  %s (%s)"):format(name, tostring(session.settings[name]),
    opts.help, table.concat(opts.values, ", "))
end

local function change(name, value)
  local opts = list[name]
  value = opts.also and opts.also[value] or value
  local legal = opts.other and opts.other(value)
  for _, word in ipairs(opts.values) do
    legal = legal or word == value and not word:find " "
  end
  if not legal then
    cl.error("%set: " .. text.unknown("value of " .. name, value,
      opts.values))
  end
  session.settings[name] = value
  if opts.apply then
    opts.apply(value)
  end
end

--- settings.set([name, value])
--- Changes a setting, or prints it (no value), or prints all (no name).
function M.set(name, value)
  local known = text.keys(list)
  if name == nil or name == "" then
    for _, each in ipairs(known) do
      session.say(line(each))
    end
  elseif not list[name] then
    cl.error("%set: " .. text.unknown("setting", name, known))
  elseif value == nil or value == "" then
    session.say(line(name))
  else
    change(name, value)
  end
end

return M

-- shell/prompt/settings.lua - %set: the settings of the prompt
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local printable = require "clshell.shell.prompt.printable"
local session = require "clshell.shell.prompt.session"
local text = require "clshell.base.text"

local M = {}

--- settings.define(name, opts)
--- Adds a setting. opts: values (a list of words), default, help, also
--- (synonyms: {off = "never"}), other(value) -> whether a further value is
--- legal, apply(value), called after a change.
function M.define(name, opts)
  session.settinglist[name] = opts
  if session.settings[name] == nil then
    session.settings[name] = opts.default
  end
end

M.define("color", {values = {"auto", "always", "never"},
  also = {on = "always", off = "never"}, default = "auto",
  help = "16 colours for results and messages",
  apply = require "clshell.base.style".use})
M.define("locals", {values = {"keep", "lua"}, default = "keep",
  help = "top-level locals: kept until you quit, or as in Lua"})
M.define("precision", {values = {"auto", "1 to 17"}, default = "auto",
  help = "digits of printed floats",
  other = function(value)
    local n = math.tointeger(tonumber(value))
    return n and n >= 1 and n <= 17
  end,
  apply = function(value)
    printable.digits = math.tointeger(tonumber(value))
  end})
M.define("pager", {values = {"auto", "off", "a command"}, default = "auto",
  help = "for texts longer than the window; auto: $PAGER, or less",
  other = function(value)
    return value ~= "a command"
  end})
M.define("keymap", {values = {"inputrc", "emacs", "vi"},
  default = "inputrc", help = "keys of the editor"})
M.define("paste", {values = {"run", "stop"}, default = "run",
  help = "after an error in a pasted transcript: the later inputs"})
M.define("suggest", {values = {"on", "off"}, default = "off",
  help = "an entry of the history in grey; Right or End takes it"})

--- settings.names() -> list
--- The names of all settings, sorted.
function M.names()
  return text.keys(session.settinglist)
end

local function line(name)
  local opts = session.settinglist[name]
  return ("%s=%s  %s (%s)"):format(name, tostring(session.settings[name]),
    opts.help, table.concat(opts.values, ", "))
end

local function change(name, value)
  local opts = session.settinglist[name]
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
  local known = M.names()
  if name == nil or name == "" then
    for _, each in ipairs(known) do
      session.say(line(each))
    end
    return
  elseif not session.settinglist[name] then
    cl.error("%set: " .. text.unknown("setting", name, known))
  elseif value == nil or value == "" then
    session.say(line(name))
    return
  end
  change(name, value)
end

return M

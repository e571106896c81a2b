-- settings.lua - %set: what a user may change about the prompt
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- settings.define(session, name, opts)
--- A setting of the session. opts: values (a list of words), default, help,
--- also (other words: {off = "never"}), apply(value), which makes it so.
function M.define(session, name, opts)
  session.settinglist[name] = opts
  if session.settings[name] == nil then
    session.settings[name] = opts.default
  end
end

-- Those that are there from the start.
local function defaults(session)
  if session.settinglist.color then
    return
  end
  M.define(session, "color", {values = {"auto", "always", "never"},
    also = {on = "always", off = "never"}, default = "auto",
    help = "16 colours for results and messages",
    apply = require "clshell.base.style".use})
  M.define(session, "locals", {values = {"keep", "lua"}, default = "keep",
    help = "top-level locals: kept until you quit, or as in Lua"})
end

--- settings.names(session) -> list of names
--- What settings there are, sorted.
function M.names(session)
  defaults(session)
  local list = {}
  for name in pairs(session.settinglist) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

local function line(session, name)
  local opts = session.settinglist[name]
  return ("%s=%s  %s (%s)"):format(name, tostring(session.settings[name]),
    opts.help, table.concat(opts.values, ", "))
end

local function change(session, name, value)
  local opts = session.settinglist[name]
  value = opts.also and opts.also[value] or value
  for _, word in ipairs(opts.values) do
    if word == value then
      session.settings[name] = value
      if opts.apply then
        opts.apply(value)
      end
      return
    end
  end
  cl.error("%set: " .. text.unknown("value of " .. name, value, opts.values))
end

--- settings.set(session [, name, value])
--- Changes a setting; without a value it prints it, without a name all.
function M.set(session, name, value)
  local known = M.names(session)
  if name == nil or name == "" then
    for _, each in ipairs(known) do
      print(line(session, each))
    end
    return
  elseif not session.settinglist[name] then
    cl.error("%set: " .. text.unknown("setting", name, known))
  elseif value == nil or value == "" then
    print(line(session, name))
    return
  end
  change(session, name, value)
end

return M

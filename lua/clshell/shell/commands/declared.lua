-- shell/commands/declared.lua - the options that clshell, its commands and the
-- scripts that measure declare, as lists for the manual page and for
-- completion. An option has `names`, `arg`, `description`, and `values` or
-- `kind`, which say how its value is completed.
-- SPDX-License-Identifier: MIT

local commands = require "clshell.shell.commands.commands"

local M = {}

-- A parser that only keeps the declarations, made as those of argparse are;
-- an entry of its lists answers the same calls.
local Recorder = {}
Recorder.__index = Recorder

local KINDS = {FILE = "file", DEVICE = "device"}

local function recorder(_, description)
  return setmetatable({description = description, options = {},
    arguments = {}}, Recorder)
end

local function add(list, entry)
  list[#list + 1] = setmetatable(entry, Recorder)
  return entry
end

function Recorder:option(names, description)
  local list = {}
  for name in names:gmatch("%S+") do
    list[#list + 1] = name
  end
  return add(self.options, {names = list, description = description})
    :argname(list[#list]:match("^%-+(.*)"):upper())
end

function Recorder:flag(names, description)
  local entry = self:option(names, description)
  entry.arg = nil
  return entry
end

function Recorder:argument(name, description)
  return add(self.arguments, {arg = name:upper(), description = description})
end

function Recorder:argname(name)
  self.arg, self.kind = name, KINDS[name]
  return self
end

function Recorder:choices(list)
  self.values = list
  return self
end

function Recorder:convert()
  return self
end

function Recorder:args()
  self.arg = self.arg .. " ..."
  return self
end

--- declared.all() -> list of options
--- The options of clshell itself, each also with its `group`, nil for those
--- for programs, and the sentences of the manual page, `more`.
function M.all()
  local t, list = require "clshell.optiontable", {}
  local values = {format = t.formats, when = t.whens}
  for i, o in ipairs(t.options) do
    local names = {o.letter and "-" .. o.letter}
    names[#names + 1] = o.name and "--" .. o.name
    list[i] = {names = names, arg = o.arg, group = o.group, more = o.more,
      description = o.help and o.help:gsub("%s+", " "), kind = o.kind,
      values = values[o.kind]}
  end
  return list
end

--- declared.own() -> list of options
--- The options of clshell itself, without those for programs.
function M.own()
  local list = {}
  for _, o in ipairs(M.all()) do
    list[#list + 1] = o.group and o or nil
  end
  return list
end

--- declared.commands() -> list of {name, description, options, arguments}
--- The commands such as history; `words` are those that its arguments may be,
--- with `files` they may be files.
function M.commands()
  local list = {}
  for i, name in ipairs(commands.names) do
    list[i] = commands.declared(name, recorder)
    list[i].name, list[i].words = name, commands.words(name)
    list[i].files = commands.files(name)
  end
  return list
end

--- declared.shared() -> list of options
--- The options that all scripts share which measure.
function M.shared()
  local r = recorder()
  require("clshell.results.output").options(r)
  return r.options
end

return M

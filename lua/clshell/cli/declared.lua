-- cli/declared.lua - the options that clshell, its commands and the scripts
-- that measure declare, as lists for the manual page and for completion. An
-- option has `names`, `arg`, `description`, and `values` or `kind`, which say
-- how its value is completed.
-- SPDX-License-Identifier: MIT

local store_commands = require "clshell.cli.store_commands"

local M = {}

-- A parser that only keeps the declarations, made as those of argparse are.
local Entry, Recorder = {}, {}
Entry.__index, Recorder.__index = Entry, Recorder

local KINDS = {FILE = "file"}

local function recorder(name, description)
  return setmetatable({name = name, description = description, options = {},
    arguments = {}}, Recorder)
end

function Recorder:option(names, description, default)
  local entry = setmetatable({names = {}, description = description,
    default = default}, Entry)
  for name in names:gmatch("%S+") do
    entry.names[#entry.names + 1] = name
  end
  self.options[#self.options + 1] = entry
  return entry:argname(names:match("%-%-?([%w-]+)$"):upper())
end

function Recorder:argument(name, description)
  local entry = setmetatable({arg = name:upper(), description = description},
    Entry)
  self.arguments[#self.arguments + 1] = entry
  return entry
end

function Entry:argname(name)
  self.arg = name
  self.kind = KINDS[name] or name == "DEVICE" and "device" or nil
  return self
end

function Entry:choices(list)
  self.values = list
  return self
end

function Entry:convert()
  return self
end

--- declared.own() -> list of options
--- The options of clshell itself, without those for programs.
function M.own()
  local t, list = require "clshell.optiontable", {}
  for _, o in ipairs(t.options) do
    if o.group then
      local names = {o.letter and "-" .. o.letter}
      names[#names + 1] = o.name and "--" .. o.name
      list[#list + 1] = {names = names, arg = o.arg,
        description = o.help:gsub("%s+", " "), kind = o.kind,
        values = o.kind == "format" and t.formats or o.kind == "when"
          and t.whens or nil}
    end
  end
  return list
end

--- declared.commands() -> list of {name, description, options, arguments}
--- The commands such as history.
function M.commands()
  local list = {}
  for i, name in ipairs(store_commands.names) do
    list[i] = store_commands.declared(name, recorder)
    list[i].name = name
  end
  return list
end

--- declared.shared() -> list of options
--- The options that all scripts share which measure.
function M.shared()
  local r = recorder("")
  require("clshell.report.output").options(r)
  return r.options
end

return M

-- shell/commands/declared.lua - the options that clshell, its commands and the
-- scripts that measure declare, as lists for the manual page and for
-- completion. An option has `names`, `arg`, `description`, and `values` or
-- `kind`, which say how its value is completed.
-- SPDX-License-Identifier: MIT

local commands = require "clshell.shell.commands.subcommands"

local M = {}

local KINDS = {FILE = "file", DEVICE = "device"}

-- The options of rows as script.declare takes them.
local function listed(rows)
  local list = {}
  for i, row in ipairs(rows) do
    row = type(row) == "function" and row() or row
    local names = {}
    for name in row[1]:gmatch "%S+" do
      names[#names + 1] = name
    end
    local arg = not row.flag and (row[3]
      or names[#names]:match "^%-+(.*)":upper()) or nil
    list[i] = {names = names, description = row[2], arg = arg,
      kind = KINDS[arg], values = row.choices}
  end
  return list
end

--- declared.all() -> list of options
--- The options of clshell itself, each also with its `group` (nil: an option
--- for programs) and the sentences of the manual page, `more`.
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
--- The options of clshell itself, without the options for programs.
function M.own()
  local list = {}
  for _, o in ipairs(M.all()) do
    list[#list + 1] = o.group and o or nil
  end
  return list
end

--- declared.commands() -> list of {name, description, options, arguments}
--- The commands such as history, with the names of their arguments; `words`
--- are the legal arguments, and `files` allows files.
function M.commands()
  local list = {}
  for i, name in ipairs(commands.names) do
    local command = commands.get(name)
    local one = {name = name, description = command[1], arguments = {},
      words = {}, options = listed(command.options)}
    for j, row in ipairs(command.arguments or {}) do
      one.arguments[j] = (row[3] or row[1]:upper())
        .. (row.args and " ..." or "")
      table.move(row.values or {}, 1, #(row.values or {}), #one.words + 1,
        one.words)
      one.files = one.files or row.files
    end
    list[i] = one
  end
  return list
end

--- declared.shared() -> list of options
--- The options that all measuring scripts share.
function M.shared()
  return listed(require "clshell.results.output".rows)
end

return M

-- shell/commands/subcommands.lua - the commands after `clshell`, such as tune
-- and history: how a command runs, and the options that clshell, its commands
-- and the measuring scripts declare, for the manual page and for completion
-- SPDX-License-Identifier: MIT
--
-- A command is a table: its description at [1], an epilog, lists of options
-- and arguments as script.declare takes them, and run(values, parser) -> exit
-- code; for completion an argument has values, or files = true. An option of
-- the lists below has `names`, `arg`, `description`, and `values` or `kind`,
-- which say how its value is completed.

local interrupt = require "clshell.base.interrupt"
local judge_command = require "clshell.shell.commands.judge_command"
local script = require "clshell.base.script"
local store_commands = require "clshell.shell.commands.store_commands"
local text = require "clshell.base.text"
local tune_command = require "clshell.shell.commands.tune_command"

local M = {}

local FAILED = 1 -- exit code
local KINDS = {FILE = "file", DEVICE = "device"}

--- subcommands.names
--- The names of the commands.
M.names = {"tune", "history", "best", "compare", "export", "import", "prune",
  "judge"}

local function get(name)
  return name == "tune" and tune_command or name == "judge" and judge_command
    or store_commands[name]
end

--- subcommands.run(name, args) -> exit code, or nil
--- Runs a command with its arguments; nil for other names.
--- A mistake in the arguments prints the usage and exits with 2.
function M.run(name, args)
  local command = get(name)
  if not command then
    return nil
  end
  local parser = script.parser("clshell " .. name, command[1], command.epilog)
  script.declare(parser, command.options, command.arguments)
  local o = parser:parse{[0] = name, table.unpack(args)}
  local ok, result = xpcall(command.run, require "clshell.failure".keep, o,
    parser)
  if ok then
    return result
  elseif type(result) == "table" and result.message and not result.code
      and not interrupt.is(result) then
    io.stderr:write(text.message(("clshell %s: %s\n"):format(name,
      (result.message:gsub("^" .. name .. ": ", ""))))) -- a function's name
    return FAILED
  end
  error(result, 0)
end

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

--- subcommands.own([all]) -> list of options
--- The options of clshell itself, each also with its `group` and the sentences
--- of the manual page, `more`; `all`: also the options for programs, which
--- have no group.
function M.own(all)
  local t, list = require "clshell.optiontable", {}
  local values = {format = t.formats, when = t.whens}
  for _, o in ipairs(t.options) do
    local names = {o.letter and "-" .. o.letter}
    names[#names + 1] = o.name and "--" .. o.name
    list[#list + 1] = (all or o.group) and {names = names, arg = o.arg,
      group = o.group, more = o.more, kind = o.kind, values = values[o.kind],
      description = o.help and o.help:gsub("%s+", " "), help = o.help} or nil
  end
  return list
end

--- subcommands.list() -> list of {name, description, options, arguments}
--- The commands such as history, with the names of their arguments; `words`
--- are the legal arguments, and `files` allows files.
function M.list()
  local list = {}
  for i, name in ipairs(M.names) do
    local command = get(name)
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

--- subcommands.shared() -> list of options
--- The options that all measuring scripts share.
function M.shared()
  return listed(require "clshell.results.output".rows)
end

return M

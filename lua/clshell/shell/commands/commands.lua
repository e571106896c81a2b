-- shell/commands/commands.lua - the commands after `clshell`, such as tune and
-- history: how they declare their options, and how one of them runs
-- SPDX-License-Identifier: MIT
--
-- A command is a table: its description at [1], an epilog, lists of options
-- and arguments, and run(values, parser) -> exit code. An option is a list
-- {names, description, name of the value, converter}, with flag = true where
-- it takes none, or a function that declares options to the parser; the
-- arguments are the same, with args = "*" where there may be any number, and
-- for completion values, or files = true.

local interrupt = require "clshell.base.interrupt"
local script = require "clshell.base.script"
local store_commands = require "clshell.shell.commands.store_commands"
local text = require "clshell.base.text"
local tune_command = require "clshell.shell.commands.tune_command"

local M = {}

local FAILED = 1 -- exit code

--- commands.names
--- The names of the commands.
M.names = {"tune", "history", "best", "compare", "export", "import", "prune"}

local function command_of(name)
  return name == "tune" and tune_command or store_commands[name]
end

-- Declares options or arguments: `method` of the parser.
local function declare(parser, method, list)
  for _, row in ipairs(list or {}) do
    if type(row) == "function" then
      row(parser)
    else
      local entry = parser[row.flag and "flag" or method](parser, row[1],
        row[2])
      if row[3] then
        entry:argname(row[3])
      end
      if row[4] then
        entry:convert(row[4])
      end
      if row.args then
        entry:args(row.args)
      end
    end
  end
end

--- commands.declared(name, make) -> parser
--- The options of a command, declared to the result of make(name,
--- description, epilog), a parser of argparse or another with its methods.
function M.declared(name, make)
  local command = command_of(name)
  local parser = make("clshell " .. name, command[1], command.epilog)
  declare(parser, "argument", command.arguments)
  declare(parser, "option", command.options)
  return parser
end

--- commands.words(name) -> list
--- The words that the arguments of a command may be.
function M.words(name)
  local list = {}
  for _, argument in ipairs(command_of(name).arguments or {}) do
    table.move(argument.values or {}, 1, #(argument.values or {}), #list + 1,
      list)
  end
  return list
end

--- commands.files(name) -> boolean
--- Whether the arguments of a command may be files.
function M.files(name)
  for _, argument in ipairs(command_of(name).arguments or {}) do
    if argument.files then
      return true
    end
  end
  return false
end

--- commands.run(name, args) -> exit code, or nil
--- Runs a command with its arguments; nil for other names.
--- A mistake in the arguments prints the usage and exits with 2.
function M.run(name, args)
  if not command_of(name) then
    return nil
  end
  local parser = M.declared(name, script.parser)
  local o = parser:parse{[0] = name, table.unpack(args)}
  local ok, result = xpcall(command_of(name).run,
    require "clshell.failure".keep, o, parser)
  if ok then
    return result
  elseif type(result) == "table" and result.message and not result.code
      and not interrupt.is(result) then
    io.stderr:write(text.message(("clshell %s: %s\n"):format(name,
      result.message)))
    return FAILED
  end
  error(result, 0)
end

return M

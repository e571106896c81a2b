-- shell/commands/subcommands.lua - the commands after `clshell`, such as tune
-- and history: how they declare their options, and how one of them runs
-- SPDX-License-Identifier: MIT
--
-- A command is a table: its description at [1], an epilog, lists of options
-- and arguments as script.declare takes them, and run(values, parser) -> exit
-- code; for completion an argument has values, or files = true.

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

--- commands.get(name) -> table or nil
function M.get(name)
  return name == "tune" and tune_command or store_commands[name]
end

--- commands.run(name, args) -> exit code, or nil
--- Runs a command with its arguments; nil for other names.
--- A mistake in the arguments prints the usage and exits with 2.
function M.run(name, args)
  local command = M.get(name)
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
      result.message)))
    return FAILED
  end
  error(result, 0)
end

return M

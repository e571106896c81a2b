-- cli/init.lua - the room of the command line, beside scripts and the prompt.
-- actions.lua has the functions that src/shell/main.c calls: --devices, -p,
-- --check, --doctor, --help, --manual, and the commands such as history, which
-- commands.lua declares.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.cli", {"actions", "check",
  "commands", "completion", "constant_calls", "declared", "doctor", "manual",
  "store_commands", "tune_command", "tune_script", "usage"})

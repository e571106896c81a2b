-- scratch.lua - a folder for the files of one test file, removed at its end
-- SPDX-License-Identifier: MIT
local t = require "t"

local scratch = {}

--- scratch.dir
scratch.dir = t.capture("mktemp -d"):match "[^\n]+"

--- scratch.create(name, text) -> path
-- Writes a file in the folder.
function scratch.create(name, text)
  local path = scratch.dir .. "/" .. name
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
  return path
end

--- scratch.read(name) -> string
function scratch.read(name)
  local f <close> = assert(io.open(scratch.dir .. "/" .. name, "rb"))
  return f:read("a")
end

--- scratch.sh(command) -> standard output, standard error, exit code
-- Runs a command of the shell in the folder; $clshell is the program.
function scratch.sh(command)
  local script = scratch.create("command.sh", ("clshell='%s/clshell'\n%s\n")
    :format(t.build, command))
  local all = t.capture(("cd %s; sh %s 2>stderr </dev/null; echo $?"):format(
    scratch.dir, script))
  local out, code = all:match("^(.*)(%f[%d]%d+)\n$")
  return out, scratch.read "stderr", tonumber(code)
end

--- scratch.has(text, ...)
-- Fails unless the text contains each of the parts.
function scratch.has(text, ...)
  for _, part in ipairs{...} do
    t.ok(text:find(part, 1, true), ("no '%s' in: %s"):format(part, text))
  end
end

--- scratch.done()
-- Removes the folder and ends the test file.
function scratch.done()
  os.execute("rm -rf " .. scratch.dir)
  t.done()
end

return scratch

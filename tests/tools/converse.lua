-- converse.lua - conversations with the program on a pseudo-terminal
-- (tests/pty.c): what is typed and what has to appear.
-- SPDX-License-Identifier: MIT

local t = require "t"

local M = {}

M.build = os.getenv "CLSHELL_BUILD" or "build"

M.capture = t.capture

local dir

--- converse.folder() -> path
-- A folder for the files of this test file; converse.clean() removes it.
function M.folder()
  dir = dir or M.capture("mktemp -d"):gsub("\n", "")
  return dir
end

--- converse.file(name, text) -> path
-- Writes a file in that folder.
function M.file(name, text)
  local path = M.folder() .. "/" .. name
  return t.write(path, text)
end

--- converse.command(script, command [, env])
-- Runs a command on a terminal and goes through the steps of the script;
-- `env` is put before it.
function M.command(script, command, env)
  local path = M.file("script", script)
  local out = M.capture(("XDG_STATE_HOME=%s/state XDG_CONFIG_HOME=%s/config "
    .. "INPUTRC=/dev/null TERM=xterm %s %s/tests/pty -t 300 %s <%s 2>&1 "
    .. "&& echo fine"):format(M.folder(), M.folder(), env or "", M.build,
    command, path))
  t.ok(out:match("fine\n$"), out)
end

--- converse.run(script [, options [, env]])
-- The same for the program with these options.
function M.run(script, options, env)
  M.command(script, M.build .. "/clshell " .. (options or ""), env)
end

--- converse.session(inputs [, options [, env]]) -> string
-- What a session that is given inputs through a pipe prints, errors included.
function M.session(inputs, options, env)
  return M.capture(("XDG_CONFIG_HOME=%s/config %s %s/clshell -i %s <%s 2>&1")
    :format(M.folder(), env or "", M.build, options or "",
      M.file("inputs", inputs)))
end

--- converse.has(text, ...)
-- Fails unless the text has each of the given parts.
function M.has(text, ...)
  for _, part in ipairs{...} do
    t.ok(text:find(part, 1, true), ("no %q in:\n%s"):format(part, text))
  end
end

--- converse.lacks(text, part)
-- Fails if the text has that part.
function M.lacks(text, part)
  t.ok(not text:find(part, 1, true), ("%q in:\n%s"):format(part, text))
end

--- converse.spin(elements) -> part of a script
-- Makes a launch `l` of kernel `spin`, l(b, n), whose time grows with n, a
-- Buffer `b` of so many int, and `ms`, what l(b, 1) takes.
function M.spin(elements)
  return ([[
    expect cl>
    send k = cl.kernel [=[kernel void spin(global volatile int *p, int n) {\r
    expect ..>
    send for (int j = 0; j < n; j++)\r
    expect ..>
    send for (int i = 0; i < 100000; i++) p[0] += i; }]=]\r
    expect cl>
    send l = k:range(1); b = cl.buffer("int", %d, 0) ms = math.huge\r
    expect cl>
    send for i = 1, 50 do ms = math.min(ms, l(b, 1):wait().ms) end\r
    expect cl>
]]):format(elements)
end

--- converse.device()
-- Skips the test where there is no OpenCL device.
function M.device()
  t.skip_if(M.capture(M.build .. "/clshell --devices 2>/dev/null") == "",
    "no OpenCL device")
end

--- converse.clean()
-- Removes the folder.
function M.clean()
  if dir then
    os.execute("rm -rf " .. dir)
    dir = nil
  end
end

return M

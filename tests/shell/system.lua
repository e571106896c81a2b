-- system.lua - module clshell.system: private files, temporary ones, and what
-- a path leads to.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"
local system = require "clshell.system"

local dir = scratch.dir

-- The permissions of a path, as ls shows them.
local function mode(path)
  return t.capture(("ls -ld '%s/%s'"):format(dir, path)):sub(1, 10)
end

t.test("a file and folders that this user alone may read", function()
  t.eq(system.private(dir .. "/a/b/c/"), true)
  t.eq({mode "a", mode "a/b/c"}, {"drwx------", "drwx------"})
  t.eq(system.private(dir .. "/a/b/c/new"), true)
  t.eq(mode "a/b/c/new", "-rw-------")
  scratch.create("a/old", "kept")
  scratch.sh "chmod 755 a/b; chmod 664 a/old"
  t.eq({system.private(dir .. "/a/old"), scratch.read "a/old",
    mode "a/old"}, {true, "kept", "-rw-------"})
  t.eq({system.private(dir .. "/a/b/c/"), mode "a/b"}, {true, "drwxr-xr-x"},
    "only the last folder changes")
  t.eq({system.private(dir .. "/a/b/"), mode "a/b"}, {true, "drwx------"})
end)

t.test("what cannot be made private says why", function()
  scratch.create("file", "")
  for path, reason in pairs{["/proc/none/x"] = "No such file",
      [dir .. "/file/x/"] = "Not a directory",
      [dir .. "/file/"] = "Not a directory", [""] = "No such file",
      [dir .. "/none/x"] = "No such file"} do
    local done, message = system.private(path)
    t.eq(done, nil, path)
    scratch.has(message, reason)
  end
  t.eq(system.private "/dev/null", true)
  t.ok(t.capture "ls -l /dev/null":find "^crw%-rw%-rw%-")
end)

t.test("a path leads to a file, a folder, a pipe or a device", function()
  scratch.sh "mkfifo pipe; ln -s file link"
  t.eq({system.kind(dir), system.kind(dir .. "/link"),
    system.kind(dir .. "/pipe"), system.kind "/dev/null"},
    {"folder", "file", "pipe", "device"})
  local kind, message = system.kind(dir .. "/none")
  t.eq(kind, nil)
  scratch.has(message, "none", "No such file")
end)

t.test("temporary files: private, each another, where TMPDIR says", function()
  local code = "s = require [[clshell.system]] for i = 1, 2 do "
    .. "print(s.temporary [[.lua]]) end"
  local function made(environment)
    return (scratch.sh(("%s $clshell -e '%s'"):format(environment, code)))
  end
  scratch.sh "mkdir -p 'of mine'"
  local a, b = made(("TMPDIR='%s/of mine'"):format(dir))
    :match "^([^\n]+)\n([^\n]+)\n$"
  t.ok(a ~= b and a:find "/of mine/clshell%-%w+%.lua$", a)
  t.eq(mode(a:sub(#dir + 2)), "-rw-------")
  scratch.has(made "TMPDIR=/nonexistent", "nil\t/nonexistent: No such file")
end)

t.test("the cores of the machine", function()
  t.ok(system.cores() >= 1)
end)

scratch.done()

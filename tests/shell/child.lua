-- child.lua - module clshell.child: messages, the end of a process, Ctrl-C and
-- the end of the parent
-- SPDX-License-Identifier: MIT
local t = require "t"
local child = require "clshell.child"
local cl = require "cl"
local scratch = require "scratch"

-- Runs Lua code in a child, whose `p` is this process.
local function run(code, opts)
  return assert(child.start(cl.commandline.program, {"-q", "-e",
    "local child = require 'clshell.child'; local p = child.parent(); "
    .. code}, opts))
end

-- Whether a process is there and no zombie.
local function alive(pid)
  return t.capture(("ps -o stat= -p %d"):format(pid)):find "^%s*[^Z%s]" ~= nil
end

-- Waits for a process to end.
local function gone(pid)
  for _ = 1, 1000 do
    if not alive(pid) then
      return true
    end
    cl.sleep(0.01)
  end
end

local echo = "while true do local m = p:receive() if not m then break end "
  .. "p:send(m) end"

t.test("messages of any bytes and any size come back as they were", function()
  local c <close> = run(echo)
  local block = {}
  for i = 0, 255 do
    block[#block + 1] = string.char(i)
  end
  block = table.concat(block)
  for _, message in ipairs{"", "a", "\0", block, block:rep(40000)} do
    t.eq(c:send(message), true)
    t.ok(c:receive(60) == message)
  end
  c:send "one"
  c:send "two"
  t.eq({c:receive(60), c:receive(60)}, {"one", "two"}, "in order")
end)

t.test("a wait ends with its time, and the message is not lost", function()
  local c <close> = run "p:receive() p:send 'late' p:receive()"
  t.eq(table.pack(c:receive(0)), {nil, "time", n = 2})
  t.eq(table.pack(c:receive(0.01)), {nil, "time", n = 2})
  c:send "now"
  t.eq(c:receive(60), "late")
  t.raises(function() c:receive(-1) end, "seconds must be >= 0")
end)

t.test("a child that takes no message is killed after the time", function()
  local c <close> = run "p:send 'ready' while true do cl.sleep(1) end"
  t.eq(c:receive(60), "ready")
  t.eq(table.pack(c:send(("x"):rep(1 << 24), 0.1)), {nil, "time", n = 2})
  t.eq(table.pack(c:receive()), {nil, "ended", "signal", 9, n = 4})
  t.ok(gone(c:pid()))
end)

t.test("the end of a process is told with its code or signal", function()
  local c <close> = run "p:send 'last' os.exit(7)"
  t.eq(c:receive(60), "last", "what it sent comes first")
  t.eq(table.pack(c:receive(60)), {nil, "ended", "exit", 7, n = 4})
  t.eq(table.pack(c:send "x"), {nil, "ended", "exit", 7, n = 4})
  local k <close> = run("p:send 'ready' " .. echo)
  k:receive(60)
  os.execute("kill -SEGV " .. k:pid())
  t.eq(table.pack(k:receive(60)), {nil, "ended", "signal", 11, n = 4})
  local s <close> = run("p:send 'ready' " .. echo)
  s:receive(60)
  os.execute("kill -STOP " .. s:pid())
  s:send "x"
  t.eq(table.pack(s:receive(0.05)), {nil, "time", n = 2}, "stopped")
end)

t.test("a child ends when it is killed, closed or collected", function()
  local pids
  do
    local c <close> = run(echo)
    c:kill()
    c:kill()
    t.eq(table.pack(c:receive()), {nil, "ended", "signal", 9, n = 4})
    local d <close> = run(echo)
    pids = {c:pid(), d:pid(), run(echo):pid()}
  end
  collectgarbage()
  collectgarbage()
  for _, pid in ipairs(pids) do
    t.ok(gone(pid))
  end
end)

t.test("the processes that a child started end with it", function()
  local c <close> = run("local f = io.popen 'echo $$; exec sleep 1000' "
    .. "p:send(f:read 'n' .. '') " .. echo)
  local pid = math.tointeger(tonumber(c:receive(60)))
  t.ok(alive(pid))
  c:kill()
  t.ok(gone(pid))
end)

t.test("output goes into a file, apart from the messages", function()
  local out <close> = assert(io.tmpfile())
  local c <close> = run("print 'said' io.stderr:write 'too' p:send 'm'",
    {output = out})
  t.eq(c:receive(60), "m")
  t.eq(c:receive(60), nil)
  out:seek "set"
  local text = out:read "a"
  scratch.has(text, "said", "too")
end)

t.test("a child gets the changed environment and no input", function()
  local c <close> = run("p:send(tostring(os.getenv 'MINE') .. "
    .. "tostring(os.getenv 'HOME') .. tostring(os.getenv 'PATH' ~= nil) .. "
    .. "#io.read 'a')", {env = {MINE = "x=y", HOME = false}})
  t.eq(c:receive(60), "x=yniltrue0")
end)

t.test("a child inherits no file but the channel", function()
  t.skip_if(not io.open "/proc/self/fd", "no /proc")
  local _ <close> = assert(io.popen("cat >/dev/null", "w"))
  local c <close> = run("local f = io.popen 'ls /proc/self/fd' "
    .. "p:send(f:read 'a')")
  t.eq(c:receive(60), "0\n1\n2\n3\n", "3 is the listing itself")
end)

t.test("a program that is not there, and a process without a parent",
  function()
    local c, message = child.start("/none/such", {})
    t.eq({c, message}, {nil, "/none/such: No such file or directory"})
    scratch.has(scratch.sh("$clshell -e 'require [[clshell.child]].parent()' "
      .. "2>&1"), "this process was not started by clshell.child")
    t.raises(function() child.start("x", 1) end, "table expected")
    t.raises(function() child.start("x", {{}}) end, "string expected")
    t.raises(function() child.start("x", {}, {output = 1}) end, "FILE")
  end)

t.test("Ctrl-C ends a wait; the child does not get it", function()
  local c <close> = run [[
    local k = child.start(cl.commandline.program, {"-q", "-e", [=[
      local p = require "clshell.child".parent()
      os.execute "g=$(ps -o ppid= -p $PPID); env kill -INT -- -$((g))"
      p:receive()
      p:send "there"]=]})
    local ok, e = pcall(k.receive, k)
    cl.undisturbed(function()
      k:send "go"
      p:send(("%s %s %s"):format(ok, e.name, k:receive(60)))
    end)]]
  t.eq(c:receive(60), "false INTERRUPTED there")
end)

t.test("a child ends with its parent, also in a loop", function()
  local c <close> = run("local k = child.start(cl.commandline.program, "
    .. "{'-q', '-e', \"require 'clshell.child'.parent():send 'x' "
    .. "while true do end\"}) k:receive() p:send(k:pid() .. '') " .. echo)
  local pid = math.tointeger(tonumber(c:receive(60)))
  t.ok(alive(pid))
  os.execute("kill -KILL " .. c:pid())
  t.ok(gone(pid))
end)

scratch.done()

-- interrupt.lua - Ctrl-C on a real pseudo-terminal (tests/pty.c), in Lua code,
-- in C functions and while a kernel runs.
-- SPDX-License-Identifier: MIT

local t = require "t"
local terminal = require "converse"

-- Types each of the pieces of code, and Ctrl-C while it runs; afterwards the
-- session goes on.
local function stops(pieces)
  local script = {}
  for i, code in ipairs(pieces) do
    script[i] = ([[
      expect cl>
      send print("go" .. %d) %s\r
      expect go%d
      settle
      send \x03
      expect interrupted!]]):format(i, code, i)
  end
  script[#script + 1] = [[
    expect cl>
    send coroutine.wrap(function() return "works" end)()\r
    expect works
    expect cl>
    send \x04
    exit 0]]
  terminal.run(table.concat(script, "\n"), "-q")
end

t.test("complaint: Ctrl-C does not stop; here it stops a busy loop", function()
  stops {
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "string.gsub(('x'):rep(1000), '.', function() while true do end end)",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "x = setmetatable({}, {__index = function() while true do end end}).y",
    "print(setmetatable({}, {__tostring = function() while true do end end}))",
    "while true do load(function() return ' ' end) end",
  }
end)

t.test("Ctrl-C stops a coroutine, and one inside another", function()
  stops {
    "coroutine.wrap(function() while true do end end)()",
    "c = coroutine.create(function() while true do end end); "
      .. "print(coroutine.resume(c))",
    "while true do coroutine.resume(coroutine.create("
      .. "function() while true do end end)) end",
    "while true do pcall(coroutine.wrap(function() while true do "
      .. "pcall(coroutine.wrap(function() while true do end end)) "
      .. "end end)) end",
    "c = coroutine.wrap(function() while true do coroutine.yield() end end) "
      .. "while true do c() end",
  }
end)

t.test("Ctrl-C stops handlers: __close, of errors", function()
  local forever = "setmetatable({}, {__close = function() "
    .. "while true do end end})"
  stops {
    "while true do local x <close> = setmetatable({}, "
      .. "{__close = function() end}) end",
    "local x <close> = " .. forever,
    "for x in function() return 1 end, nil, nil, " .. forever .. " do end",
    "while true do c = coroutine.create(function() local x <close> = "
      .. forever .. " coroutine.yield() end) coroutine.resume(c) "
      .. "coroutine.close(c) end",
    "coroutine.wrap(function() local x <close> = " .. forever
      .. " error'x' end)()",
    "while true do xpcall(error, function() while true do end end) end",
    "while true do xpcall(function() while true do end end, "
      .. "function() while true do end end) end",
  }
end)

t.test("Ctrl-C stops code that sets hooks, and leaves the user's", function()
  stops {
    "debug.sethook(function() end, '', 1) while true do end",
    "while true do pcall(function() debug.sethook(function() end, '', 1) "
      .. "while true do end end) end",
  }
  terminal.run([[
    expect cl>
    send calls = 0 debug.sethook(function() calls = calls + 1 end, "c")\r
    expect cl>
    send print("go" .. 1) while true do end\r
    expect go1
    settle
    send \x03
    expect interrupted!
    expect cl>
    send a, b, c = debug.gethook() print(type(a), b, debug.sethook())\r
    expect function	c
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("Ctrl-C stops what waits for a key or a command", function()
  stops {
    "io.read()",
    "while true do io.read() end",
    "while true do os.execute('sleep 60') end",
    "while true do io.popen('sleep 60'):read('a') end",
  }
end)

t.test("Ctrl-C stops loops over host memory", function()
  stops {"h = cl.array('float', 100) while true do h:fill(1) end"}
end)

t.test("coroutines are as they were", function()
  terminal.run([[
    expect cl>
    send c = coroutine.wrap(function(a) coroutine.yield(a) error("in") end)\r
    expect cl>
    send c("once")\r
    expect once
    expect cl>
    send c()\r
    expect in
    expect cl>
    send c()\r
    expect cannot resume dead coroutine
    expect cl>
    send coroutine.resume(coroutine.create(error), {})\r
    expect false	{}
    expect cl>
    send select("#", coroutine.resume(coroutine.create(select), 1, 2, 3))\r
    expect 3
    expect cl>
    send coroutine.resume(1)\r
    expect coroutine expected
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("Ctrl-C lets __close work, and ends a script", function()
  terminal.run([[
    expect go
    settle
    send \x03
    expect closed
    expect interrupted!
    exit 130]], [[-e 'local x <close> = setmetatable({}, {__close =
      function() local n = 0 for i = 1, 100 do n = n + i end
      print("closed " .. n) end}) print("go") while true do end']])
  terminal.run([[
    expect go
    settle
    send \x03
    expect interrupted!
    exit 130]], [[-e 'print("go") while true do
      pcall(coroutine.wrap(function() while true do end end)) end']])
end)

-- Goes through the steps, which lead into a call that does not stop; Ctrl-C
-- then explains itself, and once more ends the program and leaves a sane
-- terminal.
local function quits(steps)
  terminal.command(steps .. [[
    settle
    insist again quits
    insist code 130
    expect  icanon
    expect  echo\x20
    exit 0]], ([[sh -c "trap : INT; %s/clshell -q; echo code \$?; ]]
    .. [[sleep 1; stty -a"]]):format(terminal.build))
end

t.test("a third Ctrl-C quits where nothing else helps", function()
  quits [[
    expect cl>
    send print("go") ; ("a"):rep(60):find(("a*"):rep(20) .. "b")\r
    expect go
    ]]
  quits([[
    expect cl>
    send print("go") ; setmetatable({}, {__gc = function() ]]
    .. [[while true do end end}) collectgarbage()\r
    expect go
    ]])
end)

t.test("Ctrl-C while a kernel runs", function()
  terminal.device()
  terminal.run(terminal.spin(1) .. [[
    send n = 2500 // ms + 1; e = l(b, n); print("go")\r
    expect go
    expect cl>
    send print("wait" .. 1) e:wait()\r
    expect wait1
    settle
    send \x03
    expect interrupted!
    expect cl>
    send e.status ~= "complete" and "un" .. "done"\r
    expect undone
    expect cl>
    send print("wait" .. 2) while true do pcall(e.wait, e) end\r
    expect wait2
    settle
    send \x03
    settle
    send \x03
    expect interrupted!
    expect cl>
    send print("wait" .. 3) b:read()\r
    expect wait3
    settle
    send \x03
    expect interrupted!
    expect cl>
    send e:wait().status\r
    expect complete
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("what was caught of Ctrl-C can be dealt with in peace", function()
  terminal.run([[
    expect go
    send \x03
    expect cleaned 1000000
    expect interrupted!
    exit 130]], [[-e 'pcall(function() print("go") while true do end end)
      cl.undisturbed(function() local n = 0 for i = 1, 1000000 do n = n + 1 end
        print("cleaned " .. n) end)
      while true do end']])
  terminal.run([[
    expect go
    send \x03
    expect in it
    send \x03
    expect interrupted!
    exit 130]], [[-e 'pcall(function() print("go") while true do end end)
      cl.undisturbed(function() print("in it") while true do end end)']])
end)

t.test("Ctrl-C in a bench gives what was measured", function()
  terminal.device()
  terminal.run([[
    expect cl>
    send k = cl.kernel [=[kernel void f(global volatile int *x) {\r
    expect ..>
    send for (int i = 0; i < 1000000; i++) x[0]++; }]=]\r
    expect cl>
    send l, b, n = k:range(1), cl.buffer("int", 1, 0), 0\r
    expect cl>
    send function f() local now = cl.now() n = n + 1\r
    expect ..>
    send if n == 100 then print("mid" .. "dle") end -- past the ramp\r
    expect ..>
    send while cl.now() < now + 0.02 do end\r
    expect ..>
    send return l(b) end\r
    expect cl>
    send bench(f, {seconds = 600, busy = 600, samples = 900, roof = false})\r
    expect middle
    send \x03
    expect interrupted!
    expect interrupted: by Ctrl-C
    expect cl>
    send 6 * 7\r
    expect 42
    expect cl>
    send \x04
    exit 0]], "-q")
end)

local SPIN = [=[cl.kernel [[kernel void spin(global volatile int *p)
  { while (p[0] >= 0) p[1]++; }]]]=]

t.test("what still runs is told, by queue", function()
  terminal.device()
  local path = terminal.file("unfinished.lua", [[
    local running = require "clshell.shell.prompt.device_list"
    local k = ]] .. SPIN .. [[
    local b, go = cl.buffer("int", 2, 0), cl.buffer("int", 1, 0)
    assert(#cl.unfinished() == 0 and not running.ask())
    local q = cl.queue{out_of_order = true}
    local e = k:range(1):on(q)(b)
    q:flush()
    local u = cl.unfinished()
    assert(#u == 1 and u[1].queue == q and u[1].device == cl.device())
    assert(u[1].commands == 1 and u[1].kernels == 1)
    assert(running.work():find "^1 kernel still running on %w+:%d+$")
    assert(running.answers.w and running.answers.q and running.answers.d)
    e = nil
    collectgarbage()
    u = cl.unfinished()
    assert(#u == 1 and u[1].commands == 1 and u[1].kernels == 1)
    setmetatable({}, {__gc = function() print(pcall(cl.buffer, "int", 1)) end})
    print "fine"
    pcall(function()
      io.popen("kill -INT $PPID"):close()
      while true do end
    end)
    if ... then
      os.exit(tonumber((...)), select("#", ...) > 1)
    end]])
  for options, code in pairs{[""] = 0, ["3"] = 3, ["4 close"] = 4} do
    local out = terminal.capture(("%s/clshell %s %s 2>&1; echo code $?")
      :format(terminal.build, path, options))
    t.ok(out:find("^fine\n"), out)
    t.ok(out:find("1 command still running on the device, given up", 1, true),
      out)
    t.ok(out:find("code " .. code, 1, true), out)
    t.eq(out:find("the program ends while", 1, true) ~= nil, code ~= 3)
  end
end)

t.test("work launched after a Ctrl-C is waited for, not given up", function()
  terminal.device()
  local path = terminal.file("later.lua", [[
    pcall(function()
      io.popen("kill -INT $PPID"):close()
      while true do end
    end)
    local count = cl.kernel [=[kernel void count(global volatile int *p, int n)
      { for (int i = 0; i < n; i++) for (int j = 0; j < 100; j++) p[0] ^= j;
      }]=]
    local b, n = cl.buffer("int", 1, 0), 10000
    cl.undisturbed(function()
      repeat -- a count that outlives the patience of the end
        local begin = cl.now()
        count:range(1)(b, cl.int(n)):wait()
        n = n * 2
      until cl.now() - begin > 0.3
      count:range(1)(b, cl.int(n))
    end)
    print "done"]])
  t.eq(terminal.capture(("%s/clshell %s 2>/dev/null; echo code $?"):format(
    terminal.build, path)), "done\ncode 0\n")
end)

t.test("the end of a program waits for what was launched", function()
  terminal.device()
  for _, last in ipairs{"", "os.exit(0)", "os.exit(0, true)"} do
    local path = terminal.file("launched.lua", [[
      local k = cl.kernel "kernel void f(global int *p) { p[0]++; }"
      local b = cl.buffer("int", 1, 0)
      for i = 1, 100 do
        k:range(1)(b)
      end
      print "done"
      ]] .. last)
    t.eq(terminal.capture(("%s/clshell %s 2>&1; echo code $?"):format(
      terminal.build, path)), "done\ncode 0\n")
  end
  terminal.run([[
    expect waiting for kernel 'spin' on the device; Ctrl-C or kill
    send \x03
    exit 130]], "-e 'k = " .. SPIN:gsub("%s+", " ")
    .. " b = cl.buffer(\"int\", 2, 0) k:range(1)(b)'")
end)

t.test("the end of a program says what it waits for, in a file too",
  function()
    terminal.device()
    local begin = "local k = " .. SPIN .. [[
      local b = cl.buffer("int", 2, 0)
      first = k:range(1)(b)
      ]]
    for last, text in pairs{[""] = "kernel 'spin' on the device",
        ["os.exit(3)"] = "kernel 'spin' on the device",
        ["collectgarbage() error 'x'"] = "kernel 'spin' on the device",
        ["last = b:fill(1, {async = true})"] =
          "2 commands on the device, kernel 'spin' among them"} do
      local p <close> = assert(io.popen(("%s/clshell %s 2>&1"):format(
        terminal.build, terminal.file("waits.lua", begin .. last))))
      local line
      repeat
        line = p:read "l"
      until line == nil or line:find("waiting", 1, true)
      local said, pid = tostring(line):match("^clshell: waiting for (.*); "
        .. "Ctrl%-C or kill (%d+) ends it$")
      t.eq(said, text, line)
      os.execute("kill " .. pid)
    end
  end)

t.test("a kernel that never ends keeps nobody: prompt, end, three Ctrl-C",
  function()
    terminal.device()
    local begin = [[
      expect cl>
      send k = ]] .. SPIN:gsub("%s+", " ") .. [[\r
      expect cl>
      send b = cl.buffer("int", 2, 0)\r
      expect cl>
      send print("go") ; k:range(1)(b):wait()\r
      expect wait()
      expect go
      settle
      send \x03
      expect interrupted!
      expect cl>
      ]]
    terminal.run(begin .. [[
      send print("again") cl.context().queue:finish()\r
      expect finish()
      expect again
      settle
      send \x03
      expect interrupted!
      expect cl>
      send \x04
      expect given up
      exit 0]], "-q")
    quits(begin .. [[
      send print("in") ; ("a"):rep(60):find(("a*"):rep(20) .. "b")\r
      expect "b")
      expect in
      ]])
  end)

t.test("Ctrl-C does not wait for a compiler", function()
  terminal.device()
  local path = terminal.file("builds.lua", [[
    local function source(i)
      local lines = {"kernel void f(global float *x) { float a = x[0];"}
      for j = 1, 200 do
        lines[j + 1] = ("a = sin(a) * cos(a + %d.0f);"):format(i * 1000 + j)
      end
      lines[#lines + 1] = "x[0] = a; }"
      return table.concat(lines)
    end
    cl.device()
    print "go"
    for i = 1, math.huge do
      cl.build(source(i + os.time() % 10000 * 1000))
    end]])
  terminal.run([[
    expect go
    settle
    send \x03
    expect interrupted!
    expect cl>
    send cl.kernel "kernel void late(global int *x) {}"\r
    expect kernel late
    expect cl>
    send \x04
    exit 0]], "-qi " .. path)
end)

t.test("the prompt offers to wait, to go on or to quit", function()
  terminal.device()
  terminal.run(terminal.spin(1) .. [[
    send n = 3000 // ms + 1 e = l(b, n) print("go")\r
    expect go
    expect cl>
    send print("wait" .. 1) e:wait()\r
    expect wait1
    send \x03
    expect interrupted!
    expect 1 kernel still running on
    expect type w to wait for it
    expect cl>
    send w\r
    expect waiting ...
    send \x03
    expect interrupted!
    expect 1 kernel still running on
    expect cl>
    send w = 6 * 7\r
    expect cl>
    send w\r
    expect 42
    expect cl>
    send print("wait" .. 2) cl.context().queue:finish()\r
    expect wait2
    send \x03
    expect 1 kernel still running on
    expect cl>
    send w\r
    expect waiting ... done
    expect cl>
    send e.status\r
    expect complete
    expect cl>
    send e = l(b, n) print("launched" .. 3)\r
    expect launched3
    expect cl>
    send print("wait" .. 3) e:wait()\r
    expect wait3
    send \x03
    expect type w to wait for it
    expect cl>
    send d\r
    expect cl>
    send e = l(b, n) print("launched" .. 4)\r
    expect launched4
    expect cl>
    send print("wait" .. 4) e:wait()\r
    expect wait4
    send \x03
    expect type w to wait for it
    expect cl>
    send q\r
    expect given up
    exit 0]], "-q")
end)

t.test("complaint: Ctrl-C kills the session or loses history", function()
  terminal.clean()
  terminal.run([[
    expect cl>
    send kept = 6 * 7\r
    expect cl>
    send print("go" .. 1) while true do end\r
    expect go1
    settle
    send \x03
    expect interrupted!
    expect cl>
    send kept\r
    expect 42
    expect cl>
    send print("go" .. 2) os.exit(3)\r
    expect go2
    exit 3]], "-q")
  local f <close> = assert(io.open(terminal.folder()
    .. "/state/clshell/history"))
  local lines = f:read("a"):gsub("#%d+\n", "")
  t.eq(lines, 'kept = 6 * 7\nprint("go" .. 1) while true do end\nkept\n'
    .. 'print("go" .. 2) os.exit(3)\n')
end)

t.test("complaint: Ctrl-C crashes later; interrupts at random moments",
  function()
    terminal.device()
    local script = {[[
      expect cl>
      send A = matrix.random(48, 48)  k = cl.kernel "]]
        .. [[kernel void f(global float *x) { x[get_global_id(0)] += 1; }"\r
      expect cl>
      send b = cl.buffer("float", 64, 0) n = 0\r]]}
    local works = {
      "gemm(A, A):read()", "k:range(64)(b):wait()", "k:range(64)(b)",
      "pcall(error)", "b:read(nil, {async = true})",
      "cl.build('kernel void g' .. n .. '() {}'):kernels()",
      "coroutine.wrap(function() b:map():close() end)()",
      "collectgarbage()", "cl.buffer('int', 1000, n)",
    }
    for round = 1, 12 do
      local code = {}
      for i = 1, 3 do
        code[i] = works[math.random(#works)]
      end
      script[#script + 1] = ([[
        expect cl>
        send print("go" .. %d) while true do n = n + 1 %s end\r
        expect go%d
        sleep %d
        send \x03
        expect interrupted!]]):format(round, table.concat(code, " "), round,
          math.random(0, 200))
    end
    script[#script + 1] = [[
      expect cl>
      send cl.context().queue:finish()\r
      expect cl>
      send print("right", gemm.verify("naive", nil, {A = A, B = A}).ok)\r
      expect right	true
      expect cl>
      send \x04
      exit 0]]
    terminal.run(table.concat(script, "\n"), "-q")
  end)

terminal.clean()
t.test("os.exit that is called wrongly leaves Ctrl-C as it was", function()
  stops {"print(pcall(os.exit, {})) while true do end"}
end)

t.done()

-- journal.lua - what is left of a session that ends without its exit, and
-- %restore, on a real pseudo-terminal
-- SPDX-License-Identifier: MIT
local converse = require "converse"
local t = require "t"

local run = converse.run

-- The journals of dead and live sessions, each as its text.
local function journals()
  local list = {}
  local found = t.capture(("ls %s/state/clshell/sessions/* 2>/dev/null")
    :format(converse.folder()))
  for path in found:gmatch "[^\n]+" do
    local f <close> = assert(io.open(path, "rb"))
    list[#list + 1] = f:read("a"):gsub("^#!/usr/bin/env clshell\n%-%- saved "
      .. "by clshell [%d.]+ on [%d-]+ [%d:]+\n", "")
  end
  return list
end

local function clear()
  os.execute(("rm -rf %s/state"):format(converse.folder()))
end

-- A session that ends by SIGKILL after the inputs.
local function killed(inputs, options, env)
  run(inputs:gsub("[^\n]+", "    expect cl>\n    send %0\\r") .. [[

    expect cl>
    send os.execute "kill -KILL $PPID"\r
    exit 137]], options, env)
end

t.test("a session that is killed leaves its inputs as a script", function()
  clear()
  killed [[
x = 20
local y = x + 1
nonsense()
print(x)]]
  t.eq(journals(), {[[
-- input 1
x = 20
-- input 2
y = x + 1
-- input 3, failed
-- nonsense()
-- input 4, only measured or printed
-- print(x)
-- input 5, under way when the session ended
-- os.execute "kill -KILL $PPID"
]]})
  run [[
    expect clshell
    expect an earlier session was cut off (killed
    expect %restore brings its variables back
    expect cl>
    send %restore\r
    expect running
    expect restored 2 inputs; left out 1 that only measured or printed
    expect input 5: os.execute "kill -KILL $PPID"
    expect under way when the session ended
    expect cl>
    send x + y\r
    expect 41
    expect cl>
    send \x04
    exit 0]]
  run([[
    settle
    refute earlier session
    expect cl>
    send \x04
    exit 0]])
  t.eq(#journals(), 1)
end)

t.test("results that later inputs refer to are kept", function()
  clear()
  killed [[
1 + 1
3;
_1 * 20 + _]]
  t.eq(journals(), {[[
-- input 1
_1, _ = _, 1 + 1
-- input 2
_1, _ = _, 3
-- input 3
_1, _ = _, _1 * 20 + _
-- input 4, under way when the session ended
-- os.execute "kill -KILL $PPID"
]]})
end)

t.test("an input that only measures or displays stays a comment", function()
  local save = require "clshell.shell.prompt.save"
  local session = require "clshell.shell.prompt.session"
  rawset(_G, "best_of_test", load("return 1", "=input:1"))
  local function runs(line)
    local input = session.parse(line, "=x")
    input.ok, input.text, input.values = true, line, 1
    return save.quiet(input) ~= nil
  end
  for _, line in ipairs{"bench(f)", "roofline(r)", "results()", "r:table()",
      "results():html 'a.html'", "history 'gemm'", "best()", "course(3)",
      "tune('gemm', {512})", "gemm.tune()", "gemm.verify()", "A + B",
      "plot.line(x, y)", "x:max_diff(y)", "p:asm()", "cl.live()"} do
    t.eq(runs(line), false, line)
  end
  for code, piece in pairs{["x = 1; x"] = "x = 1; show(x)",
      ["x = 1\nf(x)"] = "x = 1\nshow(f(x))", ["a = f\n(g)(x)"] =
      "a = f\n(g)(x)", ["x = 1\n-x"] = "x = 1\n-x",
      ["x = 1; x;"] = "x = 1; do local _ = x end"} do
    local input = session.parse(code, "=x")
    input.ok, input.values = true, 1
    t.eq(save.piece(input), piece)
  end
  for _, line in ipairs{"r = bench(f)", "k:range(8)(x)", "A:fill(0)",
      "best_of_test()", "roofline(f())"} do
    t.eq(runs(line), true, line)
  end
  rawset(_G, "best_of_test", nil)
end)

t.test("%save writes the inputs that %restore ran", function()
  clear()
  killed "x = 20"
  local saved = converse.folder() .. "/saved.lua"
  run(([[
    expect cl>
    send %%restore\r
    expect running
    expect cl>
    send print("x is " .. x)\r
    expect x is 20
    expect cl>
    send %%save %s\r
    expect wrote 3 inputs
    expect cl>
    send \x04
    exit 0]]):format(saved))
  t.eq(t.capture(converse.build .. "/clshell " .. saved .. " 2>&1"),
    "x is 20\n")
end)

t.test("an exit leaves nothing, nor does a session without traces", function()
  for _, leave in ipairs{"\\x04", "exit\\r", "os.exit(0)\\r"} do
    clear()
    run(([[
    expect cl>
    send x = 1\r
    expect cl>
    send %s
    exit 0]]):format(leave))
    t.eq(journals(), {}, leave)
  end
  killed("x = 1", "-n")
  converse.session('x = 1\nos.execute "kill -KILL $PPID"\n', "-q",
    ("XDG_STATE_HOME=%s/state"):format(converse.folder()))
  t.eq(journals(), {})
  run [[
    expect cl>
    send %restore\r
    expect no session to restore
    expect cl>
    send \x04
    exit 0]]
end)

t.test("the journal of a session that goes on is not offered", function()
  clear()
  run(([[
    expect cl>
    send x = 1\r
    expect cl>
    send os.execute "%s/clshell"\r
    expect clshell
    settle
    refute earlier session
    expect cl>
    send %%restore\r
    expect no session to restore
    expect cl>
    send \x04
    expect exit
    expect cl>
    send x + 1\r
    expect 2
    expect cl>
    send \x04
    exit 0]]):format(converse.build))
  t.eq(journals(), {})
end)

t.test("a folder that cannot be written costs no input", function()
  clear()
  killed("x = 1", nil, "XDG_STATE_HOME=/dev/null/x")
  run([[
    expect cl>
    send 40 + 2\r
    expect 42
    expect cl>
    send \x04
    exit 0]], nil, "XDG_STATE_HOME=/dev/null/x HOME=/nonexistent")
end)

t.test("an input whose kernel has not ended stays a comment", function()
  converse.device()
  if not t.capture(converse.build .. "/clshell --devices"):find "Portable" then
    t.skip "the endless kernel of this test could stop the display"
  end
  clear()
  killed [[
k = cl.kernel "kernel void f(volatile global int *x) { while (!x[0]); }"
b = cl.buffer("int", 1, 0)
ev = k:range(1)(b)
x = 1]]
  t.eq(journals(), {[[
-- input 1
k = cl.kernel "kernel void f(volatile global int *x) { while (!x[0]); }"
-- input 2
b = cl.buffer("int", 1, 0)
-- input 3, under way when the session ended
-- ev = k:range(1)(b)
-- input 4
x = 1
-- input 5, under way when the session ended
-- os.execute "kill -KILL $PPID"
]]})
end)

converse.clean()
t.done()

-- repl.lua - the interactive shell on a real pseudo-terminal (tests/pty.c).
-- SPDX-License-Identifier: MIT
local t = require "t"

local build, capture = t.build, t.capture

local dir = capture("mktemp -d"):gsub("\n", "")
local history = dir .. "/state/clshell/history"

local slurp = t.read

-- Runs the program on a terminal and converses with it; see tests/pty.c.
-- `env` is put before the command.
local function converse(script, options, env)
  local path = dir .. "/script"
  do
    t.write(path, script)
  end
  local command = ("XDG_STATE_HOME=%s/state INPUTRC=/dev/null TERM=xterm " ..
    "%s %s/tests/pty -t 300 %s/clshell %s <%s 2>&1 && echo fine"):format(dir,
    env or "", build, build, options or "", path)
  local out = capture(command)
  t.ok(out:match("fine\n$"), out)
end

t.test("continuation lines", function()
  converse([[
    expect cl>
    send for i = 1, 2 do\r
    expect ..>
    send   print("n" .. i)\r
    expect ..>
    send end\r
    expect n1
    expect n2
    expect cl>
    send #{1,\r
    expect ..>
    send 2, 3}\r
    expect 3
    expect cl>
    send print([=[one\r
    expect ..>
    send two]=])\r
    expect one
    expect two
    expect cl>
    send if true then\r
    expect ..>
    send \x03
    expect ^C
    expect cl>
    send "still" .. "here"\r
    expect stillhere
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("a pasted block is one chunk", function()
  converse([[
    expect cl>
    send \e[200~local a = 20\r\tprint(a + 1)\r\e[201~
    settle
    send \r
    expect 21
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("Ctrl-C at the prompt", function()
  converse([[
    expect cl>
    send half a line
    expect half a line
    send \x03
    expect ^C
    expect cl>
    send 7 * 11\r
    expect 77
    expect cl>
    send \x12nothing
    settle
    send \x03
    expect cl>
    send 8 * 8\r
    expect 64
    expect cl>
    send \x03
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("history", function()
  os.execute("rm -rf " .. dir .. "/state")
  converse([[
    expect cl>
    send first = 1\r
    expect cl>
    send for i = 1, 2 do\r
    expect ..>
    send print("run" .. i) end\r
    expect run2
    expect cl>
    send   \r
    expect cl>
    send first = 1\r
    expect cl>
    send first = 1\r
    expect cl>
    send os.exit(5)\r
    exit 5]], "-q")
  local loop = 'for i = 1, 2 do\n  print("run" .. i) end\n'
  local kept = "first = 1\n" .. loop .. "first = 1\nos.exit(5)\n"
  t.eq(slurp(history):gsub("#%d+\n", ""), kept)
  t.eq(capture("ls -l " .. history):sub(1, 10), "-rw-------")
  t.eq(capture("ls -ld " .. history:match("(.*)/")):sub(1, 10),
    "drwx------")
  converse([[
    expect cl>
    send \x10\x10\x10\r
    expect run1
    expect run2
    expect cl>
    send second = 2\r
    expect cl>
    send \x04
    exit 0]], "-q")
  t.eq(slurp(history):gsub("#%d+\n", ""), kept .. loop .. "second = 2\n")
end)

t.test("history that cannot be written", function()
  local script = [[
    expect cl>
    send 40 + 2\r
    expect note: history is not kept
    expect 42
    expect cl>
    send 40 + 3\r
    expect 43
    refute note
    expect cl>
    send \x04
    exit 0]]
  converse(script, "-q", "XDG_STATE_HOME=/dev/null/x")
end)

t.test("completion", function()
  converse([[
    expect cl>
    send collectg\t
    expect collectgarbage
    send ("count") > 0\r
    expect true
    expect cl>
    send math.hug\t
    expect math.huge
    send \r
    expect inf
    expect cl>
    send io.stdout:wri\t
    expect io.stdout:write
    send ("ab", "cd", "\\n")\r
    expect abcd
    expect cl>
    send t = setmetatable({nested = {leaf = 12}}, {__index = error})\r
    expect cl>
    send t.nes\t
    expect t.nested
    send .le\t
    expect .leaf
    send  + 1\r
    expect 13
    expect cl>
    send t.missing.x\t
    settle
    send \x15s = "text"\r
    expect cl>
    send s:upp\t
    expect s:upper
    send ()\r
    expect TEXT
    expect cl>
    send a = cl.array("int", 3)\r
    expect cl>
    send a:max_\t
    expect a:max_diff
    send \x15a.typ\t
    expect .type
    send \r
    expect int
    expect cl>
    send fun\t
    expect function
    send \x15s .. coll\t
    expect s .. collectgarbage
    send \x15\x04
    exit 0]], "-q")
end)

os.execute("rm -rf " .. dir)
t.done()

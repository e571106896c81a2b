-- restart.lua - a prompt survives a crash: the program begins anew, asks, and
-- runs the inputs again that built the session; on a real pseudo-terminal
-- SPDX-License-Identifier: MIT
local converse = require "converse"
local t = require "t"

local has = converse.has
local device = t.device()
local layer = t.build .. "/tests/crashlayer.so" -- its loading calls abort()
local ABORT = ("package.loadlib(%q, \"*\")"):format(layer)

-- A conversation with the program in an empty state folder.
local function run(script, options, env)
  os.execute(("rm -rf %s/state"):format(converse.folder()))
  converse.run(script, options, ("CLSHELL_DEVICE=%d %s"):format(device.index,
    env or ""))
end

-- The steps that type inputs, each at a prompt.
local function inputs(...)
  local steps = {}
  for _, text in ipairs{...} do
    steps[#steps + 1] = ("expect cl>\nsend %s\\r\n"):format(text
      :gsub("\\", "\\\\"))
  end
  return table.concat(steps)
end

local LEAVE = "expect cl>\nsend \\x04\nexit 0\n"
local ASKED = "expect restore the session? [Y/n]\n"
local YES, NO = ASKED .. "send \\r\n", ASKED .. "send n\\r\n"

local function in_process()
  t.skip_if(device.platform ~= "Portable Computing Language",
    "on other platforms a kernel does not crash the process")
end

t.test("a kernel crashes: the launch is named, variables are back", function()
  in_process()
  for i, body in ipairs{"x[(size_t)1 << 40] = 1;", "__builtin_trap();",
    "x[-((size_t)1 << 40)] = 1;"} do
    run(inputs(('x = cl.buffer("float", 4, %d)'):format(i),
      'k = cl.kernel "kernel void bad(global float *x) { ' .. body .. ' }"',
      "x:fill(7)", "print(\"printed\")", "k:range(1)(x):wait()") .. [[
    expect clshell: ended by SIG
    expect under way: kernel bad over 1
    expect with x = Buffer float[4]
    expect launched at input:5:1
    expect check(launch, ...)
    refute %restore
    ]] .. YES .. [[
    refute printed
    expect restored 3 inputs; left out 1 that only measured or printed
    expect not restored:
    expect input 5: k:range(1)(x):wait()
    expect under way when the session ended
    ]] .. inputs("x:read()[4]") .. "expect 7.0\n"
      .. inputs("local y = 20 + 1", "y * 2") .. "expect 42\n" .. LEAVE)
  end
end)

t.test("a crash on the driver's thread while the prompt waits", function()
  in_process()
  run(inputs("n = 5", 'k = cl.kernel "kernel void bad(global volatile int *x)'
    .. ' { while (x[0] < 100000000) x[0]++; x[(size_t)1 << 40] = 1; }"',
    'ev = k:range(1)(cl.buffer("int", 1, 0))') .. [[
    expect clshell: ended by SIG
    ]] .. YES .. [[
    expect restored 2 inputs
    expect input 3: ev = k:range(1)
    ]] .. inputs("n") .. "expect 5\n" .. LEAVE)
end)

t.test("n, no, Ctrl-D and Ctrl-C: an empty session", function()
  for _, answer in ipairs{"x\\rn\\r", "NO\\r", "\\x04", "\\x03"} do
    run(inputs("x = 5", ABORT) .. [[
    expect clshell: ended by SIGABRT (abort)
    expect no kernel has been launched
    ]] .. ASKED .. "send " .. answer .. "\n" .. inputs("x")
      .. "expect nil\n" .. inputs("%restore")
      .. "expect restored 1 input\n" .. inputs("x") .. "expect 5\n" .. LEAVE)
  end
end)

t.test("crash after crash, each time with what was built so far", function()
  run(inputs("a = 1", ABORT) .. YES .. "expect restored 1 input\n"
    .. inputs("b = a + 1", ABORT) .. YES .. "expect restored 2 inputs\n"
    .. inputs("c = b + 1", ABORT) .. YES .. "expect restored 3 inputs\n"
    .. inputs("a + b + c") .. "expect 6\n" .. LEAVE)
end)

t.test("an input that crashes when it is restored is left out", function()
  run(inputs("a = 1", "crashes = os.getenv \"CLSHELL_TEST\"",
    "if os.rename(crashes, crashes .. \"2\") then b = 2 else " .. ABORT
    .. " end", "c = 3", ABORT) .. YES .. [[
    expect clshell: ended by SIGABRT
    refute restore the session?
    expect input 3 crashed again, so this session is empty: if os.rename
    expect %restore runs the other inputs
    ]] .. inputs("a") .. "expect nil\n" .. inputs("%restore")
    .. "expect restored 3 inputs\n"
    .. "expect input 3: if os.rename\n"
    .. "expect crashed when it was restored\n"
    .. inputs("a + c, b") .. "expect 4\nexpect nil\n" .. LEAVE, "",
    "CLSHELL_TEST=" .. converse.file("crashes", ""))
end)

t.test("what fails now is told, and the rest goes on", function()
  local path = converse.file("module.lua", "return 1")
  run(inputs("a = 1", ("m = dofile %q"):format(path), ("os.remove %q"):format(
    path), "b = 2", ABORT) .. YES .. [[
    expect restored 3 inputs
    expect not restored:
    expect input 2: m = dofile
    expect failed now: cannot open
    ]] .. inputs("a + b") .. "expect 3\n" .. LEAVE)
end)

t.test("%restart restores without a question", function()
  run(inputs("%cd /", "x = 5", "%time y = x", "%set paste = stop", "%who",
    "nonsense()", "%restart") .. [[
    refute [Y/n]
    expect restored 4 inputs; left out 1 that only measured or printed
    ]] .. inputs("x + y") .. "expect 10\n" .. inputs("!echo in $PWD.")
    .. "expect in /.\n" .. inputs("%restart") .. "expect restored 4 inputs\n"
    .. LEAVE)
  has(converse.session "%restart\n", "only a prompt on a terminal")
end)

t.test("the script and the code of the command line run again, with yes",
  function()
    local path = converse.file("start.lua", 'print "started" z = (z or 0) + 1')
    run("expect started\n" .. inputs("z = z + 10", ABORT) .. YES
      .. "expect started\nexpect restored 1 input\n" .. inputs("z")
      .. "expect 11\n" .. LEAVE, "-i " .. path)
    run("expect started\n" .. inputs("z = z + 10", ABORT) .. NO
      .. "refute started\n" .. inputs("z or m.pi") .. "expect 3.14\n"
      .. LEAVE, "-i -l m=math " .. path)
    run(inputs(ABORT) .. YES .. inputs("z") .. "expect 3\n" .. LEAVE,
      "-i -e 'z = 3'")
  end)

t.test("no restart: scripts, before the prompt, a pipe, a signal sent",
  function()
    local path = converse.file("crash.lua", ABORT)
    local code = t.capture(("ulimit -c 0; %s/clshell %s 2>&1; echo $?"):format(
      t.build, path))
    has(code, "ended by SIGABRT", "134")
    converse.lacks(code, "restore")
    run("expect ended by SIGABRT\nexit 134", "-i " .. path)
    has(t.capture(("echo '%s' | %s/clshell -i 2>&1; echo"):format(ABORT,
      t.build)), "ended by SIGABRT")
    run(inputs("x = 1", 'os.execute "kill -ABRT $PPID"') .. [[
    expect ended by SIGABRT
    expect the inputs are saved
    exit 134]])
    run(inputs("x = 1", 'os.exit(3)') .. "exit 3")
  end)

t.test("signals, files, environment and the terminal are as at the start",
  function()
    run(inputs("x = 1", ABORT) .. NO .. inputs("for l in io.lines "
      .. "'/proc/self/status' do if l:find '^SigBlk' then print(l) end end")
      .. [[
    expect SigBlk:	0000000000000000
    ]] .. inputs("!env | grep -c RESTARTED; stty -a | grep -o ' echo '") .. [[
    expect 0
    expect  echo
    ]] .. inputs("while true do end") .. [[
    settle
    send \x03
    expect interrupted!
    ]] .. inputs(ABORT) .. NO .. inputs("1 + 1") .. "expect 2\n" .. LEAVE)
  end)

t.test("--no-init keeps nothing, --timeout goes on", function()
  run(inputs("x = 1", ABORT) .. "expect the session is empty\n" .. inputs("x")
    .. "expect nil\n" .. LEAVE, "-n")
  -- the alarm is rung by hand: a start takes its time on a busy machine
  run(inputs("x = 1", ABORT) .. YES .. "expect restored\n"
    .. inputs('os.execute "kill -s ALRM $PPID"') .. "exit 124\n",
    "--timeout 1000")
end)

converse.clean()
t.done()

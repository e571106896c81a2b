-- crash.lua - a script that a kernel or a driver crashes tells which launch
-- was under way, and ends as it would without the report; restart.lua has the
-- prompt
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"
local has, sh = scratch.has, scratch.sh

local device = t.device()

local function in_process()
  t.skip_if(device.platform ~= "Portable Computing Language",
    "on other platforms a kernel does not crash the process")
end

-- Runs a script that must end by a signal; returns its standard error.
local function crash(code, signal, way)
  in_process()
  scratch.create("crash.lua", code)
  local _, err, status = sh("ulimit -c 0; "
    .. (way or "$clshell crash.lua") .. "; exit $?")
  t.eq(status, 128 + signal, err)
  has(err, "clshell: ")
  return err
end

local WILD = "kernel void wild(global float *x, int n) {"
  .. " x[(size_t)n << 40] = 1; }"

-- The first lines of all reports.
local function ended(name)
  return ("\nclshell: ended by %s\n"):format(name)
end

local SEGV = ended "SIGSEGV (a bad address)"

t.test("a wild store tells the launch, its arguments and its line", function()
  local err = crash(([[
    local x = cl.buffer("float", {4, 5})
    local ev = cl.kernel"%s":range({64, 2}, {32, 1})(x, 1)
    ev:wait()
    print "not reached"]]):format(WILD), 11)
  has(err, SEGV .. [[
  under way: kernel wild over 64x2, local 32x1
    with x = Buffer float[4][5], n = 1
    launched at crash.lua:2
  for stores outside a buffer see clshell --memcheck crash.lua
]])
end)

t.test("arguments of every kind, in words", function()
  local err = crash([==[
    local k = cl.kernel "typedef struct { int a[6]; } six; kernel void f(\
      global int *x, local float *tile, float4 v, six s, float a, double b,\
      char c, ulong d, int e, int rest) {\
      tile[0] = v.x; x[((ulong)1 << 40) + s.a[0]] = 1; }"
    local x = cl.buffer("int", 64)
    k:range(8, nil, 16)(x:view(33, 40), cl.localmem("float", 64),
      {1, 2, 3, 4}, cl.bytes(("\0"):rep(24)), -0.5, 1e-20, -7, -1 >> 1, 5, 6)
      :wait()]==], 11)
  has(err, "kernel f over 8, offset 16\n    with x = "
    .. "Buffer int[8], tile = local float[64], v = a float4, s = a struct,\n"
    .. "      a = -0.5, b = 1e-20, c = -7, d = 9223372036854775807 ...\n"
    .. "    launched at crash.lua:6\n")
end)

t.test("launches that have ended are not told, like ones count", function()
  local err = crash([[
    local fine = cl.kernel "kernel void fine(global float *x) { x[0] = 0; }"
    local spin = cl.kernel "kernel void spin(volatile global float *x, int n)\
      { while (x[0] == 0); }"
    local x = cl.buffer("float", 16)
    fine:range(1)(x)
    x:read()
    for i = 1, 3 do
      spin:range(1)(x, i)
    end
    fine:range(1)(x)
    os.execute "kill -ABRT $PPID"
    cl.sleep(60)]], 6)
  has(err, ended "SIGABRT (abort)" .. [[
  under way: kernel spin over 1, 3 times
    with x = Buffer float[16], n = 3
    launched at crash.lua:8
  then: kernel fine over 1
    with x = Buffer float[16]
    launched at crash.lua:10
  for]])
end)

t.test("a launch of the library is told by the user's line", function()
  local err = crash([[
    local A = matrix.random(8, 8)
    local C, ev = gemm(A, A, {kernel = "naive"})
    ev:wait()
    os.execute "kill -SEGV $PPID"
    cl.sleep(60)]], 11)
  has(err, "no kernel was under way; the newest was gemm over ",
    "\n    launched at crash.lua:2\n")
end)

t.test("without a kernel under way the newest launch is told", function()
  local err = crash([[
    local k = cl.kernel "kernel void f(global float *x) { x[0] = 1; }"
    local x = cl.buffer("float", 1)
    k:range(1)(x):wait()
    os.execute "kill -ABRT $PPID"
    cl.sleep(60)]], 6)
  has(err, ended "SIGABRT (abort)" .. [[
  no kernel was under way; the newest was f over 1
    with x = Buffer float[1]
    launched at crash.lua:3
]])
end)

t.test("other faults than stores; a script from the standard input", function()
  local err = crash([[
    cl.kernel "kernel void trap() { __builtin_trap(); }":range(1)():wait()]],
    4)
  has(err, ended "SIGILL (an illegal instruction)",
    "kernel trap over 1\n    launched at crash.lua:1\n"
    .. "  for stores")
  err = crash('cl.kernel "kernel void trap() { __builtin_trap(); }":range(1)()'
    .. ":wait()", 4, "$clshell - <crash.lua")
  has(err, "launched at stdin:1\n", "see check(launch, ...)\n")
end)

t.test("what was printed before the launch is there", function()
  crash(([[
    print "before"
    cl.kernel "%s":range(1)(cl.buffer("float", 1), 1):wait()]]):format(WILD),
    11, "$clshell crash.lua >out")
  t.eq(scratch.read "out", "before\n")
end)

t.test("a crash without OpenCL; a closed pipe does not change the exit code",
  function()
    scratch.create("none.lua", 'os.execute "kill -ABRT $PPID" cl.sleep(60)')
    local _, err, status = sh "ulimit -c 0; $clshell none.lua; exit $?"
    t.eq(status, 134)
    has(err, ended "SIGABRT (abort)" .. "  no kernel has been launched\n")
    _, _, status = sh("ulimit -c 0; mkfifo pipe; : <pipe & "
      .. "(exec $clshell none.lua 2>pipe); exit $?")
    t.eq(status, 134)
  end)

scratch.done()

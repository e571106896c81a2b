-- commands.lua - the commands of the prompt: %time, %save, ?name, !command.
-- Inputs are piped in where no terminal is needed.
-- SPDX-License-Identifier: MIT

local t = require "t"
local screen = require "screen"
local terminal = require "converse"

local session, has = terminal.session, terminal.has
local lacks = terminal.lacks

local slurp = t.read

t.test("%time and time", function()
  has(session "%time 6 * 7", "wall ", "processor ", "\n42\n")
  has(session "time(function(a) return a, 5 end, 4)", "wall ", "\n4\t5\n")
  has(session "%time x = 5\nx", "wall ", "\n5\n")
  lacks(session "%time 6 * 7;", "\n42\n")
  has(session "%time (function()\nreturn 9\nend)()", "wall", "\n9\n")
  has(session "%time x = = 1\n%time error 'bad'", "near '='", "bad")
  terminal.device()
  has(session [[
    b = cl.buffer("float", 1000)
    %time b:fill(1)
    %time gemm({{1}}, {{2}}, {kernel = "tiled"});]], "device ", "(1 event)",
    "(", " event")
end)

t.test("%bench measures an expression, with options", function()
  terminal.device()
  local out = session([[
    k = cl.kernel "kernel void k(global float *x) { x[0] = 1; }"
    b = cl.buffer("float", 1, 0)
    l = k:range(1)
    r = bench(function() return l(b) end, {seconds = 0.01, roof = false})
    %bench l(b) flops=2*10 bytes=4, name="mine" seconds=0.01 roof=false
    _.name, _.flop, _.bytes, _.n > 0
    %bench l(b) secs=1
    %bench k:range(1)(b) expect=b * 0 + 1 seconds=0.01 roof=false
    %bench k:range(1)(b) seconds=0.01 expect=function(x) return x.x * 0 end
    _.status, _.error]])
  has(out, "mine", "\"mine\"\t20\t4\ttrue", "unknown option 'secs'",
    "by element: within 1.0e-04 of its value", "WRONG 1 of 1 element of x: "
    .. "x[0] = 1, expected 0")
end)

t.test("host code is timed as such, with and without a device", function()
  for _, env in ipairs{"", "OCL_ICD_VENDORS=/nonexistent"} do
    for _, command in ipairs{"%bench 1 + 1", "%timeit math.sin(2) seconds=0.1",
        "%timeit (function()\nreturn 1\nend)() busy=0"} do
      local out = session(command, "", env)
      has(out, "  hot  wall") -- load decides on batches
      lacks(out, "no event timer")
    end
  end
  has(session "%timeit", "%timeit needs an expression")
end)

-- A session with a score of this file's own.
local function exercise(inputs)
  return session(inputs, "", ("COLUMNS=80 XDG_DATA_HOME=%s/data"):format(
    terminal.folder()))
end

local function narrow(text)
  t.ok(not text:find(("[^\n]"):rep(81)), text)
end

t.test("%exercise asks, checks an answer, and keeps a score", function()
  local out = exercise "%exercise"
  has(out, "  1  Local memory has 4 banks", "Type: %exercise 1 answer",
    "\n  sum        The sum of n integers by one launch of groups of 64.")
  narrow(out)
  has(exercise "%exercise 1", "Type: %exercise 1 answer")
  out = exercise "%exercise 1 5x4"
  has(out, "right: rows of 5")
  lacks(out, '"right')
  has(exercise "%exercise 15 75 %", "right: a group takes two warps")
  has(exercise "%exercise 1 4 x 4\n%exercise 3 4",
    "not 4 x 4. Bank of an element")
  has(exercise "%exercise 99 1", "n must be a number from 1 to 17; got 99")
  has(exercise "%exercise one", "no exercise \"one\"; they are 1 to 17, ")
  out = exercise "%exercise score"
  narrow(out)
  has(out:gsub(" +", " "), "\n1 RIGHT 1 of 1 2 20", "\n3 WRONG 0 of 1 1 20",
    "\n15 RIGHT", "\nsum - 0 of 10", "\n2 of 77 points")
end)

t.test("%exercise has the judge decide on kernels", function()
  t.skip_if(not require "clshell.explain.oclgrind".driver(),
    "the simulator Oclgrind is not installed")
  local out = exercise "%exercise edge"
  has(out, "kernel void neighbour(int n, ", "/edge_beyond.cl:", "y[i] = s[at "
    .. "^ 1];", "Type: %exercise submit FILE")
  narrow(out)
  has(exercise "%exercise submit", "needs a file, or the text of a kernel")
  has(exercise "%exercise submit none.cl", "none.cl: No such file")
  has(exercise "%exercise submit kernel void f() {}", "dia (diagonals)")
  terminal.device()
  has(exercise [[
%exercise submit "kernels/course/edge.cl"
%exercise submit // mine
#define ALL ( ! \
  0)
kernel void neighbour(int n, global const float *x, global float *y)
{ if (ALL)
  y[get_global_id(0)] = 0;
}
6 * 7
%exercise score]], "edge: RIGHT, 10 of 10 points", "edge: WRONG, ",
    "\n42\n", "\nedge       RIGHT    10 of 10      2  20",
    "\n12 of 77 points")
end)

t.test("%check looks at a launch and does not run it", function()
  terminal.device()
  local start = [[
    k = cl.kernel "kernel void f(global int *x) { x[get_global_id(0)] = 1; }"
    x = cl.buffer("int", 4, 0)
  ]]
  has(session(start .. "%check k:range(8)(x)\nx:read()[1]"),
    "write outside 'x': x[4]", "it has 4 elements", "\n0\n")
  has(session(start .. "%check k:range(4)(x)"), "no finding in f over 4")
  has(session(start .. '%check k:range(4, 2), cl.buffer("int", 4, 0)'),
    "no finding in f over 4, local 2")
  has(session(start .. "k:range(4), x;\n%check"),
    "no input has launched a kernel")
  has(session(start .. "l = k:range(4)\nev = l(x):wait();\n1 + 1\n%check"),
    "no finding in f over 4")
  has(session(start .. "%check k:range(4)(x) size=2 limit=100"),
    "no finding in f over 2")
  has(session(start .. "%check k:range(4), x shrink=true guard=true"),
    "no finding in f over 4", "next to Buffers")
  has(session(start .. "l = k:range(4)\nl(x):wait();\n%check size=2"),
    "no finding in f over 2")
  has(session(start .. "%check k:range(4)(x) sise=2"), "unknown option 'sise'")
  has(session "%check", "no input has launched a kernel",
    "%check k:range(n)(x, y)")
  has(session "%check 1 + 1", "must be a launch with its arguments; got 1 + 1")
  has(session "%check print(1)", "must be a launch with its arguments")
  for _, rung in ipairs{"transpose tiled", "transpose.tiled"} do
    has(session(("%%check %s shapes={3, {5, 2}} guard=true"):format(rung)),
      "check: no finding in transpose.tiled over 3 sizes", "right at 3x3; 5x2")
  end
  has(session "%check transpose", "transpose has no rung of your own")
  has(session "check(transpose)", "transpose has no rung of your own")
  has(session "%check transpose til", "no kernel 'til'")
  has(session "%check transpose tiled {5, 2} tile=8 guard=true",
    "check: no finding in transpose.tiled over 2 sizes", "right at 5x2; 5x2,")
  has(session "%check transpose tiled 7 tile=7", "tile must be one of 8, 16")
end)

t.test("%check, %access and %bench of a misspelt family name the nearest",
  function()
    has(session "%check gemmm", "check: 'gemmm' is no launch and no family",
      "did you mean %check gemm?")
    has(session "%access tranpose", "did you mean %access transpose?")
    has(session "%access zzzzz", "%access k:range(n)(x, y), or a rung")
    has(session "%bench gemmm", "bench: 'gemmm' is no launch and no family",
      "did you mean %bench gemm?")
    has(session "%timeit zzzzz", "%timeit k:range(n)(x, y), or a function")
    has(session "local f = os.clock\n%timeit f", "95%")
  end)

t.test("%access tells what a launch asks of memory", function()
  terminal.device()
  local plugin, missing = require "clshell.explain.trace".plugin()
  t.skip_if(not plugin, missing)
  local start = [[
    k = cl.kernel("kernel void f(global int *x, int n) {"
      .. "x[n * get_global_id(0)] = 1; }")
    x = cl.buffer("int", 128, 0)
  ]]
  has(session(start .. '%access k:range(32, 32)(x, 3) as="MI300", warp=32\n'
    .. "x:read()[1]"), "f over 32, local 32; warps of 32 lanes, sectors",
    "store x[n * get_glob", "3 sectors; side by side 1", "\n0\n")
  has(session(start .. "l = k:range(64, 32)\nl(x, 1):wait();\n%access"),
    "f over 64, local 32")
  has(session(start .. "%access k:range(32)"), "f takes 2 values; got 0")
  has(session(start .. "%access x"), "launch must be a Launch; got a Buffer")
  has(session(start .. "%access k:range(32)(x, 3) wrap=2"),
    "unknown option 'wrap'")
  has(session(start .. '%access k:range(32, 32), cl.buffer("int", 96), 3'),
    "f over 32, local 32")
  has(session "%access gemm naive_global as=\"M1\"", "M1", "load a[k]",
    "gemm.naive_global for 64x64x64 float, over 64x64")
  has(session "%access spmv naive", "spmv.naive for DIA 4096x4096")
  has(session "%access spmv csr_scalar {4, 5}", "spmv.csr_scalar for CSR 20x")
  has(session "%access gemm.tiled {16, 8, 4} tile=4 warp=16",
    "for 16x8x4 float, over 8x16, local 4x4; warps of 16 lanes")
  has(session "%access conv2d", ", which calls take here, for 64x64x5x5 float")
  has(session "%access gemm.naive 16 tile=4", "unknown option 'tile'")
  for _, call in ipairs{"transpose(A)", "transpose.plan(A)"} do
    has(session("A = matrix.ones(12, 20)\n%access " .. call),
      "access: transpose over", "load ")
  end
  has(session "%access", "no input has launched a kernel",
    "%access k:range(n)(x, y), or a rung: %access gemm tiled")
end)

t.test("%history lists inputs by number, newest last", function()
  local inputs = "1\nfor i = 1, 2 do\n  x = i\nend\nx + 1\n"
  has(session(inputs .. "%history"), "   1  1\n   2  for i = 1, 2 do\n        "
    .. "x = i\n      end\n   3  x + 1\n")
  t.eq(session(inputs .. "%history 1"), "1\n3\n   3  x + 1\n")
  t.eq(session(inputs .. "%history x ="), "1\n3\n   2  for i = 1, 2 do\n"
    .. "        x = i\n      end\n")
  has(session "%history", "no inputs so far")
  has(session "1\n%history 5 y(", "no input has 'y('")
end)

t.test("%paste runs lines as one input", function()
  t.eq(session("%paste\nlocal q = 4\n\nlocal function f() return q end\n"
    .. "--\nf(), _"), "4\tnil\n")
  t.eq(session "%paste\n6 * 7\n--\n_ + 1", "42\n43\n")
  t.eq(session "%paste\ncl> x = 7\ncl> x + 1\n8\n  -- \nx", "8\n7\n")
  t.eq(session "%paste\n\n--\n1", "1\n")
  has(session "%paste\ny = 1\nx = = 2\n--\n3", "input:2:2: ",
    "near '='", "\n3\n")
  t.eq(session "%paste\n5", "5\n", "the end of the input ends it")
  local s <close> = screen.ready{options = ""}
  s:send "%paste\r"
  s:wait "ends them."
  s:send "local function f(x)\r\r  return x + 1\rend\rprint(f(41))\r"
  s:keys "C-d"
  s:wait "\n42\n"
  s:wait_end "\ncl>"
  s:run("f(1)", "\n2\n")
  s:keys "C-l" -- the window shows no earlier %paste
  s:wait_screen "cl>"
  s:send "%paste\r"
  s:wait "ends them."
  s:send "error 'never'\r"
  s:keys "C-c"
  s:wait_end "\ncl>"
  s:run("1 + 5", "\n6\n")
end)

t.test("%set precision, pager and keymap", function()
  t.eq(session("%set precision=3\n1/3, 2.0, 1e100, 5\n{2/3}\n"
    .. "cl.array('float', 2, 1/3)\n%set precision auto\n2/3"),
    "0.333\t2.0\t1e+100\t5\n{0.667}\nArray  float 2  8 B  on the host\n"
    .. "  0.333  0.333\n  min 0.333  mean 0.333  max 0.333\n"
    .. "0.6666666666666666\n")
  for _, bad in ipairs{"0", "18", "x", "1.5"} do
    has(session("%set precision " .. bad), "no value of precision '" .. bad,
      "1 to 17")
  end
  has(session "%set keymap=v", "no value of keymap 'v'", "emacs, vi")
  local s <close> = screen.ready{height = 14,
    env = "PAGER='sed s/^/one:/'"}
  s:run("?cl.buffer", "one:")
  s:run "%set pager sed s/^/two:/"
  s:run("?cl.buffer", "two:")
  s:run "%set pager=off"
  s:keys "C-l"
  s:run("?cl.buffer", "Example")
  t.ok(not s:text():find(":cl.buffer", 1, true))
  s:run "%set keymap=vi"
  s:send "xyz"
  s:keys("Escape", "0", "x", "i")
  s:send "print(70 .. 07) --\r"
  s:wait "\n707\n"
  s:wait_end "\ncl>"
  s:run "%set keymap=emacs"
  s:send "print(80 .. 0"
  s:keys("C-e")
  s:send "8)\r"
  s:wait "\n808\n"
end)

t.test("%run: globals stay, arguments, os.exit ends the file", function()
  local path = terminal.file("run me.lua", [[
    local here = 1
    got = {arg[0], arg[1], arg[2], ...}
    mine = require "beside"
    if got[2] == "leave" then os.exit(7) end
    if got[2] == "end" then os.exit(true) end
    return #arg]])
  terminal.file("beside.lua", "return 'found'")
  local out = session(([[
    arg = "kept"
    %%run '%s' 5 "a b"
    got[3], got[5], got[6] == nil, mine, here, arg
    %%run '%s' leave
    %%run '%s' end
    package.path:find(%q, 1, true)
    %%run nothing.lua
    %%run]]):format(path, path, path, terminal.folder()))
  has(out, "2\n\"a b\"\t\"a b\"\ttrue\t\"found\"\tnil\t\"kept\"\n",
    "run me.lua ended with "
    .. "exit code 7\nnil\n", "cannot open nothing.lua", "which file?")
end)

t.test("%reload: the module stays the same table", function()
  local path = terminal.file("fresh.lua", "return {a = 1, b = 1}")
  local out = session(([[
    package.path = "%s/?.lua"
    m = require "fresh"
    function write(s) local f <close> = io.open(%q, "w") f:write(s) end
    write "return {a = 2, c = 3}"
    %%reload fresh
    m.a, m.b, m.c, require "fresh" == m
    write "syntax error"
    %%reload fresh
    m.a, require "fresh" == m]]):format(terminal.folder(), path))
  has(out, "2\tnil\t3\ttrue\n", "syntax error", "2\ttrue\n")
  t.eq(session("%reload clshell.stats\n#gemm.kernels() > 3\n%reload gemm\n"
    .. "#gemm.kernels() > 3, gemm == require 'clshell.gemm'"),
    "true\ntrue\ttrue\n")
  has(session "%reload nothing", "no module 'nothing'")
end)

t.test("%cd, !command and what !cd does not", function()
  local path = terminal.folder()
  has(session(("%%cd %s\nrequire 'clshell.system'.cwd()\n!pwd\n"
    .. "%%cd nowhere\n!exit 3\n!cd /"):format(path)),
    ("%q\n%q\n%s"):format(path, path, path), "nowhere",
    "exit code 3", "%cd changes")
end)

t.test("%edit puts its text at the prompt, to be changed or entered",
  function()
    local editor = terminal.file("editor.sh", "#!/bin/sh\n"
      .. "sed -i 's/one/two/' \"$1\"\n")
    os.execute("chmod +x " .. editor)
    terminal.run([[
      expect cl>
      send print("one" .. 1)\r
      expect one1
      expect cl>
      send %edit\r
      expect print("two" .. 1)
      send  print(2 .. "more")\r
      expect two1
      expect 2more
      expect cl>
      send \x04
      exit 0]], "-q", "VISUAL=" .. editor)
  end)

t.test("%who lists the session's own variables", function()
  local out = session "x = 5\ns = 'text'\nfunction f() end\n{1}\n%who"
  has(out, "f  function  function (input:3:1)\n"
    .. "s  string    \"text\"\nx  number    5\n")
  lacks(out, "print")
  lacks(out, "gemm")
end)

t.test("%who tells the type and the shape of an Expression", function()
  local out = session "h = cl.array('int', 3)\ne = 2 * h\n%who"
  t.ok(out:find("e  table     Expression int[3]\n", 1, true), out)
end)

t.test("%who shows any name and value, cut to the window", function()
  local out = session([[
    _G["a\27[31m\nb"] = "v\27[2J"
    _G[("w"):rep(200)] = 1
    _G["日本"] = 2
    %who]], "", "LC_ALL=C.UTF-8")
  has(out, "a\\27[31m\\nb  ", '"v\\27[2J"', "日本  ", "w…  number    1")
  lacks(out, "\27")
  for line in out:gmatch "[^\n]+" do
    t.ok(utf8.len(line) <= 80, line)
  end
end)

t.test("%device lists the devices, and takes one", function()
  terminal.device()
  has(session "%device", "* device ", "GiB")
  has(session "%device 1\ncl.device().index", "device 1: ", "\n1\n")
  has(session "%device no such one", "no device matches 'no such one'")
  local line = "%* device %d+: (.-), (.-), %d+ unit" -- --device takes both
  for _, name in ipairs{session("%device"):match(line)} do
    t.ok(not session("%device " .. name):find("no device matches", 1, true),
      name)
  end
end)

t.test("%set, %commands and an unknown command", function()
  has(session "%set", "color=auto", "locals=keep")
  has(session "%set locals", "locals=keep")
  has(session "%set locals=all", "no value of locals 'all'", "keep, lua")
  has(session "%set colour=off", "did you mean 'color'?")
  t.eq(session "%set color=off\n%set color", "color=never  16 colours for "
    .. "results and messages (auto, always, never)\n")
  has(session "%commands", "%bench expr", "%save", "%tb", "%device")
  has(session "?%bench", "%bench expr", "flop=2*n^3")
  has(session "%tiem 1", "no command %tiem; did you mean %time?")
  has(session "%", "%time expr")
end)

t.test("?name, name? and ??word", function()
  local page = session "?gemm.tiled"
  has(page, "tiles in local memory")
  t.eq(session "gemm.tiled?", page)
  t.eq(session "gemm.tiled??", page)
  has(session "??bank conflicts", "tiled_padded")
  t.eq(session "?", session "help")
end)

t.test("an object that is called itself has a remedy, and ?name its own line",
  function()
    terminal.device()
    local out = session([[
      k = cl.kernel "kernel void k(global int *x) { x[0] = 1; }"
      k(1)
      t = {k}
      t[1](1)
      p = cl.build "kernel void k(global int *x) { x[0] = 1; }"
      p(1)
      ?k]])
    has(out, "k: a Kernel is called over a range of work-items: k:range(n)(",
      "a Program has kernels to call: prog.k:range(n)(", "k: kernel k(",
      "Kernel:range(")
  end)

t.test("%tb tells all of the newest error", function()
  has(session "%tb\nfunction f() error 'deep' end\nf()\n%tb",
    "nothing has failed", "traceback", "input:2:1, in f")
end)

t.test("%edit writes its text to a file that nobody else can make", function()
  local editor = terminal.file("editor.sh", "#!/bin/sh\nls -l \"$1\"\n")
  os.execute("chmod +x " .. editor)
  local folder = terminal.folder()
  local env = ("VISUAL=%s TMPDIR=%s"):format(editor, folder)
  local path = session("'one'\n%edit", "", env):match(
    "\n%-rw%-%-%-%-%-%-[^\n]* (%S+%.lua)\n")
  t.ok(path and path:sub(1, #folder) == folder, path)
  t.eq(io.open(path), nil)
  has(session("%edit", "", "TMPDIR=/nonexistent"),
    "cannot make a temporary file: /nonexistent")
end)

t.test("%edit: the newest input, a function, a file", function()
  local editor = terminal.file("editor.sh", "#!/bin/sh\n"
    .. "sed -i 's/one/two/' \"$1\"\necho \"edited $1\"\n")
  os.execute("chmod +x " .. editor)
  local env = "VISUAL=" .. editor
  has(session("'one'\n%edit", "", env), "one", "edited ", "two")
  has(session("function f() return 'one' end\nx = 1\n%edit f\nf()", "", env),
    "two")
  local path = terminal.file("edited.lua", "-- one")
  session("%edit " .. path, "", env)
  t.eq(slurp(path), "-- two")
  has(session("%edit print", "", env), "C code")
  has(session("%edit", "", "VISUAL=false"), "the editor failed: false")
end)

t.test("%save writes a script that runs; failed inputs are comments",
  function()
    local path = terminal.folder() .. "/saved.lua"
    local inputs = ([[
      local n = 3
      n * 2
      _ + 1
      x = = 1
      function add(a, b) return a + b end
      add(n, 4)
      error("not again")
      local f <close> = setmetatable({}, {__close = function() end})
      "silent";
      for i = 1, 2 do
        print("loop", i)
      end
      if n then return n end
      %%time n + 1
      %%cd %s
      (print)("called") -- a remark
      !echo shell
      n, nil
      %%save %s]]):format(terminal.folder(), path)
    local out = session(inputs)
    has(out, "wrote 14 inputs to " .. path .. " (2 that failed left as comm"
      .. "ents)")
    local script = slurp(path)
    for _, line in ipairs{"x = = 1", "error%(\"not again\"%)",
        "!echo shell"} do
      t.ok(script:find("\n%-%- +" .. line .. "\n"), script)
    end
    t.ok(script:find("\nn = 3\n", 1, true), script) -- no blanks for `local`
    local again = terminal.capture(terminal.build .. "/clshell " .. path
      .. " 2>&1")
    -- what was printed, in the script as in the session
    local want = out:gsub("input:[^\n]*\n", ""):gsub(" +%d* | [^\n]*\n", "")
      :gsub("wrote[^\n]*\n", ""):gsub("shell\n", "")
      :gsub("wall [^\n]*", "wall")
    t.eq(again:gsub("wall [^\n]*", "wall"), want)
    has(session("%save " .. path), "is there already", "%save -f")
    has(session "%save /nonexistent/x.lua", "%save: /nonexistent/x.lua")
    has(session("1\n%save -f " .. path), "wrote 1 input to")
    has(slurp(path), "show(1)")
  end)

terminal.clean()
t.done()

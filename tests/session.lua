-- session.lua - the session behind the prompt: what is printed and kept, the
-- commands, the start-up. Inputs are piped in where no terminal is needed.
-- SPDX-License-Identifier: MIT

local t = require "t"
local terminal = require "converse"

-- What a session that is given `inputs` prints, errors included.
local function session(inputs, options, env)
  local path = terminal.file("inputs", inputs)
  return terminal.capture(("XDG_CONFIG_HOME=%s/config %s %s/clshell -i %s "
    .. "<%s 2>&1"):format(terminal.folder(), env or "", terminal.build,
    options or "", path))
end

local function slurp(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local function has(text, ...)
  for _, part in ipairs{...} do
    t.ok(text:find(part, 1, true), ("no %q in:\n%s"):format(part, text))
  end
end

local function lacks(text, part)
  t.ok(not text:find(part, 1, true), ("%q in:\n%s"):format(part, text))
end

t.test("banner, expressions, statements, leaving", function()
  terminal.run [[
    expect clshell
    expect Lua 5.4
    expect ?help
    expect Ctrl-D
    expect cl>
    send 6 * 7\r
    expect 42
    expect cl>
    send x = 5\r
    expect cl>
    send =x + 1, nil, "s"\r
    expect 6	nil	s
    expect cl>
    send \r
    expect cl>
    send -- only a remark\r
    expect cl>
    send \x04
    exit 0]]
  t.eq(session "1 + 1", "2\n", "a prompt only on a terminal")
end)

t.test("exit, quit and help do nothing in Lua: here they work", function()
  terminal.run([[
    expect cl>
    refute Ctrl-D
    send exit\r
    exit 0]], "-q")
  t.eq(session "1\nquit\n2", "1\n")
  t.eq(session "1\nquit();\n2", "1\n")
  has(session "help", "Modules and functions", "gemm")
  t.eq(session "exit = 3\nexit\nquit = 4\nquit\nhelp = 5\nhelp", "3\n4\n5\n")
end)

t.test("an expression prints itself, ; silences", function()
  t.eq(session "1 + 1;\n2 + 2 ; -- said\n'a;'\n3", "a;\n3\n")
  t.eq(session "f = function() return 5, 6 end\nf()\nf();\nx = 7;\nx",
    "5\t6\n7\n")
  t.eq(session "=1 + 1\n=(nil == nil);\nreturn 8", "2\n8\n")
  t.eq(session "n = 0\nfunction f() n = n + 1 error 'once' end\nf()\nn",
    session "n = 0\nfunction f() n = n + 1 error 'once' end\nf()\n1",
    "never run twice")
end)

t.test("inputs of several lines, also in a pipe", function()
  t.eq(session "for i = 1, 2 do\nprint(i)\nend\n1 +\n2\n({\n3})[1]",
    "1\n2\n3\n3\n")
  has(session "if x then", "<eof>")
end)

t.test("_ and _1 to _9 are the newest results", function()
  t.eq(session "6 * 7\n_ + 1\n_1\n_, _1, _2", "42\n43\n42\n42\t43\t42\n")
  t.eq(session "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n_9, _", "1\n2\n3\n4\n5\n6\n7\n"
    .. "8\n9\n10\n1\t10\n")
  t.eq(session "5;\n_", "5\n", "silent ones as well")
  t.eq(session "1\nnil\n_", "1\nnil\n1\n", "nil is no result")
  t.eq(session "1\n_ = 'mine'\n2\n_", "1\n2\nmine\n", "the user may assign _")
  t.eq(session "1\n_ = 'mine'\n_ = nil\n2\n_", "1\n2\n2\n")
  t.eq(session "1\nfor _, v in ipairs{3} do print(_, v) end\n_",
    "1\n1\t3\n1\n")
  t.eq(session "7\nlocal _, b = 8, 9\nb + _", "7\n16\n",
    "a local _ is thrown away")
end)

t.test("results do not pin device memory", function()
  terminal.device()
  local used = "collectgarbage() collectgarbage() "
    .. "print(cl.context().used)\n"
  local out = session("b = cl.buffer('float', 1000, 1);\nb;\n_ == b\n"
    .. "_1 == b\nb = nil\n" .. used .. "_2\n_1")
  has(out, "true\n", "\n0\n", "_2 is gone", "nil\n", "Buffer")
  has(session("b = cl.buffer('float', 1000, 1)\nb;\n%time #_"), "1000\n")
  out = session("t = {deep = {cl.buffer('float', 1000, 1)}};\nt;\n_ == t\n"
    .. "t = nil\n" .. used .. "_1 == nil")
  has(out, "true\n0\n", "_1 is gone", "true")
  out = session("local b = cl.buffer('float', 1000, 1)\nf = function() "
    .. "return b end\nf;\nf, b = nil\n" .. used)
  t.eq(out, "0\n")
  has(session "{'here'};\ncollectgarbage();\n_1[1]", "here\n")
end)

t.test("local vanishes between lines: here top-level locals stay", function()
  t.eq(session "local x = 5\nx", "5\n")
  t.eq(session("local function f(n) return n > 0 and n + f(n - 1) or 0 end\n"
    .. "f(4)"), "10\n")
  t.eq(session "local x <const>, y = 1, 2\nx + y", "3\n")
  t.eq(session "x = 3\nlocal x\nx", "nil\n")
  t.eq(session "x = 3\ndo local x = 4 print(x) end\nx", "4\n3\n")
  t.eq(session("local t = setmetatable({}, {__close = function() print 'shut' "
    .. "end})\ndo local u <close> = t end\nlocal v <close> = t\nv"), "shut\n"
    .. "shut\nnil\n")
  t.eq(session("local print = function(...) return print('>', ...) end\n"
    .. "print(1)"), ">\t1\n")
  t.eq(session "%set locals=lua\nlocal x = 5\nx", "nil\n")
end)

t.test("the note on locals comes once, on a terminal", function()
  terminal.run([[
    expect cl>
    send local x = 5\r
    expect top-level `local` is kept
    expect %set locals=lua
    expect cl>
    send local y = x\r
    expect cl>
    refute note
    send y\r
    expect 5
    expect cl>
    send \x04
    exit 0]])
end)

t.test("pasted script blocks keep their locals", function()
  terminal.run([[
    expect cl>
    send \e[200~local a = 20\rlocal function f()\r\treturn a + 1\rend\e[201~
    expect end
    send \r
    expect cl>
    send f()\r
    expect 21
    expect cl>
    send \x04
    exit 0]], "-q")
end)

t.test("a pasted script may begin with #!", function()
  t.eq(session "#!/usr/bin/env clshell\nlocal x = 5\nx", "5\n")
end)

t.test("errors do not end the session", function()
  has(session [[
    error("boom")
    x = = 1
    cl.error("bad", {hint = "like this"})
    error({})
    print("on")
    error()
    6 * 7]], "input:1:1: boom", "near '='", "input:3:1: bad", "like this",
    "error object is a table value", "on\n", "42\n")
  has(session [[
    setmetatable({}, {__tostring = function() error("no name") end})
    print "on"]], "no name", "on\n")
end)

t.test("names of Lua's library can be the user's", function()
  has(session [[
    type, table, next, string, error = "float", {}, 3, nil, "none"
    require, package, setmetatable, pairs, ipairs, io = nil
    local x = {1}
    x, _
    _ + 1
    x.y.z
    %tb
    %who
    %time 3
    type]], "{1}\tnil\n", "field 'y'", "traceback", "wall ", "float\n")
end)

t.test("-i after a script that failed: its globals, err and %tb", function()
  local path = terminal.file("fails.lua", [[
    made = 'before'
    function inner() error 'failed' end
    local function outer() inner() end
    outer()]])
  terminal.run([[
    expect failed
    expect cl>
    send made\r
    expect before
    expect cl>
    send err\r
    expect fails.lua:2: failed
    expect cl>
    send %tb\r
    expect failed
    expect outer
    expect cl>
    send \x04
    exit 0]], "-qi " .. path)
  t.eq(session("err == nil, made", "-e 'made = 1'"), "true\t1\n")
  has(session("type(err.name)", "-e 'cl.error \"bad\"'"), "bad", "nil")
  has(session("made", "-e 'made = 3 x = = 1'"), "near '='", "nil\n")
end)

t.test("%time and time", function()
  has(session "%time 6 * 7", "wall ", "processor ", "\n42\n")
  has(session "time(function(a) return a, 5 end, 4)", "wall ", "\n4\t5\n")
  has(session "%time x = 5\nx", "wall ", "\n5\n")
  lacks(session "%time 6 * 7;", "42")
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
    %bench l(b) secs=1]])
  has(out, "mine", "mine\t20\t4\ttrue", "unknown option 'secs'")
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
  has(out, "2\na b\ta b\ttrue\tfound\tnil\tkept\n", "run me.lua ended with "
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
end)

t.test("%cd, !command and what !cd does not", function()
  local path = terminal.folder()
  has(session(("%%cd %s\ncl.cwd()\n!pwd\n%%cd nowhere\n!exit 3\n!cd /")
    :format(path)), path .. "\n" .. path .. "\n" .. path, "nowhere",
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
  has(out, "f  function  input:3:1\ns  string    \"text\"\nx  number    5\n")
  lacks(out, "print")
  lacks(out, "gemm")
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

t.test("%tb tells all of the newest error", function()
  has(session "%tb\nfunction f() error 'deep' end\nf()\n%tb",
    "nothing has failed", "traceback", "function of line 1")
end)

t.test("%edit: the newest input, a function, a file", function()
  local editor = terminal.file("editor.sh", "#!/bin/sh\n"
    .. "sed -i 's/one/two/' \"$1\"\necho \"edited $1\"\n")
  os.execute("chmod +x " .. editor)
  local env = "VISUAL=" .. editor
  has(session("'one'\n%edit", "", env), "one\n", "edited ", "two\n")
  has(session("function f() return 'one' end\nx = 1\n%edit f\nf()", "", env),
    "two\n")
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
    local again = terminal.capture(terminal.build .. "/clshell " .. path
      .. " 2>&1")
    -- what was printed, in the script as in the session
    local want = out:gsub("input:[^\n]*\n", ""):gsub(" +%d* | [^\n]*\n", "")
      :gsub("wrote[^\n]*\n", ""):gsub("shell\n", "")
      :gsub("wall [^\n]*", "wall")
    t.eq(again:gsub("wall [^\n]*", "wall"), want)
    has(session("%save " .. path), "is there already", "%save -f")
    has(session("1\n%save -f " .. path), "wrote 1 input to")
    has(slurp(path), "print(1)")
  end)

t.test("slow to start: nothing is loaded before the prompt", function()
  local out = session [[
    for name, module in pairs(package.loaded) do
      if name:find "^clshell" and next(module) ~= nil then
        io.write(name, " ")
      end
    end]]
  local allowed = {clshell = true, ["clshell.later"] = true,
    ["clshell.excerpt"] = true, ["clshell.prompt"] = true,
    ["clshell.prompt.edit"] = true,
    ["clshell.failure"] = true} -- the last is C's
  for name in out:gmatch("%S+") do
    t.ok(allowed[name], name .. " is loaded before the first input")
  end
  -- no driver is mapped, but for one that the loader itself links
  local maps = session [[
    local maps <close> = assert(io.open "/proc/self/maps")
    print(maps:read "a")]]
  lacks(maps, "pocl")
  lacks(maps, "nvidia")
end)

t.test("init.lua runs at the prompt only; -n and errors", function()
  os.execute("mkdir -p " .. terminal.folder() .. "/config/clshell")
  local path = terminal.file("config/clshell/init.lua",
    "mine = 'from init'\nlocal x = 5\n")
  t.eq(session "mine, x", "from init\tnil\n")
  t.eq(session("mine", "-n"), "nil\n")
  t.eq(session("mine", "-e 'print(mine)'"), "nil\nfrom init\n")
  local env = ("XDG_CONFIG_HOME=%s/config "):format(terminal.folder())
  t.eq(terminal.capture(env .. terminal.build .. "/clshell -e 'print(mine)'"),
    "nil\n", "not in scripts")
  terminal.file("config/clshell/init.lua", "mine = 1\nerror 'no good'")
  has(session "mine + 1", "init.lua:2: no good", "\n2\n")
  terminal.file("config/clshell/init.lua", "mine = = 1")
  has(session "1 + 1", "init.lua:1:", "\n2\n")
  os.remove(path)
end)

t.test("no OpenCL platform: a plain sentence, and the shell works", function()
  t.nodevices()
  terminal.run([[
    expect No OpenCL driver is installed. Lua works
    expect sudo apt install pocl-opencl-icd
    expect clshell --doctor
    expect cl>
    send 2^20 // 1024\r
    expect 1024.0
    expect cl>
    send cl.device()\r
    expect no OpenCL device
    expect cl>
    refute -1001
    send 6 * 7\r
    expect 42
    expect cl>
    send \x04
    exit 0]], "", "OCL_ICD_VENDORS=/nonexistent")
end)

t.test("device question asked in scripts: a rule, told once", function()
  terminal.device()
  terminal.run([[
    expect cl>
    send cl.device().index >= 1\r
    expect device
    expect (
    expect true
    expect cl>
    send cl.device().index >= 1\r
    expect true
    refute device 1
    expect cl>
    send \x04
    exit 0]])
  local first = terminal.capture(terminal.build
    .. "/clshell -p 'cl.devices()[1].type'"):match("%a+")
  terminal.run(([[
    expect cl>
    send #cl.context().device.name > 0\r
    expect (CLSHELL_DEVICE is %s)
    expect true
    expect cl>
    send %%device\r
    expect * device
    expect cl>
    send \x04
    exit 0]]):format(first), "", "CLSHELL_DEVICE=" .. first)
  t.eq(terminal.capture(terminal.build
    .. "/clshell -e 'print(#cl.device().name > 0)' 2>&1"), "true\n")
  t.eq(session "#cl.device().name > 0", "true\n")
end)

terminal.clean()
t.done()

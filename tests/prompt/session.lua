-- session.lua - the session behind the prompt: what is printed and kept, the
-- commands, the start-up. Inputs are piped in where no terminal is needed.
-- SPDX-License-Identifier: MIT

local t = require "t"
local screen = require "screen"
local terminal = require "converse"

t.keeps("Device")

local session, has = terminal.session, terminal.has
local lacks = terminal.lacks

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
    expect 6	nil	"s"
    expect cl>
    send \r
    expect cl>
    send -- only a remark\r
    expect cl>
    send \x04
    exit 0]]
  t.eq(session "1 + 1", "2\n", "a prompt only on a terminal")
end)

t.test("a build that takes its time is told, on a terminal alone", function()
  terminal.device()
  local input = ([[k = cl.kernel("kernel void f(global float *x) { float s = ]]
    .. [[*x;" .. ("s = fma(s, s, %d.f);"):rep(8000) .. "*x = s; }")]])
  terminal.run(([[
    expect cl>
    send %s\r
    expect building a program ...
    expect cl>
    send k.name .. 1\r
    expect f1
    expect cl>
    send \x04
    exit 0]]):format(input:format(os.time())))
  lacks(session(input:format(os.time() + 1)), "building")
  local script = terminal.file("slow.lua", input:format(os.time() + 2)
    .. "\nprint(k.name .. 2)")
  terminal.run([[
    expect building a program ...
    expect f2
    exit 0]], script)
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
  t.eq(session "1 + 1;\n2 + 2 ; -- said\n'a;'\n3", '"a;"\n3\n')
  t.eq(session "f = function() return 5, 6 end\nf()\nf();\nx = 7;\nx",
    "5\t6\n7\n")
  t.eq(session "=1 + 1\n=(nil == nil);\nreturn 8", "2\n8\n")
  t.eq(session("x = 1; x\ny = x + 1; y;\nx = 3; math.max(x, y)\nx = 1; x +"
    .. "\n2\nlocal z = 4; z, z"), "1\n3\n3\n4\t4\n")
  t.eq(session "for i = 1, 2 do local x = i end z = 5; print(z)\nx = 1; x = 2",
    "5\n")
  t.eq(session "n = 0\nfunction f() n = n + 1 error 'once' end\nf()\nn",
    session "n = 0\nfunction f() n = n + 1 error 'once' end\nf()\n1",
    "never run twice")
end)

t.test("habits of IPython and of a system's shell", function()
  local folder = terminal.folder()
  has(session(("cd %s\npwd\ncd ..\ncd -\nls -d .\n%%hist\nls = 5\nls\ncd x.y")
    :format(folder)), ('"%s"\n"%s"\n'):format(folder, folder), "\n.\n",
    "   1  cd " .. folder, "\n5\n", "%cd: x.y: No such file")
  has(session "%cd -", "no %cd has left a folder so far")
  for input, words in pairs{["print x"] = "a call has brackets: print(x)",
      ["x += 1"] = "x = x + 1", ["import os"] = "require", ["a != b"] = "~= b",
      ["def f(x):"] = "function f(x) ... end", ["git status"] = "!git status",
      ["while x:"] = "while x > 0 do", ["len(x)"] = "#x",
      ["x = 'a' ]] y"] = "near", ["x = [[a[b[0]];]]"] = "[=[ ... ]=]"} do
    has(session(input), words)
  end
  terminal.run [[
    expect cl>
    send resutls\r
    expect no variable is called 'resutls'; did you mean 'results'?
    expect cl>
    send x = {}; x[0]\r
    expect a list of Lua begins at 1: x[1]
    expect cl>
    send nil\r
    expect nil
    settle
    refute note:
    expect cl>
    send \x04
    exit 0]]
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
  t.eq(session "1\n_ = 'mine'\n2\n_", "1\n2\n\"mine\"\n",
    "the user may assign _")
  t.eq(session "1\n_ = 'mine'\n_ = nil\n2\n_", "1\n2\n2\n")
  t.eq(session "1\nfor _, v in ipairs{3} do print(_, v) end\n_",
    "1\n1\t3\n1\n")
  t.eq(session "7\nlocal _, b = 8, 9\nb + _", "7\n16\n",
    "a local _ is thrown away")
end)

t.test("messages and commands break lines between words", function()
  local words = "a message of several reasonably long words that goes on and "
    .. "on beyond every window"
  for _, width in ipairs{40, 80, 120} do
    local s <close> = screen.ready{width = width, height = 100,
      options = ""}
    s:run(("error(%q)"):format(words), "input:1:1: a")
    s:run("%commands", "?%name a")
    s:run("%set", "top-level")
    s:run("?gemm.tiled", "Example")
    s:run "local x = 1"
    local seen = s:text(true):gsub("\n *", " ")
    local _, n = seen:gsub(words, "")
    t.ok(n >= 1, s:text(true))
    has(seen, "top-level locals: kept until you quit",
      "command of the system.", "test each load and read zero, or pad the",
      "is kept until you quit")
  end
end)

t.test("an event beside a result is one line", function()
  terminal.device()
  local out = session("A = matrix.ones(2)\ngemm(A, A)\n"
    .. "select(2, gemm(A, A)):wait()")
  t.ok(out:find "\nEvent %S+  complete  [%d.]+ %S+  [%d.e-]+ GFLOPS.-\n", out)
  has(out, "Buffer", "  before")
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
  if cl.device().image_support then
    has(session "cl.image{width = 4};\ncollectgarbage();\n_1",
      "_1 is gone: it was an Image;")
  end
  has(session "{'here'};\ncollectgarbage();\n_1[1]", "\"here\"\n")
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

t.test("print = 5 leaves the shell its own messages", function()
  has(session "print = 5\n%set locals\n%history\nprint", "locals=keep",
    "%set locals", "5\n")
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
    send local f <close> = nil\r
    expect note: f: local to this input, and gone after it
    expect cl>
    send \x04
    exit 0]])
end)

t.test("the text of kernels is built, as prog", function()
  terminal.device()
  local cuda = [==[
#include <stdio.h>
// one more, for each
__global__ void add(int *a, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) a[i] += 1;
}
int main() {
  add<<<4, 2>>>(a, 8);
}]==]
  terminal.run(([[
    expect cl>
    send \x1b[200~%s\x1b[201~\r
    expect prog = cl.build of this text
    expect kernel add(a: global int*
    expect launch: prog.add:range({4 * 2}, {2})(a, 8)
    expect cl>
    send a = cl.buffer("int", 8, 1)\r
    expect cl>
    send prog.add:range({4 * 2}, {2})(a, 8)\r
    expect Event
    send a:read()[8]\r
    expect 2
    expect cl>
    send kernel void one(global int *x)\r
    expect ..>
    send {\r
    expect ..>
    send *x = 1; }\r
    expect kernel one(x: global int*)
    expect cl>
    send prog.one.name\r
    expect "one"
    expect cl>
    send \x04
    exit 0]]):format(cuda:gsub("\n", "\\r")), "-n")
  local out = session([==[
__global__ void bad(int *a) {
  a[threadIdx.x] = nowhere;
}
prog
kernel = cl.kernel [[ kernel void f() {} ]] )
return kernel __global__
lcal kernel = 5
lcal k = cl.kernel [[kernel void f() {}]]
6 * 7]==])
  has(out, "input:1:2:20: error: use of undeclared identifier 'nowhere'",
    "nil\n", "input:3:1: unexpected symbol near ')'",
    "input:4:1: ", "input:5:1: ", "input:6:1: ", "42")
  t.eq(select(2, out:gsub("build error", "")), 1)
  has(session(('kernel void f(global int *a) { local int x; }\n%%save %s\n'
    .. '%%run %s'):format(terminal.folder() .. "/saved.lua",
    terminal.folder() .. "/saved.lua")), "kernel f(a: global int*)",
    "wrote 1 input")
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
    type]], "{1}\tnil\n", "field 'y'", "traceback", "wall ", "\"float\"\n")
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

t.test("slow to start: nothing is loaded before the prompt", function()
  local out = session [[
    for name, module in pairs(package.loaded) do
      if name:find "^clshell" and next(module) ~= nil then
        io.write(name, " ")
      end
    end]]
  local allowed = {clshell = true, ["clshell.arrays.method_names"] = true,
    ["clshell.base.lazy"] = true,
    ["clshell.base.file"] = true, ["clshell.base.search"] = true,
    ["clshell.errors.excerpt"] = true, ["clshell.shell.prompt"] = true,
    ["clshell.shell.prompt.edit"] = true,
    ["clshell.shell.prompt.safe_call"] = true,
    ["clshell.shell.prompt.session"] = true, ["clshell.public"] = true,
    ["clshell.ladder.families"] = true,
    ["clshell.failure"] = true, ["clshell.system"] = true} -- two in C
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
  t.eq(session "mine, x", "\"from init\"\tnil\n")
  t.eq(session("mine", "-n"), "nil\n")
  t.eq(session("mine", "-e 'print(mine)'"), "nil\n\"from init\"\n")
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
    expect (CLSHELL_DEVICE
    expect is
    expect %s)
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
t.test("a pasted listing of a host is told line by line", function()
  local out = session [[
cl_mem a = clCreateBuffer(context, CL_MEM_READ_ONLY, n, NULL, &err);
import pyopencl as cl
queue = cl.CommandQueue(context)
cudaMalloc(&x, 4);
x = cl.buffer("float" 3)
print "still here"]]
  has(out, "no Lua, but host code", "1  clCreateBuffer",
    'access = "read_only"', "1  pyopencl", "PyOpenCL: cl.CommandQueue; here: ",
    'b = cl.buffer("float", n)', "near '3'", "still here")
  out = session [==[
t = {} t.Program()
]==]
  lacks(out, "PyOpenCL")
  local s <close> = screen.ready{width = 80, height = 24}
  s:paste('import pyopencl as cl\nprg = cl.Program(c, """\n'
    .. '__kernel void f() {\n}""").build()\nprg.f(queue, (4,), None)')
  s:send "\r"
  s:wait "5  prg.name(queue, ...)"
end)

t.done()

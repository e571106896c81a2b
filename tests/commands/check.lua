-- check.lua - clshell --check: scripts and kernels compiled, nothing run; and
-- what can be known of calls without running them
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local constant_calls = require "clshell.shell.commands.constant_calls"
local quote = require("clshell.base.text").quote
local scratch = require "scratch"

t.keeps("Device")

local build, capture = t.build, t.capture
local create, dir, has = scratch.create, scratch.dir, scratch.has

-- Output, what standard error has, and the exit code of --check in `dir`.
local function check(arguments, before)
  return scratch.sh(("%s $clshell --check %s"):format(before or "", arguments))
end

local function need_device()
  t.skip_if(#cl.devices() == 0, "no OpenCL device")
end

-- The arguments of the first call in a text: values, false where unknown.
local function known(text, name)
  local call = constant_calls.find(text, {name or "f"})[1]
  local values = {}
  for i, a in ipairs(call and call.args or {}) do
    values[i] = a.known and a.value or false
  end
  return values, call
end

t.test("arguments that are written out", function()
  t.eq(known "f 'x'", {"x"})
  t.eq(known "f [[\nx]]", {"x"})
  t.eq(known "f('a' .. 1, -2 ^ 2, not nil, {1, x = {2}})",
    {"a1", -4.0, true, {1, x = {2}}})
  t.eq(known "f(x, g(), 1)", {false, false, 1})
  t.eq(known "f(('x'):rep(9))", {false})
  t.eq(known "f(a.b, {a = b})", {false, false})
  t.eq(known "f(function() return 1, 2 end, 3)", {false, 3})
  t.eq(known "f(1 + {})", {false})
  t.eq(known "f()", {})
  t.eq(known("cl.build 'x'", "cl.build"), {"x"})
  t.eq(#constant_calls.find("x.f(1) x:f(2) function f(a) end", {"f"}), 0)
  local _, call = known "local g = f"
  t.eq(call.args, nil)
  t.eq(#constant_calls.find("-- f(1)\nlocal s = 'f(2)'", {"f"}), 0)
end)

t.test("locals that are bound once to what is written out", function()
  t.eq(known "local n <const> = 2 << 3; local m = n + 1 f(m)", {17})
  t.eq(known "local n = 1\nn = 2\nf(n)", {false})
  t.eq(known "local n = 1\nlocal function g(n) f(n) end", {false})
  t.eq(known "local n = 1\nfor n = 1, 2 do f(n) end", {false})
  t.eq(known "local n, m = 1, 2 f(n)", {false})
  t.eq(known "local n = 1\na, n = 3, 4 f(n)", {false})
  t.eq(known "local n = g() f(n)", {false})
  t.eq(known "local n = 'x':rep(2) f(n)", {false})
  t.eq(known "local n = t.n f(n)", {false})
  t.eq(known "local n = 4 f{n = n, 1}", {{n = 4, 1}})
  t.eq(known "local s = [[a\n]]\nlocal function g() f(s) end", {"a\n"})
end)

t.test("fields of a table, each for itself", function()
  local _, call = known [[f{a = 1, b = x, c = {d = 2, e = y},
    function() return {1, 2} end; "last", ["k"] = 3}]]
  local fields = call.args[1].fields
  t.eq({fields.a.value, fields.b.known, fields.c.fields.d.value,
    fields.c.fields.e.known}, {1, nil, 2, nil})
  t.eq({fields[1].known, fields[2].value}, {nil, "last"})
  t.ok(fields["?"])
end)

t.test("never raises, whatever the text", function()
  local text = [[local a <const> = {1, f(2), ["x"] = 'y'} f(a, "b" .. 3)]]
  for i = 1, #text do
    constant_calls.find(text:sub(i), {"f"})
    constant_calls.find(text:sub(1, i), {"f"})
    constant_calls.find(text:sub(1, i) .. text:sub(i), {"f"})
  end
end)

t.test("Lua that does not compile", function()
  create("bad.lua", "#!/usr/bin/env clshell\nprint('ran')\nx = = 1\n")
  local out, err, code = check "bad.lua"
  t.eq({out, code}, {"", 1})
  has(err, "bad.lua:3:", "near '='")
  create("use.lua", "require 'bad'\nrequire 'no_such_module'\n")
  out, err, code = check "use.lua"
  t.eq(code, 1)
  has(err, "bad.lua:3:")
  has(out, "use.lua: Lua is fine", "use.lua:2: there is no module")
  out, err, code = check "-e 'x = 1' -p '1 +'"
  t.eq(code, 1)
  has(out, "(command line): Lua is fine")
  has(err, "(command line):1:", "<eof>")
  t.eq(select(3, check "no_such.lua"), 1)
end)

t.test("nothing runs", function()
  create("run.lua", [[
    os.execute "touch ran"
    local t = setmetatable({}, {__gc = function() os.exit(7) end})]])
  t.eq(select(3, check "run.lua"), 0)
  t.eq(select(3, check "-e 'os.execute [[touch ran]]'"), 0)
  t.eq(capture(("ls %s/ran 2>/dev/null"):format(dir)), "")
end)

t.test("kernels of a script", function()
  need_device()
  create("good.cl", "kernel void a(global float *x) { x[0] = TILE; }\n" ..
    "kernel void b(global float *x) { x[0] = 1; }\n")
  create("good.lua", [==[
local TILE <const> = 8
local k = cl.kernel [[kernel void one(global int *x) { x[0] = 1; }]]
local p = cl.build("good.cl", {defines = {TILE = TILE}, queue = nowhere})
gemm.define{name = "mine", file = "good.cl", lesson = words(),
  params = {{name = "tile", values = {4, 8}}},
  range = function(s, p) return {s.m, s.n}, {p.tile, 1} end}
for i = 1, 9 do cl.build("good.cl", {defines = {TILE = i}}) end
cl.build(text())
pcall(cl.kernel, "x")
local family = require "clshell.family"
family.new{name = "f", rungs = {{name = "r", file = "good.cl",
  params = {{name = "tile", values = {4}}}}, {name = "s", source = text()}}}
]==])
  local out, err, code = check "good.lua"
  t.eq(code, 0, out .. err)
  has(out, "good.lua:2: cl.kernel of source text compiles", "one",
    "good.lua:3: cl.build of 'good.cl' compiles: a, b",
    "good.lua:4: gemm.define 'mine' compiles: a, b",
    "good.lua:7: defines.TILE of cl.build 'good.cl': known only when it runs",
    "good.lua:8: the source of cl.build: known only",
    "good.lua:9: the use of cl.kernel as a value: known only",
    "good.lua:11: family.new 'r' compiles: a, b",
    "good.lua:12: the source of family.new 's': known only")
  t.ok(not out:find("there is no module", 1, true), out)
  t.eq((check "-q good.lua"), "")
  has((check(dir .. "/good.lua")), "compiles: a, b")
  t.eq(select(3, check "good.cl"), 1, "TILE is not defined")
end)

t.test("kernels that do not compile: the build log, and exit 1", function()
  need_device()
  create("wrong.lua", [==[

local k = cl.kernel [[
  kernel void f(global int *x) { x[0] = nowhere; }]]
cl.build "missing.cl"
spmv.define{name = "s", file = "missing.cl"}
transpose.define{name = "t", source = "kernel void g( {"}
cl.build("kernel void fine() {}")
]==])
  local out, err, code = check "wrong.lua"
  t.eq(code, 1)
  has(err, "nowhere", "wrong.lua:4", "missing.cl", "spmv.define 's'",
    "wrong.lua:6")
  has(out, "wrong.lua:7:", "compiles: fine")
end)

t.test("several files, with -D, -I and --options for kernels", function()
  need_device()
  create("one.cl", "kernel void one(global int *x) { *x = 1; }\n")
  create("wrong.cl", "kernel void wrong(global int *x) { *x = y; }\n")
  create("n.cl", "#include \"m.h\"\n"
    .. "kernel void n(global int *x) { *x = N + M; }\n")
  scratch.sh "mkdir -p inc; echo '#define M 1' > inc/m.h"
  local out, err, code = check "one.cl wrong.cl"
  t.eq(code, 1)
  has(out, "one.cl:1: it compiles: one")
  has(err, "wrong.cl:1:", "undeclared identifier 'y'")
  for _, words in ipairs{"-D N=4 -I inc n.cl one.cl",
      "n.cl one.cl -DN=4 -Iinc",
      "n.cl -D N -I inc --options '-cl-std=CL2.0 -w' one.cl",
      "--options=-cl-mad-enable -DN=1 n.cl -I inc one.cl -cl-std=CL2.0"} do
    out, err, code = check(words)
    t.eq({err, code}, {"", 0}, words)
    has(out, "n.cl:1: it compiles: n", "one.cl:1: it compiles: one")
  end
  t.eq(select(3, check "n.cl -I inc"), 1)
  err, code = select(2, check "one.cl --option x")
  t.eq(code, 2)
  has(err, "takes -D, -I and --options", "'--option'")
  t.eq(select(3, check "one.cl -D"), 2)
  err, code = select(2, scratch.sh "$clshell -D N=1 one.cl")
  t.eq(code, 2)
  has(err, "go with --check")
end)

t.test("the rungs that a script names", function()
  need_device()
  create("rungs.lua", [[
    local variants = {{"tiled"}, {"naive"}}
    for _, v in ipairs(variants) do print(gemm.bench(v[1], nil, 64)) end
    bench("transpose.tiled", {64}) bench("spmv.csr_scalar") print "tiled.cl"]])
  local out, err, code = check "rungs.lua"
  t.eq({err, code}, {"", 0})
  has(out, "rungs.lua:1: gemm.tiled compiles: gemm", "gemm.naive compiles",
    "rungs.lua:3: transpose.tiled compiles")
end)

t.test("globals that nothing sets, and a byte order mark", function()
  create("names.lua", "\xEF\xBB\xBF#!/usr/bin/env clshell\n" .. [[
local x = fooo(1)
prnt(x, arg[1], _VERSION, matrix.random, x.prnt)
for i = 1, 2 do goto e ::e:: end
local t <const> = {a = 1, ["b"] = 2, own} y = 3 y(t)
local function f(p, ...) return p.q, ... end
function g() end g(f) require "names2"]])
  create("names2.lua", "own = 1")
  local out, err, code = check "names.lua"
  t.eq({err, code}, {"", 0})
  has(out, "names.lua:2: nothing sets the global 'fooo'\n",
    "names.lua:3: nothing sets the global 'prnt'; did you mean 'print'?\n")
  t.eq(select(2, out:gsub("nothing sets", "")), 2, out)
end)

t.test("a character of Lua that cannot be seen is named", function()
  create("blank.lua", "x = 1\nlocal\u{A0}y = 2\n")
  has(select(2, check "blank.lua"), "blank.lua:2: ",
    "column 6: U+00A0 (no-break space); a space belongs there")
  has(select(2, scratch.sh "$clshell blank.lua"), "blank.lua:2: ",
    "U+00A0 (no-break space); a space belongs there")
end)

t.test("doublings of a text end at a bound", function()
  local lines = {"local a0 = '" .. ("x"):rep(1000) .. "'"}
  for i = 1, 40 do
    lines[#lines + 1] = ("local a%d = a%d .. a%d"):format(i, i - 1, i - 1)
  end
  lines[#lines + 1] = "f(a3, a40)"
  local values = known(table.concat(lines, "\n"))
  t.eq({#values[1], values[2]}, {8000, false})
end)

t.test("a CUDA file: its kernels, launches, and the host's calls", function()
  need_device()
  create("add.cu", [[
__global__ void add(float *a, int n) {
  if (threadIdx.x < n) a[threadIdx.x] += 1;
}
int main() {
  cudaMalloc(&a, 4 * n);
  add<<<n / 64, 64>>>(a, n);
}
]])
  local out, err, code = check "add.cu"
  t.eq({err, code}, {"", 0})
  has(out, "add.cu:1: it compiles: add\n",
    "add.cu:6: launch: prog.add:range({n // 64 * 64}, {64})(a, n)\n",
    "add.cu:5: CUDA: cudaMalloc; here: b = cl.buffer(")
  t.eq(scratch.sh "$clshell --cuda add.cu", out)
  t.eq((scratch.sh "cp add.cu add.txt; $clshell --cuda add.txt"),
    (out:gsub("add.cu", "add.txt")))
  t.eq((scratch.sh "cat add.cu | $clshell --cuda -"),
    (out:gsub("add.cu", "stdin")))
  create("bad.cu", "__global__ void k(float *a) {\n  a[0] = warpSize;\n}\n")
  out, err, code = scratch.sh "$clshell --cuda bad.cu"
  t.eq({out, code}, {"", 1})
  has(err, "bad.cu:2:10: error: CUDA: warpSize; here: a define")
  t.eq(select(3, scratch.sh "$clshell --cuda none.cu"), 1)
  err, code = select(2, scratch.sh "$clshell --cuda")
  t.eq({err, code}, {"clshell: --cuda needs a file (try 'clshell --help')\n",
    2})
  err = select(2, scratch.sh "$clshell add.cu")
  has(err, "a .cu file holds kernels; clshell --check add.cu")
  create("use.lua", "cl.build('add.cu')\ncl.build([[\n__global__ void k() {}\n"
    .. "]], {cuda = true})")
  out, err, code = check "use.lua"
  t.eq({err, code}, {"", 0})
  has(out, "use.lua:2: cl.build of source text compiles: k")
end)

t.test("scripts that come along", function()
  local code = capture(("for s in %s/scripts/*.lua; do %s/clshell -q -c $s " ..
    "2>&1 || echo $s: $?; done"):format(quote(t.here), build))
  if #cl.devices() > 0 then
    t.eq(code, "")
  end
end)

t.test("kernels and no device: Lua is checked, and exit 3", function()
  t.nodevices()
  create("kernel.lua", "cl.kernel 'kernel void f() {}'")
  local none = "OCL_ICD_VENDORS=/nonexistent"
  local out, err, code = check("kernel.lua", none)
  t.eq(code, 3)
  has(out, "Lua is fine")
  has(err, "1 program not compiled: ", "no OpenCL device")
  create("plain.lua", "print(1)")
  t.eq(select(3, check("plain.lua", none)), 0)
end)

t.test("listings of hosts in C and Python: the Lua of each line", function()
  create("host.c", "#include <CL/cl.h>\n\nclFinish(q); /* clFlush */\n")
  create("host.py", "import pyopencl as cl\nprg.f(queue, (4,), None, x)\n")
  local out, err, code = check("host.c host.py")
  t.eq({code, err}, {0, ""})
  has(out, "host.c:3: clFinish: cl.context().queue:finish()",
    "host.c: host code with 1 word; the host here is Lua",
    "host.py:1: pyopencl", "host.py:2: prg.name(queue, ...): ev = ")
  t.ok(not out:find("clFlush", 1, true), out)
end)

scratch.done()

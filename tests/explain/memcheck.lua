-- memcheck.lua - clshell --memcheck: a script whose launches are looked at
-- SPDX-License-Identifier: MIT
local t = require "t"
local oclgrind = require "clshell.explain.oclgrind"
local scratch = require "scratch"

local create, has, sh = scratch.create, scratch.has, scratch.sh

create("edge.lua", [[
local k = cl.kernel "kernel void f(global int *x) { x[get_global_id(0)] = 1; }"
local x = cl.buffer("int", 4, 0)
for i = 1, 3 do
  k:range(4 + i, 1)(x)
end
print("mine", arg[1], arg[2], x:read()[1])
os.exit(tonumber(arg[3]))]])
create("fine.lua", [[
local A = matrix.random(5, 4, {seed = 1})
print(transpose(A, {kernel = "tiled"}).rows)]])

t.test("each defect once, with the launch's place; exit code 1", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  local out, err, code = sh "$clshell -d cpu --memcheck edge.lua 'a b' -d"
  t.eq(out, "mine\ta b\t-d\t1\n")
  has(err, "check: 1 finding in f over 5, local 1, launched at edge.lua:4",
    "write outside 'x': x[4]; it has 4 elements", "by work-item 4",
    "memcheck: 1 finding in 3 launches")
  t.eq(code, 1, err)
  t.eq(select(3, sh "$clshell --memcheck edge.lua a b 7"), 7,
    "the script's own code")
  out, err, code = sh "$clshell --memcheck fine.lua"
  t.eq(out, "4\n")
  has(err, "memcheck: no finding in ")
  t.eq(code, 0, err)
end)

t.test("the launches of a recording are looked at when it runs", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("recorded.lua", [[
local k = cl.kernel "kernel void f(global int *x, int a) { x[a] = a; }"
local x = cl.buffer("int", 4, 0)
local steps = cl.record(function()
  k:range(1)(x, 3)
  k:range(1)(x, 4)
end)
steps()
steps:run{queue = cl.queue()}:wait()
print(x:read()[4], steps.native)]])
  local out, err, code = sh "$clshell --memcheck recorded.lua"
  t.eq(out, "3\tfalse\n")
  has(err, "check: 1 finding in f over 1", "launched at", "recorded.lua:7",
    "write outside 'x': x[4]; it has 4 elements",
    "memcheck: 1 finding in 4 launches")
  t.eq(code, 1, err)
end)

t.test("memory that is used again counts as written where it is", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("again.lua", [[
local function copy(name)
  return cl.kernel(("kernel void %s(global const int *x, global int *y) {"
    .. "size_t i = get_global_id(0); y[i] = x[i]; }"):format(name))
end
local x, y = cl.buffer("int", 64, 3), cl.buffer("int", 64, 0)
for i, n in ipairs{8, 4, 8, 16, 2, 8, 16, 32} do
  local temporary <close> = cl.buffer("int", n)
  copy("to" .. i):range(n, 1)(x, temporary):wait()
  copy("from" .. i):range(n, 1)(temporary, y):wait()
end
for _ = 1, 4 do
  io.write(cl.buffer("float", 1200, 1):sum(), " ")
end
local never <close> = cl.buffer("int", 64)
copy "bad":range(64, 1)(never, y):wait()]])
  local out, err = sh "$clshell --memcheck again.lua"
  t.eq(out, "1200 1200 1200 1200 ")
  has(err, "1 finding in bad over 64", "64 times", "memcheck: 1 finding in ")
end)

t.test("the rest of a memory stays written where a part is written anew",
  function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("parts.lua", [[
local k = cl.kernel("kernel void f(global const char *m, global int *o) { "
  .. "int i = get_global_id(0); if (m[i]) o[i] = 1; }",
  {options = "-cl-std=CL3.0"})
local o, other = cl.buffer("int", 8, 0), cl.buffer("char", 8, 1)
for _, change in ipairs{
  function(b) b:fill(1, {first = 1, count = 1}) end,
  function(b) b:write({1}, {first = 3, count = 1}) end,
  function(b) other:copy(b, {first = 3, count = 2, to = 1}) end,
  function(b) b:view(1, 3):fill(1) end,
  function(b) b:slice(2, 3):set(1) end,
  function(b)
    local h <close> = b:map("read_write", {first = 2, count = 2})
    h[1] = 1
  end,
} do
  local b = cl.buffer("char", 8, 0)
  change(b)
  k:range(8)(b, o)
end]])
  local _, err, code = sh "$clshell --memcheck parts.lua"
  has(err, "memcheck: no finding in ")
  t.eq(code, 0, err)
  create("never.lua", [[
local k = cl.kernel "kernel void f(global char *m) { if (m[1]) m[0] = 1; }"
local never = cl.buffer("char", 8)
never:write({1}, {first = 8, count = 1})
k:range(1)(cl.buffer("char", 4))]])
  _, err, code = sh "$clshell --memcheck never.lua"
  has(err, "never written", "memcheck: 1 finding in 1 launch")
  t.eq(code, 1, err)
end)

t.test("check and access in a script find what they find without", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("inner.lua", [[
local k = cl.kernel "kernel void f(global int *x) { x[get_global_id(0)] = 1; }"
local r = check(k:range(5, 1), cl.buffer("int", 4, 0))
print(#r.findings, r.findings[1] and r.findings[1].kind)
r = check(k:range(5, 1), cl.buffer("int", 4, 0), {guard = true})
print(#r.findings, r.findings[1] and r.findings[1].kind)
if require "clshell.explain.trace".plugin() then
  print(access(k:range(4, 4), cl.buffer("int", 4, 0)))
end]])
  local plain = sh "$clshell inner.lua"
  has(plain, "1\toutside\n")
  local out, err, code = sh "$clshell --memcheck inner.lua"
  t.eq(out, plain)
  has(err, "memcheck: no finding in 0 launches")
  t.eq(code, 0, err)
end)

t.test("images are simulated, and their pixels count as written", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("image.lua", [[
local k = cl.kernel "kernel void f(read_only image2d_t i, sampler_t s, ]]
    .. [[global float *y) { int g = get_global_id(0); float v = ]]
    .. [[read_imagef(i, s, (int2)(g, 0)).x; y[g] = v > 1 ? v : 0; }"
local img = cl.image{width = 4, height = 2, data = 7}
local y = cl.buffer("float", 5)
k:range(4)(img, cl.sampler(), y)
print(y:read()[4], select(2, pcall(check, k:range(4), img, 0, y)))
k:range(6, 1)(img, cl.sampler(), y)]])
  local out, err, code = sh "$clshell --memcheck image.lua"
  has(out, "7.0\t", "argument 'i' must be a number, a Buffer or local memory; "
    .. "got an Image", "clshell --memcheck simulates launches with images")
  has(err, "write outside", "memcheck: 1 finding in 2 launches")
  t.eq(code, 1, err)
end)

t.test("no script, and no simulator", function()
  local _, err, code = sh "CLSHELL_OCLGRIND=none $clshell --memcheck fine.lua"
  has(err, "--memcheck needs the simulator Oclgrind", "apt install oclgrind")
  t.eq(code, 3)
  if oclgrind.driver() then
    _, err, code = sh "$clshell --memcheck"
    t.ok(not err:find("launch", 1, true), err)
    has(err, "--memcheck needs a script")
    t.eq(code, 2)
  end
end)

t.done()

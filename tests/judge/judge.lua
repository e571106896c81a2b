-- judge.lua - judge: verdicts on kernels for the tasks of the folder tasks.
-- Each kernel of honest is RIGHT; each of cheats gets the verdict and a part
-- of the reason that its head tells. A file's name begins with its task's.
-- SPDX-License-Identifier: MIT
local t = require "t"
local rules = require "clshell.judge.rules"
local scratch = require "scratch"

t.device()
t.keeps("Context", "Queue", "Program", "Kernel", "Buffer")

local here = t.here .. "/tests/judge/"
local product = t.here .. "/scripts/course/product.lua"
local start = t.here .. "/scripts/course/product_start.cl"
local has = scratch.has

-- Calls fn(task, path, verdict, reason, by) for each kernel of a folder; by:
-- " by the simulator" where that verdict is the simulator's.
local function each(folder, fn)
  for path in t.capture(("ls %s%s/*.cl"):format(here, folder)):gmatch "%S+" do
    local f <close> = assert(io.open(path))
    local verdict, by, reason = f:read "l":match "^// (%u+)([^:]*):?%s*(.*)$"
    fn(here .. "tasks/" .. path:match "(%a+)[%w_]*%.cl$" .. ".lua", path,
      verdict, reason, by)
  end
end

t.test("every honest kernel is RIGHT", function()
  local count = 0
  each("honest", function(task, path)
    local r = judge(task, path, {keep = false, seed = t.seed})[1]
    t.eq({r.verdict, r.reason}, {"RIGHT"}, path)
    count = count + 1
  end)
  t.ok(count >= 20, "20 kernels")
end)

t.test("every cheat is WRONG or INVALID, for its reason", function()
  local count, unseen = 0, 0
  local blind = not require "clshell.explain.oclgrind".driver()
  each("cheats", function(task, path, verdict, reason, by)
    local r = judge(task, path, {keep = false, seed = t.seed})[1]
    if blind and by ~= "" then
      unseen = unseen + 1
      return
    end
    t.eq(r.verdict, verdict, path .. ": " .. tostring(r.reason))
    if reason ~= "signal" or cl.device().type == "cpu" then
      has(r.reason, reason) -- a GPU's driver has an error in its place
    end
    count = count + 1
  end)
  t.ok(count + unseen >= 35, "35 kernels")
  if unseen > 0 then
    t.skip(unseen .. " cheats are for the simulator, which is missing")
  end
end)

t.test("a failure is told with its element, and repeated", function()
  local board = judge(product, start,
    {repro = "16:7", keep = false})
  local r = board[1]
  t.eq({board.ok, r.verdict, r.size, r.seed}, {false, "WRONG", "16", 7})
  has(r.reason, "256 of 256 elements of C: C[0, 0] = 0, expected")
  has(r.repro, "scripts/course/product_start.cl --repro 16:7")
  local again = judge(product, start,
    {repro = "16:7", keep = false})[1]
  t.eq(again.reason, r.reason)
  t.raises(function()
    judge(product, start, {repro = "16"})
  end, "judge: repro must be SIZE:SEED", 'such as 33:123; got "16"')
end)

t.test("elements never written are told where NaN is right", function()
  local path = scratch.create("nan.lua", [[
task{kernel = "root(global const float *x, global float *y)",
  inputs = function(n, rng) return {x = rng(n, -1, -0.5), y = n} end,
  expect = function(i) return i.x * (0 / 0) end, sizes = {40},
  check = false}]])
  local kernel = "kernel void root(global const float *x, global float *y)"
    .. " {%s}"
  local root = "int i = get_global_id(0); y[i] = sqrt(x[i]);"
  for body, right in pairs{[root] = "RIGHT", [""] = "WRONG"} do
    scratch.create("root.cl", kernel:format(body))
    local r = judge(path, scratch.dir .. "/root.cl", {keep = false})[1]
    t.eq(r.verdict, right, r.reason)
  end
end)

local AXPY = [[
task{name = "axpy", kernel = "axpy(float a, global const float *x, "
  .. "global float *y, int n)",
  inputs = function(n, rng)
    return {a = 2, x = rng(n), y = n, n = n}
  end,
  expect = function(i) return i.x * i.a end,
  sizes = {64, 100}, hidden = {0}, check = false, %s}
]]
scratch.create("axpy.cl", [[
kernel void axpy(float a, global const float *x, global float *y, int n) {
  y[get_global_id(0)] = a * x[get_global_id(0)];
}]])

-- Judges axpy.cl for the task with further fields.
local function verdict(more, opts)
  local path = scratch.create("axpy.lua", AXPY:format(more))
  return judge(path, scratch.dir .. "/axpy.cl", opts or {keep = false})[1]
end

t.test("speed: slow, fast, and faster than can be", function()
  local speed = 'points = {public = 1, hidden = 2, clean = 4, speed = 8}, '
    .. 'speed = {against = "axpy.cl", at_least = %g, at = {64}, '
    .. 'seconds = 5}'
  local r = verdict(speed:format(1e9))
  t.eq({r.verdict, r.points, r.of}, {"SLOW", 3, 15})
  has(r.reason, "at 64, ",
    "times as fast as axpy.cl: SLOWER than asked (1e+09)")
  r = verdict(speed:format(1e-9))
  t.eq({r.verdict, r.points, r.parts[4].points}, {"RIGHT", 11, 8})
  t.ok(r.times[1].rounds >= 11 and r.times[1].lo < r.times[1].hi)
  r = verdict "flop = function() return 1e18 end, speed = {roof = 0.5}"
  t.eq(r.verdict, "INVALID")
  has(r.reason, "at 100 cannot be: ", "% of the best that this device has")
  r = verdict "flop = function() return 1 end, speed = {roof = 0.9}"
  t.eq(r.verdict, "SLOW")
  has(r.reason, "% of the compute roof: SLOWER than asked (90 %)")
end)

t.test("a mistake in a task is told by name", function()
  for more, words in pairs{
    ["size = {1}"] = "task: unknown option 'size'; did you mean 'sizes'?",
    ["sizes = {}"] = "task axpy: sizes must have an element; got none",
    ["sizes = {0.5}"] = "task axpy: sizes must be a list of whole numbers",
    ["range = 3"] = "task axpy: range must be a function; got 3",
    ["kernel = 'mm'"] = "task axpy: kernel must be a prototype such as",
    ["speed = {}"] = "task axpy: speed must have either `against`",
    ["speed = {against = 'x', atleast = 1}"] = "did you mean 'at_least'?",
    ["points = {fast = 1}"] = "points has the parts public, hidden, clean",
    ["limit = 0"] = "task axpy: limit must be a number > 0; got 0",
    ["inputs = function() return {} end"] =
      "): a is missing in the table that it returns",
    ["inputs = function(n) return {a = 1, x = n, y = 'y', n = n} end"] =
      "y must be rng(shape), a shape or an Array; got",
  } do
    t.raises(function() verdict(more) end, words)
  end
  t.raises(function()
    judge(scratch.create("none.lua", "return 1"), "axpy.cl")
  end, "none.lua has no task")
  t.raises(function()
    judge(scratch.create("two.lua", AXPY:format "" .. AXPY:format ""), "x.cl")
  end, "a file holds one task; here is a second")
end)

t.test("the command, its formats, its exit code, and the history", function()
  scratch.create("axpy.lua", AXPY:format "points = {public = 3, hidden = 1}")
  t.capture(("mkdir -p %s/class"):format(scratch.dir))
  local right = scratch.read "axpy.cl"
  scratch.create("class/anna.cl", right)
  scratch.create("class/ben.cl", (right:gsub("a %*", "a +")))
  scratch.create("class/notes.txt", "")
  local run = "COLUMNS=80 $clshell judge --store s.db axpy.lua "
  local out, err, code = scratch.sh(run .. "class/ben.cl --seed 5")
  t.eq(code, 1, err)
  has(out, "ben: WRONG, 1 of 4 points\n  at ", "public 0 of 3: 0 of 2 sizes "
    .. "right\n", "repeat: clshell judge axpy.lua class/ben.cl --repro ",
    "seed 5 of the inputs")
  local repro = out:match "%-%-repro%s+%d+:%d+"
  out, err, code = scratch.sh(run .. "class/ben.cl " .. repro)
  t.eq(code, 1, err)
  has(out, "ben: WRONG\n  at ")
  out, err, code = scratch.sh(run .. "class/anna.cl -f json")
  t.eq(code, 0, err)
  has(out, '"verdict":"RIGHT"', '"points":4')
  out, err, code = scratch.sh(run .. "class -o board.html")
  t.eq(code, 1, err)
  has(out, "anna  RIGHT    4 of 4", "ben   WRONG    1 of 4  WRONG")
  has(scratch.read "board.html", "<h1>axpy</h1>",
    "<tr><td>1</td><td>anna</td><td>RIGHT</td><td>4 of 4</td>")
  has(scratch.sh(run), "task axpy: \n  kernel void axpy(",
    "sizes 64, 100, and others", "points: public 3, hidden 1")
  has(select(2, scratch.sh(run .. "none.cl")), "none.cl: No such file")
  has(scratch.sh(run:gsub("axpy.lua", product)),
    "complete")
end)

t.test("the rules of a source", function()
  local function first(source, task)
    local fault = rules.faults(source, task or {})[1]
    return fault and ("%d: %s"):format(fault.line, fault.text)
  end
  for source, fault in pairs{
    ["// asm\n/* #include */ kernel void f() {}"] = false,
    ["constant int x = 1;\nconstant float t[] = {1, 2};"] = false,
    ["typedef struct { float x; } P;\nstruct Q { int a, b; } ;"] = false,
    ["enum E { A, B };\nint g(int x);\nint g(int x) { return x; }"] = false,
    ["#define UNROLL _Pragma(\"unroll 4\")\n"] = false,
    ["kernel void f(global int *x) { if (x[0]) return; else g(x); }"] = false,
    ["kernel void f() { float4 v __attribute__((aligned(16))); }"] = false,
    ["#define X(x) float x##1; x x;\nkernel void f() { X(a); }"] = false,
    ["struct { int a; } kept;"] = "1: a variable of the program",
    ["\nglobal int *p;"] = "2: a variable of the program",
    ["int n = 3;"] = "1: a variable of the program",
    ["#define S static\nkernel void f() {\nS global int n;\n}"] =
      "3: a static variable",
    ["kernel void f() { long time(long *); }"] = "1: the function 'time'",
    ["kernel void f() { char *getenv(const char *); }"] =
      "1: the function 'getenv'",
    ["#define ASM __asm\n"] = "1: the word '__asm'",
    ["as\\\nm"] = "1: the word 'asm'",
    ["_Pragma(\"push_macro(\\\"x\\\")\")"] = "1: _Pragma",
    ["#define A init_priority\nint f() __attribute__((A(1))) { return 1; }"] =
      "2: the attribute init_priority",
    ["kernel __attribute__((reqd_work_group_size(8, 8, 1))) void f() {}"] =
      false,
    ["kernel void f() { float4 v __attribute__((aligned(sizeof(v)))); }"] =
      false,
    ["[[noreturn]] void f() {}"] = "1: an attribute in brackets",
    ["# include <stdio.h>"] = "1: #include",
  } do
    local got = first(source)
    t.ok(fault and got and got:find(fault, 1, true) or not fault and not got,
      ("%s: got %s"):format(source, got))
  end
  t.eq(first("half h;", {forbid = {"half"}}), "1: the word 'half'")
  t.eq(first("vstore_half4_rte", {forbid = {"half"}}),
    "1: the word 'vstore_half4_rte'")
  t.eq(first("#include \"a.h\"\n", {allow = {"include"}}), nil)
end)

scratch.done()

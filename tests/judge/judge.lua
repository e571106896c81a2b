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
local scripts = t.here .. "/scripts/tasks/"
local has = scratch.has

-- Calls fn(task, path, verdict, reason) for each kernel of a folder.
local function each(folder, fn)
  for path in t.capture(("ls %s%s/*.cl"):format(here, folder)):gmatch "%S+" do
    local f <close> = assert(io.open(path))
    local verdict, reason = f:read "l":match "^// (%u+):?%s*(.*)$"
    fn(here .. "tasks/" .. path:match "(%a+)[%w_]*%.cl$" .. ".lua", path,
      verdict, reason)
  end
end

t.test("every honest kernel is RIGHT", function()
  local count = 0
  each("honest", function(task, path)
    local r = judge(task, path, {keep = false})[1]
    t.eq({r.verdict, r.reason}, {"RIGHT"}, path)
    count = count + 1
  end)
  t.ok(count >= 20, "20 kernels")
end)

t.test("every cheat is WRONG or INVALID, for its reason", function()
  local count = 0
  each("cheats", function(task, path, verdict, reason)
    local r = judge(task, path, {keep = false})[1]
    t.eq(r.verdict, verdict, path .. ": " .. tostring(r.reason))
    has(r.reason, reason)
    count = count + 1
  end)
  t.ok(count >= 35, "35 kernels")
end)

t.test("a failure is told with its element, and repeated", function()
  local board = judge(scripts .. "mm.lua", scripts .. "mm.cl",
    {repro = "16:7", keep = false})
  local r = board[1]
  t.eq({board.ok, r.verdict, r.size, r.seed}, {false, "WRONG", "16", 7})
  has(r.reason, "256 of 256 elements of C: C[1, 1] = 0, expected")
  has(r.repro, "scripts/tasks/mm.cl --repro 16:7")
  local again = judge(scripts .. "mm.lua", scripts .. "mm.cl",
    {repro = "16:7", keep = false})[1]
  t.eq(again.reason, r.reason)
  t.raises(function()
    judge(scripts .. "mm.lua", scripts .. "mm.cl", {repro = "16"})
  end, 'judge: repro must be SIZE:SEED, as a failure prints it, such as 33:123;'
    .. ' got "16"')
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

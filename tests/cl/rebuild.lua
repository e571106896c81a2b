-- rebuild.lua - programs of files that change: they are built anew in place.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local terminal = require "converse"

t.keeps("Program", "Kernel")
t.device()

local folder = t.tmp "rebuild"

local function put(name, text)
  os.execute("mkdir -p " .. folder)
  t.write(folder .. "/" .. name, text)
end

local function clean()
  os.execute("rm -rf " .. folder)
end

local function first(buffer)
  return buffer:read()[1]
end

local ONE = "kernel void f(global int *x) { x[0] = %d; }\n"

t.test("an edit is noticed at once, however soon after a look", function()
  put("inner.h", "#define N 1\n")
  put("a.cl", '#include "inner.h"\nkernel void f(global int *x) { *x = N; }\n')
  local prog <close> = cl.build(folder .. "/a.cl")
  for i = 1, 40 do
    t.eq(prog:changed(), false)
    t.eq(prog:changed(), false)
    if i % 2 == 0 then
      put("inner.h", "#define N 2\n")
    else
      put("new.h", "#define N 2\n")
      os.rename(folder .. "/new.h", folder .. "/inner.h")
    end
    t.eq(prog:changed(), true)
    t.eq(prog:changed(), true)
    put("inner.h", "#define N 1\n")
  end
  os.rename(folder .. "/inner.h", folder .. "/old.h")
  t.eq(prog:changed(), false) -- about to be written anew
  put("inner.h", "#define N 2\n")
  t.eq(prog:changed(), true)
  clean()
end)

t.test("a changed file is noticed by its content", function()
  put("a.cl", ONE:format(1))
  local prog <close> = cl.build(folder .. "/a.cl")
  t.eq(prog.file, folder .. "/a.cl")
  t.eq(prog.builds, 1)
  t.eq(prog:changed(), false)
  put("a.cl", ONE:format(1)) -- saved, and the same
  t.eq(prog:changed(), false)
  put("a.cl", ONE:format(2)) -- of the same size, at once
  t.eq(prog:changed(), true)
  os.remove(folder .. "/a.cl") -- an editor is about to replace it
  t.eq(prog:changed(), false)
  t.raises(function() prog:rebuild() end, "no kernel file", "a.cl")
  put("b.cl", ONE:format(3))
  os.rename(folder .. "/b.cl", folder .. "/a.cl")
  t.eq(prog:changed(), true)
  prog:rebuild()
  t.eq(prog.builds, 2)
  t.eq(prog:changed(), false)
  clean()
end)

t.test("kernels and launches follow", function()
  put("a.cl", ONE:format(1))
  local prog <close> = cl.build(folder .. "/a.cl", {defines = {V = 3}})
  local b <close> = cl.buffer("int", 4, 0)
  local f = prog.f
  local l = f:range(1)
  l(b)
  t.eq(first(b), 1)
  put("a.cl", "kernel void f(global int *x, int y) { x[0] = y + V; }")
  prog:rebuild()
  t.eq(tostring(f), "kernel f(global int* x, int y)")
  t.raises(function() l(b) end, "argument 2 'y'")
  l(b, 40)
  t.eq(first(b), 43)
  t.eq(rawequal(prog.f, f), true)
  put("a.cl", "kernel __attribute__((reqd_work_group_size(2, 1, 1)))\n"
    .. "void f(global int *x) { x[0] = get_local_size(0); }")
  prog:rebuild()
  t.eq(f.required_work_group_size, {2, 1, 1})
  local wide = f:range(4, 2)
  wide(b)
  t.eq(first(b), 2)
  put("a.cl", "kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
    .. "void f(global int *x) { x[0] = get_local_size(0); }")
  prog:rebuild()
  t.raises(function() wide(b) end, "local 2 over global 4",
    "the kernel requires 4x1x1")
  local moved = f:range(4, 4):on(nil)
  moved(b)
  t.eq(first(b), 4)
  clean()
end)

t.test("a kernel that is gone says so, and comes back", function()
  put("a.cl", ONE:format(1))
  local prog <close> = cl.build(folder .. "/a.cl")
  local b <close> = cl.buffer("int", 1, 0)
  local f = prog.f
  local l = f:range(1)
  put("a.cl", (ONE:format(2):gsub(" f", " g")))
  prog:rebuild()
  t.raises(function() l(b) end, "no kernel 'f' any more")
  t.raises(function() return f.args end, "no kernel 'f' any more")
  t.raises(function() return prog.f end, "no kernel 'f'", "has: g")
  t.eq(prog:kernels(), {"g"})
  put("a.cl", ONE:format(5))
  prog:rebuild()
  l(b)
  t.eq(first(b), 5)
  t.eq(rawequal(prog.f, f), true)
  clean()
end)

t.test("a build that fails keeps the old one, and is tried once", function()
  put("a.cl", ONE:format(1))
  local prog <close> = cl.build(folder .. "/a.cl")
  local b <close> = cl.buffer("int", 1, 0)
  local l = prog.f:range(1)
  put("a.cl", "kernel void f(global int *x) { x[0] = nothing; }")
  t.eq(prog:changed(), true)
  local err = t.raises(function() prog:rebuild() end, "nothing", "a.cl")
  t.ok(err.log:find "nothing")
  t.eq(prog:changed(), false)
  t.eq(prog.builds, 1)
  l(b)
  t.eq(first(b), 1)
  put("a.cl", ONE:format(6))
  t.eq(prog:changed(), true)
  prog:rebuild()
  l(b)
  t.eq(first(b), 6)
  clean()
end)

t.test("files that are included count", function()
  os.execute("mkdir -p " .. folder .. "/lib")
  put("a.cl", '#include "b.h"\n  # include <c.h>\n'
    .. "kernel void f(global int *x) { x[0] = B * 10 + C; }")
  put("b.h", '#include "lib/d.h"\n#define B D')
  put("lib/d.h", "#define D 1\n#if 0\n#include \"b.h\"\n#endif\n")
  put("lib/c.h", "#define C 2")
  local prog <close> = cl.build(folder .. "/a.cl",
    {include = folder .. "/lib"})
  local b <close> = cl.buffer("int", 1, 0)
  local l = prog.f:range(1)
  l(b)
  t.eq(first(b), 12)
  put("lib/d.h", "#define D 3")
  t.eq(prog:changed(), true)
  prog:rebuild()
  l(b)
  t.eq(first(b), 32)
  put("lib/c.h", "#define C 4")
  t.eq(prog:changed(), true)
  prog:rebuild()
  l(b)
  t.eq(first(b), 34)
  t.eq(prog:changed(), false)
  local again <close> = cl.build(folder .. "/a.cl",
    {include = folder .. "/lib"})
  again.f:range(1)(b)
  t.eq(first(b), 34)
  clean()
end)

t.test("what is enqueued is not touched", function()
  put("a.cl", "kernel void f(global volatile int *x, int n) {"
    .. "for (int i = 0; i < n; i++) x[0]++; }")
  local prog <close> = cl.build(folder .. "/a.cl")
  local b <close> = cl.buffer("int", 1, 0)
  local l = prog.f:range(1)
  local events = {}
  for i = 1, 20 do
    events[i] = l(b, 100000)
  end
  put("a.cl", "kernel void f(global volatile int *x, int n) { x[0] -= n; }")
  prog:rebuild()
  collectgarbage()
  l(b, 1)
  t.eq(first(b), 20 * 100000 - 1)
  for i = 1, 20 do
    t.eq(events[i].status, "complete")
  end
  clean()
end)

t.test("source texts and binaries stay as they are", function()
  local prog <close> = cl.build(ONE:format(1))
  t.eq(prog.file, nil)
  t.eq(prog:changed(), false)
  t.raises(function() prog:rebuild() end, "not built from a file")
  local binary <close> = cl.build_binary(prog:binary())
  t.eq(binary:changed(), false)
  t.raises(function() binary:rebuild() end, "not built from a file")
end)

t.test("cl.files lists a file and what it includes, with hashes", function()
  put("a.cl", '#include "a.h"\n' .. ONE:format(1))
  put("a.h", "#define A 1\n")
  local list = cl.files(folder .. "/a.cl")
  t.eq({#list, list[1], list[2]}, {2, folder .. "/a.cl", folder .. "/a.h"})
  put("a.h", "#define A 2\n")
  local other = cl.files(folder .. "/a.cl")
  t.eq(other[other[1]], list[list[1]])
  t.ok(other[other[2]] ~= list[list[2]])
  t.raises(function() cl.files(folder .. "/none.cl") end, "no kernel file")
  t.raises(function() cl.files(folder .. "/a.cl", {folder = "x"}) end,
    "folder")
  clean()
end)

t.test("cl.stale lists the open programs whose files changed", function()
  put("a.cl", ONE:format(1))
  put("b.cl", ONE:format(1))
  local a <close> = cl.build(folder .. "/a.cl")
  local f = cl.kernel(folder .. "/b.cl")
  local closed = cl.build(folder .. "/b.cl")
  t.eq(cl.stale(), nil)
  put("b.cl", ONE:format(2))
  closed:close()
  local list = cl.stale()
  t.eq(#list, 1)
  t.eq(list[1].file, folder .. "/b.cl")
  t.eq(rawequal(list[1], f.program), true)
  list[1]:rebuild()
  t.eq(cl.stale(), nil)
  f.program:close()
  f:close()
  t.eq(a:changed(), false)
  clean()
end)

t.test("rungs of a file follow, and so do plans made of them", function()
  local REPEAT = [[kernel void mine(int m, int n, int k, REAL alpha,
    global const REAL *A, int lda, global const REAL *B, int ldb, REAL beta,
    global REAL *C, int ldc)
  {
    int row = get_global_id(0), col = get_global_id(1);
    REAL sum = 0;
    for (int i = 0; i < k; i++)
      sum += A[row * lda + i] * B[i * ldb + col];
    C[row * ldc + col] = %s;
  }]]
  put("mine.cl", REPEAT:format "sum")
  gemm.define{name = "mine", file = folder .. "/mine.cl",
    range = function(s) return {s.m, s.n} end,
    args = function(s, _, o)
      return {s.m, s.n, s.k, 1, o.A, o.A.ld, o.B, o.B.ld, 0, o.C, o.C.ld}
    end}
  local matrix = require "clshell.data.matrix"
  local A <close> = matrix.ones(4, 4)
  local B <close> = matrix.ones(4, 4)
  local plan = gemm.plan(A, B, {kernel = "mine"})
  plan():wait()
  t.eq(plan.output:read():at(1, 1), 4)
  put("mine.cl", REPEAT:format "-sum")
  local C <close> = gemm(A, B, {kernel = "mine"}) -- reads the file itself
  t.eq(C:read():at(1, 1), -4)
  for _, prog in ipairs(cl.stale()) do
    prog:rebuild()
  end
  plan():wait()
  t.eq(plan.output:read():at(1, 1), -4)
  put("mine.cl", REPEAT:format "sum")
  local D <close> = gemm(A, B, {kernel = "mine"}) -- not the rebuilt program
  t.eq(D:read():at(1, 1), 4)
  plan.output:close()
  clean()
end)

-- What f writes to standard output and to standard error.
local function streams(f)
  local path = t.tmp "streams"
  local out <close> = assert(io.open(path, "w+b"))
  local own = require("clshell.base.lazy").globals -- that clshell uses
  local print_, stderr = own.print, own.io.stderr
  own.print = function(...)
    out:write(table.concat({...}, "\t"), "\n")
  end
  own.io.stderr = out
  local ok, err = pcall(f)
  own.print, own.io.stderr = print_, stderr
  t.ok(ok, tostring(err))
  out:seek("set")
  return out:read "a"
end

t.test("the prompt rebuilds what changed, and shows an error once", function()
  local watch = require "clshell.shell.prompt.watch"
  put("a.cl", ONE:format(1))
  put("b.cl", ONE:format(1))
  local programs = {}
  for i = 1, 3 do
    programs[i] = cl.build(folder .. "/a.cl", {defines = {I = i}})
  end
  local b <close> = cl.build(folder .. "/b.cl")
  t.eq(streams(watch.refresh), "")
  put("a.cl", ONE:format(2))
  t.eq(streams(watch.refresh),
    ("rebuilt %s/a.cl, 3 programs\n"):format(folder))
  put("b.cl", ONE:format(2))
  t.eq(streams(watch.refresh), ("rebuilt %s/b.cl\n"):format(folder))
  put("a.cl", ONE:format(3) .. "wrong")
  local out = streams(watch.refresh)
  t.ok(out:find("a.cl: the last good build stays in use", 1, true), out)
  t.eq(select(2, out:gsub("wrong", "")) >= 1, true, out)
  t.eq(streams(watch.refresh), "")
  put("a.cl", ONE:format(4))
  t.ok(streams(watch.refresh):find("rebuilt .*a%.cl, 3 programs"))
  t.eq(b:changed(), false)
  for i = 1, 3 do
    t.eq(programs[i].builds, 3)
    programs[i]:close()
  end
  clean()
end)

-- Writes a file by another process in a while, as editors do: it is empty
-- first, then another one takes its place.
local function save_later(name, text)
  local path = folder .. "/" .. name
  put("new", text)
  os.execute(("(sleep 0.3; : >%s; sleep 0.3; mv %s/new %s) &"):format(path,
    folder, path))
end

t.test("names of files steer no terminal", function()
  local watch = require "clshell.shell.prompt.watch"
  put("e\27[31m.cl", ONE:format(1))
  local _ <close> = cl.build(folder .. "/e\27[31m.cl")
  local told = streams(function() watch.watch("e\27[31m.cl", nil, 0) end)
  t.ok(told:find("watching [^\n]*e\\27%[31m%.cl"), told)
  put("e\27[31m.cl", ONE:format(2))
  told = streams(watch.refresh)
  t.ok(told:find("rebuilt [^\n]*e\\27%[31m%.cl\n"), told)
  clean()
end)

t.test("%watch: a round for every save, with the ratio to the last", function()
  local watch = require "clshell.shell.prompt.watch".watch
  put("a.cl", ONE:format(1))
  t.raises(function() watch(folder .. "/a.cl") end, "no program in use",
    "a.cl")
  local prog <close> = cl.build(folder .. "/a.cl")
  t.raises(function() watch("other.cl") end, "'other.cl'", "a.cl")
  local b <close> = cl.buffer("int", 1, 0)
  local l = prog.f:range(1)
  local seen, save = {}, nil
  local function bench()
    l(b)
    seen[#seen + 1] = first(b)
    if save then
      save_later("a.cl", save)
      save = nil
    end
    return {median = 1e-3 / #seen, lo = 0.999e-3 / #seen,
      hi = 1.001e-3 / #seen, status = "ok", gflops = #seen}
  end
  local function round(text, f)
    save = text
    return (streams(function()
      watch("a.cl", f or bench, 1)
    end):gsub("µ", "u"))
  end
  local out = round(ONE:format(2))
  t.eq(seen, {1, 2})
  t.ok(out:find("round 0  1.000 ms  1.000 GFLOPS\n", 1, true), out)
  t.ok(out:find("round 1  500.0 us  2.000 GFLOPS  2.00x as fast as round 0 "
    .. "[2.00, 2.00]\n", 1, true), out)
  out = round(ONE:format(3) .. "wrong")
  t.eq(seen, {1, 2, 2})
  t.ok(out:find("the last good build stays", 1, true), out)
  out = round(ONE:format(4))
  t.eq(seen, {1, 2, 2, 2, 4})
  t.ok(out:find("rebuilt", 1, true), out)
  out = round(ONE:format(5), function()
    bench()
    error "no figure"
  end)
  t.eq(seen, {1, 2, 2, 2, 4, 4, 5})
  t.eq(select(2, out:gsub("no figure", "")) >= 2, true, out)
  clean()
end)

t.test("an edited kernel is rebuilt at the prompt; %watch", function()
  local path = terminal.folder() .. "/p.cl"
  local function shell(text) -- types a command that saves the file
    return ([[
      send !printf '%%s' '%s' >%s.new && mv %s.new %s\r
      expect cl>
      ]]):format(text, path, path, path)
  end
  terminal.file("p.cl", ONE:format(11))
  terminal.run([[
    expect cl>
    send b = cl.buffer("int", 1, 0) k = cl.kernel "]] .. path .. [["\r
    expect cl>
    send l = k:range(1) l(b) print("first" .. b:read()[1])\r
    expect first11
    expect cl>
    ]] .. shell("kernel void f(global int *x) { x[0] = 22; }") .. [[
    send l(b) print("then" .. b:read()[1])\r
    expect rebuilt
    expect then22
    expect cl>
    ]] .. shell("kernel void f(global int *x) { x[0] = y; }") .. [[
    send l(b) print("still" .. b:read()[1])\r
    expect undeclared
    expect the last good build stays in use
    expect still22
    expect cl>
    send l(b) print("once" .. b:read()[1])\r
    refute undeclared
    expect once22
    expect cl>
    send saver = "echo 'kernel void f(global int *x) { x[0] = 3; }']]
    .. " >" .. path .. [[.new; mv ]] .. path .. ".new " .. path .. [["\r
    expect cl>
    send function f() if go then go = false os.execute(saver) end ]]
    .. [[return l(b) end\r
    expect cl>
    send %bench f() seconds=0.01 busy=0 samples=3\r
    expect n=
    expect cl>
    send go = true\r
    expect cl>
    send %watch p.cl\r
    expect watching
    expect round 0
    expect rebuilt
    expect round 1
    expect as fast as round 0
    send \x03
    expect interrupted!
    expect cl>
    send l(b) print("last" .. b:read()[1])\r
    expect last3
    expect cl>
    send \x04
    exit 0]], "-q")
  terminal.clean()
end)

t.done()

-- shell/examples/launch.lua - examples that help shows: programs, kernels,
-- launches
-- SPDX-License-Identifier: MIT

--- access
local k = cl.kernel [[
kernel void column(global const float *a, global float *b, int n) {
  int i = get_global_id(0);
  b[i] = a[i * n];
}]]
local a, b = cl.buffer("float", 4096, 0), cl.buffer("float", 64)
local result = access(k:range(64, 64), a, b, 64, {as = "H100"})
print(result)
local load = result.rows[2]
print(load.code, load.sectors / load.requests) --> a[i * n] 32.0

--- Access:table
local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
print(access(k:range(1), cl.buffer("int", 1)):table(60))

--- Access:draw
local k = cl.kernel [[
kernel void third(global int *x) {
  x[3 * get_global_id(0)] = 1;
}]]
local result = access(k:range(32, 32), cl.buffer("int", 96))
print(result:draw(2))

--- Access:svg
local k = cl.kernel [[
kernel void third(global int *x) {
  x[3 * get_global_id(0)] = 1;
}]]
access(k:range(32, 32), cl.buffer("int", 96)):svg("access.svg")

--- cl.build
local prog = cl.build([[
kernel void scale(float a, global float *x) {
  x[get_global_id(0)] *= a * FACTOR;
}]], {defines = {FACTOR = 2}, name = "scale.cl"})
local x = cl.buffer("float", 8, 1)
prog.scale:range(8)(3, x)
print(x:read()[8]) --> 6.0

--- cl.build_binary
local source = "kernel void one(global int *x) { *x = 1; }"
local copy = cl.build_binary(cl.build(source):binary())
local x = cl.buffer("int", 1, 0)
copy.one:range(1)(x)
print(x:read()[1]) --> 1

--- cl.explain_build
cl.explain_build(function(e)
  e.message = e.program .. " does not build:\n" .. e.log
end)
local ok, err = pcall(cl.build, "kernel void f() { x; }", {name = "mine"})
print(err.message:match "[^\n]*") --> mine does not build:

--- cl.translate_cuda
cl.translate_cuda(function(text)
  return {opencl = text:gsub("__global__", "kernel")}
end)
print(cl.build("__global__ void f() {}", {cuda = true}).f.name) --> f

--- cuda.translate
local cuda = require "clshell.cuda"
local info = cuda.translate [[
__global__ void fill(float *x) { x[threadIdx.x] = 1; }
int main() { fill<<<2, 64>>>(x); }]]
print(info.launches[1].text) --> fill:range({2 * 64}, {64})(x)
print(info.opencl:match "%b()") --> (global float *x)

--- cl.kernel_folder
cl.kernel_folder(cl.home .. "/kernels/gemm")
print(cl.build("naive.cl"):info().name)

--- cl.kernel
local axpy = cl.kernel [[
kernel void axpy(float a, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] += a * x[i];
}]]
local x, y = cl.buffer("float", 100, 1), cl.buffer("float", 100, 5)
local event = axpy:range(100)(2, x, y)
print(y:read()[100]) --> 7.0

--- Program:kernels
local prog = cl.build "kernel void a(void) {} kernel void b(void) {}"
print(#prog:kernels()) --> 2

--- Program:kernel
local prog = cl.build "kernel void fill(global int *x) { *x = 3; }"
local fill = prog:kernel "fill" -- prog.fill is the same
print(fill.name) --> fill

--- Program:binary
local prog = cl.build "kernel void f(void) {}"
print(#prog:binary() > #prog:binary{raw = true}) --> true

--- Program:info
local prog = cl.build("kernel void f(void) {}", {options = "-cl-mad-enable"})
print(prog:info().options, prog:info().kernels[1])

--- Program:changed
local prog = cl.build "gemm/tiled.cl"
print(prog:changed()) --> false

--- Program:rebuild
local prog = cl.build "gemm/tiled.cl"
if prog:changed() then
  prog:rebuild() -- its kernels, and launches of them, are the new ones
end

--- cl.programs
for _, prog in ipairs(cl.programs()) do
  print(prog.file)
end

--- cl.files
local files = cl.files(cl.home .. "/kernels/gemm/naive.cl")
print(#files) --> 2
print(files[1], files[files[1]]) -- its path, a hash of its content

--- cl.stale
for _, prog in ipairs(cl.stale() or {}) do -- whose files were edited
  prog:rebuild()
end

--- Program:asm
local prog = cl.build "kernel void f(global int *x) { *x = 1; }"
local ok, text = pcall(prog.asm, prog) -- an error where there is none
print(text)

--- Program:close
local prog <close> = cl.build "kernel void f(void) {}"
prog:close()

--- Kernel:info
local k = cl.kernel "kernel void f(global float *x, int n) { x[n] = 0; }"
print(k.args[2].name, k.args[2].type) --> n int
print(k.work_group_size >= 1, k.preferred_multiple >= 1) --> true true

--- cl.record
local k = cl.kernel [[
kernel void halve(global float *x, float least) {
  int i = get_global_id(0);
  x[i] = max(x[i] / 2, least);
}]]
local x, y = cl.buffer("float", 100, 64), cl.buffer("float", 100)
local steps = cl.record(function()
  k:range(100)(x, 1)
  y:set(x + 1)
end)
for _ = 1, 3 do
  steps()
end
print(#steps, x:read()[1], y:read()[1]) --> 2 8.0 9.0

--- CommandBuffer:run
local k = cl.kernel "kernel void one(global int *x) { x[0] += 1; }"
local x = cl.buffer("int", 1, 0)
local steps = cl.record(function()
  k:range(1)(x)
  k:range(1)(x)
end)
local q = cl.queue()
local first = steps:run{queue = q}
local last = steps:run{after = first} -- on the default queue
print(last:wait().status, x:read()[1], last.ms > 0) --> complete 4 true

--- CommandBuffer:info
local k = cl.kernel "kernel void one(global int *x) { x[0] += 1; }"
local x = cl.buffer("int", 1, 0)
local steps = cl.record(function() k:range(1)(x) end)
print(steps:info().kernels[1], steps:info().native) --> one false

--- CommandBuffer:close
local k = cl.kernel "kernel void one(global int *x) { x[0] += 1; }"
local x = cl.buffer("int", 1, 0)
local steps <close> = cl.record(function() k:range(1)(x) end)
steps():wait()
steps:close() -- and its kernel objects are gone

--- Kernel:range
local k = cl.kernel [[
kernel void index(global int *x, int ld) {
  int j = get_global_id(0), i = get_global_id(1);
  x[i * ld + j] = 10 * i + j;
}]]
local x = cl.buffer("int", {4, 8})
local launch = k:range({8, 4}, {4, 2}) -- 8 columns, 4 rows
launch(x, 8)
print(x:read():at(3, 8)) --> 27

--- Kernel:close
local k <close> = cl.kernel "kernel void f(void) {}"
k:close()

--- Launch:on
local k = cl.kernel "kernel void add(global int *x) { (*x)++; }"
local q <close> = cl.queue{out_of_order = true}
local x = cl.buffer("int", 1, 0)
local first = k:range(1):on(q)(x)
local second = k:range(1):on(q, {after = {first}})(x)
second:wait()
print(x:read()[1]) --> 2

--- Launch:work
local k = cl.kernel "kernel void f(global float *x) { x[0] *= 2; }"
local launch = k:range(1):work{flop = 1, bytes = 8}
local event = launch(cl.buffer("float", 1, 3)):wait()
print(event.flop, event.bytes) --> 1 8

--- Launch:info
local launch = cl.kernel("kernel void f(void) {}"):range({8, 4}, {4, 2})
print(launch.global[1], launch.localsize[2]) --> 8 2

--- Launch:close
local launch <close> = cl.kernel("kernel void f(void) {}"):range(1)
launch:close()

--- cl.bytes
local k = cl.kernel [[
typedef struct { int n; float a; } Pair;
kernel void put(Pair p, global float *x) { *x = p.n * p.a; }]]
local x = cl.buffer("float", 1)
k:range(1)(cl.bytes(string.pack("<i4f", 3, 0.5)), x)
print(x:read()[1]) --> 1.5

--- cl.localmem
local k = cl.kernel [[
kernel void reverse(global int *x, local int *tile) {
  int i = get_local_id(0), n = get_local_size(0);
  tile[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = tile[n - 1 - i];
}]]
local x = cl.buffer("int", 4, function(i) return i end)
k:range(4, 4)(x, cl.localmem("int", 4))
print(x:read()[1]) --> 4

--- cl.any
local k = cl.kernel "kernel void bits(global uint *x) { *x = 0x3f800000; }"
local x = cl.buffer("float", 1)
k:range(1)(cl.any(x)) -- a float buffer for a uint parameter
print(x:read()[1]) --> 1.0

--- cl.base
local k = cl.kernel "kernel void put(global int *x, int at) { x[at] = 9; }"
local A = cl.buffer("int", {4, 4}, 0)
local B = A:sub(2, 2)
k:range(1)(cl.base(B), B.start)
print(A:read():at(2, 2)) --> 9

--- cl.sleep
cl.sleep(0.01)

--- cl.build_il
if (cl.device().il_version or "") ~= "" then
  local f <close> = io.open("kernels.spv", "rb")
  local p = f and cl.build_il(f:read "a", {constants = {[0] = 16}})
  print(p and p:kernels())
end

--- cl.compile
local pair = cl.compile([[
  #include "factor.h"
  int scaled(int x) { return FACTOR * x; }]],
  {headers = {["factor.h"] = "#define FACTOR 2"}})
print(#pair:kernels()) --> 0

--- cl.link
local a = cl.compile "int twice(int x) { return 2 * x; }"
local b = cl.compile [[
  int twice(int x);
  kernel void f(global int *x) { x[0] = twice(x[0]); }]]
local x = cl.buffer("int", 1, 21)
cl.link{a, b}.f:range(1)(x)
print(x:read()[1]) --> 42

--- Kernel:uses
if cl.device().svm_capabilities then
  local node = cl.struct "struct node {global struct node *next; int x;};"
  local b = cl.buffer("uchar", {2, node.size}, 0, {svm = true})
  node:write(b, {{next = b.address + node.size, x = 1}, {x = 2}})
  local k = cl.kernel(node.source .. [[
    kernel void last(global struct node *n, global int *x) {
      while (n->next != 0) n = n->next;
      *x = n->x;
    }]])
  local x = cl.buffer("int", 1)
  k:uses{b}:range(1)(b, x)
  print(x:read()[1]) -- 2
end

--- Kernel:sub_groups
local k = cl.kernel "kernel void one(global int *x) { x[0] = 1; }"
local fine, groups = pcall(k.sub_groups, k, {16, 16})
print(fine and groups.size or k.preferred_multiple) -- 32, say

--- cl.unfinished
local list = cl.unfinished() -- of kernels that still run
print(#list) --> 0

--- Launch:work
local k = cl.kernel "kernel void twice(global float *x) { *x *= 2; }"
local x = cl.buffer("float", 1000, 1)
local launch = k:range(1000):work{flop = 1000, bytes = 8000}
print(launch(x)) -- with GFLOPS and GB/s

--- cl.explain_build
-- cl.explain_build(function(e) e.message = e.device .. ": " .. e.log end)
print(type(cl.explain_build)) --> function

--- check
local k = cl.kernel [[
kernel void shift(global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = x[i + 1];
}]]
local x, y = cl.buffer("float", 65, 1), cl.buffer("float", 64)
print(check(k:range(64), x, y).ok) --> true
print(check(k:range(64), x:view(1, 64), y)) -- "read outside 'x': x[64]"
print(check("gemm.tiled", {shapes = {{5, 17, 3}}}).ok) --> true

--- cl.launched
-- cl.launched(function(launch, ...) print(launch, ...) end)
print(type(cl.launched)) --> function

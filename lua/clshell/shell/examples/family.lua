-- shell/examples/family.lua - examples that help shows: kernel families, rungs
-- SPDX-License-Identifier: MIT

--- gemm
local A, B = matrix.random(64, 32), matrix.random(32, 48)
local C, event = gemm(A, B)
print(C.rows, C.cols) --> 64 48
gemm(A, B, {kernel = "tiled", tile = 8, C = C, alpha = 2, beta = 1})

--- transpose
local B, event = transpose(matrix.random(20, 30), {kernel = "tiled"})
print(B.rows, B.cols) --> 30 20

--- reduce
local y = reduce({3, 1, 2})
print(y:read()[1], reduce({3, 1, 2}, {op = "max"}):read()[1]) --> 6.0 3.0

--- scan
local y = scan({1, 2, 3, 4}, {kind = "exclusive"})
print(y:read()[4], scan{1, 2, 3, 4}:read()[4]) --> 6.0 10.0

--- sort
local y = sort{3, 1, 2}
print(y:read()[1], sort({3, 1, 2}, {order = "descending"}):read()[1])
--> 1.0 3.0
local index = cl.buffer("uint", 3)
sort({30, 10, 20}, {index = index})
print(index:read()[1]) --> 2

--- gemv
local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
print(gemv(A, {1, 1, 1}):read()[2]) --> 15.0
print(#gemv(A, {1, 1}, {trans = true, alpha = 2})) --> 3

--- stencil
local A = cl.buffer("float", {3, 3}, {{0, 1, 0}, {2, 9, 3}, {0, 4, 0}})
print(stencil(A):read():at(2, 2)) --> 2.5
local laplace = {centre = -4, left = 1, right = 1, up = 1, down = 1}
print(stencil(A, laplace):read():at(2, 2)) --> -26.0

--- conv2d
local A = matrix.ones(5, 6)
local B = conv2d(A, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}})
print(B:read():at(3, 3), B:read():at(1, 1)) --> 9.0 4.0

--- family.new
local family = require "clshell.ladder"
local axpy = family.new{
  name = "axpy", help = "z = alpha x + y.",
  arguments = {{"x", "n"}, {"y", "n"}}, output = {"z", "n"},
  options = {{name = "alpha", default = 1, help = "factor of x"}},
  terms = function() return 2 end,
  flop = function(s) return 2 * s.n end,
  reference = function(h, s)
    local z = {}
    for i = 1, s.n do z[i] = s.alpha * h.x[i] + h.y[i] end
    return z
  end,
  rungs = {{
    name = "plain", lesson = "one work-item for each element",
    range = function(s) return s.n end,
    source = [[
kernel void axpy(int n, global const REAL *x, global const REAL *y,
                 global REAL *z, REAL alpha) {
  int i = get_global_id(0);
  z[i] = alpha * x[i] + y[i];
}]],
  }},
}
local z = axpy({1, 2}, {10, 20}, {alpha = 3})
print(z:read()[2], axpy.verify("plain", {1000}).ok) --> 26.0 true
print(bench("axpy", {100000}).ok) --> true

--- family.rung
local rung = gemm.rung "tiled"
print(rung.name, rung.params[1].name, rung.params[1].default) --> tiled tile 16

--- family.kernels
print(gemm.kernels()[1].name) --> naive_global

--- family.define
gemm.define{
  name = "plain", lesson = "one work-item for each element of C",
  source = [[
kernel void plain(int M, int N, int K, REAL alpha,
                  global const REAL *A, int lda,
                  global const REAL *B, int ldb, REAL beta,
                  global REAL *C, int ldc) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= M || j >= N) return;
  REAL sum = 0;
  for (int k = 0; k < K; k++) sum += A[i * lda + k] * B[k * ldb + j];
  C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
}]],
  params = {{name = "size", values = {8, 4}, help = "side of a work-group"}},
  range = function(s, p)
    local function up(n) return (n + p.size - 1) // p.size * p.size end
    return {up(s.n), up(s.m)}, {p.size, p.size}
  end,
}
local result = gemm.verify("plain", {size = 4},
  {A = matrix.random(33, 20), B = matrix.random(20, 17)})
print(result.ok) --> true

--- family.plan
local A, B = matrix.random(64), matrix.random(64)
local plan = gemm.plan(A, B, {kernel = "tiled"})
plan():wait() -- runs it; as often as wanted
print(plan.output.rows, plan.rung.name) --> 64 tiled

--- gemm.pack
local A, B = matrix.random(64, 512), matrix.random(512, 512)
local on_cpu = cl.device().type == "cpu"
local P <close> = gemm.pack(B, {kernel = on_cpu and "simd" or "nv_fp16x3"})
print(gemm(A, P).cols, P.bytes > B.bytes) --> 512 true

--- gemm.out_of_core
local npy = require "clshell.npy"
npy.save("a.npy", cl.array("float", {300, 200}):random(1))
local B = cl.array("float", {200, 100}):random(2)
local path, run = gemm.out_of_core("a.npy", B, {C = "c.npy", memory = 2 << 20})
print(npy.load(path).rows, run.ok) --> 300 true
print(run)

--- family.choice
local choice = gemm.choice{m = 512, n = 512, k = 512, type = "float"}
print(choice.rung.name, choice)

--- family.choices
print(#gemm.choices() > 1) --> true

--- family.keep
local r = bench("transpose.tiled", {64}, {tile = 8}, {effort = "quick"})
local row = transpose.keep(r, "an example")
print(transpose.choice{rows = 64, cols = 64}.rung) --> tiled
transpose.forget()

--- family.kept
print(#spmv.kept()) --> 0

--- family.forget
print(spmv.forget()) --> 0

--- family.check
local ok, why = gemm.check("tiled_constant", nil,
  {m = 4096, n = 4096, k = 4096, type = "float"})
print(ok, why)

--- family.verify
local r = gemm.verify("tiled", {tile = 8},
  {A = matrix.random(33), B = matrix.random(33)})
print(r.ok, r.err <= r.bound) --> true true

--- family.bench
local r = gemm.bench("tiled", {tile = 8},
  {A = matrix.random(64), B = matrix.random(64)}, {seconds = 0.05})
print(r.status, r.gflops)

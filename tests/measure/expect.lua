-- tests/measure/expect.lua - the results that a launch must have: bench,
-- compare and tune refuse a rate where they are wrong
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local check = require "clshell.check"
local cl = require "cl"
local compare = require "clshell.measure.compare"
local expect = require "clshell.measure.expect"
local gemm = require "clshell.gemm"
local matrix = require "clshell.matrix"
local tune = require "clshell.tune"

-- Whether two lists are equal.
local function same(got, right, words)
  local list = {}
  for i = 1, #right do
    list[i] = tostring(got[i])
    right[i] = tostring(right[i])
  end
  t.eq(table.concat(list, " "), table.concat(right, " "), words)
end

t.device()
t.keeps("Program", "Kernel", "Launch")

local N <const> = 24
local SOURCE = [[
kernel void mm(global const float *A, global const float *B,
    global float *C, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s;
}
kernel void rough(global const float *A, global const float *B,
    global float *C, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s * 1.0001f;
}
kernel void part(global const float *A, global const float *B,
    global float *C, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
  if (i != 5) C[i * n + j] = s;
}
kernel void zeros(global const float *A, global const float *B,
    global float *C, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  C[i * n + j] = i + j ? 0.0f : A[0] * B[0];
}
kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }
kernel void count(global const int *x, global int *y) {
  int i = get_global_id(0);
  if (x[i] >= 0) y[i] = x[i] + 1;
}
kernel void low(global const int *x, global uchar *y) {
  y[get_global_id(0)] = x[get_global_id(0)];
}
kernel void low_but_5(global const int *x, global uchar *y) {
  if (get_global_id(0) != 5) y[get_global_id(0)] = x[get_global_id(0)];
}
kernel void shift(global const float4 *x, global float4 *y, float a) {
  int i = get_global_id(0);
  y[i] = x[i] + a;
  if (i == 2) y[i].y = 0;
}]]
local program = cl.build(SOURCE)
local A, B = matrix.random(N), matrix.random(N, N, {seed = 2})
local C = matrix.zeros(N)

local kernels = {}

local function kernel(name)
  return kernels[name]
end

for _, name in ipairs(program:kernels()) do
  kernels[name] = program:kernel(name)
end

-- The verdict on a product.
local function product(name, right, opts)
  opts = opts or {}
  opts.expect = right
  local launch = kernel(name):range{N, N}
  local e = expect.new("test", launch, {A, B, C, N, n = 4}, opts)
  e:poison()
  launch(A, B, C, N):wait()
  return e:verdict()
end

local function of_gemm(x)
  return gemm(x.A, x.B)
end

t.test("a product is compared with gemm, a Buffer, a plain kernel", function()
  local right = gemm(A, B)
  for _, way in ipairs{of_gemm, right, right:read(), right + 0,
      kernel "mm":range{N, N}, {C = right}, {[C] = right},
      function(x) return {C = gemm(x.A, x.B)} end} do
    local good, bad = product("mm", way), product("zeros", way)
    t.ok(good.ok, good.message)
    t.ok(not bad.ok and bad.wrong > 0.9 * N * N, bad.message)
    local part = product("part", way)
    t.eq(part.unwritten, N)
    t.ok(part.message:find("never written", 1, true), part.message)
    t.ok(part.message:find("C[5, 0] = NaN", 1, true), part.message)
  end
end)

t.test("NaN that is expected must be written, in vectors as well", function()
  local p = cl.build [[
    kernel void none(global float *y, int n) { if (n == 7) y[0] = NAN; }
    kernel void each(global float *y, int n) { y[get_global_id(0)] = NAN; }
    kernel void ints(global int4 *y, int n) { if (n == 7) y[0] = 7; }]]
  local nans, ones = {}, {}
  for i = 1, 16 do
    nans[i], ones[i] = 0 / 0, 1
  end
  for name, unwritten in pairs{none = 16, each = 0, ints = 16} do
    local launch = p:kernel(name):range{16}
    local y = name == "ints" and cl.buffer("int4", 4) or cl.buffer("float", 16)
    local e = expect.new("test", launch, {y, 1, n = 2}, {expect =
      name == "ints" and ones or nans})
    e:poison()
    launch(y, 1):wait()
    t.eq(e:verdict().unwritten, unwritten, name)
  end
end)

t.test("the bound comes from |A||B|, or from the plain kernel's own error",
    function()
  local v = product("rough", of_gemm)
  t.ok(not v.ok and v.bound < 5e-6, v.message)
  if cl.device():has "cl_khr_fp64" then
    v = product("rough", kernel "mm":range{N, N})
    t.ok(not v.ok and v.bound < 1e-5, v.message)
    t.ok(v.mode:find("in double", 1, true), v.mode)
  end
  t.ok(product("rough", of_gemm, {tolerance = 1e-2}).ok == false,
    "the family's bound stands")
  t.ok(product("rough", gemm(A, B), {tolerance = 1e-3}).ok)
end)

t.test("a huge element excuses none of the others", function()
  local got = cl.array("float", 8, {1e30, 1, 1, 1, 1, 1, 1, 1})
  local right = cl.array("float", 8, {1e30, 1, 1, 2, 1, 1, 1, 1})
  local v = expect.compare(got, right, nil, nil, "y")
  same({v.wrong, v.worst[1].place}, {1, "y[3]"})
  t.eq(expect.compare(right, right).ok, true)
  local nan = cl.array("float", 2, {0 / 0, 1})
  t.eq(expect.compare(nan, nan).ok, true)
  t.eq(expect.compare(cl.array("float", 2, 1), nan).wrong, 1)
  t.eq(expect.compare(nan, cl.array("float", 2, 1)).wrong, 1)
end)

t.test("integers and vectors are compared by component", function()
  local x, y = cl.buffer("int", 100), cl.buffer("int", 100)
  local list = {}
  for i = 1, 100 do
    list[i] = i % 10 == 0 and -i or i
  end
  x:write(list)
  local launch = kernel "count":range(100)
  local e = expect.new("test", launch, {x, y, n = 2}, {expect = x + 1})
  e:poison()
  launch(x, y):wait()
  local v = e:verdict()
  same({v.wrong, v.unwritten}, {10, 10}, v.message)
  t.ok(v.worst[1].expected < 0, v.message)
  local p, q = cl.buffer("float4", 6), cl.buffer("float4", 6)
  p:fill{1, 2, 3, 4}
  local right = cl.buffer("float4", 6)
  right:fill{2, 3, 4, 5}
  launch = kernel "shift":range(6)
  e = expect.new("test", launch, {p, q, 1.0, n = 3}, {expect = right})
  e:poison()
  launch(p, q, 1.0):wait()
  v = e:verdict()
  same({v.wrong, v.worst[1].place, v.worst[1].expected},
    {1, "y[2].s1", 3.0})
end)

t.test("results of an earlier run excuse no small integer", function()
  local x, y = cl.arange(0, 400):astype("int"):eval(), cl.buffer("uchar", 400)
  kernel "low":range(400)(x, y):wait()
  for name, wrong in pairs{low = 0, low_but_5 = 1} do
    local launch = kernel(name):range(400)
    local e = expect.new("test", launch, {x, y, n = 2},
      {expect = kernel "low":range(400)})
    e:poison()
    launch(x, y):wait()
    t.eq(e:verdict().wrong, wrong, name)
  end
end)

t.test("an output that the kernel reads keeps its content", function()
  local x = cl.buffer("float", 16, 3)
  local launch = kernel "twice":range(16)
  for _, opts in ipairs{{expect = x * 2, inout = true},
      {expect = launch}, {expect = {x = 6}, inout = "x"},
      {expect = 6, inout = {"x"}}} do
    opts.effort, opts.args, opts.roof = "quick", {x}, false
    opts.seconds = 0.02
    x:fill(3)
    local r = bench(launch, opts)
    t.eq(r.status, "ok", tostring(r))
  end
  x:fill(3)
  local r = bench(launch, {args = {x}, expect = 6, effort = "quick"})
  t.eq(r.status, "wrong")
end)

t.test("bench gives a wrong launch no rate, and says by which rule", function()
  local function run(name, opts)
    opts.args, opts.seconds, opts.flop = {A, B, C, N}, 0.02, 2 * N^3
    opts.effort, opts.roof = "quick", false
    return bench(kernel(name):range{N, N}, opts)
  end
  local good = run("mm", {expect = of_gemm})
  same({good.status, good.verify},
    {"ok", "all elements (as gemm.verify compares)"})
  t.ok(good.gflops > 0 and good.err < good.err_bound)
  local bad = run("zeros", {expect = of_gemm})
  same({bad.status, bad.gflops}, {"wrong", nil})
  t.ok(bad.error:find("elements of C", 1, true), bad.error)
  t.ok(bad.worst[1].expected > 0)
  local open = run("mm", {})
  t.eq(open.verify, "unchecked")
  t.ok(tostring(open):find("unchecked", 1, true))
  local ran = bench(function()
    return kernel "mm":range{N, N}(A, B, C, N)
  end, {expect = {[C] = gemm(A, B)}, seconds = 0.02, effort = "quick",
    roof = false})
  t.eq(ran.status, "ok")
end)

t.test("a launch that works only at first is wrong after its samples",
    function()
  local y, state = cl.buffer("int", 1), cl.buffer("int", 1, 0)
  local k = cl.kernel [[
kernel void once(global int *y, global const int *state) {
  global int *s = (global int *)state;
  if (s[0]++ < 1) y[0] = 7;
}]]
  local r = bench(k:range(1), {args = {y, state}, expect = 7, effort = "quick",
    seconds = 0.02, roof = false})
  t.eq(r.status, "wrong")
end)

t.test("compare raises for a wrong side and names unchecked sides", function()
  local launch, opts = kernel "mm":range{N, N}, {args = {A, B, C, N}}
  local limits = {expect = of_gemm, rounds = 8, seconds = 0.05,
    least = 0.0001}
  t.raises(function()
    compare({launch, opts}, {kernel "zeros":range{N, N}, opts}, limits)
  end, "compare: zeros is wrong")
  local c = compare({launch, opts}, {launch, opts}, limits)
  t.ok(c.verify_a:find "^all elements" and c.verify_b:find "^all elements")
  limits.expect = nil
  c = compare({launch, opts}, {launch, opts}, limits)
  t.ok(tostring(c):find("unchecked: the results of both", 1, true))
end)

t.test("tune does not crown a kernel that is wrong", function()
  local source = SOURCE:match("kernel void mm.-\n}"):gsub("= s;",
    "= W == 2 && i > 0 ? 0 : s;")
  local best = tune{kernel = source, params = {w = {1, 2}},
    args = {A, B, C, N}, range = {N, N}, expect = of_gemm, worker = false,
    quiet = true, evaluations = 2, fresh = true}
  local rows = {}
  for _, row in ipairs(best.rows) do
    rows[row.point.w] = row.status
  end
  same(rows, {"ok", "wrong"})
end)

t.test("check runs a launch on copies and compares its results", function()
  local function checked(name, opts)
    return check(kernel(name):range{N, N}, A, B, C, N, opts)
  end
  C:fill(0)
  for _, guard in ipairs{false, true} do
    local good = checked("mm", {expect = of_gemm, guard = guard})
    t.ok(good.ok, tostring(good))
    local bad = checked("part", {expect = kernel "mm":range{N, N},
      guard = guard})
    t.ok(not bad.ok and tostring(bad):find("wrong: 24 of 576 elements of C",
      1, true), tostring(bad))
  end
  t.eq(C:read():summary().max, 0)
  t.raises(function() checked("mm", {expect = of_gemm, shrink = true}) end,
    "expect is of the whole launch")
end)

t.test("mistakes in expect are named", function()
  local function refused(right, words, opts)
    t.raises(function()
      product("mm", right, opts)
    end, words)
  end
  t.raises(function()
    expect.new("test", kernel "mm":range{N, N}, {A, B, C:read(), N, n = 4},
      {expect = C})
  end, "test: argument 3 'C' must be a Buffer; got Array")
  refused({D = 1}, "'D' is no Buffer that the launch writes")
  refused({1, 2}, "expect has 2 numbers, C has 576")
  refused("gemm", "expect must be a Buffer")
  refused(C, "would be compared with itself")
  refused(of_gemm, "tolerance must be a number >= 0", {tolerance = "x"})
  refused(function()
    error "mine"
  end, "mine")
  t.raises(function()
    bench("gemm.tiled", 16, nil, {expect = 3})
  end, "compared with the reference of gemm")
  t.raises(function()
    bench(kernel "mm":range{N, N}, {args = {A, B, C, N}, expect = 1,
      check = print})
  end, "check or expect, not both")
end)

t.done()

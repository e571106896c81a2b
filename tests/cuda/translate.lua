-- translate.lua - CUDA texts as OpenCL C: the words, the spaces of pointers,
-- the lines; what has no translation, and where messages point
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local cuda = require "clshell.cuda"
local words = require "clshell.cuda.words"

t.keeps("Device", "Context", "Queue")

local function all()
  return true
end

-- The OpenCL C of the body of a kernel with parameters float *a, int n.
local function body(code, opts)
  local info, log = cuda.translate("__global__ void k(float *a, int n) {"
    .. code .. "}", opts)
  t.ok(info, log)
  return info.opencl:match "kernel void k%(.-%) {(.*)}$"
end

-- Fails unless the text has each of the pieces.
local function has(text, ...)
  for _, piece in ipairs{...} do
    t.ok(text:find(piece, 1, true), ("no %q in:\n%s"):format(piece, text))
  end
end

-- The log of a text that has no translation.
local function refused(source, opts)
  local info, log = cuda.translate(source, opts)
  t.eq(info, nil, source)
  return log
end

local function need_device()
  t.skip_if(#cl.devices() == 0, "no OpenCL device")
end

t.test("words", function()
  t.eq(body "int i = threadIdx.x;", "int i = (uint)get_local_id(0);")
  t.eq(body "a[gridDim.z] = sqrtf(a[blockIdx.y]);",
    "a[(uint)get_num_groups(2)] = sqrt(a[(uint)get_group_id(1)]);")
  t.eq(body "p.threadIdx = sqrtf; /* sqrtf */ // threadIdx.x",
    "p.threadIdx = sqrt; /* sqrtf */ // threadIdx.x")
  for _, word in ipairs{"", "_block", "_system"} do
    t.eq(body("__threadfence" .. word .. "();"),
      "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
  end
  t.eq(body "float x = __ldg(&a[n]) + float(n) * (float)n;",
    "float x = (*(&a[n])) + (float)(n) * (float)n;")
  t.eq(body "unsigned long long x = 3ull; long long int y = 4LL;",
    "unsigned long x = 3uL; long int y = 4L;")
  t.eq(body "const int m = n; const int T = 4; float s[T];",
    "const int m = n; enum { T = 4 }; float s[T];")
end)

t.test("arguments are converted as in C++, where they may have to", function()
  t.eq(body "a[0] = fmaxf(a[n], -2.0f) + fminf(2 * a[1], fabsf(a[0]));",
    "a[0] = fmax(a[n], -2.0f) + fmin(2 * a[1], fabs(a[0]));")
  t.eq(body "a[0] = fmaxf(0.0, a[n + 1]) + sqrtf(n) + sqrtf(n + 1);",
    "a[0] = fmax((float)0.0, a[n + 1]) + sqrt((float)n) + "
    .. "sqrt((float)(n + 1));")
  t.eq(body "float4 v; short s; a[0] = ldexpf(v.x, n) + __clz(s) + __clz(n);",
    "float4 v; short s; a[0] = ldexp(v.x, n) + (int)clz((int)s) + "
    .. "(int)clz(n);")
  t.eq(body "unsigned int u; n = __umulhi(u, n) + __popc(u) + abs(n);",
    "unsigned int u; n = mul_hi(u, (uint)n) + (int)popcount(u) + "
    .. "cuda_abs(n);")
  has(cuda.translate([[
#define ROOT(x) sqrtf(x)
#define SAY(x) printf("%lld", x)
__device__ int abs(int x) { return -x; }
__global__ void k(float *o) { SAY(1); o[0] = abs(ROOT(2)); }]]).opencl,
    "#define ROOT(x) sqrt((float)(x))", 'printf("%ld", x)', "o[0] = abs(ROOT")
end)

t.test("formats, enums, halves without arithmetic", function()
  t.eq(body [[printf("%lld %-8llu %d%% %%lld %zu %.3f %08llx\n", 1LL);]],
    [[printf("%ld %-8lu %d%% %%lld %lu %.3f %08lx\n", 1L);]])
  has(cuda.translate([[
enum { N = 4, M };
enum Color { RED };
__global__ void k(float *o, Color c) { __shared__ float s[N]; }]]).opencl,
    "enum { N = 4, M };\n", "typedef enum Color { RED } Color;")
  local source = "__global__ void k(const __half *a, __half *b, float *o) {"
    .. "if (o) b[threadIdx.x] = __float2half(o[0]); *b = __float2half(1);"
    .. "o[0] = __half2float(a[threadIdx.x]); }"
  has(cuda.translate(source).opencl,
    "if (o) cuda_store_half(&(b[(uint)get_local_id(0)] ), (o[0]));",
    " cuda_store_half(&(*b ), (1));",
    "o[0] = vload_half(0, &(a[(uint)get_local_id(0)]));")
  has(cuda.translate(source, {has = all}).opencl, "convert_float(a[",
    "convert_half(o[0])")
  has(refused "__global__ void k(float *o) { o[0] = 1 + __float2half(2); }",
    "CUDA: __float2half; here: vstore_half")
end)

t.test("shared memory that is cut into parts is aligned", function()
  has(cuda.translate([[
extern __shared__ __align__(16) unsigned char s[];
__device__ float first() { return *(float *)s; }
__global__ void k(float *o) { o[0] = first(); }]]).opencl,
    "typedef struct { ulong2 all; } cuda_shared;",
    "float first(local uchar *s)",
    "local cuda_shared *s_) { local uchar *s = (local uchar *)s_;")
  has(cuda.translate([[
__global__ void k(float *o) { extern __shared__ float s[]; o[0] = s[0]; }]])
    .opencl, "local float *s)")
end)

t.test("a macro's words, and lines that go on", function()
  local info = cuda.translate "#define I (threadIdx.x + \\\n  blockIdx.x)\n\z
    __global__ void k(float *a) {\n  a[I] = 1;\n}\n"
  t.eq(info.opencl, "#define I ((uint)get_local_id(0) + \\\n  \z
    (uint)get_group_id(0))\nkernel void k(global float *a) {\n  a[I] = 1;\n\z
    }\n")
end)

t.test("a pointer's space is that of its values", function()
  has(body "float *p = a + n; *p = 0;", "global float *p = a")
  has(body "__shared__ float s[8]; float *p, *q = &s[n]; p = s;",
    "local float *p, *q")
  has(body "float x; float *p = &x;", "float *p")
  t.ok(not body "float x; float *p = &x;":find "%a+ float %*p")
  has(body "const float4 *p = (const float4 *)(a + 4);",
    "global const float4 *p = (global const float4 *)(a")
  has(body "float v[2] = {a[0] * n, a[1] * n};", "{a[0] * n, a[1] * n}")
  local info = cuda.translate [[
__device__ float *at(float *p, int i) { return p + i; }
__device__ void swap(int &x);
__device__ float unused(float *p) { return *p; }
__device__ void fill(float *p, float *q) { *at(q, 1) = *p; }
__global__ void k(float *a) { __shared__ float s[4]; fill(s, a); }]]
  t.eq(info, nil, "a reference")
  info = cuda.translate [[
__device__ float *at(float *p, int i) { return p + i; }
__device__ float unused(float *p) { return *p; }
__device__ void fill(float *p, float *q) { *at(q, 1) = *p; }
__global__ void k(float *a) { __shared__ float s[4]; fill(s, a); }]]
  has(info.opencl, "global float *at(global float *p, int i)",
    "float unused(global float *p)", "fill(local float *p, global float *q)")
end)

t.test("a pointer into any memory wants OpenCL C 3.0", function()
  local source = [[
__device__ float get(const float *p) { return *p; }
__global__ void k(float *a) { __shared__ float s[4]; a[0] = get(s) + get(a); }
]]
  has(refused(source), "<kernel>:1:22: error: CUDA: a pointer to any memory, "
    .. "p; here: one to global and one to local memory each, so write it "
    .. "twice")
  has(cuda.translate(source, {options = "-cl-std=CL3.0"}).opencl,
    "float get(const float *p)")
end)

t.test("vectors of three, whose size differs, get a note", function()
  local info = cuda.translate [[

__global__ void k(const float3 *p, half *h) {}]]
  t.eq(#info.notes, 1)
  has(info.notes[1].text, "CUDA: float3 p, three numbers each; here: four",
    "vload3(i, p)")
  t.eq(info.notes[1].line, 2)
  has(info.opencl, "global half *h")
end)

t.test("vectors of three that have another size here", function()
  for _, code in ipairs{"reinterpret_cast<const float3 *>(a)[0]",
    "((float3 *)a)[n].x", "((const int3*const)a)[n].x",
    "((vec3 *)a)[n].x", "*(volatile uchar3 *)a"} do
    has(refused("typedef float3 vec3;\n__global__ void k(float *a, int n) "
      .. "{ a[n] = " .. code .. "; }"), "three numbers; here: four, so take a "
      .. "pointer to ", "vload3(i, p)")
  end
  local info = cuda.translate [[
struct S { float3 x; float3 *p; };
__device__ float3 f(float3 *p, float3 q) { float3 s[2]; return s[0]; }
__global__ void k(S *s) {}]]
  t.eq({#info.notes, info.notes[1].line}, {1, 1})
  has(info.notes[1].text, "CUDA: float3 in a struct")
end)

-- The log of sizeof of an expression of many types; nil: it is translated.
local function size_log(expression)
  local _, log = cuda.translate(([[
#define V3 float3
typedef float3 vec3; typedef const int3 iv; typedef float3 *pv;
struct S { float3 a; float b; float3 *p; float q[3]; V3 arr[2];
  enum K { A } k; struct { int i; } in; struct { int3 i; } on; };
typedef struct { S s; int n; } T;
typedef struct { float x, y, z; } F;
__constant__ float3 cc[4];
__device__ float3 f(float3 x);
__device__ float3 *g(float3 *x);
__device__ float h(float3 x);
__global__ void k(float *a, int n, S *s, F *ff, float3 *p) {
  float3 v, w[4]; vec3 u; float3 *q = p; T t; float z; F fo; double3 d;
  char3 c, *cp; pv r;
  a[0] = sizeof %s;
}]]):format(expression))
  return log
end

t.test("the size of vectors of three, by any name", function()
  for x in ([[v;w;w[0];u;vec3;V3;iv;S;T;t;s->a;(*s).a;s[0].a;t.s.a;s->p[1]
*s->p;s->arr;s->on;*p;p[0];p[n];*q;d;c;*cp;cp[1];v + u;f(v);n ? v : u;g(p)[0]
make_float3(1, 2, 3);cc;cc[1];*s;s[n];const float3;struct S;float3[4]
((v));float3;(*p)]]):gmatch "[^;\n]+" do
    has(size_log("(" .. x .. ")") or "none: " .. x, "<kernel>:14:10: error: "
      .. "CUDA: sizeof (" .. x, "they have four")
  end
  has(size_log "v" or "", "CUDA: sizeof v,")
  has(size_log "w / sizeof w[0]" or "", "CUDA: sizeof w")
  for x in ([[v.x;p;q;s;a;a[0];*a;z;v.x + u.y;s->b;s->q;s->p;s->k
s->in;float3 *;fo.x;F
    const float3 *;fo;ff[0];&v;s->a.x;(*s).a.x;w[0].x;p[1].y;p->x;(*p).x;n;r
    f(v).x;h(v);g(p);cp;float4;cc[2].x;a[sizeof(n)];w[n].x * z]]
  ):gmatch "[^;\n]+" do
    t.eq(size_log("(" .. x .. ")"), nil, x)
  end
  t.eq(size_log "n * dot(v, v)", nil)
end)

t.test("enums, and records in functions and records", function()
  local text = body([[struct S { enum Kind { A, B } k; }; S s; Kind z = A;]])
  has(text, "struct S s; enum Kind z = A;")
  has(cuda.translate [[
enum class L : unsigned { U, V = 7 };
struct P { enum Kind { A, B }; Kind k; };
__global__ void k(int *o) { P p; p.k = P::B; L l = L::V; o[0] = l; }]].opencl,
    "typedef enum L  { U, V = 7 } L;", "enum Kind k; } P;",
    "p.k = B; L l = V;")
  has(refused "enum Q : char { X };\n__global__ void k(int *o) {}",
    "<kernel>:1:8: error: CUDA: an enum of char; here: enums are int")
end)

t.test("all extern __shared__ of a kernel begin at one address", function()
  local info = cuda.translate [[
extern __shared__ float a[];
__device__ float get(int i) { return a[i]; }
__global__ void k(int *o) {
  extern __shared__ int b[];
  extern __shared__ double c[];
  o[0] = b[0] + get(1); c[0] = 1;
}
int main() { k<<<1, 64, 32>>>(x); }]]
  has(info.opencl, "local cuda_shared *a_) { local float *a = (local float "
    .. "*)a_; local int *b = (local int *)a_; local double *c")
  t.eq(info.launches[1].text,
    'k:range({64}, {64})(x, cl.localmem("float", 32 // 4))')
end)

t.test("functions of sub-groups, where the device has them", function()
  local code = "float v = a[n]; v += __shfl_down_sync(0xffffffff, v, 16); "
    .. "__syncwarp();"
  local text = body(code, {has = all})
  has(text, "sub_group_shuffle_down( v, 16)",
    "sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)")
  local log = refused("__global__ void k(float *a) {" .. code .. "}")
  has(log, "CUDA: __shfl_down_sync; here: an array in local memory",
    "cl_khr_subgroup_shuffle_relative")
end)

t.test("what is outside names the idiom here", function()
  local n = 0
  for _, entry in ipairs(words.list) do
    if entry.kind == "outside" and entry.word ~= "template"
        and entry.word ~= "namespace" and entry.word ~= "__managed__" then
      local log = refused(("__global__ void k(float *a) {\n  a[0] = %s;\n}")
        :format(entry.word))
      t.eq(log, ("<kernel>:2:10: error: CUDA: %s; here: %s"):format(
        entry.word, entry.said))
      n = n + 1
    end
  end
  t.ok(n > 40)
  for source, text in pairs{
    ["template <typename T> __global__ void k(T *a) {}"] = "CUDA: template",
    ["namespace x { __global__ void k() {} }"] = "CUDA: namespace",
    ["__managed__ float x[3]; __global__ void k() {}"] = "CUDA: __managed__",
    ["struct S { __device__ int f() { return 1; } };\n__global__ void k() {}"]
      = "CUDA: a struct with functions",
    ["__global__ void k(float **a) {}"] = "CUDA: float **a",
    ["__device__ void f(int &x) {}"] = "CUDA: a reference, int &x",
    ["__global__ void k(int *a) { k<<<1, 2>>>(a); }"] =
      "CUDA: a launch from a kernel",
    ["__device__ void f() { extern __shared__ int s[]; }"] =
      "CUDA: extern __shared__ in a __device__",
    ["__device__ void f() { __shared__ int s[3]; }"] =
      "CUDA: __shared__ in a __device__",
    ["#include \"k.cuh\"\n__global__ void k() {}"] = "CUDA: #include",
    ["kernel void k() {}"] = "CUDA: a text with a __global__ function",
    [""] = "CUDA: a text with a __global__ function",
  } do
    has(refused(source), text, "; here: ")
  end
end)

t.test("the host's code is left out, with the Lua for it", function()
  local info = cuda.translate [[
#include <iostream>
#include "helper_cuda.h"
using namespace std;
float *global_pointer;
static void check(cudaError_t e) { if (e) exit(1); }
__global__ void k(float *a, int n) {}
int main() {
  dim3 block(16, 16);
  dim3 grid((w + 15) / 16, (h + block.y - 1) / block.y);
  cudaMalloc((void **)&a, n * sizeof(float));
  cudaMemcpy(a, h, n, cudaMemcpyHostToDevice);
  k<<<grid, block>>>(a, n);
  k<<<1, n>>>(a, n / 2);
  k<<<dim3(2, 3), 8>>>(a, f(n, 1));
}]]
  local launches = {}
  for i, launch in ipairs(info.launches) do
    launches[i] = launch.line .. " " .. launch.text
  end
  t.eq(launches, {
    "12 k:range({(w + 15) // 16 * 16, (h + block.y - 1) // block.y * 16}, "
      .. "{16, 16})(a, n)",
    "13 k:range({n}, {n})(a, n // 2)",
    "14 k:range({2 * 8, 3}, {8, 1})(a, f(n, 1))"})
  local text = {}
  for i, note in ipairs(info.notes) do
    text[i] = note.line .. " " .. note.text
  end
  t.eq(#text, 5)
  has(text[1], "5 CUDA: cudaError_t; here: nothing")
  has(text[2], '10 CUDA: cudaMalloc; here: b = cl.buffer("float", n)')
  has(text[3], "11 CUDA: cudaMemcpy; here: b:write(h)")
  has(text[4], "11 CUDA: cudaMemcpyHostToDevice; here: b:write(h)")
  has(text[5], "12 CUDA: <<<>>>; here: ")
  t.eq((info.opencl:gsub("%s+", " ")),
    " kernel void k(global float *a, int n) {} ")
  local _, lines = info.opencl:gsub("\n", "")
  t.eq(lines, 14)
end)

t.test("an error points into the CUDA text", function()
  need_device()
  local e = t.raises(function()
    cl.build([[
__global__ void add(const float *a, float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i] + Missing;
  atomicAdd(&b[0], 1.0f);
}]], {cuda = true})
  end, "translate.lua:", "b[i] = a[i] + Missing;")
  local d = e.diagnostics[1]
  t.eq({d.line, d.column}, {2, 64})
  t.ok(e.cuda.opencl:find "get_group_id")
end)

t.test("min of two types names the cast", function()
  need_device()
  local ok, e = pcall(cl.build, [[
__global__ void k(int *a, int n) { a[0] = min(blockDim.x, n); }]],
    {cuda = true})
  t.skip_if(ok or not e.log:find "ambiguous",
    "the compiler takes min of two types")
  has(tostring(e), "CUDA: min; here: min of two values of one type")
  ok, e = pcall(cl.build, "__global__ void k(float *a, int n) "
    .. "{ a[0] = sqrt(n); }", {cuda = true})
  t.ok(ok or tostring(e):find("CUDA: sqrt; here: sqrt of reals", 1, true))
end)

t.test("a refused text fails as a build does", function()
  need_device()
  local e = t.raises(function()
    cl.build("__global__ void k(float *a) {\n  a[0] = warpSize;\n}",
      {cuda = true, name = "mine.cu"})
  end, "build error: 1 error", "2:10: error: CUDA: warpSize; here: ",
    "a[0] = warpSize")
  t.eq({e.name, e.program}, {"CL_BUILD_PROGRAM_FAILURE", "mine.cu"})
end)

t.test("without cuda = true, CUDA's words say what is here", function()
  need_device()
  t.raises(function()
    cl.build "__global__ void k(float *a) { a[0] = 1; }"
  end, "CUDA: __global__; here: kernel",
    "cuda = true in the options of cl.build")
  t.raises(function()
    cl.build "kernel void k(global float *a) { a[threadIdx.x] = 1; }"
  end, "CUDA: threadIdx; here: get_local_id(0)")
  local fine, e = pcall(cl.build,
    "kernel void k(global float *a) { __syncthreads(); }")
  t.ok(fine or tostring(e):find("CUDA: __syncthreads; here: barrier(", 1,
    true), e) -- NVIDIA's compiler knows the word
  e = t.raises(function()
    cl.build "kernel void k(global int *a) { a[blockIdx.x] = 1; }"
  end, "CUDA: blockIdx; here: get_group_id(0)")
  t.ok(not tostring(e):find "cuda = true")
end)

t.test("a .cu file is built as CUDA, and again when it changes", function()
  need_device()
  local path = t.tmp "add.cu"
  local function write(text)
    t.write(path, text)
  end
  write "__global__ void k(int *a) { a[threadIdx.x] = 1; }"
  local prog = cl.build(path)
  local b = cl.buffer("int", 2, 0)
  prog.k:range(2, 2)(b)
  t.eq(b:read()[2], 1)
  write "__global__ void k(int *a) { a[threadIdx.x] = threadIdx.x + 5; }"
  t.ok(prog:changed())
  prog:rebuild()
  prog.k:range(2, 2)(b)
  t.eq(b:read()[2], 6)
  write "__global__ void k(int *a) { a[0] = warpSize; }"
  t.raises(function() prog:rebuild() end, "CUDA: warpSize")
  prog.k:range(2, 2)(b)
  t.raises(function() cl.build(path, {cuda = false}) end, "CUDA: __global__")
  t.eq(cl.build("kernel void f() {}").cuda, nil)
  t.raises(function() cl.build(path, {cuda = 3}) end, "cuda")
end)

t.test("stock Lua has no translator", function()
  local lua = os.getenv "LUA" or "lua5.4"
  local code = [[cl = require 'cl'
    local ok, e = pcall(cl.build, '__global__ void f() {}', {cuda = true})
    print(e)]]
  if #cl.devices() == 0 then
    t.skip "no OpenCL device"
  elseif t.capture(lua .. " -v 2>&1"):find "not found" then
    t.skip(lua .. " is not installed")
  end
  has(t.capture(("LUA_CPATH='%s/?.so' %s -e %q 2>&1"):format(t.build, lua,
    code)), "clshell has the translator")
end)

t.test("never raises, whatever the text", function()
  local text = [[
#define T 4 \
  + 1
template <int N> struct P { float x; };
__constant__ float c[3], d; extern __shared__ float s[];
__device__ const float *f(const float *p, int (*q)[3]) { return p + c[0]; }
extern "C" { __global__ void k(float *a, int n = 2) {
  const int M = 3; __shared__ float t[M]; "a\"b"; 'c'; // x
  for (int i = 0; i < n; i++) t[i] = *f((float *)a, 0) + __ldg(&a[i]);
  atomicAdd(&t[0], static_cast<float>(n)); float4 *p = reinterpret_cast<
    float4*>(s); __shfl_sync(1, 2); } }
int main() { k<<<dim3(1, 2), {3}, 4>>>(a); dim3 g = dim3(1); k<<<g, g>>>(); }
]]
  for i = 0, #text do
    cuda.translate(text:sub(1, i), {has = all})
    cuda.translate(text:sub(i))
    cuda.translate(text:sub(1, i) .. "}])" .. text:sub(i + 2))
  end
  t.raises(cuda.translate, "cuda.translate", "source must be a string")
  t.raises(function() cuda.translate("", {has = 1}) end,
    "has must be a function; got 1")
end)

t.done()

-- kernels.lua - kernels of CUDA programs, built with cuda = true and run: the
-- results are compared with those of plain Lua.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Device")

local N = 200 -- elements; no multiple of a block

-- n numbers that floats hold exactly, of no order.
local function numbers(n, most)
  local list = {}
  for i = 1, n do
    list[i] = math.random(0, most or 15)
  end
  return list
end

local function floats(list)
  return cl.buffer("float", #list, list)
end

local function zeros(n, type)
  return cl.buffer(type or "float", n, 0)
end

local function build(source, options)
  options = options or {}
  options.cuda = true
  return cl.build(source, options)
end

-- Fails unless a buffer holds f(i), i from 0.
local function holds(b, f, tolerance)
  local got = b:read()
  for i = 1, #got do
    t.near(got[i], f(i - 1), tolerance or 1e-6, "element " .. i - 1)
  end
end

local function ceil_to(n, k)
  return (n + k - 1) // k * k
end

t.test("vector addition, a whole program", function()
  local prog = build [=[
#include <stdio.h>
#include <cuda_runtime.h>

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main(void)
{
  float *d_a, *d_b, *d_c;
  int n = 200;
  cudaMalloc(&d_a, n * sizeof(float));
  vadd<<<(n + 63) / 64, 64>>>(d_a, d_b, d_c, n);
  cudaDeviceSynchronize();
  return 0;
}
]=]
  local a, b, n = numbers(N), numbers(N), N
  local d_a, d_b, d_c = floats(a), floats(b), zeros(N)
  prog.vadd:range({(n + 63) // 64 * 64}, {64})(d_a, d_b, d_c, n)
  holds(d_c, function(i) return a[i + 1] + b[i + 1] end)
  t.eq(prog.cuda.launches, {{line = 16, name = "vadd", text =
    "vadd:range({(n + 63) // 64 * 64}, {64})(d_a, d_b, d_c, n)"}})
end)

t.test("saxpy with a loop over the grid", function()
  local prog = build [=[
__global__ void saxpy(size_t n, float a, const float *__restrict__ x,
                      float *__restrict__ y) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += blockDim.x * gridDim.x)
    y[i] = fmaf(a, x[i], y[i]);
}]=]
  local x, y = numbers(N), numbers(N)
  local by = floats(y)
  prog.saxpy:range(32, 16)(N, 3, floats(x), by)
  holds(by, function(i) return 3 * x[i + 1] + y[i + 1] end)
end)

local function product(a, b, n)
  return function(at)
    local i, j, sum = at // n, at % n, 0
    for k = 0, n - 1 do
      sum = sum + a[i * n + k + 1] * b[k * n + j + 1]
    end
    return sum
  end
end

t.test("matrix product, with tiles of two dimensions", function()
  local prog = build [=[
#define TILE 8
__global__ void matmul(const float *A, const float *B, float *C, int n) {
  __shared__ float As[TILE][TILE], Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
    int k = t * TILE;
    As[threadIdx.y][threadIdx.x] =
        row < n && k + threadIdx.x < n ? A[row * n + k + threadIdx.x] : 0.f;
    Bs[threadIdx.y][threadIdx.x] =
        col < n && k + threadIdx.y < n ? B[(k + threadIdx.y) * n + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i)
      sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) C[row * n + col] = sum;
}]=]
  local n = 13
  local a, b, c = numbers(n * n), numbers(n * n), zeros(n * n)
  prog.matmul:range({16, 16}, {8, 8})(floats(a), floats(b), c, n)
  holds(c, product(a, b, n))
end)

t.test("a constant of C++ as the size of an array", function()
  local prog = build [=[
const int TILE = 8;
static constexpr unsigned int ROWS = TILE / 2;
__global__ void transpose(float *out, const float *in, int w, int h) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < w && y + j < h)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < h && y + j < w)
      out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}]=]
  local w, h = 13, 21
  local a, b = numbers(w * h), zeros(w * h)
  prog.transpose:range({16, 12}, {8, 4})(b, floats(a), w, h)
  holds(b, function(at)
    return a[at % h * w + at // h + 1]
  end)
end)

-- The sums of blocks of 32.
local function block_sums(x)
  return function(block)
    local sum = 0
    for i = block * 32 + 1, math.min(#x, block * 32 + 32) do
      sum = sum + x[i]
    end
    return sum
  end
end

t.test("reduction with shared memory of the launch", function()
  local prog = build [=[
__global__ void reduce(const float *in, float *out, unsigned int n) {
  extern __shared__ float sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = (i < n) ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}
void host(float *a, float *b) {
  dim3 grid(7), block(32);
  reduce<<<grid, block, 32 * sizeof(float)>>>(a, b, 200);
}]=]
  local x, b = numbers(N), zeros(7)
  local a = floats(x)
  prog.reduce:range({7 * 32}, {32})(a, b, 200, cl.localmem("float", 32))
  holds(b, block_sums(x))
  t.eq(prog.cuda.launches[1].text, 'reduce:range({7 * 32}, {32})'
    .. '(a, b, 200, cl.localmem("float", 32))')
end)

t.test("reduction with strided indexes", function()
  local prog = build [=[
extern "C" __global__ void reduce1(float *g_in, float *g_out) {
  __shared__ float s[32];
  int tid = threadIdx.x;
  s[tid] = g_in[blockIdx.x * 32 + tid];
  __syncthreads();
  for (unsigned int k = 1; k < blockDim.x; k *= 2) {
    int index = 2 * k * tid;
    if (index < blockDim.x) s[index] += s[index + k];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = s[0];
}]=]
  local x, b = numbers(192), zeros(6)
  prog.reduce1:range(192, 32)(floats(x), b)
  holds(b, block_sums(x))
end)

t.test("a device function that gets shared memory", function()
  local prog = build [=[
__device__ void fold(volatile float *s, int tid);
__device__ void fold(volatile float *s, int tid) {
  for (int k = 16; k > 0; k /= 2) {
    __syncthreads();
    if (tid < k) s[tid] += s[tid + k];
  }
}
__global__ void sum(const float *in, float *out) {
  __shared__ float cache[32];
  cache[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  fold(cache, threadIdx.x);
  if (threadIdx.x == 0) out[blockIdx.x] = cache[0];
}]=]
  local x, b = numbers(64), zeros(2)
  prog.sum:range(64, 32)(floats(x), b)
  holds(b, block_sums(x))
end)

t.test("histogram with atomics on shared and global memory", function()
  local prog = build [=[
#define BINS 16
__global__ void histogram(const unsigned char *data, int n,
                          unsigned int *bins) {
  __shared__ unsigned int local_bins[BINS];
  if (threadIdx.x < BINS) local_bins[threadIdx.x] = 0;
  __syncthreads();
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  while (i < n) {
    atomicAdd(&local_bins[data[i]], 1);
    i += blockDim.x * gridDim.x;
  }
  __syncthreads();
  if (threadIdx.x < BINS)
    atomicAdd(&(bins[threadIdx.x]), local_bins[threadIdx.x]);
}]=]
  local x, bins = numbers(N), zeros(16, "uint")
  prog.histogram:range(64, 32)(cl.buffer("uchar", N, x), N, bins)
  holds(bins, function(bin)
    local count = 0
    for _, v in ipairs(x) do
      count = count + (v == bin and 1 or 0)
    end
    return count
  end)
end)

t.test("atomics on floats, in both memories", function()
  local prog = build [=[
__global__ void dot(const float *x, const float *y, float *result, int n) {
  __shared__ float partial;
  if (threadIdx.x == 0) partial = 0.0f;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&partial, x[i] * y[i]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(result, partial);
}]=]
  local x, y, r = numbers(N), numbers(N), zeros(1)
  prog["dot_"]:range(ceil_to(N, 32), 32)(floats(x), floats(y), r, N)
  local sum = 0
  for i = 1, N do
    sum = sum + x[i] * y[i]
  end
  t.eq(r:read()[1], sum + 0.0)
end)

t.test("atomicMin, Max, Exch, CAS, Or and Sub", function()
  local prog = build [=[
__global__ void extremes(const int *x, int *r, unsigned int *mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(&r[0], x[i]);
  atomicMax(&r[1], x[i]);
  atomicSub(r + 2, 1);
  atomicExch(&r[3], 7);
  if (atomicCAS(&r[4], 0, i + 1) == 0) r[5] = 1;
  atomicOr(mask, 1u << x[i]);
}]=]
  local x, mask = numbers(N), zeros(1, "uint")
  local r = cl.buffer("int", 6, {99, -99, 0, 0, 0, 0})
  prog.extremes:range(ceil_to(N, 8), 8)(cl.buffer("int", N, x), r, mask, N)
  local all = 0
  for _, v in ipairs(x) do
    all = all | 1 << v
  end
  r = r:read()
  t.eq({r[1], r[2], r[3], r[4], r[6]}, {math.min(table.unpack(x)),
    math.max(table.unpack(x)), -N, 7, 1})
  t.ok(r[5] >= 1 and r[5] <= N)
  t.eq(mask:read()[1], all)
end)

t.test("atomics of 64 bits", function()
  t.skip_if(not cl.device():has "cl_khr_int64_base_atomics",
    "no cl_khr_int64_base_atomics")
  local prog = build [=[
__global__ void total(const int *x, unsigned long long *sum, double *d) {
  unsigned long long v = x[threadIdx.x] * 10000000000ULL;
  atomicAdd(sum, v);
  atomicAdd(d, 0.5);
}]=]
  local x, sum, d = numbers(8), zeros(1, "ulong"), zeros(1, "double")
  prog.total:range(8, 8)(cl.buffer("int", 8, x), sum, d)
  local want = 0
  for _, v in ipairs(x) do
    want = want + v * 10000000000
  end
  t.eq(sum:read()[1], want)
  t.eq(d:read()[1], 4.0)
end)

t.test("stencil with a halo", function()
  local prog = build [=[
#define RADIUS 2
#define BLOCK_SIZE 16
__global__ void stencil_1d(const int *in, int *out) {
  __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
  int lindex = threadIdx.x + RADIUS;
  temp[lindex] = in[gindex];
  if (threadIdx.x < RADIUS) {
    temp[lindex - RADIUS] = in[gindex - RADIUS];
    temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];
  }
  __syncthreads();
  int result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++)
    result += temp[lindex + offset];
  out[gindex - RADIUS] = result;
}]=]
  local x, b = numbers(68), zeros(64, "int")
  prog.stencil_1d:range(64, 16)(cl.buffer("int", 68, x), b)
  holds(b, function(i)
    return x[i + 1] + x[i + 2] + x[i + 3] + x[i + 4] + x[i + 5]
  end)
end)

t.test("heat, a stencil of two dimensions", function()
  local prog = build [=[
#define IDX(i, j) ((i) * nx + (j))
__global__ void heat(const float *u, float *v, int nx, int ny, float c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < ny - 1 && j > 0 && j < nx - 1) {
    v[IDX(i, j)] = u[IDX(i, j)] + c * (u[IDX(i - 1, j)] + u[IDX(i + 1, j)]
        + u[IDX(i, j - 1)] + u[IDX(i, j + 1)] - 4.0f * u[IDX(i, j)]);
  }
}]=]
  local nx, ny = 10, 9
  local u, v = numbers(nx * ny), zeros(nx * ny)
  prog.heat:range({16, 16}, {8, 8})(floats(u), v, nx, ny, 0.25)
  holds(v, function(at)
    local i, j = at // nx, at % nx
    if i < 1 or i > ny - 2 or j < 1 or j > nx - 2 then
      return 0
    end
    local k = at + 1
    return u[k] + 0.25 * (u[k - nx] + u[k + nx] + u[k - 1] + u[k + 1]
      - 4 * u[k])
  end)
end)

local function running(x, first, at)
  local sum = 0
  for i = first, at do
    sum = sum + x[i]
  end
  return sum
end

t.test("inclusive scan with two buffers", function()
  local prog = build [=[
__global__ void scan(float *g_odata, float *g_idata, int n) {
  extern __shared__ float temp[];
  int thid = threadIdx.x;
  int pout = 0, pin = 1;
  temp[pout * n + thid] = g_idata[thid];
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (thid >= offset)
      temp[pout * n + thid] = temp[pin * n + thid]
                            + temp[pin * n + thid - offset];
    else
      temp[pout * n + thid] = temp[pin * n + thid];
    __syncthreads();
  }
  g_odata[thid] = temp[pout * n + thid];
}]=]
  local x, b = numbers(32), zeros(32)
  prog.scan:range(32, 32)(b, floats(x), 32, cl.localmem("float", 64))
  holds(b, function(i) return running(x, 1, i + 1) end)
end)

t.test("exclusive scan by up and down sweeps", function()
  local prog = build [=[
__global__ void prescan(int *data, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, offset = 1;
  s[2 * t] = data[2 * t];
  s[2 * t + 1] = data[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) s[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int *a = &s[offset * (2 * t + 1) - 1];
      int *b = s + offset * (2 * t + 2) - 1;
      int old = *a;
      *a = *b;
      *b += old;
    }
  }
  __syncthreads();
  data[2 * t] = s[2 * t];
  data[2 * t + 1] = s[2 * t + 1];
}]=]
  local x = numbers(64)
  local b = cl.buffer("int", 64, x)
  prog.prescan:range(32, 32)(b, 64)
  holds(b, function(i) return running(x, 1, i) end)
end)

t.test("convolution with constant memory that the host fills", function()
  local prog = build [=[
#define RADIUS 2
__constant__ float c_kernel[2 * RADIUS + 1];
__device__ float tap(const float *p, int i, int k) {
  return c_kernel[k + RADIUS] * p[i + k];
}
__global__ void convolve(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < RADIUS || i >= n - RADIUS) return;
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; k++) sum += tap(in, i, k);
  out[i] = sum;
}
int main() {
  cudaMemcpyToSymbol(c_kernel, h, sizeof h);
  convolve<<<4, 64>>>(in, out, n);
}]=]
  local x, w, b = numbers(N), {1, 2, 3, 2, 1}, zeros(N)
  prog.convolve:range({4 * 64}, {64})(floats(x), b, N, floats(w))
  holds(b, function(i)
    local sum = 0
    for k = -2, 2 do
      sum = sum + w[k + 3] * (x[i + k + 1] or 0)
    end
    return (i < 2 or i >= N - 2) and 0 or sum
  end)
  t.eq(prog.cuda.launches[1].text,
    "convolve:range({4 * 64}, {64})(in, out, n, c_kernel)")
end)

t.test("constant memory with values, handed to a function", function()
  local prog = build [=[
__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__device__ __forceinline__ float at(const float *p, int i) { return p[i]; }
__global__ void smooth(float *y) {
  y[threadIdx.x] = at(weights, threadIdx.x % 3);
}]=]
  local y = zeros(6)
  prog.smooth:range(6, 6)(y)
  holds(y, function(i) return i % 3 == 1 and 0.5 or 0.25 end)
end)

t.test("copies of float4 by casts", function()
  local prog = build [=[
__global__ void copy4(const float *in, float *out, int n4) {
  const float4 *in4 = reinterpret_cast<const float4 *>(in);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) {
    float4 v = __ldg(&in4[i]);
    reinterpret_cast<float4 *>(out)[i] = make_float4(v.y, v.x, v.w, v.z);
    ((float4 *)out)[i].x += 1.0f;
  }
}]=]
  local x, b = numbers(64), zeros(64)
  prog.copy4:range(32, 8)(floats(x), b, 16)
  local swap = {1, 0, 3, 2}
  holds(b, function(i)
    return x[i // 4 * 4 + swap[i % 4 + 1] + 1] + (i % 4 == 0 and 1 or 0)
  end)
end)

t.test("n-body, with float3 and a struct", function()
  local prog = build [=[
struct Body { float x, y, z, m; };
__device__ float3 pull(const Body a, const Body b, float3 acc) {
  float3 r = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
  float d2 = r.x * r.x + r.y * r.y + r.z * r.z + 1.0f;
  float s = b.m * rsqrtf(d2 * d2 * d2);
  acc.x += r.x * s; acc.y += r.y * s; acc.z += r.z * s;
  return acc;
}
__global__ void nbody(const float4 *p, float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Body me = {p[i].x, p[i].y, p[i].z, p[i].w};
  float3 acc = make_float3(0.0f, 0.0f, 0.0f);
  for (int j = 0; j < n; j++) {
    Body other = {p[j].x, p[j].y, p[j].z, p[j].w};
    acc = pull(me, other, acc);
  }
  a[3 * i] = acc.x; a[3 * i + 1] = acc.y; a[3 * i + 2] = acc.z;
}]=]
  local n = 10
  local p, a = numbers(4 * n), zeros(3 * n)
  prog.nbody:range(16, 8)(cl.any(floats(p)), a, n)
  holds(a, function(at)
    local i, axis, sum = at // 3, at % 3, 0
    for j = 0, n - 1 do
      local d2 = 1
      for k = 1, 3 do
        d2 = d2 + (p[4 * j + k] - p[4 * i + k]) ^ 2
      end
      sum = sum + p[4 * j + 4] * d2 ^ -1.5
        * (p[4 * j + axis + 1] - p[4 * i + axis + 1])
    end
    return sum
  end, 1e-5)
end)

t.test("a variable of the device", function()
  local prog = build [=[
__device__ int counter = 0;
__device__ float totals[4];
__device__ void note(int i) { atomicAdd(&counter, 1); totals[i % 4] = i; }
__global__ void count(const int *x) {
  if (x[threadIdx.x] > 7) note(threadIdx.x);
  if (counter < 0) counter = 5;
}]=]
  local x, counter, totals = numbers(16), zeros(1, "int"), zeros(4)
  prog.count:range(16, 16)(cl.buffer("int", 16, x), counter, totals)
  local n = 0
  for _, v in ipairs(x) do
    n = n + (v > 7 and 1 or 0)
  end
  t.eq(counter:read()[1], n)
end)

t.test("constant memory of two dimensions, macros for qualifiers", function()
  local prog = build [=[
#define HD __host__ __device__
#define KERNEL extern "C" __global__
enum Op { ADD, MUL };
__constant__ float M[2][3];
struct Part { int local, global; };
HD float apply(Op op, float a, float b) { return op == ADD ? a + b : a * b; }
KERNEL void rows(float *a) {
  Part p;
  p.local = threadIdx.x / 3;
  p.global = threadIdx.x % 3;
  a[threadIdx.x] = apply(MUL, M[p.local][p.global], 2);
}]=]
  local m, a = numbers(6), zeros(6)
  prog.rows:range(6, 6)(a, cl.any(floats(m)))
  holds(a, function(i) return 2 * m[i + 1] end)
  t.eq(prog.cuda.launches[1].text,
    "rows:range({grid * block}, {block})(a, cl.any(M))")
end)

t.test("names that are words of OpenCL C", function()
  local prog = build [=[
typedef unsigned int uint;
typedef unsigned char uchar;
__device__ float mix(float a, float b) { return a + 2 * b; }
__global__ void kernel(const float *global, float *local, uint n) {
  int i = threadIdx.x, half = n / 2;
  uchar private_ = 1;
  if (i < n) local[i] = mix(global[i], private_) + half;
}]=]
  local x, b = numbers(8), zeros(8)
  prog.kernel_:range(8, 8)(floats(x), b, 8)
  holds(b, function(i) return x[i + 1] + 6 end)
  t.eq(#prog.cuda.notes, 1)
end)

t.test("functions and casts of C++", function()
  local prog = build [=[
__global__ void __launch_bounds__(64) convert(const float *x, int *y,
                                              bool twice) {
  unsigned int i = threadIdx.x;
  float v = fmaxf(fabsf(x[i]), 1.0f);
  y[i] = int(v) * (twice ? 2 : 1) + static_cast<int>(sqrtf(v) * 0.0f);
  y[i] += __float2int_rn(powf(2.0f, 3.0f)) + __popc(3u) - __clz(1);
  const long long int big = 1LL << 40;
  if (big < 0LL || x == nullptr) y[i] = -1;
}]=]
  local x, y = numbers(8), zeros(8, "int")
  prog.convert:range(8, 8)(floats(x), y, 1)
  holds(y, function(i) return 2 * math.max(x[i + 1], 1) + 8 + 2 - 31 end)
end)

t.test("values are converted and halves read as in CUDA", function()
  local prog = build [=[
#include <cuda_fp16.h>
enum { FIVE = 5 };
__global__ void k(float *o, int *r, const __half *a, __half *b, int n) {
  __shared__ float s[FIVE];
  short four = -4;
  s[0] = fmaxf(0.0, o[0]) + sqrtf(n);
  o[1] = s[0] + powf(2, 3) + fabsf(-n);
  o[2] = __half2float(a[1]) + abs(-1.5f);
  b[1] = __float2half(o[2] * 2);
  r[0] = abs(four) - 2 * n < 0;
  r[1] = abs(-n) - n - 1 < 0;
  r[2] = __clz(four + (short)5);
  r[3] = 31 - __clz(0) < 0;
  r[4] = __umulhi(-1, 2);
}]=]
  local o, r = floats{-1, 0, 0}, cl.buffer("int", 5, 0)
  local a, b = cl.buffer("half", 2, {1, 2.5}), cl.buffer("half", 2, {0, 0})
  prog.k:range(1, 1)(o, r, a, b, 9)
  t.eq(o:read():table(), {-1, 20, 4})
  t.eq(b:read()[2], 8)
  t.eq(r:read():table(), {1, 1, 31, 1, 1})
end)

t.test("shared memory cut into parts, with pointers to both", function()
  local prog = build [=[
__device__ float *skip(float *p, int n) { return p + n; }
__global__ void split(const float *in, float *out, int n) {
  extern __shared__ char raw[];
  float *first = (float *)raw, *second = skip((float *)raw, n);
  int *flags = (int *)&first[2 * n];
  int i = threadIdx.x;
  first[i] = in[i];
  second[i] = 2 * in[i];
  flags[i] = i;
  __syncthreads();
  const float *src;
  src = second + n - 1 - i;
  out[i] = first[i] + *src + flags[i];
}]=]
  local x, b = numbers(16), zeros(16)
  prog.split:range(16, 16)(floats(x), b, 16, cl.localmem("char", 3 * 16 * 4))
  holds(b, function(i) return x[i + 1] + 2 * x[16 - i] + i end)
end)

t.test("Mandelbrot's set, in two dimensions", function()
  local prog = build [=[
__device__ int escape(float cr, float ci, int most) {
  float zr = 0, zi = 0;
  int n = 0;
  while (n < most && zr * zr + zi * zi < 4) {
    float old = zr;
    zr = zr * zr - zi * zi + cr;
    zi = 2 * old * zi + ci;
    ++n;
  }
  return n;
}
__global__ void mandelbrot(int *out, dim3 size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size.x || y >= size.y) return;
  out[y * size.x + x] = escape(x * 0.25f - 2, y * 0.25f - 1, 20);
}]=]
  local out = zeros(12 * 9, "int")
  prog.mandelbrot:range({16, 16}, {8, 8})(out, cl.uint3(12, 9, 1))
  holds(out, function(at)
    local cr, ci, zr, zi, n = at % 12 * 0.25 - 2, at // 12 * 0.25 - 1, 0, 0, 0
    while n < 20 and zr * zr + zi * zi < 4 do
      zr, zi, n = zr * zr - zi * zi + cr, 2 * zr * zi + ci, n + 1
    end
    return n
  end)
end)

t.test("a sparse product by rows, and Jacobi's step", function()
  local prog = build [=[
__global__ void spmv_csr(int rows, const int *ptr, const int *col,
                         const float *val, const float *x, float *y) {
  int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < rows) {
    float dot = 0;
    for (int j = ptr[row]; j < ptr[row + 1]; j++)
      dot += val[j] * x[col[j]];
    y[row] += dot;
  }
}
__global__ void jacobi(float *__restrict__ x1, const float *x0,
                       const float *b, const int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i == 0 || i >= n - 1) return;
  x1[i] = 0.5f * (b[i] + x0[i - 1] + x0[i + 1]);
}]=]
  local ptr, col, val, x = {0}, {}, {}, numbers(10)
  for i = 0, 9 do
    for j = i, math.min(9, i + 2) do
      col[#col + 1], val[#val + 1] = j, j + 1
    end
    ptr[i + 2] = #col
  end
  local y = zeros(10)
  prog.spmv_csr:range(16, 8)(10, cl.buffer("int", #ptr, ptr),
    cl.buffer("int", #col, col), floats(val), floats(x), y)
  holds(y, function(i)
    local sum = 0
    for j = i, math.min(9, i + 2) do
      sum = sum + (j + 1) * x[j + 1]
    end
    return sum
  end)
  local z, b = zeros(10), numbers(10)
  prog.jacobi:range(16, 8)(z, floats(x), floats(b), 10)
  holds(z, function(i)
    return (i == 0 or i == 9) and 0
      or 0.5 * (b[i + 1] + x[i] + x[i + 2])
  end)
end)

t.test("bitonic sort, odd-even sort, a queue", function()
  local prog = build [=[
__device__ inline void exchange(int *a, int *b, bool up) {
  int t = *a;
  if ((*a > *b) == up) { *a = *b; *b = t; }
}
__global__ void bitonic(int *data, int n) {
  __shared__ int s[32];
  int i = threadIdx.x;
  s[i] = data[i];
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      int other = i ^ j;
      if (other > i) exchange(&s[i], &s[other], (i & k) == 0);
    }
  __syncthreads();
  data[i] = s[i];
}
__global__ void keep_even(const int *x, int *out, int *tail) {
  int v = x[threadIdx.x];
  if (v % 2 == 0) out[atomicAdd(tail, 1)] = v;
}]=]
  local x = numbers(32, 99)
  local b = cl.buffer("int", 32, x)
  prog.bitonic:range(32, 32)(b, 32)
  local sorted = {table.unpack(x)}
  table.sort(sorted)
  holds(b, function(i) return sorted[i + 1] end)
  local even = {}
  for _, v in ipairs(sorted) do
    even[#even + 1] = v % 2 == 0 and v or nil
  end
  local out, tail = zeros(32, "int"), zeros(1, "int")
  prog.keep_even:range(32, 32)(b, out, tail)
  t.eq(tail:read()[1], #even)
  local got = {}
  for i = 1, #even do
    got[i] = out:read()[i]
  end
  table.sort(got)
  t.eq(got, even)
end)

t.test("Game of Life, colours, a random number, a table", function()
  local prog = build [=[
typedef struct { unsigned char r, g, b; } Pixel;
struct Range { int lo; int hi; };
__host__ __device__ int wrap(int i, int n) { return (i + n) % n; }
__global__ void life(const int *now, int *next, int n) {
  int x = threadIdx.x, y = threadIdx.y, alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) alive += now[wrap(y + dy, n) * n + wrap(x + dx, n)];
  next[y * n + x] = alive == 3 || (alive == 2 && now[y * n + x]);
}
__global__ void grey(const uchar4 *in, unsigned char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (in[i].x * 3 + in[i].y * 6 + in[i].z) / 10;
}
__device__ unsigned int hash(unsigned int s) {
  s ^= s << 13; s ^= s >> 17; s ^= s << 5;
  return s;
}
__global__ void random(unsigned *out) {
  struct Range r = {0, 100};
  Range q = r;
  Pixel p = {1, 2, 3};
  out[threadIdx.x] = hash(threadIdx.x + 1) % q.hi + p.r - 1;
}]=]
  local n = 6
  local now, next_ = numbers(n * n, 1), zeros(n * n, "int")
  prog.life:range({n, n}, {n, n})(cl.buffer("int", n * n, now), next_, n)
  holds(next_, function(at)
    local x, y, alive = at % n, at // n, 0
    for dy = -1, 1 do
      for dx = -1, 1 do
        alive = alive + ((dx ~= 0 or dy ~= 0)
          and now[(y + dy) % n * n + (x + dx) % n + 1] or 0)
      end
    end
    return (alive == 3 or alive == 2 and now[at + 1] == 1) and 1 or 0
  end)
  local c, g = numbers(4 * 8, 255), zeros(8, "uchar")
  prog.grey:range(8, 8)(cl.any(cl.buffer("uchar", 32, c)), g, 8)
  holds(g, function(i)
    return (c[4 * i + 1] * 3 + c[4 * i + 2] * 6 + c[4 * i + 3]) // 10
  end)
  local r = zeros(8, "uint")
  prog.random:range(8, 8)(r)
  holds(r, function(i)
    local s = i + 1
    s = s ~ s << 13 & 0xffffffff
    s = s ~ s >> 17
    s = s ~ s << 5 & 0xffffffff
    return s % 100
  end)
end)

t.done()

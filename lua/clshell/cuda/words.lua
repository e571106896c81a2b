-- cuda/words.lua - CUDA's words and the words here: the one table of the
-- translator, the messages of failed builds, ??word and ?cuda
-- SPDX-License-Identifier: MIT

local M = {}

-- Each line has columns two spaces apart: CUDA's word, the word here, and,
-- where that word is too short for messages and pages, a longer text.

-- Words that another word replaces; "-" stands for none.
local REPLACED = [[
__global__  kernel
__device__  -  a plain function; of a variable: an argument of the kernel
__host__  -  a Lua function
__shared__  local
__constant__  constant  constant; without values an argument of the kernel
__restrict__  restrict
__restrict  restrict
__forceinline__  inline
__inline__  inline
__noinline__  __attribute__((noinline))
__syncthreads  barrier  barrier(CLK_LOCAL_MEM_FENCE)
threadIdx  get_local_id  get_local_id(0) for .x, (1) for .y, (2) for .z
blockIdx  get_group_id  get_group_id(0) for .x, (1) for .y, (2) for .z
blockDim  get_local_size  get_local_size(0) for .x, (1) for .y, (2) for .z
gridDim  get_num_groups  get_num_groups(0) for .x, (1) for .y, (2) for .z
dim3  uint3  the sizes as lists: k:range({grid_x * block_x}, {block_x})
__threadfence  mem_fence  mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
__threadfence_block  mem_fence  as __threadfence
__threadfence_system  mem_fence  as __threadfence
make_char4  (char4)
make_uchar4  (uchar4)
make_int2  (int2)
make_int3  (int3)
make_int4  (int4)
make_uint2  (uint2)
make_uint3  (uint3)
make_uint4  (uint4)
make_float2  (float2)
make_float3  (float3)
make_float4  (float4)
make_double2  (double2)
make_double4  (double4)
int8_t  char
uint8_t  uchar
int16_t  short
uint16_t  ushort
int32_t  int
uint32_t  uint
int64_t  long
uint64_t  ulong
__half  half
nullptr  0
atomicAdd  atomic_add  atomic_add; of floats a loop with atomic_cmpxchg
atomicSub  atomic_sub
atomicExch  atomic_xchg
atomicMin  atomic_min
atomicMax  atomic_max
atomicCAS  atomic_cmpxchg
atomicAnd  atomic_and
atomicOr  atomic_or
atomicXor  atomic_xor
__expf  native_exp
__exp10f  native_exp10
__logf  native_log
__log2f  native_log2
__log10f  native_log10
__sinf  native_sin
__cosf  native_cos
__tanf  native_tan
__powf  native_powr
__fdividef  native_divide
__frcp_rn  native_recip
__fsqrt_rn  sqrt
__frsqrt_rn  rsqrt
__fmaf_rn  fma
__mul24  mul24
__umul24  mul24
__mulhi  mul_hi
__umulhi  mul_hi
__clz  clz
__clzll  clz
__popc  popcount
__popcll  popcount
__float_as_int  as_int
__float_as_uint  as_uint
__int_as_float  as_float
__uint_as_float  as_float
__double_as_longlong  as_long
__longlong_as_double  as_double
__float2int_rn  convert_int_rte
__float2int_rz  convert_int_rtz
__float2int_rd  convert_int_rtn
__float2int_ru  convert_int_rtp
__int2float_rn  convert_float_rte
__half2float  convert_float  vload_half(i, p) of memory, or convert_float(h)
__float2half_rn  convert_half  as __float2half
__float2half  convert_half  vstore_half(x, i, p) to memory, or convert_half(x)
CUDART_INF_F  INFINITY
CUDART_NAN_F  NAN
CUDART_PI_F  M_PI_F
__align__  __attribute__((aligned(n)))
__launch_bounds__  -  nothing: the local size is set at the launch
__ldg  *  *p, as for any pointer
static_cast  a cast, (type)
reinterpret_cast  a cast, (type)
const_cast  a cast, (type)
]]

-- Functions of floats in C; their names here have no f.
local FLOATS = [[
acosf acoshf asinf asinhf atanf atan2f atanhf cbrtf ceilf copysignf cosf coshf
cospif erfcf erff exp10f exp2f expf expm1f fabsf fdimf floorf fmaf fmaxf fminf
fmodf hypotf ldexpf log10f log1pf log2f logf powf remainderf rintf roundf
rsqrtf sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf
]]

-- Words for functions of sub-groups, which need an extension: the extension in
-- the third column, or cl_khr_subgroups. CUDA's first argument, a mask of
-- lanes, has no place here.
local SUBGROUPS = [[
__syncwarp  sub_group_barrier  sub_group_barrier(CLK_LOCAL_MEM_FENCE)
__any_sync  sub_group_any
__all_sync  sub_group_all
__shfl_sync  sub_group_shuffle  cl_khr_subgroup_shuffle
__shfl_xor_sync  sub_group_shuffle_xor  cl_khr_subgroup_shuffle
__shfl_up_sync  sub_group_shuffle_up  cl_khr_subgroup_shuffle_relative
__shfl_down_sync  sub_group_shuffle_down  cl_khr_subgroup_shuffle_relative
]]

-- Words of kernels that have no translation, and the idiom here.
local OUTSIDE = [[
template  drop the line and give its names by defines = {T = "float"}
auto  the type, written out
namespace  plain names, without a namespace
std  the plain function or type of C
class  a struct, and functions that take a pointer to it
new  arrays of a fixed size, or a buffer from the host
delete  nothing: the host owns all memory
malloc  an array of a fixed size, or a buffer from the host
free  nothing: the host owns all memory
virtual  a switch over a number
operator  a function with a name
cooperative_groups  barrier(CLK_LOCAL_MEM_FENCE); another launch for the grid
cg  barrier(CLK_LOCAL_MEM_FENCE); another launch for the grid
warpSize  a define: defines = {WARP = k.preferred_multiple}
__activemask  nothing: no mask of lanes is needed
__ballot_sync  an array in local memory, and a barrier
__match_any_sync  an array in local memory, and a barrier
__shfl  an array in local memory, and a barrier
__shfl_down  an array in local memory, and a barrier
__shfl_up  an array in local memory, and a barrier
__shfl_xor  an array in local memory, and a barrier
__syncthreads_count  a counter in local memory: atomic_inc, then barrier
__syncthreads_and  an int in local memory: atomic_and, then barrier
__syncthreads_or  an int in local memory: atomic_or, then barrier
atomicInc  atomic_inc(p) and % for the wrap, or a loop with atomic_cmpxchg
atomicDec  atomic_dec(p), or a loop with atomic_cmpxchg
atomicAdd_block  atomic_add on local memory, then one atomic_add to global
atomicAdd_system  atomic_add: one device sees it
texture  an Image that is read through a Sampler (?image), or a buffer
tex1D  read_imagef(img, s, x), or a buffer: p[i], clamped
tex1Dfetch  a buffer: p[i], or read_imagef(img, i) of an image1d_buffer_t
tex2D  read_imagef(img, s, (float2)(x, y)), or a buffer: p[y * cols + x]
tex3D  read_imagef(img, s, (float4)(x, y, z, 0)), or a buffer
surf2Dread  read_imagef(img, (int2)(x, y)), or a buffer: p[y * cols + x]
surf2Dwrite  write_imagef(img, (int2)(x, y), v), or a buffer
cudaTextureObject_t  read_only image2d_t and sampler_t, or a pointer
cudaSurfaceObject_t  write_only image2d_t, or a pointer
wmma  a tiled kernel; gemm has rungs with tensor cores (?gemm)
asm  a function of OpenCL C
clock  the event of a launch: ev.ms
clock64  the event of a launch: ev.ms
assert  a flag in a buffer that the host reads
__trap  a flag in a buffer that the host reads
__nanosleep  nothing: work-items cannot sleep
sincosf  s = sincos(x, &c)
__sincosf  native_sin(x) and native_cos(x)
__ffs  32 - clz(x & -x)
__saturatef  clamp(x, 0.0f, 1.0f)
__managed__  a buffer, as an argument of the kernel
curandState  a hash of the work-item's id, in the kernel
curand_uniform  a hash of the work-item's id; or h:random() of an array
curand_init  a hash of the work-item's id, in the kernel
]]

-- Words with a translation that messages of compilers name.
local HINTS = [[
abs  (int)abs(i) for ints, as abs gives a uint; fabs for floats
min  min of two values of one type: min(a, (int)b); fmin for floats
max  max of two values of one type: max(a, (int)b); fmax for floats
fmin  fmin of two values of one type: fmin(x, 1.0f)
fmax  fmax of two values of one type: fmax(x, 0.0f)
fmod  fmod of two values of one type: fmod(x, 2.0f)
atan2  atan2 of two values of one type: atan2(y, 1.0f)
pow  pow of two values of one type: pow(x, 2.0f)
]]

-- Words of the host's code, which is left out, and the Lua here.
local HOST = [[
<<<>>>  k:range(grid * block, block)(...): work-items, not blocks
cudaMalloc  b = cl.buffer("float", n)
cudaMallocManaged  b = cl.buffer("float", n); b:write(h) and b:read()
cudaMallocHost  h = cl.array("float", n)
cudaMallocPitch  A = matrix.zeros(n, m), with A.ld
cudaHostAlloc  h = cl.array("float", n)
cudaMemcpy  b:write(h) to the device, h = b:read() back, b:copy(c)
cudaMemcpyAsync  b:write(h, {async = true}), b:read(h, {async = true})
cudaMemcpyToSymbol  a buffer, as the kernel's last argument
cudaMemset  b:fill(0)
cudaFree  b:close(), or nothing: memory that nobody holds is freed
cudaFreeHost  nothing: memory that nobody holds is freed
cudaDeviceSynchronize  ev:wait(); b:read() waits by itself
cudaThreadSynchronize  ev:wait(); b:read() waits by itself
cudaGetLastError  nothing: a call that fails raises an error
cudaPeekAtLastError  nothing: a call that fails raises an error
cudaGetErrorString  the message of the error itself
cudaError_t  nothing: a call that fails raises an error
cudaEventCreate  ev = launch(...): each launch returns an event
cudaEventRecord  ev = launch(...): each launch returns an event
cudaEventSynchronize  ev:wait()
cudaEventElapsedTime  ev.ms
cudaStreamCreate  q = cl.queue(), and launch:on(q)(...)
cudaStreamSynchronize  q:finish()
cudaSetDevice  cl.use(1), or clshell -d 1
cudaGetDeviceCount  #cl.devices()
cudaGetDeviceProperties  cl.device():info()
cudaOccupancyMaxActiveBlocksPerMultiprocessor  occupancy(k:range(n, 256))
cudaOccupancyMaxPotentialBlockSize  occupancy(k).best.wg
nvcc  cl.build("file.cu"), or clshell --cuda file.cu
]]

--- words.list
--- The words, in order, and by word: {word, here, kind}, with `needs` (an
--- extension). kind: "word", "float", "subgroup", "outside", "hint", "host".
M.list = {}

local function add(kind, word, here, said, needs)
  here = here ~= "-" and here or ""
  local entry = {word = word, here = here, kind = kind, needs = needs,
    said = said or here}
  M.list[#M.list + 1], M.list[word] = entry, entry
end

local function add_lines(kind, lines)
  for line in lines:gmatch "[^\n]+" do
    local columns = {}
    for column in (line .. "  "):gmatch "(.-)  " do
      columns[#columns + 1] = column
    end
    local needs = kind == "subgroup" and "cl_khr_subgroups" or nil
    if needs and (columns[3] or ""):find "^cl_khr" then
      needs = table.remove(columns)
    end
    add(kind, columns[1], columns[2], columns[3], needs)
  end
end

add_lines("word", REPLACED)
for word in FLOATS:gmatch "%S+" do
  add("float", word, word:sub(1, -2))
end
add_lines("subgroup", SUBGROUPS)
add_lines("outside", OUTSIDE)
add_lines("hint", HINTS)
add_lines("host", HOST)

local function lower(word)
  return (word:lower():gsub("%.[xyz]$", ""))
end

local by_lower = {}
for _, entry in ipairs(M.list) do
  by_lower[lower(entry.word)] = by_lower[lower(entry.word)] or entry
end

--- words.find(word) -> entry or nil
--- The entry of a word, in any case, also of "threadIdx.x".
function M.find(word)
  return by_lower[lower(word)]
end

--- words.advice(word) -> string or nil
--- "CUDA: threadIdx; here: get_local_id(0) ..." for a word of CUDA's.
function M.advice(word)
  local entry = M.list[word]
  return entry and ("CUDA: %s; here: %s"):format(word, entry.said)
end

-- The pages of help that lists of words belong to.
local PAGES = {
  {"Words", "word"}, {"Sub-groups, where the device has them", "subgroup"},
  {"Outside, and the idiom here", "outside"}, {"The host, in Lua", "host"},
}

--- words.page() -> string
--- All words as lines of two columns under headings.
function M.page()
  local lines = {}
  for _, page in ipairs(PAGES) do
    lines[#lines + 1] = ("\n%s:\n"):format(page[1])
    lines[#lines + 1] = page[2] == "word" and ("  %-20s  %s"):format(
      "sqrtf, fmaxf ...", "sqrt, fmax ...: C's functions, without the f")
      or nil
    for _, entry in ipairs(M.list) do
      if entry.kind == page[2] then
        lines[#lines + 1] = ("  %-20s  %s"):format(entry.word, entry.said)
      end
    end
  end
  return table.concat(lines, "\n")
end

return M

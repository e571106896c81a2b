-- cuda/words.lua - CUDA's words, and the words of hosts in OpenCL's C API and
-- in PyOpenCL, and the words here: the one table of the translator, the
-- messages of failed builds, ??word, ?cuda and ?opencl
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
cudaEventDestroy  nothing: an event that nobody holds is freed
cudaEvent_t  an Event: ev = launch(...)
cudaStream_t  a Queue: q = cl.queue()
cudaStreamDestroy  nothing: a queue that nobody holds is freed
cudaStreamWaitEvent  launch:on(q, {after = {ev}})(...)
cudaMemcpyHostToDevice  b:write(h)
cudaMemcpyDeviceToHost  h = b:read()
cudaMemcpyDeviceToDevice  b:copy(c)
cudaMemcpyDefault  b:write(h), h = b:read() or b:copy(c)
cudaMemcpyKind  b:write(h), h = b:read() or b:copy(c)
cudaMemcpy2D  A:write(h): a matrix knows its A.ld
cudaMemcpyFromSymbol  a buffer, as the kernel's last argument, and b:read()
cudaMemsetAsync  b:fill(0, {async = true})
cudaMemPrefetchAsync  b:migrate()
cudaMemGetInfo  cl.device().global_mem_size, cl.context().used
cudaHostRegister  cl.buffer("float", n, h, {use_host_ptr = true})
cudaSuccess  nothing: a call that fails raises an error
cudaGetDevice  cl.device()
cudaDeviceReset  nothing, or %restart
cudaDeviceGetAttribute  cl.device():info()
cudaDeviceProp  cl.device(): .name, .compute_units, .local_mem_size ...
totalGlobalMem  cl.device().global_mem_size
sharedMemPerBlock  cl.device().local_mem_size
maxThreadsPerBlock  cl.device().max_work_group_size
multiProcessorCount  cl.device().compute_units
clockRate  cl.device().max_clock_frequency, in MHz
compute capability  nv_compute_capability_major and _minor of cl.device()
SIMT  lanes of a warp with one program counter: ?warp and ?divergence
cudaLaunchKernel  k:range(grid * block, block)(...): work-items, not blocks
hipLaunchKernelGGL  k:range(grid * block, block)(...): work-items, not blocks
cudaFuncGetAttributes  k:info()
cudaFuncSetAttribute  nothing: the driver's limit holds
cudaDeviceSetLimit  nothing: the driver's limit holds
cudaStreamBeginCapture  steps = cl.record(function() ... end)
cudaGraphLaunch  steps()
cudaProfilerStart  bench(launch)
cublasCreate  nothing: gemm is there
cublasSgemm  gemm(A, B, {C = C, alpha = a, beta = b}), by rows
cublasDgemm  gemm(A, B, {C = C, alpha = a, beta = b}), by rows
cusparseSpMV  spmv(M, x)
curandGenerateUniform  b:random(seed)
thrust  methods of Buffers: x:sum(), x:sort(), x:scan{...}
hipcc  cl.build("file.cu"), with the words of CUDA
cudaOccupancyMaxActiveBlocksPerMultiprocessor  occupancy(k:range(n, 256))
cudaOccupancyMaxPotentialBlockSize  occupancy(k).best.wg
nvcc  cl.build("file.cu"), or clshell --cuda file.cu
]]

-- Words of hosts in OpenCL's C API.
local CLHOST = [[
clGetPlatformIDs  nothing: the session has a device; cl.platforms() lists all
clGetPlatformInfo  cl.platforms()[1].name
clGetDeviceIDs  cl.devices(); cl.use "gpu", or clshell -d gpu
clGetDeviceInfo  cl.device():info()
clCreateSubDevices  cl.device():partition{equally = 2}
clCreateContext  nothing: cl.context() is the session's
clCreateContextFromType  nothing: cl.context() is the session's
clCreateCommandQueue  nothing: the session has a queue, profiled; or cl.queue()
clCreateCommandQueueWithProperties  cl.queue{out_of_order = true}, or nothing
clCreateProgramWithSource  prog = cl.build(source)
clCreateProgramWithBinary  prog = cl.build_binary(bytes)
clCreateProgramWithIL  prog = cl.build_il(bytes)
clBuildProgram  prog = cl.build(source, {options = "...", defines = {T = 16}})
clCompileProgram  part = cl.compile(source)
clLinkProgram  prog = cl.link{part, other}
clGetProgramInfo  prog:info(), prog:binary()
clGetProgramBuildInfo  nothing: a build that fails raises the log; prog.log
clCreateKernel  k = prog.name, or prog:kernel "name"
clCreateKernelsInProgram  prog:kernels()
clSetKernelArg  the arguments of the call: k:range(n)(a, x, y)
clSetKernelArgSVMPointer  the Buffer as an argument, or k:uses{b}
clGetKernelInfo  k:info()
clGetKernelArgInfo  k.args
clGetKernelWorkGroupInfo  k.work_group_size, k.preferred_multiple
clGetKernelSubGroupInfo  k:sub_groups{16, 16}
clCreateBuffer  b = cl.buffer("float", n), or cl.buffer("float", n, h)
clCreateBufferWithProperties  b = cl.buffer("float", n)
clCreateSubBuffer  b:view(first, last)
clCreateImage  img = cl.image{width = w, height = h}
clCreateImage2D  img = cl.image{width = w, height = h}
clCreateImage3D  img = cl.image{width = w, height = h, depth = d}
clCreateSampler  cl.sampler{filter = "linear"}
clCreateSamplerWithProperties  cl.sampler{filter = "linear"}
clGetMemObjectInfo  b:info()
clGetImageInfo  img:info()
clGetSupportedImageFormats  cl.context():image_formats()
clEnqueueNDRangeKernel  ev = k:range({n, m}, {16, 16})(a, x, y)
clEnqueueTask  ev = k:range(1)(a, x, y)
clEnqueueNativeKernel  a Lua function
clEnqueueWriteBuffer  b:write(h)
clEnqueueReadBuffer  h = b:read()
clEnqueueCopyBuffer  b:copy(c)
clEnqueueWriteBufferRect  b:write(h, {from = {1, 1}, size = {rows, cols}})
clEnqueueReadBufferRect  h = b:read{from = {1, 1}, size = {rows, cols}}
clEnqueueCopyBufferRect  b:copy(c, {from = {1, 1}, size = {rows, cols}})
clEnqueueFillBuffer  b:fill(0)
clEnqueueMapBuffer  h = b:map "read_write"
clEnqueueMapImage  h = img:map "read_write"
clEnqueueUnmapMemObject  b:unmap(h)
clEnqueueMigrateMemObjects  b:migrate()
clEnqueueWriteImage  img:write(h)
clEnqueueReadImage  h = img:read()
clEnqueueCopyImage  img:copy(other)
clEnqueueFillImage  img:fill{0, 0, 0, 1}
clEnqueueMarker  ev = q:marker()
clEnqueueMarkerWithWaitList  ev = q:marker{after = {ev1, ev2}}
clEnqueueBarrier  q:barrier()
clEnqueueBarrierWithWaitList  q:barrier{after = {ev1, ev2}}
clEnqueueWaitForEvents  launch:on(q, {after = {ev1, ev2}})(...)
clFlush  cl.context().queue:flush()
clFinish  cl.context().queue:finish(); b:read() waits by itself
clWaitForEvents  ev:wait()
clGetEventInfo  ev.status, ev:info()
clGetEventProfilingInfo  ev.ms, or ev.start and ev.stop in nanoseconds
clSetEventCallback  ev:on_complete(f)
clCreateUserEvent  ev = cl.user_event()
clSetUserEventStatus  ev:complete()
clSVMAlloc  b = cl.buffer("float", n, nil, {svm = true})
clSVMFree  b:close(), or nothing
clEnqueueSVMMap  h = b:map()
clEnqueueSVMUnmap  b:unmap(h)
clEnqueueSVMMemcpy  b:copy(c)
clReleaseMemObject  b:close(), or nothing: a buffer that nobody holds is freed
clGetExtensionFunctionAddressForPlatform  cl.device():has "cl_khr_fp64"
clUnloadPlatformCompiler  nothing
cl_platform_id  nothing: cl.platforms() has tables
cl_device_id  a Device: cl.device()
cl_context  a Context: cl.context()
cl_command_queue  a Queue: cl.context().queue
cl_program  a Program: cl.build
cl_kernel  a Kernel: cl.kernel, prog.name
cl_mem  a Buffer or an Image: cl.buffer, cl.image
cl_event  an Event: each launch returns one
cl_sampler  a Sampler: cl.sampler
cl_int  a number; of an array cl.array("int", n)
cl_uint  a number; of an array cl.array("uint", n)
cl_long  a number; of an array cl.array("long", n)
cl_ulong  a number; of an array cl.array("ulong", n)
cl_float  a number; of an array cl.array("float", n)
cl_double  a number; of an array cl.array("double", n)
cl_bool  true or false
CL_SUCCESS  nothing: a call that fails raises an error
CL_TRUE  nothing: read, write and map wait
CL_FALSE  {async = true}
CL_MEM_READ_WRITE  nothing: the default
CL_MEM_READ_ONLY  {access = "read_only"}
CL_MEM_WRITE_ONLY  {access = "write_only"}
CL_MEM_COPY_HOST_PTR  the values: cl.buffer("float", n, h)
CL_MEM_USE_HOST_PTR  {use_host_ptr = true}
CL_MEM_ALLOC_HOST_PTR  {host = true}
CL_DEVICE_TYPE_GPU  cl.use "gpu", or clshell -d gpu
CL_DEVICE_TYPE_CPU  cl.use "cpu", or clshell -d cpu
CL_DEVICE_TYPE_ALL  cl.devices()
CL_DEVICE_TYPE_DEFAULT  cl.device()
CL_QUEUE_PROFILING_ENABLE  nothing: queues are profiled
CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE  cl.queue{out_of_order = true}
CL_PROFILING_COMMAND_QUEUED  ev.queued
CL_PROFILING_COMMAND_SUBMIT  ev.submit
CL_PROFILING_COMMAND_START  ev.start
CL_PROFILING_COMMAND_END  ev.stop; ev.ms is the time from start to stop
CL_PROGRAM_BUILD_LOG  nothing: a build that fails raises the log; prog.log
CL_KERNEL_WORK_GROUP_SIZE  k.work_group_size
CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE  k.preferred_multiple
CL_KERNEL_LOCAL_MEM_SIZE  k.local_mem_size
CL_KERNEL_PRIVATE_MEM_SIZE  k.private_mem_size
CL_MAP_READ  "read": b:map "read"
CL_MAP_WRITE  "write": b:map "write"
]]

-- Words of hosts in Python.
local PYTHON = [[
pyopencl  nothing: cl is there
cl.create_some_context  nothing: clshell -d gpu, or cl.use "gpu", chooses
cl.get_platforms  cl.platforms()
get_devices  cl.devices()
cl.Context  nothing: cl.context() is the session's
cl.CommandQueue  nothing: the session has a queue, profiled; or cl.queue()
cl.command_queue_properties  nothing: queues are profiled
cl.Program  prog = cl.build(source)
cl.Kernel  k = prog.name
cl.Buffer  b = cl.buffer("float", n), or cl.buffer("float", n, h)
cl.mem_flags  options: {access = "read_only"}, {host = true}; values copy
mf.READ_ONLY  {access = "read_only"}
mf.WRITE_ONLY  {access = "write_only"}
mf.READ_WRITE  nothing: the default
mf.COPY_HOST_PTR  the values: cl.buffer("float", n, h)
cl.LocalMemory  cl.localmem("float", n)
cl.enqueue_copy  b:write(h), h = b:read() or b:copy(c)
cl.enqueue_nd_range_kernel  ev = k:range({n, m}, {16, 16})(a, x, y)
cl.enqueue_fill_buffer  b:fill(0)
cl.enqueue_map_buffer  h = b:map()
cl.enqueue_barrier  q:barrier()
cl.enqueue_marker  ev = q:marker()
cl.wait_for_events  ev:wait()
cl.Image  img = cl.image{width = w, height = h}
cl.image_from_array  img = cl.image{width = w, height = h, data = values}
cl.Sampler  cl.sampler{filter = "linear"}
prg.name(queue, ...)  ev = prog.name:range({n, m}, {16, 16})(a, x, y)
set_args  the arguments of the call: k:range(n)(a, x, y)
set_arg  the arguments of the call: k:range(n)(a, x, y)
get_work_group_info  k.work_group_size, k.preferred_multiple
cl_array  Buffers and their methods: ?numpy
to_device  b = cl.buffer("float", n, h)
ElementwiseKernel  cl.map("float z = a * x + y", {a = a, x = x, y = y})
ReductionKernel  x:reduce{op = "a * b", identity = 1}
InclusiveScanKernel  x:scan{op = "max(a, b)", identity = "INT_MIN"}
RadixSort  x:sort()
profile  ev.ms, or ev.start and ev.stop in nanoseconds
queue.finish  cl.context().queue:finish(); b:read() waits by itself
np.float32  nothing: the kernel's parameter has the type
np.int32  nothing: the kernel's parameter has the type
np.empty_like  nothing: h = b:read() makes an Array
np.random  cl.array("float", n):random(seed)
]]

--- words.list
--- The words, in order, and by word: {word, here, kind}, with `needs` (an
--- extension). kind: "word", "float", "subgroup", "outside", "hint", "host";
--- of other languages "cl", "python".
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
add_lines("cl", CLHOST)
add_lines("python", PYTHON)

-- Groups of words without lines of their own.
local function derived(word)
  local kind, here = "cl", nil
  local hip = word:match "^hip(%u%w+)$"
  if hip and M.list["cuda" .. hip] then
    kind, here = "host", M.list["cuda" .. hip].here
  elseif word:find "^clRe[lt]%l+%u%w+$" then -- clRelease..., clRetain...
    here = "nothing: an object that nobody holds is freed"
  elseif word:find "^CL_DEVICE_%u" then
    here = "cl.device()." .. word:sub(11):lower()
  elseif word:find "^cl%u%l%w+$" then
    here = "no word for it; ?opencl lists the others"
  elseif word:find "^cuda%u%w+$" or word:find "^hip%u%w+$" then
    kind, here = "host", "no word for it; ?cuda lists the others"
  end
  return here and {word = word, here = here, said = here, kind = kind}
end

--- words.host(word) -> entry or nil
--- The entry of a word of host code, in C, CUDA, HIP or Python.
function M.host(word)
  local entry = M.list[word] or derived(word)
  local kind = entry and entry.kind
  return (kind == "host" or kind == "cl" or kind == "python") and entry or nil
end

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
  return by_lower[lower(word)] or M.host(word)
end

local LANGUAGES = {cl = "OpenCL in C", python = "PyOpenCL"}

--- words.language(entry) -> string
function M.language(entry)
  return LANGUAGES[entry.kind] or entry.word:find "^hip" and "HIP" or "CUDA"
end

--- words.advice(word) -> string or nil
--- "CUDA: threadIdx; here: get_local_id(0) ..." for a word of CUDA's, or of
--- hosts in other languages.
function M.advice(word)
  local entry = M.list[word] or M.host(word)
  return entry and ("%s: %s; here: %s"):format(M.language(entry), word,
    entry.said)
end

-- The pages of help that lists of words belong to.
local PAGES = {
  cuda = {{"Words", "word"},
    {"Sub-groups, where the device has them", "subgroup"},
    {"Outside, and the idiom here", "outside"}, {"The host, in Lua", "host"}},
  opencl = {{"The host in C", "cl"}, {"The host in Python", "python"}},
}

--- words.page(language) -> string
--- All words of "cuda" or "opencl" as lines of two columns under headings.
function M.page(language)
  local lines = {}
  for _, page in ipairs(PAGES[language]) do
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

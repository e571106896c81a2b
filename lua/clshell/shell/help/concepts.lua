-- shell/help/concepts.lua - the words of the field, in a few lines each, with
-- something to try
-- SPDX-License-Identifier: MIT

local words = require "clshell.cuda.words"

local M = {}

-- A block each: the names, the text, and after "Try:" a function, a rung or a
-- line to type.
local TEXT = [[
ndrange, global size, index space
The grid of work-items of a launch, in one, two or three dimensions. Each
work-item runs the kernel once; get_global_id(d) is its place in dimension d.
Dimension 0 comes first in the list of sizes and varies fastest: neighbours in
it should touch neighbours in memory.
Try: ?Kernel:range

work-item, thread
One run of a kernel's body, for one place of the NDRange. CUDA says thread.
Variables of a kernel are private to a work-item, and live in registers while
there are enough of them.
Try: ?ndrange

work-group, group, thread block, block
Work-items that run together on one compute unit, share local memory, and can
wait for each other at a barrier. Work-groups cannot wait for each other, as
they run in any order. The local size is the number of work-items in each
dimension; the device sets the largest product.
Try: cl.device().max_work_group_size

local size, work-group size
The shape of a work-group, such as {16, 16}. A multiple of the warp or vector
width keeps all lanes busy; a large group may leave no room for a second group
on the compute unit. Without a local size the driver chooses.
Try: ?Kernel:range

warp, wavefront, sub-group, subgroup, simd width
The work-items that a GPU issues one instruction for: 32 on NVIDIA, 32 or 64
on AMD, 8 to 32 on Intel. Where they branch differently, the branches run one
after the other. k.preferred_multiple is the size that the driver tells.
Try: ?coalescing

divergence, warp divergence, branch divergence
Work-items of a warp that take different sides of an `if`, or leave a loop at
different times: the warp runs both sides, and each side leaves some lanes
idle. A condition with one result in the whole warp costs nothing. So let whole
warps take the same side (get_local_id(0) < n, not % 2), or choose between two
values by ?: or select.
Try: course "B13", %exercise 16, and ?warp

compute unit, multiprocessor, sm
The part of a device that runs work-groups: a multiprocessor of a GPU, a core
of a CPU. A launch of fewer work-groups than compute units leaves some idle.
Try: cl.device().compute_units

host
The computer around the device: it runs Lua and has memory of its own. A kernel
reads only buffers on the device.
Try: ?Buffer:write

kernel
A function of OpenCL C that the host launches: `kernel void f(global int *x)`.
It returns nothing; it writes its results into buffers.
Try: ?cl.kernel

global memory
The device's large memory, seen by all work-items: buffers live there. A read
takes hundreds of cycles. A kernel is faster if it moves fewer bytes, and if
its reads and writes coalesce.
Try: ?coalescing

local memory, shared memory
Memory of a work-group, on the compute unit: a few tens of KiB, some ten times
faster to reach than global memory. A tiled kernel is fast because a group
reads each tile once from global memory and uses it many times from local
memory. CUDA calls it shared memory. On a CPU it is ordinary memory, in the
same caches, and gains little.
Try: ?gemm.tiled

private memory, registers
The memory of one work-item. The compiler keeps it in registers and spills the
rest to global memory, which is slow.
Try: ?gemm.register

constant memory
A small read-only memory with a cache. It is fast when all work-items of a warp
read the same address; different addresses are read one after the other.
Try: ?gemm.tiled_constant

barrier
barrier(CLK_LOCAL_MEM_FENCE): every work-item of a group waits there until all
have come, and then sees the others' writes to local memory. All work-items of
a group must reach it: it must not stand in an `if` that some of them skip.
Try: course "A8", and ?gemm.tiled

coalescing, coalesced access
Neighbouring work-items that read neighbouring addresses share a memory
transaction. With a stride between the addresses each work-item needs a
transaction of its own, and most of its bytes are wasted. So get_global_id(0)
should walk along a row.
Try: bench("gemm.naive", {256, 256, 256}, {map = "row"}), and ?gemm.naive

bank conflict
Local memory is split into banks (32 on NVIDIA) that each serve one address at
a time. Work-items of a warp that read different addresses of one bank wait for
each other, as in a column of a 32x32 tile. Rows that are one element longer,
or permuted columns, spread the column over different banks.
Try: course "B5", %exercise 4, ?gemm.tiled_padded and ?gemm.tiled_swizzled

tile, tiling, blocking
A part of the operands that fits local memory or registers. A tile of side T is
loaded once and used T times: T times fewer bytes come from global memory.
Try: ?gemm.tiled

register blocking, thread coarsening
Each work-item computes a block of results, not a single one. It loads a value
once and uses it for a whole row of the block: more arithmetic for each byte of
local memory.
Try: ?gemm.register

vector, float4, vector load
Four floats in one load or store, and on CPUs in one instruction. This saves
instructions; the address must be a multiple of 16 bytes.
Try: ?gemm.tiled_float4

occupancy, registers per thread, spill, spilling
The number of work-items on a compute unit, as a share of the number that it
has room for. It depends on registers, local memory and the size of a group.
While some work-items wait for memory, others run: this hides the latency. More
work-items than that gain nothing. A work-item that needs more registers than
it gets spills: the rest lies in memory.
Try: occupancy{gpu = "H100", registers = 64}, and lesson(r) of a result

latency hiding
A compute unit runs other work-items while some wait for memory. For this it
needs many work-items at once (occupancy), or several independent loads in
each.
Try: course "B14", and ?occupancy

arithmetic intensity, ai, FLOP/B, flop per byte
Floating-point operations for each byte that moves to or from memory. A sum of
two vectors has 1/12, a large matrix product hundreds. It bounds the rate of a
kernel: see roofline.
Try: print(bench("gemm.tiled", {256, 256, 256}).ai)

roofline, roof
The highest rate that a kernel can reach: the device's peak of arithmetic, or
its memory bandwidth times the kernel's arithmetic intensity if that is less.
In the plot, memory is the limit left of the ridge, and arithmetic right of it.
Both rates are measured on the device.
Try: ?peaks, ?lesson and %bench

memory bound, compute bound, bound, memory, compute
A kernel is memory bound if its bytes take longer than its arithmetic, and
compute bound if its arithmetic takes longer.
Try: ?lesson

bandwidth, gb/s
Bytes to or from memory per second, in GB/s (10^9). The bandwidth of a kernel
counts each byte that it must read or write once.
Try: peaks.get "copy"

flops, gflops
Floating-point operations per second; GFLOPS are 10^9 of them. Useful ones are
counted: 2*M*N*K for a matrix product, two for each entry of a sparse one.
Try: ?Event:gflops

event, event timer, profiling, queued, submit, before
The object that a launch or a transfer returns. The device notes when the
command was queued, submitted, started and stopped, in nanoseconds. STOP -
START is the time on the device; the host's time has the launch in addition.
The line `before` of a printed event has the waits before the start.
Try: ?Event:info

queue, command queue, priority, throttle
Commands go to a device through a queue. In-order queues run one after the
other; in out-of-order queues only `after` lists set the order. Where a device
has cl_khr_priority_hints, cl.queue{priority = "high"} may go before others.
Try: ?cl.queue

padding, pad, padded
Three things have the name. A row of a tile in local memory, one element
longer: its columns then lie in different banks (gemm.tiled_padded). A row of a
matrix, longer so that each begins at an aligned address (ld). A matrix with
zeros up to a multiple of the tile, in place of a test at each load (A:pad(16),
edge=pad).
Try: course "B5", course "A4", ?A:pad and ?gemm.tiled_padded

fft, fourier transform, dft
No function of clshell; a kernel of few lines, log2(n) launches of n / 2
work-items, with s = 1, 2, 4 .. n/2, from x to y and back in turns (Stockham):
  kernel void fft(int n, int s, global const float2 *x, global float2 *y) {
    int i = get_global_id(0), k = i % s;
    float2 a = x[i], b = x[i + n / 2];
    float c, t = sincos(-M_PI_F * k / s, &c);
    b = (float2)(b.x * c - b.y * t, b.x * t + b.y * c);
    y[(i - k) * 2 + k] = a + b;
    y[(i - k) * 2 + k + s] = a - b;
  }
Try: ?Kernel:range and ?cl.record

transfer, transfers, pcie, host to device, upload, download
b:write(h) copies from the host to the device, b:read() back; both wait unless
{async = true}. Over PCIe that is some 10 to 60 GB/s, a tenth of the device's
own memory: keep values there between kernels. From 4 MiB on copies go by
pinned memory. On a device that shares the host's memory b:map() copies
nothing.
Try: course "B12", %run bench_transfer.lua, ?Buffer:write and ?Buffer:map

assembly, asm, ptx, sass, machine code, disassembly
asm(k) counts the instructions of a kernel by class, names its loops and the
source line of each instruction: SASS where CUDA's ptxas and nvdisasm are
installed, the processor's instructions on PoCL, an AMD GPU's with
llvm-objdump. Look there for the width of loads, for spills, for an unrolled
loop, for fused multiply-adds. prog:asm() is the plain text of the device's
compiler, PTX on NVIDIA's driver.
Try: %asm gemm tiled, %asm gemm tiled line=86, ?compare

non-uniform, non-uniform work-groups, remainder, edge, uniform work-groups
A global size that the local size does not divide. Devices before OpenCL 2.0
refuse it; of later ones those with non-uniform work-groups run smaller groups
at the edge, for kernels built with -cl-std=CL2.0 or later. The way for all: a
larger global size, and `if (i < n)` around the store, never around a barrier.
Try: %exercise 14, ?Kernel:range and cl.device():info()

leading dimension, ld, pitch
Elements from the beginning of a row to the beginning of the next: at least the
number of columns. Rows padded to a good multiple begin at aligned addresses; a
sub-matrix has the leading dimension of the whole.
Try: ?matrix.zeros and ?A:sub

row-major
Elements of a row lie next to each other: A(i, j) is element i * ld + j, from
0. C, NumPy and clshell do so; Fortran and BLAS are column-major.
Try: ?leading_dimension

gemm, matrix product, matmul, matrix multiplication
C = alpha A B + beta C: M x K times K x N. 2*M*N*K operations on (M*K + K*N +
M*N) elements, so that it can be compute bound if each element is used often.
Try: gemm.kernels()

rung, ladder
A kernel of a family. A ladder leads from the plain kernel to the fastest, and
each rung teaches one idea. A rung of your own is checked, measured and tuned
like the others.
Try: gemm.kernels() and ?gemm.define

expression, arithmetic, elementwise, broadcasting, operators, fused, outer
2 * x + y, -x, x / y, x // y, x % y, x ^ 2, bit operators and methods such as
x:exp() or x:lt(y) on Buffers make an Expression. It reads its Buffers when it
is needed: by y:set(e), e:eval(), e:read(), printed, or passed to a launch (a
slice for a pointer to const alone, as the kernel gets a copy); then one kernel
calculates all of it, and stays for the next such expression. Shapes are
compared from the last dimension on, 1 or missing fits all: a row of shape {n}
or a column {m, 1} serves a matrix. Types are OpenCL C's: char to ushort
become int, then the higher type counts. A half calculates as float, on every
device, and is rounded where it is stored: x + y, x - y and x * y have the bits
that half arithmetic (cl_khr_fp16) gives, longer expressions are rounded less
often; astype "half" rounds in between. A number takes the highest type that it
meets, and an integer must fit; a Lua float beside integers makes float. 64-bit
integers beside reals are an error: astype gives the type. / gives reals;
// and % round as Lua's do, and by 0 give 0 for integers. Integers wrap, as
NumPy's and Lua's do and C's need not: + - * // abs and sums keep the lowest
bits of their type, so INT_MAX + 1 is INT_MIN, and abs of INT_MIN is INT_MIN.
Comparisons are C's in the higher type: int beside uint is uint. x << k and
x >> k are C's, k modulo the bits. x:slice(2, -1), A:transpose(), A:diagonal()
and x:shift(1) are views: they read, and set, elements where they lie.
x:reshape{m, 1} * y is the outer product of two vectors. x:sum(), x:max(),
x:dot(y) and their like are numbers, calculated in the same kernel; x:sum(1) is
a Buffer of the sums along the first dimension.
An Array of the host has the same operators and methods. An operation copies
its elements to the device as they are at that time: 2 * h stays the same when
h changes later, and (2 * h):eval() is a Buffer. A slice of h is a view, and
reads h when an operation takes it. h:set(2 * h + b), h:axpy(a, x), h:scatter
and a slice's set calculate on the device too, and then read the elements back
into the Array, for which the host waits. A Buffer in place of h,
cl.buffer(h.type, h.shape, h), saves the copies of later operations.
Try: ?Buffer:set, ?Buffer:slice, ?Buffer:sum, ?cl.map and ?Buffer:where

reduction, axis, keepdims, std, variance, softmax, norm, prod
x:sum(), x:mean(), x:max(), x:argmin(), x:nrm2() and x:any() are one number, or
with a dimension a Buffer of the shape left: A:sum(2) is a sum for each row of
A, and A:sum(2):reshape{m, 1} a column that fits A again. A:var(1) is the
variance of the columns, A:std(1) its root. For e = (A - A:max(2):reshape{m,
1}):exp(), the softmax of the rows is e / e:sum(2):reshape{m, 1}. x:fmax(y) is
the greater of each two elements. x:reduce{op = "a * b", identity = 1} is the
product of all.
Try: ?Buffer:sum, ?Buffer:argmax, ?Buffer:var and ?Buffer:reduce

sorted, top-k, topk, prefix sum, cumulative, cumprod
x:sort() are the elements in order and x:argsort() their places, from 1; the k
greatest (top k) are x:sort{order = "descending"}:slice(1, k). x:cumsum() are
the prefix sums, x:scan{op = "a * b", identity = 1} running products.
Try: ?Buffer:sort, ?Buffer:gather and ?Buffer:scan

numpy, empty_like, asarray, dtype, tolist
cl.buffer("float", {2, 3}, 0) is a Buffer of zeros on the device, with 1 one of
ones; without a number its content is arbitrary, and a list or an Array in its
place is copied. cl.arange and cl.linspace count, cl.random draws, x:clone()
copies. x.type and x.shape are the type and the shape, #x the number of
elements; x:read() is an Array of the host, x:read():table() a table of Lua.
All indices begin at 1.
Try: ?cl.buffer, ?expression, ?slice and ?reduction

slice, view, slicing, reverse, flip, roll, strides
x:slice(from, to, step) is some of the elements of a Buffer or an Expression,
counted from 1, or from the end where negative: x:slice(-1, 1, -1) is x
backwards. A:slice({1, 2}, 3) takes a range or an index for each dimension. It
copies nothing; x:slice(2, 5):set(0) sets those elements. x:shift(k) rolls.
Buffer:view and A:sub give Buffers that share memory, for kernels and gemm.
Try: ?Buffer:slice, ?Buffer:shift and ?Buffer:view

dia, diagonals
A sparse matrix by diagonals: dense rows of values, one for each diagonal, and
the offsets. Neighbouring rows read neighbouring values, so it coalesces.
M:pack() is the same matrix in fewer bytes, for spmv.
Try: ?dia.banded, ?Dia:pack and ?spmv

csr, compressed rows
A sparse matrix by rows: values, their columns, and where each row begins. It
takes any pattern; a work-item for each row reads with strides, and rows of
very different lengths want equal parts of work.
Try: ?csr.from_coo and ?spmv.csr_balanced

verify, verification, correctness, correct, check my kernel, freivalds
The result of a rung is compared with a float64 reference before its rate is
shown. Small products wholly; large ones by Freivalds' check: C v = A (B v) for
random v. To verify a kernel of your own: check(k:range(n), x, y) tells races,
steps over an edge and values never written, y:read() compares with Lua, and a
rung (gemm.define, family.new) is verified as the others are.
Try: ?check, ?gemm.define, ?gemm.verify and ?cl.host.gemm_freivalds

double, fp64, cl_khr_fp64, double precision
Buffers, matrices and rungs of "double" need a device with cl_khr_fp64; kernels
then take double as it is. Twice the bytes, half the lanes of a CPU's vectors,
and on small GPUs 1/32 or 1/64 of the arithmetic. A literal without f (2.0) is
double: 2.0f keeps a kernel of floats in float.
Try: course "B2", course "C1", and cl.device():has "cl_khr_fp64"

roundoff, epsilon
Each float operation is off by at most half a unit in the last place: 6e-8 of
it in float, 1e-16 in double. A sum of n products adds up such errors, so two
right results differ in their last digits.
Try: ?verify.bound

median, noise, ±, ±%, 95%, interval, n, dropped
Other work on the machine disturbs times, and with them the mean or a single
run. So the time of a kernel is the median of n samples, with its 95 % interval
in brackets. In a table ±% is half the interval as a share of the median. `min`
is the least sample, `dropped` the number of samples before the clock was
steady.
Try: ?stats.interval

FASTER, SLOWER, SAME, UNCLEAR, verdict, rounds
The verdict of compare on b, from rounds that run both in turns. FASTER or
SLOWER: the 95 % interval of the ratio lies beyond 1; SAME: it lies within 1 %
of 1; UNCLEAR: it does neither, and more time or a quiet machine is needed.
Try: ?compare

ms, us, ns
The time of a launch, a rung or a call: ms are thousandths of a second, us
millionths, ns billionths. Of a result: the median of its samples.
Try: ?median and ?event

hot, cold, rotation, flush
Of a result: what the caches held before each launch. hot: the same operands as
the launch before; cold: other data, because copies of the operands take turns
(rotation), a buffer is overwritten (flush), or the operands exceed the caches.
gemm is measured hot, the other families cold; cache = "cold" chooses.
Try: ?bench

tick, timer step
The step of a device's event timer, as measured: durations are multiples of it.
A launch that is not much longer runs several times in a sample.
Try: calibrate(), and ?batch

batch, wall, inside the commands
batch 10 in a result: a sample has ten launches, because a single launch is too
short for the timer. The time is still the time of one launch. wall +5% says
how much longer a launch takes by the host's clock than by its events, and
"inside the commands" is the time between START and END alone, without the gaps
between.
Try: ?bench

unconverged
Flag of a result: the time for sampling was over before the 95 % interval of
the median was within 0.5 % of it. The interval is as printed; more seconds, or
a quiet machine, narrow it.
Try: ?bench

clock!
Flag of a result: a small fixed kernel ran slower during the samples than at
calibration, so that the device's clock was lower or others used the device.
Compare such a result with care, or measure again.
Try: ?calibrate

power limit
Words behind the clock of a result, "1290 MHz of 1980, power limit": the device
lowered its clock, here to stay below its power, in at least a quarter of the
readings. "98% at its clock" is the part of the measured roof, were the roof
measured at that clock: what is left to gain in the kernel and not by less
power. Watts and joules of a run are there where the device was busy all the
time, and long enough for the meter.
Try: cl.device():sensors()

overhead-bound
Flag of a result: it took less than five times as long as a launch of an empty
kernel. The time tells more about the launch than about the kernel.
Try: calibrate()

no event timer
Flag of a result: the host's clock timed it, from the call until all commands
had ended. The function returned no event, or the device's times are not right.
Try: ?calibrate

IMPOSSIBLE?
Flag of a result: its rate is above 105 % of the measured roofline. Either the
roofline was measured at a bad moment, or the given flop or bytes are too high:
the kernel does less.
Try: ?peaks and ?roofline

refused, wrong, failed, interrupted
What a result has in place of a rate. refused: the kernel does not take this
shape, device or parameter, with the reason; wrong: it was run, and differs
from the reference by more than roundoff; failed: the driver or the compiler
raised an error; interrupted: Ctrl-C, with the samples so far.
Try: ?verification

image, texture, sampler, image2d_t, read_imagef, write_imagef
Memory of pixels in 1 to 3 dimensions, read through a sampler that repeats or
clamps beyond the edge and interpolates between pixels (CUDA: a texture):
  local img = cl.image{format = "r float", width = 64, height = 48, data = h}
  k:range{64, 48}(img, cl.sampler{filter = "linear"}, y)
where the kernel has `read_only image2d_t img, sampler_t s` and calls
read_imagef(img, s, (float2)(x + 0.5f, y + 0.5f)); the middle of pixel 0 is at
0.5. read_imagef reads the formats float, half_float and norm_, read_imagei
the signed_ formats, read_imageui the unsigned_ formats. GPUs have units and a
cache for images; a CPU has none. Where dev.image_support is false, a Buffer
and vload4 do the work.
Try: ?cl.image, ?cl.sampler, ?Image:map and ?Context:image_formats

svm, shared virtual memory, unified memory, usm
One address for host and device, so that data can hold pointers. A Buffer made
with {svm = true} has it as b.address, an integer for a pointer in a struct of
cl.struct; its memory is mapped, read and written like any Buffer's. k:uses{b}
names the Buffers that a kernel reaches by such pointers alone. {svm = "fine"}
needs no map on a device that has it. A device without: indexes into a Buffer
in place of pointers; {host = true} maps without a copy where memory is shared.
Try: cl.device().svm_capabilities, ?Kernel:uses and ?cl.struct

use_host_ptr, host pointer, pinned memory, zero copy
A Buffer over an Array's own memory: cl.buffer("float", n, h, {use_host_ptr =
true}). A CPU works in it without a copy; a GPU copies it over before a kernel
and back for b:map(). The memory is the Buffer's until that is closed, and h
raises meanwhile; then it holds what the last b:map() showed. {host = true}
is the other way: memory of the driver that the host maps fast.
Try: ?Buffer:map and ?cl.buffer

queue priority, priority, priority hint, throttle hint
cl.queue{priority = "high"}, or throttle = "low", where the device has the
extension cl_khr_priority_hints, or cl_khr_throttle_hints: NVIDIA's, PoCL's and
Intel's CPU drivers have neither. There, kernels that must not wait get a queue
of their own, and a long kernel is better launched in parts, with an offset.
Try: ?cl.queue and ?Kernel:range

enqueue_kernel, device enqueue, dynamic parallelism, pipe, pipes
A kernel launches no kernels here, and no packets go from kernel to kernel
through a pipe: few devices have these parts of OpenCL 2.0. Launch the next
kernel from Lua: its event need not be waited for, and an in-order queue keeps
the order, so the next kernel sees the data of the one before. A kernel may
also take its work from a list in a Buffer, by an index that atomic_inc moves,
until the list is empty.
Try: ?Kernel:range and ?Launch:on

command buffer, command graph, cuda graph, recording
Launches recorded once and run as a whole, any number of times:
  local steps = cl.record(function() k:range(n)(x, 1) k:range(n)(x, 2) end)
  for i = 1, 100 do steps() end
Where the driver has command buffers (cl_khr_command_buffer: PoCL, Intel's for
CPUs) the launches behind the first are one; elsewhere, as on NVIDIA's GPUs,
the same object enqueues them one by one, in C: `steps.native` tells. With PoCL
and with Intel's driver a run saves the host half a microsecond for each
launch, Lua's part of it, and {native = false} a little more; kernels take as
long as before.
Try: ?cl.record and ?CommandBuffer:run

global_work_size, built-in kernel, custom device
CL_KERNEL_GLOBAL_WORK_SIZE tells the largest NDRange of a driver's own kernels,
which are not bound here (dev.built_in_kernels names them). A program's kernels
take as many work-items as k:range(n) says; k.work_group_size, as far as one
work-group goes, is the device's limit for the kernel.
Try: ?Kernel:range

half, fp16, cl_khr_fp16, half precision
Buffers of half hold 16-bit floats on every device; a kernel calculates in
float, by vload_half(i, p) and vstore_half(x, i, p), as arithmetic on Buffers
and cl.map do: the memory sets the time, and the sums are more exact.
Where dev.half_fp_config is there (cl_khr_fp16) a kernel may calculate in half:
`kernel void f(half a, global half *x)` then takes f(0.5, b).
Try: cl.device().half_fp_config and ?Array:convert

bfloat16, bf16, float8, fp8, e4m3, e5m2
Buffers and Arrays of bfloat16, float8_e4m3 and float8_e5m2 hold numbers in 16
and 8 bits, of 8, 4 and 3 significant bits. OpenCL C has no such types: a
kernel gets ushort or uchar, and arithmetic, sums and sorts take floats.
x:astype "float" and e:astype "bfloat16" convert on the device, h:convert on
the host, to the nearest number, ties to even. Beyond the largest number lies
infinity, but float8_e4m3 has none: it keeps 448. gemm multiplies such
matrices, with sums in float. .npy has no such types.
Try: cl.array("float8_e4m3", 2, {0.3, 1000})[2] and ?cl.types

several devices, multiple devices, shared context, multi-gpu, sub-device, \
subdevice, device fission
cl.each(function(device, i) ... end) runs for each GPU, cl.split(A) spreads a
matrix over them: gemm, spmv, transpose and arithmetic take it. cl.context(dev)
gives each device a Context, with a queue, Buffers and programs of {context =
c}. Commands on two devices run side by side; src:copy(dst) takes data from one
to another. cl.contexts{a, b} gives devices of one platform Contexts with their
Buffers and Events in common. dev:partition makes Devices of parts.
Try: ?cl.each, ?cl.split, ?cl.contexts and ?Device:partition

box, rectangle, region, sub-array
A part of a Buffer that has one to three dimensions, from an element on:
b:read{from = {2, 1}, size = {3, 4}} copies it to the host, b:write(h, {from =
{2, 1}, size = {3, 4}}) back, and a:copy(b, {from = ..., size = ..., to = ...})
to another Buffer. A:sub(2, 1, 3, 4) is a matrix of that part without a copy,
x:slice a part of an expression, with steps.
Try: ?Buffer:read, ?Buffer:copy, ?Buffer:sub and ?slice

il, spir-v, spirv, spir
Programs as a compiler's intermediate language: cl.build_il takes SPIR-V on
devices that have it, with values for its specialisation constants.
Try: cl.device().il_version and ?cl.build_il

callback, user event, clSetEventCallback
ev:on_complete(f) has f called once a command has ended; Lua has one thread, so
a wait, cl.poll() or the next prompt makes the call. cl.user_event() is an
event that the script itself sets: commands wait for it.
Try: ?Event:on_complete and ?cl.user_event

cuda, nvcc, cu
CUDA's kernels build with cl.build(source, {cuda = true}), from a path that
ends in .cu, or pasted at the prompt; clshell --cuda file.cu compiles them and
lists the launches. `prog.cuda` has the OpenCL C. Launches and memory are
Lua's: the NDRange counts work-items, CUDA's grid counts blocks, so <<<grid,
block>>> is k:range({grid * block}, {block}). Variables that CUDA's host fills
by name, and the shared memory of <<<>>>, are arguments here, the last ones.
Try: ?ndrange, ?threadIdx and ?cl.build

opencl, pyopencl, opencl c api, host code, host api
Kernels are OpenCL C here as elsewhere: __kernel, get_global_id, barrier(
CLK_LOCAL_MEM_FENCE); ?get_global_id tells each word. The host is Lua in place
of C or Python, in a tenth of the lines: the session has a device, a context
and a queue that times its commands; objects free themselves; an error raises.
A listing of a host, in C, Python or CUDA, is told line by line where it is
pasted at the prompt, also behind a ?, and by clshell --check host.c (or .py).
  local prog = cl.build "mm.cl"             -- source, build log, kernels
  local x = cl.buffer("float", n, values)   -- memory and its content
  local ev = prog.mm:range({n, n}, {16, 16})(n, x, y) -- arguments, launch
  print(ev.ms, y:read()[1])                 -- time, result
Try: ?clCreateBuffer, ?cl.buffer and ?cuda

course, lessons, exercises, course texts
What five texts on GPU kernels claim, by number, each with an experiment:
course "A2" tries one on the session's device, %run claims.lua B all of a text.
[GPU]: only a GPU shows it. [simulator]: counted on Oclgrind, on any machine.
%exercise lists questions, and kernels to write: %exercise 1 answer checks an
answer, %exercise edge shows a task, %exercise submit mine.cl has the judge
decide, %exercise score tells the points. scripts/course has the kernels of the
texts before and after each step, each with its claim.
Try: course "B13", %exercise 1, %exercise edge, and ?judge

mpi, mpirun, rank, ranks, cluster, slurm, processes
mpirun -n 4 clshell script.lua, or srun in a job of Slurm's, starts the script
in four processes, on one host or several; local mpi = require "mpi" gives
each its number, mpi.rank() from 0, and functions that pass numbers, strings,
Arrays and Buffers. Each process takes the next device of its host; -d gpu
keeps to GPUs; Open MPI ties one or two processes to a core each, which a CPU's
device then has alone: mpirun --bind-to none. An error in one ends all, with
its rank in front. Lines of several ranks come whole. Rank 0 alone keeps runs
and writes the file of -o.
cl.commandline.rank and ranks tell the same without MPI.
local ranks = require "clshell.ranks" has matrices and vectors in parts, one on
each process, and multiplies and transposes them.
Try: ?ranks.gemm and ?mpi.allreduce

exit, quit, leave
exit or quit on a line of its own, or Ctrl-D, ends the session. In a script,
os.exit(code) ends the program.
Try: ?os.exit

crash, segfault, segmentation fault, restart, device lost
A kernel of a CPU that stores beyond its memory may crash its process. The
launches under way are named, with their arguments and lines. A script ends
then. At a prompt the program begins anew in the same terminal and asks whether
to restore the session: it runs the inputs again that built something, leaves
out the one that crashed and those that only measured or printed, and says what
it could not bring back. A GPU that faults may take no more commands from its
process; %restart begins anew as well, at any time. %restore runs the inputs of
an earlier session that a signal or a closed terminal ended. --no-init keeps no
inputs, so there the new session is empty.
Try: ?check

keys, key, editing, shortcut, prompt
Enter submits a statement that is complete and begins a line in one that is
not; Alt-Enter and Ctrl-O always begin one. Up and Down move by line, then
through the history; PgUp finds inputs that begin as the text before the
cursor, Ctrl-R inputs that contain the word typed next. Home, End, Ctrl-K and
Ctrl-U act on a line, Alt-< and Alt-> move to the ends of the text. Ctrl-_
takes back a word, or a paste in one step. Alt-. inserts the last argument of
the entry before. Tab completes, and again shows more; F1 explains; Ctrl-C
drops the text, Ctrl-D leaves.
The other keys are readline's; ~/.inputrc binds them as elsewhere.
Try: {1, and Enter
]]

local function key(word)
  return (word:lower():gsub("[-_%s]+", "_"))
end

--- concepts.list
--- A list of {name, title, names, text, try}, one for each concept, and by all
--- names of concepts; `more()` gives further text of a page. A page by task
--- is a `guide`: its text has paragraphs and examples.
M.list = {}

local function add(block, guide)
  local names, text, try = block:gsub("\\\n", "")
    :match "^([^\n]*)\n(.*)\nTry: ([^\n]*)\n*$"
  local title = names:match "^[^,]+"
  local entry = {name = key(title), title = title, names = names, text = text,
    try = try, guide = guide}
  table.insert(M.list, entry)
  for name in names:gmatch "[^,%s][^,]*" do
    M.list[key(name)] = guide and M.list[key(name)] or entry
  end
end

for block in (TEXT .. "\n"):gmatch "(.-)\n\n" do
  add(block)
end
for _, block in ipairs(require "clshell.shell.help.guides") do
  add(block, true)
end

M.list.cuda.more = function()
  return words.page "cuda"
end
M.list.opencl.more = function()
  return words.page "opencl"
end
M.list.course.more = function()
  return require "clshell.explain.course".lessons()
end

--- concepts.find(word) -> entry or nil
--- The concept of a name: "local memory", "local_memory", "warps"; also in
--- quotes, and of a sentence: "my kernel is slow?".
function M.find(word)
  local name = key(word)
  local bare = name:match "^['\"]*(.-)['\"?!.]*$"
  return M.list[name] or M.list[name:gsub("s$", "")] or M.list[bare]
end

return M

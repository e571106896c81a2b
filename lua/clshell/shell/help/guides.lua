-- shell/help/guides.lua - pages by task: the first hour, how-to pages, a
-- comparison with other programs, the glossary. concepts.lua reads them.
-- SPDX-License-Identifier: MIT

-- Pages in the form of concepts.lua, but with paragraphs: the names, the text,
-- and "Try:". A block of indented lines is run by tests/help/guides.lua: lines
-- after "cl>" at the prompt, lines after "$" in the shell, and a block that
-- begins with the comment of a file's name is that file. The other lines are
-- what they print; ... stands for lines left out, and numbers are of one run.
return {[[
first hour, getting started, quick start, first steps
From the first Buffer to a tuned kernel and a script. Type each line after cl>,
or paste it. The numbers are of PoCL on a busy CPU: yours differ. ?tutorial
teaches the same in small steps.

A Buffer is memory of the device. It calculates there: the sum is one kernel,
which clshell writes and builds.

  cl> x = cl.buffer("float", 1000000, 3)
  cl> (2 * x + 1):sum()
  7000000.0

A kernel of your own is OpenCL C. A mistake is shown in its line.

  cl> sq = cl.kernel "kernel void sq(global int *x) { x[0] *= X[0]; }"
  input:3:1: build error: 1 error (CL_BUILD_PROGRAM_FAILURE -11)
  ...
  input:3:1:59: error: use of undeclared identifier 'X'
  ...
    did you mean 'x'?

Up brings the statement back, to mend it. A product of matrices:

  cl> n = 256
  cl> A, B, C = matrix.random(n), matrix.random(n), matrix.zeros(n);
  cl> mm = cl.kernel [=[
  ..> kernel void mm(int n, global const float *A, global const float *B,
  ..>                global float *C) {
  ..>   int i = get_global_id(0), j = get_global_id(1);
  ..>   float s = 0;
  ..>   for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
  ..>   C[i * n + j] = s;
  ..> }]=]
  cl> launch = mm:range({n, n}, {16, 16})

%bench measures a launch. `expect` has the right results: gemm(A, B) is
clshell's own product. A wrong kernel gets no time.

  cl> %bench launch(n, A, B, C) flops=2*n^3 expect=gemm(A,B)
  launch  20.2 ms [19.8, 21.1] 95%  n=26 (2 dropped)  min 17.9
    hot  event (tick 1 ns)  wall +0.3%
    1.66 GFLOPS  1.6% of the measured roof (compute)
    error 1.0e-06 of 7.6e-06, all elements (as gemm.verify compares)
  ...

The line of the roof says how far the kernel is from this device's measured
peak. Two kernels are compared in turns, so that other programs disturb both
alike. The verdict is on the second.

  cl> compare({"gemm.naive", {n}}, {"gemm.simd", {n}})
  gemm.simd is 42.8 [40.2, 49.3] times as fast as gemm.naive
    a: gemm.naive  56.3 ms
    b: gemm.simd   1.32 ms
    b: FASTER after 11 rounds ...
    results of both right: all elements

tune searches the parameters of a kernel. Each setting is checked before it is
timed.

  cl> best = tune("gemm.tiled", {n}, {evaluations = 4, seconds = 10})
  ...
  cl> best.params.tile
  8
  cl> best:keep()
  ...

Each measurement was kept. The session becomes a script.

  cl> history()
  ...
  cl> %save hour.lua
  wrote 11 inputs to hour.lua (1 that failed left as comments)

  $ clshell hour.lua
  ...
Try: ?howto
]], [[
how-to, howto, how to, guides, recipes
Pages by task, each with commands to type and their output.

  ?first_hour            from the first Buffer to a tuned kernel
  ?i_have_a_cuda_kernel  build it as it is, launch it, check it
  ?my_kernel_is_wrong    find the wrong element, the race, the stray store
  ?my_kernel_is_slow     find the limit, change one thing, prove the gain
  ?merge_gate            refuse changes that make a kernel slower; GitHub
  ?compared              beside PyOpenCL, Kernel Tuner and nvbench
  ?glossary              a sentence for each word of the field
Try: ??word searches all pages, and ?tutorial teaches the shell in lessons
]], [[
I have a CUDA kernel, cuda kernel, from cuda, port a cuda kernel, porting, \
have cuda
clshell builds CUDA's kernels as they are, on any OpenCL device: an example.

  // saxpy.cu
  __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
  }
  int main() {
    int n = 1 << 20;
    float *d_x, *d_y;
    cudaMalloc(&d_x, n * sizeof(float));
    saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, d_x, d_y);
  }

1. Does it compile here, and what does the host become? The answer has a line
of Lua for each launch and each call of CUDA.

  $ clshell --cuda saxpy.cu
  saxpy.cu:1: it compiles: saxpy
  saxpy.cu:10: launch: prog.saxpy:range({(n + 255) // 256 * 256},
    {256})(n, 2.0f, d_x, d_y)
  saxpy.cu:9: CUDA: cudaMalloc; here: b = cl.buffer("float", n)
  saxpy.cu:10: CUDA: <<<>>>; here: k:range(grid * block, block)(...):
    work-items, not blocks

2. Build it at the prompt, and launch it. CUDA's grid counts blocks; the range
counts work-items.

  cl> prog = cl.build "saxpy.cu"
  cl> n = 1 << 20
  cl> x, y = cl.buffer("float", n, 3), cl.buffer("float", n, 1);
  cl> launch = prog.saxpy:range(n, 256)
  cl> launch(n, 2, x, y):wait();
  cl> y:min(), y:max()
  7.0
  7.0

3. Check it, and measure it. y is read as well as written, so `inout` names it.

  cl> y:set(1);
  cl> %bench launch(n, 2, x, y) bytes=12*n expect=2*x+1 inout="y"
  launch  0.747 ms [0.711, 0.777] 95%  n=1000 (2 dropped)  min 0.361
  ...
    error 0.0e+00 of 1.0e-04, by element: within 1.0e-04 of its value, or
    of 7
  ...

4. Words of CUDA have pages: ?threadIdx, ?__syncthreads, ?cudaMemcpy. ?cuda
lists them, and says which parts of CUDA have no counterpart.
Try: ?cuda, ?my_kernel_is_wrong and ?my_kernel_is_slow
]], [[
my kernel is wrong, wrong result, wrong results, wrong answer, wrong numbers, \
debug, debugging, kernel is wrong
A kernel that gives wrong results: find the element, the race, the stray store.
This kernel shall reverse 256 elements, and is wrong in two ways.

  cl> rev = cl.kernel [=[
  ..> kernel void rev(int n, global const float *x, global float *y) {
  ..>   local float t[64];
  ..>   int i = get_global_id(0), l = get_local_id(0);
  ..>   t[63 - l] = x[i];
  ..>   y[i] = t[l] + x[n - i];
  ..> }]=]
  cl> n = 256
  cl> x, y = cl.buffer("float", n, 1), cl.buffer("float", n);

1. Say what is right: `expect` is an Array, an expression, a function or a
plain kernel. The outputs hold NaN before the launch, so a value that is never
written is seen too.

  cl> %bench rev:range(n, 64)(n, x, y) expect=2*x
  rev:range
    WRONG 32 of 256 elements of y: y[0] = -1.110613e+13, expected 2; y[1] =
  ...

2. Ask why. %check runs the launch on a simulator (make check-tools installs
it), which names races, accesses outside a Buffer, and values never written.

  cl> %check rev:range(n, 64)(n, x, y)
  check: 2 findings in rev over 256, local 64
  ...:5:10: error: race on local memory: work-item 32 reads, and work-item 31
    writes
  ...
  ...:5:17: error: read outside 'x': x[256]; it has 256 elements
  ...

The race: all work-items must have written t before one reads it. A barrier
is missing. The other: x has no element n - i for i = 0.

  cl> rev = cl.kernel [=[
  ..> kernel void rev(int n, global const float *x, global float *y) {
  ..>   local float t[64];
  ..>   int i = get_global_id(0), l = get_local_id(0);
  ..>   t[63 - l] = x[i];
  ..>   barrier(CLK_LOCAL_MEM_FENCE);
  ..>   y[i] = t[l] + x[n - 1 - i];
  ..> }]=]
  cl> %check rev:range(n, 64)(n, x, y)
  check: no finding in rev over 256, local 64

3. Nothing found, still wrong? Take the smallest size that fails. Take sizes
that no tile divides: a prime, 1, a group and one more. Print from the kernel
with printf, in one work-item: if (get_global_id(0) == 5). Look at an element
by y:read()[6]; Lua counts from 1.

4. Wrong in the last digits only? Sums in another order round differently:
?roundoff says how much is right, and `tolerance` sets what %bench accepts.

5. A kernel that stops the program is named, with its arguments, and the
session begins anew: ?crash.
Try: ?check, ?verification, ?barrier and ?bank_conflict
]], [[
my kernel is slow, slow kernel, slow, make it faster, speed up, \
optimise, optimize, performance, kernel is slow
A kernel that is too slow: find its limit, change one thing, prove the gain.
Save the kernel in a file: after each edit the next launch runs the new text.

  // mm.cl
  kernel void mm(int n, global const float *A, global const float *B,
                 global float *C) {
    int i = get_global_id(0), j = get_global_id(1);
    float s = 0;
    for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
    C[i * n + j] = s;
  }

1. Measure before you change. Give the useful operations (flops=), or the bytes
that it must move (bytes=), and what is right.

  cl> n = 256
  cl> A, B, C = matrix.random(n), matrix.random(n), matrix.zeros(n);
  cl> mm = cl.build("mm.cl").mm
  cl> launch = mm:range({n, n}, {16, 16})
  cl> r = bench(launch, {args = {n, A, B, C}, flop = 2 * n^3,
  ..>   expect = gemm(A, B), effort = "quick"});

2. Ask for the limit: memory, arithmetic, or neither. Then read that page:
?memory_bound, ?latency_hiding, ?overhead_bound.

  cl> lesson(r)
  ... the nearest roof is compute ...

3. Look at the memory. %access (on the simulator) counts, for each line, the
sectors that a warp of a GPU moves, and those it needs. Eight for four means:
neighbours do not read neighbouring addresses (?coalescing).

  cl> %access mm:range({32, 32}, {8, 8})(32, A, B, C)
  access: mm over 32x32, local 8x8; H100: warps of 32 lanes, sectors of 32
  ...
     5 load A[i * n + k]  4 +32 in 8, 0     32       8     8     1     8
  ...
     6 store C[i * n + j] 4 +32 in 8, +1    32       8     8     4     1
  ...

4. Change one thing, and compare in turns. Here the first index is the column,
so that neighbours write neighbours.

  $ sed 's/(0), j = get_global_id(1)/(1), j = get_global_id(0)/' mm.cl >col.cl

  cl> column = cl.build("col.cl").mm
  cl> compare(launch, column:range({n, n}, {16, 16}),
  ..>   {args = {n, A, B, C}, expect = gemm(A, B), seconds = 3})
  ...

On a GPU this is the largest step of all. On a CPU it may be SAME or UNCLEAR:
believe the verdict, not one time.

5. Keep the registers in view: few work-items on a compute unit hide little.

  cl> occupancy{gpu = "H100", registers = 64}
  ...

6. Let the machine search the sizes: ?tune takes a kernel of your own. Look how
others did it: gemm, spmv, reduce, scan and sort are ladders of kernels, each a
step faster, each with its lesson.
Try: ?lesson, ?access, ?occupancy, ?tune and course "A2"
]], [[
merge gate, make it the merge gate, gate, ci, continuous integration, github, \
github actions, regression, performance test
A gate measures the version before a change and the version after it, on one
machine, in one job, and fails where a kernel became slower. Times of another
day or another machine are no base: they differ for other reasons.

1. A script that checks your kernel, and measures it: long enough for ten
launches at least, as fewer are UNCLEAR.

  -- bench.lua
  local n = 100000
  local x, y = cl.buffer("float", n, 1), cl.buffer("float", n)
  local scale = cl.build("scale.cl").scale
  local r = bench(scale:range(n), {args = {x, y}, expect = 2 * x,
    name = "scale", tag = arg[1], bytes = 8 * n, seconds = 3})
  print(r)
  os.exit(r.ok and 0 or 1)

  // scale.cl
  kernel void scale(global const float *x, global float *y) {
    int i = get_global_id(0);
    y[i] = 2 * x[i];
  }

2. The gate. Runs of a tag lie in the run store; compare judges the newest runs
of the tag `new` by those of the tag `base`.

  # gate.sh
  set -e
  export CLSHELL_STORE=$PWD/gate.db
  git archive --prefix=base/ "$1" | tar x
  for round in 1 2 3; do
    (cd base && clshell ../bench.lua base)
    clshell bench.lua new
    clshell compare base new -f md >>"${GITHUB_STEP_SUMMARY:-summary.md}"
    clshell compare base new --fail-on-regression 3% && exit 0
  done
  exit 4

  $ sh gate.sh HEAD; echo "exit code $?"
  ...

It ends with 0, as nothing was changed. SLOWER needs medians that differ by
more than the samples scatter, with p < 0.01; UNCLEAR passes. But two processes
can differ for other reasons: on a busy CPU this kernel was once 19 % slower
than itself. So the gate measures again, and refuses what is slower three
times. A wrong result ends it at once with 1. A slow kernel:

  $ sed -i 's/= 2/= exp(log(x[i])) * 2/' scale.cl
  $ sh gate.sh HEAD; echo "exit code $?"
  ...
  1 SLOWER
  clshell compare: 1 of 1 regressed
  exit code 4

3. On GitHub. Its usual runners have no GPU, and PoCL is the device; for
`clshell -d gpu` in gate.sh take a runner of your own.

  # gate.yml
  on: pull_request
  jobs:
    gate:
      runs-on: ubuntu-24.04
      steps:
        - uses: actions/checkout@v4
          with: {fetch-depth: 0}
        - run: sudo apt-get install -y pocl-opencl-icd
        - run: sh gate.sh "${{ github.event.pull_request.base.sha }}"

The table of the comparison stands in the summary of the run, in Markdown, as
here in a file:

  $ tail -n 1 summary.md
  | scale | 0.03851 | 2.596 | +6642.3 | +6010.7 | +7405.2 | 3e-92 | SLOWER |

clshell itself comes from its package, or from a step that builds it (make).
Where gate.db stays from run to run, as in a cache of GitHub's, `clshell
history scale` tells since which source the kernel takes another time.
A script of the ladders has the tag as an option: clshell bench_tiles.lua --tag
new.

4. Two files in one process, in turns, tell smaller differences: compare() of
two launches, as in ?my_kernel_is_slow. os.exit(c.verdict == "SLOWER" and 4 or
0) makes a gate of it.

5. Wrong kernels are refused by `clshell judge task.lua mine.cl`, whose exit
code is a gate as well: ?judge and ?task.
Try: ?history, ?compare, ?judge, and clshell compare --help
]],
[[
compared, comparison, compared with others, other programs, alternatives, \
versus, kernel tuner, nvbench, ipython
clshell beside PyOpenCL 2026.1.4, Kernel Tuner 1.5.0 and nvbench (cuda-bench
0.3.0, with CuPy), the same kernel: a plain product of 256x256 floats. Measured
on 2026-11-27: PoCL 3.1 on two cores of an AMD EPYC that others used (PoCL),
and an H100 80GB (H100). nvbench needs CUDA: its column is of the H100.

                      clshell       PyOpenCL      Kernel Tuner  nvbench
  checked GEMM, lines 4             21            10            18
  first number, CPU s 37            19            64            -
  launch, PoCL        12.1 us       10.9 us       -             -
  launch, H100        14.4, 17.4 us 16.7, 16.4 us -             -
  wrong result        WRONG, where  your assert   ends the run  your assert
  A beside A, PoCL    3 UNCLEAR     no verdict    names a best  -
  A beside A, H100    2 SAME of 3   no verdict    -             2 AMBG of 2
  tuning, 16 points   38, 38, 66 s  no tuner      12, 13, 18 s  no tuner
  typo: lines printed 5             19            51            47
  kernel crashes      names launch  exit code 139 exit code 139 exit code 1
  local size 64x128   gives limit   gives code    leaves it out says no data
  after an edit       next launch   build, run    new process   new process

First number: processor seconds from a source tree (git clone, make, run) or an
empty Python environment (pip, run), without the system's packages. Here
Python's wheels are ahead.

Launch: the host's time to set three arguments and enqueue, medians of 21
rounds in turns; two runs on the H100. PyOpenCL is 1.2 times as fast on PoCL;
on the H100 neither leads in both runs.

Wrong result: the last term of each sum is missing. clshell names elements and
shows no time; Kernel Tuner, given the answer, ends with a traceback, and the
other points are not measured. In the others the check is the user's.

A beside A: a kernel and itself, by compare, by a parameter that changes
nothing (Kernel Tuner: of four equal kernels the best took 30 ms, the slowest
76), and by nvbench-compare-robust; nvbench-compare-legacy says SAME.

Tuning: Kernel Tuner takes seven launches of each point. clshell stops slow
points early and measures the finalists in turns, which a busy machine
prolongs; the winners of both could not be told apart. On a quiet machine 25
points of a convolution took 11.5 s here and 12.6 s there (medians of 14
pairs).

Typo: clshell shows the line of the source, a caret and "did you mean 'B'?";
the others the compiler's line in a traceback. Crash: clshell names kernel,
sizes and arguments; its prompt begins anew and restores the session. In
IPython the session is lost.

Where they are better. PyOpenCL: NumPy, notebooks and all of Python around the
kernel. Kernel Tuner: CUDA, HIP and compilers as well as OpenCL, a choice of
search strategies, and energy by NVML. nvbench: it
times each launch alone behind a blocking kernel, drops samples of a throttled
GPU, reads CUPTI's counters, and measures CUDA C++ in the program's own build.

tests/peers/tasks in the source tree has the programs; tasks.lua runs them.
Try: ?compare, ?tune and ?merge_gate
]], [[
glossary, vocabulary, terms
A sentence for each word of the field. Most have a page: ?roof, ?warp, ?tile.

  arithmetic intensity: the floating-point operations for each byte moved.
  bank conflict: lanes want different rows of a bank of local memory.
  barrier: the work-items of a work-group wait there for each other.
  batch: several launches that count as one sample, as one is too short.
  bound: the limit of a kernel: memory, arithmetic, or the time of a launch.
  coalesced: neighbours read neighbouring addresses, and share the transfer.
  cold, hot: cold: the caches hold other data; hot: they hold the operands.
  compute unit: the part of a device that runs work-groups (CUDA: SM).
  divergence: lanes of a warp take different branches, so it runs both.
  event: the object of a command, with its times on the device.
  Freivalds: a check of A B = C by random vectors v: C v beside A (B v).
  global memory: the large memory of the device, where Buffers live.
  interval, 95%: the true median lies in it, 19 times of 20.
  lane: the place of a work-item in its warp or vector.
  latency hiding: other work-items run while some wait for memory.
  launch: a kernel with its sizes; a call with arguments runs it.
  leading dimension: the elements from one row of a matrix to the next.
  local memory: fast memory that a work-group shares (CUDA: shared memory).
  local size: the number of work-items of a work-group in each dimension.
  median: half of the samples are below it; outliers do not move it.
  NDRange: all work-items of a launch, in one to three dimensions.
  occupancy: the work-items on a compute unit, as a part of its places.
  padding: elements more in a row, for alignment or against conflicts.
  peak: the highest rate that was measured on this device.
  pinned memory: host memory that the device reads without another copy.
  private memory: the registers of a work-item.
  queue: the list of commands that a device works off.
  race: two work-items use an address, one writes, nothing orders them.
  register blocking: a work-item makes a block of results, not one.
  roof: the highest rate that memory and arithmetic allow a kernel.
  roundoff: the error of rounding, about 6e-8 in each float operation.
  run store: the file in which all measurements are kept.
  rung, ladder: a kernel that is one step better than the one below it.
  sector: 32 bytes, the smallest piece that the memory of a GPU moves.
  spill: a value finds no register and lies in memory.
  tick: the step of a device's timer.
  tile: a part of the operands that fits fast memory and is used often.
  tune: to measure settings of a kernel and keep the fastest right one.
  unconverged: the time was over before the interval was narrow.
  verdict: FASTER, SLOWER, SAME or UNCLEAR: the answer of compare.
  verified: compared with a float64 result before a rate is shown.
  warp, sub-group: the work-items that run one instruction together.
  wave: the work-groups that the device runs at the same time.
  work-group: work-items that share local memory and barriers.
  work-item: one run of the kernel's body (CUDA: thread).
Try: ?roof, ?bank_conflict and ??word
]],
}

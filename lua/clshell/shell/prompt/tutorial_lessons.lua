-- shell/prompt/tutorial_lessons.lua - the lessons of ?tutorial: their texts,
-- the lines to type, and the effect by which a step is seen to be done
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local set = require("clshell.base.text").set

-- A step has a title, a text (or text(): it depends on the device), the lines
-- to type, done(s) -> true, or a hint or nothing, after(s) -> words on the
-- effect, and `again`: the input that a new session needs first, while need(s)
-- says so. s is the session as tutorial.lua sees it: s.of(class), the objects
-- among results and globals; s.results, s.input, s.measured() (bench results).

-- The first of the results of the good benches for which wanted(r) holds.
local function bench_of(s, wanted)
  for _, r in ipairs(s.measured()) do
    if r.ok and wanted(r) then
      return r
    end
  end
end

local function first_class(s)
  return s.class(s.results[1])
end

local function no(class)
  return function(s)
    return #s.of(class) == 0
  end
end

local function unset(...)
  local names = {...}
  return function()
    for _, name in ipairs(names) do
      if rawget(_G, name) == nil then
        return true
      end
    end
  end
end

-- A test for a step: n of the rungs of a family have been measured, or one of
-- them with n values of a parameter; the hint comes after the first.
local function measured(family, rungs, n, hint, param)
  rungs = set(rungs)
  return function(s)
    local seen, count = {}, 0
    for _, r in ipairs(s.measured()) do
      local variant = r.ok and r.family == family and rungs[r.kernel]
        and (param and r.params[param] or r.kernel)
      if variant and not seen[variant] then
        seen[variant], count = true, count + 1
      end
    end
    return count >= n or count > 0 and hint
  end
end

-- Tells the least times of some rungs for the newest shape, beside a claim.
local function times(family, ...)
  local wanted = {...} -- each {kernel, parameter, value} or {kernel}
  return function(s)
    local words, title = {}, nil
    bench_of(s, function(r)
      title = r.family == family and r.title or title
    end)
    for _, want in ipairs(wanted) do
      local least = math.huge
      bench_of(s, function(r)
        if r.family == family and r.kernel == want[1] and r.title == title
            and r.min and (not want[2] or r.params[want[2]] == want[3]) then
          least = math.min(least, r.min)
        end
      end)
      words[#words + 1] = least < math.huge and ("%s%s %.3g ms"):format(
        want[1], want[2] and (" with %s = %s"):format(want[2], want[3]) or "",
        least * 1e3) or nil
    end
    return #words > 1 and "Here, the least times: "
      .. table.concat(words, ", ") .. "."
  end
end

local BUFFERS = [[
x = cl.buffer("float", 1000000, 1); y = cl.buffer("float", 1000000, 5)]]
local KERNEL = [=[
axpy = cl.kernel [[
kernel void axpy(float a, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] += a * x[i];
}]]]=]
local MATRICES = [[
A = matrix.random(256, 256); B = matrix.random(256, 256)]]

local TILES = [[
In naive each element of A and B is read from global memory again and again.
A work-group can share: its work-items load a square tile of A and of B into
local memory, wait for each other at a barrier, and use each element as often
as the tile is wide. Measure two tile sizes; ?gemm.tiled has the picture.]]
local TILES_ON_CPU = [[

This device is a CPU: its local memory is ordinary memory behind the same
caches. A tile is no faster to read there, and its copies and barriers are
extra work, so tiles need not win. ?gemm.simd shows what is fast on a CPU.]]
local SOURCE = [=[
mine = [[
kernel void mine(int M, int N, int K, REAL alpha,
    global const REAL *A, int lda, global const REAL *B, int ldb,
    REAL beta, global REAL *C, int ldc) {
  local REAL a[T][T], b[T][T];
  int x = get_local_id(0), y = get_local_id(1);
  int j = get_global_id(0), i = get_global_id(1);
  REAL sum = 0;
  for (int k = 0; k < K; k += T) {
    a[y][x] = i < M && k + x < K ? A[i * lda + k + x] : 0;
    b[y][x] = k + y < K && j < N ? B[(k + y) * ldb + j] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < T; q++) sum += a[y][q] * b[q][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < M && j < N)
    C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
}]]]=]

local function kernel_event(s)
  local shown, ran = s.results[1], false
  for _, event in ipairs(s.of "Event") do
    local kernel = event.command == "kernel"
    ran = ran or kernel
    if kernel and (shown == event or shown == event.ms) then
      return true
    end
  end
  return ran and "It ran: look at the event, event.ms is the time in "
    .. "milliseconds."
end

-- The input names an object, so the value is no number that was typed.
local function compared(s)
  local value = s.results[1]
  for name in s.input:gmatch "[%a_][%w_]*" do
    if type(rawget(_G, name)) == "userdata" then
      return value == true or math.type(value) and (math.abs(value) < 1e-3
        or ("They differ by %g: what should y hold after your launches?")
        :format(value))
    end
  end
end

-- The matrices in the session, with their content on the host.
local function matrices(s)
  local list = {}
  for _, b in ipairs(s.of "Buffer") do
    if #b.shape == 2 and b.rows <= 1024 and b.cols <= 1024 and #list < 8
        and (b.type == "float" or b.type == "double") then
      list[#list + 1] = {rows = b.rows, cols = b.cols, type = b.type,
        host = (b:read())}
    end
  end
  return list
end

local function is_product(C, A, B)
  return C ~= A and C ~= B and A.cols == B.rows and C.rows == A.rows
    and C.cols == B.cols and A.type == B.type and A.type == C.type
    and require "cl.host".gemm_freivalds(C.host, A.host, B.host) < 1e-4
end

local function product(s)
  local list = matrices(s)
  for _, C in ipairs(list) do
    for _, A in ipairs(list) do
      for _, B in ipairs(list) do
        if is_product(C, A, B) then
          return true
        end
      end
    end
  end
  return #list >= 3 and "None of your matrices is the product of two others "
    .. "yet: C = gemm(A, B, ...)." or first_class(s) == "Buffer" and "Keep "
    .. "the operands in variables as well, so that the product can be checked."
end

-- lesson measures peaks where they are not known: only after the user did.
local function explained(s)
  local lesson = s.input:find("lesson", 1, true)
    and require "clshell.explain.lesson"
  local a, b = s.results[1], s.results[2]
  return a ~= nil and bench_of(s, function(r)
    return a == r.roof and b == r.bound or lesson and a == lesson(r)
  end) ~= nil
end

local function is_tiled(text)
  return type(text) == "string" and text:find("kernel", 1, true)
    and text:find("barrier", 1, true) ~= nil
end

-- A text with a kernel and a barrier, among results and globals.
local function own_source(s)
  for _, value in next, _G do
    if is_tiled(value) then
      return true
    end
  end
  return is_tiled(s.results[1])
end

local function own_rung(s)
  local hint
  for _, item in ipairs(require "clshell.gemm".kernels()) do
    local rung = not item.rung.builtin and item.rung
    hint = rung and ("gemm.%s is there; measure it: bench(\"gemm.%s\", {256, "
      .. "256, 256})"):format(rung.name, rung.name) or hint
    for _, r in ipairs(rung and s.measured() or {}) do
      if r.family == "gemm" and r.kernel == rung.name then
        if r.ok and is_tiled(rung.source
            or require "clshell.errors.excerpt".read(rung.path)) then
          return true
        end
        hint = r.ok and "It is right and measured, but has no tiles: put "
          .. "them in local memory, with a barrier before they are read."
          or "Its result is not right yet: ?gemm.tiled shows a kernel that "
          .. "is. gemm.define again replaces it."
      end
    end
  end
  return hint
end

local first = {
  title = "from the list of devices to a tiled kernel of your own",
  {title = "Devices", text = [[
OpenCL runs kernels on devices: on GPUs, and on the CPU where a driver for it
is installed. The list begins with the GPUs. The session uses the first device
unless you choose another with %device. An expression at the prompt prints its
value.]],
    code = "cl.devices()",
    done = function(s)
      local value = s.results[1]
      return first_class(s) == "Device" or type(value) == "table"
        and s.class(value[1]) == "Device"
    end},

  {title = "Buffers", text = [[
Kernels work on buffers: memory of the device. A buffer has a shape and an
element type, which has its name from OpenCL C. Make two buffers of a
million floats; one holds 1 everywhere, the other 5. A value is printed as a
summary; a semicolon after it prints nothing. ?cl.buffer tells more, and Tab
completes names.]],
    code = BUFFERS, done = function(s)
      local n = #s.of "Buffer"
      return n >= 2 or n == 1 and "One buffer is there; make another."
    end},

  {title = "A kernel", text = [[
A kernel is a function in OpenCL C. The device runs it once for each
work-item; get_global_id(0) is the number of the work-item. This kernel adds
a * x[i] to y[i], one element for each work-item. The prompt takes all lines
as one statement and runs it after the last. If the kernel has a mistake,
the compiler's message shows the place, and Up brings the text back.]],
    code = KERNEL,
    need = no "Buffer", again = BUFFERS, done = function(s)
      return #s.of "Kernel" > 0
    end},

  {title = "A launch, and its event", text = [[
axpy:range(n) is a launch of the kernel over n work-items, its NDRange. Call
it with the kernel's arguments: the kernel goes to the device's queue, and
you get an event. The call does not wait for the kernel. event.ms is the
time that the kernel took on the device, without any copy between host and
device.]],
    code = "event = axpy:range(#x)(3, x, y)\nevent.ms",
    need = no "Kernel", again = BUFFERS .. "\n" .. KERNEL,
    done = kernel_event},

  {title = "Is it right?", text = [[
The time of a kernel counts only if its result is right. y:read() copies the
buffer back to the host; compare it with the right values. After one launch
with a = 3 each element is 3 * 1 + 5 = 8, after two launches 11. max_diff
gives the greatest difference: it should be 0.]],
    code = 'y:read():max_diff(cl.array("float", #y, 8))',
    need = no "Kernel", again = BUFFERS .. "\n" .. KERNEL
      .. "\nevent = axpy:range(#x)(3, x, y)", done = compared},

  {title = "A ladder of kernels", text = [[
The matrix product gains much from tuning. gemm has a ladder of kernels, and
each rung adds one idea to the rung before; gemm.kernels() lists the rungs,
and ?gemm.naive shows the lesson of the rung naive. Without a name gemm
takes the best known rung for your device. Multiply two matrices with a rung
that you name.]],
    code = "gemm.kernels()\n" .. MATRICES .. ";\n"
      .. 'C, event = gemm(A, B, {kernel = "naive"})', done = product},

  {title = "Coalescing", text = [[
Work-items with neighbouring numbers run together. If they read neighbouring
addresses, the device joins their reads into a few wide ones: the reads
coalesce. If the addresses lie apart, each read costs a transfer of its own.
The rung naive can do both: its parameter map says whether neighbouring
work-items follow a row of C or a column. Measure both: bench checks the
result and takes samples until the median is sure. A GPU is several times
faster with one of them; on a CPU the caches decide.]],
    code = 'bench("gemm.naive", {256, 256, 256}, {map = "col"})\n'
      .. 'bench("gemm.naive", {256, 256, 256}, {map = "row"})',
    after = times("gemm", {"naive", "map", "row"}, {"naive", "map", "col"}),
    done = measured("gemm", "naive", 2,
      "One mapping is measured; now the other.", "map")},

  {title = "Tiles", text = function()
      return TILES .. (cl.device().type == "cpu" and TILES_ON_CPU or "")
    end,
    code = 'bench("gemm.tiled", {256, 256, 256}, {tile = 8})\n'
      .. 'bench("gemm.tiled", {256, 256, 256}, {tile = 16})',
    after = times("gemm", {"naive", "map", "row"}, {"naive", "map", "col"},
      {"tiled", "tile", 8}, {"tiled", "tile", 16}),
    done = measured("gemm", "tiled", 2,
      "One tile size is measured; now another: 4, 8, 16 or 32.", "tile")},

  {title = "What is possible, and what limits", text = [[
Compare a rate with the most that the device can do. The roofline is that
limit: the peak of arithmetic, or the rate of memory times the operations
for each byte, if that is less. Both are measured on your device (some
seconds, the first time). roofline(r) shows how near a result comes to the
limit, and lesson(r) says in a sentence what holds it back.]],
    code = 'r = bench("gemm.tiled", {256, 256, 256}, {tile = 16})\nlesson(r)',
    done = explained},

  {title = "A tiled kernel of your own: the kernel", text = [[
This kernel keeps tiles of A and B in local memory. Every rung of gemm has
these arguments. The next step sets T, the side of a tile, and REAL, the
type.]],
    code = SOURCE, done = own_source},

  {title = "A tiled kernel of your own: the rung", text = [[
gemm.define makes your kernel a rung. Like the other rungs it is checked
against a reference in float64, measured and listed. The kernel gets the
parameter t as T; the function range returns the global and the local size.
Then change the kernel: it can become much faster.]],
    need = unset "mine",
    again = "%tutorial back",
    code = [=[
gemm.define{
  name = "mine", lesson = "my first tiled kernel", source = mine,
  params = {{name = "t", values = {8, 16}, help = "side of a tile"}},
  range = function(s, p)
    local function up(n) return (n + p.t - 1) // p.t * p.t end
    return {up(s.n), up(s.m)}, {p.t, p.t}
  end};
bench("gemm.mine", {256, 256, 256}, {t = 8})]=],
    done = own_rung},
}

local banks = {title = "banks and local memory",
  {title = "Room for tiles", text = [[
Local memory belongs to a work-group, and there is little of it. gemm.tiled
with tile = 32 keeps two tiles of 32 x 32 floats there, 8 KiB. The
device refuses a group that needs more than it has. Ask it for the bytes.]],
    code = "cl.device().local_mem_size",
    done = function(s)
      return s.results[1] == cl.device().local_mem_size
    end},

  {title = "A column of a tile", text = function()
      return [[
A GPU's local memory has banks (on NVIDIA 32, each 4 bytes wide), and a bank
serves one address at a time. transpose.tiled writes its tile by rows and
reads it by columns: with rows of 32 floats a column lies in a single bank.
The rows of tiled_padded are one element longer, which spreads a column over
all banks. Measure both.]]
        .. (cl.device().type == "cpu" and [[

This device is a CPU: it has no banks, so expect no gain from padding.]]
        or "")
    end,
    code = 'bench("transpose.tiled", {1024, 1024})\n'
      .. 'bench("transpose.tiled_padded", {1024, 1024})',
    after = times("transpose", {"tiled"}, {"tiled_padded"}),
    done = measured("transpose", "tiled tiled_padded", 2,
      "One of them is measured; now the other.")},

  {title = "The same without the extra element", text = [[
tiled_swizzled keeps rows of 32 floats and puts element (r, c) of the tile
into column c xor r. This spreads a column over all banks too, without an
extra element. ?transpose.tiled_swizzled has the kernel's text. Measure it.]],
    code = 'bench("transpose.tiled_swizzled", {1024, 1024})',
    after = times("transpose", {"tiled"}, {"tiled_padded"},
      {"tiled_swizzled"}),
    done = measured("transpose", "tiled_swizzled", 1)},
}

local BIG = [[
x = cl.buffer("float", 4000000); h = cl.array("float", #x):random(1)]]

local transfers = {title = "transfers between host and device",
  {title = "To the device", text = [[
write copies from the host to a buffer, read copies back. Both wait for the
data. The event of a write knows how long the copy took; ev:gbs(bytes) is its
rate, in GB/s.]],
    code = BIG .. "\nev = x:write(h)\nev:gbs(x.bytes)",
    done = function(s)
      local written
      for _, ev in ipairs(s.of "Event") do
        written = written or ev.command == "write"
      end
      return written and (math.type(s.results[1]) == "float"
        or "It is written: ask its event, ev:gbs(x.bytes).")
    end},

  {title = "Only a part", text = [[
You can read a part of a buffer: first and count choose elements in order,
from and size choose a rectangle of a matrix. The prompt does so when it
shows the corners of a buffer.]],
    need = no "Buffer",
    again = BIG,
    code = "x:read{first = 1, count = 10}",
    done = function(s)
      for _, b in ipairs(s.of "Buffer") do
        if first_class(s) == "Array" and #s.results[1] < #b then
          return true
        end
      end
    end},

  {title = "The copy, and the work", text = [[
The copy to the device may take longer than the kernel, if the kernel does
little for each byte. Measure the copy, and a fill of the same buffer on the
device: with bytes = both results have a rate. If your data comes from the
host, add the time of the copy to the time of the kernel.]],
    need = unset("x", "h"),
    again = BIG,
    code = "bench(function() return x:write(h) end, {bytes = x.bytes})\n"
      .. "bench(function() return x:fill(0) end, {bytes = x.bytes})",
    done = function(s)
      local n = 0
      bench_of(s, function(r)
        n = n + (not r.family and r.bytes and 1 or 0)
      end)
      return n >= 2 or n == 1 and "One of them is measured; now the other."
    end},
}

local SPARSE = [[
M = dia.poisson2d(256, 256); x = cl.buffer("float", M.cols, 1)]]

local sparse = {title = "sparse matrices: SpMV by diagonals",
  {title = "A matrix of five diagonals", text = [[
dia.poisson2d makes the matrix of a grid whose points have four neighbours:
65536 rows and five diagonals, stored as five dense rows of values. spmv
multiplies it by a vector. Inside the grid the values of a row, 4 and four
times -1, have the sum 0.]],
    code = SPARSE .. "\ny = spmv(M, x)\ny",
    done = function(s)
      local y, x = s.results[1], rawget(_G, "x")
      return s.class(y) == "Buffer" and #y.shape == 1 and x ~= y
        and s.input:find "%a" ~= nil and rawget(_G, "M") ~= nil
        and #y == rawget(_G, "M").rows
    end},

  {title = "Memory decides", text = [[
Each entry is read once and takes part in two operations. A matrix product
does many more for each byte; here memory is the limit, so look at GB/s.
bench measures with cold caches. The rung specialised is compiled for the
offsets of this matrix and tests no index inside it. Measure both.]],
    need = unset("M", "x"), again = SPARSE,
    code = 'bench("spmv.naive", {M = M, x = x})\n'
      .. 'bench("spmv.specialised", {M = M, x = x})',
    after = times("spmv", {"naive"}, {"specialised"}),
    done = measured("spmv", "naive specialised", 2,
      "One of them is measured; now the other.")},
}

local store = {title = "the store of results, and comparisons",
  {title = "A result is kept", text = [[
Each result of bench is kept on disk, with the device, the driver, the time
and the kernel's hash. A tag helps to find it again.]],
    code = 'r = bench("gemm.tiled", {128, 128, 128}, {tile = 8}, '
      .. '{tag = "mine"})\nr',
    done = function(s)
      return bench_of(s, function(r)
        return r.tag
      end) and true or s.measured()[1] and 'Give it a tag: {tag = "mine"}.'
    end},

  {title = "What was measured before", text = [[
history lists the results that were kept, in earlier sessions too; best lists
the fastest of each kernel. In the system's shell `clshell history` and
`clshell compare` do the same.]],
    code = 'history{tag = "mine"}',
    done = function(s)
      local list = s.results[1]
      return type(list) == "table" and type(list[1]) == "table"
        and list[1].id ~= nil
    end},

  {title = "Is it faster?", text = [[
Two results that were measured one after the other also differ because the
machine did other work meanwhile. compare measures both in turns, and says
FASTER, SLOWER, SAME or UNCLEAR with an interval.]],
    code = 'compare({"gemm.tiled", {128, 128, 128}, {tile = 8}},\n'
      .. '  {"gemm.tiled", {128, 128, 128}, {tile = 16}})',
    done = function(s)
      local c = s.results[1]
      return type(c) == "table" and type(c.verdict) == "string"
    end},
}

return {first, banks, transfers, sparse, store}

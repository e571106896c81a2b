-- shell/prompt/tutorial_steps.lua - the first lesson of ?tutorial: the lines
-- to type, the reasons, and the effect by which a step is seen to be done
-- SPDX-License-Identifier: MIT

local cl = require "cl"

-- A step has a title, a text (or text(): it depends on the device), the lines
-- to type, done(s) -> true, or nil and a hint, after(s) -> words on the
-- effect, and `again`: the input that a new session needs first, while need(s)
-- says so. s is the session as tutorial.lua sees it: s.of(class), the objects
-- among results and globals; s.results, s.input, s.measured() (bench results).

local function first(list, wanted)
  for _, value in ipairs(list) do
    local ok, found = pcall(wanted, value)
    if ok and found then
      return value
    end
  end
end

local function no(class)
  return function(s)
    return #s.of(class) == 0
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

On this device, a CPU, local memory is ordinary memory behind the same caches:
a tile saves no way to a slower memory, and copies and barriers come on top.
So tiles need not win here; what pays on a CPU is ?gemm.simd.]]
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

local function devices(s)
  return first(s.results, function(value)
    return s.class(value) == "Device" or s.class(value[1]) == "Device"
  end) ~= nil
end

local function kernel_event(s)
  local shown, ran = s.results[1], false
  local seen = first(s.of "Event", function(event)
    local kernel = event.command == "kernel"
    ran = ran or kernel
    return kernel and (shown == event or shown == event.ms)
  end)
  return seen ~= nil, ran and "It ran: look at the event, event.ms is the "
    .. "time in milliseconds." or nil
end

local function compared(s)
  local value = s.results[1]
  if not (s.mentions "Buffer" or s.mentions "Array") then
    return nil
  elseif value == true or math.type(value) and math.abs(value) < 1e-3 then
    return true
  end
  return nil, math.type(value) and ("They differ by %g: what should y "
    .. "hold after your launches?"):format(value) or nil
end

-- The matrices in the session, with their content on the host.
local function matrices(s)
  local list = {}
  for _, b in ipairs(s.of "Buffer") do
    local ok, small = pcall(function()
      return #b.shape == 2 and b.rows <= 1024 and b.cols <= 1024
        and (b.type == "float" or b.type == "double")
    end)
    if ok and small and #list < 8 then
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
  local made = first(s.results, function(value)
    return s.class(value) == "Buffer"
  end)
  return nil, #list >= 3 and "None of your matrices is the product of two "
    .. "others yet: C = gemm(A, B, ...)." or made and "Keep the operands in "
    .. "variables as well, so that the product can be checked." or nil
end

-- A test for a step: a rung of gemm has run with two values of a parameter;
-- the hint comes after the first value.
local function two_values(kernel, param, hint)
  return function(s)
    local one
    for _, r in ipairs(s.measured()) do
      local value = r.family == "gemm" and r.kernel == kernel and r.ok
        and r.params and r.params[param]
      if value and one and value ~= one then
        return true
      end
      one = value or one
    end
    return nil, one and hint or nil
  end
end

-- Tells the least times of some rungs for the newest shape, beside a claim.
local function times(family, ...)
  local wanted = {...} -- each {kernel, parameter, value} or {kernel}
  return function(s)
    local words, title = {}, nil
    for _, r in ipairs(s.measured()) do
      title = r.family == family and r.ok and r.title or title
    end
    for _, want in ipairs(wanted) do
      local least
      for _, r in ipairs(s.measured()) do
        if r.family == family and r.kernel == want[1] and r.title == title
            and r.ok and r.min
            and (not want[2] or r.params[want[2]] == want[3]) then
          least = math.min(least or r.min, r.min)
        end
      end
      words[#words + 1] = least and ("%s%s %.3g ms"):format(want[1], want[2]
        and (" with %s = %s"):format(want[2], want[3]) or "", least * 1e3)
    end
    return #words > 1 and "Here, the least times: "
      .. table.concat(words, ", ") .. "." or nil
  end
end

-- lesson measures peaks where they are not known: only after the user did.
local function explained(s)
  local lesson = s.input:find("lesson", 1, true)
    and require "clshell.explain.lesson"
  local a, b = s.results[1], s.results[2]
  return first(s.measured(), function(r)
    return a ~= nil and (a == r.roof and b == r.bound
      or lesson and a == lesson(r))
  end) ~= nil
end

-- The user's own rungs of gemm.
local function own_rungs()
  local list = {}
  for _, item in ipairs(require "clshell.ladders.gemm".kernels()) do
    local path = item.rung.path
    if not (path and path:find(cl.home, 1, true) == 1) then
      list[#list + 1] = item.rung
    end
  end
  return list
end

local function text_of(rung)
  return rung.source or require "clshell.errors.excerpt".read(rung.path)
    or ""
end

-- A text with a kernel and a barrier, among results and globals.
local function own_source(s)
  local function fits(value)
    return type(value) == "string" and value:find("kernel", 1, true)
      and value:find("barrier", 1, true)
  end
  for _, value in next, _G do
    if fits(value) then
      return true
    end
  end
  return first(s.results, fits) ~= nil
end

local function own_rung(s)
  local rungs, hint = own_rungs(), nil
  for _, rung in ipairs(rungs) do
    local tiled = text_of(rung):find("barrier", 1, true)
    hint = ("gemm.%s is there; measure it: bench(\"gemm.%s\", {256, 256, "
      .. "256})"):format(rung.name, rung.name)
    for _, r in ipairs(s.measured()) do
      if r.family == "gemm" and r.kernel == rung.name then
        if r.ok and tiled then
          return true
        end
        hint = r.ok and "It is right and measured, but has no tiles: put "
          .. "them in local memory, with a barrier before they are read."
          or "Its result is not right yet: ?gemm.tiled shows a kernel that "
          .. "is. gemm.define again replaces it."
      end
    end
  end
  return nil, hint
end

return {title = "from the list of devices to a tiled kernel of your own",
  times = times,
  {title = "Devices", text = [[
OpenCL runs kernels on devices: GPUs, and the CPU itself where a driver for
it is installed. The list has GPUs first. The session uses one of them, the
first unless you choose another. An expression at the prompt prints its
value.]],
    code = "cl.devices()", done = devices},

  {title = "Buffers", text = [[
Kernels work on memory of the device: buffers. A buffer has an element type,
by its OpenCL C name, and a shape. Make two of a million floats, one full of
1, one full of 5. A semicolon at the end keeps a value from being printed;
without it you see a summary. ?cl.buffer tells more, and Tab completes
names.]],
    code = BUFFERS, done = function(s)
      local n = #s.of "Buffer"
      return n >= 2, n == 1 and "One buffer is there; make another." or nil
    end},

  {title = "A kernel", text = [[
A kernel is a function of OpenCL C. It is run once for each work-item;
get_global_id(0) tells a work-item which one it is. This one adds a * x[i] to
y[i], an element each. Several lines are one statement: it is run when
it is complete. A mistake in it? The compiler's message shows the place; Up
brings the whole text back.]],
    code = KERNEL,
    need = no "Buffer", again = BUFFERS, done = function(s)
      return #s.of "Kernel" > 0
    end},

  {title = "A launch, and its event", text = [[
axpy:range(n) lays an NDRange of n work-items over the kernel; calling that
with the kernel's arguments puts it on the device's queue and returns an
event. Launches do not wait: the event knows when the device was done, and
event.ms how long it took there, without the way to the device.]],
    code = "event = axpy:range(#x)(3, x, y)\nevent.ms",
    need = no "Kernel", again = BUFFERS .. "\n" .. KERNEL,
    done = kernel_event},

  {title = "Is it right?", text = [[
A time says nothing while the result may be wrong. y:read() brings a buffer
back to the host; compare it with what it has to hold. After one launch with
a = 3 that is 3 * 1 + 5 = 8 everywhere, after two 11. The comparison
gives the greatest difference.]],
    code = 'y:read():max_diff(cl.array("float", #y, 8))',
    need = no "Kernel", again = BUFFERS .. "\n" .. KERNEL
      .. "\nevent = axpy:range(#x)(3, x, y)", done = compared},

  {title = "A ladder of kernels", text = [[
The matrix product is where tuning pays most. gemm has a ladder of
kernels, each rung one step better than the last; gemm.kernels() lists them,
and ?gemm.naive, say, shows the lesson of one. Without a name gemm takes the
best known for your device. Multiply two matrices with a rung that you name.]],
    code = "gemm.kernels()\n" .. MATRICES .. ";\n"
      .. 'C, event = gemm(A, B, {kernel = "naive"})', done = product},

  {title = "Coalescing", text = [[
Work-items with neighbouring numbers run together. If they read neighbouring
addresses, their reads become few wide ones (they coalesce); with a stride
between them each pays alone. The rung naive has both: its parameter map says
whether work-item dimension 0 walks along a row of C or down a column. Measure
both: bench verifies first, then takes samples until the median is sure. On a
GPU expect several times; on a CPU caches decide.]],
    code = 'bench("gemm.naive", {256, 256, 256}, {map = "col"})\n'
      .. 'bench("gemm.naive", {256, 256, 256}, {map = "row"})',
    after = times("gemm", {"naive", "map", "row"}, {"naive", "map", "col"}),
    done = two_values("naive", "map",
      "One mapping is measured; now the other.")},

  {title = "Tiles", text = function()
      return TILES .. (cl.device().type == "cpu" and TILES_ON_CPU or "")
    end,
    code = 'bench("gemm.tiled", {256, 256, 256}, {tile = 8})\n'
      .. 'bench("gemm.tiled", {256, 256, 256}, {tile = 16})',
    after = times("gemm", {"naive", "map", "row"}, {"naive", "map", "col"},
      {"tiled", "tile", 8}, {"tiled", "tile", 16}),
    done = two_values("tiled", "tile",
      "One tile size is measured; now another: 4, 8, 16 or 32.")},

  {title = "What is possible, and what limits", text = [[
A rate means something beside what the device can do. The roofline has two
limits: arithmetic, and memory times the operations done for each byte. Both
are measured on your device (some seconds, the first time). roofline(r) tells
where a result lies, lesson(r) in a sentence what holds it back.]],
    code = 'r = bench("gemm.tiled", {256, 256, 256}, {tile = 16})\nlesson(r)',
    done = explained},

  {title = "A tiled kernel of your own: the kernel", text = [[
Tiles of A and B in local memory. The arguments are those of every rung of
gemm; T, the side of a tile, and REAL, the type, come with the next step.]],
    code = SOURCE, done = own_source},

  {title = "A tiled kernel of your own: the rung", text = [[
gemm.define makes a kernel a rung: checked against a float64 reference,
measured and listed like the others. The parameter t reaches the kernel as T,
range gives the global and the local size. Change the kernel: there is much to
win.]],
    need = function()
      return rawget(_G, "mine") == nil
    end,
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

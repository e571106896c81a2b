-- lesson.lua - what limits a result: simulated devices with known answers,
-- occupancy, the traffic model, the reading of a ladder; then a real one
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local help = require "clshell.help"
local lesson = require "clshell.explain.lesson"
local occupancy = require "clshell.explain.occupancy"
local records = require "records"
local stats = require "clshell.measure.stats"
local trace = require "clshell.explain.trace"
local traffic = require "clshell.explain.traffic"

t.keeps("Program", "Kernel")
t.device()

local H100 = {name = "H100", type = "gpu", compute_units = 132,
  nv_compute_capability_major = 9, nv_compute_capability_minor = 0,
  nv_warp_size = 32, local_mem_type = "local", local_mem_size = 49152}
local PEAKS = {fma_float = 64e12, fma_double = 32e12, read = 3e12,
  copy = 2.9e12, write = 2.8e12, cache = 6e12, ["local"] = 30e12}
local CPU = {name = "CPU", type = "cpu", compute_units = 2,
  local_mem_type = "global", native_vector_width_float = 16}
local SLOW = {fma_float = 400e9, read = 18e9, copy = 14e9, write = 13e9,
  cache = 300e9, ["local"] = 150e9}

local function product(kernel, n, tflops, more)
  local flop = 2 * n * n * n
  local r = records.result(kernel, flop / tflops / 1e12, {
    shape = {m = n, n = n, k = n}, flop = flop, bytes = 12 * n * n})
  for key, value in pairs(more or {}) do
    r[key] = value
  end
  return r
end

local function on_h100(r, use)
  return lesson.read(r, {device = H100, peaks = PEAKS, use = use})
end

local function is_sentence(text)
  t.ok(text:find("^%u") and text:find("%.$") and not text:find("\n"), text)
end

local function contains(text, words)
  t.ok(text:find(words, 1, true), ("no '%s' in: %s"):format(words, text))
end

local function has(text, ...)
  is_sentence(text)
  for _, words in ipairs{...} do
    contains(text, words)
  end
end

t.test("compute", function()
  local reading = on_h100(product("register", 4096, 48,
    {params = {bm = 128, bn = 128, rm = 8, rn = 8}}))
  t.eq(reading.limit, "compute")
  t.near(reading.share, 0.75)
  has(reading.text, "Limited by compute", "48.0 TFLOPS", "75 %", "64.0 TFLOP")
  t.eq(tostring(reading), reading.text)
end)

t.test("memory: a transpose from cold caches", function()
  local bytes = 2 * 8192 * 8192 * 4
  local r = {name = "transpose.float4", family = "transpose", ok = true,
    kernel = "float4", type = "float", mode = "cold", flop = 0, device = {},
    shape = {rows = 8192, cols = 8192}, bytes = bytes,
    median = bytes / 2.7e12, params = {tile = 64}}
  local reading = on_h100(r)
  t.eq(reading.limit, "memory")
  t.near(reading.share, 2.7 / 2.9) -- of a copy, not of reading
  has(reading.text, "2.70 TB/s", "93 %", "2.90 TB/s")
  r.mode = "hot"
  has(on_h100(r).text, "the caches")
end)

t.test("memory: loads of a plain product, through the caches", function()
  local reading = on_h100(product("naive", 4096, 5.2,
    {params = {map = "col"}}))
  t.eq(reading.limit, "memory")
  has(reading.text, "through the caches", "on that path")
end)

t.test("local memory: bank conflicts are counted", function()
  local r = product("tiled_padded", 4096, 1.5, {params = {tile = 32,
    pad = 0}})
  local reading = on_h100(r)
  t.eq(reading.limit, "local memory")
  has(reading.text, "bank conflicts of 32 ways")
  r.params = {tile = 32, pad = 1}
  reading = on_h100(r, {registers = 40, local_bytes = 8448})
  t.eq(reading.traffic.ways, 1)
  t.ok(reading.limit ~= "local memory", reading.text)
end)

t.test("the line of narrow loads is that of the machine's code", function()
  local asm = require "clshell.asm"
  local reading = require "clshell.explain.reading"
  local params = {map = "col", lx = 32, ly = 8}
  local ok, code = pcall(asm, {"gemm.naive", {64, 64, 64}, params})
  if not ok then
    t.skip(tostring(code))
  end
  local direct = asm.narrow(code)
  local found = reading.narrow(product("naive", 64, 1e-3, {params = params}))
  t.eq(found and found.line, direct and direct.line)
  if found then
    t.eq({found.file, found.bytes}, {"naive.cl", 4})
    contains(found.text, "sum += ")
  end
  t.eq(reading.narrow{median = 1, shape = {}}, nil) -- of no rung
end)

t.test("launch overhead", function()
  local r = product("tiled", 256, 2.2, {floor = 5.5e-6})
  local reading = on_h100(r)
  t.eq(reading.limit, "launch overhead")
  has(reading.text, "5.50", "of its 15.3")
end)

t.test("occupancy: fewer groups than units", function()
  local r = product("tiled", 64, 0.01, {params = {tile = 32},
    floor = 5.5e-6})
  local reading = on_h100(r)
  t.eq(reading.limit, "occupancy")
  has(reading.text, "4 work-groups for 132 compute units", "NDRange")
end)

t.test("occupancy: registers and local memory", function()
  local r = product("register", 4096, 20, {params = {bm = 128, bn = 128,
    rm = 8, rn = 8}})
  local reading = on_h100(r, {registers = 200, local_bytes = 16896,
    source = "the test"})
  t.eq({reading.limit, reading.occupancy.groups}, {"occupancy", 1})
  has(reading.text, "Probably", "200 registers", "256 of 2048", "the test",
    "CUDA C++ Programming Guide, compute capability 9.0")
  reading = on_h100(r, {registers = 64, local_bytes = 16896})
  t.eq({reading.limit, reading.occupancy.groups}, {"unknown", 4})
  has(reading.text, "The limit is unknown", "occupancy is high enough",
    "64 registers")
  reading = on_h100(r)
  t.eq(reading.limit, "unknown")
  has(reading.text, "its occupancy is unknown", reading.reason)
end)

t.test("a CPU: no registers are told, and it says so", function()
  local r = product("tiled", 512, 0.003)
  local reading = lesson.read(r, {device = CPU, peaks = SLOW})
  t.eq({reading.limit, reading.one_lane}, {"unknown", 16})
  has(reading.text, "this driver tells no registers",
    "below 1/16 of the peak, as if it used no vectors")
  reading = lesson.read(product("simd", 512, 0.35), {device = CPU,
    peaks = SLOW})
  t.eq({reading.limit, reading.one_lane}, {"compute"})
end)

t.test("above a roof: no sentence that is false", function()
  local r = product("register", 4096, 83.1, {params = {bm = 128, bn = 128,
    rm = 8, rn = 8}})
  local reading = on_h100(r)
  t.eq(reading.limit, "unknown")
  has(reading.text, "83.1 TFLOPS is 130 % of the 64.0 TFLOPS",
    "peak is too low", "peaks{again = true}")
  local bytes = 2^30
  r = {name = "spmv.simd", family = "spmv", ok = true, type = "float",
    mode = "cold", cache = "flush 128 MiB", flop = 0, device = {},
    bytes = bytes, median = bytes / 4e12}
  has(on_h100(r).text, "4.00 TB/s", "133 %", "of memory")
  r.cache = "flush 128 MiB of 480 MiB cache" -- it may come from the cache
  has(on_h100(r).text, "Limited by memory", "67 %", "of the caches")
end)

t.test("a roof tells its age and its tries", function()
  local known = {tries = {fma_float = {time = os.time() - 7300, tries = 3,
    low = 48e12}}}
  for key, value in pairs(PEAKS) do
    known[key] = value
  end
  local r = product("register", 4096, 48, {params = {bm = 128, bn = 128,
    rm = 8, rn = 8}})
  has(lesson(r, {device = H100, peaks = known}),
    "reach (measured 2 h ago, 3 tries, 25 % apart).")
end)

t.test("nothing to read, and nothing to believe", function()
  has(on_h100(records.ladder()[3]).text, "Nothing to read: refused")
  t.eq(on_h100(records.ladder()[3]).limit, nil)
  local r = product("tiled", 512, 500, {flags = {"IMPOSSIBLE?"},
    note = "IMPOSSIBLE? 780 % of the best that this device has shown"})
  has(on_h100(r).text, "This time is not credible", "780 %")
  r = records.result("openblas", 0.1)
  r.device = nil
  has(on_h100(r).text, "on the host")
  has(lesson(product("tiled", 512, 1)), 'measured on Card "X" <2>')
  t.raises(function() lesson(7) end, "lesson: r must be a table; got 7",
    "bench(")
  t.raises(function() lesson({}, {nonesuch = 1}) end, "nonesuch")
end)

t.test("occupancy on an H100, by what ends first", function()
  local limits = occupancy.limits(H100)
  t.eq({limits.items, limits.groups, limits.registers, limits.local_bytes},
    {2048, 32, 65536, 228 * 1024})
  local function of(items, registers, bytes)
    local o = occupancy.of({items = items, registers = registers,
      local_bytes = bytes}, limits)
    return {o.groups, o.by, o.share}
  end
  t.eq(of(256, 128, 49152), {2, "registers", 0.25})
  t.eq(of(256, 255, 0), {1, "registers", 0.125})
  t.eq(of(1024, 32, 0), {2, "work-items", 1.0})
  t.eq(of(32, 16, 0), {32, "work-groups", 0.5})
  t.eq(of(128, 32, 48 * 1024), {4, "local memory", 0.25})
  t.eq(of(33, 16, 0), {32, "work-groups", 1.0})
end)

t.test("limits that are not known", function()
  t.eq({occupancy.limits(CPU)}, {nil, "this driver tells no registers"})
  local _, reason = occupancy.limits{type = "gpu",
    nv_compute_capability_major = 3, nv_compute_capability_minor = 5}
  t.ok(reason:find("3.5", 1, true), reason)
  t.eq(occupancy.limits{type = "gpu", nv_compute_capability_major = 7,
    nv_compute_capability_minor = 5}.items, 1024)
end)

-- What the driver 580.159 wrote for an H200; the last kernel is of another.
t.test("registers in a build log", function()
  local log = [[
(): Warning: Function private_cells is a kernel, so overriding noinline ]]
    .. [[attribute. The function may be inlined when called.

ptxas info    : Overriding maximum register limit 256 for 'private_cells' ]]
    .. [[with  64 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90a'
ptxas info    : Function properties for other
ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes ]]
    .. [[spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compile time = 1.391 ms
ptxas info    : Compiling entry function 'private_cells' for 'sm_90a'
ptxas info    : Function properties for private_cells
ptxas         .     1096 bytes stack frame, 2548 bytes spill stores, 2124 ]]
    .. [[bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers
ptxas info    : Compile time = 119.889 ms
ptxas info    : Function properties for get_global_id
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes ]]
    .. [[spill loads
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    16 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 16896 bytes smem]]
  t.eq({occupancy.registers(log, "gemm")}, {128, 36, 16896})
  t.eq({occupancy.registers(log, "private_cells")}, {64, 4672, 0})
  t.eq({occupancy.registers(log, "other")}, {12, 0, 0})
  t.eq(occupancy.registers(log, "gem"), nil)
  t.eq(occupancy.registers("", "gemm"), nil)
end)

local function moves(kernel, params, dev)
  local rung = gemm.rung(kernel)
  local all = require("clshell.ladder.rung").parameters(rung, params, "test")
  return traffic.of({family = "gemm", kernel = kernel}, rung, dev,
    gemm.spec.shape{m = 256, n = 256, k = 256}, all)
end

t.test("the traffic of tiles", function()
  local cubed, c = 256^3, 256^2
  for _, tile in ipairs{8, 16, 32} do
    local m = moves("tiled", {tile = tile}, CPU)
    t.near(m.global, cubed * 8 / tile + 4 * c)
    t.near(m.fetch, m.global)
    t.near(m.locals, cubed * 8 + cubed * 8 / tile)
    t.eq({m.ways, m.from_local, m.warps}, {1, true, false})
  end
  t.near(moves("naive", {map = "col"}, CPU).global, cubed * 8 + 4 * c)
  local m = moves("register", {bm = 64, bn = 64, rm = 8, rn = 8}, CPU)
  t.near(m.locals, cubed * 4 * (16 / 64 + 2 / 64))
end)

t.test("a warp: coalescing and banks", function()
  local col = moves("naive", {map = "col", lx = 32, ly = 8}, H100)
  local row = moves("naive", {map = "row", lx = 32, ly = 8}, H100)
  t.ok(row.global > 4 * col.global)
  for pad, ways in pairs{[0] = 32, [1] = 1, [2] = 2} do
    t.near(moves("tiled_padded", {tile = 32, pad = pad}, H100).ways, ways,
      0.01, "pad " .. pad)
  end
  t.eq(moves("tiled_swizzled", {tile = 32}, H100).ways, 1.0)
end)

t.test("every rung of the portable ladders has a model or none", function()
  for _, item in ipairs(gemm.kernels()) do
    local rung = item.rung
    local p = require("clshell.ladder.rung").parameters(rung, {}, "test")
    if not item.name:find("^nv_") then
      local shape = {m = item.name == "gemv_strips" and 1 or 64,
        n = item.name == "gemv_rows" and 1 or 64, k = 64}
      local m = traffic.of({family = "gemm", kernel = item.name}, rung, H100,
        gemm.spec.shape(shape), p)
      t.ok(m.global > 0, item.name)
    end
  end
end)

local function ladder()
  local refused = records.ladder()[3]
  refused.params = {tile = 16}
  return {
    product("naive", 4096, 5, {params = {map = "col"}}),
    product("tiled", 4096, 6, {params = {tile = 8}, config = "tile=8"}),
    product("tiled", 4096, 7.5, {params = {tile = 32}, config = "tile=32"}),
    refused,
    product("tiled_padded", 4096, 7.6, {params = {tile = 32, pad = 1}}),
    product("tiled_swizzled", 4096, 5.85, {params = {tile = 32}}),
    product("register", 4096, 50, {params = {bm = 128, bn = 128, rm = 8,
      rn = 8}}),
  }
end

t.test("a ladder: what paid, what did not, and why", function()
  local text = lesson.ladder(ladder(), {device = H100, peaks = PEAKS,
    width = 80})
  t.narrow(text)
  text = text:gsub("\n +", " ")
  for _, words in ipairs{"\npaid  tiled over naive: x1.50 (1.49 to 1.51); "
    .. "through the caches",
    "memory was the limit",
    "\nlevel tiled_padded over tiled (tile=32): x1.01; there are no bank",
    "\nlost  tiled_swizzled over tiled (tile=32): x0.78",
    "no bank conflicts to mend",
    "\nno    tiled_constant: refused: A has 4194304 bytes",
    "\npaid  register over tiled: x6.67", "\nbest  register",
    "Limited by compute"} do
    t.ok(("\n" .. text):find(words, 1, true), words .. " not in:\n" .. text)
  end
end)

-- A result of gemm with these samples, in milliseconds.
local function sampled(kernel, samples, more)
  local r = product(kernel, 256, 1, more)
  r.lo, r.hi = nil, nil
  for name, value in pairs(stats.summary(samples)) do
    r[name] = name == "n" and value or value / 1e3
  end
  return r
end

-- The kind of the step from one set of samples to another, and its line.
local function step_of(old, new, more, device)
  local text = lesson.ladder({sampled("tiled", old), sampled("tiled_swizzled",
    new, more)}, {device = device or H100, peaks = PEAKS, width = 80,
    access = false})
  t.narrow(text)
  text = text:gsub("\n +", " ")
  return text:match "\n(%l+) +(tiled_swizzled over tiled: [^\n]*)"
end

-- Samples around a median whose quartiles are so far from it.
local function around(median, far)
  local list = {}
  for i = -8, 8 do
    list[#list + 1] = median * (1 + far * i / 4)
  end
  return list
end

t.test("a step within the noise is neither paid nor lost", function()
  t.eq({step_of(around(1.35, 0.01), around(1, 0.01))}, {"paid",
    "tiled_swizzled over tiled: x1.35 (1.32 to 1.38); the model sees no "
    .. "cause; the step is: columns permuted in each local row: no conflicts, "
    .. "no padding"})
  t.eq(step_of(around(1, 0.01), around(1, 0.01)), "level")
  t.eq(step_of(around(1, 0.01), around(1.35, 0.01)), "lost")
  t.eq({step_of(around(1.02, 0.04), around(1, 0.04))}, {"noisy",
    "tiled_swizzled over tiled: x1.02 (0.94 to 1.10), level within the noise; "
    .. "compare measures in turns"})
  local kind, line = step_of(around(1.35, 0.1), around(1, 0.1))
  t.eq(kind, "noisy") -- by the quartiles alone x1.10 to x1.65: "paid"
  t.ok(line:find("x1.35 (0.90 to 2.02), and the noise hides which ", 1,
    true), line)
  t.eq(step_of(around(4, 0.1), around(1, 0.1)), "paid")
end)

t.test("few samples, or a slowed device, decide a factor above 2", function()
  local kind, line = step_of(around(1.35, 0), {1})
  t.eq(kind, "noisy")
  t.ok(line:find("x1.35, of a single sample", 1, true), line)
  for _, few in ipairs{{1, 1}, {1, 1, 1}, {1, 1.01, 1, 1, 1}} do
    kind, line = step_of(around(1.9, 0), few)
    t.eq(kind, "noisy", line)
    t.eq(step_of(around(2.2, 0), few), "paid")
  end
  kind, line = step_of(around(1.9, 0), around(1, 0), {flags = {"clock!"}})
  t.eq(kind, "noisy", line)
  t.eq(step_of(around(2.2, 0), around(1, 0), {flags = {"clock!"}}), "paid")
end)

t.test("on a CPU a factor that others may cause decides nothing", function()
  t.eq({step_of(around(1.2, 0.01), around(1, 0.01), nil, CPU)}, {"noisy",
    "tiled_swizzled over tiled: x1.20 (1.18 to 1.22), and a CPU may be slower "
    .. "by 25 % in one run; compare measures in turns"})
  t.eq(step_of(around(1, 0.01), around(1.2, 0.01), nil, CPU), "noisy")
  t.eq(step_of(around(1.35, 0.01), around(1, 0.01), nil, CPU), "paid")
  t.eq(step_of(around(1, 0.01), around(1.35, 0.01), nil, CPU), "lost")
  t.eq(step_of(around(1, 0.01), around(1.01, 0.01), nil, CPU), "level")
end)

t.test("runs that other programs disturb contradict no other", function()
  -- Runs of `tiled` and of `tiled_swizzled` at N = 256, and of a transpose by
  -- tiles without and with a pad, on two busy cores; in turns both are level.
  local runs = {
    {{20.9, 27.9, 33.8, 34.6, 38.0, 28.7, 29.4, 27.7}, {52.3, 53.3, 53.1}},
    {{27.1, 42.2, 92.7}, {22.4, 18.4, 30.0, 16.6, 64.7, 88.1}},
    {{74.2, 40.4}, {45.4, 50.6}},
    {{1.8, 1.83, 2.04, 1.94, 7.29, 2.07, 1.97, 2.71, 1.94, 3.68, 2.05, 2.6,
      2.03, 2.28, 2.06, 1.77, 2.12}, {3.21, 2.77, 6.83, 5.23, 5.49, 4.4, 13.9,
      4.02, 5.01, 4.46, 2.62, 3.64, 3.2, 8.39, 14.1, 2.76}},
    {{2.15, 2.85, 4.07, 3.54, 3.34, 3.14, 3.44, 3.03, 3.08, 3.23, 3.06, 3.6,
      2.08, 9.78}, {2.54, 2.39, 2.54, 3.19, 3.57, 4.11, 3.32, 12.3, 11.8,
      10.4, 2.05, 4.63}}}
  for i, run in ipairs(runs) do
    t.eq(step_of(run[1], run[2]), "noisy", i)
  end
end)

t.test("above a roof: a ladder neither clamps nor explains by it", function()
  local function told(tflops)
    return lesson.ladder({product("register", 4096, tflops, {params = {}}),
      product("nv_ffma", 4096, tflops, {params = {}})}, {device = H100,
      peaks = PEAKS, width = 200, access = false})
  end
  contains(told(100.5), "register is at 157 % of its roof (compute), which is "
    .. "impossible: a peak is too low, or the result wrong\n")
  contains(told(60), "register is at 94 % of its roof (compute)\n")
end)

t.test("a roof of the traffic model below the result is told", function()
  local reading = lesson.read(product("naive", 512, 0.12, {params = {
    map = "col"}}), {device = CPU, peaks = SLOW})
  t.eq({reading.limit, reading.over.model}, {"unknown", true})
  has(reading.text, "the traffic model counts too many bytes: with them its "
    .. "work-items move 480", "160 % of the 300 GB/s")
end)

t.test("ordinary local memory: no cause is stated for sure", function()
  local text = lesson.ladder({product("naive", 512, 0.003),
    product("tiled", 512, 0.002)}, {device = CPU, peaks = SLOW, width = 200})
  contains(text, "lost  tiled over naive: x0.67; the driver tells that local "
    .. "memory is ordinary memory, and its use moves 1.1 times the bytes; "
    .. "the cause of the rest of the loss is open\n")
end)

t.test("a gain on a CPU has no cause that its rate does not prove", function()
  local function told(tflops) -- one lane of the peak: 0.025 TFLOPS
    return lesson.ladder({product("naive", 512, 0.003), product("simd", 512,
      tflops)}, {device = CPU, peaks = SLOW, width = 200, access = false})
  end
  contains(told(0.03), "paid  simd over naive: x10.00 (9.96 to 10.04); its "
    .. "rate is above 1/16 of the peak, so it uses the device's vectors\n")
  contains(told(0.02), "through the caches go 1/")
end)

t.test("fewer bytes explain no more than their factor", function()
  local function told(tflops)
    return lesson.ladder({product("tiled", 512, 0.003, {params = {tile = 16}}),
      product("tiled_float4", 512, tflops, {params = {tile = 16}})}, {
        device = CPU, peaks = SLOW, width = 300, access = false})
  end
  contains(told(0.0045), "x1.50 (1.49 to 1.51); local memory moves 1/1.6 of "
    .. "the bytes\n")
  contains(told(0.018), "x6.00 (5.98 to 6.02); local memory moves 1/1.6 of "
    .. "the bytes, which explains x1.6 at most; the step is: float4 loads")
end)

-- The reading of a step from one rung of gemm to another, in one line.
local function step(a, pa, b, pb, device)
  local old, new = product(a, 64, 0.002, {params = pa, label = "old"}),
    product(b, 64, 0.003, {params = pb, label = "new"})
  local text = lesson.ladder({old, new}, {device = device, peaks = SLOW,
    width = 80})
  t.narrow(text)
  return (text:gsub("\n +", " "))
end

t.test("no cause in the model: the simulator names a line", function()
  local plugin, missing = trace.plugin()
  t.skip_if(not plugin, missing)
  local text = step("tiled", {edge = "guard"}, "tiled", {edge = "pad"}, CPU)
  contains(text, "paid  new over old: x1.50 (1.49 to 1.51); the model sees no "
    .. "cause; simulated at 64x64x64, instructions 1/1.")
  t.ok(text:find("%(tiled%.cl:%d+, branches at `As%[ty%]%[tx%] = INSIDE.-`: "
    .. "512, then 0%)"), text)
  contains(step("tiled", {}, "tiled_padded", {}, CPU), "simulated at "
    .. "64x64x64, both have equal accesses, branches, instructions")
end)

-- What the simulator counts for the step from a rung to another, in words.
local function difference(family, a, b, shape, device)
  local rows = {}
  for i, rung in ipairs{a, b} do
    rows[i] = {family = family, kernel = rung, name = rung, type = "float",
      params = {}, shape = shape}
  end
  return require "clshell.explain.ladder".difference(rows[1], rows[2],
    {device = device})
end

t.test("the simulator's line is not one that was only rewritten", function()
  local plugin, missing = trace.plugin()
  t.skip_if(not plugin, missing)
  local square = {rows = 64, cols = 64}
  local product_of = {m = 64, n = 64, k = 64}
  local words = difference("gemm", "tiled", "tiled_swizzled", product_of, CPU)
  t.ok(words:find "^simulated at 64x64x64, instructions x1%.%d+$", words)
  words = difference("gemm", "tiled", "tiled_padded", product_of, H100)
  t.ok(words:find("passes of local memory x1%.06 %(tiled_padded%.cl:%d+, "
    .. "store `Bs%[tx%]%[ty%]`: 0, then 1024%)"), words)
  words = difference("transpose", "tiled", "tiled_swizzled", square, H100)
  t.ok(words:find("1/16%.50 %(tiled%.cl:%d+, load `tile%[tx%]%[r%]`: 4096, "
    .. "then 0%)"), words)
  words = difference("transpose", "naive_read", "tiled", square, CPU)
  t.ok(words:find("instructions x[%d.]+ %(tiled%.cl:%d+, branches at `for "),
    words)
end)

t.test("products of diagonals have a small size too", function()
  local plugin, missing = trace.plugin()
  t.skip_if(not plugin, missing)
  local shape = {rows = 1000, cols = 1000, ndiags = 5, nnz = 5000}
  local words = difference("spmv", "pitch", "local_offsets", shape, CPU)
  t.ok(words:find("^simulated at 256 rows of 5 diagonals side by side, bytes "
    .. "of global memory 1/1%.45 %(pitch%.cl:%d+, load `offsets%[d%]`: 5120, "
    .. "then 0%)$"), words)
  for _, count in ipairs{0, 65, 1000} do
    shape.ndiags = count
    t.eq(difference("spmv", "pitch", "local_offsets", shape, CPU), nil)
  end
end)

t.test("no cause in the model: sectors count on a GPU alone", function()
  local plugin, missing = trace.plugin()
  t.skip_if(not plugin, missing)
  local function text_of(name)
    return t.read(cl.home .. "/kernels/gemm/" .. name)
  end
  local source = text_of "naive.cl":gsub('#include "([^"]+)"', text_of)
  gemm.define{name = "unknown_map", source = source,
    params = {{name = "map", values = {0, 1}, default = 0}},
    defines = function(p) return {MAP_ROW = p.map} end,
    range = function(s, p)
      return p.map == 1 and {s.m, s.n} or {s.n, s.m}, {32, 2}
    end}
  local function told(device)
    return step("unknown_map", {map = 1}, "unknown_map", {map = 0}, device)
  end
  local gpu = told(H100)
  t.ok(gpu:find("simulated at 64x64x64, sectors of global memory 1/[%d.]+ "
    .. "%(unknown_map:%d+, load `WIDEN%(a%[k%]%)`: 262144, then 8192%)"), gpu)
  local words = told(CPU)
  t.ok(not words:find("sectors", 1, true), words)
end)

t.test("no cause in the model, and no simulator: how to have it", function()
  local code = [[
local records = require "records"
local lesson = require "clshell.explain.lesson"
local rows = {records.result("tiled", 2, {label = "old",
    params = {edge = "guard"}}),
  records.result("tiled", 1, {label = "new", params = {edge = "pad"}})}
local opts = {device = {name = "CPU", type = "cpu",
  local_mem_type = "global"}, peaks = {}}
print(lesson.ladder(rows, opts))
opts.access = false
print(lesson.ladder(rows, opts))]]
  local path = t.tmp "ladder.lua"
  t.write(path, code)
  local out = t.capture(("COLUMNS=200 CLSHELL_OCLGRIND=none %s %s"):format(
    t.exe, path))
  contains(out, "the model sees no cause\n")
  contains(out, "\nmore  where the model sees no cause, the simulator names "
    .. "lines: make check-tools")
  t.eq(select(2, out:gsub("\nmore ", "")), 1)
end)

t.test("ladders without an answer", function()
  t.ok(lesson.ladder({}):find("Nothing to read"))
  t.raises(function() lesson.ladder("x") end, "the list of results",
    'must be a table; got "x"')
end)

t.test("rows of the run store have words for a device and a shape", function()
  local s <close>, reason = require("clshell.store").open(t.tmp "runs.db")
  t.skip_if(not s, reason)
  s:keep(product("tiled", 512, 1, {params = {tile = 16}}))
  s:keep(product("naive", 512, 0.5, {params = {},
    device = {name = cl.device().name}}))
  local rows = s:list()
  t.eq(#rows, 2)
  has(lesson(rows[1]), 'measured on Card "X" <2>', "unknown here")
  has(lesson(rows[2]), "The limit is unknown")
  t.ok(lesson.ladder(rows):find("\nbest  tiled", 1, true))
end)

t.test("a real result has its sentence, and help has lesson", function()
  local A = require("clshell.data.matrix").random(64, 64)
  local opts = {samples = 3, busy = 0, seconds = 0.05, warmup = 0,
    roof = false}
  local rows = {gemm.bench("naive", nil, {A = A, B = A}, opts),
    gemm.bench("tiled", nil, {A = A, B = A}, opts)}
  local peaks = PEAKS
  for _, r in ipairs(rows) do
    local reading = lesson.read(r, {peaks = peaks})
    is_sentence(reading.text)
    t.ok(reading.traffic.global > 0)
    if not cl.device().nv_compute_capability_major then
      t.eq(reading.occupancy, nil)
    end
  end
  t.ok(lesson.ladder(rows, {peaks = peaks}):find("tiled over naive"))
  has(lesson(require "clshell.measure.bench"(function() end, {seconds = 0.01,
    flop = 1e3})), "It ran on the host")
  t.ok(help.text("lesson"):find("One sentence", 1, true))
  t.ok(help.text(lesson.ladder):find("which%s+step%s+paid"))
  t.ok(help.text("lesson.ladder"):find("which%s+step%s+paid"))
end)

t.done()

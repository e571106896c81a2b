-- peaks.lua - measured peaks: their kernels, their roofline, their cache
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local families = require "clshell.ladder.families"
local peak_kernels = require "clshell.measure.peak_kernels"
local peaks = require "clshell.measure.peaks"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local roofline = require "clshell.measure.roofline"
local timer = require "clshell.measure.timer"
local units = require "clshell.ladder.unit"

t.keeps("Program", "Kernel")
local device = t.device()

-- A stream kernel for so many vectors of that width; the work-items it needs.
local function stream(name, n, width, items, size, streams)
  local prog = program.get(cl.context(), {path = ("%s/kernels/peak/%s.cl")
    :format(cl.home, name)}, {REAL = "float", WIDTH = width, ITEMS = items,
    STREAMS = streams})
  local count = items > 0 and (n + items * size - 1) // (items * size) or 3
  return program.kernel(prog, name .. "_vectors"):range(count * size, size),
    count * size
end

local function sum(array)
  local total = 0
  for i = 1, #array do
    total = total + array[i]
  end
  return total
end

t.test("the kernels of the streams touch every element, once", function()
  local size = math.min(8, device.max_work_group_size)
  for _, n in ipairs{1, 7, 64, 65, 1003} do
    for _, way in ipairs{{1, 0, 1}, {4, 0, 2}, {2, 0, 8}, {1, 4}, {2, 16},
        {16, 4}} do
      local width, items, streams = table.unpack(way)
      local what = ("n = %d, width %d, items %d"):format(n, width, items)
      local data = cl.array("float", n * width)
      for i = 1, #data do
        data[i] = i % 256 -- sums of these are exact
      end
      local from = cl.buffer("float", n * width, data)
      local to = cl.buffer("float", n * width + 1, -1)
      stream("copy", n, width, items, size, streams)(n, cl.any(from),
        cl.any(to))
      local back = to:read()
      t.eq(back[n * width + 1], -1, what)
      for i = 1, #data do
        t.ok(back[i] == data[i], what)
      end
      stream("write", n, width, items, size)(n, 3, cl.any(to))
      back = to:read()
      t.eq({sum(back), back[n * width + 1]}, {3 * n * width - 1, -1}, what)
      local launch, count = stream("read", n, width, items, size, streams)
      local sums = cl.buffer("float", count, -1)
      launch(n, cl.any(from), sums)
      t.eq(sum(sums:read()), sum(data), what)
    end
  end
end)

t.test("peaks are measured once, with a line of words", function()
  local p = peaks()
  for _, name in ipairs{"copy", "read", "write", "cache", "local", "upload",
      "download", "fma_float"} do
    t.ok(p[name] > 0 and p.best[name] >= p[name], name)
  end
  t.eq(p.fma_double ~= nil, device:has("cl_khr_fp64"))
  t.ok(rawequal(peaks(), p))
  t.ok(tostring(p):find("GFLOPS.*GB/s"))
  t.raises(function() peaks{agan = true} end, "did you mean 'again'")
  t.raises(function() peaks.get("speed") end, "no peak 'speed'")
end)

t.test("results stand on the roofline, and none far above it", function()
  local p = peaks()
  local r = bench("gemm.naive", {64}, nil, {effort = "quick"})
  t.ok(r.roof > 0 and r.roof < 1 and r.ai > 5, r.roof)
  t.ok(r.bound == "compute" or r.bound == "memory")
  t.eq({roofline(r)}, {r.roof, r.bound})
  local list = tostring(roofline())
  t.ok(list:find "gemm%.naive +64x64x64" or list:find "64x64x64 float\n", list)
  for line in list:gmatch "[^\n]+" do
    t.ok(#line < 80, list)
  end
  -- what a launch costs without waiting for it, taken for its time
  local planted = {median = 1e-9, flop = 1e-9 * 50 * p.best.fma_float,
    type = "float"}
  local part, bound = roofline(planted)
  t.ok(part > 10 and bound == "compute"
    and protocol.flagged(planted, "IMPOSSIBLE?"))
  t.ok(planted.note:find("IMPOSSIBLE%? [%d%.]+ %%"))
  local honest = {median = 1, bytes = p.copy / 2, mode = "cold"}
  t.eq(select(2, roofline(honest)), "memory")
  t.eq(honest.flags, nil)
  for why, other in pairs{["has no time; pass"] = {bytes = 1},
      ["FLOP nor its bytes are known; give"] = {median = 1},
      ["no peak of int8 is known"] = {median = 1, flop = 1, unit = "int8"}} do
    local place, said = roofline(other)
    t.ok(place == nil and said:find(why, 1, true), said)
  end
end)

t.test("measurements are private; without a home none are kept", function()
  local scratch = require "scratch"
  local _ <close> = setmetatable({}, {__close = function()
    os.execute("rm -rf " .. scratch.dir)
  end})
  local code = [[ $clshell -e '
    local cachefile = require "clshell.base.cachefile"
    local dev = {name = "none", platform = "p", version = "v",
      driver_version = "1", compute_units = 1, global_mem_size = 1}
    print(cachefile.save(dev, {a = 1}))
    print((cachefile.load(dev) or {}).a)']]
  local out, err = scratch.sh("mkdir -p clshell; chmod 755 clshell; umask 022;"
    .. " export XDG_CACHE_HOME=$PWD;" .. code .. "; ls -l -d clshell "
    .. "clshell/*")
  t.ok(out:find "^true\n1\ndrwx%-%-%-%-%-%- [^\n]+\n%-rw%-%-%-%-%-%-",
    out .. err)
  for _, home in ipairs{"-u HOME", "HOME=", "HOME=relative"} do
    out, err = scratch.sh(("env %s XDG_CACHE_HOME="):format(home) .. code)
    t.eq({out, err}, {"nil\tmeasurements are not kept: neither "
      .. "XDG_CACHE_HOME nor HOME is set to a full path\nnil\n", ""})
  end
end)

t.test("what is kept of a device survives, and damage is seen", function()
  local dev = {name = "test of " .. t.tmp(), platform = "p", version = "v",
    driver_version = "1", compute_units = 1, global_mem_size = 1}
  local path = cachefile.path(dev)
  t.eq({cachefile.load(dev)}, {})
  local fine, reason = cachefile.save(dev, {a = 1 / 3, ["peak.b"] = 2})
  t.skip_if(not fine, reason)
  local _ <close> = setmetatable({}, {__close = function()
    os.remove(path)
  end})
  t.ok(cachefile.save(dev, {c = 1e300}))
  t.eq(cachefile.load(dev), {a = 1 / 3, ["peak.b"] = 2, c = 1e300})
  local f = assert(io.open(path, "rb"))
  local content = f:read("a")
  f:close()
  for _, words in ipairs{"", content:sub(1, #content // 2), "junk\n",
      content:gsub("measurements 4", "measurements 3"),
      (content:gsub("\na [^\n]*", "\na x"))} do
    f = assert(io.open(path, "wb"))
    f:write(words)
    f:close()
    local values, why = cachefile.load(dev)
    t.eq(values, nil)
    t.ok(why:find("damaged or of another version"))
  end
  dev.driver_version = "2"
  t.eq({cachefile.load(dev)}, {})
  t.eq(cachefile.hash(""), "cbf29ce484222325")
  t.eq(cachefile.hash("a"), "af63dc4c8601ec8c")
end)

-- Bytes of Buffers where no time is of interest.
local SMALL = {cpu = 2^20, gpu = 2^20}

-- Calls f(kept) with launches that take `is.seconds` each by the timer's
-- account, the fastest half as many; `kept` is the file of the device.
local function stubbed(is, f)
  local stubs = {
    {timer, "new", function()
      return {sample = function() return {event = is.seconds} end}
    end},
    {protocol, "measure", function(_, r)
      is.count = (is.count or 0) + 1
      r.median, r.q1, r.min = is.seconds, is.seconds, is.seconds / 2
    end},
    {timer, "plan_cold", function() return "none" end},
    {cachefile, "load", function() return is.kept end},
    {cachefile, "save", function(_, values)
      is.kept = is.kept or {}
      for key, value in pairs(values) do
        is.kept[key] = value
      end
      return true
    end},
  }
  local function swap()
    for _, stub in ipairs(stubs) do
      stub[1][stub[2]], stub[3] = stub[3], stub[1][stub[2]]
    end
  end
  swap()
  local _ <close> = setmetatable({}, {__close = swap})
  local _ <close> = t.swap(peak_kernels, "most", SMALL)
  return f()
end

-- The peaks {name = rate} of a device whose launches take so many seconds. The
-- session keeps them.
local function by_clock(seconds, names)
  return stubbed({seconds = seconds}, function()
    local rates = {}
    for _, name in ipairs(names) do
      local best
      rates[name], best = peaks.get(name, nil, true)
      t.near(best, 2 * rates[name], 1e-9, name)
    end
    return rates
  end)
end

t.test("the best of spaced tries stays, with its age and its spread",
    function()
  local is = {seconds = 1}
  stubbed(is, function()
    local context = cl.context()
    local rate = peaks.get("upload", nil, true)
    is.seconds = 4 -- a busy moment
    peaks.better("upload", context)
    t.eq({peaks.get "upload"}, {rate, 2 * rate})
    t.eq(peaks.words(peaks.tries(context).upload, rate):gsub("%d+ s ago", ""),
      ", 2 tries, 75 % apart")
    is.seconds = 0.5 -- a quiet one
    peaks.better("upload", context)
    t.near(peaks.get "upload", 2 * rate, 1e-9)
    t.eq(peaks.tries(context).upload.tries, 3)
    peaks().note = nil -- of a file of another version
    t.ok(tostring(peaks()):find("to the device +[%d.]+ GB/s +%d+ s ago, 3 "
      .. "tries, 88 %% apart"), tostring(peaks()))
    t.narrow(tostring(peaks()))
  end)
end)

t.test("a later session tries a kept peak again, and may raise it", function()
  local is = {seconds = 1}
  stubbed(is, function()
    local context = cl.context()
    local rate = peaks.get("download", nil, true)
    is.kept["time.download"] = is.kept["time.download"] - 3600
    is.seconds, is.count = 0.5, 0
    peaks.forget(context)
    t.near(peaks.get "download", 2 * rate, 1e-9)
    t.eq(is.count, 1, "one way alone")
    peaks.forget(context)
    peaks.get "download"
    t.eq(is.count, 1, "not so soon")
    is.kept["time.download"], is.kept["tries.download"] = 0, 6
    peaks.forget(context)
    peaks.get "download"
    t.eq(is.count, 1, "tries enough")
  end)
end)

t.test("a verified result above a roof raises it; others are impossible",
    function()
  local context = cl.context()
  stubbed({seconds = 1}, function()
    for _, name in ipairs{"copy", "read", "write", "cache", "fma_float"} do
      peaks.get(name, nil, true)
    end
    local top = peaks.get "read"
    local most = peaks.ceiling("read", context)
    local function result(more)
      local r = {median = 1, bytes = most, mode = "cold", cache = "flush",
        flags = {}, family = "spmv"}
      for key, value in pairs(more or {}) do
        r[key] = value
      end
      return r
    end
    -- a flush that is smaller than the cache: the cache may have held it, but
    -- the peaks of memory are doubted first
    local r = result{bytes = peaks.get "cache", median = 2,
      cache = "flush 1 MiB of 9 MiB cache"}
    roofline.place(r, context)
    t.ok(r.roof <= 1 and r.bytes / 2 > peaks.get "copy", r.roof)
    t.eq(peaks.tries(context).write.tries, 2)
    r = result{bytes = 8 * top}
    roofline.place(r, context)
    t.ok(protocol.flagged(r, "IMPOSSIBLE?") and r.roof > 3.9, r.roof)
    r = result{bytes = 0.75 * peaks.get "copy"}
    roofline.place(r, context, true)
    t.eq({protocol.flagged(r, "IMPOSSIBLE?"), r.roof}, {false, 0.75})
    r = result()
    roofline.place(r, context, true)
    t.eq({r.roof, r.bound, r.flags}, {1.0, "memory", {}})
    t.near(peaks.get "read", most, 1e-9)
    local fma = peaks.get "fma_float"
    most = peaks.ceiling("fma_float", context)
    r = {median = 1, flop = most, type = "float", flags = {}}
    roofline.place(r, context, true)
    t.eq({r.roof, r.bound, (peaks.get "fma_float")}, {1.0, "compute", most})
    -- more than the unit can do: measured again, told, and not taken
    r = {median = 1, flop = 1.1 * most, type = "float", flags = {}}
    roofline.place(r, context, true)
    t.eq({protocol.flagged(r, "IMPOSSIBLE?"), (peaks.get "fma_float")},
      {true, most})
    t.ok(r.note:find("more than fma_float can do", 1, true), r.note)
    t.ok(peaks.ceiling("fma_float", context) < 5 * fma)
  end)
  peaks.forget(context) -- the real ones are in the file of the device
end)

t.test("a result stands under the roof of its unit, and raises no other",
    function()
  local context = cl.context()
  local own = peak_kernels.ways.tensor_half
  local _ <close> = setmetatable({}, {__close = function()
    peak_kernels.ways.tensor_half = own
    peaks.forget(context)
  end})
  peak_kernels.ways.tensor_half = function()
    return {1}, function() return function() end, 1e15 end
  end
  stubbed({seconds = 1}, function()
    for _, name in ipairs{"fma_float", "tensor_half", "tensor_tf32"} do
      peaks.get(name, nil, true)
    end
    local fma, tensor = peaks.get "fma_float", peaks.get "tensor_half"
    local function placed(more)
      local r = {median = 1, type = "float", flags = {}}
      for key, value in pairs(more) do
        r[key] = value
      end
      roofline.place(r, context, true)
      return r.roof, r.bound
    end
    t.eq({placed{flop = tensor / 4, unit = "tensor_half"}}, {0.25, "compute"})
    t.near(placed{flop = tensor / 4, unit = "tensor_half", products = 3},
      0.75, 1e-9, "three products do three times the work")
    placed{flop = 1.2 * tensor, unit = "tensor_half"}
    t.near(peaks.get "tensor_half", 1.2 * tensor, 1e-9)
    t.eq(peaks.get "fma_float", fma)
    -- no kernel measures the roof of these
    if not peaks.get "tensor_tf32" then
      t.eq({placed{flop = 1e18, unit = "tensor_tf32"}}, {})
    end
    t.eq({placed{flop = 1e18, unit = "tensor"}}, {})
    t.eq({placed{flop = 1e18, unit = "matrix"}}, {}, "of earlier versions")
  end)
end)

t.test("wgmma of warp groups is a way to a peak where the driver builds it",
  function()
    local tiling = require "clshell.ladder.tiling"
    local answer
    local _ <close> = t.swap(tiling, "lacks", function() return nil end)
    local _ <close> = t.swap(program, "get", function(_, from, defines)
      t.eq(from.ptx, true)
      return answer(defines)
    end)
    local function count(name)
      local ways = peak_kernels.ways[name](cl.context(), {})
      return {#ways, (ways[#ways] or {})[1]}
    end
    function answer(defines) return {defines.TF32} end
    t.eq({count "tensor_tf32", count "tensor_half"},
      device.name:find "H100" and {{1, 256}, {1, 128}}
        or {{2, 256}, {2, 256}})
    t.eq(count "tensor_double", {3, 16})
    function answer() return nil, "the driver's binary is no PTX text" end
    t.eq(count "tensor_tf32", {3, 16})
    function answer() cl.error "refused" end
    t.eq(count "tensor_half", {3, 16})
  end)

t.test("builds of a peak begin without a launch, on an H100 of few ways",
  function()
    local context, begun = cl.context(), {}
    local function begin(name)
      local get = program.get
      local _ <close> = t.swap(program, "get", function(c, from, defines, opts,
          later)
        t.eq({c == context, later}, {true, true})
        begun[#begun + 1] = defines.WIDTH or from.path:match "[^/]+$"
        return get(c, from, defines, opts, later)
      end)
      begun = {}
      peak_kernels.begin(context, name)
      return begun
    end
    for _, name in ipairs{"read", "copy", "local", "cache", "fma_float"} do
      local own, kernels = {}, 0
      local ways = peak_kernels.ways[name](context, own)
      for _, i in ipairs(peak_kernels.worth(context, name, #ways)) do
        kernels = kernels + (ways[i] ~= "buffer" and 1 or 0)
      end
      t.eq(#begin(name), kernels, name)
      for _, object in ipairs(own) do
        object:close()
      end
    end
    t.eq({begin "upload", begin "fma_char"},
      {{}, device.type == "cpu" and {"dot.cl", "dot.cl", "dot.cl"}
        or {"dot.cl"}})
    t.ok(peaks.get("local", context, true) > 0)
    local h100 = {device = {type = "gpu", name = "NVIDIA H100 PCIe"}}
    local other = {device = {type = "gpu", name = "NVIDIA H200"}}
    t.eq(peak_kernels.worth(h100, "copy", 6), {1, 6})
    t.eq(peak_kernels.worth(h100, "upload", 1), {1})
    t.eq(peak_kernels.worth(other, "copy", 6), {1, 2, 3, 4, 5, 6})
  end)

t.test("the unit of a kernel is told by its code", function()
  for code, unit in pairs{
    ["fma.rn.f32 %f1, %f2, %f3, %f4;"] = "fma",
    ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {"] = "tensor_half",
    ["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"] = "tensor_half",
    ["mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "] = "tensor_tf32",
    ["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "] = "tensor_double",
    ["mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "] = "tensor_char",
    ["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"] = "tensor_half",
    ["wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"] = "tensor",
    ["wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"] = "tensor_half",
    ["wgmma.fence.sync.aligned; mbarrier"] = "fma",
    ["__builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c)"] = "tensor",
    ['#include "gemma.cl"'] = "fma",
  } do
    t.eq(units.of_text(code), unit, code)
  end
  local folder = t.tmp "unit"
  local function write(name, text)
    t.write(folder .. name, text)
  end
  write("multiply.h", [[
    #define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    #define PRODUCT(x) if (0) printf(MMA)
]])
  write("user.cl", ([[
    #include "MULTIPLY"
    kernel void f(global float *x) { PRODUCT(x); x[0] = 1; }
]]):gsub("MULTIPLY", folder:match "[^/]*$" .. "multiply.h"))
  local prog = cl.build(folder .. "user.cl")

  -- PTX has no instruction that is never reached
  local ptx = prog:binary{raw = true}:find("%.version") ~= nil
  t.eq(units.of_kernel(prog:kernel "f"), ptx and "fma" or "tensor_tf32")
  t.eq(units.of_kernel(cl.build([[
    // faster than mma.sync.aligned.f16 /* mma.sync */
    kernel void f(global float *x) { x[0] = 1; /* mma.sync */ }]])
    :kernel "f"), "fma")
  os.remove(folder .. "user.cl")
  os.remove(folder .. "multiply.h")
  local r = bench(prog:kernel "f":range(1), {args = {cl.buffer("float", 1)},
    flop = 1e12, effort = "quick"})
  t.eq(r.unit, not ptx and "tensor_tf32" or nil)
  t.ok(ptx or r.roof == nil, r.roof) -- no kernel measures this unit here
end)

t.test("rungs on tensor cores declare their unit", function()
  for _, item in ipairs(gemm.kernels()) do
    local rung = families.get("gemm").rung(item.name)
    local source = program.source(rung) or ""
    for _, path in ipairs(rung.path and cl.files(rung.path) or {}) do
      local f <close> = io.open(path)
      source = source .. f:read "a"
    end
    source = source:gsub("/%*.-%*/", "")
    t.eq(rung.unit == nil, not source:find "mma[._][%w_.]*sync", rung.name)
  end
  t.raises(function()
    gemm.define{name = "bad", source = "x", range = function() end,
      unit = "tensors"}
  end, "tensor_double, tensor; got 'tensors'")
end)

t.test("a CPU device that reports other memory is the same device", function()
  local dev = {name = "d", platform = "p", version = "v", compute_units = 1,
    driver_version = "1", global_mem_size = 2^30}
  local path = cachefile.path(dev)
  dev.global_mem_size = 2^30 + 4096
  t.eq(cachefile.path(dev), path)
end)

t.test("the first measurement says what it does, once", function()
  local folder = t.tmp "cache"
  local _ <close> = setmetatable({}, {__close = function()
    os.execute("rm -rf " .. folder)
  end})
  -- the driver's kernels stay where they are: their builds take long
  local kernels = [[POCL_CACHE_DIR="${POCL_CACHE_DIR:-]]
    .. [[${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}"]]
  local command = ("%s XDG_CACHE_HOME=%s %s %%s -e '%s' 2>&1"):format(kernels,
    folder, t.exe, [[local peaks = require "clshell.measure.peaks"
      peaks.limits.cpu.seconds, peaks.limits.gpu.seconds = 0.01, 0.01
      require("clshell.measure.peak_kernels").most.cpu = 1 << 20
      require("clshell.measure.timer").plan_cold = function()
        return "none"
      end
      peaks.get "read"
      peaks.get "write"
      require("clshell.measure.calibrate")()]])
  t.eq(t.capture(command:format "-q"), "")
  os.execute("rm -rf " .. folder)
  t.eq(t.capture(command:format ""), ("measuring %s, once: the figures are "
    .. "kept\n"):format(device.name))
  t.eq(t.capture(command:format ""), "")
end)

t.test("a peak is the work of a launch over its time", function()
  local r = by_clock(1, {"copy", "read", "write", "upload",
    "download"})
  t.near(r.read + r.write, r.copy, 1e-9)
  t.near(r.upload, r.download, 1e-9)
  t.ok(r.download % 1024 == 0 and r.download <= 64 * 2^20, r.download)
  t.ok(r.copy >= 2 * r.download, r.copy)
  local slower = by_clock(4, {"read", "download"})
  for name, rate in pairs(slower) do
    t.near(rate, r[name] / 4, 1e-9, name)
  end
end)

t.done()

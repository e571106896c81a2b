-- bench.lua - timing, its statistics and its notes; comparisons; tables
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local compare = require "clshell.measure.compare"
local flagged = require "clshell.measure.protocol".flagged
local gemm = require "clshell.gemm"
local report = require "clshell.report"
local target = require "clshell.ladder.workload"
local timer = require "clshell.measure.timer"

t.keeps("Program", "Kernel")
t.device()

local QUICK = {warmup = 0, seconds = 0.02, samples = 5, busy = 0,
  roof = false}

-- Waits on the host for so many ms.
local function spend(ms)
  local begin = cl.now()
  while cl.now() - begin < ms * 1e-3 do end
end

-- A stand-in for an Event with these stamps in ns.
local function event(start, stop)
  local e = {start = start, stop = stop}
  function e.wait() return e end
  return e
end

local function increment(n)
  local k = cl.kernel [[kernel void f(global float *x) {
    x[get_global_id(0)] += 1;
  }]]
  return k:range(n), cl.buffer("float", n, 0)
end

t.test("the times of events, with all that goes with them", function()
  local r = bench(function()
    local now = math.floor(cl.now() * 1e9)
    spend(6)
    return event(now, now + 5000000)
  end, {warmup = 0, seconds = 60, busy = 0, flop = 6e6, bytes = 3e6,
    roof = false})
  t.near(r.median, 5e-3)
  t.near(r.ms, 5)
  t.eq({r.timer, r.batch, r.status, r.ok}, {"event", 1, "ok", true})
  t.ok(r.wall >= 6e-3 and r.wall_ms >= 6 and r.gap > 0.1)
  t.near(r.gflops, 6 / r.ms)
  t.near(r.gbs, 3 / r.ms)
  t.eq(#r.samples, r.n)
  t.ok(r.lo <= r.median and r.median <= r.hi and r.q1 <= r.q3)
  t.ok(r.time:find("^%d+%-%d+%-%d+T.*Z$") and r.device.name and r.protocol)
end)

t.test("a launch, a function, several events, none", function()
  local l, x = increment(1000)
  local r = bench(l, {args = {x}, seconds = 60, busy = 0, roof = false})
  t.eq({r.name, r.kernel, r.timer, r.mode}, {"f", "f", "event", "hot"})
  t.ok(r.n >= 6 and r["local"] == "driver's" and r.floor > 0)
  r = bench(function() return x, l(x) end, QUICK)
  t.eq(r.timer, "event")
  r = bench(function() return {l(x), l(x)} end, QUICK)
  t.ok(r.sum > 0 and r.span >= r.sum and r.median == r.span)
  t.ok(tostring(r):find("inside the commands"))
  r = bench(function() l(x) end, QUICK)
  t.eq({r.timer, flagged(r, "no event timer")}, {"wall", true})
  t.ok(r.note:find("no event"))
end)

t.test("short launches are batched, and it says so", function()
  local l, x = increment(1)
  local r
  for _ = 1, 20 do -- on a busy machine a launch takes its time now and then
    r = bench(l, {args = {x}, effort = "quick", roof = false})
    if r.timer ~= "event" or r.batch > 1 then
      break
    end
  end
  if r.timer == "event" then
    t.ok(r.batch > 1 and tostring(r):find("batch " .. r.batch, 1, true),
      tostring(r))
  end
  x:fill(0)
  bench(l, {args = {x}, effort = "quick", roof = false, cache = "cold"})
  r = bench(l, {args = {x}, effort = "quick", roof = false, cache = "cold"})
  t.eq({r.batch, r.mode}, {1, "cold"})
  t.ok(r.cache:find("^flush"), r.cache)
end)

t.test("an unprofiled queue is timed by the clock", function()
  local q = cl.queue{profiling = false}
  local l, x = increment(1000)
  local on = l:on(q)
  local r = bench(function() return on(x) end, QUICK)
  t.eq(r.timer, "wall")
  t.ok(r.median > 0 and r.note:find("host's clock"), r.note)
  q:close()
end)

t.test("stamps that cannot be are replaced by the host's clock", function()
  for name, e in pairs{zero = event(5, 5), backwards = event(9, 5),
      unset = event(0, 0), long = event(1, 10^12)} do
    local r = bench(function() return e end, QUICK)
    t.eq(r.timer, "wall", name)
    t.ok(r.ms < 1e5 and r.note:find("host's clock"), name) -- "long" has 1e6
  end
end)

t.test("failures are results, mistakes and Ctrl-C are errors", function()
  local r = bench(function() cl.error("no such device any more") end, QUICK)
  t.eq({r.ok, r.status, r.ms, r.error},
    {false, "failed", nil, "no such device any more"})
  local l, x = increment(1000)
  -- runs for half a millisecond, but raises at the 60th run
  local function raising(message)
    local n = 0
    return function()
      n = n + 1
      if n == 60 then
        cl.error(message)
      end
      local now = math.floor(cl.now() * 1e9)
      spend(0.51)
      return event(now, now + 500000)
    end
  end
  r = bench(raising "the command failed on the device",
    {seconds = 60, busy = 60, warmup = 0, flop = 1})
  t.eq({r.status, r.gflops}, {"failed", nil})
  t.ok(r.n > 5 and r.n == #r.samples and r.median > 0)
  local e = t.raises(function()
    bench(raising "interrupted!", {seconds = 60, busy = 60, warmup = 0})
  end, "interrupted!")
  t.ok(bench.interrupted(e))
  t.eq(e.record.status, "interrupted")
  t.ok(e.record.n > 5 and e.record.n == #e.record.samples)
  r = bench(function() return l(x) end, {effort = "quick",
    check = function() return x:read()[1] < 0, "not negative" end})
  t.eq({r.status, r.ok, r.gflops}, {"wrong", false, nil})
  t.ok(r.note:find("WRONG not negative"))
end)

t.test("mistakes in the arguments are errors", function()
  t.raises(function() bench(function() return nil + 1 end, QUICK) end,
    "arithmetic")
  t.raises(function() bench(5) end, "bench", "got 5")
  local tag = {}
  tag.t = tag
  t.raises(function() bench(print, {tag = tag}) end,
    "bench: tag must be a string; got a table")
  t.raises(function() bench(print, {sample = 3}) end, "did you mean")
  for _, name in ipairs{"seconds", "samples", "warmup", "flop", "bytes"} do
    for _, value in ipairs{-1, 0 / 0, 1 / 0, "x"} do
      t.raises(function() bench(print, {[name] = value}) end, ">= 0; got")
    end
  end
  t.raises(function() bench(print, {cache = "warm"}) end, '"hot" or "cold"')
  t.raises(function() bench(print, {effort = "some"}) end, '"quick"')
  t.raises(function() bench("gemm.tild", {8}) end, "did you mean")
  t.raises(function() bench("gamm.tiled", {8}) end, "no rung")
  t.raises(function() bench("gemm.tiled") end,
    "bench: operands or sizes must be a table; got nothing", "such as 512")
  t.raises(function() bench("gemm.tiled", {0, 1, 1}) end, ">= 1; got 0")
  t.raises(function() bench("gemm.tiled", {8}, {tile = 3}) end, "4, 8, 16")
end)

t.test("a rung with a shape is verified, then timed", function()
  local r = bench("gemm.tiled", {40, 20, 30}, {tile = 4}, QUICK)
  t.ok(r.ok and r.err <= r.err_bound, r.note)
  t.eq({r.name, r.family, r.kernel}, {"gemm.tiled", "gemm", "tiled"})
  t.eq({r["local"], r.config, r.params.edge}, {"4x4", "tile=4 edge=guard",
    "guard"})
  t.eq({r.shape.m, r.shape.n, r.shape.k, r.shape.context}, {40, 20, 30})
  t.near(r.gflops, 2 * 40 * 30 * 20 / r.ms / 1e6)
  t.ok(#r.source_hash == 16 and r.options:find "arg%-info", r.options)
  t.eq({r.mode, r.seed, r.defines.TILE}, {"hot", 1, 4})
  r = bench(gemm.rung "transposed_b", {64}, nil, QUICK)
  t.ok(r.main > 0 and r.main < r.median and r.sum <= r.span)
  t.ok(r.note:find("the kernel alone"))
  r = bench(gemm.plan(cl.buffer("float", {8, 8}, 1),
    cl.buffer("float", {8, 8}, 1), {kernel = "naive"}), QUICK)
  t.eq({r.name, r.timer ~= nil}, {"naive", true})
end)

t.test("cold caches are the default of memory-bound families", function()
  local r = bench("spmv.naive", {30, 20}, nil, QUICK)
  t.ok(r.ok and r.mode == "cold" and #r.cache > 0, r.note)
  r = bench("transpose.tiled", {50, 30}, nil, QUICK)
  t.ok(r.ok and r.mode == "cold" and #r.cache > 0, r.note)
  r = bench("transpose.tiled", {50, 30}, nil, {seconds = 0.02, warmup = 0,
    cache = "hot", roof = false})
  t.eq({r.mode, r.cache}, {"hot", nil})
end)

t.test("how caches are found cold follows from their size", function()
  local mib = 2^20 // 1 | 0
  local gpu = {type = "gpu", global_mem_cache_size = 50 * mib,
    global_mem_size = 80 * 1024 * mib, max_mem_alloc_size = 20 * 1024 * mib}
  t.eq({timer.plan_cold(gpu, 300 * mib)}, {"none", 1,
    "footprint exceeds cache"})
  t.eq({timer.plan_cold(gpu, 40 * mib)}, {"rotation", 6, "rotation x6"})
  t.eq({timer.plan_cold(gpu, mib)}, {"flush", 100 * mib, "flush 100 MiB"})
  t.eq({timer.plan_cold(gpu)}, {"flush", 100 * mib, "flush 100 MiB"})
  local host = {type = "cpu", global_mem_cache_size = 480 * mib,
    global_mem_size = 4096 * mib, max_mem_alloc_size = 1024 * mib}
  t.eq({timer.plan_cold(host, 40 * mib)}, {"flush", 128 * mib,
    "flush 128 MiB of 480 MiB cache"})
  host.global_mem_cache_size, host.global_mem_size = 0, 256 * mib
  local way, bytes, words = timer.plan_cold(host)
  t.eq({way, bytes}, {"flush", 32 * mib})
  t.ok(words:find("^flush 32 MiB"))
end)

t.test("rotation runs every copy of the operands", function()
  local o = {A = cl.buffer("float", {4, 6}, 2), n = 3,
    M = {values = cl.buffer("int", 5, 7), rows = 9}}
  local copy = target.copy(o, "n")
  t.eq({copy.n, copy.M.rows, copy.A:read():equal(o.A:read())}, {nil, 9, true})
  t.ok(not copy.A:overlaps(o.A) and not rawequal(copy.M.values, o.M.values))
  t.eq(target.footprint(o), 4 * 6 * 4 + 5 * 4)
end)

t.test("family.bench: rungs and routines of the host", function()
  local o = {A = cl.buffer("float", {40, 30}, 1),
    B = cl.buffer("float", {30, 20}, 2)}
  for _, name in ipairs{"openblas", "plain_c"} do
    local r = gemm.bench(name, nil, o, QUICK)
    t.ok(r.ok or r.note:find("not run"), r.note)
    t.ok(not flagged(r, "no event timer"))
  end
  t.raises(function() gemm.bench("tild", nil, o) end, "did you mean")
  t.raises(function() gemm.bench("tiled", {tile = 3}, o) end, "4, 8, 16, 32")
  local r = gemm.bench("tiled", nil, {A = o.A, B = o.A}, QUICK)
  t.ok(r.note:find("^failed: gemm: A is 40x30 and B is 40x30"), r.note)
  r = gemm.bench("tiled", nil, {A = o.A, B = o.B, C = cl.buffer("float",
    {40, 20}, 1), beta = 1}, QUICK)
  t.ok(r.ok, r.note)
end)

t.test("a device that cannot compute is never given a rate", function()
  local o = {A = cl.buffer("float", {16, 16}, 1),
    B = cl.buffer("float", {16, 16}, 1)}
  gemm.define{name = "lazy", source = [[
kernel void lazy(int M, int N, int K, float alpha, global const float *A,
                 int lda, global const float *B, int ldb, float beta,
                 global float *C, int ldc)
{
  if (get_global_id(0) != 3)
    C[get_global_id(1) * ldc + get_global_id(0)] = alpha * K;
}]], range = function(s) return {s.n, s.m} end}
  local r = gemm.bench("lazy", nil, o, QUICK)
  t.eq({r.ok, r.status, r.err, r.gflops, r.ms},
    {false, "wrong", math.huge})
  t.ok(r.note:find("WRONG err=inf.* row 1, column 4"), r.note)
end)

t.test("comparisons of launches", function()
  local l, x = increment(4096)
  local one = function() return l(x) end
  local spin = cl.kernel [[kernel void spin(global float *x, int n) {
    for (int i = 0; i < n; i++) x[get_global_id(0)] += i;
  }]]:range(1024)
  local r = compare(one, function() -- far slower, under any load
    return {spin(x, 20000), spin(x, 20000)}
  end, {rounds = 8})
  t.eq({r.verdict, r.rounds, #r.ratios}, {"SLOWER", 8, 8})
  t.ok(r.ratio > 1.5 and r.lo <= r.ratio and r.ratio <= r.hi)
  t.ok(tostring(r):find("^A is [%d.e+]+ %[[%d.e+, ]+%] times as fast as B\n"))
  t.ok(tostring(r):find("\n  b: SLOWER after 8 rounds of ", 1, true))
  r = compare({"gemm.naive", {32}}, {"gemm.naive", {48}}, {rounds = 8})
  t.eq({r.rounds, r.name_b, r.a[1] > 0}, {8, "gemm.naive 48x48x48", true})
  t.eq({r.name_a, select(2, tostring(r):match("^(.-)\n  a: "):gsub(
    "gemm.naive", ""))}, {"gemm.naive 32x32x32", 2}, "both names, once")
  t.raises(function() compare(one, one, {rounds = 7}) end, ">= 8; got 7")
  t.raises(function() compare(one, one, {samples = 2}) end, ">= 3; got 2")
  t.raises(function() compare(one, one, {round = 9}) end, "did you mean")
  local launch = cl.kernel "kernel void one(global int *x) {}":range(1)
  local int <close> = cl.buffer("int", 1)
  t.raises(function() compare(launch(int), one) end, "got an Event",
    "{k:range(n), {args = {A, n}}}")
  t.raises(function() compare({launch, int}, one) end, "got a Buffer",
    "{k:range(n), {args = {A, n}}}")
  t.raises(function() compare(one) end, "b must be a workload", "got nothing")
  t.raises(function() compare("gemm.tiled") end, "b must be a workload")
end)

t.test("comparisons name what differs", function()
  local opts = {rounds = 8, seconds = 0.1}
  local r = compare({"gemm.tiled", {32}, {tile = 4}},
    {"gemm.tiled", {32}, {tile = 8}}, opts)
  t.eq({r.name_a, r.name_b}, {"gemm.tiled tile=4", "gemm.tiled tile=8"})
  r = compare({"gemm.naive", {32}}, {"gemm.tiled", {32}}, opts)
  t.eq({r.name_a, r.name_b}, {"gemm.naive", "gemm.tiled"})
  r = compare({"gemm.naive", {32}}, {"gemm.naive", {32}}, opts)
  t.eq({r.name_a, r.name_b}, {"gemm.naive (a)", "gemm.naive (b)"})
  t.narrow(tostring(r))
  r.ratio, r.lo, r.hi, r.verdict = 0.5, 0.498, 0.502, "FASTER"
  t.ok(tostring(r):find("^gemm.naive %(b%) is 2.000 %[1.992, 2.008%] "
    .. "times as fast as gemm.naive %(a%)\n"))
  r.ratio, r.lo, r.hi, r.verdict = 1.001, 0.995, 1.004, "SAME"
  t.ok(tostring(r):find("gemm.naive (b) takes the SAME time,\n  1.001 "
    .. "[0.9950, 1.004] times that of gemm.naive (a)\n", 1,
    true), tostring(r))
end)

t.test("a function that enqueues nothing is host code", function()
  local calls, tries = 0, 0
  local r
  repeat -- load may hold up the call that sets the batch
    tries = tries + 1
    r = bench(function() calls = calls + 1 end, QUICK)
  until r.batch > 1 or tries == 20
  t.eq({r.timer, flagged(r, "no event timer"), r.device, r.status},
    {"wall", false, nil, "ok"})
  t.ok(r.batch > 1 and calls > r.batch, r.batch)
  t.ok(tostring(r):find(" ns ", 1, true) or r.median >= 1e-6, tostring(r))
  r = bench(function() end, {seconds = 0.02, check = function()
    return false, "nothing was done"
  end})
  t.eq({r.status, r.error}, {"wrong", "nothing was done"})
  local l, x = increment(1000)
  t.ok(timer.enqueues(function() l(x) end))
  t.ok(timer.enqueues(function() return l(x) end))
  t.ok(not timer.enqueues(function() return {1, "x"}, 2 end))
  x:read()
end)

t.test("without a device, host code is still timed", function()
  t.nodevices()
  local out = t.capture(("OCL_ICD_VENDORS=/nonexistent %s -e '%s' 2>&1")
    :format(t.exe, "print(bench(function() end, {seconds = 0.02}).status)"))
  t.eq(out, "ok\n")
end)

t.test("the wall time is a factor where it is far off", function()
  local function told(gap)
    local now = 1e9 // 1 | 0
    local r = bench(function()
      now = now + 10000000
      spend(0.2)
      return event(now, now + 100000)
    end, QUICK)
    r.timer, r.gap = "event", gap
    return tostring(r)
  end
  t.ok(told(0.123):find("wall +12.3%", 1, true))
  t.ok(told(128.89):find("wall 130x", 1, true))
end)

t.test("comparisons of results that were kept", function()
  local function result(median)
    local r = {name = "x", status = "ok", ok = true, median = median,
      mode = "hot", samples = {}, device = {name = "d"}}
    for i = 1, 20 do
      r.samples[i] = median * (1 + i / 1000)
    end
    return r
  end
  local list = compare(result(1), result(1.5))
  t.eq({#list, list[1].verdict}, {1, "SLOWER"})
  t.eq(compare(result(1), result(1.5), {threshold = 0.6})[1].verdict, "SAME")
  local l, x = increment(4096)
  list = compare(result(1000), l, {args = {x}}) -- measures l
  t.ok(list[1].b.ok and list[1].ratio < 0.01, "ratio " .. list[1].ratio)
  t.raises(function() compare(result(1), result(1), {rounds = 8}) end,
    "rounds")
  t.raises(function() compare(1, result(1)) end, "store")
  t.raises(function() compare("base", "last") end, "store")
end)

local ROWS = {
  {name = "naive", ms = 12.3, gflops = 1.5, gbs = 0.25, err = 1e-7},
  {name = "tiled", ms = 0.4567, gflops = 123, note = "the kernel alone "
    .. "takes all but nothing of this, says the note at some length"},
  {name = "größe", note = "refused: local 32x32"},
}

t.test("tables are aligned on the point", function()
  report.relate(ROWS, {base = ROWS[1], peak = 300e9})
  t.near(ROWS[2].percent, 41)
  t.near(ROWS[2].speedup, 12.3 / 0.4567)
  t.eq(ROWS[3].speedup, nil)
  t.eq(report.format(ROWS, {"kernel", "ms", "gflops", "speedup"}), [[
kernel       ms   GFLOPS  speed-up
naive   12.30      1.500      1.00
tiled    0.4567  123.0       26.93
größe]])
end)

t.test("narrow windows lose columns, and say which", function()
  local columns = {"kernel", "ms", "gflops", "gbs", "speedup", "err", "note"}
  for _, width in ipairs{40, 50, 60, 80, 200} do
    local words = report.format(ROWS, columns, {width = width})
    for line in words:gmatch("[^\n]+") do
      t.ok(utf8.len(line) <= width or line:find("^%(left out"), line)
    end
    t.ok(words:find("refused:", 1, true))
    t.eq(words:find("left out") ~= nil, words:find("GB/s *speed") == nil)
  end
  t.ok(not report.format(ROWS, {"kernel", "config"}):find("parameters"))
end)

t.test("numbers keep four digits", function()
  for _, pair in ipairs{{1234.5, "1234"}, {0.00123456, "0.001235"},
      {999.96, "1000"}, {12.3, "12.30"}, {0, "0"}, {1 / 0, "inf"},
      {-2.5, "-2.500"}, {123456, "123456"}} do
    t.eq(report.number(pair[1]), pair[2])
  end
  t.eq(report.number(12.345, 2), "12")
end)

t.test("wrong arguments are told by name", function()
  local launch = cl.kernel("kernel void f(global float *x) { x[0] = 1; }")
    :range(1)
  local called = {}
  called[1] = called
  for message, call in pairs{
      ["bench: options must be a table; got 5"] = function()
        bench(launch, 5)
      end,
      ["bench: name must be a string; got a table"] = function()
        bench("gemm.naive", 8, {}, {name = called})
      end,
      ["bench.of: name must be a string; got a table"] = function()
        bench.of(called, {1})
      end,
      ["bench.of: sample 1 must be a number of seconds >= 0; got nothing"]
        = function() bench.of("a", {}) end,
      ["bench.of: sample 2 must be a number of seconds >= 0; got -1"]
        = function() bench.of("a", {1, -1}) end,
      ["bench.calibration: context must be a Context; got 1"] = function()
        bench.calibration(1)
      end} do
    t.raises(call, message)
  end
end)

t.done()

t.test("a result without a check says so", function()
  local x = cl.buffer("float", 64)
  local launch = cl.kernel [[kernel void f(global float *x) {
    x[get_global_id(0)] = 1; }]]:range(64)
  local opts = {args = {x}, bytes = 256, effort = "quick", roof = false}
  local open = bench(launch, opts)
  t.eq(open.verify, "unchecked")
  t.ok(tostring(open):find("unchecked", 1, true), tostring(open))
  local html = require "clshell.results.html"
  t.ok(html.text{open}:find("Not checked, but measured as it is: ", 1, true))
  opts.check = function() return x:read()[1] == 1 end
  local checked = bench(launch, opts)
  t.eq(checked.verify, "check()")
  t.ok(not tostring(checked):find("unchecked", 1, true))
  t.ok(html.text{checked}:find("Every rate is of a result that was checked",
    1, true))
end)

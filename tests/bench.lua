-- bench.lua - timing, its statistics and its notes; tables; measured peaks
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.bench"
local cl = require "cl"
local gemm = require "clshell.gemm"
local peaks = require "clshell.peak"
local report = require "clshell.report"

t.keeps("Program", "Kernel")
local device = t.device()

local QUICK = {warmup = 0, seconds = 0.02, samples = 5}

-- A stand-in for an Event that took `ms` on the device.
local function event(ms)
  local e = {ms = ms}
  e.events = {e}
  function e.wait() return e end
  return e
end

-- Waits on the host for so many ms.
local function spend(ms)
  local begin = cl.now()
  while cl.now() - begin < ms * 1e-3 do end
end

t.test("the statistics of known times", function()
  local i, times = -1, {5, 1, 2, 3, 4}
  local r = bench(function()
    spend(6)
    i = i + 1
    return event(times[i % 5 + 1])
  end, {warmup = 0, samples = 10, seconds = 60, flop = 6e6, bytes = 3e6})
  t.ok(r.n >= 10)
  t.eq({r.min, r.max, r.timer}, {1, 5, "event"})
  t.ok(r.q1 <= r.ms and r.ms <= r.q3)
  t.ok(r.wall_ms >= 6)
  t.near(r.gflops, 6 / r.ms)
  t.near(r.gbs, 3 / r.ms)
  t.eq(bench.median{3, 1, 2}, 2)
  t.eq(bench.median{4, 1, 2, 3}, 2.5)
end)

t.test("a launch, and functions that return the event second", function()
  local k = cl.kernel "kernel void f(global float *x) { x[0] = 1; }"
  local x = cl.buffer("float", 1)
  local l = k:range(1)
  local r = bench(function() return l(x) end, QUICK)
  t.ok(r.ms > 0 and r.timer == "event" and r.n >= 1)
  t.ok(tostring(r):find("median"))
  r = bench(function() return x, l(x) end, QUICK)
  t.eq(r.timer, "event")
end)

t.test("stamps that cannot be are replaced by the host's clock", function()
  for _, ms in ipairs{0, -1, 1e6} do
    local r = bench(function() return event(ms) end, QUICK)
    t.eq(r.timer, "host")
    t.ok(r.ms < 10 and r.note:find("host's clock"))
  end
  t.eq(bench(function() end, QUICK).timer, "host")
end)

t.test("failures are notes, mistakes and Ctrl-C are errors", function()
  local r = bench(function() cl.error("no such device any more") end, QUICK)
  t.eq({r.ok, r.ms, r.note}, {false, nil, "failed: no such device any more"})
  t.raises(function() bench(function() return nil + 1 end, QUICK) end,
    "arithmetic")
  t.raises(function() bench(function() cl.error("interrupted!") end) end,
    "interrupted!")
  t.raises(function() bench(5) end, "function", "number")
  t.raises(function() bench(print, {sample = 3}) end, "did you mean")
  t.raises(function() bench(print, {seconds = -1}) end, "at least 0")
  t.raises(function() bench(print, {seconds = "x"}) end, "at least 0")
end)

t.test("a rung is verified, then timed", function()
  local o = {A = cl.buffer("float", {40, 30}, 1),
    B = cl.buffer("float", {30, 20}, 2)}
  local r = gemm.bench("tiled", {tile = 4}, o, QUICK)
  t.ok(r.ok and r.err <= r.bound and not r.note)
  t.eq({r["local"], r.config, r.params.edge}, {"4x4", "tile=4 edge=guard",
    "guard"})
  t.near(r.gflops, 2 * 40 * 30 * 20 / r.ms / 1e6)
  r = gemm.bench("transposed_b", nil, o, QUICK)
  t.ok(r.kernel_ms > 0 and r.kernel_ms < r.ms)
  t.ok(r.note:find("the kernel alone"))
  for _, name in ipairs{"openblas", "plain_c"} do
    r = gemm.bench(name, nil, o, QUICK)
    t.ok(r.ok or r.note:find("not run"), r.note)
  end
  t.raises(function() gemm.bench("tild", nil, o) end, "did you mean")
  t.raises(function() gemm.bench("tiled", {tile = 3}, o) end, "4, 8, 16, 32")
  t.raises(function() gemm.bench("tiled", {tyle = 4}, o) end, "'tile'")
  r = gemm.bench("tiled", nil, {A = o.A, B = o.A}, QUICK)
  t.ok(r.note:find("^failed: gemm: A is 40x30 and B is 40x30"), r.note)
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
  t.eq({r.ok, r.err, r.gflops, r.ms}, {false, math.huge})
  t.ok(r.note:find("WRONG err=inf.* row 1, column 4"), r.note)
end)

t.test("peaks are plausible and measured once", function()
  local begin = cl.now()
  local p = peaks()
  t.ok(cl.now() - begin < 20)
  t.ok(p.fma_float > 1e8 and p.fma_float < 1e16)
  t.ok(p.copy > 1e8 and p.copy < 1e14)
  t.eq(p.fma_double ~= nil, device:has("cl_khr_fp64"))
  t.ok(rawequal(peaks(), p))
  t.ok(tostring(p):find("GFLOPS.*GB/s"))
  t.raises(function() peaks{agan = true} end, "did you mean 'again'")
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

t.done()

-- shell/examples/bench.lua - examples that help shows: measuring and comparing
-- SPDX-License-Identifier: MIT

--- bench
local r = bench("gemm.tiled", {64, 64, 64}, {tile = 8}, {effort = "quick"})
print(r.status, r.gflops, r.n) -- GFLOPS, samples
local x = cl.buffer("float", 10000, 1)
print(bench(function() return x:fill(2) end, {effort = "quick",
  bytes = x.bytes}))

--- bench.of
local r = bench.of("mine", {0.011, 0.010, 0.012}, {flop = 1e9})
print(r.median, r.gflops) --> 0.011 90.909090909091

--- bench.interrupted
local ok, err = pcall(bench, "gemm.tiled", {64, 64, 64},
  {effort = "quick"})
if not ok and bench.interrupted(err) then
  print("stopped", err.record) -- the result so far
end

--- bench.calibration
print(bench.calibration().tick) -- seconds

--- calibrate
local c = calibrate()
print(c.tick, c.floor) -- seconds: the timer's step, an empty kernel

--- calibrate.tick
print(calibrate.tick{100, 300, 500, 900}) --> 2e-07

--- peaks
local p = peaks()
print(p.fma_float / 1e9, p.copy / 1e9) -- GFLOPS and GB/s

--- peaks.get
print(peaks.get "copy" / 1e9) -- GB/s

--- compare
local shape = {64, 64, 64}
local c = compare({"gemm.naive", shape}, {"gemm.tiled", shape, {tile = 8}},
  {rounds = 8, seconds = 0.2, least = 0.001})
print(c.verdict, c.ratio) -- of the second; time over time

--- compare.verdict
local ratios = {0.5, 0.51, 0.5, 0.49, 0.5, 0.5, 0.51, 0.5}
print(compare.verdict(ratios)) --> FASTER 0.5 0.49 0.51

--- compare.measure
local timer = require "clshell.timer"
local x = cl.buffer("float", 10000)
local function fill(value)
  return timer.new(cl.context(), {function() return x:fill(value) end})
end
local c = compare.measure(fill(1), fill(2), {looks = {8}, samples = 3,
  seconds = 0.2, least = 0.001, timer = "wall"})
print(#c.ratios) --> 8

--- roofline
local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
print(roofline(r)) -- part of what the device can do, and what bounds it

--- roofline.place
local fraction, bound = roofline.place{median = 1e-3, flop = 1e4,
  bytes = 1e6, type = "float", mode = "cold", flags = {}}
print(bound) --> memory

--- lesson
local r = bench("gemm.naive", {64, 64, 64}, nil, {effort = "quick"})
print(lesson(r))

--- lesson.read
local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
local reading = lesson.read(r)
print(reading.limit, reading.share)

--- lesson.ladder
local rows = {}
for _, name in ipairs{"naive", "tiled"} do
  rows[#rows + 1] = bench("gemm." .. name, {64, 64, 64}, nil,
    {effort = "quick"})
end
print(lesson.ladder(rows))

--- history
print(history{name = "gemm", since = "7d", limit = 20})

--- best
print(best{name = "gemm"})

--- prune
prune{older_than = "52w", keep = 3}

--- runs.compare
local runs = require "clshell.runs"
local function result(seconds)
  return bench.of("mine", {seconds, 1.01 * seconds, 0.99 * seconds,
    seconds, 1.005 * seconds, 0.995 * seconds, seconds, seconds})
end
print(runs.compare(result(0.010), result(0.012), {threshold = 0.05}))

--- traffic.of
local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
local traffic = lesson.read(r).traffic -- what traffic.of gave
print(traffic and traffic.fetch, traffic and traffic.ways)

--- occupancy
print(occupancy{gpu = "H100", wg = 256, registers = {32, 64, 128}})
local r = occupancy{gpu = "RTX 4090", wg = 256, registers = 80}
print(r.best.groups, r.best.by) --> 3 registers
print(r.best.step) --> 4 groups at 64 registers
local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
print(occupancy(k:range(4096, 256), {gpu = "A100"}))

--- Occupancy:table
print(occupancy{gpu = "A100", wg = "64..256:64", registers = 48}:table(60))

--- Occupancy:plot
print(occupancy{gpu = "T4", wg = {128, 256}, registers = 64}:plot "registers")

--- occupancy.limits
local occupancy = require "clshell.occupancy"
print(occupancy.limits(cl.device())) -- nil and the reason where not known

--- occupancy.of
local occupancy = require "clshell.occupancy"
local limits = {items = 2048, groups = 32, registers = 65536, warp = 32,
  local_bytes = 233472, unit = 128, reserve = 1024, source = "by hand"}
local o = occupancy.of({items = 256, registers = 128, local_bytes = 0},
  limits)
print(o.groups, o.share, o.by) --> 2 0.25 registers

--- occupancy.registers
local occupancy = require "clshell.occupancy"
print(occupancy.registers("nothing about it", "tiled")) --> nil

--- occupancy.kernel
local occupancy = require "clshell.occupancy"
local rung, defines = gemm.rung "tiled", {TILE = 16, REAL = "float"}
local prog = cl.build("gemm/tiled.cl", {defines = defines})
print(occupancy.kernel(rung, prog.gemm, defines, nil, cl.context()))

--- occupancy.words
local occupancy = require "clshell.occupancy"
local limits = {items = 2048, groups = 32, registers = 65536, warp = 32,
  local_bytes = 233472, unit = 128, reserve = 1024, source = "by hand"}
local use = {items = 256, registers = 128, local_bytes = 0, source = "a log"}
print(occupancy.words(use, occupancy.of(use, limits), limits))

--- target.of
local target = require "clshell.target"
local t, opts = target.of("bench", "gemm.tiled", {64, 64, 64}, {tile = 8})
print(t.rung, t.params.tile) --> tiled 8

--- target.operands
local target = require "clshell.target"
local o, made = target.operands(gemm, {4, 5, 6}, "float", "mine")
print(o.A.rows, o.A.cols, o.B.cols, made) --> 4 6 5 true

--- target.shape
local target = require "clshell.target"
local s = target.shape({512}, {"m", "n", "k"}, "mine")
print(s.m, s.n, s.k) --> 512 512 512

--- target.sizes
local target = require "clshell.target"
print(table.concat(target.sizes(gemm, 64), " ")) --> 64 64 64
print(table.concat(target.sizes(conv2d, 64), " ")) --> 64 64 5 5

--- target.example
local target = require "clshell.target"
print(target.example(transpose)) --> such as 512, {512, 512} or {A = A}

--- target.find
local target = require "clshell.target"
local family, name = target.find("gemm.tiled", "mine")
print(family == gemm, name) --> true tiled

--- target.longer
local target = require "clshell.target"
print(target.longer({A = matrix.random(4)}).A.ld) --> 7

--- target.awkward
local target = require "clshell.target"
print(#target.awkward(transpose), target.awkward(transpose)[2][1]) --> 9 7

--- timer.new
local protocol = require "clshell.measure.protocol"
local timer = require "clshell.timer"
local x = cl.buffer("float", 10000)
local subject = timer.new(cl.context(), {function() return x:fill(1) end})
print(protocol.take(subject, 1).wall > 0) --> true

--- timer.plan_cold
local timer = require "clshell.timer"
print(timer.plan_cold(cl.device(), 2 ^ 20))

--- timer.flush
local timer = require "clshell.timer"
local x = cl.buffer("float", 1000)
local subject = timer.new(cl.context(), {function() return x:fill(1) end})
local other <close> = timer.flush(subject, 2 ^ 20)
print(other.bytes >= 2 ^ 20) --> true

--- claims.new
local claims = require "clshell.claims"
local list = claims.new{n = 64}
print(list:select({"A"})[1].id)

--- claims.cannot
local claims = require "clshell.claims"
print(pcall(claims.cannot, "no local memory")) -- a trial returns its reason

--- claims.text
local claims = require "clshell.claims"
local list = claims.new{n = 64}
local claim = list:select({})[1]
print(claims.text(list:try(claim)))

--- claims.limit
local claims = require "clshell.claims"
local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
print(claims.limit(lesson.read(r)))

--- course
print(course "C4") -- tiles of 32x32 are beyond the device

--- course.lessons
print(course.lessons():match "[^\n]+") --> A, a lecture on tiled products:

--- course.exercise
print(course.exercise(2, 7):match "[^.]+") --> not 7

--- list:try
local list = require("clshell.claims").new{n = 64}
local result = list:try(list:select({})[1])
print(result.claim, result.verdict)

--- list:pair
local list = require("clshell.claims").new{n = 64}
local shape = {m = 64, n = 64, k = 64}
local outcome = list:pair({"gemm.naive", shape = shape},
  {"gemm.tiled", params = {tile = 8}, shape = shape})
print(outcome.factor, outcome.said)

--- list:gemm
local list = require("clshell.claims").new{n = 64}
print(list:gemm("naive", nil, "tiled", {tile = 8}).factor)

--- list:launches
local list = require("clshell.claims").new{n = 64}
local k = cl.kernel "kernel void f(global int *x) { *x = 1; }"
local x = cl.buffer("int", 1)
local outcome = list:launches("two sizes", {k:range(1), x},
  {k:range(64), x})
print(outcome.factor)

-- objectives.lua - a search with several aims: the Pareto set, the aims by
-- name, the chart and the page
-- SPDX-License-Identifier: MIT

local t = require "t"
local aims = require "clshell.tune.aims"
local cl = require "cl"
local power = require "clshell.measure.power"
local scratch = require "scratch"
local space = require "clshell.tune.space"
local store = require "clshell.store"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event")
t.device()
load(t.briefly)()
store.use "none"

-- A recorded space of x, y from 1 to 12: ms = x + y / 100.
local function recorded(size)
  local path, lines = t.tmp "space.csv", {"x,y,ms"}
  for x = 1, size do
    for y = 1, size do
      lines[#lines + 1] = ("%d,%d,%s"):format(x, y, x == 3 and y == 2 and ""
        or x + y / 100)
    end
  end
  local f <close> = assert(io.open(path, "w"))
  f:write(table.concat(lines, "\n"), "\n")
  return path
end

-- An error that falls with x and has a best y.
local function err(r)
  local p = r.point
  return 10 / p.x + 20 * (p.y - 2)^2
end

local function points(rows)
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = {row.point.x, row.point.y}
  end
  return list
end

t.test("the rows that no other beats, by the first aim", function()
  local best = tune{replay = recorded(4), objectives = {"ms", err = err}}
  t.eq(points(best.pareto), {{1, 1}, {1, 2}, {2, 2}, {4, 2}})
  t.eq(best.winners, best.pareto)
  t.eq({best.params, best.strategy}, {{x = 1, y = 1}, "exhaustive"})
  t.near(best.pareto[2].aims[1], 1.02)
  t.near(best.pareto[2].aims[2], 10)
  t.eq({best.aims[1], best.aims[2]}, {"ms", "err"})
  for _, row in ipairs(best.rows) do
    t.eq(row.aims == nil, row.point.x == 3 and row.point.y == 2)
  end
  t.narrow(tostring(best))
  scratch.has(tostring(best), "4 configurations that no other beats in ms, "
    .. "err", "1.010 ms", "x=4 y=2")
end)

t.test("three aims, functions by the order of their names", function()
  local best = tune{replay = recorded(3), objectives = {
    b = function(r) return r.point.y end, a = function(r) return r.point.x end,
    c = function(r) return -r.point.x - r.point.y end}}
  t.eq({best.aims[1], best.aims[2], best.aims[3]}, {"a", "b", "c"})
  t.eq(points(best.pareto), {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3},
    {3, 1}, {3, 3}})
end)

t.test("equal rows are both there", function()
  local list = aims.front{{id = 1, status = "ok", aims = {1, 2}},
    {id = 2, status = "ok", aims = {1, 2}}, {id = 3, status = "ok",
    aims = {1, 3}}, {id = 4, status = "wrong", aims = {0, 0}},
    {id = 5, status = "ok"}}
  t.eq({#list, list[1].id, list[2].id}, {2, 1, 2})
end)

t.test("the front of random rows is that of the definition", function()
  local random = space.random(t.seed)
  for _ = 1, 30 do
    local rows = {}
    for id = 1, 40 do
      rows[id] = {id = id, status = "ok",
        aims = {random(9), random(9), random(9)}}
    end
    local on = {}
    for _, row in ipairs(aims.front(rows)) do
      on[row] = true
    end
    for _, row in ipairs(rows) do
      local beaten = false
      for _, other in ipairs(rows) do
        local a, b = other.aims, row.aims
        beaten = beaten or a[1] <= b[1] and a[2] <= b[2] and a[3] <= b[3]
          and (a[1] < b[1] or a[2] < b[2] or a[3] < b[3])
      end
      t.eq(on[row] or false, not beaten)
    end
  end
end)

t.test("the least cost is on the front for any weights", function()
  local random = space.random(t.seed)
  local a = aims.new({"ms", size = function(r) return r.size end}, {})
  local rows = {}
  for id = 1, 50 do
    rows[id] = {id = id, status = "ok", ms = random(100),
      size = random(50) - 9}
    rows[id].aims = a:measure(rows[id])
  end
  local on = {}
  for _, row in ipairs(aims.front(rows)) do
    on[row] = true
  end
  for _ = 1, 50 do
    local weights = a:mix(random)
    t.near(weights[1] + weights[2], 1)
    local least
    for _, row in ipairs(rows) do
      if not least or a:cost(row, weights) < a:cost(least, weights) then
        least = row
      end
    end
    t.ok(on[least])
  end
  t.eq(a:mix(), {0.5, 0.5})
  t.eq(a:cost({}, {1, 0}), nil)
end)

t.test("the model finds most of a front in a part of the space", function()
  local path = recorded(12)
  local best = tune{replay = path, objectives = {"ms", err = err},
    evaluations = 60, seed = t.seed}
  t.eq({best.strategy, best.evaluations}, {"surrogate", 60})
  scratch.has(tostring(best), "(ParEGO)")
  local found = 0
  for _, p in ipairs(points(best.pareto)) do
    found = found + (p[2] == 2 and 1 or 0)
  end
  t.ok(found >= 5, ("%d of 11"):format(found))
  local again = tune{replay = path, objectives = {"ms", err = err},
    evaluations = 60, seed = t.seed}
  t.eq(points(again.rows), points(best.rows), "the seed repeats it")
end)

t.test("every strategy takes several aims", function()
  local path = recorded(5)
  for _, name in ipairs(require("clshell.tune.strategy").names) do
    local best = tune{replay = path, objectives = {"ms", err = err},
      evaluations = 12, strategy = name, seed = t.seed}
    t.ok(best.evaluations >= 1 and #best.pareto >= 1, name)
  end
end)

t.test("the chart and the page show the front", function()
  local best = tune{replay = recorded(4), objectives = {"ms", err = err}}
  local chart = best:plot()
  local shown = chart:text{width = 60, ascii = true}
  scratch.has(shown, "not beaten", "beaten", "err", "ms")
  t.eq(#chart.series[2].points, 4)
  t.ok(not chart:svg():find("<polyline", 1, true))
  scratch.has(best:plot("x"):text{width = 60}, "median")
  local page = require("clshell.tune.page").text(best)
  scratch.has(page, "Rows that no other beats in ms, err", "x=4 y=2")
end)

t.test("a rung: error, sizes and memory from the device", function()
  local best = tune("gemm.tiled_padded", {32}, {evaluations = 3, quiet = true,
    objectives = {"ms", "err", "bytes", "local_bytes", "private_bytes"}})
  t.eq(best.evaluations, 3)
  for _, row in ipairs(best.rows) do
    if row.status == "ok" then
      local tile, pad = row.point.tile, row.point.pad
      t.eq(row.aims[2], row.record.err)
      t.ok(math.type(row.aims[3]) == "integer" and row.aims[3] > 0)
      t.ok(row.aims[4] >= 2 * 4 * tile * (tile + pad) - 4 * tile * pad,
        row.config)
      t.ok(row.aims[5] >= 0)
    end
  end
end)

-- A kernel that is off by a part of its result.
local function rough(check)
  local y = cl.buffer("float", 4, 0)
  return {kernel = "kernel void f(global float *y) "
    .. "{ y[get_global_id(0)] = 8 + OFF * 0x1p-12f; }", args = {y}, range = 4,
    params = {off = {1, 0, 2}}, quiet = true, tolerance = 0.5, check = check,
    objectives = {"err", off = function(r) return -r.params.off end}}
end

t.test("the error of a kernel: by its reference, or by its check", function()
  local best = tune(rough(cl.array("float", 4, 8)))
  t.eq(best.params, {off = 0})
  t.eq(#best.pareto, 3)
  t.near(best.pareto[3].aims[1] * 4096 * 8, 2)
  best = tune(rough(function(p)
    return true, nil, p.off == 1 and 0.25 or 1
  end))
  t.eq({best.params.off, #best.pareto}, {1, 2})
  t.raises(function() tune(rough(function() return true end)) end,
    "tune: the aim err must be a finite number; got nothing")
end)

t.test("other aims for rows of the run store have a front of their own",
  function()
    local path = t.tmp "runs.db"
    store.use(path)
    local what = rough(cl.array("float", 4, 8))
    local function off(r) return r.params.off end
    what.objectives = {a = off, b = off}
    t.eq(#tune(what).pareto, 1)
    what.objectives = {a = off, b = function(r) return -r.params.off end}
    local best = tune(what)
    t.eq({best.stored, #best.pareto}, {3, 3})
    store.use "none"
    for _, ending in ipairs{"", "-wal", "-shm"} do
      os.remove(path .. ending)
    end
  end)

t.test("energy where the device tells it, else the reason", function()
  if power.meter(cl.device()) then
    local best = tune("gemm.tiled_padded", {64}, {evaluations = 2,
      quiet = true, objectives = {"ms", "energy"}})
    t.ok(best.rows[1].aims[2] > 0)
    return
  end
  t.raises(function() tune("gemm.tiled_padded", {64}, {quiet = true,
    objectives = {"ms", "energy"}}) end, "tune: the aim energy: nothing tells "
    .. "the power of " .. cl.device().name, "nvidia-smi")
end)

t.test("a launch takes the power that nvidia-smi tells, by its time",
  function()
    scratch.create("nvidia-smi", [[#!/bin/sh
case "$*" in
*-lms*) test "$2" = GPU-c663400e-6305-ca2a-bb03-947fec416f93 &&
  while echo 100; do sleep 0.05; done ;;
*) echo 'GPU-00000000-6305-ca2a-bb03-947fec416f93, 9'
  echo 'GPU-c663400e-6305-ca2a-bb03-947fec416f93, 60.5' ;;
esac]])
    scratch.create("script.lua", [[
local power = require "clshell.measure.power"
local function device(id)
  return {name = "a GPU", nv_warp_size = 32, info = function()
    return {uuid = id}
  end}
end
local launches, begin = 0, cl.now()
local meter = power.meter(device "c663400e6305ca2abb03947fec416f93")
local joule = meter:joule{sample = function(n)
  launches = launches + n
  cl.sleep(0.01 * n)
end}
print(joule >= 1 and joule <= 100 * (cl.now() - begin) / launches)
print(power.meter(device "d663400e6305ca2abb03947fec416f93"))]])
    local out, errors = scratch.sh "chmod +x nvidia-smi; PATH=$PWD:$PATH\n\z
      $clshell -q script.lua"
    t.eq(out, "true\nnil\tnothing tells the power of a GPU; nvidia-smi does "
      .. "for devices of NVIDIA\n", errors)
  end)

t.test("misuse says the rule and the value", function()
  local path = recorded(2)
  local function bad(list, ...)
    t.raises(function() tune{replay = path, objectives = list} end, ...)
  end
  bad(3, "objectives must be a table; got 3")
  bad({}, "objectives must have two aims or more; got 0")
  bad({"ms"}, "two aims or more; got 1")
  bad({"ms", "speed"}, "no aim 'speed'", "private_bytes")
  bad({"ms", "locl_bytes"}, "did you mean 'local_bytes'")
  bad({"ms", err}, "no aim 'function")
  bad({"ms", size = 3}, "objectives.size must be a function; got 3")
  bad({"ms", "bytes"}, "tune: the aim bytes needs a device; ",
    "space.csv has none")
  bad({"ms", "err"}, "the aim err must be a finite number; got nothing")
  for _, x in ipairs{0 / 0, 1 / 0, "many"} do
    bad({"ms", size = function() return x end},
      "the aim size must be a finite number; got " .. (x == "many"
      and '"many"' or tostring(x)))
  end
  bad({"ms", size = function() error("no size", 0) end}, "no size")
  t.raises(function() tune{replay = path, objectives = {"ms", err = err},
    objective = err} end, "objective and objectives exclude each other")
  t.raises(function() tune("gemm.tiled", {shapes = {{8}}}, {objectives = {"ms",
    "err"}}) end, "objectives and shapes exclude each other")
end)

scratch.done()

-- known_runs.lua - a search and the run store: rows of every status come
-- back, a killed search goes on, changes are said, bad stores cost no search
-- SPDX-License-Identifier: MIT
local t = require "t"

if (os.getenv "CLSHELL_BUILD" or ""):find("asan", 1, true) then
  t.test("a search and the run store", function()
    t.skip "lua-dbi is unloaded before the leak check, which then blames it"
  end)
  t.done()
  return
end
local cl = require "cl"
local scratch = require "scratch"
local store = require "clshell.store"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event")
t.device()
load(t.briefly)()

local stores = 0

-- Takes a new store; returns its path.
local function new_store()
  stores = stores + 1
  local path = ("%s/%d.db"):format(scratch.dir, stores)
  store.use(path)
  return path
end

-- MODE 1 is wrong, MODE 2 fails to build; a group of 3 divides no range.
local SOURCE = [[
kernel void scale(global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = 2 * x[i] * (MODE == 1 ? 2 : 1);
#if MODE == 2
  this is no C
#endif
}]]

-- The table of a search whose checks are counted. Searches here have a budget
-- of evaluations: one of seconds ends early on a busy machine.
local function scale(changes)
  local x, y = cl.buffer("float", 16, 3), cl.buffer("float", 16, 0)
  local counted = {checks = 0}
  local what = {kernel = SOURCE, params = {group = {1, 2, 4, 16},
    mode = {0, 1, 2}}, range = function(p) return 16, p.group end,
    evaluations = 12, args = {x, y}, output = y, quiet = true, builders = 0,
    check = function()
      counted.checks = counted.checks + 1
      local got <close> = y:read()
      return got[1] == 6, ("%g"):format(got[1])
    end}
  for name, value in pairs(changes or {}) do
    what[name] = value
  end
  return what, counted
end

-- The statuses and reasons of a result by configuration.
local function rows_of(result)
  local by = {}
  for _, row in ipairs(result.rows) do
    by[row.config] = {row.status, row.reason, row.ms, row.turns, row.verdict}
  end
  return by
end

t.test("a finished search is answered from the store alone", function()
  new_store()
  local first = tune((scale()))
  local what, counted = scale()
  local again = tune(what)
  t.eq({first.stored, again.stored, counted.checks}, {0, 12, 0})
  t.eq(rows_of(again), rows_of(first))
  t.eq({again.ms, again.params, again.gain, #again.winners},
    {first.ms, first.params, first.gain, #first.winners})
  t.eq(again.notes, first.notes)
  store.use "none"
end)

t.test("a refusal after the build, and a family", function()
  new_store()
  local most = cl.device().local_mem_size
  local what = {kernel = [[kernel void hold(global float *y) {
    local float part[SIZE];
    part[0] = get_global_id(0);
    y[0] = part[0];
  }]], params = {size = {1, most}}, range = {1, 1}, quiet = true,
    evaluations = 2, args = {cl.buffer("float", 1, 0)}}
  local first, again = tune(what), tune(what)
  t.eq(rows_of(again), rows_of(first))
  t.eq(again.stored, again.evaluations)
  first = tune("transpose", {16}, {evaluations = 4, quiet = true})
  again = tune("transpose", {16}, {evaluations = 4, quiet = true})
  t.eq({first.stored, again.stored}, {0, 4})
  t.eq(again.winners[1].config, first.winners[1].config)
  store.use "none"
end)

t.test("what is wrong on awkward shapes stays wrong", function()
  new_store()
  local gemm = require "clshell.gemm"
  gemm.define{name = "brittle", params = {{name = "width", values = {1, 2}}},
    source = [[kernel void brittle(int m, int n, int k, REAL alpha,
      global const REAL *A, int lda, global const REAL *B, int ldb, REAL beta,
      global REAL *C, int ldc) {
      int i = get_global_id(0), j = get_global_id(1);
      REAL sum = 0;
      for (int l = 0; l < k; l++)
        sum += A[i * lda + l] * B[l * ldb + j];
      if (n % 2 == 0)
        C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
    }]], range = function(s) return {s.m, s.n} end}
  local opts = {evaluations = 2, quiet = true}
  local first = tune("gemm.brittle", {16}, opts)
  local again = tune("gemm.brittle", {16}, opts)
  t.eq({#again.winners, again.stored}, {0, 2})
  t.eq(rows_of(again), rows_of(first))
  store.use "none"
end)

t.test("a change of an included file, a check or arguments is said", function()
  new_store()
  scratch.create("factor.h", "#define FACTOR 2\n")
  local path = scratch.create("scale.cl", '#include "factor.h"\n'
    .. SOURCE:gsub("2 %*", "FACTOR *"))
  local changes = {kernel = path, params = {group = {1, 2}, mode = {0}}}
  t.eq(tune((scale(changes))).notes, {})
  t.eq(tune((scale(changes))).stored, 2)
  scratch.create("factor.h", "#define FACTOR (1 + 1)\n")
  local best = tune((scale(changes)))
  t.eq({best.stored, best.notes}, {0, {"the source changed since the last "
    .. "search: 2 configurations measured anew"}})
  t.eq(tune((scale(changes))).notes, {})
  changes.check = function() return true end
  best = tune((scale(changes)))
  t.eq({best.stored, best.notes}, {0, {"the last search had other arguments "
    .. "or options: 2 configurations measured anew"}})
  changes.fresh = true
  t.eq(tune((scale(changes))).notes, {})
  store.use "none"
end)

t.test("another driver and another device are said", function()
  local earlier = new_store()
  local changes = {params = {group = {1, 2}, mode = {0}}}
  tune((scale(changes)))
  for name, words in pairs{
    driver = "the driver changed since the last search, from 0.1 to "
      .. cl.device().driver_version,
    name = "the last search ran on 0.1",
  } do
    new_store()
    local from <close> = assert(store.open(earlier))
    for r in from:runs() do
      r.id, r.uid, r.setting, r.device[name] = nil, nil, "other", "0.1"
      assert(store.keep(r))
    end
    local best = tune((scale(changes)))
    t.eq({best.stored, best.notes}, {0,
      {words .. ": 2 configurations measured anew"}})
  end
  store.use "none"
end)

-- A script that searches 20 points of a kernel and prints how many were kept
-- before.
scratch.create("search.lua", t.briefly .. [[

local y = cl.buffer("float", 16, 0)
local best = tune{kernel = "kernel void f(global float *y) { "
  .. "y[get_global_id(0)] = A - A + B - B + 1; }",
  params = {a = "1..4", b = "1..5"}, range = 16, args = {y}, quiet = true,
  check = cl.array("float", 16, 1), strategy = "random", evaluations = 20}
print(best.evaluations, best.stored, best.ms ~= nil)
]])

-- The number of runs in a store.
local function kept(name)
  local s <close> = assert(store.open(scratch.dir .. "/" .. name))
  return #s:list()
end

t.test("a search that is killed goes on where it was", function()
  local moments, before = t.seed, 0
  print("# kills by seed " .. moments)
  for _ = 1, 4 do
    moments = (moments * 1103515245 + 12345) % 2^31 // 1 | 0
    local rows = before + 1 + moments // 65536 % 4
    -- killed once the store has so many rows, at any moment of the next one
    scratch.sh(([[CLSHELL_STORE=killed.db $clshell search.lua & pid=$!
      count() { $clshell -q -p 'local s = require("clshell.store").open(
        "killed.db", {create = false}) return s and #s:list() or 0'; }
      while kill -0 $pid 2>/dev/null && [ $(count) -lt %d ]; do :; done
      kill -9 $pid; wait $pid; true]]):format(rows))
    local now = kept "killed.db"
    t.ok(now >= before, ("%d rows, %d before"):format(now, before))
    before = now
  end
  local out, err, code = scratch.sh "CLSHELL_STORE=killed.db \z
    $clshell search.lua"
  t.eq({out, code}, {("20\t%d\ttrue\n"):format(before), 0}, err)
  t.eq(scratch.sh "CLSHELL_STORE=killed.db $clshell search.lua",
    "20\t20\ttrue\n")
end)

t.test("several searches write to one store at once", function()
  local out, err, code = scratch.sh [[
    for i in 1 2 3; do
      CLSHELL_STORE=shared.db $clshell search.lua & pids="$pids $!"
    done
    for pid in $pids; do wait $pid || exit; done]]
  t.eq({code, err}, {0, ""}, out)
  local measured = 0
  for all, stored in out:gmatch "(%d+)\t(%d+)\ttrue\n" do
    measured = measured + all - stored
  end
  t.eq({select(2, out:gsub("\n", "")), kept "shared.db"}, {3, measured})
  t.eq(scratch.sh "CLSHELL_STORE=shared.db $clshell search.lua",
    "20\t20\ttrue\n")
end)

t.test("a full disk costs no search", function()
  local mount = "mkdir -p disk; unshare -rm sh -c 'mount -t tmpfs -o size=64k "
    .. "none disk && %s'"
  t.skip_if(select(3, scratch.sh(mount:format "true")) ~= 0,
    "no disk of 64 KiB can be mounted")
  local out, err, code = scratch.sh("export clshell\n" .. mount:format
    "CLSHELL_STORE=disk/full.db $clshell search.lua")
  t.eq({out, code}, {"20\t0\ttrue\n", 0}, err)
  t.eq(select(2, err:gsub("results are not kept", "")), 1, err)
end)

t.test("a store that is no file costs no search", function()
  local out, err, code = scratch.sh "CLSHELL_STORE=/dev/full $clshell \z
    search.lua"
  t.eq({out, code}, {"20\t0\ttrue\n", 0}, err)
  t.eq(select(2, err:gsub("results are not kept", "")), 1, err)
end)

scratch.done()

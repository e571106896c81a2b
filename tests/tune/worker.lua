-- worker.lua - a search whose points run in a worker process: those that hang
-- or crash it cost themselves only, and the end leaves no process
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local protocol = require "clshell.measure.protocol"
local scratch = require "scratch"
local store = require "clshell.store"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event")
t.device()
load(t.briefly)()
store.use "none"

local N = 256

-- The ways of a kernel to go wrong, by its parameter `way`; 0 is right.
local SOURCE = [[kernel void twice(global const float *a, global float *b) {
  int i = get_global_id(0);
#if WAY == 1
  volatile int go = 1;
  while (go)
    ;
#elif WAY == 2
  *(global int *)8 = i;
#elif WAY == 3
  ((global int *)(ulong)0xdeadbeef00000000)[i] = i;
#elif WAY == 4
  no such statement
#endif
  b[i] = 2 * a[i] + (WAY == 5);
}]]

-- A search over ways to go wrong; `more` has options that differ.
local function search(ways, more)
  local a, b = cl.buffer("float", N, 3), cl.buffer("float", N, 100)
  local opts = {kernel = SOURCE, params = {way = ways}, args = {a, b},
    range = N, check = cl.array("float", N, 6), limit = 30, quiet = true,
    strategy = "exhaustive", evaluations = #ways, seed = t.seed}
  for name, value in pairs(more or {}) do
    opts[name] = value or nil
  end
  if more and more.worker == false then
    opts.worker = false
  end
  local best = tune(opts)
  return best, b
end

-- The rows of a result, by the value of `way`: status and reason.
local function rows_of(best)
  local rows = {}
  for _, row in ipairs(best.rows) do
    rows[row.point.way] = {row.status, row.reason}
  end
  return rows
end

-- The worker processes of this one, and what a script has left behind.
local function workers()
  return t.capture("pgrep -P $PPID -f -- '-[-]worker'; "
    .. "grep -lzsx MARK=" .. scratch.dir .. " /proc/[0-9]*/environ")
end

-- Kernels that end their process do so only where they run on the host.
local function on_host()
  t.skip_if(cl.device().type ~= "cpu",
    "the device is no CPU: its faults do not end a process")
end

t.test("a point that crashes or fails is a row, and another one wins",
  function()
    on_host()
    local best, b = search{0, 2, 3, 4, 5, 6}
    local rows = rows_of(best)
    for way = 2, 3 do
      t.eq(rows[way], {"failed",
        "the process ended by signal 11 (SIGSEGV) while it checked"})
    end
    t.eq(rows[4][1], "build")
    t.eq(rows[5][1], "wrong")
    t.ok(best.params.way == 0 or best.params.way == 6)
    t.eq(b:read()[1], 100.0, "the user's output stays as it was")
    t.narrow(tostring(best))
    local alone, c = search({0, 4, 5}, {worker = false})
    t.eq(rows_of(alone)[4], rows[4])
    t.eq(rows_of(alone)[5], rows[5])
    t.ok(c:read()[1] ~= 100.0, "in this process it is written")
  end)

t.test("a point that hangs is a row after the limit", function()
  on_host()
  local rows = rows_of((search({0, 1, 6}, {limit = 6})))
  t.eq(rows[1], {"failed", "took more than 6 s while it checked"})
  t.eq({rows[0][1] == "failed", rows[6][1] == "failed"}, {false, false})
end)

t.test("a process that something else stops or kills costs the point",
  function()
    local function check(p)
      if p.way == 8 then
        os.execute "kill -KILL $PPID"
      elseif p.way == 9 then
        os.execute "kill -STOP $PPID"
      end
      return true
    end
    local best = search({0, 8, 9, 6}, {limit = 6, check = check})
    local rows = rows_of(best)
    t.eq(rows[8], {"failed",
      "the process ended by signal 9 (SIGKILL) while it checked"})
    t.eq(rows[9], {"failed", "took more than 6 s while it checked"})
    t.ok(best.params.way == 0 or best.params.way == 6)
  end)

t.test("the first result stays the reference after a restart", function()
  local best = search({0, 8, 5}, {check = false, range = function(p)
    if p.way == 8 and not cl.commandline.quiet then
      return N -- here, before the process is asked
    elseif p.way == 8 then
      os.exit(4)
    end
    return N
  end})
  local rows = rows_of(best)
  t.eq(rows[8],
    {"failed", "the process ended with exit code 4 while it built"})
  t.eq(rows[5][1], "wrong")
  t.ok(tostring(best):find("compared with the first configuration", 1, true))
end)

t.test("a finalist that ends the process twice in turns is no winner",
  function()
    local a <close> = cl.buffer("float", N, 3)
    local b <close> = cl.buffer("float", N)
    local best = search({6, 0}, {check = false, args = function(p)
      if cl.commandline.quiet then -- in the process: its times, by no clock
        local seconds = p.way == 6 and 3e-3 or 1e-3 -- not too far for turns
        function protocol.take(_, n)
          return {wall = n * seconds, event = n * seconds}
        end
      end
      if p.way == 6 and debug.traceback():find("turns", 1, true) then
        os.exit(5)
      end
      return {a, b}
    end})
    t.eq(best.params, {way = 0})
    t.eq(rows_of(best)[6],
      {"failed", "the process ended with exit code 5 while it built"})
  end)

t.test("rungs, also of one's own", function()
  local transpose = require "clshell.transpose"
  transpose.define{name = "deadly", params = {{name = "way",
    values = {0, 2}}}, source = [[kernel void deadly(int rows, int cols,
      global const REAL *A, int lda, global REAL *B, int ldb) {
      int i = get_global_id(0), j = get_global_id(1);
      if (WAY == 2)
        *(global int *)8 = i;
      B[j * ldb + i] = A[i * lda + j];
    }]], range = function(s) return {s.rows, s.cols} end}
  on_host()
  local best = tune("transpose.deadly", {24}, {evaluations = 2,
    quiet = true, cache = "hot"})
  t.eq(best.params, {way = 0})
  local row = rows_of(best)[2]
  t.eq(row[1], "failed")
  t.ok(row[2]:find("SIGSEGV", 1, true), row[2])
end)

t.test("what cannot be sent is measured here, and the result says so",
  function()
    local words = string.gmatch("a", ".")
    local best = search({0, 6}, {check = function()
      return words ~= nil
    end})
    t.ok(rows_of(best)[0][1] ~= "failed")
    t.ok(tostring(best):gsub("%s+", " "):find("measured without a worker "
      .. "process: check's upvalue words is a function in C", 1, true),
      tostring(best))
  end)

t.test("mistakes in the functions are raised as without a worker", function()
  for _, worker in ipairs{true, false} do
    local e = t.raises(function()
      search({0, 6}, {worker = worker, check = function()
        return nil + 1 -- luacheck: ignore
      end})
    end, "attempt to perform arithmetic on a nil value")
    t.ok(tostring(e):find("worker.lua:%d+:"))
  end
  t.raises(function() search({0}, {limit = 0}) end,
    "limit must be a number > 0; got 0")
  t.raises(function() search({0}, {worker = 3}) end,
    "worker must be true or false; got 3")
end)

t.test("the rows go into the run store of this process", function()
  local path = t.tmp "runs.db"
  store.use(path)
  local _ <close> = setmetatable({}, {__close = function()
    store.use "none"
  end})
  local opts = {name = "stored_twice"}
  local first = search({0, 6, 8}, opts)
  t.eq({first.evaluations, first.stored}, {3, 0})
  local again = search({0, 6, 8}, opts)
  t.eq({again.evaluations, again.stored}, {3, 3})
end)

t.test("no process is left: after a search, Ctrl-C, kill -9", function()
  local before = workers()
  search{0, 6}
  t.eq(workers(), before)
  scratch.create("endless.lua", ([[
    local b = cl.buffer("float", 64, 1)
    local ok, e = pcall(tune, {kernel = "kernel void k(global float *b) {"
      .. "b[get_global_id(0)] = N; }", params = {n = "1..1000000"}, args = {b},
      range = 64, quiet = true, check = function(p)
        if p.n ~= 1 then
          os.execute("%s")
        end
        return true
      end})
    cl.undisturbed(function()
      print(ok, e.name, e.record ~= nil)
    end)]]))
  local code = scratch.read "endless.lua"
  -- the parent of the shell is the worker, and its parent is this program
  local parent = "kill -%s $(ps -o ppid= -p $PPID)"
  scratch.create("endless.lua", (code:gsub("%%s", parent:format "INT")))
  t.eq((scratch.sh "MARK=$PWD CLSHELL_STORE=none $clshell endless.lua"),
    "false\tINTERRUPTED\ttrue\n")
  t.eq(workers(), before)
  scratch.create("endless.lua", (code:gsub("%%s", parent:format "KILL")))
  scratch.sh "MARK=$PWD CLSHELL_STORE=none $clshell endless.lua"
  for _ = 1, 1000 do
    if workers() == before then
      break
    end
    cl.sleep(0.01)
  end
  t.eq(workers(), before)
end)

scratch.done()

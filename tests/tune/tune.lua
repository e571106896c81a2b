-- tune.lua - the search for the best setting: rungs, kernels of one's own,
-- recorded spaces, the run store, misuse
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local matrix = require "clshell.data.matrix"
local protocol = require "clshell.measure.protocol"
local evaluation = require "clshell.tune.evaluation"
local search_loop = require "clshell.tune.search_loop"
local spaces = require "clshell.tune.space"
local store = require "clshell.store"
local text = require "clshell.base.text"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event", "Truth")
t.device()
load(t.briefly)()
store.use "none"

local function statuses(result)
  local by = {}
  for _, row in ipairs(result.rows) do
    by[row.status] = (by[row.status] or 0) + 1
  end
  return by
end

-- The options of a search of so many evaluations, quiet.
local function brief(count, more)
  local opts = {evaluations = count, quiet = true, seed = t.seed}
  for name, value in pairs(more or {}) do
    opts[name] = value
  end
  return opts
end

t.test("without the race every configuration has all samples", function()
  local best = tune("gemm.tiled_padded", {33}, brief(6, {race = false,
    fresh = true}))
  t.eq(statuses(best).slow, nil)
  t.ok(best.sampled > 0 and best.sampled <= best.seconds)
end)

t.test("a rung: the default first, every row checked, a winner", function()
  local best = tune("gemm.tiled_padded", {33}, brief(4))
  t.eq(best.evaluations, 4)
  t.eq(best.name, "gemm.tiled_padded")
  t.eq(best.title, "33x33x33 float")
  t.eq(best.ended, "budget")
  t.eq(best.rows[1].point, {tile = 16, pad = 1})
  t.eq(best.default, best.rows[1])
  for _, row in ipairs(best.rows) do
    t.ok(row.status == "ok" or row.status == "slow" or row.status
      == "refused", row.reason)
    if row.status ~= "refused" then
      t.ok(row.ms > 0 and row.n >= 1 and row.record.err
        <= row.record.err_bound)
      t.eq(row.value, row.ms)
    end
  end
  t.eq(best.params, best.winners[1].point)
  t.ok(best.ms > 0)
  t.narrow(tostring(best))
  t.ok(tostring(best):find("4 evaluations of 20 points", 1, true),
    tostring(best))
end)

t.test("operands, a constraint, an objective and a strategy of one's own",
  function()
    local A = matrix.random(20, 20)
    local best = tune(gemm.rung "tiled_padded", {A = A, B = A}, brief(9, {
      where = {"tile <= 8", "pad < 2"},
      objective = function(r) return r.params.pad * 100 + r.params.tile end,
      strategy = function(space)
        local id = #space + 1
        return function()
          id = id - 1
          return id > 0 and id or nil
        end
      end}))
    t.eq(#best.space, 4)
    t.eq({best.evaluations, best.ended}, {4, "space"})
    t.eq(best.params, {tile = 4, pad = 0})
    t.eq(best.value, 4)
    t.eq(best.strategy, "of your own")
  end)

t.test("an objective is a field, the greatest of a rate, or a function",
  function()
    local function values(more)
      local best = tune("gemm.tiled_padded", {33}, brief(3, more))
      local list = {}
      for _, row in ipairs(best.rows) do
        list[#list + 1] = row.value
      end
      t.ok(tostring(best):find("\n  objective"), tostring(best))
      return best.value, math.min(table.unpack(list)),
        math.max(table.unpack(list))
    end
    -- measured values tie within 1 %, and the simplest row is taken
    local value, _, most = values{objective = "gflops"}
    t.ok(value >= most - 0.01 * most, ("%g of %g"):format(value, most))
    local least
    value, least = values{objective = "gflops", maximise = false}
    t.ok(value <= least + 0.01 * least, ("%g of %g"):format(value, least))
    value, least = values{objective = "err"}
    t.eq(value, least)
    local function pad(r) return r.params.pad end
    value, least = values{objective = pad}
    t.eq(value, least)
    value, _, most = values{objective = pad, maximise = true}
    t.eq(value, most)
  end)

t.test("a family: the rungs that the device and the shape accept", function()
  local best = tune("transpose", {40}, brief(3, {cache = "hot"}))
  t.eq(best.evaluations, 3)
  t.ok(best.rung and best.rows[1].rung)
  t.ok(best.space.by_name.rung)
  for _, name in ipairs(best.space.by_name.rung.values) do
    local params = transpose.rung(name).params
    local space = #params > 0 and spaces.new(params) or {}
    for id = 1, #space, 7 do
      local p = space:point(id)
      p.rung = name
      for _, param in ipairs(best.space.params) do
        if p[param.name] == nil then
          p[param.name] = param.values[1]
        end
      end
      t.ok(best.space:number(p), name .. " " .. space:tostring(p))
    end
  end
  t.narrow(tostring(best))
end)

t.test("a winner has to be right on shapes that fit no tile, too", function()
  gemm.define{name = "brittle", params = {{name = "width", values = {1, 2}}},
    source = [[kernel void brittle(int m, int n, int k, REAL alpha,
      global const REAL *A, int lda, global const REAL *B, int ldb, REAL beta,
      global REAL *C, int ldc) {
      int i = get_global_id(0), j = get_global_id(1);
      volatile REAL sum = 0;
      for (int again = 0; again < (WIDTH == 1 ? 1000 : 1); again++) {
        sum = 0;
        for (int l = 0; l < k; l++)
          sum += A[i * lda + l] * B[l * ldb + j];
      }
      if (WIDTH == 1 || n % 2 == 0)
        C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
    }]], range = function(s) return {s.m, s.n} end}
  local best = tune("gemm.brittle", {16}, brief(2))
  t.eq(best.params, {width = 1})
  for _, row in ipairs(best.rows) do
    if row.point.width == 2 then -- much the fastest
      t.eq({row.status, row.value}, {"wrong", nil})
      t.ok(row.reason:find("at 1x1x1 float, rows 3 longer: err=", 1, true),
        row.reason)
    end
  end
end)

t.test("awkward shapes have the words of the one tuned, and those declared",
  function()
    local family = require "clshell.family"
    local seen = {}
    local double = family.new{
      name = "double", arguments = {{"x", "n"}}, output = {"y", "n"},
      options = {{name = "how", values = {"once", "twice"}}},
      awkward = {{3}, {64}},
      reference = function(h, s)
        local y = {}
        seen[s.n] = s.how
        for i = 1, s.n do
          y[i] = (s.how == "twice" and 2 or 1) * h.x[i]
        end
        return y
      end,
      rungs = {{
        name = "plain", params = {{name = "width", values = {1, 2}}},
        -- right for "once", and of even sizes
        source = [[kernel void plain(int n, global const REAL *x,
          global REAL *y) {
          int i = get_global_id(0);
          for (volatile int k = 0; WIDTH == 1 && k < 2000; k++) {}
          if (WIDTH == 1 || !TWICE || n % 2 == 0)
            y[i] = (TWICE ? 2 : 1) * x[i];
        }]],
        defines = function(p, s)
          return {WIDTH = p.width, TWICE = s.how == "twice" and 1 or 0}
        end,
        range = function(s) return s.n end,
      }},
    }
    local best = tune(double, {n = 100, how = "twice"},
      brief(2, {worker = false}))
    t.eq(best.params, {width = 1})
    t.eq(seen, {[100] = "twice", [3] = "twice", [64] = "twice"})
  end)

t.test("the reference is computed once, also where C is read", function()
  local truth, count = gemm.spec.truth, 0
  local _ <close> = setmetatable({}, {__close = function()
    gemm.spec.truth = truth
  end})
  gemm.spec.truth = function(...)
    count = count + 1
    return truth(...)
  end
  local A, B = matrix.random(30, 20, {seed = t.seed}), matrix.random(20, 25)
  local C = matrix.random(30, 25, {seed = t.seed + 1})
  for _, beta in ipairs{0, -0.5} do
    local before = C:read()
    local operands = {A = A, B = B, C = C, beta = beta}
    count = 0
    local best = tune("gemm.tiled_padded", operands, brief(4, {worker = false,
      race = false, fresh = true}))
    t.ok(count >= 1 and count <= 6, count) -- 5 of them of awkward shapes
    for _, row in ipairs(best.rows) do
      t.eq(row.status, "ok", row.reason)
      C:write(before)
      t.eq(row.record.err, gemm.verify("tiled_padded", row.point,
        operands).err)
    end
  end
end)

local SCALE = [[
kernel void scale(global const float *x, global float *y, float factor) {
  int i = get_global_id(0) * PER;
  for (int k = 0; k < PER; k++)
    y[i + k] = factor * x[i + k] * (MODE == 1 ? 2 : 1);
#if MODE == 2
  this is no C
#endif
}]]

-- A kernel table on 64 numbers; MODE 1 is wrong, MODE 2 fails to build.
local function scale(changes)
  local n = 64
  local x, y = cl.buffer("float", n, 3), cl.buffer("float", n, 0)
  local what = {kernel = SCALE, params = {per = {1, 2, 4}, mode = {0, 1, 2}},
    range = function(p) return n // p.per end, args = {x, y, 2},
    check = cl.array("float", n, 6), bytes = 8 * n, evaluations = 9,
    quiet = true}
  for name, value in pairs(changes or {}) do
    what[name] = value
  end
  return what, x, y
end

t.test("a kernel: wrong results and failed builds are rows", function()
  local best = tune((scale()))
  t.eq(statuses(best).wrong, 3)
  t.eq(statuses(best).build, 3)
  t.eq(best.params.mode, 0)
  t.eq(best.name, "scale")
  t.eq(best.evaluations, 9)
  for _, row in ipairs(best.rows) do
    if row.status == "wrong" then
      t.ok(row.reason:find("output[0] = 12, expected 6", 1, true), row.reason)
      t.eq(row.value, nil)
    elseif row.status == "build" then
      t.ok(row.reason:find("build", 1, true), row.reason)
    else
      t.ok(row.ms > 0)
      t.eq(row.record.bytes, 512)
    end
  end
  local shown = tostring(best)
  t.narrow(shown)
  t.ok(shown:find("3 failed builds: ", 1, true), shown)
  t.ok(shown:find("3 wrong: ", 1, true), shown)
end)

t.test("what the device refuses costs no evaluation", function()
  local most = cl.device().max_work_group_size
  local best = tune((scale{params = {per = {1, 2}, mode = {0},
    group = {1, 2, 2 * most, 4 * most}},
    range = function(p) return {64 // p.per}, {p.group} end}))
  t.eq(statuses(best).refused, 4)
  t.eq(best.evaluations, 4)
  t.eq(best.ended, "space")
  t.ok(tostring(best):find("4 refused: ", 1, true), tostring(best))
end)

t.test("without a check the first result is the reference", function()
  local what = scale()
  what.check = nil
  local best = tune(what)
  t.eq(statuses(best).wrong, 3)
  t.ok(tostring(best):find("compared with the first configuration", 1, true),
    tostring(best))
end)

t.test("a check may be a function, with words of its own", function()
  local what, _, y = scale()
  what.check = function(p)
    local got <close> = y:read()
    return got[1] == 6, ("mode %d gives %g"):format(p.mode, got[1])
  end
  what.output = y
  local best = tune(what)
  local seen = false
  for _, row in ipairs(best.rows) do
    seen = seen or row.reason == "mode 1 gives 12"
  end
  t.ok(seen)
end)

t.test("a kernel that reads its output: reset", function()
  local y = cl.buffer("float", 8, 1)
  local what = {kernel = "kernel void f(global float *y) { y[get_global_id(0)]"
    .. " += STEP; }", params = {step = {2, 3}}, range = 8, args = {y},
    check = cl.array("float", 8, 3), quiet = true, evaluations = 2}
  t.eq(statuses(tune(what)).wrong, 2)
  what.reset = function() y:fill(1) end
  local best = tune(what)
  t.eq({statuses(best).ok, statuses(best).wrong}, {1, 1})
  t.eq(best.params, {step = 2})
end)

t.test("all configurations fail: no winner, and the reasons", function()
  local best = tune((scale{params = {per = {1}, mode = {1, 2}}}))
  t.eq({best.ms, best.params, #best.winners}, {nil, nil, 0})
  t.ok(tostring(best):find("no configuration ran", 1, true), tostring(best))
end)

t.test("a parameter that nothing uses is named", function()
  local best = tune((scale{params = {per = {1}, mode = {0}, idle = {1, 2}}}))
  t.ok(tostring(best):find("nothing uses idle: the source has no IDLE", 1,
    true), tostring(best))
end)

t.test("the same search again answers from the run store", function()
  local path = t.tmp "runs.db"
  store.use(path)
  local first = tune("gemm.tiled_padded", {24}, brief(4))
  local kept = store.default():list{name = "gemm.tiled_padded"}
  t.eq(#kept, 4)
  local again = tune("gemm.tiled_padded", {24}, brief(4))
  t.eq({first.stored, again.stored}, {0, 4})
  t.ok(tostring(again):find("4 from the run store", 1, true),
    tostring(again))
  t.eq(tune("gemm.tiled_padded", {25}, brief(1)).stored, 0, "another shape")
  t.eq(tune("gemm.tiled_padded", {24}, brief(1, {fresh = true})).stored, 0)
  local what = scale()
  what.params = {per = {1, 2}, mode = {0}}
  t.eq(tune(what).stored, 0)
  t.eq(tune(what).stored, 2)
  what.kernel = SCALE .. "\n// another source"
  t.eq(tune(what).stored, 0)
  store.use "none"
  for _, ending in ipairs{"", "-wal", "-shm"} do
    os.remove(path .. ending)
  end
end)

-- A recorded space with its optimum at x = 5, y = 4; x = 7 fails.
local function recorded()
  local path = t.tmp "space.csv"
  local f <close> = assert(io.open(path, "w"))
  f:write("x,y,mode,ms\n")
  for x = 1, 8 do
    for _, y in ipairs{1, 2, 4, 8} do
      for _, mode in ipairs{"row", '"a ""b"", c"'} do
        if x * y <= 40 then
          f:write(("%d,%d,%s,%s\n"):format(x, y, mode, x == 7 and ""
            or 1 + (x - 5)^2 + math.abs(y - 4)
            + (mode == "row" and 0 or 0.5)))
        end
      end
    end
  end
  return path
end

t.test("a recorded space is searched without a device", function()
  local path = recorded()
  local all = tune{replay = path}
  t.eq(#all.space, 58)
  t.eq(all.strategy, "exhaustive")
  t.eq(all.params, {x = 5, y = 4, mode = "row"})
  t.near(all.ms, 1)
  t.eq(all.evaluations, 58)
  t.eq(statuses(all).failed, 6)
  for _, name in ipairs{"random", "local", "surrogate"} do
    local some = tune{replay = path, strategy = name, evaluations = 20,
      seed = t.seed}
    local again = tune{replay = path, strategy = name, evaluations = 20,
      seed = t.seed}
    t.eq({some.evaluations, #some.rows}, {20, 20}, name)
    t.eq(again.ms, some.ms, name)
    t.ok(some.ms >= 1)
  end
end)

t.test("what is saved is read again: CSV, Kernel Tuner's cache",
  function()
    local all = tune{replay = recorded()}
    for _, ending in ipairs{".csv", ".cache.json"} do
      local path = t.tmp("saved" .. ending)
      all:save(path)
      local again = tune{replay = path}
      t.eq(again.params, all.params, ending)
      t.eq({#again.space, again.ms}, {#all.space, all.ms}, ending)
      t.eq(statuses(again).ok, statuses(all).ok, ending)
    end
  end)

t.test("a cache that Kernel Tuner has not closed", function()
  local path = t.tmp "open.json"
  t.write(path, '{"kernel_name": "f", "tune_params_keys": ["x"], "cache": {\n',
    '"1": {"x": 1, "time": 3.5},\n"2": {"x": 2, "time": "InvalidConfig"},\n',
    '"4": {"x": 4, "time": 2.5},\n')
  local r = tune{replay = path}
  t.eq({r.params, r.ms, #r.space}, {{x = 4}, 2.5, 3})
  t.eq(statuses(r).failed, 1)
end)

t.test("files that are no recorded space", function()
  local path = t.tmp "bad"
  local function bad(content, ...)
    t.write(path, content)
    t.raises(function() tune{replay = path} end, ...)
  end
  bad("", "no configuration is in it")
  bad("x,y\n1,2\n", "no column is called ms", "x, y")
  bad("x,ms\n1\n", "line 2 has 1 cells, the head 2")
  bad("ms\n1\n", "no parameter is in it")
  bad("{", "tune: ")
  bad('{"a": 1}', "is no cache file of Kernel Tuner")
  t.raises(function() tune{replay = "/nonexistent/x.csv"} end, "cannot read",
    "/nonexistent/x.csv")
end)

-- A subject of the protocol whose launches take the times of a list.
local function subject(times)
  local i, clock = 0, 0
  return {calibration = {event = true, batch = true}, now = function()
    return clock
  end, sleep = function() end, sample = function(n)
    i = i % #times + 1
    clock = clock + n * times[i]
    return {wall = n * times[i], event = n * times[i]}
  end}
end

t.test("a race: two samples for the far, three for the near", function()
  local least = 0.010
  local function look(times)
    local result = {}
    evaluation.sample(least, subject(times), result, protocol.efforts.quick)
    least = math.min(least, result.median)
    return result.status, result.n
  end
  t.eq({look{0.016, 0.020}}, {"slow", 2})
  t.eq({look{0.013}}, {"slow", 3})
  t.eq(look{0.020, 0.009, 0.009}, nil, "one bad sample is forgiven")
  t.ok(least < 0.010)
end)

t.test("a race ends a measurement that can tell a row from the best",
  function()
    local limits = {warmup = 0.1, samples = 10, busy = 0.1, seconds = 0.5}
    local function samples(best, ...)
      local result = {}
      evaluation.sample(best, subject{...}, result, limits)
      return result.n
    end
    t.eq(samples(0.010, 0.0100, 0.0101), 10, "a narrow interval")
    t.eq(samples(0.010, 0.0106, 0.0114), 10, "a wide one above the best")
    t.ok(samples(0.010, 0.0098, 0.0106) > 10, "a wide one about the best")
    t.ok(samples(nil, 0.0106, 0.0114) > 10, "no race")
  end)

t.test("turns: what is slower by more than 1 % loses, ties stay", function()
  local lists = evaluation.take_turns({subject{0.01}, subject{0.01002},
    subject{0.011}}, 60)
  local verdicts, best = evaluation.judge(lists)
  t.eq(best, 1)
  t.eq({verdicts[1].verdict, verdicts[2].verdict, verdicts[3].verdict},
    {"SAME", "SAME", "SLOWER"})
  t.near(verdicts[3].ratio, 1.1)
  t.eq(evaluation.take_turns({subject{5}, subject{5}}, 10), nil, "too long")
end)

t.test("of equally simple winners the one with less local memory is first",
  function()
    local ms, bytes = {2, 1, 1.001, 1.002}, {0, 400, 200, 300}
    local src = {name = "table", out = {}, first = {{x = 1}}, recorded = true,
      space = spaces.new{x = "1..4"}, refusal = function() end,
      split = function(_, p) return p end}
    function src:measure(p) -- luacheck: ignore 212
      return {status = "ok", ms = ms[p.x], n = 1}
    end
    local function order()
      local best = search_loop.run(src, {quiet = true}, {seconds = math.huge,
        seed = t.seed})
      local list = {}
      for i, row in ipairs(best.winners) do
        list[i] = row.point.x
      end
      return list
    end
    t.eq(order(), {2, 3, 4})
    function src:local_bytes(p) -- luacheck: ignore 212
      return bytes[p.x]
    end
    t.eq(order(), {3, 4, 2})
    ms[1] = 1.003 -- the default is simpler than the others
    bytes[1] = 500
    t.eq(order(), {1, 3, 4, 2})
  end)

t.test("Ctrl-C is raised with the result so far", function()
  local child = t.tmp "interrupted.lua"
  t.write(child, t.briefly, [[

local count = 0
local ok, e = pcall(tune, "gemm.tiled_padded", {24}, {quiet = true,
  strategy = function(space)
    return function()
      count = count + 1
      if count == 3 then
        io.popen("kill -INT $PPID"):close()
        for _ = 1, 1000 do cl.sleep(0.01) end
      end
      return count
    end
  end})
print(ok, e.record and e.record.ended, e.record and e.record.evaluations >= 2,
  e.record and e.record.ms > 0)
]])
  t.eq(t.capture(("CLSHELL_STORE=none %s %s"):format(t.exe,
    text.quote(child))), "false\tinterrupted\ttrue\ttrue\n")
end)

t.test("misuse says the rule and the value, before the search", function()
  local function bad(...)
    local list = table.pack(...)
    return function(...)
      t.raises(function() tune(table.unpack(list, 1, list.n)) end, ...)
    end
  end
  bad()("the first argument must be a rung, a family or a table",
    "got nothing")
  bad(7)("got a number")
  bad("gemm.tiled_paded", {8})("no kernel 'tiled_paded'", "tiled_padded")
  bad("gem", {8})("'gem' is no rung")
  bad("gemm.tiled")("operands or sizes must be a table", "got nothing")
  bad("gemm.nv_fp16x3_mma", {8})("has no parameter to tune")
  bad("gemm.tiled", {8}, {second = 1})("second", "seconds")
  bad("gemm.tiled", {8}, {seconds = 0})("seconds must be a number > 0; got 0")
  bad("gemm.tiled", {8}, {evaluations = 0})("evaluations must be", "got 0")
  bad("gemm.tiled", {8}, {strategy = "locl"})("did you mean 'local'")
  bad("gemm.tiled", {8}, {objective = 3})("objective must be a function or "
    .. "the name of a field; got a number")
  bad("gemm.tiled", {8}, {maximise = true})("maximise needs an objective")
  bad("gemm.tiled", {8}, {maximise = 1, objective = "err"})(
    "maximise must be true or false; got 1")
  bad("gemm.tiled", {8}, brief(1, {objective = "speed"}))(
    "objective must name a field with a number; got nil")
  bad("gemm.tiled", {8}, {where = "tile > 99"})(
    "no point meets the constraints", "tile > 99")
  bad("gemm.tiled", {8}, {where = "tyle > 9"})("no parameter 'tyle'")
  bad("gemm.tiled", {8}, brief(1, {objective = function() end}))(
    "objective must return a number; got nil")
  bad("gemm.tiled", {8}, brief(3, {strategy = function()
    return function() return 0 end
  end}))("must ask for the number of a point, 1 to", "got 0")
  bad{kernel = "none.cl", params = {x = {1}}, range = 1}("no kernel file")
  bad{kernel = 3, params = {x = {1}}}("kernel must be the path", "number")
  bad{kernel = SCALE, range = 1}("params must be a table")
  bad{kernel = SCALE, params = {per = {1}}}("range is missing")
  bad{kernel = SCALE, params = {per = {1}}, range = 1, args = 1}(
    "args must be a list")
  bad{kernel = SCALE, params = {per = {1}}, range = 1, start = {per = 2}}(
    "start is no point: per = 2 is not in its list")
  bad((scale{check = cl.array("float", 64, 0 / 0)}))("check has 64 NaNs")
  bad((scale{check = cl.array("float", 3, 1)}))("check has 3 elements, the "
    .. "output 64")
  bad((scale{check = 3}))("check must be an Array")
  bad((scale{output = 3}))("output must be an open Buffer")
end)

t.done()

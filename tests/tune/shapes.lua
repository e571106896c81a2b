-- shapes.lua - one search over several shapes: the mean, the race, the table
-- of settings, its keeping
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local scratch = require "scratch"
local search = require "clshell.tune.search"
local shapes = require "clshell.tune.shapes"
local space = require "clshell.tune.space"
local store = require "clshell.store"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event", "Device")
t.device()
load(t.briefly)()
store.use "none"

-- A source that answers the ms of a list by the parameter x; a text is the
-- reason of a refusal, "wrong" a status. It counts its measurements.
local function recorded(times)
  local values, src = {}, {count = 0}
  for x in ipairs(times) do
    values[x] = x
  end
  src.space, src.name, src.out, src.first = space.new{x = values}, "table", {},
    {{x = 1}}
  src.recorded = true
  function src.split(p)
    return p
  end
  function src.refusal(p)
    local ms = times[p.x]
    return type(ms) == "string" and ms ~= "wrong" and ms or nil
  end
  function src.measure(p)
    src.count = src.count + 1
    local ms = times[p.x]
    if ms == "wrong" then
      return {status = "wrong", reason = "differs"}
    end
    return {status = "ok", ms = ms, n = 1}
  end
  return src
end

-- A search over shapes with known times: {{shape, weight, times}, ...}. Also
-- returns the parts.
local function known(list, change)
  local parts = {}
  for i, entry in ipairs(list) do
    parts[i] = {shape = entry[1], weight = entry[2], title = tostring(
      entry[1]), source = recorded(entry[3])}
    if change then
      change(parts[i].source, i)
    end
  end
  local result = search.run(shapes.join(parts), {strategy = "exhaustive",
    quiet = true}, {seconds = math.huge, seed = 1})
  return result, parts
end

-- x = 4 is the best on the average, 1 and 2 at one shape each.
local MIXED = {{100, 1, {1, 2, 9, 1.25}}, {1000, 1, {20, 10, 90, 12.5}}}

t.test("the best of all is that of the least geometric mean", function()
  local best = known(MIXED)
  t.eq({best.params, best.evaluations, best.ended}, {{x = 4}, 4, "space"})
  t.near(best.ms, math.sqrt(1.25 * 12.5))
  t.eq({#best.table, #best.table[1].settings, #best.table[2].settings},
    {2, 1, 2})
  -- the best known are 1 and 10 ms
  t.near(best.table[1].loss, 0.25)
  t.near(best.table[1].shapes[1].loss, 0.25)
  t.near(best.table[1].shapes[2].loss, 0.25)
  t.near(best.table[2].loss, 0)
  t.narrow(tostring(best))
  scratch.has(tostring(best), "2 shapes, geometric mean: 3.953 ms",
    "loss against the best known of each shape: 25 % with 1 setting")
  local page = require("clshell.tune.page").text(best)
  scratch.has(page, "<h2>Shapes</h2>", "in a table of 2",
    "25 % with 1 setting")
end)

t.test("the rows that help most join the winner in the table",
  function()
    local best = known{{1, 1, {1, 5, 5, 1.1}}, {2, 1, {5, 1, 5, 1.1}},
      {3, 1, {5, 5, 1, 1.1}}, {4, 1, {5, 5, 5, 1}}}
    t.eq(best.params, {x = 4})
    t.eq(#best.table, 4)
    t.near(best.table[1].loss, 1.1^(3 / 4) - 1)
    t.near(best.table[2].loss, 1.1^(2 / 4) - 1)
    t.near(best.table[4].loss, 0)
    local chosen = {}
    for i, entry in ipairs(best.table[4].shapes) do
      chosen[i] = entry.row.point.x
    end
    t.eq(chosen, {1, 2, 3, 4})
  end)

t.test("a setting that saves less than 2 % does not join", function()
  local best = known{{1, 1, {1, 1.01}}, {2, 1, {1.02, 1}}}
  t.eq(#best.table, 1)
  scratch.has(tostring(best), " with 1 setting")
end)

t.test("weights decide", function()
  local function best(weight)
    return known{{1, weight, {1, 2}}, {2, 1, {3, 1}}}.params.x
  end
  t.eq({best(1), best(2), best(0.1)}, {2, 1, 2})
end)

t.test("a point far behind at the first shapes does not run on the rest",
  function()
    local best, parts = known{{1, 1, {1, 10, 1.4}}, {2, 1, {1, 0.1, 1}},
      {3, 1, {1, 0.1, 1}}}
    t.eq({parts[1].source.count, parts[2].source.count,
      parts[3].source.count}, {3, 2, 2})
    local row = best.rows[2]
    t.eq({row.status, #row.at}, {"slow", 1})
    t.near(row.ms, 10)
    t.eq({best.rows[3].status, #best.rows[3].at}, {"ok", 3})
  end)

t.test("a shape that refuses a point leaves it for the others", function()
  local best = known({{1, 1, {2, 1, 2}}, {2, 1, {1, "too large", "wrong"}}},
    function(src)
      function src.awkward() end -- nothing against any
    end)
  t.eq(best.params, {x = 1})
  t.eq({best.rows[2].status, best.rows[2].value}, {"refused", nil})
  t.eq(best.rows[2].reason, "at 2: too large")
  t.eq({best.rows[3].status, best.rows[3].reason}, {"wrong",
    "at 2: differs"})
  t.eq(best.evaluations, 3)
  t.eq(best.table[2].shapes[1].row.point, {x = 2})
  t.eq({best:choose(1).x, best:choose(2).x}, {2, 1})
end)

t.test("a point that all shapes refuse costs no evaluation", function()
  local best = known{{1, 1, {2, "too large"}}, {2, 1, {1, "too large"}}}
  t.eq({best.evaluations, best.rows[2].status, best.rows[2].at},
    {1, "refused", nil})
end)

t.test("a shape that refuses all points: no single best, but a table",
  function()
    local best = known{{1, 1, {2, 1}}, {2, 1, {"no room", "no room"}}}
    t.eq({best.ms, #best.winners, #best.table}, {nil, 0, 1})
    t.eq(best.table[1].shapes[1].row.point, {x = 2})
    t.eq(best.table[1].shapes[2].row, nil)
    t.narrow(tostring(best))
    scratch.has(tostring(best), "no configuration runs on all shapes",
      "no room")
    t.eq(best:choose(2), {x = 2})
    best = known{{1, 1, {"no room"}}, {2, 1, {"no room"}}}
    t.eq(#best.table, 0)
    scratch.has(tostring(best), "no configuration ran")
    t.raises(function() best:choose(1) end,
      "best:choose: no configuration ran")
  end)

-- A subject of the protocol whose launches take one time.
local function subject(seconds)
  local clock = 0
  return {calibration = {event = true, batch = true}, now = function()
    return clock
  end, sleep = function() end, sample = function(n)
    clock = clock + n * seconds
    return {wall = n * seconds, event = n * seconds}
  end}
end

t.test("the finals run at each shape, and decide", function()
  local truth = {{1.02, 1}, {1.01, 1}} -- in the search x = 1 was ahead
  local best = known({{1, 1, {1, 1.01}}, {2, 1, {1, 1.01}}},
    function(src, i)
      function src.subject(p)
        return subject(truth[i][p.x] / 1e3)
      end
      function src.awkward() end
    end)
  t.eq(best.params, {x = 2})
  t.near(best.ms, 1)
  t.near(best.gain.ratio, math.sqrt(1.02 * 1.01))
  t.near(best.table[1].loss, 0)
end)

t.test("a setting of the table has to be right on awkward shapes", function()
  local best = known({{1, 1, {1, 0.5}}, {2, 1, {1, 1.7}}}, function(src)
    function src.awkward(p)
      return p.x == 2 and "at 7x7: differs" or nil
    end
  end)
  t.eq({#best.table, best.rows[2].status}, {1, "wrong"})
  t.near(best.table[1].shapes[1].loss, 0)
end)

t.test("the nearest shape in the logarithm of its sizes chooses", function()
  local best = known(MIXED)
  t.eq({best:choose(1).x, best:choose(300).x, best:choose(330).x,
    best:choose{5000}.x}, {1, 1, 2, 2})
  best = known{{"small", 1, {1, 3}}, {"large", 1, {3, 1}}}
  t.eq({best:choose("small").x, best:choose("large").x}, {1, 2})
  t.raises(function() best:choose("huge") end,
    "the shape must have the sizes of those tuned, such as small; got huge")
  t.raises(function() known(MIXED):choose{1, 2} end, "such as 100; got 1x2")
end)

local SCALE = [[
kernel void scale(global const float *x, global float *y, int n) {
  int i = get_global_id(0) * PER;
  for (int k = 0; k < PER; k++)
    y[i + k] = 2 * x[i + k] + (PER == 4 && n == 64);
}]]

-- A kernel table over lengths; PER 4 is wrong at 64.
local function scale(lengths, changes)
  local x, y = {}, {}
  for _, n in ipairs{64, 128} do
    x[n], y[n] = cl.buffer("float", n, 3), cl.buffer("float", n, 0)
  end
  local what = {kernel = SCALE, params = {per = {1, 2, 4}}, shapes = lengths,
    range = function(p, n) return n // p.per end, bytes = function(_, n)
      return 8 * n
    end,
    args = function(_, n) return {x[n], y[n], cl.int(n)} end, quiet = true,
    check = function(_, n)
      local got <close> = y[n]:read()
      return #got == n and got:max_diff(cl.array("float", n, 6)) == 0, "no 6"
    end}
  for name, value in pairs(changes or {}) do
    what[name] = value
  end
  return what
end

t.test("a kernel: its functions get the point and the shape", function()
  local best = tune(scale{64, {shape = 128, weight = 2}})
  t.eq(best.evaluations, 3)
  t.eq(best.shapes[2], {shape = 128, weight = 2, title = "128"})
  for _, row in ipairs(best.rows) do
    if row.point.per == 4 then
      t.eq({row.status, row.reason}, {"wrong", "at 64: no 6"})
    elseif row.status == "ok" then
      t.eq({row.at[1].record.bytes, row.at[2].record.bytes}, {512, 1024})
    end
  end
  t.ok(best.params.per ~= 4 and best.ms > 0)
  t.narrow(tostring(best))
end)

t.test("a rung and a family over shapes, again from the run store", function()
  local path = t.tmp "runs.db"
  store.use(path)
  local opts = {evaluations = 3, quiet = true, seed = t.seed}
  local list = {shapes = {{24}, {16, 8, 40}}}
  local best = tune("gemm.tiled_padded", list, opts)
  t.eq({best.evaluations, best.stored, best.name}, {3, 0,
    "gemm.tiled_padded"})
  t.eq({best.shapes[1].title, best.shapes[2].title}, {"24x24x24 float",
    "16x8x40 float"})
  t.ok(best:choose{20}.tile and not pcall(best.choose, best, {"a"}))
  local again = tune("gemm.tiled_padded", list, opts)
  t.eq({again.stored, again.params, again.ms}, {3, best.params, best.ms})
  t.eq(#again.table, #best.table, "the table of the turns")
  for k, level in ipairs(best.table) do
    t.eq(again.table[k].loss, level.loss)
    for i, entry in ipairs(level.shapes) do
      local stored = again.table[k].shapes[i]
      t.eq({stored.ms, stored.loss, stored.title, stored.row.point}, {entry.ms,
        entry.loss, entry.title, entry.row.point})
    end
  end
  store.use "none"
  for _, ending in ipairs{"", "-wal", "-shm"} do
    os.remove(path .. ending)
  end
  best = tune("transpose", {shapes = {{40}, {8, 100}}}, opts)
  t.ok(best.rung and best.rows[1].rung)
  local params, rung = best:choose{10, 90}
  t.ok(type(params) == "table" and best.space.by_name.rung.index[rung])
end)

t.test("each shape keeps its setting of the table", function()
  scratch.create("script.lua", t.briefly .. [[

local best = tune("transpose", {shapes = {{40}, {300}}}, {evaluations = 2})
local rows = best:keep()
local chosen = {}
for i, row in ipairs(rows) do
  local _, rung = best:choose{row.shape.rows, row.shape.cols}
  local choice = transpose.choice(row.shape)
  chosen[i] = choice.kept and choice.rung == rung
end
print(#rows >= 1 and #transpose.kept() == #rows, table.concat({
  tostring(chosen[1]), tostring(chosen[#chosen])}, " "))]])
  local out, err, code = scratch.sh "export XDG_CONFIG_HOME=$PWD/config\n\z
    $clshell -q script.lua"
  t.eq({out, code}, {"true\ttrue true\n", 0}, err)
end)

t.test("misuse says the rule and the value", function()
  local function bad(list, ...)
    t.raises(function() tune("gemm.tiled", {shapes = list}) end, ...)
    t.raises(function() tune(scale(list)) end, ...)
  end
  bad(7, "shapes must be a table; got 7")
  bad({}, "tune: shapes must hold a shape; got an empty list")
  for _, w in ipairs{0, -1, 0 / 0, 1 / 0, "x"} do
    bad({64, {shape = 128, weight = w}},
      "tune: the weight of shape 2 must be a number > 0; got")
  end
  bad({{shape = 64, wait = 2}}, "wait", "weight")
  t.raises(function() tune("gemm.tiled", {shapes = {{8}}, type = "double"})
    end, "type")
  t.raises(function() tune("gemm.tiled", {shapes = {{8}, {"a"}}}) end,
    "m of the shape must be a whole number")
  t.raises(function() tune("gemm.tiled", {shapes = {{8}}}, {objective = print})
    end, "objective and shapes")
  t.raises(function() tune{replay = "x.csv", shapes = {1}} end,
    "a file of replay has one shape")
  t.raises(function() tune(scale({64}, {args = function(_, n)
    error("no buffer of " .. n, 0) end})) end, "no buffer of 64")
  t.raises(function() tune("gemm.tiled", {8}, {evaluations = 1,
    quiet = true}):choose{8} end, "best:choose: the search had one shape")
end)

scratch.done()

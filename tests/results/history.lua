-- history.lua - reading the run store: history, best, comparisons, pruning,
-- and the commands of the command line
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local history = require "clshell.results.history"
local stats = require "clshell.measure.stats"
local store = require "clshell.store"

t.keeps("Device")

local probe, reason = store.open(t.tmp "probe.db")
if not probe then
  t.test("the store", function()
    t.skip(reason)
  end)
  t.done()
end
probe:close()

local function fresh()
  local path = t.tmp "runs.db"
  return assert(store.open(path)), path
end

-- A run as bench would keep it: n samples that scatter by `noise` around
-- `median`.
local day = 0
local function run(median, more)
  local samples = {}
  for i = 1, more and more.n or 30 do
    local scatter = more and more.noise or 0.005
    samples[i] = median * (1 + scatter * (2 * math.random() - 1))
  end
  day = day + 1
  local r = {
    name = "mine.k", kernel = "k", config = "tile=8", title = "64x64",
    shape = {m = 64, n = 64}, type = "float", mode = "hot", timer = "event",
    status = "ok", ok = true, median = stats.median(samples),
    samples = samples, source_hash = "aa", protocol = 1,
    device = {name = "No Such GPU", driver = "1.0"},
    time = os.date("!%Y-%m-%dT%H:%M:%SZ", 1767225600 + 86400 * day),
  }
  for key, value in pairs(more or {}) do
    r[key] = value
  end
  return r
end

t.test("sparklines", function()
  local bars = history.sparkline{1, 2, 3}
  t.eq(utf8.len(bars), 3)
  t.ok(bars == "▁▅█" or bars == "_=#", bars)
  t.ok(({["▁▁"] = true, ["__"] = true})[history.sparkline{1, 1.001}])
  t.eq(history.sparkline{}, "")
  local many = {}
  for i = 1, 100 do
    many[i] = i
  end
  t.eq(utf8.len(history.sparkline(many)), 24)
  t.eq(utf8.len(history.sparkline{0, 1e300, math.huge}), 3)
end)

t.test("history puts what is comparable in one row", function()
  local s <close> = fresh()
  for _, ms in ipairs{4, 3, 2} do
    s:keep(run(ms * 1e-3))
  end
  s:keep(run(1e-3, {config = "tile=16", tag = "new"}))
  s:keep(run(1e-3, {mode = "cold"}))
  s:keep(run(1e-3, {shape = {m = 65, n = 64}, title = "65x64"}))
  s:keep(run(1e-3, {device = {name = "Other"}}))
  s:keep{name = "failed", status = "failed", error = "no"}
  local list = s:history()
  t.eq(#list, 6)
  local row = list[#list]
  t.eq({row.count, #row.runs, row.id, utf8.len(row.trend)}, {3, 3, 3, 3})
  t.near(row.median, 2e-3, 0.01)
  t.near(row.change, -33.3, 0.02)
  local text = tostring(list)
  t.ok(text:find "mine%.k" and text:find "tile=16" and text:find "65x64")
  t.eq(#s:history{tag = "new"}, 1)
  t.eq(tostring(s:history{tag = "old"}), "no runs kept that fit")
  t.raises(function() s:history{names = 1} end, "did you mean")
end)

t.test("best passes over what is wrong and says what changed", function()
  local s <close> = fresh()
  s:keep(run(3e-3, {config = "tile=4"}))
  s:keep(run(2e-3, {gflops = 5}))
  s:keep(run(1e-3, {status = "wrong", ok = false}))
  s:keep(run(1e-4, {flags = {"IMPOSSIBLE?"}}))
  s:keep(run(5e-3, {title = "big", shape = {m = 9, n = 9}}))
  local list = s:best()
  t.eq(#list, 2)
  t.eq({list[2].id, list[2].config, list[2].stale}, {2, "tile=8"})
  s:keep(run(4e-3, {source_hash = "bb"}))
  t.eq(s:best{name = "k"}[1].stale, "source changed since")
  s:keep(run(4e-3, {device = {name = "No Such GPU", driver = "2"}}))
  local best = s:best()
  t.eq({best[1].id, best[1].stale}, {2, "driver changed since"})
  t.ok(tostring(best):find "driver changed")
end)

t.test("the table of best keeps to the width of the window", function()
  local s <close> = fresh()
  s:keep(run(3e-3, {config = "vector=64 mr=14 nv=2 mt=8 nt=4 ahead=32 bk=16",
    title = "256x256x256 float", name = "gemm.register", gflops = 15.75}))
  local text <const> = s:best():table{width = 60}
  for line in text:gmatch "[^\n]+" do
    t.ok(utf8.len(line) <= 60, text)
  end
  t.ok(text:find "mr=14" and text:find "ahead=32", text)
end)

t.test("best knows the source and the driver that are here", function()
  local s <close> = fresh()
  s:keep(run(1e-3, {name = "gemm.tiled", family = "gemm", kernel = "tiled",
    source_hash = "0123456789abcdef"}))
  t.eq(s:best()[1].stale, "source changed since")
  local device = cl.devices()[1]
  if device then
    s:keep(run(1e-3, {name = "x", device = {name = device.name,
      driver = device.driver_version}}))
    s:keep(run(1e-3, {name = "y", device = {name = device.name,
      driver = "some other"}}))
    t.eq(s:best{name = "x"}[1].stale, nil)
    t.eq(s:best{name = "y"}[1].stale, "driver changed since")
  end
end)

t.test("verdicts", function()
  local judge = history.judge
  math.randomseed(7) -- single verdicts on random samples: always the same
  local r = judge(run(1e-3), run(1.1e-3))
  t.eq(r.verdict, "SLOWER")
  t.near(r.ratio, 1.1, 0.01)
  t.ok(r.p < 1e-6 and not r.note)
  t.eq(judge(run(1e-3), run(0.9e-3)).verdict, "FASTER")
  t.eq(judge(run(1e-3), run(1.01e-3)).verdict, "SAME")
  t.eq(judge(run(1e-3), run(1.02e-3), 0.01).verdict, "SLOWER")
  r = judge(run(1e-3, {n = 3}), run(1.2e-3, {n = 3}))
  t.ok(r.verdict == "UNCLEAR" and r.note:find "chance", r.note)
  r = judge(run(1e-3, {noise = 0.5}), run(1.2e-3, {noise = 0.5}))
  t.ok(r.verdict == "UNCLEAR" and r.note:find "scatter", r.note)
  r = judge(run(1e-3), run(1e-3, {samples = {0 / 0, 0}}))
  t.ok(r.verdict == "UNCLEAR" and r.note:find "no samples")
  r = judge(run(1e-3), run(1e-3, {ok = false, status = "failed",
    error = "out of memory", timer = "wall"}))
  t.ok(r.verdict == "UNCLEAR" and r.broken)
  t.eq(r.note, "B failed: out of memory; not the same: timer")
end)

t.test("two equal runs are hardly ever told apart", function()
  local wrong = 0 -- a chance of 1 % each at most: 3 expected, 10 by 0.1 %
  for _ = 1, 300 do
    local noise = 0.2 * math.random()
    if history.judge(run(1e-3, {noise = noise, n = 20}),
        run(1e-3, {noise = noise, n = 20})).verdict:find "ER$" then
      wrong = wrong + 1
    end
  end
  t.ok(wrong < 10, wrong .. " of 300")
end)

t.test("the interval of a ratio agrees with the test", function()
  math.randomseed(11)
  local held = 0
  for _ = 1, 200 do
    local a = run(1, {noise = 0.1, n = 12})
    local b = run(1.05, {noise = 0.1, n = 20})
    local lo, hi = stats.ratio(a.samples, b.samples)
    local p = stats.mann_whitney(a.samples, b.samples)
    t.ok(lo <= hi and (p >= 0.03 or lo > 1 or hi < 1), p)
    held = held + (lo <= 1.05 and hi >= 1.05 and 1 or 0)
    local r = history.judge(a, b)
    t.ok(r.lo <= r.ratio and r.ratio <= r.hi)
  end
  t.ok(held >= 180, held .. " of 200") -- 190 expected
  t.eq(stats.ratio({1, 2}, {1, 2, 3, 4, 5, 6}), nil)
  local long = {}
  for i = 1, 1000 do
    long[i] = 1 + i / 1e5
  end
  local lo, hi = stats.ratio(long, long)
  t.ok(lo < 1 and hi > 1 and hi - lo < 0.01)
end)

-- A store with four versions of a source; the third is slower.
local function versions(s)
  math.randomseed(5)
  for v, ms in ipairs{1, 1.01, 1.3, 1.3} do
    for k = 1, 3 do
      s:keep(run(ms * 1e-3, {source_hash = ("%d<i>source"):format(v),
        name = "mine.<k>", device = {name = "No Such GPU",
        driver = v < 4 and "1.0" or "1.1"}, status = v == 1 and k == 1
        and "wrong" or "ok", ok = v > 1 or k > 1}))
    end
  end
end

t.test("a trend tells the versions that are slower, with intervals",
  function()
    local s <close> = fresh()
    versions(s)
    local list = s:history{name = "mine.<k>"}
    local words = list:table{width = 80}
    local ratio, lo, hi = words:match "1%.30 ms %((.-), (.-) to (.-)%)"
    t.near(tonumber(ratio), 1.29, 0.01)
    t.ok(tonumber(lo) > 1.25 and tonumber(hi) < 1.33, words)
    t.ok(words:find("with source 3<i>sour,\n    since run 7, 20", 1, true),
      words)
    t.ok(words:find("64x64, 11 runs\n  [^\n]+\n       1\n  1 SLOWER: from"),
      words)
    for line in words:gmatch "[^\n]+" do
      t.ok(utf8.len(line) <= 80, words)
    end
    t.ok(not words:find "FASTER")
    t.ok(not tostring(s:history()):find "SLOWER") -- no name: the table alone
    local path = t.tmp "trend.html"
    s:history{name = "mine.<k>", file = path}
    local text = io.open(path):read "a"
    t.eq(select(2, text:gsub('<tr class="alarm">', "")), 1)
    t.eq(select(2, text:gsub('"limit line l6"', "")), 1)
    t.ok(text:find("1 runs failed and are left out", 1, true))
    t.ok(text:find("driver", 1, true) and not text:find("<i>", 1, true))
    local trend = require "clshell.results.trend".of(list[1].runs)
    t.eq({#trend.parts, #trend.steps, trend.steps[1].at}, {4, 1, 6})
    for theme = 0, 1 do
      local dom, console = require "browser".browse(text:gsub(
        "<meta http%-equiv[^>]*>", ""):gsub("</body>", '<pre id="probe"></pre>'
        .. "<script>document.getElementById('probe').textContent = "
        .. "document.documentElement.scrollWidth <= innerWidth ? 'fits' : "
        .. "'scrolls'</script></body>"), "--window-size=400,900 "
        .. "--blink-settings=preferredColorScheme=" .. theme)
      t.eq({console, dom:match 'id="probe">(%a+)<'}, {"", "fits"})
    end
  end)

-- The trend of n runs whose medians scatter by 1 %, one in ten by up to 10 %
-- more; from run `at` on they take `factor` times as long. Each source has
-- three runs.
local function scattered(n, at, factor)
  local list = {}
  for i = 1, n do
    local normal = math.sqrt(-2 * math.log(1 - math.random()))
      * math.cos(2 * math.pi * math.random())
    list[i] = {median = (i >= at and factor or 1) * math.exp(0.01 * normal)
      * (1 + (math.random() < 0.1 and 0.1 * math.random() or 0)),
      source_hash = tostring((i - at) // 3)}
  end
  return require "clshell.results.trend".of(list)
end

t.test("of histories without a step one in a hundred has a step", function()
  math.randomseed(3)
  local wrong = 0
  for k = 1, 1000 do
    wrong = wrong + #scattered(8 + k % 33, 1, 1).steps
  end
  t.ok(wrong <= 10, wrong .. " of 1000")
end)

t.test("steps are found at their run", function()
  math.randomseed(4)
  for _, case in ipairs{{3, 15}, {5, 35}, {10, 45}, {20, 47}} do
    local percent, least = table.unpack(case)
    local right = 0
    for _ = 1, 50 do
      local steps = scattered(20, 12, 1 + percent / 100).steps
      right = right + (#steps == 1 and steps[1].at == 12
        and steps[1].verdict == "SLOWER" and steps[1].news ~= "" and 1 or 0)
    end
    t.ok(right >= least, ("%d %%: %d of 50"):format(percent, right))
  end
  local level = {5, 5, 5, 5, 5, 5, 7, 5, 5, 5, 5, 5}
  t.eq(stats.steps(level), {}) -- a single slow run
  t.eq(stats.steps{1, 1, 1, 2, 2, 2}, {}) -- too few to tell from chance
  t.eq(stats.steps{}, {})
  t.raises(function() stats.steps{1, 0 / 0} end, "sample 2 must be a number")
end)

t.test("tags, numbers and 'last' are compared", function()
  local s <close> = fresh()
  for _, name in ipairs{"a", "b", "c"} do
    s:keep(run(9e-3, {name = name, tag = "old"}))
    s:keep(run(1e-3, {name = name, tag = "old"})) -- the newest one counts
  end
  s:keep(run(1e-3, {name = "a", tag = "new"}))
  s:keep(run(2e-3, {name = "b", tag = "new"}))
  s:keep(run(2e-3, {name = "d", tag = "new"}))
  local list = s:compare("old", "new")
  t.eq({#list, list.only_a, list.only_b}, {2, 1, 1})
  t.eq(#list:regressions(), 1)
  t.eq(list:regressions()[1].name, "b")
  t.eq(#list:regressions(1.5), 0)
  t.ok(tostring(list):find "1 SLOWER, 1 SAME, 1 only in A, 1 only in B")
  t.eq(s:compare("last~1", "last")[1].note, "not the same: name")
  t.eq(s:compare(1, "2")[1].verdict, "FASTER")
  t.eq(s:compare("old", s:get(2))[1].verdict, "SAME")
  t.eq(s:compare({s:get(2), s:get(4)}, "new")[2].verdict, "SLOWER")
  t.raises(function() s:compare("odl", "new") end, "did you mean 'old'")
  t.raises(function() s:compare("old", 99) end, "no run 99")
  t.raises(function() s:compare("old", "gemm.tiled") end,
    '{"gemm.tiled", {512}}')
  t.raises(function() s:compare("last~50", 1) end, "9 are kept")
  t.raises(function() s:compare("old", "last") end, "no run of 'last'")
end)

t.test("prune", function()
  local s <close> = fresh()
  for i = 1, 12 do
    s:keep(run(1e-3, {name = "n" .. i % 2, tag = i > 6 and "x" or nil,
      time = ("2026-01-%02dT00:00:00Z"):format(i)}))
  end
  t.eq(s:prune{older_than = "2026-01-03"}, 2)
  t.eq(s:prune{older_than = "2026-02-01", tag = "x", keep = 2}, 2)
  t.eq(s:prune{name = "n1", keep = 3}, 1)
  t.eq(s:prune{keep = 1}, 5)
  local left = s:list()
  t.eq({#left, left[1].id, left[2].id}, {2, 11, 12})
  t.raises(function() s:prune{} end, "opts must name the runs to forget")
  t.raises(function() s:prune{keep = -1} end, ">= 0; got -1")
  t.raises(function() s:prune{keeps = 1} end, "did you mean")
end)

t.test("the session's store, at the prompt", function()
  local runs = require "clshell.results.runs"
  local s, path = fresh()
  s:keep(run(2e-3))
  s:close()
  store.use(path)
  store.keep(run(1e-3))
  t.eq({runs.history()[1].count, runs.best()[1].id}, {2, 2})
  t.eq(runs.compare(1, "last")[1].verdict, "FASTER")
  t.eq(runs.prune{keep = 1}, 1)
  store.use "none"
  t.raises(runs.history, "switched off")
  store.use(nil)
end)

-- Runs clshell with its arguments. Returns what it says, and its exit code.
local function clshell(path, arguments)
  local p = assert(io.popen(("COLUMNS=200 CLSHELL_STORE='%s' '%s' %s 2>&1")
    :format(path, t.exe, arguments)))
  local out = p:read "a"
  local _, _, code = p:close()
  return out, code
end

t.test("commands", function()
  local s <close>, path = fresh()
  s:keep(run(1e-3, {tag = "old"}))
  s:keep(run(1.2e-3, {tag = "new"}))
  local function says(arguments, code, ...)
    local out, got = clshell(path, arguments)
    t.eq(got, code, arguments .. "\n" .. out)
    for _, part in ipairs{...} do
      t.ok(out:find(part, 1, true), arguments .. "\n" .. out)
    end
    return out
  end
  says("history", 0, "mine.k", "tile=8", "+")
  says("history --name k --device such --since 2026-01-01", 0, "mine.k")
  says("history --tag none", 0, "no runs kept that fit")
  says("best", 0, "mine.k", "old")
  says("best --format csv", 0, "name,")
  for _, format in ipairs{"csv", "json", "md"} do
    local out = says("history -f " .. format, 0, "mine.k")
    t.eq(says(("-f %s history"):format(format), 0), out)
    says("best -f " .. format, 0, "mine.k")
    says("export -f " .. format, 0, "mine.k")
  end
  says("compare old new", 0, "1 SLOWER")
  says("compare old new --fail-on-regression 3%", 4, "1 of 1 regressed")
  for _, words in ipairs{"compare old new -f md", "-f md compare old new"} do
    local out = says(words, 0, "| name | ", "| from % | to % |", "| SLOWER |")
    t.ok(out:find "| %+%d%d%.%d | %+%d%d%.%d | %+%d%d%.%d |", out)
  end
  says("compare old new -f csv", 0, "SLOWER")
  says("compare old new -f json", 0, '"B is":"SLOWER"')
  says("compare old new --fail-on-regression 50%", 0, "SLOWER")
  says("compare new old --fail-on-regression 3%", 0, "1 FASTER")
  says("compare 1 last --fail-on-regression=2.5", 4)
  says("compare old nwe", 1, "did you mean 'new'")
  says("compare old", 2, "Usage")
  says("compare old new --fail-on-regression=-3%", 2, "percentage")
  says("compare old new --fail-on-regression x", 2, "percentage")
  says("history --limit=-1", 2, "whole number")
  says("history --limt 1", 2, "--limit")
  says("history --since soon", 2, "a time must be")
  says("history --format xml", 2, "json")
  says("history more", 0, "no runs kept that fit")
  says("history mine.k another", 2, "Usage")
  says("history mine.k --name k", 2, "one name must be given")
  says("history mine.k", 0, "mine.k")
  local page = t.tmp "trend.html"
  says("history mine.k -o " .. page, 0, "1 subjects in " .. page)
  t.ok(io.open(page):read "a":find("<title>Trend of mine.k</title>", 1, true))
  says("history more -o " .. page, 1,
    "clshell history: no kept run fits the name 'more'")
  says("history -o /nonexistent/t.html", 1, "cannot write the trend")
  local csv = t.tmp "t.csv"
  says("history -o " .. csv, 0)
  t.eq(io.open(csv):read(5), "name,")
  says("export --format json --tag old", 0, '"')
  local copy = t.tmp "copy.ndjson"
  says("export -o " .. copy, 0)
  says("import " .. copy, 0, "0 runs added, 2 were there already")
  t.eq(says("-q import " .. copy, 0), "")
  says("import " .. path, 1, "line 1 must be a run")
  says("prune", 2, "say which")
  says("prune --keep 0 --tag old", 0, "1 runs forgotten")
  says("--store " .. copy .. " history", 1, "not an SQLite file")
  says("history --store " .. path .. ".not", 1, "there is none yet")
  t.ok(not io.open(path .. ".not"))
  says("--store none best", 1, "switched off")
  says("--help", 0, "clshell history [options]")
  says("histor", 1, "cannot open histor")
end)

t.done()

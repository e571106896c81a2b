-- timeline.lua - timelines of constructed schedules: their records, words and
-- rows, and the files of clshell --trace however a script ends
-- SPDX-License-Identifier: MIT

local t = require "t"
local intervals = require "clshell.results.intervals"
local json = require "clshell.base.json"
local ranks = require "ranks"
local scratch = require "scratch"
local timeline = require "clshell.results.timeline"
timeline = require "clshell.base.lazy".load(timeline)

local hooks = debug.getregistry()["cl.hooks"]
local sh, has = scratch.sh, scratch.has

local KERNEL = [[
kernel void spin(global float *x, int n) {
  float y = x[get_global_id(0)];
  for (int i = 0; i < n; i++) y = y * 0.5f + 1;
  x[get_global_id(0)] = y;
}]]

-- The device of the session, which stays open.
local function device()
  t.device()
  t.keeps("Context", "Device", "Queue")
end

-- The records of a timeline of a kind; of commands, of that command.
local function records(list, kind, command)
  local out = {}
  for _, r in ipairs(list.records) do
    out[#out + 1] = r and r.kind == kind
      and (not command or r.command == command) and r or nil
  end
  return out
end

-- The rows of a timeline with their lengths, in a line.
local function rows_of(list)
  local rows = {}
  for i, row in ipairs(list:rows()) do
    rows[i] = ("%s %d"):format(row.label, row.length)
  end
  return table.concat(rows, "; ")
end

-- The text of words, with the share and times that no test knows as "N".
local function plain(words)
  return (table.concat(words, "\n"):gsub("%d+%.?%d* %S?%S?s%f[%A]", "N s")
    :gsub("less than 1 %%", "N %%"):gsub("%d+ %%", "N %%"))
end

t.test("sets of moments: union, both, minus against each moment", function()
  math.randomseed(t.seed)
  local function random()
    local list = {}
    for i = 1, math.random(0, 6) do
      local from = math.random(0, 30)
      list[i] = {from, from + math.random(0, 8)}
    end
    return list
  end
  local function inside(list, at)
    for _, i in ipairs(list) do
      if i[1] <= at and at + 1 <= i[2] then
        return true
      end
    end
    return false
  end
  for _ = 1, 300 do
    local p, q = random(), random()
    local a, b = intervals.union{table.unpack(p)}, intervals.union(q)
    local both, minus = intervals.both(a, b), intervals.minus(a, b)
    local n = 0
    for at = 0, 40 do
      t.eq(inside(a, at), inside(p, at), "union")
      t.eq(inside(both, at), inside(a, at) and inside(b, at), "both")
      t.eq(inside(minus, at), inside(a, at) and not inside(b, at), "minus")
      n = n + (inside(a, at) and 1 or 0)
    end
    t.eq(intervals.length(a), n)
  end
end)

t.test("each command, build and wait is there once, in order", function()
  device()
  local x = cl.buffer("float", {64, 32}, 1)
  local name = "spin" .. t.seed
  local function work()
    local k = cl.kernel((KERNEL:gsub("spin", name)))
    local l = k:range({64, 32}, {8, 4}):work{flop = 4096}
    l(x, 10) -- nobody takes its Event
    local e = l(x, 10)
    e:wait()
    l(x, 10)
    cl.context().queue:finish()
    x:write(x:read())
    x:fill(2):wait()
    cl.sleep(0.001)
  end
  local made = timeline(work)
  local kernels = records(made, "command", "kernel")
  t.eq(#kernels, 3)
  t.eq(#records(made, "command", "read"), 1)
  t.eq(#records(made, "command", "write"), 1)
  t.eq(#records(made, "command", "fill"), 1)
  t.eq(#records(made, "build"), 1)
  t.eq(#records(made, "sleep"), 1)
  t.eq(records(made, "command", "read")[1].bytes, 8192.0)
  t.eq(records(made, "command", "read")[1].call, "waits")
  t.eq(made.count, 6) -- a marker of finish is no work
  local last = 0
  for _, r in ipairs(kernels) do
    t.eq(r.name, name)
    t.eq(table.concat(r.global, "x"), "64x32")
    t.eq(table.concat(r.localsize, "x"), "8x4")
    t.eq(r.flop, 4096.0)
    t.ok(r.where:find "timeline.lua:%d+$", r.where)
    t.ok(r.ended and not r.failed)
    t.ok(r.queued <= r.submit and r.submit <= r.start and r.start <= r.stop)
    t.ok(r.start >= last, "in order")
    last = r.stop
  end
  local about = {} -- of waits, markers of finish apart
  for _, r in ipairs(records(made, "wait")) do
    local command = made.records[r.about]
    about[#about + 1] = command.call or command.name or command.command
  end
  t.eq(table.concat(about, " "), name .. " finish")
  for _, r in ipairs(made.records) do
    t.ok(r and r.from <= r.to)
  end
  local named = records(made, "function")
  t.eq(named[#named].title, "f()") -- as timeline calls it
end)

t.test("recordings, pinned transfers and images are one command each",
  function()
    device()
    local x, k = cl.buffer("float", 1 << 21, 1), cl.kernel(KERNEL)
    local host = x:read()
    local steps = cl.record(function()
      k:range(64)(x, 1)
      k:range(64)(x, 1)
    end)
    local image, img = pcall(cl.image, {format = "r float", width = 8,
      height = 2, data = 1})
    local made = timeline(function()
      steps:run() -- nobody takes its Event
      x:read(host, {pinned = true})
      x:unmap(x:map())
      return image and img:fill(2) and img:read()
    end)
    local list = {}
    for _, r in ipairs(made.commands) do
      list[#list + 1] = r.command
    end
    t.eq(table.concat(list, ", "), "recording, read, map, unmap"
      .. (image and ", fill image, read image" or ""))
    t.eq(made.commands[2].bytes, 8388608.0)
    t.eq(#records(made, "wait"), 0)
    steps:close()
  end)

t.test("the device's times lie within the host's calls", function()
  device()
  local x = cl.buffer("float", 1 << 16, 1)
  local k = cl.kernel(KERNEL)
  local made = timeline(function()
    for _ = 1, 20 do
      k:range(1 << 16, 64)(x, 10)
      x:read()
    end
  end)
  local slack = made.clocks[1].error + 1000
  for _, r in ipairs(made.commands) do
    t.ok(r.queued >= r.from - slack, "queued before its call")
    t.ok(r.call ~= "waits" or r.stop <= r.to + slack, "ends after its call")
  end
  t.eq(#made.commands, 40)
end)

t.test("words of a schedule: a gap in which the host slept", function()
  device()
  local x, k = cl.buffer("float", 64, 1), cl.kernel(KERNEL)
  local q <close> = cl.queue()
  k:range(64)(x, 1)
  x:read()
  local made = timeline(function()
    local go = cl.user_event()
    k:range(64):on(nil, {after = go})(x, 10)
    cl.sleep(0.05) -- the kernel waits for the gate all the while
    go:complete()
    x:read()
  end)
  local words = plain(made:words())
  has(words, "2 commands in N s: 1 kernel and 1 copy\n",
    "no command ran: the host ", "slept (N s)",
    "no copy ran beside a kernel\n",
    "kernel spin ran once, N")
  local slept = records(made, "sleep")[1]
  t.ok(made.commands[1].start >= slept.to, "behind the gate")
  t.ok(made.commands[1].from < slept.to, "enqueued before")
  made = timeline(function()
    k:range(64):on(q)(x, 1)
    q:finish()
  end)
  has(plain(made:words()), "1 command in N s: 1 kernel\n")
end)

-- A timeline of these records, as C gives them.
local function constructed(list)
  t.keeps("Device")
  for i, r in ipairs(list) do
    list[i] = r and setmetatable(r, {__index = {kind = "command", ended = true,
      failed = false, queue = 1, from = 0, to = 1}})
  end
  local real = hooks.timeline.read
  local swapped <close> = t.swap(hooks.timeline, "read", function()
    local own = real()
    own.records, own.lost, own.limit = list, list.lost or 0, 9
    own.clocks = {{name = "Card", looks = list.looks or 2, error = 250,
      device = 1}}
    own.queues = {{clock = 1, profiling = true, standard = true},
      {clock = 1, profiling = false}}
    return own
  end)
  return timeline(function() end), swapped
end

t.test("words and rows of known times", function()
  local made = constructed{
    {command = "kernel", name = "f", start = 0, stop = 40000, where = "a:1"},
    {command = "read", start = 30000, stop = 50000, from = 2000, to = 90000,
      call = "waits", bytes = 4},
    {command = "kernel", name = "g", start = 80000, stop = 90000,
      where = "b:2"},
    {command = "kernel", name = "f", queue = 2, start = 85000, stop = 95000},
    {command = "marker", start = 95000, stop = 95000},
    {kind = "build", name = "x.cl", from = 95000, to = 100000},
  }
  local words = made:words()
  for i, expected in ipairs{
    "4 commands in 100 µs: 3 kernels and 1 copy; 1 build",
    "35 % of the time no command ran: the host waited in read (30.0 µs) and "
      .. "built programs (5.00 µs)",
    "copies ran beside kernels for 10 % of the time",
    "two kernels or more ran at once for 5 % of the time",
    "kernel f ran 2 times, 50.0 µs, 50 % of the time",
    "kernel g ran once, 10.0 µs, 10 % of the time",
    "the longest gap between commands: 30.0 µs before kernel g, enqueued at "
      .. "b:2",
    "times of Card are mapped to the host's clock, within 250 ns"} do
    t.eq((words[i]:gsub("us%f[%A]", "µs")), expected)
  end
  t.eq(#words, 8)
  t.eq(rows_of(made), "queue 1 kernels 50000; queue 1 copies "
    .. "20000; queue 2 kernels 10000; host waits 88000; host builds 5000")
  local text = made:chart():text{width = 40, ascii = true, color = false}
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    lines[#lines + 1] = line
    t.ok(#line <= 40, line)
  end
  t.eq(lines[1], "queue 1 kern~ |#######.      =#. | 50 %")
  t.eq(lines[2], "queue 1 copi~ |     =###         | 20 %")
  t.eq(#lines, 6)
  local svg = made:chart():svg()
  t.eq(select(2, svg:gsub('<path class="s%d"', "")), 5)
  has(svg, "queue 2 kernels", "100")
end)

t.test("readings of a device's sensors become counters", function()
  local made = constructed{{command = "read", queued = 0, submit = 0,
    start = 0, stop = 40000}}
  made.readings = {{ns = made.origin + 5000, mhz = 1290, watts = 300.5},
    {ns = made.origin + 15000, watts = 310}}
  made:save(scratch.dir .. "/counters.json")
  local words = {}
  for _, e in ipairs(json.decode(scratch.read "counters.json").traceEvents) do
    words[#words + 1] = e.ph == "C" and ("%s %s %s %s %s"):format(e.name,
      e.pid, e.ts, next(e.args)) or nil
  end
  t.eq(table.concat(words, "; "), "clock 2 5.0 MHz 1290; power 2 5.0 W "
    .. "300.5; power 2 15.0 W 310")
end)

local PLACES = 256 -- of a track of marks

-- The bytes of marks: by slot {group, count, {name, time} ...}.
local function bytes(slots)
  local list = {}
  for slot = 0, 32 * 8 - 1 do
    local s = slots[slot] or {-1, 0}
    list[#list + 1] = ("=I8I8"):pack(s[1] + 1, s[2])
    for i = 1, PLACES - 1 do
      local name, time = table.unpack(s[2 + i] or {"", 0})
      list[#list + 1] = ("<c8"):pack(name) .. ("=I8"):pack(time)
    end
  end
  return table.concat(list)
end

t.test("marks of work-groups become phases on the host's clock", function()
  local many = {0, 260}
  for i = 1, 254 do
    many[2 + i] = {"produce1", 5006}
  end
  many[2 + 255] = {"end", 5070}
  local raw = bytes{[0] = {0, 3, {"load", 5010}, {"add", 5042}, {"end", 5090}},
    [1] = many,
    [16] = {7, 2, {"load", 5050}, {"end", 5058}}}
  local made = constructed{
    {command = "kernel", name = "f", start = 100, stop = 200, queued = 0,
      submit = 0, started = 5000, marks = raw, global = {640},
      localsize = {64}},
    {command = "kernel", name = "g", start = 300, stop = 480, queued = 0,
      submit = 0, started = 9000, marks = bytes{[8] = {1, 3, {"a", 100},
      {"b", 130}, {"end", 160}}}}}
  local m = made.commands[1].marks
  t.eq(m.mapped, true)
  t.eq(m.step, 4)
  local list = {}
  for _, track in ipairs(m.tracks) do
    for _, p in ipairs(track.phases) do
      list[#list + 1] = p.to > p.from and ("%d.%d %s %d-%d"):format(
        track.group, track.track, p.name, p.from, p.to) or nil
    end
  end
  t.eq(table.concat(list, "; "), "0.0 load 110-142; 0.0 add 142-190; "
    .. "0.1 produce1 106-170; 7.0 load 150-158")
  t.eq(m.tracks[2].lost, 5)
  m = made.commands[2].marks
  t.eq(m.mapped, false)
  t.eq(m.tracks[1].phases[1].to, 390)
  t.eq(m.tracks[1].phases[2].to, 480)
  local words = table.concat(made:words(), "\n"):gsub("\27%[%d*m", "")
  has(words, "inside kernel f, track 0 of 2 work-groups: load 45 %, "
    .. "add 55 %; the clock steps by 4", "track 1 of 2 work-groups: "
    .. "produce1 100 %", "5 later marks found no place", "inside kernel g, "
    .. "track 0 of 1 work-group: a 50 %, b 50 %; times are stretched over")
  t.eq(rows_of(made), "queue 1 kernels 280; in f: load 32; in f: "
    .. "add 48; in f: produce1, track 1 64; in g: a 90; in g: b 90")
  made:save(scratch.dir .. "/marks.json")
  local events = {}
  for _, e in ipairs(json.decode(scratch.read "marks.json").traceEvents) do
    events[#events + 1] = e.cat == "inside" and e.dur > 0
      and ("%d.%d %s %s+%s"):format(e.pid, e.tid, e.name, e.ts, e.dur)
      or e.name == "thread_name"
      and e.pid > 100 and e.args.name or nil
  end
  t.eq(table.concat(events, "; "), "work-group 0; 101.1 load 0.11+0.032; "
    .. "101.1 add 0.142+0.048; work-group 0, track 1, 5 later marks lost; "
    .. "101.2 produce1 0.106+0.064; work-group 7; 101.3 load 0.15+0.008; "
    .. "work-group 1; 102.1 a 0.3+0.09; 102.1 b 0.39+0.09")
end)

t.test("a kernel that does not build with its marks runs without", function()
  device()
  local k, x = cl.kernel [[
    #ifdef MARK_CLOCK
    #error no luck
    #endif
    kernel void f(global int *x MARKS) { MARK(a); x[0] = 1; MARK(end); }]],
    cl.buffer("int", 1, 0)
  has(table.concat(timeline(function()
    k:range(1)(x)
  end):words(), "\n"), "1 command in ", "no marks in f: ", "build error")
  t.eq(x:read()[1], 1)
  local other = table.concat(timeline(x.read, x):words(), "\n")
  t.ok(not other:find "no marks", other)
end)

t.test("a mark that no other follows begins no phase", function()
  device()
  local k = cl.kernel
    "kernel void f(global int *x MARKS) { MARK(a); x[0] = 1; }"
  local x = cl.buffer("int", 1, 0)
  local words = table.concat(timeline(function() k:range(1)(x) end):words(),
    "\n")
  local without = words:match "no marks in f[^\n]*"
  t.skip_if(without, without)
  has(words, "inside kernel f, track 0 of 1 work-group: no phase, as no mark "
    .. "follows the first")
end)

t.test("marks are nothing but in a timeline", function()
  device()
  local name = "marked" .. t.seed
  local prog = cl.build(([[
    kernel void marked(global float *x, int n MARKS) {
      MARK(load);
      float y = x[get_global_id(0)];
      MARK(compute);
      for (int i = 0; i < n; i++) y = y * 0.5f + 1;
      MARK_EACH(32, store);
      x[get_global_id(0)] = y;
      MARK_EACH(32, end);
    }
    kernel void plain(global float *x) { x[get_global_id(0)] += 1; }]])
    :gsub("marked", name), {defines = {count = 7}})
  local marked, x = prog[name], cl.buffer("float", 64 * 40, 1)
  t.eq(#marked.args, 2)
  local made = timeline(function()
    for _ = 1, 20 do
      marked:range(64 * 40, 64)(x, 10)
    end
    prog.plain:range(64)(x)
  end)
  t.eq(#marked.args, 2)
  t.eq(x:read()[64 * 40], 2.0)
  local words = table.concat(made:words(), "\n")
  local reason = words:match "no marks in [^\n]*"
  if reason then
    t.skip(reason)
  end
  local n = 0
  for _, r in ipairs(made.commands) do
    n = n + (r.marks and 1 or 0)
    for _, track in ipairs(r.marks and r.marks.tracks or {}) do
      t.ok(track.group % 2 == 0 and track.group < 40, "each second group")
      t.eq(track.phases[1].name, track.track == 0 and "load" or "store")
      t.eq(#track.phases, track.track == 0 and 3 or 1)
      for _, p in ipairs(track.phases) do
        t.ok(r.start <= p.from and p.from <= p.to and p.to <= r.stop)
      end
    end
    t.eq(r.marks and #r.marks.tracks or 40, 40)
  end
  t.eq(n, 8)
  has(words, ("inside kernel %s, track 0 of 20 work-groups: load "):format(
    name), "with its marks, ", " without, in 12 later runs")
end)

t.test("words of what is missing", function()
  local made = constructed{lost = 5, looks = 0,
    {command = "kernel", name = "f", ended = true, queue = 2},
    {command = "kernel", name = "f", ended = false},
    {command = "kernel", name = "f", failed = true}, false}
  local words = table.concat(made:words(), "\n")
  has(words, "3 commands", "Card gives no times: its commands are counted",
    "1 command without times: their queues are not profiled",
    "1 command had not ended", "the record was full after 9 entries; 5 later")
  t.ok(not words:find "no command ran", words)
end)

t.test("a queue without profiling has commands and no times", function()
  device()
  local q <close> = cl.queue{profiling = false}
  local x = cl.buffer("float", 64, 1)
  local made = timeline(function()
    x:read{queue = q}
    cl.kernel(KERNEL):range(64):on(q)(x, 1)
  end)
  t.eq(made.untimed, 2)
  t.eq(#made.commands, 0)
  has(table.concat(made:words(), "\n"), "2 commands without times")
  made:save(scratch.dir .. "/untimed.json")
  local text = scratch.read "untimed.json"
  has(text, "not profiled: no times", "none: the queue is not profiled")
end)

t.test("errors: functions, commands and timelines end with them", function()
  device()
  local made = timeline(function()
    for _ = 1, 3 do
      pcall(function()
        local function deep()
          cl.sleep(0.001)
          error "no"
        end
        deep()
      end)
    end
    local function after()
      cl.sleep(0.001)
    end
    after()
  end)
  local count = {}
  for _, r in ipairs(records(made, "function")) do
    count[r.title] = (count[r.title] or 0) + 1
  end
  t.eq(count["deep()"], 3)
  t.eq(count["after()"], 1)
  t.raises(function()
    timeline(error, "no luck")
  end, "no luck")
  t.raises(function()
    timeline(5)
  end, "f must be a function", "got 5")
  t.raises(function()
    timeline(timeline, print)
  end, "is recorded already")
  t.eq(debug.gethook(), nil)
  made = timeline(function()
    local k, x = cl.kernel(KERNEL), cl.buffer("float", 4, 0)
    pcall(k:range(4), x) -- an argument is missing
    pcall(x.read, x, {first = 99})
  end)
  t.eq(#records(made, "command", "kernel"), 0)
end)

t.test("a script that leaves a gate shut makes no timeline wait", function()
  device()
  local x, go = cl.buffer("float", 64, 1), nil
  local made = timeline(function()
    go = cl.user_event()
    cl.kernel(KERNEL):range(64):on(nil, {after = go})(x, 1)
  end)
  t.eq(made.unended, 1)
  go:complete()
  x:read()
end)

t.test("the record is bounded, and says so", function()
  device()
  local x = cl.buffer("float", 1, 1)
  local l = cl.kernel(KERNEL):range(1)
  local made = timeline(function()
    for i = 1, 262144 + 100 do
      l(x, 0)
      if i % 4096 == 0 then
        cl.context().queue:finish()
      end
    end
  end)
  t.eq(#made.records, made.limit)
  t.ok(made.lost >= 100, made.lost)
  has(table.concat(made:words(), "\n"), "the record was full after 262144")
end)

t.test("nothing is recorded where nobody asks", function()
  device()
  local x = cl.buffer("float", 64, 1)
  cl.kernel(KERNEL):range(64)(x, 1)
  x:read()
  t.eq(hooks.timeline.recording(), false)
  t.eq(#hooks.timeline.read().records, 0)
  t.eq(debug.gethook(), nil)
end)

-- The events of a file, by their phase; fails unless it is whole.
local function events(name)
  local all, message = json.decode(scratch.read(name))
  local by = {X = {}, M = {}, C = {}, s = {}, f = {}}
  for _, e in ipairs(t.ok(all, message).traceEvents) do
    t.ok(e.pid and e.ph, "an event without a process")
    table.insert(by[e.ph], e)
  end
  return by, all
end

-- Fails unless the spans of each thread nest or follow each other.
local function nests(list)
  local by = {}
  for _, e in ipairs(list) do
    local key = e.pid .. " " .. e.tid
    by[key] = by[key] or {}
    table.insert(by[key], {math.floor(e.ts * 1e3 + 0.5),
      math.floor((e.ts + e.dur) * 1e3 + 0.5), e.name})
  end
  for _, spans in pairs(by) do
    table.sort(spans, function(a, b)
      return a[1] < b[1] or a[1] == b[1] and a[2] > b[2]
    end)
    local open = {}
    for _, s in ipairs(spans) do
      while open[1] and open[#open][2] <= s[1] do
        table.remove(open)
      end
      t.ok(not open[1] or open[#open][2] >= s[2], s[3] .. " crosses another")
      open[#open + 1] = s
    end
  end
end

local SCRIPT = KERNEL:gsub("^", "local k = cl.kernel [[") .. [==[]]
local x = cl.buffer("float", 4096, 1)
local function work(q)
  local go = cl.user_event()
  local list = {}
  for i = 1, 4 do
    list[i] = k:range(4096, 64):on(q, {after = go})(x, 100)
  end
  go:complete()
  for _, e in ipairs(list) do e:wait() end
end
local q <close> = cl.queue{out_of_order = true}
work(q)
x:read()
coroutine.wrap(function() work(q) coroutine.yield() end)()
]==]

t.test("--trace writes a file however a script ends", function()
  device()
  for ending, status in pairs{[""] = 0, ["error 'oops'"] = 1,
      ["os.exit(3)"] = 3, ["os.exit(4, true)"] = 4,
      ["coroutine.wrap(function() os.exit(5) end)()"] = 5,
      ["collectgarbage() cl.context():close()"] = 0} do
    scratch.create("work.lua", SCRIPT .. ending)
    local _, err, code = sh "$clshell --trace a.json work.lua"
    t.eq(code, status, err)
    has(err, "clshell: timeline in a.json", "10 commands in ", "1 build")
    local by = events "a.json"
    nests(by.X)
    local count, ids = {}, {}
    for _, e in ipairs(by.X) do
      local key = e.cat .. " " .. e.name
      count[key] = (count[key] or 0) + 1
    end
    t.eq(count["device spin"], 8, ending)
    t.eq(count["command enqueue spin"], 8)
    t.eq(count["device read"], 1)
    t.eq(count["command read"], 1)
    t.eq(count["build build (source)"], 1)
    t.eq(count["function work()"], 2)
    for _, e in ipairs(by.s) do
      t.ok(e.id:match "^0x%x+$", "Perfetto reads no other numbers of arrows")
      ids[e.id] = e.ts
    end
    for _, e in ipairs(by.f) do
      t.ok(ids[e.id] <= e.ts, "an arrow to the past")
    end
    t.eq(#by.f, #by.s)
  end
  scratch.create("work.lua", SCRIPT .. "print(timeline(work, q):words()[1])")
  local out, err = sh "$clshell -q --trace a.json work.lua"
  t.eq(err, "")
  has(out, "4 commands in ", ": 4 kernels") -- its part
end)

t.test("--trace after Ctrl-C, --timeout and a closed pipe", function()
  device()
  scratch.create("work.lua", SCRIPT
    .. "io.popen('kill -INT $PPID'):close() while true do end")
  local _, err = sh "$clshell --trace a.json work.lua; true"
  has(err, "interrupted!", "timeline in a.json")
  t.ok(#events("a.json").X > 20)
  scratch.create("work.lua", SCRIPT .. "while true do end")
  local _, late, code = sh "$clshell --timeout 5 --trace b.json work.lua"
  t.eq(code, 124, late)
  has(late, "timeline in b.json")
  events "b.json"
  scratch.create("long.lua", SCRIPT .. "for i = 1, 1e5 do print(i) end")
  sh "$clshell --trace c.json long.lua | head -n 1" -- SIGPIPE may end it
  events "c.json"
end)

t.test("--trace to a file that cannot be written", function()
  scratch.create("say.lua", "print 'ran'")
  scratch.create("precious.lua", "print 'precious'")
  for _, path in ipairs{"/nonexistent/a.json", ".", "precious.lua"} do
    local out, err, code = sh("$clshell --trace " .. path .. " say.lua")
    t.eq(out, "", path)
    t.eq(code, 2, path)
    has(err, "clshell: --trace: cannot write the timeline to " .. path)
  end
  t.eq(scratch.read "precious.lua", "print 'precious'")
  local out, err, code = sh "$clshell -q --trace /dev/full say.lua"
  t.eq(out, "ran\n")
  t.eq(code, 1)
  has(err, "cannot write the timeline to /dev/full: No space left on device")
  out = sh "$clshell -q --trace /dev/stdout say.lua"
  t.ok(json.decode(out:sub(5)).traceEvents, out)
end)

t.test("--trace without a device, of broken scripts and of none", function()
  t.nodevices()
  scratch.create("bad.lua", "x = = 1")
  local _, err, code = sh
    "OCL_ICD_VENDORS=/nonexistent $clshell --trace a.json bad.lua"
  t.eq(code, 1, err)
  has(err, "near '='", "no command in 0 s")
  t.eq(#events("a.json").X, 0)
  _, err = sh [[OCL_ICD_VENDORS=/nonexistent $clshell --trace b.json \
    -e 'local function f() cl.sleep(0.002) end f()']]
  has(err, "no command in ")
  t.eq(events("b.json").X[1].name, "(command line)")
end)

t.test("ranks of one mpirun share a file, whatever was there", function()
  device()
  scratch.create("work.lua", SCRIPT)
  sh "$clshell -q --trace both.json work.lua" -- an earlier run
  ranks.need()
  local _, err, code = sh(ranks.command(2, "--trace both.json work.lua"))
  t.eq(code, 0, err)
  local by, all = events "both.json"
  nests(by.X)
  local names, spins = {}, {}
  for _, e in ipairs(by.M) do
    if e.name == "process_name" then
      table.insert(names, e.args.name:match "^rank %d: %w+")
    end
  end
  table.sort(names)
  t.eq(#names, 4)
  t.eq(names[1]:sub(1, 7) .. names[3]:sub(1, 7), "rank 0:rank 1:")
  for _, e in ipairs(by.X) do
    if e.cat == "device" and e.name == "spin" then
      spins[e.pid] = (spins[e.pid] or 0) + 1
      t.ok(e.ts > -1e6 and e.ts < 1e9, "far from the beginning of both")
    end
  end
  t.eq(spins[2], 8)
  t.eq(spins[1002], 8)
  t.ok(all.otherData.run ~= "one process")
  t.eq(select(2, err:gsub("timeline in", "")), 1, err) -- of rank 0 alone
end)

t.test("%trace at the prompt, and a report with the timeline", function()
  device()
  local session = require "converse".session
  local out = session(([[
    x = cl.buffer("float", 64, 1)
    %%trace x:read()
    %%trace %s/p.json local y = x:read() x:write(y)
    %%trace x = = 1
    %%trace]]):format(scratch.dir))
  has(out, "1 command in ", ": 1 copy", "wrote " .. scratch.dir .. "/p.json",
    "2 commands in ", ": 2 copies", "near '='", "which statement?",
    "%trace [file.json] statement")
  t.ok(#events("p.json").X >= 4)
  scratch.create("measure.lua", [[
    local html = require "clshell.html"
    local x = cl.buffer("float", 64, 1)
    local r = bench(function() return x:fill(1) end, {seconds = 0.01})
    html({r}, "with.html")]])
  local _, err, code = sh "$clshell -q --trace m.json measure.lua"
  t.eq(code, 0, err)
  has(scratch.read "with.html", "<h2>Timeline</h2>", "queue 1 fills")
  _, err, code = sh "$clshell -q measure.lua"
  t.eq(code, 0, err)
  t.ok(not scratch.read "with.html":find "Timeline")
end)

scratch.done()

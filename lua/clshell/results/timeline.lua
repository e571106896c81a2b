-- results/timeline.lua - what the host and its devices did, when: the records
-- of src/cl/timeline.c with names, as words, as rows of a chart, and as a file
-- in the Trace Event format (trace_event.lua)
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local intervals = require "clshell.results.intervals"
local marks = require "clshell.results.marks"
local quantity = require "clshell.base.quantity"
local stats = require "clshell.measure.stats"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)
local Timeline = {__name = "timeline"}
Timeline.__index = Timeline

local hooks = debug.getregistry()["cl.hooks"]
local record = hooks.timeline

local MARKS = text.set "marker barrier"
local COPIES = text.set "read write copy map unmap migrate"
local SHARE = 0.05 -- of the time without commands that is worth a word
local WHOLE = 0.98 -- of the time that is as good as all
local FUNCTIONS = 3 -- functions that the chart shows
local KERNELS = 3 -- kernels that the words tell

local unmarked = {} -- name of a kernel -> why its marks are not seen

-- Builds a kernel with its marks, for launches in a timeline.
function hooks.marked(kernel)
  local built, reason = marks.build(kernel)
  unmarked[kernel.name] = reason
  return built
end

-- The family of a command: "kernels", "copies", "fills", or nil for a marker.
local function family(r)
  local word = r.command:match "^%a+"
  return not MARKS[word] and (COPIES[word] and "copies"
    or word == "fill" and "fills" or "kernels") or nil
end

-- A command by its name: "kernel gemm", "read".
local function named(r)
  return r.name and ("%s %s"):format(r.command, r.name) or r.command
end

-- What the host did in a record, in a gap of the device.
local function deed(t, r)
  local about = t.records[r.about or 0]
  if r.kind == "build" then
    return "built programs"
  elseif r.kind == "sleep" then
    return "slept"
  elseif r.kind == "wait" then
    return about and about.call == "finish" and "waited in finish"
      or "waited for " .. (about and named(about) or "a command")
  end
  return r.call == "waits" and "waited in " .. r.command
    or "enqueued commands"
end

-- The name of a function's record: "work()", "function at a.lua:3".
local function function_name(r)
  return r.name == "function" and r.where and "function at " .. r.where
    or r.name == "main chunk" and r.where and r.where:match "([^/]*):%d+$"
    or r.name .. "()"
end

-- The intervals of records, from and to by the names of two fields.
local function spans(list, from, to)
  local out = {}
  for i, r in ipairs(list) do
    out[i] = {r[from], r[to]}
  end
  return intervals.union(out)
end

-- Reads the records, and sorts them: commands with times of a device, what
-- the host did, and functions; t.from, t.to: the first and the last moment.
-- `since`: without what began before, ns on the host's clock.
local function read(since)
  local t = record.read()
  t.commands, t.host, t.functions = {}, {}, {}
  t.untimed, t.unended, t.count = 0, 0, 0
  local from, to = math.huge, 0
  for i, r in ipairs(t.records) do
    if r and since and r.from < since - t.origin then
      r, t.records[i] = false, false
    end
    if r then
      r.title = r.kind == "function" and function_name(r) or nil
      local list = r.kind == "function" and t.functions or t.host
      list[#list + 1] = r
      from = math.min(from, r.kind == "function" and from or r.from)
      to = math.max(to, r.to, r.stop or 0)
    end
    if r and r.kind == "command" and family(r) then
      t.count = t.count + 1
      t.unended = t.unended + (r.ended and 0 or 1)
      t.untimed = t.untimed + (r.ended and not r.start and not r.failed
        and 1 or 0)
      t.commands[#t.commands + 1] = r.start and r.stop >= r.start and r or nil
      r.marks = r.marks and marks.read(r.marks, r.start, r.stop, r.started)
    end
  end
  table.sort(t.commands, function(a, b)
    return a.start < b.start
  end)
  t.from, t.to = from < to and from or 0, to
  return setmetatable(t, Timeline)
end

local function seconds(ns)
  return quantity.format(ns * 1e-9, "s", 3)
end

local function percent(part, whole)
  local x = 100 * part / math.max(whole, 1)
  return x > 0 and x < 1 and "less than 1 %" or ("%.0f %%"):format(x)
end

local function some(list)
  local last = table.remove(list)
  return #list > 0 and table.concat(list, ", ") .. " and " .. last or last
end

-- "3 commands in 2.1 ms: 2 kernels, 1 copy"
local function counted(t)
  local count, parts = {}, {}
  for _, r in ipairs(t.records) do
    local name = r and r.kind == "command" and family(r)
    if name then
      count[name] = (count[name] or 0) + 1
    end
  end
  for _, name in ipairs{"kernels", "copies", "fills"} do
    parts[#parts + 1] = count[name] and ("%d %s"):format(count[name],
      count[name] > 1 and name or name:gsub("ies$", "y"):gsub("s$", ""))
  end
  local builds = 0
  for _, r in ipairs(t.host) do
    builds = builds + (r.kind == "build" and 1 or 0)
  end
  return ("%s in %s%s%s"):format(t.count > 0 and text.count(t.count, "command")
    or "no command", seconds(t.to - t.from), parts[1] and ": " .. some(parts)
    or "", builds > 0 and "; " .. text.count(builds, "build") or "")
end

-- The time without commands, and what the host did in it.
local function idle(t, running, whole)
  local gaps = intervals.minus({{t.from, t.to}}, running)
  local free = intervals.length(gaps)
  if #t.commands == 0 or free == 0 then
    return nil
  end
  local by, names, known = {}, {}, {}
  for _, r in ipairs(t.host) do
    local name = deed(t, r)
    if not by[name] then
      by[name], names[#names + 1] = {}, name
    end
    table.insert(by[name], {r.from, r.to})
    known[#known + 1] = {r.from, r.to}
  end
  local rest = intervals.minus(gaps, intervals.union(known))
  local deeds = {{"ran the script", intervals.length(rest)}}
  for i, name in ipairs(names) do
    deeds[i + 1] = {name, intervals.length(intervals.both(gaps,
      intervals.union(by[name])))}
  end
  table.sort(deeds, function(a, b)
    return a[2] > b[2]
  end)
  local words = {}
  for i = 1, math.min(4, #deeds) do
    words[i] = (i == 1 or deeds[i][2] >= SHARE * free) and ("%s (%s)"):format(
      deeds[i][1], seconds(deeds[i][2])) or nil
  end
  return ("%s of the time no command ran: the host %s"):format(
    percent(free, whole), some(words))
end

-- The part of the time in which two kernels or more ran at once.
local function together(list)
  local ends = {}
  for _, r in ipairs(list) do
    ends[#ends + 1] = {r.start, 1}
    ends[#ends + 1] = {r.stop, -1}
  end
  table.sort(ends, function(a, b)
    return a[1] < b[1] or a[1] == b[1] and a[2] < b[2]
  end)
  local n, sum, last = 0, 0, 0
  for _, e in ipairs(ends) do
    sum = sum + (n > 1 and e[1] - last or 0)
    n, last = n + e[2], e[1]
  end
  return sum
end

-- The kernels that took most of the time.
local function longest(kernels, whole)
  local by, list = {}, {}
  for _, r in ipairs(kernels) do
    local name = named(r)
    if not by[name] then
      by[name] = {name = name, sum = 0}
      list[#list + 1] = by[name]
    end
    table.insert(by[name], r)
    by[name].sum = by[name].sum + r.stop - r.start
  end
  table.sort(list, function(a, b)
    return a.sum > b.sum
  end)
  local words = {}
  for i = 1, math.min(KERNELS, #list) do
    local k = list[i]
    words[i] = ("%s ran %s, %s, %s of the time"):format(k.name,
      #k == 1 and "once" or #k .. " times", seconds(k.sum),
      percent(intervals.length(spans(k, "start", "stop")), whole))
  end
  return words
end

-- The phases of kernels with marks, by track of a work-group, and what the
-- marks cost: later launches have none.
local function inside(t)
  local by, list, with, without, ran = {}, {}, {}, {}, {}
  for _, r in ipairs(t.commands) do
    ran[r.name or ""] = true
    local of = r.marks and with or with[r.name] and without or {}
    local runs = of[r.name] or {}
    of[r.name or ""], runs[#runs + 1] = runs, r.stop - r.start
    for _, track in ipairs(r.marks and r.marks.tracks or {}) do
      local key = ("%s, track %d"):format(named(r), track.track)
      local k = by[key] or {name = key, marks = r.marks, sum = 0, lost = 0}
      list[#list + 1], by[key] = not by[key] and k or nil, k
      k.lost = k.lost + track.lost
      for _, p in ipairs(track.phases) do
        k[#k + 1] = not k[p.name] and p.name or nil
        k[p.name] = (k[p.name] or 0) + p.to - p.from
        k.sum = k.sum + p.to - p.from
      end
    end
  end
  for i, k in ipairs(list) do
    for j, name in ipairs(k) do
      k[j] = ("%s %s"):format(name, percent(k[name], k.sum))
    end
    list[i] = ("inside %s of %s: %s; %s%s"):format(k.name, text.count(
      k.marks.groups, "work-group"), k[1] and table.concat(k, ", ")
      or "no phase, as no mark follows the first", k.marks.mapped
      and "the clock steps by " .. seconds(k.marks.step) or "times are "
      .. "stretched over the command, as the clock's rate is not known",
      k.lost > 0 and ("; %d later marks found no place"):format(k.lost) or "")
  end
  for name, runs in pairs(without) do
    list[#list + 1] = ("kernel %s took %s with its marks, %s without, in %s")
      :format(name, seconds(stats.median(with[name])), seconds(
      stats.median(runs)), text.count(#runs, "later run"))
  end
  for name, reason in pairs(unmarked) do
    list[#list + 1] = ran[name] and ("no marks in %s: %s"):format(name,
      reason) or nil
  end
  return list
end

-- The longest time without a command between two commands.
local function longest_gap(t)
  local most, before, stop = 0, nil, nil
  for _, r in ipairs(t.commands) do
    if stop and r.start - stop > most then
      most, before = r.start - stop, r
    end
    stop = math.max(stop or 0, r.stop)
  end
  return before and ("the longest gap between commands: %s before %s%s")
    :format(seconds(most), named(before), before.where
    and ", enqueued at " .. before.where or "") or nil
end

-- Where the times come from, and what is missing.
local function notes(t)
  local out, told = {}, {}
  for _, clock in ipairs(t.clocks) do
    out[#out + 1] = not told[clock.device] and (clock.looks > 0
      and ("times of %s are mapped to the host's clock, within %s")
      :format(clock.name, seconds(clock.error))
      or ("%s gives no times: its commands are counted alone")
      :format(clock.name)) or nil
    told[clock.device] = true
  end
  out[#out + 1] = t.untimed > 0 and ("%s without times: %s")
    :format(text.count(t.untimed, "command"),
    "their queues are not profiled (cl.queue{profiling = true})") or nil
  out[#out + 1] = t.unended > 0 and ("%s had not ended"):format(
    text.count(t.unended, "command")) or nil
  out[#out + 1] = t.lost > 0 and ("the record was full after %d entries; %d "
    .. "later ones are missing"):format(t.limit, t.lost) or nil
  return out
end

--- timeline:words() -> list of strings
--- What the times say, in sentences: commands and their time, when no command
--- ran and what the host did then, copies beside kernels, the kernels that
--- took most, the longest gap, and where the times come from.
--- Example:
--- local x = cl.buffer("float", 1e6, 1)
--- local t = timeline(function() return x:read() end)
--- print(t:words()[1]) -- 1 command in 1.1 ms: 1 copy
function Timeline:words()
  local t, whole, by = self, self.to - self.from, {kernels = {}, copies = {}}
  for _, r in ipairs(t.commands) do
    table.insert(by[family(r)] or {}, r)
  end
  local out = {counted(t)}
  out[2] = idle(t, spans(t.commands, "start", "stop"), whole)
  if by.kernels[1] and by.copies[1] then
    local beside = intervals.length(intervals.both(spans(by.kernels, "start",
      "stop"), spans(by.copies, "start", "stop")))
    out[#out + 1] = beside > 0 and ("copies ran beside kernels for %s of the "
      .. "time"):format(percent(beside, whole))
      or "no copy ran beside a kernel"
  end
  local several = together(by.kernels)
  out[#out + 1] = several > 0 and ("two kernels or more ran at once for %s of "
    .. "the time"):format(percent(several, whole)) or nil
  table.move(longest(by.kernels, whole), 1, KERNELS, #out + 1, out)
  local more = inside(t)
  table.move(more, 1, #more, #out + 1, out)
  out[#out + 1] = longest_gap(t)
  more = notes(t)
  return table.move(more, 1, #more, #out + 1, out)
end

-- The functions of the script that took most, but for one that holds it all:
-- their names, and their records.
local function main_functions(t)
  local by, list, most = {}, {}, WHOLE * (t.to - t.from)
  for _, r in ipairs(t.functions) do
    local name = r.name ~= "main chunk" and r.to - r.from < most
      and r.title
    if name and not by[name] then
      by[name] = {name = name, sum = 0}
      list[#list + 1] = by[name]
    end
    if name then
      table.insert(by[name], r)
      by[name].sum = by[name].sum + r.to - r.from
    end
  end
  table.sort(list, function(a, b)
    return a.sum > b.sum
  end)
  return table.move(list, 1, FUNCTIONS, 1, {})
end

--- timeline:rows() -> list of rows
--- The rows of the chart: {label =, spans = {{from, to}, ...}, length =}, in
--- ns from the start, in order and without overlaps: for each queue the
--- kernels, copies and fills, then the waits, builds and sleeps of the host,
--- and the functions of the script that took most.
--- Example:
--- local x = cl.buffer("float", 1e6, 1)
--- for _, row in ipairs(timeline(x.fill, x, 2):rows()) do
---   print(row.label, row.length * 1e-9) -- seconds
--- end
function Timeline:rows()
  local t, rows, by = self, {}, {}
  local several = t.clocks[#t.clocks] and t.clocks[#t.clocks].device > 1
  local function add(label, r, from, to)
    if not by[label] then
      by[label] = {label = label, spans = {}}
      rows[#rows + 1] = by[label]
    end
    table.insert(by[label].spans, {r[from], r[to]})
  end
  for place, queue in ipairs(t.queues) do
    for _, kind in ipairs{"kernels", "copies", "fills"} do
      for _, r in ipairs(t.commands) do
        if r.queue == place and family(r) == kind then
          add(("%squeue %d %s"):format(several and ("device %d, "):format(
            t.clocks[queue.clock].device) or "", place, kind), r, "start",
            "stop")
        end
      end
    end
  end
  for _, r in ipairs(t.commands) do
    local first = r.marks and r.marks.tracks[1] or {}
    for _, track in ipairs(r.marks and r.marks.tracks or {}) do
      for _, p in ipairs(track.group == first.group and track.phases or {}) do
        add(("in %s: %s%s"):format(r.name, p.name, track.track > 0
          and (", track %d"):format(track.track) or ""), p, "from", "to")
      end
    end
  end
  for _, kind in ipairs{"waits", "builds", "sleeps"} do
    for _, r in ipairs(t.host) do
      if r.kind .. "s" == kind or r.call == kind then
        add("host " .. kind, r, "from", "to")
      end
    end
  end
  for _, f in ipairs(main_functions(t)) do
    for _, r in ipairs(f) do
      add(f.name, r, "from", "to")
    end
  end
  for _, row in ipairs(rows) do
    row.spans = intervals.union(row.spans)
    row.length = intervals.length(row.spans)
  end
  return rows
end

--- timeline:chart([opts]) -> chart
--- The rows of the timeline as a chart: print it, chart:svg(), chart:save.
--- Options as for plot.gantt.
--- Example:
--- local x = cl.buffer("float", 1e6, 1)
--- print(timeline(function() return x:read() end):chart())
function Timeline:chart(opts)
  return require "clshell.results.charts".gantt(self, opts)
end

--- timeline:save(file) -> file
--- Writes the timeline as JSON in the Trace Event format, which
--- ui.perfetto.dev opens: each device and the host as a process, each queue as
--- a thread; a kernel with marks is a process too, its work-groups threads. A
--- name that ends with .svg, .png or .txt takes the chart.
--- Example:
--- local x = cl.buffer("float", 1e6, 1)
--- timeline(function() return x:read() end):save "read.json"
function Timeline:save(path)
  argument.check("timeline:save", "the file", path, "string")
  if path:find "%.svg$" or path:find "%.png$" or path:find "%.txt$" then
    return self:chart():save(path)
  end
  require "clshell.results.trace_event".write(self, path)
  return path
end

-- The words and the chart.
function Timeline:__tostring()
  local words, lines = self:words(), {}
  local width = require "clshell.results.tables".width()
  for _, line in ipairs(words) do
    lines[#lines + 1] = text.hang("", line, width)
  end
  if #self:rows() > 0 then
    lines[#lines + 1] = "\n" .. self:chart():text()
  end
  return table.concat(lines, "\n")
end

argument.methods("timeline", Timeline, Timeline.__name)

local sampler -- of the session's device, while a timeline is recorded

-- Begins the record, and the readings of the device's sensors, where module cl
-- has them.
local function start()
  local known, device = pcall(cl.device)
  local reads = known and device.sampler
  if reads then
    pcall(function()
      sampler = reads(device)
    end)
  end
  record.start()
end

-- Ends the readings, if there are any, and returns them.
local function readings()
  local own <close> = sampler
  sampler = nil
  return own and own:stop() or {}
end

-- Ends the record; the timeline.
local function stop()
  record.stop()
  local t = read()
  record.clear()
  t.readings = readings()
  return t
end

-- Waits for all commands, unless a user event would hold them for ever.
local function settle()
  if not hooks.gated() then
    for _, entry in ipairs(cl.unfinished()) do
      entry.queue:finish()
    end
  end
end

local running -- the file of --trace, while it records

-- timeline.begin(path)
-- Records from now on; the end of the program writes the file: clshell's
-- --trace. A file that cannot be written raises now.
function M.begin(path)
  local writer = require "clshell.results.trace_event"
  local file = writer.open(path)
  running = path
  function hooks.leaving()
    running, hooks.leaving = nil, nil
    local t = stop()
    writer.add(file, t)
    if not cl.commandline.quiet and cl.commandline.rank == 0 then
      io.stderr:write(("clshell: timeline in %s (ui.perfetto.dev opens it)\n"
        .. "%s\n"):format(text.message(path), style.color(2) and tostring(t)
        or tostring(t):gsub("\27%[%d*m", "")))
    end
  end
  start()
end

-- timeline.so_far() -> timeline, or nil
-- The timeline of --trace up to now, for a report; nil without --trace.
function M.so_far()
  return running and read() or nil
end

return setmetatable(M, {
  --- timeline(f, ...) -> timeline
  --- Calls f(...) and records what ran meanwhile: every command of every
  --- queue, builds, waits of the host, and functions of the script, on one
  --- clock. It waits for the commands that f leaves behind. Print the result
  --- for words and a chart; ui.perfetto.dev opens the file of t:save "t.json".
  --- At the prompt %trace does it; clshell --trace t.json records a whole
  --- script, of which timeline then gives the part.
  --- Each command costs some 0.3 us more meanwhile, and a launch whose Event
  --- nobody takes the driver's price of an event: 8 us on an H100.
  --- A kernel with MARKS behind its last parameter tells its phases:
  --- MARK(load) begins the phase "load", which the next mark ends; MARK(end)
  --- is the last mark. Work-item 0 of a group marks; MARK_EACH(32, load) lets
  --- the first of each 32 work-items mark, such as of each warp. Outside
  --- timelines marks are nothing; within a timeline the kernel is built again
  --- with them, and is slower. A timeline keeps the marks of its first 8 such
  --- launches, of 32 work-groups each, 255 for a work-item. The device needs a
  --- clock: cl_khr_kernel_clock, NVIDIA's, or PoCL's on x86.
  --- Example:
  --- local A, B = matrix.random(256), matrix.random(256)
  --- local t = timeline(function() return gemm(A, B):read() end)
  --- print(t) -- words, and a row for the kernels, copies, waits ...
  --- local sums = cl.kernel [[
  --- kernel void sums(global const float *x, global float *y MARKS)
  --- {
  ---   local float part[64];
  ---   const int id = get_local_id(0);
  ---   MARK(load);
  ---   part[id] = x[get_global_id(0)];
  ---   barrier(CLK_LOCAL_MEM_FENCE);
  ---   MARK(add);
  ---   if (id == 0) {
  ---     float sum = 0;
  ---     for (int i = 0; i < 64; i++) sum += part[i];
  ---     y[get_group_id(0)] = sum;
  ---   }
  ---   MARK(end);
  --- }]]
  --- local x, y = cl.buffer("float", 6400, 1), cl.buffer("float", 100, 0)
  --- print(timeline(sums:range(6400, 64), x, y)) -- inside kernel sums: load
  __call = function(_, f, ...)
    local meta = debug.getmetatable(f)
    if type(f) ~= "function" and not (type(meta) == "table"
        and meta.__call) then
      cl.error(("timeline: f must be a function, such as in timeline(gemm, A, "
        .. "B); got %s"):format(text.got(f)))
    end
    if running then
      local since = math.floor(cl.now() * 1e9)
      f(...)
      settle()
      return read(since)
    elseif record.recording() then
      cl.error "timeline: a timeline is recorded already; f makes another"
    end
    local _ <close> = setmetatable({}, {__close = function()
      record.stop()
      record.clear()
      readings()
    end})
    start()
    f(...)
    settle()
    return stop()
  end,
})

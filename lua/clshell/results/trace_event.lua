-- results/trace_event.lua - a timeline as JSON in the Trace Event format: the
-- host and each device is a process, each queue a thread. Ranks of one mpirun
-- add their events to one file, under a lock; the file is complete after each.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local json = require "clshell.base.json"
local system = require "clshell.system"

local M = {}

local record = debug.getregistry()["cl.hooks"].timeline

local HEAD = '{"displayTimeUnit":"ns","otherData":{"program":"clshell %s",'
  .. '"run":%s,"epoch_ns":"%d"},"traceEvents":[\n'
local TAIL = "\n]}\n"
local READINGS = {{"mhz", "clock", "MHz"}, {"mem_mhz", "memory clock", "MHz"},
  {"watts", "power", "W"}, {"celsius", "temperature", "C"}, {"active"},
  {"occupancy"}, {"tensor"}, {"fp64"}, {"dram"}} -- name, title, unit

-- Gives each span a lane: spans of a lane follow each other, or lie one in
-- another where `nested`. Spans are sorted by from, the longer first.
local function lanes(list, from, to, nested)
  table.sort(list, function(a, b)
    return a[from] < b[from] or a[from] == b[from] and a[to] > b[to]
  end)
  local open = {} -- by lane: the ends of the spans that have not ended
  for _, r in ipairs(list) do
    local lane = 0
    repeat
      lane = lane + 1
      local ends = open[lane] or {}
      open[lane] = ends
      while ends[1] and ends[#ends] <= r[from] do
        table.remove(ends)
      end
    until not ends[1] or nested and ends[#ends] >= r[to]
    table.insert(open[lane], r[to])
    r.lane = lane
  end
  return #open
end

-- The time of a moment of a timeline in the file, µs with a digit for each ns.
local function writer_of(t, shift)
  local events = {}
  local function stamp(ns)
    local x = ns + shift
    return json.raw(("%s%d.%03d"):format(x < 0 and "-" or "",
      math.abs(x) // 1000, math.abs(x) % 1000))
  end
  local function add(event)
    if event.from then
      event.ts = stamp(event.from)
      event.dur = event.to and json.raw(("%d.%03d"):format((event.to
        - event.from) // 1000, (event.to - event.from) % 1000)) or nil
      event.from, event.to = nil, nil
    end
    events[#events + 1] = json.encode(event)
  end
  return add, events, stamp, t
end

local function sizes(list)
  return list and table.concat(list, "x")
end

-- What is told of a command; with its times, as stamp(ns), at the device.
local function command_args(r, stamp)
  local ns = r.start and r.stop - r.start or 0
  return {command = r.command, where = r.where, global = sizes(r.global),
    ["local"] = sizes(r.localsize), bytes = r.bytes, flop = r.flop,
    ["GB/s"] = r.bytes and ns > 0 and r.bytes / ns or nil,
    GFLOPS = r.flop and ns > 0 and r.flop / ns or nil,
    queued_us = stamp and stamp(r.queued), submit_us = stamp
    and stamp(r.submit),
    status = r.failed and "failed" or not r.ended and "not ended" or nil,
    times = r.ended and not r.start and not r.failed
      and "none: the queue is not profiled" or nil}
end

-- The name of a record of the host.
local function host_name(t, r)
  local about = t.records[r.about or 0]
  if r.kind == "command" then
    return r.call == "waits" and r.command or "enqueue "
      .. (r.name or r.command)
  elseif r.kind == "function" then
    return r.title
  elseif r.kind == "build" then
    return "build " .. (r.name or "?"):match "[^/]*$"
  elseif r.kind == "wait" then
    return about and about.call == "finish" and "finish"
      or "wait for " .. (about and (about.name or about.command)
      or "a command")
  end
  return r.name or r.kind
end

local function process(add, pid, name, labels)
  add{ph = "M", name = "process_name", pid = pid, tid = 0,
    args = {name = name}}
  add{ph = "M", name = "process_sort_index", pid = pid, tid = 0,
    args = {sort_index = pid}}
  add{ph = "M", name = "process_labels", pid = pid, tid = 0,
    args = {labels = labels}}
end

local function thread(add, pid, tid, name)
  add{ph = "M", name = "thread_name", pid = pid, tid = tid,
    args = {name = name}}
end

-- The events of the host: functions, calls, waits, builds, one in another.
local function host_events(add, t, pid, title)
  process(add, pid, title .. "host", t.lost > 0
    and ("%d records are missing"):format(t.lost) or "clshell")
  local all = table.move(t.functions, 1, #t.functions, 1, {})
  table.move(t.host, 1, #t.host, #all + 1, all)
  for lane = 1, lanes(all, "from", "to", true) do
    thread(add, pid, lane, lane == 1 and "Lua" or ("Lua (%d)"):format(lane))
  end
  for _, r in ipairs(all) do
    add{ph = "X", cat = r.kind, name = host_name(t, r), pid = pid,
      tid = r.lane, from = r.from, to = r.to, args = r.kind == "command"
      and command_args(r) or {where = r.where,
      status = r.failed and "failed" or nil}}
  end
end

-- The commands of a queue on its device, each with an arrow from its call.
local function queue_events(add, t, place, pid, host, stamp)
  local queue, list = t.queues[place], {}
  for i, r in ipairs(t.records) do
    if r and r.kind == "command" and r.queue == place and r.start then
      list[#list + 1], r.id = r, i
    end
  end
  local tid = 100 * place
  for lane = 1, math.max(1, lanes(list, "start", "stop")) do
    thread(add, pid, tid + lane - 1, ("queue %d%s%s%s%s"):format(place,
      queue.standard and " (default)" or "", queue.out_of_order
      and ", out of order" or "", queue.profiling and ""
      or ", not profiled: no times", lane > 1 and (" (%d)"):format(lane)
      or ""))
  end
  for _, r in ipairs(list) do
    local id = ("0x%x"):format(host << 32 | r.id) -- as Perfetto reads it
    add{ph = "X", cat = "device", name = r.name or r.command, pid = pid,
      tid = tid + r.lane - 1, from = r.start, to = r.stop,
      args = command_args(r, stamp)}
    add{ph = "s", cat = "call", name = "call", id = id, pid = host, tid = 1,
      from = r.from}
    add{ph = "f", cat = "call", name = "call", id = id, pid = pid, bp = "e",
      tid = tid + r.lane - 1, from = r.start}
  end
end

-- The readings of the device's sensors, where there are any.
local function counter_events(add, t, pid)
  for _, reading in ipairs(t.readings or {}) do
    for _, r in ipairs(READINGS) do
      if reading[r[1]] then
        add{ph = "C", name = r[2] or r[1], pid = pid, from = reading.ns
          - t.origin, args = {[r[3] or "of 1"] = reading[r[1]]}}
      end
    end
  end
end

-- The phases inside kernels with marks: a process for each such command, a
-- thread for each track of its work-groups.
local function mark_events(add, t, pid, title)
  for _, r in ipairs(t.commands) do
    local m = r.marks
    if m and m.tracks[1] then
      process(add, pid, ("%sinside %s"):format(title, r.name), ("%s; %s")
        :format(r.where or "", m.mapped and ("the clock steps by %d ns")
        :format(m.step) or "stretched over the command"))
      for tid, track in ipairs(m.tracks) do
        thread(add, pid, tid, ("work-group %d%s%s"):format(track.group,
          track.track > 0 and (", track %d"):format(track.track) or "",
          track.lost > 0 and (", %d later marks lost"):format(track.lost)
          or ""))
        for _, p in ipairs(track.phases) do
          add{ph = "X", cat = "inside", name = p.name, pid = pid, tid = tid,
            from = p.from, to = p.to}
        end
      end
      pid = pid + 1
    end
  end
end

-- All events of a timeline as texts; `shift`: from its clock to the file's.
local function events_of(t, shift)
  local add, events, stamp = writer_of(t, shift)
  local options = cl.commandline
  local base = 1000 * options.rank + 1
  local title = options.ranks > 1 and ("rank %d: "):format(options.rank) or ""
  host_events(add, t, base, title)
  local named = {}
  for _, clock in ipairs(t.clocks) do
    if not named[clock.device] then
      named[clock.device] = true
      process(add, base + clock.device, title .. clock.name,
        clock.looks == 0 and "no times" or ("times within %.1f us")
        :format(clock.error / 1e3))
    end
  end
  for place, queue in ipairs(t.queues) do
    queue_events(add, t, place, base + t.clocks[queue.clock].device, base,
      stamp)
  end
  mark_events(add, t, base + 100, title)
  counter_events(add, t, base + 1)
  return events
end

-- What all processes of this mpirun have in common and no others have.
local function run_of()
  for _, name in ipairs{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
      "PMI_JOBID", "SLURM_JOB_ID"} do
    local value = os.getenv(name)
    if value then
      return ("%s %s"):format(value, os.getenv "SLURM_STEP_ID" or "")
    end
  end
  return "one process group"
end

-- The first bytes of a file: its run, and the time of its 0 as ns of the
-- calendar's clock, of which `now` is the present.
local function head(run, now)
  return HEAD:format(cl.version, json.encode(run), now)
end

-- Raises the reason for which a file cannot be written.
local function refuse(path, reason)
  cl.error(("cannot write the timeline to %s: %s"):format(path, reason))
end

-- Writes texts to a file; raises where that fails.
local function put(f, path, ...)
  local written, reason = f:write(...)
  local flushed, late = f:flush()
  if not (written and flushed) then
    refuse(path, ((reason or late):gsub("^.*: ", "")))
  end
end

-- Opens a file for reading and writing, and locks it.
local function locked(path)
  local made <close>, message = io.open(path, "ab")
  local f = made and io.open(path, "r+b")
  if not f then
    refuse(path, (message or "it cannot be read"):gsub("^.*: ", ""))
  end
  system.lock(f)
  return f
end

-- Writes the first bytes unless another rank of the same run has done so.
local function begin_file(path, run, now)
  local f <close> = locked(path)
  local known = f:read "L" or ""
  if run and known:find('"run":' .. json.encode(run), 1, true) then
    return
  elseif known ~= "" and known:sub(1, 8) ~= HEAD:sub(1, 8)
      and not path:find "%.json$" then
    refuse(path, "it is there and no timeline; a name that ends with .json "
      .. "is replaced")
  end
  io.open(path, "wb"):close()
  f:seek("set")
  put(f, path, head(run or "one process", now), TAIL)
end

--- trace_event.open(path [, origin]) -> file
--- Prepares a file of no events; of several ranks the first one does. Its time
--- 0 is now, or `origin` of the monotonic clock. Raises where it cannot be
--- written.
function M.open(path, origin)
  local several = cl.commandline.ranks > 1
  local kind, calendar = system.kind(path), record.calendar()
  local plain = kind == nil or kind == "file"
  if plain then
    begin_file(path, several and run_of() or nil, calendar
      + (origin or math.floor(cl.now() * 1e9)))
  elseif several or kind == "folder" then
    refuse(path, several and "several ranks need a file" or "a folder")
  end
  return {path = path, plain = plain, calendar = calendar}
end

--- trace_event.add(file, timeline)
--- Adds the events of this process to a file of trace_event.open.
function M.add(file, t)
  if not file.plain then
    local f <close> = io.open(file.path, "wb") or refuse(file.path, "closed")
    return put(f, file.path, head("one process", file.calendar),
      table.concat(events_of(t, 0), ",\n"), TAIL)
  end
  local f <close> = locked(file.path)
  local first = f:read "L" or ""
  local epoch = math.tointeger(tonumber(first:match '"epoch_ns":"(%-?%d+)"'))
  if not epoch then
    refuse(file.path, "another program has changed it")
  end
  local size = f:seek("end")
  local none = size == #first + #TAIL
  f:seek("set", size - #TAIL)
  put(f, file.path, none and "" or ",\n", table.concat(events_of(t,
    t.origin + file.calendar - epoch), ",\n"), TAIL)
end

--- trace_event.write(timeline, path)
--- Writes a file of this timeline alone.
function M.write(t, path)
  M.add(M.open(path, t.origin), t)
end

return M

-- explain/replay.lua - in the child process: runs the launches of a job (see
-- job.lua) and tells where its arguments lie in the simulator's memory, or, on
-- another device, which bytes around them were written
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- replay.BAND
--- The bytes of a guard band: more than devices align to.
M.BAND = 1 << 16

local BAND <const> = M.BAND

local ADDRESS = [[
kernel void clshell_address(global char *p, global ulong *address) {
  address[0] = (ulong)p;
}]]

-- A band of a pattern that no kernel writes by chance.
local function band(seed)
  return cl.array("int", BAND // 4):random(seed):as "char"
end

-- The memory m with its content; with guard bands before and after it, or
-- without.
local function fill(m, guarded)
  local lead = guarded and BAND or 0
  local whole = cl.buffer("char", m.bytes + 2 * lead, nil,
    {access = m.constant and not guarded and "read_only" or nil})
  for _, piece in ipairs(m.pieces) do
    whole:matrix(lead + piece.first + 1, 1, #piece.content):write(
      piece.content)
  end
  if guarded then
    whole:matrix(1, 1, BAND):write(band(1))
    whole:matrix(BAND + m.bytes + 1, 1, BAND):write(band(2))
  end
  return {buffer = whole, lead = lead, bytes = m.bytes}
end

-- The bytes of a band that have changed: the first and the last, from 0.
local function changed(whole, from, seed)
  local now, before = whole:matrix(from + 1, 1, BAND):read(), band(seed)
  local same = now:as "char":reshape(BAND):equal(before)
  local first, last
  for i = 1, same and 0 or BAND do
    if now[i] ~= before[i] then
      first, last = first or i - 1, i - 1
    end
  end
  return first, last
end

-- The bytes around each memory of a launch that have changed, counted from the
-- memory's beginning.
local function look(memories, launch)
  local list, seen = {}, {}
  for _, a in ipairs(launch.args) do
    local m = not seen[a.memory] and memories[a.memory]
    for seed, at in ipairs(m and {0, BAND + m.bytes} or {}) do
      local first, last = changed(m.buffer, at, seed)
      if first then
        list[#list + 1] = {memory = a.memory, first = at + first - BAND,
          last = at + last - BAND}
      end
    end
    seen[a.memory or 0] = true
  end
  return list
end

-- The value that a kernel takes for an argument of the job.
local function value_of(memories, a)
  local m = memories[a.memory or 0]
  if not m then
    return a.value
  end
  local first = m.lead + a.first
  return cl.any(a.bytes == m.buffer.bytes and m.buffer
    or m.buffer:view(first + 1, first + a.bytes))
end

--- replay.address(value) -> integer
--- Where a Buffer, or cl.any of one, begins in the simulator's memory.
function M.address(value)
  M.probe = M.probe or cl.kernel(ADDRESS):range(1)
  local found <close> = cl.buffer("ulong", 1, 0)
  M.probe(text.class(value) == "Any" and value or cl.any(value), found):wait()
  return found:read()[1]
end

local read = 0 -- bytes of the simulator's log

--- replay.news(log) -> string
--- What the simulator has written to the file since the last call.
function M.news(log)
  local f <close> = log and io.open(log, "rb")
  if not f or not f:seek("set", read) then
    return ""
  end
  local news = f:read "a"
  read = read + #news
  return news
end

local built = {} -- programs by source and options

-- Runs a launch and returns its result.
local function run(job, launch, memories, log)
  local program = job.programs[launch.program]
  local key = program.options .. "\0" .. program.source
  built[key] = built[key] or cl.build(program.source .. "\n",
    {options = program.options, name = program.name})
  local values, addresses = {}, {}
  for i, a in ipairs(launch.args) do
    values[i] = value_of(memories, a)
    addresses[i] = a.memory and not job.guarded and M.address(values[i]) or nil
  end
  M.news(log)
  local start = cl.now()
  built[key]:kernel(launch.kernel):range(launch.global, launch.localsize,
    launch.offset)(table.unpack(values, 1, #launch.args)):wait()
  return {seconds = cl.now() - start, log = M.news(log),
    addresses = addresses, bands = job.guarded and look(memories, launch)}
end

-- The contents of a job's memories, by their pieces.
local function contents(job, memories)
  local list = {}
  for i, m in ipairs(job.back and memories or {}) do
    list[i] = {}
    for j, piece in ipairs(job.memories[i].pieces) do
      list[i][j] = m.buffer:matrix(m.lead + piece.first + 1, 1,
        #piece.content):read()
    end
  end
  return list
end

--- replay.run(job) -> list, contents
--- Runs a job, see job.sent. For each launch the list has {seconds, addresses
--- (of Buffers, by number of argument), log (what the simulator wrote), bands
--- (parts of guard bands that were written)}, or {error}. With job.back the
--- contents of its memories come back, too.
function M.run(job)
  local log = os.getenv "OCLGRIND_LOG"
  local memories, results = {}, {}
  for i, m in ipairs(job.memories) do
    memories[i] = fill(m, job.guarded)
  end
  for i, launch in ipairs(job.launches) do
    local ok, result = pcall(run, job, launch, memories, log)
    results[i] = ok and result or {error = tostring(result)}
  end
  local back = contents(job, memories)
  for _, m in ipairs(memories) do
    m.buffer:close()
  end
  return results, back
end

return M

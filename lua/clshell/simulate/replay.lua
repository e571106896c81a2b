-- simulate/replay.lua - the child process: runs the launches of a job (see
-- job.lua) and tells where its arguments lie in the simulator's memory, or, on
-- another device, which bytes around them were written
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local BAND = 1 << 16 -- bytes of a guard band: more than devices align to

local ADDRESS = [[
kernel void clshell_address(global char *p, global ulong *address) {
  address[0] = (ulong)p;
}]]

-- A band of a pattern that no kernel writes by chance.
local function band(seed)
  return cl.array("int", BAND // 4):random(seed):as "char"
end

-- The memory m with its content, the next of the open file; with guard bands
-- before and after it, or without.
local function fill(m, data, guarded)
  local lead = guarded and BAND or 0
  local whole = cl.buffer("char", m.bytes + 2 * lead, nil,
    {access = m.constant and not guarded and "read_only" or nil})
  for _, piece in ipairs(m.pieces) do
    local content = cl.array("char", piece.bytes):readfile(data)
    whole:matrix(lead + piece.first + 1, 1, piece.bytes):write(content)
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

-- The bytes around each memory of a launch that have changed, from its
-- beginning on.
local function look(memories, launch)
  local list, seen = {}, {}
  for _, a in ipairs(launch.args) do
    local m = not seen[a.memory] and memories[a.memory]
    for seed, at in ipairs(m and {0, BAND + m.bytes} or {}) do
      local first, last = changed(m.buffer, at, seed)
      if first then
        list[#list + 1] = ("{memory=%d,first=%d,last=%d}"):format(a.memory,
          at + first - BAND, at + last - BAND)
      end
    end
    seen[a.memory or 0] = true
  end
  return table.concat(list, ",")
end

-- A value that a kernel takes for an argument of the job.
local function value_of(memories, a)
  if a.kind == "local" then
    return cl.localmem(a.type, a.count)
  elseif a.kind == "value" then
    return cl.bytes(a.bytes)
  elseif a.kind == "plain" then
    return a.value
  end
  local m = memories[a.memory]
  local first = m.lead + a.first
  return cl.any(a.bytes == m.buffer.bytes and m.buffer
    or m.buffer:view(first + 1, first + a.bytes))
end

local function position(log)
  local file <close> = log and io.open(log)
  return file and file:seek "end" or 0
end

--- replay.address(value) -> integer
--- Where a Buffer, or cl.any of one, begins in the simulator's memory.
function M.address(value)
  M.probe = M.probe or cl.kernel(ADDRESS):range(1)
  local found <close> = cl.buffer("ulong", 1, 0)
  M.probe(text.class(value) == "Any" and value or cl.any(value), found):wait()
  return found:read()[1]
end

-- Runs a launch; the result: seconds, the addresses by number of argument, and
-- what the log got meanwhile.
local function run(job, launch, programs, memories, log)
  local program = job.programs[launch.program]
  if not programs[launch.program] then
    programs[launch.program] = cl.build(program.source .. "\n",
      {options = program.options, name = program.name})
  end
  local values, addresses = {}, {}
  for i, a in ipairs(launch.args) do
    values[i] = value_of(memories, a)
    addresses[i] = a.kind == "buffer" and not job.guarded
      and M.address(values[i]) or nil
  end
  local from, start = position(log), cl.now()
  programs[launch.program]:kernel(launch.kernel):range(launch.global,
    launch.localsize, launch.offset)(table.unpack(values)):wait()
  return {seconds = cl.now() - start, from = from, to = position(log),
    addresses = addresses, bands = job.guarded and look(memories, launch)}
end

local function show(result)
  local parts = {}
  for i, address in pairs(result.addresses or {}) do
    parts[#parts + 1] = ("[%d]=%d"):format(i, address)
  end
  return ("{seconds=%g,from=%d,to=%d,error=%q,addresses={%s},bands={%s}},\n")
    :format(result.seconds or 0, result.from or 0, result.to or 0,
    result.error, table.concat(parts, ","), result.bands or "")
end

--- replay.run(path)
--- Runs the job of a file and writes path.out, a Lua table with a result for
--- each launch: seconds, addresses, from and to (bytes of the simulator's
--- log), bands (parts of guard bands that were written), or error.
function M.run(path)
  local job = assert(loadfile(path, "t", {}))()
  local log = os.getenv "OCLGRIND_LOG"
  local data <close> = assert(io.open(path .. ".data", "rb"))
  local memories, programs, results = {}, {}, {}
  for i, m in ipairs(job.memories) do
    memories[i] = fill(m, data, job.guarded)
  end
  for i, launch in ipairs(job.launches) do
    local ok, result = pcall(run, job, launch, programs, memories, log)
    results[i] = show(ok and result or {error = tostring(result)})
  end
  local out <close> = assert(io.open(path .. ".out", "wb"))
  assert(out:write("return {", table.concat(results), "}"))
end

return M

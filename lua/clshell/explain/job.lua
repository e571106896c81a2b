-- explain/job.lua - launches with copies of their arguments: made in this
-- process, run in a child process, on the simulator or between guard bands
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local LARGEST = 1 << 25 -- bytes of all memory: the simulator takes 60 times it
local GROUP = 64        -- work-items, where the driver would choose

--- job.BAND
--- The bytes of a guard band: more than devices align to.
M.BAND = 1 << 16

local BAND <const> = M.BAND

-- In the process that asks ---------------------------------------------------

--- job.new(what [, sourceless]) -> table
--- An empty job; `what` names the caller in messages; `sourceless`: programs
--- need no source. Its lists are programs, memories and launches. The caller
--- may set guarded, for guard bands, back, to have the Buffers changed as the
--- launches change their copies, and parents, the whole Buffers by views that
--- launches take by cl.base.
function M.new(what, sourceless)
  return {what = what, sourceless = sourceless, programs = {},
    memories = {}, launches = {},
    known = {}, buffers = {}}
end

-- The number of the program of a kernel in the job.
local function add_program(job, kernel)
  local program = kernel.program
  if not program.source then
    cl.error(("%s: %s: the program was built from a binary; the simulator "
      .. "needs its source"):format(job.what, kernel.name))
  elseif not job.known[program] then
    job.known[program] = #job.programs + 1
    job.programs[#job.programs + 1] = {name = program:info().name,
      source = program.defines .. program.source, options =
      program.options:gsub("^%-cl%-kernel%-arg%-info%s*", "")}
  end
  return job.known[program]
end

local function meets(job, memory, buffer)
  for _, a in ipairs(memory.pieces) do
    if job.buffers[a]:overlaps(buffer) then
      return true
    end
  end
  return false
end

-- Gives an argument its memory. Buffers that meet share a memory; any other
-- memory ends with the Buffer's last element, so that a step over the edge is
-- seen.
local function add_memory(job, a, buffer)
  local m = {first = a.first, last = a.first + a.bytes, access = a.access,
    pieces = {a}}
  for i = #job.memories, 1, -1 do
    local other = job.memories[i]
    if meets(job, other, buffer) then
      table.remove(job.memories, i)
      m.first = math.min(m.first, other.first)
      m.last = math.max(m.last, other.last)
      m.access = m.access == other.access and m.access or nil
      table.move(other.pieces, 1, #other.pieces, #m.pieces + 1, m.pieces)
    end
  end
  for _, piece in ipairs(m.pieces) do
    piece.memory = m
    piece.kept = m.access == "read_only" and piece.kept or nil
  end
  job.buffers[a] = buffer
  table.insert(job.memories, m)
end

-- An argument for the child: {value}, or a piece of a memory, with the fields
-- that findings needs.
local function add_argument(job, param, value)
  local class, b, base = text.class(value), value, false
  if class == "Any" then
    class, b, base = "Buffer", value.buffer, value.base
  end
  if class == "Buffer" then
    if base and b.start > 0 and job.parents then
      b = job.parents[b] or b
    elseif base and b.start > 0 then
      cl.error(("%s: '%s' gets memory in front of a view (cl.base), which is "
        .. "not copied; pass the Buffer of the view"):format(job.what,
        param.name))
    end
    local a = {bytes = b.bytes, -- raises for a closed one
      first = b.offset, count = #b, name = param.name, access =
      b:info().access, size = cl.typesize(b.type)}
    a.kept = param.space == "constant" and "constant memory"
      or param.const and "a pointer to const"
      or a.access == "read_only" and "a read_only Buffer" or nil
    a.access = a.kept and "read_only" or a.access
    add_memory(job, a, b)
    return a
  elseif class == "Local" or class == "Value" or value == cl.null
      or type(value) == "number"
      or type(value) == "table" then
    return {value = value}
  end
  cl.error(("%s: argument '%s' must be a number, a Buffer or local memory; "
    .. "got %s"):format(job.what, param.name, text.got(value)),
    {hint = (class == "Image" or class == "Sampler")
      and "clshell --memcheck simulates launches with images" or nil})
end

--- job.local_size(launch, global) -> list
--- The local size for a global size: the launch's local size, or a divisor of
--- the global size where the launch leaves the choice to the driver.
function M.local_size(launch, global)
  if launch.localsize then
    return launch.localsize
  end
  local sizes, room = {}, math.min(GROUP, launch.kernel.work_group_size)
  for i, n in ipairs(global) do
    local size = math.min(n, room)
    if n == 0 then
      cl.error(("%s has no work-items to look at: a global size is 0"):format(
        launch.kernel.name))
    end
    while n % size ~= 0 do
      size = size - 1
    end
    sizes[i], room = size, room // size
  end
  return sizes
end

--- job.unsure(kernel) -> boolean
--- Whether the simulator may take written values for never written: values of
--- strided asynchronous copies, and values read from images.
function M.unsure(kernel)
  local source = kernel.program.source or ""
  return (source:find("async_work_group_strided_copy", 1, true)
    or source:find("read_image", 1, true)) ~= nil
end

--- job.add(job, launch, args) -> table
--- Adds a launch with its arguments, a packed list. The child runs the
--- launches in order; each reads what earlier launches wrote.
function M.add(job, launch, args)
  argument.check(job.what, "launch", launch, "Launch",
    job.what .. "(k:range(n), x, y)")
  local kernel = launch.kernel
  local params = kernel.args
  if args.n ~= #params then
    cl.error(("%s: %s takes %s; got %d"):format(job.what, kernel.name,
      text.count(#params, "value"), args.n))
  end
  local added = {kernel = kernel.name, program = not job.sourceless
    and add_program(job, kernel) or nil,
    global = launch.global, localsize = M.local_size(launch, launch.global),
    offset = launch.offset, unsure = M.unsure(kernel), args = {}}
  for i, param in ipairs(params) do
    added.args[i] = add_argument(job, param, args[i])
  end
  table.insert(job.launches, added)
  return added
end

-- The memory that a kernel gets of a Buffer, as chars.
local function bytes_of(buffer)
  return buffer:as("char"):view(1, buffer.bytes)
end

--- job.call(job, worker) -> true, list; or nil and a reason
--- Runs the job in the worker, a process of room calls, see job.run; with
--- job.back its Buffers get what the launches wrote.
function M.call(job, worker)
  local bytes = 0
  for _, m in ipairs(job.memories) do
    bytes = bytes + m.last - m.first
  end
  if bytes > LARGEST then
    cl.error(("%s: the Buffers must have at most %s together; got %s"):format(
      job.what, text.bytes(LARGEST), text.bytes(bytes)),
      {hint = "take a smaller problem, or parts: x:view(1, n)"})
  end
  local contents = {}
  for a, buffer in pairs(job.buffers) do
    contents[a] = bytes_of(buffer):read()
  end
  local ok, list, back = worker:call("clshell.explain.job", "run", {
    programs = job.programs, launches = job.launches, contents = contents,
    memories = job.memories, guarded = job.guarded, back = job.back})
  for i, m in ipairs(ok and job.back and job.memories or {}) do
    for j, a in ipairs(m.pieces) do
      bytes_of(job.buffers[a]):write(back[i][j])
    end
  end
  return ok, list
end

-- In the child process -------------------------------------------------------

local ADDRESS = [[
kernel void clshell_address(global char *p, global ulong *address) {
  address[0] = (ulong)p;
}]]

-- A band of a pattern that no kernel writes by chance.
local function band(seed)
  return cl.array("int", BAND // 4):random(seed):as "char"
end

-- So many bytes of a memory, from an offset on, which counts as the offsets of
-- its arguments do.
local function part(m, first, bytes)
  return m.buffer:matrix(m.lead + first - m.first + 1, 1, bytes)
end

-- Makes the Buffer of a memory, with its content, and guard bands or none.
local function fill(m, job)
  m.lead = job.guarded and BAND or 0
  m.buffer = cl.buffer("char", m.last - m.first + 2 * m.lead, nil,
    {access = not job.guarded and m.access or nil})
  for _, a in ipairs(m.pieces) do
    part(m, a.first, a.bytes):write(job.contents[a])
  end
  m.bands = job.guarded and {m.first - BAND, m.last} or {}
  for seed, first in ipairs(m.bands) do
    part(m, first, BAND):write(band(seed))
  end
end

-- The bytes of chars that have changed: the first and the last, from 0.
local function changed(now, before)
  local first, last
  now = now:as "char":reshape(#before)
  for i = 1, now:equal(before) and 0 or #before do
    if now[i] ~= before[i] then
      first, last = first or i - 1, i - 1
    end
  end
  return first, last
end

-- The bytes around the memories of a launch that have changed, counted from
-- the beginning of a memory, with the number of its first argument; and the
-- bytes of arguments that the kernel only may read.
local function look(job, launch)
  local list, seen = {}, {}
  for i, a in ipairs(launch.args) do
    local m = a.memory
    if a.kept then
      local first, last = changed(part(m, a.first, a.bytes):read(),
        job.contents[a])
      list[#list + 1] = first and {arg = i, first = first, last = last,
        kept = true} or nil
    end
    for seed, at in ipairs(m and not seen[m] and m.bands or {}) do
      local first, last = changed(part(m, at, BAND):read(), band(seed))
      if first then
        list[#list + 1] = {arg = i, first = at - m.first + first,
          last = at - m.first + last}
      end
    end
    seen[m or 0] = true
  end
  return list
end

-- The value that a kernel takes for an argument of the job.
local function value_of(a)
  local m = a.memory
  if not m then
    return a.value
  elseif a.bytes == m.buffer.bytes then
    return cl.any(m.buffer)
  end
  local first = m.lead + a.first - m.first
  return cl.any(m.buffer:view(first + 1, first + a.bytes))
end

--- job.address(value) -> integer
--- Where a Buffer, or cl.any of one, begins in the simulator's memory.
function M.address(value)
  M.probe = M.probe or cl.kernel(ADDRESS):range(1)
  local found <close> = cl.buffer("ulong", 1, 0)
  M.probe(text.class(value) == "Any" and value or cl.any(value), found):wait()
  return found:read()[1]
end

local read = 0 -- bytes of the simulator's log

--- job.news() -> string
--- What the simulator has written to its log since the last call.
function M.news()
  local log = os.getenv "OCLGRIND_LOG"
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
local function run(job, launch)
  local program = job.programs[launch.program]
  local key = program.options .. "\0" .. program.source
  built[key] = built[key] or cl.build(program.source .. "\n",
    {options = program.options, name = program.name})
  local values, addresses = {}, {}
  for i, a in ipairs(launch.args) do
    values[i] = value_of(a)
    addresses[i] = a.memory and not job.guarded and M.address(values[i]) or nil
  end
  M.news()
  local start = cl.now()
  built[key]:kernel(launch.kernel):range(launch.global, launch.localsize,
    launch.offset)(table.unpack(values, 1, #launch.args)):wait()
  return {seconds = cl.now() - start, log = M.news(), addresses = addresses,
    bands = job.guarded and look(job, launch)}
end

--- job.run(job) -> list, contents
--- Runs a job that job.call has sent. For each launch the list has {seconds,
--- addresses (of Buffers, by number of argument), log (what the simulator
--- wrote), bands (parts of guard bands that were written)}, or {error}. With
--- job.back the contents of its memories come back, too.
function M.run(job)
  local results, contents = {}, {}
  for _, m in ipairs(job.memories) do
    fill(m, job)
  end
  for i, launch in ipairs(job.launches) do
    local ok, result = pcall(run, job, launch)
    results[i] = ok and result or {error = tostring(result)}
  end
  for i, m in ipairs(job.memories) do
    contents[i] = {}
    for j, a in ipairs(job.back and m.pieces or {}) do
      contents[i][j] = part(m, a.first, a.bytes):read()
    end
    m.buffer:close()
  end
  return results, contents
end

return M

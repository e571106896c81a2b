-- explain/job.lua - launches with copies of their arguments, for a process
-- that runs them on the simulator (see replay.lua)
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local LARGEST = 1 << 25 -- bytes of all memory: the simulator takes 60 times it
local GROUP = 64        -- work-items, where the driver would choose

--- job.new(what) -> table
--- An empty job; `what` names the caller in messages. Its lists are programs,
--- memories and launches. The caller may set guarded, for guard bands, and
--- back, to have the Buffers changed as the launches change their copies.
function M.new(what)
  return {what = what, programs = {}, memories = {}, launches = {}}
end

-- The number of the program of a kernel in the job.
local function add_program(job, kernel)
  local program = kernel.program
  for i, known in ipairs(job.programs) do
    if rawequal(known.program, program) then
      return i
    end
  end
  if not program.source then
    cl.error(("%s: %s: the program was built from a binary; the simulator "
      .. "needs its source"):format(job.what, kernel.name))
  end
  local n = #job.programs + 1
  job.programs[n] = {program = program, name = program:info().name,
    source = program.defines .. program.source, options =
    program.options:gsub("^%-cl%-kernel%-arg%-info%s*", "")}
  return n
end

-- Moves the content of memory `from` into memory `m`.
local function absorb(m, from)
  m.first, m.last = math.min(m.first, from.first), math.max(m.last, from.last)
  m.constant = m.constant and from.constant
  table.move(from.pieces, 1, #from.pieces, #m.pieces + 1, m.pieces)
  from.into = m
end

local function meets(m, buffer)
  for _, piece in ipairs(m.pieces) do
    if piece.buffer:overlaps(buffer) then
      return true
    end
  end
  return false
end

-- The memory of a Buffer. Buffers that meet share a memory; any other memory
-- ends with the Buffer's last element, so that a step over the edge is seen.
local function add_memory(job, buffer, constant)
  local first = buffer.offset
  local m = {first = first, last = first + buffer.bytes, constant = constant,
    pieces = {{at = first, buffer = buffer}}}
  for i = #job.memories, 1, -1 do
    if meets(job.memories[i], buffer) then
      absorb(m, table.remove(job.memories, i))
    end
  end
  job.memories[#job.memories + 1] = m
  return m
end

local function too_large(job, bytes)
  cl.error(("%s: the Buffers must have at most %s together; got %s"):format(
    job.what, text.bytes(LARGEST), text.bytes(bytes)),
    {hint = "take a smaller problem, or parts: x:view(1, n)"})
end

-- An argument for the child: {value}, or the place of a Buffer in a memory,
-- and the fields that findings needs.
local function add_argument(job, param, value)
  local class, b, base = text.class(value), value, false
  if class == "Any" then
    class, b, base = "Buffer", value.buffer, value.base
  end
  if class == "Buffer" then
    if base and b.start > 0 then
      cl.error(("%s: '%s' gets memory in front of a view (cl.base), which is "
        .. "not copied; pass the Buffer of the view"):format(job.what,
        param.name))
    end
    local _ = b.bytes -- raises for a closed one
    return {buffer = b, bytes = b.bytes, count = #b, name = param.name,
      memory = add_memory(job, b, param.space == "constant"),
      size = cl.typesize(b.type)}
  elseif class == "Local" or class == "Value" or type(value) == "number"
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
  local required = launch.kernel.required_work_group_size
  if required then
    return table.move(required, 1, #global, 1, {})
  end
  local sizes, room = {}, math.min(GROUP, launch.kernel.work_group_size)
  for i, n in ipairs(global) do
    local size = math.min(n, room)
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
  local added = {kernel = kernel.name, program = add_program(job, kernel),
    global = launch.global, localsize = M.local_size(launch, launch.global),
    offset = launch.offset, args = {}}
  added.unsure = M.unsure(kernel)
  for i, param in ipairs(params) do
    added.args[i] = add_argument(job, param, args[i])
  end
  job.launches[#job.launches + 1] = added
  return added
end

--- job.settled(memory) -> table
--- The memory that an argument lies in, as Buffers that meet share a memory.
function M.settled(memory)
  while memory.into do
    memory = memory.into
  end
  return memory
end

-- The parts of a launch that the child needs.
local function sent_launch(launch)
  local args = {}
  for i, a in ipairs(launch.args) do
    local m = a.memory and M.settled(a.memory)
    args[i] = m and {memory = m.index, first = a.buffer.offset - m.first,
      bytes = a.bytes} or {value = a.value}
  end
  return {kernel = launch.kernel, program = launch.program, args = args,
    global = launch.global, localsize = launch.localsize,
    offset = launch.offset}
end

-- A memory with its content.
local function sent_memory(m)
  local pieces = {}
  for i, piece in ipairs(m.pieces) do
    pieces[i] = {first = piece.at - m.first,
      content = M.bytes(piece.buffer):read()}
  end
  return {bytes = m.last - m.first, constant = m.constant, pieces = pieces}
end

--- job.bytes(buffer) -> Buffer
--- The memory that a kernel gets of a Buffer, as chars.
function M.bytes(buffer)
  return buffer:as("char"):view(1, buffer.bytes)
end

--- job.sent(job) -> table
--- The job as replay.run takes it: plain values, and Arrays.
function M.sent(job)
  local out = {programs = {}, memories = {}, launches = {},
    guarded = job.guarded, back = job.back}
  local bytes = 0
  for i, m in ipairs(job.memories) do
    m.index, bytes = i, bytes + m.last - m.first
  end
  if bytes > LARGEST then
    too_large(job, bytes)
  end
  for i, m in ipairs(job.memories) do
    out.memories[i] = sent_memory(m)
  end
  for i, p in ipairs(job.programs) do
    out.programs[i] = {source = p.source, options = p.options, name = p.name}
  end
  for i, launch in ipairs(job.launches) do
    out.launches[i] = sent_launch(launch)
  end
  return out
end

--- job.take(job, contents)
--- Writes the memories as the launches have left them, which replay.run
--- returns, to the Buffers.
function M.take(job, contents)
  for i, pieces in ipairs(contents) do
    for j, content in ipairs(pieces) do
      M.bytes(job.memories[i].pieces[j].buffer):write(content)
    end
  end
end

return M

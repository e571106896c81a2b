-- parts/staging.lua - copies parts of matrices of the host, or of files, to a
-- device and back through pinned pieces
-- A driver moves memory that it has allocated itself (pinned) several times
-- faster than other memory, and while the device computes. So each part goes
-- in pieces: one piece is copied on the host while the piece before is under
-- way.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local host = require "cl.host"

local UP, DOWN = 4, 2 -- pieces each way

local Staging = {}
Staging.__index = Staging

local M = {}

-- A ring of pinned pieces that stay mapped; ordinary Arrays where a driver
-- maps no memory.
local function ring(context, type, elements, count)
  local slots = {next = 0}
  for i = 1, count do
    local buffer = cl.buffer(type, elements, nil,
      {context = context, host = true})
    local mapped, array = pcall(buffer.map, buffer)
    slots[i] = {buffer = buffer,
      array = mapped and array or cl.array(type, elements)}
  end
  return slots
end

-- The next piece of a ring, once its last transfer has ended.
local function take(slots)
  slots.next = slots.next % #slots + 1
  local slot = slots[slots.next]
  if slot.event then
    slot.event:wait()
    slot.event = nil
  end
  return slot
end

local function wait(event)
  event:wait()
end

--- staging.new(context, type, elements) -> staging
--- Pieces of `elements` elements: the longest row of a part at least. Fields:
--- up_bytes, down_bytes (moved so far), copied (seconds of the host's own
--- copies), wait (a function, which waits for the event of a piece that comes
--- down). staging:close() and <close> wait for the transfers under way.
function M.new(context, type, elements)
  return setmetatable({
    elements = elements, esize = cl.typesize(type),
    up_slots = ring(context, type, elements, UP),
    down_slots = ring(context, type, elements, DOWN),
    up_queue = cl.queue{context = context, profiling = false},
    down_queue = cl.queue{context = context, profiling = false},
    up_bytes = 0, down_bytes = 0, copied = 0, wait = wait,
  }, Staging)
end

function Staging:copy(...)
  local begin = cl.now()
  host.copy_box(...)
  self.copied = self.copied + cl.now() - begin
end

--- staging:up(store, row, col, rows, cols, buffer) -> event
--- Sends a part of a matrix of the host to a Buffer without gaps, in order.
--- Fields of `store`: side (an Array or a file), ld (elements of a row), skip
--- (bytes before the first element). The part is on the device after the
--- event.
function Staging:up(store, row, col, rows, cols, buffer)
  local step, event = self.elements // cols, nil
  for r = 0, rows - 1, step do
    local n = math.min(step, rows - r)
    local slot = take(self.up_slots)
    self:copy(slot.array, store.side, {rows = n, cols = cols,
      from_first = (row + r - 1) * store.ld + col, from_ld = store.ld,
      from_skip = store.skip})
    event = buffer:write(slot.array, {first = r * cols + 1, count = n * cols,
      at = 1, queue = self.up_queue, async = true})
    slot.event = event
  end
  self.up_bytes = self.up_bytes + rows * cols * self.esize
  return event
end

--- staging:down(buffer, store, row, col, after) -> next, count
--- Fetches a matrix without gaps to its place in a matrix of the host, after
--- an event. Each call of next() handles one of `count` pieces; it returns
--- false when all pieces are there.
function Staging:down(buffer, store, row, col, after)
  local rows, cols = buffer.rows, buffer.cols
  local step, r, pending = self.elements // cols, 0, nil
  local function finish(piece)
    self.wait(piece.slot.event)
    piece.slot.event = nil
    self:copy(store.side, piece.slot.array, {rows = piece.n, cols = cols,
      to_first = (row + piece.r - 1) * store.ld + col, to_ld = store.ld,
      to_skip = store.skip})
  end
  self.down_bytes = self.down_bytes + rows * cols * self.esize
  return function()
    local before = pending
    pending = nil
    if r < rows then
      local n = math.min(step, rows - r)
      pending = {slot = take(self.down_slots), r = r, n = n}
      pending.slot.event = select(2, buffer:read(pending.slot.array,
        {first = r * cols + 1, count = n * cols, at = 1,
          queue = self.down_queue, async = true, after = {after}}))
      r = r + n
    end
    if before then
      finish(before)
    end
    return pending ~= nil
  end, (rows + step - 1) // step + 1
end

function Staging:close()
  self.up_queue:finish()
  self.down_queue:finish()
  for _, slots in ipairs{self.up_slots, self.down_slots} do
    for _, slot in ipairs(slots) do
      slot.array:close()
      slot.buffer:close()
    end
  end
end

Staging.__close = Staging.close

return M

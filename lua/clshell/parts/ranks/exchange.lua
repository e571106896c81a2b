-- parts/ranks/exchange.lua - sends panels of matrices from the device of one
-- rank to the devices of the other ranks of a Comm, in strips: a strip comes
-- down from a device while the strip before is on its way and earlier strips
-- go up. The ranks of a host pass a strip through shared memory, and messages
-- tell when it is there and when it is read. Other hosts get the strip as a
-- message, along a binomial tree with one rank of each host.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local host = require "cl.host"
local staging = require "clshell.parts.staging"
local tasks = require "clshell.parts.ranks.tasks"

local M = {}

M.message = 8 << 20     -- bytes of a strip, about
M.entries = 4           -- strips of a rank on their way at a time, at most
M.group = math.huge     -- ranks of a host that share memory, at most

local Channel = {}
Channel.__index = Channel

-- Shared memory by Comm and type; it stays until the program ends. Each entry
-- is a list with an Array for each rank of the host.
local rings = {}

local function ring(comm, type, elements)
  rings[comm] = rings[comm] or {}
  local known = rings[comm][type]
  if not known or known.elements < elements or #known < M.entries then
    known = {elements = elements}
    for i = 1, M.entries do
      known[i] = comm:shared(type, elements) or {}
    end
    rings[comm][type] = known
  end
  return known
end

-- The first rank of the group that shares memory with rank `me`; `me` itself
-- where a list lacks it.
local function first_neighbour(lists, me)
  local before = {} -- ranks of this host up to `me`
  for rank in pairs(lists[1]) do
    before[#before + 1] = rank <= me and rank or nil
  end
  for _, list in ipairs(lists) do
    if not list[me] then
      return me
    end
  end
  table.sort(before)
  return before[M.group < math.huge and (#before - 1) // M.group * M.group + 1
    or 1]
end

--- exchange.new(comm, type, longest, shared) -> channel
--- A channel for panels of an element type, with rows of `longest` elements at
--- most. All ranks of the Comm make a channel with the same arguments.
--- `shared` false: messages alone, no shared memory. Field shares: whether any
--- ranks share memory. channel:close() ends the channel.
function M.new(comm, type, longest, shared)
  local elements = math.max(M.message // cl.typesize(type), longest)
  local self = setmetatable({comm = comm, type = type, me = comm:rank(),
    pieces = staging.new(cl.context(), type, elements), roles = {}, free = {},
    entries = {}, last = 0, heads = {}, head = {}}, Channel)
  self.pieces.wait = tasks.event
  local lists = shared and comm:size() > 1 and ring(comm, type, elements)
  for i = 1, M.entries do
    self.entries[i] = {number = i, parts = lists and lists[i], pending = {}}
  end
  local first = lists and first_neighbour(lists, self.me) or self.me
  for i, head in ipairs(comm:allgather(first):table()) do
    self.head[i - 1] = math.tointeger(head)
    if head == i - 1 then
      table.insert(self.heads, i - 1)
    end
  end
  self.shares = #self.heads < comm:size()
  return self
end

-- The parent (nil for the root, which is 0) and the children of number `me` in
-- a binomial tree of `count` ranks: log2(count) children at most.
local function tree(count, me)
  local children, step = {}, 1
  while me & step == 0 and step < count do
    if me + step < count then
      table.insert(children, 1, me + step)
    end
    step = step << 1
  end
  return me > 0 and me & me - 1 or nil, children
end

-- The part of this rank in the exchange of an owner's panels: {head, parent,
-- children, peers}. The head is the rank of this host that has a panel first.
-- The head alone has a parent and children, ranks of other hosts, and peers,
-- the other ranks of its host.
function Channel:role(owner)
  local role = self.roles[owner]
  if role then
    return role
  end
  local mine = self.head[self.me]
  role = {head = mine == self.head[owner] and owner or mine, children = {},
    peers = {}}
  self.roles[owner] = role
  if role.head ~= self.me then
    return role
  end
  for rank = 0, self.comm:size() - 1 do
    if self.head[rank] == mine and rank ~= self.me then
      table.insert(role.peers, rank)
    end
  end
  local heads, at = {[0] = owner}, 0 -- the owner first
  for _, head in ipairs(self.heads) do
    if head ~= self.head[owner] then
      heads[#heads + 1] = head
      at = head == self.me and #heads or at
    end
  end
  local parent, children = tree(#heads + 1, at)
  role.parent = heads[parent]
  for i, child in ipairs(children) do
    role.children[i] = heads[child]
  end
  return role
end

-- The tags of messages about an owner's panels.
local function ready(owner) return 3 * owner end
local function read(owner) return 3 * owner + 1 end
local function content(owner) return 3 * owner + 2 end

--- exchange.strips(type, rows, cols) -> list
--- The strips of a panel: {first (element), rows, cols} each.
function M.strips(type, rows, cols)
  local most = math.max(1, M.message // (cols * cl.typesize(type)))
  local count = (rows + most - 1) // most
  local list = {}
  for i = 0, count - 1 do
    local row = i * rows // count
    list[i + 1] = {first = row * cols + 1,
      rows = (i + 1) * rows // count - row, cols = cols}
  end
  return list
end

-- The free Arrays with the size of a strip, or of an Array.
function Channel:spares(strip)
  local size = strip.rows .. "x" .. strip.cols
  self.free[size] = self.free[size] or {}
  return self.free[size]
end

-- An Array for a strip: a free Array of its size, or a new one.
function Channel:array(strip)
  return table.remove(self:spares(strip))
    or cl.array(self.type, {strip.rows, strip.cols})
end

local function through(entry)
  local list = entry.pending
  while #list > 0 and list[#list]:test() do
    list[#list] = nil
  end
  return #list == 0 and not entry.busy
end

-- The next entry for a strip, once all ranks have taken the last strip in it.
function Channel:entry()
  self.last = self.last % #self.entries + 1
  local entry = self.entries[self.last]
  tasks.wait(through, entry)
  entry.busy = true
  if entry.h then
    table.insert(self:spares(entry.h), entry.h)
    entry.h = nil
  end
  return entry
end

-- Sends a strip to the peers and the children of this rank. h: the Array with
-- the strip, or nil where the entry's shared Array has it.
function Channel:deliver(entry, strip, role, owner, h)
  local comm, pending = self.comm, entry.pending
  if h and #role.peers > 0 then
    host.copy_box(entry.parts[self.me], h, {rows = strip.rows,
      cols = strip.cols})
  end
  for _, peer in ipairs(role.peers) do
    table.insert(pending, comm:isend(entry.number, peer, ready(owner)))
    table.insert(pending, comm:irecv(0, peer, read(owner)))
  end
  for _, child in ipairs(role.children) do
    table.insert(pending, comm:isend(h, child, content(owner)))
  end
  entry.h, entry.busy = h, false
end

-- Begins to fetch a strip from the device; f.finish() copies it to
-- f.store.side.
function Channel:fetch(panel, strip, after)
  local store = {ld = strip.cols}
  local step = self.pieces:down(panel:matrix(strip.first, strip.rows,
    strip.cols), store, 1, 1, after)
  step()
  return {store = store, finish = step}
end

--- channel:send(panel, after)
--- Task: sends a panel of this rank, a Buffer without gaps, to all other
--- ranks, once the event `after` has ended. The panel may be changed
--- afterwards.
function Channel:send(panel, after)
  local role = self:role(self.me)
  local strips = M.strips(self.type, panel.rows, panel.cols)
  local next_one = self:fetch(panel, strips[1], after)
  for i, strip in ipairs(strips) do
    local fetched = next_one
    next_one = strips[i + 1] and self:fetch(panel, strips[i + 1], after)
    local entry = self:entry()
    local h = #role.children > 0 and self:array(strip) or nil
    fetched.store.side = h or entry.parts[self.me]
    fetched.finish()
    self:deliver(entry, strip, role, self.me, h)
  end
end

-- Sends a strip to the device.
function Channel:up(h, strip, panel)
  return self.pieces:up({side = h, ld = strip.cols}, 1, 1, strip.rows,
    strip.cols, panel:matrix(strip.first, strip.rows, strip.cols))
end

-- Receives a panel by messages, and hands it on.
function Channel:receive_messages(owner, role, panel, strips)
  local posted, event = {}, nil
  local function post(i)
    if strips[i] then
      local h = self:array(strips[i])
      posted[i] = {h = h,
        request = self.comm:irecv(h, role.parent, content(owner))}
    end
  end
  for i = 1, #self.entries do
    post(i)
  end
  for i, strip in ipairs(strips) do
    local h, request = posted[i].h, posted[i].request
    posted[i] = nil
    tasks.wait(request.test, request)
    local hands_on = #role.children + #role.peers > 0
    if hands_on then
      self:deliver(self:entry(), strip, role, owner, h)
    end
    event = self:up(h, strip, panel)
    if not hands_on then
      table.insert(self:spares(h), h)
    end
    post(i + #self.entries)
  end
  return event
end

--- channel:receive(owner, panel) -> event
--- Task: receives a panel of a rank into a Buffer without gaps, and hands it
--- on to this rank's peers and children. It is complete after the event.
function Channel:receive(owner, panel)
  local role, event = self:role(owner), nil
  local strips = M.strips(self.type, panel.rows, panel.cols)
  if role.head == self.me then
    return self:receive_messages(owner, role, panel, strips)
  end
  for _, strip in ipairs(strips) do
    local request = self.comm:irecv(0, role.head, ready(owner))
    tasks.wait(request.test, request)
    local number = request:wait()
    event = self:up(self.entries[number].parts[role.head], strip, panel)
    self.comm:isend(number, role.head, read(owner))
  end
  return event
end

--- channel:finish()
--- Waits until all strips that this rank has sent are taken.
function Channel:finish()
  for _, entry in ipairs(self.entries) do
    for _, request in ipairs(entry.pending) do
      request:wait()
    end
    entry.pending = {}
  end
end

function Channel:close()
  self.pieces:close()
end

Channel.__close = Channel.close

return M

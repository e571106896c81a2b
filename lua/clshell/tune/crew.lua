-- tune/crew.lua - a search whose points several processes of mpirun measure,
-- each on a device of its own. Rank 0 searches: it gives the next points to
-- ranks that are free, measures one itself meanwhile, and has the run store.
-- The others measure, each in a worker process: a point that ends that costs
-- the point. A rank measures only where the device is like that of rank 0, and
-- no other rank measures on the same one: its times would not be comparable.
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cachefile = require "clshell.measure.cachefile"
local cl = require "cl"
local parcel = require "clshell.worker.parcel"
local text = require "clshell.base.text"

local M = {}

local DEPTH = 2     -- points that a rank has in hand
local LOOK = 0.002  -- seconds between looks for answers
local POINT, ANSWER = 1, 2 -- tags of messages

local Crew = {}
Crew.__index = Crew

local comm -- of all ranks, apart from the user's messages

local function host()
  local file <close> = io.open "/proc/sys/kernel/hostname"
  return file and file:read "l" or ""
end

-- What must be the same on a rank that measures, and the device that no other
-- rank may have.
local function card(src)
  local device = src.context.device
  return parcel.pack(table.concat({cachefile.identity(device), src.name,
    src.title or "", #src.space}, "\0"), host() .. " " .. device.index)
end

-- On rank 0: the ranks that measure, after it, and a line about the others.
local function muster(src)
  local own, device = parcel.unpack(card(src))
  local taken, list, unlike, shared = {[device] = true}, {}, 0, 0
  for rank = 1, comm:size() - 1 do
    local other, where = parcel.unpack(comm:recv("string", rank, ANSWER))
    local serves = other == own and not taken[where]
    unlike = unlike + (other ~= own and 1 or 0)
    shared = shared + (other == own and taken[where] and 1 or 0)
    taken[where] = true
    list[#list + 1] = serves and rank or nil
    if not serves then
      comm:send("", rank, POINT)
    end
  end
  return list, {unlike = unlike, shared = shared}
end

-- Serves rank 0 with measurements of a source, until it sends no more points.
local function serve(src)
  comm:send(card(src), 0, ANSWER)
  while true do
    local message = comm:recv("string", 0, POINT)
    if message == "" then
      return
    end
    local id, best = parcel.unpack(message)
    local found = src.measure(src.space:point(id), best)
    comm:send(assert(parcel.pack(found)), 0, ANSWER)
  end
end

-- On rank 0: the ranks that measure points of a source beside this one.
local function new(src)
  local ranks, others = muster(src)
  local crew = setmetatable({source = src, others = others, hands = {},
    answers = {}, under_way = {}, points = 0}, Crew)
  for i, rank in ipairs(ranks) do
    crew.hands[i] = {rank = rank, ids = {}}
  end
  return crew
end

-- Takes the answers that are there; keeps their records.
function Crew:collect()
  for _, hand in ipairs(self.hands) do
    while hand.coming and hand.coming:test() do
      local id, found = table.remove(hand.ids, 1),
        parcel.unpack(hand.coming:wait())
      local r = found.record
      if r then
        r.setting, r.source_hash = self.source.setting(
          self.source.space:point(id))
        bench.keep(r)
      end
      self.answers[id], self.under_way[id] = found, nil
      self.points = self.points + 1
      hand.coming = #hand.ids > 0 and comm:irecv("string", hand.rank, ANSWER)
        or nil
    end
  end
end

-- Gives a point to a rank.
local function give(crew, hand, id, best)
  hand.ids[#hand.ids + 1], crew.under_way[id] = id, true
  comm:send(parcel.pack(id, best), hand.rank, POINT)
  hand.coming = hand.coming or comm:irecv("string", hand.rank, ANSWER)
end

-- The points that the search has not visited: in hand, and measured.
local function ahead_of(crew)
  local n = 0
  for _ in pairs(crew.answers) do
    n = n + 1
  end
  for _, hand in ipairs(crew.hands) do
    n = n + #hand.ids
  end
  return n
end

-- Gives points of a list to ranks that have room, those with least first.
-- Returns the first one that no rank takes, or nil.
function Crew:spread(ids, best, left)
  local at = 1
  for depth = 1, DEPTH do
    for _, hand in ipairs(self.hands) do
      while ids[at] and (self.under_way[ids[at]] or self.answers[ids[at]]) do
        at = at + 1
      end
      if #hand.ids < depth and ids[at] and ahead_of(self) < left then
        give(self, hand, ids[at], best)
        at = at + 1
      end
    end
  end
  while ids[at] and (self.under_way[ids[at]] or self.answers[ids[at]]) do
    at = at + 1
  end
  return ahead_of(self) < left and ids[at] or nil
end

--- crew:measure(id, best, ahead, wanted, left) -> found
--- The measurement of a point, here or on a rank. Meanwhile those that
--- ahead(k, more) of the strategy lists are measured where wanted(id) holds,
--- at most `left` of them.
function Crew:measure(id, best, ahead, wanted, left)
  local function mine(which)
    return self.source.measure(self.source.space:point(which), best)
  end
  local function next_points()
    local ids = {}
    for _, other in ipairs(ahead(#self.hands, DEPTH * #self.hands)) do
      if other ~= id and wanted(other) then
        ids[#ids + 1] = other
      end
    end
    return ids
  end
  self:collect()
  self:spread(next_points(), best, left)
  if not (self.under_way[id] or self.answers[id]) then
    return mine(id)
  end
  while not self.answers[id] do
    local free = self:spread(next_points(), best, left)
    if free then
      self.answers[free] = mine(free)
    else
      cl.sleep(LOOK)
    end
    self:collect()
  end
  local found = self.answers[id]
  self.answers[id] = nil
  return found
end

--- crew:note() -> string
--- A line about the ranks of a search.
function Crew:note()
  local words = {("%s measured %s for rank 0"):format(text.count(#self.hands,
    "rank"), text.count(self.points, "configuration"))}
  for _, kind in ipairs{{"unlike", "another device than rank 0"},
      {"shared", "a device that another rank measures on"}} do
    local n = self.others[kind[1]]
    words[#words + 1] = n > 0 and ("%s with %s had no part"):format(
      text.count(n, "rank"), kind[2]) or nil
  end
  return table.concat(words, "; ")
end

--- crew:dismiss()
--- Takes what is still in hand, and lets the ranks go.
function Crew:dismiss()
  for _, hand in ipairs(self.hands) do
    while hand.coming do
      hand.coming:wait()
      self:collect()
    end
    comm:send("", hand.rank, POINT)
  end
end

--- crew.run(source, search) -> result
--- The result of search(crew) on rank 0, which measures points of a source
--- with the others; of search() where points have no measurement of their own:
--- over several shapes, and in recorded times. Each rank calls this, and gets
--- a copy of the result.
function M.run(src, search)
  local alone = src.shapes or src.recorded
  comm = comm or require "mpi".split(0)
  if comm:rank() > 0 then
    if not alone then
      serve(src)
    end
    return (parcel.unpack(comm:bcast()))
  end
  local crew = not alone and new(src) or nil
  local result = search(crew)
  if crew then
    crew:dismiss()
  end
  comm:bcast(assert(parcel.pack(result)))
  return result
end

return M

-- tune/rank_search.lua - a search whose points several processes of mpirun
-- measure, each on a device of its own. Rank 0 searches: it gives the next
-- points to ranks that are free, measures one itself meanwhile, and has the
-- run store. The other ranks measure, each in a worker process: a point that
-- ends the process costs the point. So does a rank that ends, where mpirun
-- lets the others go on, as Open MPI's does with --enable-recovery. A rank
-- measures only where its device is like the device of rank 0, and where no
-- other rank measures on it: its times would not be comparable.
-- SPDX-License-Identifier: MIT

local builders = require "clshell.tune.builders"
local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local file = require "clshell.base.file"
local parcel = require "clshell.calls.parcel"
local record = require "clshell.measure.record"
local remote = require "clshell.tune.remote_source"
local text = require "clshell.base.text"

local M = {}

local DEPTH = 4     -- points that a rank has in hand, for its builders, and as
                    -- rank 0 deals none out while it measures
local CHOSEN = 2    -- of them, points that a strategy chooses before it is
                    -- told of the points before
local LOOK = 0.002  -- seconds between looks for answers
local SILENT = 4    -- limits of a point without a word from a rank of another
                    -- host, after which the rank counts as lost
local POINT, ANSWER = 1, 2 -- tags of messages; the last one is empty
local RESULT = 3

local Ranks = {}
Ranks.__index = Ranks

local mpi
local comm -- of all ranks, apart from the user's messages

local function host()
  return (file.read "/proc/sys/kernel/hostname" or ""):match "^[^\n]*"
end

-- The state of a process of this host, a letter of proc(5), and its number;
-- nil where there is no such process.
local function process(number)
  local n, state = (file.read(("/proc/%s/stat"):format(number)) or ""):match
    "^(%d+) .*%) (%a)"
  return state, n
end

-- The card of a rank: a text that must be the same on all measuring ranks, the
-- device that no other rank may have, the host, and the number of the rank's
-- process on the host.
local function card(src)
  local device = src.context.device
  return parcel.pack(table.concat({cachefile.identity(device), src.name,
    src.title or "", #src.space}, "\0"), host() .. " " .. device.index,
    host(), select(2, process "self"))
end

-- Whether a process of this host has ended.
local function has_ended(number)
  local state = process(number)
  return not state or state == "Z" or state == "X"
end

-- Waits for a message of rank 0. `first` is its process if it runs on this
-- host; an error where that process has ended.
local function await(request, first)
  while not request:test() do
    if first and has_ended(first) then
      cl.error("tune: rank 0, which searches, has ended")
    end
    cl.sleep(LOOK)
  end
  return request:wait()
end

-- On all ranks: the process of rank 0; nil if rank 0 runs on another host.
local function first_process()
  local place, number = parcel.unpack(comm:bcast(comm:rank() == 0
    and parcel.pack(host(), select(2, process "self")) or nil))
  return place == host() and number and process(number) and number or nil
end

-- On rank 0: the hands of the other measuring ranks, {rank, ids, heard,
-- process (nil: on another host)}, and the number of idle ranks, by reason.
local function muster(src)
  local own, device = parcel.unpack(card(src))
  local taken, list, unlike, shared = {[device] = true}, {}, 0, 0
  for rank = 1, comm:size() - 1 do
    local other, where, place, number = parcel.unpack(comm:recv("string", rank,
      ANSWER))
    local serves = other == own and not taken[where]
    unlike = unlike + (other ~= own and 1 or 0)
    shared = shared + (other == own and taken[where] and 1 or 0)
    taken[where] = true
    list[#list + 1] = serves and {rank = rank, ids = {}, heard = cl.now(),
      process = place == host() and process(number) and number or nil} or nil
    if not serves then
      comm:send("", rank, POINT)
      comm:recv("string", rank, ANSWER) -- which is ""
    end
  end
  return list, {unlike = unlike, shared = shared}
end

-- The builders of a rank, for its share of the cores of its host.
local function new_builders(src, limits)
  return builders.new(src, limits.builders, mpi.local_size())
end

-- Measures the first of the points in hand; `left` and `seconds` are the rest
-- of the search for this rank.
local function measure(src, team, hand, best, left, seconds)
  local id = hand[1]
  if not team then
    return src:measure(src.space:point(id), best)
  end
  return team:measure(id, best, function()
    return table.move(hand, 2, #hand, 1, {})
  end, function()
    return true
  end, math.max(left, #hand), seconds)
end

-- Takes the points that rank 0 has sent into a hand: all that have arrived,
-- and at least one. Returns the last message as a list, or nil at the end.
local function draw(hand, mail, said)
  while mail.coming:test() or #hand == 0 do
    local message = await(mail.coming, mail.first)
    if message == "" then
      return nil
    end
    said = table.pack(parcel.unpack(message))
    hand[#hand + 1] = said[1]
    mail.coming = comm:irecv("string", 0, POINT)
  end
  return said
end

-- Serves rank 0, of process `first`, with measurements of a source, until rank
-- 0 sends no more points. Points that are in hand then are not measured.
local function serve(src, limits, first)
  local hand, said = {}, nil
  local mail = {coming = comm:irecv("string", 0, POINT), first = first}
  comm:send(card(src), 0, ANSWER)
  local team <close> = new_builders(src, limits)
  while true do
    said = draw(hand, mail, said)
    if not said then
      return comm:send("", 0, ANSWER)
    end
    local found = measure(src, team, hand, table.unpack(said, 2, 4))
    comm:send(assert(parcel.pack(table.remove(hand, 1), found)), 0, ANSWER)
  end
end

-- On rank 0: the hands of all ranks that measure points of a source, rank 0
-- first.
local function new(src, limits)
  local hands, others = muster(src)
  local ranks = setmetatable({source = src, others = others, own = {ids = {}},
    answers = {}, under_way = {}, points = 0,
    silent = SILENT * (limits.limit or remote.LIMIT),
    builders = new_builders(src, limits)}, Ranks)
  ranks.hands = {ranks.own}
  for i, hand in ipairs(hands) do
    ranks.hands[i + 1] = hand
    hand.coming = comm:irecv("string", hand.rank, ANSWER)
  end
  return ranks
end

-- Whether the process of a rank has ended, as far as this rank knows.
function Ranks:ended(hand)
  if hand.process then
    hand.lost = has_ended(hand.process)
  else
    hand.lost = cl.now() - hand.heard > self.silent
  end
  return hand.lost
end

-- Fails the point that a lost rank was measuring; its other points go back.
function Ranks:lose(hand)
  for i, id in ipairs(hand.ids) do
    self.under_way[id] = nil
    if i == 1 then
      self.answers[id] = {status = "failed", reason = ("rank %d ended"):format(
        hand.rank)}
    end
  end
  hand.ids = {}
end

-- Takes the answers that have come, and keeps their records.
function Ranks:collect()
  for i = 2, #self.hands do
    local hand = self.hands[i]
    while #hand.ids > 0 and hand.coming:test() do
      hand.heard = cl.now()
      local id, found = parcel.unpack(hand.coming:wait())
      table.remove(hand.ids, 1)
      local r = found.record
      if r then
        self.source:describe(r, self.source.space:point(id))
        record.keep(r)
      end
      self.answers[id], self.under_way[id] = found, nil
      self.points = self.points + 1
      hand.coming = comm:irecv("string", hand.rank, ANSWER)
    end
    if #hand.ids > 0 and self:ended(hand) then
      self:lose(hand)
    end
  end
end

-- The number of points in hand and of answers that the search has not taken.
local function ahead_of(ranks)
  local n = 0
  for _ in pairs(ranks.answers) do
    n = n + 1
  end
  for _, hand in ipairs(ranks.hands) do
    n = n + #hand.ids
  end
  return n
end

-- Puts a point into a hand.
local function give(hand, id, ...)
  hand.heard = #hand.ids == 0 and cl.now() or hand.heard
  hand.ids[#hand.ids + 1] = id
  if hand.rank then
    comm:send(parcel.pack(id, ...), hand.rank, POINT)
  end
end

-- Deals points out to the hands that have room, one to each hand before a hand
-- gets two.
function Ranks:deal(ids, best, left, seconds)
  local at, share = 1, left // #self.hands
  for depth = 1, DEPTH do
    for _, hand in ipairs(self.hands) do
      while self.under_way[ids[at]] or self.answers[ids[at]] do
        at = at + 1
      end
      local id = ids[at]
      if id and not hand.lost and #hand.ids < depth
          and ahead_of(self) < left then
        self.under_way[id] = true
        give(hand, id, best, share, seconds)
      end
    end
  end
end

-- Measures the first point in the hand of rank 0.
function Ranks:work(best, left, seconds)
  local hand = self.own.ids
  local found = measure(self.source, self.builders, hand, best,
    left // #self.hands, seconds)
  local id = table.remove(hand, 1)
  self.answers[id], self.under_way[id] = found, nil
end

--- ranks:measure(id, best, ahead, wanted, left, seconds) -> found
--- The measurement of a point, here or on another rank. Meanwhile other ranks
--- measure points that ahead(k, more) of the strategy lists, where wanted(id)
--- holds. `left` and `seconds`: the points that the search may still measure,
--- and its time.
function Ranks:measure(id, best, ahead, wanted, left, seconds)
  local n, stop = #self.hands, cl.now() + seconds
  local function next_points()
    local ids = {id}
    for _, other in ipairs(ahead(CHOSEN * n, (DEPTH - CHOSEN) * n)) do
      ids[#ids + 1] = other ~= id and wanted(other) and other or nil
    end
    return ids
  end
  repeat
    self:collect()
    local rest = stop - cl.now()
    self:deal(next_points(), best, left, rest)
    if self.answers[id] then
      break
    elseif #self.own.ids > 0 then
      self:work(best, left, rest)
    else
      cl.sleep(LOOK)
    end
  until self.answers[id]
  local found = self.answers[id]
  self.answers[id] = nil
  return found
end

--- ranks:note() -> string
--- A line about the ranks of a search.
function Ranks:note()
  local words = {("%s measured %s for rank 0"):format(text.count(
    #self.hands - 1, "rank"), text.count(self.points, "configuration"))}
  for _, kind in ipairs{{"unlike", "another device than rank 0"},
      {"shared", "a device that another rank measures on"}} do
    local n = self.others[kind[1]]
    words[#words + 1] = n > 0 and ("%s with %s had no part"):format(
      text.count(n, "rank"), kind[2]) or nil
  end
  for i = 2, #self.hands do
    words[#words + 1] = self.hands[i].lost and ("rank %d ended"):format(
      self.hands[i].rank) or nil
  end
  return table.concat(words, "; ")
end

-- Dismisses a rank: it ends the point that is under way, and measures no more.
function Ranks:dismiss(hand)
  comm:send("", hand.rank, POINT)
  hand.heard = cl.now()
  repeat
    while not hand.coming:test() do
      if self:ended(hand) then
        return
      end
      cl.sleep(LOOK)
    end
    local last = hand.coming:wait() == ""
    hand.coming = not last and comm:irecv("string", hand.rank, ANSWER) or nil
  until last
end

-- Gives the result to all ranks that still run, by messages: a broadcast may
-- pass through a lost rank.
local function spread(ranks, result)
  local lost = {}
  for i = 2, ranks and #ranks.hands or 0 do
    local hand = ranks.hands[i]
    if not hand.lost then
      ranks:dismiss(hand)
    end
    lost[hand.rank] = hand.lost or nil
  end
  local words = assert(parcel.pack(result, next(lost) ~= nil))
  for rank = 1, comm:size() - 1 do
    if not lost[rank] then
      comm:send(words, rank, RESULT)
    end
  end
  if next(lost) then
    mpi.incomplete()
  end
end

--- rank_search.run(source, limits, search) -> result
--- The result of search(ranks) on rank 0, which measures points of a source
--- with the other ranks, by the limits of search_loop.run; of search() for the
--- recorded times of a file. Each rank calls this and gets the result's copy.
function M.run(src, limits, search)
  local alone = src.recorded
  mpi = require "mpi"
  comm = comm or mpi.split(0)
  local first = first_process()
  if comm:rank() > 0 then
    if not alone then
      serve(src, limits, first)
    end
    local result, incomplete = parcel.unpack(await(comm:irecv("string", 0,
      RESULT), first))
    if incomplete then
      mpi.incomplete()
    end
    return result
  end
  local ranks = not alone and new(src, limits) or nil
  local team <close> = ranks and ranks.builders -- luacheck: ignore 211
  local result = search(ranks)
  spread(ranks, result)
  return result
end

return M

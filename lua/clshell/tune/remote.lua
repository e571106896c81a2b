-- tune/remote.lua - sources whose points are built, checked and measured in a
-- worker process, which a point may hang or crash: that costs the point. This
-- file is used at both ends. The rest of a search, and the run store, stay in
-- the process of the user.
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local evaluate = require "clshell.tune.evaluate"
local interrupt = require "clshell.base.interrupt"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local workers = require "clshell.calls"

local M = {}
local Link = {}
Link.__index = Link

local NAME = "clshell.tune.remote"
local START = 60 -- seconds for the process to start, and to take the arguments
M.LIMIT = 30 -- seconds of a phase
local CHANCES = 2 -- runs in turns for a point that ends the process

local served = {} -- in the worker process: the sources

--- remote.open(list, efforts, keeping)
--- In the worker: makes sources again, {module, learned, arguments of its
--- source()}, for measurements of these lengths, with the binary cache or not.
function M.open(list, efforts, keeping)
  program.keep_binaries(keeping)
  for name, effort in pairs(efforts) do
    protocol.efforts[name] = effort
  end
  for i, entry in ipairs(list) do
    served[i] = require(entry.module).source(table.unpack(entry, 1, entry.n))
    served[i].learned = entry.learned
  end
end

--- remote.measure(number, p, best) -> found, note, learned
--- In the worker: measures a point of a source. The value that the source has
--- learned is a result where it is new.
function M.measure(number, p, best)
  local src = served[number]
  local before = src.learned
  local found = src.measure(p, best)
  found.lost = found.status == "failed" and evaluate.lost(src.context)
  return found, src.note and src.note(), src.learned ~= before and src.learned
    or nil
end

--- remote.build(keep, number, x [, stays]) -> {begin, stop, ok, seconds}
--- In a builder: builds programs x, of what program.get takes; or runs the
--- point x of the source of that number once, unchecked. `stays`: the point is
--- measured here next, so its programs are kept. The seconds are those of the
--- builds alone.
function M.build(keep, number, x, stays)
  local begin, before = cl.now(), program.seconds
  local context = served[1] and served[1].context or cl.context()
  program.keep_binaries(keep)
  local ok = interrupt.pcall(function()
    local made = number and served[number].launch(x) or {}
    for i, one in ipairs(number and {} or x) do
      made[i] = program.get(context, one.from, one.defines, one.options)
    end
    if not stays then
      program.forget(made)
    end
  end)
  collectgarbage()
  return {begin = begin, stop = cl.now(), ok = ok,
    seconds = program.seconds - before}
end

--- remote.awkward(number, p) -> reason, or nothing
function M.awkward(number, p)
  return served[number].awkward(p)
end

--- remote.turns(number, points, seconds) -> list of lists, or nil
function M.turns(number, points, seconds)
  return evaluate.turns(served[number], points, seconds)
end

--- remote.new(opts) -> link
--- The worker process of a search, by the options of tune: worker and limit.
--- It starts when the first point is measured, and ends with link:close().
function M.new(opts)
  return setmetatable({off = opts.worker == false, sources = {}, notes = {},
    limit = opts.limit or M.LIMIT}, Link)
end

-- The sources in words for the worker.
local function recipes(link)
  local list, efforts = {}, {}
  for i, src in ipairs(link.sources) do
    list[i] = table.pack(src.again())
    list[i].module, list[i].learned = src.module, src.learned
  end
  for name, effort in pairs(protocol.efforts) do
    efforts[name] = {table.unpack(effort)}
    for key, value in pairs(effort) do
      efforts[name][key] = value
    end
  end
  return list, efforts, link.keeping
end

-- Starts the process, with the sources. Returns whether that worked, or nil
-- and a reason.
local function start(link)
  local w = link.worker
  if w then
    w.opts.limit = START
    local ok, reason = w:restart()
    if not ok then
      return nil, reason
    end
  else
    local reason
    w, reason = workers.start{limit = START, device = cl.device().index}
    if not w then
      return nil, reason
    end
    link.worker = w
  end
  local ok, reason = w:call(NAME, "open", recipes(link))
  w.opts.limit = link.limit
  return ok, reason
end

-- Whether the process is there. Where it cannot be, this process serves; one
-- that was there and does not start again raises.
function Link:ready()
  if self.reason then
    return false
  elseif self.worker and not self.worker.lost then
    return true
  end
  local again = self.worker ~= nil
  local ran, ok, reason = interrupt.pcall(start, self)
  if not ran then
    ok, reason = nil, type(ok) == "table" and ok.message or tostring(ok)
  end
  if not ok and again then
    cl.error("tune: the worker process does not start again: " .. reason)
  elseif not ok then
    -- without the place in the list of sources
    self.reason = tostring(reason):match "^[%[%d%].]*([^\n]*)"
    self:close()
  end
  return ok
end

-- Calls a function of this file in the process. Returns true and results; nil,
-- a reason and a number where the process is lost; false where there is none.
function Link:call(name, ...)
  if not self:ready() then
    return false
  end
  local results = table.pack(self.worker:call(NAME, name, ...))
  if not results[1] and not self.worker.lost then -- cannot be sent
    self.reason = results[2]
    self:close()
    return false
  end
  return table.unpack(results, 1, results.n)
end

--- link:wrap(source) -> source
--- A source that measures in the worker process, where it can be made again
--- there.
function Link:wrap(src)
  if self.off or not src.again then
    return src
  end
  local number = #self.sources + 1
  self.sources[number] = src
  local far = setmetatable({number = number}, {__index = src})

  -- The call that makes the sources in another process, for parcel.pack.
  function far.opening()
    return NAME, "open", recipes(self)
  end

  function far.measure(p, best)
    local done, found, note, learned = self:call("measure", number, p, best)
    if done == false then
      return src.measure(p, best)
    elseif not done then
      return {status = "failed", reason = found}
    end
    self.worker.lost = found.lost ~= nil and found.lost ~= false
    self.notes[number] = note or self.notes[number]
    src.learned = learned or src.learned
    local r = found.record
    if r then
      r.setting, r.source_hash = src.setting(p)
      bench.keep(r)
    end
    return found
  end

  function far.worker()
    return self:ready() and self.worker or nil
  end

  function far.awkward(p)
    local done, reason = self:call("awkward", number, p)
    if done == false then
      return src.awkward(p)
    end
    return reason, not done and "failed" or nil
  end

  function far.turns(points, seconds)
    local ended = {}
    while true do
      local done, lists, at = self:call("turns", number, points, seconds)
      if done == false then
        return evaluate.turns(src, points, seconds)
      elseif done or not at then
        return done and lists or nil
      end
      ended[at] = (ended[at] or 0) + 1
      if ended[at] == CHANCES then
        return nil, at, lists
      end
    end
  end

  function far.keep_binaries(yes)
    self.keeping = yes
    program.keep_binaries(yes)
    if self.worker and not self.worker.lost then
      self.worker:call("clshell.ladder.program", "keep_binaries", yes)
    end
  end

  function far.note()
    return src.note and src.note() or self.notes[number]
  end

  function far.process()
    return self.reason and "measured without a worker process: "
      .. self.reason or nil
  end

  return far
end

--- link:close()
--- Ends the process; closing twice is fine.
function Link:close()
  if self.worker then
    self.worker:close()
  end
  self.worker = nil
end

Link.__close = Link.close

return M

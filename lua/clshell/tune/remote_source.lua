-- tune/remote_source.lua - a source whose points are built, checked and
-- measured in a worker process, which a point may hang or crash: that costs
-- the point. This file is used at both ends. The rest of a search, and the run
-- store, stay in the process of the user.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local interrupt = require "clshell.base.interrupt"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local workers = require "clshell.calls"

local M = {}

local NAME = "clshell.tune.remote_source"
local START = 60 -- seconds for the start, and to take the arguments
M.LIMIT = 30 -- seconds of a phase
local CHANCES = 2 -- runs in turns of a point that ends the process

local served -- the source, in the worker process or without one

--- remote_source.open(module, learned, efforts, ...)
--- In the worker: makes a source again by the source(...) of its module, for
--- measurements of these lengths.
function M.open(module, learned, efforts, ...)
  for name, effort in pairs(efforts) do
    protocol.efforts[name] = effort
  end
  served = require(module).source(...)
  served.learned = learned
end

--- remote_source.measure(p, best) -> found, note, learned
--- Measures a point. `learned` is the value that the source has
--- learned, if it is new.
function M.measure(p, best)
  local src = served
  local before = src.learned
  local found = src:measure(p, best)
  found.lost = found.status == "failed" and evaluation.lost(src.context)
  return found, src.note and src:note(), src.learned ~= before and src.learned
    or nil
end

--- remote_source.build(launches, x [, stays]) -> {begin, stop, ok}
--- In a builder: builds programs x, a list of the arguments of program.get; or
--- `launches` the point x of the source once, unchecked. `stays`: the point is
--- measured here next, so its programs are kept.
function M.build(launches, x, stays)
  local begin = cl.now()
  local context = served and served.context or cl.context()
  local ok = interrupt.pcall(function()
    local made = launches and served:launch(x) or {}
    for i, one in ipairs(launches and {} or x) do
      made[i] = program.get(context, one.from, one.defines, one.options)
    end
    if not stays then
      program.forget(made)
    end
  end)
  collectgarbage()
  return {begin = begin, stop = cl.now(), ok = ok}
end

--- remote_source.awkward(p) -> reason, or nil
function M.awkward(p)
  return served.awkward and served:awkward(p)
end

--- remote_source.turns(points, seconds) -> list of lists, or nil
function M.turns(points, seconds)
  return evaluation.turns(served, points, seconds)
end

-- A source that measures in a worker process, its `child`. `near` is the
-- source here, which has all other fields and methods; `reason` tells why it
-- measures here, where the process cannot start or take the source.
local Remote = {}

function Remote:__index(key)
  return Remote[key] or self.near[key]
end

-- The arguments of remote_source.open for a source.
local function recipe(src)
  local efforts = {}
  for name, effort in pairs(protocol.efforts) do
    efforts[name] = {table.unpack(effort)}
    for key, value in pairs(effort) do
      efforts[name][key] = value
    end
  end
  return src.module, src.learned, efforts, src:again()
end

-- Starts the process, with the source. Returns whether the start succeeded, or
-- nil and a reason.
local function start(self)
  local child, ok, reason = self.child, true
  if child then
    child.opts.limit = START
    ok, reason = child:restart()
  else
    child, reason = workers.start{limit = START, device = cl.device().index}
  end
  if not (child and ok) then
    return nil, reason
  end
  self.child = child
  local taken, refused = child:call(NAME, "open", recipe(self.near))
  child.opts.limit = self.limit
  return taken, refused
end

-- Whether the process runs. Where it cannot start, this process serves; a
-- process that was lost and does not start again raises.
function Remote:ready()
  if self.reason then
    return false
  elseif self.child and not self.child.lost then
    return true
  end
  local again = self.child ~= nil
  local ran, ok, reason = interrupt.pcall(start, self)
  if not ran then
    ok, reason = nil, type(ok) == "table" and ok.message or tostring(ok)
  end
  if not ok and again then
    cl.error("tune: the worker process does not start again: " .. reason)
  elseif not ok then
    self.reason = tostring(reason):match "^[^\n]*"
    self:close()
  end
  return ok
end

-- Calls a function of this file in the process, or here where there is none.
-- Returns true and results; nil, a reason and a number where the process is
-- lost.
function Remote:call(name, ...)
  if self:ready() then
    local results = table.pack(self.child:call(NAME, name, ...))
    if results[1] or self.child.lost then
      return table.unpack(results, 1, results.n)
    end
    self.reason = results[2] -- it cannot be sent
    self:close()
  end
  served = self.near
  return true, M[name](...)
end

-- The call that makes the source in another process, for parcel.pack.
function Remote:opening()
  return NAME, "open", recipe(self.near)
end

function Remote:measure(p, best)
  local near = self.near
  local done, found, note, learned = self:call("measure", p, best)
  if not done then
    return {status = "failed", reason = found}
  end
  self.remark = note or rawget(self, "remark")
  near.learned = learned or near.learned
  if self.child then
    self.child.lost = found.lost ~= nil and found.lost ~= false
  end
  if self.child and found.record then
    near:describe(found.record, p)
    record.keep(found.record)
  end
  return found
end

function Remote:worker()
  return self:ready() and self.child or nil
end

function Remote:awkward(p)
  local done, reason = self:call("awkward", p)
  return reason, not done and "failed" or nil
end

function Remote:turns(points, seconds)
  local ended = {}
  while true do
    local done, lists, at = self:call("turns", points, seconds)
    if done or not at then
      return done and lists or nil
    end
    ended[at] = (ended[at] or 0) + 1
    if ended[at] == CHANCES then
      return nil, at, lists
    end
  end
end

function Remote:note()
  return self.near.note and self.near:note() or rawget(self, "remark")
end

function Remote:process()
  return self.reason and "measured without a worker process: " .. self.reason
    or nil
end

--- remote:close()
--- Ends the process; closing twice is fine.
function Remote:close()
  if self.child then
    self.child:close()
  end
  self.child = nil
end

Remote.__close = Remote.close

--- remote_source.new(source [, limit]) -> source
--- A source that measures in a worker process, each phase in `limit` seconds,
--- for a source that another process can make again. The process starts when
--- the first point is measured, and ends with remote:close().
function M.new(src, limit)
  return setmetatable({near = src, limit = limit or M.LIMIT}, Remote)
end

return M

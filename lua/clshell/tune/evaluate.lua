-- tune/evaluate.lua - configurations come from a source: ladder.lua for the
-- rungs of a family, kernel.lua for a kernel of the user's. It says the reason
-- against a configuration, builds, checks and measures it. This file has the
-- parts that both need. A source is a table:
--   space, spaces     the points, and those of each rung where several run
--   name, title       of the results
--   first             points to begin with, the default configuration first
--   split(p)          the parameters of a point, and its rung or nil
--   refusal(p)        the reason of the device, before anything is built
--   measure(p, best)  {status, reason, record}, status as in tune, `log` of a
--                     failed build, the seconds `sampled` in samples and
--                     `building` in builds; or {ms, n, rel, at, stored} in
--                     place of a record. best: the least seconds so far; a
--                     time far above is not refined
--   programs(p)       what program.get takes for its programs, plain values: a
--                     list of {from, defines, options}; may be missing
--   launch(p)         builds it and runs it once, unchecked; returns programs
--                     to forget, or nothing
--   number, opening() of a source made again in another process: its number
--                     there, and the call that makes it; see remote.lua
--   worker()          the worker process that measures, for calls; nil where
--                     this process does. May be missing
--   keep_binaries(yes)  program.keep_binaries where it measures; may be
--                     missing
--   setting(p)        a text that tells equal measurements; nil: never equal;
--                     and the hash of its source
--   subject(p)        of the protocol, for turns; after refusal and measure
--   resource(p, name) see evaluate.resource; after measure
--   awkward(p)        a reason against it on shapes that fit no tile
--   note()            a line about the source, or nil
--   turns(points, seconds)  in place of subject: see evaluate.turns
--   again()           values for evaluate.again in another process, see
--                     remote.lua; nil: it works in this one only
--   learned           a value that measure has found and that the source made
--                     again is to know
-- One of several shapes, see shapes.lua, has parts, the sources of the shapes,
-- and measures with a function look(source, p, row, race), which fills the row
-- of a shape; its decide(rows, winner, seconds, proves) is its own.
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local phase = require "clshell.base.phase"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local race = require "clshell.tune.race"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = {}

--- evaluate.reason(e) -> string
--- The first line of an error of the device or the compiler. A mistake in the
--- caller's Lua, and Ctrl-C, are raised again.
function M.reason(e)
  if interrupt.is(e) or type(e) ~= "table" or e.message == nil then
    error(e, 0)
  end
  local why = e.diagnostics and e.diagnostics[1]
  return e.message:match "^[^\n]*" .. (why and ": " .. why.text or "")
end

--- evaluate.lost(context) -> reason, or nil
--- The failure of the simplest work on a device, where it fails.
function M.lost(context)
  local ok, e = interrupt.pcall(function()
    local b <close> = cl.buffer("int", 1, 0, {context = context})
    b:read():close()
  end)
  return not ok and M.reason(e) or nil
end

--- evaluate.unbuilt(e) -> {status, reason, log}
--- A failed build as the answer of a source.
function M.unbuilt(e)
  return {status = "build", reason = M.reason(e), log = tostring(e)}
end

local noted = 0 -- seconds of builds that an answer has

--- evaluate.ended(r, sampled) -> {status, reason, record, sampled, building}
--- The record of a measurement, which took so many seconds, as the answer of a
--- source.
function M.ended(r, sampled)
  local building = program.seconds - noted
  noted = program.seconds
  return {status = r.status, reason = r.error, record = r, sampled = sampled,
    building = building}
end

--- evaluate.row(source, p) -> {point, rung, config}
--- The row of a point, to be filled.
function M.row(src, p)
  local own, rung = src.split(p)
  local row = {point = own, rung = rung}
  local points = rung and src.spaces[rung] or not rung and src.space
  row.config = points and points:tostring(own) or ""
  return row
end

--- evaluate.fill(row, found)
--- The answer of a source as the fields of a row.
function M.fill(row, found)
  local r = found.record
  row.status, row.reason, row.record = found.status, found.reason, r
  row.ms, row.n = found.ms or r and r.ms, found.n or r and r.n
  row.rel = found.rel or r and r.lo and r.median > 0
    and (r.hi - r.lo) / 2 / r.median or nil
  row.at, row.stored = found.at, found.stored
  row.log = found.log or r and r.log
end

--- evaluate.timed(row) -> boolean
--- Whether a row has a time; nil has none.
function M.timed(row)
  return row and row.ms ~= nil and (row.status == "ok" or row.status == "slow")
end

--- evaluate.turns(source, points, seconds) -> list of lists, or nil
--- The seconds of points of a source in turns, see race.turns. After nil the
--- number of the point that ended the process of the turns, and the reason.
function M.turns(src, points, seconds)
  if src.turns then
    return src.turns(points, seconds)
  end
  local subjects, spare = {}, nil
  for i, p in ipairs(points) do
    phase.begin("ran in turns", false, i)
    local subject = src.subject(p)
    if not subject then
      return nil
    end
    if src.mode == "cold" then
      if not spare then
        local _, bytes = timer.plan_cold(src.context.device)
        spare = timer.flush(subject, bytes)
      else
        subject.before, subject.single = subjects[1].before, true
      end
    end
    subjects[i] = subject
  end
  local lists = race.turns(subjects, seconds)
  if spare then
    spare:close()
  end
  return lists
end

--- evaluate.resource(name, kernel, declared) -> bytes, or nil
--- What a kernel takes: "bytes" of its program as the driver keeps it,
--- "local_bytes" of a group, "private_bytes" of a work-item. `declared`: the
--- local memory that the source of the configurations names itself.
function M.resource(name, kernel, declared)
  if name == "local_bytes" then
    return math.max(kernel.local_mem_size, declared or 0)
  elseif name == "private_bytes" then
    return kernel.private_mem_size
  end
  local ok, binary = interrupt.pcall(kernel.program.binary, kernel.program,
    {raw = true})
  return ok and #binary or nil
end

--- evaluate.setting(context, ...) -> string
--- A hash of all that a measurement depends on: the device, its driver, and
--- the strings, numbers and flat tables that follow.
function M.setting(context, ...)
  local words = {protocol.version, cl.version,
    cachefile.identity(context.device)}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" then
      local list = {}
      for _, key in ipairs(text.keys(x)) do
        list[#list + 1] = ("%s=%s"):format(key, tostring(x[key]))
      end
      x = table.concat(list, "\1")
    end
    words[#words + 1] = tostring(x)
  end
  return cachefile.hash(table.concat(words, "\0"))
end

-- The words of evaluate.identity, to a depth.
local function identify(x, depth, words)
  local class = text.class(x)
  if (class == "Array" or class == "Buffer") and not x.closed then
    words[#words + 1] = x.type .. text.shape(x.shape)
    local sum = class == "Array" and x:summary() or {}
    for _, name in ipairs(text.keys(sum)) do
      words[#words + 1] = ("%s=%s"):format(name, tostring(sum[name]))
    end
  elseif type(x) == "function" then
    local dumped, code = pcall(string.dump, x, true)
    words[#words + 1] = dumped and cachefile.hash(code) or "C function"
    for i = 1, dumped and depth > 0 and math.huge or 0 do
      local name, held = debug.getupvalue(x, i)
      if not name then
        break
      end
      identify(held, depth - 1, words)
    end
  elseif type(x) == "table" or class and class ~= "Value"
      and class ~= "Local" then
    words[#words + 1] = class or "table"
  else
    words[#words + 1] = tostring(x)
  end
end

--- evaluate.identity(...) -> string
--- A text that tells values apart as far as that can be told in little time:
--- an Array by its type, its shape and its summary, a Buffer by its type and
--- its shape, a function by its code and the values outside that it uses.
function M.identity(...)
  local words = {}
  for i = 1, select("#", ...) do
    identify((select(i, ...)), 2, words)
    words[#words + 1] = ";"
  end
  return table.concat(words, " ")
end

--- evaluate.sizes(x) -> string
--- The sizes of a global or local range as text: a number, or a list.
function M.sizes(x)
  return type(x) == "table" and text.shape(x) or tostring(x)
end

--- evaluate.options(opts) -> table
--- The options of bench that a search passes on.
function M.options(opts)
  return {roof = false, tag = opts.tag, samples = opts.samples,
    cache = opts.cache, type = opts.type}
end

return M

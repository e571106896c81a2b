-- results/marks.lua - marks in kernels: the kernel built with them, and from
-- the bytes that work-groups write the phases of each on the host's clock
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local program = require "clshell.ladder.program"

local M = {}

local PLACES = 256 -- of a track, see kernels/show/mark.cl

-- Whether a text of a program, or a file that it includes, has marks.
local function has_marks(p)
  local found = p.source and p.source:find("MARKS)", 1, true)
  for _, path in ipairs(p.source and p:info().files or {}) do
    found = found or (file.read(path) or ""):find("MARKS)", 1, true)
  end
  return found
end

--- marks.build(kernel) -> Kernel with marks; or false and, where its source
--- has marks, the reason
function M.build(kernel)
  local given = kernel.program
  local p = program.original(given)
  if p.cuda or not has_marks(p) then
    return false
  end
  local built, reason = interrupt.pcall(function()
    local opts = {context = p.context, options = p.options,
      name = p:info().name}
    local marked = cl.build(assert(file.read(cl.home
      .. "/kernels/show/mark.cl")) .. p.defines .. p.source, opts)
    if p ~= given then
      marked = assert(require "clshell.ladder.ptx".rebuild(marked, opts))
    end
    return marked[kernel.name]
  end)
  if built then
    return reason
  end
  reason = tostring(reason)
  return false, reason:find "no clock" and "the device has no clock for marks"
    or reason:match "[^\n]*"
end

local function gcd(a, b)
  return b == 0 and a or gcd(b, a % b)
end

--- marks.read(bytes, from, to, started) -> {tracks =, groups =, ...}
--- The phases in the marks of a command that ran between the moments `from`
--- and `to`, the first of which is `started` on the device's clock. Times that
--- lie within the command are of that clock; others, of an unknown rate, are
--- stretched over the command (mapped = false). A track of a work-group: group
--- and track, from 0, phases {name, from, to}, marks that found no place
--- (lost). step: the ticks by which the clock goes on.
function M.read(bytes, from, to, started)
  local tracks, least, most, step, groups = {}, math.huge, 0, 0, 0
  for slot = 0, #bytes // (16 * PLACES) - 1 do
    local at = 16 * PLACES * slot + 1
    local group, count = ("=I8I8"):unpack(bytes, at)
    local track = {group = group - 1, track = slot % 8, phases = {},
      lost = math.max(0, count - PLACES + 1)}
    for i = 1, math.min(count, PLACES - 1) do
      local name, time = ("=I8I8"):unpack(bytes, at + 16 * i)
      track.phases[i] = {name = ("<I8"):pack(name):match "^%Z*", from = time}
      least, most = math.min(least, time), math.max(most, time)
      step = gcd(time - least, step)
    end
    if count > 0 then
      local before = tracks[#tracks]
      groups = groups + (before and before.group == group - 1 and 0 or 1)
      tracks[#tracks + 1] = track
    end
  end
  local ends = started + to - from
  local mapped = least >= started - step and most <= ends + step
  local scale = (to - from) / math.max(most - least, 1)
  local function moment(time)
    return mapped and math.max(from, math.min(to, from + time - started))
      or from + math.floor((time - least) * scale)
  end
  for _, track in ipairs(tracks) do
    for i, p in ipairs(track.phases) do
      p.from = moment(p.from)
      if i > 1 then
        track.phases[i - 1].to = p.from
      end
    end
    table.remove(track.phases) -- the last mark is an end
  end
  return {tracks = tracks, groups = groups, step = step, mapped = mapped}
end

return M

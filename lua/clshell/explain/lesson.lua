-- explain/lesson.lua - lesson: the limit of a result in one sentence, and the
-- reading of a ladder
-- SPDX-License-Identifier: MIT

local ladder = require "clshell.explain.ladder"
local reading = require "clshell.explain.reading"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

--- lesson.read(r [, opts]) -> table
--- The limit of a result of bench on this device, with its grounds: limit
--- ("memory", "compute", "local memory", "launch overhead", "occupancy",
--- "unknown", or nil for a result without a time), share (of that roof), text
--- (the sentence of lesson, which printing shows), roofs (a list of {limit,
--- share, least (seconds), words}, the nearest first), traffic (see
--- traffic.of), occupancy ({share, groups, items, by, registers, words,
--- source}) or reason (why it is unknown), one_lane (on a CPU, the length of
--- its vectors, where one lane would be as fast), vectors (that length, where
--- one lane would be slower), over (a roof of the traffic model below the
--- result, which the model overcounts), narrow ({line, file, bytes, count, op,
--- looped, text}, by asm: the source line with the most loads of 4 bytes or
--- fewer, in loops where there are any, and no wider one). Options as for
--- lesson.
--- Example:
--- local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
--- local reading = lesson.read(r)
--- print(reading.limit, reading.share)
function M.read(r, opts)
  local read = reading.read(r, opts)
  local own = opts == nil or not (opts.device or opts.peaks or opts.context)
  if own and (read.limit == "memory" or read.limit == "unknown")
      and r.family and r.device then
    read.narrow = reading.narrow(r)
  end
  local n = read.narrow
  if n then
    read.text = ("%s Line %d of %s (%s) loads %s at a time, %s in the "
      .. "machine's code: %s%s."):format(read.text, n.line, n.file, n.text,
      text.count(n.bytes, "byte"), n.op, text.count(n.count, "load"),
      n.looped and " in loops" or "")
  end
  return read
end

--- lesson(r [, opts]) -> string
--- One sentence on the limit of a result of bench on this device: memory,
--- compute, local memory, launch overhead or occupancy, with its numbers. A
--- result at 60 % of a roof or more is limited by it; roofs are the
--- measured peaks (see peaks) over the result's FLOP and bytes and over the
--- bytes that the rung moves through the caches and local memory (see
--- traffic.of). A launch of 20 % of the time limits. Where no roof is near,
--- occupancy remains: fewer work-groups than units, or, on NVIDIA, the
--- work-items on a multiprocessor by registers and local memory. Where
--- occupancy is unknown or high, the sentence says so. Where memory limits or
--- the limit is unknown, and the machine's code tells it (see asm), a second
--- sentence names the source line that loads 4 bytes or fewer at a time.
--- lesson.read has the parts, lesson.ladder reads a whole ladder.
--- Options:
---   device   session's   the Device that the result is of
---   peaks    peaks()     a table of measured peaks
---   use      the driver's  a table {registers, local_bytes, source}
---   context  session's   the Context of another device
--- Example:
--- local r = bench("gemm.naive", {64, 64, 64}, nil, {effort = "quick"})
--- print(lesson(r))
function M.lesson(r, opts)
  local words = M.read(r, opts).text
  return (text.say(words, words))
end

--- lesson.ladder(rows [, opts]) -> string
--- A reading of a ladder's results, in lines as wide as the window: which step
--- paid (its factor over the rung it builds on, 5 % at least), which did not
--- on this device, and why, as far as the traffic model and the readings tell;
--- then the limit of the best rung. Each factor has the range that another run
--- may show: by the quartiles of the samples where these are within 10 %, else
--- by all samples; twice as wide below 6 samples or where the device was
--- slowed ("clock!"). A step whose range leaves the answer open is "noisy", on
--- a CPU also a step below x1.25, as runs on it differ that much unnoticed.
--- Where the model sees no cause, both rungs run at a small size on the
--- simulator (see access), and the source line with the largest difference is
--- told. Of several rows of a rung (its tile sizes, say) the fastest counts,
--- beside the other rung's row with the same tile. Options as for lesson.
--- Options:
---   width   window  columns
---   access  true    false: the simulator is not asked
--- Example:
--- local rows = {}
--- for _, name in ipairs{"naive", "tiled"} do
---   rows[#rows + 1] = bench("gemm." .. name, {64, 64, 64}, nil,
---     {effort = "quick"})
--- end
--- print(lesson.ladder(rows))
M.ladder = ladder.text

return require "clshell.base.lazy".callable(M, "lesson")

-- results/record_text.lua - the text of a result of bench, as the prompt
-- prints it
-- SPDX-License-Identifier: MIT

local fields = require "clshell.results.fields"
local quantity = require "clshell.base.quantity"
local sensors = require "clshell.measure.sensors"
local text = require "clshell.base.text"

local M = {}

local WIDTH = 79 -- columns of a result's text

-- Adds a value to words, if there is one, in a format with further values.
local function add(words, value, format, ...)
  if value then
    words[#words + 1] = format:format(value, ...)
  end
end

local function time_words(r, number)
  local words, factor, unit = {}, 1e-3, "ms"
  if r.median < 1e-6 then
    factor, unit = quantity.prefix(r.median, "s")
  end
  add(words, number(r.median / factor), r.lo and "%s %s [%s, %s] 95%%"
    or "%s %s", unit, r.lo and number(r.lo / factor),
    r.hi and number(r.hi / factor))
  add(words, r.n, (r.discarded or 0) > 0 and "n=%d (%d dropped)" or "n=%d",
    r.discarded)
  add(words, r.n ~= 1 and number(r.min / factor), "min %s")
  return words
end

local function how_words(r)
  local words, event = {}, r.timer == "event"
  add(words, r.mode, r.cache and "%s (%s)" or "%s", r.cache)
  if event and r.tick_ns then
    add(words, r.tick_ns, "event (tick %.4g ns)")
  else
    add(words, r.timer, "%s")
  end
  add(words, r.batch and r.batch > 1 and r.batch, "batch %d")
  local gap = event and r.gap
  if gap and gap >= 1 then
    add(words, quantity.number(gap + 1, 2), "wall %sx")
  else
    add(words, gap and 100 * gap, "wall %+.1f%%")
  end
  add(words, r.sum and r.span and r.sum * 1e3, "inside the commands %.4g ms")
  return words
end

local function rate_words(r, number)
  local words = {}
  local work = quantity.work(r.type)
  add(words, r.gflops and number(r.gflops), "%s G" .. work .. "S")
  add(words, r.gbs and number(r.gbs), "%s GB/s")
  add(words, r.ai, "%.3g " .. work .. "/B")
  add(words, r.roof and 100 * r.roof, "%.3g%% of the measured roof (%s)",
    r.bound)
  add(words, r.roof_clock and 100 * r.roof_clock, "%.3g%% at its clock")
  add(words, r.err, not r.family and r.err_bound and "error %.1e of %.1e, %s"
    or "error %.1e", r.err_bound, r.verify)
  add(words, words[1] and r.verify == "unchecked" or nil, "unchecked")
  return words
end

-- What the device told of itself meanwhile.
local function sensor_words(r)
  local words, c = {}, r.counters or {}
  add(words, r.mhz and sensors.clock_words(r.mhz, r), "%s")
  add(words, r.watts, r.watts_limit and "%.0f W of %.0f" or "%.0f W",
    r.watts_limit)
  if r.joule then
    local factor, unit = quantity.prefix(r.joule, "J")
    add(words, quantity.number(r.joule / factor, 3), "%s %s", unit)
  end
  add(words, r.celsius, "%.0f C")
  for _, name in ipairs{"tensor", "fp64", "fp32", "fp16", "dram"} do
    local busy = (c[name] or 0) >= 0.01 and 100 * c[name]
    add(words, busy, name .. " busy %.0f%%")
  end
  add(words, c.cycles and c.instructions and c.instructions / c.cycles,
    "%.2g instructions a cycle")
  return words
end

-- Adds lines of whole words; with `behind` the words continue the last line,
-- if all of them have room there.
local function flow(lines, words, behind)
  local all = table.concat(words, "  ")
  if behind and #lines[#lines] + 2 + #all <= WIDTH then
    lines[#lines] = lines[#lines] .. "  " .. all
    return
  end
  for i, word in ipairs(words) do
    if i == 1 or #lines[#lines] + 2 + #word > WIDTH then
      lines[#lines + 1] = ""
    end
    lines[#lines] = lines[#lines] .. "  " .. word
  end
end

--- record_text.text(result) -> string
--- A result of bench as text.
function M.text(r)
  -- with the digits that the result deserves
  local function number(x)
    return fields.number(x, r)
  end
  local lines = {text.fold(("%s %s %s"):format(r.name, r.config or "",
    r.title or ""):gsub(" +", " "):gsub(" $", ""), WIDTH)}
  if r.ms then
    flow(lines, time_words(r, number), true)
    flow(lines, how_words(r))
    flow(lines, rate_words(r, number))
    flow(lines, sensor_words(r))
  end
  if r.flags and #r.flags > 0 then
    lines[#lines + 1] = "  " .. table.concat(r.flags, ", ")
  end
  lines[#lines + 1] = r.note and text.fold("  " .. r.note, WIDTH) or nil
  return table.concat(lines, "\n")
end

return M

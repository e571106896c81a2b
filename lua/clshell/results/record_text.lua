-- results/record_text.lua - the text of a result of bench, as the prompt
-- prints it
-- SPDX-License-Identifier: MIT

local fields = require "clshell.results.fields"
local quantity = require "clshell.base.quantity"

local M = {}

local printing = {}

local WIDTH = 79 -- columns of a result's text

-- The words that f(add) adds by add(value, format); nil and false add nothing.
local function words_of(f)
  local words = {}
  f(function(value, format, ...)
    if value then
      words[#words + 1] = format:format(value, ...)
    end
  end)
  return words
end

-- A function that writes numbers with the digits that a result deserves.
local function digits_of(r)
  return function(x)
    return x and fields.number(x, r)
  end
end

local function time_words(r)
  local number, factor, unit = digits_of(r), 1e-3, "ms"
  if r.median < 1e-6 then
    factor, unit = quantity.prefix(r.median, "s")
  end
  return words_of(function(add)
    add(number(r.median / factor), r.lo and "%s %s [%s, %s] 95%%" or "%s %s",
      unit, r.lo and number(r.lo / factor), r.hi and number(r.hi / factor))
    add(r.n, (r.discarded or 0) > 0 and "n=%d (%d dropped)" or "n=%d",
      r.discarded)
    add(r.n ~= 1 and number(r.min / factor), "min %s")
  end)
end

local function how_words(r)
  local event = r.timer == "event"
  return words_of(function(add)
    add(r.mode, r.cache and "%s (%s)" or "%s", r.cache)
    if event and r.tick_ns then
      add(r.tick_ns, "event (tick %.4g ns)")
    else
      add(r.timer, "%s")
    end
    add(r.batch and r.batch > 1 and r.batch, "batch %d")
    local gap = event and r.gap
    if gap and gap >= 1 then
      add(quantity.number(gap + 1, 2), "wall %sx")
    else
      add(gap and 100 * gap, "wall %+.1f%%")
    end
    add(r.sum and r.span and r.sum * 1e3, "inside the commands %.4g ms")
  end)
end

local function rate_words(r)
  local number = digits_of(r)
  return words_of(function(add)
    add(number(r.gflops), "%s GFLOPS")
    add(number(r.gbs), "%s GB/s")
    add(r.ai, "AI %.3g")
    add(r.roof and 100 * r.roof, "%.3g%% of the measured roof (%s)", r.bound)
    add(r.err, "error %.1e")
  end)
end

-- Adds lines of whole words; with `behind` the words continue the last line,
-- if all of them have room there.
local function flow(lines, words, behind)
  local text = table.concat(words, "  ")
  if behind and #lines[#lines] + 2 + #text <= WIDTH then
    lines[#lines] = lines[#lines] .. "  " .. text
    return
  end
  local line = ""
  for _, word in ipairs(words) do
    if line ~= "" and #line + 2 + #word > WIDTH then
      lines[#lines + 1], line = line, ""
    end
    line = line .. "  " .. word
  end
  if #words > 0 then
    lines[#lines + 1] = line
  end
end

function printing.__tostring(r)
  local lines = {(("%s %s %s"):format(r.name, r.config or "",
    r.title or ""):gsub(" +", " "):gsub(" $", ""))}
  if r.ms then
    flow(lines, time_words(r), true)
    flow(lines, how_words(r))
    flow(lines, rate_words(r))
  end
  if r.flags and #r.flags > 0 then
    lines[#lines + 1] = "  " .. table.concat(r.flags, ", ")
  end
  lines[#lines + 1] = r.note and "  " .. r.note or nil
  return table.concat(lines, "\n")
end

-- record_text.give(result) -> result
-- Makes a result print as text.
function M.give(r)
  return setmetatable(r, printing)
end

return M

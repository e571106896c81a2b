-- measure/record.lua - the record of a measurement: a table of the times, the
-- rates, and the conditions under which they were measured
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local quantity = require "clshell.base.quantity"
local record_fields = require "clshell.measure.record_fields"
local rungs = require "clshell.ladder.rung"
local workload = require "clshell.ladder.workload"

local M = {}

M.tag = nil -- of all results without a tag of their own

local meta = {}

local WIDTH = 79 -- columns of a result's text

-- The words that f(add) adds by add(value, format): values of nil or false are
-- left out.
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
    return x and record_fields.number(x, r)
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

-- Adds lines of whole words; `behind` allows the last line to go on, if all
-- words have room there.
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

function meta.__tostring(r)
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

-- The device of a context, as a record keeps it.
function M.device(context)
  local dev = context.device
  return {name = dev.name, platform = tostring(dev.platform),
    type = dev.type, driver = dev.driver_version, version = dev.version,
    compute_units = dev.compute_units}
end

-- A new result; context is nil for routines of the host.
function M.new(name, context, opts)
  local fault = record_fields.fault{name = name, tag = opts.tag,
    type = opts.type, flop = opts.flop, bytes = opts.bytes}
  if fault then
    cl.error("bench: " .. fault)
  end
  return setmetatable({
    name = name, flags = {}, ok = true, status = "ok",
    device = context and M.device(context) or nil,
    tag = opts.tag or M.tag, time = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    protocol = protocol.version, version = cl.version,
  }, meta)
end

function M.note(r, note)
  r.note = r.note and r.note .. "; " .. note or note
end

-- Describes a rung in its result.
function M.describe_rung(r, family, rung, p)
  r.family, r.kernel = family.name, rung.name
  r.params, r.config = p, rungs.tostring(rung, p)
  local source
  source, r.source_hash = program.source(rung)
  -- peaks() measures no matrix units: their kernels have no compute roof
  if source and (source:find("mma.sync", 1, true)
      or source:find("wgmma.", 1, true)) then
    r.unit = "matrix"
  end
end

function M.describe_shape(r, family, s)
  r.shape, r.type, r.title = family.spec.sizes(s), s.type, family.spec.title(s)
end

-- Describes a plan in its result: local size, defines, build options.
function M.describe_plan(r, plan)
  local rung, p = plan.rung, plan.params
  local s = plan.own_shape or plan.shape
  local _, size = rung.range(s, p)
  r["local"] = workload.local_text(size)
  r.defines = rungs.defines(rung, p, s)
  r.options = plan.commands[plan.main].launch.kernel.program.options
end

-- Works out the rates of a result with a time and r.flop or r.bytes.
function M.rate(r)
  if r.median and r.median > 0 then
    r.gflops = r.flop and r.flop > 0 and r.flop / r.median / 1e9 or nil
    r.gbs = r.bytes and r.bytes > 0 and r.bytes / r.median / 1e9 or nil
  end
end

-- Judges a result. A wrong result gets an error in place of a rate.
function M.judge(r, verdict)
  r.err, r.err_bound, r.ok = verdict.err, verdict.bound, verdict.ok
  r.verify = verdict.mode
  if r.ok then
    return true
  end
  local bits = r.verify == "every bit"
  local size = bits and ("%d elements"):format(r.err)
    or ("err=%.1e, bound %.1e"):format(r.err, r.err_bound)
  local at = verdict.row and (" at row %d%s"):format(verdict.row,
    verdict.col and (", column %d"):format(verdict.col) or "") or ""
  r.status, r.error = "wrong", size .. at
  M.note(r, ("WRONG %s%s"):format(size, at))
  return false
end

-- Adds the remarks about a measured result to its note.
function M.explain(r)
  if r.few then
    M.note(r, r.few)
  end
  if r.main then
    M.note(r, ("the kernel alone %.4g ms"):format(r.main * 1e3))
  end
  if record_fields.flagged(r, "no event timer") then
    M.note(r, ("timed by the host's clock%s"):format(r.reason
      and ": " .. r.reason or ""))
  end
  r.few, r.reason = nil, nil
end

-- Ends a result without a rate; samples taken so far stay. The note says
-- "status: message" unless it is given.
function M.fail(r, status, message, note)
  r.status, r.ok, r.error = status, false, message
  r.gflops, r.gbs, r.roof, r.bound = nil, nil, nil, nil
  M.note(r, note or ("%s: %s"):format(status, message))
end

return M

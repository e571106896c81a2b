-- record.lua - the result of a measurement: a table with the times, the rates
-- and all that is needed to know later what was measured, and how
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.measure.cachefile"
local cl = require "cl"
local protocol = require "clshell.measure.protocol"
local rungs = require "clshell.family.rung"
local target = require "clshell.measure.workload"

local M = {}

M.tag = nil -- of all results that name no other

local meta = {}

local WIDTH = 79 -- columns of a result's text

local function time_words(r)
  return {
    ("%.4g ms%s"):format(r.ms, r.lo and (" [%.4g, %.4g] 95%%"):format(
      r.lo * 1e3, r.hi * 1e3) or ""),
    ("n=%d%s"):format(r.n, (r.discarded or 0) > 0
      and (" (%d dropped)"):format(r.discarded) or ""),
    ("min %.4g"):format(r.min * 1e3),
  }
end

local function how_words(r)
  local words = {}
  local function add(format, ...)
    words[#words + 1] = format:format(...)
  end
  if r.mode then
    add(r.cache and "%s (%s)" or "%s", r.mode, r.cache)
  end
  add(r.timer == "event" and r.tick_ns and "event (tick %.4g ns)"
    or r.timer or "", r.tick_ns)
  if r.batch and r.batch > 1 then
    add("batch %d", r.batch)
  end
  if r.gap and r.timer == "event" then
    add("wall %+.1f%%", 100 * r.gap)
  end
  if r.sum and r.span then
    add("inside the commands %.4g ms", r.sum * 1e3)
  end
  return words
end

local function rate_words(r)
  local words = {}
  local function add(value, format)
    if value then
      words[#words + 1] = format:format(value)
    end
  end
  add(r.gflops, "%.4g GFLOPS")
  add(r.gbs, "%.4g GB/s")
  add(r.ai, "AI %.3g")
  if r.roof then
    add(100 * r.roof, "%.3g%% of the measured roof (" .. r.bound .. ")")
  end
  add(r.err, "error %.1e")
  return words
end

-- Adds lines with words, none of which is broken; the first words may go
-- behind the last line, where they all have room there.
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

local function device_of(context)
  local dev = context.device
  return {name = dev.name, platform = tostring(dev.platform),
    type = dev.type, driver = dev.driver_version, version = dev.version,
    compute_units = dev.compute_units}
end

-- A new result; context is nil for what runs on the host.
function M.new(name, context, opts)
  return setmetatable({
    name = name, flags = {}, ok = true, status = "ok",
    device = context and device_of(context) or nil,
    tag = opts.tag or M.tag, time = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    protocol = protocol.version, version = cl.version,
  }, meta)
end

function M.note(r, note)
  r.note = r.note and r.note .. "; " .. note or note
end

-- The sizes of a shape: whole numbers only.
local function sizes(s)
  local shape = {}
  for name, value in pairs(s) do
    if math.type(value) == "integer" and name ~= "esize"
        and name ~= "terms" then
      shape[name] = value
    end
  end
  return shape
end

local hashes = {}

--- record.source(rung) -> text, hash; or nil
--- The text of a rung's kernel file, and its hash.
function M.source(rung)
  local source = rung.source
  if not source then
    local f <close> = io.open(rung.path, "rb")
    source = f and f:read("a")
  end
  if source and not hashes[source] then
    hashes[source] = cachefile.hash(source)
  end
  return source, source and hashes[source]
end

-- What a result says of the rung that it is of.
function M.describe_rung(r, family, rung, p)
  r.family, r.kernel = family.name, rung.name
  r.params, r.config = p, rungs.tostring(rung, p)
  local source
  source, r.source_hash = M.source(rung)
  -- peaks() measures no matrix units: what uses them has no compute roof
  if source and (source:find("mma.sync", 1, true)
      or source:find("wgmma.", 1, true)) then
    r.unit = "matrix"
  end
end

function M.describe_shape(r, family, s)
  local spec = family.spec
  r.shape, r.type, r.title = (spec.sizes or sizes)(s), s.type, spec.title(s)
end

-- What a result says of a plan: local size, defines, build options.
function M.describe_plan(r, plan)
  local rung, p = plan.rung, plan.params
  local s = plan.own_shape or plan.shape
  local _, size = rung.range(s, p)
  r["local"] = target.local_text(size)
  r.defines = rungs.defines(rung, p, s)
  r.options = plan.commands[plan.main].launch.kernel.program.options
end

-- Puts the rates into a result that has a time and r.flop or r.bytes.
function M.rate(r)
  if r.median and r.median > 0 then
    r.gflops = r.flop and r.flop > 0 and r.flop / r.median / 1e9 or nil
    r.gbs = r.bytes and r.bytes > 0 and r.bytes / r.median / 1e9 or nil
  end
end

-- Judges a result; where it is wrong, its error takes the place of a rate.
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

-- The words about a measured result that belong into its note.
function M.explain(r)
  if r.few then
    M.note(r, r.few)
  end
  if r.main then
    M.note(r, ("the kernel alone %.4g ms"):format(r.main * 1e3))
  end
  for _, flag in ipairs(r.flags) do
    if flag == "no event timer" then
      M.note(r, ("timed by the host's clock%s"):format(r.reason
        and ": " .. r.reason or ""))
    end
  end
  r.few, r.reason = nil, nil
end

-- A failure of the device, or Ctrl-C: no rates, the samples so far stay.
function M.fail(r, status, message)
  r.status, r.ok, r.error = status, false, message
  r.gflops, r.gbs, r.roof, r.bound = nil, nil, nil, nil
  M.note(r, ("%s: %s"):format(status, message))
end

return M

-- measure/record.lua - makes the record of a measurement: a plain table of the
-- times, the rates, and the conditions under which they were measured
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lazy = require "clshell.base.lazy"
local program = require "clshell.ladder.program"
local protocol = require "clshell.measure.protocol"
local rungs = require "clshell.ladder.rung"
local workload = require "clshell.ladder.workload"

local M = {}

M.tag = nil -- the tag of results without a tag of their own
M.recent = {} -- all results of the session

-- The device of a context, as a record keeps it.
function M.device(context)
  local dev = context.device
  return {name = dev.name, platform = tostring(dev.platform),
    type = dev.type, driver = dev.driver_version, version = dev.version,
    compute_units = dev.compute_units, pretends = dev.pretends}
end

-- Raises unless a value is text, a number, or left out.
local function check_word(name, value)
  local kind = type(value)
  if value ~= nil and kind ~= "string" and kind ~= "number" then
    cl.error(("bench: %s must be a string; got a %s"):format(name, kind))
  end
end

-- A new result; context is nil for routines of the host.
function M.new(name, context, opts)
  check_word("name", name)
  check_word("tag", opts.tag)
  check_word("type", opts.type)
  return {
    name = name, flags = {}, ok = true, status = "ok",
    device = context and M.device(context) or nil,
    host = require("clshell.base.machine").host(),
    tag = opts.tag or M.tag, time = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    protocol = protocol.version, version = cl.version,
  }
end

-- The metatable of results.
M.printing = {
  __tostring = function(r)
    return lazy.above.text_of(r)
  end,
}

-- Keeps a finished result in the session and in the run store.
function M.keep(r)
  table.insert(M.recent, r)
  lazy.above.keep_run(setmetatable(r, M.printing))
end

function M.note(r, note)
  r.note = r.note and r.note .. "; " .. note or note
end

-- Describes a rung in its result.
function M.describe_rung(r, family, rung, p)
  r.family, r.kernel = family.name, rung.name
  r.params, r.config = p, rungs.tostring(rung, p)
  r.input_roundoff = rung.input_roundoff
  local _, hash = program.source(rung)
  r.source_hash = hash
end

-- Describes the arithmetic unit of a plan's kernel, or of a kernel without a
-- rung, for the roof of its result; "fma" is left out.
function M.describe_unit(r, plan, kernel)
  local rung = plan and plan.rung
  local name = rung and (rung.unit or rung.builtin and "fma")
    or require("clshell.ladder.unit").of_kernel(kernel)
  local products = rung and rung.products
  if type(products) == "function" then
    products = products(plan.own_shape or plan.shape, plan.params)
  end
  r.unit, r.products = name ~= "fma" and name or nil, products
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
  local kernel = plan.commands[plan.main].launch.kernel
  r.options = kernel.program.options
  M.describe_unit(r, plan, kernel)
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
  if r.device and r.device.pretends then
    M.note(r, ("limits of %s, the rate of this device"):format(
      r.device.pretends))
  end
  if r.few then
    M.note(r, r.few)
  end
  if r.others and r.others > 0 then
    M.note(r, ("%d other process%s on the device"):format(r.others,
      r.others > 1 and "es" or ""))
  end
  if r.main then
    M.note(r, ("the kernel alone %.4g ms"):format(r.main * 1e3))
  end
  if protocol.flagged(r, "no event timer") then
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

-- The name of the device on which a record was measured, and the driver.
function M.device_of(r)
  if type(r.device) == "table" then
    return r.device.name, r.device.driver
  end
  return type(r.device) == "string" and r.device or nil, r.driver
end

-- Whether a record is refused, failed, wrong, or faster than possible.
function M.fails(r)
  return r.ok == false or r.status ~= nil and r.status ~= "ok"
    and r.status ~= "interrupted" or protocol.flagged(r, "IMPOSSIBLE?")
end

return M

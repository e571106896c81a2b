-- plan.lua - a rung's configuration on its way to the device: its kernel, and
-- the commands that a call consists of
-- SPDX-License-Identifier: MIT

local limits = require "clshell.limits"
local operation = require "clshell.operation"
local program = require "clshell.program"
local rungs = require "clshell.rung"

local M = {}

-- A new kernel object of a rung's configuration.
local function build(rung, p, s, context)
  local options = rung.options and rung.options(p, s)
  local from = {path = rung.path, source = rung.source, name = rung.name}
  local prog = program.get(context, from, rungs.defines(rung, p, s), options)
  return program.kernel(prog, rung.kernel)
end

-- The kernel of a configuration, or nil and why the device cannot run it.
function M.kernel(family, rung, p, s)
  local dev = s.context.device
  local reason = limits.device(family.spec.ints, rung, p, s, dev)
  if reason then
    return nil, reason
  end
  local kernel = build(rung, p, s, s.context)
  local _, size = rung.range(s, p)
  reason = limits.kernel(kernel, size, dev)
  if reason then
    return nil, reason
  end
  return kernel
end

-- Adds the helper launches of `prepare` or `finish` to an operation.
local function helper(family, op, s, once)
  return function(file, name, defines, global, size, ...)
    local path = program.locate(file, {family.folder}, family.name)
    local prog = program.get(s.context, {path = path}, defines)
    local kernel = program.kernel(prog, name)
    op:add(kernel:range(global, size), once, ...)
  end
end

-- The fields of two tables (nil: none) in one; `changes` win.
function M.merged(o, changes)
  local result = {}
  for key, value in pairs(o or {}) do
    result[key] = value
  end
  for key, value in pairs(changes or {}) do
    result[key] = value
  end
  return result
end

-- The operation of a configuration on bound operands, or nil and why the
-- device cannot run it.
function M.record(family, rung, p, o, s, kernel, opts)
  local op = operation.new(opts.queue, opts.after)
  local run = helper(family, op, s, family.spec.prepare_once)
  local own = M.merged(o, rung.prepare and rung.prepare(s, p, o, run))
  local args = (rung.args or family.spec.args)(s, p, own)
  local reason = limits.constants(kernel, args, s.context.device)
  if reason then
    return nil, reason
  end
  op.main = #op.commands + 1
  op:add(kernel:range(rung.range(s, p)), false, table.unpack(args))
  if rung.finish then
    rung.finish(s, p, own, helper(family, op, s, false), o)
  end
  return op
end

return M

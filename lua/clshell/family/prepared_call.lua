-- family/prepared_call.lua - a rung's configuration on its way to the device:
-- its kernel, and the commands that a call consists of
-- SPDX-License-Identifier: MIT

local limits = require "clshell.base.device_limits"
local operation = require "clshell.family.commands"
local program = require "clshell.family.program"
local rungs = require "clshell.family.rung"

local M = {}

-- A new kernel object of a rung's configuration, or nil and why there is none.
local function build(rung, p, s, context)
  local options = rung.options and rung.options(p, s)
  local from = {path = rung.path, source = rung.source, name = rung.name,
    ptx = rung.ptx}
  local prog, reason = program.get(context, from, rungs.defines(rung, p, s),
    options)
  if prog == nil then
    return nil, reason
  end
  return program.kernel(prog, rung.kernel)
end

-- The shape that a rung gets to see: operands as it takes them.
function M.shape(family, rung, s)
  return family.spec.adapt and family.spec.adapt(rung, s) or s
end

-- The kernel of a configuration, or nil and why the device cannot run it.
function M.kernel(family, rung, p, s)
  local dev = s.context.device
  s = M.shape(family, rung, s)
  local reason = limits.device(family.spec.ints, rung, p, s, dev)
  if reason then
    return nil, reason
  end
  local kernel
  kernel, reason = build(rung, p, s, s.context)
  if kernel == nil then
    return nil, reason
  end
  local _, size = rung.range(s, p)
  reason = limits.kernel(kernel, size, dev)
  if reason then
    return nil, reason
  end
  return kernel
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

-- Arguments as a kernel takes them, and how many matrices of a batch they
-- are for, in dimension 2 of the NDRange (nil: that does not apply).
local function pass(family, args)
  if family.spec.pass then
    return family.spec.pass(args)
  end
  return args
end

local function batched(count, global, size)
  if (count or 1) == 1 then
    return global, size
  end
  return {global[1], global[2] or 1, count},
    size and {size[1], size[2] or 1, 1}
end

-- Adds the helper launches of `prepare` or `finish` to an operation.
local function helper(family, op, s, once)
  return function(file, name, defines, global, size, ...)
    local args, count = pass(family, table.pack(...))
    local path = program.locate(file, {family.folder}, family.name)
    local prog = program.get(s.context, {path = path},
      M.merged(defines, {PLACED = count and 1}))
    local kernel = program.kernel(prog, name)
    op:add(kernel:range(batched(count, global, size)), once,
      table.unpack(args, 1, args.n))
  end
end

-- Adds the commands of one launch of a rung, its helpers' around it. Returns
-- why the device cannot run it, or nil.
local function launch(family, op, rung, p, kernel, run, s, o)
  local own = M.merged(o, rung.prepare and rung.prepare(s, p, o, run))
  local args, count = pass(family, (rung.args or family.spec.args)(s, p, own))
  local reason = limits.constants(kernel, args, s.context.device)
  if reason then
    return reason
  end
  op.main = op.main or #op.commands + 1
  op:add(kernel:range(batched(count, rung.range(s, p))), false,
    table.unpack(args, 1, args.n))
  if rung.finish then
    rung.finish(s, p, own, helper(family, op, s, false), o)
  end
end

-- The operation of a configuration on bound operands, or nil and why the
-- device cannot run it.
function M.record(family, rung, p, o, s, kernel, opts)
  local spec, op = family.spec, operation.new(opts.queue, opts.after)
  local run = helper(family, op, s, spec.prepare_once)
  local function add(own_shape, own)
    return launch(family, op, rung, p, kernel, run, own_shape, own)
  end
  local reason
  if spec.stage then
    reason = spec.stage(rung, s, M.shape(family, rung, s), o, run, add)
  else
    reason = add(s, o)
  end
  if reason then
    return nil, reason
  end
  return op
end

return M

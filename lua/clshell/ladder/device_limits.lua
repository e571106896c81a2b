-- ladder/device_limits.lua - the reasons of a device against a launch of a
-- rung, each with both numbers
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.ladder.operands"
local ptx = require "clshell.ladder.ptx"
local text = require "clshell.base.text"

local INT_MAX = 2^31 - 1
local RESERVE = 1024 -- bytes, see NVRESERVE in context.c

local M = {}

-- Whether a number is above a limit; false where the device tells no limit.
local function above(n, limit)
  return math.type(limit) ~= nil and n > limit
end

-- The work-items of a group of `size` (nil: the driver chooses).
local function items(size)
  local group = 1
  for _, n in ipairs(size or {}) do
    group = group * n
  end
  return group
end

-- The reason why the device cannot run the rung with parameters p on shape s;
-- nil where it can. Builds nothing.
function M.device(ints, rung, p, s, dev)
  if s.type == "double" and not dev:has("cl_khr_fp64") then
    return "the device has no double (cl_khr_fp64)"
  elseif s.type == "half" and not rung.half
      and not dev:has("cl_khr_fp16") then
    return "the device has no half (cl_khr_fp16)"
  elseif s.out and s.out ~= s.type and not rung.wide then
    return ("its result is of its operands' type, %s; C is of %s"):format(
      s.type, s.out)
  elseif rung.format and rung.format ~= s.format then
    return ("takes a %s matrix, this one is %s"):format(rung.format:upper(),
      tostring(s.format):upper())
  end
  for _, name in ipairs(ints) do
    if s[name] and s[name] > INT_MAX then
      return ("%s = %.0f, kernels count to %d"):format(name, s[name], INT_MAX)
    end
  end
  local reason = rung.accepts and rung.accepts(dev, s, p)
  if reason then
    return reason
  end
  local bytes = rung.local_bytes and rung.local_bytes(s, p) or 0
  local room = rung.ptx and ptx.local_limit(dev) or dev.local_mem_size
  if above(bytes, room) then
    return ("local memory: needs %s, device has %s"):format(
      text.bytes(bytes), text.bytes(room))
  end
  local _, size = rung.range(s, p)
  local most = dev.max_work_item_sizes
  for i, n in ipairs(size or {}) do
    local limit = most and most[1] and (most[i] or 1) -- no such dimension: 1
    if above(n, limit) then
      return ("local %s: dimension %d allows %d on this device"):format(
        text.shape(size), i, limit)
    end
  end
  if above(items(size), dev.max_work_group_size) then
    return ("local %s = %.0f work-items, device allows %d"):format(
      text.shape(size), items(size), dev.max_work_group_size)
  end
end

-- The reason why a limit of a rung's built kernel refuses a launch, or nil.
function M.kernel(rung, kernel, size, dev)
  if above(items(size), kernel.work_group_size) then
    return ("local %s = %.0f work-items, this kernel allows %d on the device")
      :format(text.shape(size), items(size), kernel.work_group_size)
  end
  local reserve = dev.nv_compute_capability_major and RESERVE or 0
  local room = rung.ptx and ptx.local_limit(dev) or dev.local_mem_size
  if above(kernel.local_mem_size - reserve, room) then
    return ("local memory: the kernel takes %s, device has %s"):format(
      text.bytes(kernel.local_mem_size), text.bytes(room))
  end
end

-- The reason why a Buffer is too large for constant memory, or nil.
function M.constants(kernel, args, dev)
  for i, param in ipairs(kernel.args) do
    local b = args[i]
    if param.space == "constant" and arguments.is_buffer(b)
        and above(b.bytes, dev.max_constant_buffer_size) then
      return ("%s is %s, the device's constant buffer %s"):format(param.name,
        text.bytes(b.bytes), text.bytes(dev.max_constant_buffer_size))
    end
  end
end

return M

-- ladder/packed.lua - operands that were packed once for a rung, which later
-- calls take in the place of the Buffer: their class, and the rung that they
-- leave to a call
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local CLASS = "Packed"

local methods = {}
local meta = {__name = CLASS, __metatable = false, __index = methods}

--- packed.is(x) -> boolean
--- Whether x is a packed operand, open or closed.
function M.is(x)
  return text.class(x) == CLASS
end

-- The Buffers of a packed operand: its copy of the source, and those that
-- its rung made.
local function buffers_of(x)
  local list = {x.source}
  for _, value in pairs(x.ready) do
    list[#list + 1] = text.class(value) == "Buffer" and value or nil
  end
  return list
end

-- packed.new(fields) -> packed
-- The packed operand of {family, name (of the operand), kernel, params, trans,
-- source, ready}: `source` is the operand as a Buffer that nobody else writes,
-- `ready` what the rung's `pack` gave.
function M.new(fields)
  fields.closed, fields.bytes = false, 0
  for _, b in ipairs(buffers_of(fields)) do
    fields.bytes = fields.bytes + b.bytes
  end
  return setmetatable(fields, meta)
end

-- The same with Buffers of its own, for measurements that rotate them.
function M.copy(x)
  local function copied(value)
    if text.class(value) ~= "Buffer" then
      return value
    end
    local b = cl.buffer(value.type, value.shape, nil,
      {context = value.context})
    value:copy(b)
    return b
  end
  local fields = {source = copied(x.source), ready = {}}
  for key, value in pairs(x.ready) do
    fields.ready[key] = copied(value)
  end
  for key, value in pairs(x) do
    fields[key] = fields[key] or value
  end
  return M.new(fields)
end

-- Releases its memory; once closed, calls refuse it.
function methods.close(x)
  for _, b in ipairs(buffers_of(x)) do
    b:close()
  end
  x.closed = true
end

meta.__close = methods.close

function meta.__tostring(x)
  if x.closed then
    return ("packed %s (closed)"):format(x.name)
  end
  local b = x.source
  return ("packed %s: %dx%d %s%s, for %s %s, %s"):format(x.name, b.rows,
    b.cols, b.type, x.trans and ", transposed" or "", x.kernel,
    x.config, text.bytes(x.bytes))
end

-- The reason against the rung and parameters that options name, where operand
-- x is packed for its own; nil: there is none.
local function against(x, opts)
  local other = opts.kernel ~= nil and opts.kernel ~= x.kernel
    and ("the call names %s"):format(tostring(opts.kernel))
  for key, value in pairs(x.params) do
    if opts[key] ~= nil and opts[key] ~= value then
      other = other or ("the call has %s=%s"):format(key, opts[key])
    end
  end
  return other and ("%s is packed for %s %s, %s: pack it for that, or hand "
    .. "the Buffer to the call"):format(x.name, x.kernel, x.config, other)
end

-- packed.rung(family, operands, opts) -> name, params; or nil, nil, reason
-- The rung and the parameters that packed ones among the operands leave to a
-- call with these options; the reason where the options name others, or where
-- two operands are packed for different ones. Nothing without packed operands.
function M.rung(family, operands, opts)
  local first
  for _, name in ipairs(family.spec.inputs) do
    local x = operands[name]
    if M.is(x) then
      local reason = against(x, opts)
      if first and (first.kernel ~= x.kernel or first.config ~= x.config) then
        reason = ("%s is packed for %s %s, %s for %s %s: pack both for the "
          .. "same"):format(first.name, first.kernel, first.config, x.name,
          x.kernel, x.config)
      end
      if reason then
        return nil, nil, reason
      end
      first = first or x
    end
  end
  if first then
    return first.kernel, first.params
  end
end

return M

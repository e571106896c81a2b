-- array/hostscans.lua - scans of Arrays: each element becomes the sum of all
-- up to it
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.array.expression"
local host = require "cl.host"
local hosts = require "clshell.array.hosts"
local layout = require "clshell.array.layout"
local operation = require "clshell.array.operation"
require "clshell.array.scans"

local methods = expression.methods

local M = {}

--- Array:cumsum([dim]) -> Array
--- The sums of all elements up to each one, in the order of reading, or along
--- dimension `dim`, in the shape of x and the type that Buffer:cumsum gives.
--- Integers are added in 64 bits, reals in double and compensated.
function M.cumsum(h, dim)
  local list, type = hosts.elements("cumsum", h)
  local shape = layout.shape(list.shape)
  local _, g = layout.part(shape, dim ~= nil
    and layout.dim("cumsum", shape, dim) or nil)
  local out = cl.array(operation.wide(type), list.shape)
  host.cumsum(list, out, g.many, g.inner)
  return out
end

for name, on_host in pairs(M) do
  local on_device = methods[name]
  methods[name] = function(x, ...)
    if expression.subject(name, x).context == layout.HOST then
      return on_host(x, ...)
    end
    return on_device(x, ...)
  end
end
cl.extend("Array", M, true)

return {}

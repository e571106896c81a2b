-- arrays/onhost.lua - expressions of Arrays, calculated on the host
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local layout = require "clshell.arrays.layout"
local names = require "clshell.arrays.names"
local types = require "clshell.arrays.types"

local TESTS = {}
for _, name in ipairs(names.tests) do
  TESTS[name] = true
end

-- Where the elements of an Array lie, in the dimensions of a shape.
local function place(leaf, shape)
  local at = layout.spread(leaf, shape)
  at.array, at.flat = leaf.buffer, leaf.flat and leaf.dims == shape
  return at
end

-- The type that operands of an operation get before it.
local function work(e)
  local op, type = e.kind.op, e.kind.type
  if op == "to" then
    return type
  elseif TESTS[op] then
    type = types.real(op, e.a.kind.type)
  elseif names.compare[op] then
    type = types.common(op, e.a.kind.type, e.b.kind.type)
  end
  return types.calculated(type)
end

--- onhost(e, out, nodes) -> nothing
--- Sets the elements of a leaf to those of an expression, whose nodes are
--- listed, each behind its operands.
return function(e, out, nodes)
  local steps, number = {}, {}
  for k, x in ipairs(nodes) do
    local op, type = x.kind.op, x.kind.type
    local step = op == "leaf" and place(x, out.dims)
      or {value = op == "constant" and x.value or nil}
    step.op = op
    step.type = (op == "leaf" or op == "to") and type
      or types.calculated(type)
    if x.a then
      step.work = work(x)
      step[1], step[2], step[3] = number[x.a], number[x.b], number[x.c]
    end
    steps[k], number[x] = step, k
  end
  assert(number[e] == #nodes)
  host.calculate(out.dims, place(out, out.dims), steps)
end

-- ladder.lua - what the tests of the kernel families share: the
-- configurations to try, and data whose results are exact
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local rungs = require "clshell.family.rung"

local M = {}

local FEW = 12 -- configurations that are tried in full

local function merge(p, name, value)
  local copy = {}
  for k, v in pairs(p) do
    copy[k] = v
  end
  copy[name] = value
  return copy
end

-- The configurations of a rung to test: all of them if they are few, else
-- every value of every parameter, the others at their defaults, and some
-- at random.
function M.configurations(rung, seed)
  local all = {}
  for p in rungs.configurations(rung) do
    all[#all + 1] = p
  end
  if #all <= FEW then
    return all
  end
  local default = rungs.parameters(rung, {}, "test")
  local list = {default}
  for _, param in ipairs(rung.params) do
    for _, value in ipairs(param.values) do
      if value ~= param.default then
        list[#list + 1] = merge(default, param.name, value)
      end
    end
  end
  math.randomseed(seed)
  for _ = 1, 4 do
    list[#list + 1] = all[math.random(#all)]
  end
  return list
end

-- Element types that the device can compute with.
function M.types(device)
  local types = {"float"}
  for _, pair in ipairs{{"double", "cl_khr_fp64"}, {"half", "cl_khr_fp16"}} do
    if device:has(pair[2]) then
      types[#types + 1] = pair[1]
    end
  end
  return types
end

-- Whole numbers from -3 to 3: sums of 100 products are exact in any type.
function M.integers(type, shape, seed)
  return cl.array("int", shape):random(seed, -3, 3):convert(type)
end

-- A buffer with those numbers, its rows `gap` elements apart, NaN between.
function M.matrix(array, gap)
  local rows, cols = array.shape[1], array.shape[2]
  local b = cl.buffer(array.type, {rows, cols}, nil, {ld = cols + gap})
  b:fill(0 / 0)
  b:write(array)
  return b
end

-- Whether the gaps between the rows of a matrix still hold NaN.
function M.gaps_kept(b)
  if b.ld == b.cols then
    return true
  end
  local map = b:map("read")
  local kept = true
  for i = 0, b.rows - 2 do
    for j = b.cols + 1, b.ld do
      local v = map[i * b.ld + j]
      kept = kept and v ~= v
    end
  end
  b:unmap(map)
  return kept
end

return M

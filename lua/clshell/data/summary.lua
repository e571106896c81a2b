-- data/summary.lua - least, largest and mean element of a buffer, found on the
-- device: 56 bytes are read back
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

M.double = nil -- false: summaries take devices to have no doubles

local KINDS = {float = 2, half = 3, double = 4} -- others are integers
local PER_ITEM = 64 -- elements that make a work-item worth while
local built = setmetatable({}, {__mode = "k"}) -- context -> type -> kernels

-- The scalar type of an element type, its lanes, and its lanes in memory.
local function lanes_of(name)
  local scalar, lanes = text.lanes(name)
  return scalar, lanes, lanes == 3 and 4 or lanes
end

-- The kernels for a type, and how they are launched. The lanes of a vector are
-- passed as scalars where the buffer begins with its memory: no device needs
-- to know the vector type then.
local function kernels(context, name, inside, gaps)
  built[context] = built[context] or {}
  local key = ("%s %s %s %s"):format(name, inside, gaps, M.double)
  local k = built[context][key]
  if k then
    return k
  end
  local dev = context.device
  local scalar, lanes, pitch = lanes_of(name)
  local dense = not gaps and lanes == pitch
  local cpu, group = dev.type == "cpu", 1
  while group * 2 <= math.min(cpu and 16 or 256, dev.max_work_group_size) do
    group = group * 2
  end
  local kind = KINDS[scalar] or scalar:sub(1, 1) == "u" and 1 or 0
  local double = M.double ~= false and dev:has "cl_khr_fp64"
  local prog = cl.build(cl.home .. "/kernels/show/summary.cl", {
    context = context, defines = {TYPE = inside and name or scalar,
      SCALAR = scalar, LANES = lanes, PITCH = pitch, KIND = kind,
      DOUBLE = double and 1 or 0, DENSE = dense and 1 or 0,
      BLOCKED = cpu and 1 or 0, WG = group},
  })
  k = {
    summary = prog:kernel "summary", join = prog:kernel "join",
    group = group, most = dev.compute_units * (cpu and 4 or 16),
    kind = kind, lanes = lanes,
    number = kind < 2 and "i8"
      or double and "d" or "f",
  }
  built[context][key] = k
  return k
end

-- The result from the bytes of one Part.
local function decode(bytes, k, count)
  local lo, hi, sum, rest, nan, inf, broken = ("="
    .. k.number:rep(4) .. "i8i8i8"):unpack(bytes)
  local finite = count - nan - inf
  if k.kind < 2 then
    sum = sum + (rest >> 32)
    rest = rest & 0xffffffff
    sum = sum * 2.0 ^ 32
  end
  return {
    count = count, nan = nan, inf = inf, whole = broken == 0,
    min = finite > 0 and lo or nil, max = finite > 0 and hi or nil,
    mean = finite > 0 and (sum + rest) / finite or nil,
  }
end

--- summary.of(b) -> {count, min, max, mean, nan, inf, whole}
--- The extremes and the mean of a Buffer's elements, found by a reduction on
--- its device: the components of vectors count one by one, gaps between rows
--- do not. min, max (of integers exact) and mean are over the finite elements,
--- nil where there are none; nan and inf count the other elements; whole tells
--- whether all finite elements are whole numbers.
function M.of(b)
  if text.bits(b.type) then -- kernels have no such type
    local floats <close> = b:astype "float":eval()
    return M.of(floats)
  end
  local context = b.context
  local inside, gaps = b.start > 0, b.rows and b.rows > 1 and b.ld > b.cols
  local k = kernels(context, b.type, inside, gaps)
  local rows, cols = 1, #b
  if gaps then
    rows, cols = b.rows, b.cols
  end
  local groups = math.min(k.most, (#b - 1) // (PER_ITEM * k.group) + 1)
  local words = k.number == "f" and 5 or 7 -- of 8 bytes, in a Part
  local where = {context = context}
  local parts <close> = cl.buffer("ulong", groups * words, nil, where)
  local out <close> = cl.buffer("ulong", words, nil, where)
  k.summary:range(groups * k.group, k.group)(
    inside and cl.base(b) or cl.any(b), b.start, rows, cols,
    gaps and b.ld or cols, cl.any(parts))
  k.join:range(k.group, k.group)(cl.any(parts), groups, cl.any(out))
  local h <close> = out:read()
  return decode(h:tostring(), k, #b * k.lanes)
end

return M

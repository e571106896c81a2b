-- ladder/tiling.lua - common parts of rungs: their parameters, defines,
-- counters and refusals, the arithmetic of ranges and tiles and of their
-- traffic
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- The number of groups of `size` that cover n.
function M.groups(n, size)
  return (n + size - 1) // size
end

-- The least multiple of `size` that covers n.
function M.roundup(n, size)
  return M.groups(n, size) * size
end

-- The largest power of two that is no more than n.
function M.power_of_two(n)
  return 1 << math.floor(math.log(n, 2))
end

-- A parameter of a rung.
function M.param(name, values, default, help)
  return {name = name, values = values, default = default, help = help}
end

-- The parameter of rungs that multiply modulo several numbers.
M.moduli = M.param("moduli", {0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
  18}, 0, "int8 products, 0: by k, and from k = 256 on 14 or 15 by what the "
  .. "operands lose; fewer hold fewer bits and refuse more operands, which a "
  .. "kernel in double computes")

-- A function of the parameters: the product of numbers and of parameters by
-- name, such as "2 wg"; a number and a function stand for themselves.
local function product_of(words)
  if type(words) == "function" then
    return words
  end
  return function(p)
    local n = 1
    for word in tostring(words):gmatch "%S+" do
      n = n * (p[word] or math.tointeger(tonumber(word)))
    end
    return n
  end
end

-- The field `range` of a rung in one dimension: work-groups of `group`
-- work-items (nil: `each`) take `each` elements along the size named `size`.
-- Both are products such as "wg height", or functions of the parameters.
function M.line(size, each, group)
  each, group = product_of(each), product_of(group or each)
  return function(s, p)
    local items = group(p)
    return {M.groups(s[size], each(p)) * items}, {items}
  end
end

-- The field `local_bytes` of a rung: the bytes of a number of elements, a
-- product such as "wg height".
function M.elements(count)
  count = product_of(count)
  return function(s, p)
    return count(p) * s.esize
  end
end

-- A Buffer for a rung's own use, of element type `type` (nil: the operands').
function M.scratch(s, sizes, type)
  return cl.buffer(type or s.type, sizes, nil, {context = s.context})
end

-- The compute units of the device; `otherwise` for a shape without a device.
function M.units(s, otherwise)
  return s.context and s.context.device.compute_units or otherwise
end

-- Adds the defines that tell whether A and B are stored transposed.
function M.with_trans(defines, s)
  defines.TRANS_A = s.trans_a and 1 or 0
  defines.TRANS_B = s.trans_b and 1 or 0
  return defines
end

-- The NDRange of work-groups that take `width` x `height` elements each with
-- lx x ly work-items (nil: one for each element).
function M.range(cols, rows, width, height, lx, ly)
  lx, ly = lx or width, ly or height
  return {M.groups(cols, width) * lx, M.groups(rows, height) * ly}, {lx, ly}
end

-- The field `range` of a rung in two dimensions: tiling.range for the sizes
-- named `cols` and `rows`; the other arguments are products such as "lx
-- width".
function M.grid(cols, rows, width, height, lx, ly)
  width, height = product_of(width), product_of(height)
  lx, ly = lx and product_of(lx) or width, ly and product_of(ly) or height
  return function(s, p)
    return M.range(s[cols], s[rows], width(p), height(p), lx(p), ly(p))
  end
end

-- No defines: for rungs whose kernels need no parameters.
function M.no_defines()
  return {}
end

-- The parameters, and values `more`, as defines under their upper-case names,
-- added to a list.
function M.add_defines(list, p, more)
  for _, values in ipairs{p, more} do
    for name, value in pairs(values) do
      list[name:upper()] = value
    end
  end
  return list
end

-- The work-items of a work-group: a power of two, at most `most` and at most
-- the limit of the device.
function M.group_size(s, most)
  local dev = s.context and s.context.device
  return M.power_of_two(math.min(most, dev and dev.max_work_group_size
    or most))
end

-- The reason why a device cannot run a rung for CPUs, or nil.
function M.cpu_only(dev)
  return dev.type == "gpu"
    and "for CPU devices: it uses 1 work-item per work-group" or nil
end

-- A Buffer of counters that are 0 before the first run of a plan, and that
-- each run leaves as 0. `run` is the function that `prepare` of a rung gets: a
-- launch clears the Buffer, since cl.record takes launches alone.
function M.counters(s, count, run)
  local b = M.scratch(s, count, "int")
  run({file = "../reduce/counters.cl", once = true}, "clear", {}, {count}, nil,
    b)
  return b
end

-- The reason why work-groups of a device cannot tell one another sums, or nil.
function M.mute(dev)
  return not dev:has "cl_khr_int64_base_atomics"
    and "it needs the extension cl_khr_int64_base_atomics" or nil
end

-- A Buffer for `count` words that work-groups tell one another, see
-- kernels/scan/told.cl, and a word before. `anew`: each run clears it, not
-- only the first.
function M.told(s, count, run, anew)
  local b = M.scratch(s, 1 + count, "ulong")
  run({file = "../scan/clear.cl", once = not anew}, "clear", {}, {1 + count},
    nil, 1 + count, b)
  return b
end

-- The reason why a device cannot run a rung for NVIDIA GPUs, or nil: `least`
-- is the compute capability, 9.0 as 90; `only`: the device has exactly
-- `least`.
function M.lacks(dev, least, only)
  local major = dev.nv_compute_capability_major
  if not major then
    return ("needs an NVIDIA GPU of compute capability %d.%d, the device "
      .. "names none"):format(least // 10, least % 10)
  end
  local minor = dev.nv_compute_capability_minor
  local has = 10 * major + minor
  if has < least or only and has > least then
    return ("needs compute capability %d.%d, the device has %d.%d"):format(
      least // 10, least % 10, major, minor)
  end
end

-- The field `accepts` of a rung for NVIDIA GPUs, see tiling.lacks.
function M.needs(least, only)
  return function(dev)
    return M.lacks(dev, least, only)
  end
end

-- The parameter of rungs with explicit vectors.
M.vector = M.param("vector", {16, 32, 64}, 64,
  "bytes in a vector: 16 for SSE or NEON, 32 for AVX2, 64 for AVX-512")

-- The parameter of rungs for CPUs that choose how the result is stored.
function M.stream(name, default)
  return M.param("stream", {0, 1}, default or 1,
    ("1: %s is written past the cache, 0: it may stay there"):format(name))
end

-- Elements in a vector of p.vector bytes.
function M.vector_width(s, p)
  return p.vector // s.esize
end

-- The reason why a device cannot run a rung for CPUs with vectors of `least`
-- to 16 elements, or nil.
function M.cpu_vectors(dev, s, p, least)
  local width = M.vector_width(s, p)
  local reason = M.cpu_only(dev)
  if not reason and (width < least or width > 16) then
    reason = ("vector = %d bytes is %d elements of %s, the kernel takes %d "
      .. "to 16"):format(p.vector, width, s.type, least)
  end
  return reason
end

-- An access: how often a work-item makes it, its bytes, and the address of
-- work-item (x, y) of a work-group.
function M.access_at(n, bytes, at)
  return {n = n, bytes = bytes, at = at}
end

-- An access whose neighbours in x and y are dx and dy bytes apart (nil: 0).
function M.access(n, bytes, dx, dy)
  dx, dy = dx or 0, dy or 0
  return M.access_at(n, bytes, function(x, y) return x * dx + y * dy end)
end

-- Bytes that a matrix product fetches in tiles of bm x bn, C included.
function M.product(s, bm, bn)
  local output = s.m * s.n * ((s.beta or 0) ~= 0 and 2 or 1)
  return (s.m * s.n * s.k * (1 / bm + 1 / bn) + output) * s.esize
end

return M

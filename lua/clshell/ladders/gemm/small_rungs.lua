-- ladders/gemm/small_rungs.lua - rungs of the GEMM ladder for batches of small
-- products, all of them in one launch: small for GPUs, small_simd for CPUs
-- An array of rung tables like ladders/gemm/rungs.lua.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local submatrix = require "clshell.ladders.gemm.submatrix"
local tiling = require "clshell.ladder.tiling"

local groups, param, roundup = tiling.groups, tiling.param, tiling.roundup

local MOST = 64   -- rows, columns and terms of a product
local WARP = 32   -- work-groups are multiples of it
local WIDEST = 16 -- bytes of a load

-- The largest power of two, at most `most`, that divides all the numbers.
local function common(most, ...)
  local v = most
  for _, n in ipairs{...} do
    while n % v ~= 0 do
      v = v // 2
    end
  end
  return v
end

-- n as an odd number of vectors of v elements, as in small.cl.
local function odd(n, v)
  return n // v % 2 == 1 and n or n + v
end

-- Whether the matrices of an operand follow each other without gaps.
local function is_flat(s, name)
  local rows, cols = submatrix.extent(s, name:upper())
  return s["ld" .. name] == cols
    and (s.batch == 1 or s["stride_" .. name] == rows * cols)
end

-- Elements that a load of operand "a" or "b" may move at once, so that none
-- leaves a row or, of a flat operand, a matrix.
local function load_width(s, name)
  local rows, cols = submatrix.extent(s, name:upper())
  local most = WIDEST // s.esize
  if is_flat(s, name) then
    return common(most, rows * cols, s["start_" .. name])
  end
  return common(most, cols, s["ld" .. name], s["start_" .. name],
    s["stride_" .. name])
end

-- Rows of C of a work-item where the parameter leaves it open: fewer for
-- small matrices, which several work-items share all the same.
local function own_rows(s)
  local size = s.m * s.n
  return size >= 256 and 4 or size >= 64 and 2 or 1
end

-- The defines that tell how `small` divides a shape.
local function layout(s, p)
  local most = WIDEST // s.esize
  local vn, vk = common(most, s.n), common(most, s.k)
  local rm = math.min(p.rm == 0 and own_rows(s) or p.rm, s.m)
  local chunks = s.n // vn
  local cn = math.min(math.max(1, p.rn // vn), chunks)
  local tm, tn = groups(s.m, rm), groups(chunks, cn)
  local many = math.min(math.max(1, p.items // (tm * tn)), s.batch)
  local sa = odd(s.m * odd(s.k, vk), vk)
  local sb = odd(s.k * s.n, vn)
  local limit = s.context and s.context.device.local_mem_size or 49152
  many = math.max(1, math.min(many, limit // 2 // ((sa + sb) * s.esize)))
  return {
    M = s.m, N = s.n, K = s.k, MANY = many, RM = rm, TM = tm, CN = cn,
    TN = tn, VN = vn, VK = vk, UNROLL = math.max(1, p.steps // vk),
    WG = roundup(many * tm * tn, WARP),
  }, many * (sa + sb) * s.esize
end

-- The kernel's arguments. An operand of submatrix.lua gives its buffer,
-- leading dimension, start and stride.
local function args(s, _, o)
  local list = {s.batch, s.alpha}
  local function add(x)
    local placed = type(x) == "table"
    list[#list + 1] = placed and x.buffer or x
    list[#list + 1] = x.ld
    list[#list + 1] = placed and cl.long2(x.start, x.stride) or cl.long2(0, 0)
  end
  add(o.A)
  add(o.B)
  list[#list + 1] = s.beta
  add(o.C)
  return list
end

local function too_large(_, s)
  for _, name in ipairs{"m", "n", "k"} do
    if s[name] > MOST then
      return ("for products of at most %d x %d x %d; %s = %d"):format(MOST,
        MOST, MOST, name, s[name])
    end
  end
end

-- Bytes of a product, each matrix once.
local function traffic(s)
  local c = (s.beta ~= 0 and 2 or 1) * s.m * s.n
  local bytes = (s.m * s.k + s.k * s.n + c) * s.esize
  return {moved = bytes, fetch = bytes}
end

-- How `small_simd` divides a shape.
local function blocks(s, p)
  local width = 2
  while width < s.n and width < tiling.vector_width(s, p) do
    width = 2 * width
  end
  local vectors = groups(s.n, width)
  local nv = math.min(p.nv, vectors)
  while vectors % nv ~= 0 do
    nv = nv - 1
  end
  local rows = p.mr * (p.nv // nv) -- as many sums with fewer vectors
  return {
    M = s.m, N = s.n, K = s.k, VW = width, NV = nv, EACH = p.each,
    MR = groups(s.m, groups(s.m, rows)), -- even blocks
  }
end

return {
  {
    name = "small", file = "small.cl", places = "all",
    lesson = "a work-group takes several small products of a batch",
    trans = {a = "any", b = "any"},
    params = {
      param("items", {32, 64, 128, 256}, 128,
        "work-items that a group has room for; one large product may take "
        .. "more"),
      param("rm", {0, 1, 2, 4, 8}, 0,
        "rows of C per work-item; 0: by the size of C"),
      param("rn", {1, 2, 4, 8}, 4, "columns of C per work-item"),
      param("steps", {1, 4, 8, 16}, 4,
        "terms of a sum between two tests for its end"),
    },
    defines = function(p, s)
      local defines = layout(s, p)
      defines.VA, defines.VB = load_width(s, "a"), load_width(s, "b")
      defines.VC = common(defines.VN, s.ldc, s.start_c, s.stride_c)
      defines.VC = defines.VC == defines.VN and defines.VC or 1
      defines.FLAT_A = is_flat(s, "a") and 1 or 0
      defines.FLAT_B = is_flat(s, "b") and 1 or 0
      return tiling.with_trans(defines, s)
    end,
    accepts = too_large,
    range = function(s, p)
      local l = layout(s, p)
      return {groups(s.batch, l.MANY) * l.WG}, {l.WG}
    end,
    local_bytes = function(s, p)
      return select(2, layout(s, p))
    end,
    args = args,
    traffic = traffic,
  },
  {
    name = "small_simd", file = "small_simd.cl", places = "all",
    lesson = "small products as they lie, nothing packed: for CPUs",
    trans = {a = "any", b = "any"},
    params = {
      tiling.vector,
      param("mr", {2, 4, 6, 8, 12, 16}, 12,
        "rows of C in a block of sums; more where rows have fewer vectors"),
      param("nv", {1, 2, 4}, 2, "vectors in a row of that block, at most"),
      param("each", {1, 4, 16, 64}, 16, "products per work-item"),
    },
    defines = function(p, s)
      return tiling.with_trans(blocks(s, p), s)
    end,
    accepts = function(dev, s, p)
      return too_large(dev, s) or tiling.cpu_vectors(dev, s, p, 2)
    end,
    range = function(s, p)
      return {groups(s.batch, p.each)}, {1}
    end,
    args = args,
    traffic = traffic,
  },
}

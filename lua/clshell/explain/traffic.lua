-- traffic.lua - the traffic model: what a rung's work-items read and write of
-- global and of local memory, counted from its source, not measured
-- SPDX-License-Identifier: MIT

local M = {}

local models = {gemm = {}, transpose = {}, spmv = {}}
local WIDE = 16    -- bytes of the widest access that a compiler may form
local BANKS = 32   -- of local memory, 4 bytes wide: NVIDIA, AMD
local SECTOR = 32  -- bytes that global memory moves at least
local PASS = 128   -- bytes that a warp moves at a time

local function roundup(n, m)
  return (n + m - 1) // m * m
end

-- An access: how often a work-item makes it, its bytes, and the address of
-- work-item (x, y) of a work-group.
local function access(n, bytes, at)
  return {n = n, bytes = bytes, at = at}
end

-- Reads along a row of local memory: n elements, which the compiler may take
-- 16 bytes at a time where the rows begin at such places.
local function along(n, e, row, at)
  local bytes = row * e % WIDE == 0 and n * e % WIDE == 0 and WIDE or e
  return access(n * e / bytes, bytes, at)
end

local function product(s)
  return s.m * s.n * s.k * s.esize
end

local function output(s)
  return s.m * s.n * s.esize * ((s.beta or 0) ~= 0 and 2 or 1)
end

-- GEMM without local memory: A and B as seen by work-item (x, y).
local function plain(a, b, more)
  return function(s, p)
    local e = s.esize
    local model = {
      global = {access(s.k, e, a(s, p)), access(s.k, e, b(s, p))},
      fetch = product(s) * (1 / p.lx + 1 / p.ly) + output(s),
    }
    local c = function(x, y)
      return p.map == "row" and (x * s.n + y) * e or (y * s.n + x) * e
    end
    table.insert(model.global, access(more and 2 * s.k or 1, e, c))
    return model
  end
end

local function row_of_a(s, p)
  return function(x, y)
    return (p.map == "row" and x or y) * s.k * s.esize
  end
end

local function row_of_b(s, p)
  return function(x, y)
    return (p.map == "row" and y or x) * s.esize
  end
end

models.gemm.naive_global = plain(row_of_a, row_of_b, true)
models.gemm.naive = plain(row_of_a, row_of_b)
models.gemm.transposed_b = plain(row_of_a, function(s)
  return function(x)
    return x * s.k * s.esize
  end
end)

-- Square tiles. `row` is the length of a local row, `turned` tells whether B
-- lies transposed in local memory, `swizzle` where a column goes.
local function tiles(how)
  return function(s, p)
    local e, t = s.esize, p.tile
    local row = t + (p.pad or 0)
    local depth = roundup(s.k, t)
    local place = how.swizzle or function(_, k) return k end
    local function at(i, j)
      return (i * row + place(i, j)) * e
    end
    local locals = {
      access(depth / t, e, function(x, y) return (y * row + x) * e end),
      access(depth / t, e, function(x, y)
        return how.turned and at(x, y) or at(y, x)
      end),
      along(depth, e, row, function(_, y) return y * row * e end),
    }
    if how.along then
      locals[4] = along(depth, e, how.swizzle and 1 or row, function(x)
        return at(x, 0)
      end)
    else
      locals[4] = access(depth, e, function(x) return x * e end)
    end
    return {
      global = {
        access(depth / t, e, function(x, y) return (y * s.k + x) * e end),
        access(depth / t, e, function(x, y)
          return (y * (how.bt and s.k or s.n) + x) * e
        end),
        access(1, e, function(x, y) return (y * s.n + x) * e end),
      },
      locals = locals,
      fetch = product(s) * 2 / t + output(s),
    }
  end
end

models.gemm.tiled = tiles{}
models.gemm.tiled_constant = tiles{}
models.gemm.tiled_transposed_b = tiles{turned = true, bt = true}
models.gemm.tiled_padded = tiles{turned = true, along = true}
models.gemm.tiled_swizzled = tiles{turned = true, along = true,
  swizzle = function(i, k) return i ~ k end}

function models.gemm.tiled_float4(s, p)
  local e, t = s.esize, p.tile
  local steps = roundup(s.k, t) / t
  local quads = t // 4
  local function a(ld)
    return function(x, y)
      local id = y * t + x
      return (id // quads * ld + id % quads * 4) * e
    end
  end
  return {
    global = {
      access(steps / 4, 4 * e, a(s.k)),
      access(steps, 4 * e, function(x, y) return (y * s.n + 4 * x) * e end),
      access(1, 4 * e, function(x, y) return (y * s.n + 4 * x) * e end),
    },
    locals = {
      access(steps / 4, 4 * e, a(t)),
      access(steps, 4 * e, function(x, y) return 4 * (y * t + x) * e end),
      access(steps * quads, 4 * e, function(_, y) return y * t * e end),
      access(steps * t, 4 * e, function(x) return 4 * x * e end),
    },
    fetch = product(s) * 1.25 / t + output(s),
  }
end

local function run_of(n)
  return n % 4 == 0 and 4 or n % 2 == 0 and 2 or 1
end

function models.gemm.register(s, p)
  local e, lx = s.esize, p.bn // p.rn
  local size = lx * (p.bm // p.rm)
  local vm, vn = run_of(p.rm), run_of(p.rn)
  local steps = roundup(s.k, p.bk) / p.bk
  local na, nb = steps * p.bm * p.bk / size, steps * p.bk * p.bn / size
  local function id(x, y) return y * lx + x end
  local function a(rows, columns)
    return function(x, y)
      local i = id(x, y)
      return (i // p.bk * rows + i % p.bk * columns) * e
    end
  end
  return {
    global = {
      access(na, e, a(s.k, 1)),
      access(nb, e, function(x, y)
        return (id(x, y) // p.bn * s.n + id(x, y) % p.bn) * e
      end),
      access(p.rm * p.rn / vn, vn * e, function(x, y)
        return (y * vm * s.n + x * vn) * e
      end),
    },
    locals = {
      access(na, e, a(1, p.bm + vm)),
      access(nb, e, function(x, y) return id(x, y) * e end),
      access(steps * p.bk * p.rm / vm, vm * e, function(_, y)
        return y * vm * e
      end),
      access(steps * p.bk * p.rn / vn, vn * e, function(x)
        return x * vn * e
      end),
    },
    fetch = product(s) * (1 / p.bm + 1 / p.bn) + output(s),
  }
end

-- Blocks of sums in registers, operands in panels: elements, not accesses.
function models.gemm.simd(s, p)
  local nr = p.nv * (p.vector // s.esize)
  return {moved = product(s) * (1 / p.mr + 1 / nr) + output(s)}
end

-- NVIDIA's rungs: the tiles of a work-group are among the defines.
local function by_defines(s, _, d)
  if d and d.BM and d.BN then
    return {fetch = product(s) * (1 / d.BM + 1 / d.BN) + output(s)}
  end
end

models.gemm.nv_ffma, models.gemm.nv_dmma = by_defines, by_defines
models.gemm.nv_tf32, models.gemm.nv_wgmma = by_defines, by_defines

local function transposed(reads, writes, n, bytes)
  return function(s, p)
    local e = s.esize
    local times = n and p[n] or 1
    local local_row = p.tile and p.tile + (p.pad or 0)
    local model = {
      global = {access(times, bytes or e, reads(e, s.cols)),
        access(times, bytes or e, writes(e, s.rows))},
      fetch = 2 * s.rows * s.cols * e,
    }
    if local_row then
      model.locals = {
        access(times, e, function(x, y) return (y * local_row + x) * e end),
        access(times, e, function(x, y) return (x * local_row + y) * e end),
      }
    end
    return model
  end
end

local function rows(e, ld)
  return function(x, y) return (y * ld + x) * e end
end

local function columns(e, ld)
  return function(x, y) return (x * ld + y) * e end
end

models.transpose.naive_read = transposed(rows, columns)
models.transpose.naive_write = transposed(columns, rows)
models.transpose.tiled = transposed(rows, rows, "rows_per_item")
models.transpose.tiled_padded = models.transpose.tiled
function models.transpose.tiled_swizzled(s, p)
  local model = models.transpose.tiled(s, p)
  model.locals[2].at = function(x, y)
    return (x * p.tile + (x ~ y)) * s.esize
  end
  return model
end
function models.transpose.float4(s)
  local e = s.esize
  local function vectors(ld)
    return function(x, y) return (4 * y * ld + 4 * x) * e end
  end
  return {
    global = {access(4, 4 * e, vectors(s.cols)),
      access(4, 4 * e, vectors(s.rows))},
    fetch = 2 * s.rows * s.cols * e,
  }
end

-- Its work-items load and store vectors, each element once.
function models.transpose.simd(s)
  return {moved = 2 * s.rows * s.cols * s.esize}
end

-- DIA: values and x by neighbours; offsets from global or local memory.
local function diagonals(width, from_local)
  return function(s)
    local e, n = s.esize, s.ndiags
    local function next_to(x) return width * x * e end
    local offsets = access(n, 4, function() return 0 end)
    local model = {
      global = {access(n, width * e, next_to), access(n, width * e, next_to),
        access(1, width * e, next_to)},
    }
    if from_local then
      model.locals = {offsets}
    else
      table.insert(model.global, offsets)
    end
    return model
  end
end

models.spmv.naive, models.spmv.pitch = diagonals(1), diagonals(1)
models.spmv.local_offsets = diagonals(1, true)
models.spmv.float4 = diagonals(4, true)

-- Vectors of values and of x meet in registers: elements, not accesses.
function models.spmv.simd(s)
  return {moved = (2 * s.ndiags + 1) * s.rows * s.esize}
end

-- The different pieces of `unit` bytes that the first work-items touch, and
-- the most of them that lie in one bank.
local function pieces(a, size, lanes, unit)
  local width = size[1]
  local items = math.min(lanes, width * (size[2] or 1))
  local seen, banks, count, most = {}, {}, 0, 0
  for id = 0, items - 1 do
    local first = a.at(id % width, id // width)
    for piece = first // unit, (first + a.bytes - 1) // unit do
      if not seen[piece] then
        local bank = piece % BANKS
        seen[piece], count = true, count + 1
        banks[bank] = (banks[bank] or 0) + 1
        most = math.max(most, banks[bank])
      end
    end
  end
  return count, most
end

-- Bytes that the accesses of all work-items take of a path, and the worst
-- factor that bank conflicts bring. Without warps every work-item counts
-- its own bytes; in a warp an address that several want counts once, and
-- what banks serve one after another counts as often.
local function total(list, items, size, lanes, is_local)
  local bytes, ways = 0, 1
  for _, a in ipairs(list) do
    if not lanes then
      bytes = bytes + items * a.n * a.bytes
    else
      local group = size[1] * (size[2] or 1)
      local warps = items / group * ((group + lanes - 1) // lanes)
      local passes
      if is_local then
        local words, most = pieces(a, size, lanes, 4)
        passes = most
        ways = math.max(ways, most / math.ceil(words / BANKS))
      else
        passes = math.ceil(pieces(a, size, lanes, SECTOR) * SECTOR / PASS)
      end
      bytes = bytes + warps * a.n * passes * PASS
    end
  end
  return bytes, ways
end

--- traffic.of(r, rung, dev, s, p) -> table; nil
--- The traffic of a result r of a rung (its family, kernel and defines count)
--- with shape s and all parameters p, in bytes of a run: global (what its
--- work-items load and store through the caches), fetch (what its work-groups
--- take from the last cache, each its tiles once), locals (of local memory),
--- ways (the worst bank conflict of its local accesses: 1 is none), from_local
--- (whether it uses local memory). On a device with warps an address that a
--- whole warp wants counts once; elsewhere each work-item counts for itself. A
--- rung's own `traffic(s, p, defines)` may give {global =, locals =} as lists
--- of {n =, bytes =, at = function(x, y)}, moved (bytes instead of `global`)
--- and fetch. nil: there is no model, as for batches and for products of
--- transposed operands.
function M.of(r, rung, dev, s, p)
  if s.trans_a or s.trans_b or (s.batch or 1) > 1 then
    return nil
  end
  local model = rung.traffic or models[r.family] and models[r.family][r.kernel]
  model = model and model(s, p, r.defines)
  if not model then
    return nil
  end
  local all, size = rung.range(s, p)
  local items = 1
  for _, n in ipairs(all) do
    items = items * n
  end
  local lanes = dev.nv_warp_size or dev.amd_wavefront_width
  size = size or {lanes or 1}
  local result = {fetch = model.fetch, from_local = model.locals ~= nil,
    warps = lanes ~= nil, ways = 1, global = model.moved}
  if model.global then
    result.global = total(model.global, items, size, lanes, false)
  end
  if model.locals then
    result.locals, result.ways = total(model.locals, items, size, lanes, true)
  end
  return result
end

return M

-- ladders/spmv/rungs.lua - the ladder of sparse matrix-vector kernels:
-- DIA rungs from the plain one to the specialised, packed DIA, CSR and
-- packed CSR.
-- Each rung names its file in kernels/spmv/, the storage format it takes, its
-- one-line lesson, its parameters and its NDRange.
-- SPDX-License-Identifier: MIT

local sparse = require "clshell.data.sparse"
local tiling = require "clshell.ladder.tiling"

local access, param, roundup = tiling.access, tiling.param, tiling.roundup

local ALIGNMENT = 32     -- elements: the pitch that suits every DIA kernel
local MAX_COMPILED = 128 -- diagonals that `specialised` unrolls

local one_row = tiling.line("rows", "wg")

-- CSR kernels get the sizes by which they test each index.
local function csr_args(s, _, o)
  local M = o.M
  return {s.rows, s.cols, s.nnz, M.row_ptr, M.col_ind, M.values, o.x, o.y}
end

-- prepare for CSR: the transposed matrix, its values moved in the first run.
local function transposed(s, _, o, run)
  if not s.trans then
    return
  end
  local M, n = sparse.transposed_indexes(o.M), math.max(1, s.nnz)
  local values, wg = tiling.scratch(s, n), 64
  run({file = "move.cl", once = true}, "move", {REAL = s.type},
    {roundup(n, wg)}, {wg}, n, M.places, o.M.values, values)
  return {M = {row_ptr = M.row_ptr, col_ind = M.col_ind, values = values}}
end

local function rows_defines(p, s)
  return {WG = p.wg, STEPS = p.steps, FAR = s.far}
end

-- Adds up the pieces of rows longer than a chunk.
local function add_pieces(s, p, o, run)
  if s.split > 0 then
    local defines = rows_defines(p, s)
    defines.REAL = s.type
    run("csr_packed.cl", "add_pieces", defines, {s.split * p.wg}, {p.wg},
      s.rows, s.pieces, o.M.split, o.pieces, o.y)
  end
end

-- The parts of csr_balanced: elements and ends of rows share them.
local function parts(s, p)
  return math.max(1, tiling.groups(s.nnz + s.rows, p.wg * p.items - 4))
end

-- A helper launch of csr_balanced over `count` work-items.
local function balance(run, once, kernel, s, p, count, ...)
  run({file = "csr_balanced.cl", once = once}, kernel,
    {REAL = s.type, WG = p.wg, ITEMS = p.items, NV = p.nv},
    {roundup(count, p.wg)}, {p.wg}, ...)
end

-- Finds the rows where the parts begin, in the first run: the kernel checks
-- each row, and takes those that a script has written since one by one.
local function find_starts(s, p, o, run)
  local own, n = transposed(s, p, o, run) or {}, parts(s, p)
  own.starts = tiling.scratch(s, n + 1, "int")
  own.tails, own.links = tiling.scratch(s, n), tiling.scratch(s, n, "int")
  balance(run, true, "starts", s, p, n + 1, s.rows, s.nnz, n,
    (own.M or o.M).row_ptr, own.starts)
  return own
end

-- Adds the sums of earlier parts to rows that end in a later one.
local function add_tails(s, p, o, run)
  local n = parts(s, p)
  if n > 1 then
    balance(run, false, "join", s, p, n, s.rows, s.cols, s.nnz, n,
      o.M.row_ptr, o.M.col_ind, o.M.values, o.x, o.y, o.starts, o.tails,
      o.links)
  end
end

-- The reason why a rung with inline PTX refuses a device or a type.
local function ptx(dev, s, p)
  return p.nv == 1 and (s.type == "half" and "nv = 1 takes float and double"
    or tiling.lacks(dev, 70)) or nil
end

local function offsets_bytes(_, p)
  return 4 * p.chunk
end

-- The operands with the diagonals copied to another pitch, every other field
-- of the matrix as it was.
local function repitched(s, o, run, pitch)
  local M = o.M
  local values = tiling.scratch(s, {s.ndiags, pitch})
  local wg = 64
  run({file = "repitch.cl", once = true}, "repitch", {REAL = s.type},
    {roundup(pitch, wg)}, {wg}, s.rows, s.ndiags, M.pitch, M.values, pitch,
    values)
  local copy = {values = values, pitch = pitch}
  setmetatable(copy, {__index = function(_, key) return M[key] end})
  return {M = copy}
end

-- prepare for a kernel whose pitch has to be a multiple of `step`, a number
-- or a parameter; nil: for diagonals without gaps. A matrix that fits already
-- is used as it is.
local function aligned_to(step)
  return function(s, p, o, run)
    local pitch = step and roundup(s.rows, ALIGNMENT) or s.rows
    local fits = o.M.pitch == pitch
      or step and o.M.pitch % (p[step] or step) == 0
    if not fits and s.ndiags > 0 then
      return repitched(s, o, run, pitch)
    end
  end
end

-- Traffic of DIA: values, x and y by neighbours, `width` rows a work-item;
-- offsets from global memory, or `from_local`.
local function traffic_of(width, from_local)
  return function(s)
    local e, n = width * s.esize, s.ndiags
    local offsets = access(n, 4)
    return {
      global = {access(n, e, e), access(n, e, e), access(1, e, e),
        not from_local and offsets or nil},
      locals = from_local and {offsets},
    }
  end
end

-- The reason why a rung that compiles the diagonals in refuses a matrix.
local function compiled(_, s)
  if s.ndiags < 1 or s.ndiags > MAX_COMPILED then
    return ("compiles 1 to %d diagonals in, the matrix has %d"):format(
      MAX_COMPILED, s.ndiags)
  end
end

-- The defines of a packed matrix.
local function packed_defines(p, s)
  local q, bits = s.packing, sparse.unsigned[s.type]
  return {
    WIDTH = p.width, STEPS = p.steps, BLOCKS = p.blocks,
    SINGLE = p.single, STREAM = p.stream,
    BITS = bits, SIGNED = bits:sub(2), -- ulong and long
    NARROW = q.narrow,
    FROM_HALF = q.narrow == "half" and s.type ~= "half" and 1 or 0,
    PATTERNS = q.patterns, OFFSETS = table.concat(s.offsets, ","),
    MAIN = table.concat(q.main, ","), PLACES = table.concat(q.places, ","),
    MIRRORED = table.concat(q.mirrored, ","),
  }
end

local wg = param("wg", {32, 64, 128, 256, 512, 1024}, 128,
  "work-items in a work-group")
local chunk = param("chunk", {16, 64, 256, 1024}, 256,
  "offsets held in local memory at a time")
local nv = param("nv", {0, 1}, 0,
  "1: inline PTX for NVIDIA, which keeps the first cache for x")

return {
  {
    name = "naive", file = "naive.cl", format = "dia",
    lesson = "one work-item per row over diagonals stored without gaps; "
      .. "every index tested at both ends",
    params = {wg},
    defines = tiling.no_defines,
    range = one_row,
    prepare = aligned_to(nil),
    traffic = traffic_of(1),
  },
  {
    name = "pitch", file = "pitch.cl", format = "dia",
    lesson = "diagonals begin at cache lines; one unsigned test per element",
    params = {wg},
    defines = tiling.no_defines,
    range = one_row,
    prepare = aligned_to(ALIGNMENT),
    traffic = traffic_of(1),
  },
  {
    name = "local_offsets", file = "local_offsets.cl", format = "dia",
    lesson = "offsets pass through local memory in chunks, any number of them",
    params = {wg, chunk},
    range = one_row,
    local_bytes = offsets_bytes,
    prepare = aligned_to(ALIGNMENT),
    traffic = traffic_of(1, true),
  },
  {
    name = "float4", file = "float4.cl", format = "dia",
    lesson = "four rows per work-item, values loaded as vectors",
    params = {wg, chunk},
    range = tiling.line("rows", "4 wg", "wg"),
    local_bytes = offsets_bytes,
    prepare = aligned_to(4),
    traffic = traffic_of(4, true),
  },
  {
    name = "specialised", file = "specialised.cl", format = "dia",
    lesson = "offsets compiled in, loop unrolled, interior rows not tested",
    params = {
      wg,
      param("width", {1, 2, 4, 8}, 2,
        "rows per work-item; on an H100 8 bytes of values are best"),
    },
    defines = function(p, s)
      return {WIDTH = p.width, OFFSETS = table.concat(s.offsets, ",")}
    end,
    range = tiling.line("rows", "width wg", "wg"),
    accepts = compiled,
    prepare = aligned_to("width"),
  },
  {
    name = "simd", file = "simd.cl", format = "dia",
    lesson = "for CPU devices: a block of rows per work-item, sums of long "
      .. "vectors in registers",
    params = {
      param("width", {2, 4, 8, 16}, 16, "elements per vector"),
      param("vectors", {1, 4, 8}, 4, "vectors whose sums are in registers"),
      param("block", {256, 1024, 2048, 4096, 16384}, 4096,
        "rows per work-item"),
      param("ahead", {0, 256, 1024}, 256,
        "rows between a request and the use of a value"),
      tiling.stream "y",
    },
    range = tiling.line("rows", "block", 1),
    accepts = tiling.cpu_only,
    traffic = function(s) -- vectors of values and of x meet in registers
      return {moved = (2 * s.ndiags + 1) * s.rows * s.esize}
    end,
  },
  {
    name = "packed", file = "packed.cl", format = "packed",
    lesson = "fewer bytes (Dia:pack): a byte for a row of few patterns, one "
      .. "diagonal for two that mirror each other",
    params = {
      param("wg", {1, 32, 64, 128, 256, 512, 1024}, 128,
        "work-items in a work-group; 1 on CPUs"),
      param("width", {1, 2, 4, 8, 16}, 4, "consecutive rows of a work-item"),
      param("steps", {1, 2, 4, 8, 64, 256, 1024}, 1,
        "times that a work-item takes as many"),
      param("blocks", {0, 1}, 0,
        "1: x and mirrored diagonals are loaded in aligned vectors only"),
      param("single", {0, 1}, 1,
        "1: rows of rare patterns one by one, 0: with their neighbours"),
      tiling.stream("y", 0),
    },
    defines = packed_defines,
    range = tiling.line("rows", "wg width steps", "wg"),
    accepts = compiled,
    traffic = function(s) -- x by diagonal from the cache; rare rows left out
      return {moved = (s.ndiags + 1) * s.esize * s.rows + s.packing.bytes
        + s.packing.again}
    end,
  },
  {
    name = "csr_scalar", file = "csr_scalar.cl", format = "csr",
    lesson = "CSR, one work-item per row: neighbours read a row apart",
    params = {wg},
    args = csr_args, prepare = transposed,
    defines = tiling.no_defines,
    range = one_row,
  },
  {
    name = "csr_vector", file = "csr_vector.cl", format = "csr",
    lesson = "CSR, several lanes per row: coalesced, sums meet in local "
      .. "memory",
    params = {
      wg,
      param("lanes", {2, 4, 8, 16, 32}, 4,
        "work-items per row, about an eighth of its usual length"), nv,
    },
    accepts = ptx,
    args = csr_args, prepare = transposed,
    range = tiling.line("rows", function(p) return p.wg // p.lanes end, "wg"),
    local_bytes = function(s, p)
      return (p.wg + p.wg // p.lanes) * s.esize
    end,
  },
  {
    name = "csr_balanced", file = "csr_balanced.cl", format = "csr",
    lesson = "CSR, equal parts of elements and ends of rows for all "
      .. "work-items, whatever the lengths of rows",
    kernel = "spmv",
    params = {
      param("wg", {32, 64, 128, 256}, 128, "work-items in a work-group"),
      param("items", {4, 8, 16}, 4,
        "elements and ends of rows of a work-item"), nv,
    },
    accepts = ptx,
    args = function(s, p, o)
      return table.move({o.starts, o.tails, o.links}, 1, 3, 9,
        csr_args(s, p, o))
    end,
    range = function(s, p)
      return {parts(s, p) * p.wg}, {p.wg}
    end,
    local_bytes = function(s, p)
      return 2 * p.wg * p.items + p.wg * (s.esize + 4) + 4
    end,
    prepare = find_starts,
    finish = add_tails,
  },
  {
    name = "csr_packed", file = "csr_packed.cl", format = "packed_csr",
    lesson = "CSR with indexes of 16 bits (Csr:pack): chunks of elements, "
      .. "whatever the lengths of rows",
    kernel = "spmv",
    params = {
      param("wg", {1, 32, 64, 128, 256}, 128,
        "work-items in a work-group; 1 on CPUs"),
      param("steps", {1, 4, 16, 64}, 1, "chunks of a work-group"),
    },
    args = function(s, _, o)
      local M = o.M
      return {s.rows, s.cols, s.nnz, s.chunks, #M.pages, #M.far, s.pieces,
        M.chunks, M.row_ptr, M.near, M.pages, M.far, M.values, o.x, o.y,
        o.pieces}
    end,
    defines = rows_defines,
    range = tiling.line("chunks", "steps", "wg"),
    local_bytes = function(s, p)
      return p.wg > 1 and (1024 + 32 + p.wg) * s.esize or s.esize
    end,
    prepare = function(s)
      return {pieces = tiling.scratch(s, math.max(1, s.pieces))}
    end,
    finish = add_pieces,
    traffic = function(s) -- x once for each element
      return {moved = (2 * s.nnz + s.rows) * s.esize + s.index_bytes}
    end,
  },
}

-- ladders/gemm/nv_tiles.lua - the common part of NVIDIA's rungs of the GEMM
-- ladder: the tiling and the splits of a shape, rungs of tilings, and the
-- width of copies
-- SPDX-License-Identifier: MIT

local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local M = {}

local groups = tiling.groups

M.SPLITS = {1, 2, 4, 8}
M.STREAMS = {1, 2} -- work-groups of a unit that share all tiles
local MOST = 65535 -- work-groups of shared tiles: the kernel's arithmetic
M.PANEL = 128 -- lines of an operand that nv_pairs.lua packs: a multiple of it
M.RASTER = 8 -- rows of tiles worked off together, unless t.raster

-- Tilings by columns and a row for each. A work-group computes bm x bn
-- elements of C, each of its warps wm x wn, for every slice of the steps of k
-- that has warps of its own; `resident` work-groups share a multiprocessor;
-- local memory has room for `stages`; `rate` is the measured speed on a large
-- product, or on `most` tiles, in TFLOPS of one H100, and `single` the same
-- where B is copied element by element: only the proportions matter, for the
-- choice among them.
-- Beyond `most` tiles on a multiprocessor a tiling is no choice, nor where
-- compute units share its tiles. `mark` tells tilings of one size apart.
function M.tilings(columns, rows)
  for _, t in ipairs(rows) do
    local i = 0
    for column in columns:gmatch "%S+" do
      i = i + 1
      t[column] = t[i]
    end
    t.slices = t.slices or t.lm and 1
    t.name = ("%dx%d"):format(t.bm, t.bn)
      .. ((t.slices or 1) > 1 and "x" .. t.slices or "") .. (t.mark or "")
  end
  return rows
end

-- The tiles of a product.
function M.count(t, s)
  return groups(s.m, t.bm) * groups(s.n, t.bn)
end

-- Length of the sums in one of several splits: whole tiles, whatever their
-- depth, so that every split begins at a multiple of 16 bytes.
function M.depth_of(k, splits)
  return tiling.roundup(groups(k, splits), 16)
end

function M.warps(t)
  return t.bm // t.wm * (t.bn // t.wn) * (t.slices or 1)
end

-- Local memory of a tiling, in bytes: nv_ffma.cl lengthens lines of operands
-- that it turns, A and a transposed B; in `direct` tilings B goes straight
-- to registers.
local function footprint(t, s)
  local turned = (s.trans_a and 0 or 1) + (s.trans_b and 1 or 0)
  local padding = t.lm and turned * 16 // s.esize or 0
  local lines = t.bm + padding + (t.direct and 0 or t.bn)
  return t.stages * t.bk * lines * s.esize
end

-- Whether the work-items share the copies of a transposed A evenly.
local function serves(t, s)
  return t.asking or not s.trans_a or 32 * M.warps(t) % t.bm == 0
end

-- Whether a tiling fits the local memory of the device; `large` tilings are of
-- kernels whose local memory ladder/ptx.lua enlarges.
local function fits(t, s)
  local dev = s.context and s.context.device
  local limit = dev and dev.local_mem_size or 49152
  if dev and t.large then
    limit = require "clshell.ladder.ptx".local_limit(dev)
  end
  return footprint(t, s) <= limit
end

-- Whether the multiprocessor with the most tiles has no more than t.most.
local function few(t, shares, s, units)
  return not t.most or shares % M.count(t, s) == 0
    and groups(shares * s.batch, units) <= t.most
end

-- The cost of a product with a tiling whose tiles `shares` work-groups share,
-- in seconds on the scale of `rate`. The multiprocessor with the most shares
-- decides; it works on `resident` of them at a time, the last ones on their
-- own, and fewer warps hide less of the latency. Further shares cost the
-- writing and reading of the parts, many parts of a tile take long to add.
local function cost(t, shares, s, units)
  local splits = shares / M.count(t, s)
  local most = groups(shares * s.batch, units)
  local depth = tiling.roundup(math.ceil(s.k / splits), 16)
  local rate = s.n % 4 ~= 0 and t.single or t.rate
  local one = 2 * t.bm * t.bn * depth / (rate / 132 * 1e12)
  local function share(count) -- of the rate, with `count` tiles at once
    return 1 / (1 + 1.2 / (count * M.warps(t)))
  end
  local rest = most % t.resident
  -- the store of C; other tiles hide it only where there are several, and
  -- groups of nv_hopper.cl go on to their next tiles
  one = one + t.bm * t.bn * (s.out_esize or s.esize) / (2.5e12 / 132)
    / (t.asking and 1 or t.resident)
  local time = 5e-6 + (most - rest) * one
  if rest > 0 then
    time = time + rest * one * share(t.resident) / share(rest)
  end
  if splits > 1 then
    time = time + 1e-6 + 2 * splits * s.batch * s.m * s.n * s.esize / 2.5e12
    if t.slices then -- nv_ffma
      time = time + (splits % 1 == 0 and 3e-6 or 6e-6)
        + (splits > 8 and 2 * splits^0.5 or splits) * t.bm * t.bn * s.esize
        / 2.5e11
    end
  end
  return time
end

-- The numbers of work-groups that may share the tiles: each tile has the same
-- number, or each compute unit (p.stream), where a rung has that parameter.
local function all_shares(t, s, p, units)
  local count, list = M.count(t, s), {}
  local steps = count * groups(s.k, t.bk)
  for _, n in ipairs(p.split == 0 and M.SPLITS or {p.split}) do
    if (p.stream or 0) == 0 and (n == 1 or n * 4 * t.bk <= s.k
        and n * count <= MOST and steps < 1 << 32) then
      list[#list + 1] = n * count
    end
  end
  for _, n in ipairs(p.stream == 0 and M.STREAMS or {p.stream}) do
    local shares = math.min(n * units, steps)
    if p.split == 0 and (p.stream > 0 or s.type == "float"
        and s.batch == 1 and count < shares and 4 * shares <= steps) then
      list[#list + 1] = count <= MOST and steps < 1 << 32 and shares or nil
    end
  end
  return list
end

-- The tiling of a product, and the number of work-groups that share its tiles:
-- the values of the parameters, the cheapest where they leave a choice. nil
-- where the type has no tiling of that name.
function M.choose(list, s, p)
  local units = tiling.units(s, 132)
  local best, chosen, shares
  for _, t in ipairs(list) do
    if serves(t, s) and (p.tile == t.name or p.tile == "auto"
        and fits(t, s)) then
      for _, n in ipairs(all_shares(t, s, p, units)) do
        local c = cost(t, n, s, units)
        if not (best and best <= c)
            and (p.tile ~= "auto" or few(t, n, s, units)) then
          best, chosen, shares = c, t, n
        end
      end
    end
  end
  return chosen, shares
end

-- The same with the splits of each sum: the work-groups of a tile.
function M.with_splits(list, s, p)
  local t, shares = M.choose(list, s, p)
  return t, t and shares // M.count(t, s)
end

-- The parameter that chooses among the tilings of one or two lists.
function M.tile_param(first, second)
  local names, seen = {"auto"}, {}
  for _, list in ipairs{first, second} do
    for _, t in ipairs(list) do
      names[#names + 1] = not seen[t.name] and t.name or nil
      seen[t.name] = true
    end
  end
  return tiling.param("tile", names, "auto",
    "rows x columns of C per work-group; auto: by the shape")
end

M.split = tiling.param("split", {0, table.unpack(M.SPLITS)}, 0,
  "parts of each sum, computed side by side; 0: by the shape")

-- The memory for the parts of the sums of `count` tiles, see nv.cl; type: of
-- the sums, nil: of the operands.
function M.parts(t, s, splits, count, run, type)
  return {parts = tiling.scratch(s, count * splits * t.bm * t.bn, type),
    counters = tiling.counters(s, count * splits, run)}
end

-- The reason why a rung with entries for some types refuses another, or nil.
function M.other_type(entries, s)
  if not entries[s.type] then
    return ("computes in %s, the matrices are %s"):format(
      table.concat(text.keys(entries), " and "), s.type)
  end
end

-- The defines of a tiling: `names` of its fields, and the elements that
-- copies of A and B, as they are stored, and stores of C move at once, `wide`
-- at most.
function M.defines(t, splits, s, names, wide)
  local a, b, c = table.unpack(wide)
  local defines = {
    RASTER = t.raster or M.RASTER, SPLITS = splits > 1 and splits or nil,
    VA = submatrix.vector(a, s.trans_a and s.m or s.k, s, "a"),
    VB = submatrix.vector(b, s.trans_b and s.k or s.n, s, "b"),
    VC = submatrix.vector(c, s.n, s, "c"),
  }
  for name in names:gmatch "%S+" do
    defines[name:upper()] = t[name]
  end
  return defines
end

-- The fields that rungs of tilings have in common, for a compute capability
-- of `least` or more, or of `only`. rung.defines gets the tiling, the
-- splits and the shape here.
function M.tiled(rung, tilings, least, only)
  local function choice(s, p)
    return M.with_splits(tilings[s.type], s, p)
  end
  rung.params = {M.tile_param(tilings.float or tilings.double,
    tilings.float and tilings.double), M.split}
  rung.places = "batch"
  function rung.accepts(dev, s, p)
    local reason = M.other_type(tilings, s) or tiling.lacks(dev, least, only)
    if not reason and not choice(s, p) then
      reason = ("tile = %s and split = %d%s do not go with %s%s and k = %d")
        :format(p.tile, p.split, (p.stream or 0) > 0 and " with stream = "
        .. p.stream or "", s.type, s.trans_a and ", A^T" or "", s.k)
    end
    return reason
  end
  local define = rung.defines
  function rung.defines(p, s)
    local t, splits = choice(s, p)
    return define(t, splits, s)
  end
  function rung.traffic(s, _, defines)
    if defines and defines.BM and defines.BN then
      return {fetch = tiling.product(s, defines.BM, defines.BN)}
    end
  end
  function rung.range(s, p)
    local t, splits = choice(s, p)
    local size = 32 * M.warps(t)
    return {M.count(t, s) * size, splits}, {size, 1}
  end
  function rung.local_bytes(s, p)
    return footprint(choice(s, p), s)
  end
  function rung.prepare(s, p, _, run)
    local t, splits = choice(s, p)
    if splits > 1 then
      return M.parts(t, s, splits, M.count(t, s) * s.batch, run)
    end
  end
  function rung.args(s, p, o)
    local _, splits = choice(s, p)
    return {s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta, o.C,
      o.C.ld, M.depth_of(s.k, splits), o.parts, o.counters}
  end
  return rung
end

return M

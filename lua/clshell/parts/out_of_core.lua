-- parts/out_of_core.lua - products of matrices that are larger than the
-- device, or than the host's memory: tiles of C, to which panels of A and B
-- stream
-- SPDX-License-Identifier: MIT
--
-- A tile of C stays on the device while k passes by in panels, tm x tk of A
-- and tk x tn of B, in two slots: one slot is filled while the product of the
-- other slot runs. So 2 tm tn tk operations need (tm + tn) tk elements. A
-- square tile does t / bytes operations for each byte sent, which is the most
-- for a memory of t^2 elements up to a constant (Smith, Lowery, Langou and van
-- de Geijn, "A tight I/O lower bound for matrix multiplication", 2017). An
-- H100 multiplies floats at 200 TFLOPS, and its link carries 55 GB/s from
-- pinned memory, so a tile must have t >= 4 * 200e12 / 55e9 = 14500 for the
-- link to keep up, and t = 32768, a tile of 4 GiB, needs 24 GB/s. Doubles at
-- 60 TFLOPS need t >= 8700, and a tile of 4 GiB (t = 23170) needs 21 GB/s. No
-- tile is larger than 4 GiB, since the device is idle while the result of the
-- last tile is fetched.

local arguments = require "clshell.ladder.operands"
local cl = require "cl"
local host = require "cl.host"
local argument = require "clshell.base.argument"
local npy = require "clshell.data.npy"
local operands = require "clshell.ladders.gemm.gemm_operands"
local options = require "clshell.base.options"
local panels = require "clshell.parts.panels"
local quantity = require "clshell.base.quantity"
local staging = require "clshell.parts.staging"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local groups, roundup = tiling.groups, tiling.roundup

local M = {}

local WHO = "gemm.out_of_core"
local TILE = 4 << 30    -- bytes of a tile of C, at most
local DEPTH = 4096      -- depth of panels, at most
local LEAST_DEPTH = 64
local PANELS = 256 << 20 -- bytes of a pair of panels that is worth a launch
local PIECE = 64 << 20  -- bytes of a pinned piece
local FULL = 1024       -- sizes from here on are whole multiples of ALIGNED
local ALIGNED = 256

-- Pairs of panels that need memory: two slots, and the four copies that
-- kernels pack for themselves, for two slots and two tiles of C.
local PAIRS = 2 + 4

-- The store of a matrix of the host: x is an Array or the path of a .npy file.
-- trans: whether the store has the matrix transposed.
local function store(name, x)
  if type(x) == "string" then
    local f, reason = npy.open(x)
    if not f then
      cl.error(("%s: %s: %s"):format(WHO, name, reason), {arg = name})
    end
    if f.swap then
      f:close()
      cl.error(("%s: %s: the bytes of %s have the order of another machine")
        :format(WHO, name, x),
        {hint = "npy.save(path, npy.load(path)) writes them in this one's"})
    end
    return {name = name, type = f.type, rows = f.rows, cols = f.cols,
      side = f.file, ld = f.ld, skip = f.skip, trans = f.fortran, file = f}
  elseif text.class(x) == "Array" and x.rows then
    return {name = name, type = x.type, rows = x.rows, cols = x.cols, side = x,
      ld = x.cols, trans = false}
  end
  cl.error(("%s: %s must be an Array of two dimensions or the path of a .npy "
    .. "file; got %s"):format(WHO, name, text.got(x)), {arg = name,
    hint = "matrices on the device go to gemm(A, B)"})
end

local function close(stores)
  for _, s in pairs(stores) do
    if s.file then
      s.file:close()
    end
  end
end

-- The place of a part of op(X) in the store of X: row, col, rows, cols.
local function lying(x, trans, row, col, rows, cols)
  if trans ~= x.trans then
    return col, row, cols, rows
  end
  return row, col, rows, cols
end

-- Reads a line of op(X), or an element, to an Array, from element `at` on.
local function read(h, at, x, trans, row, col, rows, cols)
  local r, c, n, m = lying(x, trans, row, col, rows, cols)
  host.copy_box(h, x.side, {rows = n, cols = m, to_first = at, to_ld = m,
    from_first = (r - 1) * x.ld + c, from_ld = x.ld, from_skip = x.skip})
end

-- The size of `count` equal parts of an extent.
local function part(extent, count)
  local size = groups(extent, count)
  return math.min(extent, size >= FULL and roundup(size, ALIGNED) or size)
end

-- The depth of panels for a tile: an eighth of the tile, so that reading and
-- writing the tile at each product costs little, and deep enough for a launch.
local function depth(s, tm, tn, budget)
  local tk = math.max(LEAST_DEPTH, roundup(math.min(tm, tn) // 8, 64))
  local bytes = (tm + tn) * s.esize
  while tk < DEPTH and 2 * tk * bytes < PANELS
      and 2 * tm * tn + 2 * PAIRS * (tm + tn) * tk <= budget do
    tk = 2 * tk
  end
  tk = math.min(tk, DEPTH, s.k)
  return part(s.k, groups(s.k, tk)) -- panels of about equal depth
end

-- The number of parts that gives the next smaller size.
local function more(extent, size)
  return groups(extent, size - math.max(size // 16, size >= FULL and ALIGNED
    or 1))
end

-- out_of_core.tiles(s, memory, most) -> {m, n, k, rows, cols, steps}
-- The size m x n of the tiles of C, the depth k of the panels, the rows and
-- columns of tiles, and the steps along k, for a product of shape s, {m, n, k,
-- esize}. memory: bytes for the product; most: bytes of one allocation.
-- Returns nil where the memory is too small.
function M.tiles(s, memory, most)
  local budget, largest = memory // s.esize, most // s.esize
  local rows, cols = 1, 1
  while true do
    local tm, tn = part(s.m, rows), part(s.n, cols)
    local tk = depth(s, tm, tn, budget)
    local several = rows * cols > 1 and 2 or 1
    if several * tm * tn + PAIRS * (tm + tn) * tk <= budget
        and math.max(tm * tn, tm * tk, tk * tn) <= largest
        and tm * tn * s.esize <= TILE then
      return {m = tm, n = tn, k = tk, rows = groups(s.m, tm),
        cols = groups(s.n, tn), steps = groups(s.k, tk)}
    elseif tm == 1 and tn == 1 then
      return nil
    elseif tm >= tn then
      rows = more(s.m, tm)
    else
      cols = more(s.n, tn)
    end
  end
end

-- The bytes of device memory for a product: option `memory`, or most of the
-- device's memory, less where host and device have one memory.
local function memory_of(opts, device)
  if opts.memory then
    return argument.integer(WHO, "memory", math.tointeger(opts.memory), 1)
  end
  local share = device.host_unified_memory and 0.25 or 0.8
  return math.floor(device.global_mem_size * share)
end

-- Checks the operands and returns the shape of their product.
local function shape_of(stores, opts)
  local a, b = stores.A, stores.B
  for name, x in pairs(stores) do
    arguments.check_type(WHO, name, x, operands.plain)
    arguments.same_type(WHO, "A", a, name, x)
  end
  local m, k = a.rows, a.cols
  local kb, n = b.rows, b.cols
  if opts.trans_a then
    m, k = k, m
  end
  if opts.trans_b then
    kb, n = n, kb
  end
  if k ~= kb then
    cl.error(("%s: op(A) is %dx%d, op(B) %dx%d: the columns of A are not the "
      .. "rows of B"):format(WHO, m, k, kb, n))
  end
  if m * n * k == 0 then
    cl.error(("%s: op(A) is %dx%d, op(B) %dx%d: a matrix has no elements")
      :format(WHO, m, k, k, n), {hint = "gemm(A, B) takes such matrices"})
  end
  local c = stores.C0
  if c and (c.rows ~= m or c.cols ~= n or c.trans) then
    cl.error(("%s: C is %dx%d%s, but A B is %dx%d"):format(WHO, c.rows, c.cols,
      c.trans and " in Fortran's order" or "", m, n), {arg = "C"})
  end
  return {m = m, n = n, k = k, type = a.type, esize = cl.typesize(a.type),
    alpha = arguments.scalar(WHO, "alpha", opts.alpha or 1, a.type),
    beta = arguments.scalar(WHO, "beta", opts.beta or 0, a.type)}
end

-- Returns C and finish(whole). C is an Array, or the path of a .npy file,
-- which is written under another name until finish(true) renames it.
local function result(stores, C, s)
  if type(C) ~= "string" then
    C = C or cl.array(s.type, {s.m, s.n})
    stores.C = stores.C0 or store("C", C)
    return C, function() end
  end
  local new = C .. ".part"
  local f = npy.create(new, s.type, {s.m, s.n})
  stores.C = {type = s.type, trans = false, side = f.file, ld = s.n,
    skip = f.skip, file = f}
  return C, function(whole)
    f:close()
    local ok, reason = true, nil
    if whole then
      ok, reason = os.rename(new, C)
    else
      os.remove(new)
    end
    if not ok then
      cl.error(("%s: %s"):format(WHO, reason))
    end
  end
end

-- The numbers of the sampled rows or columns: one in each tile, the first and
-- the last.
local function sampled(extent, size)
  local list, x = {1}, 12345
  for first = 1, extent, size do
    x = (x * 1103515245 + 12345) & 0x7fffffff
    list[#list + 1] = first + (x >> 8) % math.min(size, extent - first + 1)
  end
  list[#list + 1] = extent
  return list
end

-- Returns check() -> error, bound, which compares elements of each tile of the
-- result with sums in float64. It reads C0 now, since C may overwrite it.
local function sample(stores, s, tile, opts)
  local rows, cols = sampled(s.m, tile.m), sampled(s.n, tile.n)
  local function crossing(x)
    local h = cl.array(s.type, {#rows, #cols})
    for i, row in ipairs(rows) do
      for j, col in ipairs(cols) do
        read(h, (i - 1) * #cols + j, x, false, row, col, 1, 1)
      end
    end
    return h
  end
  local before = s.beta ~= 0 and crossing(stores.C0) or nil
  return function()
    local A = cl.array(s.type, {#rows, s.k})
    local B = cl.array(s.type, {#cols, s.k}) -- columns of op(B) as rows
    for i, row in ipairs(rows) do
      read(A, (i - 1) * s.k + 1, stores.A, opts.trans_a, row, 1, 1, s.k)
    end
    for j, col in ipairs(cols) do
      read(B, (j - 1) * s.k + 1, stores.B, opts.trans_b, 1, col, s.k, 1)
    end
    local truth = host.gemm_truth(A, host.transpose_loop(B), {alpha = s.alpha,
      beta = s.beta, C0 = before, type = s.type})
    return truth:error(crossing(stores.C)), verify.bound(s.type, s.k)
  end
end

local Job = {} -- one product under way
Job.__index = Job

-- The elements of a pinned piece: PIECE bytes at most, a row of a part at
-- least.
local function longest(s, tile)
  return math.max(math.min(PIECE // s.esize, math.max(tile.m * tile.k,
    tile.k * tile.n, tile.m * tile.n)), tile.m, tile.n, tile.k)
end

-- Sends panel i of operand "a" or "b", of depth d, from its place in op(X),
-- and returns the event.
function Job:send(name, x, i, d, row, col)
  local panel = self.panels:panel(i, name, d)
  if self.panels["trans_" .. name] then
    row, col = col, row
  end
  return self.staging:up(x, row, col, panel.rows, panel.cols, panel)
end

-- Fetches pieces of the tile before: `count` pieces, or all.
function Job:fetch(count)
  while self.fetching and count > 0 do
    self.fetching = self.fetching() and self.fetching or nil
    count = count - 1
  end
end

-- Products are added to the tile of C in Buffer c from now on; returns the
-- tile.
function Job:into(c, row, col)
  local s, t = self.shape, self.tile_sizes
  self.panels:into(self.tiles[c]:matrix(1, math.min(t.m, s.m - row + 1),
    math.min(t.n, s.n - col + 1)), c)
  return self.panels.C
end

-- Calculates one tile of C: sends its panels, launches its products, and
-- meanwhile fetches the tile before.
function Job:tile(c, row, col)
  local s, t, p, stores = self.shape, self.tile_sizes, self.panels, self.stores
  local C = self:into(c, row, col)
  local share = math.ceil((self.pieces or 0) / t.steps)
  if s.beta ~= 0 then
    local there = self.staging:up(stores.C0, row, col, C.rows, C.cols, C)
    p.queue:barrier{after = {there}}
  end
  p:scale(s.beta)
  for k = 1, s.k, t.k do
    local d, i = math.min(t.k, s.k - k + 1), self.sent + 1
    p:free(i)
    self:send("a", stores.A, i, d, row, k)
    local there = self:send("b", stores.B, i, d, k, col)
    p:add(i, d, {there})
    self:fetch(share)
    self.sent = i
  end
  self:fetch(math.huge)
  local whole = p.queue:marker()
  p.queue:flush() -- another queue waits for it
  self.fetching, self.pieces = self.staging:down(C, stores.C, row, col, whole)
end

-- Calculates all tiles, back and forth, so that neighbours follow one another.
function Job:run()
  local t, c = self.tile_sizes, 1
  for i = 0, t.rows - 1 do
    for j = 0, t.cols - 1 do
      local at = i % 2 == 0 and j or t.cols - 1 - j
      self:tile(c, i * t.m + 1, at * t.n + 1)
      c = c % #self.tiles + 1
    end
  end
  self:fetch(math.huge)
  self.panels:finish()
end

function Job:__close()
  self.panels.queue:finish()
  self.staging:close()
  self.panels:close()
  for _, tile in ipairs(self.tiles) do
    tile:close()
  end
end

local run_meta = {__name = "Out of core run"}

function run_meta:__tostring()
  local t, size = self.tile, quantity.format
  local line = ("%dx%dx%d %s in %s: tiles of %dx%d, panels %d deep\n"):format(
    self.m, self.n, self.k, self.type, size(self.seconds, "s"), t.m, t.n, t.k)
  local moved = ("  %s up, %s down, %s copied on the host"):format(
    size(self.up_bytes, "B"), size(self.down_bytes, "B"),
    size(self.copied, "s", 3))
  if not self.ok then
    return ("%s  WRONG: error %.1e, at most %.1e is right\n%s"):format(line,
      self.err, self.err_bound, moved)
  end
  return ("%s  %s, %.0f%% of it in products; those at %s; error %.1e\n%s")
    :format(line, size(self.gflops * 1e9, "FLOPS"), self.share * 100,
      size(self.product_gflops * 1e9, "FLOPS"), self.err, moved)
end

local function tiles_of(s, opts, device)
  local memory = memory_of(opts, device)
  local tile = M.tiles(s, memory, device.max_mem_alloc_size)
  if not tile then
    cl.error(("%s: memory is too small for a tile of C and panels; got %s")
      :format(WHO, quantity.format(memory, "B")), {arg = "memory"})
  end
  return tile
end

-- The `run` of a product: its times, rates and error.
local function report(job, seconds, err, bound)
  local s, flop = job.shape, 2.0 * job.shape.m * job.shape.n * job.shape.k
  return setmetatable({m = s.m, n = s.n, k = s.k, type = s.type,
    tile = job.tile_sizes, seconds = seconds, flop = flop, err = err,
    err_bound = bound, ok = err <= bound, gflops = err <= bound
      and flop / seconds / 1e9 or nil,
    product_gflops = err <= bound and flop / job.panels.busy / 1e9 or nil,
    share = job.panels.busy / seconds, up_bytes = job.staging.up_bytes,
    down_bytes = job.staging.down_bytes, copied = job.staging.copied},
    run_meta)
end

local function job_of(stores, s, tile, opts, context)
  local tiles = {}
  for i = 1, tile.rows * tile.cols > 1 and 2 or 1 do
    tiles[i] = cl.buffer(s.type, tile.m * tile.n, nil, {context = context})
  end
  return setmetatable({stores = stores, shape = s, sent = 0,
    tile_sizes = tile, tiles = tiles, panels = panels.new{type = s.type,
      rows = tile.m, cols = tile.n, depth = tile.k, count = 2,
      context = context, alpha = s.alpha, kernel = opts.kernel,
      trans_a = opts.trans_a ~= stores.A.trans,
      trans_b = opts.trans_b ~= stores.B.trans},
    staging = staging.new(context, s.type, longest(s, tile))}, Job)
end

--- gemm.out_of_core(A, B [, opts]) -> C, run
--- The product alpha op(A) op(B) + beta C of matrices that are larger than the
--- device's memory, or than the host's: A, B and C are Arrays, or paths of
--- .npy files, which are read and written by parts. A tile of C stays on the
--- device while panels of A and B stream past it through pinned pieces, the
--- next panels during the product of the panels before. `run` prints as text:
--- seconds, gflops, share (of the time, in products), product_gflops (the rate
--- of the products alone), up_bytes, down_bytes, copied (seconds of copies on
--- the host), tile {m, n, k, rows, cols, steps}, err, err_bound, ok. Elements
--- of each tile are compared with sums in float64; a wrong result has no rate.
--- Options:
---   C        a new Array  the Array, or the path of the file, to write; the
---            file gets its name when it is whole
---   alpha, beta       1, 0   factors of the product and of C as it was
---   trans_a, trans_b  false  true or "T": op(A) is A transposed
---   memory   most of the device's  device bytes for tiles and panels
---   kernel   the best known  a rung's name, see gemm.kernels
---   context  session's  the Context of another device
--- Example:
--- npy.save("A.npy", cl.array("float", {70, 60}, 1))
--- npy.save("B.npy", cl.array("float", {60, 50}, 2))
--- local C, run = gemm.out_of_core("A.npy", "B.npy", {C = "C.npy",
---   memory = 32768})
--- print(C, run.tile.rows * run.tile.cols > 1, run.ok) --> C.npy true true
--- print(npy.load(C)[1], run)
function M.out_of_core(_, A, B, given)
  local opts = options.with(options.check(given, WHO), {})
  for _, name in ipairs{"trans_a", "trans_b"} do
    opts[name] = operands.transposed(name, opts[name])
  end
  local context = opts.context or cl.context()
  local stores = {}
  local _ <close> = setmetatable({}, {__close = function() close(stores) end})
  stores.A, stores.B = store("A", A), store("B", B)
  if opts.C and ((opts.beta or 0) ~= 0 or type(opts.C) ~= "string") then
    stores.C0 = store("C", opts.C)
  elseif not opts.C and (opts.beta or 0) ~= 0 then
    cl.error(("%s: beta = %s needs C, the matrix to add to"):format(WHO,
      opts.beta), {arg = "C"})
  end
  if type(opts.C) ~= "string" and opts.C and (rawequal(opts.C, A)
      or rawequal(opts.C, B)) then
    cl.error(("%s: C must not be A or B"):format(WHO), {arg = "C"})
  end
  local s = shape_of(stores, opts)
  local tile = tiles_of(s, opts, context.device)
  local check = sample(stores, s, tile, opts)
  local C, finish = result(stores, opts.C, s)
  local whole = false
  local _ <close> = setmetatable({}, {__close = function()
    if not whole then
      finish(false)
    end
  end})
  local job <close> = job_of(stores, s, tile, opts, context)
  job:into(1, 1, 1)
  job.panels:plan(1, tile.k)
  local begin = cl.now() -- after the kernels are built
  job:run()
  local seconds = cl.now() - begin
  local run = report(job, seconds, check())
  whole = true
  finish(true)
  return C, run
end

return M

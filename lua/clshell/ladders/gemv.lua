-- ladders/gemv.lua - the product of a matrix and a vector, y = alpha A x +
-- beta y. Each rung names its file in kernels/gemv/, its one-line lesson, its
-- parameters and its NDRange. One half takes A as it stands, the other half A
-- transposed.
-- SPDX-License-Identifier: MIT

local family = require "clshell.ladder"
local host = require "cl.host"
local tiling = require "clshell.ladder.tiling"
local verify = require "clshell.ladder.verify"

local access, groups, param = tiling.access, tiling.groups, tiling.param

local SECOND = 256 -- work-items of a work-group of the second launch
local LX = 32      -- of them side by side

local wg = param("wg", {32, 64, 128, 256, 512}, 128,
  "work-items in a work-group")
local width = param("width", {1, 2, 4, 8}, 4, "elements per load")
local long = param("width", {4, 8, 16}, 16, "elements per vector")

-- The accesses to local memory of a work-item while sums meet there: a store,
-- then in half of the work-items, a quarter and so on two loads and a store.
local function meeting(s)
  return {access(4, s.esize, s.esize)}
end

-- An access of work-items in rows of `lx`, whose addresses are dx and dy bytes
-- apart.
local function folded(n, bytes, lx, dx, dy)
  return tiling.access_at(n, bytes, function(id)
    return id % lx * dx + id // lx * dy
  end)
end

-- A rung for A as it stands, or with `trans` for A transposed.
local function rung(trans, def)
  local accepts = def.accepts
  function def.accepts(dev, s, p)
    if s.trans ~= trans then
      return trans and "for A transposed: trans = true"
        or "for A as it stands, here it is transposed"
    end
    return accepts and accepts(dev, s, p)
  end
  return def
end

-- A rung of two launches for A transposed: the sums of parts, then their sums.
local function parted(def)
  local function parts(s, p)
    return groups(s.rows, p.part)
  end
  function def.args(s, _, o)
    return {s.rows, s.cols, o.A, o.A.ld, o.x, o.sums}
  end
  function def.prepare(s, p)
    return {sums = tiling.scratch(s, parts(s, p) * s.cols)}
  end
  function def.finish(s, p, own, run)
    local most = tiling.group_size(s, SECOND)
    local lx = math.min(LX, most)
    local ly = s.context.device.type == "cpu" and 1 or most // lx
    run("add.cl", "add", {REAL = s.type, LX = lx, LY = ly},
      {tiling.roundup(s.cols, lx), ly}, {lx, ly}, s.cols, parts(s, p),
      own.sums, own.y, s.alpha, s.beta)
  end
  function def.traffic(s, p)
    return {moved = (s.rows + 2 * parts(s, p)) * s.cols * s.esize}
  end
  return rung(true, def)
end

-- A rung of one launch for NVIDIA GPUs: work-groups that take lines(p) rows of
-- the result, or columns, by parts of whole steps of step(p). There are parts
-- where the result alone has too few work-groups for p.fill of a compute unit.
local function once(trans, def, lines, step)
  local along, across = trans and "rows" or "cols", trans and "cols" or "rows"
  local function shares(s, p)
    local n = groups(s[across], lines(p))
    local most = math.max(1, p.fill * tiling.units(s, 132) // n)
    local size = tiling.roundup(groups(s[along], most), step(p))
    return n, size, groups(s[along], size)
  end
  table.insert(def.params, param("fill", {1, 2, 4, 8, 16}, 4,
    "work-groups of a compute unit"))
  function def.accepts(dev, _, p)
    return tiling.lacks(dev, 70) or tiling.mute(dev) or p and p.ly
      and p.ly < p.width and ("width = %d columns need as many rows side by "
      .. "side, ly = %d"):format(p.width, p.ly) or nil
  end
  function def.defines(p)
    local list = tiling.add_defines({TOLD = 1}, p)
    list.FILL = nil -- the same program for all
    return list
  end
  function def.range(s, p)
    local n, _, parts = shares(s, p)
    return {n * (p.lx or p.wg), parts * (p.ly or 1)}, {p.lx or p.wg, p.ly or 1}
  end
  function def.prepare(s, p, _, run)
    local _, size, parts = shares(s, p)
    return {size = size, state = parts > 1 and tiling.told(s,
      parts * s[across] * s.esize // 4, run) or tiling.scratch(s, 1, "ulong")}
  end
  function def.args(s, _, o)
    return {s.rows, s.cols, o.A, o.A.ld, o.x, o.y, s.alpha, s.beta, o.size,
      o.state}
  end
  function def.traffic(s)
    return {moved = s.rows * s.cols * s.esize}
  end
  return rung(trans, def)
end

local rungs = {
  rung(false, {
    name = "naive", file = "naive.cl", params = {wg},
    lesson = "one work-item for each row: neighbours read a row apart",
    range = tiling.line("rows", "wg"),
    traffic = function(s)
      local e = s.esize
      return {global = {access(s.cols, e, s.lda * e), access(s.cols, e)}}
    end,
  }),
  rung(false, {
    name = "group", file = "group.cl", params = {wg},
    lesson = "a work-group for each row: neighbours read neighbours, their "
      .. "sums meet in local memory",
    range = tiling.line("rows", 1, "wg"),
    local_bytes = tiling.elements "wg",
    traffic = function(s, p)
      local e, n = s.esize, groups(s.cols, p.wg)
      return {global = {access(n, e, e), access(n, e, e)},
        locals = meeting(s)}
    end,
  }),
  rung(false, {
    name = "lanes", file = "lanes.cl",
    params = {wg, param("lanes", {4, 8, 16, 32}, 32, "work-items of a row"),
      width},
    lesson = "several rows in a work-group: fewer work-items for each, fewer "
      .. "steps in local memory",
    range = tiling.line("rows", function(p) return p.wg // p.lanes end, "wg"),
    local_bytes = tiling.elements "wg",
    traffic = function(s, p)
      local e, n = p.width * s.esize, groups(s.cols, p.lanes * p.width)
      return {global = {folded(n, e, p.lanes, e, s.lda * s.esize),
        folded(n, e, p.lanes, e, 0)}, locals = meeting(s)}
    end,
  }),
  rung(false, {
    name = "vector", file = "vector.cl",
    params = {wg, width, param("height", {1, 2, 4, 8}, 4,
      "rows of a work-group")},
    lesson = "long loads, and several rows at a time: more bytes under way, x "
      .. "is loaded once for all of them",
    range = tiling.line("rows", "height", "wg"),
    local_bytes = tiling.elements "height wg",
    traffic = function(s, p)
      local e, n = p.width * s.esize, groups(s.cols, p.wg * p.width)
      return {global = {access(n * p.height, e, e), access(n, e, e)},
        locals = {access(4 * p.height, s.esize, s.esize)}}
    end,
  }),
  once(false, {
    name = "nv_rows", file = "vector.cl",
    params = {wg, width, param("height", {1, 2, 4, 8}, 2,
      "rows of a work-group"), param("depth", {1, 2, 4, 8}, 4,
      "loads of a row under way")},
    lesson = "one launch, also for few long rows: the last work-group of a "
      .. "row adds its parts",
    local_bytes = tiling.elements "height wg",
  }, function(p)
    return p.height
  end, function(p)
    return p.wg * p.width
  end),
  rung(false, {
    name = "simd", file = "simd.cl",
    params = {param("block", {8, 16, 64, 256, 1024}, 64,
      "rows of a work-item"),
      param("height", {1, 2, 4, 8}, 8, "rows side by side"), long},
    lesson = "for CPU devices: several rows at a time, sums of long vectors "
      .. "in registers",
    accepts = tiling.cpu_only,
    range = tiling.line("rows", "block", 1),
    traffic = function(s, p)
      return {moved = s.rows * s.cols * (1 + 1 / p.height) * s.esize}
    end,
  }),
  rung(true, {
    name = "columns", file = "columns.cl", params = {wg},
    lesson = "of A transposed: one work-item for each column, neighbours read "
      .. "neighbours",
    range = tiling.line("cols", "wg"),
    traffic = function(s)
      local e = s.esize
      return {global = {access(s.rows, e, e), access(s.rows, e)}}
    end,
  }),
  parted{
    name = "split", file = "split.cl",
    params = {wg, width, param("part", {16, 32, 64, 128, 256, 512}, 128,
      "rows of a work-item")},
    lesson = "of A transposed: parts of the rows apart, more work-items; "
      .. "their sums are added after",
    range = tiling.grid("cols", "rows", "wg width", "part", "wg", 1),
  },
  rung(true, {
    name = "strips", file = "strips.cl",
    params = {param("lx", {4, 8, 16, 32}, 8, "work-items side by side"),
      param("ly", {16, 32, 64, 128}, 64, "rows side by side"), width,
      param("height", {4, 8, 16}, 8, "rows of a work-item, loaded together")},
    lesson = "of A transposed, of many columns: a work-group for each strip "
      .. "of columns, its sums meet in local memory",
    range = function(s, p)
      return tiling.range(s.cols, p.ly, p.lx * p.width, p.ly, p.lx, p.ly)
    end,
    local_bytes = tiling.elements "lx ly width",
    traffic = function(s, p)
      local e, n = s.esize, groups(s.rows, p.ly)
      local v = p.width * e
      return {global = {folded(n, e, p.lx, v, s.lda * e),
        folded(n, e, p.lx, 0, e)}, locals = {access(4, v, v)}}
    end,
  }),
  once(true, {
    name = "nv_strips", file = "strips.cl",
    params = {
      param("lx", {4, 8, 16, 32, 64, 128}, 32, "work-items side by side"),
      param("ly", {4, 8, 16, 32, 64, 128, 256}, 8, "rows side by side"), width,
      param("height", {2, 4, 8, 16}, 8,
        "rows of a work-item, loaded together")},
    lesson = "of A transposed: strips in parts of the rows, in one launch",
    local_bytes = tiling.elements "lx ly width",
  }, function(p)
    return p.lx * p.width
  end, function(p)
    return p.ly * p.height
  end),
  parted{
    name = "simd_split", file = "simd_split.cl",
    params = {param("span", {256, 1024, 4096, 8192}, 8192,
      "columns of a work-item"),
      param("part", {64, 256, 1024}, 256, "rows of a work-item"),
      param("height", {1, 2, 4, 8}, 8, "rows side by side"), long},
    lesson = "of A transposed, for CPU devices: rows are read along, sums of "
      .. "the columns stay in the nearest cache",
    accepts = tiling.cpu_only,
    range = tiling.grid("cols", "rows", "span", "part", 1, 1),
  },
}

-- A size of a vector: the columns of A, or its rows if it is transposed; of
-- the result the other way round.
local function size(plain, transposed)
  return function(s)
    return s.trans and s[transposed] or s[plain]
  end
end

-- The product as a product of two matrices: on the left A, or x as a row; on
-- the right x as a column, or A; the former content of y, and the sizes.
local function as_matrices(o, s)
  local A, x = o.A:read(), o.x:read()
  local y0 = s.beta ~= 0 and o.y:read() or nil
  local m, n = s.rows, 1
  if s.trans then
    m, n = 1, s.cols
    A, x = x:reshape{1, s.rows}, A
  else
    x = x:reshape{s.cols, 1}
  end
  return A, x, y0 and y0:reshape{m, n}, {m = m, n = n,
    k = s.trans and s.rows or s.cols, type = s.type, alpha = s.alpha,
    beta = s.beta}
end

--- gemv(A, x [, opts]) -> y, event
--- The product y = alpha op(A) x + beta y of a matrix and a vector on the
--- device, in float or double. A is rows x cols, a Buffer with two dimensions,
--- whose rows may have gaps; x has cols elements and y rows, or the other way
--- round if A is transposed (an Array or a table is copied to the device). y
--- shares no memory with A and x. An element of y is off by
--- verify.bound(type, #x) of the sum of absolute values at most.
--- Options:
---   trans   false          true: op(A) is A transposed
---   alpha   1              factor of the product
---   beta    0              factor of y as it was, which has to be given then;
---           with 0, y is not read
---   kernel  the best known  a rung's name, see gemv.kernels; with it the
---           rung's own parameters
---   y       a new one      the Buffer to write
---   queue   default queue  the Queue to run on
---   after   none           a list of events to wait for
--- Example:
--- local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
--- print(gemv(A, {1, 1, 1}):read()[2]) --> 15.0
--- print(#gemv(A, {1, 1}, {trans = true, alpha = 2})) --> 3
local gemv = family.new({
  name = "gemv",
  arguments = {{"A", "rows", "cols"}, {"x", size("cols", "rows")}},
  output = {"y", size("rows", "cols")},
  options = {{name = "trans", values = {false, true}},
    {name = "alpha", default = 1, try = {-0.5, 3},
      help = "factor of the product"},
    {name = "beta", default = 0, try = {1, -0.5},
      help = "factor of y as it was, which is added"}},
  rungs = rungs,
  cache = "cold",
  memory = "read",
  updates = function(s)
    return s.beta ~= 0
  end,
  nothing = function(s, o)
    return o.y:set(s.beta ~= 0 and s.beta * o.y or 0)
  end,
  flop = function(s)
    return 2 * s.rows * s.cols
  end,
  truth = function(o, s)
    local A, x, y0, product = as_matrices(o, s)
    local truth = verify.gemm(A, x, product, y0)
    return function(y)
      local err, bound, mode, row, col = truth(y:reshape{product.m,
        product.n})
      return err, bound, mode, s.trans and col or row
    end, y0 and y0:reshape(#y0)
  end,
  hosts = {
    {name = "plain_c", gflops = 0.5, run = function(o, s)
      local A, x, y0 = as_matrices(o, s)
      local y, seconds = host.gemm_loop(A, x,
        {alpha = s.alpha, beta = s.beta, C0 = y0})
      return y:reshape(#y), seconds
    end},
  },
  awkward = {{1, 1}, {7, 1}, {1, 17}, {16, 16}, {33, 100}, {100, 33},
    {1, 1, trans = true}, {17, 7, trans = true}, {100, 33, trans = true},
    {33, 100, trans = true}},
}, require "clshell.base.lazy".table(...))

return gemv

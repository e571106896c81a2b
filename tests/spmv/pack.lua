-- spmv/pack.lua - packed matrices: what Dia:pack finds, the same bits as by
-- diagonals, rows that look alike and do not, lifetime, refusals
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local csr = require "clshell.data.csr"
local dia = require "clshell.data.dia"
local help = require "clshell.help"
local host = require "cl.host"
local ladder = require "ladder"
local sparse = require "clshell.data.sparse"
local spmv = require "clshell.spmv"

t.keeps("Program", "Kernel")
local device = t.device()

-- A matrix of value(d, i) by diagonals, NaN wherever no element lies.
local function build(type, rows, cols, offsets, value, gap)
  local pitch, ndiags = rows + (gap or 0), #offsets
  local values = cl.array(type, {ndiags, pitch}):fill(0 / 0)
  for d, offset in ipairs(offsets) do
    for i = math.max(1, 1 - offset), math.min(rows, cols - offset) do
      values:set(d, i, value(d, i))
    end
  end
  return sparse.upload_dia{rows = rows, cols = cols, ndiags = ndiags,
    pitch = pitch, nnz = ndiags * rows, type = type, format = "dia",
    host = {offsets = cl.array("int", ndiags, offsets), values = values}}
end

local random = cl.array("double", 8192):random(t.seed, -1, 1)

-- Values by name: value(d, i).
local VALUES = {
  constant = function(d) return d / 3 end,
  few = function(d, i) return (i * i // 3 % 4) * d / 3 end,
  one_odd_row = function(d, i) return i == 700 and 5 or d / 3 end,
  main_diagonal = function(d, i) return d == 2 and random[i] or -1 end,
  halves = function(d, i) return (i * 37 + d) % 1000 / 8 end,
  signed_zeros = function(d, i) return i % 3 == 0 and -0.0 or d - 2.0 end,
  special = function(d, i)
    return i % 5 == 0 and 1 / 0 or i % 7 == 0 and 0 / 0 or d
  end,
  all_nan = function() return 0 / 0 end,
  none = function(d, i) return random[(i * 3 + d) % 8000 + 1] end,
}

-- rows, cols, offsets, elements that the pitch exceeds the rows by
local SHAPES = {
  {1, 1, {-1, 0, 1}, 0}, {1, 40, {0, 5, 39}, 3}, {40, 1, {-39, -7, 0}, 0},
  {17, 17, {-16, 0, 16}, 1}, {1000, 1000, {-40, 0, 40}, 24},
  {1000, 700, {-900, -1, 0}, 0}, {700, 1000, {-1, 0, 699}, 4},
  {1003, 1003, {-1, 0, 1}, 5}, {100, 100, {-300, 0, 300}, 0},
}

-- Whether two results have the same bits, a NaN for each NaN.
local function same(a, b)
  local equal, at = a:equal(b)
  if equal then
    return true
  end
  for i = at, #a do
    if a[i] ~= b[i] and (a[i] == a[i] or b[i] == b[i]) then
      return false, i
    end
  end
  return true
end

-- Configurations in turn, beside that of a call that names none: compilers
-- take their time.
local CONFIGS = {
  {wg = 32, width = 4, steps = 1, blocks = 1, single = 1},
  {wg = 1, width = 16, steps = 64, blocks = 0, single = 0, stream = 1},
  {wg = 64, width = 2, steps = 2, blocks = 1, single = 0},
  {wg = 32, width = 1, steps = 1, blocks = 0, single = 1},
  {wg = 32, width = 8, steps = 4, blocks = 0, single = 1},
}
local turn = t.seed

-- Compares a packed matrix in two configurations with M itself.
local function try(what, M, x)
  local P <close> = M:pack()
  local expected = spmv(M, x, {kernel = "specialised"}):read()
  turn = turn + 1
  local k = turn % #CONFIGS + 1
  for _, p in ipairs{{}, CONFIGS[k]} do
    local opts = {kernel = p.wg and "packed" or nil}
    for name, value in pairs(p) do
      opts[name] = value
    end
    opts.y = cl.buffer(x.type, M.rows, 0 / 0)
    local y <close> = spmv(P, x, opts):read()
    local fine, at = same(y, expected)
    t.ok(fine, ("%s, configuration %s: row %s"):format(what, p.wg and k
      or "of a call", at))
  end
end

for _, type in ipairs(ladder.types(device)) do
  for name, value in pairs(VALUES) do
    t.test(("%s %s: the bits of specialised"):format(type, name), function()
      local M <close> = build(type, 1000, 1000, {-40, 0, 40}, value, 24)
      local x = cl.buffer(type, 1000, cl.array(type, 1000):random(t.seed))
      try(name, M, x)
    end)
  end
end

t.test("all shapes", function()
  for k, shape in ipairs(SHAPES) do
    local rows, cols, offsets, gap = table.unpack(shape)
    local M <close> = build("float", rows, cols, offsets, VALUES.few, gap)
    local P <close> = M:pack()
    local x = cl.buffer("float", cols, cl.array("float", cols):random(t.seed))
    try("shape " .. k, M, x)
    t.ok(P:to_dia().values:read():tobytes() == M.values:read():tobytes())
  end
end)

-- The words about a packed matrix behind its size, and its info.
local function found(type, name, rows)
  local M = build(type, rows or 1000, rows or 1000, {-1, 0, 1},
    VALUES[name])
  local P = M:pack()
  return tostring(P):match "3 diagonals: .*", P:info()
end

t.test("what it finds", function()
  local words, i = found("float", "constant")
  t.eq(words, "3 diagonals: 3 constant; 0 bytes of values instead of 12000 "
    .. "bytes")
  t.eq({i.constant, i.joined, i.stored, i.patterns, i.bytes, i.dia_bytes},
    {3, 3, 0, 1, 0, 12000})
  words, i = found("float", "few")
  t.eq(words, "3 diagonals: 3 in 4 patterns of rows; 1048 bytes of values "
    .. "instead of 12000 bytes")
  t.eq({i.constant, i.joined, i.patterns}, {0, 3, 4})
  words = found("float", "main_diagonal")
  t.eq(words, "3 diagonals: 2 constant, 1 as they are; 4000 bytes of values "
    .. "instead of 12000 bytes")
  words, i = found("float", "halves")
  t.eq(words, "3 diagonals: 3 as half; 6000 bytes of values instead of 12000 "
    .. "bytes")
  t.eq({i.stored, i.stored_type}, {3, "half"})
  words = found("float", "none")
  t.eq(words, "3 diagonals: 3 as they are; 12000 bytes of values instead of "
    .. "12000 bytes")
  words = found("float", "all_nan")
  t.ok(words:find("3 constant", 1, true), words)
  i = select(2, found("float", "signed_zeros"))
  t.eq({i.constant, i.patterns}, {0, 2})
  -- a pattern is for 16 rows or more
  i = select(2, found("float", "one_odd_row", 15))
  t.eq({i.patterns, i.stored}, {1, 0})
  i = select(2, found("float", "few", 15))
  t.eq({i.patterns, i.stored, i.stored_type}, {1, 3, "float"})
end)

t.test("Poisson matrices, and the rates that are told of them", function()
  local P <close> = dia.poisson2d(40, 30):pack()
  t.eq({P.format, P.rows, P.nnz, P.patterns.rows, P.constant},
    {"packed", 1200, dia.poisson2d(40, 30).nnz, 3, 3})
  t.ok(tostring(P):find("^packed matrix 1200 x 1200 of float, 5 diagonals: 3 "
    .. "constant, 2 in 3 patterns of rows; "), tostring(P))
  t.eq(dia.poisson3d(12, 10, 9):pack().patterns.rows, 9)
  local x = cl.buffer("float", 1200, 1)
  local plan = spmv.plan(P, x)
  t.eq(plan.rung.name, "packed")
  t.eq(spmv.bytes(plan.rung, plan.shape, plan.params),
    2 * 1200 * 4 + 1200 + 3 * 5 * 4)
  t.eq(spmv.flop(plan.rung, plan.shape), 2 * P.nnz)
  local r = spmv.bench("packed", {wg = 64}, {M = P, x = x}, {warmup = 0,
    seconds = 0.01, samples = 3})
  t.ok(r.ok and r.gflops > 0, r.note)
  r = spmv.verify("packed", {8, 7, 6})
  t.ok(r.ok)
end)

t.test("doubles that are exact in less", function()
  if not device:has "cl_khr_fp64" then
    t.skip "the device has no double"
  end
  local M = dia.banded(900, {-30, -1, 0, 2}, {type = "double"})
  local x = cl.buffer("double", 900, cl.array("double", 900):random(t.seed))
  t.eq(M:pack():info().stored_type, "double")
  for _, kind in ipairs{"float", "half"} do
    M.values:write(M.values:read():convert(kind):convert("double"))
    local P <close> = M:pack()
    t.eq({P:info().stored_type, P:info().stored}, {kind, 4})
    try(kind, M, x)
  end
  M.values:write(1e-40, {first = 500, count = 1}) -- a subnormal float
  M.values:write(M.values:read():convert("float"):convert("double"))
  t.eq(M:pack():info().stored_type, "float")
  try("subnormal", M, x)
end)

t.test("pack takes nothing", function()
  local M <close> = dia.poisson2d(4, 4)
  t.raises(function() M:pack(3) end, "Dia:pack: takes nothing; got 3",
    "M:pack()")
end)

t.test("many diagonals, many patterns", function()
  local offsets = {}
  for d = 1, 129 do
    offsets[d] = d - 60
  end
  local M = build("float", 2000, 2000, offsets, function() return 2 end)
  local x = cl.buffer("float", 2000, 1)
  t.raises(function() spmv(M:pack(), x) end, "no kernel takes",
    "compiles 1 to 128 diagonals in, the matrix has 129")
  M = build("float", 4200, 4200, {-3, 0}, function(d, i)
    return d == 1 and (i * 7 % 256) / 3 or 1
  end)
  t.eq(M:pack().patterns.rows, 256)
  try("256 patterns", M, cl.buffer("float", 4200,
    cl.array("float", 4200):random(t.seed)))
  M.values:write(1e6, {first = 4100, count = 1})
  local i = M:pack():info()
  t.eq({i.patterns, i.stored, i.constant}, {1, 1, 1})
end)

t.test("it keeps what M held", function()
  local M = dia.poisson2d(30, 30)
  local x = cl.buffer("float", 900, cl.array("float", 900):random(t.seed))
  local P = M:pack()
  local before = spmv(P, x):read()
  M.values:fill(7)
  M.host.values:fill(7)
  t.ok(spmv(P, x):read():equal(before))
  t.ok(spmv.verify("packed", {M = P, x = x}).ok)
  t.ok(not spmv(M:pack(), x):read():equal(before)) -- the device's values count
  M:close()
  t.ok(spmv(P, x):read():equal(before))
  local plan = spmv.plan(P, x)
  P:close()
  P:close()
  t.eq(tostring(P), "packed matrix 900 x 900 of float (closed)")
  t.raises(function() spmv(P, x) end, "closed")
  t.raises(function() plan() end, "closed")
end)

t.test("from rows, and of nothing", function()
  local C = csr.from_coo(60, 60, {1, 2, 3}, {1, 2, 3}, {5, 6, 7})
  local x = cl.buffer("float", 60, 2)
  t.eq(spmv(C:to_dia():pack(), x):read():table(), spmv(C, x):read():table())
  local none = csr.from_coo(60, 60, {}, {}, {}):to_dia():pack()
  t.eq(none:info().bytes, 0)
  t.eq(spmv(none, x):read():sum(), 0)
end)

t.test("refusals", function()
  local M = dia.poisson2d(10, 10)
  local P, x = M:pack(), cl.buffer("float", 100, 1)
  t.raises(function() spmv(M, x, {kernel = "packed"}) end,
    "takes a PACKED matrix, this one is DIA")
  t.raises(function() spmv(P, x, {kernel = "naive"}) end,
    "takes a DIA matrix, this one is PACKED")
  t.raises(function() spmv(P, cl.buffer("float", 99)) end, "100 columns")
  t.raises(function() M.pack(3) end, "x:pack(...)")
  local function wrong(field, value, ...)
    local old = P[field]
    P[field] = value
    t.raises(function() spmv(P, x) end, "M." .. field, ...)
    P[field] = old
    spmv(P, x)
  end
  wrong("rows", 0, "from 1")
  wrong("ndiags", 6)
  wrong("codes", cl.buffer("uchar", 100), "must have 128 elements of uchar")
  wrong("codes", 3, "must be a Buffer; got a number")
  wrong("patterns", cl.buffer("float", 4), "must have 5 elements")
    wrong("places", {1, 2}, "2 elements")
  wrong("stored", cl.buffer("float", 4), "of half", "4 float")
  P.places[1] = 4
  t.raises(function() spmv(P, x) end, "M.stored must have 640")
  P.places[1] = -1
  wrong("places", 3, "must be a table; got 3")
  wrong("value_bytes", -1)
  wrong("host", {offsets = P.host.offsets}, "must be an Array; got nothing")
  P.codes:fill(255) -- leaves no buffer
  spmv(P, x, {kernel = "packed", wg = 32})
end)

t.test("help", function()
  local page = help.text "Dia:pack":gsub("%s+", " ")
  t.ok(page:find("the same sums, bit for bit", 1, true), page)
  t.ok(help.text "Packed:info":find "constant")
  t.ok(help.text "spmv":find "M:pack")
end)

-- The patterns of rows of one diagonal or more, as tables.
local function patterns(type, rows, cols, offsets, list, opts)
  opts = opts or {}
  opts.rows, opts.cols, opts.pitch = rows, cols, #list // #offsets
  local codes, table_of, joined = host.dia_patterns(cl.array(type, #list,
    list), cl.array("int", #offsets, offsets), opts)
  return codes:table(), table_of:reshape(#table_of):table(), joined:table()
end

t.test("host.dia_patterns", function()
  for _, type in ipairs{"half", "float", "double"} do
    t.eq({patterns(type, 5, 5, {0}, {3, 3, 4, 3, 4})},
      {{0, 0, 1, 0, 1}, {3, 4}, {1}})
    t.eq({patterns(type, 5, 5, {0}, {3, 4, 4, 3, 4})}, -- 4 is most frequent
      {{1, 0, 0, 1, 0}, {4, 3}, {1}})
    t.eq({patterns(type, 4, 4, {-1, 0}, {9, 1, 1, 1, 2, 2, 2, 2})},
      {{0, 0, 0, 0}, {1, 2}, {1, 1}}) -- 9 lies outside
    t.eq({patterns(type, 4, 4, {-1, 0}, {9, 1, 1, 1, 2, 3, 4, 5},
      {most = 2})}, {{0, 0, 0, 0}, {1, 0}, {1, 0}})
    t.eq({patterns(type, 4, 4, {-1, 0}, {9, 1, 1, 1, 2, 3, 4, 5},
      {most = 1})}, {{0, 0, 0, 0}, {1, 0}, {1, 0}})
    t.eq((patterns(type, 2, 2, {0}, {0.0, -0.0})), {0, 1})
    t.eq({patterns(type, 2, 2, {-5, 5}, {1, 2, 3, 4})},
      {{0, 0}, {0, 0}, {1, 1}}) -- all outside
    -- the diagonal of fewest values joins first
    t.eq(select(3, patterns(type, 4, 4, {0, 1}, {1, 2, 3, 4, 5, 6, 6, 6},
      {most = 4})), {1, 1})
    t.eq(select(3, patterns(type, 4, 4, {0, 1}, {1, 2, 3, 4, 5, 6, 6, 6},
      {most = 3})), {0, 1})
  end
end)

t.test("host.dia_patterns: misuse", function()
  local v, o = cl.array("float", 8), cl.array("int", 2, {0, 1})
  local function raises(opts, ...)
    local words = {...}
    t.raises(function() host.dia_patterns(v, o, opts) end,
      table.unpack(words))
  end
  raises({}, "cols must be given")
  raises({cols = 4, most = 257}, "most must be <= 256")
  raises({cols = 4, most = 0}, "most: must be a whole number >= 1")
  raises({cols = 4, pitch = 5}, "values has 8 elements")
  raises({cols = 4, mist = 5}, "did you mean 'most'")
  t.raises(function() host.dia_patterns(o, o, {cols = 4}) end,
    "half, float or double")
  v:close()
  raises({cols = 4}, "closed")
end)

t.done()

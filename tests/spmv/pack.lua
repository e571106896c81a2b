-- spmv/pack.lua - packed matrices: what Dia:pack finds, the same bits as by
-- diagonals, rows that look alike and do not, mirrored diagonals, lifetime,
-- refusals
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

-- A matrix of value(d, i, offset) by diagonals, NaN, or `others`, wherever no
-- element lies.
local function build(type, rows, cols, offsets, value, gap, others)
  local pitch, ndiags = rows + (gap or 0), #offsets
  local values = cl.array(type, {ndiags, pitch}):fill(0 / 0)
  if others then
    values:random(others)
  end
  for d, offset in ipairs(offsets) do
    for i = math.max(1, 1 - offset), math.min(rows, cols - offset) do
      values:set(d, i, value(d, i, offset))
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

-- Compares a packed matrix in two configurations, or in those of a list, with
-- M itself.
local function try(what, M, x, configs)
  local P <close> = M:pack()
  local expected = spmv(M, x, {kernel = "specialised"}):read()
  turn = turn + 1
  local k = turn % #CONFIGS + 1
  for n, p in ipairs(configs or {{}, CONFIGS[k]}) do
    local opts = {kernel = p.wg and "packed" or nil}
    for name, value in pairs(p) do
      opts[name] = value
    end
    opts.y = cl.buffer(x.type, M.rows, 0 / 0)
    local y <close> = spmv(P, x, opts):read()
    local fine, at = same(y, expected)
    t.ok(fine, ("%s, configuration %s: row %s"):format(what,
      configs and n or p.wg and k or "of a call", at))
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

-- Random values of a symmetric matrix, as far as there are both places:
-- value(d, i, offset).
local function symmetric(_, i, offset)
  local j = i + offset
  return random[(math.min(i, j) * 7 + math.abs(offset) * 61) % 8192 + 1]
end

-- The same, but for one place.
local function odd_at(row, col)
  return function(d, i, offset)
    return i == row and i + offset == col and 3 or symmetric(d, i, offset)
  end
end

local function vector(type, n)
  return cl.buffer(type, n, cl.array(type, n):random(t.seed))
end

local BAND = {-32, -5, -1, 0, 1, 5, 32}

t.test("diagonals that mirror each other are stored once", function()
  local M = build("float", 1000, 1000, BAND, symmetric)
  local P = M:pack()
  t.eq(tostring(P):match "7 diagonals: .*", "7 diagonals: 4 as they are, 3 "
    .. "mirrored; 16000 bytes of values instead of 28000 bytes")
  local i = P:info()
  t.eq({i.stored, i.mirrored, i.joined, i.bytes}, {4, 3, 0, 16000})
  t.eq(P.places, {3, 2, 1, 0, 1, 2, 3})
  local x = vector("float", 1000)
  local plan = spmv.plan(P, x)
  t.eq(spmv.bytes(plan.rung, plan.shape, plan.params), 4000 * (4 + 2))
  t.ok(spmv.verify("packed", {M = P, x = x}).ok)
  t.ok(P:to_dia().values:read():tobytes() == M.values:read():tobytes())
  -- what lies outside the matrix decides nothing, and goes nowhere
  M = build("float", 1000, 1000, BAND, symmetric, 40, t.seed)
  t.eq(M:pack():info().mirrored, 3)
  try("others outside", M, x)
end)

t.test("each pair of diagonals is decided on its own", function()
  local x = vector("float", 1000)
  for _, at in ipairs{{1, 33}, {33, 1}, {1000, 968}, {968, 1000}, {500, 501},
      {6, 1}, {999, 1000}} do
    local M <close> = build("float", 1000, 1000, BAND, odd_at(at[1], at[2]))
    local P <close> = M:pack()
    t.eq({P:info().stored, P:info().mirrored}, {5, 2})
    try(("odd at %d, %d"):format(at[1], at[2]), M, x)
  end
  local M = build("float", 1000, 1000, {-7, -2, 0, 2, 9}, symmetric)
  t.eq(M:pack().places, {0, 2, 1, 2, 3})
  try("one pair", M, x)
  -- a constant pair takes no bytes, whatever the others do
  M = build("float", 1000, 1000, BAND, function(d, row, offset)
    return offset * offset == 25 and 8 or symmetric(d, row, offset)
  end)
  local i = M:pack():info()
  t.eq({i.constant, i.joined, i.stored, i.mirrored}, {2, 2, 3, 2})
  try("a constant pair", M, x)
  -- 20 values join, and their 400 pairs do not
  M = build("float", 1000, 1000, {-1, 0, 1}, function(d, row, offset)
    local v = symmetric(d, row, offset)
    return offset == 0 and v or v * 10 // 1 / 3
  end)
  i = M:pack():info()
  t.eq({i.joined, i.stored, i.mirrored}, {1, 2, 0})
  try("one of a pair", M, x)
end)

-- All numbers of rows of a work-item, and ways to load and to go on.
local function all_configs()
  local list = {}
  for _, width in ipairs{1, 2, 4, 8, 16} do
    for blocks = 0, 1 do
      for single = 0, width > 1 and 1 or 0 do
        list[#list + 1] = {wg = 32, width = width, blocks = blocks,
          single = single, steps = 1 << #list % 3}
      end
    end
  end
  return list
end

t.test("mirrored diagonals in all configurations", function()
  local function value(d, i, offset) -- offset 5: codes, for the rows of others
    return math.abs(offset) == 5 and i % 97 // 48 or symmetric(d, i, offset)
  end
  for _, shape in ipairs{{501, 501}, {530, 501}} do
    local M <close> = build("float", shape[1], shape[2], BAND, value, 11)
    local i = M:pack():info()
    t.eq({i.joined, i.stored, i.mirrored}, {2, 3, 2})
    try(("%d x %d"):format(shape[1], shape[2]), M, vector("float", shape[2]),
      all_configs())
  end
end)

t.test("mirrored diagonals of all shapes and types", function()
  for _, c in ipairs{{1, 1, {-1, 0, 1}}, {2, 2, {-3, -1, 0, 1, 3}},
      {40, 40, {-39, -38, 0, 38, 39}}, {3, 90, {-2, -1, 1, 2}},
      {90, 3, {-2, -1, 1, 2}}, {700, 1000, {-699, -40, -3, 3, 40, 699, 999}},
      {1000, 700, {-999, -699, -40, -3, 3, 40, 699}},
      {100, 100, {-300, -1, 0, 1, 300}}, {999, 1000, {-1, 1}},
      {1000, 999, {-16, 16}}} do
    local rows, cols, offsets = table.unpack(c)
    local M <close> = build("float", rows, cols, offsets, symmetric, rows % 3,
      t.seed)
    try(("%d x %d"):format(rows, cols), M, vector("float", cols))
  end
  local function pair(rows, cols)
    return build("float", rows, cols, {-3, 3}, symmetric):pack().places
  end
  t.eq({pair(500, 500), pair(500, 900), pair(900, 500)},
    {{0, 0}, {0, 0}, {0, 0}})
  for _, type in ipairs(ladder.types(device)) do
    for name, round in pairs{random = function(v) return v end,
        halves = function(v) return v * 256 // 1 / 8 end} do
      local M <close> = build(type, 600, 600, BAND, function(...)
        return round(symmetric(...))
      end)
      local i = M:pack():info()
      t.eq({i.stored, i.mirrored, i.stored_type},
        {4, 3, name == "halves" and "half" or type})
      try(type .. " " .. name, M, vector(type, 600), {{},
        {wg = 32, width = 4, blocks = 1, single = 0},
        {wg = 32, width = 8, blocks = 0, single = 1}})
    end
  end
end)

t.test("bits decide which diagonals mirror each other", function()
  local special, x = {1 / 0, 0 / 0, -0.0}, vector("float", 700)
  for _, odd in ipairs{false, 0.0} do -- in row 48, in place of -0.0
    local M <close> = build("float", 700, 700, {-1, 0, 1},
      function(d, i, offset)
        return odd and i == 48 and offset == -1 and odd
          or special[math.min(i, i + offset) % 9 + 1]
          or symmetric(d, i, offset)
      end)
    t.eq(1 / M.host.values:at(3, 47), -1 / 0)
    t.eq(M:pack():info().mirrored, odd and 0 or 1)
    try("special", M, x)
  end
end)

t.test("doubles that are exact in less", function()
  t.skip_if(not device:has "cl_khr_fp64", "the device has no double")
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
  M = build("double", 900, 900, BAND, function(...)
    return (("f"):unpack(("f"):pack(symmetric(...))))
  end)
  local i = M:pack():info()
  t.eq({i.stored, i.mirrored, i.stored_type}, {4, 3, "float"})
  for width = 0, 4 do
    try("mirrored", M, x, {{wg = 32, width = 1 << width, blocks = width % 2},
      {wg = 32, width = 1 << width, blocks = 1 - width % 2}})
  end
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
  t.eq(spmv(none, x):read():table(), cl.array("float", 60):table())
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
  wrong("codes", 3, "must be a Buffer; got 3")
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

t.test("places that a script has changed leave no buffer", function()
  for _, shape in ipairs{{64, 900}, {900, 64}, {64, 64}} do
    local P = build("float", shape[1], shape[2], {-60, -1, 1, 60},
      VALUES.none):pack()
    local x = cl.buffer("float", shape[2], 1)
    for d = 1, 4 do
      P.places[d] = 0
    end
    spmv(P, x, {kernel = "packed", wg = 32, width = 4, blocks = 1})
  end
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

t.test("host.dia_mirrors", function()
  local function mirrors(type, rows, cols, offsets, list)
    return host.dia_mirrors(cl.array(type, #list, list),
      cl.array("int", #offsets, offsets), {rows = rows, cols = cols,
        pitch = #list // #offsets}):table()
  end
  for _, type in ipairs{"half", "float", "double"} do
    t.eq(mirrors(type, 3, 3, {-1, 0, 1}, {9, 1, 2, 5, 5, 5, 1, 2, 8}),
      {3, 0, 1}) -- 9 and 8 lie outside
    t.eq(mirrors(type, 3, 3, {-1, 0, 1}, {9, 1, 2, 5, 5, 5, 1, 3, 8}),
      {0, 0, 0})
    t.eq(mirrors(type, 3, 3, {-1, 1}, {0, 0.0, 2, -0.0, 2, 0}), {0, 0})
    t.eq(mirrors(type, 3, 3, {-1, 1}, {0, 0 / 0, 2, 0 / 0, 2, 0}), {2, 1})
    t.eq(mirrors(type, 2, 4, {-1, 1}, {0, 6, 6, 7}), {2, 1}) -- 7: no partner
    t.eq(mirrors(type, 4, 2, {1, -1}, {6, 0, 0, 0, 0, 6, 7, 0}), {2, 1})
    t.eq(mirrors(type, 2, 2, {-5, -2, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8}),
      {4, 3, 2, 1}) -- all outside
    t.eq(mirrors(type, 2, 2, {-1, 2}, {1, 2, 3, 4}), {0, 0})
  end
end)

t.test("host.dia_patterns and host.dia_mirrors: misuse", function()
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
  t.raises(function() host.dia_mirrors(o, o, {cols = 4}) end,
    "half, float or double")
  t.raises(function() host.dia_mirrors(v, o, {}) end, "dia_mirrors: rows",
    "cols must be given")
  t.raises(function() host.dia_mirrors(v, o, {cols = 4, most = 2}) end, "most")
  v:close()
  raises({cols = 4}, "closed")
  t.raises(function() host.dia_mirrors(v, o, {cols = 4}) end, "closed")
end)

t.done()

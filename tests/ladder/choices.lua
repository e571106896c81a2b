-- choices.lua - the table that serves calls which name no kernel: which row
-- fits which device and shape, what is passed over, other rows put in place
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local choice = require "clshell.ladder.choice"
local choices = require "clshell.ladder.choices"
local gemm = require "clshell.gemm"
local program = require "clshell.ladder.program"
local spmv = require "clshell.spmv"
local transpose = require "clshell.transpose"

t.keeps("Program", "Kernel")
local device = t.device()

local FAMILIES = {gemm, spmv, transpose}

-- What a device says of itself; the rungs are not asked, unless `refused`
-- names them.
local H100 = {name = "one", type = "gpu", nv_compute_capability_major = 9}
local OTHER = {name = "two", type = "gpu"}
local CPU = {name = "three", type = "cpu", native_vector_width_float = 16}

local function pick(family, dev, s, refused)
  local picked = choice.pick(family, family.spec.shape(s), dev, function(rung)
    if refused and refused[rung.name] then
      return nil, "not today"
    end
    return true
  end)
  return picked.rung, picked
end

local function cube(n, type)
  return {m = n, n = n, k = n, type = type}
end

t.test("gemm: the device's class, the type and the shape decide", function()
  t.eq(pick(gemm, CPU, cube(16)), "naive")
  t.eq(pick(gemm, CPU, cube(17)), "simd")
  t.eq(pick(gemm, H100, cube(64)), "naive")
  t.eq(pick(gemm, H100, {m = 64, n = 64, k = 64, batch = 9}), "nv_ffma")
  t.eq(pick(gemm, H100, {m = 8, n = 8, k = 8, batch = 9}), "naive")
  t.eq(pick(gemm, H100, cube(959)), "nv_ffma")
  t.eq(pick(gemm, H100, cube(960)), "nv_fp16x3")
  t.eq(pick(gemm, H100, {m = 256, n = 256, k = 65536}), "nv_ffma")
  t.eq(pick(gemm, H100, cube(2048, "double")), "nv_dmma")
  t.eq(pick(gemm, H100, cube(8192, "double")), "nv_ozaki")
  t.eq(pick(gemm, H100, cube(8192, "double"), {nv_ozaki = true}), "nv_dmma")
  t.eq(pick(gemm, H100, cube(100, "double"), {nv_dmma = true}), "nv_ffma")
  t.eq(pick(gemm, OTHER, cube(2048)), "register")
  t.eq(pick(gemm, OTHER, cube(100), {register = true}), "tiled_float4")
  local _, narrow = pick(gemm, {name = "", type = "cpu",
    native_vector_width_float = 8}, cube(100))
  t.eq(narrow.params.vector, 32)
  local _, small = pick(gemm, CPU, cube(1024, "double"))
  t.eq({small.params.nt, small.params.pack_a}, {32, 0})
  local _, large = pick(gemm, CPU, cube(4096, "double"))
  t.eq({large.params.nt, large.params.pack_a}, {8, 1})
end)

t.test("a rung is taken only if it tells what it does not cover", function()
  local rung, older = gemm.rung "nv_fp16x3", gemm.rung "nv_fp16x3_mma"
  local before = rung.guarded
  rung.guarded = nil
  t.eq(pick(gemm, H100, cube(4096)), "nv_fp16x3_mma")
  older.guarded = nil
  local name, picked = pick(gemm, H100, cube(4096))
  older.guarded = before
  t.eq(name, "nv_ffma")
  t.eq(picked.passed[1].rung, "nv_fp16x3")
  t.ok(picked.passed[1].reason:find "does not detect", picked.passed[1].reason)
  rung.guarded = true
  t.eq(pick(gemm, H100, cube(4096)), "nv_fp16x3")
  t.eq(pick(gemm, H100, cube(959)), "nv_ffma")
  t.eq(pick(gemm, H100, cube(4096), {nv_fp16x3 = true}), "nv_fp16x3_mma")
  t.eq(pick(gemm, H100, {m = 4096, n = 4096, k = 64}), "nv_ffma")
  t.eq(pick(gemm, H100, {m = 256, n = 8192, k = 8192}), "nv_fp16x3")
  t.eq(pick(gemm, H100, {m = 8192, n = 8192, k = 256}), "nv_ffma")
  rung.guarded = before
end)

t.test("gemm.nv_ffma: all units share few tiles with long sums", function()
  local rung = gemm.rung "nv_ffma"
  local function shares(m, n, k, p)
    local s = gemm.spec.shape{m = m, n = n, k = k, type = "float"}
    local global, size = rung.range(s, p or {tile = "auto", split = 0,
      stream = 0})
    return global[1] // size[1]
  end
  t.ok(shares(64, 64, 65536) >= 132)
  t.ok(shares(256, 256, 65536) >= 132)
  t.eq(shares(4096, 4096, 4096), 512) -- tiles of 128 x 256
  t.eq(shares(576, 576, 576), 108) -- tiles of 48 x 64, one for a unit
  t.eq(shares(832, 832, 832), 117) -- of 96 x 64, the same
  t.eq(shares(896, 896, 896), 392) -- of 32 x 64, three for a unit
  t.eq(shares(64, 64, 640, {tile = "64x64", split = 0, stream = 1}), 40)
  t.eq(shares(64, 64, 640, {tile = "64x64", split = 4, stream = 0}), 4)
  local reason = rung.accepts({nv_compute_capability_major = 9,
    nv_compute_capability_minor = 0}, gemm.spec.shape{m = 64, n = 64, k = 640,
    type = "float"}, {tile = "64x64", split = 4, stream = 1})
  t.ok(reason:find("split = 4 with stream = 1 do not go", 1, true), reason)
end)

t.test("spmv and transpose", function()
  t.eq(pick(spmv, CPU, {rows = 9, cols = 9, format = "csr"}), "csr_scalar")
  t.eq(pick(spmv, H100, {rows = 9, cols = 9, format = "csr", nnz = 90}),
    "csr_scalar")
  t.eq(pick(spmv, H100, {rows = 9, cols = 9, format = "csr", nnz = 900}),
    "csr_vector")
  local function csr(dev, rows, nnz, row_max)
    local name, picked = pick(spmv, dev, {rows = rows, cols = rows,
      format = "csr", nnz = nnz, row_max = row_max})
    return {name, picked.params.lanes, picked.params.nv}
  end
  t.eq(csr(H100, 9000, 18000, 8), {"csr_scalar"})
  for mean, lanes in pairs{[4] = 2, [7] = 4, [16] = 4, [27] = 8,
      [45] = 16, [128] = 32} do
    t.eq(csr(H100, 9000, 9000 * mean, 3 * mean), {"csr_vector", lanes, 1})
  end
  t.eq(csr(H100, 9000, 36000, 33), {"csr_vector", 32, 1})
  t.eq(csr(H100, 90000, 360000, 33), {"csr_balanced", nil, 1})
  t.eq(csr(H100, 9000, 36000, 4000), {"csr_balanced", nil, 1})
  t.eq(csr(H100, 9000, 36000), {"csr_balanced", nil, 1})
  t.eq(csr(OTHER, 9000, 36000, 8), {"csr_scalar"})
  t.eq(csr(OTHER, 9000, 36000, 9), {"csr_vector", 4, 0})
  t.eq(csr(OTHER, 9000, 360000, 99), {"csr_vector", 4, 0})
  t.eq(csr(OTHER, 9000, 36000, 33), {"csr_balanced", nil, 0})
  t.eq(csr(OTHER, 900, 3600, 99), {"csr_vector", 32, 0})
  t.eq(pick(spmv, H100, {rows = 9, cols = 9}), "specialised")
  for rows, stream in pairs{[10^4] = 0, [10^6] = 1} do
    local name, picked = pick(spmv, CPU, {rows = rows, cols = rows,
      offsets = {-1, 0, 1}})
    t.eq({name, picked.params.stream or 1}, {"simd", stream})
  end
  t.eq(pick(transpose, H100, {rows = 9, cols = 9}), "float4")
  t.eq(pick(transpose, CPU, {rows = 9, cols = 9}), "simd")
  t.eq(pick(transpose, CPU, {rows = 9, cols = 9}, {simd = true}),
    "naive_write")
  for type, stream in pairs{float = 0, double = 1} do
    local _, picked = pick(transpose, CPU, {rows = 300, cols = 400,
      type = type})
    t.eq(picked.params.stream or 1, stream)
  end
  t.eq(pick(transpose, H100, {rows = 9, cols = 9, type = "double"}),
    "tiled_padded")
end)

t.test("the rows that come along are right for their families", function()
  for _, family in ipairs(FAMILIES) do
    t.eq(family.choices "default", choices[family.name])
    for _, row in ipairs(family.choices()) do
      t.ok(not family.rung(row.rung).input_roundoff)
    end
  end
end)

t.test("what a call runs can be asked", function()
  local A = cl.buffer("float", {70, 80}, 1)
  local B = cl.buffer("float", {80, 90}, 1)
  local asked = gemm.choice{A = A, B = B}
  local plan = gemm.plan(A, B)
  t.eq(plan.choice.rung, asked.rung)
  t.eq(plan.rung.name, asked.rung)
  t.eq(plan.params, asked.params)
  t.eq(asked.row, gemm.choices()[asked.number])
  t.ok(tostring(asked):find(asked.rung, 1, true))
  t.eq(gemm.choice{m = 70, n = 90, k = 80}.rung, asked.rung)
  t.eq(gemm.plan(A, B, {kernel = "tiled"}).choice, nil)
end)

t.test("a call without parameters has the device's choice", function()
  local plans = require "clshell.ladder.plan"
  local workload = require "clshell.ladder.workload"
  for name, shape in pairs{gemm = {128, 128, 128}, reduce = {1000},
      scan = {1000}, sort = {1000}, gemv = {64, 64}, transpose = {64, 64},
      stencil = {64, 64}, conv2d = {64, 64, 3, 3}} do
    local family = require("clshell." .. name)
    local operands = workload.operands(family, shape, nil, "test")
    local chosen = family.choice(operands)
    local _, s = family.bind(operands)
    t.eq(plans.parameters(family, chosen.definition, {}, s), chosen.params,
      name)
    local ok, why = family.check(chosen.rung, nil, operands)
    t.ok(ok, why)
  end
end)

t.test("other rows in place", function()
  local A = cl.buffer("float", {2, 3}, 1)
  local B = cl.buffer("float", {3, 2}, 1)
  gemm.choices{
    {device = "no such device", rung = "register"},
    {rung = "tiled_padded", type = "double"},
    {rung = "nv_tf32"},
    {rung = "naive", where = {k = {min = 4}}},
    {rung = "tiled_padded", params = {tile = 4, pad = 2}, where = {m = 2}},
    {rung = "naive"},
  }
  local plan = gemm.plan(A, B)
  t.eq(plan.rung.name, "tiled_padded")
  t.eq(plan.params, {tile = 4, pad = 2})
  t.eq(plan.choice.number, 5)
  t.eq(plan.choice.passed[1].rung, "nv_tf32")
  local words = tostring(plan.choice)
  t.ok(words:find("tiled_padded tile=4 pad=2", 1, true), words)
  t.ok(words:find("not nv_tf32: cuts its operands", 1, true), words)
  t.eq(gemm(A, B):read():table(), {{3, 3}, {3, 3}})
  t.eq(gemm.plan(A, B, {kernel = "tiled_padded"}).params, {tile = 4, pad = 2})
  t.eq(gemm.plan(A, B, {kernel = "tiled_padded", pad = 1}).params,
    {tile = 16, pad = 1})
  gemm.choices{{device = device.name, rung = "naive_global"}}
  t.eq(gemm.plan(A, B).rung.name, "naive_global")
  gemm.choices{{rung = "nv_tf32"}}
  t.raises(function() gemm(A, B) end, "no kernel takes these operands")
  gemm.choices "default"
  t.eq(gemm(A, B):read():table(), {{3, 3}, {3, 3}})
end)

t.test("rows that are wrong are refused, the old ones stay", function()
  local before = gemm.choices()
  for _, case in ipairs{
    {{rung = "tilde"}, "did you mean 'tiled'"},
    {{rung = "tiled", params = {tile = 5}},
      "tile must be one of 4, 8, 16, 32; got 5"},
    {{rung = "tiled", params = {tyle = 4}}, "did you mean 'tile'"},
    {{rung = "tiled", class = "cpus"}, "class must be one of",
      "nvidia", "got 'cpus'"},
    {{rung = "tiled", were = {}}, "did you mean 'where'"},
    {{rung = "tiled", where = {m = {mim = 3}}}, "did you mean 'min'"},
    {{rung = "tiled", where = 5}, "where must be a table; got 5"},
    {{rung = "tiled", meanwhile = {rung = "tilde"}}, "did you mean 'tiled'"},
    {{rung = "tiled", meanwhile = {rung = "tiled", params = {tile = 5}}},
      "row 1: meanwhile", "tile must be one of 4, 8, 16, 32; got 5"},
    {{rung = "tiled", meanwhile = {ring = "tiled"}}, "did you mean 'rung'"},
    {{rung = "tiled", meanwhile = 5}, "meanwhile must be a table; got 5"},
    {"tiled", 'row 1 must be a table; got "tiled"'},
    {{}, "row 1: rung must be a string; got nothing"},
  } do
    t.raises(function() gemm.choices{case[1]} end, table.unpack(case, 2))
  end
  t.raises(function() gemm.choices(5) end, "must be a table; got 5")
  t.ok(rawequal(gemm.choices(), before))
end)

-- Whether a rung with helper launches served a call, and whether C is right.
local function served(A, B, opts)
  local C, event = gemm(A, B, opts)
  return #event.events > 1, C:read():table()[5][4] == 42
end

-- Runs f with a row whose rung has two programs that are not built, where
-- another rung serves meanwhile; `seconds` of a build are slow.
local function with_builds(seconds, meanwhile, f)
  local A, B = cl.buffer("float", {5, 7}, 2), cl.buffer("float", {7, 4}, 3)
  local params = {tile = 4, edge = "pad"}
  local opts = {kernel = "tiled", tile = 4, edge = "pad"}
  local plan, list = gemm.plan(A, B, opts), {}
  for i, command in ipairs(plan.commands) do
    list[i] = command.launch.kernel.program
  end
  program.forget(list)
  local _ <close> = t.swap(program, "patience", seconds)
  local _ <close> = t.swap(cl.commandline, "quiet", true)
  local _ <close> = setmetatable({}, {__close = function()
    gemm.choices "default"
  end})
  gemm.choices{{rung = "tiled", params = params,
    meanwhile = {rung = meanwhile}}}
  f(A, B, opts)
end

t.test("one call does not wait for slow builds, later ones do", function()
  with_builds(-1, "naive", function(A, B)
    t.eq({served(A, B)}, {false, true})
    for _ = 1, 3 do
      t.eq({served(A, B)}, {true, true})
    end
    t.eq({served(cl.buffer("float", {5, 7}, 2), B)}, {true, true})
  end)
end)

t.test("all calls wait for builds that the driver knows", function()
  with_builds(math.huge, "naive", function(A, B)
    t.eq({served(A, B)}, {true, true})
  end)
end)

t.test("plans, measurements, recordings, named rungs wait", function()
  local plans = require "clshell.ladder.plan"
  for _, ask in ipairs{
    function(A, B) return gemm.plan(A, B).rung.name end,
    function(A, B) return gemm.choice{A = A, B = B}.rung end,
    function(A, B, opts) return served(A, B, opts) and "tiled" end,
    function(A, B)
      local _ <close> = t.swap(plans, "watch", function() end)
      return served(A, B) and "tiled"
    end,
    function(A, B)
      local C = matrix.zeros(5, 4)
      cl.record(function() gemm(A, B, {C = C}) end)():wait()
      t.eq(C:read():table()[1][1], 42.0)
      local seconds = program.seconds
      local name = gemm.plan(A, B).rung.name
      return program.seconds == seconds and name -- all was built
    end,
  } do
    with_builds(-1, "naive", function(A, B, opts)
      t.eq(ask(A, B, opts), "tiled")
      t.eq({served(A, B)}, {true, true})
    end)
  end
end)

t.test("a call waits where the rung meanwhile refuses it", function()
  local o = {A = matrix.zeros(5, 7), B = matrix.zeros(7, 4)}
  local refused = gemm.check("simd", nil, o) and "nv_ffma" or "simd"
  t.eq(gemm.check(refused, nil, o), nil)
  with_builds(-1, refused, function(A, B)
    t.eq({served(A, B)}, {true, true})
  end)
end)

t.done()

-- family.lua - the engine of the ladders: calls, definitions, refusals, the
-- program cache, events of several commands
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local dia = require "clshell.data.dia"
local gemm = require "clshell.gemm"
local host = require "cl.host"
local matrix = require "clshell.data.matrix"
local spmv = require "clshell.spmv"
local transpose = require "clshell.transpose"

t.keeps("Program", "Kernel")
local device = t.device()

local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
local B = cl.buffer("float", {3, 2}, {{1, 0}, {0, 1}, {1, 1}})
local AB = {{4, 5}, {10, 11}}

local write = t.write

-- A kernel file: C = factor A B, straight; `extra` goes before it.
local function source(factor, extra)
  return (extra or "") .. [[

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef REAL
#define REAL float
#endif
#ifndef SCALE
#define SCALE 1
#endif
kernel void mine(int M, int N, int K, REAL alpha, global const REAL *A,
                 int lda, global const REAL *B, int ldb, REAL beta,
                 global REAL *C, int ldc)
{
  int j = get_global_id(0), i = get_global_id(1);
  REAL sum = 0;
  for (int k = 0; k < K; k++)
    sum += A[i * lda + k] * B[k * ldb + j];
  sum *= SCALE * ]] .. factor .. [[;
  C[i * ldc + j] = alpha * sum + (beta != 0 ? beta * C[i * ldc + j] : 0);
}
]]
end

local function each_element(s)
  return {s.n, s.m}
end

t.test("gemm takes buffers, arrays and tables", function()
  local C, event = gemm(A, B)
  t.eq(C:read():table(), AB)
  t.eq(C.type, "float")
  t.ok(event.ms > 0)
  C = gemm(cl.array("double", {2, 2}, {{1, 2}, {3, 4}}), {{1, 0}, {0, 1}})
  t.eq(C.type, "double")
  t.eq(C:read():table(), {{1, 2}, {3, 4}})
  C = gemm({{1, 2}, {3, 4}}, cl.buffer("double", {2, 1}, {{1}, {1}}))
  t.eq(C.type, "double")
  t.eq(C:read():table(), {{3}, {7}})
end)

t.test("calls compose: a trailing event is never taken for options",
  function()
    local AB_A = {{24, 33, 42}, {54, 75, 96}}
    t.eq(gemm(gemm(A, B), A):read():table(), AB_A)
    t.eq(gemm(B, gemm(A, B)):read():table(), {{4, 5}, {10, 11}, {14, 16}})
    t.eq(gemm(A, transpose(A)):read():table(), {{14, 32}, {32, 77}})
    t.eq(transpose(transpose(A)):read():table(), A:read():table())
    -- of several commands: the event is a table
    local turned = {kernel = "transposed_b"}
    t.eq(gemm(B, gemm(A, B, turned)):read():table(),
      {{4, 5}, {10, 11}, {14, 16}})
    t.eq(gemm.plan(B, gemm(A, B, turned)).output.shape, {3, 2})
    local P = dia.poisson2d(2, 2)
    t.eq(spmv(P, spmv(P, {1, 0, 0, 0})):read():table(), {18, -8, -8, 2})
    t.eq(matrix.from(gemm(A, B):read(), select(2, gemm(A, B))):read():table(),
      AB)
    local h = gemm(A, B):read()
    t.eq(host.gemm_loop(h, h, select(2, gemm(A, B)))[1], 66)
  end)

t.test("alpha, beta and C", function()
  local C = cl.buffer("float", {2, 2}, 1)
  local D = gemm(A, B, {C = C, alpha = 2, beta = 10, kernel = "tiled",
    tile = 4})
  t.ok(rawequal(C, D))
  t.eq(C:read():table(), {{18, 20}, {30, 32}})
  t.raises(function() gemm(A, B, {beta = 2}) end, "beta = 2.0 needs C")
end)

t.test("alpha = 0 and beta = 0 are as in BLAS: a NaN is not read", function()
  local N = cl.buffer("float", {2, 3}, 0 / 0)
  local I = cl.buffer("float", {3, 2}, math.huge)
  local C = cl.buffer("float", {2, 2})
  for _, kernel in ipairs{false, "naive_global", "transposed_b",
      cl.device().type == "cpu" and "simd" or "tiled"} do
    local opts = {kernel = kernel or nil, C = C, alpha = 0, beta = 2}
    C:fill(3)
    local _, event = gemm(N, I, opts)
    t.eq(C:read():table(), {{6, 6}, {6, 6}})
    t.eq(event.flop, 4)
    C:fill(0 / 0)
    opts.beta = 0
    gemm(N, I, opts)
    t.eq(C:read():table(), {{0, 0}, {0, 0}})
    C:fill(0 / 0)
    opts.alpha = 1
    gemm(A, B, opts)
    t.eq(C:read():table(), AB)
  end
  t.eq(gemm(N, N, {trans_b = true, alpha = 0}):read():table(),
    {{0, 0}, {0, 0}})
  t.eq(gemm.verify("naive", nil, {A = N, B = I, C = C, alpha = 0}).ok, true)
  -- a batch, a shared operand, a view with neighbours
  local D = cl.buffer("float", {5, 2, 2}, 1)
  gemm(N, I, {batch = 5, C = D, stride_a = 0, stride_b = 0, alpha = 0,
    beta = 4})
  t.eq(D:read()[20], 4)
  local E = cl.buffer("float", {4, 4}, 1)
  gemm(N, I, {C = E:sub(2, 2, 2, 2), alpha = 0, beta = 9})
  t.eq(E:read():table(), {{1, 1, 1, 1}, {1, 9, 9, 1}, {1, 9, 9, 1},
    {1, 1, 1, 1}})
end)

t.test("an event over several commands", function()
  local _, event = gemm(A, B, {kernel = "transposed_b"})
  event:wait()
  t.eq(#event.events, 2)
  t.eq(event.start, event.events[1].start)
  t.eq(event.stop, event.events[2].stop)
  t.near(event.span_ms, (event.stop - event.start) / 1e6)
  t.near(event.ms, event.events[1].ms + event.events[2].ms)
  t.raises(function() return event.duration end, "an Event span: no field",
    "'duration'")
  local one = event.events[1] -- has the fields of a span
  t.ok(one.events[1] == one and one.span_ms == one.ms)
  t.ok(event.ms <= event.span_ms)
  t.eq(event.status, "complete")
  t.near(event:gflops(1e6), 1 / event.ms)
  t.near(event:gbs(1e6), 1 / event.ms)
  t.ok(event.queued <= event.submit and event.submit <= event.start)
  t.ok(tostring(event):find("2 commands"))
  t.eq(gemm(A, B, {after = event}):read():table(), AB)
  local C = gemm(A, B, {after = {event}}) -- spans wait like events
  t.eq(C:read():table(), AB)
end)

t.test("on an out-of-order queue the commands keep their order", function()
  local queue <close> = cl.queue{out_of_order = true}
  for _, options in ipairs{
    {kernel = "transposed_b"}, {kernel = "tiled", edge = "pad"},
  } do
    options.queue = queue
    local C, event = gemm(A, B, options)
    event:wait()
    t.eq(C:read():table(), AB)
  end
end)

t.test("shapes, types and buffers that do not fit", function()
  t.raises(function() gemm(A, A) end, "A is 2x3 and B is 2x3", "columns of A")
  t.raises(function() gemm(A, cl.buffer("double", {3, 2})) end,
    "A is float, but B is double")
  t.raises(function() gemm(cl.buffer("int", {2, 2}), B) end, "int",
    "float, double, half")
  t.raises(function() gemm(cl.buffer("float", 6), B) end,
    "A must be a matrix; got a vector of 6 float")
  t.raises(function() gemm(A, nil) end, "B must be", "got nothing")
  t.raises(function() gemm(A, "x") end, 'got "x"')
  t.raises(function() gemm(A, B, {after = 1}) end,
    "gemm: after must be a table; got 1")
  t.raises(function() gemm(A, B, {queue = 1}) end,
    "gemm: queue must be a Queue; got 1")
  t.raises(function() gemm(A, B, {C = cl.buffer("float", {3, 3})}) end,
    "C is 3x3, but A B is 2x2")
  t.raises(function() gemm(A, B, {C = {{1, 2}, {3, 4}}}) end,
    "C must be a Buffer")
  t.raises(function() gemm(A, B, {alpha = "x"}) end, "alpha must be a number")
  t.raises(function() gemm(A, B, 5) end, "options must be a table")
  t.raises(function() gemm(A, B, {}, 5) end, "takes A, B")
  local closed = cl.buffer("float", {3, 2}, 1)
  closed:close()
  t.raises(function() gemm(A, closed) end, "B is closed")
  t.raises(function() gemm(closed, B) end, "A is closed")
  local S = cl.buffer("float", {2, 2}, 1)
  t.raises(function() gemm(S, S, {C = S}) end, "C must not share memory")
end)

t.test("unknown kernels, options and values", function()
  t.raises(function() gemm(A, B, {kernel = "tild"}) end,
    "did you mean 'tiled'", "naive_global")
  t.raises(function() gemm(A, B, {kernel = "tiled", tyle = 4}) end,
    "did you mean 'tile'")
  t.raises(function() gemm(A, B, {kernel = "tiled", tile = 5}) end,
    "tile must be one of 4, 8, 16, 32; got 5")
  t.raises(function() gemm(A, B, {tile = 4}) end, "unknown option 'tile'")
  t.raises(function() gemm.check("tiled", {tile = 5}, {A = A, B = B}) end,
    "4, 8, 16, 32")
  t.raises(function() gemm.rung("nothing_like_it") end, "There are:")
end)

t.test("the list of kernels", function()
  local list = gemm.kernels()
  t.eq(list[1].name, "naive_global")
  local words = tostring(list)
  for _, item in ipairs(list) do
    t.ok(words:find(item.name, 1, true))
    t.ok(#item.lesson > 10)
  end
  for line in words:gmatch("[^\n]+") do
    t.ok(#line <= 80, line)
  end
end)

t.test("refusals have the numbers", function()
  t.eq(gemm.check("tiled", {tile = 4}, {A = A, B = B}), true)
  t.eq(gemm.check("tiled", {tile = 4}, {m = 5, n = 6, k = 7}), true)
  local limit = device.max_work_group_size
  local name = "oversized"
  gemm.define{name = name, source = source(1), range = function(s)
    return {s.n * 2 * limit, s.m}, {2 * limit, 1}
  end}
  local fine, reason = gemm.check(name, nil, {A = A, B = B})
  t.eq(fine, nil)
  t.ok(reason:find(tostring(limit), 1, true), reason)
  t.raises(function() gemm(A, B, {kernel = name}) end, "refused", limit)
  local r = gemm.bench(name, nil, {A = A, B = B})
  t.ok(r.note:find("^refused: ") and not r.ms and not r.gflops)
  gemm.define{name = name, source = source(1), range = each_element,
    local_bytes = function() return device.local_mem_size + 1024 end}
  fine, reason = gemm.check(name, nil, {A = A, B = B})
  t.ok(not fine and reason:find("local memory: needs", 1, true), reason)
  gemm.define{name = name, source = source(1), range = each_element,
    accepts = function(_, s) return ("m = %d is odd"):format(s.m) end}
  fine, reason = gemm.check(name, nil, {A = A, B = B})
  t.eq({fine, reason}, {nil, "m = 2 is odd"})
  fine, reason = gemm.check("naive", nil, {m = 2^31 | 0, n = 1, k = 1})
  t.eq(fine, nil)
  t.eq(reason, "m = 2147483648, kernels count to 2147483647")
  t.raises(function() gemm.check("naive", nil, {m = 0, n = 1, k = 1}) end,
    "m must be an integer >= 1; got 0")
end)

t.test("local memory that a driver adds to a kernel's is no excess", function()
  local rungs = require "clshell.ladder.rung"
  local function reason(bytes, major, rung)
    return rungs.kernel_refusal(rung or {}, {work_group_size = 64,
      local_mem_size = bytes}, {64}, {local_mem_size = 49152,
      nv_compute_capability_major = major, nv_compute_capability_minor = 0})
  end
  t.eq(reason(49152), nil)
  t.eq(reason(49280, 9), nil) -- NVIDIA: 48 KiB and its own
  t.ok(reason(49280):find("the kernel takes", 1, true))
  t.ok(reason(49152 + 2048, 9):find("the kernel takes", 1, true))
  -- a program whose PTX text is edited may have what the GPU has, no more
  local edited = {ptx = true}
  t.eq(reason(227 << 10, 9, edited), nil)
  t.ok(reason(229 << 10, 9, edited):find("device has 227 KiB", 1, true))
  t.ok(reason(51200, nil, edited):find("device has 48 KiB", 1, true))
end)

t.test("a kernel of one's own, from a file", function()
  local path = t.tmp("mine.cl")
  write(path, source(1))
  local rung = gemm.define{
    name = "mine", file = path, lesson = "plain",
    params = {{name = "scale", values = {1, 2}, help = "a factor"}},
    range = each_element,
  }
  t.eq(rung.path, path)
  t.eq(gemm(A, B, {kernel = "mine"}):read():table(), AB)
  t.eq(gemm(A, B, {kernel = "mine", scale = 2}):read():table(),
    {{8, 10}, {20, 22}})
  -- editing the file takes effect at once, and what is wrong gets no rate
  write(path, source(3))
  t.eq(gemm(A, B, {kernel = "mine"}):read():table(), {{12, 15}, {30, 33}})
  local r = gemm.bench("mine", nil, {A = A, B = B})
  t.ok(r.note:find("^WRONG err="), r.note)
  t.eq({r.ok, r.ms, r.gflops}, {false})
  -- and so does editing what it includes
  local folder, name = path:match("^(.*/)(.*)%.cl$")
  write(path, source("FACTOR", ('#include "%s.h"'):format(name)))
  write(folder .. name .. ".h", "#define FACTOR 1\n")
  t.eq(gemm(A, B, {kernel = "mine"}):read():table(), AB)
  write(folder .. name .. ".h", "#define FACTOR 2\n")
  t.eq(gemm(A, B, {kernel = "mine"}):read():table(), {{8, 10}, {20, 22}})
  os.remove(folder .. name .. ".h")
end)

-- The plans of gemm that are kept; `collected`: after a collection.
local function plans_kept(collected)
  local n = 0
  if collected then
    collectgarbage()
    collectgarbage()
  end
  for _ in pairs(gemm.kept_plans) do
    n = n + 1
  end
  return n
end

t.test("a call made again runs the plan of the one before", function()
  local function mine(factor, options)
    gemm.define{name = "again", source = source(factor), range = each_element,
      params = {{name = "scale", values = {1, 2}}}}
    return gemm(A, B, options):read():table()
  end
  local C = cl.buffer("float", {2, 2})
  local options = {C = C, kernel = "again"}
  t.eq(mine(1, options), AB)
  t.eq(plans_kept(), 1)
  C:fill(0)
  t.eq(gemm(A, B, options):read():table(), AB)
  t.eq(plans_kept(), 1)
  -- other options are other plans, and so are strings that look like numbers
  t.eq(gemm(A, B, {C = C, kernel = "again", scale = 2}):read():table(),
    {{8, 10}, {20, 22}})
  t.eq(plans_kept(), 2)
  t.raises(function() gemm(A, B, {C = C, kernel = "again", scale = "2"}) end,
    "scale must be one of 1, 2")
  gemm(A, B, {C = C, kernel = "again", alpha = 0.1})
  t.near(gemm(A, B, {C = C, kernel = "again", alpha = 0.1 + 2^-50}):read()[1],
    0.4, 1e-6)
  t.eq(plans_kept(), 4)
  -- a call that names no C gets a new one each time
  local one = gemm(A, B)
  one:fill(0)
  local other = gemm(A, B)
  t.ok(not rawequal(one, other))
  t.eq(other:read():table(), AB)
  t.eq(one:read():table(), {{0, 0}, {0, 0}})
  -- a new rung of that name, and other rows, take effect at once
  t.eq(mine(3, options), {{12, 15}, {30, 33}})
  gemm.choices{{rung = "again"}}
  t.eq(gemm(A, B):read():table(), {{12, 15}, {30, 33}})
  gemm.choices "default"
  t.eq(gemm(A, B):read():table(), AB)
  -- host data, queues and events make plans that are not kept
  local before = plans_kept()
  gemm(A, {{1, 0}, {0, 1}, {1, 1}}, {C = C})
  gemm(A, B, {C = C, queue = cl.context().queue})
  local _, event = gemm(A, B, {C = C, after = {}})
  event:wait()
  t.eq(plans_kept(), before)
  -- closed operands raise as in a first call
  local last = cl.buffer("float", {3, 2}, 1)
  gemm(A, last, {C = C})
  last:close()
  t.raises(function() gemm(A, last, {C = C}) end, "B is closed")
end)

t.test("operands that no Buffer holds are refused before they are made",
  function()
    local n = 1 << 20
    for _, f in ipairs{
      function() gemm.bench("naive", nil, n) end,
      function() gemm.verify("naive", nil, {n, n, n}) end,
      function() transpose.bench("tiled", nil, {n, n}) end,
      function() gemm.bench("naive", nil, 1 << 31) end,
    } do
      local e = t.raises(f, "takes at most")
      t.ok(tostring(e):find("A, 1048576x1048576 of float, takes 4 TiB", 1,
        true) or tostring(e):find("2147483648x2147483648", 1, true), e)
    end
    n = math.floor(math.sqrt(device.global_mem_size * 0.4 / 4))
    if 4 * n * n <= device.max_mem_alloc_size then
      t.raises(function() gemm.bench("naive", nil, n) end, "together")
    end
  end)

t.test("a call after a kept call is checked like a first call", function()
  gemm.choices "default"
  local C, D = cl.buffer("float", {2, 2}), cl.buffer("float", {2, 2})
  local function kept_call()
    C:fill(0)
    t.eq(gemm(A, B, {C = C}):read():table(), AB)
    t.eq(plans_kept(), 1)
  end
  gemm.forget_plans()
  kept_call()
  kept_call()
  for _, wrong in ipairs{
    {{C = C, alhpa = 2}, "alpha"}, {{C = C, alpha = "2"}, "alpha"},
    {{C = C, kernel = ("x"):rep(600)}, "kernel"}, {{C = C, [1] = 1}, "names"},
    {{C = A}, "C"}, {{C = C, queue = 1}, "queue"}, {{C = "C"}, "C"},
    {7, "options"}, {C, "options"},
  } do
    t.raises(function() gemm(A, B, wrong[1]) end, wrong[2])
    kept_call()
  end
  t.raises(function() gemm(A, B, {C = C}, 1) end, "table of options")
  t.raises(function() gemm(A, {}, {C = C}) end, "B")
  t.raises(function() gemm(A) end, "B")
  kept_call()
  -- options that a metatable adds count
  local more = setmetatable({C = C}, {__index = {alpha = 2}})
  t.eq(gemm(A, B, more):read():table(), {{8, 10}, {20, 22}})
  kept_call()
  -- another C, a whole and a real number, a view of the same memory
  t.eq(gemm(A, B, {C = D}):read():table(), AB)
  t.eq(gemm(A, B, {C = D, alpha = 1}):read():table(), AB)
  t.eq(gemm(A, B, {C = D, alpha = 1.0}):read():table(), AB)
  t.eq(gemm(A, B, {C = D:sub(1, 1, 2, 2), alpha = -1}):read():table(),
    {{-4, -5}, {-10, -11}})
  t.eq(D:read():table(), {{-4, -5}, {-10, -11}})
  -- the Event of the call that gave B stands in the place of options
  local I = cl.buffer("float", {2, 2}, {{1, 0}, {0, 1}})
  for _ = 1, 2 do
    t.eq(gemm(I, gemm(A, B)):read():table(), AB)
    t.eq(gemm(I, gemm(A, B, {C = C})):read():table(), AB)
  end
  D:close()
  t.raises(function() gemm(A, B, {C = D}) end, "C is closed")
  t.raises(function() gemm(A, B, {C = D}) end, "C is closed")
  t.eq(gemm(A, B, {C = C}):read():table(), AB)
end)

t.test("plans of earlier calls keep no Buffer alive", function()
  local function calls()
    local X = cl.buffer("float", {16, 16}, 1)
    local Y = cl.buffer("float", {16, 16}, 1)
    gemm(A, B, {C = cl.buffer("float", {2, 2})})
    gemm(X, Y, {kernel = "transposed_b"})
    return setmetatable({X, Y, gemm(X, Y)}, {__mode = "v"})
  end
  local gone = calls()
  collectgarbage()
  collectgarbage()
  t.eq(#gone, 0)
  t.eq(next(gemm.kept_plans), nil)
end)

-- A product with scratch memory on each of several devices, and a Buffer of
-- its result.
local function on_devices()
  local fine, list = pcall(device.partition, device, {equally = 1})
  local products = {}
  for i, part in ipairs(fine and list or {device}) do
    local context = {context = cl.context(part)}
    products[i] = {A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}},
      context), B = cl.buffer("float", {3, 2}, {{1, 0}, {0, 1}, {1, 1}},
      context), opts = {C = cl.buffer("float", {2, 2}, nil, context),
      kernel = "transposed_b"}}
  end
  return products
end

local function multiply(products)
  for _, p in ipairs(products) do
    p.opts.C:fill(0)
    t.eq(gemm(p.A, p.B, p.opts):read():table(), AB)
  end
end

t.test("a collection leaves the plans of operands in use", function()
  gemm.choices "default"
  local products = on_devices()
  multiply(products)
  local before = {}
  for key, plan in pairs(gemm.kept_plans) do
    before[key] = ("%p"):format(plan)
  end
  t.eq(plans_kept(true), #products)
  multiply(products)
  for key, plan in pairs(gemm.kept_plans) do
    t.eq(("%p"):format(plan), before[key])
  end
  t.eq(plans_kept(true), #products)
  products[1].opts.C = nil -- one operand goes, and so does the plan
  t.eq(plans_kept(true), #products - 1)
end)

t.test("a plan without C keeps no result", function()
  gemm.choices "default"
  local function results()
    return setmetatable({gemm(A, B), (gemm(A, B))}, {__mode = "v"})
  end
  local gone = results()
  t.eq(plans_kept(true), 1)
  t.eq(#gone, 0)
  t.eq(gemm(A, B):read():table(), AB)
  t.eq(plans_kept(true), 1)
end)

t.test("a family holds the 16 plans used last", function()
  gemm.choices "default"
  local list = {}
  for i = 1, 20 do
    list[i] = cl.buffer("float", {2, 2})
    gemm(A, B, {C = list[i]})
    gemm(A, B, {C = list[1]})
  end
  t.eq(plans_kept(true), 16)
  list[1] = nil -- used last, so it was among them
  t.eq(plans_kept(true), 15)
end)

t.test("the plan of a closed operand goes when a call is planned", function()
  gemm.choices "default"
  local C, D = cl.buffer("float", {2, 2}), cl.buffer("float", {2, 2})
  gemm(A, B, {C = C})
  C:close()
  t.eq(plans_kept(true), 1)
  transpose(A)
  t.eq(plans_kept(true), 0)
  gemm(A, B, {C = D})
  t.eq(plans_kept(true), 1)
end)

t.test("all plans go where memory is short", function()
  gemm.choices "default"
  local products = on_devices()
  multiply(products)
  t.eq(plans_kept(true), #products)
  local each = math.min(device.max_mem_alloc_size,
    device.global_mem_size // 3)
  local list = {}
  t.raises(function()
    for i = 1, 2 + device.global_mem_size // each do
      list[i] = cl.buffer("char", each)
    end
  end, "CL_MEM_OBJECT_ALLOCATION_FAILURE")
  t.eq(plans_kept(), 0)
  for _, b in ipairs(list) do
    b:close()
  end
  multiply(products)
  t.eq(plans_kept(true), #products)
end)

t.test("a kernel that does not compile", function()
  gemm.define{name = "broken", source = "kernel void broken( {",
    range = each_element}
  local e = t.raises(function() gemm(A, B, {kernel = "broken"}) end, "broken")
  t.ok(e.log)
  local r = gemm.bench("broken", nil, {A = A, B = B})
  t.ok(r.note:find("^failed: ") and not r.ms, r.note)
  t.eq(gemm(A, B):read():table(), AB)
end)

t.test("operands are checked", function()
  local such = "such as 512, {512, 512, 512} or {A = A, B = B}"
  for name, call in pairs{bench = gemm.bench, verify = gemm.verify,
      check = gemm.check} do
    t.raises(function() call("tiled") end, "gemm." .. name
      .. ": operands or sizes must be a table; got nothing", such)
    t.raises(function() call() end,
      "gemm." .. name .. ": the kernel must be a string; got nothing")
    t.raises(function() call("tiled", 64, 64) end,
      "gemm." .. name .. ": the parameters must be a table; got 64")
    t.raises(function() call("tild", 64) end, "did you mean 'tiled'")
  end
  t.raises(function() gemm.choice() end, "got nothing", such)
  t.raises(function() gemm.bench("tiled", {8, 1.5, 8}) end,
    "gemm.bench: n of the shape must be a whole number >= 1; got 1.5")
  t.raises(function() gemm.verify("tiled", {8, 8, 8, 8}) end,
    "gemm.verify: the shape has the sizes m, n, k; got 4 numbers")
end)

t.test("sizes stand for random operands", function()
  local event <close> = gemm.plan(A, B)()
  t.eq(gemm(A, B, {after = event}):read():table(), AB)
  for _, target in ipairs{8, {8}, {8, 8, 8}, {m = 8, n = 8, k = 8}} do
    for _, args in ipairs{{nil, target}, {{}, target}, {{tile = 4}, target}} do
      t.ok(gemm.verify("tiled", args[1], args[2]).ok)
      t.ok(gemm.check("tiled", args[1], args[2]))
    end
    t.ok(gemm.choice(target).rung)
  end
  t.ok(gemm.verify("tiled", 8).ok and gemm.verify("tiled", {8, 9, 10}).ok)
  t.ok(gemm.check("tiled", 8) and transpose.check("tiled", {8, 9}))
  t.ok(gemm.verify("tiled", {A = A, B = B}).ok)
  t.eq(spmv.verify("naive", {4, 5}).ok, true)
  local brief = {seconds = 0.01}
  local r = gemm.bench("tiled", 8, brief)
  t.eq({r.status, r.title, r.seed}, {"ok", "8x8x8 float", 1})
  r = gemm.bench("plain_c", {}, {8, 9, 10}, brief)
  t.eq({r.status, r.title}, {"ok", "8x9x10 float"})
  t.eq(bench("gemm.tiled", 8, {tile = 4}, brief).title, "8x8x8 float")
end)

t.test("what a rung's functions return is checked", function()
  local wrong = {flop = -1, bytes = 0 / 0, local_bytes = "x", accepts = true,
    args = 1, prepare = 1, defines = "x", options = {}}
  for name, value in pairs(wrong) do
    gemm.define{name = "returns", source = source(1), range = each_element,
      [name] = function() return value end}
    t.raises(function() gemm(A, B, {kernel = "returns"}) end,
      ("gemm.returns: %s must return "):format(name))
  end
  for _, result in ipairs{{}, {0}, {"x"}, {{}}, {{8, -1}}, {8, "x"},
      {{1, 1, 1, 1}}} do
    gemm.define{name = "returns", source = source(1), range = function()
      return table.unpack(result)
    end}
    t.raises(function() gemm(A, B, {kernel = "returns"}) end,
      "gemm.returns: range must return the global size", "the shape s has",
      "m, n,")
  end
  gemm.define{name = "returns", source = source(1), range = function(s)
    return s.m * s.n * 1.0, 1
  end}
  gemm.plan(A, B, {kernel = "returns"})() -- numbers are lists of one
end)

t.test("definitions are checked", function()
  local function define(changes)
    local def = {name = "odd", source = source(1), range = each_element}
    for key, value in pairs(changes) do
      def[key] = value or nil
    end
    return function() gemm.define(def) end
  end
  t.raises(function() gemm.define("x") end,
    'gemm.define: the rung must be a table; got "x"',
    'help "gemm.define" has an example')
  t.raises(define{params = {tile = 4}}, "params must be a list",
    'such as {{name = "tile", values = {8, 16}}}')
  t.raises(define{rang = each_element}, "did you mean 'range'")
  t.raises(define{range = false}, "field 'range' is missing",
    'help "gemm.define" has an example')
  t.raises(define{name = false}, "field 'name' is missing")
  t.raises(define{name = "a b"}, "got 'a b'")
  t.raises(define{name = "tiled"}, "take another name")
  t.raises(define{source = false}, "give either 'file'")
  t.raises(define{file = "no_such_file.cl", source = false},
    "no kernel file 'no_such_file.cl'", "looked for")
  t.raises(define{params = {{name = "queue", values = {1}}}}, "is taken")
  t.raises(define{params = {{name = "a", values = {1}},
    {name = "a", values = {1}}}}, "is taken")
  t.raises(define{params = {{name = "a", values = {}}}}, "legal values")
  t.raises(define{params = {{name = "a", values = {1}, default = 2}}},
    "the default", "must be one of 1; got 2")
  t.raises(define{lesson = function() end}, "lesson must be a string")
end)

t.test("the steps of a call name a wrong argument", function()
  for what, message in pairs{flop = "the shape must come from a plan",
      bytes = "the shape must come from a plan",
      truth = "the plan must be a table",
      plan_for = "the operands must be a table",
      bind = "the operands must be a table"} do
    for _, f in ipairs{gemm, spmv} do
      t.raises(function() f[what]() end, f.name .. "." .. what .. ": "
        .. message .. "; got nothing")
    end
  end
  t.raises(function() gemm.bytes(nil, {}) end, "gemm.plan(A, B).shape is one")
  local s = gemm.plan(A, B).shape
  t.eq(gemm.flop(nil, s), 2 * s.m * s.n * s.k)
end)

t.test("a measurement refuses the names of parameters that are none",
  function()
    local wrong = {samples = 3}
    t.raises(function() gemm.bench("naive", wrong, 16) end,
      "unknown option 'samples'")
    t.raises(function() bench("gemm.naive", 16, wrong) end,
      "unknown option 'samples'")
  end)

t.test("a call runs again where its result was closed", function()
  for _ = 1, 3 do
    local C <close> = gemm(A, B, {kernel = "naive"})
    t.eq(C:read():table(), AB)
  end
end)

t.test("a plan runs as often as wanted", function()
  local plan = gemm.plan(A, B, {kernel = "tiled", edge = "pad", tile = 4})
  local flop
  for run = 1, 5 do
    plan.output:fill(0 / 0)
    local event = plan():wait()
    t.eq(#event.events, run < 3 and 4 or 1) -- pads A and B, multiplies, cuts C
    t.eq(plan.output:read():table(), AB)
    flop = flop or event.flop
    t.eq(event.flop, flop)
    t.ok(event.ms > 0)
  end
  t.eq(#plan:run():wait().events, 4)
  local steps <close> = cl.record(function() plan() end)
  t.eq(#steps, 4)
  plan.output:fill(0 / 0)
  steps():wait()
  t.eq(plan.output:read():table(), AB)
  local C <close> = cl.buffer("float", {#AB, #AB[1]}, 0)
  local named = gemm.plan(A, B, {kernel = "tiled", edge = "pad", tile = 4,
    C = C})
  for _ = 1, 3 do
    named()
  end
  C:close()
  t.raises(named, "closed")
end)

t.done()

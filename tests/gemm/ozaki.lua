-- ozaki.lua - double products by int8 products: as exact as the plain kernel
-- on all kinds of operands, and refused to it where they would not be
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local kinds = dofile(cl.home .. "/scripts/lib/kinds.lua")
local ozaki = require "clshell.ladders.gemm.ozaki"
local plans = require "clshell.ladder.plan"
local transpose = require "clshell.transpose"
local program = require "clshell.ladder.program"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local function test(name, f)
  t.test(name, function()
    t.skip_if(not device:has "cl_khr_fp64", "the device has no double")
    f()
  end)
end

local ONE = 1.25 * 2^-53 -- the last rounding, and a little
local NAN, STAND_BY = 0 / 0, "tiled_transposed_b"

-- The kinds that 15 moduli and more have to take, with the note of a refusal.
local TAKEN = {}
for name in ([[uniform01 normal rowscale2^60 cancel subnormalA subresult
    nearmax ints64 ints2^20 odd zeros blocks hilbert constant alternate ties
    tiny big]]):gmatch "%S+" do
  TAKEN[name] = true
end
local REFUSED = {inf = true, nan = true, infnan = true, ["kscale2^30"] = true,
  ["masked2^40"] = true, ["wide2^60"] = true}

-- Where a result has no finite numbers: 0 finite, 1 Inf, 2 -Inf, 3 NaN.
local function places(C)
  local h <close>, list = C:read(), {}
  for i = 1, #h do
    list[i] = h[i] ~= h[i] and 3 or h[i] == math.huge and 1
      or h[i] == -math.huge and 2 or 0
  end
  return list
end

-- The product by the rung, whether the operands were refused, and whether it
-- left a modulus out.
local function product(A, B, opts)
  local more = {kernel = "ozaki"}
  for name, value in pairs(opts or {}) do
    more[name] = value
  end
  local plan = gemm.plan(A, B, more)
  plan():wait()
  local state = plan.own_shape.ozaki.refused:read()
  local few = ozaki.defines(plan.own_shape, plan.params).FEWER == 1
  return plan.output, state[1] == 1, few and state[4] <= 0.16 * 2^24
end

-- Lets a C of so many elements count as large, until it is closed.
local function large_from(count)
  local before = ozaki.LARGE
  ozaki.LARGE = count
  return setmetatable({}, {__close = function()
    ozaki.LARGE = before
  end})
end

for _, shape in ipairs{{33, 29, 65}, {40, 24, 700}, {40, 24, 700, true}} do
  local m, n, k, large = table.unpack(shape)
  test(("kinds of operands, %dx%dx%d%s"):format(m, n, k, large
      and ", as if large" or ""), function()
    local count, left_out = 0, {}
    local _ <close> = large_from(large and 0 or ozaki.LARGE)
    for name, A, B in kinds.list(m, n, k, t.seed) do
      count = count + 1
      local C, refused, few = product(A, B)
      left_out[name] = few or nil
      local D = gemm(A, B, {kernel = STAND_BY})
      local err, plain = kinds.error(A, B, C), kinds.error(A, B, D)
      t.ok(err <= k * 2^-53, ("%s: %g"):format(name, err))
      t.ok(not (TAKEN[name] and refused), name .. " was refused")
      t.ok(refused or not REFUSED[name], name .. " was not refused")
      if refused then
        t.ok(err == plain or name:find "^over", name)
        t.eq(places(C), places(D), name)
      else -- one rounding, of a sum without any
        t.ok(err <= math.max(plain, ONE), ("%s: %g, plain %g"):format(name,
          err, plain))
        local blas = host.gemm_blas(A:read(), B:read(), {})
        if blas then
          local E <close> = cl.buffer("double", {m, n}, blas)
          local peer = kinds.error(A, B, E) -- of a sum in several chains
          t.ok(err <= math.max(peer, few and 1.5 * ONE or ONE),
            ("%s: %g, BLAS %g"):format(name, err, peer))
        end
      end
      A:close()
      B:close()
    end
    t.eq(count, 35)
    t.eq({left_out.uniform01, left_out.hilbert}, {large, large})
    t.ok(not left_out.ties and not left_out.constant, "all cut alike")
  end)
end

test("fewer moduli refuse more, and are never less exact", function()
  local A = cl.buffer("double", {40, 70}, cl.array("double", {40, 70}):random(
    t.seed, -1, 1))
  local B = cl.buffer("double", {70, 24}, cl.array("double", {70, 24}):random(
    t.seed + 1, -1, 1))
  local I = cl.buffer("double", {40, 70}, cl.array("int", 40 * 70):random(
    t.seed, -9, 9):convert("double"):reshape{40, 70})
  local J = cl.buffer("double", {70, 24}, cl.array("int", 70 * 24):random(
    t.seed + 1, -9, 9):convert("double"):reshape{70, 24})
  local exact = host.gemm_loop(I:read(), J:read(), {})
  local before, least = true, math.huge
  for _, moduli in ipairs{6, 7, 9, 12, 15, 18} do
    local C, refused = product(A, B, {moduli = moduli})
    t.ok(before or not refused, "more moduli refuse less")
    local err = kinds.error(A, B, C)
    t.ok(err <= least * 1.01 + 2^-54, ("%d: %g after %g"):format(moduli, err,
      least))
    before, least = refused, math.min(least, err)
    C, refused = product(I, J, {moduli = moduli})
    t.ok(not refused, "small whole numbers go into few moduli")
    t.ok(C:read():equal(exact))
  end
  t.ok(not before)
end)

test("whole numbers up to 2^53, that cancel", function()
  local A = cl.buffer("double", {2, 3}, {{2^52 + 1, 2^52, 1},
    {2^53 - 1, -1, 0}})
  local B = cl.buffer("double", {3, 2}, {{1, 2^52}, {-1, -2^52 - 1},
    {0, 1}})
  local C, refused = product(A, B)
  t.ok(not refused)
  t.eq({C:read():at(1, 1), C:read():at(1, 2), C:read():at(2, 1)},
    {1.0, 1.0, 2.0^53})
end)

test("sums beyond 2^16 terms, of the largest remainders", function()
  local k = 65536 * 2 + 100
  local A = cl.buffer("double", {2, k}, 127)
  local B = cl.buffer("double", {k, 3}, -128)
  local C, refused = product(A, B)
  t.ok(not refused)
  t.ok(C:read():equal(cl.array("double", {2, 3}, -127.0 * 128 * k)))
end)

test("a refusal is told anew at each run of a plan", function()
  local A = cl.buffer("double", {20, 30}, 2)
  local B = cl.buffer("double", {30, 9}, 3)
  local plan = gemm.plan(A, B, {kernel = "ozaki"})
  for run, value in ipairs{2, NAN, 2, 2, math.huge, 2, 2} do
    A:sub(1, 1, 1, 1):write(cl.array("double", {1, 1}, value))
    plan():wait()
    local got = plan.output:read()[1]
    local want = 29 * 6 + 3 * value
    t.ok(got == want or got ~= got and want ~= want, run)
  end
end)

test("alpha, beta, views, transposes and batches", function()
  local frame = cl.buffer("double", {50, 60}, cl.array("double", {50, 60})
    :random(t.seed, -1, 1))
  local A, B = frame:sub(3, 4, 20, 17), frame:sub(5, 2, 20, 31)
  local opts = {alpha = -0.5, beta = 2, trans_a = true}
  local list = {}
  for i, kernel in ipairs{"ozaki", "naive"} do
    opts.kernel, opts.C = kernel, cl.buffer("double", {17, 31}, 1.25)
    list[i] = gemm(A, B, opts):read()
  end
  t.ok(list[1]:max_diff(list[2]) < 1e-14)
  local X = cl.buffer("double", {3, 8, 70}, cl.array("double", {3, 8, 70})
    :random(t.seed, -1, 1))
  local Y = cl.buffer("double", {70, 9}, cl.array("double", {70, 9})
    :random(t.seed, -1, 1))
  t.ok(gemm(X, Y, {kernel = "ozaki"}):read():max_diff(
    gemm(X, Y, {kernel = "naive"}):read()) < 1e-13)
  local C = cl.buffer("double", {17, 31})
  local steps = cl.record(function()
    gemm(A, B, {kernel = "ozaki", trans_a = true, C = C})
  end)
  for _ = 1, 2 do
    C:fill(NAN)
    steps():wait()
    t.ok(C:read():max_diff(gemm(A, B, {trans_a = true}):read()) < 1e-14)
  end
  local event = select(2, gemm(X, Y, {kernel = "ozaki", alpha = 0}))
  t.eq(event:wait().status, "complete")
  t.raises(function()
    gemm(cl.buffer("float", {4, 4}, 1), cl.buffer("float", {4, 4}, 1),
      {kernel = "ozaki"})
  end, "computes in double")
end)

test("operands that lie across are packed like those along k", function()
  for _, size in ipairs{{37, 45, 150, 0}, {3, 2, 131, 18}} do
    local m, n, k, moduli = table.unpack(size)
    local X = cl.buffer("double", {m, k}, cl.array("double", {m, k}):random(
      t.seed, -1, 1))
    local Y = cl.buffer("double", {n, k}, cl.array("double", {n, k}):random(
      t.seed + 1, -1, 1))
    X:sub(1, 1, 1, 1):write(cl.array("double", {1, 1}, 2^-1070))
    local list = {}
    for i, way in ipairs{{X, Y, nil, true},
        {transpose(X), transpose(Y), true, nil}} do
      local o, s = plans.bind(gemm, {A = way[1], B = way[2], trans_a = way[3],
        trans_b = way[4]}, nil, true)
      local results, event = plans.helpers(gemm, s, function(run)
        return ozaki.pack(s, {moduli = moduli}, o, run)
      end)
      event:wait()
      list[i] = results[1]
    end
    for _, side in ipairs{"a", "b"} do
      local one, two = list[1][side], list[2][side]
      local x, y = one.planes:read(), two.planes:read()
      local lines, own = size[side == "a" and 1 or 2], list[1]
      local quarters = (own.count + 1) * lines * own.pitch
      for i = 1, #x do -- a line of a quarter has a gap behind it
        t.ok(x[i] == y[i] or i > quarters
          and (i - 1 - quarters) % own.pitch4 >= own.pitch // 4, side)
      end
      local notes, others = one.notes:read(), two.notes:read()
      for i = 1, #notes do
        for word = 1, 7 do -- norm and sizes: sums in another order
          t.ok(math.abs(notes[i][word] - others[i][word])
            <= (word // 2 == 1 and 2 or 0), word)
        end
      end
    end
    t.eq(list[1].refused:read()[2], 1)
  end
end)

test("a sample refuses most operands before they are packed", function()
  local m, n, k = 37, 45, 150
  -- Elements of a matrix times 2^power(i, j).
  local function scaled(rows, cols, seed, power)
    local h = cl.array("double", {rows, cols}):random(seed, 1, 2)
    local at = 0
    for i = 1, rows do
      for j = 1, cols do
        at = at + 1
        h[at] = h[at] / 3 * 2.0^power(i, j) -- with all 53 bits
      end
    end
    return cl.buffer("double", {rows, cols}, h)
  end
  local function by_element(i, j) return (7 * i + 5 * j) % 41 - 20 end
  for way = 0, 3 do
    local trans_a, trans_b = way & 1 == 1, way & 2 == 2
    for _, wide in ipairs{true, false} do
      local function a(i, j)
        return wide and by_element(i, j)
          or 9 * (trans_a and j or i) - (i + j) % 6
      end
      local function b(i, j)
        return wide and by_element(j, i)
          or -9 * (trans_b and i or j) - (i + 2 * j) % 6
      end
      local A = trans_a and scaled(k, m, t.seed, a) or scaled(m, k, t.seed, a)
      local B = trans_b and scaled(n, k, t.seed, b) or scaled(k, n, t.seed, b)
      local opts = {kernel = "ozaki", moduli = 15, trans_a = trans_a,
        trans_b = trans_b}
      local plan = gemm.plan(A, B, opts)
      plan():wait()
      local own = plan.own_shape.ozaki
      t.eq(own.refused:read()[2], 1, "lines lose bits")
      own.a.planes:fill(1)
      plan():wait()
      local kept = own.a.planes:read():equal(cl.array("char",
        #own.a.planes, 1))
      t.eq({own.refused:read()[1] == 1, kept}, {wide, wide},
        ("trans_a %s, trans_b %s"):format(trans_a, trans_b))
    end
  end
end)

test("bench_gemm.lua --kinds prints the errors", function()
  local script = cl.home .. "/scripts/bench_gemm.lua"
  local function run(more)
    return t.capture(("COLUMNS=80 %s %s --kinds 9x8x7 %s 2>&1; echo code $?")
      :format(t.exe, script, more))
  end
  local out = run "--moduli 18"
  t.narrow(out)
  t.ok(out:find "%f[%w]BLAS" and not out:find "BLAS: %d", out)
  for _, words in ipairs{"\nuniform01 +%d%.%d%de%-%d%d +%d", "code 0\n$",
      "\nnan +[^\n]*the tiled kernel's bits"} do
    t.ok(out:find(words), out)
  end
  t.ok(run "--moduli 5":find "must be one of.*code 2\n$")
  t.ok(run "-o x.csv":find "nothing for .*code 2\n$")
end)

local function nv_ozaki(name, f)
  test("nv_ozaki: " .. name, function()
    local major = device.nv_compute_capability_major
    t.skip_if(major ~= 9,
      "the device is no NVIDIA GPU of compute capability 9.0")
    f()
  end)
end

test("nv_ozaki says which device and which sums it takes", function()
  local rung = gemm.rung "nv_ozaki"
  t.eq(rung.products({k = 4096}, {moduli = 0}), 15)
  t.eq({ozaki.defines({m = 4096, n = 1024, k = 300}, {moduli = 0}).FEWER,
    ozaki.defines({m = 4096, n = 1023, k = 300}, {moduli = 0}).FEWER,
    ozaki.defines({m = 4096, n = 1024, k = 300}, {moduli = 15}).FEWER,
    ozaki.defines({m = 4096, n = 1024, k = 200}, {moduli = 0}).FEWER},
    {1, 0, 0, 0})
  t.eq(rung.products({k = 20}, {moduli = 0}), 18)
  t.eq(rung.products({k = 20}, {moduli = 7}), 7)
  local s = {m = 2, n = 3, k = 131072, type = "double"}
  local hopper = {nv_compute_capability_major = 9,
    nv_compute_capability_minor = 0}
  t.ok(rung.accepts({}, s, {moduli = 0}):find "compute capability 9.0")
  t.ok(rung.accepts(hopper, s, {moduli = 0}):find "131071")
  s.k = 131071
  t.eq(rung.accepts(hopper, s, {moduli = 0}), nil)
  local cube = {m = 32768, n = 32768, k = 32768, type = "double"}
  hopper.global_mem_size = 80 << 30
  t.ok(rung.accepts(hopper, cube, {moduli = 0}):find "48640 MiB, more than a "
    .. "quarter of the device's memory", rung.accepts(hopper, cube,
    {moduli = 0}))
  cube.m, cube.n, cube.k = 16384, 16384, 16384
  t.eq(rung.accepts(hopper, cube, {moduli = 0}), nil)
  s.type = "float"
  t.ok(rung.accepts(hopper, s, {moduli = 0}):find "double")
  if device.nv_compute_capability_major ~= 9 then
    local A = cl.buffer("double", {4, 4}, 1)
    t.raises(function()
      gemm(A, A, {kernel = "nv_ozaki"})
    end, "compute capability 9.0")
  end
end)

nv_ozaki("the bits of ozaki", function()
  local _ <close> = large_from(0)
  for _, s in ipairs{{1, 1, 1}, {130, 70, 300}, {256, 256, 256}} do
    local m, n, k = table.unpack(s)
    local A = cl.buffer("double", {m, k}, cl.array("double", {m, k}):random(
      t.seed, -1, 1))
    local B = cl.buffer("double", {k, n}, cl.array("double", {k, n}):random(
      t.seed + 1, -1, 1))
    local list = {}
    for i, kernel in ipairs{"ozaki", "nv_ozaki"} do
      list[i] = gemm(A, B, {kernel = kernel, alpha = -2,
        beta = 0.5, C = cl.buffer("double", {m, n}, 3)}):read()
    end
    t.ok(list[1]:equal(list[2]), m)
  end
end)

nv_ozaki("kinds of operands", function()
  for name, A, B in kinds.list(33, 29, 65, t.seed) do
    local C, D = gemm(A, B, {kernel = "nv_ozaki"}), product(A, B)
    t.ok(kinds.error(A, B, C) <= 65 * 2^-53, name)
    t.eq(places(C), places(D), name)
    A:close()
    B:close()
  end
end)

test("the table of the moduli", function()
  local A = cl.buffer("double", {1, 1}, 1)
  for _, count in ipairs{6, 15, 18} do
    local plan = gemm.plan(A, A, {kernel = "ozaki", moduli = count})
    plan():wait()
    local list, bits, P = plan.own_shape.ozaki.constants:read(), 0, 0
    local function whole(i, j)
      return math.tointeger(list:at(i, j))
    end
    for i = 1, count do
      bits = bits + math.log(whole(i, 1), 2)
      for j = 1, count do -- 1 modulo its own p, 0 modulo the others
        local rest = 0
        for digit = 8, 5, -1 do
          rest = (rest * (1 << 40) + whole(i, digit)) % whole(j, 1)
        end
        t.eq(rest, i == j and 1 or 0)
      end
    end
    for digit = 8, 5, -1 do
      P = P * 2.0^40 + whole(count + 1, digit)
    end
    t.near(math.log(P, 2), bits, 1e-9)
  end
end)

-- The number of commands of a call, and whether C is `due`.
local function called(due, A, B, opts)
  local more = {kernel = "ozaki"}
  for name, value in pairs(opts or {}) do
    more[name] = value
  end
  local C <close>, event = gemm(A, B, more)
  return #event.events, C:read():table()[1][1] == due
end

test("a first call builds what stands by only if it needs it", function()
  local A = cl.buffer("double", {3, 5}, 2)
  local B = cl.buffer("double", {5, 3}, 3)
  local plan, once = gemm.plan(A, B, {kernel = "ozaki"}), 0
  local all = #plan.commands
  for _, command in ipairs(plan.commands) do
    once = once + (command.once and 1 or 0)
  end
  local function forget()
    program.forget{plan.commands[all].launch.kernel.program}
  end
  forget()
  t.eq({called(30, A, B)}, {all - 1, true})
  t.eq({called(30, A, B)}, {all - once, true})
  forget()
  local other = cl.buffer("double", {5, 4}, 3)
  A:write({math.huge}, {first = 1, count = 1})
  t.eq({called(math.huge, A, other)}, {all, true})
  t.eq({called(math.huge, A, other)}, {all - once, true})
  forget()
end)

test("... and no call waits for a command that it comes behind", function()
  local A = cl.buffer("double", {4, 5}, 2)
  local B = cl.buffer("double", {5, 3}, 3)
  local gate <close> = cl.user_event()
  local C, event = gemm(A, B, {kernel = "ozaki", after = gate})
  t.ok(event.status ~= "complete")
  gate:complete()
  t.eq(C:read():table()[4], {30, 30, 30})
  local other <close> = cl.user_event()
  local x <close> = cl.buffer("int", 4)
  x:fill(1, {after = other, async = true})
  local D <close> = gemm(B, A:reshape{5, 4}, {kernel = "ozaki",
    trans_a = true})
  other:complete()
  t.eq(D:read():table()[3], {30, 30, 30, 30})
end)

t.done()

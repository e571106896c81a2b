-- families.lua - products, transposes and sparse products of Splits, beside
-- those of one device
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue", "Device", "Event", "Program", "Kernel", "Launch",
  "Buffer")

local fine, parts = pcall(device.partition, device, {equally = 1})
local one, two = device, device
if fine and #parts > 1 then
  one, two = parts[1], parts[2]
end
local list = {one, two, one}

-- The same for each call of a seed; whole numbers, so that sums are exact.
local function random(shape, seed, type)
  local h <close> = cl.array("int", shape):random(t.seed + seed, -4, 4)
  return cl.buffer(type or "float", shape, h:convert(type or "float"))
end

local function equal(s, b, what)
  local whole <close> = s:join()
  t.ok(whole:read():equal(b:read()), what)
end

t.test("products of rows with copies, and with rows", function()
  print("# seed " .. t.seed)
  for _, case in ipairs{{2, 5, 3, "float"}, {37, 45, 23, "float"},
      {64, 2, 70, "double"}, {5, 130, 1, "float"}} do
    local m, k, n, type = table.unpack(case)
    local what = ("%dx%dx%d"):format(m, n, k)
    local A, B = random({m, k}, 1, type), random({k, n}, 2, type)
    local C <close> = gemm(A, B)
    local S <close> = cl.split(A, list)
    local R <close> = cl.split(B, list)
    local T <close> = cl.split(transpose(B), list)
    local K <close> = cl.split(B, list, "copies")
    equal(gemm(S, B), C, what)
    equal(gemm(S, B:read()), C, what)
    equal(gemm(S, K), C, what)
    equal(gemm(S, R), C, what .. " in rows")
    equal(gemm(S, T, {trans_b = true}), C, what .. " transposed")
    local uneven <close> = cl.split(B, list, "rows", {shares = {0, 1, 5}})
    equal(gemm(S, uneven, {kernel = "tiled"}), C, what .. " uneven")
    local C0 = random({m, n}, 3, type)
    local want <close> = gemm(A, B, {alpha = 2, beta = -1, C = C0:clone()})
    for _, b in ipairs{K, R} do
      local D <close> = cl.split(C0, list)
      t.eq(gemm(S, b, {alpha = 2, beta = -1, C = D}).parts[1], D.parts[1])
      equal(D, want, what .. " with beta")
    end
    local lazy = gemm(S + S, K)
    equal(lazy, gemm(A + A, B), what)
    A:close()
    B:close()
    C0:close()
  end
end)

t.test("a product into the same C takes what the operands hold now", function()
  local A <close> = random({37, 45}, 1)
  local B <close> = random({45, 23}, 2)
  for _, axis in ipairs{"copies", "rows"} do
    local S <close> = cl.split(A, list)
    local T <close> = cl.split(B, list, axis)
    local D <close> = cl.split(cl.buffer("float", {37, 23}, 0), list)
    for _, opts in ipairs{{}, {}, {alpha = 3}, {}, {alpha = 3}} do
      T:set(T + 1)
      local want <close> = gemm(A, T:join(), opts)
      equal(gemm(S, T, {C = D, alpha = opts.alpha}), want, axis)
    end
    local E <close> = cl.split(cl.buffer("float", {37, 23}, 0), list)
    equal(gemm(S, T, {C = E}), gemm(A, T:join()), axis .. ", another C")
    S.parts[2]:close()
    t.raises(function() gemm(S, T, {C = D}) end,
      "part 2 of the Split is closed")
  end
end)

t.test("many rows of B reach another device in halves", function()
  local A <close> = random({3, 4101}, 1)
  local B <close> = random({4101, 3}, 2)
  local S <close> = cl.split(A, {one, two})
  local R <close> = cl.split(B, {one, two})
  equal(gemm(S, R), (gemm(A, B)))
  equal(gemm(S, R, {alpha = -1}), (gemm(A, B, {alpha = -1})))
  local D <close> = transpose(A)
  local few <close> = random({7, 3}, 3)
  equal(gemm(cl.split(few, {one, two}), cl.split(D, {one, two}),
    {trans_b = true}), (gemm(few, A)))
end)

t.test("a transpose is in rows again", function()
  for _, case in ipairs{{1, 1}, {2, 50}, {50, 2}, {67, 45}} do
    local A <close> = random(case, 4)
    local S <close> = cl.split(A, list)
    local B <close> = transpose(A)
    local T <close> = transpose(S)
    equal(T, B)
    t.eq(T.shape, {case[2], case[1]})
    equal(transpose(T), A)
  end
  local S <close> = cl.split(random({60, 60}, 5), list, "rows",
    {shares = {1, 3, 2}})
  t.eq(transpose(S).sizes, {10, 30, 20})
end)

-- The products of a matrix in parts with x on one device, in rows, in copies
-- and as an Array, beside that of the whole.
local function check_spmv(M, what)
  local x = random(M.cols, 6, M.values.type)
  local y <close> = spmv(M, x)
  for _, shares in ipairs{{1, 1, 1}, {1, 4, 0}} do
    local S <close> = cl.split(M, list, "rows", {shares = shares})
    local rows <close> = cl.split(x, list)
    local copies <close> = cl.split(x, list, "copies")
    local own <close> = cl.split(x, list, "rows", {shares = S.sizes})
    for name, v in pairs{buffer = x, rows = rows, copies = copies, own = own,
        array = x:read()} do
      equal(spmv(S, v), y, what .. ", x: " .. name)
    end
    local out <close> = cl.split(random(M.rows, 7, M.values.type), list,
      "rows", {shares = S.sizes})
    for _ = 1, 4 do -- the vectors of the edges are used in turn
      t.eq(spmv(S, own, {y = out}), out)
      equal(out, y, what)
      own:set(own + 1)
      x:set(x + 1)
      y:set((spmv(M, x)))
    end
  end
  x:close()
end

t.test("sparse products by diagonals, with halos", function()
  local grid <close> = dia.poisson2d(60, 130)
  check_spmv(grid, "grid")
  for _, case in ipairs{
    {1, {0}}, {2, {-1, 1}}, {9000, {-3, 0, 1}}, {9000, {5, 2000}},
    {9000, {-2500}}, {300, {-299, 0, 299}}, {5000, {-1, 0, 1}, "double"},
  } do
    local M <close> = dia.banded(case[1], case[2], {type = case[3]})
    M.values:set(random(M.values.shape, 8, M.type))
    check_spmv(M, ("%d rows"):format(case[1]))
  end
  for _, cols in ipairs{70, 400} do
    local M <close> = dia.banded(200, {-60, 0, 40}, {cols = cols})
    M.values:set(random(M.values.shape, 8))
    check_spmv(M, ("200 x %d"):format(cols))
  end
end)

t.test("conjugate gradients over Splits", function()
  local M <close> = dia.poisson2d(48, 80, {type = "double"})
  local S <close> = cl.split(M, list)
  local want <close> = random(M.rows, 9, "double")
  local x <close> = cl.split(cl.buffer("double", M.rows, 0), list)
  local r <close> = cl.split(spmv(M, want), list)
  local p <close> = cl.split(r:join(), list)
  local q <close> = cl.split(r:join(), list)
  local rho, steps = r:dot(r), 0
  while rho > 1e-16 and steps < 400 do
    spmv(S, p, {y = q})
    local alpha = rho / p:dot(q)
    x:axpy(alpha, p)
    r:axpy(-alpha, q)
    local next_rho = r:dot(r)
    p:set(r + next_rho / rho * p)
    rho, steps = next_rho, steps + 1
  end
  t.ok(steps < 400, steps)
  t.near((x - want):abs():max(), 0, 1e-6)
end)

t.test("sparse products by compressed rows", function()
  local grid <close> = dia.poisson2d(30, 40)
  local C <close> = grid:to_csr()
  check_spmv(C, "CSR")
  local hole <close> = csr.from_coo(30, 9, {1, 1, 30}, {1, 9, 5}, {2, 3, 4})
  check_spmv(hole, "rows without entries")
end)

t.test("two devices, each of its own kind", function()
  t.skip_if(device.platform ~= "Portable Computing Language",
    "PoCL alone makes devices of two kinds")
  local code = [[
    local list = cl.devices()
    local A, B = matrix.random(40, 30), matrix.random(30, 20, {seed = 2})
    local S = cl.split(A, list, "rows", {shares = {3, 1}})
    local R = cl.split(B, list)
    print(#list, S)
    print(gemm(S, R):join():max_diff(gemm(A, B)) < 1e-4)
    print(transpose(S):join():max_diff(transpose(A)))
    print((S * 2):read():equal((A * 2):read()), #cl.each(print, list))
    print(pcall(gemm, A, cl.split(B, list, "copies").parts[2]))]]
  local out = t.capture(("POCL_DEVICES='basic pthread' CLSHELL_DEVICE=1 %s "
    .. "-e '%s' 2>&1"):format(t.exe, code))
  t.skip_if(out:find("^1\t"), "this PoCL makes one device")
  t.ok(out:find("^2\tSplit float%[40%]%[30%] in rows 30 %+ 10\ntrue\n"
    .. "0%.0\t1\t1\n"), out)
  t.ok(out:find("\ntrue\t0\n") and out:find "B is on another device", out)
end)

t.test("what products of Splits refuse", function()
  local A <close> = random({6, 4}, 1)
  local S <close> = cl.split(A, list)
  local M <close> = dia.poisson2d(4, 4)
  local P <close> = cl.split(M, list)
  local x <close> = cl.buffer("float", 16, 1)
  for piece, f in pairs{
    ["A must be a Split in rows; got a Buffer"] = function() gemm(A, S) end,
    ["got a Split in copies"] = function()
      gemm(cl.split(A, list, "copies"), A)
    end,
    ["takes no option trans_a"] = function() gemm(S, A, {trans_a = true}) end,
    ["takes no option queue"] = function()
      gemm(S, A, {queue = cl.context().queue})
    end,
    ["A is 6x4, and B is 6x4"] = function() gemm(S, A) end,
    ["and the transposed B is 4x6"] = function()
      gemm(S, cl.buffer("float", {4, 6}, 1), {trans_b = true})
    end,
    ["C must be a Split"] = function()
      gemm(S, cl.buffer("float", {4, 2}, 1), {C = A})
    end,
    ["lie on other devices"] = function()
      gemm(S, cl.split(cl.buffer("float", {4, 2}, 1), {one}))
    end,
    ["takes no option B"] = function() transpose(S, {B = S}) end,
    ["must be a matrix in rows"] = function()
      transpose(cl.split(x, list))
    end,
    ["M must be a Split matrix"] = function() spmv(M, cl.split(x, list)) end,
    ["x must be a vector of 16 float"] = function() spmv(P, A) end,
    ["y must be a Split"] = function() spmv(P, x, {y = x}) end,
    ["takes no queue"] = function()
      spmv(P, x, {queue = cl.context().queue})
    end,
    ['is split in "rows"'] = function() cl.split(M, list, "copies") end,
    ["gemm: takes no sparse matrix in this place"] = function() gemm(P, A) end,
  } do
    t.raises(f, piece)
  end
  S.parts[1]:close()
  t.raises(function() gemm(S, cl.buffer("float", {4, 2}, 1)) end,
    "part 1 of the Split is closed")
  t.eq(tostring(P), "Split DIA matrix 16 x 16 of float in rows 5 + 6 + 5")
end)

t.done()

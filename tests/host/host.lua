-- host.lua - cl.host: errors against float64, plain loops, OpenBLAS.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local host = require "cl.host"

t.keeps("Context", "Device", "Queue")

local function rand(name, m, n, seed)
  return cl.array(name, {m, n}):random(seed, -1, 1)
end

-- The result of a host routine; the seconds that it returns besides lie within
-- those of the call.
local function timed(routine, ...)
  local began = cl.now()
  local result, seconds = routine(...)
  t.ok(seconds >= 0 and seconds <= cl.now() - began, seconds)
  return result
end

-- alpha A B + beta C0 in Lua, rounded to the element type.
local function product(A, B, alpha, beta, C0)
  return cl.array(A.type, {A.rows, B.cols}, function(i, j)
    local sum = 0.0
    for k = 1, A.cols do
      sum = sum + A:at(i, k) * B:at(k, j)
    end
    return (alpha or 1) * sum + (beta and beta * C0:at(i, j) or 0)
  end)
end

local eps = {half = 0x1p-11, float = 0x1p-24, double = 0x1p-53}
local shapes = {{1, 1, 1}, {2, 3, 4}, {5, 7, 3}, {17, 300, 9}, {4, 1, 270}}

t.test("gemm_error and gemm_freivalds: right products", function()
  for name, e in pairs(eps) do
    for _, s in ipairs(shapes) do
      local m, n, k = table.unpack(s)
      local A, B = rand(name, m, k, t.seed), rand(name, k, n, t.seed + 1)
      local C0 = rand(name, m, n, t.seed + 2)
      -- in double the sums round as often as the reference's do
      local limit = name == "double" and 2 * (k + n + 4) * e or 2 * e
      local C = product(A, B)
      t.ok(host.gemm_error(C, A, B) <= limit, name)
      t.ok(host.gemm_freivalds(C, A, B) <= limit, name)
      local o = {alpha = 0.5, beta = -2, C0 = C0}
      C = product(A, B, 0.5, -2, C0)
      t.ok(host.gemm_error(C, A, B, o) <= limit, name)
      t.ok(host.gemm_freivalds(C, A, B, o) <= limit, name)
    end
  end
end)

t.test("gemm_error: where and how much", function()
  local A = cl.array("float", {6, 3}, 1)
  local B = cl.array("float", {3, 600}, 2)
  local C = cl.array("float", {6, 600}, 6)
  t.eq({host.gemm_error(C, A, B)}, {0, 1, 1})
  C:set(5, 514, 9)
  t.eq({host.gemm_error(C, A, B)}, {0.5, 5, 514})
  t.eq({host.gemm_error(C, A, B, {rows = {1, 6}})}, {0, 1, 1})
  t.eq({host.gemm_error(C, A, B, {rows = {6, 5}})}, {0.5, 5, 514})
  local err, row = host.gemm_freivalds(C, A, B)
  t.ok(err > 1e-4)
  t.eq(row, 5)
  C:set(2, 2, 0 / 0)
  t.eq({host.gemm_error(C, A, B)}, {math.huge, 2, 2})
  t.eq({host.gemm_freivalds(C, A, B)}, {math.huge, 2})
  C:set(2, 2, math.huge)
  t.eq({host.gemm_error(C, A, B)}, {math.huge, 2, 2})
  -- nothing to scale by: zero must be zero
  A:fill(0)
  C:fill(0)
  t.eq(host.gemm_error(C, A, B), 0)
  C:set(3, 3, 1e-30)
  t.eq({host.gemm_error(C, A, B)}, {math.huge, 3, 3})
end)

t.test("gemm: with alpha 0, A and B are not read", function()
  local A = cl.array("float", {3, 2}, 0 / 0)
  local B = cl.array("float", {2, 4}, math.huge)
  local C0 = cl.array("float", {3, 4}, 3)
  local C = cl.array("float", {3, 4}, 6)
  local blas = host.blas()
  for _, alpha in ipairs{0, 1e-60} do -- the kernel's alpha is 0 for both
    local o = {alpha = alpha, beta = 2, C0 = C0}
    t.eq(host.gemm_error(C, A, B, o), 0)
    t.eq(host.gemm_freivalds(C, A, B, o), 0)
    t.ok(host.gemm_loop(A, B, o):equal(C))
    t.ok(not blas or host.gemm_blas(A, B, o):equal(C))
    t.eq(host.gemm_loop(A, B, {alpha = alpha})[12], 0)
    t.eq(host.gemm_error(C0, A, B, {alpha = 0, beta = 1e-60,
      C0 = cl.array("float", {3, 4}, 0 / 0)}), math.huge)
  end
end)

t.test("gemm: alpha as the kernel has it, C0 unread for beta 0", function()
  local A, B = cl.array("float", {1, 1}, 1), cl.array("float", {1, 1}, 1)
  local C = cl.array("float", {1, 1}, 0.1)
  t.eq(host.gemm_error(C, A, B, {alpha = 0.1}), 0)
  local nan = cl.array("float", {1, 1}, 0 / 0)
  t.eq(host.gemm_error(C, A, B, {alpha = 0.1, beta = 0, C0 = nan}), 0)
  t.eq(host.gemm_loop(A, B, {alpha = 0.1, beta = 0, C0 = nan})[1], C[1])
end)

t.test("gemm: misuse", function()
  local A, B = cl.array("float", {2, 3}), cl.array("float", {4, 5})
  local C = cl.array("float", {2, 5})
  t.raises(function() host.gemm_error(C, A, B) end, "A is 2 x 3",
           "B is 4 x 5", "do not multiply")
  B = cl.array("float", {3, 5})
  t.raises(function() host.gemm_error(A, A, B) end, "C is 2 x 3",
           "product is 2 x 5")
  t.raises(function() host.gemm_error(C, A, B, {beta = 1}) end,
           "C0 is needed")
  t.raises(function() host.gemm_error(C, A, B, {beta = 1, C0 = A}) end,
           "C0 is 2 x 3")
  t.raises(function() host.gemm_error(C, A, B, {beta = 1, C0 = 3}) end,
           "option C0 must be an open Array; got number")
  t.raises(function() host.gemm_error(C, A, B, {alphaa = 1}) end,
           "did you mean 'alpha'?")
  t.raises(function() host.gemm_error(C, A, B, {alpha = "1"}) end,
           "option alpha must be a number; got string")
  t.raises(function() host.gemm_error(C, A, B, {rows = {3}}) end,
           "row 3 of 2")
  t.raises(function() host.gemm_error(C, A, B, {rows = {}}) end,
           "at least one row")
  t.raises(function() host.gemm_error(C, A, B, {rows = 1}) end,
           "option rows must be a table")
  t.raises(function() host.gemm_freivalds(C, A, B, {rounds = 0}) end,
           "rounds")
  t.raises(function() host.gemm_error(C, A, cl.array("int", {3, 5})) end,
           "half, float or double; got int")
  t.raises(function() host.gemm_error(C, A, cl.array("float", 15)) end,
           "must be a matrix", "float[15]")
  t.raises(function() host.gemm_error(C, A) end, "must be an Array")
  t.raises(function() host.gemm_loop(A, cl.array("double", {3, 5})) end,
           "must be of one type", "float and double")
  A:close()
  t.raises(function() host.gemm_error(C, A, B) end, "closed")
end)

t.test("gemm_loop", function()
  for name, e in pairs(eps) do
    for _, s in ipairs(shapes) do
      local m, n, k = table.unpack(s)
      local A, B = rand(name, m, k, t.seed), rand(name, k, n, t.seed + 1)
      local C0 = rand(name, m, n, t.seed + 2)
      local C = timed(host.gemm_loop, A, B)
      t.eq(C.type, name)
      t.eq(C.shape, {m, n})
      t.ok(host.gemm_error(C, A, B) <= 2 * (k + 4) * e, name)
      local o = {alpha = -1.5, beta = 0.5, C0 = C0}
      t.ok(host.gemm_error(host.gemm_loop(A, B, o), A, B, o) <=
           2 * (k + 4) * e)
    end
  end
end)

t.test("gemm_blas", function()
  local blas, reason = host.blas()
  if not blas then
    t.ok(reason:find "OpenBLAS")
    t.skip(reason)
  end
  t.ok(blas.name and blas.path)
  for _, name in ipairs {"float", "double"} do
    for _, s in ipairs(shapes) do
      local m, n, k = table.unpack(s)
      local A, B = rand(name, m, k, t.seed), rand(name, k, n, t.seed + 1)
      local o = {alpha = 2, beta = -1, C0 = rand(name, m, n, 5), threads = 1}
      local C = timed(host.gemm_blas, A, B)
      t.ok(host.gemm_error(C, A, B) <= 2 * (k + 4) * eps[name], name)
      C = host.gemm_blas(A, B, o)
      o.threads = nil
      t.ok(host.gemm_error(C, A, B, o) <= 2 * (k + 4) * eps[name], name)
    end
  end
  t.eq(host.blas().threads, blas.threads)
  local H = rand("half", 2, 2, 1)
  local none, why = host.gemm_blas(H, H)
  t.eq(none, nil)
  t.ok(why:find "half")
  local A = rand("float", 2, 2, 1)
  t.raises(function() host.gemm_blas(A, A, {threads = 0}) end, "threads")
  t.raises(function() host.gemm_blas(A, A, {thread = 1}) end,
           "did you mean 'threads'?")
end)

-- A DIA matrix and its parts in CSR, as tables.
local function sparse(name, rows, cols, offsets, pitch)
  local values = cl.array(name, {#offsets, pitch}):random(t.seed, -1, 1)
  local row_ptr, col_ind, entries = {0}, {}, {}
  for i = 0, rows - 1 do
    for d, off in ipairs(offsets) do
      if i + off >= 0 and i + off < cols then
        col_ind[#col_ind + 1] = i + off
        entries[#entries + 1] = values:at(d, i + 1)
      end
    end
    row_ptr[i + 2] = #col_ind
  end
  return values, cl.array("int", #offsets, offsets),
         cl.array("int", rows + 1, row_ptr),
         cl.array("int", #col_ind, col_ind),
         cl.array(name, #entries, entries)
end

t.test("DIA and CSR", function()
  for _, name in ipairs {"float", "double"} do
    for _, s in ipairs {{1, 1}, {7, 7}, {600, 600}, {10, 300}, {300, 10}} do
      local rows, cols = s[1], s[2]
      local pitch = rows + 5
      local values, offsets, row_ptr, col_ind, entries =
        sparse(name, rows, cols, {-5, -1, 0, 2, 8}, pitch)
      local x = cl.array(name, cols):random(t.seed + 1, -1, 1)
      local o = {rows = rows, cols = cols, pitch = pitch}
      local y = timed(host.dia_loop, values, offsets, x, o)
      t.eq(#y, rows)
      t.ok(host.dia_error(y, values, offsets, x, o) <= 16 * eps[name])
      t.ok(host.dia_error(y, values, offsets, x) <= 16 * eps[name])
      local z = host.csr_loop(row_ptr, col_ind, entries, x)
      t.ok(host.csr_error(z, row_ptr, col_ind, entries, x) <= 16 * eps[name])
      t.ok(host.csr_error(y, row_ptr, col_ind, entries, x) <= 16 * eps[name])
      y[rows] = y[rows] + 3
      local err, row = host.dia_error(y, values, offsets, x, o)
      t.ok(err > 0.1)
      t.eq(row, rows)
      y[1] = 0 / 0
      local longest = 0
      for i = 1, rows do
        longest = math.max(longest, row_ptr[i + 1] - row_ptr[i])
      end
      t.eq({host.csr_error(y, row_ptr, col_ind, entries, x)}, {math.huge, 1,
        longest})
    end
  end
end)

t.test("sparse rows without entries must be zero", function()
  local x = cl.array("float", 3, 1)
  local values = cl.array("float", 3, 1)
  local offsets = cl.array("int", 1, 2) -- row 1 only
  local y = cl.array("float", 3, {1, 0, 0})
  t.eq(host.dia_error(y, values, offsets, x), 0)
  y[2] = 1e-20
  t.eq({host.dia_error(y, values, offsets, x)}, {math.huge, 2})
  local row_ptr = cl.array("int", 4, {0, 1, 1, 1})
  local col_ind = cl.array("int", 1, 2)
  local one = cl.array("float", 1, 1)
  t.eq({host.csr_error(y, row_ptr, col_ind, one, x)}, {math.huge, 2, 1})
  -- diagonals outside the matrix do nothing
  local far = cl.array("long", 1, math.mininteger)
  t.eq(host.dia_loop(values, far, x):table(), {0, 0, 0})
  far[1] = math.maxinteger
  t.eq(host.dia_loop(values, far, x):table(), {0, 0, 0})
end)

t.test("sparse: misuse", function()
  local x, y = cl.array("float", 3, 1), cl.array("float", 3)
  local values, offsets = cl.array("float", 6), cl.array("int", 2)
  local function dia(o)
    return function() host.dia_error(y, values, offsets, x, o) end
  end
  t.raises(dia {rows = 4}, "a pitch of 3 is too small for 4 rows")
  t.raises(dia {pitch = 4}, "values has 6 elements", "pitch 4")
  t.raises(dia {cols = 4}, "x has 3 elements, 4 are needed")
  t.raises(dia {rows = 0}, "rows: must be a whole number >= 1; got 0")
  t.raises(dia {pitch = 1 << 62}, "more")
  t.raises(dia {row = 3}, "did you mean 'rows'?")
  t.raises(function() host.dia_error(y, values, x, x) end, "integer type")
  t.raises(function() host.dia_loop(cl.array("half", 6), offsets, x) end,
           "float or double")
  local row_ptr = cl.array("int", 4, {0, 1, 2, 3})
  local col_ind = cl.array("int", 3, {0, 1, 2})
  local function csr(o)
    return function() host.csr_loop(row_ptr, col_ind, y, x, o) end
  end
  t.raises(csr {rows = 4}, "row_ptr has 4 elements", "4 rows")
  col_ind[2] = 3
  t.raises(csr(), "col_ind[2] is 3: outside 0..2")
  col_ind[2] = -1
  t.raises(csr(), "col_ind[2] is -1")
  col_ind[2] = 1
  row_ptr[4] = 4
  t.raises(csr(), "row_ptr[4] is 4: outside 0..3")
  row_ptr[3], row_ptr[4] = 0, 3
  t.raises(csr(), "row_ptr[3] is 0: it must not fall")
  t.raises(function()
    host.csr_error(x, row_ptr, col_ind, y, x)
  end, "row_ptr[3] is 0: it must not fall")
  row_ptr[1] = -1
  t.raises(csr(), "row_ptr[1] is -1")
  t.raises(function()
    host.csr_loop(cl.array("long", 4), col_ind, y, x)
  end, "must be an Array of int; got long")
end)

t.test("dia_to_csr: a finalizer changes the values", function()
  local offsets = cl.array("int", 1, 0)
  for n = 1, 20 do
    local values = cl.array("float", 64)
    values[1] = 1
    local count = 0
    local function arm()
      setmetatable({}, {__gc = function()
        count = count + 1
        if count == n then
          values:fill(1)
        elseif count < n then
          arm()
        end
      end})
    end
    arm()
    collectgarbage("incremental", 100, 1000, 22)
    collectgarbage("setpause", 0)
    collectgarbage("step", 0) -- from this cycle on the new pause holds
    local ok, row_ptr, col_ind = pcall(host.dia_to_csr, values, offsets,
      {cols = 64})
    collectgarbage("incremental", 200, 100, 13)
    if ok then
      t.eq(#col_ind, row_ptr[65])
    else
      t.ok(tostring(row_ptr):find("the values changed", 1, true), row_ptr)
    end
    if count < n then
      break
    end
  end
end)

t.test("CSR: indexes that a transfer changes", function()
  t.skip_if(#cl.devices() == 0, "no OpenCL device")
  local n = 1 << 18
  local wild <close> = cl.buffer("int", n, 1 << 30)
  local values, x = cl.array("float", n, 1), cl.array("float", n, 1)
  local row_ptr = cl.array("int", n + 1, function(i) return i - 1 end)
  local good = cl.array("int", n, function(i) return i - 1 end)
  for _ = 1, 20 do
    for _, call in ipairs{
        function(c) return host.csr_loop(row_ptr, c, values, x) end,
        function(c) return host.csr_error(x, row_ptr, c, values, x) end} do
      local col_ind = good:copy()
      local _, ev = wild:read(col_ind, {async = true})
      local ok, e = pcall(call, col_ind)
      t.ok(ok or tostring(e):find("outside 0..", 1, true), e)
      ev:wait()
    end
  end
end)

t.test("sort: every type, both ways", function()
  for _, type in ipairs{"char", "uchar", "short", "ushort", "int", "uint",
      "long", "ulong", "half", "float", "double"} do
    local x = cl.array(type, 3000):random(5)
    for _, descending in ipairs{false, true} do
      local y, index = host.sort(x, descending)
      t.eq({y.type, index.type, #y, #index}, {type, "uint", 3000, 3000})
      local lists, seen = {x = x:table(), y = y:table(), at = index:table()},
        {}
      for i, at in ipairs(lists.at) do
        local this, next = lists.y[i], lists.y[i + 1]
        t.ok(not seen[at] and lists.x[at] == this, type)
        seen[at] = true
        if next then
          local before, after = descending and next or this,
            descending and this or next
          t.ok(type == "ulong" and math.ult(before, after) or before == after
            or before < after, type)
          t.ok(this ~= next or at < lists.at[i + 1], "the order of equals")
        end
      end
    end
  end
  t.eq((host.sort(cl.array("ulong", 3, {-1, 0, 1 << 63}))):table(),
    {0, 1 << 63, -1})
  t.eq((host.sort(cl.array("long", 3, {-1, 0, 1 << 63}))):table(),
    {1 << 63, -1, 0})
end)

t.test("sort: zeros, infinities, NaN; what it refuses", function()
  for _, type in ipairs{"half", "float", "double"} do
    local x = cl.array(type, 9, {3, -1, 0 / 0, 0.0, -0.0, 1 / 0, -1 / 0,
      -(0 / 0), 2})
    local _, up = host.sort(x)
    t.eq({table.unpack(up:table(), 1, 7)}, {7, 2, 5, 4, 9, 1, 6})
    local _, down = host.sort(x, true)
    t.eq({table.unpack(down:table(), 1, 7)}, {6, 1, 9, 4, 5, 2, 7})
  end
  t.eq(host.sort(cl.array("int", {2, 2}, {{4, 3}, {2, 1}})).shape, {4})
  t.raises(function() host.sort(cl.array("int2", 4)) end,
    "must have scalar elements; got int2")
  local x = cl.array("int", 4)
  x:close()
  t.raises(function() host.sort(x) end, "closed")
end)

t.test("transpose", function()
  for _, name in ipairs {"uchar", "half", "float", "double", "float3",
                         "float4", "double16"} do
    for _, s in ipairs {{1, 1}, {1, 7}, {33, 65}, {64, 31}} do
      local A = cl.array(name, s):random(t.seed)
      local B = timed(host.transpose_loop, A)
      t.eq(B.shape, {s[2], s[1]})
      t.eq(B:at(s[2], s[1]), A:at(s[1], s[2]))
      t.eq({host.transpose_error(B, A)}, {0})
    end
  end
  local A = cl.array("float", {40, 50}, function(i, j) return 50 * i + j end)
  local B = host.transpose_loop(A)
  t.eq(B:at(50, 1), 100)
  B:set(45, 2, -1)
  B:set(3, 37, -1)
  t.eq({host.transpose_error(B, A)}, {2, 3, 37})
  t.raises(function() host.transpose_error(A, A) end, "transpose of",
           "float[40][50]")
  t.raises(function() host.transpose_error(B, A:convert "int") end,
           "one type")
  t.raises(function() host.transpose_loop(cl.array("int", 4)) end,
           "must be a matrix")
end)

-- An element of the sums over windows by the definition, and its scale.
local function window(A, F, i, j, keep)
  local sum, size, outside = 0.0, 0.0, false
  for u = 1, F.rows do
    for v = 1, F.cols do
      local k = i + u - 1 - (F.rows - 1) // 2
      local l = j + v - 1 - (F.cols - 1) // 2
      if k < 1 or k > A.rows or l < 1 or l > A.cols then
        outside = true
      else
        sum = sum + F:at(u, v) * A:at(k, l)
        size = size + math.abs(F:at(u, v) * A:at(k, l))
      end
    end
  end
  if outside and keep then
    return A:at(i, j), math.abs(A:at(i, j))
  end
  return sum, size
end

t.test("sums over windows", function()
  for _, s in ipairs {{1, 1}, {1, 9}, {9, 1}, {6, 7}} do
    for _, f in ipairs {{1, 1}, {3, 3}, {2, 5}, {4, 1}, {20, 20}} do
      local A = cl.array("float", s):random(t.seed)
      local F = cl.array("double", f):random(t.seed + 1)
      for _, keep in ipairs {false, true} do
        local B = cl.array("double", s, function(i, j)
          return (window(A, F, i, j, keep))
        end)
        local at = ("%dx%d, %dx%d, keep = %s: "):format(s[1], s[2], f[1],
          f[2], keep)
        local opts = {keep = keep}
        t.ok(host.window_error(B, A, F, opts) < 1e-14, at)
        local last = B:at(s[1], s[2])
        B:set(s[1], s[2], last + 1)
        local _, size = window(A, F, s[1], s[2], keep)
        local err, row, col = host.window_error(B, A, F, opts)
        t.near(err, 1 / size, 1e-6 / size, at)
        t.eq({row, col}, {s[1], s[2]}, at)
        t.eq(select(2, host.window_error(B, A, F, {keep = keep, step = 4})),
          s[1], at)
      end
    end
  end
end)

t.test("sums over windows: wrong arguments, zero weights", function()
  local A, F = cl.array("float", {2, 2}, 1), cl.array("float", {1, 3})
  F:set(1, 2, 1)
  A:set(2, 1, 5)
  t.eq((host.window_error(A, A, F)), 0.0)
  t.eq((host.window_error(cl.array("float", {2, 2}, 0 / 0), A, F)), 1 / 0)
  t.raises(function() host.window_error(cl.array("float", {2, 3}), A, F) end,
           "B must have the shape of float[2][2]; got float[2][3]")
  t.raises(function() host.window_error(A, A, cl.array("int", {1, 1})) end,
           "half, float or double")
  t.raises(function() host.window_error(A, A, F, {step = 0}) end, "step")
  t.raises(function() host.window_error(A, A, F, {steps = 1}) end,
           "unknown option 'steps'")
  A:close()
  t.raises(function() host.window_error(A, A, F) end, "closed")
end)

t.test("sums up to each element: the worst error of each octave", function()
  local x = cl.array("float", 5000):random(3)
  for i = 1, 5000, 3 do
    x[i] = -x[i]
  end
  for _, exclusive in ipairs{false, true} do
    local y, sum, size = cl.array("float", 5000), 0.0, {}
    for i = 1, 5000 do
      y[i] = exclusive and sum or sum + x[i]
      sum, size[i] = sum + x[i], (size[i - 1] or 0) + math.abs(x[i])
    end
    local errors = host.scan_errors(y, x, exclusive)
    t.eq(#errors, 13)
    for k = 1, 13 do
      t.ok(errors[k] < 2^-23, k)
    end
    for _, i in ipairs{1, 2, 3, 64, 4095, 4096, 4097, 5000} do
      local right, k = y[i], math.floor(math.log(i, 2)) + 1
      y[i] = right + 1
      local wrong, places = host.scan_errors(y, x, exclusive)
      t.near(wrong[k], 1 / size[i], 1e-3 / size[i])
      t.eq(places[k], i)
      y[i] = 0 / 0
      t.eq(host.scan_errors(y, x, exclusive)[k], 1 / 0)
      y[i] = right
    end
  end
  -- digits that double does not have, infinity, NaN, int
  local big = cl.array("double", 3, {1e20, 1, -1e20})
  t.eq(host.scan_errors(cl.array("double", 3, {1e20, 1e20, 1}), big),
    {0.0, 0.0})
  local odd = cl.array("float", 4, {1, 1 / 0, 2, -1 / 0})
  t.eq(host.scan_errors(cl.array("float", 4, {1, 1 / 0, 1 / 0, 0 / 0}), odd),
    {0.0, 0.0, 0.0})
  t.eq(host.scan_errors(cl.array("float", 4, {1, 1 / 0, 5, 0}), odd)[3], 1 / 0)
  local most = cl.array("int", 3, {2^31 - 1 | 0, 1, 5})
  local y = cl.array("int", 3, {2^31 - 1 | 0, -2^31 | 0, -2^31 + 5 | 0})
  t.eq(host.scan_errors(y, most), {0.0, 0.0})
  y[3] = y[3] + 1
  local errors, places = host.scan_errors(y, most)
  t.eq({errors[2], places[2]}, {1.0, 3})
  t.eq(host.scan_errors(cl.array("int", 0), cl.array("int", 0)), {})
  t.raises(function() host.scan_errors(x, most) end, "one type")
  t.raises(function() host.scan_errors(most, cl.array("int", 2)) end,
    "as many elements; got 2 and 3")
  local whole = cl.array("long", 2)
  t.raises(function() host.scan_errors(whole, whole) end, "half, float")
  most:close()
  t.raises(function() host.scan_errors(y, most) end, "closed")
end)

t.test("copy_box: between Arrays and files, by threads", function()
  local a = cl.array("int", {700, 900}):random(t.seed)
  local path = t.tmp "box"
  local f <close> = io.open(path, "w+b")
  f:write "head"
  for _, threads in ipairs{1, 3, 100} do
    local b, c = cl.array("int", {650, 850}), cl.array("int", {650, 850})
    local box = {rows = 640, cols = 830, to_first = 855, to_ld = 850,
      from_first = 1810, from_ld = 900, threads = threads}
    host.copy_box(b, a, box)
    host.copy_box(f, a, {rows = 640, cols = 830, to_skip = 4,
      from_first = 1810, from_ld = 900, threads = threads})
    host.copy_box(c, f, {rows = 640, cols = 830, to_first = 855, to_ld = 850,
      from_skip = 4, threads = threads})
    t.ok(b:equal(c))
    t.eq(b:at(2, 5), a:at(3, 10))
    t.eq(b:at(641, 834), a:at(642, 839))
    t.eq(b:at(641, 835), 0)
    t.eq(b:at(1, 850), 0)
  end
  f:close()
  local g <close> = io.open(path, "rb")
  t.eq(g:read(4), "head")
  t.eq(g:seek "end", 4 + 4 * 640 * 830)
  local one, other = cl.array("int", 9), cl.array("float", 9)
  local function refused(message, ...)
    local args = table.pack(...)
    t.raises(function() host.copy_box(table.unpack(args, 1, 3)) end, message)
  end
  local unit = {rows = 1, cols = 1}
  refused("file ends", one, g, {rows = 1, cols = 9, from_first = 640 * 830})
  refused("Bad file", g, one, unit)
  refused("rows and cols", one, one, {})
  refused("leave the elements 1..9", one, one, {rows = 2, cols = 5})
  refused("leave the elements", one, one, {rows = 2, cols = 1,
    to_ld = math.maxinteger})
  refused("must be >= the 3", one, one, {rows = 1, cols = 3, to_ld = 2})
  refused("Array of int", one, other, unit)
  refused("must be an Array", g, g, unit)
  refused("Array or a file", {}, one, unit)
  refused("for a file", one, one, {rows = 1, cols = 1, to_skip = 4})
  refused("closed", one, f, unit)
end)

t.done()

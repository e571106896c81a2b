-- sizes.lua - check of rungs at sizes that fit no tile: rungs with one defect
-- each, the ladders, which have none, and wrong calls
-- SPDX-License-Identifier: MIT
local t = require "t"
local check = require "clshell.explain.check"
local cl = require "cl"
local family = require "clshell.family"
local gemm = require "clshell.gemm"
local matrix = require "clshell.data.matrix"
local oclgrind = require "clshell.explain.oclgrind"
local spmv = require "clshell.spmv"
local transpose = require "clshell.transpose"

t.device()
t.keeps("Context", "Queue", "Program", "Kernel")

local function simulator()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
end

local HEAD = [[
#define OUT(sum, c) (alpha * sum + (beta == 0 ? 0 : beta * c))
kernel void mine(int m, int n, int k, REAL alpha, global const REAL *A,
                 int lda, global const REAL *B, int ldb, REAL beta,
                 global REAL *C, int ldc) {
  int j = get_global_id(0), i = get_global_id(1);
]]

-- Defines gemm.mine with a body; its work-groups have `wg` x `wg` work-items.
local function define(body, wg)
  local function up(n)
    return (n + wg - 1) // wg * wg
  end
  gemm.define{name = "mine", source = HEAD .. body .. "}", lesson = "mine",
    range = function(s) return {up(s.n), up(s.m)}, {wg, wg} end}
end

-- The titles of the sizes with each status, and the findings with theirs.
local function brief(r)
  local parts = {}
  for _, status in ipairs{"right", "wrong", "refused", "crashed", "late"} do
    local titles = {}
    for _, size in ipairs(r.sizes) do
      titles[#titles + 1] = size.status == status and size.title or nil
    end
    parts[#parts + 1] = titles[1] and ("%s: %s"):format(status,
      table.concat(titles, "; "))
  end
  for _, f in ipairs(r.findings) do
    parts[#parts + 1] = ("%s %s: %s"):format(f.kind, f.line, table.concat(f.at,
      "; "))
  end
  return table.concat(parts, "\n")
end

local SHAPES = {shapes = {16, 17, {7, 33, 20}}}
local PROMISED = "; 16x16x16, alpha -0.5, beta 1, lda 23, ldb 27, ldc 19; "
  .. "16x16x16, alpha 3, beta -0.5, lda 23, ldb 27, ldc 19"

t.test("a rung without defect is right at all sizes", function()
  simulator()
  define([[
  REAL sum = 0;
  for (int l = 0; l < k && i < m && j < n; l++)
    sum += A[i * lda + l] * B[l * ldb + j];
  if (i < m && j < n)
    C[i * ldc + j] = OUT(sum, C[i * ldc + j]);
]], 4)
  local r = check(gemm, "mine", {shapes = {1, 7, {5, 9, 3}}})
  local first = "1x1x1; 7x7x7; 5x9x3; 1x1x1, alpha -0.5, beta 1, lda 8, ldb "
  t.eq(brief(r), "right: " .. first .. "12, ldc 4; 1x1x1, alpha 3, beta -0.5, "
    .. "lda 8, ldb 12, ldc 4")
  t.eq({r.ok, #r.broken}, {true, 0})
  t.eq(tostring(r), "check: no finding in gemm.mine over 5 sizes\n"
    .. "  right at " .. first .. "12, ldc 4;\n    1x1x1, alpha 3, beta -0.5, "
    .. "lda 8, ldb 12, ldc 4")
  r = check "gemm"
  t.eq({#r, r.ok, r[1].ok, #r[1].sizes}, {1, true, true, 11},
    "all rungs of one's own, over the sizes of the family")
end)

t.test("a rung that is wrong between multiples of its tile", function()
  simulator()
  define([[
  REAL sum = 0;
  for (int l = 0; l < k / 4 * 4 && i < m && j < n; l++)
    sum += A[i * lda + l] * B[l * ldb + j];
  if (i < m && j < n)
    C[i * ldc + j] = OUT(sum, C[i * ldc + j]);
]], 4)
  local r = check("gemm.mine", SHAPES)
  t.eq(brief(r), "right: 16x16x16; 7x33x20" .. PROMISED .. "\n"
    .. "wrong: 17x17x17")
  t.eq({r.ok, #r.findings, #r.broken}, {false, 0, 0})
  t.raises_match(function() error(tostring(r), 0) end,
    "no finding in gemm.mine over 5 sizes, and wrong results\n  right at 16",
    "wrong at 17x17x17; the first %(row %d+, column %d+: err=%d%.%de%-%d+, "
    .. "bound")
end)

t.test("a rung that takes the columns for the row length", function()
  simulator()
  define([[
  REAL sum = 0;
  for (int l = 0; l < k && i < m && j < n; l++)
    sum += A[i * k + l] * B[l * n + j];
  if (i < m && j < n)
    C[i * ldc + j] = OUT(sum, C[i * ldc + j]);
]], 4)
  local r = check(gemm, "mine", SHAPES)
  t.eq(brief(r), "right: 16x16x16; 17x17x17; 7x33x20\nwrong: "
    .. PROMISED:sub(3))
  t.eq({#r.broken, r.broken[1].name, r.broken[2].name}, {2, "lda", "ldb"})
end)

t.test("a local array and Buffers are left at some sizes only", function()
  simulator()
  define([[
  local REAL row[4][16];
  for (int l = get_local_id(0); l < k; l += 4)
    row[get_local_id(1)][l] = i < m ? A[i * lda + l] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  REAL sum = 0;
  for (int l = 0; l < k && j < n; l++)
    sum += row[get_local_id(1)][l] * B[l * ldb + j];
  C[i * ldc + j] = alpha * sum;
]], 4)
  local r = check(gemm, "mine", {shapes = {16, 5, 17}})
  local places = {}
  for _, f in ipairs(r.findings) do
    places[#places + 1] = ("%s %d %s"):format(f.kind, f.line, table.concat(
      f.at, ";"))
  end
  local all = table.concat(places, "\n")
  t.ok(all:find("index %d+ 17x17x17"), all)
  t.ok(all:find("outside 13 5x5x5;17x17x17", 1, true), all)
  t.eq(r.ok, false)
  t.ok(tostring(r):find("\n  at 5x5x5; 17x17x17\n", 1, true), tostring(r))
end)

t.test("without the simulator: guard bands, and the results", function()
  define([[
  REAL sum = 0;
  for (int l = 0; l < k && i < m && j < n; l++)
    sum += A[i * lda + l] * B[l * ldb + j];
  C[min(i, m - 1) * ldc + j] = alpha * sum;
]], 4)
  local r = check(gemm, "mine", {shapes = {8, {9, 5, 4}}, guard = true})
  t.eq(r.findings[1].text, "write outside 'C': C[45] to C[47]; it has 45 "
    .. "elements")
  t.eq({#r.findings, r.findings[1].at}, {1, {"9x5x4"}})
  t.ok(tostring(r):gsub("%s+", " "):find("only writes next to Buffers are "
    .. "seen", 1, true))
end)

t.test("the operands stay as they are; parameters and types", function()
  simulator()
  define("C[i * ldc + j] = i + j;\n", 4)
  local A, C <close> = matrix.ones(5, 5), matrix.ones(5, 5)
  local r = check(gemm, "mine", {operands = {A = A, B = A, C = C}})
  t.eq(r.sizes[1].status, "wrong")
  t.eq({A:read()[25], C:read()[25]}, {1.0, 1.0})
  r = check("gemm.tiled", {shapes = {5}, params = {tile = 4}, type = "double"})
  t.ok(r.ok, tostring(r))
  r = check("gemm.naive", {shapes = {5}, type = "char", guard = true})
  t.ok(tostring(r):find("5x5x5 to int, alpha 3, beta -1, lda", 1, true))
  t.ok(r.ok, tostring(r))
end)

t.test("a family of one's own, by shapes and on operands", function()
  simulator()
  local doubled <const> = family.new{
    name = "doubled", arguments = {{"x", "n"}}, output = {"y", "n"},
    reference = function(h)
      return cl.array("double", #h.x, function(i) return 2 * h.x[i] end)
    end,
    rungs = {{name = "by_twos", range = function(s) return s.n // 2 end,
      source = [[kernel void f(int n, global const REAL *x, global REAL *y) {
        int i = get_global_id(0);
        vstore2(2 * vload2(i, x), i, y);
      }]]}},
  }
  local r = check(doubled, {shapes = {6, 7}})
  t.eq({#r, r.ok, brief(r[1])}, {1, false, "right: 6\nwrong: 7"})
  local list = {}
  for i, n in ipairs{4, 5} do
    list[i] = {x = cl.buffer("float", n, 3)}
  end
  r = check("doubled.by_twos", {operands = list})
  t.eq(brief(r), "right: 4\nwrong: 5")
end)

-- Defines gemm.mine, which has a single defect, and checks it: the names of
-- the promises that are broken, and the report.
local function defect(at, result, more)
  define(([[
    REAL sum = 0;
    for (int l = 0; l < k && i < m && j < n; l++)
      sum += A[i * lda + l] * B[l * ldb + j];
    if (i < m && j < n) {
      global REAL *c = C + (AT);
      *c = RESULT;
      MORE
    }
]]):gsub("AT", at):gsub("RESULT", result):gsub("MORE", more or ""), 4)
  local r = check("gemm.mine", {shapes = {{5, 6, 7}}})
  local names = {}
  for i, one in ipairs(r.broken) do
    names[i] = one.name or "several"
  end
  t.eq(r.ok, false)
  return table.concat(names, " "), (tostring(r):gsub("%s+", " "))
end

t.test("a rung that breaks a promise of a BLAS is told which", function()
  simulator()
  local AT <const>, RIGHT <const> = "i * ldc + j", "OUT(sum, *c)"
  for _, one in ipairs{
    {"beta", AT, "alpha * sum", nil, "broken: option beta: factor of C as it "
      .. "was, which is added: wrong at 5x6x7, beta 1 (row "},
    {"beta", AT, "alpha * sum + (beta == 0 ? 0 : *c)", nil,
      "wrong at 5x6x7, beta -0.5"},
    {"alpha", AT, "alpha * alpha * sum + (beta == 0 ? 0 : beta * *c)", nil,
      "option alpha: factor of the product: wrong at 5x6x7, alpha -0.5"},
    {"alpha", AT, "sum + (beta == 0 ? 0 : beta * *c)", nil, "alpha -0.5"},
    {"ldc", "i * n + j", RIGHT, nil, "broken: ldc: row i + 1 of C begins ldc "
      .. "elements behind row i: wrong at 5x6x7, ldc 9 (row"},
    {"ldc", AT, RIGHT, "if (ldc > n && j == n - 1 && i < m - 1) c[1] = 0;",
      "ldc 9 (elements around C were changed)"},
    {"several", AT, "alpha * OUT(sum, *c) / (alpha == 1 ? 1 : alpha == 0 ? 1 "
      .. ": beta == 0 ? alpha : 1)", nil, "several promises at once"},
    {"", AT, "alpha * sum + beta * *c", nil,
      "C as it was changes the result, though beta is 0"},
    {"", "min(i, m - 2) * ldc + j", RIGHT, nil,
      "6 of the 30 elements of C were never written"},
    {"", AT, RIGHT, "((global REAL *)A)[0] = 1;", "a pointer to const: A[0]"},
  } do
    local names, said = defect(one[2], one[3], one[4])
    t.eq(names, one[1], said)
    t.ok(said:find(one[5], 1, true), said)
  end
end)

t.test("transposes, and matrices inside of larger ones, where a rung takes "
  .. "them", function()
    simulator()
    local function with(places, at, start)
      gemm.define{name = "mine", trans = {a = "any"}, places = places,
        range = function(s) return {s.n, s.m} end,
        args = function(s, _, o)
          return {s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B, o.B.ld, s.beta,
            o.C, o.C.ld, s.trans_a and 1 or 0}
        end,
        source = [[
kernel void mine(int m, int n, int k, REAL alpha, global const REAL *A,
                 int lda, global const REAL *B, int ldb, REAL beta,
                 global REAL *C, int ldc, int turned
#ifdef PLACED
                 , long2 a, long2 b, long2 c) {
  A += a.x, B += b.x, C += START;
#else
                 ) {
#endif
  int j = get_global_id(0), i = get_global_id(1);
  REAL sum = 0;
  for (int l = 0; l < k; l++)
    sum += A[]] .. at .. [[] * B[l * ldb + j];
  C[i * ldc + j] = alpha * sum
    + (beta == 0 ? 0 : beta * C[i * ldc + j]);
}]], defines = function() return {START = start} end}
      return check("gemm.mine", {shapes = {{5, 6, 7}}})
    end
    local at = "turned ? l * lda + i : i * lda + l"
    local r = with("one", at, "c.x")
    t.ok(r.ok, tostring(r))
    t.raises_match(function() error(tostring(r):gsub("%s+", " "), 0) end,
      "5x6x7 A%^T, alpha [^;]+; 5x6x7, alpha [^;]+, inside of larger")
    r = with("one", at, 0)
    t.eq({r.ok, r.broken[1].name}, {false, "inner"}, tostring(r))
    r = with(nil, "turned ? l * k + i : i * lda + l")
    t.eq({r.ok, r.broken[1].name}, {false, "trans_a"})
  end)

t.test("plain rungs promise the product alone", function()
  simulator()
  local function plain(head, last, args)
    gemm.define{name = "mine", plain = true, args = args,
      range = function(s) return {s.n, s.m} end, source = head .. [[ {
      int j = get_global_id(0), i = get_global_id(1);
      float sum = 0;
      for (int l = 0; l < n]] .. (last or "") .. [[; l++)
        sum += A[i * n + l] * B[l * n + j];
      C[i * n + j] = sum;
    }]]}
    return check("gemm.mine", {shapes = {3, {4, 5, 6}, 6}})
  end
  local square = "kernel void mm(global float *A, global float *B, global "
    .. "float *C, int n)"
  local r = plain(square)
  t.eq(brief(r), "right: 3x3x3; 6x6x6\nrefused: 4x5x6")
  t.eq(r.sizes[2].reason, "takes one size, n: m, n, k must be equal")
  t.ok(not plain(square, " - 1").ok)
  t.ok(plain("kernel void mm(int n, global float *A, global float *B, global "
    .. "float *C)", nil, function(s, _, o) return {s.n, o.A, o.B, o.C} end)
    .sizes[1].status == "right")
  r = plain("kernel void mm(int rows, int n, global float *A, global float *B,"
    .. " global float *C)")
  t.eq(r.sizes[1].reason, "its parameter rows is no operand and no size; give "
    .. "the rung `args`")
  plain(square)
  local A, C = matrix.ones(4, 4), matrix.ones(4, 4)
  t.eq(gemm(A, A, {kernel = "mine"}):read()[1], 4.0)
  t.raises(function() gemm(A, A, {kernel = "mine", alpha = 2}) end,
    "mine refused: is plain: alpha must be 1; got 2.0")
  t.raises(function() gemm(A, A, {kernel = "mine", beta = 1, C = C}) end,
    "beta must be 0; got 1.0")
  t.raises(function()
    gemm(matrix.ones(4, 5):sub(1, 1, 4, 4), A, {kernel = "mine"})
  end, "lda, the distance of rows of A, must be 4; got 5")
end)

t.test("promises of other families", function()
  simulator()
  local function broken(ladder, def, shape)
    def.name, def.range = "mine", function(s) return {s.cols, s.rows} end
    ladder.define(def)
    local r = check(ladder, "mine", {shapes = {shape}})
    return r.broken[1] and r.broken[1].name or r.ok and "none" or "all"
  end
  local function turn(at)
    return {source = [[kernel void f(int rows, int cols, global const REAL *A,
      int lda, global REAL *B, int ldb) {
        int i = get_global_id(1), j = get_global_id(0);
        B[]] .. at .. [[] = A[i * lda + j]; }]]}
  end
  t.eq(broken(transpose, turn "j * ldb + i", {5, 7}), "none")
  t.eq(broken(transpose, turn "j * rows + i", {5, 7}), "ldb")
  local function product(last)
    return {source = [[kernel void f(int rows, int cols, global const REAL *A,
      int lda, global const REAL *x, global REAL *y, REAL alpha, REAL beta) {
        int i = get_global_id(1);
        if (get_global_id(0) > 0) return;
        REAL sum = 0;
        for (int j = 0; j < cols; j++) sum += A[i * lda + j] * x[j];
        y[i] = ]] .. last .. [[; }]]}
  end
  t.eq(broken(gemv, product "alpha * sum + (beta == 0 ? 0 : beta * y[i])",
    {5, 7}), "none")
  t.eq(broken(gemv, product "alpha * sum", {5, 7}), "beta")
  local function weighted(w)
    return {source = [[kernel void f(int rows, int cols, global const REAL *A,
      int lda, global REAL *B, int ldb, REAL centre, REAL left, REAL right,
      REAL up, REAL down) {
        int i = get_global_id(1), j = get_global_id(0), p = i * lda + j;
        bool inside = i > 0 && j > 0 && i < rows - 1 && j < cols - 1;
        B[i * ldb + j] = !inside ? A[p] : centre * A[p] + left * A[p - 1]
          + right * A[p + 1] + up * A[p - lda] + ]] .. w .. [[ * A[p + lda];
      }]]}
  end
  t.eq(broken(stencil, weighted "down", {4, 5}), "none")
  t.eq(broken(stencil, weighted "up", {4, 5}), "up")
end)

t.test("the rungs of the ladders have no defect", function()
  simulator()
  local refused = {}
  -- more: {rung = options of its own}
  local function clean(ladder, opts, more)
    opts.limit = 1200 -- seconds of a rung, on a busy machine
    for _, entry in ipairs(ladder.kernels()) do
      if entry.rung.builtin then
        local own = more and more[entry.name] or {}
        own.shapes, own.limit = opts.shapes, opts.limit
        local r = check(ladder, entry.name, own)
        if tostring(r):find " refused at %d+ size" then
          refused[#refused + 1] = ladder.name .. "." .. entry.name
          t.ok(#r.sizes[1].reason > 10, entry.name)
        else
          t.ok(r.ok, tostring(r))
        end
      end
    end
  end
  clean(gemm, {shapes = {{5, 17, 6}}},
    {register = {params = {bm = 16, bn = 32, bk = 8}},
      ozaki = {type = "double"}, dot = {type = "char"}})
  for name, shape in pairs{gemv_rows = {9, 1, 40}, gemv_strips = {1, 9, 40}} do
    local r = check(gemm, name, {shapes = {shape}, limit = 1200})
    t.ok(r.ok and tostring(r):find "right at", tostring(r))
  end
  clean(transpose, {shapes = {{17, 33}}})
  clean(spmv, {shapes = {{rows = 40, offsets = {-39, -1, 0, 1, 7}}}})
  clean(reduce, {shapes = {300}})
  clean(scan, {shapes = {300}})
  -- fewer bits in a key are fewer passes, each of the same work
  clean(sort, {shapes = {60}}, {split = {type = "char", params = {wg = 32}},
    radix = {type = "short", params = {wg = 64}}, wide = {params = {wg = 64}}})
  clean(gemv, {shapes = {{9, 40}, {40, 9, trans = true}}})
  clean(stencil, {shapes = {{9, 70}}})
  clean(conv2d, {shapes = {{9, 20, 3, 4}}})
  -- none is refused for the simulator's sake
  for _, name in ipairs(refused) do
    t.ok(name:find "%.nv_" or name:find "^gemm%.gemv_",
      table.concat(refused, " "))
  end
end)

t.test("what the simulator or the device cannot run, and no time", function()
  simulator()
  define("C[i * ldc + j] = __builtin_bitreverse32(k);\n", 1)
  local ok, r = pcall(check, gemm, "mine", {shapes = {3}})
  if not ok then -- the device's compiler has no such function
    t.raises(function() error(r, 0) end, "build error")
  else
    t.eq({r.ok, (tostring(r):gsub("%s+", " "))}, {false, "check: gemm.mine "
      .. "refused at 3 sizes: the simulator has no function "
      .. "llvm.bitreverse.i32, which the compiler made for mine"})
  end
  define("while (k) C[0] = 1;\n", 1)
  r = check(gemm, "mine", {shapes = {1, 2}, limit = 0.5})
  t.eq(brief(r), "late: 1x1x1; 2x2x2; 1x1x1, alpha -0.5, beta 1, lda 8, "
    .. "ldb 12, ldc 4; 1x1x1, alpha 3, beta -0.5, lda 8, ldb 12, ldc 4")
  t.ok(tostring(r):find("not tried within 0.5 s: 1x1x1; 2x2x2", 1, true))
end)

t.test("wrong calls", function()
  t.raises(function() check "gem.mine" end, "'gem.mine' is no rung")
  t.raises(function() check(gemm, "tilled") end, "no kernel 'tilled'",
    "did you mean 'tiled'?")
  t.raises(function() check(spmv) end, "spmv has no rung of your own",
    'check(spmv, "naive")')
  t.raises(function() check(gemm, "tiled", 3) end, "options must be a table")
  t.raises(function() check(gemm, "tiled", {}, 3) end, "takes a family")
  t.raises(function() check(gemm, "tiled", {size = 3}) end,
    "unknown option 'size'", "shapes")
  t.raises(function() check(gemm, "tiled", {shapes = 3}) end,
    "shapes must be a table; got 3")
  t.raises(function() check(gemm, "tiled", {shapes = {}}) end,
    "shapes must have an element; got none")
  t.raises(function() check(gemm, "tiled", {limit = "1"}) end,
    "limit must be a number > 0; got \"1\"")
  for _, limit in ipairs{0, -1, 0 / 0} do
    t.raises(function() check(gemm, "tiled", {limit = limit}) end,
      "limit must be a number > 0; got ")
  end
  t.raises(function() check(gemm, "tiled", {params = {tyle = 3}}) end, "tyle")
end)

t.done()

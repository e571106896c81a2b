-- lib/kinds.lua - for bench_gemm.lua: kinds of operands on which double
-- products are tried, and their errors against products in double-double
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- The product in double-double, each product of elements split by fma, and the
-- error of C as a fraction of |A||B|, but for the rounding to a subnormal
-- number. `up`: a power of two for A and C, so that nothing is subnormal.
-- There is no error where the truth or |A||B| are not finite.
local SOURCE = [[
kernel void errors(int m, int n, int k, double up, global const double *A,
                   global const double *B, global const double *C,
                   global double *E) {
  int j = get_global_id(0), i = get_global_id(1);
  double high = 0, low = 0, size = 0;
  for (int l = 0; l < k; l++) {
    double a = A[(size_t)i * k + l] * up, b = B[(size_t)l * n + j];
    double p = a * b, rest = fma(a, b, -p), sum = high + p, z = sum - high;
    low += (high - (sum - z)) + (p - z) + rest;
    high = sum;
    size += fabs(p);
  }
  double off = fabs((C[(size_t)i * n + j] * up - high) - low);
  double least = up > 1 ? up * 0x1p-1074 : 0;
  E[(size_t)i * n + j] = !isfinite(high + low) || isinf(size) || off <= least
    ? 0 : (off - least) / size;
}]]

local built = setmetatable({}, {__mode = "k"}) -- context -> kernel

--- kinds.error(A, B, C) -> number
--- The largest error of C = A B, Buffers of double without gaps, as a fraction
--- of |A||B|; NaN or Inf where C is not finite and the truth is.
function M.error(A, B, C)
  local m, k, n = A.rows, A.cols, B.cols
  local a <close> = A:read()
  local b <close> = B:read()
  local function most(h)
    local seen = h:summary()
    return math.max(math.abs(seen.min or 0), math.abs(seen.max or 0))
  end
  local up = most(a) * most(b) < 2^-800 and 2.0^600 or 1.0
  local E <close> = cl.buffer("double", {m, n})
  local context = E.context
  built[context] = built[context] or cl.kernel(SOURCE)
  built[context]:range{n, m}(m, n, k, up, A, B, C, E)
  local h <close> = E:read()
  local worst = 0.0
  for i = 1, #h do
    worst = (h[i] > worst or h[i] ~= h[i]) and h[i] or worst
    if worst ~= worst then
      break
    end
  end
  return worst
end

-- Kinds in order: {name, f}, f(random, normal, m, n, k) -> a(i, l), b(l, j),
-- the elements from 0. `random` is uniform in 0 .. 1.
local LIST = {}

local function kind(name, f)
  LIST[#LIST + 1] = {name = name, f = f}
end

local function both(f)
  return function(...)
    local g = f(...)
    return g, g
  end
end

-- The elements of another kind times a power of two.
local function scaled(of, by_a, by_b)
  return function(random, normal)
    local draw = of == "normal" and normal or random
    return function(i, l) return draw() * 2.0^by_a(random, i, l) end,
      function(l, j) return draw() * 2.0^by_b(random, l, j) end
  end
end

local function zero()
  return 0
end

local function span(bits)
  return function(random) return math.floor((2 * random() - 1) * bits) end
end

kind("uniform01", both(function(random) return random end))
kind("normal", both(function(_, normal) return normal end))
for _, bits in ipairs{10, 14, 30, 60} do
  kind("wide2^" .. bits, scaled("normal", span(bits), span(bits)))
end
kind("rowscale2^60", scaled("normal", function(_, i) return 17 * i % 121 - 60
  end, function(_, _, j) return 29 * j % 121 - 60 end))
for _, bits in ipairs{4, 30} do -- both ways along k
  local function power(l) return 7 * l % (2 * bits + 1) - bits end
  kind("kscale2^" .. bits, scaled("normal",
    function(_, _, l) return power(l) end,
    function(_, l) return -power(l) end))
end
kind("cancel", function(_, normal) -- the second half takes the first away
  local held = {}
  return function(i, l, _, k)
    local half = k // 2
    local key = i * k + l % half
    held[key] = held[key] or normal()
    return l < 2 * half and (l < half and held[key] or -held[key]) or 0
  end, function(l, j, n, k)
    local key = -1 - (l % (k // 2) * n + j)
    held[key] = held[key] or normal()
    return held[key] * (1 + (l < k // 2 and 0 or 2^-40 * (j % 3)))
  end
end)
local function huge(value, in_b)
  return function(_, normal)
    return function(i, l) return i == 3 and l == 5 and value or normal() end,
      function(l, j) return in_b and l == 5 and j == 4 and value or normal()
      end
  end
end
kind("onehugeA", huge(2.0^60))
kind("hugeboth", huge(2.0^60, true))
kind("subnormalA", scaled("normal", function() return -1060 end, zero))
kind("subresult", scaled("normal", function() return -530 end,
  function() return -535 end))
kind("inf", huge(math.huge))
kind("nan", huge(0 / 0))
kind("infnan", huge(-math.huge, true))
kind("nearmax", scaled("uniform", function() return 505 end,
  function() return 505 end))
kind("overmax", scaled("normal", function() return 512 end,
  function() return 512 end))
kind("ints64", both(function(random) return function()
  return math.floor(129 * random()) - 64 end end))
kind("ints2^20", both(function(random) return function()
  return math.floor(2^21 * random()) - 2^20 end end))
kind("odd", both(function(random) return function()
  return 1 + 2^-26 * math.floor(2^26 * random()) end end))
kind("sparsehuge", both(function(random, normal) return function()
  return random() < 0.01 and normal() * 2.0^40 or normal() end end))
for _, bits in ipairs{6, 12, 22, 40} do -- large in A where B is 0
  kind("masked2^" .. bits, function(_, normal)
    return function(_, l) return normal() * (l % 8 == 0 and 2.0^bits or 1)
      end, function(l) return l % 8 == 0 and 0 or normal() end
  end)
end
kind("zeros", both(function(random, normal) return function()
  return random() < 0.5 and 0 or normal() end end))
kind("blocks", function(_, normal) -- no k in common: C is 0 in half
  return function(i, l) return (i + l) % 2 == 0 and normal() or 0 end,
    function(l, j) return (l + j) % 2 == 0 and normal() or 0 end
end)
kind("hilbert", both(function() return function(i, l)
  return 1 / (i + l + 1) end end))
kind("constant", both(function() return function() return 1 / 3 end end))
kind("alternate", function()
  return function() return 1 / 3 end, function(l) return l % 2 == 0 and 1
    or -1 end
end)
kind("ties", both(function(random) return function()
  return 1 + 2^-52 * math.floor(4 * random()) end end))
kind("tiny", scaled("normal", function() return -500 end, zero))
kind("big", scaled("normal", function() return 500 end, zero))

--- kinds.list(m, n, k, seed) -> iterator of name, A, B
--- Operands of each kind: Buffers of double.
function M.list(m, n, k, seed)
  local at = 0
  return function()
    at = at + 1
    local one = LIST[at]
    if not one then
      return nil
    end
    local state = seed * 1000 + at
    local function random() -- Knuth's linear congruence, its upper bits
      state = state * 6364136223846793005 + 1442695040888963407
      return (state >> 11) * 2.0^-53
    end
    local function normal() -- by Box and Muller
      return math.sqrt(-2 * math.log(1 - random()))
        * math.cos(2 * math.pi * random())
    end
    local a, b = one.f(random, normal)
    local function buffer(rows, cols, f)
      local h <close> = cl.array("double", {rows, cols}, function(i, j)
        return f(i - 1, j - 1, n, k)
      end)
      return cl.buffer("double", {rows, cols}, h)
    end
    return one.name, buffer(m, k, a), buffer(k, n, b)
  end
end

return M

-- random.lua - random numbers of the device: known answers of the generators,
-- the numbers that follow from their words, and their statistics
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.keeps("Program", "Kernel", "Launch")
local double = t.device():has "cl_khr_fp64"

local WHOLE = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong"}
local REALS = {"half", "float", double and "double" or nil}

local list = t.list

-- Known answers of Random123: counter, key, result.
local KNOWN = {
  philox = [[
00000000 00000000 00000000 00000000 00000000 00000000
6627e8d5 e169c58d bc57ac4c 9b00dbd8
ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff
408f276d 41c83b0e a20bc7c6 6d5451fd
243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0
d16cfe09 94fdcceb 5001e420 24126ea1]],
  threefry = [[
00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
9c6ca96a e17eae66 fc10ecd4 5256a7d8
ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff
2a881696 57012287 f6c7446e a16a6732
243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 082efa98 ec4e6c89
59cd1dbb b8879579 86b5d00c ac8b6d84]],
}

local function words_of(line)
  local words = {}
  for word in line:gmatch "%x+" do
    words[#words + 1] = tonumber(word, 16)
  end
  return words
end

for name, key in pairs{philox = "(uint2)(in[4], in[5])",
    threefry = "vload4(1, in)"} do
  t.test(name .. ": the known answers", function()
    local k = cl.kernel(([[
#include "%s.cl"
kernel void known(global const uint *in, global uint *out)
{
  vstore4(%s(vload4(0, in), %s), 0, out);
}]]):format(name, name, key), {include = cl.home .. "/kernels/random"})
    for given, answer in KNOWN[name]:gmatch "([^\n]+)\n([^\n]+)" do
      local words = words_of(given)
      words = table.move({0, 0}, 1, 8 - #words, #words + 1, words)
      local x <close> = cl.buffer("uint", 8, words)
      local y <close> = cl.buffer("uint", 4)
      k:range(1)(x, y)
      t.eq(list(y), words_of(answer), given)
    end
  end)
end

t.test("the numbers that the words of counters 0 and 1 become", function()
  local words = words_of "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
  local function all(type, opts)
    opts.type, opts.seed = type, 0
    return list(cl.random(4, opts))
  end
  t.eq(all("uint", {lo = 0, hi = 0xffffffff}), words)
  t.eq(all("uint", {lo = 0, hi = 0xffffffff, generator = "threefry"}),
    words_of "9c6ca96a e17eae66 fc10ecd4 5256a7d8")
  local expected = {}
  for i, w in ipairs(words) do
    expected[i] = (w >> 8) * 2.0^-24
  end
  t.eq(all("float", {}), expected)
  for i, w in ipairs(words) do
    expected[i] = -8 + (w >> 21) * 2.0^-11 * 16
  end
  t.eq(all("half", {lo = -8, hi = 8}), expected)
  for i, w in ipairs(words) do
    expected[i] = -5 + (w * 11 >> 32)
  end
  t.eq(all("int", {lo = -5, hi = 5}), expected)
  t.eq(all("char", {lo = -5, hi = 5}), expected)
  local wide = {words[2] << 32 | words[1], words[4] << 32 | words[3]}
  local two = list(cl.random(2, {type = "long", seed = 0,
    lo = math.mininteger, hi = math.maxinteger}))
  t.eq({two[1] ~ 1 << 63, two[2] ~ 1 << 63}, wide)
  two = list(cl.random(2, {type = "ulong", seed = 0, lo = 0, hi = -1}))
  t.eq(two, wide)
  if double then
    t.eq(list(cl.random(2, {type = "double", seed = 0})),
      {(wide[1] >> 11) * 2.0^-53, (wide[2] >> 11) * 2.0^-53})
  end
end)

t.test("a part of a sequence is that of a longer one", function()
  for _, generator in ipairs{"philox", "threefry"} do
    for _, type in ipairs{"uchar", "int", "long", "float",
        double and "double" or "half"} do
      local opts = {type = type, seed = 42, generator = generator}
      local all = list(cl.random(1000, opts))
      for _, offset in ipairs{1, 2, 3, 4, 499} do
        opts.offset = offset
        t.eq(list(cl.random(77, opts)),
          {table.unpack(all, offset + 1, offset + 77)})
      end
    end
    for _, type in ipairs(REALS) do
      local opts = {type = type, deviation = 2, mean = 1,
        generator = generator}
      local all = list(cl.random(50, opts))
      opts.offset = 3
      t.eq(list(cl.random(20, opts)), {table.unpack(all, 4, 23)})
    end
  end
  t.eq(list(cl.random(5, {offset = 1 << 40})) ~= list(cl.random(5)), true)
  t.ok(list(cl.random(9))[1] ~= list(cl.random(9, {seed = 2}))[1])
  t.ok(list(cl.random(9, {seed = 1}))[1]
    ~= list(cl.random(9, {seed = 1 | 1 << 32}))[1])
end)

-- Chi-square of counts against an equal number in each.
local function chi_square(counts, n)
  local sum, each = 0, n / #counts
  for _, count in ipairs(counts) do
    sum = sum + (count - each)^2 / each
  end
  return sum
end

-- A statistic with so many degrees of freedom is further off than 8 of its
-- standard deviations but for a chance of 1e-9; seeds are fixed besides.
local function usual(x, degrees)
  return math.abs(x - degrees) < 8 * math.sqrt(2 * degrees)
end

t.test("integers: every value as often, within their ends", function()
  local n = 200000
  for _, generator in ipairs{"philox", "threefry"} do
    for _, type in ipairs(WHOLE) do
      local x <close> = cl.random(n, {type = type, lo = 3, hi = 102,
        seed = 9, generator = generator})
      local counts = list(x:histogram{from = 3, to = 102})
      local sum = 0
      for _, count in ipairs(counts) do
        sum = sum + count
      end
      t.eq(sum, n, type)
      t.ok(usual(chi_square(counts, n), 99), type)
    end
  end
end)

t.test("integers: without the bias of a product or a remainder", function()
  -- Of 3 * 2^30 values a third would be twice as frequent.
  local n, third = 60000, 1 << 30
  local x <close> = cl.random(n, {type = "uint", lo = 0, hi = 3 * third - 1})
  local counts = list(x:histogram{from = 0, to = 3 * third - 1, bins = 3})
  t.ok(usual(chi_square(counts, n), 2))
  local y <close> = cl.random(n, {type = "long", lo = 0,
    hi = (1 << 61) + (1 << 62) - 1})
  counts = list(y:histogram{from = 0, to = (1 << 61) + (1 << 62) - 1,
    bins = 3})
  t.ok(usual(chi_square(counts, n), 2))
  local z <close> = cl.random(n, {type = "ulong", lo = 0,
    hi = 3 * (1 << 62) - 1})
  counts = {0, 0, 0}
  for _, value in ipairs(list(z)) do
    local k = (value >> 62) + 1
    counts[k] = counts[k] + 1
  end
  t.ok(usual(chi_square(counts, n), 2))
end)

t.test("uniform reals: mean, variance, neighbours, chi-square", function()
  local n = 200000
  for _, generator in ipairs{"philox", "threefry"} do
    for _, type in ipairs(REALS) do
      local x <close> = cl.random(n, {type = type, seed = 5,
        generator = generator})
      local h = x:read()
      local seen, square, pairs_of = h:summary(), 0, 0
      for i, value in ipairs(h) do
        square = square + (value - 0.5)^2
        pairs_of = pairs_of + (value - 0.5) * ((h[i + 1] or 0.5) - 0.5)
      end
      t.ok(seen.min >= 0 and seen.max < 1, type)
      t.ok(math.abs(seen.mean - 0.5) < 8 * math.sqrt(1 / 12 / n), type)
      t.ok(math.abs(square / n - 1 / 12) < 8 * math.sqrt(1 / 180 / n), type)
      t.ok(math.abs(pairs_of / n) < 8 / 12 / math.sqrt(n), type)
      local counts = list(x:histogram{from = 0, to = 1, bins = 64})
      t.ok(usual(chi_square(counts, n), 63), type)
    end
  end
  local x = list(cl.random(20000, {lo = 1, hi = 1 + 2.0^-22}))
  for _, value in ipairs(x) do
    t.ok(value >= 1 and value < 1 + 2.0^-22, value)
  end
end)

t.test("normal reals: four moments, and the shares of deviations", function()
  local n = 200000
  for _, generator in ipairs{"philox", "threefry"} do
    for _, type in ipairs(REALS) do
      local x <close> = cl.random(n, {type = type, seed = 5, deviation = 1,
        generator = generator})
      local sum, within = {0, 0, 0, 0}, {0, 0}
      for _, value in ipairs(list(x)) do
        for k = 1, 4 do
          sum[k] = sum[k] + value^k
        end
        for k = 1, 2 do
          within[k] = within[k] + (math.abs(value) < k and 1 or 0)
        end
      end
      for k, moment in ipairs{{0, 1}, {1, 2}, {0, 15}, {3, 96}} do
        t.ok(math.abs(sum[k] / n - moment[1]) < 8 * math.sqrt(moment[2] / n)
          + (type == "half" and 1e-3 or 0), ("%s, moment %d"):format(type, k))
      end
      for k, share in ipairs{0.6826895, 0.9544997} do
        t.ok(math.abs(within[k] / n - share) < 8 * math.sqrt(0.25 / n)
          + (type == "half" and 1e-3 or 0), type)
      end
    end
  end
  local x <close> = cl.random(50000, {deviation = 3, mean = -7})
  local y <close> = cl.buffer("float", 50000)
  y:normal(1, -7, 3)
  t.ok(x:read():equal(y:read()))
  t.ok(math.abs(y:read():summary().mean + 7) < 0.1)
end)

t.test("Buffers of any shape, rows with gaps, views", function()
  local m <close> = cl.buffer("int", {10, 7}, 0, {ld = 32})
  m:random(3)
  t.eq(list(m), list(cl.random({10, 7}, {type = "int", seed = 3})))
  t.eq(cl.random({10, 7}).shape, {10, 7})
  local b <close> = cl.buffer("float", 1096, -1)
  b:view(1025, 1056):random(3)
  t.eq({list(b)[1024], list(b)[1057]}, {-1.0, -1.0})
  t.ok(list(b)[1025] >= 0)
  t.eq(list(b:view(1025, 1056)), list(cl.random(32, {seed = 3})))
end)

t.test("numbers and options are given one by one, or by name", function()
  local x <close> = cl.buffer("float", 9)
  local y <close> = cl.buffer("float", 9)
  for _, pair in ipairs{{{7, -1, 1}, {{seed = 7, lo = -1, hi = 1}}},
      {{7}, {{seed = 7}}}, {{7, -1}, {7, {lo = -1}}},
      {{7, nil, 2, {offset = 3}}, {7, {hi = 2, offset = 3}}}} do
    x:random(table.unpack(pair[1], 1, 4))
    y:random(table.unpack(pair[2], 1, 4))
    t.eq(list(x), list(y))
    x:normal(table.unpack(pair[1], 1, 4))
    local given = pair[2][2] or pair[2][1]
    y:normal(given.seed or 7, {mean = given.lo, deviation = given.hi,
      offset = given.offset})
    t.eq(list(x), list(y))
  end
end)

t.test("what it refuses", function()
  local x <close> = cl.buffer("int", 4, 1)
  local y <close> = cl.buffer("float", 4, 1)
  for _, case in ipairs{
    {"seed must be an integer; got nothing", function() x:random() end},
    {"seed must be an integer; got 1.5", function() x:random(1.5) end},
    {'seed must be an integer; got "float"', function() x:random "float" end},
    {"seed must be an integer; got nothing", function() y:normal{} end},
    {"lo is given twice: 1, and 2 as an option", function()
      x:random(1, 1, 5, {lo = 2}) end},
    {"takes seed, lo, hi and a table of options; got 4", function()
      x:random(1, 0, 9, 7) end},
    {"unknown option 'mean'", function() x:random{seed = 1, mean = 0} end},
    {"hi must be >= lo; got 5 and 4", function() x:random(1, 5, 4) end},
    {"lo must be one of int's values; got 0.5",
      function() x:random(1, 0.5) end},
    {"hi must be one of int's values; got 2147483648",
      function() x:random(1, 0, 1 << 31) end},
    {"hi must be above lo and finite; got 1.0 and 1.0",
      function() y:random(1, 1, 1) end},
    {"hi must be above lo and finite", function() y:random(1, 0, 1e39) end},
    {"hi must be above lo and finite", function() y:random(1, 0 / 0, 1) end},
    {"generator must be one of", function()
      y:random(1, 0, 1, {generator = "lcg"}) end},
    {"offset must be an integer", function()
      y:random(1, 0, 1, {offset = -1}) end},
    {"the type must be half, float or double; got int",
      function() x:normal(1) end},
    {"deviation >= 0", function() y:normal(1, 0, -1) end},
    {"no scalar type", function() cl.random(4, {type = "float4"}) end},
    {"belong to uniform", function() cl.random(4, {lo = 0, deviation = 1})
    end},
    {"belong to uniform", function() cl.random(4, {mean = 1}) end},
    {"shape", function() cl.random(-1) end},
    {'cl.random: shape must be a table; got "float"', function()
      cl.random("float", {2, 3}) end},
  } do
    t.raises(case[2], case[1])
  end
  t.raises(function() cl.buffer("float4", 4):random(1) end, "no operand")
  local gone = cl.buffer("float", 4)
  gone:close()
  t.raises(function() gone:random(1) end, "closed")
  t.eq(list(y), {1, 1, 1, 1})
end)

t.done()

-- scan.lua - every rung of the scans, on sizes that fit no work-group, in
-- every type and kind; the call that names no kernel
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local help = require "clshell.help"
local ladder = require "ladder"
local scan = require "clshell.scan"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel")
local device = t.device()

local TYPES = {"float", "int",
  device:has "cl_khr_fp64" and "double" or nil}
local SIZES = {1, 7, 1000, 70001}

for number, rung in ipairs(scan.list) do
  t.test(rung.name .. ": every type, kind and size", function()
    for i, type in ipairs(TYPES) do
      for j, kind in ipairs{"inclusive", "exclusive"} do -- pairs by the ladder
        for _, n in ipairs((i + j + number) % 2 == 0 and SIZES or {}) do
          ladder.verified(scan, rung.name, nil, {n = n, type = type,
            kind = kind})
        end
      end
    end
  end)

  t.test(rung.name .. ": every value of every parameter", function()
    ladder.each_value(scan, rung.name, {{n = 2, type = "int"},
      {n = 333, type = "int"}, {n = 20001, type = "int"}})
  end)
end

-- Tiles that end a wave, and several for each work-group.
t.test("nv_stream: numbers of tiles", function()
  local params = {wg = 256, units = 3, wave = 32}
  local fits, why = scan.check("nv_stream", params, {n = 1})
  t.skip_if(not fits, why)
  for _, type in ipairs(TYPES) do
    local tile = 256 * 3 * 16 // cl.typesize(type)
    for _, n in ipairs{tile - 1, tile, tile + 1, 32 * tile - 1, 32 * tile,
        32 * tile + 1, 64 * tile, 1500 * tile + 7} do
      for _, kind in ipairs{"inclusive", "exclusive"} do
        local r = scan.verify("nv_stream", params, {n = n, type = type,
          kind = kind})
        t.ok(r.ok, ("%s of %d %s: %s, bound %s, at %s"):format(kind, n, type,
          r.err, r.bound, r.row))
      end
    end
  end
end)

t.test("lookback: waves of tiles, the same bits in each run", function()
  local fits, why = scan.check("lookback", nil, {n = 1})
  t.skip_if(not fits, why)
  local x = cl.random(70001, {type = "float", seed = 6, lo = -1})
  for _, wg in ipairs{32, 64} do -- a sum for each work-item, or fewer
    local opts = {kernel = "lookback", wg = wg, each = 4, wave = 32}
    local first = scan(x, opts):read():tobytes()
    opts.y = cl.buffer("float", #x)
    for _ = 1, 20 do
      t.eq(scan(x, opts):read():tobytes() == first, true)
    end
  end
end)

t.test("simd: blocks that cores draw, the same sums in each run", function()
  local fits, why = scan.check("simd", nil, {n = 1})
  if not fits then
    return t.skip(why)
  end
  local block = 16384
  local params = {block = block}
  for _, n in ipairs{block - 1, block, block + 1, 7 * block,
      40 * block + 33} do
    for _, type in ipairs{"float", "double", "int"} do
      for _, kind in ipairs{"inclusive", "exclusive"} do
        local r = scan.verify("simd", params, {n = n, type = type,
          kind = kind})
        t.ok(r.ok, ("%d %s %s: off by %s of %s"):format(n, type, kind, r.err,
          r.bound))
      end
    end
  end
  local n = 40 * block + 33
  local x = cl.random(n, {type = "float", seed = 5})
  local opts = {kernel = "simd", block = block}
  local once = scan(x, opts):read()
  for _ = 1, 10 do
    t.ok(scan(x, opts):read():max_diff(once) == 0)
  end
end)

t.test("many work-groups, exactly", function()
  for _, k in ipairs(scan.kernels()) do
    local shape = {n = 300001, type = "int"}
    if scan.check(k.name, nil, shape) then
      local r = scan.verify(k.name, nil, shape)
      t.ok(r.ok, ("%s: off by %s at %s"):format(k.name, r.err, r.row))
    end
  end
end)

t.test("a check sees one lost element of many", function()
  local x = cl.random(70001, {type = "float", seed = 5})
  local h = cl.array("float", 70001, x:read())
  h[1000] = 0
  local truth = scan.truth(scan.plan(x))
  local err, bound, _, at = truth(scan(x):read())
  t.ok(err <= bound, ("%s of %s at %s"):format(err, bound, at))
  err, bound, _, at = truth(scan(h):read())
  t.ok(err > bound and at >= 1000, ("%s of %s at %s"):format(err, bound, at))
end)

t.test("a call takes what it is given and returns as many elements",
  function()
    t.eq(scan{1, 2, 3}:read():table(), {1, 3, 6})
    t.eq(scan({1, 2, 3}, {kind = "exclusive"}):read():table(), {0, 1, 3})
    t.eq(scan(cl.array("int", 3, {5, -9, 2})):read():table(), {5, -4, -2})
    local m = cl.buffer("float", {2, 2}, {{1, 2}, {3, 4}})
    t.eq(scan(m):read():table(), {1, 3, 6, 10})
    local x, y = cl.buffer("int", 5000), cl.buffer("int", 5000)
    x:fill(1)
    for _ = 1, 2 do -- the second time by the plan that is kept
      t.eq(scan(x, {y = y}), y)
      t.eq(y:read()[5000], 5000)
    end
    t.raises(function() scan(x, {y = x}) end,
      "scan: y must not share memory with x")
    t.raises(function() scan(x, {kind = "both"}) end,
      'scan: kind must be one of inclusive, exclusive; got "both"')
  end)

t.test("an int wraps, and NaN stays in all that follows", function()
  local big = cl.buffer("int", 3, {2^31 - 1 | 0, 1, 5})
  t.eq(scan(big):read():table(), {2^31 - 1 | 0, -2^31 | 0, -2^31 + 5 | 0})
  t.ok(scan.verify(scan.choice{x = big}.rung, nil, {x = big}).ok)
  local h = cl.array("float", 3000):fill(1)
  h[1000] = 0 / 0
  for _, k in ipairs(scan.kernels()) do
    if scan.check(k.name, nil, {n = 3000}) then
      local y = scan(h, {kernel = k.name}):read()
      t.eq(y[999], 999.0, k.name)
      t.ok(y[1000] ~= y[1000] and y[3000] ~= y[3000], k.name)
      t.ok(scan.verify(k.name, nil, {x = h}).ok, k.name)
    end
  end
end)

t.test("bench, tune and help", function()
  local r = bench("scan", {4096}, nil, {seconds = 0.02})
  t.eq({r.family, r.title, r.ok, r.bytes}, {"scan", "4096 float", true,
    2 * 4 * 4096})
  t.eq(tune("scan.registers", {4096}, {evaluations = 2}).title, "4096 float")
  t.ok(help.text "scan":find("tree_padded", 1, true))
  t.ok(help.text "scan.tree_padded":find("NDRange", 1, true))
end)

t.done()

-- ranks/model.lua - predicted times: what must hold for any constants,
-- the constants that ranks measure, and bench_scale, which shows both
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local grids = require "clshell.parts.ranks.grid"
local model = dofile(cl.home .. "/scripts/lib/scaling.lua")
local ranks = require "ranks"
local scratch = require "scratch"

t.device()

local FREE = {latency = 0, bandwidth = math.huge, exchange = math.huge,
  halo = 0}
local LINK = {latency = 1e-6, bandwidth = 1e10, exchange = 1e10, halo = 3e-5}

t.test("blocks cover all numbers once, and owners are right", function()
  for _, extent in ipairs{1, 2, 7, 64, 1001} do
    for parts = 1, 9 do
      local next_one = 1
      for i = 0, parts - 1 do
        local first, last = grids.block(extent, parts, i)
        t.eq(first, next_one)
        t.ok(last - first + 1 <= (extent + parts - 1) // parts)
        for k = first, last do
          local owner, final = grids.owner(extent, parts, k)
          t.eq(owner, i)
          t.eq(final, last)
        end
        next_one = last + 1
      end
      t.eq(next_one, extent + 1)
    end
  end
  local rows, cols = grids.squarest(12)
  t.eq(rows * 10 + cols, 34)
end)

t.test("a product takes its operations by the rate where messages are free",
  function()
    local s = {m = 4096, n = 4096, k = 4096, esize = 4, depth = 256,
      rate = function() return 1e12 end}
    for _, p in ipairs{1, 2, 4, 16, 64, 1024} do
      local seconds, share = model.gemm(FREE, s, p)
      t.ok(math.abs(seconds * p / (2 * 4096^3 / 1e12) - 1) < 0.26, p)
      t.ok(math.abs(share) < 1e-9)
      local slower, more = model.gemm(LINK, s, p)
      t.ok(slower >= seconds and more >= share)
    end
    local rows = {rows = 1 << 20, rate = 1e9}
    for _, p in ipairs{1, 2, 64} do
      local seconds = model.spmv(FREE, rows, p)
      t.ok(math.abs(seconds - (1 << 20) / p / 1e9) < 1e-12)
      t.ok(model.spmv(LINK, rows, p) >= seconds)
    end
  end)

t.test("what ranks measure", function()
  ranks.fine(3, [[
    local c = dofile(cl.home .. "/scripts/lib/scaling.lua").measure()
    for _, name in ipairs{"latency", "bandwidth", "exchange", "up", "down",
        "touch", "halo"} do
      assert(c[name] > 0 and c[name] < math.huge, name)
      assert(mpi.allreduce(c[name], "max") == c[name], name)
    end]])
end)

t.test("bench_scale: measured and predicted, and a chart", function()
  ranks.need()
  local out, err, code = scratch.sh(ranks.command(3,
    "bench_scale.lua -n 100 -g 40 -p 16 --plot " .. t.tmp "scale"))
  t.eq(code, 0, out .. err)
  for _, words in ipairs{"strong, C = A B, N = 100\n", "weak, C = A B",
    "strong, y = M x", "weak, y = M x", "messages: latency",
    "efficiency of gemm", "efficiency of spmv"} do
    t.ok(out:find(words, 1, true), words .. "\n" .. out)
  end
  local _, errors = out:gsub("\n3 ranks: %S+ %S+ predicted, %S+ "
    .. "%S+ measured, [+-]%d+ %%", "")
  t.eq(errors, 4, out)
  for _, count in ipairs{1, 2, 3, 6, 16} do
    local _, n = out:gsub(("\n +%d +"):format(count), "")
    t.ok(n >= 4, count .. "\n" .. out)
  end
end)

t.done()

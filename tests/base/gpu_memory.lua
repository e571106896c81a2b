-- gpu_memory.lua - what a request of a warp costs, against closed forms
-- SPDX-License-Identifier: MIT

local t = require "t"
local gpus = require "clshell.base.gpus"
local lanes = require "explain.lanes"
local machine = require "clshell.base.gpu_memory"
local occupancy = require "clshell.explain.occupancy"

local H100 = machine.of{as = "H100"}

t.test("sectors and lines of any stride and start", function()
  for size = 1, 16 do
    for stride = size, 4 * size, size do
      for start = 0, 33 do
        local cost = machine.global(H100, lanes.at(32, function(i)
          return start + i * stride
        end), size)
        local sectors, lines = {}, {}
        for byte = 0, 31 * stride + size - 1 do
          if byte % stride < size then
            sectors[(start + byte) // 32] = true
            lines[(start + byte) // 128] = true
          end
        end
        local n, m = 0, 0
        for _ in pairs(sectors) do n = n + 1 end
        for _ in pairs(lines) do m = m + 1 end
        t.eq(cost.sectors, n)
        t.eq(cost.lines, m)
        t.eq(cost.ideal, size)
      end
    end
  end
end)

t.test("banks serve one word at a time", function()
  local function ways(banks, bank_bytes, size, f)
    local m = machine.of{banks = banks, bank_bytes = bank_bytes}
    return machine.locals(m, lanes.at(32, f), size)
  end
  for stride = 1, 64 do
    local cost = ways(32, 4, 4, function(i) return 4 * i * stride end)
    t.eq(cost.ways, lanes.gcd(stride, 32), "stride " .. stride)
    t.eq(cost.passes, lanes.gcd(stride, 32))
    t.eq(cost.ideal, 1)
    t.eq(ways(32, 8, 8, function(i) return 8 * i * stride end).ways,
      lanes.gcd(stride, 32))
    -- half a warp at a time
    t.eq(ways(16, 4, 4, function(i) return 4 * i * stride end).passes,
      2 * lanes.gcd(stride, 16))
  end
  t.eq(ways(32, 4, 4, function() return 64 end).passes, 1, "one address")
  t.eq(ways(32, 4, 1, function(i) return i end).passes, 1, "char")
  t.eq(ways(32, 4, 8, function(i) return 8 * i end).passes, 2, "double")
  t.eq(ways(32, 4, 8, function() return 8 end).passes, 1, "one double")
  t.eq(ways(32, 4, 8, function(i) return i % 16 * 8 end).passes, 2)
  t.eq(ways(32, 4, 16, function(i) return 16 * i end).passes, 4, "float4")
  t.eq(ways(32, 4, 16, function() return 16 end).passes, 2, "one float4")
  t.eq(machine.constant(H100, {0, 4, 4, 8}).passes, 3)
end)

t.test("machines have names and sizes", function()
  t.eq(machine.of{as = "mi300"}.warp, 64)
  t.eq(machine.of{as = "GTX 1080", warp = 8}.warp, 8)
  t.eq(machine.of(nil, {amd_wavefront_width = 64}).warp, 64)
  t.raises(function()
    machine.of{as = "H10"}
  end, "access: no GPU 'H10'; did you mean 'H100'?")
  t.eq({machine.of{as = "8.6"}.name, machine.of().name},
    {"compute capability 8.6", "H100"})
  for _, bad in ipairs{3, {}, "none of these", "", "9.9"} do
    t.raises(function() machine.of{as = bad} end, "access: no GPU", "GTX 1080",
      "M1", 'such as "8.6"')
  end
end)

t.test("access and occupancy know the same GPUs", function()
  for _, name in ipairs(gpus.names()) do
    t.eq(machine.of{as = name:lower()}.name, name)
    local o = occupancy{gpu = name, wg = 64}
    t.eq({o.gpu, o.limits.warp}, {name, machine.of{as = name}.warp})
  end
  for halves, items in pairs{[104] = 1024, [112] = 896, [128] = 832,
      [136] = 768, [160] = 640, [184] = 576, [208] = 512, [232] = 448,
      [256] = 384} do -- Mesa's table for the M1
    t.eq(occupancy{gpu = "M1", wg = 64, registers = halves // 2}.best.items,
      items)
  end
end)

t.test("the sizes of a machine are checked", function()
  for _, bad in ipairs{0, 3, 128, -1, 32.5, "32"} do
    t.raises(function()
      machine.of{warp = bad}
    end, "access: warp must be a power of two from 1 to 64")
  end
  t.raises(function()
    machine.of{as = "M1", line = 64}
  end, "line must be at least sector, 128; got 64")
end)

t.done()

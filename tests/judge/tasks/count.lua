-- count.lua - how often each of 16 values stands in x
-- SPDX-License-Identifier: MIT

task{
  kernel = "count(global const uint *x, global uint *bins, int n)",
  inputs = function(n, rng)
    return {x = rng(n, 0, 15), bins = cl.array("uint", 16, 0), n = n}
  end,
  inout = "bins",
  expect = function(i)
    local x, list = i.x:read(), {}
    for k = 1, 16 do
      list[k] = 0
    end
    for k = 1, #x do
      list[x[k] + 1] = list[x[k] + 1] + 1
    end
    return list
  end,
  range = function(n)
    return (n + 63) // 64 * 64, 64
  end,
  sizes = {1, 64, 300}, hidden = {129}, check = 300, limit = 20,
}

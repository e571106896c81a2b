-- sum.lua - the sum of each group of 64 integers
-- SPDX-License-Identifier: MIT

task{
  kernel = "sum(global const int *x, global int *y, int n)",
  inputs = function(n, rng)
    return {x = rng(n, -1000, 1000), y = (n + 63) // 64, n = n}
  end,
  expect = function(i)
    local x, list = i.x:read(), {}
    for k = 1, #x do
      local group = (k + 63) // 64
      list[group] = (list[group] or 0) + x[k]
    end
    return list
  end,
  range = function(n)
    return (n + 63) // 64 * 64, 64
  end,
  sizes = {1, 64, 200}, hidden = {577}, check = 200, limit = 20,
}

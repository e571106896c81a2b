-- blur.lua - the mean of three neighbours, the ends as they are
-- SPDX-License-Identifier: MIT

task{
  kernel = "blur(global const float *x, global float *y, int n)",
  inputs = function(n, rng)
    return {x = rng(n), y = n, n = n}
  end,
  expect = "blur.cl",
  range = function(n)
    return (n + 63) // 64 * 64, 64
  end,
  sizes = {2, 64, 200}, hidden = {67}, check = 200, limit = 20,
}

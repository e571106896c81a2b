-- endless.lua - like axpy, for kernels that do not end: a short limit
-- SPDX-License-Identifier: MIT

task{
  kernel = "endless(global const float *x, global float *y, int n)",
  inputs = function(n, rng)
    return {x = rng(n), y = n, n = n}
  end,
  expect = function(i)
    return i.x * 2
  end,
  sizes = {128}, limit = 3,
}

-- axpy.lua - y = a x + y
-- SPDX-License-Identifier: MIT

task{
  kernel = "axpy(float a, global const float *x, global float *y, int n)",
  inputs = function(n, rng)
    return {a = rng:number(-2, 2), x = rng(n, -1, 1), y = rng(n, -1, 1), n = n}
  end,
  inout = "y",
  expect = function(i)
    return i.a * i.x + i.y
  end,
  range = function(n)
    return (n + 63) // 64 * 64, 64
  end,
  sizes = {1, 64, 100}, hidden = {131}, check = 100, limit = 20,
}

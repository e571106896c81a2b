-- turn.lua - a transpose
-- SPDX-License-Identifier: MIT

task{
  kernel = "turn(global const float *A, global float *B, int m, int n)",
  inputs = function(s, rng)
    return {A = rng(s), B = {s[2], s[1]}, m = s[1], n = s[2]}
  end,
  expect = function(x)
    return transpose(x.A)
  end,
  range = function(s)
    return {(s[2] + 7) // 8 * 8, (s[1] + 7) // 8 * 8}, {8, 8}
  end,
  sizes = {{1, 1}, {8, 8}, {9, 17}}, hidden = {{20, 3}}, check = {9, 17},
  limit = 20,
}

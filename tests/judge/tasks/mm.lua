-- mm.lua - a matrix product over groups of 8 x 8
-- SPDX-License-Identifier: MIT

task{
  kernel = "mm(global const float *A, global const float *B, global float *C, "
    .. "int n)",
  inputs = function(n, rng)
    return {A = rng{n, n}, B = rng{n, n}, C = {n, n}, n = n}
  end,
  expect = function(x)
    return gemm(x.A, x.B)
  end,
  range = function(n)
    local m = (n + 7) // 8 * 8
    return {m, m}, {8, 8}
  end,
  sizes = {1, 8, 17}, hidden = {31}, check = 8, forbid = {"half"}, limit = 20,
}

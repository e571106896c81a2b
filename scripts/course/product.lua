-- product.lua - an exercise: a matrix product (claims A2, A12, B5, B21)
--   clshell judge product.lua student.cl
--   clshell judge product.lua folder/ -o board.html
-- SPDX-License-Identifier: MIT

task{
  name = "product",
  text = "C = A B for n x n matrices, in row-major order. Begin with a sum in "
    .. "private memory; then read tiles of 8 x 8 into local memory, so that "
    .. "an element of C fetches 2n/8 elements and not 2n. n need not be a "
    .. "multiple of 8.",
  kernel = "mm(global const float *A, global const float *B, "
    .. "global float *C, int n)",
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
  sizes = {1, 16, 17}, hidden = {7, 31}, check = 17,
  points = {public = 4, hidden = 4, clean = 2},
  skeleton = "product_start.cl",
  hints = {WRONG = "Work-items beyond n load zeros and store nothing, but "
    .. "come to each barrier. A tile may be filled anew only after all have "
    .. "read it."},
}

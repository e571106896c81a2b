-- mm.lua - a task for a course: a matrix product, judged by
--   clshell judge scripts/tasks/mm.lua student.cl
--   clshell judge scripts/tasks/mm.lua folder/ -o board.html
-- SPDX-License-Identifier: MIT

task{
  name = "mm",
  text = "Multiply two n x n matrices, in row-major order. A work-item "
    .. "computes one element of C; n need not divide by the work-group.",
  kernel = "mm(global const float *A, global const float *B, global float *C, "
    .. "int n)",
  inputs = function(n, rng)
    return {A = rng{n, n}, B = rng{n, n}, C = {n, n}, n = n}
  end,
  expect = function(x)
    return gemm(x.A, x.B)
  end,
  range = function(n)
    local groups = (n + 7) // 8
    return {8 * groups, 8 * groups}, {8, 8}
  end,
  sizes = {1, 8, 16, 33},
  hidden = {7, 31, 64},
  speed = {against = "gemm.naive_global", at_least = 0.5, at = {128}},
  points = {public = 40, hidden = 20, clean = 20, speed = 20},
  skeleton = "mm.cl",
  hints = {WRONG = "Which work-items have no element of C to compute?",
    SLOW = "Neighbouring work-items should read neighbouring elements."},
}

-- stencil.lua - an exercise: the mean of five points (claims A4, A12, B4)
-- SPDX-License-Identifier: MIT

task{
  name = "stencil",
  text = "y = the mean of a point of x and its four neighbours, for n x n "
    .. "points; beyond the edge x is 0. Then read a tile of 8 x 8 and its "
    .. "border into local memory, so that a point is fetched about once and "
    .. "not five times. n need not be a multiple of 8.",
  kernel = "stencil(global const float *x, global float *y, int n)",
  inputs = function(n, rng)
    return {x = rng{n, n}, y = {n, n}, n = n}
  end,
  expect = "stencil_naive.cl",
  range = function(n)
    local m = (n + 7) // 8 * 8
    return {m, m}, {8, 8}
  end,
  sizes = {1, 16, 17}, hidden = {7, 30}, check = 17,
  points = {public = 4, hidden = 4, clean = 2},
  skeleton = "stencil_start.cl",
  hints = {WRONG = "Points at the edge have fewer neighbours, and are divided "
    .. "by 5 all the same. A tile of 8 x 8 needs a border of one point on "
    .. "each side."},
}

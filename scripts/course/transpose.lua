-- transpose.lua - an exercise: a transpose (claims E1, B4, B5, B18)
-- SPDX-License-Identifier: MIT

task{
  name = "transpose",
  text = "B is A transposed. A has m rows and n columns, B has n rows and m "
    .. "columns. Then go through a tile in local memory, so that neighbouring "
    .. "work-items read and write neighbouring elements. m and n need not be "
    .. "multiples of 8.",
  kernel = "transpose(global const float *A, global float *B, int m, int n)",
  inputs = function(s, rng)
    return {A = rng(s), B = {s[2], s[1]}, m = s[1], n = s[2]}
  end,
  expect = function(x)
    return transpose(x.A)
  end,
  range = function(s)
    return {(s[2] + 7) // 8 * 8, (s[1] + 7) // 8 * 8}, {8, 8}
  end,
  sizes = {{1, 1}, {16, 16}, {9, 17}}, hidden = {{20, 3}}, check = {9, 17},
  points = {public = 4, hidden = 4, clean = 2},
  skeleton = "transpose_start.cl",
  hints = {WRONG = "Rows of B have m elements. Through a tile, the group of "
    .. "(gx, gy) writes the tile of (gy, gx) of B, with a test of its own."},
}

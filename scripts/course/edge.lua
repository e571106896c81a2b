-- edge.lua - an exercise: a size beside the work-group (claims A10, A11, B23)
-- SPDX-License-Identifier: MIT

task{
  name = "edge",
  text = "y[i] = x[i ^ 1] through local memory, in groups of 64; 0 where "
    .. "i ^ 1 lies beyond the n elements. The last group has work-items "
    .. "beyond n.",
  kernel = "neighbour(int n, global const float *x, global float *y)",
  inputs = function(n, rng)
    return {n = n, x = rng(n), y = n}
  end,
  expect = function(i)
    local x, y = i.x:read(), {}
    for k = 0, i.n - 1 do
      y[k + 1] = x[(k ~ 1) + 1] or 0
    end
    return y
  end,
  range = function(n)
    return (n + 63) // 64 * 64, 64
  end,
  sizes = {1, 64, 100}, hidden = {131}, check = 100,
  points = {public = 4, hidden = 2, clean = 4},
  skeleton = "edge_beyond.cl",
  hints = {WRONG = "Work-items beyond n must neither load nor store there, "
    .. "and must come to the barrier all the same."},
}

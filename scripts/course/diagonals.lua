-- diagonals.lua - an exercise: a sparse matrix of diagonals times a vector
-- (claims E2, E3, E4, E6)
-- SPDX-License-Identifier: MIT

task{
  name = "diagonals",
  text = "y[r] = the sum over d of values[d * pitch + r] * x[r + offsets[d]], "
    .. "where x is 0 beyond its ends. A work-item computes 4 rows; pitch and "
    .. "the elements of y are n rounded up to a multiple of 4, and values are "
    .. "0 in the padding. Then copy offsets to local memory, and load and "
    .. "store 4 elements at a time. At most 256 diagonals.",
  kernel = "dia(int n, int pitch, int diagonals, global const int *offsets, "
    .. "global const float *values, global const float *x, global float *y)",
  inputs = function(n, rng)
    local pitch, diagonals = (n + 3) // 4 * 4, 3
    local values = {}
    for d = 0, diagonals - 1 do
      for r = 1, pitch do
        values[d * pitch + r] = r <= n and rng:number(-1, 1) or 0
      end
    end
    return {n = n, pitch = pitch, diagonals = diagonals, x = rng(n),
      offsets = cl.array("int", 3, {-rng:integer(1, n), 0, rng:integer(1, n)}),
      values = cl.array("float", #values, values), y = pitch}
  end,
  expect = function(i)
    local values, x, offsets = i.values:read(), i.x:read(), i.offsets:read()
    local y = {}
    for r = 1, i.pitch do
      y[r] = 0
      for d = 1, i.diagonals do
        local at = r + offsets[d]
        y[r] = y[r] + (at >= 1 and at <= i.n
          and values[(d - 1) * i.pitch + r] * x[at] or 0)
      end
    end
    return {y = y}
  end,
  range = function(n)
    return (n + 3) // 4
  end,
  tolerance = 1e-5,
  sizes = {1, 8, 30}, hidden = {67}, check = 30,
  points = {public = 4, hidden = 4, clean = 2},
  skeleton = "diagonals_start.cl",
  hints = {WRONG = "r + offsets[d] may be below 0, and n or more. A row of "
    .. "the padding gets 0."},
}

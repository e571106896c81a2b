-- sum.lua - an exercise: a sum in one launch (claims A8, A9, B15)
-- SPDX-License-Identifier: MIT

local WG = 64

task{
  name = "sum",
  text = "The sum of n integers by one launch of groups of 64. Each group "
    .. "writes its sum to partial[group] and counts itself in done, which is "
    .. "0 at first; the last group adds partial up to total[0].",
  kernel = "sum(global const int *x, global int *partial, global int *done, "
    .. "global int *total, int n)",
  inputs = function(n, rng)
    return {x = rng(n, -1000, 1000), partial = (n + WG - 1) // WG,
      done = cl.array("int", 1, 0), total = 1, n = n}
  end,
  inout = "done",
  expect = function(i)
    local x, partial, total = i.x:read(), {}, 0
    for k = 1, #x do
      local group = (k + WG - 1) // WG
      partial[group] = (partial[group] or 0) + x[k]
      total = total + x[k]
    end
    return {partial = partial, done = {#partial}, total = {total}}
  end,
  range = function(n)
    return (n + WG - 1) // WG * WG, WG
  end,
  sizes = {1, 64, 200}, hidden = {577}, check = 200,
  points = {public = 4, hidden = 2, clean = 4},
  skeleton = "sum_race.cl",
  hints = {WRONG = "Which work-items of a group must have come to the end of "
    .. "a step before the next begins? Who may read partial, and when?"},
}

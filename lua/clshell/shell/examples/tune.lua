-- shell/examples/tune.lua - examples that help shows: the search for the best
-- setting
-- SPDX-License-Identifier: MIT

--- tune
local best = tune("gemm.tiled_padded", {64}, {evaluations = 3, seconds = 20})
print(best.evaluations) --> 3
print(best) -- the winner, its gain over the default, failures by reason
local n = 4096
local x, y = cl.buffer("float", n, 3), cl.buffer("float", n)
local scale = tune{kernel = [[
kernel void scale(global const float *x, global float *y) {
  for (int k = 0; k < PER; k++)
    y[get_global_id(0) * PER + k] = 2 * x[get_global_id(0) * PER + k];
}]], params = {per = {1, 2, 4}, group = "16..64*2"},
  where = "per * group <= 128", args = {x, y}, evaluations = 3,
  range = function(p) return n // p.per, p.group end,
  check = cl.array("float", n, 6), bytes = 8 * n, seconds = 20}
print(#scale.space) --> 8
print(scale.space:why{per = 4, group = 64})
--> where 'per * group <= 128' is false

local exact = tune("gemm.tiled_padded", {64}, {evaluations = 2,
  objective = "err"})
print(exact.value == exact.winners[1].record.err) --> true

--- best:records
local best = tune("gemm.tiled_padded", {64}, {evaluations = 2, seconds = 20})
require "clshell.html"(best:records(), "search.html")

--- best:keep
local best = tune("transpose.tiled", {64}, {evaluations = 2, seconds = 20})
best:keep()
print(transpose.choice{rows = 64, cols = 64}.kept) --> true
transpose.forget()

--- best:save
local best = tune("gemm.tiled_padded", {64}, {evaluations = 2, seconds = 20})
best:save "space.csv"
print(tune{replay = "space.csv"}.evaluations) --> 2

--- best:plot
local best = tune("gemm.tiled_padded", {64}, {evaluations = 2, seconds = 20})
print(best:plot()) -- the best time over the evaluations
best:plot("tile", {file = "tile.svg"})

--- progress:expect
local progress = require "clshell.progress"
local p <close> = progress.new{}
p:expect(3) -- steps, known only now

#!/usr/bin/env clshell
-- stencil.lua - a kernel family of your own, and all that it then has; after
-- clshell -i stencil.lua also ?heat, bench("heat.<Tab>, heat.define
-- SPDX-License-Identifier: MIT

local family, script = require "clshell.family", require "clshell.script"
local parser = script.parser("stencil.lua", "Steps of heat on an N x N grid.")
parser:argument("N", "rows and columns; 512 if left out"):args("?")
  :convert(script.size)
local n = script.parse(parser).N or 512

local function kernel(body)
  return [[
#define AT(i, j) ((i) < rows && (j) < cols ? A[(i) * lda + (j)] : 0)
#define STEP(a, l, r, u, d) ((a) + w * ((l) + (r) + (u) + (d) - 4 * (a)))
kernel void heat(int rows, int cols, global const REAL *A, int lda,
                 global REAL *B, int ldb, REAL w) {
  uint i = get_global_id(1), j = get_global_id(0); /* -1 is beyond rows */
]] .. body .. "}"
end

local heat = family.new{
  name = "heat", help = "B = A + w (sum of the 4 neighbours - 4 A).",
  arguments = {{"A", "rows", "cols"}}, output = {"B", "rows", "cols"},
  options = {{name = "w", default = 0.25, help = "weight of a neighbour"}},
  cache = "cold", terms = function() return 8 end,
  flop = function(s) return 7 * s.rows * s.cols end,
  reference = function(h, s)
    local A, B = h.A:table(), {}
    local function at(i, j) return A[i] and A[i][j] or 0 end
    for k = 1, s.rows * s.cols do
      local i, j = (k - 1) // s.cols + 1, (k - 1) % s.cols + 1
      B[k] = at(i, j) + s.w * (at(i, j - 1) + at(i, j + 1)
        + at(i - 1, j) + at(i + 1, j) - 4 * at(i, j))
    end
    return B
  end,
  rungs = {
    {name = "naive", lesson = "one work-item for each element, five loads",
      range = function(s) return {s.cols, s.rows} end,
      source = kernel [[
  B[i * ldb + j] =
    STEP(AT(i, j), AT(i, j - 1), AT(i, j + 1), AT(i - 1, j), AT(i + 1, j));]]},
    {name = "rows", lesson = "a work-item goes down, and loads three a step",
      params = {{name = "height", values = {4, 16, 64}, default = 16}},
      range = function(s, p) return {s.cols, -(-s.rows // p.height)} end,
      source = kernel [[
  uint last = min((int)(i + 1) * HEIGHT, rows);
  REAL up = AT(i * HEIGHT - 1, j), here = AT(i * HEIGHT, j);
  for (uint k = i * HEIGHT; k < last; k++) {
    REAL down = AT(k + 1, j);
    B[k * ldb + j] = STEP(here, AT(k, j - 1), AT(k, j + 1), up, down);
    up = here, here = down;
  }]]}},
}

print(("Heat on a grid of %dx%d\n"):format(n, n))
print(heat.kernels())
print(heat(matrix.ones(4), {w = 0.1}))
print(bench("heat", {n, n})) -- of the rung that a call takes
print(compare({"heat.naive", {n, n}}, {"heat.rows", {n, n}}))
print(tune("heat", {n, n}, {evaluations = 4}))

#!/usr/bin/env clshell
-- register_blocking.lua - a kernel of your own as a rung of the ladder:
-- gemm.define gives it the same checks, benches and help as the others.
-- This one computes R outputs per work-item, so that an element of B that
-- was loaded once serves R sums. No host code is compiled.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("register_blocking.lua",
  "Defines a GEMM rung in a script and compares it with the ladder.")
parser:argument("N", "size; 384 on a CPU, 2048 on a GPU if left out")
  :args("?"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local n = args.N or (cl.device().type == "cpu" and 384 or 2048)
script.fits(parser, ("three matrices of %dx%d"):format(n, n), 12.0 * n * n)
local out <close> = output.open(parser, args)

gemm.define{
  name = "column_block",
  lesson = "R rows of C per work-item: one load of B serves R sums",
  params = {
    {name = "r", values = {1, 2, 4, 8}, default = 4,
      help = "outputs per work-item, one below the other"},
    {name = "lx", values = {8, 16, 32, 64}, default = 32,
      help = "local size along the columns of C"},
  },
  source = [[
#ifndef REAL
#define REAL float
#endif
kernel void column_block(int M, int N, int K, REAL alpha,
    global const REAL *A, int lda, global const REAL *B, int ldb,
    REAL beta, global REAL *C, int ldc) {
  size_t col = get_global_id(0), row = get_global_id(1) * R;
  REAL sum[R];
  for (int r = 0; r < R; r++)
    sum[r] = 0;
  if (col >= N)
    return;
  for (int k = 0; k < K; k++) {
    REAL b = B[(size_t)k * ldb + col];
    for (int r = 0; r < R; r++)
      if (row + r < M)
        sum[r] += A[(row + r) * lda + k] * b;
  }
  for (int r = 0; r < R; r++)
    if (row + r < M) {
      size_t i = (row + r) * ldc + col;
      C[i] = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * C[i];
    }
}]],
  range = function(s, p)
    local columns = (s.n + p.lx - 1) // p.lx * p.lx
    return {columns, (s.m + p.r - 1) // p.r}, {p.lx, 1}
  end,
}

local operands = {A = matrix.random(n, n), B = matrix.random(n, n, {seed = 2})}
out:heading(("GEMM %dx%dx%d float"):format(n, n, n))
do
  local part <close> = out:part{steps = 6, base = "first",
    peak = function() return peaks().fma_float end,
    columns = {"kernel", "config", "ms", "gflops", "peak", "speedup", "err",
      "note"}}
  local function row(name, params)
    part:step(name)
    part:add(gemm.bench(name, params, operands))
  end
  row "naive"
  for _, r in ipairs{1, 2, 4, 8} do
    row("column_block", {r = r})
  end
  row "tiled_float4"
end
out:say '\nhelp "gemm.column_block" now prints its lesson and parameters.'

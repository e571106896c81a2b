#!/usr/bin/env clshell
-- tune_convolution.lua - a kernel of your own, tuned: a 2-D convolution with
-- seven parameters and three constraints, each configuration compared with a
-- plain kernel.
-- SPDX-License-Identifier: MIT

local script = require "clshell.script"

local parser = script.parser("tune_convolution.lua",
  "Searches the fastest setting of a 2-D convolution with a 5 x 5 filter.")
parser:argument("N", "rows and columns; 512 on a CPU, else 4096 if left out")
  :args("?"):convert(script.size)
parser:option("--evaluations", "configurations to measure", "25")
  :convert(script.size)
parser:option("--strategy", "see ?tune", "random")
parser:option("--seed", "of the strategy", "1"):convert(script.size)
parser:option("--save", "write the configurations to this file")
parser:flag("--full", "take all samples of slow configurations too")
local args = script.parse(parser)
local n = args.N or (cl.device().type == "cpu" and 512 or 4096)
script.fits(parser, ("two images of %dx%d"):format(n, n), 8.0 * n * n)

-- out[y][x] is the sum of image[y + i][x + j] * weights[i][j]; a work-group of
-- BX x BY makes BX TX x BY TY elements.
local source = [[
#define F 5
#if UNROLL
#define LOOP _Pragma("unroll")
#else
#define LOOP _Pragma("nounroll")
#endif
kernel __attribute__((reqd_work_group_size(BX, BY, 1)))
void convolution(global const float *image, constant float *weights,
                 global float *out, int n) {
  int lx = get_local_id(0), ly = get_local_id(1), last = n + F - 2;
  int left = get_group_id(0) * BX * TX, top = get_group_id(1) * BY * TY;
#define IMAGE(y, x) image[min(y, last) * (last + 1) + min(x, last)]
#if STAGE
  local float part[BY * TY + F - 1][BX * TX + F - 1 + PAD];
  for (int y = ly; y < BY * TY + F - 1; y += BY)
    for (int x = lx; x < BX * TX + F - 1; x += BX)
      part[y][x] = IMAGE(top + y, left + x);
  barrier(CLK_LOCAL_MEM_FENCE);
#define AT(y, x) part[y][x]
#else
#define AT(y, x) IMAGE(top + y, left + x)
#endif
  float sum[TY][TX] = {{0}};
  for (int i = 0; i < F; i++)
    LOOP
    for (int j = 0; j < F; j++)
      for (int r = 0; r < TY; r++)
        for (int c = 0; c < TX; c++)
          sum[r][c] += AT(ly + r * BY + i, lx + c * BX + j)
                       * weights[i * F + j];
  for (int r = 0; r < TY; r++)
    for (int c = 0; c < TX; c++) {
      int y = top + ly + r * BY, x = left + lx + c * BX;
      if (y < n && x < n)
        out[y * n + x] = sum[r][c];
    }
}]]
local plain = [[
kernel void plain(global const float *image, constant float *weights,
                  global float *out, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++)
      sum += image[(y + i) * (n + 4) + x + j] * weights[i * 5 + j];
  out[y * n + x] = sum;
}]]

-- the fourteen lines
local image, weights = matrix.random(n + 4), matrix.random(5)
local out = cl.buffer("float", n * n)
cl.kernel(plain):range{n, n}(image, weights, out, n)
local best = tune{kernel = source, name = "convolution",
  args = {image, weights, out, n}, flop = 2 * 25 * n * n,
  params = {bx = "8..64*2", by = "1..16*2", tx = "1..4", ty = "1..4",
    stage = {0, 1}, pad = {0, 1}, unroll = {0, 1}},
  where = {"bx * by >= 32", "bx * by <= 256", "pad <= stage"},
  range = function(p)
    return {-(-n // (p.bx * p.tx)) * p.bx, -(-n // (p.by * p.ty)) * p.by},
      {p.bx, p.by}
  end, check = out:read(), seed = args.seed,
  strategy = args.strategy, evaluations = args.evaluations,
  race = not args.full}

print(best)
if args.save then
  best:save(args.save)
end

#!/usr/bin/env clshell
-- bench_tiles.lua - what tiles in local memory bring to a matrix product:
-- tile 4, 8, 16, 32, with guarded edges, padded matrices, padded rows,
-- swizzled rows and float4 loads, beside the plain kernel and the CPU.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_tiles.lua",
  "Tiled matrix products C = A B, N x N, over tile sizes and variants.",
  "Every rate belongs to a result that was compared with float64.")
parser:argument("N", "size; 512 on a CPU, 4096 on a GPU if left out")
  :args("?"):convert(script.size)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:option("--seed", "of the random matrices", "1")
  :convert(script.integer)
output.options(parser)
local args = script.parse(parser)
local n = args.N or (cl.device().type == "cpu" and 512 or 4096)
script.fits(parser, ("three matrices of %dx%d"):format(n, n),
  3.0 * n * n * (args.type == "double" and 8 or 4))
local out <close> = output.open(parser, args)

local A = matrix.random(n, n, {type = args.type, seed = args.seed})
local B = matrix.random(n, n, {type = args.type, seed = args.seed + 1})

local variants = {
  {"tiled", edge = "guard"}, {"tiled", edge = "pad"}, {"tiled_padded"},
  {"tiled_swizzled"}, {"tiled_float4"},
}
local tiles = {4, 8, 16, 32}

out:heading(("GEMM %dx%dx%d %s"):format(n, n, n, args.type))
local function peak()
  return peaks()["fma_" .. args.type]
end
do
  local part <close> = out:part{steps = 3 + #variants * #tiles, peak = peak,
    columns = {"kernel", "tile", "local", "ms", "gflops", "gbs", "peak",
      "speedup", "err", "note"}}
  local function row(name, params)
    part:step(name)
    return part:add(gemm.bench(name, params, {A = A, B = B}))
  end

  part.base = row "naive"
  for _, v in ipairs(variants) do
    for _, tile in ipairs(tiles) do
      row(v[1], {tile = tile, edge = v.edge}).label = v.edge
        and v[1] .. " " .. v.edge or v[1]
    end
  end
  row "plain_c"
  row "openblas"
end
out:say(([[

ms: median on the device's clock. GFLOPS: 2 N^3 / time. GB/s: A, B and C
moved once. %% peak: of %s, measured here. speed-up: over naive.
error: largest |C - float64| / (|A||B|).]]):format(
  peak() and ("%.4g GFLOPS"):format(peak() / 1e9) or "an unknown peak"))
if #out.results > 1 then
  out:say(function() return "\n" .. lesson.ladder(out.results) end)
end

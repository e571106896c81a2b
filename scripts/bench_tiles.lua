#!/usr/bin/env clshell
-- bench_tiles.lua - what tiles in local memory bring to a matrix product:
-- tile 4, 8, 16, 32, with guarded edges, padded matrices, padded rows,
-- swizzled rows and float4 loads, beside the plain kernel and the CPU.
-- SPDX-License-Identifier: MIT

local output, report = require "clshell.output", require "clshell.report"
local script = require "clshell.script"

local parser = script.parser("bench_tiles.lua",
  "Tiled matrix products C = A B, N x N, over tile sizes and variants.",
  "Every rate belongs to a result that was compared with float64.")
parser:argument("N", "size; 256 on a CPU, 2048 on a GPU if left out")
  :args("?"):convert(script.size)
parser:option("--seconds", "for all rows; 15 on a CPU if N is left out")
  :convert(function(s)
    return tonumber(s) and tonumber(s) > 0 and tonumber(s) or nil,
      "--seconds must be a number > 0; got '" .. s .. "'"
  end)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:option("--seed", "of the random matrices", "1")
  :convert(script.integer)
output.options(parser)
local args = script.parse(parser)
local cpu = cl.device().type == "cpu"
local n = args.N or (cpu and 256 or 2048)
local short = cpu and not (args.N or args.output)
local seconds = args.seconds or short and 15 or math.huge
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
local HOST = 2^32 -- operations; plain C takes many seconds for more

-- The peaks that are measured already, by name.
local function known()
  local list = {}
  for name, found in pairs(peaks.tries(cl.context())) do
    list[name] = found.peak > 0 and found.peak or nil
  end
  return list
end

local fma = "fma_" .. args.type
local before, left = known()[fma], {}
out:heading(("GEMM %dx%dx%d %s"):format(n, n, n, args.type))
do
  local part <close> = out:part{steps = 3 + #variants * #tiles, base = "first",
    peak = function() return known()[fma] end, columns = {"kernel", "tile",
      "local", "ms", "gflops", "gbs", "peak", "speedup", "err", "note"}}
  local begin = cl.now()
  local function row(name, params, label)
    part:step(name)
    if cl.now() - begin > seconds then
      left[#left + 1] = label .. (params.tile and " " .. params.tile or "")
      return
    end
    local r = gemm.bench(name, params, {A = A, B = B}, {
      roof = before ~= nil and not short, seconds = short and 0.25 or nil,
      warmup = short and 0.05 or nil, samples = short and 1 or nil})
    r.label = label
    part:add(r)
  end

  row("naive", {}, "naive")
  row("openblas", {}, "openblas")
  for _, tile in ipairs(tiles) do
    for _, v in ipairs(variants) do
      row(v[1], {tile = tile, edge = v.edge}, v.edge
        and v[1] .. " " .. v.edge or v[1])
    end
  end
  if 2.0 * n^3 > HOST then
    left[#left + 1] = "plain_c"
  else
    row("plain_c", {}, "plain_c")
  end
end
if left[1] then
  out:say(table.concat(report.wrap("left out for the time they take: "
    .. table.concat(left, ", ") .. (seconds < math.huge
    and " (--seconds gives more)" or ""), report.width()), "\n"))
end
out:say [[

ms: median on the device's clock. GFLOPS: 2 N^3 / time. GB/s: A, B and C
moved once. speed-up: over naive. error: largest |C - float64| / (|A||B|).]]

-- The peaks come after the rows: measuring them takes time, once a device.
local peak = peaks.get(fma)
local best = 0
for _, r in ipairs(out.results) do
  best = math.max(best, not gemm.host(r.kernel) and r.gflops or 0)
  if not (short or r.roof) then
    roofline.place(r, nil, r.ok)
  end
end
if peak and best > 0 then
  out:say(("peak: %.4g GFLOPS, measured here; the best kernel has %.1f %% of "
    .. "it."):format(peak / 1e9, 100e9 * best / peak))
end
if short then
  out:say "'clshell bench_tiles.lua 512' takes longer, and reads the steps."
elseif #out.results > 1 then
  out:say(function() return "\n" .. lesson.ladder(out.results) end)
end

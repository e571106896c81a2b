#!/usr/bin/env clshell
-- bench_gemm.lua - the whole GEMM ladder, from the plain kernel to the
-- fastest, in float and double, beside the CPU's own libraries.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_gemm.lua",
  "Every rung of the GEMM ladder, C = A B, on one or more shapes.",
  "Every rate belongs to a result that was compared with float64.")
parser:argument("shape", "N or MxNxK; 256 and 512 on a CPU, 1024 to 8192 on "
  .. "a GPU if left out"):args("*"):convert(script.gemm_shape)
parser:option("-t --type", "float, double, or both", "both")
  :choices{"float", "double", "both"}
parser:option("-k --kernel", "only this rung; may be repeated"):count("*")
  :convert(script.kernel(gemm))
output.options(parser)
local args = script.parse(parser)
local shapes = args.shape
for _, s in ipairs(shapes) do
  local m, n, k = s[1], s[2], s[3]
  script.fits(parser, ("matrices of %dx%dx%d"):format(m, n, k),
    (1.0 * m * k + 1.0 * k * n + 1.0 * m * n)
    * (args.type == "float" and 4 or 8))
end
local out <close> = output.open(parser, args)

local device = cl.device()
if #shapes == 0 then
  for _, n in ipairs(device.type == "cpu" and {256, 512}
      or {1024, 2048, 4096, 8192}) do
    shapes[#shapes + 1] = {n, n, n}
  end
end

local types = args.type == "both" and {"float", "double"} or {args.type}
local names = args.kernel
if #names == 0 then
  for i, k in ipairs(gemm.kernels()) do
    names[i] = k.name
  end
  names[#names + 1] = "plain_c"
  names[#names + 1] = "openblas"
end

local function ladder(m, n, k, type)
  local operands = {A = matrix.random(m, k, {type = type, seed = 1}),
    B = matrix.random(k, n, {type = type, seed = 2})}
  local function peak()
    return peaks()["fma_" .. type]
  end
  local part <close> = out:part{steps = #names, peak = peak, base = "naive",
    title = ("\nGEMM %dx%dx%d %s, of a measured peak of %s"):format(m, n, k,
      type, peak() and ("%.4g GFLOPS"):format(peak() / 1e9) or "unknown"),
    columns = {"kernel", "config", "local", "ms", "gflops", "peak",
      "speedup", "err", "note"}}
  for _, name in ipairs(names) do
    part:step(name)
    part:add(gemm.bench(name, nil, operands))
  end
  return part.rows
end

out:heading "The GEMM ladder"
for _, type in ipairs(types) do
  if type == "double" and not device:has "cl_khr_fp64" then
    out:say("\ndouble: " .. device.name .. " has no cl_khr_fp64")
  else
    for _, s in ipairs(shapes) do
      local rows = ladder(s[1], s[2], s[3], type)
      if #rows > 1 then
        out:say(function() return "\n" .. lesson.ladder(rows) end)
      end
    end
  end
end

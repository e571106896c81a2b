#!/usr/bin/env clshell
-- bench_transpose.lua - the transpose ladder: no arithmetic at all, only the
-- order in which memory is read and written.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_transpose.lua",
  "B = A transposed, N x N or MxN, beside the device's copy bandwidth.")
parser:argument("shape", "N or MxN; 2048 on a CPU, 8192 on a GPU if left out")
  :args("*"):convert(script.matrix_shape)
parser:option("-t --type", "float, double or both", "both")
  :choices{"float", "double", "both"}
output.options(parser)
local args = script.parse(parser)
local shapes = args.shape
for _, s in ipairs(shapes) do
  script.fits(parser, ("two matrices of %dx%d"):format(s[1], s[2]),
    2.0 * s[1] * s[2] * (args.type == "float" and 4 or 8))
end
local out <close> = output.open(parser, args)

local device = cl.device()
if #shapes == 0 then
  local n = device.type == "cpu" and 2048 or 8192
  shapes[1] = {n, n}
end
local types = args.type == "both" and {"float", "double"} or {args.type}

local function ladder(m, n, type)
  local A = matrix.random(m, n, {type = type, seed = 1})
  local names = {}
  for i, k in ipairs(transpose.kernels()) do
    names[i] = k.name
  end
  names[#names + 1] = "plain_c"
  local part <close> = out:part{steps = #names, by = "gbs", base = "first",
    peak = function() return peaks().copy end,
    title = ("\ntranspose %dx%d %s"):format(m, n, type),
    columns = {"kernel", "config", "local", "ms", "gbs",
      {key = "percent", title = "% copy", format = "%.1f"}, "speedup",
      "note"}}
  for _, name in ipairs(names) do
    part:step(name)
    part:add(transpose.bench(name, nil, {A = A}))
  end
end

out:heading(("Transpose; copy bandwidth %.4g GB/s"):format(
  peaks().copy / 1e9))
for _, type in ipairs(types) do
  if type == "double" and not device:has "cl_khr_fp64" then
    out:say("\ndouble: " .. device.name .. " has no cl_khr_fp64")
  else
    for _, s in ipairs(shapes) do
      ladder(s[1], s[2], type)
    end
  end
end

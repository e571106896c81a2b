#!/usr/bin/env clshell
-- bench_gemm.lua - the whole GEMM ladder, from the plain kernel to the
-- fastest, in float and double, beside the CPU's own libraries.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local report = require "clshell.report"
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
parser:flag("--kinds", "the accuracy of double products instead: the errors "
  .. "of rung ozaki, of the tiled kernel that stands by and of the CPU's BLAS "
  .. "on 35 kinds of operands; 64x64x1000 if no shape is given")
parser:option("--moduli", "with --kinds: int8 products of ozaki, 6 to 18; "
  .. "0: by k", "0"):choices{"0", "6", "7", "8", "9", "10", "11", "12", "13",
  "14", "15", "16", "17", "18"}:convert(function(word)
    return math.tointeger(tonumber(word))
  end)
output.options(parser)
local args = script.parse(parser)
if args.kinds and (args.format or args.output) then
  parser:error "--kinds prints a table of errors, nothing for --format or -o"
end
local shapes = args.shape
for _, s in ipairs(shapes) do
  local m, n, k = s[1], s[2], s[3]
  script.fits(parser, ("matrices of %dx%dx%d"):format(m, n, k),
    (1.0 * m * k + 1.0 * k * n + 1.0 * m * n)
    * (args.type == "float" and 4 or 8))
end
local out <close> = output.open(parser, args)

-- The errors of a product of operands of each kind, as fractions of |A||B|.
local function accuracy(m, n, k)
  local kinds = require "lib.kinds"
  local rows, host, without = {}, require "cl.host", nil
  for name, A, B in kinds.list(m, n, k, 1) do
    local C <close> = gemm(A, B, {kernel = "ozaki", moduli = args.moduli})
    local D <close> = gemm(A, B, {kernel = "tiled_transposed_b"})
    local blas, why = host.gemm_blas(A:read(), B:read(), {})
    without = not blas and why
    local row = {name = name, ozaki = kinds.error(A, B, C),
      tiled = kinds.error(A, B, D), note = C:read():equal(D:read())
        and "the tiled kernel's bits" or nil}
    if blas then
      local E <close> = cl.buffer("double", {m, n}, blas)
      row.blas = kinds.error(A, B, E)
      row.ratio = row.blas > 0 and row.ozaki / row.blas or nil
    end
    rows[#rows + 1] = row
    A:close()
    B:close()
  end
  out:say(("Largest error of C = A B, %dx%dx%d double, as a fraction of "
    .. "|A||B|,\nagainst a product in double-double"):format(m, n, k))
  out:say(report.format(rows, {{key = "name", title = "kind"},
    {key = "ozaki", format = "%.2e"}, {key = "tiled", format = "%.2e"},
    {key = "blas", title = "BLAS", format = "%.2e"},
    {key = "ratio", title = "of BLAS", format = "%.2f"}, "note"}))
  if without then
    out:say("No column for the CPU's BLAS: " .. without)
  end
end

local device = cl.device()
if args.kinds then
  if not device:has "cl_khr_fp64" then
    parser:error("--kinds takes double, which " .. device.name .. " has not")
  end
  shapes = #shapes > 0 and shapes or {{64, 64, 1000}}
  out:heading "Accuracy of double products"
  for _, s in ipairs(shapes) do
    accuracy(s[1], s[2], s[3])
  end
  out:say "\nozaki refuses operands that would lose more than double does:"
  out:say "the tiled kernel computes those, so their bits are the same."
  return
end
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

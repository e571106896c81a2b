#!/usr/bin/env clshell
-- bench_access.lua - whether the numbers of access are true: kernels whose
-- sectors and bank conflicts a formula tells, and a GPU's counters beside
-- them. Nsight Compute profiles CUDA only, so --cuda writes the kernels as a
-- CUDA program, and --ncu reads what it measured.
-- SPDX-License-Identifier: MIT

local report = require "clshell.report"
local script = require "clshell.script"

local SECTORS <const> = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_"
  .. "global_op_ld.ratio"
local CONFLICTS <const> = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
  .. "ld.sum"
local WARPS = 32 -- of a launch: one work-group of 32 x 32

local parser = script.parser("bench_access.lua", "Sectors and bank passes as "
  .. "access tells them, against formulas and a GPU's counters.",
  "With nvcc and ncu: clshell bench_access.lua --cuda a.cu; nvcc -o a a.cu;\n"
  .. ("ncu --csv --metrics %s,\n%s ./a >a.csv;\n"):format(SECTORS, CONFLICTS)
  .. "clshell bench_access.lua --ncu a.csv")
parser:option("--cuda", "the file of a CUDA program to write; runs nothing")
parser:option("--ncu", "what ncu --csv printed"):convert(script.readable)
local args = script.parse(parser)

local kernels, source, calls = {}, {}, {}
local function kernel(name, space, formula, body, ...)
  kernels[#kernels + 1] = {name = name, space = space, formula = formula,
    unit = space == "global" and "sectors" or "passes"}
  source[#kernels] = ("__global__ void %s(const float *x, float *y) {\n"
    .. "  int i = threadIdx.x, j = threadIdx.y;\n  %s\n}\n"):format(name,
    body:format(...))
  calls[#kernels] = ("  %s<<<1, dim3(32, 32)>>>(x, y);\n"):format(name)
end
for _, s in ipairs{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32, 33, 64} do
  kernel("stride_" .. s, "global", math.min(4 * s, 32),
    "y[32 * j + i] = x[%d * (32 * j + i)];", s)
end
local TILE = "__shared__ float t[32][%d];\n  t[j][%s] = x[32 * j + i];\n"
  .. "  __syncthreads();\n  y[32 * j + i] = t[i][%s];"
for i, ways in ipairs{32, 1, 2, 1} do
  kernel("pad_" .. i - 1, "local", ways, TILE, 31 + i, "i", "j")
end
kernel("swizzle", "local", 1, TILE, 32, "i ^ j", "i ^ j")
local program = table.concat(source) .. "int main() {\n  float *x, *y;\n"
  .. "  cudaMalloc(&x, 65 * 4096);\n  cudaMalloc(&y, 65 * 4096);\n"
  .. table.concat(calls) .. "  return cudaDeviceSynchronize();\n}\n"
if args.cuda then
  require "clshell.base.file".write(args.cuda, program, "the CUDA program")
  return
end

-- Counters by kernel and name from the CSV, which follows lines of ncu's own.
local function counters(path)
  local found, columns = {}, nil
  for line in io.lines(path) do
    local fields = {}
    for field in line:gmatch '"([^"]*)"' do
      fields[#fields + 1] = field
    end
    if line:find('"Metric Name"', 1, true) then
      columns = {}
      for i, name in ipairs(fields) do
        columns[name] = i
      end
    elseif columns and fields[columns["Metric Value"]] then
      local name = fields[columns["Kernel Name"]]:match "^[%w_]+"
      found[name .. " " .. fields[columns["Metric Name"]]] =
        tonumber((fields[columns["Metric Value"]]:gsub(",", "")))
    end
  end
  return next(found) and found
    or parser:error(path .. " has no table of ncu --csv; see --help")
end

local told, exact = args.ncu and counters(args.ncu) or {}, 0
local x, y = cl.buffer("float", 65 * 1024, 0), cl.buffer("float", 65 * 1024)
local built = cl.build(program, {cuda = true})
for _, k in ipairs(kernels) do
  for _, row in ipairs(access(built[k.name]:range({32, 32}, {32, 32}), x, y,
    {as = "H100"}).rows) do
    if row.kind == "load" and row.space == k.space then
      k.access = row[k.unit] / row.requests
    end
  end
  exact = exact + (k.access == k.formula and 1 or 0)
  local conflicts = told[k.name .. " " .. CONFLICTS]
  k.counter = k.unit == "sectors" and told[k.name .. " " .. SECTORS]
    or k.unit == "passes" and conflicts and 1 + conflicts / WARPS or nil
  k.off = k.counter and ("%.1f %%"):format(100 * (k.access / k.counter - 1))
end
report(kernels, {{key = "name", title = "kernel"}, {key = "unit",
  title = "a load's"}, {key = "access", align = "right"}, {key = "formula",
  align = "right"}, {key = "counter", align = "right"}, {key = "off",
  align = "right"}})
print(("%d of %d are as the formula tells."):format(exact, #kernels))
os.exit(exact == #kernels)

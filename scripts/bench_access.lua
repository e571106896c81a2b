#!/usr/bin/env clshell
-- bench_access.lua - whether the numbers of access are true: kernels whose
-- sectors and bank conflicts a formula tells, the ladders' kernels, and a
-- GPU's counters beside them. Nsight Compute profiles CUDA only, so --cuda
-- writes a CUDA program: on an NVIDIA device with the ladders' kernels too, as
-- the PTX text that the driver made of them. --ncu reads the counters.
-- SPDX-License-Identifier: MIT

local cuda_ptx = require "clshell.ladder.ptx".for_cuda
local report = require "clshell.report"
local script = require "clshell.script"
local text = require "clshell.base.text"

local LANES <const> = 32 -- of a warp
local GLOBAL <const> = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_"
  .. "global_op_%s.ratio"
-- Counters smsp__sass_ count instructions with a lane that takes part; other
-- counters also count instructions that all lanes skip.
local PASSES <const> = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_"
  .. "op_%s.sum"
local SHARED <const> = "smsp__sass_inst_executed_op_shared_%s.sum"
local KINDS <const> = {load = "ld", store = "st"}
local metrics = {}
for _, format in ipairs{GLOBAL, PASSES, SHARED} do
  for _, kind in ipairs{"load", "store"} do
    metrics[#metrics + 1] = format:format(KINDS[kind])
  end
end

local parser = script.parser("bench_access.lua", "Sectors and bank passes as "
  .. "access tells them, against formulas and a GPU's counters.",
  "With nvcc and ncu: clshell bench_access.lua --cuda a.cu;\n"
  .. "nvcc -o a a.cu -lcuda; ncu --csv --metrics \\\n"
  .. table.concat(metrics, ",\\\n") .. " ./a >a.csv;\n"
  .. "clshell bench_access.lua --ncu a.csv")
parser:option("--cuda", "the file of a CUDA program to write; runs nothing")
parser:option("--ncu", "the output of ncu --csv"):convert(script.readable)
local args = script.parse(parser)

-- The kernels with a formula, as CUDA text.
local rows, source, calls = {}, {}, {}
local function kernel(name, what, formula, body, ...)
  rows[#rows + 1] = {name = name, what = what, formula = formula}
  source[#rows] = ("__global__ void %s(const float *x, float *y) {\n"
    .. "  int i = threadIdx.x, j = threadIdx.y;\n  %s\n}\n"):format(name,
    body:format(...))
  calls[#rows] = ("  %s<<<1, dim3(32, 32)>>>(x, y);\n"):format(name)
end
for _, s in ipairs{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32, 33, 64} do
  kernel("stride_" .. s, "load sectors", math.min(4 * s, LANES),
    "y[32 * j + i] = x[%d * (32 * j + i)];", s)
end
local TILE = "__shared__ float t[32][%d];\n  t[j][%s] = x[32 * j + i];\n"
  .. "  __syncthreads();\n  y[32 * j + i] = t[i][%s];"
for i, ways in ipairs{32, 1, 2, 1} do
  kernel("pad_" .. i - 1, "load passes", ways, TILE, 31 + i, "i", "j")
end
kernel("swizzle", "load passes", 1, TILE, 32, "i ^ j", "i ^ j")


-- Calls f(name, plan) for each rung of the ladders, on sizes that tiles divide
-- and on sizes that they do not; plan() is its plan, or nil and why the device
-- cannot run it.
local function each_rung(f)
  local function ladder(family, size, operands)
    for _, entry in ipairs(family.kernels()) do
      if not entry.name:find "^nv_" then -- PTX, which cannot be simulated
        f(("%s_%s_%s"):format(family.name, entry.name, size), function()
          local list = operands(entry.rung)
          list[#list + 1] = {kernel = entry.name}
          local ok, plan = pcall(family.plan, table.unpack(list))
          return ok and plan or nil, plan
        end)
      end
    end
  end
  for _, size in ipairs{{"even", 64, 64, 64}, {"odd", 70, 50, 30}} do
    local name, m, n, k = table.unpack(size)
    local A, B = matrix.random(m, k, {seed = 1}), matrix.random(k, n)
    local D = dia.poisson2d(m, k)
    local S, P = D:to_csr(), D:pack()
    local x = cl.buffer("float", D.cols, 1)
    ladder(gemm, name, function() return {A, B} end)
    ladder(transpose, name, function() return {A} end)
    ladder(reduce, name, function() return {A} end)
    ladder(spmv, name, function(rung)
      return {({csr = S, dia = D, packed = P})[rung.format], x}
    end)
  end
end

-- The C++ that loads and starts OpenCL's PTX by CUDA's driver.
local LAUNCH <const> = [[
#include <cmath>
#include <cstdio>
#include <cuda.h>
#include <vector>

struct Arg {  // a number, or a buffer: its words, or the result's
  enum {NUMBER, INPUT, RESULT} kind;
  size_t bytes;
  const void *words;
  CUdeviceptr at;
};

// Says what failed; returns whether a call went well.
static bool good(CUresult r, const char *name, const char *call) {
  const char *why = "an unknown error";
  if (r == CUDA_SUCCESS)
    return true;
  cuGetErrorName(r, &why);
  fprintf(stderr, "%s: %s: %s\n", name, call, why);
  return false;
}

// Runs a kernel and compares its result with OpenCL's; 1 where that fails.
static int launch(const char *name, const char *ptx, long level,
                  const unsigned *n, std::vector<Arg> args) {
#define TRY(call) \
  do { if (!good(call, name, #call)) return 1; } while (0)
  static char log[1 << 16];
  CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL,
      CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {(void *)level, log, (void *)sizeof log};
  log[0] = 0;
  CUmodule module;
  if (!good(cuModuleLoadDataEx(&module, ptx, 3, options, values), name,
            "cuModuleLoadDataEx")) {
    fprintf(stderr, "%s\n", log);
    return 1;
  }
  CUfunction f;
  TRY(cuModuleGetFunction(&f, module, name));
  std::vector<void *> list;
  for (Arg &a : args) {
    list.push_back(a.kind == Arg::NUMBER ? (void *)a.words : &a.at);
    if (a.kind == Arg::NUMBER)
      continue;
    TRY(cuMemAlloc(&a.at, a.bytes));
    if (a.kind == Arg::INPUT)
      TRY(cuMemcpyHtoD(a.at, a.words, a.bytes));
    else
      TRY(cuMemsetD8(a.at, 0xff, a.bytes));  // NaN
  }
  TRY(cuLaunchKernel(f, n[0], n[1], n[2], n[3], n[4], n[5], 0, 0,
                     list.data(), nullptr));
  TRY(cuCtxSynchronize());
  float worst = 0, most = 0;
  for (Arg &a : args) {
    std::vector<float> got(a.bytes / sizeof(float));
    const float *expected = (const float *)a.words;
    if (a.kind == Arg::RESULT)
      TRY(cuMemcpyDtoH(got.data(), a.at, a.bytes));
    for (size_t i = 0; a.kind == Arg::RESULT && i < got.size(); i++) {
      const float d = fabsf(got[i] - expected[i]);
      worst = d <= worst ? worst : d;  // a NaN stays
      most = fmaxf(most, fabsf(expected[i]));
    }
    if (a.kind != Arg::NUMBER)
      TRY(cuMemFree(a.at));
  }
  TRY(cuModuleUnload(module));
  fprintf(stderr, "%s: off by %g of %g\n", name, worst, most);
  return !(worst <= 1e-5f * most);
}

]]

local PACK <const> = {int = "<i4", uint = "<I4", long = "<i8", ulong = "<I8",
  float = "<f"}
local words = {} -- texts of the program: data by content

-- The name of an array with the 32-bit words of a text.
local function data(content)
  if not words[content] then
    local list = {}
    for at = 1, #content, 4 do
      list[#list + 1] = ("0x%x"):format((string.unpack("<I4", content, at)))
    end
    words[#words + 1] = ("static const unsigned data%d[] = {%s};\n"):format(
      #words, table.concat(list, ","):gsub(("[^,]*,"):rep(8), "%0\n"))
    words[content] = "data" .. #words - 1
  end
  return words[content]
end

-- The launch of a plan's main command as C++; nil and the reason where CUDA
-- cannot. `plain`: without the compiler's optimisations. The result is the
-- last buffer: not all drivers tell which pointers are to const.
local function launch_text(name, plan, plain)
  plan():wait()
  local command = plan.commands[plan.main]
  local run, list, result = command.launch.kernel, {}, nil
  for i, param in ipairs(run.args) do
    result = param.space == "global" and i or result
  end
  for i, param in ipairs(run.args) do
    local value = command[i]
    local format = PACK[param.type]
    local typed = text.class(value) == "Value" -- such as cl.long2(0, 0)
    local kind = (format or typed) and "NUMBER" or i == result and "RESULT"
      or "INPUT"
    local content = format and format:pack(value) or typed and value.data
      or value:as("char"):view(1, value.bytes):read():tobytes()
    list[i] = ("{Arg::%s, %d, %s, 0}"):format(kind, #content, data(content))
  end
  local built, size = run.program, {}
  for i = 1, 3 do
    local n = command.launch.localsize[i] or 1
    size[i], size[i + 3] = (command.launch.global[i] or 1) // n, n
  end
  if plain then
    built = cl.build(built.defines .. built.source, {options =
      built.options:gsub("^%-cl%-kernel%-arg%-info", "-cl-opt-disable")})
  end
  local code, reason = cuda_ptx(built:binary{raw = true}, run.name, name)
  return code and ('  {\n    const unsigned n[] = {%s};\n    failed += '
    .. 'launch("%s", R"PTX(%s)PTX", %d,\n      n, {%s});\n  }\n'):format(
      table.concat(size, ", "), name, code, plain and 0 or 4,
      table.concat(list, ",\n      ")), reason
end

local kernels = table.concat(source)
local function write_program(path)
  local missing = {}
  local function add(name, plan, plain)
    local call, reason = launch_text(name, plan, plain)
    calls[#calls + 1] = call
    return reason
  end
  each_rung(function(name, make)
    local plan, reason = make()
    reason = not plan and reason or add(name, plan)
      or add(name .. "_plain", plan, true)
    if reason then
      reason = tostring(reason)
      missing[reason] = (missing[reason] and missing[reason] .. ", " or "")
        .. name
    end
  end)
  for reason, names in pairs(missing) do
    local line = ("left out, as %s: %s"):format(reason, names)
    io.stderr:write(table.concat(text.wrap(line, 79), "\n"), "\n")
  end
  require "clshell.base.file".write(path, LAUNCH .. table.concat(words)
    .. kernels .. "int main() {\n  int failed = 0;\n  float *x, *y;\n"
    .. "  cudaMalloc(&x, 65 * 4096);\n  cudaMalloc(&y, 65 * 4096);\n"
    .. table.concat(calls) .. "  return failed + cudaDeviceSynchronize();\n"
    .. "}\n", "the CUDA program")
end
if args.cuda then
  write_program(args.cuda)
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
local told = args.ncu and counters(args.ncu) or {}

-- The counter beside a row: "load sectors" and so on.
local function counter(name, what)
  local kind, unit = what:match "(%l+) (%l+)"
  local function of(format)
    return told[name .. " " .. format:format(KINDS[kind])]
  end
  if unit == "sectors" then
    return of(GLOBAL)
  end
  local passes, requests = of(PASSES), of(SHARED)
  return passes and requests and requests > 0 and passes / requests or nil
end

-- The numbers that access tells of a launch or plan: "load sectors" and so on
-- of a request.
local function of_access(...)
  local sums, numbers = {}, {}
  for _, row in ipairs(access(...).rows) do
    for unit, space in pairs{sectors = "global", passes = "local"} do
      local what = row.kind .. " " .. unit
      local sum = sums[what] or {0, 0}
      sums[what] = sum
      if row.space == space then
        sum[1], sum[2] = sum[1] + row[unit], sum[2] + row.requests
      end
    end
  end
  for what, sum in pairs(sums) do
    numbers[what] = sum[2] > 0 and sum[1] / sum[2] or nil
  end
  return numbers
end

local exact = 0
local x, y = cl.buffer("float", 65 * 1024, 0), cl.buffer("float", 65 * 1024)
local built = cl.build(kernels, {cuda = true})
for _, row in ipairs(rows) do
  row.access = of_access(built[row.name]:range({32, 32}, {32, 32}), x, y,
    {as = "H100"})[row.what]
  exact = exact + (row.access == row.formula and 1 or 0)
  row.counter = counter(row.name, row.what)
end
local alone = {} -- rungs without counters
each_rung(function(name, plan)
  local numbers
  for _, what in ipairs{"load sectors", "store sectors", "load passes",
      "store passes"} do
    local found = counter(name, what)
    if found and found > 0 then
      numbers = numbers or of_access(assert(plan()), {as = "H100", groups =
        "all"})
      rows[#rows + 1] = {name = name, what = what, access = numbers[what],
        counter = found, plain = counter(name .. "_plain", what)}
    end
  end
  alone[#alone + 1] = not numbers and name or nil
end)
-- The number of rows with a counter, and how many are within 5 % of it.
local function near(key)
  local n, good = 0, 0
  for _, row in ipairs(rows) do
    local value = row[key]
    n = n + (value and 1 or 0)
    good = good + (value and row.access
      and math.abs(row.access / value - 1) <= 0.05 and 1 or 0)
  end
  return good, n
end
for _, row in ipairs(rows) do
  row.off = row.counter and row.access
    and ("%.1f %%"):format(100 * (row.access / row.counter - 1))
end
local columns = {{key = "name", title = "kernel"}, {key = "what",
  title = "a request's"}}
for _, key in ipairs{"access", "formula", "counter", "off", "plain"} do
  columns[#columns + 1] = {key = key, align = "right", format =
    key ~= "off" and "%.4g" or nil}
end
report(rows, columns)
local function say(...)
  print(table.concat(text.wrap(string.format(...), 79), "\n"))
end
say("%d of %d are as the formula tells.", exact, #source)
if args.ncu then
  local good, n = near "counter"
  say("Of %d counters access is within 5 %% of %d.", n, good)
  good, n = near "plain"
  say("plain: built without optimisation; within 5 %% of %d of %d. access "
    .. "tells the accesses that the source has: what the compiler merges, "
    .. "splits or drops shows as a counter that differs from plain.", good, n)
  if alone[1] then
    say("No counters, as --cuda left them out: %s.", table.concat(alone, ", "))
  end
end
os.exit(exact == #source)

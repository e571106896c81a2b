-- scripts.lua - every script as a user runs it: its help, a small run, a
-- mistake on the command line, no device, an output that nobody reads.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local json = require "clshell.base.json"

local device = t.device()
local build = os.getenv "CLSHELL_BUILD" or "build"
if build:sub(1, 1) ~= "/" then
  build = cl.home .. "/" .. build
end
local here = cl.home

-- Runs a script; standard output, standard error and the exit code.
local function run(command)
  local errors = t.tmp("stderr")
  local pipe <close> = assert(io.popen(("COLUMNS=80 %s %s 2>%s </dev/null; "
    .. "echo $?"):format(t.exe, command, errors)))
  local out, code = pipe:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  local f <close> = assert(io.open(errors))
  return out, f:read("a"), tonumber(code)
end

local function script(name)
  return ("%s/scripts/%s.lua"):format(here, name)
end

-- The words of a script's name for clshell, with short measurements.
local function briefly(name)
  return t.brief .. " " .. script(name)
end

-- A small run of each, and words that its output has.
local small = {
  hello = {"", "y[1] = 7", "GFLOPS", "GB/s"},
  devices = {"", "type", device.type},
  bench_tiles = {"65", "kernel", "tile", "local", "ms", "GFLOPS", "GB/s",
    "peak: ", "speed", "error", "naive", "tiled guard", "tiled pad",
    "tiled_padded", "tiled_swizzled", "tiled_float4", "openblas", "plain_c",
    "Gains of the steps here", "\nbest  "},
  bench_gemm = {"65x33x17", "GFLOPS", "register", "simd", "tiled_constant",
    "double", "Gains of the steps here", "\nbest  "},
  bench_spmv = {"-r 1k", "2-D Poisson", "3-D Poisson", "banded",
    "specialised", "csr_vector", "% copy", "small.mtx, float: 4 entries"},
  bench_transpose = {"65x33", "GB/s", "tiled_padded", "float4"},
  bench_families = {"reduce gemv conv2d -n 33 -f 3", "reduce 1089 float",
    "33x33 float trans=true", "33x33x3x3 float", "% read", "% copy",
    "split", "as a call"},
  bench_array = {"1000", "copy", "step by step", "expression", "by hand",
    "% read", "x:sum()", "x:dot(y)", "us more than a launch",
    "pyopencl.array"},
  bench_sort = {"1000", "Gkeys/s", "% copy", "sort.wide", "as called",
    "with places", "threefry", "histogram, 256 bins"},
  cg = {"16 --peer", "DIA", "CSR", "ms each, residual", "PyOpenCL"},
  bench_split = {"-n 33 -g 9", "one device", "A in rows, B in copies",
    "A and B in rows", "M, x and y in rows", "gain", "GFLOPS"},
  bench_out_of_core = {"100x60x80 -m 1", "tiles of", "in products",
    "on the device, 100x100x100 float", "out of core"},
  bench_transfer = {"1", "write", "read", "map", "GB/s", "N ="},
  bench_launch = {"-n 50 -r 3", "launch", "from Lua", "from C"},
  register_blocking = {"65", "column_block", "r=8", "naive"},
  bench_tune = {"--seeds 2 --evaluations 3 6 --", "9 points, the best 1.0",
    "ms per evaluation", "\nsurrogate "},
  stencil = {"33", "naive", "rows", "33x33 float",
    "4 evaluations of 4 points"},
  tune_convolution = {"33 --evaluations 2", "convolution 37x37, 5x5",
    "2 evaluations of 1344 points"},
}
local PLAIN = {hello = true, devices = true, bench_tune = true,
  cg = true, stencil = true, tune_convolution = true,
  bench_out_of_core = true} -- no results

-- A file that a script measures as well, "" where it takes none.
local function own_file(name)
  if name == "bench_tune" then
    local path = t.tmp("space.csv")
    local f <close> = assert(io.open(path, "w"))
    f:write("x,y,ms\n")
    for i = 0, 8 do
      f:write(("%d,%d,%d\n"):format(i // 3, i % 3, 1 + i))
    end
    return path
  elseif name ~= "bench_spmv" then
    return ""
  end
  local path = t.tmp("small.mtx")
  return t.write(path, "%%MatrixMarket matrix coordinate real general\n",
    "3 3 4\n1 1 2\n2 2 3\n3 3 4\n3 1 -1\n")
end

for name, case in pairs(small) do
  t.test(name .. ": a small run", function()
    local path = not PLAIN[name] and t.tmp("o.json")
    local out, err, code = run(("%s %s %s %s"):format(briefly(name), case[1],
      own_file(name), path and "--tag here -o " .. path or ""))
    t.eq(code, 0, err)
    for i = 2, #case do
      t.ok(out:find(case[i], 1, true), ("no '%s' in:\n%s"):format(case[i],
        out))
    end
    t.narrow(out)
    t.ok(not out:find("WRONG", 1, true), out)
    if path then
      local f <close> = assert(io.open(path))
      local list = json.decode(f:read("a")).results
      t.ok(#list >= 1 and list[1].name and list[1].tag == "here", name)
    end
  end)
end

for file in t.capture(("ls %s/scripts/*.lua"):format(here)):gmatch "[^\n]+" do
  local name = file:match "([^/]+)%.lua$"
  t.test(name .. ": --help, and an option that is not there", function()
    local out, _, code = run(file .. " --help")
    t.eq(code, 0)
    t.ok(out:find("Usage: " .. name, 1, true), out)
    t.narrow(out)
    local _, err, usage = run(file .. " --nonesuch")
    t.eq(usage, 2)
    t.ok(err:find("nonesuch", 1, true), err)
  end)
end

-- What Nsight Compute prints: lines of its own, then a table.
local NCU = [[
==PROF== Connected to process 4242 (/home/me/a)
==PROF== Profiling "stride_3" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 4242
"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"
"2","stride_3(const float *, float *)","(32, 32, 1)","l1tex__average_t_]]
  .. [[sectors_per_request_pipe_lsu_mem_global_op_ld.ratio","","12.50"
"14","pad_0(const float *)","(32, 32, 1)","smsp__sass_l1tex_data_pipe_]]
  .. [[lsu_wavefronts_mem_shared_op_ld.sum","","1,056"
"14","pad_0(const float *)","(32, 32, 1)","smsp__sass_inst_executed_]]
  .. [[op_shared_ld.sum","","32"
"20","transpose_tiled_even","(32, 8, 1)","smsp__sass_l1tex_data_pipe_]]
  .. [[lsu_wavefronts_mem_shared_op_ld.sum","","3,200"
"20","transpose_tiled_even","(32, 8, 1)","smsp__sass_inst_executed_]]
  .. [[op_shared_ld.sum","","128"
"21","transpose_tiled_even_plain","(32, 8, 1)","smsp__sass_l1tex_data_pipe_]]
  .. [[lsu_wavefronts_mem_shared_op_ld.sum","","4,096"
"21","transpose_tiled_even_plain","(32, 8, 1)","smsp__sass_inst_executed_]]
  .. [[op_shared_ld.sum","","128"
]]

t.test("bench_access.lua: formulas, a CUDA program, counters", function()
  local cuda, counters = t.tmp("a.cu"), t.tmp("a.csv")
  local _, err, code = run(("%s --cuda %s"):format(script "bench_access",
    cuda))
  t.eq(code, 0, err)
  local f <close> = assert(io.open(cuda))
  local text = f:read "a"
  t.ok(text:find("__global__ void stride_64(", 1, true)
    and text:find("swizzle<<<1, dim3(32, 32)>>>(x, y);", 1, true), text)
  t.ok(text:find("launch(\"transpose_tiled_even\", R\"PTX(", 1, true)
    or err:find("left out, as the driver's binary is no PTX text:%s+gemm_"),
    err)
  t.write(counters, NCU)
  _, err, code = run(("%s --ncu %s"):format(script "bench_access", cuda))
  t.ok(code == 2 and err:find("has no table of ncu --csv", 1, true), err)
  t.skip_if(not require "clshell.explain.trace".plugin(),
    "the simulator's plugin is not built")
  local out
  out, err, code = run(("%s --ncu %s"):format(script "bench_access", counters))
  t.eq(code, 0, err)
  t.ok(out:find("19 of 19 are as the formula tells", 1, true), out)
  t.ok(out:find("stride_3 +load sectors +12 +12 +12.5 +%-4.0 %%"), out)
  t.ok(out:find("pad_0 +load passes +32 +32 +33 +%-3.0 %%"), out)
  t.ok(out:find("transpose_tiled_even +load passes +32 +25 +28.0 %% +32\n"),
    out)
  t.ok(out:find("Of 3 counters access is within 5 % of 2.", 1, true), out)
  t.ok(out:find("within 5 % of 1 of 1", 1, true)
    and out:find("left them out: gemm_naive_global_even,", 1, true), out)
  t.narrow(out)
end)

t.test("bench_tune.lua runs a search with the race and with all samples",
  function()
    local out, err, code = run(briefly "bench_tune"
      .. " --race transpose.tiled 33 --evaluations 2")
    t.eq(code, 0, err)
    t.ok(out:find("race          2 points", 1, true), out)
    t.ok(out:find("all samples   2 points", 1, true), out)
    t.ok(out:find("the race saves", 1, true), out)
    for _, wrong in ipairs{"", "--race transpose.tiled x"} do
      local _, why, usage = run(script "bench_tune" .. " " .. wrong)
      t.eq(usage, 2)
      t.ok(why:find("race", 1, true), why)
    end
  end)

t.test("hello.lua has a new kernel in ten lines, tuned in fourteen", function()
  for name, count in pairs{hello = 10, tune_convolution = 14} do
    local f <close> = assert(io.open(script(name)))
    local lines = f:read("a"):match "\n%-%- the %l+ lines\n(.-)\n\n"
    t.eq(select(2, (lines .. "\n"):gsub("\n", "")), count)
  end
end)

-- A run that takes part of a second.
local brief = briefly "bench_gemm" .. " 33 -t float -k naive -k tiled "

t.test("results for a program are all that is printed", function()
  local command = brief .. "--format "
  for _, format in ipairs{"csv", "json", "md"} do
    local out, err, code = run(command .. format)
    t.eq(code, 0, err)
    t.ok(not out:find("ladder", 1, true), out)
    if format == "json" then
      t.eq(#json.decode(out).results, 2, out)
    else
      t.ok(out:find("tiled", 1, true), out)
    end
  end
end)

t.test("results in a file, beside the tables", function()
  local command = brief .. "-o "
  for _, suffix in ipairs{"json", "csv", "md", "html"} do
    local path = t.tmp("results." .. suffix)
    local out, err, code = run(command .. path)
    t.eq(code, 0, err)
    t.ok(out:find("% peak", 1, true) and out:find("results in " .. path, 1,
      true), out)
    local f <close> = assert(io.open(path))
    local text = f:read("a")
    t.ok(text:find("tiled", 1, true), suffix)
    t.ok(suffix ~= "html" or text:find("<h2>Roofline", 1, true), suffix)
  end
  local _, err, code = run(command .. "/no/such/folder/a.csv")
  t.eq(code, 2)
  t.ok(err:find("cannot write the results: /no/such/folder/a.csv", 1, true))
  _, err, code = run(command .. t.tmp("results.xyz"))
  t.eq(code, 2)
  t.ok(err:find("--format", 1, true), err)
  if io.open("/dev/full", "w") then
    local out
    out, err, code = run(command .. "/dev/full --format csv")
    t.ok(out:find("% peak", 1, true), "the table is there all the same")
    t.eq(code, 1)
    t.ok(err:find("No space", 1, true), err)
  end
end)

t.test("the run store, the tag and no colour", function()
  local path = t.tmp("runs.db")
  local command = brief .. "--store "
  local _, err, code = run(command .. path .. " --tag blue")
  t.eq(code, 0, err)
  local out = run("history --tag blue --store " .. path)
  t.ok(out:find("gemm.tiled", 1, true), out)
  out = run(command .. path .. " --color never")
  t.ok(not out:find("\27", 1, true))
  local file = t.tmp("file")
  local f <close> = assert(io.open(file, "w"))
  f:write("no store"):flush()
  out, err, code = run(command .. file)
  t.eq({out, code}, {"", 2})
  t.ok(err:find(file, 1, true), err)
  t.ok(err:find("not an SQLite file", 1, true), err)
  out, err, code = run(script "bench_tiles" .. " 40 --color some")
  t.eq({out, code}, {"", 2}, err)
end)

t.test("the line of the best row of a script's table is bold", function()
  local path = t.tmp("table.lua")
  t.write(path, [[
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("table.lua", "Samples that are given", "")
output.options(parser)
local out <close> = output.open(parser, script.parse(parser))
local part <close> = out:part{title = "t", columns = {"kernel", "gflops"}}
for name, ms in pairs{fast = 1, slow = 2} do
  local samples = {}
  for i = 1, 12 do
    samples[i] = ms * 1e-3 * (1 + i * 1e-4)
  end
  part:add(bench.of(name, samples, {flop = 1e9}))
end
]])
  local out, err = run("--color always --store none " .. path)
  t.ok(out:find("fast +999%.%d", 1), out .. err)
  t.ok(out:find("\27[1mbest: fast\27[0m\n", 1, true), out .. err)
end)

t.test("Ctrl-C prints what was measured, and ends the script", function()
  local path = t.tmp("partial.csv")
  local conversation = t.tmp("conversation")
  do
    local f <close> = assert(io.open(conversation, "w"))
    f:write("expect naive_global\nsend \\x03\nexpect interrupted!\n",
      "exit 130\n")
  end
  local pipe <close> = assert(io.popen(("COLUMNS=80 LC_ALL=C %s/tests/pty "
    .. "-t 300 %s %s "
    .. "-t float 600 -o %s <%s 2>&1"):format(build, t.exe,
    script "bench_gemm", path, conversation)))
  local said = pipe:read("a")
  t.ok(pipe:close(), said)
  local f <close> = assert(io.open(path))
  t.ok(f:read("a"):find("naive_global", 1, true))
end)

t.test("no device: exit 3 and what to install", function()
  t.nodevices()
  for _, name in ipairs{"bench_tiles", "devices", "hello"} do
    local text = t.capture(("OCL_ICD_VENDORS=/nonexistent "
      .. "CLSHELL_DEVICE= %s %s 2>&1 >/dev/null; echo $?"):format(t.exe,
      script(name)))
    t.ok(text:find("no OpenCL device", 1, true), text)
    t.ok(text:find("\n3\n", 1, true), text)
  end
end)

t.test("an output that is closed early ends the script quietly", function()
  local text = t.capture(("{ %s %s 2>&1; } | head -n 1")
    :format(t.exe, script "devices"))
  t.ok(not text:find("traceback", 1, true), text)
end)

t.done()

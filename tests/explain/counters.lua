-- counters.lua - counters: the launch as CUDA's driver gets it (cudalayer.c),
-- ncu by a script that prints a table of its form, and its refusals
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local counters = require "clshell.counters"
local ptx = require "clshell.ladder.ptx"

t.device()

local folder = t.tmp "counters"
t.capture(("mkdir -p '%s' && ln -sf '%s/tests/cudalayer.so' "
  .. "'%s/libcuda.so.1'"):format(folder, t.build, folder))

-- A table as ncu prints it, with units and a metric that it could not count.
local CSV <const> = [[
==PROF== Connected to process 71 (/usr/bin/clshell)
==PROF== Profiling "clshell_counted" - 0: 0%....100% - 9 passes
==PROF== Disconnected from process 71
"ID","Process ID","Kernel Name","Block Size","dram__bytes_read.sum",]]
  .. [["gpu__time_duration.sum","l1tex__t_requests_pipe_lsu_mem_global_op_ld]]
  .. [[.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",]]
  .. [["sm__warps_active.avg.pct_of_peak_sustained_active",]]
  .. [["smsp__inst_executed.sum","lts__t_sector_hit_rate.pct"
"","","","","Kbyte","us","","sector","%","inst","%"
"0","71","clshell_counted","(256, 1, 1)","16.64","2.34","128","1,024",]]
  .. [["81.25","1,536","n/a"
]]

-- A script as ncu: it runs the program behind its options and writes its log.
local function ncu(body)
  local path = folder .. "/ncu"
  local f <close> = assert(io.open(path, "w"))
  f:write("#!/bin/sh\nwhile [ $1 != --metrics ]; do\n  [ $1 = --log-file ] "
    .. "&& log=$2\n  shift\ndone\nshift\nmetrics=$1\nshift\n", body, "\n")
  f:close()
  t.capture(("chmod +x '%s'"):format(path))
end

-- What counters.measure(task) gives in a process that finds the scripts.
local function measured(task, variables)
  local file = t.tmp "task"
  t.write(file, (assert(require "clshell.calls.parcel".pack(task))))
  local home = variables and variables.home or folder .. "/.."
  return t.capture(("PATH='%s/bin':\"$PATH\" LD_LIBRARY_PATH='%s' %s '%s' -n "
    .. "-e '"
    .. [[local task = require "clshell.calls.parcel".unpack(]]
    .. [[io.open("%s", "rb"):read "a") ]]
    .. [[local ok, r = pcall(require "clshell.counters".measure, task) ]]
    .. [[print(ok and r["dram__bytes_read.sum"] or r)']] .. " 2>&1"):format(
    home, folder, variables and variables.env or "", t.exe, file))
end

local TASK <const> = {text = "4 8", name = "f", bus = "0000:17:00.0",
  sizes = {2, 3, 1, 4, 1, 1, 0}, memories = {"\1\2\3"},
  args = {("<i4"):pack(-2), {1, 1}}}

-- The folder of the scripts is bin of a home, before those of a real ncu.
t.capture(("mkdir -p '%s.home' && ln -sfn '%s' '%s.home/bin'"):format(folder,
  folder, folder))
local HOME <const> = {home = folder .. ".home"}

t.test("the child runs the launch by CUDA's driver", function()
  local said = t.tmp "said"
  ncu(("\"$@\" >'%s' || exit 1\ncat >$log <<'END'\n%sEND"):format(said, CSV))
  t.eq(measured(TASK, HOME), "16640.0\n")
  t.eq(io.open(said):read "a", "bus 0000:17:00.0\nkernel f\n"
    .. "launch 2 3 1, 4 1 1, 0\narg feffffff\narg memory 0203\n")
end)

t.test("the arguments of a launch become a task", function()
  t.skip_if(cl.device().nv_compute_capability_major,
    "the driver of this device would load the false driver of CUDA")
  local said = t.tmp "said"
  ncu(("\"$@\" >'%s' || exit 1\ncat >$log <<'END'\n%sEND"):format(said, CSV))
  local offsets
  local _ <close> = t.swap(ptx, "for_cuda", function(_, _, _, locals)
    offsets = locals
    return "8 8 8 2 16 8 8"
  end)
  local k = cl.kernel [[kernel void f(global uchar *x, global uchar *y,
    global uchar *z, short s, float4 v, local int *a, local char *b) {}]]
  local x = cl.buffer("uchar", 600, function(i) return i % 251 end)
  local function hex(first, last)
    local words = {}
    for i = first, last do
      words[#words + 1] = ("%02x"):format(i % 251)
    end
    return table.concat(words)
  end
  local args = table.pack(x:view(129, 260), x:view(257, 262),
    cl.buffer("uchar", 2, 7), -2, cl.float4(1, 0, 0, 0),
    cl.localmem("int", 3), cl.localmem("char", 5))
  local task = counters.task(k:range({8, 4}, {4, 2}), args)
  t.eq(offsets, {[5] = 0, [6] = 16})
  t.eq(task.sizes, {2, 2, 1, 4, 2, 1, 32})
  measured(task, HOME)
  t.eq((io.open(said):read "a":gsub("bus [^\n]*", "")), "\n"
    .. "kernel clshell_counted\nattribute 8 32\nlaunch 2 2 1, 4 2 1, 32\n"
    .. "arg memory " .. hex(129, 262) .. "\narg memory " .. hex(257, 262)
    .. "\narg memory 0707\n"
    .. "arg feff\narg 0000803f" .. ("0"):rep(24) .. "\n"
    .. ("arg " .. ("0"):rep(16) .. "\n"):rep(2))
  t.eq(x:read()[301], 50) -- it stays as it was
  t.raises(function() counters.task(k:range({8}, {4}, {2}), args) end,
    "no offset")
  t.raises(function() counters.task(k:range({8}), {n = 0}) end,
    "takes 7 values; got 0")
end)

t.test("what ncu lacks or refuses is told with the remedy", function()
  local function says(env, ...)
    local out = measured(TASK, {home = HOME.home, env = env})
    for _, part in ipairs{...} do
      t.ok(out:find(part, 1, true), out)
    end
  end
  ncu "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not' >$log; exit 1"
  says("", "administrator", "NVreg_RestrictProfilingToAdminUsers=0")
  ncu "echo '==ERROR== No kernels were profiled' >$log"
  says("", "ncu counted nothing: No kernels were profiled")
  ncu(("case $metrics in *dram__bytes_read*)\n  echo '==ERROR== Failed "
    .. "to find metric regex:^dram__bytes_read\\.sum$' >$log; exit 1;;\n"
    .. "*dram__bytes_op_read*) ;; *) exit 1;; esac\ncat >$log <<'END'\n"
    .. "%sEND"):format(CSV))
  says("", "16640") -- by the other name of a metric
  ncu "echo 'ncu: cannot execute' >&2; exit 127"
  says("", "ncu counted nothing: ncu: cannot execute")
  ncu '"$@"; echo "==ERROR== The application returned an error" >$log; exit 1'
  says("CUDAFAIL=cuModuleLoadDataEx", "cuModuleLoadDataEx: "
    .. "CUDA_ERROR_ILLEGAL_ADDRESS (700): ptxas says no")
  says("CUDAFAIL=cuCtxSynchronize", "cuCtxSynchronize: CUDA_ERROR_ILLEGAL")
  if io.open "/usr/local/cuda/bin/ncu" or t.capture "command -v ncu" ~= "" then
    return
  end
  t.ok(measured(TASK, {home = "/nonexistent"}):find("profiler ncu is neither "
    .. "in PATH", 1, true))
  os.remove(folder .. "/libcuda.so.1")
  ncu '"$@"'
  if t.capture "ldconfig -p | grep libcuda.so.1" == "" then
    says("", "CUDA's driver is missing: libcuda.so.1")
  end
end)

t.test("model and counters stand side by side", function()
  local found = counters.parse(CSV)
  t.eq(found["smsp__inst_executed.sum"], 1536)
  t.eq(found["lts__t_sector_hit_rate.pct"], nil)
  t.near(found["gpu__time_duration.sum"], 2.34e-6, 1e-9)
  t.eq(counters.parse "==ERROR== no\n", nil)
  local model = {looked = 2, groups = 8, total = {global = {sectors = 256}},
    rows = {{space = "global", kind = "load", requests = 32, sectors = 128,
    passes = 0, ideal = 0}, {space = "local", kind = "store", requests = 4,
    passes = 128, ideal = 4}}}
  local c = counters.beside(found, model, 100)
  local rows = {}
  for _, row in ipairs(c.rows) do
    rows[row.name] = {row.model or "none", row.counter or "none"}
  end
  t.eq(rows, {
    ["global load requests"] = {128, 128},
    ["global load sectors a request"] = {4, 8},
    ["local store requests"] = {16, "none"},
    ["local store passes a request"] = {32, "none"},
    ["local store bank conflicts"] = {496, "none"},
    ["L2 sectors from L1"] = {1024, "none"},
    ["DRAM read"] = {"none", 16640},
    occupancy = {100, 81.25},
    ["instructions of warps"] = {"none", 1536},
    ["time under ncu"] = {"none", found["gpu__time_duration.sum"]},
  })
  local words = tostring(c)
  t.ok(words:find "DRAM read%s+16%.25 KiB" and words:find "81%.2 %%", words)
  t.narrow(words)
  t.ok(#counters.beside(found).rows == 6) -- without a model
end)

t.test("other devices have a reason", function()
  t.skip_if(cl.device().nv_compute_capability_major, "this is an NVIDIA GPU")
  local k = cl.kernel "kernel void f(global int *x) { *x = 1; }"
  t.raises(function() counters(k:range(1), cl.buffer("int", 1)) end,
    "is no NVIDIA GPU", "access(...) models")
  t.raises(function() counters(k:range(1), cl.buffer("int", 1),
    {group = 1}) end, "did you mean")
  t.raises(function() counters(1) end, "launch")
end)

os.remove(folder .. "/ncu")
t.capture(("rm -rf '%s' '%s.home'"):format(folder, folder))
t.done()

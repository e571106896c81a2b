-- scripts.lua - every script as a user runs it: its help, a small run, a
-- mistake on the command line, no device, an output that nobody reads.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
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

-- A small run of each, and words that its output has.
local small = {
  hello = {"", "y[1] = 7", "GFLOPS", "GB/s"},
  devices = {"", "type", device.type},
  bench_tiles = {"65", "kernel", "tile", "local", "ms", "GFLOPS", "GB/s",
    "% peak", "speed", "error", "naive", "tiled guard", "tiled pad",
    "tiled_padded", "tiled_swizzled", "tiled_float4", "openblas", "plain_c"},
  bench_gemm = {"65x33x17", "GFLOPS", "register", "simd", "tiled_constant",
    "double"},
  bench_spmv = {"-r 1k", "2-D Poisson", "3-D Poisson", "banded",
    "specialised", "csr_vector", "% copy"},
  bench_transpose = {"65x33", "GB/s", "tiled_padded", "float4"},
  bench_transfer = {"1", "write", "read", "map", "GB/s", "N ="},
  bench_launch = {"-n 50 -r 3", "from Lua", "us"},
  register_blocking = {"65", "column_block", "r=8", "naive"},
}

for name, case in pairs(small) do
  t.test(name .. ": a small run", function()
    local out, err, code = run(script(name) .. " " .. case[1])
    t.eq(code, 0, err)
    for i = 2, #case do
      t.ok(out:find(case[i], 1, true), ("no '%s' in:\n%s"):format(case[i],
        out))
    end
    for line in out:gmatch("[^\n]+") do
      t.ok(utf8.len(line) <= 80, "wider than 80 columns: " .. line)
    end
    t.ok(not out:find("WRONG", 1, true), out)
  end)
  if name ~= "hello" then
    t.test(name .. ": --help, and an option that is not there", function()
      local out, _, code = run(script(name) .. " --help")
      t.eq(code, 0)
      t.ok(out:find("Usage: " .. name, 1, true), out)
      local _, err, usage = run(script(name) .. " --nonesuch")
      t.eq(usage, 2)
      t.ok(err:find("nonesuch", 1, true), err)
    end)
  end
end

t.test("sizes that are none", function()
  for _, size in ipairs{"0", "-3", "1.5", "x", "999999999999999"} do
    local _, err, code = run(script "bench_tiles" .. " -- " .. size)
    t.eq(code, 2, size .. err)
    t.ok(err:find(size, 1, true), err)
  end
end)

t.test("a Matrix Market file is measured as well", function()
  local path = t.tmp("small.mtx")
  local f = assert(io.open(path, "w"))
  f:write("%%MatrixMarket matrix coordinate real general\n3 3 4\n",
    "1 1 2\n2 2 3\n3 3 4\n3 1 -1\n")
  f:close()
  local out, err, code = run(("%s -r 100 %s"):format(script "bench_spmv",
    path))
  t.eq(code, 0, err)
  t.ok(out:find(path .. ", float: 4 entries", 1, true), out)
  local _, message, failed = run(script "bench_spmv" .. " -r 100 /no/such.mtx")
  t.eq(failed, 1)
  t.ok(message:find("/no/such.mtx", 1, true), message)
end)

t.test("no device: exit 3 and what to install", function()
  t.nodevices()
  for _, name in ipairs{"bench_tiles", "devices", "hello"} do
    local p <close> = assert(io.popen(("OCL_ICD_VENDORS=/nonexistent "
      .. "CLSHELL_DEVICE= %s %s 2>&1 >/dev/null; echo $?"):format(t.exe,
      script(name))))
    local text = p:read("a")
    t.ok(text:find("no OpenCL device", 1, true), text)
    t.ok(text:find("\n3\n", 1, true), text)
  end
end)

t.test("an output that is closed early ends the script quietly", function()
  local p <close> = assert(io.popen(("{ %s %s 2>&1; } | head -n 1")
    :format(t.exe, script "devices")))
  local text = p:read("a")
  t.ok(not text:find("traceback", 1, true), text)
end)

t.done()

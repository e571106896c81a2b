-- driver.lua - OpenCL in a process of its own (--worker): results, kernels
-- that crash, what outlives them, and the end of the processes
-- SPDX-License-Identifier: MIT
local t = require "t"
local converse = require "converse"
local scratch = require "scratch"

local sh, create, has = scratch.sh, scratch.create, scratch.has
local device = t.device()

-- What a script prints with --worker, what it says besides, its exit code. A
-- sanitizer leaves the signals of a crash alone.
local function worker(name, text)
  create(name, text)
  return sh(("ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0:handle_sigill=0:"
    .. "handle_sigbus=0 CLSHELL_DEVICE=%d $clshell --worker %s")
    :format(device.index, name))
end

-- As worker, for a script that has to succeed without a word.
local function fine(name, text)
  local out, err, code = worker(name, text)
  t.eq({err, code}, {"", 0})
  return out
end

-- Skips a test whose kernels have to crash where no crash is known.
local function crashes()
  if device.type ~= "cpu" then
    t.skip("kernels of a GPU do not end a process")
  end
end

local ok = select(2, sh "$clshell --worker -e ''") == ""
if not ok then
  t.test("worker.so", function() t.skip("worker.so is not built") end)
  t.done()
end

t.test("recorded launches run one by one", function()
  t.eq(fine("recorded.lua", [[
    local k = cl.kernel "kernel void f(global int *x, int a) { x[0] += a; }"
    local x = cl.buffer("int", 1, 0)
    local steps = cl.record(function() k:range(1)(x, 1) k:range(1)(x, 2) end)
    print(steps, steps():wait().ms >= 0)
    steps:run{queue = cl.queue()}:wait()
    print(x:read()[1])]]), "CommandBuffer of 2 launches\ttrue\n6\n")
end)

t.test("what a worker lacks says so", function()
  local out = fine("lacks.lua", [[
    local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
    local b = cl.buffer("int", 4, 0)
    for _, f in ipairs{function() b:migrate() end, function()
        cl.compile "int f(int x) { return x; }" end,
        function() cl.device():partition{equally = 1} end,
        function() k:sub_groups{16} end} do
      local done, e = pcall(f)
      print(not done and tostring(e))
    end]])
  local _, lines = out:gsub("%-%-worker", "")
  t.ok(lines == 4 or lines == 3 and out:find("preferred_multiple", 1, true),
    out) -- the device itself may have no sub-groups
end)

-- Kernels that end their process when k is 16, and store 7 when it is not.
local CRASHES = [[
#define K(name, ...) kernel void name(ulong k, global int *x) { \
  if (k == 16) { __VA_ARGS__; } x[get_global_id(0)] = 7; }
K(none, *(volatile global int *)k = 1)
K(load, x[0] = *(volatile global int *)k)
K(wild, x[k << 40] = 1)
K(trap, __builtin_trap())
K(atom, atomic_add((volatile global int *)k, 3))
K(vector, vstore16((int16)(1), 0, (global int *)k))
K(deep, volatile char a[200000000];
  for (uint i = 200000000; i-- > 0;) a[i] = 1; x[0] = a[k])
K(behind, x[-(long)(k << 40)] = 1)
kernel void group(ulong k, global int *x) {
  local int l[16];
  l[k == 16 ? k << 38 : get_local_id(0)] = 7;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = l[get_local_id(0)];
}
kernel void each(ulong k, global int *x) {
  for (ulong i = 0; i < k; i++)
    if (k == 16)
      *(volatile global int *)(k * i) = 1;
  x[get_global_id(0)] = 7;
}
]]

-- One script, with --worker and without: all kinds of commands.
local ALL = [=[
local n = 1000
local x = cl.buffer("float", n, function(i) return i end)
local y = cl.buffer("float", n, 2)
local axpy = cl.kernel [[
  kernel void axpy(float a, global const float *x, global float *y) {
    y[get_global_id(0)] += a * x[get_global_id(0)];
  }]]
local ev = axpy:range(n)(3, x, y)
print(ev:wait().status, ev.command, ev.ms > 0, y:read()[n])
print(x:copy(y):wait().status, y:read()[17])
local m = cl.buffer("int", {6, 5}, 0, {ld = 8})
m:write{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {0, 0, 0, 0, 0},
  {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}}
print(m:read()[8], m:read{from = {2, 2}, size = {2, 2}}[2])
local v = x:view(1, 256)
v:fill(4)
print(x:read()[256], x:read()[257])
local a = x:map()
a[300] = -1
x:unmap(a)
print(x:read()[300], x:read()[1])
local sum = cl.kernel [[
  kernel void sum(global float *x, local float *l, int2 c) {
    l[get_local_id(0)] = x[get_global_id(0)] + c.y;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = l[get_local_size(0) - 1 - get_local_id(0)];
  }]]
sum:range(16, 16, 32)(y, cl.localmem("float", 16), {1, 100})
print(y:read()[33], y:read()[48])
if cl.device().image_support then
  local img = cl.image{format = "r float", width = 20, height = 50, data = x}
  local mix = cl.kernel [[
    kernel void mix(read_only image2d_t a, write_only image2d_t b,
                    sampler_t s) {
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(b, at, read_imagef(a, s, convert_float2(at) + 1.0f));
    }]]
  local out = cl.image{format = "r float", width = 20, height = 50}
  print(mix, out)
  mix:range{20, 50}(img, out, cl.sampler{filter = "linear"})
  print(out:read()[1], out:read{origin = {4, 30}, region = {2, 1}}[2])
  out:copy(img, {origin = {1, 1}, region = {3, 3}, to = {16, 46}})
  out:fill(9, {origin = {0, 0}, region = {2, 50}})
  out:copy(x)
  print(img:read()[980], x:read()[981], x:read()[983], out.row_pitch)
  local line = cl.image{format = "r float", buffer = x}
  print(pcall(line.fill, line, 1))
  print(line:write(5, {origin = 7, region = 1}):wait().status, x:read()[8])
  print(#cl.context():image_formats())
end
local q = cl.queue{out_of_order = true}
local first = axpy:range(n):on(q)(1, x, y)
local second = axpy:range(n):on(q, {after = first})(1, x, y)
q:barrier()
q:finish()
print(first.status, second.status, first.stop <= second.start, y:read()[257])
local late, done = y:read{async = true}
done:wait()
print(late[257])
print(pcall(cl.build, "kernel void f() { this is wrong; }"))
print(cl.build("kernel void f(global int *x) { *x = 1; }"):kernels()[1])
local p = cl.kernel "kernel void p(int n) { printf(\"%d\\n\", n); }"
print "before"
p:range(1)(5)
print "after"
print(cl.context().used > 0, #cl.devices() > 0, #axpy.args)
]=]

t.test("a script prints the same with and without it", function()
  create("all.lua", ALL)
  local out, err, code = sh(("CLSHELL_DEVICE=%d $clshell all.lua")
    :format(device.index))
  t.eq({err, code}, {"", 0})
  t.eq(fine("all.lua", ALL), out)
end)

t.test("a crash names kernel, sizes and arguments; the rest goes on",
  function()
    crashes()
    local out = fine("crash.lua", "local CRASHES = [[" .. CRASHES .. "]]" .. [[
      local x = cl.buffer("int", 64, 5)
      local y = cl.buffer("float", 100, 2)
      local prog = cl.build(CRASHES)
      local ev = prog.none:range({64, 1}, {16, 1})(16, x)
      local fine, e = pcall(ev.wait, ev)
      print(fine, e.name, e.code, ev.status)
      print(e)
      print(y:read()[100])
      print(prog.none:range(64)(3, x):wait().status, x:read()[64])
      prog.trap:range(64)(16, x) -- nobody asks
      repeat fine, e = pcall(y.read, y) until not fine
      print(e.message)
      print(y:read()[1])]])
    local lines = {}
    for line in out:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    t.eq(lines[1], "false\tWORKER_DIED\t-2001\tfailed")
    has(lines[2], "kernel 'none' (global 64x1, local 16x1; k = 16, x = Buffer "
      .. "of 256 bytes) ended the worker by signal ")
    t.eq(lines[3], "  a new worker goes on; 2 Buffers keep their content")
    t.eq({lines[4], lines[5]}, {"2.0", "complete\t7"})
    has(lines[6], "kernel 'trap' (global 64; k = 16, x = Buffer")
    t.eq(lines[7], "2.0")
  end)

t.test("images outlive a crash as far as the host has their pixels",
  function()
    crashes()
    if not device.image_support then
      t.skip("the device has no images")
    end
    local out = fine("images.lua", [[
      local crash = cl.kernel "kernel void crash(global int *x, \
        read_only image2d_t i, sampler_t s) { x[1L << 44] = 1; }"
      local first = cl.kernel "kernel void f(read_only image2d_t i, \
        sampler_t s, global float *y) { \
        y[0] = read_imagef(i, s, (int2)(1, 1)).x; }"
      local x, y = cl.buffer("int", 4, 0), cl.buffer("float", 1)
      local kept = cl.image{width = 4, height = 4, data = 3}
      local lost = cl.image{width = 4, height = 4, data = 3}
      local s = cl.sampler()
      lost:fill(4, {region = {1, 1}})
      print(pcall(function() crash:range(8)(x, kept, s):wait() end))
      first:range(1)(kept, s, y)
      print(y:read()[1], kept:read()[16][4])
      print(pcall(lost.read, lost))
      print(pcall(first:range(1), lost, s, y))
      lost:fill(5)
      first:range(1)(lost, s, y)
      print(y:read()[1])]])
    has(out, "kernel 'crash' (global 8; x = Buffer of 16 bytes, "
      .. "i = Image of 256 bytes, s = a Sampler) ended the worker",
      "\n3.0\t3.0\n", "the content of this Image of 256 bytes was lost",
      "\n5.0\n")
    t.eq(select(2, out:gsub("was lost with a worker", "")), 2, out)
  end)

t.test("100 kernels crash in one session, and nothing is lost", function()
  crashes()
  local out = fine("hundred.lua", "local CRASHES = [[" .. CRASHES .. "]]" .. [[
    local prog = cl.build(CRASHES)
    local x, keep = cl.buffer("int", 16, 5), {}
    for i = 1, 10 do
      keep[i] = cl.buffer("int", 100 * i, i)
    end
    local crashed = 0
    for round = 1, 10 do
      for _, name in ipairs(prog:kernels()) do
        local kernel = prog[name]
        x:fill(round)
        local ok, e = pcall(function()
          kernel:range(16, 16)(16, x):wait()
        end)
        assert(not ok and e.name == "WORKER_DIED", name)
        assert(e.message:find("'" .. name .. "'", 1, true), e.message)
        crashed = crashed + 1
        kernel:range(16, 16)(2, x)
        assert(x:read()[16] == 7, name)
        local b = keep[round]
        assert(b:read()[100 * round] == round)
      end
    end
    print(crashed)]])
  t.eq(out, "100\n")
end)

t.test("a store behind a Buffer changes no other", function()
  crashes()
  local out = fine("behind.lua", [[
    local list = {}
    for i = 1, 8 do
      list[i] = cl.buffer("int", 100 * i, i)
    end
    local store = cl.kernel "kernel void store(ulong k, global int *x) { \
      x[k + get_global_id(0)] = 99; }"
    for i, b in ipairs(list) do
      local ok, e = pcall(function()
        store:range(64)(100 * i, b):wait()
      end)
      assert(not ok and e.name == "WORKER_DIED", e)
      for j, other in ipairs(list) do
        for _, x in ipairs(other:read()) do
          assert(x == j)
        end
      end
    end
    list[1]:close()
    print(cl.buffer("int", 5000, 4):read()[5000])]])
  t.eq(out, "4\n")
end)

t.test("a crash that no call raised is told at the end", function()
  crashes()
  local _, err, code = worker("silent.lua", "local CRASHES = [[" .. CRASHES
    .. "]]" .. [[
    local x = cl.buffer("int", 64, 5)
    cl.build(CRASHES).none:range(64)(16, x)]])
  has(err, "clshell: kernel 'none' (global 64; k = 16,")
  t.eq(code, 1)
end)

-- The worker of process `pid`, or nil.
local FIND = [[
  local function find(pid)
    local p <close> = io.popen("grep -las -e --driver /proc/[0-9]*/cmdline")
    for path in p:lines() do
      local f <close> = io.open((path:gsub("cmdline$", "stat")))
      local stat = f and f:read "a" or ""
      if stat:match "%) %a (%d+)" == pid then
        return stat:match "^%d+"
      end
    end
  end
]]

t.test("a worker that is killed from outside", function()
  local out = fine("killed.lua", FIND .. [[
    local x = cl.buffer("int", 4, 1)
    os.execute("kill -9 " .. find(io.popen("echo $PPID"):read()))
    local ok, e = pcall(x.read, x)
    print(ok, e.message)
    print(x:read()[1])]])
  t.eq(out, "false\tsomething ended the worker by signal 9 (Killed)\n1\n")
end)

t.test("Ctrl-C reaches no thread of a worker, nor its compilers", function()
  local out = fine("keys.lua", FIND .. [[
    cl.kernel "kernel void k(global int *x) { x[0] = 1; }":range(1)(
      cl.buffer("int", 4)):wait()
    local pid = find(io.popen("echo $PPID"):read())
    local p <close> = io.popen("cat /proc/" .. pid .. "/task/*/status")
    local blocked, threads = 0, 0
    for mask in p:read "a":gmatch "SigBlk:%s*(%x+)" do
      threads = threads + 1
      blocked = blocked + (tonumber(mask, 16) >> 1 & 1)
    end
    print(threads > 1, blocked == threads)]])
  t.eq(out, "true\ttrue\n")
end)

t.test("a program that is killed takes its worker along", function()
  local out = worker("end.lua", FIND .. [[
    cl.buffer("int", 4, 1)
    local p = io.popen "echo $PPID"
    local own = p:read()
    p:close()
    print(find(own))
    io.stdout:flush()
    os.execute("kill -9 " .. own)]])
  local pid = out:match "^%d+"
  t.ok(pid, out)
  local alive
  for _ = 1, 1000 do
    local f <close> = io.open("/proc/" .. pid .. "/cmdline")
    alive = f and f:read("a"):find("--driver", 1, true)
    if not alive then
      break
    end
    cl.sleep(0.01)
  end
  t.ok(not alive, "the worker outlives the program")
end)

t.test("no driver, and a reader that goes", function()
  t.nodevices()
  local function without(options)
    return {sh("OCL_ICD_VENDORS=/nonexistent $clshell " .. options
      .. " -e 'cl.device()'")}
  end
  t.eq(without "--worker", without "")
  t.eq(sh "$clshell --worker -e 'for i = 1, 1e6 do print(i) end' | head -n 1",
    "1\n")
end)

t.test("it serves --worker alone, as it would start itself", function()
  local program = assert(t.capture("cd " .. (os.getenv "CLSHELL_BUILD"
    or "build") .. " && pwd")):gsub("\n", "")
  local _, err = sh(("OCL_ICD_VENDORS=%s/worker.so OCL_ICD_FILENAMES= "
    .. "$clshell -e 'cl.device()'"):format(program))
  has(err, "no OpenCL device")
end)

t.test("the tests of module cl pass with it", function()
  for _, file in ipairs{"buffer", "image", "kernel", "view", "device"} do
    local out = t.capture(("CLSHELL_WORKER=1 CLSHELL_DEVICE=%d %s "
      .. "tests/cl/%s.lua 2>&1"):format(device.index, t.exe, file))
    t.ok(not out:find "\nnot ok" and out:find "ok 1", out)
  end
end)

t.test("after Ctrl-C an endless kernel can be ended", function()
  crashes()
  create("spin.cl", "kernel void spin(volatile global int *x) { "
    .. "while (x[0] == 5); }")
  converse.run(([[
    expect cl>
    send x = cl.buffer("int", 64, 5)\r
    expect cl>
    send spin = cl.build "%s/spin.cl".spin\r
    expect cl>
    send e = spin:range(1)(x) print("go")\r
    expect go
    send print("wait" .. 1) e:wait()\r
    expect wait1
    send \x03
    expect interrupted!
    expect 1 kernel still running
    expect k to end it
    send k\r
    expect kernel 'spin' (global 1; x = Buffer of 256 bytes) was ended
    expect a new worker goes on
    expect cl>
    send x:fill(3) spin:range(1)(x):wait()\r
    expect cl>
    send x:read()[64]\r
    expect 3
    expect cl>
    send \x04
    exit 0]]):format(scratch.dir), "-n --worker", "CLSHELL_DEVICE="
      .. device.index)
end)

t.test("at the prompt the session goes on", function()
  crashes()
  create("boom.cl", CRASHES)
  converse.run(([[
    expect cl>
    send x = cl.buffer("int", 64, 5)\r
    expect cl>
    send prog = cl.build "%s/boom.cl"\r
    expect cl>
    send prog.none:range(64)(16, x):wait()\r
    expect kernel 'none' (global 64
    expect a new worker goes on
    expect cl>
    send x:read()[3]\r
    expect 5
    expect cl>
    send prog.none:range(64)(1, x):wait().status, x:read()[64]\r
    expect complete
    expect cl>
    send \x04
    exit 0]]):format(scratch.dir), "-n --worker", "CLSHELL_DEVICE="
      .. device.index)
end)

t.test("a device that has failed for good gets a new worker", function()
  create("lost.lua", [[
    local p = cl.build "kernel void wild(global int *x, int n) { x[0] = n; }"
    local b = cl.buffer("int", 1, 3)
    local f = p.wild:range(1)
    f(b, 7):wait()
    print(pcall(b.read, b))
    print(pcall(b.read, b))
    print(f(b, 5):wait().status)]])
  local out, err = sh(("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT="
    .. "clSetEventCallback:3:-5,clCreateContext:2:-9999:sticky "
    .. "$clshell --worker lost.lua"):format(t.build))
  if not err:find("faults", 1, true) then
    t.skip "the OpenCL loader takes no layers (OPENCL_LAYERS)"
  end
  has(out, "false", "kernel 'wild' (global 1; x = Buffer of 4 bytes, n = 7), "
    .. "or a launch before it, faulted the device", "a new worker goes on",
    "true", "complete")
end)

t.test("what is kept to be used again goes with a worker", function()
  create("kept.lua", [[
    local fused = require "clshell.arrays.fused"
    local p = cl.build "kernel void none(global int *x) { *(int *)8 = *x; }"
    local x = cl.buffer("int", 70000, 1)
    print(x:sum())
    local kept = setmetatable({fused.scratch(x.context, "long", 1)},
      {__mode = "v"})
    local b = cl.buffer("int", 1)
    print(kept[1] ~= nil, pcall(function() p.none:range(1)(b):wait() end))
    print(kept[1] == nil, x:sum())]])
  local out = sh "$clshell --worker kept.lua"
  has(out, "70000\ntrue\tfalse", "kernel 'none'", "\ntrue\t70000\n")
end)

t.test("what the driver there tells wrongly", function()
  create("lied.lua", [[
    local p = cl.build "kernel void f(global int *x, int n) { x[0] = n; }"
    local b = cl.buffer("int", 1)
    p.f:range(1)(b, 5)
    print(b:read()[1], #p:binary())]])
  local function under(lie)
    local _, err, code = sh(("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=%s "
      .. "$clshell --worker lied.lua"):format(t.build, lie))
    t.ok(code == 0 or code == 1 or code == 3, lie .. ": " .. err)
    t.ok(not err:find("Sanitizer: ", 1, true), lie .. ": " .. err)
    t.ok(not err:find("SIG", 1, true), lie .. ": " .. err)
    return err
  end
  local most = 0
  for n in under "":gmatch "(%d+) questions" do
    most = math.max(most, tonumber(n))
  end
  if most == 0 then
    t.skip "the OpenCL loader takes no layers (OPENCL_LAYERS)"
  end
  for n = 1, most do
    under(("lie:%d:4"):format(n))
  end
  for n = 1, 10 do -- what the loader asks
    under(("lie:%d:2"):format(n))
  end
end)

scratch.done()

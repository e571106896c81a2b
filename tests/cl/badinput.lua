-- badinput.lua - what no careful script does: scripts that run inside a call
-- and close what it uses, lying drivers, lost devices, waits without end.
-- Each is one clear error, and the session goes on.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

local build = os.getenv "CLSHELL_BUILD" or "build"
if build:sub(1, 1) ~= "/" then
  build = cl.home .. "/" .. build
end

local SCALE = "kernel void f(global int *x, int n) "
  .. "{ x[get_global_id(0)] *= n; }"

-- Runs Lua code in a process of its own; returns its output and exit code.
local function run(code, environment, prefix)
  local path = t.tmp("code.lua")
  do
    t.write(path, code)
  end
  local p <close> = assert(io.popen(("%s %s %s %s 2>&1 </dev/null; echo $?")
    :format(environment or "", prefix or "", t.exe, path)))
  local out, exit = p:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  return out, tonumber(exit)
end

local function faulty(code, faults, prefix)
  return run(code, ("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=%s")
    :format(build, faults), prefix)
end

local layered = faulty("cl.devices()", ""):find("faultlayer:", 1, true)

local layer_test = t.where(layered,
  "the OpenCL loader takes no layers (OPENCL_LAYERS)")

layer_test("a driver that tells no name, no memory and no limits", function()
  local untold = {}
  for i, query in ipairs{0x102B, 0x101F, 0x1010, 0x1023, 0x1002, 0x1020} do
    untold[i] = "untold:1:" .. query
  end
  local out, code = faulty([[
local d = cl.device()
print(d.name, d.global_mem_size, d.max_mem_alloc_size, d.local_mem_size)
print(d.compute_units, d:info().name)
print(d)
print(require "clshell.shell.prompt.device_list".words(d))
print(require "clshell.shell.prompt.show".text(d, {width = 80, height = 24}))
print(pcall(dia.banded, 1 << 26, {0, 1}))
local M = dia.poisson2d(4, 4)
print(spmv(M, cl.buffer("float", 16, 1)):read()[1], M:to_csr().nnz)
print(cl.buffer("float", 9, 2):sum())
print(gemm(matrix.ones(4), matrix.ones(4), {kernel = "naive"}))
]], table.concat(untold, ","))
  t.eq(code, 0, out)
  for _, part in ipairs{
    "unnamed\t134217728\t134217728\t32768\n1\tnil\n",
    "Device 1: unnamed (", "unnamed, 1 unit, 0.1 GiB",
    "a buffer on unnamed has at most 134217728"} do
    t.ok(out:find(part, 1, true), part .. " in\n" .. out)
  end
end)

layer_test("what a driver prints while it compiles", function()
  local function said(text)
    local out, code = faulty("local p = cl.build 'kernel void f(global int "
      .. "*x) {}' print('log: ' .. p.log .. ' end')", "none:1:0",
      ("CLSAY='%s'"):format(text))
    return out, code
  end
  for _, text in ipairs{"1 error generated.", "2 warnings generated.",
    "3 warnings and 1 error generated."} do
    t.ok(not said(text):find("generated", 1, true), text)
  end
  local out = said "a word of 2 errors"
  -- beside what the driver tells by itself
  t.ok(out:find "log: .*a word of 2 errors.* end\n"
    and select(2, out:gsub("a word", "")) == 1, out)
  local code
  out, code = said "abort"
  t.ok(out:find("^[^\n]*abort\n\nclshell: ended by SIGABRT"), out)
  t.ok(not out:find("log:", 1, true), out)
  t.eq(code, 134)
end)

layer_test("a driver that tells of too many arguments", function()
  for _, n in ipairs{-1, 65537} do
    local out = faulty("print(select(2, pcall(cl.kernel, "
      .. "'kernel void f(global int *x) {}')))", "arguments:1:" .. n)
    t.ok(out:find("f: the driver tells of", 1, true), out)
  end
end)

-- The session still computes.
local function works()
  local b <close> = cl.buffer("int", 4, 21)
  cl.kernel(SCALE):range(4)(b, 2)
  t.eq(b:read()[4], 42)
end

t.test("options whose metamethods close what is used", function()
  local k = cl.kernel(SCALE)
  for _, call in ipairs{
      function(b, o) b:read(nil, o) end,
      function(b, o) b:write(cl.array("int", 64), o) end,
      function(b, o) b:fill(1, o) end,
      function(b, o) b:map("read", o):close() end,
      function(b, o, c) b:copy(c, o) end} do
    for _, victim in ipairs{1, 2, 3} do
      for _, key in ipairs{"queue", "async", "after", "first", "count"} do
        local b <close> = cl.buffer("int", 64, 0)
        local c <close> = cl.buffer("int", 64, 0)
        local q = cl.queue()
        local ev = b:fill(1, {async = true, queue = q})
        local objects = {b, q, ev}
        local options = setmetatable({}, {__index = function(_, name)
          if name == key then
            objects[victim]:close()
          end
          return name == "queue" and q or name == "after" and ev or nil
        end})
        local ok, e = pcall(call, b, options, c)
        t.ok(ok or tostring(e):find("closed", 1, true), tostring(e))
      end
    end
  end
  k:close()
  works()
end)

-- Runs fn with a full collection at each of its allocations, the n-th of
-- which runs `finalizer`. Returns what pcall does, and whether it ran.
local function interrupted(fn, n, finalizer)
  local count
  local function arm()
    setmetatable({}, {__gc = function()
      if count == nil or count < n then
        count = count and count + 1
        arm()
      elseif count == n then
        count = n + 1
        finalizer()
      end
    end})
  end
  arm()
  collectgarbage("incremental", 100, 1000, 22)
  collectgarbage("setpause", 0)
  collectgarbage("step", 0) -- from this cycle on the new pause holds
  count = 1
  local ok, e = pcall(fn)
  local ran = count > n
  count = n + 1
  collectgarbage("incremental", 200, 100, 13)
  return ok, e, ran
end

t.test("finalizers that close what a call is about to use", function()
  local caught, cache = 0, cl.build(SCALE .. " kernel void g(void) {}")
  for _, call in ipairs{
      function(o) o.b:read() end,
      function(o) o.b:read(nil, o.opts) end,
      function(o) o.b:write(o.h, o.opts) end,
      function(o) o.b:fill(3, o.opts) end,
      function(o) o.b:copy(o.c, o.opts) end,
      function(o) o.b:unmap(o.b:map()) end,
      function(o) o.b:view(1, 4):close() end,
      function(o) o.l(o.b, cl.int(2)) end, -- binaries may know no types
      function(o) o.l:on(o.q, o.opts)(o.b, cl.int(2)) end,
      function(o) o.q:marker{after = {o.ev}} end,
      function(o) return o.p.g, o.p:binary() end,
      function(o) cl.buffer("int", 64, o.h, {context = o.x}) end} do
    for n = 1, 16 do
      local o = {b = cl.buffer("int", 64, 0), c = cl.buffer("int", 64, 0),
        q = cl.queue(), h = cl.array("int", 64), x = cl.context(),
        p = cl.build_binary(cache:binary())}
      o.k = o.p.f
      o.l = o.k:range(64)
      o.ev = o.b:fill(1, {async = true, queue = o.q})
      o.opts = {after = {o.ev}}
      local function close()
        for name, object in pairs(o) do
          if name ~= "opts" then
            object:close()
          end
        end
      end
      local ok, e, ran = interrupted(function() call(o) end, n, close)
      t.ok(ok or tostring(e):find "closed" or
        tostring(e):find "CL_INVALID_PROGRAM", tostring(e))
      caught = caught + (ok and 0 or 1)
      close()
      cache = cache.context.closed and cl.build(SCALE
        .. " kernel void g(void) {}") or cache
      if not ran then
        break
      end
    end
  end
  t.ok(caught > 0, "no finalizer came at a bad time")
  works()
end)

t.test("work goes on without what started it", function()
  local q = cl.queue()
  local b <close> = cl.buffer("int", 1 << 16, 3)
  local p = cl.build(SCALE)
  local k = p.f
  local l = k:range(1 << 16)
  local ev = l:on(q)(b, 2)
  q:close()
  t.eq(ev:wait().status, "complete", "an Event of a closed queue")
  t.near(ev.ms, (ev.stop - ev.start) / 1e6)
  p:close()
  l(b, 2)
  t.eq(b:read()[1 << 16], 12, "a Kernel of a closed program")
  cl.context().queue:close()
  l(b, 2)
  t.eq(b:read()[1], 24, "a new default queue")
  k:close()
  t.raises(function() l(b, 2) end, "f: this Kernel is closed")
  l:close()
  t.raises(function() l(b, 2) end, "this Launch is closed")
  device:close()
  t.eq(cl.device().closed, false, "a Device has nothing to close")
  works()
end)

t.test("arguments that are addresses, or gone", function()
  local b <close> = cl.buffer("int", 64, 0)
  local k = cl.kernel [[typedef global int *pointer;
    kernel void f(pointer x) { x[0] = 1; }]]
  for _, v in ipairs{cl.bytes(("A"):rep(8)), cl.long(0x41414141), 0} do
    t.raises(function() k:range(1)(v) end, "argument 1 'x'",
      "must be a Buffer; got")
  end
  k:range(1)(b)
  t.eq(b:read()[1], 1)
  local v, any = cl.int(3), cl.any(b)
  v:close()
  any:close()
  local l = cl.kernel(SCALE):range(64)
  t.raises(function() l(b, v) end, "argument 2", "must be a number")
  t.raises(function() l(any, 2) end, "argument 1", "must be a Buffer; got Any")
  t.raises(function() l(table.unpack({}, 1, 200)) end,
    "takes 2 values; got 200")
  t.raises(function() cl.float() end, "cl.float takes 1 number; got 0")
  t.raises(function() cl.float4(1, 2) end, "cl.float4 takes 4 numbers; got 2")
  if device.image_support then
    local image = cl.kernel("kernel void f(read_only image2d_t i, "
      .. "global int *x) { x[0] = get_image_width(i); }")
    for _, arg in ipairs{b, cl.any(b), cl.bytes(("A"):rep(8))} do
      t.raises(function() image:range(1)(arg, b) end,
        "must be an Image of kind 2d, by cl.image; got")
    end
  end
  works()
end)

t.test("kernels and ranges that no device can run", function()
  local k = cl.kernel(SCALE)
  t.raises(function() k:range(1 << 62) end, "more than 2^48 work-items")
  t.raises(function() k:range(1 << 32, 1) end,
    "a launch may have 4294967295 work-groups; got 4294967296")
  t.raises(function() k:range({1 << 20, 1 << 20}, {1, 16}) end, "68719476736")
  t.raises(function() k:range(1 << 32) end, "local size 1; pass one")
  for _, wrong in ipairs{"8", k, print, true} do
    t.raises(function() k:range(wrong) end,
      "global must be a number or a list of 1 to 3; got")
  end
  t.raises(function() k:range{1 << 40, 1 << 40} end, "2^48")
  t.raises(function() k:range(1, nil, math.mininteger) end,
    ">= 0; got -9223372036854775808")
  works()
end)

t.test("more local memory than there is", function()
  local n = device.local_mem_size -- floats: four times as much
  local built, k = pcall(cl.kernel, ([[kernel void f(global float *x) {
    local float a[%d];
    a[get_local_id(0)] = x[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[0] = a[0];
  }]]):format(n))
  if not built then
    t.eq(k.name, "CL_BUILD_PROGRAM_FAILURE")
  elseif k.local_mem_size < 4 * n then
    t.skip(("the driver says that the kernel takes %d bytes, not %d"):format(
      k.local_mem_size, 4 * n))
  else
    t.raises(function() k:range(4) end, "local memory")
  end
  works()
end)

t.test("options that end before their value", function()
  for _, options in ipairs{"-D", "-I", "-cl-mad-enable -I ", "-D A=1 -D\t"} do
    t.raises(function() cl.build(SCALE, {options = options}) end,
      "the last option, ", "must have a value")
  end
  works()
end)

t.test("strings with zeros, long lists", function()
  t.raises(function() cl.build "a.cl\0b" end, "must hold no zero byte")
  for name, value in pairs{options = "-DA\0-DB", include = "/tmp\0x",
      defines = {A = "1\0"}} do
    t.raises(function() cl.build(SCALE, {[name] = value}) end, "zero byte")
  end
  t.raises(function() cl.build(SCALE, {include = {"a\0"}}) end, "zero byte")
  t.raises(function() cl.build(SCALE, {defines = {["A\0B"] = 1}}) end,
    "zero byte")
  t.raises(function() cl.build(SCALE .. "\n\n\0 }", {name = "zero.cl"}) end,
    "zero.cl:3: the source has a zero byte, at byte")
  local path = t.tmp("zero.cl")
  for i = 1, 2 do
    local f <close> = assert(io.open(path .. (i == 1 and "" or ".h"), "w"))
    f:write(i == 1 and ('#include "%s.h"\n'):format(path) .. SCALE
      or "\n#define A\0\n")
  end
  t.raises(function() cl.build(path) end,
    path .. ".h:2: the source has a zero")
  os.remove(path .. ".h")
  local p <close> = cl.build(SCALE)
  t.raises(function() return p["f\0g"] end, "no kernel")
  t.raises(function() p:kernel(("f"):rep(100000)) end, "no kernel")
  t.raises(function() cl.buffer("int\0", 4) end, "no element type")
  t.eq(device:has "", false)
  local b <close> = cl.buffer("int", 4, 0)
  local defines, events = {}, {}
  for i = 1, 500 do
    defines["NAME" .. i] = i
    events[i] = b:fill(i, {async = true})
  end
  cl.build("kernel void f(global int *x) { x[0] = NAME500; }",
    {defines = defines}).f:range(1)(b)
  t.eq(b:read()[1], 500)
  local ok, e = pcall(b.fill, b, 1, {after = events})
  t.ok(ok or tostring(e):find "more than 64 events", tostring(e))
  works()
end)

t.test("two devices do not mix", function()
  local out, code = run([[
    if #cl.devices() < 2 then
      print "one device"
      return
    end
    local function try(name, f, ...)
      local ok, e = pcall(f, ...)
      print(name, ok, e)
    end
    local one, two = cl.context(cl.devices()[1]), cl.context(cl.devices()[2])
    local a = cl.buffer("int", 4, 1, {context = one})
    local b = cl.buffer("int", 4, 1, {context = two})
    local q = cl.queue{context = two}
    local k = cl.kernel("kernel void f(global int *x) {}", {context = one})
    local ev = b:fill(2)
    local later = b:fill(3, {async = true})
    try("queue", a.read, a, nil, {queue = q})
    try("copy", a.copy, a, b)
    try("argument", k:range(1), b)
    try("on", k:range(1).on, k:range(1), q)
    try("after", a.fill, a, 1, {after = later})
    print("overlaps", a:overlaps(b))
    k:range(1)(a):wait()
    print(a:read()[1], b:read()[1])
  ]], "POCL_DEVICES='basic basic' CLSHELL_DEVICE=")
  t.eq(code, 0, out)
  t.skip_if(out:find "one device", "one device")
  for name, message in pairs{queue = "different contexts",
      argument = "another context",
      on = "another context", after = "another context"} do
    t.ok(out:find(name .. "\tfalse\t[^\n]*" .. message), name .. ": " .. out)
  end
  t.ok(out:find("copy\ttrue", 1, true)
    and out:find("overlaps\tfalse\n1\t1\n"), out)
end)

layer_test("a lost device is named by every later call", function()
  local out, code = faulty([[
    local b = cl.buffer("int", 64, 1)
    local q = cl.context().queue
    local l = cl.kernel("kernel void f(global int *x) {}"):range(64)
    local ev = b:fill(1, {async = true})
    print("first", pcall(b.read, b))
    for name, f in pairs{read = function() b:read() end,
        launch = function() l(b) end, finish = function() q:finish() end,
        view = function() b:view(1, 4) end, wait = function() ev:wait() end,
        map = function() b:map() end} do
      print(name, pcall(f))
    end
    print("again", cl.buffer("int", 4, 7):read()[4])
  ]], "clEnqueueReadBuffer:1:-36")
  t.eq(code, 0, out)
  t.ok(out:find("first\tfalse\t[^\n]*CL_INVALID_COMMAND_QUEUE"), out)
  for _, name in ipairs{"read", "launch", "finish", "view", "wait", "map"} do
    t.ok(out:find(name .. "\tfalse\t[^\n]*the device is lost"), out)
  end
  t.ok(out:find("again\t7", 1, true), out)
  t.ok(not out:match("open: ([^\n]*)"):find "[1-9]", out)
end)

layer_test("a wait without end yields to Ctrl-C", function()
  local out = faulty([[
    local b = cl.buffer("int", 64)
    local ok, e = pcall(function() b:fill(1) end)
    print(ok, e)
    print(b:read(nil, {async = true}))
  ]], "pending:1:0:sticky", "timeout --foreground -s INT 1")
  t.ok(out:find("false\t[^\n]*interrupted!"), out)
  t.ok(out:find("Array int[64]\tEvent", 1, true), "the session goes on")
end)

layer_test("memory of a command without end outlives its objects", function()
  local out, code = faulty([[
    local b = cl.buffer("int", 1 << 16)
    for i = 1, 50 do
      b:write(cl.array("int", 1 << 16), {async = true})
      collectgarbage()
    end
    print "well"
  ]], "pending:1:0:sticky")
  t.eq(code, 0, out)
  t.ok(out:find("well", 1, true), out)
end)

layer_test("parameters of unknown type take explicit values", function()
  local out, code = faulty([[
    local b = cl.buffer("int", 4, 21)
    local k = cl.kernel("kernel void f(global int *x, int n) {"
      .. " x[get_global_id(0)] *= n; }")
    local l = k:range(4)
    print(k, k.args[1].type)
    print("number", pcall(l, b, 2))
    print("address", pcall(l, cl.bytes(("A"):rep(8)), cl.int(2)))
    l(b, cl.int(2))
    print(b:read()[4])
  ]], "clGetKernelArgInfo:1:-19:sticky")
  t.eq(code, 0, out)
  t.ok(out:find("number\tfalse\t[^\n]*argument 2[^\n]*cl.int"), out)
  t.ok(out:find("address\tfalse\t[^\n]*argument 1[^\n]*a pointer"), out)
  t.ok(out:find("\n42\n", 1, true), out)
end)

layer_test("questions that the driver does not answer", function()
  for _, case in ipairs{
      {"clGetPlatformIDs:1:-6", "clGetPlatformIDs", 1},
      {"clGetDeviceInfo:1:-5:sticky", "clGetDeviceInfo", 1},
      {"clGetKernelInfo:1:-5", "clGetKernelInfo", 1},
      {"clGetProgramInfo:1:-5:sticky", "clGetProgramInfo", 0},
      {"clGetProgramBuildInfo:1:-5:sticky", "well", 0},
      {"clGetEventProfilingInfo:1:-7:sticky", "no time stamps", 0},
      {"clGetKernelWorkGroupInfo:1:-5:sticky", "well", 0}} do
    local out, code = faulty([[
      local b = cl.buffer("int", 64, 1)
      local p = cl.build("kernel void f(global int *x) { x[0] = 5; }")
      local ev = p.f:range(64)(b)
      print(b:read()[1], pcall(p.binary, p))
      print(pcall(function() return ev.ms end))
      print(cl.device(), p.f:info(), cl.device():info(), "well")
    ]], case[1])
    t.ok(out:find(case[2], 1, true), case[1] .. ": " .. out)
    t.eq(code, case[3], case[1] .. ": " .. out)
    t.ok(not out:match("open: ([^\n]*)"):find "[1-9]", out)
  end
end)

-- How many questions a script asks of a driver.
local function questions(code)
  local out = faulty(code, "")
  return t.ok(tonumber(out:match "(%d+) questions"), out)
end

-- Fails unless a script ends well, or by an error, with this lie.
local function withstands(code, lie)
  local out, ended = faulty(code, lie)
  t.ok(ended == 0 or ended == 1 or ended == 3, ("%s ends with %s: %s")
    :format(lie, ended, out))
  t.ok(out:find("questions", 1, true), out)
  t.ok(not out:match("open: ([^\n]*)"):find "[1-9]", lie .. ": " .. out)
  return out
end

layer_test("sizes, counts and texts that a driver gets wrong", function()
  local scenario = [[
    local binary, device = nil, cl.device()
    do
      local p <close> = cl.build("kernel void f(global int *x, int n) {"
        .. "x[get_global_id(0)] = n; }\n#ifdef __IMAGE_SUPPORT__\n"
        .. "kernel void g(read_only image2d_t i, sampler_t s, global int *x)"
        .. "{ x[0] = read_imagef(i, s, (int2)(7, 0)).x; }\n#endif\n")
      binary = p:binary()
      cl.context():close()
    end
    local function round()
      local context <close> = cl.context()
      local b = cl.buffer("int", 64, 1)
      local p = cl.build_binary(binary)
      local ev = p.f:range(64, 16)(b, cl.int(4)):wait()
      p.f:range(64)(b, cl.int(5))
      print(ev.ms, ev.start, ev, p.f, p.f:info(), p.log, #p:binary())
      print(#p:kernels(), b:view(1, 16):read(), context, device)
      if device.image_support then
        local img = cl.image{width = 8, height = 8, data = 3}
        p.g:range(1)(img, cl.sampler(), b)
        print(img:read(), img:info(), context:image_formats{}, p.g)
      end
      for _, name in ipairs{"max_work_item_sizes", "single_fp_config", "uuid",
          "extensions_with_version", "numeric_version", "version"} do
        print(device[name]) -- a value of each kind
      end
      return b:read()[64]
    end
    local x
    for i = 1, %d do
      print(pcall(cl.platforms))
      x = select(2, pcall(round))
      print(x)
    end
    print("in the end", x)]]
  local each = questions(scenario:format(2)) - questions(scenario:format(1))
  t.ok(each > 40)
  for way = 1, 6 do
    for _, more in ipairs{"", ":sticky"} do
      local out = withstands(scenario:format(each + 1), ("lies:1:%d%s")
        :format(way, more))
      t.ok(out:find("in the end\t5\n", 1, true), out)
    end
    for n = 1, questions "cl.devices()" do
      withstands(scenario:format(1), ("lie:%d:%d"):format(n, way))
    end
    withstands(scenario:format(1), ("lie:1:%d:sticky"):format(way))
  end
end)

layer_test("types that a driver gets wrong", function()
  local launch = [[
    local k = cl.kernel("typedef int number; typedef global int *numbers;"
      .. "kernel void f(numbers x, number n) { x[0] = n; }")
    local b = cl.buffer("int", 1)
    local l = k:range(1)]]
  local call = launch .. " print(pcall(l, b, 5)) print(pcall(l, b, cl.int(5)))"
  for n = questions(launch) + 1, questions(call) do
    for way = 4, 5 do
      withstands(call, ("lie:%d:%d"):format(n, way))
    end
  end
end)

t.done()

-- lifetime.lua - how objects end: any order of collection, exit with all of
-- them alive, faults of the driver, fork, hostile scripts. Whole processes
-- run under tests/faultlayer.c, which counts what was never released.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue")

local build = os.getenv "CLSHELL_BUILD" or "build"
if build:sub(1, 1) ~= "/" then
  build = cl.home .. "/" .. build
end
local layer = build .. "/tests/faultlayer.so"

-- Runs Lua code in a process of its own, under the layer with these faults.
-- Returns all its output and the exit code.
local function run(code, faults)
  local path = t.tmp("code.lua")
  t.write(path, code)
  local p <close> = assert(io.popen(("OPENCL_LAYERS=%s CLFAULT=%s %s %s 2>&1"
    .. " </dev/null; echo $?"):format(layer, faults or "", t.exe, path)))
  local out, exit = p:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  return out, tonumber(exit)
end

-- Whether the ICD loader knows layers; ocl-icd does from 2.3.0 on.
local layered = run("cl.devices()"):find("faultlayer:", 1, true) ~= nil

local layer_test = t.where(layered,
  "the OpenCL loader takes no layers (OPENCL_LAYERS)")

local function balanced(out)
  local kinds = out:match("open: ([^\n]*)")
  t.ok(kinds, out)
  for kind, n in kinds:gmatch("(%a+) (%-?%d+)") do
    t.eq(n, "0", kind .. " left open\n" .. out)
  end
end

local SCENARIO = [[
local x = cl.buffer("float", 1024, 1)
local y = cl.buffer("float", {32, 32}, 0, {ld = 40})
local v = x:view(1, 16)
local q = cl.queue{out_of_order = true}
local p = cl.build("kernel void f(global float *x, float a)"
  .. "{ x[get_global_id(0)] *= a; }")
local l = p.f:range(1024, 16)
local ev = l(x, 2)
ev = l:on(q, {after = {ev}})(x, 3)
local h = x:read{queue = q, after = ev}
assert(h[1024] == 6)
local steps = cl.record(function()
  p.f:range(1024):work{flop = 1}(x, 1)
  p.f:range(1024)(y, 1)
end)
steps()
steps:run{queue = q}
if not steps.native and cl.device():has "cl_khr_command_buffer" then
  print "one by one"
end
y:write(cl.array("float", {32, 32}):fill(1), {async = true})
y:read{from = {2, 2}, size = {3, 3}}
x:copy(y, {first = 1, count = 10, to = 1})
local m = x:map()
m[1] = 5
x:unmap(m)
q:marker():wait()
q:finish()
cl.build_binary(p:binary())
if cl.device().image_support then
  local img = cl.image{width = 8, height = 8, data = 1}
  img:copy(cl.image{width = 8, height = 8})
  img:fill(2, {async = true})
  img:copy(x)
  img:write(x)
  assert(img:read()[64][4] == 2 and cl.sampler())
end
]]

layer_test("exit with everything alive leaves nothing", function()
  local out, code = run(SCENARIO .. "x:map() x:write(cl.array('float', 1024),"
    .. "{async = true})")
  t.eq(code, 0, out)
  balanced(out)
  out, code = run(SCENARIO .. "error 'uncaught'")
  t.eq(code, 1, out)
  balanced(out)
end)

layer_test("builds that began early are taken, or given up at the end",
    function()
  local out, code = run([[
local begin = debug.getregistry()["cl.hooks"].build_early
local function text(i)
  return ("kernel void f(global int *x) { x[0] = %d; }"):format(i)
end
for i = 1, 8 do
  begin(text(i), {})
  begin(text(i), {})
end
local x = cl.buffer("int", 1, 0)
for _, i in ipairs{8, 1, 9, 4} do
  cl.build(text(i)).f:range(1)(x)
  assert(x:read()[1] == i)
end
begin(text(10), {})
begin "kernel void f() { this is wrong; }"
assert(not pcall(cl.build, "kernel void f() { this is wrong; }"))]])
  t.eq(code, 0, out)
  balanced(out)
end)

layer_test("each OpenCL call that fails is one clear error", function()
  local tried, fired = 0, 0
  local calls = {}
  for name in ([[clCreateContext clCreateCommandQueue clCreateBuffer
      clCreateSubBuffer clCreateProgramWithSource clBuildProgram
      clCreateProgramWithBinary clCreateKernel clSetKernelArg
      clEnqueueNDRangeKernel clEnqueueReadBuffer clEnqueueReadBufferRect
      clEnqueueWriteBuffer clEnqueueWriteBufferRect clEnqueueFillBuffer
      clEnqueueCopyBuffer clEnqueueMapBuffer
      clEnqueueMarkerWithWaitList clFlush]]):gmatch("%S+") do
    calls[#calls + 1] = name
  end
  for name in (cl.device().image_support and [[clGetSupportedImageFormats
      clCreateImage clCreateSampler clEnqueueReadImage clEnqueueWriteImage
      clEnqueueFillImage clEnqueueCopyImage clEnqueueCopyImageToBuffer
      clEnqueueCopyBufferToImage]] or ""):gmatch("%S+") do
    calls[#calls + 1] = name
  end
  for _, name in ipairs(calls) do
    for _, code in ipairs{-5, -30} do
      local out, exit = run(SCENARIO .. "print 'all well'",
        ("%s:1:%d"):format(name, code))
      tried = tried + 1
      local hits = tonumber(out:match("faultlayer: (%d+) faults"))
      t.ok(hits, name .. ": the process died\n" .. out)
      fired = fired + (hits > 0 and 1 or 0)
      if exit == 0 then -- an allocation is tried twice
        t.ok(hits == 0 or code == -5 and out:find "all well", out)
      else
        t.eq(exit, 1, out)
        t.ok(out:find(name, 1, true), name .. " not named in: " .. out)
        t.ok(out:find(("(%d)"):format(code), 1, true), out)
      end
      balanced(out)
    end
  end
  t.ok(fired >= tried - 6, ("only %d of %d faults fired"):format(fired,
    tried))
end)

layer_test("what the driver's command buffers refuse runs one by one",
function()
  t.skip_if(not cl.device():has "cl_khr_command_buffer",
    "the device has no command buffers")
  for fault, words in pairs{["clCreateCommandBufferKHR:1:-35"] = "one by one",
      ["clFinalizeCommandBufferKHR:1:-59"] = "one by one",
      ["clEnqueueCommandBufferKHR:1:-59"] = "all well",
      ["clEnqueueCommandBufferKHR:1:-1140"] = "all well",
      ["clEnqueueCommandBufferKHR:1:-5"] = "CL_OUT_OF_RESOURCES"} do
    local out, code = run(SCENARIO .. "print 'all well'", fault)
    t.eq(code, words:find "CL_" and 1 or 0, out)
    t.ok(out:find(words, 1, true), out)
    t.ok(out:find("faultlayer: 1 faults", 1, true), out)
    balanced(out)
  end
end)

layer_test("a long version string tells its number", function()
  local out, code = run([[
    local p = cl.build("kernel void f(global int *x) {"
      .. "x[get_global_id(0)] = 1; }", {options = "-cl-std=CL3.0"})
    print(#cl.device().version, pcall(p.f.range, p.f, 10, 4))
  ]], "version:1:100")
  t.eq(code, 0, out)
  t.ok(out:find "^99\ttrue\tLaunch", out)
end)

layer_test("finalizers make queues while the unfinished are listed", function()
  local out, code = run([==[
    collectgarbage("incremental", 1, 1000, 1)
    local b, queues = cl.buffer("float", 4), {}
    for i = 1, 40 do
      queues[i] = cl.queue()
      queues[b:fill(i, {queue = queues[i], async = true})] = true
    end
    local made = {}
    local function again()
      made[#made + 1] = cl.queue()
      if #made < 2000 then
        setmetatable({}, {__gc = again})
      end
    end
    again()
    for _ = 1, 20 do
      local n = {}
      for _, u in ipairs(cl.unfinished()) do
        n[u.queue] = (n[u.queue] or 0) + 1
      end
      for i = 1, 40 do
        assert(n[queues[i]] == 1, "queue " .. i .. " is listed "
          .. tostring(n[queues[i]]) .. " times")
      end
    end
    print("made", #made)
    os.exit(true, false)
  ]==], "pending:1:0:sticky")
  t.ok(out:find "made\t%d%d", out)
  t.eq(code, 0, out)
end)

layer_test("a command that fails on the device loses it, said so", function()
  local out, code = run([[
    local b = cl.buffer("float", 64, 0)
    local k = cl.kernel "kernel void f(global float *x) { x[0] = 1; }"
    local ok, e = pcall(function() k:range(1)(b):wait() end)
    assert(not ok and e.code == -5, tostring(e))
    assert(tostring(e):find "failed on the device"
      and e.hint:find "%%restart", tostring(e))
    ok, e = pcall(b.read, b)
    assert(not ok and tostring(e):find "the device is lost", tostring(e))
    ok, e = pcall(function() return cl.buffer("float", 4, 1):read()[4] end)
    print(ok, e)
  ]], "status:2:-5")
  t.eq(code, 0, out)
  t.ok(out:find("true\t1.0", 1, true), "a new context works: " .. out)
  balanced(out)
end)

layer_test("a query that fails does not end a command", function()
  local out, code = run([[
    local b = cl.buffer("int", 64)
    local h = cl.array("int", 64)
    b:fill(7, {async = true})
    local _, ev = b:read(h, {async = true})
    local ok, e = pcall(ev.wait, ev)
    assert(not ok and e.call == "clGetEventInfo" and e.code == -5, e)
    print(ev:wait().status, h[64])
  ]], "clGetEventInfo:1:-5")
  t.ok(out:find("complete\t7\n", 1, true), out)
  t.eq(code, 0, out)
  balanced(out)
  out, code = run([[
    local ev = cl.buffer("int", 64):fill(7, {async = true})
    print(pcall(ev.wait, ev))
    print(ev:wait().status)
  ]], "clWaitForEvents:1:-14")
  t.ok(out:find("false\t[^\n]*clWaitForEvents[^\n]*\ncomplete\n"), out)
  t.eq(code, 0, out)
  out, code = run([[
    local ev = cl.buffer("int", 64):fill(7, {async = true})
    ev:on_complete(print)
    print(pcall(ev.wait, ev)) -- and not for ever
    os.exit(0, false)
  ]], "clGetEventInfo:1:-5:sticky")
  t.ok(out:find("false\t[^\n]*clGetEventInfo"), out)
  t.eq(code, 0, out)
end)

layer_test("memory of a command that cannot be asked stays", function()
  local out, code = run([[
    local n = 1 << 24
    local b = cl.buffer("int", n)
    local k = cl.kernel("kernel void f(global int *x) {"
      .. " for (int i = 0; i < 100000000; i++) x[0] += i ^ x[1]; }")
    k:range(1)(b)
    do
      local h = cl.array("int", n)
      local _, ev = b:read(h, {async = true})
      print(ev, pcall(ev.wait, ev))
      ev:close()
      h:close()
    end
    collectgarbage()
    print(#cl.unfinished())
  ]], "clGetEventInfo:1:-5:sticky")
  t.ok(out:find("Event unknown\tfalse\t[^\n]*clGetEventInfo"), out)
  t.ok(out:find("\n1\n", 1, true), out)
  t.eq(code, 0, out)
end)

layer_test("a timer that runs backwards gives no time", function()
  local out, code = run([[
    local b = cl.buffer("float", 64)
    local ev = b:fill(1)
    print(pcall(function() return ev.ms end))
  ]], "backwards:1:1")
  t.eq(code, 0, out)
  t.ok(out:find("backwards", 1, true), out)
end)

-- One of each, all tied to each other.
local function everything()
  local b = cl.buffer("float", 64, 0)
  local p = cl.build("kernel void f(global float *x) { x[0] += 1; }")
  return {b, b:view(1, 8), p, p.f, p.f:range(1), cl.queue(),
    p.f:range(1)(b), b:fill(1, {async = true}), b:map("read")}
end

-- Takes the objects of a list away in a random order and does f to each.
local function scattered(list, seed, f)
  local x = seed
  while #list > 0 do
    x = (x * 1103515245 + 12345) & 0x7fffffff
    f(table.remove(list, 1 + (x >> 8) % #list))
  end
end

t.test("collection in any order", function()
  for seed = 1, 20 do
    scattered(everything(), seed, function()
      collectgarbage()
    end)
  end
end)

t.test("closing in any order", function()
  for seed = 1, 20 do
    scattered(everything(), seed, function(o)
      o:close()
      o:close()
      t.eq(o.closed, true)
      t.ok(tostring(o))
    end)
  end
end)

t.test("many dropped objects do not pile up", function()
  for _ = 1, 3000 do
    cl.buffer("float", 1 << 16) -- 256 KiB each, 750 MiB in all
  end
  t.ok(cl.context().used < 200 * 2^20,
    ("%d bytes still counted"):format(cl.context().used))
  local b <close> = cl.buffer("float", 64, 0)
  for _ = 1, 20000 do
    b:fill(1, {async = true})
  end
  t.ok((cl.live().Event or 0) < 5000, "events are collected")
end)

t.test("metamethods and identity are out of a script's reach", function()
  local b <close> = cl.buffer("float", 4, 0)
  t.eq(getmetatable(b), false)
  t.raises(function() return b.__gc end, "no field or method '__gc'")
  t.raises(function() return b.__index end, "no field or method '__index'")
  t.raises(function() setmetatable(b, {}) end, "table expected, got Buffer")
  t.raises(function() cl.extend("Buffer", {read = print}) end, "already")
  for class, field in pairs{Buffer = "context", Event = "closed",
      Device = "name"} do
    t.raises(function() cl.extend(class, {[field] = print}) end,
      ("%s has a field '%s' already"):format(class, field))
    t.raises(function() cl.extend(class, {field}, print) end, "already")
  end
  t.raises(function() cl.extend("Bufer", {}) end, "Buffer")
  for _, name in ipairs{"__gc", "__index", "__metatable", "__mode", "__x"} do
    t.raises(function() cl.extend("Queue", {[name] = print}) end,
      ("'%s' is no operator"):format(name))
  end
  local q <close> = cl.queue()
  t.raises(function() return q + 1 end, "arithmetic")
  cl.extend("Queue", {"__add"}, function()
    cl.extend("Queue", {__add = function(a, n)
      return rawequal(a, q) and n
    end}, true)
  end)
  t.eq({q + 7, q + 8}, {7, 8})
  t.raises(function() cl.extend("Queue", {__add = print}) end, "already")
  -- a file that pretends to be a buffer, by the debug library
  local f <close> = assert(io.tmpfile())
  local meta = debug.getmetatable(f)
  debug.setmetatable(f, debug.getmetatable(b))
  local ok, e = pcall(b.read, f)
  debug.setmetatable(f, meta)
  t.ok(not ok and tostring(e):find "must be a Buffer", tostring(e))
  for _, fake in ipairs{{}, "x", 1, print, coroutine.create(print)} do
    t.raises(function() b.read(fake) end, "must be a Buffer")
    t.raises(function() b.close(fake) end, "must be a Buffer")
  end
end)

t.test("the debug library takes nothing from under an object", function()
  local b = cl.buffer("float", 64, 0)
  local k = cl.kernel "kernel void f(global float *x) { x[0] += 1; }"
  for _, o in ipairs{b, b:view(1, 8), k, k:range(1), cl.queue(),
      b:fill(1, {async = true}), cl.context()} do
    for i = 1, 3 do
      t.raises(function() debug.setuservalue(o, nil, i) end,
        "debug.setuservalue: scripts must not change")
    end
    t.raises(function() debug.setmetatable(o, {}) end,
      "debug.setmetatable: scripts must not change")
  end
  debug.getmetatable(b).__gc = nil -- of a copy
  t.eq(type(debug.getmetatable(b).__gc), "function")
  local f <close> = assert(io.tmpfile())
  t.eq(debug.setuservalue(f, 1, 1), nil)
  local meta = debug.getmetatable(f)
  t.eq(debug.setmetatable(f, meta), f)
end)

t.test("vectors have a text", function()
  t.eq(tostring(cl.float4(1, 2, 3, 4)), "float4 (1.0, 2.0, 3.0, 4.0)")
  t.eq(tostring(cl.ulong2(-1, 1)), "ulong2 (18446744073709551615, 1)")
end)

t.test("closed values have a text", function()
  local b <close> = cl.buffer("int", 4)
  for text, v in pairs{["int 3 (closed)"] = cl.int(3),
      ["2 bytes (closed)"] = cl.bytes "ab", ["Any (closed)"] = cl.any(b),
      ["local float[3] (closed)"] = cl.localmem("float", 3)} do
    v:close()
    t.eq(tostring(v), text)
  end
end)

t.test("cl.sleep takes a finite time", function()
  for _, seconds in ipairs{0 / 0, -1, -0.5, math.huge, -math.huge} do
    t.raises(function() cl.sleep(seconds) end,
      "seconds must be >= 0 and finite; got")
  end
  cl.sleep(0)
end)

t.test("tables that lie", function()
  local liar = setmetatable({}, {__len = function() return 1 << 40 end,
    __index = function() return 1 end})
  t.raises(function() cl.buffer("float", liar) end, "1 to 4", "got 0")
  t.raises(function() cl.buffer("float", 4, liar) end, "4 elements; got 0")
  local cycle = {}
  cycle[1] = cycle
  t.raises(function() cl.buffer("float", {1, 1}, cycle) end, "[1][1]")
  local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
  t.raises(function() k:range(liar) end, "1 to 3", "got 0")
  local deep = {}
  for _ = 1, 1e5 do
    deep = {deep}
  end
  t.raises(function() cl.buffer("float", {1, 1, 1, 1}, deep) end,
    "[1][1][1][1]")
end)

t.test("an init function that closes what it fills", function()
  local b
  local ok = pcall(function()
    b = cl.array("float", 8)
    b:write(nil)
  end)
  t.eq(ok, false)
  local x <close> = cl.buffer("float", 8, 0)
  pcall(x.write, x, function(i)
    if i == 4 then
      x:close()
    end
    return i
  end)
  t.eq(x.closed, true)
end)

t.test("coroutines", function()
  local b <close> = cl.buffer("float", 4, 0)
  local co = coroutine.wrap(function()
    local inner <close> = cl.buffer("float", 4, 2)
    coroutine.yield(inner:read()[1])
    b:fill(3)
    coroutine.yield(b:read()[1])
  end)
  t.eq(co(), 2)
  t.eq(co(), 3)
end)

t.test("no device: one sentence, and Lua goes on", function()
  t.nodevices()
  local p <close> = io.popen("OCL_ICD_VENDORS=/nonexistent CLSHELL_DEVICE= "
    .. t.exe .. [[ -e 'print(#cl.devices()) print(pcall(cl.device))
    print(pcall(matrix.random, 3)) print(1 + 1)' 2>&1]])
  local out = p:read("a")
  t.ok(out:find("^0\nfalse\t[^\n]*no OpenCL device[^\n]*install"), out)
  t.ok(out:find("\n2\n$"), out)
end)

t.done()

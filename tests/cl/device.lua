-- device.lua - devices, contexts and queues: what they tell, how one is
-- chosen, and how they end.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

t.test("the list of devices", function()
  local list = cl.devices()
  t.ok(#list >= 1)
  local rank = {gpu = 1, accelerator = 2, cpu = 3, other = 4}
  for i, d in ipairs(list) do
    t.eq(d.index, i)
    t.ok(i == 1 or rank[list[i - 1].type] <= rank[d.type], "order of types")
    t.ok(#d.name > 0 and #d.platform > 0 and #d.version > 0)
  end
  t.ok(cl.devices()[1] == list[1], "the same device is equal to itself")
  t.ok(#cl.platforms() >= 1 and #cl.platforms()[1].name > 0)
end)

t.test("everything that a device tells", function()
  local info = device:info()
  for _, name in ipairs{"name", "vendor", "version", "driver_version",
      "extensions", "max_compute_units", "max_work_group_size",
      "global_mem_size", "local_mem_size", "max_mem_alloc_size",
      "max_constant_buffer_size", "mem_base_addr_align", "type"} do
    t.ok(info[name] ~= nil, name)
    t.eq(device[name], info[name], name)
  end
  t.eq(device.compute_units, info.max_compute_units)
  t.eq(#info.max_work_item_sizes, info.max_work_item_dimensions)
  t.eq(device.no_such_info, nil)
  t.eq(device:has "cl_khr", false, "part of a word is no extension")
  for word in device.extensions:gmatch("%S+") do
    t.ok(device:has(word), word)
  end
  t.ok(tostring(device):find(device.name, 1, true))
end)

t.test("choosing a device", function()
  t.ok(cl.use(device) == device)
  t.ok(cl.use(tostring(device.index)) == device)
  t.ok(cl.use(device.type).type == device.type)
  local session = cl.device()
  t.ok(cl.device(device.index) == device)
  t.ok(cl.device(device) == device)
  t.ok(cl.device() == session, "the session keeps its own")
  t.raises(function() cl.device(99) end, "no device matches '99'")
  t.raises(function() cl.use "no such device" end, "no device matches",
    "; there ", device.name)
  t.raises(function() cl.use "0" end, "no device matches")
  t.raises(function() cl.use(99) end, "no device matches")
  t.raises(function() cl.use(nil) end, "nil")
  t.raises(function() cl.use "" end, "no device matches")
  t.ok(cl.use(device) == device, "the session goes on")
  t.ok(cl.use(device, 5) == device, "a second argument does not count")
  t.ok(cl.device() == device)
end)

t.test("a device by the words that the prompt prints", function()
  local words = require "clshell.shell.prompt.device_list".words(device)
  local name = words:match "^device %d+: (.*), [^,]*, [^,]*$"
  local alike = 0
  for _, other in ipairs(cl.devices()) do
    alike = alike + (other.name == device.name and 1 or 0)
  end
  t.skip_if(alike > 1, "several devices have this name")
  t.ok(cl.use(name) == device, name)
  t.raises(function() cl.use(name .. " and more") end, "no device matches")
  t.raises(function() cl.use("no such, " .. device.name) end,
    "no device matches")
end)

t.test("contexts", function()
  local c = cl.context()
  t.ok(rawequal(c, cl.context()), "one for each device")
  t.ok(rawequal(c, cl.context(device)))
  t.ok(c.device == device)
  t.eq(c:info().device, device.name)
  t.eq(c.used, 0)
  local b <close> = cl.buffer("float", 10, 1, {context = c})
  t.eq(c.used, 40)
  t.ok(rawequal(b.context, c))
  b:close()
  t.eq(c.used, 0)
  local left <close> = cl.buffer("float", 10, 1)
  c:close()
  c:close()
  t.eq(c.closed, true)
  t.raises(function() return c.queue end, "closed")
  t.raises(function() left:read() end, "closed")
  t.raises(function() cl.buffer("float", 1, 0, {context = c}) end, "closed")
  t.raises(function() cl.context(5) end, "must be a Device")
  t.ok(not rawequal(c, cl.context()), "the next need opens a new one")
end)

t.test("queues", function()
  local q <close> = cl.queue()
  t.eq(q.profiling, true)
  t.eq(q.out_of_order, false)
  local plain <close> = cl.queue{profiling = false}
  local b <close> = cl.buffer("float", 16, 0)
  local ev = b:fill(2, {queue = plain})
  t.raises(function() return ev.ms end, "not profiled")
  t.eq(b:read({queue = q})[16], 2.0)
  t.ok(rawequal(q:flush(), q) and rawequal(q:finish(), q))
  t.eq(q:info().device, device.name)
  t.raises(function() cl.queue{out_of_ordr = true} end,
    "did you mean 'out_of_order'?")
  t.raises(function() cl.queue(3) end, "table of options")
  q:close()
  q:close()
  t.raises(function() q:finish() end, "closed")
  t.raises(function() b:fill(1, {queue = q}) end, "closed")
end)

t.test("order by events on an out-of-order queue", function()
  local q <close> = cl.queue{out_of_order = true}
  local b <close> = cl.buffer("int", 1000, 0)
  local opts = {queue = q, async = true}
  local last = b:fill(0, opts)
  for i = 1, 50 do
    last = b:fill(i, {queue = q, async = true, after = {last}})
  end
  local h = b:read{queue = q, after = last}
  t.eq(h[1], 50)
  t.eq(h[1000], 50)
  local m = q:marker{after = {last}}
  t.eq(m:wait().status, "complete")
  t.eq(q:barrier():wait().command, "barrier")
  t.raises(function() q:marker{after = 3} end, "an Event or a list of Events")
  t.raises(function() q:marker{after = {m, "x"}} end, "got string")
  t.raises(function() q:marker{befor = m} end, "unknown option")
end)

t.test("events", function()
  local b <close> = cl.buffer("float", 1 << 16, 1)
  local ev = b:fill(3, {async = true})
  ev:wait()
  t.eq(ev.status, "complete")
  t.eq(ev.command, "fill")
  t.ok(ev.queued <= ev.submit and ev.submit <= ev.start
    and ev.start <= ev.stop, "stamps in order")
  t.near(ev.ms, (ev.stop - ev.start) / 1e6)
  if ev.ms > 0 then
    t.near(ev:gbs(1e6), 1 / ev.ms)
    t.near(ev:gflops(1e6), 1 / ev.ms)
  end
  t.eq(math.type(ev.start), "integer")
  t.eq(ev:info().status, "complete")
  t.ok(tostring(ev):find("fill"))
  ev:close()
  ev:close()
  t.raises(function() return ev.ms end, "closed")
  t.raises(function() ev:wait() end, "closed")
  t.raises(function() b:fill(1, {after = ev}) end, "closed Event")
end)

t.test("parts of a device work alone", function()
  local d = cl.device()
  t.eq(d.whole, nil)
  for given, piece in pairs{[{}] = "give one of equally",
      [{equally = 1, counts = {1}}] = "give one of equally",
      [{equally = 0}] = "equally: must be a whole number >= 1; got 0",
      [{counts = 1}] = "counts: must be a list", [{counts = {}}] = "a list of",
      [{counts = {1, 0.5}}] = "counts: must be a whole number",
      [{affinity = "nima"}] = "must be one of numa",
      [{equaly = 1}] = "did you mean 'equally'"} do
    t.raises(function() d:partition(given) end, piece)
  end
  t.raises(function() d:partition() end, "table expected")
  local err = t.raises(function() d:partition{equally = 1 << 20} end,
    "parts", "the whole device")
  t.eq(err.call, "clCreateSubDevices")
  local fine, parts = pcall(d.partition, d, {equally = 1})
  if not fine then
    t.skip(parts.message)
  end
  t.ok(#parts >= 1)
  for i = 1, math.min(#parts, 2) do
    local part = parts[i]
    t.eq({part.compute_units, part.index, part.whole == d}, {1, d.index, true})
    t.ok(tostring(part):find("Part of Device", 1, true))
    local c = cl.context(part)
    t.ok(rawequal(c, cl.context(part)) and c ~= cl.context(d))
    t.ok(rawequal(c.device, part))
    local p <close> = cl.build("kernel void f(global int *x) "
      .. "{ x[get_global_id(0)] = get_global_id(0); }", {context = c})
    local b <close> = cl.buffer("int", 1000, 0, {context = c})
    p.f:range(1000)(b)
    t.eq(b:read()[1000], 999)
  end
  t.ok(rawequal(cl.use(parts[1]), cl.device()))
  local b <close> = cl.buffer("int", 1, 3)
  t.ok(rawequal(b.context.device, parts[1]))
  cl.use(d)
end)

t.test("contexts of several devices have their Buffers in common", function()
  local d = cl.device()
  for given, piece in pairs{[{}] = "1 to 64 Devices; got 0",
      [{3}] = "element 1 must be a Device; got number"} do
    t.raises(function() cl.contexts(given) end, piece)
  end
  local fine, parts = pcall(d.partition, d, {equally = 1})
  local devices = fine and #parts > 1 and {parts[1], parts[2]} or {d, d}
  local made, list = pcall(cl.contexts, devices)
  if not made then
    t.skip(list.message)
  end
  local one, two = list[1], list[2]
  t.eq({#list, one.device == devices[1], two.device == devices[2]},
    {2, true, true})
  local b <close> = cl.buffer("int", 100, 1, {context = one})
  local kernels = {}
  for i, c in ipairs(list) do
    kernels[i] = cl.kernel(("kernel void f(global int *x) "
      .. "{ x[get_global_id(0)] += %d; }"):format(10 ^ i), {context = c})
  end
  local first = kernels[1]:range(100)(b)
  local last = kernels[2]:range(100):on(nil, {after = first})(b)
  t.eq(b:read{queue = two.queue, after = last}[100], 111)
  local copy <close> = cl.buffer("int", 100, 0, {context = two})
  b:copy(copy, {after = last})
  t.eq(copy:read()[1], 111)
  t.raises(function() kernels[1]:range(1):on(two.queue) end,
    "another context (device)")
  local other <close> = cl.buffer("int", 100, 0)
  t.raises(function() kernels[1]:range(1)(other) end, "another context")
  local go <close> = pcall(cl.user_event) and cl.user_event{context = one}
  if go then
    local waits <close> = copy:fill(3, {async = true, after = go})
    go:fail()
    t.raises(function() waits:wait() end, "waits for has failed")
    t.eq(copy:read()[1], 111, "the device is not lost")
  end
  one:close()
  t.raises(function() b:read() end, "its Context is closed")
  t.eq(copy:read()[2], 111, "the other stays open")
end)

t.test("a pretended device keeps the limits of another", function()
  local path = t.tmp "as.lua"
  t.write(path, [==[
    local dev = cl.device()
    print(dev.pretends, dev.name, dev.max_work_group_size, dev.local_mem_size,
      dev:info().max_constant_buffer_size, dev.max_work_item_sizes[2])
    local k = cl.kernel [[kernel void f(constant int *c, global int *x) {
      x[get_global_id(0)] = get_local_size(0) + c[0];
    }]]
    local x, c = cl.buffer("int", 5000), cl.buffer("int", 16385, 0)
    print("group", k.work_group_size, select(2, pcall(k.range, k, 512, 512)))
    k:range(5000)(c:view(1, 9), x)
    print("chosen", x:read()[1] <= 256 and 5000 % x:read()[1])
    print("constant", select(2, pcall(k:range(64, 64), c, x)))
    local l = cl.kernel [[kernel void f(local int *a, global int *x) {
      x[0] = a[0];
    }]]:range(64, 64)
    print("local", select(2, pcall(l, cl.localmem("int", 8193), x)))
    print("rung", gemm.check("tiled", {tile = 32}, {m = 64, n = 64, k = 64}))
    print("unit", occupancy{wg = 64, registers = 64}.gpu)
    print(bench("gemm.naive", {32, 32, 32}, nil, {effort = "quick"}).note)
  ]==])
  local out = t.capture(("%s --as m1 -q -n %s 2>&1"):format(t.exe, path))
  for _, words in ipairs{"^M1\t.* %(pretends to be M1%)\t256\t32768\t65536"
      .. "\t256\n", "group\t256\t.*local 512 over global 512: the device "
      .. "allows 256", "chosen\t0\n", "constant\t.*65540 bytes; the device's "
      .. "constant memory takes 65536", "local\t[^\n]*32768",
      "rung\tnil\tlocal 32x32 = 1024 work%-items, device allows 256",
      "unit\tM1\n", "limits of M1, the rate of this device"} do
    t.ok(out:find(words), words .. " in:\n" .. out)
  end
  t.ok(t.capture(t.exe .. " --as M1 --devices"):find("(pretends to be M1)", 1,
    true))
  out = t.capture(t.exe .. " --as M9 -e 'print(1)' 2>&1; echo $?")
  t.ok(out:find "^clshell: %-%-as: no GPU 'M9'.*\n2\n$", out)
  t.eq(device.pretends, nil)
end)

t.done()

-- hold.lua - memory of closed Buffers that the next Buffers take
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local fused = require "clshell.arrays.fused"
local oclgrind = require "clshell.explain.oclgrind"
local scan = require "clshell.scan"
local scratch = require "scratch"

local device = t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local create, sh = scratch.create, scratch.sh
local N = 5000
local BYTES = 4 * N

-- Whether OpenCL runs on a simulator: there nothing is held.
local function without()
  local context = cl.context()
  context:trim()
  cl.linspace(0, 1, 5):astype("float"):eval():close()
  local none = context.held == 0
  context:trim()
  return none
end

local none = without()

local function test(name, fn)
  t.test(name, function()
    t.skip_if(none, "this device holds no memory for results")
    cl.context():trim()
    local x <close> = cl.buffer("float", N, function(i) return i end)
    fn(cl.context(), x)
    cl.context():trim()
  end)
end

local address = cl.kernel [[kernel void address(global const float *x,
    global ulong *at) {
  at[0] = (ulong)x;
}]]

local function at(b)
  local place <close> = cl.buffer("ulong", 1, nil, {access = "write_only"})
  address:range(1)(b, place)
  return place:read()[1]
end

test("a result takes the memory of a closed one of its size", function(c, x)
  local used = c.used
  local z = (x + 1):eval()
  local first = at(z)
  t.eq({c.used, c.held}, {used + BYTES, 0})
  z:close()
  z:close()
  t.eq({c.used, c.held, c:info().held_bytes}, {used, BYTES, BYTES})
  local other <close> = (x:slice(1, N - 1) + 1):eval()
  t.eq({c.held, #other}, {BYTES, N - 1}, "another size takes none")
  local y <close> = (2 * x):eval()
  t.eq({c.used, c.held, at(y)}, {used + 2 * BYTES - 4, 0, first})
  t.eq(y:read()[N], 2 * N)
end)

test("so does a Buffer without content, behind all commands", function(c, x)
  local plain <close> = cl.buffer("float", N, 1)
  local first, held = at(plain), c.held
  plain:close()
  plain:close()
  t.eq(c.held, held + BYTES)
  local y <close> = cl.buffer("float", {N // 2, 2})
  t.eq({c.held, at(y)}, {held, first})
  local gate <close> = cl.user_event()
  local event <close> = y:copy(x, {after = gate, async = true})
  y:close()
  local q <close> = cl.queue()
  local new <close> = cl.buffer("float", N)
  t.eq(c.held, held + BYTES, "the copy of y has not ended")
  new:fill(2, {queue = q})
  gate:complete()
  event:wait()
  t.eq({new:read()[N], x:read()[1]}, {2, 1})
  c.queue:finish()
  local third <close> = cl.buffer("float", N)
  t.eq({c.held, at(third)}, {held, first})
end)

test("nor is memory of another kind held or taken", function(c)
  local kinds = {{access = "read_only"}, {access = "write_only"},
    {host = true}}
  for i, opts in ipairs(kinds) do
    cl.buffer("float", N, 1, opts):close()
    t.eq(c.held, 0, i)
    cl.buffer("float", N, 1):close()
    cl.buffer("float", N, 1, opts):close()
    t.eq({c.held, c:trim()}, {BYTES, BYTES}, i)
  end
  local h <close> = cl.array("float", N)
  local made, b = pcall(cl.buffer, "float", N, h, {use_host_ptr = true})
  if made then
    b:close()
    t.eq(c.held, 0)
  end
  made, b = pcall(cl.buffer, "float", N, nil, {svm = true})
  if made then
    b:close()
    t.eq(c.held, 0)
  end
end)

test("results of all calculations are held, collected ones too", function(c, x)
  local made = {
    eval = function() return (x + 1):eval() end,
    clone = function() return x:clone() end,
    cumsum = function() return x:cumsum() end,
    map = function() return (cl.map("float z = x + i", {x = x})) end,
    gather = function() return x:gather(cl.buffer("long", N, 1)) end,
    tile = function() return x:tile(1) end,
    concatenate = function() return cl.concatenate{x} end,
    family = function() return (scan(x, {kind = "exclusive"})) end,
  }
  for name, f in pairs(made) do
    f()
    collectgarbage()
    t.ok(c.held >= BYTES, name)
    c:trim()
    t.eq(c.held, 0)
  end
end)

test("trim says what it gave back", function(c, x)
  for i = 1, 3 do
    (x:slice(1, i) + 1):eval():close()
  end
  t.eq({c.held, c:trim(), c.held, c:trim()}, {24, 24, 0, 0})
end)

test("at most 1024 are held, the newest", function(c, x)
  local list = {}
  for i = 1, 1030 do
    list[i] = (x:slice(1, i) + 1):eval()
  end
  local sum = 0
  for i, z in ipairs(list) do
    z:close()
    sum = sum + (i > 6 and 4 * i or 0)
  end
  t.eq(c.held, sum)
end)

-- The first content is read behind a user event, after its Buffer was closed.
test("commands under way keep the content of before", function(c, x)
  local copy = cl.kernel [[kernel void copy(global const float *x,
      global float *y) {
    y[get_global_id(0)] = x[get_global_id(0)];
  }]]
  local seen <close> = cl.buffer("float", N, 0)
  local gate <close> = cl.user_event()
  local z = (x + 1):eval()
  local event <close> = copy:range(N):on(nil, {after = gate})(z, seen)
  z:close()
  t.eq(c.held, BYTES)
  local after <close> = (x * -1):eval()
  t.eq(c.held, 0, "taken while the command waits")
  gate:complete()
  event:wait()
  t.eq((seen - x):min(), 1.0)
  t.eq((seen - x):max(), 1.0)
  t.eq(after:read()[N], -N)
end)

test("scratch memory is that of a default queue, or of a recording",
function(c)
  local first = fused.scratch(c, "int", 5)
  t.ok(fused.scratch(c, "int", 5) == first)
  local step = cl.kernel "kernel void f(global int *x) { x[0] = 1; }":range(1)
  local own
  cl.record(function()
    own = fused.scratch(c, "int", 5)
    t.ok(fused.scratch(c, "int", 5) == own and own ~= first)
    step(own)
  end):close()
  t.ok(fused.scratch(c, "int", 5) == first)
  local counter = fused.counter(c)
  c.queue:close()
  t.ok(fused.scratch(c, "int", 5) ~= first and fused.counter(c) ~= counter)
end)

test("the output of a plan takes no memory that is under way", function(c, x)
  local late = cl.kernel [[kernel void late(global float *z) {
    z[get_global_id(0)] = -1;
  }]]
  local q <close> = cl.queue()
  local gate <close> = cl.user_event()
  local z = scan(x)
  late:range(N):on(nil, {after = gate})(z)
  z:close()
  t.eq(c.held, BYTES)
  local plan = scan.plan(x)
  t.eq(c.held, BYTES, "left for calls that run at once")
  plan.output:fill(5, {queue = q}) -- before the plan runs
  gate:complete()
  c.queue:finish()
  t.eq(plan.output:read()[N], 5.0)
end)

test("memory that another queue has used is not held", function(c, x)
  local q <close> = cl.queue()
  local gate <close> = cl.user_event()
  local uses = {
    launch = function(z, place)
      return address:range(1):on(q, {after = gate})(z, place)
    end,
    fill = function(z)
      return z:fill(1, {queue = q, after = gate, async = true})
    end,
    read = function(z)
      return select(2, z:read{queue = q, after = gate, async = true})
    end,
    copy = function(z)
      return z:copy(x, {queue = q, after = gate, async = true})
    end,
    target = function(z)
      return x:copy(z, {queue = q, after = gate, async = true})
    end,
  }
  local events = {}
  local place <close> = cl.buffer("ulong", 1)
  for name, use in pairs(uses) do
    local z <close> = (x + 1):eval()
    c.queue:finish()
    events[#events + 1] = use(z, place)
    z:close()
    t.eq(c.held, 0, name)
  end
  gate:complete()
  for _, event in ipairs(events) do
    event:wait()
    event:close()
  end
end)

test("nor what another device of common memory has used", function()
  local fine, parts = pcall(device.partition, device, {equally = 1})
  local made, list = pcall(cl.contexts, fine and #parts > 1
    and {parts[1], parts[2]} or {device, device})
  if not made then
    t.skip(list.message)
  end
  local one, two = list[1], list[2]
  local x <close> = cl.buffer("float", N, 1, {context = one})
  local z = (x + 1):eval()
  z:close()
  t.eq({one.held, two.held}, {BYTES, 0})
  z = (x + 1):eval()
  one.queue:finish()
  t.eq(z:read{queue = two.queue}[N], 2)
  z:close()
  t.eq({one.held, two.held}, {0, 0})
  z = (x + 1):eval()
  one.queue:finish()
  local k = cl.kernel("kernel void twice(global float *x) "
    .. "{ x[get_global_id(0)] *= 2; }", {context = two})
  k:range(N)(z):wait()
  t.eq(z:read()[N], 4)
  z:close()
  t.eq({one.held, two.held}, {0, 0})
  two:close()
  one:close()
end)

test("memory is held when its views are gone", function(c, x)
  local z = (x + 1):eval()
  local v = z:reshape{N // 2, 2}
  local part = v:view(1, 10)
  v:close()
  part:close()
  z:close()
  t.eq(c.held, BYTES)
  z = (x + 2):eval():reshape{N, 1}
  t.eq({c.held, z:read()[N]}, {0, N + 2})
  z = nil
  collectgarbage()
  t.eq({c.held, z}, {BYTES}, "a view is collected before its Buffer")
  local q <close> = cl.queue()
  z = (x + 1):eval()
  c.queue:finish()
  v = z:view(1, 10):as "int"
  v:read{queue = q}
  v:close()
  z:close()
  t.eq(c.held, 0, "used on another queue")
  z = (x + 1):eval()
  v = z:view(1, 10)
  local h <close> = v:map "read"
  v:close()
  z:close()
  t.eq({c.held, h[5]}, {0, 6})
end)

test("nor is that of an open view, a mapping or an image", function(c, x)
  local z = (x + 1):eval()
  local v <close> = z:view(1, 10)
  z:close()
  t.eq({c.held, v:read()[10]}, {0, 11})
  z = (x + 1):eval()
  local same <close> = z:reshape{N, 1}
  z:close()
  t.eq({c.held, same:read()[N]}, {0, N + 1})
  z = (x + 1):eval()
  local h <close> = z:map "read"
  z:close()
  t.eq({c.held, h[5]}, {0, 6})
  if device.image_support then
    z = (x + 1):eval()
    local fine, image = pcall(cl.image, {format = "r float", buffer = z})
    z:close()
    t.eq(c.held, fine and 0 or c.held)
    if fine then
      t.eq(image:read{origin = 1, region = 1}[1], 3, "x[2] + 1")
      image:close()
    end
  end
end)

test("a new default queue takes none of the last one's", function(c, x)
  local z = (x + 1):eval()
  local late <close> = (x + 2):eval();
  (x + 3):eval():close()
  t.eq(c.held, BYTES)
  c.queue:close()
  z:close()
  t.eq(c.held, 2 * BYTES)
  local y <close> = (x * 2):eval()
  t.eq({c.held, y:read()[N]}, {0, 2 * N})
  late:close()
  t.eq(c.held, 0)
  y:close()
  t.eq(c.held, BYTES)
end)

test("closing the context gives it back", function()
  local c <close> = cl.context()
  local x <close> = cl.buffer("float", N, 1)
  local z <close> = (x + 1):eval();
  (x + 2):eval():close()
  t.eq(c.held, BYTES)
  c:close()
  z:close()
  t.raises(function() return c.held end, "closed")
  t.raises(function() c:trim() end, "closed")
  t.ok(cl.context() ~= c)
  t.eq(cl.context().held, 0)
end)

-- What a script prints whose driver has faults; the layer's report at the end.
local function faulty(faults, code)
  create("held.lua", ("local N = %d\n"):format(N) .. code)
  local out, err = sh(("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=%s "
    .. "CLSHELL_DEVICE=%d $clshell held.lua"):format(t.build, faults,
    device.index))
  t.skip_if(not err:find("faultlayer:", 1, true),
    "the OpenCL loader takes no layers (OPENCL_LAYERS)")
  return out, err
end

test("an allocation that fails gets it all", function()
  local out, err = faulty("clCreateBuffer:4:-4", [[
    local c = cl.context()
    local x = cl.buffer("float", N, 1)
    local y = (x + 1):eval()
    y:close()
    local z = (x:slice(1, 9) + 1):eval()
    z:close()
    print(c.held)
    local other = cl.buffer("float", 7, 1)
    print(c.held, #other)
    y = (x + 1):eval()
    y:close()
    print(c.held)]])
  t.eq(out, ("%d\n0\t7\n%d\n"):format(BYTES + 36, BYTES), err)
  t.ok(err:find("1 faults; open: Context 0 Queue 0 Buffer 0 ", 1, true), err)
end)

-- Some drivers allocate in the first command that uses a Buffer.
test("so does a command that has too little", function()
  for fault, code in pairs{
      ["clEnqueueNDRangeKernel:2"] = "x:set(x + 1)",
      ["clEnqueueWriteBuffer:1"] = "x:write(cl.array('float', N, 2))",
      ["clEnqueueFillBuffer:2"] = "x:fill(2)",
      ["clEnqueueCopyBuffer:1"] =
        "cl.buffer('float', N + 1, 2):copy(x, {count = N})"} do
    local out, err = faulty(fault .. ":-4", [[
      local x = cl.buffer("float", N, 1);
      (x + 1):eval():close()
      local c = cl.context()
      print(c.held)
      ]] .. code .. [[

      print(c.held, x:read()[N])]])
    t.eq(out, ("%d\n0\t2.0\n"):format(BYTES), fault .. err)
  end
  local _, err = faulty("clEnqueueNDRangeKernel:1:-4", [[
    local x = cl.buffer("float", N, 1)
    x:set(x + 1)]])
  t.ok(err:find("clEnqueueNDRangeKernel: CL_MEM_OBJECT_ALLOCATION_FAILURE", 1,
    true), err)
end)

test("at most a 16th of the device's memory is held", function()
  local out, err = faulty("untold:1:4127", [[ -- no global memory is told
    local c = cl.context()
    local all = c:info().max_bytes
    local x = cl.buffer("char", all // 64, 1)
    for _, n in ipairs{1, 2, 3, 4} do
      local list = {}
      for k = 1, 3 do
        list[k] = cl.concatenate{x:slice(1, all // 64 - n * k)}
      end
      for _, z in ipairs(list) do
        z:close()
      end
      print(c.held <= all // 16, c.held > all // 32)
    end
    c:trim()
    x:clone():close()
    x:tile(5):close() -- too large for itself, and takes no other's place
    print(c.held == #x)
    local rest = {} -- as much as all of it
    x:tile(2):close()
    for k = 1, 63 do
      rest[k] = cl.buffer("char", all // 64)
    end
    print(c.held, c.used == all)]])
  t.eq(out, ("true\ttrue\n"):rep(4) .. "true\n0\ttrue\n", err)
end)

t.test("none on the simulator, which sees what is never written", function()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
  create("simulated.lua", [[
    local x = cl.buffer("float", 10, 1);
    (x + 1):eval():close()
    print(cl.context().held)
    local y = debug.getregistry()["cl.hooks"].result("float", 10, cl.context())
    cl.kernel("kernel void f(global const float *x, global float *y) "
      .. "{ y[0] = x[3] > 0 ? 1 : 2; }"):range(1)(y, x):wait()]])
  local out, err = sh "$clshell --memcheck simulated.lua"
  t.eq(out, "0\n", err)
  t.ok(err:find "memcheck: 1 finding", err)
end)

scratch.done()

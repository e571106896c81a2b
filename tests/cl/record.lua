-- record.lua - launches recorded once and run as a whole: class CommandBuffer
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local result = require "clshell.base.result"
local scan = require "clshell.scan"
local scratch = require "scratch"

local device = t.device()
t.keeps("Context", "Queue", "Kernel", "Program", "Launch", "Array")

local SOURCE = [[
kernel void grow(global int *x, int a) {
  size_t i = get_global_id(0);
  x[i] = 3 * x[i] + a;
}
kernel void twice(global const int *x, global int *y, local int *s) {
  size_t i = get_global_id(0), l = get_local_id(0);
  s[l] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = 2 * s[get_local_size(0) - 1 - l];
}
kernel void spin(global int *x, int n) {
  int s = x[0];
  for (int i = 0; i < n; i++)
    s = s * 3 + (i ^ s);
  x[0] = s;
}]]

local REFUSED = "cl.record: a recording holds launches of kernels alone"

-- x after `runs` runs of step with each of 1 to n.
local function stepped(x, n, runs)
  for _ = 1, runs do
    for a = 1, n do
      x = 3 * x + a
    end
  end
  return x
end

-- The recording of n steps on a Buffer.
local function steps_on(x, n, opts)
  local step = cl.build(SOURCE).grow:range(#x)
  return cl.record(function()
    for a = 1, n do
      step(x, a)
    end
  end, opts)
end

t.test("launches run in their order, any number of times", function()
  local x <close> = cl.buffer("int", 20, 1)
  local steps <close> = steps_on(x, 4)
  t.eq(x:read():table(), cl.array("int", 20, 1):table(), "nothing ran yet")
  t.eq({#steps, steps.closed, steps.context == cl.context()},
    {4, false, true})
  t.eq(steps.native, device:has "cl_khr_command_buffer")
  t.eq(tostring(steps), "CommandBuffer of 4 launches"
    .. (steps.native and ", native" or ""))
  local info = steps:info()
  t.eq({info.native, info.device}, {steps.native, device.name})
  t.eq(info.kernels, {"grow", "grow", "grow", "grow"})
  steps():wait()
  t.eq(x:read()[20], stepped(1, 4, 1))
  local last
  for _ = 1, 3 do -- before the run before has ended
    last = steps:run()
  end
  t.eq(last:wait().status, "complete")
  t.eq(x:read()[1], stepped(1, 4, 4))
  x:fill(2)
  steps()
  t.eq(x:read()[7], stepped(2, 4, 1), "the content is that of the run")
  local own <close> = steps_on(x, 4, {native = false})
  t.eq({own.native, tostring(own)}, {false, "CommandBuffer of 4 launches"})
  x:fill(3)
  own()
  steps()
  own():wait()
  t.eq(x:read()[19], stepped(3, 4, 3))
end)

t.test("one launch alone; two kernels, local memory, views, offsets",
function()
  local p <close> = cl.build(SOURCE)
  local x, y = cl.buffer("int", 1024, function(i) return i end),
    cl.buffer("int", 1024, 0)
  local alone <close> = cl.record(function() p.grow:range(1024)(x, 1) end)
  t.eq({#alone, alone.native}, {1, false})
  t.eq(tostring(alone), "CommandBuffer of 1 launch")
  alone()
  t.eq({x:read()[1], x:read()[1024]}, {4, 3073})
  local part = x:view(1, 512)
  local steps <close> = cl.record(function()
    p.twice:range(512, 8)(cl.any(part), y, cl.localmem("int", 8))
    p.grow:range({4}, {2}, {4})(y, 5)
  end)
  for _ = 1, 2 do
    steps()
    local h = y:read()
    t.eq({h[1], h[4]}, {2 * (3 * 8 + 1), 2 * (3 * 5 + 1)})
    t.eq({h[5], h[8]}, {3 * 2 * (3 * 4 + 1) + 5, 3 * 2 * (3 * 1 + 1) + 5})
    t.eq({h[9], h[513]}, {2 * (3 * 16 + 1), 0})
  end
end)

t.test("arguments are those of the recording", function()
  local p <close> = cl.build(SOURCE)
  local x, y = cl.buffer("int", 4, 0), cl.buffer("int", 4, 0)
  local step, list = p.grow:range(4), {1, 2}
  local steps <close> = cl.record(function()
    step(x, list[1])
    step(x, list[2])
  end)
  list[1] = 50
  step(y, 90) -- other arguments of the same kernel
  steps()
  step(y, 91)
  steps()
  t.eq({x:read()[1], y:read()[1]}, {stepped(0, 2, 2), 361})
end)

t.test("an Event has the times from the first START to the last END",
function()
  local p <close> = cl.build(SOURCE)
  local x <close> = cl.buffer("int", 4, 1)
  local spin = p.spin:range(1):work{flop = 100, bytes = 10}
  local LONG = 1 << 23 -- steps, each of which needs the one before
  for _, order in ipairs{{LONG, 1}, {1, LONG}, {1, LONG, 1}, {LONG}} do
    local steps <close> = cl.record(function()
      for _, n in ipairs(order) do
        spin(x, n)
      end
    end, {native = #order % 2 == 0})
    steps():wait() -- builds, on PoCL
    local one, two = steps(), steps()
    t.ok(two.ms > 1, two.ms .. " ms")
    t.ok(one.queued <= one.submit and one.submit <= one.start
      and one.start < one.stop and one.stop <= two.start)
    t.eq(one.command, #order > 1 and "recording" or "kernel")
    t.eq({one.flop, one.bytes}, {100 * #order, 10 * #order})
    t.near(one:gflops(), one.flop / one.ms / 1e6, 1e-12)
    t.eq(one:info().start, one.start)
  end
end)

t.test("runs take a queue and an `after` list", function()
  local x <close> = cl.buffer("int", 100, 1)
  local steps <close> = steps_on(x, 5)
  for i, opts in ipairs{{}, {out_of_order = true}, {profiling = false},
      {out_of_order = true, profiling = false}} do
    local made, q = pcall(cl.queue, opts)
    if made then
      x:fill(1)
      local first = steps:run{queue = q}
      local event = steps:run{queue = q, after = first}:wait()
      t.eq(x:read()[i], stepped(1, 5, 2))
      t.eq({event.command, event.status}, {"recording", "complete"})
      if opts.profiling == false then
        t.raises(function() return event.ms end, "queue is not profiled")
      else
        t.ok(event.ms > 0)
      end
      q:close()
    end
  end
  x:fill(1)
  local made, go = pcall(cl.user_event)
  if made then
    local event = steps{after = go}
    t.ok(event.status ~= "complete")
    go:complete()
    event:wait()
    t.eq(x:read()[1], stepped(1, 5, 1))
  end
  local q = cl.context().queue
  q:close() -- that of the recording
  x:fill(1)
  steps():wait()
  t.eq(x:read()[1], stepped(1, 5, 1))
  t.raises(function() steps:run{queue = q} end, "this Queue is closed")
  t.raises(function() steps{kueue = 1} end, "did you mean 'queue'")
  t.raises(function() steps:run(3) end, "must be a table of options")
  t.raises(function() steps:run{queue = x} end,
    "queue: must be a Queue; got Buffer")
  t.raises(function() steps:run{after = {x}} end, "after: must be an Event")
end)

t.test("what is no launch raises in the function, and nothing is enqueued",
function()
  local x <close>, h = cl.buffer("int", 8, 1), cl.array("int", 8)
  local q, u = cl.queue(), x:fill(1, {async = true})
  local step = cl.build(SOURCE).grow:range(8)
  local live = cl.live().CommandBuffer
  for name, f in pairs{
      read = function() x:read() end,
      write = function() x:write(h, {async = true}) end,
      fill = function() x:fill(3) end,
      set = function() x:set(3) end,
      copy = function() x:copy(cl.buffer("int", 8)) end,
      map = function() x:map() end,
      marker = function() q:marker() end,
      finish = function() q:finish() end,
      wait = function() u:wait() end,
      ms = function() return u.ms end,
      call = function() u:on_complete(print) end,
      sleep = function() cl.sleep(0) end,
      init = function() cl.buffer("int", 8, 7) end,
      recorded = function() step(x, 2):wait() end,
      before = function() step:on(nil, {after = step(x, 2)}) end} do
    local fine, err = pcall(cl.record, function()
      step(x, 7)
      f()
    end)
    t.ok(not fine and tostring(err):find(REFUSED, 1, true),
      name .. ": " .. tostring(err))
  end
  t.raises(function() cl.record(function() step:on(q)(x, 1) end) end,
    "grow: a recorded launch has no queue and no events of its own")
  t.raises(function() cl.record(function() step:on(nil, {after = u})(x, 1)
    end) end, "steps:run{queue = q, after = ev}")
  t.eq(cl.live().CommandBuffer, live, "what was dropped is closed")
  t.eq(x:read():table(), {1, 1, 1, 1, 1, 1, 1, 1})
  q:close()
end)

t.test("errors of the function are its own; the next recording works",
function()
  local x <close> = cl.buffer("int", 8, 1)
  local step = cl.build(SOURCE).grow:range(8)
  local mine = {}
  local fine, err = pcall(cl.record, function()
    step(x, 1)
    error(mine)
  end)
  t.ok(not fine and rawequal(err, mine))
  t.raises(function() cl.record(function() end) end,
    "the function has launched no kernel")
  t.raises(function() cl.record() end, "function expected")
  t.raises(function() cl.record(print, {nativ = 1}) end,
    "did you mean 'native'")
  t.raises(function() cl.record(function() cl.record(print) end) end,
    "a recording is under way already")
  local co = coroutine.wrap(function()
    cl.record(function() coroutine.yield() end)
  end)
  t.raises(co, "attempt to yield across a C-call boundary")
  local steps <close> = cl.record(function()
    step(x, 1)
    t.raises(function() step(x, "2") end, "argument 2 'a'")
    t.raises(function() step(x) end, "missing")
    t.raises(function() x:read() end, REFUSED)
    step(x, 2)
  end)
  t.eq(#steps, 2, "what failed and was caught is not there")
  steps()
  t.eq(x:read()[8], stepped(1, 2, 1))
end)

t.test("an error that ends a coroutine ends the recording", function()
  local x <close> = cl.buffer("int", 8, 1)
  local step = cl.build(SOURCE).grow:range(8)
  local function dead()
    local co = coroutine.create(function()
      cl.record(function()
        step(x, 1)
        error "mine"
      end)
    end)
    t.eq(select(2, coroutine.resume(co)):match "mine", "mine")
    return co
  end
  local before, inside = dead(), nil
  t.eq(result.recording(), nil)
  t.eq(x:read()[8], 1)
  local steps <close> = cl.record(function()
    step(x, 1)
    coroutine.close(before)
    inside = result.recording()
    step(x, 2)
  end)
  t.ok(inside == steps and result.recording() == nil)
  coroutine.close(dead())
  steps()
  t.eq({#steps, x:read()[1]}, {2, stepped(1, 2, 1)})
end)

t.test("the Event of a recorded launch is of no command", function()
  local x <close> = cl.buffer("int", 8, 1)
  local event
  cl.record(function()
    event = cl.build(SOURCE).grow:range(8)(x, 1)
  end):close()
  t.eq({event.status, event.command, tostring(event)},
    {"recorded", "kernel", "Event recorded"})
  for _, f in ipairs{event.wait, function(e) return e.ms end,
      function(e) e:on_complete(print) end,
      function(e) x:fill(1, {after = e}) end} do
    t.raises(function() f(event) end,
      "this Event belongs to a recorded launch", "steps:run()")
  end
  t.eq(event:info().status, "recorded")
end)

t.test("closed objects are refused; closing does no harm", function()
  local x, y = cl.buffer("int", 8, 1), cl.buffer("int", 1024, 1)
  local p = cl.build(SOURCE)
  local steps = cl.record(function()
    p.grow:range(8)(x, 1)
    p.grow:range(8)(cl.base(y:view(1, 8)), 1)
    p.grow:range(8)(cl.any(y), 2)
  end)
  p:close() -- the recording has kernels of its own
  steps()
  steps():wait()
  t.eq(y:read()[1], stepped(1, 2, 2))
  y:close()
  local message = "launch 3 of the recording, grow, takes a closed Buffer; "
    .. "keep it open as long as the recording is run"
  t.raises(function() steps() end, message)
  t.eq(x:read()[1], 3 * (3 * 1 + 1) + 1, "no launch of the refused run ran")
  t.raises(function()
    cl.record(function()
      local z <close> = cl.buffer("int", 8)
      cl.build(SOURCE).grow:range(8)(z, 1)
    end)
  end, "launch 1 of the recording, grow, takes a closed Buffer")
  steps:close()
  steps:close()
  t.eq({steps.closed, tostring(steps):match "%(.*"}, {true, "(closed)"})
  t.raises(function() steps() end, "this CommandBuffer is closed")
  t.raises(function() return #steps end, "closed")
  t.raises(function() return steps.native end, "closed")
  local z = cl.buffer("int", 8, 1)
  steps = steps_on(z, 3)
  local event = steps()
  steps:close() -- while it may run
  z:close()
  t.eq(event:wait().status, "complete")
  x:close()
end)

t.test("the recording keeps what its launches use", function()
  local out <close> = cl.buffer("int", 64, 0)
  local function recorded()
    local x = cl.buffer("int", 64, function(i) return i end)
    local p = cl.build(SOURCE)
    return cl.record(function()
      p.grow:range(64)(x, 1)
      p.twice:range(64, 1)(x, out, cl.localmem("int", 1))
    end)
  end
  local steps <close> = recorded()
  for runs = 1, 5 do
    collectgarbage()
    local filler <close> = cl.buffer("int", 64, 9)
    steps()
    t.eq(out:read()[64], 2 * stepped(64, 1, runs))
    t.eq(filler:read()[1], 9)
  end
end)

t.test("expressions and families are recorded as their launches", function()
  local A, B = matrix.random(33, {seed = 1}), matrix.random(33, {seed = 2})
  local C, x = matrix.zeros(33), cl.buffer("float", 100, 1)
  local y = cl.buffer("float", 100, 2)
  local C2
  local packing = "naive" -- a rung that packs B, where the device has one
  for _, name in ipairs{"simd", "nv_fp16x3"} do
    packing = gemm.check(name, nil, {33, 33, 33}) and name or packing
  end
  local steps <close> = cl.record(function()
    gemm(A, B, {C = C})
    C2 = gemm(A, B, {kernel = packing}) -- with a plan of its own
    y:set(2 * x + y)
    y:slice(1, 10):set(0)
    y:axpy(1, (x + y))
  end)
  local packed = gemm(A, B, {kernel = packing, C = C2})
  t.ok(packed:max_diff(gemm(A, B, {kernel = "naive"})) < 1e-4,
    "a plan that was recorded, and has not run, is whole")
  C2:fill(0)
  local value = 2
  for _ = 1, 2 do
    steps():wait()
    t.eq({y:read()[1], y:read()[10]}, {1, 1})
    value = 2 * (2 + value) + 1
    t.eq(y:read()[100], value)
  end
  for _, product in ipairs{C, C2} do
    t.ok(product:max_diff(gemm(A, B, {kernel = "naive"})) < 1e-4)
  end
  t.raises(function() cl.record(function() x:sum() end) end, REFUSED)
  local keys = cl.buffer("float", 3000,
    cl.array("float", 3000):random(t.seed))
  local sorted
  local sort <close> = cl.record(function() sorted = keys:sort() end)
  sort():wait()
  local h, wrong = keys:read():table(), 0
  table.sort(h)
  for i, key in ipairs(sorted:read():table()) do
    wrong = wrong + (key == h[i] and 0 or 1)
  end
  t.eq(wrong, 0)
end)

t.test("results of the recording take no memory that is under way",
function()
  local x = cl.buffer("float", 4096, 1)
  for _ = 1, 3 do
    (x + 1):eval():close()
  end
  local held = cl.context().held
  local z
  local steps <close> = cl.record(function() z = (x + 1):eval() end)
  t.eq(cl.context().held, held)
  steps()
  t.eq(z:read()[4096], 2)
  steps:close()
  z:close()
  t.eq(cl.context().held, held, "nor is theirs held for others")
end)

t.test("recordings share no scratch memory with other calls", function()
  local N = 70000
  local x, y = cl.buffer("int", N, 1), cl.buffer("int", N, 2)
  local f, g = cl.buffer("float", N, 1), cl.buffer("float", N, 2)
  local sums, scanned
  x:cumsum():close()
  scan(f):close()
  local steps <close> = cl.record(function()
    sums, scanned = x:cumsum(), scan(f)
  end)
  local q <close> = cl.queue()
  for i = 1, 50 do
    local event = steps:run{queue = q}
    local others, scanned_others = y:cumsum(), scan(f, {kernel = "totals"})
    local more = scan(g)
    event:wait()
    t.eq({sums:read()[N], others:read()[N]}, {N, 2 * N}, i)
    t.eq({scanned:read()[N], scanned_others:read()[N], more:read()[N]},
      {N + 0.0, N + 0.0, 2.0 * N}, i)
  end
end)

t.test("what a calculation has in between stays open", function()
  local m = cl.buffer("float", {4, 6}, function(i, j) return i * j % 5 end)
  local ints = cl.buffer("int", {4, 6}, function(i, j) return i * j % 7 end)
  local x = cl.buffer("int", 6, function(i) return i end)
  local keys = cl.buffer("float", 5, {3, 1, 2, 5, 4})
  local values = cl.buffer("int", 5, {30, 10, 20, 50, 40})
  local index = cl.buffer("int", 2, {1, 3})
  local spread, variance, mean, norm, sorted, moved, doubled
  local steps <close> = cl.record(function()
    spread, variance = m:std(1), ints:var(2)
    mean, norm = ints:mean(1), m:nrm2(2)
    x:set(2 * x:shift(1)) -- from elements that it sets
    sorted, moved = keys:sort{values = values}
    doubled = (keys * 2):gather(index, {check = false})
  end)
  for run = 1, 2 do
    collectgarbage()
    steps():wait()
    t.eq(spread:read():table(), m:std(1):read():table())
    t.eq(variance:read():table(), ints:var(2):read():table())
    t.eq(mean:read():table(), ints:mean(1):read():table())
    t.eq(norm:read():table(), m:nrm2(2):read():table())
    t.eq(x:read()[4], (1 << run) * (4 - run))
    t.eq({sorted:read()[2], moved:read()[2]}, {2.0, 20})
    t.eq(doubled:read():table(), {6.0, 4.0})
  end
end)

t.test("all launches are of one context", function()
  local d = cl.device()
  local fine, parts = pcall(d.partition, d, {equally = 1})
  t.skip_if(not fine or #parts < 2, "the device has no two parts")
  local one, two = cl.context(parts[1]), cl.context(parts[2])
  local x = cl.buffer("int", 8, 1, {context = one})
  local y = cl.buffer("int", 8, 1, {context = two})
  local first = cl.build(SOURCE, {context = one}).grow:range(8)
  local second = cl.build(SOURCE, {context = two}).grow:range(8)
  t.raises(function()
    cl.record(function()
      first(x, 1)
      second(y, 1)
    end)
  end, "cl.record: grow is of another context (device) than the launches")
  local steps <close> = cl.record(function()
    second(y, 1)
    second(y, 2)
  end)
  t.ok(steps.context == two)
  steps()
  t.eq({x:read()[1], y:read()[1]}, {1, stepped(1, 2, 1)})
  t.raises(function() steps:run{queue = one.queue} end,
    "queue: the Queue is of another context (device)")
  two:close()
  t.raises(function() steps() end, "Context is closed")
end)

t.test("after a rebuild the recorded launches are those of before", function()
  local path = t.tmp "recorded.cl"
  local function write(n)
    t.write(path, ("kernel void f(global int *x) { x[0] += %d; }"):format(n))
  end
  write(1)
  local p <close> = cl.build(path)
  local x <close> = cl.buffer("int", 1, 0)
  local f = p.f:range(1)
  local function both()
    f(x)
    f(x)
  end
  local before <close> = cl.record(both)
  write(100)
  p:rebuild()
  local after <close> = cl.record(both)
  before()
  t.eq(x:read()[1], 2)
  after()
  t.eq(x:read()[1], 202)
end)

t.test("kernels reach the Buffers of Kernel:uses", function()
  local source = [[
    kernel void f(global ulong *address) {
      global int *y = (global int *)address[0];
      y[0] += 1;
    }]]
  local made, y = pcall(cl.buffer, "int", 4, 0, {svm = true})
  if not made then
    t.skip(y.message)
  end
  local address <close> = cl.buffer("ulong", 1, y.address)
  local p <close> = cl.build(source)
  p.f:uses{y}
  local steps <close> = cl.record(function()
    p.f:range(1)(address)
    p.f:range(1)(address)
  end)
  p.f:uses{}
  steps():wait()
  steps():wait()
  t.eq(y:read()[1], 4)
  y:close()
end)

t.test("what kernels print comes before the script's next line", function()
  scratch.create("prints.lua", [[
    local k = cl.kernel 'kernel void f(int a) { printf("<%d>", a); }'
    local steps = cl.record(function() k:range(1)(1) k:range(1)(2) end)
    for i = 1, 2 do
      print("run", i)
      steps()
    end
    print "over"]])
  local out = scratch.sh "$clshell prints.lua"
  t.skip_if(not out:find("<", 1, true), "the driver prints nothing")
  t.eq(out, "run\t1\n<1><2>run\t2\n<1><2>over\n")
end)

t.test("bench and compare take a recording", function()
  local x <close> = cl.buffer("int", 64, 1)
  local steps <close> = steps_on(x, 3)
  local r = bench(steps, {seconds = 0, flop = 6 * 64})
  t.ok(r.median > 0)
end)

t.test("without a device a recording is refused as a launch is", function()
  t.nodevices()
  local out = scratch.sh("OCL_ICD_VENDORS=/nonexistent CLSHELL_DEVICE= "
    .. "$clshell -e 'print(pcall(cl.record, function() end))"
    .. " print(pcall(cl.record, function() cl.kernel [[kernel void f() {}]]"
    .. " end)) print(cl.record)' 2>&1")
  t.ok(out:find("^false\t[^\n]*launched no kernel[^\n]*\nfalse\t[^\n]*"
    .. "no OpenCL device"), out)
end)

t.done()

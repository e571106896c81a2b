-- event.lua - Events that scripts set, and functions called at the end of
-- commands. Times and wait lists of commands: kernel.lua, lifetime.lua.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue")

-- A user event; skips the test where the driver has none.
local function user_event()
  local fine, u = pcall(cl.user_event)
  if not fine and u.name == "CL_INVALID_OPERATION" then
    t.skip(u.message)
  end
  return fine and u or error(u)
end

-- Calls f(...) in the default queue, where a command has failed: a driver may
-- fail what follows on that queue as well, but no more than once.
local function behind(f, ...)
  local fine, result = pcall(f, ...)
  if fine then
    return result
  end
  t.ok(tostring(result):find("an earlier command of the Queue", 1, true),
    result)
  return f(...)
end

t.test("commands wait for a user event", function()
  local b <close> = cl.buffer("int", 4, 0)
  local u <close> = user_event()
  t.eq({u.status, u.command}, {"submitted", "user"})
  local e <close> = b:fill(7, {async = true, after = u})
  t.ok(e.status ~= "complete")
  local called = false
  e:on_complete(function() called = true end)
  t.eq({cl.poll(), called}, {0, false})
  t.raises(function() e:complete() end, "must be an Event of cl.user_event")
  t.ok(rawequal(u:complete(), u))
  e:wait()
  t.ok(called)
  t.eq(b:read():table(), {7, 7, 7, 7})
  t.eq(u:wait().status, "complete")
  b:fill(8, {after = u})
  t.eq(b:read()[4], 8)
  t.raises(function() u:complete() end, "this Event has been set already")
  t.raises(function() u:fail() end, "this Event has been set already")
  t.raises(function() return u.ms end, "no command sets this Event")
  t.raises(function() cl.user_event{kontext = 1} end, "did you mean 'context'")
end)

t.test("a user event that nobody has set is not waited for", function()
  local u <close> = user_event()
  t.raises(function() u:wait() end, "this wait would never end")
  u:on_complete(function() end)
  local b <close> = cl.buffer("int", 1, 0)
  local first <close> = b:fill(1, {async = true})
  first:on_complete(function() u:complete() end)
  t.eq(u:wait().status, "complete", "a function sets it during the wait")
end)

t.test("what waits for a failed event fails; the device does not",
function()
  local b <close> = cl.buffer("int", 2, 0)
  local u <close> = user_event()
  local e <close> = b:fill(7, {async = true, after = u})
  for _, code in ipairs{0, 1, math.mininteger} do
    t.raises(function() u:fail(code) end, "an integer below 0")
  end
  u:fail(-5)
  local err = t.raises(function() u:wait() end, "Event:fail has set")
  t.eq({err.code, err.name}, {-5, "CL_OUT_OF_RESOURCES"})
  t.raises(function() e:wait() end, "that the command waits for has failed")
  t.eq({u.status, e.status}, {"failed", "failed"})
  local told = {}
  for _, event in ipairs{u, e} do
    event:on_complete(function(_, status) told[#told + 1] = status end)
  end
  cl.poll()
  t.eq(told, {"failed", "failed"})
  for _, after in ipairs{u, e} do
    t.raises(function() b:fill(1, {after = after}) end,
      "this Event has failed")
  end
  behind(b.fill, b, 3)
  t.eq(b:read():table(), {3, 3})
end)

t.test("a user event fails at its end, so that nothing hangs", function()
  local b <close> = cl.buffer("int", 1, 0)
  user_event():close()
  local e <close> = b:fill(7, {async = true, after = user_event()})
  collectgarbage()
  collectgarbage()
  t.raises(function() e:wait() end, "that the command waits for has failed")
  local u = user_event()
  local f <close> = b:fill(7, {async = true, after = u})
  u:close()
  t.raises(function() u:complete() end, "this Event is closed")
  t.raises(function() f:wait() end, "that the command waits for has failed")
  t.eq(behind(b.read, b)[1], 0)
  local out = t.capture(t.exe .. [[ -e '
    local b, u = cl.buffer("int", 1, 0), cl.user_event()
    b:fill(7, {async = true, after = u})
    print "left"' 2>&1]])
  t.eq(out, "left\n")
end)

t.test("functions are called at the end of commands", function()
  local b <close> = cl.buffer("int", 2, 0)
  local e <close> = b:fill(7, {async = true})
  local calls = {}
  local function note(event, status)
    calls[#calls + 1] = {rawequal(event, e), status, b:read()[2]}
  end
  t.ok(rawequal(e:on_complete(note), e))
  e:on_complete(note)
  e:wait()
  t.eq(calls, {{true, "complete", 7}, {true, "complete", 7}})
  t.eq(cl.poll(), 0)
  e:on_complete(note)
  t.eq({cl.poll(), #calls}, {1, 3}, "of a command that has ended")
  for i, wait in ipairs{function() cl.sleep(0) end,
      function() cl.context().queue:finish() end} do
    b:fill(i, {async = true}):on_complete(function(event, status)
      calls[#calls + 1] = status
      event:wait()
    end):wait()
    e:on_complete(note)
    wait()
    t.eq({#calls, calls[#calls][3]}, {3 + 2 * i, i})
  end
end)

t.test("an error in a function is one of the wait; others are called later",
function()
  local b <close> = cl.buffer("int", 1, 0)
  local called = 0
  local e <close> = b:fill(1, {async = true})
  e:on_complete(function() error "oops" end)
  e:on_complete(function() called = called + 1 end)
  t.raises(function() e:wait() end, "oops")
  t.eq({cl.poll(), called}, {1, 1})
  t.raises(function() e:on_complete(1) end, "function expected")
  local closed = b:fill(2, {async = true})
  closed:on_complete(function() called = called + 1 end):close()
  t.eq({cl.poll(), called}, {0, 1}, "a closed Event calls nothing")
end)

t.test("the prompt calls functions between two inputs", function()
  local out = t.capture(([[printf '%%s\n' 'b = cl.buffer("int", 1, 0)' \
    'e = b:fill(1, {async = true});' 'e:on_complete(function() io.write(
      "called\n") error "oops" end);' 'e:wait();' 'print "after"' |
    %s -i 2>&1]]):format(t.exe))
  t.ok(out:find("called", 1, true) and out:find("oops", 1, true), out)
  t.ok(out:find("after", 1, true), out)
end)

t.test("the prompt tells of a user event", function()
  user_event():close()
  local out = t.capture(([[printf '%%s\n' 'u = cl.user_event()' u \
    'u:complete()' | %s -i 2>&1]]):format(t.exe))
  t.ok(out:find("Event user  submitted", 1, true)
    and out:find("start at u:complete()", 1, true), out)
  t.ok(out:find("Event user  complete", 1, true), out)
end)

-- Waits for a kernel of 100 ms or more; prints how often this thread slept, a
-- limit for that, and whether the result is there.
local WAIT = [==[
  local k = cl.kernel [[kernel void spin(global int *x, int n) {
    for (int i = 0; i < n; i++) x[0] = x[0] * 3 + i; }]]
  local function sleeps()
    for line in io.lines "/proc/thread-self/status" do
      local n = line:match "^voluntary_ctxt_switches:%s*(%d+)"
      if n then return math.tointeger(n) end
    end
  end
  local x, n, time, slept = cl.buffer("int", 1, 0), 1000000, 0, 0
  k:range(1)(x, 1):wait()
  while time < 0.1 do
    x:fill(0)
    n, slept = 2 * n, sleeps()
    local begin = cl.now()
    k:range(1)(x, n):wait()
    time, slept = cl.now() - begin, sleeps() - slept
  end
  print(slept, math.floor(10 + time / 0.01), x:read()[1] ~= 0)
]==]

-- The same in a shell: sleeps and limit, once the result is there.
local function waited(variables)
  local path = t.tmp "wait.lua"
  do
    t.write(path, WAIT)
  end
  local out = t.capture(("%s %s %s 2>&1"):format(variables, t.exe, path))
  local slept, limit, right = out:match "(%d+)\t(%d+)\t(%l+)\n"
  t.eq(right, "true", out)
  return tonumber(slept), tonumber(limit), out
end

t.test("a wait for a CPU leaves it the processors", function()
  local f <close> = io.open "/proc/thread-self/status"
  t.skip_if(cl.device().type ~= "cpu" or not f, "for CPU devices on Linux")
  local slept, limit = waited ""
  t.ok(slept <= limit, ("slept %d times, at most %d"):format(slept, limit))
  local layer = t.build .. "/tests/faultlayer.so"
  local _, _, out = waited(("OPENCL_LAYERS=%s CLFAULT=clSetEventCallback:1:-5")
    :format(layer)) -- a driver that will not tell: the wait ends as well
  t.skip_if(not out:find("faultlayer:", 1, true),
    "the OpenCL loader takes no layers (OPENCL_LAYERS)")
  t.ok(out:find("faultlayer: 1 faults", 1, true), out)
end)

t.keeps("Program", "Kernel", "Launch") -- of calculations

local ADD = "kernel void add(global int *x) { x[get_global_id(0)] += 1; }"

t.test("a call whose Event nobody takes makes none", function()
  local k, x = cl.kernel(ADD), cl.buffer("int", 10, 0)
  local q <close> = cl.queue{out_of_order = true}
  local launch, A = k:range(10), matrix.random(5)
  local plan, y = gemm.plan(A, A), cl.arange(1, 10)
  local steps = cl.record(function()
    launch(x)
    launch(x)
  end, {native = false})
  local function last()
    return launch(x)
  end
  local kept = {} -- else the test of the collector counts them as gone
  collectgarbage()
  collectgarbage "stop"
  -- The Events of a function, which returns them.
  local function made(f)
    local before = cl.live().Event or 0
    kept[#kept + 1] = {f()}
    return (cl.live().Event or 0) - before
  end
  local counts = {
    made(function() launch(x) end),
    made(function() launch:on(q)(x) end),
    made(function() steps() end),
    made(function() plan() end),
    made(function() plan:run() end),
    made(function() local C = gemm(A, A) C:close() end),
    made(function() y:set(2 * y) end),
    made(function() local z = (y + y):eval() z:close() end),
    made(function() (y + y):eval() end),
  }
  local wanted = {
    made(function() return (launch(x)) end),
    made(last),
    made(function() return pcall(launch, x) end),
    made(steps),
    made(function() return (plan()) end) // #plan.commands,
    made(function() return {y:set(y)} end),
  }
  collectgarbage "restart"
  q:finish()
  t.eq(table.concat(counts, " "), "0 0 0 0 0 0 0 0 0")
  t.eq(table.concat(wanted, " "), "1 1 1 1 1 1")
  t.eq(x:read()[10], 9) -- all of them ran
  local C, event = gemm(A, A)
  t.ok(C and event:wait().ms > 0)
  t.eq(y:read()[10], 20)
end)

t.test("a command without an Event is counted and waited for", function()
  local k, x = cl.kernel(ADD), cl.buffer("int", 10, 0)
  local q, go = cl.queue(), cl.user_event()
  k:range(10):on(q, {after = go})(x)
  local list = cl.unfinished()
  t.eq(#list, 1)
  t.eq(list[1].queue, q)
  t.eq(list[1].commands .. " " .. list[1].kernels, "1 1")
  go:complete()
  q:finish()
  t.eq(#cl.unfinished(), 0)
  t.eq(x:read()[10], 1)
end)

t.done()

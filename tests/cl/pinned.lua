-- pinned.lua - transfers through pinned pieces of host memory, and copies
-- between devices: every shape of a part, the times, what fails, Ctrl-C.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local terminal = require "converse"

local device = t.device()
t.keeps("Context", "Queue")

local pinned = {pinned = true}
local fine, parts = pcall(device.partition, device, {equally = 1})
local context = cl.context(fine and parts[2] or device)

-- Options with {pinned = true}.
local function by_pieces(options)
  options.pinned = true
  return options
end

t.test("what goes by pinned pieces comes back, whatever its size", function()
  print("# seed " .. t.seed)
  for _, n in ipairs{1, 77, 2^18, 2^20 + 3, 2^21 + 2^18 + 5} do
    n = math.tointeger(n)
    local h <close> = cl.array("float", n):random(t.seed)
    local b <close> = cl.buffer("float", n, 0)
    b:write(h, pinned)
    t.ok(b:read():equal(h), n)
    local back <close>, event = b:read(pinned)
    t.ok(back:equal(h), n)
    t.eq(event, nil)
    local into <close> = cl.array("float", n)
    t.eq(b:read(into, pinned), into)
    t.ok(into:equal(h), n)
  end
  local half <close> = cl.array("half", 1000):random(t.seed)
  local b <close> = cl.buffer("half", 1000)
  b:write(half, pinned)
  t.ok(b:read(pinned):equal(half))
  b:write(3, pinned)
  t.eq(b:read(pinned)[1000], 3)
end)

t.test("parts, boxes and rows with gaps go by pinned pieces", function()
  local function value(i, j)
    return 10000 * i + j
  end
  local b <close> = cl.buffer("int", {700, 2001}, nil, {ld = 2100})
  b:fill(-1)
  b:write(value, pinned)
  local h <close> = b:read(pinned)
  t.ok(h:equal(b:read()))
  t.eq({h:at(1, 1), h:at(700, 2001), h:at(333, 1999)},
    {10001, 7002001, 3331999})
  local gaps <close> = b:map "read"
  t.eq({gaps:at(5, 2002), gaps:at(699, 2100)}, {-1, -1})
  gaps:close()
  local box = {from = {5, 7}, size = {690, 1990}}
  t.ok(b:read(by_pieces(box)):equal(b:read{from = box.from, size = box.size}))
  b:write(7, by_pieces{first = 10, count = 3})
  t.eq(b:read{first = 9, count = 5}:table(), {10009, 7, 7, 7, 10013})
  local cube <close> = cl.buffer("int", {3, 300, 1500}, function(i, j, k)
    return i * 1000000 + j * 2000 + k
  end)
  local inner = {from = {2, 3, 4}, size = {2, 290, 1400}}
  local c <close> = cube:read(by_pieces(inner))
  t.eq({c:at(1, 1, 1), c:at(2, 290, 1400)}, {2006004, 3585403})
  cube:write(0, by_pieces(inner))
  t.eq({cube:read():at(2, 2, 4), cube:read():at(2, 3, 4),
    cube:read():at(3, 293, 1403)}, {2004004, 0, 3587403})
  local wide <close> = cl.buffer("int", {2, 2^18 * 5 + 1}, value)
  local narrow = {from = {1, 2}, size = {2, 2^18 * 5}}
  t.ok(wide:read(by_pieces(narrow)):equal(wide:read{from = narrow.from,
    size = narrow.size}), "rows longer than a piece")
end)

t.test("the Event of such a write is one, with the times of the whole",
  function()
    local n = 2^21
    local h <close> = cl.array("float", n):fill(1)
    local b <close> = cl.buffer("float", n, 0)
    local begin = cl.now()
    local e = b:write(h, pinned)
    local wall = (cl.now() - begin) * 1e3
    t.eq({e.command, e.status, #e.events}, {"write", "complete", 1})
    t.ok(e.queued <= e.submit and e.submit <= e.start and e.start < e.stop)
    t.ok(e.ms > 0 and e.ms <= wall * 1.01 + 0.1,
      ("%g of %g ms"):format(e.ms, wall))
    t.eq(e:wait(), e)
    local q <close> = cl.queue{profiling = false}
    local plain <close> = b:write(h, {queue = q, pinned = true})
    t.raises(function() return plain.ms end, "not profiled")
    local out <close> = cl.queue{out_of_order = true}
    local first = b:fill(3, {queue = out, async = true})
    t.eq(b:read{queue = out, after = first, pinned = true}[n], 3)
  end)

t.test("what such a transfer refuses", function()
  local b <close> = cl.buffer("int", 10, 0)
  t.raises(function() b:read{pinned = true, async = true} end,
    "leave async out")
  t.raises(function() b:fill(1, pinned) end, "pinned")
  t.raises(function() b:read(cl.array("int", 9), pinned) end, "10 elements")
end)

t.test("Buffers of two contexts, by pieces of one or of both", function()
  t.skip_if(not fine or #parts < 2, "the device has no parts")
  for _, way in ipairs{"piece", "pieces"} do
    for _, n in ipairs{5, 2^20, 2^21 + 77} do
      n = math.tointeger(n)
      local h <close> = cl.array("int", n):random(t.seed)
      local a <close> = cl.buffer("int", n, h)
      local b <close> = cl.buffer("int", n, 0, {context = context})
      local e = a:copy(b, {way = way})
      t.ok(b:read():equal(h), way)
      t.eq(e.command, "copy")
      t.ok(e.ms > 0)
      b:fill(-1)
      a:copy(b, {way = way, first = 2, count = 3, to = 3})
      t.eq(b:read{first = 1, count = 5}:table(),
        {-1, -1, h[2], h[3], h[4]})
    end
  end
  local a <close> = cl.buffer("int", {600, 1000}, function(i, j)
    return 1000 * i + j
  end)
  local b <close> = cl.buffer("int", {700, 1001}, 0, {ld = 1100,
    context = context})
  a:copy(b, {from = {2, 3}, size = {598, 997}, to = {7, 5}})
  t.ok(b:read{from = {7, 5}, size = {598, 997}}:equal(a:read{from = {2, 3},
    size = {598, 997}}))
  t.eq({b:read():at(6, 5), b:read():at(7, 4), b:read():at(605, 5)}, {0, 0, 0})
  local flat <close> = cl.buffer("int", 598 * 997, 0, {context = context})
  b:copy(flat, {from = {7, 5}, size = {598, 997}, to = 1})
  t.eq({flat:read()[1], flat:read()[598 * 997]}, {2003, 599999})
end)

t.test("what a copy between contexts refuses", function()
  t.skip_if(not fine or #parts < 2, "the device has no parts")
  local a <close> = cl.buffer("int", 10, 1)
  local b <close> = cl.buffer("int", 10, 0, {context = context})
  t.raises(function() a:copy(b, {way = "driver"}) end,
    "no driver copies between contexts")
  t.raises(function() a:copy(b, {async = true}) end, "leave async out")
  t.raises(function() a:copy(b, {way = "tube"}) end, "tube")
  t.raises(function() a:copy(b, {queue = context.queue}) end,
    "different contexts")
  t.raises(function() a:copy(b, {to_queue = cl.context().queue}) end,
    "a Queue of the target's context")
  local q <close> = cl.queue{context = context}
  a:copy(b, {to_queue = q})
  t.eq(b:read()[10], 1)
  local c <close> = cl.buffer("int", 9, 0, {context = context})
  t.raises(function() a:copy(c) end, "leave the buffer")
  a:copy(c, {count = 9})
  t.eq(c:read()[9], 1)
  c:close()
  t.raises(function() a:copy(c) end, "closed")
end)

t.test("a context that is closed gives its pieces back", function()
  t.skip_if(not fine, "the device has no parts")
  local made, list = pcall(cl.contexts, {parts[1], parts[2]})
  if not made then
    t.skip(list.message)
  end
  local one <close> = list[1]
  local two <close> = list[2]
  local a <close> = cl.buffer("int", 1000, 7, {context = one})
  local b <close> = cl.buffer("int", 1000, 0, {context = two})
  for _, way in ipairs{"driver", "piece", "pieces"} do
    b:fill(0)
    a:copy(b, {way = way})
    t.eq(b:read(pinned)[1000], 7)
  end
  one:close()
  t.raises(function() a:read(pinned) end, "its Context is closed")
end)

t.test("a call that fails in the middle raises, and the next one works",
  function()
    local path = t.tmp "fails.lua"
    t.write(path, [[
        local n = 3 << 20
        local h = cl.array("int", n):random(1)
        local b = cl.buffer("int", n, 0)
        print(pcall(b.write, b, h, {pinned = true}))
        b:write(h, {pinned = true})
        print(b:read{pinned = true}:equal(h))
        print(pcall(b.read, b, {pinned = true}))
        print(b:read{pinned = true}:equal(h))]])
    local out = t.capture(("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT="
      .. "clEnqueueWriteBuffer:3:-5,clEnqueueReadBuffer:10:-5 %s %s 2>&1")
      :format(t.build, t.exe, path))
    t.skip_if(not out:find("faultlayer:", 1, true),
      "the OpenCL loader takes no layers (OPENCL_LAYERS)")
    t.ok(out:find("^false\t[^\n]*clEnqueueWriteBuffer: "
      .. "CL_OUT_OF_RESOURCES[^\n]*\ntrue\nfalse\t[^\n]*clEnqueueReadBuffer"
      .. "[^\n]*\ntrue\n"), out)
  end)

t.test("a new Array of a read has the memory of one that is gone", function()
  local n = (64 << 20) // 4
  local function pages() -- of the address space, in bytes
    local f <close> = assert(io.open "/proc/self/statm")
    return f:read("n") * 4096
  end
  local b <close> = cl.buffer("int", n, 5)
  for _ = 1, 3 do -- the driver's own memory, and two maps
    b:read():close()
  end
  local before = pages()
  for i = 1, 3 do
    b:fill(i, {first = n, count = 1})
    local h <close> = b:read()
    t.eq({h[1], h[n // 2], h[n]}, {5, 5, i})
    h:fill(9)
  end
  t.ok(pages() - before < 32 << 20, "maps are used again")
  local zeros <close> = cl.array("int", n)
  for i = 1, n, 1023 do
    t.eq(zeros[i], 0)
  end
end)

t.test("Ctrl-C ends the wait, and the pieces serve again", function()
  terminal.device()
  terminal.run(terminal.spin(1 << 21) .. [[
    send e = l(b, 2500 // ms + 1); print("wait" .. 1) b:read{pinned = true}\r
    expect wait1
    settle
    send \x03
    expect interrupted!
    expect cl>
    send #cl.unfinished() .. " queue"\r
    expect 1 queue
    expect cl>
    send print(b:read{pinned = true}:equal(b:read()) and "a" .. "like")\r
    expect alike
    expect cl>
    send \x04
    exit 0]], "-q")
end)

terminal.clean()
t.done()

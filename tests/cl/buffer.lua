-- buffer.lua - buffers and what moves data: init values, views, transfers,
-- rectangles, copies, mapping.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

local function numbers(n)
  return cl.buffer("int", n, function(i) return i end)
end

t.test("types, shapes and init values", function()
  for _, type in ipairs{"char", "uchar", "short", "ushort", "int", "uint",
      "long", "ulong", "half", "float", "double"} do
    local b <close> = cl.buffer(type, {3, 5}, 7)
    t.eq({b.type, #b, b.rows, b.cols, b.ld}, {type, 15, 3, 5, 5})
    t.eq(b.bytes, 15 * cl.typesize(type))
    t.near(b:read():at(3, 5), 7)
  end
  local v <close> = cl.buffer("float4", 2, {{1, 2, 3, 4}, {5, 6, 7, 8}})
  t.eq(v:read():table(), {{1, 2, 3, 4}, {5, 6, 7, 8}})
  local m <close> = cl.buffer("float", {2, 2}, {{1, 2}, {3, 4}})
  t.eq(m:read():table(), {{1, 2}, {3, 4}})
  local f <close> = cl.buffer("int", {2, 3}, function(i, j)
    return 10 * i + j
  end)
  t.eq(f:read():table(), {{11, 12, 13}, {21, 22, 23}})
  local a <close> = cl.array("float", 4):fill(2)
  local c <close> = cl.buffer("float", 4, a)
  t.ok(c:read():equal(a))
  t.eq(tostring(m), "Buffer float[2][2]")
  t.eq(m:info().ld, 2)
end)

t.test("a ulong reaches the device and comes back bit by bit", function()
  local bits = {-1, math.mininteger, math.maxinteger, 0xfedcba9876543211}
  local b <close> = cl.buffer("ulong", 4, bits)
  t.eq(b:read():table(), bits)
  b:fill(-2)
  t.eq(b:read()[4], -2)
  b:write(bits)
  t.eq(b:read{first = 4}[1], bits[4])
  b:fill(2.0^63)
  t.eq(b:read()[1], math.mininteger)
  local k = cl.kernel [[kernel void add(ulong v, global ulong *x) {
    x[get_global_id(0)] += v;
  }]]
  b:write(bits)
  k:range(4)(-1, b)
  for i, v in ipairs(bits) do
    t.eq(b:read()[i], v - 1)
  end
  k.program:close()
  k:close()
end)

t.test("a key that is none names the nearest, or where elements are",
  function()
    local b <close> = numbers(4)
    local read = "read them first: b:read()[1]"
    t.raises(function() return b[1] end, read)
    t.raises(function()
      for _ in ipairs(b) do end
    end, read)
    t.raises(function() return pairs(b) end, read)
    t.raises(function() return b[b] end, read)
    t.raises(function() return b.rowz end,
      "a Buffer has no field or method 'rowz'; did you mean 'rows'?")
    local _, fields = cl.members(b)
    for _, name in ipairs(fields) do -- none is cut from a long list
      if #name > 4 then
        t.raises(function() return b[name .. "z"] end,
          ("did you mean '%s'?"):format(name))
      end
    end
    t.raises(function() b:raed() end, "did you mean 'read'?")
    t.raises_match(function() b:at(1) end, "no field or method 'at'$")
    t.raises(function() b[1] = 2 end, "change them there: b:write")
    t.raises(function() b.rows = 2 end, "a Buffer has no field 'rows' to set")
    t.raises(function() cl.queue().name = "q" end,
      "a Queue has no field 'name' to set")
    t.raises(function() return b:fill(1).duration end,
      "an Event has no field or method 'duration'; there are: bytes,", " ms,")
    t.raises(function() return b:fill(1)[1] end,
      "an Event takes the name of a field; got number")
  end)

t.test("a leading dimension leaves gaps alone", function()
  local b <close> = cl.buffer("float", {3, 5}, nil, {ld = 8})
  b:fill(-1)
  t.eq({b.ld, b.bytes, #b}, {8, 3 * 8 * 4, 15})
  b:write(function(i, j) return 10 * i + j end)
  t.eq(b:read():table()[3], {31, 32, 33, 34, 35})
  local all <close> = b:map("read")
  t.eq(all.shape, {3, 8})
  t.eq(all:table()[1], {11, 12, 13, 14, 15, -1, -1, -1})
  all:close()
  t.raises(function() cl.buffer("float", {3, 5}, 0, {ld = 4}) end,
    "4 is less than the 5 columns")
  t.raises(function() cl.buffer("float", 5, 0, {ld = 8}) end,
    "two dimensions")
  t.raises(function()
    cl.buffer("float", {1 << 30, 2}, 0, {ld = 1 << 60})
  end, "ld", "too many")
end)

t.test("transfers from and to a part of an Array", function()
  local h <close> = cl.array("int", {4, 5}, function(i, j)
    return 10 * i + j
  end)
  local b <close> = cl.buffer("int", {2, 5}, 0)
  b:write(h, {at = 6})
  t.eq(b:read():table(), {{21, 22, 23, 24, 25}, {31, 32, 33, 34, 35}})
  b:read(h, {at = 11})
  t.eq(h:table()[4], {31, 32, 33, 34, 35})
  b:write(h, {at = 20, first = 3, count = 1, pinned = true})
  t.eq(b:read():table()[1], {21, 22, 35, 24, 25})
  for _, at in ipairs{12, 20, 21, math.maxinteger} do
    t.raises(function() b:read(h, {at = at}) end, "leave the Array's 1..20")
  end
  t.raises(function() b:read(nil, {at = 2}) end, "leave the Array's 1..10")
  t.raises(function() b:write(h, {at = 0}) end, "at")
end)

t.test("parts", function()
  local b <close> = numbers(100)
  t.eq(b:read{first = 11, count = 3}:table(), {11, 12, 13})
  b:write({-1, -2}, {first = 99, count = 2})
  t.eq(b:read{first = 98}:table(), {98, -1, -2})
  b:fill(0, {first = 1, count = 2})
  t.eq(b:read{first = 1, count = 3}:table(), {0, 0, 3})
  for _, part in ipairs{{first = 101}, {first = 100, count = 2},
      {count = 101}, {first = math.maxinteger},
      {first = 2, count = math.maxinteger}} do
    t.raises(function() b:read(part) end, "leave")
    t.raises(function() b:fill(0, part) end, "leave")
  end
  t.eq({#b:read{count = 0}, #b:read{first = 101, count = 0}}, {0, 0})
  for _, part in ipairs{{first = 0}, {first = -1}, {count = -1},
      {first = 1.5}, {first = "1"}} do
    t.raises(function() b:read(part) end, "must be a whole number >= ")
  end
end)

t.test("rectangles", function()
  local b <close> = cl.buffer("int", {4, 6}, function(i, j)
    return 10 * i + j
  end, {ld = 9})
  t.eq(b:read{from = {2, 3}, size = {2, 3}}:table(),
    {{23, 24, 25}, {33, 34, 35}})
  t.eq(b:read{from = {4, 5}}:table(), {{45, 46}})
  b:write({{0, 0}, {0, 0}}, {from = {1, 1}, size = {2, 2}})
  t.eq(b:read():table()[2], {0, 0, 23, 24, 25, 26})
  t.raises(function() b:read{from = {4, 6}, size = {1, 2}} end, "leaves")
  t.raises(function() b:read{from = {5, 1}, size = {1, 1}} end, "leaves")
  t.raises(function()
    b:read{from = {1, 1}, size = {math.maxinteger, math.maxinteger}}
  end, "leaves")
  t.raises(function() b:read{from = {1}} end, "a list of 2 whole numbers")
  t.raises(function() b:read{from = {1, 1}, first = 1} end, "two different")
end)

t.test("boxes of one and three dimensions", function()
  local v <close> = numbers(10)
  t.eq(v:read{from = 3, size = {2}}:table(), {3, 4})
  t.eq(v:read{from = {9}}:table(), {9, 10})
  local function place(i, j, k)
    return 100 * i + 10 * j + k
  end
  local b <close> = cl.buffer("int", {3, 4, 5}, place)
  local h <close> = b:read()
  -- every box, against the elements of the whole
  for _ = 1, 100 do
    local from, size = {}, {}
    for d, n in ipairs{3, 4, 5} do
      from[d] = math.random(n)
      size[d] = math.random(n - from[d] + 1)
    end
    local what = table.concat(from, ",") .. " " .. table.concat(size, ",")
    local part <close> = b:read{from = from, size = size}
    t.eq(part.shape, size)
    local function check(a, at)
      local flat = 0
      for i = 1, size[1] do
        for j = 1, size[2] do
          for k = 1, size[3] do
            flat = flat + 1
            t.eq(a[at(i, j, k)], place(from[1] + i - 1, from[2] + j - 1,
              from[3] + k - 1), what)
          end
        end
      end
      t.eq(#part, flat)
    end
    local function dense(i, j, k)
      return ((i - 1) * size[2] + j - 1) * size[3] + k
    end
    check(part, dense)
    local line <close> = cl.buffer("int", #part + 7, -1)
    b:copy(line, {from = from, size = size, to = 8})
    check(line:read{first = 8}, dense)
    t.eq(line:read()[7], -1)
    local other <close> = cl.buffer("int", {4, 4, 7}, 0)
    b:copy(other, {from = from, size = size, to = {1, 1, 2}})
    check(other:read(), function(i, j, k)
      return ((i - 1) * 4 + j - 1) * 7 + k + 1
    end)
    local again <close> = cl.buffer("int", {3, 4, 5}, -1)
    again:write(part, {from = from, size = size})
    t.eq(again:read{from = from, size = size}:table(), part:table(), what)
    local rest = 0
    for _, x in ipairs(again:read()) do
      rest = rest + (x == -1 and 1 or 0)
    end
    t.eq(rest, 60 - #part, what)
    line:copy(again, {first = 8, to = 1})
    t.eq(again:read{first = 1, count = #part}:table(),
      line:read{first = 8}:table())
  end
  t.eq(h:at(3, 4, 5), 345)
  t.raises(function() b:read{from = {1, 1, 4}, size = {1, 1, 3}} end,
    "part 1x1x3 at 1x1x4 leaves the buffer of 3x4x5")
  t.raises(function() b:read{from = {1, 1}} end, "a list of 3 whole numbers")
  t.raises(function()
    cl.buffer("int", {2, 2, 2, 2}):read{from = {1, 1, 1}}
  end, "at most 3 dimensions, the Buffer 4")
  t.raises(function() b:copy(v, {from = {1, 1, 1}, to = {1}}) end,
    "the same number of dimensions")
  t.raises(function()
    b:copy(b, {size = {2, 4, 5}, to = {2, 1, 1}})
  end, "CL_MEM_COPY_OVERLAP")
end)

t.test("copies on the device", function()
  local a <close> = numbers(100)
  local b <close> = cl.buffer("int", 100, 0)
  a:copy(b)
  t.ok(b:read():equal(a:read()))
  a:copy(b, {first = 1, count = 3, to = 98})
  t.eq(b:read{first = 97}:table(), {97, 1, 2, 3})
  local m <close> = cl.buffer("int", {3, 4}, function(i, j)
    return 10 * i + j
  end, {ld = 7})
  local n <close> = cl.buffer("int", {5, 5}, 0)
  m:copy(n, {from = {2, 2}, size = {2, 3}, to = {4, 3}})
  t.eq(n:read():table()[5], {0, 0, 32, 33, 34})
  local whole <close> = cl.buffer("int", {3, 4}, 0)
  m:copy(whole)
  t.eq(whole:read():table()[3], {31, 32, 33, 34})
  t.raises(function() a:copy(a, {first = 1, count = 50, to = 50}) end,
    "CL_MEM_COPY_OVERLAP")
  a:copy(a, {first = 1, count = 50, to = 51})
  t.eq(a:read()[100], 50)
  t.raises(function() a:copy(cl.buffer("float", 100)) end, "int to float")
  t.raises(function() a:copy(b, {to = 2}) end, "leave")
  t.raises(function() a:copy(5) end, "must be a Buffer")
end)

t.test("views share memory", function()
  local b <close> = numbers(4096)
  local step = cl.device().mem_base_addr_align // 8 // 4
  local v = b:view(step + 1, step + 10)
  t.eq({#v, v.offset, v.type}, {10, step * 4, "int"})
  t.eq(v:read()[1], step + 1)
  v:fill(-5)
  t.eq(b:read()[step + 10], -5)
  t.eq(b:overlaps(v), true)
  local w <close> = b:view(1, step)
  t.eq(w:overlaps(v), false)
  t.raises(function() b:view(2, 5) end, "nearest: 1 or " .. step + 1)
  t.raises(function() b:view(4000, 4097) end, "leaves the elements 1..4096")
  t.raises(function() b:view(5, 3) end, "leaves")
  t.eq({#b:view(5, 4), #b:view(4097, 4096):read(), b:overlaps(b:view(1, 0))},
    {0, 0, false})
  local keeps = cl.buffer("int", 64, 3):view(1, 8)
  collectgarbage()
  collectgarbage()
  t.eq(keeps:read()[8], 3, "the view keeps its buffer")
  v:close()
  keeps:close()
end)

t.test("mapping", function()
  for _, host in ipairs{false, true} do
    local b <close> = cl.buffer("int", 1000, 1, {host = host})
    local m = b:map()
    m[1000] = 77
    t.eq(b:unmap(m).command, "unmap")
    t.eq(m.closed, true)
    t.eq(b:read()[1000], 77)
    local part <close> = b:map("write", {first = 10, count = 5})
    t.eq(#part, 5)
    part:fill(9)
    part:close()
    t.eq(b:read()[14], 9)
    local left = b:map("read")
    b:close() -- before the mapping
    left:close()
  end
  local b <close> = cl.buffer("int", 10, 1)
  t.raises(function() b:map "readonly" end, "must be one of read_write, read")
  t.raises(function() b:unmap(cl.array("int", 10)) end, "no mapping")
end)

-- A buffer over the memory of an Array; skips where the driver takes none.
local function over(h, ...)
  local fine, b = pcall(cl.buffer, h.type, h.shape, h, {use_host_ptr = true},
    ...)
  if not fine and b.name == "CL_INVALID_OPERATION" then
    t.skip(b.message)
  end
  return fine and b or error(b)
end

-- Waits until the driver has given the Array's memory back.
local function back(h)
  local last = cl.now() + 20
  while not pcall(h.at, h, 1) and cl.now() < last do
    cl.sleep(0.001)
  end
  return h[1]
end

t.test("a buffer over an Array's memory", function()
  local ctx = cl.context()
  local used = ctx.used
  local h <close> = cl.array("int", 1000):fill(3)
  local b = over(h)
  t.eq(ctx.used - used, device.host_unified_memory and 0 or b.bytes)
  t.raises(function() return h[1] end, "is a Buffer's (use_host_ptr)")
  t.raises(function() h[1] = 2 end, "is a Buffer's (use_host_ptr)")
  t.raises(function() b:write(h) end, "is a Buffer's (use_host_ptr)")
  t.raises(function() h:reshape(1000) end, "is a Buffer's (use_host_ptr)")
  t.raises(function() over(h) end, "is a Buffer's (use_host_ptr)")
  t.eq(b:read()[1000], 3)
  local p <close> = cl.build [[kernel void double_it(global int *x) {
    x[get_global_id(0)] *= 2;
  }]]
  p.double_it:range(1000)(b)
  local m <close> = b:map()
  t.eq({#m, m[1], m[1000]}, {1000, 6, 6})
  m[1] = 7
  m:close()
  p.double_it:range(1000)(b)
  local v <close> = b:view(1, 10)
  b:unmap(b:map())
  b:close()
  t.raises(function() return h[1] end, "is a Buffer's (use_host_ptr)")
  t.eq(v:read()[1], 14, "a view keeps the memory")
  v:close()
  t.eq({back(h), h[1000]}, {14, 12})
  t.eq(ctx.used, used)
end)

t.test("a buffer over an Array's memory ends in any order", function()
  local h <close> = cl.array("float", 4096):fill(1)
  local b = over(h)
  local e <close> = b:fill(5, {async = true})
  b:close() -- before the command has ended, perhaps
  e:wait()
  back(h)
  b = over(h)
  local m = b:map()
  b:close()
  t.raises(function() return h[1] end, "is a Buffer's (use_host_ptr)")
  m:fill(8)
  m:close()
  t.eq(back(h), 8)
  b = over(cl.array("float", 4096):fill(2)) -- which nothing else keeps
  collectgarbage()
  collectgarbage()
  t.eq(b:read()[4096], 2)
  b:close()
  b = over(h)
  h:close()
  t.eq(b:read()[4096], 8)
  b:close()
  local function fails(piece, ...)
    local args = table.pack(...)
    t.raises(function() cl.buffer(table.unpack(args, 1, args.n)) end, piece)
  end
  local o <close> = cl.array("int", 6)
  local use = {use_host_ptr = true}
  fails("must be an open Array; got nil", "int", 6, nil, use)
  fails("must be an open Array; got table", "int", 2, {1, 2}, use)
  fails("must be an open Array; got number", "int", 2, 7, use)
  fails("the Array is int[6]; a Buffer int[7] needs 28", "int", 7, o, use)
  fails("the Array is int[6]; a Buffer float[6] needs", "float", 6, o, use)
  fails("the Array is int[6]; a Buffer int[2][3] needs 40", "int", {2, 3}, o,
    {use_host_ptr = true, ld = 5})
  fails("name kinds of memory", "int", 6, o,
    {use_host_ptr = true, host = true})
  fails("name kinds of memory", "int", 6, o, {use_host_ptr = true, svm = true})
  local other <close> = cl.buffer("int", 6, 1)
  local mapped <close> = other:map()
  fails("mapped memory, which another Buffer cannot take", "int", 6, mapped,
    use)
  o[6] = 4
  t.eq(o[6], 4, "what is refused stays as it was")
end)

t.test("asynchronous transfers keep their memory", function()
  local b <close> = cl.buffer("float", 1 << 20, 0)
  for i = 1, 20 do
    local h = cl.array("float", 1 << 20):fill(i)
    b:write(h, {async = true})
    h:close()
    b:write(cl.array("float", 1 << 20):fill(-i), {async = true})
    collectgarbage()
  end
  t.eq(b:read()[1 << 20], -20)
  local h, ev = b:read(nil, {async = true})
  ev:wait()
  t.eq(h[1], -20)
end)

t.test("a read is one value, and an event is never taken for options",
  function()
    local b <close> = numbers(4)
    local c <close> = cl.buffer("int", 4, b:read())
    t.eq(select("#", b:read()), 1)
    t.eq(select("#", b:read{async = true}), 2)
    local list = {}
    table.insert(list, b:read())
    t.eq(list[1]:table(), {1, 2, 3, 4})
    c:fill(0)
    c:write(b:read())
    t.eq(c:read():table(), {1, 2, 3, 4})
    c:write({4, 3, 2, 1}, b:fill(9))
    b:copy(c, b:fill(8))
    t.eq(c:read():table(), {8, 8, 8, 8})
    c:write(b:read{async = true})
    local queue <close> = cl.queue()
    local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
    local l = k:range(1)
    t.raises(function() l:on(nil, b:fill(0)) end,
      "must be a table of options; got Event")
    t.raises(function() queue:marker(b:fill(0)) end, "got Event")
    t.raises(function() c:write(b:read(), 5) end, "got number")
    k.program:close()
    k:close()
  end)

t.test("a Buffer without elements", function()
  local b, A = cl.buffer("int", 0, 7), cl.buffer("int", {0, 3}, {}, {ld = 8})
  t.eq({#b, b.bytes, tostring(b), A.shape, A.ld, A.bytes, #A:read()},
    {0, 0, "Buffer int[0]", {0, 3}, 8, 0, 0})
  for _, event in ipairs{b:write{}, b:write(cl.array("int", 0)), b:fill(1),
      b:copy(cl.buffer("int", 0)), cl.buffer("int", 3, 1):copy(b,
      {count = 0})} do
    t.eq({event.status, event.command}, {"complete", "marker"})
  end
  t.eq(b:fill(1, {async = true}):wait().status, "complete")
  local h <close> = b:map()
  t.eq({#h, b:reshape{-1, 3}.shape, b:as "float4".shape,
    b:matrix(1, 2, 0).shape}, {0, {0, 3}, {0}, {2, 0}})
  for _, opts in ipairs{{host = true}, {use_host_ptr = true}} do
    t.eq(#cl.buffer("int", 0, cl.array("int", 0), opts):read(), 0)
  end
  local k = cl.kernel[[kernel void set(global int *x, int n) {
    if (get_global_id(0) < n) x[get_global_id(0)] = 1; }]]
  t.eq(k:range(4)(b, 0):wait().status, "complete")
  t.raises(function() b:read{first = 2} end, "leave")
end)

t.test("what does not fit", function()
  local b <close> = cl.buffer("float", 10, 0)
  t.raises(function() b:write(cl.array("float", 11)) end,
    "has 10 elements, the Array 11")
  t.raises(function() b:write(cl.array("int", 10)) end, "h:convert")
  t.raises(function() b:read(cl.array("float", 9)) end, "the Array 9")
  t.raises(function() b:write({1, 2, 3}) end, "10 elements; got 3")
  t.raises(function() b:fill("x") end, "must be a number")
  t.raises(function() b:read(nil, {asynch = true}) end, "unknown option")
  t.raises(function() cl.buffer("flaot", 1) end, "did you mean 'float'?")
  t.raises(function() cl.buffer("float", -1) end, "whole number >= 0")
  t.raises(function() cl.buffer("float", {}) end, "1 to 4", "got 0")
  t.raises(function() cl.buffer("float", 1 << 62) end, "too large")
  t.raises(function() cl.buffer("float", math.maxinteger) end, "too large")
  local e = t.raises(function()
    cl.buffer("char", cl.device().max_mem_alloc_size + 1)
  end, "CL_INVALID_BUFFER_SIZE", "the device allows", "in several")
  t.eq(e.code, -61)
  t.eq(e.name, "CL_INVALID_BUFFER_SIZE")
  t.eq(e.call, "clCreateBuffer")
  t.raises(function() cl.buffer("uchar", 1, 300) end,
    "bad argument #3: 300 does not fit")
  t.raises(function() cl.buffer("int", 1, 3.5) end, "3.5")
  t.raises(function() cl.buffer("int", 2, {1, 2, 3}) end, "2 elements; got 3")
  t.raises(function() cl.buffer("int", 1, function() error "mine" end) end,
    "mine")
  t.eq(b:read()[10], 0)
end)

t.test("an allocation over the device's memory", function()
  local list = {}
  local each = math.min(device.max_mem_alloc_size,
    device.global_mem_size // 3)
  local e = t.raises(function()
    for i = 1, 2 + device.global_mem_size // each do
      list[i] = cl.buffer("char", each)
    end
  end, "CL_MEM_OBJECT_ALLOCATION_FAILURE")
  t.eq(e.code, -4)
  t.ok(tostring(e):find "are in buffers already"
    or tostring(e):find "host memory, of which %d+ are left")
  for _, b in ipairs(list) do
    b:close()
  end
  for _ = 1, 2 + device.global_mem_size // each do
    cl.buffer("char", each) -- dropped at once: collected at need
  end
end)

t.test("use after close", function()
  local b = cl.buffer("float", 10, 0)
  local v = b:view(1, 4)
  b:close()
  b:close()
  t.eq(b.closed, true)
  t.eq(tostring(b), "Buffer float[10] (closed)")
  for _, name in ipairs{"read", "write", "fill", "copy", "map", "view",
      "info"} do
    t.raises(function() b[name](b, 1, 2) end, "closed")
  end
  t.raises(function() return b.type end, "closed")
  t.eq(v:read()[4], 0, "OpenCL keeps the memory for the view")
  v:close()
end)

t.test("a map that does not wait, and memory that moves ahead", function()
  local b <close> = cl.buffer("int", 1000, 7)
  local q <close> = cl.queue{out_of_order = true}
  local h, ev = b:map("read", {async = true, queue = q})
  t.raises(function() b:unmap(h) end, "still in use")
  t.eq(ev:wait().command, "map")
  t.eq(h[1000], 7)
  b:unmap(h)
  h, ev = b:map({async = true})
  h:close() -- before the map has ended, perhaps
  ev:wait()
  b:fill(8)
  t.eq(b:read()[1], 8)
  local fine, e = pcall(b.migrate, b)
  if not fine then
    t.skip(e.message)
  end
  t.eq(e:wait().command, "migrate")
  t.eq(b:migrate{host = true, async = false}.status, "complete")
  t.eq(b:read()[1000], 8)
  b:migrate{discard = true, after = e}:wait()
  t.raises(function() b:migrate{hosts = true} end, "did you mean 'host'")
end)

t.done()

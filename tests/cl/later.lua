-- later.lua - what OpenCL 2.0 and later have: sub-groups, SPIR-V, shared
-- virtual memory; and half arithmetic. A device
-- without them says so in a sentence, which is the reason of the skip.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue")

-- What f(...) returns; skips the test where the device lacks it.
local function offered(f, ...)
  local fine, result = pcall(f, ...)
  if not fine and result.name == "CL_MEM_OBJECT_ALLOCATION_FAILURE" then
    t.skip(result.message) -- of fine-grained memory, say
  elseif not fine and result.name == "CL_INVALID_OPERATION" then
    t.ok(result.message:find(";", 1, true), "no remedy: " .. result.message)
    t.skip(result.message)
  end
  return fine and result or error(result)
end

t.test("a work-group falls into sub-groups", function()
  local p <close> = cl.build "kernel void f(global int *x) { x[0] = 1; }"
  local k = p.f
  t.raises(function() k:sub_groups() end, "local must be a number or a list")
  t.raises(function() k:sub_groups{0} end, "local")
  t.raises(function() k:sub_groups{1, 1, 1, 1} end, "local")
  local s = offered(k.sub_groups, k, 64)
  t.ok(s.size >= 1 and s.count >= 1 and s.size * s.count >= 64)
  t.eq(s.required, nil)
  t.ok(k:sub_groups{8, 4, 2}.count >= 1)
  t.eq(k:sub_groups(1).count, 1)
end)

-- SPIR-V of a kernel: f(global uint *x) { *x = C; }, where C is 40 or the
-- specialisation constant 7. An instruction is {opcode, words}.
local function module()
  local words = {0x07230203, 0x00010000, 0, 9, 0}
  for _, code in ipairs{
    {17, 4}, {17, 6},                     -- OpCapability Addresses, Kernel
    {14, 2, 2},                           -- OpMemoryModel Physical64 OpenCL
    {15, 6, 6, string.byte "f"},          -- OpEntryPoint Kernel %6 "f"
    {71, 5, 1, 7},                        -- OpDecorate %5 SpecId 7
    {19, 1}, {21, 2, 32, 0},              -- OpTypeVoid, OpTypeInt
    {32, 3, 5, 2}, {33, 4, 1, 3},         -- OpTypePointer, OpTypeFunction
    {50, 2, 5, 40},                       -- OpSpecConstant
    {54, 1, 6, 0, 4}, {55, 3, 7},         -- OpFunction, its parameter
    {248, 8}, {62, 7, 5, 2, 4}, {253}, {56}, -- OpLabel, OpStore, the end
  } do
    words[#words + 1] = #code << 16 | code[1]
    table.move(code, 2, #code, #words + 1, words)
  end
  return string.pack(("<I4"):rep(#words), table.unpack(words))
end

t.test("programs from SPIR-V, with constants", function()
  local x <close> = cl.buffer("uint", 1, 0)
  local function value(opts, source)
    local p <close> = offered(cl.build_il, source or module(), opts)
    p.f:range(1)(x)
    return x:read()[1]
  end
  t.eq(value(), 40)
  t.eq(value{constants = {}}, 40)
  t.eq(value{constants = {[7] = 42}}, 42)
  t.eq(value{constants = {[7] = cl.uint(0xffffffff)}, name = "spec"},
    0xffffffff)
  local path = os.tmpname()
  t.write(path, module())
  t.eq(value(nil, path), 40)
  os.remove(path)
  for list, piece in pairs{[3] = "must be a table", [{x = 1}] = "SpecId",
      [{[7] = "x"}] = "[7] must be", [{[7] = 1 << 40}] = "[7] must be",
      [{[8] = 1}] = "no constant 8 of 4 bytes"} do
    t.raises(function() value{constants = list} end, piece)
  end
  t.raises(function() cl.build_il(module():sub(1, 40)) end, "CL_")
  t.raises(function() cl.build_il "a\0b" end, "must be a path or SPIR-V")
  t.raises(function() cl.build_il "none.spv" end, "no kernel file 'none.spv'")
  t.raises(function() cl.build_il(module(), {constant = {}}) end,
    "did you mean 'constants'")
end)

-- A list in Buffers: each node holds the address of the next.
local NODE = "struct node { global struct node *next; int x; };"

t.test("structs hold addresses of shared virtual memory", function()
  for _, svm in ipairs{true, "coarse", "fine"} do
    local node = cl.struct(NODE)
    local b <close> = offered(cl.buffer, "uchar", {3, node.size}, 0,
      {svm = svm})
    local alone <close> = offered(cl.buffer, "uchar", node.size, 0,
      {svm = svm})
    node:write(b, {{next = b.address + 2 * node.size, x = 1}, {x = 2},
      {next = alone.address, x = 3}})
    node:write(alone, {{x = 10}})
    t.eq(node:read(b)[1].next, b.address + 2 * node.size)
    local p <close> = cl.build(node.source .. [[
      kernel void sum(global struct node *n, global int *s) {
        *s = 0;
        for (; n != 0; n = n->next)
          *s += n->x++;
      }]])
    local s <close> = cl.buffer("int", 1, 0)
    t.ok(rawequal(p.sum:uses{b, alone}, p.sum))
    p.sum:range(1)(b, s)
    t.eq(s:read()[1], 14)
    t.eq({node:read(alone)[1].x, node:read(b)[2].x}, {11, 2})
    local mapped = b:map()
    t.eq(mapped[9], 2, "what the kernel stored")
    b:unmap(mapped)
    t.eq(p.sum:uses{}.name, "sum")
    local plain <close> = cl.buffer("int", 1, 0)
    t.eq(plain.address, nil)
    t.raises(function() p.sum:uses{b, plain} end, "element 2 must be")
    t.raises(function() p.sum:uses(b) end, "table expected")
    local i = cl.buffer("int", 100, 7, {svm = svm})
    t.eq(i:reshape{10, 10}.address, i.address)
    t.eq(i:as("int4").address, i.address)
    local event = i:fill(8, {async = true})
    i:close() -- while the command runs
    event:wait()
  end
  for svm, piece in pairs{[1] = "svm: must be a string", big = "one of coarse"}
  do
    t.raises(function() cl.buffer("int", 1, 0, {svm = svm}) end, piece)
  end
  t.raises(function() cl.buffer("int", 1, 0, {svm = true, host = true}) end,
    "svm and host")
  collectgarbage()
  t.raises(function() cl.buffer("int", 1 << 50, 0, {svm = true}) end, "bytes")
end)

-- Builds a program of a later OpenCL C; skips where the device lacks a part of
-- it, as `words` of the error say.
local function built(source, words)
  local fine, p = pcall(cl.build, source, {options = "-cl-std=CL3.0"})
  if fine then
    return p
  end
  local line = tostring(p):match("\n([^\n]*)$")
  if p.name ~= "CL_BUILD_PROGRAM_FAILURE" or not line:find(words, 1, true) then
    error(p)
  end
  t.skip(line)
end

t.test("a build says what serves without a part of OpenCL C", function()
  local words = {half = "vload_half", pipe = "atomic_inc",
    queue = "launch the next kernel from Lua",
    sub_group = "sub-groups need", work_group = "work_group_ functions need"}
  for part, sources in pairs{
    half = {"kernel void f(half a) {}", "kernel void f(global half *x) { \z
      *x *= 2; }", "kernel void f() { half x[2]; }",
      "kernel void f() { half4 x; }",
      "kernel void f(global float *x) { *x = (half)1; }"},
    sub_group = {"kernel void f(global int *x) { *x = sub_group_any(1); }",
      "kernel void f(global int *x) { *x = get_sub_group_size(); }"},
    work_group = {"kernel void f(global int *x) { *x = work_group_any(1); }"},
    queue = {"kernel void f(queue_t q) {}", "kernel void f(global int *x) { \z
      enqueue_kernel(get_default_queue(), 0, ndrange_1D(1), ^{ *x = 1; }); }"},
    pipe = {"kernel void f(read_only pipe int p) {}"},
  } do
    for _, source in ipairs(sources) do
      local fine, p = pcall(cl.build, source, {options = "-cl-std=CL1.2"})
      if fine then
        p:close() -- a device that has the part in OpenCL C 1.2
      end
      t.ok(fine and not part:find "^[qp]"
        or tostring(p):find(words[part], 1, true), p)
    end
  end
  local e = t.raises(function() cl.build "kernel void f(int x) { y; }" end,
    "undeclared")
  for _, word in pairs(words) do
    t.ok(not tostring(e):find(word, 1, true), e)
  end
end)

t.test("half arithmetic in kernels", function()
  local p <close> = built([[
    #ifdef cl_khr_fp16
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    #endif
    kernel void scale(half a, half2 b, global half *x, local half *t) {
      int i = get_global_id(0);
      t[get_local_id(0)] = a * x[i] + b.y;
      x[i] = t[get_local_id(0)];
    }]], "no half arithmetic (cl_khr_fp16)")
  local x <close> = cl.buffer("half", 8, function(i) return i end)
  p.scale:range(8, 4)(0.5, {1, 0.25}, x, cl.localmem("half", 4))
  t.eq(x:read():table(), {0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25})
  local large <close> = cl.buffer("half", 4, 2048)
  p.scale:range(4, 4)(1, {0, 1}, large, cl.localmem("half", 4))
  t.eq(large:read()[1], 2048, "2049 is no half")
end)

t.test("queues with priority and throttle, where there", function()
  t.raises(function() cl.queue{priority = "top"} end,
    "priority: must be one of high, medium, low; got 'top'")
  t.raises(function() cl.queue{throttle = 1} end, "must be a string")
  local q <close> = offered(cl.queue, {priority = "low"})
  local b <close> = cl.buffer("float", 4, 0)
  b:fill(1, {queue = q})
  t.eq(b:read{queue = q}[4], 1.0)
end)

t.test("the wishes of a queue reach the driver", function()
  local function said(layers, code)
    return t.capture(("%s %s -e '%s' 2>&1"):format(layers,
      t.exe, code))
  end
  local layer = ("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=hints:1:0")
    :format(t.build)
  if not said(layer, "cl.devices()"):find("faultlayer:", 1, true) then
    t.skip("the OpenCL loader takes no layers (OPENCL_LAYERS)")
  elseif cl.device().version:find "^OpenCL 1" then
    t.skip("the device has OpenCL 1")
  end
  local code = [[q = cl.queue{priority = "low", throttle = "high",
    out_of_order = true} b = cl.buffer("float", 4, 0)
    b:fill(1, {queue = q}):wait() print(q.out_of_order, b:read()[4])]]
  local out = said(layer, code)
  t.ok(out:find("properties 1096:4 1097:1\ntrue\t1.0\n", 1, true), out)
  out = said(layer, [[q = cl.queue{throttle = "medium"}]])
  t.ok(out:find("properties 1097:2\n", 1, true), out)
  t.ok(not said(layer, "q = cl.queue{}"):find "properties")
end)

t.done()

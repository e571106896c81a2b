-- kernel.lua - programs, kernels, arguments and launches.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

local AXPY = [[
kernel void axpy(float a, global const float *x, global float *y, int n) {
  size_t i = get_global_id(0);
  if (i < n)
    y[i] = a * x[i] + y[i];
}]]

t.test("programs from source, with defines", function()
  local p <close> = cl.build([[
    kernel void f(global int *x) { x[0] = N + FLAG; x[1] = sizeof(REAL); }
    kernel void g(global int *x) { x[0] = 2; }
  ]], {defines = {N = 40, FLAG = 2, REAL = "double", UNUSED = false,
    BARE = true}, options = "-cl-mad-enable", name = "test.cl"})
  local names = p:kernels()
  table.sort(names)
  t.eq(names, {"f", "g"})
  t.ok(p.defines:find("#define BARE 1\n#define FLAG 2\n#define N 40\n"
    .. "#define REAL double\n", 1, true), p.defines)
  t.ok(p.options:find("-cl-mad-enable", 1, true) and
    not p.defines:find "UNUSED")
  t.ok(rawequal(p.f, p:kernel "f"), "a kernel is made once")
  local x <close> = cl.buffer("int", 2, 0)
  p.f:range(1)(x)
  t.eq(x:read():table(), {42, 8})
  t.eq(type(p.log), "string")
  t.eq(p:info().name, "test.cl")
  t.eq(tostring(p), "Program test.cl")
  local e = t.raises(function() return p.h end, "no kernel 'h'", ": f, g")
  t.raises(function() p:ff(x) end, "no kernel 'ff'; did you mean 'f'?")
  local step <close> = cl.build [[
kernel void step(global int *x) { x[0] = 1; }]]
  if step:kernels()[1] ~= "step" then -- PoCL's are macros
    t.raises(function() step:step(x) end, "no kernel 'step'",
      "has the name of a function of OpenCL C")
  end
  t.raises(function() p(x) end, "a Program has kernels", ":range(n)(...)")
  t.raises(function() local kernel = p.f; kernel(x) end,
    "f: a Kernel is called over a range", "k:range(n)(...)")
  t.eq(e.name, "CL_INVALID_KERNEL_NAME")
  p.f:close()
  t.eq(p.f.closed, false, "a closed kernel is made anew")
  p:close()
  p:close()
  t.raises(function() return p.f end, "closed")
  t.raises(function() p:kernels() end, "closed")
end)

t.test("the parts of arguments, and the text of a program", function()
  local b <close> = cl.buffer("int", 3, 0)
  local l <const> = cl.localmem("float4", 7)
  t.eq({l.type, l.count}, {"float4", 7})
  t.eq(cl.int(3).data, string.pack("i4", 3))
  t.eq(cl.bytes("abc").data, "abc")
  t.ok(rawequal(cl.any(b).buffer, b) and not cl.any(b).base)
  t.ok(rawequal(cl.base(b).buffer, b) and cl.base(b).base)
  local p <close> = cl.build "kernel void f(global int *x) { x[0] = 1; }"
  t.eq(p.source, "kernel void f(global int *x) { x[0] = 1; }")
end)

t.test("defines take any text of one line", function()
  local x <close> = cl.buffer("int", 6, 0)
  local p <close> = cl.build([[
    kernel void f(global int *x) {
      x[0] = SUM(1, 2) EMPTY;
      x[1] = sizeof(TEXT);
      x[2] = EXPRESSION;
      x[3] = sizeof(TYPE);
      x[4] = BACK[0];
      x[5] = __LINE__;
    }]], {name = "any.cl", defines = {["SUM(a, b)"] = "((a) + (b))",
      EMPTY = "", TEXT = [["a, 'b' (c)"]], EXPRESSION = "40 + 2",
      TYPE = "float (*)[2]", BACK = [["\\"]], LAST = "x\\"}})
  p.f:range(1)(x)
  t.eq(x:read():table(), {3, 11, 42, p.context.device:info().address_bits // 8,
    92, 7})
  t.ok(p.defines:find("#define EXPRESSION 40 + 2\n", 1, true), p.defines)
  t.eq(p:info().defines, p.defines)
  local e = t.raises(function()
    cl.build("kernel void f(global int *x) {\n  x[0] = BAD;\n}",
      {name = "line.cl", defines = {BAD = "nothing + 1"}})
  end, ":2:10: error", "2 |   x[0] = BAD;", "<defines>:1:")
  t.eq(e.diagnostics[1].line, 2)
  t.eq(cl.build("kernel void f() {}", {defines = {N = false}}).defines, "")
end)

t.test("defines of the driver's own words, and numbers that are not finite",
  function()
  local x <close> = cl.buffer("float", 5, 0)
  cl.kernel([[kernel void f(global float *x) {
    x[0] = read_only; x[1] = UP; x[2] = -DOWN; x[3] = isnan(ODD); x[4] = BIG;
  }]], {defines = {read_only = 3, UP = 1 / 0, DOWN = -1 / 0, ODD = 0 / 0,
    BIG = 1e30}}):range(1)(x)
  t.eq(x:read():table(), {3, 1 / 0, 1 / 0, 1,
    (string.unpack("f", string.pack("f", 1e30)))})
end)

t.test("programs from files, with includes", function()
  local path = t.tmp("scale.cl")
  local folder = path:match("^(.*/)")
  -- names that no other process of the tests has in that folder
  local factor, deep = t.tmp("factor.h"), t.tmp("deep.h")
  local function include(header)
    return ('#include "%s"\n'):format(header:match "[^/]+$")
  end
  local function write(name, text)
    t.write(name, text)
  end
  write(factor, "#define FACTOR 3\n")
  write(path, include(factor) .. "kernel void scale(global int *x) "
    .. "{ x[get_global_id(0)] *= FACTOR; }\n")
  local x <close> = cl.buffer("int", 4, 5)
  cl.kernel(path):range(4)(x)
  t.eq(x:read():table(), {15, 15, 15, 15})
  write(path, "kernel void scale(global int *x) { x[0] = WRONG; }\n")
  local e = t.raises(function() cl.build(path) end,
    "CL_BUILD_PROGRAM_FAILURE", path .. ":1:")
  t.ok(#e.log > 0)
  t.raises(function() cl.build "no_such_file.cl" end,
    "no kernel file 'no_such_file.cl'", "looked for")
  if cl.home then -- below the folder of kernels that came along
    t.ok(cl.build("gemm/naive.cl"):info().name:find("kernels/gemm/naive.cl$"))
  end
  write(deep, "#define DEEP 9\n")
  local other <close> = cl.build(include(deep)
    .. "kernel void f(global int *x) { x[0] = DEEP; }", {include = {folder}})
  other.f:range(1)(x)
  t.eq(x:read()[1], 9)
end)

t.test("a header of the working folder takes no other header's place",
  function()
  t.skip_if(not cl.home, "stock Lua has no kernels that came along")
  local folder = t.tmp "inner"
  os.execute(("mkdir -p %s/own"):format(folder))
  local function write(name, text)
    t.write(folder .. "/" .. name, text)
  end
  for _, name in ipairs{"philox.cl", "op.cl", "real.cl", "part.h"} do
    write(name, "#error the working folder's\n")
  end
  write("own/part.h", "#define PART 7\n")
  write("own/k.cl", '# include "part.h" // and no other\n'
    .. "kernel void k(global int *x) { x[0] = PART; }\n")
  write("run.lua", [[
    local x = cl.buffer("int", 1)
    cl.kernel "own/k.cl":range(1)(x)
    print(x:read()[1])
    cl.kernel('#include "part.h"\nkernel void k(global int *x) '
      .. "{ x[0] = PART + 1; }", {include = "own"}):range(1)(x)
    print(x:read()[1])
    print(cl.random(4):read()[1] ~= 0, scan{1, 2, 3}:read()[3])]])
  t.eq(t.capture(("exe=$(realpath %s) && cd %s && $exe run.lua 2>&1"):format(
    t.exe, folder)), "7\n8\ntrue\t6.0\n")
  os.execute("rm -r " .. folder)
end)

t.test("folders with an apostrophe or a quotation mark", function()
  local folder = t.tmp "it" .. "'s"
  os.execute(('mkdir -p "%s"'):format(folder))
  local function write(name, text)
    t.write(folder .. "/" .. name, text)
  end
  write("a.cl", '#include "one.h"\nkernel void f(global int *x) { *x = ONE; }')
  write("one.h", "#define ONE 1\n")
  local x <close> = cl.buffer("int", 1, 0)
  cl.kernel(folder .. "/a.cl", {include = folder}):range(1)(x)
  t.eq(x:read()[1], 1)
  t.raises(function()
    cl.kernel(folder .. "/a.cl", {include = 'a"b'})
  end, "must have no quotation mark", 'a"b')
  local odd = folder .. "/a;{b}"
  os.execute(('mkdir "%s" && cp "%s"/*.* "%s"'):format(odd, folder, odd))
  cl.kernel(odd .. "/a.cl"):range(1)(x)
  os.execute(('rm -r "%s"'):format(folder))
end)

t.test("folders with a blank in their name", function()
  local folder = t.tmp("folder") .. " with 'two blanks"
  local quoted = "'" .. folder:gsub("'", "'\\''") .. "'"
  os.execute("mkdir -p " .. quoted .. "/deep")
  local function write(name, text)
    t.write(folder .. "/" .. name, text)
  end
  write("a.cl", '#include "one.h"\n#include <deep/two.h>\n#include "one.h"\n'
    .. "kernel void f(global int *x) { x[0] = ONE + TWO; x[1] = __LINE__; }\n")
  write("one.h", "#pragma once\nint one(void) { return 1; }\n"
    .. "#define ONE one()")
  write("deep/two.h", '#include "../one.h"\n#include "three.h"\n'
    .. "#define TWO (THREE - 1)\n")
  write("deep/three.h", "#define THREE 3\n")
  local x <close> = cl.buffer("int", 2, 0)
  local p <close> = cl.build(folder .. "/a.cl", {include = folder})
  p.f:range(1)(x)
  t.eq(x:read():table(), {3, 4})
  t.ok(#p:info().files >= 4)
  write("deep/three.h", "#define THREE 13\n")
  t.eq(p:changed(), true)
  p:rebuild().f:range(1)(x)
  t.eq(x:read()[1], 13)
  local text <close> = cl.build([[
    #include "deep/two.h"
    typedef int whole;
    kernel void f(whole a, global int *x) { x[0] = TWO + a; }]],
    {include = {folder}})
  text.f:range(1)(5, x)
  t.eq(x:read()[1], 17)
  write("one.h", "\nint one(void) { return nothing; }\n#define ONE 1\n")
  t.raises(function() p:rebuild() end, folder .. "/one.h:2:24: error",
    "2 | int one(void) { return nothing; }")
  write("one.h", "#define ONE 1\n")
  write("a.cl", '#include "one.h"\n\nkernel void f(global int *x) { bad; }\n')
  t.raises(function() p:rebuild() end, folder .. "/a.cl:3:32: error")
  os.execute("rm -r " .. quoted)
end)

t.test("a build that fails shows the line and a caret", function()
  local e = t.raises(function()
    cl.build("kernel void f(global float *a) {\n  a[0] = nothere;\n}")
  end, "build error: 1 error (CL_BUILD_PROGRAM_FAILURE -11)",
    "(source):2:10: error",
    "2 |   a[0] = nothere;", "\n       |          ^")
  t.eq({e.code, e.name, e.call}, {-11, "CL_BUILD_PROGRAM_FAILURE",
    "clBuildProgram"})
  t.ok(e.log:find "nothere")
  t.raises(function() cl.build("kernel void f() {}", {define = {}}) end,
    "did you mean 'defines'?")
  t.raises(function()
    cl.build("kernel void f() {}", {defines = {A = "a\nb"}})
  end, "defines: A must be one line")
  t.raises(function()
    cl.build("kernel void f() {}", {defines = {["A B"] = 1}})
  end, "defines: 'A B' must be a name")
  t.raises(function() cl.build("kernel void f() {}", {defines = {A = {}}})
  end, "a number, string or boolean")
  t.raises(function() cl.build("kernel void f() {}",
    {options = "-no-such-option"}) end, "-no-such-option")
  t.raises(function() cl.kernel "kernel void a() {} kernel void b() {}" end,
    "must have one kernel; got 2")
  t.raises(function() cl.kernel "int f(void) { return 1; }" end, "got 0")
end)

t.test("binaries", function()
  local p <close> = cl.build(AXPY)
  local bytes = p:binary()
  t.ok(#bytes > 100)
  local q <close> = cl.build_binary(bytes)
  local x <close> = cl.buffer("float", 8, 1)
  local y <close> = cl.buffer("float", 8, 1)
  q.axpy:range(8)(cl.float(2), x, y, cl.int(8))
  t.eq(y:read()[8], 3)
  local raw = p:binary{raw = true}
  t.eq(bytes:sub(-#raw), raw)
  local same <close> = cl.build_binary(raw, {raw = true})
  t.eq(same:kernels(), {"axpy"})
  local e = t.raises(function()
    cl.build_binary("no binary at all", {raw = true})
  end, "CL_INVALID_BINARY")
  t.eq(e.code, -42)
  t.raises(function() cl.build_binary("", {raw = true}) end, "empty")
  for _, text in ipairs{"", raw} do
    t.raises(function() cl.build_binary(text) end,
      "must be the result of prog:binary()", "{raw = true}")
  end
  for _, n in ipairs{17, 40, #bytes // 2, #bytes - 1} do
    t.raises(function() cl.build_binary(bytes:sub(1, n)) end,
      "the binary is damaged", "build the program from its source again")
  end
  local at = #bytes // 2
  local other = bytes:byte(at) == 0 and "x" or "\0"
  t.raises(function()
    cl.build_binary(bytes:sub(1, at - 1) .. other .. bytes:sub(at + 1))
  end, "damaged")
  t.raises(function() cl.build_binary(bytes .. "x") end, "damaged")
  t.raises(function() cl.build_binary((bytes:gsub("\n", "\nx", 1))) end,
    "of another device or driver")
end)

t.test("the binary of an earlier build instead of compiling", function()
  local folder = t.tmp "kept"
  os.execute("mkdir -p " .. folder)
  local function put(name, text)
    t.write(folder .. "/" .. name, text)
  end
  put("part.h", "#define PART 1\n")
  put("f.cl", "#include \"part.h\"\nkernel void f(global const int *x, \z
    global int *y) { *y = *x + PART + N; }\n")
  local path, keys, bytes, log = folder .. "/f.cl", {}, nil, nil
  local function build(n, options)
    return cl.build(path, {defines = {N = n}, options = options,
      binary = function(key)
        keys[#keys + 1] = key
        return bytes, log
      end})
  end
  local first <close> = build(2)
  t.ok(keys[1]:find "^%x+$")
  bytes, log = first:binary(), "a warning"
  local again <close> = build(2)
  t.eq(keys[2], keys[1])
  t.eq({again.log, again.options, again.file},
    {"a warning", first.options, first.file})
  if again.f.args[1].type ~= "?" then -- as with Intel's driver for CPUs
    t.eq(again.f.args, first.f.args)
  end
  local x <close> = cl.buffer("int", 1, 4)
  local y <close> = cl.buffer("int", 1)
  again.f:range(1)(x, y)
  t.eq(y:read()[1], 7)
  t.eq(again:changed(), false)
  put("part.h", "#define PART 2\n")
  t.eq(again:changed(), true)
  again:rebuild() -- compiles
  again.f:range(1)(x, y)
  t.eq(y:read()[1], 8)
  t.eq(again.log, first.log)
  -- an included file, a define and an option are in the key
  for _, args in ipairs{{2}, {3}, {3, "-cl-mad-enable"}} do
    local other <close> = build(table.unpack(args))
    t.ok(not other.closed)
  end
  local seen = {}
  for i = 2, #keys do
    t.ok(not seen[keys[i]], "key " .. i)
    seen[keys[i]] = true
  end
  bytes = bytes:sub(1, -2)
  t.raises(function() build(2) end, "the binary is damaged")
  t.raises(function() cl.build(path, {binary = "x"}) end,
    "binary must be a function; got a string")
  t.raises(function()
    cl.build(path, {binary = function() error("mine", 0) end})
  end, "mine")
  os.execute("rm -rf " .. folder)
end)

t.test("local memory that a kernel declares", function()
  local plain <close> = cl.kernel(AXPY)
  local scratch = cl.kernel [[
    kernel void f(global int *x) {
      local int y[64];
      y[get_local_id(0)] = x[0];
      barrier(CLK_LOCAL_MEM_FENCE);
      x[0] = y[0];
    }]]
  t.skip_if(scratch.local_mem_size == 0,
    "the driver counts no local memory of kernels")
  t.ok(scratch.local_mem_size >= 64 * 4, scratch.local_mem_size)
  t.ok(plain.local_mem_size < scratch.local_mem_size, plain.local_mem_size)
end)

t.test("long names of kernels", function()
  local name = ("k"):rep(240)
  local k <close> = cl.kernel("kernel void " .. name
    .. "(global int *x) { x[0] = 7; }")
  local x <close> = cl.buffer("int", 1, 0)
  t.eq(k.name, name)
  k:range(1)(x)
  t.eq(x:read()[1], 7)
  t.raises(function()
    cl.kernel(("kernel void %s(global int *x) {}"):format(("k"):rep(300)))
  end, "a kernel's name may have 240 letters; got 300")
end)

t.test("a kernel prints in order with the script", function()
  local path = t.tmp("prints.lua")
  t.write(path, [[
      local x = cl.buffer("int", 1, 0)
      local l = cl.kernel('kernel void f(global int *x) '
        .. '{ printf("kernel\\n"); }'):range(1)
      io.write "a\n"
      l(x)
      io.write "b\n"
      l(x)
      print "c"]])
  local p <close> = assert(io.popen(("%s %s"):format(t.exe, path)))
  t.eq(p:read("a"), "a\nkernel\nb\nkernel\nc\n")
end)

t.test("what a kernel tells of itself", function()
  local k = cl.kernel(AXPY)
  t.eq(tostring(k), "kernel axpy(float a, global const float* x, "
    .. "global float* y, int n)")
  t.eq(k.name, "axpy")
  t.eq(k.args[2], {name = "x", type = "float*", space = "global",
    const = true})
  t.eq(k.args[4], {name = "n", type = "int", space = "private"})
  t.ok(k.work_group_size >= 1 and k.preferred_multiple >= 1)
  t.eq(k.required_work_group_size, nil)
  t.eq(k:info().name, "axpy")
  local fine, sizes = pcall(function() return k.global_work_size end)
  if not fine then
    t.eq({sizes.name, sizes.call}, {"CL_INVALID_VALUE",
      "clGetKernelWorkGroupInfo"})
    t.ok(sizes.message:find("axpy: only built-in kernels and kernels of "
      .. "custom devices have a global_work_size; this kernel runs over any "
      .. "range", 1, true), sizes.message)
  end
  t.eq(k:info().global_work_size, fine and sizes or nil)
  local r = cl.kernel [[
    kernel __attribute__((reqd_work_group_size(8, 1, 1)))
    void r(global int *x) { x[get_global_id(0)] = get_local_size(0); }]]
  t.eq(r.required_work_group_size, {8, 1, 1})
  t.raises(function() r:range(16, 4) end, "requires 8x1x1")
  local x <close> = cl.buffer("int", 16, 0)
  r:range(16, 8)(x)
  t.eq(x:read()[16], 8)
  x:fill(0)
  r:range(16)(x) -- the required size stands in
  t.eq({x:read()[16], r:range(16).localsize}, {8, {8}})
  t.raises(function() r:range(12) end, "local 8 over global 12", "multiple")
  k:close()
  k:close()
  t.raises(function() k:range(1) end, "closed")
end)

t.test("scalars of every type are checked and converted", function()
  local limits = {char = {-128, 127}, uchar = {0, 255},
    short = {-32768, 32767}, ushort = {0, 65535},
    int = {-2^31, 2^31 - 1}, uint = {0, 2^32 - 1}}
  for type, limit in pairs(limits) do
    local k = cl.kernel(("kernel void f(%s v, global %s *o) { *o = v; }")
      :format(type, type))
    local o <close> = cl.buffer(type, 1, 0)
    local l = k:range(1)
    for _, v in ipairs(limit) do
      l(v, o)
      t.eq(o:read()[1], math.tointeger(v))
    end
    for _, v in ipairs{limit[1] - 1, limit[2] + 1, 3.5, 0 / 0, 1 / 0} do
      local e = t.raises(function() l(v, o) end, "f: argument 1 'v' ("
        .. type .. ")")
      t.eq({e.kernel, e.arg}, {"f", 1})
    end
    for _, v in ipairs{"1", {}, true} do
      t.raises(function() l(v, o) end, "argument 1")
    end
    t.raises(function() l(nil, o) end, "argument 1")
  end
  for _, type in ipairs{"long", "ulong", "float", "double"} do
    if type ~= "double" or device:has "cl_khr_fp64" then
      local k = cl.kernel(("kernel void f(%s v, global %s *o) { *o = v; }")
        :format(type, type))
      local o <close> = cl.buffer(type, 1, 0)
      k:range(1)(123456, o)
      t.eq(o:read()[1], type:find "long" and 123456 or 123456.0)
    end
  end
end)

t.test("a long type name that begins with unsigned_", function()
  local name = "unsigned_" .. ("x"):rep(54)
  local k = cl.kernel(("typedef struct { int a; } %s;\nkernel void f(%s p, "
    .. "global int *x) { x[0] = p.a; }"):format(name, name))
  local x <close> = cl.buffer("int", 1, 0)
  k:range(1)(cl.bytes(string.pack("i4", 7)), x)
  t.eq(x:read()[1], 7)
  t.ok(k.args[1].type == name or k.args[1].type == "?", k.args[1].type)
  -- a whole word, not a part of another one
  local names = {"unsigned_float", "my_const_float"}
  for _, part in ipairs(names) do
    local l = cl.kernel(("typedef float %s;\nkernel void f(%s p, "
      .. "global float *x) { x[0] = p; }"):format(part, part)):range(1)
    local y <close> = cl.buffer("float", 1, 0)
    l(cl.float(2), y)
    t.eq(y:read()[1], 2)
  end
end)

t.test("vectors, local memory, explicit and typedef'd values", function()
  local k = cl.kernel [[
    typedef struct { int a; float b; } pair;
    kernel void f(float4 v, local float *s, pair p, global float4 *o) {
      s[get_local_id(0)] = p.a + p.b;
      barrier(CLK_LOCAL_MEM_FENCE);
      o[get_global_id(0)] = v + s[0];
    }]]
  local o <close> = cl.buffer("float4", 4, 0)
  local l = k:range(4, 4)
  local p = cl.bytes(string.pack("=if", 3, 0.5))
  l({1, 2, 3, 4}, cl.localmem("float", 4), p, o)
  t.eq(o:read():table()[4], {4.5, 5.5, 6.5, 7.5})
  l(cl.float4(1, 1, 1, 1), cl.localmem("float", 4), p, o)
  t.eq(o:read():table()[1], {4.5, 4.5, 4.5, 4.5})
  t.raises(function() l({1, 2, 3}, cl.localmem("float", 4), p, o) end,
    "argument 1")
  t.raises(function() l({1, 2, 3, 4}, 16, p, o) end, "argument 2 's'",
    'must be cl.localmem("float", n); got number')
  t.raises(function() l({1, 2, 3, 4}, cl.localmem("int", 4), p, o) end,
    "local memory of int")
  t.raises(function() l({1, 2, 3, 4}, cl.localmem("float", 4), 3, o) end,
    "argument 3", "cl.bytes")
  t.raises(function()
    l({1, 2, 3, 4}, cl.localmem("float", 1 << 30), p, o)
  end, "local memory", tostring(device.local_mem_size))
  t.raises(function() cl.localmem("float", 1 << 60) end, "local memory")
  t.raises(function() cl.localmem("float", 0) end, "whole number >= 1")
  t.raises(function() cl.bytes "" end, "1 to 1024 bytes")
  t.raises(function() cl.int(3.5) end, "3.5")
end)

t.test("cl.null, and any Buffer for raw memory", function()
  local k = cl.kernel [[
    kernel void k(global float *y, global const float *b, constant int *c,
                  local float *s) { y[0] = b ? b[0] : c ? c[0] : 7; }]]
  local y <close> = cl.buffer("float", 4, {1, 2, 3, 4})
  local s = cl.localmem("float", 1)
  local one <close> = cl.buffer("int", 1, 5)
  k:range(1)(y, cl.null, cl.null, s)
  t.eq(y:read()[1], 7)
  k:range(1)(y, cl.null, one, s)
  t.eq(y:read()[1], 5)
  k:range(1):on(nil)(y, y, one, s)
  t.eq(y:read()[1], 5)
  t.raises(function() k:range(1)(y, nil, one, s) end, "argument 2 'b'",
    "must be a Buffer, or cl.null for NULL; got nil")
  t.raises(function() k:range(1)(y, y, one, cl.null) end, "argument 4 's'",
    "must be cl.localmem(type, n); got cl.null")
  local bytes = cl.kernel [[
    kernel void bytes(global const char *from, global uchar *to) {
      to[get_global_id(0)] = from[get_global_id(0)]; }]]
  local z <close> = cl.buffer("float", 4, 0)
  bytes:range(16)(y, z)
  t.eq(z:read():table(), {5, 2, 3, 4})
  t.raises(function()
    cl.kernel "kernel void l(local char *s) {}":range(1)(s)
  end, "must hold char; got local memory of float")
end)

t.test("typedefs behind macros, and sources of any form", function()
  local half = cl.buffer("half", 4, 0)
  for _, case in ipairs{
    {"float", "#define double float\ntypedef double real;\n"},
    {"float", "#define double float\n#define real double\n"},
    {"long", "#define int long\ntypedef int real;\n"},
    {"ulong", "# define uint  ulong\ntypedef uint real;\n"},
    {"short", "#define half short\ntypedef short real;\n"},
    {"float", "#define T clsh\n#define n 5\n#define name(x) x\n"
      .. "#define clsh_x y\ntypedef float real;\n"},
    {"int", "typedef int real; /* { */ constant char c[] = \"{\\\"\"; // {\n"
      .. "typedef struct __attribute__((packed)) { int x[2]; } pair;\n"
      .. "constant int two[2] = {1, (int){2}};\n"
      .. "int f(int x) /* ) */ { if (x) { return '{'; } return two[0]; }\n"},
    {"float", "#if 1\nfloat f(float x) {\n#else\nint f(int x) {\n#endif\n"
      .. "  return x; }\ntypedef float real;\n"},
    {"float", "int f(int x) {\n#define SIZE 4\n  return x; }\n"
      .. "typedef int list[SIZE];\ntypedef float real;\n"},
  } do
    local type, head = case[1], case[2]
    local k = cl.kernel(head .. "kernel void k(global real *x, real v) {"
      .. "x[0] = v; } // the end, with a \\")
    local x <close> = cl.buffer(type, 1, 0)
    k:range(1)(x, 3)
    t.eq(x:read()[1], 3, head)
    t.raises(function() k:range(1)(half, 3) end, "must hold " .. type)
  end
  local kept = cl.kernel("typedef half real;\nkernel void k(global real *x) {"
    .. "vstore_half(1.5f, 0, x); }")
  kept:range(1)(half)
  t.eq(half:read()[1], 1.5)
end)

t.test("typedefs are resolved, structs have a size", function()
  local p <close> = cl.build([[
    typedef FLOAT real;
    typedef real alias;
    typedef global real *reals;
    typedef float4 quad;
    typedef enum { NO, YES } answer;
    typedef struct { int a; float b; } pair;
    struct odd { char text[11]; };
    kernel void f(alias a, global alias *x, reals y, quad q, unsigned int u,
                  answer yes, local real *s, constant real *c) {
      x[0] = a + y[1] + q.w + u + yes + c[0];
    }
    kernel void g(pair p, struct odd o, global float *x, global pair *v) {
      x[0] = p.a + p.b + o.text[10];
    }]], {defines = {FLOAT = "float"}, options = "-Werror"})
  local x <close> = cl.buffer("float", 4, {0, 1, 0, 0})
  local n <close> = cl.buffer("int", 4, 0)
  local s = cl.localmem("float", 2)
  local l = p.f:range(1)
  l(2.5, x, x, {1, 2, 3, 4}, 8, 1, s, x)
  t.eq(x:read()[1], 2.5 + 1 + 4 + 8 + 1)
  t.raises(function() l(cl.double(2.5), x, x, 0, 8, 1, s, x) end,
    "argument 1 'a' (alias): must be float; got cl.double")
  t.raises(function() l(2.5, n, x, 0, 8, 1, s, x) end, "argument 2",
    "must hold float; got a Buffer of int")
  t.raises(function() l(2.5, x, n, 0, 8, 1, s, x) end, "argument 3")
  t.raises(function() l(2.5, x, x, 0, -1, 1, s, x) end, "argument 5",
    "does not fit")
  t.raises(function() l(2.5, x, x, 0, 8, 1, cl.localmem("int", 2), x) end,
    "argument 7", "local memory of int")
  local pair = cl.bytes(string.pack("if", 3, 0.5))
  local odd = cl.bytes(("a"):rep(11))
  l = p.g:range(1)
  l(pair, odd, x, cl.any(x))
  t.eq(x:read()[1], 100.5)
  t.raises(function() l(cl.bytes(("a"):rep(7)), odd, x, cl.any(x)) end,
    "argument 1 'p' (pair): must have 8 bytes; got 7")
  t.raises(function() l(pair, cl.bytes(("a"):rep(12)), x, cl.any(x)) end,
    "argument 2", "must have 11 bytes; got 12")
  t.raises(function() l({3, 0.5}, odd, x, cl.any(x)) end,
    "must be cl.bytes(s), or prog:struct \"name\"{field = ...}, a struct of 8 "
    .. "bytes; got table")
  t.raises(function() l(pair, odd, x, x) end, "argument 4", "cl.any")
end)

t.test("typedefs of a file that is built again", function()
  local path = t.tmp("typedef.cl")
  local function write(type)
    local f <close> = assert(io.open(path, "w"))
    f:write(("typedef %s T;\nkernel void f(T a, global T *x) { *x = a; }\n")
      :format(type))
  end
  write "float"
  local p <close> = cl.build(path)
  local l = p.f:range(1)
  local x <close> = cl.buffer("float", 1, 0)
  local n <close> = cl.buffer("int", 1, 0)
  l(1.5, x)
  write "int"
  p:rebuild()
  t.raises(function() l(1.5, n) end, "whole number")
  l(3, n)
  t.eq({x:read()[1], n:read()[1]}, {1.5, 3})
end)

t.test("pointers to void and to vectors take buffers that fit", function()
  local l = cl.kernel [[
    kernel void f(global void *v, global float4 *q, global float *x) {
      ((global float *)v)[0] = 1;
      q[1] = (float4)(2);
      x[2] = 3;
    }]]:range(1)
  local x <close> = cl.buffer("float", 8, 0)
  local q <close> = cl.buffer("float4", 2, 0)
  local odd <close> = cl.buffer("float", 7, 0)
  local n <close> = cl.buffer("int", 8, 0)
  l(x, x, q)
  t.eq(x:read():table(), {1, 0, 0, 0, 2, 2, 2, 2})
  t.eq(q:read():table()[1], {0, 0, 3, 0})
  l(n, q, x)
  t.raises(function() l(x, odd, x) end, "argument 2",
    "got a Buffer of 7 float, which are no whole number of float4")
  t.raises(function() l(x, n, x) end, "got a Buffer of int")
end)

t.test("buffers as arguments", function()
  local l = cl.kernel(AXPY):range(8)
  local x <close> = cl.buffer("float", 8, 1)
  local i <close> = cl.buffer("int", 8, 1)
  local y = cl.buffer("float", 8, 1)
  t.raises(function() l(1, i, y, 8) end, "argument 2 'x' (global float*)",
    "got a Buffer of int", "cl.any")
  l(1, cl.any(i), y, 8)
  t.raises(function() l(1, 3, y, 8) end, "must be a Buffer; got number")
  t.raises(function() l(1, cl.array("float", 8), y, 8) end, "got Array")
  local e = t.raises(function() l(1, x, y) end,
    "argument 4 'n' (int)", "got 3 of 4 values")
  t.eq(e.arg, 4)
  t.raises(function() l() end, "got 0 of 4 values")
  t.raises(function() l(1, x, y, 8, 9) end, "takes 4 values; got 5")
  y:close()
  t.raises(function() l(1, x, y, 8) end, "argument 3", "closed")
  l(1, x, x, 8):wait()
  t.eq(x:read()[8], 2)
  local c = cl.kernel "kernel void f(constant int *c, global int *o) {*o=*c;}"
  if device.max_constant_buffer_size < device.max_mem_alloc_size then
    local big <close> = cl.buffer("int",
      device.max_constant_buffer_size // 4 + 1)
    t.raises(function() c:range(1)(big, i) end, "constant memory takes",
      tostring(device.max_constant_buffer_size))
  end
  c:range(1)(i, i)
end)

t.test("NDRanges", function()
  local k = cl.kernel [[
    kernel void f(global int *o, int n) {
      o[get_global_id(1) * n + get_global_id(0)] =
        get_local_size(0) * 100 + get_local_size(1);
    }]]
  local o <close> = cl.buffer("int", {6, 8}, 0)
  local l = k:range({8, 6}, {4, 2})
  l(o, 8)
  t.eq(o:read():at(6, 8), 402)
  t.eq(l.global, {8, 6})
  t.eq(l.localsize, {4, 2})
  t.eq(l.kernel, k)
  t.eq(tostring(l), "Launch f over 8x6, local 4x2")
  o:fill(0)
  k:range({1, 1}, nil, {7, 5})(o, 8)
  t.ok(o:read():at(6, 8) > 0 and o:read():at(1, 1) == 0, "offset")
  o:fill(0)
  for _, global in ipairs{0, {0, 6}, {8, 0}, {1 << 40, 0}} do
    local ev = k:range(global)(o, 8)
    ev:wait()
    t.eq({ev.status, o:read():equal(cl.array("int", {6, 8}))}, {"complete",
      true}, "0 work-items")
  end
  cl.record(function()
    k:range(0, 4)(o, 8)
    k:range(0)(o, 8)
  end)():wait()
  t.ok(o:read():equal(cl.array("int", {6, 8})), "0 work-items, recorded")
  for _, case in ipairs{
      {{8, 6}, {3, 2}, nil,
        "global size 8 must be a multiple of local size 3; round it up to 9"},
      {8, device.max_work_group_size * 2, nil, "the device allows"},
      {8, 1 << 40, nil, "the device allows"},
      {{8, 8}, {1 << 32, 1 << 32}, nil, "the device allows"},
      {-1, nil, nil, ">= 0; got -1"},
      {8, 0, nil, "must be a whole number >= 1; got 0"},
      {8.5, nil, nil, "must be a whole number >= 0; got 8.5"},
      {"8", nil, nil, "must be a number"}, {{}, nil, nil, "1 to 3"},
      {{1, 1, 1, 1}, nil, nil, "1 to 3"}, {nil, nil, nil, "global"},
      {{8, 8}, 4, nil, "2 dimensions"}, {8, nil, -1, ">= 0; got -1"},
      {math.maxinteger, nil, math.maxinteger, ""}} do
    local ok, e = pcall(k.range, k, case[1], case[2], case[3])
    if case[4] ~= "" then
      t.ok(not ok and tostring(e):find(case[4], 1, true), tostring(e))
    end
  end
  local e = t.raises(function() k:range({8, 6}, {3, 2}) end)
  t.eq({e.code, e.name}, {-54, "CL_INVALID_WORK_GROUP_SIZE"})
end)

-- PoCL keeps private variables of the whole work-group on a thread's stack.
t.test("much private memory in a large work-group", function()
  local n = math.min(device.max_work_group_size, 4096)
  local k <close> = cl.kernel([[
kernel void f(global const float *x, global float *y) {
  float keep[N];
  size_t i = get_local_id(0), n = get_local_size(0);
  for (int j = 0; j < N; j++)
    keep[j] = x[(i + j) % n];
  barrier(CLK_GLOBAL_MEM_FENCE);
  float sum = 0;
  for (int j = 0; j < N; j++)
    sum += keep[(i + j) % N];
  y[i] = sum;
}]], {defines = {N = 2048}})
  local size = math.min(n, k.work_group_size)
  local x <close> = cl.buffer("float", size, 1)
  local y <close> = cl.buffer("float", size, 0)
  k:range(size, size)(x, y)
  t.eq(y:read():table(), cl.array("float", size, 2048):table())
end)

t.test("launches on other queues, after events", function()
  local k = cl.kernel(AXPY)
  local q <close> = cl.queue{out_of_order = true}
  local x <close> = cl.buffer("float", 1024, 1)
  local y <close> = cl.buffer("float", 1024, 0)
  local l = k:range(1024)
  local ev = l:on(q)(1, x, y, 1024)
  for _ = 1, 20 do
    ev = l:on(q, {after = {ev}})(1, x, y, 1024)
  end
  t.eq(y:read{queue = q, after = ev}[1024], 21)
  ev = l:on(nil, {after = ev})(1, x, y, 1024)
  t.eq(ev.command, "kernel")
  t.eq(y:read()[1], 22)
  t.raises(function() l:on(q, {later = ev}) end, "unknown option")
  t.raises(function() l:on(5) end, "must be a Queue")
  local info = l:info()
  t.eq({info.kernel, info.global}, {"axpy", {1024}})
  q:close()
  local closed = t.raises(function() l:on(q) end, "closed")
  t.ok(closed)
end)

t.done()

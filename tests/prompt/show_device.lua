-- show_device.lua - buffers, matrices, events and the like as text at the
-- prompt, and how much of them is read back.
-- SPDX-License-Identifier: MIT
local t = require "t"
local printable = require "clshell.shell.prompt.printable"
local screen = require "screen"
local show = require "clshell.shell.prompt.show"
local style = require "clshell.base.style"
local summary = require "clshell.data.summary"

local build = os.getenv "CLSHELL_BUILD" or "build"
local device = t.device()
t.keeps("Program", "Kernel")

local utf8_ok = true
style.utf8 = function() return utf8_ok end
style.glyphs = style.utf8

local function text(value, opts)
  local o = {width = 80, height = 24, name = "A"}
  for name, x in pairs(opts or {}) do
    o[name] = x
  end
  local s = show.text(value, o)
  local rows = 0
  for line in (s .. "\n"):gmatch "(.-)\n" do
    rows = rows + 1
    t.ok(o.all or printable.width(line) <= o.width, line)
  end
  t.ok(o.all or rows <= o.height, s)
  return s
end

local function has(s, ...)
  for _, piece in ipairs{...} do
    t.ok(s:find(piece, 1, true), ("no '%s' in\n%s"):format(piece, s))
  end
  return s
end

t.test("a small matrix is there as a whole", function()
  local A <close> = matrix.from{{1, 2.5}, {-3, 0.125}}
  local s = has(text(A), "Buffer A", "float 2×2", "16 B",
    "\n   1.000   2.500\n"
    .. "  -3.000   0.125\n", "min -3  mean 0.1562  max 2.5")
  t.ok(not s:find("…", 1, true), s)
  local I <close> = matrix.identity(3)
  has(text(I), "\n  1  0  0\n  0  1  0\n  0  0  1\n")
end)

t.test("the event of a call is shown with no value", function()
  local p <close> = io.popen(t.exe .. [[ -e '
    local A = matrix.identity(2)
    show(gemm(A, A)) show(A:read()) show(A, A:write(A:read()))']])
  local s = p:read "a"
  t.eq(select(2, s:gsub("\n  1  0\n  0  1\n", "")), 3, s)
  local A <close> = matrix.identity(2)
  t.raises(function() show(A, "whole") end, 'must be "all"')
end)

t.test("a large one by its corners", function()
  local A <close> = cl.buffer("float", {300, 200}, function(i, j)
    return i + j / 1000
  end)
  local s = has(text(A), "float 300×200", "234.4 KiB", "\n    1.0    1.0 ",
    "  …  ", "\n      …\n", " 300.2\n", 'show(A, "all")')
  t.eq(select(2, s:gsub("\n +[%d…]", "")), 11, s)
  local narrow = text(A, {width = 20, height = 10})
  has(narrow, "\n    1.0  …    1.2\n")
  utf8_ok = false
  has(text(A), "300x200", "...")
  utf8_ok = true
end)

t.test("all of it with all", function()
  local A <close> = cl.buffer("int", {40, 30}, function(i, j)
    return 100 * i + j
  end)
  local s = text(A, {all = true})
  t.ok(not s:find("…", 1, true), s)
  has(s, "  101   102", "4030\n")
  t.eq(select(2, s:gsub("\n +%d", "")), 40)
end)

t.test("all of a large one ends as well", function()
  local cells = require "clshell.shell.prompt.arrays"
  local before = cells.most
  cells.most = 500
  for _, shape in ipairs{{30, 40}, {1200}, {3, 20, 20}, {7, 1, 999}} do
    local b <close> = cl.buffer("int", shape, 7)
    local s = has(text(b, {all = true}), "no more than 500 elements")
    local _, sevens = s:gsub("  7", "")
    t.ok(sevens >= 300 and sevens <= 1100, ("%d of %s"):format(sevens,
      table.concat(shape, "x")))
  end
  cells.most = before
end)

t.test("vectors, blocks, views, gaps", function()
  local v <close> = cl.buffer("int", 5, function(i) return i end)
  has(text(v), "int 5 ", "\n  1  2  3  4  5\n")
  local long <close> = cl.buffer("uint", 9000, function(i) return i end)
  has(text(long), "\n     1     2", "\n  …\n", " 9000\n")
  local odd <close> = cl.buffer("uint", 8998, function(i) return i end)
  has(text(odd), "\n     1     2", "\n  8997  8998\n") -- in the same columns
  local wide <close> = cl.array("uchar8", 1, 7)
  has(text(wide, {width = 20}), "(7, 7, 7", "…\n")
  local b <close> = cl.buffer("float", {2, 3, 4}, function(i, j, k)
    return 100 * i + 10 * j + k
  end)
  has(text(b), "float 2×3×4", "[1]\n  111  112  113  114\n",
    "[2]\n  211  212  213  214\n  221", "234\n")
  local many <close> = cl.buffer("short", {5, 7, 9, 9}, 3)
  has(text(many), "[1, 1]\n", "more of 9×9")
  local A <close> = cl.buffer("float", {6, 6}, function(i, j)
    return 10 * i + j
  end, {ld = 11})
  has(text(A), "ld 11", "\n  11  12  13  14  15  16\n", "max 66")
  local S <close> = A:sub(2, 3, 2, 3)
  has(text(S), "view", "\n  23  24  25\n  33  34  35\n",
    "min 23  mean 29  max 35")
end)

t.test("vectors of OpenCL C, half, integers to their ends", function()
  local v <close> = cl.buffer("float4", {2, 1}, function(i)
    return {i, 2, 3, 4.5}
  end)
  has(text(v), "(1.000, 2.000, 3.000, 4.500)", "max 4.5")
  local v3 <close> = cl.buffer("int3", 2, {{1, 2, 3}, {4, 5, -6}})
  has(text(v3), "( 1,  2,  3)  ( 4,  5, -6)", "min -6  mean 1.5  max 5")
  local h <close> = cl.buffer("half", 3, {1, 0.5, -2})
  has(text(h), "\n   1.000   0.500  -2.000\n", "min -2")
  local l <close> = cl.buffer("long", 2, {math.mininteger, math.maxinteger})
  has(text(l), "-9223372036854775808", "9223372036854775807", "mean -0.5")
  local u <close> = cl.buffer("ulong", 3, {-1, math.mininteger | 1, 1})
  has(text(u), "  18446744073709551615   9223372036854775809", "min 1",
    "max 18446744073709551615")
  local pairs_of <close> = cl.array("ulong2", 200, -2)
  has(text(pairs_of), "(18446744073709551614, 18446744073709551614)",
    "min 18446744073709551614")
end)

t.test("NaN and infinity are counted, small numbers are not zero", function()
  local A <close> = matrix.from{{1, 0 / 0, 1 / 0}, {-1 / 0, 2, 0 / 0}}
  has(text(A), "nan", "inf", "-inf", "min 1  mean 1.5  max 2  2 nan  2 inf")
  local N <close> = cl.buffer("float", 3, 0 / 0)
  has(text(N), "all nan")
  local S <close> = cl.buffer("float", 3, {1e-9, -1e-7, 1.5})
  has(text(S), "1e-09", "-1e-07", "1.500")
  local B <close> = cl.buffer("float", 2, {1e20, 2.5})
  has(text(B), "1.000e+20", "2.500e+00")
end)

t.test("host arrays in the same way", function()
  local h <close> = cl.array("double", {50, 2}, function(i, j)
    return i / 4 + j
  end)
  has(text(h), "Array A", "double 50×2", "on the host", "  1.25   2.25\n",
    "min 1.25  mean 7.875  max 14.5")
  local r = h:summary()
  t.eq({r.count, r.nan, r.inf, r.whole}, {100, 0, 0, false})
  h:close()
  t.eq(text(h), "Array double[50][2] (closed)")
end)

t.test("sparse matrices by their corners", function()
  local D <close> = dia.poisson2d(40, 40)
  has(text(D), "DIA matrix A", "1600×1600", "5 diagonals (-40 -1 0 1 40)",
    "7840 entries", "\n   4  -1   ·", "min -1", "max 4")
  local C <close> = D:to_csr()
  has(text(C), "CSR matrix A", "\n   4  -1   ·", "   ·  -1   4  -1")
  local wide <close> = dia.banded(3, {-2, 0, 1}, {m = 9, type = "int", lo = 2,
      hi = 2})
  has(text(wide), "\n  2  2  ·  ·  ·  ·  ·  ·  ·\n  ·  2  2",
    "\n  2  ·  2  2  ·  ·  ·  ·  ·\n")
  D:close()
  has(text(D), "(closed)")
end)

t.test("a reduction finds what a loop finds", function()
  for _, kind in ipairs{"float", "int", "uchar", "long", "half", "double"} do
    if kind ~= "double" or device:has "cl_khr_fp64" then
      for _, n in ipairs{1, 7, 8, 63, 1025, 100003} do
        local h <close> = cl.array(kind, n)
        h:random(n, 0, 100)
        local b <close> = cl.buffer(kind, n, h)
        local got, expected = summary.of(b), h:summary()
        for name, x in pairs(expected) do
          if type(x) == "number" then
            t.near(got[name], x, 1e-6, ("%s of %d %s"):format(name, n, kind))
          else
            t.eq(got[name], x, name)
          end
        end
      end
    end
  end
end)

t.test("a reduction without doubles", function()
  summary.double = false
  local h <close> = cl.array("float", 300001)
  h:random(5)
  local b <close> = cl.buffer("float", #h, h)
  t.near(summary.of(b).mean, h:summary().mean, 1e-7)
  summary.double = nil
end)

t.test("closed objects say so", function()
  local A = matrix.zeros(3)
  A:close()
  t.eq(text(A), "Buffer float[3][3] (closed)")
  local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
  k:close()
  has(text(k), "kernel f(", "(closed)")
end)

local SOURCE = [[kernel void mm(global const float *A, int n,
  local float *tile, global float4 *C) { tile[0] = A[n]; C[0].x = tile[0]; }]]

t.test("kernels, programs, launches with their signatures", function()
  local k = cl.kernel(SOURCE, {name = "mm.cl"})
  has(text(k, {width = 120}), "kernel mm(A: global const float*, n: int, "
    .. "tile: local float*, C: global float4*)", "work-group")
  has(text(k, {width = 40}), "kernel mm(\n", "tile: local float*")
  has(text(k.program, {width = 120}), "Program mm.cl", "kernel mm(A: global")
  has(text(k:range({64, 32}, {16, 2})), "64x32", "16x2", "4x16 groups")
  k.program:close()
  k:close()
end)

t.test("images", function()
  t.skip_if(not device.image_support, "the device has no images")
  local function place(...)
    local sum = 0
    for _, i in ipairs{...} do
      sum = 10 * sum + i
    end
    return sum
  end
  local a <close> = cl.image{format = "r float", width = 4, height = 2,
    data = place}
  has(text(a), "Image A  2d r float  float 2×4  32 B",
    "\n  11  12  13  14\n  21  22  23  24\n", "min 11  mean 17.5  max 24")
  local line <close> = cl.image{format = "r float", width = 3, data = place}
  has(text(line), "1d r float", "\n  1  2  3\n")
  local volume <close> = cl.image{format = "r float", width = 3, height = 2,
    depth = 2, data = place}
  has(text(volume), "3d r float  float 2×2×3", "[2]\n  211  212  213\n")
  local large <close> = cl.image{width = 640, height = 480, data = 1}
  has(text(large), "rgba float  float4 480×640", "…", 'show(A, "all")')
end)

t.test("devices, contexts, queues", function()
  has(text(device), "Device " .. device.index, "compute units", "memory",
    "images")
  text(device, {width = 20})
  has(text(cl.context()), "Context on", "in use")
  local q <close> = cl.queue{out_of_order = true}
  has(text(q), "Queue on", "out of order")
  has(text(cl.devices()), "Device 1: ")
  has(text(cl.platforms()), "name = ")
end)

t.test("events: times, and rates where the work is known", function()
  local x <close> = cl.buffer("float", 1 << 16, 1)
  local k = cl.kernel("kernel void f(global float *x) { int i = "
    .. "get_global_id(0); for (int k = 0; k < 99; k++) x[i] *= 1.0001f; }")
  local l = k:range(1 << 16)
  local ev = l(x):wait()
  local s = has(text(ev), "Event kernel  complete", "time", "queued → submit",
    "submit → start")
  t.ok(not s:find("GFLOPS", 1, true), s)
  t.raises(function() return ev:gflops() end, "not known")
  ev = l:work{flop = 99 * 65536, bytes = 8 * 65536}(x):wait()
  t.eq({ev.flop, ev.bytes}, {99 * 65536, 8 * 65536})
  t.near(ev:gflops(), ev.flop / ev.ms / 1e6)
  has(text(ev), "GFLOPS", "GB/s")
  t.raises(function() l:work{flop = "many"} end, "flop", "number")
  t.raises(function() l:work{flops = 1} end, "did you mean 'flop'")
  t.eq(l:work{flop = 5}:on(nil)(x):wait().flop, 5)
  local h, read = x:read{async = true}
  has(text(read:wait()), "Event read", "complete")
  h:close()
  k.program:close()
  k:close()
end)

t.test("a command that is asked about goes on", function()
  local x <close> = cl.buffer("int", 4, 0)
  local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
  local ev = k:range(1)(x)
  local stop = cl.now() + 600
  while not text(ev):find("complete", 1, true) do
    t.ok(cl.now() < stop, text(ev))
  end
  k.program:close()
  k:close()
end)

t.test("events of gemm, spmv and transpose know their work", function()
  local A <close> = matrix.random(48)
  local C, ev = gemm(A, A)
  ev:wait()
  t.eq(ev.flop, 2 * 48 ^ 3)
  has(text(ev), "GFLOPS", "GB/s")
  local B, turned = transpose(A)
  turned:wait()
  t.eq(turned.bytes, 2 * 4 * 48 ^ 2)
  local D <close> = dia.poisson2d(8, 6)
  local x <close> = cl.buffer("float", 48, 1)
  local y, ev2 = spmv(D, x)
  ev2:wait()
  t.eq(ev2.flop, 2 * D.nnz)
  for _, b in ipairs{B, C, y} do
    b:close()
  end
end)

-- The output of a script under tests/faultlayer.c.
local function faulty(code, faults)
  local path = t.tmp "code.lua"
  t.write(path, [[
local show = require "clshell.shell.prompt.show"
local o = {width = 80, height = 24, name = "A"}
local function text(x) print(show.text(x, o)) end
]] .. code)
  return t.capture(("LC_ALL=C OPENCL_LAYERS=%s/tests/"
    .. "faultlayer.so CLFAULT=%s %s %s 2>&1 </dev/null"):format(build,
    faults or "", t.exe, path))
end

local layered = faulty("cl.devices()"):find("faultlayer:", 1, true)

local layer_test = t.where(layered,
  "the OpenCL loader takes no layers (OPENCL_LAYERS)")

layer_test("complaint: printing a GPU array is slow: what is read back are "
  .. "the elements shown", function()
  local code = [[
local A = %s
text(A)
]]
  for shape, corners in pairs{
    ['matrix.random(2000, 3000)'] = true,
    ['matrix.random(2000, 3000, {type = "uchar"})'] = true,
    ['matrix.random(2000, 3000, {ld = 3100}):sub(5, 7)'] = true,
    ['cl.buffer("float", 1 << 22, 1.5)'] = true,
    ['cl.buffer("float", {60, 300, 200}, 1.5)'] = true,
    ['dia.poisson2d(200, 300)'] = false,
    ['dia.poisson2d(200, 300):to_csr()'] = false,
  } do
    local out = faulty(code:format(shape))
    local read = tonumber(out:match "faultlayer: (%d+) bytes read")
    local size = shape:find "uchar" and 1 or 4
    local part = (size == 1 or device:has "cl_khr_fp64") and 56 or 40
    local shown = 0
    for line in out:gmatch "\n( +[%d.-][^\n]*)" do
      shown = shown + select(2, line:gsub("%d[%d.]*", ""))
    end
    t.ok(shown > 0 and read, out)
    if corners then
      t.eq(read, shown * size + part, out) -- and what the reduction gives
    else
      t.ok(read <= 4 * shown + 5 * 56, out)
    end
  end
end)

layer_test("a device that fails leaves the summary and the reason", function()
  local code = [[
local A = matrix.random(500)
text(A)
print "still here"
]]
  for fault, words in pairs{
    ["clBuildProgram:1:-11"] = {"min, mean, max: ", "e-01"},
    ["clEnqueueNDRangeKernel:1:-5:sticky"] = {"OUT_OF_RESOURCES"},
    ["clEnqueueReadBufferRect:1:-5:sticky"] = {"not read: ",
      "OUT_OF_RESOURCES"},
    ["clCreateBuffer:2:-4:sticky"] = {"MEM_OBJECT_ALLOCATION_FAILURE"},
    ["status:3:-9999:sticky"] = {"not read: "},
  } do
    has(faulty(code, fault), "Buffer A", "500x500", "still here",
      table.unpack(words))
  end
end)

layer_test("a command that still runs is not waited for", function()
  has(faulty([[
local x = cl.buffer("int", 4)
local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
local ev = k:range(1)(x)
text(ev)
print "not waited"
io.stdout:flush()
os.execute "kill -KILL $PPID" -- the end of a session may wait for it
]], "pending:1:0:sticky"), "Event kernel  ", ":wait() waits", "not waited")
end)

t.test("complaint: one value floods the screen: at the prompt its input "
  .. "stays in sight", function()
  for _, env in ipairs{"TERM=screen", "TERM=dumb", "TERM=screen LC_ALL=C"} do
    local s <close> = screen.ready{env = env, width = 34, height = 14}
    s:run "A = matrix.random(300)"
    has(s:run("A", "max 1"), "cl> A\n", "float 300", "min ")
    s:run "many = {}; for i = 1, 9999 do many[i] = i end"
    has(s:run("many", 'show(many, "all")'), "cl> many\n", " more", "  1,")
    has(s:run("('x'):rep(99999)", "bytes"), "cl> ('x')", "99999 bytes")
  end
end)

t.done()

-- access.lua - what a kernel asks of memory: requests against closed forms,
-- for strides, pads, swizzles, widths and partial warps; the result's tables
-- and drawings
-- SPDX-License-Identifier: MIT

local t = require "t"
local access = require "clshell.explain.access"
local cl = require "cl"
local lanes = require "explain.lanes"
local machine = require "clshell.base.gpu_memory"
local trace = require "clshell.explain.trace"

local H100 = machine.of{as = "H100"}

local function ceil(a, b)
  return (a + b - 1) // b
end

local plugin, missing = trace.plugin()
if not plugin then
  t.test("access on the simulator", function()
    t.skip(missing)
  end)
  t.done()
  return
end

t.keeps("Program", "Kernel")
t.device()

-- The rows of a kernel's result by their code.
local function rows(a)
  local by_code = {}
  for _, row in ipairs(a.rows) do
    by_code[row.kind .. " " .. row.code] = row
  end
  return by_code
end

local function launch(source, global, size)
  return cl.kernel(source):range(global, size)
end

t.test("strides, widths and misaligned starts in global memory", function()
  for _, kind in ipairs{"char", "float", "float2", "double", "float4"} do
    local size, lines, places = cl.typesize(kind), {}, {}
    for _, stride in ipairs{1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 63, 64} do
      for _, start in ipairs{0, 1, 5, 31} do
        local index = ("i * %d + %d"):format(stride, start)
        lines[#lines + 1] = ("a[%s] = b[%s];"):format(index, index)
        places[index] = {stride, start}
      end
    end
    local a <close> = cl.buffer(kind, 5000)
    local b <close> = cl.buffer(kind, 5000)
    local r = rows(access(launch(("kernel void k(global %s *a, global const "
      .. "%s *b) {\nint i = get_global_id(0);\n%s\n}"):format(kind, kind,
      table.concat(lines, "\n")), 64, 64), a, b, {as = "H100"}))
    for index, place in pairs(places) do
      local sectors = 0
      for warp = 0, 1 do
        sectors = sectors + machine.global(H100, lanes.at(32, function(i)
          return ((32 * warp + i) * place[1] + place[2]) * size
        end), size).sectors
      end
      for _, name in ipairs{"load b[", "store a["} do
        local row = r[name .. index .. "]"]
        t.eq(row.sectors, sectors, kind .. " " .. index)
        t.eq(row.requests, 2)
        t.eq(row.ideal, 2 * size)
        t.eq(row.size, size)
        t.eq(row.step, ("%+d"):format(place[1]))
      end
    end
  end
end)

t.test("a vload of global memory is as many loads on NVIDIA's GPUs", function()
  local l = launch([[
    kernel void k(global float *a, global const float *b, local float *c) {
      int i = get_global_id(0);
      float4 v = vload4(i, b);
      vstore3(v.xyz, i, a + 1);
      vstore2(v.xy, i, c);
      v += *(global const float4 *)(b + 4 * i);
      vstore_half2(v.xy, i, (global half *)a);
      a[i] = v.x + vload2(i, c).x + vload_half(i, (global half *)a);
    }]], 64, 64)
  local a <close> = cl.buffer("float", 256)
  local b <close> = cl.buffer("float", 256)
  local function look(as)
    local r, seen = access(l, a, b, cl.localmem("float", 128), {as = as}), {}
    for name, row in pairs(rows(r)) do
      local call = name:match "v%l+_?%l*%d?" or name:match "^%l+"
      seen[call] = {row.size, row.requests, row.sectors + row.passes}
    end
    return seen
  end
  -- bytes, requests of both warps, their sectors or passes
  t.eq(look "H100", {vload4 = {4, 8, 128}, vstore3 = {4, 6, 74},
    vstore2 = {8, 2, 4}, load = {16, 2, 32}, store = {4, 2, 8},
    vstore_half2 = {2, 4, 16}, vload2 = {8, 2, 4}, vload_half = {2, 2, 4}})
  -- AMD's global loads are as wide as the vector; one warp of 64
  t.eq(look "MI300", {vload4 = {16, 1, 8}, vstore3 = {12, 1, 7},
    vstore2 = {8, 1, 4}, load = {16, 1, 8}, store = {4, 1, 2},
    vstore_half2 = {4, 1, 2}, vload2 = {8, 1, 4}, vload_half = {2, 1, 1}})
end)

t.test("strides, pads and swizzles in local memory", function()
  local x <close> = cl.buffer("int", 1, 0)
  -- The rows of stores to tile[index] for a list of indexes.
  local function stores(list, size)
    local lines = {}
    for i, index in ipairs(list) do
      lines[i] = ("tile[%s] = i;"):format(index)
    end
    local r = rows(access(launch(("kernel void k(global int *x) {\n"
      .. "local int tile[8192];\nint i = get_local_id(0), j = "
      .. "get_local_id(1);\n%s\nbarrier(CLK_LOCAL_MEM_FENCE);\n"
      .. "x[0] = tile[x[0]];\n}"):format(table.concat(lines,
      "\nbarrier(CLK_LOCAL_MEM_FENCE);\n")), size, size), x,
      {as = "H100"}))
    return function(index)
      local row = r[("store tile[%s]"):format(index)]
      return row.passes / row.requests, row.ways
    end
  end
  local list = {}
  for stride = 1, 64 do
    list[stride] = "i * " .. stride
  end
  local ways = stores(list, {32})
  for stride = 1, 64 do
    local passes, most = ways("i * " .. stride)
    t.eq(passes, lanes.gcd(stride, 32), "stride " .. stride)
    t.eq(most, lanes.gcd(stride, 32))
  end
  -- a column of a tile of 32 rows, then swizzles and one word of each row
  list = {"i * 32 + j", "i * 33 + j", "i * 34 + j", "i * 35 + j",
    "i * 32 + (i ^ j)", "j * 32 + (i ^ j)", "j"}
  ways = stores(list, {32, 8})
  for i, expected in ipairs{32, 1, 2, 1, 1, 1, 1} do
    t.eq(ways(list[i]), expected, list[i])
  end
  -- a tile of 16 rows: a warp has two columns
  list = {"i * 16 + j", "i * 17 + j", "i * 18 + j", "i * 19 + j"}
  ways = stores(list, {16, 16})
  for pad = 0, 3 do
    local hits, expected = {}, 0
    for lane = 0, 31 do
      local bank = (lane % 16 * (16 + pad) + lane // 16) % 32
      hits[bank] = (hits[bank] or 0) + 1
      expected = math.max(expected, hits[bank])
    end
    t.eq(ways(list[pad + 1]), expected, "pad " .. pad)
  end
end)

t.test("a 2-D work-group fills its warps along x", function()
  local l = launch([[
    kernel void k(global float *a, global float *b, int ld) {
      int x = get_global_id(0), y = get_global_id(1);
      b[y * ld + x] = a[x * ld + y];
    }]], {32, 32}, {8, 8})
  local a <close> = cl.buffer("float", 1024)
  local b <close> = cl.buffer("float", 1024)
  local result = access(l, a, b, 32, {as = "H100"})
  local r = rows(result)
  -- a warp is 8 x 4: 4 rows of 8 floats; the other way 8 rows of 4
  local store, load = r["store b[y * ld + x]"], r["load a[x * ld + y]"]
  t.eq(store.sectors / store.requests, 4)
  t.eq(load.sectors / load.requests, 8)
  t.eq(store.step, "+1 in 8, +32")
  t.eq(load.step, "+32 in 8, +1")
  t.eq(result.groups, 16)
  t.eq(result.looked, 16)
  t.eq(result.warps, 32)
  r = rows(access(l, a, b, 32, {warp = 8}))
  t.eq(r["store b[y * ld + x]"].requests, 128)
  t.eq(r["load a[x * ld + y]"].sectors, 128 * 8)
  r = rows(access(l, a, b, 32, {as = "MI300"}))
  t.eq(r["store b[y * ld + x]"].requests, 16)
  t.eq(r["store b[y * ld + x]"].sectors, 16 * 8)
end)

t.test("partial warps, and lanes that part", function()
  local l = launch([[
    kernel void k(global int *a, int n) {
      int i = get_global_id(0), sum = 0;
      if (i < n) {
        for (int j = 0; j <= i % 3; j++)
          sum += a[i + j];
        a[i] = sum;
      }
      a[i + 100] = a[i + 50];
    }]], 80, 40)
  local a <close> = cl.buffer("int", 200, 0)
  local result = access(l, a, 60, {as = "H100"})
  local r = rows(result)
  t.eq(result.warps, 4)
  -- lanes 32, 8 and 20, 0 of the two groups are below 60; the iterations
  -- with j = 0, 1, 2 have all of them, two thirds, a third
  local load = r["load a[i + j]"]
  t.eq(load.requests, 9)
  local asked = 0
  for i = 0, 59 do
    asked = asked + i % 3 + 1
  end
  t.eq(load.lanes, asked)
  t.eq(r["store a[i]"].requests, 3)
  t.eq(r["store a[i]"].lanes, 60)
  -- all lanes have met again
  t.eq(r["load a[i + 50]"].requests, 4)
  t.eq(r["store a[i + 100]"].lanes, 80)
  local parted = 0
  for _, b in ipairs(result.branches) do
    parted = parted + b.parted
  end
  t.ok(parted > 0)
end)

t.test("a branch of alternate lanes in turns makes half requests", function()
  local result = access(launch([[
    kernel void k(global int *a, global int *b) {
      int i = get_global_id(0), sum = 0;
      for (int j = 0; j < 4; j++)
        if ((i + j) % 2 == 0)
          sum += atomic_add(&b[i], a[i * 8 + j]);
      a[i] = sum;
    }]], 32, 32), cl.buffer("int", 256, 1), cl.buffer("int", 32, 1))
  local r = rows(result)
  local load = r["load a[i * 8 + j]"]
  t.eq(load.requests, 4)
  t.eq(load.lanes, 64)
  t.eq(r["atomic atomic_add(&b[i], a[i * 8 + j])"].requests, 4)
end)

t.test("constant memory serves different addresses one after another",
  function()
    local l = launch([[
      kernel void k(constant float *c, global float *b, int div) {
        int i = get_global_id(0);
        b[i] = c[i / div];
      }]], 64, 64)
    local c <close> = cl.buffer("float", 64, 1)
    local b <close> = cl.buffer("float", 64)
    for _, div in ipairs{1, 2, 8, 64} do
      local load = rows(access(l, c, b, div))["load c[i / div]"]
      t.eq(load.space, "constant")
      t.eq(load.passes / load.requests, ceil(32, div))
    end
  end)

t.test("of many work-groups some are looked at, from first to last", function()
  local l = launch([[
    kernel void k(global float *a) {
      a[get_global_id(0)] = get_group_id(0);
    }]], 64 * 100, 64)
  local a <close> = cl.buffer("float", 6400, 7)
  for _, n in ipairs{1, 2, 3, 7, 100} do
    local result = access(l, a, {groups = n})
    t.eq(result.looked, n)
    t.eq(result.groups, 100)
    t.eq(result.warps, 2 * n)
  end
  t.eq(access(l, a, {groups = "all"}).looked, 100)
  t.eq(access(l, a).looked, 100)
  t.eq(a:read():summary().max, 7, "the arguments are copies")
  t.ok(tostring(access(l, a, {groups = 2})):find("2 of 100 work-groups", 1,
    true))
  t.raises(function()
    access(l, a, {groups = 0})
  end, "groups must be an integer >= 1 or \"all\"; got 0")
end)

local TRANSPOSE = [[
kernel void turn(global const float *a, global float *b, int n) {
  local float tile[32][32 + PAD];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = a[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int row = get_group_id(0) * 32 + y, column = get_group_id(1) * 32 + x;
  b[row * n + column] = tile[x][y];
}]]

local function turned(pad)
  local a <close> = cl.buffer("float", 4096, 0)
  local b <close> = cl.buffer("float", 4096)
  return access(launch(TRANSPOSE:gsub("PAD", pad), {64, 64}, {32, 32}), a, b,
    64, {as = "H100"})
end

t.test("a result prints and draws the worst requests", function()
  local before, after = turned(0), turned(1)
  t.eq(rows(before)["load tile[x][y]"].ways, 32)
  t.eq(rows(after)["load tile[x][y]"].ways, 1)
  t.eq(before.total["local"].passes, 128 * 33)
  t.eq(after.total["local"].passes, 128 * 2)
  t.eq(before.total.global.sectors, before.total.global.ideal)
  local words = tostring(before)
  for _, part in ipairs{"turn over 64x64, local 32x32", "load tile[x][y]",
      "32 passes; without conflicts 1", "all 4 work-groups"} do
    t.ok(words:find(part, 1, true), part .. " in:\n" .. words)
  end
  t.eq(after:draw(), "")
  t.ok(after:draw(7, 2):find("1 pass, no conflict", 1, true))
  t.ok(before:draw(4, 2, {color = false}):find("|########|", 1, true))
  t.raises(function()
    before:draw(3)
  end, "line 3 has no access 1; there are accesses in lines 4, 7")
  for _, width in ipairs{40, 80, 200} do
    for line in before:table(width):gmatch "[^\n]+" do
      t.ok(#line <= width, line)
    end
  end
  local pair = access{before, after}
  t.ok(tostring(pair):find("passes of local memory: 4224 -> 256", 1, true))
  for _, part in ipairs{"before:\n", "after:\n",
      "32 passes; without conflicts 1", "1 pass, no conflict"} do
    t.ok(tostring(pair):find(part, 1, true), part)
  end
  local svg = pair:svg()
  t.ok(svg:find "^<svg " and svg:find("before", 1, true)
    and svg:find("after", 1, true))
  local name = t.temporary and t.temporary() or os.tmpname()
  before:svg(name)
  local f <close> = assert(io.open(name))
  t.ok(f:read "a":find "</svg>")
  os.remove(name)
end)

t.test("a rung by its name, on a shape, and on a small one if none", function()
  local gemm = require "clshell.gemm"
  local function rates(a)
    local list = {}
    for i, row in ipairs(a.rows) do
      list[i] = ("%s %s %.3f"):format(row.line, row.code,
        row.sectors / row.requests)
    end
    return list
  end
  local A = require "clshell.matrix".random(64)
  local of_plan = access(gemm.plan(A, A, {kernel = "tiled", tile = 8}))
  t.eq(rates(access("gemm.tiled", 64, {tile = 8})), rates(of_plan))
  t.eq(rates(access(gemm.rung "tiled", {A = A, B = A}, {tile = 8})),
    rates(of_plan))
  t.eq(rates(access("gemm.tiled", nil, nil, {warp = 16})),
    rates(access(gemm.plan(A, A, {kernel = "tiled"}), {warp = 16})))
  t.ok(#access("scan.registers").rows > 5)
  t.eq(tostring(access("conv2d.constant")):match "access: [^,]*",
    "access: conv2d.constant for 64x64x5x5 float")
  t.raises(function() access("gemm.none", 64) end, "no kernel 'none'")
  t.raises(function() access("gemm.tiled", 64, {tile = 3}) end, "tile")
end)

t.test("launches before a rung's own make what it reads", function()
  -- a sort's last launch scatters by offsets that those before it add up
  local a = access("sort.blocks", 500)
  for code, row in pairs(rows(a)) do
    t.ok(not code:find "^store .*y" or row.reuse == 1, code)
  end
end)

t.test("where the simulator lacks a function, plain code is looked at",
  function()
    -- the compiler makes a saturated difference of the condition
    local l = launch([[kernel void k(global ulong *a) {
      const ulong i = get_global_id(0), b = a[i];
      a[i] = b > i ? b - i : 0; }]], 32, 32)
    local a <close> = cl.buffer("ulong", 32, 1)
    local found = access(l, a)
    t.eq(found.rows[1].sectors, 8)
    t.eq(found.plain, tostring(found):find("compiled without optimization", 1,
      true) ~= nil)
    t.ok(found.plain)
  end)

t.test("misuse raises, and the session goes on", function()
  local l = launch("kernel void k(global float *a) { a[0] = 1; }", 1, 1)
  local a <close> = cl.buffer("float", 1)
  for _, bad in ipairs{
    {"access: launch must be a Launch; got nothing"},
    {"access: launch must be a Launch; got 3", 3},
    {"unknown option 'wrap'", l, a, {wrap = 32}},
    {"k takes 1 value; got 0", l},
    {"a list must hold two results of access; got 1", {l}},
    {"element 1 of the list must be a result of access", {1, 2}},
  } do
    t.raises(function()
      access(table.unpack(bad, 2))
    end, bad[1])
  end
  t.eq(#access(l, a).rows, 1)
end)

t.done()

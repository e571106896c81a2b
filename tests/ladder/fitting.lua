-- fitting.lua - the ladders on devices with other limits than those of this
-- machine, which a layer pretends: local memory, work-groups, vectors
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local family = require "clshell.family"
local gemm = require "clshell.gemm"
local rungs = require "clshell.ladder.rung"

local device = t.device()
t.keeps("Context", "Queue", "Program", "Kernel")

-- What a process runs under the layer: it prints the limits, and a line for
-- each rung that the limits refuse, that takes other parameters than its
-- defaults, or whose result is wrong. VERIFY runs the rungs that do.
local CODE = [[
local plan = require "clshell.ladder.plan"
local rungs = require "clshell.ladder.rung"
local families = require "clshell.ladder.families"
local workload = require "clshell.ladder.workload"
local dev = cl.device()
print("limits", dev.local_mem_size, dev.max_work_group_size,
  dev.native_vector_width_float)
local SIZES = {gemm = {33}, conv2d = {70, 90, 5, 5}}
local function look(family, rung, type)
  local sizes = SIZES[family.name] or {300}
  local o = workload.operands(family, sizes, type, "fitting", rung.name)
  o.trans = rung.name:find "^columns" or rung.name:find "split$"
    or rung.name == "strips" or nil
  local ok, _, s = pcall(family.bind, o)
  if not ok then
    o.trans = nil
    _, s = family.bind(o)
  end
  local p = plan.parameters(family, rung, {}, s)
  local reason = family.refusal(rung.name, p, s)
  local config = rungs.tostring(rung, p)
  local name = ("%s.%s %s"):format(family.name, rung.name, type)
  if reason then
    return print("refused", name, reason)
  elseif config ~= rungs.tostring(rung, rungs.parameters(rung, {})) then
    print("fitted", name, config)
    local r = VERIFY and family.verify(rung.name, nil, o)
    print(not r and "" or r.ok and "right" or "wrong", name, r and r.err)
  end
end
for _, name in ipairs(families.own()) do
  local family = families.get(name)
  for _, entry in ipairs(family.kernels()) do
    for _, type in ipairs(family.spec.types or {"float", "double"}) do
      if type == "float" or type == "double" and dev:has "cl_khr_fp64" then
        look(family, entry.rung, type)
      end
    end
  end
end
]]

local layer = t.build .. "/tests/faultlayer.so"

-- Whether the OpenCL loader takes layers (OPENCL_LAYERS).
local layered = t.capture(("OPENCL_LAYERS=%s CLLIMIT=local:4242 %s -p "
  .. "'cl.device().local_mem_size' 2>&1"):format(layer, t.exe)) == "4242\n"

-- The lines of a script under limits, each as a list of words.
local function pretended(limits, code)
  t.skip_if(not layered, "the OpenCL loader takes no layers (OPENCL_LAYERS)")
  local path = t.tmp "fitting.lua"
  do
    t.write(path, code)
  end
  local out = t.capture(("OPENCL_LAYERS=%s CLLIMIT=%s %s %s 2>&1"):format(
    layer, limits, t.exe, path))
  local lines = {}
  for line in out:gmatch "[^\n]+" do
    local words = {}
    for word in line:gmatch "[^\t]+" do
      words[#words + 1] = word
    end
    lines[#lines + 1] = words
  end
  return lines, out
end

-- Runs CODE under limits; no rung that this device can run is refused by them.
local function ladders(limits, verify)
  local lines, out = pretended(limits, ("VERIFY = %s\n%s"):format(verify,
    CODE))
  t.eq(lines[1][1], "limits", out)
  local fitted, right = {}, 0
  for _, line in ipairs(lines) do
    local kind, name, rest = table.unpack(line)
    t.ok(kind ~= "wrong", out)
    t.ok(kind ~= "refused" or not (rest:find "^local" or rest:find
      "device allows"), table.concat(line, " "))
    fitted[kind == "fitted" and name or 0] = rest
    right = right + (kind == "right" and 1 or 0)
  end
  fitted[0] = nil
  return lines[1], fitted, right
end

local function count(list)
  local n = 0
  for _ in pairs(list) do
    n = n + 1
  end
  return n
end

for _, kib in ipairs{32, 256, 512} do
  t.test(("defaults fit local memory of %d KiB"):format(kib), function()
    local said, fitted, right = ladders(("local:%d"):format(kib << 10),
      tostring(kib == 32))
    t.eq(said[2], tostring(kib << 10))
    if device.type == "cpu" then
      t.ok(fitted["gemm.simd float"], "gemm.simd has other parameters")
    end
    t.eq(right, kib == 32 and count(fitted) or 0)
  end)
end

t.test("defaults of this machine's ladders fit local memory of 2 MiB",
  function()
    local _, fitted = ladders("local:2097152", "false")
    for name in pairs(fitted) do -- by a row of choices.lua for this device
      t.ok(name:find "simd" or name:find "packed" or name:find "blocks", name)
    end
  end)

t.test("defaults fit work-groups of 256 and of 64", function()
  local _, fitted = ladders("group:256", "false")
  t.eq(fitted["gemm.tiled float"], nil)
  _, fitted = ladders("group:64", "false")
  t.eq(fitted["gemm.tiled float"], "tile=8 edge=guard")
  t.eq(fitted["reduce.strided float"], "wg=64")
end)

-- A call of each family that names no kernel, under all limits at once.
local CALLS = [[
print("limits", cl.device().native_vector_width_float)
local families = require "clshell.ladder.families"
for _, name in ipairs(families.own()) do
  local family = families.get(name)
  local o = require "clshell.ladder.workload".operands(family,
    name == "conv2d" and {40, 50, 3, 3} or {70}, "float", "fitting")
  local choice = family.choice(o)
  local r = family.verify(choice.rung, choice.params, o)
  print(r.ok and "right" or "wrong", name, tostring(choice):match "[^\n]+")
end
]]

for _, width in ipairs{4, 8, 16} do
  t.test(("calls on a device of vectors of %d floats, 32 KiB and groups of "
    .. "256"):format(width), function()
    local lines, out = pretended(("vector:%d,local:32768,group:256")
      :format(width), CALLS)
    t.eq(lines[1], {"limits", tostring(width)}, out)
    local right = 0
    for _, line in ipairs(lines) do
      right = right + (line[1] == "right" and 1 or 0)
      if line[2] == "gemm" and device.type == "cpu" then
        t.ok(line[3]:find("vector=" .. 4 * width, 1, true), out)
      end
    end
    t.eq(right, 9, out)
  end)
end

-- A ladder of a user's own, one rung with a parameter for the local memory.
local function own_family(name)
  return family.new{name = name, arguments = {{"x", "n"}},
    output = {"y", "n"}, reference = function(h) return h.x end,
    rungs = {{name = "copy", source = [[
kernel void copy(int n, global const REAL *x, global REAL *y) {
  int i = get_global_id(0);
  if (i < n)
    y[i] = x[i];
}]], params = {{name = "wg", values = {16, 32}, default = 32},
      {name = "kib", values = {1, 4, 1 << 20}, default = 1 << 20},
      {name = "way", values = {"a", "b"}}},
      defines = function() return {} end,
      local_bytes = function(_, p)
        return p.kib << 10
      end,
      accepts = function(_, _, p)
        return p.way == "a" and p.wg == 16 and "way a takes 32" or nil
      end,
      range = function(s, p)
        return {(s.n + p.wg - 1) // p.wg * p.wg}, {p.wg}
      end}}}
end

t.test("a user's own rung: what a call leaves out fits, what it gives stays",
  function()
    local own = own_family "fitted"
    local x <close> = cl.buffer("float", 100, 1)
    local plan = own.plan(x, {kernel = "copy"})
    t.eq(plan.params, {wg = 32, kib = 4, way = "a"})
    plan.output:close()
    t.eq(own.check("copy", nil, {100}), true)
    plan = own.plan(x, {kernel = "copy", wg = 16})
    t.eq(plan.params, {wg = 16, kib = 4, way = "b"})
    plan.output:close()
    local ok, why = own.check("copy", {kib = 1 << 20}, {100})
    t.eq(ok, nil)
    t.ok(why:find("local memory: needs 1 GiB, device has", 1, true), why)
    local r = bench("fitted.copy", {100}, nil, {seconds = 0.01})
    t.eq({r.status, r.config, r.params.kib}, {"ok", "wg=32 kib=4 way=a", 4})
  end)

t.test("steps from the defaults: the nearest configuration first", function()
  local rung = {params = {{name = "a", values = {1, 2, 3}, default = 2},
    {name = "b", values = {1, 2, 3, 4}, default = 4}}}
  local seen = {}
  t.eq(rungs.nearest(rung, {}, "test", function(p)
    seen[#seen + 1] = p.a .. p.b
  end), nil)
  t.eq(table.concat(seen, " "), "24 23 14 34 22 13 33 21 12 32 11 31")
  t.eq(rungs.nearest(rung, {a = 3}, "test", function(p)
    return p.b <= 2
  end), {a = 3, b = 2})
end)

t.test("a search ends where a rung has very many configurations", function()
  local rung = {params = {}}
  for i = 1, 30 do
    rung.params[i] = {name = "p" .. i, values = {1, 2, 3}, default = 1}
  end
  local tries = 0
  t.eq(rungs.nearest(rung, {}, "test", function()
    tries = tries + 1
  end), nil)
  t.ok(tries > 1000 and tries < 20000, tries)
end)

t.test("gemm.simd and gemm.pack take their defaults", function()
  t.skip_if(device.type ~= "cpu", "gemm.simd is for CPUs")
  local A <close> = require "clshell.data.matrix".random(70, 90)
  local B <close> = require "clshell.data.matrix".random(90, 50)
  local C <close> = gemm(A, B, {kernel = "simd"})
  local P <close> = gemm.pack(B, {kernel = "simd"})
  local D <close> = gemm(A, P)
  t.eq(D:read():equal(C:read()), true)
end)

t.done()

-- kept.lua - the rows that users keep for calls which name no kernel, through
-- real processes that share a folder: kept, found, out of date, damaged,
-- forgotten
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.keeps("Program", "Kernel")
t.device()

local has = scratch.has

-- What a script prints in a session of its own; a failure fails the test.
local function session(script, env)
  scratch.create("script.lua", script)
  local out, err, code = scratch.sh(("export XDG_CONFIG_HOME=$PWD/config\n"
    .. "%s $clshell script.lua"):format(env or ""))
  t.eq(code, 0, out .. err)
  return out, err
end

local KEEP = [[
local protocol = require "clshell.measure.protocol"
for _, e in pairs(protocol.efforts) do
  e.warmup, e.busy, e.seconds = 0, 0, 0.02
end
local function keep(n, tile)
  return gemm.keep(bench("gemm.tiled", {n}, {tile = tile}), "by hand")
end
]]

-- Sets a field of each kept file.
local function edit(field, value)
  scratch.sh(("sed -i 's/\"%s\":[^,]*/\"%s\":%s/' config/clshell/choices/*")
    :format(field, field, value))
end

local function clear()
  scratch.sh "rm -rf config"
end

t.test("a kept row is taken at once and in later sessions", function()
  clear()
  local out = session(KEEP .. [[
local A, B = matrix.random(64), matrix.random(64)
gemm(A, B, {})
local before = gemm.choice{A = A, B = B}
assert(not before.kept and before.number)
local row = keep(64, 8)
local plan = gemm.plan(A, B)
assert(plan.rung.name == "tiled" and plan.params.tile == 8)
assert(plan.choice.kept and plan.choice.number == nil)
local C = gemm(A, B)
assert(C:max_diff(gemm(A, B, {kernel = "naive"})) < 1e-3)
print(row, #gemm.kept(), #spmv.kept())
]])
  has(out, "gemm.tiled tile=8", "64x64x64 float and shapes near it",
    "config/clshell/choices/gemm-64x64x64-float-", "\t1\t0")
  out = session [[
print(gemm.choice{m = 64, n = 64, k = 64})
for _, s in ipairs{{32, 128, 64}, {31, 64, 64}, {64, 64, 129}} do
  print(gemm.choice{m = s[1], n = s[2], k = s[3]}.kept)
end
print(gemm.choice{m = 64, n = 64, k = 64, trans_a = true}.kept)
print(gemm.choice{m = 64, n = 64, k = 64, batch = 2}.kept)
print(gemm.kept())
gemm.choices{{rung = "naive"}}
print(gemm.choice{m = 64, n = 64, k = 64}.rung)
gemm.choices "default"
print(gemm.choice{m = 64, n = 64, k = 64}.rung)]]
  has(out, "tiled tile=8", "kept by you on ", " for 64x64x64 float: by hand",
    "\ntrue\nfalse\nfalse\nfalse\nfalse\n", "shape", "\nnaive\ntiled\n")
  t.narrow(out)
  local double = session "print(pcall(gemm.choice, {m = 64, n = 64, k = 64, \z
    type = 'double'}))"
  t.ok(not double:find("kept", 1, true), double)
end)

t.test("a row serves calls of the words that it was measured with",
  function()
    clear()
    session(KEEP .. [[
reduce.keep(bench("reduce.sequential", {n = 4096, op = "max"}, {wg = 32}))
scan.keep(bench("scan.doubling", {n = 4096}, {wg = 32}))
sort.keep(bench("sort.bitonic", {n = 4096, order = "descending"}))
gemv.keep(bench("gemv.columns", {rows = 64, cols = 64, trans = true}))]])
    local out = session [[
local x, A = cl.buffer("float", 5000, 1), matrix.ones(64)
for _, op in ipairs{"sum", "min", "max"} do
  print("op", op, reduce.plan(x, {op = op}).choice.kept)
end
for _, kind in ipairs{"inclusive", "exclusive"} do
  print("kind", kind, scan.choice{x = x, kind = kind}.kept)
end
for _, order in ipairs{"ascending", "descending"} do
  print("order", order, sort.choice{n = 5000, order = order}.kept)
end
for _, trans in ipairs{false, true} do
  print("trans", trans, gemv.choice{A = A, x = cl.buffer("float", 64, 1),
    trans = trans}.kept)
end
print(reduce.forget{n = 5000}, reduce.forget{n = 5000, op = "max"})]]
    t.eq(out, [[
op	sum	false
op	min	false
op	max	true
kind	inclusive	true
kind	exclusive	false
order	ascending	false
order	descending	true
trans	false	false
trans	true	true
0	1
]])
  end)

t.test("the nearest of several rows; a second one replaces the first",
  function()
    clear()
    t.eq(session(KEEP .. [[
keep(64, 8) keep(100, 16) keep(64, 4)
print(#gemm.kept())
for _, n in ipairs{64, 70, 90, 130, 200} do
  print(gemm.choice{m = n, n = n, k = n}.params.tile)
end]]), "2\n4\n4\n16\n16\n16\n")
  end)

t.test("files are for their user alone, several processes lose none",
  function()
    clear()
    scratch.create("script.lua", KEEP .. "keep(math.tointeger(...), 8)")
    local _, err, code = scratch.sh "export XDG_CONFIG_HOME=$PWD/config\n\z
      for n in 8 16 32 64; do $clshell script.lua $n & done; wait"
    t.eq(code, 0, err)
    local modes = scratch.sh "umask 022; cd config/clshell/choices; \z
      ls -ld . | cut -c 1-10; ls -l | grep -c '^-rw-------'; ls | wc -l"
    t.eq(modes:gsub(" ", ""), "drwx------\n4\n4\n")
  end)

t.test("a row of another driver or kernel is passed over, and told", function()
  local choose = "print(gemm.choice{m = 64, n = 64, k = 64})"
  local function passed(...)
    local out = session(choose)
    has(out, "not tiled, which you kept: ", ...)
    t.ok(not out:find("kept by you", 1, true), out)
  end
  for field, case in pairs{
    driver = {'"0.1"', "the driver was 0.1, it is ", "tune anew"},
    source_hash = {'"0"', "its kernel file changed after 20", "tune anew"},
    tile = {"5", "tile must be one of 4, 8, 16, 32; got 5"},
  } do
    clear()
    session(KEEP .. "keep(64, 8)")
    edit(field, case[1])
    passed(table.unpack(case, 2))
  end
  clear()
  session(KEEP .. [[
local rung = {}
for name, value in pairs(gemm.rung "tiled") do rung[name] = value end
rung.name, rung.file, rung.path, rung.builtin = "mine", rung.path, nil, nil
gemm.define(rung)
gemm.keep(bench("gemm.mine", {64}))
assert(gemm.choice{m = 64, n = 64, k = 64}.rung == "mine")]])
  has(session(choose), "not mine, which you kept: gemm: no kernel 'mine'")
end)

t.test("a damaged file is told once and not used", function()
  clear()
  session(KEEP .. "keep(64, 8)")
  for _, text in ipairs{"", "{", "[]", "7", '{"format":1}', "\0\255",
    '{"format":99}', '{"format":1,"shape":3}'} do
    scratch.create("config/clshell/choices/a.json", text)
    local out, err = session [[
for _ = 1, 2 do print(gemm.choice{m = 64, n = 64, k = 64}.kept) end
print(#gemm.kept())]]
    t.eq(out, "true\ntrue\n1\n", text)
    t.eq(select(2, err:gsub("a%.json is not used", "")), 1, err)
  end
  t.eq((session "gemm.forget() print(gemm.choice{m = 64, n = 64, \z
    k = 64}.kept)"), "false\n")
end)

t.test("forgotten: all rows, or those of a shape", function()
  clear()
  t.eq(session(KEEP .. [[
keep(64, 8) keep(500, 8)
print(gemm.forget{m = 70, n = 70, k = 70}, #gemm.kept())
os.remove(gemm.kept()[1].path)
print(gemm.forget(), #gemm.kept(), gemm.forget())
print(gemm.choice{m = 500, n = 500, k = 500}.kept)]]),
    "1\t1\n1\t0\t0\nfalse\n")
end)

t.test("misuse, and a folder that cannot be written", function()
  clear()
  local out = session(KEEP .. [[
local function try(...) print(select(2, pcall(...))) end
try(gemm.keep)
try(gemm.keep, {})
try(gemm.keep, bench("transpose.tiled", {64}))
try(gemm.keep, bench("gemm.plain_c", {64}))
local r = bench("gemm.tiled", {64})
r.status, r.ok, r.error = "wrong", false, "err=1"
try(gemm.keep, r)
r = bench("gemm.tiled", {64})
try(gemm.keep, r, {})
r.shape = "64x64"
try(gemm.keep, r)
r = bench("gemm.tiled", {64})
r.kernel = "nv_tf32"
try(gemm.keep, r)
try(gemm.forget, {m = 0})
print(#gemm.kept())]])
  has(out, "a bench of a kernel of gemm; got nil", "got a table",
    "got one of transpose.tiled", "no kernel 'plain_c'",
    "only a result that is right can be kept; this is wrong: err=1",
    "note must be a string; got a table",
    "cannot be kept: shape must be a table; got a string",
    "nv_tf32 cuts its operands", "\n0\n")
  for _, env in ipairs{"unset HOME XDG_CONFIG_HOME\n",
    "export XDG_CONFIG_HOME=/dev/null/x\n"} do
    has(session(KEEP .. [[
print(pcall(keep, 64, 8))
print(gemm.choice{m = 64, n = 64, k = 64}.kept)]], env),
      "gemm.keep: the choice is not kept: ", "\nfalse\n")
  end
end)

scratch.done()

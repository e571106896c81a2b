-- kept.lua - best:keep: the result of a search becomes the choice of calls
-- that name no kernel
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.keeps("Program", "Kernel", "Device")
t.device()

-- What a script prints that may keep rows in a folder of its own.
local function session(script)
  scratch.create("script.lua", t.briefly .. "\n" .. script)
  local out, err, code = scratch.sh "export XDG_CONFIG_HOME=$PWD/config\n\z
    $clshell -q script.lua"
  t.eq(code, 0, out .. err)
  return out
end

t.test("the best of a rung and of a family is kept", function()
  local out = session [[
local best = tune("transpose.tiled", {64}, {evaluations = 2})
local row = best:keep()
assert(row.rung == "tiled" and row.params.tile == best.params.tile)
local choice = transpose.choice{rows = 64, cols = 64}
assert(choice.kept and choice.rung == "tiled")
best = tune("spmv", {40, 40}, {evaluations = 2})
print(best:keep().rung == best.rung, #spmv.kept(), #transpose.kept())]]
  t.eq(out, "true\t1\t1\n")
  -- the kept row is where the next search begins
  t.eq(session [[
local best = tune("transpose", {64}, {evaluations = 1})
print(best.rung, best.rows[1].rung)
print(transpose.forget(), spmv.forget())]], "tiled\ttiled\n1\t1\n")
end)

t.test("only configurations of a family can be kept", function()
  scratch.create("space.csv", "a,ms\n1,2.5\n2,1.5\n")
  scratch.has(session [[
local best = tune{replay = "space.csv"}
print(select(2, pcall(best.keep, best)))
best = tune{kernel = "kernel void one(global float *x) { *x = A; }",
  params = {a = {1, 2}}, range = 1, args = {cl.buffer("float", 1)},
  check = function() return true end}
print(select(2, pcall(best.keep, best)))]],
    "best:keep: only configurations of a family can be kept",
    "write the settings of your own kernel into its script")
end)

t.test("a default that wins the turns alone is the winner", function()
  -- the loops of the default get shorter when its arguments are asked for the
  -- turns, which is after those of the other configuration
  t.eq(session [[
local loops, other = cl.buffer("int", 2, {480000, 400000}), false
local best = tune{kernel = "kernel void spin(global const int *n, global \z
  float *x) { float s = x[1]; for (int i = 0; i < n[A]; i++) \z
  s = s * 0.999f + 1; x[0] = s; }", params = {a = {0, 1}}, range = 1,
  seconds = 60, args = function(p)
    if p.a == 0 and other then
      loops:write{200000, 400000}
    end
    other = other or p.a == 1
    return {loops, cl.buffer("float", 2, 0)}
  end, check = function() return true end}
print(best.winners[1] ~= nil and best.ms ~= nil)]], "true\n")
end)

scratch.done()

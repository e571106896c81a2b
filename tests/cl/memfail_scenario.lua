-- memfail_scenario.lua - what tests/memfail.c runs again and again: a bit of
-- everything in module cl. SPDX-License-Identifier: MIT
local cl = require "cl"

local x <close> = cl.buffer("float", 256, function(i) return i end)
local y = cl.buffer("float", {4, 8}, {{1, 2, 3, 4, 5, 6, 7, 8},
  {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8},
  {1, 2, 3, 4, 5, 6, 7, 8}}, {ld = 9})
local k = cl.kernel("kernel void f(global float *x, float a, local int *s)"
  .. "{ s[0] = 0; x[get_global_id(0)] *= a * N; }", {defines = {N = 1}})
local q = cl.queue{out_of_order = true}
local ev = k:range(256, 16):on(q)(x, 2, cl.localmem("int", 4))
local h = x:read{queue = q, after = {ev}}
assert(h[256] == 512)
y:write(h:reshape{8, 32}:convert("float"):copy():reshape(256) and
  cl.array("float", {4, 8}), {async = true})
local m = x:map()
m:fill(3)
x:unmap(m)
x:view(1, 4):copy(y, {first = 1, count = 2, to = 4})
for _ = 1, 2 do -- the second takes the memory that the first has left
  debug.getregistry()["cl.hooks"].result("float", 256, cl.context()):close()
end
assert(cl.context().held == 1024)
if cl.device().image_support then
  local img <close> = cl.image{width = 4, height = 4, data = 1}
  img:copy(x)
  assert(img:fill(2) and img:info() and tostring(img) and cl.sampler())
  assert(not pcall(img.write, img, {1, 2}))
end
local steps <close> = cl.record(function()
  k:range(256, 16)(x, 2, cl.localmem("int", 4))
  k:range(256, 16)(x, 3, cl.localmem("int", 4))
end)
assert(steps():wait() and steps:info())
assert(ev:info() and k:info() and y:info() and tostring(ev))
assert(not pcall(x.read, x, {first = 1000}))

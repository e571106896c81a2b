-- later.lua - what OpenCL 2.0 and later have: sub-groups. A device without
-- them says so in a sentence, which is the reason of the skip.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue")

-- What f(...) returns; skips the test where the device lacks it.
local function offered(f, ...)
  local fine, result = pcall(f, ...)
  if not fine and result.name == "CL_INVALID_OPERATION" then
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

t.done()

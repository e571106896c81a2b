#!/usr/bin/env clshell
-- hello.lua - a new kernel in ten lines: y = a x + y
-- SPDX-License-Identifier: MIT

local script = require "clshell.script"
script.parse(script.parser("hello.lua",
  "Runs a new kernel, y = a x + y: prints two elements, time and rates."))

-- the ten lines
local n = 1 << 20
local axpy = cl.kernel [[
  kernel void axpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
  }]]
local x = cl.buffer("float", n, 3)  -- every element 3
local y = cl.buffer("float", n, 1)
local event = axpy:range(n)(2, x, y) -- sets the arguments and starts
print(("y[1] = %g, y[%d] = %g"):format(y:read()[1], n, y:read()[n]))

-- where they ran, and how fast
print(cl.device().name)
print(("%.3f ms, %.4g GFLOPS, %.4g GB/s"):format(event.ms,
  event:gflops(2 * n), event:gbs(3 * 4 * n)))

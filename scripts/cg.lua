#!/usr/bin/env clshell
-- cg.lua - conjugate gradient for the 2-D Poisson problem, on a matrix by
-- diagonals and by rows. Only a look at the residual waits for the device,
-- every 20 steps. --peer runs PyOpenCL's conjugate gradient beside it.
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local peers = require "lib.races"
local script = require "clshell.script"

local parser = script.parser("cg.lua",
  "Conjugate gradient for the Poisson problem on N x N points, in float.")
parser:argument("N", "points in a direction; 512 if left out"):args "?"
  :convert(script.size)
parser:option("--tolerance", "the residual to reach, relative to b", 1e-4)
  :convert(tonumber)
parser:flag("--peer", "run PyOpenCL's too, in python3 or $PYTHON")
local args = script.parse(parser)
local N = args.N or 512
local device, least = cl.device(), 2.0^-120 -- divides in the place of 0

local function cg(A, b, tolerance)
  local x, r, p = cl.buffer(b.type, #b, 0), b:clone(), b:clone()
  local q, rr, steps = cl.buffer(b.type, #b), b:dot(b, 1), 0
  local goal, multiply = tolerance^2 * rr:read()[1], spmv.plan(A, p, {y = q})
  repeat
    for _ = 1, 20 do
      multiply()
      local alpha, before = rr / p:dot(q, 1):fmax(least), rr
      x:axpy(alpha, p)
      r:axpy(-alpha, q)
      rr = r:dot(r, 1)
      p:set(r + rr / before:fmax(least) * p)
    end
    steps = steps + 20
  until rr:read()[1] <= goal or steps >= #b
  return x, steps
end

local D = dia.poisson2d(N, N)
local b = spmv(D, cl.buffer("float", D.rows, 1)) -- x is 1 everywhere

-- The residual of a solution relative to b, calculated on the host.
local function residual(x)
  local h, right = D.host, b:read()
  local y = host.dia_loop(h.values, h.offsets, x:read(), {rows = D.rows})
  for i = 1, D.rows do
    y[i] = right[i] - y[i]
  end
  return y:nrm2() / right:nrm2()
end

print(("Poisson, %d unknowns, on %s"):format(D.rows, device.name))
local steps, best
for _, case in ipairs{{"DIA", D}, {"CSR", D:to_csr()}} do
  cg(case[2], b, 1) -- builds the kernels
  local begin = cl.now()
  local x, count = cg(case[2], b, args.tolerance)
  local ms = (cl.now() - begin) * 1e3 / count
  local error = residual(x)
  print(("%-9s %5d steps, %.3f ms each, residual %.1e"):format(case[1], count,
    ms, error))
  steps, best = count, math.min(best or ms, ms)
  if error ~= error or error > 2 * args.tolerance then
    cl.error(("the residual %.1e is not the tolerance %.1e"):format(error,
      args.tolerance))
  end
end

if args.peer then
  local program <close>, reason = peers.program(cl.home
    .. "/tests/peers/pyopencl_peer.py", os.getenv "PYTHON" or "python3")
  local answer
  if program then
    answer, reason = program:ask(("cg %d %s"):format(N, device.name))
  end
  if not answer then
    print("PyOpenCL: " .. reason)
  else
    local ms = program:ask("run " .. steps) * 1e3 / steps
    print(("%-9s %5d steps, %.3f ms each: %.3g times ours, %s"):format(
      "PyOpenCL", steps, ms, ms / best, answer))
  end
end

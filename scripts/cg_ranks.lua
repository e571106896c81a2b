#!/usr/bin/env clshell
-- cg_ranks.lua - conjugate gradient for the 2-D Poisson problem over the
-- processes of mpirun, each with a strip of the grid: cg.lua on a cluster.
-- SPDX-License-Identifier: MIT

local ranks = require "clshell.ranks"
local script = require "clshell.script"

local parser = script.parser("cg_ranks.lua",
  "Conjugate gradient for the Poisson problem on N x N points, in float: "
  .. "mpirun -n 4 clshell cg_ranks.lua.")
parser:argument("N", "points in a direction; 512 if left out"):args "?"
  :convert(script.size)
parser:option("--tolerance", "the residual to reach, relative to b", 1e-4)
  :convert(tonumber)
local args = script.parse(parser)
local mpi = require "mpi"
local N = args.N or 512

local function cg(A, b, tolerance)
  local x, r, p, q = A:vector(0), b:clone(), b:clone(), A:vector()
  local rr, steps = b:dot(b), 0
  local goal = tolerance^2 * rr
  while rr > goal and steps < A.rows do
    ranks.spmv(A, p, q)
    local alpha, before = rr / p:dot(q), rr
    x:axpy(alpha, p)
    r:axpy(-alpha, q)
    rr = r:dot(r)
    p:aypx(rr / before, r)
    steps = steps + 1
  end
  return x, steps
end

local A = ranks.poisson2d(N, N)
local b = ranks.spmv(A, A:vector(1)) -- x is 1 everywhere
cg(A, b, 1e-1) -- builds the kernels
mpi.barrier()
local begin = cl.now()
local x, steps = cg(A, b, args.tolerance)
local ms = mpi.allreduce((cl.now() - begin) * 1e3 / steps, "max")
local error = ranks.spmv(A, x):axpy(-1, b):norm() / b:norm()
if mpi.rank() == 0 then
  print(("Poisson, %d unknowns on %d ranks: %d steps, %.3f ms each, residual "
    .. "%.1e"):format(A.rows, mpi.size(), steps, ms, error))
end
if error ~= error or error > 2 * args.tolerance then
  cl.error(("the residual %.1e is not the tolerance %.1e"):format(error,
    args.tolerance))
end

-- shell/examples/host.lua - examples that help shows: references on the host
-- SPDX-License-Identifier: MIT

--- cl.types
print(#cl.types() > 40)

--- cl.host.blas
local host = require "cl.host"
local blas, why = host.blas()
print(blas and blas.name or why)

--- cl.host.copy_box
local host = require "cl.host"
local A = cl.array("float", {4, 5}, function(i, j) return 10 * i + j end)
local B = cl.array("float", {2, 2})
host.copy_box(B, A, {rows = 2, cols = 2, from_first = 8, from_ld = 5})
print(B[1], B[4]) --> 23.0 34.0

--- cl.host.gaussian
local host = require "cl.host"
local g = host.gaussian(1, 10)        -- points of one feature
for i = 0, 20 do g:point{i / 20} end
for _, i in ipairs{1, 11, 21} do g:observe(i) end
g:fit({-1, 2, -1}, true)
print(g:predict(6))                   -- a guess, and how sure it is
print(g:lowest(1))                    -- the point to measure next

--- cl.host.gemm_blas
local host = require "cl.host"
local A = cl.array("float", {64, 64}):random(1)
local C, seconds = host.gemm_blas(A, A)
print(C and 2 * 64 ^ 3 / seconds / 1e9 or seconds) -- GFLOPS, or why not

--- cl.host.gemm_error
local host = require "cl.host"
local A, B = matrix.random(32), matrix.random(32)
local C = gemm(A, B)
local err = host.gemm_error(C:read(), A:read(), (B:read()))
print(err < 1e-5) --> true

--- cl.host.gemm_freivalds
local host = require "cl.host"
local A, B = matrix.random(64), matrix.random(64)
local C = gemm(A, B)
local err = host.gemm_freivalds(C:read(), A:read(), (B:read()))
print(err < 1e-5) --> true

--- cl.host.gemm_loop
local host = require "cl.host"
local A = cl.array("double", {2, 2}, {{1, 2}, {3, 4}})
local C = host.gemm_loop(A, A)
print(C:at(2, 2)) --> 22.0

--- cl.host.gemm_truth
local host = require "cl.host"
local A, B = matrix.random(64), matrix.random(64)
local truth = host.gemm_truth(A:read(), (B:read()))
for _, name in ipairs{"naive", "tiled"} do
  print(truth:error((gemm(A, B, {kernel = name}):read())) < 1e-5) --> true
end

--- cl.host.sort
local host = require "cl.host"
local y, index = host.sort(cl.array("int", 3, {30, 10, 20}))
print(y[1], index[1]) --> 10 2

--- cl.host.transpose_error
local host = require "cl.host"
local A = matrix.random(20, 30)
print(host.transpose_error(transpose(A):read(), A:read())) --> 0

--- cl.host.transpose_loop
local host = require "cl.host"
local B = host.transpose_loop(cl.array("int", {2, 3}, 1))
print(B.rows, B.cols) --> 3 2

--- cl.host.window_error
local host = require "cl.host"
local A = cl.array("float", {3, 3}, 1)
local F = cl.array("float", {1, 3}, {{1, 2, 4}})
local B = cl.array("float", {3, 3}, {{6, 7, 3}, {6, 7, 3}, {6, 7, 3}})
print(host.window_error(B, A, F)) --> 0.0 1 1

--- cl.host.dia_error
local host = require "cl.host"
local M = dia.poisson2d(8, 8)
local x = cl.array("float", M.cols, 1)
local y = spmv(M, x):read()
local err = host.dia_error(y, M.host.values, M.host.offsets, x)
print(err < 1e-6) --> true

--- cl.host.csr_error
local host = require "cl.host"
local M = dia.poisson2d(8, 8):to_csr()
local x = cl.array("float", M.cols, 1)
local h = M.host
local err = host.csr_error(spmv(M, x):read(), h.row_ptr, h.col_ind,
  h.values, x)
print(err < 1e-6) --> true

--- cl.host.dia_loop
local host = require "cl.host"
local M = dia.poisson2d(8, 8)
local x = cl.array("float", M.cols, 1)
local y = host.dia_loop(M.host.values, M.host.offsets, x, {rows = 64})
print(y[1]) --> 2.0

--- cl.host.csr_loop
local host = require "cl.host"
local h = dia.poisson2d(8, 8):to_csr().host
local y = host.csr_loop(h.row_ptr, h.col_ind, h.values,
  cl.array("float", 64, 1))
print(y[1]) --> 2.0

--- verify.bound
local verify = require "clshell.verify"
print(verify.bound("float", 1024) > verify.bound("double", 1024)) --> true

--- verify.bound_in_float
local verify = require "clshell.verify"
local sums = verify.bound_in_float("half", 4096)
print(sums < verify.bound("half", 4096)) --> true

--- verify.gemm
local host = require "cl.host"
local verify = require "clshell.verify"
local A, B = cl.array("float", {8, 8}, 1), cl.array("float", {8, 8}, 1)
local truth = verify.gemm(A, B, {m = 8, n = 8, k = 8, type = "float",
  alpha = 1, beta = 0})
print(truth(host.gemm_loop(A, B)))

--- verify.run
local verify = require "clshell.verify"
local out = cl.buffer("float", 4)
local operation = {run = function() return out:fill(2) end}
local result = verify.run(operation, out, function(array)
  return math.abs(array[1] - 2), 0, "the first element"
end)
print(result.ok) --> true

--- verify.window
local verify = require "clshell.verify"
local A, F = cl.array("float", {8, 8}, 1), cl.array("float", {1, 1}, 2)
local truth = verify.window(A, F)
print(truth(cl.array("float", {8, 8}, 2)) == 0.0) --> true

--- verify.restore
local verify = require "clshell.verify"
local out = cl.buffer("float", 4, 1)
verify.restore({}, out, cl.array("float", 4, 5))
print(out:read()[4]) --> 5.0

--- verify.all
local verify = require "clshell.verify"
local function near(array)
  return math.abs(array[1] - 1), 0.5, "the first element"
end
local truth = verify.all{near, near}
print(truth{cl.array("float", 1, 1), cl.array("float", 1, 1.25)})

-- shell/examples/ranks.lua - examples that help shows: matrices and vectors
-- over processes. They run in any number of ranks: mpirun -n 4 clshell
-- script.lua.
-- SPDX-License-Identifier: MIT

--- ranks.matrix
local ranks = require "clshell.parts.ranks"
local A = ranks.matrix(100, 80, function(i, j) return i + j end)
print(A.first_row, A.last_row, A)

--- ranks.among
local ranks = require "clshell.parts.ranks"
local length = ranks.among(1, function() return ranks.vector(5, 1):norm() end)
if length then -- rank 0
  print(length^2)
end

--- ranks.random
local ranks = require "clshell.parts.ranks"
local A = ranks.random(100, 80, {type = "double", seed = 7, lo = -1, hi = 1})
print(A.rows, A.type) --> 100 double

--- ranks.load
local ranks = require "clshell.parts.ranks"
require "clshell.npy".save("r.npy", cl.array("float", {30, 20}, 1))
print(ranks.load("r.npy").rows) --> 30

--- ranks.gemm
local ranks = require "clshell.parts.ranks"
local A, B = ranks.random(300, 200), ranks.random(200, 100, {seed = 2})
local C, run = ranks.gemm(A, B)
print(C.rows, C.cols, run.gflops > 0) --> 300 100 true
print(run)

--- ranks.transpose
local ranks = require "clshell.parts.ranks"
local B = ranks.transpose(ranks.random(30, 20))
print(B.rows, B.cols) --> 20 30

--- RanksMatrix:gather
local ranks = require "clshell.parts.ranks"
local h = ranks.matrix(4, 3, 5):gather()
if h then -- rank 0
  print(h.rows, h[12])
end

--- ranks.vector
local ranks = require "clshell.parts.ranks"
local x = ranks.vector(1000, function(i) return i end)
print(x.n, x.first <= x.last) --> 1000 true

--- RanksVector:dot
local ranks = require "clshell.parts.ranks"
print(ranks.vector(1000, 2):dot(ranks.vector(1000, 3))) --> 6000.0

--- RanksVector:norm
local ranks = require "clshell.parts.ranks"
print(ranks.vector(100, 1):norm()) --> 10.0

--- RanksVector:axpy
local ranks = require "clshell.parts.ranks"
local y = ranks.vector(100, 1):axpy(2, ranks.vector(100, 3))
print(y:dot(ranks.vector(100, 1))) --> 700.0

--- RanksVector:aypx
local ranks = require "clshell.parts.ranks"
local p = ranks.vector(100, 1):aypx(2, ranks.vector(100, 3)) -- p = r + 2 p
print(p:dot(ranks.vector(100, 1))) --> 500.0

--- RanksVector:clone
local ranks = require "clshell.parts.ranks"
local x = ranks.vector(100, 1)
local y = x:clone():axpy(1, x)
print(x:dot(y)) --> 200.0

--- RanksVector:gather
local ranks = require "clshell.parts.ranks"
local h = ranks.vector(10, 4):gather()
if h then -- rank 0
  print(#h, h[10])
end

--- ranks.dia
local ranks = require "clshell.parts.ranks"
local A = ranks.dia(dia.banded(5000, {-40, 0, 1}))
print(ranks.spmv(A, A:vector(1)).n) --> 5000

--- ranks.poisson2d
local ranks = require "clshell.parts.ranks"
print(ranks.poisson2d(100, 90).rows) --> 9000

--- ranks.poisson3d
local ranks = require "clshell.parts.ranks"
print(ranks.poisson3d(10, 11, 12, {type = "double"}).rows) --> 1320

--- ranks.spmv
local ranks = require "clshell.parts.ranks"
local A = ranks.poisson2d(64, 64)
local x = A:vector(1)
local y = ranks.spmv(A, x)
print(x:dot(y)) --> 256.0

--- RanksDia:vector
local ranks = require "clshell.parts.ranks"
local x = ranks.poisson2d(64, 64):vector(function(i) return i end)
print(x.n) --> 4096

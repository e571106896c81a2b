-- shell/examples/matrix.lua - examples that help shows: matrices, files of
-- them
-- SPDX-License-Identifier: MIT

--- matrix.zeros
local A = matrix.zeros(2, 3, {type = "double", ld = 16})
print(A.rows, A.cols, A.ld, A.type) --> 2 3 16 double

--- matrix.ones
print(matrix.ones(2):read():at(2, 2)) --> 1.0

--- matrix.identity
local I = matrix.identity(3)
print(I:read():at(2, 2), I:read():at(2, 3)) --> 1.0 0.0

--- matrix.random
local A = matrix.random(64, 32, {seed = 7, lo = -1, hi = 1})
print(A.rows, A.cols) --> 64 32

--- matrix.from
local A = matrix.from{{1, 2}, {3, 4}}
print(A:read():at(2, 1)) --> 3.0

--- matrix.load
matrix.from({{1, 2}, {3, 4}}):save "a.npy"
print(matrix.load("a.npy"):read():at(1, 2)) --> 2.0

--- Buffer:save
local A = matrix.random(8, 4)
A:save "a.npy"
A:save "a.mtx"
print(A:max_diff(matrix.load "a.mtx")) --> 0.0 1 1

--- Buffer:pad
local A = matrix.ones(3, 5):pad(4)
print(A.rows, A.cols, A:read():at(3, 6)) --> 4 8 0.0

--- Buffer:sub
local A = matrix.random(8)
local B = A:sub(3, 3, 4, 4)
print(B.rows, B.ld) --> 4 8

--- Buffer:transposed
local B = matrix.from({{1, 2}, {3, 4}}):transposed()
print(B:read():at(1, 2)) --> 3.0

--- Buffer:summary
local s = matrix.from({{1, 2}, {3, 0 / 0}}):summary()
print(s.min, s.mean, s.max, s.nan) --> 1.0 2.0 3.0 1

--- Buffer:max_diff
local A, B = matrix.ones(2), matrix.from{{1, 1}, {1, 1.5}}
print(A:max_diff(B)) --> 0.5 2 2

--- npy.load
local npy = require "clshell.npy"
npy.save("v.npy", cl.array("double", 3, 2))
local h = npy.load "v.npy"
print(h.type, #h) --> double 3
print(npy.load "missing.npy" == nil) --> true

--- npy.save
local npy = require "clshell.npy"
npy.save("m.npy", cl.array("float", {2, 3}, 1))

--- npy.open
local npy = require "clshell.npy"
npy.save("w.npy", cl.array("float", {9, 9}, function(i, j) return i * j end))
local f <close> = npy.open "w.npy"
print(f.rows, f:read{from = {3, 4}, size = {2, 2}}[1]) --> 9 12.0

--- npy.create
local npy = require "clshell.npy"
local f <close> = npy.create("x.npy", "float", {1000, 4})
f:write(cl.array("float", {10, 4}, 1), {from = {500, 1}, size = {10, 4}})

--- NpyFile:read
local npy = require "clshell.npy"
npy.save("w.npy", cl.array("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}}))
local f <close> = npy.open "w.npy"
print(f:read{from = {2, 1}, size = {1, 3}}[3]) --> 6.0

--- NpyFile:write
local npy = require "clshell.npy"
local f <close> = npy.create("y.npy", "double", {4, 4})
f:write(cl.array("double", {1, 2}, 7), {from = {4, 3}})
print(f:read{from = {4, 1}}[4]) --> 7.0

--- NpyFile:close
local npy = require "clshell.npy"
local f = npy.create("z.npy", "float", {2, 2})
f:close()
print(f.closed) --> true

--- mtx.read
local mtx = require "clshell.mtx"
mtx.write_dense("d.mtx", cl.array("float", {2, 2}, {{1, 0}, {0, 5}}))
local m = mtx.read "d.mtx"
print(m.rows, m.cols, #m.v) --> 2 2 2

--- mtx.dense
local mtx = require "clshell.mtx"
local m = {rows = 2, cols = 2, i = {1, 2}, j = {1, 2}, v = {3, 4}}
print(mtx.dense(m, "float"):at(2, 2)) --> 4.0

--- mtx.write
local mtx = require "clshell.mtx"
mtx.write("e.mtx", {rows = 2, cols = 2, nnz = 1, type = "float",
  symmetry = "general"}, function(emit) emit(1, 2, 0.5) end)
print(mtx.read("e.mtx").v[1]) --> 0.5

--- mtx.write_dense
local mtx = require "clshell.mtx"
mtx.write_dense("f.mtx", cl.array("float", {2, 2}, 1))

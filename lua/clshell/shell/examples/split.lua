-- shell/examples/split.lua - examples that help shows: several devices
-- SPDX-License-Identifier: MIT

--- cl.each
local sums = cl.each(function(device, i)
  return cl.buffer("float", 1000, i):sum()
end)
print(sums[1]) --> 1000.0

--- cl.split
local devices = {cl.device(), cl.device()} -- two shares of one, for once
local A, B = matrix.random(100, 40), matrix.random(40, 20)
local S = cl.split(A, devices)
print(S) --> Split float[100][40] in rows 50 + 50
local C = gemm(S, B)
print(C:join():max_diff(gemm(A, B))) --> 0.0 1 1
local M = cl.split(dia.poisson2d(10, 10), devices)
local y = spmv(M, cl.split(cl.buffer("float", 100, 1), devices))
print(y:read()[1]) --> 2.0

--- Split:join
local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
print((2 * s):join():read()[3]) --> 6.0

--- Split:read
local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
print((s + s):sqrt():read()[2]) --> 2.0

--- Split:eval
local s = cl.split({1, 4}, {cl.device(), cl.device()})
local root = s:sqrt():eval() -- Buffers, not Expressions
print(root.parts[2]) --> Buffer float[1]

--- Split:finish
local s = cl.split({1, 2}, {cl.device(), cl.device()})
s:fill(3):finish()

--- Split:close
local s <close> = cl.split({1, 2}, {cl.device(), cl.device()})
s:close()

--- Split:set
local s = cl.split({1, 2}, {cl.device(), cl.device()})
print(s:set(3 * s + 1):read()[2]) --> 7.0

--- Split:fill
local s = cl.split({1, 2}, {cl.device(), cl.device()})
print(s:fill(5):sum()) --> 10.0

--- Split:sum
local s = cl.split({1, 2, 4}, {cl.device(), cl.device()})
print(s:sum(), s:max()) --> 7.0 4.0

--- Split:min
print(cl.split({3, 1, 2}, {cl.device(), cl.device()}):min()) --> 1.0

--- Split:max
print(cl.split({3, 1, 2}, {cl.device(), cl.device()}):max()) --> 3.0

--- Split:any
print(cl.split({3, 0, 2}, {cl.device(), cl.device()}):any()) --> true

--- Split:all
print(cl.split({3, 0, 2}, {cl.device(), cl.device()}):all()) --> false

--- Split:mean
local s = cl.split({1, 2, 6}, {cl.device(), cl.device()})
print(s:mean()) --> 3.0

--- Split:dot
local s = cl.split({1, 2, 3}, {cl.device(), cl.device()})
print(s:dot(s)) --> 14.0

--- Split:nrm2
local s = cl.split({3, 4}, {cl.device(), cl.device()})
print(s:nrm2()) --> 5.0

--- Split:axpy
local s = cl.split({1, 2}, {cl.device(), cl.device()})
print(s:axpy(2, s):read()[2]) --> 6.0

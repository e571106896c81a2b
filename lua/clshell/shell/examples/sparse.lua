-- shell/examples/sparse.lua - examples that help shows: sparse matrices
-- SPDX-License-Identifier: MIT

--- dia.banded
local M = dia.banded(1000, {-1, 0, 1}, {seed = 3})
print(M.rows, M.ndiags, M.pitch, M.nnz) --> 1000 3 1024 2998

--- dia.poisson2d
local M = dia.poisson2d(16, 16)
print(M.rows, M.ndiags) --> 256 5

--- dia.poisson3d
local M = dia.poisson3d(4, 4, 4)
print(M.rows, M.ndiags) --> 64 7

--- dia.from_csr
local C = csr.from_coo(3, 3, {1, 2, 3}, {1, 2, 3}, {1, 2, 3})
print(dia.from_csr(C).ndiags) --> 1

--- dia.load
dia.poisson2d(4, 4):save "p.mtx"
print(dia.load("p.mtx").rows) --> 16

--- Dia:to_csr
local C = dia.poisson2d(4, 4):to_csr()
print(C.format, C.nnz) --> csr 64

--- Dia:pack
local M = dia.poisson2d(512, 512)
local P = M:pack()
print(P:info().bytes, P:info().dia_bytes) --> 262204 5242880
local y = spmv(P, cl.buffer("float", P.cols, 1))
print(y:read()[1]) --> 2.0

--- Packed:info
print(dia.poisson3d(16, 16, 16):pack():info().patterns) --> 9

--- Packed:to_dia
print(dia.poisson2d(8, 8):pack():to_dia().format) --> dia

--- Packed:close
local P <close> = dia.poisson2d(8, 8):pack()
P:close()

--- Dia:save
dia.poisson2d(4, 4):save("p.mtx", {symmetric = true})

--- Dia:info
local info = dia.poisson2d(8, 8):info()
print(info.lower, info.upper) --> -8 8

--- Dia:close
local M <close> = dia.poisson2d(8, 8)
M:close()

--- csr.from_coo
local M = csr.from_coo(2, 3, {1, 2, 2}, {1, 1, 3}, {5, 6, 7})
print(M.rows, M.cols, M.nnz) --> 2 3 3

--- csr.load
dia.poisson2d(4, 4):save "p.mtx"
print(csr.load("p.mtx").nnz) --> 64

--- Csr:save
csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):save("c.mtx")

--- Csr:to_dia
local M = csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):to_dia()
print(M.ndiags) --> 1

--- Csr:info
print(csr.from_coo(2, 2, {1, 2}, {1, 2}, {5, 6}):info().row_max) --> 1

--- Csr:close
local M <close> = csr.from_coo(2, 2, {1}, {1}, {5})
M:close()

--- spmv
local M = dia.poisson2d(32, 32)
local x = cl.buffer("float", M.cols, 1)
local y, event = spmv(M, x)
print(y:read()[1]) --> 2.0

--- cl.host.dia_to_csr
local host = require "cl.host"
local M = dia.poisson2d(4, 4).host
local row_ptr, col_ind, values = host.dia_to_csr(M.values, M.offsets,
  {rows = 16, cols = 16, pitch = 32})
print(#row_ptr, #values) --> 17 64

--- cl.host.dia_mirrors
local host = require "cl.host"
local M = dia.poisson2d(4, 4).host
local mirrors = host.dia_mirrors(M.values, M.offsets,
  {rows = 16, cols = 16, pitch = 32})
print(table.concat(mirrors:table(), " ")) --> 5 4 0 2 1

--- cl.host.dia_patterns
local host = require "cl.host"
local M = dia.poisson2d(4, 4).host
local codes, patterns, joined = host.dia_patterns(M.values, M.offsets,
  {rows = 16, cols = 16, pitch = 32})
print(#codes, patterns.shape[1], joined[1]) --> 16 3 1

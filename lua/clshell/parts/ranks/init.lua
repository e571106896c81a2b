-- parts/ranks/init.lua - matrices and vectors in parts, one part on the device
-- of each process that mpirun starts, and calculations with them. Room: grid
-- (processes in rows and columns), rank_matrix (dense, in blocks), rank_gemm
-- (SUMMA), exchange (panels from device to device), tasks (functions that take
-- turns), strips (vectors and matrices by diagonals, with halos). Nothing here
-- starts MPI before a function is called.
-- SPDX-License-Identifier: MIT

local M = require "clshell.base.lazy".table(...)

for module, functions in pairs{
    [require "clshell.parts.ranks.rank_matrix"] = {"among", "matrix",
      "random", "load", "transpose"},
    [require "clshell.parts.ranks.rank_gemm"] = {"gemm"},
    [require "clshell.parts.ranks.strips"] = {"vector", "dia", "poisson2d",
      "poisson3d", "spmv"}} do
  for _, key in ipairs(functions) do
    M[key] = module[key]
  end
end

return M

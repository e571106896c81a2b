-- ranks/init.lua - matrices and vectors in parts, one on the device of each
-- process that mpirun starts, and what is calculated with them. Room: grid
-- (processes in rows and columns), matrix (dense, in blocks), gemm (SUMMA).
-- Nothing here starts MPI before a function is called.
-- SPDX-License-Identifier: MIT

local M = require "clshell.base.lazy".table(...)

for _, name in ipairs{"matrix", "gemm"} do
  for key, value in pairs(require("clshell.ranks." .. name)) do
    M[key] = M[key] or value
  end
end
M.check, M.like = nil, nil

return M

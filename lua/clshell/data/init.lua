-- data/init.lua - the data of experiments: require "clshell.data"
-- matrix makes, loads and saves dense matrices and adds methods to Buffer;
-- csr and dia make sparse ones, whose methods and conversions are in sparse.
-- npy and mtx read and write files of NumPy and Matrix Market; summary finds
-- the extremes and the mean of a Buffer on its device;
-- struct lays C structs out.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.data", {"csr", "dia",
  "matrix", "mtx", "npy", "sparse", "struct", "summary"})

-- init.lua - require "clshell": the names that the prompt and scripts have
-- SPDX-License-Identifier: MIT

local names = {
  cl = require "cl",
  matrix = require "clshell.matrix",
  dia = require "clshell.dia",
  csr = require "clshell.csr",
  gemm = require "clshell.gemm",
  spmv = require "clshell.spmv",
  transpose = require "clshell.transpose",
  bench = require "clshell.bench",
  peaks = require "clshell.peak",
  help = require "clshell.help",
  history = require "clshell.runs".history,
  best = require "clshell.runs".best,
  prune = require "clshell.runs".prune,
}

require "clshell.asm" -- prog:asm()

for name, value in pairs(names) do
  _G[name] = value
end

return names

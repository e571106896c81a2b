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
  compare = require "clshell.compare",
  roofline = require "clshell.roofline",
  calibrate = require "clshell.calibrate",
}

require "clshell.asm" -- prog:asm()

-- The run store is opened at the first need, not at each start.
for _, name in ipairs{"history", "best", "prune"} do
  names[name] = function(...)
    return require "clshell.runs"[name](...)
  end
end

for name, value in pairs(names) do
  _G[name] = value
end

return names

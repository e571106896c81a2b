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
  lesson = require "clshell.lesson",
  calibrate = require "clshell.calibrate",
}

require "clshell.asm" -- prog:asm()

-- What a session seldom needs is loaded when it does: the run store, charts
-- and exports.
for _, name in ipairs{"history", "best", "prune"} do
  names[name] = function(...)
    return require "clshell.runs"[name](...)
  end
end

function names.results(list)
  return require "clshell.results".new(list)
end

--- show(value [, "all"])
--- Prints a value as the prompt does, cut to the window; with "all" all of
--- it. On a terminal, what is longer than the window goes through the pager
--- ($PAGER, else less).
function names.show(...)
  return require "clshell.prompt.show"(...)
end

for name, value in pairs(names) do
  _G[name] = value
end

return names

-- arrays/init.lua - calculations on Buffers and Arrays: operators and methods
-- that make expressions, cl.map for those in OpenCL C, and sequences. Loading
-- the room adds them to module cl and its classes.
-- expression.lua has operators and methods, views.lua those that choose
-- elements, types.lua the rules of types, layout.lua those of shapes;
-- statement.lua writes and fused.lua makes and launches kernels,
-- evaluate.lua has them do expressions; reduction.lua makes kernels of many
-- elements to one, with the operations of operation.lua. totals.lua has the
-- methods that use them, scans.lua scans, places.lua what moves elements,
-- variance.lua variances; map.lua does cl.map; names.lua lists the names that
-- a session has before it loads the room, words.lua those that NumPy has.
-- arrays/sorting.lua adds the methods that sort, and random those that make
-- random numbers.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
require "clshell.arrays.evaluate"
require "clshell.arrays.random"
require "clshell.arrays.sorting"
require "clshell.arrays.places"
require "clshell.arrays.scans"
require "clshell.arrays.totals"
require "clshell.arrays.variance"
local sequences = require "clshell.arrays.sequences"

cl.map = require "clshell.arrays.map"
for name, f in pairs(sequences) do
  cl[name] = f
end

return {}

-- store_writer.lua - a process that keeps runs in a store until it is killed
-- or has kept them all, and says on stdout what it has kept; for store.lua.
-- Usage: clshell store_writer.lua FILE TAG COUNT [often]; with `often` it
-- opens the store anew, and once more beside that, for each run.
-- SPDX-License-Identifier: MIT

local store = require "clshell.store"

local path, tag, count, often = ...
local samples = {}
for i = 1, 300 do
  samples[i] = i * 1.000000001e-6
end
local s = assert(store.open(path))
for i = 1, math.tointeger(tonumber(count)) do
  if often then
    s:close()
    s = assert(store.open(path))
    assert(store.open(path)):close()
  end
  local id = assert(s:keep{name = "writer", tag = tag,
    config = tag .. "." .. i, samples = samples, median = 1e-4})
  io.write(id, " ", tag, ".", i, "\n")
  io.flush()
end

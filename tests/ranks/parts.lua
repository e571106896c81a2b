-- ranks/parts.lua - runs code with module ranks in processes of mpirun
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local ladder = require "ladder"
local processes = require "ranks"

local parts = {}

--- parts.on(n, code)
-- Runs code in n processes; fails unless it ends well. Besides what each
-- process has of tools/ranks.lua, it has each(f), which calls f with each type
-- of the device.
function parts.on(n, code)
  processes.fine(n, ([[
  local ranks = require "clshell.ranks"
  local function each(f)
    for type in ("%s"):gmatch "%%a+" do
      f(type)
    end
  end
]]):format(table.concat(ladder.types(cl.device()), " ")) .. code)
end

return parts

-- measure/handover.lua - the door from measurements to the rooms above: they
-- put their functions here, see clshell/init.lua
-- SPDX-License-Identifier: MIT

local M = {}

-- handover.finished(result)
-- Called with each result of bench when it is finished.
function M.finished() end

-- handover.compare(a, b, opts) -> list
-- Compares kept runs or results, as runs.compare does.
M.compare = nil

return M

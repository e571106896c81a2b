-- base/phase.lua - the phase of a call, for the process that waits for it
-- SPDX-License-Identifier: MIT

local M = {}

-- phase.tell(name, unlimited, about): set in a worker process.
M.tell = nil

--- phase.begin(name [, unlimited [, about]])
--- A phase of the call begins: a verb of the past, as in "while it measured",
--- and the value that the phase is about. The time limit starts anew;
--- unlimited = true: this phase has no limit.
function M.begin(name, unlimited, about)
  if M.tell then
    M.tell(name, unlimited, about)
  end
end

return M
